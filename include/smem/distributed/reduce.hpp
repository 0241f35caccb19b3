/// smem: reductions over all ranks.
#pragma once

#include <smem/distributed/data.hpp>
#include <smem/reduce.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace smem::distributed {

namespace detail {

/// Reduces, and writes `count` results of `type` on every rank.
SMEM_DISTRIBUTED_API void reduce_to_host(const Rows& in, const Rows* other, const Reduction& reduction,
                                         void* result, Scalar type, std::size_t count);

template <class T, class R>
R reduced(const TypedRows<T>& in, const Reduction& reduction) {
  R result{};
  reduce_to_host(in, nullptr, reduction, &result, scalar_of<R>, 1);
  return result;
}

}  // namespace detail

// All calls of this header are collective, wait, and give every rank the same result. Each block is reduced
// by smem::reduce() on a device of the rank that holds it; rank 0 combines the results of the blocks in their
// order. Types, and the results of empty inputs, are those of smem::reduce(). Integers,
// smallest and largest elements, and places are the same as on one device. Sums and norms of floating-point
// numbers have the same bits for the same blocks on the same devices. The error of a sum is that of
// smem::reduce() for a block, plus one addition for each block; compensation applies within blocks. Each rank
// sends one small message. \throws Error on all ranks as smem::reduce() does, or when data has no values or
// belongs to another session.

/// The sum: int64 for signed and uint64 for unsigned integers, double for double, else float.
template <class R = void, class T>
auto sum(const TypedRows<T>& in, FloatMode mode = FloatMode::reproducible) {
  return detail::reduced<T, smem::detail::Or<R, smem::detail::Sum<T>>>(in, {ReduceOp::sum, mode});
}
/// The product. As sum().
template <class R = void, class T>
auto product(const TypedRows<T>& in) {
  return detail::reduced<T, smem::detail::Or<R, smem::detail::Sum<T>>>(in, ReduceOp::product);
}
/// The mean: double for integers and double, else float.
template <class R = void, class T>
auto mean(const TypedRows<T>& in, FloatMode mode = FloatMode::reproducible) {
  return detail::reduced<T, smem::detail::Or<R, smem::detail::Mean<T>>>(in, {ReduceOp::mean, mode});
}
/// The 2-norm. As mean().
template <class R = void, class T>
auto norm(const TypedRows<T>& in) {
  return detail::reduced<T, smem::detail::Or<R, smem::detail::Mean<T>>>(in, ReduceOp::norm);
}
/// Any operation whose result has the element's type: min, max, bit_and, bit_or, custom, which need not be
/// commutative.
template <class T>
T reduce(const TypedRows<T>& in, const Reduction& reduction) {
  return detail::reduced<T, T>(in, reduction);
}
/// The smallest element.
template <class T>
T min(const TypedRows<T>& in) {
  return reduce(in, ReduceOp::min);
}
/// The largest element.
template <class T>
T max(const TypedRows<T>& in) {
  return reduce(in, ReduceOp::max);
}
/// The smallest and the largest element.
template <class T>
std::pair<T, T> minmax(const TypedRows<T>& in) {
  T both[2] = {};
  detail::reduce_to_host(in, nullptr, ReduceOp::minmax, both, scalar_of<T>, 2);
  return {both[0], both[1]};
}
/// The index of the smallest element among those of all ranks; of equal elements the first.
template <class T>
std::size_t argmin(const TypedRows<T>& in) {
  return detail::reduced<T, std::uint64_t>(in, ReduceOp::argmin);
}
/// The index of the largest element among those of all ranks; of equal elements the first.
template <class T>
std::size_t argmax(const TypedRows<T>& in) {
  return detail::reduced<T, std::uint64_t>(in, ReduceOp::argmax);
}
/// Whether any element is not zero.
template <class T>
bool any(const TypedRows<T>& in) {
  return detail::reduced<T, std::uint8_t>(in, ReduceOp::any) != 0;
}
/// Whether all elements are not zero.
template <class T>
bool all(const TypedRows<T>& in) {
  return detail::reduced<T, std::uint8_t>(in, ReduceOp::all) != 0;
}
/// The sum of a[i] * b[i]. `b` has the rows and the layout of `a`. As sum().
template <class R = void, class T>
auto dot(const TypedRows<T>& a, const TypedRows<T>& b, FloatMode mode = FloatMode::reproducible) {
  smem::detail::Or<R, smem::detail::Sum<T>> result{};
  detail::reduce_to_host(a, &b, {ReduceOp::dot, mode}, &result, scalar_of<decltype(result)>, 1);
  return result;
}

}  // namespace smem::distributed
