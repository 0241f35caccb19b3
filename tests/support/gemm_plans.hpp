// Products for tests of their plans.
#pragma once

#include <smem/gemm_plan.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

namespace test {

/// C = A B of packed matrices, with results of the type that sums have.
inline smem::GemmProblem plan_problem_of(std::size_t m, std::size_t n, std::size_t k,
                                         smem::Scalar in = smem::Scalar::float32) {
  smem::GemmProblem problem;
  problem.m = m;
  problem.n = n;
  problem.k = k;
  problem.in = in;
  problem.out = in == smem::Scalar::int8      ? smem::Scalar::int32
                : in == smem::Scalar::float64 ? in
                                              : smem::Scalar::float32;
  return problem;
}

/// Whether a work-item of each group copies boxes (cl/nvidia/gemm_producer_tensor.clh).
inline bool copies_boxes(const smem::Plan& plan) {
  return std::find(plan.defines.begin(), plan.defines.end(), std::pair<std::string, long>{"TENSOR", 1}) !=
         plan.defines.end();
}

}  // namespace test
