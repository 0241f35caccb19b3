// Scans of segments, by offsets and by keys, against plain loops.
#include <smem/smem.hpp>

#include "support/scans.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <string>

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

}  // namespace

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
