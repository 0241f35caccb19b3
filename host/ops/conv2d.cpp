// Convolutions of many channels: grids -> problem -> launch, or launches in slices with products after each.
#include "formatted.hpp"
#include "ops/grids.hpp"
#include "ops/run.hpp"
#include "plan/conv2d_variants.hpp"
#include "plan/sizes.hpp"
#include "runtime/scratch.hpp"

#include <smem/conv2d.hpp>
#include <smem/gemm.hpp>

#include <algorithm>
#include <utility>

namespace smem {

using ops::refuse;

namespace {

constexpr const char* kOperation = "conv2d";
constexpr std::size_t kMost = 65535;
constexpr std::size_t kMostChannels = (std::size_t{1} << 28) - 1;
constexpr std::size_t kMostCells = std::size_t{1} << 30;  // of a row or column: kernels count in 32 bits

void check_numbers(const ConstGrid& weights, const Conv2d& convolution) {
  const auto check = [](const char* name, std::size_t least, std::size_t number) {
    if (number < least || number > kMost)
      refuse(kOperation, name, formatted("{} to {}", least, kMost), number);
  };
  check("stride.x", 1, convolution.stride.x);
  check("stride.y", 1, convolution.stride.y);
  check("dilation.x", 1, convolution.dilation.x);
  check("dilation.y", 1, convolution.dilation.y);
  for (const std::size_t side : {convolution.padding.left, convolution.padding.top, convolution.padding.right,
                                 convolution.padding.bottom})
    check("padding", 0, side);
  if (std::min(weights.size.width, weights.size.height) < 1 ||
      std::max(weights.size.width, weights.size.height) > kMost) {
    refuse(kOperation, "weights", formatted("windows of 1 to {} cells", kMost),
           formatted("{} x {}", weights.size.width, weights.size.height));
  }
}

/// \throws Error unless the shapes fit each other.
void check_shapes(const ConstGrid& in, const ConstGrid& weights, const Grid& out, const Conv2d& convolution) {
  for (const auto& [name, grid] :
       {std::pair<const char*, const ConstGrid*>{"in", &in}, {"weights", &weights}, {"out", &out}}) {
    if (grid->channels != 1) {
      refuse(kOperation, name, "planes of one channel: channels are planes, one behind the other",
             formatted("{} interleaved", grid->channels));
    }
    ops::number_type(kOperation, name, grid->type);
    ops::check_type(kOperation, name, grid->type, in.type);
    if (std::max(grid->size.width, grid->size.height) > kMostCells) {
      refuse(kOperation, name, formatted("at most {} cells along an axis", kMostCells),
             formatted("{} x {}", grid->size.width, grid->size.height));
    }
  }
  const std::size_t channels = in.size.depth, filters = weights.batch;
  if (channels < 1 || channels > kMostChannels)
    refuse(kOperation, "in", formatted("1 to {} channels", kMostChannels), channels);
  if (filters > kMostChannels)
    refuse(kOperation, "weights", formatted("at most {} filters", kMostChannels), filters);
  if (convolution.groups < 1 || channels % convolution.groups != 0 || filters % convolution.groups != 0) {
    refuse(kOperation, "groups",
           formatted("a number that divides {} channels and {} filters", channels, filters),
           convolution.groups);
  }
  if (weights.size.depth != channels / convolution.groups) {
    refuse(kOperation, "weights", formatted("{} channels", channels / convolution.groups),
           weights.size.depth);
  }
  const bool packed = (weights.size.height == 1 || weights.pitch == weights.size.width) &&
                      (weights.size.depth == 1 ||
                       weights.plane == plan::size_product(weights.size.width, weights.size.height));
  if (!packed) {
    refuse(kOperation, "weights", "weights of a filter that follow each other",
           formatted("a pitch of {} and planes of {}", weights.pitch, weights.plane));
  }
  const Padding& p = convolution.padding;
  const GridSize size{convolved_size(in.size.width, weights.size.width, convolution.stride.x,
                                     convolution.dilation.x, p.left, p.right),
                      convolved_size(in.size.height, weights.size.height, convolution.stride.y,
                                     convolution.dilation.y, p.top, p.bottom),
                      filters};
  if (out.size != size || out.batch != in.batch) {
    refuse(kOperation, "out",
           formatted("{} x {} cells, {} channels, batch {}", size.width, size.height, filters, in.batch),
           formatted("{} x {} cells, {} channels, batch {}", out.size.width, out.size.height, out.size.depth,
                     out.batch));
  }
  if (convolution.bias.buffer == nullptr) return;
  ops::check_type(kOperation, "bias", convolution.bias.type, in.type);
  if (convolution.bias.size != filters)
    refuse(kOperation, "bias", formatted("{}, one for each filter", filters), convolution.bias.size);
}

Conv2dProblem problem_of(const ConstGrid& in, const ConstGrid& weights, const Grid& out,
                         const Conv2d& convolution) {
  Conv2dProblem p;
  p.type = *in.type.scalar;
  p.images = in.batch;
  p.in_channels = in.size.depth;
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
  p.in_packed = in.size.height == 1 || in.pitch == in.size.width;
  p.out_packed = out.size.height == 1 || out.pitch == out.size.width;
  return p;
}

/// As of rows: a plane without gaps is a row of a matrix.
std::size_t plane_alignment(ConstGrid grid, const ops::Memory& memory) {
  grid.size.height = 1;
  return ops::row_alignment(grid, memory);
}

/// The grids of a call, and how they are used.
struct Call {
  const Context& context;
  const ConstGrid &in, &weights;
  const Grid& out;
  const Conv2d& convolution;
  Conv2dProblem problem;
};

cl_uint small(std::size_t value) { return static_cast<cl_uint>(value); }

/// The arguments of all variants but "gemm".
void bind(const ops::Launching& launch, const Call& c) {
  const Conv2dProblem& p = c.problem;
  const auto planned = [&](const char* name) { return small(launch.plan().number(name)); };
  ConstVector bias = c.convolution.bias;
  if (!p.bias) bias.buffer = c.weights.buffer;
  launch(c.in, c.weights.buffer, c.weights.offset, c.weights.batch_stride, c.out, bias, small(p.bias ? 1 : 0),
         p.images, small(p.groups), small(p.group_channels()), small(p.group_filters()), small(p.width),
         small(p.height), small(p.out_width), small(p.out_height), small(p.window.width),
         small(p.window.height), small(p.stride.x), small(p.stride.y), small(p.dilation.x),
         small(p.dilation.y), small(p.padding.left), small(p.padding.top), planned("block_k"),
         planned("tile_w"), planned("tile_h"), planned("depth"));
}

/// A slice of the images, or of the rows of one.
struct Slice {
  std::size_t image = 0, images = 0, row = 0, rows = 0;
};

/// Lays the columns of a slice in `memory`.
cl::Event lay_columns(const Call& c, const runtime::Ready::Step& columns, const Slice& slice, cl_mem memory,
                      std::span<const cl::Event> wait_for) {
  const Conv2dProblem& p = c.problem;
  ConstGrid in = c.in;
  in.offset += slice.image * in.batch_stride;
  return c.context.runtime().launch(columns, wait_for, true, in, memory, slice.images, small(p.in_channels),
                                    small(p.width), small(p.height), small(p.out_width), small(slice.row),
                                    small(slice.rows), small(p.window.width), small(p.window.height),
                                    small(p.stride.x), small(p.stride.y), small(p.dilation.x),
                                    small(p.dilation.y), small(p.padding.left), small(p.padding.top));
}

/// The products of a slice: for each group of channels, filters times columns, which lie in `memory`; null:
/// the input is the columns.
cl::Event multiply(const Call& c, const Slice& slice, cl_mem memory, std::span<const cl::Event> wait_for) {
  const Conv2dProblem& p = c.problem;
  const std::size_t results = slice.rows * p.out_width;
  cl::Event event, before;
  for (std::size_t g = 0; g < p.groups; ++g) {
    const ConstMatrix filters(c.weights.buffer, p.type, p.group_filters(), p.depth(),
                              {.offset = c.weights.offset + g * p.group_filters() * c.weights.batch_stride,
                               .pitch = std::max(c.weights.batch_stride, p.depth())});
    const ConstMatrix columns = memory == nullptr
                                    ? ConstMatrix(c.in.buffer, p.type, p.group_channels(), results,
                                                  {.offset = c.in.offset + slice.image * c.in.batch_stride +
                                                             g * p.group_channels() * c.in.plane,
                                                   .pitch = std::max(c.in.plane, results),
                                                   .batch = slice.images,
                                                   .batch_stride = c.in.batch_stride})
                                    : ConstMatrix(memory, p.type, p.depth(), results,
                                                  {.offset = g * p.depth() * results,
                                                   .batch = slice.images,
                                                   .batch_stride = p.groups * p.depth() * results});
    const Matrix sums(c.out.buffer, p.type, p.group_filters(), results,
                      {.offset = c.out.offset + slice.image * c.out.batch_stride +
                                 g * p.group_filters() * c.out.plane + slice.row * p.out_width,
                       .pitch = std::max(c.out.plane, results),
                       .batch = slice.images,
                       .batch_stride = c.out.batch_stride});
    Gemm product;
    product.epilogue.activation = p.activation;
    product.epilogue.bias_of = BiasOf::row;
    if (p.bias) {
      product.epilogue.bias = ConstVector(c.convolution.bias.buffer, p.type, p.group_filters(),
                                          c.convolution.bias.offset + g * p.group_filters());
    }
    // One after the other: what runs last is the event of all.
    const std::span<const cl::Event> first = g == 0 ? wait_for : std::span<const cl::Event>(&before, 1);
    event = gemm(c.context, filters, columns, sums, product, {.wait_for = {first.begin(), first.end()}});
    before = event;
  }
  return event;
}

/// "gemm": the plan has the launches of a whole slice and one group of channels; products are calls of
/// gemm(), since the groups may lie differently and the last slice may be smaller.
cl::Event in_slices(const Call& c, const runtime::Ready& ready, std::span<const cl::Event> wait_for) {
  const Conv2dProblem& p = c.problem;
  const Plan& plan = ready.plan;
  const std::size_t most_images = plan.number("images"), most_rows = plan.number("rows");
  const bool has_columns = ready.steps.front().launch->variant == "columns";
  runtime::Lease scratch(c.context.runtime().scratch(), has_columns ? plan.scratch.back().bytes : 0);
  const cl_mem memory = scratch.memory_or(nullptr);
  cl::Event event, before;
  for (std::size_t image = 0; image < p.images; image += most_images) {
    for (std::size_t row = 0; row < p.out_height; row += most_rows) {
      const Slice slice{image, std::min(most_images, p.images - image), row,
                        std::min(most_rows, p.out_height - row)};
      if (has_columns) {
        before = lay_columns(c, ready.steps.front(), slice, memory, wait_for);
        scratch.used_until(before);
        wait_for = {&before, 1};
      }
      event = multiply(c, slice, memory, wait_for);
      scratch.used_until(event);
      before = event;
      wait_for = {&before, 1};
    }
  }
  return event;
}

}  // namespace

cl::Event conv2d(const Context& context, const ConstGrid& in, const ConstGrid& weights, const Grid& out,
                 const Conv2d& convolution, const CallOptions& options) {
  check_numbers(weights, convolution);
  check_shapes(in, weights, out, convolution);
  Call call{context, in, weights, out, convolution, problem_of(in, weights, out, convolution)};
  Conv2dProblem& problem = call.problem;
  plan::conv2d::check(context.device(), problem);
  if (ops::is_empty(out)) return ops::run_empty(context, kOperation, plan_conv2d, problem, options);
  if (ops::is_empty(in)) refuse(kOperation, "in", "a cell to be padded around", "none");
  const ops::Memory in_memory = ops::check_grid(context, kOperation, "in", in, false);
  const ops::Memory weight_memory = ops::check_grid(context, kOperation, "weights", weights, false);
  const ops::Memory out_memory = ops::check_grid(context, kOperation, "out", out, true);
  if (weights.batch > 1 && weights.batch_stride < problem.depth()) {
    refuse(kOperation, "weights", formatted("filters of {} weights that share none", problem.depth()),
           formatted("a batch stride of {}", weights.batch_stride));
  }
  ops::check_apart(kOperation, in, in_memory, out, out_memory);
  ops::check_apart(kOperation, weights, weight_memory, out, out_memory, "weights", "out");
  if (problem.bias) {
    // As a grid of one row, for the same checks.
    const ConstGrid row(convolution.bias.buffer, convolution.bias.type, {convolution.bias.size},
                        {.offset = convolution.bias.offset});
    const ops::Memory memory = ops::check_grid(context, kOperation, "bias", row, false);
    ops::check_apart(kOperation, row, memory, out, out_memory, "bias", "out");
  }
  problem.in_alignment = plane_alignment(in, in_memory);
  problem.out_alignment = plane_alignment(out, out_memory);
  ConstGrid filters = weights;  // of which each is a row: its planes have no gaps between them
  filters.size.depth = 1;
  problem.weight_alignment = plane_alignment(filters, weight_memory);
  return ops::run_by(context, kOperation, plan_conv2d, problem, options, [&](const runtime::Ready& ready) {
    if (ready.plan.variant == "gemm") return in_slices(call, ready, options.wait_for);
    return ops::launch_all(context.runtime(), ready, options.wait_for,
                           [&](const ops::Launching& launch) { bind(launch, call); });
  });
}

}  // namespace smem
