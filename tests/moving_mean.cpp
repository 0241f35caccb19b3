// Moving means: every variant, type and window against plain loops.
#include <smem/smem.hpp>

#include "support/environment.hpp"
#include "support/failure.hpp"
#include "support/moving_means.hpp"
#include "support/reduce_sweep.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

using smem::MeanEnds;
using smem::Scalar;
using test::MovingMeanCase;

TEST_CASE("moving_mean: means of integers as floats are exact") {
  const smem::Context context;
  const std::vector<std::uint16_t> host(3000, 39321);
  const smem::Array<std::uint16_t> in(context, host);
  const smem::Array<float> out(context, smem::Count{host.size()});
  for (const std::string_view variant : smem::moving_mean_variants()) {
    try {
      smem::moving_mean(context, in.grid({host.size()}), out.grid({host.size()}), 777, smem::MeanEnds::shrink,
                        {.variant = std::string(variant)});
    } catch (const smem::Error& error) {
      CHECK(error.details().argument == "variant");
      continue;
    }
    const std::vector<float> got = out.to_host();
    CAPTURE(variant);
    CHECK(std::all_of(got.begin(), got.end(), [](float v) { return v == 39321; }));
  }
}

TEST_CASE("moving_mean: every variant and window") {
  const smem::Context context;
  test::MovingMeanSweep sweep(context);
  for (const std::string_view variant : smem::moving_mean_variants()) {
    if (variant == "short_rows") continue;  // its own test, below
    std::size_t turn = 0, asked = 0;
    for (const std::size_t window : {1, 2, 3, 12, 13, 64, 337, 1000}) {
      for (const std::size_t width : {1, 7, 336, 4099}) {
        if (width == 7 && window > 13) continue;
        MovingMeanCase c;
        c.variant = variant;
        c.window = window;
        c.ends = turn % 2 == 0 ? MeanEnds::shrink : MeanEnds::zero;
        c.grids.size = {width, 1 + turn % 3, 1 + turn % 2};
        c.grids.batch = 1 + turn % 2;
        c.grids.gaps = turn % 3 != 1;
        const bool by_chunks = variant == "chunks" || variant == "one_pass" || variant == "ring";
        const std::size_t least = by_chunks ? 16 * 16 : 0;
        if (least != 0) c.work_items = 16;
        sweep.run(c);
        ++turn;
        asked += window >= least ? 1 : 0;
      }
    }
    CHECK(sweep.ran() == (test::always_runs(context.device(), variant) ? asked : 0));
  }
}

TEST_CASE("moving_mean: rows that fill tiles of an odd number of elements a work-item") {
  const smem::Context context;
  test::MovingMeanSweep sweep(context);
  for (const Scalar type : {Scalar::float32, Scalar::uint16}) {
    for (const std::size_t width : {990, 1000, 1053}) {
      MovingMeanCase c;
      c.variant = "tiled";
      c.window = 100;
      c.ends = width == 1000 ? MeanEnds::zero : MeanEnds::shrink;
      c.grids.in = c.grids.out = type;
      c.grids.size = {width, 5, 1};
      sweep.run(c);
    }
  }
  if (test::always_runs(context.device(), "tiled")) CHECK(sweep.ran() == 6);
}

TEST_CASE("moving_mean: short rows, several in local memory") {
  const smem::Context context;
  test::MovingMeanSweep sweep(context);
  std::size_t turn = 0;
  for (const auto& [in, out] : {std::pair{Scalar::float32, Scalar::float32},
                                {Scalar::uint8, Scalar::uint8},
                                {Scalar::uint16, Scalar::float32},
                                {Scalar::half, Scalar::half},
                                {Scalar::uint16, Scalar::uint16},
                                {Scalar::float64, Scalar::float64}}) {
    for (const std::size_t window : {8, 9, 15, 16, 23, 40, 131, 300}) {
      for (const std::size_t width : {1, 8, 61, 122, 256}) {
        if ((turn + width) % 3 != 0 && in != Scalar::float32) {  // tiles of other sizes are other programs
          ++turn;
          continue;
        }
        MovingMeanCase c;
        c.variant = "short_rows";
        c.window = window;
        c.work_items = 32;
        c.ends = turn % 2 == 0 ? MeanEnds::shrink : MeanEnds::zero;
        c.grids.in = in;
        c.grids.out = out;
        c.grids.size = {width, 1 + turn * 7 % 40, 1 + turn % 2};  // whole tiles, and parts of one
        c.grids.batch = 1 + turn % 2;
        c.grids.gaps = turn % 3 != 1;
        sweep.run(c);
        ++turn;
      }
    }
  }
  CHECK(sweep.ran() >= 90);
}

TEST_CASE("moving_mean: sums of chunks that lie between the ends of windows") {
  const smem::Context context;
  test::MovingMeanSweep sweep(context);
  std::size_t turn = 0;
  for (const std::size_t window : {256, 257, 300, 511, 512, 513, 2000, 5003}) {
    for (const std::size_t width : {1, 255, 2111, 5003}) {
      MovingMeanCase c;
      c.work_items = 16;
      c.window = window;
      c.ends = turn % 2 == 0 ? MeanEnds::shrink : MeanEnds::zero;
      c.grids.size = {width, 1 + turn % 3};
      c.grids.gaps = turn % 3 != 1;
      if (turn % 4 == 3) c.grids.in = c.grids.out = Scalar::uint8;
      for (const char* variant : {"chunks", "ring", "one_pass"}) {
        c.variant = variant;
        sweep.run(c);
      }
      ++turn;
    }
  }
  CHECK(sweep.ran() == (test::always_runs(context.device(), "one_pass") ? 3 : 2) * turn);
}

// Groups of whole warps copy elements to local memory on NVIDIA, and combine by shuffles.
TEST_CASE("moving_mean: chunks of one warp and of several, and windows of as many, one more and one less") {
  const smem::Context context;
  test::MovingMeanSweep sweep(context);
  std::size_t turn = 0;
  for (const std::size_t work_items : {32, 128}) {
    const std::size_t tile = 16 * work_items;
    for (const std::size_t window : {tile, tile + 1, 2 * tile - 1, 2 * tile, 5 * tile + 7}) {
      MovingMeanCase c;
      c.work_items = work_items;
      c.window = window;
      c.ends = turn % 2 == 0 ? MeanEnds::shrink : MeanEnds::zero;
      c.grids.size = {turn % 3 == 0 ? tile - 1 : 7 * tile + 5, 2};
      c.grids.gaps = turn % 3 != 1;
      for (const char* variant : {"ring", "one_pass"}) {
        c.variant = variant;
        sweep.run(c);
      }
      ++turn;
    }
  }
  CHECK(sweep.ran() == (test::always_runs(context.device(), "one_pass") ? 2 : 1) * turn);
}

// With so little local memory a group has a row, and so all of its chunks, or a part of one.
TEST_CASE("moving_mean: rings of chunks that groups of one team and of several go around") {
  const test::Variable clamp("SMEM_CLAMP", "local=24K");
  const smem::Context context;
  test::MovingMeanSweep sweep(context);
  std::size_t turn = 0;
  for (const std::size_t work_items : {16, 32, 64}) {
    const std::size_t chunk = 16 * std::min<std::size_t>(work_items, 32);
    for (const std::size_t window : {chunk, chunk + 1, 2 * chunk - 17, 2 * chunk, 3 * chunk + 40}) {
      MovingMeanCase c;
      c.variant = "ring";
      c.work_items = work_items;
      c.window = window;
      c.ends = turn % 2 == 0 ? MeanEnds::shrink : MeanEnds::zero;
      c.grids.size = {23 * chunk + 5, turn % 3 == 0 ? 1U : 9U};
      c.grids.gaps = turn % 3 != 1;
      sweep.run(c);
      ++turn;
    }
  }
  CHECK(sweep.ran() == turn);
}

TEST_CASE("moving_mean: groups that wait for no other one compute its sum themselves") {
  for (const char* limit : {"poll_limit=0", "poll_limit=1"}) {
    const test::Variable clamp("SMEM_CLAMP", limit);
    const smem::Context context;
    test::MovingMeanSweep sweep(context);
    MovingMeanCase c;
    c.variant = "one_pass";
    c.work_items = 16;
    for (const std::size_t window : {260, 1000}) {
      c.window = window;
      c.grids.size = {5003, 3};
      sweep.run(c);
    }
    CHECK(sweep.ran() == (test::always_runs(context.device(), c.variant) ? 2 : 0));
  }
}

TEST_CASE("moving_mean: teams of work-items sum blocks in pieces") {
  const smem::Context context;
  test::MovingMeanSweep sweep(context);
  for (const std::size_t window : {5, 63, 64, 65, 1000}) {
    MovingMeanCase c;
    c.variant = "blocks";
    c.work_items = 64;
    c.window = window;
    c.grids.size = {2111, 3};
    sweep.run(c);
  }
  CHECK(sweep.ran() == 5);
}

TEST_CASE("moving_mean: tiles of few chunks, of which a group does several") {
  const smem::Context context;
  test::MovingMeanSweep sweep(context);
  std::size_t turn = 0;
  for (const std::size_t work_items : {2, 8, 64}) {
    // The longest that are added up, the first of chunks of 8 and of 16, and ends at every place of a chunk.
    for (const std::size_t window : {1, 7, 8, 9, 15, 16, 17, 18, 31, 32, 33, 34, 47, 64, 100, 400, 512}) {
      if (window > work_items * (window > 8 && window < 17 ? 8 : 16) / 2) continue;
      MovingMeanCase c;
      c.variant = "tiled";
      c.work_items = work_items;
      c.window = window;
      c.ends = turn % 2 == 0 ? MeanEnds::shrink : MeanEnds::zero;
      c.grids.size = {5003, 3, 2};
      c.grids.gaps = turn % 3 != 1;
      sweep.run(c);
      ++turn;
    }
  }
  CHECK(sweep.ran() == turn);
}

TEST_CASE("moving_mean: the mean of equal numbers is that number, and of infinite ones infinite") {
  const smem::Context context;
  for (const float number : {1.0F, 0.75F, INFINITY}) {
    const smem::Array<float> in(context, std::vector<float>(5000, number));
    for (const std::size_t window : {3, 41, 49, 83, 1001}) {
      const smem::Array<float> out(context, smem::Count{5000});
      smem::moving_mean(context, in.grid({5000}), out.grid({5000}), window, MeanEnds::shrink,
                        {.variant = "tiled"});
      const std::vector<float> got = out.to_host();
      CHECK_MESSAGE(std::ranges::count(got, number) == 5000, window);
    }
  }
}

TEST_CASE("moving_mean: every type") {
  const smem::Context context;
  test::MovingMeanSweep sweep(context);
  std::size_t turn = 0;
  for (const auto& [in, out] : {std::pair{Scalar::uint8, Scalar::uint8},
                                {Scalar::uint16, Scalar::float32},
                                {Scalar::half, Scalar::half},
                                {Scalar::float64, Scalar::float64}}) {
    for (const char* variant : {"", "tiled"}) {
      MovingMeanCase c;
      c.grids.in = in;
      c.grids.out = out;
      c.variant = variant;
      c.grids.size = {3001, 2};
      c.window = turn % 2 == 0 ? 6 : 101;
      c.ends = turn % 3 == 0 ? MeanEnds::zero : MeanEnds::shrink;
      sweep.run(c);
      ++turn;
    }
  }
  // Windows whose sums need 64 bits, and one that is longer than its row, whatever is chosen.
  MovingMeanCase c;
  c.grids.in = c.grids.out = Scalar::uint16;
  c.grids.size = {2500, 3};
  c.window = 70001;
  sweep.run(c);
  c.grids.in = c.grids.out = Scalar::float32;
  sweep.run(c);
  CHECK(sweep.ran() >= 8);
}

TEST_CASE("moving_mean: integers of windows about as long as a vector, and longer") {
  const smem::Context context;
  test::MovingMeanSweep sweep(context);
  std::size_t turn = 0;
  for (const auto& [in, out] : {std::pair{Scalar::uint8, Scalar::uint8},
                                {Scalar::uint16, Scalar::uint16},
                                {Scalar::uint8, Scalar::float32},
                                {Scalar::uint16, Scalar::float32}}) {
    for (const std::size_t window : {1, 2, 15, 16, 17, 1000}) {
      MovingMeanCase c;
      c.grids.in = in;
      c.grids.out = out;
      c.grids.size = {40011, 2};
      c.grids.gaps = turn % 2 != 0;
      c.window = window;
      c.ends = turn % 3 == 0 ? MeanEnds::zero : MeanEnds::shrink;
      sweep.run(c);
      ++turn;
    }
  }
  CHECK(sweep.ran() == turn);
}

// Of small integers, whose sums are exact in any order.
template <class T>
void check_long_windows(const smem::Context& context) {
  const std::size_t width = 40011, rows = 2;
  std::vector<T> host(width * rows);
  std::vector<long> before(host.size() + 1);  // of each element, the sum of those before it
  for (std::size_t i = 0; i < host.size(); ++i) {
    const auto number = static_cast<long>(i * 7919 % 1009 % 8);
    host[i] = static_cast<T>(static_cast<float>(number));
    before[i + 1] = before[i] + number;
  }
  const smem::Array<T> in(context, host);
  for (const std::size_t window : {8192, 16384, 20001, 50000}) {
    const smem::Array<T> out(context, smem::Count{host.size()});
    smem::moving_mean(context, in.grid({width, rows}), out.grid({width, rows}), window);
    const std::vector<T> got = out.to_host();
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
      const std::size_t row = i / width * width, x = i - row;
      const std::size_t begin = row + (x > window / 2 ? x - window / 2 : 0);
      const std::size_t end = row + std::min(width, x + window - window / 2);
      const double mean = static_cast<double>(before[end] - before[begin]) / static_cast<double>(end - begin);
      const double rounding = std::is_same_v<T, smem::half> ? 0x1p-10 : 0x1p-22;
      wrong += std::abs(static_cast<double>(static_cast<float>(got[i])) - mean) > mean * rounding ? 1 : 0;
    }
    CAPTURE(window);
    CHECK(wrong == 0);
  }
}

TEST_CASE("moving_mean: windows about as long as the strips of a CPU's threads, and longer") {
  const smem::Context context;
  check_long_windows<float>(context);
  check_long_windows<smem::half>(context);
  if (context.device().fp64) check_long_windows<double>(context);
}

TEST_CASE("moving_mean: what has left the window leaves nothing behind") {
  const smem::Context context;
  std::vector<float> host(9000, 1.0F);
  host[100] = 1e30F;
  host[200] = NAN;
  const smem::Array<float> in(context, host);
  for (const std::string_view variant : smem::moving_mean_variants()) {
    if (variant == "cpu" && !test::has_cpu_variant(context.device())) continue;
    if (variant == "chunks" || variant == "one_pass" || variant == "ring")
      continue;  // their windows are longer
    const std::size_t width = variant == "short_rows" ? 100 : host.size();
    const smem::GridSize extents{width, host.size() / width};
    const smem::Array<float> out(context, smem::Count{host.size()});
    smem::moving_mean(context, in.grid(extents), out.grid(extents), 15, MeanEnds::shrink,
                      {.variant = variant});
    const std::vector<float> got = out.to_host();
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
      const auto has = [&](std::size_t place) {  // the window of result i
        return i / width == place / width && i + 7 >= place && i <= place + 7;
      };
      wrong += has(200) ? !std::isnan(got[i]) : has(100) ? !(got[i] > 1e28F) : got[i] != 1.0F;
    }
    CHECK_MESSAGE(wrong == 0, variant);
  }
}

TEST_CASE("bad input of moving_mean") {
  const smem::Context context;
  const smem::Array<float> in(context, std::vector<float>(100, 1.0F));
  const std::vector<float> poison(100, 7.0F);
  const smem::Array<float> out(context, poison);
  const auto fails = [&](const smem::Grid& a, const smem::Grid& b, std::size_t window,
                         const char* variant = "") {
    const auto error = test::failure_of(
        [&] { smem::moving_mean(context, a, b, window, MeanEnds::shrink, {.variant = variant}); });
    CHECK(error.operation == "moving_mean");
    return error.argument;
  };
  const auto from = in.grid({100}), to = out.grid({100});
  CHECK(fails(from, to, 0) == "window");
  CHECK(fails(from, to, std::size_t{1} << 60) == "window");
  CHECK(fails(from, out.grid({99}), 3) == "out");
  CHECK(fails(from, in.grid({100}), 3) == "out");
  CHECK(fails(in.grid({50}, {.channels = 2}), out.grid({50}, {.channels = 2}), 3) == "in");
  CHECK(fails(in.grid({101}), out.grid({101}), 3) == "in");
  CHECK(fails(from, to, 3, "nosuch") == "variant");
  CHECK(fails(from, to, 1 << 20, "tiled") == "variant");
  smem::Grid bytes = to;
  bytes.type = Scalar::uint8;
  CHECK(fails(from, bytes, 3) == "out");
  const smem::PlanOverrides group{.variant = "tiled", .work_items = 3};
  CHECK(test::failure_of([&] {
          smem::moving_mean(context, from, to, 3, MeanEnds::shrink, {.overrides = &group});
        }).argument == "work_items");
  CHECK(smem::moving_mean(context, in.grid({0}), out.grid({0}), 3)() != nullptr);
  CHECK(out.to_host() == poison);
}
