// Plans for weighted histograms: where the sums are kept.
#include <smem/histogram_plan.hpp>

#include "formatted.hpp"
#include "plan/histogram_policy.hpp"
#include "plan/histogram_types.hpp"
#include "plan/variants.hpp"

#include <algorithm>
#include <string>

namespace smem {

namespace {

using namespace plan;

constexpr std::size_t kSumBytes = 8;
constexpr std::size_t kExponentBytes = 16;

void define_weights(Launch& plan, const WeightedHistogramProblem& problem) {
  if (!is_float(problem.weights)) define(plan, "WEIGHT_FLOATING", 0);
  if (problem.weights == Scalar::half) define(plan, "WEIGHT_HALF", 1);
  if (problem.weights == Scalar::float64) define(plan, "WEIGHT_DOUBLE", 1);
  define_types(plan, {{"WEIGHT", problem.weights}});
}

/// Entries of a table in local memory, a power of four where that fits, so that few programs serve all bin
/// counts; 0: there is no room.
std::size_t table_entries(const Device& device, std::size_t bins) {
  const std::size_t most = local_room(device) / kSumBytes;
  return bins > most ? 0
                     : std::min(std::max(power_of_four(bins), weighted_policy(device).least_entries), most);
}

double of_elements(const WeightedHistogramProblem& problem, std::size_t bytes) {
  return real(problem.elements(), problem.counts.batch, bytes);
}

/// How a matrix is shared out, whatever the size of a work-group.
struct WeightedParts {
  std::size_t parts = 1;   ///< of each matrix
  std::size_t tables = 1;  ///< of sums, for each matrix
};

WeightedParts parts_of(const Device& device, const WeightedHistogramProblem& problem,
                       std::string_view variant) {
  const WeightedPolicy& policy = weighted_policy(device);
  const std::size_t batch = at_least_1(problem.counts.batch);
  // A part has more to sum than its table has entries.
  const std::size_t most =
      problem.elements() / std::max(policy.part_elements, policy.entry_elements * problem.counts.bins);
  const std::size_t wanted =
      (variant == "cpu" ? policy.threads_a_unit : policy.groups_a_unit) * device.compute_units;
  const std::size_t parts = std::clamp<std::size_t>(divide_up(wanted, batch), 1, at_least_1(most));
  return {parts, variant == "cpu" ? parts : 1};
}

/// The launch that finds the greatest exponent of floating-point weights.
Launch scale(const Device& device, const WeightedHistogramProblem& problem) {
  const WeightedPolicy& policy = weighted_policy(device);
  Launch launch =
      named_plan(kWeightedHistogramName, "scale", "histogram/weight_scale.cl", "histogram_weight_scale");
  const std::size_t group =
      group_for(device, device.type == DeviceType::cpu ? 1 : policy.side_group, 0, kOwnBytes / 2);
  if (group == 0) {
    refuse(kWeightedHistogramName, "weights",
           formatted("integers on a device of less than {} bytes of local memory", kOwnBytes / 2),
           formatted("{}", name_of(problem.weights)));
  }
  const std::size_t groups = problem.elements() * problem.counts.batch / (policy.scale_elements * group);
  set_groups(launch, group, groups, policy.groups_a_unit * device.compute_units);
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
  Launch launch = named_plan(kWeightedHistogramName, "finish", "histogram/weighted_finish.cl",
                             "histogram_weighted_finish");
  const std::size_t results = problem.counts.results();
  const std::size_t group = group_for(device, device.type == DeviceType::cpu ? 1 : policy.side_group, 0);
  set_groups(launch, group, divide_up(results, group), policy.groups_a_unit * device.compute_units);
  launch.prediction.bytes_read = real(results, tables * kSumBytes + sizeof(std::uint32_t));
  launch.prediction.bytes_written = real(results, size_of(problem.out));
  define_weights(launch, problem);
  if (problem.out == Scalar::float64) define(launch, "RESULT_DOUBLE", 1);
  define_types(launch, {{"RESULT", problem.out}});
  launch.numbers = {{"tables", tables}};
  launch.reason = formatted("adds up {} table(s)", tables);
  return launch;
}

/// Gives the plan its temporary memory, which begins with zeros: the greatest exponent, marks of results that
/// are no numbers, and sums. Then the launches before and after it.
void complete(const Device& device, const WeightedHistogramProblem& problem, const WeightedParts& parts,
              Plan& plan) {
  const std::size_t results = problem.counts.results();
  for (const std::size_t bytes :
       {kExponentBytes, round_up(results * sizeof(std::uint32_t), 16), results * parts.tables * kSumBytes})
    add_scratch(plan, bytes, bytes);
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
  require_number(kWeightedHistogramName, "in", p.counts.in);
  require_number(kWeightedHistogramName, "weights", p.weights);
  require_number(kWeightedHistogramName, "out", p.out);
  check_bins(kWeightedHistogramName, device, p.counts);
  if (p.counts.channels != 1)
    refuse(kWeightedHistogramName, "channels", "1", formatted("{}", p.counts.channels));
  const bool fits = is_float(p.weights) ? p.out == Scalar::float32 || p.out == Scalar::float64
                                        : !is_float(p.out) && size_of(p.out) >= 4;
  if (!fits) {
    refuse(kWeightedHistogramName, "out",
           formatted("{} for weights of {}",
                     is_float(p.weights) ? "float32 or float64" : "an integer of 32 or 64 bits",
                     name_of(p.weights)),
           name_of(p.out));
  }
  require_fp64(kWeightedHistogramName, device, "weights", p.weights);
  require_fp64(kWeightedHistogramName, device, "out", p.out);
}

namespace {

std::vector<std::string_view> preference(const Device& device, const WeightedHistogramProblem& /*problem*/,
                                         const PlanOverrides& /*fixed*/) {
  if (runs_cpu_variant(device)) return {"cpu"};
  return {"local", "global"};
}

std::string why_not(const Device& /*device*/, const WeightedHistogramProblem& /*problem*/,
                    std::string_view /*variant*/, const Plan& chosen) {
  if (chosen.variant == "cpu") return "atomic additions cost a CPU more than tables of its threads";
  return "all elements of a full bin wait for each other";
}

const Evidence& evidence(const Device& device, const WeightedHistogramProblem& /*problem*/,
                         const Plan& plan) {
  const WeightedPolicy& policy = weighted_policy(device);
  return plan.variant == "local" ? policy.local : policy.others;
}

Attempt plan_variant(const Device& device, const WeightedHistogramProblem& problem,
                     const PlanOverrides& fixed, std::string_view variant) {
  const std::size_t entries = variant == "local" ? table_entries(device, problem.counts.bins) : 0;
  if (variant == "cpu" && !runs_cpu_variant(device)) return no_cpu_variant(device);
  if (variant == "local" && entries == 0) return "its table does not fit local memory";
  const std::size_t wanted = group_wanted(fixed, weighted_policy(device).group);
  const std::size_t group = variant == "cpu" ? 1 : group_for(device, wanted, 0);
  const WeightedParts parts = parts_of(device, problem, variant);
  Plan plan = named_plan(kWeightedHistogramName, variant, "histogram/weighted.cl", "histogram_weighted");
  const std::size_t jobs = parts.parts * at_least_1(problem.counts.batch);
  plan.work_group = {group, 1, 1};
  plan.global = {std::min<std::size_t>(jobs, std::size_t{1} << 20) * group, 1, 1};
  plan.local_bytes = entries * kSumBytes;
  plan.tile_cols = group;
  plan.prediction.bytes_read = of_elements(problem, size_of(problem.counts.in) + size_of(problem.weights));
  plan.prediction.bytes_written = real(problem.counts.results() * parts.tables * kSumBytes);
  if (entries > 0) plan.prediction.local_bytes = of_elements(problem, 2 * kSumBytes);
  define(plan, {{"GROUP", group}, {"SUMS", variant == "global" ? 0 : variant == "local" ? 1 : 2}});
  if (entries > 0) define(plan, "TABLE", entries);
  define(plan, "PACK", 1);
  define_bins(plan, problem.counts);
  define_weights(plan, problem);
  plan.reason = variant == "global"  ? "sums in global memory, by atomic additions"
                : variant == "local" ? "a table of sums in local memory for each work-group"
                                     : "a table of its own for each thread, and another launch adds them up";
  complete(device, problem, parts, plan);
  return plan;
}

constexpr Operation<WeightedHistogramProblem> kWeighted{
    .what = "histogram",
    .name = [](const WeightedHistogramProblem&) { return kWeightedHistogramName; },
    .variants = histogram_weighted_variants,
    .check = check_weighted,
    .preference = preference,
    .attempt = plan_variant,
    .why_not = why_not,
    .evidence = evidence,
    .one_work_item = "a thread has a table of its own"};

}  // namespace

Plan plan_histogram_weighted(const Device& device, const WeightedHistogramProblem& problem,
                             const PlanOverrides& overrides) {
  return plan_call(kWeighted, kWeightedHistogramName, problem.counts.in, device, problem, overrides);
}

}  // namespace smem
