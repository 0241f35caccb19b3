// Scans: every variant, operation, type and shape against plain loops.
#include <smem/smem.hpp>

#include "plan/look_back.hpp"
#include "support/environment.hpp"
#include "support/failure.hpp"
#include "support/large_buffer.hpp"
#include "support/scans.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

using smem::ReduceOp;
using smem::Scalar;
using smem::ScanShape;
using test::ScanCase;
using test::vector_case;

namespace {

constexpr ReduceOp kOps[] = {ReduceOp::sum,    ReduceOp::product, ReduceOp::min,
                             ReduceOp::max,    ReduceOp::sum,     ReduceOp::bit_and,
                             ReduceOp::bit_or, ReduceOp::any,     ReduceOp::all};

}  // namespace

// Each program costs a driver's compiler a second, so that operations, types and variants take turns: every
// one of them meets many of the others, and all appear.
TEST_CASE("scan: every variant, every operation, every type") {
  const smem::Context context;
  test::ScanSweep sweep(context);
  const auto variants = smem::scan_variants();
  std::vector<std::size_t> ran(variants.size());
  for (std::size_t t = 0; t < std::size(test::kScalars); ++t) {
    const Scalar type = test::kScalars[t];
    for (std::size_t v = 0; v < variants.size(); ++v) {
      if ((t + v) % 5 != 0 && type != Scalar::float32) continue;
      const ReduceOp op = kOps[(2 * t + v) % std::size(kOps)];
      if (!test::fits(context.device(), op, type)) continue;
      ScanCase c = vector_case(op, type, variants[v]);
      c.exclusive = t % 2 == 1;
      if (op == ReduceOp::sum) c.initial = 5;
      test::scan_vectors(sweep, c);
      ran[v] += sweep.ran();
    }
  }
  for (std::size_t v = 0; v < variants.size(); ++v) {
    CAPTURE(variants[v]);
    const bool must = variants[v] != "short_rows" &&  // of rows alone
                      (variants[v] != "look_back" || context.device().forward_progress) &&
                      (variants[v] != "cpu" ||
                       (context.device().type == smem::DeviceType::cpu && context.device().long_loops));
    CHECK((ran[v] > 0 || !must));
  }
}

TEST_CASE("scan: every operation the other way round, by the plan's own choice") {
  const smem::Context context;
  test::ScanSweep sweep(context);
  for (const ReduceOp op : kOps) {
    ScanCase c = vector_case(op, Scalar::uint32, "");
    c.exclusive = op != ReduceOp::sum && op != ReduceOp::bit_or;
    test::scan_vectors(sweep, c);
  }
  CHECK(sweep.ran() == 10 * std::size(kOps));
}

TEST_CASE("scan: every type, with results that are more than a CPU's cache holds") {
  const test::Variable clamp("SMEM_CLAMP", "cache=1K");
  const smem::Context context;
  if (!test::has_cpu_variant(context.device())) return;
  test::ScanSweep sweep(context);
  for (std::size_t t = 0; t < std::size(test::kScalars); ++t) {
    const Scalar type = test::kScalars[t];
    const ReduceOp op = kOps[(t + 3) % std::size(kOps)];
    if (!test::fits(context.device(), op, type)) continue;
    ScanCase c = vector_case(op, type, "");
    c.exclusive = t % 2 == 0;
    if (op == ReduceOp::sum) c.initial = 7;
    test::scan_vectors(sweep, c);
  }
  CHECK(sweep.ran() > 5 * 10);
}

TEST_CASE("scan: narrow integers of many tiles, which stay as they are read") {
  const smem::Context context;
  test::ScanSweep sweep(context);
  for (const auto& [op, type, exclusive] : {std::tuple{ReduceOp::sum, Scalar::uint8, false},
                                            {ReduceOp::max, Scalar::int8, true},
                                            {ReduceOp::all, Scalar::uint8, false},
                                            {ReduceOp::min, Scalar::int16, false},
                                            {ReduceOp::sum, Scalar::uint16, true}}) {
    ScanCase c = vector_case(op, type, "");
    c.out = type;  // the usual result of a sum has 8 bytes
    c.exclusive = exclusive;
    if (op == ReduceOp::sum) c.initial = 9;
    for (const std::size_t size : {(std::size_t{1} << 23) + 1, (std::size_t{1} << 23) + 65536}) {
      c.cols = size;
      const smem::Plan plan = smem::plan_scan(context.device(), problem_of(c));
      const bool is_narrow = std::any_of(plan.defines.begin(), plan.defines.end(),
                                         [](const auto& one) { return one.first == "NARROW_WORDS"; });
      CHECK(is_narrow == (smem::plan::is_nvidia_gpu(context.device()) && plan.variant == "look_back"));
      c.in_place = size % 2 == 0;
      if (is_narrow) sweep.run(c);
    }
  }
}

TEST_CASE("scan: half and float into double, double into half") {
  const smem::Context context;
  if (!context.device().fp64) return;
  test::ScanSweep sweep(context);
  std::size_t asked = 0;
  for (const auto& [in, out, exclusive] : {std::tuple{Scalar::half, Scalar::float64, false},
                                           {Scalar::half, Scalar::float64, true},
                                           {Scalar::float64, Scalar::half, false}}) {
    ScanCase c = vector_case(exclusive ? ReduceOp::product : ReduceOp::sum, in, "");
    c.out = out;
    c.exclusive = exclusive;
    test::scan_vectors(sweep, c);
    asked += sweep.ran() == 0 ? 0 : 1;
  }
  CHECK(asked == 3);
  for (const bool exclusive : {false, true}) {
    ScanCase c = vector_case(ReduceOp::sum, Scalar::half, "");
    c.out = Scalar::float64;
    c.exclusive = exclusive;
    c.shape = ScanShape::rows;
    c.rows = 9;
    c.cols = 1031;
    c.from = c.to = test::strided(c.rows, c.cols, 2);
    sweep.run(c);
  }
  CHECK(sweep.ran() == 2);
}

TEST_CASE("scan: an operation that is not commutative, and an initial value past many tiles") {
  const smem::Context context;
  test::ScanSweep sweep(context);
  for (const std::string_view variant : smem::scan_variants()) {
    ScanCase c = vector_case(ReduceOp::sum, Scalar::uint32, variant);
    c.operation = test::affine();
    c.exclusive = true;
    c.initial = 0x70003;
    test::scan_vectors(sweep, c);
    c.exclusive = false;
    test::scan_vectors(sweep, c);
    c.initial.reset();
    test::scan_vectors(sweep, c);
  }
  CHECK(sweep.ran() >= 3 * 3 * 10);
}

namespace {

/// `few`: shapes; each length of rows is a program.
void matrices(ScanShape shape, ReduceOp op, Scalar type, bool exclusive, bool few = false) {
  const smem::Context context;
  if (!test::fits(context.device(), op, type)) return;
  test::ScanSweep sweep(context);
  for (const char* variant : test::kShapedScans) {
    CAPTURE(variant);
    ScanCase c = vector_case(op, type, variant);
    c.shape = shape;
    c.exclusive = exclusive;
    if (exclusive) c.initial = 3;
    for (const auto& [rows, cols] : {std::pair<std::size_t, std::size_t>{1, 1},
                                     {0, 5},
                                     {5, 0},
                                     {3, 7},
                                     {67, 129},
                                     {33, 2051},
                                     {2, 90001},
                                     {9001, 2}}) {
      if (few && rows != 67 && rows != 2) continue;
      c.rows = rows;
      c.cols = cols;
      for (int turn = 0; turn < (rows * cols > 20000 ? 1 : 3); ++turn) {
        const bool is_long = cols > 1000 && turn == 0;  // whole packs there, single elements elsewhere
        c.from = is_long     ? test::aligned(rows, cols, 2)
                 : turn == 1 ? test::side_by_side(cols, 2)
                             : test::strided(rows, cols, 3);
        c.to = is_long ? test::aligned(rows, cols, 1) : test::strided(rows, cols, 1);
        c.in_place = turn == 2 && smem::size_of(type) == smem::size_of(test::problem_of(c).out);
        sweep.run(c);
      }
    }
    const std::size_t ran = sweep.ran();
    CHECK((ran > 0 || variant != std::string("reduce_then_scan")));
  }
}

}  // namespace

TEST_CASE("scan rows: short ones without gaps") {
  const smem::Context context;
  test::ScanSweep sweep(context);
  constexpr std::pair<ReduceOp, Scalar> kOf[] = {{ReduceOp::sum, Scalar::float32},
                                                 {ReduceOp::max, Scalar::half},
                                                 {ReduceOp::sum, Scalar::uint8},
                                                 {ReduceOp::bit_or, Scalar::int64},
                                                 {ReduceOp::custom, Scalar::uint32}};
  constexpr std::pair<std::size_t, std::size_t> kSizes[] = {
      {1000, 1}, {777, 3},  {5001, 7}, {300, 16}, {1290, 33}, {700, 100}, {40, 300}, {20, 1000},
      {9, 2047}, {5, 2048}, {4, 4095}, {3, 9000}, {50, 301},  {31, 777},  {7, 1021}};
  std::size_t ran = 0;
  for (const auto& [op, type] : kOf) {
    ScanCase c = vector_case(op == ReduceOp::custom ? ReduceOp::sum : op, type, "short_rows");
    if (op == ReduceOp::custom) c.operation = test::affine();
    if (!test::fits(context.device(), op, type)) continue;
    c.shape = ScanShape::rows;
    for (const auto& [rows, cols] : kSizes) {
      c.rows = rows;
      c.cols = cols;
      for (const bool exclusive : {false, true}) {
        c.exclusive = exclusive;
        c.initial.reset();
        if (exclusive) c.initial = 3;
        c.from = test::packed(2);
        c.to = {{.offset = rows % 3 == 1 ? 1u : 0u, .batch = 2},
                0};  // else packs, and at the end a part of one
        sweep.run(c);
        ran += sweep.ran();
      }
    }
  }
  CHECK(ran > 40);
}

TEST_CASE("scan rows: inclusive sums of float32") {
  matrices(ScanShape::rows, ReduceOp::sum, Scalar::float32, false);
}
TEST_CASE("scan rows: exclusive maxima of int16") {
  matrices(ScanShape::rows, ReduceOp::max, Scalar::int16, true, true);
}
// Rows that lie one after the other, whose elements a CPU's threads have in the same vectors.
TEST_CASE("scan rows: few elements, one row after the other, every type") {
  for (const char* limits : {"", "cache=1K"}) {  // less than the results: a CPU's stores go past it
    const test::Variable clamp("SMEM_CLAMP", limits);
    const smem::Context context;
    test::ScanSweep sweep(context);
    std::size_t asked = 0;
    for (std::size_t t = 0; t < std::size(test::kScalars); ++t) {
      ScanCase c = vector_case(kOps[(t + (*limits == 0 ? 0 : 4)) % std::size(kOps)], test::kScalars[t], "");
      if (!test::fits(context.device(), c.operation.op, c.in)) continue;
      c.shape = ScanShape::rows;
      c.exclusive = (t + (*limits == 0 ? 0 : 1)) % 2 == 1;
      if (c.exclusive && c.operation.op != ReduceOp::any && c.operation.op != ReduceOp::all) c.initial = 3;
      for (const auto& [rows, cols] : {std::pair<std::size_t, std::size_t>{1, 1},
                                       {15, 1},
                                       {1000, 2},
                                       {333, 3},
                                       {5, 4},
                                       {201, 5},
                                       {143, 7},
                                       {97, 8},
                                       {61, 9},
                                       {41, 15},
                                       {67, 16},
                                       {77, 17},
                                       {31, 33},
                                       {7, 64},
                                       {3, 65},
                                       {9, 300}}) {
        c.rows = rows;
        c.cols = cols;
        c.from = {{.offset = rows % 4, .batch = 2}, 1};
        c.to = {{.offset = cols % 19, .batch = 2}, 3};
        c.in_place = cols % 3 == 1 && smem::size_of(c.in) == smem::size_of(test::problem_of(c).out);
        sweep.run(c);
        ++asked;
      }
      CHECK(sweep.ran() == asked);
      asked = 0;
    }
  }
}

TEST_CASE("scan columns: few columns, one row after the other, every type") {
  const smem::Context context;
  test::ScanSweep sweep(context);
  for (std::size_t t = 0; t < std::size(test::kScalars); ++t) {
    ScanCase c = vector_case(kOps[(2 * t + 1) % std::size(kOps)], test::kScalars[t], "");
    if (!test::fits(context.device(), c.operation.op, c.in)) continue;
    c.shape = ScanShape::columns;
    c.exclusive = t % 2 == 1;
    if (c.exclusive && c.operation.op != ReduceOp::any && c.operation.op != ReduceOp::all) c.initial = 3;
    std::size_t asked = 0;
    for (std::size_t cols = 1; cols <= 17; ++cols) {
      if (cols % 5 != t % 5) continue;  // a program each
      for (const std::size_t rows : {1, 5, 1003}) {
        c.rows = rows;
        c.cols = cols;
        c.from = {{.offset = rows % 4, .batch = 2}, 1};
        c.to = {{.offset = cols % 19, .batch = 2}, 3};
        c.in_place = cols % 3 == 1 && smem::size_of(c.in) == smem::size_of(test::problem_of(c).out);
        sweep.run(c);
        ++asked;
      }
    }
    CHECK(sweep.ran() == asked);
  }
}

// Vectors of a row whose last one overlaps the one before, strips of which the last is narrow, and turns of
// several rows.
TEST_CASE("scan columns: rows of vectors") {
  const smem::Context context;
  test::ScanSweep sweep(context);
  constexpr std::pair<ReduceOp, Scalar> kOf[] = {{ReduceOp::sum, Scalar::float32},
                                                 {ReduceOp::max, Scalar::half},
                                                 {ReduceOp::sum, Scalar::uint8},
                                                 {ReduceOp::min, Scalar::int64}};
  for (const auto& [op, type] : kOf) {
    ScanCase c = vector_case(op, type, "");
    c.shape = ScanShape::columns;
    std::size_t asked = 0;
    for (const std::size_t cols : {16, 20, 33, 128, 129, 143, 257, 513, 530, 1025, 1040, 2063}) {
      for (const std::size_t rows : {1, 3, 4, 303}) {
        c.rows = rows;
        c.cols = cols;
        c.exclusive = (rows + cols) % 3 == 0;
        c.from = {{.offset = rows % 4, .pitch = cols + cols % 3, .batch = 2}, 1};
        c.to = {{.offset = cols % 19, .pitch = cols + rows % 2, .batch = 2}, 3};
        c.in_place = cols % 4 != 1 && smem::size_of(c.in) == smem::size_of(test::problem_of(c).out);
        sweep.run(c);
        ++asked;
      }
    }
    CHECK(sweep.ran() == asked);
  }
}

// Small groups have small tiles: of columns that are several blocks of them, and more blocks than a group
// looks at.
TEST_CASE("scan columns: tiles that look back over those above them") {
  const smem::Context context;
  for (const std::size_t work_items : {0, 64}) {
    test::ScanSweep sweep(context);
    constexpr std::pair<ReduceOp, Scalar> kOf[] = {
        {ReduceOp::sum, Scalar::float32}, {ReduceOp::max, Scalar::half},  {ReduceOp::sum, Scalar::uint8},
        {ReduceOp::min, Scalar::int64},   {ReduceOp::any, Scalar::int16}, {ReduceOp::custom, Scalar::uint32},
        {ReduceOp::all, Scalar::half}};
    std::size_t asked = 0, ran = 0;
    for (const auto& [op, type] : kOf) {
      ScanCase c = vector_case(op == ReduceOp::custom ? ReduceOp::sum : op, type, "look_back");
      c.work_items = work_items;
      if (op == ReduceOp::custom) c.operation = test::affine();
      if (!test::fits(context.device(), op, type)) continue;
      c.shape = ScanShape::columns;
      for (const auto& [rows, cols] : {std::pair<std::size_t, std::size_t>{1, 1},
                                       {70, 33},
                                       {4099, 40},
                                       {12007, 7},
                                       {2503, 64},
                                       {300, 130}}) {
        c.rows = rows;
        c.cols = cols;
        c.exclusive = (rows + cols) % 2 == 0;
        c.initial.reset();
        if (c.exclusive && op != ReduceOp::any && op != ReduceOp::all) c.initial = 3;
        const std::size_t gap = rows % 4 == 3 ? 0 : 1;
        c.from = {{.offset = 16 * gap, .pitch = cols + gap, .batch = 2}, 16 * gap};
        c.to = {{.offset = 16 * gap, .pitch = cols + 3 * gap, .batch = 2}, 16 * gap};
        c.in_place = cols % 3 == 1 && smem::size_of(c.in) == smem::size_of(test::problem_of(c).out);
        sweep.run(c);
        ++asked;
        ran += sweep.ran();
      }
    }
    CHECK(ran == (smem::plan::prefers_look_back(context.device()) ? asked : 0));
  }
}

TEST_CASE("scan columns: exclusive sums of half") {
  matrices(ScanShape::columns, ReduceOp::sum, Scalar::half, true);
}
TEST_CASE("scan columns: sums between two halves are rounded to the nearest, ties to even") {
  const smem::Context context;
  constexpr std::size_t kRows = 3, kCols = 100;
  constexpr float kSums[] = {2048, 2048, 2050, 2052};  // of 2048 and 0 to 3
  std::vector<smem::half> cells(kRows * kCols), expected(kRows * kCols);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::size_t row = i / kCols, added = i % kCols % 4;
    cells[i] = smem::half(row == 0 ? 2048.0F : row == 1 ? static_cast<float>(added) : 0.0F);
    expected[i] = smem::half(row == 0 ? 2048.0F : kSums[added]);
  }
  const smem::Array<smem::half> in(context, cells), out(context, smem::Count{cells.size()});
  smem::inclusive_scan_columns(context, in.matrix(kRows, kCols), out.matrix(kRows, kCols));
  CHECK(out.to_host() == expected);
}
TEST_CASE("scan columns: inclusive minima of int32") {
  matrices(ScanShape::columns, ReduceOp::min, Scalar::int32, false);
}
TEST_CASE("large: a scan of more than 2^31 elements") {
  const smem::Context context;
  const std::size_t size = (std::size_t{1} << 31) + 4099;
  // In place, so that one buffer is enough.
  const auto room = test::large_buffer(context, size, size + (size >> 2));
  if (!room) return;
  const cl::Buffer& buffer = *room;
  constexpr std::size_t kPiece = std::size_t{1} << 28;
  std::vector<std::uint8_t> ones(kPiece, 1);
  for (std::size_t first = 0; first < size; first += kPiece) {
    REQUIRE(clEnqueueWriteBuffer(context.queue()(), buffer(), CL_TRUE, first, std::min(kPiece, size - first),
                                 ones.data(), 0, nullptr, nullptr) == CL_SUCCESS);
  }
  const smem::VectorView<std::uint8_t> view(buffer, size);
  smem::exclusive_scan(context, view, view, ReduceOp::sum, 3);
  std::size_t wrong = 0;
  for (std::size_t first = 0; first < size; first += kPiece) {
    const std::size_t count = std::min(kPiece, size - first);
    REQUIRE(clEnqueueReadBuffer(context.queue()(), buffer(), CL_TRUE, first, count, ones.data(), 0, nullptr,
                                nullptr) == CL_SUCCESS);
    for (std::size_t i = 0; i < count; ++i)
      wrong += ones[i] != static_cast<std::uint8_t>(first + i + 3);
  }
  CHECK(wrong == 0);
}

TEST_CASE("scan: calls that use the same statuses tell them apart") {
  const smem::Context context;
  std::uint32_t next = 1;
  for (const std::size_t size : {100003, 70001, 100003, 100003}) {
    // Other data and other sizes, of numbers of 4 and of 8 bytes in turn.
    std::vector<std::uint32_t> host(size);
    for (std::uint32_t& number : host)
      number = (next = next * 1664525 + 1013904223) >> 20;
    const std::vector<std::uint64_t> wide(host.begin(), host.end());
    const smem::Array<std::uint32_t> in(context, host);
    const smem::Array<std::uint64_t> wide_in(context, wide);
    const smem::Array<std::uint32_t> out(context, smem::Count{size});
    const smem::Array<std::uint64_t> wide_out(context, smem::Count{size});
    const smem::PlanOverrides fixed{.variant = "look_back", .work_items = 32};
    try {
      smem::inclusive_scan(context, in.vector(), out.vector(), smem::ReduceOp::sum, {.overrides = &fixed});
      smem::inclusive_scan(context, wide_in.vector(), wide_out.vector(), smem::ReduceOp::sum,
                           {.overrides = &fixed});
    } catch (const smem::Error& error) {
      CHECK(error.details().argument == "variant");
      return;
    }
    std::vector<std::uint32_t> sums(size);
    std::partial_sum(host.begin(), host.end(), sums.begin());
    const std::vector<std::uint64_t> wide_sums(sums.begin(), sums.end());
    CHECK(out.to_host() == sums);
    CHECK(wide_out.to_host() == wide_sums);
  }
}
