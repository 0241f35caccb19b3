// Products of matrices and vectors, against plain loops: shapes, pitches, offsets, batches, types, variants.
#include <smem/matvec.hpp>
#include <smem/smem.hpp>

#include "support/case_sweep.hpp"
#include "support/failure.hpp"
#include "support/random.hpp"
#include "support/random_cases.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace {

struct Shape {
  std::size_t rows, cols, batch = 1, offset = 0, gap = 0;  ///< gap: elements between a row's end and the next
};

/// Small integers: their sums are exact in float32 whatever the order.
template <class T>
std::vector<T> small_integers(std::size_t count, test::Random& random) {
  std::vector<T> values(count);
  for (T& v : values)
    v = static_cast<T>(static_cast<float>(random.between(0, 8)) - (std::is_unsigned_v<T> ? 0.0F : 4.0F));
  return values;
}

template <class T>
double number(T value) {
  if constexpr (std::is_same_v<T, smem::half>) {
    return static_cast<float>(value);
  } else {
    return static_cast<double>(value);
  }
}

/// Both products of one matrix. Memory around the results must stay as it was, and what lies between rows,
/// NaN or the greatest number, must not matter.
template <class T, class Y>
void check(const smem::Context& context, const Shape& s, const smem::CallOptions& options,
           test::Random& random, bool by_columns_too = true) {
  const std::size_t pitch = s.cols + s.gap, stride = s.rows * pitch + s.gap;
  CAPTURE(s.rows);
  CAPTURE(s.cols);
  CAPTURE(s.batch);
  CAPTURE(s.offset);
  CAPTURE(s.gap);
  constexpr float kPoison = std::is_integral_v<T> ? 99.0F : std::numeric_limits<float>::quiet_NaN();
  std::vector<T> a(s.offset + s.batch * stride + 1, static_cast<T>(kPoison));
  for (std::size_t b = 0; b < s.batch; ++b) {
    for (std::size_t r = 0; r < s.rows; ++r) {
      const std::vector<T> row = small_integers<T>(s.cols, random);
      std::copy(row.begin(), row.end(), a.begin() + static_cast<long>(s.offset + b * stride + r * pitch));
    }
  }
  const smem::Array<T> matrix(context, a);
  const auto view = matrix.matrix(
      s.rows, s.cols, {.offset = s.offset, .pitch = pitch, .batch = s.batch, .batch_stride = stride});
  for (const bool transposed : {false, true}) {
    CAPTURE(transposed);
    if (transposed && (options.variant == "shuffle" || !by_columns_too)) continue;
    const std::size_t from = transposed ? s.rows : s.cols, to = transposed ? s.cols : s.rows;
    // x and y begin in the middle of their buffers too.
    std::vector<T> x = small_integers<T>(3 + from * s.batch, random);
    std::vector<Y> y(2 + to * s.batch + 5, static_cast<Y>(77.0F));
    std::vector<Y> expected = y;
    for (std::size_t b = 0; b < s.batch; ++b) {
      for (std::size_t i = 0; i < to; ++i) {
        double sum = 0;
        for (std::size_t k = 0; k < from; ++k) {
          const std::size_t place = transposed ? k * pitch + i : i * pitch + k;
          sum += number(a[s.offset + b * stride + place]) * number(x[3 + b * from + k]);
        }
        expected[2 + b * to + i] = static_cast<Y>(sum);
      }
    }
    const smem::Array<T> factor(context, x);
    const smem::Array<Y> product(context, y);
    const auto x_view = factor.vector(3, from * s.batch);
    const auto y_view = product.vector(2, to * s.batch);
    const test::Tested what{transposed ? "vecmat" : "matvec", std::string(options.variant),
                            test::types_text(smem::scalar_of<T>, smem::scalar_of<Y>)};
    test::check_case(what, fmt::format("{} matrices of {} x {}", s.batch, s.rows, s.cols), [&] {
      if (transposed) {
        smem::vecmat(context, x_view, view, y_view, smem::FloatMode::reproducible, options);
      } else {
        smem::matvec(context, view, x_view, y_view, smem::FloatMode::reproducible, options);
      }
      const std::vector<Y> got = product.to_host();
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < got.size(); ++i)
        wrong += !(number(got[i]) == number(expected[i]));
      return wrong == 0 ? test::Outcome{}
                        : test::Outcome{false, fmt::format("{} of {} results are wrong", wrong, got.size())};
    });
  }
}

/// With the variant that the plan chooses.
template <class T, class Y>
void check_shapes(const std::vector<Shape>& shapes) {
  const smem::Context context;
  test::Random random(5);
  for (const Shape& shape : shapes)
    check<T, Y>(context, shape, {}, random);
}

// Rows shorter and longer than a team, a group and a part; few and many of them; packs that begin anywhere.
const std::vector<Shape> kShapes{
    {1, 1},
    {0, 5},
    {5, 0},
    {3, 7, 1, 1, 2},
    {17, 64},
    {64, 17},
    {129, 33, 1, 3},
    {5, 2051},
    {2051, 5},
    {1, 40001},
    {300, 1, 2},
    {31, 130, 3, 2},
    {40, 256, 2, 0, 4},
    {7, 515, 4, 1, 1},
    // Rows and vector aligned at the same elements; by the pitch or the stride, not.
    {33, 1000, 1, 3},
    {9, 512, 3, 11},
    {33, 1000, 1, 3, 4},
    {33, 1000, 1, 3, 1},
    {3, 1000, 3, 3, 2}};
const std::vector<Shape> kFewShapes{{3, 7, 1, 1, 2}, {129, 33, 2, 3, 1}, {9, 2051}};

}  // namespace

TEST_CASE("matvec: float32 of every shape with every variant") {
  const smem::Context context;
  test::Random random(6);
  for (const char* variant : {"several", "shuffle", "cpu"}) {
    CAPTURE(variant);
    smem::ReduceProblem problem;
    problem.reduction = smem::ReduceOp::dot;
    problem.shape = smem::ReduceShape::rows;
    problem.cols = 100;
    try {
      smem::plan_reduce(context.device(), problem, {.variant = std::string(variant)});
    } catch (const smem::Error& error) {
      REQUIRE(error.details().argument == "variant");
      REQUIRE(variant != std::string("several"));
      continue;
    }
    for (const Shape& shape : kShapes)
      check<float, float>(context, shape, {.variant = variant}, random);
  }
  check_shapes<float, float>(kShapes);
}
TEST_CASE("matvec: short rows in tiles") {
  const smem::Context context;
  test::Random random(8);
  for (const Shape& shape :
       {Shape{1, 1}, {300, 1, 1, 2}, {2051, 5}, {129, 33, 1, 3}, {64, 17}, {700, 300}, {33, 1000, 1, 3}}) {
    check<float, float>(context, shape, {.variant = "short_rows"}, random, false);
    check<smem::half, float>(context, shape, {.variant = "short_rows"}, random, false);
  }
}
TEST_CASE("matvec: other types") {
  check_shapes<smem::half, float>(kFewShapes);
  check_shapes<std::int8_t, std::int32_t>(kFewShapes);
  check_shapes<std::uint16_t, std::int64_t>({{3, 7}});
  if (smem::Context().device().fp64) check_shapes<double, double>(kFewShapes);
}

// By threads of CPUs, several rows share a strip of a thread, and some rows are left.
TEST_CASE("matvec: few columns") {
  const std::vector<Shape> shapes{{5003, 1, 1, 1}, {5003, 2, 1, 3}, {3001, 3},         {2051, 4, 2, 1},
                                  {1503, 7},       {703, 15},       {515, 16, 3, 2},   {300, 33},
                                  {103, 128},      {100, 129},      {2051, 2, 1, 0, 1}};
  check_shapes<float, float>(shapes);
  check_shapes<smem::half, float>(shapes);
  check_shapes<std::int8_t, std::int32_t>(shapes);
  if (smem::Context().device().fp64) check_shapes<double, double>(shapes);
}

// Threads of CPUs multiply four such rows at once, and those that are left of a matrix one by one.
TEST_CASE("matvec: rows that are too long for a cache of two") {
  // A work-item goes from the last rows of a matrix to the next one, in the last batch.
  const std::vector<Shape> shapes{{4, 4128}, {11, 4103, 3, 1, 3}, {150, 5000, 1, 3}, {4, 4100, 70}};
  check_shapes<float, float>(shapes);
  if (smem::Context().device().fp64) check_shapes<double, double>(shapes);
}

TEST_CASE("random: products of matrices and vectors") {
  test::Random random(47);
  const std::size_t cases = test::random_cases(40);
  const auto some_shapes = [&] {
    std::vector<Shape> shapes;
    for (std::size_t i = 0; i < cases / 4; ++i) {
      const std::size_t a = random.between(0, random.chance(3) ? 20000 : 500);
      const std::size_t b = random.between(0, 60000 / (a + 1));
      const bool wide = random.chance(2);
      shapes.push_back({wide ? b : a, wide ? a : b, random.between(1, 3), random.between(0, 5),
                        random.chance(2) ? 0 : random.between(0, 9)});
    }
    return shapes;
  };
  check_shapes<float, float>(some_shapes());
  check_shapes<smem::half, float>(some_shapes());
  check_shapes<std::int8_t, std::int32_t>(some_shapes());
  check_shapes<std::uint16_t, std::int64_t>(some_shapes());
}

TEST_CASE("matvec: compensated sums keep what plain ones lose") {
  const smem::Context context;
  // 2^24 + 1 is no float: a plain sum of float32 drops every 1.
  const smem::Array<float> a(context, std::vector<float>{0x1p24F, 1, 1, -0x1p24F}), x(context, {1, 1, 1, 1});
  const smem::Array<float> y(context, smem::Count{1});
  smem::matvec(context, a.matrix(1, 4), x.vector(), y.vector(), smem::FloatMode::compensated);
  CHECK(y.to_host() == std::vector<float>{2});
  smem::vecmat(context, x.vector(), a.matrix(4, 1), y.vector(), smem::FloatMode::compensated);
  CHECK(y.to_host() == std::vector<float>{2});
}

TEST_CASE("matvec: bad input is refused by name and nothing is written") {
  const smem::Context context;
  const std::vector<float> kept(20, 5.0F);
  const smem::Array<float> a(context, kept), x(context, kept), y(context, kept);
  const auto matrix = a.matrix(4, 5);
  auto error = test::failure_of([&] { smem::matvec(context, matrix, x.vector(0, 4), y.vector()); });
  CHECK(error.operation == "matvec");
  CHECK(error.argument == "x");
  CHECK(error.expected == "5 elements");
  CHECK(error.got == "4");
  error = test::failure_of([&] { smem::vecmat(context, x.vector(0, 5), matrix, y.vector()); });
  CHECK(error.operation == "vecmat");
  CHECK(error.expected == "4 elements");
  error = test::failure_of([&] { smem::matvec(context, matrix, x.vector(0, 5), y.vector(0, 3)); });
  CHECK(error.argument == "y");
  CHECK(error.expected == "at least 4 elements");
  error = test::failure_of([&] { smem::matvec(context, matrix, x.vector(0, 5), x.vector(4, 4)); });
  CHECK(error.argument == "y");
  error = test::failure_of([&] { smem::matvec(context, matrix, x.vector(0, 5), a.vector(16, 4)); });
  CHECK(error.argument == "y");
  error = test::failure_of([&] { smem::matvec(context, a.matrix(5, 5), x.vector(0, 5), y.vector()); });
  CHECK(error.argument == "a");
  const smem::Vector bytes(x.buffer()(), smem::Scalar::int8, 5);
  error = test::failure_of(
      [&] { smem::matvec(context, static_cast<const smem::Matrix&>(matrix), bytes, y.vector()); });
  CHECK(error.argument == "x");
  CHECK(error.expected == "float32, as a has");
  error = test::failure_of(
      [&] { smem::matvec(context, matrix, x.vector(0, 5), smem::VectorView<std::int32_t>(y.buffer(), 4)); });
  CHECK(error.argument == "y");
  CHECK(test::failure_of([&] {
          smem::matvec(context, matrix, x.vector(0, 5), y.vector(), smem::FloatMode::reproducible,
                       {.variant = "nosuch"});
        }).argument == "variant");
  CHECK(y.to_host() == kept);
  CHECK(x.to_host() == kept);
}

TEST_CASE("matvec: rows of 1 to 40 elements") {
  std::vector<Shape> shapes;
  for (std::size_t cols = 1; cols <= 40; ++cols)
    shapes.push_back({11, cols, 1 + cols % 2, cols % 5, cols % 3});
  check_shapes<smem::half, float>(shapes);
  check_shapes<float, float>(shapes);
  check_shapes<std::int8_t, std::int32_t>(shapes);
}
