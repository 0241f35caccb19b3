// Plans for selections by radix select, and from so many delegates that groups share them.
#include "plan/top_k_launches.hpp"

#include "formatted.hpp"

#include <algorithm>
#include <bit>
#include <initializer_list>
#include <utility>

namespace smem::plan::selection {

namespace {

/// Launches after the selection that sort its results, which stand in temporary memory.
bool add_order(const Device& device, const TopKProblem& p, Plan& plan) {
  const TopKPolicy& policy = top_k_policy(device);
  std::size_t tile = std::min(policy.order_tile, std::bit_ceil(at_least_1(p.k)));
  while (tile > 1 && tile * (image_bytes(p) + 2) + kWords > device.local_bytes)
    tile /= 2;
  const std::size_t group = group_for(device, std::min(policy.order_group, tile), 0);
  const std::size_t tiles = divide_up(at_least_1(p.k), tile);
  std::size_t merges = 0;
  while ((tile << merges) < p.k)
    ++merges;
  if (!has_groups(p, tiles) || !has_groups(p, divide_up(at_least_1(p.k), group))) return false;
  Launch sort;
  define_launch(p, sort, "sort", "top_k/order.cl", "top_k_order");
  set_rows(p, sort, group, tiles, p.cols);
  sort.tile_cols = tile;
  sort.local_bytes = tile * (image_bytes(p) + 2) + kWords;
  define(sort, {{"GROUP", group}, {"TILE", tile}});
  sort.numbers.emplace_back("turn", merges % 2 == 0 ? 1 : 0);
  sort.prediction.bytes_read = sort.prediction.bytes_written = real(all_rows(p)) * real(results_bytes(p));
  sort.reason = "a sorting network sorts tiles of results";
  plan.after.push_back(std::move(sort));
  if (merges == 0) return true;
  Launch merge;
  define_launch(p, merge, "merge", "top_k/order.cl", "top_k_order");
  set_rows(p, merge, group, divide_up(p.k, group), p.cols);
  define(merge, {{"GROUP", group}, {"PHASE", 1}});
  merge.numbers.emplace_back("piece", tile);
  merge.prediction.bytes_read = merge.prediction.bytes_written = real(all_rows(p)) * real(results_bytes(p));
  set_repeats(merge, merges);
  merge.reason = "merges pairs of sorted runs: each result finds its rank in the other run by bisection";
  plan.after.push_back(std::move(merge));
  return true;
}

/// How a radix select reads a row's elements, delegates or listed spans.
struct RadixSource {
  std::size_t size = 0;   ///< elements of the row, or its delegates
  std::size_t count = 0;  ///< of them that it goes through
  std::size_t level = 0;
  bool listed = false;  ///< of k spans in a list
  std::size_t span_bits = 0;
};

/// The launches of a radix select: how groups share a row, and where its tables are.
struct Radix {
  std::size_t group = 0, digit_bits = 0, passes = 0, piece = 0, parts = 0, local_bytes = 0;
  std::size_t bins_at = 0, list_at = 0, from = 0, to = 0;  ///< words of the lists
  std::size_t digits() const { return std::size_t{1} << digit_bits; }
};

std::optional<Radix> radix_of(const Device& device, const TopKProblem& p, std::size_t count,
                              std::size_t wanted) {
  const TopKPolicy& policy = top_k_policy(device);
  Radix radix;
  radix.group = group_for(device, wanted != 0 ? wanted : policy.radix_group, 4, 8 + kWords);
  if (radix.group == 0) return std::nullopt;
  radix.digit_bits = count < policy.long_row ? policy.digit_bits : policy.digit_bits_of_long;
  const auto local_bytes = [&] { return 4 * radix.digits() + 4 * radix.group + kWords; };
  while (radix.digit_bits > 1 && local_bytes() > device.local_bytes)
    --radix.digit_bits;
  radix.local_bytes = local_bytes();
  if (radix.local_bytes > device.local_bytes) return std::nullopt;
  radix.passes = divide_up(8 * size_of(p.type), radix.digit_bits);
  const std::size_t step = radix.group * policy.radix_items;
  const std::size_t most = at_least_1(policy.groups_a_unit * device.compute_units / at_least_1(all_rows(p)));
  radix.piece = round_up(divide_up(at_least_1(count), most), step);
  radix.parts = divide_up(at_least_1(count), radix.piece);
  if (!has_groups(p, radix.parts)) return std::nullopt;
  return radix;
}

/// Adds the temporary memory: bytes of images, whose place results take before they are sorted; the tables of
/// radix selects, all bins, the list of spans, then all others; and places of results.
void place_tables(const TopKProblem& p, std::initializer_list<Radix*> all, std::size_t images, bool has_list,
                  Plan& plan) {
  std::size_t at = 0;
  for (Radix* radix : all) {
    radix->bins_at = at;
    at += size_product(all_rows(p), radix->passes * radix->digits());
  }
  const std::size_t bins = at;
  if (has_list) at += size_product(all_rows(p), p.k);
  for (Radix* radix : all) {
    radix->list_at = bins;
    radix->from = at;
    radix->to = round_up(at + 2 * size_product(all_rows(p), radix->parts), 2);
    at = radix->to + 6 * size_product(all_rows(p), radix->passes + 1);
  }
  const std::size_t results = orders(p) ? size_product(all_rows(p), p.k) : 0;
  add_scratch(plan, std::max(images, size_product(results, size_of(p.type))));
  add_scratch(plan, 4 * at, 4 * bins);
  add_scratch(plan, size_product(results, size_of(p.places)));
}

/// The launches of a radix select but the last one, which becomes `last`.
void add_radix(const Device& device, const TopKProblem& p, const RadixSource& source, const Radix& radix,
               const char* variant, Launch& last, std::vector<Launch>& before) {
  const TopKPolicy& policy = top_k_policy(device);
  const auto make = [&](Launch& launch, const char* name, std::size_t phase, std::size_t turn) {
    define_launch(p, launch, name, "top_k/radix.cl", "top_k_radix");
    set_rows(p, launch, radix.group, radix.parts, source.size);
    launch.numbers.insert(launch.numbers.end(), {{"piece", radix.piece},
                                                 {"turn", turn},
                                                 {"span_bits", source.span_bits},
                                                 {"from", radix.from},
                                                 {"to", radix.to},
                                                 {"bins_at", radix.bins_at},
                                                 {"list_at", radix.list_at}});
    launch.items_per_work_item = policy.radix_items;
    launch.tile_cols = radix.group * policy.radix_items;
    launch.local_bytes = radix.local_bytes;
    define_collectives(device, launch, radix.group);
    define(launch, {{"ITEMS", policy.radix_items}, {"DIGIT_BITS", radix.digit_bits}, {"PHASE", phase}});
    if (source.level != 0) define(launch, "LEVEL", 1);
    if (source.listed) define(launch, "LISTED", 1);
    launch.prediction.bytes_read =
        real(all_rows(p), source.count, source.level != 0 ? image_bytes(p) : size_of(p.type));
  };
  const bool first = source.level != 0, second = source.listed;
  Launch histogram;
  make(histogram, first ? "span_histogram" : second ? "listed_histogram" : "histogram", 0, 0);
  set_repeats(histogram, radix.passes);
  histogram.reason = "counts of each digit among the elements that can still be the k-th";
  Launch count;
  make(count, first ? "span_count" : second ? "listed_count" : "count", 1, radix.passes);
  count.reason = "number of results in each part";
  before.insert(before.end(), {std::move(histogram), std::move(count)});
  make(last, variant, 2, radix.passes);
}

}  // namespace

std::optional<Launch> delegates_of(const Device& device, const TopKProblem& p, const Levels& levels,
                                   std::size_t level, std::size_t wanted) {
  const TopKPolicy& policy = top_k_policy(device);
  const std::size_t bytes = level == 0 ? size_of(p.type) : image_bytes(p), pack = 16 / bytes;
  const std::size_t span = std::size_t{1} << levels.span_bits;
  const std::size_t wanted_items = std::max(policy.kept_bytes / bytes, pack);
  const std::size_t group =
      group_for(device, wanted != 0 ? wanted : policy.delegate_group, image_bytes(p), kWords);
  if (group == 0) return std::nullopt;
  // A team reads whole lines; it has several spans where these are short.
  const std::size_t team =
      std::min(group, std::max(span / wanted_items, std::min(span / pack, policy.least_team)));
  const std::size_t own = span / team, kept = own * at_least_1(wanted_items / own);
  const std::size_t size = levels.sizes.at(level), parts = divide_up(size, group * kept);
  if (!has_groups(p, parts)) return std::nullopt;
  Launch launch;
  define_launch(p, launch, level == 0 ? "delegates" : "delegates_again", "top_k/delegates.cl",
                "top_k_delegates");
  set_rows(p, launch, group, parts, size);
  launch.items_per_work_item = kept;
  launch.vector_width = pack;
  launch.tile_cols = span;
  launch.local_bytes = group * image_bytes(p) + kWords;
  define_collectives(device, launch, group);
  define(launch, {{"PACK", pack}, {"KEPT", kept}, {"OWN", own}, {"TEAM", team}});
  if (level != 0) define(launch, "LEVEL", 1);
  if (level == 0 && p.row_alignment < 16) define(launch, "ALIGNED", 0);
  launch.prediction.bytes_read = real(all_rows(p), size, bytes);
  launch.prediction.bytes_written = real(all_rows(p), levels.sizes.at(level + 1), image_bytes(p));
  launch.reason = formatted("the best of each {} neighbours (their delegate)", span);
  return launch;
}

Attempt radix_select(const Device& device, const TopKProblem& p, std::size_t wanted) {
  std::optional<Radix> radix = radix_of(device, p, p.cols, wanted);
  if (!radix) return "no local memory for digits, or more rows than a launch can have work-groups";
  Plan plan;
  place_tables(p, {&*radix}, 0, false, plan);
  add_radix(device, p, {.size = p.cols, .count = p.cols}, *radix, "radix_select", plan, plan.before);
  plan.reason = formatted("{} passes of {} bits find the k-th element; two more count and write the results",
                          radix->passes, radix->digit_bits);
  predict_results(p, plan);
  if (orders(p) && !add_order(device, p, plan)) return "more results than a launch can have work-groups";
  return plan;
}

Attempt many_delegates(const Device& device, const TopKProblem& p, std::size_t wanted) {
  const TopKPolicy& policy = top_k_policy(device);
  const std::size_t k = at_least_1(p.k), least = std::bit_width(16 / size_of(p.type));
  Levels levels;
  // About as many delegates as elements in k spans.
  levels.span_bits = std::clamp<std::size_t>(std::bit_width(p.cols / k) / 2, least, policy.span_bits);
  const std::size_t spans = divide_up(p.cols, std::size_t{1} << levels.span_bits);
  if ((k << levels.span_bits) > p.cols / policy.least_gain)
    return formatted("{} spans are too large a part of a row", p.k);
  levels.sizes = {p.cols, spans};
  std::optional<Launch> first = delegates_of(device, p, levels, 0, wanted);
  const std::size_t listed = k << levels.span_bits;
  std::optional<Radix> of_spans = radix_of(device, p, spans, wanted),
                       of_elements = radix_of(device, p, listed, wanted);
  if (!first || !of_spans || !of_elements)
    return "no local memory for digits, or more rows than a launch can have work-groups";
  Plan plan;
  plan.before.push_back(std::move(*first));
  const std::size_t images = size_product(all_rows(p), padded(spans)) * image_bytes(p);
  place_tables(p, {&*of_spans, &*of_elements}, images, true, plan);
  Launch list;
  add_radix(device, p, {.size = spans, .count = spans, .level = 1}, *of_spans, "spans", list, plan.before);
  list.prediction.bytes_written = 4 * real(all_rows(p), p.k);
  list.reason = formatted("the {} spans with the best delegates", p.k);
  plan.before.push_back(std::move(list));
  add_radix(device, p, {.size = p.cols, .count = listed, .listed = true, .span_bits = levels.span_bits},
            *of_elements, "delegates", plan, plan.before);
  plan.reason = formatted(
      "one pass finds the best of each {} neighbours; radix selects find {} such spans, then the results",
      std::size_t{1} << levels.span_bits, p.k);
  predict_results(p, plan);
  if (orders(p) && !add_order(device, p, plan)) return "more results than a launch can have work-groups";
  return plan;
}

}  // namespace smem::plan::selection
