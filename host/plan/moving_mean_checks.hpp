/// What moving means check before their views.
#pragma once

#include <smem/moving_mean_plan.hpp>

namespace smem::plan {

inline constexpr const char* kMovingMeanName = "moving_mean";

/// \throws Error naming the argument unless the device can compute it.
void check_moving_mean(const Device& device, const MovingMeanProblem& problem);

}  // namespace smem::plan
