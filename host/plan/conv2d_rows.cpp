// What plans of conv2d have in common, and planes of which each has a filter of its own: "cpu", which reads
// rows where they lie, and "depthwise" of GPUs.
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
std::string no_depthwise(const Device& device, const Conv2dProblem& p, std::size_t most_taps) {
  const plan::conv2d::DepthwisePolicy& policy = plan::conv2d::policy_of(device).depthwise;
  if (!plan::conv2d::is_depthwise(p)) return "needs one channel and one filter in each group";
  if (device.vendor == Vendor::intel && device.type == DeviceType::gpu)
    return "Intel's compiler keeps its rows in memory";
  if (p.taps() > most_taps || std::max(p.stride.x, p.stride.y) > policy.most_stride || p.dilation.x != 1 ||
      p.dilation.y != 1) {
    return formatted(
        "keeps windows of at most {} weights, {} apart at most and without dilation, in registers", most_taps,
        policy.most_stride);
  }
  return {};
}

using namespace plan;

/// Elements of a vector, of which all rows of the input and of results have whole numbers, each under as many
/// results; 1: none.
std::size_t vector_of_rows(const plan::conv2d::DepthwisePolicy& policy, const Conv2dProblem& p) {
  constexpr std::size_t kWholeVectors = 8;  // elements
  const std::size_t bytes = size_of(p.type);
  if (!p.in_packed || bytes > 4 || p.activation == Activation::gelu || p.padding.left >= p.window.width ||
      p.taps() > policy.vectors_taps)
    return 1;
  if (p.out_width % kWholeVectors != 0 &&
      p.out_width * bytes < std::min(policy.vectors_bytes, policy.vectors_width * bytes))
    return 1;
  for (const std::size_t pack : {8U, 4U}) {
    if (pack * bytes <= 16 && p.out_width % pack == 0 && p.width % pack == 0 &&
        p.in_alignment >= pack * bytes && p.width >= p.out_width * p.stride.x)
      return pack;
  }
  return 1;
}

/// Rows of results of a work-item, whose sums and the rows that they see stay in registers.
std::size_t rows_of_vectors(const plan::conv2d::DepthwisePolicy& policy, const Conv2dProblem& p,
                            std::size_t pack) {
  for (std::size_t rows = policy.vectors_results / pack; rows > 1; --rows) {
    const std::size_t lines = (rows - 1) * p.stride.y + p.window.height;
    const std::size_t line = pack * p.stride.x + p.window.width - 1;
    if (lines * line + rows * pack + p.taps() <= policy.vectors_registers) return rows;
  }
  return 1;
}

/// Results of a work-item of cl/conv2d/depthwise_planes.cl, and what a group has: rows of results, planes.
struct PlaneTile {
  std::size_t each_x, each_y;
  std::size_t rows = 0, planes = 1, group = 0;
  std::size_t in_vectors = 0, out_vectors = 0;  ///< of local memory

  std::size_t local_bytes() const {
    return size_product(in_vectors + out_vectors, plan::conv2d::kPlaneVector);
  }
};

PlaneTile plane_tile_of(const Device& device, const Conv2dProblem& p) {
  const plan::conv2d::DepthwisePolicy& policy = plan::conv2d::policy_of(device).depthwise;
  const bool is_wide = p.type == Scalar::float64 || p.activation == Activation::gelu;
  const bool is_short =
      size_of(p.type) == 2 && p.taps() <= policy.vectors_taps && p.stride.x * p.stride.y == 1 && !is_wide;
  PlaneTile t{.each_x = is_short ? policy.planes_x_of_short : policy.planes_x,
              .each_y = is_wide ? policy.planes_y_of_wide : policy.planes_y};
  // Of the rows that leave the fewest places of the last ones empty, the most.
  for (std::size_t rows = t.each_y; rows > t.each_y / 2; --rows)
    if (round_up(p.out_height, rows) < round_up(p.out_height, t.each_y)) t.each_y = rows;
  const std::size_t most = std::min(policy.planes_group, at_least_1(device.max_work_group));
  const std::size_t across = divide_up(p.out_width, t.each_x), down = divide_up(p.out_height, t.each_y);
  const std::size_t bands = divide_up(down, at_least_1(most / across)), of_band = divide_up(down, bands);
  t.rows = std::min(of_band * t.each_y, p.out_height);
  const std::size_t in_row = p.width * size_of(p.type), out_row = p.out_width * size_of(p.out);
  const std::size_t in_rows =
      bands > 1 ? std::min(p.height, (t.rows - 1) * p.stride.y + p.window.height) : p.height;
  const auto vectors = [](std::size_t bytes) { return divide_up(bytes, plan::conv2d::kPlaneVector) + 1; };
  const auto fill = [&](std::size_t planes) {
    t.planes = planes;
    t.in_vectors = vectors(size_product(planes, in_rows, in_row));
    t.out_vectors = vectors(size_product(planes, t.rows, out_row));
  };
  fill(1);
  const std::size_t all = size_product(p.images, p.groups);
  for (std::size_t planes = 2; bands == 1 && planes * across * down <= most; ++planes) {
    if (p.groups % planes != 0 || all / planes < policy.planes_rounds * device.compute_units) continue;
    const PlaneTile before = t;
    fill(planes);
    if (t.local_bytes() > policy.planes_bytes) t = before;
  }
  t.group = std::min(round_up(t.planes * across * of_band, 32), most);
  return t;
}

}  // namespace

plan::Attempt plan::conv2d::depthwise_planes(const Device& device, const Conv2dProblem& p) {
  const DepthwisePolicy& policy = policy_of(device).depthwise;
  const bool is_wide = p.type == Scalar::float64 || p.activation == Activation::gelu;
  const std::size_t most_taps = is_wide ? policy.most_taps : policy.planes_taps;
  if (std::string reason = no_depthwise(device, p, most_taps); !reason.empty()) return reason;
  if (!p.in_packed || !p.out_packed) return "copies rows that follow each other without gaps";
  if (vector_of_rows(policy, p) > 1) return "its rows are read by vectors where they lie";
  if (std::min({p.images, p.groups, p.plane_results()}) == 0 || p.width * p.height == 0)
    return "has no results";
  const PlaneTile t = plane_tile_of(device, p);
  if (t.local_bytes() > local_room(device)) return "its rows fit no local memory";
  const std::size_t jobs =
      size_product(size_product(p.images, p.groups) / t.planes, divide_up(p.out_height, t.rows));
  if (jobs > kMaxTiles || size_product(p.images, p.groups) > kMost32)
    return "more planes than a launch can have";
  Plan plan = base_plan(p, "depthwise", "conv2d/depthwise_planes.cl", "conv2d_depthwise_planes");
  predict(p, plan);
  set_groups(plan, t.group, jobs);
  define(plan, {{"WINDOW_W", p.window.width},
                {"WINDOW_H", p.window.height},
                {"STRIDE_X", p.stride.x},
                {"STRIDE_Y", p.stride.y},
                {"EACH_X", t.each_x},
                {"EACH_Y", t.each_y},
                {"GROUP", t.group},
                {"CELLS", t.in_vectors},
                {"RESULTS", t.out_vectors}});
  plan.numbers = {{"block_k", t.planes}, {"tile_h", t.rows}};
  set_group_tile(plan, {.rows = t.each_y,
                        .cols = t.each_x,
                        .vector_width = kPlaneVector / size_of(p.type),
                        .items = t.each_x * t.each_y,
                        .local_bytes = t.local_bytes()});
  plan.reason = formatted(
      "a channel and a filter a group: {} plane(s) of {} row(s) of results in local memory as they lie, {} x "
      "{} results a work-item in registers",
      t.planes, t.rows, t.each_x, t.each_y);
  return plan;
}

plan::Attempt plan::conv2d::depthwise(const Device& device, const Conv2dProblem& p) {
  const DepthwisePolicy& policy = policy_of(device).depthwise;
  if (std::string reason = no_depthwise(device, p, policy.most_taps); !reason.empty()) return reason;
  const bool wide = p.type == Scalar::float64;
  const std::size_t pack = vector_of_rows(policy, p);
  const std::size_t each_x = pack > 1 ? pack : policy.each_x;
  const std::size_t each_y =
      pack > 1 ? rows_of_vectors(policy, p, pack)
               : std::min(wide || p.activation == Activation::gelu ? policy.each_y_of_wide : policy.each_y,
                          std::bit_ceil(at_least_1(p.out_height)));
  Plan plan = base_plan(p, "depthwise", "conv2d/depthwise.cl", "conv2d_depthwise", pack);
  predict(p, plan);
  const std::size_t items = at_least_1(size_product(
      size_product(p.images, p.groups), divide_up(p.out_width, each_x), divide_up(p.out_height, each_y)));
  if (items > kMost32) return "results that 32 bits do not count";
  const std::size_t wanted = policy_of(device).group,
                    group = shape_group(device, wanted, wanted, {items, 1, 1})[0];
  set_groups(plan, group, divide_up(items, group));
  define(plan, "GROUP", group);
  const bool packs =
      each_x % 4 == 0 && p.out_packed && p.out_width % 4 == 0 && p.out_alignment >= 4 * size_of(p.out);
  define(plan, {{"WINDOW_W", p.window.width},
                {"WINDOW_H", p.window.height},
                {"STRIDE_X", p.stride.x},
                {"STRIDE_Y", p.stride.y},
                {"EACH_X", each_x},
                {"EACH_Y", each_y},
                {"PACK_OUT", packs ? 4 : 1}});
  if (pack > 1) define(plan, {{"VECTORS", 1}, {"PAD_LEFT", p.padding.left}});
  plan.tile_rows = each_y;
  plan.tile_cols = each_x;
  plan.vector_width = std::max<std::size_t>(pack, packs ? 4 : 1);
  plan.items_per_work_item = each_x * each_y;
  plan.reason =
      formatted("a channel and a filter a group: {} x {} results a work-item in registers", each_x, each_y);
  return plan;
}

}  // namespace smem
