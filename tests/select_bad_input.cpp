// What a caller of selections can do wrong: each is refused by name, and nothing is written.
#include <smem/smem.hpp>

#include "support/failure.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

using smem::Scalar;
using smem::Vector;
using test::contains;
using test::failure_of;

namespace {

/// An input, an output and a count, and a check that nothing was written.
struct SelectBuffers {
  smem::Context context;
  std::vector<float> poison = std::vector<float>(100, -7.0F);
  smem::Array<float> in{context, std::vector<float>(100, 1.0F)};
  smem::Array<float> out{context, poison};
  smem::Array<std::uint32_t> count{context, {77, 77}};
  smem::Array<std::uint32_t> lengths{context, std::vector<std::uint32_t>(100, 77)};

  ~SelectBuffers() {
    CHECK(out.to_host() == poison);
    CHECK(count.to_host() == std::vector<std::uint32_t>(2, 77));
    CHECK(lengths.to_host() == std::vector<std::uint32_t>(100, 77));
  }
  Vector one() const { return count.vector(0, 1); }
  smem::ErrorDetails fail(const Vector& from, const Vector& to, const Vector& number,
                          const char* predicate = "x > 0", const smem::CallOptions& options = {}) const {
    return failure_of([&] { smem::copy_if(context, from, to, number, predicate, options); });
  }
};

}  // namespace

TEST_CASE("bad input of select: types") {
  const SelectBuffers b;
  auto error = b.fail(b.in.vector(), Vector(b.out.buffer()(), Scalar::int32, 100), b.one());
  CHECK(error.operation == "copy_if");
  CHECK(error.argument == "out");
  CHECK(error.expected == "float32, as in has");
  error = b.fail(b.in.vector(), b.out.vector(), Vector(b.count.buffer()(), Scalar::int32, 1));
  CHECK(error.argument == "count");
  CHECK(error.expected == "uint32 or uint64");
  error = failure_of(
      [&] { smem::copy_flagged(b.context, b.in.vector(), b.in.vector(), b.out.vector(), b.one()); });
  CHECK(error.operation == "copy_flagged");
  CHECK(error.argument == "flags");
  CHECK(error.expected == "an integer type");
  error = failure_of([&] {
    smem::run_length_encode(b.context, b.in.vector(), b.out.vector(),
                            Vector(b.lengths.buffer()(), Scalar::int64, 50), b.one());
  });
  CHECK(error.operation == "run_length_encode");
  CHECK(error.argument == "lengths");
  // 2^32 elements that 32 bits cannot count; refused before the views are checked.
  const std::size_t many = std::size_t{1} << 32;
  const Vector huge(b.in.buffer()(), Scalar::float32, many), room(b.out.buffer()(), Scalar::float32, many);
  error = b.fail(huge, room, b.one());
  CHECK(error.argument == "count");
  CHECK(error.got == "uint32");
  error = failure_of([&] {
    smem::run_length_encode(b.context, huge, room, Vector(b.lengths.buffer()(), Scalar::uint32, many),
                            Vector(b.count.buffer()(), Scalar::uint64, 1));
  });
  CHECK(error.argument == "lengths");
}

TEST_CASE("bad input of select: no fp64") {
  smem::Device device;
  device.fp64 = false;
  smem::SelectProblem problem;
  problem.in = Scalar::float64;
  problem.size = 10;
  problem.predicate = "x > 0";
  CHECK(failure_of([&] { smem::plan_select(device, problem); }).argument == "in");
  problem.op = smem::SelectOp::copy_flagged;  // moves bits
  CHECK(smem::plan_select(device, problem).variant == "count_then_place");
}

TEST_CASE("bad input of select: sizes and views") {
  const SelectBuffers b;
  auto error = b.fail(b.in.vector(), b.out.vector(0, 99), b.one());
  CHECK(error.argument == "out");
  CHECK(error.expected == "at least 100 elements, as in has");
  CHECK(error.got == "99");
  error = b.fail(b.in.vector(), b.out.vector(), b.count.vector());
  CHECK(error.argument == "count");
  CHECK(error.expected == "1 element");
  CHECK(b.fail(b.in.vector(1, 100), b.out.vector(), b.one()).argument == "in");
  CHECK(b.fail(b.in.vector(), b.out.vector(1, 100), b.one()).argument == "out");
  CHECK(b.fail(b.in.vector(), b.out.vector(), b.count.vector(2, 1)).argument == "count");
  CHECK(b.fail(b.in.vector(0, 0), b.out.vector(), b.count.vector(2, 1)).argument == "count");
  CHECK(failure_of([&] {
          smem::partition_flagged(b.context, b.in.vector(), b.lengths.vector(0, 99), b.out.vector(), b.one());
        }).argument == "flags");
  error = failure_of([&] {
    smem::run_length_encode(b.context, b.in.vector(), b.out.vector(0, 99), b.lengths.vector(), b.one());
  });
  CHECK(error.argument == "values");
  error = failure_of([&] {
    smem::run_length_encode(b.context, b.in.vector(), b.out.vector(), b.lengths.vector(0, 99), b.one());
  });
  CHECK(error.argument == "lengths");
  const smem::Context other;
  const smem::Array<float> theirs(other, smem::Count{100});
  CHECK(b.fail(theirs.vector(), b.out.vector(), b.one()).argument == "in");
}

TEST_CASE("bad input of select: views that overlap") {
  const SelectBuffers b;
  const auto overlap = [](const smem::ErrorDetails& error, const char* argument, const char* with) {
    CHECK(error.argument == argument);
    CHECK(error.expected == std::string("a view that does not overlap ") + with);
  };
  overlap(b.fail(b.out.vector(), b.out.vector(), b.one()), "out", "in");  // in place
  overlap(b.fail(b.out.vector(0, 50), b.out.vector(49, 51), b.one()), "out", "in");
  overlap(b.fail(b.in.vector(), b.out.vector(), Vector(b.out.buffer()(), Scalar::uint32, 1, 99)), "count",
          "out");
  overlap(b.fail(b.out.vector(0, 50), b.out.vector(50, 50), Vector(b.out.buffer()(), Scalar::uint32, 1, 3)),
          "count", "in");
  overlap(failure_of([&] {
            smem::copy_flagged(b.context, b.in.vector(), Vector(b.out.buffer()(), Scalar::uint32, 100),
                               b.out.vector(), b.one());
          }),
          "out", "flags");
  overlap(failure_of([&] {
            smem::run_length_encode(b.context, b.in.vector(), b.out.vector(),
                                    Vector(b.out.buffer()(), Scalar::uint32, 100), b.one());
          }),
          "lengths", "values");
}

TEST_CASE("bad input of select: predicates, variants, overrides and plans") {
  const SelectBuffers b;
  auto error = b.fail(b.in.vector(), b.out.vector(), b.one(), "x >\n y");
  CHECK(error.operation == "copy_if");
  CHECK(error.argument == "predicate");
  CHECK(error.expected == "an expression of x in OpenCL C");
  CHECK(contains(error.build_log, "predicate.cl:2"));
  error = b.fail(b.in.vector(), b.out.vector(), b.one(), "x <");
  CHECK(error.argument == "predicate");
  CHECK(error.got == "\"x <\"");
  CHECK_MESSAGE(error.build_log.starts_with("predicate.cl:1: x <\n" + std::string(19, ' ') + "^"),
                error.build_log);
  error = b.fail(b.in.vector(), b.out.vector(), b.one(), "");
  CHECK(error.argument == "predicate");
  CHECK(error.got == "nothing");
  error = failure_of([&] { smem::partition(b.context, b.in.vector(), b.out.vector(), "x > nosuch"); });
  CHECK(error.operation == "partition");
  CHECK(error.argument == "predicate");
  CHECK(error.got == "\"x > nosuch\"");
  CHECK(b.fail(b.in.vector(), b.out.vector(), b.one(), "1", {.variant = "nosuch"}).argument == "variant");
  CHECK(b.fail(b.in.vector(0, 0), b.out.vector(), b.one(), "1", {.variant = "nosuch"}).argument == "variant");
  // One pass does not know where the others begin; where groups can publish, a launch that counts all comes
  // first.
  smem::Device quiet = b.context.device();
  quiet.prefetch_builtin = false;
  quiet.vendor = smem::Vendor::other;
  smem::SelectProblem in_order;
  in_order.op = smem::SelectOp::partition;
  in_order.size = 99;
  in_order.predicate = "x > 0";
  error = failure_of([&] { smem::plan_select(quiet, in_order, {.variant = "look_back"}); });
  CHECK(error.argument == "variant");
  const smem::PlanOverrides tile{.tile_cols = 64}, odd{.variant = "count_then_place", .work_items = 48};
  CHECK(b.fail(b.in.vector(), b.out.vector(), b.one(), "1", {.overrides = &tile}).argument == "tile_cols");
  CHECK(b.fail(b.in.vector(), b.out.vector(), b.one(), "1", {.overrides = &odd}).argument == "work_items");
  smem::SelectProblem problem;
  problem.size = 99;
  problem.predicate = "x > 0";
  const smem::Plan plan = smem::plan_select(b.context.device(), problem);
  CHECK(b.fail(b.in.vector(), b.out.vector(), b.one(), "x > 0", {.plan = &plan}).argument == "plan");
}
