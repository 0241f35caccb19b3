// Products whose factors or results "wgmma" copies by boxes: of batches, and of more than a round of tiles.
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

namespace {

struct Boxes {
  std::size_t m, n, k, tile_rows, tile_cols, order, batch = 1;
  bool shared_b = false;
  Scalar in = Scalar::half, out = Scalar::half;
  double alpha = 1;
};

/// \returns whether the results leave by boxes.
bool run(test::GemmSweep& sweep, const smem::Context& context, const Boxes& x) {
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
  c.place = Place::aligned;
  c.alpha = x.alpha;
  c.overrides.tile_rows = x.tile_rows;
  c.overrides.tile_cols = x.tile_cols;
  smem::PlanOverrides fixed = c.overrides;
  fixed.variant = c.variant;
  const smem::Plan plan = smem::plan_gemm(context.device(), test::problem_of(c), fixed);
  CHECK(test::copies_boxes(plan));
  sweep.run(c);
  return std::any_of(plan.defines.begin(), plan.defines.end(),
                     [](const auto& define) { return define.first == "BOXES_OF_WARP"; });
}

}  // namespace

TEST_CASE("gemm on NVIDIA: boxes of the factors of batches") {
  const smem::Context context;
  if (!runs_gemm(context.device(), "wgmma", Scalar::half, false)) return;
  test::GemmSweep sweep(context);
  // One tile a product, several, and last lines; one factor for all products.
  for (const Boxes& x : {Boxes{64, 64, 200, 64, 64, 0, 800}, Boxes{64, 64, 136, 64, 64, 3, 1100, true},
                         Boxes{72, 104, 520, 64, 96, 1, 180},
                         Boxes{304, 200, 1600, 256, 128, 0, 3, true, Scalar::bfloat16, Scalar::bfloat16},
                         Boxes{136, 648, 3200, 128, 320, 2, 2, false, Scalar::int8, Scalar::int32},
                         Boxes{200, 200, 1600, 192, 144, 2, 2, true, Scalar::float32, Scalar::float32}})
    CHECK(!run(sweep, context, x));
  CHECK(sweep.ran() == 6);
}

TEST_CASE("gemm on NVIDIA: boxes of results of 4 bytes") {
  const smem::Context context;
  if (!runs_gemm(context.device(), "wgmma", Scalar::half, false)) return;
  test::GemmSweep sweep(context);
  // Edges within a warp's box and beyond whole ones; a last box that overlaps the one before it; as many
  // boxes a tile as a warp has in local memory, and others. The numbers are those of an H200's 132 units.
  std::size_t boxes = 0;
  for (const Boxes& x : {Boxes{808, 712, 1352, 64, 64, 1, 1, false, Scalar::half, Scalar::float32, -2},
                         Boxes{808, 1096, 1352, 64, 96, 2, 1, false, Scalar::half, Scalar::float32},
                         Boxes{808, 1800, 680, 64, 144, 2, 1, false, Scalar::float32, Scalar::float32},
                         Boxes{808, 712, 2704, 64, 64, 2, 1, false, Scalar::int8, Scalar::int32}})
    boxes += run(sweep, context, x) ? 1 : 0;
  CHECK(sweep.ran() == 4);
  if (context.device().compute_units == 132) CHECK(boxes == 4);
}
