/// Which types a scan takes, and how it is called.
#pragma once

#include <smem/scan_plan.hpp>

namespace smem::plan {

inline bool is_segmented(const ScanProblem& problem) {
  return problem.shape == ScanShape::segments || problem.shape == ScanShape::keys;
}

/// The reduction whose types and operation a scan shares.
ReduceProblem as_reduction(const ScanProblem& problem);

/// "inclusive_scan", "exclusive_scan_rows", ...: as the called function is named.
const char* operation_name(const ScanProblem& problem);

/// \throws Error naming the argument, unless the types fit the operation and the device.
void check_scan(const Device& device, const ScanProblem& problem);

}  // namespace smem::plan
