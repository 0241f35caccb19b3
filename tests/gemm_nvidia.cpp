// The variants of gemm with NVIDIA's own instructions, on devices that have them: every order, alignment and
// type, batches, lists, epilogues and sums in parts.
#include <smem/smem.hpp>

#include "support/gemm_plans.hpp"
#include "support/gemms.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using smem::Scalar;
using test::GemmCase;
using test::Place;
using test::runs_gemm;

namespace {

using Types = std::vector<std::pair<Scalar, Scalar>>;

/// Whether the variant takes aligned rows alone, of which a plan without views knows nothing.
bool takes_aligned(std::string_view variant, Scalar in, bool tf32) {
  return variant == "wgmma" && (smem::size_of(in) == 1 || tf32);
}

void all_of(const char* variant, const Types& types, bool tf32 = false) {
  const smem::Context context;
  if (!runs_gemm(context.device(), variant, types.front().first, tf32)) return;
  test::GemmSweep sweep(context);
  std::size_t ran = 0;
  // Each program costs the driver's compiler a second: the first type has every order, the others one each.
  for (std::size_t t = 0; t < types.size(); ++t) {
    const auto& [in, out] = types[t];
    const bool only_aligned = takes_aligned(variant, in, tf32);
    GemmCase c;
    c.variant = variant;
    c.in = in;
    c.out = out;
    c.tf32 = tf32;
    for (std::size_t order = 0; order < 4; ++order) {
      if ((t > 0 || tf32) && order != std::min<std::size_t>(t, 2)) continue;
      c.transpose_a = order % 2 != 0;
      c.transpose_b = order / 2 != 0;
      for (const Place place : {Place::packed, Place::odd, Place::aligned}) {
        if (only_aligned && place != Place::aligned) continue;
        c.place = place;
        test::gemm_shapes(sweep, c);
        ran += sweep.ran();
      }
    }
    // Several tiles of every size that a plan may choose, and more than a band.
    c.transpose_a = false;
    c.transpose_b = true;
    for (const Place place : {Place::odd, Place::aligned}) {
      if (only_aligned && place != Place::aligned) continue;
      c.place = place;
      c.beta = 1;
      for (const auto& [m, n, k] :
           {std::array<std::size_t, 3>{300, 530, 333}, {1030, 1100, 64}, {4100, 40, 97}, {20, 4100, 97}}) {
        c.m = m;
        c.n = n;
        c.k = k;
        sweep.run(c);
      }
      // Sums in parts.
      c.m = 33;
      for (const std::size_t n : {41, 44}) {  // stored one by one, and in vectors
        c.n = n;
        c.k = 5003;
        sweep.run(c);
      }
      c.m = 3;
      c.bias = 2;
      c.activation = smem::Activation::relu;
      sweep.run(c);
      c.activation = smem::Activation::none;
      c.bias = 0;
      ran += sweep.ran();
    }
    c.m = 65;
    c.n = 70;
    c.k = 99;
    c.batch = 7;
    sweep.run(c);
    c.listed = true;  // of which no plan knows the alignment, nor what of fp8 is to be widened
    if (!only_aligned && !smem::is_fp8(in)) sweep.run(c);
    c.listed = false;
    c.shared_b = true;
    sweep.run(c);
    c.shared_b = false;
    c.batch = 2;
    for (const int bias : {1, 2}) {
      c.bias = bias;
      c.residual = bias;
      c.column_major = bias == 2;
      sweep.run(c);
    }
    ran += sweep.ran();
  }
  // TF32 in one order, and by wgmma in aligned rows, as fp8.
  CHECK(ran > types.size() * (tf32 || smem::is_fp8(types.front().first) ? 8 : 40));
}

}  // namespace

TEST_CASE("gemm on NVIDIA: multistage") { all_of("multistage", {{Scalar::float32, Scalar::float32}}); }
TEST_CASE("gemm on NVIDIA: mma") {
  all_of("mma", {{Scalar::half, Scalar::float32},
                 {Scalar::half, Scalar::half},
                 {Scalar::bfloat16, Scalar::bfloat16},
                 {Scalar::int8, Scalar::int32}});
}
TEST_CASE("gemm on NVIDIA: mma, double") { all_of("mma", {{Scalar::float64, Scalar::float64}}); }
TEST_CASE("gemm on NVIDIA: wgmma") {
  all_of("wgmma", {{Scalar::half, Scalar::float32},
                   {Scalar::half, Scalar::half},
                   {Scalar::bfloat16, Scalar::float32},
                   {Scalar::int8, Scalar::int32}});
}
TEST_CASE("gemm on NVIDIA: fp8") {
  all_of("wgmma",
         {{Scalar::e4m3, Scalar::float32}, {Scalar::e5m2, Scalar::half}, {Scalar::e4m3, Scalar::bfloat16}});
  all_of("mma", {{Scalar::e4m3, Scalar::half}, {Scalar::e5m2, Scalar::float32}});
}
TEST_CASE("gemm on NVIDIA: TF32 where it is asked for") {
  all_of("mma", {{Scalar::float32, Scalar::float32}}, true);
  all_of("wgmma", {{Scalar::float32, Scalar::float32}}, true);
}

TEST_CASE("gemm on NVIDIA: factors that are packed before wgmma") {
  const smem::Context context;
  if (!runs_gemm(context.device(), "wgmma", Scalar::half, false)) return;
  test::GemmSweep sweep(context);
  GemmCase c;
  c.in = Scalar::half;
  c.m = 1025;
  c.n = 2051;
  c.k = 1037;
  std::size_t packed = 0;
  for (std::size_t order = 0; order < 4; ++order) {
    for (const Place place : {Place::packed, Place::odd}) {
      c.transpose_a = order % 2 != 0;
      c.transpose_b = order / 2 != 0;
      c.column_major = order % 2 != 0;
      c.place = place;
      c.alpha = place == Place::odd ? -2 : 1;
      c.beta = order >= 2 ? 1 : 0;
      const smem::GemmProblem problem = [&] {
        smem::GemmProblem p = test::problem_of(c);
        p.a_alignment = p.b_alignment = 2;
        return p;
      }();
      packed += smem::plan_gemm(context.device(), problem).before.size();
      sweep.run(c);
      c.in = c.in == Scalar::half ? Scalar::bfloat16 : Scalar::half;
    }
  }
  CHECK(packed >= 4);  // of others, tiles of unaligned rows take less time
  // One factor lies well already.
  c.column_major = c.transpose_b = false;
  c.m = 1024;
  c.transpose_a = true;
  c.place = Place::packed;
  c.beta = -1;
  sweep.run(c);
  // Parts of long sums too.
  c.m = 66;
  c.n = 131;
  c.k = 140001;
  sweep.run(c);
  CHECK(sweep.ran() == 10);
}

namespace {

/// What CI has no device for: shapes that make a GPU cut sums into parts, of each a tail or none, in every
/// order.
void every_order(const char* variant, const Types& types, bool tf32 = false) {
  const smem::Context context;
  if (context.device().type != smem::DeviceType::gpu) return;
  test::GemmSweep sweep(context);
  for (const auto& [in, out] : types) {
    if (in == Scalar::float64 && !context.device().fp64) continue;
    for (std::size_t order = 0; order < 8; ++order) {
      GemmCase c;
      c.variant = variant;
      c.in = in;
      c.out = out;
      c.tf32 = tf32;
      c.transpose_a = order % 2 != 0;
      c.transpose_b = order / 2 % 2 != 0;
      c.column_major = order / 4 != 0;
      struct Shape {
        std::size_t m, n, k, batch;
        Place place;
        double alpha, beta;
      };
      for (const Shape& shape :
           {Shape{64, 32, 2048, 1, Place::aligned, -2, 1}, Shape{34, 62, 2050, 1, Place::odd, 1, 0},
            Shape{36, 70, 1100, 3, Place::aligned, 1, 0}, Shape{33, 35, 1999, 3, Place::packed, -2, 1},
            Shape{257, 130, 96, 1, Place::aligned, 1, 1}, Shape{130, 258, 97, 1, Place::packed, -2, 0}}) {
        if (takes_aligned(variant, in, tf32) && shape.place != Place::aligned) continue;
        c.m = shape.m;
        c.n = shape.n;
        c.k = shape.k;
        c.batch = shape.batch;
        c.place = shape.place;
        c.alpha = shape.alpha;
        c.beta = shape.beta;
        sweep.run(c);
      }
    }
  }
  const auto& [in, out] = types.front();
  if (runs_gemm(context.device(), variant, in, tf32)) CHECK(sweep.ran() > 0);
}

const Types kHalf{{Scalar::half, Scalar::float32}}, kHalfOut{{Scalar::half, Scalar::half}};
const Types kBfloat16{{Scalar::bfloat16, Scalar::float32}},
    kBfloat16Out{{Scalar::bfloat16, Scalar::bfloat16}};
const Types kFloats{{Scalar::float32, Scalar::float32}}, kDoubles{{Scalar::float64, Scalar::float64}};
const Types kInts{{Scalar::int8, Scalar::int32}}, kFp8{{Scalar::e4m3, Scalar::float32}};
const Types kAll{{Scalar::float32, Scalar::float32},  {Scalar::float64, Scalar::float64},
                 {Scalar::half, Scalar::float32},     {Scalar::half, Scalar::half},
                 {Scalar::bfloat16, Scalar::float32}, {Scalar::bfloat16, Scalar::bfloat16},
                 {Scalar::int8, Scalar::int32}};

}  // namespace

TEST_CASE("gemm on a GPU: every order by mma, half") { every_order("mma", kHalf); }
TEST_CASE("gemm on a GPU: every order by mma, half out") { every_order("mma", kHalfOut); }
TEST_CASE("gemm on a GPU: every order by mma, bfloat16") { every_order("mma", kBfloat16); }
TEST_CASE("gemm on a GPU: every order by mma, bfloat16 out") { every_order("mma", kBfloat16Out); }
TEST_CASE("gemm on a GPU: every order by mma, int8") { every_order("mma", kInts); }
TEST_CASE("gemm on a GPU: every order by mma, double") { every_order("mma", kDoubles); }
TEST_CASE("gemm on a GPU: every order by mma, TF32") { every_order("mma", kFloats, true); }
TEST_CASE("gemm on a GPU: every order by wgmma, half") { every_order("wgmma", kHalf); }
TEST_CASE("gemm on a GPU: every order by wgmma, half out") { every_order("wgmma", kHalfOut); }
TEST_CASE("gemm on a GPU: every order by wgmma, bfloat16") { every_order("wgmma", kBfloat16); }
TEST_CASE("gemm on a GPU: every order by wgmma, bfloat16 out") { every_order("wgmma", kBfloat16Out); }
TEST_CASE("gemm on a GPU: every order by wgmma, int8") { every_order("wgmma", kInts); }
TEST_CASE("gemm on a GPU: every order by wgmma, fp8") { every_order("wgmma", kFp8); }
TEST_CASE("gemm on a GPU: every order by wgmma, TF32") { every_order("wgmma", kFloats, true); }
TEST_CASE("gemm on a GPU: every order by multistage") { every_order("multistage", kFloats); }
TEST_CASE("gemm on a GPU: every order by stream_k") { every_order("stream_k", kAll); }
TEST_CASE("gemm on a GPU: every order by split_k") { every_order("split_k", kAll); }
TEST_CASE("gemm on a GPU: every order by the plan's choice, half") { every_order("", kHalf); }
TEST_CASE("gemm on a GPU: every order by the plan's choice, half out") { every_order("", kHalfOut); }
TEST_CASE("gemm on a GPU: every order by the plan's choice, bfloat16") { every_order("", kBfloat16); }
TEST_CASE("gemm on a GPU: every order by the plan's choice, bfloat16 out") { every_order("", kBfloat16Out); }
TEST_CASE("gemm on a GPU: every order by the plan's choice, int8") { every_order("", kInts); }
TEST_CASE("gemm on a GPU: every order by the plan's choice, fp8") { every_order("", kFp8); }
TEST_CASE("gemm on a GPU: every order by the plan's choice, TF32") { every_order("", kFloats, true); }
TEST_CASE("gemm on a GPU: every order by the plan's choice, float") { every_order("", kFloats); }
TEST_CASE("gemm on a GPU: every order by the plan's choice, double") { every_order("", kDoubles); }

TEST_CASE("gemm on a GPU: every other variant of every type") {
  const smem::Context context;
  if (context.device().type != smem::DeviceType::gpu) return;
  test::GemmSweep sweep(context);
  std::size_t turn = 0;
  for (const std::string_view variant : smem::gemm_variants()) {
    if (!test::is_portable_gemm(variant) || variant == "stream_k" || variant == "split_k") continue;
    for (const auto& [in, out] : kAll) {
      if (in == Scalar::float64 && !context.device().fp64) continue;
      GemmCase c;
      c.variant = variant;
      c.in = in;
      c.out = out;
      for (const Place place : {Place::aligned, Place::odd}) {  // two programs of each
        ++turn;
        c.transpose_a = turn % 2 != 0;
        c.transpose_b = turn / 2 % 2 != 0;
        c.column_major = turn / 4 % 2 != 0;
        c.place = place;
        c.batch = 3;
        c.m = 67;
        c.n = 66;
        c.k = 131;
        c.alpha = -2;
        c.beta = 1;
        sweep.run(c);
        c.batch = 1;
        c.n = 300;
        c.k = 64;
        c.alpha = 1;
        c.beta = 0;
        sweep.run(c);
      }
    }
  }
  CHECK(sweep.ran() > 0);
}

TEST_CASE("gemm on NVIDIA: factors of int8 and TF32 that are turned before wgmma") {
  const smem::Context context;
  if (!runs_gemm(context.device(), "wgmma", Scalar::int8, false)) return;
  test::GemmSweep sweep(context);
  std::size_t packed = 0;
  for (const bool of_int8 : {true, false}) {
    for (std::size_t order = 0; order < 4; ++order) {
      for (const Place place : {Place::packed, Place::odd, Place::aligned}) {
        GemmCase c;
        c.variant = "wgmma";
        c.in = of_int8 ? Scalar::int8 : Scalar::float32;
        c.out = of_int8 ? Scalar::int32 : Scalar::float32;
        c.tf32 = !of_int8;
        c.m = 523;
        c.n = 1026;
        c.k = 517;
        c.transpose_a = order % 2 != 0;
        c.transpose_b = order / 2 != 0;
        c.column_major = order == 0;
        c.place = place;
        c.alpha = place == Place::odd ? -2 : 1;
        c.beta = order >= 2 ? 1 : 0;
        smem::GemmProblem problem = test::problem_of(c);
        if (place != Place::aligned) problem.a_alignment = problem.b_alignment = smem::size_of(c.in);
        packed += smem::plan_gemm(context.device(), problem, {.variant = c.variant}).before.size();
        sweep.run(c);
      }
    }
  }
  CHECK(sweep.ran() == 24);
  // Where both are aligned, nothing is packed of a row-major A and a transposed B, and of TF32 of one factor
  // across k.
  CHECK(packed == 20);
}

TEST_CASE("gemm on NVIDIA: TF32 by wgmma of one factor across k") {
  const smem::Context context;
  if (!runs_gemm(context.device(), "wgmma", Scalar::float32, true)) return;
  test::GemmSweep sweep(context);
  struct Words {
    std::size_t m, n, k, tile_rows, tile_cols;
    bool of_b = false;  ///< B lies across k, and C's columns are the rows of tiles
    Place place = Place::aligned;
    std::size_t batch = 1;
    double alpha = 1, beta = 0;
    int bias = 0;
  };
  std::size_t words = 0, boxes = 0, in_parts = 0, joined = 0;
  // A consumer or several, with tails of m, n and k, an odd number of steps and an even one, and one step.
  for (const Words& shape : {Words{200, 334, 197, 64, 64}, Words{200, 334, 197, 256, 64, true},
                             Words{200, 334, 230, 128, 96, false, Place::aligned, 1, -2, 1},
                             Words{200, 334, 31, 128, 192, true}, Words{200, 334, 197, 192, 128},
                             // By boxes.
                             Words{200, 334, 1001, 192, 256}, Words{200, 334, 1000, 320, 128, true},
                             Words{600, 500, 1400, 64, 64, true},
                             // Sums in parts: of a tile, of several that groups add together, and of units.
                             Words{33, 44, 5003, 0, 0}, Words{33, 44, 5003, 0, 0, true},
                             Words{300, 400, 2100, 128, 64}, Words{700, 800, 600, 64, 64, true},
                             // Lines of 4 bytes of C, batches and an epilogue.
                             Words{132, 131, 100, 64, 64, false, Place::packed},
                             Words{70, 75, 99, 0, 0, false, Place::aligned, 3, 1, -1},
                             Words{70, 75, 99, 0, 0, false, Place::aligned, 2, -2, 0, 2}}) {
    GemmCase c;
    c.variant = "wgmma";
    c.tf32 = true;
    c.m = shape.m;
    c.n = shape.n;
    c.k = shape.k;
    c.batch = shape.batch;
    c.transpose_a = c.transpose_b = !shape.of_b;
    c.place = shape.place;
    c.alpha = shape.alpha;
    c.beta = shape.beta;
    c.bias = shape.bias;
    c.overrides.tile_rows = shape.tile_rows;
    c.overrides.tile_cols = shape.tile_cols;
    smem::PlanOverrides fixed = c.overrides;
    fixed.variant = c.variant;
    const smem::Plan plan = smem::plan_gemm(context.device(), test::problem_of(c), fixed);
    const auto has = [&](const char* name, long value) {
      return std::find(plan.defines.begin(), plan.defines.end(), std::pair<std::string, long>{name, value}) !=
             plan.defines.end();
    };
    words += has("A_ALONG_K", 0) && plan.before.empty() ? 1 : 0;
    boxes += has("TENSOR", 1) ? 1 : 0;
    in_parts += has("STREAM", 1) ? 1 : 0;
    joined += has("SHARED_JOIN", 1) ? 1 : 0;
    sweep.run(c);
  }
  CHECK(sweep.ran() == 15);
  CHECK(words == 15);
  CHECK(boxes >= 3);
  CHECK(in_parts >= 4);
  CHECK(joined >= 1);
}

TEST_CASE("gemm on NVIDIA: boxes of wgmma at the edges of factors") {
  const smem::Context context;
  if (!runs_gemm(context.device(), "wgmma", Scalar::half, false)) return;
  test::GemmSweep sweep(context);
  struct Edge {
    std::size_t m, n, tile_rows, tile_cols;
    std::size_t order;
    Scalar in = Scalar::half;
  };
  // Tiles whose sums are never in parts, which would have too few steps for boxes: whole boxes and last lines
  // of one factor or both, of two boxes a tile, and of less than a box; of factors across k boxes are left
  // out.
  for (const Edge& edge :
       {Edge{130, 270, 128, 208, 2}, Edge{30, 20, 192, 128, 2}, Edge{257, 300, 128, 288, 2},
        Edge{200, 300, 192, 256, 0}, Edge{200, 300, 192, 128, 1}, Edge{140, 270, 192, 192, 3},
        Edge{200, 300, 192, 128, 2, Scalar::int8}}) {
    GemmCase c;
    c.variant = "wgmma";
    c.in = edge.in;
    c.out = edge.in == Scalar::int8 ? Scalar::int32 : Scalar::float32;
    c.m = edge.m;
    c.n = edge.n;
    c.k = 3100;  // of int8 too so many steps that maps are worth while
    c.transpose_a = edge.order % 2 != 0;
    c.transpose_b = edge.order / 2 != 0;
    c.place = Place::aligned;
    c.overrides.tile_rows = edge.tile_rows;
    c.overrides.tile_cols = edge.tile_cols;
    smem::PlanOverrides fixed = c.overrides;
    fixed.variant = c.variant;
    CHECK(test::copies_boxes(smem::plan_gemm(context.device(), test::problem_of(c), fixed)));
    sweep.run(c);
  }
  CHECK(sweep.ran() == 7);
}

TEST_CASE("gemm on NVIDIA: factors that are packed before multistage") {
  const smem::Context context;
  if (!runs_gemm(context.device(), "packed", Scalar::float32, false)) return;
  test::GemmSweep sweep(context);
  std::size_t of_a = 0, of_b = 0, of_both = 0, programs = 0;
  const auto run = [&](const GemmCase& c) {
    smem::GemmProblem problem = test::problem_of(c);
    if (c.place == Place::odd) problem.a_alignment = problem.b_alignment = 4;
    const smem::Plan plan = smem::plan_gemm(context.device(), problem, {.variant = c.variant});
    const bool a = plan.number("packed_a_pitch") > 0, b = plan.number("packed_b_pitch") > 0;
    of_a += a && !b ? 1 : 0;
    of_b += b && !a ? 1 : 0;
    of_both += a && b ? 1 : 0;
    ++programs;
    sweep.run(c);
  };
  for (std::size_t order = 0; order < 8; ++order) {
    for (const Place place : {Place::odd, Place::aligned}) {
      GemmCase c;
      c.variant = "packed";
      c.transpose_a = order % 2 != 0;
      c.transpose_b = order / 2 % 2 != 0;
      c.column_major = order / 4 != 0;
      c.place = place;
      struct Shape {
        std::size_t m, n, k;
        double alpha, beta;
      };
      // Tails of every side; whole tiles; sums in parts; one row or column.
      for (const Shape& shape :
           {Shape{131, 259, 77, -2, 1}, Shape{128, 256, 64, 1, 0}, Shape{33, 41, 5003, 1, 1},
            Shape{1, 300, 97, 1, 0}, Shape{300, 1, 98, 2, 0}}) {
        c.m = shape.m;
        c.n = shape.n;
        c.k = shape.k;
        c.alpha = shape.alpha;
        c.beta = shape.beta;
        run(c);
      }
      c.m = 65;
      c.n = 70;
      c.k = 129;
      c.bias = place == Place::odd ? 1 : 2;
      c.residual = c.bias;
      c.activation = smem::Activation::relu;
      run(c);
    }
  }
  CHECK(sweep.ran() == programs);
  // Products so large that both are worth packing, which the plan chooses by itself.
  for (const bool transposed : {false, true}) {
    GemmCase c;
    c.variant = transposed ? "" : "packed";
    c.m = 1027;
    c.n = 1541;
    c.k = 1030;
    c.transpose_a = !transposed;
    c.transpose_b = transposed;
    c.beta = -1;
    run(c);
  }
  CHECK(sweep.ran() == 2);
  CHECK(of_a > 0);
  CHECK(of_b > 0);
  if (context.device().compute_units > 100) CHECK(of_both > 0);
}
