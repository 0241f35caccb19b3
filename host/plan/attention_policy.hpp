/// The numbers of plans for attention, with their evidence.
#pragma once

#include "plan/policy.hpp"

#include <smem/device.hpp>

#include <algorithm>
#include <array>
#include <cstddef>

namespace smem::plan {

/// A tile of logits, and what a work-item makes of it.
struct AttentionTile {
  std::size_t most_value;  ///< elements of a value
  std::size_t m, n;        ///< rows and keys
  std::size_t each_m;      ///< rows of a work-item
};

/// Of "mma": warps of a group, sixteens of rows of a warp, and keys of a tile.
struct AttentionMma {
  std::size_t most_size;  ///< elements of a query or a value, the larger ones
  std::size_t warps, sixteens, keys;
  bool keeps_queries;  ///< in registers

  std::size_t rows() const { return warps * sixteens * 16; }
};

/// Of "wgmma": warpgroups that multiply, keys of a tile, and tiles of its pipeline.
struct AttentionWgmma {
  std::size_t most_size;  ///< elements of a query or a value, the larger ones
  std::size_t consumers, keys, stages;
  std::size_t most_keys;           ///< where options take registers
  std::size_t producer_registers;  ///< of a work-item that copies

  /// What a multiprocessor's 65536 leave to the others, in eights, of which one has at most 255.
  std::size_t consumer_registers() const {
    return std::min<std::size_t>((512 - producer_registers) / consumers, 255) / 8 * 8;
  }
  std::size_t rows() const { return 64 * consumers; }
  std::size_t group() const { return 128 * (1 + consumers); }
};

/// Of "wgmma" and "mma".
inline constexpr Evidence kUnitsUnmeasured{.what = "no measurement of this family: sizes as on Hopper"};
inline constexpr Evidence kUnitsMeasured{
    .device = "H200",
    .driver = "580.159",
    .what =
        "half, 4 x 16 heads of 4096 x 4096 of 64 and 128, 2 x 16 of 256, in TFLOP/s; cuDNN in a run before",
    .share = "412, 609 and 645; cuDNN 459, 643 and 695"};
inline constexpr Evidence kSplitMeasured{
    .device = "H200",
    .driver = "580.159",
    .what = "1 x 32 heads, 8 of keys, 131072 keys of 128 halves, against copy",
    .share = "0.78"};

inline constexpr Evidence kSplitMmaMeasured{.device = "H100",
                                            .driver = "580.159",
                                            .what =
                                                "32 heads, 8 of keys, of 128 halves, against copy: 1 x "
                                                "131072 keys, 64 x 1000, 64 x up to 8192 (Zipf)",
                                            .share = "0.98, 0.93 and 0.88; split_keys 0.86, 0.82 and 0.67"};
inline constexpr Evidence kSplitUnmeasured{
    .what = "no measurement yet: bytes on their way, and groups that registers let a unit hold"};

/// Of "split_keys" and "split_mma".
struct AttentionSplit {
  Evidence evidence = kSplitUnmeasured;
  Evidence mma_evidence = kSplitUnmeasured;
  std::size_t group = 128;     ///< work-items
  std::size_t most_rows = 8;   ///< of a tile: 1, 2, 4, 8
  std::size_t most_pack = 8;   ///< elements of the widest read, of at most 16 bytes
  std::size_t most_sums = 64;  ///< of a work-item
  std::size_t keys_each = 4;   ///< that a team has at once
  std::size_t chunk = 128;     ///< keys, of which groups have whole numbers
  std::size_t stages = 3;      ///< turns on their way by cp.async, or in use
  /// Of the launch: what a unit runs at once, of tiles of at most 4 rows, and of more.
  std::array<std::size_t, 2> groups_a_unit{3, 2};
  // Of "split_mma": work-items, sixteens of keys that a warp has at once, turns on their way or in use, and
  // groups that a unit runs at once.
  std::size_t mma_group = 128;
  std::size_t mma_keys_each = 1;
  std::size_t mma_stages = 2;
  std::size_t mma_groups_a_unit = 3;
  /// Where all tiles have the same keys, and each at least so many units, groups are these, as many as local
  /// memory holds: a tile has fewer partial sums. Of halves, an H200 read 131072 keys of 8 tiles of 128 at
  /// 0.98 to 0.998 of copy so, in equal groups of 128 at 0.96; 20000 of 32 tiles at 0.939 and 0.945; with
  /// lengths up to 3000 of 64 tiles in 27.2 and 25.0 us.
  std::size_t mma_units_a_tile = 8;
  std::size_t mma_large_group = 256;
  std::size_t mma_large_stages = 3;
  /// Where tiles are as many, and all run at once in groups of at least so many warps, none is split. On an
  /// H200, heads of 128, equal shares that are combined, and whole tiles, in us: of 1000 keys 264 tiles 42.4
  /// and 39.5, 400 59.6 and 55.8, 512 72.8 and 68.3, 600 82.8 and 79.0; of 3000 keys 512 tiles 188 and 185;
  /// by one warp a tile, 1200 tiles of 1000 keys 152 and 182.
  std::size_t mma_whole_tiles_a_unit = 2;
  std::size_t mma_whole_warps = 2;
  // Either is chosen for at most so many rows (queries times the heads that share keys) and at least so many
  // keys.
  std::size_t chosen_rows = 16;
  std::size_t chosen_keys = 256;
  /// With tiles of "wgmma" for so many of 16 units, and so many keys, that one is chosen: of an H200's 132
  /// units, 128 groups read 8192 keys at 0.99 of copy, where "split_mma" reads them at 0.97; 512 groups 1000
  /// keys at 0.87, and 0.88 to 0.90. Of smaller heads its tiles leave too few bytes on their way: 128 groups
  /// read 4096 keys of 128 in 66.6 us, "split_mma" in 69.5; of 64 in 45.7, and 39.6.
  std::size_t wgmma_sixteenths = 15;
  std::size_t wgmma_keys = 4096;
  std::size_t wgmma_head = 65;  ///< elements of a key or a value, the larger ones
};

struct AttentionPolicy {
  When when;
  Evidence evidence = kFromFacts;
  Evidence units = kUnitsUnmeasured;
  /// Of "tiled": the first one that serves the size and fits is taken.
  std::array<AttentionTile, 4> tiles{
      {{256, 64, 64, 4}, {256, 32, 32, 4}, {256, 16, 16, 4}, {256, 16, 16, 4}}};
  std::size_t depth = 16;        ///< elements of queries and keys, or values, in its local memory at once
  std::size_t unroll = 4;        ///< turns of its innermost loops that are written out
  std::size_t naive_group = 64;  ///< work-items of "naive"
  std::size_t logits_bytes = std::size_t{256} << 20;  ///< of "naive", in temporary memory at once
  /// Of "mma": the first one that serves the sizes and fits local memory is taken.
  std::array<AttentionMma, 4> mma{
      {{128, 4, 1, 64, true}, {128, 4, 1, 64, false}, {256, 8, 1, 32, false}, {256, 4, 1, 32, false}}};
  /// Of "wgmma": the same.
  std::array<AttentionWgmma, 6> wgmma{{{64, 2, 128, 4, 64, 56},
                                       {120, 2, 128, 5, 64, 56},
                                       {128, 2, 128, 5, 64, 40},
                                       {160, 2, 96, 4, 64, 40},
                                       {192, 2, 112, 4, 64, 40},
                                       {256, 2, 80, 4, 64, 40}}};
  /// Of "wgmma", for small heads of many queries without masks, whose softmaxes take as long as products:
  /// instead of the first one where waves of its groups take less time. `wgmma_three`: time of its rows, of
  /// the first one's.
  AttentionWgmma wgmma_of_three{64, 3, 96, 4, 64, 32};
  double wgmma_three = 0.9;
  /// Groups of "wgmma" take turns at tiles where sequences have at most so many keys; 0: nowhere.
  std::size_t turns_keys = 0;
  std::size_t causal_turns_keys = 0;
  std::size_t causal_turns_keys_of_large = 0;  ///< the same of heads of more than 64
  // Of "wgmma", in times of a tile of keys: what a group takes that shares the keys of a tile of rows, and
  // with each other group; and a tile of keys, with one warpgroup that multiplies instead of two.
  double wgmma_shared = 2;
  double wgmma_part = 0.2;
  double wgmma_one_consumer = 0.65;
  // Of sequences of at most so many keys, tiles have 80, 96, 112 or 128; each takes the time of so many more.
  std::size_t wgmma_short_keys = 512;
  std::size_t wgmma_keys_a_tile = 16;
  /// Tiles of keys of a group of "wgmma" that are worth the maps by which a work-item copies them as boxes.
  std::size_t wgmma_boxes = 16;
  AttentionSplit split = {};  ///< of "split_keys" and "split_mma"
  // Of "cpu", whose thread has a tile in its own cache:
  std::size_t cache_bytes = 768 * 1024;
  std::size_t cpu_rows = 192;     ///< of a thread, at most
  std::size_t cpu_keys = 128;     ///< of a tile, at most
  std::size_t groups_a_unit = 4;  ///< that are wanted
};

inline constexpr Evidence kByReads{.what =
                                       "no measurement: tiles by operations for each read of local memory"};
inline constexpr std::array<AttentionTile, 4> kNvidiaTiles{
    {{128, 64, 64, 8}, {256, 64, 64, 4}, {256, 32, 32, 4}, {256, 16, 16, 4}}};

// wgmma: an H200 made the same in TFLOP/s, sizes 64, 128 and 256: 385 (6 tiles 365; tiles of 64 keys 301),
// 577 (4 tiles 563, of 64 keys 493) and 625; since scale and subtraction are one instruction 412, 609 and
// 645. Consumers that take turns (ping-pong): 400, 603 and 629. The other numbers: what ptxas needs not to
// spill.
//
// turns_keys: an H200 made halves of 128 in TFLOP/s with turns and without: 32 x 16 heads of 512 x 512 430
// and 400, causal 250 and 248; 4 x 16 of 1024 453 and 456, of 64 300 and 289, causal 308 and 263; of 2048
// causal 421 and 377; of 4095 500 and 536, causal 475 and 460, in longer runs 470 and 475. cuDNN in the same
// run: 512 510, causal 321; 1024 523, causal 320; 4095 603, causal 567.
//
// Where tiles are fewer than units, an H200 took in us, by 128 rows a group, by 64, and by 128 with shared
// keys: 8 heads of 1024 x 1024 of 128 19.1, 14.0 and 16.0 (2 groups), causal 20.0, 14.0 and 15.7; of 32
// heads, 8 of keys, 128 queries and 8192 keys 107.7, 46.8 (64 rows, 2 groups) and 38.3 (4 groups). 128 tiles
// of 2048 x 2048 causal ones 31.4, with 2 groups 37.3.
//
// Keys of a tile, us: 20 heads of 4096 x 77 of 64 by 80 14.5, by 128 17.1; 768 of 197 x 197 by 112 51.5, by
// 128 54.8. 64 heads of 2048 x 2048: of 160 by 96 311, 64 334; of 192 by 112 329, 96 334, 64 360; of 256, 32
// heads, causal, by 80 153, 64 164. Windows of 1024 keys of 8192, of 128, by 128 291, 64 315; of 128 keys, of
// 64, by 128 206, 64 167. With turns, causal 1000 of 80 40.4, without 47.4; all keys 63.2 and 60.7.
//
// Three warpgroups and 96 keys instead of two and 128, us: 160 heads of 1500 x 1500 of 64 233 and 268, 64 of
// 4096 x 4096 628 and 665, causal 375 and 381; 16 of 4096 x 4096 of 40, 3 waves instead of 4, 170 and 167.
//
// Tiles of more than plain logits, 64 heads of 2048 x 2048 halves of 128, in us; plain ones 241, causal 151
// in turns. ALiBi by 128 keys 272, causal 158 in turns and 178 without. Soft caps by 128 keys 415, by 112
// 453; causal, where 128 spill, by 112 272. Since keys are compared only where some are hidden, and sums
// scaled only where logits rise by 2^8: plain 238, causal 142, ALiBi 267, biases 319; soft caps by the unit
// for exponentials 377, by polynomials 408, causal 249 and 296. Consumers that start products by turns:
// plain 246, causal 141; tiles of 160 keys 237; 6 tiles on their way 238. Biases by 128 keys 351, by 96 412,
// by 64 478, and 412 where they are on their way a tile ahead; heads of 64: 286, 326, 403 and 342. Pages of
// 16 keys 285, and 283 where they are found a tile ahead; causal 186.
//
// Keys and values as boxes of tensor maps and by copies of 16 bytes, us, one run, cuDNN in others 838 to 850,
// 129, 476 to 487, 6494, 1544: 4 x 16 heads of 4096 x 4096 of 128 828 and 885, causal 477 and 501; 32 x 16 of
// 512 x 512 135 and 142; 32 of 16384 x 16384 6758 and 7467; 4 x 16 of 4096 of 256 1456 and 1574, causal 905
// and 886, of 64 607 and 608, causal 364 and 369. Power limits the clock: few samples gave 742 and 795
// watts, of 700, at 1830 and 1695 MHz. With boxes and turns: causal 4096 of 128 457, 4095 460 and 493;
// all keys of 4096 848, 16384 7516. Fewer tiles of keys than 16 were not measured.
//
// Results by 16 bytes at once and not by 4: the same of 512 400 instead of 374, causal 248 instead of 231.
//
// split_mma: stages and groups of a unit, of the H100's three cases: 2 and 3: 0.88 of Zipf's lengths; 3 and
// 2: 0.98, 0.93 and 0.85; 4 and 1: 0.98, 0.94 and 0.83; 2 and 2: 0.98 and 0.86.
//
// split_mma and Zipf's lengths (64 of up to 8192, 159 MB), us by calls in a queue on an H200: 50.2; a sum of
// as many bytes 44.4, a copy 45.4. Without combinations of tiles 47.8, nor partial sums 47.0; without
// products 49.4; without these and the list of tiles 45.1, which is the bound. Of 46 us from the first start
// to the last end, groups have their lengths at 0.9, ranges at 1.9 and copies on their way at 2.8; their
// loops end at 25 to 44, at 17.4 us and 22 ns a key and 1.4 us a piece, with a standard deviation of 1.9 that
// shares cannot foresee; the last tile is combined in 3. Not better: chunks of 64, 32 and 16 keys 50.3, 52.3
// and 54.7; a chunk more a tile for its end 49.8; short tiles whole, behind equal shares of others 51.5; the
// last quarter in ranges from a counter 57 to 62, as a group waits 4 us at each; two turns on their way
// behind the products 50.8; fence.acq_rel for membar 50.6; tiles found by fewer divisions 50.2.
//
// mma: an H200 made 4 x 16 heads of 4096 x 4096 in TFLOP/s, sizes 64 and 128: 4 warps of 16 rows, 64 keys,
// queries in registers 290 and 329, else 272 and 316; 8 warps 281 and 285; 128 keys 303 and 337, 32 rows a
// warp 283 and 350, but registers spill.
//
// nvidia: 8 x 4 logits a work-item, 4096 multiplications for 640 reads of local memory.
//
// intel: what its compiler keeps in registers, for dg2 and pvc: 4 x 4 logits and 4 x 4 sums, loops written
// out. With values of more than 128 elements, and with all options at once, it keeps some in memory.
//
// cpu: PoCL compiles 8 x 4 logits for seconds.
inline constexpr AttentionPolicy kAttentionPolicies[] = {
    {.when = {.family = "nvidia-hopper"},
     .evidence = kByReads,
     .units = kUnitsMeasured,
     .tiles = kNvidiaTiles,
     .turns_keys = 1024,
     .causal_turns_keys = 2048,
     .causal_turns_keys_of_large = 4096,
     .split = {.evidence = kSplitMeasured, .mma_evidence = kSplitMmaMeasured}},
    {.when = {.family = "nvidia", .compute_capability = 80}, .evidence = kByReads, .tiles = kNvidiaTiles},
    {.when = {.family = "nvidia"},
     .evidence = kByReads,
     .tiles = kNvidiaTiles,
     .split = {.evidence = kWithoutSpills, .keys_each = 2}},
    {.when = {.family = "intel"},
     .evidence = kFromRegisters,
     .tiles = {{{64, 64, 64, 4}, {128, 32, 128, 4}, {256, 16, 256, 4}, {256, 32, 32, 4}}},
     .depth = 8,
     .unroll = 8,
     .split = {.evidence = kFromRegisters, .most_rows = 4, .most_pack = 4, .most_sums = 16, .keys_each = 2}},
    {.when = {.family = "cpu"},
     .evidence = {.device = "EPYC",
                  .driver = "PoCL 3.1",
                  .what = "8 heads of 1024 x 1024 on two Zen 5 cores, GFLOP/s; gemm has 425",
                  .share = "size 64 362, 128 394, half 409; by vectors of 32 bytes 196, 213, 221"},
     .tiles = {{{256, 32, 32, 4}, {256, 16, 16, 4}, {256, 16, 16, 4}, {256, 16, 16, 4}}},
     .unroll = 1,
     .logits_bytes = std::size_t{16} << 20,
     .split = {.group = 64, .most_rows = 4, .keys_each = 2, .groups_a_unit = {16, 16}}},
    {},
};

inline const AttentionPolicy& attention_policy(const Device& device) {
  return row_for(kAttentionPolicies, device);
}

}  // namespace smem::plan
