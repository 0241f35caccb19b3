/// Variants of reductions that have files of their own, and what they share with the others.
#pragma once

#include <smem/reduce_plan.hpp>

#include "plan/reduce_policy.hpp"
#include "plan/variants.hpp"

#include <cstddef>
#include <string_view>

namespace smem::plan::reduction {

/// Whole rows in a tile: see cl/reduce/rows.cl.
Attempt short_rows(const Device& device, const ReduceProblem& problem, const PlanOverrides& fixed);
/// Whether plans choose it, where it can run.
bool prefers_short_rows(const Device& device, const ReduceProblem& problem);
/// Segments by their elements, long ones in parts: see cl/reduce/segments.cl.
Attempt balanced_segments(const Device& device, const ReduceProblem& problem, const PlanOverrides& fixed);
/// Columns, by packs of neighbours: see cl/reduce/columns.cl. Its number "shares": how many partial results
/// each result has, where that is another one than "parts".
Attempt columns(const Device& device, const ReduceProblem& problem, std::size_t wanted);
/// In how many parts it reduces each column.
std::size_t parts_of_columns(const Device& device, const ReduceProblem& problem);
/// Work-items of a row or segment, which share a group with others where it has few packs.
std::size_t row_team(const Device& device, const ReduceProblem& problem, std::size_t group, bool shuffle);
/// Whether a product has a warp, or a part of one, for each row.
bool prefers_warps(const Device& device, const ReduceProblem& problem);

// What they share.

Plan base_plan(const ReduceProblem& problem, std::string_view variant, const char* file, const char* entry);
/// Elements that a work-item reads at once.
std::size_t pack_of(const ReducePolicy& policy, const ReduceProblem& problem);
/// Packs that a work-item reads at once.
std::size_t packs_of(const ReducePolicy& policy, const ReduceProblem& problem);

/// Accumulators of a work-item that do not wait for each other.
std::size_t lanes_of(const ReducePolicy& policy, const ReduceProblem& problem);

/// Whether sums of so many integers of 8 or 16 bits fit 31 bits and a sign.
bool fits_narrow_sums(const ReduceProblem& problem, std::size_t elements);

inline constexpr const char* kOtherShape = "does not do this shape";
inline constexpr const char* kOtherOrder =
    "does not keep the order of elements, and the operation does not commute";

}  // namespace smem::plan::reduction
