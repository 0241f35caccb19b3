// Separable filters: arguments -> plan -> launch, and for large windows one before it.
#include "formatted.hpp"
#include "ops/filters.hpp"
#include "ops/key.hpp"
#include "ops/tuned.hpp"
#include "plan/separable_parts.hpp"
#include "runtime/scratch.hpp"

#include <smem/error.hpp>
#include <smem/separable.hpp>

#include <string>

namespace smem {

namespace {

runtime::ProblemKey key_of(const SeparableProblem& p, const PlanOverrides& fixed, ops::PlanMaker maker) {
  const auto number = [](auto value) { return static_cast<std::uint64_t>(value); };
  return ops::make_key(
      maker,
      {number(p.in) | number(p.out) << 8 | number(p.boundary) << 16 | number(p.channels) << 20 |
           number(p.unsharp) << 24 | number(p.half_up) << 25 | number(p.mean) << 26 |
           number(p.in_alignment) << 32 | number(p.out_alignment) << 40 |
           ops::variant_number(fixed.variant, separable_variants()) << 48,
       p.width, p.height, p.planes, p.row_taps, p.column_taps, p.origin()},
      fixed);
}

std::size_t checked_origin(const char* operation, const char* argument, std::optional<std::size_t> origin,
                           std::size_t taps) {
  if (!origin) return taps / 2;
  if (*origin < taps) return *origin;
  throw Error({.operation = operation,
               .argument = argument,
               .expected = formatted("one of the {} weights", taps),
               .got = formatted("number {}", *origin)});
}

}  // namespace

cl::Event ops::run_separable(const Context& context, const Grid& in, const Grid& out,
                             std::span<const double> row_weights, std::span<const double> column_weights,
                             const SeparableOptions& options, const CallOptions& call,
                             const SeparableCall& how) {
  FilterCall filter{in, out, options.boundary, row_weights.size(), column_weights.size()};
  SeparableProblem problem = problem_of(filter);
  problem.unsharp = how.unsharp;
  problem.half_up = how.half_up;
  problem.mean = how.mean;
  plan::check_separable(context.device(), problem);
  const auto plan_here = [&](const PlanOverrides& overrides) {
    return plan_separable(context.device(), problem, overrides);
  };
  filter.row_origin = problem.row_origin =
      checked_origin(how.operation, "row_origin", options.row_origin, problem.row_taps);
  filter.column_origin =
      checked_origin(how.operation, "column_origin", options.column_origin, problem.column_taps);
  check_same_grid(how.operation, in, out);
  runtime::Runtime& runtime = context.runtime();
  if (is_empty(in)) {
    plan_here(overrides_of(context.runtime(), how.operation, call));  // a wrong choice is refused
    return runtime.marker(call.wait_for);
  }
  check_filter(context, how.operation, filter, problem);
  const auto key = [&](const PlanOverrides& fixed) { return key_of(problem, fixed, PlanMaker::separable); };
  const PlanOverrides asked = checked_choice(runtime, how.operation, call, key, plan_here);
  if (filter.cols().none() || filter.rows().none()) return runtime.marker(call.wait_for);

  const auto launch = [&](const PlanOverrides& fixed) {
    const plan::SeparableParts parts = runtime.memo().get(
        key(fixed), [&] { return plan::separable_parts_of(context.device(), problem, fixed); });
    filter.band = parts.band;
    filter.streaming = parts.streaming;
    const FilterWeights weights = filter_weights(context, filter, options.value, row_weights, column_weights,
                                                 how.amount, how.threshold);
    runtime::Lease scratch(runtime.scratch(), parts.scratch_bytes);
    const cl_mem memory = scratch.memory_or(out.buffer);
    cl::Event first;
    std::span<const cl::Event> wait_for = call.wait_for;
    if (parts.scratch_bytes > 0) {
      const auto make_first = [&](const Device& device) {
        return plan_separable_first(device, problem, fixed).value();
      };
      first = launch_filter(runtime, key_of(problem, fixed, PlanMaker::separable_first), make_first, wait_for,
                            filter, weights.all(), memory, weights.few);
      scratch.used_until(first);
      wait_for = std::span<const cl::Event>(&first, 1);
    }
    const auto make_plan = [&](const Device& device) { return plan_separable(device, problem, fixed); };
    cl::Event event =
        launch_filter(runtime, key(fixed), make_plan, wait_for, filter, weights.all(), memory, weights.few);
    if (parts.scratch_bytes > 0) scratch.used_until(event);
    return event;
  };
  return launch_tuned(runtime, "separable", problem, call, asked, key, plan_here, launch);
}

cl::Event separable(const Context& context, const Grid& in, const Grid& out,
                    std::span<const double> row_weights, std::span<const double> column_weights,
                    const SeparableOptions& options, const CallOptions& call) {
  return ops::run_separable(context, in, out, row_weights, column_weights, options, call, {});
}

}  // namespace smem
