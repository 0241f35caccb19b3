// The kernel of convolutions for NVIDIA's matrix units ("mma"), run on any device: its copies and
// instructions are emulated in plain OpenCL C.
#include <smem/smem.hpp>

#include "support/conv2d_numbers.hpp"
#include "support/targets.hpp"
#include "support/turn.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

using smem::Activation;
using smem::Conv2dProblem;
using smem::Scalar;

namespace {

/// Small whole numbers, of which sums are exact.
template <class T>
std::vector<T> whole_numbers(std::size_t count, unsigned seed) {
  std::vector<T> all(count);
  for (std::size_t i = 0; i < count; ++i)
    all[i] = T(static_cast<float>((i * 7919 + seed * 31) % 5) - 2);
  return all;
}

/// A layer of channels that lie in cells; planes of results, unless out_interleaved.
Conv2dProblem cells_of(Scalar type, Scalar out, std::size_t images, std::size_t channels,
                       std::size_t filters) {
  Conv2dProblem p;
  p.type = type, p.out = out;
  p.images = images, p.in_channels = channels, p.out_channels = filters;
  p.width = 7, p.height = 6;
  p.window = {3, 2};
  p.padding = {1, 1, 1, 0};
  p.out_width = 7, p.out_height = 6;
  p.in_interleaved = p.weights_interleaved = true;
  p.bias = true;
  p.activation = Activation::relu;
  return p;
}

double wanted_of(const Conv2dProblem& p, const auto& in, const auto& weights, const auto& bias, std::size_t n,
                 std::size_t k, std::size_t y, std::size_t x) {
  double sum = static_cast<double>(bias[k]);
  const std::size_t depth = p.group_channels(), first = k / p.group_filters() * depth;
  for (std::size_t r = 0; r < p.window.height; ++r) {
    for (std::size_t s = 0; s < p.window.width; ++s) {
      const std::size_t row = y * p.stride.y + r - p.padding.top, col = x * p.stride.x + s - p.padding.left;
      if (row >= p.height || col >= p.width) continue;
      for (std::size_t c = 0; c < depth; ++c) {
        sum += static_cast<double>(in[((n * p.height + row) * p.width + col) * p.in_channels + first + c]) *
               static_cast<double>(weights[(k * p.taps() + r * p.window.width + s) * depth + c]);
      }
    }
  }
  return std::max(sum, 0.0);
}

/// Runs the launch of a plan that was made for another device.
template <class T, class Result>
void check_emulated(const smem::Context& context, const Conv2dProblem& p) {
  const smem::Plan plan = smem::plan_conv2d(test::target("sm_86"), p, {.variant = "mma"});
  REQUIRE(plan.before.empty());
  const std::size_t results = p.images * p.out_channels * p.plane_results();
  const std::vector<T> in = whole_numbers<T>(p.images * p.width * p.height * p.in_channels, 1),
                       weights = whole_numbers<T>(p.out_channels * p.depth(), 2);
  const std::vector<Result> bias = whole_numbers<Result>(p.out_channels, 3);
  const smem::Array<T> in_array(context, in), weight_array(context, weights);
  const smem::Array<Result> bias_array(context, bias),
      out_array(context, std::vector<Result>(results + 8, Result(77)));
  auto defines = plan.defines;
  defines.emplace_back("EMULATED", 1);
  const smem::Kernel kernel = context.build({.source = "#include \"" + plan.kernel_file + "\"\n",
                                             .entry_point = plan.entry_point,
                                             .defines = defines});
  kernel({.global = plan.global, .work_group = plan.work_group}, in_array, weight_array, out_array,
         bias_array, test::conv2d_numbers(p));
  const std::vector<Result> got = out_array.to_host();
  INFO(smem::name_of(p.type), " to ", smem::name_of(p.out), ", tile ", plan.tile_rows, " x ", plan.tile_cols);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < results && wrong < 4; ++i) {
    const std::size_t image = i / (p.out_channels * p.plane_results()),
                      of = i % (p.out_channels * p.plane_results());
    const std::size_t k = p.out_interleaved ? of % p.out_channels : of / p.plane_results(),
                      at = p.out_interleaved ? of / p.out_channels : of % p.plane_results();
    const double wanted = wanted_of(p, in, weights, bias, image, k, at / p.out_width, at % p.out_width);
    CAPTURE(i);
    CHECK(static_cast<double>(got[i]) == wanted);
    wrong += static_cast<double>(got[i]) == wanted ? 0 : 1;
  }
  for (std::size_t i = results; i < got.size(); ++i)
    CHECK(static_cast<double>(got[i]) == 77);
}

}  // namespace

TEST_CASE("conv2d: NVIDIA's matrix units, emulated") {
  const smem::Context context;
  if (context.device().local_bytes < std::size_t{128} << 10) return;
  using enum Scalar;
  // Tails of results and filters, several images in a tile, groups, and sums of several steps of 128 bytes.
  if (test::has_turn(0, 3)) {
    Conv2dProblem p = cells_of(half, half, 2, 24, 13);
    p.out_alignment = 2;
    check_emulated<smem::half, smem::half>(context, p);
  }
  if (test::has_turn(1, 3)) {
    Conv2dProblem p = cells_of(bfloat16, float32, 3, 48, 40);
    p.groups = 2;
    p.out_interleaved = true;
    check_emulated<smem::bfloat16, float>(context, p);
  }
  if (test::has_turn(2, 3)) {
    Conv2dProblem p = cells_of(int8, int32, 3, 64, 24);
    p.groups = 2;
    p.stride = {2, 1};
    p.out_width = 4;
    p.out_interleaved = true;
    check_emulated<std::int8_t, std::int32_t>(context, p);
    // Pieces of 8 bytes.
    p = cells_of(int8, int32, 2, 8, 10);
    p.out_alignment = 4;
    p.in_alignment = 8;
    p.weight_alignment = 16;
    check_emulated<std::int8_t, std::int32_t>(context, p);
  }
}
