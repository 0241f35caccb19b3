/// What a pooling needs besides its plan: the same whatever the size of a work-group.
#pragma once

#include <smem/pool_plan.hpp>

#include <cstddef>

namespace smem::plan {

/// \throws Error naming the argument of `operation` unless the device can compute it. `global`: of whole
/// planes.
void check_pool(const char* operation, const Device& device, const PoolProblem& problem, bool global);

/// Rows of results that a work-item has of plan_pool()'s plans.
std::size_t pool_band(const Device& device, const PoolProblem& problem, const PlanOverrides& fixed);

/// How global pooling cuts planes.
struct GlobalPoolParts {
  std::size_t joined = 1;  ///< rows of the input that are one row
  std::size_t band = 1;    ///< of these, a part
  std::size_t parts = 1;   ///< of a plane; of more than one a second launch makes the results
  std::size_t scratch_bytes = 0;
};
GlobalPoolParts global_pool_parts(const Device& device, const PoolProblem& problem);

}  // namespace smem::plan
