// Plans for reductions: which variant, how many parts, and why.
#include <smem/reduce_plan.hpp>

#include "formatted.hpp"
#include "plan/read_ahead_policy.hpp"
#include "plan/reduce_policy.hpp"
#include "plan/reduce_types.hpp"
#include "plan/reduce_variants.hpp"
#include "plan/variants.hpp"

#include <algorithm>
#include <bit>
#include <string>

namespace smem {

using namespace plan;

Plan plan::reduction::base_plan(const ReduceProblem& problem, std::string_view variant, const char* file,
                                const char* entry) {
  Plan plan = named_plan(operation_name(problem), variant, file, entry);
  define_operation(plan, problem);
  if (!problem.reduction.commutes) define(plan, "KEEP_ORDER", 1);
  if (problem.shape == ReduceShape::segments) {
    define(plan, "SEGMENTED", 1);
    plan.text_defines.emplace_back("BOUND", opencl_name_of(problem.bounds));
  }
  const double elements =
      real(problem.cols, problem.batch) * (problem.shape == ReduceShape::segments ? 1.0 : real(problem.rows));
  const bool is_dot = problem.reduction.op == ReduceOp::dot;
  // Of the other factor of a dot product.
  const double vectors = real(problem.count() * problem.batch);
  const double numbers = problem.reduction.op == ReduceOp::minmax ? 2 : 1;
  plan.prediction.bytes_read = (elements + (is_dot ? vectors : 0)) * real(size_of(problem.in));
  plan.prediction.bytes_written = numbers * real(problem.results()) * real(size_of(problem.out));
  plan.prediction.operations = is_float(problem.in) ? (is_dot ? 2 : 1) * elements : 0;
  return plan;
}

std::size_t plan::reduction::pack_of(const ReducePolicy& policy, const ReduceProblem& problem) {
  return at_least_1(std::min(policy.pack_bytes, problem.alignment) / size_of(problem.in));
}

std::size_t plan::reduction::packs_of(const ReducePolicy& policy, const ReduceProblem& problem) {
  const bool many = problem.reduction.op == ReduceOp::dot || accumulator_numbers(problem) > 1;
  return many ? policy.packs_of_many : policy.packs;
}

std::size_t plan::reduction::lanes_of(const ReducePolicy& policy, const ReduceProblem& problem) {
  if (!problem.reduction.commutes) return 1;
  return std::min(pack_of(policy, problem),
                  accumulator_numbers(problem) > 1 ? policy.lanes_of_many : policy.lanes);
}

bool plan::reduction::fits_narrow_sums(const ReduceProblem& problem, std::size_t elements) {
  const ReduceOp op = problem.reduction.op;
  return (op == ReduceOp::sum || op == ReduceOp::mean) && !is_float(problem.in) && size_of(problem.in) <= 2 &&
         elements < std::size_t{1} << (31 - 8 * size_of(problem.in));
}

namespace {

using namespace plan::reduction;

constexpr std::size_t kMostCounted = kSharedCounters / 4;  // results whose last group combines the parts

bool is_tree(std::string_view variant) {
  return variant == "interleaved" || variant == "sequential" || variant == "first_add";
}

/// Parts of each result on a CPU: enough of them that a thread which is late leaves little behind.
std::size_t count_thread_parts(const ReduceThreads& threads, const Device& device,
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
  if (variant == "cpu") return count_thread_parts(policy.threads, device, problem);
  if (is_tree(variant)) {
    const std::size_t tile = policy.group * (variant == "first_add" ? 2 : 1);
    return std::clamp<std::size_t>(problem.cols / tile, 1, policy.most_parts);
  }
  if (problem.shape == ReduceShape::columns) return parts_of_columns(device, problem);
  // At least a tile for each part.
  const std::size_t most =
      problem.cols * size_of(problem.in) / (policy.group * policy.pack_bytes * policy.packs_of_parts);
  return std::clamp<std::size_t>(
      std::min(policy.groups_a_unit * device.compute_units / problem.results(), most), 1, policy.most_parts);
}

/// How partial results are combined, whatever the size of a work-group.
struct ReduceParts {
  std::size_t parts = 1;   ///< of each result
  bool one_launch = true;  ///< the last work-group to end combines them
};

ReduceParts parts_of(const Device& device, const ReduceProblem& problem, std::string_view variant) {
  const std::size_t parts = count_parts(device, problem, variant);
  return {parts, parts == 1 || (device_fence(device) != 0 && problem.results() <= kMostCounted &&
                                problem.shape != ReduceShape::columns && !is_tree(variant))};
}

/// Gives the plan the memory of its partial results, and defines how they are combined.
void share_results(const Device& device, const ReduceProblem& problem, const ReduceParts& parts, Plan& plan) {
  plan.numbers = {{"parts", parts.parts}};
  if (parts.parts == 1) return;
  add_scratch(plan, problem.results() * parts.parts * accumulator_bytes(problem));
  if (!parts.one_launch) return;
  plan.counters = true;
  define(plan, {{"ONE_LAUNCH", 1}, {"DEVICE_FENCE", device_fence(device)}});
}

/// One tree for every GROUP elements. Vectors only.
Attempt tree(const Device& device, const ReduceProblem& problem, std::string_view variant,
             std::size_t wanted) {
  if (!problem.reduction.commutes) return kOtherOrder;
  if (problem.shape != ReduceShape::vector) return "reduces whole vectors only";
  const std::size_t number = variant == "interleaved" ? 0 : variant == "sequential" ? 1 : 2;
  const std::size_t group = group_for(device, wanted, accumulator_bytes(problem));
  if (group == 0) return no_tile_fits(device);
  const char* reasons[] = {"a tree whose active work-items are interleaved with idle ones",
                           "a tree whose active work-items are neighbours",
                           "a tree of neighbours, each of which first combines two elements"};
  Plan plan = reduction::base_plan(problem, variant, "reduce/tree.cl", "reduce_tree");
  const ReduceParts parts = parts_of(device, problem, variant);
  plan.work_group = {group, 1, 1};
  plan.global = {parts.parts * group, 1, 1};
  plan.tile_cols = number == 2 ? 2 * group : group;
  plan.items_per_work_item = number == 2 ? 2 : 1;
  plan.local_bytes = group * accumulator_bytes(problem);
  define(plan, {{"GROUP", group}, {"VARIANT", number}, {"PACK", 1}, {"LANES", 1}});
  share_results(device, problem, parts, plan);
  plan.reason = reasons[number];
  return plan;
}

/// Whether sub-group functions exist for the operation, and always give the same result.
bool has_sub_group_function(const ReduceProblem& problem) {
  const ReduceOp op = problem.reduction.op;
  if (accumulator_numbers(problem) != 1) return false;
  if (op == ReduceOp::sum || op == ReduceOp::mean || op == ReduceOp::dot) return true;
  return (op == ReduceOp::min || op == ReduceOp::max) && !is_float(problem.in);  // NaNs are up to the device
}

/// Rows, vectors and segments with several elements per work-item.
Attempt several(const Device& device, const ReduceProblem& problem, std::string_view variant,
                std::size_t wanted) {
  const bool shuffle = variant == "shuffle", sub_group = variant == "sub_group";
  if (shuffle && !problem.reduction.commutes) return kOtherOrder;
  if (shuffle && !is_nvidia_gpu(device)) return "needs NVIDIA's shuffle instructions";
  if (sub_group && !device.sub_groups) return "needs sub-group functions";
  if (sub_group && !has_sub_group_function(problem))
    return "there is no sub-group function that does this operation the same way everywhere";
  const ReducePolicy& policy = reduce_policy(device);
  const std::size_t pack = pack_of(policy, problem);
  const std::size_t flag = device_fence(device) != 0 ? 16 : 0;  // of one launch, with its alignment
  const std::size_t group = group_for(device, wanted, accumulator_bytes(problem), flag);
  const std::size_t unroll = packs_of(policy, problem);
  if (group == 0 || (shuffle && group % 32 != 0)) return no_tile_fits(device);
  const ReduceParts parts = parts_of(device, problem, variant);
  const std::size_t team = parts.parts > 1 || sub_group || problem.results() == 1
                               ? group
                               : row_team(device, problem, group, shuffle);
  const std::size_t groups = divide_up(problem.results() * parts.parts, group / team);

  Plan plan = reduction::base_plan(problem, variant, "reduce/several.cl", "reduce_several");
  set_groups(plan, group, groups);
  set_group_tile(plan, {.rows = group / team,
                        .cols = team * pack * unroll,
                        .vector_width = pack,
                        .items = pack * unroll,
                        .local_bytes = group * accumulator_bytes(problem) + flag});
  define(plan, {{"GROUP", group},
                {"TEAM", team},
                {"PACK", pack},
                {"UNROLL", unroll},
                {"LANES", lanes_of(policy, problem)}});
  // A vector that is not aligned as the rows are is read element by element by most compilers.
  if (problem.reduction.op == ReduceOp::dot && problem.shape == ReduceShape::rows &&
      problem.other_alignment < pack * size_of(problem.in))
    define(plan, "OTHER_ALIGNED", 0);
  if (shuffle || sub_group) define(plan, "TEAM_REDUCTION", shuffle ? 2 : 1);
  if (team <= kTileWarp && problem.reduction.op == ReduceOp::dot && problem.shape == ReduceShape::rows)
    define(plan, "REST", unroll);
  if (sub_group) plan.language = device.sub_group_language;
  share_results(device, problem, parts, plan);
  plan.reason = formatted("{} packs of {} elements under way for each work-item; {}", unroll, pack,
                          shuffle     ? "warps combine by shuffles"
                          : sub_group ? "sub-groups combine by sub-group functions"
                                      : "one tree in local memory at the end");
  return plan;
}

/// Vectors that one work-group has under way at once.
Attempt short_vector(const Device& device, const ReduceProblem& problem, std::size_t wanted) {
  if (problem.shape != ReduceShape::vector) return "reduces whole vectors only";
  if (!problem.reduction.commutes) return kOtherOrder;
  const ReducePolicy& policy = reduce_policy(device);
  const bool many = problem.reduction.op == ReduceOp::dot || accumulator_numbers(problem) > 1;
  const std::size_t pack = pack_of(policy, problem);
  const std::size_t items = many ? policy.short_items_of_many : policy.short_items;
  const std::size_t unroll = std::clamp<std::size_t>(items / pack, 1, policy.short_packs);
  const std::size_t group = group_for(device, wanted, accumulator_bytes(problem));
  if (group == 0) return no_tile_fits(device);
  if (problem.cols > group * unroll * pack)
    return formatted("a group has at most {} elements under way", group * unroll * pack);
  Plan plan = reduction::base_plan(problem, "short", "reduce/short.cl", "reduce_short");
  const bool shuffles = uses_shuffles(device, group);
  set_groups(plan, group, 1);
  set_group_tile(plan, {.rows = 1,
                        .cols = group * pack * unroll,
                        .vector_width = pack,
                        .items = pack * unroll,
                        .local_bytes = (shuffles ? group / 32 : group) * accumulator_bytes(problem)});
  plan.numbers = {{"parts", 1}};
  define(plan, {{"GROUP", group}, {"PACK", pack}, {"UNROLL", unroll}, {"LANES", lanes_of(policy, problem)}});
  if (shuffles) define(plan, "TEAM_REDUCTION", 2);
  plan.reason = "one group, which loads all elements at once: the fewest instructions";
  return plan;
}

/// Sums of integers of which some hundred fit a vector of twice their bits, as reduce/cpu.cl numbers them; 0:
/// none.
std::size_t narrow_sum(const ReduceProblem& problem) {
  if (problem.reduction.op != ReduceOp::sum && problem.reduction.op != ReduceOp::mean) return 0;
  switch (problem.in) {
    case Scalar::int8:
      return 1;
    case Scalar::uint8:
      return 2;
    case Scalar::int16:
      return 3;
    case Scalar::uint16:
      return 4;
    default:
      return 0;
  }
}

constexpr std::size_t kShortLanes = 16;  // accumulators of cl/reduce/short_rows.clh

/// Whether rows or segments have few elements, and the kernel makes vectors of their accumulators.
bool has_short_rows(const ReduceThreads& threads, const ReduceProblem& problem) {
  constexpr ReduceOp kOfVectors[] = {ReduceOp::sum,    ReduceOp::product, ReduceOp::min,    ReduceOp::max,
                                     ReduceOp::mean,   ReduceOp::bit_and, ReduceOp::bit_or, ReduceOp::minmax,
                                     ReduceOp::argmin, ReduceOp::argmax,  ReduceOp::dot};
  if (std::find(std::begin(kOfVectors), std::end(kOfVectors), problem.reduction.op) == std::end(kOfVectors) ||
      !problem.reduction.commutes || problem.reduction.mode == FloatMode::compensated)
    return false;
  if (problem.shape == ReduceShape::segments)
    return problem.cols / at_least_1(problem.rows) <= threads.short_row;
  return problem.shape == ReduceShape::rows && problem.cols <= threads.short_row;
}

/// Whether a strip holds several rows of columns.
bool folds_rows(const ReduceThreads& threads, const ReduceProblem& problem) {
  const bool repeats = problem.reduction.op == ReduceOp::dot && problem.in != Scalar::half;
  return problem.cols != 0 && problem.reduction.commutes &&
         problem.cols <= (repeats ? threads.most_folded_dot : threads.most_folded);
}

/// Whether a thread multiplies four rows at once. Two Zen 5 cores, PoCL 3.1, us, one row at a time and four:
/// 1000 x 6000 floats 350 and 235, 500 x 10000 270 and 175; short rows 10000 x 200 70 and 76.
bool takes_four_rows(const ReduceProblem& problem, std::size_t parts) {
  const bool is_real = problem.in == Scalar::float32 || problem.in == Scalar::float64;
  return problem.reduction.op == ReduceOp::dot && problem.shape == ReduceShape::rows && is_real &&
         parts == 1 && problem.rows >= 4 && problem.reduction.mode != FloatMode::compensated;
}

/// One work-item a group. CPUs only: a GPU would run one work-item in 32.
Attempt cpu(const Device& device, const ReduceProblem& problem) {
  if (!runs_cpu_variant(device)) return no_cpu_variant(device);
  const bool by_columns = problem.shape == ReduceShape::columns;
  // Accumulators that fill a few vector registers; of short rows one vector (cl/reduce/short_rows.clh). For
  // columns, a strip of a row.
  const ReduceThreads& threads = reduce_policy(device).threads;
  const bool is_short = has_short_rows(threads, problem);
  std::size_t lanes = by_columns ? threads.strip : 1;
  if (!by_columns && problem.reduction.commutes)
    lanes = is_short ? kShortLanes : threads.accumulator_bytes / size_of(accumulator_type(problem));
  const ReduceParts parts = parts_of(device, problem, "cpu");
  const bool four_rows = !is_short && takes_four_rows(problem, parts.parts);
  const std::size_t jobs = by_columns ? parts.parts * divide_up(problem.cols, lanes) * problem.batch
                                      : parts.parts * problem.results();
  Plan plan = reduction::base_plan(problem, "cpu", "reduce/cpu.cl", "reduce_cpu");
  set_groups(plan, 1, four_rows ? divide_up(jobs, 4) : jobs, threads.groups_a_unit * device.compute_units);
  plan.tile_cols = plan.items_per_work_item = lanes;
  define(plan, {{"PACK", 1}, {"LANES", lanes}});
  if (by_columns) define(plan, "COLUMNS", 1);
  if (by_columns && folds_rows(threads, problem)) define(plan, "FOLDS", 1);
  if (is_short) {
    define(plan, "SHORT_ROWS", 1);
    if (problem.shape == ReduceShape::rows && problem.cols <= threads.kept_row &&
        problem.results() >= threads.kept_rows && problem.reduction.op != ReduceOp::dot)
      define(plan, "COLS", at_least_1(problem.cols));
  } else if (const std::size_t narrow = narrow_sum(problem); narrow != 0 && !by_columns) {
    define(plan, "NARROW", narrow);
  }
  if (four_rows) define(plan, "FOUR_ROWS", 1);
  define_read_ahead(device, plan);
  share_results(device, problem, parts, plan);
  plan.reason = is_short ? "a thread reduces rows one after the other, each into one vector of accumulators"
                : lanes == 1 ? "a thread reduces a part from front to back"
                             : "a thread reduces a part from front to back, into independent accumulators";
  if (four_rows) plan.reason = "a thread multiplies four rows at once by the vector, which it reads once";
  return plan;
}

/// The launch that combines the parts of each result: by threads after those of a CPU, else by teams.
Launch finish(const Device& device, const ReduceProblem& problem, bool by_threads, std::size_t parts) {
  Launch launch = reduction::base_plan(problem, "finish", "reduce/finish.cl", "reduce_finish");
  std::erase_if(launch.defines, [](const auto& d) { return d.first == "SEGMENTED"; });
  std::erase_if(launch.text_defines, [](const auto& d) { return d.first == "BOUND"; });
  const ReducePolicy& policy = reduce_policy(device);
  const std::size_t group =
      at_least_1(group_for(device, by_threads ? 1 : policy.group, accumulator_bytes(problem)));
  // Neighbouring work-items read neighbours: the parts of a row, or the same part of neighbouring columns.
  std::size_t neighbours =
      problem.shape == ReduceShape::columns
          ? std::min(group, std::bit_ceil(std::min(policy.finished_columns, at_least_1(problem.results()))))
          : 1;
  // Of few results more work-items have each, as all units wait for them.
  while (!by_threads && neighbours > 1 && divide_up(problem.results(), neighbours) < device.compute_units)
    neighbours /= 2;
  const std::size_t team =
      std::min(group / neighbours, std::bit_ceil(divide_up(parts, policy.parts_of_items)));
  const std::size_t groups = divide_up(problem.results(), group / team);
  set_groups(launch, group, groups,
             by_threads ? policy.threads.groups_a_unit * device.compute_units : kMaxTiles);
  launch.tile_rows = group / team;
  launch.tile_cols = team;
  launch.items_per_work_item = divide_up(parts, team);
  launch.local_bytes = group * accumulator_bytes(problem);
  define(launch, {{"GROUP", group}, {"TEAM", team}, {"PACK", 1}, {"LANES", 1}});
  if (problem.shape == ReduceShape::columns) define(launch, "COLUMNS", 1);
  launch.prediction = {};
  const auto results = real(problem.results());
  launch.prediction.bytes_read = results * real(parts * accumulator_bytes(problem));
  launch.prediction.bytes_written = results * real(size_of(problem.out));
  launch.reason = formatted("combines the {} parts of each result", parts);
  return launch;
}

Attempt plan_variant(const Device& device, const ReduceProblem& problem, const PlanOverrides& fixed,
                     std::string_view variant) {
  if (variant == "short")
    return short_vector(device, problem, group_wanted(fixed, reduce_policy(device).short_group));
  if (variant == "short_rows") return short_rows(device, problem, fixed);
  if (variant == "balanced") return balanced_segments(device, problem, fixed);
  const std::size_t wanted = group_wanted(fixed, reduce_policy(device).group);
  if (problem.shape == ReduceShape::columns && variant != "cpu") {
    if (variant != "several") return is_tree(variant) ? tree(device, problem, variant, wanted) : kOtherShape;
    Attempt attempt = columns(device, problem, wanted);
    const std::size_t parts =
        !attempt.plan ? 1 : std::max(attempt.plan->number("parts"), attempt.plan->number("shares"));
    if (parts > 1) attempt.plan->after.push_back(finish(device, problem, false, parts));
    return attempt;
  }
  Attempt attempt = variant == "cpu"   ? cpu(device, problem)
                    : is_tree(variant) ? tree(device, problem, variant, wanted)
                                       : several(device, problem, variant, wanted);
  const ReduceParts parts = parts_of(device, problem, variant);
  if (attempt.plan && !parts.one_launch)
    attempt.plan->after.push_back(finish(device, problem, variant == "cpu", parts.parts));
  return attempt;
}

std::vector<std::string_view> preference(const Device& device, const ReduceProblem& problem,
                                         const PlanOverrides& /*fixed*/) {
  if (runs_cpu_variant(device)) return {"cpu"};
  const ReducePolicy& policy = reduce_policy(device);
  const bool shuffles = policy.variant == "shuffle" && problem.shape == ReduceShape::vector &&
                        problem.reduction.commutes && group_for(device, policy.group, 1) >= 32;
  std::vector<std::string_view> order;
  if (policy.short_used) order.push_back("short");
  if (shuffles) order.push_back("shuffle");
  if (problem.shape == ReduceShape::segments && problem.cols >= policy.balanced_elements &&
      !device.local_is_cache)
    order.push_back("balanced");
  if (prefers_short_rows(device, problem)) order.push_back("short_rows");
  if (prefers_warps(device, problem)) order.push_back("shuffle");
  order.push_back("several");
  return order;
}

std::string why_not(const Device& /*device*/, const ReduceProblem& /*problem*/, std::string_view variant,
                    const Plan& chosen) {
  if (is_tree(variant)) return "it needs a tree for every tile, the chosen one a single tree";
  if (chosen.variant == "cpu") return "a CPU runs work-items that share local memory as loops";
  if (variant == "short") return "not measured to be faster on this device";
  if (chosen.variant == "short_rows")
    return "work-items of a short row read few packs, and have a tree for each";
  if (variant == "short_rows") return "rows are long enough for the packs of their work-items";
  if (chosen.variant == "short") return "has more instructions, which take longer than so few elements";
  if (variant == "balanced") return "takes two launches, which are more than so few elements take";
  if (chosen.variant == "balanced") return "a work-group reduces one segment at a time, however long";
  if (variant == "several") return "a tree in local memory has more barriers than shuffles have";
  if (variant == "shuffle")
    return "measured for vectors, where it gains 3 %, and for products of rows of some kilobytes";
  return "not measured to be faster on any device so far";
}

const Evidence& evidence(const Device& device, const ReduceProblem& problem, const Plan& plan) {
  const ReducePolicy& policy = reduce_policy(device);
  if (plan.variant == "short") return policy.short_vectors;
  if (plan.variant == "short_rows") return policy.short_rows;
  if (plan.variant == "balanced") return policy.segments;
  if (problem.shape == ReduceShape::segments || !problem.reduction.commutes) return policy.others;
  return problem.shape == ReduceShape::vector ? policy.vectors : policy.matrices;
}

constexpr Operation<ReduceProblem> kReduce{.what = "reduction",
                                           .name = operation_name,
                                           .variants = reduce_variants,
                                           .check = check_reduction,
                                           .preference = preference,
                                           .attempt = plan_variant,
                                           .why_not = why_not,
                                           .evidence = evidence,
                                           .one_work_item = "a thread's compiler makes the vectors"};

}  // namespace

std::vector<std::string_view> reduce_variants() {
  return {"interleaved", "sequential", "first_add",  "several",  "sub_group",
          "shuffle",     "short",      "short_rows", "balanced", "cpu"};
}

Plan plan_reduce(const Device& device, const ReduceProblem& problem, const PlanOverrides& overrides) {
  return plan_call(kReduce, "reduce", problem.in, device, problem, overrides);
}

}  // namespace smem
