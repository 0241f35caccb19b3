// Plans for pooling: work-groups that are fixed by hand, and devices whose loops end early.
#include <smem/error.hpp>
#include <smem/pool_plan.hpp>

#include "support/failure.hpp"
#include "support/targets.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <string>

TEST_CASE("pool: work-groups that are fixed by hand are launched, or refused") {
  const smem::Device device = test::targets::nvidia("sm_90", 227 * 1024);
  smem::PoolProblem problem;
  problem.width = problem.height = 4096;
  for (const char* variant : {"windows", "vector"}) {
    for (const std::size_t work_items : {1, 32, 64, 128, 512, 1024}) {
      CAPTURE(variant);
      CAPTURE(work_items);
      const smem::PlanOverrides fixed{.variant = variant, .work_items = work_items};
      const smem::Plan plan = smem::plan_pool(device, problem, fixed);
      CHECK(plan.work_items() == work_items);
      CHECK(plan.overrides == fixed);
      for (std::size_t d = 0; d < 3; ++d)
        CHECK(plan.global.at(d) % plan.work_group.at(d) == 0);
    }
  }
  const auto refused = [&](const smem::PlanOverrides& fixed) {
    return test::failure_of([&] { smem::plan_pool(device, problem, fixed); }).argument;
  };
  CHECK(refused({.work_items = 48}) == "work_items");
  CHECK(refused({.work_items = 2048}) == "work_items");
  CHECK(refused({.tile_cols = 8}) == "tile_cols");
  problem.width = problem.height = 8;  // 16 results
  CHECK(refused({.variant = "windows", .work_items = 256}) == "work_items");
  smem::Device cpu;
  cpu.type = smem::DeviceType::cpu;
  cpu.compute_units = 2;
  CHECK(smem::plan_pool(cpu, problem, {.variant = "cpu", .work_items = 1}).work_items() == 1);
  const auto error =
      test::failure_of([&] { smem::plan_pool(cpu, problem, {.variant = "cpu", .work_items = 2}); });
  CHECK(error.argument == "work_items");
  CHECK(test::contains(error.expected, "a thread has whole rows"));
}

TEST_CASE("pool: groups of few bands have more planes, as many as a dimension takes work-items") {
  smem::Device device = test::target("sm_90");
  smem::PoolProblem problem;
  problem.pooling = smem::Pooling::square(3, 1);
  problem.width = 3;
  problem.height = 16;
  problem.planes = 1000000;
  const auto group = [&] { return smem::plan_pool(device, problem, {.variant = "windows"}).work_group; };
  device.max_work_items = {1024, 1024, 1024};
  CHECK(group() == std::array<std::size_t, 3>{1, 2, 128});
  device.max_work_items = {1024, 1024, 64};
  CHECK(group() == std::array<std::size_t, 3>{1, 4, 64});
}

TEST_CASE("global pool: a work-group that is fixed by hand is launched, or refused") {
  smem::Device device = test::target("sm_90");
  smem::GlobalPoolProblem problem;
  problem.width = problem.height = 64;
  problem.planes = 16;
  CHECK(smem::plan_global_pool(device, problem, {.work_items = 64}).work_items() == 64);
  device.local_bytes = 600;
  CHECK(test::failure_of([&] { smem::plan_global_pool(device, problem, {.work_items = 128}); }).argument ==
        "work_items");
}

TEST_CASE("global pool: where loops end early, no work-item has a whole plane") {
  smem::Device device;
  device.type = smem::DeviceType::cpu;
  device.compute_units = 8;
  smem::GlobalPoolProblem problem;
  problem.width = 202;
  problem.height = 81;
  problem.channels = 2;
  problem.packed = true;
  CHECK(smem::plan_global_pool(device, problem).work_group[0] == 1);
  device.long_loops = false;
  // 97 iterations for 48 elements in a group of one: 65535 are exceeded.
  CHECK(smem::plan_global_pool(device, problem).work_group[0] > 1);
  device.max_work_group = 1;
  CHECK_THROWS_AS(smem::plan_global_pool(device, problem), smem::Error);
  problem.height = 2;
  CHECK(smem::plan_global_pool(device, problem).work_group[0] == 1);
}

TEST_CASE("global pool: small planes share a group of several teams, large ones have one") {
  const smem::Device device = test::target("sm_90");
  smem::GlobalPoolProblem problem;
  problem.planes = 1024;
  problem.packed = true;
  const auto teams_of = [&](std::size_t edge) {
    problem.width = problem.height = edge;
    const smem::Plan plan = smem::plan_global_pool(device, problem);
    return plan.global[0] == 0 ? 0 : problem.planes * plan.work_items() / plan.global[0];
  };
  CHECK(teams_of(7) == 32);
  CHECK(teams_of(28) == 8);
  CHECK(teams_of(56) == 1);
}
