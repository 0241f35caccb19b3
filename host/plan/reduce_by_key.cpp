// Plans for reductions of runs of equal keys: which variant, how many parts, and why.
#include "plan/reduce_by_key_types.hpp"

#include "formatted.hpp"
#include "plan/look_back.hpp"
#include "plan/read_ahead_policy.hpp"
#include "plan/reduce_types.hpp"
#include "plan/scan_policy.hpp"
#include "plan/variants.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace smem {

namespace plan {

namespace {

/// Whose operation it shares; of the first of a run, whose types.
ReduceProblem as_reduction(const ReduceByKeyProblem& problem) {
  ReduceProblem reduction;
  reduction.reduction = problem.unique ? ReduceOp::max : problem.operation;
  reduction.in = problem.in;
  reduction.out = problem.out;
  return reduction;
}

}  // namespace

const char* operation_name(const ReduceByKeyProblem& problem) {
  return problem.unique ? "unique_by_key" : "reduce_by_key";
}

void check_reduce_by_key(const Device& device, const ReduceByKeyProblem& problem) {
  const char* operation = operation_name(problem);
  require_known(operation, "keys", problem.keys);
  require_known(operation, "in", problem.in);
  require_elements(operation, "keys", {problem.size});
  if (problem.unique) {
    if (problem.in != bits_of(problem.in))
      refuse(operation, "in", "an unsigned integer of the elements' size", name_of(problem.in));
  } else {
    require_known(operation, "operation", problem.operation.op, ReduceOp::custom);
    require_known(operation, "mode", problem.operation.mode, FloatMode::compensated);
    if (problem.operation.op > ReduceOp::all && problem.operation.op != ReduceOp::custom) {
      refuse(operation, "operation", "sum, product, min, max, bit_and, bit_or, any, all or custom",
             name_of(problem.operation.op));
    }
    if (problem.operation.mode == FloatMode::compensated)
      refuse(operation, "mode", "reproducible: there is no compensated reduction by key", "compensated");
  }
  check_operation(device, operation, "out", as_reduction(problem));
}

}  // namespace plan

namespace {

using namespace plan;

std::size_t number_bytes(const ReduceByKeyProblem& problem) {
  return size_of(accumulator_type(as_reduction(problem)));
}

/// Whether the number of runs takes more than the bits that a status has beside it (cl/scan/states.clh).
bool has_wide_heads(const ReduceByKeyProblem& problem) { return problem.size >= std::size_t{1} << 30; }

/// Bytes of what a part makes, as kernels lay it out: a number and a count.
std::size_t state_bytes(const ReduceByKeyProblem& problem) {
  return number_bytes(problem) == 8 || has_wide_heads(problem) ? 16 : 8;
}

/// Work-items of a group, unless they do not fit.
std::size_t group_of(const Device& device, const PlanOverrides& fixed) {
  return group_wanted(fixed, scan_policy(device).group);
}

/// Elements that a work-item has in registers.
std::size_t items_of(const Device& device, const ReduceByKeyProblem& problem) {
  return scan_policy(device).item_bytes / number_bytes(problem);
}

/// How the vectors are cut.
Parts parts_of(const Device& device, const ReduceByKeyProblem& problem, const PlanOverrides& fixed,
               std::string_view variant) {
  Parts parts = cut_vector(device, scan_policy(device), variant, at_least_1(problem.size),
                           std::max(size_of(problem.in), size_of(problem.keys)),
                           group_of(device, fixed) * items_of(device, problem), prefers_look_back(device));
  parts.two_launches = parts.parts > 1 && !parts.single_pass;
  return parts;
}

std::vector<std::string_view> preference(const Device& device, const ReduceByKeyProblem& problem,
                                         const PlanOverrides& fixed) {
  if (runs_cpu_variant(device)) return {"cpu"};
  if (!prefers_look_back(device)) return {"reduce_then_scan"};
  // What is one part needs no counters.
  const bool is_one = parts_of(device, problem, fixed, "reduce_then_scan").parts == 1;
  return {is_one ? "reduce_then_scan" : "look_back"};
}

Plan base_plan(const ReduceByKeyProblem& problem, std::string_view variant, const char* file,
               const char* entry) {
  Plan plan = named_plan(operation_name(problem), variant, file, entry);
  define_operation(plan, as_reduction(problem));
  if (problem.unique) {  // no kernel combines anything to the left of a run's first element
    constexpr long kFirst = 15;
    for (auto& [name, value] : plan.defines)
      if (name == "OPERATION") value = kFirst;
  }
  define_types(plan, {{"MARK", bits_of(problem.keys)}});
  if (is_float(problem.keys)) {
    define(plan, "MARK_INFINITY",
           problem.keys == Scalar::half       ? 0x7c00L
           : problem.keys == Scalar::bfloat16 ? 0x7f80L
           : problem.keys == Scalar::float32  ? 0x7f800000L
                                              : 0x7ff0000000000000L);
  }
  if (has_wide_heads(problem)) define(plan, "WIDE_HEADS", 1);
  const double elements = real(problem.size);
  plan.prediction.bytes_read = elements * real(size_of(problem.keys) + size_of(problem.in));
  plan.prediction.bytes_written = elements / 2 * real(size_of(problem.keys) + size_of(problem.out));
  plan.prediction.operations = is_float(problem.in) ? elements : 0;
  return plan;
}

/// Chooses the sizes of tiles, and defines them for the kernel; false where no work-group fits.
bool set_tile(const Device& device, const ReduceByKeyProblem& problem, const PlanOverrides& fixed,
              Launch& plan) {
  const std::size_t number = number_bytes(problem), state = state_bytes(problem);
  const std::size_t items = items_of(device, problem);
  constexpr std::size_t kWords = 64;  // of the kernel's own, with their alignment
  const std::size_t padded = device.local_is_cache ? items : items + 1;
  const std::size_t beside = 3 * items + state;  // heads, places, and a state of each work-item
  const std::size_t group = group_for(device, group_of(device, fixed), padded * number + beside, kWords);
  if (group == 0) return false;
  const std::size_t pack = run_pack(scan_policy(device).pack_bytes, problem.in, problem.in_alignment, items);
  const Tile tile{group,
                  items,
                  number,
                  group,
                  {across_items("elements", true, items, pack), own_items("own elements", false)}};
  lay_tile(device, tile, group * beside + kWords, plan);
  plan.prediction.local_bytes = 2 * real(number, problem.size);
  plan.work_group = {group, 1, 1};
  plan.vector_width = pack;
  plan.items_per_work_item = items;
  plan.tile_cols = group * items;
  define(plan, {{"GROUP", group}, {"ITEMS", items}, {"PACK", pack}, {"LANES", 1}});
  if (!scan_policy(device).keys_ahead) define(plan, "KEYS_AHEAD", 0);
  define_sub_group(device, plan);
  define_layout(plan, plan.layout);
  if (uses_shuffles(device, group)) define(plan, "SHUFFLES", 1);
  return true;
}

Attempt look_back(const Device& device, const ReduceByKeyProblem& problem, const PlanOverrides& fixed,
                  const Parts& parts) {
  if (!can_look_back(device)) return kCannotPublish;
  if (parts.parts > kMaxTiles) return "its tiles are more than a launch can have";
  Plan plan = base_plan(problem, "look_back", "reduce_by_key/look_back.cl", "reduce_by_key_look_back");
  if (!set_tile(device, problem, fixed, plan)) return no_tile_fits(device);
  define(plan, "TILE", parts.piece);
  define_publishing(device, plan);
  if (device.ordered_start) define(plan, "ORDERED_START", 1);
  plan.global = {parts.parts * plan.work_group[0], 1, 1};
  plan.tile_cols = parts.piece;
  plan.reason =
      "single pass: each tile publishes its runs and what the last one makes, and looks back over the tiles "
      "before it";
  return plan;
}

Attempt reduce_then_scan(const Device& device, const ReduceByKeyProblem& problem, const PlanOverrides& fixed,
                         const Parts& parts) {
  Plan plan = base_plan(problem, "reduce_then_scan", "reduce_by_key/parts.cl", "reduce_by_key_parts");
  if (!set_tile(device, problem, fixed, plan)) return no_tile_fits(device);
  plan.global = {parts.parts * plan.work_group[0], 1, 1};
  plan.reason =
      parts.parts == 1
          ? "one part, of a single work-group"
          : formatted("{} parts: the first launch reduces each, the second one writes its runs", parts.parts);
  return plan;
}

Attempt cpu(const Device& device, const ReduceByKeyProblem& problem, const Parts& parts) {
  if (!runs_cpu_variant(device)) return no_cpu_variant(device);
  Plan plan = base_plan(problem, "cpu", "reduce_by_key/cpu.cl", "reduce_by_key_cpu");
  const std::size_t groups_a_unit = parts.single_pass ? 1 : scan_policy(device).threads.groups_a_unit;
  set_groups(plan, 1, parts.parts, groups_a_unit * device.compute_units);
  plan.tile_cols = plan.items_per_work_item = parts.piece;
  define(plan, {{"PACK", 1}, {"LANES", 1}, {"PHASE", parts.single_pass ? 2 : 1}});
  if (parts.single_pass) define_publishing(device, plan);
  define_read_ahead(device, plan);
  plan.reason = parts.single_pass
                    ? "a thread takes a part that its cache holds: it reduces first, then it writes"
                    : "a thread reduces the runs of a part, front to back";
  return plan;
}

/// The launch before `plan`'s, which finds out what each part makes.
std::optional<Launch> first(const Device& device, const ReduceByKeyProblem& problem,
                            const PlanOverrides& fixed, const Plan& plan) {
  Launch launch = plan;
  if (plan.variant == "cpu") {
    std::erase_if(launch.defines, [](const auto& d) { return d.first == "PHASE"; });
    define(launch, "PHASE", 0);
  } else {
    launch = base_plan(problem, plan.variant, "reduce_by_key/reduce.cl", "reduce_by_key_reduce");
    if (!set_tile(device, problem, fixed, launch)) return std::nullopt;
    launch.global = plan.global;
  }
  launch.variant = "first";
  launch.numbers = plan.numbers;
  launch.prediction.bytes_written = real(plan.scratch_bytes);
  launch.reason = formatted("finds out what each of {} parts makes", plan.number("parts"));
  return launch;
}

Attempt plan_variant(const Device& device, const ReduceByKeyProblem& problem, const PlanOverrides& fixed,
                     std::string_view variant) {
  const Parts parts = parts_of(device, problem, fixed, variant);
  Attempt attempt = variant == "cpu"         ? cpu(device, problem, parts)
                    : variant == "look_back" ? look_back(device, problem, fixed, parts)
                                             : reduce_then_scan(device, problem, fixed, parts);
  return joined_parts(std::move(attempt), device, parts, 1, state_bytes(problem), false,
                      [&](const Plan& plan) { return first(device, problem, fixed, plan); });
}

std::string why_not(const Device& device, const ReduceByKeyProblem& /*problem*/, std::string_view variant,
                    const Plan& chosen) {
  if (chosen.variant == "cpu") return "a CPU runs work-items that share local memory as loops";
  if (variant == "look_back" && !prefers_look_back(device))
    return "without forward progress work-groups wait for others, and then reduce the same elements again";
  return variant == "look_back" ? "one part needs no look-back" : "reads every key and element twice";
}

const Evidence& evidence(const Device& /*device*/, const ReduceByKeyProblem& /*problem*/,
                         const Plan& /*plan*/) {
  static constexpr Evidence kOfScans{.what = "no measurement yet: the sizes of segmented scans"};
  return kOfScans;
}

constexpr Operation<ReduceByKeyProblem> kReduceByKey{.what = "reduction by key",
                                                     .name = operation_name,
                                                     .variants = reduce_by_key_variants,
                                                     .check = check_reduce_by_key,
                                                     .preference = preference,
                                                     .attempt = plan_variant,
                                                     .why_not = why_not,
                                                     .evidence = evidence,
                                                     .one_work_item = "a thread has a piece"};

}  // namespace

std::vector<std::string_view> reduce_by_key_variants() { return {"reduce_then_scan", "look_back", "cpu"}; }

Plan plan_reduce_by_key(const Device& device, const ReduceByKeyProblem& problem,
                        const PlanOverrides& overrides) {
  return plan_call(kReduceByKey, "reduce_by_key", problem.in, device, problem, overrides);
}

}  // namespace smem
