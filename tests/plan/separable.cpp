// Plans of filters and pooling for devices that need not be here.
#include <smem/blur_plan.hpp>
#include <smem/error.hpp>
#include <smem/pool_plan.hpp>
#include <smem/separable_plan.hpp>

#include "plan/pixels.hpp"
#include "support/failure.hpp"
#include "support/targets.hpp"

#include <doctest/doctest.h>

#include <cstddef>
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

TEST_CASE("plan separable: marches with small windows, takes two passes for larger ones") {
  const smem::Device device = gpu();
  smem::Plan plan = smem::plan_separable(device, image(15));
  CHECK(plan.variant == "march");
  CHECK(plan.alternatives.size() == smem::separable_variants().size() - 1);
  CHECK(plan.prediction.bytes() == 2.0 * 4 * 8192 * 8192);
  CHECK(smem::plan_separable(device, image(61)).variant == "two_pass");
  smem::SeparableProblem colours = image(23);
  colours.channels = 4;
  CHECK(smem::plan_separable(device, colours).variant == "march");
  colours.row_taps = colours.column_taps = 31;
  CHECK(smem::plan_separable(device, colours).variant == "two_pass");
  smem::Device another = device;
  another.vendor = smem::Vendor::amd;
  another.architecture = "gfx942";
  CHECK(smem::plan_separable(another, image(61)).variant == "tiled");
  CHECK(smem::plan_separable(device, image(2001)).variant == "two_pass");
  CHECK(smem::plan_separable(device, image(2001)).before.size() == 1);
  CHECK(plan.before.empty());
  smem::Device small = device;
  small.local_bytes = 512;
  small.max_work_group = 4;
  plan = smem::plan_separable(small, image(5));
  CHECK(plan.local_bytes <= 512);
  CHECK(plan.work_items() <= 4);
}

TEST_CASE("plan separable: packed products of bytes where all weights are whole 256ths") {
  const smem::Device device = gpu();
  const smem::PlanOverrides packed{.variant = "packed"};
  smem::SeparableProblem bytes = image(5);
  bytes.in = bytes.out = smem::Scalar::uint8;
  const auto refused = [&] {
    return test::failure_of([&] { smem::plan_separable(device, bytes, packed); }).argument == "variant";
  };
  CHECK(refused());
  bytes.fixed_point = true;
  CHECK(smem::plan_separable(device, bytes, packed).vector_width == 8);
  CHECK(smem::plan_separable(device, bytes).variant == "units");
  bytes.in_alignment = 4;
  CHECK(smem::plan_separable(device, bytes).variant == "packed");
  bytes.in_alignment = 64;
  bytes.row_taps = bytes.column_taps = 15;
  CHECK(smem::plan_separable(device, bytes, packed).vector_width == 4);
  const auto has_products = [&](const smem::Device& one, const char* kind) {
    return smem::plan_separable(one, bytes, packed).build_options().find(kind) != std::string::npos;
  };
  CHECK(has_products(device, "DOT_PRODUCTS=1"));
  smem::Device amd = device;
  amd.vendor = smem::Vendor::amd;
  amd.architecture = "gfx90a";
  CHECK(has_products(amd, "DOT_PRODUCTS=2"));
  amd.architecture = "gfx1010";
  CHECK_FALSE(has_products(amd, "DOT_PRODUCTS"));
  amd.architecture = "gfx90a", amd.platform = "rusticl";
  CHECK_FALSE(has_products(amd, "DOT_PRODUCTS"));
  bytes.row_taps = bytes.column_taps = 31;  // too many sums at once
  CHECK(refused());
  bytes.row_taps = bytes.column_taps = 5;
  bytes.in_alignment = 2;
  CHECK(refused());
  bytes.in_alignment = 4;
  bytes.in = bytes.out = smem::Scalar::uint16;
  CHECK(refused());
}

TEST_CASE("plan separable: matrix units for bytes, whose products follow from the window") {
  const smem::Device device = gpu();
  smem::SeparableProblem bytes = image(15);
  bytes.in = bytes.out = smem::Scalar::uint8;
  bytes.fixed_point = true;
  const auto units = [&](const smem::PlanOverrides& fixed) {
    smem::PlanOverrides all = fixed;
    all.variant = "units";
    return smem::plan_separable(device, bytes, all);
  };
  const auto has = [](const smem::Plan& plan, const char* text) {
    return test::contains(plan.build_options(), text);
  };
  const smem::Plan usual = units({});
  CHECK((has(usual, "-DALONG=1 ") && has(usual, "-DDOWN=2 ") && has(usual, "-DEMULATED=0")));
  CHECK(usual.local_bytes <= device.local_bytes);
  CHECK(usual.number("band") % 16 == 0);
  CHECK(units({.tile_rows = 128, .tile_cols = 64}).number("band") == 128);
  CHECK(has(units({.tile_cols = 64}), "-DBLOCKS=4 "));
  CHECK(units({.work_items = 256}).work_items() == 256);
  CHECK_THROWS_AS(units({.tile_cols = 48}), smem::Error);
  CHECK_THROWS_AS(units({.tile_rows = 100}), smem::Error);
  CHECK_THROWS_AS(units({.work_items = 48}), smem::Error);
  bytes.row_taps = 33, bytes.column_taps = 18;  // 16 columns and 16 more to either side; 33 rows
  CHECK((has(units({}), "-DALONG=2 ") && has(units({}), "-DDOWN=4 ")));
  bytes.row_taps = bytes.column_taps = 113;
  CHECK((has(units({}), "-DALONG=4 ") && has(units({}), "-DDOWN=8 ")));
  bytes.channels = 2;
  CHECK_THROWS_AS(units({}), smem::Error);
  bytes.channels = 1;
  smem::Device older = device;
  older.architecture = "sm_75";
  CHECK_THROWS_AS(smem::plan_separable(older, bytes, {.variant = "units"}), smem::Error);
  bytes.fixed_point = false;
  CHECK_THROWS_AS(units({}), smem::Error);
}

TEST_CASE("plan separable: matrix units for halves and integers of 16 bits, of any weights") {
  const smem::Device device = gpu();
  for (const smem::Scalar type : {smem::Scalar::half, smem::Scalar::uint16}) {
    smem::SeparableProblem problem = image(15);
    problem.in = problem.out = type;
    const auto refused = [&] {
      return test::failure_of([&] { smem::plan_separable(device, problem, {.variant = "units"}); }).got;
    };
    const smem::Plan plan = smem::plan_separable(device, problem);
    CHECK(plan.variant == "units");
    const auto has = [&](const char* text) { return test::contains(plan.build_options(), text); };
    CHECK((has("-DALONG=2 ") && has("-DDOWN=2 ") && has("-DELEMENT_BYTES=2") && has("-DLIMITS_REGISTERS=1")));
    CHECK(plan.local_bytes <= device.local_bytes);
    // All groups run at once.
    CHECK(plan.global[0] / plan.work_items() <=
          65536 / plan.most_registers / plan.work_items() * device.compute_units);
    problem.row_taps = problem.column_taps = type == smem::Scalar::half ? 5 : 9;
    CHECK(smem::plan_separable(device, problem).variant == "units");
    problem.row_taps = problem.column_taps = type == smem::Scalar::half ? 3 : 7;
    CHECK(smem::plan_separable(device, problem).variant == "march");
    problem.row_taps = problem.column_taps = 33;
    CHECK_NOTHROW(smem::plan_separable(device, problem, {.variant = "units"}));
    problem.row_taps = 35;
    CHECK(test::contains(refused(), "reaches farther than 16 elements"));
    problem.row_taps = 3;
    problem.boundary = smem::Boundary::constant;
    CHECK(test::contains(refused(), "beyond the edges"));
    problem.boundary = smem::Boundary::mirror;
    problem.unsharp = true;
    CHECK(test::contains(refused(), "sums alone"));
  }
}

TEST_CASE("plan separable: one round of the groups that an H200 runs at once") {
  const smem::Device device = gpu();
  // 9 strips of 1008 columns, and groups of 256 work-items with 128 registers, of which 2 share a unit; with
  // 80 registers 3.
  smem::Plan plan = smem::plan_separable(device, image(15));
  CHECK(plan.work_items() == 256);
  CHECK(plan.global[0] / 256 == 9 * 29);
  CHECK(9 * 29 <= 2 * 132);
  plan = smem::plan_separable(device, image(5));
  CHECK(plan.global[0] / 256 == 9 * 44);
  CHECK(9 * 44 <= 3 * 132);
  smem::SeparableProblem bytes = image(5);
  bytes.in = bytes.out = smem::Scalar::uint8;
  plan = smem::plan_separable(device, bytes);
  CHECK(plan.vector_width == 8);
  CHECK(plan.work_items() == 64);
  CHECK(plan.global[0] / 64 <= 9 * 132);
  CHECK(plan.global[0] / 64 > 8 * 132);
  // A row of elements that are counted in 64 bits is for kernels that do so at edges too.
  smem::SeparableProblem wide = image(5);
  wide.width = std::size_t{1} << 31;
  wide.height = 3;
  CHECK(smem::plan_separable(device, wide).variant == "tiled");
  wide.width = 3;
  wide.height = std::size_t{1} << 31;
  CHECK(smem::plan_separable(device, wide).variant == "tiled");
}

TEST_CASE("plan separable: what is fixed by hand") {
  const smem::Device device = gpu();
  CHECK(smem::plan_separable(device, image(5), {.variant = "march", .work_items = 256}).work_items() == 256);
  CHECK_THROWS_AS(smem::plan_separable(device, image(5), {.variant = "march", .work_items = 100}),
                  smem::Error);
  CHECK_THROWS_AS(smem::plan_separable(device, image(5), {.variant = "nosuch"}), smem::Error);
  CHECK_THROWS_AS(smem::plan_separable(device, image(5), {.variant = "cpu"}), smem::Error);
  CHECK_THROWS_AS(smem::plan_separable(device, image(0)), smem::Error);
  CHECK_THROWS_AS(smem::plan_separable(device, image(4001)), smem::Error);
}

TEST_CASE("plan box: sums anew in small boxes, keeps the rows of large ones where there is room") {
  const smem::Device device = gpu();
  const smem::Plan anew = smem::plan_box(device, smem::BoxProblem::of(image(1), 3));
  CHECK(anew.operation == "box_blur");
  CHECK(anew.variant == "separable");
  CHECK(anew.kernel_file == "separable/march.cl");
  CHECK(test::contains(anew.reason, "by separable / march: "));
  CHECK(anew.evidence == smem::plan_separable(device, image(7)).evidence);
  CHECK(anew.alternatives.size() == smem::box_variants().size() - 1);
  // The rows of 31 leave room for two groups of 256 work-items, those of 101 for one.
  const smem::Plan kept = smem::plan_box(device, smem::BoxProblem::of(image(1), 15));
  CHECK(kept.variant == "march");
  CHECK(kept.local_bytes > 30 * 512 * 4);
  CHECK(2 * kept.local_bytes <= device.local_bytes);
  const smem::Plan large = smem::plan_box(device, smem::BoxProblem::of(image(1), 50));
  CHECK(large.variant == "march");
  CHECK(large.local_bytes < 100 * 512 * 4);
  smem::Device small = device;
  small.local_bytes = 48 * 1024;
  const smem::Plan again = smem::plan_box(small, smem::BoxProblem::of(image(1), 50));
  CHECK(again.variant == "march");
  CHECK(again.local_bytes <= 48 * 1024);
  small.local_bytes = 512;
  small.max_work_group = 4;
  CHECK(smem::plan_box(small, smem::BoxProblem::of(image(1), 50)).variant == "two_pass");
  CHECK(smem::plan_box(small, smem::BoxProblem::of(image(1), 1), {.variant = "march"}).work_items() == 4);
  CHECK(smem::plan_box(device, smem::BoxProblem::of(image(1), 5000)).variant == "two_pass");
}

TEST_CASE("plan box: boxes of bytes by shuffles, where a warp has room for them") {
  const smem::Device device = gpu();
  smem::SeparableProblem bytes = image(1);
  bytes.in = bytes.out = smem::Scalar::uint8;
  const smem::PlanOverrides shuffle{.variant = "shuffle"};
  const auto plan = [&](std::size_t across, std::size_t down, const smem::PlanOverrides& fixed = {}) {
    return smem::plan_box(device, smem::BoxProblem::of(bytes, {across, down}), fixed);
  };
  CHECK(plan(60, 60).variant == "shuffle");
  CHECK(plan(60, 60, {.work_items = 64}).work_items() == 64);
  CHECK(plan(60, 60, {.variant = "shuffle", .work_items = 256}).work_items() == 256);
  CHECK_THROWS_AS(plan(60, 60, {.variant = "shuffle", .work_items = 48}), smem::Error);
  CHECK(plan(4, 4).variant == "shuffle");
  CHECK(plan(5, 5).variant == "shuffle");
  CHECK(plan(25, 24).variant == "shuffle");
  CHECK(plan(24, 25).variant == "shuffle");
  CHECK(plan(76, 75).variant == "march");
  CHECK(plan(75, 76).variant == "march");
  // Halos of 24 of 32 work-items; sums of 257 rows; what fits no float.
  CHECK_NOTHROW(plan(190, 50, shuffle));
  CHECK_THROWS_AS(plan(193, 50, shuffle), smem::Error);
  CHECK_NOTHROW(plan(50, 128, shuffle));
  CHECK_THROWS_AS(plan(50, 129, shuffle), smem::Error);
  CHECK(plan(50, 50, shuffle).build_options().find("SMALL_SUMS=1") != std::string::npos);
  CHECK(plan(100, 100, shuffle).build_options().find("SMALL_SUMS=0") != std::string::npos);
  bytes.out = smem::Scalar::float32;
  CHECK(plan(50, 50).variant == "march");
  bytes.out = smem::Scalar::uint8;
  bytes.channels = 3;
  CHECK(plan(50, 50).variant == "march");
  bytes.channels = 1;
  bytes.in_alignment = 8;
  CHECK(plan(50, 50).variant == "march");
}

TEST_CASE("plan box: a work-group that is fixed by hand is launched, or refused") {
  const smem::BoxProblem small = smem::BoxProblem::of(image(1), 1);  // which separable() computes
  CHECK(smem::plan_box(gpu(), small).work_items() == 256);
  CHECK(smem::plan_box(gpu(), small, {.work_items = 64}).work_items() == 64);
  smem::Device device = gpu();
  device.local_bytes = 8192;
  CHECK_THROWS_AS(smem::plan_box(device, small, {.work_items = 1024}), smem::Error);
}

TEST_CASE("plan pool: vectors where they serve") {
  const smem::Device device = gpu();
  smem::PoolProblem problem;
  problem.width = problem.height = 8192;
  CHECK(smem::plan_pool(device, problem).variant == "vector");
  CHECK(smem::plan_pool(device, problem).vector_width == 4);
  problem.channels = 3;
  CHECK(smem::plan_pool(device, problem).variant == "windows");
  problem.pooling.stride.y = 0;
  CHECK_THROWS_AS(smem::plan_pool(device, problem), smem::Error);
}

TEST_CASE("plan of separable: the few bands of a wide halo are as many for each thread") {
  smem::Device device = test::target("cpu");
  device.compute_units = 2;
  // Bands of 8 + 4 x 400 rows at least would be three.
  CHECK(smem::plan::cpu_band(device, 4096, 1, 400) == 2048);
  CHECK(smem::plan::cpu_band(device, 4096, 1, 4) == 512);
}

TEST_CASE("plan of windows: bands of medians of 5 x 5 on CPUs are pairs of rows") {
  const auto band = [](std::size_t height, std::size_t taps, smem::WindowOp op) {
    smem::WindowProblem problem{.grids = image(taps), .op = op};
    problem.grids.in = problem.grids.out = smem::Scalar::uint8;
    problem.grids.height = height;
    const smem::Plan plan = smem::plan_window(test::target("cpu"), problem);
    REQUIRE(plan.variant == "cpu");
    CHECK(plan.groups() >= (height + plan.number("band") - 1) / plan.number("band"));
    return plan.number("band");
  };
  // 2 threads, 4 bands for each.
  CHECK(band(1080, 3, smem::WindowOp::median) == 135);
  CHECK(band(1080, 5, smem::WindowOp::median) == 136);
  CHECK(band(1080, 5, smem::WindowOp::gradient) == 135);
  CHECK(band(1, 5, smem::WindowOp::median) == 2);
}

TEST_CASE("plan box: sums along rows by tiles, of which half at least are results") {
  const auto rows_kernel = [](std::size_t radius) {
    const smem::Plan plan =
        smem::plan_box(gpu(), smem::BoxProblem::of(image(1), radius), {.variant = "two_pass"});
    REQUIRE(plan.before.size() == 1);
    return plan.before.front().kernel_file;
  };
  // A tile has at most 12 x 256 x 4 columns of floats: 6144 of halo.
  CHECK(rows_kernel(3070) == "blur/box_rows.cl");
  CHECK(rows_kernel(3072) == "blur/box_pass.cl");
}
