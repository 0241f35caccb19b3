/// Calls of conv2d by products of matrices.
#pragma once

#include "runtime/runtime.hpp"

#include <smem/context.hpp>
#include <smem/conv2d_plan.hpp>
#include <smem/grid.hpp>
#include <smem/options.hpp>
#include <smem/view.hpp>

namespace smem::ops {

/// The grids of a call, checked.
struct ProductGrids {
  const ConstGrid &in, &weights;
  const Grid& out;
  const ConstVector& bias;
};

/// Enqueues a plan of the variant "gemm".
cl::Event run_products(const Context& context, const runtime::Ready& ready, const Conv2dProblem& problem,
                       const ProductGrids& grids, const CallOptions& options);

}  // namespace smem::ops
