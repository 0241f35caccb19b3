/// The tile of a merge in local memory: what fits a device.
#pragma once

#include "formatted.hpp"
#include "plan/merge_policy.hpp"
#include "plan/sizes.hpp"

#include <smem/device.hpp>
#include <smem/options.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>

namespace smem::plan {

/// Bytes of the kernels' own words in local memory, with their alignment: END_WORDS of cl/merge/path.clh.
inline constexpr std::size_t kMergeWords = 96;

struct MergeTile {
  std::size_t group = 0, items = 0;
  std::size_t size() const { return group * items; }
};

/// The policy's sizes, or smaller ones that fit: for elements of `bytes` bytes, with `beside` bytes more for
/// each in local memory, and `words` for the kernel's own. Nothing where none do, or the caller's group does
/// not. An odd number of items: work-items' parts begin in different banks.
inline std::optional<MergeTile> merge_tile(const Device& device, const PlanOverrides& fixed,
                                           std::size_t bytes, std::size_t beside, std::size_t words) {
  const MergePolicy& policy = merge_policy(device);
  std::size_t items = at_least_1(bytes > 4 ? policy.items * 4 / bytes : policy.items);
  if (items % 2 == 0) --items;
  for (;; items /= 2) {
    const std::size_t group = group_for(device, fixed.work_items != 0 ? fixed.work_items : policy.group,
                                        items * (bytes + beside), words);
    if (group != 0 && (fixed.work_items == 0 || group == fixed.work_items)) return MergeTile{group, items};
    if (items == 1) return std::nullopt;
  }
}

/// Sets the work-items of a launch that finds where `tiles` tiles begin, and defines them: 16 for each tile.
inline void set_searchers(const Device& device, std::size_t tiles, Launch& launch) {
  const std::size_t group = at_least_1(group_for(device, merge_policy(device).split_group, 0));
  const std::size_t searchers = group >= 32 ? 16 : 1;  // SEARCHERS of cl/merge/path.clh
  set_groups(launch, group, divide_up(tiles, group / searchers));
  define(launch, "GROUP", group);
  launch.local_bytes = searchers > 1 ? 2 * group : 0;
  launch.prediction.bytes_read = launch.prediction.bytes_written = 8 * real(tiles);
}

/// What the passes of a merge sort do, launch by launch the same.
inline std::string merges_text(std::size_t width, const char* elements) {
  return formatted(
      "merges pairs of sorted runs, of {} {} in the first pass, twice as many in each next: each group finds "
      "its part of both by bisection",
      width, elements);
}

}  // namespace smem::plan
