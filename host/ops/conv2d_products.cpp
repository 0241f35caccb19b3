// Convolutions by products of matrices: of the input as it lies, or of its columns, slice by slice.
#include "ops/conv2d_products.hpp"

#include "ops/gemm.hpp"
#include "ops/run.hpp"
#include "runtime/scratch.hpp"

#include <smem/gemm.hpp>

#include <algorithm>
#include <vector>

namespace smem {

namespace {

using ops::CheckedProduct;

struct ProductCall {
  const Context& context;
  const Conv2dProblem& problem;
  const ops::ProductGrids& grids;
};

/// A slice of the images, or of the rows of one.
struct Slice {
  std::size_t image = 0, images = 0, row = 0, rows = 0;
};

/// Has `start` launch the kernel that lays the columns of a slice in `memory`.
template <class Start>
auto lay_columns(const ProductCall& c, const Slice& slice, cl_mem memory, const Start& start) {
  const auto small = [](std::size_t value) { return static_cast<cl_uint>(value); };
  const Conv2dProblem& p = c.problem;
  ConstGrid in = c.grids.in;
  in.offset += slice.image * in.batch_stride;
  return start(in, memory, slice.images, small(p.in_channels), small(p.width), small(p.height),
               small(p.out_width), small(slice.row), small(slice.rows), small(p.window.width),
               small(p.window.height), small(p.stride.x), small(p.stride.y), small(p.dilation.x),
               small(p.dilation.y), small(p.padding.left), small(p.padding.top));
}

Gemm how_of(const ProductCall& c, std::size_t group, BiasOf bias_of, bool transpose_b) {
  const Conv2dProblem& p = c.problem;
  Gemm how{.transpose_b = transpose_b};
  how.epilogue.activation = p.activation;
  how.epilogue.bias_of = bias_of;
  if (p.bias) {
    how.epilogue.bias = ConstVector(c.grids.bias.buffer, p.out, p.group_filters(),
                                    c.grids.bias.offset + group * p.group_filters());
  }
  return how;
}

ConstMatrix filters_of(const ProductCall& c, std::size_t group) {
  const Conv2dProblem& p = c.problem;
  const ConstGrid& weights = c.grids.weights;
  return {weights.buffer,
          p.type,
          p.group_filters(),
          p.depth(),
          {.offset = weights.offset + group * p.group_filters() * weights.batch_stride,
           .pitch = std::max(weights.batch_stride, p.depth())}};
}

/// The product of a slice and a group of channels that are planes: filters times columns, which lie in
/// `memory`; null: the input is the columns.
CheckedProduct product_of_planes(const ProductCall& c, const Slice& slice, cl_mem memory, std::size_t group) {
  const Conv2dProblem& p = c.problem;
  const ConstGrid& in = c.grids.in;
  const Grid& out = c.grids.out;
  const std::size_t results = slice.rows * p.out_width;
  const ConstMatrix columns = memory == nullptr
                                  ? ConstMatrix(in.buffer, p.type, p.group_channels(), results,
                                                {.offset = in.offset + slice.image * in.batch_stride +
                                                           group * p.group_channels() * in.plane,
                                                 .pitch = std::max(in.plane, results),
                                                 .batch = slice.images,
                                                 .batch_stride = in.batch_stride})
                                  : ConstMatrix(memory, p.type, p.depth(), results,
                                                {.offset = group * p.depth() * results,
                                                 .batch = slice.images,
                                                 .batch_stride = p.groups * p.depth() * results});
  const Matrix sums(out.buffer, p.out, p.group_filters(), results,
                    {.offset = out.offset + slice.image * out.batch_stride +
                               group * p.group_filters() * out.plane + slice.row * p.out_width,
                     .pitch = std::max(out.plane, results),
                     .batch = slice.images,
                     .batch_stride = out.batch_stride});
  return {filters_of(c, group), columns, sums, how_of(c, group, BiasOf::row, false)};
}

/// The product of the cells of all images and the filters of a group of interleaved channels.
CheckedProduct product_of_cells(const ProductCall& c, std::size_t group) {
  const Conv2dProblem& p = c.problem;
  const std::size_t cells = p.images * p.plane_results();
  const ConstMatrix in(c.grids.in.buffer, p.type, cells, p.group_channels(),
                       {.offset = c.grids.in.offset + group * p.group_channels(), .pitch = p.in_channels});
  const Matrix sums(c.grids.out.buffer, p.out, cells, p.group_filters(),
                    {.offset = c.grids.out.offset + group * p.group_filters(), .pitch = p.out_channels});
  return {in, filters_of(c, group), sums, how_of(c, group, BiasOf::column, true)};
}

CheckedProduct product_of(const ProductCall& c, const Slice& slice, cl_mem memory, std::size_t group) {
  return c.problem.in_interleaved ? product_of_cells(c, group) : product_of_planes(c, slice, memory, group);
}

/// Enqueues what `enqueue(wait_for, wants_event)` does, one behind the other: what runs last has the event of
/// all.
class Chain {
 public:
  Chain(const ProductCall& c, const CallOptions& options)
      : wait_for_(options.wait_for), wants_event_(options.event), in_order_(c.context.runtime().in_order()) {}

  template <class Enqueue>
  const cl::Event& add(bool is_last, const Enqueue& enqueue) {
    event_ = enqueue(wait_for_, !in_order_ || (is_last && wants_event_));
    wait_for_ = {&event_, in_order_ ? std::size_t{0} : std::size_t{1}};
    return event_;
  }
  const cl::Event& last() const { return event_; }

 private:
  std::span<const cl::Event> wait_for_;
  bool wants_event_, in_order_;
  cl::Event event_;
};

/// The plan has the launches of a whole slice and one group of channels; products are calls of gemm(), since
/// the groups may lie differently and the last slice may be smaller.
cl::Event in_slices(const ProductCall& c, const runtime::Ready& ready, const CallOptions& options) {
  const Conv2dProblem& p = c.problem;
  const Plan& plan = ready.plan;
  const std::size_t most_images = plan.number("images"), most_rows = plan.number("rows");
  const bool has_columns = ready.steps.front().launch->variant == "columns";
  runtime::Lease scratch(c.context.runtime().scratch(), has_columns ? plan.scratch.back().bytes : 0);
  const cl_mem memory = scratch.memory_or(nullptr);
  Chain chain(c, options);
  for (std::size_t image = 0; image < p.images; image += most_images) {
    for (std::size_t row = 0; row < p.out_height; row += most_rows) {
      const Slice slice{image, std::min(most_images, p.images - image), row,
                        std::min(most_rows, p.out_height - row)};
      if (has_columns) {
        scratch.used_until(chain.add(false, [&](std::span<const cl::Event> wait_for, bool wants_event) {
          return lay_columns(c, slice, memory, [&](const auto&... arguments) {
            return c.context.runtime().launch(ready.steps.front(), wait_for, wants_event, arguments...);
          });
        }));
      }
      for (std::size_t group = 0; group < p.groups; ++group) {
        const bool is_last =
            image + slice.images == p.images && row + slice.rows == p.out_height && group + 1 == p.groups;
        const CheckedProduct product = product_of(c, slice, memory, group);
        scratch.used_until(chain.add(is_last, [&](std::span<const cl::Event> wait_for, bool wants_event) {
          return gemm(c.context, product.a, product.b, product.c, product.how,
                      {.wait_for = {wait_for.begin(), wait_for.end()}, .event = wants_event});
        }));
      }
    }
  }
  return chain.last();
}

}  // namespace

cl::Event ops::run_products(const Context& context, const runtime::Ready& ready, const Conv2dProblem& p,
                            const ProductGrids& grids, const CallOptions& options) {
  const ProductCall call{context, p, grids};
  // One product has the plan's own launches, unless products were tuned: gemm() knows of that. A call of
  // gemm() would look for a plan again, and ask again about the buffers.
  if (p.groups > 1 || ready.plan.rounds > 1 || !context.runtime().tuning().empty())
    return in_slices(call, ready, options);
  const Slice whole{0, p.images, 0, p.out_height};
  const bool has_columns = ready.steps.front().launch->variant == "columns";
  return launch_all(
      context.runtime(), ready, options.wait_for,
      [&](const Launching& launching) {
        const cl_mem columns = has_columns ? launching.scratch(ready.plan.scratch.size() - 1) : nullptr;
        if (launching.launch().variant == "columns")
          lay_columns(call, whole, columns, launching);
        else
          bind_product(launching, product_of(call, whole, columns, 0));
      },
      nullptr, options.event);
}

}  // namespace smem
