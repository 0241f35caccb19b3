/// smem: normalisation of rows, as the layers of transformers have it.
#pragma once

#include <smem/context.hpp>
#include <smem/norm_plan.hpp>
#include <smem/options.hpp>
#include <smem/view.hpp>

#include <optional>

namespace smem {

/// What a norm does besides, and which other results it leaves. Rows are computed in float32, of float64 in
/// float64: that type is meant by "computed in".
struct Norm {
  double epsilon = 1e-5;  ///< added to the mean of squares, in whose root it is; 0 or more
  /// A factor for each element of a row, of in's type or the one that rows are computed in. Empty: none.
  ConstVector weight = {};
  /// Added to each element of a row in the end, of weight's type, or as it. Empty: none.
  ConstVector bias = {};
  /// Of in's type and shape, added to `in` first: a row is then the sum, in the type that it is computed in.
  ConstMatrix residual = {};
  /// Where the sum of `in` and residual is left, of out's type and in's shape; may be `in` or the residual.
  std::optional<Matrix> sum = {};
  /// Where the mean of each row is left, of the type it is computed in: at least rows * batch elements. Of
  /// layer_norm alone.
  std::optional<Vector> mean = {};
  /// The same of the reciprocal deviation: what elements were multiplied by before weight.
  std::optional<Vector> reciprocal_deviation = {};
};

/// out(r, c) = (x(r, c) - mean of row r) / sqrt(variance of row r + epsilon) * weight[c] + bias[c], where x
/// is `in`, or in + residual, and the variance is the mean of (x - mean)^2: of each row of each matrix.
///
/// `in`: half, bfloat16, float32 or float64, rows of at most 2^30 elements; `out`: the same type, or float32
/// for half and bfloat16, and of in's shape. `out` may be `in` or the residual itself. Means are subtracted
/// before squares are summed, and corrected by the mean of the differences: of rows whose mean is far larger
/// than their deviation as many digits are right as of others. A row is NaN where one of its elements is NaN
/// or infinite, or its sum or the sum of squares exceeds what it is computed in, and its mean is any number
/// then; a row of equal elements is bias, with an epsilon of 0 NaN. Mean and reciprocal deviation of rows of
/// no elements are NaN.
///
/// A row is read once where it fits registers or local memory, else twice, and written once. No host wait.
/// The same bits in every run of the same plan. Temporary memory, as the plan states, where groups share a
/// row. \returns the event after which the results are there. \throws Error when shapes or types do not fit,
/// epsilon is negative, not finite or larger than float32 where rows are computed in it, a sum has no
/// residual, a view leaves its buffer or belongs to another context, a result overlaps what is read or
/// another result without being allowed to be it, the device has no fp64 and a type is float64, or the
/// variant cannot run; it names the argument, and nothing is enqueued then.
///
/// J. L. Ba, J. R. Kiros and G. E. Hinton, "Layer normalization", 2016. T. F. Chan, G. H. Golub and
/// R. J. LeVeque, "Algorithms for computing the sample variance", The American Statistician 37, 1983.
SMEM_API cl::Event layer_norm(const Context& context, const ConstMatrix& in, const Matrix& out,
                              const Norm& what = {}, const CallOptions& options = {});

/// out(r, c) = x(r, c) / sqrt(mean of the squares of row r + epsilon) * weight[c] + bias[c]. As layer_norm(),
/// but no mean is subtracted, nor left. With an epsilon of 0 a row of zeros is NaN.
///
/// B. Zhang and R. Sennrich, "Root mean square layer normalization", 2019.
SMEM_API cl::Event rms_norm(const Context& context, const ConstMatrix& in, const Matrix& out,
                            const Norm& what = {}, const CallOptions& options = {});

}  // namespace smem
