// Convolutions of interleaved channels, and by matrix units, which need them.
#include <smem/smem.hpp>

#include "support/conv2ds.hpp"
#include "support/failure.hpp"
#include "support/reduce_sweep.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

using smem::Activation;
using smem::Conv2d;
using smem::Scalar;
using test::Conv2dCase;

namespace {

constexpr std::string_view kUnitVariants[] = {"mma", "wgmma", "matrix_units"};

bool has_units(const smem::Context& context, std::string_view variant, Scalar type = Scalar::half) {
  smem::Conv2dProblem p;
  p.type = type;
  p.out = test::usual_result(type);
  p.in_channels = p.out_channels = 8;
  p.width = p.height = p.out_width = p.out_height = 4;
  p.window.width = p.window.height = 1;
  try {
    smem::plan_conv2d(context.device(), p, {.variant = std::string(variant)});
    return true;
  } catch (const smem::Error&) {
    return false;
  }
}

/// What a convolution of interleaved halves gives.
std::vector<float> by_units(const smem::Context& context, std::string_view variant,
                            const smem::GridSize& size, std::size_t channels, std::size_t filters,
                            std::size_t window, const std::vector<smem::half>& in,
                            const std::vector<smem::half>& weights) {
  const smem::Array<smem::half> input(context, in), filter(context, weights),
      out(context, smem::Count{size.width * size.height * filters});
  smem::conv2d(context, input.grid(size, {.channels = channels}),
               filter.grid({window, window}, {.channels = channels, .batch = filters}),
               out.grid(size, {.channels = filters}), Conv2d::square(1, window / 2),
               {.variant = std::string(variant)});
  std::vector<float> numbers;
  for (const smem::half x : out.to_host())
    numbers.push_back(static_cast<float>(x));
  return numbers;
}

}  // namespace

namespace {

void ones_and_single_weights(const smem::Context& context, std::string_view variant) {
  const smem::GridSize size{8, 8};
  const std::size_t channels = 16, filters = 16, cells = 64;
  // All ones: a result counts the weights of its window that lie in the plane.
  for (const std::size_t window : {1, 3}) {
    CAPTURE(window);
    const std::vector<smem::half> in(cells * channels, smem::half(1.0F)),
        weights(filters * window * window * channels, smem::half(1.0F));
    const std::vector<float> got = by_units(context, variant, size, channels, filters, window, in, weights);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < cells * filters && wrong < 4; ++i) {
      const std::size_t x = i / filters % 8, y = i / filters / 8, reach = window / 2;
      const std::size_t across = window - (x < reach ? 1 : 0) - (x + reach > 7 ? 1 : 0),
                        down = window - (y < reach ? 1 : 0) - (y + reach > 7 ? 1 : 0);
      const auto wanted = static_cast<float>(across * down * channels);
      CAPTURE(i);
      CHECK(got[i] == wanted);
      wrong += got[i] == wanted ? 0 : 1;
    }
  }
  // One weight of one filter: its results are the input's channel, moved; the others are 0.
  std::vector<smem::half> in(cells * channels);
  for (std::size_t i = 0; i < in.size(); ++i)
    in[i] = smem::half(static_cast<float>(i));
  for (const std::size_t place : {std::size_t{0}, std::size_t{1}, 3 * channels + 9, 8 * channels + 15}) {
    CAPTURE(place);
    std::vector<smem::half> weights(filters * 9 * channels, smem::half(0.0F));
    const std::size_t filter = place % filters, tap = place / channels, channel = place % channels;
    weights[filter * 9 * channels + place] = smem::half(1.0F);
    const std::vector<float> got = by_units(context, variant, size, channels, filters, 3, in, weights);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < cells * filters && wrong < 4; ++i) {
      const std::size_t x = i / filters % 8 + tap % 3, y = i / filters / 8 + tap / 3;  // in the padded plane
      const bool there = i % filters == filter && x > 0 && x < 9 && y > 0 && y < 9;
      const float wanted = there ? static_cast<float>(in[((y - 1) * 8 + x - 1) * channels + channel]) : 0;
      CAPTURE(i);
      CHECK(got[i] == wanted);
      wrong += got[i] == wanted ? 0 : 1;
    }
  }
}

}  // namespace

TEST_CASE("conv2d: matrix units, ones and single weights") {
  const smem::Context context;
  for (const std::string_view variant : kUnitVariants) {
    CAPTURE(variant);
    if (has_units(context, variant)) ones_and_single_weights(context, variant);
  }
}

TEST_CASE("conv2d: matrix units, every layout and tile") {
  const smem::Context context;
  test::Conv2dSweep sweep(context);
  std::size_t asked = 0;
  const auto run = [&](Conv2dCase c) {
    constexpr Scalar kTypes[] = {Scalar::half, Scalar::bfloat16, Scalar::int8};
    for (const bool in : {false, true}) {
      for (const bool out : {false, true}) {
        c.in_interleaved = in, c.weights_interleaved = asked % 3 != 0, c.out_interleaved = out;
        c.gaps = asked % 4 == 1;
        c.gaps_in_rows = asked % 8 == 1;
        c.bias = asked % 2 == 0;
        c.how.activation = asked % 5 == 4 ? Activation::relu : Activation::none;
        c.to_sums = asked % 7 == 3;
        // Each is a program: the layouts of a layer have the types in turns.
        c.type = kTypes[(asked + asked / 4) % 3];
        for (const std::string_view variant : kUnitVariants) {
          c.variant = variant;
          sweep.run(c);
        }
        ++asked;
      }
    }
  };
  using enum Scalar;
  run({half, 2, 16, 9, 7, 16, 3, 3, Conv2d::square(1, 1)});
  run({half, 3, 64, 8, 8, 64, 3, 3, Conv2d::square(1, 1)});
  run({half, 1, 3, 31, 17, 24, 7, 7, Conv2d::square(2, 3)});
  run({half, 2, 40, 12, 5, 130, 1, 1, Conv2d::square(1)});
  run({half, 2, 72, 16, 14, 136, 3, 2, Conv2d::square(2, 1)});
  Conv2dCase grouped{half, 5, 48, 7, 7, 33, 3, 3, Conv2d::square(1, 1)};
  grouped.how.groups = 3;
  run(grouped);
  Conv2dCase few{half, 2, 12, 11, 13, 18, 2, 3, Conv2d::square(1, 2)};  // channels that are filled up
  few.how.groups = 2;
  few.how.dilation = {2, 3};
  run(few);
  run({half, 40, 32, 7, 7, 256, 3, 3, Conv2d::square(1, 1)});  // of several images in a tile
  std::size_t variants = 0;
  for (const std::string_view variant : kUnitVariants)
    variants += has_units(context, variant) ? 1 : 0;
  CHECK(sweep.ran() == asked * variants);
}

TEST_CASE("conv2d: interleaved channels by every variant") {
  const smem::Context context;
  test::Conv2dSweep sweep(context);
  for (const std::string_view variant : smem::conv2d_variants()) {
    std::size_t turn = 0, asked = 0;
    const auto run = [&](Conv2dCase c) {
      c.variant = variant;
      c.gaps = turn % 2 == 1;
      c.gaps_in_rows = turn % 4 == 1;
      c.bias = turn % 3 != 1;
      ++turn, ++asked;
      sweep.run(c);
    };
    for (const Scalar type : {Scalar::float32, Scalar::half}) {
      Conv2dCase c{type, 2, 6, 13, 9, 10, 3, 3, Conv2d::square(2, 1)};
      c.how.groups = 2;
      c.interleave();
      run(c);
      c.out_interleaved = false;
      run(c);
      c.in_interleaved = false, c.out_interleaved = true;
      run(c);
    }
    const bool runs = (test::is_portable_conv2d(variant) && variant != "gemm") ||
                      (variant == "cpu" && test::has_cpu_variant(context.device()));
    if (variant.ends_with("mma") || variant == "matrix_units") {
      CHECK(sweep.ran() == (has_units(context, variant) ? asked / 2 : 0));
    } else {
      CHECK(sweep.ran() == (runs ? asked : 0));
    }
  }
  // Cells that are rows of a matrix.
  for (const Scalar type : {Scalar::float32, Scalar::half}) {
    Conv2dCase c{type, 3, 24, 7, 5, 16, 1, 1, Conv2d::square(1)};
    c.interleave();
    c.variant = "gemm";
    c.bias = true;
    sweep.run(c);
    c.how.groups = 2;
    c.how.activation = Activation::relu;
    sweep.run(c);
  }
  CHECK(sweep.ran() == 4);
}

TEST_CASE("conv2d: the input and the filters are copied by one launch, in tiles of their own") {
  const smem::Context context;
  test::Conv2dSweep sweep(context);
  std::size_t asked = 0;
  // Several tiles of the filters: vectors of cells and of channels, all cells of odd windows, channels that
  // are filled up.
  for (const auto& [channels, filters, window, width] :
       {std::array{72, 70, 3, 13}, {64, 33, 2, 12}, {130, 9, 5, 8}, {20, 300, 1, 6}}) {
    const auto n = [](int number) { return static_cast<std::size_t>(number); };
    Conv2dCase c{Scalar::half, 2,         n(channels),
                 n(width),     7,         n(filters),
                 n(window),    n(window), Conv2d::square(1, n(window) / 2)};
    c.bias = true;
    c.gaps = asked % 4 == 1;
    c.variant = "matrix_units";
    if (has_units(context, c.variant)) sweep.run(c), ++asked;
    c.variant = "direct";
    c.interleave();
    sweep.run(c), ++asked;
  }
  CHECK(sweep.ran() == asked);
}

TEST_CASE("bad input of conv2d: interleaved channels") {
  const smem::Context context;
  const std::vector<float> poison(400, 7.0F);
  const smem::Array<float> in(context, std::vector<float>(400, 1.0F)), out(context, poison);
  const auto fails = [&](const smem::Grid& a, const smem::Grid& w, const smem::Grid& b) {
    return test::failure_of([&] { smem::conv2d(context, a, w, b); }).argument;
  };
  const auto from = in.grid({8, 8}, {.channels = 6}), to = out.grid({6, 6}, {.channels = 3});
  const auto filters = in.grid({3, 3}, {.channels = 6, .batch = 3});
  CHECK(fails(in.grid({8, 8, 2}, {.channels = 3}), filters, to) == "in");
  CHECK(fails(from, in.grid({3, 3}, {.channels = 5, .batch = 3}), to) == "weights");
  CHECK(fails(from, in.grid({3, 3}, {.channels = 6, .pitch = 19, .batch = 3}), to) == "weights");
  CHECK(fails(from, filters, out.grid({6, 6}, {.channels = 4})) == "out");
  CHECK(fails(in.grid({8, 8}, {.channels = 6, .pitch = 47}), filters, to) == "in");  // rows overlap
  CHECK(fails(in.grid({8, 8}, {.channels = 6, .offset = 20}), filters, to) == "in");
  CHECK(fails(from, filters, out.grid({6, 6}, {.channels = 3, .offset = 300})) == "out");
  CHECK(out.to_host() == poison);
}
