#include "plan/check_segments.hpp"

#include "plan/check_segments_policy.hpp"
#include "plan/sizes.hpp"

#include <algorithm>

namespace smem::plan {

Plan plan_check_segments(const Device& device, const CheckSegmentsProblem& problem,
                         const PlanOverrides& /*overrides*/) {
  const auto [type, count] = problem;
  const CheckSegmentsPolicy& policy = check_segments_policy(device);
  Plan plan = named_plan("check_segments", "check", "reduce/check_segments.cl", "check_segments");
  plan.text_defines.emplace_back("BOUND", opencl_name_of(type));
  plan.work_group = shape_group(device, policy.group, policy.group, {count, 1, 1});
  plan.global = {std::min(divide_up(count, plan.work_group[0]), policy.groups_a_unit * device.compute_units) *
                     plan.work_group[0],
                 1, 1};
  plan.reason = "each work-item compares neighbouring offsets; a descending pair sets a flag";
  plan.evidence = policy.evidence.text(device);
  plan.prediction.bytes_read = real(count, size_of(type));
  return plan;
}

}  // namespace smem::plan
