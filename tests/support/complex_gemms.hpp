// Products of complex matrices against plain loops of std::complex<double>.
#pragma once

#include "support/case_sweep.hpp"
#include "support/failure.hpp"
#include "support/matrices.hpp"

#include <smem/smem.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace test {

using Complex = std::complex<double>;

struct ComplexCase {
  smem::Scalar part = smem::Scalar::float32;
  std::size_t m = 0, n = 0, k = 0, batch = 1;
  bool transpose_a = false, transpose_b = false, conjugate_a = false, conjugate_b = false;
  bool column_major = false;
  bool packed = false;  ///< rows and matrices without gaps, from the buffer's start
  bool one_a = false, one_b = false;
  bool whole = true;    ///< whole numbers, whose sums are exact; else any from -1 to 1
  bool beside = false;  ///< the matrices C of a batch lie side by side
  Complex alpha = 1, beta = 0;
  std::string variant = {};
  std::size_t tile_rows = 0, tile_cols = 0;  ///< of the variant; 0: the plan's

  Tested tested() const { return {"complex_gemm", variant, std::string(smem::name_of(part))}; }
  std::string text() const {
    const auto letter = [](bool transposed, bool conjugated) {
      return transposed ? (conjugated ? "C" : "T") : conjugated ? "J" : "N";
    };
    return fmt::format(
        "complex_gemm of {}, m {} n {} k {}, batch {}{}{}, op(A) {} op(B) {}{}, {}{}, alpha {} + {}i beta {} "
        "+ {}i, {} numbers, variant \"{}\", tile {} x {}; SMEM_SEED={}",
        smem::name_of(part), m, n, k, batch, one_a ? " of one A" : "", one_b ? " of one B" : "",
        letter(transpose_a, conjugate_a), letter(transpose_b, conjugate_b),
        column_major ? ", column-major" : "", packed ? "packed" : "with gaps", beside ? ", side by side" : "",
        alpha.real(), alpha.imag(), beta.real(), beta.imag(), whole ? "whole" : "any", variant, tile_rows,
        tile_cols, seed());
  }
};

/// The matrices of an operand: their extent, and the numbers of its buffer.
template <class T>
struct ComplexOperand {
  std::size_t rows, cols;  ///< of the view
  smem::Extent extent;
  bool turned;
  std::vector<std::complex<T>> host;

  /// NaN everywhere; `number()` in the matrices, if it is given.
  template <class Number>
  ComplexOperand(const ComplexCase& c, std::size_t height, std::size_t width, std::size_t batch,
                 const Number& number)
      : rows(c.column_major ? width : height), cols(c.column_major ? height : width), turned(c.column_major) {
    if (!c.packed) extent = strided(rows, cols, batch).extent;
    if (!c.packed && c.beside) extent = side_by_side(cols, batch).extent;
    extent.batch = batch;
    const smem::ConstMatrix view(nullptr, smem::element_of<std::complex<T>>, rows, cols, extent);
    extent.pitch = view.pitch;
    extent.batch_stride = view.batch_stride;
    host.assign(extent.offset + (batch - std::min<std::size_t>(batch, 1)) * extent.batch_stride +
                    rows * extent.pitch + 4,
                {std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::quiet_NaN()});
    for (std::size_t q = 0; q < batch; ++q) {
      for (std::size_t i = 0; i < height; ++i) {
        for (std::size_t j = 0; j < width; ++j) {
          const Complex x = number();
          host[at(q, i, j)] = {static_cast<T>(x.real()), static_cast<T>(x.imag())};
        }
      }
    }
  }
  std::size_t at(std::size_t q, std::size_t i, std::size_t j) const {
    if (turned) std::swap(i, j);
    return extent.offset + (extent.batch == 1 ? 0 : q * extent.batch_stride) + i * extent.pitch + j;
  }
};

template <class T>
bool same_complex_bits(const std::complex<T>& a, const std::complex<T>& b) {
  using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
  return std::bit_cast<Bits>(a.real()) == std::bit_cast<Bits>(b.real()) &&
         std::bit_cast<Bits>(a.imag()) == std::bit_cast<Bits>(b.imag());
}

template <class T>
Outcome run_complex(const smem::Context& context, const ComplexCase& c, Random& random) {
  const auto number = [&] {
    const auto part = [&] {
      return c.whole ? static_cast<double>(random.between(0, 18)) - 9
                     : static_cast<double>(random.next() >> 40) * 0x1p-23 - 1;
    };
    const double re = part();
    return Complex(re, part());
  };
  const bool reads_c = c.beta != 0.0;
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  const auto old = [&] { return reads_c ? number() : Complex(kNone, kNone); };
  const ComplexOperand<T> a(c, c.transpose_a ? c.k : c.m, c.transpose_a ? c.m : c.k, c.one_a ? 1 : c.batch,
                            number),
      b(c, c.transpose_b ? c.n : c.k, c.transpose_b ? c.k : c.n, c.one_b ? 1 : c.batch, number),
      out(c, c.m, c.n, c.batch, old);
  using Number = std::complex<T>;
  const smem::Array<Number> a_array(context, a.host), b_array(context, b.host), c_array(context, out.host);
  const smem::ComplexGemm how{.alpha = c.alpha,
                              .beta = c.beta,
                              .transpose_a = c.transpose_a,
                              .transpose_b = c.transpose_b,
                              .conjugate_a = c.conjugate_a,
                              .conjugate_b = c.conjugate_b,
                              .order = c.column_major ? smem::Order::column_major : smem::Order::row_major};
  const smem::PlanOverrides fixed{.tile_rows = c.tile_rows, .tile_cols = c.tile_cols};
  try {
    const cl::Event event = smem::complex_gemm(
        context, smem::MatrixView<const Number>(a_array.buffer(), a.rows, a.cols, a.extent),
        smem::MatrixView<const Number>(b_array.buffer(), b.rows, b.cols, b.extent),
        smem::MatrixView<Number>(c_array.buffer(), out.rows, out.cols, out.extent), how,
        {.variant = c.variant, .overrides = c.tile_rows != 0 ? &fixed : nullptr});
    if (event() == nullptr) return {false, "the call returned no event"};
  } catch (const smem::Error& error) {
    if (c.variant.empty() || error.details().argument != "variant")
      return {false, fmt::format("the call failed: {}", error.what())};
    return refusal(error);
  }
  const std::vector<Number> got = c_array.to_host();
  const double eps = c.part == smem::Scalar::float64 ? 0x1p-53 : 0x1p-24;
  std::vector<bool> inside(got.size());
  for (std::size_t q = 0; q < c.batch; ++q) {
    for (std::size_t i = 0; i < c.m; ++i) {
      for (std::size_t j = 0; j < c.n; ++j) {
        Complex sum = 0;
        double size = 0;
        for (std::size_t p = 0; c.alpha != 0.0 && p < c.k; ++p) {
          Complex x(a.host[c.transpose_a ? a.at(q, p, i) : a.at(q, i, p)]);
          Complex y(b.host[c.transpose_b ? b.at(q, j, p) : b.at(q, p, j)]);
          if (c.conjugate_a) x = std::conj(x);
          if (c.conjugate_b) y = std::conj(y);
          sum += x * y;
          size += std::abs(x) * std::abs(y);
        }
        Complex x = c.k == 0 || c.alpha == 0.0 ? Complex(0) : c.alpha * sum;
        const std::size_t place = out.at(q, i, j);
        inside[place] = true;
        const Complex before(out.host[place]);
        if (reads_c) x += c.beta * before;
        // 2 k roundings of partial sums of a part, none larger than the sum of sizes, and those of alpha; one
        // of C for each slice along k.
        const double error = c.whole ? 0
                                     : (4 * static_cast<double>(c.k) + 8) * eps * std::abs(c.alpha) * size +
                                           16 * eps * (reads_c ? std::abs(c.beta) * std::abs(before) : 0);
        const Complex result(got[place]);
        for (const auto& [expected, is] : {std::pair{x.real(), result.real()}, {x.imag(), result.imag()}}) {
          if (std::isnan(expected) && std::isnan(is)) continue;
          if (!(std::abs(is - expected) <= error)) {
            return {false, fmt::format("({}, {}) of product {}: expected {} + {}i within {}, got {} + {}i", i,
                                       j, q, x.real(), x.imag(), error, result.real(), result.imag())};
          }
        }
      }
    }
  }
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (!inside[i] && !same_complex_bits(got[i], out.host[i]))
      return {false, fmt::format("element {} of the buffer, outside C, has changed", i)};
  }
  const auto is_kept = [](const auto& array, const std::vector<Number>& host) {
    const std::vector<Number> now = array.to_host();
    return std::equal(now.begin(), now.end(), host.begin(), same_complex_bits<T>);
  };
  if (!is_kept(a_array, a.host) || !is_kept(b_array, b.host)) return {false, "an input has changed"};
  return {};
}

inline Outcome run(const smem::Context& context, const ComplexCase& c, Random& random) {
  if (c.part == smem::Scalar::float64 && !context.device().fp64) return without_fp64();
  return c.part == smem::Scalar::float64 ? run_complex<double>(context, c, random)
                                         : run_complex<float>(context, c, random);
}

}  // namespace test
