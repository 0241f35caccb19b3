/// What a sort by a comparison takes.
#pragma once

#include <smem/device.hpp>
#include <smem/sort_by_plan.hpp>

#include <cstddef>
#include <string_view>

namespace smem::plan {

/// Bytes of a type of OpenCL C: a number or a vector of 2, 4, 8 or 16 of them. 0: of none that is sorted.
std::size_t bytes_of_type(std::string_view type);

/// \throws Error naming the argument, unless it is a problem.
void check_sort_by(const Device& device, const SortByProblem& problem);

}  // namespace smem::plan
