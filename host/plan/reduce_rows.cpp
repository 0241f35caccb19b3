// Plans of reductions of rows: short ones that follow each other without gaps (cl/reduce/rows.cl), and how
// many work-items have one.
#include "plan/reduce_variants.hpp"

#include "formatted.hpp"
#include "plan/reduce_types.hpp"
#include "plan/row_tiles.hpp"

#include <algorithm>
#include <bit>

namespace smem::plan::reduction {

Attempt short_rows(const Device& device, const ReduceProblem& problem, const PlanOverrides& fixed) {
  if (problem.shape != ReduceShape::rows) return "does not do this shape";
  if (!problem.reduction.commutes) return kOtherOrder;
  if (problem.packed_alignment == 0 || problem.cols == 0) return "its rows have gaps, or no elements";
  if (problem.alignment < kTilePackBytes) return "the buffer is not aligned to 16 bytes";
  if (problem.reduction.op == ReduceOp::dot && problem.batch > 1) return "reads one vector";
  const ReducePolicy& policy = reduce_policy(device);
  const std::size_t unroll = policy.packs, pack = kTilePackBytes / size_of(problem.in);
  // Numbers of a vector's run have 16 bytes at most, so that neighbours access all banks.
  const bool is_dot = problem.reduction.op == ReduceOp::dot;
  const std::size_t most = is_dot ? kTilePackBytes / size_of(value_type(problem.in)) : pack;
  const std::size_t step = row_step(problem.cols, size_of(problem.in), problem.packed_alignment, most);
  // The other factor, of whose sizes few have programs of their own.
  const std::size_t others = is_dot ? std::bit_ceil(problem.cols) : 0;
  const std::size_t other_bytes = others * size_of(value_type(problem.in));
  const std::size_t group = group_for(device, group_wanted(fixed, policy.group),
                                      unroll * kTilePackBytes + accumulator_bytes(problem), other_bytes);
  if (group == 0) return no_tile_fits(device);
  // The first row may begin at any step of a pack.
  const std::size_t fit = (group * unroll * pack - (pack - step)) / problem.cols;
  if (fit == 0) return "a row has more elements than a tile";
  const bool shuffles = uses_shuffles(device, group);
  const RowTile tile =
      row_tile(policy.row_steps, group, shuffles ? kTileWarp : group, fit, problem.cols, step);
  Plan plan = base_plan(problem, "short_rows", "reduce/rows.cl", "reduce_rows");
  const std::size_t groups = divide_up(problem.results(), tile.rows);
  if (groups > kMaxTiles) return "has more rows than groups of a launch";
  set_groups(plan, group, groups);
  set_group_tile(plan, {.rows = tile.rows,
                        .cols = problem.cols,
                        .vector_width = pack,
                        .items = pack * unroll,
                        .local_bytes = group * (unroll * kTilePackBytes +
                                                (tile.team > 1 ? accumulator_bytes(problem) : 0)) +
                                       other_bytes});
  plan.numbers = {{"parts", 1}, {"piece", tile.rows}};
  define(plan, {{"GROUP", group},
                {"TEAM", tile.team},
                {"PACK", pack},
                {"UNROLL", unroll},
                {"LANES", 1},
                {"STEP", step}});
  if (others != 0) define(plan, "OTHERS", others);
  if (fits_narrow_sums(problem, problem.cols)) define(plan, "NARROW_SUMS", 1);
  if (shuffles) define(plan, "TEAM_REDUCTION", 2);
  plan.reason = formatted("{} whole row{} in a tile, {} work-item{} of each", tile.rows,
                          tile.rows == 1 ? "" : "s", tile.team, tile.team == 1 ? "" : "s");
  return plan;
}

bool prefers_short_rows(const Device& device, const ReduceProblem& problem) {
  const ReducePolicy& policy = reduce_policy(device);
  return problem.shape == ReduceShape::rows && !device.local_is_cache &&
         problem.cols * size_of(problem.in) <=
             (problem.reduction.op == ReduceOp::dot ? policy.tiled_factor_bytes : policy.tiled_row_bytes);
}

std::size_t row_team(const Device& device, const ReduceProblem& problem, std::size_t group, bool shuffle) {
  const ReducePolicy& policy = reduce_policy(device);
  const std::size_t length =
      problem.shape == ReduceShape::segments ? problem.cols / at_least_1(problem.rows) : problem.cols;
  const std::size_t packs = divide_up(length, pack_of(policy, problem));
  const std::size_t most =
      std::min(group, std::bit_ceil(at_least_1(divide_up(packs, policy.packs_of_teams))));
  if (!shuffle || problem.shape != ReduceShape::rows || problem.reduction.op != ReduceOp::dot) return most;
  const std::size_t enough =
      divide_up(policy.groups_a_unit * device.compute_units * group, at_least_1(problem.results()));
  return std::min(most, std::bit_ceil(at_least_1(std::max(divide_up(packs, policy.packs_of_warps), enough))));
}

bool prefers_warps(const Device& device, const ReduceProblem& problem) {
  const ReducePolicy& policy = reduce_policy(device);
  return policy.variant == "shuffle" && problem.shape == ReduceShape::rows &&
         problem.reduction.op == ReduceOp::dot && problem.reduction.commutes &&
         row_team(device, problem, policy.group, true) <= kTileWarp;
}

}  // namespace smem::plan::reduction
