/// The numbers of plans for operations along columns.
#pragma once

#include "plan/policy.hpp"

#include <cstddef>

namespace smem::plan {

struct ColumnPolicy {
  When when;
  Evidence evidence = kFromFacts;
  std::size_t most_group = 1024;  ///< work-items of a block of columns
  std::size_t width = 32;         ///< columns of a block
  std::size_t tile_width = 32;    ///< the same of "tiled"
  std::size_t least_width = 8;    ///< the same of "tiled" where columns are long
  std::size_t least_bytes = 32;   ///< of a row of such a block, too
  std::size_t rows_each = 16;     ///< of a work-item, before a group grows
  std::size_t unroll = 4;         ///< loads of a work-item that are under way at once; of doubles at most 4
  /// Work-items of "online", at most: with 16 loads ptxas spills registers in groups of 1024.
  std::size_t online_group = 1024;
  /// Elements of 2 bytes of at most so many bytes in all, in columns of at least so many rows, are read again
  /// from the cache by "online". 0: not measured.
  double cached_bytes = 0;
  std::size_t cached_rows = 512;
  std::size_t naive_group = 64;  ///< work-items of "naive"
  // Of "split": blocks for each unit below which groups share them, and rows of a work-item, at least.
  double blocks_a_unit = 0.5;
  std::size_t rows_of_parts = 16;
  std::size_t most_parts = 1024;  ///< of a block
  // Of "cpu", whose thread has a tile in its own cache:
  std::size_t tile_bytes = 576 * 1024;
  std::size_t block_rows = 32;     ///< of a tile, which are in its first cache
  std::size_t lanes_bytes = 64;    ///< of a vector
  std::size_t most_lanes = 16;     ///< vectors of a row of a tile
  std::size_t least_lanes = 2;     ///< the same of long columns
  std::size_t groups_a_unit = 32;  ///< that a launch has at most
  // The same of columns that it does not hold, whose rows are in parts:
  std::size_t least_run_bytes = 256;    ///< of a row of a tile, in memory; else columns are in parts, too
  std::size_t part_lanes = 64;          ///< vectors of a row of a tile, at most
  std::size_t block_bytes = 32 * 1024;  ///< of the rows of a tile, which are in its first cache
  std::size_t part_rows = 256;          ///< of a part, at least
  // The same of narrow matrices, whose rows share vectors and which threads share:
  std::size_t narrow_cols = 256;        ///< at most
  std::size_t narrow_tile = 8192;       ///< elements of a tile
  std::size_t narrow_elements = 16384;  ///< of a part, at least
  std::size_t narrow_parts_a_unit = 4;
};

// unroll: an H100 made these at these shares of copy with 4, 8 and 16 loads: "online" layer_norm_columns of
// 16384 x 16384 with weight and bias, float 0.573, 0.597, 0.600, half 0.421, 0.471, 0.519, of 8192 x 8192
// doubles 0.64 with all; "split" of 1048576 x 16 floats 0.296, 0.397, 0.479. Two readings and a writing of
// floats allow 0.67.
//
// tile_width, rows_each: "tiled" layer_norm_columns there, with 32 columns and 16 rows, 64 and 16, 64 and 32:
// 128 x 1000000 float 0.900, 0.933, 0.909, half 0.666, 0.640, 0.684; 1000 x 8192 0.572, 0.572, 0.628; 500 x
// 16384 half 0.403, 0.404, 0.531. "online" with 64 columns: float 0.613, half 0.482.
//
// least_bytes: 4096 x 16384 half with 8 columns 0.30, "online" 0.55; float 0.67 and 0.61.
//
// Groups that keep parts of a column in their local memories and wait for each other's statistics: 0.59
// (softmax of 16384 x 16384); that write a block while the next one's statistics are exchanged, on an H200:
// 0.47 with 32 columns in 32 parts, 0.51 with 16 in 16, 0.29 with 64 in 64, and 0.44 without any wait: a turn
// moves 128 KB in 8.5 us, of which reductions and the merge of all parts take half. Groups that read tiles
// twice, the second time from the cache: 0.66 and 0.57
// (softmax and layer_norm); without the waits for statistics it would be 0.85, where tiles of at most 8 MiB
// wait.
//
// blocks_a_unit: "split" takes two or three launches: an H200 made norm_columns of 512 x 2000 floats in 8.8
// us by "tiled", 12.5 by "split", of 3000 x 100 11.9 and 12.8, softmax_columns of 1500 x 50 halves 9.4 and
// 16.3, so that it comes where local memory does not hold columns. cached_bytes: there, us by "online" and
// "tiled", norm_columns of 768 x 5000 halves 14.4 and 20.3, 2048 x 4096 24.1 and 29.1, 300 x 20000 28.9 and
// 29.1, softmax of 768 x 5000 14.2 and 19.4; of 1000 x 8192 floats 36.7 and 34.8. No share of
// Device::cache_bytes: for an H200 with 50 MB of second-level cache the driver reports 4.1 MiB, 32 KiB a
// unit.
//
// narrow_cols: two Zen 5 cores, PoCL 3.1, softmax_columns, ms with rows that share vectors and with vectors
// of columns: 2000000 x 2 halves 1.8 and 69, floats 2.0 and 29; 200000 x 20 1.7 and 5.9, floats 2.1 and 6.9;
// 30000 x 133 1.8 and 3.5, floats 2.1 and 4.2; 15000 x 250 1.8 and 2.2, 16000 x 256 floats 2.2 and 3.1.
// norm_columns: 2000000 x 2 halves 0.97 and 23, floats 1.4 and 12.9, 200000 x 20 0.97 and 3.9, floats 1.4 and
// 4.8, 30000 x 133 1.3 and 2.5.
// block_rows: there too, ms with blocks of rows, which are counted in the first cache while the next one is
// fetched, and with whole tiles: softmax_columns of 1000 x 4000 floats 1.0 and 2.1, halves 0.79 and 1.6, 5000
// x 800 floats 2.0 and 3.4; norm_columns of 1000 x 4000 floats 0.86 and 2.0, halves 0.54 and 1.07, 5000 x 800
// floats 1.4 and 2.8, halves 0.88 and 2.0.
// Columns that no cache holds, in parts of the rows, rows of up to 512 columns, and before in blocks of 64 to
// 256 columns, on two cores of an Emerald Rapids Xeon, PoCL 3.1, ms: softmax_columns of 200000 x 300 59 and
// 91 to 122, halves 54 and 94, its logsumexp 23 and 31, norm_columns 39 and 65, 30000 x 2133 48 and 60,
// softmax 80 and 86. block_bytes, part_rows: no other ones were measured; block_bytes: two thirds of a first
// cache of 48 KiB.
// least_run_bytes: there too, shares of memcpy's rate with 64 bytes of a row in a tile that has whole columns
// and with parts of the rows: softmax_columns of 3758 x 2227 bfloat16 0.18 and 0.33, norm_columns 0.17 and
// 0.40; of 757 x 25506, with 256 bytes, 0.30 and 0.33. part_lanes: 3758 x 2227 in rows of 47 and 140 vectors
// 5.2 and 5.3 ms.
inline constexpr ColumnPolicy kColumnPolicies[] = {
    {.when = {.family = "cpu"},
     .evidence = {.what = "no measurement: columns in the second cache of a thread, rows of up to 1 KiB"}},
    {.when = {.family = "nvidia-hopper"},
     .evidence = {.device = "H100",
                  .driver = "580.159",
                  .what =
                      "layer_norm_columns of 128 x 1000000 (tiled) and 16384 x 16384 (online), against copy",
                  .share = "0.91 and 0.60"},
     .tile_width = 64,
     .rows_each = 32,
     .unroll = 16,
     .online_group = 512,
     .cached_bytes = 40e6},
    {.when = {.family = "nvidia"},
     .evidence =
         {.what =
              "no measurement: a Hopper's choice, of half as many loads, which stay in sm_75's registers"},
     .tile_width = 64,
     .rows_each = 32,
     .unroll = 8,
     .online_group = 512},
    {.evidence = {.what = "no measurement: rows of 32 columns, columns in local memory"}},
};

inline const ColumnPolicy& column_policy(const Device& device) { return row_for(kColumnPolicies, device); }

}  // namespace smem::plan
