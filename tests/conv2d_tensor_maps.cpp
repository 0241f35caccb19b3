// Convolutions by Hopper's matrix units whose windows are copied by tensor maps: every tile, tiles that
// several groups share, and what maps hold at most. Elsewhere the variant is refused.
#include <smem/smem.hpp>

#include "support/conv2ds.hpp"
#include "support/targets.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <string_view>
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

TEST_CASE("conv2d: windows by tensor maps, groups of channels that are computed as one") {
  const smem::Context context;
  test::Conv2dSweep sweep(context);
  std::size_t turn = 0, asked = 0;
  for (const Scalar type : {Scalar::half, Scalar::bfloat16, Scalar::int8}) {
    for (std::size_t i = 0; i < 4; ++i) {
      // 4, 8 and 16 channels a group of half, twice as many of int8; as many and fewer filters.
      const std::size_t each = (std::size_t{4} << turn % 3) * (type == Scalar::int8 ? 2 : 1),
                        groups = 128 / each * 2;
      Conv2dCase c{type, 3, each * groups,
                   11,   9, turn % 2 == 0 ? each * groups : groups * 3,
                   3,    3, Conv2d::square(1 + turn % 2, 1)};
      if (turn % 2 == 1 && turn > 5) c.out_channels = groups * 24;
      c.variant = "wgmma";
      c.how.groups = groups;
      c.tile_rows = 256, c.tile_cols = 64;  // which gathers no single group
      c.in_interleaved = turn % 4 != 1, c.weights_interleaved = turn % 3 != 0,
      c.out_interleaved = turn % 5 != 2;
      c.gaps = turn % 3 == 1;
      c.bias = turn % 2 == 1;
      c.to_sums = turn % 7 == 3;
      c.how.activation = turn % 6 == 4 ? Activation::relu : Activation::none;
      ++turn;
      if (!has_maps(context.device(), c)) continue;
      ++asked;
      sweep.run(c);
    }
  }
  CHECK(sweep.ran() == asked);
  if (context.device().retargeting) CHECK(asked == 12);
}

TEST_CASE("conv2d: infinities and NaNs of a group of channels that is computed with others") {
  const smem::Context context;
  if (!context.device().retargeting) return;
  const smem::GridSize size{9, 8};
  const std::size_t channels = 64, groups = 16;
  std::vector<smem::half> in(2 * size.width * size.height * channels),
      weights(channels * 9 * channels / groups);
  for (std::size_t i = 0; i < in.size(); ++i)
    in[i] = smem::half(i % 997 == 0 ? INFINITY : i % 1499 == 0 ? NAN : static_cast<float>(i % 7) - 3);
  for (std::size_t i = 0; i < weights.size(); ++i)
    weights[i] = smem::half(static_cast<float>(i % 5) - 2);
  const smem::Array<smem::half> input(context, in), filters(context, weights);
  for (const bool interleaved : {true, false}) {
    CAPTURE(interleaved);
    const smem::PlanOverrides merged{.tile_rows = 256, .tile_cols = 64};  // which gathers no single group
    const auto results = [&](std::string_view variant) {
      const smem::Array<smem::half> out(context, smem::Count{in.size()});
      const smem::Grid to = interleaved
                                ? smem::Grid(out.grid(size, {.channels = channels, .batch = 2}))
                                : smem::Grid(out.grid({size.width, size.height, channels}, {.batch = 2}));
      Conv2d how = Conv2d::square(1, 1);
      how.groups = groups;
      how.activation = Activation::relu;
      smem::conv2d(context, input.grid(size, {.channels = channels, .batch = 2}),
                   filters.grid({3, 3}, {.channels = channels / groups, .batch = channels}), to, how,
                   {.variant = variant, .overrides = variant == "wgmma" ? &merged : nullptr});
      return out.to_host();
    };
    const auto got = results("wgmma"), wanted = results("naive");
    std::size_t wrong = 0, nans = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
      const auto a = static_cast<float>(got[i]), b = static_cast<float>(wanted[i]);
      nans += std::isnan(b) ? 1 : 0;
      wrong += std::isnan(b) ? !std::isnan(a) : a != b;
    }
    CHECK(wrong == 0);
    CHECK(nans > 0);
    CHECK(nans < got.size() / 2);
  }
}

TEST_CASE("conv2d: filters of groups of channels that are computed as one") {
  const smem::Context context;
  for (const bool interleaved : {true, false}) {
    CAPTURE(interleaved);
    smem::Conv2dProblem p;
    p.type = p.out = Scalar::half;
    p.images = 64, p.in_channels = 128, p.out_channels = 96, p.groups = 32;
    p.width = p.height = p.out_width = p.out_height = 28;
    p.window = {3, 3}, p.padding = {1, 1, 1, 1};
    p.in_interleaved = p.out_interleaved = true, p.weights_interleaved = interleaved;
    const smem::Plan plan = smem::plan_conv2d(test::target("sm_90"), p, {.variant = "wgmma"});
    REQUIRE(plan.before.size() == 1);
    const smem::Launch& launch = plan.before[0];
    REQUIRE(launch.entry_point == "conv2d_spread");
    CHECK(plan.number("merged") == 16);
    CHECK(plan.number("channels") == 64);
    CHECK(launch.number("channels") == 4);
    CHECK(launch.number("filters") == 3);
    const std::size_t row = 9 * 64, count = 96 * row;
    std::vector<unsigned short> weights(96 * 36 + 5);
    for (std::size_t i = 0; i < weights.size(); ++i)
      weights[i] = static_cast<unsigned short>(i + 1);
    const smem::Array<unsigned short> from(context, weights),
        to(context, std::vector<unsigned short>(count + 8, 7));
    const smem::Kernel kernel = context.build({.source = "#include \"" + launch.kernel_file + "\"\n",
                                               .entry_point = launch.entry_point,
                                               .defines = launch.defines});
    struct {  // spread_numbers of cl/conv2d/spread.cl
      std::array<cl_ulong, 9> large;
      std::array<cl_uint, 4> small;
    } const numbers{{5, 0, 0, 36, 0, 0, 0, row, count}, {9, 3, 4, 64}};
    kernel({.global = launch.global, .work_group = launch.work_group}, from, to, numbers);
    const std::vector<unsigned short> got = to.to_host();
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t k = i / row, tap = i % row / 64, c = i % 64;
      const std::size_t place = interleaved ? tap * 4 + c % 4 : c % 4 * 9 + tap;
      wrong += got[i] != (c / 4 == k / 3 % 16 ? weights[5 + k * 36 + place] : 0);
    }
    CHECK(wrong == 0);
    CHECK(got[count] == 7);
  }
}
