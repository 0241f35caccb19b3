// What "mma" copies, multiplies and stores by, and which of its parts teams add
// (host/plan/gemm_nvidia.cpp).
#include <smem/gemm_plan.hpp>

#include "support/gemm_plans.hpp"
#include "support/targets.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <string_view>
#include <utility>

using smem::Scalar;
using test::plan_problem_of;
using test::target;

namespace {

long define_of(const smem::GemmProblem& problem, const char* variant, std::string_view name) {
  return test::define_of(smem::plan_gemm(target("sm_90"), problem, {.variant = variant}), name);
}

}  // namespace

TEST_CASE("plan of gemm: stores of unaligned rows, and parts that teams add") {
  smem::GemmProblem problem = plan_problem_of(512, 514, 512, Scalar::half);
  for (const char* const variant : {"mma", "wgmma"}) {
    problem.c_alignment = 8;  // pairs would write parts of sectors
    CHECK(define_of(problem, variant, "C_VECTOR") == 1);
    problem.c_alignment = 16;
    CHECK(define_of(problem, variant, "C_VECTOR") == 2);
  }
  CHECK(define_of(plan_problem_of(21, 43, 14596, Scalar::half), "mma", "TEAM") > 0);
  CHECK(define_of(plan_problem_of(512, 512, 2048, Scalar::half), "mma", "TEAM") == 0);
}

TEST_CASE("plan of gemm: shallow products of bytes by mma have a stage, and the sub-steps that they fill") {
  for (const auto& [k, substeps] : {std::pair{1, 1}, {32, 1}, {33, 2}, {64, 2}, {65, 0}, {128, 0}}) {
    const smem::GemmProblem problem = plan_problem_of(512, 512, k, Scalar::int8);
    CHECK(define_of(problem, "mma", "SUBSTEPS") == substeps);
    CHECK((define_of(problem, "mma", "STAGES") == 1) == (substeps > 0));
  }
  CHECK(define_of(plan_problem_of(512, 512, 16, Scalar::half), "mma", "SUBSTEPS") == 0);
}
