/// What norms along rows and along columns have in common: what they check before their views, and their
/// operands.
#pragma once

#include "plan/rows.hpp"
#include "plan/sizes.hpp"

#include <smem/norm_plan.hpp>

#include <cstddef>
#include <vector>

namespace smem::plan {

/// \throws Error naming the argument unless the device can compute it.
void check_norm(const Device& device, const NormProblem& problem);
/// The same of what both directions have besides their matrices.
void check_norm_operands(const char* operation, Scalar in, Scalar weights, bool weight, bool bias,
                         bool residual, bool sum);
/// The same along columns.
void check_norm_columns(const Device& device, const NormColumnsProblem& problem);

/// The vectors of weights and biases.
struct NormVectors {
  std::size_t count;
  Scalar type;
};
template <class Problem>
NormVectors norm_vectors(const Problem& p) {
  return {.count = (p.weight ? 1U : 0U) + (p.bias ? 1U : 0U),
          .type = p.weight || p.bias ? p.weights : row_value(p.in)};
}

template <class Problem>
std::vector<Define> norm_defines(const Problem& p) {
  return {{"OPERATION", static_cast<int>(p.op)},
          {"HAS_WEIGHT", p.weight ? 1 : 0},
          {"HAS_BIAS", p.bias ? 1 : 0},
          {"HAS_RESIDUAL", p.residual ? 1 : 0},
          {"HAS_SUM", p.sum ? 1 : 0},
          {"WEIGHT_IS_ELEMENT", norm_vectors(p).type == p.in ? 1 : 0}};
}

/// Of an element: sum, difference, its square, their sums, difference and product; of rms square, sum,
/// product.
template <class Problem>
double norm_operations(const Problem& p) {
  return (p.op == NormOp::rms ? 3.0 : 7.0) + static_cast<double>(norm_vectors(p).count) +
         (p.residual ? 1 : 0);
}

}  // namespace smem::plan
