// Depthwise convolutions of interleaved channels, without copies to planes: every width of packs, type,
// window, stride and dilation against plain loops.
#include <smem/smem.hpp>

#include "support/conv2ds.hpp"
#include "support/failure.hpp"
#include "support/reduce_sweep.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

using smem::Activation;
using smem::Conv2d;
using smem::Scalar;
using test::Conv2dCase;

namespace {

/// A layer of `channels`, a filter for each.
Conv2dCase layer(Scalar type, std::size_t images, std::size_t channels, std::size_t width, std::size_t height,
                 std::size_t window_w, std::size_t window_h, const Conv2d& how) {
  Conv2dCase c{type, images, channels, width, height, channels, window_w, window_h, how};
  c.how.groups = channels;
  c.variant = "depthwise";
  c.interleave();
  return c;
}

Conv2d padded(std::size_t stride_x, std::size_t stride_y, const smem::Padding& padding) {
  return {.stride = {stride_x, stride_y}, .padding = padding};
}

bool runs_here(const smem::Device& device) {
  return device.vendor != smem::Vendor::intel || device.type != smem::DeviceType::gpu;
}

}  // namespace

TEST_CASE("conv2d: depthwise cells: packs of every width and type") {
  const smem::Context context;
  test::Conv2dSweep sweep(context);
  std::size_t asked = 0, turn = 0;
  using enum Scalar;
  for (const Scalar type : {half, bfloat16, int8, float32, float64}) {
    if (type == float64 && !context.device().fp64) continue;
    // Packs of 8, 4, 2 and 1 channels where the type and the registers have them; several groups of packs,
    // the last of which has some beyond the last channel.
    for (const std::size_t channels : {8, 20, 6, 7, 272}) {
      Conv2dCase c = layer(type, 2, channels, channels == 272 ? 3 : 13, 9, 3, 3, Conv2d::square(1, 1));
      c.bias = turn % 2 == 0;
      c.gaps = turn % 3 == 1;
      c.gaps_in_rows = turn % 6 == 1;
      c.gap = 16;
      c.how.activation = turn % 4 == 3 ? Activation::relu : Activation::none;
      c.tile_cols = channels == 20 ? 4 : channels == 6 ? 2 : 0;
      c.to_sums = (type == half || type == bfloat16) && channels == 20;
      sweep.run(c);
      ++asked, ++turn;
    }
    // Cells at places where packs do not begin.
    Conv2dCase loose = layer(type, 2, 8, 5, 6, 3, 3, Conv2d::square(1, 1));
    loose.gaps = loose.gaps_in_rows = true;
    sweep.run(loose);
    ++asked;
  }
  CHECK(sweep.ran() == (runs_here(context.device()) ? asked : 0));
}

TEST_CASE("conv2d: depthwise cells: windows, strides, dilations and paddings") {
  const smem::Context context;
  test::Conv2dSweep sweep(context);
  std::size_t asked = 0;
  const auto run = [&](Conv2dCase c, Activation activation = Activation::none) {
    c.bias = asked % 2 == 0;
    c.how.activation = activation;
    sweep.run(c);
    ++asked;
  };
  using enum Scalar;
  run(layer(half, 2, 16, 14, 14, 5, 5, Conv2d::square(1, 2)));
  run(layer(half, 1, 8, 11, 17, 7, 7, Conv2d::square(1, 3)));
  run(layer(half, 3, 8, 9, 10, 1, 1, Conv2d::square(1)), Activation::gelu);
  run(layer(bfloat16, 2, 12, 10, 9, 4, 2, padded(1, 1, {2, 0, 1, 1})), Activation::gelu);
  run(layer(half, 2, 16, 15, 14, 3, 3, Conv2d::square(2, 1)));
  run(layer(int8, 2, 16, 21, 20, 5, 5, Conv2d::square(2, 2)), Activation::relu);
  run(layer(half, 1, 24, 19, 23, 3, 5, padded(1, 2, {1, 2, 1, 2})));
  run(layer(float32, 1, 4, 23, 22, 2, 3, padded(3, 4, {1, 0, 0, 1})));
  run(layer(half, 1, 8, 13, 12, 1, 2, padded(3, 3, {0, 0, 0, 0})));  // cells and rows between windows
  // Windows that see nothing of the plane; planes of one cell, of one row, of one column.
  run(layer(half, 2, 8, 2, 3, 3, 3, padded(1, 2, {9, 7, 8, 12})));
  run(layer(half, 3, 8, 1, 1, 3, 3, Conv2d::square(1, 1)));
  run(layer(half, 1, 8, 33, 1, 3, 3, Conv2d::square(1, 1)));
  run(layer(half, 1, 8, 1, 33, 3, 3, Conv2d::square(1, 1)));
  // Dilations of the plane's size and of more, those that divide it, and with strides.
  for (const smem::Dilation dilation : {smem::Dilation{2, 3}, {5, 1}, {1, 40}, {3, 2}}) {
    Conv2dCase c = layer(half, 2, 8, 17, 22, 3, 3, padded(1, 1, {dilation.x, dilation.y, 4, dilation.y}));
    c.how.dilation = dilation;
    run(c);
    c.how.stride = {2, 2};
    run(c);
  }
  CHECK(sweep.ran() == (runs_here(context.device()) ? asked : 0));
}

TEST_CASE("conv2d: depthwise cells: tiles by hand") {
  const smem::Context context;
  test::Conv2dSweep sweep(context);
  std::size_t asked = 0;
  for (const std::size_t rows : {1, 4, 6, 100}) {
    for (const std::size_t cols : {1, 3, 4, 8}) {
      Conv2dCase c = layer(Scalar::half, 2, 8, 13, 11, 3, 3, Conv2d::square(1, 1));
      c.tile_rows = rows, c.tile_cols = cols;
      sweep.run(c);
      ++asked;
    }
  }
  if (!runs_here(context.device())) return;
  CHECK(sweep.ran() == asked);
}

TEST_CASE("conv2d: depthwise windows: packs, strides, paddings and tails") {
  const smem::Context context;
  test::Conv2dSweep sweep(context);
  std::size_t asked = 0;
  const auto run = [&](Conv2dCase c, std::size_t cols) {
    c.tile_rows = 1, c.tile_cols = cols;
    c.bias = asked % 2 == 0;
    c.gaps = asked % 3 == 1;
    c.gaps_in_rows = asked % 6 == 1;
    c.gap = 16;
    c.how.activation = asked % 4 == 3 ? Activation::relu : Activation::none;
    c.to_sums = c.type == Scalar::bfloat16;
    sweep.run(c);
    ++asked;
  };
  using enum Scalar;
  // Packs of 8, 4, 2 and 1 channels; groups with packs beyond the last one, and with results of no image.
  run(layer(half, 2, 16, 15, 14, 3, 3, Conv2d::square(2, 1)), 1);
  run(layer(half, 2, 272, 9, 7, 3, 3, Conv2d::square(1, 1)), 2);
  run(layer(bfloat16, 3, 20, 13, 9, 5, 5, Conv2d::square(1, 2)), 1);
  run(layer(half, 1, 6, 21, 8, 3, 5, padded(1, 2, {1, 2, 1, 2})), 4);
  run(layer(int8, 2, 24, 14, 11, 3, 3, Conv2d::square(2, 1)), 3);
  run(layer(float32, 2, 7, 23, 22, 2, 3, padded(3, 4, {1, 0, 0, 1})), 1);
  run(layer(float32, 2, 260, 8, 6, 3, 3, Conv2d::square(2, 1)), 2);
  if (context.device().fp64) run(layer(float64, 2, 6, 11, 9, 3, 3, Conv2d::square(1, 1)), 2);
  // Windows that see nothing of the plane; planes of one cell.
  run(layer(half, 2, 8, 2, 3, 3, 3, padded(1, 2, {9, 7, 8, 12})), 1);
  run(layer(half, 3, 8, 1, 1, 3, 3, Conv2d::square(1, 1)), 2);
  CHECK(sweep.ran() == asked);
}

TEST_CASE("conv2d: depthwise planes: several of a group, bands, gaps, and every type") {
  const smem::Context context;
  test::Conv2dSweep sweep(context);
  std::size_t asked = 0;
  const auto run = [&](Scalar type, std::size_t images, std::size_t channels, std::size_t width,
                       std::size_t height, std::size_t window_w, std::size_t window_h, const Conv2d& how) {
    Conv2dCase c{type, images, channels, width, height, channels, window_w, window_h, how};
    c.how.groups = channels;
    c.variant = "depthwise";
    c.bias = asked % 2 == 0;
    c.gaps = asked % 3 == 1;  // also between the planes of a group
    c.gap = 1;
    c.how.activation = asked % 4 == 3 ? Activation::gelu : Activation::none;
    if (type == Scalar::int8) c.how.activation = Activation::relu;
    c.to_sums = type == Scalar::bfloat16;
    sweep.run(c);
    ++asked;
  };
  using enum Scalar;
  // Planes that begin anywhere in a vector, and fewer elements than one has.
  for (int turn = 0; turn < 2; ++turn) {
    run(half, 3, 48, 7, 7, 3, 3, Conv2d::square(1, 1));
    run(half, 2, 30, 5, 9, 5, 5, Conv2d::square(1, 2));
    run(bfloat16, 3, 20, 6, 13, 3, 2, padded(2, 1, {1, 0, 1, 1}));
    run(int8, 5, 9, 3, 1, 3, 3, Conv2d::square(1, 1));
    run(float32, 2, 26, 14, 8, 3, 3, Conv2d::square(2, 1));
    run(half, 90, 1, 1, 2, 3, 3, Conv2d::square(1, 1));
  }
  run(half, 2, 12, 9, 10, 7, 7, Conv2d::square(1, 3));
  // Bands, the last of which has fewer rows; rows of more work-items than a group has.
  run(half, 2, 2, 57, 131, 3, 3, Conv2d::square(1, 1));
  run(half, 1, 3, 61, 99, 5, 4, padded(2, 2, {3, 1, 0, 2}));
  run(float32, 1, 2, 1100, 11, 3, 3, Conv2d::square(2, 1));
  run(half, 1, 2, 530, 37, 3, 3, Conv2d::square(1, 1));
  // Bands that see nothing of the plane.
  run(half, 2, 3, 200, 4, 3, 3, padded(1, 1, {9, 70, 1, 61}));
  if (context.device().fp64) run(float64, 2, 8, 9, 7, 3, 3, Conv2d::square(1, 1));
  CHECK(sweep.ran() == (runs_here(context.device()) ? asked : 0));
}

TEST_CASE("conv2d: depthwise planes whose rows are whole vectors") {
  const smem::Context context;
  test::Conv2dSweep sweep(context);
  std::size_t asked = 0;
  const auto run = [&](Scalar type, std::size_t width, std::size_t height, std::size_t window_w,
                       std::size_t window_h, const Conv2d& how) {
    Conv2dCase c{type, 2, 3, width, height, 3, window_w, window_h, how};
    c.how.groups = 3;
    c.variant = "depthwise";
    c.bias = asked % 2 == 0;
    c.gaps = asked % 3 == 1;
    c.gap = 16;
    c.how.activation = asked % 4 == 3 ? Activation::relu : Activation::none;
    c.to_sums = type == Scalar::half && asked % 2 == 1;
    sweep.run(c);
    ++asked;
  };
  using enum Scalar;
  // Vectors of 8 and 4 elements; tails of rows; windows beside, before and after their results.
  for (int turn = 0; turn < 2; ++turn) {
    run(half, 56, 13, 3, 3, Conv2d::square(1, 1));
    run(half, 28, 5, 3, 3, Conv2d::square(1, 1));
    run(float32, 32, 9, 3, 2, padded(1, 1, {1, 0, 1, 0}));
    run(half, 112, 14, 3, 3, Conv2d::square(2, 1));
    run(bfloat16, 40, 7, 5, 1, padded(1, 1, {0, 0, 4, 2}));
  }
  run(float32, 80, 11, 2, 4, padded(2, 2, {1, 3, 0, 1}));
  run(int8, 48, 6, 3, 3, padded(1, 2, {2, 1, 0, 1}));
  run(half, 64, 3, 1, 3, padded(1, 1, {0, 9, 0, 8}));
  // Rows of one vector or two, of which windows leave the plane on both sides.
  run(half, 8, 7, 3, 3, Conv2d::square(1, 1));
  run(half, 16, 9, 3, 3, Conv2d::square(2, 1));
  run(float32, 8, 5, 3, 3, padded(1, 1, {2, 1, 0, 1}));
  run(float32, 16, 7, 2, 3, Conv2d::square(1, 1));
  CHECK(sweep.ran() == (runs_here(context.device()) ? asked : 0));
}

TEST_CASE("conv2d: depthwise: weights that are infinite or NaN add nothing where they meet padding") {
  const smem::Context context;
  std::size_t ran = 0;
  // `only`: the one weight that is infinite; else many are infinite or NaN.
  const auto check = [&]<class T = float>(const Conv2d& convolution, std::size_t channels, std::size_t width,
                                          bool interleaved, const std::string& variant, std::size_t rows,
                                          std::size_t cols, T = {}, std::optional<std::size_t> only = {}) {
    CAPTURE(variant);
    CAPTURE(interleaved);
    CAPTURE(width);
    const std::size_t height = 11, window = 3;
    Conv2d how = convolution;
    how.groups = channels;
    const smem::GridSize size{width, height},
        out_size{smem::convolved_size(width, window, how.stride.x, how.dilation.x, how.padding.left,
                                      how.padding.right),
                 smem::convolved_size(height, window, how.stride.y, how.dilation.y, how.padding.top,
                                      how.padding.bottom)};
    std::vector<T> in(2 * channels * width * height), weights(channels * window * window), add(channels);
    for (std::size_t i = 0; i < in.size(); ++i)
      in[i] = T(static_cast<float>(i % 7) - 2.5F);
    in[in.size() / 2] = T(std::numeric_limits<float>::infinity());
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const std::size_t turn = only ? (i == *only ? 0 : 1) : i % 13;
      weights[i] = T(turn == 0   ? std::numeric_limits<float>::infinity()
                     : turn == 5 ? std::numeric_limits<float>::quiet_NaN()
                                 : static_cast<float>(i % 5) - 2);
    }
    for (std::size_t k = 0; k < channels; ++k)
      add[k] = T(static_cast<float>(k));
    const smem::Array<T> input(context, in), filters(context, weights), bias(context, add);
    const std::size_t results = 2 * channels * out_size.width * out_size.height;
    const smem::Array<T> out(context, std::vector<T>(results + channels, T(77.0F)));  // and a cell behind
    how.bias = bias.vector();
    const auto grid = [&](const smem::Array<T>& array, const smem::GridSize& cells) {
      return interleaved ? array.grid(cells, {.channels = channels, .batch = 2})
                         : array.grid({cells.width, cells.height, channels}, {.batch = 2});
    };
    const smem::PlanOverrides fixed{.tile_rows = rows, .tile_cols = cols};
    try {
      smem::conv2d(context, grid(input, size), filters.grid({window, window}, {.batch = channels}),
                   grid(out, out_size), how,
                   {.variant = variant, .overrides = rows + cols > 0 ? &fixed : nullptr});
    } catch (const smem::Error& error) {
      CHECK(error.details().argument == "variant");  // devices without it
      return;
    }
    ++ran;
    const auto place = [&](const smem::GridSize& cells, std::size_t n, std::size_t k, std::size_t y,
                           std::size_t x) {
      const std::size_t cell = y * cells.width + x, all = cells.width * cells.height;
      return interleaved ? (n * all + cell) * channels + k : (n * channels + k) * all + cell;
    };
    const std::vector<T> got = out.to_host();
    std::size_t wrong = 0, nans = 0, numbers = 0;
    for (std::size_t i = 0; i < results; ++i) {
      const std::size_t plane = i / (out_size.width * out_size.height), n = plane / channels,
                        k = plane % channels, y = i / out_size.width % out_size.height,
                        x = i % out_size.width;
      float sum = static_cast<float>(add[k]);
      for (std::size_t t = 0; t < window * window; ++t) {
        const std::size_t row = y * how.stride.y + t / window * how.dilation.y - how.padding.top,
                          col = x * how.stride.x + t % window * how.dilation.x - how.padding.left;
        if (row < height && col < width)
          sum += static_cast<float>(weights[k * window * window + t]) *
                 static_cast<float>(in[place(size, n, k, row, col)]);
      }
      const float is = static_cast<float>(got[place(out_size, n, k, y, x)]);
      (std::isnan(sum) ? nans : numbers) += 1;
      wrong += std::isnan(sum) ? !std::isnan(is) : is != sum;
    }
    CHECK(wrong == 0);
    CHECK(((nans > 0 || only) && numbers > 0));
    for (std::size_t i = results; i < got.size(); ++i)
      CHECK(static_cast<float>(got[i]) == 77);
  };
  const Conv2d near = Conv2d::square(1, 1), far{.padding = {3, 2, 2, 3}}, wide = Conv2d::square(2, 1);
  for (const Conv2d& how : {near, far, wide}) {
    for (const char* variant : {"naive", "direct", "cpu", "depthwise"}) {
      // Planes in local memory, and by vectors; of few cells.
      check(how, 6, 13, false, variant, 0, 0);
      check(how, 4, 64, false, variant, 0, 0);
      check(how, 4, 13, true, variant, 0, 0);
    }
    for (const std::size_t channels : {7, 2, 12}) {  // packs of 1, 2 and 4
      check(how, channels, 14, true, "depthwise", 0, 2);
      check(how, channels, 14, true, "depthwise", 1, 3);  // whole windows, packs of at most 2
    }
    // Whole windows of halves, which look at four weights at once: one of them alone is infinite.
    for (const std::size_t only : {0, 1, 300, 301, 302, 303, 863})
      check(how, 96, 14, true, "depthwise", 1, 3, smem::half{}, only);
    Conv2d apart = how;
    apart.dilation = {2, 3};
    for (const char* variant : {"naive", "direct", "cpu", "depthwise"})
      check(apart, 4, 14, true, variant, 0, 0);
  }
  CHECK(ran >= 3 * 8);
}
