/// smem: rotations by quarter turns, and mirror images.
#pragma once

#include <smem/context.hpp>
#include <smem/flip_plan.hpp>
#include <smem/options.hpp>
#include <smem/view.hpp>

namespace smem {

/// Clockwise, as a person sees an image whose first row is at the top.
enum class Rotation { by_90 = 90, by_180 = 180, by_270 = 270 };

/// horizontal: left and right change places; vertical: top and bottom do.
enum class Flip { horizontal, vertical };

/// Turns every matrix of the batch clockwise. `in` is rows x cols; `out` is cols x rows for 90 and 270
/// degrees, which are a transpose with one side read or written from its last row, and rows x cols for 180.
/// Views, elements, errors and events as for transpose().
SMEM_API cl::Event rotate(const Context& context, const ConstMatrix& in, const Matrix& out, Rotation rotation,
                          const CallOptions& options = {});

/// Mirrors every matrix of the batch; `out` has the shape of `in`. All else as rotate().
SMEM_API cl::Event flip(const Context& context, const ConstMatrix& in, const Matrix& out, Flip direction,
                        const CallOptions& options = {});

}  // namespace smem
