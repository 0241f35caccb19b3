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
  bool of_batches = false;  ///< only for batches of more products than multiprocessors
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

// A along k is turned by copies of 4 bytes, 51.1 TFLOP/s at 8192; through registers it had 50.0. B along k is
// better through registers (B_VECTOR 4: 48.6; 1: 45.4), unless A lies along m (48.2 by copies, 47.6 through
// registers).
//
// 64 x 128 is the largest. NVIDIA's compiler takes 0.6 s for it, 1.2 for 128 x 128 and 1.8 to 2.9 for 128 x
// 256, for which 4096^3 takes 2.80 ms on an H200, 3.04, 2.72, cuBLAS 2.72; 8192^3 21.7, 24.2, 21.5. Stages of
// 16 k made it 0.9 to 1.2 s for 128 x 256, and 2.82 and 22.1 ms.
//
// along_b: on an H200, in us, B transposed, by 64 x 128 or 48 x 128 and by tiles of few rows, for which the
// rates say 314 and 87: 394 x 1178 x 11343 344, by 32 x 256 478, with B packed 330, cuBLAS 287; 48 x 1904 x
// 11056 85, by 16 x 128 137, by 64 x 64 88, cuBLAS 98.
//
// Slices: two or four warps share results, each a part of a stage's k, and their sums are added through local
// memory. A work-item has 8 x 8 or 8 x 12 results then, not 4 x 4 or 4 x 12 (32 x 32: 4 x 8), so it reads
// less from local memory for each, and few tiles make as many warps as many. On an H200, us, the choice
// without them, so, and cuBLAS, by 128 x 24: 3595 x 211 x 773, A transposed, 68, 43.5, 42.7; 5262 x 21 x 6234
// 102, 73, 74; 16150 x 17 x 1685, B transposed, 85, 56, 61. By 32 x 32: 1727 x 115 x 771 22.6, 19.8, 16.9; 53
// x 4395 x 400, both transposed, 18.9, 14.8, 14.6; 80 x 80 x 6112, both transposed, 15.1, 10.7, 14.1. By 64 x
// 32: 531 x 288 x 3146 46.7, 40.3, 37.6; 4999 x 404 x 156, both transposed, 30.7, 25.4, 20.7; slower 637 x
// 773 x 533, B transposed, 21.4, 23.7, 21.6; 10288 x 32 x 1568, A transposed, 33.8, 39.8, 39.9. By 128 x 48,
// 48 x 128 and 128 x 32: 114 x 4232 x 2457, B transposed, 103, 86, 84; 48 x 2032 x 5616, B transposed, 60,
// 42, 56; 14160 x 288 x 448, both transposed, 104, 90, 97. Of 16 x 128, 24 x 128, 128 x 16, 64 x 48, 48 x 64,
// 64 x 64 and 32 x 128 nothing came. Their costs: 80 times of 45 shapes, median error 7 %, the choice 1.1 %
// over the best.
inline constexpr std::array<Multistage, 21> kMultistage{{
    {{2, 2, 4, 8, 8, 16, 4}, 3, {709, 660, 790}},
    {{2, 2, 8, 8, 8, 16, 4}, 3, {749, 697, 838}},
    {{2, 2, 8, 4, 8, 16, 4}, 4, {445, 369, 790}},
    {{1, 2, 8, 8, 8, 8, 4}, 6, {415, 192, 810}},
    {{2, 2, 4, 4, 4, 16, 6}, 5, {307, 232, 170}},
    {{4, 1, 4, 4, 4, 16, 6}, 5, {314, 236, 120}},
    {{1, 4, 4, 4, 4, 16, 6}, 4, {297, 235, 342}, false, 1.5},
    {{1, 4, 4, 8, 8, 16, 4}, 3, {759, 701, 1217}, false, 1.5},
    {{4, 1, 8, 4, 12, 16, 4}, 4, {551, 536, 1067}},
    {{1, 4, 4, 12, 4, 16, 4}, 4, {600, 585, 1067}},
    {{1, 4, 1, 4, 4, 16, 4}, 1, {753, 753, 210}},
    // Two or three stages, which fit 48 KiB of local memory.
    {{1, 4, 4, 8, 8, 16, 2}, 3, {759, 701, 1217}, false, 1.5},
    {{2, 2, 4, 8, 8, 16, 3}, 3, {709, 660, 790}},
    // A warp for a product: 100,000 of 16^3 take 114 us on an H100, by 64 x 32 374, cuBLAS
    // 278. `shared`, on an H200, us, by it and 64 x 64: 300 of 192^3 134, 107, cuBLAS 117; 1000 of 64 x 64 x
    // 512 137, 108, 118; 150 of 250^3 179, 139, 134.
    {{1, 1, 4, 4, 4, 16, 2}, 24, {250, 52, 400}, true},
    // Warps that share results.
    {{1, 1, 8, 8, 8, 32, 3, 4}, 4, {500, 375, 300}},
    {{1, 1, 4, 8, 8, 32, 3, 4}, 4, {450, 410, 400}},
    {{1, 1, 8, 4, 8, 32, 4, 4}, 5, {296, 200, 200}},
    {{2, 1, 8, 8, 8, 32, 3, 2}, 4, {810, 710, 1500}},
    {{1, 1, 16, 8, 12, 32, 3, 4}, 3, {680, 640, 300}},
    {{2, 1, 8, 8, 12, 32, 3, 2}, 3, {1185, 1025, 1000}},  // 4096^3 2.93 ms; 1000 said 2.88
    {{1, 2, 4, 12, 8, 32, 3, 2}, 3, {1185, 1040, 1400}},
}};

}  // namespace smem::plan::gemm::nvidia
