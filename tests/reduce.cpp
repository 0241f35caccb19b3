// Reductions: every variant, operation and type against plain loops.
#include <smem/smem.hpp>

#include "support/reduce_sweep.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <string>
#include <vector>

using smem::ReduceOp;
using smem::ReduceShape;
using smem::Scalar;
using test::ReduceCase;

namespace {

void every_vector(Scalar type) {
  const smem::Context context;
  if (type == Scalar::float64 && !context.device().fp64) return;
  test::ReduceSweep sweep(context);
  for (const std::string_view variant : smem::reduce_variants()) {
    CAPTURE(variant);
    std::size_t ran = 0;
    for (const ReduceOp op : test::kReduceOps) {
      if (!test::fits(context.device(), op, type) || !test::is_turn_of(variant, op, type)) continue;
      ReduceCase c;
      c.reduction = op;
      c.in = type;
      c.variant = variant;
      test::run_vectors(sweep, c);
      ran += sweep.ran();
    }
    if (ran == 0) MESSAGE("variant " << variant << " does not run on " << context.device().name);
    const bool runs = variant != "sub_group" && variant != "shuffle";
    CHECK_MESSAGE((ran > 0 || !runs), variant);
  }
}

}  // namespace

TEST_CASE("reduce: every variant and operation on int8") { every_vector(Scalar::int8); }
TEST_CASE("reduce: every variant and operation on int16") { every_vector(Scalar::int16); }
TEST_CASE("reduce: every variant and operation on int32") { every_vector(Scalar::int32); }
TEST_CASE("reduce: every variant and operation on int64") { every_vector(Scalar::int64); }
TEST_CASE("reduce: every variant and operation on uint8") { every_vector(Scalar::uint8); }
TEST_CASE("reduce: every variant and operation on uint16") { every_vector(Scalar::uint16); }
TEST_CASE("reduce: every variant and operation on uint32") { every_vector(Scalar::uint32); }
TEST_CASE("reduce: every variant and operation on uint64") { every_vector(Scalar::uint64); }
TEST_CASE("reduce: every variant and operation on half") { every_vector(Scalar::half); }
TEST_CASE("reduce: every variant and operation on float32") { every_vector(Scalar::float32); }
TEST_CASE("reduce: every variant and operation on float64") { every_vector(Scalar::float64); }
