// Arrays of described calls: filled, placed and compared.
#include "operations/data.hpp"

#include "formatted.hpp"
#include "with_type.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <thread>

namespace smem::operations {

namespace {

constexpr std::size_t kPlaceBytes = 256;  // what arrays of one buffer begin at multiples of

std::size_t placed_bytes(const ArrayRule& rule) {
  return (rule.bytes() + kPlaceBytes - 1) / kPlaceBytes * kPlaceBytes;
}

template <class T>
double as_double(T value) {
  if constexpr (std::is_class_v<T>) {
    return static_cast<double>(static_cast<float>(value));
  } else {
    return static_cast<double>(value);
  }
}

template <class T>
T from_double(double value) {
  if constexpr (std::is_class_v<T>) {
    return T(static_cast<float>(value));
  } else if constexpr (std::is_integral_v<T>) {
    // What the type is too small for wraps.
    return value < 0x1p63 ? static_cast<T>(static_cast<std::int64_t>(value))
                          : static_cast<T>(static_cast<std::uint64_t>(value));
  } else {
    return static_cast<T>(value);
  }
}

/// splitmix64 (Steele, Lea, Flood, OOPSLA 2014), whose numbers do not depend on each other's place.
std::uint64_t number_at(std::uint64_t seed, std::uint64_t i) {
  std::uint64_t z = seed + (i + 1) * 0x9e3779b97f4a7c15U;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9U;
  z = (z ^ z >> 27) * 0x94d049bb133111ebU;
  return z ^ z >> 31;
}

/// Element i, by 64 random bits.
double number_of(const ArrayRule& rule, std::size_t i, std::uint64_t random) {
  const Fill& fill = rule.fill;
  if (fill.at) return fill.at(i);
  if (fill.offsets_of != 0) {
    if (i == 0 || i + 1 == rule.elements) return i == 0 ? 0 : static_cast<double>(fill.offsets_of);
    const double part = static_cast<double>(random >> 32) * 0x1p-32;
    return std::floor((static_cast<double>(i) + part) / static_cast<double>(rule.elements) *
                      static_cast<double>(fill.offsets_of));
  }
  if (fill.number) return fill.number(random);
  double number = fill.least;
  if (random % fill.rare == 0)
    number += static_cast<double>((random >> 32) % (fill.most - fill.least + std::uint64_t{1}));
  return fill.negative && (random >> 31 & 1) != 0 ? -number : number;
}

template <class T>
bool is_poisoned(const T& value) {
  unsigned char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  return std::all_of(bytes, bytes + sizeof(T), [](unsigned char byte) { return byte == 0xff; });
}

/// The first place in [begin, end) at which elements differ; `end`: none.
template <class T>
std::size_t first_difference(std::span<const T> expected, std::span<const T> got, std::size_t begin,
                             std::size_t end, double relative, double absolute) {
  for (std::size_t i = begin; i < end; ++i) {
    if (std::memcmp(&expected[i], &got[i], sizeof(T)) == 0) continue;
    const double wanted = as_double(expected[i]), found = as_double(got[i]);
    // What is no number may have any bits but those of poisoned(). 0 and -0 are equal.
    if (std::isnan(wanted) && std::isnan(found) && !is_poisoned(got[i])) continue;
    if (!(std::abs(found - wanted) <= relative * std::abs(wanted) + absolute)) return i;
  }
  return end;
}

}  // namespace

std::vector<PlacedArray> place(const std::vector<ArrayRule>& rules, cl_mem buffer) {
  std::vector<PlacedArray> placed;
  std::size_t at = 0;
  for (const ArrayRule& rule : rules) {
    placed.push_back({buffer, rule.type, at / size_of(rule.type), rule.elements});
    at += placed_bytes(rule);
  }
  return placed;
}

std::size_t bytes_of(const std::vector<ArrayRule>& rules) {
  std::size_t bytes = 0;
  for (const ArrayRule& rule : rules)
    bytes += placed_bytes(rule);
  return bytes;
}

double HostArray::number(std::size_t i) const {
  return with_type(type, [&](auto value) {
    std::memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
    return as_double(value);
  });
}

void HostArray::set(std::size_t i, double value) {
  with_type(type, [&](auto zero) {
    const auto typed = from_double<decltype(zero)>(value);
    std::memcpy(bytes.data() + i * sizeof typed, &typed, sizeof typed);
  });
}

HostArray filled(const ArrayRule& rule, std::uint64_t seed) {
  HostArray array{rule.type, std::vector<unsigned char>(rule.bytes())};
  with_type(rule.type, [&](auto zero) {
    using T = decltype(zero);
    const std::span<T> values = array.as<T>();
    for_each_in_parallel(values.size(), [&](std::size_t i) {
      const std::uint64_t random = number_at(seed, rule.fill.period == 0 ? i : i % rule.fill.period);
      values[i] = from_double<T>(number_of(rule, i, random));
    });
  });
  return array;
}

HostArray poisoned(const ArrayRule& rule) {
  return {rule.type, std::vector<unsigned char>(rule.bytes(), 0xff)};
}

void in_parallel(std::size_t count, const std::function<void(std::size_t begin, std::size_t end)>& body) {
  const std::size_t parts = std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, 16);
  std::vector<std::thread> threads;
  for (std::size_t part = 1; part < parts; ++part)
    threads.emplace_back([=, &body] { body(count * part / parts, count * (part + 1) / parts); });
  body(0, count / parts);
  for (std::thread& thread : threads)
    thread.join();
}

std::optional<std::string> difference(const std::string& name, const HostArray& expected,
                                      const HostArray& got, double relative, double absolute) {
  if (expected.bytes == got.bytes) return std::nullopt;
  return with_type(expected.type, [&](auto zero) -> std::optional<std::string> {
    using T = decltype(zero);
    const std::span<const T> wanted = expected.as<T>(), found = got.as<T>();
    const std::size_t i = first_difference(wanted, found, 0, wanted.size(), relative, absolute);
    if (i == wanted.size()) return std::nullopt;
    return formatted("element {} of {} is {}, not {}", i, name, as_double(found[i]), as_double(wanted[i]));
  });
}

}  // namespace smem::operations
