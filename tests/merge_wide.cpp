// Sorts by a comparison, merges and searches of more than 2^31 and 2^32 elements: see support/wide.hpp.
#include "support/wide.hpp"

#include <smem/smem.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace {

using Bytes = smem::VectorView<std::uint8_t>;
using Words = smem::VectorView<std::uint32_t>;
using Longs = smem::VectorView<std::uint64_t>;

/// Of bytes: whether they ascend, and a checksum.
constexpr const char* kAscending = "wrong += i > 0 && a[i - 1] > a[i]; sum += sum_of(a[i]);";

/// Bytes in ascending order: runs of p equal ones.
constexpr const char* kRuns = "a[i] = (A)(i / p);";

std::size_t run_of(std::size_t size) { return size / 251 + 1; }

void write_byte(const smem::Context& context, const cl::Buffer& buffer, std::size_t place, cl_uchar byte) {
  REQUIRE(clEnqueueWriteBuffer(context.queue()(), buffer(), CL_TRUE, place, 1, &byte, 0, nullptr, nullptr) ==
          CL_SUCCESS);
}

/// Finds all bytes in a vector of runs: each stands where its run begins, or ends.
template <class Places>
void finds_bytes(const smem::Context& context, const cl::Buffer& sorted, std::size_t size, std::size_t run) {
  std::vector<std::uint8_t> all(256);
  std::vector<Places> lower(256), upper(256);
  for (std::size_t k = 0; k < all.size(); ++k) {
    all[k] = static_cast<std::uint8_t>(k);
    lower[k] = static_cast<Places>(std::min(k * run, size));
    upper[k] = static_cast<Places>(std::min((k + 1) * run, size));
  }
  const smem::Array<std::uint8_t> keys(context, all);
  const smem::Array<Places> places(context, std::vector<Places>(256, 77));
  smem::lower_bound(context, Bytes(sorted, size), keys, places);
  CHECK(places.to_host() == lower);
  smem::upper_bound(context, Bytes(sorted, size), keys, places);
  CHECK(places.to_host() == upper);
}

}  // namespace

// The elements are places, which a comparison orders by a function of them.
TEST_CASE("large: sort_by of more than 2^31 elements") {
  const smem::Context context;
  const std::size_t size = test::wide_size(31, 4099);
  const auto room = test::wide_buffers(context, {4 * size, 4 * size}, 5 * size);
  if (!room) return;
  test::Loop loop{.types = {"uint", "uint", "uint", "uint"},
                  .functions = "uint key_at(uint x) { return x * 0x9e3779b1u >> 12; }"};
  run_loop(context, loop.with("a[i] = (A)i;"), size, {room->at(0)});
  loop.with(R"(
    const uint key = key_at(a[i]), left = i > 0 ? key_at(a[i - 1]) : 0;
    wrong += a[i] >= size || (i > 0 && (left > key || (left == key && a[i - 1] >= a[i])));
  )");
  CHECK(run_loop(context, loop, size, {room->at(0)}).wrong > 0);  // the check itself: these are not sorted
  const std::size_t ran = test::each_variant(smem::sort_by_variants(), [&](const std::string& variant) {
    test::poison(context, room->at(1), "uint", size);
    smem::sort_by(context, Words(room->at(0), size), Words(room->at(1), size),
                  {.precedes = "(a * 0x9e3779b1u >> 12) < (b * 0x9e3779b1u >> 12)"}, {.variant = variant});
    CHECK(run_loop(context, loop, size, {room->at(1)}).wrong == 0);
  });
  CHECK(ran >= 1);
}

TEST_CASE("large: sort_by of more than 2^32 elements") {
  const smem::Context context;
  const std::size_t size = test::wide_size(32, 4099);
  const auto room = test::wide_buffers(context, {size, size}, 2 * size);
  if (!room) return;
  test::Loop loop;
  run_loop(context, loop.with("a[i] = (A)(hash_of(i) >> 40);"), size, {room->at(0)});
  loop.with("wrong += i > 0 && (uchar)(a[i - 1] ^ 0x5a) > (uchar)(a[i] ^ 0x5a); sum += sum_of(a[i]);");
  const test::Found before = run_loop(context, loop, size, {room->at(0)});
  CHECK(before.wrong > 0);
  test::poison(context, room->at(1), "uchar", size);
  smem::sort_by(context, Bytes(room->at(0), size), Bytes(room->at(1), size),
                {.precedes = "(uchar)(a ^ 0x5a) < (uchar)(b ^ 0x5a)"});
  CHECK(run_loop(context, loop, size, {room->at(1)}) == test::Found{0, before.sum});
}

TEST_CASE("large: merge of more than 2^32 keys") {
  const smem::Context context;
  const std::size_t a_size = test::wide_size(31, 4099),
                    b_size = test::wide_size(31, 7) + test::wide_size(28, 0), size = a_size + b_size;
  const auto room = test::wide_buffers(context, {a_size, b_size, size});
  if (!room) return;
  test::Loop loop;
  run_loop(context, loop.with(kRuns), a_size, {room->at(0)}, run_of(a_size));
  run_loop(context, loop.with(kRuns), b_size, {room->at(1)}, run_of(b_size));
  const test::Found a = run_loop(context, loop.with(kAscending), a_size, {room->at(0)}),
                    b = run_loop(context, loop, b_size, {room->at(1)});
  const std::size_t ran = test::each_variant(smem::merge_variants(), [&](const std::string& variant) {
    test::poison(context, room->at(2), "uchar", size);
    smem::merge(context, Bytes(room->at(0), a_size), Bytes(room->at(1), b_size), Bytes(room->at(2), size), {},
                {.variant = variant});
    CHECK(run_loop(context, loop, size, {room->at(2)}) == test::Found{0, a.sum + b.sum});
  });
  CHECK(ran >= 1);
}

// Every second key is in both vectors. Values are places, those of the second vector after those of the
// first.
TEST_CASE("large: merge_pairs of more than 2^31 keys") {
  const smem::Context context;
  const std::size_t a_size = test::wide_size(30, 4099), b_size = test::wide_size(30, 100003),
                    size = a_size + b_size;
  const auto room =
      test::wide_buffers(context, {4 * a_size, 4 * a_size, 4 * b_size, 4 * b_size, 4 * size, 4 * size});
  if (!room) return;
  const cl::Buffer &out = room->at(4), &out_values = room->at(5);
  const auto words = [&](std::size_t i, std::size_t count) { return Words(room->at(i), count); };
  test::Loop loop{.types = {"uint", "uint", "uint", "uint"}, .functions = R"(
ulong hash_of(ulong z);
// Of the vector that begins at place `first`.
uint key_at(ulong place, ulong first) { return (uint)(2 * (place - first) + (hash_of(place) >> 40 & 1)); }
)"};
  loop.with("a[i] = key_at(p + i, p); b[i] = (B)(p + i);");
  run_loop(context, loop, a_size, {room->at(0), room->at(1)}, 0);
  run_loop(context, loop, b_size, {room->at(2), room->at(3)}, a_size);
  loop.with(R"(
    const ulong place = b[i];
    wrong += place >= size || a[i] != key_at(place, place < p ? 0 : p);
    wrong += i > 0 && (a[i - 1] > a[i] || (a[i - 1] == a[i] && b[i - 1] >= b[i]));
  )");
  const std::size_t ran = test::each_variant(smem::merge_variants(), [&](const std::string& variant) {
    test::poison(context, out, "uint", size);
    test::poison(context, out_values, "uint", size);
    smem::merge_pairs(context, words(0, a_size), words(1, a_size), words(2, b_size), words(3, b_size),
                      words(4, size), words(5, size), {}, {.variant = variant});
    CHECK(run_loop(context, loop, size, {out, out_values}, a_size).wrong == 0);
  });
  CHECK(ran >= 1);
}

TEST_CASE("large: lower_bound, upper_bound and is_sorted of more than 2^32 keys") {
  const smem::Context context;
  const std::size_t size = test::wide_size(32, 4099), half = test::wide_size(31, 4099);
  const auto room = test::wide_buffers(context, {size});
  if (!room) return;
  const cl::Buffer& sorted = room->at(0);
  const std::size_t run = run_of(size);
  test::run_loop(context, {.body = kRuns}, size, {sorted}, run);
  finds_bytes<std::uint64_t>(context, sorted, size, run);
  finds_bytes<std::uint64_t>(context, sorted, half, run);
  finds_bytes<std::uint32_t>(context, sorted, half, run);
  const Bytes all(sorted, size);
  CHECK(smem::is_sorted(context, all));
  CHECK_FALSE(smem::is_sorted(context, all, {.descending = true}));
  for (const std::size_t place : {size - 1, size - 4098, half, std::size_t{1}}) {
    CAPTURE(place);
    const auto right = static_cast<cl_uchar>(place / run);
    // Greater than the next one, or less than the one before.
    write_byte(context, sorted, place, place + 1 < size ? 255 : 0);
    CHECK_FALSE(smem::is_sorted(context, all));
    CHECK(smem::is_sorted(context, Bytes(sorted, place)));
    write_byte(context, sorted, place, right);
  }
  CHECK(smem::is_sorted(context, all));
}

TEST_CASE("large: lower_bound and upper_bound of more than 2^32 keys in a short vector") {
  const smem::Context context;
  const std::size_t size = test::wide_size(32, 4099);
  const auto room = test::wide_buffers(context, {size, 4 * size});
  if (!room) return;
  const cl::Buffer &keys = room->at(0), &places = room->at(1);
  std::vector<std::uint8_t> some(128);  // the odd bytes
  for (std::size_t k = 0; k < some.size(); ++k)
    some[k] = static_cast<std::uint8_t>(2 * k + 1);
  const smem::Array<std::uint8_t> sorted(context, some);
  test::Loop loop{.types = {"uchar", "uint", "uchar", "uchar"}, .body = "a[i] = (A)(hash_of(i) >> 40);"};
  run_loop(context, loop, size, {keys});
  test::poison(context, places, "uint", size);
  smem::lower_bound(context, sorted, Bytes(keys, size), Words(places, size));
  loop.with("wrong += b[i] != a[i] / 2u;");
  CHECK(run_loop(context, loop, size, {keys, places}).wrong == 0);
  test::poison(context, places, "uint", size);
  smem::upper_bound(context, sorted, Bytes(keys, size), Words(places, size));
  loop.with("wrong += b[i] != (a[i] + 1u) / 2;");
  CHECK(run_loop(context, loop, size, {keys, places}).wrong == 0);
}
