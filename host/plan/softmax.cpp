// Plans for softmax: where a row is kept between the two times that its elements are needed.
#include <smem/softmax_plan.hpp>

#include "formatted.hpp"
#include "plan/rows.hpp"
#include "plan/softmax_checks.hpp"
#include "plan/softmax_policy.hpp"
#include "plan/variants.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <string>
#include <utility>

namespace smem {

namespace {

using namespace plan;

const char* operation_name(const SoftmaxProblem& p) { return name_of(p.op).data(); }

std::size_t results_of(const SoftmaxProblem& p) { return size_product(p.rows, p.batch); }
std::size_t value_bytes(const SoftmaxProblem& p) { return size_of(row_value(p.in)); }

/// `readings`: of each element.
Plan base_plan(const SoftmaxProblem& p, std::string_view variant, const char* file, const char* entry,
               double readings) {
  Plan plan = named_plan(operation_name(p), variant, file, entry);
  define_row_types(plan, p.in, p.out);
  define(plan, "OPERATION", static_cast<int>(p.op));
  const double rows = real(p.rows, p.batch), elements = rows * real(p.cols);
  plan.prediction.bytes_read = readings * elements * real(size_of(p.in));
  plan.prediction.bytes_written = (p.op == SoftmaxOp::logsumexp ? rows : elements) * real(size_of(p.out));
  plan.prediction.operations = 5 * elements;  // maximum, difference, exponential, sum and product
  return plan;
}

Attempt naive(const Device& device, const SoftmaxProblem& p, std::size_t wanted) {
  if (!device.long_loops && p.cols > 20000) return "its loops are shorter than the row";
  const SoftmaxPolicy& policy = softmax_policy(device);
  const std::size_t group = group_for(device, group_wanted({.work_items = wanted}, policy.naive_group), 0);
  if (group == 0) return no_tile_fits(device);
  Plan plan =
      base_plan(p, "naive", "softmax/naive.cl", "softmax_naive", p.op == SoftmaxOp::logsumexp ? 2 : 3);
  set_groups(plan, group, divide_up(results_of(p), group));
  plan.tile_rows = group;
  plan.tile_cols = plan.items_per_work_item = at_least_1(p.cols);
  define(plan, {{"GROUP", group}, {"PACK", 1}});
  plan.reason = "a work-item reads its row three times";
  return plan;
}

/// Elements of a pack, and packs of a row.
struct Packs {
  std::size_t pack, packs;
};
Packs packs_of(const Device& device, const SoftmaxProblem& p) {
  const std::size_t pack = row_pack(softmax_policy(device).pack_bytes, p.alignment, p.in, p.out);
  return {pack, row_packs(p.cols, pack, p.in, p.row_alignment)};
}

/// Work-items of a group that has a row of `packs` packs, some for each.
std::size_t group_of_row(const Device& device, const SoftmaxProblem& p, std::size_t packs, std::size_t bytes,
                         std::size_t wanted) {
  const SoftmaxPolicy& policy = softmax_policy(device);
  const std::size_t most = std::clamp(std::bit_ceil(divide_up(packs, policy.packs * 2)),
                                      std::min(policy.group, policy.most_group), policy.most_group);
  return group_for(device, wanted != 0 ? wanted : most, bytes * value_bytes(p));
}

Attempt tiled(const Device& device, const SoftmaxProblem& p, std::size_t wanted) {
  const auto [pack, packs] = packs_of(device, p);
  const std::size_t group = group_of_row(device, p, packs, 1, wanted), bytes = value_bytes(p);
  if (group == 0) return no_tile_fits(device);
  const std::size_t scratch = group * bytes, room = local_room(device);
  const std::size_t most = room > scratch ? (room - scratch) / (pack * bytes) : 0;
  if (packs > most) return formatted("local memory holds {} elements of a row of {}", most * pack, p.cols);
  // Few sizes, so that a program serves several lengths of rows.
  const std::size_t places = std::min(round_up(packs, at_least_1(std::bit_ceil(packs) / 8)), most);
  Plan plan = base_plan(p, "tiled", "softmax/tiled.cl", "softmax_tiled", 1);
  set_groups(plan, group, results_of(p));
  plan.tile_cols = places * pack;
  plan.vector_width = pack;
  plan.items_per_work_item = divide_up(packs, group) * pack;
  plan.local_bytes = scratch + places * pack * bytes;
  // Written twice and read twice; of logsumexp the second time is for nothing.
  plan.prediction.local_bytes = 4 * real(p.rows, p.batch, p.cols) * real(bytes);
  define(plan, {{"GROUP", group}, {"PACK", pack}, {"PACKS", places}});
  plan.reason = "a row in local memory is read from global memory once";
  return plan;
}

/// The work-items of a row, with what each of them keeps.
struct Team {
  std::size_t items = 0, unroll = 0;
};
Team team_of(const SoftmaxPolicy& policy, std::size_t packs, std::size_t pack_bytes, std::size_t usual,
             std::size_t most) {
  const std::size_t limit = at_least_1(policy.kept_bytes / pack_bytes);
  Team team;
  team.unroll = std::min(policy.packs, limit);
  const auto items = [&] { return std::bit_ceil(divide_up(packs, team.unroll)); };
  while (items() > usual && team.unroll < limit)
    team.unroll = std::min(2 * team.unroll, limit);
  team.items = items();
  if (team.items > most) return {};
  team.unroll = divide_up(packs, team.items);
  return team;
}

Attempt registers(const Device& device, const SoftmaxProblem& p, std::string_view variant,
                  std::size_t wanted) {
  const bool shuffle = variant == "shuffle";
  if (shuffle && !is_nvidia_gpu(device)) return "needs NVIDIA's shuffle instructions";
  const SoftmaxPolicy& policy = softmax_policy(device);
  const auto [pack, packs] = packs_of(device, p);
  const std::size_t bytes = value_bytes(p);
  const std::size_t most = group_for(device, group_wanted({.work_items = wanted}, policy.most_group), bytes);
  const std::size_t usual = std::min(policy.group, most);
  if (most == 0 || (shuffle && most % 32 != 0)) return no_tile_fits(device);
  const Team team = team_of(policy, packs, pack * bytes, usual, most);
  if (team.items == 0)
    return formatted("a row of {} elements needs more registers than {} work-items have", p.cols, most);
  const std::size_t group = wanted != 0 ? most : std::max(usual, team.items);
  Plan plan = base_plan(p, variant, "softmax/registers.cl", "softmax_registers", 1);
  set_groups(plan, group, divide_up(results_of(p), group / team.items));
  plan.tile_rows = group / team.items;
  plan.tile_cols = team.items * team.unroll * pack;
  plan.vector_width = pack;
  plan.items_per_work_item = team.unroll * pack;
  plan.local_bytes = group * bytes;
  define(plan, {{"GROUP", group}, {"TEAM", team.items}, {"UNROLL", team.unroll}, {"PACK", pack}});
  if (shuffle) define(plan, "MEETING", 1);
  plan.reason =
      formatted("{} work-items keep a row in registers, {} elements each; {}", team.items, team.unroll * pack,
                shuffle ? "warps combine by shuffles" : "trees in local memory combine them");
  return plan;
}

/// Parts of a row: as many as units want, of some packs for each work-item.
std::size_t count_parts(const Device& device, const SoftmaxProblem& p, std::size_t packs, std::size_t group) {
  const SoftmaxPolicy& policy = softmax_policy(device);
  const std::size_t wanted = divide_up(2 * device.compute_units, at_least_1(results_of(p)));
  const std::size_t most = packs / (group * policy.packs_of_parts);
  return std::clamp<std::size_t>(std::min(wanted, most), 1, policy.most_parts);
}

/// Two readings of a row. `phase`: see softmax/online.cl.
Attempt online(const Device& device, const SoftmaxProblem& p, std::size_t phase, std::size_t wanted) {
  const SoftmaxPolicy& policy = softmax_policy(device);
  const auto [pack, packs] = packs_of(device, p);
  const std::size_t bytes = 2 * value_bytes(p);
  const std::size_t group = group_of_row(device, p, phase == 2 ? packs : 1, 2, wanted);
  if (group == 0) return no_tile_fits(device);
  const std::size_t parts = phase == 2 ? 1 : count_parts(device, p, packs, group);
  const bool sums_alone = p.op == SoftmaxOp::logsumexp && phase == 2;
  Plan plan = base_plan(p, phase == 2 ? "online" : "split", "softmax/online.cl", "softmax_online",
                        phase == 2 && !sums_alone ? 2 : 1);
  if (phase == 0) plan.prediction.bytes_written = real(results_of(p), parts, bytes);
  if (phase == 1 && p.op == SoftmaxOp::logsumexp) plan.prediction.bytes_read = 0;
  if (phase == 1) plan.prediction.bytes_read += real(results_of(p), parts, parts) * real(bytes);
  set_groups(plan, group, size_product(results_of(p), parts));
  plan.tile_cols = group * policy.packs * pack;
  plan.vector_width = pack;
  plan.items_per_work_item = policy.packs * pack;
  plan.local_bytes = group * bytes;
  const std::size_t unroll = at_least_1(std::min(policy.packs, policy.kept_bytes / (pack * value_bytes(p))));
  define(plan, {{"GROUP", group}, {"UNROLL", unroll}, {"PACK", pack}, {"PHASE", phase}});
  plan.numbers = {{"parts", parts}};
  plan.reason = phase == 2 ? "the largest element and the sum in one pass over the row, and a second pass"
                           : formatted("{} groups share a row, and each merges the statistics of all", parts);
  return plan;
}

Attempt split(const Device& device, const SoftmaxProblem& p, std::size_t wanted) {
  if (results_of(p) > kMaxGroups) return "there are rows enough for all groups";
  Attempt main = online(device, p, 1, wanted);
  if (!main.plan) return main;
  Launch first = *online(device, p, 0, wanted).plan;
  first.variant = "statistics";
  first.reason = "groups leave the largest element and the sum of each part";
  const std::size_t parts = main.plan->number("parts");
  main.plan->before.push_back(std::move(first));
  add_scratch(*main.plan, size_product(at_least_1(results_of(p)), parts, 2 * value_bytes(p)));
  return main;
}

Attempt cpu(const Device& device, const SoftmaxProblem& p) {
  if (!runs_cpu_variant(device)) return no_cpu_variant(device);
  const SoftmaxPolicy& policy = softmax_policy(device);
  const std::size_t bytes = value_bytes(p), lanes = policy.lanes_bytes / bytes;
  const std::size_t most = std::min(policy.tile_bytes, local_room(device)) / (lanes * bytes);
  if (most == 0) return no_tile_fits(device);
  const std::size_t tile = most * lanes;
  Plan plan = base_plan(p, "cpu", "softmax/cpu.cl", "softmax_cpu",
                        p.cols > tile && p.op != SoftmaxOp::logsumexp ? 2 : 1);
  set_groups(plan, 1, results_of(p), policy.groups_a_unit * device.compute_units);
  plan.tile_cols = tile;
  plan.vector_width = lanes;
  plan.items_per_work_item = at_least_1(std::min(p.cols, tile));
  plan.local_bytes = tile * bytes;
  define(plan, {{"TILE", tile}, {"LANES", lanes}, {"PACK", 1}});
  plan.reason = p.cols > tile ? "a thread merges tiles of a row in its cache, and reads them again"
                              : "a thread has a row in its cache";
  return plan;
}

Attempt plan_variant(const Device& device, const SoftmaxProblem& p, const PlanOverrides& fixed,
                     std::string_view variant) {
  const std::size_t wanted = fixed.work_items;
  if (variant == "naive") return naive(device, p, wanted);
  if (variant == "tiled") return tiled(device, p, wanted);
  if (variant == "online") return online(device, p, 2, wanted);
  if (variant == "split") return split(device, p, wanted);
  if (variant == "cpu") return cpu(device, p);
  return registers(device, p, variant, wanted);
}

std::vector<std::string_view> preference(const Device& device, const SoftmaxProblem& p,
                                         const PlanOverrides& fixed) {
  if (runs_cpu_variant(device)) return {"cpu", "online", "naive"};
  const auto [pack, packs] = packs_of(device, p);
  const SoftmaxPolicy& policy = softmax_policy(device);
  const std::size_t group = group_of_row(device, p, 1, 2, fixed.work_items);
  const bool few = real(results_of(p)) < policy.rows_a_unit * real(device.compute_units);
  if (few && group != 0 && count_parts(device, p, packs, group) > 1)
    return {"split", "shuffle", "registers", "tiled", "online", "naive"};
  return {"shuffle", "registers", "tiled", "online", "naive"};
}

std::string why_not(const Device& /*device*/, const SoftmaxProblem& /*p*/, std::string_view variant,
                    const Plan& chosen) {
  if (variant == "naive") return "neighbouring work-items read distant elements, three times";
  if (chosen.variant == "cpu") return "a CPU runs work-items that share local memory as loops";
  if (variant == "online" || variant == "split") return "it reads each row twice";
  if (variant == "tiled") return "registers keep a row without the way through local memory";
  return chosen.variant == "split" ? "there are fewer rows than groups that could run"
                                   : "trees in local memory have more barriers than shuffles have";
}

const Evidence& evidence(const Device& device, const SoftmaxProblem& /*p*/, const Plan& /*plan*/) {
  return softmax_policy(device).evidence;
}

constexpr Operation<SoftmaxProblem> kSoftmax{.what = "row operation",
                                             .name = operation_name,
                                             .variants = softmax_variants,
                                             .check = check_softmax,
                                             .preference = preference,
                                             .attempt = plan_variant,
                                             .why_not = why_not,
                                             .evidence = evidence,
                                             .one_work_item = "a thread has a row"};

}  // namespace

void plan::check_softmax(const Device& device, const SoftmaxProblem& p) {
  require_known("softmax", "op", p.op, SoftmaxOp::logsumexp);
  check_rows(operation_name(p), device, p.in, p.out, p.rows, p.cols, p.batch);
}

std::string_view name_of(SoftmaxOp op) {
  static constexpr std::array<std::string_view, 3> kNames{"softmax", "log_softmax", "logsumexp"};
  return plan::name_among(kNames, op);
}

std::vector<std::string_view> softmax_variants() {
  return {"naive", "online", "split", "tiled", "registers", "shuffle", "cpu"};
}

Plan plan_softmax(const Device& device, const SoftmaxProblem& problem, const PlanOverrides& overrides) {
  return plan_call(kSoftmax, "softmax", problem.in, device, problem, overrides);
}

}  // namespace smem
