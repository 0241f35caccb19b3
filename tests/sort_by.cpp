// Sorts by a caller's comparison, beside std::stable_sort; and comparisons that are no order.
#include "support/environment.hpp"
#include "support/failure.hpp"
#include "support/level.hpp"
#include "support/sorts.hpp"
#include "support/variants.hpp"

#include <smem/smem.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

using smem::Scalar;
using test::Keys;

namespace {

/// sort_by(), without writes outside of the views.
template <class T>
std::vector<T> sorted_by(const smem::Context& context, const std::vector<T>& elements,
                         const smem::Comparison& order, std::string_view variant, bool in_place = false) {
  const test::Fenced<T> in(context, elements, 1), out(context, std::vector<T>(elements.size()), 2);
  const test::Fenced<T>& result = in_place ? in : out;
  const smem::ElementType type = smem::element_of<T>;
  smem::sort_by(context, smem::Vector(in.buffer()(), type, elements.size(), 1),
                smem::Vector(result.buffer()(), type, elements.size(), result.offset()), order,
                {.variant = variant});
  std::vector<T> got = result.elements();
  if (!in_place) {
    const std::vector<T> kept = in.elements();
    CHECK((kept.empty() || std::memcmp(kept.data(), elements.data(), kept.size() * sizeof(T)) == 0));
  }
  return got;
}

using Pair = std::array<std::int32_t, 2>;
using Four = std::array<float, 4>;

/// Sizes around work-items' parts, tiles and blocks.
constexpr std::size_t kSizes[] = {0, 1, 2, 15, 16, 17, 777, 3839, 3840, 3841, 16384, 16385, 50021, 70001};

}  // namespace

TEST_CASE("small: sort by a comparison" * doctest::test_suite("small")) {
  const smem::Context context;
  for (const std::string_view variant :
       test::tested_variants(context.device(), "sort_by", smem::sort_by_variants())) {
    if (!test::always_runs(context.device(), variant)) continue;
    CAPTURE(variant);
    const std::vector<std::uint32_t> keys = test::make_keys<std::uint32_t>(Keys::small, 5003, 1);
    std::vector<std::uint32_t> wanted = keys;
    std::stable_sort(wanted.begin(), wanted.end());
    CHECK(sorted_by(context, keys, {.precedes = "a < b"}, variant) == wanted);
  }
}

TEST_CASE("sort_by: every variant, numbers and vectors, equal elements in their order") {
  const smem::Context context;
  std::size_t turn = 0;
  for (const std::string_view variant : smem::sort_by_variants()) {
    if (!test::always_runs(context.device(), variant)) continue;
    CAPTURE(variant);
    for (const std::size_t size : kSizes) {
      CAPTURE(size);
      test::Random random(size);
      std::vector<Pair> pairs(size);
      for (std::size_t i = 0; i < size; ++i)
        pairs[i] = {static_cast<std::int32_t>(random.next() % 50) - 25, static_cast<std::int32_t>(i)};
      std::vector<Pair> wanted = pairs;
      std::stable_sort(wanted.begin(), wanted.end(),
                       [](const Pair& a, const Pair& b) { return a[0] < b[0]; });
      CHECK(sorted_by(context, pairs, {.precedes = "a.x < b.x", .type = "int2"}, variant, turn++ % 2 == 0) ==
            wanted);
      const std::vector<float> numbers = test::make_keys<float>(Keys::small, size, 3);
      std::vector<float> down = numbers;
      std::stable_sort(down.begin(), down.end(), [](float a, float b) { return a > b; });
      CHECK(sorted_by(context, numbers, {.precedes = "a > b"}, variant, turn % 2 == 0) == down);
    }
    for (const Keys kind : {Keys::equal, Keys::sorted, Keys::reversed, Keys::two, Keys::zipf}) {
      const std::vector<std::uint8_t> bytes = test::make_keys<std::uint8_t>(kind, 9001, 1);
      std::vector<std::uint8_t> wanted = bytes;
      std::stable_sort(wanted.begin(), wanted.end());
      CHECK(sorted_by(context, bytes, {.precedes = "a < b"}, variant) == wanted);
    }
    // By a sum, as functions of OpenCL C and all parts of an element can be used.
    test::Random random(5);
    std::vector<Four> fours(9001);
    for (Four& four : fours)
      for (float& number : four)
        number = static_cast<float>(random.next() % 100);
    std::vector<Four> wanted = fours;
    const auto length = [](const Four& f) { return f[0] * f[0] + f[1] * f[1] + f[2] * f[2] + f[3] * f[3]; };
    std::stable_sort(wanted.begin(), wanted.end(),
                     [&](const Four& a, const Four& b) { return length(a) < length(b); });
    CHECK(sorted_by(context, fours, {.precedes = "dot(a, a) < dot(b, b)", .type = "float4"}, variant) ==
          wanted);
  }
}

TEST_CASE("random: sorts by a comparison") {
  const smem::Context context;
  test::run_random("sort_by", 304, [&](test::Random& random) -> test::RandomCase {
    const std::size_t comparison = random.between(0, 5);
    const std::string variant = test::some_variant(random, smem::sort_by_variants());
    return [=, &context](test::Random& more, std::string& text) {
      const std::size_t size = test::random_length(more);
      const Keys kind = test::one_of(more, test::kKeys);
      const bool in_place = more.chance(2);
      test::Outcome outcome;
      const auto check = [&](auto elements, const smem::Comparison& order, const auto& precedes) {
        text = fmt::format("{} elements, kind {}, {}{}, \"{}\"", size, static_cast<int>(kind), order.precedes,
                           in_place ? ", in place" : "", variant);
        auto wanted = elements;
        std::stable_sort(wanted.begin(), wanted.end(), precedes);
        try {
          const auto got =
              sorted_by(context, elements, order, variant, in_place);  // CHECK would take its errors
          CHECK(got == wanted);
        } catch (const smem::Error& error) {
          CHECK_MESSAGE(error.details().argument == "variant", std::string(error.what()));
          outcome = test::refusal(error);
        }
      };
      const auto keys = [&](auto zero) { return test::make_keys<decltype(zero)>(kind, size, more.next()); };
      const auto halves = [&] {  // of few first parts, so that many are equivalent
        std::vector<Pair> pairs(size);
        for (std::size_t i = 0; i < size; ++i)
          pairs[i] = {static_cast<std::int32_t>(more.between(0, 200)) - 100, static_cast<std::int32_t>(i)};
        return pairs;
      };
      const auto ascending = [](auto a, auto b) { return a < b; };
      switch (comparison) {
        case 0:
          check(keys(std::uint32_t{}), {.precedes = "a < b"}, ascending);
          break;
        case 1:
          check(keys(std::int64_t{}), {.precedes = "a > b"}, [](auto a, auto b) { return a > b; });
          break;
        case 2:
          check(keys(std::uint8_t{}), {.precedes = "a % 16 < b % 16"},
                [](auto a, auto b) { return a % 16 < b % 16; });
          break;
        case 3:
          check(keys(std::int16_t{}), {.precedes = "a < b"}, ascending);
          break;
        case 4:
          check(halves(), {.precedes = "a.x < b.x", .type = "int2"},
                [](const Pair& a, const Pair& b) { return a[0] < b[0]; });
          break;
        default:
          check(halves(), {.precedes = "a.x != b.x ? a.x > b.x : a.y > b.y", .type = "int2"},
                [](const Pair& a, const Pair& b) { return a[0] != b[0] ? a[0] > b[0] : a[1] > b[1]; });
      }
      return outcome;
    };
  });
}

TEST_CASE("sort_by: comparisons that are no order end, and stay inside of the views") {
  const smem::Context context;
  for (const std::string_view variant : smem::sort_by_variants()) {
    if (!test::always_runs(context.device(), variant)) continue;
    CAPTURE(variant);
    for (const char* comparison : {"1", "a * 2654435761u < b * 40503u + a", "(a ^ b) & 1"}) {
      CAPTURE(comparison);
      std::vector<std::uint32_t> keys = test::make_keys<std::uint32_t>(Keys::uniform, 50021, 1);
      for (std::uint32_t& key : keys)
        key |= 1;  // unlike what `out` has before
      std::vector<std::uint32_t> all = keys;
      std::sort(all.begin(), all.end());
      for (const bool in_place : {false, true}) {
        const std::vector<std::uint32_t> got =
            sorted_by(context, keys, {.precedes = comparison}, variant, in_place);
        CHECK(std::all_of(got.begin(), got.end(), [&](std::uint32_t key) {
          return std::binary_search(all.begin(), all.end(), key);
        }));
      }
    }
  }
}

TEST_CASE("clamped: sorts by a comparison on smaller devices") {
  for (const char* limits : {"local=4K", "local=512", "work_group=4", "work_group=1,compute_units=1"}) {
    CAPTURE(limits);
    const test::Variable clamp("SMEM_CLAMP", limits);
    const smem::Context context;
    const std::vector<std::uint32_t> keys = test::make_keys<std::uint32_t>(Keys::uniform, 3001, 1);
    std::vector<std::uint32_t> wanted = keys;
    std::sort(wanted.begin(), wanted.end());
    CHECK(sorted_by(context, keys, {.precedes = "a < b"}, "merge") == wanted);
  }
}

TEST_CASE("bad input of sort_by: one error that names the argument, and nothing is written") {
  const smem::Context context;
  const std::vector<std::uint32_t> poison(100, 77);
  const smem::Array<std::uint32_t> a(context, poison), b(context, poison);
  const smem::Array<float> f(context, smem::Count{100});
  const smem::Array<smem::half> h(context, smem::Count{100});
  const auto refused = [&](const auto& call) {
    const smem::ErrorDetails error = test::failure_of(call);
    CHECK(error.operation == "sort_by");
    CHECK(a.to_host() == poison);
    CHECK(b.to_host() == poison);
    return error.argument;
  };
  const auto sort = [&](const smem::ConstVector& in, const smem::Vector& out, const smem::Comparison& order,
                        const smem::CallOptions& options = {}) {
    return refused([&] { smem::sort_by(context, in, out, order, options); });
  };
  CHECK(sort(a, b, {.precedes = "a <"}) == "precedes");
  CHECK(sort(a, b, {.precedes = "a.x < b.x"}) == "precedes");
  CHECK(sort(a, b, {.precedes = "unknown(a, b)"}) == "precedes");
  CHECK(sort(a.vector(0, 0), b.vector(0, 0), {.precedes = "a <"}) == "precedes");
  CHECK(sort(a, b, {}) == "precedes");
  CHECK(sort(a, b, {.precedes = "a < b", .type = "float2"}) == "type");
  CHECK(sort(a, b, {.precedes = "a < b", .type = "int3"}) == "type");
  CHECK(sort(a, b, {.precedes = "a < b", .type = "uint; }"}) == "type");
  CHECK(sort(h, h, {.precedes = "a < b"}) == "in");
  const smem::ElementType opaque = smem::ElementType::of_bytes(4);
  CHECK(sort(smem::Vector(a.buffer()(), opaque, 9), smem::Vector(b.buffer()(), opaque, 9),
             {.precedes = "a < b"}) == "type");
  CHECK(sort(a, f, {.precedes = "a < b"}) == "out");
  CHECK(sort(a, b.vector(0, 99), {.precedes = "a < b"}) == "out");
  CHECK(sort(a.vector(0, 50), a.vector(1, 50), {.precedes = "a < b"}) == "out");
  CHECK(sort(a.vector(60, 50), b.vector(0, 50), {.precedes = "a < b"}) == "in");
  CHECK(sort(a, b, {.precedes = "a < b"}, {.variant = "quick"}) == "variant");
  smem::Device device;
  device.fp64 = false;
  const smem::SortByProblem doubles{.size = 10, .type = "double"};
  CHECK(test::failure_of([&] { smem::plan_sort_by(device, doubles); }).argument == "type");
}
