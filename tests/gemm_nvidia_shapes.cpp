// Shapes that NVIDIA's variants of gemm have tiles and sums of their own for: batches of small products,
// sides that are no powers of two, long sums, thin factors.
#include <smem/smem.hpp>

#include "support/gemm_plans.hpp"
#include "support/gemms.hpp"
#include "support/turn.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

using smem::Scalar;
using test::GemmCase;
using test::Place;
using test::runs_gemm;

namespace {

using Types = std::vector<std::pair<Scalar, Scalar>>;

/// Products of a thin and a wide factor, of every order, with tails.
std::size_t thin_and_wide(const smem::Context& context, const Types& types) {
  test::GemmSweep sweep(context);
  for (const auto& [in, out] : types) {
    for (std::size_t order = 0; order < 8; ++order) {
      // Each program costs the driver's compiler a second: the first type has every order.
      if (std::pair(in, out) != types.front() && order != 1 && order != 6) continue;
      if (!test::has_turn(order, 4)) continue;
      struct Shape {
        std::size_t thin, wide, k;
      };
      for (const Shape& shape : {Shape{1, 200, 96}, Shape{16, 64, 1024}, Shape{3, 333, 1531},
                                 Shape{11, 72, 40000}, Shape{5, 40, 3000}}) {
        GemmCase c;
        c.variant = "mma";
        c.in = in;
        c.out = out;
        c.place = Place::aligned;
        c.transpose_a = order % 2 != 0;
        c.transpose_b = order / 2 % 2 != 0;
        c.m = order / 4 != 0 ? shape.thin : shape.wide;
        c.n = order / 4 != 0 ? shape.wide : shape.thin;
        c.k = shape.k;
        // Of a thin factor across k, tiles of 64 are needed.
        const bool is_a = order / 4 != 0, along_k = is_a ? !c.transpose_a : c.transpose_b;
        if (along_k) c.overrides.tile_rows = is_a ? 16 : 128, c.overrides.tile_cols = is_a ? 128 : 16;
        c.batch = shape.k < 1024 ? 3 : 1;
        c.alpha = shape.thin == 3 ? -2 : 1;
        c.beta = shape.thin == 16 ? 1 : 0;
        c.bias = shape.thin == 1 ? 1 : 0;
        sweep.run(c);
      }
    }
  }
  return sweep.ran();
}

}  // namespace

TEST_CASE("gemm on NVIDIA: many small products") {
  const smem::Context context;
  if (!runs_gemm(context.device(), "mma", Scalar::half, false)) return;
  test::GemmSweep sweep(context);
  for (const Scalar type : {Scalar::half, Scalar::float64, Scalar::float32}) {
    for (std::size_t order = 0; order < 4; ++order) {
      if (!test::has_turn(order, 4)) continue;
      for (const auto& [m, n, k] : {std::array<std::size_t, 3>{16, 16, 16}, {13, 31, 15}, {64, 64, 64}}) {
        GemmCase c;
        c.variant = type == Scalar::float32 ? "multistage" : "mma";
        c.in = c.out = type;
        c.m = m;
        c.n = n;
        c.k = k;
        c.batch = context.device().compute_units + 3;
        c.transpose_a = order % 2 != 0;
        c.transpose_b = order / 2 != 0;
        c.place = m == 13 ? Place::odd : Place::packed;
        c.beta = order == 3 ? 1 : 0;
        sweep.run(c);
      }
    }
  }
  CHECK(sweep.ran() == (test::turn_of_run() ? 9 : 36));
}

TEST_CASE("gemm on NVIDIA: tiles of 64 x 64 of many products") {
  const smem::Context context;
  if (!runs_gemm(context.device(), "wgmma", Scalar::half, false)) return;
  test::GemmSweep sweep(context);
  for (std::size_t order = 0; order < 4; ++order) {
    if (!test::has_turn(order, 4)) continue;
    // Several tiles for each group, of one step, two and eleven, with tails.
    for (const auto& [m, n, k] : {std::array<std::size_t, 3>{32, 24, 40}, {64, 64, 128}, {72, 136, 648}}) {
      GemmCase c;
      c.variant = "wgmma";
      c.in = Scalar::half;
      c.out = order == 0 ? Scalar::float32 : Scalar::half;
      c.overrides.tile_rows = c.overrides.tile_cols = 64;
      c.m = m;
      c.n = n;
      c.k = k;
      c.batch = (m == 64 ? 10 : 2) * context.device().compute_units + 3;
      c.transpose_a = order % 2 != 0;
      c.transpose_b = order / 2 != 0;
      c.place = m == 32 ? Place::packed : Place::aligned;
      c.beta = order == 3 ? 1 : 0;
      sweep.run(c);
    }
  }
  CHECK(sweep.ran() == (test::turn_of_run() ? 3 : 12));
}

TEST_CASE("gemm on NVIDIA: a warp for 16 x 16 results of many products") {
  const smem::Context context;
  if (!runs_gemm(context.device(), "mma", Scalar::half, false)) return;
  test::GemmSweep sweep(context);
  for (const Scalar type : {Scalar::half, Scalar::bfloat16, Scalar::float64}) {
    for (std::size_t order = 0; order < 4; ++order) {
      if (!test::has_turn(order, 4)) continue;
      for (const Place place : {Place::packed, Place::odd, Place::aligned}) {
        GemmCase c;
        c.variant = "mma";
        c.in = type;
        c.out = type == Scalar::half && order % 2 == 0 ? Scalar::float32 : type;
        c.overrides.tile_rows = c.overrides.tile_cols = 16;
        // Whole tiles and steps, and tails of all; more tiles than groups take at once.
        c.m = place == Place::packed ? 48 : 53;
        c.n = place == Place::packed ? 32 : 74;
        c.k = place == Place::packed ? 80 : 37;
        c.batch = 8 * context.device().compute_units + 3;
        c.transpose_a = order % 2 != 0;
        c.transpose_b = order / 2 != 0;
        c.place = place;
        c.alpha = order == 1 ? -2 : 1;
        c.beta = order == 3 ? 1 : 0;
        c.bias = place == Place::aligned ? 2 : 0;
        sweep.run(c);
      }
    }
  }
  CHECK(sweep.ran() == (test::turn_of_run() ? 9 : 36));
}

namespace {

using TileSizes = std::vector<std::array<std::size_t, 2>>;

/// Tiles in all orders of the factors, aligned and unaligned in turns; of pairs of doubles, 128 x 64, aligned
/// ones alone. One tile and parts of others, and sums in parts.
std::size_t run_tiles(const smem::Context& context, const char* variant, Scalar type,
                      const TileSizes& tiles) {
  test::GemmSweep sweep(context);
  std::size_t number = 0;
  for (const auto& [rows, cols] : tiles) {
    const bool of_pairs = type == Scalar::float64 && rows * cols == 128 * 64;
    for (std::size_t order = 0; order < 4; ++order) {
      GemmCase c;
      c.variant = variant;
      c.in = c.out = type;
      c.transpose_a = order % 2 != 0;
      c.transpose_b = order / 2 != 0;
      c.overrides.tile_rows = rows;
      c.overrides.tile_cols = cols;
      for (const std::size_t k : {67, 5003}) {
        c.place = number++ % 2 == 0 || of_pairs ? Place::aligned : Place::odd;
        c.m = 130;
        c.n = 203;
        c.k = k;
        c.beta = k == 67 ? 0 : 1;
        sweep.run(c);
      }
    }
  }
  return sweep.ran();
}

}  // namespace

TEST_CASE("gemm on NVIDIA: tiles of double whose sides are no powers of two") {
  const smem::Context context;
  if (!runs_gemm(context.device(), "mma", Scalar::float64, false) ||
      context.device().local_bytes < std::size_t{100} << 10)
    return;
  const TileSizes tiles{{64, 96},  {96, 64},  {128, 48}, {48, 128}, {48, 64},
                        {32, 128}, {128, 32}, {128, 64}, {64, 128}};
  CHECK(run_tiles(context, "mma", Scalar::float64, tiles) == 72);
}

TEST_CASE("gemm on NVIDIA: tiles of float whose sides are no powers of two") {
  const smem::Context context;
  if (!runs_gemm(context.device(), "multistage", Scalar::float32, false)) return;
  CHECK(run_tiles(context, "multistage", Scalar::float32, {{48, 128}, {128, 48}, {32, 32}, {128, 24}}) == 32);
}

TEST_CASE("gemm on NVIDIA: sums of so many parts that teams add them first") {
  const smem::Context context;
  if (!runs_gemm(context.device(), "mma", Scalar::half, false)) return;
  test::GemmSweep sweep(context);
  std::size_t in_teams = 0;
  const auto run = [&](const char* variant, Scalar in, Scalar out, bool tf32) {
    GemmCase c;
    c.variant = variant;
    c.in = in;
    c.out = out;
    c.tf32 = tf32;
    c.transpose_b = true;
    c.place = Place::packed;
    struct Shape {
      std::size_t m, n, k, batch;
    };
    // Counters are zero again: the second product of a kind finds those of the first one.
    for (const Shape& shape : {Shape{21, 43, 14596, 1}, Shape{21, 43, 14598, 1}, Shape{70, 33, 9001, 2}}) {
      c.m = shape.m;
      c.n = shape.n;
      c.k = shape.k;
      c.batch = shape.batch;
      smem::PlanOverrides fixed;
      fixed.variant = variant;
      const smem::Plan plan = smem::plan_gemm(context.device(), test::problem_of(c), fixed);
      in_teams += std::any_of(plan.defines.begin(), plan.defines.end(),
                              [](const auto& define) { return define.first == "TEAM"; })
                      ? 1
                      : 0;
      sweep.run(c);
      sweep.run(c);
    }
  };
  run("multistage", Scalar::float32, Scalar::float32, false);
  run("mma", Scalar::float32, Scalar::float32, true);
  run("mma", Scalar::half, Scalar::float32, false);
  run("mma", Scalar::float64, Scalar::float64, false);
  CHECK(sweep.ran() == 24);
  if (context.device().compute_units > 100) CHECK(in_teams >= 8);
}

TEST_CASE("gemm on NVIDIA: a thin and a wide factor") {
  const smem::Context context;
  if (!runs_gemm(context.device(), "mma", Scalar::half, false)) return;
  const Types types{
      {Scalar::half, Scalar::float32}, {Scalar::half, Scalar::half}, {Scalar::bfloat16, Scalar::bfloat16}};
  CHECK(thin_and_wide(context, types) >= (test::turn_of_run() ? 5 * 2 : 5 * (8 + 2 + 2)));
}

namespace {

/// Tiles of "wgmma", by boxes and by pieces, in all orders of the factors.
struct TileSweep {
  smem::Context context = smem::Context();
  test::GemmSweep sweep{context};
  std::size_t boxes = 0, pieces = 0, tiles = 0;
  std::ptrdiff_t shared = 0;  ///< whose groups add the parts of a tile together

  /// `steps`: of k, so many that boxes are copied, or so few that pieces are.
  void run(Scalar in, Scalar out, std::size_t order, std::size_t rows, std::size_t cols, std::size_t steps) {
    GemmCase c;
    c.variant = "wgmma";
    c.in = in;
    c.out = out;
    c.tf32 = in == Scalar::float32;
    c.place = Place::aligned;
    // Tails of a piece of 16 bytes, of a box and of a tile; and sums in parts.
    c.m = rows + 40;
    c.n = 2 * cols + 24;
    c.k = 128 / smem::size_of(in) * steps + 8;
    c.transpose_a = order % 2 != 0;
    c.transpose_b = order / 2 != 0;
    if (smem::size_of(in) != 2) c.transpose_a = false, c.transpose_b = true;  // along k
    c.alpha = order == 2 ? -2 : 1;
    // Which takes neither.
    const bool is_exchanged = rows % 64 != 0 || rows > 256 || (rows == 256 && cols == 192);
    c.beta = order == 3 && !is_exchanged ? 1 : 0;
    c.bias = order == 2 && !is_exchanged ? 1 : 0;
    c.overrides.tile_rows = rows;
    c.overrides.tile_cols = cols;
    smem::PlanOverrides fixed = c.overrides;
    fixed.variant = "wgmma";
    const smem::Plan plan = smem::plan_gemm(context.device(), test::problem_of(c), fixed);
    CHECK(std::count(plan.defines.begin(), plan.defines.end(),
                     std::pair<std::string, long>{"EXCHANGED", 1}) == (is_exchanged ? 1 : 0));
    (test::copies_boxes(plan) ? boxes : pieces) += 1;
    shared +=
        std::count(plan.defines.begin(), plan.defines.end(), std::pair<std::string, long>{"SHARED_JOIN", 1});
    sweep.run(c);
  }
  /// Of boxes two orders, by which each factor lies both ways, whole and in parts; every second tile has the
  /// other two. A program takes NVIDIA's compiler most of a second.
  void run_all(std::size_t rows, std::size_t cols) {
    const bool is_narrow = rows * cols <= 128 * 96, joins = rows <= 128;
    const std::size_t order = tiles++ % 2;
    run(Scalar::half, Scalar::float32, order, rows, cols, 52);
    run(Scalar::half, Scalar::half, 3 - order, rows, cols, is_narrow ? 560 : joins ? 90 : 52);
    run(Scalar::half, Scalar::half, 1, rows, cols, 2);
    run(Scalar::int8, Scalar::int32, 0, rows, cols, 52);
    if (cols % 96 == 0) run(Scalar::float32, Scalar::float32, 0, rows, cols, 52);
    if (cols == 96) run(Scalar::e4m3, Scalar::half, 0, rows, cols, 52);
  }
};

}  // namespace

TEST_CASE("gemm on NVIDIA: boxes and pieces copied to tiles of 64 rows") {
  TileSweep tiles;
  if (!runs_gemm(tiles.context.device(), "wgmma", Scalar::half, false)) return;
  for (const std::size_t cols : {64, 96, 128})
    tiles.run_all(64, cols);
  // A single line, whose pitch is no multiple of 16 bytes.
  GemmCase line;
  line.variant = "wgmma";
  line.in = Scalar::half;
  line.place = Place::packed;
  line.m = 1;
  line.n = 136;
  line.k = 5003;
  tiles.sweep.run(line);
  CHECK(tiles.sweep.ran() == 3 * 4 + 1 + 1 + 1);
  CHECK(tiles.boxes >= 9);
  CHECK(tiles.pieces >= 3);
}

TEST_CASE("gemm on NVIDIA: unaligned rows copied to tiles of 64 x 128") {
  const smem::Context context;
  if (!runs_gemm(context.device(), "wgmma", Scalar::half, false)) return;
  test::GemmSweep sweep(context);
  GemmCase c{.in = Scalar::half, .out = Scalar::half, .m = 130, .n = 203, .variant = "wgmma"};
  c.overrides.tile_rows = 64, c.overrides.tile_cols = 128;
  for (std::size_t number = 0; number < 8; ++number) {
    c.k = number < 4 ? 67 : 5003;  // whole, and in parts
    c.transpose_a = number % 2 != 0, c.transpose_b = number / 2 % 2 != 0;
    sweep.run(c);
  }
  CHECK(sweep.ran() == 8);
}

TEST_CASE("gemm on NVIDIA: boxes and pieces copied to tiles of 16 and 32 columns or rows") {
  TileSweep tiles;
  if (!runs_gemm(tiles.context.device(), "wgmma", Scalar::half, false)) return;
  for (const std::size_t wide : {64, 128}) {
    for (const std::size_t thin : {16, 32}) {
      tiles.run_all(wide, thin);
      const std::size_t order = tiles.tiles % 2;
      tiles.run(Scalar::half, Scalar::half, order, thin, wide, 560);
      tiles.run(Scalar::bfloat16, Scalar::bfloat16, 3 - order, thin, wide, 2);
    }
  }
  tiles.run(Scalar::float32, Scalar::float32, 0, 16, 64, 120);
  CHECK(tiles.sweep.ran() == 4 * (4 + 2) + 1);
  CHECK(tiles.boxes >= 8);
  CHECK(tiles.pieces >= 8);
}

TEST_CASE("gemm on NVIDIA: boxes and pieces copied to wide tiles of 64 rows") {
  TileSweep tiles;
  if (!runs_gemm(tiles.context.device(), "wgmma", Scalar::half, false)) return;
  for (const std::size_t cols : {144, 192, 256})
    tiles.run_all(64, cols);
  CHECK(tiles.sweep.ran() == 3 * 4 + 1);
  CHECK(tiles.boxes >= 9);
  CHECK(tiles.pieces >= 3);
}

TEST_CASE("gemm on NVIDIA: boxes and pieces copied to tiles of 128 rows") {
  TileSweep tiles;
  if (!runs_gemm(tiles.context.device(), "wgmma", Scalar::half, false)) return;
  for (const std::size_t cols : {64, 96, 128, 192, 256})
    tiles.run_all(128, cols);
  CHECK(tiles.sweep.ran() == 5 * 4 + 2 + 1);
  CHECK(tiles.boxes >= 15);
  CHECK(tiles.pieces >= 5);
}

namespace {

/// Boxes and pieces copied to tiles of so many rows and columns.
void copies_columns(std::initializer_list<std::size_t> columns, std::size_t rows = 128) {
  TileSweep tiles;
  if (!runs_gemm(tiles.context.device(), "wgmma", Scalar::half, false)) return;
  for (const std::size_t cols : columns) {
    tiles.run(Scalar::half, Scalar::half, 0, rows, cols, 52);
    tiles.run(Scalar::bfloat16, Scalar::float32, 3, rows, cols, 52);
    tiles.run(Scalar::half, Scalar::half, 1, rows, cols, 2);
  }
  CHECK(tiles.sweep.ran() == 3 * columns.size());
  CHECK(tiles.boxes >= 2 * columns.size());
  CHECK(tiles.pieces >= columns.size());
}

/// The same to tiles of `rows` and `cols`.
void copies_tile(std::size_t rows, std::size_t cols, std::size_t all) {
  TileSweep tiles;
  if (!runs_gemm(tiles.context.device(), "wgmma", Scalar::half, false)) return;
  tiles.tiles = rows / 64;
  tiles.run_all(rows, cols);
  CHECK(tiles.sweep.ran() == all);
}

/// Tiles whose rows are columns of C.
void exchanges(std::size_t rows, std::size_t cols) {
  TileSweep tiles;
  if (!runs_gemm(tiles.context.device(), "wgmma", Scalar::half, false)) return;
  tiles.run(Scalar::half, Scalar::float32, 0, rows, cols, 52);
  tiles.run(Scalar::half, Scalar::half, 1, rows, cols, 2);
  tiles.run(Scalar::bfloat16, Scalar::bfloat16, 3, rows, cols, 52);
  tiles.run(Scalar::int8, Scalar::int32, 0, rows, cols, 52);
  tiles.run(Scalar::float32, Scalar::float32, 0, rows, cols, 2);
  CHECK(tiles.sweep.ran() == 5);
  CHECK(tiles.boxes >= 2);
  CHECK(tiles.pieces >= 2);
}

}  // namespace

// A case for each, since NVIDIA's compiler takes most of a second for each program.
TEST_CASE("gemm on NVIDIA: boxes and pieces copied to tiles of 144 to 176 columns") {
  copies_columns({144, 160, 176});
}
TEST_CASE("gemm on NVIDIA: boxes and pieces copied to tiles of 208 to 240 columns") {
  copies_columns({208, 224, 240});
}
TEST_CASE("gemm on NVIDIA: boxes and pieces copied to tiles of 288 and 320 columns") {
  copies_columns({288, 320});
}
TEST_CASE("gemm on NVIDIA: boxes and pieces copied to tiles of 192 x 160") { copies_columns({160}, 192); }
// Whose pieces of a second factor lie along k alone.
TEST_CASE("gemm on NVIDIA: boxes and pieces copied to tiles of 192 x 144 and of 144 x 192") {
  TileSweep tiles;
  if (!runs_gemm(tiles.context.device(), "wgmma", Scalar::half, false)) return;
  for (const bool exchanges : {false, true}) {
    const std::size_t rows = exchanges ? 144 : 192, cols = exchanges ? 192 : 144;
    tiles.run(Scalar::half, Scalar::half, 0, rows, cols, 52);
    tiles.run(Scalar::bfloat16, Scalar::float32, 3, rows, cols, 52);
    tiles.run(Scalar::half, Scalar::half, exchanges ? 0 : 3, rows, cols, 2);
    tiles.run(Scalar::int8, Scalar::int32, 0, rows, cols, 52);
  }
  CHECK(tiles.sweep.ran() == 8);
  CHECK(tiles.boxes == 6);
  CHECK(tiles.pieces == 2);
}
// Whose producers have registers for boxes alone.
TEST_CASE("gemm on NVIDIA: boxes copied to tiles of 192 x 256 and of 256 x 192") {
  TileSweep tiles;
  if (!runs_gemm(tiles.context.device(), "wgmma", Scalar::half, false)) return;
  for (const bool exchanges : {false, true}) {
    const std::size_t rows = exchanges ? 256 : 192, cols = exchanges ? 192 : 256;
    tiles.run(Scalar::half, Scalar::half, 0, rows, cols, 52);
    tiles.run(Scalar::half, Scalar::half, 1, rows, cols, 52);
    tiles.run(Scalar::bfloat16, Scalar::bfloat16, 2, rows, cols, 52);
    tiles.run(Scalar::bfloat16, Scalar::float32, 3, rows, cols, 52);
    tiles.run(Scalar::int8, Scalar::int32, 0, rows, cols, 52);
  }
  CHECK(tiles.sweep.ran() == 10);
  CHECK(tiles.boxes == 10);
}
TEST_CASE("gemm on NVIDIA: boxes and pieces copied to tiles of 192 x 128") { copies_tile(192, 128, 4); }
TEST_CASE("gemm on NVIDIA: boxes and pieces copied to tiles of 256 x 128") { copies_tile(256, 128, 4); }
TEST_CASE("gemm on NVIDIA: boxes and pieces copied to tiles of 192 x 192") { copies_tile(192, 192, 5); }

// Of fp8 a step's sums have registers of their own: of all columns, or of half of them.
TEST_CASE("gemm on NVIDIA: boxes copied to tiles of fp8") {
  TileSweep tiles;
  if (!runs_gemm(tiles.context.device(), "wgmma", Scalar::e4m3, false)) return;
  for (const std::size_t rows : {128, 192})
    tiles.run(rows == 128 ? Scalar::e5m2 : Scalar::e4m3, Scalar::half, 0, rows, 128, 52);
  tiles.run(Scalar::e4m3, Scalar::bfloat16, 0, 128, 256, 52);
  CHECK(tiles.boxes == 3);
  CHECK(tiles.sweep.ran() == 3);
}

TEST_CASE("gemm on NVIDIA: columns of C are rows of tiles of 96 x 64") { exchanges(96, 64); }
TEST_CASE("gemm on NVIDIA: columns of C are rows of tiles of 144 x 128") { exchanges(144, 128); }
TEST_CASE("gemm on NVIDIA: columns of C are rows of tiles of 160 x 192") { exchanges(160, 192); }
TEST_CASE("gemm on NVIDIA: columns of C are rows of tiles of 160 x 64") { exchanges(160, 64); }
TEST_CASE("gemm on NVIDIA: columns of C are rows of tiles of 176 x 128") { exchanges(176, 128); }
TEST_CASE("gemm on NVIDIA: columns of C are rows of tiles of 288 x 128") { exchanges(288, 128); }
TEST_CASE("gemm on NVIDIA: columns of C are rows of tiles of 320 x 128") { exchanges(320, 128); }
TEST_CASE("gemm on NVIDIA: groups of a tile add its parts together") {
  TileSweep tiles;
  if (!runs_gemm(tiles.context.device(), "wgmma", Scalar::half, false)) return;
  tiles.run(Scalar::half, Scalar::half, 0, 128, 128, 26);
  tiles.run(Scalar::bfloat16, Scalar::float32, 2, 128, 128, 26);  // with a bias
  tiles.run(Scalar::half, Scalar::half, 3, 128, 192, 26);         // which reads C
  tiles.run(Scalar::half, Scalar::half, 1, 64, 256, 26);
  tiles.run(Scalar::int8, Scalar::int32, 0, 128, 128, 26);
  tiles.run(Scalar::half, Scalar::float32, 0, 144, 128, 26);  // whose rows are columns of C
  tiles.run(Scalar::half, Scalar::half, 0, 176, 128, 26);
  CHECK(tiles.sweep.ran() == 7);
  CHECK(tiles.shared >= 6);
}
TEST_CASE("gemm on NVIDIA: columns of C are rows of tiles, sums in parts") {
  TileSweep tiles;
  if (!runs_gemm(tiles.context.device(), "wgmma", Scalar::half, false)) return;
  tiles.run(Scalar::half, Scalar::half, 0, 96, 64, 700);
  CHECK(tiles.sweep.ran() == 1);
}
