/// What selections of the greatest or least elements take.
#pragma once

#include <smem/top_k_plan.hpp>

#include <cstddef>

namespace smem::plan {

/// Elements of a row, at most: kernels count them in 32 bits, and round them up to tiles.
inline constexpr std::size_t kMostSelectable = (std::size_t{1} << 32) - 65536;

/// \throws Error naming the argument, unless it is a problem.
void check_top_k(const Device& device, const TopKProblem& problem);

}  // namespace smem::plan
