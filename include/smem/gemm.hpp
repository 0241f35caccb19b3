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
  row_major,    ///< row by row, as all views of smem
  column_major  ///< column by column: the views are those of column_major()
};

/// A view of a column-major matrix: the rows of the view are its columns. `extent.pitch` is from one
/// column to the next, the "leading dimension" of BLAS.
template <class T>
MatrixView<T> column_major(const cl::Buffer& memory, std::size_t rows, std::size_t cols,
                           const Extent& extent = {}) {
  return MatrixView<T>(memory, cols, rows, extent);
}

/// What a number of a bias belongs to.
enum class BiasOf { column, row };

/// What becomes of x = alpha * sum + beta * C before it is written, in this order. In float for half and
/// bfloat16, rounded once at the end.
struct Epilogue {
  /// x += bias[col] or bias[row]; of C's type, as many as C has columns or rows. Empty: none.
  ConstVector bias = {};
  BiasOf bias_of = BiasOf::column;           ///< to what the bias belongs
  Activation activation = Activation::none;  ///< of the sum with its bias
  /// x = an expression in OpenCL C, e.g. "x * tanh(x)", of `x` (float for half and bfloat16, int for int32)
  /// and, as ulong, `row` and `col`. The functions of OpenCL C can be called. Empty: none.
  std::string expression = {};
  double scale = 1;  ///< x *= scale; of int32 a whole number
  /// x += residual(row, col); shape and type of C. May be C itself, as it was before: with a list, each
  /// product's own C then. Empty: none.
  ConstMatrix residual = {};
};

/// A product: C = alpha op(A) op(B) + beta C. alpha, beta and the epilogue's scale are rounded to the type
/// that sums are made in. A NaN is a number like others: as alpha it makes every sum NaN, unless k is 0; as
/// beta every one.
struct Gemm {
  double alpha = 1;          ///< of the product
  double beta = 0;           ///< 0: C is not read. Of int32 both are whole numbers
  bool transpose_a = false;  ///< whether op(A) is the transposed A
  bool transpose_b = false;  ///< whether op(B) is the transposed B
  /// Of float32: lets matrix units multiply, in TF32: factors have 10 bits of mantissa, a relative error of
  /// at most 2^-10. Sums stay float32. No effect on devices without such units.
  bool tf32 = false;
  Order order = Order::row_major;  ///< how all three matrices lie
  Epilogue epilogue = {};          ///< done to each result before it is stored
  /// Three uint64 for each product of the batch: how many elements its A, B and C lie behind those of the
  /// views, whose batch is 1. Empty: batches lie as the views say. What would leave a buffer is left out, and
  /// matrices C that overlap have no defined result: the host does not read the list.
  ConstVector list = {};
};

/// C = alpha op(A) op(B) + beta C, for each product of the batch; op(A) is m x k, op(B) is k x n, C is m x n.
///
/// A and B are both float32, float64, half, bfloat16 or int8; C has the type of sums: float32, float64 or
/// int32; or for half and bfloat16 also theirs. Products of half and bfloat16 are exact, and summed in
/// float32: no device needs cl_khr_fp16. Sums of int8 wrap at 32 bits.
///
/// Views may have any offset, pitch and batch stride; an A or B whose batch is 1 serves every product.
/// Nothing is written between the rows of C. Where k or alpha is 0, C = beta C with the epilogue, and neither
/// A nor B is read; where m, n or the batch is 0, nothing is done.
///
/// The same bits in every run of the same plan. O(m n k). Temporary memory only where sums are made in
/// parts, as the plan says. No host wait. \returns the event after which C is there. \throws Error when
/// shapes or types do not fit, a view leaves its buffer or belongs to another context, C overlaps an input
/// other than a residual that is C itself, the device has no fp64 and a type is float64, the variant cannot
/// run, a matrix or all results are more than 2^52 elements, an enumeration has no such value, or the
/// expression does not compile. It names the argument; nothing is enqueued then.
///
/// Tiles in local memory and registers: V. Volkov and J. Demmel, "Benchmarking GPUs to tune dense linear
/// algebra", SC 2008; K. Matsumoto, N. Nakasato and S. Sedukhin, "Performance tuning of matrix
/// multiplication in OpenCL on different GPUs and CPUs", SC Companion 2012.
SMEM_API cl::Event gemm(const Context& context, const ConstMatrix& a, const ConstMatrix& b, const Matrix& c,
                        const Gemm& product = {}, const CallOptions& options = {});

}  // namespace smem
