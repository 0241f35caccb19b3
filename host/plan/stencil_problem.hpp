/// What plans of stencils and the calls that launch them share.
#pragma once

#include <smem/device.hpp>
#include <smem/stencil_plan.hpp>

#include <span>

namespace smem::plan {

inline const char* operation_name(const StencilProblem& problem) {
  return problem.convolution ? "convolve2d" : "stencil";
}

/// What is computed with.
inline Scalar stencil_value_type(Scalar type) {
  return type == Scalar::float64 ? Scalar::float64 : Scalar::float32;
}

/// The power of two of which all weights are whole multiples as StencilProblem::int8_weights wants them; 0:
/// there is none.
float unit_of_weights(std::span<const double> weights);

/// The power of two of which weights of halves are multiples less than 2^14 for the same units, as two halves
/// each.
float unit_of_halves(std::span<const double> weights);

/// \throws Error naming what is wrong, unless the problem can be solved on the device.
void check_stencil(const Device& device, const StencilProblem& problem);

}  // namespace smem::plan
