// The kernel of windows of bytes for NVIDIA's matrix units ("mma"), run on any device: its instructions are
// emulated in plain OpenCL C.
#include <smem/blur.hpp>
#include <smem/smem.hpp>

#include "support/random.hpp"
#include "support/targets.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

using smem::Boundary;
using smem::Scalar;

namespace {

struct MatrixUnitsCase {
  Boundary boundary;
  std::size_t across, down, channels;
  smem::GridSize size;
  std::size_t pitch, tile_rows;
  bool box = false;  ///< a box blur
};

/// Runs the kernel for NVIDIA's matrix units with its instructions emulated, beside the plan's own choice.
void check_emulated(const smem::Context& context, const MatrixUnitsCase& c) {
  const smem::Gaussian window{.size = c.across, .size_down = c.down};
  constexpr std::uint8_t kValue = 200;
  smem::SeparableProblem problem;
  problem.in = problem.out = Scalar::uint8;
  problem.boundary = c.boundary;
  problem.width = c.size.width, problem.height = c.size.height;
  problem.channels = c.channels;
  problem.row_taps = c.across, problem.column_taps = c.down;
  problem.half_up = problem.fixed_point = !c.box;
  problem.mean = c.box;
  problem.in_alignment = 8;
  const smem::Plan plan =
      smem::plan_separable(test::target("sm_86"), problem, {.variant = "mma", .tile_rows = c.tile_rows});
  std::vector<std::uint8_t> cells(c.pitch * c.size.height);
  test::Random random(static_cast<unsigned>(c.across));
  // Mostly the least and the greatest, of which sums have all bits.
  for (std::uint8_t& cell : cells)
    cell = static_cast<std::uint8_t>(random.chance(2) ? 255 * random.between(0, 1) : random.between(0, 255));
  const smem::Array<std::uint8_t> in(context, cells),
      wanted(context, std::vector<std::uint8_t>(cells.size(), 77)),
      got(context, std::vector<std::uint8_t>(cells.size(), 77));
  const smem::GridLayout layout{.channels = c.channels, .pitch = c.pitch};
  std::vector<float> numbers{kValue, 0, 0, 0};
  if (c.box) {
    smem::box_blur(context, in.grid(c.size, layout), wanted.grid(c.size, layout), {c.across / 2, c.down / 2},
                   {c.boundary, kValue});
    numbers.resize(numbers.size() + c.across + c.down, 1);
  } else {
    smem::gaussian_blur(context, in.grid(c.size, layout), wanted.grid(c.size, layout), window,
                        {c.boundary, kValue});
    for (const std::size_t size : {c.across, c.down})
      for (const double weight : smem::gaussian_weights({.size = size}, Scalar::uint8))
        numbers.push_back(static_cast<float>(weight));
  }
  const smem::Array<float> weights(context, numbers);
  auto defines = plan.defines;
  defines.emplace_back("EMULATED", 1);
  const smem::Kernel kernel = context.build({.source = "#include \"" + plan.kernel_file + "\"\n",
                                             .entry_point = plan.entry_point,
                                             .defines = defines});
  const auto n = [](std::size_t x) { return static_cast<cl_ulong>(x); };
  const auto u = [](std::size_t x) { return static_cast<cl_uint>(x); };
  const std::size_t row = c.size.width * c.channels, plane = c.pitch * c.size.height;
  const bool leaves = c.boundary == Boundary::leave;
  const std::size_t left = leaves ? c.across / 2 : 0, top = leaves ? c.down / 2 : 0;
  kernel({.global = plan.global, .work_group = plan.work_group}, in, n(0), n(c.pitch), n(plane), n(plane),
         got, n(0), n(c.pitch), n(plane), n(plane), n(row), n(c.size.height), n(1), n(1),
         n(left * c.channels), n(row - left * c.channels), n(top), n(c.size.height - top), u(c.across),
         u(c.down), u(c.across / 2), u(c.down / 2), weights, u(plan.tile_rows), u(0), weights,
         std::array<float, 96>{});
  CAPTURE(c.across);
  CAPTURE(c.channels);
  const auto made = got.to_host(), right = wanted.to_host();
  std::size_t first = 0;
  while (first < made.size() && made[first] == right[first])
    ++first;
  CAPTURE(first % c.pitch);
  CAPTURE(first / c.pitch);
  CHECK(made == right);
}

}  // namespace

TEST_CASE("blur: windows of bytes by NVIDIA's matrix units, emulated") {
  const smem::Context context;
  if (context.device().max_work_group < 128) return;
  for (const MatrixUnitsCase& c :
       {MatrixUnitsCase{Boundary::mirror, 15, 15, 1, {200, 53}, 200, 32},  // three strips and some columns
        MatrixUnitsCase{Boundary::constant, 5, 17, 3, {47, 20}, 144, 16},
        MatrixUnitsCase{Boundary::wrap, 17, 3, 1, {129, 37}, 136, 64},
        MatrixUnitsCase{Boundary::leave, 9, 9, 1, {150, 40}, 152, 0},
        MatrixUnitsCase{Boundary::clamp, 5, 5, 4, {36, 7}, 144, 16},
        MatrixUnitsCase{Boundary::mirror, 5, 5, 4, {40, 21}, 160, 16, true},
        MatrixUnitsCase{Boundary::reflect, 17, 17, 1, {150, 35}, 152, 48, true}})
    check_emulated(context, c);
}
