/// The numbers of "mma", "wgmma" and "wgmma_halo", convolutions by NVIDIA's matrix units
/// (cl/nvidia/conv2d/mma.cl, wgmma.cl, wgmma_halo.cl).
#pragma once

#include "plan/policy.hpp"

#include <array>
#include <cstddef>
#include <span>

namespace smem::plan::conv2d::nvidia {

/// Results and filters of a work-group, by warps.
struct Mma {
  struct Shape {
    std::size_t warps_m, warps_n, warp_m, warp_n, stages;
  } of;
  std::size_t resident;  ///< groups of it that share a multiprocessor
  /// Nanoseconds of a step of 128 bytes of weights, by a group that is alone on its multiprocessor and by
  /// each of several, and before the first and after the last one.
  double step, shared, tile;

  /// Whether sums take so many registers that GELU, stores of fewer bytes than kStore, and if kIsTight pieces
  /// of 8 bytes and planes of 4-byte results make ptxas spill.
  static constexpr std::size_t kStore = 16;
  static constexpr bool kIsTight = true;
  constexpr bool is_full() const { return of.warp_m * of.warp_n >= 4096; }
  constexpr std::size_t tile_m() const { return of.warps_m * of.warp_m; }
  constexpr std::size_t tile_n() const { return of.warps_n * of.warp_n; }
  constexpr std::size_t group() const { return 32 * of.warps_m * of.warps_n; }
  constexpr std::size_t local_bytes() const { return of.stages * (tile_m() + tile_n()) * 128 + tile_m() * 8; }
};

// The times of gemm's tiles of the same size; those of the last two are guesses.
inline constexpr std::array<Mma, 6> kMma{{
    {{2, 2, 64, 64, 3}, 2, 1254, 627, 4960},
    {{2, 2, 64, 32, 4}, 2, 746, 373, 2880},
    {{2, 2, 32, 64, 4}, 2, 780, 390, 2830},
    {{2, 2, 32, 32, 4}, 3, 378, 264, 1470},
    {{4, 1, 32, 32, 4}, 2, 420, 290, 1470},
    {{4, 1, 32, 16, 4}, 3, 350, 230, 1470},
}};

/// The same of "wgmma": a group for each multiprocessor, which computes several tiles.
struct Wgmma {
  struct Shape {
    std::size_t consumers, tile_n, stages, lag;
  } of;
  double step,
      tile;  ///< nanoseconds of 128 bytes of weights, and of a tile before the first and after the last one

  static constexpr std::size_t kStore = 8;
  static constexpr bool kIsTight = false;
  constexpr bool is_full() const { return of.consumers == 2 && of.tile_n >= 256; }  ///< as above
  constexpr std::size_t tile_m() const { return 64 * of.consumers; }
  constexpr std::size_t tile_n() const { return of.tile_n; }
  constexpr std::size_t group() const { return 128 * (of.consumers + 1); }
  constexpr std::size_t local_bytes() const {
    return of.stages * ((tile_m() + of.tile_n) * 128 + 16) + of.consumers * 10752;
  }
};

// As above.
inline constexpr std::array<Wgmma, 6> kWgmma{{
    {{2, 256, 4, 1}, 853, 4090},
    {{2, 128, 6, 3}, 544, 1780},
    {{1, 256, 4, 2}, 645, 4310},
    {{1, 128, 6, 4}, 420, 1560},
    {{2, 64, 8, 5}, 416, 1040},
    {{1, 64, 8, 6}, 334, 820},
}};

/// The times of "wgmma_halo", whose tiles follow from the layer: nanoseconds of 64 channels by 64 filters and
/// a column of the tile; bytes a nanosecond that fill local memory; nanoseconds between two tiles; and before
/// the first and after the last one.
struct Halo {
  double column, fill, turn, tile;
};
inline constexpr Halo kHalo{1.3, 70, 200, 3000};

struct Policy {
  When when;
  Evidence evidence = {.what = "no measurement yet: the tiles of gemm's products on a Hopper"};
  std::span<const Mma> mma = kMma;
  std::span<const Wgmma> wgmma = kWgmma;
  Halo halo = kHalo;
  /// Filters of a group and weights of one, from which matrix units are worth their packing.
  std::size_t least_filters = 8, least_depth = 16;
  /// Bytes of the channels of a group, from which "wgmma" is compared with "mma": of fewer, pieces of its
  /// tiles are too short.
  std::size_t wgmma_bytes = 64;
};

inline constexpr Policy kPolicies[] = {
    {.when = {.family = "nvidia-hopper"},
     .evidence =
         {.device = "H200",
          .driver = "580.159",
          .what =
              "layers of 3, 16, 64 and 128 channels, half, channels last; wgmma beside mma: 0.331 and "
              "0.306 ms, 0.109 and 0.069, 0.064 and 0.065, 0.036 and 0.055; wgmma_halo of 64, 128, 256 and "
              "512 channels, 3 x 3: 0.029, 0.028, 0.028 and 0.028",
          .share = "0.49 and 0.84 of cuDNN; 1.38, 1.05, 1.00 and 0.97"}},
    {},
};

inline const Policy& policy_of(const Device& device) { return row_for(kPolicies, device); }

}  // namespace smem::plan::conv2d::nvidia
