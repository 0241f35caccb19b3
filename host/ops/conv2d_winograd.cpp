// Convolutions by Winograd's minimal filtering: transforms, products and transforms, slice by slice.
#include "ops/conv2d_winograd.hpp"

#include "plan/conv2d_winograd.hpp"
#include "runtime/scratch.hpp"

#include <smem/gemm.hpp>

#include <algorithm>

namespace smem {

namespace {

using plan::conv2d::WinogradMatrices;
using plan::conv2d::WinogradSlice;
using plan::conv2d::WinogradTiles;

/// Matrices in temporary memory, as gemm() takes them.
Matrix winograd_matrices(cl_mem memory, const WinogradMatrices& m) {
  return {memory,
          Scalar::float32,
          m.rows,
          m.cols,
          {.offset = m.first, .pitch = m.pitch, .batch = m.elements * m.groups, .batch_stride = m.apart()}};
}

/// The products of a slice: filters times tiles; where the output is interleaved, tiles times filters.
cl::Event multiply_winograd_tiles(const Context& context, const Conv2dProblem& p, const WinogradSlice& slice,
                                  cl_mem memory, std::span<const cl::Event> wait_for) {
  const Matrix filters = winograd_matrices(memory, slice.filters),
               input = winograd_matrices(memory, slice.input),
               products = winograd_matrices(memory, slice.products);
  const CallOptions options{.wait_for = {wait_for.begin(), wait_for.end()}, .event = false};
  if (p.out_interleaved) {
    return gemm(context, input, filters, products, {.transpose_a = !p.in_interleaved, .transpose_b = true},
                options);
  }
  return gemm(context, filters, input, products, {.transpose_b = p.in_interleaved}, options);
}

}  // namespace

cl::Event ops::run_winograd(const Context& context, const runtime::Ready& ready, const Conv2dProblem& p,
                            const WinogradGrids& grids, const CallOptions& options) {
  const auto small = [](std::size_t value) { return static_cast<cl_uint>(value); };
  runtime::Runtime& runtime = context.runtime();
  const WinogradTiles tiles = plan::conv2d::winograd_tiles(p, ready.plan.number("tile"));
  const std::size_t all = tiles.lines(p), most = ready.plan.number("lines");
  const bool wants_events = !runtime.in_order();
  runtime::Lease scratch(runtime.scratch(), ready.plan.scratch.back().bytes);
  const cl_mem memory = scratch.memory_or(nullptr);

  const WinogradMatrices filters = plan::conv2d::winograd_slice(p, tiles, most).filters;
  cl::Event before =
      runtime.launch(ready.steps.at(0), options.wait_for, wants_events, grids.weights.buffer,
                     grids.weights.offset, grids.weights.batch_stride, memory, filters.of_element(),
                     filters.pitch, small(p.out_channels), small(p.group_channels()));
  scratch.used_until(before);
  const auto after = [&] { return std::span(&before, wants_events ? 1 : 0); };
  ConstVector bias = grids.bias;
  if (!p.bias) bias.buffer = grids.weights.buffer;
  for (std::size_t line = 0; line < all; line += most) {
    const std::size_t lines = std::min(most, all - line);
    const WinogradSlice slice = plan::conv2d::winograd_slice(p, tiles, lines);
    before =
        runtime.launch(ready.steps.at(1), after(), wants_events, grids.in, memory, slice.input.first,
                       slice.input.of_element(), slice.input.pitch, small(p.in_channels),
                       small(p.group_channels()), small(p.width), small(p.height), small(tiles.across),
                       small(tiles.down), line, small(lines), small(p.padding.left), small(p.padding.top));
    scratch.used_until(before);
    before = multiply_winograd_tiles(context, p, slice, memory, after());
    scratch.used_until(before);
    before = runtime.launch(
        ready.steps.back(), after(), wants_events || (options.event && line + lines == all), memory,
        slice.products.first, slice.products.of_element(), slice.products.pitch, grids.out, bias,
        small(p.bias ? 1 : 0), small(p.out_channels), small(p.group_filters()), small(p.out_width),
        small(p.out_height), small(tiles.across), small(tiles.down), line, small(lines));
    scratch.used_until(before);
  }
  return before;
}

}  // namespace smem
