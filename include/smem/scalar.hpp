/// smem: the numbers that a buffer can hold. Includes no OpenCL header.
#pragma once

#include <smem/cplusplus.hpp>
#include <smem/export.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace smem {

/// The type of an element that operations compute with.
enum class Scalar {
  int8,
  int16,
  int32,
  int64,
  uint8,
  uint16,
  uint32,
  uint64,
  half,
  float32,
  float64,
  bfloat16
};

/// A number of IEEE 754's binary16, for storage: 16 bits on the host and on the device, computed with as
/// float. No device needs cl_khr_fp16 for it.
struct half {
  std::uint16_t bits = 0;  ///< as IEEE 754 has them

  half() = default;
  /// Rounds to the nearest, ties to even; beyond 65504 (and half a step) to infinity; a NaN stays one.
  explicit half(float value) : bits(bits_of(value)) {}
  /// Exact.
  operator float() const { return value_of(bits); }

 private:
  static std::uint16_t bits_of(float value) {
    const auto word = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = word >> 16 & 0x8000u, magnitude = word & 0x7fffffffu;
    const auto with_sign = [&](std::uint32_t rest) { return static_cast<std::uint16_t>(sign | rest); };
    if (magnitude > 0x7f800000u) return with_sign(0x7e00u | (magnitude >> 13 & 0x3ffu));
    if (magnitude >= 0x477ff000u) return with_sign(0x7c00u);  // 65520 and more
    if (magnitude < 0x38800000u) {                            // below 2^-14: units of 2^-24
      // Added to 1/2, whose last place is 2^-24, the hardware rounds as wanted.
      return with_sign(std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5F) - 0x3f000000u);
    }
    const std::uint32_t odd = magnitude >> 13 & 1u;
    return with_sign((magnitude - 0x38000000u + 0xfffu + odd) >> 13);
  }
  static float value_of(std::uint16_t from) {
    const std::uint32_t sign = (from & 0x8000u) << 16, exponent = from >> 10 & 0x1fu, rest = from & 0x3ffu;
    if (exponent == 0x1fu) return std::bit_cast<float>(sign | 0x7f800000u | rest << 13);
    if (exponent == 0) {  // units of 2^-24
      const float value = static_cast<float>(rest) * 0x1p-24F;
      return sign != 0 ? -value : value;
    }
    return std::bit_cast<float>(sign | (exponent + 112) << 23 | rest << 13);
  }
};

/// The upper half of a float32: its range, and 8 significant bits. For storage: not all operations read it.
struct bfloat16 {
  std::uint16_t bits = 0;  ///< the upper half of a float's

  bfloat16() = default;
  /// Rounds to the nearest, ties to even; a NaN stays one.
  explicit bfloat16(float value) : bits(bits_of(value)) {}
  /// Exact.
  operator float() const { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

 private:
  static std::uint16_t bits_of(float value) {
    const auto word = std::bit_cast<std::uint32_t>(value);
    const bool is_nan = (word & 0x7fffffffu) > 0x7f800000u;
    return static_cast<std::uint16_t>(is_nan ? word >> 16 | 0x40u
                                             : (word + 0x7fffu + (word >> 16 & 1u)) >> 16);
  }
};

namespace detail {

/// Whether a Scalar stands for the type.
template <class T, class U = std::remove_cv_t<T>>
inline constexpr bool is_scalar = std::is_same_v<U, half> || std::is_same_v<U, bfloat16> ||
                                  std::is_same_v<U, float> || std::is_same_v<U, double> ||
                                  (std::is_integral_v<U> && !std::is_same_v<U, bool> && sizeof(U) <= 8);

/// Bytes of a number; 0 of no known type.
constexpr std::size_t scalar_bytes(Scalar type) {
  constexpr unsigned char kBytes[] = {1, 2, 4, 8, 1, 2, 4, 8, 2, 4, 8, 2};
  const auto index = static_cast<std::size_t>(type);
  return index < sizeof kBytes ? kBytes[index] : 0;
}

template <class T>
consteval Scalar scalar_for() {
  using U = std::remove_cv_t<T>;
  static_assert(is_scalar<T>,
                "elements are integers of 8 to 64 bits, smem::half, smem::bfloat16, float or double");
  if constexpr (std::is_same_v<U, half>) {
    return Scalar::half;
  } else if constexpr (std::is_same_v<U, bfloat16>) {
    return Scalar::bfloat16;
  } else if constexpr (std::is_floating_point_v<U>) {
    return sizeof(U) == 4 ? Scalar::float32 : Scalar::float64;
  } else {
    constexpr int kFirst = static_cast<int>(std::is_signed_v<U> ? Scalar::int8 : Scalar::uint8);
    return static_cast<Scalar>(kFirst + std::countr_zero(sizeof(U)));
  }
}

}  // namespace detail

/// The Scalar of a C++ type, by its size and kind: `char` and `std::int8_t` alike where char is signed.
template <class T>
inline constexpr Scalar scalar_of = detail::scalar_for<T>();

/// Bytes of an element: 1, 2, 4 or 8.
SMEM_API std::size_t size_of(Scalar type);
/// "int8" to "uint64", "half", "float32", "float64", "bfloat16".
SMEM_API std::string_view name_of(Scalar type);
/// The type's name in OpenCL C: "char" to "ulong", "half", "float", "double"; "ushort" for bfloat16, which it
/// has not.
SMEM_API std::string_view opencl_name_of(Scalar type);

/// Whether it is half, float32 or float64.
constexpr bool is_float(Scalar type) { return type >= Scalar::half; }
/// Whether it has negative values.
constexpr bool is_signed(Scalar type) { return type <= Scalar::int64 || is_float(type); }

}  // namespace smem
