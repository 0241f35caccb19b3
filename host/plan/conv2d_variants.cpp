// The variants of convolutions of many channels: their sizes, and what they predict.
#include "plan/conv2d_variants.hpp"
#include "plan/conv2d_layouts.hpp"
#include "plan/conv2d_policy.hpp"

#include "formatted.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace smem {

namespace {

using namespace plan;
using namespace plan::conv2d;

constexpr std::size_t kMostTileItems = std::size_t{1} << 60;  // of a tile: more than local memory has

/// The largest power of two, at most 64, that divides so many bytes.
std::size_t power_in(std::size_t bytes) { return std::size_t{1} << std::countr_zero(64 | bytes); }

Attempt naive(const Device& device, const Conv2dProblem& p) {
  Plan plan = conv2d::base_plan(p, "naive", "conv2d/naive.cl", "conv2d_naive");
  predict(p, plan);
  if (!is_planar(p)) {
    define(plan, {{"IN_INTERLEAVED", p.in_interleaved ? 1 : 0},
                  {"WEIGHTS_INTERLEAVED", p.weights_interleaved ? 1 : 0},
                  {"OUT_INTERLEAVED", p.out_interleaved ? 1 : 0}});
  }
  const std::size_t planes = at_least_1(p.images * p.out_channels);
  const std::array<std::size_t, 3> extent{at_least_1(p.out_width), at_least_1(p.out_height), planes};
  set_grid(plan, device, policy_of(device).group, extent);
  define_group(plan);
  plan.reason = "one result a work-item";
  return plan;
}

/// The tiles of "direct".
struct Tiles {
  std::size_t lanes_x = 1, lanes_y = 1, lanes_k = 1, each_x = 1, each_k = 1, depth = 1;

  std::size_t group() const { return lanes_x * lanes_y * lanes_k; }
  std::size_t block_w() const { return lanes_x * each_x; }
  std::size_t block_k() const { return lanes_k * each_k; }
  std::size_t tile_items(const Conv2dProblem& p) const {
    const std::size_t rows = (lanes_y - 1) * p.stride.y + (p.window.height - 1) * p.dilation.y + 1;
    const std::size_t cols = (block_w() - 1) * p.stride.x + (p.window.width - 1) * p.dilation.x + 1;
    const std::size_t items = size_product(depth, rows, round_up(cols, p.stride.x));
    return round_up(std::min(items, kMostTileItems), 8);  // what follows begins at 32 bytes
  }
  std::size_t weight_items(const Conv2dProblem& p) const {
    return round_up(depth * p.taps() * (block_k() + (block_k() > 8 ? 4 : 0)), 8);
  }
  std::size_t bytes(const Conv2dProblem& p) const {
    const std::size_t value = size_of(sums_of(p.type));
    return size_product(tile_items(p) + weight_items(p), value);
  }
  std::size_t jobs(const Conv2dProblem& p) const {
    return p.images * p.groups * divide_up(p.group_filters(), block_k()) * divide_up(p.out_height, lanes_y) *
           divide_up(p.out_width, block_w());
  }
};

std::optional<Tiles> tiles_for(const Device& device, const Conv2dProblem& p) {
  const DirectPolicy& policy = policy_of(device).direct;
  const std::size_t most = std::bit_floor(
      at_least_1(std::min({policy_of(device).group, device.max_work_group, device.max_work_items[0]})));
  const std::size_t filters = at_least_1(p.group_filters());
  const std::size_t width = at_least_1(p.out_width);
  Tiles t;
  const bool wide = p.type == Scalar::float64;
  t.each_k = std::min(std::bit_ceil(filters), wide ? policy.each_k_of_wide : policy.each_k);
  t.each_x = width >= policy.cols_for_4 || filters == 1 ? 4 : width >= policy.cols_for_2 ? 2 : 1;
  t.each_x = std::min(t.each_x, policy.results / t.each_k);
  if (wide) t.each_x = std::min(t.each_x, policy.each_x_of_wide);
  if (p.activation == Activation::gelu) t.each_x = std::min(t.each_x, policy.each_x_of_gelu);
  t.lanes_k = std::min({std::bit_ceil(divide_up(filters, t.each_k)), policy.lanes_k, most});
  t.lanes_x = std::min({std::bit_ceil(divide_up(width, t.each_x)), policy.lanes_x, most / t.lanes_k});
  t.lanes_y =
      std::min({std::bit_ceil(at_least_1(p.out_height)), policy.lanes_y, most / t.lanes_k / t.lanes_x});
  t.depth = std::clamp<std::size_t>(p.group_channels(), 1, policy.depth);
  const std::size_t own = std::min(device.local_bytes, kOwnBytes);
  const std::size_t room = device.local_bytes - own;
  const std::size_t wanted = std::min(room, policy.tile_bytes);
  while (t.bytes(p) > wanted && t.depth > 1)
    t.depth = divide_up(t.depth, 2);
  // A plane of the input alone needs more than wanted: whatever fits, then smaller pieces.
  while (t.bytes(p) > room) {
    std::size_t* const sizes[] = {&t.lanes_k, &t.lanes_y, &t.each_x, &t.lanes_x, &t.each_k};
    const auto more = std::find_if(std::begin(sizes), std::end(sizes), [](auto* size) { return *size > 1; });
    if (more == std::end(sizes)) return std::nullopt;
    **more /= 2;
  }
  // PoCL copies the code of a group of two instead of making a loop, and PoCL 3.1's compiler crashes on the
  // copies.
  if (device.type == DeviceType::cpu && t.group() == 2) t.lanes_x = t.lanes_y = t.lanes_k = 1;
  return t;
}

Attempt direct(const Device& device, const Conv2dProblem& p) {
  const std::optional<Tiles> found = tiles_for(device, p);
  if (!found) return formatted("no piece of the input fits {} bytes of local memory", device.local_bytes);
  const Tiles& t = *found;
  Plan plan = conv2d::base_plan(p, "direct", "conv2d/direct.cl", "conv2d_direct");
  predict(p, plan);
  const std::size_t jobs = t.jobs(p);
  set_groups(plan, t.group(), jobs);
  define(plan, {{"LANES_X", t.lanes_x},
                {"LANES_Y", t.lanes_y},
                {"LANES_K", t.lanes_k},
                {"EACH_X", t.each_x},
                {"EACH_K", t.each_k},
                {"DEPTH", t.depth},
                {"TILE_ITEMS", t.tile_items(p)},
                {"WEIGHT_ITEMS", t.weight_items(p)}});
  plan.tile_rows = t.lanes_y;
  plan.tile_cols = t.block_w();
  plan.items_per_work_item = t.each_x * t.each_k;
  plan.local_bytes = t.bytes(p);
  // Each product reads its factors' shares; each chunk of channels is written once.
  const double value = real(size_of(sums_of(p.type)));
  plan.prediction.local_bytes =
      plan.prediction.operations / 2 * value * (1 / real(t.each_x) + 1 / real(t.each_k)) +
      real(jobs, divide_up(p.group_channels(), t.depth), t.bytes(p));
  plan.reason = formatted(
      "{} x {} columns and rows of {} planes a group, {} results a work-item, {} channels in local memory at "
      "once",
      t.block_w(), t.lanes_y, t.block_k(), plan.items_per_work_item, t.depth);
  return plan;
}

/// Planes and vectors of columns that "cpu" has in registers.
struct Registers {
  std::size_t lanes = 8, vectors = 2, each_k = 8;
};
Registers registers_of(const Device& device, const Conv2dProblem& p) {
  const std::size_t value = size_of(sums_of(p.type));
  Registers r;
  // A register of 64 bytes comes with 31 others, which vectors of 32 bytes use as well; one of 32 with 15.
  const bool many = device.vector_bytes != 32;
  r.lanes = std::clamp<std::size_t>(device.vector_bytes, 16, 32) / value;
  const std::size_t filters = at_least_1(p.group_filters());
  r.each_k = filters < 8 ? std::bit_ceil(filters) : many ? 8 : 6;
  r.vectors = r.each_k < 4 && p.out_width > 2 * r.lanes ? 4 : p.out_width > r.lanes ? 2 : 1;
  return r;
}

/// How "cpu" cuts its work.
struct CpuCut {
  std::size_t block_k = 0;  ///< planes of a job
  std::size_t tile_w = 0;   ///< columns of results
  std::size_t tile_h = 0;   ///< rows of results
  std::size_t depth = 0;    ///< channels of the input at once
};

/// What of local memory "cpu" takes for a cut, in values: powers of two, so that few programs serve all.
std::array<std::size_t, 3> items_of(const Device& device, const Conv2dProblem& p, const CpuCut& cut) {
  const Registers r = registers_of(device, p);
  const std::size_t rows = (cut.tile_h - 1) * p.stride.y + (p.window.height - 1) * p.dilation.y + 1;
  const std::size_t cols = (cut.tile_w - 1) * p.stride.x + (p.window.width - 1) * p.dilation.x + 1;
  const std::size_t planes = round_up(cut.block_k, r.each_k);
  const std::size_t tile = size_product(cut.depth, rows, round_up(cols, p.stride.x));
  return {std::bit_ceil(std::min(tile, kMostTileItems)), std::bit_ceil(planes * cut.depth * p.taps()),
          std::bit_ceil(planes * cut.tile_h * cut.tile_w)};
}

/// The largest cut that local memory holds; nothing: none does.
std::optional<CpuCut> cut_for(const Device& device, const Conv2dProblem& p) {
  const Registers r = registers_of(device, p);
  const std::size_t block_w = r.vectors * r.lanes, width = at_least_1(p.out_width);
  const std::size_t height = at_least_1(p.out_height);
  const std::size_t filters = at_least_1(p.group_filters());
  const conv2d::CpuPolicy& policy = policy_of(device).cpu;
  CpuCut cut;
  cut.depth =
      std::clamp<std::size_t>(policy.weights / at_least_1(p.taps()), 1, at_least_1(p.group_channels()));
  cut.block_k = std::min(round_up(filters, r.each_k), round_up(policy.filters, r.each_k));
  cut.tile_w = round_up(divide_up(width, divide_up(width, policy.cols)), block_w);
  cut.tile_h = std::min(height, at_least_1(policy.results / cut.tile_w));
  const auto jobs = [&] {
    return p.images * p.groups * divide_up(filters, cut.block_k) * divide_up(width, cut.tile_w) *
           divide_up(height, cut.tile_h);
  };
  while (jobs() < policy.jobs_a_unit * device.compute_units &&
         (cut.tile_h > 4 || cut.block_k > 4 * r.each_k)) {
    if (cut.tile_h > 4) {
      cut.tile_h = divide_up(cut.tile_h, 2);
    } else {
      cut.block_k = round_up(cut.block_k / 2, r.each_k);
    }
  }
  const std::size_t value = size_of(sums_of(p.type));
  const auto fits = [&](std::size_t room) {
    const auto items = items_of(device, p, cut);
    return size_product(items[0] + items[1] + items[2], value) <= room;
  };
  while (!fits(std::min(device.local_bytes, policy.cache_bytes))) {
    if (cut.tile_h > 1) {
      cut.tile_h = divide_up(cut.tile_h, 2);
    } else if (cut.depth > 1) {
      cut.depth = divide_up(cut.depth, 2);
    } else if (cut.block_k > r.each_k) {
      cut.block_k = round_up(cut.block_k / 2, r.each_k);
    } else if (cut.tile_w > block_w) {
      cut.tile_w = round_up(cut.tile_w / 2, block_w);
    } else if (fits(device.local_bytes)) {
      break;
    } else {
      return std::nullopt;
    }
  }
  return cut;
}

Attempt cpu(const Device& device, const Conv2dProblem& p) {
  if (!runs_cpu_variant(device)) return no_cpu_variant(device);
  if (conv2d::is_by_rows(device, p)) return conv2d::by_rows(device, p);
  const std::optional<CpuCut> found = cut_for(device, p);
  if (!found) return formatted("no piece of the input fits {} bytes of local memory", device.local_bytes);
  const CpuCut& cut = *found;
  const Registers r = registers_of(device, p);
  const auto items = items_of(device, p, cut);
  Plan plan = conv2d::base_plan(p, "cpu", "conv2d/cpu.cl", "conv2d_cpu");
  predict(p, plan);
  const std::size_t jobs = p.images * p.groups * divide_up(p.group_filters(), cut.block_k) *
                           divide_up(p.out_height, cut.tile_h) * divide_up(p.out_width, cut.tile_w);
  set_groups(plan, 1, jobs);
  define(plan, {{"LANES", r.lanes},
                {"VECTORS", r.vectors},
                {"EACH_K", r.each_k},
                {"TILE_ITEMS", items[0]},
                {"WEIGHT_ITEMS", items[1]},
                {"SUM_ITEMS", items[2]}});
  plan.numbers = {
      {"block_k", cut.block_k}, {"tile_w", cut.tile_w}, {"tile_h", cut.tile_h}, {"depth", cut.depth}};
  set_group_tile(plan, {.rows = cut.tile_h,
                        .cols = cut.tile_w,
                        .vector_width = r.lanes,
                        .items = cut.block_k * cut.tile_h * cut.tile_w,
                        .local_bytes = (items[0] + items[1] + items[2]) * size_of(sums_of(p.type))});
  plan.reason = formatted(
      "a thread makes {} planes of {} x {} columns and rows in its cache, {} x {} at a time in registers",
      cut.block_k, cut.tile_w, cut.tile_h, r.each_k, r.vectors * r.lanes);
  return plan;
}

/// How "gemm" cuts its work.
struct Slices {
  std::size_t images = 1;
  std::size_t rows = 1;   ///< of results of an image: less than all only where images is 1
  std::size_t bytes = 0;  ///< of the columns of a slice

  std::size_t count(const Conv2dProblem& p) const {
    return at_least_1(divide_up(p.images, images) * divide_up(p.out_height, rows));
  }
};

Slices slices_of(const Device& device, const Conv2dProblem& p) {
  Slices s;
  s.rows = at_least_1(p.out_height);
  s.images = at_least_1(p.images);
  if (conv2d::is_straight(p)) return s;
  const conv2d::Policy& policy = policy_of(device);
  const std::size_t room =
      std::clamp(device.cache_bytes / policy.cache_share, policy.least_columns, policy.most_columns);
  const std::size_t row = at_least_1(p.in_channels * p.taps() * p.out_width * size_of(p.type));
  if (size_product(row, s.rows) <= room) {
    s.images = std::min(s.images, room / (row * s.rows));
  } else {
    s.images = 1;
    s.rows = std::clamp<std::size_t>(room / row, 1, s.rows);
  }
  s.bytes = s.images * s.rows * row;
  return s;
}

/// What a product of matrices makes of one group of channels and one slice.
GemmProblem product_of(const Conv2dProblem& p, const Slices& slices) {
  GemmProblem g;
  g.in = p.type;
  g.out = p.out;
  if (p.in_interleaved) {  // cells of all images, a row each, by the filters
    g.m = p.images * p.plane_results();
    g.n = p.group_filters();
    g.k = p.group_channels();
    g.b_along_k = true;
    g.activation = p.activation;
    g.column_bias = p.bias;
    g.epilogue = p.bias || p.activation != Activation::none;
    const std::size_t group = size_of(p.type) * p.group_channels();
    g.a_alignment = std::min(p.in_alignment, power_in(group));
    g.b_alignment = p.weight_alignment;
    g.c_alignment = std::min(p.out_alignment, power_in(size_of(p.out) * p.group_filters()));
    return g;
  }
  g.m = p.group_filters();
  g.n = slices.rows * p.out_width;
  g.k = p.depth();
  g.batch = slices.images;
  g.activation = p.activation;
  g.row_bias = p.bias;
  g.epilogue = p.bias || p.activation != Activation::none;
  g.a_alignment = p.weight_alignment;
  g.b_alignment = conv2d::is_straight(p) ? p.in_alignment : power_in(g.n * size_of(p.type));
  g.c_alignment = p.out_alignment;
  if (slices.rows < p.out_height)
    g.c_alignment = std::min(g.c_alignment, power_in(slices.rows * p.out_width * size_of(p.out)));
  return g;
}

/// The launch that lays the columns of a slice.
Launch columns(const Device& device, const Conv2dProblem& p, const Slices& slices) {
  Launch launch = named_plan(conv2d::kOperation, "columns", "conv2d/columns.cl", "conv2d_columns");
  define(launch, "ELEMENT_BYTES", size_of(p.type));
  const bool whole = runs_cpu_variant(device);
  // Four results at once, where all rows of all slices begin at a multiple of them.
  const std::size_t length = slices.rows < p.out_height ? p.out_width : p.plane_results();
  const std::size_t each = !whole && length > 0 && length % 4 == 0 ? 4 : 1;
  const std::array<std::size_t, 3> extent =
      whole ? std::array<std::size_t, 3>{1, 1, slices.images * p.in_channels * p.taps()}
            : std::array<std::size_t, 3>{at_least_1(divide_up(slices.rows * p.out_width, each)),
                                         p.in_channels, slices.images};
  launch.work_group =
      whole ? std::array<std::size_t, 3>{1, 1, 1} : shape_group(device, policy_of(device).group, 64, extent);
  launch.global = global_size(extent, launch.work_group);
  define(launch, {{"GROUP_0", launch.work_group[0]},
                  {"GROUP_1", launch.work_group[1]},
                  {"GROUP_2", launch.work_group[2]},
                  {"EACH", each}});
  if (whole) define(launch, "CPU", 1);
  launch.items_per_work_item = whole ? slices.rows * p.out_width : each * p.taps();
  launch.vector_width = each;
  launch.reason = formatted("writes the columns (im2col) of {} image(s), {} rows each, to temporary memory",
                            slices.images, slices.rows);
  return launch;
}

/// The launches of one slice and one group of channels. The call makes the products by gemm(), which has
/// plans of its own for the groups and for the last slice, which may be smaller.
Attempt by_gemm(const Device& device, const Conv2dProblem& p) {
  if (!is_planar(p) && !conv2d::is_straight(p)) return "its columns and products are planes";
  if (!p.out_packed) return "the output has gaps between its rows, and a matrix has none";
  const Slices slices = slices_of(device, p);
  if (device.max_allocation > 0 && std::bit_ceil(slices.bytes) > device.max_allocation)
    return formatted("the columns of a row take {} bytes, more than a buffer", slices.bytes);
  Plan plan = plan_gemm(device, product_of(p, slices));
  plan.reason = formatted(
      "{}{} x {} x {} by gemm / {}: {}", conv2d::is_straight(p) ? "the input is a factor as it lies; " : "",
      p.in_interleaved ? p.images * p.plane_results() : p.group_filters(),
      p.in_interleaved ? p.group_filters() : slices.rows * p.out_width, p.depth(), plan.variant, plan.reason);
  if (p.groups > 1) plan.reason += formatted("; for each of {} groups of channels", p.groups);
  plan.operation = conv2d::kOperation;
  plan.variant = "gemm";
  plan.in_place_of.clear();
  plan.rounds = slices.count(p);
  plan.numbers.insert(plan.numbers.begin(), {{"images", slices.images}, {"rows", slices.rows}});
  predict(p, plan);
  if (conv2d::is_straight(p)) return plan;
  plan.before.insert(plan.before.begin(), columns(device, p, slices));
  add_scratch(plan, slices.bytes);
  // The columns are written and read once; they may stay in the cache.
  const double bytes = real(p.images, p.in_channels * p.taps(), p.plane_results(), size_of(p.type));
  plan.prediction.bytes_read += bytes;
  plan.prediction.bytes_written += bytes;
  return plan;
}

}  // namespace

std::size_t plan::conv2d::direct_groups(const Device& device, const Conv2dProblem& p) {
  const std::optional<Tiles> tiles = tiles_for(device, p);
  return tiles ? tiles->jobs(p) : 0;
}

bool plan::conv2d::is_straight(const Conv2dProblem& p) {
  if (p.in_interleaved != p.out_interleaved || (p.in_interleaved && !p.out_packed)) return false;
  return p.in_packed && p.taps() == 1 && p.stride.x == 1 && p.stride.y == 1 && p.padding.left == 0 &&
         p.padding.top == 0 && p.out_width == p.width && p.out_height == p.height;
}

plan::Attempt plan::conv2d::plan_variant(const Device& device, const Conv2dProblem& p,
                                         const PlanOverrides& fixed, std::string_view variant) {
  if (fixed.work_items != 0)
    refuse(device, kOperation, "work_items", "none: the shapes decide", formatted("{}", fixed.work_items));
  if (variant == "naive") return naive(device, p);
  if (variant == "mma") return mma(device, p);
  if (variant == "wgmma") return wgmma(device, p, fixed);
  if (variant == "wgmma_halo") return wgmma_halo(device, p, fixed);
  if (variant == "wgmma_few") return wgmma_few(device, p, fixed);
  if (variant == "matrix_units") return matrix_units(device, p);
  if (variant == "gemm") return by_gemm(device, p);
  if (is_winograd(variant)) return winograd(device, p, variant);
  if (variant == "depthwise" && p.in_interleaved && p.out_interleaved) {
    const bool wants_windows = fixed.tile_rows + fixed.tile_cols == 0
                                   ? prefers_windows(device, p)
                                   : fixed.tile_rows == 1 && fixed.tile_cols > 0;
    if (wants_windows) {
      if (Attempt windows = depthwise_windows(device, p, fixed); windows.plan) return windows;
    }
    if (Attempt ring = depthwise_ring(device, p, fixed); ring.plan) return ring;
    if (Attempt cells = depthwise_cells(device, p, fixed); cells.plan) return cells;
  }
  if (variant == "depthwise" && fixed.tile_rows + fixed.tile_cols > 0) {
    refuse(device, kOperation, fixed.tile_rows > 0 ? "tile_rows" : "tile_cols",
           "none: \"depthwise\" has strips of interleaved channels that fit registers",
           formatted("{} x {}", fixed.tile_rows, fixed.tile_cols));
  }
  const Conv2dProblem planes = as_planes(p);
  Attempt by_planes = variant == "depthwise" ? depthwise_planes(device, planes) : Attempt{""};
  Attempt made = by_planes.plan           ? std::move(by_planes)
                 : variant == "direct"    ? direct(device, planes)
                 : variant == "implicit"  ? implicit(device, planes)
                 : variant == "depthwise" ? depthwise(device, planes)
                                          : cpu(device, planes);
  if (!made.plan || is_planar(p)) return made;
  const Needs needs{.channels = p.group_channels(),
                    .in = p.in_interleaved,
                    .weights = p.weights_interleaved && p.taps() > 1,
                    .out = p.out_interleaved};
  if (std::string reason = add_copies(device, p, needs, *made.plan); !reason.empty()) return reason;
  return made;
}

}  // namespace smem
