// Plans for mirror images and rotation by 180 degrees: copies with rows or columns backwards.
#include <smem/flip_plan.hpp>

#include "formatted.hpp"
#include "plan/flip_policy.hpp"
#include "plan/variants.hpp"

namespace smem {

namespace {

using namespace plan;

void check(const Device& /*device*/, const FlipProblem& problem) {
  require_element("flip", problem.element_bytes);
  require_elements("flip", "in", {problem.rows, problem.cols, problem.batch});
}

std::vector<std::string_view> preference(const Device& device, const FlipProblem& problem,
                                         const PlanOverrides& /*fixed*/) {
  return {problem.element_bytes <= flip_policy(device).most_element_bytes ? "vector" : "items"};
}

Attempt plan_variant(const Device& device, const FlipProblem& problem, const PlanOverrides& fixed,
                     std::string_view variant) {
  const FlipPolicy& policy = flip_policy(device);
  const std::size_t wanted = group_wanted(fixed, policy.group);
  const bool vector = variant == "vector";
  const std::size_t width =
      vector ? std::max<std::size_t>(2, policy.vector_bytes / problem.element_bytes) : 1;
  const std::array<std::size_t, 3> extent{divide_up(problem.cols, width), problem.rows, problem.batch};
  const auto group = shape_group(device, wanted, wanted, extent);
  const std::size_t groups =
      divide_up(extent[0], group[0]) * divide_up(extent[1], group[1]) * divide_up(extent[2], group[2]);
  if (groups > kMaxTiles) {
    refuse("flip", "in", formatted("a batch that needs at most {} work-groups", kMaxTiles),
           formatted("{} matrices of {} x {}, which need {}", problem.batch, problem.rows, problem.cols,
                     groups));
  }
  Plan plan = named_plan("flip", variant, "flip.cl", "flip");
  plan.reason =
      vector ? "a run of neighbours is reversed in registers" : "neighbouring work-items move neighbours";
  plan.work_group = group;
  plan.global = {groups * group[0], group[1], group[2]};
  plan.vector_width = plan.items_per_work_item = width;
  plan.tile_rows = group[1];
  plan.tile_cols = group[0] * width;
  define(plan,
         {{"ELEMENT_BYTES", problem.element_bytes}, {"WIDTH", width}, {"REVERSE", problem.reverse_cols}});
  define_group(plan);
  plan.prediction.bytes_read = plan.prediction.bytes_written =
      real(problem.element_bytes, problem.rows, problem.cols, problem.batch);
  return plan;
}

std::string why_not(const Device& device, const FlipProblem& /*problem*/, std::string_view variant,
                    const Plan& /*chosen*/) {
  if (variant == "vector") return "elements of 16 bytes are vectors by themselves";
  if (device.type == DeviceType::cpu)
    return "a CPU runs single elements one by one, and reverses runs in registers";
  return "a work-item has one element under way";
}

const Evidence& evidence(const Device& device, const FlipProblem& /*problem*/, const Plan& /*plan*/) {
  return flip_policy(device).evidence;
}

constexpr Operation<FlipProblem> kFlip{.what = "copy",
                                       .name = [](const FlipProblem&) { return "flip"; },
                                       .variants = flip_variants,
                                       .check = check,
                                       .preference = preference,
                                       .attempt = plan_variant,
                                       .why_not = why_not,
                                       .evidence = evidence,
                                       .one_work_item = nullptr};  // groups are as large as the matrix

}  // namespace

std::vector<std::string_view> flip_variants() { return {"items", "vector"}; }

Plan plan_flip(const Device& device, const FlipProblem& problem, const PlanOverrides& overrides) {
  return plan_call(kFlip, "flip", formatted("{} B", problem.element_bytes), device, problem, overrides);
}

}  // namespace smem
