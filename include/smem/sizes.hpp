/// smem: sums and products of sizes that do not wrap.
#pragma once

#include <smem/cplusplus.hpp>

#include <cstddef>
#include <cstdint>

namespace smem::detail {

/// a + b, or the largest size, which no memory has, where 64 bits do not hold it.
constexpr std::size_t size_sum(std::size_t a, std::size_t b) { return a > SIZE_MAX - b ? SIZE_MAX : a + b; }

/// The product, or the largest size where 64 bits do not hold it. All sizes that callers give are multiplied
/// by it until they are known to be small.
constexpr std::size_t size_product(std::size_t a, std::size_t b) {
  return b != 0 && a > SIZE_MAX / b ? SIZE_MAX : a * b;
}
/// The same of more.
template <class... Sizes>
constexpr std::size_t size_product(std::size_t a, std::size_t b, Sizes... more) {
  return size_product(size_product(a, b), more...);
}

}  // namespace smem::detail
