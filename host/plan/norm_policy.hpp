/// The numbers of plans for norms, with their evidence.
#pragma once

#include "plan/row_policy.hpp"

#include <smem/device.hpp>

namespace smem::plan {

// Each row that is too long for registers reads the weights again: an H200 made layer_norm of 4096 x 50257
// with weight and bias at 0.62 of copy, halves 0.61; with weights alone (rms_norm) 0.80; without 0.86. In all
// of these but the last, rows, weights, biases and results then pass between cache and units at 5.1 to 5.2
// TB/s: the cache's rate is the limit. One group a unit that goes on to other rows, with halves in registers
// and weights in local memory: 0.45 (no loads are under way while it computes); 24577 floats 0.75 instead of
// 0.67.
// Two rows of a group of 1024 in local memory, of which weights are read once: 0.51, with weights alone 0.71.
// A row in registers, 25 packs of 256 work-items, that passes the unit's cache, which is left to weights:
// 0.67, without weights 0.85; groups that go on to other rows and load them as they store: 0.56 and 0.78.
// Weights in the local memory of groups that have parts of several rows ("cooperative"): 0.53 and 0.35. The
// same as a pipeline of five to eight rows, planned for two groups a unit, with weights in registers and a
// warp that merges and polls while others write and count: 448 work-items of 2 packs, floats 0.56, halves
// 0.47 to 0.48 whether two or five rows ahead, 0.50 without weights; 256 of 4 packs, with squares summed in
// one pass, floats 0.61, halves 0.21, the same without polls, softmax of halves 0.47; 512 of 2 packs, halves
// 0.42. So other groups are not what those of 256 wait for; why halves are slow was not found.
//
// persistent_row_bytes, by a group a unit that keeps weights in registers and two rows in local memory, which
// bulk copies bring and take away, share of copy: layer_norm with weight and bias of 4096 x 50257 halves
// 0.924 instead of 0.60, bfloat16 0.928 and 0.594, rms_norm of halves with weights 0.946 and 0.79; 6000 x
// 30001 halves 0.832 and 0.59; 8192 x 24577 floats 0.958 and 0.72. With a row in registers and weights in
// local memory ("persistent" before): 0.71, rms_norm 0.89, 0.67 and 0.88; 10000 x 20000 halves 0.59 instead
// of 0.78. Steps, 4096 x 50257 halves: 0.847; lines of local memory that hold lines of rows, and 12 words
// read ahead instead of 6, 0.894; fetched rows, and 18 words, 0.924. The same program by CUDA's ptxas:
// without arithmetic 0.92, and 0.94 with fetched rows; without copies 1.02: both limit. Groups of 384 and
// 512, whose registers spill: 0.65 and 0.58. Stores by work-items, of whole chunks: 0.12. Second halves
// loaded after all is counted: 0.76. A row as one section of all work-items: 0.89 instead of 0.88. Not
// measured, and so never: floats with weights alone in whole rows.
//
// persistent_most_parts, persistent_stages, persistent_parts_items, by teams of groups that share rows: 4096
// x 50257 floats, three parts of three rows 0.897 of copy, four of four 0.836 (groups of 512: 0.827), "ahead"
// 0.61; 2048 x 100003 halves, three of three by groups of 384 0.755, four of four by groups of 256 0.660,
// "ahead" 0.554; 1056 x 100003, three of three 0.747, four of four 0.702, both by 384. 2640 x 50257 floats by
// groups of 256 0.893, of 384 0.888, without waiting for the other parts 0.897: neither instructions nor the
// exchange limit. From floats in three and four parts a turn takes 0.85 us beside the copies
// (persistent_turn_bytes is about that). Halves of 50257 in two parts 0.625, one group 0.925. With the part
// after the next one loaded as results leave, in time for a turn more: four of four 0.843, five of five
// 0.712, six of six 0.654. Longer rows and weights alone, ms, by "persistent" and before (cooperative, or
// ahead): 500 x 100000 floats with weight 0.120 and 0.225, and bias 0.122 and 0.196, rms_norm of halves 0.066
// and 0.080, of 2048 x 100003 0.222 and 0.267; of 2048 x 50257 floats 0.219 and 0.255; 1000 x 150000 floats,
// weight and bias, 0.335 and 0.597.
//
// Rows that teams fetch, beside rows by their numbers: 4096 x 50257 floats 0.920 to 0.922 and 0.899 to 0.901
// of copy, 2640 x 50257 0.911 and 0.892, 2048 x 100003 halves 0.758 and 0.755 to 0.758. By their numbers,
// teams end from 401 to 428 us. With rows of 64 bits, which take registers, halves made 0.740; the last warp
// fetches, as the first one, which publishes, made 0.754. Of softmax's rings (4096 x 50257 floats 0.929)
// groups fetch rows as well.
//
// persistent_parts_other_registers: with 384 work-items and 37 of 44 words' weights in registers, ptxas for
// sm_90 spills none, with 39 36 bytes.
//
// Few rows, split and cooperative, ms: 30 x 600000 floats with weight and bias 0.117 and 0.092, 16 x 50257
// 0.029 and 0.015. ahead_rows_a_unit: as softmax; 60 x 50257 by split 0.0316, cooperative 0.0242, ahead
// 0.0245.
//
// tiled_whole_bytes, H200, us by short_rows and by shuffle: 1000000 x 32 halves 40 and 54, x 16 floats 41 and
// 56, rms_norm with weights of 500000 x 32 bfloat16 25 and 53; x 24 halves with weights 23 and 21; 500000 x
// 64 halves with weight and bias 42 and 41.
//
// early_raw_items: rms_norm of halves with weights loaded with the row 8192 x 1000 0.903 instead of 0.819,
// 16384 x 1000 0.938 and 0.887, 67108 x 1000 0.979 and 0.954, 8192 x 4096 0.965 and 0.941; 16384 x 16384,
// groups of 256, 0.70 and 0.99. With a bias besides: 0.82 instead of 0.96 (67108 x 1000), so never there.
//
// loading_items, weight and bias of halves that stay in registers, from row to row: 8192 x 1000, which the
// cache holds, by 384, 512, 768 and 1024 work-items a unit 0.842, 0.901 to 0.908, 0.871 and 0.800 of copy, a
// group for each row 0.804 to 0.807; 8192 x 1024 0.805 and 0.802, in a queue 10.6 and 12.1 us; 9000 x 800
// 0.789 and 0.791, unstable. Not where rows and results take more: 16384 x 1000 in 23.0 and 23.2 us, 65536 x
// 1000 in 72.3 and 69.3, 4096 x 4096 in 26.5 and 24.2; nor of bfloat16 0.750 and 0.781, of weights alone
// 0.897 and 0.892, of softmax 0.90 to 0.93 and 0.937; of four rows a team that follow each other 12.8 us and
// not 10.5. Squares in one pass, of differences from the first element: 11.9.
//
// Without shuffles 0.922 to 0.924 instead of 0.908 to 0.910 (8192 x 1000), without weights 0.919 to 0.921,
// loads and stores alone 0.955. Rows of 1000, so and by a group for each row: 6144 0.906 and 0.854, 10240
// 0.899 and 0.839, 12288 0.910 and 0.855, 16384 0.920 and 0.887. loading_bytes is no share of
// Device::cache_bytes: for 50 MB of an H200 the driver reports 4.1 MiB, 32 KiB a unit. Beyond it, so and by a
// group for each row: rows of 1000, 12288 0.910 and 0.843, 16384 0.913 and 0.871, 24576 0.937 and 0.915,
// 32768 0.929 both, 49152 0.933 and 0.947, 65536 0.935 and 0.958; but of 1024, 16384 0.840 and 0.899, 24576
// 0.843 and 0.917, and 8192 x 2000 0.766 and 0.861. So it is not raised.
//
// Rows of 16384 halves whose weights stayed in local memory, for several rows a group: 0.83; 4096: 0.78, and
// 0.86 with a group for each row.
//
// Rows of halves that begin anywhere: 67108 x 1001 0.76, and 0.80 since packs that every row has need no
// tests, 8388 x 8001 0.61 and 0.81; bfloat16, 67108 x 1001 0.57 and 0.80 with pairs rounded by an
// instruction. Two or four rows of a team at once, with the same weights: 1001 0.76 and 0.62, 8001 0.68 and
// 0.55, in 128 and 223 registers.
//
// early_items, weight and bias that are loaded with the row: an H200 made layer_norm of 524288 x 128 floats
// at 0.997 of copy instead of 0.977, 1000 elements 0.98 both; in groups of 256 that keep 4 packs a work-item
// 0.74 instead of 0.95 (8192 x 4096); of halves 0.81 instead of 0.96 (67108 x 1000), so never there.
//
// nvidia: of rows with a residual and its sum, ptxas for sm_75 spills 36 bytes where 64 bytes hold elements.
//
// intel: its compiler keeps arrays in memory that take more than 32 bytes.
inline constexpr RowPolicy kNormPolicies[] = {
    {.when = {.family = "nvidia-hopper"},
     .evidence = {.device = "H200",
                  .driver = "580.159",
                  .what = "layer_norm of 16384 x 16384 half and float, against copy",
                  .share = "0.96 and 0.98"},
     .kept_group = 64,
     .kept_bytes = 128,
     .early_items = 64,
     .early_raw_items = 64,
     .loading_items = 512,
     .taken_registers = 108,
     .fewest_registers = 64,
     .tiled_row_bytes = 512,
     .tiled_whole_bytes = 64,
     .ahead_packs = {2049, 4097, 4096},
     .ahead_loose_packs = 3073,
     .persistent_row_bytes = {60000, 98305},
     .persistent_parts_items = {384, 256},
     .persistent_parts_other_registers = 94,
     .persistent_most_parts = 12,
     .shares_long_rows = true,
     .cooperative_items = 256,
     .ahead_rows_a_unit = 0.2},
    {.when = {.family = "nvidia"},
     .evidence = {.what = "no measurement: a row in the registers of its work-items, 16 bytes a read"},
     .kept_bytes = 48},
    {.when = {.family = "intel"},
     .evidence = kFromRegisters,
     .packs = 2,
     .kept_bytes = 32,
     .tile_kept = 8,
     .persistent_other_registers = 255,
     .persistent_parts_other_registers = 255},
    {.when = {.family = "cpu"},
     .evidence = {.what = "no measurement: a row in the cache of its thread, vectors of 64 bytes"},
     .loading_items = 256},  // "registers", which runs there by name alone, as on GPUs
    {},
};

inline const RowPolicy& norm_policy(const Device& device) { return row_for(kNormPolicies, device); }

}  // namespace smem::plan
