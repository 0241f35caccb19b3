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
  bool tensor = false;  ///< windows by tensor maps, a tap and 128 bytes of channels a step

  static constexpr std::size_t kStore = 8;
  static constexpr bool kIsTight = false;
  constexpr bool is_full() const {
    return (of.consumers == 2 && of.tile_n >= 256) || of.consumers == 4;
  }  ///< as above
  constexpr std::size_t tile_m() const { return 64 * of.consumers; }
  constexpr std::size_t tile_n() const { return of.tile_n; }
  constexpr std::size_t group() const { return 128 * of.consumers + (tensor ? 32 : 128); }
  constexpr std::size_t local_bytes() const {
    return of.stages * ((tile_m() + of.tile_n) * 128 + 16) + of.consumers * 10752 + (tensor ? kMaps : 0);
  }
  static constexpr std::size_t kMaps = 256;  ///< bytes of a group's tensor maps
};

/// Of tiles that several groups share, as of gemm's: nanoseconds of the join, and bytes of parts a
/// nanosecond.
inline constexpr double kJoin = 1980, kJoinBytes = 63;

/// Of steps by tensor maps, as many times as long where cells are no multiple of 128 bytes. On an H200, ns:
/// 48 and 64 channels of tiles of 128 x 64 500, 210; 104 and 128 of 256 x 128 1150, 650.
inline constexpr double kUneven = 2;

/// Groups of channels that are computed as one, at most: as many times the products.
inline constexpr std::size_t kMostMerged = 16;

/// Of their filters that lie as they are: nanoseconds of a box, which has those of one group. A step's boxes
/// are copied beside its products. H200, half, 3 x 3, channels last, us, with a launch that copies the
/// filters with zeros, by boxes: 64 images of 256 x 28^2, 8 boxes a step, 49.3, 68.5, of 512 x 14^2, 4
/// boxes, 30.7, 27.6, of 1024 x 7^2, 2 boxes, 26.6, 20.2; 8 images of
/// these 23.9, 17.2; 24.9, 17.8; 23.8, 16.9.
inline constexpr double kFilterBox = 115;

/// What maps of windows hold: dilated windows, strides, and where the first cells of windows are.
inline constexpr std::size_t kMostOffset = 255, kMostStride = 8, kMostBefore = 128;

// As above. By tensor maps, what layers of 64 images took on an H200 (microseconds): 1 x 1 / 2 of 256 x 56^2,
// 512, by tiles of 128 x 256 34.7, 128 x 128 35.4, 128 x 64 45.3; 3 x 3 / 2 of 128 x 56^2, 128,
// 72, 31.4, 34.8; 3 x 3 / 2 of 256 x 28^2, 256, 30.4, 31.6, 29.6, by 256 x 128 30.9; 3 x 3 of 256 x 28^2,
// 256, dilation 2, 81.4, 84.3, 103.6, 83.6. Two groups of 128 x 128 that share a multiprocessor, with 3
// stages each, took 47, 40, 38 and 105, tiles of 192 x 192 36.6, 44.3, 39.4 and 147.
inline constexpr std::array<Wgmma, 14> kWgmma{{
    {{2, 256, 4, 0}, 610, 2900, true},
    {{4, 128, 3, 0}, 650, 3000, true},
    {{2, 128, 6, 0}, 350, 1000, true},
    {{4, 64, 4, 0}, 430, 1600, true},
    {{2, 64, 8, 0}, 200, 1000, true},
    {{1, 256, 5, 0}, 450, 1800, true},
    {{1, 128, 8, 0}, 230, 800, true},
    {{1, 64, 8, 0}, 170, 600, true},
    {{2, 256, 4, 1}, 853, 4090},
    {{2, 128, 6, 3}, 544, 1780},
    {{1, 256, 4, 2}, 645, 4310},
    {{1, 128, 6, 4}, 420, 1560},
    {{2, 64, 8, 5}, 416, 1040},
    {{1, 64, 8, 6}, 334, 820},
}};

/// The times of "wgmma_halo", whose tiles follow from the layer: nanoseconds of 64 channels by 64 filters and
/// a column of the tile; bytes a nanosecond that fill local memory; nanoseconds between two tiles; and before
/// the first and after the last one. Fitted to calls in a queue on an H200: of 64 images, 3 x 3, half, they
/// give 24.4 us for 64 x 56^2, 64 and 23.3 for 128 x 28^2, 128, which took 28.8 and 27.5, as a call's launch
/// does besides; of results that are not written 26.3 and 26.5.
struct Halo {
  double column, fill, turn, tile;
};
inline constexpr Halo kHalo{1.3, 70, 200, 3000};

/// Nanoseconds of a launch that copies a grid before: of an empty one on an H200. One image of 3 x 224^2, 7 x
/// 7 / 2, 64 filters, takes 20 us by "mma", which copies two, and 9 to 14 by "wgmma_few".
inline constexpr double kLaunch = 5000;

/// The times of "wgmma_few": nanoseconds of 16 numbers of k by 64 filters and a column of the tile; of a pass
/// of the producer over the rows of a strip, and of each load of a work-item in it; between two tiles; and
/// before the first and after the last one.
///
/// H200, half, 64 images, us, "wgmma_few", "mma" and cuDNN, channels last: 7 x 7 / 2 of 3 x 224^2, 64 filters
/// 61, 218, 154 (by strips of one tile 74, of 2 62, of 4 60); 3 x 3 of 16 x 112^2, 16 34, 71, 58; / 2, 64 28,
/// 38, 32; 3 x 3 / 2 of 3 x 224^2, 32 46, 115, 57; 32 images, 3 x 3 of 3 x 224^2, 64 68, 278, 202. Planes:
/// 91, 226, 345 of 3 x 224^2, 7 x 7 / 2 (101 where planes in local memory had no odd pitch), 3 x 3 of 32
/// images 122, and 408 by cuDNN (142 then); 123, 79, 135 of 16 x 112^2. The times of passes and loads are
/// guesses, and not fitted to these.
///
/// Of more than 16 channels they are `wide` times as long. us, "wgmma_few", "wgmma_halo" and cuDNN: 3 x 3 of
/// 32 x 112^2 to 32 64, 77, 77, to 64 76, 78, 81; of 24 x 112^2 to 24 51, cuDNN 94; 8 images of 32 x 160^2 to
/// 32 20, 45, 27; of 32 x 56^2 to 64 24, 20. 1 x 1 of 24 x 56^2 to 144 35, by "gemm" 41, cuDNN 30. Rows of
/// several launches, 8 images, "wgmma_few", "mma" and cuDNN: 3 x 3 / 2 of 3 x 640^2 to 32 66, 115, 62; 7 x 7
/// / 2 of 3 x 512^2 to 64 58, 146; 3 x 3 of 16 x 320^2 to 32 48, 100, 79; one image of 3 x 640^2 16.6, 22.5.
struct Few {
  double column, pass, load, turn, tile, wide;
};
inline constexpr Few kFew{0.325, 700, 8, 100, 4000, 1.1};

struct Policy {
  When when;
  Evidence evidence = {.what = "no measurement yet: the tiles of gemm's products on a Hopper"};
  std::span<const Mma> mma = kMma;
  std::span<const Wgmma> wgmma = kWgmma;
  Halo halo = kHalo;
  Few few = kFew;
  /// Filters of a group and weights of one, from which matrix units are worth their packing.
  std::size_t least_filters = 8, least_depth = 16;
  /// The same of many filters of 16 bits, to interleaved channels, by "mma"; "wgmma_few" is faster than
  /// "direct" wherever it runs. H200, half, us, "direct", "mma", "wgmma_few": 3 x 3 of 8 images of 1 x 224^2
  /// to 8 18, 44, 13, to 16 28, 44, 13, to 32 50, 53, 13, to 48 97, 63, 18, to 64 105, 69, 21, to 128 200,
  /// 118, 36; of 64 of 1 x 56^2 to 16 18, 25, 8, to 32 27, 29, 9, to 64 56, 37, 12; 2 x 2 / 2 of 16 of 2 x
  /// 112^2 to 16 20, 14, 8, to 64 27, 14, 8; 1 x 1 of 16 of 8 x 56^2 to 16 19, 8, 8, to 128 38, 16, 8; of 8
  /// of 4 x 112^2 to 64 34, 20, 8.
  std::size_t many_filters = 48, many_filters_depth = 4;
  /// Weights of a filter, from which they are worth it for fewer filters. H200, half, us, "direct", "mma",
  /// which leaves 12 to 15 of 16 columns empty, and cuDNN: 3 x 3 of 2 images of 320 x 64^2 to 4 720, 20.5,
  /// 19; of 128 x 512^2 to 3 557, 90, 107; of 64 x 256^2 to 1 190, 19, 28; of 8 images of 16 x 128^2 to 2 57,
  /// 18, 12.
  std::size_t few_filters_depth = 64;
  /// Of a window of one cell on interleaved channels: filters, weights of one and results, from and up to
  /// which "wgmma_halo" comes before "gemm", whose tiles are narrow. H200, half, 64 images, us, both and
  /// cuDNN: 32 x 112^2 to 16 31.6, 45.4, 27.4; 144 x 56^2 to 24 28.3, 30.2, 27.7; 64 x 56^2 to
  /// 24 13.9, 20.1, 11.4; 128 x 56^2 to 32 23.0, 25.2, 20.8; 192 x 28^2 to 32 10.3 to 11.9, 12.1, 7.6.
  /// Slower: 256 x 56^2 to 32 40, 35; 192 x 14^2 to 16 8.9, 7.8; one image of 192 x 28^2 12.1, 8.1. Below,
  /// "wgmma_few" is.
  std::size_t narrow_filters = 32, narrow_least = 17, narrow_depth = 192, narrow_results = 50000;
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
              "64 images, half, channels last, ms: 1 x 1 / 2 of 256 x 56^2, 512, 3 x 3 / 2 of 128 x 56^2, "
              "128, 3 x 3 of 256 x 28^2, 256, dilation 2, 3 x 3 of 128 x 56^2, 128, 32 groups, and cuDNN; "
              "wgmma_halo of 64, 128, 256 and 512 channels, 3 x 3: 0.029, 0.028, 0.028 and 0.028",
          .share = "0.0346, 0.0304, 0.082, 0.083; 0.0330, 0.0320, 0.083, 0.083; 1.38, 1.05, 1.00 and 0.97 "
                   "of cuDNN"}},
    {},
};

inline const Policy& policy_of(const Device& device) { return row_for(kPolicies, device); }

}  // namespace smem::plan::conv2d::nvidia
