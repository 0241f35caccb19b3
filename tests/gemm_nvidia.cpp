// The variants of gemm with NVIDIA's own instructions, on devices that have them: every order, alignment and
// type, batches, lists, epilogues and sums in parts.
#include <smem/smem.hpp>

#include "support/gemms.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

using smem::Scalar;
using test::GemmCase;
using test::Place;

namespace {

using Types = std::vector<std::pair<Scalar, Scalar>>;

/// Whether a plan for large matrices, with both factors along k, is the variant's.
bool runs(const smem::Device& device, const char* variant, Scalar in, bool tf32) {
  smem::GemmProblem problem;
  problem.m = problem.n = problem.k = 1024;
  problem.in = in;
  problem.out = in == Scalar::int8 ? Scalar::int32 : in == Scalar::float64 ? in : Scalar::float32;
  problem.b_along_k = true;
  problem.tf32 = tf32;
  try {
    smem::plan_gemm(device, problem, {.variant = std::string(variant)});
    return true;
  } catch (const smem::Error&) {
    return false;
  }
}

/// Whether the variant takes aligned rows alone, of which a plan without views knows nothing.
bool takes_aligned(std::string_view variant, Scalar in, bool tf32) {
  return variant == "wgmma" && (in == Scalar::int8 || tf32);
}

void all_of(const char* variant, const Types& types, bool tf32 = false) {
  const smem::Context context;
  if (!runs(context.device(), variant, types.front().first, tf32)) return;
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
    c.listed = true;  // of which no plan knows the alignment
    if (!only_aligned) sweep.run(c);
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
  CHECK(ran > types.size() * (tf32 ? 8 : 40));  // TF32 in one order, and by wgmma in aligned rows
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
TEST_CASE("gemm on NVIDIA: TF32 where it is asked for") {
  all_of("mma", {{Scalar::float32, Scalar::float32}}, true);
  all_of("wgmma", {{Scalar::float32, Scalar::float32}}, true);
}

TEST_CASE("gemm on NVIDIA: factors that are packed before wgmma") {
  const smem::Context context;
  if (!runs(context.device(), "wgmma", Scalar::half, false)) return;
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
  if (runs(context.device(), variant, in, tf32)) CHECK(sweep.ran() > 0);
}

const Types kHalf{{Scalar::half, Scalar::float32}}, kHalfOut{{Scalar::half, Scalar::half}};
const Types kBfloat16{{Scalar::bfloat16, Scalar::float32}},
    kBfloat16Out{{Scalar::bfloat16, Scalar::bfloat16}};
const Types kFloats{{Scalar::float32, Scalar::float32}}, kDoubles{{Scalar::float64, Scalar::float64}};
const Types kInts{{Scalar::int8, Scalar::int32}};
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
TEST_CASE("gemm on a GPU: every order by wgmma, TF32") { every_order("wgmma", kFloats, true); }
TEST_CASE("gemm on a GPU: every order by multistage") { every_order("multistage", kFloats); }
TEST_CASE("gemm on a GPU: every order by stream_k") { every_order("stream_k", kAll); }
TEST_CASE("gemm on a GPU: every order by split_k") { every_order("split_k", kAll); }
TEST_CASE("gemm on a GPU: every order by the plan's choice, half") { every_order("", kHalf); }
TEST_CASE("gemm on a GPU: every order by the plan's choice, half out") { every_order("", kHalfOut); }
TEST_CASE("gemm on a GPU: every order by the plan's choice, bfloat16") { every_order("", kBfloat16); }
TEST_CASE("gemm on a GPU: every order by the plan's choice, bfloat16 out") { every_order("", kBfloat16Out); }
TEST_CASE("gemm on a GPU: every order by the plan's choice, int8") { every_order("", kInts); }
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
  if (!runs(context.device(), "wgmma", Scalar::int8, false)) return;
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
  CHECK(packed == 22);  // of a row-major A and a transposed B nothing is packed where both are aligned
}

namespace {

/// Products of a thin and a wide factor, of every order, with tails.
std::size_t thin_and_wide(const smem::Context& context, const Types& types) {
  test::GemmSweep sweep(context);
  for (const auto& [in, out] : types) {
    for (std::size_t order = 0; order < 8; ++order) {
      // Each program costs the driver's compiler a second: the first type has every order.
      if (std::pair(in, out) != types.front() && order != 1 && order != 6) continue;
      struct Shape {
        std::size_t thin, wide, k;
      };
      for (const Shape& shape :
           {Shape{1, 200, 96}, Shape{16, 64, 1024}, Shape{3, 333, 1531}, Shape{11, 72, 40000}}) {
        GemmCase c;
        c.variant = "skinny";
        c.in = in;
        c.out = out;
        c.place = Place::aligned;
        c.transpose_a = order % 2 != 0;
        c.transpose_b = order / 2 % 2 != 0;
        c.m = order / 4 != 0 ? shape.thin : shape.wide;
        c.n = order / 4 != 0 ? shape.wide : shape.thin;
        c.k = shape.k;
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
  if (!runs(context.device(), "mma", Scalar::half, false)) return;
  test::GemmSweep sweep(context);
  for (const bool halves : {true, false}) {
    for (std::size_t order = 0; order < 4; ++order) {
      for (const auto& [m, n, k] : {std::array<std::size_t, 3>{16, 16, 16}, {13, 31, 15}, {64, 64, 64}}) {
        GemmCase c;
        c.variant = halves ? "mma" : "multistage";
        c.in = c.out = halves ? Scalar::half : Scalar::float32;
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
  CHECK(sweep.ran() == 24);
}

TEST_CASE("gemm on NVIDIA: tiles of double whose sides are no powers of two") {
  const smem::Context context;
  if (!runs(context.device(), "mma", Scalar::float64, false) ||
      context.device().local_bytes < std::size_t{100} << 10)
    return;
  test::GemmSweep sweep(context);
  std::size_t number = 0;
  for (const auto& [rows, cols] :
       {std::array<std::size_t, 2>{64, 96}, std::array<std::size_t, 2>{96, 64},
        std::array<std::size_t, 2>{128, 48}, std::array<std::size_t, 2>{48, 128}}) {
    for (std::size_t order = 0; order < 4; ++order) {
      GemmCase c;
      c.variant = "mma";
      c.in = c.out = Scalar::float64;
      c.transpose_a = order % 2 != 0;
      c.transpose_b = order / 2 != 0;
      c.overrides.tile_rows = rows;
      c.overrides.tile_cols = cols;
      // One tile and parts of others, and sums in parts.
      for (const std::size_t k : {67, 5003}) {
        c.place = number++ % 2 == 0 ? Place::aligned : Place::odd;
        c.m = 130;
        c.n = 203;
        c.k = k;
        c.beta = k == 67 ? 0 : 1;
        sweep.run(c);
      }
    }
  }
  CHECK(sweep.ran() == 32);
}

TEST_CASE("gemm on NVIDIA: sums of so many parts that teams add them first") {
  const smem::Context context;
  if (!runs(context.device(), "mma", Scalar::half, false)) return;
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

TEST_CASE("gemm on NVIDIA: skinny") {
  const smem::Context context;
  smem::GemmProblem problem;
  problem.m = 16;
  problem.n = problem.k = 1024;
  problem.in = Scalar::half;
  try {
    smem::plan_gemm(context.device(), problem, {.variant = "skinny"});
  } catch (const smem::Error&) {
    return;
  }
  const Types types{
      {Scalar::half, Scalar::float32}, {Scalar::half, Scalar::half}, {Scalar::bfloat16, Scalar::bfloat16}};
  CHECK(thin_and_wide(context, types) == 4 * (8 + 2 + 2));
  // By the tile's size.
  for (const bool along_k : {true, false}) {
    GemmCase c;
    c.in = c.out = Scalar::half;
    c.m = 16;
    c.n = 136;
    c.k = 4104;
    c.transpose_b = along_k;
    c.place = Place::aligned;
    test::GemmSweep sweep(context);
    for (const smem::GemmCandidate& one :
         smem::gemm_candidates(context.device(), test::problem_of(c), "skinny")) {
      c.overrides = one.plan.overrides;
      c.variant = "skinny";
      sweep.run(c);
    }
    CHECK(sweep.ran() >= 1);
  }
}
