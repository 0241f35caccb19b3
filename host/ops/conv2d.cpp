// Convolutions of many channels: grids -> problem -> launch, or launches in slices with products after each.
#include "formatted.hpp"
#include "ops/conv2d_products.hpp"
#include "ops/conv2d_winograd.hpp"
#include "ops/grids.hpp"
#include "ops/run.hpp"
#include "plan/conv2d_layouts.hpp"
#include "plan/conv2d_variants.hpp"
#include "plan/sizes.hpp"

#include <smem/conv2d.hpp>

#include <algorithm>
#include <bit>
#include <utility>

namespace smem {

using ops::refuse;

namespace {

constexpr const char* kConv2dName = "conv2d";
constexpr std::size_t kMostStride = 65535;
constexpr std::size_t kMostChannels = (std::size_t{1} << 28) - 1;
constexpr std::size_t kMostSide = std::size_t{1} << 30;  // of a row or column: kernels count in 32 bits

void check_numbers(const ConstGrid& weights, const Conv2d& convolution) {
  const auto check = [](const char* name, std::size_t least, std::size_t number) {
    if (number < least || number > kMostStride)
      refuse(kConv2dName, name, formatted("{} to {}", least, kMostStride), number);
  };
  check("stride.x", 1, convolution.stride.x);
  check("stride.y", 1, convolution.stride.y);
  check("dilation.x", 1, convolution.dilation.x);
  check("dilation.y", 1, convolution.dilation.y);
  for (const std::size_t side : {convolution.padding.left, convolution.padding.top, convolution.padding.right,
                                 convolution.padding.bottom})
    check("padding", 0, side);
  if (std::min(weights.size.width, weights.size.height) < 1 ||
      std::max(weights.size.width, weights.size.height) > kMostStride) {
    refuse(kConv2dName, "weights", formatted("windows of 1 to {} cells", kMostStride),
           formatted("{} x {}", weights.size.width, weights.size.height));
  }
}

/// Channels of a grid: planes, one behind the other, or side by side in a cell.
std::size_t channels_of(const ConstGrid& grid) {
  return grid.channels == 1 ? grid.size.depth : grid.channels;
}
bool is_interleaved(const ConstGrid& grid) { return grid.channels > 1; }

/// Interleaved channels as cells of a longer row: for checks of places.
ConstGrid as_rows(ConstGrid grid) {
  grid.size.width = grid.row_elements();
  grid.channels = 1;
  return grid;
}

/// \throws Error unless the shapes fit each other.
void check_shapes(const ConstGrid& in, const ConstGrid& weights, const Grid& out, const Conv2d& convolution) {
  for (const auto& [name, grid] :
       {std::pair<const char*, const ConstGrid*>{"in", &in}, {"weights", &weights}, {"out", &out}}) {
    if (grid->channels != 1 && (grid->channels == 0 || grid->size.depth != 1)) {
      refuse(kConv2dName, name, "channels that are planes, one behind the other, or else interleaved",
             formatted("{} interleaved in {} planes", grid->channels, grid->size.depth));
    }
    ops::number_type(kConv2dName, name, grid->type);
    if (grid == &weights) ops::check_type(kConv2dName, name, grid->type, in.type);
    if (std::max(grid->size.width, grid->size.height) > kMostSide) {
      refuse(kConv2dName, name, formatted("at most {} cells along an axis", kMostSide),
             formatted("{} x {}", grid->size.width, grid->size.height));
    }
  }
  const std::size_t channels = channels_of(in), filters = weights.batch;
  if (channels < 1 || channels > kMostChannels)
    refuse(kConv2dName, "in", formatted("1 to {} channels", kMostChannels), channels);
  if (filters > kMostChannels)
    refuse(kConv2dName, "weights", formatted("at most {} filters", kMostChannels), filters);
  if (convolution.groups < 1 || channels % convolution.groups != 0 || filters % convolution.groups != 0) {
    refuse(kConv2dName, "groups",
           formatted("a number that divides {} channels and {} filters", channels, filters),
           convolution.groups);
  }
  if (channels_of(weights) != channels / convolution.groups) {
    refuse(kConv2dName, "weights", formatted("{} channels", channels / convolution.groups),
           channels_of(weights));
  }
  const bool packed = (weights.size.height == 1 || weights.pitch == weights.row_elements()) &&
                      (weights.size.depth == 1 ||
                       weights.plane == plan::size_product(weights.size.width, weights.size.height));
  if (!packed) {
    refuse(kConv2dName, "weights", "weights of a filter that follow each other",
           formatted("a pitch of {} and planes of {}", weights.pitch, weights.plane));
  }
  const Padding& p = convolution.padding;
  const GridSize size{convolved_size(in.size.width, weights.size.width, convolution.stride.x,
                                     convolution.dilation.x, p.left, p.right),
                      convolved_size(in.size.height, weights.size.height, convolution.stride.y,
                                     convolution.dilation.y, p.top, p.bottom)};
  if (out.size.width != size.width || out.size.height != size.height || channels_of(out) != filters ||
      out.batch != in.batch) {
    refuse(kConv2dName, "out",
           formatted("{} x {} cells, {} channels, batch {}", size.width, size.height, filters, in.batch),
           formatted("{} x {} cells, {} channels, batch {}", out.size.width, out.size.height,
                     channels_of(out), out.batch));
  }
  if (convolution.bias.buffer == nullptr) return;
  ops::check_type(kConv2dName, "bias", convolution.bias.type, out.type, "out");
  if (convolution.bias.size != filters)
    refuse(kConv2dName, "bias", formatted("{}, one for each filter", filters), convolution.bias.size);
}

Conv2dProblem problem_of(const ConstGrid& in, const ConstGrid& weights, const Grid& out,
                         const Conv2d& convolution) {
  Conv2dProblem p;
  p.type = *in.type.scalar;
  p.out = *out.type.scalar;
  p.images = in.batch;
  p.in_channels = channels_of(in);
  p.width = in.size.width;
  p.height = in.size.height;
  p.out_channels = weights.batch;
  p.window = {weights.size.width, weights.size.height};
  p.out_width = out.size.width;
  p.out_height = out.size.height;
  p.stride = convolution.stride;
  p.dilation = convolution.dilation;
  p.padding = convolution.padding;
  p.groups = convolution.groups;
  p.bias = convolution.bias.buffer != nullptr;
  p.activation = convolution.activation;
  p.winograd = convolution.winograd;
  p.in_interleaved = is_interleaved(in);
  p.weights_interleaved = is_interleaved(weights);
  p.out_interleaved = is_interleaved(out);
  const auto is_packed = [](const ConstGrid& grid) {
    const bool rows = grid.size.height == 1 || grid.pitch == grid.row_elements();
    const std::size_t image = plan::size_product(grid.size.height, grid.row_elements());
    return rows && (!is_interleaved(grid) || grid.batch == 1 || grid.batch_stride == image);
  };
  p.in_packed = is_packed(in);
  p.out_packed = is_packed(out);
  return p;
}

/// As of rows: a plane without gaps is a row of a matrix. Of interleaved channels: of each cell. `rows`: as
/// as_rows() has them.
std::size_t plane_alignment(const ConstGrid& grid, ConstGrid rows, const ops::Memory& memory) {
  if (!is_interleaved(grid)) {
    rows.size.height = 1;
    return ops::row_alignment(rows, memory);
  }
  const std::size_t cell = grid.channels * grid.type.bytes;
  return std::size_t{1} << std::countr_zero(ops::row_alignment(rows, memory) | cell);
}

/// The grids of a call, and how they are used. `problem`: of these, with columns joined.
struct Conv2dCall {
  const Context& context;
  const ConstGrid &in, &weights;
  const Grid& out;
  const Conv2d& convolution;
  Conv2dProblem problem;
};

cl_uint small(std::size_t value) { return static_cast<cl_uint>(value); }

/// A grid as kernels take it: from one interleaved channel to the next there is one element.
ConstGrid for_kernel(ConstGrid grid) {
  if (is_interleaved(grid)) grid.plane = 1;
  return grid;
}

/// A grid without gaps in temporary memory.
ConstGrid copied(cl_mem memory, const ConstGrid& of, std::size_t channels, bool interleaved) {
  if (!interleaved) return {memory, of.type, {of.size.width, of.size.height, channels}, {.batch = of.batch}};
  ConstGrid grid(memory, of.type, {of.size.width * channels, of.size.height}, {.batch = of.batch});
  grid.plane = 1;
  return grid;
}

/// The grids that the main launch has: the caller's, or copies of them.
struct Grids {
  ConstGrid in, weights, out;
  std::size_t channels, groups, filters;  ///< of a group; groups, of which some may be merged; filters of one
};
Grids grids_of(const ops::Launching& launch, const Conv2dCall& c) {
  const Plan& plan = launch.plan();
  const Conv2dProblem& p = c.problem;
  const bool interleaved =
      plan.variant == "mma" || plan.variant.starts_with("wgmma") || plan.variant == "matrix_units";
  const std::size_t merged = std::max<std::size_t>(plan.number("merged"), 1);
  Grids g{for_kernel(c.in),  for_kernel(c.weights),
          for_kernel(c.out), std::max(plan.number("channels"), p.group_channels()),
          p.groups / merged, p.group_filters() * merged};
  const auto memory = [&](const char* area) -> cl_mem {
    const std::size_t number = plan.number(area);
    return number > 0 ? launch.scratch(number - 1, c.in.buffer) : nullptr;
  };
  if (const cl_mem area = memory("in_area"); area != nullptr)
    g.in = copied(area, c.in, g.groups * g.channels, interleaved);
  if (const cl_mem area = memory("weights_area"); area != nullptr) {
    g.weights = copied(area, c.weights, plan.number("filter_channels"), interleaved);
    g.weights.batch_stride = plan.number("weight_row");
  }
  if (const cl_mem area = memory("out_area"); area != nullptr)
    g.out = copied(area, c.out, p.out_channels, interleaved);
  return g;
}

/// The arguments of a copy between the caller's grid and temporary memory.
void bind_copy(const ops::Launching& launch, const Conv2dCall& c, const Grids& g) {
  using plan::conv2d::Which;
  const Conv2dProblem& p = c.problem;
  const auto copy = [&](const ConstGrid& from, const ConstGrid& to, std::size_t width, std::size_t height,
                        std::size_t groups, std::size_t channels, std::size_t to_channels) {
    launch(runtime::packed(from, to, small(width), small(height), small(groups), small(channels),
                           small(to_channels), small(0)));
  };
  const auto which = static_cast<Which>(launch.launch().number("grid"));
  if (which == Which::in) {
    copy(for_kernel(c.in), g.in, p.width, p.height, g.groups, p.in_channels / g.groups, g.channels);
  } else if (which == Which::weights) {
    copy(for_kernel(c.weights), g.weights, p.window.width, p.window.height, 1, p.group_channels(),
         launch.plan().number("filter_channels"));
  } else {
    copy(g.out, for_kernel(c.out), p.out_width, p.out_height, 1, p.out_channels, p.out_channels);
  }
}

/// Columns of the input and of the results that a launch has, and zeros before the first.
struct Columns {
  std::size_t in, out, padding;
};
/// Those of `count` results of all rows from `first` on, where `grids` then begin.
Columns part_of(const Conv2dProblem& p, std::size_t first, std::size_t count, Grids& grids) {
  const std::size_t seen = first * p.stride.x,
                    begin = std::min(seen - std::min(seen, p.padding.left), p.width);
  grids.in.offset += begin * (p.in_interleaved ? p.in_channels : 1);
  grids.out.offset += first * (p.out_interleaved ? p.out_channels : 1);
  return {p.width - begin, std::min(count, p.out_width - first),
          p.padding.left - std::min(seen, p.padding.left)};
}

/// The arguments of all variants but "gemm".
void bind(const ops::Launching& launch, const Conv2dCall& c) {
  const Conv2dProblem& p = c.problem;
  Grids g = grids_of(launch, c);
  if (launch.launch().entry_point == "conv2d_pack") return bind_copy(launch, c, g);
  if (launch.launch().entry_point == "conv2d_pack_both") {
    return launch(runtime::packed(for_kernel(c.in), g.in, small(p.width), small(p.height), small(g.groups),
                                  small(p.in_channels / g.groups), small(g.channels),
                                  small(launch.launch().number("filter_tiles"))),
                  runtime::packed(for_kernel(c.weights), g.weights, small(p.window.width),
                                  small(p.window.height), small(1), small(p.group_channels()),
                                  small(launch.plan().number("filter_channels")), small(0)));
  }
  if (launch.launch().entry_point == "conv2d_spread") {
    const auto of = [&](const char* name) { return small(launch.launch().number(name)); };
    return launch(runtime::packed(for_kernel(c.weights), g.weights,
                                  plan::size_product(p.out_channels, p.taps(), g.channels), small(p.taps()),
                                  of("filters"), of("channels"), small(g.channels)));
  }
  const auto planned = [&](const char* name) { return small(launch.plan().number(name)); };
  ConstVector bias = c.convolution.bias;
  if (!p.bias) bias.buffer = nullptr;
  Columns of{p.width, p.out_width, p.padding.left};
  if (const std::size_t cols = launch.plan().number("part_cols"); cols > 0)
    of = part_of(p, launch.repeat() * cols, cols, g);
  const auto start = [&](const auto&... more) {
    launch(
        runtime::packed(g.in, g.weights.buffer, g.weights.offset, g.weights.batch_stride, g.out, bias,
                        p.images, small(p.bias ? 1 : 0), small(g.groups), small(g.channels), small(g.filters),
                        small(of.in), small(p.height), small(of.out), small(p.out_height),
                        small(p.window.width), small(p.window.height), small(p.stride.x), small(p.stride.y),
                        small(p.dilation.x), small(p.dilation.y), small(of.padding), small(p.padding.top),
                        planned("block_k"), planned("tile_w"), planned("tile_h"), planned("depth")),
        more...);
  };
  const std::size_t maps = launch.plan().number("maps_area");
  if (maps == 0) return start();
  const cl_mem area = launch.scratch(maps - 1);
  if (launch.plan().variant.starts_with("wgmma_")) return start(area);
  start(area, planned("parts"), launch.counters(area));
}

cl::Event by_winograd(const Conv2dCall& c, const runtime::Ready& ready, const CallOptions& options) {
  Grid out = c.out;
  if (is_interleaved(out)) out.plane = 1;
  return ops::run_winograd(c.context, ready, c.problem,
                           {for_kernel(c.in), c.weights, out, c.convolution.bias}, options);
}

/// Of shapes that fit each other. `problem`: of these, but for alignments.
cl::Event run(const Context& context, const ConstGrid& in, const ConstGrid& weights, const Grid& out,
              const Conv2d& convolution, Conv2dProblem problem, const CallOptions& options) {
  if (ops::is_empty(out)) return ops::run_empty(context, kConv2dName, plan_conv2d, problem, options);
  if (ops::is_empty(in)) refuse(kConv2dName, "in", "a cell to be padded around", "none");
  const ConstGrid in_rows = as_rows(in), weight_rows = as_rows(weights), out_rows = as_rows(out);
  const ops::Memory in_memory = ops::check_grid(context, kConv2dName, "in", in_rows, false);
  const ops::Memory weight_memory = ops::check_grid(context, kConv2dName, "weights", weight_rows, false);
  const ops::Memory out_memory = ops::check_grid(context, kConv2dName, "out", out_rows, true);
  if (weights.batch > 1 && weights.batch_stride < problem.depth()) {
    refuse(kConv2dName, "weights", formatted("filters of {} weights that share none", problem.depth()),
           formatted("a batch stride of {}", weights.batch_stride));
  }
  ops::check_apart(kConv2dName, in_rows, in_memory, out_rows, out_memory);
  ops::check_apart(kConv2dName, weight_rows, weight_memory, out_rows, out_memory, "weights", "out");
  if (problem.bias) {
    // As a grid of one row, for the same checks.
    const ConstGrid row(convolution.bias.buffer, convolution.bias.type, {convolution.bias.size},
                        {.offset = convolution.bias.offset});
    const ops::Memory memory = ops::check_grid(context, kConv2dName, "bias", row, false);
    ops::check_apart(kConv2dName, row, memory, out_rows, out_memory, "bias", "out");
  }
  problem.in_alignment = plane_alignment(in, in_rows, in_memory);
  problem.row_alignment = ops::row_alignment(in_rows, in_memory);
  problem.out_alignment = plane_alignment(out, out_rows, out_memory);
  ConstGrid filters = weight_rows;  // of which each is a row: its planes have no gaps between them
  filters.size.depth = 1;
  problem.weight_alignment = plane_alignment(filters, filters, weight_memory);
  const Conv2dProblem planned = plan::conv2d::with_joined_columns(context.device(), problem);
  ConstGrid wide = in, wide_filters = weights;
  Conv2d joined = convolution;
  if (planned.stride.x != problem.stride.x) {
    wide.size.width = planned.width, wide.channels = planned.in_channels;
    wide_filters.size.width = 1, wide_filters.channels = planned.in_channels;
    joined.stride.x = 1;
  }
  const Conv2dCall call{context, wide, wide_filters, out, joined, planned};
  return ops::run_by(context, kConv2dName, plan_conv2d, problem, options, [&](const runtime::Ready& ready) {
    if (ready.plan.variant == "gemm") {
      return ops::run_products(context, ready, planned, {wide, wide_filters, out, convolution.bias}, options);
    }
    if (plan::conv2d::is_winograd(ready.plan.variant)) return by_winograd(call, ready, options);
    return ops::launch_all(
        context.runtime(), ready, options.wait_for, [&](const ops::Launching& launch) { bind(launch, call); },
        nullptr, options.event);
  });
}

}  // namespace

cl::Event conv2d(const Context& context, const ConstGrid& in, const ConstGrid& weights, const Grid& out,
                 const Conv2d& convolution, const CallOptions& options) {
  check_numbers(weights, convolution);
  check_shapes(in, weights, out, convolution);
  const Conv2dProblem problem = problem_of(in, weights, out, convolution);
  plan::conv2d::check(context.device(), problem);
  return run(context, in, weights, out, convolution, problem, options);
}

}  // namespace smem
