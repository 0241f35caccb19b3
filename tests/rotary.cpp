// rotary: every variant and type against plain loops.
#include <smem/smem.hpp>

#include "operations/data.hpp"
#include "support/case_sweep.hpp"
#include "support/environment.hpp"
#include "support/failure.hpp"
#include "support/level.hpp"
#include "support/random_cases.hpp"
#include "support/targets.hpp"
#include "support/variants.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

using smem::RotaryPairs;
using smem::Scalar;
using smem::operations::HostArray;

namespace {

enum class Positions { none, shared, own };

struct RotaryCase {
  Scalar type = Scalar::float32;
  RotaryPairs pairs = RotaryPairs::halves;
  std::size_t rows = 1, heads = 1, head_size = 8, rotated = 0, batch = 1;
  Positions positions = Positions::none;
  std::int64_t first_position = 0;
  double base = 10000, scale = 1;
  bool gaps = false, in_place = false;
  std::string variant = {};
  std::size_t work_items = 0;  ///< fixed, where it is not 0

  std::size_t cols() const { return heads * head_size; }
  test::Tested tested() const { return {"rotary", variant, std::string(name_of(type))}; }
  std::string text() const {
    return fmt::format(
        "{} of {} x {} x {}, {}, {}, rotated {}, positions {}, first {}, base {}, scale {}{}{}, variant "
        "\"{}\", {} work-items",
        batch, rows, heads, head_size, name_of(type), name_of(pairs), rotated, static_cast<int>(positions),
        first_position, base, scale, gaps ? ", gaps" : "", in_place ? ", in place" : "", variant, work_items);
  }
};

smem::Extent extent_of(const RotaryCase& c, std::size_t offset, std::size_t gap) {
  if (!c.gaps) return {.batch = c.batch};
  return {.offset = offset,
          .pitch = c.cols() + gap,
          .batch = c.batch,
          .batch_stride = c.rows * (c.cols() + gap) + 5};
}

std::size_t place_of(const smem::ConstMatrix& view, std::size_t row, std::size_t i) {
  return view.offset + row / view.rows * view.batch_stride + row % view.rows * view.pitch + i;
}

/// The results of a head, in double.
struct Rotated {
  double value, tolerance;
};
std::vector<Rotated> rotated_head(const RotaryCase& c, const std::vector<double>& head, double position) {
  const std::size_t rotated = c.rotated == 0 ? c.head_size : c.rotated;
  std::vector<Rotated> results;
  for (const double v : head)
    results.push_back({v, 0});
  const double rounding = c.type == Scalar::half ? 0x1p-11 : c.type == Scalar::bfloat16 ? 0x1p-8 : 0;
  for (std::size_t k = 0; k < rotated / 2; ++k) {
    const bool halves = c.pairs == RotaryPairs::halves;
    const std::size_t one = halves ? k : 2 * k, two = halves ? k + rotated / 2 : 2 * k + 1;
    const long double exponent = -2.0L * static_cast<long double>(k) / static_cast<long double>(rotated);
    const long double angle = static_cast<long double>(c.scale) * static_cast<long double>(position) *
                              std::pow(static_cast<long double>(c.base), exponent);
    const auto cosine = static_cast<double>(std::cos(angle)), sine = static_cast<double>(std::sin(angle));
    const double x = head[one], y = head[two], size = std::abs(x) + std::abs(y);
    for (const auto& [i, value] : {std::pair{one, x * cosine - y * sine}, {two, y * cosine + x * sine}})
      results[i] = {value, std::abs(value) * rounding + size * 1e-6 + (rounding != 0 ? 0x1p-24 : 0)};
  }
  return results;
}

/// The views and arrays of a case.
struct Arrays {
  smem::ConstMatrix in;
  smem::Matrix out;
  HostArray from, to;
  std::vector<int> positions;

  Arrays(const RotaryCase& c, test::Random& random)
      : in(nullptr, c.type, c.rows, c.cols(), extent_of(c, 3, 5)),
        out(nullptr, c.type, c.rows, c.cols(), c.in_place ? extent_of(c, 3, 5) : extent_of(c, 2, 1)) {
    const auto bytes_of = [](const smem::ConstMatrix& view) {
      return (place_of(view, view.rows * view.batch - 1, view.cols) + 3) * view.type.bytes;
    };
    from = {c.type, std::vector<unsigned char>(bytes_of(in))};
    to = {c.type, std::vector<unsigned char>(bytes_of(out), 0x5a)};
    for (std::size_t i = 0; i < from.size(); ++i)
      from.set(i, std::nan(""));  // gaps do not reach results
    const std::size_t rows = c.rows * c.batch;
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t i = 0; i < c.cols(); ++i)
        from.set(place_of(in, r, i), static_cast<double>(random.between(0, 4000)) / 512 - 4);
    for (std::size_t r = 0; r < (c.positions == Positions::own ? rows : c.rows); ++r)
      positions.push_back(static_cast<int>(random.between(0, 1 << 21)) - (1 << 20));
    if (c.in_place) to = from;
  }
  double position(const RotaryCase& c, std::size_t row) const {
    if (c.positions == Positions::own) return positions[row];
    if (c.positions == Positions::shared) return positions[row % c.rows];
    return static_cast<double>(c.first_position) + static_cast<double>(row % c.rows);
  }
};

test::Outcome run(const smem::Context& context, const RotaryCase& c, test::Random& random) {
  Arrays a(c, random);
  const smem::Array<unsigned char> in(context, a.from.bytes);
  const smem::Array<unsigned char> out = c.in_place ? in : smem::Array<unsigned char>(context, a.to.bytes);
  constexpr std::size_t kBefore = 3;  // numbers before the positions, which are not theirs
  std::vector<int> numbers(kBefore, 1 << 30);
  numbers.insert(numbers.end(), a.positions.begin(), a.positions.end());
  const smem::Array<int> positions(context, numbers);
  a.in.buffer = in.buffer()();
  a.out.buffer = out.buffer()();
  smem::Rotary what{.head_size = c.heads == 1 ? 0 : c.head_size,
                    .rotated = c.rotated,
                    .pairs = c.pairs,
                    .base = c.base,
                    .scale = c.scale,
                    .first_position = c.first_position};
  if (c.positions != Positions::none) what.positions = positions.vector(kBefore, a.positions.size());
  const smem::PlanOverrides fixed{.variant = c.variant, .work_items = c.work_items};
  try {
    smem::rotary(context, a.in, a.out, what, {.overrides = &fixed});
  } catch (const smem::Error& error) {
    if (error.details().argument == "variant" && !c.variant.empty()) return test::refusal(error);
    return {false, fmt::format("the call failed: {}", error.what())};
  }
  const HostArray got{c.type, out.to_host()};
  std::vector<bool> is_result(got.size());
  for (std::size_t r = 0; r < c.rows * c.batch; ++r) {
    for (std::size_t h = 0; h < c.heads; ++h) {
      std::vector<double> head;
      for (std::size_t i = 0; i < c.head_size; ++i)
        head.push_back(a.from.number(place_of(a.in, r, h * c.head_size + i)));
      const std::vector<Rotated> wanted = rotated_head(c, head, a.position(c, r));
      for (std::size_t i = 0; i < c.head_size; ++i) {
        const std::size_t at = place_of(a.out, r, h * c.head_size + i);
        is_result[at] = true;
        if (!(std::abs(got.number(at) - wanted[i].value) <= wanted[i].tolerance))
          return {false, fmt::format("element {} of head {} of row {}: expected {}, got {}", i, h, r,
                                     wanted[i].value, got.number(at))};
      }
    }
  }
  const std::size_t bytes = size_of(c.type);
  for (std::size_t i = 0; i < got.bytes.size(); ++i)
    if (!is_result[i / bytes] && got.bytes[i] != a.to.bytes[i])
      return {false, fmt::format("element {} of the buffer, outside of the results, has changed", i / bytes)};
  if (!c.in_place && in.to_host() != a.from.bytes) return {false, "the input has changed"};
  return {};
}

using RotarySweep = test::CaseSweep<RotaryCase>;

}  // namespace

TEST_CASE("small: rotary" * doctest::test_suite("small")) {
  const smem::Context context;
  RotarySweep sweep(context);
  for (const std::string_view variant :
       test::tested_variants(context.device(), "rotary", smem::rotary_variants())) {
    CAPTURE(variant);
    RotaryCase c;
    c.variant = variant;
    c.rows = 5;
    c.heads = 3;
    c.head_size = 24;
    c.rotated = 16;
    c.gaps = true;
    sweep.run(c);
    CHECK(sweep.ran() == (test::always_runs(context.device(), variant) ? 1 : 0));
  }
}

TEST_CASE("rotary: every variant, type and pairing, in place and not") {
  const smem::Context context;
  RotarySweep sweep(context);
  for (const std::string_view variant : smem::rotary_variants()) {
    CAPTURE(variant);
    std::size_t turn = 0;
    for (const Scalar type : {Scalar::float32, Scalar::half, Scalar::bfloat16}) {
      for (const RotaryPairs pairs : {RotaryPairs::halves, RotaryPairs::neighbours}) {
        for (const bool in_place : {false, true}) {
          RotaryCase c;
          c.variant = variant;
          c.type = type;
          c.pairs = pairs;
          c.in_place = in_place;
          c.rows = 7;
          c.heads = 5;
          c.head_size = 48;
          const std::size_t number = turn / 2;
          c.rotated = (number + number / 2 + number / 4) % 2 == 0 ? 0 : 32;
          c.batch = 3;
          c.positions = static_cast<Positions>(turn % 3);
          c.first_position = 1000003;
          sweep.run(c);
          c.gaps = true;  // rows that begin anywhere
          sweep.run(c);
          turn += 2;
        }
      }
    }
    CHECK(sweep.ran() == (test::always_runs(context.device(), variant) ? turn : 0));
  }
}

TEST_CASE("rotary: heads of odd sizes, and one of two elements") {
  const smem::Context context;
  RotarySweep sweep(context);
  for (const std::string_view variant : smem::rotary_variants()) {
    for (const RotaryPairs pairs : {RotaryPairs::halves, RotaryPairs::neighbours}) {
      RotaryCase c;
      c.variant = variant;
      c.pairs = pairs;
      c.rows = 9;
      c.heads = 3;
      c.head_size = 15;
      c.rotated = 10;
      sweep.run(c);
      c.head_size = 2;
      c.rotated = 0;
      c.heads = 1;
      sweep.run(c);
    }
  }
  CHECK(sweep.ran() == (test::always_runs(context.device(), "cpu") ? 12 : 8));
}

TEST_CASE("rotary: angles are right at large positions, with other bases and scales") {
  const smem::Context context;
  RotarySweep sweep(context);
  for (const std::string_view variant : smem::rotary_variants()) {
    for (const std::int64_t first : {0L, (1L << 20) - 3, -(1L << 20), (1L << 31) - 9, -(1L << 31)}) {
      for (const double scale : {1.0, -1.0, 0.125}) {
        RotaryCase c;
        c.variant = variant;
        c.rows = 8;
        c.heads = 2;
        c.head_size = 64;
        c.first_position = first;
        c.scale = scale;
        c.base = scale == 1 ? 10000 : scale < 0 ? 500000 : 1;
        sweep.run(c);
      }
    }
  }
  CHECK(sweep.ran() == (test::always_runs(context.device(), "cpu") ? 45 : 30));
}

TEST_CASE("clamped: rotary on smaller devices") {
  for (const char* limits : {"local=512,work_group=64", "work_group=4", "work_group=1,compute_units=1"}) {
    CAPTURE(limits);
    const test::Variable clamp("SMEM_CLAMP", limits);
    const smem::Context context;
    RotarySweep sweep(context);
    for (const std::string_view variant : smem::rotary_variants()) {
      RotaryCase c;
      c.variant = variant;
      c.rows = 40;
      c.heads = 3;
      c.head_size = 24;
      sweep.run(c);
      CHECK(sweep.ran() == (test::always_runs(context.device(), variant) ? 1 : 0));
    }
  }
}

TEST_CASE("random: rotary") {
  const smem::Context context;
  test::run_random("rotary", 311, [&](test::Random& random) -> test::RandomCase {
    RotaryCase drawn;
    drawn.variant = test::some_variant(random, smem::rotary_variants());
    drawn.type = test::one_of(random, {Scalar::float32, Scalar::half, Scalar::bfloat16});
    drawn.pairs = random.chance(2) ? RotaryPairs::halves : RotaryPairs::neighbours;
    drawn.positions = static_cast<Positions>(random.between(0, 2));
    drawn.head_size = random.chance(3) ? 8 * random.between(1, 32) : random.between(2, 200);
    drawn.rotated = random.chance(2) ? 2 * random.between(1, drawn.head_size / 2) : drawn.head_size / 2 * 2;
    drawn.heads = random.between(1, 9);
    return [=, &context](test::Random& more, std::string& text) {
      RotaryCase c = drawn;
      c.rows = more.between(1, more.chance(3) ? 200 : 20);
      c.batch = more.chance(3) ? more.between(1, 3) : 1;
      c.first_position = static_cast<std::int64_t>(more.between(0, 1 << 22)) - (1 << 21);
      c.base = static_cast<double>(test::one_of(more, {1, 500, 10000, 500000}));
      c.scale = test::one_of(more, {1.0, 1.0, -1.0, 0.25});
      c.gaps = more.chance(2);
      c.in_place = more.chance(2);
      text = c.text();
      return run(context, c, more);
    };
  });
}

TEST_CASE("rotary: a negative scale undoes a rotation") {
  const smem::Context context;
  std::vector<float> host(6 * 128);
  for (std::size_t i = 0; i < host.size(); ++i)
    host[i] = static_cast<float>(i % 97) / 16;
  const smem::Array<float> a(context, host);
  smem::rotary(context, a.matrix(6, 128), a.matrix(6, 128), {.head_size = 64, .first_position = 777777});
  const std::vector<float> once = a.to_host();
  smem::rotary(context, a.matrix(6, 128), a.matrix(6, 128),
               {.head_size = 64, .scale = -1, .first_position = 777777});
  const std::vector<float> twice = a.to_host();
  double moved = 0, apart = 0;
  for (std::size_t i = 0; i < host.size(); ++i) {
    moved = std::max(moved, static_cast<double>(std::abs(once[i] - host[i])));
    apart = std::max(apart, static_cast<double>(std::abs(twice[i] - host[i])));
  }
  CHECK(moved > 1);
  CHECK(apart < 2e-5);
}

TEST_CASE("rotary: plans for devices that are not here") {
  const smem::RotaryProblem problem{
      .type = Scalar::half, .rows = 65536, .heads = 32, .head_size = 128, .rotated = 128};
  const smem::Plan plan = smem::plan_rotary(test::target("sm_90"), problem);
  CHECK(plan.variant == "shared");
  CHECK(plan.vector_width == 8);
  CHECK(plan.number("heads") == 8);
  CHECK(smem::plan_rotary(test::target("cpu"), problem).variant == "cpu");
  // One token: its heads are spread over work-items.
  smem::RotaryProblem one = problem;
  one.rows = 1;
  CHECK(smem::plan_rotary(test::target("sm_90"), one).number("heads") == 1);
  // Vectors divide halves, and begin where rows are aligned.
  smem::RotaryProblem odd = problem;
  odd.head_size = odd.rotated = 20;
  CHECK(smem::plan_rotary(test::target("sm_90"), odd).vector_width == 2);
  odd = problem;
  odd.row_alignment = 4;
  CHECK(smem::plan_rotary(test::target("sm_90"), odd).vector_width == 2);
}

TEST_CASE("bad input of rotary") {
  const smem::Context context, other;
  const std::vector<float> poison(240, 7.0F);
  const smem::Array<float> in(context, std::vector<float>(240, 1.0F)), out(context, poison);
  const smem::Array<double> doubles(context, std::vector<double>(240, 1.0));
  const smem::Array<int> positions(context, std::vector<int>(20, 1)), foreign(other, std::vector<int>(20, 1));
  const smem::Matrix from = in.matrix(10, 24), to = out.matrix(10, 24);
  const auto fails = [&](const smem::ConstMatrix& a, const smem::Matrix& b, const smem::Rotary& what = {},
                         const char* variant = "") {
    const auto error = test::failure_of([&] { smem::rotary(context, a, b, what, {.variant = variant}); });
    CHECK(error.operation == "rotary");
    return error.argument;
  };
  const auto fails_with = [&](const smem::Rotary& what) { return fails(from, to, what); };
  CHECK(fails(from, out.matrix(24, 10)) == "out");
  CHECK(fails(from, out.matrix(5, 24, {.batch = 2})) == "out");
  CHECK(fails(doubles.matrix(10, 24), doubles.matrix(10, 24)) == "in");
  CHECK(fails(from, doubles.matrix(10, 24)) == "out");
  CHECK(fails(in.matrix(11, 24), out.matrix(11, 24)) == "in");
  CHECK(fails(in.matrix(9, 24), in.matrix(9, 24, {.offset = 24})) == "out");  // moved by a row
  CHECK(fails(from, to, {}, "nosuch") == "variant");
  CHECK(fails(in.matrix(10, 23), out.matrix(10, 23)) == "rotated");  // an odd head
  CHECK(fails_with({.head_size = 7}) == "head_size");
  CHECK(fails_with({.head_size = 48}) == "head_size");
  CHECK(fails_with({.head_size = 12, .rotated = 5}) == "rotated");
  CHECK(fails_with({.head_size = 12, .rotated = 14}) == "rotated");
  CHECK(fails_with({.pairs = static_cast<RotaryPairs>(2)}) == "pairs");
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double base : {0.0, 0.5, -1.0, std::nan(""), infinity})
    CHECK(fails_with({.base = base}) == "base");
  for (const double scale : {1025.0, -1025.0, std::nan(""), infinity})
    CHECK(fails_with({.scale = scale}) == "scale");
  CHECK(fails_with({.first_position = (std::int64_t{1} << 31) + 1}) == "first_position");
  CHECK(fails_with({.first_position = std::numeric_limits<std::int64_t>::min()}) == "first_position");
  CHECK(fails_with({.positions = positions.vector(0, 9)}) == "positions");
  CHECK(fails_with({.positions = positions.vector(15, 10)}) == "positions");
  CHECK(fails_with({.positions = in.vector(0, 10)}) == "positions");
  CHECK(fails_with({.positions = foreign.vector(0, 10)}) == "positions");
  const smem::ConstVector in_out(out.buffer()(), Scalar::int32, 10);
  CHECK(fails_with({.positions = in_out}) == "out");
  smem::Matrix longest = from, longest_out = to;
  longest.cols = longest.pitch = longest_out.cols = longest_out.pitch = std::size_t{1} << 31;
  CHECK(fails(longest, longest_out, {.head_size = 64}) == "in");
  CHECK(out.to_host() == poison);
  // Of nothing.
  CHECK(smem::rotary(context, in.matrix(0, 24), out.matrix(0, 24))() != nullptr);
  CHECK(smem::rotary(context, in.matrix(10, 0), out.matrix(10, 0))() != nullptr);
  CHECK(out.to_host() == poison);
}
