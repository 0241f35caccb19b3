// Plans for box blurs: where the sums that slide are kept, and why.
#include <smem/blur_plan.hpp>
#include <smem/error.hpp>

#include "formatted.hpp"
#include "plan/box_policy.hpp"
#include "plan/broken.hpp"
#include "plan/filters.hpp"
#include "plan/pixels.hpp"
#include "plan/sizes.hpp"

#include <algorithm>
#include <bit>
#include <optional>
#include <string>
#include <utility>

namespace smem {

namespace {

using plan::define;
using plan::divide_up;
using plan::round_up;

constexpr const char* kOperation = "box_blur";
constexpr std::size_t kOwnBytes = 64;  // of local memory, which compilers take for themselves
constexpr std::size_t kCpuLanes = 8;

[[noreturn]] void refuse(const char* argument, std::string expected, std::string got) {
  throw Error({.operation = kOperation,
               .argument = argument,
               .expected = std::move(expected),
               .got = std::move(got)});
}

/// The largest number of an integer type of pixels.
std::size_t most_of(Scalar type) { return type == Scalar::uint8 ? 255 : 65535; }

struct Sum {
  const char* name;
  std::size_t bytes;
  bool integer;
};

Sum sum_of(const SeparableProblem& g) {
  if (is_float(g.in)) {
    return plan::pixel_value(g.in, g.out) == Scalar::float64 ? Sum{"double", 8, false}
                                                             : Sum{"float", 4, false};
  }
  // Half an area is added before it is divided by.
  const std::size_t area = g.row_taps * g.column_taps;
  return area * (most_of(g.in) + 1) <= 0xffffffff ? Sum{"uint", 4, true} : Sum{"ulong", 8, true};
}

/// Whether sums of integers are at most 2^24, to which floats hold whole numbers.
bool has_small_sums(const SeparableProblem& g) {
  return g.row_taps * g.column_taps * (most_of(g.in) + 1) <= std::size_t{1} << 24;
}

/// Whether separable() computes it, by sums of floats.
bool is_separable(const SeparableProblem& g) { return is_float(g.in) || has_small_sums(g); }

Plan base_plan(const SeparableProblem& g, std::string_view variant, const char* file, const char* entry) {
  Plan plan;
  plan.operation = kOperation;
  plan.variant = variant;
  plan.kernel_file = file;
  plan.entry_point = entry;
  plan::define_pixels(plan, g.in, g.out, g.boundary, g.channels);
  plan::define_folds(plan, g.boundary, g.row_taps / 2, g.width, g.column_taps / 2, g.height);
  plan.text_defines.emplace_back("SUM", sum_of(g).name);
  define(plan, "SUM_INTEGER", sum_of(g).integer ? 1 : 0);
  if (!is_float(g.in) && is_float(g.out) && has_small_sums(g)) define(plan, "SMALL_SUMS", 1);
  const auto elements = static_cast<double>(g.elements());
  plan.prediction.bytes_read = elements * static_cast<double>(size_of(g.in));
  plan.prediction.bytes_written = elements * static_cast<double>(size_of(g.out));
  plan.prediction.operations = 6 * elements;
  return plan;
}

Plan pass(const Device& device, const SeparableProblem& g, bool first) {
  Plan plan = base_plan(g, first ? "first" : "two_pass", "blur/box_pass.cl", "box_pass");
  const std::size_t run = plan::box_policy(device).run;
  const std::array<std::size_t, 3> extent =
      first ? std::array<std::size_t, 3>{divide_up(g.width, run), g.height, g.planes}
            : std::array<std::size_t, 3>{g.row_elements(), divide_up(g.height, run), g.planes};
  plan.work_group = plan::shape_group(device, plan::box_policy(device).group, 64, extent);
  plan.global = plan::global_size(extent, plan.work_group);
  define(plan, "PASS", first ? 0 : 1);
  define(plan, "RUN", run);
  for (const auto& [name, size] : {std::pair{"GROUP_0", plan.work_group[0]},
                                   {"GROUP_1", plan.work_group[1]},
                                   {"GROUP_2", plan.work_group[2]}})
    define(plan, name, size);
  plan.items_per_work_item = run;
  (first ? plan.prediction.bytes_written : plan.prediction.bytes_read) =
      static_cast<double>(g.elements() * sum_of(g).bytes);
  plan.reason =
      first ? "slides along rows, into temporary memory" : "slides down the columns of the launch before";
  return plan;
}

Plan two_pass(const Device& device, const SeparableProblem& g) {
  Plan plan = pass(device, g, false);
  plan.before.push_back(pass(device, g, true));
  plan::add_scratch(plan, g.elements() * sum_of(g).bytes);
  return plan;
}

/// How groups share a plane: strips of columns, and bands of rows.
struct Strip {
  std::size_t group = 0, columns = 0, results = 0;
  std::size_t step = 0, ahead = 0;
  std::size_t bytes = 0;
  std::size_t bands = 1, band = 1;
  bool ring = false;
  double work = 0;  ///< column sums of a unit, until all are done
};

bool uses_shuffles(const Device& device, std::size_t group) {
  return plan::is_nvidia_gpu(device) && group % 32 == 0;
}

/// Bytes of what a work-item reads of a row.
std::size_t part_bytes(const SeparableProblem& g, std::size_t columns) {
  if (!is_float(g.in)) return 4 * size_of(g.in);
  return columns * (g.in == Scalar::half ? sizeof(float) : size_of(g.in));
}

/// Columns that have no result: what the box has to its left, its own cell too, and to its right.
std::size_t strip_halo(const SeparableProblem& g, std::size_t columns) {
  const std::size_t side = g.row_taps / 2 * g.channels;
  return round_up(round_up(side + g.channels, columns) + side, columns);
}

/// Local memory of a strip without its ring.
std::size_t tile_bytes(const Device& device, const SeparableProblem& g, const Strip& strip) {
  const std::size_t row = strip.group * strip.columns;
  const std::size_t sums = uses_shuffles(device, strip.group) ? 2 * row : row + g.channels * strip.group;
  return strip.step * sums * sum_of(g).bytes;
}

/// Groups that are resident on a unit.
std::size_t resident_groups(const Device& device, const Strip& strip) {
  const std::size_t memory = std::max(device.unit.local_bytes, device.local_bytes);
  const std::size_t by_memory = memory / (strip.bytes + device.unit.local_reserved + kOwnBytes);
  const std::size_t by_items = plan::box_policy(device).march.items_a_unit / strip.group;
  return std::max<std::size_t>(std::min(by_memory, by_items), 1);
}

/// Bands, so that the groups are one round of those that are resident.
void set_bands(const Device& device, const SeparableProblem& g, Strip& strip) {
  const plan::BoxMarch& policy = plan::box_policy(device).march;
  const std::size_t units = std::max<std::size_t>(device.compute_units, 1);
  const std::size_t strips = divide_up(g.row_elements(), strip.results) * g.planes;
  std::size_t bands = units * resident_groups(device, strip) / std::max<std::size_t>(strips, 1);
  if (!strip.ring && device.cache_bytes != 0) {
    // The rows of all bands' boxes are read again from the cache if half of it holds them.
    const std::size_t rows = plan::size_product(g.column_taps, g.row_elements(), size_of(g.in));
    bands = std::min(bands, std::max(device.cache_bytes / 2 / std::max<std::size_t>(rows, 1),
                                     units / std::max<std::size_t>(strips, 1)));
  }
  const std::size_t least = std::min(g.height, policy.band_boxes * g.column_taps);
  strip.band = std::max({std::size_t{1}, least, divide_up(g.height, std::max<std::size_t>(bands, 1))});
  strip.band = std::min(strip.band, std::size_t{1} << 30);
  strip.bands = divide_up(g.height, strip.band);
  // A row that is read again costs about half of what else is done for a row.
  const auto rows = static_cast<double>(strip.band + g.column_taps - 1);
  strip.work = static_cast<double>(divide_up(strips * strip.bands, units)) * rows *
               static_cast<double>(strip.group * strip.columns) * (strip.ring ? 1 : 1.25);
}

std::optional<Strip> make_strip(const Device& device, const SeparableProblem& g, std::size_t group,
                                std::size_t columns) {
  const plan::BoxMarch& policy = plan::box_policy(device).march;
  const std::size_t halo = strip_halo(g, columns);
  const std::size_t most = device.local_bytes - std::min(kOwnBytes, device.local_bytes);
  if (group * columns < halo + columns) return std::nullopt;
  Strip strip;
  strip.group = group;
  strip.columns = columns;
  strip.results = group * columns - halo;
  const std::size_t most_ahead = group > 512 ? policy.ahead_of_large : policy.ahead;
  const std::size_t ahead = std::max<std::size_t>(policy.ahead_words * 4 / part_bytes(g, columns), 1);
  strip.ahead = std::min(most_ahead, std::bit_floor(ahead));
  const std::size_t most_step = group > 256 && columns == 4 ? policy.step_of_four : policy.step;
  strip.step = std::min(most_step, strip.ahead);
  while (tile_bytes(device, g, strip) > most && strip.step > 1)
    strip.step /= 2;
  strip.bytes = tile_bytes(device, g, strip);
  if (strip.bytes > most) return std::nullopt;
  const std::size_t ring = (g.column_taps - 1) * group * part_bytes(g, columns);
  Strip kept = strip;
  while (tile_bytes(device, g, kept) + ring > most && kept.step > 2)
    kept.step /= 2;
  kept.bytes = tile_bytes(device, g, kept) + ring;
  kept.ring = ring != 0 && kept.bytes <= most && resident_groups(device, kept) * group >= policy.ring_items;
  if (kept.ring) strip = kept;
  set_bands(device, g, strip);
  return strip;
}

/// The strip whose units are done first; `wanted`: work-items of a group, or 0.
std::optional<Strip> strip_for(const Device& device, const SeparableProblem& g, std::size_t wanted) {
  const plan::BoxMarch& policy = plan::box_policy(device).march;
  const std::size_t limit = plan::group_for(device, 2 * policy.most_group, 0);
  const std::size_t least = g.channels == 3 ? 3 : is_float(g.in) ? std::max(g.channels, policy.columns) : 4;
  std::optional<Strip> best;
  const auto consider = [&](std::size_t group, std::size_t columns) {
    const std::optional<Strip> strip = make_strip(device, g, group, columns);
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

std::optional<Plan> march(const Device& device, const SeparableProblem& g, std::size_t wanted) {
  if (!plan::box_policy(device).march.used) return std::nullopt;
  const std::optional<Strip> strip = strip_for(device, g, wanted);
  if (!strip) return std::nullopt;
  Plan plan = base_plan(g, "march", "blur/box_march.cl", "box_march");
  const std::size_t columns = strip->columns;
  const std::size_t groups = divide_up(g.row_elements(), strip->results) * strip->bands * g.planes;
  plan.work_group = {strip->group, 1, 1};
  plan.global = {std::clamp<std::size_t>(groups, 1, std::size_t{1} << 20) * strip->group, 1, 1};
  plan.tile_rows = strip->step;
  plan.tile_cols = strip->results;
  plan.vector_width = columns;
  plan.items_per_work_item = strip->step * columns;
  plan.local_bytes = strip->bytes;
  const double share = static_cast<double>(strip->group * columns) / static_cast<double>(strip->results);
  const auto sum = static_cast<double>(sum_of(g).bytes), element = static_cast<double>(size_of(g.in));
  plan.prediction.local_bytes =
      static_cast<double>(g.elements()) * (share * (sum + (strip->ring ? 2 * element : 0)) + 3 * sum);
  define(plan, "GROUP", strip->group);
  define(plan, "COLS", columns);
  define(plan, "STEP", strip->step);
  define(plan, "AHEAD", strip->ahead);
  define(plan, "ROW_TAPS", g.row_taps);
  define(plan, "RING", strip->ring ? g.column_taps - 1 : 0);
  define(plan, "SMALL", is_float(g.in) ? 0 : size_of(g.in));
  if (uses_shuffles(device, strip->group)) define(plan, "SHUFFLES", 1);
  define(plan, "VECTOR_IN", columns != 3 && g.in_alignment >= columns * size_of(g.in) ? 1 : 0);
  plan.numbers = {{"band", strip->band}};
  plan.reason = formatted("sums of columns slide down; the rows that leave them are {}",
                          strip->ring ? "kept in local memory" : "read again");
  return plan;
}

/// Sums of local memory that a thread of a CPU uses; 0: too few.
std::size_t cpu_memory(const Device& device, const SeparableProblem& g) {
  const std::size_t most = (device.local_bytes - std::min(kOwnBytes, device.local_bytes)) / sum_of(g).bytes;
  const std::size_t least = 3 * (round_up(g.halo() + 16 * kCpuLanes, 16));
  if (least > most) return 0;
  return std::min(most, std::max(plan::box_policy(device).thread_sums, 2 * least));
}

std::optional<Plan> cpu(const Device& device, const SeparableProblem& g) {
  const std::size_t memory = cpu_memory(device, g);
  if (!plan::runs_cpu_variant(device) || memory == 0) return std::nullopt;
  Plan plan = base_plan(g, "cpu", "blur/box_cpu.cl", "box_cpu");
  const std::size_t band = plan::cpu_band(device, g.height, g.planes, g.column_taps - 1);
  plan.global = {std::clamp<std::size_t>(divide_up(g.height, band) * g.planes, 1,
                                         plan::box_policy(device).threads_items * device.compute_units),
                 1, 1};
  plan.tile_rows = band;
  plan.items_per_work_item = plan.tile_cols = plan.vector_width = kCpuLanes;
  plan.local_bytes = memory * sum_of(g).bytes;
  define(plan, "MEMORY", memory);
  plan.numbers = {{"band", band}};
  plan.reason = "a thread keeps the sums of columns in its cache, and slides along them";
  return plan;
}

std::optional<Plan> plan_variant(const Device& device, const SeparableProblem& g, std::string_view variant,
                                 std::size_t wanted = 0) {
  if (variant == "two_pass") return two_pass(device, g);
  if (variant == "march") return march(device, g, wanted);
  return cpu(device, g);
}

std::string_view choose(const Device& device, const SeparableProblem& g) {
  // Float sums of 16-bit numbers are whole up to 255 of them alone, and means of those need a division.
  if (std::max(g.row_taps, g.column_taps) <= plan::box_policy(device).small && g.in != Scalar::uint16)
    return "separable";
  if (cpu(device, g)) return "cpu";
  return march(device, g, 0) ? "march" : "two_pass";
}

std::string why_not(const Device& device, const SeparableProblem& g, std::string_view variant,
                    const Plan& /*chosen*/) {
  if (variant == "separable") {
    return is_separable(g) ? formatted("adds {} elements for a result", g.row_taps + g.column_taps)
                           : std::string("its float sums are not exact");
  }
  if (!plan_variant(device, g, variant)) {
    if (variant == "cpu" && !plan::runs_cpu_variant(device)) return plan::no_cpu_variant(device);
    return formatted("a box of {} x {} does not fit {} bytes of local memory", g.row_taps, g.column_taps,
                     device.local_bytes);
  }
  if (variant == "two_pass") return "the sums along rows go to memory and come back";
  return variant == "march" ? "work-items that share a row are loops on a CPU"
                            : "a small box is cheaper summed anew for each result";
}

}  // namespace

void plan::check_box(const Device& device, const BoxProblem& problem) {
  const SeparableProblem& g = problem.grids;
  plan::check_pixels(kOperation, device, g.in, g.out, g.channels);
  plan::require_known(kOperation, "boundary", g.boundary);
  plan::require_elements(kOperation, "in", {g.width, g.channels, g.height, g.planes});
  for (const std::size_t taps : {g.row_taps, g.column_taps}) {
    if (taps % 2 != 1 || taps / 2 > kMaxBoxRadius)
      refuse("radius", formatted("at most {}", kMaxBoxRadius), formatted("{}", taps / 2));
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
  const auto area = static_cast<double>(g.row_taps * g.column_taps);
  const double error =
      static_cast<double>((g.column_taps + 2) * most_of(is_float(g.in) ? Scalar::uint8 : g.in)) * kRounding;
  g.mean = !is_float(g.in) && (is_float(g.out) || error >= 1 / (2 * area));
  return g;
}

std::vector<std::string_view> box_variants() { return {"separable", "two_pass", "march", "cpu"}; }

namespace {

/// The plan on a device whose driver breaks nothing.
Plan make_plan(const Device& device, const BoxProblem& problem, const PlanOverrides& overrides) {
  const SeparableProblem& g = problem.grids;
  plan::check_box(device, problem);
  const auto names = box_variants();
  plan::require_choice(kOperation, overrides, names);
  plan::require_work_items(kOperation, device, overrides);
  const std::string_view chosen = overrides.variant.empty() ? choose(device, g) : overrides.variant;
  if (chosen == "separable") {
    if (!is_separable(g)) {
      refuse("variant", "one whose sums are exact",
             formatted("\"separable\" for boxes of {} x {} elements of {}", g.row_taps, g.column_taps,
                       name_of(g.in)));
    }
    Plan plan = plan_separable(device, plan::box_as_separable(g));
    plan.overrides = overrides;
    return plan;
  }
  std::optional<Plan> plan = plan_variant(device, g, chosen, overrides.work_items);
  if (!plan) {
    refuse("variant", "one that can run this blur on this device",
           formatted("\"{}\" for boxes of {} x {} on {} with {} bytes of local memory", chosen, g.row_taps,
                     g.column_taps, device.name, device.local_bytes));
  }
  plan::require_fixed_group(kOperation, device, overrides, *plan, "a thread has a band of rows");
  const plan::BoxPolicy& policy = plan::box_policy(device);
  plan->evidence = (plan->variant == "march" ? policy.evidence : policy.others).text(device);
  plan::note_choice(*plan, overrides, names, device, g, why_not);
  return *plan;
}

}  // namespace

Plan plan_box(const Device& device, const BoxProblem& problem, const PlanOverrides& overrides) {
  return plan::Broken(device, kOperation, problem.grids.in)
      .plan(box_variants(), overrides,
            [&](const PlanOverrides& fixed) { return make_plan(device, problem, fixed); });
}

}  // namespace smem
