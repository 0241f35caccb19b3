/// What the descriptions of softmax along rows and along columns share.
#pragma once

#include <smem/scalar.hpp>

#include <cmath>
#include <cstddef>

namespace smem::operations {

/// What a result may differ by, of its size: a unit in the last place of its type, since both results are
/// rounded, the rounding of an exponential (3 units), and of a sum of `count` positive numbers, which err at
/// random.
inline double softmax_tolerance(Scalar in, Scalar out, std::size_t count) {
  const double unit = in == Scalar::float64 ? 0x1p-53 : 0x1p-24;
  const double computed = unit * (16 + 4 * std::sqrt(static_cast<double>(count)));
  return computed + (out == Scalar::half ? 0x1p-10 : out == Scalar::bfloat16 ? 0x1p-7 : 0);
}

}  // namespace smem::operations
