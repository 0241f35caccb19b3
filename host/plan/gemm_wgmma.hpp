/// The tiles of "wgmma" (cl/nvidia/gemm/wgmma.cl), and what they cost.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

namespace smem::plan::gemm::nvidia {

/// Columns of an instruction of fp8: its sums have registers of their own.
inline constexpr std::size_t kMostOfFp8 = 128;

/// Of the maps of A, B, their last lines and C that Hopper's copies of boxes read
/// (cl/nvidia/gemm_producer_tensor.clh), for a group.
inline constexpr std::size_t kMapsBytes = 640;
/// Of a box of a warpgroup's results (cl/nvidia/gemm_box_results.clh).
inline constexpr std::size_t kBoxBytes = 8192;
/// Of k that a step of wgmma.cl takes of each row.
inline constexpr std::size_t kStepBytes = 128;
/// Columns or rows of thin tiles, at most.
inline constexpr std::size_t kMostThin = 32;
/// Stages of tiles whose consumers take turns, at most.
inline constexpr std::size_t kStagesInTurns = 12;
/// Parts of a tile that groups add together (cl/nvidia/gemm_shared_join.clh), of which a counter has a bit
/// for each.
inline constexpr std::size_t kLeastShared = 4, kMostShared = 16;

/// The time of a tile, in nanoseconds.
struct Cost {
  double step;              ///< of TILE_K k by a group that is alone on its multiprocessor
  double shared;            ///< of the same by each of several, at least
  double tile;              ///< before its first step and after its last one
  double loose = 1;         ///< what factors with unaligned rows make of a step, beside Rates
  double loose_shared = 0;  ///< the same of a step that several share; 0: as of one that is alone
  double short_tile = 0;    ///< `tile`, of aligned results of 16 bits; 0: Rates::short_c says it
};

/// Of a work-item.
struct Registers {
  std::size_t producer, consumer;
};
/// Of wide tiles of one producer and two consumers, where C or an epilogue is read of a list, whose offsets
/// the producers have too: 128 * (88 + 2 * 208) of the multiprocessor's 65536.
inline constexpr Registers kRegistersOfLists{88, 208};

/// Columns of a tile of consumers in turn, at most, where C or an epilogue is read of a list: of 256 ptxas
/// spills 20 to 92 bytes.
inline constexpr std::size_t kMostOfFinishedLists = 224;

/// wgmma.cl: half and bfloat16 any way; int8 and fp8 where both factors lie along k, TF32 where one does.
/// Rows of A and B begin at multiples of 16 bytes, or anywhere (`loose`). The number of groups is the smaller
/// of multiprocessors and tiles.
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
  bool joins = true;      ///< whether several groups can share a tile
  bool pingpong = false;  ///< whether consumers have a tile each, of 64 rows, in turn: nvidia::in_turns()

  constexpr std::size_t tile_m() const { return 64 * (pingpong ? 1 : of.consumers); }
  constexpr std::size_t group() const { return 128 * (of.consumers + of.producers); }
  /// Of fp8, the sums of a step are beside those of all: by half of the columns of the widest tiles.
  constexpr bool halves_fp8() const { return of.mma_n > kMostOfFp8; }
  constexpr Registers registers_of_fp8() const {
    if (of.consumers == 3) return {40, 152};
    return {joining_producer_registers, joining_consumer_registers};
  }
  constexpr bool has_many_sums() const { return of.consumers > 2 && of.tile_n > 192; }
  /// Whether a list's kernel spills, whose producers copy boxes, and elements of matrices that begin
  /// anywhere: by ptxas 8 to 428 bytes for 192 x 144, 192 x 160, 192 x 192, 192 x 256, 256 x 128, 128 x 288
  /// and 128 x 320.
  constexpr bool is_large_for_lists() const {
    return of.consumers > 3 || (of.consumers == 3 && of.tile_n > 128) || of.tile_n > 256;
  }
  /// Whether registers are left for what C and the epilogue read of several rows: FINISHES_ROWS.
  constexpr bool finishes_rows() const {
    return of.consumers < 4 && of.consumers * of.tile_n <= 640 && of.tile_n != 240;
  }
  /// Of few columns, for a factor that streams from memory once.
  constexpr bool is_thin() const { return of.tile_n <= kMostThin; }
  /// Of a warpgroup's results, on their way to C.
  constexpr std::size_t out_bytes() const { return of.consumers < 4 ? 10240 : 5120; }
  /// `through_local`: C's rows are not aligned to pairs, have 16 bits, or there is an epilogue. A second
  /// factor across k has whole blocks of 64 n.
  constexpr std::size_t local_bytes(bool through_local, bool b_along_k) const {
    const std::size_t lines = tile_m() + (b_along_k ? of.tile_n : (of.tile_n + 63) / 64 * 64);
    return of.stages * lines * 128 + (loose ? lines * 144 : 0) +
           (through_local ? of.consumers * out_bytes() : 0) + 16 * of.stages +
           (pingpong ? 12 : 4) * of.consumers;
  }
};

// The loose tile of 128 x 256 has two producers: 250 TFLOP/s at 4097 x 4095 x 1023 and 333 at 8191; with one
// it reaches 230 and 278. 64 x 128, on an H200, us, and by 128 x 128: 678 x 1092 x 197, both transposed, 9.2,
// 10.4; 59 x 9076 x 466, B transposed, 13.7, 14.6; 60 x 5000 x 2001 18.8, 24.1.
//
// Of few k their ends are most of the time: 3001 x 5003 x 17 half by 128 x 256, 128 x 128 27.7, 31.0, by a
// model with 2180 and 1370 for them 24.7, 29.4. Stores by predicates, of four rows that local memory delivers
// at once, 30.6.
//
// Widths between the powers of two, and exchanged factors, are for C of few rows or columns, and for the last
// round of tiles. Half on an H200, in us, by the tiles of 64, 128, 192 and 256 that were there before (some
// only with a second factor along k), by these, and cuBLAS, all with random numbers: 14992 x 272 x 6224, A
// transposed, 142, 95 by 128 x 288, 82; 160 x 16176 x 1008, A transposed, 18, 14.2 by 160 x 128, 12.7; 272 x
// 1104 x 10432 27, 21.1 by 144 x 64, 19.2; 768 x 6128 x 1664 34, 25 by 192 x 192, 24; 4144 x 176 x 5344 43,
// 29 by 96 x 64, 30; 2944 x 800 x 3104 35, 26 by 128 x 160, 23. 256 x 128 and 192 x 192 have fewer bytes for
// each product than 192 x 128: 15520 x 3168 x 240 60, 57.
//
// 192 x 144 and 192 x 160 are for the last round of large products, and have more products for each byte of
// factors than 128 x 128 to 128 x 208, which the copies of all groups hold up (Rates::shared): half on an
// H200, 12192 x 560 x 576 by 256 x 128 22.3, by 144 x 192 19.3 to 21.1; 2080 x 1808 x 15696, A
// transposed, by 128 x 128 233, by 192 x 160 217, for which the model says 17 % less; cuBLAS 165.
//
// Sums in parts by 128 x 208: 1168 x 208 x 10784, B transposed, 21.7, 20.6, cuBLAS 14.0; 3456 x 208 x 16144,
// B transposed, 54.7, 52.6, 46.2.
//
// 192 x 256, whose producers have registers for boxes alone: 11040 x 400 x 15952, A transposed, by 128 x 144
// 335, by 192 x 256 248 to 257; 10320 x 1584 x 3152 183 and 181 to 195; 8192^3 by 256 x 128 1474, 1449 to
// 1564; 14208 x 7008 x 2992 by 192 x 192 855, 945.
//
// Slower there: consumers that begin a tile one step after another, so that one stores while others multiply
// (6448 x 15104 x 480 by 256 x 128 175, 214 us; three steps of four stages are behind); bulk copies of rows
// of 128 bytes from local memory to C (15520 x 3168 x 240 by 192 x 128 74 beside 60 us); the same time: a
// warp for the map of each factor, and loads of two parts at once where sums are joined. Three groups a
// multiprocessor for tiles of 64 x 64, of four stages: 40,000 of 32^3 221 us, by one group 161; 10,000 of
// 64^3 72, 69 to 72.
//
// Consumers of 64 rows in turn (in_turns), half on an H200, us, before, so, and cuBLAS: 10,000 of 64^3 68 to
// 71, 65, 62; 40,000 of 32^3 102, 73, 131; 30,000 of 24^3 90, 57, 102; 256 of 1024 x 64 x 64, B transposed,
// 23.0, 21.5, 22.0; 200 of 384^3 by 64 x 192 54, 52, 54. The same or slower: 3000 of 96^3 by 64 x 96 53, by
// 128 x 96 46; 128 of 512^3 by 64 x 256 67, by 128 x 256 66; by pieces and not boxes 32^3 116; 64^3 int8, B
// transposed, 79, 77. 600 of 200^3 take 55 us, by 64 x 224, so, 69, and cuBLAS's clusters of four, which
// share a factor and NVIDIA's OpenCL driver does not launch, 42 to 48: by 128 x 208 without stores 39,
// without loads 35, without products 54. Two slabs of 64 rows a consumer, 256 x 208, take 54; so 8192^3 1417
// and 1444, by 128 x 224 1484 and 1464, of five other large shapes one less, two more. Maps that ask the
// cache for lines of 128 or 256 bytes, stores past it (st.global.cs): the same; loads that it keeps least:
// 64^3 65, 69.
//
// Of aligned rows a step takes the time of its products, and a tile that of its results, whichever way the
// factors lie: on an H200 4096^3 takes 210 to 214 us by 128 x 256 in all four orders. The numbers are fitted
// to 103 measurements of tiles of 19 shapes of half, with random numbers (which take more power than others,
// and so time); their mean error is 6 %. Those of narrow tiles, whose sums are joined, come from few shapes.
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

inline constexpr std::array<Wgmma, 34> kWgmma{{
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
    {{2, 2, 256, 128, 3, 1}, {2036, 2036, 2600}, 90, 96, 160, 0, 0, true, false},
    {{2, 2, 128, 128, 4, 1}, {1232, 1232, 1550}, 350, 0, 0, 0, 0, true},
    alone(aligned_tile(3, 128, 4, 2)),
    alone(aligned_tile(4, 128, 4, 1)),
    with_registers(aligned_tile(3, 192, 4, 1), 40, 152, false),
    aligned_tile(2, 144, 5, 2),
    aligned_tile(2, 160, 5, 2),
    with_registers(aligned_tile(2, 176, 5, 2), 56, 224, true),
    with_registers(aligned_tile(2, 208, 4, 1), 56, 224, true),
    alone(aligned_tile(2, 224, 4, 1)),
    alone(aligned_tile(2, 240, 4, 1)),
    in_two(with_registers(aligned_tile(2, 288, 3, 1), 56, 224, false), 192),
    in_two(with_registers(aligned_tile(2, 320, 3, 1), 40, 232, false), 192),
    aligned_tile(1, 144, 6, 4),
    aligned_tile(1, 160, 6, 4),
    aligned_tile(1, 224, 5, 3),
    with_registers(aligned_tile(3, 144, 4, 1), 40, 152, false),
    with_registers(aligned_tile(3, 160, 4, 1), 40, 152, false),
    in_two(with_registers(aligned_tile(3, 256, 3, 1), 32, 160, false), 128),
    alone(aligned_tile(1, 16, 12, 8)),
    alone(aligned_tile(1, 32, 12, 8)),
    alone(aligned_tile(2, 16, 8, 6)),
    alone(aligned_tile(2, 32, 8, 6)),
    {{1, 2, 128, 128, 4, 1}, {930, 930, 1250}, 350, 0, 0, 0, 0, true},
}};

/// Bytes a nanosecond that thin tiles copy from memory, whichever way the wide factor lies: all, and a group
/// at most.
///
/// On an H200, us, by 64 x 16, 128 x 16, "mma", cuBLAS: 16 x 8192 x 8192 half, B transposed, 37 to 38, 38, 39
/// to 40, 35 to 36; as it lies 36.5, 36.4, 38.4, 40; 8192 x 16 x 8192 43, 39 to 40, 47, 40; 1 x 11008 x 4096,
/// B transposed, 30.5, 26.7, 29.3, 25.1; 16 x 8192 x 8192 int8 21.9, -, 23.7, 24.7; 16 x 4096 x 8192 TF32 40
/// to 41, 49.5 by 32 groups, 41, 41. Of several rounds: 1 x 28672 x 8192 117, 112, 112, 112; 24 x 30000 x
/// 1024 by 32 x 128 22.4, by 64 x 256 21.3. Of sums in parts 3 to 8 us more. Of 32 MB "mma" is faster: 8 x
/// 4096 x 4096 half 11.8, -, 10.4, 11.6. Of a batch, 64 x 32: 30,000 of 24^3 92, by registers 112, 102.
struct Thin {
  double memory, group;
};
inline constexpr Thin kThin{4700, 72};

/// A tile of "wgmma" by its number in a choice: of a policy's tiles, or beyond them of the same with
/// exchanged factors, whose rows are columns of C.
struct WgmmaChoice {
  const Wgmma& tile;
  bool exchanged;
};

}  // namespace smem::plan::gemm::nvidia
