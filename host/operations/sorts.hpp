/// What descriptions of sorts share.
#pragma once

#include "operations/data.hpp"
#include "operations/words.hpp"

#include "formatted.hpp"

#include <smem/scalar.hpp>
#include <smem/sort_plan.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

namespace smem::operations {

/// The key that is `part`, from 0 to 1, of the way from the least to the greatest.
inline double key_at(Scalar type, double part) {
  if (is_float(type)) return (part - 0.5) * 60000;
  const double bits = 8.0 * static_cast<double>(size_of(type));
  return std::floor((part - (is_signed(type) ? 0.5 : 0)) * std::exp2(bits));
}

/// From 0 to 1, by 53 random bits.
inline double part_of(std::uint64_t random) { return static_cast<double>(random >> 11) * 0x1p-53; }

/// Keys of all values; or of `distinct` values, with all bits in use.
inline Fill keys_of(Scalar type, std::size_t distinct) {
  Fill fill;
  fill.number = [=](std::uint64_t random) {
    if (distinct > 0) random = (random >> 32) % distinct * 0x9e3779b97f4a7c15U;
    return key_at(type, part_of(random));
  };
  return fill;
}

/// How keys are distributed, unless they are uniform.
inline WordRule spread_rule() {
  return choice_rule("spread",
                     "How keys are distributed: uniform, by Zipf's law, sorted, reversed, or equal in their "
                     "high bits",
                     {"uniform", "zipf", "sorted", "reversed", "high-bits"});
}

/// `count` keys, as the words `spread` and `distinct` say.
inline Fill keys_of(const char* operation, Scalar type, std::size_t count, const Words& words) {
  const std::string& spread = words.text("spread");
  const std::size_t distinct = words.number("distinct");
  if (distinct > 0 && spread != "uniform") refuse(operation, "spread", "uniform with --distinct", spread);
  Fill fill = keys_of(type, distinct);
  if (spread == "zipf") {
    // By the inverse of the distribution with exponent 1: the logarithm of a rank is uniform.
    fill.number = [=](std::uint64_t random) {
      constexpr double kRanks = 0x1p20;
      const auto rank = static_cast<std::uint64_t>(std::pow(kRanks, part_of(random)));
      return key_at(type, part_of(rank * 0x9e3779b97f4a7c15U));
    };
  } else if (spread == "high-bits") {
    fill.number = [=](std::uint64_t random) {
      constexpr double kShare = 0x1p-10;  // of all keys; or of a power of two, for floating-point keys
      return is_float(type) ? 1 + kShare * part_of(random) : key_at(type, 0.5 + kShare * part_of(random));
    };
  } else if (spread != "uniform") {
    fill.at = [=, ascending = spread == "sorted"](std::size_t i) {
      // Low bits are random: sorted random keys, and no arithmetic progression.
      const double within = part_of((i + 1) * 0x9e3779b97f4a7c15U);
      const double part = (static_cast<double>(i) + within) / static_cast<double>(count);
      return key_at(type, ascending ? part : std::max(1 - 0x1p-53 - part, 0.0));
    };
  }
  return fill;
}

/// What a case's text says of its keys.
inline std::string keys_text(const Words& words) {
  const std::size_t distinct = words.number("distinct");
  const std::string& spread = words.text("spread");
  return (distinct > 0 ? formatted(", {} distinct", distinct) : "") +
         (spread != "uniform" ? ", " + spread : "");
}

/// What the words say of values or places beside keys, of which `count` lie one behind the other.
template <class Problem>
void set_payload(Problem& p, const Words& words, const char* operation, std::size_t count) {
  p.payload = words.enumerator<SortPayload>("payload");
  if (p.payload == SortPayload::values) p.value_bytes = size_of(words.scalar("value"));
  if (p.payload == SortPayload::places) {
    p.value_bytes = count > 0xffffffffU ? 8 : 4;
    if (p.in_place) refuse(operation, "in-place", "keys or values", "places");
  }
}

/// The places of `count` keys from `first` on, counted from there, in the keys' order.
inline std::vector<std::uint64_t> sorted_places(const HostArray& keys, std::size_t first, std::size_t count,
                                                bool descending) {
  std::vector<double> numbers(count);
  for (std::size_t i = 0; i < count; ++i)
    numbers[i] = keys.number(first + i);
  std::vector<std::uint64_t> places(count);
  std::iota(places.begin(), places.end(), std::uint64_t{0});
  std::stable_sort(places.begin(), places.end(), [&](std::uint64_t a, std::uint64_t b) {
    return descending ? numbers[a] > numbers[b] : numbers[a] < numbers[b];
  });
  return places;
}

}  // namespace smem::operations
