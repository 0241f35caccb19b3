/// Runs one histogram on one shape and layout, and compares every byte of the output buffer with what plain
/// loops give.
#pragma once

#include "support/case_sweep.hpp"
#include "support/matrices.hpp"
#include "support/random.hpp"
#include "support/reductions.hpp"

#include <smem/smem.hpp>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace test {

enum class Spread { uniform, equal, zipf, special };

inline const char* name_of(Spread spread) {
  constexpr const char* kNames[] = {"uniform", "equal", "zipf", "special"};
  return kNames[static_cast<int>(spread)];
}

struct HistogramCase {
  smem::Scalar in = smem::Scalar::float32;
  smem::Scalar out = smem::Scalar::uint32;
  std::string variant;
  std::size_t bins = 256;
  double low = 0, high = 1;
  smem::Outside outside = smem::Outside::drop;
  bool edges = false;  ///< uneven ones from low to high, some of them equal
  Spread spread = Spread::uniform;
  std::size_t rows = 1, cols = 0, channels = 1;
  Layout layout;
  std::size_t out_offset = 0;

  Tested tested() const { return {"histogram", variant, std::string(smem::name_of(in))}; }
  std::string text() const {
    const smem::Extent& e = layout.extent;
    return fmt::format(
        "{} {} of {} x {}, {} channels, {} bins{} over [{}, {}), {}, variant \"{}\", out {} + {}; offset {} "
        "pitch {} batch {} stride {} tail {}; SMEM_SEED={}",
        name_of(spread), smem::name_of(in), rows, cols, channels, bins, edges ? " between edges" : "", low,
        high, smem::name_of(outside), variant, smem::name_of(out), out_offset, e.offset, e.pitch, e.batch,
        e.batch_stride, layout.tail, seed());
  }
};

__extension__ using Int128 = __int128;

/// The nearest value of T.
template <class T>
T nearest(double value) {
  if constexpr (smem::is_float(smem::scalar_of<T>)) {
    return T(static_cast<float>(value));
  } else {
    using Limits = std::numeric_limits<T>;
    if (!(value > static_cast<double>(Limits::min()))) return Limits::min();
    if (value >= static_cast<double>(Limits::max())) return Limits::max();
    return static_cast<T>(value);
  }
}
template <>
inline double nearest<double>(double value) {
  return value;
}

/// Half is compared as float.
template <class T>
auto compared(T value) {
  if constexpr (std::is_same_v<T, smem::half>) {
    return static_cast<float>(value);
  } else {
    return value;
  }
}

template <class T>
T histogram_element(const HistogramCase& c, const std::vector<T>& edges, Random& random) {
  const double width = (c.high - c.low) / static_cast<double>(c.bins);
  const double part = static_cast<double>(random.next() >> 11) * 0x1p-53;
  switch (c.spread) {
    case Spread::uniform:
      return nearest<T>(c.low + (c.high - c.low) * (part * 1.25 - 0.125));
    case Spread::equal:
      return nearest<T>(c.low + (c.high - c.low) * 0.3);
    case Spread::zipf:  // bin i about as often as 1 / (i + 1)
      return nearest<T>(c.low + (std::exp(part * std::log(static_cast<double>(c.bins))) - 0.5) * width);
    case Spread::special:
      break;
  }
  using Limits = std::numeric_limits<std::conditional_t<std::is_same_v<T, smem::half>, float, T>>;
  const T edge = edges.empty() || random.chance(2)
                     ? nearest<T>(c.low + static_cast<double>(random.between(0, c.bins)) * width)
                     : edges[random.between(0, edges.size() - 1)];
  if constexpr (smem::is_float(smem::scalar_of<T>)) {
    switch (random.between(0, 8)) {
      case 0:
        return T(Limits::quiet_NaN());
      case 1:
        return T(Limits::infinity());
      case 2:
        return T(-Limits::infinity());
      case 3:
        return nearest<T>(random.chance(2) ? c.low : c.high);
      case 4:
      case 5:
        return T(std::nextafter(compared(edge), random.chance(2) ? Limits::lowest() : Limits::max()));
      case 6:
        return T(random.chance(2) ? -0.0F : 0.0F);
      default:
        return edge;
    }
  } else {
    switch (random.between(0, 5)) {
      case 0:
        return random.chance(2) ? Limits::min() : Limits::max();
      case 1:
        return nearest<T>(random.chance(2) ? c.low : c.high);
      case 2:
        return static_cast<T>(edge - (edge > Limits::min() ? 1 : 0));
      case 3:
        return static_cast<T>(edge + (edge < Limits::max() ? 1 : 0));
      case 4:
        return static_cast<T>(random.next());
      default:
        return edge;
    }
  }
}

/// The bin by the documented rule; -1: outside below, -2: outside above, -3: NaN.
template <class T>
std::int64_t expected_bin(const HistogramCase& c, const std::vector<T>& edges, T value) {
  const auto x = compared(value);
  if constexpr (smem::is_float(smem::scalar_of<T>)) {
    if (std::isnan(x)) return -3;
  }
  if (c.edges) {
    if (x < compared(edges.front())) return -1;
    if (x >= compared(edges.back())) return -2;
    const auto after = std::upper_bound(edges.begin(), edges.end(), value,
                                        [](const T& a, const T& b) { return compared(a) < compared(b); });
    return after - edges.begin() - 1;
  }
  if constexpr (smem::is_float(smem::scalar_of<T>)) {
    using Value = decltype(x + x);
    const auto low = static_cast<Value>(c.low), high = static_cast<Value>(c.high);
    if (x < low) return -1;
    if (x >= high) return -2;
    const auto scale = static_cast<Value>(static_cast<double>(c.bins) /
                                          (static_cast<double>(high) - static_cast<double>(low)));
    const Value difference = x - low;
    const Value place = difference * scale;
    return std::min(static_cast<std::int64_t>(place), static_cast<std::int64_t>(c.bins) - 1);
  } else {
    const auto low = static_cast<Int128>(c.low), high = static_cast<Int128>(c.high);
    if (x < low) return -1;
    if (x >= high) return -2;
    return static_cast<std::int64_t>((x - low) * static_cast<Int128>(c.bins) / (high - low));
  }
}

template <class T>
Outcome run_histogram(const smem::Context& context, const HistogramCase& c, Random& random) {
  std::vector<T> edges;
  if (c.edges) {
    for (std::size_t i = 0; i <= c.bins; ++i) {  // closer at the low end
      const double part = static_cast<double>(i) / static_cast<double>(c.bins);
      edges.push_back(i > 1 && i % 7 == 3 ? edges.back()
                                          : nearest<T>(c.low + (c.high - c.low) * part * part));
    }
  }
  const smem::Matrix shape(nullptr, smem::scalar_of<T>, c.rows, c.cols, c.layout.extent);
  // Around and between the rows lies what would be counted.
  std::vector<T> input(std::max<std::size_t>(elements_of(shape) + c.layout.tail, 1));
  for (T& element : input)
    element = histogram_element<T>(c, edges, random);
  const std::size_t entries = c.bins * c.channels;
  std::vector<std::uint64_t> expected(entries * shape.batch);
  for (std::size_t b = 0; b < shape.batch; ++b) {
    for (std::size_t i = 0; i < shape.rows; ++i) {
      for (std::size_t j = 0; j < shape.cols; ++j) {
        std::int64_t bin =
            expected_bin<T>(c, edges, input[shape.offset + b * shape.batch_stride + i * shape.pitch + j]);
        if (c.outside == smem::Outside::clamp && bin == -1) bin = 0;
        if (c.outside == smem::Outside::clamp && bin == -2) bin = static_cast<std::int64_t>(c.bins) - 1;
        if (bin >= 0) ++expected[b * entries + j % c.channels * c.bins + static_cast<std::size_t>(bin)];
      }
    }
  }

  const std::size_t width = smem::size_of(c.out);
  const std::vector<unsigned char> poison = random.bytes((c.out_offset + expected.size() + 3) * width);
  const smem::Array<T> in_array(context, input);
  const smem::Array<T> edge_array(context, edges);
  const smem::Array<unsigned char> out_array(context, poison);
  const smem::Vector out(out_array.buffer()(), c.out, expected.size(), c.out_offset);
  const smem::Matrix in(in_array.buffer()(), c.in, c.rows, c.cols, c.layout.extent);
  smem::Bins bins = c.edges ? smem::Bins::between(edge_array.vector(), c.outside)
                            : smem::Bins::even(c.bins, c.low, c.high, c.outside);
  bins.channels = c.channels;
  try {
    const smem::CallOptions options{.variant = c.variant};
    const bool vector = c.rows == 1 && shape.batch == 1 && c.channels == 1;
    const cl::Event event =
        vector
            ? smem::histogram(context, smem::Vector(in.buffer, c.in, c.cols, in.offset), out, bins, options)
            : smem::histogram(context, in, out, bins, options);
    if (event() == nullptr) return {false, "the call returned no event"};
  } catch (const smem::Error& error) {
    if (error.details().argument != "variant")
      return {false, fmt::format("the call failed: {}", error.what())};
    if (out_array.to_host() != poison) return {false, "the call refused the variant, and wrote all the same"};
    return refusal(error);
  }
  std::vector<unsigned char> got = out_array.to_host();
  for (std::size_t r = 0; r < expected.size(); ++r) {
    unsigned char* at = got.data() + (c.out_offset + r) * width;
    std::uint64_t count = 0;
    std::memcpy(&count, at, width);  // little-endian
    if (count != expected[r]) {
      return {false,
              fmt::format("count {} of {} is {}, expected {}", r, expected.size(), count, expected[r])};
    }
  }
  if (!expected.empty()) {
    std::memcpy(got.data() + c.out_offset * width, poison.data() + c.out_offset * width,
                expected.size() * width);
  }
  if (got != poison) return {false, "the output buffer has changed outside the results"};
  const std::vector<T> after = in_array.to_host();
  if (std::memcmp(after.data(), input.data(), input.size() * sizeof(T)) != 0)
    return {false, "the input has changed"};
  return {};
}

inline Outcome run(const smem::Context& context, const HistogramCase& c, Random& random) {
  if (c.in == smem::Scalar::float64 && !context.device().fp64) return without_fp64();
  return with_type(c.in, [&](auto zero) { return run_histogram<decltype(zero)>(context, c, random); });
}

using HistogramSweep = CaseSweep<HistogramCase>;

/// Bounds that fit a type, and are no powers of two.
inline std::pair<double, double> bounds_for(smem::Scalar type) {
  if (type == smem::Scalar::uint8) return {3, 250};
  if (type == smem::Scalar::int8) return {-100, 101};
  if (!smem::is_float(type)) return {smem::is_signed(type) ? -1003.0 : 5.0, 29989};
  return {-1.7, 2.3};
}

}  // namespace test
