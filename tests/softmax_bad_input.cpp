// What a caller of softmax can do wrong: each is refused by name, and nothing is written.
#include <smem/smem.hpp>

#include "support/failure.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

using smem::MaskedRows;
using smem::Scalar;

TEST_CASE("bad input of softmax") {
  const smem::Context context;
  const std::vector<float> poison(200, 7.0F);
  const smem::Array<float> in(context, std::vector<float>(200, 1.0F)), out(context, poison);
  const smem::Array<int> integers(context, std::vector<int>(200, 1));
  const auto fails = [&](const smem::ConstMatrix& a, const smem::Matrix& b, const char* variant = "") {
    const auto error =
        test::failure_of([&] { smem::softmax(context, a, b, MaskedRows::nan, {.variant = variant}); });
    CHECK(error.operation == "softmax");
    return error.argument;
  };
  const smem::Matrix from = in.matrix(10, 20), to = out.matrix(10, 20);
  CHECK(fails(from, out.matrix(20, 10)) == "out");
  CHECK(fails(from, out.matrix(5, 20, {.batch = 2})) == "out");
  CHECK(fails(integers.matrix(10, 20), to) == "in");
  CHECK(fails(from, integers.matrix(10, 20)) == "out");
  CHECK(fails(in.matrix(11, 20), out.matrix(11, 20)) == "in");
  CHECK(fails(in.matrix(9, 20), in.matrix(9, 20, {.offset = 20})) == "out");  // moved by a row
  smem::Matrix doubles = to;
  doubles.type = Scalar::float64;
  CHECK(fails(from, doubles) == "out");
  CHECK(fails(from, to, "nosuch") == "variant");
  smem::Matrix longest = from, longest_out = to;
  longest.cols = longest.pitch = longest_out.cols = longest_out.pitch = (std::size_t{1} << 30) + 1;
  CHECK(fails(longest, longest_out) == "in");
  const auto unknown = static_cast<MaskedRows>(2);
  CHECK(test::failure_of([&] { smem::log_softmax(context, from, to, unknown); }).argument == "masked");
  CHECK(test::failure_of([&] { smem::logsumexp(context, from, out.vector(0, 9)); }).argument == "out");
  CHECK(test::failure_of([&] { smem::logsumexp(context, from, in.vector(0, 10)); }).argument == "out");
  const smem::PlanOverrides group{.variant = "tiled", .work_items = 3};
  CHECK(test::failure_of([&] { smem::softmax(context, from, to, {}, {.overrides = &group}); }).argument ==
        "work_items");
  CHECK(out.to_host() == poison);
  // Of nothing.
  CHECK(smem::softmax(context, in.matrix(0, 20), out.matrix(0, 20))() != nullptr);
  CHECK(smem::softmax(context, in.matrix(10, 0), out.matrix(10, 0))() != nullptr);
  CHECK(out.to_host() == poison);
  smem::logsumexp(context, in.matrix(3, 0), out.vector(0, 3));
  const std::vector<float> got = out.to_host();
  CHECK(std::count(got.begin(), got.begin() + 3, -INFINITY) == 3);
  CHECK(std::count(got.begin() + 3, got.end(), 7.0F) == 197);
}
