// Moves by places, selections and reductions by key of more than 2^31 and 2^32 elements: see
// support/wide.hpp.
#include "support/variants.hpp"
#include "support/wide.hpp"

#include <smem/smem.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

using smem::Scalar;

namespace {

using Bytes = smem::VectorView<std::uint8_t>;

constexpr const char* kRandom = "a[i] = (A)(hash_of(i) >> 40);";

/// Rows of `cols` bytes go to other rows, and come back.
void moves_rows(std::size_t rows, std::size_t cols) {
  CAPTURE(cols);
  const smem::Context context;
  const std::size_t size = rows * cols;
  const auto room = test::wide_buffers(context, {size, size, 8 * rows});
  if (!room) return;
  const cl::Buffer &in = room->at(0), &out = room->at(1), &places = room->at(2);
  test::Loop loop{.types = {"uchar", "uchar", "ulong", "uchar"}, .body = kRandom};
  run_loop(context, loop, size, {in});
  // A permutation: the number of rows is odd.
  run_loop(context, loop.with("c[i] = (p - 1 - 2 * i % p);"), rows, {in, out, places}, rows);
  const auto matrix = [&](const cl::Buffer& buffer) {
    return smem::MatrixView<std::uint8_t>(buffer, rows, cols);
  };
  const smem::VectorView<std::uint64_t> to(places, rows);
  const std::size_t ran = test::each_variant(smem::gather_variants(), [&](const std::string& variant) {
    test::poison(context, out, "uchar", size);
    smem::gather_rows(context, matrix(in), to, matrix(out), {.check = true}, {.variant = variant});
    loop.with("wrong += b[i] != a[c[i / p] * p + i % p];");
    CHECK(run_loop(context, loop, size, {in, out, places}, cols).wrong == 0);
    test::poison(context, out, "uchar", size);
    smem::scatter_rows(context, matrix(in), to, matrix(out), {.check = true}, {.variant = variant});
    loop.with("wrong += b[c[i / p] * p + i % p] != a[i];");
    CHECK(run_loop(context, loop, size, {in, out, places}, cols).wrong == 0);
  });
  CHECK(ran >= 1);
}

/// Bytes that ascend from 0 to 250 again and again.
constexpr std::size_t kResidues = 251;
constexpr const char* kFillResidues = "a[i] = (A)(i % 251);";

std::size_t count_of(std::size_t residue, std::size_t size) {
  return size / kResidues + (residue < size % kResidues ? 1 : 0);
}

/// The element that sort() puts at place n.
std::uint8_t nth_residue(std::size_t n, std::size_t size) {
  std::size_t residue = 0;
  for (; n >= count_of(residue, size); ++residue)
    n -= count_of(residue, size);
  return static_cast<std::uint8_t>(residue);
}

}  // namespace

// Each place is one of two neighbours, from the last ones on.
TEST_CASE("large: gather and scatter of more than 2^31 elements by places beyond 2^32") {
  const smem::Context context;
  const std::size_t count = test::wide_size(31, 4099), size = 2 * count;
  const auto room = test::wide_buffers(context, {size, count, 8 * count});
  if (!room) return;
  const cl::Buffer &all = room->at(0), &some = room->at(1), &places = room->at(2);
  test::Loop loop{.types = {"uchar", "uchar", "ulong", "uchar"}, .body = kRandom};
  loop.with("c[i] = 2 * (size - 1 - i) + (hash_of(i) >> 40 & 1);");
  run_loop(context, loop, count, {all, some, places});
  const smem::VectorView<std::uint64_t> at(places, count);
  const std::size_t ran = test::each_variant(smem::gather_variants(), [&](const std::string& variant) {
    run_loop(context, loop.with(kRandom), size, {all});
    test::poison(context, some, "uchar", count);
    smem::gather(context, Bytes(all, size), at, Bytes(some, count), {.check = true}, {.variant = variant});
    loop.with("wrong += b[i] != a[c[i]] || a[c[i]] != (A)(hash_of(c[i]) >> 40);");
    CHECK(run_loop(context, loop, count, {all, some, places}).wrong == 0);
    // Back with other bits, where the neighbours stay.
    run_loop(context, loop.with("b[i] ^= 0xa5;"), count, {all, some, places});
    smem::scatter(context, Bytes(some, count), at, Bytes(all, size), {.check = true}, {.variant = variant});
    loop.with(R"(
      const ulong place = c[i], other = place ^ 1;
      wrong += a[place] != (A)(hash_of(place) >> 40 ^ 0xa5) || a[other] != (A)(hash_of(other) >> 40);
    )");
    CHECK(run_loop(context, loop, count, {all, some, places}).wrong == 0);
  });
  CHECK(ran >= 1);
}

TEST_CASE("large: gather_rows and scatter_rows of more than 2^32 bytes") {
  moves_rows(test::wide_size(20, 3), 4112);
  moves_rows(test::wide_size(20, 3), 4099);
  moves_rows(test::wide_size(31, 3), 3);
}

TEST_CASE("large: nth_element of more than 2^31 elements") {
  const smem::Context context;
  const std::size_t size = test::wide_size(31, 4099) + test::wide_size(30, 0);
  const auto room = test::wide_buffers(context, {size}, size);
  if (!room) return;
  test::run_loop(context, {.body = kFillResidues}, size, *room);
  for (const std::size_t n : {std::size_t{3}, test::wide_size(31, 17), size - 1}) {
    CAPTURE(n);
    const std::size_t ran = test::each_variant(smem::top_k_variants(), [&](const std::string& variant) {
      const smem::Array<std::uint8_t> least(context, {251}), greatest(context, {251});
      smem::nth_element(context, Bytes(room->at(0), size), least, {.n = n}, {.variant = variant});
      smem::nth_element(context, Bytes(room->at(0), size), greatest, {.n = n, .descending = true},
                        {.variant = variant});
      CHECK(least.to_host()[0] == nth_residue(n, size));
      CHECK(greatest.to_host()[0] == nth_residue(size - 1 - n, size));
    });
    CHECK(ran >= 1);
  }
}

// Results in the order of their places: the greatest, and of those that are equal to the last one the first.
TEST_CASE("large: top_k of more than 2^31 results") {
  const smem::Context context;
  const std::size_t size = test::wide_size(31, 4099) + test::wide_size(30, 0), k = test::wide_size(31, 17);
  const auto room = test::wide_buffers(context, {k, 4 * k, size}, size / 2);
  if (!room) return;
  test::Loop loop{.types = {"uchar", "uint", "uchar", "uchar"}};
  test::run_loop(context, {.body = kFillResidues}, size, {room->at(2)});
  const std::size_t last = nth_residue(size - k, size);
  std::size_t greater = 0;
  for (std::size_t residue = last + 1; residue < kResidues; ++residue)
    greater += count_of(residue, size);
  // The place after the last of the equal ones.
  const std::size_t end = (k - greater - 1) * kResidues + last + 1;
  loop.with(R"(
    const uint place = b[i];
    wrong += a[i] != place % 251 || a[i] < p || (a[i] == p && place >= q) || (i > 0 && b[i - 1] >= place);
    sum += a[i] == p;
  )");
  const std::size_t ran = test::each_variant({"radix_select", "cpu"}, [&](const std::string& variant) {
    test::poison(context, room->at(0), "uchar", k);
    test::poison(context, room->at(1), "uint", k);
    smem::top_k(context, Bytes(room->at(2), size), Bytes(room->at(0), k),
                smem::VectorView<std::uint32_t>(room->at(1), k), {.sorted = false}, {.variant = variant});
    CHECK(run_loop(context, loop, k, *room, last, end) ==
          test::Found{0, static_cast<std::uint32_t>(k - greater)});
  });
  CHECK(ran >= 1);
}

TEST_CASE("large: reduce_by_key and unique_by_key of more than 2^32 elements") {
  const smem::Context context;
  const std::size_t size = test::wide_size(32, 4099);
  const auto room = test::wide_buffers(context, {size, size, size, size}, size / 2);
  if (!room) return;
  const cl::Buffer &keys = room->at(0), &in = room->at(1), &to_keys = room->at(2), &out = room->at(3);
  const Bytes keys_view(keys, size), in_view(in, size), to_keys_view(to_keys, size), out_view(out, size);
  test::Loop loop;
  const auto poison_both = [&] {
    test::poison(context, to_keys, "uchar", size);
    test::poison(context, out, "uchar", size);
  };
  for (const std::string& variant :
       test::running_compactions(context.device(), smem::reduce_by_key_variants())) {
    CAPTURE(variant);
    // Every element is a run: there are more than 2^32.
    run_loop(context, loop.with("a[i] = (A)(i % 251); b[i] = (B)(hash_of(i) >> 40);"), size, {keys, in});
    poison_both();
    CHECK(smem::unique_by_key(context, keys_view, in_view, to_keys_view, out_view, {.variant = variant}) ==
          size);
    loop.with("wrong += a[i] != c[i] || b[i] != d[i];");
    CHECK(run_loop(context, loop, size, {keys, in, to_keys, out}).wrong == 0);
    // Runs of two; of odd many elements the last one alone.
    run_loop(context, loop.with("a[i] = (A)(i / 2 % 251);"), size, {keys, in});
    poison_both();
    const std::size_t runs = size / 2 + size % 2;
    CHECK(smem::reduce_by_key(context, keys_view, in_view, to_keys_view, out_view, smem::ReduceOp::sum,
                              {.variant = variant}) == runs);
    loop.with("wrong += c[i] != i % 251 || d[i] != (D)(b[2 * i] + (2 * i + 1 < p ? b[2 * i + 1] : 0));");
    CHECK(run_loop(context, loop, runs, {keys, in, to_keys, out}, size).wrong == 0);
  }
}
