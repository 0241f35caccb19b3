#include "plan/check_segments.hpp"

#include "plan/sizes.hpp"

#include <algorithm>

namespace smem::plan {

Plan plan_check_segments(const Device& device, const CheckSegmentsProblem& problem,
                         const PlanOverrides& /*overrides*/) {
  const auto [type, count] = problem;
  Plan plan = named_plan("check_segments", "check", "reduce/check_segments.cl", "check_segments");
  plan.text_defines.emplace_back("BOUND", opencl_name_of(type));
  plan.work_group = shape_group(device, device.type == DeviceType::cpu ? 1 : 256, 256, {count, 1, 1});
  plan.global = {
      std::min(divide_up(count, plan.work_group[0]), 8 * device.compute_units) * plan.work_group[0], 1, 1};
  plan.reason = "each work-item compares neighbouring offsets; a descending pair sets a flag";
  plan.prediction.bytes_read = real(count, size_of(type));
  return plan;
}

}  // namespace smem::plan
