/// The variants of convolutions of many channels, for the file that chooses among them.
#pragma once

#include "plan/conv2d_parts.hpp"

#include <smem/conv2d_plan.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace smem::plan::conv2d {

inline constexpr const char* kOperation = "conv2d";

/// A variant's plan, or why there is none.
struct Attempt {
  std::optional<Plan> plan;
  std::string why_not;
};

Attempt plan_variant(const Device& device, const Conv2dProblem& p, std::string_view variant);

/// What a product of matrices makes of one group of channels and one slice.
GemmProblem product_of(const Conv2dProblem& p, const Conv2dSlices& slices);

}  // namespace smem::plan::conv2d
