// Plans of reductions of columns (cl/reduce/columns.cl): packs of neighbouring columns, parts of their rows,
// and matrices without gaps of which several rows are read as one.
#include "plan/reduce_variants.hpp"

#include "formatted.hpp"
#include "plan/reduce_types.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <numeric>

namespace smem::plan::reduction {

namespace {

/// Columns of a work-item. On a GPU they are loaded together, aligned or not.
std::size_t pack_of_columns(const Device& device, const ReduceProblem& problem) {
  const ReducePolicy& policy = reduce_policy(device);
  const std::size_t aligned = pack_of(policy, problem);
  return std::min(policy.pack_of_columns,
                  device.local_is_cache ? aligned : policy.pack_bytes / size_of(problem.in));
}

/// Packs that a work-item has under way: more of small elements.
std::size_t column_packs(const ReducePolicy& policy, const ReduceProblem& problem, std::size_t pack) {
  return std::clamp<std::size_t>(policy.column_bytes / (pack * size_of(problem.in)),
                                 packs_of(policy, problem),
                                 std::max(policy.column_loads, packs_of(policy, problem)));
}

/// The problem of the same elements in rows `fold` times as long.
ReduceProblem folded(const ReduceProblem& problem, std::size_t fold) {
  ReduceProblem wide = problem;
  wide.rows = problem.rows / fold;
  wide.cols = problem.cols * fold;
  wide.alignment = std::min(problem.packed_alignment,
                            std::size_t{1} << std::countr_zero(wide.cols * size_of(problem.in) | 16));
  return wide;
}

/// How many rows of a matrix without gaps are read as one, so that packs are aligned and fill groups; 1: each
/// by itself.
std::size_t folded_rows(const Device& device, const ReduceProblem& problem) {
  const ReducePolicy& policy = reduce_policy(device);
  const std::size_t element = size_of(problem.in);
  constexpr std::size_t kMost = std::numeric_limits<std::uint32_t>::max();  // of what kernels divide
  if (!problem.reduction.commutes || problem.reduction.op == ReduceOp::dot || problem.results() == 0 ||
      problem.packed_alignment < policy.pack_bytes || problem.rows >= kMost)
    return 1;
  const std::size_t bytes = std::min(policy.pack_of_columns * element, policy.pack_bytes);
  const auto filled = [&](std::size_t fold) {
    const std::size_t packs = divide_up(problem.cols * fold * element, bytes);
    return real(packs) / real(round_up(packs, policy.across));
  };
  const std::size_t least = bytes / std::gcd(bytes, problem.cols * element);
  if (least == 1 && filled(1) >= policy.columns_fill) return 1;
  std::size_t fold = least;
  for (std::size_t f = least; f <= policy.most_folds * least && filled(fold) < policy.columns_fill;
       f += least)
    if (filled(f) > filled(fold)) fold = f;
  const ReduceProblem wide = folded(problem, fold);
  const double partials = real(wide.cols, parts_of_columns(device, wide)) * real(accumulator_bytes(problem));
  const bool many = partials * real(policy.part_of_partials) > real(problem.rows, problem.cols, element);
  return many || wide.cols > kMost ? 1 : fold;
}

}  // namespace

std::size_t parts_of_columns(const Device& device, const ReduceProblem& problem) {
  if (problem.results() == 0) return 1;
  const ReducePolicy& policy = reduce_policy(device);
  const std::size_t jobs =
      divide_up(problem.cols, policy.across * pack_of_columns(device, problem)) * problem.batch;
  // As many rows of a part as a group reads at once.
  return std::clamp<std::size_t>(
      std::min(policy.groups_a_unit * device.compute_units / jobs, problem.rows / policy.column_rows), 1,
      policy.most_parts);
}

Attempt columns(const Device& device, const ReduceProblem& matrix, std::size_t wanted) {
  const std::size_t fold = folded_rows(device, matrix);
  const ReduceProblem problem = fold > 1 ? folded(matrix, fold) : matrix;
  // A work-item keeps an accumulator for each column of its pack, in registers and in local memory.
  const ReducePolicy& policy = reduce_policy(device);
  std::size_t pack = pack_of_columns(device, problem);
  std::size_t group = group_for(device, wanted, pack * accumulator_bytes(matrix));
  if (group == 0) {
    pack = 1;
    group = group_for(device, wanted, accumulator_bytes(matrix));
  }
  if (group == 0) return no_tile_fits(device);
  const std::size_t parts = parts_of_columns(device, problem);
  // As many columns as leave all compute units groups enough: then a work-item has many rows, and few results
  // are combined in local memory.
  const auto groups_of = [&](std::size_t packs) {
    return divide_up(problem.cols, packs * pack) * parts * problem.batch;
  };
  const std::size_t enough = policy.groups_a_unit * device.compute_units;
  std::size_t across = std::min(group, policy.across);
  while (across < group && groups_of(2 * across) >= enough)
    across *= 2;
  across = std::min(across, std::bit_ceil(at_least_1(divide_up(problem.cols, pack))));
  const std::size_t each = divide_up(problem.rows, parts * (group / across)),
                    unroll =
                        each <= policy.column_loads ? at_least_1(each) : column_packs(policy, problem, pack);
  Plan plan = base_plan(matrix, "several", "reduce/columns.cl", "reduce_columns");
  set_groups(plan, group, groups_of(across));
  set_group_tile(plan, {.rows = group / across * unroll,
                        .cols = across * pack,
                        .vector_width = pack,
                        .items = pack * unroll,
                        .local_bytes = across < group ? group * pack * accumulator_bytes(matrix) : 0});
  define(plan, {{"GROUP", group}, {"ACROSS", across}, {"PACK", pack}, {"UNROLL", unroll}, {"LANES", pack}});
  if (pack > pack_of(policy, problem)) define(plan, "INTERLEAVED", 1);
  if (fits_narrow_sums(problem, each + 1)) define(plan, "NARROW_SUMS", 1);
  constexpr std::size_t kKeyedRows = (std::size_t{1} << 24) - 1;  // of which a key has the number
  const ReduceOp op = problem.reduction.op;
  if ((op == ReduceOp::argmin || op == ReduceOp::argmax) && size_of(problem.in) == 1 &&
      problem.rows < kKeyedRows)
    define(plan, "PLACE_KEYS", 1);
  plan.numbers = {{"parts", parts}};
  std::size_t shares = parts;
  plan.reason = "neighbouring work-items reduce neighbouring columns, and combine in local memory";
  if (fold > 1) {
    const bool tiled = across < group && across * pack >= 2 * matrix.cols;  // a tile has several rows
    define(plan, "FOLDS", tiled ? 2 : 1);
    plan.numbers.emplace_back("fold", fold);
    shares = parts * (tiled ? divide_up(problem.cols, across * pack) : fold);
    plan.numbers.emplace_back("shares", shares);
    plan.reason += formatted("; {} rows are read as one, whose packs are aligned", fold);
  }
  if (shares > 1) add_scratch(plan, problem.results() * parts * accumulator_bytes(matrix));
  return plan;
}

}  // namespace smem::plan::reduction
