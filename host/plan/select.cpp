// Plans for selections: which variant, how many parts, and why.
#include <smem/error.hpp>
#include <smem/select_plan.hpp>

#include "formatted.hpp"
#include "plan/broken.hpp"
#include "plan/look_back.hpp"
#include "plan/reduce_types.hpp"
#include "plan/select_policy.hpp"
#include "plan/select_types.hpp"
#include "plan/sizes.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <string>
#include <utility>

namespace smem {

namespace {

using plan::define;
using plan::divide_up;
using plan::select_policy;
using plan::SelectPolicy;

/// Work-items of a group, unless they are fixed by hand or do not fit.
std::size_t group_of(const Device& device, const SelectProblem& problem, const PlanOverrides& fixed) {
  if (fixed.work_items != 0) return fixed.work_items;
  const SelectPolicy& policy = select_policy(device);
  if (plan::is_partition(problem.op)) return policy.group_of_partitions;
  if (problem.op == SelectOp::run_length_encode) return policy.group_of_runs;
  const bool large = problem.op == SelectOp::copy_flagged && device.local_bytes >= policy.flagged_local_bytes;
  return large ? policy.group_of_flagged : policy.group;
}

/// Whether warps read tiles into their registers (cl/nvidia/select_tile.clh).
bool selects_in_registers(const Device& device) { return plan::is_nvidia_gpu(device); }

/// Elements that a work-item has in registers.
std::size_t items_of(const Device& device, const SelectProblem& problem) {
  const SelectPolicy& policy = select_policy(device);
  const bool in_registers = selects_in_registers(device);
  // Of warps the lengths of runs take two bytes more an element.
  const std::size_t each =
      size_of(problem.in) + (in_registers && problem.op == SelectOp::run_length_encode ? 2 : 0);
  const std::size_t room =
      device.local_bytes >= policy.large_local_bytes ? policy.large_item_bytes : policy.item_bytes;
  const std::size_t most =
      in_registers && problem.in_alignment < policy.pack_bytes ? policy.most_single_items : policy.most_items;
  return std::min(std::bit_floor(room / each), most);
}

/// Bytes of what a part selects, as kernels lay it out: a count, and for runs the place of the last one.
std::size_t state_bytes(const SelectProblem& problem) {
  return (plan::is_wide(problem) ? 8 : 4) * (problem.op == SelectOp::run_length_encode ? 2 : 1);
}

/// Whether tiles can publish all that others need to know, in the same launch.
bool selects_in_one_pass(const Device& device, const SelectProblem& problem) {
  // Where a partition's others begin is known at the end. A count and a place of 64 bits each are more than
  // tiles can publish at once.
  return plan::can_look_back(device) && !plan::is_partition(problem.op) &&
         !(problem.op == SelectOp::run_length_encode && plan::is_wide(problem));
}

/// How the vector is cut, and how its parts come together.
struct Parts {
  std::size_t parts = 1;
  std::size_t piece = 1;      ///< elements of a part; the last one may be shorter
  bool single_pass = false;   ///< they publish to each other how many they select
  bool two_launches = false;  ///< the first one counts what each selects
};

Parts parts_of(const Device& device, const SelectProblem& problem, const PlanOverrides& fixed,
               std::string_view variant) {
  const std::size_t length = std::max<std::size_t>(problem.size, 1);
  const SelectPolicy& policy = select_policy(device);
  const plan::SelectThreads& threads = policy.threads;
  // Of work-groups of group_of() work-items; smaller groups need several steps for it.
  const std::size_t tile = group_of(device, problem, fixed) * items_of(device, problem);
  Parts parts;
  const auto cut = [&](std::size_t wanted, std::size_t multiple) {
    parts.piece = plan::round_up(divide_up(length, wanted), multiple);
    parts.parts = divide_up(length, parts.piece);
  };
  if (variant == "cpu") {
    const std::size_t piece = threads.piece_bytes / size_of(problem.in);
    if (length <= threads.whole_pieces * piece) {
      cut(1, 1);
    } else if (plan::prefers_look_back(device) && selects_in_one_pass(device, problem)) {
      cut(divide_up(length, piece), piece);
      parts.single_pass = true;
    } else {
      cut(std::clamp<std::size_t>(threads.pieces_a_unit * device.compute_units, 1, divide_up(length, piece)),
          threads.multiple);
    }
  } else if (variant == "look_back") {
    cut(divide_up(length, tile), tile);
    parts.single_pass = true;
  } else {
    const std::size_t wanted = policy.groups_a_unit * device.compute_units;
    cut(std::clamp<std::size_t>(std::min(wanted, length / (policy.tiles_of_parts * tile)), 1,
                                policy.most_parts),
        tile);
  }
  parts.two_launches = !parts.single_pass && (parts.parts > 1 || plan::is_partition(problem.op));
  return parts;
}

/// Gives the plan the memory in which parts come together, and tells the kernel of them.
void share_results(const Device& device, const SelectProblem& problem, const Parts& parts, Plan& plan) {
  plan.numbers = {{"parts", parts.parts}, {"piece", parts.piece}};
  if (parts.single_pass) {
    const std::size_t bytes = plan::status_bytes(device, 1, parts.parts);
    plan::add_scratch(plan, bytes, bytes);
  } else if (parts.two_launches) {
    plan::add_scratch(plan, parts.parts * state_bytes(problem));
  }
}

/// The variant that is chosen where none is fixed.
std::string_view choose(const Device& device, const SelectProblem& problem, const PlanOverrides& fixed) {
  if (plan::runs_cpu_variant(device)) return "cpu";
  if (!plan::prefers_look_back(device) || !selects_in_one_pass(device, problem)) return "count_then_place";
  // What is one part needs no counters.
  const bool is_one = parts_of(device, problem, fixed, "count_then_place").parts == 1;
  return is_one ? "count_then_place" : "look_back";
}

/// The unsigned integer of OpenCL C that has a type's bits.
std::string bits_of(Scalar type) {
  static constexpr std::array<const char*, 4> kBits{"uchar", "ushort", "uint", "ulong"};
  return kBits.at(static_cast<std::size_t>(std::countr_zero(size_of(type))));
}

Plan base_plan(const SelectProblem& problem, std::string_view variant, const char* file, const char* entry) {
  Plan plan;
  plan.operation = name_of(problem.op);
  plan.variant = variant;
  plan.kernel_file = file;
  plan.entry_point = entry;
  const bool by_predicate = plan::is_by_predicate(problem.op), flagged = plan::is_flagged(problem.op);
  define(plan, "RULE", by_predicate ? 0 : flagged ? 1 : 2);
  define(plan, "OUTPUT",
         plan::is_partition(problem.op)              ? 1
         : problem.op == SelectOp::run_length_encode ? 2
                                                     : 0);
  const std::size_t bytes = size_of(problem.in);
  define(plan, "ELEMENT_BYTES", bytes);
  plan.text_defines.emplace_back("ELEMENT", bits_of(problem.in));
  if (plan::is_wide(problem)) define(plan, "WIDE", 1);
  if (flagged) {
    plan.text_defines.emplace_back("FLAG", bits_of(problem.flags));
  } else {  // what the bits mean
    plan.text_defines.emplace_back("NUMBER", opencl_name_of(plan::value_type(problem.in)));
    if (problem.in == Scalar::half) {
      define(plan, "TYPE_HALF", 1);
    } else {
      plan.text_defines.emplace_back("TYPE", opencl_name_of(problem.in));
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
        opencl_name_of(plan::value_type(problem.in)), problem.predicate);
    if (problem.in == Scalar::float64)
      plan.preamble.insert(0, "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n");
  }
  const auto elements = static_cast<double>(problem.size);
  plan.prediction.bytes_read = elements * static_cast<double>(bytes + (flagged ? size_of(problem.flags) : 0));
  const std::size_t place_bytes =
      problem.op == SelectOp::run_length_encode ? plan::is_wide(problem) ? 8 : 4 : 0;
  plan.prediction.bytes_written =
      elements * static_cast<double>(bytes + place_bytes) * (plan::is_partition(problem.op) ? 1 : 0.5);
  return plan;
}

/// As wide as a work-item reads, or single elements: few sizes, so that few programs serve all alignments.
std::size_t pack_of(const SelectPolicy& policy, std::size_t bytes, std::size_t alignment, std::size_t items) {
  return alignment < policy.pack_bytes ? 1 : std::min(policy.pack_bytes / bytes, items);
}

void define_tile(std::size_t group, std::size_t items, std::size_t pack, Launch& plan) {
  plan.work_group = {group, 1, 1};
  plan.vector_width = pack;
  plan.items_per_work_item = items;
  define(plan, "GROUP", group);
  define(plan, "ITEMS", items);
  define(plan, "PACK", pack);
}

/// Chooses the sizes of tiles, and defines them for the kernel; false where no work-group fits. `all_meet`:
/// each work-item has a state in local memory.
bool set_tile(const Device& device, const SelectProblem& problem, const PlanOverrides& fixed, bool all_meet,
              Plan& plan) {
  const SelectPolicy& policy = select_policy(device);
  const std::size_t bytes = size_of(problem.in), state = state_bytes(problem);
  const std::size_t items = items_of(device, problem);
  const std::size_t places = problem.op == SelectOp::run_length_encode ? 2 * items : 0;
  const std::size_t wanted = group_of(device, problem, fixed);
  constexpr std::size_t kWords = 64;  // of the kernel's own, with their alignment
  if (selects_in_registers(device)) {
    // A warp has a state in local memory, and in the second of two launches each work-item.
    const std::size_t each = items * bytes + places + state;
    const std::size_t group = plan::group_for(device, wanted, each, kWords);
    if (group != 0 && group % 32 == 0) {
      const std::size_t run = std::min(policy.pack_bytes / bytes, items);
      define_tile(group, items, pack_of(policy, bytes, problem.in_alignment, run), plan);
      define(plan, "RUN", run);
      define(plan, "REGISTERS", 1);
      if (plan::is_flagged(problem.op))
        define(plan, "FLAG_PACK", pack_of(policy, size_of(problem.flags), problem.flags_alignment, run));
      plan.local_bytes = group * (items * bytes + places) + (all_meet ? group : group / 32) * state + kWords;
      plan.prediction.local_bytes = 2 * plan.prediction.bytes_written;
      plan.tile_cols = group * items;
      return true;
    }
  }
  const std::size_t marks = plan::is_flagged(problem.op) ? items : 0;
  const std::size_t padded = device.local_is_cache ? items : items + 1;
  const std::size_t group = plan::group_for(device, wanted, padded * bytes + marks + places + state, kWords);
  if (group == 0) return false;
  const std::size_t pack = pack_of(policy, bytes, problem.in_alignment, items);
  Tile tile;
  tile.rows = group;
  tile.cols = items;
  tile.item_bytes = bytes;
  tile.work_items = group;
  tile.accesses = {{"elements", true, 1,
                    [items, pack](std::size_t k) {
                      return Item{k * pack / items, k * pack % items};
                    }},
                   {"own elements", false, 1, [](std::size_t k) {
                      return Item{k, 0};
                    }}};
  plan.layout = infer_layout(device, tile);
  const auto bytes_of_all = [&] { return plan.layout.bytes() + group * (marks + places + state) + kWords; };
  if (bytes_of_all() > device.local_bytes)
    plan.layout = infer_layout(device, tile, {.kind = LocalLayout::Kind::plain});
  plan.local_bytes = bytes_of_all();
  plan.prediction.local_bytes =
      2 * (plan.prediction.bytes_written + static_cast<double>(problem.size) * static_cast<double>(bytes));
  define_tile(group, items, pack, plan);
  // With sub-groups of 32, its compiler leaves the work-items' elements in memory.
  if (device.vendor == Vendor::intel && device.architecture.starts_with("pvc"))
    define(plan, "INTEL_SUB_GROUP", 16);
  plan::define_layout(plan, plan.layout);
  plan.tile_cols = group * items;
  return true;
}

std::optional<Plan> look_back(const Device& device, const SelectProblem& problem, const PlanOverrides& fixed,
                              const Parts& parts) {
  if (!selects_in_one_pass(device, problem) || parts.parts > plan::kMaxTiles) return std::nullopt;
  Plan plan = base_plan(problem, "look_back", "select/look_back.cl", "select_look_back");
  if (!set_tile(device, problem, fixed, false, plan)) return std::nullopt;
  define(plan, "TILE", parts.piece);
  plan::define_publishing(device, plan);
  if (device.ordered_start) define(plan, "ORDERED_START", 1);
  plan.global = {parts.parts * plan.work_group[0], 1, 1};
  plan.tile_cols = parts.piece;
  plan.reason = "one pass: a tile looks back over those before it for how many they select";
  return plan;
}

std::optional<Plan> count_then_place(const Device& device, const SelectProblem& problem,
                                     const PlanOverrides& fixed, const Parts& parts) {
  Plan plan = base_plan(problem, "count_then_place", "select/parts.cl", "select_parts");
  if (!set_tile(device, problem, fixed, true, plan)) return std::nullopt;
  plan.global = {parts.parts * plan.work_group[0], 1, 1};
  plan.reason = parts.two_launches
                    ? formatted("{} part(s): first how many each selects, then their elements", parts.parts)
                    : "one part: a work-group goes along it";
  return plan;
}

std::optional<Plan> cpu(const Device& device, const SelectProblem& problem, const Parts& parts) {
  if (!plan::runs_cpu_variant(device)) return std::nullopt;
  const bool single_pass = parts.single_pass;
  Plan plan = base_plan(problem, "cpu", "select/cpu.cl", "select_cpu");
  plan.work_group = {1, 1, 1};
  plan.global = {std::clamp<std::size_t>(
                     parts.parts, 1,
                     (single_pass ? 1 : select_policy(device).threads.groups_a_unit) * device.compute_units),
                 1, 1};
  plan.tile_cols = plan.items_per_work_item = parts.piece;
  define(plan, "PACK", 1);
  define(plan, "PHASE", single_pass ? 2 : 1);
  if (single_pass) plan::define_publishing(device, plan);
  plan.reason = single_pass
                    ? "one thread a piece that its cache holds: how many it selects, then its elements"
                    : "one thread a piece, from front to back";
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
    if (plan::is_flagged(problem.op)) {  // flags are counted as elements are
      counted.op = SelectOp::copy_if;
      counted.predicate = "x != 0";
      counted.in =
          static_cast<Scalar>(static_cast<int>(Scalar::uint8) + std::countr_zero(size_of(problem.flags)));
      counted.in_alignment = problem.flags_alignment;
    } else if (problem.op == SelectOp::partition) {
      counted.op = SelectOp::copy_if;
    }
    launch = base_plan(counted, plan.variant, "select/count.cl", "select_count");
    launch.operation = plan.operation;
    if (plan::is_flagged(problem.op)) define(launch, "OF_FLAGS", 1);
    const std::size_t bytes = size_of(counted.in), state = state_bytes(counted);
    const std::size_t group = plan::group_for(device, group_of(device, problem, fixed), state);
    if (group == 0) return std::nullopt;
    const SelectPolicy& policy = select_policy(device);
    const std::size_t items = std::max<std::size_t>(policy.count_bytes / bytes, 1);
    define_tile(group, items, pack_of(policy, bytes, counted.in_alignment, items), launch);
    launch.global = {parts * group, 1, 1};
    launch.tile_cols = group * items;
    launch.local_bytes = group * state;
  }
  launch.variant = "first";
  launch.numbers = plan.numbers;
  launch.prediction.bytes_written = static_cast<double>(plan.scratch_bytes);
  launch.prediction.local_bytes = 0;
  launch.reason = formatted("how many elements each of {} part(s) selects", parts);
  return launch;
}

std::optional<Plan> plan_variant(const Device& device, const SelectProblem& problem,
                                 const PlanOverrides& fixed, std::string_view variant) {
  const Parts parts = parts_of(device, problem, fixed, variant);
  std::optional<Plan> plan;
  if (variant == "cpu") {
    plan = cpu(device, problem, parts);
  } else if (variant == "look_back") {
    plan = look_back(device, problem, fixed, parts);
  } else {
    plan = count_then_place(device, problem, fixed, parts);
  }
  if (!plan) return std::nullopt;
  share_results(device, problem, parts, *plan);
  if (parts.two_launches) {
    std::optional<Launch> before = first(device, problem, fixed, *plan);
    if (!before) return std::nullopt;
    plan->before.push_back(std::move(*before));
  }
  return plan;
}

/// Why `variant` was not chosen.
std::string why_not(const Device& device, const SelectProblem& problem, std::string_view variant,
                    const Plan& chosen) {
  if (!plan_variant(device, problem, {}, variant)) {
    if (variant == "cpu") return plan::no_cpu_variant(device);
    if (variant == "look_back" && plan::is_partition(problem.op))
      return "where the others begin is known only when all elements have been counted";
    if (variant == "look_back" && !plan::can_look_back(device))
      return "no way is known in which work-groups of one launch publish to each other";
    if (variant == "look_back" && !selects_in_one_pass(device, problem))
      return "tiles cannot publish counts and places of 64 bits at once";
    return "does not fit local memory";
  }
  if (chosen.variant == "cpu") return "work-items that meet in local memory are loops on a CPU";
  if (variant == "look_back" && !plan::prefers_look_back(device))
    return "work-groups that may stop keep others waiting, which then count the same elements again";
  return variant == "look_back" ? "one part needs nothing of others" : "reads every element twice";
}

}  // namespace

std::vector<std::string_view> select_variants() { return {"count_then_place", "look_back", "cpu"}; }

namespace {

/// The plan on a device whose driver breaks nothing.
Plan make_plan(const Device& device, const SelectProblem& problem, const PlanOverrides& overrides) {
  plan::check_select(device, problem);
  const char* operation = plan::operation_name(problem);
  const auto names = select_variants();
  plan::require_choice(operation, overrides, names);
  plan::require_work_items(operation, device, overrides);
  const std::string_view variant = overrides.variant;
  const std::string_view chosen = variant.empty() ? choose(device, problem, overrides) : variant;
  std::optional<Plan> plan = plan_variant(device, problem, overrides, chosen);
  if (!plan) plan::refuse_variant(operation, device, chosen, "selection", plan::can_look_back(device));
  plan::require_fixed_group(operation, device, overrides, *plan, "a thread has a piece");
  const SelectPolicy& policy = select_policy(device);
  plan->evidence = (plan::is_partition(problem.op) ? policy.partitions : policy.copies).text(device);
  plan::note_choice(*plan, overrides, names, device, problem, why_not);
  return *plan;
}

}  // namespace

Plan plan_select(const Device& device, const SelectProblem& problem, const PlanOverrides& overrides) {
  return plan::Broken(device, "select", problem.in)
      .plan(select_variants(), overrides,
            [&](const PlanOverrides& fixed) { return make_plan(device, problem, fixed); });
}

}  // namespace smem
