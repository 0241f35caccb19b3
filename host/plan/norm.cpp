// Plans for layer_norm and rms_norm.
#include <smem/norm_plan.hpp>

#include "plan/norm_checks.hpp"
#include "plan/norm_policy.hpp"
#include "plan/row_variants.hpp"
#include "plan/rows.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace smem {

namespace {

using namespace plan;

const char* norm_name(const NormProblem& p) { return name_of(p.op).data(); }

RowWork work_of(const Device& device, const NormProblem& p) {
  const bool rms = p.op == NormOp::rms;
  const auto [vectors, weights] = norm_vectors(p);
  RowWork work = row_work(p, norm_name(p), "norm", norm_policy(device));
  work.defines = norm_defines(p);
  work.tree_values = 2;
  work.part_values = 4;
  work.published_values = 3;
  work.weights_bytes = vectors * size_of(weights);
  work.weights_are_elements = weights == p.in;
  work.has_second_input = p.residual;
  work.has_persistent_parts = true;
  work.cpu_keeps_values = p.residual;
  work.guards_partial_groups = true;
  work.naive_readings = rms ? 2 : 3;
  work.element_read *= p.residual ? 2 : 1;
  work.read_once = real(vectors, p.cols, size_of(weights));
  work.element_written = real(size_of(p.out)) * (p.sum ? 2 : 1);
  work.operations = norm_operations(p);
  // Written; read for each sum and for the results; of differences written once more.
  work.local_passes = rms ? 2 : 4;
  work.statistics = rms ? "the sum of squares" : "the mean and the squares of differences";
  return work;
}

constexpr Operation<NormProblem> kNorm =
    row_operation<NormProblem, work_of>(norm_name, norm_variants, check_norm);

}  // namespace

void plan::check_norm_operands(const char* operation, Scalar in, Scalar weights, bool weight, bool bias,
                               bool residual, bool sum) {
  require_known(operation, "weights", weights);
  if ((weight || bias) && weights != in)
    require_one_of(operation, weight ? "weight" : "bias", weights, {row_value(in)});
  if (sum && !residual) refuse(operation, "sum", "none, or a residual as well", "a sum without a residual");
}

void plan::check_norm(const Device& device, const NormProblem& p) {
  require_known("norm", "op", p.op, NormOp::rms);
  const char* operation = norm_name(p);
  check_rows(operation, device, p.in, p.out, p.rows, p.cols, p.batch);
  check_norm_operands(operation, p.in, p.weights, p.weight, p.bias, p.residual, p.sum);
}

std::string_view name_of(NormOp op) {
  static constexpr std::array<std::string_view, 2> kNames{"layer_norm", "rms_norm"};
  return plan::name_among(kNames, op);
}

std::vector<std::string_view> norm_variants() { return plan::row_variants(); }

Plan plan_norm(const Device& device, const NormProblem& problem, const PlanOverrides& overrides) {
  return plan_call(kNorm, "norm", problem.in, device, problem, overrides);
}

}  // namespace smem
