// Plans for sorts by a caller's comparison.
#include <smem/sort_by_plan.hpp>

#include "formatted.hpp"
#include "plan/merge_policy.hpp"
#include "plan/merge_tile.hpp"
#include "plan/sizes.hpp"
#include "plan/sort_by_types.hpp"
#include "plan/variants.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace smem {

namespace {

using namespace plan;

const char* sort_by_name(const SortByProblem& /*p*/) { return "sort_by"; }

double traffic(const SortByProblem& p) { return real(p.size, bytes_of_type(p.type)); }

Launch base_launch(const SortByProblem& p, std::string_view variant, std::size_t phase) {
  Launch launch = named_plan("sort_by", variant, "sort_by/sort_by.cl", "sort_by");
  launch.text_defines.emplace_back("ELEMENT", p.type);
  define(launch, "PHASE", phase);
  launch.preamble = formatted(
      "#define COMPARISON custom_precedes\n"
      "#line 1 \"custom.cl\"\n"
      "static inline int custom_precedes({0} a, {0} b) {{ return (\n"
      "#line 1 \"comparison.cl\"\n{1}\n"
      "#line 2 \"custom.cl\"\n) != 0; }}\n",
      p.type, p.precedes);
  if (p.type.starts_with("double"))
    launch.preamble.insert(0, "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n");
  launch.prediction.bytes_read = launch.prediction.bytes_written = traffic(p);
  return launch;
}

/// Adds the merges of runs of `width` elements, each after `split` where there is one, and the other array.
void add_merges(const SortByProblem& p, std::size_t width, Launch merge, std::optional<Launch> split,
                Plan& plan) {
  std::size_t merges = 0;
  while ((width << merges) < p.size)
    ++merges;
  plan.numbers.insert(plan.numbers.end(), {{"width", width}, {"merges", merges}});
  plan.reason = formatted("sorts runs of {} elements; {} merge passes follow", width, merges);
  if (!split && merges > 0) {
    set_repeats(merge, merges);
    merge.reason = merges_text(width, "elements");
    plan.after.push_back(std::move(merge));
    return;
  }
  for (std::size_t turn = 0; turn < merges; ++turn) {
    merge.numbers = split->numbers = {{"turn", turn}};
    merge.reason =
        formatted("merges pairs of sorted runs of {} elements, a tile of the result a group", width << turn);
    plan.after.push_back(*split);
    plan.after.push_back(merge);
  }
}

/// The launch that finds, by bisection, where each of the tiles of `merge` begins in its runs.
std::optional<Launch> split_of(const Device& device, const SortByProblem& p, std::size_t tiles,
                               std::size_t group, std::size_t items) {
  const MergePolicy& policy = merge_policy(device);
  if (tiles <= policy.groups_that_search * device.compute_units) return std::nullopt;
  Launch launch = base_launch(p, "splits", 2);
  set_searchers(device, tiles, launch);
  define(launch, "TILE", group * items);
  launch.reason = "finds by bisection where each tile of the result begins in both runs";
  return launch;
}

Attempt by_groups(const Device& device, const SortByProblem& p, const PlanOverrides& fixed) {
  const std::size_t bytes = bytes_of_type(p.type);
  const std::optional<MergeTile> tile = merge_tile(device, fixed, bytes, 0, kMergeWords);
  if (!tile) return no_tile_fits(device);
  const std::size_t groups = divide_up(at_least_1(p.size), tile->size());
  if (groups > kMaxTiles) return "more tiles than a launch can have work-groups";
  const auto make = [&](std::size_t phase, std::string_view variant) {
    Launch launch = base_launch(p, variant, phase);
    set_groups(launch, tile->group, groups);
    define(launch, {{"GROUP", tile->group}, {"ITEMS", tile->items}});
    launch.items_per_work_item = tile->items;
    launch.tile_cols = tile->size();
    launch.local_bytes = tile->size() * bytes + kMergeWords;
    return launch;
  };
  Plan plan;
  static_cast<Launch&>(plan) = make(0, "merge");
  std::optional<Launch> split = split_of(device, p, groups, tile->group, tile->items);
  Launch merge = make(1, "merges");
  if (split) define(merge, "SPLIT", 1);
  const std::size_t splits = split ? size_product(groups, sizeof(std::uint64_t)) : 0;
  add_merges(p, tile->size(), std::move(merge), std::move(split), plan);
  add_scratch(plan, plan.after.empty() ? 0 : size_product(p.size, bytes));
  add_scratch(plan, plan.after.empty() ? 0 : splits);
  return plan;
}

Attempt cpu(const Device& device, const SortByProblem& p) {
  if (!runs_cpu_variant(device)) return no_cpu_variant(device);
  constexpr std::size_t kRun = 16, kLogRuns = 10, kBlock = kRun << kLogRuns;  // of cl/sort_by/sort_by.cl
  const auto make = [&](std::size_t phase, std::string_view variant) {
    Launch launch = base_launch(p, variant, phase);
    set_groups(launch, 1, divide_up(at_least_1(p.size), kBlock));
    define(launch, {{"GROUP", 1}, {"CPU", 1}, {"LOG_RUNS", kLogRuns}});
    launch.items_per_work_item = launch.tile_cols = kBlock;
    return launch;
  };
  Plan plan;
  static_cast<Launch&>(plan) = make(0, "cpu");
  plan.prediction.bytes_read *= real(kLogRuns + 1);
  plan.prediction.bytes_written *= real(kLogRuns + 1);
  add_merges(p, kBlock, make(1, "merges"), std::nullopt, plan);
  add_scratch(plan, size_product(p.size, bytes_of_type(p.type)));
  return plan;
}

Attempt plan_variant(const Device& device, const SortByProblem& p, const PlanOverrides& fixed,
                     std::string_view variant) {
  return variant == "cpu" ? cpu(device, p) : by_groups(device, p, fixed);
}

std::vector<std::string_view> preference(const Device& device, const SortByProblem& /*p*/,
                                         const PlanOverrides& /*fixed*/) {
  if (runs_cpu_variant(device)) return {"cpu", "merge"};
  return {"merge"};
}

std::string why_not(const Device& /*device*/, const SortByProblem& /*p*/, std::string_view /*variant*/,
                    const Plan& chosen) {
  if (chosen.variant == "cpu") return "a CPU runs work-items that share local memory as loops";
  return "one thread a block";
}

const Evidence& evidence(const Device& device, const SortByProblem& /*p*/, const Plan& /*plan*/) {
  return merge_policy(device).evidence;
}

constexpr Operation<SortByProblem> kSortBy{.what = "sort by a comparison",
                                           .name = sort_by_name,
                                           .variants = sort_by_variants,
                                           .check = check_sort_by,
                                           .preference = preference,
                                           .attempt = plan_variant,
                                           .why_not = why_not,
                                           .evidence = evidence,
                                           .one_work_item = "a thread has a block"};

}  // namespace

std::size_t plan::bytes_of_type(std::string_view type) {
  static constexpr std::array<std::pair<std::string_view, std::size_t>, 10> kNumbers{{{"char", 1},
                                                                                      {"uchar", 1},
                                                                                      {"short", 2},
                                                                                      {"ushort", 2},
                                                                                      {"int", 4},
                                                                                      {"uint", 4},
                                                                                      {"long", 8},
                                                                                      {"ulong", 8},
                                                                                      {"float", 4},
                                                                                      {"double", 8}}};
  static constexpr std::array<std::pair<std::string_view, std::size_t>, 5> kCounts{
      {{"", 1}, {"2", 2}, {"4", 4}, {"8", 8}, {"16", 16}}};
  for (const auto& [number, bytes] : kNumbers) {
    if (!type.starts_with(number)) continue;
    for (const auto& [text, count] : kCounts)
      if (type.substr(number.size()) == text && bytes * count <= 16) return bytes * count;
  }
  return 0;
}

void plan::check_sort_by(const Device& device, const SortByProblem& problem) {
  if (bytes_of_type(problem.type) == 0) {
    refuse("sort_by", "type", "a number or vector of OpenCL C of at most 16 bytes, as \"float2\"",
           formatted("\"{}\"", problem.type));
  }
  if (problem.type.starts_with("double")) require_fp64("sort_by", device, "type", Scalar::float64);
  require_code("sort_by", "precedes", problem.precedes, "OpenCL C, of a and b");
  require_elements("sort_by", "in", {problem.size});
}

std::vector<std::string_view> sort_by_variants() { return {"merge", "cpu"}; }

Plan plan_sort_by(const Device& device, const SortByProblem& problem, const PlanOverrides& overrides) {
  return plan_call(kSortBy, "sort_by", problem.type, device, problem, overrides);
}

}  // namespace smem
