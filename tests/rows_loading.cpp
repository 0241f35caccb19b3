// Norms of rows in registers, of which groups load the next one while they compute: against plain loops, and
// the plans.
#include <smem/smem.hpp>

#include "support/case_sweep.hpp"
#include "support/environment.hpp"
#include "support/norms.hpp"
#include "support/targets.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>

using smem::NormOp;
using smem::Scalar;

namespace {

/// So that groups have several rows.
constexpr const char* kOneUnit = "compute_units=1";
/// Teams of one group have no row in the last turn.
constexpr std::size_t kLoadingRows = 301;

bool loads_ahead(const smem::Plan& plan) {
  return std::any_of(plan.defines.begin(), plan.defines.end(),
                     [](const auto& define) { return define.first == "LOADS_AHEAD"; });
}

}  // namespace

TEST_CASE("rows loading: norms, whose weights are loaded once") {
  const test::Variable clamp("SMEM_CLAMP", kOneUnit);
  const smem::Context context;
  test::CaseSweep<test::NormCase> sweep(context);
  std::size_t turn = 0;
  for (const std::size_t cols : {104, 256, 1000, 1024}) {
    for (const bool in_place : {false, true}) {
      test::NormCase c;
      c.variant = "registers";
      c.in = c.out = c.weights = Scalar::half;
      c.op = turn % 3 == 2 ? NormOp::rms : NormOp::layer;
      c.rows = kLoadingRows;
      c.cols = cols;
      c.batch = 1 + turn / 2 % 2;
      c.weight = c.bias = true;
      c.statistics = turn % 3 == 0;
      if (in_place) c.in_place = test::NormInPlace::out_in;
      sweep.run(c);
      ++turn;
    }
  }
  CHECK(sweep.ran() == turn);
  smem::NormProblem p{.in = Scalar::half, .out = Scalar::half, .weights = Scalar::half};
  p.weight = p.bias = true;
  p.rows = kLoadingRows;
  p.cols = 1000;
  if (context.device().type == smem::DeviceType::cpu)
    CHECK(loads_ahead(smem::plan_norm(context.device(), p, {.variant = "registers"})));
}

TEST_CASE("rows loading: chosen for halves with weight and bias that the cache holds") {
  const auto loads = [&](std::size_t rows, std::size_t cols, Scalar type = Scalar::half, bool bias = true,
                         std::size_t alignment = 16) {
    const smem::NormProblem p{.in = type,
                              .out = type,
                              .weights = type,
                              .weight = true,
                              .bias = bias,
                              .rows = rows,
                              .cols = cols,
                              .row_alignment = alignment};
    return loads_ahead(smem::plan_norm(test::target("sm_90"), p));
  };
  CHECK(loads(8192, 1000));
  CHECK(!loads(65536, 1000));  // more than the cache
  CHECK(!loads(2000, 1000));   // a row for each team
  CHECK(!loads(8192, 500));    // fewer packs of a work-item
  CHECK(!loads(8192, 1001, Scalar::half, true, 2));
  CHECK(!loads(8192, 1000, Scalar::bfloat16));
  CHECK(!loads(8192, 1000, Scalar::half, false));
}
