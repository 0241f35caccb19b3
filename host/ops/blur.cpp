// Gaussian blurs, unsharp masks and slopes: their weights, and the call of a separable filter.
#include "formatted.hpp"
#include "ops/filters.hpp"
#include "plan/sizes.hpp"

#include <smem/blur.hpp>

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace smem {

using ops::refuse;

namespace {

constexpr std::size_t kMostCells = 4000;  // of a window, as separable() has them

/// OpenCV's tables, in 256ths: those of sizes 3 and 5 are binomial coefficients.
std::vector<double> small_table(std::size_t size) {
  switch (size) {
    case 1:
      return {256};
    case 3:
      return {64, 128, 64};
    case 5:
      return {16, 64, 96, 64, 16};
    case 7:
      return {8, 28, 56, 72, 56, 28, 8};
    default:
      return {4, 13, 30, 51, 60, 51, 30, 13, 4};
  }
}

/// Both numbers of a window. \throws Error naming `window`.
Gaussian completed(const char* operation, Gaussian window, Scalar type) {
  if (!std::isfinite(window.sigma) || window.sigma < 0)
    refuse(operation, "window", "a sigma of 0 or more", window.sigma);
  if (window.size == 0 && window.sigma == 0) refuse(operation, "window", "a size or a sigma", "neither");
  if (window.size > kMostCells)
    refuse(operation, "window", formatted("a window of at most {} cells", kMostCells), window.size);
  if (window.size == 0) {
    const double size = std::round(window.sigma * (type == Scalar::uint8 ? 3 : 4) * 2 + 1);
    if (size > static_cast<double>(kMostCells))
      refuse(operation, "window", formatted("a window of at most {} cells", kMostCells), size);
    window.size = static_cast<std::size_t>(size) | 1;
  }
  if (window.size % 2 == 0) refuse(operation, "window", "an odd size", window.size);
  return window;
}

/// Of 256ths, whole ones: the error of each goes to the next, and the middle takes what is left.
void make_whole(std::vector<double>& weights) {
  double error = 0, sum = 0;
  const std::size_t middle = weights.size() / 2;
  for (std::size_t i = 0; i < middle; ++i) {
    const double wanted = weights[i] * 256 + error, whole = std::nearbyint(wanted);
    error = wanted - whole;
    weights[i] = weights[weights.size() - 1 - i] = whole / 256;
    sum += 2 * whole;
  }
  weights[middle] = (256 - sum) / 256;
}

std::vector<double> weights_of(const char* operation, const Gaussian& wanted, Scalar type, bool whole) {
  const Gaussian window = completed(operation, wanted, type);
  std::vector<double> weights(window.size);
  if (window.sigma == 0 && window.size <= 9) {
    weights = small_table(window.size);
    for (double& weight : weights)
      weight /= 256;
    return weights;
  }
  const double half = (static_cast<double>(window.size) - 1) / 2;
  const double sigma = window.sigma > 0 ? window.sigma : 0.3 * (half - 1) + 0.8;
  double sum = 0;
  for (std::size_t i = 0; i < window.size; ++i) {
    // Divided before it is squared: the square of a small sigma is 0.
    const double x = (static_cast<double>(i) - half) / sigma;
    weights[i] = std::exp(-x * x / 2);
    sum += weights[i];
  }
  for (double& weight : weights)
    weight /= sum;
  if (whole) make_whole(weights);
  return weights;
}

/// The type of `in`. \throws Error unless `out` is of a type that blurs give.
Scalar checked_type(const char* operation, const ConstGrid& in, const Grid& out) {
  const Scalar type = ops::number_type(operation, "in", in.type),
               given = ops::number_type(operation, "out", out.type);
  if (given != type && given != Scalar::float32)
    refuse(operation, "out", formatted("{} or float32", name_of(type)), std::string(name_of(given)));
  return type;
}

/// Weights along rows and along columns.
struct Weights {
  std::vector<double> row, column;
};
Weights both_weights(const char* operation, const Gaussian& window, Scalar type, bool whole) {
  std::vector<double> row = weights_of(operation, window, type, whole);
  if (window.size_down == 0 && window.sigma_down == 0) return {row, row};
  return {std::move(row), weights_of(operation, {window.size_down, window.sigma_down}, type, whole)};
}

}  // namespace

std::vector<double> gaussian_weights(const Gaussian& window, Scalar type) {
  plan::require_known("gaussian_weights", "type", type);
  return weights_of("gaussian_weights", window, type, type == Scalar::uint8);
}

cl::Event gaussian_blur(const Context& context, const ConstGrid& in, const Grid& out, const Gaussian& window,
                        const Edges& edges, const CallOptions& options) {
  constexpr const char* kOperation = "gaussian_blur";
  const Scalar type = checked_type(kOperation, in, out);
  const bool bytes = type == Scalar::uint8;
  const Weights weights = both_weights(kOperation, window, type, bytes);
  return ops::run_separable(
      context, in, out, {weights.row, weights.column}, edges, options,
      {.operation = kOperation, .boundary = Boundary::mirror, .half_up = bytes, .whole_weights = bytes});
}

cl::Event unsharp_mask(const Context& context, const ConstGrid& in, const Grid& out, const UnsharpMask& mask,
                       const Edges& edges, const CallOptions& options) {
  constexpr const char* kOperation = "unsharp_mask";
  const Scalar type = checked_type(kOperation, in, out);
  // As a number of what is computed with.
  const double most =
      type == Scalar::float64 ? std::numeric_limits<double>::max() : std::numeric_limits<float>::max();
  if (!(std::abs(mask.amount) <= most))
    refuse(kOperation, "amount", formatted("a number from {} to {}", -most, most), mask.amount);
  if (!(mask.threshold >= 0)) refuse(kOperation, "threshold", "0 or more", mask.threshold);
  const Weights weights = both_weights(kOperation, mask.window, type, false);
  return ops::run_separable(context, in, out, {weights.row, weights.column}, edges, options,
                            {.operation = kOperation,
                             .boundary = Boundary::mirror,
                             .unsharp = true,
                             .amount = mask.amount,
                             .threshold = mask.threshold});
}

namespace ops {

cl::Event sobel_slope(const Context& context, const ConstGrid& in, const Grid& out, bool across,
                      std::size_t size, const Edges& edges, const CallOptions& options) {
  const bool small = size == 3;
  const std::vector<double> slope =
      small ? std::vector<double>{-1, 0, 1} : std::vector<double>{-1, -2, 0, 2, 1};
  const std::vector<double> smooth =
      small ? std::vector<double>{1, 2, 1} : std::vector<double>{1, 4, 6, 4, 1};
  return run_separable(context, in, out, {across ? slope : smooth, across ? smooth : slope}, edges, options,
                       {.operation = "sobel", .boundary = Boundary::mirror});
}

}  // namespace ops

}  // namespace smem
