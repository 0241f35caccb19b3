/// What attention checks before its views.
#pragma once

#include "plan/sizes.hpp"

#include <smem/attention_plan.hpp>

#include <cstddef>
#include <string>

namespace smem::plan {

/// Tokens of a view, at most: kernels add the numbers of two in 32 bits with a sign.
inline constexpr std::size_t kMostTokens = std::size_t{1} << 29;

/// \throws Error naming the argument unless vectors of heads may have so many elements.
inline void require_head_size(const char* operation, const char* argument, std::size_t size) {
  if (size >= 1 && size <= 256) return;
  refuse(operation, argument, "vectors of 1 to 256 elements", std::to_string(size));
}

/// \throws Error naming the argument unless the device can compute it.
void check_attention(const Device& device, const AttentionProblem& problem);

/// Pairs of a query and a key that it attends to, of all heads and sequences; a window is taken for causal.
inline double attention_pairs(const AttentionProblem& p) {
  // Ragged sequences are taken for equal ones.
  const double sequences = real(at_least_1(p.batch)), parts = p.ragged ? sequences : 1;
  const double queries = real(p.queries) / parts, keys = real(p.keys) / (p.paged ? 1 : parts);
  double seen = queries * keys;
  if (p.right_limit)
    seen = keys >= queries ? queries * keys - queries * (queries - 1) / 2 : keys * (keys + 1) / 2;
  return seen * sequences * real(p.heads);
}

}  // namespace smem::plan
