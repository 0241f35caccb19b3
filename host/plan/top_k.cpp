// Plans for selections of the greatest or least elements: what is read, how often, and where it is kept.
#include <smem/top_k_plan.hpp>

#include "formatted.hpp"
#include "plan/read_ahead_policy.hpp"
#include "plan/top_k_launches.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace smem {

namespace {

using namespace plan;
using namespace plan::selection;

/// A tile of `count` elements; nothing where none fits local memory.
std::optional<TopKTile> tile_of(const Device& device, const TopKProblem& p, std::size_t count,
                                std::size_t wanted_group) {
  const TopKPolicy& policy = top_k_policy(device);
  if (count > kMostTile) return std::nullopt;
  const std::size_t usual = std::clamp<std::size_t>(
      std::bit_ceil(divide_up(at_least_1(count), policy.tile_items)), 32, policy.group);
  TopKTile tile;
  tile.group = group_for(device, wanted_group != 0 ? wanted_group : usual, 0);
  // Few sizes, so that few programs serve all rows.
  tile.chosen =
      std::min<std::size_t>(power_of_four(std::max<std::size_t>(std::min(p.k, count), 64)), kMostTile);
  const std::size_t exact = divide_up(at_least_1(count), tile.group);
  for (const std::size_t items : {std::bit_ceil(exact), exact}) {
    tile.items = items;
    tile.local_bytes = tile.group * ((items | 1) * image_bytes(p) + image_bytes(p) + 4) + 4 * kTileDigits +
                       2 * tile.chosen + kWords;
    if (tile.local_bytes <= device.local_bytes) return tile;
  }
  return std::nullopt;
}

/// What a launch that selects from a tile reads.
struct TileSource {
  std::size_t size = 0;   ///< elements of the row
  std::size_t level = 0;  ///< not 0: they are delegates
  std::size_t from = 0;   ///< of delegates: where they begin among images
  bool listed = false;    ///< of k spans in a list
  std::size_t span_bits = 0;
};

void make_tile(const Device& device, const TopKProblem& p, const TopKTile& tile, const TileSource& source,
               Launch& launch) {
  set_rows(p, launch, tile.group, 1, source.size);
  launch.numbers.insert(launch.numbers.end(), {{"span_bits", source.span_bits}, {"from", source.from}});
  launch.tile_cols = tile.group * tile.items;
  launch.items_per_work_item = tile.items;
  launch.local_bytes = tile.local_bytes;
  define_collectives(device, launch, tile.group);
  define(launch, {{"ITEMS", tile.items}, {"CHOSEN", tile.chosen}});
  if (source.level != 0) define(launch, "LEVEL", 1);
  if (source.listed) define(launch, "LISTED", 1);
  const double read = real(all_rows(p)) * real(source.listed ? p.k << source.span_bits : source.size);
  launch.prediction.bytes_read = read * real(source.level != 0 ? image_bytes(p) : size_of(p.type));
  launch.prediction.local_bytes = read * real(image_bytes(p)) * real(size_of(p.type) + 3);
}

Attempt tile(const Device& device, const TopKProblem& p, std::size_t wanted) {
  const std::optional<TopKTile> tile = tile_of(device, p, p.cols, wanted);
  if (!tile) return formatted("a row of {} elements does not fit local memory", p.cols);
  if (!has_groups(p, 1)) return "more rows than a launch can have work-groups";
  Plan plan;
  define_launch(p, plan, "tile", "top_k/tile.cl", "top_k_tile");
  make_tile(device, p, *tile, {.size = p.cols}, plan);
  predict_results(p, plan);
  plan.reason = "one launch: a group reads its row once, then selects and sorts in local memory";
  return plan;
}

Attempt registers(const Device& device, const TopKProblem& p, std::size_t wanted) {
  const TopKPolicy& policy = top_k_policy(device);
  if (p.k > policy.register_k) return formatted("more than {} results", policy.register_k);
  const std::size_t items = policy.register_items * 4 / image_bytes(p);
  std::size_t group = std::bit_ceil(std::max(divide_up(at_least_1(p.cols), items), 2 * p.k));
  group = group_for(device, wanted != 0 ? wanted : std::max<std::size_t>(group, 64), 0);
  if (group < p.k || group * items < p.cols)
    return formatted("a row of {} elements does not fit the registers of a group", p.cols);
  if (!has_groups(p, 1)) return "more rows than a launch can have work-groups";
  Plan plan;
  define_launch(p, plan, "registers", "top_k/registers.cl", "top_k_registers");
  set_rows(p, plan, group, 1, p.cols);
  plan.items_per_work_item = std::bit_ceil(divide_up(at_least_1(p.cols), group));
  plan.tile_cols = group * plan.items_per_work_item;
  const std::size_t candidates = std::bit_ceil(std::max<std::size_t>(2 * p.k, 64));
  plan.local_bytes =
      candidates * (image_bytes(p) + 6) + group * (image_bytes(p) + 4) + 4 * kTileDigits + kWords;
  if (plan.local_bytes > device.local_bytes) return no_tile_fits(device);
  define_collectives(device, plan, group);
  define(plan, {{"ITEMS", plan.items_per_work_item}, {"CANDIDATES", candidates}});
  plan.prediction.bytes_read = real(all_rows(p), p.cols, size_of(p.type));
  predict_results(p, plan);
  plan.reason = "one launch: a group reads its row once; the best of each work-item bound the results";
  return plan;
}

/// Several short rows a group: all of a row's elements are sorted.
Attempt network(const Device& device, const TopKProblem& p, std::size_t wanted) {
  const TopKPolicy& policy = top_k_policy(device);
  if (p.cols > policy.network_row) return formatted("more than {} elements in a row", policy.network_row);
  const std::size_t width = std::bit_ceil(at_least_1(p.cols)), items = std::min<std::size_t>(4, width),
                    team = width / items,
                    entry = size_of(p.type) < 4    ? 4
                            : size_of(p.type) == 8 ? 16
                                                   : 8;
  const std::size_t group =
      group_for(device, wanted != 0 ? wanted : policy.network_group, items * (2 + entry), kWords);
  if (group < team) return no_tile_fits(device);
  const bool shuffles = team <= 32 && uses_shuffles(device, group);
  const std::size_t groups = divide_up(all_rows(p), group / team);
  if (groups > kMaxTiles) return "more rows than a launch can have work-groups";
  Plan plan;
  define_launch(p, plan, "network", "top_k/network.cl", "top_k_network");
  set_groups(plan, group, groups);
  plan.numbers = {{"size", p.cols}, {"parts", 1}};
  plan.items_per_work_item = items;
  plan.tile_rows = group / team;
  plan.tile_cols = width;
  plan.local_bytes = 2 * group * items + (shuffles ? entry : group * items * entry) + kWords;
  define(plan, {{"GROUP", group}, {"TEAM", team}, {"LOG_ITEMS", std::countr_zero(items)}});
  if (shuffles) define(plan, "SHUFFLE", 1);
  define_sub_group(device, plan);
  plan.prediction.bytes_read = real(all_rows(p), p.cols, size_of(p.type));
  predict_results(p, plan);
  plan.reason = formatted("{} work-items sort a row of up to {} elements in their registers", team, width);
  return plan;
}

/// Work-items of a row, its delegates in the registers of each, and work-items that read a span.
struct RowDelegates {
  std::size_t group = 0, items = 0, team = 1;
};

/// A work-item reads as many packs as hide the memory's latency, and there are several spans for each result,
/// so that few elements are read again. Nothing where the row has more spans than a group keeps.
std::optional<RowDelegates> row_delegates_of(const Device& device, const TopKProblem& p, std::size_t pack,
                                             std::size_t wanted) {
  const TopKPolicy& policy = top_k_policy(device);
  const std::size_t packs = at_least_1(divide_up(p.cols, pack));
  const std::size_t usual = std::bit_ceil(divide_up(packs, policy.row_packs));
  RowDelegates sizes;
  sizes.group = group_for(
      device, wanted != 0 ? wanted : std::clamp(usual, policy.least_row_group, policy.row_group), 0);
  if (sizes.group == 0) return std::nullopt;
  const std::size_t spans_wanted = policy.spans_a_result * at_least_1(p.k);
  sizes.team = std::min({std::bit_floor(at_least_1(packs / spans_wanted)), policy.row_team, sizes.group});
  for (; sizes.team <= std::min(policy.row_team, sizes.group); sizes.team *= 2) {
    sizes.items = std::bit_ceil(divide_up(divide_up(packs, sizes.team), sizes.group));
    if (sizes.items * image_bytes(p) <= policy.row_items * 4) return sizes;
  }
  return std::nullopt;
}

Attempt row_delegates(const Device& device, const TopKProblem& p, std::size_t wanted) {
  const TopKPolicy& policy = top_k_policy(device);
  if (p.k > policy.register_k) return formatted("more than {} results", policy.register_k);
  const std::size_t bytes = image_bytes(p), pack = 16 / size_of(p.type);
  const std::optional<RowDelegates> sizes = row_delegates_of(device, p, pack, wanted);
  if (!sizes) return formatted("a row of {} elements has more spans than a group keeps", p.cols);
  const std::size_t span = sizes->team * pack, spans = divide_up(p.cols, span);
  if (spans < policy.least_gain * p.k || sizes->group * sizes->items < p.k)
    return formatted("{} spans are too large a part of a row", p.k);
  if (!has_groups(p, 1)) return "more rows than a launch can have work-groups";
  const std::size_t candidates = std::bit_ceil(std::max<std::size_t>(2 * p.k, 64));
  const std::size_t parts = std::min(sizes->items, std::bit_ceil(at_least_1(divide_up(p.k, sizes->group))));
  Plan plan;
  define_launch(p, plan, "row_delegates", "top_k/row_delegates.cl", "top_k_row_delegates");
  set_rows(p, plan, sizes->group, 1, p.cols);
  plan.items_per_work_item = sizes->items * span;
  plan.tile_cols = sizes->group * sizes->items * span;
  plan.vector_width = pack;
  define_collectives(device, plan, sizes->group);
  const bool shuffles = uses_shuffles(device, sizes->group);
  const std::size_t exchanged = shuffles || sizes->team == 1 ? 0 : sizes->team * sizes->group;
  plan.local_bytes =
      candidates * (bytes + size_of(p.type) + 10) + sizes->group * (bytes + 4) + exchanged * bytes + kWords;
  if (plan.local_bytes > device.local_bytes) return no_tile_fits(device);
  define(plan, {{"PACK", pack},
                {"TEAM", sizes->team},
                {"ITEMS", sizes->items},
                {"PARTS", parts},
                {"CANDIDATES", candidates}});
  if (p.row_alignment < 16) define(plan, "ALIGNED", 0);
  plan.prediction.bytes_read =
      real(all_rows(p), p.cols, size_of(p.type)) + real(all_rows(p), p.k * span, size_of(p.type));
  predict_results(p, plan);
  plan.reason = formatted(
      "one launch: a group finds the best of each {} neighbours, then reads {} such spans again", span, p.k);
  return plan;
}

/// The largest spans of which k fit a tile, and of which a row has k; nothing where not even small ones do.
std::optional<Levels> levels_of(const Device& device, const TopKProblem& p, std::size_t wanted) {
  const TopKPolicy& policy = top_k_policy(device);
  Levels levels;
  const std::size_t least = std::bit_width(16 / size_of(p.type));
  for (levels.span_bits = policy.span_bits; levels.span_bits >= least; --levels.span_bits) {
    if (p.k > kMostTile >> levels.span_bits) continue;
    const std::optional<TopKTile> tile = tile_of(device, p, p.k << levels.span_bits, wanted);
    if (!tile) continue;
    levels.tile = *tile;
    // What a tile holds needs no delegates, but a row has some, or this were the variant "tile".
    levels.sizes = {p.cols};
    do {
      levels.sizes.push_back(divide_up(levels.sizes.back(), std::size_t{1} << levels.span_bits));
    } while (levels.sizes.back() > std::max<std::size_t>(p.k << levels.span_bits, 1));
    if (levels.sizes.back() >= p.k) return levels;
  }
  return std::nullopt;
}

Attempt delegates(const Device& device, const TopKProblem& p, const Levels& levels, std::size_t wanted) {
  const std::size_t count = levels.sizes.size() - 1;  // of levels that are made
  std::vector<std::size_t> begins{0, 0};
  for (std::size_t level = 1; level < count; ++level)
    begins.push_back(begins.back() + size_product(all_rows(p), padded(levels.sizes[level])));
  Plan plan;
  for (std::size_t level = 0; level < count; ++level) {
    std::optional<Launch> launch = delegates_of(device, p, levels, level, wanted);
    if (!launch) return "more spans than a launch can have work-groups";
    launch->numbers.insert(launch->numbers.end(), {{"from", begins[level]}, {"to", begins[level + 1]}});
    plan.before.push_back(std::move(*launch));
  }
  std::size_t turn = 1;
  for (std::size_t level = count; level > 0; --level) {
    const TileSource source{levels.sizes[level], level, begins[level], level < count, levels.span_bits};
    const std::optional<TopKTile> tile =
        source.listed ? levels.tile : tile_of(device, p, source.size, wanted);
    if (!tile) return "no local memory for the last delegates";
    Launch launch;
    define_launch(p, launch, source.listed ? "spans_of_spans" : "spans", "top_k/tile.cl", "top_k_tile");
    make_tile(device, p, *tile, source, launch);
    launch.numbers.emplace_back("turn", turn);
    launch.prediction.bytes_written = 4 * real(all_rows(p), p.k);
    launch.reason = formatted("the {} spans with the best delegates", p.k);
    plan.before.push_back(std::move(launch));
    turn = 1 - turn;
  }
  define_launch(p, plan, "delegates", "top_k/tile.cl", "top_k_tile");
  make_tile(device, p, levels.tile, {.size = p.cols, .listed = true, .span_bits = levels.span_bits}, plan);
  plan.numbers.emplace_back("turn", turn);
  predict_results(p, plan);
  const std::size_t last = size_product(all_rows(p), padded(levels.sizes[count]));
  add_scratch(plan, (begins[count] + last) * image_bytes(p));
  add_scratch(plan, 2 * 4 * size_product(all_rows(p), p.k));
  plan.reason = formatted("one pass finds the best of each {} neighbours; then only {} such spans are read",
                          std::size_t{1} << levels.span_bits, p.k);
  return plan;
}

/// By tiles where two levels or less lead to one.
Attempt some_delegates(const Device& device, const TopKProblem& p, std::size_t wanted) {
  const std::optional<Levels> levels = levels_of(device, p, wanted);
  if (!levels || levels->sizes.size() > 3) {
    Attempt many = many_delegates(device, p, wanted);
    if (many.plan || !levels) return many;
  }
  return delegates(device, p, *levels, wanted);
}

/// Spans for a thread, so that there are about as many delegates as elements in k spans. 0: where these
/// elements would be more than half of the row.
std::size_t cpu_span_bits(const TopKPolicy& policy, const TopKProblem& p) {
  std::size_t bits = policy.cpu_least_bits;
  while (bits < policy.cpu_most_bits && (at_least_1(p.k) << (2 * bits)) < p.cols)
    ++bits;
  return (p.k << bits) <= p.cols / 2 ? bits : 0;
}

/// The n-th element of a vector by threads that count digits of its parts; nothing where it is short, or
/// where local memory has no room for the counts.
std::optional<Plan> cpu_nth(const Device& device, const TopKProblem& p) {
  constexpr std::size_t kDigitBits = 11, kDigits = std::size_t{1} << kDigitBits, kTables = 4;
  constexpr std::size_t kLocal = kTables * kDigits * 4 + kWords;
  constexpr std::size_t kListed = 4;  // a part lists at most such a part of its elements
  const TopKPolicy& policy = top_k_policy(device);
  if (p.op != TopKOp::nth_element || p.cols < 2 * policy.cpu_nth_elements || kLocal > device.local_bytes)
    return std::nullopt;
  const std::size_t turns = divide_up(8 * size_of(p.type), kDigitBits);
  const std::size_t most = at_least_1(policy.cpu_groups_a_unit * device.compute_units);
  const std::size_t piece =
      divide_up(p.cols, std::clamp<std::size_t>(p.cols / policy.cpu_nth_elements, 1, most));
  const std::size_t parts = divide_up(p.cols, piece), room = piece / kListed;
  const std::size_t counts_at = turns * kDigits, states_at = counts_at + padded(parts);
  Plan plan;
  define_launch(p, plan, "cpu", "top_k/cpu_nth.cl", "top_k_cpu_nth");
  Launch count = plan;
  const auto set = [&](Launch& launch, std::size_t groups) {
    set_groups(launch, 1, groups);
    launch.numbers = {{"size", p.cols},    {"parts", parts},       {"piece", piece},
                      {"span_bits", room}, {"list_at", counts_at}, {"to", states_at}};
  };
  set(count, parts);
  count.tile_cols = count.items_per_work_item = piece;
  count.local_bytes = kLocal;
  count.prediction.bytes_read = 2 * real(p.cols, size_of(p.type));
  count.reason = formatted(
      "counts digits of {} bits, highest first; few elements that have the digits found "
      "so far are listed",
      kDigitBits);
  set_repeats(count, turns);
  set(plan, 1);
  define(plan, "PHASE", 1);
  plan.numbers.emplace_back("turn", turns);
  plan.tile_cols = plan.items_per_work_item = p.cols;
  predict_results(p, plan);
  plan.reason = "the element of the digits that were found";
  add_scratch(plan, size_product(parts * room, image_bytes(p)));
  add_scratch(plan, 4 * states_at + 16 * (turns + 1), 4 * counts_at);
  plan.before.push_back(std::move(count));
  return plan;
}

Attempt cpu(const Device& device, const TopKProblem& p) {
  if (!runs_cpu_variant(device)) return no_cpu_variant(device);
  constexpr std::size_t kDigits = 2048;
  const TopKPolicy& policy = top_k_policy(device);
  const std::size_t bits = cpu_span_bits(policy, p), rows = all_rows(p),
                    most = policy.cpu_groups_a_unit * device.compute_units;
  if (bits == 0)
    if (std::optional<Plan> plan = cpu_nth(device, p)) return *std::move(plan);
  const std::size_t spans = at_least_1(divide_up(p.cols, std::size_t{1} << bits));
  const std::size_t stretches = std::clamp<std::size_t>(p.cols / policy.cpu_elements, 1, at_least_1(most));
  const bool apart = rows < 2 * device.compute_units && stretches > 1;
  const std::size_t groups = apart ? at_least_1(rows) : std::clamp<std::size_t>(rows, 1, at_least_1(most));
  Plan plan;
  define_launch(p, plan, "cpu", "top_k/cpu.cl", "top_k_cpu");
  plan.work_group = {1, 1, 1};
  plan.global = {groups, 1, 1};
  plan.tile_cols = plan.items_per_work_item = at_least_1(p.cols);
  plan.local_bytes = 4 * kDigits + kWords;
  if (plan.local_bytes > device.local_bytes) return no_tile_fits(device);
  define(plan, "SPAN_BITS", bits);
  define_read_ahead(device, plan);
  const std::size_t delegates = size_product(groups, padded(spans));
  plan.numbers = {{"size", p.cols}, {"parts", 1}, {"from", 0}, {"to", delegates}};
  plan.prediction.bytes_read = real(rows, p.cols, size_of(p.type));
  predict_results(p, plan);
  plan.reason =
      bits == 0 ? "a thread selects from the sort codes of its row"
                : formatted("a thread finds the best of each {} neighbours, then selects from a few spans",
                            std::size_t{1} << bits);
  const std::size_t kept = std::max<std::size_t>(p.k << bits, 2 * p.k);
  add_scratch(plan, size_product(delegates + size_product(groups, kept), image_bytes(p)));
  add_scratch(plan, 12 * size_product(groups, p.k));
  if (!apart) return plan;
  define(plan, "OWN_DELEGATES", 0);
  plan.prediction.bytes_read = real(rows, spans, image_bytes(p)) + real(rows, p.k << bits, size_of(p.type));
  Launch first;
  define_launch(p, first, "delegates", "top_k/cpu.cl", "top_k_cpu");
  const std::size_t piece = divide_up(spans, stretches), parts = divide_up(spans, piece);
  set_rows(p, first, 1, parts, p.cols);
  first.numbers.insert(first.numbers.end(), {{"piece", piece}, {"from", 0}});
  first.tile_cols = first.items_per_work_item = piece << bits;
  define(first, {{"SPAN_BITS", bits}, {"PHASE", 0}});
  first.prediction.bytes_read = real(rows, p.cols, size_of(p.type));
  first.prediction.bytes_written = real(rows, spans, image_bytes(p));
  first.reason = formatted("the best of each {} neighbours; one thread a chunk", std::size_t{1} << bits);
  plan.before.push_back(std::move(first));
  return plan;
}

Attempt plan_variant(const Device& device, const TopKProblem& p, const PlanOverrides& fixed,
                     std::string_view variant) {
  if (variant == "tile") return tile(device, p, fixed.work_items);
  if (variant == "registers") return registers(device, p, fixed.work_items);
  if (variant == "network") return network(device, p, fixed.work_items);
  if (variant == "row_delegates") return row_delegates(device, p, fixed.work_items);
  if (variant == "delegates") return some_delegates(device, p, fixed.work_items);
  if (variant == "cpu") return cpu(device, p);
  return radix_select(device, p, fixed.work_items);
}

/// Whether the one group of a row would take longer for its tiles of delegates and spans than all groups take
/// for the digits of a radix select. Not measured: elements of one byte and of eight, and the n-th element
/// alone.
bool prefers_radix(const Device& device, const TopKProblem& p) {
  const TopKPolicy& policy = top_k_policy(device);
  const std::size_t bytes = size_of(p.type);
  if (policy.radix_from == 0 || p.op != TopKOp::top_k || bytes == 1 || bytes == 8) return false;
  if (p.k > policy.order_tile) return size_product(all_rows(p), p.cols) <= policy.radix_elements_of_many;
  const std::optional<Levels> levels = levels_of(device, p, 0);
  if (!levels || levels->sizes.size() > 3) return false;  // of many delegates, which groups share
  const std::size_t spans = p.k << levels->span_bits;
  const std::size_t tiles = levels->sizes.back() + (levels->sizes.size() - 1) * spans;
  return tiles > policy.radix_from + size_product(all_rows(p), p.cols) / policy.radix_elements;
}

std::vector<std::string_view> preference(const Device& device, const TopKProblem& p,
                                         const PlanOverrides& /*fixed*/) {
  const TopKPolicy& policy = top_k_policy(device);
  if (runs_cpu_variant(device))
    return {"cpu", "tile", "registers", "row_delegates", "delegates", "radix_select"};
  if (!policy.by_row_delegates) return {"registers", "tile", "row_delegates", "delegates", "radix_select"};
  if (p.cols <= policy.network_first)
    return {"network", "row_delegates", "registers", "tile", "delegates", "radix_select"};
  if (p.cols <= policy.network_chosen)
    return {"row_delegates", "network", "registers", "tile", "delegates", "radix_select"};
  // Each candidate counts all others.
  if (p.k > policy.counted_k && p.cols <= policy.counted_row)
    return {"tile", "registers", "delegates", "row_delegates", "radix_select"};
  // One group a row is too few for few long rows.
  if (p.cols > policy.few_rows && all_rows(p) < 2 * device.compute_units && prefers_radix(device, p))
    return {"registers", "tile", "radix_select", "delegates", "row_delegates"};
  if (p.cols > policy.few_rows && all_rows(p) < 2 * device.compute_units)
    return {"registers", "tile", "delegates", "row_delegates", "radix_select"};
  return {"row_delegates", "registers", "tile", "delegates", "radix_select"};
}

std::string why_not(const Device& device, const TopKProblem& p, std::string_view variant,
                    const Plan& chosen) {
  if (chosen.variant == "cpu") return "a CPU runs work-items that share local memory as loops";
  if (chosen.variant == "row_delegates" && variant != "network") {
    return variant == "registers" || variant == "tile"
               ? "keeps or counts all elements of a row, not the best of spans"
               : "takes several launches; one group reads such a row once";
  }
  if (variant == "row_delegates") return "one group a row, which must have several spans for each result";
  if (chosen.variant == "registers") {
    return variant == "tile" ? "local memory and its atomics for all elements"
                             : "takes several launches; one group reads such a row once";
  }
  if (variant == "network" || chosen.variant == "network") {
    return variant == "network" ? "sorts all elements of a row, which takes long for longer rows"
                                : "a group has one row; a warp's registers sort several short ones";
  }
  if (variant == "registers") return "one group a row, and few results";
  if (chosen.variant == "tile") return "takes several launches; one group reads such a row once";
  if (variant == "cpu") return "one thread a row";
  if (variant == "delegates" && prefers_radix(device, p))
    return "one group would select from the delegates and spans of many results";
  return "reads all elements once for each digit";
}

const Evidence& evidence(const Device& device, const TopKProblem& p, const Plan& plan) {
  const TopKPolicy& policy = top_k_policy(device);
  return plan.variant == "radix_select" && prefers_radix(device, p) ? policy.of_radix : policy.evidence;
}

constexpr Operation<TopKProblem> kTopK{.what = "selection",
                                       .name = operation_name,
                                       .variants = top_k_variants,
                                       .check = check_top_k,
                                       .preference = preference,
                                       .attempt = plan_variant,
                                       .why_not = why_not,
                                       .evidence = evidence,
                                       .one_work_item = "a thread has a row"};

}  // namespace

void plan::check_top_k(const Device& /*device*/, const TopKProblem& p) {
  require_known("top_k", "op", p.op, TopKOp::nth_element);
  const char* operation = name_of(p.op).data();
  require_known(operation, "in", p.type);
  require_order(operation, {p.least, p.total_order, p.nan_least});
  require_known(operation, "places", p.places);
  require_one_of(operation, "places", p.places, {Scalar::uint32, Scalar::uint64});
  require_elements(operation, "in", {p.rows, p.cols, p.batch});
  if (p.cols > kMostSelectable)
    plan::refuse(operation, "in", "at most 2^32 - 65536 elements of a row", formatted("{}", p.cols));
  if (p.k <= p.cols) return;
  if (p.op == TopKOp::top_k)
    plan::refuse(operation, "values", formatted("at most {} of a row", p.cols), formatted("{}", p.k));
  plan::refuse(operation, "n", formatted("less than {}", p.cols), formatted("{}", p.k - 1));
}

std::string_view name_of(TopKOp op) {
  static constexpr std::array<std::string_view, 2> kNames{"top_k", "nth_element"};
  return plan::name_among(kNames, op);
}

std::vector<std::string_view> top_k_variants() {
  return {"radix_select", "delegates", "tile", "registers", "network", "row_delegates", "cpu"};
}

Plan plan_top_k(const Device& device, const TopKProblem& problem, const PlanOverrides& overrides) {
  return plan_call(kTopK, "top_k", problem.type, device, problem, overrides);
}

}  // namespace smem
