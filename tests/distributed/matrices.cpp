// Transposes and products over all ranks.
#include "support.hpp"

#include <smem/distributed/gemm.hpp>
#include <smem/distributed/transpose.hpp>

#include <cmath>
#include <cstdlib>
#include <cstring>

namespace d = smem::distributed;

namespace {

template <class T>
std::vector<T> transposed(const std::vector<T>& in, std::size_t rows, std::size_t cols) {
  std::vector<T> out(in.size());
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t col = 0; col < cols; ++col)
      out[col * rows + row] = in[row * cols + col];
  }
  return out;
}

template <class T, class Sum>
std::vector<Sum> product(const std::vector<T>& a, const std::vector<T>& b, std::size_t m, std::size_t n,
                         std::size_t k) {
  std::vector<Sum> c(m * n);
  for (std::size_t row = 0; row < m; ++row) {
    for (std::size_t i = 0; i < k; ++i) {
      for (std::size_t col = 0; col < n; ++col)
        c[row * n + col] += static_cast<Sum>(a[row * k + i]) * static_cast<Sum>(b[i * n + col]);
    }
  }
  return c;
}

template <class T, class Sum>
void check_product(std::size_t m, std::size_t n, std::size_t k, const d::Product& how) {
  const d::Session& session = test::session();
  const std::vector<T> a = test::numbers<T>(m * k, -8, 8, 1), b = test::numbers<T>(k * n, -8, 8, 2);
  const std::vector<Sum> before = test::numbers<Sum>(m * n, -8, 8, 3), sums = product<T, Sum>(a, b, m, n, k);
  std::vector<Sum> wanted(m * n);
  for (std::size_t i = 0; i < wanted.size(); ++i)
    wanted[i] = static_cast<Sum>(how.alpha) * sums[i] + static_cast<Sum>(how.beta) * before[i];
  const std::vector<d::Layout> of_m = test::layouts(m), of_k = test::layouts(k);
  for (std::size_t i = 0; i < of_m.size(); ++i) {
    d::Matrix<T> left(session, m, k, of_m[i]), right(session, k, n, of_k[of_k.size() - 1 - i]);
    d::Matrix<Sum> result(session, m, n, of_m[i]);
    left.write(a);
    right.write(b);
    if (how.beta != 0) result.write(before);
    d::gemm(left, right, result, how);
    CHECK(result.to_host() == wanted);  // whole numbers: every order gives the same
  }
}

}  // namespace

TEST_CASE("transpose: any shape in any layouts") {
  struct Shape {
    std::size_t rows, cols;
  };
  for (const Shape& shape :
       {Shape{1, 1}, Shape{1, 40}, Shape{40, 1}, Shape{3, 5}, Shape{97, 130}, Shape{0, 4}}) {
    const std::vector<int> all = test::numbers<int>(shape.rows * shape.cols, -1000, 1000);
    const std::vector<int> wanted = transposed(all, shape.rows, shape.cols);
    const std::vector<d::Layout> of_in = test::layouts(shape.rows), of_out = test::layouts(shape.cols);
    for (std::size_t i = 0; i < of_in.size(); ++i) {
      d::Matrix<int> in(test::session(), shape.rows, shape.cols, of_in[i]);
      d::Matrix<int> out(test::session(), shape.cols, shape.rows, of_out[(i * 3 + 1) % of_out.size()]);
      in.write(all);
      d::transpose(in, out);
      CHECK(out.to_host() == wanted);
    }
  }
}

TEST_CASE("transpose: tiles between devices of a rank travel in pieces") {
  const d::Session& session = test::session();
  if (session.devices().front().size() < 2 || std::getenv("SMEM_TEST_BLOCK") == nullptr) return;
  const std::size_t rows = 7013, cols = 7001;  // a tile of floats has 49 MB
  std::vector<float> in(rows * cols);
  for (std::size_t i = 0; i < in.size(); ++i)
    in[i] = static_cast<float>(i % 10007);
  d::Matrix<float> data(session, rows, cols), out(session, cols, rows);
  data.write(in);
  d::transpose(data, out);
  CHECK(out.to_host() == transposed(in, rows, cols));
}

TEST_CASE("transpose: elements of 1, 2, 8 and 16 bytes, and refused calls") {
  struct Four {
    float x, y, z, w;
    bool operator==(const Four&) const = default;
  };
  const std::size_t rows = 33, cols = 21;
  const auto check = [&](auto make) {
    using T = decltype(make(0));
    std::vector<T> all;
    for (std::size_t i = 0; i < rows * cols; ++i)
      all.push_back(make(static_cast<int>(i)));
    d::Matrix<T> in(test::session(), rows, cols), out(test::session(), cols, rows);
    in.write(all);
    d::transpose(in, out);
    CHECK((out.to_host() == transposed(all, rows, cols)));
  };
  check([](int i) { return static_cast<std::uint8_t>(i); });
  check([](int i) { return static_cast<std::uint16_t>(i); });
  check([](int i) { return static_cast<double>(i); });
  check([](int i) { return Four{static_cast<float>(i), 1, 2, 3}; });

  d::Matrix<int> in(test::session(), rows, cols), out(test::session(), rows, cols);
  d::Matrix<float> floats(test::session(), cols, rows);
  CHECK(test::failure_of([&] { d::transpose(in, out); }).argument == "in");  // without values
  in.write(std::vector<int>(rows * cols));
  CHECK(test::failure_of([&] { d::transpose(in, out); }).argument == "out");
  CHECK(test::failure_of([&] { d::transpose(in, floats); }).argument == "out");
}

TEST_CASE("gemm: panels of any width, shapes and layouts") {
  check_product<float, float>(70, 50, 90, {});
  check_product<float, float>(70, 50, 90, {.alpha = 2, .beta = -1, .panel = 7});
  check_product<float, float>(2, 3, 1, {});
  check_product<float, float>(1, 64, 200, {.panel = 64});
  check_product<float, float>(20, 3, 0, {.beta = 2});
  check_product<float, float>(20, 3, 5, {.alpha = 0, .beta = 2});
  check_product<float, float>(0, 3, 5, {});
  check_product<smem::half, float>(65, 33, 40, {.panel = 16});
  check_product<std::int8_t, std::int32_t>(65, 33, 130, {});
}

TEST_CASE("gemm: every grid of the ranks") {
  const auto ranks = static_cast<std::size_t>(test::session().ranks());
  for (std::size_t columns = 1; columns <= ranks; ++columns) {
    if (ranks % columns != 0) continue;
    CAPTURE(columns);
    check_product<float, float>(70, 50, 90, {.grid_columns = columns});
    check_product<float, float>(70, 50, 90, {.alpha = 2, .beta = -1, .panel = 7, .grid_columns = columns});
    check_product<float, float>(1, 1, 40, {.grid_columns = columns});     // fewer columns than ranks
    check_product<float, float>(3, 150, 200, {.grid_columns = columns});  // fewer rows
    check_product<float, float>(9, 3, 0, {.beta = 2, .grid_columns = columns});
    check_product<smem::half, float>(65, 33, 40, {.grid_columns = columns});
    check_product<std::int8_t, std::int32_t>(10, 1100, 30, {.grid_columns = columns});
  }
  const d::Session& session = test::session();
  d::Matrix<float> a(session, 4, 5), b(session, 5, 6), c(session, 4, 6);
  a.write(std::vector<float>(20));
  b.write(std::vector<float>(30));
  CHECK(test::failure_of([&] { d::gemm(a, b, c, {.grid_columns = ranks + 1}); }).argument ==
        "product.grid_columns");
}

TEST_CASE("gemm: the same bits in every run") {
  const d::Session& session = test::session();
  const std::size_t m = 70, n = 50, k = 333;
  std::vector<float> left = test::numbers<float>(m * k, -1000, 1000, 1),
                     right = test::numbers<float>(k * n, -1000, 1000, 2);
  for (std::vector<float>* one : {&left, &right})
    for (float& x : *one)
      x /= 7;  // sums depend on their order
  d::Matrix<float> a(session, m, k), b(session, k, n), c(session, m, n);
  a.write(left);
  b.write(right);
  std::vector<float> first;
  for (int i = 0; i < 3; ++i) {
    d::gemm(a, b, c, {.panel = 40});
    const std::vector<float> found = c.to_host();
    if (i == 0) first = found;
    CHECK(std::memcmp(found.data(), first.data(), found.size() * sizeof(float)) == 0);
  }
}

TEST_CASE("gemm: refused shapes and types") {
  const d::Session& session = test::session();
  d::Matrix<float> a(session, 4, 5), b(session, 5, 6), c(session, 4, 6), wrong(session, 6, 5);
  d::Matrix<double> doubles(session, 4, 6);
  CHECK(test::failure_of([&] { d::gemm(a, b, c); }).argument == "a");  // without values
  a.write(std::vector<float>(20));
  b.write(std::vector<float>(30));
  wrong.write(std::vector<float>(30));
  CHECK(test::failure_of([&] { d::gemm(a, wrong, c); }).argument == "b");
  CHECK(test::failure_of([&] { d::gemm(a, b, wrong); }).argument == "c");
  CHECK(test::failure_of([&] { d::gemm(a, b, doubles); }).argument == "c");
  CHECK(test::failure_of([&] { d::gemm(a, b, c, {.beta = 1}); }).argument == "c");  // without values
  d::gemm(a, b, c);
  CHECK(c.to_host() == std::vector<float>(24, 0.0F));
}
