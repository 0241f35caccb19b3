/// The numbers of plans for operations along columns.
#pragma once

#include "plan/policy.hpp"
#include "plan/knobs.hpp"

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

inline constexpr ColumnPolicy kColumnPolicies[] = {
    {.when = {.family = "cpu"},
     .evidence = {.what = "no measurement: columns in the second cache of a thread, rows of up to 1 KiB"}},
    {.evidence = {.what = "no measurement: rows of 32 columns, columns in local memory"}},
};

inline const ColumnPolicy& column_policy(const Device& device) {
  static thread_local ColumnPolicy c;
  c = row_for(kColumnPolicies, device);
  c.together_group = knob("X_TGROUP", c.together_group);
  c.together_bytes = knob("X_TBYTES", c.together_bytes);
  c.together_groups = knob("X_TGROUPS", c.together_groups);
  c.together_parts = knob("X_TPARTS", c.together_parts);
  c.width = knob("X_CWIDTH", c.width);
  c.least_width = knob("X_CLEAST", c.least_width);
  c.unroll = knob("X_CUNROLL", c.unroll);
  c.rows_each = knob("X_CROWS", c.rows_each);
  return c;
}

}  // namespace smem::plan
