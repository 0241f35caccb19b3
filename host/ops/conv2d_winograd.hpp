/// Calls of conv2d by Winograd's minimal filtering.
#pragma once

#include "runtime/runtime.hpp"

#include <smem/context.hpp>
#include <smem/conv2d_plan.hpp>
#include <smem/grid.hpp>
#include <smem/options.hpp>
#include <smem/view.hpp>

namespace smem::ops {

/// The grids of a call, as kernels take them: from one interleaved channel to the next there is one element.
struct WinogradGrids {
  ConstGrid in, weights;
  Grid out;
  ConstVector bias;
};

/// Enqueues all slices of a plan. The products are calls of gemm(), since the last slice may be smaller.
cl::Event run_winograd(const Context& context, const runtime::Ready& ready, const Conv2dProblem& problem,
                       const WinogradGrids& grids, const CallOptions& options);

}  // namespace smem::ops
