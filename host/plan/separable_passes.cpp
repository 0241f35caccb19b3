// Separable filters in two passes: sums along rows go through temporary memory.
#include "formatted.hpp"
#include "plan/filters.hpp"
#include "plan/pixels.hpp"
#include "plan/separable_policy.hpp"
#include "plan/variants.hpp"

#include <smem/separable_plan.hpp>

namespace smem::plan {

namespace {

// Of cl/separable/pass.cl: weights along rows at a time, in runs, and work-items.
constexpr std::size_t kPassRuns = 5, kPassGroup = 128;
constexpr std::size_t kLocalUnit = 64;  // bytes, to which drivers round local memory

std::size_t bytes_of(const SeparableProblem& problem) {
  return size_of(pixel_value(problem.in, problem.out));
}

/// Sums along rows, into temporary memory, by groups that have pieces of a row in local memory.
void launch_rows(const Device& device, const SeparableProblem& problem, std::size_t taps, Plan& plan) {
  const std::size_t bytes = bytes_of(problem), run = separable_policy(device).pass_run;
  const std::size_t beside = (taps - 1) * problem.channels;
  const std::size_t group =
      at_least_1(group_for(device, kPassGroup, run * bytes, kOwnBytes + beside * bytes));
  const std::size_t cells = group / problem.channels * run;
  plan.work_group = {group, 1, 1};
  const std::size_t groups = divide_up(problem.row_elements(), at_least_1(cells * problem.channels));
  plan.global = global_size({groups * group, problem.height, problem.planes}, plan.work_group);
  plan.local_bytes = round_up((cells * problem.channels + beside) * bytes, kLocalUnit);
  define_group(plan);
}

Plan pass(const Device& device, const SeparableProblem& problem, bool first, std::size_t taps) {
  Plan plan = separable_plan(kSeparableName, problem, first ? "first" : "two_pass", "separable/pass.cl",
                             "separable_pass");
  const std::size_t run = separable_policy(device).pass_run;
  if (first) {
    launch_rows(device, problem, taps, plan);
    define(plan, "TAPS", taps);
  } else {
    set_grid(plan, device, separable_policy(device).group,
             {problem.row_elements(), divide_up(problem.height, run), problem.planes});
    define_group(plan);
  }
  plan.items_per_work_item = run;
  define(plan, {{"PASS", first ? 0 : 1}, {"RUN", run}});
  const auto elements = real(problem.elements());
  const double scratch = elements * real(bytes_of(problem));
  if (first) {
    plan.prediction.bytes_written = scratch;
    plan.prediction.operations = 2 * elements * real(problem.row_taps);
  } else {
    plan.prediction.bytes_read = scratch + (problem.unsharp ? plan.prediction.bytes_read : 0);
    plan.prediction.operations = 2 * elements * real(problem.column_taps);
  }
  plan.reason =
      first ? "sums along rows, into temporary memory" : "sums down the columns of the launch before";
  return plan;
}

}  // namespace

Attempt separable_passes(const Device& device, const SeparableProblem& problem) {
  const std::size_t run = separable_policy(device).pass_run;
  std::size_t taps = kPassRuns * run;
  Plan first = pass(device, problem, true, taps);
  while (taps > run && (first.local_bytes > local_room(device) || first.work_group[0] < problem.channels))
    first = pass(device, problem, true, taps -= run);
  if (first.local_bytes > local_room(device) || first.work_group[0] < problem.channels)
    return formatted("a group has no {} work-items with {} values each", problem.channels, run);
  Plan plan = pass(device, problem, false, taps);
  plan.before.push_back(first);
  add_scratch(plan, problem.elements() * bytes_of(problem));
  return plan;
}

}  // namespace smem::plan
