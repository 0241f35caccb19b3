// What plans of conv2d have in common, and "cpu" where each channel has a filter of its own: it reads rows
// where they lie.
#include "plan/conv2d_policy.hpp"
#include "plan/conv2d_variants.hpp"

#include "formatted.hpp"
#include "plan/pixels.hpp"

#include <algorithm>

namespace smem {

Plan plan::conv2d::base_plan(const Conv2dProblem& p, std::string_view variant, const char* file,
                             const char* entry, std::size_t pack) {
  Plan plan = named_plan(plan::conv2d::kOperation, variant, file, entry);
  plan.text_defines.emplace_back("ELEMENT", opencl_name_of(p.type));
  plan.text_defines.emplace_back("RESULT", opencl_name_of(p.type));
  plan.text_defines.emplace_back("VALUE", opencl_name_of(plan::pixel_value(p.type, p.type)));
  define(plan, "PACK", pack);
  if (p.type == Scalar::half) {
    define(plan, {{"ELEMENT_HALF", 1}, {"RESULT_HALF", 1}});
  }
  if (p.type == Scalar::float64) define(plan, "USE_DOUBLE", 1);
  if (p.activation != Activation::none) define(plan, "ACTIVATION", static_cast<std::size_t>(p.activation));
  return plan;
}

void plan::conv2d::predict(const Conv2dProblem& p, Plan& plan) {
  const double bytes = real(size_of(p.type)), images = real(p.images);
  const double results = images * real(p.out_channels) * real(p.plane_results());
  plan.prediction.bytes_read = bytes * (images * real(p.in_channels) * real(p.width) * real(p.height) +
                                        real(p.out_channels, p.depth() + (p.bias ? 1 : 0)));
  plan.prediction.bytes_written = bytes * results;
  plan.prediction.operations = 2 * results * real(p.depth());
}

bool plan::conv2d::is_by_rows(const Device& device, const Conv2dProblem& p) {
  const CpuPolicy& policy = policy_of(device).cpu;
  return p.group_channels() == 1 && p.group_filters() == 1 && p.taps() <= policy.most_taps &&
         p.stride.x <= 2 && p.out_width >= policy.columns_a_weight * (p.window.width - 1) &&
         p.type != Scalar::half;  // whose vectors are converted one by one
}

plan::Attempt plan::conv2d::by_rows(const Device& device, const Conv2dProblem& p) {
  Plan plan = base_plan(p, "cpu", "conv2d/depthwise_cpu.cl", "conv2d_depthwise_cpu");
  predict(p, plan);
  // As many as a register of 32 bytes has: PoCL's vectors of 64 bytes are no faster here.
  const std::size_t lanes = std::clamp<std::size_t>(device.vector_bytes, 16, 32) / size_of(p.type);
  const std::size_t band =
      cpu_band(device, at_least_1(p.out_height), p.images * p.groups, p.window.height - 1);
  const std::size_t jobs = p.images * p.groups * divide_up(at_least_1(p.out_height), band);
  set_groups(plan, 1, jobs);
  define(plan, {{"LANES", lanes},
                {"WINDOW_W", p.window.width},
                {"WINDOW_H", p.window.height},
                {"STRIDE_X", p.stride.x}});
  plan.numbers = {{"block_k", 1}, {"tile_w", 1}, {"tile_h", band}, {"depth", 1}};
  plan.tile_rows = band;
  plan.tile_cols = p.out_width;
  plan.vector_width = lanes;
  plan.items_per_work_item = band * p.out_width;
  plan.reason = formatted(
      "a channel and a filter a group: a thread makes {} rows of a plane, {} results at a time", band, lanes);
  return plan;
}

}  // namespace smem
