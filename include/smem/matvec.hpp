/// smem: products of a matrix and a vector.
#pragma once

#include <smem/context.hpp>
#include <smem/options.hpp>
#include <smem/reduce_plan.hpp>
#include <smem/view.hpp>

namespace smem {

/// y = a x: y[r + b * rows] = the sum over c of a[b](r, c) * x[c + b * cols], for each matrix b of the batch.
///
/// `a` is row-major, with any pitch; `x` has cols * batch elements of the same type; `y` at least rows *
/// batch: of integers any integer type, of half, float32 and float64 one of these. Types, modes and the order
/// of additions are those of dot(): half and float32 are summed in float32, with a float64 `y` in float64. A
/// row without elements gives 0.
///
/// Reads `a` once: O(rows * cols). No host wait. \returns the event after which `y` is there. \throws Error
/// when types or sizes do not fit, a view leaves its buffer, overlaps `y` or belongs to another context, the
/// device has no fp64 and a type is float64, or the variant cannot run; nothing is enqueued then.
SMEM_API cl::Event matvec(const Context& context, const ConstMatrix& a, const ConstVector& x, const Vector& y,
                          FloatMode mode = FloatMode::reproducible, const CallOptions& options = {});

/// y = x a: y[c + b * cols] = the sum over r of x[r + b * rows] * a[b](r, c). As matvec(), with the
/// transposed matrix, which is read as it lies.
SMEM_API cl::Event vecmat(const Context& context, const ConstVector& x, const ConstMatrix& a, const Vector& y,
                          FloatMode mode = FloatMode::reproducible, const CallOptions& options = {});

}  // namespace smem
