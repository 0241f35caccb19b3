/// What a separable filter needs besides its plan: the same whatever the size of a work-group.
#pragma once

#include <smem/separable_plan.hpp>

#include <cstddef>

namespace smem::plan {

/// Numbers that a kernel is given by value: the least that OpenCL allows for all arguments is 1024 bytes.
inline constexpr std::size_t kFewWeightsBytes = 384;

/// \throws Error naming the argument unless the device can compute it.
void check_separable(const Device& device, const SeparableProblem& problem);

struct SeparableParts {
  std::size_t band = 1;  ///< rows that a group takes at a time: of "cpu" and "march"
  bool streaming = false;
  std::size_t scratch_bytes = 0;  ///< of "two_pass"
};

/// Of the variant that `fixed` names, or the plan's own.
SeparableParts separable_parts_of(const Device& device, const SeparableProblem& problem,
                                  const PlanOverrides& fixed);

}  // namespace smem::plan
