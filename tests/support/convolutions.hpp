/// Runs one convolution, and compares every byte of the output buffer with what plain loops give.
#pragma once

#include "support/stencils.hpp"

#include <cmath>
#include <string>
#include <vector>

namespace test {

struct ConvolutionCase {
  smem::Scalar type = smem::Scalar::float32;
  std::string variant;
  std::size_t width = 1, height = 1;  ///< of the kernel
  smem::Convolution how = {};
  smem::GridSize size = {};
  GridPlace in, out;
  bool rank_1 = false;
  bool int8_weights = false;  ///< multiples of a power of two that int8 holds

  Tested tested() const { return {"convolve2d", variant, std::string(smem::name_of(type))}; }
  std::string text() const {
    const auto& p = how.padding;
    return fmt::format(
        "{} {} x {} kernel{}{}{} on {} x {} x {}, anchors {} {}, strides {} {}, dilations {} {}, padding {}, "
        "boundary {}, variant \"{}\", {} channels {} grids offset {} gaps {} {} {}; SMEM_SEED={}",
        smem::name_of(type), width, height, rank_1 ? " of rank 1" : "", int8_weights ? " of int8" : "",
        how.turned ? " turned" : "", size.width, size.height, size.depth, how.anchor_x.value_or(99),
        how.anchor_y.value_or(99), how.stride.x, how.stride.y, how.dilation.x, how.dilation.y,
        p ? fmt::format("{} {} {} {}", p->left, p->top, p->right, p->bottom) : "same",
        smem::name_of(how.edges.boundary.value_or(smem::Boundary::zero)), variant, in.channels, in.batch,
        in.offset, in.row_gap, in.plane_gap, in.grid_gap, seed());
  }
};

template <class T>
Outcome run_convolution(const smem::Context& context, const ConvolutionCase& c, Random& random) {
  smem::ConvolutionKernel kernel{c.width, c.height,
                                 c.int8_weights ? int8_weights_for(c.width * c.height, random)
                                                : weights_for(c.width * c.height, random)};
  if (c.rank_1) {
    const std::vector<double> row = weights_for(c.width, random), column = weights_for(c.height, random);
    for (std::size_t i = 0; i < kernel.weights.size(); ++i)
      kernel.weights[i] = static_cast<float>(row[i % c.width] * column[i / c.width]);
  }
  smem::Convolution how = c.how;
  const smem::Boundary boundary = how.edges.boundary.value_or(smem::Boundary::zero);
  how.edges.value = beyond_of(boundary);
  const std::size_t ax = how.anchor_x.value_or(c.width / 2), ay = how.anchor_y.value_or(c.height / 2);
  const std::size_t before_x = how.turned ? c.width - 1 - ax : ax,
                    before_y = how.turned ? c.height - 1 - ay : ay;
  const smem::Padding pad = how.padding.value_or(
      smem::Padding{before_x * how.dilation.x, before_y * how.dilation.y,
                    (c.width - 1 - before_x) * how.dilation.x, (c.height - 1 - before_y) * how.dilation.y});
  const smem::GridSize out_size{
      smem::convolved_size(c.size.width, c.width, how.stride.x, how.dilation.x, pad.left, pad.right),
      smem::convolved_size(c.size.height, c.height, how.stride.y, how.dilation.y, pad.top, pad.bottom),
      c.size.depth};
  const smem::Grid in_shape(nullptr, c.type, c.size, c.in.layout(c.size));
  const smem::Grid out_shape(nullptr, c.type, out_size, c.out.layout(out_size));
  std::vector<T> input(elements_of(in_shape, c.in.tail), poison<T>());
  std::vector<T> before(elements_of(out_shape, c.out.tail));
  for (T& element : before)
    element = stencil_element<T>(random);
  for (std::size_t b = 0; b < in_shape.batch; ++b) {
    for (std::size_t z = 0; z < c.size.depth; ++z) {
      for (std::size_t y = 0; y < c.size.height; ++y) {
        const std::size_t at =
            in_shape.offset + b * in_shape.batch_stride + z * in_shape.plane + y * in_shape.pitch;
        for (std::size_t i = 0; i < in_shape.row_elements(); ++i)
          input[at + i] = stencil_element<T>(random);
      }
    }
  }
  const StencilGrid<T> grid{in_shape, input, boundary};
  const auto n = [](std::size_t size) { return static_cast<std::ptrdiff_t>(size); };
  const smem::Array<T> in_array(context, input), out_array(context, before);
  const smem::GridView<const T> in(in_array.buffer(), c.size, c.in.layout(c.size));
  const smem::GridView<T> out(out_array.buffer(), out_size, c.out.layout(out_size));
  try {
    const cl::Event event = smem::convolve2d(context, in, out, kernel, how, {.variant = c.variant});
    if (event() == nullptr) return {false, "the call returned no event"};
  } catch (const smem::Error& error) {
    if (error.details().argument != "variant")
      return {false, fmt::format("the call failed: {}", error.what())};
    return refusal(error);
  }
  std::vector<T> got = out_array.to_host(), expected = before;
  double magnitude = 0;
  for (const double weight : kernel.weights)
    magnitude += std::abs(weight);
  for (std::size_t b = 0; b < out_shape.batch; ++b) {
    for (std::size_t z = 0; z < out_size.depth; ++z) {
      for (std::size_t y = 0; y < out_size.height; ++y) {
        for (std::size_t i = 0; i < out_shape.row_elements(); ++i) {
          const std::size_t at =
              out_shape.offset + b * out_shape.batch_stride + z * out_shape.plane + y * out_shape.pitch + i;
          Summed<T> sum = 0;
          for (std::size_t ky = 0; ky < c.height; ++ky) {
            for (std::size_t kx = 0; kx < c.width; ++kx) {
              const std::size_t k = ky * c.width + kx;
              sum = std::fma(
                  static_cast<Summed<T>>(kernel.weights[how.turned ? kernel.weights.size() - 1 - k : k]),
                  grid.at(b, n(i / c.in.channels * how.stride.x + kx * how.dilation.x) - n(pad.left),
                          n(y * how.stride.y + ky * how.dilation.y) - n(pad.top), n(z), i % c.in.channels),
                  sum);
            }
          }
          expected[at] = stored<T>(sum);
          // Two passes round otherwise: integers may fall to the other side of a half.
          const double off = std::abs(static_cast<double>(got[at]) - static_cast<double>(expected[at]));
          if (c.rank_1 && off <= (std::is_integral_v<T> ? 1 : 1e-5 * (1 + magnitude))) expected[at] = got[at];
        }
      }
    }
  }
  return {false, first_difference(got, expected)};
}

inline Outcome run(const smem::Context& context, const ConvolutionCase& c, Random& random) {
  return c.type == smem::Scalar::uint8 ? run_convolution<std::uint8_t>(context, c, random)
                                       : run_convolution<float>(context, c, random);
}

using ConvolutionSweep = CaseSweep<ConvolutionCase>;

}  // namespace test
