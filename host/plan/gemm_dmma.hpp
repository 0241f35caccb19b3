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
  /// What the layouts of both factors make of a step, beside two that lie along k: A along k and B across it
  /// (nn), A across (tn), or the other way both (tt).
  struct Layouts {
    double nn, tn, tt;

    constexpr double of(bool a_along_k, bool b_along_k) const {
      return a_along_k ? (b_along_k ? 1 : nn) : (b_along_k ? tt : tn);
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
// Costs and layouts: fitted to 1000 times of all tiles but the last two, by calls in a queue, of 75 products,
// on an H200: the median error is 6 %, and the choice takes 2.2 % longer than the fastest measured. In us,
// with the costs before, so, and cuBLAS: 1264 x 848 x 1184, A transposed, 73, 53, 60; 32 x 7408 x 1776, A
// transposed, 43.5, 38, 31; 1998 x 614 x 1651 126, 107, 125; 920 x 2835 x 91 23, 28, 23. The last two, which
// fit 48 KiB of local memory, have the layouts of their likes; their costs are a guess.
inline constexpr std::array<Dmma, 17> kDmma{{
    {{2, 2, 32, 32, 16, 4}, 3, {275, 279, 1790}, {0.96, 0.96, 0.95}, Ordered::along},
    {{4, 1, 32, 32, 16, 4}, 2, {262, 287, 1300}, {0.94, 1.01, 0.99}, Ordered::along},
    {{1, 4, 32, 32, 16, 4}, 2, {306, 305, 1250}, {0.98, 0.95, 0.94}, Ordered::along},
    {{2, 2, 64, 32, 16, 4}, 2, {657, 591, 2450}, {0.91, 0.99, 0.96}, Ordered::along, true},
    {{2, 2, 32, 64, 16, 4}, 2, {628, 578, 2420}, {0.96, 1.06, 0.97}, Ordered::along, true},
    {{2, 2, 32, 48, 16, 4}, 2, {452, 432, 1960}, {0.95, 0.97, 0.94}, Ordered::alike},
    {{2, 2, 48, 32, 16, 4}, 2, {461, 420, 2200}, {0.98, 0.99, 0.96}, Ordered::alike},
    {{4, 1, 32, 48, 16, 4}, 2, {452, 426, 2090}, {0.95, 1.05, 0.96}, Ordered::alike},
    {{1, 4, 48, 32, 16, 4}, 2, {452, 427, 2440}, {0.98, 0.97, 0.95}, Ordered::alike},
    {{1, 4, 48, 16, 16, 4}, 3, {209, 217, 1180}, {0.96, 0.97, 0.98}},
    {{2, 2, 32, 16, 32, 3}, 3, {235, 294, 1030}, {1.09, 1.15, 1.06}},
    {{2, 2, 16, 32, 32, 3}, 3, {311, 291, 920}, {1.13, 1.17, 1.04}},
    {{2, 2, 16, 16, 32, 4}, 3, {168, 189, 540}, {1.1, 1.16, 1.11}},
    {{1, 4, 16, 32, 16, 4}, 4, {173, 205, 600}, {1.16, 1.22, 0.95}},
    {{4, 1, 32, 16, 16, 4}, 4, {192, 229, 580}, {0.99, 1.07, 1.06}},
    // Two or three stages.
    {{2, 2, 32, 32, 16, 2}, 3, {275, 279, 1790}, {0.96, 0.96, 0.95}, Ordered::along},
    {{2, 2, 32, 16, 16, 3}, 4, {143, 179, 1030}, {1.09, 1.15, 1.06}},
}};

}  // namespace smem::plan::gemm::nvidia
