// Plans of products of fp8: what converts their numbers, and where.
#include <smem/error.hpp>
#include <smem/gemm_plan.hpp>

#include "support/failure.hpp"
#include "support/targets.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

using smem::Scalar;
using test::target;

namespace {

smem::GemmProblem fp8_problem(std::size_t m, std::size_t n, std::size_t k, Scalar in = Scalar::e4m3) {
  smem::GemmProblem problem;
  problem.m = m;
  problem.n = n;
  problem.k = k;
  problem.in = in;
  return problem;
}

bool is_defined(const smem::Launch& launch, const char* name, long value) {
  return std::count(launch.defines.begin(), launch.defines.end(),
                    std::pair<std::string, long>{name, value}) == 1;
}

}  // namespace

TEST_CASE("plan of gemm: fp8 fits every target and its clamps") {
  for (const smem::Device& whole : test::all_targets()) {
    for (const char* limits : {"", "local=32K,work_group=64", "local=1K", "work_group=1", "local=0"}) {
      const smem::Device device = smem::clamp(whole, limits);
      CAPTURE(device.name);
      CAPTURE(limits);
      for (const smem::GemmProblem& shape :
           {fp8_problem(4096, 4096, 4096), fp8_problem(1, 4096, 4096, Scalar::e5m2),
            fp8_problem(31, 129, 65536), fp8_problem(1, 1, 0)}) {
        for (const bool along_k : {false, true}) {
          smem::GemmProblem problem = shape;
          problem.a_along_k = problem.b_along_k = along_k;
          problem.mixed = along_k;
          problem.out = along_k ? Scalar::bfloat16 : Scalar::float32;
          const smem::Plan plan = smem::plan_gemm(device, problem);
          CAPTURE(plan.to_string());
          for (const smem::Launch* launch : plan.launches()) {
            CHECK(launch->local_bytes <= device.local_bytes);
            CHECK(launch->work_items() <= device.max_work_group);
            CHECK(launch->global[0] > 0);
            CHECK(launch->global[0] % launch->work_group[0] == 0);
          }
          CHECK(plan.alternatives.size() + 1 == smem::gemm_variants().size());
        }
      }
    }
  }
}

TEST_CASE("plan of gemm: factors of fp8 are widened, turned or read as they are") {
  smem::GemmProblem problem = fp8_problem(1000, 2000, 3000);
  problem.mixed = true;
  problem.a_alignment = 4;
  // To floats for a CPU.
  smem::Plan plan = smem::plan_gemm(target("cpu"), problem);
  CHECK(plan.variant == "cpu");
  CHECK(is_defined(plan, "ELEMENT_TYPE", 0));
  REQUIRE(plan.before.size() == 1);
  CHECK(plan.before[0].entry_point == "gemm_widen");
  CHECK(is_defined(plan.before[0], "WIDE_FLOAT", 1));
  CHECK(is_defined(plan.before[0], "ELEMENT_TYPE", 6));
  CHECK(is_defined(plan.before[0], "B_TYPE", 7));
  CHECK(is_defined(plan.before[0], "A_ALIGNED", 0));
  CHECK(is_defined(plan.before[0], "B_ALIGNED", 1));
  CHECK(plan.before[0].global[0] >= (1000 * 3000 + 3000 * 2000) / 8);
  // Lines are multiples of 64 elements.
  CHECK(plan.number("packed_a_pitch") == 3008);
  CHECK(plan.number("packed_b_pitch") == 2048);
  CHECK(plan.number("packed_b") == 1000 * 3008);
  CHECK(plan.scratch_bytes == 4 * (1000 * 3008 + 3000 * 2048));
  // To halves for matrix units, all products of a batch.
  problem.batch = 3;
  for (const char* name : {"gfx90a", "sm_86"}) {
    const smem::Device device = name == std::string("sm_86") ? test::targets::nvidia(name) : target(name);
    plan = smem::plan_gemm(device, problem);
    CHECK(plan.variant == (name == std::string("sm_86") ? "mma" : "matrix_units"));
    CHECK(is_defined(plan, "ELEMENT_TYPE", 2));
    REQUIRE(plan.before.size() == 1);
    CHECK(is_defined(plan.before[0], "WIDE_FLOAT", 0));
    CHECK(plan.number("packed_b") == 3 * 1000 * 3008);
    CHECK(plan.before[0].global[1] == 3);
  }
  // Where vectors multiply, each tile converts what it reads.
  plan = smem::plan_gemm(target("sm_75"), problem);
  CHECK(plan.variant == "two_level");
  CHECK(plan.before.empty());
  CHECK(is_defined(plan, "ELEMENT_TYPE", 6));
  CHECK(is_defined(plan, "B_TYPE", 7));
  // With a list, the elements to widen are unknown.
  problem.listed = true;
  CHECK(smem::plan_gemm(target("gfx90a"), problem).before.empty());
  CHECK(smem::plan_gemm(target("cpu"), problem).before.empty());
  CHECK(test::contains(
      test::failure_of([&] { smem::plan_gemm(target("gfx90a"), problem, {.variant = "matrix_units"}); }).got,
      "which a list does not allow"));
  // Nor do buffers that are too small for halves.
  problem.listed = false;
  smem::Device small = target("gfx90a");
  small.max_allocation = 1 << 20;
  CHECK(smem::plan_gemm(small, problem).before.empty());
  // Nothing is multiplied: nothing is widened.
  problem.k = 0;
  CHECK(smem::plan_gemm(target("gfx90a"), problem).before.empty());
}

TEST_CASE("plan of gemm: Hopper's units multiply fp8 as it is") {
  const smem::Device hopper = target("sm_90");
  smem::GemmProblem problem = fp8_problem(4096, 4096, 4096, Scalar::e5m2);
  problem.b_along_k = true;
  smem::Plan plan = smem::plan_gemm(hopper, problem, {.variant = "wgmma"});
  CHECK(plan.target == "sm_90a");
  CHECK(plan.before.empty());
  CHECK(is_defined(plan, "ELEMENT_TYPE", 7));
  CHECK(smem::plan_gemm(hopper, problem).variant == "wgmma");
  // The sums of a step have registers beside those of all.
  for (const smem::GemmCandidate& candidate : smem::gemm_candidates(hopper, problem, "wgmma")) {
    CAPTURE(candidate.text);
    const auto number = [&](const char* name) {
      for (const auto& [key, value] : candidate.plan.defines)
        if (key == name) return static_cast<std::size_t>(value);
      return std::size_t{0};
    };
    CHECK(number("TILE_N") % number("MMA_N") == 0);
    const std::size_t group = 128 * (number("CONSUMERS") + number("PRODUCERS"));
    const std::size_t registers = number("CONSUMER_REGISTERS") > 0
                                      ? number("CONSUMER_REGISTERS")
                                      : std::min<std::size_t>(255, 65536 / group / 8 * 8);
    CHECK(number("TILE_N") / 2 + number("MMA_N") / 2 + 24 <= registers);
    CHECK(number("CONSUMERS") * number("CONSUMER_REGISTERS") + number("PRODUCER_REGISTERS") <= 512);
    CHECK(number("LOOSE") == 0);
  }
  smem::Device h200 = hopper;
  h200.compute_units = 132;
  smem::GemmProblem large = fp8_problem(8192, 8192, 8192, Scalar::e4m3);
  large.out = Scalar::bfloat16;
  large.b_along_k = true;
  plan = smem::plan_gemm(h200, large);
  CHECK(plan.tile_rows == 192);
  CHECK(plan.tile_cols == 128);
  CHECK(is_defined(plan, "MMA_N", 128));
  CHECK(is_defined(plan, "CONSUMER_REGISTERS", 152));
  // Other layouts are turned before, as bytes are.
  problem.b_along_k = false;
  plan = smem::plan_gemm(hopper, problem, {.variant = "wgmma"});
  REQUIRE(plan.before.size() == 1);
  CHECK(plan.before[0].entry_point == "gemm_turn");
  CHECK(is_defined(plan.before[0], "ELEMENT_BYTES", 1));
  CHECK(is_defined(plan, "B_ALONG_K", 1));
  problem.batch = 2;
  CHECK(test::failure_of([&] { smem::plan_gemm(hopper, problem, {.variant = "wgmma"}); }).argument ==
        "variant");
  CHECK(smem::plan_gemm(hopper, problem).variant == "mma");
  CHECK(smem::plan_gemm(smem::clamp(hopper, "retargeting=0"), problem).variant == "mma");
  // C is of sums, or of 16 bits.
  for (const Scalar out : {Scalar::float64, Scalar::int32, Scalar::e4m3, Scalar::e5m2}) {
    problem.out = out;
    CHECK(test::failure_of([&] { smem::plan_gemm(hopper, problem); }).argument == "out");
  }
  problem = fp8_problem(64, 64, 64, Scalar::half);
  problem.mixed = true;
  CHECK(test::failure_of([&] { smem::plan_gemm(hopper, problem); }).argument == "b");
}
