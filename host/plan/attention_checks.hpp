/// What attention checks before its views.
#pragma once

#include <smem/attention_plan.hpp>

#include <cstddef>

namespace smem::plan {

/// Tokens of a view, at most: kernels add the numbers of two in 32 bits with a sign.
inline constexpr std::size_t kMostTokens = std::size_t{1} << 29;

/// \throws Error naming the argument unless the device can compute it.
void check_attention(const Device& device, const AttentionProblem& problem);

/// Pairs of a query and a key that it sees, of all heads and sequences; a window is taken for causal.
double attention_pairs(const AttentionProblem& problem);

}  // namespace smem::plan
