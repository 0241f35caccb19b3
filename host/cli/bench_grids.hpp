/// What the benchmarks of filters share: pixels by a hash of their place.
#pragma once

#include "cli/stencil_case.hpp"

#include <smem/smem.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace smem::cli {

template <class Visit>
auto with_pixel(Scalar type, const Visit& visit) {
  if (type == Scalar::uint8) return visit(std::uint8_t{});
  if (type == Scalar::uint16) return visit(std::uint16_t{});
  if (type == Scalar::half) return visit(half{});
  return type == Scalar::float64 ? visit(double{}) : visit(float{});
}

/// Element i: 0 to 255, which every type holds.
inline unsigned pixel_of(std::size_t i) {
  return static_cast<unsigned>(((i + 1) * 0x9e3779b97f4a7c15U) >> 56);
}

/// `count` elements as the type's bytes.
inline std::vector<unsigned char> pixels(Scalar type, std::size_t count) {
  std::vector<unsigned char> bytes(count * size_of(type));
  with_pixel(type, [&](auto zero) {
    using T = decltype(zero);
    for (std::size_t i = 0; i < count; ++i) {
      const T value(static_cast<T>(static_cast<float>(pixel_of(i))));
      std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
    }
  });
  return bytes;
}

inline double pixel_at(Scalar type, const std::vector<unsigned char>& bytes, std::size_t i) {
  return with_pixel(type, [&](auto zero) {
    std::memcpy(&zero, bytes.data() + i * sizeof zero, sizeof zero);
    if constexpr (std::is_same_v<decltype(zero), half>) {
      return static_cast<double>(static_cast<float>(zero));
    } else {
      return static_cast<double>(zero);
    }
  });
}

}  // namespace smem::cli
