/// smem: moving means of signals.
#pragma once

#include <smem/context.hpp>
#include <smem/grid.hpp>
#include <smem/moving_mean_plan.hpp>
#include <smem/options.hpp>

#include <cstddef>

namespace smem {

/// What a window that leaves its row is the mean of.
enum class MeanEnds {
  shrink,  ///< of the elements that are there, divided by their true count
  zero     ///< of the whole window, in which what is not there is 0
};

/// out(x) = the mean of the `window` elements of its row from x - window / 2 on: around x where the window is
/// odd, with one more before it where it is even. Of each row, plane and grid of the batch by itself.
///
/// `in`: uint8, uint16, half, float32 or float64; `out`: the same type or float32, and of in's shape. Means
/// of integers are exact, rounded to the nearest, half-way cases to even, as float32 too. Sums of floats are
/// made of sums of parts of the window: nothing is added that is subtracted again, so what has left a window
/// leaves no error behind, nor a NaN.
///
/// O(1) operations an element, whatever the window, and O(log window) for every 16 where a tile of local
/// memory holds it; reads and writes each element once, but for windows that
/// are longer than local memory, which take temporary memory as the plan states. The same bits in every run
/// of the same plan. No host wait. \returns the event after which the means are there. \throws Error when the
/// window is 0, shapes or types do not fit, cells have several channels, a grid leaves its buffer, overlaps
/// one that is written or belongs to another context, the device has no fp64 and a type is float64, or the
/// variant cannot run; it names the argument, and nothing is enqueued then.
///
/// M. van Herk, "A fast algorithm for local minimum and maximum filters on rectangular and octagonal
/// kernels", Pattern Recognition Letters 13, 1992, whose blocks serve sums as well.
SMEM_API cl::Event moving_mean(const Context& context, const ConstGrid& in, const Grid& out,
                               std::size_t window, MeanEnds ends = MeanEnds::shrink,
                               const CallOptions& options = {});

}  // namespace smem
