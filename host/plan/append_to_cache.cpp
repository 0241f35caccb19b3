// Plans for appending to caches.
#include <smem/append_to_cache_plan.hpp>

#include "formatted.hpp"
#include "plan/append_to_cache_checks.hpp"
#include "plan/append_to_cache_policy.hpp"
#include "plan/attention_checks.hpp"
#include "plan/rows.hpp"
#include "plan/variants.hpp"

#include <algorithm>
#include <bit>
#include <string>

namespace smem {

namespace {

using namespace plan;

/// Elements that divide keys, values and what is rotated, and are aligned in every vector.
std::size_t pack_of(const AppendToCachePolicy& policy, const AppendToCacheProblem& p) {
  const std::size_t most = row_pack(policy.pack_bytes, p.alignment, p.type, p.type);
  const std::size_t sizes = p.head_size | p.value_size | p.rotated / 2 | 16;
  return std::min({most, policy.most_pack, std::size_t{1} << std::countr_zero(sizes)});
}

Attempt plan_variant(const Device& device, const AppendToCacheProblem& p, const PlanOverrides& fixed,
                     std::string_view variant) {
  const AppendToCachePolicy& policy = append_to_cache_policy(device);
  const std::size_t group = group_for(device, group_wanted(fixed, policy.group), 0);
  if (group == 0) return no_tile_fits(device);
  const std::size_t pack = variant == "naive" ? 1 : pack_of(policy, p);
  Plan plan = named_plan(kAppendToCacheName, variant, "append_to_cache/append.cl", "append_to_cache");
  define_row_types(plan, p.type, p.type);
  define(plan, {{"GROUP", group},
                {"PACK", pack},
                {"HEAD_SIZE", p.head_size},
                {"VALUE_SIZE", p.value_size},
                {"ROTATED", p.rotated},
                {"NEIGHBOURS", p.pairs == RotaryPairs::neighbours ? 1 : 0},
                {"RAGGED", p.ragged ? 1 : 0},
                {"PAGED", p.paged ? 1 : 0}});
  const std::size_t vectors = size_product(p.ragged ? 1 : p.batch, p.heads, p.tokens);
  const std::size_t items = (p.head_size - p.rotated / 2 + p.value_size) / pack;
  const std::size_t most =
      policy.groups_a_unit == 0 ? kMaxTiles : policy.groups_a_unit * at_least_1(device.compute_units);
  set_groups(plan, group, divide_up(size_product(vectors, items), group), most);
  plan.tile_cols = group * pack;
  plan.vector_width = pack;
  plan.items_per_work_item = pack;
  predict(plan, real(vectors) * real(p.head_size + p.value_size), p.type, p.type);
  plan.prediction.operations = 3 * real(vectors) * real(p.rotated);
  plan.reason = formatted("a work-item moves {} element{} at once", pack, pack == 1 ? "" : "s");
  return plan;
}

std::vector<std::string_view> preference(const Device& /*device*/, const AppendToCacheProblem& /*p*/,
                                         const PlanOverrides& /*fixed*/) {
  return {"packs", "naive"};
}

std::string why_not(const Device& /*device*/, const AppendToCacheProblem& /*p*/, std::string_view /*variant*/,
                    const Plan& /*chosen*/) {
  return "it moves elements one by one";
}

const Evidence& evidence(const Device& device, const AppendToCacheProblem& /*p*/, const Plan& /*plan*/) {
  return append_to_cache_policy(device).evidence;
}

constexpr Operation<AppendToCacheProblem> kAppend{
    .what = "append to a cache",
    .name = [](const AppendToCacheProblem&) { return kAppendToCacheName; },
    .variants = append_to_cache_variants,
    .check = check_append_to_cache,
    .preference = preference,
    .attempt = plan_variant,
    .why_not = why_not,
    .evidence = evidence,
    .one_work_item = nullptr};

}  // namespace

void plan::check_append_to_cache(const Device& /*device*/, const AppendToCacheProblem& p) {
  require_known(kAppendToCacheName, "k", p.type);
  require_one_of(kAppendToCacheName, "k", p.type, {Scalar::half, Scalar::bfloat16, Scalar::float32});
  require_known(kAppendToCacheName, "pairs", p.pairs, RotaryPairs::neighbours);
  require_head_size(kAppendToCacheName, "k", p.head_size);
  require_head_size(kAppendToCacheName, "v", p.value_size);
  if (p.tokens > kMostTokens)
    refuse(kAppendToCacheName, "k", "at most 2^29 tokens", formatted("{}", p.tokens));
  require_elements(kAppendToCacheName, "k", {p.batch, p.heads, p.tokens, p.head_size});
  require_elements(kAppendToCacheName, "v", {p.batch, p.heads, p.tokens, p.value_size});
  if (p.rotated > p.head_size || p.rotated % 2 != 0) {
    refuse(kAppendToCacheName, "rotated", formatted("an even number, at most {}", p.head_size),
           formatted("{}", p.rotated));
  }
}

std::vector<std::string_view> append_to_cache_variants() { return {"naive", "packs"}; }

Plan plan_append_to_cache(const Device& device, const AppendToCacheProblem& problem,
                          const PlanOverrides& overrides) {
  return plan_call(kAppend, kAppendToCacheName, problem.type, device, problem, overrides);
}

}  // namespace smem
