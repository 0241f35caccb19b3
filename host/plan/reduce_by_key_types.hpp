/// Which types a reduction of runs of equal keys takes, and how it is called.
#pragma once

#include <smem/reduce_by_key_plan.hpp>

namespace smem::plan {

/// "reduce_by_key" or "unique_by_key": as the called function is named.
const char* operation_name(const ReduceByKeyProblem& problem);

/// Whether 32 bits cannot count the runs.
constexpr bool is_wide(const ReduceByKeyProblem& problem) { return problem.size > 0xffffffff; }

/// \throws Error naming the argument, unless the types fit the operation and the device.
void check_reduce_by_key(const Device& device, const ReduceByKeyProblem& problem);

}  // namespace smem::plan
