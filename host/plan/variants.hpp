/// How the plan of a call is found among the variants of its operation.
#pragma once

#include "formatted.hpp"
#include "plan/broken.hpp"
#include "plan/policy.hpp"
#include "plan/sizes.hpp"

#include <smem/device.hpp>
#include <smem/plan.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace smem::plan {

/// A variant's plan, or why there is none for this problem on this device.
struct Attempt {
  Attempt(Plan made) : plan(std::move(made)) {}
  Attempt(std::string reason) : why_not(std::move(reason)) {}
  Attempt(const char* reason) : why_not(reason) {}
  std::optional<Plan> plan;
  std::string why_not;
};

/// What an operation is to plans: its variants, and the order in which they are tried.
template <class Problem>
struct Operation {
  using Names = std::vector<std::string_view>;

  const char* what;  ///< "reduction", as errors call it
  /// Of the function that was called; known for problems that check() lets pass.
  const char* (*name)(const Problem& problem);
  Names (*variants)();  ///< in the order of the ladder
  /// \throws Error naming the argument unless the device can compute it.
  void (*check)(const Device& device, const Problem& problem);
  /// Variants, best first: the first that runs is chosen. Of one alone, an error says why it does not run.
  Names (*preference)(const Device& device, const Problem& problem, const PlanOverrides& fixed);
  Attempt (*attempt)(const Device& device, const Problem& problem, const PlanOverrides& fixed,
                     std::string_view variant);
  /// Why a variant that runs was not chosen.
  std::string (*why_not)(const Device& device, const Problem& problem, std::string_view variant,
                         const Plan& chosen);
  /// What chose the numbers of a plan; null: its variants say so themselves.
  const Evidence& (*evidence)(const Device& device, const Problem& problem, const Plan& plan);
  const char* one_work_item;  ///< why the variant for CPUs has groups of one; null: groups may be smaller
  std::string_view with_tile = {};  ///< the variant whose tile may be fixed by hand
};

/// Notes the variants that were not chosen, where the choice was the plan's, and what the caller had fixed,
/// and counts the plan. `why_not(variant, plan)` is asked when somebody reads the reasons.
template <class WhyNot>
void note_choice(Plan& plan, const PlanOverrides& overrides, const std::vector<std::string_view>& names,
                 WhyNot why_not) {
  ++plans_made();
  if (overrides.variant.empty()) {
    plan.alternatives = Alternatives([plan, names, why_not] {
      std::vector<Alternative> others;
      for (const std::string_view other : names)
        if (other != plan.variant) others.push_back({std::string(other), why_not(other, plan)});
      return others;
    });
  }
  plan.overrides = overrides;
}

/// The plan on a device whose driver breaks nothing. \throws Error naming the argument or the field that was
/// fixed and cannot be.
template <class Problem>
Plan plan_sound(const Operation<Problem>& operation, const Device& device, const Problem& problem,
                const PlanOverrides& overrides) {
  operation.check(device, problem);
  const char* name = operation.name(problem);
  const auto names = operation.variants();
  PlanOverrides without_tile = overrides;
  if (!overrides.variant.empty() && overrides.variant == operation.with_tile)
    without_tile.tile_rows = without_tile.tile_cols = 0;
  require_choice(name, without_tile, names);
  require_work_items(name, device, overrides);
  const auto order = overrides.variant.empty() ? operation.preference(device, problem, overrides)
                                               : std::vector<std::string_view>{overrides.variant};
  std::string_view variant;
  Attempt attempt = "";
  for (std::size_t i = 0; i < order.size() && !attempt.plan; ++i)
    attempt = operation.attempt(device, problem, overrides, variant = order[i]);
  if (!attempt.plan) {
    refuse(device, name, "variant", formatted("one that can run this {} on this device", operation.what),
           formatted("\"{}\": {}", variant, attempt.why_not));
  }
  Plan& plan = *attempt.plan;
  if (operation.one_work_item != nullptr)
    require_fixed_group(name, device, overrides, plan, operation.one_work_item);
  if (plan.operation != name) {  // another operation's, which has said all
    plan.overrides = overrides;
    return std::move(plan);
  }
  if (operation.evidence != nullptr) plan.evidence = operation.evidence(device, problem, plan).text(device);
  note_choice(plan, overrides, names,
              [&operation, device, problem](std::string_view other, const Plan& chosen) {
                const Attempt tried = operation.attempt(device, problem, {}, other);
                return tried.plan ? operation.why_not(device, problem, other, chosen) : tried.why_not;
              });
  return std::move(plan);
}

/// The plan of a call. `family` and `type`: as Device::broken names the operation and its elements.
template <class Problem, class Type>
Plan plan_call(const Operation<Problem>& operation, const char* family, const Type& type,
               const Device& device, const Problem& problem, const PlanOverrides& overrides) {
  return Broken(device, family, type).plan(operation.variants(), overrides, [&](const PlanOverrides& fixed) {
    return plan_sound(operation, device, problem, fixed);
  });
}

}  // namespace smem::plan
