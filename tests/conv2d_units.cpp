// Convolutions by the matrix units of AMD and Intel, emulated (SMEM_CLAMP=matrix_unit=...): every unit, type,
// layout, window and tail against plain loops. On a device that has a unit, that one by its own instructions.
#include <smem/smem.hpp>

#include "support/broken.hpp"
#include "support/conv2ds.hpp"
#include "support/environment.hpp"
#include "support/tuning_folder.hpp"

#include <doctest/doctest.h>

#include <array>
#include <bit>
#include <cstddef>
#include <string>
#include <vector>

using smem::Activation;
using smem::Conv2d;
using smem::MatrixUnit;
using smem::Scalar;
using test::Conv2dCase;

namespace {

constexpr std::array kUnitsOfLayers{MatrixUnit::mfma,       MatrixUnit::mfma_cdna3, MatrixUnit::wmma,
                                    MatrixUnit::wmma_rdna4, MatrixUnit::dpas8,      MatrixUnit::dpas16};

std::string clamp_to(MatrixUnit unit) { return "matrix_unit=" + std::string(smem::name_of(unit)); }

bool emulates(const smem::Device& device) {
  return device.local_bytes >= 16 * 1024 && device.max_work_group >= 256 &&
         !test::is_broken(device, "gemm", "matrix_units") &&
         !test::is_broken(device, "conv2d", "matrix_units");
}

/// Windows of one size and pieces of one number of bytes, so that the cases of a type share two programs:
/// tails of results and filters, several images in a tile and several tiles in an image, groups, strides,
/// dilations and windows that see nothing of the plane; each grid in either layout.
std::vector<Conv2dCase> layers_of_units() {
  std::vector<Conv2dCase> all{{Scalar::half, 2, 16, 9, 7, 16, 3, 3, Conv2d::square(1, 1)},
                              {Scalar::half, 5, 33, 3, 3, 37, 3, 3, Conv2d::square(1, 1)},
                              {Scalar::half, 2, 48, 13, 11, 66, 3, 3, Conv2d::square(2, 1)},
                              {Scalar::half, 1, 30, 15, 14, 70, 3, 3, Conv2d::square(1, 5)}};
  all[1].bias = true;
  all[1].gaps = all[1].gaps_in_rows = true;
  all[2].how.groups = 3;
  all[2].how.dilation = {2, 1};
  all[2].how.activation = Activation::relu;
  all[3].how.groups = 2;
  all[3].bias = true;
  all[3].gaps = true;
  return all;
}

}  // namespace

TEST_CASE("conv2d by matrix units: every unit, type, layout and tail") {
  for (std::size_t u = 0; u < kUnitsOfLayers.size(); ++u) {
    const test::Variable clamp("SMEM_CLAMP", clamp_to(kUnitsOfLayers[u]));
    const smem::Context context;
    if (!emulates(context.device())) return;
    CAPTURE(smem::name_of(kUnitsOfLayers[u]));
    test::Conv2dSweep sweep(context);
    std::size_t asked = 0;
    // A program takes a compiler a second: units have two of the types, and the layouts, in turns.
    for (std::size_t t = 0; t < 3; ++t) {
      if ((u + t) % 3 == 1) continue;
      constexpr std::array kTypes{Scalar::half, Scalar::bfloat16, Scalar::int8};
      std::size_t number = 0;
      for (Conv2dCase c : layers_of_units()) {
        c.type = kTypes[t];
        c.variant = "matrix_units";
        c.to_sums = (u + t) % 3 == 2;
        c.in_interleaved = (number + u) % 2 == 0;
        c.weights_interleaved = number % 3 != 0;
        c.out_interleaved = (u + t) % 2 == 0;
        sweep.run(c);
        ++number, ++asked;
      }
    }
    CHECK(sweep.ran() == asked);
  }
}

TEST_CASE("conv2d by matrix units: few channels, single weights and GELU") {
  for (const MatrixUnit unit : {MatrixUnit::mfma, MatrixUnit::wmma, MatrixUnit::dpas16}) {
    const test::Variable clamp("SMEM_CLAMP", clamp_to(unit) + ",local=32K");
    const smem::Context context;
    if (!emulates(context.device())) return;
    CAPTURE(smem::name_of(unit));
    test::Conv2dSweep sweep(context);
    Conv2dCase c{
        unit == MatrixUnit::wmma ? Scalar::int8 : Scalar::half, 1, 3, 21, 17, 24, 5, 4, Conv2d::square(2, 3)};
    c.variant = "matrix_units";
    c.bias = true;
    c.how.activation = smem::is_float(c.type) ? Activation::gelu : Activation::relu;
    sweep.run(c);
    c.interleave();
    sweep.run(c);
    // A window of one cell: weights of filters are those of channels, as they lie.
    Conv2dCase cells{c.type, 3, 32, 5, 7, 20, 1, 1, Conv2d::square(1)};
    cells.variant = "matrix_units";
    cells.interleave();
    sweep.run(cells);
    cells.how.stride = {2, 3};
    sweep.run(cells);
    CHECK(sweep.ran() == 4);
  }
}

TEST_CASE("conv2d by matrix units: what has none, and the widest windows") {
  const test::Variable clamp("SMEM_CLAMP", "matrix_unit=dpas8");
  const smem::Context context;
  if (!emulates(context.device())) return;
  test::Conv2dSweep sweep(context);
  Conv2dCase c{Scalar::bfloat16, 1, 8, 19, 21, 9, 15, 16, Conv2d::square(1, 7)};
  c.variant = "matrix_units";
  c.how.padding.top = 8;
  sweep.run(c);
  CHECK(sweep.ran() == 1);
  c.window_w = 16;  // more than it has bits for
  sweep.run(c);
  c = {Scalar::float32, 1, 8, 9, 9, 8, 3, 3, Conv2d::square(1, 1)};
  c.variant = "matrix_units";
  sweep.run(c);
  CHECK(sweep.ran() == 0);
}

TEST_CASE("conv2d by matrix units: windows that lie side by side along rows") {
  const test::Variable clamp("SMEM_CLAMP", clamp_to(MatrixUnit::mfma));
  const smem::Context context;
  if (!emulates(context.device())) return;
  test::Conv2dSweep sweep(context);
  std::size_t asked = 0;
  const auto run = [&](Scalar type, std::size_t channels, std::size_t width, std::size_t height,
                       std::size_t window_w, std::size_t window_h, const Conv2d& how) {
    Conv2dCase c{type, 2, channels, width, height, 20, window_w, window_h, how};
    c.variant = "matrix_units";
    c.interleave();
    c.bias = asked % 2 == 0;
    c.gaps = asked % 3 == 1;
    c.gaps_in_rows = asked % 6 == 1;
    sweep.run(c);
    ++asked;
  };
  const auto apart = [](std::size_t x, std::size_t y, const smem::Padding& padding = {}) {
    return Conv2d{.stride = {x, y}, .padding = padding};
  };
  run(Scalar::half, 3, 32, 33, 16, 16, apart(16, 16));  // of more columns than units have
  run(Scalar::half, 3, 20, 9, 4, 4, apart(4, 4));
  run(Scalar::bfloat16, 5, 12, 11, 2, 3, apart(2, 1, {0, 2, 0, 1}));
  run(Scalar::int8, 6, 21, 8, 3, 2, apart(3, 2));
  // Columns that no window sees, and windows that reach beyond the last column.
  run(Scalar::half, 3, 15, 8, 4, 4, apart(4, 4));
  run(Scalar::half, 3, 16, 8, 4, 4, apart(4, 4, {0, 0, 4, 0}));
  CHECK(sweep.ran() == asked);
}

TEST_CASE("conv2d by matrix units: plans of joined columns made before, of any beginning, and tuned ones") {
  const test::Variable clamp("SMEM_CLAMP", clamp_to(MatrixUnit::mfma));
  const test::TuningFolder folder;
  smem::Conv2dProblem p;  // as CLI and callers have it, of the layer below
  p.type = p.out = Scalar::half;
  p.images = 2, p.in_channels = 4, p.width = 20, p.height = 9, p.out_channels = 24;
  p.window = {4, 4}, p.stride = {4, 4};
  p.out_width = 5, p.out_height = 2;
  p.in_interleaved = p.weights_interleaved = p.out_interleaved = true;
  p.in_alignment = 8, p.row_alignment = 32, p.out_alignment = 16, p.weight_alignment = 64;
  const auto grids = [&](const smem::Context& context, std::size_t offset, const smem::CallOptions& options) {
    std::vector<smem::half> numbers(offset + p.images * p.width * p.height * p.in_channels),
        weights(p.out_channels * p.depth());
    for (std::size_t i = 0; i < numbers.size(); ++i)
      numbers[i] = smem::half(static_cast<float>(i * 7919 % 5) - 2);
    for (std::size_t i = 0; i < weights.size(); ++i)
      weights[i] = smem::half(static_cast<float>(i * 31 % 7) - 3);
    const smem::Array<smem::half> in(context, numbers), of(context, weights),
        out(context,
            std::vector<smem::half>(p.images * p.out_channels * p.plane_results(), smem::half(77.0F)));
    const smem::ConstGrid from(in.buffer()(), Scalar::half, {p.width, p.height},
                               {.channels = p.in_channels, .offset = offset, .batch = p.images});
    const smem::ConstGrid filters(of.buffer()(), Scalar::half, {4, 4},
                                  {.channels = p.in_channels, .batch = p.out_channels});
    const smem::Grid to(out.buffer()(), Scalar::half, {5, 2},
                        {.channels = p.out_channels, .batch = p.images});
    smem::conv2d(context, from, filters, to, {.stride = p.stride}, options);
    std::vector<float> results;
    for (const smem::half number : out.to_host())
      results.push_back(static_cast<float>(number));
    return results;
  };
  {
    const smem::Context context;
    if (!emulates(context.device())) return;
    for (const std::size_t offset : {0U, 1U, 2U, 4U, 8U}) {
      CAPTURE(offset);
      smem::Conv2dProblem from = p;
      from.in_alignment = std::size_t{1} << std::countr_zero(8 | (2 * offset));
      from.row_alignment = std::size_t{1} << std::countr_zero(32 | (2 * offset));
      const smem::Plan plan = smem::plan_conv2d(context.device(), from, {.variant = "matrix_units"});
      CHECK(plan.before.empty() == (from.row_alignment >= 16));  // else cells are copied
      CHECK(grids(context, offset, {.plan = &plan}) == grids(context, offset, {.variant = "naive"}));
    }
    smem::store_tuning(context.device(),
                       {{smem::tuning_class(p), {.variant = "naive"}, 1.25, 1e-4, "cpu", "2026-11-22"}});
  }
  const smem::Context tuned;
  grids(tuned, 0, {});
  const std::size_t built = tuned.cache_statistics().built_from_source;
  CHECK(built > 0);
  grids(tuned, 0, {.variant = "naive"});
  CHECK(tuned.cache_statistics().built_from_source == built);  // the very same program
}
