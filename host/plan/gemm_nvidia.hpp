/// The numbers of NVIDIA's own gemm kernels (cl/nvidia/gemm/multistage.cl, wgmma.cl, mma.cl, pack.cl), with
/// what was measured with them, as ratios to cuBLAS 13.0 in the same run. Shapes are m x n x k, row-major;
/// "along k" says which way a factor lies. In each list the first row counts that suits the problem, whose
/// tiles fill the device where it says so, and that fits local memory.
#pragma once

#include "plan/policy.hpp"

#include <smem/gemm_plan.hpp>

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

namespace smem::plan::gemm::nvidia {

using Suits = bool(const GemmProblem& problem);

inline bool any(const GemmProblem&) { return true; }
inline bool at_most_4_rows(const GemmProblem& p) { return p.m <= 4; }
inline bool at_most_32_rows(const GemmProblem& p) { return p.m <= 32; }
inline bool at_most_48_columns(const GemmProblem& p) { return p.n <= 48; }
inline bool within_64(const GemmProblem& p) { return p.m <= 64 && p.n <= 64; }
inline bool under_a_million(const GemmProblem& p) { return p.m * p.n * p.batch < 1000000; }
inline bool loose(const GemmProblem& p) { return p.a_alignment < 16 || p.b_alignment < 16; }
inline bool crossed(const GemmProblem& p) { return !p.a_along_k && p.b_along_k; }
inline bool loose_straight(const GemmProblem& p) { return loose(p) && !crossed(p); }
inline bool aligned_straight(const GemmProblem& p) { return !loose(p) && !crossed(p); }

/// multistage.cl: float. GROUP is 32 warps_m warps_n.
struct Multistage {
  Suits* suits;
  bool fills = false;  ///< only where each unit gets a tile
  struct Shape {
    std::size_t warps_m, warps_n, lanes_m, item_m, item_n, tile_k, stages;
  } of;
  Evidence evidence;

  constexpr std::size_t tile_m() const { return of.warps_m * of.lanes_m * of.item_m; }
  constexpr std::size_t tile_n() const { return of.warps_n * (32 / of.lanes_m) * of.item_n; }
  constexpr std::size_t group() const { return 32 * of.warps_m * of.warps_n; }
  constexpr std::size_t local_bytes(bool a_along_k, bool b_along_k) const {
    return of.stages * of.tile_k * (tile_m() + (a_along_k ? 4 : 0) + tile_n() + (b_along_k ? 4 : 0)) * 4;
  }
};

/// What was measured on an H200.
constexpr Evidence h200(std::string_view what, std::string_view share) {
  return {.device = "H200", .driver = "580.159", .what = what, .share = share};
}

constexpr Evidence kSmallLocal{.what =
                                   "no measurement: two or three stages, which fit 48 KiB of local memory"};

// A_VECTOR 1 where A lies along k: turned by copies of 4 bytes, 51.1 TFLOP/s at 8192; through registers
// (A_VECTOR 4) 50.0. B along k is better through registers (B_VECTOR 4: 48.6; 1: 45.4), unless A lies along m
// (48.2 by copies, 47.6 through registers).
inline constexpr std::array<Multistage, 12> kMultistage{
    {{.suits = at_most_4_rows,
      .of = {.warps_m = 1, .warps_n = 4, .lanes_m = 1, .item_m = 4, .item_n = 4, .tile_k = 16, .stages = 4},
      .evidence = h200("m of at most 4, of cuBLAS", "1 x 4096 x 4096 in 16 parts of k: 27.6 us, 1.02")},
     {.suits = at_most_32_rows,
      .of = {.warps_m = 1, .warps_n = 4, .lanes_m = 4, .item_m = 8, .item_n = 8, .tile_k = 16, .stages = 4},
      .evidence = h200("m of at most 32, TFLOP/s and of cuBLAS", "31 x 65536 x 129: 23.7, 1.40")},
     {.suits = at_most_48_columns,
      .of = {.warps_m = 4, .warps_n = 1, .lanes_m = 8, .item_m = 4, .item_n = 12, .tile_k = 16, .stages = 4},
      .evidence =
          h200("n of at most 48, TFLOP/s and of cuBLAS", "4096 x 37 x 4096 in 8 parts of k: 18.0, 1.02")},
     {.suits = within_64,
      .of = {.warps_m = 1, .warps_n = 2, .lanes_m = 8, .item_m = 8, .item_n = 8, .tile_k = 8, .stages = 4},
      .evidence = h200("batches of small matrices, 64 x 64 each, TFLOP/s and of cuBLAS",
                       "64^3, 10,000 of them: 33.6, 1.24")},
     {.suits = under_a_million,
      .of = {.warps_m = 2, .warps_n = 2, .lanes_m = 8, .item_m = 4, .item_n = 8, .tile_k = 16, .stages = 4},
      .evidence =
          h200("C of less than a million results, TFLOP/s and of cuBLAS", "1000 x 333 x 777: 13.0, 0.84")},
     {.suits = loose_straight,
      .fills = true,
      .of = {.warps_m = 2, .warps_n = 4, .lanes_m = 4, .item_m = 16, .item_n = 8, .tile_k = 16, .stages = 3},
      .evidence =
          h200("rows not aligned to 16 bytes, TFLOP/s and of cuBLAS", "4097 x 4095 x 1023: 41.4, 0.84")},
     {.suits = aligned_straight,
      .fills = true,
      .of = {.warps_m = 2, .warps_n = 4, .lanes_m = 4, .item_m = 16, .item_n = 8, .tile_k = 32, .stages = 2},
      .evidence = h200("not A along m with B along k, TFLOP/s and of cuBLAS",
                       "8192: 51.1, 1.01; 4096: 50.4, 0.99; B along k: 48.6, 0.95; A along m: 52.5, 0.99")},
     {.suits = any,
      .fills = true,
      .of = {.warps_m = 2, .warps_n = 2, .lanes_m = 8, .item_m = 8, .item_n = 16, .tile_k = 16, .stages = 3},
      .evidence =
          h200("fewer tiles, or A along m with B along k: two groups a unit, TFLOP/s and of cuBLAS",
               "2048: 46.7, 0.95; 8192 A along m, B along k: 48.8, 0.97; 4096 x 4096 x 37: 22.0, 1.10")},
     {.suits = any,
      .of = {.warps_m = 2, .warps_n = 2, .lanes_m = 4, .item_m = 8, .item_n = 8, .tile_k = 16, .stages = 4},
      .evidence = h200("fewer tiles than units of the larger ones, TFLOP/s and of cuBLAS",
                       "1024: 35.2, 1.08; 2048: 46.1, 0.94")},
     {.suits = at_most_32_rows,
      .of = {.warps_m = 1, .warps_n = 4, .lanes_m = 4, .item_m = 8, .item_n = 8, .tile_k = 16, .stages = 2},
      .evidence = kSmallLocal},
     {.suits = any,
      .fills = true,
      .of = {.warps_m = 2, .warps_n = 2, .lanes_m = 8, .item_m = 8, .item_n = 16, .tile_k = 16, .stages = 2},
      .evidence = kSmallLocal},
     {.suits = any,
      .of = {.warps_m = 2, .warps_n = 2, .lanes_m = 4, .item_m = 8, .item_n = 8, .tile_k = 16, .stages = 3},
      .evidence = kSmallLocal}}};

/// wgmma.cl: half and bfloat16 any way; int8 and TF32 where both factors lie along k. Rows of A and B begin
/// at multiples of 16 bytes, or LOOSE. As many groups as multiprocessors, or tiles if they are fewer.
struct Wgmma {
  Suits* suits;
  std::size_t least_tiles = 0;
  struct Shape {
    std::size_t consumers, producers, tile_n, mma_n, stages, lag;
  } of;
  std::size_t producer_registers = 0, consumer_registers = 0, band = 12;
  bool loose = false;
  Evidence evidence;

  constexpr std::size_t tile_m() const { return 64 * of.consumers; }
  constexpr std::size_t group() const { return 128 * (of.consumers + of.producers); }
  /// `through_local`: C's rows are not aligned to pairs, or there is an epilogue.
  constexpr std::size_t local_bytes(bool through_local) const {
    const std::size_t lines = tile_m() + of.tile_n;
    return of.stages * lines * 128 + (loose ? lines * 144 : 0) + (through_local ? of.consumers * 10240 : 0) +
           16 * of.stages;
  }
};

inline constexpr std::array<Wgmma, 3> kWgmma{
    {{.suits = nvidia::loose,
      .of = {.consumers = 2, .producers = 2, .tile_n = 256, .mma_n = 128, .stages = 3, .lag = 1},
      .producer_registers = 96,
      .consumer_registers = 160,
      .loose = true,
      .evidence = h200("rows that begin anywhere, not packed, TFLOP/s and of cuBLAS",
                       "half 4097 x 4095 x 1023: 250, 1.8; 8191: 333, 2.25; with one producer 230 and 278")},
     {.suits = any,
      .least_tiles = 100,
      .of = {.consumers = 2, .producers = 1, .tile_n = 256, .mma_n = 256, .stages = 4, .lag = 1},
      .evidence = h200(
          "at least 100 tiles, TFLOP/s and of cuBLAS",
          "half 8192: 722 to 735, 0.97 to 1.00; 4096: 697, 0.98; 2048 (band 8): 508, 1.08; bfloat16 8192: "
          "758, 1.00; half out: 719, 0.95; int8: 1501, 1.11; TF32: 392, 1.08; bias, ReLU and residual: 676")},
     {.suits = any,
      .of = {.consumers = 1, .producers = 1, .tile_n = 128, .mma_n = 128, .stages = 6, .lag = 4},
      .evidence = h200("fewer tiles, TFLOP/s and of cuBLAS",
                       "1024 (8 stages): 172, 1.26; 1000 x 776 x 336: 46.8, 1.24; 16 x 4096 x 4096, 4 parts: "
                       "27.6, 0.93")}}};

/// mma.cl: sm_80 and later, any alignment.
struct Mma {
  struct Shape {
    std::size_t warps_m, warps_n, warp_m, warp_n, row_bytes, stages;
  } of;
  Evidence evidence;

  constexpr std::size_t tile_m() const { return of.warps_m * of.warp_m; }
  constexpr std::size_t tile_n() const { return of.warps_n * of.warp_n; }
  constexpr std::size_t group() const { return 32 * of.warps_m * of.warps_n; }
  constexpr std::size_t local_bytes() const { return of.stages * (tile_m() + tile_n()) * of.row_bytes; }
};

inline constexpr std::array<Mma, 2> kMma{
    {{.of = {.warps_m = 2, .warps_n = 4, .warp_m = 64, .warp_n = 64, .row_bytes = 128, .stages = 3},
      .evidence = h200("144 KiB of local memory, TFLOP/s and of cuBLAS",
                       "half 8192: 448, 0.60; 4096: 411; 2048: 339, 0.72; int8 along k (4 stages): 873, "
                       "0.63, else 158; TF32 along k (4 stages): 186, else 105")},
     {.of = {.warps_m = 2, .warps_n = 2, .warp_m = 64, .warp_n = 64, .row_bytes = 64, .stages = 3},
      .evidence = h200("48 KiB of local memory, TFLOP/s and of cuBLAS", "half 8192: 416, 0.56")}}};

/// pack.cl before wgmma.cl: rows that begin anywhere, with scratch memory for both factors at pitches of a
/// multiple of so many elements. A factor that is aligned already need not be packed.
struct Pack {
  std::size_t group = 256, lines = 2, pitch = 64;
  double least = 0x1p30;  ///< m n k from which packing is worth its launch
};

struct Policy {
  When when;
  Evidence packed;  ///< of "wgmma" after "pack"
  std::span<const Multistage> multistage;
  std::span<const Wgmma> wgmma;
  std::span<const Mma> mma;
  Pack pack = {};
  std::size_t groups_a_unit = 2;  ///< of "multistage", that sums are cut for; the others have a unit alone
  /// Tiles down that groups of "wgmma" take before they go on to the right, of few rows and of packed
  /// factors.
  std::size_t few_rows = 2048, small_band = 8;
};

/// The same rows for devices that nobody measured.
template <class Rows>
constexpr Rows unmeasured(Rows rows) {
  for (auto& row : rows)
    if (!row.evidence.device.empty()) row.evidence = {.what = "no measurement: a Hopper's tiles"};
  return rows;
}
inline constexpr auto kOtherMultistage = unmeasured(kMultistage);
inline constexpr auto kOtherWgmma = unmeasured(kWgmma);
inline constexpr auto kOtherMma = unmeasured(kMma);

// pack: TFLOP/s packed and not: 1023^3 44.4 and 45.3, 1291^3 91 and 95, 2047^3 324 and 270. Packing takes 15
// of the 96 us of 4097 x 4095 x 1023, whichever way the factors lie.
inline constexpr Policy kPolicies[] = {
    {.when = {.family = "nvidia-hopper"},
     .packed =
         h200("rows that begin anywhere, packed before (band 8), TFLOP/s and of cuBLAS",
              "half 4097 x 4095 x 1023: 357 to 362, 2.6 to 3.2; 8191: 647, 4.4; not packed 250 and 333"),
     .multistage = kMultistage,
     .wgmma = kWgmma,
     .mma = kMma},
    {.packed = {.what = "no measurement: a Hopper's tiles"},
     .multistage = kOtherMultistage,
     .wgmma = kOtherWgmma,
     .mma = kOtherMma},
};

inline const Policy& policy_of(const Device& device) { return row_for(kPolicies, device); }

}  // namespace smem::plan::gemm::nvidia
