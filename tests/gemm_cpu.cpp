// The variant of gemm for CPUs with small tiles, so that small matrices have many of them.
#include <smem/smem.hpp>

#include "support/environment.hpp"
#include "support/gemms.hpp"
#include "support/reduce_sweep.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <string_view>
#include <tuple>
#include <utility>

using smem::Scalar;
using test::GemmCase;

namespace {

/// Shapes around the edges of tiles, blocks and depths; and many more than one of each.
void around_tiles(test::GemmSweep& sweep, GemmCase c) {
  smem::GemmProblem problem;
  problem.in = c.in;
  problem.out = c.out;
  problem.m = problem.n = problem.k = 4096;
  const smem::Plan plan = smem::plan_gemm(sweep.context().device(), problem, {.variant = "cpu"});
  const auto define = [&](std::string_view wanted) {
    for (const auto& [name, value] : plan.defines)
      if (name == wanted) return static_cast<std::size_t>(value);
    return std::size_t{0};
  };
  const std::size_t m = define("TILE_M"), n = define("TILE_N"), k = define("DEPTH");
  for (const auto& [rows, cols, depth] : {std::tuple{m + 1, n - 1, k},
                                          {m, 2 * n + 1, k + 1},
                                          {2 * m + 5, n, 2 * k - 1},
                                          {m - 1, n + 1, 3 * k + 7}}) {
    c.m = rows;
    c.n = cols;
    c.k = depth;
    c.beta = c.beta == 0 ? 2 : 0;
    sweep.run(c);
  }
}

}  // namespace

TEST_CASE("gemm on CPUs: tiles, blocks and depths, more than one of each") {
  const test::Variable clamp("SMEM_CLAMP", "local=24K");
  const smem::Context context;
  if (!test::has_cpu_variant(context.device())) return;
  test::GemmSweep sweep(context);
  GemmCase c;
  c.variant = "cpu";
  for (int i = 0; i < 4; ++i) {
    c.transpose_a = i % 2 != 0;
    c.transpose_b = i / 2 != 0;
    around_tiles(sweep, c);
  }
  CHECK(sweep.ran() == 16);
  int turn = 0;
  for (const auto& [in, out] : {std::pair{Scalar::half, Scalar::half},
                                {Scalar::bfloat16, Scalar::float32},
                                {Scalar::int8, Scalar::int32},
                                {Scalar::float64, Scalar::float64}}) {
    c.in = in;
    c.out = out;
    if (in == Scalar::float64 && !context.device().fp64) continue;
    c.transpose_a = turn % 2 != 0;
    c.transpose_b = turn / 2 == 0;
    c.batch = turn == 1 ? 3 : 1;
    around_tiles(sweep, c);
    ++turn;
  }
  CHECK(sweep.ran() == static_cast<std::size_t>(4 * turn));
}

TEST_CASE("gemm on CPUs: vectors of 16, 32 and 64 bytes, whichever are fast here") {
  std::size_t number = 0;
  for (const std::size_t bytes : {16, 32, 64}) {
    const test::Variable clamp("SMEM_CLAMP", "local=24K,vector=" + std::to_string(bytes));
    const smem::Context context;
    if (!test::has_cpu_variant(context.device())) return;
    CAPTURE(bytes);
    smem::GemmProblem problem;
    problem.m = problem.n = problem.k = 100;
    CHECK(smem::plan_gemm(context.device(), problem, {.variant = "cpu"}).vector_width == bytes / 4);
    test::GemmSweep sweep(context);
    GemmCase c;
    c.variant = "cpu";
    c.in = c.out = bytes == 32 && context.device().fp64 ? Scalar::float64 : Scalar::float32;
    c.transpose_a = number % 2 != 0;
    c.transpose_b = number / 2 != 0;
    ++number;
    // Several tiles with tails, and B where it lies for few rows of C.
    for (const auto& [m, n] : {std::tuple<std::size_t, std::size_t>{101, 131}, {3, 131}}) {
      c.m = m;
      c.n = n;
      c.k = 70;
      c.beta = m == 3 ? 0 : 2;
      sweep.run(c);
    }
    CHECK(sweep.ran() == 2);
  }
}

TEST_CASE(
    "gemm on CPUs: int8 by dot products of four bytes, in vectors of 16, 32 and 64 bytes, and without") {
  for (int i = 0; i < 6; ++i) {
    const std::size_t bytes = std::size_t{16} << (i % 3);
    const std::string without = i < 3 ? "" : ",vnni=0";
    const test::Variable clamp("SMEM_CLAMP", "local=24K,vector=" + std::to_string(bytes) + without);
    const smem::Context context;
    if (!test::has_cpu_variant(context.device())) return;
    CAPTURE(bytes);
    CAPTURE(without);
    test::GemmSweep sweep(context);
    GemmCase c;
    c.variant = "cpu";
    c.in = Scalar::int8;
    c.out = Scalar::int32;
    c.transpose_a = i % 2 != 0;
    c.transpose_b = i == 2 || i == 3;
    // A last quad of one, two and three; whole vectors of quads and less; many tiles, and B where it lies.
    for (const auto& [m, n, k] :
         {std::tuple{101, 131, 270}, {29, 17, 401}, {7, 40, 3}, {3, 131, 63}, {1, 300, 129}}) {
      c.m = static_cast<std::size_t>(m);
      c.n = static_cast<std::size_t>(n);
      c.k = static_cast<std::size_t>(k);
      c.beta = c.beta == 0 ? 2 : 0;
      sweep.run(c);
    }
    CHECK(sweep.ran() == 5);
  }
}

TEST_CASE("gemm on CPUs: blocks of as many rows as C suits") {
  const smem::Context context;
  if (!test::has_cpu_variant(context.device())) return;
  test::GemmSweep sweep(context);
  GemmCase c;
  c.variant = "cpu";
  c.n = 131;
  int number = 0;
  for (const auto& [in, out] : {std::pair{Scalar::float32, Scalar::float32},
                                {Scalar::int8, Scalar::int32},
                                {Scalar::half, Scalar::float32}}) {
    c.in = in;
    c.out = out;
    // One block whose B is read where it lies, and two or three that are packed along and across k.
    for (const std::size_t rows : {5, 6, 7, 9, 10, 11, 14, 17, 20, 22, 27, 30}) {
      c.m = rows;
      c.k = 201;
      c.transpose_a = number % 2 != 0;
      c.transpose_b = rows > 11 && number % 3 != 0;
      c.beta = c.beta == 0 ? 2 : 0;
      ++number;
      sweep.run(c);
    }
  }
  CHECK(sweep.ran() == 36);
}

TEST_CASE("gemm on CPUs: few rows or columns, by dot products") {
  for (const std::size_t bytes : {16, 32, 64}) {
    const test::Variable clamp("SMEM_CLAMP", "vector=" + std::to_string(bytes));
    const smem::Context context;
    if (!test::has_cpu_variant(context.device())) return;
    const bool fp64 = context.device().fp64;
    test::GemmSweep sweep(context);
    for (std::size_t few = 1; few <= 4; ++few) {
      CAPTURE(few);
      GemmCase c;
      c.variant = "cpu";
      c.in = few % 4 == 1 ? Scalar::half : few % 4 == 2 ? Scalar::bfloat16 : Scalar::float32;
      c.out = few == 1 && bytes == 32 ? Scalar::half : Scalar::float32;
      if (few % 4 == 3 && fp64) c.in = c.out = Scalar::float64;
      // Fewer lines than are read at once, more than a work-group has; whole vectors and steps of k, and not.
      const std::size_t lines[] = {1, 6, 515, 1027}, depths[] = {128, 131, 2048, 4101};
      for (std::size_t i = 0; i < 4; ++i) {
        const bool of_a = (few + i) % 2 == 0;
        c.m = of_a ? few : lines[i], c.n = of_a ? lines[i] : few;
        c.k = depths[(few + i + bytes / 32) % 4];
        c.transpose_a = of_a && i % 3 == 0;
        c.transpose_b = of_a || i % 3 == 0;
        c.batch = i == 1 ? 3 : 1;
        c.beta = i % 2 == 0 ? 0 : 2;
        c.bias = i == 2 ? 2 : 0;
        smem::GemmProblem problem;
        problem.in = c.in, problem.out = c.out;
        problem.m = c.m, problem.n = c.n, problem.k = c.k;
        problem.a_along_k = !c.transpose_a, problem.b_along_k = c.transpose_b;
        CHECK(smem::plan_gemm(context.device(), problem, {.variant = "cpu"}).entry_point == "gemm_dots");
        sweep.run(c);
      }
    }
    CHECK(sweep.ran() == 16);
  }
}

TEST_CASE("gemm on CPUs: narrow and short products, in any type and transposition") {
  const smem::Context context;
  if (!test::has_cpu_variant(context.device())) return;
  test::GemmSweep sweep(context);
  GemmCase c;
  c.variant = "cpu";
  std::size_t ran = 0;
  for (const auto& [in, out] : {std::pair{Scalar::float32, Scalar::float32},
                                {Scalar::half, Scalar::half},
                                {Scalar::int8, Scalar::int32}}) {
    c.in = in;
    c.out = out;
    for (int i = 0; i < 4; ++i) {
      if (in != Scalar::float32 && i != (in == Scalar::half ? 1 : 2)) continue;  // programs take seconds
      c.transpose_a = i % 2 != 0;
      c.transpose_b = i / 2 != 0;
      // A vector of C, less, and one more; k of less than a vector, of a step, and of two that are not whole.
      for (const auto& [rows, cols, depth] : {std::tuple{50, 1, 3},
                                              {16, 16, 17},
                                              {101, 7, 5},
                                              {9, 40, 193},
                                              {1, 133, 1},
                                              {2, 300, 150},
                                              {4, 129, 65},
                                              {5, 1100, 7},
                                              {29, 17, 400}}) {
        c.m = static_cast<std::size_t>(rows);
        c.n = static_cast<std::size_t>(cols);
        c.k = static_cast<std::size_t>(depth);
        c.beta = c.beta == 0 ? 2 : 0;
        c.place = c.beta == 0 ? test::Place::packed : test::Place::odd;
        sweep.run(c);
        ++ran;
      }
    }
  }
  CHECK(sweep.ran() == ran);
}

TEST_CASE("gemm on CPUs: a work-group makes several short products, and the last one what is left") {
  const smem::Context context;
  if (!test::has_cpu_variant(context.device())) return;
  smem::GemmProblem problem;
  problem.m = 5;
  problem.n = 6;
  problem.k = 7;
  problem.batch = 1001 * context.device().compute_units;
  const smem::Plan plan = smem::plan_gemm(context.device(), problem, {.variant = "cpu"});
  CHECK(plan.groups() > context.device().compute_units);
  CHECK(plan.groups() < problem.batch / 2);
  CHECK(problem.batch % plan.groups() != 0);
  test::GemmSweep sweep(context);
  GemmCase c;
  c.variant = "cpu";
  c.m = problem.m;
  c.n = problem.n;
  c.k = problem.k;
  c.batch = problem.batch;
  sweep.run(c);
  c.transpose_a = c.transpose_b = true;
  c.beta = 2;
  sweep.run(c);
  CHECK(sweep.ran() == 2);
}
