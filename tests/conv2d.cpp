// Convolutions of many channels: every variant, type and shape against plain loops.
#include <smem/smem.hpp>

#include "support/conv2ds.hpp"
#include "support/failure.hpp"
#include "support/reduce_sweep.hpp"

#include <doctest/doctest.h>

#include <algorithm>
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

Conv2d how(std::size_t stride_x, std::size_t stride_y, std::size_t dilation_x, std::size_t dilation_y,
           const smem::Padding& padding, std::size_t groups = 1) {
  return {stride_x, stride_y, dilation_x, dilation_y, padding, groups, {}, Activation::none};
}

/// Odd shapes: primes, one channel, one filter, strides beyond the window, dilation, paddings beyond it.
std::vector<Conv2dCase> shapes() {
  using enum Scalar;
  return {
      {float32, 2, 5, 23, 19, 11, 3, 3, Conv2d::square(1, 1)},
      {float32, 3, 1, 37, 13, 1, 5, 2, how(2, 1, 1, 3, {4, 0, 1, 2})},
      {float32, 1, 40, 7, 7, 70, 1, 1, Conv2d::square(1)},
      {float32, 2, 3, 29, 31, 2, 2, 3, how(3, 4, 1, 1, {0, 1, 2, 0})},
      {float32, 1, 2, 5, 6, 3, 3, 3, how(1, 2, 3, 2, {7, 6, 5, 9})},
      {float32, 2, 6, 17, 11, 6, 3, 3, how(1, 1, 1, 1, {1, 1, 1, 1}, 6)},
      {float32, 1, 6, 33, 9, 9, 3, 1, how(2, 2, 1, 1, {1, 0, 1, 0}, 3)},
      {float32, 1, 17, 150, 3, 5, 3, 3, Conv2d::square(1, 1)},
      {float32, 1, 1, 1, 1, 1, 1, 1, Conv2d::square(1)},
  };
}

}  // namespace

TEST_CASE("conv2d: every variant and shape") {
  const smem::Context context;
  test::Conv2dSweep sweep(context);
  for (const std::string_view variant : smem::conv2d_variants()) {
    std::size_t turn = 0, asked = 0;
    for (Conv2dCase c : shapes()) {
      // Each shape is another program of these: some shapes go by the others alone.
      if (variant == "depthwise" && (c.how.groups != c.in_channels || c.how.dilation.y != 1)) {
        ++turn;
        continue;
      }
      const bool own_program = variant == "direct" || variant == "cpu" || variant == "implicit";
      if (own_program && (c.window_w == 1 || c.how.groups == 3)) {
        ++turn;
        continue;
      }
      ++asked;
      c.variant = variant;
      c.gaps = turn % 2 == 0;
      c.gaps_in_rows = turn % 2 == 0 && variant != "gemm";
      c.bias = turn % 3 == 0;
      c.how.activation = turn % 4 == 0 ? Activation::relu : Activation::none;
      sweep.run(c);
      ++turn;
    }
    const bool runs = test::is_portable_conv2d(variant) || variant == "depthwise" ||
                      (variant == "cpu" && test::has_cpu_variant(context.device()));  // "mma" is of half
    CHECK(sweep.ran() == (runs ? asked : 0));
  }
}

TEST_CASE("conv2d: a filter for each channel") {
  const smem::Context context;
  test::Conv2dSweep sweep(context);
  std::size_t asked = 0;
  const auto run = [&](Conv2dCase c) {
    c.variant = "cpu";
    c.gaps = c.gaps_in_rows = asked % 3 == 1;
    c.bias = asked % 2 == 0;
    sweep.run(c);
    ++asked;
  };
  // Rows shorter than a vector, as long as one or two, and those whose last vector overlaps the one before.
  for (const std::size_t stride : {1, 2}) {
    for (std::size_t width = 1; width <= 37; width += width < 20 ? 1 : 4)
      run({Scalar::float32, 2, 3, width, 7, 3, 3, 3, how(stride, 1, 1, 1, {1, 1, 1, 1}, 3)});
  }
  // Strides down, dilations, paddings of one side and beyond the window, windows that nothing of the input is
  // in.
  run({Scalar::float32, 1, 4, 43, 31, 4, 3, 3, how(2, 3, 1, 1, {0, 2, 5, 0}, 4)});
  run({Scalar::float32, 1, 4, 43, 31, 4, 3, 3, how(1, 1, 5, 4, {9, 8, 0, 3}, 4)});
  run({Scalar::float32, 1, 2, 2, 3, 2, 3, 3, how(1, 2, 1, 1, {40, 9, 30, 12}, 2)});
  Conv2dCase other{Scalar::float64, 2, 5, 29, 23, 5, 5, 2, how(2, 1, 1, 2, {2, 1, 2, 1}, 5)};
  other.how.activation = Activation::gelu;
  run(other);
  CHECK(sweep.ran() == (test::has_cpu_variant(context.device()) ? asked : 0));
}

TEST_CASE("conv2d: tiles that are gathered across rows, planes, images and groups") {
  const smem::Context context;
  test::Conv2dSweep sweep(context);
  std::size_t asked = 0;
  const auto run = [&](Conv2dCase c) {
    c.variant = "implicit";
    c.gaps = asked % 3 != 0;
    c.gaps_in_rows = asked % 3 == 2;
    c.bias = asked % 2 == 0;
    sweep.run(c);
    ++asked;
  };
  using enum Scalar;
  // Several tiles of filters and of results, which end in the middle of a row, a plane, an image and a group;
  // sums of less than a step, of whole steps, and of some more.
  run({float32, 7, 1, 7, 7, 37, 3, 3, Conv2d::square(1, 1)});
  run({float32, 3, 16, 8, 6, 65, 3, 3, Conv2d::square(1, 1)});
  run({float32, 5, 9, 9, 5, 70, 3, 3, how(2, 1, 1, 1, {1, 1, 1, 1})});
  run({float32, 2, 12, 11, 10, 99, 3, 3, how(1, 2, 3, 2, {4, 3, 2, 1}, 3)});
  run({float32, 67, 6, 3, 3, 6, 3, 3, how(1, 1, 1, 1, {0, 0, 0, 0}, 2)});
  run({float32, 2, 8, 5, 4, 33, 3, 3,
       how(1, 1, 1, 1, {5, 6, 5, 6})});  // windows that see nothing of the plane
  // The widest and highest window that has bits for its columns and rows; and one more is refused.
  run({float32, 1, 2, 19, 21, 3, 15, 16, how(1, 1, 1, 1, {7, 8, 7, 7})});
  CHECK(sweep.ran() == asked);
  run({float32, 1, 1, 19, 21, 3, 16, 1, how(1, 1, 1, 1, {})});
  CHECK(sweep.ran() == 0);
}

TEST_CASE("conv2d: a filter for each channel, in registers") {
  const smem::Context context;
  test::Conv2dSweep sweep(context);
  std::size_t asked = 0;
  const auto run = [&](Conv2dCase c) {
    c.variant = "depthwise";
    c.gaps = c.gaps_in_rows = asked % 3 == 1;
    c.bias = asked % 2 == 0;
    sweep.run(c);
    ++asked;
  };
  using enum Scalar;
  for (const std::size_t width : {1, 3, 4, 12, 21})
    run({float32, 2, 3, width, 7, 3, 3, 3, how(1, 1, 1, 1, {1, 1, 1, 1}, 3)});
  run({half, 3, 4, 16, 10, 4, 3, 3, how(1, 1, 1, 1, {1, 1, 1, 1}, 4)});
  run({half, 2, 5, 14, 14, 5, 5, 5, how(1, 1, 1, 1, {2, 2, 2, 2}, 5)});
  run({half, 1, 3, 23, 19, 3, 4, 6, how(2, 2, 1, 1, {3, 3, 3, 3}, 3)});
  Conv2dCase cells{half, 2, 6, 9, 8, 6, 3, 3, how(1, 1, 1, 1, {1, 1, 1, 1}, 6)};
  cells.interleave();
  cells.how.activation = Activation::gelu;
  run(cells);
  // Interleaved channels: four and one of a work-item, tails of rows and columns, gaps, strides; those of
  // windows of many weights by planes.
  const auto run_cells = [&](Conv2dCase c, Activation activation = Activation::none) {
    c.interleave();
    c.how.activation = activation;
    run(c);
  };
  run_cells({float32, 3, 12, 9, 7, 12, 3, 3, how(1, 1, 1, 1, {1, 1, 1, 1}, 12)});
  run_cells({half, 2, 8, 13, 6, 8, 3, 3, how(2, 2, 1, 1, {0, 3, 1, 1}, 8)}, Activation::gelu);
  run_cells({bfloat16, 2, 5, 6, 9, 5, 3, 2, how(1, 2, 1, 1, {1, 1, 1, 1}, 5)});
  run_cells({half, 2, 6, 11, 8, 6, 5, 5, how(1, 1, 1, 1, {2, 2, 2, 2}, 6)});
  run_cells({int8, 2, 12, 10, 5, 12, 3, 3, how(1, 1, 1, 1, {1, 1, 1, 1}, 12)}, Activation::relu);
  run_cells({int8, 1, 6, 10, 9, 6, 5, 4, how(1, 1, 1, 1, {2, 1, 2, 2}, 6)});
  CHECK(sweep.ran() == asked);
  // Windows outside of the plane.
  run({float64, 1, 3, 23, 19, 3, 2, 5, how(2, 1, 1, 1, {5, 0, 1, 9}, 3)});
  CHECK(sweep.ran() == (context.device().fp64 ? 1 : 0));
  run({float32, 1, 3, 23, 19, 3, 3, 3, how(1, 1, 2, 1, {}, 3)});  // dilation
  run({float32, 1, 3, 23, 19, 6, 3, 3, how(1, 1, 1, 1, {}, 3)});  // two filters a channel
  CHECK(sweep.ran() == 0);
}

// For work-groups of two, PoCL 3.1's compiler ended the process.
TEST_CASE("conv2d: few results of few filters a group by tiles") {
  const smem::Context context;
  test::Conv2dSweep sweep(context);
  std::size_t asked = 0;
  const auto run = [&](Conv2dCase c) {
    c.variant = "direct";
    sweep.run(c);
    ++asked;
  };
  run({Scalar::float32, 3, 28, 1, 1, 28, 1, 1, how(1, 1, 1, 1, {0, 1, 0, 0}, 28)});
  run({Scalar::float32, 3, 4, 1, 8, 4, 1, 3, how(3, 3, 1, 1, {}, 4)});
  run({Scalar::float32, 2, 8, 5, 1, 8, 1, 1, how(1, 1, 1, 1, {}, 8)});
  CHECK(sweep.ran() == asked);
}

TEST_CASE("conv2d: half, double and GELU") {
  const smem::Context context;
  test::Conv2dSweep sweep(context);
  for (const Scalar type : {Scalar::half, Scalar::float64}) {
    for (const std::string_view variant : smem::conv2d_variants()) {
      if (type == Scalar::float64 && variant == "naive") continue;
      Conv2dCase c{type, 2, 5, 23, 19, 11, 3, 3, how(2, 1, 1, 2, {1, 2, 0, 2})};
      c.variant = variant;
      c.gaps = true;
      c.bias = true;
      c.how.activation = type == Scalar::half ? Activation::gelu : Activation::none;
      sweep.run(c);
    }
  }
  CHECK(sweep.ran() >= 3);
}

TEST_CASE("conv2d: GELU is within 2 units in the last place, also where it is small") {
  const smem::Context context;
  std::vector<float> numbers(4096);
  for (std::size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = static_cast<float>(i) * 0x1p-8F - 13;
  numbers[0] = -std::numeric_limits<float>::infinity();
  const smem::Array<float> in(context, numbers), weight(context, std::vector<float>{1}),
      out(context, smem::Count{numbers.size()});
  Conv2d how;
  how.activation = Activation::gelu;
  for (const char* variant : {"naive", ""}) {
    CAPTURE(variant);
    smem::conv2d(context, in.grid({64, 64, 1}), weight.grid({1, 1, 1}), out.grid({64, 64, 1}), how,
                 {.variant = variant});
    const std::vector<float> got = out.to_host();
    double worst = 0;
    for (std::size_t i = 1; i < got.size(); ++i) {
      const double x = numbers[i], wanted = 0.5 * x * std::erfc(-x / std::sqrt(2.0));
      if (x != 0)
        worst = std::max(worst, std::abs(got[i] - wanted) / std::ldexp(1.0, std::ilogb(wanted) - 23));
    }
    CHECK(worst <= 2);
    CHECK((got[0] == 0 && std::signbit(got[0])));
  }
}

TEST_CASE("conv2d: the plan's choice, and slices") {
  const smem::Context context;
  test::Conv2dSweep sweep(context);
  for (Conv2dCase c : {Conv2dCase{Scalar::float32, 2, 64, 31, 29, 64, 1, 1, Conv2d::square(1)},
                       Conv2dCase{Scalar::float32, 1, 3, 61, 47, 33, 7, 7, Conv2d::square(2, 3)}}) {
    c.bias = true;
    sweep.run(c);
    c.gaps = c.gaps_in_rows = true;  // no matrix
    sweep.run(c);
  }
  // The columns of all images, and of one image, are more than a slice.
  Conv2dCase c{Scalar::float32, 3, 24, 113, 97, 3, 3, 3, Conv2d::square(1, 1)};
  c.variant = "gemm";
  c.how.groups = 3;
  c.bias = true;
  smem::Conv2dProblem p;
  p.images = 3, p.in_channels = 24, p.width = p.out_width = 113, p.height = p.out_height = 97;
  p.out_channels = 3, p.window.width = p.window.height = 3, p.padding.left = p.padding.top = 1, p.groups = 3;
  const smem::Plan plan = smem::plan_conv2d(context.device(), p, {.variant = "gemm"});
  REQUIRE(!plan.scratch.empty());
  const std::size_t columns = plan.scratch.back().bytes;
  CHECK(columns > 0);
  CHECK(columns <= std::size_t{64} << 20);
  if (context.device().type == smem::DeviceType::cpu) CHECK(columns <= std::size_t{4} << 20);
  CHECK(plan.before.front().entry_point == "conv2d_columns");
  CHECK(plan.entry_point.starts_with("gemm_"));
  CHECK(plan.rounds > 1);
  CHECK(smem::plan_conv2d(context.device(), p, {.variant = "naive"}).before.empty());
  sweep.run(c);
  // Columns whose rows begin at multiples of four.
  c = {Scalar::float32, 2, 3, 12, 11, 9, 3, 3, how(1, 1, 1, 1, {1, 1, 1, 1})};
  c.variant = "gemm";
  c.gaps = true;
  sweep.run(c);
  CHECK(sweep.ran() == 6);
}

TEST_CASE("conv2d: a plan is taken that fits the problem, and no other") {
  const smem::Context context;
  const smem::Array<float> in(context, std::vector<float>(2 * 6 * 5, 1.0F)),
      weights(context, std::vector<float>(3 * 2 * 4, 2.0F)), out(context, smem::Count{3 * 5 * 4});
  smem::Conv2dProblem p;
  p.in_channels = 2, p.width = 6, p.height = 5, p.out_channels = 3, p.window.width = p.window.height = 2;
  p.out_width = 5, p.out_height = 4;
  p.in_alignment = 8, p.out_alignment = 16, p.weight_alignment = 32;
  smem::Plan plan = smem::plan_conv2d(context.device(), p, {.variant = "naive"});
  const auto call = [&] {
    smem::conv2d(context, in.grid({6, 5, 2}), weights.grid({2, 2, 2}, {.batch = 3}), out.grid({5, 4, 3}), {},
                 {.plan = &plan});
  };
  call();
  CHECK(out.to_host() == std::vector<float>(60, 16.0F));
  plan.work_group[0] *= 2;
  CHECK(test::failure_of(call).argument == "plan");
}

TEST_CASE("conv2d: nothing to do") {
  const smem::Context context;
  const smem::Array<float> array(context, smem::Count{64});
  const auto weights = array.grid({3, 3, 2}, {.batch = 3});
  CHECK(smem::conv2d(context, array.grid({2, 2, 2}), weights, array.grid({0, 0, 3}))() != nullptr);
  CHECK(smem::conv2d(context, array.grid({3, 3, 2}), array.grid({3, 3, 2}, {.batch = 0}),
                     array.grid({1, 1, 0}))() != nullptr);
}

TEST_CASE("bad input of conv2d") {
  const smem::Context context, other;
  const smem::Array<float> in(context, std::vector<float>(200, 1.0F)),
      weights(context, std::vector<float>(200, 1.0F));
  const std::vector<float> poison(200, 7.0F);
  const smem::Array<float> out(context, poison), bias(context, smem::Count{8}),
      foreign(other, smem::Count{200});
  const auto from = in.grid({8, 8, 2}), to = out.grid({6, 6, 3});
  const auto filters = weights.grid({3, 3, 2}, {.batch = 3});
  const auto fails = [&](const smem::Grid& a, const smem::Grid& w, const smem::Grid& b,
                         const Conv2d& how = {}, const char* variant = "") {
    const auto error = test::failure_of([&] { smem::conv2d(context, a, w, b, how, {.variant = variant}); });
    CHECK(error.operation == "conv2d");
    return error.argument;
  };
  CHECK(fails(from, filters, to, how(0, 1, 1, 1, {})) == "stride.x");
  CHECK(fails(from, filters, to, how(1, 65536, 1, 1, {})) == "stride.y");
  CHECK(fails(from, filters, to, how(1, 1, 0, 1, {})) == "dilation.x");
  CHECK(fails(from, filters, to, how(1, 1, 1, 0, {})) == "dilation.y");
  CHECK(fails(from, filters, to, how(1, 1, 1, 1, {65536, 0, 0, 0})) == "padding");
  CHECK(fails(from, filters, to, how(1, 1, 1, 1, {}, 0)) == "groups");
  CHECK(fails(from, filters, to, how(1, 1, 1, 1, {}, 2)) == "groups");  // of three filters
  CHECK(fails(from, weights.grid({0, 3, 2}, {.batch = 3}), to) == "weights");
  CHECK(fails(from, weights.grid({3, 3, 1}, {.batch = 3}), to) == "weights");
  CHECK(fails(from, weights.grid({3, 3, 2}, {.pitch = 4, .batch = 3}), to) == "weights");
  CHECK(fails(from, weights.grid({3, 3, 2}, {.batch = 3, .batch_stride = 17}), to) == "weights");
  CHECK(fails(from, weights.grid({3, 3, 2}, {.offset = 150, .batch = 3}), to) == "weights");
  CHECK(fails(from, filters, out.grid({6, 5, 3})) == "out");
  CHECK(fails(from, filters, out.grid({6, 6, 2})) == "out");
  CHECK(fails(from, filters, in.grid({6, 6, 3})) == "out");
  CHECK(fails(from, filters, weights.grid({6, 6, 3})) == "out");
  CHECK(fails(foreign.grid({8, 8, 2}), filters, to) == "in");
  CHECK(fails(in.grid({8, 8, 4}), weights.grid({3, 3, 4}, {.batch = 3}), to) == "in");  // too short
  CHECK(fails(in.grid({8, 8, 2}, {.channels = 2}), filters, to) == "in");
  CHECK(fails(in.grid({0, 8, 2}), filters, out.grid({1, 6, 3}), how(1, 1, 1, 1, {3, 0, 0, 0})) == "in");
  CHECK(fails(from, filters, to, {}, "nosuch") == "variant");
  CHECK(fails(from, filters, out.grid({6, 6, 3}, {.pitch = 7}), {}, "gemm") == "variant");
  Conv2d with;
  with.bias = smem::Vector(bias.buffer()(), Scalar::float32, 4);
  CHECK(fails(from, filters, to, with) == "bias");
  with.bias = smem::Vector(bias.buffer()(), Scalar::half, 3);
  CHECK(fails(from, filters, to, with) == "bias");
  with.bias = smem::Vector(bias.buffer()(), Scalar::float32, 3, 6);
  CHECK(fails(from, filters, to, with) == "bias");
  smem::Grid bytes = from;
  bytes.type = Scalar::uint8;
  smem::Grid byte_filters = filters, byte_out = to;
  byte_filters.type = byte_out.type = Scalar::uint8;
  CHECK(fails(bytes, byte_filters, byte_out) == "in");
  CHECK(fails(from, filters, byte_out) == "out");
  const smem::PlanOverrides tile{.tile_rows = 4};
  CHECK(test::failure_of([&] {
          smem::conv2d(context, from, filters, to, {}, {.overrides = &tile});
        }).operation == "conv2d");
  CHECK(out.to_host() == poison);
}

TEST_CASE("conv2d: without an event, the same results") {
  const smem::Context context;
  const std::size_t width = 20, height = 13, channels = 16, images = 3;
  std::vector<float> numbers(images * channels * width * height), weights(channels * channels * 9);
  for (std::size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = static_cast<float>(i % 11) - 5;
  for (std::size_t i = 0; i < weights.size(); ++i)
    weights[i] = static_cast<float>(i % 7) - 3;
  const smem::Array<float> in(context, numbers), filters(context, weights);
  std::size_t ran = 0;
  for (const std::string variant : {"", "direct", "gemm", "implicit", "winograd_4x4"}) {
    for (const std::size_t window : {1, 3}) {
      for (const std::size_t groups : {1, 2}) {
        CAPTURE(variant);
        CAPTURE(window);
        CAPTURE(groups);
        Conv2d how = Conv2d::square(1, window / 2);
        how.groups = groups, how.winograd = smem::Winograd::f4x4;
        const auto results = [&](bool wants_event) {
          const smem::Array<float> out(context, std::vector<float>(numbers.size(), 77));
          const cl::Event event =
              smem::conv2d(context, in.grid({width, height, channels}, {.batch = images}),
                           filters.grid({window, window, channels / groups}, {.batch = channels}),
                           out.grid({width, height, channels}, {.batch = images}), how,
                           {.variant = variant, .event = wants_event});
          CHECK((event() != nullptr) == wants_event);
          return out.to_host();
        };
        try {
          const std::vector<float> wanted = results(true);  // the first run of a program has an event
          CHECK(results(false) == wanted);
          ++ran;
        } catch (const smem::Error& error) {
          CHECK(error.details().argument == "variant");
        }
      }
    }
  }
  CHECK(ran >= 12);
}
