// Plans for what small windows hold: medians and gradients.
#include <smem/blur_plan.hpp>
#include <smem/error.hpp>

#include "formatted.hpp"
#include "plan/broken.hpp"
#include "plan/filters.hpp"
#include "plan/pixels.hpp"
#include "plan/sizes.hpp"
#include "plan/window_policy.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace smem {

namespace {

using plan::define;
using plan::divide_up;

const char* operation_of(const WindowProblem& problem) {
  return problem.op == WindowOp::median ? "median_blur" : "sobel";
}

[[noreturn]] void refuse(const WindowProblem& problem, const char* argument, std::string expected,
                         std::string got) {
  throw Error({.operation = operation_of(problem),
               .argument = argument,
               .expected = std::move(expected),
               .got = std::move(got)});
}

Plan make_plan(const Device& device, const WindowProblem& problem, bool cpu) {
  const SeparableProblem& g = problem.grids;
  Plan plan;
  plan.operation = operation_of(problem);
  plan.variant = cpu ? "cpu" : "registers";
  plan.kernel_file = "blur/window.cl";
  plan.entry_point = "window";
  plan::define_pixels(plan, g.in, g.out, g.boundary, g.channels);
  plan::define_folds(plan, g.boundary, g.row_taps / 2, g.width, g.row_taps / 2, g.height);
  const plan::WindowPolicy& policy = plan::window_policy(device);
  const std::size_t lanes = cpu ? policy.thread_lanes : policy.lanes;
  const std::size_t band = cpu ? plan::cpu_band(device, g.height, g.planes, g.row_taps - 1) : 1;
  const std::array<std::size_t, 3> extent{cpu ? 1 : divide_up(g.row_elements(), lanes),
                                          divide_up(g.height, band), g.planes};
  plan.work_group =
      cpu ? std::array<std::size_t, 3>{1, 1, 1} : plan::shape_group(device, policy.group, 64, extent);
  plan.global = plan::global_size(extent, plan.work_group);
  plan.vector_width = plan.items_per_work_item = lanes;
  plan.numbers = {{"band", band}};
  define(plan, "OPERATION", static_cast<std::size_t>(problem.op));
  define(plan, "SIZE", g.row_taps);
  define(plan, "LANES", lanes);
  // With sub-groups of 32, its compiler leaves the windows in memory.
  if (device.vendor == Vendor::intel && device.architecture.starts_with("pvc"))
    define(plan, "INTEL_SUB_GROUP", 16);
  for (const auto& [name, size] : {std::pair{"GROUP_0", plan.work_group[0]},
                                   {"GROUP_1", plan.work_group[1]},
                                   {"GROUP_2", plan.work_group[2]}})
    define(plan, name, size);
  const auto elements = static_cast<double>(g.elements());
  const auto count = static_cast<double>(g.row_taps * g.row_taps);
  plan.prediction.bytes_read = elements * static_cast<double>(size_of(g.in));
  plan.prediction.bytes_written = elements * static_cast<double>(size_of(g.out));
  // Comparisons, or additions and products.
  plan.prediction.operations = elements * (problem.op == WindowOp::gradient ? 4 * count
                                           : g.row_taps == 3                ? 38
                                                                            : 2 * 113);
  plan.reason = formatted("{} windows of {} elements at a time in {}", lanes, g.row_taps * g.row_taps,
                          cpu ? "vectors, along whole rows" : "registers");
  return plan;
}

}  // namespace

std::vector<std::string_view> window_variants() { return {"registers", "cpu"}; }

void plan::check_window(const Device& device, const WindowProblem& problem) {
  plan::require_known("blur", "op", problem.op, WindowOp::gradient);
  const SeparableProblem& g = problem.grids;
  plan::check_pixels(operation_of(problem), device, g.in, g.out, g.channels);
  plan::require_known(operation_of(problem), "boundary", g.boundary);
  plan::require_elements(operation_of(problem), "in", {g.width, g.channels, g.height, g.planes});
  if ((g.row_taps != 3 && g.row_taps != 5) || g.column_taps != g.row_taps)
    refuse(problem, "size", "3 or 5", formatted("{}", g.row_taps));
  if (problem.op == WindowOp::median && g.out == Scalar::int16)
    refuse(problem, "out", formatted("{} or float32", name_of(g.in)), "int16");
}

namespace {

/// Why `variant` was not chosen.
std::string why_not(const Device& device, const WindowProblem& /*problem*/, std::string_view variant,
                    const Plan& /*chosen*/) {
  return variant == "cpu" ? plan::no_cpu_variant(device) : "a CPU's vectors hold more than a work-item's";
}

/// The plan on a device whose driver breaks nothing.
Plan plan_here(const Device& device, const WindowProblem& problem, const PlanOverrides& overrides) {
  const char* operation = operation_of(problem);
  plan::check_window(device, problem);
  const auto names = window_variants();
  plan::require_choice(operation, overrides, names);
  if (overrides.work_items != 0) refuse(problem, "work_items", "none: the shape of the grid decides", "one");
  const bool can = plan::runs_cpu_variant(device);
  const bool cpu = overrides.variant.empty() ? can : overrides.variant == "cpu";
  if (cpu && !can) {
    refuse(problem, "variant", "one that can run this on this device",
           formatted("\"cpu\" on {}: {}", device.name, plan::no_cpu_variant(device)));
  }
  Plan plan = make_plan(device, problem, cpu);
  plan.evidence = plan::window_policy(device).evidence.text(device);
  plan::note_choice(plan, overrides, names, device, problem, why_not);
  return plan;
}

}  // namespace

Plan plan_window(const Device& device, const WindowProblem& problem, const PlanOverrides& overrides) {
  return plan::Broken(device, operation_of(problem), problem.grids.in)
      .plan(window_variants(), overrides,
            [&](const PlanOverrides& fixed) { return plan_here(device, problem, fixed); });
}

}  // namespace smem
