// What a caller of a reduction can do wrong: refused before anything is enqueued, with a message that says
// what and why.
#include <smem/smem.hpp>

#include "support/environment.hpp"
#include "support/failure.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <vector>

using smem::FloatMode;
using smem::ReduceOp;
using smem::Reduction;
using smem::Scalar;
using test::contains;
using test::failure_of;

namespace {

/// An input and an output of 100 floats, and a check that nothing was written.
struct ReduceBuffers {
  smem::Context context;
  std::vector<float> poison = std::vector<float>(100, -7.0F);
  smem::Array<float> in{context, std::vector<float>(100, 1.0F)};
  smem::Array<float> out{context, poison};

  ~ReduceBuffers() { CHECK(out.to_host() == poison); }

  smem::ErrorDetails fail(const Reduction& reduction, const smem::Vector& from, const smem::Vector& to,
                          const smem::CallOptions& options = {}) const {
    return failure_of([&] { smem::reduce(context, from, to, reduction, options); });
  }
  smem::Vector as(Scalar type, std::size_t size = 10) const { return {out.buffer()(), type, size}; }
};

}  // namespace

TEST_CASE("bad input of reduce: types that do not fit the operation") {
  const ReduceBuffers b;
  auto error = b.fail(ReduceOp::bit_and, b.in.vector(), b.out.vector());
  CHECK(error.operation == "reduce");
  CHECK(error.argument == "in");
  CHECK(error.expected == "integers for bit_and");
  CHECK(error.got == "float32");
  error = b.fail(ReduceOp::sum, b.in.vector(), b.as(Scalar::int32));
  CHECK(error.argument == "out");
  CHECK(error.expected == "half, float32 or float64 for sum of float32");
  CHECK(error.got == "int32");
  CHECK(b.fail(ReduceOp::sum, b.as(Scalar::int8), b.as(Scalar::float32)).expected ==
        "an integer type for sum of int8");
  CHECK(b.fail(ReduceOp::max, b.in.vector(), b.as(Scalar::float64)).expected ==
        "float32, as in has for max of float32");
  CHECK(b.fail(ReduceOp::argmax, b.in.vector(), b.as(Scalar::int64)).expected ==
        "uint32 or uint64 for argmax of float32");
  CHECK(b.fail(ReduceOp::any, b.in.vector(), b.as(Scalar::int8)).expected == "uint8 for any of float32");
  CHECK(b.fail(ReduceOp::mean, b.as(Scalar::int8), b.as(Scalar::int8)).argument == "out");
}

TEST_CASE("bad input of reduce: modes and operations that there are not") {
  const ReduceBuffers b;
  for (const ReduceOp op : {ReduceOp::product, ReduceOp::norm}) {
    const auto error = b.fail({op, FloatMode::compensated}, b.in.vector(), b.out.vector());
    CHECK(error.argument == "mode");
    CHECK(error.got == "compensated");
  }
  CHECK(b.fail(ReduceOp::dot, b.in.vector(), b.out.vector()).argument == "reduction");
  CHECK(b.fail(ReduceOp::custom, b.in.vector(), b.out.vector()).argument == "expression");
  CHECK(b.fail(Reduction::custom("a", ""), b.in.vector(), b.out.vector()).argument == "identity");
}

TEST_CASE("bad input of reduce: places among nothing") {
  const ReduceBuffers b;
  auto error = b.fail(ReduceOp::argmin, b.in.vector(0, 0), b.as(Scalar::uint64, 1));
  CHECK(error.argument == "in");
  CHECK(error.expected == "at least one element for argmin");
  CHECK(error.got == "none");
  error = failure_of(
      [&] { smem::reduce_columns(b.context, b.in.matrix(0, 4), b.as(Scalar::uint32), ReduceOp::argmax); });
  CHECK(error.operation == "reduce_columns");
  CHECK(error.argument == "in");
}

TEST_CASE("bad input of reduce: a place that 32 bits do not hold") {
  smem::ReduceProblem problem;
  problem.reduction = ReduceOp::argmin;
  problem.in = Scalar::int8;
  problem.out = Scalar::uint32;
  problem.cols = std::size_t{1} << 32;
  const smem::Device device;
  smem::plan_reduce(device, problem);
  ++problem.cols;
  const auto error = failure_of([&] { smem::plan_reduce(device, problem); });
  CHECK(error.argument == "out");
  CHECK(error.expected == "uint64 for places among 4294967297 elements");
}

TEST_CASE("bad input of reduce: more results of a batch than 32 bits count") {
  smem::ReduceProblem problem;
  problem.shape = smem::ReduceShape::rows;
  problem.rows = std::size_t{1} << 16;
  problem.batch = std::size_t{1} << 16;
  problem.cols = 3;
  const auto error = failure_of([&] { smem::plan_reduce(smem::Device(), problem); });
  CHECK(error.operation == "reduce_rows");
  CHECK(error.argument == "in");
  CHECK(error.got == "4294967296");
}

TEST_CASE("bad input of reduce: outputs that are too small, and views outside their buffers") {
  const ReduceBuffers b;
  auto error = b.fail(ReduceOp::sum, b.in.vector(), b.out.vector(0, 0));
  CHECK(error.argument == "out");
  CHECK(error.expected == "at least 1 elements");
  CHECK(error.got == "0");
  error = b.fail(ReduceOp::minmax, b.in.vector(), b.out.vector(0, 1));
  CHECK(error.expected == "at least 2 elements");
  error = failure_of([&] {
    smem::reduce_rows(b.context, b.in.matrix(5, 4, {.batch = 2}), b.out.vector(0, 9), ReduceOp::sum);
  });
  CHECK(error.operation == "reduce_rows");
  CHECK(error.expected == "at least 10 elements");
  error = b.fail(ReduceOp::sum, b.in.vector(1, 100), b.out.vector());
  CHECK(error.argument == "in");
  CHECK(error.expected == "a view inside its buffer of 400 bytes");
  CHECK(error.got == "one that ends at byte 404");
  error = b.fail(ReduceOp::sum, b.in.vector(), b.out.vector(100, 1));
  CHECK(error.argument == "out");
  error = b.fail(ReduceOp::sum, b.in.vector(~std::size_t{0}, 10), b.out.vector());
  CHECK(contains(error.got, "64 bits"));
  CHECK(b.fail(ReduceOp::sum, smem::Vector(nullptr, Scalar::float32, 3), b.out.vector()).argument == "in");
}

TEST_CASE("bad input of reduce: an output inside an input") {
  const ReduceBuffers b;
  auto error = b.fail(ReduceOp::sum, b.out.vector(0, 50), b.out.vector(49, 1));
  CHECK(error.argument == "out");
  CHECK(contains(error.expected, "does not overlap"));
  error = failure_of([&] { smem::dot(b.context, b.in.vector(), b.out.vector(), b.out.vector(99, 1)); });
  CHECK(error.operation == "dot");
  CHECK(error.argument == "out");
}

TEST_CASE("bad input of reduce: dot products of vectors that do not match") {
  const ReduceBuffers b;
  auto error =
      failure_of([&] { smem::dot(b.context, b.in.vector(0, 9), b.in.vector(0, 8), b.out.vector()); });
  CHECK(error.operation == "dot");
  CHECK(error.argument == "b");
  CHECK(error.expected == "9 elements, as a has");
  CHECK(error.got == "8");
  error = failure_of([&] { smem::dot(b.context, b.in.vector(0, 10), b.as(Scalar::int32), b.out.vector()); });
  CHECK(error.expected == "float32, as a has");
  error = failure_of([&] { smem::dot(b.context, b.in.vector(), b.in.vector(1, 100), b.out.vector()); });
  CHECK(error.argument == "b");
}

TEST_CASE("bad input of reduce: another context's buffers") {
  const ReduceBuffers b;
  const smem::Context other;
  const smem::Array<float> theirs(other, smem::Count{100});
  CHECK(b.fail(ReduceOp::sum, theirs.vector(), b.out.vector()).argument == "in");
  const auto error = b.fail(ReduceOp::sum, b.in.vector(), theirs.vector());
  CHECK(error.argument == "out");
  CHECK(error.expected == "a buffer of this context");
}

TEST_CASE("bad input of reduce: segments without offsets, and offsets of a wrong type") {
  const ReduceBuffers b;
  const smem::Array<std::uint32_t> offsets(b.context, smem::Count{4});
  auto error = failure_of([&] {
    smem::reduce_segments(b.context, b.in.vector(), offsets.vector(0, 0), b.out.vector(), ReduceOp::sum);
  });
  CHECK(error.operation == "reduce_segments");
  CHECK(error.argument == "offsets");
  error = failure_of(
      [&] { smem::reduce_segments(b.context, b.in.vector(), b.in.vector(), b.out.vector(), ReduceOp::sum); });
  CHECK(error.argument == "offsets");
  CHECK(error.expected == "uint32 or uint64");
  error = failure_of([&] {
    smem::reduce_segments(b.context, b.in.vector(), offsets.vector(1, 4), b.out.vector(), ReduceOp::sum);
  });
  CHECK(error.argument == "offsets");
}

TEST_CASE("bad input of reduce: variants that cannot run, and plans of others") {
  const ReduceBuffers b;
  auto error = b.fail(ReduceOp::sum, b.in.vector(), b.out.vector(), {.variant = "nosuch"});
  CHECK(error.argument == "variant");
  CHECK(contains(error.expected, "interleaved, sequential"));
  error = failure_of([&] {
    smem::reduce_rows(b.context, b.in.matrix(10, 10), b.out.vector(), ReduceOp::sum,
                      {.variant = "interleaved"});
  });
  CHECK(error.argument == "variant");
  smem::ReduceProblem problem;
  problem.cols = 99;
  const smem::Plan plan = smem::plan_reduce(b.context.device(), problem);
  error = b.fail(ReduceOp::sum, b.in.vector(), b.out.vector(), {.plan = &plan});
  CHECK(error.argument == "plan");
}

TEST_CASE("reduce: a plan that fits is launched") {
  const smem::Context context;
  const smem::Array<float> in(context, std::vector<float>(99, 2.0F));
  smem::ReduceProblem problem;
  problem.cols = 99;
  const smem::Plan plan = smem::plan_reduce(context.device(), problem, {.variant = "sequential"});
  CHECK(smem::sum(context, in, FloatMode::reproducible, {.plan = &plan}) == 198.0F);
}

TEST_CASE("bad input of reduce: float64 on a device without it") {
  const test::Variable clamp("SMEM_CLAMP", "fp64=0");
  const smem::Context context;
  const smem::Array<double> in(context, std::vector<double>(10, 1.0));
  auto error = failure_of([&] { smem::sum(context, in); });
  CHECK(error.argument == "in");
  CHECK(contains(error.expected, "fp64"));
  CHECK(error.got == "float64");
  const smem::Array<int> integers(context, {1, 2});
  CHECK(failure_of([&] { smem::mean(context, integers); }).argument == "out");
  CHECK(smem::mean<float>(context, integers) == 1.5F);
}

TEST_CASE("bad input of reduce: an expression that does not compile") {
  const ReduceBuffers b;
  auto error = b.fail(Reduction::custom("a +\n c", "0"), b.in.vector(), b.out.vector());
  CHECK(error.operation == "reduce");
  CHECK(error.argument == "expression");
  CHECK(error.got == "\"a +\n c\"");
  CHECK(error.call == "clBuildProgram");
  CHECK(contains(error.build_log, "expression.cl:2"));
  CHECK(contains(error.build_log, "undeclared identifier 'c'"));
  error = b.fail(Reduction::custom("a + b", "zero"), b.in.vector(), b.out.vector());
  CHECK(error.argument == "identity");
  CHECK(error.got == "\"zero\"");
  CHECK(contains(error.build_log, "identity.cl:1"));
  error = b.fail(Reduction::custom("a + b", "0 +"), b.in.vector(), b.out.vector());
  CHECK(error.argument == "identity");
  CHECK(error.got == "\"0 +\"");
  CHECK_MESSAGE(error.build_log.starts_with("identity.cl:1: 0 +\n"), error.build_log);
  error = b.fail(Reduction::custom("a +", "0"), b.in.vector(), b.out.vector());
  CHECK(error.argument == "expression");
  CHECK_MESSAGE(error.build_log.starts_with("expression.cl:1: a +\n"), error.build_log);
  // And the next one is not spoilt by it.
  CHECK(smem::reduce(b.context, b.in, Reduction::custom("a + b", "0")) == 100.0F);
}

TEST_CASE("bad input of reduce: an expression that would overflow the stack of its compiler") {
  const ReduceBuffers b;
  const auto repeated = [](const std::string& one, std::size_t times) {
    std::string text;
    for (std::size_t i = 0; i < times; ++i)
      text += one;
    return text;
  };
  for (const char* prefix : {"- ", "!", "(int)", "-~"}) {
    const auto error =
        b.fail(Reduction::custom(repeated(prefix, 3000) + "a", "0"), b.in.vector(), b.out.vector());
    CHECK(error.argument == "expression");
    CHECK(error.expected == "OpenCL C: at most 1000 prefix operators");
  }
  CHECK(
      b.fail(Reduction::custom(repeated("a * ", 4096) + "b", "0"), b.in.vector(), b.out.vector()).expected ==
      "OpenCL C: at most 16384 characters");
  CHECK(b.fail(Reduction::custom("a", repeated("-", 2000) + "0"), b.in.vector(), b.out.vector()).argument ==
        "identity");
  // Long ones of the usual kind are taken: signs of numbers, calls and casts.
  const std::string usual = repeated("-1.5f * (a - (float)(b)) + ", 300) + "a + b";
  CHECK_NOTHROW(smem::reduce(b.context, b.in, Reduction::custom(usual, "0")));
}
