// Every variant at small sizes, for tools that make a run hundreds of times slower, such as a race checker.
#include "support/blurs.hpp"
#include "support/conv2ds.hpp"
#include "support/gemms.hpp"
#include "support/heats.hpp"
#include "support/histograms.hpp"
#include "support/level.hpp"
#include "support/maps.hpp"
#include "support/moving_means.hpp"
#include "support/one_group.hpp"
#include "support/pools.hpp"
#include "support/reduce_sweep.hpp"
#include "support/scans.hpp"
#include "support/selects.hpp"
#include "support/separables.hpp"
#include "support/stencils.hpp"
#include "support/sweep.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

using test::Operation;

TEST_SUITE_BEGIN("small");

namespace {

const char* described_name(Operation operation) {
  switch (operation) {
    case Operation::transpose:
    case Operation::in_place:
      return "transpose";
    case Operation::flip_vertical:
      return "flip";
    default:
      return "rotate";
  }
}

/// Fewer cases in the quick selftest, which leaves variants out.
std::size_t at_least(std::size_t cases) { return test::is_quick() ? 1 : cases; }

/// One more than a tile: whole and cut tiles on both sides. A batch of two: the tile is used again.
void small(Operation operation, std::size_t element_bytes) {
  const smem::Context context;
  test::Sweep sweep(context);
  for (const std::string_view variant :
       test::tested_variants(context.device(), described_name(operation), test::variants_of(operation))) {
    const auto [r, c] = test::tile_of(context, operation, variant, element_bytes);
    if (r == 0) {
      MESSAGE("variant " << variant << " does not run on " << context.device().name);
      continue;
    }
    test::Case one{operation, std::string(variant), element_bytes, r + 1, c + 1, {}, {}};
    if (operation == Operation::in_place) one.rows = one.cols = std::min(r, c) + 1;
    one.in = test::strided(one.rows, one.cols, 2);
    one.out = test::packed(2);
    one.out.tail = 2 * one.out_cols();  // writes beyond the end are found, and do not corrupt the heap
    sweep.run(one);
    one.in = test::aligned(one.rows, one.cols, 1);
    one.out = test::aligned(one.out_rows(), one.out_cols(), 1);
    sweep.run(one);
    CHECK_MESSAGE(sweep.ran() > 0, "no case of variant " << variant << " ran");
  }
}

}  // namespace

TEST_CASE("small: transpose with 1-byte elements") { small(Operation::transpose, 1); }
TEST_CASE("small: transpose with 4-byte elements") { small(Operation::transpose, 4); }
TEST_CASE("small: transpose in place with 1-byte elements") { small(Operation::in_place, 1); }
TEST_CASE("small: transpose in place with 4-byte elements") { small(Operation::in_place, 4); }
TEST_CASE("small: rotate by 90 degrees") { small(Operation::rotate_90, 4); }
TEST_CASE("small: rotate by 180 degrees") { small(Operation::rotate_180, 4); }
TEST_CASE("small: flip vertical with 1-byte elements") { small(Operation::flip_vertical, 1); }
TEST_CASE("small: transpose short sides of bytes") {
  const smem::Context context;
  test::Sweep sweep(context);
  for (const auto& [rows, cols] : {test::Shape{131, 33}, {131, 4}, {5, 131}, {7, 5}}) {
    test::Case one{Operation::transpose, "strips", 1, rows, cols, test::packed(2), test::packed(2)};
    one.in.extent.offset = 3;
    sweep.run(one);
  }
  CHECK(sweep.ran() > 0);
}
TEST_CASE("small: flip packs and short rows of bytes") {
  const smem::Context context;
  test::Sweep sweep(context);
  test::Case one{Operation::flip_horizontal, "packs", 1, 40, 7, {}, {}};
  one.in = test::strided(40, 7, 2);
  one.out = test::packed(2);
  sweep.run(one);
  one.in = {{3}, 0};
  one.out = test::packed();
  one.out.tail = 5;  // writes beyond the end are found
  sweep.run(one);
  one.cols = 101;  // packs beside the first and last one are outside of the buffer
  one.in = one.out = test::packed();
  sweep.run(one);
  CHECK(sweep.ran() > 0);
}

TEST_CASE("small: gemm") {
  const smem::Context context;
  test::GemmSweep sweep(context);
  for (const std::string_view variant :
       test::tested_variants(context.device(), "gemm", smem::gemm_variants())) {
    test::GemmCase c;
    c.variant = variant;
    c.m = 33;
    c.n = 18;
    c.k = 37;
    c.beta = 1;
    c.place = test::Place::packed;  // reads beyond the end are found
    sweep.run(c);
    const std::size_t ran = sweep.ran();
    if (test::is_portable_gemm(variant)) CHECK(ran == 1);
    if (ran == 0 && context.device().type == smem::DeviceType::gpu) {
      // Matrix units: a product that is split, and its parts summed.
      for (const auto& [in, out] : {std::pair{smem::Scalar::half, smem::Scalar::half},
                                    std::pair{smem::Scalar::int8, smem::Scalar::int32}}) {
        test::GemmCase units;
        units.variant = variant;
        units.in = in;
        units.out = out;
        units.m = 64;
        units.n = 32;
        units.k = 2048;
        units.alpha = -2;
        units.beta = 1;
        units.place = test::Place::aligned;
        sweep.run(units);
      }
      sweep.ran();
    }
    if (test::is_quick() || (variant != "registers_2d" && variant != "async" && variant != "two_level"))
      continue;
    c.transpose_a = c.transpose_b = true;
    c.in = c.out = smem::Scalar::half;
    c.place = test::Place::aligned;
    sweep.run(c);
    CHECK(sweep.ran() == 1);
  }
}

TEST_CASE("small: reduce") {
  const smem::Context context;
  test::ReduceSweep sweep(context);
  for (const std::string_view variant :
       test::tested_variants(context.device(), "reduce", smem::reduce_variants())) {
    for (const smem::ReduceOp op : {smem::ReduceOp::sum, smem::ReduceOp::argmin}) {
      test::ReduceCase c;
      c.reduction = op;
      c.in = smem::Scalar::int16;
      c.variant = variant;
      c.cols = 1031;
      c.layout = {{.offset = 3}, 0};  // reads beyond the end are found
      sweep.run(c);
      if (op == smem::ReduceOp::argmin) continue;
      c.cols = 20000;  // several parts
      c.layout.extent.offset = 0;
      sweep.run(c);
    }
  }
  CHECK(sweep.ran() >= at_least(6));
}

TEST_CASE("small: reduce in the order of the elements") {
  const smem::Context context;
  constexpr std::size_t kSize = 22000;  // parts that the teams which combine them do not divide
  const std::vector<std::uint32_t> maps = test::random_maps(kSize);
  const smem::Array<std::uint32_t> in(context, maps);
  for (const std::string_view variant :
       test::tested_variants(context.device(), "reduce", {"several", "cpu"})) {
    if (variant == "cpu" && !test::has_cpu_variant(context.device())) continue;
    CAPTURE(variant);
    CHECK(smem::reduce(context, in, test::composition(), {.variant = variant}) ==
          test::composed(maps, 0, kSize, 1));
  }
}

TEST_CASE("small: reduce rows, columns and segments") {
  const smem::Context context;
  test::ReduceSweep sweep(context);
  for (const smem::ReduceShape shape :
       {smem::ReduceShape::rows, smem::ReduceShape::columns, smem::ReduceShape::segments}) {
    for (const std::string_view variant :
         test::tested_variants(context.device(), "reduce", {"several", "cpu"})) {
      test::ReduceCase c;
      c.shape = shape;
      c.variant = variant;
      c.rows = shape == smem::ReduceShape::segments ? 1 : 37;
      c.cols = 133;
      c.layout = test::strided(c.rows, c.cols, 1);
      c.layout.tail = 0;
      c.bounds = {0, 5, 5, 100, 50, 133, 200};
      sweep.run(c);
      c.layout = test::aligned(c.rows, c.cols, 1);  // by packs
      sweep.run(c);
      const test::OneGroup all_jobs_in_one;
      sweep.run(c);
    }
  }
  CHECK(sweep.ran() >= 3);
}

TEST_CASE("small: histogram") {
  const smem::Context context;
  test::HistogramSweep sweep(context);
  for (const std::string_view variant :
       test::tested_variants(context.device(), "histogram", smem::histogram_variants())) {
    test::HistogramCase c;
    c.variant = variant;
    c.bins = 20;
    c.spread = test::Spread::special;
    c.cols = 5031;
    c.layout = {{.offset = 3}, 0};  // reads beyond the end are found
    sweep.run(c);
    if (variant != "replicated" && variant != "cpu") continue;
    c.channels = 3;
    c.rows = 5;
    c.cols = 99;
    c.spread = test::Spread::uniform;
    c.layout = test::strided(c.rows, c.cols, 2);
    c.layout.tail = 0;
    sweep.run(c);
  }
  CHECK(sweep.ran() >= at_least(5));
}

TEST_CASE("small: scan") {
  const smem::Context context;
  test::ScanSweep sweep(context);
  for (const std::string_view variant :
       test::tested_variants(context.device(), "scan", smem::scan_variants())) {
    test::ScanCase c;
    c.in = smem::Scalar::int16;
    c.exclusive = true;
    c.initial = 7;
    c.variant = variant;
    for (const std::size_t size : {1031, 20000}) {  // one part and several
      c.cols = size;
      c.from = {{.offset = 3}, 0};  // reads beyond the end are found
      sweep.run(c);
    }
  }
  CHECK(sweep.ran() >= at_least(6));
}

TEST_CASE("small: scan rows, columns, segments and keys") {
  const smem::Context context;
  test::ScanSweep sweep(context);
  for (const smem::ScanShape shape :
       {smem::ScanShape::rows, smem::ScanShape::columns, smem::ScanShape::segments, smem::ScanShape::keys}) {
    const bool by_marks = shape == smem::ScanShape::segments || shape == smem::ScanShape::keys;
    for (const std::string_view variant :
         test::tested_variants(context.device(), "scan", {"reduce_then_scan", "cpu"})) {
      test::ScanCase c;
      c.shape = shape;
      c.variant = variant;
      c.rows = by_marks ? 1 : 67;
      c.cols = by_marks ? 9001 : 133;
      c.from = test::strided(c.rows, c.cols, 1);
      c.from.tail = 0;
      c.to = c.from;
      if (by_marks) c.marks = test::marks_for(shape, c.cols, 50);
      sweep.run(c);
    }
  }
  CHECK(sweep.ran() >= 4);
}

TEST_CASE("small: select") {
  const smem::Context context;
  test::SelectSweep sweep(context);
  for (const std::string_view variant :
       test::tested_variants(context.device(), "select", smem::select_variants())) {
    for (const smem::SelectOp op :
         {smem::SelectOp::copy_flagged, smem::SelectOp::partition, smem::SelectOp::run_length_encode}) {
      test::SelectCase c;
      c.op = op;
      c.in = smem::Scalar::int16;
      c.variant = variant;
      c.in_offset = 3;
      c.out_offset = 1;
      for (const std::size_t size : {1031, 20000}) {  // one part and several
        c.size = size;
        sweep.run(c);
      }
    }
  }
  CHECK(sweep.ran() >= at_least(6));
}

TEST_CASE("small: heat") {
  const smem::Context context;
  test::HeatSweep sweep(context);
  for (const std::string_view variant :
       test::tested_variants(context.device(), "heat", smem::heat_variants())) {
    for (const smem::GridSize& size :
         {smem::GridSize{67}, smem::GridSize{37, 11}, smem::GridSize{21, 9, 6}}) {
      test::HeatCase c;
      c.size = size;
      c.variant = variant;
      c.walls = size.depth > 1 ? smem::Walls::fixed : smem::Walls::insulated;
      c.variable = size.depth == 1 && variant != "march";
      c.steps = variant == "naive" || variant == "vector" || variant == "tiled" ? 1 : 2;
      c.offset = 1;
      sweep.run(c);
      if (!test::is_quick() && (size.depth > 1 || variant == "blocked")) {
        c.type = smem::Scalar::half;
        sweep.run(c);
      }
    }
  }
  const std::size_t broken = test::breaks_heat(context.device(), "march") ? 3 : 0;
  CHECK(sweep.ran() + broken >= at_least(15));
}

TEST_CASE("small: separable") {
  const smem::Context context;
  test::SeparableSweep sweep(context);
  for (const std::string_view variant :
       test::tested_variants(context.device(), "separable", smem::separable_variants())) {
    test::SeparableCase c;
    c.variant = variant;
    c.grids.boundary = smem::Boundary::mirror;
    c.grids.size = {70, 5};
    sweep.run(c);
    if (test::is_quick()) continue;
    c.grids.in = c.grids.out = smem::Scalar::uint8;
    c.grids.channels = 3;
    c.grids.gaps = true;
    c.grids.size = {9, 6};
    if (variant != "naive") sweep.run(c);
  }
  CHECK(sweep.ran() >= at_least(7));
}

TEST_CASE("small: blur") {
  const smem::Context context;
  test::BlurSweep sweep(context);
  for (const auto& [blur, name, variants] :
       {std::tuple{test::Blur::box, "box_blur", std::vector<std::string_view>{"two_pass", "march", "cpu"}},
        std::tuple{test::Blur::median, "median_blur", std::vector<std::string_view>{"registers", "cpu"}}}) {
    for (const std::string_view variant : test::tested_variants(context.device(), name, variants)) {
      test::BlurCase c;
      c.blur = blur;
      c.variant = variant;
      c.grids.boundary = smem::Boundary::mirror;
      c.grids.size = {50, 7};
      sweep.run(c);
      if (variant != "two_pass") continue;
      // Parts of rows are no words, and sums are of another type.
      c.grids.in = c.grids.out = smem::Scalar::uint8;
      c.grids.channels = 3;
      c.grids.size = {20, 5};
      sweep.run(c);
    }
  }
  CHECK(sweep.ran() >= at_least(4));
}

TEST_CASE("small: pool") {
  const smem::Context context;
  test::PoolSweep sweep(context);
  for (const std::string_view variant :
       test::tested_variants(context.device(), "pool", smem::pool_variants())) {
    test::PoolCase c;
    c.variant = variant;
    c.windows = smem::Pooling::square(2);
    c.grids.size = {19, 7};
    sweep.run(c);
  }
  test::PoolCase c;
  c.global = true;
  c.op = smem::PoolOp::average;
  c.grids.size = {19, 7};
  c.grids.channels = 3;
  sweep.run(c);
  CHECK(sweep.ran() >= at_least(3));
}

TEST_CASE("small: conv2d") {
  const smem::Context context;
  test::Conv2dSweep sweep(context);
  std::size_t ran = 0;
  for (const std::string_view variant :
       test::tested_variants(context.device(), "conv2d", smem::conv2d_variants())) {
    test::Conv2dCase c{smem::Scalar::float32, 1, 3, 9, 4, 5, 3, 2, smem::Conv2d::square(2, 1)};
    if (variant.starts_with("winograd")) {
      c.window_h = 3;
      c.how = smem::Conv2d::square(1, 1);
      c.how.winograd = smem::Winograd::f4x4;
    }
    c.variant = variant;
    c.bias = true;
    sweep.run(c);
    const std::size_t here = sweep.ran();
    ran += here;
    if (here > 0 || context.device().type != smem::DeviceType::gpu) continue;
    c.type = smem::Scalar::half;  // matrix units
    sweep.run(c);
  }
  CHECK(ran + sweep.ran() >= at_least(5));
}

TEST_CASE("small: moving mean") {
  const smem::Context context;
  test::MovingMeanSweep sweep(context);
  for (const std::string_view variant :
       test::tested_variants(context.device(), "moving_mean", smem::moving_mean_variants())) {
    test::MovingMeanCase c;
    c.variant = variant;
    if (variant == "blocks" || variant == "chunks" || variant == "one_pass" || variant == "ring")
      c.work_items = 16;
    c.window = 5;
    c.grids.size = {40, 2};
    sweep.run(c);
  }
  // A few results of a tile, so that a row has several: of windows that are added up, and of all kinds of
  // chunks.
  for (const std::size_t window : {5, 12, 64, 69}) {
    test::MovingMeanCase c;
    c.variant = "tiled";
    c.work_items = window < 10 ? 2 : 16;
    c.window = window;
    if (test::is_quick()) break;  // each has a program of its own
    c.grids.size = {300, 2};
    sweep.run(c);
  }
  CHECK(sweep.ran() >= at_least(7));
}

TEST_CASE("small: stencil") {
  const smem::Context context;
  test::StencilSweep sweep(context);
  std::size_t ran = 0;
  for (const std::string_view variant :
       test::tested_variants(context.device(), "stencil", smem::stencil_variants())) {
    test::StencilCase c;
    c.variant = variant;
    c.boundary = smem::Boundary::reflect;
    c.radius = {2, 1};
    c.size = {37, 19, 2};
    c.in.offset = 1;  // reads beyond the end are found
    sweep.run(c);
    const std::size_t here = sweep.ran();
    ran += here;
    if (test::is_quick() && here > 0) continue;  // others need three dimensions
    c.type = smem::Scalar::uint8;
    c.in.channels = c.out.channels = 3;
    c.boundary = smem::Boundary::leave;
    c.radius = {1, 1, 1};
    c.size = {35, 9, 5};
    sweep.run(c);
    ran += sweep.ran();
  }
  CHECK(ran >= at_least(6));
}

TEST_SUITE_END();
