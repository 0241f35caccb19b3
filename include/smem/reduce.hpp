/// smem: reductions.
#pragma once

#include <smem/context.hpp>
#include <smem/options.hpp>
#include <smem/reduce_plan.hpp>
#include <smem/view.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace smem {

/// out[0] = the reduction of all elements of `in`, which are integers, half, float32 or float64.
///
/// Types of `out`, and the result of an empty input:
/// - sum, product of integers: any integer type, the exact value modulo its size; 0 and 1
/// - sum, product of half, float32, float64: half, float32 or float64; 0 and 1
/// - min, max: the element's type; for integers the largest and least value of the type, else NaN
/// - minmax: the element's type, two elements; as min and max
/// - bit_and, bit_or (integers): the element's type; all bits, no bits
/// - any, all (a NaN counts as not zero): uint8, 0 or 1; 0 and 1
/// - argmin, argmax: uint32 or uint64; an error, or all bits set for an empty segment
/// - mean, norm: half, float32 or float64; NaN and 0
/// - custom: the element's type; the identity
///
/// min, max, minmax, argmin and argmax ignore NaNs, as fmin and fmax do: the result is NaN only if all
/// elements are. Zeros of both signs are equal. argmin and argmax give the first of equal elements, and 0 if
/// all are NaN. Sums, products and means of half and float32 are computed in float32, or in float64 if `out`
/// is float64. The mean of integers is that of the exact sum modulo 2^64. norm is the 2-norm, computed
/// without intermediate overflow or underflow (J. L. Blue, ACM TOMS 4, 1978), for up to 2^40 elements.
///
/// Floating-point sums are trees with long sequential leaves in a fixed order: the same plan, offset and
/// input give the same bits in every run. The error of a plain sum is at most about n / p * eps times the sum
/// of magnitudes, where p is the number of accumulators (about 10^5 on a GPU, 2000 on a CPU). The error of a
/// compensated sum is eps times the magnitude of the sum, plus about (n * eps)^2 / p times the sum of
/// magnitudes.
///
/// Each element is read once: O(n). Temporary memory of a few kilobytes comes from the context. No host wait.
/// \returns the event that completes with the result. \throws Error when types do not fit (see the table),
/// `out` is too small, a view exceeds its buffer, overlaps `out` or belongs to another context, a type is
/// float64 and the device has no fp64, the variant cannot run, or a custom expression does not compile.
/// Nothing is enqueued then.
///
/// The steps from a simple tree to several elements per work-item are those of M. Harris, "Optimizing
/// Parallel Reduction in CUDA", NVIDIA, 2007.
SMEM_API cl::Event reduce(const Context& context, const ConstVector& in, const Vector& out,
                          const Reduction& reduction, const CallOptions& options = {});

/// out[r + b * rows] = the reduction of row r of matrix b: along the last axis. `out` has at least rows *
/// batch results. All else as reduce().
SMEM_API cl::Event reduce_rows(const Context& context, const ConstMatrix& in, const Vector& out,
                               const Reduction& reduction, const CallOptions& options = {});
/// out[c + b * cols] = the reduction of column c of matrix b. `out` has at least cols * batch results. All
/// else as reduce().
SMEM_API cl::Event reduce_columns(const Context& context, const ConstMatrix& in, const Vector& out,
                                  const Reduction& reduction, const CallOptions& options = {});

/// out[s] = the reduction of in[offsets[s]] to in[offsets[s + 1] - 1]. There is one more offset than there
/// are segments; offsets are uint32 or uint64. Indices count from the beginning of the segment. All else as
/// reduce().
///
/// The offsets lie on the device, so the call cannot refuse them. A segment that ends before it begins counts
/// as empty, and elements beyond `in` are skipped, so nothing outside `in` is read. check_segments()
/// validates offsets. Where work-groups can hand results to each other, on NVIDIA GPUs, many elements are
/// balanced whatever the lengths of segments ("balanced"). Elsewhere each work-group reduces one segment at a
/// time, so a few long segments among many short ones are slow.
SMEM_API cl::Event reduce_segments(const Context& context, const ConstVector& in, const ConstVector& offsets,
                                   const Vector& out, const Reduction& reduction,
                                   const CallOptions& options = {});

/// Checks offsets of segments, and waits for the device. \throws Error naming the first of the `offsets` that
/// is less than the one before it, or more than `size`.
SMEM_API void check_segments(const Context& context, const ConstVector& offsets, std::size_t size);

/// out[0] = the sum of a[i] * b[i]. `b` has the type and size of `a`. Types of `out`, errors and modes as for
/// a sum; a compensated one also includes the rounding errors of the products (T. Ogita, S. M. Rump and S.
/// Oishi, "Accurate sum and dot product", SIAM J. Sci. Comput. 26, 2005). Reads fastest when the offsets of
/// `a` and `b` differ by a multiple of 16 bytes.
SMEM_API cl::Event dot(const Context& context, const ConstVector& a, const ConstVector& b, const Vector& out,
                       FloatMode mode = FloatMode::reproducible, const CallOptions& options = {});

namespace detail {

/// Runs the reduction, waits, and writes `count` results of `type` to `result`. `other`: of a dot product.
SMEM_API void reduce_to_host(const Context& context, const ConstVector& in, const ConstVector* other,
                             const Reduction& reduction, void* result, Scalar type, std::size_t count,
                             const CallOptions& options);

template <class T>
using Sum =
    std::conditional_t<is_float(scalar_of<T>), std::conditional_t<std::is_same_v<T, double>, double, float>,
                       std::conditional_t<is_signed(scalar_of<T>), std::int64_t, std::uint64_t>>;
template <class T>
using Mean = std::conditional_t<is_float(scalar_of<T>), Sum<T>, double>;
template <class Wanted, class Otherwise>
using Or = std::conditional_t<std::is_void_v<Wanted>, Otherwise, Wanted>;

template <class R>
R reduced(const Context& context, const ConstVector& in, const Reduction& reduction,
          const CallOptions& options) {
  R result{};
  reduce_to_host(context, in, nullptr, reduction, &result, scalar_of<R>, 1, options);
  return result;
}

}  // namespace detail

/// An Array or a VectorView.
template <class In>
concept TypedVector = std::is_convertible_v<const In&, ConstVector> && requires {
  typename In::value_type;
};

// ---------------------------------------------------------------------------------------------------------
// Blocking calls: they wait for the device and return the result. The type of a sum, product, mean or norm
// can be chosen: sum<float>(context, halves), mean<float>(context, integers).

/// The sum: int64 for signed and uint64 for unsigned integers, double for double, else float.
template <class R = void, TypedVector In>
auto sum(const Context& context, const In& in, FloatMode mode = FloatMode::reproducible,
         const CallOptions& options = {}) {
  using Result = detail::Or<R, detail::Sum<typename In::value_type>>;
  return detail::reduced<Result>(context, in, {ReduceOp::sum, mode}, options);
}
/// The product. As sum().
template <class R = void, TypedVector In>
auto product(const Context& context, const In& in, const CallOptions& options = {}) {
  using Result = detail::Or<R, detail::Sum<typename In::value_type>>;
  return detail::reduced<Result>(context, in, ReduceOp::product, options);
}
/// The mean: double for integers and double, else float.
template <class R = void, TypedVector In>
auto mean(const Context& context, const In& in, FloatMode mode = FloatMode::reproducible,
          const CallOptions& options = {}) {
  using Result = detail::Or<R, detail::Mean<typename In::value_type>>;
  return detail::reduced<Result>(context, in, {ReduceOp::mean, mode}, options);
}
/// The 2-norm. As mean().
template <class R = void, TypedVector In>
auto norm(const Context& context, const In& in, const CallOptions& options = {}) {
  using Result = detail::Or<R, detail::Mean<typename In::value_type>>;
  return detail::reduced<Result>(context, in, ReduceOp::norm, options);
}
/// Any operation whose result has the element's type: min, max, bit_and, bit_or, custom.
template <TypedVector In>
typename In::value_type reduce(const Context& context, const In& in, const Reduction& reduction,
                               const CallOptions& options = {}) {
  return detail::reduced<typename In::value_type>(context, in, reduction, options);
}
/// The smallest element.
template <TypedVector In>
typename In::value_type min(const Context& context, const In& in, const CallOptions& options = {}) {
  return reduce(context, in, ReduceOp::min, options);
}
/// The largest element.
template <TypedVector In>
typename In::value_type max(const Context& context, const In& in, const CallOptions& options = {}) {
  return reduce(context, in, ReduceOp::max, options);
}
/// The smallest and the largest element.
template <TypedVector In>
auto minmax(const Context& context, const In& in, const CallOptions& options = {}) {
  using T = typename In::value_type;
  T both[2] = {};
  detail::reduce_to_host(context, in, nullptr, ReduceOp::minmax, both, scalar_of<T>, 2, options);
  return std::pair<T, T>(both[0], both[1]);
}
/// The index of the smallest element.
inline std::size_t argmin(const Context& context, const ConstVector& in, const CallOptions& options = {}) {
  return detail::reduced<std::uint64_t>(context, in, ReduceOp::argmin, options);
}
/// The index of the largest element.
inline std::size_t argmax(const Context& context, const ConstVector& in, const CallOptions& options = {}) {
  return detail::reduced<std::uint64_t>(context, in, ReduceOp::argmax, options);
}
/// Whether any element is not zero.
inline bool any(const Context& context, const ConstVector& in, const CallOptions& options = {}) {
  return detail::reduced<std::uint8_t>(context, in, ReduceOp::any, options) != 0;
}
/// Whether no element is zero.
inline bool all(const Context& context, const ConstVector& in, const CallOptions& options = {}) {
  return detail::reduced<std::uint8_t>(context, in, ReduceOp::all, options) != 0;
}
/// The sum of a[i] * b[i]. As sum().
template <class R = void, TypedVector A>
auto dot(const Context& context, const A& a, const ConstVector& b, FloatMode mode = FloatMode::reproducible,
         const CallOptions& options = {}) -> detail::Or<R, detail::Sum<typename A::value_type>> {
  detail::Or<R, detail::Sum<typename A::value_type>> result{};
  detail::reduce_to_host(context, a, &b, {ReduceOp::dot, mode}, &result, scalar_of<decltype(result)>, 1,
                         options);
  return result;
}

}  // namespace smem
