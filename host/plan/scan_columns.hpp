/// Scans along columns in a single pass (cl/scan/columns_look_back.cl).
#pragma once

#include "plan/variants.hpp"

#include <smem/device.hpp>
#include <smem/plan.hpp>
#include <smem/scan_plan.hpp>

#include <cstddef>

namespace smem::plan {

/// Completes `plan`, which has the operation, or says why groups cannot look back over tiles of columns
/// there. `number_bytes`: of what is published.
Attempt look_back_columns(const Device& device, const ScanProblem& problem, const PlanOverrides& fixed,
                          std::size_t number_bytes, Plan plan);

}  // namespace smem::plan
