/// The numbers of stencil plans, with their evidence.
#pragma once

#include "plan/policy.hpp"

#include <smem/device.hpp>

#include <cstddef>

namespace smem::plan {

/// Of "rows": what a work-item makes, and its group.
struct StencilRows {
  std::size_t rows;       ///< of results, at most
  std::size_t registers;  ///< of 32 bits that it may fill
  std::size_t across;     ///< work-items along x of a group
  std::size_t group;      ///< work-items of a group
  std::size_t group_of_doubles = group;
  // Tenths of the registers: NVIDIA's compilers convert halves early, bytes where they do not come in words,
  // and keep copies of doubles.
  std::size_t tenths_of_bytes = 7, tenths_of_halves = 5, tenths_of_doubles = 6;
  bool counts_halos = false;      ///< of a star: only rows that have a halo take registers for it
  std::size_t byte_steps;         ///< rows of bytes that a work-item reads at once
  std::size_t byte_turns = 1;     ///< how often, in a row; 1: once, as many as it needs for `rows`
  std::size_t cell_turns = 1;     ///< the same where dot products sum them, of at most byte_turns
  std::size_t byte_group = 64;    ///< work-items along x of groups that do so
  std::size_t busy_items = 1024;  ///< of a unit that hide what each waits for: else turns are fewer
  std::size_t ends_each = 2;  ///< elements at a row's ends for each work-item that makes these, and each turn
};

/// Of "planes": what a work-item makes, and its group.
struct StencilColumns {
  std::size_t across = 32;          ///< work-items along x of a group
  std::size_t group = 128;          ///< work-items of a group
  std::size_t rows = 1;             ///< of results in each plane, at most
  std::size_t deep = 4;             ///< planes of results, at most
  std::size_t registers;            ///< of 32 bits that it may fill
  std::size_t tenths_of_small = 8;  ///< of them: unpacking takes some
};

/// Of "tiled" and "march".
struct StencilTiles {
  std::size_t group = 256;          ///< work-items
  std::size_t across = 32;          ///< of them, along x, which read a row together
  std::size_t down_of_volumes = 4;  ///< of them, along y, in tiles of volumes
  std::size_t block_rows = 4;       ///< rows of results of a work-item of "blocks"
  std::size_t block_group = 128;    ///< work-items of "blocks"
  std::size_t block_across = 16;    ///< of them, along x
  std::size_t block_bytes = 40960;  ///< of a tile of "blocks" and its weights
  bool blocks = false;              ///< flat boxes by "blocks" before "tiled"
  std::size_t march_down = 8;       ///< of those of a march, along y, by which its chunks are counted
  std::size_t bytes = 32768;        ///< of a tile, so that several groups share a unit's local memory
  std::size_t least_values = 2048;  ///< of a tile of "tiled": few programs serve the smaller ones
  /// Weights of all channels of a flat box, up to which the program of "tiled" knows the window; 0: never.
  std::size_t most_written_out = 0;
  std::size_t known_rows = 4;         ///< of results of a work-item then, at most
  std::size_t groups_a_unit = 8;      ///< that a march leaves planes for, at least
  std::size_t windows_of_planes = 4;  ///< of a march's planes, at least
  std::size_t reads_each = 32;  ///< of the next plane that a work-item of a march has under way, at most
};

/// Of "units": warps that go down bands of strips of 256 bytes.
struct StencilUnits {
  std::size_t least_weights = 0;            ///< from which on plans choose it; 0: they do not
  std::size_t least_weights_of_halves = 0;  ///< the same of halves
  std::size_t group = 32;                   ///< work-items, where units are not emulated
  std::size_t stages = 4;                   ///< of 8 rows in local memory, of which one is at work
  /// Of a work-item at most, beside those of each row of the window: two products of bytes have sums of
  /// their own.
  std::size_t own_registers = 52;
  std::size_t row_registers = 13, row_registers_of_halves = 8;
  std::size_t band = 64;          ///< rows, where all units have work
  std::size_t least_band = 32;    ///< rows: the windows' other ones are read twice
  std::size_t warps_a_unit = 16;  ///< that shall have work
};

/// Of the threads of a CPU.
struct StencilThreads {
  std::size_t bytes = std::size_t{256} << 10;  ///< of the lines: half a core's second-level cache
  std::size_t line_values = 6144;              ///< that stay in its first-level cache: 24 KiB of floats
  std::size_t strip = 4096;                    ///< results of a line, at most
  std::size_t least_strip = 512;  ///< elements, to which strips are cut for the first-level cache
  std::size_t jobs_a_unit = 8;
  std::size_t rings_of_rows = 4;  ///< rows of a job are so many times those that two jobs read, at least
  std::size_t least_rows = 8;     ///< of a job
};

struct StencilPolicy {
  When when;
  Evidence evidence;  ///< of "rows" and "planes"
  Evidence others = {.what = "no measurement: the sizes follow from the device's facts"};
  Evidence of_blocks = others;       ///< of "blocks"
  Evidence of_threads = others;      ///< of "cpu"
  Evidence of_units = others;        ///< of "units"
  std::size_t vector_bytes = 16;     ///< of an access
  std::size_t naive_group = 256;     ///< work-items
  std::size_t most_unrolled = 4096;  ///< multiplications written out: about 64 KiB of instructions
  /// Of all loops of "planes", those that do nothing too.
  std::size_t most_passes = 10000;
  StencilRows rows;
  StencilColumns columns;            ///< of volumes
  StencilColumns boxes = columns;    ///< of boxes of float in volumes
  StencilColumns singles = columns;  ///< of single elements, not vectors, in volumes
  /// Single elements where rows begin anywhere: windows up to so wide, and of flat grids so many bytes.
  std::size_t single_width = 0, single_bytes = 0;
  StencilTiles tiles = {};
  StencilUnits units = {};
  StencilThreads threads = {};
};

// On the H200, 8192 x 8192, share of copy. Float 5 x 5: 0.88; with 4 rows 0.79, 16 rows 0.73, groups of 256
// 0.86. Four channels of bytes, 3 x 3: 6 rows at a time, 8 times, by groups of 64 x 1 0.814; 32 x 2 0.810,
// 32 x 4 0.802, 16 x 4 0.65; 6 times 0.80, 5 rows 0.78, 8 rows 0.78; 32 bytes a work-item 0.54; the next
// turn's rows read as soon as those of this one are used 0.76; as many groups as fill the device some times
// over, 0.76; sums that end as denormal numbers, whose bits need no conversion, 0.806. Two thirds of the
// multiplications would be 0.87: it is instructions, 13 a result of which 9 multiply, that bound it. 5 x 5:
// once 0.34, in turns 0.29. Float, half and uint16 gain nothing from turns.
//
// Bytes by dot products there, 3 x 3, ms, of 4 channels, 3 and 1 (single products: 0.163, 0.125, 0.053): 6
// rows 4 times 0.1456, 0.1126, 0.0424; 8 times 0.148, 0.1165, 0.043, 16 times 0.158, 0.117, 0.0505; 12 rows 4
// times 0.145, 0.113, 0.0475, 8 rows 6 times 0.146, 0.115, 0.047; groups of 128 x 1 0.148, 32 x 1 0.150; at
// most 168 registers, which let half as many groups more in, 0.160, 112 0.160. By units 0.172. By the
// command, in one run, of 4 channels: 6 rows 2, 3 and 4 times 0.150, 0.1454 (0.91 of copy) and 0.1485, 8 and
// 9 rows 4 times 0.148, 12 rows 2 and 4 times 0.149 and 0.1495; of 3 and 1 channel 3 and 4 times 0.1152 and
// 0.1163, 0.0450 and 0.0458, of 4096 x 4096 x 4 0.0459 and 0.0471, 6000 x 4000 x 3 0.0488 and 0.0507.
//
// rows: 8 rows of results read 10 of the input for a window of 3, whose extra ones the cache has. registers:
// so many leave an NVIDIA multiprocessor 400 work-items, with 16 bytes of each of 10 rows under way: 64 KiB.
// Intel's compiler has 64 for a work-item of pvc, and keeps arrays in memory that take more than about 40.
//
// Groups of 128 x 1 instead of 32 x 4: double 3 x 3 0.985 instead of 0.938, 5 x 5 0.62 instead of 0.645;
// uint16 0.86 instead of 0.83; half 0.957 instead of 0.949; float and bytes of one channel the same. Not
// taken: ptxas spills a double of 3 x 3 then, to let one more group in.
//
// Windows with strides and dilations there, 3 x 3 of floats, ms, by rows and by tiles: 4096 x 4096 / 2
// 0.0290, 0.1085; dilation 2 0.042, 0.332; of 4001 x 4001 0.0475, 0.319.
//
// columns: 512^3 float there, rows x planes of results of a work-item. A star of radius 1: 2 x 4 0.95, 1 x 4
// 0.90, 2 x 2 0.87; of radius 2: 2 x 4 0.84, 2 x 2 0.81, 1 x 6 and 2 x 6 0.755, 1 x 4 0.70; a box of 3 x 3 x
// 3: 1 x 6 0.80, 2 x 4 0.75 to 0.80, 1 x 4 0.71, 2 x 2 and 2 x 6 0.67; 3 and 4 rows no more than 2. Groups of
// 256: 0.955, 0.59, 0.585. Of these three, double 2 x 4 0.92, 0.77, 0.63 and 1 x 4 0.85, 0.65, 0.59; half 1 x
// 4 0.89, 0.75, 0.57 and 2 x 4 0.92, 0.65, 0.55; uint16 0.80, 0.52, 0.51; bytes 0.74, 0.50, 0.35. A star of
// radius 4 0.52, through local memory 0.20; a box of radius 2 0.15 and 0.054.
//
// ends_each: few, since each waits for its cells, but groups that end soon take the places of others. Four
// channels of bytes, 3 x 3, 8 turns: 16 and 32 a work-item 0.801, 8 0.796, 2 0.787; half, one turn: 8 0.943,
// 2 0.954. busy_items was not measured.
//
// singles: there, ms, 303^3 and (bytes) 403^3, rows x planes of results of a work-item, beside vectors of 16
// bytes: boxes of halves 4 x 4 0.115, 2 x 4 0.132 (0.329), of floats 0.146, 0.169 (0.178), stars of floats 4
// x 4 0.078 (0.097), of bytes 0.122 (0.451). "rows" of 3 x 3, 8191 x 8191, 8 of results: halves 0.159
// (0.226), bytes 0.162 (0.216), uint16 0.157 (0.245), 5001 x 4000 bytes of 3 channels 0.148 (0.232); but 5 x
// 5 of floats 0.155 (0.105), of halves 0.292 (0.260), of bytes, 8191 x 4191, 0.156 (0.131).
//
// counts_halos: H200, stars of radius 3 and 2, ms: 4000 x 4000 doubles 0.520 (by "tiled", 0.13 of copy) and
// 0.078, so 0.089 and 0.074; 8000 x 4000 floats 0.080 and 0.072, so 0.078 and 0.070.
//
// most_passes: NVIDIA's compiler writes out 8748, of a star of radius 4 (0.52); of 30758, of radius 6, it
// leaves some, and all arrays in memory (0.02).
//
// blocks: there, 8192 x 8192 float, 15 x 15 and 7 x 7, ms. 8 columns a work-item, cells loaded to the
// tile, 1.15 and 0.60; copied asynchronously 0.948 and 0.333, where rows took 0.264 of 7 x 7. 4 columns: 1.9
// of 15 x 15.
//
// most_written_out, known_rows: there, us, windows as arguments, and known with 1, 2, 4 and 8 results a
// work-item: 3 x 3 at dilation 2 of 4001 x 4001 floats 320, 71 (169 with divisions of 64 bits), 104, 71, 71,
// at dilation 3 of 3000 x 3000 halves 68, 102, 68, 58, 49, 5 x 5 at stride 2 of 4000 x 3000 uint16 112, 53,
// 49, 52, 52. Most of these now go by "rows", in 47, 32 and 19. Strides of 2 of 4000 x 3000, as arguments and
// known: bytes 7 x 7 141, 69, three channels 5 x 5 303, 109 and 7 x 7 425, 174, four channels 5 x 5 395, 330,
// floats of three channels 5 x 5 318, 115; 7 x 7 at stride 4 of 3000 x 3000 bytes 47, 30. Of more weights
// the registers of the largest leave room for one group.
//
// units: there, 8192 x 8192, ms. Bytes of four channels, 5 x 5: bands of 64 rows 0.187, of 128 0.189; by rows
// 0.381. 3 x 3: bands of 32 rows 0.170, 64 0.173, 128 0.176; 1 and 4 rows in an iteration 0.176 and 0.180; by
// rows 0.160. One channel, 9 x 9: 0.068, by rows 0.357. Halves: 7 x 7 bands of 64 rows 0.110, 32 0.116, 215
// (a round of all warps that fit) 0.126, by rows 0.172; 5 x 5 0.104, by rows 0.103; 9 x 9 0.1115. Without
// products halves of 7 x 7 take 0.086 in such bands, and their profile has L2 at 64 %, a third of its reads
// for what lies beside strips, and 3.8 warps a scheduler, where 5 fit.
inline constexpr StencilPolicy kStencilPolicies[] = {
    {.when = {.family = "nvidia-hopper"},
     .evidence = {.device = "H200",
                  .driver = "580.159",
                  .what = "8192 x 8192, float 3 x 3 and 5 x 5, half 3 x 3, uint8 x 4 3 x 3; 512^3 float, "
                          "star, box 3 x 3 x 3, star of radius 2",
                  .share = "0.97, 0.88, 0.95, 0.91; 0.95, 0.80, 0.84 of copy"},
     .of_blocks = {.device = "H200",
                   .driver = "580.159",
                   .what = "8192 x 8192 float, boxes of 15 x 15 and 7 x 7",
                   .share = "0.137 and 0.39 of copy"},
     .of_units = {.device = "H200",
                  .driver = "580.159",
                  .what = "8192 x 8192, 5 x 5 of uint8 of four channels, 9 x 9 of uint8, 7 x 7 of half",
                  .share = "0.70, 0.56 and 0.63 of copy"},
     .rows = {.rows = 8,
              .registers = 160,
              .across = 32,
              .group = 128,
              .counts_halos = true,
              .byte_steps = 6,
              .byte_turns = 8,
              .cell_turns = 3},
     .columns = {.rows = 2, .registers = 255},
     .boxes = {.deep = 6, .registers = 255},
     .singles = {.rows = 4, .registers = 255},
     .single_width = 3,
     .single_bytes = 2,
     .tiles = {.blocks = true, .most_written_out = 150},
     .units = {.least_weights = 25, .least_weights_of_halves = 49}},
    {.when = {.family = "nvidia", .compute_capability = 80},
     .evidence = {.what = "no measurement: a Hopper's sizes, in groups of 256"},
     .rows = {.rows = 8, .registers = 160, .across = 32, .group = 256, .byte_steps = 8},
     .columns = {.registers = 160}},
    {.when = {.family = "nvidia"},
     .evidence = kWithoutSpills,
     .rows =
         {.rows = 8, .registers = 160, .across = 32, .group = 256, .group_of_doubles = 512, .byte_steps = 8},
     .columns = {.registers = 160}},
    {.when = {.family = "amd-cdna"},
     .evidence = {.what = "no measurement: sizes by arithmetic"},
     .rows = {.rows = 8, .registers = 128, .across = 64, .group = 256, .byte_steps = 8},
     .columns = {.across = 64, .group = 256, .registers = 128}},
    {.when = {.family = "amd-rdna"},
     .evidence = {.what = "no measurement: sizes by arithmetic"},
     .rows = {.rows = 8, .registers = 128, .across = 32, .group = 128, .byte_steps = 8},
     .columns = {.registers = 128}},
    {.when = {.family = "intel"},
     .evidence = {.what = "no measurement: sizes by arithmetic"},
     .rows = {.rows = 4, .registers = 40, .across = 32, .group = 128, .byte_steps = 4},
     .columns = {.registers = 40},
     .tiles = {.block_rows = 2}},  // 4 of four channels do not stay in registers on tgllp
    {.when = {.family = "cpu"},
     .evidence = {.what = "no measurement: sizes by arithmetic"},
     .of_threads = {.device = "Zen 4",
                    .driver = "PoCL",
                    .what = "two cores, 4096 x 4096, 5 x 5, float and bytes",
                    .share = "0.68 and 0.43 of the time of OpenCV's filter2D with two threads"},
     .rows = {.rows = 4, .registers = 256, .across = 16, .group = 64, .byte_steps = 4},
     .columns = {.across = 16, .group = 64, .registers = 256},
     .singles = {.across = 16, .group = 64, .rows = 4, .registers = 256},
     .tiles = {.group = 64, .most_written_out = 6}},
    {.evidence = {.what = "no measurement: sizes that need few registers, shrunk to the device's facts"},
     .rows = {.rows = 4, .registers = 64, .across = 32, .group = 128, .byte_steps = 4},
     .columns = {.registers = 64},
     .tiles = {.group = 128}},
};

inline const StencilPolicy& stencil_policy(const Device& device) { return row_for(kStencilPolicies, device); }

}  // namespace smem::plan
