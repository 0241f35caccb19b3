/// smem: layer normalisation and root mean square normalisation of rows and columns.
#pragma once

#include <smem/context.hpp>
#include <smem/norm_plan.hpp>
#include <smem/options.hpp>
#include <smem/view.hpp>

#include <optional>

namespace smem {

/// Optional inputs and results of a norm. The arithmetic type is float64 for float64 inputs, and float32 for
/// all others.
struct Norm {
  double epsilon = 1e-5;  ///< added to the mean of squares before the square root; 0 or more
  /// Factors, one for each element of a row, of in's type or the arithmetic type. Empty: none.
  ConstVector weight = {};
  /// Summands, one for each element of a row; same types as `weight`, and its type if given. Empty: none.
  ConstVector bias = {};
  /// Added to `in` first, in the arithmetic type; has in's type and shape. Empty: none.
  ConstMatrix residual = {};
  /// Receives the sum of `in` and residual; has out's type and in's shape. May be `in` or the residual.
  std::optional<Matrix> sum = {};
  /// Receives the mean of each row, in the arithmetic type: at least rows * batch elements. layer_norm only.
  std::optional<Vector> mean = {};
  /// Receives 1 / sqrt(variance + epsilon) of each row, for rms_norm 1 / sqrt(mean of squares + epsilon).
  /// Type and size as `mean`.
  std::optional<Vector> reciprocal_deviation = {};
};

/// out(r, c) = (x(r, c) - mean of row r) / sqrt(variance of row r + epsilon) * weight[c] + bias[c], for each
/// row of each matrix of the batch. Here x is `in`, or in + residual, and the variance is the mean of
/// (x - mean)^2.
///
/// `in` is half, bfloat16, float32 or float64, with rows of at most 2^30 elements. `out` has the shape of
/// `in`, and its type, or float32 for half and bfloat16. `out` may be `in` or the residual itself.
///
/// The mean is subtracted before squares are summed, and corrected by the mean of the differences. So a mean
/// that is far larger than the deviation costs no accuracy. A row becomes NaN if it contains NaN or infinity,
/// or if its sum or its sum of squares overflows the arithmetic type; its `mean` is then not specified. A row
/// of equal elements becomes the bias; with an epsilon of 0 it becomes NaN. Mean and reciprocal deviation of
/// empty rows are NaN.
///
/// A row that fits registers or local memory is read once, a longer one twice; it is written once. No host
/// wait. A plan gives the same bits in every run. If several work-groups share a row, the call uses temporary
/// memory, as much as the plan states. \returns the event that completes with the results. \throws Error
/// when shapes or types do not fit; epsilon is negative, not finite or, for float32 arithmetic, too large for
/// float32; there is a sum without a residual; a view exceeds its buffer or belongs to another context; a
/// result overlaps an input or another result and is not one of those named above; a type is float64 and the
/// device has no fp64; or the variant cannot run. The error names the argument, and nothing is enqueued.
///
/// J. L. Ba, J. R. Kiros and G. E. Hinton, "Layer normalization", 2016. T. F. Chan, G. H. Golub and
/// R. J. LeVeque, "Algorithms for computing the sample variance", The American Statistician 37, 1983.
SMEM_API cl::Event layer_norm(const Context& context, const ConstMatrix& in, const Matrix& out,
                              const Norm& what = {}, const CallOptions& options = {});

/// out(r, c) = x(r, c) / sqrt(mean of the squares of row r + epsilon) * weight[c] + bias[c]. As layer_norm(),
/// but no mean is subtracted or written. With an epsilon of 0 a row of zeros becomes NaN.
///
/// B. Zhang and R. Sennrich, "Root mean square layer normalization", 2019.
SMEM_API cl::Event rms_norm(const Context& context, const ConstMatrix& in, const Matrix& out,
                            const Norm& what = {}, const CallOptions& options = {});

/// layer_norm() of each column of each matrix of the batch, such as the channels of each pixel of a picture
/// [channels, pixels]. Here weight and bias have an element for each row, mean and reciprocal deviation at
/// least cols * batch elements, one for each column. Columns have at most 2^30 elements. Columns that fit
/// local memory are read once, longer ones twice. All else as layer_norm().
SMEM_API cl::Event layer_norm_columns(const Context& context, const ConstMatrix& in, const Matrix& out,
                                      const Norm& what = {}, const CallOptions& options = {});

/// rms_norm() of each column. All else as layer_norm_columns().
SMEM_API cl::Event rms_norm_columns(const Context& context, const ConstMatrix& in, const Matrix& out,
                                    const Norm& what = {}, const CallOptions& options = {});

}  // namespace smem
