/// What the filters of images share: grids and weights as their kernels take them.
#pragma once

#include "ops/grids.hpp"
#include "ops/run.hpp"
#include "plan/filters.hpp"

#include <smem/boundary.hpp>
#include <smem/separable.hpp>

#include <array>
#include <cstddef>
#include <span>

namespace smem::ops {

/// Elements [first, end) of rows or rows of planes that are written.
struct Written {
  cl_ulong first = 0, end = 0;
  bool none() const { return first >= end; }
};

/// All of `extent` cells, or with Boundary::leave those whose window of `taps` cells is all there.
inline Written written(Boundary boundary, std::size_t extent, std::size_t taps, std::size_t origin,
                       std::size_t channels = 1) {
  if (boundary != Boundary::leave) return {0, extent * channels};
  if (extent < taps) return {0, 0};
  return {origin * channels, (extent - (taps - 1 - origin)) * channels};
}

/// A window of row_taps x column_taps cells on grids: the arguments of cl/separable/arguments.clh.
struct FilterCall {
  ConstGrid in;
  Grid out;
  Boundary boundary = Boundary::zero;
  std::size_t row_taps = 1, column_taps = 1, row_origin = 0, column_origin = 0;

  Written cols() const { return written(boundary, in.size.width, row_taps, row_origin, in.channels); }
  Written rows() const { return written(boundary, in.size.height, column_taps, column_origin); }
  /// Whether no window is all there, with Boundary::leave.
  bool writes_nothing() const { return cols().none() || rows().none(); }
};

/// The problem of a call's grids and window. \throws Error naming a grid that holds no numbers.
SeparableProblem problem_of(const char* operation, const FilterCall& filter);

/// Checks the grids, and fills in the problem's alignments. \throws Error naming the argument.
void check_filter(const Context& context, const char* operation, const FilterCall& filter,
                  SeparableProblem& problem);

/// The first numbers of `weights` as an argument by value: few_weights of cl/separable/arguments.clh.
struct alignas(8) FewWeights {
  std::array<std::byte, plan::kFewWeightsBytes> bytes{};
};

struct FilterWeights {
  cl::Buffer all;
  FewWeights few;
};

/// What kernels read as `weights`: the value beyond the edges, two settings, and the weights; in float64
/// where a type is that.
FilterWeights filter_weights(const Context& context, const FilterCall& filter, double value,
                             std::span<const double> row = {}, std::span<const double> column = {},
                             double amount = 0, double threshold = 0);

/// packed_weights of cl/separable/packed.cl.
FewWeights packed_weights(const FilterCall& filter, double value, std::span<const double> row,
                          std::span<const double> column);

/// Gives one of the kernels that take cl/separable/arguments.clh its arguments. `more`: those behind them.
template <class... More>
void bind_filter(const Launching& launch, const FilterCall& f, cl_mem weights, const More&... more) {
  const auto small = [](std::size_t value) { return static_cast<cl_uint>(value); };
  const Written cols = f.cols(), rows = f.rows();
  launch(f.in, f.out, f.in.row_elements(), f.in.size.height, f.in.size.depth, f.in.size.depth * f.in.batch,
         cols.first, cols.end, rows.first, rows.end, small(f.row_taps), small(f.column_taps),
         small(f.row_origin), small(f.column_origin), weights, small(launch.launch().number("band")),
         small(launch.launch().number("streaming")), launch.scratch(0), more...);
}

/// A separable filter under the name of the operation that it serves.
struct SeparableCall {
  const char* operation = "separable";
  Boundary boundary = Boundary::zero;  ///< where the edges say none
  bool unsharp = false;
  double amount = 0, threshold = 0;
  bool half_up = false;
  bool whole_weights = false;  ///< all weights are whole 256ths that add up to 1
};
cl::Event run_separable(const Context& context, const ConstGrid& in, const Grid& out,
                        const SeparableKernel& kernel, const Edges& edges, const CallOptions& options,
                        const SeparableCall& how);

}  // namespace smem::ops
