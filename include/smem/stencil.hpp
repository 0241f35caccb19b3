/// smem: stencils, which compute each cell of a grid from its neighbours.
#pragma once

#include <smem/boundary.hpp>
#include <smem/context.hpp>
#include <smem/grid.hpp>
#include <smem/options.hpp>
#include <smem/stencil_plan.hpp>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace smem {

/// How far a stencil reaches along each axis, to both sides.
struct Radius {
  std::size_t x = 0;  ///< cells along a row
  std::size_t y = 0;  ///< rows
  std::size_t z = 0;  ///< planes
  friend bool operator==(const Radius&, const Radius&) = default;
};

/// How a cell is computed from its neighbours, and what lies beyond the edges.
struct Stencil {
  StencilShape shape = StencilShape::box;  ///< which neighbours there are
  Radius radius = {};                      ///< how far away
  std::vector<double> weights = {};        ///< as box() and star() order them
  std::string expression = {};             ///< OpenCL C; see of()
  Edges edges = {};                        ///< beyond the edges

  /// A weight for each of the (2 x + 1) (2 y + 1) (2 z + 1) neighbours, the cell itself in the middle: row by
  /// row, plane by plane, as the cells lie in the grid.
  static Stencil box(const Radius& radius, std::vector<double> weights, const Edges& edges = {}) {
    return {StencilShape::box, radius, std::move(weights), {}, edges};
  }
  /// Weights of the neighbours along the axes: the weight of the cell itself, and for each axis 2 r weights,
  /// from the cell r places before it to the cell r places after it, without itself: {w(-2), w(-1), w(1),
  /// w(2)}. Cells off the axes are not read.
  SMEM_API static Stencil star(double centre, const std::vector<double>& along_x,
                               const std::vector<double>& along_y = {},
                               const std::vector<double>& along_z = {}, const Edges& edges = {});
  /// An expression in OpenCL C. AT(dx, dy, dz) is the neighbour at that distance, and C is AT(0, 0, 0): "C +
  /// 0.1f * (AT(-1, 0, 0) - 2 * C + AT(1, 0, 0))". Their type is float, or double for float64. Distances must
  /// be whole constants within the radius; others do not compile. The expression may call the functions of
  /// OpenCL C, and must not contain a line comment. It has at most 16384 characters, and at most 1000 prefix
  /// operators and casts. Each text is a program of its own, compiled once.
  static Stencil of(std::string expression, const Radius& radius, const Edges& edges = {}) {
    return {StencilShape::expression, radius, {}, std::move(expression), edges};
  }
};

/// out(x, y, z) = sum over the neighbours of weight(dx, dy, dz) * in(x + dx, y + dy, z + dz), or the value of
/// the expression. Each channel, and each grid of the batch, is computed by itself.
///
/// `in` and `out` have one type (uint8, uint16, half, float32 or float64), and the same size, channels and
/// batch; offsets and pitches may be any. Sums are computed in float32, for float64 in float64, with weights
/// rounded to that type, in the order of the weights and with a fused multiply-add for each, so every variant
/// gives the same bits (the CPU variant where the CPU fuses). Halves by "units" are the exception: their
/// weights have 22 bits, or errors of 2^-38 of the largest one, and matrix units sum in an order of their
/// own, so that results may be the neighbouring half. Integers are rounded to nearest, ties to even, and
/// saturated. They are exact if the weights are whole numbers (or multiples of one power of two), and the
/// sum of their magnitudes times the largest element is at most 2^24 units. Half is rounded once. With
/// Boundary::leave, cells whose neighbours are not all inside the grid are not written.
///
/// Any radius: if the cells under the windows of a tile do not fit local memory, a variant reads them from
/// global memory. O(weights) operations for an element. The weights lie in constant memory if they fit. No
/// temporary memory except for the weights, which are kept for the next call. No host wait. \returns the
/// event that completes with the result. \throws Error when the number of weights is wrong, types or sizes do
/// not fit, a grid exceeds its buffer, overlaps `out` or belongs to another context, the type is float64 and
/// the device has no fp64, the variant cannot run, or the expression does not compile. Nothing is enqueued
/// then.
///
/// Sources of the kernels: cl/stencil/.
SMEM_API cl::Event stencil(const Context& context, const ConstGrid& in, const Grid& out,
                           const Stencil& stencil, const CallOptions& options = {});

}  // namespace smem
