// Sums and products of sizes that callers give.
#include <smem/sizes.hpp>

#include <doctest/doctest.h>

#include <cstdint>

using smem::detail::size_product;
using smem::detail::size_sum;

TEST_CASE("plan: sums and products of sizes do not wrap") {
  constexpr std::size_t kMost = SIZE_MAX, kHalf = std::size_t{1} << 32;
  CHECK(size_sum(3, 4) == 7);
  CHECK(size_sum(kMost - 4, 4) == kMost);
  CHECK(size_sum(kMost - 3, 4) == kMost);
  CHECK(size_sum(kMost, kMost) == kMost);

  CHECK(size_product(3, 4) == 12);
  CHECK(size_product(0, kMost) == 0);
  CHECK(size_product(kMost, 0) == 0);
  CHECK(size_product(1, kMost) == kMost);
  CHECK(size_product(kHalf - 1, kHalf) == kMost - (kHalf - 1));  // the largest that 64 bits hold
  CHECK(size_product(kHalf, kHalf) == kMost);                    // 2^64, which wraps to 0
  CHECK(size_product(kHalf + 1, kHalf) == kMost);
  // Of more numbers: once it is too large it stays so, but for a product by 0.
  CHECK(size_product(kHalf, kHalf, 2, 3) == kMost);
  CHECK(size_product(kHalf, 2, 3, 5) == kHalf * 30);
  CHECK(size_product(kHalf, kHalf, 0, 3) == 0);
}
