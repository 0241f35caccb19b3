// Convolutions and correlations against plain loops: kernels of any size, strides, dilations, paddings.
#include <smem/smem.hpp>

#include "support/convolutions.hpp"
#include "support/failure.hpp"
#include "support/reduce_sweep.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using smem::Boundary;
using test::ConvolutionCase;

namespace {

const std::vector<smem::GridSize> kGridSizes{{1, 1}, {7, 5}, {37, 29}, {131, 9}, {5, 67}, {64, 33}};

void on_images(test::ConvolutionSweep& sweep, ConvolutionCase c) {
  std::size_t turn = 0;
  for (const smem::GridSize& size : kGridSizes) {
    c.size = size;
    c.size.depth = 1 + turn % 2;
    c.in.batch = c.out.batch = 1 + turn % 3 / 2;
    c.in.offset = turn % 4 == 1 ? 0 : 3;
    c.in.row_gap = 1 + turn % 3;
    c.out.offset = turn % 2;
    c.out.plane_gap = turn % 5;
    const std::size_t far_x = std::max(c.width * c.how.dilation.x, c.how.padding ? c.how.padding->left : 0),
                      far_y = std::max(c.height * c.how.dilation.y, c.how.padding ? c.how.padding->top : 0);
    const Boundary boundary = c.how.edges.boundary.value_or(Boundary::zero);
    if (far_x > smem::reach_of(boundary, size.width) || far_y > smem::reach_of(boundary, size.height))
      continue;
    sweep.run(c);
    ++turn;
  }
}

}  // namespace

TEST_CASE("convolve2d: every variant, stride, dilation, padding and anchor") {
  const smem::Context context;
  test::ConvolutionSweep sweep(context);
  std::size_t ran = 0;
  for (const char* variant : {"naive", "tiled", "cpu"}) {
    for (const Boundary boundary : {Boundary::zero, Boundary::constant, Boundary::clamp, Boundary::reflect,
                                    Boundary::mirror, Boundary::wrap}) {
      ConvolutionCase c;
      c.variant = variant;
      c.how.edges.boundary = boundary;
      c.width = 3, c.height = 4;
      on_images(sweep, c);
      c.how.turned = true;
      c.how.anchor_x = 2, c.how.anchor_y = 0;
      on_images(sweep, c);
      c.how.stride.x = 2, c.how.stride.y = 3;
      on_images(sweep, c);
      c.how.dilation.x = 3, c.how.dilation.y = 2;
      on_images(sweep, c);
      c.how.stride.x = c.how.stride.y = 1;
      on_images(sweep, c);
      c.how = {.stride = {3}, .dilation = {1, 3}, .padding = smem::Padding{2, 0, 1, 4}, .edges = {boundary}};
      on_images(sweep, c);
      c.how = {.stride = {1, 5}, .padding = smem::Padding{0, 1, 5, 0}, .edges = {boundary}};
      c.width = 6, c.height = 1;
      on_images(sweep, c);
    }
    ran += sweep.ran();
  }
  CHECK(ran > 300);
}

// Of grids that are large enough for a GPU to have such groups for all of its units.
TEST_CASE("convolve2d: tiles of known windows, several results a work-item") {
  const smem::Context context;
  test::ConvolutionSweep sweep(context);
  ConvolutionCase c;
  c.variant = "tiled";
  c.width = 3, c.height = 2;
  c.how.edges.boundary = Boundary::mirror;
  c.how.dilation.x = 2;
  c.size = {1103, 1021};
  sweep.run(c);
  c.how.stride.y = 2, c.how.dilation.y = 3;
  c.in.row_gap = 3;
  sweep.run(c);
  CHECK(sweep.ran() == 2);
}

TEST_CASE("convolve2d: rows of registers, for windows that lie beside their results") {
  const smem::Context context;
  test::ConvolutionSweep sweep(context);
  ConvolutionCase c;
  c.variant = "rows";
  c.width = 4, c.height = 2;
  c.how.edges.boundary = Boundary::clamp;
  on_images(sweep, c);
  c.how.turned = true;
  c.how.padding = smem::Padding{0, 0, 0, 0};  // the windows that are all there
  on_images(sweep, c);
  c.how.padding = smem::Padding{9, 0, 1, 3};  // some lie wholly in the padding
  c.how.edges.boundary = Boundary::constant;
  on_images(sweep, c);
  c.type = smem::Scalar::uint8;
  c.in.channels = c.out.channels = 4;
  c.how.padding.reset();
  on_images(sweep, c);
  CHECK(sweep.ran() > 18);
}

TEST_CASE("convolve2d: rows of registers, of windows with strides and dilations") {
  const smem::Context context;
  test::ConvolutionSweep sweep(context);
  ConvolutionCase c;
  c.variant = "rows";
  // Rows at multiples of 64 bytes, and where they come to lie; each has vectors and ends.
  const auto on_both = [&](std::size_t channels, std::size_t bytes) {
    for (const bool aligned : {true, false}) {
      for (const smem::GridSize& size : {smem::GridSize{203, 61}, {70, 2}}) {
        c.size = size;
        c.in = c.out = {.channels = channels};
        const auto gap = [&](std::size_t width) {
          return aligned ? 64 - width * channels * bytes % 64 / bytes : 1;
        };
        c.in.row_gap = gap(size.width);
        c.out.row_gap = gap(smem::convolved_size(
            size.width, c.width, c.how.stride.x, c.how.dilation.x,
            c.how.padding ? c.how.padding->left : c.width / 2 * c.how.dilation.x,
            c.how.padding ? c.how.padding->right : (c.width - 1 - c.width / 2) * c.how.dilation.x));
        sweep.run(c);
      }
    }
  };
  c.width = 3, c.height = 3;
  c.how.stride = {2, 2};
  on_both(1, 4);
  c.how.edges.boundary = Boundary::constant;
  c.how.dilation = {1, 3};
  on_both(4, 4);
  c.how = {.stride = {2, 3}, .dilation = {2, 2}, .padding = smem::Padding{7, 0, 1, 5}};
  c.width = 4, c.height = 2;
  on_both(1, 4);
  c.how = {.turned = true, .dilation = {5, 4}, .edges = {Boundary::clamp}};
  c.width = 3, c.height = 4;
  on_both(3, 4);
  c.type = smem::Scalar::uint8;
  c.how = {.stride = {1, 4}, .dilation = {2, 6}};
  on_both(1, 1);
  c.how.stride = {4, 2};
  on_both(2, 1);
  // Bytes of two channels whose rows begin anywhere have single elements on NVIDIA, which are parts of cells.
  CHECK(sweep.ran() >= 22);
}

TEST_CASE("convolve2d: rows of bytes by weights that int8 holds, which lie beside their results") {
  const smem::Context context;
  test::ConvolutionSweep sweep(context);
  ConvolutionCase c;
  c.type = smem::Scalar::uint8;
  c.variant = "rows";
  c.width = 3, c.height = 2;
  c.int8_weights = true;
  const auto on_aligned = [&](std::size_t channels) {
    for (const smem::GridSize& size : {smem::GridSize{37, 19}, {128, 4}, {5, 33}}) {
      c.size = size;
      c.in = c.out = {.channels = channels};
      c.in.row_gap = c.out.row_gap = 64 - size.width * channels % 64;
      sweep.run(c);
    }
  };
  c.how.padding = smem::Padding{0, 0, 2, 1};
  on_aligned(1);
  c.how.padding = smem::Padding{2, 1, 0, 0};
  c.how.turned = true;
  on_aligned(3);
  c.width = 2;
  c.how.padding.reset();
  on_aligned(4);
  CHECK(sweep.ran() == 9);
}

TEST_CASE("convolve2d: kernels of rank 1") {
  const smem::Context context;
  test::ConvolutionSweep sweep(context);
  ConvolutionCase c;
  c.rank_1 = true;
  c.how.edges.boundary = Boundary::reflect;
  for (const smem::Separable separable : {smem::Separable::automatic, smem::Separable::always}) {
    c.how.separable = separable;
    c.width = 7, c.height = 5;
    c.type = smem::Scalar::float32;
    on_images(sweep, c);
    c.how.turned = true;
    c.how.anchor_x = 0;
    on_images(sweep, c);
    c.how.anchor_x.reset();
    c.type = smem::Scalar::uint8;
    c.width = 4, c.height = 6;
    on_images(sweep, c);
  }
  CHECK(sweep.ran() > 20);
  // What is not one is found out.
  const smem::Array<float> in(context, std::vector<float>(100, 1.0F)), out(context, smem::Count{100});
  std::vector<double> weights(25, 0.5);
  weights[7] = 0.5001;
  const auto error = test::failure_of([&] {
    smem::convolve2d(context, in.grid({10, 10}), out.grid({10, 10}), {5, 5, weights},
                     {.separable = smem::Separable::always});
  });
  CHECK(error.operation == "convolve2d");
  CHECK(error.argument == "kernel");
  smem::convolve2d(context, in.grid({10, 10}), out.grid({10, 10}), {5, 5, weights});
  CHECK(out.to_host()[55] == doctest::Approx(12.5001));
}

TEST_CASE("bad input of convolve2d") {
  const smem::Context context;
  const std::vector<float> poison(100, 77.0F);
  const smem::Array<float> in(context, std::vector<float>(100, 1.0F)), out(context, poison);
  const std::vector<double> weights(6, 1.0);
  const auto fail = [&](const smem::ConvolutionKernel& kernel, const smem::Convolution& how = {},
                        const smem::GridSize& size = {10, 10}) {
    return test::failure_of([&] {
      smem::convolve2d(context, in.grid({10, 10}), out.grid(size), kernel, how);
    });
  };
  CHECK(fail({0, 3, {}}).argument == "kernel.width");
  CHECK(fail({3, 3, weights}).argument == "kernel.weights");
  CHECK(fail({3, 2, weights}, {.stride = {0}}).argument == "stride.x");
  CHECK(fail({3, 2, weights}, {.dilation = {1, 0}}).argument == "dilation.y");
  CHECK(fail({3, 2, weights}, {.dilation = {std::size_t{1} << 40}}).argument == "dilation.x");
  CHECK(fail({3, 2, weights}, {.edges = {Boundary::leave}}).argument == "boundary");
  CHECK(fail({3, 2, weights}, {.anchor_x = 3}).argument == "anchor_x");
  CHECK(fail({3, 2, weights}, {.anchor_y = 1, .padding = smem::Padding{}}).argument == "anchor_y");
  auto error = fail({3, 2, weights}, {}, {9, 10});
  CHECK(error.argument == "out");
  CHECK(error.expected == "10 x 10 x 1 cells");
  CHECK(fail({3, 2, weights}, {.stride = {2}}).expected == "5 x 10 x 1 cells");
  CHECK(fail({3, 2, weights}, {.stride = {2}, .separable = smem::Separable::always}, {5, 10}).argument ==
        "separable");
  CHECK(out.to_host() == poison);
}
