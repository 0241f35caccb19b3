/// What the filters of images share: grids as their kernels take them.
#pragma once

#include "ops/grids.hpp"
#include "runtime/runtime.hpp"

#include <smem/boundary.hpp>
#include <smem/separable.hpp>

#include <cstddef>
#include <span>
#include <utility>

namespace smem::ops {

/// A grid as kernels take it.
struct KernelGrid {
  cl_mem buffer;
  cl_ulong offset, pitch, plane, stride;

  explicit KernelGrid(const Grid& grid)
      : buffer(grid.buffer),
        offset(grid.offset),
        pitch(grid.pitch),
        plane(grid.plane),
        stride(grid.batch_stride) {}
};

/// Elements [first, end) of rows or rows of planes that are written.
struct Written {
  cl_ulong first = 0, end = 0;
};

/// All of `extent` cells, or with Boundary::leave those whose window of `taps` cells is all there.
inline Written written(Boundary boundary, std::size_t extent, std::size_t taps, std::size_t origin,
                       std::size_t channels = 1) {
  if (boundary != Boundary::leave) return {0, extent * channels};
  if (extent < taps) return {0, 0};
  return {origin * channels, (extent - (taps - 1 - origin)) * channels};
}

/// A separable filter under the name of the operation that it serves.
struct SeparableCall {
  const char* operation = "separable";
  bool unsharp = false;
  double amount = 0, threshold = 0;
  bool half_up = false;
};
cl::Event run_separable(const Context& context, const Grid& in, const Grid& out,
                        std::span<const double> row_weights, std::span<const double> column_weights,
                        const SeparableOptions& options, const CallOptions& call, const SeparableCall& how);

}  // namespace smem::ops
