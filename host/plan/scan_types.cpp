// Which types a scan takes.
#include "plan/scan_types.hpp"
#include "formatted.hpp"

#include "plan/reduce_types.hpp"
#include "plan/sizes.hpp"

#include <smem/error.hpp>

#include <array>
#include <string>
#include <utility>

namespace smem::plan {

namespace {

[[noreturn]] void refuse(const ScanProblem& problem, const char* argument, std::string expected,
                         std::string got) {
  throw Error({.operation = operation_name(problem),
               .argument = argument,
               .expected = std::move(expected),
               .got = std::move(got)});
}

}  // namespace

ReduceProblem as_reduction(const ScanProblem& problem) {
  ReduceProblem reduction;
  reduction.reduction = problem.operation;
  reduction.in = problem.in;
  reduction.out = problem.out;
  return reduction;
}

const char* operation_name(const ScanProblem& problem) {
  static constexpr std::array<std::array<const char*, 5>, 2> kNames{
      {{"inclusive_scan", "inclusive_scan_rows", "inclusive_scan_columns", "inclusive_scan_segments",
        "inclusive_scan_by_key"},
       {"exclusive_scan", "exclusive_scan_rows", "exclusive_scan_columns", "exclusive_scan_segments",
        "exclusive_scan_by_key"}}};
  return kNames.at(problem.exclusive ? 1 : 0).at(static_cast<std::size_t>(problem.shape));
}

void check_scan(const Device& device, const ScanProblem& problem) {
  const auto& [op, mode, expression, identity, commutes] = problem.operation;
  require_known("scan", "shape", problem.shape, ScanShape::keys);
  const char* operation = operation_name(problem);
  require_known(operation, "operation", op, ReduceOp::custom);
  require_known(operation, "mode", mode, FloatMode::compensated);
  require_known(operation, "in", problem.in);
  if (is_segmented(problem))
    require_known(operation, problem.shape == ScanShape::keys ? "keys" : "offsets", problem.marks);
  require_elements(operation, "in", {problem.rows, problem.cols, problem.batch});
  const std::string in_name(name_of(problem.in));
  require_number(operation, "in", problem.in);
  require_number(operation, "out", problem.out);
  switch (op) {
    case ReduceOp::minmax:
    case ReduceOp::argmin:
    case ReduceOp::argmax:
    case ReduceOp::mean:
    case ReduceOp::norm:
    case ReduceOp::dot:
      refuse(problem, "operation", "sum, product, min, max, bit_and, bit_or, any, all or custom",
             std::string(name_of(op)));
    default:
      break;
  }
  if (mode == FloatMode::compensated)
    refuse(problem, "mode", "reproducible: there is no compensated scan", "compensated");
  if ((op == ReduceOp::bit_and || op == ReduceOp::bit_or) && is_float(problem.in))
    refuse(problem, "in", formatted("integers for {}", name_of(op)), in_name);
  if (op == ReduceOp::custom && (expression.empty() || identity.empty()))
    refuse(problem, expression.empty() ? "expression" : "identity", "OpenCL C", "nothing");
  if (const std::string types = wrong_result(as_reduction(problem)); !types.empty()) {
    refuse(problem, "out", formatted("{} for {} of {}", types, name_of(op), in_name),
           std::string(name_of(problem.out)));
  }
  if (!device.fp64 && (problem.in == Scalar::float64 || problem.out == Scalar::float64)) {
    throw Error({.operation = operation_name(problem),
                 .argument = problem.in == Scalar::float64 ? "in" : "out",
                 .expected = "a type that the device computes with; it has no fp64",
                 .got = "float64",
                 .device = device.name});
  }
  if (problem.shape == ScanShape::segments && problem.marks != Scalar::uint32 &&
      problem.marks != Scalar::uint64)
    refuse(problem, "offsets", "uint32 or uint64", std::string(name_of(problem.marks)));
}

}  // namespace smem::plan
