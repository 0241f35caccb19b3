// Tiles of sorts in local memory: what fits a device.
#include "plan/sort_tiles.hpp"

#include "plan/ballots.hpp"
#include "plan/sizes.hpp"
#include "plan/sort_policy.hpp"

#include <algorithm>
#include <bit>

namespace smem::plan {

namespace {

/// Whether values are numbers that pass through local memory; others are read where they end up.
bool carries_values(const SortProblem& problem) {
  return problem.value_bytes <= 8 && std::has_single_bit(problem.value_bytes);
}

std::size_t area_bytes(const SortProblem& problem, const TileSizes& sizes, std::size_t carried) {
  const std::size_t counters =
      sizes.group / sizes.lanes * sizes.radix() * (sizes.warps || sizes.ballots ? 4 : 12);
  if (sizes.ahead) {
    const std::size_t keys = round_up(std::max(counters, sizes.tile() * size_of(problem.keys)), 8);
    return round_up(keys + sizes.tile() * (carried + 2), 8);
  }
  const std::size_t moved = std::max(size_of(problem.keys), carried);
  return round_up(std::max(counters, sizes.tile() * moved), 8);
}

/// Where the policy has the tiles of what passes through local memory.
std::size_t policy_place(const SortProblem& problem) {
  const std::size_t carried = std::min<std::size_t>(carried_bytes(problem), 8);
  return static_cast<std::size_t>(std::countr_zero(std::max(size_of(problem.keys), carried)));
}

/// Of a tile: the caller's, or `usual`.
std::size_t items_of(const PlanOverrides& fixed, std::size_t group, std::size_t usual) {
  return fixed.tile_cols != 0 ? at_least_1(fixed.tile_cols / group) : usual;
}

}  // namespace

std::size_t carried_bytes(const SortProblem& problem) {
  if (problem.payload == SortPayload::none) return 0;
  return carries_values(problem) ? problem.value_bytes : 2;
}

SortPasses passes_of(const SortProblem& problem, std::size_t radix_bits) {
  const std::size_t bits = problem.end_bit - problem.begin_bit;
  SortPasses passes;
  passes.count = std::max<std::size_t>(divide_up(bits, radix_bits), 1);
  // In place the first pass writes temporary memory, and the last one must not.
  if (problem.in_place && passes.count % 2 == 1) ++passes.count;
  passes.bits = std::max<std::size_t>(divide_up(bits, passes.count), 1);
  return passes;
}

void define_keys(Launch& launch, const SortProblem& problem, bool moves) {
  define_order(launch, problem.keys, key_order(problem));
  if (is_wide(problem)) define(launch, "WIDE", 1);
  if (!moves || problem.payload == SortPayload::none) return;
  define(launch, "VALUES", problem.payload == SortPayload::values ? 1 : 2);
  define(launch, "VALUE_BYTES", problem.value_bytes);
  const std::size_t part = std::size_t{1} << std::countr_zero(problem.value_bytes | 8);
  launch.text_defines.emplace_back("VALUE", word_of(part));
  define(launch, "VALUE_PARTS", problem.value_bytes / part);
  if (!carries_values(problem)) define(launch, "GATHER", 1);
}

std::size_t tile_local_bytes(const SortProblem& problem, const TileSizes& sizes, std::size_t carried) {
  return area_bytes(problem, sizes, carried) + sizes.radix() * (3 * count_bytes(problem) + 4) + kSortWords;
}

void set_teams(const Device& device, TileSizes& sizes) {
  sizes.warps =
      is_nvidia_gpu(device) && sizes.group % 32 == 0 && sizes.group >= sizes.radix() && sizes.radix_bits >= 5;
  const std::size_t width = ballot_width(device);
  const auto are_whole = [&] { return width != 0 && sizes.group % width == 0; };
  // Teams of lanes need not run together; only where there are fewer work-items are they smaller.
  if (!sizes.warps && !are_whole() && sizes.group % 32 != 0) sizes.group = std::bit_floor(sizes.group);
  sizes.ballots = !sizes.warps && are_whole();
  sizes.lanes = sizes.ballots ? width : std::min<std::size_t>(sizes.group, 32);
}

std::optional<TileSizes> sort_tile_ahead(const Device& device, const SortProblem& problem,
                                         const PlanOverrides& fixed) {
  const SortPolicy& policy = sort_policy(device);
  const SortTile& wanted = policy.ahead.at(policy_place(problem));
  const std::size_t carried = carried_bytes(problem);
  // With keys of 64 bits it is slower.
  if (wanted.items == 0 || !carries_values(problem) || carried < 4 || size_of(problem.keys) > 4)
    return std::nullopt;
  TileSizes sizes;
  sizes.group = fixed.work_items != 0 ? fixed.work_items : wanted.group;
  sizes.items = items_of(fixed, sizes.group, wanted.items);
  sizes.radix_bits = policy.radix_bits;
  sizes.ahead = true;
  set_teams(device, sizes);
  const bool fits = sizes.group <= std::min(device.max_work_group, device.max_work_items[0]) &&
                    tile_local_bytes(problem, sizes, carried) <= device.local_bytes;
  return sizes.warps && fits ? std::optional(sizes) : std::nullopt;
}

std::optional<TileSizes> sort_tile_of(const Device& device, const SortProblem& problem,
                                      const PlanOverrides& fixed, bool four_bits) {
  const SortPolicy& policy = sort_policy(device);
  const bool alone = problem.payload == SortPayload::none;
  const std::size_t place = policy_place(problem);
  const SortTile& wanted = alone && problem.keys == Scalar::float64 ? policy.doubles
                           : alone                                  ? policy.keys.at(place)
                                                                    : policy.pairs.at(place);
  const std::size_t most =
      std::max<std::size_t>(std::min(device.max_work_group, device.max_work_items[0]), 1);
  TileSizes sizes;
  sizes.group = fixed.work_items != 0 ? fixed.work_items : wanted.group;
  if (sizes.group > most) sizes.group = std::bit_floor(most);
  sizes.items = items_of(fixed, sizes.group, wanted.items);
  sizes.radix_bits = four_bits ? 4 : policy.radix_bits;
  if (four_bits) {
    sizes.items = std::min(sizes.items, policy.four_bits.items);
    if (fixed.work_items == 0) sizes.group = std::min(sizes.group, policy.four_bits.group);
  }
  for (;;) {
    set_teams(device, sizes);
    if (tile_local_bytes(problem, sizes, carried_bytes(problem)) <= device.local_bytes) return sizes;
    const std::size_t bytes = std::max(size_of(problem.keys), carried_bytes(problem));
    const bool tile_is_larger =
        area_bytes(problem, sizes, carried_bytes(problem)) == round_up(sizes.tile() * bytes, 8);
    const bool fewer_teams = sizes.group > 32 && fixed.work_items == 0, fewer_digits = sizes.radix_bits > 1;
    const std::size_t fewest_items = !fewer_teams && !fewer_digits ? 1 : tile_is_larger ? 4 : sizes.items;
    if (sizes.items > fewest_items) {
      sizes.items /= 2;
    } else if (fewer_teams) {
      sizes.group = std::bit_floor(sizes.group - 1);
    } else if (fewer_digits) {
      sizes.radix_bits /= 2;
    } else {
      return std::nullopt;
    }
  }
}

void spread_tiles(const Device& device, std::size_t size, TileSizes& sizes) {
  const SortPolicy& policy = sort_policy(device);
  const std::size_t wanted = policy.tiles_a_unit * device.compute_units;
  while (sizes.items > policy.least_items && divide_up(size, sizes.tile()) < wanted)
    sizes.items = std::max(policy.least_items, sizes.items / 2);
}

void define_tile(const Device& device, const SortProblem& problem, const TileSizes& sizes, Launch& launch) {
  launch.work_group = {sizes.group, 1, 1};
  launch.items_per_work_item = sizes.items;
  launch.tile_cols = sizes.tile();
  launch.local_bytes = tile_local_bytes(problem, sizes, carried_bytes(problem));
  define(launch, "RADIX_BITS", sizes.radix_bits);
  define(launch, "GROUP", sizes.group);
  define(launch, "ITEMS", sizes.items);
  define(launch, "LANES", sizes.lanes);
  if (sizes.warps) define(launch, "WARPS", 1);
  if (sizes.ballots) {
    define(launch, "BALLOTS", 1);
    define(launch, "INTEL_SUB_GROUP", sizes.lanes);
    launch.language = device.sub_group_language;
  }
  if (sizes.ahead) define(launch, "AHEAD", 1);
}

}  // namespace smem::plan
