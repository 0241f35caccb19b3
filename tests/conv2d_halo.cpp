// Convolutions by Hopper's matrix units whose windows are read from a halo in local memory ("wgmma_halo"):
// every kind of tile against plain loops; elsewhere none of it runs. And where the windows of its plans read.
#include <smem/smem.hpp>

#include "support/conv2ds.hpp"
#include "support/targets.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

using smem::Conv2d;
using smem::Conv2dProblem;
using smem::Plan;
using smem::Scalar;
using test::Conv2dCase;

namespace {

/// Tails of channels, filters, rows and images; several images in a tile; rows of one result and of all
/// columns of an instruction; windows of other sizes, dilations and paddings.
std::vector<Conv2dCase> halo_cases() {
  std::vector<Conv2dCase> all{
      {Scalar::half, 5, 64, 7, 7, 40, 3, 3, Conv2d::square(1, 1)},
      {Scalar::half, 3, 72, 13, 9, 200, 3, 3, Conv2d::square(1, 1)},
      {Scalar::half, 1, 8, 100, 5, 1, 3, 3, Conv2d::square(1, 1)},
      {Scalar::half, 2, 136, 28, 15, 64, 3, 3, Conv2d::square(1, 1)},
      {Scalar::half, 3, 64, 15, 15, 72, 5, 5, Conv2d::square(1, 4)},
      {Scalar::half, 9, 16, 11, 6, 300, 3, 3, Conv2d::square(1, 0)},
      {Scalar::half, 4, 40, 9, 12, 16, 3, 3, Conv2d::square(1, 3)},
      {Scalar::half, 7, 200, 5, 5, 130, 1, 1, Conv2d::square(1, 0)},
      {Scalar::half, 2, 24, 239, 3, 24, 2, 2, Conv2d::square(1, 1)},
  };
  all[4].how.dilation = {2, 2};
  all[6].how.padding = {0, 3, 2, 1};
  return all;
}

std::size_t halo_rows_of(const Plan& plan) {
  const auto found = std::ranges::find(plan.defines, "HALO_ROWS", &std::pair<std::string, long>::first);
  return found == plan.defines.end() ? 0 : static_cast<std::size_t>(found->second);
}

/// Where the channels of a cell of the input are, one number a cell; 0: padding.
struct CellPlace {
  const Conv2dProblem& p;
  std::size_t of(std::size_t image, std::size_t row, std::size_t col) const {
    if (image >= p.images || row >= p.height || col >= p.width) return 0;
    return (image * p.height + row) * p.width + col + 1;
  }
};

/// The halo of a tile as copies of boxes leave it: zeros below, where the plan has room for them.
std::vector<std::size_t> halo_of(const Conv2dProblem& p, const Plan& plan, std::size_t image, std::size_t y) {
  const std::size_t pitch = plan.number("tile_w"), rows = plan.number("block_k"),
                    images = plan.number("depth");
  std::vector<std::size_t> cells(halo_rows_of(plan), 0);
  REQUIRE(pitch * rows * images <= cells.size());
  for (std::size_t i = 0; i < pitch * rows * images; ++i) {
    cells[i] = CellPlace{p}.of(image + i / pitch % images, y + i / pitch / images - p.padding.top,
                               i % pitch - p.padding.left);
  }
  return cells;
}

/// Columns of a tile that hold a result whose windows read other cells than they should.
std::size_t wrong_columns(const Conv2dProblem& p, const Plan& plan, std::size_t image, std::size_t y) {
  const std::vector<std::size_t> cells = halo_of(p, plan, image, y);
  const std::size_t pitch = plan.number("tile_w"), images = plan.number("depth"),
                    tile = plan.number("tile_h");
  std::size_t wrong = 0;
  for (std::size_t n = 0; n < images && image + n < p.images; ++n) {
    for (std::size_t i = 0; i < std::min(tile, p.out_height - y) * p.out_width; ++i) {
      const std::size_t row = i / p.out_width, col = i % p.out_width,
                        column = (row * images + n) * pitch + col;
      if (column >= plan.tile_rows) return i + 1;
      for (std::size_t tap = 0; tap < p.taps(); ++tap) {
        const std::size_t down = tap / p.window.width * p.dilation.y,
                          right = tap % p.window.width * p.dilation.x;
        if (cells.at(column + down * images * pitch + right) !=
            CellPlace{p}.of(image + n, y + row + down - p.padding.top, col + right - p.padding.left))
          ++wrong;
      }
    }
  }
  return wrong;
}

Conv2dProblem problem_of(const Conv2dCase& c) {
  Conv2dProblem p;
  p.type = p.out = c.type;
  p.images = c.images, p.in_channels = c.in_channels, p.out_channels = c.out_channels;
  p.width = c.width, p.height = c.height;
  p.window = {c.window_w, c.window_h};
  p.dilation = c.how.dilation, p.padding = c.how.padding;
  p.out_width =
      smem::convolved_size(c.width, c.window_w, 1, c.how.dilation.x, c.how.padding.left, c.how.padding.right);
  p.out_height = smem::convolved_size(c.height, c.window_h, 1, c.how.dilation.y, c.how.padding.top,
                                      c.how.padding.bottom);
  p.in_interleaved = p.weights_interleaved = p.out_interleaved = true;
  return p;
}

}  // namespace

TEST_CASE("conv2d by halos: tiles of every kind are right") {
  const smem::Context context;
  test::Conv2dSweep sweep(context);
  std::size_t number = 0, asked = 0;
  for (Conv2dCase c : halo_cases()) {
    c.variant = "wgmma_halo";
    c.vary(number);
    ++number, ++asked;
    sweep.run(c);
    // The other layout, with gaps: of cells as copies of 16 bytes find them.
    c.in_interleaved = c.out_interleaved = !c.out_interleaved;
    c.gaps = number % 2 == 0, c.gaps_in_rows = c.gaps && !c.in_interleaved;
    ++asked;
    sweep.run(c);
  }
  if (context.device().retargeting) CHECK(sweep.ran() == asked);
}

TEST_CASE("conv2d by halos: layers of a network are right") {
  const smem::Context context;
  if (!context.device().retargeting) return;
  test::Conv2dSweep sweep(context);
  for (Conv2dCase c : {Conv2dCase{Scalar::half, 3, 64, 56, 56, 64, 3, 3, Conv2d::square(1, 1)},
                       Conv2dCase{Scalar::half, 40, 128, 28, 28, 128, 3, 3, Conv2d::square(1, 1)},
                       Conv2dCase{Scalar::half, 40, 64, 14, 14, 256, 3, 3, Conv2d::square(1, 1)},
                       Conv2dCase{Scalar::half, 9, 512, 7, 7, 128, 3, 3, Conv2d::square(1, 1)}}) {
    c.variant = "wgmma_halo";
    c.interleave();
    sweep.run(c);
  }
  CHECK(sweep.ran() == 4);
}

TEST_CASE("conv2d by halos: windows read the cells of their results, and zeros around") {
  const smem::Device device = test::target("sm_90");
  for (const Conv2dCase& c : halo_cases()) {
    const Conv2dProblem p = problem_of(c);
    CAPTURE(c.text());
    std::vector<std::size_t> tiles{0};
    for (std::size_t cells = 64; cells <= 240; cells += 8)
      tiles.push_back(cells);
    std::size_t made = 0;
    for (const std::size_t cells : tiles) {
      Plan plan;
      try {
        plan = smem::plan_conv2d(device, p, {.variant = "wgmma_halo", .tile_rows = cells});
      } catch (const smem::Error& error) {
        CHECK(error.details().argument == "tile_rows");
        continue;
      }
      ++made;
      const std::size_t reach =
          (p.window.height - 1) * p.dilation.y * plan.number("tile_w") * plan.number("depth") +
          (p.window.width - 1) * p.dilation.x;
      CHECK(plan.tile_rows + reach <= halo_rows_of(plan));
      for (std::size_t image = 0; image < p.images; image += plan.number("depth"))
        for (std::size_t y = 0; y < p.out_height; y += plan.number("tile_h"))
          CHECK(wrong_columns(p, plan, image, y) == 0);
    }
    CHECK(made > 1);
  }
}
