// Sorts: every variant, type, order and kind of keys beside std::stable_sort.
#include "support/large_buffer.hpp"
#include "support/level.hpp"
#include "support/sorts.hpp"

#include "support/environment.hpp"
#include "support/failure.hpp"
#include "support/targets.hpp"

#include <smem/smem.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

using smem::Scalar;
using smem::SortOrder;
using smem::SortPayload;
using smem::SortProblem;
using test::Keys;
using test::SortCall;

namespace {

/// Calls `body` with a key of each type, and its number.
template <class Body>
void for_each_type(const Body& body) {
  std::size_t number = 0;
  std::apply([&](auto... key) { (body(key, number++), ...); }, test::KeyOfEachType());
}

/// Of as many keys as one group holds.
bool is_of_one_group(std::string_view variant) { return variant == "bitonic" || variant == "one_row"; }

bool must_run(const smem::Device& device, std::string_view variant, std::size_t size) {
  if (is_of_one_group(variant)) return size < 1000;
  return variant != "cpu" || (device.type == smem::DeviceType::cpu && device.long_loops);
}

template <class K>
SortProblem problem_of(std::size_t size) {
  SortProblem problem;
  problem.keys = smem::scalar_of<K>;
  problem.size = size;
  problem.end_bit = 8 * sizeof(K);
  return problem;
}

/// Sizes around tiles of the variant.
template <class K>
std::vector<std::size_t> sizes_for(const smem::Context& context, std::string_view variant) {
  std::vector<std::size_t> sizes{0, 1, 2, 31, 32, 33, 777};
  if (is_of_one_group(variant)) {
    for (std::size_t tile = 1024; tile > 0; tile *= 2) {
      try {
        smem::plan_sort(context.device(), problem_of<K>(tile), {.variant = std::string(variant)});
      } catch (const smem::Error&) {
        sizes.insert(sizes.end(), {tile / 2 - 1, tile / 2});
        return sizes;
      }
    }
  }
  const std::size_t tile =
      variant == "cpu"
          ? 262144
          : smem::plan_sort(context.device(), problem_of<K>(1), {.variant = std::string(variant)}).tile_cols;
  sizes.insert(sizes.end(), {tile - 1, tile, tile + 1});
  if (variant != "cpu") sizes.insert(sizes.end(), {2 * tile + 1, 3 * tile + 5});
  if (variant == "merge") sizes.push_back(9 * tile + 1);
  return sizes;
}

}  // namespace

TEST_CASE("small: sort" * doctest::test_suite("small")) {
  const smem::Context context;
  for (const std::string_view variant :
       test::tested_variants(context.device(), "sort", smem::sort_variants())) {
    CAPTURE(variant);
    if (!must_run(context.device(), variant, 1)) continue;
    for (const std::size_t size : {700, 5003}) {  // one tile and several
      if (is_of_one_group(variant) && size > 700) continue;
      CHECK(test::sorts(context, test::make_keys<std::uint16_t>(Keys::uniform, size, size),
                        {.variant = variant, .offset = 3}));
    }
  }
}

// Each program costs a driver's compiler a second, so that types and variants take turns: every one of them
// meets some of the others, and all appear.
TEST_CASE("sort: every variant, every type") {
  const smem::Context context;
  const auto variants = smem::sort_variants();
  for_each_type([&](auto key, std::size_t t) {
    using K = decltype(key);
    for (std::size_t v = 0; v < variants.size(); ++v) {
      if ((t + v) % 4 != 0 && t > 0 && variants[v] != "cpu") continue;
      CAPTURE(variants[v]);
      CAPTURE(smem::name_of(smem::scalar_of<K>));
      if (!must_run(context.device(), variants[v], 1)) continue;
      std::size_t turn = t;
      for (const std::size_t size : sizes_for<K>(context, variants[v])) {
        CAPTURE(size);
        SortCall call{.variant = variants[v], .offset = turn % 3};
        call.order.descending = t % 2 == 1;
        call.in_place = turn++ % 2 == 1;
        CHECK(test::sorts(context, test::make_keys<K>(Keys::uniform, size, size), call));
      }
    }
  });
}

TEST_CASE("sort: keys and values past a CPU's cache") {
  const test::Variable clamp("SMEM_CLAMP", "cache=1K");
  const smem::Context context;
  if (!must_run(context.device(), "cpu", 1)) return;
  for (const std::size_t size : {262144, 400001}) {  // two blocks and three
    const SortCall call{.variant = "cpu", .in_place = size == 262144, .offset = size % 3};
    CHECK(test::sorts(context, test::make_keys<std::uint32_t>(Keys::uniform, size, 1), call));
    CHECK(test::sorts(context, test::make_keys<std::uint8_t>(Keys::zipf, size, 2), call));
    CHECK(test::sorts(context, test::make_keys<double>(Keys::special, size, 3), call));
    const auto few = test::make_keys<std::uint32_t>(Keys::small, size, 4);
    CHECK(test::sorts_pairs(context, few, size == 262144 ? 3 : 8, call, false));
    CHECK(test::argsorts<std::uint32_t, std::uint32_t>(context, few, {.variant = "cpu"}));
  }
}

TEST_CASE("sort: every variant, keys of every kind") {
  const smem::Context context;
  for (const std::string_view variant : smem::sort_variants()) {
    CAPTURE(variant);
    if (!must_run(context.device(), variant, 1)) continue;
    for (const Keys kind : test::kKeys) {
      CAPTURE(static_cast<int>(kind));
      for (const std::size_t size : {300, 20011, 300003}) {
        const bool ran = test::sorts(context, test::make_keys<std::uint32_t>(kind, size, 5),
                                     {.variant = variant, .offset = 1});
        CHECK((ran || !must_run(context.device(), variant, size)));
      }
    }
  }
}

TEST_CASE("sort: zeros, NaNs, infinities and the smallest numbers, by values and in totalOrder") {
  const smem::Context context;
  for_each_type([&](auto key, std::size_t t) {
    using K = decltype(key);
    if constexpr (test::is_real<K>) {
      CAPTURE(smem::name_of(smem::scalar_of<K>));
      const std::vector<K> keys = test::make_keys<K>(Keys::special, 9001, t);
      // Each order with some of the types, and each type with some of the variants: a program is one of each.
      for (const bool total : {false, true})
        for (const bool descending : {false, true})
          if (t == 1 || (t + (total ? 1 : 0)) % 2 == (descending ? 1 : 0))
            CHECK(test::sorts(context, keys, {.order = {.descending = descending, .total_order = total}}));
      for (const std::string_view each : smem::sort_variants()) {
        const auto size = is_of_one_group(each) ? std::ptrdiff_t{500} : std::ptrdiff_t{9001};
        const SortOrder least{.descending = (t + each.size()) % 2 == 0, .nan_least = true};
        const std::vector<K> some(keys.begin(), keys.begin() + size);
        const bool ran = test::sorts(context, some, {.variant = each, .order = least});
        CHECK((ran || !must_run(context.device(), each, some.size())));
      }
      const std::vector<K> few(keys.begin(), keys.begin() + 500);
      CHECK(test::sorts(context, few,
                        {.variant = "bitonic", .order = {.descending = t % 2 == 0}, .in_place = true}));
      const char* variant = sizeof(K) == 8 ? "three_launches" : "onesweep";
      if (!std::is_same_v<K, smem::bfloat16>) CHECK(test::sorts(context, keys, {.variant = variant}));
    }
  });
  // What the order is, in numbers.
  const float nan = std::bit_cast<float>(0xffc00001u), other = std::bit_cast<float>(0x7fc00002u);
  const float infinity = std::bit_cast<float>(0x7f800000u);
  const std::vector<float> keys{nan, 0.0F, -0.0F, -1.0F, other, infinity, -infinity, 0.0F};
  const smem::Array<float> in(context, keys), out(context, smem::Count{keys.size()});
  const auto bits = [&] {
    std::vector<std::uint32_t> all;
    for (const float value : out.to_host())
      all.push_back(std::bit_cast<std::uint32_t>(value));
    return all;
  };
  const std::uint32_t zero = 0, minus = 0x80000000, one = 0xbf800000, inf = 0x7f800000, low = 0xff800000,
                      a = 0xffc00001, b = 0x7fc00002;
  smem::sort(context, in.vector(), out.vector());
  CHECK(bits() == std::vector<std::uint32_t>{low, one, zero, minus, zero, inf, a, b});
  smem::sort(context, in.vector(), out.vector(), {.descending = true});
  CHECK(bits() == std::vector<std::uint32_t>{a, b, inf, zero, minus, zero, one, low});
  smem::sort(context, in.vector(), out.vector(), {.total_order = true});
  CHECK(bits() == std::vector<std::uint32_t>{a, low, one, minus, zero, zero, inf, b});
  smem::sort(context, in.vector(), out.vector(), {.nan_least = true});
  CHECK(bits() == std::vector<std::uint32_t>{a, b, low, one, zero, minus, zero, inf});
  smem::sort(context, in.vector(), out.vector(), {.descending = true, .nan_least = true});
  CHECK(bits() == std::vector<std::uint32_t>{inf, zero, minus, zero, one, low, a, b});
}

TEST_CASE("sort: ranges of bits") {
  const smem::Context context;
  using Range = std::pair<std::size_t, std::size_t>;
  for (const std::string_view variant : smem::sort_variants()) {
    CAPTURE(variant);
    if (!must_run(context.device(), variant, 1)) continue;
    std::size_t turn = 0;
    for (const Range& bits :
         {Range{0, 0}, {32, 32}, {0, 1}, {31, 32}, {5, 12}, {0, 9}, {3, 20}, {10, 28}, {8, 27}}) {
      const std::size_t begin = bits.first, end = bits.second;
      CAPTURE(begin);
      CAPTURE(end);
      const std::size_t size = is_of_one_group(variant) ? 700 : 9001;
      SortCall call{.variant = variant, .order = {.begin_bit = begin, .end_bit = end}};
      call.in_place = turn++ % 2 == 0;
      CHECK(test::sorts(context, test::make_keys<std::uint32_t>(Keys::uniform, size, turn), call));
      call.in_place = !call.in_place;
      CHECK(test::sorts(context, test::make_keys<std::uint32_t>(Keys::special, size, turn), call));
    }
  }
  for (const auto& [begin, end] : {Range{16, 32}, {0, 23}, {9, 31}}) {
    const SortOrder order{.descending = begin == 9, .begin_bit = begin, .end_bit = end};
    CHECK(test::sorts(context, test::make_keys<float>(Keys::special, 5001, begin), {.order = order}));
  }
  CHECK(test::sorts(context, test::make_keys<std::int16_t>(Keys::uniform, 5001, 3),
                    {.order = {.begin_bit = 7, .end_bit = 16}, .in_place = true}));
}

namespace {

/// Sorts keys of few kinds with values of `bytes` bytes, by a variant.
void sort_pairs_of(const smem::Context& context, std::string_view variant, std::size_t bytes,
                   std::size_t size, int in_place) {
  CAPTURE(variant);
  CAPTURE(bytes);
  CAPTURE(size);
  CAPTURE(in_place);
  const std::uint32_t distinct = size % 3 == 0 ? 3 : 256;
  std::vector<std::uint32_t> keys(size);
  test::Random random(bytes);
  for (std::uint32_t& key : keys)
    key = static_cast<std::uint32_t>(random.next()) % distinct * 0x01010101u;
  const SortCall call{.variant = variant, .in_place = (in_place & 1) != 0, .offset = 1};
  CHECK(test::sorts_pairs(context, keys, bytes, call, (in_place & 2) != 0));
}

}  // namespace

TEST_CASE("sort_pairs: every variant, values of 1 to 16 bytes, equal keys in their order") {
  const smem::Context context;
  std::size_t turn = 0;
  for (const std::string_view variant : smem::sort_variants()) {
    if (!must_run(context.device(), variant, 1)) continue;
    // Numbers, which some variants take through local memory, and others, which they do not.
    const auto value_bytes = [&]() -> std::vector<std::size_t> {
      if (is_of_one_group(variant)) return {1, 6, 16};
      if (variant == "three_launches") return {4, 12, 2};
      if (variant == "onesweep") return {4, 12, 8};
      if (variant == "cpu") return {1, 3, 4, 12, 16};
      return {4, 12};
    };
    for (const std::size_t bytes : value_bytes()) {
      for (const std::size_t size : {700, 9001, 300001}) {
        if (is_of_one_group(variant) && size > 700) continue;
        if (size > 10000 && bytes != 4 && bytes != 12) continue;
        sort_pairs_of(context, variant, bytes, size, static_cast<int>(turn++ % 4));
      }
    }
  }
}

TEST_CASE("argsort: every variant, places of 32 and 64 bits") {
  const smem::Context context;
  for (const std::string_view variant : smem::sort_variants()) {
    CAPTURE(variant);
    if (!must_run(context.device(), variant, 1)) continue;
    for (const std::size_t size : {0, 1, 700, 9001, 300003}) {
      if (is_of_one_group(variant) && size > 700) continue;
      CAPTURE(size);
      for (const Keys kind : {Keys::special, Keys::small, Keys::equal}) {
        CHECK(test::argsorts<float, std::uint32_t>(context, test::make_keys<float>(kind, size, 1),
                                                   {.variant = variant, .offset = 2}));
      }
      if (variant == "bitonic" || variant == "three_launches" || variant == "four_bits") continue;
      CHECK(test::argsorts<std::uint16_t, std::uint64_t>(
          context, test::make_keys<std::uint16_t>(Keys::zipf, size, 1),
          {.variant = variant, .order = {.descending = true}, .offset = 1}));
    }
    const SortOrder three{.begin_bit = 3, .end_bit = 24};  // passes: an odd number
    CHECK(test::argsorts<float, std::uint32_t>(context, test::make_keys<float>(Keys::uniform, 600, 2),
                                               {.variant = variant, .order = three}));
  }
}

TEST_CASE("random: sorts") {
  const smem::Context context;
  test::run_random("sort", 301, [&](test::Random& random) -> test::RandomCase {
    const std::size_t type = random.between(0, std::tuple_size_v<test::KeyOfEachType> - 1);
    const std::string variant = test::some_variant(random, smem::sort_variants());
    const auto payload = static_cast<SortPayload>(random.between(0, 2));
    const std::size_t bytes = random.between(1, 16);
    return [=, &context](test::Random& more, std::string& text) {
      test::Outcome outcome;
      test::with_key_type(type, [&](auto key) {
        using K = decltype(key);
        using Wide = std::conditional_t<sizeof(K) == 2, std::uint64_t, std::uint32_t>;
        const Keys kind = test::one_of(more, test::kKeys);
        const SortCall call{.variant = variant,
                            .order = test::random_order(more, 8 * sizeof(K)),
                            .in_place = more.chance(2),
                            .offset = more.between(0, 5)};
        const std::vector<K> keys = test::make_keys<K>(kind, test::random_length(more), more.next());
        const bool values_in_place = more.chance(2);
        text = fmt::format("{} {}, kind {}, {}, {}, {}{}, offset {}, \"{}\"", keys.size(),
                           smem::name_of(smem::scalar_of<K>), static_cast<int>(kind),
                           payload == SortPayload::values   ? fmt::format("values of {} bytes", bytes)
                           : payload == SortPayload::places ? "places"
                                                            : "no values",
                           test::text_of(call.order), call.in_place ? "keys in place" : "",
                           values_in_place ? ", values in place" : "", call.offset, variant);
        outcome.refused = payload == SortPayload::values
                              ? !test::sorts_pairs(context, keys, bytes, call, values_in_place)
                          : payload == SortPayload::places ? !test::argsorts<K, Wide>(context, keys, call)
                                                           : !test::sorts(context, keys, call);
      });
      return outcome;
    };
  });
}

TEST_CASE("sort: where no tile publishes in time, others count it") {
  for (const char* limits :
       {"poll_limit=0", "poll_limit=0,local=16K,work_group=64", "poll_limit=1",
        "prefetch_builtin=0,poll_limit=1", "ordered_start=0", "ordered_start=0,poll_limit=1"}) {
    CAPTURE(limits);
    const test::Variable clamp("SMEM_CLAMP", limits);
    const smem::Context context;
    for (const std::size_t size : {1, 9001, 60001}) {
      CHECK(test::sorts(context, test::make_keys<std::uint32_t>(Keys::uniform, size, 1),
                        {.variant = "onesweep"}));
      CHECK(test::sorts(context, test::make_keys<std::uint32_t>(Keys::two, size, 1),
                        {.variant = "onesweep", .in_place = true}));
    }
    CHECK(test::argsorts<std::uint32_t, std::uint32_t>(
        context, test::make_keys<std::uint32_t>(Keys::zipf, 30001, 1), {.variant = "onesweep"}));
  }
}

TEST_CASE("clamped: sorts on smaller devices") {
  for (const char* limits : {"local=16K,work_group=64", "local=4K", "local=512", "work_group=4",
                             "work_group=1", "forward_progress=0,compute_units=1"}) {
    CAPTURE(limits);
    const test::Variable clamp("SMEM_CLAMP", limits);
    const smem::Context context;
    for (const char* variant : {"bitonic", "three_launches", "onesweep", ""}) {
      CAPTURE(variant);
      const bool tiny = std::string_view(limits) == "local=512";
      if (tiny && variant == std::string_view("onesweep")) continue;  // the digits of 32 passes fill it
      const std::size_t size = variant == std::string_view("bitonic") ? 8 : 9001;
      CHECK(smem::plan_sort(context.device(), problem_of<std::uint32_t>(size),
                            {.variant = std::string(variant)})
                .local_bytes <= context.device().local_bytes);
      CHECK(
          test::sorts(context, test::make_keys<std::uint32_t>(Keys::uniform, size, 7), {.variant = variant}));
      CHECK(test::sorts(context, test::make_keys<std::uint32_t>(Keys::small, size, 7),
                        {.variant = variant, .in_place = true}));
    }
  }
}

TEST_CASE("sort: passes in which all keys have one digit are left out") {
  const smem::Context context;
  for (const std::uint32_t factor : {1u, 1u << 8, 1u << 16, 1u << 24}) {
    std::vector<std::uint32_t> keys(20001);
    test::Random random(factor);
    for (std::uint32_t& key : keys)
      key = static_cast<std::uint32_t>(random.next() % 256) * factor + 0x00010203u / factor;
    for (const std::string_view variant : {"onesweep", ""}) {
      CHECK(test::sorts(context, keys, {.variant = variant}));
      CHECK(test::sorts(context, keys, {.variant = variant, .in_place = true}));
    }
  }
}

TEST_CASE("bad input of sort: one error that names the argument, and nothing is written") {
  const smem::Context context;
  const std::vector<std::uint32_t> poison(100, 77);
  const smem::Array<std::uint32_t> a(context, poison), b(context, poison), c(context, poison),
      d(context, poison);
  const smem::Array<float> f(context, smem::Count{100});
  const auto refused = [&](const auto& call, std::string_view operation = "sort") {
    const smem::ErrorDetails error = test::failure_of(call);
    CHECK(error.operation == operation);
    for (const smem::Array<std::uint32_t>* array : {&a, &b, &c, &d})
      CHECK(array->to_host() == poison);
    return error.argument;
  };
  CHECK(refused([&] { smem::sort(context, a.vector(), f.vector()); }) == "out");
  CHECK(refused([&] { smem::sort(context, a.vector(), b.vector(0, 99)); }) == "out");
  CHECK(refused([&] { smem::sort(context, a.vector(0, 50), a.vector(1, 50)); }) == "out");
  CHECK(refused([&] { smem::sort(context, a.vector(60, 50), b.vector(0, 50)); }) == "keys");
  CHECK(refused([&] { smem::sort(context, smem::Vector(nullptr, Scalar::uint32, 5), b.vector(0, 5)); }) ==
        "keys");
  CHECK(refused([&] {
          smem::sort(context, smem::Vector(a.buffer()(), static_cast<Scalar>(99), 5), b.vector(0, 5));
        }) == "keys");
  CHECK(refused([&] { smem::sort(context, a.vector(), b.vector(), {.end_bit = 33}); }) == "end_bit");
  CHECK(refused([&] { smem::sort(context, a.vector(), b.vector(), {.begin_bit = 33}); }) == "begin_bit");
  CHECK(refused([&] { smem::sort(context, a.vector(), b.vector(), {.begin_bit = 5, .end_bit = 4}); }) ==
        "begin_bit");
  CHECK(refused([&] { smem::sort(context, a.vector(), b.vector(), {}, {.variant = "quick"}); }) == "variant");
  CHECK(refused([&] { smem::sort(context, f, f, {.total_order = true, .nan_least = true}); }) == "nan_least");
  const smem::PlanOverrides tile{.tile_cols = 64};
  CHECK(refused([&] { smem::sort(context, a.vector(), b.vector(), {}, {.overrides = &tile}); }) ==
        "tile_cols");
  const auto pairs = [&](const smem::ConstVector& keys, const smem::ConstVector& values,
                         const smem::Vector& out_keys, const smem::Vector& out_values) {
    return refused([&] { smem::sort_pairs(context, keys, values, out_keys, out_values); }, "sort_pairs");
  };
  CHECK(pairs(a.vector(), b.vector(0, 99), c.vector(), d.vector()) == "values");
  CHECK(pairs(a.vector(), b.vector(), c.vector(0, 99), d.vector()) == "out_keys");
  CHECK(pairs(a.vector(), b.vector(), c.vector(), d.vector(0, 99)) == "out_values");
  CHECK(pairs(a.vector(), b.vector(), c.vector(), f.vector()) == "out_values");
  CHECK(pairs(a.vector(), b.vector(), c.vector(), c.vector()) == "out_values");
  CHECK(pairs(a.vector(), b.vector(), b.vector(), d.vector()) == "out_keys");
  CHECK(pairs(a.vector(), b.vector(), c.vector(), a.vector()) == "out_values");
  const auto places = [&](const smem::ConstVector& keys, const smem::Vector& out) {
    return refused([&] { smem::argsort(context, keys, out); }, "argsort");
  };
  CHECK(places(a.vector(), f.vector()) == "places");
  CHECK(places(a.vector(), b.vector(0, 99)) == "places");
  CHECK(places(a.vector(), a.vector()) == "places");
  SortProblem problem = problem_of<std::uint32_t>(std::size_t{1} << 33);
  problem.payload = SortPayload::places;
  problem.value_bytes = 4;
  CHECK(test::failure_of([&] { smem::plan_sort(context.device(), problem); }).argument == "places");
  // Values for which a sort has no room beside their keys.
  const smem::ElementType large = smem::ElementType::of_bytes(20);
  const smem::Vector wide(b.buffer()(), large, 5), same(c.buffer()(), large, 5);
  CHECK(refused([&] { smem::sort_pairs(context, a.vector(0, 5), wide, d.vector(0, 5), same); },
                "sort_pairs") == "values");
}

TEST_CASE("sort: nothing, and events to wait for") {
  const smem::Context context;
  smem::sort(context, smem::Vector(nullptr, Scalar::half, 0), smem::Vector(nullptr, Scalar::half, 0)).wait();
  const smem::Array<std::int32_t> a(context, {3, -1, 2}), b(context, smem::Count{3}),
      c(context, smem::Count{3});
  const cl::Event first = smem::sort(context, a.vector(), b.vector(), {.descending = true});
  const cl::Event second = smem::sort(context, b.vector(), c.vector(), {}, {.wait_for = {first}});
  second.wait();
  CHECK(b.to_host() == std::vector<std::int32_t>{3, 2, -1});
  CHECK(c.to_host() == std::vector<std::int32_t>{-1, 2, 3});
}

TEST_CASE("large: a sort of 2^24 + 1 keys") {
  const smem::Context context;
  const auto keys = test::make_keys<std::uint32_t>(Keys::uniform, (std::size_t{1} << 24) + 1, 1);
  CHECK(test::sorts(context, keys, {}));
  CHECK(test::argsorts<std::uint32_t, std::uint32_t>(context, keys, {.order = {.descending = true}}));
}

TEST_CASE("large: a sort of more than 2^31 keys") {
  const smem::Context context;
  const std::size_t size = (std::size_t{1} << 31) + 4099;
  const auto first_room = test::large_buffer(context, size, 2 * size + (size >> 2));
  const auto second_room =
      first_room ? test::large_buffer(context, size, 2 * size + (size >> 2)) : std::nullopt;
  if (!second_room) return;
  const cl::Buffer &in = *first_room, &out = *second_room;
  constexpr std::size_t kPiece = std::size_t{1} << 28;
  std::vector<std::uint8_t> piece(kPiece);
  std::vector<std::size_t> counts(256);
  for (std::size_t first = 0; first < size; first += kPiece) {
    const std::size_t count = std::min(kPiece, size - first);
    for (std::size_t i = 0; i < count; ++i) {
      piece[i] = static_cast<std::uint8_t>((first + i) * 0x9e3779b97f4a7c15u >> 56);
      ++counts[piece[i]];
    }
    REQUIRE(clEnqueueWriteBuffer(context.queue()(), in(), CL_TRUE, first, count, piece.data(), 0, nullptr,
                                 nullptr) == CL_SUCCESS);
  }
  smem::sort(context, smem::VectorView<std::uint8_t>(in, size), smem::VectorView<std::uint8_t>(out, size));
  std::size_t wrong = 0;
  std::vector<std::size_t> found(256);
  unsigned last = 0;
  for (std::size_t first = 0; first < size; first += kPiece) {
    const std::size_t count = std::min(kPiece, size - first);
    REQUIRE(clEnqueueReadBuffer(context.queue()(), out(), CL_TRUE, first, count, piece.data(), 0, nullptr,
                                nullptr) == CL_SUCCESS);
    for (std::size_t i = 0; i < count; ++i) {
      wrong += piece[i] < last;
      last = piece[i];
      ++found[last];
    }
  }
  CHECK(wrong == 0);
  CHECK(found == counts);
}
