// Plans and bad input of softmax_columns; its results are in softmax.cpp.
#include <smem/smem.hpp>

#include "support/failure.hpp"
#include "support/targets.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <tuple>
#include <vector>

using smem::MaskedRows;

TEST_CASE("softmax_columns: plans for devices that are not here") {
  const auto plan_of = [](const char* target, std::size_t rows, std::size_t cols) {
    return smem::plan_softmax_columns(test::target(target), {.rows = rows, .cols = cols});
  };
  CHECK(plan_of("sm_90", 128, 1000000).variant == "tiled");
  CHECK(plan_of("sm_90", 128, 1000000).tile_cols == 64);
  CHECK(plan_of("sm_90", 4096, 16384).variant == "tiled");
  CHECK(plan_of("sm_90", 4096, 16384).tile_cols == 8);  // what local memory holds
  CHECK(plan_of("sm_90", 16384, 16384).variant == "online");
  CHECK(plan_of("sm_90", 1 << 20, 16).variant == "split");
  CHECK(plan_of("gfx90a", 100, 8192).variant == "tiled");
  CHECK(plan_of("cpu", 1000, 8192).variant == "cpu");
  CHECK(plan_of("cpu", 1000, 8192).before.empty());
  // Tiles of a few columns would read pieces of lines.
  const smem::SoftmaxColumnsProblem thin{
      .in = smem::Scalar::bfloat16, .out = smem::Scalar::bfloat16, .rows = 3758, .cols = 2227};
  CHECK(smem::plan_softmax_columns(test::target("cpu"), thin).number("parts") > 1);
  // Threads share the matrix: of few columns, whose rows share vectors, and of those that no cache holds.
  for (const auto& [rows, cols, parts, narrow] : {std::tuple{2000000, 2, true, true},
                                                  {200000, 20, true, true},
                                                  {30000, 133, true, true},
                                                  {1000, 2, false, false},
                                                  {30000, 300, true, false},
                                                  {1000, 250, false, false}}) {
    const smem::Plan plan = plan_of("cpu", static_cast<std::size_t>(rows), static_cast<std::size_t>(cols));
    CAPTURE(plan.to_string());
    CHECK((plan.number("parts") > 1) == parts);
    CHECK((plan.entry_point == "softmax_columns_cpu_narrow") == narrow);
  }
}

TEST_CASE("bad input of softmax_columns") {
  const smem::Context context;
  const std::vector<float> poison(200, 7.0F);
  const smem::Array<float> in(context, std::vector<float>(200, 1.0F)), out(context, poison);
  const smem::Array<int> integers(context, std::vector<int>(200, 1));
  const smem::Matrix from = in.matrix(10, 20), to = out.matrix(10, 20);
  const auto fails = [&](const smem::ConstMatrix& a, const smem::Matrix& b, const char* variant = "") {
    const auto error = test::failure_of(
        [&] { smem::softmax_columns(context, a, b, MaskedRows::nan, {.variant = variant}); });
    CHECK(error.operation == "softmax_columns");
    return error.argument;
  };
  CHECK(fails(from, out.matrix(20, 10)) == "out");
  CHECK(fails(integers.matrix(10, 20), to) == "in");
  CHECK(fails(from, integers.matrix(10, 20)) == "out");
  CHECK(fails(in.matrix(11, 20), out.matrix(11, 20)) == "in");
  CHECK(fails(in.matrix(9, 20), in.matrix(9, 20, {.offset = 20})) == "out");
  CHECK(fails(from, to, "registers") == "variant");
  smem::Matrix longest = from, longest_out = to;
  longest.rows = longest_out.rows = (std::size_t{1} << 30) + 1;
  CHECK(fails(longest, longest_out) == "in");
  const auto unknown = static_cast<MaskedRows>(2);
  CHECK(test::failure_of([&] { smem::log_softmax_columns(context, from, to, unknown); }).argument ==
        "masked");
  CHECK(test::failure_of([&] { smem::logsumexp_columns(context, from, out.vector(0, 19)); }).argument ==
        "out");
  CHECK(test::failure_of([&] { smem::logsumexp_columns(context, from, in.vector(0, 20)); }).argument ==
        "out");
  const smem::PlanOverrides group{.variant = "tiled", .work_items = 3};
  CHECK(test::failure_of([&] {
          smem::softmax_columns(context, from, to, {}, {.overrides = &group});
        }).argument == "work_items");
  // Of nothing.
  CHECK(smem::softmax_columns(context, in.matrix(0, 20), out.matrix(0, 20))() != nullptr);
  CHECK(smem::softmax_columns(context, in.matrix(10, 0), out.matrix(10, 0))() != nullptr);
  CHECK(out.to_host() == poison);
  smem::logsumexp_columns(context, in.matrix(0, 3), out.vector(0, 3));
  const std::vector<float> got = out.to_host();
  CHECK(std::count(got.begin(), got.begin() + 3, -INFINITY) == 3);
  CHECK(std::count(got.begin() + 3, got.end(), 7.0F) == 197);
}
