// What plans of conv2d have in common, and "cpu" where each channel has a filter of its own: it reads rows
// where they lie.
#include "plan/conv2d_policy.hpp"
#include "plan/conv2d_variants.hpp"

#include "formatted.hpp"
#include "plan/matrix_unit.hpp"
#include "plan/pixels.hpp"

#include <algorithm>
#include <bit>

namespace smem {

Plan plan::conv2d::base_plan(const Conv2dProblem& p, std::string_view variant, const char* file,
                             const char* entry, std::size_t pack) {
  Plan plan = named_plan(plan::conv2d::kOperation, variant, file, entry);
  plan.text_defines.emplace_back("ELEMENT", opencl_name_of(p.type));
  plan.text_defines.emplace_back("RESULT", opencl_name_of(p.out));
  plan.text_defines.emplace_back("VALUE", opencl_name_of(sums_of(p.type)));
  define(plan, "PACK", pack);
  if (p.type == Scalar::half) define(plan, "ELEMENT_HALF", 1);
  if (p.out == Scalar::half) define(plan, "RESULT_HALF", 1);
  if (p.type == Scalar::bfloat16) define(plan, "ELEMENT_BFLOAT16", 1);
  if (p.out == Scalar::bfloat16) define(plan, "RESULT_BFLOAT16", 1);
  if (p.type == Scalar::int8) define(plan, "WHOLE_SUMS", 1);
  if (p.type == Scalar::float64) define(plan, "USE_DOUBLE", 1);
  if (p.activation != Activation::none) define(plan, "ACTIVATION", static_cast<std::size_t>(p.activation));
  return plan;
}

void plan::conv2d::predict(const Conv2dProblem& p, Plan& plan) {
  const double bytes = real(size_of(p.type)), out_bytes = real(size_of(p.out)), images = real(p.images);
  const double results = images * real(p.out_channels) * real(p.plane_results());
  plan.prediction.bytes_read = bytes * (images * real(p.in_channels) * real(p.width) * real(p.height) +
                                        real(p.out_channels, p.depth()));
  if (p.bias) plan.prediction.bytes_read += out_bytes * real(p.out_channels);
  plan.prediction.bytes_written = out_bytes * results;
  operations_of_product(plan.prediction) = 2 * results * real(p.depth());
}

bool plan::conv2d::is_by_rows(const Device& device, const Conv2dProblem& p) {
  const CpuPolicy& policy = policy_of(device).cpu;
  return p.group_channels() == 1 && p.group_filters() == 1 && p.taps() <= policy.most_taps &&
         p.stride.x <= 2 && p.out_width >= policy.columns_a_weight * (p.window.width - 1) &&
         (p.type == Scalar::float32 || p.type == Scalar::float64);  // others are converted one by one
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

bool plan::conv2d::is_depthwise(const Conv2dProblem& p) {
  return p.group_channels() == 1 && p.group_filters() == 1;
}

namespace {

/// Why registers cannot have the windows of a depthwise convolution; empty: they can.
std::string no_depthwise(const Device& device, const Conv2dProblem& p) {
  const plan::conv2d::DepthwisePolicy& policy = plan::conv2d::policy_of(device).depthwise;
  if (!plan::conv2d::is_depthwise(p)) return "needs one channel and one filter in each group";
  if (device.vendor == Vendor::intel && device.type == DeviceType::gpu)
    return "Intel's compiler keeps its rows in memory";
  if (p.taps() > policy.most_taps || std::max(p.stride.x, p.stride.y) > policy.most_stride ||
      p.dilation.x != 1 || p.dilation.y != 1) {
    return formatted(
        "keeps windows of at most {} weights, {} apart at most and without dilation, in registers",
        policy.most_taps, policy.most_stride);
  }
  return {};
}

}  // namespace

plan::Attempt plan::conv2d::depthwise(const Device& device, const Conv2dProblem& p) {
  if (std::string reason = no_depthwise(device, p); !reason.empty()) return reason;
  const DepthwisePolicy& policy = policy_of(device).depthwise;
  const bool wide = p.type == Scalar::float64;
  const std::size_t each_x = policy.each_x;
  const std::size_t each_y =
      std::min(wide || p.activation == Activation::gelu ? policy.each_y_of_wide : policy.each_y,
               std::bit_ceil(at_least_1(p.out_height)));
  Plan plan = base_plan(p, "depthwise", "conv2d/depthwise.cl", "conv2d_depthwise");
  predict(p, plan);
  set_grid(plan, device, policy_of(device).group,
           {at_least_1(divide_up(p.out_width, each_x) * divide_up(p.out_height, each_y)), 1,
            at_least_1(p.images * p.groups)});
  define_group(plan);
  const bool packs =
      each_x == 4 && p.out_packed && p.out_width % 4 == 0 && p.out_alignment >= 4 * size_of(p.out);
  define(plan, {{"WINDOW_W", p.window.width},
                {"WINDOW_H", p.window.height},
                {"STRIDE_X", p.stride.x},
                {"STRIDE_Y", p.stride.y},
                {"EACH_X", each_x},
                {"EACH_Y", each_y},
                {"PACK_OUT", packs ? 4 : 1}});
  plan.tile_rows = each_y;
  plan.tile_cols = each_x;
  plan.vector_width = packs ? 4 : 1;
  plan.items_per_work_item = each_x * each_y;
  plan.reason =
      formatted("a channel and a filter a group: {} x {} results a work-item in registers", each_x, each_y);
  return plan;
}

}  // namespace smem
