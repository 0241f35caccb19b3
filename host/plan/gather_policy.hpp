/// The numbers of plans for moves by places, with their evidence.
#pragma once

#include "plan/policy.hpp"

#include <smem/device.hpp>

#include <cstddef>

namespace smem::plan {

struct GatherPolicy {
  When when;
  Evidence evidence;
  std::size_t group = 256;                       ///< work-items
  std::size_t team = 32;                         ///< of a row, at most
  std::size_t rows = 4;                          ///< that a team has under way
  std::size_t word_rows = 2;                     ///< of those that are moved in words
  std::size_t least_words_bytes = 8;             ///< of unaligned rows that are moved in words
  std::size_t cpu_groups_a_unit = 8;             ///< so that a late thread leaves little
  std::size_t cpu_bytes = std::size_t{1} << 18;  ///< of a stretch, at least
};

inline constexpr GatherPolicy kGatherPolicies[] = {
    {.evidence = kFromFacts},
};

inline const GatherPolicy& gather_policy(const Device& device) { return row_for(kGatherPolicies, device); }

}  // namespace smem::plan
