/// The numbers of plans for softmax, with their evidence.
#pragma once

#include "plan/row_policy.hpp"

#include <smem/device.hpp>

namespace smem::plan {

// persistent_row_bytes: an H200 made 4096 x 50257 halves at 0.923 of copy instead of 0.884 by "ahead", 8192 x
// 24577 floats at 0.967 instead of 0.886. Groups of 256: 0.84, of 1024: 0.83, both before groups fetched
// rows, where 512 made 0.898.
//
// Rows that teams of such groups share, as norms of longer rows: 4096 x 50257 floats in four parts 0.744, by
// groups of 512 0.748, "ahead" 0.903; halves in two parts 0.612 and 0.649, one group 0.923; 300 x 262144
// floats 0.698, about as "cooperative". So there is no such kernel.
//
// Few rows, split and cooperative, ms: 1 x 600000 floats 0.0170 and 0.0102, 30 x 600000 0.090 and 0.060, 60 x
// 200000 halves 0.039 and 0.026. ahead_rows_a_unit: 16 x 50257 floats by split 0.0175, cooperative 0.0112,
// ahead 0.0136; 30 x 50257 0.0185, 0.0155 and 0.0143, halves 0.0322, 0.0117 and 0.0093; 60 x 50257 floats
// 0.0207, 0.0227 and 0.0163 (H200).
//
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
     .persistent_row_bytes = {98305, 98305},
     .persistent_without_weights = true,
     .shares_long_rows = true,
     .cooperative_items = 512,
     .cooperative_narrow_items = 256,
     .cooperative_values = 4,
     .ahead_rows_a_unit = 0.2},
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
