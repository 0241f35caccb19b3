/// Calls that fix nothing: what was found by tuning is used for them, where there is something.
#pragma once

#include "plan/broken.hpp"
#include "runtime/runtime.hpp"

#include <smem/error.hpp>
#include <smem/options.hpp>
#include <smem/tuning_plan.hpp>

#include <memory>
#include <string_view>

namespace smem::ops {

/// What was tuned for the problem and its plan function takes; null: nothing.
template <class Problem, class MakePlan>
std::shared_ptr<const PlanOverrides> usable_tuning(const runtime::Tuning& tuning, const Problem& problem,
                                                   const MakePlan& make_plan) {
  const TuningEntry* entry = tuning.nearest(tuning_class(problem));
  if (entry == nullptr) return nullptr;
  try {
    make_plan(entry->overrides);
  } catch (const Error&) {
    return nullptr;
  }
  return std::make_shared<const PlanOverrides>(entry->overrides);
}

/// Returns `launch(overrides)`: of `fixed` where the caller fixed something, else of what was tuned for such
/// problems on this device, if anything. Where the plan stands in for one that the driver breaks, `launch` is
/// told its variant. A choice that cannot be launched is not tried again: the shipped plan takes its place.
/// `key(fixed)`: the problem's key; `make_plan(overrides)` refuses what cannot be. \throws Error as `launch`
/// does without tuning.
template <class Problem, class Key, class MakePlan, class Launch>
cl::Event launch_tuned(runtime::Runtime& runtime, std::string_view operation, const Problem& problem,
                       const CallOptions& options, const PlanOverrides& fixed, const Key& key,
                       const MakePlan& make_plan, const Launch& launch_exactly) {
  const Device& device = runtime.device();
  const auto launch = [&](const PlanOverrides& overrides) {
    if (device.broken.empty()) return launch_exactly(overrides);
    return launch_exactly(runtime.memo().get(
        key(overrides), [&] { return plan::with_sound_variant(device, operation, overrides, make_plan); }));
  };
  runtime::Tuning& tuning = runtime.tuning();
  if (!tuning.has(operation) || options.plan != nullptr || fixed != PlanOverrides{}) return launch(fixed);
  const runtime::ProblemKey of_problem = key(PlanOverrides{});
  const std::shared_ptr<const PlanOverrides> tuned =
      tuning.choice(of_problem, [&] { return usable_tuning(tuning, problem, make_plan); });
  if (tuned == nullptr) return launch(fixed);
  try {
    return launch(*tuned);
  } catch (const Error&) {
    cl::Event event = launch(fixed);  // what is wrong with the call itself is thrown from here
    tuning.drop(of_problem);
    return event;
  }
}

}  // namespace smem::ops
