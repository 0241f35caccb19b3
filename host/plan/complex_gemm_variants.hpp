/// What plans and calls of products of complex matrices share.
#pragma once

#include "plan/variants.hpp"

#include <smem/complex_gemm_plan.hpp>

#include <cstddef>

namespace smem::plan::complex_gemm {

inline constexpr const char* kName = "complex_gemm";
// The launches of "gemm" that are the operation's own.
inline constexpr const char* kExpand = "complex_gemm_expand";
inline constexpr const char* kScale = "complex_gemm_scale";

/// \throws Error naming the argument unless the device can compute it.
void check(const Device& device, const ComplexGemmProblem& problem);

/// Where the transposed A begins behind an expanded B: a multiple of what any vector needs.
inline constexpr std::size_t kFactorAlignment = 4096;

}  // namespace smem::plan::complex_gemm
