// Rows in registers of groups that stay, and load a row as they store the one before: against plain loops,
// and the plans.
#include <smem/smem.hpp>

#include "support/case_sweep.hpp"
#include "support/environment.hpp"
#include "support/norms.hpp"
#include "support/targets.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

using smem::NormOp;
using smem::Scalar;

namespace {

/// More rows than groups, each of whole turns of a group and of a part of one: words of some work-items, or
/// of all but some, in each of which a row begins or ends.
constexpr std::size_t kRows = 150;
constexpr std::array<std::size_t, 4> kCols{129, 191, 257, 1003};
constexpr std::size_t kItems = 32;

std::size_t defined(const smem::Plan& plan, std::string_view name) {
  for (const auto& [define, value] : plan.defines)
    if (define == name) return static_cast<std::size_t>(value);
  return 0;
}

}  // namespace

TEST_CASE("rows persistent: norms") {
  const smem::Context context;
  if (context.device().max_work_group < kItems) return;
  test::CaseSweep<test::NormCase> sweep(context);
  std::size_t turn = 0;
  for (const Scalar type : {Scalar::half, Scalar::bfloat16, Scalar::float32}) {
    for (const std::size_t cols : kCols) {
      test::NormCase c;
      c.variant = "persistent";
      c.in = c.out = type;
      c.weights = turn % 5 == 4 ? Scalar::float32 : type;
      c.op = turn % 3 == 2 ? NormOp::rms : NormOp::layer;
      c.rows = kRows;
      c.cols = cols;
      c.work_items = kItems << turn % 2;
      if (cols < 4 * c.work_items) c.work_items = kItems;
      c.weight = turn % 4 != 3;
      c.bias = turn % 4 != 1 && c.op == NormOp::layer;
      c.statistics = turn % 2 == 0;
      c.gaps = turn % 3 == 1;
      c.offsets = turn % 3 == 2;
      c.batch = turn % 6 == 1 ? 2 : 1;
      if (turn % 4 == 2) c.in_place = test::NormInPlace::out_in;
      sweep.run(c);
      ++turn;
    }
  }
  CHECK(sweep.ran() == turn);
}

TEST_CASE("rows persistent: weights that local memory does not hold are read again for each row") {
  const test::Variable clamp("SMEM_CLAMP", "local=4100");
  const smem::Context context;
  if (context.device().max_work_group < kItems) return;
  const smem::NormProblem p{.in = Scalar::half,
                            .out = Scalar::half,
                            .weights = Scalar::half,
                            .weight = true,
                            .bias = true,
                            .rows = kRows,
                            .cols = 1003};
  const smem::Plan plan =
      smem::plan_norm(context.device(), p, {.variant = "persistent", .work_items = kItems});
  CHECK(defined(plan, "KEPT_WORDS") > 0);
  CHECK(defined(plan, "KEPT_WORDS") < defined(plan, "WORDS"));
  test::CaseSweep<test::NormCase> sweep(context);
  test::NormCase c;
  c.variant = "persistent";
  c.in = c.out = c.weights = Scalar::half;
  c.rows = kRows;
  c.cols = 1003;
  c.work_items = kItems;
  c.weight = c.bias = true;
  for (const bool gaps : {false, true}) {
    c.gaps = gaps;
    sweep.run(c);
  }
  CHECK(sweep.ran() == 2);
}

TEST_CASE("rows persistent: chosen for long rows with weights on Hopper, which leave room for its cache") {
  const smem::Device device = test::target("sm_90");
  const auto plan_of = [&](Scalar type, std::size_t cols, bool weighs, std::size_t rows) {
    const smem::NormProblem p{.in = type,
                              .out = type,
                              .weights = weighs ? type : Scalar::float32,
                              .weight = weighs,
                              .bias = weighs,
                              .rows = rows,
                              .cols = cols,
                              .row_alignment = size_of(type)};
    return smem::plan_norm(device, p);
  };
  const smem::Plan plan = plan_of(Scalar::half, 50257, true, 4096);
  CHECK(plan.variant == "persistent");
  CHECK(plan.groups() == device.compute_units);
  CHECK(defined(plan, "KEPT_WORDS") == 0);
  const smem::Plan floats = plan_of(Scalar::float32, 24577, true, 8192);
  CHECK(floats.variant == "persistent");
  CHECK(floats.local_bytes <= 195 * 1024);
  CHECK(plan_of(Scalar::bfloat16, 50257, true, 4096).variant == "ahead");  // not measured
  CHECK(plan_of(Scalar::half, 50257, false, 4096).variant == "ahead");
  CHECK(plan_of(Scalar::half, 20000, true, 4096).variant != "persistent");
  CHECK(plan_of(Scalar::half, 50257, true, device.compute_units).variant !=
        "persistent");                                                      // a row for each group, at most
  CHECK(plan_of(Scalar::half, 70001, true, 4096).variant != "persistent");  // more than registers hold
}
