// Plans for selections: which variant, how many parts, and why.
#include <smem/select_plan.hpp>

#include "formatted.hpp"
#include "plan/look_back.hpp"
#include "plan/read_ahead_policy.hpp"
#include "plan/reduce_types.hpp"
#include "plan/select_policy.hpp"
#include "plan/select_types.hpp"
#include "plan/variants.hpp"

#include <algorithm>
#include <bit>
#include <optional>
#include <string>
#include <utility>

namespace smem {

namespace {

using namespace plan;

/// Whether warps read tiles into their registers (cl/nvidia/select_tile.clh).
bool selects_in_registers(const Device& device) { return is_nvidia_gpu(device); }

/// Whether a work-item keeps bytes four to a word (cl/select/packed.clh).
bool keeps_words(const Device& device, const SelectProblem& problem) {
  const bool only_copies = !is_partition(problem.op) && problem.op != SelectOp::run_length_encode;
  const std::size_t pack = select_policy(device).pack_bytes;
  const bool aligned =
      problem.in_alignment >= pack && (!is_flagged(problem.op) || problem.flags_alignment >= pack);
  return selects_in_registers(device) && only_copies && size_of(problem.in) == 1 && aligned;
}

/// Bytes of local memory for the kernel's own words, with their alignment.
constexpr std::size_t kWords = 64;

/// Bytes of a work-item in a tile that stays in local memory; places of a warp's list, and their bytes for
/// each of its 32 work-items.
constexpr std::size_t kKeptBytes = 128, kListPlaces = 256, kKeptPlaces = kListPlaces * 2 / 32;

/// Bytes of what a part selects, as kernels lay it out: a count, and for runs the place of the last one.
std::size_t state_bytes(const SelectProblem& problem) {
  return (is_wide(problem) ? 8 : 4) * (problem.op == SelectOp::run_length_encode ? 2 : 1);
}

/// Elements of a work-item in such a tile: a bit each.
std::size_t kept_items(const SelectProblem& problem) {
  return std::min<std::size_t>(kKeptBytes / size_of(problem.in), 32);
}

/// Work-items of such a tile's group.
std::size_t group_of_kept(const Device& device, const SelectProblem& problem) {
  const SelectPolicy& policy = select_policy(device);
  return size_of(problem.in) == 8 ? policy.group_of_kept_wide : policy.group_of_kept;
}

/// Whether local memory holds such a tile: one of fewer work-items would be read twice.
bool has_room_for_kept(const Device& device, const SelectProblem& problem) {
  const std::size_t each = kept_items(problem) * size_of(problem.in) + kKeptPlaces + state_bytes(problem);
  const std::size_t group = group_of_kept(device, problem);
  return group_for(device, group, each, kWords) == group;
}

/// Whether the elements of a tile of runs stay in local memory (cl/nvidia/select_kept.clh).
bool keeps_elements(const Device& device, const SelectProblem& problem, std::string_view variant) {
  const SelectPolicy& policy = select_policy(device);
  return variant == "look_back" && problem.op == SelectOp::run_length_encode && policy.group_of_kept != 0 &&
         problem.size > policy.short_vector && !is_wide(problem) &&
         problem.in_alignment >= policy.pack_bytes && compute_capability(device) >= 80 &&
         !falls_back(device, true) && has_room_for_kept(device, problem);
}

/// Whether tiles publish to each other after a launch that has counted all that is selected.
bool counts_all_first(const SelectProblem& problem, std::string_view variant) {
  return variant == "look_back" && is_partition_in_order(problem.op);
}

/// Work-items of a group, unless they are fixed by hand or do not fit.
std::size_t group_of(const Device& device, const SelectProblem& problem, const PlanOverrides& fixed,
                     std::string_view variant) {
  if (fixed.work_items != 0) return fixed.work_items;
  const SelectPolicy& policy = select_policy(device);
  if (is_partition(problem.op) && variant != "look_back") return policy.group_of_partitions;
  if (keeps_elements(device, problem, variant)) return group_of_kept(device, problem);
  if (problem.op == SelectOp::run_length_encode) return policy.group_of_runs;
  if (keeps_words(device, problem)) return policy.group_of_packed;
  const bool large = problem.op == SelectOp::copy_flagged && device.local_bytes >= policy.flagged_local_bytes;
  if (large) return policy.group_of_flagged;
  return problem.size <= policy.short_vector ? std::min(policy.group, policy.short_group) : policy.group;
}

/// Bytes of an element's place in local memory, for the lengths of runs: of warps together with the element,
/// if both are a word (RECORDS in cl/select/tile.clh).
std::size_t place_bytes(const Device& device, const SelectProblem& problem) {
  if (problem.op != SelectOp::run_length_encode) return 0;
  return selects_in_registers(device) && size_of(problem.in) == 4 ? 4 : 2;
}

/// Elements that a work-item has in registers.
std::size_t items_of(const Device& device, const SelectProblem& problem, const PlanOverrides& fixed,
                     std::string_view variant) {
  if (fixed.tile_cols != 0) return at_least_1(fixed.tile_cols / group_of(device, problem, fixed, variant));
  if (keeps_elements(device, problem, variant)) return kept_items(problem);
  const SelectPolicy& policy = select_policy(device);
  const bool in_registers = selects_in_registers(device);
  const std::size_t each = size_of(problem.in) + (in_registers ? place_bytes(device, problem) : 0);
  const bool small_runs = problem.op == SelectOp::run_length_encode && size_of(problem.in) <= 4;
  const std::size_t large = small_runs ? policy.large_run_bytes : policy.large_item_bytes;
  const std::size_t room = device.local_bytes >= policy.large_local_bytes ? large : policy.item_bytes;
  const bool few_registers = !is_flagged(problem.op) && !is_wide(problem);
  const std::size_t most = keeps_words(device, problem) && few_registers ? policy.packed_items
                           : in_registers && problem.in_alignment < policy.pack_bytes
                               ? policy.most_single_items
                               : policy.most_items;
  return std::min(std::bit_floor(room / each), most);
}

/// Why a tile that was fixed by hand cannot be; empty where it can.
std::string tile_fault(const Device& device, const SelectProblem& problem, const PlanOverrides& fixed) {
  if (fixed.tile_rows > 1) return "a tile has one row";
  if (fixed.tile_cols == 0) return {};
  const std::size_t items = items_of(device, problem, fixed, "look_back");
  const std::size_t least = keeps_words(device, problem) ? 16 : 1;
  const std::size_t most = keeps_words(device, problem) ? 128 : select_policy(device).most_items;
  if (std::has_single_bit(fixed.tile_cols) && items >= least && items <= most) return {};
  return formatted("a tile has a power of two of elements, {} to {} for each of {} work-items", least, most,
                   group_of(device, problem, fixed, "look_back"));
}

/// Whether tiles can publish all that others need to know, in the same launch.
bool selects_in_one_pass(const Device& device, const SelectProblem& problem) {
  // Where the others of a partition in order begin is known at the end. A count and a place of 64 bits each
  // are more than tiles can publish at once.
  return can_look_back(device) && !is_partition_in_order(problem.op) &&
         !(problem.op == SelectOp::run_length_encode && is_wide(problem));
}

/// How the vector is cut.
Parts parts_of(const Device& device, const SelectProblem& problem, const PlanOverrides& fixed,
               std::string_view variant) {
  // Of work-groups of group_of() work-items; smaller groups need several steps for it.
  const std::size_t tile =
      group_of(device, problem, fixed, variant) * items_of(device, problem, fixed, variant);
  const bool publishes = prefers_look_back(device) && selects_in_one_pass(device, problem);
  Parts parts = cut_vector(device, select_policy(device), variant, at_least_1(problem.size),
                           size_of(problem.in), tile, publishes);
  parts.two_launches = counts_all_first(problem, variant) ||
                       (!parts.single_pass && (parts.parts > 1 || is_partition_in_order(problem.op)));
  return parts;
}

std::vector<std::string_view> preference(const Device& device, const SelectProblem& problem,
                                         const PlanOverrides& fixed) {
  if (runs_cpu_variant(device)) return {"cpu"};
  if (!prefers_look_back(device)) return {"count_then_place"};
  if (is_partition_in_order(problem.op) && problem.size >= select_policy(device).look_back_partitions)
    return {"look_back", "count_then_place"};
  if (!selects_in_one_pass(device, problem)) return {"count_then_place"};
  // What is one tile needs no counters. Two tiles and more are faster by as many groups: on an H200, 30000
  // floats in 7.2 us, by the one group of count_then_place in 9.1.
  const bool is_one = parts_of(device, problem, fixed, "look_back").parts == 1;
  return {is_one ? "count_then_place" : "look_back"};
}

Plan base_plan(const SelectProblem& problem, std::string_view variant, const char* file, const char* entry) {
  Plan plan = named_plan(name_of(problem.op), variant, file, entry);
  const bool by_predicate = is_by_predicate(problem.op), flagged = is_flagged(problem.op);
  define(plan, {{"RULE", by_predicate ? 0
                         : flagged    ? 1
                                      : 2},
                {"OUTPUT", is_partition(problem.op)                    ? 1
                           : problem.op == SelectOp::run_length_encode ? 2
                                                                       : 0}});
  if (is_partition_reversed(problem.op)) define(plan, "REVERSED", 1);
  const std::size_t bytes = size_of(problem.in);
  define(plan, "ELEMENT_BYTES", bytes);
  define_types(plan, {{"ELEMENT", bits_of(problem.in)}});
  if (is_wide(problem)) define(plan, "WIDE", 1);
  if (flagged) {
    define_types(plan, {{"FLAG", bits_of(problem.flags)}});
  } else {  // what the bits mean
    define_types(plan, {{"NUMBER", value_type(problem.in)}});
    if (problem.in == Scalar::half) {
      define(plan, "TYPE_HALF", 1);
    } else {
      define_types(plan, {{"TYPE", problem.in}});
    }
    if (problem.in == Scalar::float64) define(plan, "USE_DOUBLE", 1);
  }
  if (by_predicate) {
    plan.preamble = formatted(
        "#define PREDICATE custom_select\n"
        "#line 1 \"custom.cl\"\n"
        "static inline int custom_select({0} x) {{ return (\n"
        "#line 1 \"predicate.cl\"\n{1}\n"
        "#line 2 \"custom.cl\"\n) != 0; }}\n",
        opencl_name_of(value_type(problem.in)), problem.predicate);
    if (problem.in == Scalar::float64)
      plan.preamble.insert(0, "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n");
  }
  const auto elements = real(problem.size);
  plan.prediction.bytes_read = elements * real(bytes + (flagged ? size_of(problem.flags) : 0));
  const std::size_t place_bytes = problem.op == SelectOp::run_length_encode ? is_wide(problem) ? 8 : 4 : 0;
  plan.prediction.bytes_written = elements * real(bytes + place_bytes) * (is_partition(problem.op) ? 1 : 0.5);
  return plan;
}

void define_tile(std::size_t group, std::size_t items, std::size_t pack, Launch& plan) {
  plan.work_group = {group, 1, 1};
  plan.vector_width = pack;
  plan.items_per_work_item = items;
  define(plan, {{"GROUP", group}, {"ITEMS", items}, {"PACK", pack}});
}

/// Chooses the sizes of tiles, and defines them for the kernel; false where no work-group fits. `all_meet`:
/// each work-item has a state in local memory.
bool set_tile(const Device& device, const SelectProblem& problem, const PlanOverrides& fixed, bool all_meet,
              Plan& plan) {
  const SelectPolicy& policy = select_policy(device);
  const std::size_t bytes = size_of(problem.in), state = state_bytes(problem);
  std::size_t items = items_of(device, problem, fixed, plan.variant);
  std::size_t places = place_bytes(device, problem) * items;
  const std::size_t wanted = group_of(device, problem, fixed, plan.variant);
  if (selects_in_registers(device)) {
    const bool kept = keeps_elements(device, problem, plan.variant) && items == kept_items(problem);
    if (kept) places = kKeptPlaces;
    // A warp has a state in local memory, and in the second of two launches each work-item.
    const std::size_t each = items * bytes + places + state;
    const std::size_t group = group_for(device, wanted, each, kWords);
    if (group != 0 && group % 32 == 0) {
      const std::size_t run = std::min(policy.pack_bytes / bytes, items);
      constexpr std::size_t kSelectors = 64;  // bytes
      if (keeps_words(device, problem)) define(plan, "PACKED", 1);
      if (kept) {
        define(plan, {{"KEPT", 1}, {"LIST", kListPlaces}, {"FALLS_BACK", 0}, {"LIMITS_REGISTERS", 1}});
        plan.most_registers = bytes == 8 ? policy.kept_wide_registers : policy.kept_registers;
      }
      define_tile(group, items, run_pack(policy.pack_bytes, problem.in, problem.in_alignment, run), plan);
      define(plan, {{"RUN", run}, {"REGISTERS", 1}});
      if (is_flagged(problem.op))
        define(plan, "FLAG_PACK", run_pack(policy.pack_bytes, problem.flags, problem.flags_alignment, run));
      plan.local_bytes = group * (items * bytes + places) + (all_meet ? group : group / 32) * state + kWords +
                         (keeps_words(device, problem) ? kSelectors : 0);
      plan.prediction.local_bytes = 2 * plan.prediction.bytes_written;
      plan.tile_cols = group * items;
      return true;
    }
  }
  items = std::min(items, policy.most_items);
  const std::size_t marks = is_flagged(problem.op) ? items : 0;
  const std::size_t padded = device.local_is_cache ? items : items + 1;
  const std::size_t group = group_for(device, wanted, padded * bytes + marks + places + state, kWords);
  if (group == 0) return false;
  const std::size_t pack = run_pack(policy.pack_bytes, problem.in, problem.in_alignment, items);
  const Tile tile{group,
                  items,
                  bytes,
                  group,
                  {across_items("elements", true, items, pack), own_items("own elements", false)}};
  lay_tile(device, tile, group * (marks + places + state) + kWords, plan);
  plan.prediction.local_bytes = 2 * (plan.prediction.bytes_written + real(problem.size, bytes));
  define_tile(group, items, pack, plan);
  define_sub_group(device, plan);
  define_layout(plan, plan.layout);
  plan.tile_cols = group * items;
  return true;
}

/// Whether statuses of earlier launches stay. The count of all, which stands among them, begins at zero.
bool tells_launches_apart(const Device& device, const SelectProblem& problem, const Parts& parts) {
  return has_epochs(device, parts.parts) && !counts_all_first(problem, "look_back");
}

Attempt look_back(const Device& device, const SelectProblem& problem, const PlanOverrides& fixed,
                  const Parts& parts) {
  if (!can_look_back(device)) return kCannotPublish;
  if (std::string fault = tile_fault(device, problem, fixed); !fault.empty()) return fault;
  if (counts_all_first(problem, "look_back")) {
    if (is_wide(problem)) return "the first launch counts in 32 bits";
  } else if (!selects_in_one_pass(device, problem)) {
    return "tiles cannot publish counts and places of 64 bits at once";
  }
  if (parts.parts > kMaxTiles) return "its tiles are more than a launch can have";
  Plan plan = base_plan(problem, "look_back", "select/look_back.cl", "select_look_back");
  if (!set_tile(device, problem, fixed, false, plan)) return no_tile_fits(device);
  define(plan, "TILE", parts.piece);
  define_publishing(device, plan);
  if (device.ordered_start) define(plan, "ORDERED_START", 1);
  if (tells_launches_apart(device, problem, parts)) define(plan, "EPOCHS", 1);
  plan.global = {parts.parts * plan.work_group[0], 1, 1};
  plan.tile_cols = parts.piece;
  plan.reason = counts_all_first(problem, "look_back")
                    ? "the first launch counts all; then each tile looks back over the tiles before it"
                    : "single pass: each tile publishes its count and looks back over the tiles before it";
  return plan;
}

Attempt count_then_place(const Device& device, const SelectProblem& problem, const PlanOverrides& fixed,
                         const Parts& parts) {
  Plan plan = base_plan(problem, "count_then_place", "select/parts.cl", "select_parts");
  if (!set_tile(device, problem, fixed, true, plan)) return no_tile_fits(device);
  plan.global = {parts.parts * plan.work_group[0], 1, 1};
  plan.reason =
      parts.two_launches
          ? formatted("{} part(s): the first launch counts what each selects, the second one writes it",
                      parts.parts)
          : "one part, of a single work-group";
  return plan;
}

Attempt cpu(const Device& device, const SelectProblem& problem, const Parts& parts) {
  if (!runs_cpu_variant(device)) return no_cpu_variant(device);
  const bool single_pass = parts.single_pass;
  Plan plan = base_plan(problem, "cpu", "select/cpu.cl", "select_cpu");
  const std::size_t groups_a_unit = single_pass ? 1 : select_policy(device).threads.groups_a_unit;
  set_groups(plan, 1, parts.parts, groups_a_unit * device.compute_units);
  plan.tile_cols = plan.items_per_work_item = parts.piece;
  define(plan, {{"PACK", 1}, {"PHASE", single_pass ? 2 : 1}});
  if (single_pass) define_publishing(device, plan);
  define_read_ahead(device, plan);
  plan.reason = single_pass ? "a thread takes a part that its cache holds: it counts first, then it writes"
                            : "a thread selects from a part, front to back";
  return plan;
}

/// The launch before `plan`'s, which counts what each part selects.
std::optional<Launch> first(const Device& device, const SelectProblem& problem, const PlanOverrides& fixed,
                            const Plan& plan) {
  const std::size_t parts = plan.number("parts");
  Launch launch = plan;
  if (plan.variant == "cpu") {
    std::erase_if(launch.defines, [](const auto& d) { return d.first == "PHASE"; });
    define(launch, "PHASE", 0);
  } else {
    SelectProblem counted = problem;
    if (is_flagged(problem.op)) {  // flags are counted as elements are
      counted.op = SelectOp::copy_if;
      counted.predicate = "x != 0";
      counted.in = bits_of(problem.flags);
      counted.in_alignment = problem.flags_alignment;
    } else if (is_by_predicate(problem.op)) {
      counted.op = SelectOp::copy_if;
    }
    launch = base_plan(counted, plan.variant, "select/count.cl", "select_count");
    launch.operation = plan.operation;
    if (is_flagged(problem.op)) define(launch, "OF_FLAGS", 1);
    const bool all = counts_all_first(problem, plan.variant);
    if (all) define(launch, "TOTAL", 1);
    const SelectPolicy& policy = select_policy(device);
    const std::size_t bytes = size_of(counted.in), state = state_bytes(counted);
    const std::size_t wanted = all ? policy.group_of_total : group_of(device, problem, fixed, plan.variant);
    const std::size_t group = group_for(device, wanted, state);
    if (group == 0) return std::nullopt;
    const std::size_t items = at_least_1(policy.count_bytes / bytes);
    define_tile(group, items, run_pack(policy.pack_bytes, counted.in, counted.in_alignment, items), launch);
    const std::size_t groups = all ? std::min(policy.total_groups_a_unit * device.compute_units,
                                              divide_up(at_least_1(problem.size), group * items))
                                   : parts;
    launch.global = {groups * group, 1, 1};
    launch.tile_cols = group * items;
    launch.local_bytes = group * state;
  }
  launch.variant = "first";
  launch.numbers = plan.numbers;
  launch.prediction.bytes_written = counts_all_first(problem, plan.variant) ? 0 : real(plan.scratch_bytes);
  launch.prediction.local_bytes = 0;
  launch.reason = counts_all_first(problem, plan.variant)
                      ? std::string("counts all that is selected")
                      : formatted("counts what each of {} part(s) selects", parts);
  return launch;
}

Attempt plan_variant(const Device& device, const SelectProblem& problem, const PlanOverrides& fixed,
                     std::string_view variant) {
  const Parts parts = parts_of(device, problem, fixed, variant);
  Attempt attempt = variant == "cpu"         ? cpu(device, problem, parts)
                    : variant == "look_back" ? look_back(device, problem, fixed, parts)
                                             : count_then_place(device, problem, fixed, parts);
  return joined_parts(std::move(attempt), device, parts, 1, state_bytes(problem),
                      variant == "look_back" && tells_launches_apart(device, problem, parts),
                      [&](const Plan& plan) { return first(device, problem, fixed, plan); });
}

std::string why_not(const Device& device, const SelectProblem& problem, std::string_view variant,
                    const Plan& chosen) {
  if (chosen.variant == "cpu") return "a CPU runs work-items that share local memory as loops";
  if (variant == "look_back" && !prefers_look_back(device))
    return "without forward progress work-groups wait for others, and then count the same elements again";
  if (is_partition_in_order(problem.op)) {
    return variant == "look_back" ? "takes one more launch to clear the statuses of tiles"
                                  : "a part's tiles follow one another";
  }
  if (variant == "look_back") return "one tile needs no look-back";
  return parts_of(device, problem, {}, variant).parts == 1 ? "one work-group takes one tile after the other"
                                                           : "reads every element twice";
}

const Evidence& evidence(const Device& device, const SelectProblem& problem, const Plan& plan) {
  const SelectPolicy& policy = select_policy(device);
  if (is_partition_reversed(problem.op) || keeps_words(device, problem)) return policy.others;
  if (counts_all_first(problem, plan.variant)) return policy.others;
  return is_partition(problem.op) ? policy.partitions : policy.copies;
}

constexpr Operation<SelectProblem> kSelect{.what = "selection",
                                           .name = operation_name,
                                           .variants = select_variants,
                                           .check = check_select,
                                           .preference = preference,
                                           .attempt = plan_variant,
                                           .why_not = why_not,
                                           .evidence = evidence,
                                           .one_work_item = "a thread has a piece",
                                           .with_tile = {"look_back"}};

}  // namespace

std::vector<std::string_view> select_variants() { return {"count_then_place", "look_back", "cpu"}; }

Plan plan_select(const Device& device, const SelectProblem& problem, const PlanOverrides& overrides) {
  return plan_call(kSelect, "select", problem.in, device, problem, overrides);
}

}  // namespace smem
