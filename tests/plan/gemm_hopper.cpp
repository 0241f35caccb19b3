// Plans of products by the matrix units of Hopper, for described devices.
#include <smem/error.hpp>
#include <smem/gemm_plan.hpp>

#include "support/failure.hpp"
#include "support/gemm_plans.hpp"
#include "support/targets.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

using smem::Scalar;
using test::copies_boxes;
using test::plan_problem_of;
using test::target;

TEST_CASE("plan of gemm: boxes are copied where they are worth their maps") {
  const smem::Device hopper = target("sm_90");
  const auto copies = [&](smem::GemmProblem problem, std::size_t alignment = 64) {
    problem.a_alignment = alignment;
    return copies_boxes(smem::plan_gemm(hopper, problem, {.variant = "wgmma"}));
  };
  for (const std::size_t bytes : {1, 2, 4}) {
    const Scalar type = bytes == 1 ? Scalar::int8 : bytes == 2 ? Scalar::half : Scalar::float32;
    smem::GemmProblem large = plan_problem_of(4096, 4096, 4096, type);
    large.a_along_k = large.b_along_k = large.tf32 = true;
    CHECK(copies(large));
    large.batch = 2;
    CHECK(!copies(large));
  }
  CHECK(!copies(plan_problem_of(1424, 12912, 16, Scalar::half)));
  smem::GemmProblem loose = plan_problem_of(300, 300, 11000, Scalar::half);
  CHECK(copies(loose));
  CHECK(!copies(loose, 2));  // too small to pack
  // Tiles whose columns are no power of two take a second factor along k.
  smem::GemmProblem odd = plan_problem_of(304, 1968, 1776, Scalar::half);
  odd.b_along_k = true;
  CHECK(smem::plan_gemm(hopper, odd).tile_cols % 96 == 0);
  odd.b_along_k = false;
  CHECK(test::failure_of([&] {
          smem::plan_gemm(hopper, odd, {.variant = "wgmma", .tile_rows = 64, .tile_cols = 96});
        }).argument == "tile_rows");
}

TEST_CASE("plan of gemm: groups are at the same k of factors that the cache does not hold") {
  smem::Device hopper = target("sm_90");
  hopper.compute_units = 132;
  const auto depth = [&](std::size_t k) {
    return smem::plan_gemm(hopper, plan_problem_of(1024, 1200, k, Scalar::half),
                           {.variant = "wgmma", .tile_rows = 128, .tile_cols = 128})
        .number("part_depth");
  };
  CHECK(depth(4096) == 39);  // 80 tiles of 64 steps for 132 units
  const std::size_t beyond = depth(8192);
  CHECK((beyond == 0 || 8192 / 64 % beyond == 0 || 8192 / 64 / beyond == 2));  // whole tiles, or equal parts
}

TEST_CASE("plan of gemm: tiles of wgmma by what is measured on an H200") {
  smem::Device hopper = target("sm_90");
  hopper.compute_units = 132;
  // 345 tiles of 192 x 128 are three rounds, 529 of 128 x 128 five.
  smem::Plan plan = smem::plan_gemm(hopper, plan_problem_of(2832, 2896, 128, Scalar::half));
  CHECK(plan.tile_rows == 192);
  CHECK(plan.work_group[0] == 512);
  CHECK(plan.local_bytes <= std::size_t{227} << 10);
  // Its pieces of lines across k do not divide the producers.
  smem::GemmProblem across = plan_problem_of(2832, 2896, 128, Scalar::half);
  across.a_along_k = false;
  CHECK(smem::plan_gemm(hopper, across).tile_rows != 192);
  CHECK(test::failure_of([&] {
          smem::plan_gemm(hopper, across, {.variant = "wgmma", .tile_rows = 192, .tile_cols = 128});
        }).argument == "tile_rows");
  // Lines of 128 bytes of a factor that the cache does not hold take longer.
  smem::GemmProblem streamed = plan_problem_of(3360, 160, 7648, Scalar::half);
  streamed.out = Scalar::half;
  streamed.a_along_k = false;
  streamed.b_along_k = true;
  plan = smem::plan_gemm(hopper, streamed);
  CHECK(plan.tile_rows == 128);
  // Where there are as many units as fit, each tile begins one.
  const auto has_aligned = [](const smem::Plan& of) {
    return std::any_of(of.defines.begin(), of.defines.end(),
                       [](const auto& d) { return d.first == "ALIGNED_UNITS"; });
  };
  plan = smem::plan_gemm(hopper, plan_problem_of(272, 1104, 10432, Scalar::half),
                         {.variant = "wgmma", .tile_rows = 64, .tile_cols = 256});
  CHECK(has_aligned(plan));
  CHECK(plan.groups() == 25 * 5);
}

TEST_CASE("plan of gemm: factors of int8 and TF32 are turned for wgmma") {
  const auto is_defined = [](const smem::Launch& launch, const char* name, long value) {
    return std::count(launch.defines.begin(), launch.defines.end(),
                      std::pair<std::string, long>{name, value}) == 1;
  };
  for (const Scalar type : {Scalar::int8, Scalar::float32}) {
    smem::GemmProblem problem = plan_problem_of(1000, 2000, 3000, type);
    problem.tf32 = true;
    problem.a_along_k = false;
    problem.b_along_k = true;
    const smem::Plan plan = smem::plan_gemm(target("sm_90"), problem, {.variant = "wgmma"});
    REQUIRE(plan.before.size() == 1);
    CHECK(plan.before[0].kernel_file == "nvidia/gemm/turn.cl");
    CHECK(is_defined(plan.before[0], "A_TURNED", 1));
    CHECK(is_defined(plan, "A_ALONG_K", 1));
    CHECK(plan.number("packed_a_pitch") >= 3000);
    CHECK(plan.number("packed_a_pitch") * smem::size_of(type) % 128 == 0);
    CHECK(plan.number("packed_b_pitch") == 0);
    // A block of 128 lines by 128 bytes for each group.
    CHECK(plan.before[0].groups() == 8 * ((3000 * smem::size_of(type) + 127) / 128));
    problem.a_along_k = true;
    CHECK(smem::plan_gemm(target("sm_90"), problem, {.variant = "wgmma"}).before.empty());
    problem.b_alignment = 4;
    CHECK(smem::plan_gemm(target("sm_90"), problem, {.variant = "wgmma"}).number("packed_b_pitch") >= 3000);
    problem.batch = 2;  // which is not packed
    CHECK(test::failure_of([&] {
            smem::plan_gemm(target("sm_90"), problem, {.variant = "wgmma"});
          }).argument == "variant");
  }
}
