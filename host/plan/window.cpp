// Plans for what small windows hold: medians and gradients.
#include <smem/blur_plan.hpp>

#include "formatted.hpp"
#include "plan/filters.hpp"
#include "plan/pixels.hpp"
#include "plan/variants.hpp"
#include "plan/window_policy.hpp"

#include <string>

namespace smem {

namespace {

using namespace plan;

const char* operation_of(const WindowProblem& problem) {
  return problem.op == WindowOp::median ? "median_blur" : "sobel";
}

/// Medians of windows that share what they have in common.
Attempt columns(const Device& device, const WindowProblem& problem) {
  const SeparableProblem& g = problem.grids;
  constexpr std::size_t kSize = 5;
  if (problem.op != WindowOp::median || g.row_taps != kSize) return "for medians of 5 x 5";
  const WindowPolicy& policy = window_policy(device);
  if (policy.columns == 0) return "its columns would not stay in registers";
  const std::size_t cols = policy.columns;
  Plan plan = filter_plan(operation_of(problem), "columns", "blur/median_columns.cl", "median_columns", g,
                          kSize / 2, kSize / 2);
  const bool pairs = g.in == Scalar::half ? policy.pairs_of_halves : policy.pairs && size_of(g.in) <= 2;
  const bool shares = !pairs && policy.shares_rows && size_of(g.in) == 4;
  const std::size_t rows = pairs || shares ? 2 : 1;
  const std::array<std::size_t, 3> extent{divide_up(g.width, cols) * g.channels, divide_up(g.height, rows),
                                          g.planes};
  const std::size_t number = g.in == Scalar::float64 ? 8 : 4,
                    own = (kSize + (shares ? 1 : 0)) * (cols + kSize - 1) * number;
  const std::size_t group = group_for(device, policy.columns_group, own, kOwnBytes);
  if (group == 0) return no_tile_fits(device);
  plan.work_group = shape_group(device, group, 64, extent);
  plan.local_bytes = own * plan.work_items();
  plan.global = global_size(extent, plan.work_group);
  plan.vector_width = cols;
  plan.items_per_work_item = rows * cols;
  plan.numbers = {{"band", 1}};
  define(plan, "COLS", cols);
  if (pairs) define(plan, "PAIRS", 1);
  if (shares) define(plan, "SHARES", 1);
  if (pairs && is_nvidia_gpu(device) && compute_capability(device) >= 90)
    define(plan, "PAIR_INSTRUCTIONS", 1);
  constexpr std::size_t kVectorBytes = 16;
  const std::size_t stored = cols * size_of(g.out);
  if (stored <= kVectorBytes && g.out_alignment >= stored) define(plan, "VECTOR_OUT", 1);
  if (is_float(g.in) && g.in != Scalar::half) define(plan, "FLOATING_ELEMENT", 1);
  if (g.in_alignment >= cols * size_of(g.in)) define(plan, "ALIGNED", 1);
  define_group(plan);
  // Of a pair of windows: the exchanges of two columns and of merging two, and what is left.
  plan.prediction.operations =
      real(g.elements()) * (2 * 9 + 13 + (20 + 2 * (5 + 14)) / 2.0 + 10) / (pairs ? 2 : 1);
  plan.reason = formatted("{} windows of a row{}: columns are sorted once, and what pairs of windows share",
                          cols, pairs ? ", of two rows in the halves of words" : "");
  return plan;
}

Attempt plan_variant(const Device& device, const WindowProblem& problem, const PlanOverrides& fixed,
                     std::string_view variant) {
  const char* operation = operation_of(problem);
  if (fixed.work_items != 0) refuse(operation, "work_items", "none: the shape of the grid decides", "one");
  if (variant == "columns") return columns(device, problem);
  const bool cpu = variant == "cpu";
  if (cpu && !runs_cpu_variant(device)) return no_cpu_variant(device);
  const SeparableProblem& g = problem.grids;
  Plan plan = filter_plan(operation, variant, "blur/window.cl", "window", g, g.row_taps / 2, g.row_taps / 2);
  const WindowPolicy& policy = window_policy(device);
  const std::size_t lanes = cpu ? policy.thread_lanes : policy.lanes;
  const std::size_t band = cpu ? cpu_band(device, g.height, g.planes, g.row_taps - 1) : 1;
  const std::array<std::size_t, 3> extent{cpu ? 1 : divide_up(g.row_elements(), lanes),
                                          divide_up(g.height, band), g.planes};
  plan.work_group = cpu ? std::array<std::size_t, 3>{1, 1, 1} : shape_group(device, policy.group, 64, extent);
  plan.global = global_size(extent, plan.work_group);
  plan.vector_width = plan.items_per_work_item = lanes;
  plan.numbers = {{"band", band}};
  define(plan, {{"OPERATION", static_cast<std::size_t>(problem.op)}, {"SIZE", g.row_taps}, {"LANES", lanes}});
  define_sub_group(device, plan);
  define_group(plan);
  const auto count = real(g.row_taps * g.row_taps);
  // Comparisons, or additions and products.
  plan.prediction.operations = real(g.elements()) * (problem.op == WindowOp::gradient ? 4 * count
                                                     : g.row_taps == 3                ? 38
                                                                                      : 2 * 113);
  plan.reason = formatted("{} windows of {} elements at a time in {}", lanes, g.row_taps * g.row_taps,
                          cpu ? "vectors, along whole rows" : "registers");
  return plan;
}

std::vector<std::string_view> preference(const Device& device, const WindowProblem& /*problem*/,
                                         const PlanOverrides& /*fixed*/) {
  if (window_policy(device).shares_columns) return {"cpu", "columns", "registers"};
  return {"cpu", "registers"};
}

std::string why_not(const Device& /*device*/, const WindowProblem& /*problem*/, std::string_view variant,
                    const Plan& chosen) {
  if (variant == "registers" && chosen.variant == "columns")
    return "it sorts again what neighbouring windows share";
  if (variant == "columns") return "not measured on this device";
  return "a CPU's vectors hold more than a work-item's";
}

const Evidence& evidence(const Device& device, const WindowProblem& /*problem*/, const Plan& /*plan*/) {
  return window_policy(device).evidence;
}

constexpr Operation<WindowProblem> kWindow{.what = "filter",
                                           .name = operation_of,
                                           .variants = window_variants,
                                           .check = check_window,
                                           .preference = preference,
                                           .attempt = plan_variant,
                                           .why_not = why_not,
                                           .evidence = evidence,
                                           .one_work_item = ""};

}  // namespace

std::vector<std::string_view> window_variants() { return {"registers", "columns", "cpu"}; }

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
