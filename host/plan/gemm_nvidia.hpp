/// The numbers of NVIDIA's own gemm kernels (cl/nvidia/gemm/multistage.cl, wgmma.cl, mma.cl, pack.cl), with
/// what was measured with them on an H200, driver 580.159, as ratios to cuBLAS 13.0 in the same run. Shapes
/// are m x n x k, row-major; "along k" says which way a factor lies.
#pragma once

#include <cstddef>
#include <string_view>

namespace smem::plan::gemm::nvidia {

/// multistage.cl: float. GROUP is 32 warps_m warps_n.
struct Multistage {
  std::size_t warps_m, warps_n, lanes_m, item_m, item_n, tile_k, stages;
  std::string_view when, evidence;

  constexpr std::size_t tile_m() const { return warps_m * lanes_m * item_m; }
  constexpr std::size_t tile_n() const { return warps_n * (32 / lanes_m) * item_n; }
  constexpr std::size_t group() const { return 32 * warps_m * warps_n; }
  constexpr std::size_t local_bytes(bool a_along_k, bool b_along_k) const {
    return stages * tile_k * (tile_m() + (a_along_k ? 4 : 0) + tile_n() + (b_along_k ? 4 : 0)) * 4;
  }
};

/// A_VECTOR 1 where A lies along k: turned by copies of 4 bytes, 51.1 TFLOP/s at 8192; through registers
/// (A_VECTOR 4) 50.0. B along k is better through registers (B_VECTOR 4: 48.6; 1: 45.4), unless A lies along
/// m (48.2 by copies, 47.6 through registers).
inline constexpr Multistage kMultistage[] = {
    {2, 4, 4, 16, 8, 32, 2, "at least 132 tiles, 99 KiB of local memory, not A along m with B along k",
     "8192: 51.1 TFLOP/s, 1.01; 4096: 50.4, 0.99; B along k: 48.6, 0.95; A along m: 52.5, 0.99"},
    {2, 2, 8, 8, 16, 16, 3, "fewer tiles, or A along m with B along k: two groups a multiprocessor",
     "2048: 46.7, 0.95; 8192 A along m, B along k: 48.8, 0.97; 4096 x 4096 x 37: 22.0, 1.10"},
    {2, 4, 4, 16, 8, 16, 3, "rows not aligned to 16 bytes", "4097 x 4095 x 1023: 41.4, 0.84"},
    {2, 2, 4, 8, 8, 16, 4, "fewer than 132 tiles of the larger ones", "1024: 35.2, 1.08; 2048: 46.1, 0.94"},
    {2, 2, 8, 4, 8, 16, 4, "C of less than a million results", "1000 x 333 x 777: 13.0, 0.84"},
    {1, 2, 8, 8, 8, 8, 4, "batches of small matrices: 64 x 64 each", "64^3, 10,000 of them: 33.6, 1.24"},
    {4, 1, 8, 4, 12, 16, 4, "n of at most 48: 8 parts of k at 4096", "4096 x 37 x 4096: 18.0, 1.02"},
    {1, 4, 4, 8, 8, 16, 4, "m of at most 32", "31 x 65536 x 129: 23.7, 1.40"},
    {1, 4, 1, 4, 4, 16, 4, "m of at most 4: 16 parts of k at 4096", "1 x 4096 x 4096: 27.6 us, 1.02"},
};

/// wgmma.cl: half and bfloat16 any way; int8 and TF32 where both factors lie along k. Rows of A and B begin
/// at multiples of 16 bytes, or LOOSE. As many groups as multiprocessors, or tiles if they are fewer.
struct Wgmma {
  std::size_t consumers, producers, tile_n, mma_n, stages, lag, producer_registers, consumer_registers, band;
  bool loose;
  std::string_view when, evidence;

  constexpr std::size_t tile_m() const { return 64 * consumers; }
  constexpr std::size_t group() const { return 128 * (consumers + producers); }
  /// `through_local`: C's rows are not aligned to pairs, or there is an epilogue.
  constexpr std::size_t local_bytes(bool through_local) const {
    return stages * (tile_m() + tile_n) * 128 + (loose ? (tile_m() + tile_n) * 144 : 0) +
           (through_local ? consumers * 10240 : 0) + 16 * stages;
  }
};

inline constexpr Wgmma kWgmma[] = {
    {2, 1, 256, 256, 4, 1, 0, 0, 12, false, "at least 100 tiles",
     "half 8192: 722 to 735 TFLOP/s, 0.97 to 1.00; 4096: 697, 0.98; 2048 (band 8): 508, 1.08; bfloat16 8192: "
     "758, 1.00; half out: 719, 0.95; int8: 1501, 1.11; TF32: 392, 1.08; bias, ReLU and residual: 676"},
    {1, 1, 128, 128, 6, 4, 0, 0, 12, false, "fewer tiles",
     "1024 (8 stages): 172, 1.26; 1000 x 776 x 336: 46.8, 1.24; 16 x 4096 x 4096, 4 parts: 27.6, 0.93"},
    {2, 2, 256, 128, 3, 1, 96, 160, 12, true, "rows that begin anywhere, without scratch memory",
     "4097 x 4095 x 1023: 250, 1.8; 8191: 333, 2.25; with one producer 230 and 278"},
};

/// pack.cl before wgmma.cl: rows that begin anywhere, with scratch memory for both factors at pitches of a
/// multiple of 64 elements. A factor that is aligned already need not be packed.
/// Measured: GROUP 256, LINES 2, wgmma with band 8: 4097 x 4095 x 1023: 357 to 362 TFLOP/s whichever way the
/// factors lie, 2.6 to 3.2 times cuBLAS (packing takes 15 of 96 us); 8191: 647, 4.4 times.
inline constexpr std::size_t kPackGroup = 256;
inline constexpr std::size_t kPackLines = 2;
inline constexpr std::size_t kPackPitch = 64;
inline constexpr std::string_view kPackEvidence =
    "half 4097 x 4095 x 1023 packed: 357 to 362, 2.6 to 3.2; 8191: 647, 4.4; not packed 250 and 333";
/// m n k from which packing is worth its launch. H200, TFLOP/s packed and not: 1023^3 44.4 and 45.3, 1291^3
/// 91 and 95, 2047^3 324 and 270.
inline constexpr double kLeastPacked = 0x1p30;

/// mma.cl: sm_80 and later, any alignment.
struct Mma {
  std::size_t warps_m, warps_n, warp_m, warp_n, row_bytes, stages;
  std::string_view when, evidence;

  constexpr std::size_t tile_m() const { return warps_m * warp_m; }
  constexpr std::size_t tile_n() const { return warps_n * warp_n; }
  constexpr std::size_t group() const { return 32 * warps_m * warps_n; }
  constexpr std::size_t local_bytes() const { return stages * (tile_m() + tile_n()) * row_bytes; }
};

inline constexpr Mma kMma[] = {
    {2, 4, 64, 64, 128, 3, "144 KiB of local memory",
     "half 8192: 448 TFLOP/s, 0.60; 4096: 411; 2048: 339, 0.72; int8 along k (4 stages): 873, 0.63, else "
     "158; "
     "TF32 along k (4 stages): 186, else 105"},
    {2, 2, 64, 64, 64, 3, "48 KiB of local memory, as drivers report", "half 8192: 416, 0.56"},
};

}  // namespace smem::plan::gemm::nvidia
