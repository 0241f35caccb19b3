/// What plans for moving means share, and those of short rows.
#pragma once

#include <smem/moving_mean_plan.hpp>

#include "plan/variants.hpp"

#include <cstddef>
#include <string_view>

namespace smem::plan {

/// What windows are summed in.
Scalar mean_sum_type(const MovingMeanProblem& p);

/// A plan of a kernel, with its types.
Plan mean_base_plan(const MovingMeanProblem& p, std::string_view variant, const char* file,
                    const char* entry);

/// Rows of which a group has several in local memory, with zeros on both sides. `wanted`: work-items, or 0.
Attempt mean_short_rows(const Device& device, const MovingMeanProblem& p, std::size_t wanted);

}  // namespace smem::plan
