// Plans for sorts: which variant, which tiles and passes, and why.
#include <smem/sort_plan.hpp>

#include "formatted.hpp"
#include "plan/look_back_policy.hpp"
#include "plan/merge_tile.hpp"
#include "plan/sizes.hpp"
#include "plan/sort_policy.hpp"
#include "plan/sort_rows_types.hpp"
#include "plan/sort_tiles.hpp"
#include "plan/sort_types.hpp"
#include "plan/variants.hpp"

#include <algorithm>
#include <bit>
#include <optional>
#include <string>
#include <utility>

namespace smem {

namespace {

using namespace plan;

constexpr std::size_t kLine = 64;  // bytes; areas of temporary memory begin at multiples

Launch base_launch(const SortProblem& problem, const char* variant, const char* file, const char* entry,
                   bool moves) {
  Launch launch;
  launch.operation = plan::operation_name(problem);
  launch.variant = variant;
  launch.kernel_file = file;
  launch.entry_point = entry;
  define_keys(launch, problem, moves);
  return launch;
}

double key_traffic(const SortProblem& problem) {
  return static_cast<double>(problem.size) * static_cast<double>(size_of(problem.keys));
}
double pair_traffic(const SortProblem& problem) {
  return key_traffic(problem) + static_cast<double>(problem.size) * static_cast<double>(problem.value_bytes);
}

/// Its prediction is of the whole call: those of other launches stay empty.
Plan base_plan(const SortProblem& problem, const char* variant, const char* file, const char* entry,
               const SortPasses& passes) {
  Plan plan;
  static_cast<Launch&>(plan) = base_launch(problem, variant, file, entry, true);
  const double generated =
      problem.payload == SortPayload::places ? 1 : 0;  // places are not read, keys not written
  const auto count = static_cast<double>(passes.count);
  plan.prediction.bytes_read =
      count * pair_traffic(problem) - generated * (pair_traffic(problem) - key_traffic(problem));
  plan.prediction.bytes_written = count * pair_traffic(problem) - generated * key_traffic(problem);
  plan.numbers = {{"passes", passes.count}, {"digit_bits", passes.bits}};
  return plan;
}

/// Temporary memory: a second array of keys, and one of values. argsort returns no keys, so it needs both
/// arrays of keys.
void share_arrays(const SortProblem& problem, const SortPasses& passes, Plan& plan) {
  const bool apart = passes.count > 1;
  const std::size_t keys = plan::round_up(problem.size, kLine) * size_of(problem.keys);
  const bool both = problem.payload == SortPayload::places && passes.count > 2;
  plan::add_scratch(plan, apart ? (both ? 2 : 1) * keys : 0);
  plan::add_scratch(plan, apart ? problem.size * problem.value_bytes : 0);
}

/// Through local memory: each pass writes and reads there what it moves, and counts twice.
void predict_local(const SortProblem& problem, const SortPasses& passes, Plan& plan) {
  plan.prediction.local_bytes = static_cast<double>(passes.count) *
                                (2 * pair_traffic(problem) + 16 * static_cast<double>(problem.size));
}

std::string pass_text(const SortPasses& passes) {
  return formatted("{} {} of {} bits", passes.count, passes.count == 1 ? "pass" : "passes", passes.bits);
}

std::optional<Plan> network(const Device& device, const SortProblem& problem, const PlanOverrides& fixed) {
  const SortPolicy& policy = sort_policy(device);
  const std::size_t wide = size_of(problem.keys) == 8 ? 8 : 4;
  const std::size_t most =
      std::bit_floor(std::max<std::size_t>(std::min(device.max_work_group, device.max_work_items[0]), 1));
  std::size_t tile = std::min<std::size_t>(policy.network_keys, 65536);
  while (tile > 0 && tile * (wide + 2) + kSortWords > device.local_bytes)
    tile /= 2;
  std::size_t group =
      fixed.work_items != 0 ? fixed.work_items : std::min(most, std::max<std::size_t>(tile / 2, 1));
  if (fixed.work_items == 0) tile = std::min(tile, group * policy.network_items);
  if (tile == 0 || problem.size > tile) return std::nullopt;
  const std::size_t bits = problem.end_bit - problem.begin_bit;
  Plan plan = base_plan(problem, "bitonic", "sort/bitonic.cl", "sort_bitonic", {1, bits});
  plan.numbers.clear();
  plan.work_group = plan.global = {group, 1, 1};
  plan.items_per_work_item = divide_up(tile, group);
  plan.tile_cols = tile;
  plan.local_bytes = tile * (wide + 2) + kSortWords;
  define(plan, "GROUP", group);
  define(plan, "TILE", tile);
  const auto steps =
      static_cast<double>(std::bit_width(std::bit_ceil(std::max<std::size_t>(problem.size, 1))) - 1);
  plan.prediction.local_bytes = steps * (steps + 1) / 2 * 2 * static_cast<double>(problem.size * (wide + 2));
  plan.reason = "one launch: a sorting network over one tile in local memory; places break ties";
  return plan;
}

/// All keys as the one row of a sort of rows, which a group sorts in one launch.
std::optional<Plan> one_row_sort(const Device& device, const SortProblem& p, const PlanOverrides& fixed) {
  const SortRowsProblem row{
      p.keys,        1,           p.size,      1,         p.payload, p.value_bytes, p.descending,
      p.total_order, p.nan_least, p.begin_bit, p.end_bit, p.in_place};
  for (const std::string_view way : sort_rows_order(device, row)) {
    if (way == "radix" || way == "cpu") continue;
    // Eight passes in local memory take longer than merges.
    if (way == "tile" && size_of(p.keys) == 8 && fixed.variant.empty()) continue;
    Attempt attempt = sort_rows_attempt(device, row, fixed, way);
    if (!attempt.plan) continue;
    Plan& plan = *attempt.plan;
    plan.operation = plan::operation_name(p);
    plan.variant = "one_row";
    return std::move(plan);
  }
  return std::nullopt;
}

std::optional<Plan> merge_sort(const Device& device, const SortProblem& problem, const PlanOverrides& fixed) {
  const std::size_t bytes = size_of(problem.keys), place = problem.payload == SortPayload::none ? 0 : 2;
  const std::optional<MergeTile> tile = merge_tile(device, fixed, bytes, place, kMergeWords);
  const std::size_t tiles = tile ? divide_up(at_least_1(problem.size), tile->size()) : 0;
  if (!tile || tiles > kMaxTiles) return std::nullopt;
  const auto merges = static_cast<std::size_t>(std::bit_width(tiles - 1));
  const SortPasses passes{merges + 1, 0};
  Plan plan = base_plan(problem, "merge", "sort/merge.cl", "sort_merge", passes);
  set_groups(plan, tile->group, tiles);
  define(plan, {{"GROUP", tile->group}, {"ITEMS", tile->items}});
  plan.items_per_work_item = tile->items;
  plan.tile_cols = tile->size();
  plan.local_bytes = tile->size() * (bytes + place) + kMergeWords;
  plan.numbers = {{"passes", passes.count}};
  share_arrays(problem, passes, plan);
  predict_local(problem, passes, plan);
  plan.reason = formatted("sorts tiles of {} keys in local memory; {} passes merge runs in pairs",
                          tile->size(), merges);
  if (merges > 0) {
    Launch merge = static_cast<const Launch&>(plan);
    merge.variant = "merges";
    define(merge, "PHASE", 1);
    merge.numbers = {{"turn", 1}};
    merge.repeats = merges;
    merge.prediction = {};
    merge.reason = merges_text(tile->size(), "keys");
    plan.after.push_back(std::move(merge));
  }
  return plan;
}

/// How kernels find the keys of a digit before a key in its tile.
std::string ranks_text(const TileSizes& sizes) {
  if (sizes.warps) return "ranks by the lanes of a warp that match";
  if (sizes.ballots) return formatted("ranks by ballots of sub-groups of {}", sizes.lanes);
  return formatted("ranks by matches of {} work-items in local memory", sizes.lanes);
}

/// "three_launches", or "four_bits", the same by shorter digits.
std::optional<Plan> three_launches(const Device& device, const SortProblem& problem,
                                   const PlanOverrides& fixed, bool four_bits) {
  std::optional<TileSizes> sizes = sort_tile_of(device, problem, fixed, four_bits);
  if (!sizes) return std::nullopt;
  if (fixed.tile_cols == 0) spread_tiles(device, problem.size, *sizes);
  const std::size_t tiles = std::max<std::size_t>(divide_up(problem.size, sizes->tile()), 1);
  if (tiles > plan::kMaxTiles) return std::nullopt;
  const SortPasses passes = passes_of(problem, sizes->radix_bits);
  Plan plan = base_plan(problem, four_bits ? "four_bits" : "three_launches", "sort/scatter.cl",
                        "sort_scatter", passes);
  define_tile(device, problem, *sizes, plan);
  plan.global = {tiles * sizes->group, 1, 1};
  plan.rounds = passes.count;
  plan.numbers.emplace_back("parts", tiles);
  plan.numbers.emplace_back("piece", sizes->tile());
  share_arrays(problem, passes, plan);
  plan::add_scratch(plan, (tiles + 1) * sizes->radix() * count_bytes(problem));
  predict_local(problem, passes, plan);
  plan.prediction.bytes_read += static_cast<double>(passes.count) * key_traffic(problem);
  plan.reason =
      formatted("{}: each pass counts the digits of each tile, scans the counts and scatters the keys; {}",
                pass_text(passes), ranks_text(*sizes));

  Launch count = base_launch(problem, "count", "sort/count.cl", "sort_count", false);
  define(count, "RADIX_BITS", sizes->radix_bits);
  define(count, "GROUP", sizes->group);
  count.work_group = {sizes->group, 1, 1};
  count.global = plan.global;
  count.items_per_work_item = sizes->items;
  count.tile_cols = sizes->tile();
  count.local_bytes = 4 * sizes->radix() + kSortWords;
  count.numbers = plan.numbers;
  count.reason = "counts of each digit in each tile";

  Launch offsets = base_launch(problem, "offsets", "sort/offsets.cl", "sort_offsets", false);
  const std::size_t group =
      plan::group_for(device, sort_policy(device).offsets_group, count_bytes(problem), kSortWords);
  if (group == 0) return std::nullopt;
  define(offsets, "RADIX_BITS", sizes->radix_bits);
  define(offsets, "GROUP", group);
  offsets.work_group = {group, 1, 1};
  offsets.global = {sizes->radix() * group, 1, 1};
  offsets.local_bytes = group * count_bytes(problem) + kSortWords;
  offsets.numbers = plan.numbers;
  offsets.reason = "offsets of each digit of each tile";
  plan.before = {std::move(count), std::move(offsets)};
  return plan;
}

bool can_count_wide(const Device& device, const SortProblem& problem) {
  return !plan::is_wide(problem) || device.int64_atomics;
}

/// What the launches of onesweep share.
struct Sweep {
  TileSizes sizes;
  SortPasses passes;
  std::size_t tiles = 0, number = 0;  ///< number: bytes of a count
  std::size_t access = 0;             ///< how groups publish
  bool schedules = false;             ///< the first launch makes the schedule

  std::size_t bins() const { return passes.count * sizes.radix(); }
  std::size_t schedule_bytes() const { return 2 * sizes.radix() * number + 4 * passes.count; }
  void define_status(Launch& launch) const {
    define(launch, "PASSES", passes.count);
    if (access != 0) define(launch, "STATUS_ACCESS", access);
  }
};

std::optional<Launch> histogram(const Device& device, const SortProblem& problem, const Sweep& sweep) {
  const SortPolicy& policy = sort_policy(device);
  Launch launch = base_launch(problem, "histogram", "sort/histogram.cl", "sort_histogram", false);
  const std::size_t beside = kSortWords + (sweep.schedules ? sweep.schedule_bytes() : 0);
  std::size_t parts = policy.histogram_parts;
  while (parts > 1 && 4 * sweep.bins() * parts + beside > device.local_bytes)
    parts /= 2;
  if (4 * sweep.bins() * parts + beside > device.local_bytes) return std::nullopt;
  const std::size_t group = plan::group_for(device, policy.histogram_group, 0);
  const std::size_t groups =
      std::clamp<std::size_t>(divide_up(problem.size, group * policy.histogram_keys), 1,
                              policy.histogram_groups_a_unit * device.compute_units);
  define(launch, "RADIX_BITS", sweep.sizes.radix_bits);
  define(launch, "GROUP", group);
  define(launch, "PARTS", parts);
  define(launch, "PACK", 16 / size_of(problem.keys));
  sweep.define_status(launch);
  if (sweep.schedules) define(launch, {{"SCHEDULES", 1}, {"DEVICE_FENCE", sweep.access}});
  launch.work_group = {group, 1, 1};
  launch.global = {groups * group, 1, 1};
  launch.vector_width = 16 / size_of(problem.keys);
  launch.local_bytes = 4 * sweep.bins() * parts + beside;
  launch.reason = sweep.schedules
                      ? "counts of each digit, for all passes; the last group that arrives scans them, and "
                        "leaves out passes in which all keys have the same digit"
                      : "counts of each digit, for all passes";
  return launch;
}

std::optional<Launch> schedule(const Device& device, const SortProblem& problem, const Sweep& sweep) {
  Launch launch = base_launch(problem, "schedule", "sort/schedule.cl", "sort_schedule", false);
  const std::size_t group =
      plan::group_for(device, std::min(sweep.sizes.radix(), sort_policy(device).offsets_group), 0);
  launch.local_bytes = sweep.schedule_bytes() + kSortWords;
  if (launch.local_bytes > device.local_bytes) return std::nullopt;
  define(launch, "RADIX_BITS", sweep.sizes.radix_bits);
  define(launch, "GROUP", group);
  sweep.define_status(launch);
  launch.work_group = launch.global = {group, 1, 1};
  launch.reason = "offsets of each digit; passes in which all keys have the same digit are skipped";
  return launch;
}

std::optional<Plan> onesweep(const Device& device, const SortProblem& problem, const PlanOverrides& fixed) {
  const SortPolicy& policy = sort_policy(device);
  std::optional<TileSizes> sizes = sort_tile_ahead(device, problem, fixed);
  if (!sizes) sizes = sort_tile_of(device, problem, fixed);
  if (!sizes || !can_count_wide(device, problem)) return std::nullopt;
  if (fixed.tile_cols == 0) spread_tiles(device, problem.size, *sizes);
  Sweep sweep{.sizes = *sizes,
              .passes = passes_of(problem, sizes->radix_bits),
              .tiles = std::max<std::size_t>(divide_up(problem.size, sizes->tile()), 1),
              .number = count_bytes(problem),
              .access = plan::device_fence(device)};
  constexpr std::size_t kHeader = 128, kMostPasses = 64;  // words of cl/sort/status.clh, and what they hold
  if (sweep.tiles > plan::kMaxTiles || sweep.passes.count > kMostPasses) return std::nullopt;
  sweep.schedules = sweep.access != 0 && !plan::is_wide(problem) && sweep.bins() < kSharedCounters;
  Plan plan = base_plan(problem, "onesweep", "sort/onesweep.cl", "sort_onesweep", sweep.passes);
  define_tile(device, problem, *sizes, plan);
  plan.global = {sweep.tiles * sizes->group, 1, 1};
  plan.repeats = sweep.passes.count;
  plan.numbers.emplace_back("parts", sweep.tiles);
  plan.numbers.emplace_back("piece", sizes->tile());
  sweep.define_status(plan);
  define(plan, "POLL_LIMIT", std::min(device.poll_limit, plan::look_back_policy(device).polls));
  define(plan, "LOOK_BACK", policy.look_back);
  if (sizes->warps && policy.match != 0) define(plan, "MATCH", policy.match);
  if (device.ordered_start) define(plan, "ORDERED_START", 1);
  share_arrays(problem, sweep.passes, plan);
  const std::size_t work =
      4 * kHeader + (2 * sweep.passes.count + sweep.tiles) * sizes->radix() * sweep.number;
  plan::add_scratch(plan, work, sweep.schedules ? 0 : work);
  plan.counters = sweep.schedules;
  predict_local(problem, sweep.passes, plan);
  plan.prediction.bytes_read += key_traffic(problem);
  plan.reason = formatted(
      "{}, each in one launch: decoupled look-back gives each tile the offsets of its digits; {}{}",
      pass_text(sweep.passes), ranks_text(*sizes), sizes->ahead ? "; values are copied meanwhile" : "");

  const auto add_before = [&](std::optional<Launch> launch) {
    if (!launch) return false;
    launch->numbers = plan.numbers;
    plan.before.push_back(std::move(*launch));
    return true;
  };
  if (!add_before(histogram(device, problem, sweep))) return std::nullopt;
  if (!sweep.schedules && !add_before(schedule(device, problem, sweep))) return std::nullopt;
  return plan;
}

std::optional<Plan> cpu(const Device& device, const SortProblem& problem) {
  if (!plan::runs_cpu_variant(device)) return std::nullopt;
  const SortPolicy& policy = sort_policy(device);
  const plan::SortThreads& threads = policy.threads;
  const std::size_t radix = std::size_t{1} << policy.radix_bits;
  const SortPasses passes = passes_of(problem, policy.radix_bits);
  const std::size_t wanted = std::clamp<std::size_t>(problem.size / threads.block_keys, 1,
                                                     threads.blocks_a_unit * device.compute_units);
  const std::size_t block = plan::round_up(divide_up(std::max<std::size_t>(problem.size, 1), wanted), kLine);
  const std::size_t blocks = std::max<std::size_t>(divide_up(problem.size, block), 1);
  Plan plan = base_plan(problem, "cpu", "sort/cpu.cl", "sort_cpu", passes);
  const std::size_t widest = std::max({size_of(problem.keys), problem.value_bytes, std::size_t{1}});
  // Keys are gathered in lines, which go past the cache, where it does not hold both arrays.
  const bool is_cached = blocks == 1 || 2 * pair_traffic(problem) <= real(device.cache_bytes);
  const std::size_t line =
      is_cached ? 0 : std::bit_floor(std::max<std::size_t>(threads.line_bytes / widest, 1));
  plan.work_group = {1, 1, 1};
  plan.global = {blocks, 1, 1};
  plan.tile_cols = plan.items_per_work_item = block;
  plan.numbers.emplace_back("parts", blocks);
  plan.numbers.emplace_back("piece", block);
  define(plan, "RADIX_BITS", policy.radix_bits);
  const std::size_t lines = std::max<std::size_t>(radix * line, 1);
  const std::size_t values = problem.payload == SortPayload::none ? 8 : lines * problem.value_bytes;
  plan.local_bytes = lines * size_of(problem.keys) + values + 16 * radix + 3 * kLine;
  define(plan, "LINE", line);
  share_arrays(problem, passes, plan);
  if (blocks == 1) {
    define(plan, "PHASE", 2);
    // Of all bits, and in place: few programs for all ranges of bits.
    const std::size_t most = plan::round_up(divide_up(8 * size_of(problem.keys), policy.radix_bits), 2);
    define(plan, "PASSES", most);
    plan.local_bytes += 4 * most * radix;
    plan.prediction.bytes_read += key_traffic(problem);
    plan.reason = formatted("one thread: {}", pass_text(passes));
  } else {
    define(plan, "PHASE", 1);
    plan.rounds = passes.count;
    plan::add_scratch(plan, 4 * blocks * radix);
    plan.prediction.bytes_read += static_cast<double>(passes.count) * key_traffic(problem);
    plan.reason = formatted("{}: one thread a block{}", pass_text(passes),
                            is_cached ? "" : "; keys of a digit are collected in cache lines");
    Launch count = base_launch(problem, "count", "sort/cpu.cl", "sort_cpu", false);
    count.work_group = {1, 1, 1};
    count.global = plan.global;
    count.tile_cols = count.items_per_work_item = block;
    count.local_bytes = 16 * radix + kSortWords;
    count.numbers = plan.numbers;
    define(count, "RADIX_BITS", policy.radix_bits);
    define(count, "PHASE", 0);
    count.reason = formatted("counts of each digit in each of {} blocks", blocks);
    plan.before.push_back(std::move(count));
  }
  if (plan.local_bytes > device.local_bytes) return std::nullopt;
  return plan;
}

Attempt plan_variant(const Device& device, const SortProblem& problem, const PlanOverrides& fixed,
                     std::string_view variant) {
  std::optional<Plan> plan = variant == "cpu"       ? cpu(device, problem)
                             : variant == "bitonic" ? network(device, problem, fixed)
                             : variant == "one_row" ? one_row_sort(device, problem, fixed)
                             : variant == "merge"   ? merge_sort(device, problem, fixed)
                             : variant == "onesweep"
                                 ? onesweep(device, problem, fixed)
                                 : three_launches(device, problem, fixed, variant == "four_bits");
  const bool is_fixed =
      fixed.tile_rows <= 1 && (fixed.tile_cols == 0 || !plan || plan->tile_cols == fixed.tile_cols);
  if (plan && is_fixed) return std::move(*plan);
  if (!is_fixed) return "tiles are one row of a multiple of the group's work-items";
  if (variant == "cpu" && !runs_cpu_variant(device)) return no_cpu_variant(device);
  if (variant == "bitonic" || variant == "one_row") return "more keys than one group holds";
  if (variant == "onesweep" && !can_count_wide(device, problem))
    return "so many keys need atomic operations of 64 bits";
  return no_tile_fits(device);
}

std::vector<std::string_view> preference(const Device& device, const SortProblem& problem,
                                         const PlanOverrides& /*fixed*/) {
  std::vector<std::string_view> order;
  if (runs_cpu_variant(device)) order.emplace_back("cpu");
  const SortPolicy& policy = sort_policy(device);
  const auto is_at_most = [&](std::size_t most) { return most > 0 && problem.size <= most; };
  if (is_at_most(policy.most_of_one_row)) order.emplace_back("one_row");
  const std::size_t kind = size_of(problem.keys) == 8 ? 2 : problem.payload == SortPayload::none ? 0 : 1;
  if (is_at_most(policy.most_of_merge.at(kind))) order.emplace_back("merge");
  order.emplace_back("bitonic");
  if (device.forward_progress) order.emplace_back("onesweep");
  order.insert(order.end(), {"three_launches", "four_bits", "merge"});
  return order;
}

std::string why_not(const Device& /*device*/, const SortProblem& /*problem*/, std::string_view variant,
                    const Plan& chosen) {
  if (chosen.variant == "cpu") return "a CPU runs work-items that share local memory as loops";
  if (chosen.variant == "bitonic" || (chosen.variant == "one_row" && variant != "bitonic"))
    return "takes several launches; one group sorts so few keys in one";
  if (variant == "bitonic") return "a barrier for each step of its network";
  if (variant == "one_row") return "one group sorts all keys; not measured on all devices";
  if (variant == "onesweep")
    return "without forward progress its work-groups poll in vain, then count the same keys again";
  if (variant == "four_bits") return "twice as many passes as by 8 bits";
  if (variant == "merge") return "as many passes as the number of its tiles has bits";
  return "reads every key twice in each pass";
}

const Evidence& evidence(const Device& device, const SortProblem& /*problem*/, const Plan& plan) {
  if (plan.variant == "four_bits") return kFourBitsUnmeasured;
  if (plan.variant == "merge") return merge_policy(device).evidence;
  if (plan.variant == "one_row") return sort_policy(device).of_one_row;
  return sort_policy(device).evidence;
}

constexpr Operation<SortProblem> kSort{.what = "sort",
                                       .name = operation_name,
                                       .variants = sort_variants,
                                       .check = check_sort,
                                       .preference = preference,
                                       .attempt = plan_variant,
                                       .why_not = why_not,
                                       .evidence = evidence,
                                       .one_work_item = "a thread has a block",
                                       .with_tile = "onesweep"};

}  // namespace

std::vector<std::string_view> sort_variants() {
  return {"bitonic", "one_row", "merge", "four_bits", "three_launches", "onesweep", "cpu"};
}

Plan plan_sort(const Device& device, const SortProblem& problem, const PlanOverrides& overrides) {
  return plan_call(kSort, "sort", problem.keys, device, problem, overrides);
}

}  // namespace smem
