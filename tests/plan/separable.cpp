// Plans of filters and pooling for devices that need not be here.
#include <smem/blur_plan.hpp>
#include <smem/error.hpp>
#include <smem/pool_plan.hpp>
#include <smem/separable_plan.hpp>

#include <doctest/doctest.h>

#include <string>

namespace {

smem::Device gpu() {
  smem::Device device;
  device.name = "a GPU";
  device.vendor = smem::Vendor::nvidia;
  device.architecture = "sm_90";
  device.compute_units = 132;
  device.max_work_group = 1024;
  device.max_work_items = {1024, 1024, 64};
  device.local_bytes = 227 * 1024;
  device.fp64 = true;
  return device;
}

smem::SeparableProblem image(std::size_t taps) {
  smem::SeparableProblem problem;
  problem.width = problem.height = 8192;
  problem.row_taps = problem.column_taps = taps;
  return problem;
}

}  // namespace

TEST_CASE("plan separable: marches with small windows, tiles larger ones, and goes without where none fits") {
  const smem::Device device = gpu();
  smem::Plan plan = smem::plan_separable(device, image(15));
  CHECK(plan.variant == "march");
  CHECK(plan.alternatives.size() == 4);
  CHECK(plan.prediction.bytes() == 2.0 * 4 * 8192 * 8192);
  CHECK(smem::plan_separable(device, image(61)).variant == "tiled");
  CHECK(smem::plan_separable(device, image(2001)).variant == "two_pass");
  CHECK(smem::plan_separable_first(device, image(2001)).has_value());
  CHECK(!smem::plan_separable_first(device, image(15)).has_value());
  smem::Device small = device;
  small.local_bytes = 512;
  small.max_work_group = 1;
  plan = smem::plan_separable(small, image(5));
  CHECK(plan.local_bytes <= 512);
  CHECK(plan.work_items() == 1);
}

TEST_CASE("plan separable: what is fixed by hand") {
  const smem::Device device = gpu();
  CHECK(smem::plan_separable(device, image(5), {.variant = "march", .work_items = 256}).work_items() == 256);
  CHECK_THROWS_AS(smem::plan_separable(device, image(5), {.variant = "march", .work_items = 100}),
                  smem::Error);
  CHECK_THROWS_AS(smem::plan_separable(device, image(5), "nosuch"), smem::Error);
  CHECK_THROWS_AS(smem::plan_separable(device, image(5), "cpu"), smem::Error);
  CHECK_THROWS_AS(smem::plan_separable(device, image(0)), smem::Error);
  CHECK_THROWS_AS(smem::plan_separable(device, image(4001)), smem::Error);
}

TEST_CASE("plan box: sums anew in small boxes, keeps the rows of large ones where there is room") {
  const smem::Device device = gpu();
  CHECK(smem::plan_box(device, smem::BoxProblem::of(image(1), 3)).operation == "separable");
  const smem::Plan plan = smem::plan_box(device, smem::BoxProblem::of(image(1), 50));
  CHECK(plan.variant == "march");
  CHECK(plan.local_bytes < 101 * 512 * 4);
  const smem::Plan kept = smem::plan_box(device, smem::BoxProblem::of(image(1), 10));
  CHECK(kept.variant == "march");
  CHECK(kept.local_bytes > 21 * 512 * 4);
  CHECK(kept.local_bytes <= device.local_bytes / 4);  // so that four groups are there at once
  smem::Device small = device;
  small.local_bytes = 48 * 1024;
  CHECK(smem::plan_box(small, smem::BoxProblem::of(image(1), 50)).local_bytes <= 48 * 1024);
  CHECK(smem::plan_box(device, smem::BoxProblem::of(image(1), 5000)).variant == "two_pass");
}

TEST_CASE("plan pool: vectors where they serve") {
  const smem::Device device = gpu();
  smem::PoolProblem problem;
  problem.width = problem.height = 8192;
  CHECK(smem::plan_pool(device, problem).variant == "vector");
  CHECK(smem::plan_pool(device, problem).vector_width == 4);
  problem.channels = 3;
  CHECK(smem::plan_pool(device, problem).variant == "windows");
  problem.windows.stride_down = 0;
  CHECK_THROWS_AS(smem::plan_pool(device, problem), smem::Error);
}
