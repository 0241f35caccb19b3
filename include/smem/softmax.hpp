/// smem: softmax along rows.
#pragma once

#include <smem/context.hpp>
#include <smem/options.hpp>
#include <smem/softmax_plan.hpp>
#include <smem/view.hpp>

namespace smem {

/// The result of softmax() and log_softmax() for a row in which all elements are -inf.
enum class MaskedRows {
  nan,  ///< NaN, as 0 / 0 gives
  zero  ///< softmax gives 0, log_softmax -inf
};

/// out(r, c) = exp(in(r, c)) / the sum of exp(in(r, k)) over all k, for each row of each matrix of the batch.
///
/// `in` is half, bfloat16, float32 or float64, with rows of at most 2^30 elements. `out` has the shape of
/// `in`, and its type, or float32 for half and bfloat16. `out` may be `in` itself. Arithmetic is float32, or
/// float64 for float64 inputs. The maximum of the row is subtracted first, so nothing overflows. A row that
/// contains NaN or +inf becomes NaN. An element of -inf becomes 0 if its row has a finite element.
///
/// A row that fits registers or local memory is read once, a longer one twice; it is written once. No host
/// wait. A plan gives the same bits in every run. If several work-groups share a row, the call uses temporary
/// memory, as much as the plan states. \returns the event that completes with the results. \throws Error
/// when shapes or types do not fit, a view exceeds its buffer or belongs to another context, `out` overlaps
/// `in` without being `in`, a type is float64 and the device has no fp64, or the variant cannot run. The
/// error names the argument, and nothing is enqueued.
///
/// M. Milakov and N. Gimelshein, "Online normalizer calculation for softmax", 2018.
SMEM_API cl::Event softmax(const Context& context, const ConstMatrix& in, const Matrix& out,
                           MaskedRows masked = MaskedRows::nan, const CallOptions& options = {});

/// out(r, c) = in(r, c) - logsumexp of row r, which is the logarithm of softmax. All else as softmax().
SMEM_API cl::Event log_softmax(const Context& context, const ConstMatrix& in, const Matrix& out,
                               MaskedRows masked = MaskedRows::nan, const CallOptions& options = {});

/// out[r + b * rows] = the logarithm of the sum of exp(in(r, k)) over all k, for row r of matrix b. The
/// result is -inf for an empty row and for a row of -inf only, NaN for a row that contains NaN, and otherwise
/// +inf for one that contains +inf. `out` has at least rows * batch elements and does not overlap `in`. All
/// else as softmax().
SMEM_API cl::Event logsumexp(const Context& context, const ConstMatrix& in, const Vector& out,
                             const CallOptions& options = {});

/// out(r, c) = exp(in(r, c)) / the sum of exp(in(k, c)) over all k: softmax of each column of each matrix of
/// the batch, such as the channels of each pixel of a picture [channels, pixels]. Columns have at most 2^30
/// elements. Columns that fit local memory are read once, longer ones twice. All else as softmax().
SMEM_API cl::Event softmax_columns(const Context& context, const ConstMatrix& in, const Matrix& out,
                                   MaskedRows masked = MaskedRows::nan, const CallOptions& options = {});

/// out(r, c) = in(r, c) - logsumexp of column c. All else as softmax_columns().
SMEM_API cl::Event log_softmax_columns(const Context& context, const ConstMatrix& in, const Matrix& out,
                                       MaskedRows masked = MaskedRows::nan, const CallOptions& options = {});

/// out[c + b * cols] = the logarithm of the sum of exp(in(k, c)) over all k, for column c of matrix b. `out`
/// has at least cols * batch elements. All else as logsumexp().
SMEM_API cl::Event logsumexp_columns(const Context& context, const ConstMatrix& in, const Vector& out,
                                     const CallOptions& options = {});

}  // namespace smem
