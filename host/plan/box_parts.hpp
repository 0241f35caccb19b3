/// What a box blur needs besides its plan: the same whatever the size of a work-group.
#pragma once

#include <smem/blur_plan.hpp>

#include <cstddef>

namespace smem::plan {

struct BoxParts {
  bool separable = false;  ///< it is one of separable()'s calls
  std::size_t band = 1;    ///< rows that a group takes at a time
  std::size_t scratch_bytes = 0;
};

/// Of the variant that `fixed` names, or the plan's own.
BoxParts box_parts_of(const Device& device, const BoxProblem& problem, const PlanOverrides& fixed);

/// What separable() is asked for by the variant of that name. With `mean` its weights are 1, else those of
/// the columns are the inverse of the area.
SeparableProblem box_as_separable(SeparableProblem grids);

/// \throws Error naming the argument unless the device can compute it.
void check_box(const Device& device, const BoxProblem& problem);
void check_window(const Device& device, const WindowProblem& problem);

/// Rows of a band of plan_window()'s plans.
std::size_t window_band(const Device& device, const WindowProblem& problem);

}  // namespace smem::plan
