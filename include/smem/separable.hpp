/// smem: filters whose window is a product of a row and a column.
#pragma once

#include <smem/boundary.hpp>
#include <smem/context.hpp>
#include <smem/grid.hpp>
#include <smem/options.hpp>
#include <smem/separable_plan.hpp>

#include <cstddef>
#include <optional>
#include <span>

namespace smem {

/// A window that is a column of weights times a row of weights, which are not copied.
struct SeparableKernel {
  std::span<const double> row;     ///< weights along rows
  std::span<const double> column;  ///< weights along columns
  /// Which weight belongs to the element itself; nothing: number size / 2, the middle one of an odd window.
  std::optional<std::size_t> row_origin = {};
  std::optional<std::size_t> column_origin = {};  ///< the same along columns
};

/// out(x, y) = sum over j of column[j] * (sum over i of row[i] *
///             in(x + i - row_origin, y + j - column_origin)): a correlation. For a convolution reverse the
/// weights, and the origins with them.
///
/// Of each channel, and each plane and grid by itself. `in`: uint8, uint16, half, float32 or float64; `out`:
/// the same type, or float32, or int16 where `in` is uint8; of the same size, channels and batch. Computed in
/// float32, or in float64 where a type is that. Integers are written rounded to the
/// nearest, half-way cases to even, and saturated.
///
/// At most 4000 weights a pass. Both passes are one launch through local memory where the windows fit it:
/// each element is read about once. O(row + column) operations an element. Windows that are
/// larger take temporary memory of a number for each element. No host wait. \returns the event after which
/// the result is there. \throws Error when there are no weights, an origin is not one of them, types or
/// sizes do not fit, a grid leaves its buffer, overlaps `out` or belongs to another context, the device has
/// no fp64 and a type is float64, or the variant cannot run; nothing is enqueued then.
///
/// Sources of the kernels: cl/separable/.
SMEM_API cl::Event separable(const Context& context, const ConstGrid& in, const Grid& out,
                             const SeparableKernel& kernel, const Edges& edges = {},
                             const CallOptions& options = {});

}  // namespace smem
