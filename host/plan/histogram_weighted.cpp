// Plans for weighted histograms: where the sums are kept.
#include <smem/error.hpp>
#include <smem/histogram_plan.hpp>

#include "formatted.hpp"
#include "plan/broken.hpp"
#include "plan/histogram_policy.hpp"
#include "plan/histogram_types.hpp"
#include "plan/sizes.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace smem {

namespace {

using plan::define;
using plan::divide_up;
using plan::weighted_policy;
using plan::WeightedPolicy;

constexpr const char* kOperation = "histogram_weighted";
constexpr std::size_t kSumBytes = 8;
constexpr std::size_t kExponentBytes = 16;
constexpr std::size_t kOwnBytes = 64;  // of local memory, which compilers take for themselves

[[noreturn]] void refuse(const char* argument, std::string expected, std::string got) {
  throw Error({.operation = kOperation,
               .argument = argument,
               .expected = std::move(expected),
               .got = std::move(got)});
}

void define_weights(Launch& plan, const WeightedHistogramProblem& problem) {
  if (!is_float(problem.weights)) define(plan, "WEIGHT_FLOATING", 0);
  if (problem.weights == Scalar::half) define(plan, "WEIGHT_HALF", 1);
  if (problem.weights == Scalar::float64) define(plan, "WEIGHT_DOUBLE", 1);
  plan.text_defines.emplace_back("WEIGHT", opencl_name_of(problem.weights));
}

Plan base_plan(std::string_view variant, const char* file, const char* entry) {
  Plan plan;
  plan.operation = kOperation;
  plan.variant = variant;
  plan.kernel_file = file;
  plan.entry_point = entry;
  return plan;
}

/// Entries of a table in local memory, a power of four where that fits, so that few programs serve all bin
/// counts; 0: there is no room.
std::size_t table_entries(const Device& device, std::size_t bins) {
  const std::size_t most = (device.local_bytes - std::min(kOwnBytes, device.local_bytes)) / kSumBytes;
  return bins > most
             ? 0
             : std::min(std::max(plan::power_of_four(bins), weighted_policy(device).least_entries), most);
}

std::string_view choose(const Device& device, const WeightedHistogramProblem& problem) {
  if (plan::runs_cpu_variant(device)) return "cpu";
  return table_entries(device, problem.counts.bins) > 0 ? "local" : "global";
}

double of_elements(const WeightedHistogramProblem& problem, std::size_t bytes) {
  return static_cast<double>(problem.elements()) * static_cast<double>(problem.counts.batch) *
         static_cast<double>(bytes);
}

/// How a matrix is shared out, whatever the size of a work-group.
struct Parts {
  std::size_t parts = 1;   ///< of each matrix
  std::size_t tables = 1;  ///< of sums, for each matrix
};

Parts parts_of(const Device& device, const WeightedHistogramProblem& problem, std::string_view variant) {
  const WeightedPolicy& policy = weighted_policy(device);
  const std::size_t batch = std::max<std::size_t>(problem.counts.batch, 1);
  // A part has more to sum than its table has entries.
  const std::size_t most =
      problem.elements() / std::max(policy.part_elements, policy.entry_elements * problem.counts.bins);
  const std::size_t wanted =
      (variant == "cpu" ? policy.threads_a_unit : policy.groups_a_unit) * device.compute_units;
  const std::size_t parts =
      std::clamp<std::size_t>(divide_up(wanted, batch), 1, std::max<std::size_t>(1, most));
  return {parts, variant == "cpu" ? parts : 1};
}

/// The launch that finds the greatest exponent of floating-point weights.
Launch scale(const Device& device, const WeightedHistogramProblem& problem) {
  const WeightedPolicy& policy = weighted_policy(device);
  Launch launch = base_plan("scale", "histogram/weight_scale.cl", "histogram_weight_scale");
  const std::size_t group =
      plan::group_for(device, device.type == DeviceType::cpu ? 1 : policy.side_group, 0, kOwnBytes / 2);
  if (group == 0) {
    refuse("weights", formatted("integers on a device of less than {} bytes of local memory", kOwnBytes / 2),
           formatted("{}", name_of(problem.weights)));
  }
  const std::size_t groups = problem.elements() * problem.counts.batch / (policy.scale_elements * group);
  launch.work_group = {group, 1, 1};
  launch.global = {std::clamp<std::size_t>(groups, 1, policy.groups_a_unit * device.compute_units) * group, 1,
                   1};
  launch.local_bytes = kOwnBytes / 2;  // a word, with what compilers add
  launch.prediction.bytes_read = of_elements(problem, size_of(problem.weights));
  launch.prediction.bytes_written = sizeof(std::uint32_t);
  define(launch, "GROUP", group);
  define_weights(launch, problem);
  launch.reason = "the greatest exponent, so that sums are of integers, and the same in any order";
  return launch;
}

/// The launch that writes the results.
Launch finish(const Device& device, const WeightedHistogramProblem& problem, std::size_t tables) {
  const WeightedPolicy& policy = weighted_policy(device);
  Launch launch = base_plan("finish", "histogram/weighted_finish.cl", "histogram_weighted_finish");
  const std::size_t results = problem.counts.results();
  const std::size_t group =
      plan::group_for(device, device.type == DeviceType::cpu ? 1 : policy.side_group, 0);
  launch.work_group = {group, 1, 1};
  launch.global = {
      std::clamp<std::size_t>(divide_up(results, group), 1, policy.groups_a_unit * device.compute_units) *
          group,
      1, 1};
  launch.prediction.bytes_read =
      static_cast<double>(results) * static_cast<double>(tables * kSumBytes + sizeof(std::uint32_t));
  launch.prediction.bytes_written = static_cast<double>(results) * static_cast<double>(size_of(problem.out));
  define_weights(launch, problem);
  if (problem.out == Scalar::float64) define(launch, "RESULT_DOUBLE", 1);
  launch.text_defines.emplace_back("RESULT", opencl_name_of(problem.out));
  launch.numbers = {{"tables", tables}};
  launch.reason = formatted("adds up {} table(s)", tables);
  return launch;
}

/// Gives the plan its temporary memory, which begins with zeros: the greatest exponent, marks of results that
/// are no numbers, and sums. Then the launches before and after it.
void complete(const Device& device, const WeightedHistogramProblem& problem, const Parts& parts, Plan& plan) {
  const std::size_t results = problem.counts.results();
  for (const std::size_t bytes : {kExponentBytes, plan::round_up(results * sizeof(std::uint32_t), 16),
                                  results * parts.tables * kSumBytes})
    plan::add_scratch(plan, bytes, bytes);
  plan.numbers = {{"parts", parts.parts}};
  if (problem.elements() == 0) {
    plan.repeats = 0;
  } else if (is_float(problem.weights)) {
    plan.before.push_back(scale(device, problem));
  }
  plan.after.push_back(finish(device, problem, parts.tables));
}

}  // namespace

std::vector<std::string_view> histogram_weighted_variants() { return {"global", "local", "cpu"}; }

void plan::check_weighted(const Device& device, const WeightedHistogramProblem& p) {
  plan::require_number(kOperation, "in", p.counts.in);
  plan::require_number(kOperation, "weights", p.weights);
  plan::require_number(kOperation, "out", p.out);
  plan::check_bins(kOperation, device, p.counts);
  if (p.counts.channels != 1) refuse("channels", "1", formatted("{}", p.counts.channels));
  const bool fits = is_float(p.weights) ? p.out == Scalar::float32 || p.out == Scalar::float64
                                        : !is_float(p.out) && size_of(p.out) >= 4;
  if (!fits) {
    refuse("out",
           formatted("{} for weights of {}",
                     is_float(p.weights) ? "float32 or float64" : "an integer of 32 or 64 bits",
                     name_of(p.weights)),
           std::string(name_of(p.out)));
  }
  for (const auto& [argument, type] : {std::pair{"weights", p.weights}, {"out", p.out}}) {
    if (type == Scalar::float64 && !device.fp64)
      refuse(argument, "a type that the device computes with; it has no fp64", "float64");
  }
}

namespace {

/// Why `variant` was not chosen.
std::string why_not(const Device& device, const WeightedHistogramProblem& /*problem*/,
                    std::string_view variant, const Plan& chosen) {
  if (variant == "cpu") return plan::no_cpu_variant(device);
  if (chosen.variant == "cpu") return "atomic additions cost a CPU more than tables of its threads";
  if (variant == "local") return "its table does not fit local memory";
  return "all elements of a full bin wait for each other";
}

/// The plan on a device whose driver breaks nothing.
Plan make_plan(const Device& device, const WeightedHistogramProblem& problem,
               const PlanOverrides& overrides) {
  plan::check_weighted(device, problem);
  const auto names = histogram_weighted_variants();
  plan::require_choice(kOperation, overrides, names);
  const std::string_view variant =
      overrides.variant.empty() ? choose(device, problem) : std::string_view(overrides.variant);
  const std::size_t entries = variant == "local" ? table_entries(device, problem.counts.bins) : 0;
  if ((variant == "cpu" && !plan::runs_cpu_variant(device)) || (variant == "local" && entries == 0)) {
    refuse("variant", "one that can run this histogram on this device",
           formatted("\"{}\" for {} sums on {} with {} bytes of local memory", variant, problem.counts.bins,
                     device.name, device.local_bytes));
  }
  const WeightedPolicy& policy = weighted_policy(device);
  const std::size_t wanted = overrides.work_items != 0 ? overrides.work_items : policy.group;
  const std::size_t group = variant == "cpu" ? 1 : plan::group_for(device, wanted, 0);
  if (overrides.work_items != 0 && group != overrides.work_items) {
    refuse("work_items",
           variant == "cpu" ? std::string("1: a thread has a table of its own")
                            : formatted("a power of two, at most {}", device.max_work_group),
           formatted("{}", overrides.work_items));
  }
  const Parts parts = parts_of(device, problem, variant);
  Plan plan = base_plan(variant, "histogram/weighted.cl", "histogram_weighted");
  const std::size_t jobs = parts.parts * std::max<std::size_t>(problem.counts.batch, 1);
  plan.work_group = {group, 1, 1};
  plan.global = {std::min<std::size_t>(jobs, std::size_t{1} << 20) * group, 1, 1};
  plan.local_bytes = entries * kSumBytes;
  plan.tile_cols = group;
  plan.prediction.bytes_read = of_elements(problem, size_of(problem.counts.in) + size_of(problem.weights));
  plan.prediction.bytes_written = static_cast<double>(problem.counts.results() * parts.tables * kSumBytes);
  if (entries > 0) plan.prediction.local_bytes = of_elements(problem, 2 * kSumBytes);
  define(plan, "GROUP", group);
  define(plan, "SUMS", variant == "global" ? 0 : variant == "local" ? 1 : 2);
  if (entries > 0) define(plan, "TABLE", entries);
  define(plan, "PACK", 1);
  plan::define_bins(plan, problem.counts);
  define_weights(plan, problem);
  plan.reason = variant == "global"  ? "sums in global memory, by atomic additions"
                : variant == "local" ? "a table of sums in local memory for each work-group"
                                     : "a table of its own for each thread, and another launch adds them up";
  plan.evidence = (variant == "local" ? policy.local : policy.others).text(device);
  complete(device, problem, parts, plan);
  plan::note_choice(plan, overrides, names, device, problem, why_not);
  return plan;
}

}  // namespace

Plan plan_histogram_weighted(const Device& device, const WeightedHistogramProblem& problem,
                             const PlanOverrides& overrides) {
  return plan::Broken(device, kOperation, problem.counts.in)
      .plan(histogram_weighted_variants(), overrides,
            [&](const PlanOverrides& fixed) { return make_plan(device, problem, fixed); });
}

}  // namespace smem
