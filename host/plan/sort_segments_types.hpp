/// What a sort of segments takes, and how it is called.
#pragma once

#include <smem/sort_segments_plan.hpp>

namespace smem::plan {

/// "sort_segments", "sort_pairs_segments" or "argsort_segments": as the called function is named.
const char* operation_name(const SortSegmentsProblem& problem);

/// The sort of a segment of all keys.
SortProblem one_segment(const SortSegmentsProblem& problem);

/// \throws Error naming the argument, unless it is a problem.
void check_sort_segments(const Device& device, const SortSegmentsProblem& problem);

}  // namespace smem::plan
