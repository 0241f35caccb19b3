/// What softmax checks before its views.
#pragma once

#include <smem/softmax_plan.hpp>

namespace smem::plan {

/// \throws Error naming the argument unless the device can compute it.
void check_softmax(const Device& device, const SoftmaxProblem& problem);
/// The same along columns.
void check_softmax_columns(const Device& device, const SoftmaxColumnsProblem& problem);

}  // namespace smem::plan
