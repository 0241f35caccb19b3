// Plans of attention by Hopper's matrix units: see cl/nvidia/attention/wgmma.cl.
#include "plan/attention_variants.hpp"

#include "formatted.hpp"
#include "plan/attention_checks.hpp"
#include "plan/attention_policy.hpp"
#include "plan/matrix_unit.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>

namespace smem::plan::attention {

namespace {

// Multiply-adds of half a clock, of an SM of an H100: its data sheet.
constexpr double kUnitSm90 = 2048;

constexpr std::size_t kMaps = 256;  // bytes of a group's tensor maps

/// The sizes that the kernel is compiled with.
struct Wgmma {
  AttentionWgmma tile;
  std::size_t keys;
  std::size_t parts = 1;  ///< groups that share the keys of a tile
  bool turns = false;
  bool boxes = false;  ///< keys and values by tensor maps

  std::size_t of_queries(const AttentionProblem& p) const { return tile.rows() * unit_pitch(p.head_size); }
  std::size_t bytes(const AttentionProblem& p) const {
    // Maps count before it is known whether copies are boxes.
    const std::size_t stage = keys * unit_pitch(std::max(p.head_size, p.value_size)) + 16;
    return of_queries(p) * (turns ? 2 : 1) + tile.stages * stage + (parts > 1 ? 8 : 0) + kMaps;
  }
};

constexpr std::size_t kMostStages = 6;

/// Keys of a tile, at most: fewer where ptxas would spill. Of heads of at most 64, tiles that a window hides
/// in part take as long as others. With a bias, a multiple of 32.
std::size_t most_keys(const AttentionWgmma& tile, const AttentionProblem& p) {
  const std::size_t larger = std::max(p.head_size, p.value_size);
  const bool is_whole = p.head_size % 16 == 0 && p.value_size % 16 == 0;
  bool has_fewer = p.soft_cap && (p.slopes || p.ragged || p.paged);
  has_fewer |= (p.soft_cap || p.slopes) && larger > 160;
  has_fewer |= p.bias && (p.soft_cap || p.slopes || p.left_limit || larger > 128);
  if (p.left_limit)
    has_fewer |= !is_whole || larger <= 64 || larger > 160 || ((p.ragged || p.paged) && larger != 128);
  if (has_fewer) return std::min(tile.keys, tile.most_keys);
  if (p.bias && larger > 64 && (p.right_limit || p.key_lengths)) return 96;
  return p.soft_cap && (p.right_limit || p.left_limit) ? std::min<std::size_t>(tile.keys, 112) : tile.keys;
}

/// Keys of a tile: of short sequences as many as leave the fewest beyond the last one.
std::size_t keys_of(const AttentionPolicy& policy, const AttentionWgmma& tile, const AttentionProblem& p) {
  const std::size_t most = most_keys(tile, p);
  if (most != 128 || p.keys > policy.wgmma_short_keys || p.ragged || p.key_lengths || p.bias) return most;
  const auto cost = [&](std::size_t keys) {
    return divide_up(p.keys, keys) * (keys + policy.wgmma_keys_a_tile);
  };
  std::size_t best = most;
  for (const std::size_t keys : {112, 96, 80})
    if (cost(keys) < cost(best)) best = keys;
  return best;
}

/// Whether groups take turns at tiles, each of which has keys.
bool takes_turns(const Device& device, const AttentionProblem& p) {
  const AttentionPolicy& policy = attention_policy(device);
  const bool is_plain = !(p.left_limit || p.soft_cap || p.bias || p.ragged || p.paged);
  if (p.slopes && std::max(p.head_size, p.value_size) > 128) return false;
  if (!is_plain || p.key_lengths || p.keys == 0 || (p.right_limit && p.keys < p.queries)) return false;
  if (p.head_size % 16 != 0 || p.value_size % 16 != 0) return false;  // ptxas spills
  const bool is_large = std::max(p.head_size, p.value_size) > 64;
  if (p.right_limit)
    return p.keys <= (is_large ? policy.causal_turns_keys_of_large : policy.causal_turns_keys);
  const bool fills_blocks = p.head_size % 64 == 0 && p.value_size % 64 == 0;
  return p.keys <= policy.turns_keys / (fills_blocks ? 1 : 2);
}

/// Whether three warpgroups multiply: where waves of their groups take less time than those of two.
bool has_three(const Device& device, const AttentionProblem& p) {
  const AttentionPolicy& policy = attention_policy(device);
  const bool is_plain = !(p.left_limit || p.right_limit || p.soft_cap || p.bias || p.slopes || p.paged);
  if (!is_plain || p.ragged || p.key_lengths || p.keys <= policy.turns_keys) return false;
  const auto waves = [&](const AttentionWgmma& tile) {
    const std::size_t tiles = count_tiles(p, tile.rows(), sharing(p)) * p.kv_heads * p.batch;
    return real(divide_up(tiles, device.compute_units), tile.consumers);
  };
  return std::max(p.head_size, p.value_size) <= policy.wgmma_of_three.most_size &&
         waves(policy.wgmma_of_three) * policy.wgmma_three < waves(policy.wgmma.front());
}

/// Where tiles are fewer than units: warpgroups that multiply, one or `made`'s, and groups that share the
/// keys of a tile, for the shortest time.
void share_keys(const Device& device, const AttentionProblem& p, Wgmma& made) {
  const AttentionPolicy& policy = attention_policy(device);
  const std::size_t row_tiles = divide_up(p.keys, made.keys), most = made.tile.consumers;
  const bool can_share = !p.left_limit && device_fence(device) != 0;
  double least = std::numeric_limits<double>::infinity();
  if (p.ragged) return;
  for (const std::size_t consumers : {most, std::size_t{1}}) {
    const std::size_t tiles = count_tiles(p, 64 * consumers, sharing(p)) * p.kv_heads * p.batch;
    const bool is_one_row = p.queries * sharing(p) <= 64;
    if (tiles > device.compute_units && !is_one_row) continue;
    const std::size_t parts =
        can_share ? std::clamp<std::size_t>(device.compute_units / at_least_1(tiles), 1, row_tiles) : 1;
    for (std::size_t n = 1; n <= parts; ++n) {
      const double time = real(divide_up(row_tiles, n)) * (consumers == 1 ? policy.wgmma_one_consumer : 1) +
                          (n > 1 ? policy.wgmma_shared + policy.wgmma_part * real(n) : 0);
      if (time >= least) continue;
      least = time;
      made.tile.consumers = consumers;
      made.parts = n;
    }
  }
}

/// With what tiles leave of local memory: more tiles on their way for a single warpgroup that multiplies, or
/// the queries of a second tile for groups that take turns.
void fill_memory(const Device& device, const AttentionProblem& p, Wgmma& made) {
  if (made.tile.consumers == 1) {
    if (std::max(p.head_size, p.value_size) > 128) made.keys = std::min(made.keys, made.tile.most_keys);
    Wgmma more = made;
    for (; more.bytes(p) <= device.local_bytes && more.tile.stages <= kMostStages; ++more.tile.stages)
      made = more;
  }
  const std::size_t tiles = count_tiles(p, made.tile.rows(), sharing(p)) * p.kv_heads * p.batch;
  if (made.parts > 1 || tiles <= device.compute_units || !takes_turns(device, p)) return;
  Wgmma turning = made;
  turning.turns = true;
  if (turning.bytes(p) > device.local_bytes) turning.keys = std::min(made.keys, made.tile.most_keys);
  if (turning.bytes(p) <= device.local_bytes) made = turning;
}

/// Whether a work-item of each group copies keys and values as boxes. Maps have the same keys for all
/// sequences, in their order.
bool copies_boxes(const Device& device, const AttentionProblem& p, const Wgmma& made) {
  if (p.bias || p.ragged || p.paged || p.key_lengths || made.parts > 1) return false;
  const std::size_t tiles = count_tiles(p, made.tile.rows(), sharing(p)) * p.kv_heads * p.batch;
  const std::size_t of_group = made.turns ? tiles / device.compute_units : 1;
  return of_group * divide_up(p.keys, made.keys) >= attention_policy(device).wgmma_boxes;
}

}  // namespace

Attempt wgmma(const Device& device, const AttentionProblem& p) {
  if (!device.retargeting)
    return "needs Hopper's matrix units, and a driver that loads programs retargeted for them";
  if (std::string reason = no_vectors_of_units(p); !reason.empty()) return reason;
  const AttentionPolicy& policy = attention_policy(device);
  for (const AttentionWgmma& row : policy.wgmma) {
    Wgmma made{.tile = row, .keys = keys_of(policy, row, p)};
    if (std::max(p.head_size, p.value_size) > row.most_size) continue;
    share_keys(device, p, made);
    if (has_three(device, p)) made = {.tile = policy.wgmma_of_three, .keys = policy.wgmma_of_three.keys};
    fill_memory(device, p, made);
    made.boxes = copies_boxes(device, p, made);
    if (made.bytes(p) > device.local_bytes || made.tile.group() > device.max_work_group) continue;
    const AttentionWgmma& tile = made.tile;
    Plan plan = base_plan(p, "wgmma", "nvidia/attention/wgmma.cl", "attention_wgmma");
    count_for_matrix_units(plan.prediction);
    if (std::string reason = set_tiles(plan, p, tile.rows(), tile.group()); !reason.empty()) return reason;
    plan.target = "sm_90a";
    plan.tile_cols = made.keys;
    plan.vector_width = 8;
    plan.items_per_work_item = tile.rows() * made.keys / (tile.group() - 128);
    plan.local_bytes = made.bytes(p);
    define(plan, {{"CONSUMERS", tile.consumers},
                  {"TILE_N", made.keys},
                  {"STAGES", tile.stages},
                  {"PRODUCER_REGISTERS", tile.producer_registers},
                  {"CONSUMER_REGISTERS", tile.consumer_registers()},
                  {"OUT_VECTOR", results_at_once(p)}});
    if (p.heads == p.kv_heads) define(plan, "GROUPED", 0);
    if (made.parts > 1) {
      define(plan, {{"PARTS", 1}, {"DEVICE_FENCE", device_fence(device)}});
      set_groups(plan, tile.group(), plan.groups() * made.parts);
      plan.numbers.emplace_back("parts", made.parts);
      plan.counters = true;
      // Of each work-item that multiplies: sums, and the largest logits and sums of weights of two rows.
      const std::size_t numbers = round_up(std::max<std::size_t>(p.value_size, 64), 64) / 2 + 4;
      add_scratch(plan, plan.groups() * 128 * tile.consumers * numbers * sizeof(float));
    }
    if (made.turns) {
      define(plan, "TURNS", 1);
      set_groups(plan, tile.group(), std::min(device.compute_units, plan.groups()));
    }
    if (made.boxes) {
      define(plan, "TENSOR", 1);
      add_scratch(plan, plan.groups() * kMaps);
      plan.numbers.emplace_back("maps_area", plan.scratch.size());
    }
    // The units read queries, keys and values of each 64 rows in local memory.
    plan.prediction.local_bytes =
        attention_pairs(p) * 2 *
        (real(p.head_size) * (1.0 / 64 + 1 / real(made.keys)) + real(p.value_size) / 64);
    plan.reason = formatted(
        "{} warpgroups of 64 rows, {} registers a work-item, loop over tiles of {} keys, which another "
        "warpgroup copies{}, {} on their way; weights stay in registers{}{}; {}",
        tile.consumers, tile.consumer_registers(), made.keys, made.boxes ? " by tensor maps" : "",
        tile.stages, made.turns ? "; the next tile's queries come while this one's are multiplied" : "",
        made.parts > 1 ? formatted("; {} groups share the keys of a tile", made.parts) : "",
        unit_bound(p, kUnitSm90));
    return plan;
  }
  return no_tile_fits(device);
}

}  // namespace smem::plan::attention
