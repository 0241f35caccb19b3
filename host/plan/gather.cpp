// Plans for moves of elements and rows by their places.
#include <smem/gather_plan.hpp>

#include "formatted.hpp"
#include "plan/gather_policy.hpp"
#include "plan/gather_types.hpp"
#include "plan/sizes.hpp"
#include "plan/variants.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <string>

namespace smem {

namespace {

using namespace plan;

const char* gather_name(const GatherProblem& p) { return name_of(p.op).data(); }

Plan base_plan(const GatherProblem& p, std::string_view variant) {
  static constexpr std::array<const char*, 5> kParts{"uchar", "ushort", "uint", "ulong", "uint4"};
  Plan plan = named_plan(gather_name(p), variant, "gather/gather.cl", "gather");
  plan.text_defines.emplace_back("PART", kParts.at(static_cast<std::size_t>(std::countr_zero(p.alignment))));
  plan.text_defines.emplace_back("PLACE", opencl_name_of(p.places));
  if (p.op == GatherOp::scatter) define(plan, "SCATTER", 1);
  plan.vector_width = p.alignment;
  plan.prediction.bytes_written = real(p.rows, p.row_bytes);
  plan.prediction.bytes_read = plan.prediction.bytes_written + real(p.rows, size_of(p.places));
  return plan;
}

/// Work-items of a row. Scatters write all parts of a row by one instruction if they can: memory writes fewer
/// sectors of which it has only a part. Gathers of so few parts too; others have more rows under way.
std::size_t team_of(const GatherPolicy& policy, const GatherProblem& p, std::size_t group) {
  const std::size_t parts = at_least_1(p.row_bytes / p.alignment);
  const bool at_once = p.op == GatherOp::scatter || parts <= policy.most_parts_at_once;
  return std::min({at_once ? std::bit_ceil(parts) : std::bit_floor(parts), policy.team, group});
}

Attempt teams(const Device& device, const GatherProblem& p, const PlanOverrides& fixed) {
  const GatherPolicy& policy = gather_policy(device);
  const std::size_t group = group_for(device, fixed.work_items != 0 ? fixed.work_items : policy.group, 0);
  const std::size_t team = team_of(policy, p, group);
  const std::size_t groups = divide_up(at_least_1(p.rows), group / team * policy.rows);
  if (groups > kMaxTiles) return "more rows than a launch can have work-groups";
  Plan plan = base_plan(p, "teams");
  set_groups(plan, group, groups);
  define(plan, {{"GROUP", group}, {"TEAM", team}, {"ROWS", policy.rows}});
  plan.items_per_work_item = policy.rows;
  plan.tile_rows = group / team * policy.rows;
  plan.reason = formatted("{} work-items move a row in parts of {} bytes, with {} rows in flight", team,
                          p.alignment, policy.rows);
  return plan;
}

Attempt cpu(const Device& device, const GatherProblem& p) {
  if (!runs_cpu_variant(device)) return no_cpu_variant(device);
  const GatherPolicy& policy = gather_policy(device);
  const std::size_t most = at_least_1(policy.cpu_groups_a_unit * device.compute_units);
  const std::size_t wanted =
      std::clamp<std::size_t>(size_product(p.rows, p.row_bytes) / policy.cpu_bytes, 1, most);
  const std::size_t piece = divide_up(at_least_1(p.rows), wanted);
  Plan plan = base_plan(p, "cpu");
  if (!device.prefetch_builtin) define(plan, "PREFETCH_AHEAD", 0);
  set_groups(plan, 1, divide_up(at_least_1(p.rows), piece));
  define(plan, {{"GROUP", 1}, {"CPU", 1}});
  plan.items_per_work_item = plan.tile_rows = piece;
  plan.numbers = {{"piece", piece}};
  plan.reason = "a thread moves a range of rows";
  return plan;
}

Attempt plan_variant(const Device& device, const GatherProblem& p, const PlanOverrides& fixed,
                     std::string_view variant) {
  return variant == "cpu" ? cpu(device, p) : teams(device, p, fixed);
}

std::vector<std::string_view> preference(const Device& device, const GatherProblem& /*p*/,
                                         const PlanOverrides& /*fixed*/) {
  if (runs_cpu_variant(device)) return {"cpu", "teams"};
  return {"teams"};
}

std::string why_not(const Device& /*device*/, const GatherProblem& /*p*/, std::string_view /*variant*/,
                    const Plan& chosen) {
  return chosen.variant == "cpu" ? "a CPU runs work-items as loops" : "one thread a stretch of rows";
}

const Evidence& evidence(const Device& device, const GatherProblem& /*p*/, const Plan& /*plan*/) {
  return gather_policy(device).evidence;
}

void check(const Device& /*device*/, const GatherProblem& p) {
  require_known("gather", "op", p.op, GatherOp::scatter);
  check_gather(gather_name(p), p);
}

constexpr Operation<GatherProblem> kGather{.what = "move by places",
                                           .name = gather_name,
                                           .variants = gather_variants,
                                           .check = check,
                                           .preference = preference,
                                           .attempt = plan_variant,
                                           .why_not = why_not,
                                           .evidence = evidence,
                                           .one_work_item = "a thread has a stretch of rows"};

}  // namespace

void plan::check_gather(const char* operation, const GatherProblem& p) {
  require_known(operation, "places", p.places);
  require_one_of(operation, "places", p.places, {Scalar::uint32, Scalar::uint64});
  require_elements(operation, "places", {p.rows, p.row_bytes});
  if (!std::has_single_bit(p.alignment) || p.alignment > 16 || p.row_bytes % p.alignment != 0) {
    plan::refuse(operation, "alignment", "1, 2, 4, 8 or 16, of which row_bytes is a multiple",
                 formatted("{}", p.alignment));
  }
}

Plan plan::plan_check_places(const Device& device, const CheckPlacesProblem& problem,
                             const PlanOverrides& /*overrides*/) {
  const auto [type, count] = problem;
  Plan plan = named_plan("check_places", "check", "gather/check.cl", "check_places");
  plan.text_defines.emplace_back("PLACE", opencl_name_of(type));
  plan.work_group = shape_group(device, device.type == DeviceType::cpu ? 1 : 256, 256, {count, 1, 1});
  set_groups(plan, plan.work_group[0],
             std::min(divide_up(count, plan.work_group[0]), 8 * device.compute_units));
  plan.reason = "a place out of range sets a flag";
  plan.prediction.bytes_read = real(count, size_of(type));
  return plan;
}

std::string_view name_of(GatherOp op) {
  static constexpr std::array<std::string_view, 2> kNames{"gather", "scatter"};
  return plan::name_among(kNames, op);
}

std::vector<std::string_view> gather_variants() { return {"teams", "cpu"}; }

Plan plan_gather(const Device& device, const GatherProblem& problem, const PlanOverrides& overrides) {
  return plan_call(kGather, "gather", problem.places, device, problem, overrides);
}

}  // namespace smem
