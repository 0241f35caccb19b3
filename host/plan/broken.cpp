#include "plan/broken.hpp"
#include "formatted.hpp"

#include <smem/error.hpp>

#include <algorithm>
#include <optional>
#include <utility>

namespace smem::plan {

namespace {

/// A plan that another operation makes counts as the variant of that name.
std::string_view variant_of(const Plan& plan, const std::vector<std::string_view>& names) {
  const bool borrowed = std::find(names.begin(), names.end(), plan.operation) != names.end();
  return borrowed ? plan.operation : plan.variant;
}

/// The reason of a variant that was not chosen.
std::string why_not(const Plan& plan, std::string_view variant) {
  for (const Alternative& other : plan.alternatives)
    if (other.variant == variant) return other.why_not;
  return "the chosen one is tried before it";
}

const std::string* why_among(const std::vector<BrokenVariant>& known, std::string_view variant) {
  for (const BrokenVariant& broken : known)
    if (broken.variant == variant) return &broken.reason;
  return nullptr;
}

}  // namespace

Broken::Broken(const Device& device, std::string_view operation, std::string_view type)
    : device_(device), operation_(operation) {
  const auto concerns = [&](const BrokenVariant& broken) {
    return broken.operation == operation && (broken.type.empty() || broken.type == type);
  };
  for (const BrokenVariant& broken : device.broken)
    if (concerns(broken)) known_.push_back(broken);
  for (const LaunchFault& fault : known_launch_faults(device))
    if (concerns(fault.broken)) of_launches_.push_back(fault);
}

Broken::Broken(const Device& device, std::string_view operation, Scalar type)
    : Broken(device, operation,
             type >= Scalar::int8 && type <= Scalar::e5m2 ? name_of(type) : std::string_view()) {}

void Broken::refuse(std::string expected, std::string got) const {
  throw Error({.operation = std::string(operation_),
               .argument = "variant",
               .expected = std::move(expected),
               .got = std::move(got),
               .device = device_.name});
}

bool Broken::breaks(const LaunchFault& fault, const PlanOverrides& overrides, const Make& make) {
  PlanOverrides named = overrides;
  named.variant = fault.broken.variant;
  try {
    const Plan plan = make(named);
    const std::vector<const Launch*> launches = plan.launches();
    return std::any_of(launches.begin(), launches.end(),
                       [&](const Launch* one) { return fault.is_in(*one); });
  } catch (const Error&) {  // does not run this problem
    return false;
  }
}

Plan Broken::plan(const std::vector<std::string_view>& names, const PlanOverrides& overrides,
                  const Make& make) const {
  std::vector<BrokenVariant> known = known_;
  for (const LaunchFault& fault : of_launches_)
    if (breaks(fault, overrides, make)) known.push_back(fault.broken);
  if (known.empty()) return make(overrides);
  const auto why = [&](std::string_view variant) { return why_among(known, variant); };
  if (const std::string* reason = why(overrides.variant))
    refuse("one that its driver does not break", formatted("\"{}\": {}", overrides.variant, *reason));
  Plan first = make(overrides);
  if (!overrides.variant.empty()) return first;
  const std::string_view chosen = variant_of(first, names);
  const std::string* reason = why(chosen);
  if (reason == nullptr) {
    first.alternatives = Alternatives([known, before = first.alternatives] {
      std::vector<Alternative> all = before.all();
      for (Alternative& other : all)
        if (const std::string* is_broken = why_among(known, other.variant)) other.why_not = *is_broken;
      return all;
    });
    return first;
  }
  for (auto name = names.rbegin(); name != names.rend(); ++name) {
    if (why(*name) != nullptr) continue;
    PlanOverrides named = overrides;
    named.variant = *name;
    std::optional<Plan> plan;
    try {
      plan = make(named);
    } catch (const Error&) {  // does not run this problem
      continue;
    }
    if (plan->variant != *name) continue;  // another operation's plan, which may be less exact
    plan->overrides = overrides;
    plan->in_place_of = chosen;
    plan->reason += formatted("; \"{}\" is broken on this device: {}", chosen, *reason);
    plan->alternatives = Alternatives([known, first, names, instead = *name] {
      std::vector<Alternative> all;
      for (const std::string_view other : names) {
        const std::string* is_broken = why_among(known, other);
        if (other != instead)
          all.push_back({std::string(other), is_broken ? *is_broken : why_not(first, other)});
      }
      return all;
    });
    return *plan;
  }
  refuse("a variant that its driver does not break and that runs this problem",
         formatted("none left; \"{}\": {}", chosen, *reason));
}

}  // namespace smem::plan
