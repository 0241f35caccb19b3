/// How far ahead threads of a CPU prefetch what they read, with its evidence.
#pragma once

#include "plan/policy.hpp"
#include "plan/sizes.hpp"

#include <smem/device.hpp>

#include <cstddef>

namespace smem::plan {

struct ReadAheadPolicy {
  When when;
  Evidence evidence = kFromFacts;
  std::size_t bytes = 0;  ///< before they are needed; 0: nothing is prefetched
};

// Two cores of an Emerald Rapids Xeon, shares of memcpy's rate without and with it: sum of 2^26 floats 0.71
// and 1.08, of 8192 x 8192 by rows 0.79 and 1.06, minmax 0.62 and 0.99, argmin 0.77 and 1.07, int8 0.77
// and 1.02. Of 2, 4, 8, 16 and 32 KiB the middle three were within the noise. There too, on a busy machine:
// unique of 16 million floats 0.47 and 0.63, 0.37 and 0.48, 0.44 and 0.51; unique of 7 million doubles 0.40
// and 0.42, 0.48 and 0.55. PoCL 5.0, two cores: top_k of 1000 x 10000 floats 0.34 and 0.42; histograms of
// 2^24 floats in 256 bins 0.35 and, with entries by two, 0.38 to 0.48. On two Zen 5 cores it is no gain, ms
// without and with 8 KiB: sum of 2^26 floats 4.4 and 4.0, bytes 1.18 and 1.15, halves the same; scans 12.3
// and 11.7; copy_if of 2^26 floats 15.5 and 18.9.
inline constexpr ReadAheadPolicy kReadAheadPolicies[] = {
    {.when = {.family = "cpu", .vendor = "Intel"},
     .evidence = {.device = "Xeon",
                  .driver = "PoCL 3.1",
                  .what = "sum of 2^26 floats by two cores, of memcpy's rate",
                  .share = "1.08; without prefetching 0.71"},
     .bytes = 8192},
    {.evidence = {.what = "no measurement: the hardware prefetches"}},
};

inline const ReadAheadPolicy& read_ahead_policy(const Device& device) {
  return row_for(kReadAheadPolicies, device);
}

/// The prefetching of a launch of threads of a CPU: see cl/common/read_ahead.clh.
inline void define_read_ahead(const Device& device, Launch& launch) {
  const std::size_t bytes = read_ahead_policy(device).bytes;
  if (bytes != 0 && device.prefetch_builtin) define(launch, "READ_AHEAD", bytes);
}

}  // namespace smem::plan
