// Reduces a few numbers on the host.
#include "distributed/combine.hpp"

#include "with_type.hpp"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

namespace smem::distributed::detail {

namespace {

constexpr std::size_t kMostNumbers = 4096;

double combined_pair(ReduceOp op, double a, double b) {
  switch (op) {
    case ReduceOp::sum:
      return a + b;
    case ReduceOp::product:
      return a * b;
    case ReduceOp::norm:
      return std::hypot(a, b);
    case ReduceOp::min:  // a NaN counts only where there is nothing else
      return std::isnan(a) || b < a ? b : a;
    default:  // max
      return std::isnan(a) || b > a ? b : a;
  }
}

/// Of 64 bits, signed as the numbers; sums and products wrap.
template <class Integer>
Integer combined_pair(ReduceOp op, Integer a, Integer b) {
  const auto x = static_cast<std::uint64_t>(a), y = static_cast<std::uint64_t>(b);
  switch (op) {
    case ReduceOp::sum:
      return static_cast<Integer>(x + y);
    case ReduceOp::product:
      return static_cast<Integer>(x * y);
    case ReduceOp::min:
      return b < a ? b : a;
    case ReduceOp::max:
      return b > a ? b : a;
    case ReduceOp::bit_or:
    case ReduceOp::any:
      return static_cast<Integer>(x | y);
    default:  // bit_and, all
      return static_cast<Integer>(x & y);
  }
}

template <class Wide>
Wide combined(const std::vector<Wide>& numbers, ReduceOp op) {
  Wide result = numbers.front();
  for (std::size_t i = 1; i < numbers.size(); ++i)
    result = combined_pair(op, result, numbers[i]);
  return result;
}

/// Double or 64 bits: what a number of the type T is combined as.
template <class T>
using WideOf = std::conditional_t<std::is_floating_point_v<T>, double,
                                  std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>>;

}  // namespace

std::optional<Bytes> combined_on_host(const Bytes& numbers, Scalar from, Scalar to, ReduceOp op) {
  using enum ReduceOp;
  const std::size_t count = numbers.size() / size_of(from);
  if (count == 0 || count > kMostNumbers || is_float(from) != is_float(to) || op == argmin || op == argmax ||
      op == mean || op == dot || op == custom) {
    return {};
  }
  std::optional<Bytes> result;
  with_type(from, [&]<class From>(From) {
    if constexpr (std::is_arithmetic_v<From>) {
      std::vector<WideOf<From>> wide(count);
      for (std::size_t i = 0; i < count; ++i) {
        From number;
        std::memcpy(&number, numbers.data() + i * sizeof number, sizeof number);
        wide[i] = number;
      }
      with_type(to, [&]<class To>(To) {
        if constexpr (std::is_arithmetic_v<To>) {
          std::vector<To> found;
          const auto add = [&](ReduceOp one) { found.push_back(static_cast<To>(combined(wide, one))); };
          add(op == minmax ? min : op);
          if (op == minmax) add(max);
          const auto* bytes = reinterpret_cast<const std::byte*>(found.data());
          result.emplace(bytes, bytes + found.size() * sizeof(To));
        }
      });
    }
  });
  return result;
}

}  // namespace smem::distributed::detail
