// Plans for measuring what a device reaches.
#include <smem/rates_plan.hpp>

#include "plan/rates_policy.hpp"
#include "plan/sizes.hpp"

#include <algorithm>
#include <cstddef>
#include <string>

namespace smem {

using namespace plan;

namespace {

Plan base_plan(const Device& device, const char* variant, const char* entry, std::size_t lanes) {
  Plan plan = named_plan("rates", variant, "rates.cl", entry);
  const RatesPolicy& policy = rates_policy(device);
  plan.work_group[0] = group_for(device, policy.group, 0);
  plan.vector_width = lanes;
  plan.evidence = policy.evidence.text(device);
  define(plan, {{"GROUP", plan.work_group[0]}, {"WIDTH", lanes}});
  return plan;
}

Plan copy(const Device& device, std::size_t bytes) {
  if (bytes == 0 || bytes % 64 != 0) {
    refuse("rates", "bytes", "a multiple of 64, at least 64", std::to_string(bytes));
  }
  const RatesPolicy& policy = rates_policy(device);
  Plan plan = base_plan(device, "copy", "rates_copy", policy.copy_lanes);
  const std::size_t vectors = bytes / (policy.copy_lanes * sizeof(float));
  plan.items_per_work_item = policy.copy_lanes * policy.copy_run;
  plan.global = {round_up(divide_up(vectors, policy.copy_run), plan.work_group[0]), 1, 1};
  define(plan, {{"RUN", policy.copy_run}, {"STREAMING", policy.streaming}});
  plan.reason = "vectors of neighbours, read and written once";
  plan.prediction.bytes_read = plan.prediction.bytes_written = real(bytes);
  return plan;
}

Plan fp32(const Device& device, std::size_t rounds) {
  const RatesPolicy& policy = rates_policy(device);
  const std::size_t lanes =
      std::min(policy.lanes, std::max<std::size_t>(4, device.vector_bytes / sizeof(float)));
  Plan plan = base_plan(device, "fp32", "rates_fp32", lanes);
  const std::size_t values = policy.chains * lanes;
  plan.items_per_work_item = values;
  plan.global = {device.compute_units * policy.items_a_unit, 1, 1};  // whole groups, whatever their size
  define(plan, {{"CHAINS", policy.chains}, {"LENGTH", policy.length}, {"FUSED", policy.fused}});
  plan.reason = "independent chains of multiply-adds in registers";
  const auto work_items = real(plan.global[0]);
  // Per work-item: the chains, and the sum of their ends.
  plan.prediction.operations =
      work_items * (real(2 * policy.length * values, rounds) + real(values + lanes - 1));
  plan.prediction.bytes_written = work_items * sizeof(float);
  return plan;
}

}  // namespace

Plan plan_rates(const Device& device, const RatesProblem& problem, const PlanOverrides& overrides) {
  require_known("rates", "rate", problem.rate, Rate::fp32);
  require_choice("rates", overrides, {problem.rate == Rate::copy ? "copy" : "fp32"});
  require_work_items("rates", device, overrides);
  Plan plan = problem.rate == Rate::copy ? copy(device, problem.amount) : fp32(device, problem.amount);
  require_fixed_group("rates", device, overrides, plan, "a thread has long vectors");
  plan.overrides = overrides;
  return plan;
}

}  // namespace smem
