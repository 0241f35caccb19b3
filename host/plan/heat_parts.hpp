/// Heat diffusion: what the parts of its plans tell each other, and the launch.
#pragma once

#include <smem/error.hpp>
#include <smem/heat_plan.hpp>

#include "plan/sizes.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace smem::plan {

/// \throws Error naming what is wrong, unless the problem can be solved on the device.
void check_heat(const Device& device, const HeatProblem& problem);

/// The grid as kernels see it: a grid of two dimensions is one of height 1, whose planes are its rows.
struct HeatShape {
  std::size_t dimensions, width, height, depth;
};
HeatShape heat_shape(const HeatProblem& problem);

/// What is computed with: half is storage only.
inline Scalar heat_value_type(Scalar type) { return type == Scalar::half ? Scalar::float32 : type; }

/// What one thread's blocks are on a CPU: the same whatever the size of a work-group turns out to be.
struct HeatBlocks {
  std::size_t x = 1, y = 1;
  std::size_t chunk = 1;  ///< planes
};
HeatBlocks heat_blocks(const Device& device, const HeatProblem& problem, std::size_t steps);
/// Cells of the queue in a thread's cache; 0: there is no room for one, and passes have one step.
std::size_t heat_queue(const Device& device, Scalar type);

/// The plan of a pass of so many steps by a variant, or why there is none.
struct HeatAttempt {
  HeatAttempt(Plan made) : plan(std::move(made)) {}
  HeatAttempt(std::string reason) : why_not(std::move(reason)) {}
  HeatAttempt(const char* reason) : why_not(reason) {}
  std::optional<Plan> plan;
  std::string why_not;
};
HeatAttempt try_heat(const Device& device, const HeatProblem& problem, std::string_view variant,
                     std::size_t steps, const PlanOverrides& fixed);

/// What the plan, or the caller, chose for all passes of a call.
struct HeatChoice {
  std::string variant;
  std::size_t steps = 1;  ///< of a pass, at most
};
/// \throws Error as plan_heat().
HeatChoice choose_heat(const Device& device, const HeatProblem& problem, const PlanOverrides& fixed);

/// The plan of a pass of a call. A pass of 0 steps copies, in the first variant.
Plan plan_heat_pass(const Device& device, const HeatProblem& problem, const HeatChoice& choice,
                    std::size_t steps, const PlanOverrides& fixed);

/// Bytes of a grid between two passes, whose rows begin at kHeatAlignment; 0 where there is none.
inline constexpr std::size_t kHeatAlignment = 64;
std::size_t heat_scratch_pitch(const HeatProblem& problem);
std::size_t heat_scratch_bytes(const HeatProblem& problem, const HeatPasses& passes);

[[noreturn]] inline void refuse_heat(const char* argument, std::string expected, std::string got) {
  throw Error(
      {.operation = "heat", .argument = argument, .expected = std::move(expected), .got = std::move(got)});
}

}  // namespace smem::plan
