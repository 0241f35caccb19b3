/// What the descriptions of norms along rows and along columns share.
#pragma once

#include "operations/operation.hpp"

#include <smem/norm_plan.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>

namespace smem::operations {

/// Numbers from 0.5 to 1.5.
inline double norm_weight(std::uint64_t random) { return static_cast<double>(random >> 44) * 0x1p-20 + 0.5; }

/// The arrays of a case, by their places among inputs and outputs.
struct NormArrays {
  std::size_t weight, bias, residual;
};
template <class Problem>
NormArrays norm_arrays(const Problem& p) {
  NormArrays arrays{1, 1, 1};
  arrays.bias += p.weight ? 1 : 0;
  arrays.residual = arrays.bias + (p.bias ? 1 : 0);
  return arrays;
}

/// What a result may differ by, of its size and of 1: roundings of sums of `count` numbers, which err at
/// random.
inline double norm_tolerance(Scalar in, std::size_t count) {
  const double unit = in == Scalar::float64 ? 0x1p-53 : 0x1p-24;
  return unit * (16 + 4 * std::sqrt(static_cast<double>(count)));
}

}  // namespace smem::operations
