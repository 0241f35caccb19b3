// Depthwise convolutions of interleaved channels by a ring of rows in local memory, a kernel for NVIDIA's
// sm_80 and later, run on any device: its copies are emulated in plain OpenCL C.
#include <smem/smem.hpp>

#include "support/conv2d_numbers.hpp"
#include "support/targets.hpp"
#include "support/turn.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

using smem::Activation;
using smem::Conv2dProblem;
using smem::Scalar;

namespace {

/// Small whole numbers, of which sums are exact.
template <class T>
std::vector<T> ring_numbers(std::size_t count, unsigned seed) {
  std::vector<T> all(count);
  for (std::size_t i = 0; i < count; ++i)
    all[i] = T(static_cast<float>((i * 7919 + seed * 31) % 5) - 2);
  return all;
}

Conv2dProblem ring_layer(Scalar type, std::size_t images, std::size_t channels, std::size_t width,
                         std::size_t height, smem::Window2d window, smem::Stride stride,
                         const smem::Padding& padding) {
  Conv2dProblem p;
  p.type = p.out = type;
  p.images = images, p.in_channels = p.out_channels = p.groups = channels;
  p.width = width, p.height = height, p.window = window, p.stride = stride, p.padding = padding;
  p.out_width = smem::convolved_size(width, window.width, stride.x, 1, padding.left, padding.right);
  p.out_height = smem::convolved_size(height, window.height, stride.y, 1, padding.top, padding.bottom);
  p.in_interleaved = p.out_interleaved = true;
  p.bias = true;
  const auto alignment = [](std::size_t bytes) { return bytes & (~bytes + 1); };
  p.in_alignment = p.out_alignment = std::min<std::size_t>(64, alignment(channels * smem::size_of(type)));
  return p;
}

double ring_wanted(const Conv2dProblem& p, const auto& in, const auto& weights, const auto& bias,
                   std::size_t n, std::size_t k, std::size_t y, std::size_t x) {
  double sum = static_cast<double>(bias[k]);
  for (std::size_t r = 0; r < p.window.height; ++r) {
    for (std::size_t s = 0; s < p.window.width; ++s) {
      const std::size_t row = y * p.stride.y + r - p.padding.top, col = x * p.stride.x + s - p.padding.left;
      if (row >= p.height || col >= p.width) continue;
      sum += static_cast<double>(in[((n * p.height + row) * p.width + col) * p.in_channels + k]) *
             static_cast<double>(weights[k * p.taps() + r * p.window.width + s]);
    }
  }
  return p.activation == Activation::relu ? std::max(sum, 0.0) : sum;
}

/// When the emulation makes copies: a device may make them at any time from their start to the wait for them.
enum class Copied : long { at_once = 1, late = 2 };

/// Runs the launch of a plan that was made for another device.
template <class T>
void check_ring(const smem::Context& context, const Conv2dProblem& p, const smem::Plan& plan, Copied copied) {
  const std::size_t results = p.images * p.out_channels * p.plane_results();
  const std::vector<T> in = ring_numbers<T>(p.images * p.width * p.height * p.in_channels, 1),
                       weights = ring_numbers<T>(p.out_channels * p.taps(), 2),
                       bias = ring_numbers<T>(p.out_channels, 3);
  const smem::Array<T> in_array(context, in), weight_array(context, weights), bias_array(context, bias),
      out_array(context, std::vector<T>(results + 8, T(77)));
  std::string options;
  for (const auto& [name, text] : plan.text_defines)
    options += "#define " + name + " " + text + "\n";
  auto defines = plan.defines;
  if (copied == Copied::late) defines.emplace_back("WEIGHTS_AT_ONCE", 1);  // of rings 4
  defines.emplace_back("EMULATED", static_cast<long>(copied));
  const smem::Kernel kernel = context.build({.source = options + "#include \"" + plan.kernel_file + "\"\n",
                                             .entry_point = plan.entry_point,
                                             .defines = defines});
  kernel({.global = plan.global, .work_group = plan.work_group}, in_array, weight_array, out_array,
         bias_array, test::conv2d_numbers(p, plan.number("tile_h")));
  const std::vector<T> got = out_array.to_host();
  INFO(smem::name_of(p.type), ", ", p.in_channels, " channels of ", p.width, " x ", p.height, ", windows ",
       p.window.width, " x ", p.window.height, ", tile ", plan.tile_rows, " x ", plan.tile_cols,
       std::string(copied == Copied::late ? ", late copies" : ""));
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < results; ++i) {
    const std::size_t of = i / p.out_channels, at = of % p.plane_results();
    wrong +=
        static_cast<double>(got[i]) == ring_wanted(p, in, weights, bias, of / p.plane_results(),
                                                   i % p.out_channels, at / p.out_width, at % p.out_width)
            ? 0
            : 1;
  }
  CHECK(wrong == 0);
  for (std::size_t i = results; i < got.size(); ++i)
    CHECK(static_cast<double>(got[i]) == 77);
}

/// `rows`, `cols`: of the tile; 0: all rows, and as many columns as the plan takes.
template <class T>
void check_ring(const smem::Context& context, const Conv2dProblem& p, std::size_t rows = 0,
                std::size_t cols = 0) {
  const smem::Plan plan = smem::plan_conv2d(
      test::target("sm_90"), p,
      {.variant = "depthwise", .tile_rows = rows > 0 ? rows : p.out_height, .tile_cols = cols});
  REQUIRE(plan.entry_point == "conv2d_depthwise_ring");
  for (const Copied copied : {Copied::at_once, Copied::late})
    check_ring<T>(context, p, plan, copied);
}

}  // namespace

TEST_CASE("conv2d: depthwise rings, emulated: windows, strides and tails") {
  const smem::Context context;
  if (context.device().local_bytes < std::size_t{128} << 10) return;
  using enum Scalar;
  // Several groups along channels and columns, the last of which has fewer; strips; pieces of 8 bytes.
  if (test::has_turn(0, 6))
    check_ring<smem::half>(context, ring_layer(half, 2, 40, 13, 9, {3, 3}, {1, 1}, {1, 1, 1, 1}));
  if (test::has_turn(1, 6)) {
    Conv2dProblem p = ring_layer(half, 1, 272, 5, 11, {3, 4}, {1, 1}, {2, 2, 2, 2});
    p.activation = Activation::relu;
    check_ring<smem::half>(context, p, 4);
  }
  if (test::has_turn(2, 6))
    check_ring<smem::bfloat16>(context, ring_layer(bfloat16, 2, 12, 10, 9, {4, 2}, {1, 2}, {2, 0, 1, 1}));
  if (test::has_turn(3, 6)) {
    check_ring<smem::half>(context, ring_layer(half, 2, 24, 19, 14, {3, 3}, {2, 2}, {1, 1, 1, 1}), 0, 2);
    check_ring<smem::half>(context, ring_layer(half, 1, 16, 16, 8, {3, 3}, {1, 1}, {1, 1, 1, 1}), 3, 7);
  }
  if (test::has_turn(4, 6))
    check_ring<float>(context, ring_layer(float32, 1, 68, 21, 12, {5, 3}, {2, 1}, {0, 2, 3, 0}));
  // Windows that see nothing of the plane; a plane of one cell.
  if (test::has_turn(5, 6)) {
    check_ring<smem::half>(context, ring_layer(half, 2, 8, 2, 3, {3, 3}, {1, 2}, {9, 7, 8, 12}));
    check_ring<float>(context, ring_layer(float32, 3, 8, 1, 1, {3, 3}, {1, 1}, {1, 1, 1, 1}));
  }
}
