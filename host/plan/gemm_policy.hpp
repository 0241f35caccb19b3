/// The numbers of gemm plans, by family, with their evidence.
#pragma once

#include "plan/policy.hpp"

#include <smem/device.hpp>

#include <array>
#include <cstddef>
#include <string_view>

namespace smem::plan::gemm {

/// A tile of C, and what a work-item makes of it.
struct TileShape {
  std::size_t m, n, k;         ///< rows and columns of C; numbers of each sum in local memory at once
  std::size_t each_m, each_n;  ///< rows and columns of a work-item's results
  /// Operations that it does with a byte from local memory, against those of the first one: a device with
  /// many tiles to make does no better than that.
  double speed = 1;

  std::size_t group() const { return m / each_m * (n / each_n); }
  friend bool operator==(const TileShape&, const TileShape&) = default;
};

// Large C: 8 x 8 results a work-item, 16 operations for each number from local memory. Small C: tiles of
// which there are enough for all units. Skinny C: tiles as high or as wide as it.
inline constexpr std::array<TileShape, 4> kGpuTiles{
    {{128, 128, 16, 8, 8, 1.0}, {64, 64, 16, 4, 4, 0.7}, {16, 256, 16, 4, 8, 0.6}, {256, 16, 16, 8, 4, 0.6}}};
// Fewer registers: 4 x 8 results a work-item.
inline constexpr std::array<TileShape, 4> kSmallGpuTiles{
    {{64, 128, 16, 4, 8, 1.0}, {64, 64, 16, 4, 4, 0.9}, {16, 128, 16, 4, 4, 0.7}, {128, 16, 16, 4, 4, 0.7}}};
// Of the ladder's first steps, on all devices: the textbooks' sizes, not the best ones, so that each step
// shows what it brings by itself.
inline constexpr TileShape kSquareTile{16, 16, 16, 1, 1}, kWideTile{8, 32, 32, 1, 1},
    kColumnTile{64, 32, 16, 8, 1}, kBlockTile{64, 64, 16, 4, 4};
// PoCL compiles 8 x 8 results for two to ten seconds, 4 x 4 for half of one; and one tile serves all shapes.
inline constexpr TileShape kCpuTile{32, 32, 16, 4, 4, 1.0};
inline constexpr std::array<TileShape, 4> kCpuTiles{kCpuTile, kCpuTile, kCpuTile, kCpuTile};

// Two cores of an Emerald Rapids Xeon, PoCL 5.0, OpenBLAS with two threads in turns, each in a process of its
// own and each thread on a core of its own: in one process OpenBLAS's threads wait actively for 32 ms after
// its turn, and POCL_AFFINITY takes the cores 0 and 1 whatever the process may use. 512, 1024 and 2048 of
// floats 1.08, 0.89, 0.88 of OpenBLAS, blocks of 6 x 64 instead of 12 x 32 1.10, 0.93, 0.97 (by CPU time
// 0.95, 1.06, 0.96 of the other), in a noisier hour 1.02, 1.12, 1.06 of its CPU time, but 42 random products
// 0.95 of it: not clear. Depths of 256, tiles of 384 x 384 and 516 x 512 there 0.92 to 1.03 by CPU time.
// wide_vector_bytes: PoCL 3.1, 1024 float: vectors of 64 bytes 270 GFLOP/s, of 32 bytes 159, OpenBLAS 295 to
// 302. skinny: 1 x 4096 x 4096 0.35, packed 0.14. direct_n, direct_depth_bytes, turns: no measurement.
// Rows of blocks: by all of 5 to 12 and by 8 or 12, CPU time there: 17 x 7996 x 3040 1.16 times as fast, 20 x
// 74 x 5324 1.31, 25 x 1954 x 232 1.33, 100 x 1000 x 500 1.07, 5 x 4000 x 500 1.37, 9 x 2000 x 700 1.32, 41
// random ones 1.07; on two Zen 5 cores 1.20, 1.13, 1.10, 1.08, 1.25, 1.29. few_registers by 4 to 6 and by 4
// or 6, on Zen 5, 8 products 1.00 to 1.11. least_work: two Zen 5 cores, us, by one thread and by two: 87 x
// 121 x 71 15.0 and 15.5, 296 x 16 x 237 23 and 21, 128^3 25.5 and 22.5, 191 x 34 x 450 47 and 34; an empty
// launch takes 2.5 there. few_registers: CPU time of 40 random products of floats on a Zen with AVX2,
// PoCL 3.1, of OpenBLAS's (in a quieter hour) 0.86; of the kernel before 0.47.
//
// Two Zen 5 cores with AVX-512, PoCL 3.1, beside OpenBLAS's SkylakeX kernels with two threads, random
// products of seed 3307, calls in a queue of 0.25 s: 40 of floats 0.93, 24 of doubles 1.04; 24 of int8 2.4
// times as fast as OpenBLAS multiplies floats (1.5 to 1.8 TFLOP/s of large ones), without VNNI 1.1 times (7
// of them).

/// A block of C in vector registers: its vectors across, and the most and the least rows, of which those are
/// taken that round C up least.
struct CpuBlock {
  std::size_t vectors;
  std::array<std::size_t, 2> rows;
};
/// Blocks of usual C, and of C that has no more rows than that.
struct CpuBlocks {
  CpuBlock usual, skinny;
};

/// Of "cpu": the largest tile of C of a thread, and how deep its factors lie in its cache.
struct CpuTiles {
  std::size_t most_m = 384, most_n = 256;
  std::size_t depth_bytes = 192 * 4;
  std::size_t wide_vector_bytes = 64;      ///< of vectors where those of 64 bytes are faster
  std::size_t wide_depth_bytes = 192 * 4;  ///< the depth there
  /// Of a tile of B up to which C is written block row by block row, and where vectors have 64 bytes.
  std::size_t by_rows_bytes = 32 * 1024, wide_by_rows_bytes = 128 * 1024;
  std::size_t brought = 16;  ///< numbers that are multiplied in the time that one takes to come
  CpuBlocks few_registers = {{2, {6, 4}}, {4, {2, 2}}};  ///< 16 of 32 bytes
  CpuBlocks narrow = {{4, {6, 6}}, {4, {4, 2}}};         ///< vectors of 32 bytes or less in 32 registers
  CpuBlocks wide = {{2, {12, 5}}, {4, {4, 2}}};          ///< of 64 bytes in 32 registers
  std::size_t direct_n = 1024;                           ///< columns of a tile whose B is read where it lies
  std::size_t direct_depth_bytes = 64 * 4;  ///< and its depth: rows of B, each in a page of its own
  double least_work = 0x1p18;               ///< products of numbers that are worth a thread, or a work-group
  std::size_t turns = 8;  ///< work-groups that a thread has at least, where products are many
  /// Of C with few rows or columns, the other factor along k: the most of these, the least k, k in local
  /// memory, and lines of the other factor that a work-group has at most.
  std::size_t most_few = 4, least_dot = 128, dot_bytes = 2048 * 4, most_long = 512;
};

/// How sums are cut among work-groups, and their parts added.
struct PartsPolicy {
  std::size_t least_depth = 256;   ///< of a part: what comes before and after is then little beside it
  std::size_t most = 256;          ///< of a sum
  std::size_t groups_a_unit = 2;   ///< that are wanted, also by "stream_k"
  std::size_t most_slices = 16;    ///< work-items that add the parts of a result
  std::size_t items_a_unit = 512;  ///< of the launch that adds parts
};

struct Policy {
  When when;
  Evidence evidence;
  /// Of "cpu".
  Evidence cpu_evidence = {.what = "no measurement: its own cache's size"};
  std::string_view variant = "double_buffered";  ///< the best one that the family has
  std::array<TileShape, 4> tiles = kGpuTiles;    ///< of the variants with vectors, largest first
  std::size_t unroll = 4;                        ///< turns of the innermost loop that are written out; 0: all
  std::size_t group = 256;                       ///< work-items of "naive", and of the launch that adds parts
  PartsPolicy parts = {};
  CpuTiles cpu = {};
};

// parts.most: on the H200, 31 x 129 x 65536 in 64 parts leaves half of the device idle: 5.9 TFLOP/s, in 256
// parts 10.4.
//
// cpu: of values of 4 bytes 864 KiB of a second-level cache of 1 MiB. PoCL on two Zen 4 cores, 2048 float, of
// OpenBLAS with two threads: 384 x 256 x 192 0.92; 192 x 256 0.80; 192 x 512 0.85; 192 x 256 x 256 0.73; x
// 128 0.81; blocks of 8 x 16 instead of 6 x 32 0.70.
//
// most_few, least_dot: two Zen 5 cores, PoCL 3.1, us packed in tiles and by dot products: 1 x 1024 x 1024, B
// transposed, 218 and 57, 4 x 4096 x 1024 930 and 583, 1 x 4096 x 128 97 and 32, 4 x 512 x 256 25 and 8.5,
// 4096 x 1 x 4096 20082 and 9994, 4 x 2048 x 1024 double 1045 and 481; of 5 to 8 rows, by two passes, 1.49 to
// 0.75 times as fast.
//
// by_rows_bytes: two cores of an Emerald Rapids Xeon, PoCL 3.1, ms with strip by strip and by rows up to 32,
// 64 and 128 KiB: 2187 x 3157 x 29 (transposed) 9.1 and 3.4, 3728 x 2960 x 16 8.1 and 3.8, 176 x 15184 x 48
// 1.75, 1.53, 1.36 and 1.23, 2000 x 2000 x 64 3.0, 2.9, 2.3 and 2.2, x 128 4.3, 4.6, 4.5 and 3.8. Of vectors
// of 32 bytes only what the first-level cache holds, as nothing was measured.
inline constexpr Policy kPolicies[] = {
    {.when = {.family = "nvidia-hopper"},
     .evidence = {.device = "H200",
                  .driver = "580.159",
                  .what = "4096, TFLOP/s",
                  .share = "double 19.9 by two_level; float 38.0, double_buffered 39.6, vector 31.3"},
     .variant = "two_level",
     .unroll = 0},
    {.when = {.family = "nvidia"},
     .evidence = {.what = "no measurement: tiles by operations a byte"},
     .variant = "two_level",
     .unroll = 0},
    {.when = {.family = "amd-cdna"}, .evidence = {.what = "no measurement: tiles by operations a byte"}},
    {.when = {.family = "amd-rdna"}, .evidence = {.what = "no measurement: tiles by operations a byte"}},
    {.when = {.family = "cpu"},
     .evidence = {.device = "Zen 4",
                  .driver = "PoCL",
                  .what = "1024 on two cores, GFLOP/s",
                  .share = "double_buffered 38, vector 24, registers_2d 6, tiled 3"},
     .cpu_evidence =
         {.device = "Xeon",
          .driver = "PoCL 5.0",
          .what =
              "random products of floats that take OpenBLAS 30 us, two cores of a shared host, of OpenBLAS",
          .share = "36 of seed 4242 1.29, 31 of seed 808 1.02; with the shorter ones 1.08 and 0.81"},
     .tiles = kCpuTiles,
     .unroll = 1},
    {.evidence = {.what = "no measurement: tiles with few registers"},
     .variant = "vector",
     .tiles = kSmallGpuTiles},
};

inline const Policy& policy_of(const Device& device) { return row_for(kPolicies, device); }

}  // namespace smem::plan::gemm
