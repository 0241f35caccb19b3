// Keys of plans, and what call options fix.
#include "ops/key.hpp"
#include "formatted.hpp"

#include <smem/error.hpp>

#include <string>
#include <utility>

namespace smem::ops {

namespace {

/// A layout choice as one number.
std::uint64_t layout_number(const LayoutChoice& choice) {
  const auto field = [](const auto& value) {  // 0: not fixed
    return value ? static_cast<std::uint64_t>(*value) + 1 : std::uint64_t{0};
  };
  // Paddings and masks are small; what is not is refused by the plan before the number is used for anything.
  return field(choice.kind) | std::min<std::uint64_t>(field(choice.padding), 0xfffffff) << 4 |
         std::min<std::uint64_t>(field(choice.swizzle_mask), 0xfffffff) << 32;
}

}  // namespace

PlanOverrides overrides_of(const runtime::Runtime& runtime, const char* operation,
                           const CallOptions& options) {
  runtime.check_events(operation, options.wait_for);
  const auto refuse = [&](const char* argument, std::string expected, std::string got) {
    throw Error({.operation = operation,
                 .argument = argument,
                 .expected = std::move(expected),
                 .got = std::move(got)});
  };
  if (options.plan != nullptr) {
    if (options.overrides != nullptr) refuse("overrides", "none beside a plan", "both");
    if (!options.variant.empty() && options.variant != options.plan->variant) {
      refuse("variant", formatted("the plan's own, \"{}\"", options.plan->variant),
             std::string(options.variant));
    }
    return options.plan->overrides;
  }
  PlanOverrides fixed;
  if (options.overrides != nullptr) fixed = *options.overrides;
  if (!options.variant.empty()) {
    if (!fixed.variant.empty() && fixed.variant != options.variant) {
      refuse("overrides.variant", formatted("\"{}\", as in variant", options.variant),
             formatted("\"{}\"", fixed.variant));
    }
    fixed.variant = options.variant;
  }
  return fixed;
}

void require_same_plan(const char* operation, const CallOptions& options, const Plan& expected) {
  if (options.plan == nullptr) return;
  Plan given = *options.plan;
  given.evidence = expected.evidence;  // words, which say where a tuned plan comes from
  if (given == expected) return;
  throw Error(
      {.operation = operation,
       .argument = "plan",
       .expected = "the plan that is made for this problem, device and overrides:\n" + expected.to_string(),
       .got = "another plan:\n" + options.plan->to_string()});
}

runtime::ProblemKey make_key(PlanMaker maker, const std::array<std::uint64_t, 7>& problem,
                             const PlanOverrides& fixed) {
  runtime::ProblemKey key;
  for (const std::uint64_t number :
       {static_cast<std::uint64_t>(maker), std::uint64_t{fixed.tile_rows}, std::uint64_t{fixed.tile_cols},
        std::uint64_t{fixed.work_items}, layout_number(fixed.layout)})
    key.add(number);
  key.add(problem);
  return key;
}

}  // namespace smem::ops
