// Box blurs and small windows: grids -> problem -> launch.
#include "formatted.hpp"
#include "ops/filters.hpp"
#include "ops/run.hpp"
#include "plan/filters.hpp"
#include "plan/sizes.hpp"

#include <smem/blur.hpp>
#include <smem/error.hpp>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

namespace smem {

namespace ops {
cl::Event sobel_slope(const Context& context, const Grid& in, const Grid& out, bool across, std::size_t size,
                      const BlurOptions& options, const CallOptions& call);
}

namespace {

constexpr const char* kBox = "box_blur";

[[noreturn]] void refuse(const char* operation, const char* argument, std::string expected, std::string got) {
  throw Error(
      {.operation = operation, .argument = argument, .expected = std::move(expected), .got = std::move(got)});
}

/// A window whose middle is the element's own place.
ops::FilterCall filter_of(const Grid& in, const Grid& out, const BlurOptions& options, std::size_t across,
                          std::size_t down) {
  return {in, out, options.boundary, across, down, across / 2, down / 2};
}

/// \throws Error when a type of integers has no such number.
void check_value(const Grid& in, const BlurOptions& options) {
  if (options.boundary != Boundary::constant || is_float(in.type)) return;
  const double most = in.type == Scalar::uint8 ? 255 : 65535;
  if (options.value >= 0 && options.value <= most && options.value == std::floor(options.value)) return;
  refuse("box_blur", "value", formatted("one of {}'s numbers", name_of(in.type)),
         formatted("{}", options.value));
}

cl::Event run_window(const Context& context, const char* operation, WindowOp op, const Grid& in,
                     const Grid& out, std::size_t size, const BlurOptions& options, const CallOptions& call) {
  const ops::FilterCall filter = filter_of(in, out, options, size, size);
  WindowProblem problem{ops::problem_of(filter), op};
  plan::check_window(context.device(), problem);
  ops::check_same_grid(operation, in, out);
  if (ops::is_empty(in)) return ops::run_empty(context, operation, plan_window, problem, call);
  ops::check_filter(context, operation, filter, problem.grids);
  problem.grids.in_alignment = problem.grids.out_alignment = 64;  // its vectors lie anywhere
  if (filter.writes_nothing()) return ops::run_empty(context, operation, plan_window, problem, call);
  return ops::run(context, operation, plan_window, problem, call, [&](const ops::Launching& launch) {
    ops::bind_filter(launch, filter, ops::filter_weights(context, filter, options.value).all());
  });
}

}  // namespace

cl::Event box_blur(const Context& context, const Grid& in, const Grid& out, const BoxRadius& radius,
                   const BlurOptions& options, const CallOptions& call) {
  plan::require_known(kBox, "in", in.type);
  plan::require_known(kBox, "out", out.type);
  if (out.type != in.type && out.type != Scalar::float32)
    refuse(kBox, "out", formatted("{} or float32", name_of(in.type)), std::string(name_of(out.type)));
  plan::require_known(kBox, "boundary", options.boundary);
  const std::size_t most = std::max(radius.across, radius.down);
  if (most > kMaxBoxRadius)
    refuse(kBox, "radius", formatted("at most {}", kMaxBoxRadius), formatted("{}", most));
  check_value(in, options);
  const std::size_t across = 2 * radius.across + 1, down = 2 * radius.down + 1;
  const ops::FilterCall filter = filter_of(in, out, options, across, down);
  BoxProblem problem{ops::problem_of(filter)};
  plan::check_box(context.device(), problem);
  ops::check_same_grid(kBox, in, out);
  if (ops::is_empty(in)) return ops::run_empty(context, kBox, plan_box, problem, call);
  ops::check_filter(context, kBox, filter, problem.grids);
  if (filter.writes_nothing()) return ops::run_empty(context, kBox, plan_box, problem, call);
  return ops::run(context, kBox, plan_box, problem, call, [&](const ops::Launching& launch) {
    if (launch.plan().operation == kBox) {
      ops::bind_filter(launch, filter, ops::filter_weights(context, filter, options.value).all());
    } else {  // one of separable()'s plans
      const bool mean = plan::box_as_separable(problem.grids).mean;
      const double weight = mean ? 1 : 1 / static_cast<double>(across * down);
      const ops::FilterWeights weights =
          ops::filter_weights(context, filter, options.value, std::vector<double>(across, 1.0),
                              std::vector<double>(down, weight));
      ops::bind_filter(launch, filter, weights.all(), weights.few);
    }
  });
}

cl::Event median_blur(const Context& context, const Grid& in, const Grid& out, std::size_t size,
                      const BlurOptions& options, const CallOptions& call) {
  return run_window(context, "median_blur", WindowOp::median, in, out, size, options, call);
}

cl::Event sobel(const Context& context, const Grid& in, const Grid& out, Sobel what, std::size_t size,
                const BlurOptions& options, const CallOptions& call) {
  plan::require_known("sobel", "what", what, Sobel::magnitude);
  if (size != 3 && size != 5) refuse("sobel", "size", "3 or 5", formatted("{}", size));
  if (what != Sobel::magnitude)
    return ops::sobel_slope(context, in, out, what == Sobel::across, size, options, call);
  return run_window(context, "sobel", WindowOp::gradient, in, out, size, options, call);
}

}  // namespace smem
