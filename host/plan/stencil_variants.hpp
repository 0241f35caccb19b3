/// The plans of each variant of stencils.
#pragma once

#include <smem/device.hpp>
#include <smem/plan.hpp>
#include <smem/stencil_plan.hpp>

#include <cstddef>
#include <optional>
#include <string>

namespace smem::plan::stencil {

/// A plan, or why there is none.
struct Attempt {
  std::optional<Plan> plan = {};
  std::string why_not = {};
};

Attempt naive(const Device& device, const StencilProblem& problem);
/// `wanted`: work-items of a group, 0: the plan's choice.
Attempt tiled(const Device& device, const StencilProblem& problem, std::size_t wanted);
Attempt rows(const Device& device, const StencilProblem& problem, std::size_t wanted);
Attempt march(const Device& device, const StencilProblem& problem, std::size_t wanted);
/// \throws Error naming the field when a tile that is fixed cannot be.
Attempt planes(const Device& device, const StencilProblem& problem, const PlanOverrides& fixed);
Attempt cpu(const Device& device, const StencilProblem& problem);

}  // namespace smem::plan::stencil
