// Plans of products for described devices: they fit, have reasons, and count right.
#include <smem/error.hpp>
#include <smem/gemm_plan.hpp>

#include "support/failure.hpp"
#include "support/gemm_plans.hpp"
#include "support/targets.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

using smem::Scalar;
using test::copies_boxes;
using test::plan_problem_of;
using test::target;

TEST_CASE("plan of gemm: problems of all kinds fit every target and its clamps") {
  for (const smem::Device& whole : test::all_targets()) {
    for (const char* limits : {"", "local=32K,work_group=64", "local=1K", "work_group=1", "local=0"}) {
      const smem::Device device = smem::clamp(whole, limits);
      CAPTURE(device.name);
      CAPTURE(limits);
      for (const Scalar type : {Scalar::float32, Scalar::half, Scalar::int8, Scalar::float64}) {
        if (type == Scalar::float64 && !device.fp64) continue;
        for (const smem::GemmProblem& shape :
             {plan_problem_of(4096, 4096, 4096, type), plan_problem_of(1, 4096, 4096, type),
              plan_problem_of(31, 129, 65536, type), plan_problem_of(4096, 37, 4096, type),
              plan_problem_of(1, 1, 0, type)}) {
          smem::GemmProblem problem = shape;
          for (const bool along_k : {false, true}) {
            problem.a_along_k = problem.b_along_k = along_k;
            const smem::Plan plan = smem::plan_gemm(device, problem);
            CAPTURE(plan.to_string());
            CHECK(plan.local_bytes <= device.local_bytes);
            CHECK(plan.work_items() <= device.max_work_group);
            CHECK(plan.global[0] % plan.work_group[0] == 0);
            CHECK(plan.global[0] > 0);
            CHECK(plan.alternatives.size() + 1 == smem::gemm_variants().size());
            // Parts of sums have memory, and a launch that adds them; and so have maps of boxes.
            const std::size_t maps = copies_boxes(plan) ? plan.groups() * 640 : 0;
            REQUIRE(plan.scratch_bytes >= maps);
            const bool no_sums = plan.scratch_bytes == maps;
            CHECK(plan.before.empty() ==
                  (no_sums || plan.number("packed_a_pitch") + plan.number("packed_b_pitch") == 0));
            if (!plan.before.empty()) continue;
            CHECK((plan.after.empty() && !plan.counters) == no_sums);
            CHECK(no_sums == (plan.number("part_depth") == 0));
            for (const smem::Launch& finish : plan.after) {
              CHECK(finish.local_bytes <= device.local_bytes);
              CHECK(finish.work_items() <= device.max_work_group);
            }
          }
        }
      }
      if (device.local_bytes == 0) continue;
      for (const std::string_view variant : smem::gemm_variants()) {
        if (variant == "cpu" || variant == "multistage" || variant == "packed" || variant == "mma" ||
            variant == "wgmma" || variant == "matrix_units")
          continue;
        const smem::Plan plan =
            smem::plan_gemm(device, plan_problem_of(1000, 333, 777), {.variant = std::string(variant)});
        CHECK(plan.local_bytes <= device.local_bytes);
        CHECK(plan.work_items() <= device.max_work_group);
        CHECK_FALSE(smem::gemm_step(variant).empty());
      }
    }
  }
}

TEST_CASE("plan of gemm: what each kind of device and shape gets") {
  const smem::GemmProblem large = plan_problem_of(4096, 4096, 4096);
  CHECK(smem::plan_gemm(target("sm_75"), large).variant == "two_level");
  CHECK(smem::plan_gemm(target("gfx90a"), large).variant == "double_buffered");
  CHECK(smem::plan_gemm(target("pvc"), large).variant == "vector");
  const smem::Plan threads = smem::plan_gemm(target("cpu"), large);
  CHECK(threads.variant == "cpu");
  CHECK(threads.groups() % 2 == 0);
  CHECK(smem::plan_gemm(target("cpu"), plan_problem_of(200, 100, 100)).groups() == 2);
  CHECK(smem::plan_gemm(smem::clamp(target("cpu"), "local=24K"), large).local_bytes <= 24 * 1024);
  const smem::Plan plan = smem::plan_gemm(target("sm_75"), large);
  CHECK(plan.tile_rows == 128);
  CHECK(plan.tile_cols == 128);
  CHECK(plan.groups() == 32 * 32);
  // Few tiles and long sums: shared among work-groups. Short sums are not, and many tiles are not.
  CHECK(smem::plan_gemm(target("sm_75"), plan_problem_of(31, 129, 65536)).variant == "split_k");
  CHECK(smem::plan_gemm(target("sm_75"), plan_problem_of(31, 129, 100)).variant == "two_level");
  CHECK(smem::plan_gemm(target("sm_75"), plan_problem_of(31, 129, 65536)).scratch_bytes > 0);
  // Batches are in the grid.
  smem::GemmProblem batched = plan_problem_of(64, 64, 64);
  batched.batch = 10000;
  const smem::Plan many = smem::plan_gemm(target("sm_75"), batched);
  CHECK(many.tile_rows == 64);
  CHECK(many.groups() == 10000);
  // Skinny shapes get skinny tiles.
  CHECK(smem::plan_gemm(target("sm_75"), plan_problem_of(16, 65536, 512)).tile_rows == 16);
  CHECK(smem::plan_gemm(target("sm_75"), plan_problem_of(65536, 16, 512)).tile_cols == 16);
  const smem::Device none = smem::clamp(target("sm_90"), "local=0");
  CHECK(smem::plan_gemm(none, large).variant == "naive");
  CHECK(test::contains(smem::plan_gemm(none, large).reason, "no tile fits 0 bytes"));
}

TEST_CASE("plan of gemm: NVIDIA's own tiles fit 48 KiB of local memory") {
  const smem::Device ampere = test::targets::nvidia("sm_86");  // whose driver reports 48 KiB
  for (const auto& shape : {std::array<std::size_t, 2>{4096, 4096},
                            {512, 3000},
                            {1000, 333},
                            {31, 65536},
                            {3, 4096},
                            {4096, 37},
                            {64, 64}}) {
    for (const bool a_along_k : {true, false}) {
      for (const bool b_along_k : {true, false}) {
        CAPTURE(shape[0]);
        CAPTURE(shape[1]);
        smem::GemmProblem problem = plan_problem_of(shape[0], shape[1], 4096);
        problem.a_along_k = a_along_k;
        problem.b_along_k = b_along_k;
        for (const char* variant : {"multistage", "packed"}) {
          const smem::Plan plan = smem::plan_gemm(ampere, problem, {.variant = variant});
          CHECK(plan.local_bytes <= ampere.local_bytes);
          CHECK_FALSE(test::contains(plan.evidence, "H200"));
        }
        const std::string chosen = smem::plan_gemm(ampere, problem).variant;
        CHECK((chosen == "multistage" || (chosen == "packed" && (a_along_k || b_along_k))));
      }
    }
  }
}

TEST_CASE("plan of gemm: matrix units of AMD and Intel") {
  for (const char* name : {"gfx90a", "gfx942", "gfx1100", "gfx1201", "dg2-g10", "pvc"}) {
    CAPTURE(name);
    const smem::Device device = target(name);
    for (const Scalar in : {Scalar::half, Scalar::bfloat16, Scalar::int8}) {
      CAPTURE(smem::name_of(in));
      smem::GemmProblem problem = plan_problem_of(4096, 4096, 4096, in);
      const smem::Plan plan = smem::plan_gemm(device, problem);
      CHECK(plan.variant == "matrix_units");
      CHECK(test::contains(plan.evidence, "no measurement"));
      CHECK(test::contains(plan.build_options(), "-DEMULATED_UNIT=0"));
      CHECK(plan.after.empty());
      CHECK(smem::plan_gemm(smem::clamp(device, "matrix_unit=none"), problem).variant != "matrix_units");
      // Few tiles of long sums are cut, at whole steps.
      problem.m = problem.n = 64;
      problem.k = 65536;
      const smem::Plan cut = smem::plan_gemm(device, problem);
      CHECK(cut.variant == "matrix_units");
      CHECK(cut.number("parts") > 1);
      CHECK(cut.number("part_depth") % (64 / smem::size_of(in)) == 0);
      REQUIRE(cut.after.size() == 1);
      CHECK(cut.after[0].variant == "finish");
      CHECK(cut.scratch_bytes > 0);
      // C of few rows or columns gets tiles of few.
      problem.m = 8;
      problem.n = 65536;
      CHECK(smem::plan_gemm(device, problem).tile_rows <= 16);
      std::swap(problem.m, problem.n);
      CHECK(smem::plan_gemm(device, problem).tile_cols <= 16);
      // An emulated unit is not chosen, and runs where the caller fixes it.
      const smem::Device emulated =
          smem::clamp(target("gfx1030"), "matrix_unit=" + std::string(smem::name_of(device.matrix_unit)));
      CHECK(smem::plan_gemm(emulated, problem).variant != "matrix_units");
      CHECK(test::contains(smem::plan_gemm(emulated, problem, {.variant = "matrix_units"}).build_options(),
                           "-DEMULATED_UNIT=1"));
    }
    CHECK(smem::plan_gemm(device, plan_problem_of(4096, 4096, 4096)).variant != "matrix_units");
    const auto error = test::failure_of(
        [&] { smem::plan_gemm(device, plan_problem_of(64, 64, 64), {.variant = "matrix_units"}); });
    CHECK(error.argument == "variant");
    CHECK(test::contains(error.got, "multiplies half, bfloat16 and int8"));
  }
  const auto error = test::failure_of(
      [&] { smem::plan_gemm(target("sm_75"), plan_problem_of(64, 64, 64), {.variant = "matrix_units"}); });
  CHECK(test::contains(error.got, "needs a matrix unit of AMD or Intel"));
}

TEST_CASE("plan of gemm: NVIDIA's own kernels") {
  const smem::Device hopper = target("sm_90");
  smem::GemmProblem large = plan_problem_of(4096, 4096, 4096);
  large.a_along_k = false;  // so that no factor is packed
  smem::Plan plan = smem::plan_gemm(hopper, large);
  CHECK(plan.variant == "multistage");
  CHECK(plan.target.empty());
  CHECK(plan.tile_rows == 64);
  CHECK(plan.tile_cols == 128);
  CHECK(plan.groups() == 64 * 32);
  CHECK(test::contains(plan.evidence, "H200"));
  CHECK(test::contains(plan.reason, "the model's best of"));
  // Long sums of few tiles are cut, in parts that begin where copies of 16 bytes may.
  plan = smem::plan_gemm(hopper, plan_problem_of(31, 129, 65536));
  CHECK(plan.variant == "multistage");
  CHECK(plan.number("parts") > 8);
  CHECK(plan.number("part_depth") % 64 == 0);
  CHECK(plan.counters);
  CHECK(plan.after.empty());
  CHECK(plan.scratch_bytes == plan.groups() * plan.tile_rows * plan.tile_cols * 4);
  CHECK(smem::plan_gemm(hopper, plan_problem_of(31, 129, 100)).scratch_bytes == 0);
  smem::GemmProblem batched = plan_problem_of(64, 64, 64);
  batched.batch = 10000;
  CHECK(smem::plan_gemm(hopper, batched).groups() >= 10000);
  // A group that does not fit gives way, with parts that are already counted too.
  CHECK(smem::plan_gemm(smem::clamp(hopper, "work_group=64"), large).tile_rows == 64);
  CHECK(smem::plan_gemm(smem::clamp(hopper, "work_group=32"), large).variant == "two_level");
  CHECK(smem::plan_gemm(smem::clamp(hopper, "work_group=16"), plan_problem_of(31, 129, 65536)).variant ==
        "split_k");

  smem::GemmProblem halves = plan_problem_of(4096, 4096, 4096, Scalar::half);
  plan = smem::plan_gemm(hopper, halves);
  CHECK(plan.variant == "wgmma");
  CHECK(plan.target == "sm_90a");
  CHECK(plan.groups() == hopper.compute_units);
  CHECK(smem::plan_gemm(smem::clamp(hopper, "retargeting=0"), halves).variant == "mma");
  CHECK(smem::plan_gemm(smem::clamp(hopper, "retargeting=0"), halves).target.empty());
  // Rows that begin anywhere are packed before; in a batch, the product reads them as they are.
  halves.b_alignment = 2;
  const smem::Plan packed = smem::plan_gemm(hopper, halves);
  CHECK(packed.variant == "wgmma");
  // Each group has 640 bytes for the maps of the boxes that it copies.
  const std::size_t maps = hopper.compute_units * 640;
  CHECK(packed.scratch_bytes == std::size_t{2} * 4096 * 4096 + maps);
  REQUIRE(packed.before.size() == 1);
  CHECK(packed.before[0].entry_point == "gemm_pack");
  CHECK(packed.before[0].global[0] == 4096 * 4096 / 8 / 2);
  CHECK(packed.before[0].prediction.bytes_read == 2.0 * 4096 * 4096);
  CHECK(packed.number("packed_a_pitch") == 0);
  CHECK(packed.number("packed_b_pitch") == 4096);
  halves.a_alignment = 4;
  CHECK(smem::plan_gemm(hopper, halves).scratch_bytes == std::size_t{4} * 4096 * 4096 + maps);
  CHECK(smem::plan_gemm(smem::clamp(hopper, "retargeting=0"), halves).before.empty());
  CHECK(smem::plan_gemm(hopper, plan_problem_of(4096, 4096, 4096, Scalar::half)).before.empty());
  // What stands in for "wgmma" reads factors as they lie.
  const smem::Plan instead = smem::plan_gemm(smem::clamp(hopper, "work_group=64"), halves);
  CHECK(instead.variant == "two_level");
  CHECK(instead.before.empty());
  CHECK(instead.scratch_bytes == 0);
  halves.batch = 2;
  const smem::Plan loose = smem::plan_gemm(hopper, halves);
  CHECK(loose.before.empty());
  CHECK(std::find(loose.defines.begin(), loose.defines.end(), std::pair<std::string, long>{"LOOSE", 1}) !=
        loose.defines.end());
  // Factors of int8 that lie across k are turned before, where the product is large; of TF32 one of two.
  smem::GemmProblem bytes = plan_problem_of(4096, 4096, 4096, Scalar::int8);
  CHECK(smem::plan_gemm(hopper, bytes).variant == "wgmma");
  CHECK(smem::plan_gemm(hopper, bytes).before.size() == 1);
  CHECK(smem::plan_gemm(smem::clamp(hopper, "retargeting=0"), bytes).variant == "mma");
  CHECK(smem::plan_gemm(hopper, plan_problem_of(300, 300, 300, Scalar::int8)).variant == "mma");
  bytes.a_along_k = bytes.b_along_k = true;
  CHECK(smem::plan_gemm(hopper, bytes).variant == "wgmma");
  CHECK(smem::plan_gemm(hopper, bytes).before.empty());
  CHECK(smem::plan_gemm(hopper, plan_problem_of(512, 512, 512, Scalar::float64)).variant == "mma");
  smem::GemmProblem cut = plan_problem_of(4096, 4096, 4096);
  cut.tf32 = true;
  CHECK(smem::plan_gemm(hopper, cut).variant == "wgmma");
  CHECK(smem::plan_gemm(hopper, cut).before.empty());
  CHECK(smem::plan_gemm(target("sm_75"), cut).variant == "two_level");
  cut.a_along_k = false;
  CHECK(smem::plan_gemm(hopper, cut).variant == "wgmma");
  CHECK(smem::plan_gemm(hopper, cut).before.size() == 1);
  cut.a_along_k = true;
  cut.b_along_k = true;
  CHECK(smem::plan_gemm(hopper, cut).variant == "wgmma");
  CHECK(smem::plan_gemm(hopper, cut).before.empty());
  // TF32 is allowed, not demanded: vectors of float take less time here.
  smem::GemmProblem small = plan_problem_of(193, 53, 140);
  small.tf32 = true;
  small.a_along_k = false;
  small.a_alignment = small.b_alignment = small.c_alignment = 4;
  CHECK(smem::plan_gemm(hopper, small).variant == "multistage");
  for (const char* variant : {"multistage", "mma", "wgmma"}) {
    CHECK(test::failure_of([&] {
            smem::plan_gemm(target("gfx90a"), large, {.variant = std::string(variant)});
          }).argument == "variant");
    CHECK(test::failure_of([&] {
            smem::plan_gemm(target("sm_75"), halves, {.variant = std::string(variant)});
          }).argument == "variant");
  }
}

TEST_CASE("plan of gemm: all that the model chooses among") {
  const smem::Device hopper = target("sm_90");
  for (const Scalar type : {Scalar::float32, Scalar::half, Scalar::int8, Scalar::float64}) {
    const smem::GemmProblem problem = plan_problem_of(500, 700, 3000, type);
    const std::string variant = type == Scalar::float64 ? "mma" : "";
    const std::vector<smem::GemmCandidate> all = smem::gemm_candidates(hopper, problem, variant);
    REQUIRE(all.size() > 3);
    CHECK(all.front().plan.defines == smem::plan_gemm(hopper, problem, {.variant = variant}).defines);
    for (std::size_t i = 0; i < all.size(); ++i) {
      CAPTURE(all[i].text);
      CHECK(smem::plan_gemm(hopper, problem, all[i].plan.overrides) == all[i].plan);
      CHECK(all[i].plan.tile_rows == all[i].plan.overrides.tile_rows);
      CHECK(all[i].plan.tile_cols == all[i].plan.overrides.tile_cols);
      CHECK(all[i].seconds > 0);
      for (std::size_t j = 0; j < i; ++j)
        CHECK(all[i].plan.overrides != all[j].plan.overrides);
    }
  }
  CHECK(smem::gemm_candidates(target("gfx90a"), plan_problem_of(64, 64, 64)).empty());
  const auto fixed = [&](const char* variant, std::size_t rows, std::size_t cols) {
    return test::failure_of([&] {
             smem::plan_gemm(hopper, plan_problem_of(512, 512, 512, Scalar::half),
                             {.variant = variant, .tile_rows = rows, .tile_cols = cols});
           })
        .argument;
  };
  CHECK(fixed("wgmma", 100, 0) == "tile_rows");
  CHECK(fixed("mma", 0, 100) == "tile_cols");
  CHECK(test::failure_of([&] {
          smem::plan_gemm(hopper, plan_problem_of(512, 512, 512, Scalar::half),
                          {.variant = "mma", .work_items = 64});
        }).argument == "work_items");
}

TEST_CASE("plan of gemm: matrix units for double") {
  for (const char* name : {"sm_86", "sm_90"}) {
    const smem::Plan plan =
        smem::plan_gemm(target(name), plan_problem_of(4096, 4096, 4096, Scalar::float64), {.variant = "mma"});
    CHECK(plan.kernel_file == "nvidia/gemm/dmma.cl");
    CHECK(plan.local_bytes <= target(name).local_bytes);
    CHECK_FALSE(plan.counters);
  }
  // Of rows that begin anywhere, no tile whose copies would take the last registers, and stores of single
  // numbers.
  for (const std::size_t alignment : {8, 16}) {
    smem::GemmProblem problem = plan_problem_of(4096, 4096, 4096, Scalar::float64);
    problem.a_alignment = problem.c_alignment = alignment;
    const smem::Plan plan = smem::plan_gemm(target("sm_90"), problem);
    CHECK(plan.build_options().find(alignment == 16 ? "-DC_VECTOR=2" : "-DC_VECTOR=1") != std::string::npos);
    const std::vector<smem::GemmCandidate> all = smem::gemm_candidates(target("sm_90"), problem, "mma");
    CHECK(std::any_of(all.begin(), all.end(), [](const smem::GemmCandidate& one) {
            return one.plan.tile_rows * one.plan.tile_cols == 128 * 64;
          }) == (alignment == 16));
  }
  const smem::Plan parts =
      smem::plan_gemm(target("sm_90"), plan_problem_of(64, 64, 20000, Scalar::float64), {.variant = "mma"});
  CHECK(parts.counters);
  CHECK(parts.scratch_bytes == parts.groups() * parts.tile_rows * parts.tile_cols * 8);
  CHECK(test::failure_of([&] {
          smem::plan_gemm(target("sm_75"), plan_problem_of(64, 64, 64, Scalar::float64), {.variant = "mma"});
        }).argument == "variant");
}

TEST_CASE("plan of gemm: stages and compiler of products of doubles") {
  smem::Device hopper = target("sm_90");
  hopper.compute_units = 132;
  const auto options_of = [&](std::size_t rows, bool a_along_k, bool b_along_k) {
    smem::GemmProblem problem = plan_problem_of(400, 1120, 8320, Scalar::float64);
    problem.a_along_k = a_along_k;
    problem.b_along_k = b_along_k;
    return smem::plan_gemm(hopper, problem, {.variant = "mma", .tile_rows = rows, .tile_cols = 64})
        .build_options();
  };
  // Tiles whose instructions stay in the kernel's order: of factors along k, of any two that lie alike.
  for (const bool a_along_k : {false, true}) {
    for (const bool b_along_k : {false, true}) {
      const auto is_ordered = [&](std::size_t rows) {
        return test::contains(options_of(rows, a_along_k, b_along_k), "-cl-nv-opt-level=1");
      };
      CHECK(is_ordered(64) == (a_along_k && b_along_k));
      CHECK(is_ordered(96) == (a_along_k == b_along_k));
      CHECK_FALSE(is_ordered(32));
    }
  }
  // Two stages, which wait for the memory at each step, only where local memory holds no more.
  CHECK(test::contains(options_of(64, true, true), "-DSTAGES=4"));
  hopper.local_bytes = std::size_t{48} << 10;
  CHECK(test::contains(options_of(64, true, true), "-DSTAGES=2"));
}

TEST_CASE("plan of gemm: few parts where the last round of tiles is short") {
  smem::Device hopper = target("sm_90");
  hopper.compute_units = 132;
  // 217 tiles of 64 x 128 take two rounds, of which the second has few; in three parts each they take 5 / 3.
  smem::GemmProblem problem = plan_problem_of(1984, 848, 12944);
  problem.b_along_k = true;
  CHECK(test::contains(smem::plan_gemm(hopper, problem).reason, "sums in 3 parts"));
  // Two rounds of nearly all; and sums that are longer than the cache, 53 MB.
  problem.m = 2368;
  CHECK(!test::contains(smem::plan_gemm(hopper, problem).reason, "sums in"));
  problem = plan_problem_of(688, 9296, 512);
  CHECK(!test::contains(smem::plan_gemm(hopper, problem).reason, "sums in"));
}

TEST_CASE("plan of gemm: a thin and a wide factor") {
  smem::Device hopper = target("sm_90");
  hopper.compute_units = 132;  // an H200: memory bounds it there
  const smem::Plan rows = smem::plan_gemm(hopper, plan_problem_of(16, 8192, 8192, Scalar::half));
  CHECK(rows.variant == "wgmma");
  CHECK(rows.tile_rows == 16);
  CHECK(rows.tile_cols == 64);
  CHECK(copies_boxes(rows));
  smem::GemmProblem thin = plan_problem_of(8192, 16, 8192, Scalar::half);
  thin.b_along_k = true;
  const smem::Plan columns = smem::plan_gemm(hopper, thin);
  CHECK(columns.variant == "wgmma");
  CHECK(columns.tile_rows == 64);
  CHECK(columns.tile_cols == 16);
  // What the cache holds.
  const smem::Plan small = smem::plan_gemm(hopper, plan_problem_of(8, 4096, 4096, Scalar::half));
  CHECK(small.variant == "mma");
  CHECK(small.tile_rows == 16);
  CHECK(small.number("parts") > 1);
}

TEST_CASE("plan of gemm: many small products") {
  smem::Device hopper = target("sm_90");
  hopper.compute_units = 132;
  const auto plan_of = [&](std::size_t edge, std::size_t batch, Scalar in) {
    smem::GemmProblem problem = plan_problem_of(edge, edge, edge, in);
    problem.out = in;
    problem.batch = batch;
    return smem::plan_gemm(hopper, problem);
  };
  for (const Scalar in : {Scalar::half, Scalar::bfloat16, Scalar::float64}) {
    CHECK(plan_of(16, 100000, in).entry_point == "gemm_small");
    CHECK(plan_of(13, 100000, in).entry_point == "gemm_small");
  }
  CHECK(plan_of(16, 100000, Scalar::half).reason.find("a warp for 16 x 16 results") != std::string::npos);
  // By name, of rows that begin anywhere: tiles whose rows are mostly beyond the products, but no others.
  smem::GemmProblem unaligned = plan_problem_of(20, 20, 20, Scalar::half);
  unaligned.batch = 50000;
  unaligned.a_alignment = unaligned.b_alignment = 8;
  const smem::Plan by_name = smem::plan_gemm(hopper, unaligned, {.variant = "wgmma"});
  CHECK(std::any_of(by_name.defines.begin(), by_name.defines.end(),
                    [](const auto& define) { return define.first == "LOOSE" && define.second == 1; }));
  // Few products, and larger ones.
  CHECK(plan_of(16, 100, Scalar::half).entry_point != "gemm_small");
  CHECK(plan_of(32, 20000, Scalar::float64).entry_point == "gemm_dmma");
  CHECK(plan_of(64, 10000, Scalar::float64).entry_point == "gemm_dmma");
  const smem::Plan larger = plan_of(64, 10000, Scalar::half);
  CHECK(larger.variant == "wgmma");
  CHECK(larger.tile_rows == 64);
  CHECK(larger.tile_cols == 64);
}

TEST_CASE("plan of gemm: what it predicts") {
  smem::GemmProblem problem = plan_problem_of(100, 200, 300, Scalar::half);
  problem.batch = 3;
  smem::Plan plan = smem::plan_gemm(target("sm_75"), problem);
  CHECK(plan.prediction.operations == 3 * 2.0 * 100 * 200 * 300);
  CHECK(plan.prediction.bytes_read == 3 * 2.0 * (100 * 300 + 300 * 200));
  CHECK(plan.prediction.bytes_written == 3 * 4.0 * 100 * 200);
  problem.reads_c = true;
  CHECK(smem::plan_gemm(target("sm_75"), problem).prediction.bytes_read ==
        3 * 2.0 * (100 * 300 + 300 * 200) + 3 * 4.0 * 100 * 200);
  // A's tile is written down its columns where A lies along k: plain, all of them lie in one bank.
  plan = smem::plan_gemm(target("sm_90"), plan_problem_of(512, 512, 512), {.variant = "tiled"});
  CHECK(plan.layout.store_degree() == 8);
  CHECK(smem::plan_gemm(target("sm_90"), plan_problem_of(512, 512, 512), {.variant = "padded"})
            .layout.store_degree() < 3);
  CHECK(smem::plan_gemm(target("sm_90"), plan_problem_of(512, 512, 512), {.variant = "swizzled"})
            .layout.store_degree() < 3);
  for (const char* variant : {"vector", "two_level"})
    CHECK(smem::plan_gemm(target("sm_90"), plan_problem_of(512, 512, 512), {.variant = std::string(variant)})
              .layout.load_degree() == 1);
  const auto error =
      test::failure_of([] { smem::plan_gemm(target("tgllp"), plan_problem_of(5, 5, 5, Scalar::float64)); });
  CHECK(error.argument == "in");
}

// Kernels have default sizes for what is not defined.
TEST_CASE("plan gemm: kernels are told how many results a work-item makes, one too") {
  for (const smem::Device& device : {target("cpu"), target("sm_90")}) {
    for (const char* variant : {"registers_1d", "registers_2d", "async"}) {
      CAPTURE(variant);
      const smem::Plan plan = smem::plan_gemm(
          device, plan_problem_of(64, 64, 64),
          smem::PlanOverrides{.variant = variant, .tile_rows = 16, .tile_cols = 16, .work_items = 256});
      CHECK(plan.work_items() == 256);
      CHECK(plan.items_per_work_item == 1);
      for (const auto& [name, value] : {std::pair{"GROUP", 256L}, {"EACH_M", 1L}, {"EACH_N", 1L}}) {
        const std::pair<std::string, long> define{name, value};
        CHECK(std::count(plan.defines.begin(), plan.defines.end(), define) == 1);
      }
    }
  }
}
