/// The tiles of "wgmma" (cl/nvidia/gemm/wgmma.cl), and what they cost.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

namespace smem::plan::gemm::nvidia {

/// Columns of an instruction of fp8: its sums have registers of their own.
inline constexpr std::size_t kMostOfFp8 = 128;

/// Of the maps of A and B that Hopper's copies of boxes read (cl/nvidia/gemm_producer_tensor.clh), for a
/// group.
inline constexpr std::size_t kMapsBytes = 256;
/// Of k that a step of wgmma.cl takes of each row.
inline constexpr std::size_t kStepBytes = 128;

/// The time of a tile, in nanoseconds.
struct Cost {
  double step;              ///< of TILE_K k by a group that is alone on its multiprocessor
  double shared;            ///< of the same by each of several, at least
  double tile;              ///< before its first step and after its last one
  double loose = 1;         ///< what factors with unaligned rows make of a step, beside Rates
  double loose_shared = 0;  ///< the same of a step that several share; 0: as of one that is alone
  double short_tile = 0;    ///< `tile`, of aligned results of 16 bits; 0: Rates::short_c says it
};

/// wgmma.cl: half and bfloat16 any way; int8, fp8 and TF32 where both factors lie along k. Rows of A and B
/// begin at multiples of 16 bytes, or LOOSE. The number of groups is the smaller of multiprocessors and
/// tiles.
struct Wgmma {
  struct Shape {
    std::size_t consumers, producers, tile_n, mma_n, stages, lag;
  } of;
  Cost cost;     ///< a group is alone
  double start;  ///< nanoseconds until the first tile's first step
  std::size_t producer_registers = 0, consumer_registers = 0;
  /// The same where several groups share a tile.
  std::size_t joining_producer_registers = 0, joining_consumer_registers = 0;
  bool loose = false;
  bool joins = true;  ///< whether several groups can share a tile

  constexpr std::size_t tile_m() const { return 64 * of.consumers; }
  constexpr std::size_t group() const { return 128 * (of.consumers + of.producers); }
  /// Of a warpgroup's results, on their way to C.
  constexpr std::size_t out_bytes() const { return of.consumers < 4 ? 10240 : 5120; }
  /// `through_local`: C's rows are not aligned to pairs, have 16 bits, or there is an epilogue. A second
  /// factor across k has whole blocks of 64 n.
  constexpr std::size_t local_bytes(bool through_local, bool b_along_k) const {
    const std::size_t lines = tile_m() + (b_along_k ? of.tile_n : (of.tile_n + 63) / 64 * 64);
    return of.stages * lines * 128 + (loose ? lines * 144 : 0) +
           (through_local ? of.consumers * out_bytes() : 0) + 16 * of.stages + 4 * of.consumers;
  }
};

// 304 x 1968 x 1776 half, the second factor along k: 18.3 us by 64 x 128 in 132 parts, 12.6 by 64 x 96, whose
// tiles are as many as multiprocessors nearly.
//
// In us, by 192 x 128, by the next tile, and cuBLAS, half on an H200: 2832 x 2896 x 128 11.9, 14.0, 10.8;
// 4848 x 4112 x 64 18.6, 19.6, 15.7; 12192 x 560 x 576 27.0, 23.7, 16.7. Groups that share it take longer,
// why was not examined: 272 x 1104 x 10432 in 123 parts 56, in whole tiles of 64 x 64 31.
//
// The loose tile of 128 x 256 has two producers: 250 TFLOP/s at 4097 x 4095 x 1023 and 333 at 8191; with one
// it reaches 230 and 278.
// Of aligned rows a step takes the time of its products, and a tile that of its results, whichever way the
// factors lie: on an H200 4096^3 takes 210 to 214 us by 128 x 256 in all four orders. The numbers are fitted
// to 103 measurements of tiles of 19 shapes of half, with random numbers (which take more power than others,
// and so time); their mean error is 6 %.
inline constexpr double kStart = 240;
constexpr Cost aligned_cost(std::size_t consumers, std::size_t tile_n) {
  const auto results = static_cast<double>(consumers * tile_n), of_row = static_cast<double>(tile_n);
  const double step = 26 + 1.39 * results;
  return {.step = step, .shared = step, .tile = 620 + 5.9 * results, .short_tile = 620 + 5.5 * of_row};
}
/// A tile that takes all of a row of results by one instruction.
constexpr Wgmma aligned_tile(std::size_t consumers, std::size_t tile_n, std::size_t stages, std::size_t lag) {
  return {{consumers, 1, tile_n, tile_n, stages, lag}, aligned_cost(consumers, tile_n), kStart};
}
/// The same with so many registers of producers and consumers, where several groups share a tile or always.
constexpr Wgmma with_registers(Wgmma tile, std::size_t producer, std::size_t consumer, bool joins) {
  tile.joins = joins;
  (joins ? tile.joining_producer_registers : tile.producer_registers) = producer;
  (joins ? tile.joining_consumer_registers : tile.consumer_registers) = consumer;
  return tile;
}
constexpr Wgmma alone(Wgmma tile) {
  tile.joins = false;
  return tile;
}
/// A tile of which an instruction takes `mma_n` columns, and another one the rest.
constexpr Wgmma in_two(Wgmma tile, std::size_t mma_n) {
  tile.of.mma_n = mma_n;
  return tile;
}

inline constexpr std::array<Wgmma, 26> kWgmma{{
    with_registers(aligned_tile(2, 256, 4, 1), 56, 224, true),
    aligned_tile(2, 128, 6, 3),
    aligned_tile(1, 256, 4, 2),
    aligned_tile(1, 128, 6, 4),
    aligned_tile(2, 64, 8, 5),
    aligned_tile(1, 64, 8, 6),
    with_registers(aligned_tile(2, 192, 5, 2), 56, 224, true),
    aligned_tile(2, 96, 6, 4),
    aligned_tile(1, 192, 6, 4),
    aligned_tile(1, 96, 8, 6),
    {{2, 2, 256, 128, 3, 1}, {2036, 2036, 2180}, 90, 96, 160, 0, 0, true, false},
    {{2, 2, 128, 128, 4, 1}, {1232, 1232, 1370}, 350, 0, 0, 0, 0, true},
    alone(aligned_tile(3, 128, 4, 2)),
    alone(aligned_tile(4, 128, 4, 1)),
    with_registers(aligned_tile(3, 192, 4, 1), 40, 152, false),
    aligned_tile(2, 144, 5, 2),
    aligned_tile(2, 160, 5, 2),
    with_registers(aligned_tile(2, 176, 5, 2), 56, 224, true),
    with_registers(aligned_tile(2, 208, 4, 1), 56, 224, true),
    with_registers(aligned_tile(2, 224, 4, 1), 56, 224, true),
    with_registers(aligned_tile(2, 240, 4, 1), 56, 224, true),
    in_two(with_registers(aligned_tile(2, 288, 3, 1), 56, 224, false), 192),
    in_two(with_registers(aligned_tile(2, 320, 3, 1), 40, 232, false), 192),
    aligned_tile(1, 144, 6, 4),
    aligned_tile(1, 160, 6, 4),
    aligned_tile(1, 224, 5, 3),
}};

/// A tile of "wgmma" by its number in a choice: of a policy's tiles, or beyond them of the same with
/// exchanged factors, whose rows are columns of C.
struct WgmmaChoice {
  const Wgmma& tile;
  bool exchanged;
};

}  // namespace smem::plan::gemm::nvidia
