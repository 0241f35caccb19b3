// Which types a selection takes.
#include "plan/select_types.hpp"

#include "plan/sizes.hpp"

#include <array>

namespace smem::plan {

const char* operation_name(const SelectProblem& problem) { return name_of(problem.op).data(); }

void check_select(const Device& device, const SelectProblem& problem) {
  require_known("select", "op", problem.op, SelectOp::run_length_encode);
  const char* operation = operation_name(problem);
  if (is_flagged(problem.op)) require_known(operation, "flags", problem.flags);
  require_elements(operation, "in", {problem.size});
  require_number(operation, "in", problem.in);
  if (is_by_predicate(problem.op)) require_code(operation, "predicate", problem.predicate, "OpenCL C, of x");
  if (is_flagged(problem.op) && is_float(problem.flags))
    refuse(operation, "flags", "an integer type", name_of(problem.flags));
  if (!is_flagged(problem.op)) require_fp64(operation, device, "in", problem.in);
}

}  // namespace smem::plan

namespace smem {

std::string_view name_of(SelectOp op) {
  static constexpr std::array<std::string_view, 8> kNames{"copy_if",
                                                          "copy_flagged",
                                                          "partition",
                                                          "partition_flagged",
                                                          "partition_reversed",
                                                          "partition_flagged_reversed",
                                                          "unique",
                                                          "run_length_encode"};
  return plan::name_among(kNames, op);
}

}  // namespace smem
