// Plans for what small windows hold: medians and gradients.
#include <smem/blur_plan.hpp>

#include "formatted.hpp"
#include "plan/filters.hpp"
#include "plan/pixels.hpp"
#include "plan/variants.hpp"
#include "plan/window_policy.hpp"

#include <cstdint>
#include <limits>
#include <string>

namespace smem {

namespace {

using namespace plan;

const char* operation_of(const WindowProblem& problem) {
  return problem.op == WindowOp::median ? "median_blur" : "sobel";
}

constexpr std::size_t kShared = 5;  // the edge of windows that share what they have in common

/// Medians of windows that share what they have in common: two rows of small elements in the halves of words.
bool compares_pairs(const WindowPolicy& policy, Scalar in) {
  return in == Scalar::half ? policy.pairs_of_halves : policy.pairs && size_of(in) <= 2;
}

struct Shared {
  const char *variant, *file, *entry;
  std::size_t cols, rows;   ///< of results of a work-item
  std::size_t group, held;  ///< work-items, and the bytes of local memory of each
  bool pairs;
};

/// Their launch: a work-item for each `cols` x `rows` results of a channel.
Attempt shared_plan(const Device& device, const WindowProblem& problem, const Shared& s) {
  const SeparableProblem& g = problem.grids;
  Plan plan =
      filter_plan(operation_of(problem), s.variant, s.file, s.entry, g, g.row_taps / 2, g.row_taps / 2);
  const std::array<std::size_t, 3> extent{divide_up(g.width, s.cols) * g.channels,
                                          divide_up(g.height, s.rows), g.planes};
  const std::size_t group = group_for(device, s.group, s.held, kOwnBytes);
  if (group == 0) return no_tile_fits(device);
  plan.work_group = shape_group(device, group, 64, extent);
  plan.local_bytes = s.held * plan.work_items();
  plan.global = global_size(extent, plan.work_group);
  plan.vector_width = s.cols;
  plan.items_per_work_item = s.rows * s.cols;
  plan.numbers = {{"band", s.rows}};
  define(plan, "COLS", s.cols);
  if (s.pairs) define(plan, "PAIRS", 1);
  if (s.pairs && is_nvidia_gpu(device) && compute_capability(device) >= 90)
    define(plan, "PAIR_INSTRUCTIONS", 1);
  constexpr std::size_t kVectorBytes = 16;
  const std::size_t stored = s.cols * size_of(g.out);
  if (stored <= kVectorBytes && g.out_alignment >= stored) define(plan, "VECTOR_OUT", 1);
  if (is_float(g.in) && g.in != Scalar::half) define(plan, "FLOATING_ELEMENT", 1);
  if (g.in_alignment >= s.cols * size_of(g.in)) define(plan, "ALIGNED", 1);
  define_group(plan);
  return plan;
}

std::size_t number_bytes(Scalar in) { return in == Scalar::float64 ? 8 : 4; }

/// Medians of windows that share sorted columns.
Attempt columns(const Device& device, const WindowProblem& problem) {
  const SeparableProblem& g = problem.grids;
  if (problem.op != WindowOp::median || g.row_taps != kShared) return "for medians of 5 x 5";
  const WindowPolicy& policy = window_policy(device);
  if (policy.columns == 0) return "its columns would not stay in registers";
  const std::size_t cols = policy.columns;
  const bool pairs = compares_pairs(policy, g.in);
  const bool shares = !pairs && policy.shares_rows && size_of(g.in) == 4;
  Attempt made =
      shared_plan(device, problem,
                  {"columns", "blur/median_columns.cl", "median_columns", cols, pairs || shares ? 2u : 1u,
                   policy.columns_group,
                   (kShared + (shares ? 1 : 0)) * (cols + kShared - 1) * number_bytes(g.in), pairs});
  if (!made.plan) return made;
  Plan& plan = *made.plan;
  if (shares) define(plan, "SHARES", 1);
  // Of a pair of windows: the exchanges of two columns and of merging two, and what is left.
  plan.prediction.operations =
      real(g.elements()) * (2 * 9 + 13 + (20 + 2 * (5 + 14)) / 2.0 + 10) / (pairs ? 2 : 1);
  plan.reason = formatted("{} windows of a row{}: columns are sorted once, and what pairs of windows share",
                          cols, pairs ? ", of two rows in the halves of words" : "");
  return made;
}

/// Rows of results of a work-item of "tiles": fewer where work-items would not fill the device.
std::size_t tile_band(const Device& device, const SeparableProblem& g, std::size_t cols) {
  const WindowPolicy& policy = window_policy(device);
  constexpr std::size_t kStep = 4;  // rows
  const std::size_t strips = divide_up(g.width, cols) * g.channels * g.planes;
  const std::size_t bands = divide_up(device.compute_units * policy.tiles_resident, at_least_1(strips));
  return std::clamp(round_up(g.height / at_least_1(bands), kStep), kStep, policy.tiles_band);
}

/// Medians of tiles of 2 x 2 windows that share 4 x 4 sorted elements.
Attempt tiles(const Device& device, const WindowProblem& problem, const PlanOverrides& fixed) {
  const SeparableProblem& g = problem.grids;
  if (problem.op != WindowOp::median) return "for medians";
  const WindowPolicy& policy = window_policy(device);
  if (policy.columns == 0) return "its columns would not stay in registers";
  constexpr std::size_t kTile = 2, kMostRows = std::size_t{1} << 30;
  const bool pairs = compares_pairs(policy, g.in);
  const std::size_t cols = kTile * (pairs ? 2 : 1);
  if (fixed.tile_cols != 0 && fixed.tile_cols != cols)
    return formatted("a work-item has {} results of a row", cols);
  const std::size_t rows = fixed.tile_rows == 0 ? tile_band(device, g, cols) : fixed.tile_rows;
  if (rows % kTile != 0 || rows > kMostRows) return "a work-item has an even number of rows, at most 2^30";
  if (g.row_elements() > std::numeric_limits<std::uint32_t>::max())
    return "it counts pieces of rows in 32 bits";
  const std::size_t group = fixed.work_items == 0 ? policy.tiles_group : fixed.work_items;
  Attempt made = shared_plan(device, problem,
                             {"tiles", "blur/median_tiles.cl", "median_tiles", cols, rows, group, 0, pairs});
  if (!made.plan) return made;
  Plan& plan = *made.plan;
  plan.tile_rows = rows, plan.tile_cols = cols;
  define(plan, "SIZE", g.row_taps);
  if (policy.tiles_registers != 0 && size_of(g.in) == 1 && pairs && g.row_taps == kShared) {
    plan.most_registers = policy.tiles_registers;
    define(plan, "LIMITS_REGISTERS", 1);
  }
  if (size_of(g.in) == 1) {
    define(plan, "BYTES", 1);
    const std::size_t sums = g.row_taps == kShared ? policy.sums : policy.small_sums;
    if (pairs && sums != 0) define(plan, "SUMS", sums);
  }
  // Of a tile of 5 x 5: lesser and greater ones of rows, pairs of them, their core, two rows more, columns,
  // windows. Of 3 x 3: of columns, and of windows.
  const double tile =
      g.row_taps == kShared ? 2 * 10 + 18 + 40 + 2 * 30 + 2 * 8 + 4 * 18 : 4 * 10 + 2 + 4 * 10;
  plan.prediction.operations = real(g.elements()) * tile / (kTile * kTile) / (pairs ? 2 : 1);
  plan.reason =
      formatted("{} windows of a row, in bands of {} rows{}: tiles of 2 x 2 share what they have in common",
                cols, rows, pairs ? ", in the halves of words" : "");
  return made;
}

/// Gradients down bands of rows, each weighted once.
Attempt march(const Device& device, const WindowProblem& problem) {
  const SeparableProblem& g = problem.grids;
  if (problem.op != WindowOp::gradient) return "for gradients";
  constexpr std::size_t kMostCells = std::size_t{1} << 30, kCols = 4;
  if (g.row_elements() > kMostCells || g.height > kMostCells) return "it counts rows and cells in 30 bits";
  const WindowPolicy& policy = window_policy(device);
  if (policy.columns == 0) return "its sums would not stay in registers";
  const std::size_t band = tile_band(device, g, kCols);
  Attempt made =
      shared_plan(device, problem,
                  {"march", "blur/sobel_march.cl", "sobel_march", kCols, band, policy.tiles_group, 0, false});
  if (!made.plan) return made;
  define(*made.plan, "SIZE", g.row_taps);
  made.plan->prediction.operations = real(g.elements()) * (8 * real(g.row_taps) + 4);
  made.plan->reason = formatted(
      "{} results of a row, in bands of {} rows: each row is multiplied by its weights once", kCols, band);
  return made;
}

/// Whether a CPU computes the gradient in 16 bits. A constant beyond the edges may be no integer.
bool has_whole_slopes(const WindowProblem& problem) {
  const SeparableProblem& g = problem.grids;
  return problem.op == WindowOp::gradient && g.in == Scalar::uint8 && g.out == Scalar::uint8 &&
         g.boundary != Boundary::constant;
}

/// Results that a thread makes at once: vectors of OpenCL C, or, of integers, what a register holds.
std::size_t thread_lanes(const Device& device, const WindowProblem& problem) {
  const SeparableProblem& g = problem.grids;
  const std::size_t usual = window_policy(device).thread_lanes;
  const bool whole = has_whole_slopes(problem);
  const bool median = problem.op == WindowOp::median && !is_float(g.in) && g.in == g.out;
  if (!device.extended_vectors || !(whole || median)) return usual;
  constexpr std::size_t kMost = 64;
  return std::clamp(device.vector_bytes / (whole ? sizeof(std::int16_t) : size_of(g.in)), usual, kMost);
}

Attempt plan_variant(const Device& device, const WindowProblem& problem, const PlanOverrides& fixed,
                     std::string_view variant) {
  const char* operation = operation_of(problem);
  if (variant == "tiles") return tiles(device, problem, fixed);
  if (fixed.work_items != 0) refuse(operation, "work_items", "none: the shape of the grid decides", "one");
  if (variant == "columns") return columns(device, problem);
  if (variant == "march") return march(device, problem);
  const bool cpu = variant == "cpu";
  if (cpu && !runs_cpu_variant(device)) return no_cpu_variant(device);
  const SeparableProblem& g = problem.grids;
  Plan plan = filter_plan(operation, variant, "blur/window.cl", "window", g, g.row_taps / 2, g.row_taps / 2);
  const WindowPolicy& policy = window_policy(device);
  const std::size_t lanes = cpu ? thread_lanes(device, problem) : policy.lanes;
  // Medians of 5 x 5 on CPUs: of two rows at a time, whose windows share comparisons (cl/blur/window.cl).
  const bool in_pairs = cpu && problem.op == WindowOp::median && g.row_taps == kShared;
  const std::size_t band =
      cpu ? round_up(cpu_band(device, g.height, g.planes, g.row_taps - 1), in_pairs ? 2 : 1) : 1;
  const std::array<std::size_t, 3> extent{cpu ? 1 : divide_up(g.row_elements(), lanes),
                                          divide_up(g.height, band), g.planes};
  plan.work_group = cpu ? std::array<std::size_t, 3>{1, 1, 1} : shape_group(device, policy.group, 64, extent);
  plan.global = global_size(extent, plan.work_group);
  plan.vector_width = plan.items_per_work_item = lanes;
  plan.numbers = {{"band", band}};
  define(plan, {{"OPERATION", static_cast<std::size_t>(problem.op)}, {"SIZE", g.row_taps}, {"LANES", lanes}});
  if (cpu && has_whole_slopes(problem)) define(plan, "WHOLE", 1);
  define_sub_group(device, plan);
  define_group(plan);
  const auto count = real(g.row_taps * g.row_taps);
  // Comparisons, or additions and products.
  plan.prediction.operations = real(g.elements()) * (problem.op == WindowOp::gradient ? 4 * count
                                                     : g.row_taps == 3                ? 38
                                                     : in_pairs                       ? 161
                                                                                      : 2 * 132);
  plan.reason = formatted("{} windows of {} elements at a time in {}", lanes, g.row_taps * g.row_taps,
                          cpu ? "vectors, along whole rows" : "registers");
  return plan;
}

std::vector<std::string_view> preference(const Device& device, const WindowProblem& problem,
                                         const PlanOverrides& /*fixed*/) {
  const WindowPolicy& policy = window_policy(device);
  if (problem.op == WindowOp::gradient) {
    const SeparableProblem& g = problem.grids;
    const bool is_small = g.in == Scalar::float64 && g.row_taps == 3 && g.channels == 1;
    if (policy.marches && !is_small) return {"cpu", "march", "registers"};
    return {"cpu", "registers"};
  }
  const bool is_large = problem.grids.row_taps == kShared;
  if (policy.tiles && !(is_large && problem.grids.in == Scalar::float64))  // which spills registers
    return {"cpu", "tiles", "columns", "registers"};
  if (policy.shares_columns) return {"cpu", "columns", "registers"};
  return {"cpu", "registers"};
}

std::string why_not(const Device& /*device*/, const WindowProblem& /*problem*/, std::string_view variant,
                    const Plan& chosen) {
  if (variant == "registers" && (chosen.variant == "columns" || chosen.variant == "tiles"))
    return "it sorts again what neighbouring windows share";
  if (variant == "columns" && chosen.variant == "tiles")
    return "it sorts again what windows above one another share";
  if (variant == "registers" && chosen.variant == "march")
    return "it multiplies each row again for every window that has it";
  if (variant == "columns" || variant == "tiles" || variant == "march") return "not measured on this device";
  return "a CPU's vectors hold more than a work-item's";
}

const Evidence& evidence(const Device& device, const WindowProblem& problem, const Plan& /*plan*/) {
  const WindowPolicy& policy = window_policy(device);
  return problem.op == WindowOp::gradient ? policy.of_gradients : policy.evidence;
}

constexpr Operation<WindowProblem> kWindow{.what = "filter",
                                           .name = operation_of,
                                           .variants = window_variants,
                                           .check = check_window,
                                           .preference = preference,
                                           .attempt = plan_variant,
                                           .why_not = why_not,
                                           .evidence = evidence,
                                           .one_work_item = "",
                                           .with_tile = {"tiles"}};

}  // namespace

std::vector<std::string_view> window_variants() { return {"registers", "columns", "tiles", "march", "cpu"}; }

void plan::check_window(const Device& device, const WindowProblem& problem) {
  require_known("blur", "op", problem.op, WindowOp::gradient);
  const SeparableProblem& g = problem.grids;
  check_grids(operation_of(problem), device, g);
  if ((g.row_taps != 3 && g.row_taps != 5) || g.column_taps != g.row_taps)
    refuse(operation_of(problem), "size", "3 or 5", formatted("{}", g.row_taps));
  if (problem.op == WindowOp::median && g.out == Scalar::int16)
    refuse(operation_of(problem), "out", formatted("{} or float32", name_of(g.in)), "int16");
}

Plan plan_window(const Device& device, const WindowProblem& problem, const PlanOverrides& overrides) {
  return plan_call(kWindow, operation_of(problem), problem.grids.in, device, problem, overrides);
}

}  // namespace smem
