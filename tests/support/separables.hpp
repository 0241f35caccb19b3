/// Runs one separable filter, and compares every byte of the output buffer with what plain loops give.
#pragma once

#include "support/filters.hpp"

namespace test {

struct SeparableCase {
  FilterGrids grids;
  std::string variant;
  std::size_t row_taps = 3, column_taps = 3;
  std::optional<std::size_t> row_origin, column_origin;

  Tested tested() const { return {"separable", variant, types_text(grids.in, grids.out)}; }
  std::string text() const {
    return fmt::format("separable {} x {}, origins {} {}, variant \"{}\": {}", row_taps, column_taps,
                       row_origin ? std::to_string(*row_origin) : "-",
                       column_origin ? std::to_string(*column_origin) : "-", variant, grids.text());
  }
};

/// Weights that add up to about 1, none like the other, some negative.
inline std::vector<double> weights_of(std::size_t taps, Random& random) {
  std::vector<double> weights(taps);
  double sum = 0;
  for (double& weight : weights) {
    weight = static_cast<double>(random.between(1, 1000)) / 1000 - (random.chance(5) ? 0.6 : 0);
    sum += std::abs(weight);
  }
  for (double& weight : weights)
    weight *= 1.1 / sum;
  return weights;
}

inline smem::SeparableProblem problem_of(const SeparableCase& c) {
  smem::SeparableProblem problem;
  problem.in = c.grids.in;
  problem.out = c.grids.out;
  problem.boundary = c.grids.boundary;
  problem.width = c.grids.size.width;
  problem.height = c.grids.size.height;
  problem.planes = c.grids.size.depth * c.grids.batch;
  problem.channels = c.grids.channels;
  problem.row_taps = c.row_taps;
  problem.column_taps = c.column_taps;
  return problem;
}

inline Outcome run(const smem::Context& context, const SeparableCase& c, Random& random) {
  const std::vector<double> row = weights_of(c.row_taps, random), column = weights_of(c.column_taps, random);
  const std::size_t row_origin = c.row_origin.value_or(c.row_taps / 2);
  const std::size_t column_origin = c.column_origin.value_or(c.column_taps / 2);
  // By matrix units, weights and sums of elements of 16 bits have 22 bits (cl/separable/unit_halves.clh).
  const bool has_22_bits = c.variant == "units" && smem::size_of(c.grids.in) == 2;
  const double unit = c.grids.in == smem::Scalar::float64 ? 0x1p-52 : has_22_bits ? 0x1p-22 : 0x1p-24;
  const auto inside = [&](std::ptrdiff_t at, std::size_t origin, std::size_t taps, std::size_t extent) {
    const std::ptrdiff_t first = at - static_cast<std::ptrdiff_t>(origin);
    return first >= 0 && first + static_cast<std::ptrdiff_t>(taps) <= static_cast<std::ptrdiff_t>(extent);
  };
  return run_filter(
      context, c.grids, random,
      [&](const smem::Grid& in, const smem::Grid& out) {
        return smem::separable(context, in, out, {row, column, c.row_origin, c.column_origin},
                               {c.grids.boundary, c.grids.value}, {.variant = c.variant});
      },
      [&](const Pixels& pixels, std::ptrdiff_t x, std::ptrdiff_t y) -> std::optional<Wanted> {
        if (c.grids.boundary == smem::Boundary::leave &&
            !(inside(x, row_origin, c.row_taps, c.grids.size.width) &&
              inside(y, column_origin, c.column_taps, c.grids.size.height)))
          return std::nullopt;
        double sum = 0, magnitude = 0;
        for (std::size_t j = 0; j < c.column_taps; ++j) {
          for (std::size_t i = 0; i < c.row_taps; ++i) {
            const double term =
                column[j] * row[i] *
                pixels(x + static_cast<std::ptrdiff_t>(i) - static_cast<std::ptrdiff_t>(row_origin),
                       y + static_cast<std::ptrdiff_t>(j) - static_cast<std::ptrdiff_t>(column_origin));
            sum += term;
            magnitude += std::abs(term);
          }
        }
        // Weights are rounded, and each product and sum.
        const auto roundings = static_cast<double>(c.row_taps + c.column_taps + 4);
        return Wanted{sum, magnitude * roundings * unit};
      });
}

using SeparableSweep = CaseSweep<SeparableCase>;

}  // namespace test
