// Softmax and norms of rows in registers, cut in whole packs and the elements before and behind them
// (cl/common/row_ends.clh), and of rows whose results are stored past a CPU's cache.
#include <smem/smem.hpp>

#include "support/case_sweep.hpp"
#include "support/environment.hpp"
#include "support/norms.hpp"
#include "support/softmaxes.hpp"
#include "support/variants.hpp"

#include <doctest/doctest.h>

#include <cstddef>

using smem::NormOp;
using smem::Scalar;
using smem::SoftmaxOp;

namespace {

// Those of halves that a pack or two have share a program. Rows of an odd length begin at every element of a
// pack.
constexpr std::size_t kLengths[] = {1, 7, 8, 9, 15, 16, 17, 23, 24, 25, 29, 1001};

template <class Case>
void check_lengths(const smem::Context& context, Case c) {
  test::CaseSweep<Case> sweep(context);
  c.variant = "registers";
  c.rows = 19;
  std::size_t turn = 0;
  for (const std::size_t cols : kLengths) {
    c.cols = cols;
    c.offsets = turn % 2 == 1;
    c.gaps = turn % 5 == 4;
    sweep.run(c);
    ++turn;
  }
  CHECK(sweep.ran() == turn);
}

}  // namespace

TEST_CASE("softmax: ends of rows in registers") {
  const smem::Context context;
  test::SoftmaxCase c;
  c.in = c.out = Scalar::half;
  check_lengths(context, c);
  c.op = SoftmaxOp::log_softmax;
  c.in = c.out = Scalar::float32;
  c.in_place = true;
  check_lengths(context, c);
}

TEST_CASE("norm: ends of rows in registers") {
  const smem::Context context;
  test::NormCase c;
  c.in = c.out = c.weights = Scalar::half;
  c.weight = c.bias = c.residual = c.sum = c.statistics = true;
  check_lengths(context, c);
  c.op = NormOp::rms;
  c.weights = Scalar::float32;
  c.bias = c.residual = c.sum = false;
  check_lengths(context, c);
}

TEST_CASE("clamped: softmax and norms of more rows than a CPU's cache holds") {
  const test::Variable clamp("SMEM_CLAMP", "cache=1K");
  const smem::Context context;
  if (!test::has_cpu_variant(context.device())) return;
  test::CaseSweep<test::SoftmaxCase> softmaxes(context);
  test::CaseSweep<test::NormCase> norms(context);
  std::size_t turn = 0;
  for (const std::size_t cols : {512, 1001}) {
    test::SoftmaxCase c;
    c.variant = "cpu";
    c.in = c.out = turn % 2 == 0 ? Scalar::float32 : Scalar::half;
    c.rows = 19;
    c.cols = cols;
    c.in_place = turn % 2 == 1;
    softmaxes.run(c);
    test::NormCase n;
    n.variant = "cpu";
    n.in = n.out = n.weights = turn % 2 == 0 ? Scalar::half : Scalar::float32;
    n.weight = n.bias = n.residual = n.sum = true;
    n.rows = 19;
    n.cols = cols;
    norms.run(n);
    ++turn;
  }
  CHECK(softmaxes.ran() == turn);
  CHECK(norms.ran() == turn);
}
