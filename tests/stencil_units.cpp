// Stencils of bytes and of halves by matrix units: every boundary, number of channels and kind of window
// against plain loops; which weights, windows and grids they are for; that weights of halves have 22 bits,
// and that numbers which are not finite stay in their windows.
#include <smem/smem.hpp>

#include "support/broken.hpp"
#include "support/failure.hpp"
#include "support/stencils.hpp"

#include <doctest/doctest.h>

#include <cmath>
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
std::size_t run_window(test::StencilSweep& sweep, const Window& w, Scalar type = Scalar::uint8) {
  StencilCase c;
  c.type = type;
  c.variant = "units";
  c.int8_weights = true;
  c.boundary = w.boundary, c.shape = w.shape;
  c.radius = {w.across, w.down};
  std::size_t count = 0;
  for (const auto& [width, height, batch] : {std::tuple{288, 35, 1}, {9, 9, 1}, {101, 11, 3}}) {
    c.size = {static_cast<std::size_t>(width), static_cast<std::size_t>(height)};
    c.in.channels = c.out.channels = w.channels;
    c.in.batch = c.out.batch = static_cast<std::size_t>(batch);
    const std::size_t row = c.size.width * w.channels, load = type == Scalar::half ? 8 : 16, store = load / 4;
    c.in.row_gap = (load - row % load) % load + (count % 2) * load, c.in.offset = count % 2 * 64;
    c.out.row_gap = (store - row % store) % store + (count % 2) * store, c.out.offset = count % 3 * store;
    sweep.run(c);
    ++count;
  }
  return count;
}

bool runs_units(const smem::Context& context) {
  return !test::is_broken(context.device(), "stencil", "units") &&
         (context.device().type == smem::DeviceType::cpu ||
          smem::family_of(context.device()).starts_with("nvidia"));
}

constexpr std::size_t kColumns = 160, kLines = 50;

/// Three weights along rows.
std::vector<smem::half> summed(const smem::Context& context, const std::vector<smem::half>& numbers,
                               const std::vector<double>& weights) {
  const smem::Array<smem::half> in(context, numbers), out(context, smem::Count{numbers.size()});
  smem::Stencil what;
  what.radius = {1};
  what.edges.boundary = Boundary::clamp;
  what.weights = weights;
  smem::stencil(context, in.grid({kColumns, kLines}), out.grid({kColumns, kLines}), what,
                {.variant = "units"});
  return out.to_host();
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
  CHECK(sweep.ran() == (runs_units(context) ? asked : 0));
}

TEST_CASE("stencil: halves by matrix units, every boundary") {
  const smem::Context context;
  test::StencilSweep sweep(context);
  std::size_t asked = 0;
  for (const Window& w : {Window{Boundary::clamp, 3, 3, 1},
                          {Boundary::zero, 1, 2, 3},
                          {Boundary::constant, 2, 1, 2},
                          {Boundary::reflect, 1, 1, 4},
                          {Boundary::wrap, 4, 4, 1},
                          {Boundary::leave, 2, 2, 1},
                          {Boundary::mirror, 3, 4, 1, StencilShape::star}})
    asked += run_window(sweep, w, Scalar::half);
  CHECK(sweep.ran() == (runs_units(context) ? asked : 0));
}

TEST_CASE("stencil: weights of halves have 22 bits by matrix units") {
  const smem::Context context;
  if (!runs_units(context)) return;
  // What is left of large weights is in their second halves.
  constexpr float kRest = 0x1p-13F;
  const std::vector<smem::half> got =
      summed(context, std::vector<smem::half>(kColumns * kLines, smem::half(3.0F)), {-1, 1 + kRest, 0});
  for (const smem::half sum : got)
    REQUIRE(static_cast<float>(sum) == 3 * kRest);
}

TEST_CASE("stencil: numbers that are not finite reach the windows of halves that hold them alone") {
  const smem::Context context;
  if (!runs_units(context)) return;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  std::vector<smem::half> numbers(kColumns * kLines, smem::half(2.0F));
  numbers[0] = smem::half(kInfinity);
  numbers[20 * kColumns + 33] = smem::half(-kInfinity);
  numbers[40 * kColumns + 15] = smem::half(std::numeric_limits<float>::quiet_NaN());
  numbers[7 * kColumns + 100] = smem::half(60000.0F);
  const std::vector<smem::half> got = summed(context, numbers, {0.5, 0.5, 1});
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const std::size_t x = i % kColumns, y = i / kColumns;
    const auto sees = [&](std::size_t at, std::size_t line) {
      return y == line && x + 1 >= at && x <= at + 1;
    };
    const auto sum = static_cast<float>(got[i]);
    if (sees(15, 40))
      wrong += std::isnan(sum) ? 0 : 1;
    else
      wrong += sum == (sees(0, 0)     ? kInfinity
                       : sees(33, 20) ? -kInfinity
                       : sees(100, 7) ? (x == 99 ? 60000.0F : 30000.0F)
                                      : 4.0F)
                   ? 0
                   : 1;
  }
  CHECK(wrong == 0);
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
  smem::Device device = context.device();
  device.broken.clear();
  const auto refusal = [&](const auto& change) {
    smem::StencilProblem problem = smem::stencil_problem(Scalar::uint8, {1000, 1000, 1}, {1, 1, 0});
    problem.int8_weights = true;
    change(problem);
    return test::failure_of([&] { smem::plan_stencil(device, problem, {.variant = "units"}); }).got;
  };
  const auto has = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  CHECK(has(refusal([](auto& p) { p.int8_weights = false; }), "power of two"));
  CHECK(has(refusal([](auto& p) { p.type = Scalar::float32; }), "power of two"));
  CHECK(has(refusal([](auto& p) { p.type = Scalar::half, p.window[0] = 11, p.first[0] = -5; }),
            "reaches farther"));
  CHECK(has(refusal([](auto& p) { p.window[0] = 19, p.first[0] = -9; }), "reaches farther"));
  CHECK(has(refusal([](auto& p) { p.window[1] = 11, p.first[1] = -5; }), "reaches farther"));
  CHECK(has(refusal([](auto& p) { p.in_alignment = 8; }), "multiples of 16"));
  CHECK(has(refusal([](auto& p) { p.out_alignment = 2; }), "multiples of 16"));
}
