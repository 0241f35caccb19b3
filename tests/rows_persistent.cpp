// Rows in registers of groups that stay, and load a row as they store the one before: against plain loops,
// and the plans.
#include <smem/smem.hpp>

#include "support/case_sweep.hpp"
#include "support/environment.hpp"
#include "support/norms.hpp"
#include "support/softmaxes.hpp"
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

TEST_CASE("rows persistent: softmax") {
  const smem::Context context;
  if (context.device().max_work_group < kItems) return;
  test::CaseSweep<test::SoftmaxCase> sweep(context);
  std::size_t turn = 0;
  for (const Scalar type : {Scalar::half, Scalar::bfloat16, Scalar::float32}) {
    for (const std::size_t cols : kCols) {
      test::SoftmaxCase c;
      c.variant = "persistent";
      c.in = c.out = type;
      c.op = turn % 5 == 4 ? smem::SoftmaxOp::logsumexp : static_cast<smem::SoftmaxOp>(turn % 2);
      c.rows = kRows;
      c.cols = cols;
      c.work_items = type == Scalar::float32 && cols > 512 ? 2 * kItems : kItems;
      c.gaps = turn % 3 == 1;
      c.offsets = turn % 3 == 2;
      c.batch = turn % 6 == 1 ? 2 : 1;
      c.masked = turn % 2 == 0 ? smem::MaskedRows::nan : smem::MaskedRows::zero;
      c.in_place = turn % 4 == 2 && c.op != smem::SoftmaxOp::logsumexp;
      sweep.run(c);
      ++turn;
    }
  }
  CHECK(sweep.ran() == turn);
}
