// Reductions as numbers: rounding errors, the same bits in every run, NaNs and infinities, dot products, a
// caller's own operation, and the blocking functions.
#include <smem/smem.hpp>

#include "support/environment.hpp"
#include "support/failure.hpp"
#include "support/maps.hpp"
#include "support/reduce_sweep.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

using smem::FloatMode;
using smem::ReduceOp;
using smem::Reduction;

namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kFloatInfinity = std::numeric_limits<float>::infinity();

/// Of all variants that run there with as many elements as these tests have. sub_group has sums only, and no
/// compensated ones, and short takes few elements: they are left to other tests.
template <class Work>
void for_reductions(const smem::Context& context, const Work& work) {
  smem::ReduceProblem problem;
  problem.reduction = {ReduceOp::sum, FloatMode::compensated};
  problem.cols = 1000003;
  std::size_t ran = 0;
  for (const std::string_view variant : smem::reduce_variants()) {
    CAPTURE(variant);
    try {
      smem::plan_reduce(context.device(), problem, {.variant = std::string(variant)});
    } catch (const smem::Error&) {
      continue;
    }
    work(smem::CallOptions{.variant = variant});
    ++ran;
  }
  CHECK(ran >= 2);
}

bool is_cpu(const smem::Context& context) { return context.device().type == smem::DeviceType::cpu; }

}  // namespace

TEST_CASE(
    "reduce numbers: the error of a sum is within its bound, and a compensated one is as good as exact") {
  const smem::Context context;
  const std::vector<float> values = test::random_floats(1000003, 11);
  double sum = 0, magnitude = 0;
  for (const float value : values) {
    sum += value;
    magnitude += std::abs(static_cast<double>(value));
  }
  const smem::Array<float> in(context, values);
  for_reductions(context, [&](const smem::CallOptions& options) {
    // A tree over at least eight accumulators: no element goes through more than n / 8 + 64 additions.
    const double bound = (1000003.0 / 8 + 64) * 0x1p-24 * magnitude;
    CHECK(std::abs(smem::sum(context, in, FloatMode::reproducible, options) - sum) <= bound);
    CHECK(std::abs(smem::sum(context, in, FloatMode::compensated, options) - sum) <=
          0x1p-24 * std::abs(sum) + 1e-9 * magnitude);
    if (context.device().fp64)
      CHECK(std::abs(smem::sum<double>(context, in, FloatMode::reproducible, options) - sum) <=
            1e-10 * magnitude);
  });
}

TEST_CASE("reduce numbers: a compensated sum keeps what a plain one loses") {
  const smem::Context context;
  // Large numbers that cancel, far apart, and small ones between them.
  std::vector<float> values(100000, 0.25F);
  for (std::size_t i = 0; i + 50000 < values.size(); i += 100) {
    values[i] = 3e9F;
    values[i + 50000] = -3e9F;
  }
  const double sum = (100000 - 1000) * 0.25;
  const smem::Array<float> in(context, values);
  for_reductions(context, [&](const smem::CallOptions& options) {
    CHECK(smem::sum(context, in, FloatMode::compensated, options) == sum);
    CHECK(smem::mean(context, in, FloatMode::compensated, options) ==
          doctest::Approx(sum / 100000).epsilon(1e-6));
    CHECK(smem::sum(context, in, FloatMode::reproducible, options) != sum);
  });
}

namespace {

/// Sums of the least and of the greatest number of a type, which are the first to exceed an accumulator: of
/// as many elements as a CPU adds in vectors of twice their bits, of some more, and of several times as many.
template <class T>
void sums_of_extremes(const smem::Context& context) {
  for (const T extreme : {std::numeric_limits<T>::min(), std::numeric_limits<T>::max()}) {
    const std::size_t most = 5 * 32768 + 77;
    std::vector<T> values(most, extreme);
    values[32767] = 1;
    const smem::Array<T> in(context, values);
    for (const std::size_t first : {0, 3}) {
      for (const std::size_t count : {std::size_t{127}, std::size_t{128}, std::size_t{32768}, most - 3}) {
        CAPTURE(first);
        CAPTURE(count);
        std::int64_t sum = 0;
        for (std::size_t i = first; i < first + count; ++i)
          sum += values[i];
        CHECK(static_cast<std::int64_t>(smem::sum(context, in.vector(first, count))) == sum);
        if (!context.device().fp64) continue;
        CHECK(smem::mean(context, in.vector(first, count)) ==
              doctest::Approx(static_cast<double>(sum) / static_cast<double>(count)));
      }
    }
  }
}

}  // namespace

TEST_CASE("reduce numbers: sums of many extreme integers of 8 and 16 bits") {
  const smem::Context context;
  sums_of_extremes<std::int8_t>(context);
  sums_of_extremes<std::uint8_t>(context);
  sums_of_extremes<std::int16_t>(context);
  sums_of_extremes<std::uint16_t>(context);
}

TEST_CASE("reduce numbers: the same bits in every run") {
  const smem::Context context;
  // Sixteen parts on a CPU of two cores, some hundred on a GPU.
  const smem::Array<float> in(context, test::random_floats(is_cpu(context) ? 300007 : 2000003, 11));
  for_reductions(context, [&](const smem::CallOptions& options) {
    for (const FloatMode mode : {FloatMode::reproducible, FloatMode::compensated}) {
      const auto first = std::bit_cast<std::uint32_t>(smem::sum(context, in, mode, options));
      std::size_t different = 0;
      for (int run = 0; run < 20; ++run)
        different += std::bit_cast<std::uint32_t>(smem::sum(context, in, mode, options)) != first;
      CHECK(different == 0);
    }
    const auto norm = std::bit_cast<std::uint32_t>(smem::norm(context, in, options));
    CHECK(std::bit_cast<std::uint32_t>(smem::norm(context, in, options)) == norm);
  });
}

TEST_CASE("reduce numbers: work-groups that hand over do so in every run") {
  const smem::Context context;
  test::Random random(12);
  const int runs = is_cpu(context) ? 60 : 200;  // few of its groups run at once
  for_reductions(context, [&](const smem::CallOptions& options) {
    std::size_t wrong = 0;
    for (int run = 0; run < runs; ++run) {
      // The least is in any part, twice in the same or in another; what was left by the run before is wrong.
      std::vector<float> values(70001, 1.0F);
      const std::size_t place = random.between(0, values.size() - 1);
      const std::size_t again = random.between(place, values.size() - 1);
      values[place] = values[again] = -static_cast<float>(run);
      const smem::Array<float> in(context, values);
      wrong += run > 0 && smem::argmin(context, in, options) != place;
      const int ones = 70001 - (again == place ? 1 : 2);
      wrong += smem::sum(context, in, FloatMode::reproducible, options) !=
               static_cast<float>(ones - run * (70001 - ones));
    }
    CHECK(wrong == 0);
  });
}

TEST_CASE("reduce numbers: NaNs are left out of min and max, and infinities are not") {
  const smem::Context context;
  std::vector<float> values(5000, kNan);
  const smem::Array<float> nothing(context, values);
  values[4000] = 2;
  values[4100] = -kFloatInfinity;
  values[4200] = -kFloatInfinity;
  values[4900] = 2;
  const smem::Array<float> some(context, values);
  for_reductions(context, [&](const smem::CallOptions& options) {
    CHECK(std::isnan(smem::min(context, nothing, options)));
    CHECK(std::isnan(smem::max(context, nothing, options)));
    CHECK(std::isnan(smem::minmax(context, nothing, options).second));
    CHECK(smem::argmin(context, nothing, options) == 0);
    CHECK(smem::min(context, some, options) == -kFloatInfinity);
    CHECK(smem::max(context, some, options) == 2);
    CHECK(smem::argmin(context, some, options) == 4100);
    CHECK(smem::argmax(context, some, options) == 4000);
    CHECK(std::isnan(smem::sum(context, some, FloatMode::compensated, options)));
  });
  // No number is less than an infinity, and yet the first one is found.
  for (std::size_t i = 100; i < values.size(); ++i)
    values[i] = kFloatInfinity;
  const smem::Array<float> high(context, values);
  for (std::size_t i = 100; i < values.size(); ++i)
    values[i] = -kFloatInfinity;
  const smem::Array<float> low(context, values);
  for_reductions(context, [&](const smem::CallOptions& options) {
    CHECK(smem::argmin(context, high, options) == 100);
    CHECK(smem::argmax(context, low, options) == 100);
  });
  const smem::Array<float> infinite(context, {1, kFloatInfinity, 2});
  CHECK(smem::sum(context, infinite, FloatMode::compensated) == kFloatInfinity);
  CHECK(smem::norm(context, infinite) == kFloatInfinity);
  CHECK(smem::argmax(context, infinite) == 1);
}

TEST_CASE("reduce numbers: squares of a norm neither overflow nor vanish") {
  const smem::Context context;
  const auto is_near = [](double got, double expected, double error) {
    return std::abs(got - expected) <= error * expected;
  };
  for (const float scale : {1e30F, 1e-30F, 1.0F, 1e15F, 1e-19F}) {
    CAPTURE(scale);
    const smem::Array<float> in(context, std::vector<float>(10000, scale));
    CHECK(is_near(smem::norm(context, in), 100.0 * scale, 1e-5));
  }
  // All three ranges at once, and denormal numbers alone.
  CHECK(is_near(smem::norm(context, smem::Array<float>(context, {3e30F, 1.0F, 1e-30F, 4e30F})), 5e30, 1e-6));
  CHECK(is_near(smem::norm(context, smem::Array<float>(context, {3e13F, 4e13F, 1.0F})), 5e13, 1e-6));
  CHECK(is_near(smem::norm(context, smem::Array<float>(context, {3e-42F, 4e-42F})), 5e-42, 1e-3));
  if (context.device().fp64) {
    CHECK(is_near(smem::norm(context, smem::Array<double>(context, {3e300, 4e300})), 5e300, 1e-14));
    CHECK(is_near(smem::norm(context, smem::Array<double>(context, {3e-310, 4e-310})), 5e-310, 1e-12));
    CHECK(smem::norm(context, smem::Array<int>(context, {3, -4})) == 5.0);
  }
}

TEST_CASE("reduce numbers: dot products") {
  const smem::Context context;
  test::Random random(13);
  for (const std::size_t size : {0, 1, 255, 4097, 100003}) {
    std::vector<int> a(size + 8), b(size + 8);
    std::vector<float> x(size + 8), y(size + 8);
    for (std::size_t i = 0; i < a.size(); ++i) {
      a[i] = static_cast<int>(random.next());
      b[i] = static_cast<int>(random.next());
      x[i] = static_cast<float>(random.between(0, 4)) - 2;
      y[i] = static_cast<float>(random.between(0, 4)) - 2;
    }
    // Both aligned, neither, and each differently; of short vectors one that is not, as each is a program.
    using Places = std::vector<std::pair<std::size_t, std::size_t>>;
    const Places places = size > 4097 ? Places{{0, 0}, {1, 5}, {3, 2}} : Places{{1, 5}};
    const smem::Array<int> ints_a(context, a), ints_b(context, b);
    const smem::Array<float> floats_x(context, x), floats_y(context, y);
    const auto check = [&](const smem::CallOptions& options) {
      for (const auto& [first_a, first_b] : places) {
        std::uint64_t integer = 0;
        double real = 0;
        for (std::size_t i = 0; i < size; ++i) {
          integer += static_cast<std::uint64_t>(std::int64_t{a[first_a + i]} * b[first_b + i]);
          real += static_cast<double>(x[first_a + i]) * static_cast<double>(y[first_b + i]);
        }
        CHECK(smem::dot(context, ints_a.vector(first_a, size), ints_b.vector(first_b, size),
                        FloatMode::reproducible, options) == static_cast<std::int64_t>(integer));
        for (const FloatMode mode : {FloatMode::reproducible, FloatMode::compensated}) {
          CHECK(smem::dot(context, floats_x.vector(first_a, size), floats_y.vector(first_b, size), mode,
                          options) == static_cast<float>(real));
        }
      }
    };
    for_reductions(context, check);
    if (size <= 255) check({.variant = "short"});
  }
  // The products' rounding errors are carried along too.
  const float e = 1 + 0x1p-12F;
  const smem::Array<float> p(context, {e, -1.0F, 0.0F}), q(context, {e, 1 + 0x1p-11F, 0.0F});
  CHECK(smem::dot(context, p, q, FloatMode::compensated) == 0x1p-24F);
  CHECK(smem::dot(context, p, q) == 0);
}

TEST_CASE("reduce numbers: a caller's own operation") {
  const smem::Context context;
  test::Random random(14);
  std::vector<int> values(50021);
  for (int& value : values)
    value = static_cast<int>(random.next());
  unsigned parity = 0;
  int largest = 0;  // of the magnitudes, as far as int goes
  for (const int value : values) {
    parity ^= static_cast<unsigned>(value);
    largest = std::max(largest, value == std::numeric_limits<int>::min() ? 0 : std::abs(value));
  }
  const smem::Array<int> in(context, values);
  const Reduction exclusive_or = Reduction::commutative("a ^ b", "0");
  const Reduction magnitude =
      Reduction::commutative("(int)max(abs(a), abs(b)) < 0 ? 0 :\n  (int)max(abs(a), abs(b))", "0");
  for_reductions(context, [&](const smem::CallOptions& options) {
    CHECK(smem::reduce(context, in, exclusive_or, options) == static_cast<int>(parity));
    if (largest != std::numeric_limits<int>::min()) CHECK(smem::reduce(context, in, magnitude, options) >= 0);
  });
  CHECK(smem::reduce(context, smem::VectorView<int>(in.buffer(), 0), exclusive_or) == 0);
  const smem::Array<smem::half> halves(context, {smem::half(1.5F), smem::half(-4.0F), smem::half(2.0F)});
  CHECK(static_cast<float>(
            smem::reduce(context, halves, Reduction::custom("fabs(a) > fabs(b) ? a : b", "0.0f"))) == -4.0F);
  // Two expressions of one length are two programs.
  CHECK(smem::reduce(context, smem::Array<int>(context, {6, 3}), Reduction::custom("a | b", "0")) == 7);
  CHECK(smem::reduce(context, smem::Array<int>(context, {6, 3}), Reduction::custom("a & b", "~0")) == 2);
  CHECK(smem::reduce(context, smem::Array<int>(context, {6, 3}), Reduction::custom("a ^ b", "0")) == 5);
}

TEST_CASE("reduce numbers: a caller's own operation need not be commutative") {
  const std::vector<std::uint32_t> maps = test::random_maps(300007);
  const Reduction composition = test::composition();
  for (const char* limits : {"", "work_group=32"}) {
    const test::Variable clamp("SMEM_CLAMP", limits);
    const smem::Context context;
    const smem::Array<std::uint32_t> in(context, maps);
    for (const char* variant : {"several", "cpu"}) {
      if (variant == std::string("cpu") && !test::has_cpu_variant(context.device())) continue;
      CAPTURE(limits);
      CAPTURE(variant);
      const smem::CallOptions options{.variant = variant};
      for (const std::size_t size : {0, 1, 2, 63, 1000, 20001, 300000}) {
        CAPTURE(size);
        const smem::VectorView<const std::uint32_t> odd(in.buffer(), size, 3);
        CHECK(smem::reduce(context, odd, composition, options) == test::composed(maps, 3, size, 1));
      }
      // Few long rows, in parts, and many short ones, which share work-groups; columns alike.
      for (const auto& [rows, cols] :
           {std::pair<std::size_t, std::size_t>{2, 140003}, {1201, 67}, {4001, 3}}) {
        CAPTURE(rows);
        const auto matrix = in.matrix(rows, cols, {.offset = 1});
        const smem::Array<std::uint32_t> by_row(context, smem::Count{rows}),
            by_column(context, smem::Count{cols});
        smem::reduce_rows(context, matrix, by_row.vector(), composition, options);
        bool has_columns = true;  // PoCL 5 breaks them in small work-groups
        try {
          smem::reduce_columns(context, matrix, by_column.vector(), composition, options);
        } catch (const smem::Error& error) {
          CHECK(error.details().argument == "variant");
          CHECK_FALSE(context.device().broken.empty());
          has_columns = false;
        }
        const std::vector<std::uint32_t> of_rows = by_row.to_host(), of_columns = by_column.to_host();
        std::size_t wrong = 0;
        for (std::size_t r = 0; r < rows; ++r)
          wrong += of_rows[r] != test::composed(maps, 1 + r * cols, cols, 1);
        for (std::size_t c = 0; has_columns && c < cols; ++c)
          wrong += of_columns[c] != test::composed(maps, 1 + c, rows, cols);
        CHECK(wrong == 0);
      }
      const smem::Array<std::uint32_t> offsets(context, {0, 1, 1, 5000, 300007}),
          segments(context, smem::Count{4});
      smem::reduce_segments(context, in.vector(), offsets.vector(), segments.vector(), composition, options);
      CHECK(segments.to_host() == std::vector<std::uint32_t>{maps[0], 0x10000,
                                                             test::composed(maps, 1, 4999, 1),
                                                             test::composed(maps, 5000, 295007, 1)});
    }
    // What combines in an order of its own is not chosen, and refused.
    smem::ReduceProblem problem;
    problem.reduction = composition;
    problem.in = problem.out = smem::Scalar::uint32;
    problem.cols = 1000;
    for (const char* variant : {"sequential", "shuffle"})
      CHECK(test::failure_of([&] {
              smem::plan_reduce(context.device(), problem, {.variant = std::string(variant)});
            }).argument == "variant");
  }
}

TEST_CASE("reduce numbers: the blocking functions") {
  const smem::Context context;
  const smem::Array<std::int8_t> bytes(context, std::vector<std::int8_t>(100000, 127));
  CHECK(smem::sum(context, bytes) == 12700000);
  CHECK(smem::sum<std::int8_t>(context, bytes) == static_cast<std::int8_t>(12700000));
  CHECK(smem::sum<std::uint32_t>(context, bytes) == 12700000);
  CHECK(smem::product(context, smem::Array<int>(context, {3, -5, 7})) == -105);
  CHECK(smem::max(context, bytes.vector(10, 20)) == 127);
  CHECK(smem::mean<float>(context, smem::Array<int>(context, {1, 2, -6})) == -1.0F);
  CHECK(smem::any(context, bytes));
  CHECK(!smem::any(context, smem::Array<float>(context, {0.0F, -0.0F})));
  CHECK(smem::any(context, smem::Array<float>(context, {0.0F, kNan})));
  CHECK(smem::all(context, smem::Array<smem::half>(context, {smem::half(1.0F), smem::half(kNan)})));
  const auto [least, greatest] = smem::minmax(context, smem::Array<std::uint64_t>(context, {7, ~0ULL, 9}));
  CHECK(least == 7);
  CHECK(greatest == ~0ULL);
  CHECK(smem::reduce(context, smem::Array<unsigned>(context, {12, 10}), ReduceOp::bit_and) == 8);
  // Of nothing.
  const smem::VectorView<float> none(cl::Buffer(), 0);
  CHECK(smem::sum(context, none) == 0);
  CHECK(smem::product(context, none) == 1);
  CHECK(std::isnan(smem::min(context, none)));
  CHECK(std::isnan(smem::mean(context, none)));
  CHECK(smem::norm(context, none) == 0);
  CHECK(!smem::any(context, none));
  CHECK(smem::all(context, none));
  CHECK(smem::min(context, smem::VectorView<std::int16_t>(cl::Buffer(), 0)) == 32767);
  CHECK(smem::dot(context, none, none) == 0);
}

TEST_CASE(
    "reduce numbers: extremes of halves, of both signs, among NaNs, infinities and zeros of both signs") {
  const smem::Context context;
  std::vector<smem::half> values(30011);
  for (const float offset : {-900.0F, 0.0F, 900.0F}) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::size_t kind = i * 2654435761U >> 7U & 31U;
      const float number = offset + static_cast<float>(i * 40503 % 1601) - 800;
      values[i] = smem::half(kind == 0   ? kNan
                             : kind == 1 ? -kNan
                             : kind == 2 ? -0.0F
                             : kind == 3 ? 0.0F
                                         : number);
    }
    values[25000] = smem::half(kFloatInfinity);
    values[26000] = smem::half(-kFloatInfinity);
    const smem::Array<smem::half> in(context, values);
    for (const auto& [first, size] : {std::pair<std::size_t, std::size_t>{5, 3},
                                      {1, 17},
                                      {2, 64},
                                      {3, 300},
                                      {7, 4001},
                                      {1, 20001},
                                      {0, 30011}}) {
      CAPTURE(first);
      CAPTURE(size);
      std::size_t least = size, greatest = size;
      const auto at = [&, from = first](std::size_t i) { return static_cast<float>(values[from + i]); };
      for (std::size_t i = 0; i < size; ++i) {
        if (std::isnan(at(i))) continue;
        if (least == size || at(i) < at(least)) least = i;
        if (greatest == size || at(i) > at(greatest)) greatest = i;
      }
      REQUIRE(least < size);
      CHECK(smem::argmin(context, in.vector(first, size)) == least);
      CHECK(smem::argmax(context, in.vector(first, size)) == greatest);
      CHECK(static_cast<float>(smem::min(context, in.vector(first, size))) == at(least));
      CHECK(static_cast<float>(smem::max(context, in.vector(first, size))) == at(greatest));
      const auto both = smem::minmax(context, in.vector(first, size));
      CHECK(static_cast<float>(both.first) == at(least));
      CHECK(static_cast<float>(both.second) == at(greatest));
    }
  }
  std::vector<smem::half> zeros(3000, smem::half(0.0F));
  for (std::size_t i = 0; i < zeros.size(); i += 3)
    zeros[i] = smem::half(-0.0F);
  const smem::Array<smem::half> equal(context, zeros);
  for (const std::size_t first : {0, 1}) {
    for (const std::size_t size : {3, 7, 100, 2900}) {
      CHECK(smem::argmin(context, equal.vector(first, size)) == 0);
      CHECK(smem::argmax(context, equal.vector(first, size)) == 0);
    }
  }
  const smem::Array<smem::half> nothing(context, std::vector<smem::half>(6000, smem::half(kNan)));
  for (const std::size_t size : {5, 100, 6000}) {
    CHECK(std::isnan(static_cast<float>(smem::min(context, nothing.vector(0, size)))));
    CHECK(std::isnan(static_cast<float>(smem::max(context, nothing.vector(0, size)))));
    CHECK(std::isnan(static_cast<float>(smem::minmax(context, nothing.vector(0, size)).first)));
    CHECK(smem::argmax(context, nothing.vector(0, size)) == 0);
  }
}

TEST_CASE("reduce numbers: half results are rounded once") {
  const smem::Context context;
  const smem::Array<smem::half> in(context, std::vector<smem::half>(2049, smem::half(1.0F)));
  CHECK(static_cast<float>(smem::sum<smem::half>(context, in)) == 2048.0F);
  CHECK(smem::sum(context, in) == 2049.0F);
  CHECK(static_cast<float>(smem::sum<smem::half>(context, smem::Array<float>(context, {40000, 40000}))) ==
        kFloatInfinity);
}
