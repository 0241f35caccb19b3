// Blurs of bytes by matrix units: every boundary, type of results and kind of window against plain loops.
#include <smem/blur.hpp>
#include <smem/smem.hpp>

#include "support/blurs.hpp"
#include "support/broken.hpp"
#include "support/failure.hpp"
#include "support/reduce_sweep.hpp"
#include "support/turn.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <vector>

using smem::Boundary;
using smem::Scalar;
using test::Blur;
using test::BlurCase;

namespace {

struct Window {
  Boundary boundary;
  std::size_t across, down, channels;
  double sigma;
  Scalar out;
};

/// Runs a window on grids with a middle that no edge touches and more than one strip and band, on one where
/// all blocks are at both edges and windows have many rows beyond them, on one of fewer columns than a load
/// has, and on one of odd columns. Returns how many.
std::size_t run_window(test::BlurSweep& sweep, BlurCase c, const Window& w) {
  c.size = w.across, c.down_size = w.down, c.sigma = w.sigma;
  c.grids.boundary = w.boundary, c.grids.out = w.out, c.grids.channels = w.channels;
  c.grids.batch = w.channels == 3 ? 2 : 1;
  std::size_t count = 0;
  for (const auto& [width, height, aligned] :
       {std::tuple{272, 100, 0}, {32, 5, 0}, {5, 33, 16}, {133, 48, 16}, {61, 17, 64}}) {
    c.grids.size = {static_cast<std::size_t>(width), static_cast<std::size_t>(height)};
    c.grids.aligned = static_cast<std::size_t>(aligned);
    sweep.run(c);
    ++count;
  }
  return count;
}

/// Runs windows by "units", unless this driver's fault refuses it.
void check_units(const smem::Context& context, Blur blur, const char* operation,
                 const std::vector<Window>& windows) {
  test::BlurSweep sweep(context);
  BlurCase c;
  c.blur = blur;
  c.variant = "units";
  c.grids.in = Scalar::uint8;
  c.grids.value = 200;
  std::size_t asked = 0;
  for (const Window& w : windows)
    asked += run_window(sweep, c, w);
  CHECK(sweep.ran() == (test::is_broken(context.device(), operation, "units") ? 0 : asked));
}

}  // namespace

TEST_CASE("blur: Gaussian of bytes by matrix units") {
  const smem::Context context;
  check_units(context, Blur::gaussian, "separable",
              {{Boundary::mirror, 5, 5, 1, 0, Scalar::uint8},
               {Boundary::constant, 15, 15, 1, 0, Scalar::uint8},
               {Boundary::wrap, 3, 7, 1, 1.3, Scalar::float32},
               {Boundary::leave, 9, 17, 1, 1.3, Scalar::uint8},
               {Boundary::zero, 33, 3, 1, 2.5, Scalar::uint8},
               {Boundary::mirror, 3, 21, 1, 2.5, Scalar::uint8},
               {Boundary::clamp, 5, 5, 3, 0, Scalar::uint8}});
  smem::Device device = context.device();
  device.broken.clear();
  const auto refusal = [&](std::size_t across, std::size_t down, std::size_t alignment) {
    smem::SeparableProblem grids{.in = Scalar::uint8, .out = Scalar::uint8, .width = 1000, .height = 1000};
    grids.in_alignment = alignment;
    grids.row_taps = across, grids.column_taps = down;
    grids.fixed_point = true;
    return test::failure_of([&] { smem::plan_separable(device, grids, {.variant = "units"}); }).got;
  };
  CHECK(refusal(115, 3, 64).find("reaches farther") != std::string::npos);
  CHECK(refusal(3, 115, 64).find("reaches farther") != std::string::npos);
  CHECK(refusal(3, 3, 8).find("multiples of 16 bytes") != std::string::npos);
}

TEST_CASE("blur: boxes of bytes by matrix units") {
  const smem::Context context;
  check_units(context, Blur::box, "box_blur",
              {{Boundary::mirror, 5, 5, 4, 0, Scalar::uint8},
               {Boundary::constant, 17, 17, 1, 0, Scalar::uint8},
               {Boundary::mirror, 101, 101, 1, 0, Scalar::uint8},
               {Boundary::reflect, 3, 1, 3, 0, Scalar::uint8},
               {Boundary::leave, 1, 1, 1, 0, Scalar::uint8},
               {Boundary::wrap, 7, 3, 2, 0, Scalar::uint8}});
}
