/// smem: products of complex matrices.
#pragma once

#include <smem/complex_gemm_plan.hpp>
#include <smem/context.hpp>
#include <smem/gemm.hpp>
#include <smem/options.hpp>
#include <smem/view.hpp>

#include <complex>
#include <concepts>
#include <type_traits>

namespace smem {

/// A product of complex matrices: C = alpha op(A) op(B) + beta C. alpha and beta are rounded to the type of
/// the matrices. A real one scales both parts of a number. An alpha of NaN makes every result NaN, unless k
/// is 0, and so does a beta of NaN.
struct ComplexGemm {
  std::complex<double> alpha = 1;  ///< of the product
  std::complex<double> beta = 0;   ///< 0: C is not read
  bool transpose_a = false;        ///< whether op(A) is the transposed A
  bool transpose_b = false;        ///< whether op(B) is the transposed B
  bool conjugate_a = false;        ///< whether its numbers are conjugated, transposed or not
  bool conjugate_b = false;        ///< the same of op(B)
  Order order = Order::row_major;  ///< of all three matrices
};

/// C = alpha op(A) op(B) + beta C of complex numbers, for each product of the batch; op(A) is m x k, op(B) is
/// k x n, C is m x n.
///
/// All elements are std::complex<float>, or all std::complex<double>, which other operations take as plain
/// elements of 8 or 16 bytes; the real part comes first. An untyped view has ElementType::of_bytes(8) of two
/// floats, or of_bytes(16) of two doubles; a typed view of anything but complex numbers does not compile. A
/// complex product is four real ones: an infinite part can make both parts NaN. The order of sums and the
/// place of alpha in them are the plan's.
///
/// Views may have any offset, pitch and batch stride, in complex elements. An A or B whose batch is 1 is used
/// for every product. Nothing is written between the rows of C. If k or alpha is 0, C = beta C, and A and B
/// are not read. If m, n or the batch is 0, nothing is done.
///
/// A plan gives the same bits in every run. O(m n k): 8 m n k floating-point operations. Temporary memory for
/// the factors that the plan expands or transposes, of bounded size, as the plan says; it is the
/// context's own, not CallOptions::scratch. No host wait. \returns the event that completes with C.
/// \throws Error when shapes or types do not fit, a view exceeds its buffer or belongs to another context, C
/// overlaps an input, the type is float64 and the device has no fp64, the variant cannot run, a matrix or all
/// results have more than 2^50 elements, or `order` has no such value. The error names the argument, and
/// nothing is enqueued.
///
/// A complex product as a real one: F. G. Van Zee and T. M. Smith, "Implementing High-Performance Complex
/// Matrix Multiplication via the 3m and 4m Methods", ACM TOMS 44, 2017; the expanded factor is that of its
/// sequel by F. G. Van Zee, "... via the 1m Method", SIAM J. Sci. Comput. 42, 2020.
SMEM_API cl::Event complex_gemm(const Context& context, const ConstMatrix& a, const ConstMatrix& b,
                                const Matrix& c, const ComplexGemm& product = {},
                                const CallOptions& options = {});

namespace detail {

/// std::complex of float or double, and classes of its form.
template <class T>
concept IsComplex = requires(const std::remove_const_t<T>& z,
                             typename std::remove_const_t<T>::value_type part) {
  { z.real() } -> std::convertible_to<decltype(part)>;
  { z.imag() } -> std::convertible_to<decltype(part)>;
  requires std::is_same_v<decltype(part), float> || std::is_same_v<decltype(part), double>;
  requires sizeof(T) == 2 * sizeof part;
};

}  // namespace detail

/// Typed views of elements that are not complex numbers.
template <class A, class B, class C>
cl::Event complex_gemm(const Context& context, const MatrixView<A>& a, const MatrixView<B>& b,
                       const MatrixView<C>& c, const ComplexGemm& product = {},
                       const CallOptions& options = {}) requires(!detail::IsComplex<A> ||
                                                                 !detail::IsComplex<B> ||
                                                                 !detail::IsComplex<C>) = delete;

}  // namespace smem
