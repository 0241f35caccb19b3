/// Runs one stencil or convolution, and compares every byte of the output buffer with what plain loops give.
#pragma once

#include "support/boundaries.hpp"
#include "support/case_sweep.hpp"
#include "support/matrices.hpp"
#include "support/random.hpp"

#include <smem/smem.hpp>

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

namespace test {

/// How a grid lies in its buffer, beside its size.
struct GridPlace {
  std::size_t channels = 1, batch = 1;
  std::size_t offset = 0, row_gap = 0, plane_gap = 0, grid_gap = 0, tail = 0;  ///< elements

  smem::GridLayout layout(const smem::GridSize& size) const {
    smem::GridLayout made;
    made.channels = channels;
    made.batch = batch;
    made.offset = offset;
    made.pitch = size.width * channels + row_gap;
    made.plane = size.height * made.pitch + plane_gap;
    made.batch_stride = size.depth * made.plane + grid_gap;
    return made;
  }
};

/// Elements of a buffer that holds the grids.
inline std::size_t elements_of(const smem::Grid& grid, std::size_t tail) {
  return grid.offset + grid.batch * grid.batch_stride + tail + 1;
}

struct StencilCase {
  smem::Scalar type = smem::Scalar::float32;
  std::string variant;
  smem::StencilShape shape = smem::StencilShape::box;
  smem::Boundary boundary = smem::Boundary::zero;
  smem::GridSize size = {};
  smem::Radius radius = {};
  GridPlace in, out;
  bool int8_weights = false;  ///< multiples of a power of two that int8 holds
  std::size_t tile_cols = 0;  ///< fixed, where it is not 0

  Tested tested() const { return {"stencil", variant, std::string(smem::name_of(type))}; }
  std::string text() const {
    return fmt::format(
        "{} {} of radius {}, {}, {} on {} x {} x {} cells, boundary {}, variant \"{}\", in {} channels {} "
        "grids "
        "offset {} gaps {} {} {}, out offset {} gaps {} {} {}; SMEM_SEED={}",
        smem::name_of(type), smem::name_of(shape), radius.x, radius.y, radius.z, size.width, size.height,
        size.depth, smem::name_of(boundary), variant, in.channels, in.batch, in.offset, in.row_gap,
        in.plane_gap, in.grid_gap, out.offset, out.row_gap, out.plane_gap, out.grid_gap, seed());
  }
};

/// What numbers of T are summed in, on the device too.
template <class T>
using Summed = std::conditional_t<std::is_same_v<T, double>, double, float>;

template <class T>
T stored(Summed<T> value) {
  if constexpr (std::is_integral_v<T>) {
    const float most = std::numeric_limits<T>::max();
    return static_cast<T>(value > 0 ? std::min(std::nearbyint(value), most) : 0.0F);
  } else {
    return T(value);
  }
}

template <class T>
T stencil_element(Random& random) {
  const std::uint64_t bits = random.next();
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(bits);
  } else {
    return T(static_cast<float>(static_cast<int>(bits >> 40 & 0xffff) - 0x8000) / 16384.0F);
  }
}

/// Numbers that are not read: NaN, or the largest.
template <class T>
T poison() {
  if constexpr (std::is_integral_v<T>) {
    return std::numeric_limits<T>::max();
  } else {
    return T(std::numeric_limits<float>::quiet_NaN());
  }
}

/// The place that stands at `i`, and -1 where a value does.
inline std::ptrdiff_t place_at(smem::Boundary boundary, std::ptrdiff_t i, std::ptrdiff_t n) {
  if (i >= 0 && i < n) return i;
  switch (boundary) {
    case smem::Boundary::clamp:
      return i < 0 ? 0 : n - 1;
    case smem::Boundary::reflect:
      return i < 0 ? -1 - i : 2 * n - 1 - i;
    case smem::Boundary::mirror:
      return i < 0 ? -i : 2 * n - 2 - i;
    case smem::Boundary::wrap:
      return i < 0 ? i + n : i - n;
    default:
      return -1;
  }
}

inline double beyond_of(smem::Boundary boundary) { return boundary == smem::Boundary::constant ? 3.25 : 0; }

/// Grids on the host, read as their boundary says.
template <class T>
struct StencilGrid {
  const smem::Grid& view;
  const std::vector<T>& data;
  smem::Boundary boundary;

  Summed<T> at(std::size_t batch, std::ptrdiff_t x, std::ptrdiff_t y, std::ptrdiff_t z,
               std::size_t channel) const {
    const auto n = [](std::size_t size) { return static_cast<std::ptrdiff_t>(size); };
    x = place_at(boundary, x, n(view.size.width));
    y = place_at(boundary, y, n(view.size.height));
    z = place_at(boundary, z, n(view.size.depth));
    if (x < 0 || y < 0 || z < 0)
      return static_cast<Summed<T>>(stored<T>(static_cast<Summed<T>>(beyond_of(boundary))));
    return static_cast<Summed<T>>(
        data[view.offset + batch * view.batch_stride + static_cast<std::size_t>(z) * view.plane +
             static_cast<std::size_t>(y) * view.pitch + static_cast<std::size_t>(x) * view.channels +
             channel]);
  }
};

/// The expression of the tests, of what the radius allows: exact but for one rounding.
inline std::string expression_for(const smem::Radius& r) {
  return fmt::format("fmax(AT({}, {}, {}), C)\n - 0.25f * AT(-{}, {}, {})", r.x, -static_cast<int>(r.y), r.z,
                     r.x, r.y, -static_cast<int>(r.z));
}

/// The result of a cell of one channel.
template <class T>
Summed<T> expected_sum(const StencilCase& c, const StencilGrid<T>& grid, const std::vector<double>& weights,
                       std::size_t b, std::size_t x, std::size_t y, std::size_t z, std::size_t channel) {
  const auto i = [](std::size_t n) { return static_cast<std::ptrdiff_t>(n); };
  const auto at = [&](std::ptrdiff_t dx, std::ptrdiff_t dy, std::ptrdiff_t dz) {
    return grid.at(b, i(x) + dx, i(y) + dy, i(z) + dz, channel);
  };
  const auto rx = i(c.radius.x), ry = i(c.radius.y), rz = i(c.radius.z);
  if (c.shape == smem::StencilShape::expression)
    return std::fmax(at(rx, -ry, rz), at(0, 0, 0)) - static_cast<Summed<T>>(0.25) * at(-rx, ry, -rz);
  Summed<T> sum = 0;
  std::size_t n = 0;
  for (std::ptrdiff_t dz = -rz; dz <= rz; ++dz) {
    for (std::ptrdiff_t dy = -ry; dy <= ry; ++dy) {
      for (std::ptrdiff_t dx = -rx; dx <= rx; ++dx) {
        if (c.shape == smem::StencilShape::star && (dx != 0) + (dy != 0) + (dz != 0) > 1) continue;
        sum = std::fma(static_cast<Summed<T>>(weights[n++]), at(dx, dy, dz), sum);
      }
    }
  }
  return sum;
}

/// Compares two buffers: their bits, or, where sums are `rounded` otherwise, numbers that may be neighbouring
/// halves, or 2^-16 apart, 2^-18 of the largest sums. \returns what is wrong.
template <class T>
std::string first_difference(const std::vector<T>& got, const std::vector<T>& expected,
                             bool rounded = false) {
  if (std::memcmp(got.data(), expected.data(), got.size() * sizeof(T)) == 0) return {};
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (std::memcmp(&got[i], &expected[i], sizeof(T)) == 0) continue;
    // Zeros may differ in sign: an expression is free to be computed as the compiler likes.
    if (static_cast<double>(got[i]) == 0 && static_cast<double>(expected[i]) == 0) continue;
    const double apart = std::abs(static_cast<double>(got[i]) - static_cast<double>(expected[i]));
    if (rounded && apart <= 0x1p-16 + 0x1p-10 * std::abs(static_cast<double>(expected[i]))) continue;
    return fmt::format("element {} is {}, expected {}", i, static_cast<double>(got[i]),
                       static_cast<double>(expected[i]));
  }
  return {};
}

/// The weights of a case: half of them are such that integers saturate now and then.
inline std::vector<double> weights_for(std::size_t count, Random& random) {
  std::vector<double> weights(count);
  for (double& weight : weights) {
    weight =
        static_cast<double>(static_cast<float>(static_cast<int>(random.next() >> 40 & 0xffff) - 0x7000)) /
        (16384.0 * std::sqrt(static_cast<double>(count)));
  }
  return weights;
}

/// The same of multiples of 2^-9, of which int8 holds all.
inline std::vector<double> int8_weights_for(std::size_t count, Random& random) {
  std::vector<double> weights(count);
  for (double& weight : weights)
    weight = (static_cast<double>(random.next() >> 40 & 0xff) - 128) / 512;
  return weights;
}

template <class T>
Outcome run_stencil(const smem::Context& context, const StencilCase& c, Random& random) {
  smem::Stencil what;
  what.shape = c.shape;
  what.radius = c.radius;
  what.edges.boundary = c.boundary;
  what.edges.value = beyond_of(c.boundary);
  const std::size_t wx = 2 * c.radius.x + 1, wy = 2 * c.radius.y + 1, wz = 2 * c.radius.z + 1;
  if (c.shape == smem::StencilShape::expression) {
    what.expression = expression_for(c.radius);
  } else {
    const std::size_t count = c.shape == smem::StencilShape::star ? wx + wy + wz - 2 : wx * wy * wz;
    what.weights = c.int8_weights ? int8_weights_for(count, random) : weights_for(count, random);
  }
  const smem::Grid in_shape(nullptr, c.type, c.size, c.in.layout(c.size));
  const smem::Grid out_shape(nullptr, c.type, c.size, c.out.layout(c.size));
  std::vector<T> input(elements_of(in_shape, c.in.tail), poison<T>());
  std::vector<T> expected(elements_of(out_shape, c.out.tail));
  for (T& element : expected)
    element = stencil_element<T>(random);
  const std::vector<T> before = expected;
  const auto each_row = [&](const smem::Grid& grid, const auto& visit) {
    for (std::size_t b = 0; b < grid.batch; ++b) {
      for (std::size_t z = 0; z < c.size.depth; ++z) {
        for (std::size_t y = 0; y < c.size.height; ++y)
          visit(b, y, z, grid.offset + b * grid.batch_stride + z * grid.plane + y * grid.pitch);
      }
    }
  };
  each_row(in_shape, [&](std::size_t, std::size_t, std::size_t, std::size_t at) {
    for (std::size_t i = 0; i < in_shape.row_elements(); ++i)
      input[at + i] = stencil_element<T>(random);
  });
  const StencilGrid<T> grid{in_shape, input, c.boundary};
  const auto is_left = [&](std::size_t at, std::size_t radius, std::size_t extent) {
    return c.boundary == smem::Boundary::leave && (at < radius || at + radius >= extent);
  };
  each_row(out_shape, [&](std::size_t b, std::size_t y, std::size_t z, std::size_t at) {
    if (is_left(y, c.radius.y, c.size.height) || is_left(z, c.radius.z, c.size.depth)) return;
    for (std::size_t x = 0; x < c.size.width; ++x) {
      if (is_left(x, c.radius.x, c.size.width)) continue;
      for (std::size_t channel = 0; channel < c.in.channels; ++channel) {
        expected[at + x * c.in.channels + channel] =
            stored<T>(expected_sum(c, grid, what.weights, b, x, y, z, channel));
      }
    }
  });

  const smem::Array<T> in_array(context, input), out_array(context, before);
  const smem::GridView<const T> in(in_array.buffer(), c.size, c.in.layout(c.size));
  const smem::GridView<T> out(out_array.buffer(), c.size, c.out.layout(c.size));
  try {
    const smem::PlanOverrides fixed{.variant = c.variant, .tile_cols = c.tile_cols};
    const cl::Event event = smem::stencil(context, in, out, what, {.overrides = &fixed});
    if (event() == nullptr) return {false, "the call returned no event"};
  } catch (const smem::Error& error) {
    if (error.details().argument != "variant")
      return {false, fmt::format("the call failed: {}", error.what())};
    if (!first_difference(out_array.to_host(), before).empty())
      return {false, "the call refused the variant, and wrote all the same"};
    return refusal(error);
  }
  const bool rounded = c.type == smem::Scalar::half && c.variant == "units";
  const std::string wrong = first_difference(out_array.to_host(), expected, rounded);
  if (!wrong.empty()) return {false, wrong};
  const std::vector<T> after = in_array.to_host();
  if (std::memcmp(after.data(), input.data(), input.size() * sizeof(T)) != 0)
    return {false, "the input has changed"};
  return {};
}

inline Outcome run(const smem::Context& context, const StencilCase& c, Random& random) {
  switch (c.type) {
    case smem::Scalar::uint8:
      return run_stencil<std::uint8_t>(context, c, random);
    case smem::Scalar::uint16:
      return run_stencil<std::uint16_t>(context, c, random);
    case smem::Scalar::half:
      return run_stencil<smem::half>(context, c, random);
    case smem::Scalar::float64:
      return context.device().fp64 ? run_stencil<double>(context, c, random) : without_fp64();
    default:
      return run_stencil<float>(context, c, random);
  }
}

using StencilSweep = CaseSweep<StencilCase>;

}  // namespace test
