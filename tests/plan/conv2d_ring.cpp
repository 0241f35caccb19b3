// Plans of depthwise layers by rings of rows in local memory (host/plan/conv2d_ring.cpp): each condition.
#include <smem/conv2d_plan.hpp>

#include "support/targets.hpp"

#include <doctest/doctest.h>

#include <cstddef>

using smem::Conv2dProblem;

TEST_CASE("plan of conv2d: what rings of rows do not have, and what a work-item keeps") {
  smem::Device h200 = test::target("sm_90");
  h200.compute_units = 132;
  Conv2dProblem large;
  large.images = 64;
  large.in_channels = large.out_channels = large.groups = 64;
  large.width = large.height = large.out_width = large.out_height = 112;
  large.window = {3, 3};
  large.padding.left = large.padding.top = large.padding.right = large.padding.bottom = 1;
  large.type = large.out = smem::Scalar::half;
  large.in_interleaved = large.out_interleaved = true;
  const auto has_ring = [&](const Conv2dProblem& p, const smem::PlanOverrides& fixed = {}) {
    return smem::plan_conv2d(h200, p, fixed).entry_point == "conv2d_depthwise_ring";
  };
  const auto with = [&](auto change) {
    Conv2dProblem p = large;
    change(p);
    return p;
  };
  CHECK(has_ring(large));
  CHECK_FALSE(has_ring(with([](auto& p) { p.type = smem::Scalar::int8, p.out = smem::Scalar::int32; })));
  CHECK_FALSE(has_ring(with([](auto& p) { p.activation = smem::Activation::gelu; })));
  CHECK_FALSE(has_ring(with([](auto& p) { p.out_interleaved = false; })));
  const auto windows = [](Conv2dProblem& p, std::size_t width, std::size_t height, std::size_t stride) {
    p.window = {width, height}, p.stride = {stride, stride};
    p.out_width =
        smem::convolved_size(p.width, width, stride, 1, std::size_t{p.padding.left}, p.padding.right);
    p.out_height =
        smem::convolved_size(p.height, height, stride, 1, std::size_t{p.padding.top}, p.padding.bottom);
  };
  CHECK(has_ring(with([&](auto& p) { windows(p, 5, 5, 1); })));
  CHECK_FALSE(has_ring(with([&](auto& p) { windows(p, 6, 5, 1); })));
  CHECK(has_ring(with([&](auto& p) { windows(p, 5, 5, 2); })));
  CHECK_FALSE(has_ring(with([&](auto& p) { windows(p, 5, 5, 3); })));
  CHECK(has_ring(large, {.variant = "depthwise", .tile_rows = 112, .tile_cols = 7}));
  CHECK_FALSE(has_ring(large, {.variant = "depthwise", .tile_rows = 112, .tile_cols = 8}));
  // A work-item writes its channels together.
  CHECK_FALSE(has_ring(with([](auto& p) { p.out_alignment = 2; })));
  const Conv2dProblem pairs = with([](auto& p) { p.out_alignment = 4; });
  CHECK(has_ring(pairs));
  CHECK(smem::plan_conv2d(h200, pairs).vector_width == 2);
  // Its weights and sums are in registers, and its loops are unrolled.
  for (const std::size_t stride : {1U, 2U}) {
    const smem::Plan plan = smem::plan_conv2d(h200, with([&](auto& p) { windows(p, 5, 5, stride); }));
    std::size_t each = 0;
    for (const auto& [name, value] : plan.defines)
      if (name == "EACH_X") each = static_cast<std::size_t>(value);
    const std::size_t sums = (stride == 1 ? 5 : 3) * each;
    CAPTURE(stride);
    CAPTURE(each);
    CHECK(each > 0);
    CHECK(plan.vector_width * (25 + sums) + 28 <= 150);
    CHECK(plan.vector_width * 25 * sums <= 1024);
  }
}
