/// smem: moving means of signals.
#pragma once

#include <smem/context.hpp>
#include <smem/grid.hpp>
#include <smem/moving_mean_plan.hpp>
#include <smem/options.hpp>

#include <cstddef>

namespace smem {

/// The mean of a window that extends beyond its row.
enum class MeanEnds {
  shrink,  ///< of the elements inside the row
  zero     ///< of the whole window, with 0 outside the row
};

/// out(x) = the mean of the `window` elements from x - window / 2 on: centred at x if the window is odd, with
/// one more element before x if it is even. Each row, plane and grid of the batch is computed by itself.
///
/// `in` is uint8, uint16, half, float32 or float64; `out` has its shape, and the same type or float32. Means
/// of integers are exact, rounded to nearest, ties to even, also as float32. Sums of floats are combined from
/// sums of parts of the window. Nothing is subtracted, so an element leaves no rounding error, and no NaN,
/// behind when it leaves the window.
///
/// O(1) operations for an element, whatever the window; if a tile in local memory holds the window, O(log
/// window) for every 16 elements. Each element is read once and written once, except for windows longer than
/// local memory, which need temporary memory as the plan states. A plan gives the same bits in every run. No
/// host wait. \returns the event that completes with the means. \throws Error when the window is 0, shapes or
/// types do not fit, cells have several channels, a grid exceeds its buffer, overlaps an output or belongs to
/// another context, a type is float64 and the device has no fp64, or the variant cannot run. The error names
/// the argument, and nothing is enqueued.
///
/// M. van Herk, "A fast algorithm for local minimum and maximum filters on rectangular and octagonal
/// kernels", Pattern Recognition Letters 13, 1992; its blocks work for sums as well.
SMEM_API cl::Event moving_mean(const Context& context, const ConstGrid& in, const Grid& out,
                               std::size_t window, MeanEnds ends = MeanEnds::shrink,
                               const CallOptions& options = {});

}  // namespace smem
