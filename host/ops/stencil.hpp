/// What stencils and convolutions share on their way to the device.
#pragma once

#include <smem/context.hpp>
#include <smem/grid.hpp>
#include <smem/options.hpp>
#include <smem/stencil_plan.hpp>

#include <span>

namespace smem::ops {

/// The sizes and types of a problem between two grids.
StencilProblem problem_of(const Grid& in, const Grid& out);

/// Checks types and the grids' places, and launches; what the problem asks of shapes is checked before.
/// `value`: beyond the edges, with Boundary::constant.
cl::Event run_stencil(const Context& context, StencilProblem problem, const Grid& in, const Grid& out,
                      std::span<const double> weights, double value, const CallOptions& options);

}  // namespace smem::ops
