/// What softmax checks before its views.
#pragma once

#include <smem/softmax_plan.hpp>

namespace smem::plan {

/// \throws Error naming the argument unless the device can compute it.
void check_softmax(const Device& device, const SoftmaxProblem& problem);

}  // namespace smem::plan
