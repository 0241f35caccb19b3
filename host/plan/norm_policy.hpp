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
// ahead_packs, with weight and bias: an H200 made layer_norm by "ahead" and "shuffle" at these shares of
// copy: halves 16384 x 4096 0.78 and 0.66, 16384 x 8192 0.79 and 0.57; floats 16384 x 4096 0.84 and 0.96,
// 16384 x 8192 0.86 and 0.92, 16384 x 16384 0.86 and 0.72. An H100: halves 16384 x 4096 0.85 and 0.84, floats
// 16384 x 16384 0.93 and 0.99 (rms_norm 0.94 and 1.00), 16384 x 8192 0.93 and 1.00.
//
// Rows that are too long for the weights to stay beside them (4096 x 50257): an H200 made floats by "ahead"
// in 0.738 ms, halves in 0.348. Those are the bytes of weights that each row reads again. Groups that share
// rows keep the weights of their part ("cooperative"): see cooperative_share.
//
// cooperative_share: an H100 made layer_norm of floats by "cooperative" and "ahead" at these shares of copy:
// 4096 x 50257 0.70 and 0.60, 1000 x 50257 0.67 and 0.61; rows of 120 of 227 KB, 8192 x 30011, 0.71 and 0.78;
// aligned rows, 2048 x 40000, 0.71 and 0.84; one vector of weights, rms_norm of 4096 x 50257, 0.82 and 0.86;
// halves 4096 x 50257 0.49 and 0.71. Between 120 and 201 KB nothing was measured.
//
// early_packs, weight and bias that are loaded with the row: an H100 made layer_norm of 8192 x 1000
// at 0.97 of copy instead of 0.92, halves at 0.89 instead of 0.88, rms_norm of halves at 0.98 instead of
// 0.93; of 16384 x 2048 halves at 0.95 instead of 0.97. Groups of 1024 spill.
//
// nvidia: of rows with a residual and its sum, ptxas for sm_75 spills 36 bytes where 64 bytes hold elements.
//
// intel: its compiler keeps arrays in memory that take more than 32 bytes.
inline constexpr RowPolicy kNormPolicies[] = {
    {.when = {.family = "nvidia-hopper"},
     .evidence = {.device = "H200",
                  .driver = "580.159",
                  .what = "layer_norm of 16384 x 16384 half and float (ahead), against copy",
                  .share = "0.82 and 0.86"},
     .kept_group = 64,
     .kept_bytes = 128,
     .early_items = 64,
     .ahead_packs = 2048,
     .ahead_element = 2,
     .ahead_wide_packs = 4096,
     .shares_long_rows = true,
     .cooperative_items = 256},
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
