/// What a sort of rows takes, and how it is called.
#pragma once

#include <smem/sort_rows_plan.hpp>

namespace smem::plan {

/// "sort_rows", "sort_pairs_rows" or "argsort_rows": as the called function is named.
const char* operation_name(const SortRowsProblem& problem);

/// The sort of one row.
SortProblem one_row(const SortRowsProblem& problem);

/// \throws Error naming the argument, unless it is a problem.
void check_sort_rows(const Device& device, const SortRowsProblem& problem);

}  // namespace smem::plan
