// Box blurs and small windows: arguments -> plan -> launch.
#include "formatted.hpp"
#include "ops/filters.hpp"
#include "ops/key.hpp"
#include "ops/tuned.hpp"
#include "plan/box_parts.hpp"
#include "plan/sizes.hpp"
#include "runtime/scratch.hpp"

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

runtime::ProblemKey key_of(const SeparableProblem& p, const PlanOverrides& fixed, ops::PlanMaker maker,
                           std::uint64_t what, const std::vector<std::string_view>& variants) {
  const auto number = [](auto value) { return static_cast<std::uint64_t>(value); };
  return ops::make_key(
      maker,
      {number(p.in) | number(p.out) << 8 | number(p.boundary) << 16 | number(p.channels) << 20 | what << 24 |
           number(p.in_alignment) << 32 | number(p.out_alignment) << 40 |
           ops::variant_number(fixed.variant, variants) << 48,
       p.width, p.height, p.planes, p.row_taps, p.column_taps},
      fixed);
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

/// Boxes whose sums slide.
cl::Event run_box(const Context& context, ops::FilterCall filter, const BlurOptions& options,
                  const PlanOverrides& fixed, BoxProblem problem, const CallOptions& call) {
  runtime::Runtime& runtime = context.runtime();
  SeparableProblem& g = problem.grids;
  ops::check_filter(context, kBox, filter, g);
  const auto plan_here = [&](const PlanOverrides& overrides) {
    return plan_box(context.device(), problem, overrides);
  };
  const auto key_here = [&](const PlanOverrides& overrides) {
    return key_of(g, overrides, ops::PlanMaker::box_blur, 0, box_variants());
  };
  if (call.plan != nullptr) ops::checked_choice(runtime, kBox, call, key_here, plan_here);
  if (filter.cols().none() || filter.rows().none()) return runtime.marker(call.wait_for);
  const plan::BoxParts parts = runtime.memo().get(
      key_here(fixed), [&] { return plan::box_parts_of(context.device(), problem, fixed); });
  filter.band = parts.band;
  const cl::Buffer weights = ops::filter_weights(context, filter, options.value).all;
  runtime::Lease scratch(runtime.scratch(), parts.scratch_bytes);
  const cl_mem memory = scratch.memory_or(filter.out.buffer);
  const auto key = [&](std::uint64_t first) {
    return key_of(g, fixed, ops::PlanMaker::box_blur, first, box_variants());
  };
  cl::Event first;
  std::span<const cl::Event> wait_for = call.wait_for;
  if (parts.scratch_bytes > 0) {
    const auto make_first = [&](const Device& device) {
      return plan_box_first(device, problem, fixed).value();
    };
    first = ops::launch_filter(runtime, key(1), make_first, wait_for, filter, weights(), memory);
    scratch.used_until(first);
    wait_for = std::span<const cl::Event>(&first, 1);
  }
  const auto make_plan = [&](const Device& device) { return plan_box(device, problem, fixed); };
  cl::Event event = ops::launch_filter(runtime, key(0), make_plan, wait_for, filter, weights(), memory);
  if (parts.scratch_bytes > 0) scratch.used_until(event);
  return event;
}

cl::Event run_window(const Context& context, const char* operation, ops::PlanMaker maker, WindowOp op,
                     const Grid& in, const Grid& out, std::size_t size, const BlurOptions& options,
                     const CallOptions& call) {
  ops::FilterCall filter = filter_of(in, out, options, size, size);
  WindowProblem problem{ops::problem_of(filter), op};
  plan::check_window(context.device(), problem);
  const auto plan_here = [&](const PlanOverrides& overrides) {
    return plan_window(context.device(), problem, overrides);
  };
  ops::check_same_grid(operation, in, out);
  runtime::Runtime& runtime = context.runtime();
  if (ops::is_empty(in)) {
    plan_here(ops::overrides_of(context.runtime(), operation, call));  // a wrong choice is refused
    return runtime.marker(call.wait_for);
  }
  ops::check_filter(context, operation, filter, problem.grids);
  problem.grids.in_alignment = problem.grids.out_alignment = 64;  // its vectors lie anywhere
  const auto key = [&](const PlanOverrides& fixed) {
    return key_of(problem.grids, fixed, maker, static_cast<std::uint64_t>(op), window_variants());
  };
  const PlanOverrides asked = ops::checked_choice(runtime, operation, call, key, plan_here);
  if (filter.cols().none() || filter.rows().none()) return runtime.marker(call.wait_for);
  filter.band = plan::window_band(context.device(), problem);
  const cl::Buffer weights = ops::filter_weights(context, filter, options.value).all;
  return ops::launch_tuned(
      runtime, operation, problem, call, asked, key, plan_here, [&](const PlanOverrides& fixed) {
        const auto make_plan = [&](const Device& device) { return plan_window(device, problem, fixed); };
        return ops::launch_filter(runtime, key(fixed), make_plan, call.wait_for, filter, weights(),
                                  out.buffer);
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
  const BoxProblem problem{ops::problem_of(filter)};
  plan::check_box(context.device(), problem);
  runtime::Runtime& runtime = context.runtime();
  const auto plan_here = [&](const PlanOverrides& overrides) {
    return plan_box(context.device(), problem, overrides);
  };
  constexpr std::uint64_t kChoice = 2;  // neither launch of run_box()
  const auto key = [&](const PlanOverrides& fixed) {
    return key_of(problem.grids, fixed, ops::PlanMaker::box_blur, kChoice, box_variants());
  };
  // A given plan is compared later, when it is known how the grids lie in memory.
  const PlanOverrides asked = call.plan != nullptr ? ops::overrides_of(context.runtime(), kBox, call)
                                                   : ops::checked_choice(runtime, kBox, call, key, plan_here);
  // A plan of plan_box() that is separable()'s has nothing fixed.
  const bool of_separable = call.plan != nullptr && call.plan->operation == "separable";
  const auto is_separable = [&](const PlanOverrides& fixed) {
    return of_separable ||
           runtime.memo()
               .get(key(fixed), [&] { return plan::box_parts_of(context.device(), problem, fixed); })
               .separable;
  };
  const auto launch = [&](const PlanOverrides& fixed) {
    if (is_separable(fixed)) {
      const bool mean = plan::box_as_separable(problem.grids).mean;
      const double weight = mean ? 1 : 1 / static_cast<double>(across * down);
      return ops::run_separable(context, in, out, std::vector<double>(across, 1.0),
                                std::vector<double>(down, weight), {options.boundary, options.value},
                                {.wait_for = call.wait_for, .plan = call.plan},
                                {.operation = kBox, .mean = mean});
    }
    ops::check_same_grid(kBox, in, out);
    if (ops::is_empty(in)) return runtime.marker(call.wait_for);
    return run_box(context, filter, options, fixed, problem, call);
  };
  return ops::launch_tuned(runtime, kBox, problem, call, asked, key, plan_here, launch);
}

cl::Event median_blur(const Context& context, const Grid& in, const Grid& out, std::size_t size,
                      const BlurOptions& options, const CallOptions& call) {
  return run_window(context, "median_blur", ops::PlanMaker::median_blur, WindowOp::median, in, out, size,
                    options, call);
}

cl::Event sobel(const Context& context, const Grid& in, const Grid& out, Sobel what, std::size_t size,
                const BlurOptions& options, const CallOptions& call) {
  plan::require_known("sobel", "what", what, Sobel::magnitude);
  if (size != 3 && size != 5) refuse("sobel", "size", "3 or 5", formatted("{}", size));
  if (what != Sobel::magnitude)
    return ops::sobel_slope(context, in, out, what == Sobel::across, size, options, call);
  return run_window(context, "sobel", ops::PlanMaker::sobel, WindowOp::gradient, in, out, size, options,
                    call);
}

}  // namespace smem
