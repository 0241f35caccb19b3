// Plans of layers whose channels or columns are joined for matrix units (host/plan/conv2d_layouts.hpp).
#include <smem/conv2d_plan.hpp>

#include "support/targets.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <string_view>

TEST_CASE("plan of conv2d: groups of channels that are computed as one, whose filters lie as they are") {
  smem::Conv2dProblem p;
  p.type = p.out = smem::Scalar::half;
  p.images = 64, p.in_channels = p.out_channels = 1024, p.groups = 32;
  p.width = p.height = p.out_width = p.out_height = 7;
  p.window = {3, 3}, p.padding = {1, 1, 1, 1};
  p.in_interleaved = p.weights_interleaved = p.out_interleaved = true;
  const auto plan = [&] { return smem::plan_conv2d(test::target("sm_90"), p, {.variant = "wgmma"}); };
  const auto lines = [&]() -> long {
    for (const auto& [name, value] : plan().defines)
      if (name == "FILTER_LINES") return value;
    return 0;
  };
  CHECK(plan().number("merged") == 2);
  CHECK(lines() == 32);
  CHECK(plan().before.empty());
  // As many filters as divide those of a group and the tile; many boxes of few take longer than a launch,
  // where there are many steps.
  p.out_channels = 32 * 24;
  CHECK(lines() == 0);
  REQUIRE(plan().before.size() == 1);
  CHECK(plan().before[0].variant == "spread");
  p.window = {1, 1}, p.padding = {};
  CHECK(lines() == 8);
  CHECK(plan().before.empty());
  p.window = {3, 3}, p.padding = {1, 1, 1, 1};
  p.out_channels = 32 * 20;  // no multiple of 8
  CHECK(lines() == 0);
  REQUIRE(plan().before.size() == 1);
  CHECK(plan().before[0].variant == "spread");
  // Filters of planes are copied with the input, and have the channels of their own group.
  p.out_channels = 1024;
  p.in_interleaved = p.weights_interleaved = false;
  REQUIRE(plan().before.size() == 1);
  CHECK(plan().before[0].entry_point == "conv2d_pack_both");
  CHECK(plan().number("filter_channels") == 32);
  CHECK(plan().number("weight_row") == 9 * 32);
  CHECK(lines() == 32);
}

TEST_CASE("plan of conv2d: windows side by side have one column of wide cells on matrix units") {
  const smem::Device h200 = test::target("sm_90");
  smem::Conv2dProblem p;
  p.type = p.out = smem::Scalar::half;
  p.images = 64, p.in_channels = 3, p.out_channels = 768;
  p.width = p.height = 224, p.out_width = p.out_height = 14;
  p.window = {16, 16}, p.stride = {16, 16};
  p.in_interleaved = p.weights_interleaved = p.out_interleaved = true;
  p.in_alignment = 2;
  const auto is_joined = [](const smem::Device& device, const smem::Conv2dProblem& q) {
    const smem::Plan plan = smem::plan_conv2d(device, q);
    const std::string_view variant = plan.variant;
    return (variant == "mma" || variant == "wgmma") &&
           plan.before.empty();  // cells of 6 bytes would be copied
  };
  CHECK(is_joined(h200, p));
  CHECK(is_joined(test::target("sm_86"), p));
  // Rows that begin anywhere are copied, as those of other cells.
  p.row_alignment = 16;
  CHECK(is_joined(h200, p));
  p.row_alignment = 8;
  CHECK_FALSE(smem::plan_conv2d(h200, p).before.empty());
  p.row_alignment = 64;
  const auto with = [&](auto change) {
    smem::Conv2dProblem q = p;
    change(q);
    return is_joined(h200, q);
  };
  CHECK(with([](auto& q) { q.padding.top = 3, q.out_height = 15; }));
  CHECK(with([](auto& q) { q.window.height = 9; }));
  CHECK_FALSE(with([](auto& q) { q.padding.left = 16; }));
  CHECK_FALSE(with([](auto& q) { q.stride.x = 15; }));
  CHECK_FALSE(with([](auto& q) { q.dilation.x = 2, q.out_width = 13; }));
  CHECK_FALSE(with([](auto& q) { q.width = 225; }));
  CHECK_FALSE(with([](auto& q) { q.out_width = 15; }));
  CHECK_FALSE(with([](auto& q) { q.in_interleaved = false; }));
  CHECK_FALSE(with([](auto& q) { q.weights_interleaved = false; }));
  CHECK_FALSE(with([](auto& q) { q.groups = 3; }));
  CHECK_FALSE(with([](auto& q) { q.type = q.out = smem::Scalar::float32; }));
  CHECK_FALSE(is_joined(test::target("sm_75"), p));
  // Cells of 2^32 channels, which kernels do not count.
  p.images = 1, p.in_channels = 131072, p.out_channels = 64;
  p.width = p.window.width = p.stride.x = 32768;
  p.height = p.window.height = p.stride.y = p.out_width = p.out_height = 1;
  CHECK(smem::plan_conv2d(h200, p).variant != "gemm");
}
