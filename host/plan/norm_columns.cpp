// Plans for norms along columns.
#include <smem/norm_plan.hpp>

#include "plan/column_variants.hpp"
#include "plan/norm_checks.hpp"
#include "plan/rows.hpp"
#include "plan/sizes.hpp"

#include <string>

namespace smem {

namespace {

using namespace plan;

const char* norm_columns_name(const NormColumnsProblem& p) {
  return p.op == NormOp::rms ? "rms_norm_columns" : "layer_norm_columns";
}

ColumnWork work_of(const NormColumnsProblem& p) {
  const bool rms = p.op == NormOp::rms;
  const auto [vectors, weights] = norm_vectors(p);
  return {.operation = norm_columns_name(p),
          .family = "norm_columns",
          .in = p.in,
          .out = p.out,
          .rows = p.rows,
          .cols = p.cols,
          .batch = p.batch,
          .defines = norm_defines(p),
          .tree_values = 2,
          .part_values = 4,
          .column_values = 6,
          .narrow_tiles = p.residual ? std::size_t{2} : std::size_t{1},
          .narrow_values = 3,
          .narrow_columns = 4,
          .naive_readings = rms ? 2.0 : 3.0,
          .element_read = real(size_of(p.in)) * (p.residual ? 2 : 1),
          .read_once = real(vectors, p.rows, size_of(weights)),
          .element_written = real(size_of(p.out)) * (p.sum ? 2 : 1),
          .operations = norm_operations(p),
          // Written; read for each sum and for the results; of differences written once more.
          .local_passes = rms ? 2.0 : 5.0,
          .statistics = rms ? "the sum of squares" : "the mean and the squares of differences"};
}

constexpr Operation<NormColumnsProblem> kNormColumns = column_operation<NormColumnsProblem, work_of>(
    norm_columns_name, norm_columns_variants, check_norm_columns);

}  // namespace

void plan::check_norm_columns(const Device& device, const NormColumnsProblem& p) {
  require_known("norm_columns", "op", p.op, NormOp::rms);
  const char* operation = norm_columns_name(p);
  check_columns(operation, device, p.in, p.out, p.rows, p.cols, p.batch);
  check_norm_operands(operation, p.in, p.weights, p.weight, p.bias, p.residual, p.sum);
}

std::vector<std::string_view> norm_columns_variants() { return {"naive", "online", "split", "tiled", "cpu"}; }

Plan plan_norm_columns(const Device& device, const NormColumnsProblem& problem,
                       const PlanOverrides& overrides) {
  return plan_call(kNormColumns, "norm_columns", problem.in, device, problem, overrides);
}

}  // namespace smem
