// Plans of products of float whose factors are packed before "multistage".
#include <smem/error.hpp>
#include <smem/gemm_plan.hpp>

#include "support/failure.hpp"
#include "support/targets.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using smem::Scalar;
using test::target;

namespace {

smem::GemmProblem product_of(std::size_t m, std::size_t n, std::size_t k) {
  smem::GemmProblem problem;
  problem.m = m;
  problem.n = n;
  problem.k = k;
  return problem;
}

}  // namespace

TEST_CASE("plan of gemm: factors of float are packed across k for multistage") {
  const smem::Device hopper = target("sm_90");
  const auto lying = [](smem::GemmProblem problem, bool a_along_k, std::size_t a_alignment, bool b_along_k,
                        std::size_t b_alignment) {
    problem.a_along_k = a_along_k;
    problem.a_alignment = a_alignment;
    problem.b_along_k = b_along_k;
    problem.b_alignment = b_alignment;
    return problem;
  };
  const auto is_defined = [](const smem::Launch& launch, const char* name, long value) {
    return std::count(launch.defines.begin(), launch.defines.end(),
                      std::pair<std::string, long>{name, value}) == 1;
  };
  smem::GemmProblem odd = product_of(2523, 7025, 14896);
  odd.b_alignment = odd.c_alignment = 4;
  smem::Plan plan = smem::plan_gemm(hopper, odd);
  CHECK(plan.variant == "packed");
  REQUIRE(plan.before.size() == 1);
  CHECK(plan.before[0].kernel_file == "nvidia/gemm/turn.cl");
  CHECK(plan.kernel_file == "nvidia/gemm/multistage.cl");
  CHECK(test::contains(plan.reason, "packs"));
  CHECK(test::contains(plan.evidence, "H200"));
  CHECK(smem::plan_gemm(hopper, odd, {.variant = "multistage"}).before.empty());
  // Small ones are not, but by name.
  smem::GemmProblem small = lying(product_of(64, 64, 64), true, 4, true, 4);
  CHECK(smem::plan_gemm(hopper, small).variant == "multistage");
  CHECK(smem::plan_gemm(hopper, small, {.variant = "packed"}).before.size() == 1);
  // Any factor that is loose or lies along k, and no other.
  const smem::GemmProblem large = product_of(4000, 5000, 6000);
  for (const bool a_along_k : {false, true}) {
    for (const bool b_along_k : {false, true}) {
      for (const std::size_t a_alignment : {4, 16}) {
        for (const std::size_t b_alignment : {4, 16}) {
          CAPTURE(a_along_k);
          CAPTURE(b_along_k);
          CAPTURE(a_alignment);
          CAPTURE(b_alignment);
          const smem::GemmProblem problem = lying(large, a_along_k, a_alignment, b_along_k, b_alignment);
          const bool of_a = a_along_k || a_alignment < 16, of_b = b_along_k || b_alignment < 16;
          plan = smem::plan_gemm(hopper, problem);
          CHECK(plan.variant == (of_a || of_b ? "packed" : "multistage"));
          plan = smem::plan_gemm(hopper, problem, {.variant = "packed"});
          CHECK(plan.before.size() == (of_a || of_b ? 1 : 0));
          CHECK(plan.number("packed_a_pitch") == (of_a ? 4000 : 0));
          CHECK(plan.number("packed_b_pitch") == (of_b ? 5024 : 0));
          CHECK(plan.number("packed_b") == (of_a ? 4000 * 6000 : 0));
          CHECK(plan.scratch_bytes == 4 * 6000 * (std::size_t{of_a ? 4000U : 0U} + (of_b ? 5024 : 0)));
          CHECK(is_defined(plan, "A_ALONG_K", 0));
          CHECK(is_defined(plan, "B_ALONG_K", 0));
          CHECK(is_defined(plan, "A_VECTOR", 4));
          CHECK(is_defined(plan, "B_VECTOR", 4));
          if (plan.before.empty()) continue;
          CHECK(is_defined(plan.before[0], "A_TURNED", a_along_k ? 1 : 0));
          CHECK(is_defined(plan.before[0], "B_TURNED", b_along_k ? 1 : 0));
          // A block of 128 k by 32 rows or columns for each group.
          CHECK(plan.before[0].groups() == 47 * ((of_a ? 125 : 0) + (of_b ? 157 : 0)));
        }
      }
    }
  }
  // Of two factors each is a choice: of few rows the larger one is not worth its launch.
  plan =
      smem::plan_gemm(hopper, lying(product_of(100, 20000, 20000), true, 4, true, 16), {.variant = "packed"});
  CHECK(plan.number("packed_a_pitch") == 128);
  CHECK(plan.number("packed_b_pitch") == 0);
  CHECK(is_defined(plan, "B_ALONG_K", 1));
  // A group as large as there may be.
  for (const auto& [limit, group] : {std::pair{"work_group=1000", 256}, {"work_group=100", 64}}) {
    plan = smem::plan_gemm(smem::clamp(hopper, limit), odd, {.variant = "packed"});
    REQUIRE(plan.before.size() == 1);
    CHECK(plan.before[0].work_items() == static_cast<std::size_t>(group));
    CHECK(is_defined(plan.before[0], "GROUP", group));
  }
  CHECK(smem::plan_gemm(smem::clamp(hopper, "work_group=32"), odd).before.empty());
  // What has no memory, is no float, or of more than one product.
  odd.a_along_k = false;
  CHECK(smem::plan_gemm(smem::clamp(hopper, "allocation=64M"), odd).variant == "multistage");
  const auto reason = [&](const smem::GemmProblem& problem, const smem::Device& device) {
    return test::failure_of([&] { smem::plan_gemm(device, problem, {.variant = "packed"}); }).got;
  };
  CHECK(test::contains(reason(odd, smem::clamp(hopper, "allocation=64M")), "needs a larger buffer"));
  CHECK(test::contains(reason(odd, target("sm_75")), "sm_80"));
  small.batch = 2;
  CHECK(test::contains(reason(small, hopper), "one product"));
  smem::GemmProblem halves = product_of(64, 64, 64);
  halves.in = Scalar::half;
  CHECK(test::contains(reason(halves, hopper), "multiplies float32"));
  small = lying(product_of(64, 64, 0), true, 4, true, 4);
  CHECK(smem::plan_gemm(hopper, small, {.variant = "packed"}).before.empty());
  // Both are among what `smem bench gemm --model` measures.
  const std::vector<smem::GemmCandidate> all = smem::gemm_candidates(hopper, odd);
  for (const std::string_view variant : {"multistage", "packed"}) {
    CHECK(std::any_of(all.begin(), all.end(), [&](const smem::GemmCandidate& one) {
      return one.plan.variant == variant && one.plan.tile_rows == 64 && one.plan.tile_cols == 128;
    }));
  }
  CHECK(std::any_of(all.begin(), all.end(), [](const smem::GemmCandidate& one) {
    return test::contains(one.text, "packed, 64 x 128, B packed");
  }));
}

TEST_CASE("plan of gemm: warps share the results of few tiles of float, and parts are whole steps") {
  smem::Device hopper = target("sm_90");
  hopper.compute_units = 132;
  smem::GemmProblem problem = product_of(3595, 211, 773);
  problem.a_along_k = false;
  problem.a_alignment = problem.b_alignment = problem.c_alignment = 4;
  const smem::Plan plan = smem::plan_gemm(hopper, problem);
  CHECK(plan.tile_rows == 128);
  CHECK(plan.tile_cols == 24);
  CHECK(plan.work_group[0] == 128);
  CHECK(std::any_of(plan.defines.begin(), plan.defines.end(),
                    [](const auto& define) { return define.first == "SLICES" && define.second == 4; }));
  // 258 k and 3 parts would be 320, 320 and 133 in multiples of 64.
  std::size_t in_parts = 0;
  problem.m = 500;
  for (const smem::GemmCandidate& one : smem::gemm_candidates(hopper, problem, "multistage")) {
    const std::size_t parts = one.plan.number("parts"), depth = one.plan.number("part_depth");
    if (parts < 2) continue;
    CHECK(depth - problem.k / parts <= 32);
    CHECK((parts - 1) * depth < problem.k);
    ++in_parts;
  }
  CHECK(in_parts > 3);
}
