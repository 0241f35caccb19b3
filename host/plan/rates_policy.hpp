/// The numbers of the plans that measure a device's rates, with their evidence.
#pragma once

#include "plan/policy.hpp"

#include <smem/device.hpp>

#include <cstddef>

namespace smem::plan {

struct RatesPolicy {
  When when;
  Evidence evidence;
  std::size_t group = 256;              ///< work-items
  std::size_t copy_lanes = 4;           ///< floats of a vector that is copied
  std::size_t copy_run = 1;             ///< vectors that a work-item copies, one after the other
  bool streaming = false;               ///< whether the copy is stored past the caches
  std::size_t lanes = 1;                ///< floats of a chain's vector, as long as it is a register
  bool fused = false;                   ///< whether fma is fast, and mad may be two instructions
  std::size_t chains = 16;              ///< independent multiply-adds of a work-item
  std::size_t length = 16;              ///< multiply-adds of a chain in a round
  std::size_t items_a_unit = 32 * 256;  ///< work-items that compute, for each compute unit
};

inline constexpr RatesPolicy kRatesPolicies[] = {
    // Work-items are loops, a group is a thread: runs of 256 KiB, and vectors that are registers.
    {.when = {.family = "cpu"},
     // 10 chains of registers hide 4 cycles of two units, and leave 6 of 16 registers. Of 160 calls of fma in
     // a round PoCL 3.1 inlines none, so that two cores of an EPYC made 5 GFLOP/s; with 40 of them they make
     // 194.
     .evidence = {.device = "Xeon",
                  .driver = "PoCL 5.0",
                  .what = "fp32 of two cores with AVX-512 of a shared host, GFLOP/s",
                  .share = "271; 8 chains of mad in vectors of 16 floats 95"},
     .group = 1,
     .copy_lanes = 16,
     .copy_run = 4096,
     .streaming = true,
     .lanes = 16,
     .fused = true,
     .chains = 10,
     .length = 4,
     .items_a_unit = 4},
    {.evidence = {.what = "no measurement: vectors of 16 bytes; more chains than the latency of a GPU's "
                          "multiply-add, and groups for all its lanes"}},
};

inline const RatesPolicy& rates_policy(const Device& device) { return row_for(kRatesPolicies, device); }

}  // namespace smem::plan
