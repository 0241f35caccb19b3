/// The numbers of plans for products of complex matrices, by family, with their evidence.
#pragma once

#include "plan/policy.hpp"

#include <smem/device.hpp>

#include <array>
#include <cstddef>
#include <span>

namespace smem::plan::complex_gemm {

/// A tile of C, and a work-item's block of it.
struct ComplexTile {
  std::size_t m, n, k;         ///< rows and columns of C; numbers of each sum in local memory at once
  std::size_t each_m, each_n;  ///< rows and columns of a work-item's results

  std::size_t group() const { return m / each_m * (n / each_n); }
};

/// The time of a tile, in nanoseconds: of a step by a group that is alone on its multiprocessor; of the same
/// by each of several, at least; before the first step and after the last one.
struct ComplexCost {
  double step, shared, tile;
};

/// Of "multistage": float, sm_80 and later.
struct ComplexStages {
  struct Shape {
    std::size_t warps_m, warps_n, lanes_m, item_m, item_n, tile_k, stages;
  } of;
  std::size_t resident;  ///< groups of it that share a multiprocessor
  ComplexCost cost;
  bool joins = true;  ///< whether several groups can share a tile: its kernel has registers left for that

  constexpr std::size_t tile_m() const { return of.warps_m * of.lanes_m * of.item_m; }
  constexpr std::size_t tile_n() const { return of.warps_n * (32 / of.lanes_m) * of.item_n; }
  constexpr std::size_t group() const { return 32 * of.warps_m * of.warps_n; }
  constexpr std::size_t local_bytes(bool a_along_k, bool b_along_k) const {
    return of.stages * of.tile_k * (tile_m() + (a_along_k ? 2 : 0) + tile_n() + (b_along_k ? 2 : 0)) * 8;
  }
};

/// Of "mma": double, sm_80 and later.
struct ComplexUnits {
  struct Shape {
    std::size_t warps_m, warps_n, warp_m, warp_n, tile_k, stages;
  } of;
  std::size_t resident;
  ComplexCost cost;
  bool joins = true;  ///< whether several groups can share a tile: its kernel has registers left for that

  constexpr std::size_t tile_m() const { return of.warps_m * of.warp_m; }
  constexpr std::size_t tile_n() const { return of.warps_n * of.warp_n; }
  constexpr std::size_t group() const { return 32 * of.warps_m * of.warps_n; }
  constexpr std::size_t local_bytes(bool a_along_k, bool b_along_k) const {
    return of.stages * of.tile_k * (tile_m() + (a_along_k ? 0 : 2) + tile_n() + (b_along_k ? 0 : 2)) * 16;
  }
};

// On an H200, us, and cuBLAS's: 512^3 float by 64 x 64 in 4 parts 32.9, 32 x 64 in 2 31.5, 32 x
// 32 34.9, 27.4; 256^3 9.9, 12.5; 128 x 128 x 16384 77, 61; 16 x 4096 x 4096 by 16 x 128 63, 94. Tiles of 64
// x 128 and 128 x 128 were slower than 64 x 64: 1024^3 324 and 362, 181. Double, 512^3 by 32 x 32 31.8, 32 x
// 64 34.1, 64 x 32 34.8, 22.6. Costs: fitted to these and 36 others, median error 3 %, most 11 %, but of 16 x
// 64 36 %.
inline constexpr std::array<ComplexStages, 6> kComplexStages{{
    {{2, 2, 4, 8, 4, 8, 4}, 3, {805, 684, 2000}},
    {{2, 2, 4, 4, 4, 8, 4}, 5, {403, 403, 400}},
    {{2, 2, 4, 4, 2, 8, 4}, 7, {235, 235, 200}},
    {{1, 4, 4, 4, 4, 8, 4}, 5, {435, 435, 200}},
    {{4, 1, 8, 4, 4, 8, 4}, 5, {805, 725, 1000}},
    {{1, 1, 4, 4, 2, 8, 2}, 24, {280, 100, 300}, false},
}};

// 16 k a step, whose fragments are read 8 k ahead, are for groups that are few on a multiprocessor: double on
// an H200, us, by it and of 8 k, 512^3 26, 32 by 32 x 32, 33 by 32 x 64; 128 x 128 x 16384, A transposed, 60,
// 86; but 5000 of 32^3 93, 75, 400 of 100^3 141, 124. 64 x 32 and 64 x 64 of 16 k: 512^3 30, 37; 2048^3 by 64
// x 64 1398, 32 x 32 1292.
inline constexpr std::array<ComplexUnits, 5> kComplexUnits{{
    {{2, 2, 32, 16, 8, 4}, 3, {373, 373, 3000}},
    {{2, 2, 16, 32, 8, 4}, 3, {345, 345, 3000}},
    {{2, 2, 16, 16, 8, 4}, 4, {201, 201, 600}},
    {{1, 4, 16, 16, 8, 4}, 4, {403, 201, 600}},
    {{2, 2, 16, 16, 16, 4}, 3, {600, 326, 600}},
}};

/// When a real product by gemm() is chosen: it takes a second launch, and temporary memory that is written
/// and read once.
struct RealProduct {
  std::size_t least_rows = 32;           ///< of C, which share an expanded number
  std::size_t least_products = 1 << 24;  ///< of complex numbers
  std::size_t least_results = 0;         ///< of each product of a batch
  // Where NVIDIA's own variants run, a model compares times: nanoseconds of each launch before it, and the
  // bytes a nanosecond that these read and write.
  double launch = 4400, memory = 3000;
};

struct ComplexGemmPolicy {
  When when;
  Evidence evidence = kFromFacts;
  ComplexTile floats = {32, 64, 8, 2, 4};  ///< of "registers"
  ComplexTile doubles = {32, 32, 8, 2, 2};
  ComplexTile square = {16, 16, 16, 1, 1};  ///< of "tiled"
  Evidence nvidia_evidence = {.what = "no measurement: a Hopper's tiles and costs"};
  std::span<const ComplexStages> stages = kComplexStages;  ///< of "multistage"
  std::span<const ComplexUnits> units = kComplexUnits;     ///< of "mma"
  RealProduct real_product = {};
  /// Of the device for each tile of "registers", from which "tiled", whose tiles are smaller, is better, and
  /// where products fill less than a quarter of these; 0: never.
  std::size_t units_a_tile = 0;
  std::size_t most_bytes = std::size_t{256} << 20;  ///< of expanded and transposed factors
  std::size_t depth_multiple = 32;                  ///< of the depth of slices along k, unless they have less
  std::size_t group = 256;                          ///< work-items of launches without tiles
  std::size_t unroll = 4;                           ///< turns of the innermost loop; 0: all
  /// Sums in parts: the least k of one and the most parts, nanoseconds of a join, and the bytes that a group
  /// reads and writes in one, for each part.
  std::size_t least_depth = 64, most_parts = 32;
  double join = 700, join_bytes = 48;
  bool chooses_units = false;  ///< "mma", else by name alone
};

inline constexpr ComplexGemmPolicy kComplexGemmPolicies[] = {
    {.when = {.family = "nvidia-hopper"},
     .evidence = {.device = "H200",
                  .driver = "580.159",
                  .what = "float, ms of a real product, registers, tiled and cuBLAS",
                  .share =
                      "4096^3 11.06, 17.1, 32.7, 10.34; 1024^3 0.210, 0.287, 0.540, 0.171; 512^3 0.045, "
                      "0.057, 0.075, 0.027; 384^3 0.030, 0.043, 0.039, 0.026; 256^3 0.019 to 0.030, 0.030, "
                      "0.012 to 0.014, 0.026; 8 x 4096 x 4096 0.218, 0.719, 0.235, 0.118; 10,000 of 64^3 "
                      "0.795, 0.720, 1.452, 0.496; 100,000 of 16^3 0.454, 1.896, 0.365, 0.544; double "
                      "2048^3 1.442, 3.812, 7.914, 1.172; 256^3 0.027, 0.038, 0.019, 0.016"},
     .floats = {64, 64, 8, 4, 4},
     .doubles = {64, 32, 8, 4, 2},
     .nvidia_evidence = {.device = "H200",
                         .driver = "580.159",
                         .what = "20 products each of float and double, plain, transposed and in batches, "
                                 "us, cuBLAS's time over the choice's",
                         .share = "float 1.04 in the geometric mean, 0.79 to 2.7; double 0.94, 0.66 to 2.3"},
     .real_product = {.least_rows = 8, .least_products = 1 << 25, .least_results = 64 * 64 + 1},
     .units_a_tile = 3,
     .unroll = 0,
     .chooses_units = true},
    {.when = {.family = "nvidia"},
     .evidence = {.what = "no measurement: 4 x 4 sums of two numbers each in registers"},
     .floats = {64, 64, 8, 4, 4},
     .doubles = {64, 32, 8, 4, 2},
     .unroll = 0},
    {.when = {.family = "amd-cdna"},
     .evidence = {.what = "no measurement: 4 x 4 sums of two numbers each in registers"},
     .floats = {64, 64, 8, 4, 4},
     .doubles = {64, 32, 8, 4, 2}},
    {.when = {.family = "cpu"},
     .evidence = {.device = "EPYC",
                  .driver = "PoCL 3.1",
                  .what = "a real product and registers, ms: 512^3, 4 x 512 x 512, 64^3, 16^3",
                  .share = "12.6 and 204, 2.2 and 12.2, 0.25 and 0.80, 0.14 and 0.19"},
     .floats = {32, 32, 16, 4, 4},
     .doubles = {32, 32, 16, 4, 4},
     .real_product = {.least_rows = 2, .least_products = 1 << 9},
     .unroll = 1},
    {},
};

inline const ComplexGemmPolicy& policy_of(const Device& device) {
  return row_for(kComplexGemmPolicies, device);
}

}  // namespace smem::plan::complex_gemm
