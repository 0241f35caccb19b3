// Plans for sorts of segments: kernels of sort_rows, for segments by their lengths.
#include <smem/sort_segments_plan.hpp>

#include "formatted.hpp"
#include "plan/check_segments.hpp"
#include "plan/sizes.hpp"
#include "plan/sort_policy.hpp"
#include "plan/sort_rows_policy.hpp"
#include "plan/sort_rows_types.hpp"
#include "plan/sort_segments_types.hpp"
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

constexpr std::size_t kTiny = 32;      // keys of a segment that few work-items sort in registers, at most
constexpr std::size_t kSmall = 512;    // the same of a team
constexpr std::size_t kMiddle = 8192;  // the same of a group in local memory
constexpr std::size_t kSegmentsHeader = 16;  // words of cl/sort_rows/rows.clh
constexpr std::size_t kGroupsAUnit = 16;     // that share segments
// That scan the counts of long segments: most calls have no such segments.
constexpr std::size_t kScanGroupsAUnit = 4;
constexpr std::size_t kMostInLanes = 8192,
                      kLeastInLanes = 64;  // keys of the longest segment in lanes of vectors

/// The sort of `rows` segments of at most `cols` keys.
SortRowsProblem rows_of(const SortSegmentsProblem& p, std::size_t rows, std::size_t cols) {
  return {p.keys,       rows,          cols,        1,           p.payload, p.value_bytes,
          p.descending, p.total_order, p.nan_least, p.begin_bit, p.end_bit, p.in_place};
}

double traffic(const SortSegmentsProblem& p) { return real(p.size, size_of(p.keys) + p.value_bytes); }

/// A launch of a sort of rows, for segments.
Launch of_segments(const SortSegmentsProblem& p, Launch launch, const char* variant, std::size_t phase) {
  launch.operation = operation_name(p);
  launch.variant = variant;
  define(launch, "SEGMENTS", phase);
  launch.text_defines.emplace_back("BOUND", opencl_name_of(p.offsets));
  launch.prediction = {};
  return launch;
}

/// The largest segments that a variant of sort_rows takes, at most `most` keys.
struct Class {
  std::size_t longest = 0;
  std::optional<Launch> launch;
};

Class class_of(const Device& device, const SortSegmentsProblem& p, std::size_t most, std::string_view variant,
               std::size_t longer_than) {
  for (std::size_t longest = most; longest > longer_than; longest /= 2) {
    const std::size_t rows = at_least_1(std::min(p.segments, p.size / (longer_than + 1)));
    Attempt tried = sort_rows_attempt(device, rows_of(p, rows, longest), {}, variant);
    if (tried.plan) return {longest, static_cast<Launch&>(*tried.plan)};
  }
  return {longer_than, std::nullopt};
}

/// Groups that share segments.
void limit_groups(const Device& device, Launch& launch) {
  set_groups(launch, launch.work_group[0],
             std::min(launch.groups(), at_least_1(kGroupsAUnit * device.compute_units)));
}

Launch check_launch(const Device& device, const SortSegmentsProblem& p) {
  Launch check = plan_check_segments(device, {p.offsets, p.segments + 1});
  check.operation = operation_name(p);
  check.reason = "checks that the offsets ascend; otherwise nothing is sorted";
  return check;
}

/// The launches that sort long segments, pass by pass. \returns false where no tile fits the device.
bool add_long(const Device& device, const SortSegmentsProblem& p, std::size_t listed, std::size_t middle,
              Plan& plan) {
  Attempt tried = sort_rows_attempt(device, rows_of(p, 1, p.size), {}, "radix");
  const std::size_t group = group_for(device, 256, 4, kSortWords);
  if (!tried.plan || group == 0) return false;
  const Plan& radix = *tried.plan;
  const std::size_t tile = radix.number("piece"), passes = radix.number("passes");
  const std::size_t longs = at_least_1(std::min(p.segments, p.size / (middle + 1)));
  const std::size_t tiles = p.size / tile + longs, digits = size_t{1} << sort_policy(device).radix_bits;
  if (tiles > kMaxTiles) return false;
  const auto number_launch = [&](Launch& launch, std::size_t pass) {
    launch.numbers = {{"passes", passes}, {"digit_bits", radix.number("digit_bits")},
                      {"parts", tiles},   {"piece", tile},
                      {"rows", longs},    {"pass", pass},
                      {"listed", listed}};
  };
  Launch tiles_of = named_plan("", "", "sort_rows/count.cl", "sort_rows_count");
  define_keys(tiles_of, one_segment(p), false);
  define(tiles_of, {{"GROUP", group}, {"PHASE", 2}});
  tiles_of = of_segments(p, std::move(tiles_of), "tiles", 1);
  tiles_of.local_bytes = 4 * group + kSortWords;
  tiles_of.reason = "the first tile of each long segment";
  set_groups(tiles_of, group, 1);
  number_launch(tiles_of, 0);
  plan.after.push_back(std::move(tiles_of));
  for (std::size_t pass = 0; pass < passes; ++pass) {
    Launch count = of_segments(p, radix.before[0], "count", 1);
    Launch offsets = of_segments(p, radix.before[1], "offsets", 1);
    Launch scatter = of_segments(p, radix, "scatter", 1);
    const std::size_t a_unit = sort_policy(device).segment_tiles_a_unit;
    const std::size_t most = a_unit == 0 ? tiles : std::min(tiles, at_least_1(a_unit * device.compute_units));
    for (Launch* launch : {&count, &scatter}) {
      set_groups(*launch, launch->work_group[0], most);
      if (a_unit == 0) define(*launch, "ONE_TILE", 1);
    }
    set_groups(offsets, offsets.work_group[0],
               std::min(size_product(longs, digits), at_least_1(kScanGroupsAUnit * device.compute_units)));
    scatter.reason = "scatters the keys of long segments, tile by tile";
    for (Launch* launch : {&count, &offsets, &scatter})
      number_launch(*launch, pass);
    plan.after.insert(plan.after.end(), {std::move(count), std::move(offsets), std::move(scatter)});
  }
  plan.scratch[0] = radix.scratch[0];
  plan.scratch[1] = radix.scratch[1];
  plan.scratch[2].bytes +=
      4 * round_up(longs + 1, 16) + (longs + tiles) * digits * count_bytes(one_segment(p));
  return true;
}

Attempt by_length(const Device& device, const SortSegmentsProblem& p) {
  Class tiny = class_of(device, p, kTiny, "network", 0);
  if (!tiny.launch) return no_tile_fits(device);
  Class small = class_of(device, p, kSmall, "network", tiny.longest);
  Class middle = class_of(device, p, kMiddle, "tile", small.longest);
  const std::size_t listed = at_least_1(std::min(p.segments, p.size / (tiny.longest + 1)));
  Plan plan;
  static_cast<Launch&>(plan) = of_segments(p, *tiny.launch, "by_length", 1);
  const std::size_t rows = plan.tile_rows, groups = divide_up(at_least_1(p.segments), rows);
  if (groups > kMaxTiles) return "more segments than a launch can have work-groups";
  set_groups(plan, plan.work_group[0], groups);
  plan.prediction.bytes_read = traffic(p) + real(p.segments, size_of(p.offsets));
  plan.prediction.bytes_written = traffic(p);
  plan.reason = formatted(
      "segments by their lengths: up to {} and {} keys in registers, up to {} in local memory, longer ones "
      "by radix passes",
      tiny.longest, small.longest, middle.longest);
  plan.numbers = {{"parts", small.longest}, {"piece", middle.longest}, {"listed", listed}};
  plan.before.push_back(check_launch(device, p));
  plan.scratch.resize(3);
  plan.scratch[2] = {4 * (kSegmentsHeader + round_up(2 * listed, 16)), 4 * kSegmentsHeader};
  const auto add = [&](Class& of, const char* variant, std::size_t phase, std::size_t longer_than) {
    if (!of.launch || p.size <= longer_than) return;
    Launch launch = of_segments(p, std::move(*of.launch), variant, phase);
    limit_groups(device, launch);
    launch.numbers.emplace_back("listed", listed);
    plan.after.push_back(std::move(launch));
  };
  add(small, "small", 2, tiny.longest);
  add(middle, "middle", 1, small.longest);
  if (p.size > middle.longest && !add_long(device, p, listed, middle.longest, plan))
    return no_tile_fits(device);
  plan.scratch_bytes = plan.scratch[0].bytes + plan.scratch[1].bytes + plan.scratch[2].bytes;
  return plan;
}

/// The launch that sorts segments in lanes of vectors, and how many keys these have at most.
Class lanes_of(const Device& device, const SortSegmentsProblem& p) {
  for (std::size_t longest = kMostInLanes; longest >= kLeastInLanes; longest /= 2) {
    // Classes of lengths leave few lanes idle, whatever the number of segments.
    std::optional<Launch> launch =
        sort_rows_in_lanes(device, rows_of(p, at_least_1(p.segments), longest), false);
    if (launch) return {longest, std::move(launch)};
  }
  return {};
}

Attempt cpu(const Device& device, const SortSegmentsProblem& p) {
  constexpr std::size_t kFewKeys = 4096;  // of a group, at least
  Attempt tried = sort_rows_attempt(device, rows_of(p, 1, std::max<std::size_t>(p.size, 65)), {}, "cpu");
  if (!tried.plan) return tried;
  Plan plan;
  static_cast<Launch&>(plan) = of_segments(p, std::move(static_cast<Launch&>(*tried.plan)), "cpu", 1);
  const std::size_t most = sort_rows_policy(device).cpu_groups_a_unit * device.compute_units;
  const std::size_t groups =
      std::clamp<std::size_t>(p.size / kFewKeys, 1, at_least_1(std::min(most, p.segments)));
  set_groups(plan, 1, groups);
  Class lanes = lanes_of(device, p);
  if (lanes.launch) {
    define(plan, "LONGER_THAN", lanes.longest);
    Launch of_lanes = of_segments(p, *std::move(lanes.launch), "lanes", 1);
    set_groups(of_lanes, 1, groups);
    of_lanes.reason =
        formatted("segments of at most {} keys, each in a lane of vectors, by a network", lanes.longest);
    plan.before.push_back(std::move(of_lanes));
  }
  plan.local_bytes += 64 * (8 + 1 + size_of(p.keys) + p.value_bytes) + 3 * kSortWords;
  if (plan.local_bytes > device.local_bytes) return no_tile_fits(device);
  plan.reason = "a thread sorts neighbouring segments: short ones by insertion, others by radix passes";
  plan.prediction.bytes_read = traffic(p);
  plan.prediction.bytes_written = traffic(p);
  plan.before.insert(plan.before.begin(), check_launch(device, p));
  add_scratch(plan, size_product(p.size * (p.payload == SortPayload::places ? 2 : 1), size_of(p.keys)));
  add_scratch(plan, size_product(p.size, p.value_bytes));
  add_scratch(plan, 4 * kSegmentsHeader, 4 * kSegmentsHeader);
  return plan;
}

Attempt plan_variant(const Device& device, const SortSegmentsProblem& p, const PlanOverrides& fixed,
                     std::string_view variant) {
  if (fixed.work_items != 0) {
    refuse(operation_name(p), "work_items", "none: each length has its own work-group",
           formatted("{}", fixed.work_items));
  }
  return variant == "cpu" ? cpu(device, p) : by_length(device, p);
}

std::vector<std::string_view> preference(const Device& device, const SortSegmentsProblem& /*p*/,
                                         const PlanOverrides& /*fixed*/) {
  if (runs_cpu_variant(device)) return {"cpu", "by_length"};
  return {"by_length"};
}

std::string why_not(const Device& /*device*/, const SortSegmentsProblem& /*p*/, std::string_view /*variant*/,
                    const Plan& chosen) {
  if (chosen.variant == "cpu") return "a CPU runs work-items that share local memory as loops";
  return "one thread a segment";
}

const Evidence& evidence(const Device& device, const SortSegmentsProblem& /*p*/, const Plan& /*plan*/) {
  return sort_rows_policy(device).evidence;
}

constexpr Operation<SortSegmentsProblem> kSortSegments{.what = "sort of segments",
                                                       .name = operation_name,
                                                       .variants = sort_segments_variants,
                                                       .check = check_sort_segments,
                                                       .preference = preference,
                                                       .attempt = plan_variant,
                                                       .why_not = why_not,
                                                       .evidence = evidence,
                                                       .one_work_item = "a thread has segments"};

}  // namespace

const char* plan::operation_name(const SortSegmentsProblem& problem) {
  static constexpr std::array<const char*, 3> kNames{"sort_segments", "sort_pairs_segments",
                                                     "argsort_segments"};
  require_known("sort_segments", "payload", problem.payload, SortPayload::places);
  return kNames.at(static_cast<std::size_t>(problem.payload));
}

SortProblem plan::one_segment(const SortSegmentsProblem& p) { return one_row(rows_of(p, 1, p.size)); }

void plan::check_sort_segments(const Device& /*device*/, const SortSegmentsProblem& problem) {
  const char* operation = operation_name(problem);
  check_order(operation, one_segment(problem));
  require_known(operation, "offsets", problem.offsets);
  require_one_of(operation, "offsets", problem.offsets, {Scalar::uint32, Scalar::uint64});
  if (problem.segments >= 0xffffffff)
    refuse(operation, "offsets", "less than 2^32 of them", formatted("{}", problem.segments + 1));
}

std::vector<std::string_view> sort_segments_variants() { return {"by_length", "cpu"}; }

Plan plan_sort_segments(const Device& device, const SortSegmentsProblem& problem,
                        const PlanOverrides& overrides) {
  return plan_call(kSortSegments, "sort_segments", problem.keys, device, problem, overrides);
}

}  // namespace smem
