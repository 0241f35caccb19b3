// Sorts of segments: empty, short and long ones, beside std::stable_sort.
#include "support/level.hpp"
#include "support/sorts.hpp"

#include "support/environment.hpp"
#include "support/failure.hpp"
#include "support/targets.hpp"
#include "support/variants.hpp"

#include <smem/smem.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

using smem::Scalar;
using smem::SortPayload;
using smem::SortSegmentsProblem;
using test::Keys;

namespace {

struct SegmentsCall {
  std::string_view variant;
  SortPayload payload = SortPayload::none;
  std::size_t value_bytes = 0;
  smem::SortOrder order = {};
  bool in_place = false;
};

/// Offsets of segments of these lengths, with elements before the first and after the last.
template <class Offset>
std::vector<Offset> offsets_of(const std::vector<std::size_t>& lengths) {
  std::vector<Offset> offsets{3};
  for (const std::size_t length : lengths)
    offsets.push_back(static_cast<Offset>(offsets.back() + length));
  return offsets;
}

template <class K, class Offset>
bool sorts_segments(const smem::Context& context, const std::vector<K>& keys,
                    const std::vector<Offset>& offsets, const SegmentsCall& call) {
  const std::size_t size = keys.size(), bytes = call.value_bytes;
  const bool pairs = call.payload == SortPayload::values, places = call.payload == SortPayload::places;
  test::Random random(size);
  const std::vector<unsigned char> values = random.bytes(size * bytes);
  const test::Fenced<K> in(context, keys, 1), out(context, std::vector<K>(size, K{}), 2);
  const test::Fenced<unsigned char> in_values(context, values, bytes),
      out_values(context, std::vector<unsigned char>(size * bytes, 7), bytes);
  const test::Fenced<Offset> bounds(context, offsets, 1);
  const test::Fenced<K>& got_keys = call.in_place ? in : out;
  const test::Fenced<unsigned char>& got_values = call.in_place ? in_values : out_values;
  const smem::ElementType value = places ? smem::ElementType(bytes == 8 ? Scalar::uint64 : Scalar::uint32)
                                         : smem::ElementType::of_bytes(std::max<std::size_t>(bytes, 1));
  const smem::VectorView<K> from(in.buffer(), size, in.offset()),
      to(got_keys.buffer(), size, got_keys.offset());
  const smem::VectorView<const Offset> segments(bounds.buffer(), offsets.size(), 1);
  const smem::Vector from_values(in_values.buffer()(), value, size, 1),
      to_values(got_values.buffer()(), value, size, 1);
  const smem::CallOptions options{.variant = call.variant};
  try {
    if (pairs) {
      smem::sort_pairs_segments(context, from, from_values, segments, to, to_values, call.order, options);
    } else if (places) {
      smem::argsort_segments(context, from, segments, to_values, call.order, options);
    } else {
      smem::sort_segments(context, from, segments, to, call.order, options);
    }
  } catch (const smem::Error& error) {
    CHECK_MESSAGE(error.details().argument == "variant", std::string(error.what()));
    return false;
  }
  std::vector<K> wanted = call.in_place ? keys : std::vector<K>(size, K{});
  std::vector<unsigned char> wanted_values =
      call.in_place ? values : std::vector<unsigned char>(size * bytes, 7);
  for (std::size_t s = 0; s + 1 < offsets.size(); ++s) {
    const std::size_t first = offsets[s];
    const std::vector<K> one(keys.begin() + static_cast<std::ptrdiff_t>(first),
                             keys.begin() + static_cast<std::ptrdiff_t>(offsets[s + 1]));
    const std::vector<std::uint64_t> order = test::sorted_places(one, call.order);
    for (std::size_t i = 0; i < one.size(); ++i) {
      if (!places) wanted[first + i] = one[order[i]];
      if (bytes == 0) continue;
      std::memcpy(
          &wanted_values[(first + i) * bytes],
          places ? reinterpret_cast<const unsigned char*>(&order[i]) : &values[(first + order[i]) * bytes],
          bytes);
    }
  }
  const std::vector<K> got = got_keys.elements();
  CHECK((got.empty() || std::memcmp(got.data(), wanted.data(), size * sizeof(K)) == 0));
  CHECK(got_values.elements() == wanted_values);
  return true;
}

/// By the plan's choice as well: of its variants, by_length alone fits every device.
bool must_run(const smem::Device& device, std::string_view variant) {
  return test::always_runs(device, variant) &&
         !test::is_broken(device, "sort_segments", variant.empty() ? "by_length" : variant);
}

template <class K, class Offset = std::uint32_t>
void check(const smem::Context& context, Keys kind, const std::vector<std::size_t>& lengths,
           const SegmentsCall& call) {
  CAPTURE(call.variant);
  CAPTURE(static_cast<int>(kind));
  const std::vector<Offset> offsets = offsets_of<Offset>(lengths);
  const bool ran =
      sorts_segments(context, test::make_keys<K>(kind, offsets.back() + 4, lengths.size()), offsets, call);
  CHECK((ran || !must_run(context.device(), call.variant)));
}

/// Empty ones, first and last too; lengths around those of the classes; and long ones.
const std::vector<std::size_t> kMixed{
    0, 0,    1,    2,    31, 32,    33, 0,   64,  65,  511, 512, 513, 700,  3,    3,     3,  4095, 4096, 4097,
    1, 8191, 8192, 8193, 0,  30011, 5,  600, 255, 256, 257, 40,  0,   2047, 2048, 20011, 12, 0,    0};

}  // namespace

TEST_CASE("small: sort segments" * doctest::test_suite("small")) {
  const smem::Context context;
  for (const std::string_view variant :
       test::tested_variants(context.device(), "sort_segments", smem::sort_segments_variants()))
    check<std::uint16_t>(context, Keys::uniform, {0, 3, 33, 0, 700, 1, 2, 100, 0}, {.variant = variant});
}

TEST_CASE("sort_segments: lengths of all classes mixed") {
  const smem::Context context;
  for (const std::string_view variant : smem::sort_segments_variants()) {
    for (const Keys kind : {Keys::special, Keys::ones, Keys::zipf, Keys::equal})
      check<float>(context, kind, kMixed, {.variant = variant, .in_place = kind == Keys::ones});
    check<std::uint64_t, std::uint64_t>(context, Keys::uniform, kMixed,
                                        {.variant = variant, .order = {.descending = true}});
    check<std::uint8_t>(context, Keys::uniform, kMixed, {.variant = variant, .in_place = true});
    check<std::uint32_t>(context, Keys::uniform, kMixed,
                         {.variant = variant, .order = {.begin_bit = 3, .end_bit = 24}});
    check<std::uint32_t>(context, Keys::uniform, {}, {.variant = variant});
    check<std::uint32_t>(context, Keys::uniform, {50000}, {.variant = variant});
    check<std::uint32_t>(context, Keys::uniform, std::vector<std::size_t>(9001, 3), {.variant = variant});
    check<std::uint32_t>(context, Keys::small, std::vector<std::size_t>(150, 101), {.variant = variant});
    check<std::uint32_t>(context, Keys::small, std::vector<std::size_t>(40, 1001), {.variant = variant});
  }
}

TEST_CASE("sort_pairs_segments and argsort_segments: equal keys in their order") {
  const smem::Context context;
  for (const std::string_view variant : smem::sort_segments_variants()) {
    for (const bool in_place : {false, true}) {
      const std::size_t bytes = in_place ? 12 : 4;
      check<std::uint16_t>(
          context, Keys::small, kMixed,
          {.variant = variant, .payload = SortPayload::values, .value_bytes = bytes, .in_place = in_place});
    }
    check<float>(context, Keys::special, kMixed, {.variant = variant, .order = {.nan_least = true}});
    check<float>(context, Keys::special, kMixed,
                 {.variant = variant, .payload = SortPayload::places, .value_bytes = 4});
    check<std::uint32_t, std::uint64_t>(context, Keys::two, kMixed,
                                        {.variant = variant,
                                         .payload = SortPayload::places,
                                         .value_bytes = 8,
                                         .order = {.descending = true, .begin_bit = 9}});
  }
}

TEST_CASE("large: a million segments of three keys, and one of ten million among tiny ones") {
  const smem::Context context;
  check<float>(context, Keys::uniform, std::vector<std::size_t>(1000000, 3), {});
  std::vector<std::size_t> lengths(2001);
  for (std::size_t i = 0; i < lengths.size(); ++i)
    lengths[i] = i % 5;
  lengths[1000] = 10000000;
  check<std::uint32_t>(context, Keys::uniform, lengths, {});
  check<std::uint32_t>(context, Keys::zipf, lengths, {.payload = SortPayload::values, .value_bytes = 4});
}

TEST_CASE("sort_segments: where offsets descend or leave the keys, nothing is written") {
  const smem::Context context;
  for (const std::string_view variant : smem::sort_segments_variants()) {
    if (!must_run(context.device(), variant)) continue;
    CAPTURE(variant);
    for (const std::vector<std::uint32_t>& offsets :
         {std::vector<std::uint32_t>{0, 9000, 3, 20000}, {0, 5, 20001}, {4000000000u, 5}}) {
      const std::vector<float> keys = test::make_keys<float>(Keys::uniform, 20000, 1), poison(20000, 7);
      const smem::Array<float> in(context, keys), out(context, poison);
      const smem::Array<std::uint32_t> bounds(context, offsets);
      smem::sort_segments(context, in, bounds, out, {}, {.variant = variant});
      CHECK(out.to_host() == poison);
    }
    // The same of pairs and places, and offsets whose lower halves are right.
    const std::vector<float> keys = test::make_keys<float>(Keys::uniform, 5000, 1);
    const std::vector<std::uint32_t> poison(5000, 7);
    const smem::Array<float> in(context, keys), sorted(context, std::vector<float>(5000, 7));
    const smem::Array<std::uint32_t> values(context, std::vector<std::uint32_t>(5000, 1)),
        moved(context, poison), descending(context, {0, 4000, 3});
    const smem::Array<std::uint64_t> far(context, {0, 9, (std::uint64_t{1} << 32) + 20});
    for (const smem::ConstVector& bounds : {smem::ConstVector(descending), smem::ConstVector(far)}) {
      smem::sort_pairs_segments(context, in, values, bounds, sorted, moved, {}, {.variant = variant});
      CHECK(sorted.to_host() == std::vector<float>(5000, 7));
      CHECK(moved.to_host() == poison);
      smem::argsort_segments(context, in, bounds, moved, {}, {.variant = variant});
      CHECK(moved.to_host() == poison);
    }
  }
}

TEST_CASE("random: sorts of segments") {
  const smem::Context context;
  test::run_random("sort_segments", 303, [&](test::Random& random) -> test::RandomCase {
    const std::size_t type = random.between(0, std::tuple_size_v<test::KeyOfEachType> - 1);
    const std::string variant = test::some_variant(random, smem::sort_segments_variants());
    const auto payload = static_cast<SortPayload>(random.between(0, 2));
    const std::size_t bytes = payload == SortPayload::none     ? 0
                              : payload == SortPayload::places ? 4 * random.between(1, 2)
                                                               : random.between(1, 16);
    return [=, &context](test::Random& more, std::string& text) {
      test::Outcome outcome;
      test::with_key_type(type, [&](auto key) {
        using K = decltype(key);
        using Offset = std::conditional_t<sizeof(K) == 2, std::uint64_t, std::uint32_t>;
        std::vector<std::size_t> lengths(more.between(0, more.chance(3) ? 2000 : 40));
        const std::size_t most = 60000 / (lengths.size() + 1);
        for (std::size_t& length : lengths)
          length = more.chance(4) ? 0 : std::min(test::random_length(more), more.chance(20) ? 20000 : most);
        const SegmentsCall call{.variant = variant,
                                .payload = payload,
                                .value_bytes = bytes,
                                .order = test::random_order(more, 8 * sizeof(K)),
                                .in_place = payload != SortPayload::places && more.chance(2)};
        const Keys kind = test::one_of(more, test::kKeys);
        const std::vector<Offset> offsets = offsets_of<Offset>(lengths);
        text =
            fmt::format("{} segments of {} {}, kind {}, {} bytes beside each, {}{}, \"{}\"", lengths.size(),
                        offsets.back(), smem::name_of(smem::scalar_of<K>), static_cast<int>(kind), bytes,
                        test::text_of(call.order), call.in_place ? ", in place" : "", variant);
        const auto keys = test::make_keys<K>(kind, offsets.back() + more.between(0, 9), more.next());
        outcome.refused = !sorts_segments(context, keys, offsets, call);
      });
      return outcome;
    };
  });
}

TEST_CASE("clamped: sorts of segments on smaller devices") {
  for (const char* limits :
       {"local=16K,work_group=64", "local=4K", "local=512", "work_group=4", "work_group=1,compute_units=1"}) {
    CAPTURE(limits);
    const test::Variable clamp("SMEM_CLAMP", limits);
    const smem::Context context;
    for (const char* variant : {"by_length", ""})
      check<std::uint32_t>(context, Keys::uniform, {0, 3, 40, 700, 5001, 0}, {.variant = variant});
  }
}

TEST_CASE("bad input of sort_segments: one error that names the argument, and nothing is written") {
  const smem::Context context;
  const std::vector<std::uint32_t> poison(100, 77);
  const smem::Array<std::uint32_t> a(context, poison), b(context, poison), c(context, poison),
      d(context, poison);
  const smem::Array<float> f(context, smem::Count{100});
  const auto refused = [&](const auto& call, std::string_view operation = "sort_segments") {
    const smem::ErrorDetails error = test::failure_of(call);
    CHECK(error.operation == operation);
    for (const smem::Array<std::uint32_t>* array : {&a, &b, &c, &d})
      CHECK(array->to_host() == poison);
    return error.argument;
  };
  const auto sort = [&](const smem::ConstVector& keys, const smem::ConstVector& offsets,
                        const smem::Vector& out, const smem::SortOrder& order = {},
                        const smem::CallOptions& options = {}) {
    return refused([&] { smem::sort_segments(context, keys, offsets, out, order, options); });
  };
  CHECK(sort(a.vector(), f.vector(), b.vector()) == "offsets");
  CHECK(sort(a.vector(), c.vector(), f.vector()) == "out");
  CHECK(sort(a.vector(), c.vector(), b.vector(0, 99)) == "out");
  CHECK(sort(a.vector(), c.vector(), c.vector()) == "out");
  CHECK(sort(a.vector(0, 50), c.vector(), a.vector(1, 50)) == "out");
  CHECK(sort(a.vector(), smem::Vector(nullptr, Scalar::uint32, 5), b.vector()) == "offsets");
  CHECK(sort(a.vector(), c.vector(), b.vector(), {.end_bit = 33}) == "end_bit");
  CHECK(sort(a.vector(), c.vector(), b.vector(), {}, {.variant = "quick"}) == "variant");
  const smem::PlanOverrides items{.work_items = 64};
  CHECK(sort(a.vector(), c.vector(), b.vector(), {}, {.overrides = &items}) == "work_items");
  CHECK(refused([&] { smem::sort_pairs_segments(context, a, b.vector(0, 99), c, d, b); },
                "sort_pairs_segments") == "values");
  CHECK(refused([&] { smem::sort_pairs_segments(context, a, b, c, d, d); }, "sort_pairs_segments") ==
        "out_values");
  CHECK(refused([&] { smem::argsort_segments(context, a, b, f); }, "argsort_segments") == "places");
}
