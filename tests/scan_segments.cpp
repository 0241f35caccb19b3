// Scans of segments, by offsets and by keys, against plain loops.
#include <smem/smem.hpp>

#include "support/scans.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

using smem::ReduceOp;
using smem::Scalar;
using smem::ScanShape;
using test::ScanCase;
using test::vector_case;

namespace {

void segments(ScanShape shape, ReduceOp op, Scalar type, Scalar mark, bool exclusive) {
  const smem::Context context;
  if (!test::fits(context.device(), op, type)) return;
  test::ScanSweep sweep(context);
  for (const char* variant : test::kShapedScans) {
    CAPTURE(variant);
    ScanCase c = vector_case(op, type, variant);
    c.shape = shape;
    c.exclusive = exclusive;
    if (exclusive) c.initial = 3;
    c.mark = mark;
    for (const std::size_t size : {0, 1, 2, 1000, 8193, 99991}) {
      for (const std::size_t long_one_in : {1, 20, 30000}) {
        c.cols = size;
        c.marks = test::marks_for(shape, size, long_one_in);
        // Whole packs of elements and keys, of elements alone, and single ones: three programs.
        const std::size_t apart = size % 2 == 0 ? 1 : 0;
        c.from = c.to = {{.offset = apart}, 1};
        c.marks_offset = size == 99991 && long_one_in == 20 ? 1 : 0;
        c.in_place = size == 1000 && smem::size_of(type) == smem::size_of(test::problem_of(c).out);
        sweep.run(c);
      }
    }
    if (shape == ScanShape::segments) {
      c.marks.clear();
      sweep.run(c);
    }
    const std::size_t ran = sweep.ran();
    CHECK((ran > 0 || variant != std::string("reduce_then_scan")));
  }
}

/// As scan_numbers of cl/scan/operation.clh.
struct ScanNumbers {
  std::array<cl_ulong, 3> in;
  cl_ulong marks_offset, marks_count, rows, cols, batch, parts, piece;
  std::array<cl_ulong, 3> out;
  cl_ulong initial_bits;
  cl_uint has_initial, epoch;
};

/// Runs the first of two launches alone, on chunks of `piece` elements, and compares their aggregates.
void check_aggregates(const smem::Context& context, const ScanCase& c, const smem::Launch& first,
                      std::size_t piece) {
  CAPTURE(piece);
  const std::size_t parts = (c.cols + piece - 1) / piece;
  std::vector<cl_uint> in(c.cols), wanted(2 * parts + 2, 77);
  for (std::size_t i = 0; i < in.size(); ++i)
    in[i] = static_cast<cl_uint>(i * 2654435761U);
  const bool by_key = c.shape == ScanShape::keys;
  std::vector<bool> heads(c.cols);
  for (std::size_t m = 0; m < c.marks.size(); ++m) {
    if (by_key && m > 0) heads[m] = c.marks[m] != c.marks[m - 1];
    if (!by_key && c.marks[m] < c.cols) heads[c.marks[m]] = true;
  }
  for (std::size_t part = 0; part < parts; ++part) {
    cl_uint sum = 0, head = 0;
    for (std::size_t i = part * piece; i < std::min((part + 1) * piece, c.cols); ++i) {
      sum = heads[i] ? in[i] : sum + in[i];
      if (heads[i]) head = 1;
    }
    wanted[2 * part] = sum;
    wanted[2 * part + 1] = head;
  }
  const smem::Array<cl_uint> elements(context, in), scratch(context, std::vector<cl_uint>(wanted.size(), 77));
  const smem::Array<std::uint64_t> marks(context, c.marks);
  const smem::Kernel kernel = context.build({.source = "#include \"" + first.kernel_file + "\"\n",
                                             .entry_point = first.entry_point,
                                             .defines = first.defines,
                                             .text_defines = first.text_defines});
  const ScanNumbers numbers{
      .marks_count = c.marks.size(), .rows = 1, .cols = c.cols, .batch = 1, .parts = parts, .piece = piece};
  kernel({.global = {parts * first.work_group[0], 1, 1}, .work_group = first.work_group}, elements, marks,
         elements, scratch, numbers);
  CHECK(scratch.to_host() == wanted);
}

}  // namespace

TEST_CASE("scan by key and of segments: a chunk's aggregate ends where the chunk does, within a tile too") {
  // On NVIDIA the tiles of the first launch are longer than the second one's; elsewhere they are alike.
  const smem::Context context;
  for (const ScanShape shape : {ScanShape::segments, ScanShape::keys}) {
    CAPTURE(static_cast<int>(shape));
    ScanCase c = vector_case(ReduceOp::sum, Scalar::uint32, "reduce_then_scan");
    c.shape = shape;
    c.mark = Scalar::uint64;
    c.out = Scalar::uint32;
    c.cols = 150001;
    const smem::Plan plan = smem::plan_scan(context.device(), test::problem_of(c),
                                            {.variant = "reduce_then_scan", .work_items = 64});
    REQUIRE(plan.before.size() == 1);
    const smem::Launch& first = plan.before.front();
    const std::size_t tile = first.tile_cols;
    for (const std::size_t long_one_in : {20, 1000, 1000000}) {
      c.marks = test::marks_for(shape, c.cols, long_one_in);
      for (const std::size_t piece : {tile / 2, tile, tile + tile / 4, 3 * tile - 64})
        check_aggregates(context, c, first, piece);
    }
  }
}

TEST_CASE("scan segments: inclusive sums of int32") {
  segments(ScanShape::segments, ReduceOp::sum, Scalar::int32, Scalar::uint64, false);
}
TEST_CASE("scan segments: exclusive sums of float64") {
  segments(ScanShape::segments, ReduceOp::sum, Scalar::float64, Scalar::uint32, true);
}
TEST_CASE("scan segments: exclusive maxima of bytes") {
  segments(ScanShape::segments, ReduceOp::max, Scalar::uint8, Scalar::uint32, true);
}
TEST_CASE("scan by key: inclusive sums of half with keys of 4 bytes") {
  segments(ScanShape::keys, ReduceOp::sum, Scalar::half, Scalar::uint32, false);
}
TEST_CASE("scan segments: tiles look back as far as a segment's beginning") {
  const smem::Context context;
  test::ScanSweep sweep(context);
  for (const ScanShape shape : {ScanShape::segments, ScanShape::keys}) {
    ScanCase c = vector_case(ReduceOp::sum, Scalar::uint32, "look_back");
    c.operation = test::affine();
    c.shape = shape;
    c.work_items = 32;
    c.cols = 150001;
    // Segments in all tiles, in some of a block of tiles, in some blocks, and one.
    for (const std::size_t long_one_in : {20, 1000, 8000, 60000, 1000000}) {
      c.marks = test::marks_for(shape, c.cols, long_one_in);
      sweep.run(c);
    }
  }
  CHECK((sweep.ran() == 10 || !context.device().forward_progress));
}
TEST_CASE("scan by key: inclusive sums of uint64 with keys of 1 byte") {
  segments(ScanShape::keys, ReduceOp::sum, Scalar::uint64, Scalar::int8, false);
}
TEST_CASE("scan by key: exclusive sums of float32 with keys of 8 bytes") {
  segments(ScanShape::keys, ReduceOp::sum, Scalar::float32, Scalar::float64, true);
}
