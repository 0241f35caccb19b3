/// Runs one moving mean, and compares every byte of the output buffer with what plain loops give.
#pragma once

#include "support/filters.hpp"

namespace test {

struct MovingMeanCase {
  FilterGrids grids;
  std::size_t window = 3;
  smem::MeanEnds ends = smem::MeanEnds::shrink;
  std::string variant;
  std::size_t work_items = 0;  ///< fixed, where it is not 0

  Tested tested() const { return {"moving_mean", variant, types_text(grids.in, grids.out)}; }
  std::string text() const {
    return fmt::format("moving_mean of {}, {}, variant \"{}\": {}", window,
                       ends == smem::MeanEnds::shrink ? "true count" : "zeros", variant, grids.text());
  }
};

inline Outcome run(const smem::Context& context, const MovingMeanCase& c, Random& random) {
  const auto width = static_cast<std::ptrdiff_t>(c.grids.size.width);
  return run_filter(
      context, c.grids, random,
      [&](const smem::Grid& in, const smem::Grid& out) {
        const smem::PlanOverrides fixed{.variant = c.variant, .work_items = c.work_items};
        return smem::moving_mean(context, in, out, c.window, c.ends, {.overrides = &fixed});
      },
      [&](const Pixels& pixels, std::ptrdiff_t x, std::ptrdiff_t y) -> std::optional<Wanted> {
        const auto window = static_cast<std::ptrdiff_t>(c.window);
        const std::ptrdiff_t begin = std::max<std::ptrdiff_t>(x - window / 2, 0);
        const std::ptrdiff_t end = std::min(x - window / 2 + window, width);
        double sum = 0, magnitude = 0;
        for (std::ptrdiff_t i = begin; i < end; ++i) {
          const double v = pixels(i, y);
          sum += v;
          magnitude += std::abs(v);
        }
        const auto count = static_cast<double>(c.ends == smem::MeanEnds::zero ? window : end - begin);
        if (!smem::is_float(c.grids.out)) return Wanted{std::nearbyint(sum / count), -0.4};
        const double unit = c.grids.in == smem::Scalar::float64 ? 0x1p-52 : 0x1p-23;
        return Wanted{sum / count,
                      (magnitude * static_cast<double>(end - begin) + std::abs(sum)) / count * unit};
      });
}

using MovingMeanSweep = CaseSweep<MovingMeanCase>;

}  // namespace test
