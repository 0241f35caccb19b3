// Stencils of bytes by matrix units: every boundary, number of channels and kind of window against plain
// loops; and which weights, windows and grids they are for.
#include <smem/smem.hpp>

#include "support/broken.hpp"
#include "support/failure.hpp"
#include "support/stencils.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

using smem::Boundary;
using smem::Scalar;
using smem::StencilShape;
using test::StencilCase;

namespace {

struct Window {
  Boundary boundary;
  std::size_t across, down, channels;
  StencilShape shape = StencilShape::box;
};

/// Runs a window on grids of more than one strip and band, of one load at both edges, and of rows that end
/// within a load. Returns how many.
std::size_t run_window(test::StencilSweep& sweep, const Window& w) {
  StencilCase c;
  c.type = Scalar::uint8;
  c.variant = "units";
  c.int8_weights = true;
  c.boundary = w.boundary, c.shape = w.shape;
  c.radius = {w.across, w.down};
  std::size_t count = 0;
  for (const auto& [width, height, batch] : {std::tuple{288, 35, 1}, {9, 9, 1}, {101, 11, 3}}) {
    c.size = {static_cast<std::size_t>(width), static_cast<std::size_t>(height)};
    c.in.channels = c.out.channels = w.channels;
    c.in.batch = c.out.batch = static_cast<std::size_t>(batch);
    const std::size_t row = c.size.width * w.channels;
    c.in.row_gap = (16 - row % 16) % 16 + (count % 2) * 16, c.in.offset = count % 2 * 64;
    c.out.row_gap = (4 - row % 4) % 4 + (count % 2) * 4, c.out.offset = count % 3 * 4;
    sweep.run(c);
    ++count;
  }
  return count;
}

}  // namespace

TEST_CASE("stencil: bytes by matrix units, every boundary") {
  const smem::Context context;
  test::StencilSweep sweep(context);
  std::size_t asked = 0;
  for (const Window& w : {Window{Boundary::clamp, 2, 2, 4},
                          {Boundary::zero, 1, 1, 1},
                          {Boundary::constant, 2, 3, 3},
                          {Boundary::reflect, 4, 1, 2},
                          {Boundary::wrap, 7, 2, 1},
                          {Boundary::leave, 1, 2, 4},
                          {Boundary::mirror, 8, 4, 1, StencilShape::star}})
    asked += run_window(sweep, w);
  const bool runs = !test::is_broken(context.device(), "stencil", "units") &&
                    (context.device().type == smem::DeviceType::cpu ||
                     smem::family_of(context.device()).starts_with("nvidia"));
  CHECK(sweep.ran() == (runs ? asked : 0));
}

TEST_CASE("stencil: weights that int8 holds") {
  const auto holds = [](const std::vector<double>& weights) { return smem::are_int8_weights(weights); };
  CHECK(holds({1, 2, 1}));
  CHECK(holds({0, 0}));
  CHECK(holds({-128, 127}));
  CHECK(holds({-0.5, 63.5, 0}));
  CHECK(holds({1.0 / 64, 2.0 / 64}));
  CHECK(!holds({-129, 1}));
  CHECK(!holds({128, 1}));
  CHECK(holds({128, 2}));  // 64 and 1 times 2
  CHECK(!holds({1.0 / 9, 2.0 / 9.1}));
  CHECK(!holds({0x1p-80}));
  CHECK(!holds({0x1p80}));
  CHECK(!holds({std::numeric_limits<double>::infinity(), 1}));
  CHECK(!holds({std::numeric_limits<double>::quiet_NaN()}));
  CHECK(holds(std::vector<double>(162, 101)));  // 162 * 101 * 255 is less than 2^22
  CHECK(!holds(std::vector<double>(163, 101)));
}

TEST_CASE("stencil: what matrix units are not for") {
  const smem::Context context;
  if (context.device().type != smem::DeviceType::cpu) return;
  const auto refusal = [&](const auto& change) {
    smem::StencilProblem problem = smem::stencil_problem(Scalar::uint8, {1000, 1000, 1}, {1, 1, 0});
    problem.int8_weights = true;
    change(problem);
    return test::failure_of([&] { smem::plan_stencil(context.device(), problem, {.variant = "units"}); }).got;
  };
  const auto has = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  CHECK(has(refusal([](auto& p) { p.int8_weights = false; }), "power of two"));
  CHECK(has(refusal([](auto& p) { p.type = Scalar::float32; }), "power of two"));
  CHECK(has(refusal([](auto& p) { p.window[0] = 19, p.first[0] = -9; }), "reaches farther"));
  CHECK(has(refusal([](auto& p) { p.window[1] = 11, p.first[1] = -5; }), "reaches farther"));
  CHECK(has(refusal([](auto& p) { p.in_alignment = 8; }), "multiples of 16"));
  CHECK(has(refusal([](auto& p) { p.out_alignment = 2; }), "multiples of 16"));
}
