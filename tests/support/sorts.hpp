/// Sorts beside std::stable_sort.
#pragma once

#include "support/random_cases.hpp"

#include <smem/smem.hpp>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

namespace test {

/// A key of each type.
using KeyOfEachType =
    std::tuple<std::uint32_t, float, std::int8_t, std::uint8_t, std::int16_t, std::uint16_t, std::int32_t,
               std::int64_t, std::uint64_t, smem::half, smem::bfloat16, double>;

/// Calls `body` with a key of type number `n`.
template <class Body>
void with_key_type(std::size_t n, const Body& body) {
  const auto call = [&](std::size_t number, auto key) {
    if (number == n) body(key);
  };
  std::size_t number = 0;
  std::apply([&](auto... key) { (call(number++, key), ...); }, KeyOfEachType());
}

/// The unsigned integer of a key's size.
template <class K>
using BitsOf =
    std::conditional_t<sizeof(K) == 1, std::uint8_t,
                       std::conditional_t<sizeof(K) == 2, std::uint16_t,
                                          std::conditional_t<sizeof(K) == 4, std::uint32_t, std::uint64_t>>>;

template <class K>
inline constexpr bool is_real = smem::is_float(smem::scalar_of<K>);

/// A key as a number that C++ compares.
template <class K>
auto number_of(K key) {
  if constexpr (std::is_class_v<K>) {
    return static_cast<float>(key);
  } else {
    return key;
  }
}

/// The unsigned integer whose bits SortOrder counts.
template <class K>
std::uint64_t image_of(K key, const smem::SortOrder& order) {
  constexpr std::uint64_t kSign = std::uint64_t{1} << (8 * sizeof(K) - 1), kAll = kSign | (kSign - 1);
  const std::uint64_t bits = std::bit_cast<BitsOf<K>>(key);
  std::uint64_t image = bits;
  if constexpr (is_real<K>) {
    const bool negative = (bits & kSign) != 0;
    if (order.total_order) {
      image = negative ? kAll - bits : bits + kSign;
    } else if (std::isnan(number_of(key))) {
      image = order.nan_least ? 0 : kAll;
    } else {
      image = negative ? kSign - (bits - kSign) : kSign + bits;
    }
  } else if constexpr (std::is_signed_v<K>) {
    image = static_cast<std::uint64_t>(static_cast<std::int64_t>(key)) + kSign;
  }
  return image & kAll;
}

/// Whether a comes before b by all bits; written without images, where that can be.
template <class K>
bool precedes(K a, K b, const smem::SortOrder& order) {
  const auto less = [&](K x, K y) {
    if constexpr (is_real<K>) {
      if (order.total_order) return image_of(x, order) < image_of(y, order);
      const auto p = number_of(x), q = number_of(y);
      if (order.nan_least && (std::isnan(p) || std::isnan(q))) return std::isnan(p) && !std::isnan(q);
      return std::isnan(q) ? !std::isnan(p) : p < q;
    } else {
      return x < y;
    }
  };
  return order.descending ? less(b, a) : less(a, b);
}

/// Whether a comes before b by the bits that `order` selects.
template <class K>
bool precedes_by_bits(K a, K b, const smem::SortOrder& order) {
  const std::size_t end = order.end_bit.value_or(8 * sizeof(K)), bits = end - order.begin_bit;
  if (bits == 8 * sizeof(K)) return precedes(a, b, order);
  const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
  const auto part = [&](K key) { return (image_of(key, order) >> (order.begin_bit & 63)) & mask; };
  return order.descending ? part(a) > part(b) : part(a) < part(b);
}

/// The keys' places in their order.
template <class K>
std::vector<std::uint64_t> sorted_places(const std::vector<K>& keys, const smem::SortOrder& order) {
  std::vector<std::uint64_t> places(keys.size());
  std::iota(places.begin(), places.end(), std::uint64_t{0});
  std::stable_sort(places.begin(), places.end(), [&](std::uint64_t a, std::uint64_t b) {
    return precedes_by_bits(keys[a], keys[b], order);
  });
  return places;
}

/// What keys are like.
enum class Keys {
  uniform,   ///< all bits are random
  equal,     ///< one key
  sorted,    ///< ascending
  reversed,  ///< descending
  two,       ///< two keys in turns
  zipf,      ///< few keys are frequent, many are not
  small,     ///< less than 200: only the lowest digit differs
  last,      ///< all equal but the last few
  ones,      ///< all bits set, among others: what pads a tile
  special,   ///< zeros and NaNs of both signs, infinities, the smallest numbers
};
inline constexpr Keys kKeys[] = {Keys::uniform, Keys::equal, Keys::sorted, Keys::reversed, Keys::two,
                                 Keys::zipf,    Keys::small, Keys::last,   Keys::ones,     Keys::special};

template <class K>
std::vector<K> make_keys(Keys kind, std::size_t size, std::uint64_t stream) {
  using Bits = BitsOf<K>;
  Random random(stream);
  std::vector<K> keys(size);
  const std::uint64_t one = random.next(), other = random.next();
  constexpr int kMantissa = sizeof(K) == 8                  ? 52
                            : sizeof(K) == 4                ? 23
                            : std::is_same_v<K, smem::half> ? 10
                                                            : 7;
  constexpr std::uint64_t kSign = std::uint64_t{1} << (8 * sizeof(K) - 1);
  const std::uint64_t infinity = (kSign - 1) >> kMantissa << kMantissa;
  for (std::size_t i = 0; i < size; ++i) {
    std::uint64_t bits = random.next();
    if (kind == Keys::equal) bits = one;
    if (kind == Keys::two) bits = i % 2 == 0 ? one : other;
    if (kind == Keys::zipf)
      bits = one + static_cast<std::uint64_t>(1 / (1e-9 + static_cast<double>(bits >> 11) * 0x1p-53));
    if (kind == Keys::small) bits %= 200;
    if (kind == Keys::last && i + 5 < size) bits = one;
    if (kind == Keys::ones && bits % 3 != 0) bits = ~std::uint64_t{0};
    if (kind == Keys::special) {
      const std::uint64_t sign = (bits & 1) != 0 ? kSign : 0, few = bits >> 40 & 3;
      const std::uint64_t choice = bits >> 8 & 7;
      bits = choice < 2    ? sign
             : choice == 2 ? sign | infinity
             : choice == 3 ? sign | infinity | (1 + few)
             : choice == 4 ? sign | (1 + few)
             : choice == 5 ? sign | (infinity - 1 - few)
                           : bits;
    }
    keys[i] = std::bit_cast<K>(static_cast<Bits>(bits));
  }
  if (kind == Keys::sorted || kind == Keys::reversed) {
    const smem::SortOrder order{.descending = kind == Keys::reversed};
    const std::vector<std::uint64_t> places = sorted_places(keys, order);
    std::vector<K> ordered(size);
    for (std::size_t i = 0; i < size; ++i)
      ordered[i] = keys[places[i]];
    return ordered;
  }
  return keys;
}

/// An order; `bits` of a key.
inline smem::SortOrder random_order(Random& random, std::size_t bits) {
  smem::SortOrder order{.descending = random.chance(2), .total_order = random.chance(3)};
  order.nan_least = !order.total_order && random.chance(3);
  if (random.chance(3)) {
    order.begin_bit = random.between(0, bits);
    order.end_bit = random.between(order.begin_bit, bits);
  }
  return order;
}

inline std::string text_of(const smem::SortOrder& order) {
  return fmt::format("{}{}, bits {} to {}", order.descending ? "descending" : "ascending",
                     order.total_order ? " in totalOrder"
                     : order.nan_least ? " NaN least"
                                       : "",
                     order.begin_bit, static_cast<std::ptrdiff_t>(order.end_bit.value_or(SIZE_MAX)));
}

/// What a call is like besides its keys.
struct SortCall {
  std::string_view variant;
  smem::SortOrder order = {};
  bool in_place = false;
  std::size_t offset = 0;  ///< of all views, in elements
};

/// Elements of a buffer, with guard elements before and after them.
template <class T>
class Fenced {
 public:
  static constexpr std::size_t kAfter = 7;
  Fenced(const smem::Context& context, const std::vector<T>& elements, std::size_t offset)
      : size_(elements.size()),
        offset_(offset),
        array_(context, smem::Count{elements.size() + offset + kAfter}) {
    std::vector<T> all(elements.size() + offset + kAfter, poison());
    std::copy(elements.begin(), elements.end(), all.begin() + static_cast<std::ptrdiff_t>(offset));
    array_.write(all);
  }
  const cl::Buffer& buffer() const { return array_.buffer(); }
  std::size_t offset() const { return offset_; }
  /// The elements; the test fails where those around them have changed.
  std::vector<T> elements() const {
    const std::vector<T> all = array_.to_host();
    bool whole = true;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const T expected = poison();
      if (i < offset_ || i >= offset_ + size_)
        whole = whole && std::memcmp(&all[i], &expected, sizeof(T)) == 0;
    }
    CHECK(whole);
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(offset_);
    return {first, first + static_cast<std::ptrdiff_t>(size_)};
  }

 private:
  static T poison() {
    T value;
    std::memset(static_cast<void*>(&value), 0xa5, sizeof value);
    return value;
  }
  std::size_t size_, offset_;
  smem::Array<T> array_;
};

/// Whether got[i] has the bits of from[places[i]].
template <class T>
bool is_moved(const std::vector<T>& got, const std::vector<T>& from,
              const std::vector<std::uint64_t>& places) {
  if (got.size() != places.size()) return false;
  for (std::size_t i = 0; i < got.size(); ++i)
    if (std::memcmp(&got[i], &from[places[i]], sizeof(T)) != 0) return false;
  return true;
}

/// sort(), by a variant. \returns whether the device runs it.
template <class K>
bool sorts(const smem::Context& context, const std::vector<K>& keys, const SortCall& call) {
  const std::vector<std::uint64_t> places = sorted_places(keys, call.order);
  const Fenced<K> in(context, keys, call.offset), out(context, std::vector<K>(keys.size()), call.offset);
  const smem::VectorView<K> from(in.buffer(), keys.size(), in.offset());
  const smem::VectorView<K> to =
      call.in_place ? from : smem::VectorView<K>(out.buffer(), keys.size(), out.offset());
  try {
    smem::sort(context, from, to, call.order, {.variant = call.variant});
  } catch (const smem::Error& error) {
    CHECK_MESSAGE(error.details().argument == "variant", std::string(error.what()));
    return false;
  }
  CHECK(is_moved(call.in_place ? in.elements() : out.elements(), keys, places));
  if (!call.in_place) CHECK(is_moved(in.elements(), keys, sorted_places(std::vector<K>(keys.size()), {})));
  return true;
}

/// sort_pairs() with values of `bytes` bytes, by a variant. `call.in_place` is of keys.
template <class K>
bool sorts_pairs(const smem::Context& context, const std::vector<K>& keys, std::size_t bytes,
                 const SortCall& call, bool values_in_place) {
  const std::size_t size = keys.size();
  Random random(bytes);
  const std::vector<unsigned char> values = random.bytes(size * bytes);
  const Fenced<K> in(context, keys, call.offset), out(context, std::vector<K>(size), call.offset);
  const Fenced<unsigned char> from(context, values, call.offset * bytes),
      to(context, std::vector<unsigned char>(size * bytes), call.offset * bytes);
  const Fenced<K>& got_keys = call.in_place ? in : out;
  const Fenced<unsigned char>& got_values = values_in_place ? from : to;
  const smem::ElementType key = smem::element_of<K>, value = smem::ElementType::of_bytes(bytes);
  try {
    smem::sort_pairs(context, smem::ConstVector(in.buffer()(), key, size, call.offset),
                     smem::ConstVector(from.buffer()(), value, size, call.offset),
                     smem::Vector(got_keys.buffer()(), key, size, call.offset),
                     smem::Vector(got_values.buffer()(), value, size, call.offset), call.order,
                     {.variant = call.variant});
  } catch (const smem::Error& error) {
    CHECK_MESSAGE(error.details().argument == "variant", std::string(error.what()));
    return false;
  }
  const std::vector<std::uint64_t> places = sorted_places(keys, call.order);
  CHECK(is_moved(got_keys.elements(), keys, places));
  std::vector<unsigned char> expected;
  for (const std::uint64_t place : places)
    expected.insert(expected.end(), values.begin() + static_cast<std::ptrdiff_t>(place * bytes),
                    values.begin() + static_cast<std::ptrdiff_t>((place + 1) * bytes));
  CHECK(got_values.elements() == expected);
  if (!values_in_place) CHECK(from.elements() == values);
  return true;
}

/// argsort(), by a variant.
template <class K, class Place>
bool argsorts(const smem::Context& context, const std::vector<K>& keys, const SortCall& call) {
  const std::vector<std::uint64_t> places = sorted_places(keys, call.order);
  const Fenced<K> in(context, keys, call.offset);
  const Fenced<Place> out(context, std::vector<Place>(keys.size()), call.offset);
  try {
    smem::argsort(context, smem::VectorView<const K>(in.buffer(), keys.size(), in.offset()),
                  smem::VectorView<Place>(out.buffer(), keys.size(), out.offset()), call.order,
                  {.variant = call.variant});
  } catch (const smem::Error& error) {
    CHECK_MESSAGE(error.details().argument == "variant", std::string(error.what()));
    return false;
  }
  const std::vector<Place> got = out.elements();
  bool right = true;
  for (std::size_t i = 0; i < got.size(); ++i)
    right = right && got[i] == places[i];
  CHECK(right);
  CHECK(is_moved(in.elements(), keys, sorted_places(std::vector<K>(keys.size()), {})));
  return true;
}

}  // namespace test
