/// The tiles of "mma" (cl/nvidia/gemm/mma.cl), and what they cost.
#pragma once

#include "plan/gemm_wgmma.hpp"

#include <array>
#include <cstddef>

namespace smem::plan::gemm::nvidia {

/// Of the stages of mma.cl, also behind the flag.
inline constexpr std::size_t kMmaAlignment = 1024;

/// How a factor lies in a stage of mma.cl.
enum class Rows {
  pieces,  ///< of 16 bytes, without padding
  words,   ///< of 4-byte elements across k
  loose,   ///< of 2-byte elements in rows that are copied as they lie, along k
  loose_across,
};

/// mma.cl: sm_80 and later, any alignment. On an H100, in us, by loads to registers and as they lie, half:
/// 425 x 37 x 319 17.5 and 8.5, 601 x 25 x 187 16.4 and 7.8, 70 x 27 x 2981 21.8 and 11.1;
/// cuBLAS 6.2, 6.4, 11.5. A factor whose rows lie across k needs tiles of a multiple of 64 there; one whose
/// lines are copied as they lie (has_loose_rows) takes any.
struct Mma {
  struct Shape {
    std::size_t warps_m, warps_n, warp_m, warp_n, row_bytes, stages;
  } of;
  std::size_t resident;  ///< groups of it that share a multiprocessor
  Cost cost;
  bool of_batches = false;  ///< only for batches of more products than multiprocessors

  constexpr std::size_t tile_m() const { return of.warps_m * of.warp_m; }
  constexpr std::size_t tile_n() const { return of.warps_n * of.warp_n; }
  constexpr std::size_t group() const { return 32 * of.warps_m * of.warps_n; }
  /// Of products of bytes of no more k: one step, which has so many sub-steps (cl/nvidia/gemm/mma.cl:
  /// SUBSTEPS). 0: of other products.
  constexpr std::size_t substeps(std::size_t element_bytes, std::size_t k) const {
    const std::size_t all = (k + 31) / 32;
    return element_bytes == 1 && all <= of.row_bytes / 64 ? all : 0;
  }
  /// Whether unaligned rows of 2-byte elements are copied as they lie, and not through registers: HAS_LOOSE.
  /// The compiler spills 24 to 336 bytes where a warp has 64 x 64 results.
  constexpr bool has_loose_rows() const { return of.warp_m * of.warp_n <= 2048; }
  /// Of a stage, beside its elements.
  constexpr std::size_t padding(Rows rows, std::size_t extent) const {
    switch (rows) {
      case Rows::words:
        return 8 * of.row_bytes;
      case Rows::loose:
        return has_loose_rows() ? 16 * extent : 0;
      case Rows::loose_across:
        return has_loose_rows() ? 16 * of.row_bytes / 2 : 0;
      default:
        return 0;
    }
  }
  constexpr std::size_t local_bytes(Rows a, Rows b) const {
    return of.stages * ((tile_m() + tile_n()) * of.row_bytes + padding(a, tile_m()) + padding(b, tile_n()));
  }
};

/// What shallow products of bytes (Mma::substeps) of which a factor lies across k make of a tile's own time:
/// their steps have one stage and fewer registers, so that more groups share a multiprocessor; and the same
/// of tiles whose warps have more than 2048 results. int8 on an H200, us, with all sub-steps, so, by "wgmma",
/// and cuBLAS: 9440 x 912 x 16, A transposed, by 64 x 64 24.6, 14.2, by 128 x 128 19.9, 16.3, by 128 x
/// 256 24.5, 17.7, 21.8, 13.5; as it lies by 64 x 64 23.6, 14.4, 20.0, 13.5; A transposed, x
/// 32 24.9, 15.3, 21.5, 13.8; x 64 25.1, 18.7, 22.1, 18.5.
inline constexpr double kShallow = 0.5, kShallowOfLarge = 0.65;

// 16 x 128 and 128 x 16, of few rows or columns: half on an H200, us, and cuBLAS: 1 x 4096 x 4096 10, 11.
// Beyond the cache's size thin tiles of "wgmma" take less time. A kernel in which the wide factor went to
// registers without local memory, in lines of 128 bytes, took 16; of two or four warps side by side, whose
// loads were in flight beside products, 13 to 14. 128 x 16 has the costs of 16 x 128 where rows are
// aligned. The costs of unaligned rows by these two, 32 x 32 and 64 x 32 come from 72 shapes of half, each
// measured by three tiles or more; the choice takes 2.5 % longer than the best, before 6.1. On an H200, us,
// by 128 x 16 or 16 x 128, chosen before, 32 x 32, 64 x 32, and cuBLAS: 33 x 671 x 291, both transposed, 8.0
// to 9.2, 6.8, 7.1, 9.6; 2878 x 32 x 1868, both transposed, 15.3, -, 12.7, 15.7; 2158 x 27 x 4389, B
// transposed, 21.5, 21.4, 18.8, 21.4; 16150 x 17 x 1685, B transposed, 46, 48, 38, 50; 225 x 27 x
// 2001 8.4, 7.2, 8.2, 17; 26 x 243 x 1802, A transposed, 10.8, -, 8.8.
//
// Of unaligned rows, slower, half on an H200, us, before and so: a line's pieces by 8 lanes and its last one
// by another copy, from sums of addresses (7603 x 90 x 290 by 64 x 64 11.1, 12.8: copies take turns by the
// lines that they touch, and not by instructions); results in pairs where rows of C begin at multiples of 4
// bytes (1375 x 2684 x 44 by 128 x 128 9.2, 12.0). Costs that were fitted to 201 times of 45 shapes, among
// which they chose 2 % better, chose 2 % worse among 27 others.
//
// 32 x 128 and 128 x 32 read a wide factor once where 16 x 128 does twice. Half on an H200, us, the choice
// without them, so, and cuBLAS: 22 x 14882 x 8626 131, 88, 112; 31 x 10827 x 782, A transposed, 18.6, 13.7,
// 20.0; 32 x 4812 x 16031 100, 59, 150; 895 x 22 x 15835, B transposed, 25.2, 23.6, 27.5; int8 23 x 2811 x
// 5835, B transposed, 28.3, 20.4; where it errs 75 x 263 x 6685, B transposed, 15.5, 17.4, 16.3. Their costs
// are fitted to 14 shapes.
inline constexpr std::array<Mma, 14> kMma{{
    {{2, 4, 64, 64, 128, 3}, 1, {1290, 1290, 5180, 1.77}},
    {{2, 2, 64, 64, 128, 3}, 2, {1285, 604, 3440, 2.2}},
    {{2, 2, 64, 64, 64, 3}, 2, {642, 302, 3130, 2.2}},  // fits 48 KiB of local memory
    {{2, 2, 64, 32, 128, 4}, 2, {728, 342, 2640, 0.7, 1.28}},
    {{2, 2, 32, 64, 128, 4}, 2, {761, 358, 2540, 0.7, 1.28}},
    {{2, 2, 32, 32, 128, 4}, 3, {369, 242, 1380, 1.02, 1.19}},
    {{1, 4, 16, 32, 128, 4}, 3, {348, 218, 1470, 0.85, 1}},
    {{2, 2, 16, 16, 128, 4}, 6, {391, 146, 912, 0.8, 1.1}},
    {{2, 2, 32, 16, 128, 4}, 4, {450, 231, 1310, 0.8, 0.9}},
    {{4, 1, 32, 16, 128, 4}, 3, {348, 218, 1470, 1.2, 1.2}},
    {{1, 4, 32, 32, 128, 3}, 3, {440, 285, 1700, 0.85, 1}},
    {{4, 1, 32, 32, 128, 3}, 3, {440, 285, 1700, 0.85, 1}},
    // More groups at once; and a warp for a product, whose times are by arithmetic. On an H100 100,000 of
    // 16^3 half take 212 us, by 64 x 64 690, cuBLAS 392; 10,000 of 64^3 94, 102 and 98.
    // Unaligned rows, 20,000 of 33^3 228, by 16 x 64 202; 20,000 of 49 x 32 x 49 268, by 16 x 16 173; 12,000
    // of 49^3 142, 226.
    {{2, 2, 32, 32, 128, 2}, 6, {378, 264, 1470, 1.6}, true},
    {{1, 1, 16, 64, 64, 2}, 16, {250, 40, 850}, true},
}};

}  // namespace smem::plan::gemm::nvidia
