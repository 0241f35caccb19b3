// Plans of layers of floats of few channels or filters (host/plan/conv2d_policy.hpp).
#include <smem/conv2d_plan.hpp>

#include "support/targets.hpp"

#include <doctest/doctest.h>

#include <cstddef>

using smem::Conv2dProblem;
using test::target;

TEST_CASE("plan of conv2d: floats of few filters or channels on Hopper") {
  smem::Device h200 = target("sm_90");
  h200.compute_units = 132;
  const auto layer_of = [](std::size_t channels, std::size_t filters, std::size_t size, bool interleaved) {
    Conv2dProblem p;
    p.images = 64;
    p.in_channels = channels, p.out_channels = filters;
    p.width = p.height = p.out_width = p.out_height = size;
    p.window = {1, 1};
    p.in_interleaved = p.out_interleaved = p.weights_interleaved = interleaved;
    return p;
  };
  for (const bool interleaved : {false, true}) {
    CHECK(smem::plan_conv2d(h200, layer_of(32, 16, 112, interleaved)).variant == "gemm");
    CHECK(smem::plan_conv2d(h200, layer_of(16, 96, 112, interleaved)).variant == "gemm");
    Conv2dProblem first = layer_of(3, 32, 224, interleaved);
    first.window = {3, 3};
    first.stride = {2, 2};
    first.padding = {1, 1, 1, 1};
    first.out_width = first.out_height = 112;
    CHECK(smem::plan_conv2d(h200, first).variant == "implicit");
  }
  CHECK(smem::plan_conv2d(h200, layer_of(15, 96, 112, false)).variant == "direct");
  CHECK(smem::plan_conv2d(h200, layer_of(32, 15, 112, false)).variant == "direct");
}

TEST_CASE("plan of conv2d: teams of a group share the weights of few results") {
  smem::Device h200 = target("sm_90");
  h200.compute_units = 132;
  const auto teams_of = [](const smem::Device& device, std::size_t images, std::size_t channels,
                           std::size_t size) {
    Conv2dProblem p;
    p.images = images;
    p.in_channels = p.out_channels = channels;
    p.width = p.height = size, p.out_width = p.out_height = size / 2;
    p.window = {3, 3};
    p.stride = {2, 2};
    p.padding = {1, 1, 1, 1};
    const smem::Plan plan = smem::plan_conv2d(device, p, {.variant = "implicit"});
    CHECK(plan.work_group[0] <= 512);
    CHECK(plan.local_bytes <= device.local_bytes);
    for (const auto& [name, number] : plan.defines)
      if (name == "TEAMS") return static_cast<std::size_t>(number);
    return std::size_t{1};
  };
  CHECK(teams_of(h200, 1, 256, 28) >= 4);
  CHECK(teams_of(h200, 1, 512, 14) >= 4);
  CHECK(teams_of(h200, 64, 256, 28) == 1);
  smem::Device clamped = h200;
  clamped.max_work_group = 64;
  CHECK(teams_of(clamped, 1, 512, 14) <= 4);
  clamped = h200;
  clamped.local_bytes = 6000;
  CHECK(teams_of(clamped, 1, 512, 14) <= 2);
  CHECK(teams_of(target("gfx90a"), 1, 512, 14) == 1);  // whose steps were not measured
}
