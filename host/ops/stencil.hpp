/// What stencils and convolutions share on their way to the device.
#pragma once

#include <smem/context.hpp>
#include <smem/grid.hpp>
#include <smem/options.hpp>
#include <smem/stencil_plan.hpp>

#include <span>

namespace smem::ops {

/// The sizes and type of a problem between two grids. \throws Error naming a grid that holds no numbers, or
/// others than `in`.
StencilProblem problem_of(const char* operation, const ConstGrid& in, const Grid& out);

/// Checks the grids' places, and launches; what the problem asks of shapes is checked before. `value`: beyond
/// the edges, with Boundary::constant.
cl::Event run_stencil(const Context& context, StencilProblem problem, const ConstGrid& in, const Grid& out,
                      std::span<const double> weights, double value, const CallOptions& options);

}  // namespace smem::ops
