/// What the tests of filters share: grids with gaps full of NaN, boundaries, and the comparison of every byte
/// of the output buffer with what plain loops in double precision give.
#pragma once

#include "support/case_sweep.hpp"
#include "support/matrices.hpp"
#include "support/random.hpp"

#include <smem/smem.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace test {

/// Where the grids of a filter lie, and what is in them.
struct FilterGrids {
  smem::Scalar in = smem::Scalar::float32, out = smem::Scalar::float32;
  smem::GridSize size, out_size;  ///< out_size of width 0: as size
  std::size_t channels = 1, batch = 1;
  bool gaps = false;        ///< odd offsets and pitches, else packed
  std::size_t aligned = 0;  ///< not 0: offsets and pitches are multiples of it, with gaps after rows
  smem::Boundary boundary = smem::Boundary::zero;
  double value = 0;

  smem::GridLayout layout(const smem::GridSize& cells, std::size_t more) const {
    smem::GridLayout layout{.channels = channels, .batch = batch};
    if (aligned != 0) {
      layout.offset = aligned;
      layout.pitch = (cells.width * channels / aligned + 1) * aligned;
      layout.plane = cells.height * layout.pitch;
      layout.batch_stride = cells.depth * layout.plane;
      return layout;
    }
    if (!gaps) return layout;
    layout.offset = 3 + more;
    layout.pitch = cells.width * channels + 5 + more;
    layout.plane = cells.height * layout.pitch + 2;
    layout.batch_stride = cells.depth * layout.plane + 9;
    return layout;
  }
  smem::GridSize result_size() const { return out_size.width == 0 ? size : out_size; }
  std::string text() const {
    return fmt::format(
        "{} -> {}, {} x {} x {} cells of {} channels, batch {}{}, boundary {} {}; SMEM_SEED={}",
        smem::name_of(in), smem::name_of(out), size.width, size.height, size.depth, channels, batch,
        aligned != 0 ? fmt::format(", rows at multiples of {}", aligned)
        : gaps       ? ", with gaps"
                     : "",
        smem::name_of(boundary), value, seed());
  }
};

/// The place whose element stands at place i of a row of n, by the definition of the boundary; -1: none.
inline std::ptrdiff_t boundary_place(smem::Boundary boundary, std::ptrdiff_t i, std::ptrdiff_t n) {
  if (i >= 0 && i < n) return i;
  const auto modulo = [](std::ptrdiff_t a, std::ptrdiff_t b) { return (a % b + b) % b; };
  switch (boundary) {
    case smem::Boundary::zero:
    case smem::Boundary::constant:
    case smem::Boundary::leave:
      return -1;
    case smem::Boundary::clamp:
      return i < 0 ? 0 : n - 1;
    case smem::Boundary::reflect: {
      const std::ptrdiff_t k = modulo(i, 2 * n);
      return k < n ? k : 2 * n - 1 - k;
    }
    case smem::Boundary::mirror: {
      if (n == 1) return 0;
      const std::ptrdiff_t k = modulo(i, 2 * n - 2);
      return k < n ? k : 2 * n - 2 - k;
    }
    case smem::Boundary::wrap:
      return modulo(i, n);
  }
  return -1;
}

inline std::size_t span_of(const smem::Grid& g) {
  if (g.size.width == 0 || g.size.height == 0 || g.size.depth == 0 || g.batch == 0) return g.offset;
  return g.offset + (g.batch - 1) * g.batch_stride + (g.size.depth - 1) * g.plane +
         (g.size.height - 1) * g.pitch + g.row_elements();
}

/// Calls `visit(place in the buffer, x, y, channel, plane)` for every element.
template <class Visit>
void each_element(const smem::Grid& g, const Visit& visit) {
  for (std::size_t b = 0; b < g.batch; ++b)
    for (std::size_t z = 0; z < g.size.depth; ++z)
      for (std::size_t y = 0; y < g.size.height; ++y)
        for (std::size_t x = 0; x < g.size.width; ++x)
          for (std::size_t c = 0; c < g.channels; ++c)
            visit(g.offset + b * g.batch_stride + z * g.plane + y * g.pitch + x * g.channels + c, x, y, c,
                  b * g.size.depth + z);
}

inline double decode(smem::Scalar type, const unsigned char* at) {
  const auto as = [&](auto zero) {
    std::memcpy(&zero, at, sizeof zero);
    return zero;
  };
  using enum smem::Scalar;
  if (type == uint8) return as(std::uint8_t{});
  if (type == int16) return as(std::int16_t{});
  if (type == uint16) return as(std::uint16_t{});
  if (type == uint32) return as(std::uint32_t{});
  if (type == int8) return as(std::int8_t{});
  if (type == int32) return as(std::int32_t{});
  if (type == half) return static_cast<float>(as(smem::half{}));
  if (type == bfloat16) return static_cast<float>(as(smem::bfloat16{}));
  return type == float64 ? as(double{}) : as(float{});
}

inline void encode(smem::Scalar type, double value, unsigned char* at) {
  const auto put = [&](auto number) { std::memcpy(at, &number, sizeof number); };
  using enum smem::Scalar;
  if (type == uint8) return put(static_cast<std::uint8_t>(value));
  if (type == uint16) return put(static_cast<std::uint16_t>(value));
  if (type == int8) return put(static_cast<std::int8_t>(value));
  if (type == int32) return put(static_cast<std::int32_t>(value));
  if (type == half) return put(smem::half(static_cast<float>(value)));
  if (type == bfloat16) return put(smem::bfloat16(static_cast<float>(value)));
  return type == float64 ? put(value) : put(static_cast<float>(value));
}

/// An element of a plane of the input, at any place: what lies beyond the edges is the boundary's.
using Pixels = std::function<double(std::ptrdiff_t x, std::ptrdiff_t y)>;

/// What is expected: nothing where the output keeps what it has.
struct Wanted {
  double value = 0;
  double error = 0;  ///< that float arithmetic may have made, in the output's units, before it is rounded
};

/// The types' units and range; integers: `error` and half a unit may be off.
inline bool is_close(smem::Scalar type, double got, const Wanted& e) {
  if (std::isnan(e.value)) return std::isnan(got);
  const auto within = [&](double low, double high) {
    const double exact = std::clamp(e.value, low, high);
    return got == std::rint(got) && std::abs(got - exact) <= 0.5 + e.error;
  };
  using enum smem::Scalar;
  if (type == uint8) return within(0, 255);
  if (type == int16) return within(-32768, 32767);
  if (type == uint16) return within(0, 65535);
  if (type == int32) return within(-0x1p31, 0x1p31 - 1);
  if (std::isinf(e.value) || got == e.value) return got == e.value;
  const double unit = type == half       ? std::max(std::abs(e.value) * 0x1p-11, 0x1p-25)
                      : type == bfloat16 ? std::abs(e.value) * 0x1p-8
                                         : std::abs(e.value) * (type == float64 ? 0x1p-53 : 0x1p-24);
  return std::abs(got - e.value) <= e.error + unit;
}

/// Random bytes as numbers of a type: small ones of floats, all of integers'.
inline double random_pixel(smem::Scalar type, Random& random) {
  if (type == smem::Scalar::uint8) return static_cast<double>(random.between(0, 255));
  if (type == smem::Scalar::uint16) return static_cast<double>(random.between(0, 65535));
  if (type == smem::Scalar::int8) return static_cast<double>(random.between(0, 255)) - 128;
  if (type == smem::Scalar::int32) return static_cast<double>(random.between(0, 2000000)) - 1000000;
  const double number = static_cast<double>(random.between(0, 4096)) / 2048 - 1;
  const auto as_float = static_cast<float>(number);
  if (type == smem::Scalar::half) return static_cast<double>(static_cast<float>(smem::half(as_float)));
  if (type == smem::Scalar::bfloat16)
    return static_cast<double>(static_cast<float>(smem::bfloat16(as_float)));
  return number;
}

/// Runs `call(in, out)`, which may refuse its variant, and compares with `reference(pixels, x, y)`, which is
/// asked for each element with the pixels of its plane and channel.
template <class Call, class Reference>
Outcome run_filter(const smem::Context& context, const FilterGrids& g, Random& random, const Call& call,
                   const Reference& reference) {
  if ((g.in == smem::Scalar::float64 || g.out == smem::Scalar::float64) && !context.device().fp64)
    return without_fp64();
  const std::size_t in_bytes = smem::size_of(g.in), out_bytes = smem::size_of(g.out);
  smem::Grid in(nullptr, g.in, g.size, g.layout(g.size, 0));
  smem::Grid out(nullptr, g.out, g.result_size(), g.layout(g.result_size(), 4));
  const std::size_t tail = g.gaps ? 7 : 0;
  // NaN, or what stands out, in the gaps.
  std::vector<unsigned char> input(std::max<std::size_t>((span_of(in) + tail) * in_bytes, 1), 0xff);
  each_element(in, [&](std::size_t at, std::size_t, std::size_t, std::size_t, std::size_t) {
    encode(g.in, random_pixel(g.in, random), input.data() + at * in_bytes);
  });
  const std::vector<unsigned char> poison =
      random.bytes(std::max<std::size_t>((span_of(out) + tail) * out_bytes, 1));
  const smem::Array<unsigned char> in_array(context, input), out_array(context, poison);
  in.buffer = in_array.buffer()();
  out.buffer = out_array.buffer()();
  try {
    if (call(in, out)() == nullptr) return {false, "the call returned no event"};
  } catch (const smem::Error& error) {
    if (error.details().argument != "variant")
      return {false, fmt::format("the call failed: {}", error.what())};
    if (out_array.to_host() != poison) return {false, "the call refused the variant, and wrote all the same"};
    return refusal(error);
  }
  std::vector<unsigned char> got = out_array.to_host();
  std::string fault;
  each_element(out, [&](std::size_t at, std::size_t x, std::size_t y, std::size_t c, std::size_t plane) {
    if (!fault.empty()) return;
    const std::size_t first =
        in.offset + plane / g.size.depth * in.batch_stride + plane % g.size.depth * in.plane + c;
    const Pixels pixels = [&](std::ptrdiff_t px, std::ptrdiff_t py) {
      const std::ptrdiff_t ix = boundary_place(g.boundary, px, static_cast<std::ptrdiff_t>(g.size.width));
      const std::ptrdiff_t iy = boundary_place(g.boundary, py, static_cast<std::ptrdiff_t>(g.size.height));
      if (ix < 0 || iy < 0) return g.boundary == smem::Boundary::constant ? g.value : 0.0;
      return decode(g.in, input.data() + (first + static_cast<std::size_t>(iy) * in.pitch +
                                          static_cast<std::size_t>(ix) * g.channels) *
                                             in_bytes);
    };
    const std::optional<Wanted> expected =
        reference(pixels, static_cast<std::ptrdiff_t>(x), static_cast<std::ptrdiff_t>(y));
    unsigned char* here = got.data() + at * out_bytes;
    if (expected) {
      const double value = decode(g.out, here);
      if (!is_close(g.out, value, *expected)) {
        fault = fmt::format("({}, {}) channel {} of plane {} is {}, expected {}, off by at most {:.3g}", x, y,
                            c, plane, value, expected->value, expected->error);
      }
      std::memcpy(here, poison.data() + at * out_bytes, out_bytes);  // what must stay, is compared below
    }
  });
  if (!fault.empty()) return {false, fault};
  if (got != poison) return {false, "the output buffer has changed where nothing is to be written"};
  if (in_array.to_host() != input) return {false, "the input has changed"};
  return {};
}

}  // namespace test
