/// What norms check before their views.
#pragma once

#include <smem/norm_plan.hpp>

namespace smem::plan {

/// \throws Error naming the argument unless the device can compute it.
void check_norm(const Device& device, const NormProblem& problem);

}  // namespace smem::plan
