// Plans for mirror images and rotation by 180 degrees: copies with rows or columns backwards.
#include <smem/flip_plan.hpp>
#include <smem/sizes.hpp>

#include "formatted.hpp"
#include "plan/flip_policy.hpp"
#include "plan/variants.hpp"

namespace smem {

namespace {

using namespace plan;

void check(const Device& /*device*/, const FlipProblem& problem) {
  require_element("flip", problem.element_bytes);
  require_elements("flip", "in", {problem.rows, problem.cols, problem.batch});
}

constexpr std::size_t kPackBytes = 16;

std::vector<std::string_view> preference(const Device& device, const FlipProblem& problem,
                                         const PlanOverrides& /*fixed*/) {
  const FlipPolicy& policy = flip_policy(device);
  const std::string_view usual = problem.element_bytes <= policy.most_element_bytes ? "vector" : "items";
  const std::size_t row = detail::size_product(problem.cols, problem.element_bytes);
  const bool is_short = problem.reverse_cols && row <= policy.most_packed_row && row != kPackBytes;
  if (problem.element_bytes <= policy.most_packed_bytes || (usual == "vector" && is_short))
    return {"packs", usual};
  return {usual};
}

/// Behind a chunk, for its unaligned begin: some compilers round local arrays up to so many bytes.
constexpr std::size_t kLocalRest = 64;

/// What both kernels of "packs" have in common. `rows`: of a group.
Plan packs_plan(const FlipProblem& problem, const char* file, const char* entry, std::size_t group,
                std::size_t groups, std::size_t rows) {
  Plan plan = named_plan("flip", "packs", file, entry);
  plan.work_group = {group, 1, 1};
  plan.global = {groups * group, 1, 1};
  plan.vector_width = at_least_1(kPackBytes / problem.element_bytes);
  plan.tile_rows = rows;
  define(plan,
         {{"ELEMENT_BYTES", problem.element_bytes}, {"REVERSE", problem.reverse_cols}, {"GROUP", group}});
  plan.prediction.bytes_read = plan.prediction.bytes_written =
      real(problem.element_bytes, problem.rows, problem.cols, problem.batch);
  return plan;
}

/// Short rows through local memory.
Attempt runs(const Device& device, const FlipProblem& problem, const PlanOverrides& fixed) {
  const FlipPolicy& policy = flip_policy(device);
  const std::size_t row = problem.cols * problem.element_bytes;
  const auto local_bytes = [&](std::size_t chunk) { return chunk + kLocalRest; };
  std::size_t chunk = policy.chunk_bytes;
  while (chunk >= at_least_1(row) && local_bytes(chunk) > device.local_bytes)
    chunk /= 2;
  const std::size_t group = group_for(device, group_wanted(fixed, policy.run_group), 0);
  if (chunk < at_least_1(row) || group == 0) return no_tile_fits(device);
  // Runs of all groups begin at the same byte of a pack.
  std::size_t rows = chunk / at_least_1(row);
  if (rows > kPackBytes) rows = rows / kPackBytes * kPackBytes;
  const std::size_t groups = divide_up(problem.rows * problem.batch, rows);
  Plan plan = packs_plan(problem, "flip/runs.cl", "flip_runs", group, groups, rows);
  plan.tile_cols = problem.cols;
  plan.numbers = {{"rows_a_group", rows}};
  plan.items_per_work_item = divide_up(rows * problem.cols, group);
  plan.local_bytes = local_bytes(chunk);
  plan.prediction.local_bytes = plan.prediction.bytes();
  define(plan, {{"CHUNK", chunk / problem.element_bytes}, {"AHEAD", policy.ahead}});
  plan.reason = "short rows: runs of many are read in packs, and turned in local memory";
  return plan;
}

Attempt packs(const Device& device, const FlipProblem& problem, const PlanOverrides& fixed) {
  const FlipPolicy& policy = flip_policy(device);
  const std::size_t row = problem.cols * problem.element_bytes;
  const std::size_t slots = (row + kPackBytes - 2) / kPackBytes + 1;  // packs that a row may touch
  const std::size_t all_slots = detail::size_product(problem.rows, slots);
  const bool ends_anywhere = row % policy.pack_step != 0;  // so that packs are joined from two rows
  if (row < (ends_anywhere ? policy.runs_below_bytes : policy.even_runs_below_bytes) &&
      detail::size_product(problem.rows, problem.batch) <= kMostPacksOrRows) {
    if (Attempt through_local_memory = runs(device, problem, fixed); through_local_memory.plan)
      return through_local_memory;
  }
  if (all_slots > kMostPacksOrRows)
    return formatted("it numbers the packs of a matrix, up to {}", kMostPacksOrRows);
  const std::size_t group = group_for(device, group_wanted(fixed, policy.pack_group), 0);
  if (group == 0) return no_tile_fits(device);
  const std::size_t tile = group * policy.packs;
  const std::size_t groups = detail::size_product(divide_up(all_slots, tile), problem.batch);
  if (groups > kMaxTiles) return formatted("{} tiles are more than a launch can have", groups);
  Plan plan = packs_plan(problem, "flip/packs.cl", "flip_packs", group, groups, at_least_1(tile / slots));
  plan.tile_cols = std::min(slots, tile) * plan.vector_width;
  plan.items_per_work_item = policy.packs * plan.vector_width;
  plan.numbers = {{"slots", slots}, {"packs", policy.packs}};
  define(plan, "PACKS", policy.packs);
  plan.reason = formatted("aligned packs of {} bytes are written, from two aligned packs each", kPackBytes);
  return plan;
}

Attempt plan_variant(const Device& device, const FlipProblem& problem, const PlanOverrides& fixed,
                     std::string_view variant) {
  if (variant == "packs") return packs(device, problem, fixed);
  const FlipPolicy& policy = flip_policy(device);
  const std::size_t wanted = group_wanted(fixed, policy.group);
  const bool vector = variant == "vector";
  const std::size_t width =
      vector ? std::max<std::size_t>(2, policy.vector_bytes / problem.element_bytes) : 1;
  const std::array<std::size_t, 3> extent{divide_up(problem.cols, width), problem.rows, problem.batch};
  const auto group = shape_group(device, wanted, wanted, extent);
  const std::size_t groups =
      divide_up(extent[0], group[0]) * divide_up(extent[1], group[1]) * divide_up(extent[2], group[2]);
  if (groups > kMaxTiles) {
    refuse("flip", "in", formatted("a batch that needs at most {} work-groups", kMaxTiles),
           formatted("{} matrices of {} x {}, which need {}", problem.batch, problem.rows, problem.cols,
                     groups));
  }
  Plan plan = named_plan("flip", variant, "flip/vector.cl", "flip");
  plan.reason =
      vector ? "a run of neighbours is reversed in registers" : "neighbouring work-items move neighbours";
  plan.work_group = group;
  plan.global = {groups * group[0], group[1], group[2]};
  plan.vector_width = plan.items_per_work_item = width;
  plan.tile_rows = group[1];
  plan.tile_cols = group[0] * width;
  define(plan,
         {{"ELEMENT_BYTES", problem.element_bytes}, {"WIDTH", width}, {"REVERSE", problem.reverse_cols}});
  define_group(plan);
  plan.prediction.bytes_read = plan.prediction.bytes_written =
      real(problem.element_bytes, problem.rows, problem.cols, problem.batch);
  return plan;
}

std::string why_not(const Device& device, const FlipProblem& problem, std::string_view variant,
                    const Plan& chosen) {
  const Attempt attempt = plan_variant(device, problem, {}, variant);
  if (!attempt.plan) return attempt.why_not;
  if (chosen.variant == "packs") return "it reads and writes single elements";
  if (variant == "packs") {
    return device.type == DeviceType::cpu ? "a CPU moves unaligned vectors itself"
                                          : "elements of 4 bytes and more are moved without shifts";
  }
  if (variant == "vector") return "elements of 16 bytes are vectors by themselves";
  if (device.type == DeviceType::cpu)
    return "a CPU runs single elements one by one, and reverses runs in registers";
  return "a work-item has one element under way";
}

const Evidence& evidence(const Device& device, const FlipProblem& /*problem*/, const Plan& plan) {
  const FlipPolicy& policy = flip_policy(device);
  return plan.variant == "packs" ? policy.of_packs : policy.evidence;
}

constexpr Operation<FlipProblem> kFlip{.what = "copy",
                                       .name = [](const FlipProblem&) { return "flip"; },
                                       .variants = flip_variants,
                                       .check = check,
                                       .preference = preference,
                                       .attempt = plan_variant,
                                       .why_not = why_not,
                                       .evidence = evidence,
                                       .one_work_item = nullptr};  // groups are as large as the matrix

}  // namespace

std::vector<std::string_view> flip_variants() { return {"items", "vector", "packs"}; }

Plan plan_flip(const Device& device, const FlipProblem& problem, const PlanOverrides& overrides) {
  return plan_call(kFlip, "flip", formatted("{} B", problem.element_bytes), device, problem, overrides);
}

}  // namespace smem
