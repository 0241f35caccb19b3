/// The numbers of moving means' plans, with their evidence.
#pragma once

#include "plan/policy.hpp"

#include <smem/device.hpp>

#include <cstddef>

namespace smem::plan {

struct MovingMeanPolicy {
  When when;
  Evidence evidence = kFromFacts;
  Evidence of_one_pass = {.what = "no measurement for this family: a Hopper's sizes"};  ///< of "one_pass"
  Evidence of_ring = {.what = "no measurement for this family: a Hopper's sizes"};
  Evidence of_short_rows = {.what = "no measurement for this family: a Hopper's sizes"};
  std::size_t group = 256;  ///< work-items
  /// Of "tiled": elements of a work-item, which registers hold; half as many where a window is no longer.
  std::size_t items = 16;
  std::size_t item_bytes = 16 * 8;  ///< and bytes of their sums
  std::size_t short_window = 8;     ///< the longest that is added up element by element
  std::size_t most_group = 512;     ///< of long windows
  std::size_t least_group = 64;     ///< of short rows
  std::size_t least_items = 4;      ///< of a work-item of such a group
  /// Rows and windows up to which "short_rows" comes before "tiled"; 0: never.
  std::size_t short_rows_width = 0, short_rows_window = 0;
  std::size_t windows_a_tile = 4;  ///< that a tile is as long as: one is read beside it
  std::size_t groups_a_unit = 32;  ///< each of which loops over tiles
  bool chunks = false;             ///< whether "chunks" comes before "blocks"
  bool has_ring = true;            ///< whether "ring" is possible
  std::size_t chunks_group = 128;  ///< work-items of "chunks"
  /// Of a window of floats, up to which "one_pass" comes before "chunks"; 0: never.
  std::size_t one_pass_window = 0;
  std::size_t one_pass_group = 256;  ///< work-items of "one_pass"
  std::size_t one_pass_items = 16;   ///< its elements of each
  /// Its registers of each where elements are copied to local memory without them; 0: the compiler's choice.
  std::size_t one_pass_registers = 0;
  /// Windows of floats for which "ring" comes before all others, where there are so many elements.
  std::size_t ring_window = 0, ring_most_window = 0;
  std::size_t ring_elements = std::size_t{1} << 24;
  std::size_t ring_group = 256;  ///< work-items of "ring"
  std::size_t ring_ahead = 1;    ///< steps whose elements it reads ahead of time
  std::size_t ring_registers =
      0;                         ///< of each where elements are copied without them; 0: the compiler's choice
  std::size_t ring_items = 768;  ///< resident work-items of a unit that strips are made for
  std::size_t most_chunks = 1024;  ///< whose sums each of its groups reads
  /// Of "blocks": work-items that sum a block, and bytes of sums that a round has where rows are shorter.
  std::size_t sums_group = 256;
  std::size_t slice_bytes = std::size_t{128} << 20;
  // Of "cpu", whose thread has elements in its own cache, two sums each:
  std::size_t least_strip = 8192;        ///< elements
  std::size_t strip_bytes = 256 * 1024;  ///< of one of the two sums, at most
  std::size_t windows_a_strip = 8;       ///< that a strip is as long as
  // Of "cpu" of windows that are longer than its strips:
  std::size_t long_strip_bytes = 64 * 1024;  ///< of each of its two sums
  std::size_t strips_a_window = 64;          ///< whose elements each strip reads again, at most
  // Of "cpu" of integers:
  std::size_t strips_a_thread = 4;   ///< because the threads of a busy machine do not end together
  std::size_t least_slide = 16384;   ///< elements of a strip
  std::size_t windows_a_slide = 16;  ///< that a strip is as long as, where each thread has some
};

// chunks_group: H100, 2^28 float, windows of 100001, ms: groups of 64 1.56, 128 1.53, 256 1.76; "blocks"
// 4.73.
//
// short_window: as many reads of local memory as the other way takes.
//
// least_items, short_rows: H200, ms: 365788 rows of 122 uint16, windows of 40, by tiles of 16 elements a
// work-item 0.506, of 4 0.278 (with divisions by the inverse of a count), by "short_rows" 0.203, element by
// element 0.526; 500000 of 60 floats, windows of 20, 0.163 ("tiled" 0.300), 400000 of 50 doubles, windows of
// 12, 0.178 (0.317). Longer rows are slower: 100000 of 200 halves, windows of 31, 0.113 (0.086), of 300
// floats, windows of 40, 0.144 (0.106), 20000 of 1900 bytes, windows of 25, 0.151 (0.101). Limits of 64 and
// 48 registers change the first two to 0.202 and 0.209, 0.183 and 0.175.
//
// Odd numbers of elements of a work-item: there, 30000 of 1000 halves, windows of 101, by tiles of 128 x 16
// 0.150, of 256 x 5 0.125, of 128 x 9 0.116; 100000 of 300 floats, windows of 40, 64 x 8 0.105, 64 x 7 0.102.
//
// most_group: with 1024 there are 64 registers for each on NVIDIA's units, which are not enough.
//
// windows_a_tile: on the H200 eight, with groups of 512 that are alone on their unit when a work-item has
// more than 64 registers, made windows of 1001 0.50 of copy, four 0.73.
//
// groups_a_unit: what a group computes before its first tile is a third of a tile's instructions.
//
// item_bytes: Intel's compiler keeps arrays in memory that take more than 32.
//
// sums_group: a CPU's thread goes through a block by itself: team scans are loops there. PoCL, two busy Zen 4
// cores, 2^24 float, windows of 100001: with groups of 256 830 ms.
//
// strips_a_window: two Zen 5 cores, PoCL 3.1, 2^24 floats, ms by "cpu" and by "blocks": windows of 100001 9.1
// and 48, 500001 18 and 48, 1000001 31 and 48. Of 20001 the usual strips took 12.9.
//
// one_pass: H100, 2^28 floats, windows of 100001, ms, elements x work-items: 16 x 256 1.196, 16 x 128 1.289,
// 8 x 256 1.398, 8 x 128 1.453, 8 x 512 1.675; chunks 1.438. Of 5001 8 x 256 1.153, chunks 1.496; of 1000001
// as chunks, so that one_pass_window lies between; bytes 1.307, chunks 1.033.
// These were measured before elements were copied to local memory. With that an H200 takes, in groups of 64
// registers, 16 x 256 0.897, 16 x 128 0.919, 16 x 512 0.941.
//
// Groups that stay, and copy their next chunk's elements to a third tile while they wait: windows of 100001
// and 5001 0.923 and 0.891, with 16 x 128 0.914, 16 x 512 0.952; groups of one chunk 0.811 and 0.744.
//
// one_pass_registers: H200, windows of 100001 and 5001, ms: 48 0.834 and 0.763, 40 0.808 and 0.769, for which
// ptxas spills, the compiler's choice 0.823 and 0.779.
//
// ring: H200, ms by calls in a queue. 2^27 floats, windows of 5001: groups of 128 0.331, of 256 0.334, of at
// most 64 registers 0.409, "one_pass" 0.362; of 1001 0.348, "tiled" 0.347; of 20001 0.493, "one_pass" 0.399.
// 2^26 floats: 2001 0.173 (groups of 128 0.171), "tiled" 0.311; 4001 0.170 and 0.408; 8001 0.165, "one_pass"
// 0.188; 12001 0.179 (0.183) and 0.196. 2^24, groups of 128: 5001 0.055 and 0.057, 2001 0.050, "tiled" 0.090.
// Groups that copy strips, or parts in turns: 0.87 and 0.88 of copy, so that strips are not what is left.
//
// has_ring: for pvc, Intel's compiler keeps 4 and 8 elements of a work-item in memory (2 and 4 KiB a thread).
//
// one_pass: results that begin at cache lines, 2^27 floats, windows of 100001 and 5001: 0.412 -> 0.394, 0.377
// -> 0.362. Words of 16 bytes that are copied instead of 4 need more registers: 0.433 and 0.371. Warps that
// copy whole cache lines, wherever a chunk begins: 0.400 -> 0.390 and 0.370 -> 0.366, of 20001 0.388 ->
// 0.375, 2^28 and 100001 0.781 -> 0.760 (0.67 of copy). Of 2^25 and 100001 0.112; without waiting for other
// groups' sums 0.102 (0.69), without the second read of elements 0.115: neither bounds it. No faster, 2^27
// and 100001: sums asked for early 0.433, copied to local memory meanwhile 0.437, both scans at once 0.442;
// at most 56, 64 and 80 registers 0.423, 0.433 and 0.478. Nor do fewer instructions help, 2^28 and 100001:
// tiles without gaps, of 15 elements a work-item, by copies and stores of 16 bytes, 715 instead of 880
// instructions a warp 0.854 (40 registers, six groups a unit 0.774, 0.758 as it is); without the divisions of
// rows, one warp alone waiting, 0.770, in 40 registers 0.841. Its loads and stores alone, without scans and
// without waiting, 0.636 (0.79 of copy; the whole kernel 0.751 in that run): what lies between is latency.
inline constexpr MovingMeanPolicy kMovingMeanPolicies[] = {
    {.when = {.family = "nvidia-hopper"},
     .evidence = {.device = "H200",
                  .driver = "580.159",
                  .what = "2^28 floats",
                  .share = "windows of 5 and 101 0.89 of copy, 1001 0.73; 100001 of blocks 0.11"},
     .of_one_pass = {.device = "H200",
                     .driver = "580",
                     .what = "2^28 floats, windows of 100001 and 5001",
                     .share = "0.66 and 0.70 of copy, through registers 0.48 and 0.59"},
     .of_ring = {.device = "H200",
                 .driver = "580",
                 .what = "2^27 and 2^26 floats, windows of 5001 and 2001",
                 .share = "0.75 and 0.73 of copy"},
     .of_short_rows = {.device = "H200",
                       .driver = "580",
                       .what = "500000 rows of 60 floats, windows of 20; 365788 of 122 uint16, windows of 40",
                       .share = "0.39 and 0.23 of copy"},
     .short_rows_width = 128,
     .short_rows_window = 48,
     .chunks = true,
     .one_pass_window = 262144,
     .one_pass_registers = 48,
     .ring_window = 1025,
     .ring_most_window = 12288,
     .ring_registers = 80},
    {.when = {.family = "intel"}, .evidence = kFromRegisters, .item_bytes = 32, .has_ring = false},
    {.when = {.family = "cpu"},
     .evidence = {.device = "EPYC",
                  .driver = "PoCL 3.1",
                  .what = "2^24 elements on two Zen 5 cores, ms",
                  .share =
                      "float windows of 5 5.7, 101 7.3, 1001 7.6, 100001 9.1, 1000001 31; uint8 101 2.5"},
     .sums_group = 1},
    {},
};

inline const MovingMeanPolicy& moving_mean_policy(const Device& device) {
  return row_for(kMovingMeanPolicies, device);
}

}  // namespace smem::plan
