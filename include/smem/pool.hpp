/// smem: pooling: one number for each window of a grid.
#pragma once

#include <smem/context.hpp>
#include <smem/grid.hpp>
#include <smem/options.hpp>
#include <smem/pool_plan.hpp>

namespace smem {

/// out(x, y) = the greatest element of the window that begins at cell (x * stride.x - padding.left, y *
/// stride.y - padding.top) of `in`. Each channel and plane is pooled by itself, in planar batches
/// (Grid::batch is N * C) and with interleaved channels. NaN is greater than every number: the result of a
/// window with a NaN is NaN. Padding is ignored; it is less than the window, so each window contains an
/// element.
///
/// `in` is uint8, uint16, half, float32 or float64. `out` has the same type, or float32,
/// pooling.across(width) x pooling.down(height) cells, and the depth, channels and batch of `in`. If windows
/// do not overlap, each element is read once. O(width * height of a window) operations for a result. No host
/// wait. \returns the event that completes with the result. \throws Error when a side of a window or a
/// stride is 0 or more than 2^20, paddings are not less than the window, `out` or `indices` has another size,
/// types do not fit, a grid exceeds its buffer, overlaps an output or belongs to another context, a type is
/// float64 and the device has no fp64, or the variant cannot run. Nothing is enqueued then.
SMEM_API cl::Event max_pool2d(const Context& context, const ConstGrid& in, const Grid& out,
                              const Pooling& pooling = {}, const CallOptions& options = {});
/// Also writes the places: indices(x, y) = y * width + x of the first greatest element (or the first NaN) in
/// its plane. `indices` is uint32, and has the shape of `out`; planes have at most 2^32 - 1 cells.
SMEM_API cl::Event max_pool2d(const Context& context, const ConstGrid& in, const Grid& out,
                              const Grid& indices, const Pooling& pooling = {},
                              const CallOptions& options = {});

/// out(x, y) = the mean of the elements of the window; with Pooling::count_padding of the whole window, in
/// which padding is 0. Means of integers are exact, and rounded to the nearest number of `out`, ties to even.
/// All else as max_pool2d().
SMEM_API cl::Event avg_pool2d(const Context& context, const ConstGrid& in, const Grid& out,
                              const Pooling& pooling = {}, const CallOptions& options = {});

/// out = the greatest element of each plane and channel: `out` has 1 x 1 cells. Temporary memory holds
/// results of parts of planes. A plan gives the same bits in every run. \throws Error also when planes are
/// empty. All else as max_pool2d().
SMEM_API cl::Event global_max_pool(const Context& context, const ConstGrid& in, const Grid& out,
                                   const CallOptions& options = {});
/// out = the mean of each plane and channel. All else as global_max_pool().
SMEM_API cl::Event global_avg_pool(const Context& context, const ConstGrid& in, const Grid& out,
                                   const CallOptions& options = {});

}  // namespace smem
