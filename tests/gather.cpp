// Moves by places: elements and rows of every size, beside a plain loop.
#include "support/failure.hpp"
#include "support/large_buffer.hpp"
#include "support/level.hpp"
#include "support/sorts.hpp"
#include "support/variants.hpp"

#include <smem/smem.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

using smem::Scalar;

namespace {

struct MoveCall {
  std::string_view variant;
  bool scatters = false;
  std::size_t rows = 1, cols = 1, bytes = 4, limit = 1, offset = 0, gap = 0;
};

/// A move of rows, or of elements where there is one column and no gap. `places` has some that are outside.
template <class Place>
void check_move(const smem::Context& context, const MoveCall& call, const std::vector<Place>& places) {
  CAPTURE(call.variant);
  CAPTURE(call.scatters);
  CAPTURE(call.rows);
  CAPTURE(call.cols);
  CAPTURE(call.bytes);
  const std::size_t in_rows = call.scatters ? call.rows : call.limit,
                    out_rows = call.scatters ? call.limit : call.rows;
  const std::size_t pitch = call.cols + call.gap, row = call.cols * call.bytes;
  test::Random random(call.rows);
  const std::vector<unsigned char> from = random.bytes(in_rows * pitch * call.bytes);
  std::vector<unsigned char> wanted(out_rows * pitch * call.bytes, 7);
  const test::Fenced<unsigned char> in(context, from, call.offset * call.bytes),
      out(context, wanted, call.offset * call.bytes);
  const test::Fenced<Place> by(context, places, 1);
  const smem::ElementType type = smem::ElementType::of_bytes(call.bytes);
  const smem::VectorView<const Place> named(by.buffer(), places.size(), 1);
  const smem::CallOptions options{.variant = call.variant};
  if (call.cols == 1 && call.gap == 0) {
    const smem::Vector source(in.buffer()(), type, in_rows, call.offset),
        target(out.buffer()(), type, out_rows, call.offset);
    (call.scatters ? smem::scatter : smem::gather)(context, source, named, target, {}, options);
  } else {
    const smem::Extent extent{.offset = call.offset, .pitch = pitch};
    const smem::Matrix source(in.buffer()(), type, in_rows, call.cols, extent),
        target(out.buffer()(), type, out_rows, call.cols, extent);
    (call.scatters ? smem::scatter_rows : smem::gather_rows)(context, source, named, target, {}, options);
  }
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (places[i] >= call.limit) continue;
    const std::size_t source = call.scatters ? i : places[i], target = call.scatters ? places[i] : i;
    std::memcpy(&wanted[target * pitch * call.bytes], &from[source * pitch * call.bytes], row);
  }
  CHECK(out.elements() == wanted);
  CHECK(in.elements() == from);
}

/// Different places less than `limit`, in any order, and some outside.
template <class Place>
std::vector<Place> make_places(std::size_t count, std::size_t limit) {
  std::vector<Place> places(std::max(count, limit));
  std::iota(places.begin(), places.end(), Place{0});
  test::Random random(count);
  for (std::size_t i = places.size(); i > 1; --i)
    std::swap(places[i - 1], places[random.next() % i]);
  places.resize(count);
  for (std::size_t i = 5; i < count; i += 97)
    places[i] = i % 2 == 0 ? static_cast<Place>(limit) : static_cast<Place>(~Place{0});
  if (sizeof(Place) == 8)  // whose lower halves are inside
    for (std::size_t i = 7; i < count; i += 89)
      places[i] = static_cast<Place>((std::uint64_t{1} << (32 + i % 32)) + i % limit);
  return places;
}

}  // namespace

TEST_CASE("small: gather and scatter" * doctest::test_suite("small")) {
  const smem::Context context;
  for (const std::string_view variant :
       test::tested_variants(context.device(), "gather", smem::gather_variants())) {
    if (!test::always_runs(context.device(), variant)) continue;
    for (const bool scatters : {false, true}) {
      const MoveCall call{.variant = variant,
                          .scatters = scatters,
                          .rows = 301,
                          .cols = 7,
                          .limit = 280,
                          .offset = 1,
                          .gap = 1};
      check_move(context, call, make_places<std::uint32_t>(301, call.limit));
    }
  }
}

TEST_CASE("gather, scatter: every variant, elements of 1 to 16 bytes, rows with gaps") {
  const smem::Context context;
  for (const std::string_view variant : smem::gather_variants()) {
    if (!test::always_runs(context.device(), variant)) continue;
    for (const bool scatters : {false, true}) {
      for (const std::size_t bytes : {1, 2, 3, 4, 8, 12, 16}) {
        for (const std::size_t rows : {1, 700, 5003}) {
          MoveCall call{
              .variant = variant, .scatters = scatters, .rows = rows, .bytes = bytes, .limit = rows + 200};
          check_move(context, call, make_places<std::uint32_t>(rows, call.limit));
        }
      }
      for (const std::size_t cols : {1, 3, 16, 33, 200}) {
        MoveCall call{.variant = variant,
                      .scatters = scatters,
                      .rows = 301,
                      .cols = cols,
                      .limit = 280,
                      .offset = cols % 4,
                      .gap = 1 + cols % 3};
        check_move(context, call, make_places<std::uint64_t>(301, call.limit));
        call.gap = 0;
        call.offset = 0;
        check_move(context, call, make_places<std::uint32_t>(301, call.limit));
      }
    }
  }
}

TEST_CASE("gather, scatter: rows of one or two bytes' alignment") {
  const smem::Context context;
  for (const bool scatters : {false, true}) {
    for (const std::size_t bytes : {1, 2}) {
      for (const std::size_t cols : {9, 13, 51, 301}) {
        for (const std::size_t gap : {0, 1, 4}) {
          const MoveCall call{.variant = "teams",
                              .scatters = scatters,
                              .rows = 301,
                              .cols = cols,
                              .bytes = bytes,
                              .limit = 280,
                              .offset = cols % 4,
                              .gap = gap};
          check_move(context, call, make_places<std::uint32_t>(301, call.limit));
        }
      }
    }
  }
}

TEST_CASE("random: moves by places") {
  const smem::Context context;
  test::run_random("gather", 306, [&](test::Random& random) -> test::RandomCase {
    const std::string variant = test::some_variant(random, smem::gather_variants());
    const bool scatters = random.chance(2), wide = random.chance(3);
    return [=, &context](test::Random& more, std::string& text) {
      MoveCall call{.variant = variant, .scatters = scatters, .bytes = more.between(1, 16)};
      call.rows = test::random_length(more) % 100000;
      if (more.chance(2)) call.cols = more.between(1, 400000 / (call.rows + 1000));
      call.limit = more.between(1, 2 * call.rows + 1);
      call.offset = more.between(0, 5);
      call.gap = more.chance(2) ? 0 : more.between(1, 9);
      text = fmt::format("{} rows of {} x {} bytes, {} {} places {}, offset {}, gap {}, \"{}\"", call.rows,
                         call.cols, call.bytes, wide ? "uint64" : "uint32", scatters ? "scattered to" : "of",
                         call.limit, call.offset, call.gap, variant);
      if (!test::always_runs(context.device(), variant)) return test::Outcome{true, {}, {}};
      if (wide) {
        check_move(context, call, make_places<std::uint64_t>(call.rows, call.limit));
      } else {
        check_move(context, call, make_places<std::uint32_t>(call.rows, call.limit));
      }
      return test::Outcome{};
    };
  });
}

TEST_CASE("gather: repeated places, permute_rows, nothing") {
  const smem::Context context;
  const smem::Array<float> in(context, {10, 11, 12, 13, 14, 15}), out(context, smem::Count{6});
  const smem::Array<std::uint32_t> places(context, {2, 2, 0, 1, 1, 1}), order(context, {2, 0, 1});
  smem::gather(context, in, places, out).wait();
  CHECK(out.to_host() == std::vector<float>{12, 12, 10, 11, 11, 11});
  smem::permute_rows(context, in.matrix(3, 2), order, out.matrix(3, 2), {.check = true}).wait();
  CHECK(out.to_host() == std::vector<float>{14, 15, 10, 11, 12, 13});
  smem::gather(context, in, places.vector(0, 0), out.vector(0, 0)).wait();
  smem::gather(context, in.vector(0, 0), places, out).wait();  // all places are outside
  CHECK(out.to_host() == std::vector<float>{14, 15, 10, 11, 12, 13});
}

TEST_CASE("bad input of gather and scatter: one error that names the argument, and nothing is written") {
  const smem::Context context;
  const std::vector<std::uint32_t> poison(100, 77);
  std::vector<std::uint32_t> outside(100, 5);
  outside[70] = 100;
  const smem::Array<std::uint32_t> a(context, poison), b(context, poison), places(context, outside);
  const smem::Array<float> f(context, smem::Count{100});
  const auto refused = [&](std::string_view operation, const auto& call) {
    const smem::ErrorDetails error = test::failure_of(call);
    CHECK(error.operation == operation);
    CHECK(a.to_host() == poison);
    CHECK(b.to_host() == poison);
    return error.argument;
  };
  CHECK(refused("gather", [&] { smem::gather(context, a, places, b, {.check = true}); }) == "places");
  CHECK(refused("scatter", [&] { smem::scatter(context, a, places, b, {.check = true}); }) == "places");
  CHECK(refused("check_places", [&] { smem::check_places(context, places, 100); }) == "places");
  CHECK(test::failure_of([&] { smem::check_places(context, places, 6); }).got == "100 at index 70");
  smem::check_places(context, places, 101);
  // Only the places of the view count, and all bits of each.
  smem::check_places(context, places.vector(0, 70), 6);
  smem::check_places(context, places.vector(71, 29), 6);
  CHECK(test::failure_of([&] { smem::check_places(context, places.vector(69, 9), 6); }).got ==
        "100 at index 1");
  const smem::Array<std::uint64_t> far(context, {5, (std::uint64_t{1} << 32) + 5});
  CHECK(test::failure_of([&] { smem::check_places(context, far, 100); }).got == "4294967301 at index 1");
  CHECK(refused("scatter_rows", [&] {
          smem::scatter_rows(context, a.matrix(2, 10), far, b.matrix(10, 10), {.check = true});
        }) == "places");
  CHECK(refused("gather", [&] { smem::gather(context, a, f, b); }) == "places");
  CHECK(refused("gather", [&] { smem::gather(context, a, places, f); }) == "out");
  CHECK(refused("gather", [&] { smem::gather(context, a, places, b.vector(0, 99)); }) == "out");
  CHECK(refused("gather", [&] { smem::gather(context, a, places, a); }) == "out");
  CHECK(refused("gather", [&] { smem::gather(context, a, places, places); }) == "out");
  CHECK(refused("gather", [&] { smem::gather(context, a.vector(1, 100), places, b); }) == "in");
  CHECK(refused("scatter", [&] { smem::scatter(context, a.vector(0, 99), places, b); }) == "in");
  CHECK(refused("gather", [&] { smem::gather(context, a, places, b, {}, {.variant = "quick"}); }) ==
        "variant");
  CHECK(refused("gather", [&] {
          smem::gather(context, a, places, b, {.check = true}, {.variant = "quick"});
        }) == "variant");
  CHECK(refused("gather_rows", [&] {
          smem::gather_rows(context, a.matrix(5, 20), places.vector(0, 5), b.matrix(5, 19));
        }) == "out");
  CHECK(refused("gather_rows", [&] {
          smem::gather_rows(context, a.matrix(5, 20), places.vector(0, 4), b.matrix(5, 20));
        }) == "out");
  CHECK(refused("permute_rows", [&] {
          smem::permute_rows(context, a.matrix(5, 20), places.vector(0, 4), b.matrix(4, 20));
        }) == "places");
  CHECK(refused("scatter_rows", [&] {
          smem::scatter_rows(context, smem::Matrix(a.buffer()(), Scalar::uint32, 2, 5, {.batch = 2}),
                             places.vector(0, 2), b.matrix(5, 5));
        }) == "in");
}

// Of which a few bytes are touched.
TEST_CASE("large: gather and scatter by places beyond 2^32") {
  const smem::Context context;
  constexpr std::size_t kTwoTo32 = std::size_t{1} << 32, kSize = kTwoTo32 + 4099;
  const auto room = test::large_buffer(context, kSize, kSize + (std::size_t{1} << 28));
  if (!room) return;
  const smem::VectorView<std::uint8_t> far(*room, kSize);
  const smem::Array<std::uint64_t> places(context, {kTwoTo32 + 5, 5, kSize - 1, kTwoTo32 - 1, kSize});
  const smem::Array<std::uint8_t> in(context, {11, 22, 33, 44, 55});
  for (const std::string_view variant : smem::gather_variants()) {
    if (!test::always_runs(context.device(), variant)) continue;
    CAPTURE(variant);
    const smem::Array<std::uint8_t> out(context, {7, 7, 7, 7, 7});
    smem::scatter(context, in, places, far, {}, {.variant = variant});
    smem::gather(context, far, places, out, {}, {.variant = variant});
    CHECK(out.to_host() == std::vector<std::uint8_t>{11, 22, 33, 44, 7});
  }
  CHECK(test::failure_of([&] { smem::gather(context, far, places, in, {.check = true}); }).got ==
        std::to_string(kSize) + " at index 4");
}
