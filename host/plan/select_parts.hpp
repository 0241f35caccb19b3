/// How a selection is cut into pieces: the same whatever the size of a work-group turns out to be.
#pragma once

#include <smem/select_plan.hpp>

#include <cstddef>
#include <string_view>

namespace smem::plan {

constexpr bool is_flagged(SelectOp op) {
  return op == SelectOp::copy_flagged || op == SelectOp::partition_flagged;
}
constexpr bool is_partition(SelectOp op) {
  return op == SelectOp::partition || op == SelectOp::partition_flagged;
}
constexpr bool is_by_predicate(SelectOp op) { return op == SelectOp::copy_if || op == SelectOp::partition; }

/// Whether 32 bits cannot count the elements.
constexpr bool is_wide(const SelectProblem& problem) { return problem.size > 0xffffffff; }

/// Work-items of a group, unless they are fixed by hand or do not fit.
std::size_t select_group(const Device& device, const SelectProblem& problem, const PlanOverrides& fixed);
/// Whether warps read tiles into their registers (cl/nvidia/select_tile.clh).
bool selects_in_registers(const Device& device);
/// Elements that a work-item has in registers.
std::size_t select_items(const Device& device, const SelectProblem& problem);
/// Elements of a tile of work-groups of select_group() work-items; smaller groups need several steps for it.
std::size_t select_tile(const Device& device, const SelectProblem& problem, const PlanOverrides& fixed);

struct SelectParts {
  std::size_t parts = 1;
  std::size_t piece = 1;          ///< elements of a part; the last one may be shorter
  std::size_t scratch_bytes = 0;  ///< temporary memory
  std::size_t zeroed_bytes = 0;   ///< at its begin, zero before the launch
  bool two_launches = false;
};

/// Of the variant that `fixed` names.
SelectParts select_parts_of(const Device& device, const SelectProblem& problem, const PlanOverrides& fixed);

/// The variant that the plan chooses where none is fixed.
std::string_view choose_select(const Device& device, const SelectProblem& problem,
                               const PlanOverrides& fixed);

/// Whether tiles can publish all that others need to know, in the same launch.
bool selects_in_one_pass(const Device& device, const SelectProblem& problem);

/// Bytes of what a part selects, as kernels lay it out: a count, and for runs the place of the last one.
std::size_t select_state_bytes(const SelectProblem& problem);

/// "copy_if", ...: as the called function is named.
const char* operation_name(const SelectProblem& problem);

/// \throws Error naming the argument, unless the types fit the operation and the device.
void check_select(const Device& device, const SelectProblem& problem);

}  // namespace smem::plan
