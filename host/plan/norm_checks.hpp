/// What norms check before their views.
#pragma once

#include <smem/norm_plan.hpp>

namespace smem::plan {

/// \throws Error naming the argument unless the device can compute it.
void check_norm(const Device& device, const NormProblem& problem);
/// The same of what both directions have besides their matrices.
void check_norm_operands(const char* operation, Scalar in, Scalar weights, bool weight, bool bias,
                         bool residual, bool sum);
/// The same along columns.
void check_norm_columns(const Device& device, const NormColumnsProblem& problem);

}  // namespace smem::plan
