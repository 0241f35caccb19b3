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

/// A window that is the product of a column and a row of weights. They are not copied.
struct SeparableKernel {
  std::span<const double> row;     ///< weights along rows
  std::span<const double> column;  ///< weights along columns
  /// The index of the weight for the element itself. Default: size / 2, the middle of an odd window.
  std::optional<std::size_t> row_origin = {};
  std::optional<std::size_t> column_origin = {};  ///< the same along columns
};

/// out(x, y) = sum over j of column[j] * (sum over i of row[i] *
///             in(x + i - row_origin, y + j - column_origin)): a correlation. For a convolution reverse the
/// weights and their origins.
///
/// Each channel, plane and grid is filtered by itself. `in` is uint8, uint16, half, float32 or float64; `out`
/// has the same size, channels and batch, and the same type, or float32, or int16 if `in` is uint8.
/// Arithmetic is float32, or float64 if a type is float64. Integers are rounded to nearest, ties to even, and
/// saturated.
///
/// At most 4000 weights in a pass. If the windows fit local memory, both passes are one launch, and each
/// element is read about once. Larger windows need temporary memory, one number for each element. O(row +
/// column) operations for an element. No host wait. \returns the event that completes with the result.
/// \throws Error when there are no weights, an origin is not the index of a weight, types or sizes do not
/// fit, a grid exceeds its buffer, overlaps `out` or belongs to another context, a type is float64 and the
/// device has no fp64, or the variant cannot run. Nothing is enqueued then.
///
/// Sources of the kernels: cl/separable/.
SMEM_API cl::Event separable(const Context& context, const ConstGrid& in, const Grid& out,
                             const SeparableKernel& kernel, const Edges& edges = {},
                             const CallOptions& options = {});

}  // namespace smem
