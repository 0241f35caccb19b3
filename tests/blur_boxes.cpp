// Blurs by boxes: every variant and type against plain loops.
#include <smem/blur.hpp>
#include <smem/smem.hpp>

#include "support/blurs.hpp"
#include "support/environment.hpp"
#include "support/failure.hpp"
#include "support/turn.hpp"
#include "support/variants.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

using smem::Boundary;
using smem::Scalar;
using test::always_runs;
using test::BlurCase;
using test::kBoundaries;

namespace {

/// Whether the driver breaks the variant of box_blur for inputs of the type.
bool is_broken(const smem::Device& device, std::string_view variant, Scalar type) {
  return std::any_of(device.broken.begin(), device.broken.end(), [&](const smem::BrokenVariant& broken) {
    return broken.operation == "box_blur" && broken.variant == variant &&
           (broken.type.empty() || broken.type == smem::name_of(type));
  });
}

}  // namespace

TEST_CASE("blur: boxes of every size, boundary and variant") {
  const smem::Context context;
  test::BlurSweep sweep(context);
  for (const std::string_view variant : smem::box_variants()) {
    if (variant == "shuffle" || variant == "units") continue;  // for bytes alone, by tests of its own
    std::size_t ran = 0;
    for (const Boundary boundary : kBoundaries) {
      // Each is a program to compile, and for "march" each size of a box, too.
      const bool plain = variant == "separable" || variant == "two_pass";
      if (boundary != Boundary::constant && boundary != Boundary::leave &&
          (plain || (variant == "march" && boundary != Boundary::mirror)))
        continue;
      for (const auto& [width, height, size, down] :
           {std::tuple{1, 1, 1, 1}, {40, 7, 11, 3}, {129, 70, 17, 33}, {500, 90, 101, 25}}) {
        if (variant != "cpu" && boundary != Boundary::constant && size != 17) continue;
        if (variant == "march" && size == 11) continue;
        BlurCase c;
        c.variant = variant;
        c.grids.boundary = boundary;
        c.grids.value = 0.75;
        c.grids.size = {static_cast<std::size_t>(width), static_cast<std::size_t>(height)};
        c.grids.gaps = height % 2 == 1;
        c.size = static_cast<std::size_t>(size);
        c.down_size = static_cast<std::size_t>(down);
        sweep.run(c);
        ran += sweep.ran();
      }
    }
    CHECK((ran >= 5) == always_runs(context.device(), variant));
  }
}

TEST_CASE("blur: boxes of bytes at every boundary, of more rows than a box has") {
  const smem::Context context;
  if (!test::has_cpu_variant(context.device())) return;
  test::BlurSweep sweep(context);
  std::size_t turn = 0;
  for (const Boundary boundary : {Boundary::constant, Boundary::clamp, Boundary::mirror}) {
    BlurCase c;
    c.variant = "cpu";
    c.grids.in = c.grids.out = Scalar::uint8;
    c.grids.boundary = boundary;
    c.grids.value = 200;
    c.grids.size = {83, 141, 1};
    c.size = 39;  // both ends of every line lie beyond the image
    c.down_size = 7;
    sweep.run(c);
    ++turn;
  }
  CHECK(sweep.ran() == turn);
}

TEST_CASE("blur: boxes of every type, channels and batches") {
  const smem::Context context;
  test::BlurSweep sweep(context);
  std::size_t turn = 0;
  for (const std::string_view variant : smem::box_variants()) {
    if (variant == "separable" || variant == "shuffle" || variant == "units")
      continue;  // covered by their own tests
    std::size_t sound = 0;
    for (const auto& [in, out] : {std::pair{Scalar::uint8, Scalar::uint8},
                                  {Scalar::uint16, Scalar::uint16},
                                  {Scalar::half, Scalar::half},
                                  {Scalar::float64, Scalar::float64},
                                  {Scalar::uint8, Scalar::float32}}) {
      if (variant == "two_pass" && turn % 2 == 0) {
        ++turn;
        continue;
      }
      BlurCase c;
      c.variant = variant;
      c.grids.in = in;
      c.grids.out = out;
      c.grids.channels = 1 + turn % 4;
      c.grids.batch = 1 + turn % 2;
      c.grids.boundary = turn % 2 == 0 ? Boundary::mirror : Boundary::constant;
      c.grids.value = 200;
      c.grids.size = {83, 41, 2};
      c.grids.gaps = turn % 3 == 0;
      c.size = 19;
      c.down_size = 23;
      sweep.run(c);
      ++turn;
      const bool has_type = in != Scalar::float64 || context.device().fp64;
      sound += has_type && !is_broken(context.device(), variant, in) ? 1 : 0;
    }
    REQUIRE(sound > 0);
    CHECK((sweep.ran() >= std::min<std::size_t>(sound, 2)) == always_runs(context.device(), variant));
  }
}

TEST_CASE("blur: boxes whose sums need 64 bits, and boxes larger than strips") {
  const smem::Context context;
  test::BlurSweep sweep(context);
  for (const char* variant : {"two_pass", "cpu", "march"}) {
    if (!always_runs(context.device(), variant)) continue;
    BlurCase c;
    c.variant = variant;
    c.grids.in = c.grids.out = Scalar::uint16;
    c.grids.boundary = Boundary::clamp;
    c.grids.size = {300, 9};
    c.size = 301;
    c.down_size = 301;
    sweep.run(c);
  }
  // Of boxes so high, rows that leave are read again.
  for (const auto& [type, channels] : {std::pair{Scalar::float32, 1}, {Scalar::uint8, 3}}) {
    BlurCase c;
    c.variant = "march";
    c.grids.in = c.grids.out = type;
    c.grids.channels = static_cast<std::size_t>(channels);
    c.grids.boundary = Boundary::constant;
    c.grids.size = {150, 11};
    c.size = 17;
    c.down_size = 1501;
    sweep.run(c);
  }
  BlurCase c;  // the plan's own choice
  c.grids.boundary = Boundary::clamp;
  c.grids.size = {3, 2};
  c.size = 20001;
  c.down_size = 5;
  sweep.run(c);
  CHECK(sweep.ran() >= 5);
}

TEST_CASE("blur: boxes in two passes, of many chunks of rows and several tiles of columns") {
  // With little local memory rows that leave the boxes are read again.
  for (const char* limits : {"", "local=24K"}) {
    const test::Variable clamp("SMEM_CLAMP", limits);
    const smem::Context context;
    test::BlurSweep sweep(context);
    struct Box {
      Scalar type;
      Boundary boundary;
      std::size_t channels, width, height, across, down;
    };
    std::size_t turn = 0;
    // Boxes that whole chunks make up but for a row, or for a part of a chunk; those of one chunk; rows of
    // several tiles; chunks that reach farther beyond the edges than the rows reflected once.
    for (const Box& b : {Box{Scalar::float32, Boundary::mirror, 1, 70, 500, 33, 129},
                         {Scalar::uint8, Boundary::constant, 2, 50, 300, 5, 67},
                         {Scalar::float32, Boundary::clamp, 1, 70, 400, 7, 101},
                         {Scalar::uint8, Boundary::reflect, 1, 50, 300, 5, 127},
                         {Scalar::float32, Boundary::wrap, 1, 13000, 3, 401, 1},
                         {Scalar::float32, Boundary::reflect, 1, 40, 210, 3, 401},
                         {Scalar::uint16, Boundary::leave, 1, 13000, 11, 3001, 9}}) {
      BlurCase c;
      c.variant = "two_pass";
      c.grids.in = c.grids.out = b.type;
      c.grids.boundary = b.boundary;
      c.grids.value = 200;
      c.grids.channels = b.channels;
      c.grids.size = {b.width, b.height};
      c.size = b.across;
      c.down_size = b.down;
      sweep.run(c);
      ++turn;
    }
    CHECK(sweep.ran() == turn);
  }
}

TEST_CASE("blur: means of integers are exact, as floats too") {
  const smem::Context context;
  // Of boxes of 15 x 15 and 601 x 1001 elements, whose sums a float does not hold.
  for (const smem::BoxRadius& radius : {smem::BoxRadius(7), smem::BoxRadius(300, 500)}) {
    for (const std::string_view variant : smem::box_variants()) {
      if (variant == "shuffle" || variant == "units") continue;  // for results of bytes
      for (const Scalar type : {Scalar::uint8, Scalar::uint16}) {
        const bool large = radius.across > 7;
        if (large && variant == "march") continue;  // whose boxes are programs
        const std::size_t size = type == Scalar::uint8 ? 1 : 2;
        const unsigned most = type == Scalar::uint8 ? 255 : 39321;
        std::vector<std::uint16_t> numbers(40 * 9);
        for (std::size_t i = 0; i < numbers.size(); ++i)
          numbers[i] = static_cast<std::uint16_t>(i < 40 ? most : i * i * 7 % (most + 1));
        std::vector<unsigned char> bytes;
        for (const std::uint16_t number : numbers) {
          bytes.push_back(static_cast<unsigned char>(number & 255));
          if (size == 2) bytes.push_back(static_cast<unsigned char>(number >> 8));
        }
        const smem::Array<unsigned char> in(context, bytes);
        const smem::Array<float> out(context, smem::Count{40 * 9});
        const auto run = [&](std::size_t rows, std::size_t down) {
          smem::box_blur(context, smem::Grid(in.buffer()(), type, {40, rows}), out.grid({40, rows}),
                         {radius.across, down}, {.boundary = Boundary::clamp},
                         {.variant = std::string(variant)});
        };
        CAPTURE(variant);
        CAPTURE(smem::name_of(type));
        try {
          run(1, 0);
        } catch (const smem::Error& error) {
          REQUIRE(error.details().argument == "variant");
          CHECK((!always_runs(context.device(), variant) || (large && variant == "separable") ||
                 is_broken(context.device(), variant, type)));
          continue;
        }
        // Equal numbers: each is the mean.
        std::vector<float> got = out.to_host();
        CHECK(std::all_of(got.begin(), got.begin() + 40,
                          [&](float v) { return v == static_cast<float>(most); }));
        if (large && variant == "separable") continue;
        run(9, radius.down);
        got = out.to_host();
        std::size_t off = 0;
        for (long y = 0; y < 9; ++y) {
          for (long x = 0; x < 40; ++x) {
            std::uint64_t sum = 0;
            const auto across = static_cast<long>(radius.across), down = static_cast<long>(radius.down);
            for (long j = y - down; j <= y + down; ++j)
              for (long i = x - across; i <= x + across; ++i)
                sum += numbers[static_cast<std::size_t>(std::clamp(j, 0L, 8L) * 40 + std::clamp(i, 0L, 39L))];
            const auto area = static_cast<double>((2 * across + 1) * (2 * down + 1));
            const auto mean = static_cast<float>(static_cast<double>(sum) / area);
            off += got[static_cast<std::size_t>(y * 40 + x)] == mean ? 0 : 1;
          }
        }
        CHECK(off == 0);
      }
    }
  }
}

namespace {

constexpr std::size_t kWidth = 90, kHeight = 60;

/// Blurs by boxes of the radius, and counts the results that are not the mean of their own box.
std::size_t wrong_means(const smem::Context& context, const std::vector<float>& numbers,
                        std::string_view variant, std::size_t radius) {
  const smem::Array<float> in(context, numbers), out(context, smem::Count{numbers.size()});
  smem::box_blur(context, in.grid({kWidth, kHeight}), out.grid({kWidth, kHeight}), radius,
                 {.boundary = Boundary::clamp}, {.variant = std::string(variant)});
  const std::vector<float> got = out.to_host();
  const auto r = static_cast<long>(radius), right = static_cast<long>(kWidth) - 1,
             bottom = static_cast<long>(kHeight) - 1;
  std::size_t wrong = 0;
  for (long y = 0; y <= bottom; ++y) {
    for (long x = 0; x <= right; ++x) {
      double sum = 0;
      for (long j = y - r; j <= y + r; ++j)
        for (long i = x - r; i <= x + r; ++i)
          sum += static_cast<double>(numbers[static_cast<std::size_t>(
              std::clamp(j, 0L, bottom) * (right + 1) + std::clamp(i, 0L, right))]);
      const double mean = sum / static_cast<double>((2 * r + 1) * (2 * r + 1));
      const auto v = static_cast<double>(got[static_cast<std::size_t>(y * (right + 1) + x)]);
      if (sum > static_cast<double>(FLT_MAX) && v == INFINITY) continue;  // it may overflow
      const bool same = std::isfinite(mean) ? std::abs(v - mean) <= 1e-6 * std::max(1.0, std::abs(mean))
                                            : v == mean || (std::isnan(v) && std::isnan(mean));
      wrong += same ? 0 : 1;
    }
  }
  return wrong;
}

}  // namespace

TEST_CASE("blur: infinities and NaN reach the boxes that hold them alone") {
  const smem::Context context;
  std::vector<float> numbers(kWidth * kHeight), large(kWidth * kHeight);
  for (std::size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = static_cast<float>(i * i % 17) - 8;
  numbers[3 * kWidth + 5] = INFINITY;
  numbers[9 * kWidth + 70] = -INFINITY;
  numbers[11 * kWidth + 71] = INFINITY;
  numbers[40 * kWidth + 33] = NAN;
  large[20 * kWidth + 40] = large[21 * kWidth + 40] = large[30 * kWidth + 60] = large[30 * kWidth + 61] =
      3e38F;
  for (const std::string_view variant : smem::box_variants()) {
    if (!always_runs(context.device(), variant) || variant == "shuffle" || variant == "units") continue;
    CAPTURE(variant);
    CHECK(wrong_means(context, numbers, variant, 0) == 0);
    CHECK(wrong_means(context, numbers, variant, 2) == 0);
    CHECK(wrong_means(context, large, variant, 2) == 0);
  }
}

TEST_CASE("blur: boxes of bytes by shuffles") {
  const smem::Context context;
  test::BlurSweep sweep(context);
  BlurCase c;
  c.variant = "shuffle";
  c.grids.in = c.grids.out = Scalar::uint8;
  c.grids.value = 200;
  struct Window {
    Boundary boundary;
    std::size_t across, down, width, height, aligned, batch;
  };
  std::size_t expected = 0, turn = 0;
  // Each is a program, with shuffles emulated on CPUs one that takes seconds to compile: all but the first
  // take turns. Several strips and bands; sums of more than 23 bits, and of columns of 16; results that move
  // by whole work-items, or by less than one; rows of one vector, whose edges are many times as wide. Rows of
  // whole vectors take sums beyond their ends from the strip, others bytes.
  for (const Window& w : {Window{Boundary::mirror, 101, 25, 704, 130, 16, 1},
                          {Boundary::constant, 161, 257, 530, 40, 16, 1},
                          {Boundary::wrap, 31, 15, 512, 33, 0, 2},
                          {Boundary::leave, 3, 1, 400, 20, 0, 1},
                          {Boundary::reflect, 43, 41, 16, 7, 0, 1}}) {
    if (++turn != 1 && !test::has_turn(turn, 4)) continue;
    c.grids.boundary = w.boundary, c.grids.aligned = w.aligned, c.grids.batch = w.batch;
    c.size = w.across, c.down_size = w.down;
    c.grids.size = {w.width, w.height};
    sweep.run(c);
    ++expected;
  }
  CHECK(sweep.ran() == expected);
  const smem::Device& device = context.device();
  const auto refusal = [&](std::size_t across, std::size_t down, std::size_t alignment) {
    smem::SeparableProblem grids{.in = Scalar::uint8, .out = Scalar::uint8, .width = 1000, .height = 1000};
    grids.in_alignment = alignment;
    return test::failure_of([&] {
             smem::plan_box(device, smem::BoxProblem::of(grids, {across, down}), {.variant = "shuffle"});
           })
        .got;
  };
  CHECK(refusal(250, 3, 16).find("too large for a warp") != std::string::npos);
  CHECK(refusal(3, 129, 16).find("too large for a warp") != std::string::npos);
  CHECK(refusal(3, 3, 8).find("multiples of 16 bytes") != std::string::npos);
}
