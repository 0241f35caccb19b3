// Places of the least and greatest elements where several are equal, or none is better than others.
#include <smem/smem.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

using smem::ReduceOp;

TEST_CASE(
    "reduce places: the first of equal elements of a short vector, also before those behind its packs") {
  const smem::Context context;
  const smem::Array<int> equal(context, std::vector<int>(3000, 7));
  for (const std::string variant : {"short", ""}) {
    for (const std::size_t first : {0, 1, 3}) {
      for (const std::size_t size : {1, 5, 7, 18, 66, 2251}) {
        const smem::CallOptions options{.variant = variant};
        CHECK(smem::argmax(context, equal.vector(first, size), options) == 0);
        CHECK(smem::argmin(context, equal.vector(first, size), options) == 0);
      }
    }
  }
}

TEST_CASE("reduce places: the first place where no element is better than the others") {
  const smem::Context context;
  // All NaN, or all the number that is worst: kernels may know no place for any, and for some of them.
  const auto check = [&]<class T>(const std::string& type, T worst_least, T worst_greatest) {
    CAPTURE(type);
    if (sizeof(T) == 8 && std::is_floating_point_v<T> && !context.device().fp64) return;
    constexpr std::size_t kMost = 16000;
    for (const ReduceOp op : {ReduceOp::argmin, ReduceOp::argmax}) {
      const smem::Array<T> in(context,
                              std::vector<T>(kMost, op == ReduceOp::argmin ? worst_least : worst_greatest));
      // Strips of columns that hold several rows, with rows left, and rows with whole blocks and without.
      const std::array<std::size_t, 2> sizes[] = {{5003, 2}, {1000, 16}, {100, 33}, {3, 5003}, {211, 70}};
      for (const std::array<std::size_t, 2>& size : sizes) {
        const std::size_t rows = size[0], cols = size[1];
        CAPTURE(rows);
        CAPTURE(cols);
        smem::Array<std::uint64_t> of_rows(context, std::vector<std::uint64_t>(rows, 77)),
            of_columns(context, std::vector<std::uint64_t>(cols, 77));
        smem::reduce_rows(context, in.matrix(rows, cols), of_rows.vector(), op);
        CHECK(of_rows.to_host() == std::vector<std::uint64_t>(rows));
        smem::reduce_columns(context, in.matrix(rows, cols), of_columns.vector(), op);
        CHECK(of_columns.to_host() == std::vector<std::uint64_t>(cols));
      }
    }
  };
  constexpr auto kNone = std::numeric_limits<float>::quiet_NaN();
  constexpr auto kInfinite = std::numeric_limits<float>::infinity();
  check("NaN", kNone, kNone);
  check("infinity", kInfinite, -kInfinite);
  const auto check_limits = [&]<class T>(const std::string& type, T) {
    check(type, std::numeric_limits<T>::max(), std::numeric_limits<T>::min());
  };
  check_limits("int32", std::int32_t{});
  check_limits("uint32", std::uint32_t{});
  check_limits("int16", std::int16_t{});
  check_limits("uint8", std::uint8_t{});
  check_limits("int64", std::int64_t{});
  check("NaN of double", std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::quiet_NaN());
}
