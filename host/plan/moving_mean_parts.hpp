/// What a moving mean needs besides its plan: the same whatever the size of a work-group.
#pragma once

#include <smem/moving_mean_plan.hpp>

#include <cstddef>
#include <string_view>

namespace smem::plan {

/// \throws Error naming the argument unless the device can compute it.
void check_moving_mean(const Device& device, const MovingMeanProblem& problem);

/// Rows that "blocks" does at a time, and its temporary memory.
struct MovingMeanSlices {
  std::size_t rows = 1;
  std::size_t scratch_bytes = 0;
};
MovingMeanSlices moving_mean_slices(const MovingMeanProblem& problem);
/// The variant that plan_moving_mean() takes.
std::string_view moving_mean_choice(const Device& device, const MovingMeanProblem& problem,
                                    const PlanOverrides& fixed);

}  // namespace smem::plan
