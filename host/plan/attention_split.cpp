// Plans of attention that split keys, for few queries: see cl/attention/split_keys.cl and
// cl/nvidia/attention/split_mma.cl.
#include "plan/attention_variants.hpp"

#include "formatted.hpp"
#include "plan/attention_checks.hpp"
#include "plan/attention_policy.hpp"
#include "plan/matrix_unit.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <string>
#include <utility>

namespace smem::plan::attention {

namespace {

constexpr std::size_t kMostCounted = kSharedCounters / 4;  // work-groups, each of which has a counter

/// The sizes that the kernel is compiled with.
struct Split {
  std::size_t pack, group, team, rows, keys_each, stages = 0;

  Split(const Device& device, const AttentionSplit& policy, const AttentionProblem& p, std::size_t wanted)
      : pack(std::min(policy.most_pack, 16 / size_of(p.in))),
        group(wanted),
        rows(std::min(policy.most_rows, std::bit_ceil(at_least_1(p.queries * sharing(p))))),
        keys_each(policy.keys_each) {
    while (pack > 1 &&
           (p.head_size % pack != 0 || p.value_size % pack != 0 || p.alignment < pack * size_of(p.in)))
      pack /= 2;
    const std::size_t packs = divide_up(std::max(p.head_size, p.value_size), pack);
    team = std::clamp<std::size_t>(std::bit_ceil(packs), 8, 32);
    while (rows > 1 && rows * round_up(p.value_size, team * pack) / team > policy.most_sums)
      rows /= 2;
    if (is_nvidia_gpu(device) && compute_capability(device) >= 80 && pack * size_of(p.in) == 16)
      stages = policy.stages;
  }

  std::size_t teams() const { return group / team; }
  std::size_t turn() const { return teams() * keys_each; }
  /// Of local memory, as the kernel's arrays take it. `flags`: bytes of those that not all plans have.
  std::size_t bytes(const AttentionProblem& p, std::size_t flags) const {
    const std::size_t width = team * pack, logits = keys_each * rows;
    const std::size_t parts = teams() * (logits * (team + 4) + 16);
    const std::size_t sums = teams() * round_up(p.value_size, width);
    const std::size_t staged = stages * keys_each * group * 16 / sizeof(float) *
                               (divide_up(p.head_size, width) + divide_up(p.value_size, width));
    const std::size_t lists = p.ragged || p.key_lengths ? group : 0;
    return (rows * round_up(p.head_size, width) + std::max(parts, sums) + teams() * (logits + 2 * rows) +
            lists + staged) *
               sizeof(float) +
           flags;
  }
};

/// Floats of partial sums of a tile, as cl/attention/split.clh counts them.
std::size_t slot_of(const AttentionProblem& p, std::size_t rows) {
  return round_up(rows * (round_up(p.value_size, 4) + 2), 32);
}

}  // namespace

bool is_for_split_keys(const Device& device, const AttentionProblem& p) {
  const AttentionSplit& policy = attention_policy(device).split;
  // Of a ragged batch, most sequences have few queries.
  const std::size_t queries = p.ragged ? divide_up(p.queries, at_least_1(p.batch)) : p.queries;
  const std::size_t keys = p.ragged && !p.paged ? p.keys / at_least_1(p.batch) : p.keys;
  return queries * sharing(p) <= policy.chosen_rows && keys >= policy.chosen_keys;
}

namespace {

/// What plans that split keys share: tiles of `rows`, in groups of `group`, of which a unit has `a_unit`; and
/// chunks of `keys`, unless they are fixed.
Attempt plan_of_chunks(const Device& device, const AttentionProblem& p, const PlanOverrides& fixed,
                       std::string_view variant, const char* file, std::size_t rows, std::size_t group,
                       std::size_t a_unit, std::size_t keys) {
  if (fixed.tile_rows != 0 && fixed.tile_rows != rows) return formatted("its tiles have {} rows", rows);
  const std::size_t chunk = std::min(fixed.tile_cols != 0 ? fixed.tile_cols : keys, kMostTokens);
  const std::size_t tiles = at_least_1(count_tiles(p, rows, sharing(p)));
  const std::size_t chunks = at_least_1(divide_up(p.keys, chunk));
  const double all = real(tiles, chunks, p.kv_heads, p.ragged ? 1 : p.batch);
  if (all >= 0x1p32) return formatted("{} chunks are more than it counts", all);
  const std::size_t most =
      std::min(static_cast<std::size_t>(all), device_fence(device) != 0 ? kMostCounted : kMaxTiles);
  Plan plan = base_plan(p, variant, file, formatted("attention_{}", variant).c_str());
  set_groups(plan, group, std::min(a_unit * device.compute_units, most));
  plan.numbers = {{"tiles", tiles}, {"chunk", chunk}};
  plan.tile_rows = rows;
  plan.tile_cols = chunk;
  const double read = real(p.kv_heads, p.ragged ? 1 : p.batch) * real(p.keys) * real(tiles - 1);
  if (!p.ragged) plan.prediction.bytes_read += read * real(p.head_size + p.value_size) * real(size_of(p.in));
  define(plan, {{"GROUP", group}, {"ROWS", rows}});
  add_scratch(plan, 2 * plan.groups() * slot_of(p, rows) * sizeof(float));
  return plan;
}

}  // namespace

Attempt split_keys(const Device& device, const AttentionProblem& p, const PlanOverrides& fixed) {
  const AttentionSplit& policy = attention_policy(device).split;
  const std::size_t flags = 16;  // with its alignment
  Split split(device, policy, p, group_wanted(fixed, policy.group));
  split.group = std::max(split.group, split.team);
  while (split.bytes(p, flags) > local_room(device) || group_for(device, split.group, 0) != split.group) {
    if (split.stages > 0) {
      split.stages = split.stages > 2 ? split.stages - 1 : 0;
    } else if (split.group > split.team) {
      split.group /= 2;
    } else if (split.keys_each > 1) {
      split.keys_each /= 2;
    } else {
      return no_tile_fits(device);
    }
  }
  Attempt made = plan_of_chunks(device, p, fixed, "split_keys", "attention/split_keys.cl", split.rows,
                                split.group, policy.groups_a_unit[split.rows > 4 ? 1 : 0], policy.chunk);
  if (!made.plan) return made;
  Plan& plan = *made.plan;
  plan.vector_width = split.pack;
  plan.items_per_work_item = split.pack * split.keys_each;
  plan.local_bytes = split.bytes(p, flags);
  define(plan, {{"TEAM", split.team}, {"KEYS_EACH", split.keys_each}, {"PACK", split.pack}});
  if (is_nvidia_gpu(device))
    define(plan, {{"WARP_TEAMS", split.group % 32 == 0 ? 1 : 0}, {"STAGES", split.stages}});
  define_sub_group(device, plan);
  if (device_fence(device) != 0) {
    plan.counters = true;
    define(plan, {{"ONE_LAUNCH", 1}, {"DEVICE_FENCE", device_fence(device)}});
  } else {
    Launch combine = plan;
    combine.variant = "combine";
    combine.entry_point = "attention_combine";
    combine.reason = "a work-group combines the partial sums of a tile";
    combine.prediction = {};
    combine.prediction.bytes_read = real(plan.scratch_bytes) / 2;
    combine.local_bytes = (p.ragged || p.key_lengths ? split.group : 0) * sizeof(float);
    plan.after.push_back(std::move(combine));
  }
  plan.reason = formatted(
      "{} rows share each key that is read; groups get equal ranges of the chunks of {} keys, with {} keys "
      "in flight; reads bound it",
      split.rows, plan.tile_cols, split.turn());
  return made;
}

namespace {

/// The sizes that cl/nvidia/attention/split_mma.cl is compiled with.
struct SplitMma {
  static constexpr std::size_t kPadding =
      1024;  ///< before the ring, which is aligned, by any order of arrays
  std::size_t rows, group, stages, keys_each;

  std::size_t warps() const { return group / 32; }
  std::size_t bytes(const AttentionProblem& p) const {
    const std::size_t turn = warps() * 16 * keys_each;
    const std::size_t vectors = (round_up(p.head_size, 64) + round_up(p.value_size, 64)) * size_of(p.in);
    const std::size_t lists = p.ragged || p.key_lengths ? group : 0;
    const std::size_t sums = warps() * (rows * (round_up(p.value_size, 16) + 4) + 2 * 2 * 8);
    return stages * turn * vectors + (sums + lists) * sizeof(float) + 16;  // and a flag
  }
  /// Groups that a unit's local memory holds at once.
  std::size_t groups_a_unit(const Device& device, const AttentionProblem& p) const {
    constexpr std::size_t kReserved = 1024;  // bytes of each group, which the driver takes
    return at_least_1((device.local_bytes + kReserved) / (bytes(p) + kPadding + kReserved));
  }
};

/// Whether groups are large ones: tiles are so few that many units share each, and all have the same keys.
bool has_few_tiles(const Device& device, const AttentionProblem& p, std::size_t rows) {
  const std::size_t tiles = count_tiles(p, rows, sharing(p)) * p.kv_heads * p.batch;
  return !p.ragged && !p.key_lengths &&
         tiles * attention_policy(device).split.mma_units_a_tile <= device.compute_units;
}

/// Whether each tile is a group's own, where all run at once: none waits for others to combine sums. Groups
/// then have as many warps, up to those of `split`, as leave room for all tiles.
bool gives_whole_tiles(const Device& device, const AttentionProblem& p, SplitMma& split) {
  const std::size_t tiles = count_tiles(p, split.rows, sharing(p)) * p.kv_heads * p.batch;
  const AttentionSplit& policy = attention_policy(device).split;
  if (p.ragged || p.key_lengths || tiles < policy.mma_whole_tiles_a_unit * device.compute_units) return false;
  SplitMma smaller = split;
  while (smaller.group > 32 * policy.mma_whole_warps &&
         smaller.groups_a_unit(device, p) * device.compute_units < tiles)
    smaller.group -= 32;
  if (smaller.groups_a_unit(device, p) * device.compute_units < tiles) return false;
  split = smaller;
  return true;
}

}  // namespace

Attempt split_mma(const Device& device, const AttentionProblem& p, const PlanOverrides& fixed) {
  if (!is_nvidia_gpu(device) || compute_capability(device) < 80)
    return "needs matrix units of sm_80 or later";
  if (std::string reason = no_vectors_of_units(p); !reason.empty()) return reason;
  const AttentionSplit& policy = attention_policy(device).split;
  SplitMma split{.rows = std::min<std::size_t>(8, std::bit_ceil(at_least_1(p.queries * sharing(p)))),
                 .group = group_wanted(fixed, policy.mma_group),
                 .stages = policy.mma_stages,
                 .keys_each = policy.mma_keys_each};
  const bool few = fixed.work_items == 0 && has_few_tiles(device, p, split.rows);
  if (few) split.group = policy.mma_large_group, split.stages = policy.mma_large_stages;
  if (split.group % 32 != 0) return "its work-groups have whole warps";
  while (split.bytes(p) + SplitMma::kPadding > device.local_bytes ||
         group_for(device, split.group, 0) != split.group) {
    if (split.stages > 2) {
      --split.stages;
    } else if (split.keys_each > 1) {
      split.keys_each /= 2;
    } else if (split.group > 32) {
      split.group /= 2;
    } else {
      return no_tile_fits(device);
    }
  }
  const bool whole = fixed.work_items == 0 && fixed.tile_cols == 0 && gives_whole_tiles(device, p, split);
  const std::size_t at_once = split.groups_a_unit(device, p);
  Attempt made = plan_of_chunks(
      device, p, fixed, "split_mma", "nvidia/attention/split_mma.cl", split.rows, split.group,
      whole || few ? at_once : std::min(policy.mma_groups_a_unit, at_once), whole ? p.keys : policy.chunk);
  if (!made.plan) return made;
  Plan& plan = *made.plan;
  plan.vector_width = 8;
  plan.items_per_work_item = 8 * 16 * split.keys_each / 32;
  plan.local_bytes = split.bytes(p) + SplitMma::kPadding;
  plan.counters = true;
  count_for_matrix_units(plan.prediction);
  define(plan,
         {{"KEYS_EACH", split.keys_each}, {"STAGES", split.stages}, {"DEVICE_FENCE", device_fence(device)}});
  plan.reason = formatted(
      "matrix units multiply {} rows by each key that is read; {}, {} stages of {} keys a warp; reads bound "
      "it",
      split.rows,
      whole ? "each tile is a group's own, as all of them run at once"
            : formatted("groups get equal ranges of the chunks of {} keys", plan.tile_cols),
      split.stages, 16 * split.keys_each);
  return made;
}

}  // namespace smem::plan::attention
