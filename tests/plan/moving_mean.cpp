// Plans of moving means for described devices: they fit, and have reasons.
#include <smem/error.hpp>
#include <smem/moving_mean_plan.hpp>

#include "support/failure.hpp"
#include "support/fits.hpp"
#include "support/targets.hpp"

#include <doctest/doctest.h>

#include <string>

using smem::MovingMeanProblem;
using smem::Scalar;
using test::failure_of;
using test::target;

TEST_CASE("plan of moving_mean: windows of all kinds fit every target and its clamps") {
  for (const smem::Device& whole : test::all_targets()) {
    for (const char* limits : {"", "local=16K,work_group=64", "local=512", "work_group=1", "local=0"}) {
      const smem::Device device = smem::clamp(whole, limits);
      CAPTURE(device.name);
      CAPTURE(limits);
      for (const Scalar type : {Scalar::uint8, Scalar::half, Scalar::float32}) {
        for (const std::size_t window : {1, 2, 101, 100001, 1 << 30}) {
          for (const std::string_view variant :
               {"", "naive", "tiled", "blocks", "chunks", "one_pass", "ring", "cpu"}) {
            CAPTURE(window);
            CAPTURE(variant);
            const MovingMeanProblem problem{type, type, 1 << 20, 3, window};
            try {
              const smem::Plan plan =
                  smem::plan_moving_mean(device, problem, {.variant = std::string(variant)});
              test::check_fits(device, plan, variant, smem::moving_mean_variants().size());
            } catch (const smem::Error& error) {
              test::check_refused_variant(error, variant);
            }
          }
        }
      }
    }
  }
}

TEST_CASE("plan of moving_mean: what each kind of device and window gets, and what is refused") {
  const smem::Device h200 = target("sm_90");
  const auto variant_of = [](const smem::Device& device, std::size_t window) {
    return smem::plan_moving_mean(device, {.width = 1 << 24, .window = window}).variant;
  };
  CHECK(variant_of(h200, 101) == "tiled");
  CHECK(variant_of(h200, 1001) == "tiled");
  CHECK(variant_of(h200, 2001) == "ring");
  CHECK(smem::plan_moving_mean(h200, {.width = 1 << 20, .window = 2001}).variant == "tiled");
  CHECK(smem::plan_moving_mean(h200, {.width = 1 << 27, .window = 20001}).variant == "one_pass");
  CHECK(variant_of(h200, 100001) == "one_pass");
  CHECK(variant_of(h200, 1000001) == "chunks");
  CHECK(variant_of(target("gfx942"), 100001) == "blocks");
  CHECK(variant_of(target("cpu"), 101) == "cpu");
  // The sums of 128 MiB at a time: of a row here, and then of two.
  const smem::Plan blocks =
      smem::plan_moving_mean(h200, {.width = 1 << 24, .rows = 3, .window = 100001}, {.variant = "blocks"});
  REQUIRE(blocks.before.size() == 1);
  CHECK(blocks.before[0].entry_point == "moving_mean_blocks");
  CHECK(blocks.rounds == 3);
  CHECK(blocks.scratch_bytes == std::size_t{1} << 27);
  const smem::Plan two =
      smem::plan_moving_mean(h200, {.width = 1 << 23, .rows = 3, .window = 100001}, {.variant = "blocks"});
  const smem::Plan chunks =
      smem::plan_moving_mean(h200, {.width = 1 << 24, .rows = 3, .window = 100001}, {.variant = "chunks"});
  REQUIRE(chunks.before.size() == 1);
  CHECK(chunks.rounds == 1);
  CHECK(chunks.scratch_bytes == 3 * ((std::size_t{1} << 24) / (128 * 16)) * 17 * sizeof(float));
  // The counter, and two words for each chunk of 4096 elements; windows of too many chunks are for others.
  const smem::Plan one_pass =
      smem::plan_moving_mean(h200, {.width = 1 << 24, .rows = 3, .window = 100001}, {.variant = "one_pass"});
  CHECK(one_pass.before.empty());
  CHECK(one_pass.scratch_bytes == 8 * (1 + 2 * 3 * ((std::size_t{1} << 24) / 4096 + 1)));
  // Windows begin 10 chunks before a step of 8: in 2 steps, beside the step and one that is read ahead.
  const smem::Plan ring =
      smem::plan_moving_mean(h200, {.width = 1 << 27, .window = 5001}, {.variant = "ring"});
  CHECK(ring.local_bytes == 4 * (4 * 8 * (512 + 4 + 64 + 2) + 2 * 256));
  CHECK(ring.global[0] == 3 * h200.compute_units * 256);
  CHECK(failure_of([&] {
          smem::plan_moving_mean(h200, {.width = 1 << 24, .window = 60000}, {.variant = "ring"});
        }).argument == "variant");
  CHECK(failure_of([&] {
          smem::plan_moving_mean(h200, {.width = 1 << 24, .window = 5 << 20}, {.variant = "one_pass"});
        }).argument == "variant");
  CHECK(two.number("rows") == 2);
  CHECK(two.rounds == 2);
  CHECK(two.scratch_bytes == std::size_t{1} << 27);
  CHECK(smem::plan_moving_mean(h200, {.width = 1 << 24, .window = 101}).before.empty());
  const auto argument_of = [&](const MovingMeanProblem& problem, const smem::PlanOverrides& fixed = {}) {
    return failure_of([&] { smem::plan_moving_mean(h200, problem, fixed); }).argument;
  };
  CHECK(argument_of({.width = 9, .window = 0}) == "window");
  CHECK(argument_of({.in = Scalar::float32, .out = Scalar::uint8, .width = 9, .window = 3}) == "out");
  CHECK(argument_of({.width = 9, .window = 3}, {.work_items = 48}) == "work_items");
  smem::Device small = h200;  // whose local memory has no room for the sums of so many
  small.local_bytes = 8192;
  const auto fixed_there = [&] {
    smem::plan_moving_mean(small, {.width = 1 << 20, .window = 3}, {.work_items = 1024});
  };
  CHECK(failure_of(fixed_there).argument == "work_items");
  CHECK(argument_of({.width = 9, .window = 3}, {.variant = "nosuch"}) == "variant");
  CHECK(argument_of({.width = 9, .window = 3}, {.variant = "cpu"}) == "variant");
}
