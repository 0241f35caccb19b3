/// What plans of stencils and the calls that launch them share.
#pragma once

#include <smem/device.hpp>
#include <smem/stencil_plan.hpp>

#include <cstddef>
#include <optional>
#include <string_view>

namespace smem::plan {

inline const char* operation_name(const StencilProblem& problem) {
  return problem.convolution ? "convolve2d" : "stencil";
}

/// What is computed with.
inline Scalar stencil_value_type(Scalar type) {
  return type == Scalar::float64 ? Scalar::float64 : Scalar::float32;
}

/// \throws Error naming what is wrong, unless the problem can be solved on the device.
void check_stencil(const Device& device, const StencilProblem& problem);

/// Jobs of the variants "cpu", so many cells of so many rows, and "march", so many planes.
struct StencilJobs {
  std::size_t march = 1;
  std::size_t strip = 0;  ///< 0: no line of cells fits
  std::size_t band = 1;
  std::size_t memory = 0;  ///< values of local memory
  std::size_t lanes = 16;  ///< of a vector
};
StencilJobs stencil_jobs(const Device& device, const StencilProblem& problem);

}  // namespace smem::plan
