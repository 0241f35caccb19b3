// Plans of short rows that follow each other without gaps: see cl/common/row_tile.clh.
#include "formatted.hpp"
#include "plan/row_plans.hpp"
#include "plan/row_tiles.hpp"

#include <algorithm>

namespace smem::plan {

Attempt short_rows(const Device& device, const RowWork& w, std::size_t wanted) {
  if (w.has_second_input) return "it reads one input";
  if (!w.packed || w.cols == 0) return "its rows have gaps, or no elements";
  if (w.element_written != 0 && w.in != w.out) return "results take the places of elements of their type";
  if (w.alignment < kTilePackBytes) return "the buffers are not aligned to 16 bytes";
  const RowPolicy& policy = w.policy;
  const std::size_t unroll = policy.packs, element = size_of(w.in), pack = kTilePackBytes / element;
  const std::size_t step = row_step(w.cols, element, w.row_alignment, pack);
  const std::size_t tree_bytes = w.tree_values * value_bytes(w);
  const std::size_t group = group_for(device, group_wanted({.work_items = wanted}, policy.tile_group),
                                      unroll * kTilePackBytes + tree_bytes);
  if (group == 0) return no_tile_fits(device);
  // The first row may begin at any step of a pack.
  const std::size_t fit = (group * unroll * pack - (pack - step)) / w.cols;
  if (fit == 0) return "a row has more elements than a tile";
  const bool shuffles = uses_shuffles(device, group);
  // A work-item's share of a row, which a team of a warp may exceed.
  const std::size_t kept = policy.tile_kept * sizeof(float) / value_bytes(w);
  const RowTile tile =
      row_tile(policy.tile_steps, group, shuffles ? kTileWarp : group, fit, w.cols, step, kept);
  const std::size_t each = divide_up(w.cols, tile.team * step);
  if (each * step > (shuffles ? 2 * policy.tile_kept : std::max(kept, step)))
    return "a row has more elements than registers of a team hold";
  const std::size_t groups = divide_up(results_of(w), tile.rows);
  if (groups > kMaxTiles) return "has more rows than groups of a launch";
  Plan plan = base_plan(w, "short_rows", "short_rows", 1);
  set_groups(plan, group, groups);
  const bool tree = !shuffles && tile.team > 1;
  set_group_tile(plan, {.rows = tile.rows,
                        .cols = w.cols,
                        .vector_width = pack,
                        .items = unroll * pack,
                        .local_bytes = group * unroll * kTilePackBytes + (tree ? group : 1) * tree_bytes});
  plan.prediction.local_bytes = w.local_passes * real(w.rows, w.batch, w.cols) * real(element);
  plan.numbers = {{"piece", tile.rows}};
  define(plan, {{"GROUP", group},
                {"TEAM", tile.team},
                {"UNROLL", unroll},
                {"PACK", pack},
                {"STEP", step},
                {"EACH", each}});
  if (shuffles) define(plan, "SHUFFLES", 1);
  plan.reason = formatted("{} whole row{} in a tile, {} work-item{} of each", tile.rows,
                          tile.rows == 1 ? "" : "s", tile.team, tile.team == 1 ? "" : "s");
  return plan;
}

}  // namespace smem::plan
