/// smem: softmax along rows.
#pragma once

#include <smem/context.hpp>
#include <smem/options.hpp>
#include <smem/softmax_plan.hpp>
#include <smem/view.hpp>

namespace smem {

/// What softmax() and log_softmax() make of a row whose elements all are -inf.
enum class MaskedRows {
  nan,  ///< NaN, as 0 / 0 is
  zero  ///< a softmax of 0, and a log_softmax of -inf
};

/// out(r, c) = exp(in(r, c)) / the sum of exp(in(r, k)) over k: of each row of each matrix of the batch.
///
/// `in`: half, bfloat16, float32 or float64, rows of at most 2^30 elements; `out`: the same type, or float32
/// for half and bfloat16, and of in's shape. `out` may be `in` itself. Computed in float32, of float64 in
/// float64; the largest element is subtracted first, so nothing overflows. A row with a NaN or +inf is NaN;
/// an element of -inf is 0 where another one is finite.
///
/// A row is read once where it fits registers or local memory, else twice, and written once. No host wait.
/// The same bits in every run of the same plan. Temporary memory, as the plan states, where groups share a
/// row. \returns the event after which the results are there. \throws Error when shapes or types do not fit,
/// a view leaves its buffer or belongs to another context, `out` overlaps `in` without being `in`, the device
/// has no fp64 and a type is float64, or the variant cannot run; it names the argument, and nothing is
/// enqueued then.
///
/// M. Milakov and N. Gimelshein, "Online normalizer calculation for softmax", 2018.
SMEM_API cl::Event softmax(const Context& context, const ConstMatrix& in, const Matrix& out,
                           MaskedRows masked = MaskedRows::nan, const CallOptions& options = {});

/// out(r, c) = the logarithm of softmax: in(r, c) - logsumexp of row r. As softmax().
SMEM_API cl::Event log_softmax(const Context& context, const ConstMatrix& in, const Matrix& out,
                               MaskedRows masked = MaskedRows::nan, const CallOptions& options = {});

/// out[r + b * rows] = the logarithm of the sum of exp(in(r, k)) over k, of row r of matrix b: -inf of a row
/// of nothing or of -inf alone, +inf where an element is, NaN where one is. `out` has at least rows * batch
/// elements, which do not overlap `in`. Else as softmax().
SMEM_API cl::Event logsumexp(const Context& context, const ConstMatrix& in, const Vector& out,
                             const CallOptions& options = {});

}  // namespace smem
