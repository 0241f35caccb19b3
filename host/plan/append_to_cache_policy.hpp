/// The numbers of plans for appending to caches, with their evidence.
#pragma once

#include "plan/policy.hpp"

#include <smem/device.hpp>

#include <cstddef>

namespace smem::plan {

struct AppendToCachePolicy {
  When when;
  Evidence evidence = kFromFacts;
  std::size_t group = 256;        ///< work-items
  std::size_t pack_bytes = 16;    ///< the widest read of a work-item
  std::size_t most_pack = 8;      ///< elements of it
  std::size_t groups_a_unit = 0;  ///< that a launch has at most; 0: as many as there are packs for
};

inline constexpr AppendToCachePolicy kAppendToCachePolicies[] = {
    {.when = {.family = "nvidia"}, .evidence = {.what = "no measurement yet: 16 bytes a read"}},
    {.when = {.family = "intel"}, .evidence = kFromRegisters, .most_pack = 4},
    {.when = {.family = "cpu"},
     .evidence = {.what = "no measurement yet: groups that each thread has a few of"},
     .group = 64,
     .groups_a_unit = 8},
    {},
};

inline const AppendToCachePolicy& append_to_cache_policy(const Device& device) {
  return row_for(kAppendToCachePolicies, device);
}

}  // namespace smem::plan
