/// What poolings check before their views.
#pragma once

#include <smem/pool_plan.hpp>

namespace smem::plan {

/// \throws Error naming the argument unless the device can compute it. `operation`: as the caller called it.
void check_pool(const char* operation, const Device& device, const PoolProblem& problem);
void check_global_pool(const char* operation, const Device& device, const GlobalPoolProblem& problem);

}  // namespace smem::plan
