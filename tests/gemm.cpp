// Products of matrices: every variant, type and layout against plain loops in double precision.
#include <smem/smem.hpp>

#include "support/failure.hpp"
#include "support/gemms.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

using smem::Scalar;
using test::GemmCase;
using test::Place;

namespace {

constexpr std::pair<Scalar, Scalar> kGemmTypes[] = {
    {Scalar::half, Scalar::float32},    {Scalar::int8, Scalar::int32},
    {Scalar::half, Scalar::half},       {Scalar::bfloat16, Scalar::bfloat16},
    {Scalar::float64, Scalar::float64}, {Scalar::bfloat16, Scalar::float32}};

bool has(const smem::Device& device, Scalar type) { return type != Scalar::float64 || device.fp64; }

}  // namespace

// Each program costs a driver's compiler a good part of a second, so that types, transposes, alignments and
// variants take turns: every one of them meets many of the others.
TEST_CASE("gemm: every variant") {
  const smem::Context context;
  test::GemmSweep sweep(context);
  const auto variants = smem::gemm_variants();
  for (std::size_t v = 0; v < variants.size(); ++v) {
    CAPTURE(variants[v]);
    GemmCase c;
    c.variant = variants[v];
    test::gemm_shapes(sweep, c);
    // The variants that share a file share transposes and types too.
    const std::string variant = c.variant;
    const bool shares =
        variant == "padded" || variant == "swizzled" || variant == "rectangular" || variant == "registers_1d";
    if (!shares) {
      c.transpose_a = c.transpose_b = true;
      c.place = Place::aligned;
      test::gemm_shapes(sweep, c);
    }
    if (test::is_portable_gemm(c.variant)) CHECK(sweep.ran() > 0);
    for (std::size_t i = 0; i < (shares ? 1 : 2); ++i) {
      const std::size_t t = (v + 3 * i + v / 6) % std::size(kGemmTypes);
      std::tie(c.in, c.out) = kGemmTypes[t];
      if (!has(context.device(), c.in)) continue;
      c.transpose_a = (v + i) % 2 == 0;
      c.transpose_b = (v / 2 + i) % 2 == 0;
      c.column_major = (v + t) % 3 == 0;
      c.place = i == 0 ? Place::aligned : Place::odd;
      test::gemm_shapes(sweep, c);
    }
  }
}

TEST_CASE("gemm: the plan's own choice, over all orders and transposes") {
  const smem::Context context;
  test::GemmSweep sweep(context);
  for (int i = 0; i < 8; ++i) {
    GemmCase c;
    c.place = Place::packed;
    c.transpose_a = i % 2 != 0;
    c.transpose_b = i / 2 % 2 != 0;
    c.column_major = i / 4 != 0;
    c.m = 45;
    c.n = 33;
    c.k = 27;
    c.beta = 1;
    sweep.run(c);
    std::swap(c.m, c.k);
    sweep.run(c);
  }
  CHECK(sweep.ran() == 16);
}

TEST_CASE("gemm: batches with strides, with one B for all, and by a list") {
  const smem::Context context;
  test::GemmSweep sweep(context);
  for (const char* variant : {"naive", "tiled", "vector", "split_k"}) {
    GemmCase c;
    c.variant = variant;
    c.batch = 5;
    c.m = 33;
    c.n = 18;
    c.k = 70;
    c.beta = 0.5;
    sweep.run(c);
    c.shared_b = true;
    sweep.run(c);
    c.listed = true;
    sweep.run(c);
    c.shared_b = false;
    sweep.run(c);
    c.column_major = true;  // A and B are exchanged, and their offsets with them
    sweep.run(c);
    c.residual = 2;  // each product's own C
    sweep.run(c);
    c.residual = 0;
    c.column_major = false;
    c.k = 0;
    sweep.run(c);
    CHECK(sweep.ran() == 7);
  }
  GemmCase many;  // more products than a launch has groups in its third dimension
  many.variant = "naive";
  many.batch = 33000;
  many.m = many.n = many.k = 2;
  sweep.run(many);
  many.variant = "tiled";
  sweep.run(many);
  many.batch = 0;
  sweep.run(many);
  CHECK(sweep.ran() == 3);
}

TEST_CASE("gemm: what a list would put outside of a buffer is left out") {
  const smem::Context context;
  const smem::Array<float> a(context, std::vector<float>(4, 1.0F)), b(context, std::vector<float>(4, 2.0F)),
      c(context, std::vector<float>(8, 5.0F));
  // Each of the last three leaves the buffer of one matrix.
  const smem::Array<std::uint64_t> list(context,
                                        std::vector<std::uint64_t>{0, 0, 4, 1, 0, 0, 0, ~0ULL, 0, 0, 0, 5});
  for (const char* variant : {"naive", "vector"}) {
    smem::gemm(context, a.matrix(2, 2), b.matrix(2, 2), c.matrix(2, 2), {.list = list.vector()},
               {.variant = variant});
    CHECK(c.to_host() == std::vector<float>{5, 5, 5, 5, 4, 4, 4, 4});
  }
}

TEST_CASE("gemm: a list's offsets and limits are those of the caller's A and B, in both orders") {
  const smem::Context context;
  const smem::Array<float> a(context, std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7}),
      b(context, std::vector<float>(10, 1.0F));
  // The second product's A would leave its buffer, at an offset that B's has.
  const smem::Array<std::uint64_t> list(context, std::vector<std::uint64_t>{5, 1, 0, 8, 1, 1, 7, 9, 2});
  for (const smem::Order order : {smem::Order::row_major, smem::Order::column_major}) {
    CAPTURE(static_cast<int>(order));
    const smem::Array<float> c(context, std::vector<float>(3, -1.0F));
    smem::gemm(context, a.matrix(1, 1), b.matrix(1, 1), c.matrix(1, 1),
               {.order = order, .list = list.vector()}, {.variant = "naive"});
    CHECK(c.to_host() == std::vector<float>{5, -1, 7});
  }
}

TEST_CASE("gemm: GELU is within 2 units in the last place") {
  const smem::Context context;
  std::vector<float> numbers;
  for (std::uint64_t bits = 0; bits < std::uint64_t{1} << 32; bits += 3989)  // all exponents, both signs
    numbers.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  for (float x = -14; x < 6; x += 0x1p-13F)
    numbers.push_back(x);
  const float infinity = std::numeric_limits<float>::infinity();
  numbers.insert(numbers.end(), {-infinity, infinity, std::numeric_limits<float>::quiet_NaN()});
  const smem::Array<float> c(context, numbers);
  const std::size_t n = numbers.size();
  smem::Gemm product;
  product.beta = 1;
  product.epilogue.activation = smem::Activation::gelu;
  smem::gemm(context, c.matrix(1, 0), c.matrix(0, n), c.matrix(1, n), product, {.variant = "naive"});
  const std::vector<float> got = c.to_host();
  double worst = 0;
  float at = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double x = numbers[i];
    const double wanted = 0.5 * x * std::erfc(-x / std::sqrt(2.0));
    if (std::isnan(x) || x > 40) {
      const bool is_same = std::isnan(x) ? std::isnan(got[i]) : got[i] == numbers[i];
      if (!is_same) FAIL(got[i] << " of " << x);
    } else if (x < -40 || std::abs(wanted) < 0x1p-126) {  // smaller numbers are 0 on some devices
      if (!(std::abs(got[i]) <= 0x1p-126F)) FAIL(got[i] << " of " << x);
    } else {
      const double error = std::abs(got[i] - wanted) / std::ldexp(1.0, std::ilogb(wanted) - 23);
      if (!(error <= worst)) {
        worst = std::isnan(error) ? HUGE_VAL : error;
        at = numbers[i];
      }
    }
  }
  CAPTURE(at);
  CHECK(worst <= 2);
  CHECK((got[n - 3] == 0 && std::signbit(got[n - 3])));
}

TEST_CASE("gemm: vectors of doubles stay together in padded and swizzled tiles") {
  const smem::Context context;
  if (!context.device().fp64) return;
  test::GemmSweep sweep(context);
  GemmCase c;
  c.in = c.out = Scalar::float64;
  c.m = 70;
  c.n = 66;
  c.k = 41;
  for (const auto kind : {smem::LocalLayout::Kind::padded, smem::LocalLayout::Kind::swizzled}) {
    for (const char* variant : {"vector", "two_level"}) {
      c.overrides.variant = variant;
      c.overrides.layout.kind = kind;
      c.place = Place::aligned;
      sweep.run(c);
    }
  }
  CHECK(sweep.ran() == 4);
}

TEST_CASE("gemm: epilogues") {
  const smem::Context context;
  test::GemmSweep sweep(context);
  GemmCase c;
  c.m = 37;
  c.n = 50;
  c.k = 21;
  c.batch = 2;
  c.alpha = 0.5;
  for (const char* variant : {"naive", "two_level"}) {
    c.variant = variant;
    c.beta = 0.25;
    for (const bool column_major : {false, true}) {
      c.column_major = column_major;
      for (const auto& [bias, residual] : {std::pair{1, 0}, {2, 1}, {0, 2}}) {
        c.bias = bias;
        c.residual = residual;
        c.scale = bias == 1 ? -3 : 1;
        sweep.run(c);
      }
    }
    c.bias = 2;
    c.activation = smem::Activation::gelu;
    c.residual = 1;
    sweep.run(c);
    c.activation = smem::Activation::none;
  }
  for (const char* variant : {"split_k", "stream_k", "vector"}) {
    c.variant = variant;
    if (c.variant != "vector") sweep.run(c);
  }
  c.custom = true;
  sweep.run(c);
  c.column_major = false;
  sweep.run(c);
  c.activation = smem::Activation::relu;
  c.k = 0;
  sweep.run(c);
  c.k = 21;
  c.in = c.out = Scalar::half;
  c.place = Place::aligned;
  sweep.run(c);
  c.custom = false;
  c.in = c.out = Scalar::bfloat16;
  sweep.run(c);
  c.in = Scalar::int8;
  c.out = Scalar::int32;
  c.alpha = -2;
  c.beta = 3;
  c.scale = 5;
  sweep.run(c);
  CHECK(sweep.ran() == 2 * 7 + 8);
}

TEST_CASE("gemm: GELU in vectors of results, of which the last ones of a row are not all in C") {
  const smem::Context context;
  test::GemmSweep sweep(context);
  GemmCase c;
  c.m = 37;
  c.k = 21;
  c.place = Place::aligned;
  c.bias = 2;
  c.activation = smem::Activation::gelu;
  for (const char* variant : {"vector", "double_buffered", "two_level", "stream_k"}) {
    c.variant = variant;
    for (const std::size_t n : {49, 50, 51, 52}) {
      c.n = n;
      c.beta = n % 2 == 0 ? 0.25 : 0;
      c.residual = n % 2 == 0 ? 1 : 0;
      c.in = c.out = n < 51 ? Scalar::float32 : Scalar::half;
      sweep.run(c);
    }
  }
  CHECK(sweep.ran() == 4 * 4);
}

TEST_CASE("gemm: what is multiplied by 0 is not read, and NaN is passed on") {
  const smem::Context context;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> nans(16, nan), ones(16, 1.0F);
  const auto product = [&](const std::vector<float>& factors, const std::vector<float>& old, double alpha,
                           double beta, const char* variant) {
    const smem::Array<float> a(context, factors), c(context, old);
    smem::gemm(context, a.matrix(4, 4), a.matrix(4, 4), c.matrix(4, 4), {.alpha = alpha, .beta = beta},
               {.variant = variant});
    return c.to_host();
  };
  const auto all_nan = [](const std::vector<float>& values) {
    return std::all_of(values.begin(), values.end(), [](float x) { return std::isnan(x); });
  };
  for (const char* variant : {"", "naive", "registers_2d", "split_k"}) {
    CAPTURE(variant);
    CHECK(product(ones, nans, 1, 0, variant) == std::vector<float>(16, 4.0F));
    CHECK(product(nans, ones, 0, 3, variant) == std::vector<float>(16, 3.0F));
    CHECK(product(nans, nans, 0, 0, variant) == std::vector<float>(16, 0.0F));
    CHECK(all_nan(product(ones, ones, nan, 0, variant)));
    CHECK(all_nan(product(ones, ones, 1, nan, variant)));
    CHECK(all_nan(product(nans, ones, 1, 1, variant)));
    // As float they are 0.
    CHECK(product(nans, nans, 1e-60, -1e-60, variant) == std::vector<float>(16, 0.0F));
  }
  // No sum, so that alpha is not used.
  const smem::Array<float> c(context, ones);
  smem::gemm(context, c.matrix(4, 0), c.matrix(0, 4), c.matrix(4, 4), {.alpha = nan, .beta = 3});
  CHECK(c.to_host() == std::vector<float>(16, 3.0F));
}

TEST_CASE("gemm: half at K = 1024 stays inside of 1e-2") {
  const smem::Context context;
  test::Random random(7);
  constexpr std::size_t kM = 20, kN = 24, kK = 1024;
  std::vector<smem::half> a(kM * kK), b(kK * kN);
  for (auto* values : {&a, &b})
    for (smem::half& x : *values)
      x = smem::half(static_cast<float>(random.next() >> 40) * 0x1p-23F - 1);
  const smem::Array<smem::half> left(context, a), right(context, b);
  const smem::Array<float> c(context, smem::Count{kM * kN});
  for (const char* variant : {"", "double_buffered", "async"}) {
    smem::gemm(context, left.matrix(kM, kK), right.matrix(kK, kN), c.matrix(kM, kN), {},
               {.variant = variant});
    const std::vector<float> got = c.to_host();
    double worst = 0;
    for (std::size_t i = 0; i < kM; ++i) {
      for (std::size_t j = 0; j < kN; ++j) {
        double sum = 0;
        for (std::size_t k = 0; k < kK; ++k)
          sum += double{a[i * kK + k]} * double{b[k * kN + j]};
        worst = std::max(worst, std::abs(got[i * kN + j] - sum));
      }
    }
    CHECK(worst < 1e-4);  // products of half are exact in float
  }
}

TEST_CASE("gemm: the same bits in every run, and tiles by hand") {
  const smem::Context context;
  test::GemmSweep sweep(context);
  GemmCase c;
  c.m = 70;
  c.n = 40;
  c.k = 50;
  c.variant = "registers_2d";
  c.overrides = {.tile_rows = 32, .tile_cols = 64, .work_items = 64};
  sweep.run(c);
  c.variant = "double_buffered";
  c.overrides = {
      .tile_rows = 64, .tile_cols = 16, .work_items = 32, .layout = smem::parse_layout("swizzled")};
  sweep.run(c);
  c.variant = "tiled";
  c.overrides = {.tile_rows = 4, .tile_cols = 32};
  sweep.run(c);
  c.variant = "registers_1d";  // one result a work-item
  c.overrides = {.tile_rows = 16, .tile_cols = 16, .work_items = 256};
  sweep.run(c);
  CHECK(sweep.ran() == 4);
  test::Random random(3);
  std::vector<float> values(64 * 2000);
  for (float& x : values)
    x = static_cast<float>(random.next() >> 40) * 0x1p-23F - 1;
  const smem::Array<float> a(context, values), out(context, smem::Count{64 * 64});
  std::vector<float> first;
  for (int run = 0; run < 3; ++run) {
    smem::gemm(context, a.matrix(64, 2000), a.matrix(2000, 64), out.matrix(64, 64), {},
               {.variant = "split_k"});
    if (run == 0) first = out.to_host();
    CHECK(out.to_host() == first);
  }
}
