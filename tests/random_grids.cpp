// Random stencils, filters and blurs, on grids smaller and larger than their windows, against plain loops
// that share nothing with the library: beyond the edges they go as OpenCV's borderInterpolate does.
#include <smem/smem.hpp>

#include "support/plain.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

using smem::Boundary;
using smem::Scalar;
using test::Outcome;
using test::PlainCheck;
using test::PlainGrid;
using test::Random;
using test::RandomCase;
using test::run_random;

namespace {

constexpr Boundary kAnyBoundary[] = {Boundary::reflect, Boundary::mirror,   Boundary::wrap, Boundary::clamp,
                                     Boundary::zero,    Boundary::constant, Boundary::leave};

/// The place in a row of n that place i stands for; -1: a value does.
long border_interpolate(Boundary boundary, long i, long n) {
  if (boundary == Boundary::clamp) return std::clamp(i, 0L, n - 1);
  if (boundary == Boundary::wrap) {
    while (i < 0)
      i += n;
    while (i >= n)
      i -= n;
    return i;
  }
  if (boundary != Boundary::reflect && boundary != Boundary::mirror) return i < 0 || i >= n ? -1 : i;
  const long once = boundary == Boundary::mirror ? 1 : 0;
  if (n == 1) return 0;
  while (i < 0 || i >= n)
    i = i < 0 ? -i - 1 + once : n - 1 - (i - n) - once;
  return i;
}

/// A grid with what lies beyond its edges.
struct Endless {
  const PlainGrid& grid;
  Boundary boundary;
  double value;
  double at(long x, long y, long z, std::size_t batch, std::size_t c) const {
    const smem::GridSize& size = grid.view.size;
    const long i = border_interpolate(boundary, x, static_cast<long>(size.width)),
               j = border_interpolate(boundary, y, static_cast<long>(size.height)),
               k = border_interpolate(boundary, z, static_cast<long>(size.depth));
    if (i < 0 || j < 0 || k < 0) return boundary == Boundary::constant ? value : 0;
    return grid.at(static_cast<std::size_t>(i), static_cast<std::size_t>(j),
                   batch * size.depth + static_cast<std::size_t>(k), c);
  }
  /// Of a plane of all.
  double in_plane(long x, long y, std::size_t plane, std::size_t c) const {
    return at(x, y, static_cast<long>(plane % grid.view.size.depth), plane / grid.view.size.depth, c);
  }
};

long whole(std::size_t n) { return static_cast<long>(n); }

/// Numbers of few digits, of which sums are exact.
double few_digits(Random& random, Scalar type) {
  if (type == Scalar::uint8) return static_cast<double>(random.between(0, 255));
  if (type == Scalar::uint16) return static_cast<double>(random.between(0, 4095));
  return (static_cast<double>(random.between(0, 32)) - 16) / 4;
}
std::vector<double> few_weights(Random& random, std::size_t count) {
  std::vector<double> weights(count);
  for (double& weight : weights)
    weight = (static_cast<double>(random.between(0, 4)) - 2) / 2;
  return weights;
}

/// A number as an element of a type: integers rounded half to even, and saturated.
double as_type(Scalar type, double v) {
  if (type == Scalar::uint8) return std::clamp(std::nearbyint(v), 0.0, 255.0);
  if (type == Scalar::uint16) return std::clamp(std::nearbyint(v), 0.0, 65535.0);
  if (type == Scalar::int16) return std::clamp(std::nearbyint(v), -32768.0, 32767.0);
  if (type == Scalar::half) return static_cast<double>(static_cast<float>(smem::half(static_cast<float>(v))));
  return type == Scalar::float32 ? static_cast<double>(static_cast<float>(v)) : v;
}

/// Integers: whether some number that near is rounded to `got`.
std::string unless_rounded(Scalar type, double got, double expected, double error) {
  if (!smem::is_float(type)) {
    const bool right = got >= as_type(type, expected - error) && got <= as_type(type, expected + error);
    return right ? std::string() : fmt::format("expected {}", expected);
  }
  return test::unless_near(got, expected, error + (type == Scalar::half ? std::abs(expected) * 0x1p-11 : 0));
}

/// Mostly smaller than a window, else around the sizes of vectors and tiles.
smem::GridSize some_size(Random& random, bool volume) {
  const auto side = [&](std::size_t most) {
    return random.chance(3) ? random.between(1, 3) : random.between(1, most);
  };
  return {side(random.chance(4) ? 70 : 12), side(random.chance(4) ? 37 : 9), volume ? side(6) : 1};
}

std::string text_of(const PlainGrid& in, std::string_view what) {
  return fmt::format("{} x {} x {} cells of {} {}, batch {}, offset {}, pitch {}: {}", in.view.size.width,
                     in.view.size.height, in.view.size.depth, in.view.channels,
                     smem::name_of(*in.view.type.scalar), in.view.batch, in.view.offset, in.view.pitch, what);
}

/// What the filters of images have in common.
struct Filter {
  std::string variant;
  Scalar in = Scalar::float32, out = Scalar::float32;
  Boundary boundary = Boundary::zero;
  std::size_t channels = 1;
};
Filter some_filter(Random& random, const std::vector<std::string_view>& variants, bool slopes = false) {
  constexpr std::pair<Scalar, Scalar> types[] = {
      {Scalar::uint8, Scalar::uint8},     {Scalar::uint8, Scalar::float32},
      {Scalar::float32, Scalar::float32}, {Scalar::uint16, Scalar::uint16},
      {Scalar::half, Scalar::half},       {Scalar::uint16, Scalar::float32},
      {Scalar::float64, Scalar::float64}, {Scalar::half, Scalar::float32},
      {Scalar::uint8, Scalar::int16}};
  Filter f;
  f.variant = test::some_variant(random, variants);
  std::tie(f.in, f.out) = types[random.between(0, std::size(types) - (slopes ? 1 : 2))];
  f.boundary = test::one_of(random, kAnyBoundary);
  f.channels = random.chance(2) ? 1 : random.between(1, 4);
  return f;
}

/// Runs a filter of a window of left + 1 + right cells across and up + 1 + below down.
Outcome run_window(const smem::Context& context, Random& random, std::string& text, const Filter& f,
                   const std::function<double()>& number, const std::array<std::size_t, 4>& window,
                   std::string_view what,
                   const std::function<cl::Event(const smem::Grid&, const smem::Grid&, double value)>& call,
                   const std::function<std::string(const Endless&, long x, long y, std::size_t plane,
                                                   std::size_t c, double got)>& wrong) {
  if (test::is_missing(context, f.in)) return test::without_fp64();
  const smem::GridSize size = some_size(random, random.chance(4));
  const std::size_t batch = random.chance(3) ? random.between(1, 3) : 1;
  PlainGrid in(context, random, f.in, size, f.channels, batch),
      out(context, random, f.out, size, f.channels, batch);
  in.fill(number);
  const double value = few_digits(random, f.in);
  text = text_of(in, fmt::format("{} into {}, \"{}\", {} {}, window {}+1+{} x {}+1+{}", what,
                                 smem::name_of(f.out), f.variant, smem::name_of(f.boundary), value, window[0],
                                 window[1], window[2], window[3]));
  const Endless cells{in, f.boundary, value};
  PlainCheck check;
  check.wrong = [&](std::size_t x, std::size_t y, std::size_t plane, std::size_t c, double got) {
    return wrong(cells, whole(x), whole(y), plane, c, got);
  };
  check.kept = [&](std::size_t x, std::size_t y, std::size_t) {
    return f.boundary == Boundary::leave &&
           (x < window[0] || x + window[1] >= size.width || y < window[2] || y + window[3] >= size.height);
  };
  return test::run_plain({&in}, out, check, [&] { call(in.view, out.view, value); });
}

/// The sum of weights times the elements of a window, and of their magnitudes.
std::pair<double, double> plain_sum(const Endless& cells, long x, long y, std::size_t plane, std::size_t c,
                                    const std::vector<double>& row, const std::vector<double>& column) {
  double sum = 0, magnitude = 0;
  for (std::size_t j = 0; j < column.size(); ++j) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      const double term = row[i] * column[j] * cells.in_plane(x + whole(i), y + whole(j), plane, c);
      sum += term;
      magnitude += std::abs(term);
    }
  }
  return {sum, magnitude};
}

}  // namespace

TEST_CASE("random: stencils") {
  const smem::Context context;
  run_random("stencil", 101, [&](Random& random) -> RandomCase {
    constexpr Scalar types[] = {Scalar::float32, Scalar::uint8,  Scalar::half,
                                Scalar::float32, Scalar::uint16, Scalar::float64};
    const std::string variant = test::some_variant(random, smem::stencil_variants());
    const Scalar type = test::one_of(random, types);
    const Boundary boundary = test::one_of(random, kAnyBoundary);
    const std::size_t channels = random.chance(2) ? 1 : random.between(1, 4);
    const bool star = random.chance(2);
    const bool volume = variant == "march" || variant == "planes" || random.chance(4);
    const smem::Radius radius{random.between(0, 3), random.between(0, 3),
                              volume ? random.between(star ? 1 : 0, 2) : 0};
    return [=, &context](Random& more, std::string& text) {
      if (test::is_missing(context, type)) return test::without_fp64();
      const smem::GridSize size = some_size(more, volume);
      const std::size_t batch = more.chance(3) ? more.between(1, 3) : 1;
      PlainGrid in(context, more, type, size, channels, batch),
          out(context, more, type, size, channels, batch);
      in.fill([&] { return few_digits(more, type); });
      const double value = few_digits(more, type);
      const auto width = [](std::size_t r) { return 2 * r + 1; };
      const std::size_t count = star ? 2 * (radius.x + radius.y + radius.z) + 1
                                     : width(radius.x) * width(radius.y) * width(radius.z);
      const std::vector<double> weights = few_weights(more, count);
      smem::Stencil what = smem::Stencil::box(radius, weights, {boundary, value});
      if (star) what.shape = smem::StencilShape::star;
      text = text_of(in, fmt::format("{} of radius {}, {}, {}, \"{}\", {} {}", star ? "star" : "box",
                                     radius.x, radius.y, radius.z, variant, smem::name_of(boundary), value));
      const Endless cells{in, boundary, value};
      PlainCheck check;
      check.wrong = [&](std::size_t x, std::size_t y, std::size_t plane, std::size_t c, double got) {
        double sum = 0;
        std::size_t n = 0;
        const long rx = whole(radius.x), ry = whole(radius.y), rz = whole(radius.z);
        for (long k = -rz; k <= rz; ++k)
          for (long j = -ry; j <= ry; ++j)
            for (long i = -rx; i <= rx; ++i)
              if (!star || (i != 0) + (j != 0) + (k != 0) < 2)
                sum += weights[n++] * cells.at(whole(x) + i, whole(y) + j, whole(plane % size.depth) + k,
                                               plane / size.depth, c);
        return test::unless_equal(got, as_type(type, sum));
      };
      const auto is_inside = [](std::size_t at, std::size_t r, std::size_t extent) {
        return at >= r && at + r < extent;
      };
      check.kept = [&](std::size_t x, std::size_t y, std::size_t plane) {
        return boundary == Boundary::leave &&
               !(is_inside(x, radius.x, size.width) && is_inside(y, radius.y, size.height) &&
                 is_inside(plane % size.depth, radius.z, size.depth));
      };
      return test::run_plain({&in}, out, check,
                             [&] { smem::stencil(context, in.view, out.view, what, {.variant = variant}); });
    };
  });
}

TEST_CASE("random: convolutions of images") {
  const smem::Context context;
  run_random("convolve2d", 102, [&](Random& random) -> RandomCase {
    constexpr Scalar types[] = {Scalar::float32, Scalar::uint8, Scalar::half, Scalar::uint16,
                                Scalar::float64};
    const std::string variant = test::some_variant(random, smem::stencil_variants());
    const Scalar type = test::one_of(random, types);
    const std::size_t channels = random.chance(2) ? 1 : random.between(1, 4);
    smem::Convolution how;
    how.edges.boundary = kAnyBoundary[random.between(0, 5)];
    how.separable = smem::Separable::never;
    const std::size_t width = random.between(1, 5), height = random.between(1, 5);
    const bool plain = random.chance(2);
    return [=, &context](Random& more, std::string& text) mutable {
      if (test::is_missing(context, type)) return test::without_fp64();
      how.edges.value = few_digits(more, type);
      how.turned = more.chance(2);
      if (!plain) {
        how.stride.x = more.between(1, 3), how.stride.y = more.between(1, 3);
        how.dilation.x = more.between(1, 3), how.dilation.y = more.between(1, 3);
      }
      const std::vector<double> weights = few_weights(more, width * height);
      std::size_t left, top, right, bottom;
      if (more.chance(2)) {
        how.anchor_x.reset(), how.anchor_y.reset();
        left = more.between(0, 9), top = more.between(0, 9), right = more.between(0, 9),
        bottom = more.between(0, 9);
        how.padding = smem::Padding{left, top, right, bottom};
      } else {
        how.padding.reset();
        how.anchor_x = more.between(0, width - 1), how.anchor_y = more.between(0, height - 1);
        const std::size_t x = how.turned ? width - 1 - *how.anchor_x : *how.anchor_x,
                          y = how.turned ? height - 1 - *how.anchor_y : *how.anchor_y;
        left = x * how.dilation.x, right = (width - 1 - x) * how.dilation.x;
        top = y * how.dilation.y, bottom = (height - 1 - y) * how.dilation.y;
      }
      const smem::GridSize size = some_size(more, more.chance(4));
      const auto results = [](std::size_t extent, std::size_t window, std::size_t stride) {
        return extent < window ? 0 : (extent - window) / stride + 1;
      };
      const smem::GridSize out_size{
          results(size.width + left + right, (width - 1) * how.dilation.x + 1, how.stride.x),
          results(size.height + top + bottom, (height - 1) * how.dilation.y + 1, how.stride.y), size.depth};
      const std::size_t batch = more.chance(3) ? more.between(1, 3) : 1;
      PlainGrid in(context, more, type, size, channels, batch),
          out(context, more, type, out_size, channels, batch);
      in.fill([&] { return few_digits(more, type); });
      text = text_of(
          in,
          fmt::format("kernel {} x {}, stride {} {}, dilation {} {}, padding {} {} {} {}{}, \"{}\", {} {}",
                      width, height, how.stride.x, how.stride.y, how.dilation.x, how.dilation.y, left, top,
                      right, bottom, how.turned ? ", turned" : "", variant,
                      smem::name_of(*how.edges.boundary), how.edges.value));
      const Endless cells{in, *how.edges.boundary, how.edges.value};
      PlainCheck check;
      check.wrong = [&](std::size_t x, std::size_t y, std::size_t plane, std::size_t c, double got) {
        double sum = 0;
        for (std::size_t j = 0; j < height; ++j)
          for (std::size_t i = 0; i < width; ++i)
            sum += weights[how.turned ? (height - 1 - j) * width + width - 1 - i : j * width + i] *
                   cells.in_plane(whole(x * how.stride.x + i * how.dilation.x) - whole(left),
                                  whole(y * how.stride.y + j * how.dilation.y) - whole(top), plane, c);
        return test::unless_equal(got, as_type(type, sum));
      };
      return test::run_plain({&in}, out, check, [&] {
        smem::convolve2d(context, in.view, out.view, {width, height, weights}, how, {.variant = variant});
      });
    };
  });
}

TEST_CASE("random: separable filters") {
  const smem::Context context;
  run_random("separable", 103, [&](Random& random) -> RandomCase {
    const Filter f = some_filter(random, smem::separable_variants(), true);
    const std::size_t across = random.between(1, 9), down = random.between(1, 9),
                      left = random.between(0, across - 1);
    return [=, &context](Random& more, std::string& text) {
      const std::vector<double> row = few_weights(more, across), column = few_weights(more, down);
      const std::size_t up = more.between(0, down - 1);
      return run_window(
          context, more, text, f, [&] { return few_digits(more, f.in); },
          {left, across - 1 - left, up, down - 1 - up}, "separable",
          [&](const smem::Grid& in, const smem::Grid& out, double value) {
            return smem::separable(context, in, out, {row, column, left, up}, {f.boundary, value},
                                   {.variant = f.variant});
          },
          [&](const Endless& cells, long x, long y, std::size_t plane, std::size_t c, double got) {
            const double sum = plain_sum(cells, x - whole(left), y - whole(up), plane, c, row, column).first;
            return test::unless_equal(got, as_type(f.out, sum));
          });
    };
  });
}

TEST_CASE("random: box blurs with infinities and NaN") {
  const smem::Context context;
  run_random("box_blur", 104, [&](Random& random) -> RandomCase {
    const Filter f = some_filter(random, smem::box_variants());
    const std::size_t across = random.between(0, 12), down = random.between(0, 12);
    return [=, &context](Random& more, std::string& text) {
      const std::size_t special = more.chance(2) ? more.between(5, 80) : 0;  // one of so many
      const std::size_t area = (2 * across + 1) * (2 * down + 1);
      const auto number = [&]() -> double {
        if (f.in == Scalar::uint16) return static_cast<double>(more.between(0, 65535));
        if (!smem::is_float(f.in) || special == 0 || !more.chance(special)) return few_digits(more, f.in);
        return static_cast<double>(more.chance(3) ? NAN : more.chance(2) ? INFINITY : -INFINITY);
      };
      return run_window(
          context, more, text, f, number, {across, across, down, down}, "box",
          [&](const smem::Grid& in, const smem::Grid& out, double value) {
            return smem::box_blur(context, in, out, {across, down}, {f.boundary, value},
                                  {.variant = f.variant});
          },
          [&](const Endless& cells, long x, long y, std::size_t plane, std::size_t c, double got) {
            const double sum =
                plain_sum(cells, x - whole(across), y - whole(down), plane, c,
                          std::vector<double>(2 * across + 1, 1), std::vector<double>(2 * down + 1, 1))
                    .first;
            const double mean = sum / static_cast<double>(area);
            if (!smem::is_float(f.in)) return test::unless_equal(got, as_type(f.out, mean));
            if (area == 1) return test::unless_equal(got, as_type(f.out, mean));
            const double error = f.in == Scalar::float64 ? 1e-13 : 2e-6;
            return unless_rounded(f.out, got, mean, error);
          });
    };
  });
}

TEST_CASE("random: Gaussian blurs and unsharp masks") {
  const smem::Context context;
  run_random("gaussian_blur, unsharp_mask", 105, [&](Random& random) -> RandomCase {
    const Filter f = some_filter(random, smem::separable_variants());
    const bool sharp = random.chance(3);
    const std::size_t radius = random.between(0, 7), size = 2 * radius + 1;
    const double sigma = 0.5 + static_cast<double>(random.between(0, 20)) / 8;
    return [=, &context](Random& more, std::string& text) {
      std::vector<double> weights(size);
      double all = 0;
      for (std::size_t i = 0; i < size; ++i) {
        const double away = static_cast<double>(i) - static_cast<double>(radius);
        all += weights[i] = std::exp(-away * away / (2 * sigma * sigma));
      }
      for (double& weight : weights)
        weight /= all;
      const bool bytes = f.in == Scalar::uint8 && !sharp;
      if (bytes) weights = smem::gaussian_weights({size, sigma}, Scalar::uint8);  // rounded to 1/256
      const double amount = static_cast<double>(more.between(0, 16)) / 8;
      return run_window(
          context, more, text, f, [&] { return few_digits(more, f.in); }, {radius, radius, radius, radius},
          sharp ? "unsharp" : "gaussian",
          [&](const smem::Grid& in, const smem::Grid& out, double value) {
            const smem::CallOptions call{.variant = f.variant};
            return sharp ? smem::unsharp_mask(context, in, out, {{size, sigma}, amount, 0},
                                              {f.boundary, value}, call)
                         : smem::gaussian_blur(context, in, out, {size, sigma}, {f.boundary, value}, call);
          },
          [&](const Endless& cells, long x, long y, std::size_t plane, std::size_t c, double got) {
            const auto [sum, magnitude] =
                plain_sum(cells, x - whole(radius), y - whole(radius), plane, c, weights, weights);
            if (bytes && f.out == Scalar::uint8) return test::unless_equal(got, std::floor(sum + 0.5));
            const double own = cells.in_plane(x, y, plane, c);
            const double expected = sharp ? own + amount * (own - sum) : sum;
            const double unit = f.in == Scalar::float64 ? 1e-14 : 3e-6;
            return unless_rounded(f.out, got, expected, (magnitude + std::abs(own)) * unit);
          });
    };
  });
}

TEST_CASE("random: medians and slopes") {
  const smem::Context context;
  run_random("median_blur, sobel", 106, [&](Random& random) -> RandomCase {
    const int what = static_cast<int>(random.between(0, 3));
    Filter f = some_filter(
        random, what == 0 || what == 3 ? smem::window_variants() : smem::separable_variants(), what != 0);
    const std::size_t radius = random.between(1, 2), size = 2 * radius + 1;
    return [=, &context](Random& more, std::string& text) {
      const std::vector<double> slope =
          radius == 1 ? std::vector<double>{-1, 0, 1} : std::vector<double>{-1, -2, 0, 2, 1};
      const std::vector<double> smooth =
          radius == 1 ? std::vector<double>{1, 2, 1} : std::vector<double>{1, 4, 6, 4, 1};
      return run_window(
          context, more, text, f, [&] { return few_digits(more, f.in); }, {radius, radius, radius, radius},
          what == 0 ? "median" : "sobel",
          [&](const smem::Grid& in, const smem::Grid& out, double value) {
            const smem::CallOptions call{.variant = f.variant};
            if (what == 0) return smem::median_blur(context, in, out, size, {f.boundary, value}, call);
            return smem::sobel(context, in, out, {static_cast<smem::Gradient>(what - 1), size},
                               {f.boundary, value}, call);
          },
          [&](const Endless& cells, long x, long y, std::size_t plane, std::size_t c, double got) {
            const long r = whole(radius);
            if (what == 0) {
              std::vector<double> window;
              for (long j = -r; j <= r; ++j)
                for (long i = -r; i <= r; ++i)
                  window.push_back(cells.in_plane(x + i, y + j, plane, c));
              std::sort(window.begin(), window.end());
              return test::unless_equal(got, window[window.size() / 2]);
            }
            const double across = plain_sum(cells, x - r, y - r, plane, c, slope, smooth).first,
                         down = plain_sum(cells, x - r, y - r, plane, c, smooth, slope).first;
            if (what == 3) {
              const double magnitude = std::sqrt(across * across + down * down);
              return unless_rounded(f.out, got, magnitude, magnitude * 2e-6);
            }
            return test::unless_equal(got, as_type(f.out, what == 1 ? across : down));
          });
    };
  });
}
