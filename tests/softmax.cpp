// softmax, log_softmax and logsumexp along rows and columns: every variant and type against plain loops.
#include <smem/smem.hpp>

#include "support/environment.hpp"
#include "support/level.hpp"
#include "support/random_cases.hpp"
#include "support/softmaxes.hpp"
#include "support/targets.hpp"
#include "support/variants.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using smem::MaskedRows;
using smem::Scalar;
using smem::SoftmaxOp;
using test::SoftmaxCase;
using test::SoftmaxSweep;

TEST_CASE("small: softmax" * doctest::test_suite("small")) {
  const smem::Context context;
  SoftmaxSweep sweep(context);
  for (const std::string_view variant :
       test::tested_variants(context.device(), "softmax", smem::softmax_variants())) {
    CAPTURE(variant);
    SoftmaxCase c;
    c.variant = variant;
    c.cols = 300;
    if (variant == "short_rows") {  // with teams that have no row
      c.gaps = false;
      c.in = c.out = Scalar::half;
      c.rows = 9;
      c.cols = 257;
    }
    c.in_place = variant == "registers";  // where no team may read a row that another one stores
    sweep.run(c);
    const std::size_t ran = sweep.ran();
    if (variant == "persistent") continue;  // where local memory has room for its rings
    CHECK(ran == (test::runs_on_rows(context.device(), variant) ? 1 : 0));
  }
}

TEST_CASE("softmax: short rows in tiles") {
  const smem::Context context;
  SoftmaxSweep sweep(context);
  std::size_t turn = 0;
  for (const Scalar type : {Scalar::float32, Scalar::half, Scalar::bfloat16, Scalar::float64}) {
    if (type == Scalar::float64 && !context.device().fp64) continue;
    for (const std::size_t cols : {1, 3, 33, 100, 250, 1000}) {
      SoftmaxCase c;
      c.variant = "short_rows";
      c.in = c.out = type;
      c.op = static_cast<SoftmaxOp>(turn % 3);
      c.masked = turn % 2 == 0 ? MaskedRows::nan : MaskedRows::zero;
      c.rows = cols < 100 ? 3001 : 37;  // more than a tile has room for
      c.cols = cols;
      c.batch = 1 + turn % 2;
      c.offsets = turn % 4 > 1;
      c.in_place = turn % 5 == 4 && c.op != SoftmaxOp::logsumexp;
      sweep.run(c);
      ++turn;
    }
  }
  CHECK(sweep.ran() == turn);
}

TEST_CASE("softmax: every variant, also of rows with infinities and NaNs") {
  const smem::Context context;
  SoftmaxSweep sweep(context);
  for (const std::string_view variant : smem::softmax_variants()) {
    if (variant == "short_rows" || variant == "persistent") continue;  // above, and in rows_persistent.cpp
    CAPTURE(variant);
    std::size_t turn = 0;
    for (const std::size_t cols : {1, 7, 129, 1000, 4099}) {
      for (const MaskedRows masked : {MaskedRows::nan, MaskedRows::zero}) {
        SoftmaxCase c;
        c.variant = variant;
        c.op = static_cast<SoftmaxOp>(turn / 2 % 3);
        c.masked = masked;
        c.cols = cols;
        c.batch = 1 + turn % 2;
        c.gaps = turn % 3 != 1;
        sweep.run(c);
        ++turn;
      }
    }
    CHECK(sweep.ran() == (test::runs_on_rows(context.device(), variant) ? turn : 0));
  }
}

TEST_CASE("softmax: every type") {
  const smem::Context context;
  SoftmaxSweep sweep(context);
  std::size_t turn = 0;
  for (const auto& [in, out] : {std::pair{Scalar::half, Scalar::half},
                                {Scalar::half, Scalar::float32},
                                {Scalar::bfloat16, Scalar::bfloat16},
                                {Scalar::bfloat16, Scalar::float32},
                                {Scalar::float64, Scalar::float64}}) {
    if (in == Scalar::float64 && !context.device().fp64) continue;
    for (const char* variant : {"", "registers", "online"}) {
      SoftmaxCase c;
      c.in = in;
      c.out = out;
      c.variant = variant;
      c.op = static_cast<SoftmaxOp>(turn % 3);
      c.cols = 389 + turn % 2;
      c.gaps = turn % 4 == 0;
      sweep.run(c);
      ++turn;
    }
  }
  CHECK(sweep.ran() == turn);
}

TEST_CASE("softmax: in place") {
  const smem::Context context;
  SoftmaxSweep sweep(context);
  for (const char* variant : {"", "registers", "tiled", "online", "split", "ahead", "cooperative"}) {
    SoftmaxCase c;
    c.variant = variant;
    c.cols = 333;
    c.in_place = c.gaps = true;
    sweep.run(c);
  }
  CHECK(sweep.ran() == (test::runs_on_rows(context.device(), "cooperative") ? 7 : 6));
}

TEST_CASE("softmax: rows longer than a cache or a group's registers, and rows that groups share") {
  const smem::Context context;
  SoftmaxSweep sweep(context);
  for (const char* variant : {"", "online", "split"}) {
    for (const std::size_t work_items : {0, 16}) {
      if (work_items != 0 && *variant == 0) continue;
      SoftmaxCase c;
      c.variant = variant;
      c.work_items = work_items;
      c.cols = 70001;
      c.gaps = true;
      sweep.run(c);
      c.rows = 1;
      c.op = SoftmaxOp::logsumexp;
      sweep.run(c);
      if (work_items != 0) continue;
      c.op = SoftmaxOp::softmax;
      c.cols = (1 << 20) + 3;
      sweep.run(c);
    }
  }
  CHECK(sweep.ran() == 13);
  const smem::SoftmaxProblem row{.rows = 1, .cols = 70001};
  const smem::Plan plan = smem::plan_softmax(context.device(), row, {.variant = "split", .work_items = 16});
  CHECK(plan.number("parts") > 1);
}

TEST_CASE("softmax: groups share rows, and read the parts of others that publish late") {
  for (const char* limit : {"", "poll_limit=0"}) {
    CAPTURE(std::string(limit));
    const test::Variable clamp("SMEM_CLAMP", limit);
    const smem::Context context;
    if (!test::runs_on_rows(context.device(), "cooperative") || context.device().max_work_group < 32) return;
    SoftmaxSweep sweep(context);
    std::size_t turn = 0;
    for (const Scalar type : {Scalar::float32, Scalar::half, Scalar::bfloat16, Scalar::float64}) {
      if (type == Scalar::float64 && !context.device().fp64) continue;
      if (*limit != 0 && turn > 1) continue;
      SoftmaxCase c;
      c.variant = "cooperative";
      c.in = c.out = type;
      c.op = static_cast<SoftmaxOp>(turn % 2);
      c.tile_cols = 256;
      c.work_items = 32;
      c.cols = turn % 3 == 2 ? 1000 : 1003;
      c.rows = 55;  // more than teams
      c.gaps = turn % 3 != 2;
      c.batch = 1 + turn % 2;
      c.in_place = *limit != 0;
      c.masked = turn % 2 == 0 ? MaskedRows::nan : MaskedRows::zero;
      sweep.run(c);
      ++turn;
    }
    CHECK(sweep.ran() == turn);
    SoftmaxCase c;
    c.variant = "cooperative";
    c.op = SoftmaxOp::logsumexp;
    c.tile_cols = 256;
    c.work_items = 32;
    c.cols = 4099;
    if (*limit == 0) sweep.run(c);
  }
}

TEST_CASE("softmax: rows shorter than a CPU's vectors, of which it has several at once") {
  const smem::Context context;
  SoftmaxSweep sweep(context);
  std::size_t turn = 0;
  for (const auto& [in, out] : {std::pair{Scalar::float32, Scalar::float32},
                                {Scalar::half, Scalar::half},
                                {Scalar::bfloat16, Scalar::float32},
                                {Scalar::float64, Scalar::float64}}) {
    if (in == Scalar::float64 && !context.device().fp64) continue;
    for (const std::size_t cols : {1, 2, 3, 4, 8, 13, 16, 33, 64}) {
      SoftmaxCase c;
      c.in = in;
      c.out = out;
      c.op = static_cast<SoftmaxOp>(turn / 2 % 3);
      c.masked = turn % 4 == 0 ? MaskedRows::zero : MaskedRows::nan;
      c.rows = turn % 5 == 1 ? 111 : 4111;  // of few rows blocks are in local memory
      c.cols = cols;
      c.batch = 1 + turn % 2;
      c.gaps = turn % 3 == 0;
      c.in_place = turn % 5 == 4 && in == out && c.op != SoftmaxOp::logsumexp;
      sweep.run(c);
      ++turn;
    }
  }
  CHECK(sweep.ran() == turn);
  const smem::SoftmaxProblem rows{.rows = 1000, .cols = 16};
  CHECK(smem::plan_softmax(test::target("cpu"), rows).tile_rows == 16);
}

TEST_CASE("softmax_columns: every variant, also of columns with infinities and NaNs") {
  const smem::Context context;
  SoftmaxSweep sweep(context);
  for (const std::string_view variant : smem::softmax_columns_variants()) {
    CAPTURE(variant);
    std::size_t turn = 0;
    for (const std::size_t cols : {1, 7, 130, 1000, 2050}) {
      for (const MaskedRows masked : {MaskedRows::nan, MaskedRows::zero}) {
        SoftmaxCase c;
        c.columns = true;
        c.variant = variant;
        c.op = static_cast<SoftmaxOp>(turn / 2 % 3);
        c.masked = masked;
        c.cols = cols;
        c.rows = turn % 4 == 3 ? 77 : 11;
        c.batch = 1 + turn % 2;
        c.gaps = turn % 3 != 1;
        sweep.run(c);
        ++turn;
      }
    }
    const std::size_t ran = sweep.ran(), runs = test::runs_on_rows(context.device(), variant) ? turn : 0;
    CHECK((test::holds_columns(context.device(), variant) ? ran == runs : ran > 0 && ran <= runs));
  }
}

TEST_CASE("softmax_columns: types, in place, and columns longer than a cache or that groups share") {
  const smem::Context context;
  SoftmaxSweep sweep(context);
  std::size_t turn = 0;
  const auto run = [&](SoftmaxCase c) {
    c.columns = true;
    c.gaps = turn % 2 == 0;
    sweep.run(c);
    ++turn;
  };
  for (const auto& [in, out] : {std::pair{Scalar::half, Scalar::half},
                                {Scalar::half, Scalar::float32},
                                {Scalar::bfloat16, Scalar::bfloat16},
                                {Scalar::float64, Scalar::float64}}) {
    if (in == Scalar::float64 && !context.device().fp64) continue;
    for (const char* variant : {"", "tiled", "online"}) {
      SoftmaxCase c;
      c.in = in;
      c.out = out;
      c.variant = variant;
      c.op = static_cast<SoftmaxOp>(turn % 3);
      c.rows = 40;
      c.cols = 389;
      run(c);
    }
  }
  for (const char* variant : {"", "tiled", "online", "split"}) {
    if (!test::runs_on_rows(context.device(), variant)) continue;
    SoftmaxCase c;
    c.variant = variant;
    c.cols = 333;
    c.in_place = true;
    run(c);
  }
  for (const char* variant : {"", "online", "split"}) {
    SoftmaxCase c;
    c.variant = variant;
    c.work_items = *variant == 0 ? 0 : 16;
    c.cols = 40001;
    run(c);
    c.op = SoftmaxOp::logsumexp;
    run(c);
  }
  CHECK(sweep.ran() == turn);
  const smem::SoftmaxColumnsProblem shared{.rows = 40001, .cols = 11};
  const smem::PlanOverrides fixed{.variant = "split", .work_items = 16};
  CHECK(smem::plan_softmax_columns(context.device(), shared, fixed).number("parts") > 1);
}

TEST_CASE("softmax_columns: parts of columns that no cache of a CPU holds") {
  const smem::Context context;
  SoftmaxSweep sweep(context);
  std::size_t turn = 0;
  // The last one fits, but in a tile of few columns.
  for (const auto& [columns, batch] : {std::pair{300, 2}, {1030, 1}, {513, 1}, {291, 1}}) {
    SoftmaxCase c;
    c.columns = true;
    c.op = static_cast<SoftmaxOp>(turn % 3);
    c.in = c.out = turn == 3 ? Scalar::bfloat16 : turn == 1 ? Scalar::half : Scalar::float32;
    c.rows = static_cast<std::size_t>(columns);
    c.cols = turn == 3 ? 2503 : 5003;
    c.batch = static_cast<std::size_t>(batch);
    c.gaps = turn == 1;
    c.in_place = turn == 0;
    sweep.run(c);
    ++turn;
  }
  CHECK(sweep.ran() == turn);
}

// Threads of CPUs read blocks of rows, and blocks of columns of about the same width.
TEST_CASE("softmax_columns: around blocks of rows and columns") {
  const smem::Context context;
  SoftmaxSweep sweep(context);
  std::size_t turn = 0;
  constexpr std::pair<std::size_t, std::size_t> kSizes[] = {{1, 530},  {31, 533},  {32, 300},  {33, 257},
                                                            {64, 270}, {65, 301},  {1057, 40}, {2049, 300},
                                                            {4703, 9}, {5003, 259}};
  for (const Scalar type : {Scalar::float32, Scalar::half, Scalar::bfloat16, Scalar::float64}) {
    if (type == Scalar::float64 && !context.device().fp64) continue;
    for (const auto& [length, columns] : kSizes) {
      SoftmaxCase c;
      c.columns = true;
      c.in = c.out = type;
      c.op = static_cast<SoftmaxOp>(turn % 7 % 3);
      c.rows = columns;
      c.cols = length;
      c.gaps = turn % 4 >= 2;
      c.in_place = turn % 3 == 0 && c.op != SoftmaxOp::logsumexp;
      sweep.run(c);
      ++turn;
    }
  }
  CHECK(sweep.ran() == turn);
}

TEST_CASE("softmax_columns: narrow matrices") {
  const smem::Context context;
  SoftmaxSweep sweep(context);
  std::size_t turn = 0;
  for (const auto& [in, out] : {std::pair{Scalar::float32, Scalar::float32},
                                {Scalar::half, Scalar::half},
                                {Scalar::half, Scalar::float32},
                                {Scalar::bfloat16, Scalar::bfloat16},
                                {Scalar::float64, Scalar::float64}}) {
    if (in == Scalar::float64 && !context.device().fp64) continue;
    for (const std::size_t columns : {1, 2, 3, 7, 12, 20, 133, 256}) {
      SoftmaxCase c;
      c.columns = true;
      c.in = in;
      c.out = out;
      c.op = static_cast<SoftmaxOp>(turn % 3);
      c.masked = turn % 2 == 0 ? MaskedRows::nan : MaskedRows::zero;
      c.rows = columns;
      c.cols = 40000 / columns + turn % 9;
      c.batch = 1 + turn % 4 / 3;
      c.gaps = turn % 4 >= 2;
      c.in_place = turn % 5 == 4 && in == out && c.op != SoftmaxOp::logsumexp;
      sweep.run(c);
      ++turn;
    }
  }
  CHECK(sweep.ran() == turn);
}

TEST_CASE("clamped: softmax on smaller devices") {
  for (const char* limits :
       {"local=16K,work_group=64", "local=4K", "local=512", "work_group=4", "work_group=1,compute_units=1"}) {
    CAPTURE(limits);
    const test::Variable clamp("SMEM_CLAMP", limits);
    const smem::Context context;
    SoftmaxSweep sweep(context);
    for (const bool columns : {false, true}) {
      std::vector<std::string_view> all =
          columns ? smem::softmax_columns_variants() : smem::softmax_variants();
      all.emplace_back("");  // the plan's choice, which always runs
      for (const std::string_view variant : all) {
        CAPTURE(variant);
        SoftmaxCase c;
        c.columns = columns;
        c.variant = variant;
        c.cols = 1000;
        c.gaps = true;
        sweep.run(c);
        CHECK((sweep.ran() == 1 || !variant.empty()));
      }
    }
  }
}

TEST_CASE("random: softmax") {
  const smem::Context context;
  test::run_random("softmax", 309, [&](test::Random& random) -> test::RandomCase {
    SoftmaxCase drawn;
    drawn.op = static_cast<SoftmaxOp>(random.between(0, 2));
    drawn.variant = test::some_variant(random, smem::softmax_variants());
    drawn.in = test::one_of(random, {Scalar::float32, Scalar::half, Scalar::bfloat16, Scalar::float64});
    const bool is_short = drawn.in == Scalar::half || drawn.in == Scalar::bfloat16;
    drawn.out = is_short && random.chance(2) ? Scalar::float32 : drawn.in;
    drawn.masked = random.chance(2) ? MaskedRows::nan : MaskedRows::zero;
    return [=, &context](test::Random& more, std::string& text) {
      if (drawn.in == Scalar::float64 && !context.device().fp64) return test::without_fp64();
      SoftmaxCase c = drawn;
      c.cols = 1 + test::random_length(more) % 100000;
      c.rows = more.between(1, 60000 / (c.cols + 400) + 1);
      c.batch = more.chance(3) ? more.between(1, 3) : 1;
      c.gaps = more.chance(2);
      c.in_place = c.op != SoftmaxOp::logsumexp && c.in == c.out && more.chance(3);
      text = c.text();
      return run(context, c, more);
    };
  });
}

TEST_CASE("softmax: the same bits twice") {
  const smem::Context context;
  std::vector<float> host(3 * 5003);
  test::Random random(7);
  for (float& v : host)
    v = static_cast<float>(random.between(0, 999)) / 100;
  const smem::Array<float> in(context, host), one(context, smem::Count{host.size()}),
      two(context, smem::Count{host.size()});
  for (const std::string_view variant : {"", "split", "tiled"}) {
    smem::softmax(context, in.matrix(3, 5003), one.matrix(3, 5003), {}, {.variant = variant});
    smem::softmax(context, in.matrix(3, 5003), two.matrix(3, 5003), {}, {.variant = variant});
    CHECK(one.to_host() == two.to_host());
  }
}

TEST_CASE("softmax: plans for devices that are not here") {
  const auto variant_of = [](const char* target, std::size_t rows, std::size_t cols) {
    return smem::plan_softmax(test::target(target), {.rows = rows, .cols = cols}).variant;
  };
  CHECK(variant_of("sm_90", 4096, 4096) == "shuffle");
  CHECK(variant_of("sm_90", 16384, 16384) == "shuffle");
  CHECK(variant_of("sm_90", 4096, 50257) == "persistent");
  CHECK(variant_of("sm_75", 16384, 16384) == "shuffle");
  CHECK(variant_of("sm_90", 4096, 1 << 20) == "cooperative");
  CHECK(variant_of("sm_90", 1, 1 << 20) == "cooperative");
  CHECK(variant_of("sm_90", 1, 1 << 24) == "split");
  CHECK(variant_of("sm_90", 8, 50257) == "cooperative");
  CHECK(variant_of("sm_90", 30, 50257) == "ahead");
  CHECK(variant_of("gfx90a", 8192, 1000) == "registers");
  CHECK(variant_of("cpu", 8192, 1000) == "cpu");
  // Short rows share a group. Rows that begin anywhere have no pack more: elements beside whole packs.
  CHECK(smem::plan_softmax(test::target("sm_90"), {.rows = 1000000, .cols = 128}).tile_rows == 8);
  // In tiles up to 320 bytes.
  smem::SoftmaxProblem halves{.in = Scalar::half, .out = Scalar::half, .rows = 100000, .cols = 100};
  halves.row_alignment = 2;
  halves.packed = true;
  CHECK(smem::plan_softmax(test::target("sm_90"), halves).variant == "short_rows");
  halves.cols = 201;
  CHECK(smem::plan_softmax(test::target("sm_90"), halves).variant == "shuffle");
  const smem::SoftmaxProblem loose{.rows = 4096, .cols = 128, .row_alignment = 4};
  CHECK(smem::plan_softmax(test::target("sm_90"), loose).tile_cols == 128);
}
