// Products whose factors and results "wgmma" copies by boxes: of batches, at edges, and of sums in parts.
#include <smem/smem.hpp>

#include "support/gemm_plans.hpp"
#include "support/gemms.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <initializer_list>

using smem::Scalar;
using test::GemmCase;
using test::Place;
using test::runs_gemm;

TEST_CASE("gemm on NVIDIA: boxes of factors and results of wgmma, of batches and of sums in parts") {
  const smem::Context context;
  if (!runs_gemm(context.device(), "wgmma", Scalar::half, false)) return;
  test::GemmSweep sweep(context);
  struct Boxes {
    std::size_t m, n, k, tile_rows, tile_cols, order, batch;
    bool shared_b = false;
    Scalar in = Scalar::half, out = Scalar::half;
  };
  std::size_t in_parts = 0;
  // Edges within a warp's box and beyond whole ones; a last box that overlaps the one before it; one box of a
  // warp in local memory and two; as many boxes a tile as a warp has there, and others; sums in parts.
  for (const Boxes& x : {Boxes{64, 64, 200, 64, 64, 0, 800}, Boxes{64, 64, 136, 64, 64, 3, 1100, true},
                         Boxes{72, 104, 520, 64, 96, 1, 180},
                         Boxes{304, 200, 1600, 256, 128, 0, 3, true, Scalar::bfloat16, Scalar::bfloat16},
                         Boxes{200, 200, 1600, 192, 144, 2, 2}, Boxes{136, 648, 1600, 128, 320, 1, 2},
                         Boxes{136, 520, 1600, 128, 288, 3, 2}, Boxes{104, 152, 35848, 64, 64, 2, 1},
                         // Of 4 bytes.
                         Boxes{72, 104, 520, 64, 96, 1, 180, false, Scalar::half, Scalar::float32},
                         Boxes{136, 648, 3200, 128, 320, 2, 2, false, Scalar::int8, Scalar::int32},
                         Boxes{200, 200, 1600, 192, 144, 2, 2, true, Scalar::float32, Scalar::float32}}) {
    GemmCase c;
    c.variant = "wgmma";
    c.in = x.in;
    c.out = x.out;
    c.tf32 = x.in == Scalar::float32;
    c.m = x.m;
    c.n = x.n;
    c.k = x.k;
    c.batch = x.batch;
    c.shared_b = x.shared_b;
    c.transpose_a = x.order % 2 != 0;
    c.transpose_b = x.order / 2 != 0;
    c.place = x.m == 64 ? Place::packed : Place::aligned;
    c.alpha = x.order == 1 ? -2 : 1;
    c.overrides.tile_rows = x.tile_rows;
    c.overrides.tile_cols = x.tile_cols;
    smem::PlanOverrides fixed = c.overrides;
    fixed.variant = c.variant;
    const smem::Plan plan = smem::plan_gemm(context.device(), test::problem_of(c), fixed);
    CHECK(test::copies_boxes(plan));
    const auto has = [&](const char* name) {
      return std::any_of(plan.defines.begin(), plan.defines.end(),
                         [&](const auto& define) { return define.first == name; });
    };
    CHECK(has("BOXES_OF_WARP"));
    in_parts += has("STREAM") ? 1 : 0;
    sweep.run(c);
  }
  CHECK(sweep.ran() == 11);
  CHECK(in_parts == 1);
}
