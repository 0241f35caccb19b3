// Plans for scans: which variant, how many parts, and why.
#include <smem/error.hpp>
#include <smem/scan_plan.hpp>

#include "formatted.hpp"
#include "plan/broken.hpp"
#include "plan/look_back.hpp"
#include "plan/reduce_types.hpp"
#include "plan/scan_policy.hpp"
#include "plan/scan_types.hpp"
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
using plan::is_segmented;
using plan::scan_policy;
using plan::ScanPolicy;

std::size_t number_bytes(const ScanProblem& problem) {
  return size_of(plan::accumulator_type(plan::as_reduction(problem)));
}

/// Bytes of what a part makes, as kernels lay it out: a number, and for segments whether one begins in it.
std::size_t state_bytes(const ScanProblem& problem) {
  return number_bytes(problem) * (is_segmented(problem) ? 2 : 1);
}

/// Whether elements must be combined in their order.
bool is_ordered(const ScanProblem& problem) {
  return is_segmented(problem) || problem.operation.op == ReduceOp::custom;
}

/// Whether warps keep whole tiles in their registers (cl/nvidia/scan_tile.clh). Short rows, which share a
/// work-group, and the first of two launches do not all the same.
bool scans_in_registers(const Device& device, const ScanProblem& problem) {
  return plan::is_nvidia_gpu(device) && !is_segmented(problem) && problem.shape != ScanShape::columns;
}

/// Work-items of a group, unless they are fixed by hand or do not fit.
std::size_t group_of(const Device& device, const ScanProblem& problem, const PlanOverrides& fixed) {
  if (fixed.work_items != 0) return fixed.work_items;
  const ScanPolicy& policy = scan_policy(device);
  return number_bytes(problem) == 8 && scans_in_registers(device, problem) ? policy.group_of_wide
                                                                           : policy.group;
}

/// Elements that a work-item has in registers.
std::size_t items_of(const Device& device, const ScanProblem& problem, bool in_registers) {
  const ScanPolicy& policy = scan_policy(device);
  return (in_registers ? policy.register_bytes : policy.item_bytes) / number_bytes(problem);
}

/// Elements of a tile of work-groups of group_of() work-items; smaller groups need several steps for it.
std::size_t tile_of(const Device& device, const ScanProblem& problem, const PlanOverrides& fixed) {
  return group_of(device, problem, fixed) * items_of(device, problem, scans_in_registers(device, problem));
}

/// How a row, or a column, is cut, and how its parts come together.
struct Parts {
  std::size_t parts = 1;
  std::size_t piece = 1;      ///< elements of a part; the last one may be shorter
  bool single_pass = false;   ///< they publish to each other what they make
  bool two_launches = false;  ///< the first one finds out what they make
};

Parts parts_of(const Device& device, const ScanProblem& problem, const PlanOverrides& fixed,
               std::string_view variant) {
  const bool by_columns = problem.shape == ScanShape::columns, on_cpu = variant == "cpu";
  const ScanPolicy& policy = scan_policy(device);
  const plan::ScanThreads& threads = policy.threads;
  const std::size_t rows = std::max<std::size_t>(problem.rows * problem.batch, 1);
  const std::size_t length = std::max<std::size_t>(by_columns ? problem.rows : problem.cols, 1);
  const std::size_t tile = tile_of(device, problem, fixed);
  Parts parts;
  const auto cut = [&](std::size_t wanted, std::size_t multiple) {
    parts.piece = plan::round_up(divide_up(length, std::max<std::size_t>(wanted, 1)), multiple);
    parts.parts = divide_up(length, parts.piece);
  };
  if (by_columns) {
    const std::size_t strip = on_cpu ? threads.strip : policy.across;
    const std::size_t jobs = std::max<std::size_t>(divide_up(problem.cols, strip) * problem.batch, 1);
    const std::size_t wanted = (on_cpu ? threads.strips_a_unit : policy.groups_a_unit) * device.compute_units;
    cut(std::clamp<std::size_t>(std::min(wanted / jobs, length / policy.column_rows), 1, policy.most_parts),
        1);
  } else if (on_cpu) {
    const std::size_t piece = threads.piece_bytes / size_of(problem.in);
    if (rows >= threads.enough_rows * device.compute_units || length <= threads.whole_pieces * piece) {
      cut(1, 1);
    } else if (plan::prefers_look_back(device)) {
      cut(divide_up(length, piece), piece);
      parts.single_pass = true;
    } else {
      cut(std::min(divide_up(threads.pieces_a_unit * device.compute_units, rows), divide_up(length, piece)),
          threads.multiple);
    }
  } else if (variant == "look_back") {
    cut(divide_up(length, tile), tile);
    parts.single_pass = true;
  } else {
    const std::size_t wanted = policy.groups_a_unit * device.compute_units;
    cut(std::clamp<std::size_t>(std::min(wanted / rows, length / (policy.tiles_of_parts * tile)), 1,
                                policy.most_parts),
        tile);
  }
  parts.two_launches = parts.parts > 1 && !parts.single_pass;
  return parts;
}

/// Gives the plan the memory in which parts come together, and tells the kernel of them.
void share_results(const Device& device, const ScanProblem& problem, const Parts& parts, Plan& plan) {
  plan.numbers = {{"parts", parts.parts}, {"piece", parts.piece}};
  const bool by_columns = problem.shape == ScanShape::columns;
  const std::size_t rows = std::max<std::size_t>(problem.rows * problem.batch, 1);
  if (parts.single_pass) {
    const std::size_t bytes = plan::status_bytes(device, rows, parts.parts);
    plan::add_scratch(plan, bytes, bytes);
  } else if (parts.two_launches) {
    plan::add_scratch(
        plan, parts.parts * (by_columns ? problem.cols * problem.batch : rows) * state_bytes(problem));
  }
}

/// The variant that is chosen where none is fixed.
std::string_view choose(const Device& device, const ScanProblem& problem, const PlanOverrides& fixed) {
  if (plan::runs_cpu_variant(device)) return "cpu";
  if (problem.shape == ScanShape::columns || !plan::prefers_look_back(device)) return "reduce_then_scan";
  // Where rows have one part each, one launch that needs no counters does all. Of rows that fill a tile the
  // other one is faster, as it needs no loop.
  const std::size_t tile = tile_of(device, problem, fixed);
  const bool fills = problem.shape == ScanShape::rows && problem.cols <= tile && 2 * problem.cols > tile;
  if (fills && scans_in_registers(device, problem)) return "look_back";
  return parts_of(device, problem, fixed, "reduce_then_scan").parts == 1 ? "reduce_then_scan" : "look_back";
}

Plan base_plan(const ScanProblem& problem, std::string_view variant, const char* file, const char* entry) {
  Plan plan;
  plan.operation = plan::operation_name(problem);
  plan.variant = variant;
  plan.kernel_file = file;
  plan.entry_point = entry;
  plan::define_operation(plan, plan::as_reduction(problem));
  if (problem.shape == ScanShape::keys) {
    static constexpr std::array<const char*, 4> kBits{"uchar", "ushort", "uint", "ulong"};
    define(plan, "MARKS", 1);
    plan.text_defines.emplace_back(
        "MARK", kBits.at(static_cast<std::size_t>(std::countr_zero(size_of(problem.marks)))));
  } else if (problem.shape == ScanShape::segments) {
    define(plan, "MARKS", 2);
    plan.text_defines.emplace_back("MARK", opencl_name_of(problem.marks));
  }
  const double elements = static_cast<double>(problem.rows) * static_cast<double>(problem.cols) *
                          static_cast<double>(problem.batch);
  plan.prediction.bytes_read = elements * static_cast<double>(size_of(problem.in));
  if (problem.shape == ScanShape::keys)
    plan.prediction.bytes_read += elements * static_cast<double>(size_of(problem.marks));
  plan.prediction.bytes_written = elements * static_cast<double>(size_of(problem.out));
  plan.prediction.operations = is_float(problem.in) ? elements : 0;
  return plan;
}

/// Of the launch that writes results.
void define_results(Launch& launch, const ScanProblem& problem) {
  if (problem.exclusive) define(launch, "EXCLUSIVE", 1);
}

bool uses_shuffles(const Device& device, std::size_t group) {
  return plan::is_nvidia_gpu(device) && group % 32 == 0;
}

/// Sizes of tiles.
struct TileSizes {
  std::size_t group = 0, items = 0, team = 0, pack = 1, out_pack = 1;
};

/// As wide as a work-item reads, or single elements: few sizes, so that few programs serve all alignments.
std::size_t pack_of(const ScanPolicy& policy, std::size_t bytes, std::size_t alignment, std::size_t items) {
  return alignment < policy.pack_bytes ? 1 : std::min(policy.pack_bytes / bytes, items);
}

void define_tile(const TileSizes& sizes, Launch& plan) {
  plan.work_group = {sizes.group, 1, 1};
  plan.vector_width = sizes.pack;
  plan.items_per_work_item = sizes.items;
  plan.tile_rows = sizes.group / sizes.team;
  plan.tile_cols = sizes.team * sizes.items;
  define(plan, "GROUP", sizes.group);
  define(plan, "TEAM", sizes.team);
  define(plan, "ITEMS", sizes.items);
  define(plan, "PACK", sizes.pack);
  define(plan, "OUT_PACK", sizes.out_pack);
  define(plan, "LANES", std::min<std::size_t>(sizes.pack, 4));
}

/// Sizes of tiles in registers.
void set_registers(const Device& device, const ScanProblem& problem, const PlanOverrides& fixed, Launch& plan,
                   TileSizes& sizes) {
  sizes.group = sizes.team = plan::group_for(device, group_of(device, problem, fixed), 0);
  sizes.items = items_of(device, problem, true);
  const ScanPolicy& policy = scan_policy(device);
  const std::size_t run = policy.pack_bytes / number_bytes(problem);
  const std::size_t alignment = std::min(problem.in_alignment, problem.out_alignment);
  sizes.pack = pack_of(policy, size_of(problem.in), alignment, run);
  sizes.out_pack = pack_of(policy, size_of(problem.out), alignment, run);
  define_tile(sizes, plan);
  define(plan, "RUN", run);
  define(plan, "REGISTERS", 1);
  define(plan, "SHUFFLES", 1);
  plan.local_bytes = (sizes.group / 32 + 2) * state_bytes(problem);
}

/// Chooses the sizes, and defines them for the kernel; false where no work-group fits. `whole_rows`: of one
/// part each; short ones share a group.
bool set_tile(const Device& device, const ScanProblem& problem, const PlanOverrides& fixed, bool whole_rows,
              Launch& plan, TileSizes& sizes) {
  const ScanPolicy& policy = scan_policy(device);
  const std::size_t number = number_bytes(problem), state = state_bytes(problem);
  constexpr std::size_t kWords = 32;  // of the kernel's own, with their alignment
  sizes.items = items_of(device, problem, false);
  const std::size_t heads = is_segmented(problem) ? sizes.items : 0;
  const std::size_t padded = device.local_is_cache ? sizes.items : sizes.items + 1;
  sizes.group =
      plan::group_for(device, group_of(device, problem, fixed), padded * number + heads + state, kWords);
  if (sizes.group == 0) return false;
  const bool shared = whole_rows && problem.rows * problem.batch > 1;
  sizes.team =
      shared ? std::min(sizes.group, plan::power_of_four(divide_up(problem.cols, sizes.items))) : sizes.group;
  if (scans_in_registers(device, problem) && plan.entry_point != "scan_reduce" &&
      uses_shuffles(device, sizes.group) && sizes.team == sizes.group) {
    set_registers(device, problem, fixed, plan, sizes);
    return true;
  }
  const std::size_t alignment = std::min(problem.in_alignment, problem.out_alignment);
  sizes.pack = pack_of(policy, size_of(problem.in), alignment, sizes.items);
  sizes.out_pack = pack_of(policy, size_of(problem.out), alignment, sizes.items);

  Tile tile;
  tile.rows = sizes.group;
  tile.cols = sizes.items;
  tile.item_bytes = number;
  tile.work_items = sizes.group;
  const std::size_t items = sizes.items;
  const auto across = [items](const char* name, bool store, std::size_t pack) {
    return Access{name, store, 1, [items, pack](std::size_t k) {
                    return Item{k * pack / items, k * pack % items};
                  }};
  };
  tile.accesses = {across("elements", true, sizes.pack),
                   {"own elements", false, 1,
                    [](std::size_t k) {
                      return Item{k, 0};
                    }},
                   {"own results", true, 1,
                    [](std::size_t k) {
                      return Item{k, 0};
                    }},
                   across("results", false, sizes.out_pack)};
  plan.layout = infer_layout(device, tile);
  const auto bytes = [&] { return plan.layout.bytes() + sizes.group * (heads + state) + kWords; };
  if (bytes() > device.local_bytes)
    plan.layout = infer_layout(device, tile, {.kind = LocalLayout::Kind::plain});
  plan.local_bytes = bytes();
  plan.prediction.local_bytes = 4 * static_cast<double>(number) * static_cast<double>(problem.rows) *
                                static_cast<double>(problem.cols) * static_cast<double>(problem.batch);
  define_tile(sizes, plan);
  // With sub-groups of 32, its compiler leaves the work-items' elements in memory.
  if (device.vendor == Vendor::intel && device.architecture.starts_with("pvc"))
    define(plan, "INTEL_SUB_GROUP", 16);
  plan::define_layout(plan, plan.layout);
  if (uses_shuffles(device, sizes.group)) define(plan, "SHUFFLES", 1);
  return true;
}

std::optional<Plan> look_back(const Device& device, const ScanProblem& problem, const PlanOverrides& fixed,
                              const Parts& parts) {
  if (!plan::can_look_back(device) || problem.shape == ScanShape::columns) return std::nullopt;
  const std::size_t tiles = problem.rows * problem.batch * parts.parts;
  if (tiles > plan::kMaxTiles) return std::nullopt;
  Plan plan = base_plan(problem, "look_back", "scan/look_back.cl", "scan_look_back");
  TileSizes sizes;
  if (!set_tile(device, problem, fixed, false, plan, sizes)) return std::nullopt;
  define_results(plan, problem);
  define(plan, "TILE", parts.piece);
  plan::define_publishing(device, plan);
  const bool shuffles = std::any_of(plan.defines.begin(), plan.defines.end(),
                                    [](const auto& one) { return one.first == "SHUFFLES"; });
  if (shuffles && !plan::falls_back(device, !is_float(problem.in))) define(plan, "FALLS_BACK", 0);
  if (device.ordered_start) define(plan, "ORDERED_START", 1);
  plan.global = {tiles * sizes.group, 1, 1};
  plan.tile_cols = parts.piece;
  plan.reason = "one pass: a tile looks back over those before it for what they make";
  return plan;
}

std::optional<Plan> reduce_then_scan(const Device& device, const ScanProblem& problem,
                                     const PlanOverrides& fixed, const Parts& parts) {
  Plan plan = base_plan(problem, "reduce_then_scan", "scan/parts.cl", "scan_parts");
  TileSizes sizes;
  if (!set_tile(device, problem, fixed, parts.parts == 1, plan, sizes)) return std::nullopt;
  define_results(plan, problem);
  if (device.type == DeviceType::cpu) define(plan, "MEET_ALWAYS", 1);
  const std::size_t groups = divide_up(problem.rows * problem.batch * parts.parts, sizes.group / sizes.team);
  if (groups > plan::kMaxTiles) return std::nullopt;
  plan.global = {std::max<std::size_t>(groups, 1) * sizes.group, 1, 1};
  plan.reason =
      parts.parts == 1
          ? "rows of one part each: a work-group goes along a row, or several short ones"
          : formatted("{} parts of a row: first what each makes, then the scan of all", parts.parts);
  return plan;
}

std::optional<Plan> ladder(const Device& device, const ScanProblem& problem, const PlanOverrides& fixed,
                           std::string_view variant, const Parts& parts) {
  if (problem.shape != ScanShape::vector) return std::nullopt;
  const bool tree = variant == "blelloch";
  const std::size_t number = number_bytes(problem);
  const std::size_t group =
      plan::group_for(device, group_of(device, problem, fixed), 2 * number + (tree ? 2 * number / 8 : 0));
  if (group == 0) return std::nullopt;
  Plan plan = base_plan(problem, variant, "scan/ladder.cl", "scan_ladder");
  define_results(plan, problem);
  define(plan, "GROUP", group);
  define(plan, "RUNG", tree ? 1 : 0);
  define(plan, "PACK", 1);
  define(plan, "LANES", 1);
  plan.local_bytes = 2 * group * number;
  if (tree) {
    const std::size_t row = std::min(2 * group, scan_policy(device).tree_row);
    Tile tile;
    tile.rows = 2 * group / row;
    tile.cols = row;
    tile.item_bytes = number;
    tile.work_items = group;
    // The steps of the tree, whose strides double.
    for (std::size_t apart = 1; apart < group; apart *= 2) {
      tile.accesses.push_back({"children", false, 1, [apart, group, row](std::size_t k) {
                                 const std::size_t i = std::min(2 * apart * (k + 1), 2 * group) - 1;
                                 return Item{i / row, i % row};
                               }});
    }
    plan.layout = infer_layout(device, tile);
    if (plan.layout.bytes() > device.local_bytes)
      plan.layout = infer_layout(device, tile, {.kind = LocalLayout::Kind::plain});
    plan.local_bytes = plan.layout.bytes();
    define(plan, "ROW", row);
    plan::define_layout(plan, plan.layout);
  }
  plan.work_group = {group, 1, 1};
  plan.global = {parts.parts * group, 1, 1};
  plan.items_per_work_item = tree ? 2 : 1;
  plan.tile_cols = plan.items_per_work_item * group;
  plan.reason = tree ? "a tree of sums up and down again, with as many operations as elements, twice"
                     : "in each step a place joins the one twice as far away: few steps, many operations";
  return plan;
}

std::optional<Plan> columns(const Device& device, const ScanProblem& problem, const PlanOverrides& fixed,
                            std::string_view variant, const Parts& parts) {
  const bool on_cpu = variant == "cpu";
  if (variant != "reduce_then_scan" && !(on_cpu && plan::runs_cpu_variant(device))) return std::nullopt;
  const ScanPolicy& policy = scan_policy(device);
  const std::size_t wanted = fixed.work_items != 0 ? fixed.work_items : policy.across;
  const std::size_t group = on_cpu ? 1 : plan::group_for(device, wanted, 0);
  const std::size_t strip = on_cpu ? policy.threads.strip : 1;
  const std::size_t groups = divide_up(problem.cols, group * strip) * parts.parts * problem.batch;
  if (groups > plan::kMaxTiles) return std::nullopt;
  Plan plan = base_plan(problem, variant, "scan/columns.cl", "scan_columns");
  define_results(plan, problem);
  plan.work_group = {group, 1, 1};
  plan.global = {std::max<std::size_t>(groups, 1) * group, 1, 1};
  plan.tile_cols = group * strip;
  plan.items_per_work_item = strip;
  define(plan, "GROUP", group);
  define(plan, "STRIP", strip);
  define(plan, "UNROLL", on_cpu ? 1 : policy.column_unroll);
  define(plan, "PACK", 1);
  define(plan, "LANES", 1);
  define(plan, "PHASE", 1);
  plan.reason = "work-items walk down neighbouring columns: no local memory is needed";
  return plan;
}

std::optional<Plan> cpu(const Device& device, const ScanProblem& problem, const Parts& parts) {
  if (!plan::runs_cpu_variant(device)) return std::nullopt;
  const std::size_t jobs = problem.rows * problem.batch * parts.parts;
  const bool single_pass = parts.single_pass;
  const plan::ScanThreads& threads = scan_policy(device).threads;
  Plan plan = base_plan(problem, "cpu", "scan/cpu.cl", "scan_cpu");
  define_results(plan, problem);
  plan.work_group = {1, 1, 1};
  plan.global = {
      std::clamp<std::size_t>(jobs, 1, (single_pass ? 1 : threads.groups_a_unit) * device.compute_units), 1,
      1};
  plan.tile_cols = plan.items_per_work_item = parts.piece;
  define(plan, "PACK", 1);
  define(plan, "LANES", threads.accumulator_bytes / number_bytes(problem));
  define(plan, "PHASE", single_pass ? 2 : 1);
  define(plan, "ORDERED", is_ordered(problem) ? 1 : 0);
  const std::size_t written = problem.rows * problem.cols * problem.batch * size_of(problem.out);
  if (device.cache_bytes != 0 && written > device.cache_bytes) define(plan, "STREAMING", 1);
  if (single_pass) plan::define_publishing(device, plan);
  plan.reason = single_pass ? "one thread a piece that its cache holds: what it makes, then its scan"
                            : "one thread a piece, from front to back";
  return plan;
}

/// The launch before `plan`'s, which finds out what the elements of each part make.
std::optional<Launch> first(const Device& device, const ScanProblem& problem, const PlanOverrides& fixed,
                            const Plan& plan) {
  Launch launch = plan;
  if (problem.shape == ScanShape::columns || plan.variant == "cpu") {
    std::erase_if(launch.defines, [](const auto& d) { return d.first == "PHASE" || d.first == "EXCLUSIVE"; });
    define(launch, "PHASE", 0);
  } else {
    launch = base_plan(problem, plan.variant, "scan/reduce.cl", "scan_reduce");
    TileSizes sizes;
    if (!set_tile(device, problem, fixed, false, launch, sizes)) return std::nullopt;
    const std::size_t parts = plan.number("parts");
    launch.global = {problem.rows * problem.batch * parts * sizes.group, 1, 1};
    if (!is_ordered(problem)) {  // no tile passes through local memory
      define(launch, "ORDERED", 0);
      launch.local_bytes = sizes.group * state_bytes(problem);
      launch.layout = {};
      launch.prediction.local_bytes = 0;
    }
  }
  launch.variant = "first";
  launch.numbers = plan.numbers;
  launch.prediction.bytes_written = static_cast<double>(plan.scratch_bytes);
  launch.reason = formatted("what each of {} parts makes", plan.number("parts"));
  return launch;
}

std::optional<Plan> plan_variant(const Device& device, const ScanProblem& problem, const PlanOverrides& fixed,
                                 std::string_view variant) {
  const Parts parts = parts_of(device, problem, fixed, variant);
  std::optional<Plan> plan;
  if (problem.shape == ScanShape::columns) {
    plan = columns(device, problem, fixed, variant, parts);
  } else if (variant == "cpu") {
    plan = cpu(device, problem, parts);
  } else if (variant == "look_back") {
    plan = look_back(device, problem, fixed, parts);
  } else if (variant == "reduce_then_scan") {
    plan = reduce_then_scan(device, problem, fixed, parts);
  } else {
    plan = ladder(device, problem, fixed, variant, parts);
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
std::string why_not(const Device& device, const ScanProblem& problem, std::string_view variant,
                    const Plan& chosen) {
  if (!plan_variant(device, problem, {}, variant)) {
    if (variant == "cpu") return plan::no_cpu_variant(device);
    if (variant == "look_back" && !plan::can_look_back(device))
      return "no way is known in which work-groups of one launch publish to each other";
    if (problem.shape != ScanShape::vector && variant != "reduce_then_scan") return "does not do this shape";
    return "does not fit local memory";
  }
  if (chosen.variant == "cpu") return "work-items that meet in local memory are loops on a CPU";
  if (variant == "look_back" && !plan::prefers_look_back(device))
    return "work-groups that may stop keep others waiting, which then compute the same elements again";
  if (variant == "look_back") return "rows of one part need nothing of each other";
  if (variant == "reduce_then_scan") return "reads every element twice";
  return "reads every element twice, and works on tiles of one or two elements a work-item";
}

}  // namespace

std::vector<std::string_view> scan_variants() {
  return {"hillis_steele", "blelloch", "reduce_then_scan", "look_back", "cpu"};
}

namespace {

/// The plan on a device whose driver breaks nothing.
Plan make_plan(const Device& device, const ScanProblem& problem, const PlanOverrides& overrides) {
  plan::check_scan(device, problem);
  const char* operation = plan::operation_name(problem);
  const auto names = scan_variants();
  plan::require_choice(operation, overrides, names);
  plan::require_work_items(operation, device, overrides);
  const std::string_view variant = overrides.variant;
  const std::string_view chosen = variant.empty() ? choose(device, problem, overrides) : variant;
  std::optional<Plan> plan = plan_variant(device, problem, overrides, chosen);
  if (!plan) plan::refuse_variant(operation, device, chosen, "scan", plan::can_look_back(device));
  plan::require_fixed_group(operation, device, overrides, *plan, "a thread's compiler makes the vectors");
  const ScanPolicy& policy = scan_policy(device);
  plan->evidence = (problem.shape == ScanShape::vector ? policy.vectors
                    : problem.shape == ScanShape::rows ? policy.rows
                                                       : policy.others)
                       .text(device);
  plan::note_choice(*plan, overrides, names, device, problem, why_not);
  return *plan;
}

}  // namespace

Plan plan_scan(const Device& device, const ScanProblem& problem, const PlanOverrides& overrides) {
  return plan::Broken(device, "scan", problem.in)
      .plan(scan_variants(), overrides,
            [&](const PlanOverrides& fixed) { return make_plan(device, problem, fixed); });
}

}  // namespace smem
