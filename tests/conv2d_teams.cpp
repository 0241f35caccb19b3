// Convolutions by "implicit", whose teams have a part of the weights each, as a Hopper's plans choose
// them, run on any device.
#include <smem/smem.hpp>

#include "support/conv2d_numbers.hpp"
#include "support/targets.hpp"
#include "support/turn.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

using smem::Conv2dProblem;
using smem::Scalar;

namespace {

/// Small whole numbers, of which sums are exact.
template <class T>
std::vector<T> team_numbers(std::size_t count, unsigned seed) {
  std::vector<T> all(count);
  for (std::size_t i = 0; i < count; ++i)
    all[i] = T(static_cast<float>((i * 7919 + seed * 31) % 5) - 2);
  return all;
}

/// Planes of one image or more, of odd sizes.
Conv2dProblem planes_of(Scalar type, std::size_t images, std::size_t channels, std::size_t filters,
                        smem::Window2d window, std::size_t stride = 1, std::size_t groups = 1) {
  Conv2dProblem p;
  p.type = p.out = type;
  p.images = images, p.in_channels = channels, p.out_channels = filters, p.groups = groups;
  p.width = 9, p.height = 7, p.window = window, p.stride = {stride, stride};
  p.padding = {1, 0, 0, 1};
  p.out_width = smem::convolved_size(p.width, window.width, stride, 1, 1, 0);
  p.out_height = smem::convolved_size(p.height, window.height, stride, 1, 0, 1);
  p.bias = true;
  p.activation = smem::Activation::relu;
  p.in_alignment = p.out_alignment = p.weight_alignment = smem::size_of(type);
  return p;
}

double team_wanted(const Conv2dProblem& p, const auto& in, const auto& weights, const auto& bias,
                   std::size_t n, std::size_t k, std::size_t y, std::size_t x) {
  double sum = static_cast<double>(bias[k]);
  const std::size_t depth = p.group_channels(), first = k / p.group_filters() * depth;
  for (std::size_t c = 0; c < depth; ++c) {
    for (std::size_t r = 0; r < p.window.height; ++r) {
      for (std::size_t s = 0; s < p.window.width; ++s) {
        const std::size_t row = y * p.stride.y + r - p.padding.top, col = x * p.stride.x + s - p.padding.left;
        if (row >= p.height || col >= p.width) continue;
        sum += static_cast<double>(in[((n * p.in_channels + first + c) * p.height + row) * p.width + col]) *
               static_cast<double>(weights[(k * depth + c) * p.taps() + r * p.window.width + s]);
      }
    }
  }
  return std::max(sum, 0.0);
}

/// Runs the launch of a plan for a Hopper of so many units, which has `rows` filters a tile.
template <class T>
void check_teams(const smem::Context& context, const Conv2dProblem& p, std::size_t units, std::size_t rows) {
  smem::Device hopper = test::target("sm_90");
  hopper.compute_units = units;
  const smem::Plan plan = smem::plan_conv2d(hopper, p, {.variant = "implicit"});
  CAPTURE(plan.to_string());
  const auto is_teams = [](const auto& define) { return define.first == "TEAMS" && define.second > 1; };
  REQUIRE(std::any_of(plan.defines.begin(), plan.defines.end(), is_teams));
  REQUIRE(plan.tile_rows == rows);
  const std::size_t results = p.images * p.out_channels * p.plane_results();
  const std::vector<T> in = team_numbers<T>(p.images * p.in_channels * p.width * p.height, 1),
                       weights = team_numbers<T>(p.out_channels * p.depth(), 2),
                       bias = team_numbers<T>(p.out_channels, 3);
  const smem::Array<T> in_array(context, in), weight_array(context, weights), bias_array(context, bias),
      out_array(context, std::vector<T>(results + 8, T(77)));
  std::string options;
  for (const auto& [name, text] : plan.text_defines)
    options += "#define " + name + " " + text + "\n";
  const smem::Kernel kernel = context.build({.source = options + "#include \"" + plan.kernel_file + "\"\n",
                                             .entry_point = plan.entry_point,
                                             .defines = plan.defines});
  kernel({.global = plan.global, .work_group = plan.work_group}, in_array, weight_array, out_array,
         bias_array, test::conv2d_numbers(p));
  const std::vector<T> got = out_array.to_host();
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < results; ++i) {
    const std::size_t of = i / p.plane_results(), at = i % p.plane_results();
    const double wanted = team_wanted(p, in, weights, bias, of / p.out_channels, of % p.out_channels,
                                      at / p.out_width, at % p.out_width);
    wrong += static_cast<double>(got[i]) == wanted ? 0 : 1;
  }
  CHECK(wrong == 0);
  for (std::size_t i = results; i < got.size(); ++i)
    CHECK(static_cast<double>(got[i]) == 77);
}

}  // namespace

TEST_CASE("conv2d: implicit products whose teams share the weights") {
  const smem::Context context;
  if (context.device().local_bytes < std::size_t{128} << 10 || context.device().max_work_group < 512) return;
  using enum Scalar;
  // Tails of filters and results, images in a tile, a last team without weights, groups of channels, strides.
  if (test::has_turn(0, 4)) check_teams<float>(context, planes_of(float32, 2, 37, 21, {3, 3}), 132, 16);
  if (test::has_turn(1, 4)) check_teams<float>(context, planes_of(float32, 4, 130, 126, {3, 2}, 2, 2), 8, 32);
  if (test::has_turn(2, 4)) check_teams<smem::half>(context, planes_of(half, 1, 70, 9, {5, 3}), 132, 16);
  if (test::has_turn(3, 4)) {
    Conv2dProblem p = planes_of(float32, 1, 256, 18, {1, 1}, 1);
    p.padding = {};
    p.out_width = p.width, p.out_height = p.height;
    check_teams<float>(context, p, 132, 16);
  }
}
