// Convolutions and correlations: arguments -> a stencil with a window that need not be symmetric, or two
// passes of a separable filter.
#include <smem/convolve2d.hpp>

#include "formatted.hpp"
#include "ops/grids.hpp"
#include "ops/stencil.hpp"
#include "plan/sizes.hpp"

#include <smem/separable.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace smem {

using ops::refuse;

namespace {

constexpr const char* kConvolve2dName = "convolve2d";
constexpr std::size_t kMostWindow = std::size_t{1} << 30;  // cells of a window, a stride, a dilation
constexpr std::size_t kMostTaps = 4000;                    // of a pass of separable()

/// A kernel as the sum goes through it: correlation, with what lies before the first window.
struct Window {
  std::vector<double> weights;
  std::size_t left = 0, top = 0, right = 0, bottom = 0;
};

void check_numbers(const ConvolutionKernel& kernel, const Convolution& convolution) {
  const Boundary boundary = convolution.edges.boundary.value_or(Boundary::zero);
  plan::require_known(kConvolve2dName, "boundary", boundary);
  plan::require_known(kConvolve2dName, "separable", convolution.separable, Separable::always);
  for (const auto& [name, number] : {std::pair{"kernel.width", kernel.width},
                                     {"kernel.height", kernel.height},
                                     {"stride.x", convolution.stride.x},
                                     {"stride.y", convolution.stride.y},
                                     {"dilation.x", convolution.dilation.x},
                                     {"dilation.y", convolution.dilation.y}}) {
    if (number < 1 || number > kMostWindow)
      refuse(kConvolve2dName, name, formatted("1 to {}", kMostWindow), number);
  }
  if (kernel.weights.size() != plan::size_product(kernel.width, kernel.height)) {
    refuse(kConvolve2dName, "kernel.weights", formatted("{} x {}", kernel.width, kernel.height),
           kernel.weights.size());
  }
  for (const auto& [name, dilation, size] : {std::tuple{"dilation.x", convolution.dilation.x, kernel.width},
                                             {"dilation.y", convolution.dilation.y, kernel.height}}) {
    if ((size - 1) * dilation >= kMostWindow)
      refuse(kConvolve2dName, name, formatted("a window of at most {} cells", kMostWindow), dilation);
  }
  if (boundary == Boundary::leave)
    refuse(kConvolve2dName, "boundary", "one that says what lies in the padding", "\"leave\"");
}

Window window_of(const ConvolutionKernel& kernel, const Convolution& convolution) {
  Window window;
  window.weights = kernel.weights;
  if (convolution.turned) std::reverse(window.weights.begin(), window.weights.end());
  const auto anchor = [&](const char* name, const std::optional<std::size_t>& asked, std::size_t size) {
    if (!asked) return convolution.turned ? size - 1 - size / 2 : size / 2;
    if (convolution.padding) refuse(kConvolve2dName, name, "none beside a padding", *asked);
    if (*asked >= size) refuse(kConvolve2dName, name, formatted("less than {}", size), *asked);
    return convolution.turned ? size - 1 - *asked : *asked;
  };
  const std::size_t x = anchor("anchor_x", convolution.anchor_x, kernel.width),
                    y = anchor("anchor_y", convolution.anchor_y, kernel.height);
  if (convolution.padding) {
    const Padding& p = *convolution.padding;
    for (const std::size_t side : {p.left, p.top, p.right, p.bottom}) {
      if (side > kMostWindow) refuse(kConvolve2dName, "padding", formatted("at most {}", kMostWindow), side);
    }
    window.left = p.left, window.top = p.top, window.right = p.right, window.bottom = p.bottom;
  } else {
    window.left = x * convolution.dilation.x;
    window.top = y * convolution.dilation.y;
    window.right = (kernel.width - 1 - x) * convolution.dilation.x;
    window.bottom = (kernel.height - 1 - y) * convolution.dilation.y;
  }
  return window;
}

/// A column and a row whose product a kernel is.
struct WeightFactors {
  std::vector<double> column, row;
};

/// By the row and the column of the largest weight: every other one must be what they make.
std::optional<WeightFactors> factors_of(const std::vector<double>& weights, std::size_t width,
                                        double tolerance) {
  const auto largest = std::max_element(weights.begin(), weights.end(),
                                        [](double a, double b) { return std::abs(a) < std::abs(b); });
  const double most = *largest;
  if (!std::isfinite(most) || most == 0) return std::nullopt;
  const std::size_t at = static_cast<std::size_t>(largest - weights.begin()), height = weights.size() / width;
  WeightFactors factors;
  for (std::size_t i = 0; i < height; ++i)
    factors.column.push_back(weights[i * width + at % width]);
  for (std::size_t j = 0; j < width; ++j)
    factors.row.push_back(weights[at / width * width + j] / most);
  for (std::size_t i = 0; i < height; ++i) {
    for (std::size_t j = 0; j < width; ++j) {
      const double off = std::abs(weights[i * width + j] - factors.column[i] * factors.row[j]);
      if (!(off <= tolerance * std::abs(most))) return std::nullopt;
    }
  }
  return factors;
}

/// The factors, where the kernel is to be applied as two.
std::optional<WeightFactors> choose_factors(const Window& window, const StencilProblem& problem,
                                            const Convolution& convolution, const CallOptions& options) {
  if (convolution.separable == Separable::never) return std::nullopt;
  const std::size_t width = problem.window[0], height = problem.window[1];
  const bool fits = std::max({convolution.stride.x, convolution.stride.y, convolution.dilation.x,
                              convolution.dilation.y}) == 1 &&
                    problem.size == problem.out_size && window.left < width && window.top < height &&
                    width <= kMostTaps && height <= kMostTaps;
  const bool always = convolution.separable == Separable::always;
  if (!always && (!fits || width * height < 2 * (width + height) || !options.variant.empty() ||
                  options.plan != nullptr || options.overrides != nullptr))
    return std::nullopt;
  if (!fits) {
    refuse(
        kConvolve2dName, "separable",
        formatted("no stride and no dilation, out of in's size, and at most {} weights in a row and column",
                  kMostTaps),
        "\"always\"");
  }
  auto factors = factors_of(window.weights, width, problem.type == Scalar::float64 ? 0x1p-50 : 0x1p-22);
  if (always && !factors) {
    refuse(kConvolve2dName, "kernel", "a kernel of rank 1, to be applied as a column and a row",
           "another one");
  }
  return factors;
}

}  // namespace

cl::Event convolve2d(const Context& context, const ConstGrid& in, const Grid& out,
                     const ConvolutionKernel& kernel, const Convolution& convolution,
                     const CallOptions& options) {
  check_numbers(kernel, convolution);
  const Window window = window_of(kernel, convolution);
  const GridSize size{convolved_size(in.size.width, kernel.width, convolution.stride.x,
                                     convolution.dilation.x, window.left, window.right),
                      convolved_size(in.size.height, kernel.height, convolution.stride.y,
                                     convolution.dilation.y, window.top, window.bottom),
                      in.size.depth};
  if (std::min(in.size.width, in.size.height) == 0 && std::min(size.width, size.height) != 0)
    refuse(kConvolve2dName, "in", "a cell to be padded around", "none");
  ConstGrid shape = in;  // what `out` must be
  shape.size = size;
  if (out.size != size) {
    refuse(kConvolve2dName, "out", formatted("{} x {} x {} cells", size.width, size.height, size.depth),
           formatted("{} x {} x {}", out.size.width, out.size.height, out.size.depth));
  }
  ops::check_same_grid(kConvolve2dName, shape, out);
  StencilProblem problem = ops::problem_of(kConvolve2dName, in, out);
  problem.convolution = true;
  problem.boundary = convolution.edges.boundary.value_or(Boundary::zero);
  problem.window = {kernel.width, kernel.height, 1};
  problem.stride = {convolution.stride.x, convolution.stride.y, 1};
  problem.dilation = {convolution.dilation.x, convolution.dilation.y, 1};
  problem.first = {-static_cast<std::ptrdiff_t>(window.left), -static_cast<std::ptrdiff_t>(window.top), 0};
  if (const auto factors = choose_factors(window, problem, convolution, options)) {
    return separable(context, in, out, {factors->row, factors->column, window.left, window.top},
                     convolution.edges, options);
  }
  return ops::run_stencil(context, problem, in, out, window.weights, convolution.edges.value, options);
}

}  // namespace smem
