// Even bins as numbers that kernels compute with.
#include "formatted.hpp"
#include "plan/sizes.hpp"

#include <smem/histogram_plan.hpp>

#include <bit>
#include <cmath>
#include <utility>

namespace smem {

using namespace plan;

namespace {

__extension__ using Wide = unsigned __int128;

void check_bounds(double low, double high) {
  for (const auto& [name, bound] : {std::pair{"bins.low", low}, {"bins.high", high}}) {
    if (!std::isfinite(bound)) refuse("histogram", name, "a finite number", formatted("{}", bound));
  }
  if (low >= high)
    refuse("histogram", "bins.high", formatted("more than low, which is {}", low), formatted("{}", high));
}

template <class T, class Bits>
EvenBins floating_bins(std::size_t count, double low, double high) {
  const auto first = static_cast<T>(low), end = static_cast<T>(high);
  const T scale = static_cast<T>(real(count) / (real(end) - real(first)));
  if (!(first < end) || !std::isfinite(first) || !std::isfinite(end) || !std::isfinite(end - first) ||
      !std::isnormal(scale)) {
    refuse(
        "histogram", "bins.high",
        "a number whose distance from low, and the inverse of the bins' width, are ordinary numbers of the "
        "type computed in",
        formatted("{} with low {} and {} bins", high, low, count));
  }
  return {BinRule::even, std::bit_cast<Bits>(first), std::bit_cast<Bits>(end), std::bit_cast<Bits>(scale), 0};
}

/// The bits of a whole number from -2^63 to 2^64, which wraps to 0.
std::uint64_t bits_of_whole(double whole) {
  if (whole < 0) return static_cast<std::uint64_t>(static_cast<std::int64_t>(whole));
  return whole >= 0x1p64 ? 0 : static_cast<std::uint64_t>(whole);
}

EvenBins integer_bins(Scalar type, std::size_t count, double low, double high) {
  const int bits = static_cast<int>(8 * size_of(type));
  const double least = is_signed(type) ? -std::ldexp(1.0, bits - 1) : 0.0;
  const double beyond = least + std::ldexp(1.0, bits);  // the largest value and 1
  for (const auto& [name, bound] : {std::pair{"bins.low", low}, {"bins.high", high}}) {
    if (bound != std::floor(bound) || bound < least || bound > beyond) {
      refuse("histogram", name,
             formatted("a whole number from {} to {} for {}", least, beyond, name_of(type)),
             formatted("{}", bound));
    }
  }
  EvenBins bins;
  bins.low = bits_of_whole(low);
  const std::uint64_t range = bits_of_whole(high) - bins.low;  // 0: 2^64
  bins.high = range - 1;
  if (range == count) {
    bins.rule = bits <= 16 && low == least && high == beyond ? BinRule::whole : BinRule::direct;
    return bins;
  }
  if (range == 0) {
    bins.scale = count;
    return bins;
  }
  // floor(d * count / range) from the reciprocal rounded up: its error e < range moves no distance d < range
  // past a whole number while d * e < 2^32.
  if (range <= std::uint64_t{1} << 16 && count < range) {
    bins.rule = BinRule::small;
    bins.scale = ((std::uint64_t{count} << 32) + range - 1) / range;
    return bins;
  }
  if (range > std::uint64_t{1} << 63) {
    refuse("histogram", "bins.high", "at most 2^63 or exactly 2^64 more than low",
           formatted("{} with low {}", high, low));
  }
  // The same with the upper 64 bits of a product, and d * e < 2^(64 - shift): for all ranges up to 2^32.
  // For 64-bit integers it is rounded down, and the kernel corrects a result that is one too low.
  bins.shift = range <= std::uint64_t{1} << 20 ? 20 : 0;
  const Wide numerator = Wide{count} << (64 - bins.shift);
  const Wide reciprocal = (numerator + (bits == 64 ? 0 : range - 1)) / range;
  bins.scale = range == 1 ? 0 : static_cast<std::uint64_t>(reciprocal);
  return bins;
}

}  // namespace

EvenBins even_bins(Scalar type, std::size_t count, double low, double high) {
  require_known("histogram", "type", type);
  if (count == 0 || count > kMaxBins)
    refuse("histogram", "bins", formatted("1 to {} bins", kMaxBins), formatted("{}", count));
  check_bounds(low, high);
  if (type == Scalar::float64) return floating_bins<double, std::uint64_t>(count, low, high);
  if (is_float(type)) return floating_bins<float, std::uint32_t>(count, low, high);
  return integer_bins(type, count, low, high);
}

}  // namespace smem
