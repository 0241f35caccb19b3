/// What a call's plan depends on, as the key under which the ready plan is found again.
#pragma once

#include "ops/run.hpp"
#include "runtime/runtime.hpp"

#include <smem/options.hpp>
#include <smem/plan.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string_view>
#include <vector>

namespace smem::ops {

/// One for each function that makes plans: the first number of a key.
enum class PlanMaker : std::uint64_t {
  transpose = 1,
  flip,
  rates_copy,
  rates_fp32,
  reduce,
  reduce_finish,
  check_segments,
  histogram,
  histogram_finish,
  scan,
  scan_first,
  weight_scale,
  histogram_weighted,
  histogram_weighted_finish,
  select,
  select_first,
  heat,
  separable,
  separable_first,
  box_blur,
  median_blur,
  sobel,
  stencil,
};

/// 0: chosen by the plan; else the variant's place in the list and 1; 255: unknown, for the plan to refuse.
inline std::uint64_t variant_number(std::string_view variant, const std::vector<std::string_view>& names) {
  if (variant.empty()) return 0;
  const auto place = std::find(names.begin(), names.end(), variant);
  return place == names.end() ? 255 : static_cast<std::uint64_t>(place - names.begin()) + 1;
}

/// \throws Error naming "plan" when the caller gave one and it is not `expected`.
void require_same_plan(const char* operation, const CallOptions& options, const Plan& expected);

/// What the options fix, after a choice that cannot be was refused: before memory is asked for.
/// `make_plan(fixed)` makes the plan, the first time that there is a choice for the problem of `key(fixed)`;
/// what else is wrong with the problem was refused before. \throws Error as both above, or as `make_plan`.
template <class Key, class MakePlan>
PlanOverrides checked_choice(runtime::Runtime& runtime, const char* operation, const CallOptions& options,
                             const Key& key, const MakePlan& make_plan) {
  PlanOverrides fixed = overrides_of(runtime, operation, options);
  if (options.plan == nullptr && fixed == PlanOverrides{}) return fixed;
  const auto plan =
      runtime.memo().get(key(fixed), [&] { return std::make_shared<const Plan>(make_plan(fixed)); });
  if (options.plan != nullptr) require_same_plan(operation, options, *plan);
  return fixed;
}

/// A key of the problem's numbers, and of what was fixed except the variant, which belongs to
/// the problem's numbers: an operation knows the list of its own.
runtime::ProblemKey make_key(PlanMaker maker, const std::array<std::uint64_t, 7>& problem,
                             const PlanOverrides& fixed = {});

}  // namespace smem::ops
