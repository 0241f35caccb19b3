// Plans for reductions: which variant, how many parts, and why.
#include <smem/error.hpp>
#include <smem/reduce_plan.hpp>

#include "formatted.hpp"
#include "plan/broken.hpp"
#include "plan/reduce_policy.hpp"
#include "plan/reduce_types.hpp"
#include "plan/sizes.hpp"

#include <algorithm>
#include <bit>
#include <optional>
#include <string>

namespace smem {

namespace {

using plan::define;
using plan::device_fence;
using plan::divide_up;
using plan::group_for;
using plan::reduce_policy;
using plan::ReducePolicy;
using plan::runs_cpu_variant;

constexpr std::size_t kMaxCounters = 1024;  // ScratchPool::kZeroedBytes / 4

Plan base_plan(const ReduceProblem& problem, std::string_view variant, const char* file, const char* entry) {
  Plan plan;
  plan.operation = plan::operation_name(problem);
  plan.variant = variant;
  plan.kernel_file = file;
  plan.entry_point = entry;
  plan::define_operation(plan, problem);
  if (!problem.reduction.commutes) define(plan, "KEEP_ORDER", 1);
  if (problem.shape == ReduceShape::segments) {
    define(plan, "SEGMENTED", 1);
    plan.text_defines.emplace_back("BOUND", opencl_name_of(problem.bounds));
  }
  const double elements = static_cast<double>(problem.cols) * static_cast<double>(problem.batch) *
                          (problem.shape == ReduceShape::segments ? 1.0 : static_cast<double>(problem.rows));
  const bool is_dot = problem.reduction.op == ReduceOp::dot;
  // Of the other factor of a dot product.
  const double vectors = static_cast<double>(problem.count() * problem.batch);
  if (is_dot && problem.shape == ReduceShape::rows) define(plan, "OTHER_ALIGNED", 0);
  const double numbers = problem.reduction.op == ReduceOp::minmax ? 2 : 1;
  plan.prediction.bytes_read = (elements + (is_dot ? vectors : 0)) * static_cast<double>(size_of(problem.in));
  plan.prediction.bytes_written =
      numbers * static_cast<double>(problem.results()) * static_cast<double>(size_of(problem.out));
  plan.prediction.operations = is_float(problem.in) ? (is_dot ? 2 : 1) * elements : 0;
  return plan;
}

std::size_t pack_of(const ReducePolicy& policy, const ReduceProblem& problem) {
  return std::max<std::size_t>(1, std::min(policy.pack_bytes, problem.alignment) / size_of(problem.in));
}

/// Packs that a work-item reads at once.
std::size_t packs_of(const ReducePolicy& policy, const ReduceProblem& problem) {
  const bool many = problem.reduction.op == ReduceOp::dot || plan::accumulator_numbers(problem) > 1;
  return many ? policy.packs_of_many : policy.packs;
}

/// Accumulators of a work-item that do not wait for each other.
std::size_t lanes_of(const ReducePolicy& policy, const ReduceProblem& problem) {
  if (!problem.reduction.commutes) return 1;
  return std::min(pack_of(policy, problem),
                  plan::accumulator_numbers(problem) > 1 ? policy.lanes_of_many : policy.lanes);
}

bool is_cpu_variant(const Device& device, std::string_view variant) {
  return variant == "cpu" || (variant.empty() && runs_cpu_variant(device));
}

bool is_rung(std::string_view variant) {
  return variant == "interleaved" || variant == "sequential" || variant == "first_add";
}

/// Parts of each result on a CPU: enough of them that a thread which is late leaves little behind.
std::size_t count_thread_parts(const plan::ReduceThreads& threads, const Device& device,
                               const ReduceProblem& problem) {
  const bool by_columns = problem.shape == ReduceShape::columns;
  const std::size_t element = size_of(problem.in), units = device.compute_units;
  const std::size_t bytes = problem.rows * problem.cols * problem.batch * element;
  const std::size_t jobs =
      by_columns ? divide_up(problem.cols, threads.strip) * problem.batch : problem.results();
  if (jobs >= threads.enough_results * units || bytes <= threads.piece_bytes) return 1;
  const std::size_t most = by_columns ? divide_up(problem.rows, threads.strip_rows)
                                      : divide_up(problem.cols * element, threads.piece_bytes);
  return std::clamp<std::size_t>(most, 1, divide_up(threads.pieces_a_unit * units, jobs));
}

/// In how many parts a launch reduces each result.
std::size_t count_parts(const Device& device, const ReduceProblem& problem, std::string_view variant) {
  if (problem.shape == ReduceShape::segments || problem.results() == 0) return 1;
  const ReducePolicy& policy = reduce_policy(device);
  if (is_cpu_variant(device, variant)) return count_thread_parts(policy.threads, device, problem);
  if (is_rung(variant)) {
    const std::size_t tile = policy.group * (variant == "first_add" ? 2 : 1);
    return std::clamp<std::size_t>(problem.cols / tile, 1, policy.most_parts);
  }
  const bool by_columns = problem.shape == ReduceShape::columns;
  const std::size_t wanted = policy.groups_a_unit * device.compute_units;
  const std::size_t jobs =
      by_columns ? divide_up(problem.cols,
                             policy.across * std::min(pack_of(policy, problem), policy.pack_of_columns)) *
                       problem.batch
                 : problem.results();
  // At least a tile for each part; for columns, as many rows as a group reads at once.
  const std::size_t most = by_columns ? problem.rows / policy.column_rows
                                      : problem.cols * size_of(problem.in) /
                                            (policy.group * policy.pack_bytes * policy.packs_of_parts);
  return std::clamp<std::size_t>(std::min(wanted / jobs, most), 1, policy.most_parts);
}

/// How the results come together, whatever the size of a work-group.
struct Parts {
  std::size_t parts = 1;   ///< of each result
  bool one_launch = true;  ///< the last work-group to end combines them
};

Parts parts_of(const Device& device, const ReduceProblem& problem, std::string_view variant) {
  const std::size_t parts = count_parts(device, problem, variant);
  return {parts, parts == 1 || (device_fence(device) != 0 && problem.results() <= kMaxCounters &&
                                problem.shape != ReduceShape::columns && !is_rung(variant))};
}

/// Gives the plan the memory of its partial results, and tells the kernel how they come together.
void share_results(const Device& device, const ReduceProblem& problem, const Parts& parts, Plan& plan) {
  plan.numbers = {{"parts", parts.parts}};
  if (parts.parts == 1) return;
  plan::add_scratch(plan, problem.results() * parts.parts * plan::accumulator_bytes(problem));
  if (!parts.one_launch) return;
  plan.counters = true;
  define(plan, "ONE_LAUNCH", 1);
  define(plan, "DEVICE_FENCE", device_fence(device));
}

/// One tree for every GROUP elements. Vectors only.
std::optional<Plan> tree(const Device& device, const ReduceProblem& problem, std::string_view variant,
                         std::size_t wanted) {
  if (problem.shape != ReduceShape::vector || !problem.reduction.commutes) return std::nullopt;
  const std::size_t rung = variant == "interleaved" ? 0 : variant == "sequential" ? 1 : 2;
  const std::size_t group = group_for(device, wanted, plan::accumulator_bytes(problem));
  if (group == 0) return std::nullopt;
  const char* reasons[] = {"a tree whose working work-items lie further and further apart",
                           "a tree whose working work-items are neighbours",
                           "a tree of neighbours, each of which combines two elements first"};
  Plan plan = base_plan(problem, variant, "reduce/tree.cl", "reduce_tree");
  const Parts parts = parts_of(device, problem, variant);
  plan.work_group = {group, 1, 1};
  plan.global = {parts.parts * group, 1, 1};
  plan.tile_cols = rung == 2 ? 2 * group : group;
  plan.items_per_work_item = rung == 2 ? 2 : 1;
  plan.local_bytes = group * plan::accumulator_bytes(problem);
  define(plan, "GROUP", group);
  define(plan, "RUNG", rung);
  define(plan, "PACK", 1);
  define(plan, "LANES", 1);
  share_results(device, problem, parts, plan);
  plan.reason = reasons[rung];
  return plan;
}

/// Whether sub-group functions exist for the operation, and always give the same result.
bool has_sub_group_function(const ReduceProblem& problem) {
  const ReduceOp op = problem.reduction.op;
  if (plan::accumulator_numbers(problem) != 1) return false;
  if (op == ReduceOp::sum || op == ReduceOp::mean || op == ReduceOp::dot) return true;
  return (op == ReduceOp::min || op == ReduceOp::max) && !is_float(problem.in);  // NaNs are up to the device
}

/// Rows, vectors and segments with several elements per work-item.
std::optional<Plan> several(const Device& device, const ReduceProblem& problem, std::string_view variant,
                            std::size_t wanted) {
  const bool shuffle = variant == "shuffle", sub_group = variant == "sub_group";
  if (shuffle && !plan::is_nvidia_gpu(device)) return std::nullopt;
  if (shuffle && !problem.reduction.commutes) return std::nullopt;
  if (sub_group && (!device.sub_groups || !has_sub_group_function(problem))) return std::nullopt;
  const ReducePolicy& policy = reduce_policy(device);
  const std::size_t pack = pack_of(policy, problem);
  const std::size_t flag = device_fence(device) != 0 ? 16 : 0;  // of one launch, with its alignment
  const std::size_t group = group_for(device, wanted, plan::accumulator_bytes(problem), flag);
  const std::size_t unroll = packs_of(policy, problem);
  if (group == 0 || (shuffle && group % 32 != 0)) return std::nullopt;
  const Parts parts = parts_of(device, problem, variant);
  // A row of few packs has few work-items, and shares the group with others.
  const std::size_t length = problem.shape == ReduceShape::segments
                                 ? problem.cols / std::max<std::size_t>(1, problem.rows)
                                 : problem.cols;
  const std::size_t team = parts.parts > 1 || sub_group || problem.results() == 1
                               ? group
                               : std::min(group, std::bit_ceil(std::max<std::size_t>(
                                                     1, divide_up(length, policy.packs_of_teams * pack))));
  const std::size_t groups = divide_up(problem.results() * parts.parts, group / team);

  Plan plan = base_plan(problem, variant, "reduce/several.cl", "reduce_several");
  plan.work_group = {group, 1, 1};
  plan.global = {std::clamp<std::size_t>(groups, 1, plan::kMaxTiles) * group, 1, 1};
  plan.tile_rows = group / team;
  plan.tile_cols = team * pack * unroll;
  plan.vector_width = pack;
  plan.items_per_work_item = pack * unroll;
  plan.local_bytes = group * plan::accumulator_bytes(problem) + flag;
  define(plan, "GROUP", group);
  define(plan, "TEAM", team);
  define(plan, "PACK", pack);
  define(plan, "UNROLL", unroll);
  define(plan, "LANES", lanes_of(policy, problem));
  if (shuffle || sub_group) define(plan, "MEETING", shuffle ? 2 : 1);
  if (sub_group) plan.language = device.sub_group_language;
  share_results(device, problem, parts, plan);
  plan.reason = formatted("{} packs of {} elements under way for each work-item; {}", unroll, pack,
                          shuffle     ? "warps meet by shuffles"
                          : sub_group ? "sub-groups meet by their own functions"
                                      : "one tree in local memory at the end");
  return plan;
}

/// Columns, by packs of neighbours.
std::optional<Plan> columns(const Device& device, const ReduceProblem& problem, std::string_view variant,
                            std::size_t wanted) {
  if (variant != "several") return std::nullopt;
  // A work-item keeps an accumulator for each column of its pack, in registers and in local memory.
  const ReducePolicy& policy = reduce_policy(device);
  std::size_t pack = std::min(pack_of(policy, problem), policy.pack_of_columns);
  std::size_t group = group_for(device, wanted, pack * plan::accumulator_bytes(problem));
  if (group == 0) {
    pack = 1;
    group = group_for(device, wanted, plan::accumulator_bytes(problem));
  }
  if (group == 0) return std::nullopt;
  const std::size_t unroll = packs_of(policy, problem);
  const std::size_t across = std::min(
      {group, policy.across, std::bit_ceil(std::max<std::size_t>(1, divide_up(problem.cols, pack)))});
  const Parts parts = parts_of(device, problem, variant);
  const std::size_t groups = divide_up(problem.cols, across * pack) * parts.parts * problem.batch;

  Plan plan = base_plan(problem, variant, "reduce/columns.cl", "reduce_columns");
  plan.work_group = {group, 1, 1};
  plan.global = {std::clamp<std::size_t>(groups, 1, plan::kMaxTiles) * group, 1, 1};
  plan.tile_rows = group / across * unroll;
  plan.tile_cols = across * pack;
  plan.vector_width = pack;
  plan.items_per_work_item = pack * unroll;
  plan.local_bytes = group * pack * plan::accumulator_bytes(problem);
  define(plan, "GROUP", group);
  define(plan, "ACROSS", across);
  define(plan, "PACK", pack);
  define(plan, "UNROLL", unroll);
  define(plan, "LANES", pack);
  share_results(device, problem, parts, plan);
  plan.reason = "work-items walk down neighbouring columns, and meet in local memory";
  return plan;
}

/// One work-item a group. CPUs only: a GPU would run one work-item in 32.
std::optional<Plan> cpu(const Device& device, const ReduceProblem& problem) {
  if (!runs_cpu_variant(device)) return std::nullopt;
  const bool by_columns = problem.shape == ReduceShape::columns;
  // Accumulators that fill a few vector registers. For columns, a strip of a row.
  const plan::ReduceThreads& threads = reduce_policy(device).threads;
  const std::size_t lanes = by_columns ? threads.strip
                            : problem.reduction.commutes
                                ? threads.accumulator_bytes / size_of(plan::accumulator_type(problem))
                                : 1;
  const Parts parts = parts_of(device, problem, "cpu");
  const std::size_t jobs =
      parts.parts * (by_columns ? divide_up(problem.cols, lanes) * problem.batch : problem.results());
  Plan plan = base_plan(problem, "cpu", "reduce/cpu.cl", "reduce_cpu");
  plan.work_group = {1, 1, 1};
  plan.global = {std::clamp<std::size_t>(jobs, 1, threads.groups_a_unit * device.compute_units), 1, 1};
  plan.tile_cols = plan.items_per_work_item = lanes;
  define(plan, "PACK", 1);
  define(plan, "LANES", lanes);
  if (by_columns) define(plan, "COLUMNS", 1);
  share_results(device, problem, parts, plan);
  plan.reason = lanes == 1 ? "one thread a piece, read from front to back"
                           : "one thread a piece, read from front to back into independent accumulators";
  return plan;
}

/// `wanted`: work-items of a group; fewer where they do not fit; 0: the policy's.
std::optional<Plan> plan_variant(const Device& device, const ReduceProblem& problem, std::string_view variant,
                                 std::size_t wanted = 0) {
  if (wanted == 0) wanted = reduce_policy(device).group;
  if (variant == "cpu") return cpu(device, problem);
  if (is_rung(variant)) return tree(device, problem, variant, wanted);
  return problem.shape == ReduceShape::columns ? columns(device, problem, variant, wanted)
                                               : several(device, problem, variant, wanted);
}

/// The launch that combines the parts of each result.
Launch finish(const Device& device, const ReduceProblem& problem, std::size_t parts) {
  Launch launch = base_plan(problem, "finish", "reduce/finish.cl", "reduce_finish");
  std::erase_if(launch.defines, [](const auto& d) { return d.first == "SEGMENTED"; });
  std::erase_if(launch.text_defines, [](const auto& d) { return d.first == "BOUND"; });
  const bool on_cpu = device.type == DeviceType::cpu;
  const ReducePolicy& policy = reduce_policy(device);
  const std::size_t group = std::max<std::size_t>(
      1, group_for(device, on_cpu ? 1 : policy.group, plan::accumulator_bytes(problem)));
  // Neighbouring work-items read neighbours: the parts of a row, or the same part of neighbouring columns.
  const std::size_t team = problem.shape == ReduceShape::columns
                               ? 1
                               : std::min(group, std::bit_ceil(divide_up(parts, policy.parts_of_items)));
  const std::size_t groups = divide_up(problem.results(), group / team);
  launch.work_group = {group, 1, 1};
  launch.global = {
      std::clamp<std::size_t>(
          groups, 1, on_cpu ? policy.threads.groups_a_unit * device.compute_units : plan::kMaxTiles) *
          group,
      1, 1};
  launch.tile_rows = group / team;
  launch.tile_cols = team;
  launch.items_per_work_item = divide_up(parts, team);
  launch.local_bytes = group * plan::accumulator_bytes(problem);
  define(launch, "GROUP", group);
  define(launch, "TEAM", team);
  define(launch, "PACK", 1);
  define(launch, "LANES", 1);
  launch.prediction = {};
  const auto results = static_cast<double>(problem.results());
  launch.prediction.bytes_read = results * static_cast<double>(parts * plan::accumulator_bytes(problem));
  launch.prediction.bytes_written = results * static_cast<double>(size_of(problem.out));
  launch.reason = formatted("combines the {} parts of each result", parts);
  return launch;
}

/// Why `variant` was not chosen.
std::string why_not(const Device& device, const ReduceProblem& problem, std::string_view variant,
                    const Plan& chosen) {
  if (!plan_variant(device, problem, variant)) {
    if ((variant == "shuffle" || is_rung(variant)) && !problem.reduction.commutes)
      return "combines elements in an order of its own";
    if (variant == "shuffle") return "needs NVIDIA's shuffle instructions";
    if (variant == "cpu") return plan::no_cpu_variant(device);
    if (is_rung(variant) && problem.shape != ReduceShape::vector) return "reduces whole vectors only";
    if (variant == "sub_group" && !device.sub_groups) return "needs sub-group functions";
    if (variant == "sub_group" && !has_sub_group_function(problem))
      return "there is no sub-group function that does this operation the same way everywhere";
    return "does not fit local memory, or does not do this shape";
  }
  if (is_rung(variant)) return "a tree for every tile, where the chosen one needs one in all";
  if (chosen.variant == "cpu") return "work-items that meet in local memory are loops on a CPU";
  if (variant == "several") return "a tree in local memory has more barriers than shuffles have";
  if (variant == "shuffle") return "measured for vectors only, where it gains 3 %";
  return "not measured to be faster on any device so far";
}

}  // namespace

std::vector<std::string_view> reduce_variants() {
  return {"interleaved", "sequential", "first_add", "several", "sub_group", "shuffle", "cpu"};
}

namespace {

/// The plan on a device whose driver breaks nothing.
Plan make_plan(const Device& device, const ReduceProblem& problem, const PlanOverrides& overrides) {
  plan::check_reduction(device, problem);
  const auto refuse = [&](const char* field, std::string expected, std::string got) {
    throw Error({.operation = plan::operation_name(problem),
                 .argument = field,
                 .expected = std::move(expected),
                 .got = std::move(got)});
  };
  const auto names = reduce_variants();
  const std::string_view variant = overrides.variant;
  plan::require_choice(plan::operation_name(problem), overrides, names);

  const ReducePolicy& policy = reduce_policy(device);
  const bool shuffles = policy.variant == "shuffle" && problem.shape == ReduceShape::vector &&
                        group_for(device, policy.group, 1) >= 32;
  const std::string_view chosen = !variant.empty()                                       ? variant
                                  : is_cpu_variant(device, variant)                      ? "cpu"
                                  : shuffles && plan_variant(device, problem, "shuffle") ? "shuffle"
                                                                                         : "several";
  const std::size_t wanted = overrides.work_items != 0 ? overrides.work_items : policy.group;
  std::optional<Plan> plan = plan_variant(device, problem, chosen, wanted);
  if (!plan) {
    refuse("variant", "one that can run this reduction on this device",
           formatted("\"{}\" for {} on {} with {} bytes of local memory", chosen,
                     name_of(problem.reduction.op), device.name, device.local_bytes));
  }
  if (overrides.work_items != 0 && plan->work_items() != overrides.work_items) {
    refuse("work_items",
           chosen == "cpu" ? std::string("1: a thread's compiler makes the vectors")
                           : formatted("a power of two for which local memory and the work-group limit of "
                                       "{} suffice",
                                       device.max_work_group),
           formatted("{}", overrides.work_items));
  }
  const Parts parts = parts_of(device, problem, plan->variant);
  if (!parts.one_launch) plan->after.push_back(finish(device, problem, parts.parts));
  const bool is_matrix = problem.shape == ReduceShape::rows || problem.shape == ReduceShape::columns;
  const bool is_other = problem.shape == ReduceShape::segments || !problem.reduction.commutes;
  plan->evidence = (is_other ? policy.others : is_matrix ? policy.matrices : policy.vectors).text(device);
  plan::note_choice(*plan, overrides, names, device, problem, why_not);
  return *plan;
}

}  // namespace

Plan plan_reduce(const Device& device, const ReduceProblem& problem, const PlanOverrides& overrides) {
  return plan::Broken(device, "reduce", problem.in)
      .plan(reduce_variants(), overrides,
            [&](const PlanOverrides& fixed) { return make_plan(device, problem, fixed); });
}

}  // namespace smem
