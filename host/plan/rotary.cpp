// Plans for rotary position embeddings.
#include <smem/rotary_plan.hpp>

#include "formatted.hpp"
#include "plan/rotary_checks.hpp"
#include "plan/rotary_policy.hpp"
#include "plan/rows.hpp"
#include "plan/variants.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <string>
#include <utility>

namespace smem {

namespace {

using namespace plan;

/// Elements of a head that are rotated: a table has a number for each two of them.
constexpr std::size_t kMostRotated = 65536;

std::size_t tokens_of(const RotaryProblem& p) {
  return p.own_positions ? size_product(p.rows, p.batch) : p.rows;
}
/// Heads of a token.
std::size_t jobs_of(const RotaryProblem& p) {
  return p.own_positions ? p.heads : size_product(p.heads, p.batch);
}

Plan base_plan(const RotaryProblem& p, std::string_view variant) {
  Plan plan =
      named_plan("rotary", variant, formatted("rotary/{}.cl", variant), formatted("rotary_{}", variant));
  define_row_types(plan, p.type, p.type);
  define(plan, {{"HEAD_SIZE", at_least_1(p.head_size)},
                {"ROTATED", p.rotated},
                {"NEIGHBOURS", p.pairs == RotaryPairs::neighbours ? 1 : 0}});
  const double elements = real(p.rows, p.batch, p.heads, p.head_size);
  predict(plan, elements, p.type, p.type);
  plan.prediction.operations = 3 * elements;
  return plan;
}

Attempt naive(const Device& device, const RotaryProblem& p, std::size_t wanted) {
  const std::size_t group =
      group_for(device, group_wanted({.work_items = wanted}, rotary_policy(device).naive_group), 0);
  if (group == 0) return no_tile_fits(device);
  Plan plan = base_plan(p, "naive");
  const std::size_t items = p.head_size - p.rotated / 2;
  set_groups(plan, group, divide_up(size_product(size_product(tokens_of(p), jobs_of(p)), items), group));
  plan.tile_cols = group;
  define(plan, {{"GROUP", group}, {"PACK", 1}});
  plan.reason = "a work-item rotates a pair";
  return plan;
}

/// Elements that divide heads and their rotated halves, and are aligned in every row.
std::size_t pack_of(const RotaryPolicy& policy, const RotaryProblem& p) {
  const std::size_t most = row_pack(policy.pack_bytes, p.row_alignment, p.type, p.type);
  return std::min(
      {most, policy.most_pack, std::size_t{1} << std::countr_zero(p.head_size | p.rotated / 2 | 16)});
}

Attempt shared(const Device& device, const RotaryProblem& p, std::size_t wanted) {
  const RotaryPolicy& policy = rotary_policy(device);
  const std::size_t group = group_for(device, group_wanted({.work_items = wanted}, policy.group), 0);
  if (group == 0) return no_tile_fits(device);
  const std::size_t pack = pack_of(policy, p), jobs = at_least_1(jobs_of(p));
  const std::size_t items =
      size_product(tokens_of(p), p.rotated / 2 / pack + (p.head_size - p.rotated) / pack);
  const double each = real(items, jobs) / real(policy.items_a_unit, at_least_1(device.compute_units));
  const auto heads = static_cast<std::size_t>(std::clamp(each, 1.0, real(std::min(policy.most_heads, jobs))));
  Plan plan = base_plan(p, "shared");
  set_groups(plan, group, divide_up(items, group));
  plan.global[1] = std::min(divide_up(jobs, heads), kMaxGroups);
  plan.tile_rows = heads;
  plan.tile_cols = group * pack;
  plan.vector_width = pack;
  plan.items_per_work_item = 2 * pack * heads;
  define(plan, {{"GROUP", group}, {"PACK", pack}});
  plan.numbers = {{"heads", heads}};
  plan.reason = formatted("a work-item computes cosines for {} head{}", heads, heads == 1 ? "" : "s");
  return plan;
}

Attempt cpu(const Device& device, const RotaryProblem& p) {
  if (!runs_cpu_variant(device)) return no_cpu_variant(device);
  const std::size_t bytes = (at_least_1(p.head_size) + std::max<std::size_t>(p.rotated, 2)) * sizeof(float);
  if (bytes > local_room(device)) return formatted("local memory does not hold a head of {}", p.head_size);
  Plan plan = base_plan(p, "cpu");
  set_groups(plan, 1, tokens_of(p), rotary_policy(device).groups_a_unit * device.compute_units);
  plan.tile_cols = plan.items_per_work_item = at_least_1(p.head_size);
  plan.local_bytes = bytes;
  define(plan, {{"PACK", 1}});
  plan.reason = "a thread rotates a token; its cosines stay in the cache";
  return plan;
}

Attempt plan_variant(const Device& device, const RotaryProblem& p, const PlanOverrides& fixed,
                     std::string_view variant) {
  if (variant == "naive") return naive(device, p, fixed.work_items);
  if (variant == "shared") return shared(device, p, fixed.work_items);
  return cpu(device, p);
}

std::vector<std::string_view> preference(const Device& device, const RotaryProblem& /*p*/,
                                         const PlanOverrides& /*fixed*/) {
  if (runs_cpu_variant(device)) return {"cpu", "shared", "naive"};
  return {"shared", "naive"};
}

std::string why_not(const Device& /*device*/, const RotaryProblem& /*p*/, std::string_view variant,
                    const Plan& /*chosen*/) {
  return variant == "naive" ? "it computes a cosine and a sine for each pair of each head"
                            : "a thread keeps the cosines of all heads in its cache";
}

const Evidence& evidence(const Device& device, const RotaryProblem& /*p*/, const Plan& /*plan*/) {
  return rotary_policy(device).evidence;
}

constexpr Operation<RotaryProblem> kRotary{.what = "rotary position embedding",
                                           .name = [](const RotaryProblem&) { return "rotary"; },
                                           .variants = rotary_variants,
                                           .check = check_rotary,
                                           .preference = preference,
                                           .attempt = plan_variant,
                                           .why_not = why_not,
                                           .evidence = evidence,
                                           .one_work_item = "a thread has a token"};

}  // namespace

void plan::check_rotary(const Device& /*device*/, const RotaryProblem& p) {
  constexpr const char* kName = "rotary";
  require_known(kName, "in", p.type);
  require_one_of(kName, "in", p.type, {Scalar::half, Scalar::bfloat16, Scalar::float32});
  require_known(kName, "pairs", p.pairs, RotaryPairs::neighbours);
  require_elements(kName, "in", {p.rows, p.heads, p.head_size, p.batch});
  if (size_product(p.heads, p.head_size) > kMostCols)
    refuse(kName, "in", "rows of at most 2^30 elements", formatted("{} x {}", p.heads, p.head_size));
  const std::size_t most = std::min(p.head_size, kMostRotated);
  if (p.rotated > most || p.rotated % 2 != 0)
    refuse(kName, "rotated", formatted("an even number, at most {}", most), formatted("{}", p.rotated));
}

std::string_view name_of(RotaryPairs pairs) {
  static constexpr std::array<std::string_view, 2> kNames{"halves", "neighbours"};
  return plan::name_among(kNames, pairs);
}

std::vector<std::string_view> rotary_variants() { return {"naive", "shared", "cpu"}; }

Plan plan_rotary(const Device& device, const RotaryProblem& problem, const PlanOverrides& overrides) {
  return plan_call(kRotary, "rotary", problem.type, device, problem, overrides);
}

}  // namespace smem
