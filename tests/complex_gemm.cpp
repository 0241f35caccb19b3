// Products of complex matrices: every variant, factor, order and layout against plain loops of
// std::complex<double>.
#include <smem/smem.hpp>

#include "support/case_sweep.hpp"
#include "support/environment.hpp"
#include "support/failure.hpp"
#include "support/matrices.hpp"
#include "support/turn.hpp"

#include "plan/complex_gemm_policy.hpp"
#include "plan/sizes.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using smem::Scalar;
using Complex = std::complex<double>;

namespace {

/// Whether a call on such views compiles.
template <class A, class B, class C>
concept Compiles = requires(const smem::Context& context, A a, B b, C c) {
  smem::complex_gemm(context, a, b, c);
  smem::complex_gemm(context, a, b, c, {});
  smem::complex_gemm(context, a, b, c, {}, {});
};
template <class T>
using View = smem::MatrixView<T>;
using ComplexFloats = std::complex<float>;
static_assert(Compiles<View<ComplexFloats>, View<const ComplexFloats>, View<ComplexFloats>>);
static_assert(Compiles<View<const std::complex<double>>, smem::ConstMatrix, View<std::complex<double>>>);
static_assert(Compiles<smem::ConstMatrix, smem::ConstMatrix, smem::Matrix>);
// An output of const elements, and elements that are no complex numbers.
static_assert(!Compiles<View<ComplexFloats>, View<ComplexFloats>, View<const ComplexFloats>>);
static_assert(!Compiles<smem::ConstMatrix, smem::ConstMatrix, smem::ConstMatrix>);
static_assert(!Compiles<View<ComplexFloats>, View<float>, View<ComplexFloats>>);
static_assert(!Compiles<View<cl_float4>, View<cl_float4>, View<cl_float4>>);

}  // namespace

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

struct ComplexCase {
  Scalar part = Scalar::float32;
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

  test::Tested tested() const { return {"complex_gemm", variant, std::string(smem::name_of(part))}; }
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
        tile_cols, test::seed());
  }
};

/// The matrices of an operand: their extent, and the numbers of its buffer.
template <class T>
struct Operand {
  std::size_t rows, cols;  ///< of the view
  smem::Extent extent;
  bool turned;
  std::vector<std::complex<T>> host;

  /// NaN everywhere; `number()` in the matrices, if it is given.
  template <class Number>
  Operand(const ComplexCase& c, std::size_t height, std::size_t width, std::size_t batch,
          const Number& number)
      : rows(c.column_major ? width : height), cols(c.column_major ? height : width), turned(c.column_major) {
    if (!c.packed) extent = test::strided(rows, cols, batch).extent;
    if (!c.packed && c.beside) extent = test::side_by_side(cols, batch).extent;
    extent.batch = batch;
    const smem::ConstMatrix view(nullptr, smem::element_of<std::complex<T>>, rows, cols, extent);
    extent.pitch = view.pitch;
    extent.batch_stride = view.batch_stride;
    host.assign(extent.offset + (batch - std::min<std::size_t>(batch, 1)) * extent.batch_stride +
                    rows * extent.pitch + 4,
                {static_cast<T>(kNaN), static_cast<T>(kNaN)});
    for (std::size_t q = 0; q < batch; ++q)
      for (std::size_t i = 0; i < height; ++i)
        for (std::size_t j = 0; j < width; ++j) {
          const Complex x = number();
          host[at(q, i, j)] = {static_cast<T>(x.real()), static_cast<T>(x.imag())};
        }
  }
  std::size_t at(std::size_t q, std::size_t i, std::size_t j) const {
    if (turned) std::swap(i, j);
    return extent.offset + (extent.batch == 1 ? 0 : q * extent.batch_stride) + i * extent.pitch + j;
  }
};

template <class T>
bool same_bits(const std::complex<T>& a, const std::complex<T>& b) {
  return std::memcmp(&a, &b, sizeof a) == 0;
}

template <class T>
test::Outcome run_case(const smem::Context& context, const ComplexCase& c, test::Random& random) {
  const auto number = [&] {
    const auto part = [&] {
      return c.whole ? static_cast<double>(random.between(0, 18)) - 9
                     : static_cast<double>(random.next() >> 40) * 0x1p-23 - 1;
    };
    const double re = part();
    return Complex(re, part());
  };
  const bool reads_c = c.beta != 0.0;
  const auto old = [&] { return reads_c ? number() : Complex(kNaN, kNaN); };
  const Operand<T> a(c, c.transpose_a ? c.k : c.m, c.transpose_a ? c.m : c.k, c.one_a ? 1 : c.batch, number),
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
    return test::refusal(error);
  }
  const std::vector<Number> got = c_array.to_host();
  const double eps = c.part == Scalar::float64 ? 0x1p-53 : 0x1p-24;
  std::vector<bool> inside(got.size());
  for (std::size_t q = 0; q < c.batch; ++q)
    for (std::size_t i = 0; i < c.m; ++i)
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
          if (!(std::abs(is - expected) <= error))
            return {false, fmt::format("({}, {}) of product {}: expected {} + {}i within {}, got {} + {}i", i,
                                       j, q, x.real(), x.imag(), error, result.real(), result.imag())};
        }
      }
  for (std::size_t i = 0; i < got.size(); ++i)
    if (!inside[i] && !same_bits(got[i], out.host[i]))
      return {false, fmt::format("element {} of the buffer, outside C, has changed", i)};
  const auto is_kept = [](const auto& array, const std::vector<Number>& host) {
    const std::vector<Number> now = array.to_host();
    return std::equal(now.begin(), now.end(), host.begin(), same_bits<T>);
  };
  if (!is_kept(a_array, a.host) || !is_kept(b_array, b.host)) return {false, "an input has changed"};
  return {};
}

test::Outcome run(const smem::Context& context, const ComplexCase& c, test::Random& random) {
  if (c.part == Scalar::float64 && !context.device().fp64) return test::without_fp64();
  return c.part == Scalar::float64 ? run_case<double>(context, c, random)
                                   : run_case<float>(context, c, random);
}

using ComplexSweep = test::CaseSweep<ComplexCase>;

/// The type of parts that a variant has.
Scalar part_of(std::string_view variant) { return variant == "mma" ? Scalar::float64 : Scalar::float32; }
/// Whether the device runs a variant, with such parts.
bool has_variant(const smem::Device& device, std::string_view variant) {
  if (variant == "mma" && !device.fp64) return false;
  if (variant != "multistage" && variant != "mma") return true;
  return device.type == smem::DeviceType::cpu ||
         (smem::plan::is_nvidia_gpu(device) && smem::plan::compute_capability(device) >= 80);
}

/// Shapes around the tiles, skinny and wide ones, and empty ones, with alpha and beta of all kinds.
void run_shapes(ComplexSweep& sweep, ComplexCase c) {
  struct Shape {
    std::size_t m, n, k;
    Complex alpha = 1, beta = 0;
  };
  for (const Shape& shape : std::initializer_list<Shape>{{1, 1, 1},
                                                         {16, 16, 16, 2},
                                                         {15, 17, 31, 1, 1},
                                                         {0, 5, 7},
                                                         {5, 0, 7},
                                                         {5, 7, 0, {1, 3}, {-2, 1}},
                                                         {6, 5, 0},
                                                         {63, 65, 33, {-3, 1}, 2},
                                                         {67, 131, 19, {0, 1}},
                                                         {1, 200, 97, 1, {1, -1}},
                                                         {130, 1, 45, {2, 2}, {0, 1}},
                                                         {3, 5, 301, 1, 3},
                                                         {31, 29, 37, 0, {2, 1}}}) {
    c.m = shape.m;
    c.n = shape.n;
    c.k = shape.k;
    c.alpha = shape.alpha;
    c.beta = shape.beta;
    sweep.run(c);
  }
}

}  // namespace

TEST_SUITE_BEGIN("small");

TEST_CASE("small: complex_gemm") {
  const smem::Context context;
  ComplexSweep sweep(context);
  for (const std::string_view variant : smem::complex_gemm_variants()) {
    ComplexCase c;
    c.variant = variant;
    c.part = part_of(variant);
    c.m = 33;
    c.n = 18;
    c.k = 21;
    c.alpha = {2, 1};
    c.beta = {1, -1};
    c.conjugate_a = true;
    c.packed = true;  // reads beyond the end are found
    sweep.run(c);
    CHECK(sweep.ran() == (has_variant(context.device(), variant) ? 1 : 0));
  }
}

TEST_SUITE_END();

TEST_CASE("complex_gemm: every variant") {
  const smem::Context context;
  ComplexSweep sweep(context);
  for (const std::string_view variant : smem::complex_gemm_variants()) {
    CAPTURE(variant);
    ComplexCase c;
    c.variant = variant;
    run_shapes(sweep, c);
    c.transpose_a = c.conjugate_a = true;
    c.part = Scalar::float64;
    c.packed = true;
    run_shapes(sweep, c);
    if (has_variant(context.device(), variant)) CHECK(sweep.ran() > (context.device().fp64 ? 10 : 5));
  }
  run_shapes(sweep, {});  // the plan's choice
}

TEST_CASE("complex_gemm: every pair of factors in both orders, exact and with rounding") {
  const smem::Context context;
  ComplexSweep sweep(context);
  for (const std::string_view variant : smem::complex_gemm_variants()) {
    // Emulated on a CPU, which takes compilers long: a quarter each turn.
    const bool emulated =
        context.device().type == smem::DeviceType::cpu && (variant == "multistage" || variant == "mma");
    std::size_t wanted = 0;
    for (unsigned bits = 0; bits < 32; ++bits) {
      if (emulated && !test::has_turn(bits, 4)) continue;
      ++wanted;
      ComplexCase c;
      c.variant = variant;
      c.part = part_of(variant);
      c.transpose_a = (bits & 1) != 0;
      c.conjugate_a = (bits & 2) != 0;
      c.transpose_b = (bits & 4) != 0;
      c.conjugate_b = (bits & 8) != 0;
      c.column_major = (bits & 16) != 0;
      c.whole = bits % 3 != 0;
      c.m = 19, c.n = 34, c.k = 23;
      c.alpha = {1, c.whole ? 2 : 0.3};
      c.beta = bits % 2 == 0 ? Complex(c.whole ? 3 : 0.7) : Complex(-1, c.whole ? 1 : 0.2);
      sweep.run(c);
    }
    CHECK(sweep.ran() == (has_variant(context.device(), variant) ? wanted : 0));
  }
}

TEST_CASE("complex_gemm: batches with strides, with one factor for all, and side by side") {
  const smem::Context context;
  ComplexSweep sweep(context);
  for (const std::string_view variant : smem::complex_gemm_variants()) {
    for (unsigned bits = 0; bits < 16; ++bits) {
      ComplexCase c;
      c.variant = variant;
      c.part = part_of(variant);
      c.m = 17, c.n = 9, c.k = 20, c.batch = 5;
      c.one_a = (bits & 1) != 0;
      c.one_b = (bits & 2) != 0;
      c.transpose_a = (bits & 4) != 0;
      c.column_major = (bits & 8) != 0;
      c.beside = bits % 3 == 0;
      c.beta = {1, 1};
      sweep.run(c);
    }
    CHECK(sweep.ran() == (has_variant(context.device(), variant) ? 16 : 0));
  }
  ComplexCase many;  // more products than a launch has groups in its third dimension
  many.batch = 33000;
  many.m = many.n = many.k = 2;
  for (const std::string_view variant : {"naive", "gemm"}) {
    many.variant = variant;
    sweep.run(many);
  }
  CHECK(sweep.ran() == 2);
}

TEST_CASE("complex_gemm: every tile of NVIDIA's variants") {
  const smem::Context context;
  ComplexSweep sweep(context);
  std::size_t turn = 0, wanted = 0;
  const auto run_tile = [&](std::string_view variant, std::size_t rows, std::size_t cols) {
    if (!has_variant(context.device(), variant)) return;
    // A program has the layouts of the factors, and whether one is conjugated.
    for (std::size_t bits = 0; bits < 8; ++bits) {
      if (!test::has_turn(bits + turn, 8)) continue;
      ComplexCase c;
      c.variant = variant;
      c.part = part_of(variant);
      c.tile_rows = rows, c.tile_cols = cols;
      c.transpose_a = (bits & 1) != 0;
      c.transpose_b = (bits & 2) != 0;
      c.conjugate_a = (bits & 4) != 0;
      // Whole tiles and steps, then parts of them, and fewer steps than stages.
      const std::array<std::size_t, 3> sizes[] = {
          {2 * rows, cols, 96}, {rows + 3, 2 * cols + 1, 83}, {rows - 1, cols + 9, 13}};
      for (const auto& [m, n, k] : sizes) {
        c.m = m, c.n = n, c.k = k;
        c.whole = bits % 2 == 0;
        c.beta = k == 83 ? Complex(2) : Complex(0);
        sweep.run(c);
        ++wanted;
      }
    }
    ++turn;
  };
  const auto& policy = smem::plan::complex_gemm::policy_of(context.device());
  for (const auto& tile : policy.stages)
    run_tile("multistage", tile.tile_m(), tile.tile_n());
  for (const auto& tile : policy.units)
    run_tile("mma", tile.tile_m(), tile.tile_n());
  CHECK(sweep.ran() == wanted);
}

TEST_CASE("complex_gemm: sums in parts of NVIDIA's variants") {
  const smem::Context context;
  if (!smem::plan::is_nvidia_gpu(context.device())) return;
  ComplexSweep sweep(context);
  std::size_t wanted = 0;
  for (const std::string_view variant : {"multistage", "mma"}) {
    if (!has_variant(context.device(), variant)) continue;
    for (std::size_t bits = 0; bits < 8; ++bits) {
      ComplexCase c;
      c.variant = variant;
      c.part = part_of(variant);
      c.transpose_a = (bits & 1) != 0;
      c.transpose_b = (bits & 2) != 0;
      c.conjugate_b = (bits & 4) != 0;
      c.m = 60 + bits, c.n = 45, c.k = 2000 + 77 * bits;
      c.batch = bits == 3 ? 2 : 1;
      c.whole = bits % 2 == 0;
      c.alpha = {2, 1};
      c.beta = bits % 3 == 0 ? Complex(1, 1) : Complex(0);
      const smem::Plan plan = smem::plan_complex_gemm(context.device(),
                                                      {.m = c.m,
                                                       .n = c.n,
                                                       .k = c.k,
                                                       .batch = c.batch,
                                                       .part = c.part,
                                                       .a_along_k = !c.transpose_a,
                                                       .b_along_k = c.transpose_b},
                                                      {.variant = c.variant});
      CHECK(plan.number("parts") > 1);
      // Twice: counters are zeros again.
      for (int i = 0; i < 2; ++i)
        sweep.run(c);
      wanted += 2;
    }
  }
  CHECK(sweep.ran() == wanted);
}

TEST_CASE("complex_gemm: slices along k and of the batch") {
  const test::Variable clamp("SMEM_CLAMP", "allocation=64K");
  const smem::Context context;
  ComplexSweep sweep(context);
  ComplexCase c;
  c.variant = "gemm";
  const auto rounds = [&](const ComplexCase& of) {
    return smem::plan_complex_gemm(
               context.device(),
               {.m = of.m, .n = of.n, .k = of.k, .batch = of.batch, .a_along_k = !of.transpose_a},
               {.variant = "gemm"})
        .rounds;
  };
  c.m = 21, c.n = 20, c.k = 500;
  CHECK(rounds(c) > 2);
  for (unsigned bits = 0; bits < 16; ++bits) {
    c.transpose_a = (bits & 1) != 0;
    c.transpose_b = (bits & 2) != 0;
    c.batch = (bits & 4) != 0 ? 3 : 1;
    c.one_b = c.one_a = c.batch > 1 && bits % 3 == 0;
    c.whole = bits % 2 == 0;
    c.alpha = (bits & 8) != 0 ? Complex(1, 2) : Complex(2);
    c.beta = (bits & 8) != 0 ? Complex(1, -1) : Complex(bits % 2);
    sweep.run(c);
  }
  CHECK(sweep.ran() == 16);
  // Of a batch: all of k at once.
  c = {};
  c.variant = "gemm";
  c.m = 12, c.n = 20, c.k = 30, c.batch = 23;
  CHECK(rounds(c) > 2);
  CHECK(rounds(c) < 23);
  for (unsigned bits = 0; bits < 16; ++bits) {
    c.transpose_a = (bits & 1) != 0;
    c.one_a = (bits & 2) != 0;
    c.one_b = (bits & 4) != 0;
    c.column_major = (bits & 8) != 0;
    c.beta = {0, 1};
    sweep.run(c);
  }
  CHECK(sweep.ran() == 16);
}

TEST_CASE("complex_gemm: NaN of alpha and beta, and what is not read") {
  const smem::Context context;
  ComplexSweep sweep(context);
  for (const std::string_view variant : smem::complex_gemm_variants()) {
    ComplexCase c;
    c.variant = variant;
    c.part = part_of(variant);
    c.m = 5, c.n = 6, c.k = 7;
    for (const Complex& alpha : {Complex(kNaN), Complex(kNaN, kNaN)}) {
      c.alpha = alpha;
      sweep.run(c);
      c.k = 0;
      sweep.run(c);
      c.k = 7;
    }
    c.alpha = 1;
    for (const Complex& beta : {Complex(kNaN), Complex(kNaN, kNaN)}) {
      c.beta = beta;
      sweep.run(c);
    }
    if (has_variant(context.device(), variant)) CHECK(sweep.ran() >= 4);
  }
  // An alpha of 0: the factors' buffers need not be there.
  const smem::Array<std::complex<float>> c(context, {{1, 2}, {3, 4}, {5, 6}, {7, 8}});
  const smem::ConstMatrix none(nullptr, smem::ElementType::of_bytes(8), 2, 2);
  smem::complex_gemm(context, none, none, c.matrix(2, 2), {.alpha = 1e-60, .beta = {0, 1}});
  CHECK(c.to_host() == std::vector<std::complex<float>>{{-2, 1}, {-4, 3}, {-6, 5}, {-8, 7}});
  smem::complex_gemm(context, none, none, c.matrix(2, 2), {.alpha = 0});
  CHECK(c.to_host() == std::vector<std::complex<float>>(4));
}

TEST_CASE("complex_gemm: an out-of-order queue, and events that are waited for") {
  const test::Variable clamp("SMEM_CLAMP", "allocation=64K");
  const smem::Context own;
  cl_int status = CL_SUCCESS;
  const cl::CommandQueue queue(clCreateCommandQueue(own.cl_context()(), own.cl_device()(),
                                                    CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &status));
  if (status != CL_SUCCESS) {
    MESSAGE("skipped: " << own.device().name << " has no out-of-order queue");
    return;
  }
  const smem::Context context(queue);
  constexpr std::size_t kEdge = 40, kDepth = 200;
  using Number = std::complex<float>;
  const std::vector<Number> ones(kEdge * kDepth, {1, 1});
  const smem::Array<Number> a(context, ones), b(context, smem::Count{kEdge * kDepth}),
      c(context, std::vector<Number>(kEdge * kEdge, {1, 0}));
  const cl::Event gate(clCreateUserEvent(context.cl_context()(), &status));
  REQUIRE(status == CL_SUCCESS);
  const cl::Event called =
      smem::complex_gemm(context, a.matrix(kDepth, kEdge), b.matrix(kDepth, kEdge), c.matrix(kEdge, kEdge),
                         {.alpha = {0, 1}, .beta = {0, 1}, .transpose_a = true, .conjugate_a = true},
                         {.wait_for = {gate}, .variant = "gemm"});
  // Written through another queue while the call waits.
  smem::write_buffer(own, b.buffer(), ones.data(), ones.size() * sizeof(Number));
  clSetUserEventStatus(gate(), CL_COMPLETE);
  called.wait();
  // i (1 - i) (1 + i) 200 + i
  CHECK(c.to_host() == std::vector<Number>(kEdge * kEdge, {0, 401}));
}

TEST_CASE("complex_gemm: small devices") {
  for (const char* limits : {"local=2048,work_group=16", "local=0", "local=700,work_group=1"}) {
    CAPTURE(limits);
    const test::Variable clamp("SMEM_CLAMP", limits);
    const smem::Context context;
    ComplexSweep sweep(context);
    for (const std::string_view variant : smem::complex_gemm_variants()) {
      ComplexCase c;
      c.variant = variant;
      c.m = 35, c.n = 33, c.k = 18;
      for (const Scalar part : {Scalar::float32, Scalar::float64}) {
        c.part = part;
        sweep.run(c);
      }
      if (variant == "naive") CHECK(sweep.ran() > 0);
    }
    ComplexCase c;
    c.m = c.n = c.k = 20;
    sweep.run(c);
    CHECK(sweep.ran() > 0);
  }
}
