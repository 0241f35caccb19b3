/// smem: plans for softmax, log_softmax and logsumexp. Includes no OpenCL header.
#pragma once

#include <smem/device.hpp>
#include <smem/export.hpp>
#include <smem/fields.hpp>
#include <smem/plan.hpp>
#include <smem/scalar.hpp>

#include <cstddef>
#include <string_view>
#include <vector>

namespace smem {

/// What is computed of each row; see softmax.hpp.
enum class SoftmaxOp { softmax, log_softmax, logsumexp };

/// "softmax", ...: as the called function is named.
SMEM_API std::string_view name_of(SoftmaxOp op);

/// A softmax without its data: all that a plan depends on.
struct SoftmaxProblem {
  SoftmaxOp op = SoftmaxOp::softmax;  ///< what is computed
  Scalar in = Scalar::float32;        ///< type of the input
  Scalar out = Scalar::float32;       ///< type of the results
  std::size_t rows = 0;               ///< of a matrix
  std::size_t cols = 0;               ///< elements of a row
  std::size_t batch = 1;              ///< matrices
  /// The largest power of two, at most 16, that divides the byte addresses of both buffers.
  std::size_t alignment = 16;
  /// The same of every row of the input, and in elements of the input also of every row of the results.
  std::size_t row_alignment = 16;
  /// Whether the rows of the input, and of the results, follow each other without gaps, in all matrices.
  bool packed = false;

  /// The operation's name in `smem tune`.
  std::string_view name() const { return "softmax"; }
  /// Its members, for keys, texts and tuning (see fields.hpp).
  auto fields() const {
    using namespace smem::fields;
    return list(choice("op", op), choice("in", in), choice("out", out), extent("rows", rows),
                extent("cols", cols), extent("batch", batch), aligned("alignment", alignment),
                aligned("row_alignment", row_alignment), choice("packed", packed));
  }
};

/// The plan that softmax(), log_softmax() and logsumexp() use on `device`. In the plan
/// "split", a launch before the main one stores the statistics of parts of rows in temporary memory.
/// Overrides: `variant`; `work_items`, a power of two, for all variants but "cpu"; and for "cooperative"
/// `tile_cols`, the most elements of a group's part of a row, and `tile_rows`, the rows that a group has at
/// once. \throws Error when the device cannot compute the problem, the variant is unknown or cannot run this
/// problem on this device, or another field is fixed. The error names the field.
SMEM_API Plan plan_softmax(const Device& device, const SoftmaxProblem& problem,
                           const PlanOverrides& overrides = {});

/// The names of all variants, simplest first; the one for CPUs last.
SMEM_API std::vector<std::string_view> softmax_variants();

/// A softmax along columns without its data: all that a plan depends on.
struct SoftmaxColumnsProblem {
  SoftmaxOp op = SoftmaxOp::softmax;  ///< what is computed
  Scalar in = Scalar::float32;        ///< type of the input
  Scalar out = Scalar::float32;       ///< type of the results
  std::size_t rows = 0;               ///< elements of a column
  std::size_t cols = 0;               ///< of a matrix
  std::size_t batch = 1;              ///< matrices

  /// The operation's name in `smem tune`.
  std::string_view name() const { return "softmax_columns"; }
  /// Its members, for keys, texts and tuning (see fields.hpp).
  auto fields() const {
    using namespace smem::fields;
    return list(choice("op", op), choice("in", in), choice("out", out), extent("rows", rows),
                extent("cols", cols), extent("batch", batch));
  }
};

/// The plan that softmax_columns(), log_softmax_columns() and logsumexp_columns() use on `device`. In the
/// plan "split", a launch before the main one stores the statistics of parts of columns in temporary memory.
/// Overrides: `variant`, and `work_items`, a power of two, for all variants but "cpu". Errors: as
/// plan_softmax().
SMEM_API Plan plan_softmax_columns(const Device& device, const SoftmaxColumnsProblem& problem,
                                   const PlanOverrides& overrides = {});

/// The names of all variants, simplest first; the one for CPUs last.
SMEM_API std::vector<std::string_view> softmax_columns_variants();

}  // namespace smem
