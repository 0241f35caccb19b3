/// The numbers of reductions' plans, with their evidence.
#pragma once

#include "plan/policy.hpp"
#include "plan/row_tiles.hpp"

#include <smem/device.hpp>

#include <cstddef>
#include <string_view>

namespace smem::plan {

/// Of reductions by threads of a CPU.
struct ReduceThreads {
  std::size_t piece_bytes = 128 * 1024;  ///< that a thread reads at least: fewer are not worth a part
  std::size_t pieces_a_unit = 16;        ///< of all results together, so that a late thread leaves little
  std::size_t enough_results = 4;        ///< for each unit: then results have one part each
  std::size_t accumulator_bytes = 256;   ///< independent ones of a thread: some vector registers
  std::size_t strip = 1024;              ///< columns that a thread reads at once
  std::size_t strip_rows = 64;           ///< of a part of columns, at least
  std::size_t groups_a_unit = 32;        ///< that a launch has at most
  std::size_t most_folded = 128;         ///< columns of which a strip holds several rows, at most
  std::size_t most_folded_dot = 15;      ///< the same where rows have another factor, except of halves
  std::size_t short_row = 4096;          ///< elements of a row that one set of 16 accumulates, at most
  std::size_t kept_row = 16;             ///< the same of 16 rows at once, by a program for each length
  std::size_t kept_rows = 4096;          ///< rows that are worth such a program
};

struct ReducePolicy {
  When when;
  Evidence vectors = kFromFacts;   ///< reductions of whole vectors
  Evidence matrices = kFromFacts;  ///< of rows and columns
  Evidence short_vectors = {.what = "no measurement: few instructions for few elements"};  ///< of "short"
  Evidence short_rows = {.what = "no measurement: whole packs of rows of any length and alignment"};
  Evidence segments = {.what = "no measurement: tiles of neighbouring segments, parts of long ones"};
  Evidence others = {.what = "no measurement: the sizes follow from the device's facts"};
  std::string_view variant = "several";  ///< of vectors; "several" does all other shapes
  std::size_t group = 256;               ///< work-items
  /// Work-groups of a unit: 2048 work-items, which is what an NVIDIA multiprocessor holds.
  std::size_t groups_a_unit = 8;
  std::size_t pack_bytes = 16;     ///< the widest read of a work-item
  std::size_t packs = 4;           ///< that a work-item has under way
  std::size_t packs_of_many = 4;   ///< the same where an element has several accumulators, or another factor
  std::size_t lanes = 4;           ///< accumulators of a work-item that do not wait for each other, at most
  std::size_t lanes_of_many = 4;   ///< the same where each is several numbers
  bool short_used = false;         ///< "short" by plans' own choice, of vectors that it can reduce
  std::size_t short_group = 1024;  ///< work-items of "short"
  std::size_t short_items = 32;    ///< elements of each of them
  /// The same where an element has several accumulators, or another factor.
  std::size_t short_items_of_many = 8;
  std::size_t short_packs = 8;  ///< and packs of each, at most
  // Of "short_rows": bytes of rows that it is chosen for, at most; of products, whose groups load the vector
  // too; and what a row takes.
  std::size_t tiled_row_bytes = 8192;
  std::size_t tiled_factor_bytes = 2048;
  RowSteps row_steps{.row = 4, .tree = 2};
  // Of "balanced":
  std::size_t balanced_elements = std::size_t{1} << 22;  ///< of all segments, from which it is chosen
  std::size_t most_edges = 1024;                         ///< segments of a work-group
  std::size_t tiled_segments = 4;                        ///< of a group, from which they go through a tile
  std::size_t packs_of_segments = 8;  ///< of other segments, for each work-item of those that share one
  std::size_t turns_of_teams = 8;  ///< in which a team reads a segment alone, at most, or so many elements:
  std::size_t least_long = 512;
  std::size_t turns_of_parts = 2;  ///< in which a group reads a part, at least
  std::size_t packs_of_parts = 4;  ///< that each work-item of a part reads at least
  std::size_t packs_of_teams = 2;  ///< of a row, for each work-item of those that share it
  /// The same of a product by "shuffle", whose teams of a warp have no barrier, where rows are enough.
  std::size_t packs_of_warps = 12;
  std::size_t pack_of_columns = 4;  ///< neighbouring columns of a work-item, at most
  std::size_t parts_of_items = 4;   ///< that a work-item combines, about
  /// Work-items of a group that read neighbouring columns, at least where there are so many.
  std::size_t across = 32;
  std::size_t column_loads = 8;   ///< of a work-item that has no more rows: all under way at once
  std::size_t column_bytes = 32;  ///< of a work-item that has more, under way, in at most so many loads
  std::size_t column_rows = 32;   ///< rows of a part of columns, at least
  // Of columns whose rows have no gaps, of which several are read as one: the share of a group's packs that
  // have elements, from which more need not; how often as many as make packs aligned, at most; partial
  // results have at most such a part of the bytes.
  double columns_fill = 0.9;
  std::size_t most_folds = 64;
  std::size_t part_of_partials = 16;
  std::size_t finished_columns = 8;  ///< neighbouring results of a group that combines parts, at least
  std::size_t most_parts = 16384;    ///< of a result
  ReduceThreads threads;             ///< of CPUs
};

// vecmat of 16384 x 16384 floats on the H200: groups of 512 were 1.08 times as fast in one run of smem tune,
// those of 256 1.05 times in another.
//
// intel: its compiler, which runs 32 work-items in the registers of one thread, spills with more than 32
// bytes under way.
//
// short: H100, calls in a queue, us: sum of 30000 floats 7.7, "shuffle" 10.4 (CUB 8.2 to 10.8), of 30000
// bytes 6.2 and 8.1, argmin of 1000 7.8 and 10.2, sum of 1000 7.8 and 7.3. An empty launch takes 4.9.
//
// short_row: two Zen 5 cores, PoCL 3.1, sums of rows, ms with one vector and with accumulators of 256 bytes:
// 2000000 x 16 floats 3.1 and 31, 500000 x 77 3.5 and 9.6, bytes 1.1 and 8.2, 100000 x 300 bytes 0.78
// and 3.1, 40000 x 1000 floats 3.6 and 4.6, 10000 x 4000 3.3 and 3.6; of longer rows the same.
//
// kept_row: two cores of an Emerald Rapids Xeon, PoCL 3.1, ms with 16 rows at once and with one: 1333333 x 3
// bytes, minmax 0.67 and 2.6, argmin 1.1 and 3.3, halves, minmax 0.92 and 14.4, floats, sum 1.1 and 2.3;
// 250000 x 16 bytes, sum 0.59 and 0.80. kept_rows: not measured; fewer take less time than a launch.
//
// most_folded: on the Zen 5 cores too, beside other work, ms with several rows in a strip and with one: sums
// of 2000000 x 2 floats 0.50 and 3.7, of halves 0.32 and 4.4, argmin 0.8 and 14; of 200000 x 20 floats 0.43
// and 0.49; of 30000 x 133 0.48 and 0.46.
//
// most_folded_dot: there too, vecmat: 2000000 x 2 halves 0.56 and 3.4, floats 0.67 and 3.0, doubles 1.2 and
// 2.9, 250000 x 16 floats 0.51 and 0.53, 166666 x 24 0.48 and 0.41; halves 200000 x 20 0.31 and 0.84, 121212
// x 33 0.31 and 0.50, 33333 x 120 0.25 and 0.28.
//
// tiled_row_bytes: an H200 summed rows by "short_rows" and "several" at these shares of copy: bytes, rows of
// 3 0.91 and 0.28, 300 0.80 and 0.28, 1000 0.68 and 0.48, 5000 0.81 and 0.38; floats, 3 0.99 and 0.41, 300
// 0.93 and 0.44, 1000 0.95 and 0.63, 4000 (rows of 16000 bytes) 0.95 and 0.73; halves, 7 0.96 and 0.35, 1000
// 0.93 and 0.58, 3001 0.73 and 0.46, 4000 0.96 and 0.57. A limit of 16000 bytes was not measured for other
// types. tiled_factor_bytes: matvec of halves, 33 columns 0.88 and 0.14, 300 0.74 and 0.14, 1000 0.72 and
// 0.33, 3000 0.32 and 0.43; floats, 500 0.75 and 0.64, 2000 0.59 and 0.64.
//
// balanced: CUB's DeviceSegmentedReduce of the same H200 takes 1.121, 0.097 and 0.116 ms of segments of equal
// lengths. balanced_elements: 2^22 floats in 60000 segments 14.5 us, several 19.8; 10^6 in 1000 15.0 and 8.7,
// of which a launch more is the most. tiled_segments, packs_of_segments: 30000 segments, one in a tile 0.116
// ms, read by 256 work-items 0.110, by 64 0.083. The team of a tile as row_steps has it, of 1000000 segments:
// 4 0.097, 2 0.095, 8 0.103, 16 0.119; groups of 128 0.104, of 512 0.100. Sums of 2^26 bytes
// in 1000000 segments, by words 0.056, by bytes 0.063 to 0.068. The rest was not measured.
//
// packs_of_warps: matvec of 21326 x 3001 halves on an H200, share of copy: 0.44 (74 us) with a group for each
// row, 0.64 (52 us) with a warp as plans choose it; a first form of it took 45 us, and what it had otherwise
// was not found out. Of 16384 x 16384 a group has 1.01, by shuffles 0.98.
//
// row_steps: not measured; a row takes the arithmetic of its tile's place and of its result, and a level of
// the tree a shuffle.
//
// column_bytes, finished_columns: part of a change after which an H200 made minmax of the columns of 2000000
// x 32 bytes at 0.44 of copy instead of 0.23, sums of 200000 x 320 bytes at 0.29 instead of 0.21; not
// measured apart. Sums of small integers in 32 bits and addresses by additions: 0.53 and 0.50.
//
// columns_fill, most_folds, part_of_partials: sums of columns on an H200, ms with rows read one by one and
// several at once, where at least 0.96 of packs of 16 bytes had elements: 300001 x 201 bytes 0.0465 and
// 0.0284, 1000003 x 7 floats 0.0170 and 0.0146, x 37 0.0507 and 0.0457. pack_of_columns: of 8 bytes 0.0312,
// of 8 halves of 300001 x 201 0.0510, of 4 0.0417. The second launch with a group for each of 201 results is
// part of that: with one for 8 of them 0.0302. With 0.9 of packs as they are, 300001 x 201 bytes 0.0307,
// 700000 x 100 bytes 0.0413, 1000003 x 7 floats 0.0144. The other numbers were not measured.
//
// across, column_loads: unaligned columns, ms on an H200, and on an H100 with 32 columns a group, four loads
// and no packs: minmax of 3 x 21333333 bytes 0.10 and 1.15, argmin of 7 x 9142857 floats 0.09 and 0.61, of
// 33 x 1939393 0.081 and 0.22; on the H100 with more columns a group alone 0.26, 0.16 and 0.20.
inline constexpr ReducePolicy kReducePolicies[] = {
    {.when = {.family = "nvidia-hopper"},
     .vectors = {.device = "H200",
                 .driver = "580.159",
                 .what = "sum of 2^28 floats",
                 .share = "shuffle 0.241 ms, several 0.248 ms, CUB 0.240 ms"},
     .matrices = {.device = "H200",
                  .driver = "580.159",
                  .what = "16384 x 16384 floats",
                  .share = "rows 1.07, columns 1.03 of copy's rate"},
     .short_vectors = {.device = "H100",
                       .driver = "580.159",
                       .what = "sum of 30000 floats, calls in a queue",
                       .share = "short 7.7 us, shuffle 10.4 us, CUB 8.2 to 10.8 us"},
     .short_rows = {.device = "H200",
                    .driver = "580.159",
                    .what = "sums of the rows of 106666 x 300 floats, against copy",
                    .share = "0.93"},
     .segments = {.device = "H200",
                  .driver = "580.159",
                  .what = "sums of 1000000, 30000 and 100 segments of 2^26 floats, of random lengths",
                  .share = "balanced 0.097, 0.083 and 0.082 ms, several 0.262, 0.099 and 0.288 ms"},
     .variant = "shuffle",
     .short_used = true},
    {.when = {.family = "nvidia"},
     .vectors = {.what = "no measurement: a Hopper's variant and sizes"},
     .matrices = {.what = "no measurement: a Hopper's sizes"},
     .variant = "shuffle"},
    {.when = {.family = "intel"},
     .vectors = kFromRegisters,
     .matrices = kFromRegisters,
     .packs = 2,
     .packs_of_many = 1,
     .lanes = 2,
     .lanes_of_many = 1,
     .column_loads = 2},
    {},
};

inline const ReducePolicy& reduce_policy(const Device& device) { return row_for(kReducePolicies, device); }

}  // namespace smem::plan
