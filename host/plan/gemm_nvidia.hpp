/// The numbers of NVIDIA's own gemm kernels (cl/nvidia/gemm/multistage.cl, wgmma.cl, mma.cl, dmma.cl,
/// small.cl, pack.cl, turn.cl): the tiles that they can have, and what a model of their time needs to choose
/// among them (gemm_model.hpp).
#pragma once

#include "plan/gemm_dmma.hpp"
#include "plan/gemm_mma.hpp"
#include "plan/gemm_multistage.hpp"
#include "plan/gemm_small.hpp"
#include "plan/gemm_wgmma.hpp"
#include "plan/policy.hpp"
#include "plan/sizes.hpp"

#include <smem/gemm_plan.hpp>

#include <cstddef>
#include <span>

namespace smem::plan::gemm::nvidia {

/// By which the groups that share a tile know the last of them, in local memory.
inline constexpr std::size_t kFlagBytes = 4;

/// What a layout of a factor makes of a step's time.
struct Factors {
  double across, loose_across, along, loose_along;  ///< k; rows aligned to 16 bytes, or loose

  constexpr double of(bool along_k, bool is_loose) const {
    return along_k ? (is_loose ? loose_along : along) : (is_loose ? loose_across : across);
  }
};

/// What a factor of int8 (bytes) or TF32 (words) makes of a step, beside Factors: across k, and along it.
/// Rows of bytes across k that are aligned to 4 bytes are copied by words. `loose`: other rows.
///
/// A copy of bytes issues all its loads before it uses the first. When it issued them one after the other, a
/// step took 4.2 times (words) and 3.7 times (other rows) as long as a step along k. int8 on an H200, us, so
/// before and now: 500^3 14.2, 8.5; 200^3 12.7, 5.6; 16 x 672 x 48, A transposed, 7.2, 5.6; 1000 x 16 x 512,
/// A transposed, 11.2, 8.3; 2560 x 16 x 480 10.5, 8.0.
struct Across {
  double aligned, loose, loose_along = 1;
};

/// What the times of all tiles of a kernel have in common.
struct Rates {
  double launch;      ///< nanoseconds
  double memory;      ///< bytes a nanosecond
  double join;        ///< nanoseconds for a tile that groups share, and its sums
  double join_bytes;  ///< of sums a nanosecond
  double loose_c;     ///< what unaligned rows of C make of a tile's own time
  Factors a, b;
  Across bytes = {1, 1}, words = {1, 1};
  double rounding = 1;       ///< what TF32, whose fragments are rounded, makes of a step
  double promoted = 1;       ///< what half of a tile's columns at a time make of a step of fp8
  double short_c = 1;        ///< what aligned results of 16 bits make of a tile's own time
  double loose_words_c = 1;  ///< what unaligned rows of results of 4 bytes make of it, beside loose_c
  double loose_short_c = 1;  ///< the same of 16 bits, of one product
  double cached = 0;  ///< as `memory`, of arrays that stay in the cache (Policy::cached_bytes); 0: the same
  double short_lines = 0;        ///< the same of a larger factor across k by short lines; 0: the same
  std::size_t short_line = 128;  ///< bytes of such a line, at most
  /// The same of words across k that go through registers (cl/nvidia/wgmma_words.clh), by lines of any length
  /// and however often; 0: the same. On an H200, us, and the model without: 32 x 2384 x 9536, A transposed,
  /// by 64 x 128 46.6, 37.7, by "mma" 41; 48 x 5120 x 5120, A transposed, 44.6, 41.6, by "mma" 42; 272 x
  /// 14736 x 2576 by 144 x 128 78.6, 124.7; 272 x 4720 x 9872, A transposed, by 96 x 128 111, 161.
  double across_words = 0;
  /// How much longer a step takes, beside the factors of A and B, if both are 2-byte elements across k in
  /// unaligned rows. Half on an H200, A transposed, us, by "mma", by "wgmma", and cuBLAS: 1882 x 66 x
  /// 4442 24.5 (18.0 without in the model), 18.5, 17.6; 1004 x 100 x 4004 15.4 (14.4), 13.5, 12.7; 130 x 3002
  /// x 1026 16.3 (13.3), 19.9, 15.7; 468 x 205 x 8904 26 (19.6), 18.5, 24.9.
  double both_across = 1;
  /// Bytes a nanosecond of factors that a multiprocessor copies from the cache where all do; 0: not counted.
  /// By boxes of rows that begin at no multiples of 128 bytes on an H200, a step of 2080 x 1808 x 15696 by
  /// 128 x 128 takes 460 ns (71), of 4048 x 3120 x 4976 by 128 x 160 550 (74), of 10320 x 1584 x 3152 by 128
  /// x 144 540 (76), of 2976 x 11296 x 3072 by 128 x 208 650 (76), half; of 4096^3 by 128 x 128 390 (84).
  double shared = 0;
  /// The same of one round of tiles, of whole lines of 128 bytes: a row of a box that begins elsewhere takes
  /// two. Half on an H200, us: A transposed, 4736 x 224 x 3264 by 144 x 64, chosen without, 24.6, by 160 x 64
  /// 23.2, by 192 x 64 17.6 to 17.9, cuBLAS, by clusters of eight, 14.8; 2368 x 640 x 4864 by 96 x 128,
  /// chosen without, 31.7, by 192 x 64 22.2. B transposed, 256 x 4096 x 4096 by 64 x 128 16.0, by 128 x
  /// 96 19.9, cuBLAS 16.3; 384 x 4096 x 4096 by 128 x 96 21.6, by 96 x 128 26.2, cuBLAS 25.3. Fitted with the
  /// two numbers below to 593 times of 111 shapes: the choice is 1.2 instead of 1.9 % over the fastest, and
  /// at most 5 % in 104 instead of 101.
  double shared_lines = 0;
  /// As `join`, where the groups of a tile add its parts together. Half on an H200, us, before and so: 1512 x
  /// 84 x 15628 53.2, 37.7; 384 x 656 x 12576 by 128 x 176 29.0, 24.3; 2032 x 80 x 15968 32.0, 29.6; of 2 or
  /// 3 parts, 4736 x 224 x 3264 by 144 x 128 25.8, 26.9.
  double shared_join = 0;
  /// Bytes a nanosecond of aligned results of TF32 that a group stores beside a tile's own time; 0: in that.
  /// By "wgmma" on an H200, in us, and the model without: 1680 x 11968 x 32, both transposed, by 128 x 256
  /// 33, by "mma" 42.5; 15520 x 3168 x 240 by 192 x 128 128, 96, by 128 x 128 132, 98; 656 x 14720 x
  /// 48 29.7, 25.7, by "mma" 27.4, 29.3.
  double stored = 0;
  /// The same of tiles of so few steps that their results are most of what they take, instead of a tile's own
  /// time and `stored`: by boxes, and by pairs. On an H200, us, and the model without: 12416 x 5488 x 16, B
  /// transposed, by 128 x 128, boxes, 81, 117, by 256 x 128, pairs, 100, 105, by "mma" 96, 97, cuBLAS 76;
  /// 14992 x 9936 x 32, both transposed, by 128 x 128 186, 253, cuBLAS 203; 3824 x 10704 x 16, both
  /// transposed, 63, 77, by "multistage" 78, 63, cuBLAS 56; 9408 x 10320 x 32 by 224 x 128 125, 152, cuBLAS
  /// 132; 7904 x 1376 x 32, B transposed, 16, 21, cuBLAS 21.
  double by_boxes = 0, by_pairs = 0;
};

/// pack.cl before wgmma.cl: rows that begin anywhere, with scratch memory for both factors at pitches of a
/// multiple of so many elements. A factor that is aligned already need not be packed.
///
/// turn.cl before it: of int8, fp8 and TF32, factors that do not lie along k too; before multistage.cl: of
/// float, factors that do not lie across it in aligned rows.
struct Pack {
  std::size_t group = 256, lines = 2, pitch = 64;
  std::size_t least_group = 64;    ///< of turn.cl
  double least = 0x1p30;           ///< m n k from which packing is worth its launch
  double least_turned = 0x1p27;    ///< the same of int8, fp8 and TF32
  double least_across = 0x1.8p31;  ///< the same of float
  std::size_t turned_lines = 128;  ///< of a block
  std::size_t turned_bytes = 128;  ///< of a line in a block
  double launch = 4370;            ///< nanoseconds
  double memory = 3500;            ///< bytes a nanosecond, read and written
  double turned_memory = 2580;     ///< the same of int8, fp8 and float
  /// Of TF32. On an H200 14992 x 272 x 6224 TF32, A across k, took 509 us where few loads of a
  /// block were in flight, and takes 435.
  double turned_words = 3150;
};

/// What a tile's end takes longer where C is read or there is an epilogue: nanoseconds for each result of a
/// work-item, by rows of which all is read at once, and where one after the other is (Wgmma::finishes_rows).
///
/// Half on an H200, us, one after the other, and by rows: 10,000 of 64^3 with beta 1239, 189, by three
/// consumers in turn 94, cuBLAS 106; with a residual 1227, 114; with a bias 271, 72; 4096^3 by 128 x 256, B
/// transposed, with beta 396, 210, with a bias and GELU 288, 267; 512 x 4096 x 1024, bias and residual, 24,
/// 13, by 128 x 128 of "mma" 58, 30.
struct Finish {
  double rows = 40, single_read = 400, single = 250;
  double calls = 50;  ///< of GELU or an expression, for each warpgroup: all share the multiprocessor
};

struct Policy {
  When when;
  Evidence multistage_evidence, wgmma_evidence, mma_evidence, dmma_evidence, packed, turned, across,
      fp8_evidence, small_evidence;
  std::span<const Multistage> multistage = kMultistage;
  std::span<const Wgmma> wgmma = kWgmma;
  std::span<const Mma> mma = kMma;
  std::span<const Dmma> dmma = kDmma;
  std::size_t dmma_k = 8;  ///< of an instruction, from sm_90 on
  Small small = kSmall, small_of_doubles = kSmallOfDoubles;
  Thin thin = kThin;
  // What the model chooses where it is fastest; else by name alone.
  bool chooses_dmma = false;
  bool chooses_turned = false;   ///< factors that are turned before "wgmma"
  bool chooses_batched = false;  ///< tiles of small products
  bool chooses_fp8 = false;      ///< "wgmma" of fp8
  /// Whether the cache reads 256 bytes of memory for a copy of "multistage", whose lines along k have 32 to
  /// 128, mostly 64. Float on an H200, us, without, so, and cuBLAS, B transposed: 1830 x 19 x 9090 71, 61,
  /// 48; 16150 x 17 x 1685 98, 85, 63; 8000 x 20 x 4096 86, 73, 77; 700 x 20 x 30001 87, 75, 63; by 128 bytes
  /// 65, 91, 76, 80; 2048^3 378, 375. Needs PTX 7.4, which drivers for older devices may not have.
  bool reads_ahead = false;
  Rates multistage_rates = {5120, 3360, 1350, 48, 1.24, {1, 1.09, 1.06, 1.10}, {1, 1.14, 1.15, 1.11}};
  Rates wgmma_rates = {.launch = 4400,
                       .memory = 4250,
                       .join = 2000,
                       .join_bytes = 50,
                       .loose_c = 1.3,
                       .a = {1, 0.89, 1, 1.11},
                       .b = {1, 0.82, 1, 0.87},
                       .promoted = 1.18,
                       .short_c = 0.61,
                       .loose_words_c = 1.6,
                       .cached = 6400,
                       .across_words = 3600,
                       .shared = 75,
                       .shared_lines = 110,
                       .shared_join = 2500,
                       .stored = 120,
                       .by_boxes = 42,
                       .by_pairs = 34};
  Rates mma_rates = {.launch = 4600,
                     .memory = 4220,
                     .join = 1300,
                     .join_bytes = 95,
                     .loose_c = 1.15,
                     .a = {1.025, 1.14, 0.84, 1.65},
                     .b = {1, 0.99, 0.885, 1.58},
                     .bytes = {1.8, 3.1, 1.29},
                     .words = {1, 1.28, 0.75},
                     .rounding = 1.16,
                     .loose_words_c = 0.54,
                     .loose_short_c = 0.65,
                     .both_across = 1.35};
  Rates dmma_rates = {.launch = 4180,
                      .memory = 4040,
                      .join = 1980,
                      .join_bytes = 63,
                      .loose_c = 1.24,
                      .a = {1, 1, 1, 1},
                      .b = {1, 1.12, 1, 1.12},
                      .short_lines = 2000,
                      .short_line = 256};
  /// What a step takes of a group of dmma.cl that is alone, where factors stream from memory, for which it
  /// waits: 400 x 1120 x 8320, B transposed, on an H200 by 64 x 64 234 us, in 2 parts 171.
  double dmma_streamed = 1.1;
  /// Lines of the cache that the groups of a multiprocessor copy from in a nanosecond: dmma.cl, H200, 240 x
  /// 5952 x 1024 by 128 x 16 0.82, 2384 x 864 x 2128 by 16 x 128 0.76.
  double dmma_lines = 0.7;
  /// Bytes that one group of a multiprocessor copies in a nanosecond, and several, where factors stream whose
  /// rows begin anywhere in a line: 1588 x 136 x 4009, both transposed, by 64 x 32 52; 2145 x 15000 x 122, B
  /// transposed, by 64 x 32 42; 6530 x 1054 x 706, A transposed, by 128 x 32 44; 237 x 744 x 7266, B
  /// transposed, by 32 x 64 43.
  double dmma_crossed = 60, dmma_crossed_shared = 50;
  /// Asynchronous copies that a multiprocessor starts in a nanosecond, of any size: of dmma.cl where rows
  /// begin anywhere. H200, 1001 x 1203 x 771 in all layouts, a step's copies by its time: 6.2 to 7.9 of the
  /// ten tiles whose instructions take less, 128 x 16 to 64 x 64.
  double dmma_copies = 6.9;
  Pack pack = {};
  /// What pieces of 4 or 8 bytes of lines at their multiples make of a step of "mma" whose warps have more
  /// than 2048 results: Cost::loose is of lines that begin anywhere, which go through registers. Half on an
  /// H200, us, by 128 x 128, with the latter in the model, and cuBLAS: 1916 x 11620 x 20, B
  /// transposed, 31.2, 57.9, 31.5; 290 x 10098 x 17, A transposed, 7.7, 11.6, 9.5; 1375 x 2684 x
  /// 44 8.1, 14.7, 9.4.
  double pieces = 1;
  /// Sums in parts: the least k of a part, the most parts, and the counters that a launch has.
  std::size_t least_depth = 128, most_parts = 256, counters = kSharedCounters / 4;
  /// The most parts of tiles of "multistage" that are more than units, for the sake of the last round. Float
  /// on an H200, us, whole, so, and cuBLAS: 1984 x 848 x 12944, B transposed, 1247, in 3 parts 1174, 930;
  /// 1203 x 1299 x 14500, B transposed, 1412, in 5 1185, 1076; 152 x 14267 x 4091, both transposed, 574, in 3
  /// 518, 510; 527 x 2005 x 896, A transposed, 89, in 7 77, 64; 416 x 5936 x 1856, A transposed, 271, in 2
  /// 263, 234; 3776 x 1536 x 1888 486, in 2 466, 493; 8703 x 178 x 2100, both transposed, 221, in 3 227, 176.
  /// By "mma" 152 x 14267 x 4091 TF32 in 3 323, by "wgmma" 222; 53 x 9751 x 4173 double in 5 163, by another
  /// tile 136.
  std::size_t parts_of_rounds = 8;
  /// Parts of a sum that are added first, where it has more than so many.
  std::size_t team = 8, team_parts = 12;
  /// Steps of a group of "wgmma" from which a work-item copies boxes, of a group whose tiles have as many,
  /// and of a tile in a batch. On an H200, us, without and with: 1424 x 12912 x 16 half 14.0, 16.7; 13424 x
  /// 672 x 80, both transposed, 11.4, 12.2; 4096 x 4096 x 128 14.1, 13.7; 8080 x 1328 x 304 19.3, 18.4; 3136
  /// x 2048 x 512, B transposed, 19.6, 15.0; 816 x 2960 x 1088 15.1, 12.5; 600 of 200^3 68, 62; 3000 of 96^3
  /// 46, 48.
  std::size_t box_steps = 24, tile_box_steps = 4, batched_box_steps = 3;
  /// The bytes of factors that several tiles read, up to which groups of "wgmma" may be at different k of a
  /// sum in parts: beyond that the cache of 50 MB, in two halves, no longer has what others have read. In us
  /// on an H100, half, equal parts and others: 624 x 2736 x 8064, 54 MB: 128 x 256 60 and 116, 128 x 192 75
  /// and 104; 176 x 2160 x 10512, 45 MB: 64 x 128 40 and 54; 1024 x 1536 x 6016, 31 MB: 128 x 256 50 and 57;
  /// 624 x 2736 x 3008, 20 MB: 43 and 46.
  /// Where arrays stream, half on an H200, equal parts and others: 6880 x 160 x 9264, both transposed, by 128
  /// x 160 51, 56; 6912 x 160 x 9216 46, 53; 6096 x 208 x 11536, B transposed, by 128 x 256 74, 76.
  double spread_bytes = 19e6;
  /// Bytes of all arrays up to which they stay in the cache, and from which each call reads them from memory.
  /// In us on an H200, half: 12992 x 96 x 688, 20 MB, 128 x 96 9.6 (by 4000 bytes a nanosecond 12.3),
  /// cuBLAS 10.2. 3360 x 160 x 7648, 55 MB, both factors transposed, 28 to 30.
  double cached_bytes = 25e6, streamed_bytes = 50e6;
  /// Nanoseconds that "wgmma" takes beside its other ones where words across k go through registers. Of small
  /// products on an H200, us, by 64 x 64, without in the model, by "mma": 208 x 128 x 880 8.7 to 10.3, 10.0,
  /// 7.6 to 7.9; 64 x 48 x 176 8.9 to 9.7, 7.0, 6.4 to 8.5; 32 x 224 x 1200, both transposed, 9.3 to 14.3,
  /// 10.1, 7.3 to 10.5; 288 x 16 x 1328 10.2 to 10.9, 10.1, 8.1 to 9.7.
  double words = 2000;
  /// Of "wgmma" in a batch: what storing a tile takes of its own time where the next one's copies are under
  /// way, and what four warpgroups make of a step. Half on an H200, us: 10,000 of 64^3 66 to 69, of 48^3, A
  /// transposed, 40; by 128 x 256 and 256 x 128 128 of 512^3 64 to 65, 69; 500 of 256^3 57, 58.
  double stored_beside = 0.39, of_four = 1.04;
  /// The same of results of 16 bits in rows that begin anywhere: 20,000 of 49 x 49 x 32, B transposed, 317,
  /// by three consumers in turn 149. Not a fact, but fitted: of ten such batches, us and the model, by 64 x
  /// 64 152, 157; 65 x 33 x 64 159, 155; 100 x 99 x 96 145, 130; 64 x 63 x 256 61, 61; 31 x 250 x 40 162,
  /// 156; 64 x 101 x 16 163, 155; by 64 x 128, for which it is too high, 194, 305; 99, 133; 109, 159; 103,
  /// 159. The choice is the fastest measured, or 1 to 5 % over it, in eight; 49 x 49 x 32 takes 133
  /// instead of 117, 64 x 101 x 16 137 instead of 103.
  double stored_loose = 2.2;
  /// The same of factors with unaligned rows, whose copies are not under way meanwhile: by 64 x 128, half on
  /// an H200, us, and the model: 12,000 of 49^3 240, 246; 20,000 of 33^3 388, 400; 40,000 of 30 x 31 x 17
  /// 760, 791; 3000 of 99 x 101 x 99 154, 170; 4000 of 130 x 70 x 45 264, 245; 20,000 of 49 x 32 x 49 239,
  /// 294.
  double stored_after = 1.2;
  /// The same of a list: 1000 of 128^3 by 64 x 128 in turn 33.9, by 128 x 128 31.7; 10,000 of 64^3 by one
  /// consumer 90, in turn 65, by "mma" 108. Of seven lists, of which none had consumers in turn, the choice
  /// is the fastest measured, or 2 % over it; us and the model: 48^3 86, 86; 96 x 80 x 64 56, 49; 128^3 45,
  /// 43; 256 x 128 x 64 55, 52; 64 x 192 x 32 124, 129; 32 x 32 x 128 201, 171; 200^3 62, 44.
  double stored_listed = 1;
  /// What a tile of a list takes at least, whose offsets are read while the one before is copied: 40,000 of
  /// 32^3 142, not of a list 73.
  double offsets = 470;
  /// A tile's own time of "multistage" in a batch of more products than multiprocessors, at least: 10,000 of
  /// 49 x 49 x 32 float, B transposed, by 64 x 32 166 us, by 64 x 64 133. Of
  /// ten such batches the choice is the fastest measured in seven; us of tiles that it holds for, and the
  /// model: 64 x 32 165, 174; 32^3 115, 151; 64^3 108, 124; 48 x 48 x 200 157, 188; of a warp's tile, 16 x
  /// 32, for which it is too high, 69, 104; 118, 218 of 24 x 40 x 16, where the choice takes 129; 133, 147 of
  /// 30 x 120 x 60, where it takes 164.
  double batched_tile = 800;
  Finish finish = {};
  /// What pieces of less than 64 bytes side by side make of the time of units whose producers copy them: 160
  /// x 16176 x 1008 half, both factors across k, takes 14 us by 160 x 128, 20 and 22 by 176 x 128 and 240 x
  /// 128.
  double narrow_pieces = 1.5;
  /// How much shorter a step of "wgmma" is where all other multiprocessors have no tile, of aligned rows and
  /// at least so many results: they take power, which the clock follows. Steps of 4736 x 224 x 3264 half, A
  /// transposed, on an H200 by 192 x 128, of 50 groups, 427 ns (560 of a device that is full), by 192 x 64,
  /// of 100, 231 (293). Of smaller tiles, whose steps wait for copies, it chose slower ones.
  double idle_gain = 0.2;
  std::size_t hot_results = std::size_t{192} * 64;
  /// What exchanged factors make of the time of "wgmma", half on an H200: of 41 tiles, beside the same one of
  /// factors in order, 0.89 to 1.24, on average 1.03.
  double exchanged = 1.01;
  double gain = 1.04;    ///< that it must have by the model, which is that far off
  double overlap = 0.8;  ///< the part of the shorter of memory's and the units' time that is hidden
  /// The same of steps of "wgmma" where factors stream: ends of tiles and joins, which nothing hides, come
  /// after both. What part of the columns beside a tile that boxes across k copy is read from memory again,
  /// and of A where several tiles across read it. And how many of the groups that copy at once slow each
  /// other at least, where few do.
  ///
  /// Half on an H200, us, the choice before, so, and cuBLAS: 128 x 8000 x 8000 43.2, by 128 x 64 37.6, 36.3;
  /// A transposed, 8000 x 128 x 8000 43.8, by 64 x 128 37.0, 36.7; 128 x 8000 x 4000 26.9, 22.4, 21.8; 200 x
  /// 8448 x 6144 44.5, by 224 x 64 36.7, 33.5; 112 x 7968 x 7760 49.4, 43.6, 39.0. Of 361 times of 18 such
  /// shapes the mean error is 7 instead of 11 %, the choice 1.6 instead of 9 % over the fastest. Beside
  /// tiles: 128 x 8000 x 8000 by 128 x 128 in 126 parts 43.2, by 128 x 144 in 112 49.3, by 128 x 160 in
  /// 100 48.9. A again: 8000 x 128 x 8000 by 64 x 128 39.4, by 128 x 64 47.0. Few groups: 7968 x 80 x 13744
  /// by 128 x 96, of 63, 77 to 94, by 144 x 128 in 112 parts 74 to 75, cuBLAS 67. Neither lines of 128 bytes
  /// nor a larger factor that several tiles read have rates of their own. Parts of two that both groups add
  /// took as long as the last group alone: 128 x 8000 x 8000 43.9, 43.3.
  double streamed_overlap = 0.95, streamed_beside = 0.75, streamed_again = 0.2, streamed_part = 0.75;
  /// Tiles down that groups of "wgmma" take before they go on to the right: 16 groups that follow each other
  /// share a GPC. Half on an H200, us, 12 and 8: 8572 x 5082 x 3755 565, 532; 13888 x 4096 x 2880 511 to 531,
  /// 499; 14208 x 7008 x 2992 878 to 917, 852; of 14 others the same.
  std::size_t band = 8;
};

// The model's numbers were fitted to measurements of all tiles, in 1 to 256 parts, over 48 shapes drawn at
// random (m, n, k log-uniform in 16 to 16384, half of them unaligned, all transposes): 778 of multistage and
// 423 of mma, of which those with unaligned rows were measured again on an H100: 117 over 15 shapes, the
// choice 4 % over the best; those of wgmma with aligned rows to 191 over 40 shapes, mostly by copies of
// boxes, of others to 458. The choice takes 4.8, 3.5 and 1.3 % longer than the best tile in the geometric
// mean. Two numbers come from other cases: the step of 128 x 256 x 32 from 8192^3 (51.1 TFLOP/s beside 49.8
// by the next), and the sums of a join from 31 x 129 x 65536 in 86 parts and 49 x 22 x 14941 in 59, which
// took 25 and 15 us.
//
// On an H100 36 random shapes of each type gave the rates of memory (products that it bounds move 2.0 to 2.4
// bytes a nanosecond), of int8 across k and of turned factors (2.0); 40 others those of double, of TF32 by
// "mma" and of its joins; 60 others what results of 16 bits and unaligned ones of 4 bytes make of "wgmma"'s
// tiles.
//
// Fitted again on an H200 to 436 measurements of 80 random shapes of float, half, bfloat16, TF32 and double
// (some of all tiles, some of the fastest): rates of memory and joins, factors of layouts, costs of tiles;
// left as they were: launches, multistage's factors, its tiles of 128 rows and columns or more, of 64 x 32
// and of 32 x 64. The median error falls from 27 to 11 % for wgmma, 18 to 8 % for mma, 15 to 6 % for double,
// 8 to 6 % for float; the choice takes 1.5 instead of 2.8 % longer than the fastest measured, in the
// geometric mean of these shapes. The 660 of 64 x 128 keep 8192^3 at 128 x 256.
//
// Of two groups of wgmma a multiprocessor nothing came: 64 x 128 for 12192 x 560 x 576 half 30.1 and 30.5, 64
// x 192 for 951 x 2568 x 1430 25.9 and 30.6; 64 x 128 for 15392 x 1376 x 48 35.1 and 24.2, 128 x 256 22.9.
//
// join of multistage and mma: fitted to times of kernels; memory and counters take the host 1.1 us more. On
// an H200, us, in parts and not: 256^3 TF32 7.2, 6.1; 384^3 7.9, 6.4; 500^3 float 13.9, 12.5; 256 x 256 x
// 512 7.6, 12.1.
//
// loose_short_c: half on an H200, us, by 128 x 128 of "mma", by wgmma, without in the model: 13180 x 399 x
// 20, both transposed, 11.7, 17.7, 20.4; by 64 x 128 701 x 15001 x 40 20.8, 22.3, 30.1. By whole rows of a
// tile from local memory, in pieces of 8 bytes, 14.3 and 24.2.
//
// team: alone a last group adds 21 x 43 x 14596 TF32 in 58 parts in 24.5 us, in teams 15.3.
//
// pack: TFLOP/s packed and not: 1023^3 44.4 and 45.3, 1291^3 91 and 95, 2047^3 324 and 270. Packing takes 15
// of the 96 us of 4097 x 4095 x 1023, whichever way the factors lie.
inline constexpr Policy kPolicies[] = {
    {.when = {.family = "nvidia-hopper"},
     .multistage_evidence = {.device = "H200",
                             .driver = "580.159",
                             .what = "131 tiles and parts of 25 random shapes, model",
                             .share = "median error 6 %, its choice 1.5 % over the best"},
     .wgmma_evidence = {.device = "H200",
                        .driver = "580.159",
                        .what = "1200 tiles and parts of 277 shapes of half, bfloat16 and TF32, many of them "
                                "where models differed",
                        .share =
                            "median error 11 %, its choice 2.2 % over the best, at most 5 % in 234; of 60 "
                            "that were not fitted in 54"},
     .mma_evidence = {.device = "H200",
                      .driver = "580.159",
                      .what = "75 tiles and parts of 27 random shapes of half, bfloat16 and TF32, model",
                      .share = "median error 8 %; its choice, or wgmma's, 1.6 % over the best"},
     .dmma_evidence =
         {.device = "H200",
          .driver = "580.159",
          .what = "60 random shapes of double of each of three seeds, cuBLAS's time over the choice's",
          .share = "1.27, 1.15, 1.26, none under 0.75"},
     .packed = {.device = "H200",
                .driver = "580.159",
                .what = "rows that begin anywhere, packed before, TFLOP/s and of cuBLAS",
                .share =
                    "half 4097 x 4095 x 1023: 357 to 362, 2.6 to 3.2; 8191: 647, 4.4; not packed 250 and "
                    "333"},
     .turned = {.device = "H100",
                .driver = "580.159.04",
                .what = "int8 and TF32 turned before, us, and by mma",
                .share = "TF32 6809 x 1636 x 15197: 1548 and 5348, cuBLAS 3678; int8 1120 x 304 x 14656: 54 "
                         "and 162, cuBLAS 579; 60 random shapes: the choice 2 % over the better of both"},
     .across = {.device = "H200",
                .driver = "580.159",
                .what = "float packed across k, ms, and as it lies; cuBLAS",
                .share = "2523 x 7025 x 14896: 11.3, 13.6, 10.9; 10553 x 510 x 9664: 2.57, 2.78, 2.19; "
                         "976 x 8741 x 486: 0.226, 0.263, 0.211; of seven random shapes 1 to 21 % less time, "
                         "of six below the least m n k 6 % less to 18 % more"},
     .fp8_evidence = {.device = "H200",
                      .driver = "580.159",
                      .what = "e4m3 to bfloat16, both along k, ms; by mma, widened; cuBLASLt",
                      .share = "4096^3 0.113, 0.365, 0.116; 8192^3 0.762, 2.52, 0.742; 6144 x 1536 x 7168 by "
                               "192 x 128 0.099, by 128 x 128 0.136, cuBLASLt 0.106"},
     .small_evidence = {.device = "H200",
                        .driver = "580.159",
                        .what = "many small products, us, by other tiles, and cuBLAS",
                        .share = "100,000 of 16^3 half 54, 196, 311, double 158, 523, 353; of 13 x 11 x 15 "
                                 "bfloat16 72, 241, 288, double 104, 675, 395; 50,000 of 16 x 16 x 48, both "
                                 "transposed, half 52, 264, 155"},
     .chooses_dmma = true,
     .chooses_turned = true,
     .chooses_batched = true,
     .chooses_fp8 = true,
     .reads_ahead = true},
    {.multistage_evidence = {.what = "no measurement: a Hopper's tiles and rates"},
     .wgmma_evidence = {.what = "no measurement: a Hopper's tiles and rates"},
     .mma_evidence = {.what = "no measurement: a Hopper's tiles and rates"},
     .dmma_evidence = {.what = "no measurement: a Hopper's tiles and rates"},
     .packed = {.what = "no measurement: a Hopper's tiles"},
     .turned = {.what = "no measurement: a Hopper's tiles"},
     .across = {.what = "no measurement: a Hopper's tiles"},
     .fp8_evidence = {.what = "no measurement: the tiles and rates of half"},
     .small_evidence = {.what = "no measurement: by arithmetic"}},
};

inline const Policy& policy_of(const Device& device) { return row_for(kPolicies, device); }

inline WgmmaChoice wgmma_of(const Policy& policy, std::size_t number) {
  const std::size_t all = policy.wgmma.size();
  return {policy.wgmma[number % all], number >= all};
}

/// small.cl's tile of a problem.
inline const Small& small_of(const Policy& policy, const GemmProblem& problem) {
  return problem.in == Scalar::float64 ? policy.small_of_doubles : policy.small;
}
/// Whether a tile's number of "mma" is the one of small.cl.
bool is_small(const Policy& policy, const GemmProblem& problem, std::size_t tile);
/// Whether small.cl may load vectors: all rows of A and B begin at their multiples.
bool loads_vectors(const GemmProblem& problem);

/// The problem whose C is the transposed one: A and B are exchanged.
GemmProblem exchanged(GemmProblem problem);

/// A list's problem as "wgmma" computes it where rows are aligned: as if all matrices were, too. Matrices
/// that are not are copied, and their results of 16 bits stored, in other ways (cl/nvidia/gemm_producer.clh,
/// gemm_producer_listed.clh).
///
/// Half on an H200, us, before and so: 10,000 of 64^3 108, 90, in turn 65, cuBLAS (not of a list) 61; 600 of
/// 200^3 114, 68, by boxes 59, 43 to 51; 1000 of 128^3 38, 31, 29; 128 of 512^3 134, 72, 66; 1000 of 128^3
/// TF32, B transposed, 73, 57, 54.
GemmProblem as_aligned(GemmProblem problem);

/// A tile of "wgmma" of one consumer as it computes whole tiles of a batch or list: by consumers that take
/// them in turn, where each group has several and boxes of aligned rows; else as it is.
Wgmma in_turns(const Device& device, const GemmProblem& problem, const Wgmma& tile);

/// Whether a work-item of each of so many groups copies boxes to a tile of "wgmma", and not its producers
/// pieces: of aligned rows, in as many steps of k as are worth the maps of its factors.
bool copies_boxes(const Device& device, const GemmProblem& problem, const Wgmma& tile, std::size_t groups);

}  // namespace smem::plan::gemm::nvidia
