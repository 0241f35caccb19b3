// layer_norm and rms_norm: every variant and type against plain loops.
#include <smem/smem.hpp>

#include "support/case_sweep.hpp"
#include "support/environment.hpp"
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
#include <limits>
#include <string>
#include <vector>

using smem::NormOp;
using smem::Scalar;
using test::NormCase;
using test::NormInPlace;

namespace {

using NormSweep = test::CaseSweep<NormCase>;

}  // namespace

TEST_CASE("small: norm" * doctest::test_suite("small")) {
  const smem::Context context;
  NormSweep sweep(context);
  for (const std::string_view variant :
       test::tested_variants(context.device(), "norm", smem::norm_variants())) {
    CAPTURE(variant);
    NormCase c;
    c.variant = variant;
    c.cols = 300;
    c.weight = c.bias = c.statistics = true;
    if (variant == "short_rows") {  // with teams that have no row
      c.gaps = false;
      c.in = c.out = Scalar::half;
      c.rows = 9;
      c.cols = 257;
    }
    // Where no team may read a row that another one stores.
    if (variant == "registers") c.in_place = test::NormInPlace::out_in;
    sweep.run(c);
    CHECK(sweep.ran() == (test::runs_on_rows(context.device(), variant) ? 1 : 0));
  }
}

TEST_CASE("norm: short rows in tiles") {
  const smem::Context context;
  NormSweep sweep(context);
  std::size_t turn = 0;
  for (const Scalar type : {Scalar::float32, Scalar::half, Scalar::bfloat16, Scalar::float64}) {
    if (type == Scalar::float64 && !context.device().fp64) continue;
    for (const std::size_t cols : {1, 3, 33, 100, 250, 1000}) {
      NormCase c;
      c.variant = "short_rows";
      c.in = c.out = type;
      c.weights = turn % 2 == 0 || type == Scalar::float64 ? type : Scalar::float32;
      c.op = static_cast<NormOp>(turn % 2);
      c.rows = cols < 100 ? 3001 : 37;  // more than a tile has room for
      c.cols = cols;
      c.batch = 1 + turn % 2;
      c.weight = turn % 3 != 2;
      c.bias = turn % 3 != 1;
      c.statistics = turn % 4 != 1;
      c.offsets = turn % 4 > 1;
      if (turn % 5 == 4) c.in_place = NormInPlace::out_in;
      sweep.run(c);
      ++turn;
    }
  }
  CHECK(sweep.ran() == turn);
}

TEST_CASE("norm: every variant, also of rows with large means, infinities and NaNs") {
  const smem::Context context;
  NormSweep sweep(context);
  for (const std::string_view variant : smem::norm_variants()) {
    if (variant == "short_rows" || variant == "persistent") continue;  // above, and in rows_persistent.cpp
    CAPTURE(variant);
    std::size_t turn = 0;
    for (const std::size_t cols : {1, 7, 129, 1000, 4099}) {
      for (const NormOp op : {NormOp::layer, NormOp::rms}) {
        NormCase c;
        c.variant = variant;
        c.op = op;
        c.cols = cols;
        c.batch = 1 + turn % 2;
        c.gaps = turn % 3 != 1;
        c.weight = c.bias = op == NormOp::layer;
        // "ahead" and "cooperative" copy one input.
        c.residual = c.sum = op == NormOp::rms && variant != "ahead" && variant != "cooperative";
        c.statistics = turn % 4 < 2;
        sweep.run(c);
        ++turn;
      }
    }
    CHECK(sweep.ran() == (test::runs_on_rows(context.device(), variant) ? turn : 0));
  }
}

TEST_CASE("norm: every type, of weights too") {
  const smem::Context context;
  NormSweep sweep(context);
  std::size_t turn = 0;
  struct Types {
    Scalar in, out, weights;
  };
  for (const Types& types :
       {Types{Scalar::half, Scalar::half, Scalar::half}, Types{Scalar::half, Scalar::half, Scalar::float32},
        Types{Scalar::half, Scalar::float32, Scalar::float32},
        Types{Scalar::half, Scalar::float32, Scalar::half},
        Types{Scalar::bfloat16, Scalar::bfloat16, Scalar::bfloat16},
        Types{Scalar::bfloat16, Scalar::float32, Scalar::float32},
        Types{Scalar::float64, Scalar::float64, Scalar::float64}}) {
    if (types.in == Scalar::float64 && !context.device().fp64) continue;
    const char* third = turn % 8 == 0 ? "online" : turn % 8 == 4 ? "tiled" : "registers";
    for (const char* variant : {"", third}) {
      for (const bool gaps : {false, true}) {
        NormCase c;
        c.in = types.in;
        c.out = types.out;
        c.weights = types.weights;
        c.variant = variant;
        c.op = static_cast<NormOp>(turn / 4 % 2);
        c.cols = gaps ? 389 : 384;
        c.weight = c.residual = c.sum = true;
        c.bias = turn / 4 % 3 != 2;
        c.statistics = gaps;
        c.gaps = gaps;
        sweep.run(c);
        ++turn;
      }
    }
  }
  CHECK(sweep.ran() == turn);
}

TEST_CASE("norm: rows shorter than a CPU's vectors, of which it has several at once") {
  const smem::Context context;
  NormSweep sweep(context);
  std::size_t turn = 0;
  for (const Scalar type : {Scalar::float32, Scalar::half, Scalar::bfloat16, Scalar::float64}) {
    if (type == Scalar::float64 && !context.device().fp64) continue;
    for (const std::size_t cols : {1, 2, 3, 4, 8, 13, 16, 33, 64}) {
      NormCase c;
      c.in = c.out = type;
      c.weights = turn % 2 == 0 || type == Scalar::float64 ? type : Scalar::float32;
      c.op = static_cast<NormOp>(turn % 2);
      c.rows = turn % 5 == 1 ? 111 : 4111;  // of few rows blocks are in local memory
      c.cols = cols;
      c.batch = 1 + turn % 2;
      c.weight = turn % 3 != 2;
      c.bias = turn % 3 != 1;
      c.residual = c.sum = turn % 4 < 2;
      c.statistics = turn % 4 != 1;
      c.gaps = turn % 5 > 2;
      sweep.run(c);
      ++turn;
    }
  }
  CHECK(sweep.ran() == turn);
  const smem::NormProblem rows{.rows = 1000, .cols = 16};
  CHECK(smem::plan_norm(test::target("cpu"), rows).tile_rows == 16);
}

TEST_CASE("norm: in place of the input, of the residual, and of both") {
  const smem::Context context;
  NormSweep sweep(context);
  std::size_t turn = 0;
  for (const char* variant : {"", "naive", "registers", "tiled", "online", "split"}) {
    for (const NormInPlace in_place :
         {NormInPlace::out_in, NormInPlace::out_residual, NormInPlace::sum_residual, NormInPlace::both}) {
      NormCase c;
      c.variant = variant;
      c.work_items = *variant == 's' ? 16 : 0;
      c.rows = *variant == 's' ? 2 : 9;  // rows that groups share
      c.cols = *variant == 's' ? 20001 : 333;
      c.op = NormOp::rms;
      c.residual = c.sum = true;
      c.in_place = in_place;
      c.gaps = true;
      sweep.run(c);
      ++turn;
    }
  }
  CHECK(sweep.ran() == turn);
}

TEST_CASE("norm: rows longer than a cache or a group's registers, and rows that groups share") {
  const smem::Context context;
  NormSweep sweep(context);
  for (const char* variant : {"", "online", "split"}) {
    for (const std::size_t work_items : {0, 16}) {
      if (work_items != 0 && *variant == 0) continue;
      NormCase c;
      c.variant = variant;
      c.work_items = work_items;
      c.cols = 70001;
      c.gaps = c.weight = c.bias = c.statistics = true;
      sweep.run(c);
      c.rows = 1;
      c.op = NormOp::rms;
      c.weight = c.bias = false;
      c.residual = c.sum = true;
      sweep.run(c);
      if (work_items != 0) continue;
      c.cols = (1 << 20) + 3;
      sweep.run(c);
    }
  }
  CHECK(sweep.ran() == 13);
  const smem::NormProblem row{.rows = 1, .cols = 70001};
  CHECK(smem::plan_norm(context.device(), row, {.variant = "split", .work_items = 16}).number("parts") > 1);
}

TEST_CASE("norm: groups share rows, and read the parts of others that publish late") {
  for (const char* limit : {"", "poll_limit=0"}) {
    CAPTURE(std::string(limit));
    const test::Variable clamp("SMEM_CLAMP", limit);
    const smem::Context context;
    if (!test::runs_on_rows(context.device(), "cooperative") || context.device().max_work_group < 32) return;
    NormSweep sweep(context);
    std::size_t turn = 0;
    for (const Scalar type : {Scalar::float32, Scalar::half, Scalar::bfloat16, Scalar::float64}) {
      if (type == Scalar::float64 && !context.device().fp64) continue;
      for (const NormOp op : {NormOp::layer, NormOp::rms}) {
        // Few programs: one operation of each type, and without polls two of all.
        if ((op == NormOp::rms) != (type == Scalar::float64 || type == Scalar::bfloat16)) continue;
        if (*limit != 0 && turn > 1) continue;
        NormCase c;
        c.op = op;
        c.variant = "cooperative";
        c.in = c.out = type;
        c.weights = type == Scalar::half && op == NormOp::layer ? Scalar::float32 : type;
        c.tile_cols = 256;
        c.work_items = 32;
        c.cols = turn % 3 == 2 ? 1000 : 1003;
        c.rows = 54;  // more than teams
        c.gaps = turn % 3 != 2;
        c.batch = 1 + turn / 2 % 2;
        c.weight = true;
        c.bias = op == NormOp::layer;
        c.statistics = true;
        c.in_place = *limit != 0 ? NormInPlace::out_in : NormInPlace::none;
        sweep.run(c);
        ++turn;
      }
    }
    CHECK(sweep.ran() == turn);
  }
}

TEST_CASE("norm: without an epsilon, rows of equal elements are NaN") {
  const smem::Context context;
  NormSweep sweep(context);
  for (const char* variant : {"", "registers", "online"}) {
    NormCase c;
    c.variant = variant;
    c.cols = 129;
    c.epsilon = 0;
    c.weight = c.bias = true;
    sweep.run(c);
    c.op = NormOp::rms;
    c.weight = c.bias = false;
    sweep.run(c);
  }
  CHECK(sweep.ran() == 6);
}

TEST_CASE("clamped: norms on smaller devices") {
  for (const char* limits :
       {"local=16K,work_group=64", "local=4K", "local=512", "work_group=4", "work_group=1,compute_units=1"}) {
    CAPTURE(limits);
    const test::Variable clamp("SMEM_CLAMP", limits);
    const smem::Context context;
    NormSweep sweep(context);
    for (const bool columns : {false, true}) {
      std::vector<std::string_view> all = columns ? smem::norm_columns_variants() : smem::norm_variants();
      all.emplace_back("");  // the plan's choice, which always runs
      for (const std::string_view variant : all) {
        CAPTURE(variant);
        NormCase c;
        c.columns = columns;
        c.variant = variant;
        c.cols = 1000;
        c.weight = c.bias = c.statistics = true;
        c.gaps = variant != "short_rows";
        sweep.run(c);
        CHECK((sweep.ran() == 1 || !variant.empty()));
      }
    }
  }
}

TEST_CASE("clamped: short rows of norms by groups of fewer work-items than a pack has elements") {
  const test::Variable clamp("SMEM_CLAMP", "work_group=4");
  const smem::Context context;
  NormSweep sweep(context);
  for (const bool offsets : {false, true}) {
    NormCase c;
    c.variant = "short_rows";
    c.in = c.out = c.weights = Scalar::half;
    c.rows = 23;
    c.cols = 5;
    c.offsets = offsets;
    sweep.run(c);
    CHECK(sweep.ran() == 1);
  }
}

TEST_CASE("random: norms") {
  const smem::Context context;
  test::run_random("norm", 310, [&](test::Random& random) -> test::RandomCase {
    NormCase drawn;
    drawn.op = random.chance(2) ? NormOp::layer : NormOp::rms;
    drawn.variant = test::some_variant(random, smem::norm_variants());
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
      c.cols = 1 + test::random_length(more) % 100000;
      c.rows = more.between(1, 60000 / (c.cols + 400) + 1);
      c.batch = more.chance(3) ? more.between(1, 3) : 1;
      c.gaps = more.chance(2);
      if (c.in == c.out && more.chance(2)) {
        const std::size_t ways = c.sum ? 4 : c.residual ? 2 : 1;
        c.in_place = static_cast<NormInPlace>(more.between(0, ways));
      }
      c.epsilon = more.chance(3) ? 1e-3 : 1e-5;
      text = c.text();
      return test::run(context, c, more);
    };
  });
}

TEST_CASE("norm: the same bits twice") {
  const smem::Context context;
  std::vector<float> host(3 * 5003);
  test::Random random(7);
  for (float& v : host)
    v = static_cast<float>(random.between(0, 999)) / 100;
  const smem::Array<float> in(context, host), one(context, smem::Count{host.size()}),
      two(context, smem::Count{host.size()});
  for (const std::string_view variant : {"", "split", "tiled"}) {
    smem::layer_norm(context, in.matrix(3, 5003), one.matrix(3, 5003), {}, {.variant = variant});
    smem::layer_norm(context, in.matrix(3, 5003), two.matrix(3, 5003), {}, {.variant = variant});
    CHECK(one.to_host() == two.to_host());
  }
}

TEST_CASE("norm: plans for devices that are not here") {
  const auto variant_of = [](const char* target, std::size_t rows, std::size_t cols) {
    return smem::plan_norm(test::target(target), {.rows = rows, .cols = cols}).variant;
  };
  CHECK(variant_of("sm_90", 4096, 4096) == "shuffle");
  CHECK(variant_of("sm_90", 16384, 8192) == "shuffle");
  CHECK(variant_of("sm_90", 16384, 16384) == "shuffle");
  CHECK(variant_of("sm_90", 16384, 16383) == "ahead");
  smem::NormProblem halves{.in = Scalar::half, .out = Scalar::half, .weights = Scalar::half, .rows = 16384};
  halves.weight = true;
  const auto variant_of_halves = [&](std::size_t cols) {
    halves.cols = cols;
    return smem::plan_norm(test::target("sm_90"), halves).variant;
  };
  CHECK(variant_of_halves(8192) == "shuffle");
  CHECK(variant_of_halves(16384) == "shuffle");
  CHECK(variant_of_halves(20000) == "ahead");
  // Rows that begin anywhere: in tiles up to 512 bytes.
  halves.row_alignment = 2;
  halves.packed = true;
  CHECK(variant_of_halves(100) == "short_rows");
  CHECK(variant_of_halves(257) == "shuffle");
  // Rows that 64 work-items keep, and longer ones.
  const auto group_of = [](std::size_t cols) {
    return smem::plan_norm(test::target("sm_90"), {.rows = 8192, .cols = cols}).work_items();
  };
  CHECK(group_of(1000) == 64);
  CHECK(group_of(4096) == 128);
  // Two groups of 512 work-items have the registers of a unit.
  const auto limit_of = [](std::size_t cols, bool residual) {
    smem::NormProblem p{.rows = 8192, .cols = cols};
    p.residual = residual;
    return smem::plan_norm(test::target("sm_90"), p).most_registers;
  };
  CHECK(limit_of(16384, false) == 64);
  const smem::Plan limited = smem::plan_norm(test::target("sm_90"), {.rows = 8192, .cols = 16384});
  CHECK(test::contains(limited.build_options(), " -cl-nv-maxrregcount=64"));
  CHECK(smem::occupancy(test::target("sm_90"), limited).groups == 2);
  CHECK(limit_of(16384, true) == 0);
  CHECK(limit_of(8192, false) == 0);
  CHECK(variant_of("sm_90", 4096, 50257) == "ahead");
  CHECK(variant_of("sm_90", 4096, 1 << 20) == "cooperative");
  CHECK(variant_of("sm_90", 1, 1 << 20) == "cooperative");
  CHECK(variant_of("sm_90", 1, 1 << 24) == "split");
  CHECK(variant_of("sm_90", 8, 50257) == "cooperative");
  CHECK(variant_of("sm_90", 30, 50257) == "ahead");
  CHECK(variant_of("gfx90a", 8192, 1000) == "registers");
  CHECK(variant_of("cpu", 8192, 1000) == "cpu");
  // A residual is read, and a sum written, as often as the elements.
  const smem::NormProblem usual{.rows = 4096, .cols = 4096};
  smem::NormProblem sum = usual;
  sum.residual = sum.sum = true;
  const auto one = smem::plan_norm(test::target("sm_90"), usual).prediction,
             two = smem::plan_norm(test::target("sm_90"), sum).prediction;
  CHECK(two.bytes_read == 2 * one.bytes_read);
  CHECK(two.bytes_written == 2 * one.bytes_written);
}

TEST_CASE("bad input of norm") {
  const smem::Context context, other;
  const std::vector<float> poison(200, 7.0F);
  const smem::Array<float> in(context, std::vector<float>(200, 1.0F)), out(context, poison),
      more(context, poison), foreign(other, poison);
  const smem::Array<int> integers(context, std::vector<int>(200, 1));
  const smem::Matrix from = in.matrix(10, 20), to = out.matrix(10, 20);
  const auto fails = [&](const smem::ConstMatrix& a, const smem::Matrix& b, const smem::Norm& what = {},
                         const char* variant = "") {
    const auto error = test::failure_of([&] { smem::layer_norm(context, a, b, what, {.variant = variant}); });
    CHECK(error.operation == "layer_norm");
    return error.argument;
  };
  const auto fails_with = [&](const smem::Norm& what) { return fails(from, to, what); };
  CHECK(fails(from, out.matrix(20, 10)) == "out");
  CHECK(fails(from, out.matrix(5, 20, {.batch = 2})) == "out");
  CHECK(fails(integers.matrix(10, 20), to) == "in");
  CHECK(fails(from, integers.matrix(10, 20)) == "out");
  CHECK(fails(in.matrix(11, 20), out.matrix(11, 20)) == "in");
  CHECK(fails(in.matrix(9, 20), in.matrix(9, 20, {.offset = 20})) == "out");  // moved by a row
  CHECK(fails(from, to, {}, "nosuch") == "variant");
  smem::Matrix longest = from, longest_out = to;
  longest.cols = longest.pitch = longest_out.cols = longest_out.pitch = (std::size_t{1} << 30) + 1;
  CHECK(fails(longest, longest_out) == "in");
  for (const double epsilon : {-1e-9, std::nan(""), std::numeric_limits<double>::infinity(), 1e300})
    CHECK(fails_with({.epsilon = epsilon}) == "epsilon");
  CHECK(fails_with({.weight = more.vector(0, 19)}) == "weight");
  CHECK(fails_with({.weight = integers.vector(0, 20)}) == "weight");
  CHECK(fails_with({.weight = out.vector(0, 20)}) == "out");
  CHECK(fails_with({.weight = foreign.vector(0, 20)}) == "weight");
  CHECK(fails_with({.bias = more.vector(190, 20)}) == "bias");
  CHECK(fails_with({.bias = more.vector(0, 21)}) == "bias");
  CHECK(fails_with({.residual = more.matrix(10, 19)}) == "residual");
  CHECK(fails_with({.residual = integers.matrix(10, 20)}) == "residual");
  CHECK(fails_with({.residual = out.matrix(9, 20, {.offset = 20})}) == "residual");
  CHECK(fails_with({.sum = more.matrix(10, 20)}) == "sum");  // without a residual
  CHECK(fails_with({.residual = more.matrix(10, 20), .sum = to}) == "sum");
  CHECK(fails_with({.residual = more.matrix(10, 20), .sum = more.matrix(10, 19)}) == "sum");
  CHECK(fails_with({.mean = more.vector(0, 9)}) == "mean");
  CHECK(fails_with({.mean = integers.vector(0, 10)}) == "mean");
  CHECK(fails_with({.mean = out.vector(0, 10)}) == "mean");
  CHECK(fails_with({.mean = smem::Vector(nullptr, Scalar::float32, 10)}) == "mean");
  CHECK(fails_with({.mean = more.vector(0, 10), .reciprocal_deviation = more.vector(9, 10)}) ==
        "reciprocal_deviation");
  CHECK(test::failure_of([&] { smem::rms_norm(context, from, to, {.mean = more.vector(0, 10)}); }).argument ==
        "mean");
  const smem::PlanOverrides group{.variant = "tiled", .work_items = 3};
  CHECK(test::failure_of([&] { smem::rms_norm(context, from, to, {}, {.overrides = &group}); }).argument ==
        "work_items");
  CHECK(out.to_host() == poison);
  CHECK(more.to_host() == poison);
  // Of nothing.
  CHECK(smem::layer_norm(context, in.matrix(0, 20), out.matrix(0, 20))() != nullptr);
  CHECK(smem::rms_norm(context, in.matrix(10, 0), out.matrix(10, 0))() != nullptr);
  CHECK(out.to_host() == poison);
  for (const char* variant : {"", "registers", "online", "tiled", "naive"}) {
    smem::layer_norm(context, in.matrix(3, 0), out.matrix(3, 0),
                     {.mean = out.vector(0, 3), .reciprocal_deviation = out.vector(3, 3)},
                     {.variant = variant});
    const std::vector<float> got = out.to_host();
    CHECK(std::count_if(got.begin(), got.begin() + 6, [](float v) { return std::isnan(v); }) == 6);
    CHECK(std::count(got.begin() + 6, got.end(), 7.0F) == 194);
    smem::write_buffer(context, out.buffer(), poison.data(), 800);
  }
}
