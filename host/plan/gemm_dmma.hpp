/// The tiles of "mma" of doubles (cl/nvidia/gemm/dmma.cl), and what they cost.
#pragma once

#include "plan/gemm_wgmma.hpp"

#include <array>
#include <cstddef>

namespace smem::plan::gemm::nvidia {

/// Of which factors the compiler leaves the instructions of dmma.cl in the kernel's order: none, those that
/// both lie along k, or any two that lie alike. In its own order loads and addresses often wait until the
/// matrix unit has read their registers. On an H200, us, in its order and in the kernel's: 1536 x 704 x 2048,
/// B transposed, by 128 x 64 110, 93; A transposed, 1152 x 704 x 1024 by 96 x 64 48, 38; of factors of two
/// layouts 768 x 704 x 2048 by 64 x 64 46, 63.
enum class Ordered { never, along, alike };

/// dmma.cl: double, sm_80 and later. With one group a multiprocessor a step takes little more than its
/// instructions; of several, `shared` may be more than `step`.
struct Dmma {
  struct Shape {
    std::size_t warps_m, warps_n, warp_m, warp_n, tile_k, stages;
  } of;
  std::size_t resident;  ///< groups of it that share a multiprocessor
  Cost cost;
  /// What the layouts of both factors make of a step: A along k and B across it (nn), A across (tn), B along
  /// (nt), or both (tt).
  struct Layouts {
    double nn, tn, nt, tt;

    constexpr double of(bool a_along_k, bool b_along_k) const {
      return a_along_k ? (b_along_k ? nt : nn) : (b_along_k ? tt : tn);
    }
  } layouts;
  Ordered ordered = Ordered::never;
  /// Whether all rows of the factors must be aligned to pairs: ptxas spills where copies of single numbers go
  /// to a tile of so many sums.
  bool of_pairs = false;

  constexpr std::size_t tile_m() const { return of.warps_m * of.warp_m; }
  constexpr std::size_t tile_n() const { return of.warps_n * of.warp_n; }
  constexpr std::size_t group() const { return 32 * of.warps_m * of.warps_n; }
  /// A factor across k has padded lines.
  constexpr std::size_t local_bytes(bool a_along_k, bool b_along_k) const {
    return of.stages * of.tile_k * (tile_m() + (a_along_k ? 0 : 2) + tile_n() + (b_along_k ? 0 : 2)) * 8;
  }
};

// On an H200, in us, by the fastest tiles, and cuBLAS: 2048 x 2048 x 2048 by 128 x 64 298, 64 x 128 309, 64 x
// 64 326, 48 x 128 382, 286; 240 x 5952 x 1024 by 48 x 128 63, 64 x 64 67, 64 x 128 90, 59; 352 x 1480 x 556
// by 32 x 64 18.8, 48 x 128 21.6, 64 x 64 26, 15.4; 192 x 16 x 12656 by 32 x 32 14.6, 64 x 32 15.5, 17.1. 128
// x 128 by 8 warps was the fastest of no shape (2048^3 323). Steps of 32 k halve the barriers of small tiles.
//
// Of two stages, a group that is alone waits for the memory at each step: 400 x 1120 x 8320, B transposed, by
// 64 x 64 483, of four stages 238, in 2 parts, in the kernel's order, 171, cuBLAS 172.
//
// Costs: each tile alone and as many as share a multiprocessor, k 1024, by calls in a queue, and four of them
// with k 8192, whose steps take a tenth or two longer. layouts: 513 measurements of all tiles in 5 shapes in
// each order of the factors, and 53 other shapes; of these the median error is 6 %, and the choice takes 3.6
// % longer than the fastest measured. In us, chosen before, so, and cuBLAS: 208 x 2368 x 1808, both
// transposed, by 128 x 64 in 3 parts 64, by 32 x 64 40, 40; 4999 x 404 x 156, both transposed, by 128 x 48
// 27, by 48 x 64 21, 27; 484 x 52 x 14721 by 64 x 64 50, by 48 x 64 39, 44; 2829 x 138 x 39 by 64 x 32 8.0,
// by 128 x 16 6.2, 6.9. By 128 x 32: 15659 x 26 x 4539, by 64 x 32 182, 156, 187; 4816 x 78 x 294, both
// transposed, by 64 x 32 14.5, 12.3, 12.5.
inline constexpr std::array<Dmma, 17> kDmma{{
    {{2, 2, 32, 32, 16, 4}, 3, {299, 295, 1950}, {0.98, 1.2, 1.02, 0.98}, Ordered::along},
    {{4, 1, 32, 32, 16, 4}, 2, {299, 295, 1950}, {0.93, 1.24, 1, 1.1}, Ordered::along},
    {{1, 4, 32, 32, 16, 4}, 2, {299, 295, 1950}, {1.18, 1.34, 1.06, 1.02}, Ordered::along},
    {{2, 2, 64, 32, 16, 4}, 2, {628, 545, 2350}, {1, 1.15, 1.07, 1}, Ordered::along, true},
    {{2, 2, 32, 64, 16, 4}, 2, {634, 599, 2450}, {1, 1.17, 1.09, 1}, Ordered::along, true},
    {{2, 2, 32, 48, 16, 4}, 2, {539, 475, 2320}, {1.02, 0.98, 1, 1}, Ordered::alike},
    {{2, 2, 48, 32, 16, 4}, 2, {510, 473, 1910}, {0.98, 0.98, 1.06, 1}, Ordered::alike},
    {{4, 1, 32, 48, 16, 4}, 2, {479, 461, 1860}, {0.92, 1.18, 1.06, 1.08}, Ordered::alike},
    {{1, 4, 48, 32, 16, 4}, 2, {573, 509, 2460}, {0.94, 1.02, 0.98, 0.88}, Ordered::alike},
    {{1, 4, 48, 16, 16, 4}, 3, {281, 265, 1200}, {0.9, 1.06, 0.8, 0.8}},
    {{2, 2, 32, 16, 32, 3}, 3, {404, 387, 1000}, {0.88, 1.22, 0.76, 1.12}},
    {{2, 2, 16, 32, 32, 3}, 3, {492, 502, 1090}, {0.82, 1.02, 0.58, 0.62}},
    {{2, 2, 16, 16, 32, 4}, 3, {252, 283, 694}, {0.98, 1.24, 0.66, 0.92}},
    // These two and the last by the costs that other shapes gave before.
    {{1, 4, 16, 32, 16, 4}, 4, {230, 238, 1090}, {1.48, 1.54, 0.7, 0.74}},
    {{4, 1, 32, 16, 16, 4}, 4, {230, 268, 771}, {0.78, 1.36, 0.78, 1.18}},
    // Two or three stages, which fit 48 KiB of local memory.
    {{2, 2, 32, 32, 16, 2}, 3, {299, 295, 1950}, {1, 1.39, 1.06, 1}, Ordered::along},
    {{2, 2, 32, 16, 16, 3}, 4, {212, 208, 1000}, {1, 1.45, 0.88, 1}},
}};

}  // namespace smem::plan::gemm::nvidia
