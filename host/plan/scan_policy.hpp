/// The numbers of scans' plans, with their evidence.
#pragma once

#include "plan/policy.hpp"

#include <smem/device.hpp>

#include <cstddef>

namespace smem::plan {

/// Of scans by threads of a CPU.
struct ScanThreads {
  std::size_t piece_bytes = 128 * 1024;  ///< half of a small second-level cache
  std::size_t whole_pieces = 2;          ///< rows of so many are not cut
  std::size_t enough_rows = 4;           ///< for each unit: then rows are not cut
  std::size_t pieces_a_unit = 16;        ///< so that a late thread leaves little
  std::size_t multiple = 64;             ///< elements that divide a piece of two launches
  std::size_t strip_bytes = 1024;        ///< of a row, that a thread scans at once, at most
  std::size_t least_strip_bytes = 256;   ///< the same where fewer leave strips for all threads
  std::size_t narrow = 15;         ///< columns whose rows share vectors, at most; each number is a program
  std::size_t strips_a_unit = 4;   ///< of columns, with their parts
  std::size_t groups_a_unit = 32;  ///< that a launch has at most
  std::size_t accumulator_bytes = 256;  ///< independent ones of a thread: some vector registers
  std::size_t short_row = 64;           ///< elements of rows that share vectors, at most
  std::size_t short_row_of_halves = 2048;
};

struct ScanPolicy {
  When when;
  Evidence vectors = kFromFacts;  ///< scans of whole vectors
  Evidence rows = kFromFacts;     ///< of a matrix
  /// The same by "short_rows".
  Evidence short_rows = {.what = "no measurement: the tiles of vectors"};
  Evidence columns = kFromFacts;  ///< by "look_back"
  Evidence others = {.what = "no measurement: the sizes follow from the device's facts"};
  Evidence segments = others;  ///< by "look_back"
  std::size_t group = 256;     ///< work-items
  /// The same where warps keep whole tiles of numbers of 8 bytes in their registers.
  std::size_t group_of_wide = 256;
  std::size_t group_of_segments = 256;  ///< the same of segments
  std::size_t group_of_narrow = 256;    ///< the same of narrow integers that stay as they are read
  std::size_t short_group = 256;        ///< the same as `group` of vectors of at most so many elements:
  std::size_t short_vector = std::size_t{1} << 23;
  std::size_t item_bytes = 64;       ///< numbers of a work-item
  std::size_t register_bytes = 128;  ///< the same where warps keep whole tiles in their registers
  std::size_t narrow_bytes = 64;     ///< the same of narrow integers that stay as they are read
  std::size_t pack_bytes = 16;       ///< the widest read of a work-item
  std::size_t line_bytes = 128;      ///< at which tiles in registers begin, of rows that begin anywhere
  bool keys_ahead = true;            ///< all keys of a tile are under way at once, in registers
  std::size_t groups_a_unit = 8;     ///< that are wanted of two launches
  std::size_t tiles_of_parts = 2;    ///< of a part of a row, at least
  std::size_t most_parts = 2048;     ///< of a row, all of which every part after them reads
  std::size_t own_run_bytes = 32;    ///< of a work-item of short rows, which reads them itself, at most
  double rows_fill = 0.55;           ///< the share of a tile that whole rows fill, at least ("short_rows")
  std::size_t across = 256;          ///< neighbouring columns that a group walks down
  std::size_t column_rows = 64;      ///< of a part of columns, at least
  std::size_t column_unroll = 4;     ///< rows under way of a work-item that walks down
  // Of "look_back" along columns:
  std::size_t column_group = 512;       ///< work-items
  std::size_t column_line = 128;        ///< bytes of a row of a tile
  std::size_t column_width = 64;        ///< columns of a tile, at most
  std::size_t column_pack = 8;          ///< neighbouring columns of a work-item, at most
  std::size_t column_pack_bytes = 16;   ///< the same in bytes
  std::size_t column_item_bytes = 128;  ///< elements of a work-item, in registers
  std::size_t column_items = 32;        ///< rows of a work-item, at most
  std::size_t column_wide_items = 8;    ///< the same of numbers of 8 bytes
  std::size_t column_numbers = 64;      ///< of a work-item, at most
  std::size_t tree_row = 32;            ///< numbers of a row of a tree, as many as most devices have banks
  ScanThreads threads;                  ///< of CPUs
};

// nvidia: larger tiles make the chain from tile to tile shorter, and two groups or more should share a
// multiprocessor's registers: one works while the other waits for its predecessors.
//
// short_vector: with 512 work-items there are not enough tiles for all multiprocessors. H100, 5 million
// floats: groups of 512 23.1 us, 256 19.7, 128 24.5 (CUB 24.4); 1 million: 8.6, 9.9, 8.8 (CUB 11.0).
//
// rows_fill: H100, 64 million elements, ms with short_rows, reduce_then_scan and look_back: rows of 3 to 2000
// floats 0.177, 0.22 to 0.67 and 0.39 and more; of 3000, which fill 0.73, 0.187, 0.385 and 0.276; of 5000
// (0.61) 0.204, 0.273 and 0.197; of 8000 0.177, 0.215 and 0.181. Halves 0.14, 0.15 to 0.65 and 0.34 and more.
//
// columns: an H200 scanned these by "look_back" and by two launches at these shares of copy: 200000 x 320
// halves 0.61 and 0.27, 30000 x 2133 floats 0.55 and 0.40, halves 0.62 and 0.36, 1000 x 64000 halves 0.61 and
// 0.42, 83412 x 242 doubles 0.78 and 0.35, 5000000 x 7 floats 0.50 and 0.10. column_group: of 256 work-items
// 2000000 x 32 floats 0.78, 200000 x 320 halves 0.64. column_numbers, column_wide_items: with more, ptxas for
// sm_90 spills registers; 700000 x 100 bytes in 128 numbers a work-item, with spills, 0.30 and 0.19. In packs
// of 4, as rows are aligned, 0.402 and without packs 0.278. Where
// columns have one part, two launches are one, which reads them once: not compared.
//
// own_run_bytes: an H200 scanned the rows of 700000 x 100 bytes through a tile at 0.283 of copy, without it
// at 0.494; of 300001 x 201 halves at 0.520 and 0.723.
//
// Rows of odd lengths, whose tiles begin anywhere, there, us, through a tile in local memory, and where
// work-items read their own runs: 3000 x 5001 halves 99 and 39, 6000 x 2501 83 and 35, 5000 x 5001 bytes 99
// and 60. line_bytes: of 100 x 300001, single elements, and tiles that begin at packs of 4 elements: bytes 76
// and 49, halves 105 and 86, floats 157 and 101.
//
// group_of_segments: there, ms in groups of 256 and of 512: 2^28 floats by key 0.807 and 0.846, in segments
// of about 1000 0.670 and 0.753; 2^24 0.064 and 0.068, 0.058 and 0.065 (of 1024 0.071, 0.070; of 128 by key
// 0.066).
//
// narrow_bytes, group_of_narrow: there, 2^26 bytes, ms: as read, in groups of 256 0.057, of 512 0.060; as
// numbers, a run of 4 or 16 a work-item, 0.077 (CUB 0.144). 2^28: 0.186, 0.196. 2^26 uint16: 0.104, 0.103.
//
// intel: its compiler runs 32 work-items in the registers of one thread. cpu: compilers make loops of
// work-items, and long code of many registers.
//
// short_row: two Zen 5 cores, PoCL 3.1, sums of rows, ms with vectors of several rows and of one: 1333333 x 3
// halves 0.62 and 20.7, floats 0.82 and 7.4; 571428 x 7 halves 0.67 and 9.4, bytes 0.80 and 4.6, doubles 1.8
// and 5.2; 121212 x 33 floats 1.5 and 1.7, 40000 x 100 1.5 and 1.1. Of halves: 40000 x 100 0.72 and 1.9,
// 13333 x 300 0.73 and 0.99, 4000 x 1000 0.73 and 1.08, 1000 x 4000 0.72 and 0.66.
//
// narrow: there too, on a machine with other work, scans along columns, ms with rows that share vectors and
// with a thread a strip: 2000000 x 2 halves 1.0 and 17.1, floats 1.4 and 5.9. strip_bytes: 1000 x 4000
// halves, share of copy, strips of 1024 bytes 0.22 to 0.38, of 512 0.14 to 0.16. On two cores of an Emerald
// Rapids Xeon, shares of memcpy's rate with strips of 1024, 2048 and 4096 bytes: 98 x 257491 int8 1.12, 1.02
// and 1.08, 206 x 113550 int32 1.07, 1.04 and 1.02 (without prefetching of rows 0.46 and 0.79).
// least_strip_bytes: there too, 83412 x 242 doubles in strips of 256 bytes 0.55, in two strips of 1024 bytes
// and four parts 0.44; with prefetching of rows 0.70.
//
// piece_bytes: two cores of a Xeon with 2 MiB of second-level cache each, PoCL 5.0, 2^24 floats, shares of
// memcpy's rate in pieces of 16, 32, 64, 128, 256 and 512 KiB 0.95, 0.99, 0.86, 1.04 to 1.13, 1.19 and 1.01,
// beside other work: within its noise.
inline constexpr ScanPolicy kScanPolicies[] = {
    {.when = {.family = "nvidia-hopper"},
     .vectors = {.device = "H200",
                 .driver = "580.159",
                 .what = "sum of 2^28 floats",
                 .share = "look_back 0.580 ms, a copy 0.504 ms, CUB 0.703 ms"},
     .rows = {.device = "H200",
              .driver = "580.159",
              .what = "rows of 16384 x 16384 floats, which fill a tile",
              .share = "look_back 0.524 ms, reduce_then_scan 0.563 ms"},
     .short_rows = {.device = "H100",
                    .driver = "580.159",
                    .what = "rows of 3 to 3000 floats, 64 million in all",
                    .share = "0.98 of copy, of 3000 0.93"},
     .columns = {.device = "H200",
                 .driver = "580.159",
                 .what = "columns of 2000000 x 32 and 16384 x 16384 floats, against copy",
                 .share = "look_back 0.82 and 0.89, reduce_then_scan 0.31 and 0.61"},
     .segments = {.device = "H200",
                  .driver = "580",
                  .what = "2^28 floats by keys of 4 bytes; in segments of about 1000 and of 10",
                  .share = "0.81 ms, CUB 1.06 ms; 0.67 and 0.74 ms"},
     .group = 512},
    {.when = {.family = "nvidia", .compute_capability = 80},
     .vectors = {.what = "no measurement: a Hopper's sizes"},
     .rows = {.what = "no measurement: a Hopper's sizes"},
     .group = 512},
    {.when = {.family = "nvidia"}, .vectors = kWithoutSpills, .rows = kWithoutSpills},
    {.when = {.family = "intel"},
     .vectors = kFromRegisters,
     .rows = kFromRegisters,
     .item_bytes = 32,
     .keys_ahead = false},
    {.when = {.family = "cpu"},
     .vectors = {.device = "Xeon",
                 .driver = "PoCL 5.0",
                 .what = "2^24 and 2^26 floats by two cores, of memcpy's rate",
                 .share = "1.10 and 1.12 to 1.19"},
     .rows = {.what = "no measurement: pieces that a core's cache holds"},
     .item_bytes = 16},
    {},
};

inline const ScanPolicy& scan_policy(const Device& device) { return row_for(kScanPolicies, device); }

}  // namespace smem::plan
