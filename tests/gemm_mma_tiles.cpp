// Tiles of "mma" where rows begin anywhere, and where bytes and words lie across k: each way to fill a tile
// and to store it, with tails on all sides.
#include <smem/smem.hpp>

#include "support/gemms.hpp"
#include "support/turn.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>

using smem::Scalar;
using test::GemmCase;
using test::Place;
using test::runs_gemm;

namespace {

struct Tile {
  std::size_t m, n;
};
constexpr Tile kTiles[] = {{64, 64},  {128, 128}, {64, 128}, {128, 64}, {128, 256}, {16, 128},
                           {128, 16}, {64, 32},   {32, 32},  {32, 128}, {128, 32}};

/// Whether "mma" has the tile for factors that lie so: as they lie, and, where they are packed, in aligned
/// rows, which test::run() plans for. Of the former the largest tile may lack registers, of the latter narrow
/// ones blocks.
bool has_tile(const smem::Device& device, const GemmCase& c) {
  const auto alignment = [&](bool along_k, std::size_t across) {
    const std::size_t bytes = (c.place == Place::odd ? 1 : along_k ? c.k : across) * size_of(c.in);
    return std::min<std::size_t>(64, bytes & (~bytes + 1));
  };
  smem::GemmProblem aligned = test::problem_of(c), as_it_lies = aligned;
  as_it_lies.a_alignment = alignment(aligned.a_along_k, c.m);
  as_it_lies.b_alignment = alignment(aligned.b_along_k, c.n);
  smem::PlanOverrides fixed = c.overrides;
  fixed.variant = "mma";
  try {
    smem::plan_gemm(device, as_it_lies, fixed);
    if (c.place != Place::odd) smem::plan_gemm(device, aligned, fixed);
    return true;
  } catch (const smem::Error&) {
    return false;
  }
}

void all_tiles(Scalar in, Scalar out, bool tf32) {
  const smem::Context context;
  if (!runs_gemm(context.device(), "mma", in, tf32)) return;
  test::GemmSweep sweep(context);
  std::size_t expected = 0, number = 0;
  for (const Tile& tile : kTiles) {
    for (std::size_t order = 0; order < 4; ++order, ++number) {
      if (!test::has_turn(number, 4)) continue;
      GemmCase c{.in = in, .out = out, .variant = "mma"};
      c.tf32 = tf32;
      c.overrides.tile_rows = tile.m, c.overrides.tile_cols = tile.n;
      c.transpose_a = order % 2 != 0, c.transpose_b = order / 2 != 0;
      // One step that is partial, of bytes of one and of two sub-steps, and several; edges of all tiles, of
      // rows at multiples of 1, 2 and 4 elements.
      for (const std::size_t multiple : {1, 2, 4}) {
        c.place = multiple == 1 ? Place::odd : Place::packed;
        c.m = multiple == 1 ? 131 : multiple == 2 ? 138 : 140;
        c.n = multiple == 1 ? 273 : multiple == 2 ? 270 : 268;
        const std::size_t deep = multiple == 1 ? 301 : multiple == 2 ? 302 : 300;
        for (const std::size_t k : {multiple == 2 ? std::size_t{49} : std::size_t{17}, deep}) {
          c.k = k;
          if (!has_tile(context.device(), c)) continue;
          ++expected;
          sweep.run(c);
        }
      }
    }
  }
  CHECK(sweep.ran() == expected);
  CHECK(expected > 0);
}

}  // namespace

TEST_CASE("gemm on NVIDIA: all tiles of mma, half") { all_tiles(Scalar::half, Scalar::half, false); }
TEST_CASE("gemm on NVIDIA: all tiles of mma, bfloat16 to float") {
  all_tiles(Scalar::bfloat16, Scalar::float32, false);
}
TEST_CASE("gemm on NVIDIA: all tiles of mma, int8") { all_tiles(Scalar::int8, Scalar::int32, false); }
TEST_CASE("gemm on NVIDIA: all tiles of mma, TF32") { all_tiles(Scalar::float32, Scalar::float32, true); }
