// Merges of sorted vectors and searches in them, beside std::merge, std::lower_bound and std::is_sorted.
#include "support/environment.hpp"
#include "support/failure.hpp"
#include "support/level.hpp"
#include "support/sorts.hpp"
#include "support/variants.hpp"

#include <smem/smem.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

using smem::Scalar;
using smem::SortOrder;
using test::Keys;

namespace {

template <class K>
std::vector<K> sorted_keys(Keys kind, std::size_t size, std::uint64_t stream, const SortOrder& order) {
  const std::vector<K> keys = test::make_keys<K>(kind, size, stream);
  std::vector<K> sorted;
  for (const std::uint64_t place : test::sorted_places(keys, order))
    sorted.push_back(keys[place]);
  return sorted;
}

struct MergeCall {
  std::string_view variant;
  std::size_t a = 0, b = 0, value_bytes = 0;
  SortOrder order = {};
  std::size_t work_items = 0;
};

/// The stable merge is the stable sort of b behind a.
template <class K>
void check_merge(const smem::Context& context, Keys kind, const MergeCall& call) {
  CAPTURE(call.variant);
  CAPTURE(smem::name_of(smem::scalar_of<K>));
  CAPTURE(call.a);
  CAPTURE(call.b);
  CAPTURE(call.value_bytes);
  CAPTURE(static_cast<int>(kind));
  if (!test::always_runs(context.device(), call.variant)) return;
  const std::vector<K> a = sorted_keys<K>(kind, call.a, 1, call.order),
                       b = sorted_keys<K>(kind, call.b, 2, call.order);
  std::vector<K> both = a;
  both.insert(both.end(), b.begin(), b.end());
  const std::vector<std::uint64_t> places = test::sorted_places(both, call.order);
  const std::size_t bytes = call.value_bytes;
  test::Random random(call.a);
  const std::vector<unsigned char> values = random.bytes(both.size() * bytes);
  const test::Fenced<K> a_keys(context, a, 1), b_keys(context, b, 2),
      out(context, std::vector<K>(both.size()), 1);
  const test::Fenced<unsigned char> all(context, values, bytes),
      moved(context, std::vector<unsigned char>(values.size()), bytes);
  const smem::VectorView<const K> left(a_keys.buffer(), a.size(), 1), right(b_keys.buffer(), b.size(), 2);
  const smem::VectorView<K> to(out.buffer(), both.size(), 1);
  const smem::PlanOverrides fixed{.work_items = call.work_items};
  const smem::CallOptions options{.variant = call.variant, .overrides = &fixed};
  if (bytes == 0) {
    smem::merge(context, left, right, to, call.order, options);
  } else {
    const smem::ElementType opaque = smem::ElementType::of_bytes(bytes);
    smem::merge_pairs(context, left, smem::Vector(all.buffer()(), opaque, a.size(), 1), right,
                      smem::Vector(all.buffer()(), opaque, b.size(), 1 + a.size()), to,
                      smem::Vector(moved.buffer()(), opaque, both.size(), 1), call.order, options);
    std::vector<unsigned char> wanted;
    for (const std::uint64_t place : places)
      wanted.insert(wanted.end(), values.begin() + static_cast<std::ptrdiff_t>(place * bytes),
                    values.begin() + static_cast<std::ptrdiff_t>((place + 1) * bytes));
    CHECK(moved.elements() == wanted);
  }
  CHECK(test::is_moved(out.elements(), both, places));
}

}  // namespace

TEST_CASE("small: merge" * doctest::test_suite("small")) {
  const smem::Context context;
  for (const std::string_view variant :
       test::tested_variants(context.device(), "merge", smem::merge_variants()))
    check_merge<std::uint16_t>(context, Keys::zipf, {.variant = variant, .a = 4001, .b = 901});
}

TEST_CASE("merge: every variant, types and kinds of keys in turns") {
  const smem::Context context;
  for (const std::string_view variant : smem::merge_variants()) {
    for (const auto& [a, b] : {std::pair<std::size_t, std::size_t>{0, 1},
                               {1, 0},
                               {1, 1},
                               {700, 3000},
                               {3840, 3840},
                               {20011, 5},
                               {2, 30011},
                               {9999, 12001}}) {
      check_merge<float>(context, Keys::special, {.variant = variant, .a = a, .b = b});
      check_merge<float>(context, Keys::uniform, {.variant = variant, .a = a, .b = b});
      check_merge<std::uint8_t>(context, Keys::zipf,
                                {.variant = variant, .a = a, .b = b, .order = {.descending = true}});
    }
    for (const Keys kind : test::kKeys)
      check_merge<std::uint32_t>(context, kind, {.variant = variant, .a = 5003, .b = 4001});
    check_merge<std::int64_t>(context, Keys::uniform, {.variant = variant, .a = 5003, .b = 4001});
    check_merge<double>(context, Keys::special,
                        {.variant = variant, .a = 3, .b = 9001, .order = {.total_order = true}});
    check_merge<float>(context, Keys::special,
                       {.variant = variant, .a = 5003, .b = 4001, .order = {.nan_least = true}});
    check_merge<std::uint32_t>(
        context, Keys::uniform,
        {.variant = variant, .a = 5003, .b = 999, .order = {.begin_bit = 28, .end_bit = 31}});
    for (const std::size_t bytes : {1, 4, 12, 16})
      check_merge<std::uint16_t>(context, Keys::small,
                                 {.variant = variant, .a = 5003, .b = 4001, .value_bytes = bytes});
  }
}

TEST_CASE("merge: so many tiles that a launch finds where they begin") {
  const smem::Context context;
  MergeCall call{.variant = "tile", .a = 400003, .b = 300007, .work_items = 32};
  check_merge<std::uint32_t>(context, Keys::uniform, call);
  check_merge<std::uint32_t>(context, Keys::equal, call);
  call.order = {.descending = true};
  check_merge<std::uint8_t>(context, Keys::zipf, call);
  call = {.variant = "tile", .a = 5, .b = 600011, .value_bytes = 8, .work_items = 32};
  check_merge<float>(context, Keys::special, call);
}

TEST_CASE("random: merges") {
  const smem::Context context;
  test::run_random("merge", 307, [&](test::Random& random) -> test::RandomCase {
    const std::size_t type = random.between(0, std::tuple_size_v<test::KeyOfEachType> - 1);
    const std::string variant = test::some_variant(random, smem::merge_variants());
    const std::size_t bytes = random.chance(2) ? 0 : random.between(1, 16);
    return [=, &context](test::Random& more, std::string& text) {
      test::with_key_type(type, [&](auto key) {
        using K = decltype(key);
        const MergeCall call{.variant = variant,
                             .a = test::random_length(more),
                             .b = test::random_length(more),
                             .value_bytes = bytes,
                             .order = test::random_order(more, 8 * sizeof(K))};
        const Keys kind = test::one_of(more, test::kKeys);
        text = fmt::format("{} and {} {}, kind {}, values of {} bytes, {}, \"{}\"", call.a, call.b,
                           smem::name_of(smem::scalar_of<K>), static_cast<int>(kind), bytes,
                           test::text_of(call.order), variant);
        check_merge<K>(context, kind, call);
      });
      return test::Outcome{!test::always_runs(context.device(), variant), {}, {}};
    };
  });
}

TEST_CASE("clamped: merges on smaller devices") {
  for (const char* limits : {"local=4K", "local=512", "work_group=1,compute_units=1", "local=128"}) {
    CAPTURE(limits);
    const test::Variable clamp("SMEM_CLAMP", limits);
    const smem::Context context;
    check_merge<double>(context, Keys::small, {.variant = "tile", .a = 300, .b = 401, .value_bytes = 4});
  }
}

TEST_CASE("merge: keys that are not sorted are merged inside of the views") {
  const smem::Context context;
  for (const std::string_view variant : smem::merge_variants()) {
    if (!test::always_runs(context.device(), variant)) continue;
    for (const Keys kind : {Keys::uniform, Keys::reversed, Keys::two}) {
      const std::vector<std::uint32_t> a = test::make_keys<std::uint32_t>(kind, 20011, 1),
                                       b = test::make_keys<std::uint32_t>(kind, 9001, 2);
      const test::Fenced<std::uint32_t> left(context, a, 1), right(context, b, 1),
          out(context, std::vector<std::uint32_t>(29012), 3);
      smem::merge(context, smem::VectorView<const std::uint32_t>(left.buffer(), a.size(), 1),
                  smem::VectorView<const std::uint32_t>(right.buffer(), b.size(), 1),
                  smem::VectorView<std::uint32_t>(out.buffer(), 29012, 3), {}, {.variant = variant});
      std::vector<std::uint32_t> both = a;
      both.insert(both.end(), b.begin(), b.end());
      std::sort(both.begin(), both.end());
      const std::vector<std::uint32_t> got = out.elements();
      CHECK(std::all_of(got.begin(), got.end(), [&](std::uint32_t key) {
        return std::binary_search(both.begin(), both.end(), key);
      }));
      CHECK(left.elements() == a);
      CHECK(right.elements() == b);
    }
  }
}

namespace {

/// lower_bound() and upper_bound() of `keys` in keys that are sorted so.
template <class K, class Place>
void check_bounds(const smem::Context& context, const std::vector<K>& sorted, const std::vector<K>& keys,
                  const SortOrder& order) {
  const std::size_t size = sorted.size();
  const test::Fenced<K> in(context, sorted, 1), by(context, keys, 2);
  const smem::VectorView<const K> from(in.buffer(), size, 1), wanted(by.buffer(), keys.size(), 2);
  const auto before = [&](K a, K b) { return test::precedes_by_bits(a, b, order); };
  for (const char* variant : {"", "sampled"}) {
    CAPTURE(variant);
    const test::Fenced<Place> lower(context, std::vector<Place>(keys.size()), 1),
        upper(context, std::vector<Place>(keys.size()), 1);
    smem::lower_bound(context, from, wanted, smem::VectorView<Place>(lower.buffer(), keys.size(), 1), order,
                      {.variant = variant});
    smem::upper_bound(context, from, wanted, smem::VectorView<Place>(upper.buffer(), keys.size(), 1), order,
                      {.variant = variant});
    const std::vector<Place> low = lower.elements(), high = upper.elements();
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      wrong += low[i] != static_cast<Place>(std::lower_bound(sorted.begin(), sorted.end(), keys[i], before) -
                                            sorted.begin());
      wrong += high[i] != static_cast<Place>(std::upper_bound(sorted.begin(), sorted.end(), keys[i], before) -
                                             sorted.begin());
    }
    CHECK(wrong == 0);
  }
}

}  // namespace

TEST_CASE("small: bounds" * doctest::test_suite("small")) {
  const smem::Context context;
  check_bounds<float, std::uint32_t>(context, sorted_keys<float>(Keys::special, 777, 1, {}),
                                     test::make_keys<float>(Keys::special, 301, 2), {});
}

TEST_CASE("lower_bound, upper_bound: many keys, in and between and outside of the sorted ones") {
  const smem::Context context;
  const auto check = [&](auto type, auto place, Keys kind, const SortOrder& order) {
    using K = decltype(type);
    for (const std::size_t size : {0, 1, 2, 777, 20011}) {
      const std::vector<K> sorted = sorted_keys<K>(kind, size, 1, order);
      std::vector<K> keys = test::make_keys<K>(kind, 3001, 2);
      std::copy(sorted.begin(),
                sorted.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(size, 999)), keys.begin());
      check_bounds<K, decltype(place)>(context, sorted, keys, order);
    }
  };
  check(float{}, std::uint32_t{}, Keys::special, {});
  check(std::uint32_t{}, std::uint32_t{}, Keys::zipf, {.descending = true});
  check(std::int64_t{}, std::uint64_t{}, Keys::uniform, {});
  check(smem::half{}, std::uint32_t{}, Keys::special, {.total_order = true});
  check(float{}, std::uint32_t{}, Keys::special, {.nan_least = true});
  // By some bits: keys that differ in others are equal.
  check(std::uint32_t{}, std::uint32_t{}, Keys::uniform, {.begin_bit = 22, .end_bit = 31});
  check(float{}, std::uint32_t{}, Keys::special, {.descending = true, .begin_bit = 20});
}

TEST_CASE("lower_bound, upper_bound: in keys that are not sorted, places are at most their number") {
  const smem::Context context;
  const std::vector<float> keys = test::make_keys<float>(Keys::special, 777, 1),
                           wanted = test::make_keys<float>(Keys::special, 301, 2);
  const test::Fenced<float> in(context, keys, 1);
  const smem::Array<float> by(context, wanted);
  const test::Fenced<std::uint32_t> places(context, std::vector<std::uint32_t>(301, 9999), 2);
  for (const auto& bound : {smem::lower_bound, smem::upper_bound}) {
    for (const char* variant : {"", "sampled"}) {
      bound(context, smem::VectorView<const float>(in.buffer(), 777, 1), by.vector(),
            smem::VectorView<std::uint32_t>(places.buffer(), 301, 2), {}, {.variant = variant});
      const std::vector<std::uint32_t> got = places.elements();
      CHECK(std::all_of(got.begin(), got.end(), [](std::uint32_t place) { return place <= 777; }));
    }
  }
}

TEST_CASE("is_sorted: one pair at any place, and what counts as equal") {
  const smem::Context context;
  std::vector<std::uint32_t> keys(30011, 5);
  const auto is_sorted = [&](const SortOrder& order = {}) {
    return smem::is_sorted(context, smem::Array<std::uint32_t>(context, keys), order);
  };
  CHECK(is_sorted());
  CHECK(is_sorted({.descending = true}));
  for (const std::size_t place : {0, 1, 255, 256, 20000, 30010}) {
    keys.assign(30011, 5);
    keys[place] = 4;
    CHECK(is_sorted() == (place == 0));
    CHECK(is_sorted({.descending = true}) == (place == 30010));
    CHECK(is_sorted({.begin_bit = 1}));  // 4 and 5 agree in those bits
    keys[place] = 5 + 256;
    CHECK(is_sorted({.end_bit = 8}));
  }
  const float nan = std::bit_cast<float>(0xffc00001u);
  CHECK(smem::is_sorted(context, smem::Array<float>(context, {-1.0F, 0.0F, -0.0F, 1.0F, nan})));
  CHECK_FALSE(
      smem::is_sorted(context, smem::Array<float>(context, {-1.0F, 0.0F, -0.0F}), {.total_order = true}));
  CHECK_FALSE(smem::is_sorted(context, smem::Array<float>(context, {nan, 1.0F})));
  CHECK(smem::is_sorted(context, smem::Vector(nullptr, Scalar::half, 0)));
}

TEST_CASE("random: searches in sorted keys") {
  const smem::Context context;
  test::run_random("bounds", 308, [&](test::Random& random) -> test::RandomCase {
    const std::size_t type = random.between(0, std::tuple_size_v<test::KeyOfEachType> - 1);
    return [=, &context](test::Random& more, std::string& text) {
      test::with_key_type(type, [&](auto key) {
        using K = decltype(key);
        using Wide = std::conditional_t<sizeof(K) == 2, std::uint64_t, std::uint32_t>;
        const SortOrder order = test::random_order(more, 8 * sizeof(K));
        const std::size_t size = test::random_length(more), count = test::random_length(more);
        const Keys kind = test::one_of(more, test::kKeys);
        text = fmt::format("{} keys in {} {}, kind {}, {}", count, size, smem::name_of(smem::scalar_of<K>),
                           static_cast<int>(kind), test::text_of(order));
        std::vector<K> sorted = sorted_keys<K>(kind, size, more.next(), order),
                       keys = test::make_keys<K>(kind, count, more.next());
        for (std::size_t i = 0; i < count && size > 0; i += 2)
          keys[i] = sorted[more.between(0, size - 1)];
        check_bounds<K, Wide>(context, sorted, keys, order);
        // One key somewhere else, which may or may not matter.
        if (size > 0 && more.chance(2))
          sorted[more.between(0, size - 1)] = test::make_keys<K>(kind, 1, more.next())[0];
        const auto before = [&](K a, K b) { return test::precedes_by_bits(a, b, order); };
        const test::Fenced<K> in(context, sorted, 1);
        CHECK(smem::is_sorted(context, smem::VectorView<const K>(in.buffer(), size, 1), order) ==
              std::is_sorted(sorted.begin(), sorted.end(), before));
      });
      return test::Outcome{};
    };
  });
}

TEST_CASE("bad input of merges and searches: one error that names the argument, and nothing is written") {
  const smem::Context context;
  const std::vector<std::uint32_t> poison(100, 77);
  const smem::Array<std::uint32_t> a(context, poison), b(context, poison), c(context, poison),
      d(context, poison);
  const smem::Array<float> f(context, smem::Count{100});
  const auto refused = [&](std::string_view operation, const auto& call) {
    const smem::ErrorDetails error = test::failure_of(call);
    CHECK(error.operation == operation);
    for (const smem::Array<std::uint32_t>* array : {&a, &b, &c, &d})
      CHECK(array->to_host() == poison);
    return error.argument;
  };
  const smem::Vector left = a.vector(0, 50), right = b.vector(0, 50);
  CHECK(refused("merge", [&] { smem::merge(context, left, f.vector(0, 50), c); }) == "b");
  CHECK(refused("merge", [&] { smem::merge(context, left, right, f); }) == "out");
  CHECK(refused("merge", [&] { smem::merge(context, left, right, c.vector(0, 99)); }) == "out");
  CHECK(refused("merge", [&] { smem::merge(context, left, right, a); }) == "out");
  CHECK(refused("merge", [&] { smem::merge(context, a.vector(60, 50), right, c); }) == "a");
  CHECK(refused("merge", [&] { smem::merge(context, left, right, c, {.end_bit = 33}); }) == "end_bit");
  CHECK(refused("merge", [&] { smem::merge(context, left, right, c, {}, {.variant = "quick"}); }) ==
        "variant");
  const SortOrder both{.total_order = true, .nan_least = true};
  CHECK(refused("merge", [&] {
          smem::merge(context, f.vector(0, 9), f.vector(9, 9), f.vector(20, 18), both);
        }) == "nan_least");
  CHECK(refused("lower_bound", [&] { smem::lower_bound(context, f, f, c, both); }) == "nan_least");
  CHECK(refused("merge_pairs",
                [&] { smem::merge_pairs(context, left, left, right, f.vector(0, 50), c, d); }) == "b_values");
  CHECK(refused("merge_pairs", [&] {
          smem::merge_pairs(context, left, a.vector(0, 49), right, right, c, d);
        }) == "a_values");
  CHECK(refused("merge_pairs", [&] { smem::merge_pairs(context, left, left, right, right, c, c); }) ==
        "out_values");
  CHECK(refused("merge_pairs", [&] {
          smem::merge_pairs(context, left, left, right, right, c.vector(0, 99), d);
        }) == "out_keys");
  const smem::Vector wide(b.buffer()(), smem::ElementType::of_bytes(20), 5),
      wide_out(d.buffer()(), smem::ElementType::of_bytes(20), 10);
  CHECK(refused("merge_pairs", [&] {
          smem::merge_pairs(context, a.vector(0, 5), wide, a.vector(0, 5), wide, c.vector(0, 10), wide_out);
        }) == "a_values");
  CHECK(refused("lower_bound", [&] { smem::lower_bound(context, a, f, c); }) == "keys");
  CHECK(refused("upper_bound", [&] { smem::upper_bound(context, a, b, c, {.end_bit = 33}); }) == "end_bit");
  CHECK(refused("upper_bound", [&] { smem::upper_bound(context, a, b, f); }) == "places");
  CHECK(refused("lower_bound", [&] { smem::lower_bound(context, a, b, c.vector(0, 99)); }) == "places");
  CHECK(refused("lower_bound", [&] { smem::lower_bound(context, a, b, a); }) == "places");
  const smem::BoundsProblem many{.size = std::size_t{1} << 32, .count = 1};
  CHECK(test::failure_of([&] { smem::plan_bounds(context.device(), many); }).argument == "places");
  CHECK(refused("is_sorted", [&] { smem::is_sorted(context, a.vector(60, 50)); }) == "keys");
  CHECK(refused("is_sorted", [&] { smem::is_sorted(context, a, {.begin_bit = 40}); }) == "begin_bit");
}
