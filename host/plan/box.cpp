// Plans for box blurs: where the sums that slide are kept, and why.
#include <smem/blur_plan.hpp>

#include "formatted.hpp"
#include "plan/box.hpp"
#include "plan/box_policy.hpp"
#include "plan/pixels.hpp"
#include "plan/variants.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <string>

namespace smem {

namespace {

using namespace plan;

constexpr std::size_t kCpuLanes = 8;

/// The largest number of an integer type of pixels.
std::size_t most_of(Scalar type) { return type == Scalar::uint8 ? 255 : 65535; }

/// Whether sums of integers are at most 2^24, to which floats hold whole numbers.
bool has_small_sums(const SeparableProblem& g) {
  return g.row_taps * g.column_taps * (most_of(g.in) + 1) <= std::size_t{1} << 24;
}

}  // namespace

BoxSum plan::box_sum(const SeparableProblem& g) {
  if (is_float(g.in)) {
    return pixel_value(g.in, g.out) == Scalar::float64 ? BoxSum{"double", 8, false}
                                                       : BoxSum{"float", 4, false};
  }
  // Half an area is added before it is divided by.
  const std::size_t area = g.row_taps * g.column_taps;
  return area * (most_of(g.in) + 1) <= 0xffffffff ? BoxSum{"uint", 4, true} : BoxSum{"ulong", 8, true};
}

Plan plan::box_plan(const SeparableProblem& g, std::string_view variant, const char* file,
                    const char* entry) {
  Plan plan = filter_plan(kBoxName, variant, file, entry, g, g.row_taps / 2, g.column_taps / 2);
  plan.text_defines.emplace_back("SUM", box_sum(g).name);
  define(plan, "SUM_INTEGER", box_sum(g).integer ? 1 : 0);
  if (!is_float(g.in) && is_float(g.out) && has_small_sums(g)) define(plan, "SMALL_SUMS", 1);
  plan.prediction.operations = 6 * real(g.elements());
  return plan;
}

bool plan::uses_box_shuffles(const Device& device, std::size_t group) {
  return is_nvidia_gpu(device) && group % 32 == 0;
}

std::size_t plan::box_halo(const SeparableProblem& g, std::size_t columns) {
  const std::size_t side = g.row_taps / 2 * g.channels;
  return round_up(round_up(side + g.channels, columns) + side, columns);
}

namespace {

/// Whether separable() computes it, by sums of floats.
bool is_separable(const SeparableProblem& g) { return is_float(g.in) || has_small_sums(g); }

/// How groups share a plane: strips of columns, and bands of rows.
struct BoxStrip {
  std::size_t group = 0, columns = 0, results = 0;
  std::size_t step = 0, ahead = 0;
  std::size_t bytes = 0;
  std::size_t bands = 1, band = 1;
  bool ring = false;
  double work = 0;  ///< column sums of a unit, until all are done
};

/// Bytes of what a work-item reads of a row.
std::size_t part_bytes(const SeparableProblem& g, std::size_t columns) {
  if (!is_float(g.in)) return 4 * size_of(g.in);
  return columns * (g.in == Scalar::half ? sizeof(float) : size_of(g.in));
}

/// Local memory of a strip without its ring.
std::size_t tile_bytes(const Device& device, const SeparableProblem& g, const BoxStrip& strip) {
  const std::size_t row = strip.group * strip.columns;
  const std::size_t sums = uses_box_shuffles(device, strip.group) ? 2 * row : row + g.channels * strip.group;
  return strip.step * sums * box_sum(g).bytes;
}

/// Groups that are resident on a unit.
std::size_t resident_groups(const Device& device, const BoxStrip& strip) {
  const std::size_t memory = std::max(device.unit.local_bytes, device.local_bytes);
  const std::size_t by_memory = memory / (strip.bytes + device.unit.local_reserved + kOwnBytes);
  const std::size_t by_items = box_policy(device).march.items_a_unit / strip.group;
  return at_least_1(std::min(by_memory, by_items));
}

/// Bands, so that the groups are one round of those that are resident.
void set_bands(const Device& device, const SeparableProblem& g, BoxStrip& strip) {
  const BoxMarch& policy = box_policy(device).march;
  const std::size_t units = at_least_1(device.compute_units);
  const std::size_t strips = divide_up(g.row_elements(), strip.results) * g.planes;
  std::size_t bands = units * resident_groups(device, strip) / at_least_1(strips);
  if (!strip.ring && device.cache_bytes != 0) {
    // The rows of all bands' boxes are read again from the cache if half of it holds them.
    const std::size_t rows = size_product(g.column_taps, g.row_elements(), size_of(g.in));
    bands = std::min(bands, std::max(device.cache_bytes / 2 / at_least_1(rows), units / at_least_1(strips)));
  }
  const std::size_t least = std::min(g.height, policy.band_boxes * g.column_taps);
  strip.band = std::max({std::size_t{1}, least, divide_up(g.height, at_least_1(bands))});
  strip.band = std::min(strip.band, std::size_t{1} << 30);
  strip.bands = divide_up(g.height, strip.band);
  // A row that is read again costs about half of what else is done for a row.
  const auto rows = real(strip.band + g.column_taps - 1);
  strip.work = real(divide_up(strips * strip.bands, units)) * rows * real(strip.group * strip.columns) *
               (strip.ring ? 1 : 1.25);
}

std::optional<BoxStrip> make_strip(const Device& device, const SeparableProblem& g, std::size_t group,
                                   std::size_t columns) {
  const BoxMarch& policy = box_policy(device).march;
  const std::size_t halo = box_halo(g, columns);
  const std::size_t most = local_room(device);
  if (group * columns < halo + columns) return std::nullopt;
  BoxStrip strip;
  strip.group = group;
  strip.columns = columns;
  strip.results = group * columns - halo;
  const std::size_t most_ahead = group > 512 ? policy.ahead_of_large : policy.ahead;
  const std::size_t ahead = at_least_1(policy.ahead_words * 4 / part_bytes(g, columns));
  strip.ahead = std::min(most_ahead, std::bit_floor(ahead));
  const std::size_t most_step = group > 256 && columns == 4 ? policy.step_of_four : policy.step;
  strip.step = std::min(most_step, strip.ahead);
  while (tile_bytes(device, g, strip) > most && strip.step > 1)
    strip.step /= 2;
  strip.bytes = tile_bytes(device, g, strip);
  if (strip.bytes > most) return std::nullopt;
  const std::size_t ring = (g.column_taps - 1) * group * part_bytes(g, columns);
  BoxStrip kept = strip;
  while (tile_bytes(device, g, kept) + ring > most && kept.step > 2)
    kept.step /= 2;
  kept.bytes = tile_bytes(device, g, kept) + ring;
  kept.ring = ring != 0 && kept.bytes <= most && resident_groups(device, kept) * group >= policy.ring_items;
  if (kept.ring) strip = kept;
  set_bands(device, g, strip);
  return strip;
}

/// The strip whose units are done first; `wanted`: work-items of a group, or 0.
std::optional<BoxStrip> strip_for(const Device& device, const SeparableProblem& g, std::size_t wanted) {
  const BoxMarch& policy = box_policy(device).march;
  const std::size_t limit = group_for(device, 2 * policy.most_group, 0);
  const std::size_t least = g.channels == 3 ? 3 : is_float(g.in) ? std::max(g.channels, policy.columns) : 4;
  std::optional<BoxStrip> best;
  const auto consider = [&](std::size_t group, std::size_t columns) {
    const std::optional<BoxStrip> strip = make_strip(device, g, group, columns);
    if (strip && (!best || strip->work < best->work)) best = strip;
    return strip.has_value();
  };
  for (std::size_t columns = least; columns <= std::max<std::size_t>(least, 4); columns *= 2) {
    if (wanted != 0) {
      consider(wanted, columns);
      continue;
    }
    const std::size_t least_group =
        g.row_taps > policy.wide ? policy.wide_group : std::bit_floor(policy.width / columns);
    const std::size_t first = std::min(limit, least_group);
    for (std::size_t group = first; group <= std::min(limit, policy.most_group); group *= 2)
      consider(group, columns);
    // Smaller ones where local memory is small, and larger ones where the box is.
    for (std::size_t group = first / 2; group > 0 && !best && !consider(group, columns); group /= 2) {
    }
    if (!best && limit > policy.most_group) consider(2 * policy.most_group, columns);
  }
  return best;
}

std::string no_room_for_box(const Device& device, const SeparableProblem& g) {
  return formatted("a box of {} x {} does not fit {} bytes of local memory", g.row_taps, g.column_taps,
                   device.local_bytes);
}

Attempt box_march(const Device& device, const SeparableProblem& g, std::size_t wanted) {
  if (!box_policy(device).march.used) return "its columns would not stay in registers";
  const std::optional<BoxStrip> strip = strip_for(device, g, wanted);
  if (!strip) return no_room_for_box(device, g);
  Plan plan = box_plan(g, "march", "blur/box_march.cl", "box_march");
  const std::size_t columns = strip->columns;
  const std::size_t groups = divide_up(g.row_elements(), strip->results) * strip->bands * g.planes;
  set_groups(plan, strip->group, groups, std::size_t{1} << 20);
  set_group_tile(plan, {.rows = strip->step,
                        .cols = strip->results,
                        .vector_width = columns,
                        .items = strip->step * columns,
                        .local_bytes = strip->bytes});
  const double share = real(strip->group * columns) / real(strip->results);
  const auto sum = real(box_sum(g).bytes), element = real(size_of(g.in));
  plan.prediction.local_bytes =
      real(g.elements()) * (share * (sum + (strip->ring ? 2 * element : 0)) + 3 * sum);
  define(plan, {{"GROUP", strip->group},
                {"COLS", columns},
                {"STEP", strip->step},
                {"AHEAD", strip->ahead},
                {"ROW_TAPS", g.row_taps},
                {"RING", strip->ring ? g.column_taps - 1 : 0},
                {"SMALL", is_float(g.in) ? 0 : size_of(g.in)}});
  if (uses_box_shuffles(device, strip->group)) define(plan, "SHUFFLES", 1);
  define(plan, "VECTOR_IN", columns != 3 && g.in_alignment >= columns * size_of(g.in) ? 1 : 0);
  plan.numbers = {{"band", strip->band}};
  plan.reason = formatted("running sums of columns; the rows that leave the box are {}",
                          strip->ring ? "kept in local memory" : "read again");
  return plan;
}

Attempt box_shuffle(const Device& device, const SeparableProblem& g, std::size_t wanted) {
  constexpr std::size_t kWarp = 32, kCols = 16;  // of cl/blur/box_shuffle.cl
  constexpr std::size_t kMost = std::size_t{1} << 30;
  const BoxShuffle& policy = box_policy(device).shuffle;
  const bool shuffles = is_nvidia_gpu(device) && compute_capability(device) >= 61;  // dot products, too
  const std::size_t step = shuffles ? policy.step : 1;  // what is emulated shall compile soon
  if (!shuffles && device.type != DeviceType::cpu)      // where it is emulated, for tests
    return "needs the shuffles of NVIDIA's GPUs";
  if (g.in != Scalar::uint8 || g.out != Scalar::uint8 || g.channels != 1) return "for bytes of one channel";
  if (g.in_alignment < kCols) return formatted("rows do not begin at multiples of {} bytes", kCols);
  if (g.width < kCols) return formatted("rows have fewer than {} bytes, which a work-item loads", kCols);
  // The sum of a column has 16 bits.
  const std::size_t side = g.row_taps / 2, most_rows = 0xffff / most_of(g.in);
  const std::size_t halo = divide_up(side + 1, kCols) + divide_up(side, kCols);  // work-items
  if (halo + policy.least_work_items > kWarp || g.column_taps > most_rows)
    return formatted("a box of {} x {} is too large for a warp", g.row_taps, g.column_taps);
  if (g.width > kMost || g.height > kMost) return formatted("more than {} columns or rows", kMost);
  const std::size_t group = wanted != 0 ? wanted : shuffles ? policy.group : kWarp;
  if (group % kWarp != 0 || (!shuffles && group != kWarp) || group > device.max_work_group)
    return formatted("groups have {}warps of {} work-items", shuffles ? "whole " : "single ", kWarp);
  // The sums of a warp's strip, and where shuffles are emulated what they exchange.
  const std::size_t local = group * step * kCols * sizeof(std::uint16_t) +
                            (shuffles ? 0 : step * kCols / 2 * kWarp * sizeof(std::uint32_t));
  if (local > local_room(device)) return no_tile_fits(device);
  Plan plan = box_plan(g, "shuffle", "blur/box_shuffle.cl", "box_shuffle");
  const std::size_t results = (kWarp - halo) * kCols;
  const std::size_t strips = divide_up(g.width, results) * g.planes;
  const std::size_t resident = policy.warps_a_unit * at_least_1(device.compute_units);
  const std::size_t least = std::min(g.height, policy.band_boxes * g.column_taps);
  const std::size_t bands = at_least_1(resident / at_least_1(strips));
  const std::size_t band = round_up(std::max({std::size_t{1}, least, divide_up(g.height, bands)}), step);
  const std::size_t warps = strips * divide_up(g.height, band);
  set_groups(plan, group, divide_up(warps * kWarp, group), std::size_t{1} << 20);
  set_group_tile(
      plan,
      {.rows = step, .cols = results, .vector_width = kCols, .items = step * kCols, .local_bytes = local});
  define(plan, {{"GROUP", group},
                {"STEP", step},
                {"ROW_TAPS", g.row_taps},
                {"SHUFFLES", shuffles ? 1 : 0},
                {"SMALL_SUMS", most_of(g.in) * g.row_taps * g.column_taps < std::size_t{1} << 23 ? 1 : 0},
                {"NARROW_SUMS", most_of(g.in) * g.column_taps < std::size_t{1} << 15 ? 1 : 0},
                {"VECTOR_OUT", g.out_alignment >= kCols ? 1 : 0}});
  plan.numbers = {{"band", band}};
  plan.reason = "running sums of columns, added along rows by shuffles: all sums stay in registers";
  return plan;
}

/// Sums of local memory that a thread of a CPU uses; 0: too few.
std::size_t box_cpu_memory(const Device& device, const SeparableProblem& g) {
  const std::size_t most = local_room(device) / box_sum(g).bytes;
  const std::size_t least = 3 * (round_up(g.halo() + 16 * kCpuLanes, 16));
  if (least > most) return 0;
  return std::min(most, std::max(box_policy(device).thread_sums, 2 * least));
}

Attempt box_cpu(const Device& device, const SeparableProblem& g) {
  const std::size_t memory = box_cpu_memory(device, g);
  if (!runs_cpu_variant(device)) return no_cpu_variant(device);
  if (memory == 0) return no_room_for_box(device, g);
  Plan plan = box_plan(g, "cpu", "blur/box_cpu.cl", "box_cpu");
  const std::size_t band = cpu_band(device, g.height, g.planes, g.column_taps - 1);
  set_groups(plan, 1, divide_up(g.height, band) * g.planes,
             box_policy(device).threads_items * device.compute_units);
  plan.tile_rows = band;
  plan.items_per_work_item = plan.tile_cols = plan.vector_width = kCpuLanes;
  plan.local_bytes = memory * box_sum(g).bytes;
  define(plan, "MEMORY", memory);
  plan.numbers = {{"band", band}};
  plan.reason = "a thread keeps the sums of columns in its cache, and slides along them";
  return plan;
}

/// By one of separable()'s plans.
Plan box_separable(const Device& device, const SeparableProblem& g, const PlanOverrides& fixed) {
  Plan plan = plan_separable(device, box_as_separable(g), PlanOverrides{.work_items = fixed.work_items});
  plan.reason = formatted("sums each box anew, by separable / {}: {}", plan.variant, plan.reason);
  plan.operation = kBoxName;
  plan.variant = "separable";
  plan.in_place_of.clear();
  plan.alternatives = {};  // those of separable()
  return plan;
}

/// By separable()'s matrix units, of weights 1. Of halves a mean has a weight, as "separable" gives it.
Attempt box_units(const Device& device, SeparableProblem g, const PlanOverrides& fixed) {
  if (is_float(g.in)) return "for bytes";
  g.mean = true;
  Attempt made = separable_units(device, g, fixed);
  if (made.plan) made.plan->operation = kBoxName;
  return made;
}

Attempt plan_variant(const Device& device, const BoxProblem& problem, const PlanOverrides& fixed,
                     std::string_view variant) {
  const SeparableProblem& g = problem.grids;
  if (variant == "units") return box_units(device, g, fixed);
  if (variant == "separable") {
    if (!is_separable(g)) return "its float sums are not exact";
    if (std::max(g.row_taps, g.column_taps) > kMostWeights)
      return formatted("it has at most {} weights", kMostWeights);
    return box_separable(device, g, fixed);
  }
  if (variant == "two_pass") return box_two_pass(device, g);
  if (variant == "shuffle") return box_shuffle(device, g, fixed.work_items);
  return variant == "march" ? box_march(device, g, fixed.work_items) : box_cpu(device, g);
}

/// Cells of a side of a box up to which sums of all its elements are cheaper than running sums. Float sums of
/// 16-bit numbers are whole up to 255 of them alone, and means of those need a division.
std::size_t most_taps_summed_anew(const Device& device, Scalar in) {
  const BoxPolicy& policy = box_policy(device);
  if (in == Scalar::uint16) return policy.small_words;
  if (in == Scalar::half && policy.small_halves != 0) return policy.small_halves;
  return in == Scalar::uint8 ? policy.small_bytes : policy.small;
}

/// Whether "two_pass" takes less time than that of "march" and "shuffle" which plans otherwise choose.
bool is_faster_in_two_passes(const Device& device, const SeparableProblem& g, bool shuffles) {
  const BoxPasses& policy = box_policy(device).passes;
  if (!policy.chosen) return false;
  const double time = box_two_pass_time(device, g);
  if (const Attempt shuffle = box_shuffle(device, g, 0); shuffles && shuffle.plan) {
    const auto rows = real(shuffle.plan->numbers.front().second + g.column_taps - 1);
    const double warps = real(shuffle.plan->global[0] / 32) / real(at_least_1(device.compute_units));
    return time < rows * std::max(policy.shuffle_ns, warps * policy.shuffle_warp_ns);
  }
  const std::optional<BoxStrip> strip = strip_for(device, g, 0);
  if (!strip) return true;
  const double column_ns = g.in == Scalar::half     ? policy.march_half_ns
                           : g.in == Scalar::uint16 ? policy.march_words_ns
                           : strip->columns <= 2    ? policy.march_ns
                                                    : policy.march_wide_ns;
  return time < strip->work * column_ns * (strip->ring ? policy.march_ring : 1);
}

std::vector<std::string_view> preference(const Device& device, const BoxProblem& problem,
                                         const PlanOverrides& fixed) {
  const SeparableProblem& g = problem.grids;
  const BoxShuffle& shuffle = box_policy(device).shuffle;
  const std::size_t taps = std::max(g.row_taps, g.column_taps);
  const bool slides = taps >= 3 && taps <= shuffle.most_taps;
  const bool before_units = slides && taps >= shuffle.units_taps && g.elements() >= shuffle.units_elements;
  std::vector<std::string_view> order;
  if (before_units) order.emplace_back("shuffle");
  if (taps <= box_policy(device).units_most_taps) order.emplace_back("units");
  if (taps <= most_taps_summed_anew(device, g.in)) {
    if (slides && !before_units && g.elements() >= shuffle.small_elements) order.emplace_back("shuffle");
    order.emplace_back("separable");
    return order;
  }
  order.emplace_back("cpu");
  const bool shuffles = taps <= shuffle.most_taps;
  const bool in_two_passes = fixed.work_items == 0 && is_faster_in_two_passes(device, g, shuffles);
  if (in_two_passes) order.emplace_back("two_pass");
  if (shuffles && !before_units) order.emplace_back("shuffle");
  order.emplace_back("march");
  if (!in_two_passes) order.emplace_back("two_pass");
  return order;
}

std::string why_not(const Device& device, const BoxProblem& problem, std::string_view variant,
                    const Plan& chosen) {
  const SeparableProblem& g = problem.grids;
  if (variant == "units") {
    return chosen.variant == "shuffle" ? "sums that slide are faster in large grids"
                                       : "not measured on this device, or for boxes of this size";
  }
  if (chosen.variant == "units" && (variant == "separable" || variant == "shuffle"))
    return "matrix units make the sums faster";
  if (chosen.variant == "two_pass" && (variant == "march" || variant == "shuffle"))
    return "its groups go down a box's rows before their first result, longer than two launches take";
  if (variant == "march" && chosen.variant == "shuffle") return "its groups wait at a barrier for each step";
  if (variant == "shuffle") {
    return box_policy(device).shuffle.most_taps == 0 ? "not measured on this device"
                                                     : "not measured for boxes and grids of this size";
  }
  if (variant == "separable") return formatted("adds {} elements for a result", g.row_taps + g.column_taps);
  if (variant == "two_pass") return "the sums along rows go through global memory";
  return variant == "march" ? "work-items that share a row are loops on a CPU"
                            : "a small box is cheaper summed anew for each result";
}

const Evidence& evidence(const Device& device, const BoxProblem& /*problem*/, const Plan& plan) {
  const BoxPolicy& policy = box_policy(device);
  if (plan.variant == "separable" || plan.variant == "units") return separable_evidence(device, plan);
  if (plan.variant == "shuffle") return policy.of_shuffle;
  if (plan.variant == "two_pass") return policy.of_two_pass;
  return plan.variant == "march" ? policy.evidence : policy.others;
}

constexpr Operation<BoxProblem> kBox{.what = "blur",
                                     .name = [](const BoxProblem&) { return kBoxName; },
                                     .variants = box_variants,
                                     .check = check_box,
                                     .preference = preference,
                                     .attempt = plan_variant,
                                     .why_not = why_not,
                                     .evidence = evidence,
                                     .one_work_item = "a thread has a band of rows",
                                     .with_tile = {"units"}};

}  // namespace

void plan::check_box(const Device& device, const BoxProblem& problem) {
  const SeparableProblem& g = problem.grids;
  check_grids(kBoxName, device, g);
  for (const std::size_t taps : {g.row_taps, g.column_taps}) {
    if (taps % 2 != 1 || taps / 2 > kMaxBoxRadius)
      refuse(kBoxName, "radius", formatted("at most {}", kMaxBoxRadius), formatted("{}", taps / 2));
  }
}

BoxProblem BoxProblem::of(SeparableProblem grids, BoxRadius radius) {
  const auto taps = [](std::size_t r) { return 2 * std::min(r, kMaxBoxRadius + 1) + 1; };
  grids.row_taps = taps(radius.across);
  grids.column_taps = taps(radius.down);
  return {grids};
}

SeparableProblem plan::box_as_separable(SeparableProblem g) {
  // Of integers the sum of weighted rows is off by a rounding for each, and two more. No mean is nearer to a
  // half than the inverse of twice the area.
  constexpr double kRounding = 0x1p-24;
  const auto area = real(g.row_taps * g.column_taps);
  const double error = real((g.column_taps + 2) * most_of(is_float(g.in) ? Scalar::uint8 : g.in)) * kRounding;
  g.mean = !is_float(g.in) && (is_float(g.out) || error >= 1 / (2 * area));
  return g;
}

std::vector<std::string_view> box_variants() {
  return {"separable", "units", "two_pass", "march", "shuffle", "cpu"};
}

Plan plan_box(const Device& device, const BoxProblem& problem, const PlanOverrides& overrides) {
  return plan_call(kBox, kBoxName, problem.grids.in, device, problem, overrides);
}

}  // namespace smem
