// Plans for mirror images and rotation by 180 degrees: copies with rows or columns backwards.
#include <smem/error.hpp>
#include <smem/flip_plan.hpp>

#include "formatted.hpp"
#include "plan/broken.hpp"
#include "plan/sizes.hpp"

#include <algorithm>
#include <bit>

namespace smem {

std::vector<std::string_view> flip_variants() { return {"items", "vector"}; }

namespace {

/// Why the one variant was not chosen, against the other that was.
std::string why_not(const Device& device, const FlipProblem& /*problem*/, std::string_view variant,
                    const Plan& /*chosen*/) {
  if (variant == "vector") return "elements of 16 bytes are vectors by themselves";
  if (device.type == DeviceType::cpu)
    return "a CPU runs single elements one by one, and reverses runs in registers";
  return "a work-item has one element under way";
}

/// The plan on a device whose driver breaks nothing.
Plan make_plan(const Device& device, const FlipProblem& problem, const PlanOverrides& overrides) {
  ++plan::plans_made();
  plan::require_element("flip", problem.element_bytes);
  plan::require_elements("flip", "in", {problem.rows, problem.cols, problem.batch});
  const std::string_view variant = overrides.variant;
  if (!variant.empty() && variant != "items" && variant != "vector") {
    throw Error({.operation = "flip",
                 .argument = "variant",
                 .expected = formatted("one of {}", joined(flip_variants())),
                 .got = formatted("\"{}\"", variant)});
  }
  const auto none = [](const char* field, bool fixed, const char* what) {
    if (!fixed) return;
    throw Error({.operation = "flip",
                 .argument = field,
                 .expected = "none: flip has no tile in local memory",
                 .got = what});
  };
  none("tile_rows", overrides.tile_rows != 0, "a height");
  none("tile_cols", overrides.tile_cols != 0, "a width");
  none("layout", overrides.layout != LayoutChoice{}, "a layout");
  // On the H200, 16384 x 16384 floats, both ways: groups of 128 0.513 ms, 256 0.522, 512 0.546, 64 0.643.
  const std::size_t usual = plan::is_nvidia_gpu(device) ? 128 : 256;
  const std::size_t wanted = overrides.work_items != 0 ? overrides.work_items : usual;
  if (!std::has_single_bit(wanted) || (overrides.work_items != 0 && wanted > device.max_work_group)) {
    throw Error({.operation = "flip",
                 .argument = "work_items",
                 .expected = formatted("a power of two, at most {}", device.max_work_group),
                 .got = std::to_string(wanted)});
  }
  // A CPU's compiler turns a run of a work-item's own elements into vectors. A GPU's first-level cache joins
  // runs of 16 bytes, and more bytes are under way at once: on the H200 twice as fast as single floats.
  const bool vector =
      variant.empty() ? device.type == DeviceType::cpu || problem.element_bytes < 16 : variant == "vector";
  const std::size_t width = vector ? std::max<std::size_t>(2, 16 / problem.element_bytes) : 1;

  Plan plan;
  plan.operation = "flip";
  plan.variant = vector ? "vector" : "items";
  plan.reason =
      vector ? "a run of neighbours is reversed in registers" : "neighbouring work-items move neighbours";
  plan.kernel_file = "flip.cl";
  plan.entry_point = "flip";
  const std::array<std::size_t, 3> extent{plan::divide_up(problem.cols, width), problem.rows, problem.batch};
  plan.work_group = plan::shape_group(device, wanted, wanted, extent);
  const std::size_t groups = plan::divide_up(extent[0], plan.work_group[0]) *
                             plan::divide_up(extent[1], plan.work_group[1]) *
                             plan::divide_up(extent[2], plan.work_group[2]);
  if (groups > plan::kMaxTiles) {
    throw Error({.operation = "flip",
                 .argument = "in",
                 .expected = formatted("a batch that needs at most {} work-groups", plan::kMaxTiles),
                 .got = formatted("{} matrices of {} x {}, which need {}", problem.batch, problem.rows,
                                  problem.cols, groups)});
  }
  plan.global = {groups * plan.work_group[0], plan.work_group[1], plan.work_group[2]};
  plan.vector_width = plan.items_per_work_item = width;
  plan.tile_rows = plan.work_group[1];
  plan.tile_cols = plan.work_group[0] * width;
  plan.defines = {{"ELEMENT_BYTES", static_cast<long>(problem.element_bytes)},
                  {"WIDTH", static_cast<long>(width)},
                  {"REVERSE", problem.reverse_cols ? 1 : 0},
                  {"GROUP_0", static_cast<long>(plan.work_group[0])},
                  {"GROUP_1", static_cast<long>(plan.work_group[1])},
                  {"GROUP_2", static_cast<long>(plan.work_group[2])}};
  const double bytes = static_cast<double>(problem.element_bytes) * static_cast<double>(problem.rows) *
                       static_cast<double>(problem.cols) * static_cast<double>(problem.batch);
  plan.prediction.bytes_read = plan.prediction.bytes_written = bytes;
  if (family_of(device) == "nvidia-hopper")
    plan.evidence = "H200, 16384 x 16384 floats: 0.98 of copy; single elements 0.47";
  plan::note_choice(plan, overrides, flip_variants(), device, problem, why_not);
  return plan;
}

}  // namespace

Plan plan_flip(const Device& device, const FlipProblem& problem, const PlanOverrides& overrides) {
  return plan::Broken(device, "flip", formatted("{} B", problem.element_bytes))
      .plan(flip_variants(), overrides,
            [&](const PlanOverrides& fixed) { return make_plan(device, problem, fixed); });
}

}  // namespace smem
