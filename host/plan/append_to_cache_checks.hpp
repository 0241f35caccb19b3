/// What append_to_cache checks before its views.
#pragma once

#include <smem/append_to_cache_plan.hpp>

namespace smem::plan {

inline constexpr const char* kAppendToCacheName = "append_to_cache";

/// \throws Error naming the argument unless the device can do it.
void check_append_to_cache(const Device& device, const AppendToCacheProblem& problem);

}  // namespace smem::plan
