// Medians and Sobel's slopes: every operation, variant and type against plain loops.
#include <smem/blur.hpp>
#include <smem/smem.hpp>

#include "support/blurs.hpp"
#include "support/broken.hpp"
#include "support/environment.hpp"
#include "support/failure.hpp"
#include "support/random.hpp"
#include "support/reduce_sweep.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

using smem::Boundary;
using smem::Scalar;
using test::always_runs;
using test::Blur;
using test::BlurCase;
using test::kBoundaries;

namespace {

/// Types of elements, and sizes of windows.
constexpr std::pair<Scalar, int> kKinds[] = {{Scalar::uint8, 3},  {Scalar::uint8, 5},  {Scalar::float32, 5},
                                             {Scalar::half, 3},   {Scalar::uint16, 3}, {Scalar::float64, 3},
                                             {Scalar::float32, 3}};

}  // namespace

TEST_CASE("blur: medians of every type, boundary and variant") {
  const smem::Context context;
  test::BlurSweep sweep(context);
  std::size_t turn = 0;
  for (const std::string_view variant : smem::window_variants()) {
    if (variant == "columns" || variant == "tiles" || variant == "march") continue;  // their own test, below
    // Each is a program to compile: half of them of each variant.
    for (const auto& [type, size] : kKinds) {
      ++turn;
      if (turn % 2 == 0) continue;
      BlurCase c;
      c.blur = Blur::median;
      c.variant = variant;
      c.grids.in = c.grids.out = type;
      c.grids.channels = 1 + turn / 2 % 4;
      c.grids.boundary = kBoundaries[turn / 2];
      c.grids.value = 3;
      c.size = static_cast<std::size_t>(size);
      c.grids.size = {77, 13};
      c.grids.gaps = turn % 4 == 1;
      c.grids.batch = 2;
      sweep.run(c);
      c.grids.size = {66, 9};
      sweep.run(c);
    }
    CHECK((sweep.ran() >= 6) == always_runs(context.device(), variant));
  }
}

TEST_CASE("blur: medians of integers on CPUs, by vectors of 16, 32 and 64 bytes") {
  std::size_t turn = 0;
  for (const std::size_t bytes : {16, 32, 64}) {
    const test::Variable clamp("SMEM_CLAMP", "vector=" + std::to_string(bytes));
    const smem::Context context;
    if (!test::has_cpu_variant(context.device())) return;
    CAPTURE(bytes);
    test::BlurSweep sweep(context);
    for (const Scalar type : {Scalar::uint8, Scalar::uint16}) {
      ++turn;
      BlurCase c;
      c.blur = Blur::median;
      c.variant = "cpu";
      c.grids.in = c.grids.out = type;
      c.grids.channels = turn % 2 == 0 ? 1 : 3;
      c.grids.boundary = kBoundaries[turn];
      c.grids.value = 3;
      c.size = turn % 3 == 0 ? 3 : 5;
      // Less than a vector, with the cells around it, one, a cell more, and several.
      for (const auto& [width, height] : {std::pair{5, 7}, {61, 3}, {64, 5}, {65, 9}, {200, 4}}) {
        c.grids.size = {static_cast<std::size_t>(width), static_cast<std::size_t>(height)};
        c.grids.gaps = width == 65;
        sweep.run(c);
      }
    }
    CHECK(sweep.ran() == 10);
  }
}

TEST_CASE("blur: medians by shared columns and by tiles") {
  const smem::Context context;
  for (const auto& [variant, size] : {std::pair{"columns", 5}, {"tiles", 5}, {"tiles", 3}}) {
    CAPTURE(size);
    test::BlurSweep sweep(context);
    std::size_t turn = 0;
    for (const Scalar type :
         {Scalar::uint8, Scalar::float32, Scalar::half, Scalar::uint16, Scalar::float64}) {
      BlurCase c;
      c.blur = Blur::median;
      c.variant = variant;
      c.grids.in = c.grids.out = type;
      if (type == Scalar::uint16 && size == 5) c.grids.out = Scalar::float32;
      c.grids.channels = turn % 2 == 0 ? 1 : 3;
      if (type == Scalar::uint16 && size == 3) c.grids.channels = 1;
      c.grids.boundary = kBoundaries[(turn + 5 - static_cast<std::size_t>(size)) % 7];
      c.grids.value = 3;
      c.size = static_cast<std::size_t>(size);
      c.grids.batch = 1 + turn % 2;
      // Rows of whole vectors, then others.
      for (const auto& [width, height] : {std::pair{72, 13}, {67, 9}}) {
        c.grids.size = {static_cast<std::size_t>(width), static_cast<std::size_t>(height)};
        c.grids.gaps = width == 67;
        sweep.run(c);
      }
      ++turn;
    }
    const std::size_t broken = test::is_broken(context.device(), "median_blur", variant, "half") ? 2 : 0;
    CHECK(sweep.ran() == (context.device().fp64 ? 10 : 8) - broken);
  }
  for (const char* variant : {"columns"})
    CHECK(test::failure_of([&] {
            const smem::Array<float> in(context, std::vector<float>(64)),
                out(context, std::vector<float>(64));
            smem::median_blur(context, in.grid({8, 8}), out.grid({8, 8}), 3, {}, {.variant = variant});
          }).argument == "variant");
}

// All sums of 0 and 1 that a window can have, at every place of a work-item's results; bands of one tile, of
// two and of all rows.
TEST_CASE("blur: medians by tiles of two numbers, in bands of 4, 8 and 100 rows") {
  const smem::Context context;
  constexpr std::size_t kWidth = 256, kHeight = 100;
  std::vector<unsigned char> cells(kWidth * kHeight);
  test::Random random(7);
  // Of every row of squares another share of ones, around one half.
  for (std::size_t i = 0; i < cells.size(); ++i)
    cells[i] = random.between(0, 19) < 6 + i / kWidth / 10 ? 255 : 0;
  const smem::Array<unsigned char> in(context, cells);
  for (const std::size_t size : {3, 5}) {
    std::vector<std::vector<unsigned char>> made;
    for (const smem::PlanOverrides& fixed : {smem::PlanOverrides{.variant = "registers"},
                                             smem::PlanOverrides{.variant = "tiles", .tile_rows = 4},
                                             smem::PlanOverrides{.variant = "tiles", .tile_rows = 8},
                                             smem::PlanOverrides{.variant = "tiles", .tile_rows = 100}}) {
      const smem::Array<unsigned char> out(context, std::vector<unsigned char>(cells.size(), 77));
      smem::median_blur(context, in.grid({kWidth, kHeight}), out.grid({kWidth, kHeight}), size, {},
                        {.overrides = &fixed});
      made.push_back(out.to_host());
    }
    for (std::size_t i = 1; i < made.size(); ++i)
      CHECK(made[i] == made[0]);
  }
}

TEST_CASE("blur: Sobel's slopes and their magnitude") {
  const smem::Context context;
  test::BlurSweep sweep(context);
  std::size_t turn = 0;
  for (const Blur what : {Blur::across, Blur::down, Blur::magnitude}) {
    for (const auto& [in, out] : {std::pair{Scalar::uint8, Scalar::int16},
                                  {Scalar::uint8, Scalar::uint8},
                                  {Scalar::float32, Scalar::float32}}) {
      for (const std::size_t size : {3, 5}) {
        BlurCase c;
        c.blur = what;
        c.grids.in = in;
        c.grids.out = out;
        c.grids.channels = in == Scalar::uint8 ? 3 : 1;
        c.grids.boundary = what == Blur::magnitude ? kBoundaries[turn % 7] : Boundary::mirror;
        if (what == Blur::magnitude && turn % 2 == 0) {  // each is a program
          ++turn;
          continue;
        }
        c.size = size;
        c.grids.size = {90, 11};
        sweep.run(c);
        if (what == Blur::magnitude && in == out) {
          c.variant = "registers";
          sweep.run(c);
        }
        ++turn;
      }
    }
  }
  CHECK(sweep.ran() >= 16);
}

TEST_CASE("blur: magnitudes down bands of rows, every type, boundary and number of channels") {
  const smem::Context context;
  test::BlurSweep sweep(context);
  std::size_t turn = 0;
  for (const auto& [type, size] : kKinds) {
    BlurCase c;
    c.blur = Blur::magnitude;
    c.variant = "march";
    c.grids.in = c.grids.out = type;
    c.grids.channels = turn < 2 ? 1 : 1 + turn % 4;
    c.grids.boundary = kBoundaries[turn];
    c.grids.value = 3;
    c.size = static_cast<std::size_t>(size);
    c.grids.batch = 2;
    // Rows of whole vectors, and of none; a band and more; a few cells.
    for (const auto& [width, height] : {std::pair{64, 13}, {77, 70}, {6, 2}, {1, 1}}) {
      c.grids.size = {static_cast<std::size_t>(width), static_cast<std::size_t>(height)};
      c.grids.gaps = width == 77;
      sweep.run(c);
    }
    ++turn;
  }
  CHECK(sweep.ran() >= 24);
}

namespace {

// Rounding of roots: rows of ever larger numbers have slopes of all sizes. \returns the results that are
// seen.
template <class T>
std::vector<bool> check_magnitudes(const smem::Context& context, std::size_t size, unsigned step,
                                   const char* variant) {
  constexpr std::size_t kWidth = 500, kHeight = 400;
  constexpr long kMost = std::numeric_limits<T>::max();
  constexpr std::array<int, 5> kSlope[] = {{0, -1, 0, 1, 0}, {-1, -2, 0, 2, 1}};
  constexpr std::array<int, 5> kSmooth[] = {{0, 1, 2, 1, 0}, {1, 4, 6, 4, 1}};
  std::vector<T> cells(kWidth * kHeight);
  test::Random random(11);
  for (std::size_t i = 0; i < cells.size(); ++i)
    cells[i] = static_cast<T>(random.between(0, (1 + i / kWidth / 2) * step));
  const smem::Array<T> in(context, cells), out(context, std::vector<T>(cells.size(), 77));
  smem::sobel(context, in.grid({kWidth, kHeight}), out.grid({kWidth, kHeight}), {.size = size}, {},
              {.variant = variant});
  const std::vector<T> made = out.to_host();
  const auto& slope = kSlope[size / 5];
  const auto& smooth = kSmooth[size / 5];
  std::vector<bool> seen(static_cast<std::size_t>(kMost) + 1);
  std::size_t wrong = 0;
  for (std::size_t y = 2; y + 2 < kHeight; ++y) {
    for (std::size_t x = 2; x + 2 < kWidth; ++x) {
      int across = 0, down = 0;
      for (std::size_t j = 0; j < 5; ++j) {
        for (std::size_t i = 0; i < 5; ++i) {
          const int cell = cells[(y + j - 2) * kWidth + x + i - 2];
          across += smooth[j] * slope[i] * cell;
          down += slope[j] * smooth[i] * cell;
        }
      }
      const long nearest = std::min(std::lround(std::hypot(across, down)), kMost);
      wrong += made[y * kWidth + x] != nearest;
      seen[static_cast<std::size_t>(nearest)] = true;
    }
  }
  CHECK(wrong == 0);
  return seen;
}

}  // namespace

TEST_CASE("blur: magnitudes of integers are the nearest integers") {
  const smem::Context context;
  for (const std::size_t size : {3, 5}) {
    for (const char* variant : {"", "registers", "march"}) {
      const std::vector<bool> bytes = check_magnitudes<unsigned char>(context, size, 1, variant);
      CHECK(std::count(bytes.begin(), bytes.end(), true) > (size == 3 ? 255 : 200));
      const std::vector<bool> words = check_magnitudes<unsigned short>(context, size, 60, variant);
      CHECK(std::count(words.begin(), words.end(), true) > 20000);
    }
  }
}
