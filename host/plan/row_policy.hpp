/// The numbers of plans for operations along rows; each operation has a table of its own.
#pragma once

#include "plan/policy.hpp"

#include <cstddef>

namespace smem::plan {

struct RowPolicy {
  When when;
  Evidence evidence = kFromFacts;
  std::size_t group = 256;        ///< work-items, of short rows; of longer ones more
  std::size_t kept_group = 256;   ///< the same of "registers" and "shuffle"
  std::size_t most_group = 1024;  ///< work-items of a row
  std::size_t pack_bytes = 16;    ///< the widest read of a work-item
  std::size_t packs = 4;          ///< that a work-item has under way
  std::size_t kept_bytes = 96;    ///< of its row that a work-item keeps in registers, at most
  std::size_t full_kept_bytes = 96;  ///< the same of a group of `most_group`
  std::size_t naive_group = 64;   ///< work-items of "naive"
  // Of "registers" and "shuffle": packs of a work-item up to which weights are loaded with the row, in groups
  // of at most so many work-items, whose registers they leave.
  std::size_t early_packs = 4;
  std::size_t early_items = 256;
  // Of "ahead", chosen for rows of at least `ahead_packs` packs; 0: never.
  std::size_t ahead_packs = 0;
  std::size_t ahead_element = 8;     ///< bytes of an element of such rows, at most
  std::size_t ahead_wide_packs = 0;  ///< the same as `ahead_packs` of wider elements
  std::size_t ahead_each = 16;       ///< packs of a work-item, at most
  std::size_t ahead_items = 1024;    ///< work-items that a unit has at once, of 64 registers
  std::size_t ahead_values = 16;     ///< of a work-item, that are waited for together
  std::size_t ahead_halves = 16;     ///< the same of elements of two bytes
  /// Bytes from whose multiples on the packs of unaligned rows are counted, which are waited for one by one;
  /// 0: those of a pack.
  std::size_t ahead_line = 0;
  // Of "cooperative":
  bool shares_long_rows = false;  ///< chosen for rows that are longer than local memory
  std::size_t cooperative_items = 1024;         ///< work-items, of which a unit has `ahead_items` at once
  std::size_t cooperative_narrow_items = 1024;  ///< the same of elements of two bytes
  std::size_t cooperative_values = 8;           ///< as `ahead_values`
  std::size_t cooperative_stages = 2;           ///< rows that a group has at once
  std::size_t cooperative_parts = 128;          ///< of a row, at most
  std::size_t cooperative_line = 128;           ///< as `ahead_line`
  /// Of "split": rows for each unit below which groups share them, and packs of a work-item of a part, at
  /// least.
  double rows_a_unit = 0.5;
  std::size_t packs_of_parts = 16;
  std::size_t most_parts = 1024;  ///< of a row
  // Of "cpu", whose thread has a tile in its own cache:
  std::size_t tile_bytes = 128 * 1024;
  std::size_t lanes_bytes = 64;    ///< of a vector
  std::size_t groups_a_unit = 32;  ///< that a launch has at most
  std::size_t short_cols = 64;     ///< elements of rows of which a thread has a vector's number at once
};

// ahead: an H200 made softmax of 16384 x 16384 at these shares of copy: float 0.87 (512 work-items; 1024:
// 0.76; "shuffle" 0.69), half 0.84
// ("shuffle" 0.39); of 4096 x 50257: 0.83 ("tiled" 0.60) and 0.80 (512 work-items; 1024: 0.70). 2048 halves:
// no gain.
//
// cooperative: an H100 made softmax of 4096 x 50257 floats at 0.89 of copy in two groups of 512 work-items a
// unit (four of 256: 0.86, one of 1024: 0.86; with three rows at once instead of two: 0.81, 0.83, 0.73),
// "ahead" at 0.91; halves at 0.84 ("ahead" 0.89). An earlier form with three rows at once took 4096 x 65536
// floats to 0.74 ("online" 0.68), 1024 x 262144 to 0.69 (0.63), 256 x 1048576 to 0.61 (0.63). layer_norm of
// 4096 x 50257 floats with weight and bias: 0.70 in four groups of 256 (two of 512: 0.64, one of 1024: 0.58;
// three rows at once: 0.63, 0.66, 0.54), "ahead" 0.61; halves 0.54 ("ahead" 0.64).
//
// ahead_held: an H100 made layer_norm of 16384 x 16384 halves at 0.90 of copy without and 0.91 with 64 bytes,
// softmax of floats at 0.943 and 0.930; where weights are read again for each row (4096 x 50257 halves), 0.64
// and 0.54.
//
// ahead_line, ahead_halves: an H200 made softmax of 4096 x 50257 halves in 0.240 and 0.244 ms instead of
// 0.246, floats in 0.461 and 0.469 instead of 0.469; of 16384 x 16384 halves with 8 values instead of 16 in
// 0.298 and 0.302 instead of 0.306, floats with 4 values in 0.596 instead of 0.570. Norms of the same rows:
// no gain, or slower.
//
// kept_bytes: of 1024 work-items each has 64 registers on NVIDIA's units, of which ptxas spills some where 32
// hold elements. A multiprocessor has one such group at a time: groups of 512 that keep 128 bytes took 0.319
// ms instead of 0.371 for 8192 x 16384 floats, and 0.212 instead of 0.368 for bfloat16, but spill
// where ptxas gives them 64 registers.
inline constexpr Evidence kLongRows{.device = "H200",
                                    .driver = "580.159",
                                    .what = "softmax of 1000000 x 128 and 16384 x 16384 float, against copy",
                                    .share = "0.97 and 0.87"};

}  // namespace smem::plan
