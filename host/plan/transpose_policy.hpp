/// The numbers of transpose plans, with their evidence.
#pragma once

#include "plan/policy.hpp"

#include <smem/device.hpp>

#include <array>
#include <bit>
#include <cstddef>

namespace smem::plan {

/// Of the variant "skewed", for one element size.
struct SkewedPolicy {
  std::size_t lanes;   ///< work-items that store side by side
  std::size_t rows;    ///< of the tile, elements
  std::size_t cols;    ///< of the tile, elements
  std::size_t group;   ///< work-items
  std::size_t ahead;   ///< reads that are under way before they are stored
  std::size_t unroll;  ///< of the loop of reads
};

/// Of the variant "skewed" for rows of elements of one or two bytes that begin anywhere: see
/// transpose/windows.cl.
struct WindowsPolicy {
  std::size_t lanes;  ///< work-items that store side by side
  std::size_t rows;   ///< of the tile, elements
  std::size_t cols;   ///< of the tile, elements
  std::size_t group;  ///< work-items
  std::size_t ahead;  ///< packs that a work-item has under way
  std::size_t align;  ///< bytes that memory writes together
};

/// Of the variant "cpu": bytes of each output row and elements of each input row that a thread's tile has.
struct TransposeThreads {
  std::size_t row_bytes = 256, cols = 1024;
  std::size_t line_bytes = 64;   ///< of a cache line, by which a tile's rows are padded
  std::size_t side_bytes = 512;  ///< of a tile in place, which is square: both of a pair stay in the L2 cache
  std::size_t least_cols = 64;   ///< to which tiles are cut for all cores to have work
  std::size_t tiles_a_unit = 4;  ///< as the threads of a busy machine do not end together
  /// A side of at most so many rows, or columns (of elements of 8 bytes and more: wide), is short if the
  /// other has at least so many: a thread's chunk has so many bytes, which the first cache holds.
  std::size_t most_interleaved = 15, most_separated = 8, most_wide_separated = 4, least_long = 256;
  std::size_t chunk_bytes = 16384;
  /// Of at least so many matrices without gaps, each of at most so many elements, each goes through
  /// registers.
  std::size_t least_small = 64, most_small = 64;
  std::size_t most_groups = 4096;  ///< PoCL compiles a kernel once more for launches of 65536 groups or more
};

/// Of the variant "strips".
struct StripPolicy {
  Evidence evidence = {.what = "no measurement: runs of the length that a work-group reads in a few turns"};
  bool chosen = false;  ///< whether plans take it where it runs
  /// Of a matrix, up to which it is better than tiles that are full; the same in place.
  std::size_t small_bytes = 4096, small_in_place_bytes = 36864;
  std::size_t aligned_thin = 16;  ///< up to which it is better than vectors of aligned rows
  /// Rows or columns of a side that is short, for elements of 1, 2, 4, 8 and 16 bytes: that the kernels
  /// take, and up to which they are better than tiles that are full, of words and of elements.
  std::array<std::size_t, 5> most_thin = {512, 512, 256, 64, 64};
  std::array<std::size_t, 5> most_columns_of_words = {512, 128, 136, 64, 64};
  std::array<std::size_t, 5> most_rows_of_words = {512, 128, 64, 64, 64};
  std::array<std::size_t, 5> most_columns = {64, 64, 64, 64, 64};
  std::array<std::size_t, 5> most_rows = {224, 128, 64, 64, 64};
  /// Columns of bytes and halves that are whole words, of which the output's rows are not, have few tiles.
  std::size_t most_mixed_columns = 128;
  /// Of matrices of elements of so many bytes, both of whose sides are at most so long, a batch goes by
  /// strips where skewed tiles cover this many times its elements, or where its runs are words. 0: not
  /// measured.
  std::size_t batch_bytes = 0, batch_side = 512;
  double batch_cover = 2.5;
  std::size_t run_bytes = 49152;    ///< of a work-group's runs, of elements of at most four bytes
  std::size_t run_group = 512;      ///< work-items that have them
  std::size_t lanes = 32;           ///< of them side by side along a run
  std::size_t least_lanes = 8;      ///< on devices of little local memory
  std::size_t most_steps = 4;       ///< words of a run that a work-item has, where they are made of elements
  std::size_t block = 4;            ///< elements of the short side that it turns in registers
  std::size_t ahead_bytes = 64;     ///< that it has under way
  std::size_t chunk_bytes = 16384;  ///< of a work-group that has whole matrices, or words of few rows
  std::size_t group = 256;          ///< work-items
  std::size_t unroll = 8;           ///< words in flight of a work-item
  /// Up to so many rows or columns of elements of so many bytes are turned in registers, where a work-item
  /// has about so many words of all of them; and from so many columns of bytes on.
  std::size_t most_planes = 16, most_plane_bytes = 4, plane_words = 12, least_byte_columns = 3;
  std::size_t most_table = 256;  ///< bytes of a small matrix of bytes, whose places are in a table
  std::size_t most_turns = 8;    ///< of the banks, up to which small matrices are not padded in local memory
};

// NVIDIA H200, driver 580.159, shares of the device's own copy bandwidth at 1 GiB.
//
// vector_bytes: of 4, 8 and 16 bytes, elements of 4 bytes reach 0.963, 0.968 and 0.966; elements of 2 bytes
// want 8 or 16 (0.966), of 1 byte 16 (0.965).
//
// tile_bytes: 256 was the best for every element size (8 bytes 0.968, 16 bytes 0.920); 128 cost 2 to 6 %.
//
// fitted_bytes: 320 x 200000 bytes on an H200 0.88 of copy, 0.24 with square tiles at edges element by
// element. Not measured for elements of 4 bytes and more, whose tiles are small, so that few of them lie at
// edges.
//
// most_columns_of_words, most_rows_of_words: H200, shares of copy by "strips" and by "skewed": bytes of
// 1000000 x 100 0.79 and 0.38, 100 x 1000000 0.81 and 0.16, 200000 x 500 0.83 and 0.56, 500 x 200000 0.84 and
// 0.34; halves of 600000 x 100 0.79 and 0.39; floats of 400000 x 129 0.86 and 0.55, 2000001 x 33 0.82 and
// 0.33, 150 x 200001 0.75 and 0.81; 8 bytes of 100 x 300001 0.80 and 0.94. By "vector", where both sides are
// aligned, bytes of 1000000 x 96 0.91, by "strips" 0.81. Runs of 24 KiB, groups of 256: 0.80, 0.81; blocks of
// 8 columns 0.76.
//
// small_in_place_bytes, H200, us by "strips" and by "vector", batches in place: 64 x 64 of 4 bytes 53 and 84,
// 32 x 32 53 and 130, 96 x 96 52 and 121, 128 x 128 49 and 45; of 2 bytes 128 x 128 70 and 94, 64 x 64 60 and
// 112; of 1 byte 64 x 64 84 and 250, 160 x 160 82 and 88, 200 x 200 53 and 46; of 8 bytes 32 x 32 88 and 162,
// 64 x 64 57 and 56.
//
// most_columns, most_rows: bytes of 600001 x 101 0.70 and 0.82, 400001 x 255 0.61 and 0.80; 101 x 1000001
// 0.59 and 0.21, 151 x 400001 0.59 and 0.31, 201 x 300001 0.47 and 0.40, 256 x 400001 0.38 and 0.38; halves
// of 300001 x 101 0.72 and 0.86, 200001 x 201 0.66 and 0.74, 101 x 300001 0.67 and 0.48.
//
// batch_bytes: H200, us by "strips" and by "skewed" (by "vector"): 80 of 502 x 500 halves 33.1 and 43.4
// (75.7); 300 of 301 x 299 bytes, whose skewed tiles cover 2.9 times the elements, 44.7 and 50.9. Strips of
// such elements have 0.39 of the rate of skewed tiles that are full. 200 of 300 x 300 halves 31.2 and 51.7,
// by "vector" 28.7.
//
// least_alignment: H200, us by "vector" and by "skewed": 3000 x 4000 bytes 17.2 and 24.4, rotated 17.0
// and 24.8, 6000 x 8000 32.2 and 47.2, 200 of 300 x 300 halves 28.7 and 51.7. At words of 4 bytes 2002 x 3004
// halves 25.7 and 20.7. Of larger elements: 100 of 300 x 300 floats 28.2 and 29.0, 301 x 299 34.5 and 29.0.
// Larger arrays, by "vector": 16008 x 16008 bytes 183 (0.70 of copy), 16004 x 8004 halves 161 (0.79);
// "skewed" has 0.81 and 0.90 of copy where rows begin anywhere (32749 x 32771 bytes, 32749 x 16381 halves).
//
// tile_loop: a loop, even of one trip, lets NVIDIA's compiler arrange the reads better: 16384 x 16384 float
// 0.967 with it, 0.962 without, in one run.
//
// most_planes, plane_words: H200, 256 MiB, shares of copy in registers and by strips: bytes of 3, 4, 6 and 16
// rows 0.93, 0.92, 0.90, 0.87 and 0.47 to 0.51; of 3, 4, 12 and 16 columns 0.95, 0.84, 0.87, 0.93 and 0.92,
// 0.74, 0.72, 0.71; halves of 2, 4 and 8 rows 0.96, 0.95, 0.92 and 0.53 to 0.57, of 2, 4 and 16 columns 0.95,
// 0.96, 0.89 and 0.91, 0.80, 0.79; floats of 2, 3 and 16 rows 0.96, 0.96, 0.93 and 0.81, of 2, 3, 4 and 16
// columns 0.96, 0.95, 0.96, 0.92 and 0.90 to 0.91. Words for half as many: bytes of 4 rows 0.89, 16 columns
// 0.93, floats of 3 rows 0.97. Elements of 8 bytes: 0.95 both. least_byte_columns: of 2 0.85 and 0.92.
//
// most_table: H200, matrices of bytes with a table and without: 3 x 3 0.95 and 0.76, 7 x 7 0.81 and 0.75, 8 x
// 8 0.89 and 0.57 (padded), 16 x 16 0.74 and 0.57, 20 x 21 0.72 and 0.75.
//
// most_turns: H200, floats unpadded and padded: 3 x 3 0.95 and 0.83, 8 x 8 0.93 and 0.84, 16 x 16 (8 turns)
// 0.94 and 0.84, 30 x 30 0.95 and 0.83; bytes of 32 x 32 (32 turns) 0.43 and 0.57.
//
// One row or column: H200, us by "naive" and by "strips": 1 x 9000001 floats 42.0 and 28.5, turned 93.0 and
// 36.3, 1 x 100000007 halves 212 and 117, 3000001 x 1 doubles 31.5 and 15.5, 1 x 10000001 bytes 34.4
// and 13.6; strips that do not fill the device: 1 x 1000003 bytes 8.4 and 9.1, 1 x 60001 floats 6.7 and 7.9.
//
// small_bytes: H200, whole matrices and vectors: bytes of 32 x 32 0.57 and 0.28, 64 x 64 0.57 and 0.48,
// halves of 32 x 32 0.77 and 0.39, 64 x 64 (8192 bytes) 0.77 and 0.92, floats of 32 x 32 0.85 and 0.78.
//
// skewed: odd shapes reach 0.92, 0.91 and 0.86 for elements of 4, 8 and 16 bytes (those of smem bench
// transpose --goals). Four reads of floats under way: 0.92, six 0.91.
inline constexpr std::array<SkewedPolicy, 5> kSkewed{
    {{.lanes = 32, .rows = 256, .cols = 256, .group = 512, .ahead = 1, .unroll = 16},
     {.lanes = 32, .rows = 192, .cols = 128, .group = 416, .ahead = 2, .unroll = 16},
     {.lanes = 32, .rows = 64, .cols = 128, .group = 384, .ahead = 4, .unroll = 1},
     {.lanes = 32, .rows = 64, .cols = 64, .group = 352, .ahead = 7, .unroll = 1},
     {.lanes = 32, .rows = 64, .cols = 64, .group = 416, .ahead = 5, .unroll = 1}}};

// windows: H200, 32749 x 32771 bytes: 0.85, by "skewed" 0.70; 10 packs under way 0.80, windows at 64 bytes
// 0.75, tiles of 128 rows 0.77, of 128 columns 0.70, of both 0.60. 32749 x 16381 halves: 0.91, by "skewed"
// 0.80; 128 rows 0.89, 256 rows 0.90. Later, of bytes: 4 columns of the tile unrolled 0.82, 8 0.82, 16 0.805,
// 2 0.80, 1 0.78; 4, 6 and 8 packs under way 0.695, 0.69 and 0.74 (5 read a tile in two rounds); halves 0.89
// with any.
inline constexpr std::array<WindowsPolicy, 2> kWindows{
    {{.lanes = 32, .rows = 256, .cols = 256, .group = 512, .ahead = 5, .align = 32},
     {.lanes = 32, .rows = 192, .cols = 128, .group = 512, .ahead = 7, .align = 32}}};

struct TransposePolicy {
  When when;
  Evidence evidence;
  Evidence of_windows = {.what = "no measurement: windows of the tile's rows"};  ///< of small elements
  Evidence of_planes = {.what =
                            "no measurement: words that compilers keep in registers"};  ///< of a short side
  Evidence of_runs = {.what = "no measurement: runs of a work-group in a quarter of a Hopper's local memory"};
  Evidence of_threads = {.what = "no measurement: tiles that a core's cache holds"};  ///< of "cpu"
  Evidence of_narrow = {.what =
                            "no measurement: chunks that a core's first cache holds"};  ///< of a short side
  Evidence of_small = {.what =
                           "no measurement: chunks that a core's first cache holds"};  ///< of many matrices
  /// Wanted, for elements of 1, 2, 4, 8 and 16 bytes.
  std::array<std::size_t, 5> vector_bytes = {16, 16, 8, 8, 16};
  /// Of both sides' rows, from which elements of at most `fitted_bytes` have vectors, though these fill
  /// sectors only partly. 0: not measured, so whole vectors and sectors are wanted.
  std::size_t least_alignment = 0;
  std::size_t least_aligned_bytes = 48'000'000;  ///< of such arrays, at most, which the cache holds
  std::size_t tile_bytes = 256;                  ///< of a tile's row, and of its column
  std::size_t fitted_bytes = 2;                  ///< elements of so many, or fewer, have tiles that fit edges
  std::size_t group = 256;                       ///< work-items of the variant "vector"
  std::size_t register_bytes = 256;              ///< that a work-item holds of the tile at once
  bool tile_loop = false;                        ///< whether the kernel loops over tiles
  std::array<SkewedPolicy, 5> skewed = kSkewed;  ///< for elements of 1, 2, 4, 8 and 16 bytes
  std::array<WindowsPolicy, 2> windows = kWindows;  ///< for elements of 1 and 2 bytes
  std::size_t quarters = 4;       ///< of a matrix that is one tile: more groups are under way
  std::size_t naive_group = 256;  ///< work-items of "naive"
  std::size_t square = 32;        ///< elements of a side of the tiles of the ladder
  std::size_t square_rows = 8;    ///< work-items of a group down such a tile
  StripPolicy strips = {};        ///< of packed arrays with a short side
  TransposeThreads threads = {};  ///< of CPUs
};

inline std::size_t size_index(std::size_t element_bytes) {
  return static_cast<std::size_t>(std::countr_zero(element_bytes));
}

// most_separated: on two busy Zen 5 cores, ms, by chunks and in tiles: 4 bytes 1000000 x 9 13.0 and 2.3,
// 1000000 x 12 24 and 8.5; 12 x 1000000 4.5 and 18.6, 9 x 1000000 3.8 and 7.4. 8 bytes 1000000 x 5 12.1
// and 7.4; 12 x 1000000 8.3 and 16.8. Bytes 16000000 x 3 4.3 and 23.6, 4000000 x 12 19.0 and 14.1; 3 x
// 16000000 3.9 and 63.
//
// threads: on two Zen 4 cores with PoCL, 4096 x 4096 float, tiles of 64 x 64 elements reached 0.45 to 0.6 of
// a memcpy's rate, 64 x 1024 reached 0.9: reads of 4 KiB in a row matter most.
//
// quarters: H200, 4096 matrices of 64 x 64 floats: in quarters 0.867, as whole tiles 0.850.
//
// register_bytes: Intel's compiler spills beyond 128 (1-byte elements on pvc), AMD's and NVIDIA's do not at
// 256. tile_loop: with it AMD's and Intel's compilers spill.
inline constexpr TransposePolicy kTransposePolicies[] = {
    {.when = {.family = "nvidia-hopper"},
     .evidence = {.device = "H200",
                  .driver = "580.159",
                  .what = "float, 16384 x 16384, and 16001 x 15999, whose rows are unaligned",
                  .share = "0.96 and 0.90 of copy"},
     .of_windows = {.device = "H200",
                    .driver = "580.159",
                    .what = "32749 x 32771 bytes and 32749 x 16381 halves",
                    .share = "0.81 and 0.89 of copy"},
     .of_planes = {.device = "H200",
                   .driver = "580.159",
                   .what = "bytes of 3 x 89 million and its turn; floats",
                   .share = "0.93 and 0.95 of copy; 0.96 and 0.95"},
     .of_runs = {.device = "H200",
                 .driver = "580.159",
                 .what = "bytes of 1000000 x 100 and its turn; halves of 600000 x 100",
                 .share = "0.79 and 0.81 of copy; 0.79"},
     .least_alignment = 8,
     .tile_loop = true,
     .strips =
         {.evidence = {.device = "H100",
                       .driver = "580.159",
                       .what =
                           "packed float: 33 million x 6 and its turn, matrices of 3 x 3, 30 x 30, 100 x 77",
                       .share = "2918, 2929, 2814, 2770, 2676 GB/s; 16384 x 16384 by vectors 2887"},
          .chosen = true,
          .batch_bytes = 2}},
    {.when = {.family = "nvidia"},
     .evidence = {.what = "no measurement: a Hopper's sizes; sm_75 compiles them without spills"},
     .tile_loop = true},
    {.when = {.family = "amd-cdna"},
     .evidence =
         {.what = "no measurement: tiles of 256 bytes a row; gfx90a and gfx942 compile them without spills"}},
    {.when = {.family = "amd-rdna"},
     .evidence =
         {.what =
              "no measurement: tiles of 256 bytes a row; gfx1030 and gfx1100 compile them without spills"}},
    {.when = {.family = "intel"},
     .evidence = {.what = "no measurement: tiles of 256 bytes a row, in half the registers; tgllp, dg2 and "
                          "pvc compile them without spills"},
     .register_bytes = 128},
    {.when = {.family = "cpu"},
     .evidence = {.what = "no measurement: tiles of 256 bytes a row, with few registers"},
     .of_threads = {.device = "Zen 4",
                    .driver = "PoCL",
                    .what = "4096 x 4096 float on two cores",
                    .share = "0.85 of a two-thread memcpy"},
     .of_narrow = {.device = "EPYC",
                   .driver = "PoCL",
                   .what = "4 bytes on two Zen 5 cores, ms, and in tiles",
                   .share = "3 x 4000000 2.1 and 11.5, 4000000 x 3 2.2 and 5.2"},
     .of_small = {.device = "EPYC",
                  .driver = "PoCL",
                  .what = "a million matrices of 4 bytes on two Zen 5 cores, ms, and in tiles",
                  .share = "3 x 3 1.3 and 12.4, 4 x 4 2.5 and 19.4, half a million of 8 x 8 9.6 and 27"},
     .register_bytes = 128},
    {.evidence =
         {.what =
              "no measurement: tiles of 256 bytes a row, with few registers, shrunk to the device's facts"},
     .register_bytes = 128},
};

inline const TransposePolicy& transpose_policy(const Device& device) {
  return row_for(kTransposePolicies, device);
}

}  // namespace smem::plan
