// Products of matrices: every variant, type and layout against plain loops in double precision.
#include <smem/smem.hpp>

#include "support/failure.hpp"
#include "support/gemms.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

using smem::Scalar;
using test::GemmCase;
using test::Place;

namespace {

constexpr std::pair<Scalar, Scalar> kTypes[] = {
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
    c.transpose_a = c.transpose_b = true;
    c.place = Place::aligned;
    test::gemm_shapes(sweep, c);
    CHECK(sweep.ran() > 0);
    for (std::size_t i = 0; i < 2; ++i) {
      const std::size_t t = (v + 3 * i + v / 6) % std::size(kTypes);
      std::tie(c.in, c.out) = kTypes[t];
      if (!has(context.device(), c.in)) continue;
      c.transpose_a = (v + i) % 2 == 0;
      c.transpose_b = (v / 2 + i) % 2 == 0;
      c.column_major = (v + t) % 3 == 0;
      c.place = i == 0 ? Place::aligned : Place::odd;
      test::gemm_shapes(sweep, c);
    }
  }
}
