// Convolutions by Winograd's minimal filtering: every size, padding, layout and epilogue against plain loops.
#include <smem/smem.hpp>

#include "support/conv2ds.hpp"
#include "support/environment.hpp"
#include "support/failure.hpp"
#include "support/one_group.hpp"
#include "support/reduce_sweep.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

using smem::Activation;
using smem::Conv2d;
using smem::Scalar;
using smem::Winograd;
using test::Conv2dCase;

namespace {

constexpr std::array<std::pair<const char*, Winograd>, 2> kTilings{
    {{"winograd_2x2", Winograd::f2x2}, {"winograd_4x4", Winograd::f4x4}}};

Conv2dCase winograd_case(std::size_t images, std::size_t channels, std::size_t width, std::size_t height,
                         std::size_t filters, std::size_t padding) {
  return {Scalar::float32, images, channels, width, height, filters, 3, 3, Conv2d::square(1, padding)};
}

/// Whole numbers from -3 to 3, the same for each seed.
std::vector<float> small_numbers(std::size_t count, std::uint64_t stream) {
  test::Random random(stream);
  std::vector<float> numbers(count);
  for (float& number : numbers)
    number = static_cast<float>(random.between(0, 6)) - 3;
  return numbers;
}

/// A convolution of small whole numbers, whose results must be the exact ones.
void check_exact(const smem::Context& context, std::size_t images, std::size_t channels, std::size_t width,
                 std::size_t height, std::size_t filters, std::size_t padding) {
  const Conv2d how{.padding = {padding, padding, padding, padding}, .winograd = Winograd::f2x2};
  const std::size_t out_width = smem::convolved_size(width, 3, 1, 1, padding, padding),
                    out_height = smem::convolved_size(height, 3, 1, 1, padding, padding);
  const std::vector<float> in = small_numbers(images * channels * width * height, 7),
                           weights = small_numbers(filters * channels * 9, 8);
  std::vector<float> expected(images * filters * out_width * out_height);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const std::size_t x = i % out_width, y = i / out_width % out_height,
                      k = i / (out_width * out_height) % filters, n = i / (out_width * out_height * filters);
    double sum = 0;
    for (std::size_t c = 0; c < channels; ++c) {
      for (std::size_t tap = 0; tap < 9; ++tap) {
        const std::size_t row = y + tap / 3 - padding, col = x + tap % 3 - padding;  // wraps before the first
        if (row < height && col < width) {
          sum += static_cast<double>(in[((n * channels + c) * height + row) * width + col]) *
                 static_cast<double>(weights[(k * channels + c) * 9 + tap]);
        }
      }
    }
    expected[i] = static_cast<float>(sum);
  }
  const smem::Array<float> inputs(context, in), filter(context, weights),
      out(context, smem::Count{expected.size()});
  smem::conv2d(context, inputs.grid({width, height, channels}, {.batch = images}),
               filter.grid({3, 3, channels}, {.batch = filters}),
               out.grid({out_width, out_height, filters}, {.batch = images}), how,
               {.variant = "winograd_2x2"});
  CHECK(out.to_host() == expected);
}

}  // namespace

TEST_CASE("conv2d by minimal filtering: small whole numbers give exact results") {
  const smem::Context context;
  for (const std::size_t channels : {1, 3, 16, 64}) {
    CAPTURE(channels);
    check_exact(context, 2, channels, 9, 7, 5, 1);
    check_exact(context, 1, channels, 17, 33, 16, channels % 3);
  }
}

TEST_CASE("conv2d by minimal filtering: every size and padding") {
  const smem::Context context;
  test::Conv2dSweep sweep(context);
  std::size_t asked = 0;
  for (const auto& [variant, allowed] : kTilings) {
    for (std::size_t padding = 0; padding <= 2; ++padding) {
      for (std::size_t size = padding == 0 ? 3 : 1; size <= 9; ++size) {
        if (size + 2 * padding < 3) continue;
        Conv2dCase c = winograd_case(1 + size % 3, 3, size, size % 4 + 2, 5, padding);
        if (c.height + 2 * padding < 3) c.height = 3;
        c.how.winograd = allowed;
        c.variant = variant;
        c.bias = size % 2 == 0;
        c.gaps = size % 3 == 0;
        c.gaps_in_rows = size % 6 == 0;
        sweep.run(c);
        std::swap(c.width, c.height);
        c.how.padding = {padding, 1, 0, padding + 1};
        if (c.width + padding < 3) c.width = 3;
        sweep.run(c);
        asked += 2;
      }
    }
  }
  CHECK(sweep.ran() == asked);
}

TEST_CASE("conv2d by minimal filtering: channels and filters, several blocks of tiles") {
  const smem::Context context;
  test::Conv2dSweep sweep(context);
  std::size_t asked = 0;
  for (const auto& [variant, allowed] : kTilings) {
    for (const auto& [channels, filters] : std::vector<std::pair<std::size_t, std::size_t>>{
             {1, 1}, {1, 64}, {3, 5}, {16, 1}, {16, 64}, {64, 5}, {70, 66}}) {
      Conv2dCase c = winograd_case(2, channels, 17, 33, filters, 1);
      c.how.winograd = allowed;
      c.variant = variant;
      sweep.run(c);
      c.interleave();
      sweep.run(c);
      asked += 2;
    }
    // A row of tiles that is longer than a block of them, from left of the plane to right of it.
    Conv2dCase wide = winograd_case(2, 2, 301, 5, 3, 2);
    wide.how.winograd = allowed;
    wide.variant = variant;
    wide.how.padding = {11, 0, 13, 2};
    sweep.run(wide);
    wide.gaps = wide.gaps_in_rows = true;
    sweep.run(wide);
    asked += 2;
  }
  CHECK(sweep.ran() == asked);
}

TEST_CASE("conv2d by minimal filtering: every layout and epilogue, groups") {
  const smem::Context context;
  test::Conv2dSweep sweep(context);
  std::size_t asked = 0;
  for (const auto& [variant, allowed] : kTilings) {
    for (std::size_t layouts = 0; layouts < 8; ++layouts) {
      Conv2dCase c = winograd_case(2, 6, 13, 9, 10, 1);
      c.how.winograd = allowed;
      c.variant = variant;
      c.in_interleaved = (layouts & 1) != 0;
      c.weights_interleaved = (layouts & 2) != 0;
      c.out_interleaved = (layouts & 4) != 0;
      c.how.groups = layouts % 3 == 0 ? 2 : 1;
      c.gaps = layouts % 2 == 1;
      c.gaps_in_rows = layouts % 4 == 1;
      // All pairs of the output's layout, the bias and the activation come in the end.
      for (const Activation activation : {Activation::none, Activation::relu, Activation::gelu}) {
        if (layouts % 4 != 0 && activation != Activation::none) continue;
        for (const bool bias : {false, true}) {
          c.how.activation = activation;
          c.bias = bias;
          sweep.run(c);
          ++asked;
        }
      }
    }
    // Rows that are written in vectors; and a filter for each channel.
    Conv2dCase aligned = winograd_case(2, 3, 12, 6, 4, 1);
    aligned.how.winograd = allowed;
    aligned.how.activation = Activation::relu;
    aligned.variant = variant;
    sweep.run(aligned);
    Conv2dCase depthwise = winograd_case(1, 5, 11, 8, 5, 1);
    depthwise.how.winograd = allowed;
    depthwise.how.groups = 5;
    depthwise.variant = variant;
    sweep.run(depthwise);
    asked += 2;
  }
  CHECK(sweep.ran() == asked);
}

namespace {

void check_slices(const smem::Context& context) {
  test::Conv2dSweep sweep(context);
  for (const auto& [variant, allowed] : kTilings) {
    smem::Conv2dProblem p;
    p.images = 5, p.in_channels = 12, p.width = p.out_width = 61, p.height = p.out_height = 59;
    p.out_channels = 4, p.window.width = p.window.height = 3, p.padding.left = p.padding.top = 1;
    p.winograd = allowed;
    // More images until there are three slices at least.
    while (smem::plan_conv2d(context.device(), p, {.variant = variant}).rounds < 3)
      p.images += std::max<std::size_t>(2, p.images / 4);
    const smem::Plan plan = smem::plan_conv2d(context.device(), p, {.variant = variant});
    CAPTURE(plan.to_string());
    REQUIRE(plan.before.size() >= 2);
    CHECK(plan.before[0].entry_point.starts_with("conv2d_winograd_filters"));
    CHECK(plan.before[1].entry_point.starts_with("conv2d_winograd_input"));
    CHECK(plan.after.back().entry_point.starts_with("conv2d_winograd_output"));
    CHECK(plan.entry_point.starts_with("gemm"));
    CHECK(plan.scratch.back().bytes <= std::size_t{513} << 20);
    if (context.device().type != smem::DeviceType::cpu) continue;  // whose slices are small
    Conv2dCase c = winograd_case(p.images, 12, 61, 59, 4, 1);
    c.how.winograd = allowed;
    c.variant = variant;
    c.bias = true;
    sweep.run(c);
    c.interleave();
    sweep.run(c);
    CHECK(sweep.ran() == 2);
  }
}

}  // namespace

TEST_CASE("conv2d by minimal filtering: slices, of which the last is smaller") {
  const test::Variable clamp("SMEM_CLAMP", "cache=64K");
  const smem::Context context;
  check_slices(context);
}

TEST_CASE(
    "conv2d by minimal filtering: each launch waits for the one before it, also in a queue that does not") {
  const test::Variable clamp("SMEM_CLAMP", "cache=64K");
  const smem::Context context;
  cl_int status = CL_SUCCESS;
  const cl::CommandQueue out_of_order(clCreateCommandQueue(context.cl_context()(), context.cl_device()(),
                                                           CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &status));
  if (status == CL_SUCCESS) check_slices(smem::Context(out_of_order));
}

TEST_CASE("conv2d by minimal filtering: smaller devices, and one group") {
  for (const char* limits : {"local=0", "work_group=64", "local=512,work_group=1", ""}) {
    CAPTURE(limits);
    const test::Variable clamp("SMEM_CLAMP", limits);
    const smem::Context context;
    test::Conv2dSweep sweep(context);
    std::size_t asked = 0;
    for (const auto& [variant, allowed] : kTilings) {
      for (const bool interleaved : {false, true}) {
        Conv2dCase c = winograd_case(2, 5, 23, 9, 11, 1);
        c.how.winograd = allowed;
        c.variant = variant;
        c.bias = true;
        if (interleaved) c.interleave();
        sweep.run(c);
        const test::OneGroup all_jobs_in_one;
        sweep.run(c);
        asked += 2;
      }
    }
    CHECK(sweep.ran() == asked);
  }
}

TEST_CASE("conv2d by minimal filtering: the same bits twice, and errors as documented") {
  const smem::Context context;
  constexpr std::size_t kSize = 32, kFilters = 16;
  for (const std::size_t channels : {64, 256}) {
    test::Random random(11);
    const auto numbers = [&](std::size_t count) {
      std::vector<float> all(count);
      for (float& number : all)
        number = static_cast<float>(random.between(0, 1U << 20)) * 0x1p-19F - 1;
      return all;
    };
    const std::vector<float> in = numbers(channels * kSize * kSize),
                             weights = numbers(kFilters * channels * 9);
    const smem::Array<float> inputs(context, in), filters(context, weights),
        out(context, smem::Count{kFilters * kSize * kSize});
    const auto by = [&](const char* variant, Winograd allowed) {
      smem::conv2d(context, inputs.grid({kSize, kSize, channels}),
                   filters.grid({3, 3, channels}, {.batch = kFilters}), out.grid({kSize, kSize, kFilters}),
                   {.padding = {1, 1, 1, 1}, .winograd = allowed}, {.variant = variant});
      return out.to_host();
    };
    std::vector<double> exact(kFilters * kSize * kSize);
    double largest = 0;
    for (std::size_t i = 0; i < exact.size(); ++i) {
      const std::size_t x = i % kSize, y = i / kSize % kSize, k = i / kSize / kSize;
      for (std::size_t c = 0; c < channels; ++c) {
        for (std::size_t tap = 0; tap < 9; ++tap) {
          const std::size_t row = y + tap / 3 - 1, col = x + tap % 3 - 1;
          if (row < kSize && col < kSize) {
            exact[i] += static_cast<double>(in[(c * kSize + row) * kSize + col]) *
                        static_cast<double>(weights[(k * channels + c) * 9 + tap]);
          }
        }
      }
      largest = std::max(largest, std::abs(exact[i]));
    }
    // Twice what was measured.
    for (const auto& [variant, allowed, most] : {std::tuple{"winograd_2x2", Winograd::f2x2, 2e-6},
                                                 std::tuple{"winograd_4x4", Winograd::f4x4, 5e-6}}) {
      const std::vector<float> got = by(variant, allowed);
      CHECK(by(variant, allowed) == got);
      double worst = 0;
      for (std::size_t i = 0; i < exact.size(); ++i)
        worst = std::max(worst, std::abs(static_cast<double>(got[i]) - exact[i]) / largest);
      CAPTURE(variant);
      CAPTURE(channels);
      MESSAGE(variant << ", " << channels << " channels: largest error " << worst
                      << " of the largest result");
      CHECK(worst <= most);
    }
  }
}

TEST_CASE("bad input of conv2d: minimal filtering") {
  const smem::Context context;
  const std::vector<float> poison(400, 7.0F);
  const smem::Array<float> in(context, std::vector<float>(400, 1.0F)), out(context, poison);
  const auto failure = [&](const Conv2d& how, std::size_t window, std::size_t out_size, const char* variant) {
    return test::failure_of([&] {
      smem::conv2d(context, in.grid({8, 8, 2}), in.grid({window, window, 2}, {.batch = 3}),
                   out.grid({out_size, out_size, 3}), how, {.variant = variant});
    });
  };
  const auto refused = [&](const Conv2d& how, std::size_t window, std::size_t out_size, const char* variant,
                           std::string_view reason) {
    const auto error = failure(how, window, out_size, variant);
    CHECK(error.operation == "conv2d");
    CHECK(error.argument == "variant");
    CHECK_MESSAGE(test::contains(error.got, std::string(reason)), error.got);
  };
  const Conv2d allowed{.winograd = Winograd::f4x4};
  for (const auto& [variant, least] : kTilings) {
    CAPTURE(variant);
    Conv2d how = allowed;
    how.stride = {2, 2};
    refused(how, 3, 3, variant, "windows of 3 x 3");
    how = allowed;
    how.dilation = {2, 1};
    how.padding = {1, 0, 1, 0};
    refused(how, 3, 6, variant, "windows of 3 x 3");
    refused(allowed, 5, 4, variant, "windows of 3 x 3");
    refused({}, 3, 6, variant, "does not allow");
  }
  refused({.winograd = Winograd::f2x2}, 3, 6, "winograd_4x4", "does not allow");
  Conv2d unknown;
  unknown.winograd = static_cast<Winograd>(3);
  CHECK(failure(unknown, 3, 6, "").argument == "winograd");
  CHECK(out.to_host() == poison);
  // Other types are refused, and what is not asked for by name is made by another variant.
  for (const Scalar type : {Scalar::half, Scalar::float64}) {
    if (type == Scalar::float64 && !context.device().fp64) continue;
    smem::Conv2dProblem p;
    p.type = p.out = type, p.in_channels = p.out_channels = 64, p.winograd = Winograd::f4x4;
    p.width = p.height = 58, p.out_width = p.out_height = 56, p.window = {3, 3};
    CHECK(test::failure_of([&] {
            smem::plan_conv2d(context.device(), p, {.variant = "winograd_4x4"});
          }).argument == "variant");
    CHECK_FALSE(smem::plan_conv2d(context.device(), p).variant.starts_with("winograd"));
  }
  smem::Conv2dProblem strided;
  strided.in_channels = strided.out_channels = 64, strided.winograd = Winograd::f4x4;
  strided.width = strided.height = 57, strided.out_width = strided.out_height = 28, strided.window = {3, 3};
  strided.stride = {2, 2};
  CHECK_FALSE(smem::plan_conv2d(context.device(), strided).variant.starts_with("winograd"));
}
