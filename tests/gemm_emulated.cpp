// Kernels for NVIDIA's matrix units, run on any device: their instructions are emulated in plain OpenCL C,
// which defines the layout of the registers.
#include <smem/smem.hpp>

#include "plan/driver_faults.hpp"
#include "support/targets.hpp"
#include "support/turn.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using smem::Scalar;

namespace {

/// A packed or a padded matrix of whole numbers.
template <class T>
struct Numbers {
  Numbers(std::size_t rows, std::size_t cols, bool is_padded, unsigned seed)
      : offset(is_padded ? 1 : 0), pitch(is_padded ? cols + 3 : cols), all(offset + rows * pitch, T{}) {
    for (std::size_t i = 0; i < all.size(); ++i)
      all[i] = T(static_cast<float>((i * 7919 + seed * 31) % 13) - 6);
  }
  T& at(std::size_t row, std::size_t col) { return all[offset + row * pitch + col]; }
  std::size_t offset, pitch;
  std::vector<T> all;
};

/// The numbers of a launch, as cl/gemm/operation.clh has them.
template <class Value>
struct GemmNumbers {
  cl_ulong a_offset, a_pitch, a_stride, b_offset, b_pitch, b_stride, c_offset, c_pitch, c_stride, m, n, k,
      batch;
  Value alpha, beta;
  cl_ulong list_offset, a_last, b_last, c_last, bias_offset, residual_offset, residual_pitch, residual_stride;
  Value scale;
  cl_uint parts;
  cl_ulong part_depth;
};

/// Runs a plan's own launch on a device that it was not made for. `Value`: of sums and C.
template <class T, class Value>
void check(const smem::Context& context, const smem::Plan& plan, const smem::GemmProblem& p, bool is_padded,
           double beta = 1) {
  Numbers<T> a(p.a_along_k ? p.m : p.k, p.a_along_k ? p.k : p.m, is_padded, 1),
      b(p.b_along_k ? p.n : p.k, p.b_along_k ? p.k : p.n, is_padded, 2);
  Numbers<Value> c(p.m, p.n, is_padded, 3);
  Numbers<Value> expected = c;
  for (std::size_t i = 0; i < p.m; ++i)
    for (std::size_t j = 0; j < p.n; ++j) {
      double sum = 0;
      for (std::size_t x = 0; x < p.k; ++x)
        sum += static_cast<double>(static_cast<float>(p.a_along_k ? a.at(i, x) : a.at(x, i))) *
               static_cast<double>(static_cast<float>(p.b_along_k ? b.at(j, x) : b.at(x, j)));
      expected.at(i, j) = static_cast<Value>(-2 * sum + beta * static_cast<double>(c.at(i, j)));
    }
  auto defines = plan.defines;
  defines.emplace_back("EMULATED", 1);
  const smem::Kernel kernel = context.build({.source = "#include \"" + plan.kernel_file + "\"\n",
                                             .entry_point = plan.entry_point,
                                             .defines = defines});
  const smem::Array<T> a_array(context, a.all), b_array(context, b.all);
  const smem::Array<Value> c_array(context, c.all);
  const GemmNumbers<Value> numbers{.a_offset = a.offset,
                                   .a_pitch = a.pitch,
                                   .b_offset = b.offset,
                                   .b_pitch = b.pitch,
                                   .c_offset = c.offset,
                                   .c_pitch = c.pitch,
                                   .m = p.m,
                                   .n = p.n,
                                   .k = p.k,
                                   .batch = 1,
                                   .alpha = -2,
                                   .beta = static_cast<Value>(beta),
                                   .scale = 1,
                                   .parts = 1,
                                   .part_depth = p.k};
  kernel({.global = plan.global, .work_group = plan.work_group}, a_array, b_array, c_array, c_array, c_array,
         c_array, c_array, c_array, numbers);
  INFO(p.m, " x ", p.n, " x ", p.k, ", A along k ", p.a_along_k, ", B along k ", p.b_along_k, ", padded ",
       is_padded, ", beta ", beta, ", tile ", plan.tile_rows, " x ", plan.tile_cols);
  CHECK(c_array.to_host() == expected.all);
}

smem::GemmProblem problem_of(Scalar in, std::size_t m, std::size_t n, std::size_t k, std::size_t order) {
  smem::GemmProblem p;
  p.m = m;
  p.n = n;
  p.k = k;
  p.in = in;
  p.out = in == Scalar::float64 ? in : Scalar::float32;
  p.a_along_k = order % 2 == 0;
  p.b_along_k = order / 2 % 2 == 0;
  p.reads_c = true;
  return p;
}

bool has_room(const smem::Context& context) { return context.device().local_bytes >= std::size_t{64} << 10; }

/// PoCL 5 and 6 compile emulated units with many sums into wrong results now and then: 6.0 in 7 of 18 builds
/// of the same programs, and what was built so stays wrong. Smaller tiles were right in all.
bool compiles_many_sums(const smem::Device& device) {
  const smem::plan::Version version = smem::plan::version_in(device.driver);
  return !smem::plan::is_pocl(device) || version < smem::plan::Version{4, 0} ||
         version >= smem::plan::Version{7, 0};
}

}  // namespace

TEST_CASE("gemm: matrix units for double, emulated") {
  const smem::Context context;
  if (!context.device().fp64 || !has_room(context)) return;
  const smem::Device hopper = test::target("sm_90");
  std::size_t ran = 0;
  // Every order of the factors, which are read and stored in different ways, with copies and stores of one
  // number and of two; by the smallest tile or by two whose warps have many sums: PoCL takes seconds for each
  // program.
  for (const std::size_t order : {0, 1, 2, 3}) {
    if (!test::has_turn(order, 4)) continue;
    for (const bool is_loose : {false, true}) {
      const bool is_large = is_loose == (order % 2 == 0) && compiles_many_sums(context.device());
      smem::GemmProblem p = problem_of(Scalar::float64, is_loose ? 37 : 98, is_loose ? 71 : 66, 82, order);
      p.a_alignment = p.b_alignment = p.c_alignment = is_loose ? 8 : 16;
      for (const smem::GemmCandidate& one : smem::gemm_candidates(hopper, p, "mma")) {
        const std::size_t rows = one.plan.tile_rows, cols = one.plan.tile_cols;
        const bool is_wanted =
            is_large ? rows * cols == 64 * 64 && rows != (order < 2 ? 128 : 32) : rows == 32 && cols == 32;
        if (!is_wanted || one.plan.counters) continue;
        check<double, double>(context, one.plan, p, is_loose);
        check<double, double>(context, one.plan, p, is_loose, 0);
        ++ran;
      }
    }
  }
  if (compiles_many_sums(context.device())) CHECK(ran == (test::turn_of_run() ? 3 : 12));
}

TEST_CASE("gemm: small products by registers alone, emulated") {
  const smem::Context context;
  if (!has_room(context)) return;
  smem::Device hopper = test::target("sm_90");
  hopper.compute_units = 1;  // whose warps compute several tiles each
  std::size_t ran = 0;
  for (const std::size_t order : {0, 1, 2, 3}) {
    if (!test::has_turn(order, 4)) continue;
    for (const bool is_loose : {false, true}) {
      // No pitch is a multiple of 13, by which numbers repeat.
      const std::size_t m = is_loose ? 117 : 120, n = is_loose ? 77 : 80, k = is_loose ? 37 : 40;
      for (const Scalar in : {Scalar::float64, Scalar::half}) {
        if (in == Scalar::float64 && !context.device().fp64) continue;
        smem::GemmProblem p = problem_of(in, m, n, k, order);
        p.a_alignment = p.b_alignment = p.c_alignment = is_loose ? 2 : 16;
        const smem::Plan plan =
            smem::plan_gemm(hopper, p, {.variant = "mma", .tile_rows = 16, .tile_cols = 16});
        REQUIRE(plan.entry_point == "gemm_small");
        if (in == Scalar::half)
          check<smem::half, float>(context, plan, p, is_loose);
        else
          check<double, double>(context, plan, p, is_loose);
        ++ran;
      }
    }
  }
  CHECK(ran >= (test::turn_of_run() ? 2 : 8));
}

TEST_CASE("gemm: tiles of float whose warps share results, emulated") {
  const smem::Context context;
  if (!has_room(context)) return;
  smem::Device hopper = test::target("sm_90");
  hopper.compute_units = 1;  // which several groups share: else others have these sizes
  using Size = std::array<std::size_t, 2>;
  // Of aligned rows and of others: two or four warps for the same results, 4, 8 or 12 rows of a work-item.
  constexpr std::array<std::array<Size, 2>, 4> kTiles{
      {{{{32, 32}, {48, 128}}}, {{{128, 24}, {128, 48}}}, {{{128, 32}, {32, 32}}}, {{{48, 128}, {128, 24}}}}};
  std::size_t ran = 0;
  // Edges of tiles, and steps that k does not fill; copies of one number and of four, and through registers.
  for (const std::size_t order : {0, 1, 2, 3}) {
    if (!test::has_turn(order, 4)) continue;
    for (const bool is_loose : {false, true}) {
      smem::GemmProblem p =
          problem_of(Scalar::float32, is_loose ? 131 : 140, is_loose ? 135 : 84, is_loose ? 95 : 124, order);
      p.a_alignment = p.b_alignment = p.c_alignment = is_loose ? 4 : 16;
      const auto& [rows, cols] = kTiles[order][is_loose ? 1 : 0];
      const smem::Plan plan =
          smem::plan_gemm(hopper, p, {.variant = "multistage", .tile_rows = rows, .tile_cols = cols});
      REQUIRE(std::any_of(plan.defines.begin(), plan.defines.end(),
                          [](const auto& define) { return define.first == "SLICES"; }));
      REQUIRE(!plan.counters);
      check<float, float>(context, plan, p, is_loose);
      check<float, float>(context, plan, p, is_loose, 0);
      ++ran;
    }
  }
  CHECK(ran == (test::turn_of_run() ? 2 : 8));
}

TEST_CASE("gemm: matrix units of 2 and of 1 bytes, from rows that begin anywhere, emulated") {
  const smem::Context context;
  if (!has_room(context) || !compiles_many_sums(context.device())) return;
  const smem::Device hopper = test::target("sm_90");
  struct Case {
    std::size_t alignment, m, n, k;
    bool is_padded;
  };
  // Edges of tiles of 32 x 32, k of several steps, of a part of one, and of bytes of one and two sub-steps.
  constexpr std::array<Case, 3> kHalves{
      {{16, 40, 56, 168, false}, {8, 44, 36, 100, false}, {2, 37, 33, 75, true}}};
  constexpr std::array<Case, 3> kBytes{
      {{1, 35, 41, 131, true}, {1, 33, 37, 17, true}, {4, 40, 36, 52, false}}};
  const auto plan_of = [&](Scalar in, const Case& x, std::size_t order) {
    smem::GemmProblem p = problem_of(in, x.m, x.n, x.k, order);
    if (in == Scalar::int8) p.out = Scalar::int32;
    p.a_alignment = p.b_alignment = p.c_alignment = x.alignment;
    // The smallest tile: PoCL takes seconds for each program.
    std::optional<smem::Plan> smallest;
    for (const smem::GemmCandidate& one : smem::gemm_candidates(hopper, p, "mma")) {
      const bool is_small =
          !smallest || one.plan.tile_rows * one.plan.tile_cols < smallest->tile_rows * smallest->tile_cols;
      if (one.plan.entry_point == "gemm_mma" && !one.plan.counters && is_small) smallest = one.plan;
    }
    REQUIRE(smallest);
    return std::pair{p, *smallest};
  };
  for (const std::size_t order : {0, 1, 2, 3}) {
    if (!test::has_turn(order, 4)) continue;
    for (const Case& x : kHalves) {
      const auto [p, plan] = plan_of(Scalar::half, x, order);
      check<smem::half, float>(context, plan, p, x.is_padded);
    }
    for (const Case& x : kBytes) {
      const auto [p, plan] = plan_of(Scalar::int8, x, order);
      check<cl_char, cl_int>(context, plan, p, x.is_padded);
    }
  }
}
