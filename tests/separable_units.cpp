// Separable filters of halves and integers of 16 bits by matrix units, against plain loops.
#include <smem/smem.hpp>

#include "support/broken.hpp"
#include "support/failure.hpp"
#include "support/reduce_sweep.hpp"
#include "support/separables.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <tuple>
#include <vector>

using smem::Boundary;
using smem::Scalar;
using test::SeparableCase;

namespace {

struct Filter {
  Scalar in, out;
  Boundary boundary;
  std::size_t across, down, channels;
};

/// A grid with a middle that no edge touches and more than one strip and band, and one of few rows of an odd
/// number of elements.
std::size_t run_filter_of(test::SeparableSweep& sweep, const Filter& f) {
  SeparableCase c;
  c.variant = "units";
  c.grids.in = f.in, c.grids.out = f.out;
  c.grids.boundary = f.boundary;
  c.grids.channels = f.channels;
  c.grids.batch = f.channels == 3 ? 2 : 1;
  c.row_taps = f.across, c.column_taps = f.down;
  std::size_t count = 0;
  for (const auto& [width, height, aligned] : {std::tuple{72, 70, 0}, {21, 19, 16}}) {
    c.grids.size = {static_cast<std::size_t>(width), static_cast<std::size_t>(height)};
    c.grids.aligned = static_cast<std::size_t>(aligned);
    sweep.run(c);
    ++count;
  }
  return count;
}

constexpr std::size_t kWidth = 64, kHeight = 48;

/// Results by "units" of a grid with numbers that are not finite.
std::vector<smem::half> filtered(const smem::Context& context, const std::vector<smem::half>& numbers) {
  const std::vector<double> row{0.25, 0.5, 0.25}, column{0.5, 0.25, 0.25};
  const smem::Array<smem::half> in(context, numbers), out(context, smem::Count{numbers.size()});
  smem::separable(context, in.grid({kWidth, kHeight}), out.grid({kWidth, kHeight}), {row, column},
                  {.boundary = Boundary::clamp}, {.variant = "units"});
  return out.to_host();
}

}  // namespace

TEST_CASE("separable: halves and integers of 16 bits by matrix units") {
  const smem::Context context;
  test::SeparableSweep sweep(context);
  std::size_t asked = 0;
  for (const Filter& f : {Filter{Scalar::half, Scalar::half, Boundary::mirror, 15, 15, 1},
                          {Scalar::uint16, Scalar::uint16, Boundary::wrap, 4, 18, 1},
                          {Scalar::half, Scalar::half, Boundary::leave, 3, 1, 3},
                          {Scalar::uint16, Scalar::uint16, Boundary::zero, 33, 2, 1}})
    asked += run_filter_of(sweep, f);
  CHECK(sweep.ran() == (test::is_broken(context.device(), "separable", "units") ? 0 : asked));
}

TEST_CASE("separable: numbers that are not finite reach the windows of halves that hold them alone") {
  const smem::Context context;
  if (test::is_broken(context.device(), "separable", "units")) return;
  std::vector<smem::half> finite(kWidth * kHeight);
  for (std::size_t i = 0; i < finite.size(); ++i)
    finite[i] = smem::half(static_cast<float>(i * i % 17) - 8);
  std::vector<smem::half> numbers = finite;
  const float infinity = std::numeric_limits<float>::infinity();
  numbers[0] = smem::half(infinity);
  numbers[20 * kWidth + 33] = smem::half(-infinity);
  numbers[40 * kWidth + 15] = smem::half(std::numeric_limits<float>::quiet_NaN());
  const std::vector<smem::half> wanted = filtered(context, finite), got = filtered(context, numbers);
  const auto expected = [&](std::size_t x, std::size_t y) {
    const auto near = [&](std::size_t at, std::size_t line) {
      return x + 1 >= at && x <= at + 1 && y + 1 >= line && y <= line + 1;
    };
    if (near(0, 0)) return infinity;
    if (near(33, 20)) return -infinity;
    return near(15, 40) ? std::numeric_limits<float>::quiet_NaN()
                        : static_cast<float>(wanted[y * kWidth + x]);
  };
  std::size_t wrong = 0;
  for (std::size_t y = 0; y < kHeight; ++y) {
    for (std::size_t x = 0; x < kWidth; ++x) {
      const float v = static_cast<float>(got[y * kWidth + x]), e = expected(x, y);
      wrong += v == e || (std::isnan(v) && std::isnan(e)) ? 0 : 1;
    }
  }
  CHECK(wrong == 0);
}
