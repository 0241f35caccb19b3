// Plans for scans: which variant, how many parts, and why.
#include <smem/scan_plan.hpp>

#include "formatted.hpp"
#include "plan/look_back.hpp"
#include "plan/read_ahead_policy.hpp"
#include "plan/reduce_types.hpp"
#include "plan/scan_columns.hpp"
#include "plan/scan_policy.hpp"
#include "plan/scan_strips.hpp"
#include "plan/scan_tiles.hpp"
#include "plan/scan_types.hpp"
#include "plan/variants.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

namespace smem {

namespace {

using namespace plan;

/// Bytes of an aggregate, as kernels lay it out: a number, and for segments whether one begins in it.
std::size_t state_bytes(const ScanProblem& problem, bool has_heads) {
  return number_bytes(problem) * (has_heads ? 2 : 1);
}
std::size_t state_bytes(const ScanProblem& problem) { return state_bytes(problem, is_segmented(problem)); }

constexpr const char* kOtherShape = "does not do this shape";
constexpr const char* kTooManyTiles = "its tiles are more than a launch can have";

/// Whether elements must be combined in their order.
bool is_ordered(const ScanProblem& problem) {
  return is_segmented(problem) || problem.operation.op == ReduceOp::custom;
}

/// How a row, or a column, is cut.
Parts parts_of(const Device& device, const ScanProblem& problem, const PlanOverrides& fixed,
               std::string_view variant) {
  const bool by_columns = problem.shape == ScanShape::columns, on_cpu = variant == "cpu";
  const ScanPolicy& policy = scan_policy(device);
  const ScanThreads& threads = policy.threads;
  const std::size_t rows = at_least_1(problem.rows * problem.batch);
  const std::size_t length = at_least_1(by_columns ? problem.rows : problem.cols);
  const std::size_t tile = tile_of(device, problem, fixed);
  Parts parts;
  if (by_columns) {
    const std::size_t strip = on_cpu ? strip_of(device, problem) : policy.across;
    const std::size_t jobs = at_least_1(divide_up(problem.cols, strip) * problem.batch);
    const std::size_t wanted = (on_cpu ? threads.strips_a_unit : policy.groups_a_unit) * device.compute_units;
    const std::size_t most = std::min(length / policy.column_rows, policy.most_parts);
    parts.cut(length, std::min(wanted / jobs, most), 1);
  } else if (on_cpu) {
    const std::size_t piece = threads.piece_bytes / size_of(problem.in);
    if (rows >= threads.enough_rows * device.compute_units || length <= threads.whole_pieces * piece) {
      parts.cut(length, 1, 1);
    } else if (prefers_look_back(device)) {
      parts.cut_for_single_pass(length, piece);
    } else {
      const std::size_t wanted = divide_up(threads.pieces_a_unit * device.compute_units, rows);
      parts.cut(length, std::min(wanted, divide_up(length, piece)), threads.multiple);
    }
  } else if (variant == "look_back") {
    const std::size_t most = scan_policy(device).line_bytes / size_of(problem.in) - 1;  // before a row
    parts.cut_for_single_pass(length + (begins_anywhere(device, problem) ? most : 0), tile);
  } else {
    const std::size_t wanted = policy.groups_a_unit * device.compute_units;
    const std::size_t most = std::min(length / (policy.tiles_of_parts * tile), policy.most_parts);
    parts.cut(length, std::min(wanted / rows, most), tile);
  }
  parts.two_launches = parts.parts > 1 && !parts.single_pass;
  return parts;
}

/// Whether whole rows fill a tile well: of rows that follow each other without gaps.
bool fill_tiles(const Device& device, const ScanProblem& problem, const PlanOverrides& fixed) {
  if (problem.shape != ScanShape::rows || problem.packed_alignment == 0 || problem.cols == 0) return false;
  const std::size_t tile = group_of(device, problem, fixed) * items_of(device, problem, false);
  return real(tile / problem.cols * problem.cols) >= scan_policy(device).rows_fill * real(tile);
}

std::vector<std::string_view> preference(const Device& device, const ScanProblem& problem,
                                         const PlanOverrides& fixed) {
  if (runs_cpu_variant(device)) return {"cpu"};
  if (problem.shape == ScanShape::columns) {
    const bool is_one = parts_of(device, problem, fixed, "reduce_then_scan").parts == 1;
    if (!prefers_look_back(device) || is_one) return {"reduce_then_scan"};
    return {"look_back", "reduce_then_scan"};
  }
  if (fill_tiles(device, problem, fixed)) return {"short_rows", "reduce_then_scan"};
  if (!prefers_look_back(device)) return {"reduce_then_scan"};
  // Where rows have one part each, one launch that needs no counters does all. Of rows that fill a tile the
  // other one is faster, as it needs no loop.
  const std::size_t tile = tile_of(device, problem, fixed);
  const bool fills = problem.shape == ScanShape::rows && problem.cols <= tile && 2 * problem.cols > tile;
  if (fills && scans_in_registers(device, problem)) return {"look_back"};
  const bool is_one = parts_of(device, problem, fixed, "reduce_then_scan").parts == 1;
  return {is_one ? "reduce_then_scan" : "look_back"};
}

Plan base_plan(const ScanProblem& problem, std::string_view variant, const char* file, const char* entry) {
  Plan plan = named_plan(operation_name(problem), variant, file, entry);
  define_operation(plan, as_reduction(problem));
  if (problem.shape == ScanShape::keys) {
    define(plan, "MARKS", 1);
    define_types(plan, {{"MARK", bits_of(problem.marks)}});
  } else if (problem.shape == ScanShape::segments) {
    define(plan, "MARKS", 2);
    define_types(plan, {{"MARK", problem.marks}});
  }
  const double elements = real(problem.rows, problem.cols, problem.batch);
  predict(plan, elements, problem.in, problem.out);
  if (problem.shape == ScanShape::keys) plan.prediction.bytes_read += elements * real(size_of(problem.marks));
  plan.prediction.operations = is_float(problem.in) ? elements : 0;
  return plan;
}

/// Of the launch that writes results.
void define_results(Launch& launch, const ScanProblem& problem) {
  if (problem.exclusive) define(launch, "EXCLUSIVE", 1);
}

/// Sizes of tiles. `rows`: of "short_rows".
struct ScanTile {
  std::size_t group = 0, items = 0, team = 0, pack = 1, out_pack = 1, rows = 0;
};

void define_tile(const ScanTile& sizes, Launch& plan) {
  plan.work_group = {sizes.group, 1, 1};
  plan.vector_width = sizes.pack;
  plan.items_per_work_item = sizes.items;
  plan.tile_rows = sizes.group / sizes.team;
  plan.tile_cols = sizes.team * sizes.items;
  define(plan, {{"GROUP", sizes.group},
                {"TEAM", sizes.team},
                {"ITEMS", sizes.items},
                {"PACK", sizes.pack},
                {"OUT_PACK", sizes.out_pack},
                {"LANES", std::min<std::size_t>(sizes.pack, 4)}});
}

/// Sizes of tiles in registers.
void set_registers(const Device& device, const ScanProblem& problem, const PlanOverrides& fixed,
                   bool whole_rows, Launch& plan, ScanTile& sizes) {
  sizes.group = sizes.team = group_for(device, group_of(device, problem, fixed), 0);
  sizes.items = items_of(device, problem, true);
  const ScanPolicy& policy = scan_policy(device);
  // Long runs of narrow elements: shuffles move few numbers.
  const std::size_t widest = std::max(size_of(problem.in), size_of(problem.out));
  const std::size_t run =
      std::min(policy.pack_bytes / (number_bytes(problem) == 8 ? 8 : widest), sizes.items);
  const bool leads = plan.entry_point == "scan_look_back" || whole_rows;
  const std::size_t own = std::min(problem.in_alignment, problem.out_alignment), most = policy.pack_bytes;
  sizes.pack = run_pack(most, problem.in, leads ? most : own, run);
  sizes.out_pack = run_pack(most, problem.out, leads ? most : own, run);
  define_tile(sizes, plan);
  if (leads && begins_anywhere(device, problem)) {
    define(plan, {{"LEAD", policy.line_bytes},
                  {"ELEMENT_BYTES", size_of(problem.in)},
                  {"OUT_PACK_BYTES", sizes.out_pack * size_of(problem.out)}});
  }
  define(plan, {{"RUN", run}, {"REGISTERS", 1}, {"SHUFFLES", 1}});
  if (keeps_narrow(device, problem)) define(plan, "NARROW_WORDS", policy.narrow_bytes / 4);
  plan.local_bytes = (sizes.group / 32 + 2) * state_bytes(problem);
  if (problem.shape == ScanShape::segments) plan.local_bytes += sizes.group * sizes.items / 8 + 16;
  if (problem.shape != ScanShape::keys) return;
  const bool aligned = problem.marks_alignment == most && !begins_anywhere(device, problem);
  define(plan, "MARK_PACK", run_pack(most, problem.marks, aligned ? most : 1, run));
  if (size_of(problem.marks) == 8) define(plan, "WIDE_MARK", 1);
}

/// Chooses the sizes, and defines them for the kernel; false where no work-group fits. `whole_rows`: of one
/// part each; short ones share a group.
bool set_tile(const Device& device, const ScanProblem& problem, const PlanOverrides& fixed, bool whole_rows,
              Launch& plan, ScanTile& sizes) {
  const ScanPolicy& policy = scan_policy(device);
  const bool has_rows = plan.entry_point == "scan_rows";
  const std::size_t number = number_bytes(problem),
                    state = state_bytes(problem, is_segmented(problem) || has_rows);
  constexpr std::size_t kWords = 32;  // of the kernel's own, with their alignment
  sizes.items = items_of(device, problem, false);
  const std::size_t heads = is_segmented(problem) ? sizes.items : 0;
  const std::size_t padded = device.local_is_cache ? sizes.items : sizes.items + 1;
  sizes.group = group_for(device, group_of(device, problem, fixed), padded * number + heads + state, kWords);
  if (sizes.group == 0) return false;
  const bool shared = whole_rows && problem.rows * problem.batch > 1;
  sizes.team =
      shared ? std::min(sizes.group, power_of_four(divide_up(problem.cols, sizes.items))) : sizes.group;
  if (scans_in_registers(device, problem) && plan.entry_point != "scan_reduce" && !has_rows &&
      uses_shuffles(device, sizes.group) && sizes.team == sizes.group) {
    set_registers(device, problem, fixed, whole_rows, plan, sizes);
    return true;
  }
  std::size_t alignment = std::min(problem.in_alignment, problem.out_alignment), of_results = alignment;
  if (has_rows) {
    sizes.rows = rows_of_tile(problem, sizes.group * sizes.items);
    if (sizes.rows == 0) return false;
    const std::size_t lead = rows_with_lead(device, problem, sizes.group * sizes.items, sizes.items);
    if (lead > 0) define(plan, "LEAD", policy.pack_bytes), sizes.rows = lead;
    const auto of = [&](Scalar type) {
      return lead > 0 ? policy.pack_bytes : tile_alignment(problem, sizes.rows * problem.cols, type);
    };
    alignment = of(problem.in), of_results = of(problem.out);
  }
  sizes.pack = run_pack(policy.pack_bytes, problem.in, alignment, sizes.items);
  sizes.out_pack = run_pack(policy.pack_bytes, problem.out, of_results, sizes.items);
  define_tile(sizes, plan);
  define_sub_group(device, plan);
  if (uses_shuffles(device, sizes.group)) define(plan, "SHUFFLES", 1);
  if (has_rows && has_own_runs(device, problem, sizes.items, sizes.pack, sizes.out_pack)) {
    plan.local_bytes = sizes.group * state + kWords;
    define(plan, "OWN_RUNS", 1);
    return true;
  }
  const Tile tile{
      sizes.group,
      sizes.items,
      number,
      sizes.group,
      {across_items("elements", true, sizes.items, sizes.pack), own_items("own elements", false),
       own_items("own results", true), across_items("results", false, sizes.items, sizes.out_pack)}};
  lay_tile(device, tile, sizes.group * (heads + state) + kWords, plan);
  plan.prediction.local_bytes = 4 * real(number, problem.rows, problem.cols, problem.batch);
  if (problem.shape == ScanShape::keys && !scan_policy(device).keys_ahead) define(plan, "KEYS_AHEAD", 0);
  define_layout(plan, plan.layout);
  return true;
}

bool uses_epochs(const Device& device, const ScanProblem& problem, const Parts& parts) {
  return has_epochs(device, problem.rows * problem.batch * parts.parts);
}

Attempt look_back(const Device& device, const ScanProblem& problem, const PlanOverrides& fixed,
                  const Parts& parts) {
  if (!can_look_back(device)) return kCannotPublish;
  const std::size_t tiles = problem.rows * problem.batch * parts.parts;
  if (tiles > kMaxTiles) return kTooManyTiles;
  Plan plan = base_plan(problem, "look_back", "scan/look_back.cl", "scan_look_back");
  ScanTile sizes;
  if (!set_tile(device, problem, fixed, false, plan, sizes)) return no_tile_fits(device);
  define_results(plan, problem);
  define(plan, "TILE", parts.piece);
  define_publishing(device, plan);
  const bool shuffles = std::any_of(plan.defines.begin(), plan.defines.end(),
                                    [](const auto& one) { return one.first == "SHUFFLES"; });
  const bool is_short_code = is_float(problem.in) && !is_segmented(problem);
  if (shuffles && !falls_back(device, !is_short_code)) define(plan, "FALLS_BACK", 0);
  if (device.ordered_start) define(plan, "ORDERED_START", 1);
  if (uses_epochs(device, problem, parts)) define(plan, "EPOCHS", 1);
  plan.global = {tiles * sizes.group, 1, 1};
  plan.tile_cols = parts.piece;
  plan.reason = "single pass: each tile publishes its aggregate and looks back over the tiles before it";
  return plan;
}

Attempt reduce_then_scan(const Device& device, const ScanProblem& problem, const PlanOverrides& fixed,
                         const Parts& parts) {
  Plan plan = base_plan(problem, "reduce_then_scan", "scan/parts.cl", "scan_parts");
  ScanTile sizes;
  if (!set_tile(device, problem, fixed, parts.parts == 1, plan, sizes)) return no_tile_fits(device);
  define_results(plan, problem);
  if (device.type == DeviceType::cpu) define(plan, "ALWAYS_SCAN", 1);
  const std::size_t groups = divide_up(problem.rows * problem.batch * parts.parts, sizes.group / sizes.team);
  if (groups > kMaxTiles) return kTooManyTiles;
  set_groups(plan, sizes.group, groups);
  plan.reason = parts.parts == 1
                    ? "one part a row: a work-group scans a row, or several short ones"
                    : formatted("{} parts of a row: the first launch reduces each, the second one scans them",
                                parts.parts);
  return plan;
}

Attempt short_rows(const Device& device, const ScanProblem& problem, const PlanOverrides& fixed) {
  if (problem.shape != ScanShape::rows) return kOtherShape;
  if (problem.packed_alignment == 0 || problem.cols == 0) return "its rows have gaps, or no elements";
  Plan plan = base_plan(problem, "short_rows", "scan/rows.cl", "scan_rows");
  ScanTile sizes;
  if (!set_tile(device, problem, fixed, false, plan, sizes)) {
    return sizes.group == 0 ? no_tile_fits(device) : "a row has more elements than a tile";
  }
  define_results(plan, problem);
  const std::size_t fit = sizes.rows, groups = divide_up(problem.rows * problem.batch, fit);
  if (groups > kMaxTiles) return kTooManyTiles;
  set_groups(plan, sizes.group, groups);
  plan.numbers = {{"parts", 1}, {"piece", fit * problem.cols}};
  plan.reason = formatted("{} whole row{} in a tile, scanned as segments", fit, fit == 1 ? "" : "s");
  return plan;
}

Attempt ladder(const Device& device, const ScanProblem& problem, const PlanOverrides& fixed,
               std::string_view variant, const Parts& parts) {
  if (problem.shape != ScanShape::vector) return kOtherShape;
  const bool tree = variant == "blelloch";
  const std::size_t number = number_bytes(problem);
  const std::size_t group =
      group_for(device, group_of(device, problem, fixed), 2 * number + (tree ? 2 * number / 8 : 0));
  if (group == 0) return no_tile_fits(device);
  Plan plan = base_plan(problem, variant, "scan/ladder.cl", "scan_ladder");
  define_results(plan, problem);
  define(plan, {{"GROUP", group}, {"VARIANT", tree ? 1 : 0}, {"PACK", 1}, {"LANES", 1}});
  plan.local_bytes = 2 * group * number;
  if (tree) {
    const std::size_t row = std::min(2 * group, scan_policy(device).tree_row);
    Tile tile{2 * group / row, row, number, group, {}};
    // The steps of the tree, whose strides double.
    for (std::size_t apart = 1; apart < group; apart *= 2) {
      tile.accesses.push_back({"children", false, 1, [apart, group, row](std::size_t k) {
                                 const std::size_t i = std::min(2 * apart * (k + 1), 2 * group) - 1;
                                 return Item{i / row, i % row};
                               }});
    }
    lay_tile(device, tile, 0, plan);
    define(plan, "ROW", row);
    define_layout(plan, plan.layout);
  }
  set_groups(plan, group, parts.parts);
  plan.items_per_work_item = tree ? 2 : 1;
  plan.tile_cols = plan.items_per_work_item * group;
  plan.reason = tree ? "a tree of partial sums, up-sweep and down-sweep: two operations an element"
                     : "each step adds the partial sum twice as far away: few steps, many operations";
  return plan;
}

Attempt columns(const Device& device, const ScanProblem& problem, const PlanOverrides& fixed,
                std::string_view variant, const Parts& parts) {
  const bool on_cpu = variant == "cpu";
  if (variant == "look_back") {
    Plan plan = base_plan(problem, variant, "scan/columns_look_back.cl", "scan_columns_look_back");
    define_results(plan, problem);
    return look_back_columns(device, problem, fixed, number_bytes(problem), std::move(plan));
  }
  if (variant != "reduce_then_scan" && !on_cpu) return kOtherShape;
  if (on_cpu && !runs_cpu_variant(device)) return no_cpu_variant(device);
  const ScanPolicy& policy = scan_policy(device);
  const std::size_t wanted = group_wanted(fixed, policy.across);
  const std::size_t group = on_cpu ? 1 : group_for(device, wanted, 0);
  const std::size_t strip = on_cpu ? strip_of(device, problem) : 1;
  const std::size_t groups = divide_up(problem.cols, group * strip) * parts.parts * problem.batch;
  if (groups > kMaxTiles) return kTooManyTiles;
  Plan plan = base_plan(problem, variant, "scan/columns.cl", "scan_columns");
  define_results(plan, problem);
  set_groups(plan, group, groups);
  plan.tile_cols = group * strip;
  plan.items_per_work_item = strip;
  define(plan, {{"GROUP", group},
                {"STRIP", strip},
                {"UNROLL", on_cpu ? 1 : policy.column_unroll},
                {"PACK", 1},
                {"LANES", 1},
                {"PHASE", 1}});
  plan.reason = "neighbouring work-items scan neighbouring columns, without local memory";
  if (on_cpu) define_read_ahead(device, plan);
  if (on_cpu && problem.cols > 0 && problem.cols <= policy.threads.narrow &&
      is_of_vectors(problem.operation.op)) {
    define(plan, "NARROW", problem.cols);
    plan.reason = "a thread scans few columns in vectors, whatever rows their elements are of";
  }
  return plan;
}

Attempt cpu(const Device& device, const ScanProblem& problem, const Parts& parts) {
  if (!runs_cpu_variant(device)) return no_cpu_variant(device);
  const std::size_t jobs = problem.rows * problem.batch * parts.parts;
  const bool single_pass = parts.single_pass;
  const ScanThreads& threads = scan_policy(device).threads;
  Plan plan = base_plan(problem, "cpu", "scan/cpu.cl", "scan_cpu");
  define_results(plan, problem);
  set_groups(plan, 1, jobs, (single_pass ? 1 : threads.groups_a_unit) * device.compute_units);
  plan.tile_cols = plan.items_per_work_item = parts.piece;
  define(plan, {{"PACK", 1},
                {"LANES", threads.accumulator_bytes / number_bytes(problem)},
                {"PHASE", single_pass ? 2 : 1},
                {"ORDERED", is_ordered(problem) ? 1 : 0}});
  const std::size_t written = problem.rows * problem.cols * problem.batch * size_of(problem.out);
  if (device.cache_bytes != 0 && written > device.cache_bytes) define(plan, "STREAMING", 1);
  define_read_ahead(device, plan);
  if (single_pass) define_publishing(device, plan);
  const bool is_short = has_short_rows(threads, problem, parts);
  if (is_short) define(plan, "SHORT_ROWS", 1);
  plan.reason = is_short      ? "a thread scans short rows in vectors, whatever rows their elements are of"
                : single_pass ? "a thread takes a part that its cache holds: its aggregate, then its scan"
                              : "a thread scans a part from front to back";
  return plan;
}

/// The launch before `plan`'s, which computes the aggregate of each part.
std::optional<Launch> first(const Device& device, const ScanProblem& problem, const PlanOverrides& fixed,
                            const Plan& plan) {
  Launch launch = plan;
  if (problem.shape == ScanShape::columns || plan.variant == "cpu") {
    std::erase_if(launch.defines, [](const auto& d) { return d.first == "PHASE" || d.first == "EXCLUSIVE"; });
    define(launch, "PHASE", 0);
  } else {
    launch = base_plan(problem, plan.variant, "scan/reduce.cl", "scan_reduce");
    ScanTile sizes;
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
  launch.prediction.bytes_written = real(plan.scratch_bytes);
  launch.reason = formatted("reduces each of {} parts to its aggregate", plan.number("parts"));
  return launch;
}

Attempt plan_variant(const Device& device, const ScanProblem& problem, const PlanOverrides& fixed,
                     std::string_view variant) {
  const Parts parts = parts_of(device, problem, fixed, variant);
  const bool by_columns = problem.shape == ScanShape::columns;
  if (variant == "short_rows") return short_rows(device, problem, fixed);
  if (by_columns && variant == "look_back") return columns(device, problem, fixed, variant, parts);
  Attempt attempt = by_columns                      ? columns(device, problem, fixed, variant, parts)
                    : variant == "cpu"              ? cpu(device, problem, parts)
                    : variant == "look_back"        ? look_back(device, problem, fixed, parts)
                    : variant == "reduce_then_scan" ? reduce_then_scan(device, problem, fixed, parts)
                                                    : ladder(device, problem, fixed, variant, parts);
  const std::size_t sequences =
      by_columns ? problem.cols * problem.batch : at_least_1(problem.rows * problem.batch);
  return joined_parts(std::move(attempt), device, parts, sequences,
                      state_bytes(problem, is_segmented(problem) && variant != "look_back"),
                      variant == "look_back" && uses_epochs(device, problem, parts),
                      [&](const Plan& plan) { return first(device, problem, fixed, plan); });
}

std::string why_not(const Device& device, const ScanProblem& /*problem*/, std::string_view variant,
                    const Plan& chosen) {
  if (chosen.variant == "cpu") return "a CPU runs work-items that share local memory as loops";
  if (variant == "look_back" && !prefers_look_back(device))
    return "without forward progress work-groups wait for others, and then reduce the same elements again";
  if (variant == "look_back") return "rows of one part need no look-back";
  if (variant == "short_rows") return "a tile is worth it for several rows";
  if (variant == "reduce_then_scan") return "reads every element twice";
  return "reads every element twice, and works on tiles of one or two elements a work-item";
}

const Evidence& evidence(const Device& device, const ScanProblem& problem, const Plan& plan) {
  const ScanPolicy& policy = scan_policy(device);
  return plan.variant == "short_rows"                                         ? policy.short_rows
         : problem.shape == ScanShape::vector                                 ? policy.vectors
         : problem.shape == ScanShape::rows                                   ? policy.rows
         : problem.shape == ScanShape::columns && plan.variant == "look_back" ? policy.columns
         : is_segmented(problem) && plan.variant == "look_back"               ? policy.segments
                                                                              : policy.others;
}

constexpr Operation<ScanProblem> kScan{.what = "scan",
                                       .name = operation_name,
                                       .variants = scan_variants,
                                       .check = check_scan,
                                       .preference = preference,
                                       .attempt = plan_variant,
                                       .why_not = why_not,
                                       .evidence = evidence,
                                       .one_work_item = "a thread's compiler makes the vectors"};

}  // namespace

std::vector<std::string_view> scan_variants() {
  return {"hillis_steele", "blelloch", "reduce_then_scan", "short_rows", "look_back", "cpu"};
}

Plan plan_scan(const Device& device, const ScanProblem& problem, const PlanOverrides& overrides) {
  return plan_call(kScan, "scan", problem.in, device, problem, overrides);
}

}  // namespace smem
