/// What rotary position embeddings check before their views.
#pragma once

#include <smem/rotary_plan.hpp>

namespace smem::plan {

/// \throws Error naming the argument unless the device can compute it.
void check_rotary(const Device& device, const RotaryProblem& problem);

}  // namespace smem::plan
