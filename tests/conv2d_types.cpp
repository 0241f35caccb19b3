// Convolutions of many channels of bfloat16 and int8, and into the type of the sums: every variant and shape
// against plain loops, those of int8 exactly.
#include <smem/smem.hpp>

#include "support/conv2ds.hpp"
#include "support/failure.hpp"
#include "support/reduce_sweep.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

using smem::Activation;
using smem::Conv2d;
using smem::Scalar;
using test::Conv2dCase;

namespace {

/// Types of the input, and whether results are of the sums' type.
struct LayerTypes {
  Scalar type;
  bool to_sums;
};
constexpr LayerTypes kLayersOf[] = {
    {Scalar::bfloat16, false}, {Scalar::int8, false}, {Scalar::half, true}, {Scalar::bfloat16, true}};

/// One window and stride, so that the shapes of a variant and type share programs: tails of all tiles, lines
/// at multiples of four elements and not, groups, windows that see nothing of the plane.
std::vector<Conv2dCase> layers() {
  std::vector<Conv2dCase> all{{Scalar::half, 2, 5, 13, 9, 11, 3, 3, Conv2d::square(1, 1)},
                              {Scalar::half, 1, 12, 8, 6, 33, 3, 3, Conv2d::square(1, 1)},
                              {Scalar::half, 3, 16, 7, 5, 20, 3, 3, Conv2d::square(1, 4)},
                              {Scalar::half, 1, 6, 21, 4, 9, 3, 3, Conv2d::square(2, 1)}};
  all[0].gaps = all[0].gaps_in_rows = true;
  all[1].bias = true;
  all[2].how.groups = 2;
  all[2].bias = true;
  all[2].how.activation = Activation::relu;
  all[2].gaps = true;
  all[3].how.groups = 3;
  all[3].how.dilation = {2, 1};
  all[3].interleave();
  return all;
}

smem::Grid grid_of(const smem::Array<unsigned char>& array, Scalar type, const smem::GridSize& size,
                   const smem::GridLayout& layout = {}) {
  return {array.buffer()(), type, size, layout};
}

}  // namespace

TEST_CASE("conv2d: every variant of bfloat16, int8 and results of the sums' type") {
  const smem::Context context;
  test::Conv2dSweep sweep(context);
  for (const std::string_view variant : smem::conv2d_variants()) {
    if (variant.starts_with("winograd")) continue;
    for (const LayerTypes& types : kLayersOf) {
      const Scalar type = types.type;
      const bool to_sums = types.to_sums;
      const smem::Device& device = context.device();
      const bool spills = device.vendor == smem::Vendor::intel && device.type == smem::DeviceType::gpu;
      if (spills && variant == "implicit" && type == Scalar::int8) continue;
      std::size_t asked = 0;
      for (Conv2dCase c : layers()) {
        const bool takes = variant != "gemm" || (!c.in_interleaved && !c.gaps_in_rows);
        if (variant == "depthwise" || !takes) continue;
        c.type = type;
        c.to_sums = to_sums;
        c.variant = variant;
        sweep.run(c);
        ++asked;
      }
      if (variant == "depthwise" || variant == "cpu") {
        for (const std::size_t width : {9, 24}) {
          Conv2dCase c{type, 2, 4, width, 7, 4, 3, 3, Conv2d::square(1, 1)};
          c.how.groups = 4;
          c.to_sums = to_sums;
          c.bias = width == 9;
          c.gaps = c.gaps_in_rows = width == 9;
          c.variant = variant;
          sweep.run(c);
          ++asked;
        }
      }
      CAPTURE(variant);
      CAPTURE(smem::name_of(type));
      const bool runs = test::is_portable_conv2d(variant) || variant == "depthwise" ||
                        (variant == "cpu" && test::has_cpu_variant(context.device()));
      const std::size_t ran = sweep.ran();
      CHECK((ran == (runs ? asked : 0) ||
             ((variant.ends_with("mma") || variant == "matrix_units") && ran == asked) ||
             (variant == "wgmma_few" && ran > 0) ||
             (variant == "wgmma_halo" && ran == asked / 2)));  // two layers have strides or groups
    }
  }
}

TEST_CASE("conv2d: GELU of bfloat16, and the plan's choice for each type") {
  const smem::Context context;
  test::Conv2dSweep sweep(context);
  std::size_t asked = 0;
  for (const auto& [type, to_sums] : kLayersOf) {
    Conv2dCase c{type, 2, 5, 23, 19, 11, 3, 3, Conv2d::square(2, 1)};
    c.to_sums = to_sums;
    c.bias = true;
    c.how.activation = type == Scalar::int8 ? Activation::relu : Activation::gelu;
    sweep.run(c);
    c.interleave();
    sweep.run(c);
    // Cells and planes that are factors as they lie.
    Conv2dCase cells{type, 3, 24, 7, 5, 16, 1, 1, Conv2d::square(1)};
    cells.to_sums = to_sums;
    cells.variant = "gemm";
    cells.bias = true;
    sweep.run(cells);
    cells.interleave();
    cells.how.groups = 2;
    sweep.run(cells);
    asked += 4;
  }
  CHECK(sweep.ran() == asked);
}

TEST_CASE("conv2d: sums of int8 are exact at the ends of the type, and wrap at 32 bits") {
  const smem::Context context;
  // Of -128 times -128 2^17 are 2^31.
  constexpr std::size_t kChannels = std::size_t{1} << 17;
  for (const std::size_t channels : {std::size_t{300}, kChannels}) {
    if (channels == kChannels && !context.device().long_loops) continue;  // refused there
    const std::int32_t wanted = channels == kChannels ? INT32_MIN : 300 * 16384;
    const smem::Array<std::int8_t> in(context, std::vector<std::int8_t>(channels, -128)),
        weights(context, std::vector<std::int8_t>(channels, -128));
    const smem::Array<std::int32_t> out(context, smem::Count{1});
    CAPTURE(channels);
    for (const char* variant : {"naive", "direct", ""}) {
      CAPTURE(variant);
      smem::conv2d(context, in.grid({1, 1, channels}), weights.grid({1, 1, channels}), out.grid({1, 1, 1}),
                   {}, {.variant = variant});
      CHECK(out.to_host()[0] == wanted);
    }
  }
}

TEST_CASE("bad input of conv2d: types") {
  const smem::Context context;
  const std::vector<unsigned char> poison(4096, 7);
  const smem::Array<unsigned char> in(context, poison), weights(context, poison), bias(context, poison),
      out(context, poison);
  using enum Scalar;
  const auto fails = [&](Scalar of_in, Scalar of_weights, Scalar of_out, Conv2d how = {},
                         const char* variant = "") {
    const auto error = test::failure_of([&] {
      smem::conv2d(context, grid_of(in, of_in, {8, 8, 2}),
                   grid_of(weights, of_weights, {3, 3, 2}, {.batch = 3}), grid_of(out, of_out, {6, 6, 3}),
                   how, {.variant = variant});
    });
    CHECK(error.operation == "conv2d");
    return error.argument;
  };
  const auto with_bias = [&](Scalar type) {
    Conv2d how;
    how.bias = smem::Vector(bias.buffer()(), type, 3);
    return how;
  };
  const auto gelu = [] {
    Conv2d how;
    how.activation = Activation::gelu;
    return how;
  };
  // Input and filters have one type.
  CHECK(fails(half, bfloat16, half) == "weights");
  CHECK(fails(int8, uint8, int32) == "weights");
  CHECK(fails(float32, int8, float32) == "weights");
  for (const Scalar other : {uint8, int16, int32, e4m3})
    CHECK(fails(other, other, other) == "in");
  // Results have the type of the sums, or of 16 bits the input's.
  CHECK(fails(int8, int8, int8) == "out");
  CHECK(fails(int8, int8, float32) == "out");
  CHECK(fails(half, half, bfloat16) == "out");
  CHECK(fails(bfloat16, bfloat16, half) == "out");
  CHECK(fails(bfloat16, bfloat16, int32) == "out");
  CHECK(fails(float32, float32, half) == "out");
  if (context.device().fp64) CHECK(fails(float64, float64, float32) == "out");
  // A bias has the type of the results.
  CHECK(fails(int8, int8, int32, with_bias(int8)) == "bias");
  CHECK(fails(int8, int8, int32, with_bias(float32)) == "bias");
  CHECK(fails(bfloat16, bfloat16, float32, with_bias(bfloat16)) == "bias");
  CHECK(fails(bfloat16, bfloat16, bfloat16, with_bias(float32)) == "bias");
  CHECK(fails(int8, int8, int32, gelu()) == "activation");
  Conv2d winograd;
  winograd.winograd = smem::Winograd::f4x4;
  CHECK(fails(bfloat16, bfloat16, float32, winograd, "winograd_4x4") == "variant");
  CHECK(out.to_host() == poison);
}
