/// What descriptions of sorts share.
#pragma once

#include "operations/data.hpp"
#include "operations/words.hpp"

#include <smem/scalar.hpp>
#include <smem/sort_plan.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace smem::operations {

/// Keys of all values; or of `distinct` values, with all bits in use.
inline Fill keys_of(Scalar type, std::size_t distinct) {
  Fill fill;
  const double bits = 8.0 * static_cast<double>(size_of(type));
  fill.number = [=](std::uint64_t random) {
    if (distinct > 0) random = (random >> 32) % distinct * 0x9e3779b97f4a7c15U;
    const double part = static_cast<double>(random >> 11) * 0x1p-53;  // of 1
    if (is_float(type)) return (part - 0.5) * 60000;
    return std::floor((part - (is_signed(type) ? 0.5 : 0)) * std::exp2(bits));
  };
  return fill;
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
