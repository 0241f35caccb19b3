/// smem: filters whose window is a product of a row and a column.
#pragma once

#include <smem/array.hpp>
#include <smem/boundary.hpp>
#include <smem/context.hpp>
#include <smem/grid.hpp>
#include <smem/options.hpp>
#include <smem/separable_plan.hpp>

#include <cstddef>
#include <optional>
#include <span>
#include <type_traits>

namespace smem {

/// How the weights lie on the grid, and what lies beyond its edges.
struct SeparableOptions {
  Boundary boundary = Boundary::zero;  ///< beyond the edges
  double value = 0;                    ///< beyond the edges, with Boundary::constant
  /// Which of the weights belongs to the element itself; not given: number size / 2, the middle one of an odd
  /// window.
  std::optional<std::size_t> row_origin = {};
  std::optional<std::size_t> column_origin = {};  ///< the same along columns
};

/// out(x, y) = sum over j of column_weights[j] * (sum over i of row_weights[i] *
///             in(x + i - row_origin, y + j - column_origin)): correlation, that is, the weights are not
/// turned round. For a convolution turn both round, and the origins too.
///
/// Of each channel, and each plane and grid by itself. `in`: uint8, uint16, half, float32 or float64; `out`:
/// the same type, or float32, or int16 where `in` is uint8; of the same size, channels and batch. Computed in
/// float32, or in float64 where a type is that. Integers are written rounded to the
/// nearest, half-way cases to even, and saturated.
///
/// At most 4000 weights a pass. Both passes are one launch through local memory where the windows fit it:
/// each element is read about once. O(row_weights + column_weights) operations an element. Windows that are
/// larger take temporary memory of a number for each element. No host wait. \returns the event after which
/// the result is there. \throws Error when there are no weights, an origin is not one of them, types or
/// sizes do not fit, a grid leaves its buffer, overlaps `out` or belongs to another context, the device has
/// no fp64 and a type is float64, or the variant cannot run; nothing is enqueued then.
///
/// Sources of the kernels: cl/separable/.
SMEM_API cl::Event separable(const Context& context, const Grid& in, const Grid& out,
                             std::span<const double> row_weights, std::span<const double> column_weights,
                             const SeparableOptions& options = {}, const CallOptions& call = {});

/// The same of typed views.
template <class In, class Out>
cl::Event separable(const Context& context, const GridView<In>& in, const GridView<Out>& out,
                    std::span<const double> row_weights, std::span<const double> column_weights,
                    const SeparableOptions& options = {}, const CallOptions& call = {}) {
  static_assert(!std::is_const_v<Out>, "out must not be const");
  return separable(context, static_cast<const Grid&>(in), static_cast<const Grid&>(out), row_weights,
                   column_weights, options, call);
}

}  // namespace smem
