// layer_norm_columns and rms_norm_columns: every variant and type against plain loops.
#include <smem/smem.hpp>

#include "support/case_sweep.hpp"
#include "support/failure.hpp"
#include "support/level.hpp"
#include "support/norms.hpp"
#include "support/random_cases.hpp"
#include "support/targets.hpp"
#include "support/variants.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

using smem::NormOp;
using smem::Scalar;
using test::NormCase;
using test::NormInPlace;

namespace {

using NormSweep = test::CaseSweep<NormCase>;

}  // namespace

TEST_CASE("small: norm_columns" * doctest::test_suite("small")) {
  const smem::Context context;
  NormSweep sweep(context);
  for (const std::string_view variant :
       test::tested_variants(context.device(), "norm_columns", smem::norm_columns_variants())) {
    CAPTURE(variant);
    NormCase c;
    c.variant = variant;
    c.cols = 150;
    c.columns = c.gaps = c.weight = c.bias = c.statistics = true;
    sweep.run(c);
    CHECK(sweep.ran() == (test::always_runs(context.device(), variant) ? 1 : 0));
  }
}

TEST_CASE("norm_columns: every variant, also of columns with large means, infinities and NaNs") {
  const smem::Context context;
  NormSweep sweep(context);
  for (const std::string_view variant : smem::norm_columns_variants()) {
    CAPTURE(variant);
    std::size_t turn = 0;
    for (const std::size_t cols : {1, 7, 130, 1000, 2050}) {
      for (const NormOp op : {NormOp::layer, NormOp::rms}) {
        NormCase c;
        c.columns = true;
        c.variant = variant;
        c.op = op;
        c.cols = cols;
        c.rows = turn % 4 == 3 ? 77 : 11;
        c.batch = 1 + turn % 2;
        c.gaps = turn % 3 != 1;
        c.weight = c.bias = op == NormOp::layer;
        c.residual = c.sum = op == NormOp::rms;
        c.statistics = turn % 4 < 2;
        sweep.run(c);
        ++turn;
      }
    }
    const std::size_t ran = sweep.ran(), runs = test::always_runs(context.device(), variant) ? turn : 0;
    CHECK((test::holds_columns(context.device(), variant) ? ran == runs : ran > 0 && ran <= runs));
  }
}

TEST_CASE("norm_columns: types, in place, and columns longer than a cache or that groups share") {
  const smem::Context context;
  NormSweep sweep(context);
  std::size_t turn = 0;
  const auto run = [&](NormCase c) {
    c.columns = true;
    c.gaps = turn % 2 == 0;
    sweep.run(c);
    ++turn;
  };
  struct Types {
    Scalar in, out, weights;
  };
  for (const Types& types : {Types{Scalar::half, Scalar::half, Scalar::half},
                             Types{Scalar::half, Scalar::float32, Scalar::float32},
                             Types{Scalar::bfloat16, Scalar::bfloat16, Scalar::float32},
                             Types{Scalar::float64, Scalar::float64, Scalar::float64}}) {
    if (types.in == Scalar::float64 && !context.device().fp64) continue;
    for (const char* variant : {"", "tiled", "online"}) {
      NormCase c;
      c.in = types.in;
      c.out = types.out;
      c.weights = types.weights;
      c.variant = variant;
      c.op = static_cast<NormOp>(turn % 2);
      c.rows = 40;
      c.cols = 389;
      c.weight = c.residual = c.sum = true;
      c.bias = turn % 3 != 2;
      run(c);
    }
  }
  for (const char* variant : {"", "naive", "tiled", "online", "split"}) {
    for (const NormInPlace in_place :
         {NormInPlace::out_in, NormInPlace::out_residual, NormInPlace::sum_residual, NormInPlace::both}) {
      NormCase c;
      c.variant = variant;
      c.cols = 333;
      c.op = NormOp::rms;
      c.residual = c.sum = true;
      c.in_place = in_place;
      run(c);
    }
  }
  for (const char* variant : {"", "online", "split"}) {
    NormCase c;
    c.variant = variant;
    c.work_items = *variant == 0 ? 0 : 16;
    c.cols = 40001;
    c.weight = c.bias = c.statistics = true;
    run(c);
    c.op = NormOp::rms;
    c.weight = c.bias = false;
    c.residual = c.sum = true;
    c.in_place = NormInPlace::both;
    run(c);
  }
  CHECK(sweep.ran() == turn);
  const smem::NormColumnsProblem shared{.rows = 40001, .cols = 11};
  const smem::PlanOverrides fixed{.variant = "split", .work_items = 16};
  CHECK(smem::plan_norm_columns(context.device(), shared, fixed).number("parts") > 1);
}

TEST_CASE("norm_columns: parts of columns that no cache of a CPU holds") {
  const smem::Context context;
  NormSweep sweep(context);
  std::size_t turn = 0;
  // The last one fits, but in a tile of few columns.
  for (const auto& [columns, batch] : {std::pair{300, 2}, {1030, 1}, {513, 1}, {291, 1}}) {
    NormCase c;
    c.columns = true;
    c.op = static_cast<NormOp>(turn % 2);
    c.in = c.out = c.weights = turn < 2 ? Scalar::float32 : turn == 2 ? Scalar::half : Scalar::bfloat16;
    c.rows = static_cast<std::size_t>(columns);
    c.cols = turn == 3 ? 2503 : 5003;
    c.batch = static_cast<std::size_t>(batch);
    c.weight = c.statistics = turn != 1;
    c.bias = turn == 0;
    c.residual = c.sum = turn > 0;
    c.gaps = turn == 1;
    sweep.run(c);
    ++turn;
  }
  CHECK(sweep.ran() == turn);
}

// Threads of CPUs read blocks of rows, and blocks of columns of about the same width.
TEST_CASE("norm_columns: around blocks of rows and columns") {
  const smem::Context context;
  NormSweep sweep(context);
  std::size_t turn = 0;
  constexpr std::pair<std::size_t, std::size_t> kSizes[] = {{1, 530},  {31, 533},  {32, 300},  {33, 257},
                                                            {64, 270}, {65, 301},  {1057, 40}, {2049, 300},
                                                            {4703, 9}, {5003, 259}};
  for (const Scalar type : {Scalar::float32, Scalar::half, Scalar::bfloat16, Scalar::float64}) {
    if (type == Scalar::float64 && !context.device().fp64) continue;
    for (const auto& [length, columns] : kSizes) {
      NormCase c;
      c.columns = true;
      c.in = c.out = c.weights = type;
      c.op = static_cast<NormOp>(turn % 3 / 2);
      c.rows = columns;
      c.cols = length;
      c.gaps = turn % 4 >= 2;
      c.weight = c.bias = turn % 2 == 0;
      c.residual = c.sum = !c.weight;
      c.statistics = turn % 5 == 0;
      if (c.sum) c.in_place = turn % 3 == 0 ? NormInPlace::both : NormInPlace::out_in;
      sweep.run(c);
      ++turn;
    }
  }
  CHECK(sweep.ran() == turn);
}

TEST_CASE("norm_columns: narrow matrices") {
  const smem::Context context;
  NormSweep sweep(context);
  std::size_t turn = 0;
  struct Types {
    Scalar in, out, weights;
  };
  for (const Types& types : {Types{Scalar::float32, Scalar::float32, Scalar::float32},
                             Types{Scalar::half, Scalar::half, Scalar::half},
                             Types{Scalar::half, Scalar::float32, Scalar::float32},
                             Types{Scalar::bfloat16, Scalar::bfloat16, Scalar::float32},
                             Types{Scalar::float64, Scalar::float64, Scalar::float64}}) {
    if (types.in == Scalar::float64 && !context.device().fp64) continue;
    for (const std::size_t columns : {1, 2, 3, 7, 12, 20, 133, 256}) {
      NormCase c;
      c.columns = true;
      c.in = types.in;
      c.out = types.out;
      c.weights = types.weights;
      c.op = static_cast<NormOp>(turn % 3 / 2);
      c.rows = columns;
      c.cols = 40000 / columns + turn % 9;
      c.batch = 1 + turn % 4 / 3;
      c.gaps = turn % 4 >= 2;
      c.weight = turn % 3 != 0;
      c.bias = turn % 5 > 2;
      c.residual = turn % 5 < 3;
      c.sum = turn % 5 < 2;
      c.statistics = turn % 2 == 0;
      if (c.sum && types.in == types.out && turn % 4 == 1) c.in_place = NormInPlace::both;
      sweep.run(c);
      ++turn;
    }
  }
  CHECK(sweep.ran() == turn);
  const smem::NormColumnsProblem narrow{.rows = 40001, .cols = 11};
  const smem::Plan plan = smem::plan_norm_columns(test::target("cpu"), narrow);
  CHECK(plan.entry_point == "norm_columns_cpu_narrow");
  CHECK(plan.number("parts") > 1);
}

TEST_CASE("random: norm_columns") {
  const smem::Context context;
  test::run_random("norm_columns", 312, [&](test::Random& random) -> test::RandomCase {
    NormCase drawn;
    drawn.columns = true;
    drawn.op = random.chance(2) ? NormOp::layer : NormOp::rms;
    drawn.variant = test::some_variant(random, smem::norm_columns_variants());
    drawn.in = test::one_of(random, {Scalar::float32, Scalar::half, Scalar::bfloat16, Scalar::float64});
    const bool is_short = drawn.in == Scalar::half || drawn.in == Scalar::bfloat16;
    drawn.out = is_short && random.chance(2) ? Scalar::float32 : drawn.in;
    drawn.weights = is_short && random.chance(2) ? Scalar::float32 : drawn.in;
    drawn.weight = random.chance(2);
    drawn.bias = random.chance(2);
    drawn.residual = random.chance(2);
    drawn.sum = drawn.residual && random.chance(2);
    drawn.statistics = random.chance(2);
    return [=, &context](test::Random& more, std::string& text) {
      if (drawn.in == Scalar::float64 && !context.device().fp64) return test::without_fp64();
      NormCase c = drawn;
      c.cols = 1 + test::random_length(more) % 50000;
      c.rows = more.between(1, 60000 / (c.cols + 400) + 1);
      c.batch = more.chance(3) ? more.between(1, 3) : 1;
      c.gaps = more.chance(2);
      text = c.text();
      return test::run(context, c, more);
    };
  });
}

TEST_CASE("norm_columns: plans for devices that are not here") {
  const auto plan_of = [](const char* target, std::size_t rows, std::size_t cols) {
    return smem::plan_norm_columns(test::target(target), {.rows = rows, .cols = cols});
  };
  CHECK(plan_of("sm_90", 128, 1000000).variant == "tiled");
  CHECK(plan_of("sm_90", 128, 1000000).tile_cols == 64);
  CHECK(plan_of("sm_90", 16384, 16384).variant == "online");
  CHECK(plan_of("sm_90", 1 << 20, 16).variant == "split");
  CHECK(plan_of("gfx90a", 100, 8192).variant == "tiled");
  CHECK(plan_of("cpu", 1000, 8192).variant == "cpu");
  // A residual is read, and a sum written, as often as the elements.
  const smem::NormColumnsProblem usual{.rows = 1000, .cols = 4096};
  smem::NormColumnsProblem sum = usual;
  sum.residual = sum.sum = true;
  const auto one = smem::plan_norm_columns(test::target("sm_90"), usual).prediction,
             two = smem::plan_norm_columns(test::target("sm_90"), sum).prediction;
  CHECK(two.bytes_read == 2 * one.bytes_read);
  CHECK(two.bytes_written == 2 * one.bytes_written);
}

TEST_CASE("bad input of norm_columns") {
  const smem::Context context;
  const std::vector<float> poison(200, 7.0F);
  const smem::Array<float> in(context, std::vector<float>(200, 1.0F)), out(context, poison),
      more(context, poison);
  const smem::Array<int> integers(context, std::vector<int>(200, 1));
  const smem::Matrix from = in.matrix(10, 20), to = out.matrix(10, 20);
  const auto fails = [&](const smem::ConstMatrix& a, const smem::Matrix& b, const smem::Norm& what = {},
                         const char* variant = "") {
    const auto error =
        test::failure_of([&] { smem::layer_norm_columns(context, a, b, what, {.variant = variant}); });
    CHECK(error.operation == "layer_norm_columns");
    return error.argument;
  };
  const auto fails_with = [&](const smem::Norm& what) { return fails(from, to, what); };
  CHECK(fails(from, out.matrix(20, 10)) == "out");
  CHECK(fails(integers.matrix(10, 20), to) == "in");
  CHECK(fails(in.matrix(11, 20), out.matrix(11, 20)) == "in");
  CHECK(fails(in.matrix(9, 20), in.matrix(9, 20, {.offset = 20})) == "out");  // moved by a row
  CHECK(fails(from, to, {}, "registers") == "variant");
  smem::Matrix longest = from, longest_out = to;
  longest.rows = longest_out.rows = (std::size_t{1} << 30) + 1;
  CHECK(fails(longest, longest_out) == "in");
  CHECK(fails_with({.epsilon = -1}) == "epsilon");
  CHECK(fails_with({.weight = more.vector(0, 20)}) == "weight");  // one for each row
  CHECK(fails_with({.weight = integers.vector(0, 10)}) == "weight");
  CHECK(fails_with({.weight = out.vector(0, 10)}) == "out");
  CHECK(fails_with({.bias = more.vector(195, 10)}) == "bias");
  CHECK(fails_with({.residual = more.matrix(10, 19)}) == "residual");
  CHECK(fails_with({.sum = more.matrix(10, 20)}) == "sum");  // without a residual
  CHECK(fails_with({.mean = more.vector(0, 19)}) == "mean");
  CHECK(fails_with({.mean = out.vector(0, 20)}) == "mean");
  const smem::Norm with_mean{.mean = more.vector(0, 20)};
  CHECK(test::failure_of([&] { smem::rms_norm_columns(context, from, to, with_mean); }).argument == "mean");
  const smem::PlanOverrides group{.variant = "tiled", .work_items = 3};
  CHECK(test::failure_of([&] {
          smem::rms_norm_columns(context, from, to, {}, {.overrides = &group});
        }).argument == "work_items");
  CHECK(out.to_host() == poison);
  CHECK(more.to_host() == poison);
  // Of nothing.
  CHECK(smem::layer_norm_columns(context, in.matrix(10, 0), out.matrix(10, 0))() != nullptr);
  CHECK(smem::rms_norm_columns(context, in.matrix(0, 20), out.matrix(0, 20))() != nullptr);
  CHECK(out.to_host() == poison);
  for (const char* variant : {"", "online", "tiled", "naive", "split"}) {
    CAPTURE(variant);
    smem::layer_norm_columns(context, in.matrix(0, 3), out.matrix(0, 3),
                             {.mean = out.vector(0, 3), .reciprocal_deviation = out.vector(3, 3)},
                             {.variant = variant});
    const std::vector<float> got = out.to_host();
    CHECK(std::count_if(got.begin(), got.begin() + 6, [](float v) { return std::isnan(v); }) == 6);
    CHECK(std::count(got.begin() + 6, got.end(), 7.0F) == 194);
    smem::write_buffer(context, out.buffer(), poison.data(), 800);
  }
}
