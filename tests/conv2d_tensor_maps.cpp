// Convolutions by Hopper's matrix units whose windows are copied by tensor maps: every tile, tiles that
// several groups share, and what maps hold at most. Elsewhere the variant is refused.
#include <smem/smem.hpp>

#include "support/conv2ds.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <utility>
#include <vector>

using smem::Activation;
using smem::Conv2d;
using smem::Scalar;
using test::Conv2dCase;

namespace {

/// Tails of results, filters and channels, several images in a tile, several taps and channels, windows that
/// see nothing of the plane, strides and dilations along one axis.
std::vector<Conv2dCase> layers_of_maps() {
  std::vector<Conv2dCase> all{{Scalar::half, 3, 64, 9, 7, 72, 3, 3, Conv2d::square(1, 1)},
                              {Scalar::half, 2, 72, 13, 11, 66, 3, 2, Conv2d::square(2, 1)},
                              {Scalar::half, 2, 256, 15, 14, 140, 3, 3, {}},
                              {Scalar::half, 9, 48, 5, 5, 40, 1, 1, Conv2d::square(3)},
                              {Scalar::half, 1, 144, 21, 13, 24, 5, 4, {}}};
  all[2].how.groups = 2;
  all[2].how.dilation = {2, 3};
  all[2].how.padding = {5, 1, 4, 2};
  all[4].how.stride = {8, 1};
  all[4].how.padding = {100, 30, 90, 0};
  return all;
}

/// Whether the plan of a case on this device has maps.
bool has_maps(const smem::Device& device, const Conv2dCase& c) {
  smem::Conv2dProblem p;
  p.type = c.type, p.out = c.out();
  p.images = c.images, p.in_channels = c.in_channels, p.out_channels = c.out_channels;
  p.width = c.width, p.height = c.height, p.window = {c.window_w, c.window_h};
  p.stride = c.how.stride, p.dilation = c.how.dilation, p.padding = c.how.padding, p.groups = c.how.groups;
  p.out_width =
      smem::convolved_size(c.width, c.window_w, p.stride.x, p.dilation.x, p.padding.left, p.padding.right);
  p.out_height =
      smem::convolved_size(c.height, c.window_h, p.stride.y, p.dilation.y, p.padding.top, p.padding.bottom);
  try {
    const smem::Plan plan = smem::plan_conv2d(
        device, p, {.variant = "wgmma", .tile_rows = c.tile_rows, .tile_cols = c.tile_cols});
    return plan.number("maps_area") > 0;
  } catch (const smem::Error&) {
    return false;
  }
}

}  // namespace

TEST_CASE("conv2d: windows by tensor maps, every tile") {
  const smem::Context context;
  test::Conv2dSweep sweep(context);
  constexpr Scalar kTypes[] = {Scalar::half, Scalar::bfloat16, Scalar::int8};
  std::size_t turn = 0, asked = 0;
  for (const auto& [rows, cols] : {std::pair<std::size_t, std::size_t>{256, 128},
                                   {192, 192},
                                   {128, 256},
                                   {128, 128},
                                   {128, 64},
                                   {64, 256},
                                   {64, 128},
                                   {64, 64}}) {
    for (Conv2dCase c : layers_of_maps()) {
      c.variant = "wgmma";
      c.tile_rows = rows, c.tile_cols = cols;
      c.type = kTypes[turn / 5 % 3];
      c.in_interleaved = turn % 3 != 0, c.weights_interleaved = turn % 4 != 0,
      c.out_interleaved = turn % 2 == 0;
      c.gaps = turn % 3 == 1;
      c.bias = turn % 4 == 1;
      c.how.activation = turn % 7 == 3 ? Activation::relu : Activation::none;
      c.to_sums = turn % 11 == 5;
      ++turn;
      if (!has_maps(context.device(), c)) continue;
      ++asked;
      sweep.run(c);
    }
  }
  CHECK(sweep.ran() == asked);
  if (context.device().retargeting) CHECK(asked >= 30);
}

TEST_CASE("conv2d: windows by tensor maps, tiles that several groups share") {
  const smem::Context context;
  test::Conv2dSweep sweep(context);
  std::size_t asked = 0;
  for (Conv2dCase c : {Conv2dCase{Scalar::half, 1, 512, 7, 7, 96, 3, 3, Conv2d::square(1, 1)},
                       Conv2dCase{Scalar::bfloat16, 1, 256, 14, 14, 70, 3, 3, Conv2d::square(2, 1)},
                       Conv2dCase{Scalar::int8, 2, 1024, 5, 9, 64, 1, 1, Conv2d::square(2)}}) {
    c.variant = "wgmma";
    c.interleave();
    for (const bool out : {true, false}) {
      c.out_interleaved = out;
      c.bias = out;
      if (!has_maps(context.device(), c)) continue;
      ++asked;
      sweep.run(c);
      sweep.run(c);  // counters are zeros again
    }
  }
  CHECK(sweep.ran() == 2 * asked);
  if (context.device().retargeting) CHECK(asked == 6);
}
