// Plans for softmax.
#include <smem/softmax_plan.hpp>

#include "plan/row_variants.hpp"
#include "plan/rows.hpp"
#include "plan/softmax_checks.hpp"
#include "plan/softmax_policy.hpp"

#include <array>
#include <string>

namespace smem {

namespace {

using namespace plan;

const char* softmax_name(const SoftmaxProblem& p) { return name_of(p.op).data(); }

RowWork work_of(const Device& device, const SoftmaxProblem& p) {
  const bool one_a_row = p.op == SoftmaxOp::logsumexp;
  const double result = real(size_of(p.out));
  RowWork work = row_work(p, softmax_name(p), "softmax", softmax_policy(device));
  work.defines = {{"OPERATION", static_cast<int>(p.op)}};
  work.has_row_rings = true;
  work.cpu_keeps_values = p.op == SoftmaxOp::softmax;
  work.naive_readings = one_a_row ? 2 : 3;
  work.element_written = one_a_row ? 0 : result;
  work.row_written = one_a_row ? result : 0;
  work.operations = 5;  // maximum, difference, exponential, sum and product
  // Written twice and read twice; of logsumexp the second time without need.
  work.local_passes = 4;
  work.statistics = "the largest element and the sum";
  return work;
}

constexpr Operation<SoftmaxProblem> kSoftmax =
    row_operation<SoftmaxProblem, work_of>(softmax_name, softmax_variants, check_softmax);

}  // namespace

void plan::check_softmax(const Device& device, const SoftmaxProblem& p) {
  require_known("softmax", "op", p.op, SoftmaxOp::logsumexp);
  check_rows(softmax_name(p), device, p.in, p.out, p.rows, p.cols, p.batch);
}

std::string_view name_of(SoftmaxOp op) {
  static constexpr std::array<std::string_view, 3> kNames{"softmax", "log_softmax", "logsumexp"};
  return plan::name_among(kNames, op);
}

std::vector<std::string_view> softmax_variants() { return plan::row_variants(); }

Plan plan_softmax(const Device& device, const SoftmaxProblem& problem, const PlanOverrides& overrides) {
  return plan_call(kSoftmax, "softmax", problem.in, device, problem, overrides);
}

}  // namespace smem
