/// What plans and calls of products of complex matrices share.
#pragma once

#include "plan/variants.hpp"

#include <smem/complex_gemm_plan.hpp>

#include <cstddef>
#include <string_view>
#include <vector>

namespace smem::plan::complex_gemm {

inline constexpr const char* kName = "complex_gemm";
// The launches of "gemm" that are the operation's own.
inline constexpr const char* kExpand = "complex_gemm_expand";
inline constexpr const char* kScale = "complex_gemm_scale";

/// \throws Error naming the argument unless the device can compute it.
void check(const Device& device, const ComplexGemmProblem& problem);

/// Where the transposed A begins behind an expanded B: a multiple of what any vector needs.
inline constexpr std::size_t kFactorAlignment = 4096;

/// NVIDIA's own variants: "multistage" of floats, "mma" of doubles. A tile of one of them, and how long the
/// product takes by the model.
struct NvidiaChoice {
  std::size_t tile;
  std::size_t parts, part_depth;  ///< of each sum
  double nanoseconds;
};
/// The variant of such parts.
std::string_view nvidia_variant(Scalar part);
/// All tiles of it that the device can have, fastest first; none: it cannot run.
std::vector<NvidiaChoice> nvidia_choices(const Device& device, const ComplexGemmProblem& problem);
Attempt by_nvidia(const Device& device, const ComplexGemmProblem& problem, const PlanOverrides& fixed,
                  std::string_view variant);

/// What plans of all variants have.
void define_numbers(const ComplexGemmProblem& problem, Launch& launch);
void predict_product(const ComplexGemmProblem& problem, Plan& plan);

}  // namespace smem::plan::complex_gemm
