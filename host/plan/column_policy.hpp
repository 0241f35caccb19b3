/// The numbers of plans for operations along columns.
#pragma once

#include "plan/policy.hpp"

#include <cstddef>

namespace smem::plan {

struct ColumnPolicy {
  When when;
  Evidence evidence = kFromFacts;
  std::size_t most_group = 1024;  ///< work-items of a block of columns
  std::size_t width = 32;         ///< columns of a block
  std::size_t least_width = 8;    ///< the same of long columns: 32 bytes of floats
  std::size_t rows_each = 16;     ///< of a work-item, before a group grows
  std::size_t unroll = 4;         ///< loads of a work-item that are under way at once
  std::size_t naive_group = 64;   ///< work-items of "naive"
  // Of "split": blocks for each unit below which groups share them, and rows of a work-item, at least.
  double blocks_a_unit = 0.5;
  std::size_t rows_of_parts = 16;
  std::size_t most_parts = 1024;  ///< of a block
  // Of "together": work-items, bytes of a row of a block, groups that a unit runs at once, and parts, at
  // most.
  std::size_t together_group = 512;
  std::size_t together_group_of_doubles = 512;  ///< ptxas spills in groups of 1024
  std::size_t together_bytes = 128;
  std::size_t together_groups = 2;
  std::size_t together_parts = 64;
  bool together = false;  ///< chosen where no wide block fits a group
  // Of "cpu", whose thread has a tile in its own cache:
  std::size_t tile_bytes = 576 * 1024;
  std::size_t lanes_bytes = 64;    ///< of a vector
  std::size_t most_lanes = 16;     ///< vectors of a row of a tile
  std::size_t least_lanes = 2;     ///< the same of long columns
  std::size_t groups_a_unit = 32;  ///< that a launch has at most
};

// together: an H100 made softmax_columns of 16384 x 16384 float at these shares of copy: 1 group of 1024 a
// unit 0.59, 3 of 512 0.57, 4 of 256 0.56, 2 of 512 0.49, rows of 64 bytes 0.46, of 256 bytes 0.40; 4096 x
// 4096, which narrow blocks hold: 0.52, "tiled" 0.61.
inline constexpr ColumnPolicy kColumnPolicies[] = {
    {.when = {.family = "cpu"},
     .evidence = {.what = "no measurement: columns in the second cache of a thread, rows of up to 1 KiB"}},
    {.when = {.family = "nvidia-hopper"},
     .evidence = {.device = "H100",
                  .driver = "580.159",
                  .what = "softmax_columns of 16384 x 16384 float (together), against copy",
                  .share = "0.59; online 0.43"},
     .together_group = 1024,
     .together_groups = 1,
     .together = true},
    {.evidence = {.what = "no measurement: rows of 32 columns, columns in local memory"}},
};

inline const ColumnPolicy& column_policy(const Device& device) { return row_for(kColumnPolicies, device); }

}  // namespace smem::plan
