// Reductions: every variant, operation and type against plain loops.
#include <smem/smem.hpp>

#include "support/environment.hpp"
#include "support/failure.hpp"
#include "support/large_buffer.hpp"
#include "support/reduce_sweep.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

using smem::ReduceOp;
using smem::ReduceShape;
using smem::Scalar;
using test::ReduceCase;

namespace {

/// Every operation on int32 and float32; on the other types those that differ in more than their types, since
/// each is a kernel to compile.
bool is_worth(ReduceOp op, Scalar type) {
  if (type == Scalar::int32 || type == Scalar::float32) return true;
  return op == ReduceOp::sum || op == ReduceOp::argmax || op == ReduceOp::minmax ||
         (op == ReduceOp::mean && type != Scalar::half) || (op == ReduceOp::bit_or && type == Scalar::uint64);
}

/// Trees, several and cpu: all three for float32; other types have each operation on two of them, in turn.
bool is_chosen(std::string_view variant, ReduceOp op, Scalar type) {
  if (!test::is_turn_of(variant, op, type)) return false;
  if (variant == "shuffle" || variant == "sub_group") return true;
  const int kind = variant == "several" ? 1 : variant == "cpu" ? 2 : 0;
  return type == Scalar::float32 || (static_cast<int>(op) + 2 * static_cast<int>(type)) % 3 != kind;
}

void every_vector(Scalar type) {
  const smem::Context context;
  if (type == Scalar::float64 && !context.device().fp64) return;
  test::ReduceSweep sweep(context);
  for (const std::string_view variant : smem::reduce_variants()) {
    CAPTURE(variant);
    std::size_t ran = 0;
    for (const ReduceOp op : test::kReduceOps) {
      if (!test::fits(context.device(), op, type) || !is_worth(op, type) || !is_chosen(variant, op, type))
        continue;
      ReduceCase c;
      c.reduction = op;
      c.in = type;
      c.variant = variant;
      test::run_vectors(sweep, c);
      ran += sweep.ran();
    }
    if (ran == 0) MESSAGE("variant " << variant << " does not run on " << context.device().name);
    const bool runs = variant == "several" || (variant == "cpu" && test::has_cpu_variant(context.device()));
    CHECK_MESSAGE((ran > 0 || !runs), variant);
  }
}

}  // namespace

TEST_CASE("reduce: every variant and operation on int8") { every_vector(Scalar::int8); }
TEST_CASE("reduce: every variant and operation on int16") { every_vector(Scalar::int16); }
TEST_CASE("reduce: every variant and operation on int32") { every_vector(Scalar::int32); }
TEST_CASE("reduce: every variant and operation on int64") { every_vector(Scalar::int64); }
TEST_CASE("reduce: every variant and operation on uint8") { every_vector(Scalar::uint8); }
TEST_CASE("reduce: every variant and operation on uint16") { every_vector(Scalar::uint16); }
TEST_CASE("reduce: every variant and operation on uint32") { every_vector(Scalar::uint32); }
TEST_CASE("reduce: every variant and operation on uint64") { every_vector(Scalar::uint64); }
TEST_CASE("reduce: every variant and operation on half") { every_vector(Scalar::half); }
TEST_CASE("reduce: every variant and operation on float32") { every_vector(Scalar::float32); }
TEST_CASE("reduce: every variant and operation on float64") { every_vector(Scalar::float64); }

// ---------------------------------------------------------------------------------------------------------
// Rows, columns, segments

namespace {

/// The variants that do more than whole vectors.
constexpr const char* kShapedReductions[] = {"several", "short_rows", "shuffle", "balanced", "cpu"};

void every_matrix(ReduceShape shape, ReduceOp op, Scalar type) {
  const smem::Context context;
  if (!test::fits(context.device(), op, type)) return;
  test::ReduceSweep sweep(context);
  for (const char* variant : kShapedReductions) {
    CAPTURE(variant);
    ReduceCase c;
    c.shape = shape;
    c.reduction = op;
    c.in = type;
    c.variant = variant;
    test::run_matrices(sweep, c);
    CHECK((sweep.ran() > 0 || variant != std::string("several")));
  }
}

}  // namespace

/// One of each size, in turn signed and unsigned: sums of either are the same additions. float32 is below.
constexpr Scalar kSums[] = {Scalar::int8,   Scalar::uint16, Scalar::int32,
                            Scalar::uint64, Scalar::half,   Scalar::float64};

TEST_CASE("reduce rows: sums of every size of type") {
  for (const Scalar type : kSums)
    every_matrix(ReduceShape::rows, ReduceOp::sum, type);
}
/// Their accumulators differ: a number, two, a number and its place, a scaled one.
constexpr ReduceOp kDifferent[] = {ReduceOp::sum, ReduceOp::minmax, ReduceOp::argmax, ReduceOp::norm};

TEST_CASE("reduce rows: operations on float32") {
  for (const ReduceOp op : kDifferent)
    every_matrix(ReduceShape::rows, op, Scalar::float32);
}
TEST_CASE("reduce rows: 1 to 40 elements, by threads of a CPU, with NaNs and ties") {
  const smem::Context context;
  if (!test::has_cpu_variant(context.device())) return;
  test::ReduceSweep sweep(context);
  ReduceCase c;
  c.shape = ReduceShape::rows;
  c.variant = "cpu";
  c.rows = 23;
  for (const Scalar type : {Scalar::uint8, Scalar::int64, Scalar::half, Scalar::float32, Scalar::float64}) {
    for (const ReduceOp op :
         {ReduceOp::minmax, ReduceOp::argmin, ReduceOp::argmax, ReduceOp::product, ReduceOp::max}) {
      if (!test::fits(context.device(), op, type)) continue;
      c.in = type;
      c.reduction = op;
      for (c.cols = 1; c.cols <= 40; ++c.cols) {
        c.nans = op == ReduceOp::product ? 0 : c.cols % 3;  // 1: nothing else; 2: half of them
        c.layout = c.cols % 2 == 0 ? test::packed() : test::strided(c.rows, c.cols, 1);
        c.out_offset = c.cols % 4;
        sweep.run(c);
      }
    }
  }
  CHECK(sweep.ran() > 0);
}

TEST_CASE("reduce rows: 16 short rows at once, by threads of a CPU, with NaNs and ties") {
  const smem::Context context;
  if (!test::has_cpu_variant(context.device())) return;
  test::ReduceSweep sweep(context);
  ReduceCase c;
  c.shape = ReduceShape::rows;
  c.variant = "cpu";
  c.rows = 37 * 32 * context.device().compute_units + 4101;  // no multiple of 16 for a group
  std::size_t turn = 0;
  for (const Scalar type :
       {Scalar::int8, Scalar::uint16, Scalar::int64, Scalar::half, Scalar::float32, Scalar::float64}) {
    for (const ReduceOp op : {ReduceOp::minmax, ReduceOp::argmin, ReduceOp::argmax, ReduceOp::sum,
                              ReduceOp::max, ReduceOp::mean}) {
      if (!test::fits(context.device(), op, type)) continue;
      c.in = type;
      c.reduction = op;
      constexpr std::size_t kCols[] = {3, 4, 16, 13, 2, 7, 8, 1};
      c.cols = kCols[turn % std::size(kCols)];
      c.nans = op == ReduceOp::sum || op == ReduceOp::mean ? 0 : turn % 3;
      c.layout = turn % 7 != 6 ? test::packed() : test::strided(c.rows, c.cols, 1);
      c.out_offset = turn % 4;
      sweep.run(c);
      ++turn;
    }
  }
  CHECK(sweep.ran() == turn);
}

TEST_CASE("reduce rows: places among zeros of both signs, infinities and NaNs") {
  const smem::Context context;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  for (const std::size_t cols : {2, 3, 5, 8, 15, 16, 17, 40}) {
    CAPTURE(cols);
    // Their last two elements; all others are NaN.
    const std::vector<std::pair<float, float>> ends = {{0.0F, -0.0F},           {-0.0F, 0.0F},
                                                       {kInfinity, kNan},       {kNan, -kInfinity},
                                                       {-kInfinity, kInfinity}, {kNan, kNan}};
    std::vector<float> values(ends.size() * cols, kNan);
    for (std::size_t r = 0; r < ends.size(); ++r) {
      values[(r + 1) * cols - 2] = ends[r].first;
      values[(r + 1) * cols - 1] = ends[r].second;
    }
    const smem::Array<float> in(context, values);
    const smem::Array<std::uint32_t> out(context, smem::Count{ends.size()});
    const auto a = static_cast<std::uint32_t>(cols - 2), b = a + 1;
    for (const char* variant : {"", "several", "short_rows"}) {
      CAPTURE(variant);
      smem::reduce_rows(context, in.matrix(ends.size(), cols), out.vector(), ReduceOp::argmin,
                        {.variant = variant});
      CHECK(out.to_host() == std::vector<std::uint32_t>{a, a, a, b, a, 0});
      smem::reduce_rows(context, in.matrix(ends.size(), cols), out.vector(), ReduceOp::argmax,
                        {.variant = variant});
      CHECK(out.to_host() == std::vector<std::uint32_t>{a, a, a, b, b, 0});
    }
  }
}
TEST_CASE("reduce: places where no element is better than another, in rows and columns") {
  const smem::Context context;
  constexpr std::size_t kRows = 40, kCols = 23;
  const auto check = [&]<class T>(T least, T greatest) {
    for (const T same : {least, greatest}) {
      const smem::Array<T> in(context, std::vector<T>(kRows * kCols, same));
      const smem::Array<std::uint64_t> out(context, smem::Count{kRows});
      for (const ReduceOp op : {ReduceOp::argmin, ReduceOp::argmax}) {
        for (const char* variant : {"", "several", "short_rows"}) {
          CAPTURE(variant);
          smem::reduce_rows(context, in.matrix(kRows, kCols), out.vector(), op, {.variant = variant});
          CHECK(out.to_host() == std::vector<std::uint64_t>(kRows, 0));
        }
        smem::reduce_columns(context, in.matrix(kCols, kRows), out.vector(), op, {.variant = "several"});
        CHECK(out.to_host() == std::vector<std::uint64_t>(kRows, 0));
      }
    }
  };
  check(std::numeric_limits<std::int8_t>::min(), std::numeric_limits<std::int8_t>::max());
  check(std::numeric_limits<std::uint32_t>::min(), std::numeric_limits<std::uint32_t>::max());
  check(std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max());
  check(-std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN());
}
TEST_CASE("clamped: reductions of short rows by groups of fewer work-items than a pack has elements") {
  const test::Variable clamp("SMEM_CLAMP", "work_group=4");
  const smem::Context context;
  test::ReduceSweep sweep(context);
  ReduceCase c;
  c.shape = ReduceShape::rows;
  c.reduction = ReduceOp::sum;
  c.in = Scalar::uint8;
  c.variant = "short_rows";
  for (c.rows = 1; c.rows < 40; ++c.rows) {
    c.cols = 1 + c.rows % 7;
    sweep.run(c);
    CHECK(sweep.ran() == 1);
  }
}
TEST_CASE("reduce columns: sums of every size of type") {
  for (const Scalar type : kSums)
    every_matrix(ReduceShape::columns, ReduceOp::sum, type);
}
TEST_CASE("reduce columns: places and extremes, by threads of a CPU, with NaNs and ties") {
  const smem::Context context;
  if (!test::has_cpu_variant(context.device())) return;
  test::ReduceSweep sweep(context);
  ReduceCase c;
  c.shape = ReduceShape::columns;
  c.variant = "cpu";
  std::size_t asked = 0;
  for (const Scalar type : {Scalar::int8, Scalar::uint8, Scalar::uint16, Scalar::int32, Scalar::int64,
                            Scalar::half, Scalar::float32, Scalar::float64}) {
    for (const ReduceOp op : {ReduceOp::minmax, ReduceOp::argmin, ReduceOp::argmax}) {
      if (!test::fits(context.device(), op, type)) continue;
      c.in = type;
      c.reduction = op;
      // Blocks of 256 rows of bytes, one and several a part; rows that share a strip; strips.
      for (const auto& [rows, cols] : {std::pair<std::size_t, std::size_t>{1, 2},
                                       {257, 133},
                                       {5003, 2},
                                       {5003, 20},
                                       {40001, 7},
                                       {1031, 300},
                                       {260, 1030}}) {
        c.rows = rows;
        c.cols = cols;
        c.nans = asked % 3;  // 1: nothing else; 2: half of them
        c.layout = asked % 4 != 0 ? test::packed() : test::strided(rows, cols, 1);
        c.out_offset = asked % 4;
        sweep.run(c);
        ++asked;
      }
    }
  }
  CHECK(sweep.ran() == asked);
}
// On GPUs a number that has the byte above its row is compared.
TEST_CASE("reduce columns: places of bytes by several work-items, with ties") {
  const smem::Context context;
  test::ReduceSweep sweep(context);
  ReduceCase c;
  c.shape = ReduceShape::columns;
  c.variant = "several";
  std::size_t asked = 0;
  for (const Scalar type : {Scalar::int8, Scalar::uint8}) {
    for (const ReduceOp op : {ReduceOp::argmin, ReduceOp::argmax}) {
      c.in = type;
      c.reduction = op;
      for (const auto& [rows, cols] : {std::pair<std::size_t, std::size_t>{1, 2}, {257, 133}, {5003, 20}}) {
        c.rows = rows;
        c.cols = cols;
        c.layout = asked % 2 == 0 ? test::packed() : test::strided(rows, cols, 1);
        sweep.run(c);
        ++asked;
      }
    }
  }
  CHECK(sweep.ran() == asked);
}
// Rows without gaps that are read several at once: the last of them is shorter. Few columns, which a group
// combines, and more.
TEST_CASE("reduce columns: unaligned rows without gaps, by several work-items") {
  const smem::Context context;
  test::ReduceSweep sweep(context);
  ReduceCase c;
  c.shape = ReduceShape::columns;
  c.variant = "several";
  std::size_t asked = 0, folded = 0;
  for (const auto& [type, op] : {std::pair{Scalar::uint8, ReduceOp::sum},
                                 {Scalar::int8, ReduceOp::argmax},
                                 {Scalar::half, ReduceOp::minmax},
                                 {Scalar::float32, ReduceOp::argmin},
                                 {Scalar::float32, ReduceOp::norm},
                                 {Scalar::int64, ReduceOp::mean}}) {
    if (!test::fits(context.device(), op, type)) continue;
    c.in = type;
    c.reduction = op;
    for (const auto& [rows, cols] : {std::pair<std::size_t, std::size_t>{40001, 7},
                                     {20003, 33},
                                     {9001, 201},
                                     {30001, 1},
                                     {1133, 2},
                                     {999, 3}}) {
      c.rows = rows;
      c.cols = cols;
      c.out_offset = asked++ % 3;
      sweep.run(c);
      smem::ReduceProblem problem{.reduction = op, .shape = c.shape, .in = type};
      problem.out = test::usual_result(op, type);
      problem.rows = rows;
      problem.cols = cols;
      problem.alignment = smem::size_of(type);
      problem.packed_alignment = 16;
      if (smem::plan_reduce(context.device(), problem, {.variant = c.variant}).number("fold") > 1) ++folded;
    }
  }
  CHECK(sweep.ran() == asked);
  CHECK(4 * folded > asked);
}

TEST_CASE("reduce columns: sums of the greatest and least bytes and shorts, which fill narrow accumulators") {
  const smem::Context context;
  const auto check = [&]<class Element>(Element element) {
    using Sum = std::conditional_t<std::is_signed_v<Element>, std::int32_t, std::uint32_t>;
    // One part and many of them, of one and of several blocks; rows that share a strip.
    for (const auto& [rows, cols] : {std::pair<std::size_t, std::size_t>{900, 17},
                                     {900, 129},
                                     {50000, 129},
                                     {90000, 100},
                                     {900, 1030}}) {
      CAPTURE(rows);
      CAPTURE(cols);
      const smem::Array<Element> in(context, std::vector<Element>(rows * cols, element));
      smem::Array<Sum> out(context, smem::Count{cols});
      smem::reduce_columns(context, in.matrix(rows, cols), out.vector(), smem::ReduceOp::sum);
      CHECK(out.to_host() == std::vector<Sum>(cols, static_cast<Sum>(element) * static_cast<Sum>(rows)));
    }
  };
  check(std::uint8_t{255});
  check(std::int8_t{-128});
  check(std::uint16_t{65535});
  check(std::int16_t{-32768});
}

TEST_CASE("reduce columns: operations on float32") {
  for (const ReduceOp op : kDifferent)
    every_matrix(ReduceShape::columns, op, Scalar::float32);
}
TEST_CASE("reduce segments: operations on int16") {
  for (const ReduceOp op : {ReduceOp::sum, ReduceOp::argmin})
    every_matrix(ReduceShape::segments, op, Scalar::int16);
}
// Sums of bytes in a tile go by words.
TEST_CASE("reduce segments: sums and means of bytes") {
  every_matrix(ReduceShape::segments, ReduceOp::sum, Scalar::uint8);
  every_matrix(ReduceShape::segments, ReduceOp::sum, Scalar::int8);
  every_matrix(ReduceShape::segments, ReduceOp::mean, Scalar::int8);
}
TEST_CASE("reduce segments: operations on float32") {
  for (const ReduceOp op : kDifferent)
    every_matrix(ReduceShape::segments, op, Scalar::float32);
}

TEST_CASE("reduce segments: descending offsets and such beyond the end read nothing that is not there") {
  const smem::Context context;
  test::ReduceSweep sweep(context);
  for (const char* variant : kShapedReductions) {
    for (const Scalar bound : {Scalar::uint32, Scalar::uint64}) {
      ReduceCase c;
      c.shape = ReduceShape::segments;
      c.reduction = ReduceOp::sum;
      c.in = Scalar::int32;
      c.variant = variant;
      c.cols = 1000;
      c.bound = bound;
      // One descends, one begins beyond the end, one ends there.
      const std::uint64_t far = bound == Scalar::uint32 ? 0xfffffff0u : ~std::uint64_t{5};
      c.bounds = {10, 500, 20, 900, far, far + 1, 6, 6, far, 990, 1000, 1001};
      sweep.run(c);
      c.reduction = ReduceOp::argmin;
      sweep.run(c);
      c.out = Scalar::uint32;
      sweep.run(c);
    }
  }
  CHECK(sweep.ran() > 0);
}

TEST_CASE("reduce segments: more parts than are listed, of segments that overlap") {
  const smem::Context context;
  test::ReduceSweep sweep(context);
  for (const ReduceOp op : {ReduceOp::sum, ReduceOp::argmax}) {
    ReduceCase c;
    c.shape = ReduceShape::segments;
    c.reduction = op;
    c.in = Scalar::int32;
    c.variant = "balanced";
    c.cols = 30000;
    c.bound = Scalar::uint32;
    // Every second one is nearly everything, those between descend.
    for (std::uint64_t i = 0; i < 200; ++i)
      c.bounds.push_back(i % 2 == 0 ? i : 30000 - i);
    sweep.run(c);
    // Long and short ones in turn, which ascend.
    c.cols = 400000;
    c.bounds = {3};
    for (std::uint64_t i = 0; i < 40; ++i)
      c.bounds.push_back(c.bounds.back() + (i % 4 == 1 ? 30001 : i % 7));
    sweep.run(c);
  }
  if (sweep.ran() == 0) MESSAGE("no balanced segments on " << context.device().name);
}

TEST_CASE("check_segments: names the first offset that is wrong, and what is right passes") {
  const smem::Context context;
  const auto failure = [&](const std::vector<std::uint32_t>& offsets, std::size_t size) {
    const smem::Array<std::uint32_t> array(context, offsets);
    return test::failure_of([&] { smem::check_segments(context, array.vector(), size); });
  };
  for (int twice = 0; twice < 2; ++twice) {  // a wrong one leaves nothing behind
    const auto error = failure({0, 5, 9, 7, 10}, 10);
    CHECK(error.operation == "check_segments");
    CHECK(error.argument == "offsets");
    CHECK(error.expected == "ascending offsets of at most 10");
    CHECK(error.got == "7 after 9 at index 3");
    CHECK(failure({0, 5, 11, 12}, 10).got == "11 after 5 at index 2");
    const smem::Array<std::uint32_t> good(context, {0, 0, 5, 5, 10});
    smem::check_segments(context, good.vector(), 10);
    const smem::Array<std::uint64_t> wide(context, {0, std::uint64_t{1} << 40, std::uint64_t{1} << 41});
    smem::check_segments(context, wide.vector(), std::size_t{1} << 41);
  }
  const smem::Array<float> floats(context, smem::Count{3});
  CHECK(test::failure_of([&] { smem::check_segments(context, floats.vector(), 3); }).expected ==
        "uint32 or uint64");
}

TEST_CASE("large: a reduction of more than 2^31 elements") {
  const smem::Context context;
  const std::size_t size = (std::size_t{1} << 31) + 4099;
  const auto room = test::large_buffer(context, size, size + (size >> 3));
  if (!room) return;
  const cl::Buffer& buffer = *room;
  test::fill_words(context, buffer, size, 0);
  const std::vector<std::uint8_t> head{0, 0, 0, 0, 0, 9, 0, 0}, tail{0, 0, 0, 0, 0, 0, 200, 0};
  const auto write = [&](const std::vector<std::uint8_t>& bytes, std::size_t first) {
    REQUIRE(clEnqueueWriteBuffer(context.queue()(), buffer(), CL_TRUE, first, bytes.size(), bytes.data(), 0,
                                 nullptr, nullptr) == CL_SUCCESS);
  };
  write(head, 0);
  write(tail, size - tail.size());
  const smem::VectorView<std::uint8_t> in(buffer, size);
  CHECK(smem::sum(context, in) == 209);
  CHECK(smem::argmax(context, in) == size - 2);
  CHECK(smem::max(context, smem::VectorView<std::uint8_t>(buffer, 100, size - 100)) == 200);
  if (context.device().type == smem::DeviceType::cpu) return;
  for (const std::string_view variant : {"several", "first_add"})
    CHECK(smem::sum(context, in, smem::FloatMode::reproducible, {.variant = variant}) == 209);
}
