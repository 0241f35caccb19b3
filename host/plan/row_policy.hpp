/// The numbers of plans for operations along rows; each operation has a table of its own.
#pragma once

#include "plan/policy.hpp"
#include "plan/row_tiles.hpp"

#include <array>
#include <cstddef>

namespace smem::plan {

struct RowPolicy {
  When when;
  Evidence evidence = kFromFacts;
  std::size_t group = 256;           ///< work-items, of short rows; of longer ones more
  std::size_t kept_group = 256;      ///< the same of "registers" and "shuffle"
  std::size_t most_group = 1024;     ///< work-items of a row
  std::size_t pack_bytes = 16;       ///< the widest read of a work-item
  std::size_t packs = 4;             ///< that a work-item has under way
  std::size_t kept_bytes = 96;       ///< of its row that a work-item keeps in registers, at most
  std::size_t full_kept_bytes = 96;  ///< the same of a group of `most_group`, and of doubles
  std::size_t naive_group = 64;      ///< work-items of "naive"
  // Of "registers" and "shuffle": packs of a work-item up to which weights are loaded with the row, in groups
  // of at most so many work-items, whose registers they leave.
  std::size_t early_packs = 4;
  std::size_t early_items = 256;
  std::size_t early_raw_items = 0;  ///< the same of elements of two bytes with one vector of weights
  // Of "registers" and "shuffle", rows of whole packs of halves with weight and bias: work-items of a unit in
  // groups that load their next row while they compute one, and weights once; 0: never. Chosen where rows and
  // results take at most so many bytes, which a cache holds, a work-item has so many packs, and groups have
  // several rows.
  std::size_t loading_items = 0;
  std::size_t loading_bytes = std::size_t{40} << 20;
  std::size_t loading_packs = 4;
  // Of "shuffle", rows of whole packs of float32 that take more than `full_kept_bytes` of a work-item: the
  // registers that the compiler takes if nothing limits it, and the fewest with which it spills none. Where a
  // unit has two groups with a number between them, that is the limit. 0: none.
  std::size_t taken_registers = 0;
  std::size_t fewest_registers = 0;
  /// Of "shuffle", rows of at least so many whole packs of halves that one warp would have, 4 a work-item:
  /// two warps have 2 a work-item, in groups of two rows. 0: never.
  std::size_t split_packs = 0;
  // Of "short_rows": chosen for rows of at most so many bytes, that are not whole packs and that are; the
  // work-items of a group, and what a row takes.
  std::size_t tiled_row_bytes = 0;
  std::size_t tiled_whole_bytes = 0;
  std::size_t tile_group = 256;
  std::size_t tile_kept = 16;  ///< elements of a row that a work-item keeps, as far as teams allow
  RowSteps tile_steps{.row = 16, .tree = 4};
  /// Of "ahead": chosen for rows of at least so many packs, of elements of 2, 4 and 8 bytes; 0: never.
  std::array<std::size_t, 3> ahead_packs{};
  std::size_t ahead_loose_packs = 0;  ///< the same of rows that begin anywhere, if fewer; 0: as many
  std::size_t ahead_each = 16;        ///< packs of a work-item, at most
  std::size_t ahead_items = 1024;     ///< work-items that a unit has at once, of 64 registers
  std::size_t ahead_values = 16;      ///< of a work-item, that are waited for together
  std::size_t ahead_halves = 16;      ///< the same of elements of two bytes
  /// Bytes from whose multiples on the packs of unaligned rows are counted, which are waited for one by one;
  /// 0: those of a pack.
  std::size_t ahead_line = 0;
  // Of "persistent", for elements of 2 and 4 bytes:
  std::array<std::size_t, 2> persistent_row_bytes{};  ///< chosen for rows of at least so many; 0: never
  std::size_t persistent_items = 512;                 ///< work-items of a group
  std::size_t persistent_least_items = 256;           ///< the same where more leave too few registers to each
  /// Registers of a work-item that do not hold weights.
  std::size_t persistent_other_registers = 76;
  /// The same of teams that share rows: work-items of a group, and registers of each for others than weights.
  std::array<std::size_t, 2> persistent_parts_items{256, 256};  ///< of elements of 2 and 4 bytes
  std::size_t persistent_parts_other_registers = 76;
  /// Rows that such a team has in local memory, and parts up to which it is chosen for rows with weights and
  /// biases; 1: never.
  std::size_t persistent_stages = 3;
  std::size_t persistent_most_parts = 1;
  std::size_t ring_chunks = 3;           ///< of 16 bytes, that a work-item has of a piece in rings
  double persistent_turn_bytes = 16384;  ///< of a part of a row, in whose time a group passes to the next
  /// Chosen for rows without weights too, which other variants do not read again.
  bool persistent_without_weights = false;
  // Of "cooperative":
  bool shares_long_rows = false;  ///< chosen for rows that are longer than local memory, and for few rows
  std::size_t cooperative_items = 1024;         ///< work-items, of which a unit has `ahead_items` at once
  std::size_t cooperative_narrow_items = 1024;  ///< the same of elements of two bytes
  std::size_t cooperative_values = 8;           ///< as `ahead_values`
  std::size_t cooperative_stages = 2;           ///< rows that a group has at once
  std::size_t cooperative_parts = 128;          ///< of a row, at most
  std::size_t cooperative_line = 128;           ///< as `ahead_line`
  /// Of "split": rows for each unit below which groups share them, and packs of a work-item of a part, at
  /// least.
  double rows_a_unit = 0.5;
  double ahead_rows_a_unit = 0.5;  ///< the same of rows that "ahead" holds
  std::size_t packs_of_parts = 16;
  std::size_t most_parts = 1024;  ///< of a row
  // Of "cpu", whose thread has a tile in its own cache:
  std::size_t tile_bytes = 128 * 1024;
  std::size_t lanes_bytes = 64;    ///< of a vector
  std::size_t groups_a_unit = 32;  ///< that a launch has at most
  std::size_t short_cols = 64;     ///< elements of rows of which a thread has a vector's number at once
  std::size_t kept_cols = 16;      ///< the same in registers, by a program for each number of elements
  std::size_t kept_rows = 4096;    ///< rows that are worth such a program
};

// A group for each row: a copy by groups that take chunks of 64 KB in turn (a grid-stride loop) makes 0.93 of
// the device's copy on an H200, and 0.97 with a group for each chunk: groups that start as others end read
// neighbouring memory, where those with several chunks drift apart. "ahead" with several rows a group, a row
// copied while another was written, made softmax of 16384 x 16384 at 0.87 of copy, halves 0.85; with a group
// for each row 0.92 and 0.92; 4096 x 50257: 0.85 and 0.82, then 0.90 and 0.88. Without arithmetic the kernel
// takes 1 % less.
//
// ahead, in place of registers: softmax of halves, 20000: registers 0.96, ahead 0.90; 30000: 0.73 (and
// "ahead" of 50257 0.88); floats, 16384: 0.97, 0.92; doubles, 8192: 0.52, 0.74. layer_norm with weight and
// bias: halves, 16384: 0.89, 0.82; floats, 16384: 0.96, 0.88 (H200).
//
// kept_group: an H200 made layer_norm in groups of 64, 128 and 256 work-items at 0.98, 0.96 and 0.73 of copy
// (67108 x 1000 floats), softmax at 0.99, 0.98 and 0.97, of halves at 0.95, 0.93 and 0.89.
//
// kept_bytes: softmax of 16384 x 16384 floats in groups of 512 that keep 128 bytes 0.97, in groups of 1024
// that keep 64: 0.77; of 8388 x 8000 0.97 and 0.93. Halves as they are in memory: 67108 x 1000 0.99 instead
// of 0.95, layer_norm 0.96 instead of 0.81 (H200). Of 1024 work-items each has 64 registers on NVIDIA's
// units, of which ptxas spills some where 32 hold elements.
//
// taken_registers, fewest_registers: by ptxas for sm_90. layer_norm of 16384 x 16384 floats, 32 elements a
// work-item, 0.98 of copy with at most 64 registers, 0.81 without a limit (H200).
//
// tiled_row_bytes: an H200 made layer_norm with weight and bias by "short_rows" and "shuffle" at these shares
// of copy: halves, 401 0.54 and 0.65, 501 0.53 and 0.74; floats, 1001 0.56 and 0.96. Softmax: halves, 301
// 0.67 and 0.94, 501 0.68 and 0.97. Before warps of "shuffle" had ends of rows one by one: layer_norm of
// halves, rows of 3 0.43 and 0.09, 7 0.55 and 0.21, 33 0.69 and 0.28, 100 0.80 and 0.35, 300 0.78 and 0.31;
// floats, 3 0.75 and 0.33, 33 0.86 and 0.64, 241 0.79 and 0.85. Softmax: halves, 3 0.58 and 0.14, 33 0.83 and
// 0.26, 100 0.95 and 0.53, 300 0.91 and 0.75; floats, 3 0.83 and 0.54, 33 0.86 and 0.75, 241 0.89 and 0.97.
// Since a work-item keeps its elements in registers, short_rows and shuffle: layer_norm of halves, rows of 3
// 0.90 (0.43 before), 7 0.96 (0.54), 33 0.73 (0.68), 100 0.83 and 0.60, 201 0.75 and 0.71; softmax of 100
// halves 0.98 and 0.94. Before: layer_norm of 257 halves 0.37 and 0.79, 150 floats 0.81 and 0.90, 251 0.80
// and 0.95; softmax of 201 halves 0.73 and 0.94, 257 0.41 and 0.96. So norms change over at 512 bytes (640
// before), softmax at 320 (512).
//
// tiled_whole_bytes: softmax of rows of 16 halves 0.97 and 0.79, 4 floats 0.96 and 0.80; norms of 16 floats
// 0.66 and 0.72, so never there.
//
// tile_kept: weights and biases of as many elements besides. tile_group, tile_steps: not measured; a row
// takes about as many steps as the functions of its statistics.
//
// kept_cols: two cores of an Emerald Rapids Xeon, PoCL 3.1, ms with rows in registers and with a
// transposition element by element, which all short rows had: softmax of 1333333 x 3 halves 2.3 and 4.5,
// layer_norm 2.1 and 4.4, of floats 2.1 and 4.9, 250000 x 16 2.0 and 4.1; of 121212 x 33 floats, by shuffles
// in the cache, softmax 3.6 and 4.3. kept_rows: not measured; fewer take less time than a launch.
//
// shares_long_rows: "cooperative" made softmax of 320 x 200000 at 0.69 of copy, "online" 0.54; halves 0.70
// and 0.43; 1024 x 65536 floats 0.74 and 0.63; layer_norm with weight and bias of 320 x 200000 floats 0.44
// and 0.45, halves 0.42 and 0.35 (H200). Three rows at once were slower than two everywhere.
//
// ahead_line, ahead_halves: an H200 made softmax of 4096 x 50257 halves in 0.240 and 0.244 ms instead of
// 0.246, floats in 0.461 and 0.469 instead of 0.469; of 16384 x 16384 halves with 8 values instead of 16 in
// 0.298 and 0.302 instead of 0.306, floats with 4 values in 0.596 instead of 0.570, when a group had several
// rows. Norms of the same rows: no gain, or slower.
inline constexpr Evidence kLongRows{.device = "H200",
                                    .driver = "580.159",
                                    .what = "softmax of 1000000 x 128 and 16384 x 16384 float, against copy",
                                    .share = "0.99 and 0.97"};

}  // namespace smem::plan
