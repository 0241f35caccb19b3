/// Launches of products whose plan another operation made a part of its own.
#pragma once

#include "ops/run.hpp"

#include <smem/gemm.hpp>
#include <smem/view.hpp>

namespace smem::ops {

/// A product whose views were checked: row-major, without a list, a residual or an expression.
struct CheckedProduct {
  ConstMatrix a, b;
  Matrix c;
  Gemm how;
};

/// Gives a launch of plan_gemm() its arguments.
void bind_product(const Launching& launch, const CheckedProduct& product);

}  // namespace smem::ops
