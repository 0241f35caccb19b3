/// The numbers of plans for sorts of rows, with what chose them.
#pragma once

#include "plan/policy.hpp"

#include <smem/device.hpp>

#include <cstddef>

namespace smem::plan {

struct SortRowsPolicy {
  When when;
  Evidence evidence;
  std::size_t network_keys = 512;   ///< of a row that a network sorts, at most; of 8 bytes half as many
  std::size_t network_items = 8;    ///< entries of a work-item, at most; of 16 bytes half as many
  std::size_t network_group = 128;  ///< work-items
  std::size_t keys_of_row = 8192;   ///< of 4 bytes, of a row that a network of images alone can sort, at most
  std::size_t key_items = 16;       ///< of each work-item, at most
  std::size_t tile_group = 512;     ///< work-items that sort a row in local memory, at most
  std::size_t usual_items = 8;      ///< keys of each, where there are fewer work-items
  std::size_t tile_items = 16;      ///< keys of each, at most; of 8 bytes half as many
  std::size_t pair_items = 16;      ///< the same of keys with values or places
  std::size_t cpu_groups_a_unit = 8;  ///< so that a late thread leaves little
};

// nvidia: a warp's registers hold 512 keys and their places, and shuffles need no barriers. Of tiles, what
// ptxas keeps in registers.
inline constexpr SortRowsPolicy kSortRowsPolicies[] = {
    {.when = {.family = "nvidia-hopper"},
     .evidence = {.what = "no measurement: what ptxas keeps in registers"},
     .network_keys = 1024,
     .network_items = 32,
     .tile_group = 1024,
     .tile_items = 12,
     .pair_items = 8},
    {.when = {.family = "nvidia"},
     .evidence = {.what = "no measurement: what ptxas keeps in registers"},
     .network_items = 16,
     .tile_items = 14,
     .pair_items = 12},
    {.when = {.family = "intel"},
     .evidence = kFromRegisters,
     .network_items = 4,
     .key_items = 8,
     .usual_items = 4,
     .tile_items = 8,
     .pair_items = 8},
    {.evidence = kFromFacts},
};

inline const SortRowsPolicy& sort_rows_policy(const Device& device) {
  return row_for(kSortRowsPolicies, device);
}

}  // namespace smem::plan
