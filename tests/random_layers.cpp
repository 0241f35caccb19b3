// Random pools, convolutions of networks, moving means and heat, against plain loops that share nothing with
// the library.
#include <smem/smem.hpp>

#include "support/plain.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

using smem::Scalar;
using test::Outcome;
using test::PlainCheck;
using test::PlainGrid;
using test::Random;
using test::RandomCase;
using test::run_random;

namespace {

constexpr std::pair<Scalar, Scalar> kLayerTypes[] = {
    {Scalar::float32, Scalar::float32}, {Scalar::uint8, Scalar::uint8}, {Scalar::uint8, Scalar::float32},
    {Scalar::uint16, Scalar::uint16},   {Scalar::half, Scalar::half},   {Scalar::uint16, Scalar::float32},
    {Scalar::float64, Scalar::float64}, {Scalar::half, Scalar::float32}};

/// Any integer; of floats numbers of few digits, of which sums are exact.
double some_number(Random& random, Scalar type) {
  if (type == Scalar::uint8) return static_cast<double>(random.between(0, 255));
  if (type == Scalar::uint16) return static_cast<double>(random.between(0, 65535));
  if (type == Scalar::int8) return static_cast<double>(random.between(0, 255)) - 128;
  return (static_cast<double>(random.between(0, 32)) - 16) / 4;
}

/// A mean: of integers it is exact, as an integer rounded half to even.
std::string unless_mean(Scalar in, Scalar out, double got, double sum, std::size_t count) {
  const auto mean = sum / static_cast<double>(count);
  if (smem::is_float(in)) {
    const double unit = out == Scalar::float64 ? 0x1p-50 : out == Scalar::half ? 0x1p-11 : 0x1p-21;
    return test::unless_near(got, mean, unit * std::abs(mean) + (out == Scalar::float64 ? 0 : 1e-6));
  }
  if (smem::is_float(out)) return test::unless_equal(got, static_cast<double>(static_cast<float>(mean)));
  return test::unless_equal(got, std::nearbyint(mean));
}

/// A float that is not a number now and then.
double with_special(Random& random, Scalar type, std::size_t one_in) {
  if (!smem::is_float(type) || one_in == 0 || !random.chance(one_in)) return some_number(random, type);
  return random.chance(3) ? NAN : random.chance(2) ? INFINITY : -INFINITY;
}

std::size_t some_side(Random& random, std::size_t most) {
  return random.chance(3) ? random.between(1, 3) : random.between(1, most);
}

std::string text_of(const PlainGrid& in, const PlainGrid& out, std::string_view what) {
  return fmt::format("{} x {} x {} cells of {} {} into {}, batch {}, offset {}, pitch {}: {}",
                     in.view.size.width, in.view.size.height, in.view.size.depth, in.view.channels,
                     smem::name_of(*in.view.type.scalar), smem::name_of(*out.view.type.scalar), in.view.batch,
                     in.view.offset, in.view.pitch, what);
}

}  // namespace

TEST_CASE("random: pools with NaN and the places of the greatest") {
  const smem::Context context;
  run_random("max_pool2d, avg_pool2d", 201, [&](Random& random) -> RandomCase {
    const auto [in_type, out_type] = kLayerTypes[random.between(0, std::size(kLayerTypes) - 1)];
    const bool max = random.chance(2), places = max && random.chance(2), count_padding = random.chance(2);
    const std::string variant = test::some_variant(random, smem::pool_variants());
    const std::size_t channels = random.chance(2) ? 1 : random.between(1, 4);
    smem::Pooling windows;
    windows.window.width = random.between(1, 5), windows.window.height = random.between(1, 5);
    windows.stride.x = random.between(1, 4), windows.stride.y = random.between(1, 4);
    windows.count_padding = count_padding;
    return [=, in_type = in_type, out_type = out_type, &context](Random& more, std::string& text) mutable {
      if (test::is_missing(context, in_type)) return test::without_fp64();
      windows.padding.left = more.between(0, windows.window.width - 1);
      windows.padding.right = more.between(0, windows.window.width - 1);
      windows.padding.top = more.between(0, windows.window.height - 1);
      windows.padding.bottom = more.between(0, windows.window.height - 1);
      const smem::GridSize size{some_side(more, more.chance(4) ? 70 : 14), some_side(more, 14),
                                more.chance(4) ? more.between(1, 3) : 1};
      const auto results = [](std::size_t extent, std::size_t window, std::size_t stride) {
        return extent < window ? 0 : (extent - window) / stride + 1;
      };
      const smem::GridSize out_size{results(size.width + windows.padding.left + windows.padding.right,
                                            windows.window.width, windows.stride.x),
                                    results(size.height + windows.padding.top + windows.padding.bottom,
                                            windows.window.height, windows.stride.y),
                                    size.depth};
      const std::size_t batch = more.chance(3) ? more.between(1, 3) : 1;
      PlainGrid in(context, more, in_type, size, channels, batch),
          out(context, more, out_type, out_size, channels, batch),
          indices(context, more, Scalar::uint32, out_size, channels, batch);
      const std::size_t one_in = more.chance(2) ? more.between(2, 40) : 0;
      in.fill([&] { return max ? with_special(more, in_type, one_in) : some_number(more, in_type); });
      text =
          text_of(in, out,
                  fmt::format("{}{}, windows {} x {}, strides {} {}, padding {} {} {} {}, \"{}\"",
                              max ? "max" : "avg", places ? " and places" : "", windows.window.width,
                              windows.window.height, windows.stride.x, windows.stride.y, windows.padding.left,
                              windows.padding.right, windows.padding.top, windows.padding.bottom, variant));
      indices.upload();
      const std::vector<unsigned char> poison = indices.bytes();
      std::vector<unsigned char> expected_indices = poison;
      PlainCheck check;
      check.wrong = [&](std::size_t x, std::size_t y, std::size_t plane, std::size_t c, double got) {
        double sum = 0, greatest = -INFINITY;
        std::size_t count = 0, place = 0;
        bool any = false;
        for (std::size_t j = 0; j < windows.window.height; ++j) {
          for (std::size_t i = 0; i < windows.window.width; ++i) {
            const std::size_t px = x * windows.stride.x + i, py = y * windows.stride.y + j;
            if (px < windows.padding.left || px - windows.padding.left >= size.width ||
                py < windows.padding.top || py - windows.padding.top >= size.height)
              continue;
            const std::size_t ix = px - windows.padding.left, iy = py - windows.padding.top;
            const double v = in.at(ix, iy, plane, c);
            sum += v;
            ++count;
            const bool is_first_nan = std::isnan(v) && !std::isnan(greatest);
            if (!any || is_first_nan || v > greatest) greatest = v, place = iy * size.width + ix;
            any = true;
          }
        }
        if (!any) return std::string("a window has no element");
        if (count_padding) count = windows.window.width * windows.window.height;
        if (places) {
          const auto number = static_cast<std::uint32_t>(place);
          std::memcpy(expected_indices.data() + 4 * indices.index(x, y, plane, c), &number, sizeof number);
        }
        return max ? test::unless_equal(got, greatest) : unless_mean(in_type, out_type, got, sum, count);
      };
      const smem::CallOptions call{.variant = variant};
      Outcome outcome = test::run_plain({&in}, out, check, [&] {
        if (places)
          smem::max_pool2d(context, in.view, out.view, indices.view, windows, call);
        else if (max)
          smem::max_pool2d(context, in.view, out.view, windows, call);
        else
          smem::avg_pool2d(context, in.view, out.view, windows, call);
      });
      indices.download();
      if (outcome.fault.empty() && indices.bytes() != (outcome.refused ? poison : expected_indices))
        outcome.fault = "the places are wrong";
      return outcome;
    };
  });
}

TEST_CASE("random: pools of whole planes") {
  const smem::Context context;
  run_random("global_max_pool, global_avg_pool", 202, [&](Random& random) -> RandomCase {
    const auto [in_type, out_type] = kLayerTypes[random.between(0, std::size(kLayerTypes) - 1)];
    const bool max = random.chance(2);
    const std::size_t channels = random.chance(2) ? 1 : random.between(1, 4);
    return [=, in_type = in_type, out_type = out_type, &context](Random& more, std::string& text) {
      if (test::is_missing(context, in_type)) return test::without_fp64();
      const smem::GridSize size{some_side(more, 300), some_side(more, 90),
                                more.chance(4) ? more.between(1, 3) : 1};
      const std::size_t batch = more.chance(3) ? more.between(1, 3) : 1;
      PlainGrid in(context, more, in_type, size, channels, batch),
          out(context, more, out_type, {1, 1, size.depth}, channels, batch);
      const std::size_t one_in = more.chance(2) ? more.between(20, 9000) : 0;
      in.fill([&] { return with_special(more, in_type, one_in); });
      text = text_of(in, out, max ? "max" : "avg");
      PlainCheck check;
      check.wrong = [&](std::size_t, std::size_t, std::size_t plane, std::size_t c, double got) {
        double sum = 0, greatest = -INFINITY;
        for (std::size_t y = 0; y < size.height; ++y) {
          for (std::size_t x = 0; x < size.width; ++x) {
            const double v = in.at(x, y, plane, c);
            sum += v;
            if (std::isnan(v) || v > greatest) greatest = std::isnan(greatest) ? greatest : v;
          }
        }
        if (max) return test::unless_equal(got, greatest);
        return unless_mean(in_type, out_type, got, sum, size.width * size.height);
      };
      return test::run_plain({&in}, out, check, [&] {
        if (max)
          smem::global_max_pool(context, in.view, out.view);
        else
          smem::global_avg_pool(context, in.view, out.view);
      });
    };
  });
}

TEST_CASE("random: convolutions of many channels") {
  const smem::Context context;
  run_random("conv2d", 203, [&](Random& random) -> RandomCase {
    constexpr Scalar kTypes[] = {Scalar::float32, Scalar::float32,  Scalar::half,
                                 Scalar::float64, Scalar::bfloat16, Scalar::int8};
    const Scalar type = kTypes[random.between(0, std::size(kTypes) - 1)];
    const bool is_storage = type == Scalar::half || type == Scalar::bfloat16;
    const Scalar out_type = type == Scalar::int8             ? Scalar::int32
                            : is_storage && random.chance(3) ? Scalar::float32
                                                             : type;
    std::string variant = test::some_variant(random, smem::conv2d_variants());
    const std::size_t groups = random.chance(3) ? random.between(2, 4) : 1,
                      in_channels = groups * random.between(1, 5), filters = groups * random.between(1, 5),
                      width = random.between(1, 4), height = random.between(1, 4);
    smem::Conv2d how;
    how.groups = groups;
    if (random.chance(2)) how.stride.x = random.between(1, 3), how.stride.y = random.between(1, 3);
    if (random.chance(3)) how.dilation.x = random.between(1, 3), how.dilation.y = random.between(1, 3);
    const bool bias = random.chance(2), rectified = random.chance(3);
    if (rectified) how.activation = smem::Activation::relu;
    return [=, &context](Random& more, std::string& text) mutable {
      if (test::is_missing(context, type)) return test::without_fp64();
      how.padding = {more.between(0, 3), more.between(0, 3), more.between(0, 3), more.between(0, 3)};
      const smem::GridSize size{some_side(more, 20), some_side(more, 12), in_channels};
      const auto results = [](std::size_t extent, std::size_t window, std::size_t stride) {
        return extent < window ? 0 : (extent - window) / stride + 1;
      };
      const smem::GridSize out_size{results(size.width + how.padding.left + how.padding.right,
                                            (width - 1) * how.dilation.x + 1, how.stride.x),
                                    results(size.height + how.padding.top + how.padding.bottom,
                                            (height - 1) * how.dilation.y + 1, how.stride.y),
                                    filters};
      const std::size_t batch = more.between(1, 3), depth = in_channels / groups;
      PlainGrid in(context, more, type, size, 1, batch), out(context, more, out_type, out_size, 1, batch),
          weights(context, more, type, {width, height, depth}, 1, filters);
      // The weights of filters follow each other.
      const smem::GridLayout packed{.offset = more.between(0, 9), .batch = filters};
      std::vector<double> numbers(width * height * depth * filters), biases(filters);
      const bool whole = type == Scalar::int8;
      for (double& number : numbers)
        number = whole ? some_number(more, type) : (static_cast<double>(more.between(0, 4)) - 2) / 2;
      for (double& number : biases)
        number = (static_cast<double>(more.between(0, 8)) - 4) / (whole ? 1 : 2);
      in.fill([&] { return some_number(more, type); });
      const auto bytes_of = [](Scalar of, const std::vector<double>& values, std::size_t before) {
        std::vector<unsigned char> bytes((values.size() + before) * smem::size_of(of), 0xff);
        for (std::size_t i = 0; i < values.size(); ++i)
          test::encode(of, values[i], bytes.data() + (before + i) * smem::size_of(of));
        return bytes;
      };
      const smem::Array<unsigned char> weight_array(context, bytes_of(type, numbers, packed.offset)),
          bias_array(context, bytes_of(out_type, biases, 0));
      const smem::Grid filter_grid(weight_array.buffer()(), type, {width, height, depth}, packed);
      smem::Conv2d call = how;
      if (bias) call.bias = smem::Vector(bias_array.buffer()(), out_type, filters);
      text =
          text_of(in, out,
                  fmt::format("{} filters of {} x {}, {} groups, stride {} {}, dilation {} {}, padding {} "
                              "{} {} {}{}{}, \"{}\"",
                              filters, width, height, groups, how.stride.x, how.stride.y, how.dilation.x,
                              how.dilation.y, how.padding.left, how.padding.top, how.padding.right,
                              how.padding.bottom, bias ? ", bias" : "", rectified ? ", relu" : "", variant));
      PlainCheck check;
      check.wrong = [&](std::size_t x, std::size_t y, std::size_t plane, std::size_t, double got) {
        const std::size_t n = plane / filters, k = plane % filters, group = k / (filters / groups);
        double sum = bias ? biases[k] : 0;
        for (std::size_t c = 0; c < depth; ++c) {
          for (std::size_t r = 0; r < height; ++r) {
            for (std::size_t s = 0; s < width; ++s) {
              const std::size_t px = x * how.stride.x + s * how.dilation.x,
                                py = y * how.stride.y + r * how.dilation.y;
              if (px < how.padding.left || px - how.padding.left >= size.width || py < how.padding.top ||
                  py - how.padding.top >= size.height)
                continue;
              sum +=
                  numbers[((k * depth + c) * height + r) * width + s] *
                  in.at(px - how.padding.left, py - how.padding.top, n * in_channels + group * depth + c, 0);
            }
          }
        }
        if (rectified) sum = std::max(sum, 0.0);
        const auto as_float = static_cast<float>(sum);
        const double expected =
            out_type == Scalar::half       ? static_cast<double>(static_cast<float>(smem::half(as_float)))
            : out_type == Scalar::bfloat16 ? static_cast<double>(static_cast<float>(smem::bfloat16(as_float)))
                                           : sum;
        return test::unless_equal(got, expected);
      };
      return test::run_plain({&in}, out, check, [&] {
        smem::conv2d(context, in.view, filter_grid, out.view, call, {.variant = variant});
      });
    };
  });
}

TEST_CASE("random: moving means with infinities and NaN") {
  const smem::Context context;
  run_random("moving_mean", 204, [&](Random& random) -> RandomCase {
    const auto [in_type, out_type] = kLayerTypes[random.between(0, std::size(kLayerTypes) - 1)];
    const std::string variant = test::some_variant(random, smem::moving_mean_variants());
    const std::size_t most = random.chance(2) ? 20 : random.chance(2) ? 600 : 5000;
    return [=, in_type = in_type, out_type = out_type, &context](Random& more, std::string& text) {
      if (test::is_missing(context, in_type)) return test::without_fp64();
      const std::size_t window = more.between(1, most);
      const smem::GridSize size{some_side(more, more.chance(3) ? 3000 : 200), some_side(more, 4),
                                more.chance(4) ? more.between(1, 3) : 1};
      const auto ends = more.chance(2) ? smem::MeanEnds::shrink : smem::MeanEnds::zero;
      const std::size_t batch = more.chance(3) ? more.between(1, 3) : 1;
      PlainGrid in(context, more, in_type, size, 1, batch), out(context, more, out_type, size, 1, batch);
      const std::size_t one_in = more.chance(2) ? more.between(5, 900) : 0;
      in.fill([&] { return with_special(more, in_type, one_in); });
      text = text_of(in, out,
                     fmt::format("window {}, {}, \"{}\"", window,
                                 ends == smem::MeanEnds::zero ? "zero" : "shrink", variant));
      PlainCheck check;
      check.wrong = [&](std::size_t x, std::size_t y, std::size_t plane, std::size_t, double got) {
        double sum = 0;
        std::size_t count = 0;
        for (std::size_t i = 0; i < window; ++i) {
          const std::size_t at = x + i;  // and half a window before
          if (at < window / 2 || at - window / 2 >= size.width) continue;
          sum += in.at(at - window / 2, y, plane, 0);
          ++count;
        }
        return unless_mean(in_type, out_type, got, sum, ends == smem::MeanEnds::zero ? window : count);
      };
      return test::run_plain({&in}, out, check, [&] {
        smem::moving_mean(context, in.view, out.view, window, ends, {.variant = variant});
      });
    };
  });
}

TEST_CASE("random: heat") {
  const smem::Context context;
  run_random("heat", 205, [&](Random& random) -> RandomCase {
    const Scalar type = random.chance(3) ? Scalar::float64 : Scalar::float32;
    const std::string variant = test::some_variant(random, smem::heat_variants());
    const std::size_t dimensions = random.between(1, 3);
    const auto walls = static_cast<smem::Walls>(random.between(0, 2));
    const bool variable = random.chance(2), source = random.chance(3);
    const auto mean = static_cast<smem::FaceMean>(random.between(0, 1));
    const std::size_t steps_per_pass = random.between(0, 4);
    return [=, &context](Random& more, std::string& text) {
      if (test::is_missing(context, type)) return test::without_fp64();
      const smem::GridSize size{some_side(more, 90), dimensions > 1 ? some_side(more, 40) : 1,
                                dimensions > 2 ? some_side(more, 20) : 1};
      const std::size_t batch = more.chance(3) ? more.between(1, 2) : 1;
      PlainGrid in(context, more, type, size, 1, batch), out(context, more, type, size, 1, batch),
          k(context, more, type, size, 1, batch), q(context, more, type, size, 1, batch);
      const auto part = [&] { return static_cast<double>(more.between(0, 4096)) / 4096; };
      in.fill([&] { return 4 * part() - 2; });
      k.fill([&] { return more.chance(5) ? 0 : part(); });
      q.fill([&] { return part() - 0.5; });
      k.upload();
      q.upload();
      smem::Heat heat{
          .steps = more.between(0, 6), .dx = 0.5 + part(), .dy = 0.5 + part(), .dz = 0.5 + part()};
      heat.conductivity = 0.25 + part();
      heat.max_conductivity = 1;
      heat.mean = mean;
      heat.walls = walls;
      heat.wall_value = 1.5;
      heat.dimensions = dimensions;
      heat.steps_per_pass = steps_per_pass;
      if (variable) heat.conductivities = k.view;
      if (source) heat.source = q.view;
      heat.dt = 0.9 * smem::heat_time_step_limit(heat, dimensions);
      text = text_of(
          in, out,
          fmt::format("{} steps, at most {} a pass, walls {}, dt {}, dx {}, dy {}, dz {}{}{}, \"{}\"",
                      heat.steps, steps_per_pass, smem::name_of(walls), heat.dt, heat.dx, heat.dy, heat.dz,
                      variable ? ", conductivities" : "", source ? ", source" : "", variant));
      // All cells of all planes, plane by plane.
      const std::array<std::size_t, 3> extent{size.width, size.height, size.depth};
      const std::array<double, 3> spacing{heat.dx, heat.dy, heat.dz};
      const auto cell_of = [&](const std::array<std::size_t, 3>& at, std::size_t b) {
        return ((b * size.depth + at[2]) * size.height + at[1]) * size.width + at[0];
      };
      const auto each = [&](const auto& visit) {
        for (std::size_t b = 0; b < batch; ++b)
          for (std::size_t z = 0; z < size.depth; ++z)
            for (std::size_t y = 0; y < size.height; ++y)
              for (std::size_t x = 0; x < size.width; ++x)
                visit(std::array<std::size_t, 3>{x, y, z}, b);
      };
      std::vector<double> u(size.width * size.height * size.depth * batch), next(u.size());
      each([&](const std::array<std::size_t, 3>& at, std::size_t b) {
        u[cell_of(at, b)] = in.at(at[0], at[1], b * size.depth + at[2], 0);
      });
      for (std::size_t step = 0; step < heat.steps; ++step) {
        each([&](const std::array<std::size_t, 3>& at, std::size_t b) {
          const auto conductivity = [&](const std::array<std::size_t, 3>& cell) {
            return variable ? k.at(cell[0], cell[1], b * size.depth + cell[2], 0) : heat.conductivity;
          };
          const double own = u[cell_of(at, b)], here = conductivity(at);
          double change = source ? q.at(at[0], at[1], b * size.depth + at[2], 0) : 0;
          bool outermost = false;
          for (std::size_t d = 0; d < dimensions; ++d) {
            for (const int way : {-1, 1}) {
              const bool wall = way < 0 ? at[d] == 0 : at[d] + 1 == extent[d];
              outermost = outermost || wall;
              double other = walls == smem::Walls::fixed ? heat.wall_value : own, face = here;
              if (!wall) {
                std::array<std::size_t, 3> neighbour = at;
                neighbour[d] = way < 0 ? at[d] - 1 : at[d] + 1;
                other = u[cell_of(neighbour, b)];
                const double there = conductivity(neighbour);
                face = mean == smem::FaceMean::arithmetic ? 0.5 * (here + there)
                       : here * there == 0                ? 0
                                                          : 2 / (1 / here + 1 / there);
              }
              change += face * (other - own) / (spacing[d] * spacing[d]);
            }
          }
          next[cell_of(at, b)] = walls == smem::Walls::held && outermost ? own : own + heat.dt * change;
        });
        std::swap(u, next);
      }
      PlainCheck check;
      check.wrong = [&](std::size_t x, std::size_t y, std::size_t plane, std::size_t, double got) {
        const double expected = u[cell_of({x, y, plane % size.depth}, plane / size.depth)];
        return test::unless_near(got, expected, type == Scalar::float64 ? 1e-12 : 1e-4);
      };
      return test::run_plain({&in}, out, check,
                             [&] { smem::heat(context, in.view, out.view, heat, {.variant = variant}); });
    };
  });
}
