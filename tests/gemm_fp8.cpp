// Products of fp8: conversions of all codes, on the host and on the device, against powers of two; and every
// variant against plain loops.
#include <smem/smem.hpp>

#include "support/broken.hpp"
#include "support/environment.hpp"
#include "support/gemms.hpp"

#include <doctest/doctest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

using smem::e4m3;
using smem::e5m2;
using smem::Scalar;
using test::GemmCase;
using test::Place;

namespace {

/// A format by its specification.
struct Format {
  int exponent_bits, mantissa_bits, bias;
  bool infinities;
};
constexpr Format kE4m3{4, 3, 7, false}, kE5m2{5, 2, 15, true};

double value_of(const Format& f, unsigned code) {
  const int mantissa = static_cast<int>(code & ((1U << f.mantissa_bits) - 1));
  const int exponent = static_cast<int>(code >> f.mantissa_bits & ((1U << f.exponent_bits) - 1));
  const int most = (1 << f.exponent_bits) - 1, full = (1 << f.mantissa_bits) - 1;
  const double sign = (code & 0x80U) != 0 ? -1 : 1;
  if (exponent == most && f.infinities)
    return mantissa == 0 ? sign * std::numeric_limits<double>::infinity()
                         : std::numeric_limits<double>::quiet_NaN();
  if (exponent == most && mantissa == full) return std::numeric_limits<double>::quiet_NaN();
  if (exponent == 0) return sign * std::ldexp(mantissa, 1 - f.bias - f.mantissa_bits);
  return sign * std::ldexp((1 << f.mantissa_bits) + mantissa, exponent - f.bias - f.mantissa_bits);
}

bool same(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
}

template <class T>
T of_code(unsigned code) {
  T x;
  x.bits = static_cast<std::uint8_t>(code);
  return x;
}

/// Every finite value of a format, each midpoint of neighbours, and the floats next to it.
template <class T>
void check_rounding(const Format& f, unsigned most) {
  const auto bits = [](double x) { return static_cast<unsigned>(T(static_cast<float>(x)).bits); };
  for (unsigned code = 0; code <= most; ++code) {
    CAPTURE(code);
    const double value = value_of(f, code);
    CHECK(bits(value) == code);
    CHECK(bits(-value) == (code | 0x80U));
    if (code == most) break;
    const double middle = (value + value_of(f, code + 1)) / 2;
    const auto half = static_cast<float>(middle);
    REQUIRE(static_cast<double>(half) == middle);
    CHECK(bits(middle) == code + code % 2);  // ties to even
    CHECK(bits(-middle) == ((code + code % 2) | 0x80U));
    CHECK(bits(std::nextafterf(half, 0.0F)) == code);
    CHECK(bits(std::nextafterf(half, 1e9F)) == code + 1);
    CHECK(bits(-std::nextafterf(half, 1e9F)) == ((code + 1) | 0x80U));
  }
  const double largest = value_of(f, most);
  for (const double x : {largest * 1.01, largest * 1.0625, largest * 1.1, largest * 2, 3e38,
                         std::numeric_limits<double>::infinity()}) {
    CAPTURE(x);
    CHECK(bits(x) == most);
    CHECK(bits(-x) == (most | 0x80U));
  }
  for (const float x : {std::numeric_limits<float>::denorm_min(), 1e-40F, 1e-30F}) {
    CHECK(bits(x) == 0);
    CHECK(bits(-x) == 0x80U);
  }
  CHECK(std::isnan(static_cast<float>(T(std::numeric_limits<float>::quiet_NaN()))));
  CHECK(std::isnan(static_cast<float>(T(std::bit_cast<float>(0xff800001U)))));
}

/// The results of products with 1 of all codes, as A or as B, by a variant: of the first of `depth` k, of
/// which all others are 0, so that rows begin where "wgmma" reads them.
std::vector<float> converted(const smem::Context& context, Scalar type, bool as_b, bool mixed,
                             const std::string& variant) {
  constexpr std::size_t kAll = 256;
  const std::size_t depth = variant == "wgmma" ? 16 : 1;
  const Scalar other = !mixed ? type : type == Scalar::e4m3 ? Scalar::e5m2 : Scalar::e4m3;
  const std::uint8_t one = other == Scalar::e4m3 ? e4m3(1.0F).bits : e5m2(1.0F).bits;
  std::vector<std::uint8_t> codes(kAll * depth), ones(4 * depth);
  for (std::size_t i = 0; i < kAll; ++i)
    codes[i * depth] = static_cast<std::uint8_t>(i);
  for (std::size_t i = 0; i < 4; ++i)
    ones[i * depth] = one;
  const smem::Array<std::uint8_t> all(context, codes), few(context, ones);
  smem::Array<float> out(context, smem::Count{4 * kAll});
  const smem::Matrix tall(all.buffer()(), type, kAll, depth), narrow(few.buffer()(), other, 4, depth);
  const smem::Gemm product{.transpose_b = true};
  if (as_b)
    smem::gemm(context, narrow, tall, out.matrix(4, kAll), product, {.variant = variant});
  else
    smem::gemm(context, tall, narrow, out.matrix(kAll, 4), product, {.variant = variant});
  const std::vector<float> results = out.to_host();
  std::vector<float> numbers;
  for (std::size_t i = 0; i < kAll; ++i)
    numbers.push_back(results[as_b ? i : 4 * i]);
  return numbers;
}

}  // namespace

TEST_CASE("fp8: every code has its value, and every float its nearest code") {
  for (unsigned code = 0; code < 256; ++code) {
    CAPTURE(code);
    CHECK(same(static_cast<float>(of_code<e4m3>(code)), value_of(kE4m3, code)));
    CHECK(same(static_cast<float>(of_code<e5m2>(code)), value_of(kE5m2, code)));
  }
  CHECK(static_cast<float>(of_code<e4m3>(0x7e)) == 448);
  CHECK(static_cast<float>(of_code<e5m2>(0x7b)) == 57344);
  check_rounding<e4m3>(kE4m3, 0x7e);
  check_rounding<e5m2>(kE5m2, 0x7b);
  CHECK(smem::scalar_of<e4m3> == Scalar::e4m3);
  CHECK(smem::scalar_of<const e5m2> == Scalar::e5m2);
  CHECK(smem::size_of(Scalar::e4m3) == 1);
  CHECK(smem::name_of(Scalar::e5m2) == "e5m2");
  CHECK(smem::opencl_name_of(Scalar::e4m3) == "uchar");
}

TEST_CASE("gemm of fp8: all codes, as A and as B, of each type and both, by each way to convert them") {
  const smem::Context context;
  std::size_t ran = 0, turn = 0;
  for (const char* variant : {"", "naive", "tiled", "vector", "async", "cpu", "mma", "wgmma"}) {
    CAPTURE(variant);
    for (const Scalar type : {Scalar::e4m3, Scalar::e5m2}) {
      const Format& format = type == Scalar::e4m3 ? kE4m3 : kE5m2;
      for (const bool as_b : {false, true}) {
        const bool mixed = (turn + turn / 4) % 2 != 0;
        ++turn;
        CAPTURE(smem::name_of(type));
        CAPTURE(as_b);
        CAPTURE(mixed);
        std::vector<float> numbers;
        try {
          numbers = converted(context, type, as_b, mixed, variant);
        } catch (const smem::Error& error) {
          REQUIRE(error.details().argument == "variant");
          CHECK_FALSE(test::is_portable_gemm(variant));
          continue;
        }
        ++ran;
        std::size_t wrong = 0;
        for (unsigned code = 0; code < 256; ++code) {
          const double value = value_of(format, code);
          // A sum may begin with +0.
          if (!same(numbers[code], value) && !(value == 0 && numbers[code] == 0)) {
            CAPTURE(code);
            CHECK(static_cast<double>(numbers[code]) == value);
            ++wrong;
          }
        }
        CHECK(wrong == 0);
      }
    }
  }
  CHECK(ran >= 20);
}

TEST_CASE("gemm of fp8: every variant, type and layout") {
  const smem::Context context;
  test::GemmSweep sweep(context);
  constexpr std::pair<Scalar, Scalar> kTypes[] = {{Scalar::e4m3, Scalar::float32},
                                                  {Scalar::e5m2, Scalar::half},
                                                  {Scalar::e4m3, Scalar::bfloat16},
                                                  {Scalar::e5m2, Scalar::float32}};
  std::size_t turn = 0;
  for (const std::string_view variant : smem::gemm_variants()) {
    if (variant == "padded" || variant == "swizzled" || variant == "registers_1d") continue;  // as others
    CAPTURE(variant);
    GemmCase c;
    c.variant = variant;
    for (std::size_t i = 0; i < 2; ++i, ++turn) {
      std::tie(c.in, c.out) = kTypes[(turn + turn / 4) % 4];
      c.mixed = turn % 3 == 0;
      c.transpose_a = turn % 2 == 0;
      c.transpose_b = turn / 2 % 2 == 0;
      c.column_major = turn % 5 == 0;
      c.place = i == 0 ? Place::aligned : Place::odd;
      test::gemm_shapes(sweep, c);
    }
    if (test::is_portable_gemm(variant)) CHECK(sweep.ran() > 0);
  }
}

TEST_CASE("gemm of fp8: the plan's choice in all orders, batches, lists and epilogues") {
  const smem::Context context;
  test::GemmSweep sweep(context);
  GemmCase c;
  c.out = Scalar::half;
  c.m = 45;
  c.n = 33;
  c.k = 67;
  for (int i = 0; i < 8; ++i) {
    c.in = i % 3 == 0 ? Scalar::e5m2 : Scalar::e4m3;
    c.mixed = i % 2 != 0;
    c.transpose_a = i % 2 != 0;
    c.transpose_b = i / 2 % 2 != 0;
    c.column_major = i / 4 != 0;
    c.place = i % 3 == 1 ? Place::packed : Place::odd;
    sweep.run(c);
  }
  c.batch = 5;
  c.beta = 0.5;
  sweep.run(c);
  c.shared_b = true;
  sweep.run(c);
  c.column_major = false;
  sweep.run(c);
  c.listed = true;
  sweep.run(c);
  c.shared_b = false;
  sweep.run(c);
  c.listed = false;
  c.bias = 2;
  c.activation = smem::Activation::relu;
  c.residual = 1;
  c.scale = -2;
  sweep.run(c);
  c.k = 0;
  sweep.run(c);
  c.k = 67;
  c.alpha = 0;
  sweep.run(c);
  CHECK(sweep.ran() == 16);
}

TEST_CASE("gemm of fp8: by emulated matrix units, and widened batches of which one factor is shared") {
  const test::Variable clamp("SMEM_CLAMP", "matrix_unit=wmma");
  const smem::Context context;
  const smem::Device& device = context.device();
  if (device.local_bytes < 16 * 1024 || device.max_work_group < 64 ||
      test::is_broken(device, "gemm", "matrix_units"))
    return;
  test::GemmSweep sweep(context);
  GemmCase c;
  c.variant = "matrix_units";
  c.in = Scalar::e4m3;
  c.mixed = true;
  c.m = 70;
  c.n = 37;
  c.k = 133;
  c.batch = 3;
  for (const bool shared : {false, true}) {
    c.shared_b = shared;
    c.transpose_a = shared;
    c.column_major = !shared;
    sweep.run(c);
  }
  CHECK(sweep.ran() == 2);
}
