// Plans for sorts of rows: in registers, in local memory, or by passes over all rows.
#include <smem/sort_rows_plan.hpp>

#include "formatted.hpp"
#include "plan/sizes.hpp"
#include "plan/sort_policy.hpp"
#include "plan/sort_rows_policy.hpp"
#include "plan/sort_rows_types.hpp"
#include "plan/sort_tiles.hpp"
#include "plan/variants.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <string>
#include <utility>

namespace smem {

namespace {

using namespace plan;

constexpr std::size_t kMostPlaces = 65536;  // of a row in local memory: they are halves of words
constexpr std::size_t kShortRow = 64;       // LONGEST of cl/sort_rows/cpu.cl

std::size_t sorted_rows(const SortRowsProblem& p) { return size_product(p.rows, p.batch); }
bool has_values(const SortRowsProblem& p) { return p.payload != SortPayload::none; }

double key_traffic(const SortRowsProblem& p) { return real(sorted_rows(p), p.cols, size_of(p.keys)); }
double value_traffic(const SortRowsProblem& p) { return real(sorted_rows(p), p.cols, p.value_bytes); }

Launch base_launch(const SortRowsProblem& p, const char* variant, const char* file, const char* entry,
                   bool moves) {
  Launch launch;
  launch.operation = operation_name(p);
  launch.variant = variant;
  launch.kernel_file = file;
  launch.entry_point = entry;
  define_keys(launch, one_row(p), moves);
  if (moves && p.in_place) define(launch, "IN_PLACE_ROWS", 1);
  return launch;
}

/// What one reading and one writing of everything takes.
void predict_once(const SortRowsProblem& p, Plan& plan) {
  const bool places = p.payload == SortPayload::places;
  plan.prediction.bytes_read = key_traffic(p) + (places ? 0 : value_traffic(p));
  plan.prediction.bytes_written = value_traffic(p) + (places ? 0 : key_traffic(p));
}

/// Work-items that sort a row in their registers, and how many of its entries each has.
struct NetworkSizes {
  std::size_t width = 1, items = 1, group = 0, local_bytes = 0;
  bool shuffles = false;
  std::size_t team() const { return width / items; }
};

/// Nothing where no group of the device has room.
std::optional<NetworkSizes> network_of(const Device& device, const SortRowsProblem& p, std::size_t wanted) {
  const SortRowsPolicy& policy = sort_rows_policy(device);
  const std::size_t wide = size_of(p.keys) == 8 ? 2 : 1, entry = size_of(p.keys) < 4 ? 4 : 8 * wide;
  NetworkSizes sizes;
  sizes.width = std::bit_ceil(at_least_1(p.cols));
  const std::size_t most = std::min(sizes.width, at_least_1(policy.network_items / wide));
  sizes.items = std::clamp<std::size_t>(sizes.width / 32, std::min<std::size_t>(4, most), most);
  for (; sizes.items <= most; sizes.items *= 2) {
    sizes.group = group_for(device, wanted != 0 ? wanted : policy.network_group, 0);
    for (; sizes.group >= sizes.team(); sizes.group /= 2) {
      sizes.shuffles = sizes.team() <= 32 && uses_shuffles(device, sizes.group);
      const std::size_t exchanged = sizes.shuffles ? entry : sizes.group * sizes.items * entry;
      sizes.local_bytes = 2 * sizes.group * sizes.items + exchanged + kSortWords;
      if (sizes.local_bytes <= device.local_bytes) return sizes;
      if (wanted != 0) break;
    }
  }
  return std::nullopt;
}

Attempt network(const Device& device, const SortRowsProblem& p, const PlanOverrides& fixed) {
  const std::size_t longest = sort_rows_policy(device).network_keys / (size_of(p.keys) == 8 ? 2 : 1);
  if (p.cols > longest) return formatted("more keys in a row than {}", longest);
  const std::optional<NetworkSizes> sizes = network_of(device, p, fixed.work_items);
  if (!sizes) return no_tile_fits(device);
  const std::size_t rows = sizes->group / sizes->team();
  if (divide_up(sorted_rows(p), rows) > kMaxTiles) return "more rows than a launch can have work-groups";
  Plan plan;
  static_cast<Launch&>(plan) = base_launch(p, "network", "sort_rows/network.cl", "sort_rows_network", true);
  set_groups(plan, sizes->group, divide_up(sorted_rows(p), rows));
  plan.items_per_work_item = sizes->items;
  plan.tile_rows = rows;
  plan.tile_cols = sizes->width;
  plan.local_bytes = sizes->local_bytes;
  define(plan,
         {{"GROUP", sizes->group}, {"TEAM", sizes->team()}, {"LOG_ITEMS", std::countr_zero(sizes->items)}});
  if (sizes->shuffles) define(plan, "SHUFFLE", 1);
  define_sub_group(device, plan);
  predict_once(p, plan);
  plan.reason = formatted("one reading: {} work-items sort a row of up to {} keys in their registers",
                          sizes->team(), sizes->width);
  return plan;
}

/// A network of the keys' images alone.
Attempt keys_only(const Device& device, const SortRowsProblem& p, const PlanOverrides& fixed) {
  const SortRowsPolicy& policy = sort_rows_policy(device);
  if (has_values(p)) return "keys without values or places only";
  if (p.begin_bit != 0 || p.end_bit != 8 * size_of(p.keys)) return "all bits of the keys only";
  const std::size_t image = size_of(p.keys) == 8 ? 8 : 4, wide = image / 4;
  const std::size_t width = std::bit_ceil(at_least_1(p.cols));
  const bool is_long = width * wide > policy.keys_of_row / 2;
  const std::size_t most = at_least_1((is_long ? policy.long_key_items : policy.key_items) / wide);
  if (width > policy.keys_of_row / wide)
    return formatted("more keys in a row than {}", policy.keys_of_row / wide);
  const std::size_t items =
      std::clamp<std::size_t>(width / 32, std::min<std::size_t>({4, width, most}), most);
  const std::size_t team = width / items;
  const std::size_t group =
      group_for(device, fixed.work_items != 0 ? fixed.work_items : std::max(team, policy.network_group), 0);
  const std::size_t entries = group * items;
  const std::size_t local_bytes = (entries + entries / 32) * image + 4 * group + kSortWords;
  if (group < team || team > 32 * items || local_bytes > device.local_bytes)
    return formatted("a row of {} keys does not fit the registers of a group", p.cols);
  if (divide_up(sorted_rows(p), group / team) > kMaxTiles)
    return "more rows than a launch can have work-groups";
  Plan plan;
  static_cast<Launch&>(plan) =
      base_launch(p, "keys_only", "sort_rows/keys_only.cl", "sort_rows_keys_only", true);
  set_groups(plan, group, divide_up(sorted_rows(p), group / team));
  plan.items_per_work_item = items;
  plan.tile_rows = group / team;
  plan.tile_cols = width;
  plan.local_bytes = local_bytes;
  define(plan,
         {{"GROUP", group}, {"LOG_TEAM", std::countr_zero(team)}, {"LOG_ITEMS", std::countr_zero(items)}});
  if (uses_shuffles(device, group)) define(plan, "SHUFFLE", 1);
  define_sub_group(device, plan);
  predict_once(p, plan);
  plan.reason = formatted(
      "one reading: {} work-items sort the images of a row of up to {} keys, without places", team, width);
  return plan;
}

Attempt tile(const Device& device, const SortRowsProblem& p, const PlanOverrides& fixed) {
  const SortRowsPolicy& policy = sort_rows_policy(device);
  const SortProblem row = one_row(p);
  const std::size_t wide = size_of(p.keys) == 8 ? 2 : 1;
  // In place all values are in registers at once.
  const std::size_t large = p.in_place && p.value_bytes > 8 ? 2 : 1;
  const std::size_t most_items =
      at_least_1((has_values(p) ? policy.pair_items : policy.tile_items) / std::max(wide, large));
  TileSizes sizes;
  sizes.radix_bits = sort_policy(device).radix_bits;
  const std::size_t least = std::max<std::size_t>(64, is_nvidia_gpu(device) ? sizes.radix() : 0);
  std::size_t group =
      std::bit_ceil(divide_up(at_least_1(p.cols), at_least_1(policy.usual_items / std::max(wide, large))));
  group = std::clamp(group, least, std::max(least, policy.tile_group));
  sizes.group = group_for(device, fixed.work_items != 0 ? fixed.work_items : group, 0);
  sizes.items = divide_up(at_least_1(p.cols), sizes.group);
  if (sizes.items > 4) sizes.items = round_up(sizes.items, 2);  // few programs
  if (sizes.items > most_items || sizes.tile() > kMostPlaces)
    return formatted("a row of {} keys does not fit the registers of a group", p.cols);
  if (sorted_rows(p) > kMaxTiles) return "more rows than a launch can have work-groups";
  const std::size_t carried = has_values(p) ? 2 : 0;
  for (set_teams(device, sizes); tile_local_bytes(row, sizes, carried) > device.local_bytes;
       set_teams(device, sizes)) {
    if (sizes.radix_bits == 1) return formatted("a row of {} keys does not fit local memory", p.cols);
    sizes.radix_bits /= 2;
  }
  const SortPasses passes = passes_of({.end_bit = p.end_bit - p.begin_bit}, sizes.radix_bits);
  Plan plan;
  static_cast<Launch&>(plan) = base_launch(p, "tile", "sort_rows/tile.cl", "sort_rows_tile", true);
  define_tile(device, row, sizes, plan);
  if (!sizes.ballots) define_sub_group(device, plan);
  set_groups(plan, sizes.group, sorted_rows(p));
  plan.local_bytes = tile_local_bytes(row, sizes, carried);
  plan.numbers = {{"passes", passes.count}, {"digit_bits", passes.bits}};
  predict_once(p, plan);
  plan.prediction.local_bytes =
      real(passes.count) * (2 * key_traffic(p) + real(sorted_rows(p), p.cols, 16 + 2 * carried));
  plan.reason = formatted("one reading: a group sorts its row in local memory, {} passes of {} bits",
                          passes.count, passes.bits);
  return plan;
}

/// Of a pass over all rows.
void share_pass(std::size_t parts, std::size_t piece, const SortPasses& passes, Launch& launch) {
  launch.numbers = {
      {"passes", passes.count}, {"digit_bits", passes.bits}, {"parts", parts}, {"piece", piece}};
}

Attempt radix(const Device& device, const SortRowsProblem& p, const PlanOverrides& fixed) {
  const SortProblem row = one_row(p);
  const std::optional<TileSizes> sizes = sort_tile_of(device, row, fixed);
  const std::size_t scanners =
      group_for(device, sort_policy(device).offsets_group, count_bytes(row), kSortWords);
  if (!sizes || scanners == 0) return no_tile_fits(device);
  const std::size_t parts = at_least_1(divide_up(p.cols, sizes->tile())),
                    groups = size_product(sorted_rows(p), parts);
  const std::size_t scans = size_product(sorted_rows(p), sizes->radix());
  if (groups > kMaxTiles) return "more tiles than a launch can have work-groups";
  const SortPasses passes = passes_of(row, sizes->radix_bits);
  const auto count = real(passes.count);
  const bool places = p.payload == SortPayload::places;
  Plan plan;
  static_cast<Launch&>(plan) = base_launch(p, "radix", "sort_rows/scatter.cl", "sort_rows_scatter", true);
  define_tile(device, row, *sizes, plan);
  set_groups(plan, sizes->group, groups);
  plan.rounds = passes.count;
  share_pass(parts, sizes->tile(), passes, plan);
  const std::size_t keys = size_product(sorted_rows(p), p.cols), apart = passes.count > 1 ? keys : 0;
  add_scratch(plan, size_product(apart * (places && passes.count > 2 ? 2 : 1), size_of(p.keys)));
  add_scratch(plan, size_product(apart, p.value_bytes));
  add_scratch(plan, size_product(size_product(sorted_rows(p), parts + 1), sizes->radix() * count_bytes(row)));
  plan.prediction.bytes_read = count * (key_traffic(p) + value_traffic(p)) - (places ? value_traffic(p) : 0);
  plan.prediction.bytes_written = count * (key_traffic(p) + value_traffic(p)) - (places ? key_traffic(p) : 0);
  plan.prediction.local_bytes =
      count * (2 * (key_traffic(p) + value_traffic(p)) + real(sorted_rows(p), p.cols, 16));
  plan.reason = formatted(
      "{} passes of {} bits over all rows: each counts the digits of tiles, scans the counts, "
      "and moves the keys",
      passes.count, passes.bits);

  Launch counts = base_launch(p, "count", "sort_rows/count.cl", "sort_rows_count", false);
  define(counts, {{"RADIX_BITS", sizes->radix_bits}, {"GROUP", sizes->group}, {"PHASE", 0}});
  set_groups(counts, sizes->group, groups);
  counts.items_per_work_item = sizes->items;
  counts.tile_cols = sizes->tile();
  counts.local_bytes = 4 * sizes->radix() + kSortWords;
  share_pass(parts, sizes->tile(), passes, counts);
  counts.prediction.bytes_read = count * key_traffic(p);
  counts.reason = "counts of each digit in each tile";

  Launch offsets = base_launch(p, "offsets", "sort_rows/count.cl", "sort_rows_count", false);
  define(offsets, {{"RADIX_BITS", sizes->radix_bits}, {"GROUP", scanners}, {"PHASE", 1}});
  set_groups(offsets, scanners,
             std::min(scans, at_least_1(sort_policy(device).offsets_groups_a_unit * device.compute_units)));
  offsets.local_bytes = scanners * count_bytes(row) + kSortWords;
  share_pass(parts, sizes->tile(), passes, offsets);
  offsets.reason = "offsets of each digit of each tile in its row";
  plan.before = {std::move(counts), std::move(offsets)};
  return plan;
}

/// Vectors of the images of rows in lanes: few programs.
std::size_t vectors_of_lanes(const SortRowsProblem& p) {
  const std::size_t power = std::bit_ceil(at_least_1(p.cols));
  return round_up(at_least_1(p.cols), std::max<std::size_t>(power / 4, 16));
}
/// Bytes of an image, with a place of 32 bits if keys have values.
std::size_t lane_bytes(const SortRowsProblem& p) { return has_values(p) ? 8 : size_of(p.keys); }

}  // namespace

std::optional<Launch> plan::sort_rows_in_lanes(const Device& device, const SortRowsProblem& p,
                                               bool in_scratch) {
  const SortRowsPolicy& policy = sort_rows_policy(device);
  const std::size_t bytes = size_of(p.keys), image = lane_bytes(p), most = vectors_of_lanes(p);
  const std::size_t lanes =
      std::clamp<std::size_t>(device.vector_bytes / std::max<std::size_t>(image, 4), 4, 16);
  const std::size_t room = size_product(most, lanes * image) + kSortWords;
  const bool all_bits = p.begin_bit == 0 && p.end_bit == 8 * bytes;
  if (!all_bits || p.cols > policy.cpu_lane_keys) return std::nullopt;
  if (!in_scratch && room > device.local_bytes) return std::nullopt;
  // Keys and values are read again by their places.
  if (has_values(p) && (bytes == 8 || (p.in_place && p.payload == SortPayload::values))) return std::nullopt;
  if (sorted_rows(p) < lanes / 4) return std::nullopt;  // most lanes would be idle
  Launch launch = base_launch(p, "cpu", "sort_rows/cpu_lanes.cl", "sort_rows_cpu_lanes", true);
  const std::size_t groups_a_unit = in_scratch ? 1 : policy.cpu_groups_a_unit;
  set_groups(launch, 1,
             std::clamp<std::size_t>(divide_up(sorted_rows(p), lanes), 1,
                                     at_least_1(groups_a_unit * device.compute_units)));
  launch.tile_rows = lanes;
  launch.tile_cols = launch.items_per_work_item = at_least_1(p.cols);
  launch.vector_width = lanes;
  launch.local_bytes = in_scratch ? 0 : room;
  if (in_scratch) define(launch, "IN_SCRATCH", 1);
  define(launch, {{"LANES", lanes}, {"MOST_KEYS", most}});
  if (!device.prefetch_builtin) define(launch, "PREFETCH_AHEAD", 0);
  launch.reason = formatted("a thread sorts {} rows at once, each in a lane of vectors, by a network", lanes);
  return launch;
}

namespace {

Attempt cpu(const Device& device, const SortRowsProblem& p) {
  if (!runs_cpu_variant(device)) return no_cpu_variant(device);
  if (p.cols > 0xffffffff) return "rows of more than 2^32 keys";
  Plan plan;
  for (const bool in_scratch : {false, true}) {
    std::optional<Launch> lanes = sort_rows_in_lanes(device, p, in_scratch);
    if (!lanes) continue;
    static_cast<Launch&>(plan) = *std::move(lanes);
    const std::size_t vectors = size_product(plan.groups(), vectors_of_lanes(p));
    if (in_scratch) add_scratch(plan, size_product(vectors, plan.vector_width * lane_bytes(p)));
    predict_once(p, plan);
    return plan;
  }
  const SortPolicy& policy = sort_policy(device);
  const std::size_t radix = std::size_t{1} << policy.radix_bits, key_bytes = size_of(p.keys);
  const std::size_t groups = std::clamp<std::size_t>(
      sorted_rows(p), 1, at_least_1(sort_rows_policy(device).cpu_groups_a_unit * device.compute_units));
  const SortPasses passes = passes_of(one_row(p), policy.radix_bits);
  static_cast<Launch&>(plan) = base_launch(p, "cpu", "sort_rows/cpu.cl", "sort_rows_cpu", true);
  set_groups(plan, 1, groups);
  plan.tile_cols = plan.items_per_work_item = at_least_1(p.cols);
  plan.numbers = {{"passes", passes.count}, {"digit_bits", passes.bits}};
  predict_once(p, plan);
  if (p.cols <= kShortRow) {
    define(plan, "SHORT", 1);
    plan.local_bytes =
        kShortRow * ((key_bytes == 8 ? 8 : 4) + 1 + key_bytes + at_least_1(p.value_bytes)) + 3 * kSortWords;
    plan.reason = "a thread sorts a row by insertion";
  } else {
    // Of all bits, and in place: few programs for all ranges of bits.
    const std::size_t most = round_up(divide_up(8 * key_bytes, policy.radix_bits), 2);
    define(plan, {{"RADIX_BITS", policy.radix_bits}, {"PASSES", most}});
    plan.local_bytes = radix * (8 + 4 * most) + 4 * kSortWords;
    const std::size_t kept = size_product(groups, p.cols);
    add_scratch(plan, size_product(kept * (p.payload == SortPayload::places ? 2 : 1), key_bytes));
    add_scratch(plan, size_product(kept, p.value_bytes));
    plan.prediction.bytes_read +=
        key_traffic(p) + real(passes.count - 1) * (key_traffic(p) + value_traffic(p));
    plan.prediction.bytes_written += real(passes.count - 1) * (key_traffic(p) + value_traffic(p));
    plan.reason = formatted("a thread sorts a row: {} passes of {} bits", passes.count, passes.bits);
  }
  if (plan.local_bytes > device.local_bytes) return no_tile_fits(device);
  return plan;
}

/// Whether passes over a row's keys in local memory cost less than the steps of a network, which has a power
/// of two of entries.
bool passes_beat_network(const Device& device, const SortRowsProblem& p) {
  const SortRowsPolicy& policy = sort_rows_policy(device);
  if (policy.tile_steps == 0 || p.cols <= policy.least_tile_keys || p.cols > policy.keys_of_row) return false;
  const std::size_t width = std::bit_ceil(p.cols), levels = std::bit_width(width) - 1;
  const std::size_t passes =
      passes_of({.end_bit = p.end_bit - p.begin_bit}, sort_policy(device).radix_bits).count;
  return passes * policy.tile_steps * p.cols < levels * (levels + 1) / 2 * width;
}

// "keys_only" comes late where no device of the family has measured it.
std::vector<std::string_view> preference(const Device& device, const SortRowsProblem& p,
                                         const PlanOverrides& /*fixed*/) {
  if (runs_cpu_variant(device)) return {"cpu", "network", "tile", "keys_only", "radix"};
  if (!has_values(p) && passes_beat_network(device, p)) return {"tile", "keys_only", "network", "radix"};
  const SortRowsPolicy& policy = sort_rows_policy(device);
  if (policy.by_keys_only && p.cols > policy.least_keys_only)
    return {"keys_only", "network", "tile", "radix"};
  return {"network", "tile", "keys_only", "radix"};
}

std::string why_not(const Device& device, const SortRowsProblem& p, std::string_view variant,
                    const Plan& chosen) {
  if (chosen.variant == "cpu") return "a CPU runs work-items that share local memory as loops";
  if (variant == "radix") return "reads and writes every key in each pass";
  if (variant == "keys_only" && chosen.variant == "tile" && !has_values(p) && passes_beat_network(device, p))
    return "its steps, of a power of two of entries, cost more than passes over short keys";
  if (variant == "keys_only" && p.cols <= sort_rows_policy(device).least_keys_only)
    return "steps through local memory cost more than places of so few keys";
  if (variant == "keys_only") return "sorts keys alone, by all of their bits; not measured on all devices";
  if (chosen.variant == "keys_only" && variant != "tile") return "moves places with the keys";
  if (variant == "tile") return "local memory and barriers, for rows that registers hold";
  return "one thread a row";
}

const Evidence& evidence(const Device& device, const SortRowsProblem& p, const Plan& plan) {
  const SortRowsPolicy& policy = sort_rows_policy(device);
  const bool by_passes = plan.variant == "tile" && !has_values(p) && passes_beat_network(device, p);
  return by_passes ? policy.of_passes : policy.evidence;
}

constexpr Operation<SortRowsProblem> kSortRows{.what = "sort of rows",
                                               .name = operation_name,
                                               .variants = sort_rows_variants,
                                               .check = check_sort_rows,
                                               .preference = preference,
                                               .attempt = sort_rows_attempt,
                                               .why_not = why_not,
                                               .evidence = evidence,
                                               .one_work_item = "a thread has a row"};

}  // namespace

const char* plan::operation_name(const SortRowsProblem& problem) {
  static constexpr std::array<const char*, 3> kNames{"sort_rows", "sort_pairs_rows", "argsort_rows"};
  require_known("sort_rows", "payload", problem.payload, SortPayload::places);
  return kNames.at(static_cast<std::size_t>(problem.payload));
}

SortProblem plan::one_row(const SortRowsProblem& p) {
  return {p.keys,        p.cols,      p.payload,   p.value_bytes, p.descending,
          p.total_order, p.nan_least, p.begin_bit, p.end_bit,     p.in_place};
}

void plan::check_sort_rows(const Device& /*device*/, const SortRowsProblem& problem) {
  const char* operation = operation_name(problem);
  check_order(operation, one_row(problem));
  require_elements(operation, "keys", {problem.rows, problem.cols, problem.batch});
}

std::vector<std::string_view> plan::sort_rows_order(const Device& device, const SortRowsProblem& problem) {
  return preference(device, problem, {});
}

plan::Attempt plan::sort_rows_attempt(const Device& device, const SortRowsProblem& p,
                                      const PlanOverrides& fixed, std::string_view variant) {
  if (variant == "cpu") return cpu(device, p);
  if (variant == "keys_only") return keys_only(device, p, fixed);
  if (variant == "network") return network(device, p, fixed);
  if (variant == "tile") return tile(device, p, fixed);
  return radix(device, p, fixed);
}

std::vector<std::string_view> sort_rows_variants() {
  return {"radix", "tile", "network", "keys_only", "cpu"};
}

Plan plan_sort_rows(const Device& device, const SortRowsProblem& problem, const PlanOverrides& overrides) {
  return plan_call(kSortRows, "sort_rows", problem.keys, device, problem, overrides);
}

}  // namespace smem
