/// smem: pooling: one number for each window of a grid.
#pragma once

#include <smem/context.hpp>
#include <smem/grid.hpp>
#include <smem/options.hpp>
#include <smem/pool_plan.hpp>

namespace smem {

/// out(x, y) = the greatest element of the window that begins at cell (x * stride.x - padding.left,
/// y * stride.y - padding.top) of `in`, as far as it lies in the plane. Of each channel and plane by itself:
/// planar batches (Grid::batch is N * C) and interleaved channels alike. A NaN is greater than every number:
/// the result of a window that holds one is NaN. Padding is left out; since it is less than the window, each
/// window has an element.
///
/// `in`: uint8, uint16, half, float32 or float64; `out`: the same type, or float32, and of
/// pooling.across(width) x pooling.down(height) cells, with the depth, channels and batch of `in`. Reads each
/// element once where windows do not overlap. O(width * height of a window) operations a result. No host
/// wait. \returns the event after which the result is there. \throws Error when a window or a stride is 0,
/// paddings are not less than the window, `out` or `indices` has another size, types do not fit, a grid
/// leaves its buffer, overlaps one that is written or belongs to another context, the device has no fp64 and
/// a type is float64, or the variant cannot run; nothing is enqueued then.
SMEM_API cl::Event max_pool2d(const Context& context, const ConstGrid& in, const Grid& out,
                              const Pooling& pooling = {}, const CallOptions& options = {});
/// Also writes its place: indices(x, y) = y * width + x of the first such element (the first NaN, where there
/// is one) in its plane. `indices`: uint32, as `out`; of planes of at most 2^32 cells.
SMEM_API cl::Event max_pool2d(const Context& context, const ConstGrid& in, const Grid& out,
                              const Grid& indices, const Pooling& pooling = {},
                              const CallOptions& options = {});

/// out(x, y) = the mean of that window's elements, with Pooling::count_padding of the whole window's, in
/// which padding is 0. Means of integers are exact, rounded to the nearest number of `out`, half-way cases to
/// even. As max_pool2d().
SMEM_API cl::Event avg_pool2d(const Context& context, const ConstGrid& in, const Grid& out,
                              const Pooling& pooling = {}, const CallOptions& options = {});

/// out = the greatest element of each plane and channel: `out` has 1 x 1 cells. As max_pool2d(). Takes
/// temporary memory for parts of planes. The same bits in every run.
SMEM_API cl::Event global_max_pool(const Context& context, const ConstGrid& in, const Grid& out,
                                   const CallOptions& options = {});
/// The mean. As global_max_pool(). \throws Error also when planes are empty.
SMEM_API cl::Event global_avg_pool(const Context& context, const ConstGrid& in, const Grid& out,
                                   const CallOptions& options = {});

}  // namespace smem
