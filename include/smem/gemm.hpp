/// smem: products of matrices.
#pragma once

#include <smem/context.hpp>
#include <smem/gemm_plan.hpp>
#include <smem/options.hpp>
#include <smem/view.hpp>

#include <string>

namespace smem {

/// How the three matrices of a product lie in memory.
enum class Order {
  row_major,    ///< row by row, as in all views of smem
  column_major  ///< column by column: the views are those of column_major()
};

/// A view of a column-major matrix: the rows of the view are its columns. `extent.pitch` is from one
/// column to the next, the "leading dimension" of BLAS.
template <class T>
MatrixView<T> column_major(const cl::Buffer& memory, std::size_t rows, std::size_t cols,
                           const Extent& extent = {}) {
  return MatrixView<T>(memory, cols, rows, extent);
}

/// Whether a bias has a number for each column or each row.
enum class BiasOf { column, row };

/// Operations on x = alpha * sum + beta * C before it is written, in this order. For half and bfloat16 they
/// are computed in float and rounded once at the end.
struct Epilogue {
  /// x += bias[col] or bias[row]: as many numbers as C has columns or rows, of its type. Empty: none.
  ConstVector bias = {};
  BiasOf bias_of = BiasOf::column;           ///< index of the bias
  Activation activation = Activation::none;  ///< applied to the sum and its bias
  /// x = an expression in OpenCL C, e.g. "x * tanh(x)", of `x` (float for half and bfloat16, int for int32)
  /// and, as ulong, `row` and `col`. The functions of OpenCL C can be called. At most 16384
  /// characters, and 1000 prefix operators and casts. Empty: none.
  std::string expression = {};
  double scale = 1;  ///< x *= scale; a whole number for int32
  /// x += residual(row, col), which has the shape and type of C. It may be C itself, with its old values;
  /// with a list of products it is then the C of each product. Empty: none.
  ConstMatrix residual = {};
};

/// A product: C = alpha op(A) op(B) + beta C. alpha, beta and the scale of the epilogue are rounded to the
/// type of the sums. NaN is not special: an alpha of NaN makes every result NaN, unless k is 0, and so does a
/// beta of NaN.
struct Gemm {
  double alpha = 1;          ///< of the product
  double beta = 0;           ///< 0: C is not read. For int32 alpha and beta are whole numbers
  bool transpose_a = false;  ///< whether op(A) is the transposed A
  bool transpose_b = false;  ///< whether op(B) is the transposed B
  /// For float32: allows matrix units, which multiply in TF32. Factors have 10 bits of mantissa, a relative
  /// error of at most 2^-10. Sums are float32. No effect on devices without such units.
  bool tf32 = false;
  Order order = Order::row_major;  ///< of all three matrices
  Epilogue epilogue = {};          ///< applied to each result before it is stored
  /// For each product of the batch three uint64: offsets, in elements, of its A, B and C from those of the
  /// views, whose batch is 1. Empty: batches lie as the views say. The host does not read the list: elements
  /// outside a buffer are skipped, and overlapping matrices C have undefined results.
  ConstVector list = {};
};

/// C = alpha op(A) op(B) + beta C, for each product of the batch; op(A) is m x k, op(B) is k x n, C is m x n.
///
/// A and B have one type: float32, float64, half, bfloat16, int8, e4m3 or e5m2; or one of them e4m3 and the
/// other e5m2. C has the type of the sums: float32, float64 or int32; for half and bfloat16 it may also have
/// their type, for e4m3 and e5m2 be half or bfloat16. Products of half, bfloat16 and fp8 are exact, and
/// summed in float32: no device needs cl_khr_fp16. But matrix units of NVIDIA's Hopper ("wgmma") add up to
/// 128 products of fp8 at a time with fewer bits, about 14, before they are added in float32. Scales of
/// factors of fp8 go into alpha. Sums of int8 wrap at 32 bits.
///
/// Views may have any offset, pitch and batch stride. An A or B whose batch is 1 is used for every product.
/// Nothing is written between the rows of C. If k or alpha is 0, C = beta C with the epilogue, and A and B
/// are not read. If m, n or the batch is 0, nothing is done.
///
/// A plan gives the same bits in every run. O(m n k). Temporary memory only if sums are computed in parts, as
/// the plan says. No host wait. \returns the event that completes with C. \throws Error when shapes or types
/// do not fit, a view exceeds its buffer or belongs to another context, C overlaps an input other than a
/// residual that is C itself, a type is float64 and the device has no fp64, the variant cannot run, a matrix
/// or all results have more than 2^52 elements, an enumeration has no such value, or the expression does not
/// compile. The error names the argument, and nothing is enqueued.
///
/// Tiles in local memory and registers: V. Volkov and J. Demmel, "Benchmarking GPUs to tune dense linear
/// algebra", SC 2008; K. Matsumoto, N. Nakasato and S. Sedukhin, "Performance tuning of matrix
/// multiplication in OpenCL on different GPUs and CPUs", SC Companion 2012.
SMEM_API cl::Event gemm(const Context& context, const ConstMatrix& a, const ConstMatrix& b, const Matrix& c,
                        const Gemm& product = {}, const CallOptions& options = {});

}  // namespace smem
