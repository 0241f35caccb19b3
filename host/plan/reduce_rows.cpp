// Plans of reductions of rows: short ones that follow each other without gaps (cl/reduce/rows.cl), and how
// many work-items have one.
#include "plan/reduce_variants.hpp"

#include "formatted.hpp"
#include "plan/reduce_types.hpp"
#include "plan/row_tiles.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

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

namespace {

/// Of segments of `mean` elements, whose lengths vary as those between random places do, how many a tile of
/// `room` elements nearly always holds: their sum is rarely 2.5 standard deviations above its mean.
std::size_t segments_of_tile(std::size_t room, std::size_t mean) {
  const double root = (std::sqrt(6.25 + 4 * real(room) / real(mean)) - 2.5) / 2;
  return at_least_1(static_cast<std::size_t>(root * root));
}

/// The launch that reduces the parts of long segments.
Launch segment_parts(const Device& device, const ReduceProblem& problem, const Launch& first,
                     std::size_t most) {
  Launch launch = base_plan(problem, "balanced", "reduce/segment_parts.cl", "reduce_segment_parts");
  const ReducePolicy& policy = reduce_policy(device);
  const std::size_t group = first.work_group[0], pack = first.vector_width, items = first.items_per_work_item;
  set_groups(launch, group, std::min(most, policy.groups_a_unit * device.compute_units));
  set_group_tile(launch, {.rows = 1,
                          .cols = group * items,
                          .vector_width = pack,
                          .items = items,
                          .local_bytes = group * accumulator_bytes(problem) + 16});
  define(launch, {{"GROUP", group},
                  {"PACK", pack},
                  {"UNROLL", items / pack},
                  {"LANES", lanes_of(policy, problem)},
                  {"DEVICE_FENCE", device_fence(device)}});
  launch.prediction = {};
  launch.reason = "reduces what the first launch has listed, and combines it";
  return launch;
}

}  // namespace

Attempt balanced_segments(const Device& device, const ReduceProblem& problem, const PlanOverrides& fixed) {
  if (problem.shape != ReduceShape::segments) return "reduces segments only";
  if (!problem.reduction.commutes) return kOtherOrder;
  if (device_fence(device) == 0) return "work-groups cannot hand results to each other";
  if (problem.alignment < kTilePackBytes) return "the buffer is not aligned to 16 bytes";
  const ReducePolicy& policy = reduce_policy(device);
  const std::size_t unroll = policy.packs, pack = kTilePackBytes / size_of(problem.in);
  const std::size_t edges = policy.most_edges * 4 + 16;
  const std::size_t group = group_for(device, group_wanted(fixed, policy.group),
                                      unroll * kTilePackBytes + accumulator_bytes(problem), edges);
  if (group == 0) return no_tile_fits(device);
  const std::size_t mean = at_least_1(problem.cols / at_least_1(problem.rows)), items = pack * unroll;
  const std::size_t fit = std::min(segments_of_tile(group * items - (pack - 1), mean), policy.most_edges);
  const bool tiled = fit >= policy.tiled_segments;
  RowTile tile = row_tile(policy.row_steps, group, group, fit, std::min(mean, group * items), 1);
  if (!tiled) {
    tile.team = std::min(group, std::bit_ceil(divide_up(mean, pack * policy.packs_of_segments)));
    tile.rows = group / tile.team;
  }
  const std::size_t groups = divide_up(problem.rows, tile.rows);
  if (groups > kMaxTiles) return "has more segments than groups of a launch";
  const std::size_t longest = std::max(policy.turns_of_teams * tile.team * items, policy.least_long);
  const std::size_t part = policy.turns_of_parts * group * items;
  const std::size_t room = problem.cols / part + problem.cols / longest + 1;
  if (room > kMaxTiles) return "may have more parts than a launch";

  Plan plan = base_plan(problem, "balanced", "reduce/segments.cl", "reduce_segments");
  set_groups(plan, group, groups);
  set_group_tile(plan, {.rows = tile.rows,
                        .cols = mean,
                        .vector_width = pack,
                        .items = items,
                        .local_bytes = group * (unroll * kTilePackBytes +
                                                (tile.team > 1 ? accumulator_bytes(problem) : 0)) +
                                       (std::bit_ceil(tile.rows) + 1) * 4});
  plan.numbers = {{"parts", 1}, {"piece", tile.rows}, {"room", room}};
  define(plan, {{"GROUP", group},
                {"TEAM", tile.team},
                {"PACK", pack},
                {"UNROLL", unroll},
                {"LANES", lanes_of(policy, problem)},
                {"EDGES", std::bit_ceil(tile.rows)}});
  if (!tiled) define(plan, "TILED", 0);
  if (uses_shuffles(device, group)) define(plan, "TEAM_REDUCTION", 2);
  add_scratch(plan, room * 16);
  add_scratch(plan, room * accumulator_bytes(problem));
  add_scratch(plan, room * 4);
  plan.counters = true;
  plan.after.push_back(segment_parts(device, problem, plan, room));
  for (Launch* launch : {static_cast<Launch*>(&plan), &plan.after.back()})
    define(*launch, {{"LONGEST", longest}, {"PART", part}});
  plan.reason =
      formatted("{} segment{} of the usual length in a tile, {} work-item{} of each; long ones in parts",
                tile.rows, tile.rows == 1 ? "" : "s", tile.team, tile.team == 1 ? "" : "s");
  return plan;
}

}  // namespace smem::plan::reduction
