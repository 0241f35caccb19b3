// Plans for rows that groups share: how many of them, and what each holds.
#include "formatted.hpp"
#include "plan/look_back.hpp"
#include "plan/row_plans.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>

namespace smem {

namespace {

using namespace plan;

/// How groups share rows: elements in packs, of which each part has `piece`.
struct Shares {
  std::size_t parts = 0, teams = 0, piece = 0;
};

/// Shares of which a group holds at most `most` packs, in lines of `line` packs: those for which the last
/// group ends first. `each`: packs in whose time a group passes from row to row.
Shares share_rows(std::size_t rows, std::size_t packs, std::size_t line, std::size_t most,
                  std::size_t most_parts, std::size_t at_once, std::size_t each) {
  Shares best;
  double least = 0;
  for (std::size_t wanted = divide_up(packs, most); wanted <= most_parts; ++wanted) {
    // Few sizes, so that a program serves several lengths of rows.
    const std::size_t even = divide_up(packs, wanted);
    const std::size_t piece =
        std::min(round_up(round_up(even, at_least_1(std::bit_ceil(even) / 32)), line), most);
    const std::size_t parts = divide_up(packs, piece);
    const std::size_t teams = std::clamp<std::size_t>(at_once / parts, 1, at_least_1(rows));
    const double time = real(divide_up(at_least_1(rows), teams)) * real(piece + each);
    if (best.parts == 0 || time < least) best = {parts, teams, piece}, least = time;
    if (wanted >= at_once) break;
  }
  return best;
}

/// The groups of "cooperative": their packs are counted in lines.
struct CooperativeGroup {
  std::size_t items = 0, a_unit = 0, stages = 0, line = 1;
  std::size_t most_parts = 0, most = 0;  ///< of a row, and packs of a part
  std::size_t beside = 0, each = 0;      ///< bytes of local memory, beside a part and for each of its packs
  bool async = false, aligned = false;
};

/// Packs of a part, of as many groups at once as `group` says.
std::size_t packs_beside(const Device& device, const CooperativeGroup& group) {
  constexpr std::size_t kReserved = 1024;  // bytes of each group, which the driver takes
  const std::size_t share = (device.local_bytes + kReserved) / group.a_unit,
                    room = std::min(share - std::min(share, kReserved), local_room(device));
  return room > group.beside ? (room - group.beside) / group.each / group.line * group.line : 0;
}

CooperativeGroup cooperative_group(const Device& device, const RowWork& w, std::size_t pack,
                                   const PlanOverrides& fixed) {
  const RowPolicy& policy = w.policy;
  const std::size_t pack_bytes = pack * size_of(w.in), bytes = value_bytes(w);
  // Doubles take twice the registers.
  const std::size_t items_at_once = policy.ahead_items * sizeof(float) / bytes;
  CooperativeGroup group;
  const std::size_t items = size_of(w.in) == 2 ? policy.cooperative_narrow_items : policy.cooperative_items;
  group.items = group_for(device, group_wanted(fixed, std::min(items, items_at_once)), 2 * bytes);
  if (group.items == 0) return group;
  group.async = copies_async(device, w, pack) && group.items % 32 == 0 && group.items > 32;
  group.aligned = w.row_alignment >= pack_bytes;
  // Stores of a group fill whole lines of memory, wherever its row begins.
  if (!group.aligned) group.line = at_least_1(policy.cooperative_line / pack_bytes);
  // More rows than local memory has packs do not fit either.
  group.stages = fixed.tile_rows != 0
                     ? std::clamp<std::size_t>(fixed.tile_rows, 2, device.local_bytes / pack_bytes + 2)
                     : policy.cooperative_stages;
  group.most_parts = std::min(policy.cooperative_parts, group.items);
  // Statistics of warps or work-items, what finishes a row, statistics of parts, and which are late.
  group.beside = round_up(
      ((group.async ? 32 * w.part_values : group.items) + 4 + group.most_parts * w.published_values) * bytes +
          (group.most_parts + 1) * sizeof(std::uint32_t) + (group.line + 1) * pack * w.weights_bytes + bytes,
      16);
  group.each = group.stages * pack_bytes + pack * w.weights_bytes;
  group.a_unit = at_least_1(items_at_once / group.items);
  group.most = packs_beside(device, group);
  while (group.a_unit > 1 && group.most < group.items)
    group.a_unit /= 2, group.most = packs_beside(device, group);
  return group;
}

}  // namespace

plan::Attempt plan::cooperative_rows(const Device& device, const RowWork& w, const PlanOverrides& fixed) {
  if (!can_look_back(device)) return kCannotPublish;
  if (w.has_second_input) return "it copies one input ahead";
  const RowPolicy& policy = w.policy;
  Packs row = packs_of(w);
  CooperativeGroup group = cooperative_group(device, w, row.pack, fixed);
  row.packs += group.line - 1;
  if (group.most == 0) return no_tile_fits(device);
  if (fixed.tile_cols != 0) {
    if (fixed.tile_cols > group.most * row.pack)
      return formatted("local memory holds parts of {} elements", group.most * row.pack);
    group.most = round_up(divide_up(fixed.tile_cols, row.pack), group.line);
  }
  const auto share = [&] {
    return share_rows(results_of(w), row.packs, group.line, group.most, group.most_parts,
                      group.a_unit * device.compute_units, group.items);
  };
  Shares shares = share();
  // Fewer groups at once have longer parts.
  while (shares.parts == 0 && group.a_unit > 1 && fixed.tile_cols == 0) {
    group.a_unit /= 2;
    group.most = packs_beside(device, group);
    shares = share();
  }
  if (shares.parts == 0)
    return formatted("a row has more than {} parts of {} elements", group.most_parts, group.most * row.pack);
  Plan plan = base_plan(w, "cooperative", "cooperative", 1);
  set_groups(plan, group.items, size_product(shares.teams, shares.parts));
  set_group_tile(plan, {.rows = group.stages,
                        .cols = shares.piece * row.pack,
                        .vector_width = row.pack,
                        .items = divide_up(shares.piece, group.items) * row.pack,
                        .local_bytes = group.beside + shares.piece * group.each});
  plan.prediction.local_bytes = 3 * real(w.rows, w.batch, w.cols) * real(size_of(w.in));
  plan.numbers = {{"parts", shares.parts}, {"groups_a_unit", group.a_unit}};
  // Of doubles, ptxas for sm_90 spills 132 bytes where two packs are under way.
  const std::size_t values =
      value_bytes(w) == sizeof(double) ? RowPolicy().cooperative_values : policy.cooperative_values;
  const std::size_t at_once = group.aligned ? at_least_1(values / row.pack) : 1;
  define(plan, {{"GROUP", group.items},
                {"PACKS", shares.piece},
                {"PACK", row.pack},
                {"AT_ONCE", at_once},
                {"LINE", group.line * row.pack},
                {"STAGES", group.stages},
                {"MOST_PARTS", group.most_parts},
                {"DEVICE_FENCE", device_fence(device)},
                {"POLL_LIMIT", std::min(device.poll_limit, look_back_policy(device).polls)}});
  if (w.batch == 1) define(plan, "ONE_MATRIX", 1);
  if (group.aligned) define(plan, "ALIGNED_ROWS", 1);
  if (has_whole_packs(device, w, row.pack)) define(plan, "WHOLE_PACKS", 1);
  if (group.async) define(plan, "COPY_ASYNC", 1);
  if (shares.parts == 1) {
    plan.reason = formatted("a group has {} rows in local memory: one is copied while another is written",
                            group.stages);
    return plan;
  }
  // Words of 8 bytes, each with 4 of a value; those of a row in lines of 128 bytes.
  const std::size_t status_bytes = 2 * w.published_values * value_bytes(w);
  const std::size_t bytes = size_product(results_of(w), round_up(shares.parts * status_bytes, 128));
  add_scratch(plan, bytes, bytes);
  plan.scratch.back().statuses = kRowStatuses;
  // Polls are served by caches.
  const double published = real(results_of(w), shares.parts, status_bytes);
  plan.prediction.bytes_read += published;
  plan.prediction.bytes_written += published;
  plan.reason = formatted(
      "{} groups share a row: each has its part of {} rows in local memory, and waits for "
      "{} of the others",
      shares.parts, group.stages, w.statistics);
  return plan;
}

}  // namespace smem
