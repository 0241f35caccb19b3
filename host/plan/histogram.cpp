// Plans for histograms: where the counts are kept, how many copies of them, and why.
#include <smem/histogram_plan.hpp>

#include "formatted.hpp"
#include "plan/histogram_policy.hpp"
#include "plan/histogram_types.hpp"
#include "plan/read_ahead_policy.hpp"
#include "plan/reduce_types.hpp"
#include "plan/variants.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <string>

namespace smem {

namespace {

using namespace plan;

constexpr std::size_t kWordBytes = sizeof(std::uint32_t);
constexpr const char* kNoRoom = "its tables do not fit local memory";
constexpr std::size_t kMostCount = 0xffffffff;
constexpr std::size_t kLargestPart = std::size_t{1} << 31;  // elements that a counter of 32 bits can count

/// Elements that a work-item reads at once.
std::size_t histogram_pack(const HistogramPolicy& policy, const HistogramProblem& problem) {
  const std::size_t bytes = problem.channels == 1 ? policy.pack_bytes : policy.pack_bytes_of_channels;
  const std::size_t widest = std::max(bytes, size_of(problem.in));
  return at_least_1(std::min(widest, problem.alignment) / size_of(problem.in));
}

/// A table in local memory.
struct Table {
  std::size_t words = 0;  ///< 0: there is no room
  std::size_t copies = 1;
  std::size_t passes = 1;
};

/// Sizes are powers of two where they fit, so that few programs serve all bin counts.
Table table_for(const Device& device, const HistogramProblem& problem, bool replicated) {
  const std::size_t most = local_room(device) / kWordBytes, entries = problem.entries();
  const HistogramPolicy& policy = histogram_policy(device);
  Table table;
  if (replicated) {
    const std::size_t budget = std::min(policy.copies_bytes, device.local_bytes / 2) / kWordBytes;
    table.copies = policy.most_copies;
    while (table.copies > 1 && std::bit_ceil(entries * table.copies) > budget)
      table.copies /= 2;
    if (table.copies == 1) return {};
    table.words =
        std::max(std::bit_ceil(entries * table.copies), std::min(policy.least_words, std::bit_floor(budget)));
    return table;
  }
  const bool small = problem.rows * problem.cols <= policy.small_elements;
  table.words =
      std::min(std::max(std::bit_ceil(entries),
                        small ? std::min(policy.small_words, policy.least_words) : policy.least_words),
               most);
  if (table.words > 0) table.passes = divide_up(entries, table.words);
  return table;
}

/// How a matrix is shared out, whatever the size of a work-group.
struct HistogramParts {
  std::size_t parts = 1;   ///< of each matrix
  std::size_t tables = 0;  ///< of each part, in temporary memory; 0: there are none
};

HistogramParts parts_of(const Device& device, const HistogramProblem& problem, std::string_view variant) {
  const std::size_t elements = problem.rows * problem.cols;
  const std::size_t batch = at_least_1(problem.batch);
  const std::size_t least = divide_up(elements, kLargestPart);
  const HistogramPolicy& policy = histogram_policy(device);
  if (variant == "cpu") {
    // Tables that fit the second level of a core's cache come four at a time. A part has more to count than
    // its tables have entries.
    const HistogramThreads& threads = policy.threads;
    const std::size_t tables = problem.entries() <= threads.table_entries ? threads.tables : 1;
    const std::size_t wanted = divide_up(tables * device.compute_units, batch);
    const std::size_t piece = std::max(threads.piece, threads.entry_elements * tables * problem.entries());
    return {std::max({std::size_t{1}, least, std::min(wanted, elements / piece)}), tables};
  }
  const Table table = variant == "local" || variant == "replicated"
                          ? table_for(device, problem, variant == "replicated")
                          : Table{};
  const std::size_t bytes = at_least_1(table.words * kWordBytes);
  const std::size_t resident = std::clamp<std::size_t>(
      std::max(device.unit.local_bytes, device.local_bytes) / bytes, 1, policy.unit_items / policy.group);
  // At least a tile for each part, and for each entry that it adds to the result.
  const std::size_t most = elements * size_of(problem.in) / policy.part_bytes;
  const std::size_t worth =
      policy.entry_elements * elements / at_least_1(std::min(table.words, problem.entries()));
  const std::size_t wanted = divide_up(resident * device.compute_units, batch * table.passes);
  return {std::max({std::size_t{1}, least, std::min({wanted, most, worth})})};
}

Plan base_plan(const HistogramProblem& problem, std::string_view variant, const char* file,
               const char* entry) {
  Plan plan = named_plan("histogram", variant, file, entry);
  define_bins(plan, problem);
  const double elements = real(problem.rows, problem.cols, problem.batch);
  plan.prediction.bytes_read = elements * real(size_of(problem.in));
  plan.prediction.bytes_written = real(problem.results(), size_of(problem.out));
  plan.prediction.operations = is_float(problem.in) && problem.rule == BinRule::even ? 2 * elements : 0;
  return plan;
}

/// The variants with atomic additions. `wanted`: work-items of a group, 0: the plan's choice; fewer where
/// they do not fit.
Attempt atomics(const Device& device, const HistogramProblem& problem, std::string_view variant,
                std::size_t wanted) {
  const bool tables = variant == "local" || variant == "replicated";
  const HistogramPolicy& policy = histogram_policy(device);
  const Table table = tables ? table_for(device, problem, variant == "replicated") : Table{};
  if (tables && table.words == 0) return kNoRoom;
  std::size_t slots = policy.slots;
  while (slots > policy.least_slots && policy.slot_groups * 2 * slots * kWordBytes > device.local_bytes)
    slots /= 2;
  if (variant == "cached" && 2 * slots * kWordBytes > device.local_bytes) return kNoRoom;
  const std::size_t pack = histogram_pack(policy, problem);
  const std::size_t unroll = policy.unroll;
  // Where a unit has room for one group only, it is a large one.
  if (wanted == 0) {
    const bool alone = tables && 2 * table.words * kWordBytes > device.local_bytes;
    wanted = alone ? policy.group_alone : policy.group;
    // Small matrices of a batch, of which each has a group.
    const std::size_t small = problem.rows * problem.cols;
    while (tables && wanted > policy.least_group && wanted / 2 * pack * unroll >= small &&
           wanted / 2 * policy.entries_each >= problem.entries())
      wanted /= 2;
  }
  const std::size_t group = group_for(device, wanted, 0);
  // Short rows share the group.
  const std::size_t team =
      problem.rows == 1 ? group : std::min(group, power_of_four(divide_up(problem.cols, pack * unroll)));
  Plan plan = tables                ? base_plan(problem, variant, "histogram/tables.cl", "histogram_tables")
              : variant == "cached" ? base_plan(problem, variant, "histogram/cached.cl", "histogram_cached")
                                    : base_plan(problem, variant, "histogram/global.cl", "histogram_global");
  const HistogramParts parts = parts_of(device, problem, variant);
  set_groups(plan, group, parts.parts * problem.batch * table.passes, std::size_t{1} << 20);
  plan.tile_rows = group / team;
  plan.tile_cols = team * pack * unroll;
  plan.vector_width = pack;
  plan.items_per_work_item = pack * unroll;
  plan.local_bytes = (tables ? table.words : variant == "cached" ? 2 * slots : 0) * kWordBytes;
  // One addition, which reads and writes, for each element.
  if (plan.local_bytes > 0) {
    plan.prediction.local_bytes = 2 * kWordBytes * plan.prediction.bytes_read / real(size_of(problem.in));
  }
  plan.prediction.bytes_read *= real(table.passes);
  define(plan, {{"GROUP", group}, {"TEAM", team}, {"PACK", pack}, {"UNROLL", unroll}});
  if (device.type == DeviceType::cpu) define(plan, "ROLLED", 1);
  if (problem.out == Scalar::uint64) define(plan, "WIDE_COUNT", 1);
  if (tables) {
    define(plan, {{"TABLE", table.words}, {"COPIES", table.copies}});
    if (table.passes > 1) define(plan, "PASSES", 1);
  }
  if (variant == "cached") define(plan, "SLOTS", slots);
  // A run goes on from pack to pack, but not from channel to channel. On the ladder's step "local" it shows
  // what skew costs; where there is no room for copies, it has to help there too.
  const bool merges = variant == "cached" || (variant == "replicated" && table.copies < policy.most_copies) ||
                      (variant == "local" && table_for(device, problem, true).words == 0);
  if (problem.channels == 1 && merges) define(plan, "MERGE", 1);
  plan.numbers = {{"parts", parts.parts}};
  plan.reason =
      variant == "global"   ? "an atomic addition in global memory for each element"
      : variant == "cached" ? formatted("{} full bins in local memory, the other of {} in global memory",
                                        slots, problem.entries())
      : variant == "local"
          ? formatted("one table in local memory{}",
                      table.passes == 1 ? std::string() : formatted(", in {} passes", table.passes))
          : formatted(
                "{} copies of the table, interleaved by banks: neighbours do not meet, whatever the data",
                table.copies);
  return plan;
}

/// The launch that adds up tables.
Launch finish(const Device& device, const HistogramProblem& problem, std::size_t tables) {
  Launch launch = named_plan("histogram", "finish", "histogram/finish.cl", "histogram_finish");
  launch.text_defines.emplace_back("RESULT", opencl_name_of(problem.out));
  const HistogramThreads& threads = histogram_policy(device).threads;
  set_groups(launch, 1, problem.results() / threads.finish_results,
             threads.finish_groups_a_unit * device.compute_units);
  launch.items_per_work_item = divide_up(problem.results(), launch.global[0]);
  const auto results = real(problem.results());
  launch.prediction.bytes_read = results * real(tables * kWordBytes);
  launch.prediction.bytes_written = results * real(size_of(problem.out));
  launch.numbers = {{"tables", tables}};
  launch.reason = formatted("adds up {} tables", tables);
  return launch;
}

/// One work-item a group.
Attempt cpu(const Device& device, const HistogramProblem& problem) {
  if (!runs_cpu_variant(device)) return no_cpu_variant(device);
  const HistogramParts parts = parts_of(device, problem, "cpu");
  Plan plan = base_plan(problem, "cpu", "histogram/cpu.cl", "histogram_cpu");
  set_groups(plan, 1, parts.parts * problem.batch,
             histogram_policy(device).threads.groups_a_unit * device.compute_units);
  plan.items_per_work_item = plan.tile_cols = 64;
  const std::size_t words = (problem.entries() / 16 + 2) * 16;  // cl/histogram/thread_tables.clh
  add_scratch(plan, problem.batch * parts.parts * parts.tables * words * kWordBytes);
  plan.numbers = {{"parts", parts.parts}};
  define(plan, {{"PACK", 1}, {"TABLES", parts.tables}});
  define_read_ahead(device, plan);
  plan.reason = formatted("a thread counts in {}, and another launch adds them up",
                          parts.tables == 1 ? "a table of its own" : "four tables of its own, in turns");
  plan.after.push_back(finish(device, problem, parts.parts * parts.tables));
  return plan;
}

Attempt plan_variant(const Device& device, const HistogramProblem& problem, const PlanOverrides& fixed,
                     std::string_view variant) {
  return variant == "cpu" ? cpu(device, problem) : atomics(device, problem, variant, fixed.work_items);
}

std::vector<std::string_view> preference(const Device& device, const HistogramProblem& problem,
                                         const PlanOverrides& /*fixed*/) {
  if (runs_cpu_variant(device)) return {"cpu"};
  const Table table = table_for(device, problem, false);
  const HistogramPolicy& policy = histogram_policy(device);
  // Bytes come faster than one table takes them.
  if (policy.merges_additions && size_of(problem.in) >= kWordBytes && table.words > 0 && table.passes == 1)
    return {"local"};
  // Copies cost small matrices more than their elements.
  const bool is_small = problem.rows * problem.cols <= policy.small_elements && problem.batch > 1;
  if (table_for(device, problem, true).words > 0 && !(is_small && table.words > 0 && table.passes == 1))
    return {"replicated"};
  if (table.words > 0 && table.passes <= policy.most_passes) return {"local"};
  return {"cached", "global"};
}

const Evidence& evidence(const Device& device, const HistogramProblem& problem, const Plan& plan) {
  const HistogramPolicy& policy = histogram_policy(device);
  if (plan.variant == "local" && size_of(problem.in) == kWordBytes) return policy.words;
  if (plan.variant == "replicated" && size_of(problem.in) == 1) return policy.bytes;
  return plan.variant == "cached" ? policy.many : policy.others;
}

std::string why_not(const Device& device, const HistogramProblem& /*problem*/, std::string_view variant,
                    const Plan& chosen) {
  if (chosen.variant == "cpu") return "atomic additions cost a CPU more than tables of its threads";
  if (variant == "global") return "all elements of a full bin wait for each other";
  if (variant == "replicated" && histogram_policy(device).merges_additions)
    return "fewer groups have room, and each adds up its copies";
  if (variant == "replicated" && chosen.variant == "local") return "clears and adds up all its copies";
  if (variant == "local" && chosen.variant == "replicated")
    return "neighbours with equal values wait for each other";
  if (variant == "local") return "reads the input too often";
  return "a table in local memory holds all bins";
}

constexpr Operation<HistogramProblem> kHistogram{.what = "histogram",
                                                 .name = [](const HistogramProblem&) { return "histogram"; },
                                                 .variants = histogram_variants,
                                                 .check = check_histogram,
                                                 .preference = preference,
                                                 .attempt = plan_variant,
                                                 .why_not = why_not,
                                                 .evidence = evidence,
                                                 .one_work_item = "a thread has tables of its own"};

}  // namespace

std::string_view name_of(Outside outside) { return outside == Outside::drop ? "drop" : "clamp"; }

std::string_view name_of(BinRule rule) {
  constexpr std::array<std::string_view, 5> kNames{"even", "direct", "whole", "edges", "small"};
  return name_among(kNames, rule);
}

void plan::check_bins(const char* operation, const Device& device, const HistogramProblem& p) {
  require_known(operation, "in", p.in);
  require_known(operation, "rule", p.rule, BinRule::small);
  if (p.bins == 0 || p.bins > kMaxBins)
    refuse(device, operation, "bins", formatted("1 to {} bins", kMaxBins), formatted("{}", p.bins));
  if (p.channels == 0 || p.channels > kMaxChannels)
    refuse(device, operation, "channels", formatted("1 to {}", kMaxChannels), formatted("{}", p.channels));
  if (p.cols % p.channels != 0) {
    refuse(device, operation, "in", formatted("rows of whole pixels of {} channels", p.channels),
           formatted("{} elements", p.cols));
  }
  require_elements(operation, "in", {p.rows, p.cols, p.batch});
  require_elements(operation, "out", {p.bins, p.channels, p.batch});
  if (!device.fp64 && p.in == Scalar::float64)
    refuse(device, operation, "in", "a type that the device computes with; it has no fp64", "float64");
}

void plan::define_bins(Launch& plan, const HistogramProblem& problem) {
  const Scalar in = problem.in, value = value_type(in);
  define(plan, {{"RULE", static_cast<std::size_t>(problem.rule)},
                {"CHANNELS", problem.channels},
                {"ELEMENT_BYTES", size_of(in)},
                {"FLOATING", is_float(in) ? 1 : 0}});
  if (!is_float(in) && !is_signed(in)) define(plan, "UNSIGNED_VALUE", 1);
  if (size_of(value) == 8) define(plan, "WIDE_VALUE", 1);
  if (in == Scalar::float64) define(plan, "USE_DOUBLE", 1);
  if (in == Scalar::half) define(plan, "ELEMENT_HALF", 1);
  define_types(plan, {{"ELEMENT", in}, {"VALUE", value}});
}

std::vector<std::string_view> histogram_variants() {
  return {"global", "local", "replicated", "cached", "cpu"};
}

void plan::check_histogram(const Device& device, const HistogramProblem& p) {
  require_number("histogram", "in", p.in);
  check_bins("histogram", device, p);
  require_known("histogram", "out", p.out);
  require_one_of("histogram", "out", p.out, {Scalar::uint32, Scalar::uint64});
  const std::size_t counted = p.rows * p.cols / p.channels;
  if (p.out == Scalar::uint32 && counted > kMostCount)
    refuse("histogram", "out", formatted("uint64 for {} elements of a channel", counted), "uint32");
}

Plan plan_histogram(const Device& device, const HistogramProblem& problem, const PlanOverrides& overrides) {
  return plan_call(kHistogram, "histogram", problem.in, device, problem, overrides);
}

}  // namespace smem
