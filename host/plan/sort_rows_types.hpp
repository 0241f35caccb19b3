/// What a sort of rows takes, and how it is called.
#pragma once

#include "plan/variants.hpp"

#include <smem/sort_rows_plan.hpp>

#include <optional>
#include <string_view>
#include <vector>

namespace smem::plan {

/// "sort_rows", "sort_pairs_rows" or "argsort_rows": as the called function is named.
const char* operation_name(const SortRowsProblem& problem);

/// The sort of one row.
SortProblem one_row(const SortRowsProblem& problem);

/// \throws Error naming the argument, unless it is a problem.
void check_sort_rows(const Device& device, const SortRowsProblem& problem);

/// A variant's plan.
Attempt sort_rows_attempt(const Device& device, const SortRowsProblem& problem, const PlanOverrides& fixed,
                          std::string_view variant);

/// The variants in the order in which plans try them.
std::vector<std::string_view> sort_rows_order(const Device& device, const SortRowsProblem& problem);

/// The launch of a CPU's threads that sort a row in each lane of vectors; nothing where these rows need
/// another. `in_scratch`: vectors are in temporary memory, not in local memory, which need not have room for
/// them.
std::optional<Launch> sort_rows_in_lanes(const Device& device, const SortRowsProblem& problem,
                                         bool in_scratch);

}  // namespace smem::plan
