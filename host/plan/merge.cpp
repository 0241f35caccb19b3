// Plans for merges of sorted vectors.
#include <smem/merge_plan.hpp>

#include "formatted.hpp"
#include "plan/merge_policy.hpp"
#include "plan/merge_tile.hpp"
#include "plan/sizes.hpp"
#include "plan/sort_tiles.hpp"
#include "plan/sort_types.hpp"
#include "plan/variants.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

namespace smem {

namespace {

using namespace plan;

const char* merge_name(const MergeProblem& p) { return p.value_bytes == 0 ? "merge" : "merge_pairs"; }

Plan base_plan(const MergeProblem& p, std::string_view variant) {
  Plan plan = named_plan(merge_name(p), variant, "merge/merge.cl", "merge");
  const SortPayload payload = p.value_bytes == 0 ? SortPayload::none : SortPayload::values;
  define_keys(plan,
              {.keys = p.keys,
               .payload = payload,
               .value_bytes = p.value_bytes,
               .descending = p.descending,
               .total_order = p.total_order,
               .nan_least = p.nan_least},
              true);
  plan.prediction.bytes_read = plan.prediction.bytes_written = real(p.size, size_of(p.keys) + p.value_bytes);
  return plan;
}

Attempt tile(const Device& device, const MergeProblem& p, const PlanOverrides& fixed) {
  const std::size_t bytes = size_of(p.keys), place = p.value_bytes == 0 ? 0 : 2;
  const std::optional<MergeTile> tile = merge_tile(device, fixed, bytes, place, kMergeWords);
  if (!tile) return no_tile_fits(device);
  const std::size_t groups = divide_up(at_least_1(p.size), tile->size());
  if (groups > kMaxTiles) return "more tiles than a launch can have work-groups";
  Plan plan = base_plan(p, "tile");
  set_groups(plan, tile->group, groups);
  define(plan, {{"GROUP", tile->group}, {"ITEMS", tile->items}});
  plan.items_per_work_item = tile->items;
  plan.tile_cols = tile->size();
  plan.local_bytes = tile->size() * (bytes + place) + kMergeWords;
  plan.prediction.local_bytes = 2 * plan.prediction.bytes();
  if (groups > merge_policy(device).groups_that_search * device.compute_units) {
    Launch splits = base_plan(p, "splits");
    set_searchers(device, groups, splits);
    define(splits, {{"TILE", tile->size()}, {"PHASE", 2}});
    splits.reason = "finds where each tile of the result begins in both vectors";
    plan.before.push_back(std::move(splits));
    define(plan, "SPLIT", 1);
    add_scratch(plan, size_product(groups, sizeof(std::uint64_t)));
    plan.reason = formatted(
        "a group merges its {} results in local memory; the launch before finds its inputs", tile->size());
    return plan;
  }
  plan.reason =
      formatted("a group finds the inputs of its {} results by bisection and merges them in local memory",
                tile->size());
  return plan;
}

Attempt cpu(const Device& device, const MergeProblem& p) {
  if (!runs_cpu_variant(device)) return no_cpu_variant(device);
  const MergePolicy& policy = merge_policy(device);
  const std::size_t most = at_least_1(policy.cpu_groups_a_unit * device.compute_units);
  const std::size_t piece =
      divide_up(at_least_1(p.size), std::clamp<std::size_t>(p.size / policy.cpu_keys, 1, most));
  Plan plan = base_plan(p, "cpu");
  set_groups(plan, 1, divide_up(at_least_1(p.size), piece));
  define(plan, {{"GROUP", 1}, {"CPU", 1}});
  plan.items_per_work_item = plan.tile_cols = piece;
  plan.numbers = {{"piece", piece}};
  plan.reason = "a thread finds the inputs of its part of the results by bisection and merges them";
  return plan;
}

Attempt plan_variant(const Device& device, const MergeProblem& p, const PlanOverrides& fixed,
                     std::string_view variant) {
  return variant == "cpu" ? cpu(device, p) : tile(device, p, fixed);
}

std::vector<std::string_view> preference(const Device& device, const MergeProblem& /*p*/,
                                         const PlanOverrides& /*fixed*/) {
  if (runs_cpu_variant(device)) return {"cpu", "tile"};
  return {"tile"};
}

std::string why_not(const Device& /*device*/, const MergeProblem& /*p*/, std::string_view /*variant*/,
                    const Plan& chosen) {
  if (chosen.variant == "cpu") return "a CPU runs work-items that share local memory as loops";
  return "one thread a part";
}

const Evidence& evidence(const Device& device, const MergeProblem& /*p*/, const Plan& /*plan*/) {
  return merge_policy(device).evidence;
}

void check(const Device& /*device*/, const MergeProblem& p) {
  require_known(merge_name(p), "a", p.keys);
  require_order(merge_name(p), key_order(p));
  require_elements(merge_name(p), "out", {p.size});
  if (p.value_bytes > 16)
    refuse(merge_name(p), "a_values", "elements of 1 to 16 bytes", formatted("{}", p.value_bytes));
}

constexpr Operation<MergeProblem> kMerge{.what = "merge",
                                         .name = merge_name,
                                         .variants = merge_variants,
                                         .check = check,
                                         .preference = preference,
                                         .attempt = plan_variant,
                                         .why_not = why_not,
                                         .evidence = evidence,
                                         .one_work_item = "a thread has a stretch"};

}  // namespace

std::vector<std::string_view> merge_variants() { return {"tile", "cpu"}; }

Plan plan_merge(const Device& device, const MergeProblem& problem, const PlanOverrides& overrides) {
  return plan_call(kMerge, "merge", problem.keys, device, problem, overrides);
}

}  // namespace smem
