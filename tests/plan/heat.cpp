// Plans of heat diffusion for described devices: they fit, have reasons, and any number of steps is
// spread over passes.
#include <smem/error.hpp>
#include <smem/heat_plan.hpp>

#include "support/failure.hpp"
#include "support/targets.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

using smem::HeatProblem;
using smem::Scalar;
using test::target;

namespace {

HeatProblem cube(std::size_t edge, std::size_t steps) {
  HeatProblem problem{.width = edge, .height = edge, .depth = edge};
  problem.steps = steps;
  return problem;
}

/// How the steps of a call are spread: `longer` passes make `steps`, the others one less.
struct Passes {
  std::size_t passes = 0, steps = 0, longer = 0;
  friend bool operator==(const Passes&, const Passes&) = default;
};

Passes passes_of(const smem::Plan& plan) {
  Passes made{0, plan.number("steps"), plan.repeats};
  for (const smem::Launch* launch : plan.launches()) {
    made.passes += launch->repeats;
    if (launch != &plan) CHECK(launch->number("steps") + 1 == made.steps);
  }
  return made;
}

std::size_t steps_of(const smem::Plan& plan) {
  std::size_t steps = 0;
  for (const smem::Launch* launch : plan.launches())
    steps += launch->repeats * launch->number("steps");
  return steps;
}

std::string refused(const smem::Device& device, const HeatProblem& problem,
                    const smem::PlanOverrides& fixed = {}) {
  return test::failure_of([&] { smem::plan_heat(device, problem, fixed); }).argument;
}

}  // namespace

TEST_CASE("plan of heat: problems of all kinds fit every target and its clamps") {
  for (const smem::Device& whole : test::all_targets()) {
    for (const char* limits : {"", "local=16K,work_group=64", "local=512", "local=0", "work_group=1"}) {
      const smem::Device device = smem::clamp(whole, limits);
      CAPTURE(device.name);
      CAPTURE(limits);
      for (const std::size_t extent : {0, 1, 100, 1500}) {
        for (const std::size_t dimensions : {1, 2, 3}) {
          for (const std::size_t steps : {0, 1, 7, 100}) {
            HeatProblem problem{.width = extent};
            problem.height = dimensions > 1 ? extent : 1;
            problem.depth = dimensions > 2 ? extent : 1;
            problem.dimensions = dimensions;
            problem.steps = steps;
            problem.variable = steps == 7;
            problem.source = extent == 100;
            problem.in_place = steps == 100;
            problem.type = device.fp64 && extent == 1500 ? Scalar::float64
                           : extent == 100               ? Scalar::half
                                                         : Scalar::float32;
            const smem::Plan plan = smem::plan_heat(device, problem);
            CAPTURE(plan.to_string());
            for (const smem::Launch* launch : plan.launches()) {
              CHECK(launch->local_bytes <= device.local_bytes);
              CHECK(launch->work_items() <= device.max_work_group);
              CHECK(launch->global[0] > 0);
              for (std::size_t d = 0; d < 3; ++d)
                CHECK(launch->global[d] % launch->work_group[d] == 0);
            }
            CHECK(steps_of(plan) == steps);
            CHECK(plan.alternatives.size() == 5);
            // What follows a refused launch makes the same steps.
            if (plan.work_items() < 32 || steps == 0) continue;
            smem::Device smaller = device;
            smaller.max_work_group = plan.work_items() / 2;
            const smem::Plan again = smem::plan_heat(smaller, problem);
            for (const smem::Launch* launch : again.launches())
              CHECK(launch->work_items() <= smaller.max_work_group);
            CHECK(steps_of(again) == steps);
          }
        }
      }
    }
  }
}

TEST_CASE("plan of heat: what each kind of device chooses") {
  const smem::Device nvidia = target("sm_90"), cpu = test::targets::cpu();
  const smem::Plan one = smem::plan_heat(nvidia, cube(512, 1));
  CHECK(one.variant == "vector");
  CHECK(one.scratch_bytes == 0);
  CHECK(one.prediction.bytes_read == 4.0 * 512 * 512 * 512);
  const smem::Plan many = smem::plan_heat(nvidia, cube(512, 12));
  CHECK(many.variant == "march");
  CHECK(many.scratch_bytes == 4UL * 512 * 512 * 512);
  CHECK(test::contains(many.reason, "4 passes of 3 steps"));
  HeatProblem variable = cube(512, 12);
  variable.variable = true;
  CHECK(smem::plan_heat(nvidia, variable).variant == "vector");
  HeatProblem flat = cube(512, 12);
  flat.depth = 1;
  CHECK(smem::plan_heat(nvidia, flat).variant == "march");
  flat.variable = true;
  CHECK(smem::plan_heat(nvidia, flat).variant == "blocked");
  HeatProblem line{.width = 1000000, .steps = 40};
  CHECK(smem::plan_heat(nvidia, line).variant == "blocked");
  CHECK(smem::plan_heat(cpu, cube(256, 10)).variant == "cpu");
  CHECK(smem::plan_heat(cpu, cube(256, 10), {.variant = "march"}).variant == "march");
  // A side that 32 bits do not count.
  HeatProblem wide{.width = std::size_t{1} << 31, .height = 2};
  CHECK(smem::plan_heat(nvidia, wide).variant == "naive");
}

TEST_CASE("plan of heat: half is storage") {
  const smem::Device nvidia = target("sm_90");
  HeatProblem problem = cube(512, 12);
  const smem::Plan wide = smem::plan_heat(nvidia, problem);
  problem.type = Scalar::half;
  // Columns of single steps are the faster ones, but for a caller who wants several in one pass.
  CHECK(smem::plan_heat(nvidia, problem).variant == "vector");
  CHECK(smem::plan_heat(target("gfx90a"), problem).variant == "vector");
  CHECK(smem::plan_heat(target("pvc"), problem).variant == "march");
  HeatProblem asked = problem;
  asked.steps_per_pass = 3;
  CHECK(smem::plan_heat(nvidia, asked).variant == "march");
  const smem::Plan narrow = smem::plan_heat(nvidia, problem, {.variant = "march"});
  CHECK(narrow.variant == wide.variant);
  CHECK(narrow.work_group == wide.work_group);
  CHECK(narrow.local_bytes == wide.local_bytes);  // numbers, as of float32
  CHECK(narrow.prediction.operations == wide.prediction.operations);
  CHECK(2 * narrow.prediction.bytes_read == wide.prediction.bytes_read);
  CHECK(2 * narrow.scratch_bytes == wide.scratch_bytes);
  const auto has = [](const smem::Plan& plan, const char* name, long value) {
    return std::find(plan.defines.begin(), plan.defines.end(), std::pair<std::string, long>{name, value}) !=
           plan.defines.end();
  };
  CHECK(has(narrow, "ELEMENT_HALF", 1));
  CHECK(has(narrow, "NVIDIA_HALVES", 1));
  CHECK(!has(wide, "ELEMENT_HALF", 1));
  CHECK(!has(wide, "NVIDIA_HALVES", 1));
  CHECK(!has(smem::plan_heat(target("gfx90a"), problem), "NVIDIA_HALVES", 1));
  // Columns keep bits: twice as many cells.
  const smem::Plan columns = smem::plan_heat(nvidia, problem, {.variant = "vector"});
  CHECK(columns.vector_width == 8);
  CHECK(columns.tile_cols == 256);
  HeatProblem variable = problem;
  variable.variable = true;
  CHECK(smem::plan_heat(nvidia, variable, {.variant = "vector"}).vector_width == 4);
  CHECK(smem::plan_heat(target("pvc"), problem, {.variant = "vector"}).vector_width == 2);
  CHECK(refused(nvidia, problem, {.variant = "vector", .tile_cols = 36}) == "tile_cols");
  // Four halves are 8 bytes: what float32 has not, they are.
  problem.alignment = 8;
  CHECK(!has(smem::plan_heat(nvidia, problem, {.variant = "march"}), "ALIGNED", 0));
  problem.alignment = 4;
  CHECK(has(smem::plan_heat(nvidia, problem, {.variant = "march"}), "ALIGNED", 0));
}

TEST_CASE("plan of heat: steps are spread evenly over passes") {
  const smem::Device device = target("sm_90");
  const auto passes = [&](std::size_t steps, bool in_place) {
    HeatProblem problem = cube(512, steps);
    problem.in_place = in_place;
    return passes_of(smem::plan_heat(device, problem));
  };
  CHECK(passes(0, false) == Passes{1, 0, 1});  // a copy
  CHECK(passes(0, true) == Passes{});
  CHECK(passes(3, false) == Passes{1, 3, 1});
  CHECK(passes(4, false) == Passes{2, 2, 2});
  CHECK(passes(7, false) == Passes{3, 3, 1});
  CHECK(passes(1, true) == Passes{2, 1, 1});  // and a copy back
  CHECK(passes(7, true) == Passes{4, 2, 3});
  HeatProblem problem = cube(512, 8);
  problem.steps_per_pass = 1;
  CHECK(passes_of(smem::plan_heat(device, problem)) == Passes{8, 1, 8});
  // In place, each kernel is launched before a pass writes what the first one has read.
  problem = cube(512, 7);
  problem.in_place = true;
  smem::Plan plan = smem::plan_heat(device, problem);
  REQUIRE(plan.before.size() == 1);
  CHECK(plan.before[0].variant == "shorter");
  CHECK(plan.before[0].repeats == 1);
  CHECK(plan.after.empty());
  problem.steps = 1;
  plan = smem::plan_heat(device, problem);
  CHECK(plan.before.empty());
  REQUIRE(plan.after.size() == 1);
  CHECK(plan.after[0].variant == "copy");
  CHECK(plan.after[0].entry_point == "heat_naive");
}

TEST_CASE("plan of heat: what cannot be is refused") {
  const smem::Device device = target("sm_90");
  HeatProblem problem = cube(64, 4);
  CHECK(refused(device, problem, {.variant = "nosuch"}) == "variant");
  CHECK(refused(device, problem, {.variant = "tiled"}) == "variant");
  CHECK(refused(device, problem, {.variant = "cpu"}) == "variant");
  CHECK(refused(device, problem, {.work_items = 64}) == "work_items");
  CHECK(refused(device, problem, {.tile_cols = 64}) == "tile_cols");  // of no variant
  CHECK(refused(device, problem, {.variant = "march", .tile_cols = 30}) == "tile_cols");
  CHECK(refused(device, problem, {.variant = "march", .tile_cols = 4096}) == "tile_cols");
  CHECK(smem::plan_heat(device, problem, {.variant = "march", .tile_rows = 30, .tile_cols = 32}).tile_rows >=
        30);
  problem.dimensions = 2;
  CHECK(refused(device, problem) == "dimensions");
  problem.dimensions = 0;
  problem.type = Scalar::int32;
  CHECK(refused(device, problem) == "in");
  problem.type = Scalar::float64;
  CHECK(refused(smem::clamp(device, "fp64=0"), problem) == "in");
  problem.type = Scalar::float32;
  problem.variable = true;
}

TEST_CASE("plan of heat: steps of a pass are at most those asked for") {
  const smem::Device device = target("sm_90");
  HeatProblem problem{.width = 256, .height = 256, .depth = 64, .steps = 6};
  problem.steps_per_pass = 4;
  for (const std::string_view variant : {"naive", "vector"}) {
    CHECK(passes_of(smem::plan_heat(device, problem, {.variant = std::string(variant)})) == Passes{6, 1, 6});
  }
  problem.variable = true;  // which no variant makes several steps of
  CHECK(passes_of(smem::plan_heat(device, problem)) == Passes{6, 1, 6});
  problem.variable = false;
  problem.steps = problem.steps_per_pass = std::size_t{1} << 30;
  CHECK(smem::plan_heat(device, problem, {.variant = "naive"}).number("steps") == 1);
  CHECK(smem::plan_heat(device, problem).number("steps") >= 2);
}

TEST_CASE("plan of heat: on CPUs, results that the cache does not hold go past it") {
  const auto streams = [](std::size_t cache_bytes, Scalar type) {
    smem::Device device = target("cpu");
    device.cache_bytes = cache_bytes;
    HeatProblem problem = cube(64, 1);
    problem.type = type;
    const smem::Plan plan = smem::plan_heat(device, problem);
    REQUIRE(plan.variant == "cpu");
    return test::contains(plan.build_options(), "-DSTREAMING=1");
  };
  constexpr std::size_t kCells = std::size_t{64} * 64 * 64;
  CHECK_FALSE(streams(4 * kCells, Scalar::float32));
  CHECK(streams(4 * kCells - 1, Scalar::float32));
  CHECK_FALSE(streams(2 * kCells, Scalar::half));
  CHECK(streams(2 * kCells - 1, Scalar::half));
}
