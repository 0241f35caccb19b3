/// Heat diffusion: what the parts of its plans, and the call, share.
#pragma once

#include <smem/heat_plan.hpp>

#include "plan/variants.hpp"

#include <string>
#include <string_view>
#include <utility>

namespace smem::plan {

/// \throws Error naming what is wrong, unless the problem can be solved on the device.
void check_heat(const Device& device, const HeatProblem& problem);

/// The grid of kernels: a grid of two dimensions is one of height 1, whose planes are its rows.
struct HeatShape {
  std::size_t dimensions, width, height, depth;
};
HeatShape heat_shape(const HeatProblem& problem);

/// What is computed with: half is storage only.
inline Scalar heat_value_type(Scalar type) { return type == Scalar::half ? Scalar::float32 : type; }

/// Cells of the queue in a thread's cache; 0: there is no room for one, and passes have one step.
std::size_t heat_queue(const Device& device, Scalar type);

/// The plan of a pass of so many steps by a variant, or why there is none.
Attempt try_heat(const Device& device, const HeatProblem& problem, std::string_view variant,
                 std::size_t steps, const PlanOverrides& fixed);

[[noreturn]] inline void refuse_heat(const char* argument, std::string_view expected, std::string_view got) {
  refuse("heat", argument, expected, got);
}

}  // namespace smem::plan
