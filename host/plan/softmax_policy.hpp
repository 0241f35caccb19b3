/// The numbers of plans for softmax, with their evidence.
#pragma once

#include "plan/row_policy.hpp"

#include <smem/device.hpp>

namespace smem::plan {

// persistent_row_bytes: rows that pass through rings of pieces (cl/common/row_ring.clh). An H200 made, of
// copy, before and now: 4096 x 50257 halves 0.926 and 0.941, in another run 0.930 and 0.946, by two whole
// rows in sections of warps, whose words are shifted ("ahead" 0.884); log_softmax now 0.947; floats 0.896
// ("ahead") and 0.928; 2048 x 100003 halves 0.841 ("ahead") and 0.906; 8192 x 24577 floats 0.963, as by
// sections. bfloat16, 4096 x 50257, 0.930 and 0.896: its exponentials take two instructions more an element,
// as a rounded multiple of a large shift would be wrong. So rows of bfloat16, of which local memory holds
// two, stay in sections.
//
// ring_chunks, persistent_items, by the same program made by CUDA's ptxas, 4096 x 50257, of CUDA's copy:
// halves, 16 warps with pieces of 3 chunks of a work-item 0.951 to 0.954, of 4 0.949, of 2 0.843; 20 warps of
// 3 0.952; numbers that are no multiples of 4, for which units have schedulers, 13 of 4 0.903, 17 of 3 0.921;
// 10 of 4 0.825. Floats, 8 to 16 warps, pieces of 3 to 8 chunks 0.928 to 0.936. Without arithmetic: halves
// 0.953 to 0.957, floats 0.933 to 0.939, where a kernel that copies with a group for 16 KB makes 0.954; so
// copies are the limit. Floats with one to three pieces of each row in registers, whose places the next row
// takes early: 0.928 to 0.932. Places of results taken three pieces later: halves 0.953 and, by
// OpenCL's compiler, 0.933 instead of 0.941; floats no difference.
//
// Rows that teams of groups share, as norms of longer rows: 4096 x 50257 floats in four parts 0.744, by
// groups of 512 0.748; halves in two parts 0.612 and 0.649; 300 x 262144 floats 0.698, about as
// "cooperative". So there is no such kernel.
//
// split_packs: rows of 1000 halves, 125 packs, share of copy by one warp of 4 packs a work-item, by two of 2,
// of calls in a queue: 6144 rows 0.935 and 0.948, 8192 0.948 and 0.955 (in another run 0.950 and 0.960;
// without arithmetic 0.979 and 0.962), 10240 0.939 and 0.948, 12288 0.947 and 0.954, 16384 0.959 and 0.966,
// 65536 0.979 and 0.984. Two warps whose second packs are half empty lose: 8192 x 768 0.949 and 0.873; so
// they are full to 7/8 at least, between which was not measured. Longer rows: 8192 x 2000 0.969 and 0.970,
// 8192 x 1504 0.959 and 0.878; shorter ones, 8192 x 512 0.956 and 0.943 (H200).
//
// Floats of 4096 x 50257, in one run, three numbers of rows: 0.929, 0.929 and 0.933, the same kernel without
// arithmetic 0.934, 0.932 and 0.936. Groups end from 398 to 412 us. Plain rings of 6 KB pieces without rows
// make 0.937, in the order of rows or of all groups, a group for each 192 KB 0.955, for each 4 KB 0.987; bulk
// loads that leave the cache first 0.893.
//
// ahead_packs of doubles: us by "shuffle" and by "ahead" 8000 x 3000 101 and 126, 4000 x 5000 86 and 127,
// 3000 x 8192 143 and 139, 2000 x 12000 126 and 138 (H200).
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
     .split_packs = 120,
     .tiled_row_bytes = 320,
     .tiled_whole_bytes = 32,
     .ahead_packs = {2561, 4097, 8192},
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
