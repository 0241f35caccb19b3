// Plans for softmax along columns.
#include <smem/softmax_plan.hpp>

#include "plan/column_variants.hpp"
#include "plan/softmax_checks.hpp"

#include <array>
#include <string>

namespace smem {

namespace {

using namespace plan;

const char* softmax_columns_name(const SoftmaxColumnsProblem& p) {
  static constexpr std::array<const char*, 3> kNames{"softmax_columns", "log_softmax_columns",
                                                     "logsumexp_columns"};
  return kNames.at(static_cast<std::size_t>(p.op));
}

ColumnWork work_of(const SoftmaxColumnsProblem& p) {
  const bool one_a_column = p.op == SoftmaxOp::logsumexp;
  const double result = real(size_of(p.out));
  return {.operation = softmax_columns_name(p),
          .family = "softmax_columns",
          .in = p.in,
          .out = p.out,
          .rows = p.rows,
          .cols = p.cols,
          .batch = p.batch,
          .defines = {{"OPERATION", static_cast<int>(p.op)}},
          .block_values = 1,
          .naive_readings = one_a_column ? 2.0 : 3.0,
          .element_written = one_a_column ? 0 : result,
          .column_written = one_a_column ? result : 0,
          .operations = 5,  // maximum, difference, exponential, sum and product
          .statistics = "the largest element and the sum"};
}

constexpr Operation<SoftmaxColumnsProblem> kSoftmaxColumns = column_operation<SoftmaxColumnsProblem, work_of>(
    softmax_columns_name, softmax_columns_variants, check_softmax_columns);

}  // namespace

void plan::check_softmax_columns(const Device& device, const SoftmaxColumnsProblem& p) {
  require_known("softmax_columns", "op", p.op, SoftmaxOp::logsumexp);
  check_columns(softmax_columns_name(p), device, p.in, p.out, p.rows, p.cols, p.batch);
}

std::vector<std::string_view> softmax_columns_variants() { return plan::column_variants(); }

Plan plan_softmax_columns(const Device& device, const SoftmaxColumnsProblem& problem,
                          const PlanOverrides& overrides) {
  return plan_call(kSoftmaxColumns, "softmax_columns", problem.in, device, problem, overrides);
}

}  // namespace smem
