// Box blurs and small windows: grids -> problem -> launch.
#include "formatted.hpp"
#include "ops/filters.hpp"
#include "ops/run.hpp"
#include "plan/filters.hpp"
#include "plan/sizes.hpp"

#include <smem/blur.hpp>

#include <cmath>
#include <string>
#include <vector>

namespace smem {

namespace ops {
cl::Event sobel_slope(const Context& context, const ConstGrid& in, const Grid& out, bool across,
                      std::size_t size, const Edges& edges, const CallOptions& options);
}

using ops::refuse;

namespace {

constexpr const char* kBox = "box_blur";

/// A window whose middle is the element's own place.
ops::FilterCall filter_of(const ConstGrid& in, const Grid& out, const Edges& edges, std::size_t across,
                          std::size_t down) {
  return {in, out, edges.boundary.value_or(Boundary::mirror), across, down, across / 2, down / 2};
}

/// \throws Error when a type of integers has no such number.
void check_value(Scalar in, const Edges& edges) {
  if (edges.boundary != Boundary::constant || is_float(in)) return;
  const double most = in == Scalar::uint8 ? 255 : 65535;
  if (edges.value >= 0 && edges.value <= most && edges.value == std::floor(edges.value)) return;
  refuse("box_blur", "value", formatted("one of {}'s numbers", name_of(in)), edges.value);
}

cl::Event run_window(const Context& context, const char* operation, WindowOp op, const ConstGrid& in,
                     const Grid& out, std::size_t size, const Edges& edges, const CallOptions& options) {
  const ops::FilterCall filter = filter_of(in, out, edges, size, size);
  WindowProblem problem{ops::problem_of(operation, filter), op};
  plan::check_window(context.device(), problem);
  ops::check_same_grid(operation, in, out);
  if (ops::is_empty(in)) return ops::run_empty(context, operation, plan_window, problem, options);
  ops::check_filter(context, operation, filter, problem.grids);
  if (filter.writes_nothing()) return ops::run_empty(context, operation, plan_window, problem, options);
  // A median is one of the elements; what is none, kernels would convert to any.
  const double value = op == WindowOp::median ? ops::as_element(*in.type.scalar, edges.value) : edges.value;
  return ops::run(context, operation, plan_window, problem, options, [&](const ops::Launching& launch) {
    ops::bind_filter(launch, filter, ops::filter_weights(context, filter, value).all());
  });
}

}  // namespace

cl::Event box_blur(const Context& context, const ConstGrid& in, const Grid& out, const BoxRadius& radius,
                   const Edges& edges, const CallOptions& options) {
  const Scalar type = ops::number_type(kBox, "in", in.type), given = ops::number_type(kBox, "out", out.type);
  if (given != type && given != Scalar::float32)
    refuse(kBox, "out", formatted("{} or float32", name_of(type)), std::string(name_of(given)));
  if (edges.boundary) plan::require_known(kBox, "boundary", *edges.boundary);
  const std::size_t most = std::max(radius.across, radius.down);
  if (most > kMaxBoxRadius) refuse(kBox, "radius", formatted("at most {}", kMaxBoxRadius), most);
  check_value(type, edges);
  const std::size_t across = 2 * radius.across + 1, down = 2 * radius.down + 1;
  const ops::FilterCall filter = filter_of(in, out, edges, across, down);
  BoxProblem problem{ops::problem_of(kBox, filter)};
  plan::check_box(context.device(), problem);
  ops::check_same_grid(kBox, in, out);
  if (ops::is_empty(in)) return ops::run_empty(context, kBox, plan_box, problem, options);
  ops::check_filter(context, kBox, filter, problem.grids);
  if (filter.writes_nothing()) return ops::run_empty(context, kBox, plan_box, problem, options);
  return ops::run(context, kBox, plan_box, problem, options, [&](const ops::Launching& launch) {
    const std::string& variant = launch.plan().variant;
    if (variant != "separable" && variant != "units") {
      ops::bind_filter(launch, filter, ops::filter_weights(context, filter, edges.value).all());
    } else {  // one of separable()'s kernels
      const bool mean = variant == "units" || plan::box_as_separable(problem.grids).mean;
      const double weight = mean ? 1 : 1 / static_cast<double>(across * down);
      const ops::FilterWeights weights = ops::filter_weights(
          context, filter, edges.value, std::vector<double>(across, 1.0), std::vector<double>(down, weight));
      if (launch.plan().kernel_file == plan::kUnitsFile) {
        ops::bind_filter(launch, filter, weights.all());
      } else {
        ops::bind_filter(launch, filter, weights.all(), weights.few);
      }
    }
  });
}

cl::Event median_blur(const Context& context, const ConstGrid& in, const Grid& out, std::size_t size,
                      const Edges& edges, const CallOptions& options) {
  return run_window(context, "median_blur", WindowOp::median, in, out, size, edges, options);
}

cl::Event sobel(const Context& context, const ConstGrid& in, const Grid& out, const Sobel& sobel,
                const Edges& edges, const CallOptions& options) {
  const auto [gradient, size] = sobel;
  plan::require_known("sobel", "gradient", gradient, Gradient::magnitude);
  if (size != 3 && size != 5) refuse("sobel", "size", "3 or 5", size);
  if (gradient != Gradient::magnitude)
    return ops::sobel_slope(context, in, out, gradient == Gradient::across, size, edges, options);
  return run_window(context, "sobel", WindowOp::gradient, in, out, size, edges, options);
}

}  // namespace smem
