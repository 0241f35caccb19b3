// Plans of depthwise layers of interleaved channels: by rings of rows in local memory
// (host/plan/conv2d_ring.cpp), each condition, and by whole windows (host/plan/conv2d_cells.cpp); and of
// planes in local memory (host/plan/conv2d_rows.cpp).
#include <smem/conv2d_plan.hpp>

#include "support/conv2d_layers.hpp"
#include "support/failure.hpp"
#include "support/fits.hpp"
#include "support/targets.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <string>
#include <utility>

using smem::Conv2dProblem;
using test::layer;
using test::target;

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

TEST_CASE("plan of conv2d: rings of rows of interleaved channels, a filter for each") {
  const auto cells = [](Conv2dProblem p, smem::Scalar type = smem::Scalar::half) {
    p.type = p.out = type;
    p.in_interleaved = p.out_interleaved = true;
    return p;
  };
  const auto kernel = [](const smem::Device& device, const Conv2dProblem& p) {
    return smem::plan_conv2d(device, p).entry_point;
  };
  smem::Device h200 = target("sm_90");
  h200.compute_units = 132;
  const Conv2dProblem large = cells(layer(64, 64, 112, 64, 3, 64));
  const smem::Plan plan = smem::plan_conv2d(h200, large);
  CHECK(plan.entry_point == "conv2d_depthwise_ring");
  CHECK(plan.before.empty());
  CHECK(test::contains(plan.evidence, "H200"));
  CHECK(plan.number("tile_h") == plan.tile_rows);
  CHECK(plan.groups() >= 120);  // no multiprocessor without work
  CHECK(plan.local_bytes <= h200.local_bytes);
  // Where a group would start longer than it multiplies, and by hand there too.
  const Conv2dProblem small = cells(layer(8, 192, 28, 192, 3, 192));
  CHECK(kernel(h200, small) == "conv2d_depthwise_cells");
  CHECK(kernel(h200, cells(layer(1, 64, 112, 64, 3, 64))) == "conv2d_depthwise_cells");
  CHECK(smem::plan_conv2d(h200, small, {.variant = "depthwise", .tile_rows = 7}).entry_point ==
        plan.entry_point);
  // Fewer bytes are in flight where there is less local memory.
  CHECK(smem::plan_conv2d(target("sm_86"), large).local_bytes <= target("sm_86").local_bytes);
  CHECK(kernel(target("sm_86"), large) == plan.entry_point);
  CHECK(kernel(h200, cells(layer(64, 64, 28, 64, 5, 64), smem::Scalar::float32)) == plan.entry_point);
  // What it does not have: windows of 7 x 7, dilations, cells of 4 bytes, and devices without such copies.
  const std::string other = "conv2d_depthwise_cells";
  CHECK(kernel(h200, cells(layer(64, 64, 28, 64, 7, 64))) == other);
  Conv2dProblem loose = large;
  loose.in_alignment = 4;
  CHECK(kernel(h200, loose) == other);
  Conv2dProblem wide = large;
  wide.dilation = {2, 2}, wide.padding = {2, 2, 2, 2};
  CHECK(kernel(h200, wide) == other);
  CHECK(test::contains(smem::plan_conv2d(h200, wide).evidence, "H100"));
  CHECK(kernel(target("sm_75"), large) == other);
  CHECK(kernel(target("gfx90a"), large) == other);
}

TEST_CASE("plan of conv2d: whole windows of interleaved channels, a filter for each") {
  const auto plan = [](const char* device, Conv2dProblem p, std::size_t stride, std::size_t tile_cols = 0) {
    p.type = p.out = smem::Scalar::half;
    p.in_interleaved = p.out_interleaved = true;
    p.in_alignment = p.out_alignment = 16;
    p.stride = {stride, stride};
    p.out_width = p.out_height = p.width / stride;
    smem::PlanOverrides fixed;
    if (tile_cols != 0) fixed = {.variant = "depthwise", .tile_rows = 1, .tile_cols = tile_cols};
    return smem::plan_conv2d(target(device), p, fixed);
  };
  // Windows that share few cells.
  const smem::Plan strided = plan("sm_90", layer(64, 64, 112, 64, 3, 64), 2);
  CHECK(strided.entry_point == "conv2d_depthwise_windows");
  CHECK(strided.vector_width == 4);
  CHECK(strided.tile_cols == 4);
  CHECK(strided.groups() * strided.work_items() >= std::size_t{64} * 16 * 56 * 14);
  // Rows and blocks of a group: of 8 blocks those that share most cells.
  const auto has = [](const smem::Plan& of, long rows, long blocks) {
    const auto value = [&](const char* name) {
      for (const auto& [define, number] : of.defines)
        if (define == name) return static_cast<long>(number);
      return 0L;
    };
    return value("ROWS") == rows && value("BLOCKS") == blocks;
  };
  CHECK(has(strided, 4, 2));
  CHECK(has(plan("sm_90", layer(64, 144, 56, 144, 3, 144), 2), 7, 1));
  CHECK(has(plan("sm_90", layer(64, 256, 28, 256, 3, 256), 2), 2, 4));
  CHECK(plan("sm_90", layer(64, 64, 112, 64, 3, 64), 1).entry_point == "conv2d_depthwise_ring");
  CHECK(plan("sm_90", layer(64, 72, 56, 72, 5, 72), 2).entry_point == "conv2d_depthwise_ring");
  CHECK(plan("sm_90", layer(1, 64, 112, 64, 3, 64), 2).entry_point == "conv2d_depthwise_cells");
  CHECK(plan("gfx90a", layer(64, 64, 112, 64, 3, 64), 2).entry_point == "conv2d_depthwise_cells");
  // Cells of 4 columns' windows take 8 x 3 x 12 bytes, of which registers hold 256.
  CHECK(plan("sm_90", layer(64, 64, 111, 64, 3, 64), 3).entry_point == "conv2d_depthwise_cells");
  CHECK(plan("sm_90", layer(64, 64, 111, 64, 3, 64), 3, 2).entry_point == "conv2d_depthwise_windows");
}

TEST_CASE("plan of conv2d: depthwise planes in local memory") {
  smem::Device h200 = test::target("sm_90");
  h200.compute_units = 132;
  const auto planes = [](std::size_t channels, std::size_t size, std::size_t window) {
    Conv2dProblem p;
    p.type = p.out = smem::Scalar::half;
    p.images = 64;
    p.in_channels = p.out_channels = p.groups = channels;
    p.width = p.height = p.out_width = p.out_height = size;
    p.window = {window, window};
    p.padding.left = p.padding.top = p.padding.right = p.padding.bottom = window / 2;
    return p;
  };
  for (const auto& [channels, size] : {std::pair{256, 14}, {1024, 7}, {130, 27}, {32, 113}, {3, 225}}) {
    const Conv2dProblem p = planes(static_cast<std::size_t>(channels), static_cast<std::size_t>(size), 3);
    const smem::Plan plan = smem::plan_conv2d(h200, p);
    CHECK(plan.entry_point == "conv2d_depthwise_planes");
    CHECK(p.groups % plan.number("block_k") == 0);
    const bool is_whole = plan.number("tile_h") == p.out_height;
    CHECK(is_whole == (size < 113));
    if (!is_whole) CHECK(plan.number("block_k") == 1);
    CHECK(plan.groups() >= 4 * h200.compute_units);
    CHECK(plan.groups() == p.images * p.groups / plan.number("block_k") *
                               ((p.out_height + plan.number("tile_h") - 1) / plan.number("tile_h")));
  }
  // Rows of whole vectors are read where they lie, of windows that leave registers.
  smem::Plan vectors = smem::plan_conv2d(h200, planes(32, 112, 3));
  CHECK(vectors.entry_point == "conv2d_depthwise");
  CHECK(vectors.vector_width == 8);
  CHECK(vectors.tile_rows == 2);
  vectors = smem::plan_conv2d(h200, planes(32, 28, 3));
  CHECK(vectors.entry_point == "conv2d_depthwise");
  CHECK(vectors.vector_width == 4);
  CHECK(vectors.tile_rows == 4);
  CHECK(smem::plan_conv2d(h200, planes(32, 112, 5)).entry_point == "conv2d_depthwise_planes");
  for (const std::size_t size : {8U, 16U, 24U})
    CHECK(smem::plan_conv2d(h200, planes(32, size, 3)).entry_point == "conv2d_depthwise");
  CHECK(smem::plan_conv2d(h200, planes(32, 20, 3)).entry_point == "conv2d_depthwise_planes");
  CHECK(smem::plan_conv2d(h200, planes(32, 20, 3)).tile_cols == 4);
  CHECK(smem::plan_conv2d(h200, planes(32, 20, 5)).tile_cols == 2);
  Conv2dProblem floats = planes(32, 20, 3);
  floats.type = floats.out = smem::Scalar::float32;
  CHECK(smem::plan_conv2d(h200, floats).entry_point == "conv2d_depthwise");
  CHECK(smem::plan_conv2d(h200, planes(96, 56, 7)).entry_point == "conv2d_depthwise_planes");
  CHECK(smem::plan_conv2d(h200, planes(96, 56, 8)).variant == "direct");
  Conv2dProblem loose = planes(32, 112, 3);
  loose.in_alignment = 2;
  CHECK(smem::plan_conv2d(h200, loose).entry_point == "conv2d_depthwise_planes");
  Conv2dProblem other = planes(256, 14, 3);
  other.in_packed = false;
  CHECK(smem::plan_conv2d(h200, other).entry_point == "conv2d_depthwise");
  other = planes(256, 14, 3);
  other.out_packed = false;
  CHECK(smem::plan_conv2d(h200, other).entry_point == "conv2d_depthwise");
  other = planes(1, 50000, 3);  // rows of more than local memory has
  other.images = 1;
  CHECK(smem::plan_conv2d(h200, other).entry_point == "conv2d_depthwise");
}
