// Sorts of rows and segments, and selections from rows, of more than 2^31 and 2^32 elements: see
// support/wide.hpp.
#include "support/broken.hpp"
#include "support/wide.hpp"

#include <smem/smem.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

using smem::Scalar;

namespace {

/// Rows of `cols` keys. The lower half of a byte is different in each row.
std::string rows_of(std::size_t cols) {
  return "#define COLS " + std::to_string(cols) + "ul\n" + R"(
ulong row_at(ulong i) { return i / COLS; }
ulong begin_at(ulong row) { return row * COLS; }
)";
}

/// One long segment of `head` keys, then segments from none to 2 * `usual` keys, of which every second one is
/// of any length below `usual`, and short ones are frequent.
std::string segments_of(std::size_t head, std::size_t usual, std::size_t count) {
  return "#define HEAD " + std::to_string(head) + "ul\n#define USUAL " + std::to_string(usual) +
         "ul\n#define COUNT " + std::to_string(count) + "ul\n" + R"(
ulong hash_of(ulong z);
ulong tail_at(ulong t) {
  const ulong hash = hash_of(t), some = (hash >> 10) % (USUAL / 2) >> hash % 14;
  return t == 0 || t >= COUNT ? min(t, COUNT) * USUAL : t * USUAL + (t % 2 != 0 ? USUAL - some : some);
}
ulong begin_at(ulong row) { return row == 0 ? 0 : HEAD + tail_at(row - 1); }
ulong row_at(ulong i) {
  if (i < HEAD) return 0;
  const ulong t = (i - HEAD) / USUAL;
  return i - HEAD >= tail_at(t) ? t + 1 : t;
}
)";
}

/// Keys of rows. With `most`, 15 of 16 are equal, so that more keys have a digit than 30 bits count, or 32.
std::string keys_of(bool most) {
  return std::string("#define MOST ") + (most ? "1" : "0") + R"(
A tag_of(ulong row) { return (A)(hash_of(row) >> 60); }
A key_at(ulong i) {
  const ulong hash = hash_of(i);
  return (A)((MOST && (hash & 15) != 0 ? 5 : hash >> 40) << 4) | tag_of(row_at(i));
}
)";
}

constexpr const char* kFill = "a[i] = key_at(i);";
/// Keys alone: of their row, ascending, and altogether those that there were (`sum`).
constexpr const char* kCheck = R"(
  const ulong row = row_at(i);
  wrong += (a[i] & 15) != tag_of(row) || (i > begin_at(row) && a[i - 1] > a[i]);
  sum += sum_of(a[i]);
)";
constexpr const char* kFillPairs = "a[i] = key_at(i); b[i] = (B)i;";
/// With values, the places in the vector: as places of equal keys ascend, without any of these each is there
/// once.
constexpr const char* kCheckPairs = R"(
  const ulong row = row_at(i), place = b[i];
  wrong += place >= size || row_at(place) != row || key_at(place) != a[i];
  if (i > begin_at(row)) wrong += a[i - 1] > a[i] || (a[i - 1] == a[i] && b[i - 1] >= b[i]);
)";
/// Places in the row alone.
constexpr const char* kCheckPlaces = R"(
  const ulong row = row_at(i), begin = begin_at(row), place = begin + b[i];
  const A key = key_at(place);
  wrong += place >= size || row_at(place) != row;
  if (i > begin) {
    const A left = key_at(begin + b[i - 1]);
    wrong += left > key || (left == key && b[i - 1] >= b[i]);
  }
)";

/// Matrices of bytes.
struct WideRows {
  std::size_t rows, cols, batch = 1;
  bool most = false;
  /// What is tried; radix passes have tables of some kilobytes a row.
  std::vector<std::string_view> variants = {"radix", "cpu"};
  std::size_t least = 1;  ///< of these, that run on every GPU
  std::size_t size() const { return rows * cols * batch; }
};

smem::Matrix matrix_of(const cl::Buffer& buffer, Scalar type, const WideRows& r) {
  return {buffer(), type, r.rows, r.cols, {.batch = r.batch}};
}

void sorts_rows(const WideRows& r) {
  CAPTURE(r.rows);
  CAPTURE(r.cols);
  CAPTURE(r.most);
  const smem::Context context;
  const auto room = test::wide_buffers(context, {r.size(), r.size()}, r.size() / 2);
  if (!room) return;
  const cl::Buffer &keys = room->at(0), &out = room->at(1);
  test::Loop loop{.functions = rows_of(r.cols) + keys_of(r.most), .body = kFill};
  run_loop(context, loop, r.size(), {keys});
  const test::Found before = run_loop(context, loop.with(kCheck), r.size(), {keys});
  CHECK(before.wrong > 0);  // the check itself: these are not sorted
  const std::size_t ran = test::each_variant(r.variants, [&](const std::string& variant) {
    if (test::is_broken(context.device(), "sort_rows", variant)) return;
    test::poison(context, out, "uchar", r.size());
    smem::sort_rows(context, matrix_of(keys, Scalar::uint8, r), matrix_of(out, Scalar::uint8, r), {},
                    {.variant = variant});
    CHECK(run_loop(context, loop.with(kCheck), r.size(), {out}) == test::Found{0, before.sum});
  });
  CHECK(ran >= r.least);
}

void sorts_pairs_of_rows(const WideRows& r) {
  CAPTURE(r.cols);
  const smem::Context context;
  const std::size_t size = r.size();
  const auto room = test::wide_buffers(context, {size, size, 4 * size, 4 * size}, size);
  if (!room) return;
  const cl::Buffer &keys = room->at(0), &out = room->at(1), &values = room->at(2), &out_values = room->at(3);
  test::Loop loop{.types = {"uchar", "uint", "uchar", "uchar"},
                  .functions = rows_of(r.cols) + keys_of(r.most),
                  .body = kFillPairs};
  run_loop(context, loop, size, {keys, values});
  CHECK(run_loop(context, loop.with(kCheckPairs), size, {keys, values}).wrong > 0);
  const std::size_t ran = test::each_variant(r.variants, [&](const std::string& variant) {
    if (test::is_broken(context.device(), "sort_rows", variant)) return;
    const smem::CallOptions options{.variant = variant};
    test::poison(context, out, "uchar", size);
    test::poison(context, out_values, "uint", size);
    smem::sort_pairs_rows(context, matrix_of(keys, Scalar::uint8, r), matrix_of(values, Scalar::uint32, r),
                          matrix_of(out, Scalar::uint8, r), matrix_of(out_values, Scalar::uint32, r), {},
                          options);
    CHECK(run_loop(context, loop.with(kCheckPairs), size, {out, out_values}).wrong == 0);
    test::poison(context, out_values, "uint", size);
    smem::argsort_rows(context, matrix_of(keys, Scalar::uint8, r), matrix_of(out_values, Scalar::uint32, r),
                       {}, options);
    CHECK(run_loop(context, loop.with(kCheckPlaces), size, {keys, out_values}).wrong == 0);
  });
  CHECK(ran >= r.least);
}

/// `segments` of `size` keys in all.
struct WideSegments {
  std::size_t head, usual, tail;  ///< keys of the first, of a usual one, and how many of these
  std::size_t size() const { return head + usual * tail; }
  std::size_t offsets() const { return tail + 2; }
  test::Loop loop(const char* offset, bool most) const {
    return {.types = {"uchar", "uint", offset, "uchar"},
            .functions = segments_of(head, usual, tail) + keys_of(most)};
  }
};

constexpr const char* kOffsets = "c[i] = (C)begin_at(i);";

void sorts_segments(const WideSegments& s, bool most) {
  CAPTURE(most);
  const smem::Context context;
  const auto room = test::wide_buffers(context, {s.size(), s.size(), 8 * s.offsets()}, s.size());
  if (!room) return;
  const cl::Buffer &keys = room->at(0), &out = room->at(1), &offsets = room->at(2);
  test::Loop loop = s.loop("ulong", most);
  run_loop(context, loop.with(kOffsets), s.offsets(), {keys, keys, offsets});
  smem::check_segments(context, smem::VectorView<std::uint64_t>(offsets, s.offsets()), s.size());
  run_loop(context, loop.with(kFill), s.size(), {keys});
  const test::Found before = run_loop(context, loop.with(kCheck), s.size(), {keys});
  CHECK(before.wrong > 0);
  const std::size_t ran = test::each_variant(smem::sort_segments_variants(), [&](const std::string& variant) {
    test::poison(context, out, "uchar", s.size());
    smem::sort_segments(context, smem::VectorView<std::uint8_t>(keys, s.size()),
                        smem::VectorView<std::uint64_t>(offsets, s.offsets()),
                        smem::VectorView<std::uint8_t>(out, s.size()), {}, {.variant = variant});
    CHECK(run_loop(context, loop.with(kCheck), s.size(), {out}) == test::Found{0, before.sum});
  });
  CHECK(ran >= 1);
}

/// Of each row three: in order, and no other element precedes the last of them.
constexpr const char* kCheckThree = R"(
  global const A *row = a + begin_at(i), *value = b + 3 * i;
  global const C* place = c + 3 * i;
  for (uint k = 0; k < 3; ++k) {
    wrong += place[k] >= COLS || row[min(place[k], (uint)COLS - 1)] != value[k];
    wrong += k > 0 && (value[k - 1] < value[k] || (value[k - 1] == value[k] && place[k - 1] >= place[k]));
  }
  uint before = 0;
  for (uint k = 0; k < COLS; ++k) before += row[k] > value[2] || (row[k] == value[2] && k < place[2]);
  wrong += before != 2;
)";

void selects_three(const WideRows& r) {
  CAPTURE(r.cols);
  const smem::Context context;
  const std::size_t rows = r.rows * r.batch;
  const auto room = test::wide_buffers(context, {r.size(), 3 * rows, 12 * rows}, r.size());
  if (!room) return;
  test::Loop loop{.types = {"uchar", "uchar", "uint", "uchar"},
                  .functions = rows_of(r.cols),
                  .body = "a[i] = (A)(hash_of(i) >> 40);"};
  run_loop(context, loop, r.size(), *room);
  const smem::Matrix values(room->at(1)(), Scalar::uint8, r.rows, 3, {.batch = r.batch}),
      places(room->at(2)(), Scalar::uint32, r.rows, 3, {.batch = r.batch});
  const std::size_t ran = test::each_variant(r.variants, [&](const std::string& variant) {
    if (test::is_broken(context.device(), "top_k", variant)) return;
    test::poison(context, room->at(1), "uchar", 3 * rows);
    test::poison(context, room->at(2), "uint", 3 * rows);
    smem::top_k_rows(context, matrix_of(room->at(0), Scalar::uint8, r), values, places, {},
                     {.variant = variant});
    CHECK(run_loop(context, loop.with(kCheckThree), rows, *room).wrong == 0);
  });
  CHECK(ran >= r.least);
}

}  // namespace

TEST_CASE("large: sort_rows of more than 2^32 rows") {
  sorts_rows({.rows = test::wide_size(30, 5),
              .cols = 2,
              .batch = 4,
              .variants = {"keys_only", "network", "cpu"},
              .least = 2});
}

TEST_CASE("large: sort_rows of rows that have more than 2^32 keys together") {
  sorts_rows({.rows = test::wide_size(25, 1),
              .cols = 130,
              .variants = {"keys_only", "network", "tile", "cpu"},
              .least = 3});
  sorts_rows({.rows = test::wide_size(20, 3),
              .cols = 2051,
              .batch = 2,
              .variants = {"keys_only", "tile", "radix", "cpu"},
              .least = 2});
}

TEST_CASE("large: sort_rows of a row of more than 2^32 keys") {
  const std::size_t cols = test::wide_size(32, 0) + test::wide_size(29, 4099);
  for (const bool most : {false, true})
    sorts_rows({.rows = 1, .cols = cols, .most = most});
}

TEST_CASE("large: sort_pairs_rows and argsort_rows of more than 2^31 values") {
  sorts_pairs_of_rows(
      {.rows = test::wide_size(24, 1), .cols = 130, .variants = {"network", "tile", "cpu"}, .least = 2});
  sorts_pairs_of_rows({.rows = test::wide_size(20, 3), .cols = 2051, .variants = {"tile", "radix", "cpu"}});
  sorts_pairs_of_rows({.rows = 1, .cols = test::wide_size(31, 4099)});
}

TEST_CASE("large: argsort_rows of a row by places of 64 bits") {
  const smem::Context context;
  const WideRows r{.rows = 1, .cols = test::wide_size(31, 4099)};
  const auto room = test::wide_buffers(context, {r.size(), 8 * r.size()}, r.size());
  if (!room) return;
  test::Loop loop{.types = {"uchar", "ulong", "uchar", "uchar"},
                  .functions = rows_of(r.cols) + keys_of(false),
                  .body = kFill};
  run_loop(context, loop, r.size(), *room);
  test::poison(context, room->at(1), "ulong", r.size());
  smem::argsort_rows(context, matrix_of(room->at(0), Scalar::uint8, r),
                     matrix_of(room->at(1), Scalar::uint64, r));
  CHECK(run_loop(context, loop.with(kCheckPlaces), r.size(), *room).wrong == 0);
}

TEST_CASE("large: sort_segments whose offsets pass 2^32") {
  for (const bool most : {false, true}) {
    const std::size_t head = test::wide_size(32, 0) + test::wide_size(29, 99);
    sorts_segments({head, 6000, test::wide_size(16, 7)}, most);
    sorts_segments({test::wide_size(20, 99), 6000, test::wide_size(20, 7)}, most);
  }
}

TEST_CASE("large: sort_pairs_segments and argsort_segments of more than 2^31 values") {
  const WideSegments s{test::wide_size(31, 99), 6000, test::wide_size(14, 7)};
  const smem::Context context;
  const std::size_t size = s.size();
  const auto room = test::wide_buffers(context, {size, 4 * size, 4 * s.offsets(), size, 4 * size}, 2 * size);
  if (!room) return;
  const cl::Buffer &keys = room->at(0), &values = room->at(1), &offsets = room->at(2), &out = room->at(3),
                   &out_values = room->at(4);
  test::Loop loop = s.loop("uint", false);
  run_loop(context, loop.with(kOffsets), s.offsets(), {keys, values, offsets});
  run_loop(context, loop.with(kFillPairs), size, {keys, values});
  CHECK(run_loop(context, loop.with(kCheckPairs), size, {keys, values}).wrong > 0);
  const auto bytes = [&](const cl::Buffer& buffer) { return smem::VectorView<std::uint8_t>(buffer, size); };
  const auto words = [&](const cl::Buffer& buffer) { return smem::VectorView<std::uint32_t>(buffer, size); };
  const smem::VectorView<std::uint32_t> bounds(offsets, s.offsets());
  test::each_variant(smem::sort_segments_variants(), [&](const std::string& variant) {
    test::poison(context, out, "uchar", size);
    test::poison(context, out_values, "uint", size);
    smem::sort_pairs_segments(context, bytes(keys), words(values), bounds, bytes(out), words(out_values), {},
                              {.variant = variant});
    CHECK(run_loop(context, loop.with(kCheckPairs), size, {out, out_values}).wrong == 0);
    test::poison(context, out_values, "uint", size);
    smem::argsort_segments(context, bytes(keys), bounds, words(out_values), {}, {.variant = variant});
    CHECK(run_loop(context, loop.with(kCheckPlaces), size, {keys, out_values}).wrong == 0);
  });
}

TEST_CASE("large: top_k_rows of more than 2^32 elements") {
  selects_three({.rows = test::wide_size(20, 3),
                 .cols = 1025,
                 .batch = 4,
                 .variants = {"tile", "registers", "row_delegates", "delegates", "cpu"},
                 .least = 3});
  selects_three({.rows = test::wide_size(11, 1),
                 .cols = (std::size_t{1} << 20) + 13,
                 .batch = 2,
                 .variants = {"delegates", "radix_select", "cpu"},
                 .least = 2});
}

// A thread has more than one row, so that launches of few groups have any number of rows.
TEST_CASE("large: where rows of several matrices begin, beyond 2^32 of them") {
  const smem::Context context;
  const std::vector<cl_ulong> rows{5, 3000000000, 4294967295, 4294967296, 4294967303, 9000000005};
  constexpr cl_ulong kRows = 3000000000, kOffset = 7, kPitch = 11, kStride = 40000000000;
  std::vector<cl_ulong> expected;
  for (const cl_ulong row : rows)
    expected.push_back(kOffset + row / kRows * kStride + row % kRows * kPitch);
  for (const char* file : {"sort_rows/cpu.cl", "top_k/cpu.cl"}) {
    CAPTURE(std::string(file));
    const smem::Kernel kernel = context.build({.source = std::string("#include \"") + file + "\"\n" + R"(
kernel void starts(global ulong* of, ulong rows, ulong offset, ulong pitch, ulong stride) {
  of[get_global_id(0)] = row_start(of[get_global_id(0)], rows, offset, pitch, stride);
}
)",
                                               .entry_point = "starts"});
    const smem::Array<cl_ulong> of(context, rows);
    kernel({{rows.size(), 1, 1}, {1, 1, 1}}, of, kRows, kOffset, kPitch, kStride);
    CHECK(of.to_host() == expected);
  }
}
