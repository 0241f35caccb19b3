// Products for tests of their plans.
#pragma once

#include <smem/gemm_plan.hpp>

#include <algorithm>
#include <cstddef>
#include <string_view>

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

/// The value of a plan's define; 0: it has none of the name.
inline long define_of(const smem::Plan& plan, std::string_view name) {
  const auto at = std::find_if(plan.defines.begin(), plan.defines.end(),
                               [&](const auto& define) { return define.first == name; });
  return at == plan.defines.end() ? 0 : at->second;
}

/// Whether a work-item of each group copies boxes (cl/nvidia/gemm_producer_tensor.clh).
inline bool copies_boxes(const smem::Plan& plan) { return define_of(plan, "TENSOR") == 1; }

}  // namespace test
