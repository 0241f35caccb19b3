// Tiles of scans: how many work-items, and how many elements each has.
#include "plan/scan_tiles.hpp"

#include "plan/reduce_types.hpp"
#include "plan/scan_policy.hpp"
#include "plan/scan_types.hpp"
#include "plan/sizes.hpp"

#include <algorithm>
#include <bit>

namespace smem::plan {

std::size_t number_bytes(const ScanProblem& problem) {
  return size_of(accumulator_type(as_reduction(problem)));
}

bool scans_in_registers(const Device& device, const ScanProblem& problem) {
  return is_nvidia_gpu(device) && problem.shape != ScanShape::columns;
}

bool begins_anywhere(const Device& device, const ScanProblem& problem) {
  return scans_in_registers(device, problem) &&
         std::min(problem.in_alignment, problem.out_alignment) < scan_policy(device).pack_bytes;
}

bool keeps_narrow(const Device& device, const ScanProblem& problem) {
  return scans_in_registers(device, problem) && problem.shape == ScanShape::vector &&
         problem.cols > scan_policy(device).short_vector && !begins_anywhere(device, problem) &&
         !is_float(problem.in) && size_of(problem.in) <= 2 && size_of(problem.in) == size_of(problem.out) &&
         problem.operation.op != ReduceOp::custom;
}

std::size_t group_of(const Device& device, const ScanProblem& problem, const PlanOverrides& fixed) {
  if (fixed.work_items != 0) return fixed.work_items;
  const ScanPolicy& policy = scan_policy(device);
  if (number_bytes(problem) == 8 && scans_in_registers(device, problem)) return policy.group_of_wide;
  if (is_segmented(problem) && scans_in_registers(device, problem)) return policy.group_of_segments;
  if (keeps_narrow(device, problem)) return policy.group_of_narrow;
  const bool is_short = problem.shape == ScanShape::vector && problem.cols <= policy.short_vector;
  return is_short ? std::min(policy.group, policy.short_group) : policy.group;
}

std::size_t items_of(const Device& device, const ScanProblem& problem, bool in_registers) {
  const ScanPolicy& policy = scan_policy(device);
  if (!in_registers) return policy.item_bytes / number_bytes(problem);
  if (keeps_narrow(device, problem)) return policy.narrow_bytes / size_of(problem.in);
  // Keys and head flags take registers, too.
  const std::size_t marks = problem.shape == ScanShape::keys       ? size_of(problem.marks)
                            : problem.shape == ScanShape::segments ? number_bytes(problem)
                                                                   : 0;
  return std::bit_floor(policy.register_bytes / (number_bytes(problem) + marks));
}

std::size_t tile_of(const Device& device, const ScanProblem& problem, const PlanOverrides& fixed) {
  return group_of(device, problem, fixed) * items_of(device, problem, scans_in_registers(device, problem));
}

}  // namespace smem::plan
