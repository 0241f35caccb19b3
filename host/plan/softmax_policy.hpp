/// The numbers of plans for softmax, with their evidence.
#pragma once

#include "plan/row_policy.hpp"

#include <smem/device.hpp>

namespace smem::plan {

// intel: its compiler keeps arrays in memory that take more than 32 bytes.
inline constexpr RowPolicy kSoftmaxPolicies[] = {
    {.when = {.family = "nvidia-hopper"},
     .evidence = kLongRows,
     .kept_group = 64,
     .kept_bytes = 128,
     .tiled_row_bytes = 320,
     .tiled_whole_bytes = 32,
     .ahead_packs = {2561, 4097, 2048},
     .ahead_loose_packs = 3073,
     .ahead_halves = 8,
     .ahead_line = 128,
     .shares_long_rows = true,
     .cooperative_items = 512,
     .cooperative_narrow_items = 256,
     .cooperative_values = 4},
    {.when = {.family = "nvidia"},
     .evidence = {.what = "no measurement: a row in the registers of its work-items, 16 bytes a read"},
     .ahead_packs = {2048, 2048, 2048},
     .cooperative_narrow_items = 256},
    {.when = {.family = "intel"}, .evidence = kFromRegisters, .packs = 2, .kept_bytes = 32, .tile_kept = 8},
    {.when = {.family = "cpu"},
     .evidence = {.what = "no measurement: a row in the cache of its thread, vectors of 64 bytes"}},
    {},
};

inline const RowPolicy& softmax_policy(const Device& device) { return row_for(kSoftmaxPolicies, device); }

}  // namespace smem::plan
