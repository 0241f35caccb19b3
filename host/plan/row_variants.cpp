// Plans for operations along rows: where a row is kept between the two times that its elements are needed.
#include "plan/row_variants.hpp"

#include "formatted.hpp"
#include "plan/look_back.hpp"
#include "plan/row_plans.hpp"
#include "plan/rows.hpp"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

namespace smem {

namespace {

using namespace plan;

const char* times_of(const RowWork& w) { return w.naive_readings == 2 ? "twice" : "three times"; }

Attempt naive(const Device& device, const RowWork& w, std::size_t wanted) {
  if (!device.long_loops && w.cols > 20000) return "its loops are shorter than the row";
  const RowPolicy& policy = w.policy;
  const std::size_t group = group_for(device, group_wanted({.work_items = wanted}, policy.naive_group), 0);
  if (group == 0) return no_tile_fits(device);
  Plan plan = base_plan(w, "naive", "naive", real(w.naive_readings));
  set_groups(plan, group, divide_up(results_of(w), group));
  plan.tile_rows = group;
  plan.tile_cols = plan.items_per_work_item = at_least_1(w.cols);
  define(plan, {{"GROUP", group}, {"PACK", 1}});
  plan.reason = formatted("a work-item reads its row {}", times_of(w));
  return plan;
}

/// Work-items of a group that has a row of `packs` packs, some for each.
std::size_t group_of_row(const Device& device, const RowWork& w, std::size_t packs, std::size_t bytes,
                         std::size_t wanted) {
  const RowPolicy& policy = w.policy;
  const std::size_t most = std::clamp(std::bit_ceil(divide_up(packs, policy.packs * 2)),
                                      std::min(policy.group, policy.most_group), policy.most_group);
  return group_for(device, wanted != 0 ? wanted : most, bytes * value_bytes(w));
}

Attempt tiled(const Device& device, const RowWork& w, std::size_t wanted) {
  const auto [pack, packs] = packs_of(w);
  const std::size_t bytes = value_bytes(w);
  const std::size_t group = group_of_row(device, w, packs, w.tree_values, wanted);
  if (group == 0) return no_tile_fits(device);
  const std::size_t scratch = group * w.tree_values * bytes, room = local_room(device);
  const std::size_t most = room > scratch ? (room - scratch) / (pack * bytes) : 0;
  if (packs > most) return formatted("local memory holds {} elements of a row of {}", most * pack, w.cols);
  // Few sizes, so that a program serves several lengths of rows.
  const std::size_t places = std::min(round_up(packs, at_least_1(std::bit_ceil(packs) / 8)), most);
  Plan plan = base_plan(w, "tiled", "tiled", 1);
  set_groups(plan, group, results_of(w));
  plan.tile_cols = places * pack;
  plan.vector_width = pack;
  plan.items_per_work_item = divide_up(packs, group) * pack;
  plan.local_bytes = scratch + places * pack * bytes;
  plan.prediction.local_bytes = w.local_passes * real(w.rows, w.batch, w.cols) * real(bytes);
  define(plan, {{"GROUP", group}, {"PACK", pack}, {"PACKS", places}});
  plan.reason = "the row stays in local memory, so global memory is read once";
  return plan;
}

/// The work-items of a row, with what each of them keeps.
struct Team {
  std::size_t items = 0, unroll = 0;
};
Team team_of(const RowPolicy& policy, std::size_t kept_bytes, std::size_t packs, std::size_t pack_bytes,
             std::size_t usual, std::size_t most) {
  Team team;
  for (const std::size_t kept : {kept_bytes, std::min(kept_bytes, policy.full_kept_bytes)}) {
    const std::size_t limit = at_least_1(kept / pack_bytes);
    team.unroll = std::min(policy.packs, limit);
    const auto items = [&] { return std::bit_ceil(divide_up(packs, team.unroll)); };
    while (items() > usual && team.unroll < limit)
      team.unroll = std::min(2 * team.unroll, limit);
    team.items = items();
    if (team.items < policy.most_group) break;
  }
  if (team.items > most) return {};
  team.unroll = divide_up(packs, team.items);
  return team;
}

/// Registers of a work-item with which a unit has two groups, where the compiler would take more; 0: no
/// limit.
std::size_t registers_of_two(const Device& device, const RowWork& w, std::size_t group, std::size_t pack) {
  if (!has_whole_packs(device, w, pack) || w.has_second_input || w.batch != 1) return 0;
  const std::size_t lot = at_least_1(device.unit.register_lot / at_least_1(device.sub_group_width));
  const std::size_t registers = device.unit.registers / (2 * group) / lot * lot;
  const RowPolicy& policy = w.policy;
  return registers < policy.taken_registers && registers >= policy.fewest_registers ? registers : 0;
}

/// Packs that every work-item of a team has of every row, whose places need no tests: rows begin anywhere,
/// and as many elements as a pack has may stay behind the packs (cl/common/row_ends.clh).
std::size_t full_packs(const RowWork& w, bool whole, const Team& team, std::size_t pack) {
  const std::size_t ends = whole || pack == 1 ? 0 : 2 * pack - 1;
  return std::min((w.cols - std::min(w.cols, ends)) / pack / team.items, team.unroll);
}

/// Groups that load a row while they compute the one before it; 0 where a group for each row is better.
std::size_t loading_groups(const Device& device, const RowWork& w, const Team& team, std::size_t group,
                           std::size_t pack) {
  const RowPolicy& policy = w.policy;
  const bool whole = w.cols % pack == 0 && w.row_alignment >= pack * size_of(w.in);
  const bool has_both = w.weights_are_elements && w.weights_bytes == 2 * size_of(w.in);
  const double bytes = real(results_of(w), w.cols) * (w.element_read + w.element_written);
  if (w.in != Scalar::half || !whole || !has_both || team.unroll != policy.loading_packs ||
      bytes > real(policy.loading_bytes))
    return 0;
  const std::size_t groups = policy.loading_items / group * device.compute_units;
  return results_of(w) >= 2 * groups * (group / team.items) ? groups : 0;
}

Attempt registers(const Device& device, const RowWork& w, std::string_view variant, std::size_t wanted) {
  const bool shuffle = variant == "shuffle";
  if (shuffle && !is_nvidia_gpu(device)) return "needs NVIDIA's shuffle instructions";
  const RowPolicy& policy = w.policy;
  // Elements before and behind whole packs are beside them: see cl/common/row_ends.clh.
  const std::size_t pack = packs_of(w).pack, packs = at_least_1(w.cols / pack);
  const std::size_t bytes = value_bytes(w), tree_bytes = w.tree_values * bytes;
  const std::size_t most =
      group_for(device, group_wanted({.work_items = wanted}, policy.most_group), tree_bytes);
  const std::size_t usual = std::min(policy.kept_group, most);
  if (most == 0 || (shuffle && most % 32 != 0)) return no_tile_fits(device);
  // On CPUs for tests alone: they have a variant of their own.
  const bool holds_raw =
      size_of(w.in) == 2 && !w.has_second_input && (is_nvidia_gpu(device) || runs_cpu_variant(device));
  const std::size_t kept_bytes =
      bytes == sizeof(double) ? std::min(policy.kept_bytes, policy.full_kept_bytes) : policy.kept_bytes;
  Team team = team_of(policy, kept_bytes, packs, pack * (holds_raw ? size_of(w.in) : bytes), usual, most);
  if (team.items == 0)
    return formatted("a row of {} elements needs more registers than {} work-items have", w.cols, most);
  const bool splits = policy.split_packs != 0 && packs >= policy.split_packs && shuffle && wanted == 0 &&
                      w.in == Scalar::half && has_whole_packs(device, w, pack) && team.items == 32 &&
                      team.unroll == 4 && 4 * team.items <= most;
  if (splits) team = {.items = 64, .unroll = 2};
  const std::size_t group = wanted != 0 ? most : std::max(usual, team.items * (splits ? 2 : 1));
  const bool keeps_most = shuffle && team.items == group && w.in == Scalar::float32 &&
                          team.unroll * pack * bytes > policy.full_kept_bytes;
  const std::size_t registers = keeps_most ? registers_of_two(device, w, group, pack) : 0;
  if (registers != 0) team.unroll = policy.kept_bytes / (pack * bytes);  // one program for all of these rows
  const std::size_t loading = holds_raw ? loading_groups(device, w, team, group, pack) : 0;
  const bool whole = loading != 0 || has_whole_packs(device, w, pack);
  Plan plan = base_plan(w, variant, "registers", 1);
  set_groups(plan, group, loading != 0 ? loading : divide_up(results_of(w), group / team.items));
  set_group_tile(plan, {.rows = group / team.items,
                        .cols = team.items * team.unroll * pack,
                        .vector_width = pack,
                        .items = team.unroll * pack,
                        .local_bytes = group * tree_bytes});
  define(plan, {{"GROUP", group}, {"TEAM", team.items}, {"UNROLL", team.unroll}, {"PACK", pack}});
  // Of doubles, ptxas for sm_90 spills 8 bytes with it.
  if (registers == 0 && bytes != sizeof(double)) define(plan, "FULL", full_packs(w, whole, team, pack));
  if (w.guards_partial_groups && results_of(w) % (group / team.items) != 0) define(plan, "PARTIAL_GROUPS", 1);
  if (shuffle) define(plan, "SHUFFLES", 1);
  if (holds_raw) define(plan, "HOLDS_RAW", 1);
  if (!whole && w.row_alignment >= pack * size_of(w.in)) define(plan, "ALIGNED_ROWS", 1);
  if (whole) {
    define(plan, "WHOLE_PACKS", 1);
    const bool is_early = holds_raw ? w.weights_are_elements && w.weights_bytes == size_of(w.in) &&
                                          group <= policy.early_raw_items
                                    : team.unroll <= policy.early_packs && group <= policy.early_items;
    if (w.weights_bytes != 0 && (is_early || loading != 0)) define(plan, "EARLY_WEIGHTS", 1);
    if (loading != 0) define(plan, "LOADS_AHEAD", 1);
  }
  plan.reason =
      formatted("{} work-items keep a row in registers, {} elements each; {}", team.items, team.unroll * pack,
                shuffle ? "warps combine by shuffles" : "trees in local memory combine them");
  if (loading != 0) plan.reason += "; the next row is loaded meanwhile, and weights once";
  if (registers != 0) {
    plan.most_registers = registers;
    define(plan, {{"LIMITS_REGISTERS", 1}, {"ONE_MATRIX", 1}});
    plan.reason += formatted("; at most {} registers, so that a unit has two groups", registers);
  }
  return plan;
}

/// A group of "ahead", and how many run on a unit at once.
struct AheadGroup {
  std::size_t items = 0, packs = 0, bytes = 0, a_unit = 0;

  std::size_t items_at_once(std::size_t wanted) const { return std::min(items * a_unit, wanted); }
};

AheadGroup ahead_group(const Device& device, const RowWork& w, const Packs& row, std::size_t items,
                       bool async) {
  // Few sizes, so that a program serves several lengths of rows.
  AheadGroup group{.items = items, .packs = round_up(row.packs, at_least_1(std::bit_ceil(row.packs) / 32))};
  group.bytes = group.packs * row.pack * size_of(w.in) + (async ? 32 : items) * value_bytes(w);
  constexpr std::size_t kReserved = 1024;  // bytes of each group, which the driver takes
  const std::size_t most = w.policy.ahead_items / items;
  const std::size_t room = (device.local_bytes + kReserved) / (group.bytes + kReserved);
  if (divide_up(group.packs, items) <= w.policy.ahead_each && group.bytes <= local_room(device))
    group.a_unit = std::min(at_least_1(most), room);
  return group;
}

Attempt ahead(const Device& device, const RowWork& w, std::size_t wanted) {
  if (w.has_second_input) return "it copies one input ahead";
  const RowPolicy& policy = w.policy;
  Packs row = packs_of(w);
  const bool async = copies_async(device, w, row.pack);
  // Stores of a group then fill whole lines of memory, wherever its row begins.
  const std::size_t pack_bytes = row.pack * size_of(w.in);
  const bool fills_lines = policy.ahead_line > pack_bytes && w.row_alignment < pack_bytes;
  if (fills_lines) row.packs += policy.ahead_line / pack_bytes - 1;
  AheadGroup best;
  for (std::size_t items = wanted != 0 ? wanted : 128; items <= policy.most_group; items *= 2) {
    if (group_for(device, items, 0) != items) break;
    const AheadGroup group = ahead_group(device, w, row, items, async);
    const std::size_t at_once = group.items_at_once(policy.ahead_items),
                      best_at_once = best.items_at_once(policy.ahead_items);
    if (at_once > best_at_once || (at_once == best_at_once && group.a_unit > best.a_unit)) best = group;
    if (wanted != 0) break;
  }
  if (best.a_unit == 0)
    return formatted("local memory and work-items do not hold a row of {} elements", w.cols);
  Plan plan = base_plan(w, "ahead", "ahead", 1);
  // A group for each row: groups that start as others end read neighbouring rows, where groups with several
  // rows in turn drift apart.
  set_groups(plan, best.items, results_of(w));
  plan.tile_cols = best.packs * row.pack;
  plan.vector_width = row.pack;
  plan.items_per_work_item = divide_up(row.packs, best.items) * row.pack;
  plan.local_bytes = best.bytes;
  plan.prediction.local_bytes = 3 * real(w.rows, w.batch, w.cols) * real(size_of(w.in));
  // Without asynchronous copies, doubles pass through registers besides: with four packs ptxas for sm_75
  // spills 24 bytes.
  const std::size_t most_at_once =
      !async && value_bytes(w) == 8 ? at_least_1(policy.packs / 2) : policy.packs;
  const std::size_t values = size_of(w.in) == 2 ? policy.ahead_halves : policy.ahead_values;
  const std::size_t at_once = fills_lines ? 1 : std::min(most_at_once, at_least_1(values / row.pack));
  define(plan, {{"GROUP", best.items}, {"PACKS", best.packs}, {"PACK", row.pack}, {"AT_ONCE", at_once}});
  if (fills_lines) define(plan, "LINE", policy.ahead_line / size_of(w.in));
  if (has_whole_packs(device, w, row.pack)) define(plan, "WHOLE_PACKS", 1);
  if (async) define(plan, "COPY_ASYNC", 1);
  plan.reason =
      formatted("a row is copied to local memory asynchronously, and counted as it arrives; {} groups a unit",
                best.a_unit);
  return plan;
}

/// Parts of a row: enough to fill the units, of some packs for each work-item.
std::size_t count_parts(const Device& device, const RowWork& w, std::size_t packs, std::size_t group) {
  const RowPolicy& policy = w.policy;
  const std::size_t wanted = divide_up(2 * device.compute_units, at_least_1(results_of(w)));
  const std::size_t most = packs / (group * policy.packs_of_parts);
  return std::clamp<std::size_t>(std::min(wanted, most), 1, policy.most_parts);
}

/// Two readings of a row. `phase`: see online.cl of the operation.
Attempt online(const Device& device, const RowWork& w, std::size_t phase, std::size_t wanted) {
  const RowPolicy& policy = w.policy;
  const auto [pack, packs] = packs_of(w);
  const std::size_t bytes = w.part_values * value_bytes(w);
  const std::size_t group = group_of_row(device, w, phase == 2 ? packs : 1, w.part_values, wanted);
  if (group == 0) return no_tile_fits(device);
  const std::size_t parts = phase == 2 ? 1 : count_parts(device, w, packs, group);
  const bool sums_alone = w.element_written == 0 && phase == 2;
  Plan plan = base_plan(w, phase == 2 ? "online" : "split", "online", phase == 2 && !sums_alone ? 2 : 1);
  if (phase == 0) plan.prediction.bytes_written = real(results_of(w), parts, bytes);
  if (phase == 1 && w.element_written == 0) plan.prediction.bytes_read = 0;
  if (phase == 1) plan.prediction.bytes_read += real(results_of(w), parts, parts) * real(bytes);
  set_groups(plan, group, size_product(results_of(w), parts));
  plan.tile_cols = group * policy.packs * pack;
  plan.vector_width = pack;
  plan.items_per_work_item = policy.packs * pack;
  plan.local_bytes = group * bytes;
  const std::size_t kept = std::min(policy.kept_bytes, policy.full_kept_bytes);
  const std::size_t unroll = at_least_1(std::min(policy.packs, kept / (pack * value_bytes(w))));
  define(plan, {{"GROUP", group}, {"UNROLL", unroll}, {"PACK", pack}, {"PHASE", phase}});
  plan.numbers = {{"parts", parts}};
  plan.reason = phase == 2 ? formatted("{} in one pass over the row; a second pass writes", w.statistics)
                           : formatted("{} groups share a row, and each merges the statistics of all", parts);
  return plan;
}

Attempt split(const Device& device, const RowWork& w, std::size_t wanted) {
  if (results_of(w) > kMaxGroups) return "there are enough rows for all groups";
  Attempt main = online(device, w, 1, wanted);
  if (!main.plan) return main;
  Launch first = *online(device, w, 0, wanted).plan;
  first.variant = "statistics";
  first.reason = formatted("groups write {} of each part", w.statistics);
  const std::size_t parts = main.plan->number("parts");
  main.plan->before.push_back(std::move(first));
  add_scratch(*main.plan, size_product(at_least_1(results_of(w)), parts, w.part_values * value_bytes(w)));
  return main;
}

/// Blocks of rows that are transposed, since a row fills no vector; nothing: local memory holds none.
std::optional<Plan> cpu_short(const Device& device, const RowWork& w, std::size_t lanes) {
  const bool kept = w.cols <= w.policy.kept_cols && results_of(w) >= w.policy.kept_rows;
  const std::size_t most = std::bit_ceil(w.cols), blocks = kept ? 1 : 3;
  if (w.cols == 0 || w.cols > w.policy.short_cols ||
      blocks * lanes * most * value_bytes(w) > local_room(device))
    return std::nullopt;
  Plan plan = base_plan(w, "cpu", "cpu_short", 1);
  set_groups(plan, 1, divide_up(results_of(w), lanes), w.policy.groups_a_unit * device.compute_units);
  plan.tile_rows = plan.vector_width = lanes;
  plan.tile_cols = most;
  plan.items_per_work_item = lanes * w.cols;
  plan.local_bytes = blocks * lanes * most * value_bytes(w);
  define(plan, {{"LANES", lanes}, {"MOST_COLS", most}, {"PACK", lanes}});
  if (kept) define(plan, "COLS", w.cols);
  plan.reason = formatted("a thread has {} short rows at once, transposed in its {}", lanes,
                          kept ? "registers" : "cache");
  return plan;
}

Attempt cpu(const Device& device, const RowWork& w) {
  if (!runs_cpu_variant(device)) return no_cpu_variant(device);
  const RowPolicy& policy = w.policy;
  const std::size_t bytes = value_bytes(w), lanes = policy.lanes_bytes / bytes;
  if (std::optional<Plan> plan = cpu_short(device, w, lanes)) return std::move(*plan);
  const std::size_t most = std::min(policy.tile_bytes, local_room(device)) / (lanes * bytes);
  if (most == 0) return no_tile_fits(device);
  const std::size_t tile = most * lanes;
  Plan plan = base_plan(w, "cpu", "cpu", w.cols > tile && w.element_written != 0 ? 2 : 1);
  set_groups(plan, 1, results_of(w), policy.groups_a_unit * device.compute_units);
  plan.tile_cols = tile;
  plan.vector_width = lanes;
  plan.items_per_work_item = at_least_1(std::min(w.cols, tile));
  if (w.cpu_keeps_values) plan.local_bytes = tile * bytes;
  define(plan, {{"TILE", tile}, {"PACK", lanes}});
  // An Emerald Rapids Xeon made layer_norm of 100000 x 1024 floats at 0.86 of memcpy's rate, and at 1.07 with
  // this; softmax 0.72 and 0.79. Results along columns, in shorter pieces: slower.
  if (device.cache_bytes != 0 && plan.prediction.bytes_written > real(device.cache_bytes))
    define(plan, "STREAMING", 1);
  plan.reason = w.cols > tile ? "a thread merges cached tiles of its row, then reads the row again"
                              : "a thread keeps its row in the cache";
  return plan;
}

/// Whether rows are as long as those that were measured, and more than groups that stay.
bool prefers_persistent(const Device& device, const RowWork& w) {
  const std::size_t least = w.in == Scalar::float64 ? 0 : w.policy.persistent_row_bytes.at(size_of(w.in) / 4);
  if (least == 0 || w.cols * size_of(w.in) < least || results_of(w) <= device.compute_units) return false;
  if (w.weights_bytes == 0) return w.policy.persistent_without_weights && w.element_written != 0;
  // Of floats with weights alone: in parts.
  const bool in_parts = size_product(w.cols, 2 * size_of(w.in)) > device.local_bytes;
  return w.weights_are_elements && (w.in != Scalar::float32 || w.weights_bytes == 8 || in_parts);
}

Attempt variant_of(const Device& device, const RowWork& w, const PlanOverrides& fixed,
                   std::string_view variant) {
  const std::size_t wanted = fixed.work_items;
  if (variant == "naive") return naive(device, w, wanted);
  if (variant == "tiled") return tiled(device, w, wanted);
  if (variant == "short_rows") return short_rows(device, w, wanted);
  if (variant == "online") return online(device, w, 2, wanted);
  if (variant == "split") return split(device, w, wanted);
  if (variant == "ahead") return ahead(device, w, wanted);
  if (variant == "persistent") return persistent_rows(device, w, fixed);
  if (variant == "cooperative") return cooperative_rows(device, w, fixed);
  if (variant == "cpu") return cpu(device, w);
  return registers(device, w, variant, wanted);
}

}  // namespace

std::vector<std::string_view> plan::row_variants() {
  return {"naive",   "online", "split",      "tiled",       "short_rows", "registers",
          "shuffle", "ahead",  "persistent", "cooperative", "cpu"};
}

plan::Attempt plan::plan_row_variant(const Device& device, const RowWork& w, const PlanOverrides& fixed,
                                     std::string_view variant) {
  Attempt attempt = variant_of(device, w, fixed, variant);
  if (attempt.plan && w.out == Scalar::bfloat16 && is_nvidia_gpu(device) && compute_capability(device) >= 80)
    define(*attempt.plan, "PAIRS_BFLOAT16", 1);
  return attempt;
}

std::vector<std::string_view> plan::row_preference(const Device& device, const RowWork& w,
                                                   const PlanOverrides& fixed) {
  if (runs_cpu_variant(device)) return {"cpu", "online", "naive"};
  if (prefers_persistent(device, w)) {
    // Behind it those for rows that it does not hold.
    return {"persistent", "ahead", "cooperative", "shuffle", "registers", "tiled", "online", "naive"};
  }
  const auto [pack, packs] = packs_of(w);
  const RowPolicy& policy = w.policy;
  const std::size_t group = group_of_row(device, w, 1, w.part_values, fixed.work_items);
  const bool shares = policy.shares_long_rows && prefers_look_back(device) && device.ordered_start;
  std::size_t ahead_packs =
      policy.ahead_packs.at(static_cast<std::size_t>(std::bit_width(size_of(w.in))) - 2);
  if (policy.ahead_loose_packs != 0 && !has_whole_packs(device, w, pack))
    ahead_packs = std::min(ahead_packs, policy.ahead_loose_packs);
  const bool is_long = ahead_packs != 0 && packs >= ahead_packs && copies_async(device, w, pack);
  const bool is_held = is_long && w.element_written != 0 && ahead(device, w, fixed.work_items).plan;
  const double few = (is_held ? policy.ahead_rows_a_unit : policy.rows_a_unit) * real(device.compute_units);
  if (real(results_of(w)) < few && group != 0 && count_parts(device, w, packs, group) > 1) {
    if (shares && w.element_written != 0)
      return {"cooperative", "split", "shuffle", "registers", "tiled", "online", "naive"};
    return {"split", "shuffle", "registers", "tiled", "online", "naive"};
  }
  if (is_long) {
    // Those that local memory does not hold.
    if (shares) return {"ahead", "cooperative", "shuffle", "registers", "tiled", "online", "naive"};
    return {"ahead", "shuffle", "registers", "tiled", "online", "naive"};
  }
  const std::size_t most =
      has_whole_packs(device, w, pack) ? policy.tiled_whole_bytes : policy.tiled_row_bytes;
  if (w.cols * size_of(w.in) <= most)
    return {"short_rows", "shuffle", "registers", "tiled", "online", "naive"};
  // Longer rows than registers hold.
  if (ahead_packs != 0 && copies_async(device, w, pack))
    return {"shuffle", "registers", "ahead", "tiled", "online", "naive"};
  return {"shuffle", "registers", "tiled", "online", "naive"};
}

std::string plan::why_not_row_variant(const RowWork& w, std::string_view variant, const Plan& chosen) {
  if (chosen.variant == "short_rows") return "loads of unaligned rows are narrow, or of single elements";
  if (variant == "short_rows") return "rows are aligned, or long enough for their own work-items";
  if (variant == "naive") return formatted("neighbouring work-items read distant elements, {}", times_of(w));
  if (chosen.variant == "cpu") return "a CPU runs work-items that share local memory as loops";
  if (chosen.variant == "persistent") return "it reads weights again for each row";
  if (variant == "persistent") return "for long rows with weights; measured slower, or not at all";
  if (variant == "cooperative") return "groups wait for each other; measured slower, or not at all";
  if (variant == "online" || variant == "split") return "it reads each row twice";
  if (chosen.variant == "ahead" && variant == "tiled") return "it copies rows through registers";
  if (chosen.variant == "ahead") return "elements in registers leave a unit fewer work-items";
  if (variant == "ahead") return "for long rows, on devices that copy to local memory asynchronously";
  if (variant == "tiled") return "registers hold the row, so local memory is not needed";
  return chosen.variant == "split" ? "there are fewer rows than groups that could run"
                                   : "trees in local memory need more barriers than shuffles";
}

}  // namespace smem
