// Separable filters: grids -> problem -> launch.
#include "formatted.hpp"
#include "ops/filters.hpp"
#include "ops/run.hpp"
#include "plan/filters.hpp"

#include <smem/separable.hpp>

#include <algorithm>
#include <cmath>

namespace smem {

namespace {

std::size_t checked_origin(const char* operation, const char* argument, std::optional<std::size_t> origin,
                           std::size_t taps) {
  if (!origin) return taps / 2;
  if (*origin < taps) return *origin;
  ops::refuse(operation, argument, formatted("one of the {} weights", taps), formatted("number {}", *origin));
}

bool is_byte(double value) { return value >= 0 && value <= 255 && value == std::floor(value); }

/// Whether 256 times each weight is a byte.
bool has_small_weights(const SeparableKernel& kernel) {
  const auto small = [](double weight) { return is_byte(256 * weight); };
  return std::all_of(kernel.row.begin(), kernel.row.end(), small) &&
         std::all_of(kernel.column.begin(), kernel.column.end(), small);
}

}  // namespace

cl::Event ops::run_separable(const Context& context, const ConstGrid& in, const Grid& out,
                             const SeparableKernel& kernel, const Edges& edges, const CallOptions& options,
                             const SeparableCall& how) {
  FilterCall filter{in, out, edges.boundary.value_or(how.boundary), kernel.row.size(), kernel.column.size()};
  SeparableProblem problem = problem_of(how.operation, filter);
  problem.unsharp = how.unsharp;
  problem.half_up = how.half_up;
  plan::check_separable(how.operation, context.device(), problem);
  filter.row_origin = problem.row_origin =
      checked_origin(how.operation, "row_origin", kernel.row_origin, problem.row_taps);
  filter.column_origin =
      checked_origin(how.operation, "column_origin", kernel.column_origin, problem.column_taps);
  problem.fixed_point = how.whole_weights && has_small_weights(kernel) &&
                        (filter.boundary != Boundary::constant || is_byte(edges.value));
  check_same_grid(how.operation, in, out);
  if (is_empty(in)) return run_empty(context, how.operation, plan_separable, problem, options);
  check_filter(context, how.operation, filter, problem);
  if (filter.writes_nothing()) return run_empty(context, how.operation, plan_separable, problem, options);
  return run(context, how.operation, plan_separable, problem, options, [&](const Launching& launch) {
    const FilterWeights weights =
        filter_weights(context, filter, edges.value, kernel.row, kernel.column, how.amount, how.threshold);
    if (launch.plan().variant == "units") {
      bind_filter(launch, filter, weights.all());
    } else {
      bind_filter(launch, filter, weights.all(),
                  launch.plan().variant == "packed"
                      ? packed_weights(filter, edges.value, kernel.row, kernel.column)
                      : weights.few);
    }
  });
}

cl::Event separable(const Context& context, const ConstGrid& in, const Grid& out,
                    const SeparableKernel& kernel, const Edges& edges, const CallOptions& options) {
  return ops::run_separable(context, in, out, kernel, edges, options, {});
}

}  // namespace smem
