/// What plans of operations along rows share (cl/common/rows.clh).
#pragma once

#include "plan/sizes.hpp"

#include <smem/device.hpp>
#include <smem/plan.hpp>
#include <smem/scalar.hpp>

#include <algorithm>
#include <cstddef>

namespace smem::plan {

/// Elements of a row, at most: kernels count them in 32 bits.
inline constexpr std::size_t kMostCols = std::size_t{1} << 30;

/// What rows of `in` are computed in.
constexpr Scalar row_value(Scalar in) { return in == Scalar::float64 ? Scalar::float64 : Scalar::float32; }

/// \throws Error naming "in" or "out" unless the types and sizes are ones of rows.
inline void check_rows(const char* operation, const Device& device, Scalar in, Scalar out, std::size_t rows,
                       std::size_t cols, std::size_t batch) {
  require_known(operation, "in", in);
  require_known(operation, "out", out);
  require_one_of(operation, "in", in, {Scalar::half, Scalar::bfloat16, Scalar::float32, Scalar::float64});
  require_fp64(operation, device, "in", in);
  if (out != in) require_one_of(operation, "out", out, {row_value(in)});
  require_elements(operation, "in", {rows, cols, batch});
  if (cols > kMostCols) refuse(operation, "in", "rows of at most 2^30 elements", std::to_string(cols));
}

/// Tells a kernel the types.
inline void define_row_types(Launch& launch, Scalar in, Scalar out) {
  define_types(launch, {{"ELEMENT", in}, {"RESULT", out}, {"VALUE", row_value(in)}});
  if (in == Scalar::half) define(launch, "ELEMENT_HALF", 1);
  if (in == Scalar::bfloat16) define(launch, "ELEMENT_BFLOAT16", 1);
  if (out == Scalar::half) define(launch, "RESULT_HALF", 1);
  if (out == Scalar::bfloat16) define(launch, "RESULT_BFLOAT16", 1);
  if (in == Scalar::float64) define(launch, "USE_DOUBLE", 1);
}

/// Elements that a work-item reads and writes at once, of at most `bytes`.
inline std::size_t row_pack(std::size_t bytes, std::size_t alignment, Scalar in, Scalar out) {
  const std::size_t most = std::min(bytes, std::clamp<std::size_t>(alignment, 1, 16));
  return at_least_1(most / std::max(size_of(in), size_of(out)));
}

/// Packs of a row, which begins anywhere in the first one unless rows are aligned.
inline std::size_t row_packs(std::size_t cols, std::size_t pack, Scalar in, std::size_t row_alignment) {
  const bool aligned = row_alignment >= pack * size_of(in);
  return at_least_1(divide_up(cols + (aligned ? 0 : pack - 1), pack));
}

}  // namespace smem::plan
