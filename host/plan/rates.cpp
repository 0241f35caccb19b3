// Plans for measuring what a device reaches.
#include <smem/rates_plan.hpp>

#include "plan/sizes.hpp"

#include <algorithm>

namespace smem {

using namespace plan;

namespace {

Plan base_plan(const Device& device, const char* variant, const char* entry) {
  Plan plan = named_plan("rates", variant, "rates.cl", entry);
  const bool cpu = device.type == DeviceType::cpu;
  // A CPU's work-items are loops: long vectors, and one work-item a group.
  plan.work_group[0] =
      cpu ? 1 : std::bit_floor(std::min({std::size_t{256}, device.max_work_group, device.max_work_items[0]}));
  plan.vector_width = cpu ? 16 : 4;
  define(plan, "GROUP", plan.work_group[0]);
  return plan;
}

Plan copy(const Device& device, std::size_t bytes) {
  if (bytes == 0 || bytes % 64 != 0) {
    refuse("rates", "bytes", "a multiple of 64, at least 64", std::to_string(bytes));
  }
  Plan plan = base_plan(device, "copy", "rates_copy");
  const bool cpu = device.type == DeviceType::cpu;
  const std::size_t run = cpu ? 4096 : 1;  // 256 KiB
  const std::size_t items = bytes / (plan.vector_width * sizeof(float));
  plan.items_per_work_item = plan.vector_width * run;
  plan.global[0] = round_up(divide_up(items, run), plan.work_group[0]);
  plan.global[1] = plan.global[2] = 1;
  define(plan, {{"WIDTH", plan.vector_width}, {"RUN", run}, {"STREAMING", cpu}});
  plan.reason = "vectors of neighbours, read and written once";
  plan.prediction.bytes_read = plan.prediction.bytes_written = real(bytes);
  return plan;
}

Plan fp32(const Device& device, std::size_t rounds) {
  Plan plan = base_plan(device, "fp32", "rates_fp32");
  const bool cpu = device.type == DeviceType::cpu;
  // 16 chains of 1: more than the latency of any GPU's multiply-add, with groups enough for all its lanes. A
  // CPU has 8 chains of 16 floats, which are its vector registers.
  plan.vector_width = cpu ? 16 : 1;
  const std::size_t chains = cpu ? 8 : 16, length = 16;
  plan.items_per_work_item = chains * plan.vector_width;
  plan.global = {device.compute_units * (cpu ? 4 : 32 * 256), 1, 1};  // whole groups, whatever their size
  define(plan, {{"WIDTH", plan.vector_width}, {"CHAINS", chains}, {"LENGTH", length}});
  plan.reason = "independent chains of multiply-adds in registers";
  const auto work_items = real(plan.global[0]);
  // Per work-item: the chains, and the sum of their ends.
  const std::size_t width = plan.vector_width;
  plan.prediction.operations =
      work_items * (real(2 * chains * length * width, rounds) + real(chains * width + width - 1));
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
