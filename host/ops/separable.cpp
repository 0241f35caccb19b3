// Separable filters: grids -> problem -> launch.
#include "formatted.hpp"
#include "ops/filters.hpp"
#include "ops/run.hpp"
#include "plan/filters.hpp"

#include <smem/error.hpp>
#include <smem/separable.hpp>

#include <string>

namespace smem {

namespace {

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
  plan::check_separable(context.device(), problem);
  filter.row_origin = problem.row_origin =
      checked_origin(how.operation, "row_origin", options.row_origin, problem.row_taps);
  filter.column_origin =
      checked_origin(how.operation, "column_origin", options.column_origin, problem.column_taps);
  check_same_grid(how.operation, in, out);
  if (is_empty(in)) return run_empty(context, how.operation, plan_separable, problem, call);
  check_filter(context, how.operation, filter, problem);
  if (filter.writes_nothing()) return run_empty(context, how.operation, plan_separable, problem, call);
  return run(context, how.operation, plan_separable, problem, call, [&](const Launching& launch) {
    const FilterWeights weights = filter_weights(context, filter, options.value, row_weights, column_weights,
                                                 how.amount, how.threshold);
    bind_filter(launch, filter, weights.all(), weights.few);
  });
}

cl::Event separable(const Context& context, const Grid& in, const Grid& out,
                    std::span<const double> row_weights, std::span<const double> column_weights,
                    const SeparableOptions& options, const CallOptions& call) {
  return ops::run_separable(context, in, out, row_weights, column_weights, options, call, {});
}

}  // namespace smem
