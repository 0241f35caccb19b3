/// The numbers of sorts' plans, with their evidence.
#pragma once

#include "plan/policy.hpp"

#include <smem/device.hpp>

#include <array>
#include <cstddef>

namespace smem::plan {

/// Of sorts by threads of a CPU. Two Zen 5 cores, PoCL 3.1, uint32, ms, one thread, two, and two with lines:
/// 100000 keys 0.33, 0.29 and 1.07 (one block); 300000 0.98, 0.62 and 1.16; 1000000 3.2, 1.7 and 3.8; 4000000
/// 17, 10 and 14; 16777216 two 79, with lines 61. Where the cores share no cache, two threads take 0.69 for
/// 100000 and 4.2 for 1000000: each pass moves the keys from cache to cache. Two threads of a shared Xeon,
/// PoCL 5.0, before and one by one: 100000 2.5 and 2.0, 1000000 9.0 and 9.4, 4000000 31 and 33.
struct SortThreads {
  std::size_t block_keys = 128 * 1024;  ///< of a thread, at least
  std::size_t blocks_a_unit = 8;        ///< so that a late thread leaves little
  std::size_t line_bytes = 64;          ///< that are gathered for a digit before they are written
};

/// Work-items of a group, and keys of each.
struct SortTile {
  std::size_t group, items;
};

/// Of sorts by digits of 4 bits.
inline constexpr Evidence kFourBitsUnmeasured{
    .what = "no measurement: the most ranks that ptxas for sm_90 keeps in registers"};

struct SortPolicy {
  When when;
  Evidence evidence;
  std::size_t radix_bits = 8;  ///< of a digit
  /// Tiles of a pass, by the bytes of what passes through local memory, the key or a larger value: 1, 2,
  /// 4, 8.
  std::array<SortTile, 4> keys{{{256, 16}, {256, 16}, {256, 16}, {256, 8}}};
  SortTile doubles{256, 8};    ///< of float64 keys alone, whose order takes more registers
  SortTile four_bits{256, 8};  ///< at most, by digits of 4 bits; ptxas keeps 12 ranks in memory
  std::array<SortTile, 4> pairs{{{256, 16}, {256, 16}, {256, 16}, {256, 8}}};
  /// Of pairs whose values are copied ahead: in local memory they lie beside the keys. None: without.
  std::array<SortTile, 4> ahead{{{0, 0}, {0, 0}, {0, 0}, {0, 0}}};
  /// Tiles of few keys get fewer items, down to these, until there are so many tiles for each unit.
  std::size_t least_items = 8, tiles_a_unit = 1;
  std::size_t look_back = 4;          ///< statuses that are polled at once
  std::size_t match = 0;              ///< how NVIDIA's lanes find their peers (cl/nvidia/match_lanes.clh)
  std::size_t histogram_group = 256;  ///< work-items that count the digits of all passes
  std::size_t histogram_parts = 4;    ///< tables of a group, at most
  std::size_t histogram_groups_a_unit = 4;  ///< of a launch, at most
  std::size_t histogram_keys = 16;          ///< of a work-item, at least
  std::size_t offsets_group = 256;          ///< work-items that scan the counts of all tiles
  std::size_t offsets_groups_a_unit = 16;   ///< of those, where there are many rows
  /// Groups that share the tiles of long segments, which most calls do not have; 0: a group for each tile.
  std::size_t segment_tiles_a_unit = 8;
  std::size_t most_of_one_row = 0;  ///< keys that are sorted as one row of a sort of rows, where it can
  /// Keys up to which merges are faster than digits: alone, with values or places, and of 8 bytes.
  std::array<std::size_t, 3> most_of_merge{};
  Evidence of_one_row = {.what = "no measurement: the sizes follow from the device's facts"};
  std::size_t network_keys = 2048;  ///< that a network sorts, at most
  std::size_t network_items = 8;    ///< of a work-item, at most
  SortThreads threads;              ///< of CPUs
};

// nvidia-hopper: two groups or three share a multiprocessor's registers, of which a work-item has a key and
// its rank an item. H200, in ms, beside CUB in the same run. 2^27 uint32 with 384 work-items of 19, 20, 21,
// 23 keys: 2.75, 2.69, 2.66, 2.90; 512 of 16, 19: 2.98, 2.78; with match.any instead of ballots 4.6 and more;
// 4 statuses at once instead of 8: 2.63 (2.77). 2^26 uint64, 384 of 15, 18, 20, 22: 4.06, 3.68, 3.55, 3.57;
// 512 of 14, 16: 3.63, 3.59 (4.23). float64, 320 of 12, 384 of 16, 18, 20: 4.37, 4.07, 3.87, 3.75 (4.35).
// 2^26 pairs of uint32 whose values are read after the keys were written, 384 of 19, 20, 22, 23: 2.08, 1.98,
// 1.97, 2.70; copied ahead, 384 of 19, 21, 23, 24, 25: 1.94, 1.89, 1.85, 1.84, 1.88; 512 of 16, 18, 20: 1.92,
// 1.89, 2.46; by 16 bytes 1.87; exchanged as pairs or beside the keys instead of by places 1.90 (1.95).
// uint32 with values of 8 bytes, 320 of 10, 384 of 15: 3.08, 2.61; ahead, 384 of 15, 18, 20,
// 22: 2.49, 2.42, 2.38, 2.84 (2.61). uint64 with values of 4 bytes, 320 of 10, 384 of 15,
// 17: 6.27, 5.14, 4.96; ahead 5.74 (5.20); of 8 bytes 8.09, 5.99 (6.34). Tiles below the best, because
// registers of other types of keys are near the limit. As many tables of digits as banks, so that no two
// lanes of a warp meet; 128 KiB for four digits. A network's 8192 keys and places take 48 KiB.
// least_items, H100, calls in a queue, 384 work-items of 5, 7, 10, 14, 21: 2^16 uint32 0.047, 0.045, 0.042,
// 0.053, 0.051; 2^18 0.049, 0.050, 0.051, 0.052, 0.056; 2^20 0.080, 0.072, 0.069, 0.068 and 0.068 (CUB 0.053,
// 0.062, 0.082). histogram_keys, 2^20: 64, 16 of 1024 work-items 0.077, 0.072.
//
// most_of_one_row, most_of_merge, H200, us, calls in a queue, by one_row, merge, bitonic and onesweep: 2000
// floats 8, 32, 22, 43; 8000 18, 42, 108, 44; 12000 31, 48, none, 43; 16000 none, 48, none, 45; 4000 bytes
// 8.5, 22, 39, 18; argsort of 5000 21, 47, 79, 52; 10000 pairs of uint32 none, 39, none, 52. uint64: 2000
// (keys_only) 10, 19, 27, 86, 5000 (tile) 36, 27, 107, 84, 50000 none, 43, none, 74, 200000 69 and 86.
//
// intel: its compiler runs 32 work-items in the registers of one thread, unless kernels rank by ballots: in
// sub-groups of 16, with which ocloc spills nothing for dg2 and pvc (of 32, 175 spills in dg2's onesweep).
// Where tiles are in a loop, it keeps ranks of pairs in memory, for tgllp and dg2.
//
// segment_tiles_a_unit: H200, 8 * 10^6 floats in 100000 short segments, us: a group for each possible tile
// 903, 8 a unit, and fewer steps for short segments, 397.
//
// Others: a tile of 4096 keys takes 16 KiB, which is half of the least local memory of most GPUs, and so do
// the words in which 8 teams of 32 lanes match (24 KiB).
inline constexpr SortPolicy kSortPolicies[] = {
    {.when = {.family = "nvidia-hopper", .local_bytes = 160 * 1024},
     .evidence = {.device = "H200",
                  .driver = "580.159",
                  .what = "2^27 uint32, 2^26 pairs of uint32 and uint64, in ms; CUB in the same run",
                  .share = "2.63, 1.85 and 3.55; CUB 2.77, 1.95 and 4.23"},
     .keys = {{{512, 20}, {512, 24}, {384, 21}, {384, 20}}},
     .doubles = {384, 20},
     .pairs = {{{384, 16}, {256, 16}, {384, 19}, {384, 15}}},
     .ahead = {{{0, 0}, {0, 0}, {384, 23}, {384, 18}}},
     .least_items = 10,
     .look_back = 4,
     .histogram_group = 1024,
     .histogram_parts = 32,
     .histogram_groups_a_unit = 1,
     .most_of_one_row = 16384,
     .most_of_merge = {0, 16384, 262144},
     .of_one_row = {.device = "H200",
                    .driver = "580.159",
                    .what = "2000, 8000 and 12000 floats, us, calls in a queue",
                    .share = "8, 18 and 31; bitonic 22, 108, none; onesweep 43, 44, 43"},
     .network_keys = 8192},
    {.when = {.family = "nvidia"},
     .evidence = {.what = "no measurement: two groups in the least local memory of its multiprocessors"},
     .keys = {{{384, 16}, {384, 16}, {384, 16}, {256, 10}}},
     .doubles = {256, 10},
     .pairs = {{{384, 16}, {384, 16}, {384, 16}, {256, 10}}},
     .look_back = 8},
    {.when = {.family = "intel"},
     .evidence = {.what = "no measurement: what its compiler keeps in registers"},
     .keys = {{{256, 8}, {256, 8}, {256, 8}, {256, 8}}},
     .pairs = {{{256, 8}, {256, 8}, {256, 8}, {256, 8}}},
     .segment_tiles_a_unit = 0},
    {.when = {.family = "cpu"},
     .evidence = {.device = "Xeon",
                  .driver = "PoCL 3.1",
                  .what = "a pass over 2^24 uint32 by one thread",
                  .share = "33 ms with lines stored past the caches, 79 ms without, 64 ms without lines"}},
    {.evidence = {.what = "no measurement for this family: the sizes follow from the device's facts"}},
};

inline const SortPolicy& sort_policy(const Device& device) { return row_for(kSortPolicies, device); }

}  // namespace smem::plan
