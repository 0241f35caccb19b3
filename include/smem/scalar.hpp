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
  bfloat16,
  e4m3,  ///< fp8: 4 bits of exponent, 3 of mantissa
  e5m2   ///< fp8: 5 bits of exponent, 2 of mantissa
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

/// fp8 with 3 bits of mantissa, as the Open Compute Project's 8-bit floating point specification has it (also
/// known as e4m3fn): at most 448, least 2^-9, no infinities; 0x7f and 0xff are NaN. For storage: only
/// gemm() computes with it.
struct e4m3 {
  std::uint8_t bits = 0;  ///< sign, exponent with a bias of 7, mantissa

  e4m3() = default;
  /// Rounds to the nearest, ties to even; magnitudes above 448, infinity too, become 448; a NaN stays one.
  explicit e4m3(float value);
  /// Exact.
  operator float() const;
};

/// fp8 with 2 bits of mantissa, of the same specification: the upper half of a half. At most 57344, least
/// 2^-16, with infinities and NaN. For storage, as e4m3.
struct e5m2 {
  std::uint8_t bits = 0;  ///< sign, exponent with a bias of 15, mantissa

  e5m2() = default;
  /// Rounds to the nearest, ties to even; magnitudes above 57344, infinity too, become 57344; a NaN stays
  /// one.
  explicit e5m2(float value);
  /// Exact.
  operator float() const;
};

namespace detail {

/// fp8 of so many bits of mantissa, whose least normal number is 2^least: `most` is the code of the largest
/// number, `nan` that of a NaN.
constexpr std::uint8_t fp8_bits(float value, int mantissa, int least, std::uint8_t most, std::uint8_t nan) {
  const auto word = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint8_t>(word >> 24 & 0x80u);
  const std::uint32_t magnitude = word & 0x7fffffffu;
  const auto with_sign = [&](std::uint32_t rest) { return static_cast<std::uint8_t>(sign | rest); };
  if (magnitude > 0x7f800000u) return with_sign(nan);
  const auto cut = static_cast<std::uint32_t>(23 - mantissa);
  std::uint32_t code = 0;
  if (magnitude < static_cast<std::uint32_t>(127 + least) << 23) {
    // A multiple of the least number: added to a power of two whose last place that is, the hardware rounds.
    const auto magic = static_cast<std::uint32_t>(127 + least - mantissa + 23) << 23;
    code =
        std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + std::bit_cast<float>(magic)) - magic;
  } else {
    const std::uint32_t odd = magnitude >> cut & 1u;
    code =
        (magnitude - (static_cast<std::uint32_t>(126 + least) << 23) + ((1u << (cut - 1)) - 1) + odd) >> cut;
  }
  return with_sign(code < most ? code : most);
}
/// The value of a code that is neither infinite nor a NaN.
constexpr float fp8_value(std::uint8_t bits, int mantissa, int least) {
  const std::uint32_t sign = (bits & 0x80u) << 24, magnitude = bits & 0x7fu;
  const auto cut = static_cast<std::uint32_t>(23 - mantissa);
  if (magnitude >> mantissa != 0) {
    return std::bit_cast<float>(sign |
                                ((magnitude << cut) + (static_cast<std::uint32_t>(126 + least) << 23)));
  }
  const float unit = std::bit_cast<float>(static_cast<std::uint32_t>(127 + least - mantissa) << 23);
  const float value = static_cast<float>(magnitude) * unit;
  return sign != 0 ? -value : value;
}

}  // namespace detail

inline e4m3::e4m3(float value) : bits(detail::fp8_bits(value, 3, -6, 0x7e, 0x7f)) {}
inline e4m3::operator float() const {
  if ((bits & 0x7fu) == 0x7fu)
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits & 0x80u) << 24 | 0x7fc00000u);
  return detail::fp8_value(bits, 3, -6);
}
inline e5m2::e5m2(float value) : bits(detail::fp8_bits(value, 2, -14, 0x7b, 0x7f)) {}
inline e5m2::operator float() const {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x80u) << 24, magnitude = bits & 0x7fu;
  if (magnitude >= 0x7cu) return std::bit_cast<float>(sign | 0x7f800000u | (magnitude & 3u) << 21);
  return detail::fp8_value(bits, 2, -14);
}

namespace detail {

/// Whether a Scalar stands for the type.
template <class T, class U = std::remove_cv_t<T>>
inline constexpr bool is_scalar = std::is_same_v<U, half> || std::is_same_v<U, bfloat16> ||
                                  std::is_same_v<U, e4m3> || std::is_same_v<U, e5m2> ||
                                  std::is_same_v<U, float> || std::is_same_v<U, double> ||
                                  (std::is_integral_v<U> && !std::is_same_v<U, bool> && sizeof(U) <= 8);

/// Bytes of a number; 0 of no known type.
constexpr std::size_t scalar_bytes(Scalar type) {
  constexpr unsigned char kBytes[] = {1, 2, 4, 8, 1, 2, 4, 8, 2, 4, 8, 2, 1, 1};
  const auto index = static_cast<std::size_t>(type);
  return index < sizeof kBytes ? kBytes[index] : 0;
}

template <class T>
consteval Scalar scalar_for() {
  using U = std::remove_cv_t<T>;
  static_assert(is_scalar<T>,
                "elements are integers of 8 to 64 bits, smem::half, smem::bfloat16, smem::e4m3, smem::e5m2, "
                "float or double");
  if constexpr (std::is_same_v<U, half>) {
    return Scalar::half;
  } else if constexpr (std::is_same_v<U, bfloat16>) {
    return Scalar::bfloat16;
  } else if constexpr (std::is_same_v<U, e4m3>) {
    return Scalar::e4m3;
  } else if constexpr (std::is_same_v<U, e5m2>) {
    return Scalar::e5m2;
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
/// "int8" to "uint64", "half", "float32", "float64", "bfloat16", "e4m3", "e5m2".
SMEM_API std::string_view name_of(Scalar type);
/// The type's name in OpenCL C: "char" to "ulong", "half", "float", "double"; "ushort" for bfloat16 and
/// "uchar" for e4m3 and e5m2, which OpenCL C does not have.
SMEM_API std::string_view opencl_name_of(Scalar type);

/// Whether it is half, float32, float64, bfloat16, e4m3 or e5m2.
constexpr bool is_float(Scalar type) { return type >= Scalar::half; }
/// Whether it is e4m3 or e5m2.
constexpr bool is_fp8(Scalar type) { return type == Scalar::e4m3 || type == Scalar::e5m2; }
/// Whether it has negative values.
constexpr bool is_signed(Scalar type) { return type <= Scalar::int64 || is_float(type); }

}  // namespace smem
