/// Runs one blur, and compares every byte of the output buffer with what plain loops give.
#pragma once

#include "support/boundaries.hpp"
#include "support/filters.hpp"
#include "support/reduce_sweep.hpp"
#include "support/variants.hpp"

namespace test {

enum class Blur { gaussian, box, median, across, down, magnitude, unsharp };

inline const char* name_of(Blur blur) {
  constexpr const char* kNames[] = {"gaussian",        "box",    "median", "sobel across", "sobel down",
                                    "sobel magnitude", "unsharp"};
  return kNames[static_cast<int>(blur)];
}

struct BlurCase {
  Blur blur = Blur::box;
  FilterGrids grids;
  std::string variant;
  std::size_t size = 3;       ///< of the window, odd
  std::size_t down_size = 0;  ///< of box and gaussian; 0: as size
  double sigma = 0, amount = 1.5, threshold = 0;

  std::size_t down() const { return down_size == 0 ? size : down_size; }
  Tested tested() const {
    const char* const names[] = {"gaussian_blur", "box_blur", "median_blur", "sobel",
                                 "sobel",         "sobel",    "unsharp_mask"};
    return {names[static_cast<int>(blur)], variant, types_text(grids.in, grids.out)};
  }
  std::string text() const {
    return fmt::format("{} {} x {}, sigma {}, variant \"{}\": {}", name_of(blur), size, down(), sigma,
                       variant, grids.text());
  }
};

inline cl::Event call(const smem::Context& context, const BlurCase& c, const smem::Grid& in,
                      const smem::Grid& out, const smem::CallOptions& options) {
  const smem::Edges beyond{c.grids.boundary, c.grids.value};
  const smem::Gaussian window{.size = c.size, .sigma = c.sigma};
  switch (c.blur) {
    case Blur::gaussian:
      return smem::gaussian_blur(
          context, in, out, {.size = c.size, .sigma = c.sigma, .size_down = c.down(), .sigma_down = c.sigma},
          beyond, options);
    case Blur::box:
      return smem::box_blur(context, in, out, {c.size / 2, c.down() / 2}, beyond, options);
    case Blur::median:
      return smem::median_blur(context, in, out, c.size, beyond, options);
    case Blur::across:
      return smem::sobel(context, in, out, {smem::Gradient::across, c.size}, beyond, options);
    case Blur::down:
      return smem::sobel(context, in, out, {smem::Gradient::down, c.size}, beyond, options);
    case Blur::magnitude:
      return smem::sobel(context, in, out, {smem::Gradient::magnitude, c.size}, beyond, options);
    case Blur::unsharp:
      return smem::unsharp_mask(context, in, out,
                                {.window = window, .amount = c.amount, .threshold = c.threshold}, beyond,
                                options);
  }
  throw std::logic_error("unknown blur");
}

/// A weighted sum of a window, and that of its terms' magnitudes.
struct WindowSum {
  double sum = 0, magnitude = 0;
};
inline WindowSum window_sum(const Pixels& pixels, std::ptrdiff_t x, std::ptrdiff_t y,
                            const std::vector<double>& row, const std::vector<double>& column) {
  WindowSum result;
  const auto left = static_cast<std::ptrdiff_t>(row.size() / 2),
             up = static_cast<std::ptrdiff_t>(column.size() / 2);
  for (std::size_t j = 0; j < column.size(); ++j) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      const double term =
          column[j] * row[i] *
          pixels(x + static_cast<std::ptrdiff_t>(i) - left, y + static_cast<std::ptrdiff_t>(j) - up);
      result.sum += term;
      result.magnitude += std::abs(term);
    }
  }
  return result;
}

/// An integer that must be met.
inline Wanted exactly(double value) { return {value, -0.4}; }

inline std::optional<Wanted> wanted(const BlurCase& c, const Pixels& pixels, std::ptrdiff_t x,
                                    std::ptrdiff_t y) {
  const auto inside = [](std::ptrdiff_t at, std::size_t size, std::size_t extent) {
    const auto radius = static_cast<std::ptrdiff_t>(size / 2);
    return at >= radius && at + radius < static_cast<std::ptrdiff_t>(extent);
  };
  if (c.grids.boundary == smem::Boundary::leave &&
      !(inside(x, c.size, c.grids.size.width) && inside(y, c.down(), c.grids.size.height)))
    return std::nullopt;
  const bool whole = !smem::is_float(c.grids.in), whole_out = !smem::is_float(c.grids.out);
  const double unit = c.grids.in == smem::Scalar::float64 ? 0x1p-52 : 0x1p-23;
  const auto taps = static_cast<double>(c.size + c.down());
  const std::vector<double> slope =
      c.size == 3 ? std::vector<double>{-1, 0, 1} : std::vector<double>{-1, -2, 0, 2, 1};
  const std::vector<double> smooth =
      c.size == 3 ? std::vector<double>{1, 2, 1} : std::vector<double>{1, 4, 6, 4, 1};
  switch (c.blur) {
    case Blur::gaussian: {
      const auto s = window_sum(pixels, x, y, smem::gaussian_weights({c.size, c.sigma}, c.grids.in),
                                smem::gaussian_weights({c.down(), c.sigma}, c.grids.in));
      if (c.grids.in == smem::Scalar::uint8 && whole_out) return exactly(std::floor(s.sum + 0.5));
      return Wanted{s.sum, s.magnitude * taps * unit};
    }
    case Blur::box: {
      const auto s =
          window_sum(pixels, x, y, std::vector<double>(c.size, 1), std::vector<double>(c.down(), 1));
      const double mean = s.sum / static_cast<double>(c.size * c.down());
      if (whole && whole_out) return exactly(std::floor(mean + 0.5));
      // Sums that slide lose what the largest sum beside them loses.
      const double most = whole ? std::abs(mean) : std::max(1.0, std::abs(c.grids.value));
      return Wanted{mean, most * unit * (taps + 300)};
    }
    case Blur::median: {
      std::vector<double> window;
      const auto radius = static_cast<std::ptrdiff_t>(c.size / 2);
      for (std::ptrdiff_t j = -radius; j <= radius; ++j)
        for (std::ptrdiff_t i = -radius; i <= radius; ++i)
          window.push_back(pixels(x + i, y + j));
      std::nth_element(window.begin(), window.begin() + static_cast<std::ptrdiff_t>(window.size() / 2),
                       window.end());
      const double median = window[window.size() / 2];
      return whole_out ? exactly(median) : Wanted{median, 0};
    }
    case Blur::across:
    case Blur::down: {
      const bool across = c.blur == Blur::across;
      const auto s = window_sum(pixels, x, y, across ? slope : smooth, across ? smooth : slope);
      if (!whole_out) return Wanted{s.sum, s.magnitude * taps * unit};
      const double high = c.grids.out == smem::Scalar::uint8   ? 255
                          : c.grids.out == smem::Scalar::int16 ? 32767
                                                               : 65535;
      return exactly(std::clamp(s.sum, c.grids.out == smem::Scalar::int16 ? -32768.0 : 0.0, high));
    }
    case Blur::magnitude: {
      const auto a = window_sum(pixels, x, y, slope, smooth), d = window_sum(pixels, x, y, smooth, slope);
      return Wanted{std::hypot(a.sum, d.sum),
                    (a.magnitude + d.magnitude) * taps * unit + (whole_out ? 1e-3 : 0)};
    }
    case Blur::unsharp: {
      const auto weights = smem::gaussian_weights({c.size, c.sigma}, smem::Scalar::float64);
      const auto s = window_sum(pixels, x, y, weights, weights);
      const double own = pixels(x, y), difference = own - s.sum;
      const double error = (s.magnitude + std::abs(own)) * taps * unit * (1 + std::abs(c.amount));
      if (std::abs(difference) < c.threshold - error) return Wanted{own, 0};
      const double sharp = own + c.amount * difference;
      if (std::abs(difference) < c.threshold + error) {  // either one; a half is rounded by its own size
        const double rounding = c.grids.out == smem::Scalar::half ? std::abs(sharp) * 0x1p-11 : 0;
        return Wanted{own, std::abs(sharp - own) + error + rounding};
      }
      return Wanted{sharp, error};
    }
  }
  return std::nullopt;
}

inline Outcome run(const smem::Context& context, const BlurCase& c, Random& random) {
  return run_filter(
      context, c.grids, random,
      [&](const smem::Grid& in, const smem::Grid& out) {
        return call(context, c, in, out, {.variant = c.variant});
      },
      [&](const Pixels& pixels, std::ptrdiff_t x, std::ptrdiff_t y) { return wanted(c, pixels, x, y); });
}

using BlurSweep = CaseSweep<BlurCase>;

}  // namespace test
