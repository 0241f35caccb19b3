// Histograms: every variant, rule and type against plain loops.
#include <smem/smem.hpp>

#include "support/failure.hpp"
#include "support/histograms.hpp"
#include "support/large_buffer.hpp"
#include "support/reduce_sweep.hpp"
#include "support/sweep.hpp"
#include "support/variants.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

using smem::Outside;
using smem::Scalar;
using test::HistogramCase;
using test::Spread;

namespace {

constexpr Spread kSpreads[] = {Spread::uniform, Spread::equal, Spread::zipf, Spread::special};

/// Sizes around packs, blocks and tiles, at different places in the buffer.
void every_size(test::HistogramSweep& sweep, HistogramCase c) {
  std::size_t turn = 0;
  for (const std::size_t size : {0, 1, 2, 15, 63, 64, 65, 509, 8191, 8193, 99991, 300007}) {
    c.cols = size;
    c.layout.extent.offset = turn % 5;
    c.layout.tail = turn % 3;
    c.out_offset = turn % 4;
    c.spread = kSpreads[turn % 4];
    c.outside = turn % 3 == 0 ? Outside::clamp : Outside::drop;
    sweep.run(c);
    ++turn;
  }
}

}  // namespace

TEST_CASE("histogram: every variant on floats, bytes and int32, of every size") {
  const smem::Context context;
  test::HistogramSweep sweep(context);
  for (const std::string_view variant : smem::histogram_variants()) {
    for (const Scalar type : {Scalar::float32, Scalar::uint8, Scalar::int32}) {
      HistogramCase c;
      c.in = type;
      c.variant = variant;
      std::tie(c.low, c.high) = test::bounds_for(type);
      if (type == Scalar::uint8) c.low = 0, c.high = 256;  // a bin for each value
      every_size(sweep, c);
      CHECK((sweep.ran() == 12) == test::always_runs(context.device(), variant));
    }
  }
}

TEST_CASE("histogram: every type, with even bins and a bin for each value") {
  const smem::Context context;
  test::HistogramSweep sweep(context);
  for (const Scalar type : test::kScalars) {
    for (const char* variant : {"replicated", "cpu"}) {
      if (type == Scalar::float32 || type == Scalar::int32 || !test::always_runs(context.device(), variant))
        continue;
      if (type == Scalar::float64 && !context.device().fp64) continue;
      // Each is a program to compile: half of them on a CPU's variant.
      if (variant == std::string("cpu") && static_cast<int>(type) % 2 == 0) continue;
      HistogramCase c;
      c.in = type;
      c.variant = variant;
      c.cols = 40009;
      c.bins = 100;
      c.out = size_of(type) == 8 ? Scalar::uint64 : Scalar::uint32;
      std::tie(c.low, c.high) = test::bounds_for(type);
      for (const Spread spread : kSpreads) {
        c.spread = spread;
        c.outside = spread == Spread::zipf ? Outside::clamp : Outside::drop;
        sweep.run(c);
      }
      if (size_of(type) == 8 && !is_float(type)) {  // the whole range, and one that needs the correction
        c.low = smem::is_signed(type) ? -0x1p63 : 0;
        c.high = c.low + 0x1p64;
        sweep.run(c);
        c.low = 0;
        c.high = 0x1p62 + 0x1p20;
        sweep.run(c);
        c.spread = Spread::uniform;
        sweep.run(c);
      }
      CHECK(sweep.ran() > 3);
    }
  }
}

TEST_CASE("histogram: from 1 bin to 2^20, in every variant, whatever the data") {
  const smem::Context context;
  test::HistogramSweep sweep(context);
  for (const std::string_view variant : smem::histogram_variants()) {
    for (const std::size_t bins : {1, 2, 3, 255, 256, 257, 4096, 65536, 1 << 20}) {
      // Each costs a compiler a second: those of the sizes that differ.
      if (variant == "replicated" && bins == 257) continue;
      for (const Spread spread : kSpreads) {
        HistogramCase c;
        c.variant = variant;
        c.bins = bins;
        std::tie(c.low, c.high) = test::bounds_for(c.in);
        c.spread = spread;
        c.outside = bins % 2 == 0 ? Outside::drop : Outside::clamp;
        c.cols = 70001;
        sweep.run(c);
      }
    }
    const std::size_t ran = sweep.ran();
    if (variant == "global" || variant == "local") CHECK(ran == 36);
    CHECK((ran > 0) == test::always_runs(context.device(), variant));
  }
}

TEST_CASE("histogram: values with the width of a bin below and above one, and bins narrower than integers") {
  const smem::Context context;
  test::HistogramSweep sweep(context);
  for (const char* variant : {"replicated", "cpu"}) {
    HistogramCase c;
    c.in = Scalar::int32;
    c.variant = variant;
    c.cols = 20011;
    c.spread = Spread::special;
    for (const auto& [bins, low, high] :
         {std::tuple<std::size_t, double, double>{100, -50, 50},  // a bin for each
          {100, -2147483648.0, 2147483648.0},
          {100, -2147483648.0, -2147483647.0},
          {100, 2147483647.0, 2147483648.0},
          {100, 0, 7},
          {7, 0, 1048576},
          {7, 0, 1048577}}) {
      c.bins = bins;
      c.low = low;
      c.high = high;
      sweep.run(c);
    }
    CHECK((sweep.ran() == 7) == test::always_runs(context.device(), variant));
  }
}

TEST_CASE("histogram: pitches, batches and channels") {
  const smem::Context context;
  test::HistogramSweep sweep(context);
  for (const auto& [variant, channels] : {std::pair<const char*, std::size_t>{"replicated", 1},
                                          {"replicated", 3},
                                          {"cached", 2},
                                          {"global", 4},
                                          {"cpu", 1},
                                          {"cpu", 3},
                                          {"cpu", 4}}) {
    if (!test::always_runs(context.device(), variant)) continue;
    HistogramCase c;
    c.in = Scalar::uint8;
    c.variant = variant;
    c.high = 256;
    c.channels = channels;
    const auto run = [&](std::size_t rows, std::size_t pixels, const test::Layout& layout) {
      c.rows = rows;
      c.cols = pixels * c.channels;
      c.layout = layout;
      c.out_offset = (rows + pixels) % 3;
      sweep.run(c);
    };
    for (const auto& [rows, pixels] : {test::Shape{1, 1}, {0, 4}, {5, 0}, {3, 7}, {101, 331}})
      run(rows, pixels, test::packed(2));
    for (const auto& [rows, pixels] : {test::Shape{37, 53}, {2, 9001}, {9001, 2}}) {
      run(rows, pixels, test::strided(rows, pixels * c.channels, 3));
      c.spread = Spread::equal;
      run(rows, pixels, test::aligned(rows, pixels * c.channels, 1));
      c.spread = Spread::zipf;
    }
    CHECK(sweep.ran() == 11);
  }
}

TEST_CASE("histogram: custom edges") {
  const smem::Context context;
  test::HistogramSweep sweep(context);
  for (const auto& [variant, type] : {std::pair<const char*, Scalar>{"local", Scalar::float32},
                                      {"cpu", Scalar::float32},
                                      {"replicated", Scalar::int16},
                                      {"cpu", Scalar::half},
                                      {"cpu", Scalar::uint64}}) {
    HistogramCase c;
    c.in = type;
    c.edges = true;
    c.variant = variant;
    std::tie(c.low, c.high) = test::bounds_for(type);
    c.cols = 30011;
    for (const std::size_t bins : {1, 2, 100, 255}) {
      c.bins = bins;
      c.outside = bins == 2 ? Outside::clamp : Outside::drop;
      for (const Spread spread : {Spread::uniform, Spread::special}) {
        c.spread = spread;
        sweep.run(c);
      }
    }
    CHECK((sweep.ran() == 8) == test::always_runs(context.device(), variant));
  }
}

TEST_CASE("histogram: calls that return the counts") {
  const smem::Context context;
  const smem::Array<std::uint8_t> bytes(context, {1, 2, 2, 255, 0, 1});
  std::vector<std::uint64_t> expected(256);
  expected[0] = expected[255] = 1;
  expected[1] = expected[2] = 2;
  CHECK(smem::histogram(context, bytes, smem::Bins::of_values()) == expected);
  // Two channels.
  smem::Bins bins = smem::Bins::even(2, 0, 4);
  bins.channels = 2;
  CHECK(smem::histogram(context, bytes.matrix(1, 6), bins) == std::vector<std::uint64_t>{2, 1, 1, 1});
  const smem::Array<float> values(context, {0.5F, 1.0F, 1.5F, 3.0F});
  const smem::Array<float> edges(context, {0.0F, 1.0F, 3.0F});
  CHECK(smem::histogram(context, values, smem::Bins::between(edges.vector())) ==
        std::vector<std::uint64_t>{1, 2});
  CHECK(smem::histogram(context, values, smem::Bins::between(edges.vector(), Outside::clamp)) ==
        std::vector<std::uint64_t>{1, 3});
  CHECK(smem::histogram(context, values.vector(0, 0), smem::Bins::even(3, 0, 1)) ==
        std::vector<std::uint64_t>{0, 0, 0});
}

TEST_CASE("histogram: waits for the events it is given") {
  const smem::Context context;
  const smem::Array<std::uint8_t> in(context, std::vector<std::uint8_t>(1000, 3));
  const smem::Array<std::uint32_t> out(context, std::vector<std::uint32_t>(256, 7));
  cl::UserEvent gate(context.cl_context());
  const std::vector<cl::Event> events{gate};
  const cl::Event done =
      smem::histogram(context, in.vector(), out.vector(), smem::Bins::of_values(), {.wait_for = events});
  CHECK(done.getInfo<CL_EVENT_COMMAND_EXECUTION_STATUS>() != CL_COMPLETE);
  gate.setStatus(CL_COMPLETE);
  done.wait();
  CHECK(out.to_host()[3] == 1000);
  CHECK(out.to_host()[4] == 0);
}

TEST_CASE("histogram: overrides and plans") {
  const smem::Context context;
  const smem::Array<float> in(context, std::vector<float>(5000, 0.5F));
  const smem::Array<std::uint32_t> out(context, smem::Count{10});
  const smem::Bins bins = smem::Bins::even(10, 0, 1);
  const smem::PlanOverrides fixed{.variant = "local", .work_items = 32};
  smem::HistogramProblem problem;
  problem.bins = 10;
  problem.cols = 5000;
  const smem::Plan plan = smem::plan_histogram(context.device(), problem, fixed);
  CHECK(plan.work_items() == 32);
  smem::histogram(context, in.vector(), out.vector(), bins, {.overrides = &fixed});
  CHECK(out.to_host()[5] == 5000);
  smem::histogram(context, in.vector(), out.vector(), bins, {.plan = &plan});
  CHECK(out.to_host()[5] == 5000);
  smem::Plan other = plan;
  other.work_group[0] = 64;
  CHECK(test::failure_of([&] {
          smem::histogram(context, in.vector(), out.vector(), bins, {.plan = &other});
        }).argument == "plan");
}

TEST_CASE("large: a histogram of more than 2^31 elements") {
  const smem::Context context;
  const smem::Device& device = context.device();
  // Where there is room, more than 32 bits can count in one bin.
  const std::size_t most = (std::size_t{1} << 32) + 4099;
  const std::size_t size =
      device.max_allocation >= most && device.global_bytes >= 2 * most ? most : (std::size_t{1} << 31) + 4099;
  const auto room = test::large_buffer(context, size, size + (size >> 3));
  if (!room) return;
  const cl::Buffer& buffer = *room;
  test::fill_words(context, buffer, size, 9);
  const std::vector<std::uint8_t> tail{200, 9, 200, 9, 201};
  REQUIRE(clEnqueueWriteBuffer(context.queue()(), buffer(), CL_TRUE, size - tail.size(), tail.size(),
                               tail.data(), 0, nullptr, nullptr) == CL_SUCCESS);
  std::vector<std::uint64_t> expected(256);
  expected[9] = size - 3;
  expected[200] = 2;
  expected[201] = 1;
  CHECK(smem::histogram(context, smem::VectorView<std::uint8_t>(buffer, size), smem::Bins::of_values()) ==
        expected);
  // A small matrix whose rows lie far apart.
  const smem::MatrixView<std::uint8_t> far(buffer, 2, 5, {.offset = 0, .pitch = size - 5});
  std::vector<std::uint64_t> few(256);
  few[9] = 7;
  few[200] = 2;
  few[201] = 1;
  CHECK(smem::histogram(context, far, smem::Bins::of_values()) == few);
}
