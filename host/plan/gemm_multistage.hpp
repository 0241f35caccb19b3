/// The tiles of "multistage" (cl/nvidia/gemm/multistage.cl), and what they cost.
#pragma once

#include "plan/gemm_wgmma.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace smem::plan::gemm::nvidia {

/// multistage.cl: float. GROUP is 32 warps_m warps_n.
struct Multistage {
  struct Shape {
    std::size_t warps_m, warps_n, lanes_m, item_m, item_n, tile_k, stages;
    std::size_t slices = 1;  ///< warps that share their results, each a part of a stage's k
  } of;
  std::size_t resident;  ///< groups of it that share a multiprocessor
  Cost cost;
  bool joins = true;  ///< whether several groups can share a tile: its kernel has registers left for that
  bool of_batches = false;  ///< only for batches of more products than multiprocessors
  /// Whether, of factors that lie across k in aligned rows, it can only store vectors of unchanged sums:
  /// ptxas spills where results go through local memory.
  bool stores_vectors = false;
  /// What a second factor along k makes of a step, beside the rates of all tiles: of few rows and many
  /// columns its copies are many.
  double along_b = 1;

  constexpr std::size_t tile_m() const { return of.warps_m * of.lanes_m * of.item_m; }
  constexpr std::size_t tile_n() const { return of.warps_n * (32 / of.lanes_m) * of.item_n; }
  constexpr std::size_t group() const { return 32 * of.warps_m * of.warps_n * of.slices; }
  constexpr std::size_t local_bytes(bool a_along_k, bool b_along_k) const {
    const std::size_t stages =
        of.stages * of.tile_k * (tile_m() + (a_along_k ? 4 : 0) + tile_n() + (b_along_k ? 4 : 0)) * 4;
    // The sums of all slices are added there.
    return of.slices > 1 ? std::max(stages, tile_m() * tile_n() * of.slices * 4) : stages;
  }
};

// A_VECTOR 1 where A lies along k: turned by copies of 4 bytes, 51.1 TFLOP/s at 8192; through registers
// (A_VECTOR 4) 50.0. B along k is better through registers (B_VECTOR 4: 48.6; 1: 45.4), unless A lies along m
// (48.2 by copies, 47.6 through registers).
//
// 128 x 256: of loops of 8 or 16 k instead of 32 ptxas takes half and two thirds of its time; 8192^3 takes
// 22.2 and 22.5 ms on an H200, so 21.7: with so many registers the factors and sums of a multiply-add have
// the same bank. If columns of results come first 21.9 and 22.0. Where what the tiles at edges need is not
// kept in registers 21.6, A transposed 21.1 for 21.3 to 21.6.
//
// Own times of 128 x 128 and 128 x 256: TF32 of 16 k by them, where the model said with 940 and 2000, and by
// 64 x 128: 3824 x 10704 x 16, both transposed, 78 (63), 77 (64), 66; 12416 x 5488 x 16, B transposed, 117
// (101), -, 101; 2000 x 8000 x 16, B transposed, 32 (28), 32 (29), -.
//
// along_b: on an H200, in us, B transposed, by 64 x 128 or 48 x 128 and by tiles of few rows, for which the
// rates say 314 and 87: 394 x 1178 x 11343 344, by 32 x 256 478, with B packed 330, cuBLAS 287; 48 x 1904 x
// 11056 85, by 16 x 128 137, by 64 x 64 88, cuBLAS 98.
// 128 x 24, on an H200, before copies read ahead, us, it, others, and cuBLAS's: 8000 x 20 x 4096, B
// transposed, 84, 97 to 122, 77; 4096 x 17 x 4096, A transposed, 34, 41, 40; 50000 x 24 x
// 64 10.3, 13.7, 10.0; 16384 x 24 x 1024 45.8, 43.7, 64; 16150 x 17 x 1685, B transposed, 97, by 128 x 48
// 88, 61.
inline constexpr std::array<Multistage, 26> kMultistage{{
    {{2, 4, 4, 16, 8, 32, 2}, 1, {5130, 5130, 3000, 1.03}, false, false, true},
    {{2, 4, 4, 16, 8, 16, 3}, 1, {2603, 2603, 1840}, false},
    {{2, 2, 8, 8, 16, 16, 3}, 2, {2682, 1341, 1500}, false},
    {{2, 2, 4, 8, 8, 16, 4}, 3, {709, 660, 790}},
    {{2, 2, 8, 8, 8, 16, 4}, 3, {749, 697, 838}},
    {{2, 2, 8, 4, 8, 16, 4}, 4, {445, 369, 790}},
    {{1, 2, 8, 8, 8, 8, 4}, 6, {415, 192, 810}},
    {{2, 2, 4, 4, 4, 16, 6}, 5, {307, 232, 170}},
    {{4, 1, 4, 4, 4, 16, 6}, 5, {314, 236, 120}},
    {{1, 4, 4, 4, 4, 16, 6}, 4, {297, 235, 342}, true, false, false, 1.5},
    {{1, 4, 4, 8, 8, 16, 4}, 3, {759, 701, 1217}, true, false, false, 1.5},
    {{4, 1, 8, 4, 12, 16, 4}, 4, {551, 536, 1067}},
    {{1, 4, 4, 12, 4, 16, 4}, 4, {600, 585, 1067}},
    {{2, 1, 16, 4, 12, 16, 4}, 5, {600, 300, 1067}},
    {{1, 4, 1, 4, 4, 16, 4}, 1, {753, 753, 210}},
    // Two or three stages, which fit 48 KiB of local memory.
    {{1, 4, 4, 8, 8, 16, 2}, 3, {759, 701, 1217}, true, false, false, 1.5},
    {{2, 2, 8, 8, 16, 16, 2}, 2, {2682, 1341, 940}, false},
    {{2, 2, 4, 8, 8, 16, 3}, 3, {709, 660, 790}},
    // A warp for a product: 100,000 of 16^3 take 114 us on an H100, by 64 x 32 374, cuBLAS
    // 278. `shared`, on an H200, us, by it and 64 x 64: 300 of 192^3 134, 107, cuBLAS 117; 1000 of 64 x 64 x
    // 512 137, 108, 118; 150 of 250^3 179, 139, 134.
    {{1, 1, 4, 4, 4, 16, 2}, 24, {250, 52, 400}, false, true},
    // Warps that share results.
    {{1, 1, 8, 8, 8, 32, 3, 4}, 4, {480, 355, 900}},
    {{1, 1, 4, 8, 8, 32, 3, 4}, 4, {450, 385, 300}},
    {{1, 1, 8, 4, 8, 32, 4, 4}, 5, {296, 223, 200}},
    {{2, 1, 8, 8, 8, 32, 3, 2}, 4, {810, 710, 1300}},
    {{1, 1, 16, 8, 12, 32, 3, 4}, 3, {650, 600, 400}},
    {{2, 1, 8, 8, 12, 32, 3, 2}, 3, {1185, 1000, 1400}},
    {{1, 2, 4, 12, 8, 32, 3, 2}, 3, {1185, 1040, 1400}},
}};

}  // namespace smem::plan::gemm::nvidia
