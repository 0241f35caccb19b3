/// The numbers of plans for moves by places, with their evidence.
#pragma once

#include "plan/policy.hpp"

#include <smem/device.hpp>

#include <cstddef>

namespace smem::plan {

// CPUs, two Zen 5 cores, PoCL 3.1: rows asked for 64 rows ahead, ms before and with it: gathers of 10^7 x 1
// floats 39 and 19, of 2 * 10^6 x 13 halves 28 and 8, of 10^6 x 16 floats 9 and 3.5; neighbours 3.8 and 3.4.
//
// most_parts_at_once: NVIDIA H200, driver 580.159, shares of copy with a team that has all parts of a row at
// once, and with the largest power of two below: gathers of 5000000 x 3 floats 0.31 and 0.21, of 2000000 x 13
// halves 0.36 and 0.40; scatters of 2000000 x 13 halves 0.21 and 0.13. Words of the target cut out of two of
// the source, 2 rows under way: 0.24 for the gather of halves, 0.18 for the scatter; of 1000000 x 51 bytes
// 0.24, by bytes 0.31, and by bytes with teams of 64 0.23.
struct GatherPolicy {
  When when;
  Evidence evidence;
  std::size_t group = 256;                       ///< work-items
  std::size_t team = 32;                         ///< of a row, at most
  std::size_t rows = 4;                          ///< that a team has under way
  std::size_t most_parts_at_once = 4;            ///< of a row that is gathered, beside all that are scattered
  std::size_t cpu_groups_a_unit = 8;             ///< so that a late thread leaves little
  std::size_t cpu_bytes = std::size_t{1} << 18;  ///< of a stretch, at least
};

inline constexpr GatherPolicy kGatherPolicies[] = {
    {.evidence = kFromFacts},
};

inline const GatherPolicy& gather_policy(const Device& device) { return row_for(kGatherPolicies, device); }

}  // namespace smem::plan
