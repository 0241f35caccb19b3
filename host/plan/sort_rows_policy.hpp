/// The numbers of plans for sorts of rows, with their evidence.
#pragma once

#include "plan/policy.hpp"

#include <smem/device.hpp>

#include <cstddef>

namespace smem::plan {

struct SortRowsPolicy {
  When when;
  Evidence evidence;
  Evidence of_passes = kFromFacts;  ///< of "tile" where "keys_only" could be
  bool by_keys_only = false;        ///< measured: keys alone by a network of their images
  std::size_t least_keys_only = 0;  ///< ... of rows of more keys than this
  std::size_t network_keys = 512;   ///< of a row that a network sorts, at most; of 8 bytes half as many
  std::size_t network_items = 8;    ///< entries of a work-item, at most; of 16 bytes half as many
  std::size_t network_group = 128;  ///< work-items
  std::size_t keys_of_row = 8192;   ///< of 4 bytes, of a row that a network of images alone can sort, at most
  std::size_t key_items = 16;       ///< of each work-item, at most
  std::size_t long_key_items = 16;  ///< the same of rows of more than half of keys_of_row
  /// A pass of a sort in local memory takes a key as long as so many steps of the network take an entry, of
  /// rows of more keys than this. 0: not measured.
  std::size_t tile_steps = 0, least_tile_keys = 1024;
  std::size_t tile_group = 512;        ///< work-items that sort a row in local memory, at most
  std::size_t usual_items = 8;         ///< keys of each, where there are fewer work-items
  std::size_t tile_items = 16;         ///< keys of each, at most; of 8 bytes half as many
  std::size_t pair_items = 16;         ///< the same of keys with values or places
  std::size_t cpu_groups_a_unit = 8;   ///< so that a late thread leaves little
  std::size_t cpu_lane_keys = 131072;  ///< of a row that a thread sorts in a lane of vectors, at most
};

// nvidia-hopper: keys_only, in Gkeys/s, 65536 x 512 by 32 work-items of 16 entries 176, by 16 of 32 151 to
// 154, by 64 of 8 161; 32768 x 1024 by 32 of 32 142, by 64 of 16 139; 16384 x 2048 by 128 of 16 130, by 64 of
// 32 100; 4096 x 8192 by 256 of 32 91, by 512 of 16 81; 1000000 x 32 by 8 of 4 278, by 4 of 8 211, by 16 of 2
// 144.
//
// least_keys_only: H200, us by network and by keys_only: 2000000 x 4 doubles 51 and 81, 1000000 x 8 floats 34
// and 44, 1000000 x 7 doubles 47 and 56, int64 43 and 43, 500000 x 15 doubles 74 and 52.
//
// tile_steps: H200, us by tile and by keys_only: uint8 2000 x 3000 38.2 and 76.5, half 3000 x 5000 220 and
// 245, float 10000 x 1000 198 and 81, 2000 x 6000 290 and 181. A pass takes 4.9 to 7.3 ps a key, a step 0.11
// to 0.14 ps an entry of rows that are filled up to a power of two: ratios of 34 to 67.
//
// nvidia: a warp's registers hold 512 keys and their places, and shuffles need no barriers. Of tiles, what
// ptxas keeps in registers.
inline constexpr SortRowsPolicy kSortRowsPolicies[] = {
    {.when = {.family = "nvidia-hopper"},
     .evidence =
         {.device = "H100",
          .driver = "580.159",
          .what = "float keys, 1000000 x 32, 65536 x 512 and 4096 x 8192, in Gkeys/s; CUB's segmented sort",
          .share = "278, 176 and 91; 60, 6.5 and 21"},
     .of_passes = {.device = "H200",
                   .driver = "580.159",
                   .what = "uint8 2000 x 3000 and half 3000 x 5000, us; by keys_only",
                   .share = "38 and 220; 77 and 245"},
     .by_keys_only = true,
     .least_keys_only = 8,
     .network_keys = 1024,
     .network_items = 32,
     .long_key_items = 32,
     .tile_steps = 67,
     .tile_group = 1024,
     .tile_items = 12,
     .pair_items = 8},
    {.when = {.family = "nvidia"},
     .evidence = {.what = "no measurement: what ptxas keeps in registers"},
     .network_items = 16,
     .tile_items = 14,
     .pair_items = 12},
    {.when = {.family = "intel"},
     .evidence = kFromRegisters,
     .network_items = 4,
     .key_items = 8,
     .long_key_items = 8,
     .usual_items = 4,
     .tile_items = 8,
     .pair_items = 8},
    {.when = {.family = "cpu"},
     .evidence = {.device = "EPYC",
                  .driver = "PoCL 3.1",
                  .what = "floats on two Zen 5 cores in lanes of vectors, ms, and each row for itself",
                  .share = "100000 x 100 5.4 and 230, 1000 x 10000 7 and 66; with places 8.4 and 272"}},
    {.evidence = kFromFacts},
};

inline const SortRowsPolicy& sort_rows_policy(const Device& device) {
  return row_for(kSortRowsPolicies, device);
}

}  // namespace smem::plan
