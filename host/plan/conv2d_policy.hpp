/// The numbers of conv2d's plans, with their evidence.
#pragma once

#include "plan/policy.hpp"

#include <smem/device.hpp>

#include <array>
#include <cstddef>
#include <limits>
#include <span>

namespace smem::plan::conv2d {

/// Of "implicit": what a work-group makes at a time, and a work-item of it.
struct Shape {
  std::size_t planes, results, depth, each_k, each_p;
  /// Multiplications among all instructions of its innermost loop, against those of the first one.
  double speed;

  std::size_t group() const { return planes / each_k * (results / each_p); }
};

// What nvdisasm counts of the loop for sm_90, without the rows of the table, which one warp
// makes: 1.20, 1.23, 1.30 and 1.46 instructions a multiplication; the small ones are for small devices. 8 x 8
// results take 130 registers: three groups of 128 share an SM then, but a group of 256 would be alone.
inline constexpr std::array<Shape, 6> kShapes{{{128, 64, 8, 8, 8, 1.0},
                                               {64, 128, 8, 8, 8, 0.97},
                                               {64, 64, 16, 8, 4, 0.9},
                                               {32, 128, 8, 4, 8, 0.8},
                                               {32, 32, 8, 4, 4, 0.6},
                                               {16, 16, 8, 4, 4, 0.32}}};
// Fewer registers: of doubles; on Intel's GPUs, whose compiler runs 32 work-items in the registers of one
// thread; and for PoCL, which compiles 8 x 8 results for seconds.
inline constexpr std::array<Shape, 3> kSmallShapes{
    {{64, 64, 8, 4, 4, 1.0}, {32, 32, 8, 4, 4, 0.9}, {16, 16, 8, 4, 4, 0.7}}};

/// Of "implicit", whose teams share the weights of few results: nanoseconds of a step of DEPTH weights, which
/// waits for memory, at least, and of the sums' join; products a nanosecond of a compute unit; the work-items
/// of one that hide what instructions wait for, and what fewer take; all work-items of one; teams, and
/// work-items of a group of several, at most. Without `step`, no teams. And nanoseconds of a call by it, of
/// its copies of interleaved channels, and of a call by "gemm" with columns; products, and bytes of columns,
/// that a unit then has in a nanosecond, from so many filters on.
struct ImplicitTimes {
  double step = 0, join = 500, products = 142, hiding = 256, alone = 0.62;
  std::size_t unit_items = 2048, teams = 1, group = 512;
  double call = 4000, copies = 11000, columns_call = 14000, columns_products = 97, columns_bytes = 15;
  std::size_t columns_filters = 32;
};

/// What a product of matrices needs to be worth its tiles: filters and weights of a group of channels, and
/// results of a plane.
struct Worth {
  std::size_t filters, depth;
  std::size_t most_results = std::numeric_limits<std::size_t>::max();

  bool holds(std::size_t of_filters, std::size_t of_depth, std::size_t of_results = 0) const {
    return of_filters >= filters && of_depth >= depth && of_results <= most_results;
  }
};

/// Of "direct": results of a work-item, and work-items of a group, at most.
struct DirectPolicy {
  std::size_t tile_bytes = 24 * 1024;           ///< four groups of 256 share an SM of Hopper then
  std::size_t depth = 16;                       ///< channels in local memory at once
  std::size_t each_k = 8, each_k_of_wide = 4;   ///< planes of a work-item; of doubles, two registers each
  std::size_t cols_for_4 = 33, cols_for_2 = 5;  ///< of rows of which a work-item has 4, or 2, columns: least
  std::size_t each_x_of_wide = 4, each_x_of_gelu = 4;   ///< such columns; with GELU, which takes registers
  std::size_t results = 32;                             ///< of a work-item, in all
  std::size_t lanes_x = 16, lanes_y = 32, lanes_k = 8;  ///< work-items along columns, rows and planes
};

/// Of "cpu".
struct CpuPolicy {
  /// Half of a second-level cache of 1 MiB, as what is read again and again lies there.
  std::size_t cache_bytes = 512 * 1024;
  std::size_t weights = 288;  ///< of each sum that lie in the first-level cache, with what they meet of a row
  std::size_t filters = 64;   ///< of a job
  std::size_t cols = 128;     ///< of results of a job, about
  std::size_t results = 512;  ///< of a plane of a job
  std::size_t jobs_a_unit = 4;  ///< as the threads of a busy machine do not end together
  /// Of "depthwise" with interleaved channels of fewer than four bytes, which each weight converts.
  std::size_t converted_taps = 9;
  std::size_t most_taps = 49;        ///< of rows read where they lie: weights that stay in registers
  std::size_t columns_a_weight = 6;  ///< of them: windows that leave their row go one by one
};

/// Of "depthwise" by a ring of rows in local memory (cl/nvidia/conv2d/depthwise_ring.cl): nanoseconds of an
/// instruction of a warp, that shares a multiprocessor, and that is alone; of a step until all work-items
/// have copied; of a group before its first step, and of each weight that a work-item loads; bytes a
/// nanosecond of memory, of what comes from the cache again, and of a multiprocessor; and nanoseconds until
/// they come. Fitted to 79 tiles of 27 layers on an H200, with 3500 ns of a launch: 3.5 % (rms), and 9 % at
/// most. Slower there, by the same tiles: weights 16 at a time (3 x 3 of 144 x 56^2 44.4 -> 48.5 us, 5 x 5 of
/// 480 x 14^2 19.2 -> 21.2); as fast: prefetches of 256 bytes to the cache, and stores that leave it first.
struct RingTimes {
  double issue = 0.203, alone = 1.24, sync = 108, group = 1360, weight = 122, memory = 3600, cache = 11500,
         unit = 34, latency = 895;
};

/// Of "depthwise": results of a work-item, and windows whose weights it has in registers.
struct DepthwisePolicy {
  std::size_t each_x = 4, each_y = 4;
  std::size_t each_y_of_wide = 2;  ///< of doubles, and with GELU
  std::size_t most_taps = 25, most_stride = 2;
  /// Of interleaved channels without copies to planes: weights of a window and its stride, at most.
  std::size_t cells_taps = 49, cells_stride = 4;
  /// Columns of results of a work-item, and these times its channels, at most; registers for its weights,
  /// sums and cells, and for all else, as ptxas counts them for sm_90.
  std::size_t cells_x = 4, cells_results = 16, cells_registers = 110, cells_other_registers = 45;
  /// Work-items of a group, and packs of channels of it at most; registers of a compute unit of which that is
  /// not known.
  std::size_t cells_group = 128, cells_packs = 32, cells_unit_registers = 65536;
  /// Of the ring: groups by multiprocessors, of which there are no more by shorter strips; bytes in flight of
  /// a multiprocessor, and steps at most; registers of a work-item; products of a loop that compilers unroll
  /// (clang 15 leaves one of 1750 as it is, with its sums in memory).
  std::size_t ring_rounds = 16, ring_bytes = 40 << 10, ring_ahead = 8, ring_unrolled = 1024,
              ring_registers = 150;
  RingTimes ring = {};
  /// Products of a multiprocessor, from which the ring is taken. H200, 64 images, us, without it and with it:
  /// 3 x 3 / 2 of 192 x 28^2, 164000 products, 10.6, 12.2; 3 x 3 of 1024 x 7^2, 219000, 9.7, 12.2,
  /// float 10.7, 11.0; of 384 x 14^2, 328000, 11.9, 12.3; of 512 x 14^2, 438000, 16.1, 12.3; 5 x 5 of 512 x
  /// 7^2, 304000, 11.3, 12.3, float 16.0, 10.7.
  ///
  /// In a queue, of windows without strides, us, without it and with it, half (cuDNN), and float: 3 x 3 of 64
  /// images of 1024 x 7^2, 219000 products, 10.4, 9.3 (9.8), 13.3, 11.8; of 8 of 128 x 56^2, 219000, 9.6, 9.6
  /// (10.8), 13.5, 12.1; of 32 of 480 x 14^2, 205000, 9.8, 8.9 (11.0), 16.0, 11.5; of 16 of 256 x 28^2,
  /// 219000, 9.4, 9.8 (11.2), 14.4, 12.1; of 6 of 144 x 56^2, 185000, 9.2, 9.6 (10.7), 13.4, 12.0; of 16 of
  /// 512 x 14^2, 109000, 9.3, 9.2 (8.0), 9.5, 8.6; 5 x 5 of 8 of 672 x 14^2, 200000, 10.2, 9.2
  /// (9.3), 14.1, 9.4; of 16 of 1152 x 7^2, 171000, 9.1, 8.5 (7.4), 11.2, 9.0; of 4 of 672 x 14^2,
  /// 100000, 8.7, 7.8 (7.3), 9.3, 8.2. Of 3 x 3 of 8 of 192 x 28^2, 82000, half, 7.0, by the ring 7.9. Calls
  /// of less than 9 wait for the host now and then.
  double ring_products = 300000, ring_products_unstrided = 95000;
  /// Of whole windows: weights of a window, with strides, from ring_products on; work-items of a group, packs
  /// of channels of it, bytes of a pack, columns of a work-item, and bytes of its cells, at most; blocks of a
  /// group, which are more where it would have fewer than the least work-items. H200, 64
  /// images, us, by 4 columns, by 2, of 16 bytes and 2 columns, by the ring, and cuDNN: 3 x 3 / 2 of 64 x
  /// 112^2 half 39.3, 39.0, 41.2, 42.7, 37.3, float 68.6, 69.5, 69.4, 75.1, 63.5; of 144 x 56^2
  /// half 27.7, 27.7, 28.3, 29.3, 26.4, float 40.3, 41.9, 43.6, 47.7, 37.9; of 96 x 112^2
  /// half 57.7, 61.7, 60.0, 65.4, 54.9; of 192 x 28^2, without the ring, 12.2, 12.1, 12.9, 10.6. Slower than
  /// the ring: 5 x 5 / 2 of 72 x 56^2 29, 17.6; 3 x 3 of 128 x 56^2 46, 38; bfloat16 3 x 3 / 2 of 64 x 112^2
  /// 115.
  ///
  /// A group has blocks of several rows, since windows share a row with those below. 3 x 3 / 2, us, in a
  /// queue, by blocks in the order of rows, by 4 rows of 2, by 2 of 4, by 8 of 1, by 7 of 1, and cuDNN: 64 x
  /// 112^2 float 66.8, 62.8, 63.6, 62.8, 75.4, 61.9, half 36.2, 34.4, 35.9, 34.3, 37.5, 36.4 (by 8 of
  /// 2 35.9); 192 x 56^2 float, 32 images, 27.4, 26.4, 26.6, 26.5, 31.4, 25.7; 128 x 72^2 float, 32
  /// images, 30.3, 28.7, 29.1, 28.7, 34.9, 27.3; 240 x 28^2 half 14.4, 14.7, 14.3, 14.8, 15.0, 14.9; 96 x
  /// 112^2 half, whose groups have 6 warps, 54.4, 52.1, 56.7, 52.1, 58.3, 55.0; 144 x 56^2 half, by groups of
  /// 8, 5, 5, 5 and 4 warps, 25.0, 26.2, 26.0, 26.1, 24.2, 25.4.
  std::size_t windows_taps = 9, windows_group = 256, windows_packs = 32, windows_pack_bytes = 8,
              windows_x = 4, windows_bytes = 256, windows_blocks = 8, windows_least_group = 128;
  /// Of planes in local memory: columns of a work-item, and those of 16 bits, of windows without strides of
  /// few weights; its rows, and those of numbers that take many registers; work-items of a group; bytes of
  /// several planes of a group; groups by multiprocessors, of which there are no fewer.
  ///
  /// H200, 64 images, half, us, by 2 columns, by 4, and cuDNN: 3 x 3 of 32 x 112^2 61, 53, 65,
  /// of 128 x 56^2 64, 55, 79; of 256 x 28^2 35, 36, 42; of 512 x 14^2 19.5, 18.1, 24; of 1024 x 7^2 13.2,
  /// 11.5, 20; / 2 of 64 x 112^2 55, 75, 132, of 144 x 56^2 36, 50, 77; 5 x 5 of 256 x 14^2 16.5, 16.1, 31,
  /// of 240 x 28^2 46, 49, 84. Without local memory, by single loads: 32 x 112^2 68, 5 x 5 of 256 x 14^2 36.
  /// Groups of 128 and 512, and half or twice the bytes, are no faster. 7 x 7, by
  /// "direct", by 2 columns, and cuDNN: of 96 x 56^2 492, 138, 670, float 490, 138, 631; of 384 x 14^2 170,
  /// 35, 177.
  std::size_t planes_x = 2, planes_x_of_short = 4, planes_y = 8, planes_y_of_wide = 4, planes_group = 256,
              planes_bytes = std::size_t{24} << 10, planes_rounds = 4, planes_taps = 49;
  /// Of planes whose rows are whole vectors, which are read where they lie: weights of a window, results of a
  /// work-item and its registers, at most; and bytes of a row of results that are not whole vectors of eight,
  /// at least, of as many elements of the input. H200, 64 images, 3 x 3, us, so and in local memory: half
  /// 3136 x 8^2 27, 74; 784 x 16^2 37, 44; 512 x 20^2 38, 34; 348 x 24^2 31, 36; 256 x 28^2 27, 35; 192 x
  /// 32^2 21, 29; / 2 of 784 x 16^2 22, 27, of 348 x 32^2 24, 32; float 1024 x 8^2 16.5, 19.6; 512 x
  /// 12^2 17.1, 16.8; 512 x 16^2 26, 28; 348 x 20^2 26, 34; 256 x 24^2 28, 33; / 2 of 512 x 16^2 17, 26, of
  /// 256 x 24^2 31, 25, of 128 x 40^2 27, 30. Rows of bytes, which were not measured, have at least
  /// vectors_width results.
  ///
  /// Of the layers above, us, by 16 results of a work-item, by 32, by 64: 32 x 112^2 38, 44, 88; 128 x 56^2
  /// 42, 50, 98; 64 x 112^2 / 2 43, 43, 58; 256 x 28^2 30 and 144 x 56^2 / 2 29 by 16; 5 x 5 of 240 x
  /// 28^2 48. Float: 32 x 112^2 59 (76 by single loads, 81 in local memory), of 256 x 28^2 35 (41 in local
  /// memory).
  ///
  /// Since a work-item has one block of results, in a queue, by 16 results, by twice, and by half as many
  /// rows: half 32 x 112^2 35.4, 33.2, 35.4; 128 x 56^2 36.1, 37.7, 35.9; / 2 of 64 x 112^2 35.6, 36.0, 35.6;
  /// float 32 x 112^2 54.0, 57.6, 57.8; 128 x 56^2 54.4, 56.9, 59.2; / 2 of 64 x 112^2 63.5, 87, 62.9, of 144
  /// x 56^2 38.7, 57, 38.0. A loop over planes with groups of 7 warps, which leave no work-item idle, 85.9 in
  /// place of 68.1 for float / 2 of 64 x 112^2: registers.
  std::size_t vectors_taps = 9, vectors_results = 16, vectors_registers = 120, vectors_bytes = 56,
              vectors_width = 28;
  Evidence cells_evidence = {.what = "no measurement: a Hopper's sizes"},
           ring_evidence = {.what = "no measurement: a Hopper's sizes and times"},
           windows_evidence = {.what = "no measurement: a Hopper's sizes"},
           planes_evidence = {.what = "no measurement: a Hopper's sizes"};
};

/// "depthwise" of interleaved channels. By ROWSxCOLUMNS, ms: 3 x 3 of 64 x 32 x 112^2 half 8x4 0.050, 16x4
/// 0.052, 28x4 0.049, 56x4 0.060, 28x2 0.059, 28x8 0.050, 28x1 0.071; 5 x 5 of 64 x 256 x 14^2 14x4 0.0144,
/// 14x2 0.0163, 14x1 0.0204, 7x4 0.0176.
inline constexpr Evidence kCellsMeasured{
    .device = "H100",
    .driver = "580.159",
    .what = "3 x 3 of 64 x 32 x 112^2 and 5 x 5 of 64 x 256 x 14^2 half, channels last, in ms; cuDNN",
    .share = "0.052 and 0.0144; 0.053 and 0.0138"};

inline constexpr Evidence kRingMeasured{
    .device = "H200",
    .driver = "580.159",
    .what =
        "64 images, half, channels last, us, with the ring, without, and cuDNN: 3 x 3 of 128 x 56^2, "
        "of 256 x 28^2, 5 x 5 of 240 x 28^2",
    .share = "38.2, 19.4, 31.7; 46.0, 26.4, 46.1; 33.8, 23.8, 40.4"};

inline constexpr Evidence kWindowsMeasured{
    .device = "H200",
    .driver = "580.159",
    .what =
        "64 images, channels last, us, by windows, by the ring, and cuDNN: 3 x 3 / 2 of 64 x 112^2 half and "
        "float, of 144 x 56^2 half and float",
    .share = "39.3, 68.6, 27.7, 40.3; 42.7, 75.1, 29.3, 47.7; 37.3, 63.5, 26.4, 37.9"};

inline constexpr Evidence kPlanesMeasured{
    .device = "H200",
    .driver = "580.159",
    .what =
        "64 images, planes, half, us: 3 x 3 of 32 x 112^2 and / 2 of 64 x 112^2 by vectors, 5 x 5 of 256 x "
        "14^2 in local memory; cuDNN",
    .share = "35, 36, 17; 67, 132, 32"};

/// Of "matrix_units": filters of a group and weights of one, from which units are worth their packing. No
/// measurement yet: as of NVIDIA's.
struct UnitsPolicy {
  std::size_t filters = 8, depth = 16;
};

struct Policy {
  When when;
  Evidence evidence = kFromFacts;
  std::size_t group = 256;  ///< work-items
  DirectPolicy direct = {};
  /// Of "implicit"; and for doubles, which take two registers each.
  std::span<const Shape> shapes = kShapes, wide = kSmallShapes;
  Worth product{32, 64};   ///< "gemm" where the input is a factor as it lies
  Worth columns{256, 64};  ///< "gemm" with columns instead of "direct"
  Worth columns_of_bytes = columns, deep_columns = columns;  ///< on CPUs: of int8; and of planes of any size
  /// "implicit" instead of "direct"; and of strides, by which "direct" takes twice as long.
  Worth implicit{32, 32}, strided_implicit = implicit;
  ImplicitTimes implicit_times = {};
  /// The same of few filters with so many weights, where groups of "direct", so many times, are fewer than
  /// compute units. H200, float, us: 3 x 3 of 2 images of 320 x 64^2 to 4, 8 groups, 690, 165; of 64 x 256^2
  /// to 1, 64 groups, 154, 140; of 128 x 512^2 to 3, 256 groups, 425, 1030; of 8 images of 16 x 128^2 to 2,
  /// 128 groups, 43, 75.
  std::size_t few_groups_depth = 576, direct_rounds = 2;
  std::size_t units_depth = 256;  ///< "gemm" of half on matrix units, whose columns "implicit" does not need
  /// Of the columns of a slice: a share of the last cache, so that the product finds them there.
  std::size_t cache_share = 2, least_columns = 16 << 20, most_columns = 64 << 20;
  CpuPolicy cpu = {};
  DepthwisePolicy depthwise = {};
  UnitsPolicy units = {};
};

// units_depth: H200, 64 filters of half, ms of "gemm" and "implicit": of 147 weights 0.618, 0.537, of 576
// 0.363, 0.525.
//
// columns: on GPUs where "implicit" does not run. H200, float, ms of "direct" and "gemm": 64 filters of 64 x
// 3^2 0.99, 2.06; 128 of 128 x 3^2 1.18, 1.77; 256 of 256 x 3^2 1.41, 1.36; 512 of 512 x 3^2 1.63, 1.52; 512
// of 256 x 1 / 2 2.81, 0.75.
//
// implicit_times: H200, float, planes, us, without teams, by 8 teams of tiles of 16 x 16, by 16, by 4 of 32 x
// 32, and by "gemm". One image, 3 x 3 / 2: 256 x 28^2 124, 33, 31, 41, 23; 512 x 14^2 250, 46, 34, 79, 24;
// 128 x 56^2 64, 23, 25, 22, 24; 64 x 56^2 to 128 34, 14, 16, 13, 18; 3 x 3: 64 x 56^2 44, 22, 27, 18, 22;
// 128 x 28^2 64, 22, 24, 21, 21; 256 x 14^2 122, 32, 30, 39, 23; 512 x 7^2 250, 46, 32, 76, 24; 32 x 28^2 to
// 64 18, 9.0, 8.8, 7.8, 15.9; dilation 2, 512 x 33^2 381, 399, 409, 281, 235; 5 x 5: 192 x 28^2 to 32 251,
// 46, 33, 83, 29; 48 x 28^2 to 128 67, 22, 24, 23, 23. Four images, 3 x 3 / 2: 256 x 28^2 164, 82, 85, 65,
// 55; 512 x 14^2 193, 108, 108, 81, 51; 3 x 3: 64 x 56^2 55, 78, 95, 46, 61; 5 x 5 of 192 x 28^2 to 32 257,
// 77, 81, 82, 119. Of 32 weights at a time tiles of 16 x 16 take 1.1 to 1.6 times as long, of 16 those of 32
// x 32 as long.
//
// implicit: half of its smallest wide tile, and four steps of its sums. With 16 filters of 16 x 3^2, "direct"
// took 0.265 ms on the H200, 14 TFLOP/s, with registers full of them.
//
// product, implicit of Hopper: 64 images, float, channels last, us, "direct" and "gemm": 1 x 1 of 32 x 112^2
// to 16 274, 73, of 16 x 112^2 to 96 610, 173, of 144 x 56^2 to 24 362, 85, of 24 x 56^2 to 144 322, 68
// (cuDNN 175, 374, 154, 166); planes of the first and third 170, 49, and 248, 59 (cuDNN 107, 76). 3 x 3 / 2
// of 3 x 224^2 to 32 "direct" and "implicit" 260, 200, planes 145, 82 (cuDNN 122, 113).
//
// Of few filters a group: 64 images, float, planes, us, "direct" and "implicit": 3 x 3 of 20 groups of 12 x
// 28^2 to 12 362, 405; of 16 of 16 382, 410; of 10 of 24 539, 241; of 8 of 32 601, 260; / 2 of 32 of 16 439,
// 209; of 20 of 24 575, 134; channels last 442, 484; 467, 493; 621, 321; 685, 339; 550, 320; 683, 242.
//
// Planes of half, 1 x 1 of 64 x 56^2 to 256, by "gemm" of 256 x 128 43, 128 x 256 45, 128 x 224 48, cuDNN 43,
// a copy of as many bytes 32: a tile has one step of k, and its stores are hardly under other products.
// In a queue 40, cuDNN 42, a kernel that reads and writes as much 35.5: by tiles of 64 rows in turn 40 to 42,
// with filters that stay in local memory 41, without products 39.6, without stores 27.
//
// Of CPUs, product: a window of one cell gives a tile nothing to use again. columns: small planes use a
// weight too few times to pay for its way into the cache, and leave vectors half empty. PoCL on two Zen 4
// cores, ms with "cpu" and "gemm": 64 x 56^2, 64 of 3 x 3 2.8, 4.5; 128 x 28^2, 128 3.7, 3.6; 256 x 14^2, 256
// 5.6, 4.1; 1 x 1, 64 x 56^2, 256 3.1, 2.0. On two Zen 5 cores, PoCL 3.1: deep_columns: 128 x 28^2, 128 float
// 1.44, 0.94, half 2.2, 0.94; 64 x 56^2, 64 1.48, 1.06, where Zen 4 has it the other way round.
// columns_of_bytes: 64 x 56^2, 64 1.69, 0.66; 32 x 112^2, 64 4.8, 0.73; 16 x 56^2, 8 0.23, 0.18; 3 x 112^2,
// 16 0.21, 0.17; 3 x 224^2, 64 of 7 x 7 / 2 1.58, 0.65; 4 groups of 64 x 56^2, 64 0.51, 0.39.
//
// Interleaved channels, ms there by "cpu" and "implicit": 256 x 14^2, 256 of 3 x 3 float 4.8, 80, half 4.2,
// 53, int8 4.4, 32; 8 images of 128 x 28^2, 128 23, 2400, 26, 2370 and 28, 250; 4 of 64 x 28^2, 256 of 1 x
// 1 4.5, 135, 3.6, 136 and 4.0, 17.
//
// cpu.converted_taps: ms there by "depthwise" and "cpu": 32 x 112^2, 3 x 3 float 0.46, 2.1, half 0.26, 1.7,
// int8 0.39, 1.7, double 0.53, 2.4, half and GELU 3.5, 1.5, half 7 x 7 1.45, 1.20; 64 x 56^2, 7 x 7 float
// 0.54, 1.8, 5 x 5 half 0.80, 0.55; 960 x 7^2 float 0.20, 0.48; 4 x 300^2 0.50, 1.4.
//
// cpu.columns_a_weight: ms of CPU time there with rows where they lie and with tiles: 256 x 14^2, 5 x 5 0.66,
// 0.54; 512 x 14^2, 3 x 3 0.58, 0.63; 32 x 448^2, 3 x 3 4.5, 12.6 (OpenCV's dnn 7.1). A call takes 0.25 of
// these.
//
// direct.each_x_of_gelu: of 32 results with GELU ptxas spills some for sm_75. direct.results of Intel: its
// compiler runs 32 work-items in the registers of one thread, and keeps more results in memory.
inline constexpr Policy kPolicies[] = {
    {.when = {.family = "nvidia-hopper"},
     .evidence = {.device = "H200",
                  .driver = "580.159",
                  .what = "float, TFLOP/s of \"implicit\", \"gemm\" and \"direct\"",
                  .share = "64 x 56^2, 64 of 3 x 3 37.6, 13.0, 15.0; 256 x 14^2, 256 of 3 x 3 38.7, 13.6, "
                           "10.5; 64 x 56^2, 256 of 1 x 1 30.4, 31.8, 9.2; 16 x 112^2, 16 of 3 x 3 9.1, 4.3, "
                           "14.0"},
     .product = {16, 16},
     .implicit = {24, 27},
     .strided_implicit = {16, 27},
     .implicit_times = {.step = 510, .teams = 32},
     .depthwise = {.cells_evidence = kCellsMeasured,
                   .ring_evidence = kRingMeasured,
                   .windows_evidence = kWindowsMeasured,
                   .planes_evidence = kPlanesMeasured}},
    {.when = {.family = "nvidia"}, .evidence = kWithoutSpills, .direct = {.each_x_of_gelu = 2}},
    {.when = {.family = "intel"},
     .evidence = kFromRegisters,
     .direct = {.each_k = 4, .each_x_of_wide = 1, .results = 8},
     .shapes = kSmallShapes},
    {.when = {.family = "cpu"},
     .evidence = {.device = "Zen 4",
                  .driver = "PoCL",
                  .what = "float on two busy cores, ms beside OpenCV's dnn",
                  .share = "3 x 224^2, 64 of 7 x 7 / 2 1.8 (4.8); 64 x 56^2, 64 of 3 x 3 2.8 (4.0); 256 x "
                           "14^2, 256 of 3 x 3 4.1 (3.5); 64 x 56^2, 256 of 1 x 1 2.0 (2.1)"},
     .shapes = kSmallShapes,
     .product = {8, 16},
     .columns = {128, 64, 400},
     .columns_of_bytes = {8, 27},
     .deep_columns = {128, 576},
     .cache_share = 8,
     .least_columns = 1 << 20,
     .most_columns = 4 << 20},
    {},
};

inline const Policy& policy_of(const Device& device) { return row_for(kPolicies, device); }

/// What Winograd's minimal filtering is worth, where a caller allows it: the operations that it saves against
/// the bytes that it moves, in operations of the other variants of the same time.
struct WinogradPolicy {
  When when;
  Evidence evidence = {.what = "no measurement: operations saved against bytes moved, by rates of its kind"};
  double operations_a_byte = 32;         ///< of the tiles' matrices that is written or read
  double operations_a_filter_byte = 32;  ///< the same of the filters' matrices
  /// Nanoseconds of all its launches, which wait for each other, where ImplicitTimes are known.
  double launches = 0;
  /// Of the other variants: what an operation of "direct" takes beside one of "implicit", whose time
  /// ImplicitTimes says where they know it.
  double of_direct = 1;
  /// Of the filters' matrices, to which slices are as large at least: each reads all of them.
  std::size_t most_filters = 64 << 20;
  /// Of all matrices of a slice, which then need not stay in the cache. 0: they are to.
  std::size_t slice_bytes = 0;
};

// operations_a_byte: GPUs do 10 to 45 operations of float for a byte of their memory: H100 20, gfx90a 15, dg2
// 30, RTX 3080 39. On the H200 tiles took as long as 7 to 9 operations of "implicit" for each byte, and of a
// few images 26 to 30 us in any case. "implicit" took 47 us for one image of 64 x 56^2, 69 for 128 x 28^2 and
// 131 for 256 x 14^2.
//
// slice_bytes: 64 x 56^2, 64 in 1, 3 and 9 slices 0.209, 0.236, 0.305; 128 x 28^2 in 1, 2 and 5 0.152, 0.176,
// 0.197; 256 x 14^2 in 1 and 3 0.163, 0.219: a slice that stays in the cache takes longer, for its launches.
//
// Of CPUs, with the choices that follow for 4x4: the filters' matrices are packed by gemm, for few tiles each
// time. 1 of 512 x 7^2, 512 took 7.5 ms of CPU time by "gemm", 20 and 58 by tiles; 3 x 112^2,
// 64 2.2, 3.0, 2.8.
inline constexpr WinogradPolicy kWinogradPolicies[] = {
    {.when = {.family = "nvidia-hopper"},
     .evidence = {.device = "H200",
                  .driver = "580.159",
                  .what = "ms of the choice without tiles, tiles of 2 x 2 and 4 x 4, and cuDNN",
                  .share = "64 images, 64 x 56^2, 64 0.41, 0.324, 0.209, 0.366; 128 x 28^2, 128 0.38, 0.258, "
                           "0.152, 0.199; 256 x 14^2, 256 0.38, 0.196, 0.163, 0.231; 512 x 7^2, 512 0.45, "
                           "0.230, 0.171, 0.493; 16 x 112^2, 16 0.27, 0.290, 0.184, 0.298; 1 image, 64 x "
                           "56^2 0.047, 0.039, 0.039, 0.020; 128 x 28^2 0.069, 0.035, 0.034, 0.032; 256 x "
                           "14^2 0.131, 0.039, 0.038, 0.058"},
     .operations_a_byte = 9,
     .operations_a_filter_byte = 3,
     .launches = 22600,
     .of_direct = 2.6,
     .slice_bytes = 512 << 20},
    {.when = {.family = "cpu"},
     .evidence = {.device = "EPYC",
                  .driver = "PoCL",
                  .what =
                      "two busy cores, ms of CPU time of the choice without tiles, tiles of 2 x 2 and 4 x 4",
                  .share = "64 x 56^2, 64 8.5, 3.9, 3.3; 16 x 112^2, 16 2.1, 1.6, 0.9; 128 x 28^2, 128 8.7, "
                           "4.3, 5.6; 256 x 14^2, 256 5.3, 7.2, 15; 8 of these 38, 25, 32"},
     .operations_a_byte = 3,
     .operations_a_filter_byte = 24},
    {},
};

inline const WinogradPolicy& winograd_policy_of(const Device& device) {
  return row_for(kWinogradPolicies, device);
}

}  // namespace smem::plan::conv2d
