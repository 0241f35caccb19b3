/// The numbers of the plan that checks offsets of segments, with their evidence.
#pragma once

#include "plan/policy.hpp"

#include <smem/device.hpp>

#include <cstddef>

namespace smem::plan {

struct CheckSegmentsPolicy {
  When when;
  Evidence evidence;
  std::size_t group = 256;        ///< work-items
  std::size_t groups_a_unit = 8;  ///< in all, at most
};

inline constexpr CheckSegmentsPolicy kCheckSegmentsPolicies[] = {
    {.when = {.family = "cpu"}, .evidence = {.what = "no measurement: a thread has a stretch"}, .group = 1},
    {.evidence = kFromFacts},
};

inline const CheckSegmentsPolicy& check_segments_policy(const Device& device) {
  return row_for(kCheckSegmentsPolicies, device);
}

}  // namespace smem::plan
