/// The numbers of plans for norms, with what chose them.
#pragma once

#include "plan/row_policy.hpp"

#include <smem/device.hpp>

namespace smem::plan {

// kept_group: an H100 made layer_norm in groups of 128 and 256 work-items at these shares of copy: halves
// 8192 x 1000 0.87 and 0.84, 16384 x 1024 0.94 and 0.89, 16384 x 2048 0.96 and 0.92, 8192 x 3000 0.95 and
// 0.90; floats 8192 x 1000 0.95 and 0.91, 16384 x 1024 0.97 and 0.94, 16384 x 2048 0.97 and 0.96, 8192 x 3000
// 0.96 and 0.97; 1000000 x 128 the same. Groups of 512: less.
//
// Rows that are too long for the weights to stay beside them (4096 x 50257): 0.60 of copy for floats, 0.65
// for halves, 0.90 without weights. Weights as if they were aligned, or by two aligned reads each, change
// nothing: what is left are the bytes that each row reads again, which no counter has shown.
//
// nvidia: of rows with a residual and its sum, ptxas for sm_75 spills 36 bytes where 64 bytes hold elements.
//
// intel: its compiler keeps arrays in memory that take more than 32 bytes.
inline constexpr RowPolicy kNormPolicies[] = {
    {.when = {.family = "nvidia-hopper"},
     .evidence = {.device = "H100",
                  .driver = "580.159",
                  .what = "layer_norm of 16384 x 16384 half (ahead) and float (shuffle), against copy",
                  .share = "0.91 and 0.93"},
     .kept_group = 128,
     .ahead_packs = 2048,
     .ahead_element = 2,
     .ahead_held = 64},
    {.when = {.family = "nvidia"},
     .evidence = {.what = "no measurement: a row in the registers of its work-items, 16 bytes a read"},
     .kept_bytes = 48},
    {.when = {.family = "intel"}, .evidence = kFromRegisters, .packs = 2, .kept_bytes = 32},
    {.when = {.family = "cpu"},
     .evidence = {.what = "no measurement: a row in the cache of its thread, vectors of 64 bytes"}},
    {},
};

inline const RowPolicy& norm_policy(const Device& device) { return row_for(kNormPolicies, device); }

}  // namespace smem::plan
