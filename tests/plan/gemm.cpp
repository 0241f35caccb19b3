// Plans of products for devices that are not here: they fit, they say why, and they count right.
#include <smem/smem.hpp>

#include "plan/gemm_variants.hpp"
#include "support/failure.hpp"
#include "support/targets.hpp"

#include <doctest/doctest.h>

#include <string>

using smem::Scalar;
using test::target;

namespace {

smem::GemmProblem problem_of(std::size_t m, std::size_t n, std::size_t k, Scalar in = Scalar::float32) {
  smem::GemmProblem problem;
  problem.m = m;
  problem.n = n;
  problem.k = k;
  problem.in = in;
  problem.out = in == Scalar::int8 ? Scalar::int32 : in == Scalar::float64 ? in : Scalar::float32;
  return problem;
}

}  // namespace

TEST_CASE("plan of gemm: problems of all kinds fit every target and its clamps") {
  for (const smem::Device& whole : test::all_targets()) {
    for (const char* limits : {"", "local=32K,work_group=64", "local=1K", "work_group=1", "local=0"}) {
      const smem::Device device = smem::clamp(whole, limits);
      CAPTURE(device.name);
      CAPTURE(limits);
      for (const Scalar type : {Scalar::float32, Scalar::half, Scalar::int8, Scalar::float64}) {
        if (type == Scalar::float64 && !device.fp64) continue;
        for (const smem::GemmProblem& shape :
             {problem_of(4096, 4096, 4096, type), problem_of(1, 4096, 4096, type),
              problem_of(31, 129, 65536, type), problem_of(4096, 37, 4096, type),
              problem_of(1, 1, 0, type)}) {
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
            const auto finish = smem::plan_gemm_finish(device, problem, {});
            CHECK((finish.has_value() == (plan.variant == "split_k")));
            // A driver that refuses a launch gets smaller work-groups for the same parts.
            const auto parts = smem::plan::gemm::choose(device, problem, {});
            const auto smaller = smem::plan::gemm::choose(smem::clamp(device, "work_group=1"), problem, {});
            CHECK(parts.variant == smaller.variant);
            CHECK(parts.parts == smaller.parts);
            CHECK(parts.scratch_bytes == smaller.scratch_bytes);
          }
        }
      }
      if (device.local_bytes == 0) continue;
      for (const std::string_view variant : smem::gemm_variants()) {
        const smem::Plan plan = smem::plan_gemm(device, problem_of(1000, 333, 777), variant);
        CHECK(plan.local_bytes <= device.local_bytes);
        CHECK(plan.work_items() <= device.max_work_group);
        CHECK_FALSE(smem::gemm_step(variant).empty());
      }
    }
  }
}

TEST_CASE("plan of gemm: what each kind of device and shape gets") {
  const smem::GemmProblem large = problem_of(4096, 4096, 4096);
  CHECK(smem::plan_gemm(target("sm_90"), large).variant == "two_level");
  CHECK(smem::plan_gemm(target("gfx90a"), large).variant == "double_buffered");
  CHECK(smem::plan_gemm(target("pvc"), large).variant == "vector");
  CHECK(smem::plan_gemm(target("cpu"), large).variant == "double_buffered");
  const smem::Plan plan = smem::plan_gemm(target("sm_90"), large);
  CHECK(plan.tile_rows == 128);
  CHECK(plan.tile_cols == 128);
  CHECK(plan.groups() == 32 * 32);
  // Few tiles and long sums: shared among work-groups. Short sums are not, and many tiles are not.
  CHECK(smem::plan_gemm(target("sm_90"), problem_of(31, 129, 65536)).variant == "split_k");
  CHECK(smem::plan_gemm(target("sm_90"), problem_of(31, 129, 100)).variant == "two_level");
  CHECK(smem::plan_gemm(target("sm_90"), problem_of(31, 129, 65536)).scratch_bytes > 0);
  // Batches are in the grid.
  smem::GemmProblem batched = problem_of(64, 64, 64);
  batched.batch = 10000;
  const smem::Plan many = smem::plan_gemm(target("sm_90"), batched);
  CHECK(many.tile_rows == 64);
  CHECK(many.groups() == 10000);
  // Skinny shapes get skinny tiles.
  CHECK(smem::plan_gemm(target("sm_90"), problem_of(16, 65536, 512)).tile_rows == 16);
  CHECK(smem::plan_gemm(target("sm_90"), problem_of(65536, 16, 512)).tile_cols == 16);
  const smem::Device none = smem::clamp(target("sm_90"), "local=0");
  CHECK(smem::plan_gemm(none, large).variant == "naive");
  CHECK(test::contains(smem::plan_gemm(none, large).reason, "no tile fits 0 bytes"));
}

TEST_CASE("plan of gemm: what it predicts") {
  smem::GemmProblem problem = problem_of(100, 200, 300, Scalar::half);
  problem.batch = 3;
  smem::Plan plan = smem::plan_gemm(target("sm_90"), problem);
  CHECK(plan.prediction.operations == 3 * 2.0 * 100 * 200 * 300);
  CHECK(plan.prediction.bytes_read == 3 * 2.0 * (100 * 300 + 300 * 200));
  CHECK(plan.prediction.bytes_written == 3 * 4.0 * 100 * 200);
  problem.reads_c = true;
  CHECK(smem::plan_gemm(target("sm_90"), problem).prediction.bytes_read ==
        3 * 2.0 * (100 * 300 + 300 * 200) + 3 * 4.0 * 100 * 200);
  // A's tile is written down its columns where A lies along k: plain, all of them lie in one bank.
  plan = smem::plan_gemm(target("sm_90"), problem_of(512, 512, 512), "tiled");
  CHECK(plan.layout.store_degree() == 8);
  CHECK(smem::plan_gemm(target("sm_90"), problem_of(512, 512, 512), "padded").layout.store_degree() < 3);
  CHECK(smem::plan_gemm(target("sm_90"), problem_of(512, 512, 512), "swizzled").layout.store_degree() < 3);
  for (const char* variant : {"vector", "two_level"})
    CHECK(smem::plan_gemm(target("sm_90"), problem_of(512, 512, 512), variant).layout.load_degree() == 1);
  const auto error =
      test::failure_of([] { smem::plan_gemm(target("tgllp"), problem_of(5, 5, 5, Scalar::float64)); });
  CHECK(error.argument == "in");
}
