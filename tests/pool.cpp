// Pooling: every variant, type and window against plain loops.
#include <smem/smem.hpp>

#include "support/failure.hpp"
#include "support/pools.hpp"
#include "support/reduce_sweep.hpp"
#include "support/variants.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

using smem::Pooling;
using smem::PoolOp;
using smem::Scalar;
using test::PoolCase;

namespace {}  // namespace

TEST_CASE("pool: every variant, window and padding") {
  const smem::Context context;
  test::PoolSweep sweep(context);
  for (const std::string_view variant : smem::pool_variants()) {
    std::size_t turn = 0;
    for (const Pooling& windows :
         {Pooling::square(2), Pooling::square(3, 2, 1), Pooling{{5, 1}, {3, 2}, {2, 0, 4, 0}},
          Pooling::square(1, 3), Pooling::square(40, 7, 20)}) {
      PoolCase c;
      c.variant = variant;
      c.op = turn % 2 == 0 ? PoolOp::max : PoolOp::average;
      c.windows = windows;
      c.windows.count_padding = turn == 3;
      for (const auto& [width, height] : {std::pair{40, 40}, {67, 41}, {130, 44}}) {
        c.grids.size = {static_cast<std::size_t>(width), static_cast<std::size_t>(height)};
        if (variant == "windows" && width == 67) continue;  // another group, which is another program
        c.grids.gaps = width == 67;
        sweep.run(c);
      }
      ++turn;
    }
    CHECK((sweep.ran() >= 8) == test::always_runs(context.device(), variant));
  }
}

TEST_CASE("pool: every type, channels and batches") {
  const smem::Context context;
  test::PoolSweep sweep(context);
  std::size_t turn = 0;
  for (const PoolOp op : {PoolOp::max, PoolOp::average}) {
    for (const auto& [in, out] : {std::pair{Scalar::uint8, Scalar::uint8},
                                  {Scalar::uint16, Scalar::uint16},
                                  {Scalar::half, Scalar::half},
                                  {Scalar::float64, Scalar::float64},
                                  {Scalar::uint8, Scalar::float32}}) {
      PoolCase c;
      c.op = op;
      c.grids.in = in;
      c.grids.out = out;
      c.windows = Pooling::square(2 + turn % 2, 2, turn % 2);
      c.grids.size = {101, 23, 1 + turn % 2};
      c.grids.channels = 1 + turn % 3;
      c.grids.batch = 2;
      c.grids.gaps = turn % 2 == 0;
      c.windows.count_padding = turn % 4 == 1;
      c.variant = turn % 3 == 0 ? "windows" : "";
      sweep.run(c);
      if (in == Scalar::float64 || turn % 2 == 1) {
        ++turn;
        continue;
      }
      c.variant = "vector";
      c.grids.channels = 1;
      c.grids.size = {128, 20};
      c.grids.gaps = false;
      sweep.run(c);
      ++turn;
    }
  }
  CHECK(sweep.ran() >= 10);
}

TEST_CASE("pool: whole planes") {
  const smem::Context context;
  test::PoolSweep sweep(context);
  std::size_t turn = 0;
  for (const PoolOp op : {PoolOp::max, PoolOp::average}) {
    for (const auto& [in, out] : {std::pair{Scalar::float32, Scalar::float32},
                                  {Scalar::uint8, Scalar::uint8},
                                  {Scalar::half, Scalar::float32}}) {
      PoolCase c;
      c.global = true;
      c.op = op;
      c.grids.in = in;
      c.grids.out = out;
      c.grids.channels = 1 + turn % 4;
      for (const auto& [width, height, depth, batch] : {std::tuple{1, 1, 1, 1},
                                                        {7, 3, 1, 70},
                                                        {701, 83, 2, 3},
                                                        {24, 4004, 1, 1}}) {  // rows joined, in parts
        c.grids.size = {static_cast<std::size_t>(width), static_cast<std::size_t>(height),
                        static_cast<std::size_t>(depth)};
        c.grids.batch = static_cast<std::size_t>(batch);
        c.grids.gaps = depth == 2;
        sweep.run(c);
      }
      ++turn;
    }
  }
  CHECK(sweep.ran() == 24);
}

TEST_CASE("pool: small whole planes, several of a group") {
  const smem::Context context;
  if (context.device().max_work_group < 64) return;
  test::PoolSweep sweep(context);
  std::size_t turn = 0;
  for (const auto& [width, height] :
       {std::pair<std::size_t, std::size_t>{1, 1}, {2, 3}, {7, 7}, {14, 14}, {33, 50}}) {
    PoolCase c;
    c.global = true;
    c.work_items = 64;
    c.op = turn % 2 == 0 ? PoolOp::average : PoolOp::max;
    c.grids.in = turn % 3 == 0 ? Scalar::uint8 : turn % 3 == 1 ? Scalar::half : Scalar::float32;
    c.grids.out = c.grids.in;
    c.grids.size = {width, height, 1};
    for (const std::size_t channels : {1, 3}) {
      c.grids.channels = channels;
      for (const std::size_t batch : {1, 29, 64}) {  // the last group has teams without a plane, or none
        c.grids.batch = batch;
        c.grids.gaps = batch == 29;
        sweep.run(c);
      }
    }
    ++turn;
  }
  CHECK(sweep.ran() == 30);
}

TEST_CASE("pool: bytes in pairs") {
  const smem::Context context;
  test::PoolSweep sweep(context);
  for (const PoolOp op : {PoolOp::max, PoolOp::average}) {
    PoolCase c;
    c.op = op;
    c.grids.in = c.grids.out = Scalar::uint8;
    c.grids.gaps = op == PoolOp::max;
    for (const std::size_t width : {63, 64, 131, 1001}) {
      c.grids.size = {width, 19};
      // Windows beyond the right edge and the lower one; counts that are powers of two, and others.
      for (const Pooling& windows : {Pooling{{2, 2}, {2, 2}}, Pooling{{2, 3}, {2, 3}, {0, 1, 1, 2}},
                                     Pooling{{2, 8}, {2, 1}, {0, 7, 0, 0}},
                                     Pooling{{2, 2}, {2, 2}, {0, 1, 1, 1}, false}, Pooling{{4, 4}, {4, 4}}}) {
        c.windows = windows;
        sweep.run(c);
      }
    }
  }
  CHECK(sweep.ran() == 40);
}

TEST_CASE("pool: windows and strides that are longer than what a thread of a CPU reads at once") {
  const smem::Context context;
  test::PoolSweep sweep(context);
  for (const PoolOp op : {PoolOp::max, PoolOp::average}) {
    PoolCase c;
    c.op = op;
    c.grids.in = c.grids.out = Scalar::half;
    c.grids.channels = op == PoolOp::max ? 2 : 1;
    c.grids.size = {3001, 3};
    for (const Pooling& windows : {Pooling{{1300, 2}, {2, 1}, {700, 0, 9, 0}},
                                   Pooling{{3, 2}, {2, 1}, {2, 0, 2, 0}}, Pooling{{7, 1}, {700, 2}}}) {
      c.windows = windows;
      sweep.run(c);
    }
  }
  CHECK(sweep.ran() == 6);
}

TEST_CASE("pool: places of the greatest") {
  const smem::Context context;
  constexpr std::size_t kWidth = 37, kHeight = 21, kChannels = 2;
  const Pooling windows = Pooling::square(3, 2, 1);
  std::vector<float> host(kWidth * kHeight * kChannels);
  test::Random random(3);
  for (float& v : host)
    v = random.chance(9) ? NAN : static_cast<float>(random.between(0, 5));  // equal ones, too
  for (std::size_t i = 0; i < 3 * kWidth * kChannels; ++i)
    host[i] = NAN;
  for (std::size_t i = host.size() - 5 * kWidth * kChannels; i < host.size(); ++i)
    host[i] = -INFINITY;
  const smem::Array<float> in(context, host);
  const std::size_t across = windows.across(kWidth), down = windows.down(kHeight);
  for (const char* variant : {"windows", "cpu"}) {
    if (!test::always_runs(context.device(), variant)) continue;
    const smem::Array<float> out(context, smem::Count{across * down * kChannels});
    const smem::Array<std::uint32_t> places(context, smem::Count{across * down * kChannels});
    const smem::GridLayout layout{.channels = kChannels};
    smem::max_pool2d(context, in.grid({kWidth, kHeight}, layout), out.grid({across, down}, layout),
                     places.grid({across, down}, layout), windows, {.variant = variant});
    const std::vector<float> got = out.to_host();
    const std::vector<std::uint32_t> at = places.to_host();
    std::size_t wrong = 0;
    for (std::size_t y = 0; y < down; ++y) {
      for (std::size_t x = 0; x < across; ++x) {
        for (std::size_t c = 0; c < kChannels; ++c) {
          float best = 0;
          std::size_t place = SIZE_MAX;
          for (std::size_t j = y * 2; j < y * 2 + 3; ++j) {
            for (std::size_t i = x * 2; i < x * 2 + 3; ++i) {
              if (j < 1 || i < 1 || j > kHeight || i > kWidth) continue;
              const std::size_t cell = (j - 1) * kWidth + i - 1;
              const float v = host[cell * kChannels + c];
              if (place == SIZE_MAX || v > best || (std::isnan(v) && !std::isnan(best)))
                best = v, place = cell;
            }
          }
          const std::size_t r = (y * across + x) * kChannels + c;
          const bool same = got[r] == best || (std::isnan(got[r]) && std::isnan(best));
          wrong += same && at[r] == place ? 0 : 1;
        }
      }
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("pool: a NaN is greater than every number, in every variant") {
  const smem::Context context;
  constexpr std::size_t kWidth = 64, kHeight = 36;
  std::vector<float> host(kWidth * kHeight);
  test::Random random(4);
  for (float& v : host)
    v = random.chance(20) ? NAN : random.chance(9) ? INFINITY : static_cast<float>(random.between(0, 5));
  const smem::Array<float> in(context, host);
  std::vector<float> expected(kWidth * kHeight / 6);
  for (std::size_t r = 0; r < expected.size(); ++r) {
    const std::size_t x = r % (kWidth / 2) * 2, y = r / (kWidth / 2) * 3;
    expected[r] = -INFINITY;
    for (std::size_t i = 0; i < 6; ++i) {
      const float v = host[(y + i / 2) * kWidth + x + i % 2];
      if (std::isnan(v) || v > expected[r]) expected[r] = std::isnan(expected[r]) ? NAN : v;
    }
  }
  const auto same = [](float a, float b) { return a == b || (std::isnan(a) && std::isnan(b)); };
  const smem::Array<float> out(context, smem::Count{expected.size()}), one(context, smem::Count{1});
  std::size_t ran = 0;
  for (const std::string_view variant : smem::pool_variants()) {
    try {
      smem::max_pool2d(context, in.grid({kWidth, kHeight}), out.grid({kWidth / 2, kHeight / 3}),
                       Pooling{{2, 3}, {2, 3}}, {.variant = std::string(variant)});
    } catch (const smem::Error& error) {
      CHECK(error.details().argument == "variant");
      continue;
    }
    const std::vector<float> got = out.to_host();
    CAPTURE(variant);
    CHECK(std::equal(got.begin(), got.end(), expected.begin(), same));
    ++ran;
  }
  CHECK(ran >= 2);
  smem::global_max_pool(context, in.grid({kWidth, kHeight}), one.grid({1, 1}));
  CHECK(std::isnan(one.to_host()[0]));
}

TEST_CASE("pool: means of integers as floats are exact") {
  const smem::Context context;
  constexpr std::size_t kWidth = 300, kHeight = 257;  // whose sum a float does not hold
  std::vector<std::uint16_t> host(kWidth * kHeight, 65003);
  const smem::Array<std::uint16_t> in(context, host);
  const smem::Array<float> out(context, smem::Count{1});
  smem::global_avg_pool(context, in.grid({kWidth, kHeight}), out.grid({1, 1}));
  CHECK(out.to_host()[0] == 65003);
}

TEST_CASE(
    "pool: integers in narrow lanes, whose sums 16 bits just hold, and windows two cells apart of every "
    "channel") {
  const smem::Context context;
  test::PoolSweep sweep(context);
  std::size_t turn = 0;
  for (const Pooling& windows : {Pooling::square(2), Pooling::square(3, 2, 1), Pooling::square(1),
                                 Pooling::square(16, 3, 7), Pooling{{17, 16}, {1, 2}}}) {
    for (const Scalar type : {Scalar::uint8, Scalar::uint16, Scalar::float32}) {
      PoolCase c;
      c.windows = windows;
      c.grids.in = c.grids.out = type;
      c.grids.size = {331, 19};
      c.grids.channels = 1 + turn++ % 4;
      c.grids.gaps = type == Scalar::uint16;
      c.op = type == Scalar::uint8 ? PoolOp::average : PoolOp::max;
      sweep.run(c);
    }
  }
  CHECK(sweep.ran() == 15);
  constexpr std::size_t kWidth = 400, kHeight = 18;
  const smem::Array<std::uint8_t> in(context, std::vector<std::uint8_t>(kWidth * kHeight, 255));
  for (const std::size_t size : {1, 2, 7, 16, 18}) {
    const Pooling windows = Pooling::square(size, 1);
    const std::size_t width = windows.across(kWidth), height = windows.down(kHeight);
    const smem::Array<std::uint8_t> out(context, smem::Count{width * height});
    smem::avg_pool2d(context, in.grid({kWidth, kHeight}), out.grid({width, height}), windows);
    CHECK(out.to_host() == std::vector<std::uint8_t>(width * height, 255));
  }
}

TEST_CASE("pool: nothing to do") {
  const smem::Context context;
  const smem::Array<float> array(context, smem::Count{4});
  CHECK(smem::max_pool2d(context, array.grid({1, 1}), array.grid({0, 0}))() != nullptr);
  CHECK(smem::avg_pool2d(context, array.grid({0, 0}), array.grid({0, 0}))() != nullptr);
}

TEST_CASE("bad input of pooling") {
  const smem::Context context;
  const smem::Array<float> in(context, std::vector<float>(100, 1.0F));
  const std::vector<float> poison(100, 7.0F);
  const smem::Array<float> out(context, poison);
  const smem::Array<std::uint32_t> places(context, smem::Count{100});
  const auto from = in.grid({10, 10}), to = out.grid({5, 5});
  using test::failure_of;
  auto error = failure_of([&] { smem::max_pool2d(context, from, to, Pooling{{2, 2}, {0, 2}}); });
  CHECK(error.operation == "max_pool2d");
  CHECK(error.argument == "pooling");
  CHECK(error.got == "0");
  CHECK(failure_of([&] {
          smem::max_pool2d(context, from, to, Pooling{{0, 2}, {2, 2}});
        }).argument == "pooling");
  error = failure_of([&] { smem::avg_pool2d(context, from, to, Pooling::square(2, 2, 2)); });
  CHECK(error.expected == "paddings of less than 2, the window");
  error = failure_of([&] { smem::max_pool2d(context, from, out.grid({5, 4})); });
  CHECK(error.argument == "out");
  CHECK(error.expected == "5 x 5 x 1 cells of 1 channels, batch 1");
  CHECK(failure_of([&] { smem::max_pool2d(context, from, in.grid({5, 5})); }).argument == "out");
  CHECK(failure_of([&] { smem::max_pool2d(context, from, to, places.grid({4, 5})); }).argument == "indices");
  CHECK(failure_of([&] {
          smem::max_pool2d(context, from, to, out.grid({5, 5}, {.offset = 50}));
        }).argument == "indices");
  CHECK(failure_of([&] { smem::max_pool2d(context, from, to, {}, {.variant = "nosuch"}); }).argument ==
        "variant");
  CHECK(failure_of([&] { smem::global_avg_pool(context, from, to); }).argument == "out");
  CHECK(failure_of([&] {
          smem::global_avg_pool(context, in.grid({0, 10}), out.grid({1, 1}));
        }).argument == "in");
  CHECK(out.to_host() == poison);
}
