// Which types a selection takes.
#include "plan/select_types.hpp"

#include "plan/sizes.hpp"

#include <smem/error.hpp>

#include <array>
#include <string>
#include <utility>

namespace smem::plan {

namespace {

[[noreturn]] void refuse(const SelectProblem& problem, const char* argument, std::string expected,
                         std::string got) {
  throw Error({.operation = operation_name(problem),
               .argument = argument,
               .expected = std::move(expected),
               .got = std::move(got)});
}

}  // namespace

const char* operation_name(const SelectProblem& problem) { return name_of(problem.op).data(); }

void check_select(const Device& device, const SelectProblem& problem) {
  require_known("select", "op", problem.op, SelectOp::run_length_encode);
  if (is_flagged(problem.op)) require_known(operation_name(problem), "flags", problem.flags);
  require_elements(operation_name(problem), "in", {problem.size});
  require_number(operation_name(problem), "in", problem.in);
  if (is_by_predicate(problem.op) && problem.predicate.empty())
    refuse(problem, "predicate", "OpenCL C, of x", "nothing");
  if (is_flagged(problem.op) && is_float(problem.flags))
    refuse(problem, "flags", "an integer type", std::string(name_of(problem.flags)));
  if (!device.fp64 && problem.in == Scalar::float64 && !is_flagged(problem.op)) {
    throw Error({.operation = operation_name(problem),
                 .argument = "in",
                 .expected = "a type that the device computes with; it has no fp64",
                 .got = "float64",
                 .device = device.name});
  }
}

}  // namespace smem::plan

namespace smem {

std::string_view name_of(SelectOp op) {
  static constexpr std::array<std::string_view, 6> kNames{
      "copy_if", "copy_flagged", "partition", "partition_flagged", "unique", "run_length_encode"};
  return plan::name_among(kNames, op);
}

}  // namespace smem
