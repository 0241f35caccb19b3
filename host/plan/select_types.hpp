/// Which types a selection takes, and how it is called.
#pragma once

#include <smem/select_plan.hpp>

namespace smem::plan {

constexpr bool is_flagged(SelectOp op) {
  return op == SelectOp::copy_flagged || op == SelectOp::partition_flagged ||
         op == SelectOp::partition_flagged_reversed;
}
/// Whether the others are written in their order, behind all that is selected.
constexpr bool is_partition_in_order(SelectOp op) {
  return op == SelectOp::partition || op == SelectOp::partition_flagged;
}
constexpr bool is_partition_reversed(SelectOp op) {
  return op == SelectOp::partition_reversed || op == SelectOp::partition_flagged_reversed;
}
constexpr bool is_partition(SelectOp op) { return is_partition_in_order(op) || is_partition_reversed(op); }
constexpr bool is_by_predicate(SelectOp op) {
  return op == SelectOp::copy_if || op == SelectOp::partition || op == SelectOp::partition_reversed;
}

/// Whether 32 bits cannot count the elements.
constexpr bool is_wide(const SelectProblem& problem) { return problem.size > 0xffffffff; }

/// "copy_if", ...: as the called function is named.
const char* operation_name(const SelectProblem& problem);

/// \throws Error naming the argument, unless the types fit the operation and the device.
void check_select(const Device& device, const SelectProblem& problem);

}  // namespace smem::plan
