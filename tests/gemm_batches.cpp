// Batches whose tiles of "wgmma" have consumers that take turns, or exchanged factors; and ends of tiles that
// read C, a bias or a residual.
#include <smem/smem.hpp>

#include "support/gemm_plans.hpp"
#include "support/gemms.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using smem::Scalar;
using test::GemmCase;
using test::Place;
using test::runs_gemm;

namespace {

/// Whether the plan of a case defines something.
bool defines(const smem::Context& context, const GemmCase& c, std::string_view name) {
  smem::PlanOverrides fixed = c.overrides;
  fixed.variant = c.variant;
  const smem::Plan plan = smem::plan_gemm(context.device(), test::problem_of(c), fixed);
  return std::any_of(plan.defines.begin(), plan.defines.end(),
                     [&](const auto& define) { return define.first == name; });
}

/// Rows and columns of a product and of a tile; k.
struct Sizes {
  std::size_t m, n, k, tile_rows, tile_cols;
};

GemmCase case_of(const Sizes& x, std::size_t order, Scalar in, Scalar out, std::size_t batch) {
  GemmCase c;
  c.variant = "wgmma";
  c.in = in;
  c.out = out;
  c.tf32 = in == Scalar::float32;
  c.m = x.m;
  c.n = x.n;
  c.k = x.k;
  c.batch = batch;
  c.transpose_a = order % 2 != 0;
  c.transpose_b = order / 2 != 0;
  c.place = Place::aligned;
  c.overrides.tile_rows = x.tile_rows;
  c.overrides.tile_cols = x.tile_cols;
  return c;
}

/// The plan of a list of such a case, whose matrices may begin anywhere.
smem::Plan plan_of_list(const smem::Context& context, const GemmCase& c) {
  smem::GemmProblem problem = test::problem_of(c);
  problem.listed = true;
  problem.a_alignment = problem.b_alignment = size_of(c.in);
  problem.c_alignment = size_of(c.out);
  smem::PlanOverrides fixed = c.overrides;
  fixed.variant = c.variant;
  return smem::plan_gemm(context.device(), problem, fixed);
}

/// An epilogue and a factor of C by number.
void finish(GemmCase& c, std::size_t how) {
  c.beta = how % 2 != 0 ? 1 : 0;
  c.bias = how % 3 == 2 ? 1 : how % 3 == 1 ? 2 : 0;
  c.activation = how == 2   ? smem::Activation::gelu
                 : how == 5 ? smem::Activation::relu
                            : smem::Activation::none;
  c.residual = how == 4 ? 1 : how == 7 ? 2 : 0;
  c.custom = how == 6;
}

}  // namespace

TEST_CASE("gemm on NVIDIA: consumers of tiles of 64 rows take turns") {
  const smem::Context context;
  if (!runs_gemm(context.device(), "wgmma", Scalar::half, false)) return;
  test::GemmSweep sweep(context);
  // Tiles of fewer steps than stages and of more, whose stages are those of other consumers' tiles before;
  // several tiles a product; one, two and three consumers more or less than tiles of the last round.
  const std::size_t units = context.device().compute_units;
  std::size_t how = 0, turns = 0;
  for (const Sizes& x : {Sizes{64, 64, 64, 64, 64}, Sizes{24, 24, 24, 64, 32}, Sizes{56, 40, 200, 64, 64},
                         Sizes{200, 72, 328, 64, 64}, Sizes{16, 24, 1096, 64, 64}, Sizes{72, 24, 520, 64, 96},
                         Sizes{8, 200, 136, 64, 192}, Sizes{8, 232, 200, 64, 256}}) {
    const std::size_t tiles = (x.m + 63) / 64 * ((x.n + x.tile_cols - 1) / x.tile_cols);
    const Scalar type = how % 2 != 0 ? Scalar::bfloat16 : Scalar::half;
    GemmCase c =
        case_of(x, how % 4, type, type, (24 * units / ((x.k + 63) / 64) + 4 * units + how) / tiles + 1);
    finish(c, how++);
    turns += defines(context, c, "PINGPONG") ? 1 : 0;
    sweep.run(c);
  }
  CHECK(turns == how);
  CHECK(sweep.ran() == how);
}

TEST_CASE("gemm on NVIDIA: lists whose consumers of tiles of 64 rows take turns") {
  const smem::Context context;
  if (!runs_gemm(context.device(), "wgmma", Scalar::half, false)) return;
  test::GemmSweep sweep(context);
  const std::size_t units = context.device().compute_units;
  std::size_t how = 0, turns = 0;
  for (const Sizes& x :
       {Sizes{64, 64, 64, 64, 64}, Sizes{56, 40, 200, 64, 64}, Sizes{200, 72, 328, 64, 64},
        Sizes{16, 24, 1096, 64, 64}, Sizes{72, 24, 520, 64, 96}, Sizes{40, 130, 72, 64, 144},
        Sizes{8, 200, 136, 64, 192}, Sizes{8, 232, 200, 64, 256}, Sizes{8, 200, 136, 64, 192},
        Sizes{16, 136, 72, 64, 160}, Sizes{24, 64, 80, 64, 64}, Sizes{8, 232, 200, 64, 224}}) {
    const std::size_t tiles = (x.m + 63) / 64 * ((x.n + x.tile_cols - 1) / x.tile_cols);
    const Scalar type = how % 2 != 0 ? Scalar::bfloat16 : Scalar::half;
    GemmCase c =
        case_of(x, how % 4, type, type, (24 * units / ((x.k + 63) / 64) + 4 * units + how) / tiles + 1);
    c.listed = true;
    if (how % 3 == 2) finish(c, how);
    ++how;
    turns += test::define_of(plan_of_list(context, c), "PINGPONG") == 1 ? 1 : 0;
    sweep.run(c);
  }
  CHECK(turns == how);
  CHECK(sweep.ran() == how);
}

TEST_CASE("gemm on NVIDIA: batches of TF32 and half whose columns are rows of tiles") {
  const smem::Context context;
  if (!runs_gemm(context.device(), "wgmma", Scalar::half, false)) return;
  test::GemmSweep sweep(context);
  for (const std::size_t order : {0, 1}) {
    GemmCase c = case_of({200, 136, 104, 96, 128}, order, Scalar::float32, Scalar::float32, 150);
    if (order == 1) c = case_of({72, 200, 264, 96, 64}, 1, Scalar::half, Scalar::half, 140);
    CHECK(defines(context, c, "EXCHANGED"));
    sweep.run(c);
  }
  CHECK(sweep.ran() == 2);
}

TEST_CASE("gemm on NVIDIA: lists of matrices in aligned rows, of which some begin at multiples") {
  const smem::Context context;
  if (!runs_gemm(context.device(), "wgmma", Scalar::half, false)) return;
  test::GemmSweep sweep(context);
  std::size_t how = 0;
  for (const auto& [in, out] : {std::pair{Scalar::half, Scalar::half},
                                {Scalar::bfloat16, Scalar::bfloat16},
                                {Scalar::half, Scalar::float32},
                                {Scalar::int8, Scalar::int32},
                                {Scalar::float32, Scalar::float32},
                                {Scalar::half, Scalar::half}}) {
    const std::size_t order = size_of(in) != 2 ? 2 : how % 4;
    GemmCase c = case_of(
        {how == 1 ? 64U : 140U, how == 1 ? 64U : 184U, 200, how == 5 ? 128U : 64U, how == 5 ? 256U : 64U},
        order, in, out, 9);
    c.listed = true;
    if (how == 2 || how == 5) c.beta = 1;
    ++how;
    const smem::Plan plan = plan_of_list(context, c);
    CHECK(test::define_of(plan, "LOOSE") == 0);
    sweep.run(c);
  }
  CHECK(sweep.ran() == how);
}

TEST_CASE("gemm on NVIDIA: products of a list that leave their buffers") {
  const smem::Context context;
  if (!runs_gemm(context.device(), "wgmma", Scalar::half, false)) return;
  constexpr std::size_t kEdge = 64, kDepth = 256, kFactor = kEdge * kDepth, kMatrix = kEdge * kEdge;
  constexpr std::uint16_t kOne = 0x3c00, kTwo = 0x4000, kSum = 0x6000, kUntouched = 0x7e01;
  const std::size_t units = context.device().compute_units, most = 8 * units;
  const smem::Array<std::uint16_t> a(context, std::vector<std::uint16_t>(2 * kFactor, kOne)),
      b(context, std::vector<std::uint16_t>(2 * kFactor, kTwo));
  std::vector<std::uint64_t> list;
  for (std::uint64_t p = 0; p < most; ++p) {
    const std::uint64_t far = p % 2 == 0 ? ~std::uint64_t{0} : kFactor + 1;
    // Of six products one each leaves the buffer of A, B and C, and one begins at no multiple of 16 bytes.
    list.insert(list.end(), {p % 6 == 1   ? far
                             : p % 6 == 4 ? 3
                                          : p % 8 * 8,
                             p % 6 == 2 ? far : p % 8 * 8, p % 6 == 3 ? most * kMatrix : p * kMatrix});
  }
  const smem::Array<std::uint64_t> offsets(context, list);
  const auto view = [](const smem::Array<std::uint16_t>& x, std::size_t rows, std::size_t cols) {
    return smem::Matrix(x.buffer()(), Scalar::half, rows, cols);
  };
  // Consumers that take turns; and one, of fewer tiles.
  for (const std::size_t batch : {most, 3 * units}) {
    const smem::Array<std::uint16_t> c(context, std::vector<std::uint16_t>(most * kMatrix, kUntouched));
    const smem::PlanOverrides tile{.variant = "wgmma", .tile_rows = kEdge, .tile_cols = kEdge};
    smem::gemm(context, view(a, kEdge, kDepth), view(b, kDepth, kEdge), view(c, kEdge, kEdge),
               {.list = offsets.vector(0, 3 * batch)}, {.overrides = &tile});
    const std::vector<std::uint16_t> results = c.to_host();
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < results.size(); ++i) {
      const std::size_t kind = i / kMatrix % 6;
      wrong += results[i] == (i >= batch * kMatrix || (kind >= 1 && kind <= 3) ? kUntouched : kSum) ? 0 : 1;
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("gemm on NVIDIA: what C and epilogues read at the end of a tile of wgmma") {
  const smem::Context context;
  if (!runs_gemm(context.device(), "wgmma", Scalar::half, false)) return;
  test::GemmSweep sweep(context);
  std::size_t how = 0;
  for (const Sizes& x :
       {Sizes{168, 328, 72, 128, 256}, Sizes{200, 200, 200, 128, 128}, Sizes{210, 218, 136, 192, 192},
        Sizes{130, 147, 72, 128, 144}, Sizes{70, 230, 136, 64, 256}, Sizes{150, 650, 72, 128, 320},
        Sizes{270, 130, 72, 256, 128}}) {
    GemmCase c = case_of(x, how % 4, Scalar::half, Scalar::half, 2);
    how = how % 7 + 1;
    finish(c, how);
    c.alpha = 2;
    sweep.run(c);
  }
  CHECK(sweep.ran() == 7);
}

TEST_CASE("gemm on NVIDIA: C is read in pairs, and in rows that begin anywhere") {
  const smem::Context context;
  if (!runs_gemm(context.device(), "wgmma", Scalar::half, false)) return;
  test::GemmSweep sweep(context);
  for (const Sizes& x : {Sizes{168, 328, 72, 128, 256}, Sizes{130, 147, 72, 128, 144}}) {
    GemmCase c = case_of(x, 2, Scalar::float32, Scalar::float32, 1);
    c.beta = -1;
    sweep.run(c);
    c = case_of(x, 2, Scalar::bfloat16, Scalar::bfloat16, 1);
    c.place = Place::packed;
    c.n = 147;  // rows of C that begin anywhere, of factors along k
    c.beta = 1;
    sweep.run(c);
  }
  CHECK(sweep.ran() == 4);
}

TEST_CASE("gemm on NVIDIA: what C and epilogues read at the end of a tile of mma") {
  const smem::Context context;
  if (!runs_gemm(context.device(), "mma", Scalar::half, false)) return;
  test::GemmSweep sweep(context);
  for (const std::size_t tile : {64, 128}) {
    GemmCase c = case_of({150, 198, 136, tile, tile}, 0, Scalar::half, Scalar::half, 2);
    c.variant = "mma";
    finish(c, tile == 64 ? 7 : 4);
    sweep.run(c);
  }
  CHECK(sweep.ran() == 2);
}
