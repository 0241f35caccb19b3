/// smem: products of a matrix and a vector.
#pragma once

#include <smem/context.hpp>
#include <smem/options.hpp>
#include <smem/reduce_plan.hpp>
#include <smem/view.hpp>

namespace smem {

/// y = a x: y[r + b * rows] = the sum over c of a[b](r, c) * x[c + b * cols], for each matrix b of the batch.
///
/// `a` is row-major, with any pitch. `x` has cols * batch elements of the same type. `y` has at least rows *
/// batch elements: of any integer type if `a` has integers, otherwise of half, float32 or float64. Types,
/// modes and the order of additions are those of dot(): half and float32 are summed in float32, or in float64
/// if `y` is float64. A row without elements gives 0.
///
/// `a` is read once: O(rows * cols). No host wait. \returns the event that completes with `y`. \throws Error
/// when types or sizes do not fit, a view exceeds its buffer, overlaps `y` or belongs to another context, a
/// type is float64 and the device has no fp64, or the variant cannot run. Nothing is enqueued then.
SMEM_API cl::Event matvec(const Context& context, const ConstMatrix& a, const ConstVector& x, const Vector& y,
                          FloatMode mode = FloatMode::reproducible, const CallOptions& options = {});

/// y = x a: y[c + b * cols] = the sum over r of x[r + b * rows] * a[b](r, c). `x` has rows * batch elements,
/// `y` at least cols * batch. The matrix is read as it lies. All else as matvec().
SMEM_API cl::Event vecmat(const Context& context, const ConstVector& x, const ConstMatrix& a, const Vector& y,
                          FloatMode mode = FloatMode::reproducible, const CallOptions& options = {});

}  // namespace smem
