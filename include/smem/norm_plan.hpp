/// smem: plans for layer_norm and rms_norm. Includes no OpenCL header.
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

/// What is computed of each row; see norm.hpp.
enum class NormOp { layer, rms };

/// "layer_norm", "rms_norm": as the called function is named.
SMEM_API std::string_view name_of(NormOp op);

/// A norm without its data: all that a plan depends on.
struct NormProblem {
  NormOp op = NormOp::layer;         ///< what is computed
  Scalar in = Scalar::float32;       ///< type of the input and the residual
  Scalar out = Scalar::float32;      ///< type of the results and the sum
  Scalar weights = Scalar::float32;  ///< type of weight and bias; not used without either
  bool weight = false;               ///< whether there is a weight
  bool bias = false;                 ///< whether there is a bias
  bool residual = false;             ///< whether a residual is added to the input first
  bool sum = false;                  ///< whether that sum is written too
  std::size_t rows = 0;              ///< of a matrix
  std::size_t cols = 0;              ///< elements of a row
  std::size_t batch = 1;             ///< matrices
  /// The largest power of two, at most 16, that divides the byte addresses of all buffers.
  std::size_t alignment = 16;
  /// The same of every row of the input, and in elements of the input also of all other rows, of weight and
  /// of bias.
  std::size_t row_alignment = 16;
  /// Whether the rows of the input, and of the results, follow each other without gaps, in all matrices.
  bool packed = false;

  /// The operation's name in `smem tune`.
  std::string_view name() const { return "norm"; }
  /// Its members, for keys, texts and tuning (see fields.hpp).
  auto fields() const {
    using namespace smem::fields;
    return list(choice("op", op), choice("in", in), choice("out", out), choice("weights", weights),
                choice("weight", weight), choice("bias", bias), choice("residual", residual),
                choice("sum", sum), extent("rows", rows), extent("cols", cols), extent("batch", batch),
                aligned("alignment", alignment), aligned("row_alignment", row_alignment),
                choice("packed", packed));
  }
};

/// The plan that layer_norm() and rms_norm() use on `device`. In the plan "split", a launch before
/// the main one stores the statistics of parts of rows in temporary memory. Overrides: `variant`;
/// `work_items`, a power of two, for all variants but "cpu"; and for "cooperative" and "persistent"
/// `tile_cols`, the most elements of a group's part of a row, and `tile_rows`, the rows that a group has at
/// once. \throws Error when the device cannot compute the problem, the variant is unknown or cannot run this
/// problem on this device, or another field is fixed. The error names the field.
SMEM_API Plan plan_norm(const Device& device, const NormProblem& problem,
                        const PlanOverrides& overrides = {});

/// The names of all variants, simplest first; the one for CPUs last.
SMEM_API std::vector<std::string_view> norm_variants();

/// A norm along columns without its data: all that a plan depends on.
struct NormColumnsProblem {
  NormOp op = NormOp::layer;         ///< what is computed
  Scalar in = Scalar::float32;       ///< type of the input and the residual
  Scalar out = Scalar::float32;      ///< type of the results and the sum
  Scalar weights = Scalar::float32;  ///< type of weight and bias; not used without either
  bool weight = false;               ///< whether there is a weight
  bool bias = false;                 ///< whether there is a bias
  bool residual = false;             ///< whether a residual is added to the input first
  bool sum = false;                  ///< whether that sum is written too
  std::size_t rows = 0;              ///< elements of a column
  std::size_t cols = 0;              ///< of a matrix
  std::size_t batch = 1;             ///< matrices

  /// The operation's name in `smem tune`.
  std::string_view name() const { return "norm_columns"; }
  /// Its members, for keys, texts and tuning (see fields.hpp).
  auto fields() const {
    using namespace smem::fields;
    return list(choice("op", op), choice("in", in), choice("out", out), choice("weights", weights),
                choice("weight", weight), choice("bias", bias), choice("residual", residual),
                choice("sum", sum), extent("rows", rows), extent("cols", cols), extent("batch", batch));
  }
};

/// The plan that layer_norm_columns() and rms_norm_columns() use on `device`. In the plan "split", a launch
/// before the main one stores the statistics of parts of columns in temporary memory. Overrides: `variant`,
/// and `work_items`, a power of two, for all variants but "cpu". Errors: as plan_norm().
SMEM_API Plan plan_norm_columns(const Device& device, const NormColumnsProblem& problem,
                                const PlanOverrides& overrides = {});

/// The names of all variants, simplest first; the one for CPUs last.
SMEM_API std::vector<std::string_view> norm_columns_variants();

}  // namespace smem
