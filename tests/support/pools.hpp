/// Runs one pooling, and compares every byte of the output buffer with what plain loops give.
#pragma once

#include "support/filters.hpp"

namespace test {

struct PoolCase {
  smem::PoolOp op = smem::PoolOp::max;
  FilterGrids grids;  ///< whose out_size follows from the windows
  smem::Pooling windows;
  std::string variant;
  bool global = false;
  std::size_t work_items = 0;  ///< of a group of whole planes; 0: the plan's

  Tested tested() const {
    const bool max = op == smem::PoolOp::max;
    const char* const name = global ? (max ? "global_max_pool" : "global_avg_pool")
                             : max  ? "max_pool2d"
                                    : "avg_pool2d";
    return {name, variant, types_text(grids.in, grids.out)};
  }
  std::string text() const {
    const smem::Pooling& w = windows;
    return fmt::format(
        "{}{} pool {} x {}, strides {} {}, paddings {} {} {} {}{}, variant \"{}\", {} work-items: {}",
        global ? "global " : "", op == smem::PoolOp::max ? "max" : "average", w.window.width, w.window.height,
        w.stride.x, w.stride.y, w.padding.left, w.padding.right, w.padding.top, w.padding.bottom,
        w.count_padding ? " counted" : "", variant, work_items, grids.text());
  }
};

inline cl::Event call(const smem::Context& context, const PoolCase& c, const smem::Grid& in,
                      const smem::Grid& out) {
  const bool max = c.op == smem::PoolOp::max;
  if (c.global) {
    const smem::PlanOverrides overrides{.work_items = c.work_items};
    const smem::CallOptions options{.overrides = &overrides};
    return max ? smem::global_max_pool(context, in, out, options)
               : smem::global_avg_pool(context, in, out, options);
  }
  const smem::CallOptions options{.variant = c.variant};
  return max ? smem::max_pool2d(context, in, out, c.windows, options)
             : smem::avg_pool2d(context, in, out, c.windows, options);
}

inline Outcome run(const smem::Context& context, PoolCase c, Random& random) {
  const smem::GridSize& size = c.grids.size;
  if (c.global) c.windows = {{size.width, size.height}, {1, 1}};
  const smem::Pooling& w = c.windows;
  c.grids.out_size = {w.across(size.width), w.down(size.height), size.depth};
  const auto in_range = [](std::ptrdiff_t at, std::size_t extent) {
    return at >= 0 && at < static_cast<std::ptrdiff_t>(extent);
  };
  return run_filter(
      context, c.grids, random,
      [&](const smem::Grid& in, const smem::Grid& out) { return call(context, c, in, out); },
      [&](const Pixels& pixels, std::ptrdiff_t x, std::ptrdiff_t y) -> std::optional<Wanted> {
        double sum = 0, most = -HUGE_VAL, magnitude = 0;
        std::size_t count = 0;
        for (std::size_t j = 0; j < w.window.height; ++j) {
          for (std::size_t i = 0; i < w.window.width; ++i) {
            const auto px = x * static_cast<std::ptrdiff_t>(w.stride.x) + static_cast<std::ptrdiff_t>(i) -
                            static_cast<std::ptrdiff_t>(w.padding.left);
            const auto py = y * static_cast<std::ptrdiff_t>(w.stride.y) + static_cast<std::ptrdiff_t>(j) -
                            static_cast<std::ptrdiff_t>(w.padding.top);
            if (!in_range(px, size.width) || !in_range(py, size.height)) continue;
            const double v = pixels(px, py);
            sum += v;
            magnitude += std::abs(v);
            most = std::max(most, v);
            ++count;
          }
        }
        const bool whole = !smem::is_float(c.grids.out);
        if (c.op == smem::PoolOp::max) return Wanted{most, whole ? -0.4 : 0};
        if (w.count_padding) count = w.window.width * w.window.height;
        const double mean = sum / static_cast<double>(count);
        if (whole) return Wanted{std::nearbyint(mean), -0.4};
        const double unit = c.grids.in == smem::Scalar::float64 ? 0x1p-52 : 0x1p-23;
        return Wanted{mean, magnitude / static_cast<double>(count) * unit *
                                static_cast<double>(std::min<std::size_t>(count, 1000) + 4)};
      });
}

using PoolSweep = CaseSweep<PoolCase>;

}  // namespace test
