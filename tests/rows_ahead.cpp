// Rows that are copied ahead, and columns that groups share.
#include <smem/smem.hpp>

#include "support/environment.hpp"
#include "support/random_cases.hpp"
#include "support/targets.hpp"
#include "support/variants.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

namespace {

std::vector<float> numbers(std::size_t count) {
  test::Random random(11);
  std::vector<float> all(count);
  for (float& v : all)
    v = static_cast<float>(random.between(0, 999)) / 100;
  return all;
}

double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    most = std::max(most, std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
  return most;
}

}  // namespace

TEST_CASE("rows ahead: rows begin anywhere, also in place") {
  const smem::Context context;
  const smem::PlanOverrides fixed{.variant = "ahead", .work_items = 128};
  for (const std::size_t cols : {257, 1024}) {
    const std::size_t rows = 700;
    const smem::Array<float> in(context, numbers(rows * cols)), one(context, smem::Count{rows * cols});
    smem::Array<float> two(context, smem::Count{rows * cols});
    for (const bool in_place : {false, true}) {
      smem::softmax(context, in.matrix(rows, cols), one.matrix(rows, cols), {}, {.variant = "naive"});
      if (in_place) two.write(in.to_host());
      smem::softmax(context, (in_place ? two : in).matrix(rows, cols), two.matrix(rows, cols), {},
                    {.overrides = &fixed});
      CHECK(largest_difference(one.to_host(), two.to_host()) < 1e-6);
    }
    const smem::Array<float> weight(context, numbers(cols));
    const smem::Norm how{.weight = weight.vector(), .bias = weight.vector()};
    smem::layer_norm(context, in.matrix(rows, cols), one.matrix(rows, cols), how, {.variant = "naive"});
    smem::layer_norm(context, in.matrix(rows, cols), two.matrix(rows, cols), how, {.overrides = &fixed});
    CHECK(largest_difference(one.to_host(), two.to_host()) < 1e-4);
  }
}

TEST_CASE("rows: in place, also where vectors overlap and a last tile has few elements") {
  const smem::Context context;
  for (const std::size_t cols : {7, 67, 1003, 32768 + 5, 70001}) {
    CAPTURE(cols);
    const std::size_t rows = 3;
    const std::vector<float> values = numbers(rows * cols);
    const smem::Array<float> in(context, values), other(context, values);
    smem::Array<float> expected(context, smem::Count{rows * cols}), sum(context, smem::Count{rows * cols}),
        place(context, values), out(context, smem::Count{rows * cols});
    for (const smem::SoftmaxOp op : {smem::SoftmaxOp::softmax, smem::SoftmaxOp::log_softmax}) {
      const auto call = op == smem::SoftmaxOp::softmax ? smem::softmax : smem::log_softmax;
      call(context, in.matrix(rows, cols), expected.matrix(rows, cols), {}, {.variant = "naive"});
      place.write(values);
      call(context, place.matrix(rows, cols), place.matrix(rows, cols), {}, {});
      CHECK(largest_difference(expected.to_host(), place.to_host()) < 2e-4);  // "naive" sums one by one
    }
    smem::layer_norm(context, in.matrix(rows, cols), expected.matrix(rows, cols), {}, {.variant = "naive"});
    place.write(values);
    smem::layer_norm(context, place.matrix(rows, cols), place.matrix(rows, cols));
    CHECK(largest_difference(expected.to_host(), place.to_host()) < 1e-4);
    // The sum in the place of the input.
    smem::rms_norm(context, in.matrix(rows, cols), expected.matrix(rows, cols),
                   {.residual = other.matrix(rows, cols), .sum = sum.matrix(rows, cols)},
                   {.variant = "naive"});
    place.write(values);
    smem::rms_norm(context, place.matrix(rows, cols), out.matrix(rows, cols),
                   {.residual = other.matrix(rows, cols), .sum = place.matrix(rows, cols)});
    CHECK(largest_difference(expected.to_host(), out.to_host()) < 1e-4);
    CHECK(sum.to_host() == place.to_host());
  }
}

TEST_CASE("rows ahead: long ones that begin anywhere are stored in whole lines of 128 bytes") {
  const auto line_of = [](std::size_t row_alignment) {
    const smem::SoftmaxProblem p{.rows = 4096, .cols = 50257, .row_alignment = row_alignment};
    const smem::Plan plan = smem::plan_softmax(test::target("sm_90"), p, {.variant = "ahead"});
    const auto line = std::find_if(plan.defines.begin(), plan.defines.end(),
                                   [](const auto& one) { return one.first == "LINE"; });
    return line == plan.defines.end() ? 0 : line->second;
  };
  CHECK(line_of(4) == 32);
  CHECK(line_of(16) == 0);
}
