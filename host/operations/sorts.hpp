/// What descriptions of sorts share.
#pragma once

#include "operations/data.hpp"
#include "operations/matrices.hpp"
#include "operations/words.hpp"

#include "formatted.hpp"

#include <smem/scalar.hpp>
#include <smem/sort.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
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
  fill.draws_all = true;
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

/// Sets values or places beside keys, of which `count` are contiguous, from the words.
template <class Problem>
void set_payload(Problem& p, const Words& words, const char* operation, std::size_t count) {
  p.payload = words.enumerator<SortPayload>("payload");
  if (p.payload == SortPayload::values) p.value_bytes = size_of(words.scalar("value"));
  if (p.payload == SortPayload::places) {
    p.value_bytes = count > 0xffffffffU ? 8 : 4;
    if (p.in_place) refuse(operation, "in-place", "keys or values", "places");
  }
}

/// The words of SortOrder, after those that an operation has itself.
inline std::vector<WordRule> with_order(std::vector<WordRule> words) {
  words.insert(words.end(),
               {flag_rule("descending", "Sort in descending order"),
                flag_rule("total-order", "Order floating-point keys by IEEE 754's totalOrder"),
                flag_rule("nan-least", "Order NaN below all other keys, instead of above them"),
                or_zero(number_rule("begin-bit", "The lowest bit of the keys' codes to sort by", "0")),
                or_zero(number_rule("end-bit", "The bit after the highest one; 0: all bits", "0"))});
  return words;
}

/// The order that the words ask for. \throws Error where the keys are integers that have no NaN.
template <class Problem>
void set_order(Problem& p, const Words& words, const char* operation) {
  for (const char* const word : {"total-order", "nan-least"})
    if (words.flag(word) && !is_float(p.keys))
      refuse(operation, word, "floating-point keys", std::string(name_of(p.keys)));
  p.descending = words.flag("descending");
  p.total_order = words.flag("total-order");
  p.nan_least = words.flag("nan-least");
  p.begin_bit = words.number("begin-bit");
  p.end_bit = words.number("end-bit") != 0 ? words.number("end-bit") : 8 * size_of(p.keys);
}

template <class Problem>
SortOrder order_of(const Problem& p) {
  return {p.descending, p.total_order, p.nan_least, p.begin_bit, p.end_bit};
}

/// What a case's text says of the order.
template <class Problem>
std::string order_text(const Problem& p) {
  std::string text = p.descending ? ", descending" : "";
  if (p.total_order) text += ", total order";
  if (p.nan_least) text += ", NaN least";
  if (p.begin_bit != 0 || p.end_bit != 8 * size_of(p.keys))
    text += formatted(", bits {} to {}", p.begin_bit, p.end_bit);
  return text;
}

/// Random keys; where the order is one of NaNs, one in 16 is a zero or NaN of either sign.
template <class Problem>
Fill with_nans(Fill fill, const Problem& p) {
  if (!p.total_order && !p.nan_least) return fill;
  fill.number = [other = std::move(fill.number)](std::uint64_t random) {
    constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
    constexpr double kSpecial[] = {0.0, -0.0, kNan, -kNan};
    return random % 16 == 0 ? kSpecial[random / 16 % 4] : other(random);
  };
  return fill;
}

/// The code whose bits SortOrder selects: see smem/sort.hpp.
template <class Problem>
std::uint64_t code_of(const HostArray& keys, std::size_t i, const Problem& p) {
  const std::size_t bytes = size_of(p.keys);
  const std::uint64_t sign = std::uint64_t{1} << (8 * bytes - 1);
  std::uint64_t key = 0;  // of little-endian bytes
  std::memcpy(&key, keys.bytes.data() + i * bytes, bytes);
  if (!is_float(p.keys)) return is_signed(p.keys) ? key ^ sign : key;
  const std::uint64_t magnitude = key & (sign - 1);
  if (!p.total_order && std::isnan(keys.number(i))) return p.nan_least ? 0 : sign + (sign - 1);
  return (key & sign) != 0 ? sign - magnitude - (p.total_order ? 1 : 0) : sign + magnitude;
}

/// The places of `count` keys from `first` on, counted from there, in the order of the problem.
template <class Problem>
std::vector<std::uint64_t> sorted_places(const HostArray& keys, std::size_t first, std::size_t count,
                                         const Problem& p) {
  const std::size_t bits = p.end_bit - p.begin_bit;
  const std::uint64_t mask = bits == 0 ? 0 : ~std::uint64_t{0} >> (64 - bits);
  std::vector<std::uint64_t> codes(count);
  for (std::size_t i = 0; i < count; ++i)
    codes[i] = code_of(keys, first + i, p) >> std::min<std::size_t>(p.begin_bit, 63) & mask;
  std::vector<std::uint64_t> places(count);
  std::iota(places.begin(), places.end(), std::uint64_t{0});
  std::stable_sort(places.begin(), places.end(), [&](std::uint64_t a, std::uint64_t b) {
    return p.descending ? codes[a] > codes[b] : codes[a] < codes[b];
  });
  return places;
}

/// The reference: sorts `count` keys from `first` on, with what moves with them.
template <class Problem>
void sort_plainly(const Problem& p, const std::vector<HostArray>& from, std::vector<HostArray>& to,
                  std::size_t first, std::size_t count) {
  const std::vector<std::uint64_t> places = sorted_places(from[0], first, count, p);
  for (std::size_t i = 0; i < count; ++i) {
    if (p.payload == SortPayload::places) {
      to[0].set(first + i, static_cast<double>(places[i]));
      continue;
    }
    copy_element(from[0], first + places[i], to[0], first + i, size_of(p.keys));
    if (p.payload == SortPayload::values)
      copy_element(from[1], first + places[i], to[1], first + i, p.value_bytes);
  }
}

}  // namespace smem::operations
