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
  problem.out = in == Scalar::int8 ? Scalar::int32 : Scalar::float32;
  problem.b_along_k = true;
  problem.tf32 = tf32;
  try {
    smem::plan_gemm(device, problem, variant);
    return true;
  } catch (const smem::Error&) {
    return false;
  }
}

void all_of(const char* variant, const Types& types, bool tf32 = false) {
  const smem::Context context;
  if (!runs(context.device(), variant, types.front().first, tf32)) return;
  test::GemmSweep sweep(context);
  std::size_t ran = 0;
  // Each program costs the driver's compiler a second: the first type has every order, the others one each.
  for (std::size_t t = 0; t < types.size(); ++t) {
    const auto& [in, out] = types[t];
    const bool only_aligned = (in == Scalar::int8 || tf32) && std::string_view(variant) == "wgmma";
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
      c.n = 41;
      c.k = 5003;
      sweep.run(c);
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
  c.n = 1031;
  c.k = 1037;
  for (const bool transpose_a : {false, true}) {
    for (const Place place : {Place::packed, Place::odd}) {
      c.transpose_a = transpose_a;
      c.transpose_b = !transpose_a;
      c.place = place;
      const smem::GemmProblem problem = [&] {
        smem::GemmProblem p = test::problem_of(c);
        p.a_alignment = p.b_alignment = 2;
        return p;
      }();
      REQUIRE(smem::plan_gemm_pack(context.device(), problem));
      sweep.run(c);
      c.in = Scalar::bfloat16;
    }
  }
  // One factor lies well already.
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
  CHECK(sweep.ran() == 6);
}
