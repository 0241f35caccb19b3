// Products of complex matrices: every variant, factor, order and layout against plain loops of
// std::complex<double>.
#include <smem/smem.hpp>

#include "support/case_sweep.hpp"
#include "support/complex_gemms.hpp"
#include "support/environment.hpp"
#include "support/turn.hpp"

#include "plan/complex_gemm_policy.hpp"
#include "plan/sizes.hpp"

#include <doctest/doctest.h>

#include <array>
#include <complex>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

using smem::Scalar;

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

using test::Complex;
using test::ComplexCase;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

using ComplexSweep = test::CaseSweep<ComplexCase>;

/// The type of parts that a variant has.
Scalar part_of(std::string_view variant) { return variant == "mma" ? Scalar::float64 : Scalar::float32; }
/// Whether the device runs a variant, with such parts.
bool has_variant(const smem::Device& device, std::string_view variant) {
  if (variant == "mma" && (!device.fp64 || device.local_bytes < 33792)) return false;  // its least tile
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
