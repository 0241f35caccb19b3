/// The numbers of plans for norms, with what chose them.
#pragma once

#include "plan/row_policy.hpp"

#include <smem/device.hpp>

namespace smem::plan {

// intel: its compiler keeps arrays in memory that take more than 32 bytes.
inline constexpr RowPolicy kNormPolicies[] = {
    {.when = {.family = "nvidia-hopper"},
     .evidence = {.device = "H100",
                  .driver = "580.159",
                  .what = "layer_norm of 16384 x 16384 half (ahead) and float (shuffle), against copy",
                  .share = "0.91 and 0.93"},
     .ahead_packs = 2048,
     .ahead_element = 2,
     .ahead_held = 64},
    {.when = {.family = "nvidia"},
     .evidence = {.what = "no measurement: a row in the registers of its work-items, 16 bytes a read"}},
    {.when = {.family = "intel"}, .evidence = kFromRegisters, .packs = 2, .kept_bytes = 32},
    {.when = {.family = "cpu"},
     .evidence = {.what = "no measurement: a row in the cache of its thread, vectors of 64 bytes"}},
    {},
};

inline const RowPolicy& norm_policy(const Device& device) { return row_for(kNormPolicies, device); }

}  // namespace smem::plan
