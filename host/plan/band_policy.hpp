/// The numbers by which the threads of a CPU share the rows of a filter, with their evidence.
#pragma once

#include "plan/policy.hpp"

#include <smem/device.hpp>

#include <cstddef>

namespace smem::plan {

struct BandPolicy {
  When when;
  Evidence evidence;
  std::size_t bands_a_thread = 4;  ///< because the threads of a busy machine do not end together
  /// Rows of a band, at least, where each thread has one: so many, and so many for each row of halo.
  std::size_t least_rows = 8, rows_a_halo_row = 4;
  std::size_t most_rows = std::size_t{1} << 20;
};

inline constexpr BandPolicy kBandPolicies[] = {
    {.evidence = {.what = "no measurement: a few bands for each thread, none of which is mostly halo"}},
};

inline const BandPolicy& band_policy(const Device& device) { return row_for(kBandPolicies, device); }

}  // namespace smem::plan
