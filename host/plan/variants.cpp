// A plan among the variants of an operation.
#include "plan/variants.hpp"

#include "formatted.hpp"

namespace smem::plan {

Attempt::Attempt(Plan made) : plan(std::move(made)) {}
Attempt::Attempt(std::string reason) : why_not(std::move(reason)) {}
Attempt::Attempt(const char* reason) : why_not(reason) {}

Task::~Task() = default;

void note_choice(Plan& plan, const PlanOverrides& overrides, std::vector<std::string_view> names,
                 std::function<std::string(std::string_view, const Plan&)> why_not) {
  ++plans_made();
  if (overrides.variant.empty()) {
    plan.alternatives = Alternatives([plan, names = std::move(names), why_not = std::move(why_not)] {
      std::vector<Alternative> others;
      for (const std::string_view other : names)
        if (other != plan.variant) others.push_back({std::string(other), why_not(other, plan)});
      return others;
    });
  }
  plan.overrides = overrides;
}

namespace {

/// The plan on a device whose driver breaks nothing.
Plan plan_sound(const std::shared_ptr<const Task>& task, const Device& device,
                const PlanOverrides& overrides) {
  task->check(device);
  const char* name = task->name();
  const auto names = task->variants();
  PlanOverrides without_tile = overrides;
  if (task->takes_tile(overrides.variant)) without_tile.tile_rows = without_tile.tile_cols = 0;
  require_choice(name, without_tile, names);
  require_work_items(name, device, overrides);
  const auto order = overrides.variant.empty() ? task->preference(device, overrides)
                                               : std::vector<std::string_view>{overrides.variant};
  std::string_view variant;
  Attempt attempt = "";
  for (std::size_t i = 0; i < order.size() && !attempt.plan; ++i)
    attempt = task->attempt(device, overrides, variant = order[i]);
  if (!attempt.plan) {
    refuse(device, name, "variant", formatted("one that can run this {} on this device", task->what()),
           formatted("\"{}\": {}", variant, attempt.why_not));
  }
  Plan& plan = *attempt.plan;
  if (task->one_work_item() != nullptr)
    require_fixed_group(name, device, overrides, plan, task->one_work_item());
  if (const Evidence* evidence = task->evidence(device, plan)) plan.evidence = evidence->text(device);
  note_choice(plan, overrides, names, [task, device](std::string_view other, const Plan& chosen) {
    const Attempt tried = task->attempt(device, {}, other);
    return tried.plan ? task->why_not(device, other, chosen) : tried.why_not;
  });
  return std::move(plan);
}

}  // namespace

Plan plan_task(const std::shared_ptr<const Task>& task, const Broken& broken, const Device& device,
               const PlanOverrides& overrides) {
  return broken.plan(task->variants(), overrides,
                     [&](const PlanOverrides& fixed) { return plan_sound(task, device, fixed); });
}

}  // namespace smem::plan
