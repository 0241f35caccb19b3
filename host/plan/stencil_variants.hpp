/// The plans of each variant of stencils.
#pragma once

#include "plan/variants.hpp"

#include <smem/stencil_plan.hpp>

#include <array>
#include <cstddef>

namespace smem::plan::stencil {

using Sizes = std::array<std::size_t, 3>;

// What several of them need.
std::size_t value_bytes(const StencilProblem& problem);
/// Whether results lie as cells do: no stride, no dilation.
bool is_plain(const StencilProblem& problem);
/// What all plans have: names, types, the caller's expression, what is read and written.
Plan base_plan(const Device& device, const StencilProblem& problem, const char* variant);
/// For kernels that are compiled for their window, and so for its shape and boundary.
void define_window(Plan& plan, const Device& device, const StencilProblem& problem);

Attempt naive(const Device& device, const StencilProblem& problem);
/// `wanted`: work-items of a group, 0: the plan's choice.
Attempt tiled(const Device& device, const StencilProblem& problem, std::size_t wanted);
Attempt blocks(const Device& device, const StencilProblem& problem, std::size_t wanted);
Attempt rows(const Device& device, const StencilProblem& problem, std::size_t wanted);
Attempt march(const Device& device, const StencilProblem& problem, std::size_t wanted);
/// \throws Error naming the field when a tile that is fixed cannot be.
Attempt planes(const Device& device, const StencilProblem& problem, const PlanOverrides& fixed);
/// Bytes by matrix units, with weights as int8. \throws Error as planes() does.
Attempt units(const Device& device, const StencilProblem& problem, const PlanOverrides& fixed);
Attempt cpu(const Device& device, const StencilProblem& problem);

}  // namespace smem::plan::stencil
