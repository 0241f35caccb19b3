/// What the plans of box blurs share.
#pragma once

#include "plan/filters.hpp"

#include <smem/blur_plan.hpp>

#include <cstddef>
#include <string_view>

namespace smem::plan {

inline constexpr const char* kBoxName = "box_blur";

/// The type of the sums of a box's elements.
struct BoxSum {
  const char* name;
  std::size_t bytes;
  bool integer;
};
BoxSum box_sum(const SeparableProblem& g);

/// The plan of a launch, with the defines of all kernels of boxes.
Plan box_plan(const SeparableProblem& g, std::string_view variant, const char* file, const char* entry);

/// Whether work-items exchange sums by shuffles.
bool uses_box_shuffles(const Device& device, std::size_t group);

/// Columns that have no result: what the box has to its left, its own cell too, and to its right; `columns`:
/// neighbours of a work-item.
std::size_t box_halo(const SeparableProblem& g, std::size_t columns);

Plan box_two_pass(const Device& device, const SeparableProblem& g);
/// Nanoseconds of it; infinite where boxes are too large for local memory.
double box_two_pass_time(const Device& device, const SeparableProblem& g);

}  // namespace smem::plan
