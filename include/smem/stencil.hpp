/// smem: stencils: each cell of a grid from its neighbours.
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

/// What a cell becomes of its neighbours, and what it reads beyond the edges.
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
  /// Weights of the neighbours along the axes: of the cell itself, and for each axis of those r cells before
  /// it to those r cells behind it, without itself: 2 r numbers, as {w(-2), w(-1), w(1), w(2)}. Neighbours
  /// off the axes are not read.
  SMEM_API static Stencil star(double centre, const std::vector<double>& along_x,
                               const std::vector<double>& along_y = {},
                               const std::vector<double>& along_z = {}, const Edges& edges = {});
  /// An expression in OpenCL C of AT(dx, dy, dz), the neighbour that lies so many cells away, and C, which is
  /// AT(0, 0, 0): "C + 0.1f * (AT(-1, 0, 0) - 2 * C + AT(1, 0, 0))". They are float, or double of float64;
  /// the distances are whole constants within the radius: others do not compile. The functions of OpenCL C
  /// can be called; a line comment cannot stand in it. Each text is a program of its own, compiled once.
  static Stencil of(std::string expression, const Radius& radius, const Edges& edges = {}) {
    return {StencilShape::expression, radius, {}, std::move(expression), edges};
  }
};

/// out(x, y, z) = sum over the neighbours of weight(dx, dy, dz) * in(x + dx, y + dy, z + dz), or what the
/// expression makes of them. Of each channel, and each grid of the batch, by itself.
///
/// `in` and `out`: of uint8, uint16, half, float32 or float64, both of one type, and of the same size,
/// channels and batch; any offset and pitches. Sums are made in float32, of float64 in float64, from weights
/// rounded to that type, in the order of the weights with one fused multiplication and addition each, so that
/// every variant gives the same bits (that for CPUs where the CPU fuses them). Integers are written rounded
/// to the nearest, half-way cases to even, and saturated; they are exact where the weights are whole numbers
/// (or have a common power of two as their unit) and the sum of their magnitudes times the largest element is
/// at most 2^24 units. Half is rounded once. With Boundary::leave, cells whose box of neighbours is not all
/// there are not written.
///
/// Any radius: where the cells that a tile's windows cover do not fit local memory, a variant reads them from
/// global memory. O(weights) operations an element; the weights lie in constant memory where they fit it.
/// No temporary memory, but for the weights, which are kept for the next call. No host wait. \returns the
/// event after which the result is there. \throws Error when the number of weights is wrong, types or sizes
/// do not fit, a grid leaves its buffer, overlaps `out` or belongs to another context, the device has no fp64
/// and the type is float64, the variant cannot run, or the expression does not compile; nothing is enqueued
/// then.
///
/// Sources of the kernels: cl/stencil/.
SMEM_API cl::Event stencil(const Context& context, const ConstGrid& in, const Grid& out,
                           const Stencil& stencil, const CallOptions& options = {});

}  // namespace smem
