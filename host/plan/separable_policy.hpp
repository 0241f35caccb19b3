/// The numbers of separable filters' plans, with their evidence.
#pragma once

#include "plan/policy.hpp"

#include <smem/device.hpp>

#include <cstddef>

namespace smem::plan {

/// Of "march": how work-items share a problem.
struct SeparableMarch {
  bool used = true;
  std::size_t group;  ///< work-items
  std::size_t group_of_small =
      128;               ///< of elements of fewer than 4 bytes; half as many where each has 8 columns
  std::size_t step = 4;  ///< rows that a work-item reads ahead of time
  std::size_t step_of_small = 4;    ///< the same of elements of fewer than 4 bytes
  std::size_t cols_of_bytes = 8;    ///< columns of a work-item that has elements of one byte: 4, 8
  std::size_t wide_registers = 32;  ///< ... if the sums that it has begun take at most so many registers
  std::size_t registers = 128;      ///< for sums that have begun: half of what a work-item can have
  std::size_t own_registers = 32;   ///< for addresses and counts: as NVIDIA's compiler has it
  /// By which windows of several channels that reach far along a row are still chosen: of march_shape(), and
  /// the same of elements of fewer than 4 bytes. 0: no others than half of `registers` hold.
  std::size_t most_shape_registers = 0;
  std::size_t most_of_small = 0;
  std::size_t registers_a_unit = 0;  ///< of 4 bytes; 0: not known
  std::size_t groups_a_unit;         ///< that are taken to run at once where registers are not known
  std::size_t least_band = 32;       ///< rows
  std::size_t most_rounds = 8;       ///< of resident groups, in which a launch is imagined
};

/// Of "packed": how work-items share a problem.
struct SeparablePacked {
  bool runs = true;           ///< its sums would stay in registers
  std::size_t most_taps = 0;  ///< of a row and of a column up to which plans choose it, where it runs
  std::size_t group = 128;    ///< work-items
  std::size_t step = 4;       ///< rows that a work-item reads ahead of time
  std::size_t wide_registers =
      32;  ///< 8 columns a work-item, not 4, if sums that have begun take so many at most
  std::size_t most_registers = 96;         ///< for sums that have begun
  std::size_t own_registers = 56;          ///< for addresses, weights and what is being summed
  std::size_t own_registers_of_wide = 24;  ///< the same where a work-item has 8 columns
  std::size_t registers_a_unit = 0;        ///< of 4 bytes; 0: not known
  std::size_t groups_a_unit = 8;           ///< that are taken to run at once where registers are not known
  std::size_t least_band = 32;             ///< rows
  std::size_t most_rounds = 8;             ///< of resident groups, in which a launch is imagined
};

/// Of "units": how groups share a problem.
struct UnitGroups {
  std::size_t group;      ///< work-items, where units are not emulated
  std::size_t blocks;     ///< of 16 columns of a warp: 2, 4
  std::size_t registers;  ///< of a work-item at most, from which follows how many groups run at once
  bool limited = true;    ///< the compiler is told
};

/// Of "units": strips of columns that a group goes down with its warps' matrix units.
struct SeparableUnits {
  bool chosen = false;  ///< plans choose it
  /// Of bytes in windows of at most 17 rows, whose sums take few registers, and in others.
  UnitGroups small = {.group = 128, .blocks = 2, .registers = 96};
  UnitGroups large = {.group = 128, .blocks = 2, .registers = 168, .limited = false};
  /// The same of elements of 16 bits.
  UnitGroups wide = {.group = 128, .blocks = 2, .registers = 128};
  UnitGroups wide_large = {.group = 128, .blocks = 2, .registers = 168};
  /// The same of boxes: their compiler otherwise stops at 168 for sm_90, and spills 8 to 32 bytes of boxes of
  /// 57 x 57 and 97 x 97; with this limit it needs 180 and 186.
  std::size_t box_registers = 200;
  /// Weights of a row and of a column together, from which plans choose it for those: of uint16, of uint16 of
  /// several channels, of halves.
  std::size_t wide_taps = 18;
  std::size_t wide_taps_of_channels = 14;
  std::size_t wide_taps_of_halves = 10;
  std::size_t registers_a_unit = 65536;  ///< of 4 bytes
  std::size_t stages = 4;         ///< steps of 16 rows in local memory, of which all but one are on their way
  std::size_t least_band = 64;    ///< rows
  std::size_t bands_of_rows = 2;  ///< a band has so many times the rows that it shares with the next one
  std::size_t most_rounds = 8;    ///< of resident groups, in which a launch is imagined
};

/// Of "tiled".
struct SeparableTile {
  std::size_t width = 64, height = 32;  ///< results
  std::size_t bytes = 48 << 10;         ///< of its local memory at most, so that some groups share a unit
};

struct SeparablePolicy {
  When when;
  Evidence evidence;  ///< of "march"
  Evidence of_packed = {.what = "no measurement: a Hopper's sizes"};
  Evidence of_units = {.what = "no measurement: a Hopper's sizes"};
  Evidence of_passes = {.what = "no measurement: the sizes are a Hopper's"};
  Evidence others = {.what = "no measurement: the sizes follow from the device's facts"};
  std::size_t group = 256;      ///< work-items of the other variants
  std::size_t pass_run = 13;    ///< results of a work-item of two passes: odd
  std::size_t passes_taps = 0;  ///< weights of a row and of a column together, from which two passes come
                                ///< before tiles where registers do not hold a window; 0: never
  SeparableMarch march;
  SeparablePacked packed = {};
  SeparableUnits units = {};
  SeparableTile tile = {};
  std::size_t thread_values = 65536;  ///< of a CPU's thread: a quarter of a core's second-level cache
  std::size_t ring_bytes = std::size_t{32} << 10;  ///< of its ring: most of a core's first-level cache
  std::size_t threads_items = 64;  ///< work-items of a CPU that take bands in turns, for each thread
};

// group on the H200, 8192 x 8192, share of copy, Gaussian 5 x 5 and 15 x 15 of float: 64 0.79 and 0.79, 128
// 0.81 and 0.81, 256 0.84 and 0.81; of bytes 128 0.29 and 0.16, 256 0.26 and 0.15. step: 2 0.71 and 0.69, 4
// 0.81 and 0.81, 8 0.79 and 0.79: 4 rows of 4 columns make 64 bytes a work-item that are under way. Of an 8th
// of the registers a group more or less is resident, so that the rows of a band follow from them.
//
// packed on the H200, 8192 x 8192 bytes, Gaussian 3 x 3, 5 x 5, 9 x 9 and 15 x 15: 0.061, 0.070, 0.084 and
// 0.147 ms, march 0.111, 0.126, 0.175 and 0.226; 512 x 512, 5 x 5 0.014 and 0.021 ms; 4096 x 4096, 21 x 21
// 0.070 and 0.092. own_registers of 56 and 24 with 8 columns, 5 x 5: 0.083 and 0.070, with 4 columns, 11 x
// 11: 0.109 and 0.122. 2 rows of 8 columns, 5 x 5: 0.074; 4 rows of 4 columns 0.073; groups of 64 0.071.
// Work-items at the edges are the last to end: without them 5 x 5 would take 0.050 ms, 15 x 15 0.115.
//
// units on the H200, 8192 x 8192 bytes: Gaussian 5 x 5 0.0529 ms with at most 96 registers, 0.0547 with 128,
// 0.0544 with 80; 15 x 15 0.0539 with 128 and elements at the ends of rows made when a step has come; without
// the ends 0.0487. Groups of 128 had 104 registers before, so that 4 of the 6 which a launch was planned for
// shared a unit: 0.0718; groups of 256 0.0663. Boxes of 4 channels, 3 x 3 and 5 x 5, 0.251 both, 0.52 of
// copy; by packed 0.49 and 0.41.
//
// units there, Gaussian 15 x 15 of half: 0.1025 ms with at most 128 registers, 0.1046 with 168, 0.121 with
// 96; of uint16 0.122, 0.132 and 0.131; 31 x 31 of half 0.141 with 168, 0.157 with 128, by march 0.284. Warps
// of 64 columns: half 0.098, bytes 0.060. Elements beyond the ends of rows whose places are known for all
// steps: 15 x 15 of half 0.098 -> 0.095, uint16 0.122 -> 0.1165; without any ends 0.090, without products
// 0.077. Groups of 64 and 256, before copies inside a plane lost their tests: half 0.132 and 0.148, where
// those of 128 took 0.119. wide_taps lies between 15 x 15 and what march should take of 5 x 5 by its times of
// bytes: smaller windows were not measured.
//
// As denormal halves, and fewer instructions for results: 15 x 15 of half 0.0928 -> 0.0855, uint16 0.1150 ->
// 0.0995; 31 x 31 0.1305 -> 0.1276, 0.1664 -> 0.1464. wide_taps by those, beside march, ms, half of 3 x 3, 5
// x 5, 7 x 7, 9 x 9: 0.0832 (0.0792), 0.0832 (0.0809), 0.0840 (0.0899), 0.0843 (0.0928); 2048 x 2048, 5 x 5
// 0.0115 (0.0135); 4096 x 4096 of 4 channels, 3 x 3 0.0835 (0.0785), 5 x 5 0.0837 (0.0909); 1920 x 1080 of 3,
// 5 x 5 0.0150 (0.0163). uint16 of 5 x 5, 7 x 7, 9 x 9: 0.0968 (0.0816), 0.0976 (0.0941), 0.0974 (0.1006); of
// 4 channels 0.0972 (0.0961), 0.1158 (0.1277), 0.1163 (0.1514).
// uint16 there, 0.1037: 0.0992 without the limits of results, 0.0970 without one of three products of a
// direction, 0.0852 without both and another product. A tenth fewer instructions for results and factors
// (joined by prmt, no moves) gain 1 %. 3 stages 0.1041, groups of 64 0.1084, warps of 64 columns 0.1223, at
// most 168 registers 0.1080, 100 0.153. As it is 0.1002 (0.68 of copy); without stores 0.0976, without loads
// 0.0906 (0.75), with two of three products 0.0875, without any 0.0805.
//
// march there, without the ends of rows and columns: 15 x 15 of half 0.172 and 0.110 ms, uint16 0.180 and
// 0.122, float 0.161 and 0.153. With sums at the ends copied from the tile half takes 0.129 and uint16
// 0.141 ms.
//
// Windows that registers do not hold, there, ms, by two passes of 13 results a work-item (by tiles): 8192 x
// 8192 float, 41 x 41 0.69 (3.5), 63 x 63 0.89 (10.1), uint8 63 x 63 0.88 (9.9), half 101 x 101 1.32; 1920 x
// 1080 float of 3 channels, 63 x 63 0.117 (1.57), 101 x 101 0.171; 640 x 480 float 63 x 63 0.024 (0.084).
// With a question before each weight, and 15 results, 63 x 63 took 1.23. ptxas spills 48 bytes of bytes of 3
// channels with 15 results in a group of 128. march of several channels beside the passes (and tiles), 4096 x
// 4096: float 21 x 21 of 4 channels 0.355 (0.62), 23 x 23, of 228 registers by march_shape(), 0.384; 31 x 31
// of 3, of 264, 2.87 (0.58, 3.27), of 4 - (0.61, 4.4); half 31 x 31 of 3, of 264, 0.39 (0.56, 3.27), of 4, of
// 292, 0.69 (0.60, 4.4).
//
// ring_bytes on two Zen 5 cores (48 KiB of first-level cache each), 4096 x 4096, ms of strips of 128, 256,
// 512, 1024 and 2048 results: 15 x 15 of uint8 -, -, 5.6, 7.3, 8.1, of float -, -, 8.0, 9.4, 9.9; 31 x 31 of
// uint8 11.9, 11.7, 15.4, -, 15.5, 63 x 63 20.9, 31.3, 29.6, -, 30.0; 5 x 5 of 8192 x 8192 floats -, -, 23.4,
// 19.5, 19.1.
inline constexpr SeparablePolicy kSeparablePolicies[] = {
    {.when = {.family = "nvidia-hopper"},
     .evidence = {.device = "H200",
                  .driver = "580.159",
                  .what = "8192 x 8192, Gaussian 5 x 5 and 15 x 15 of float, and of uint8",
                  .share = "0.84 and 0.81, 0.29 and 0.16 of copy"},
     .of_packed = {.device = "H200",
                   .driver = "580.159",
                   .what = "8192 x 8192 uint8, Gaussian 5 x 5 and 15 x 15",
                   .share = "0.51 and 0.25 of copy"},
     .of_units = {.device = "H200",
                  .driver = "580.159",
                  .what = "8192 x 8192 Gaussian, 5 x 5 and 15 x 15 of uint8, 15 x 15 of half and uint16",
                  .share = "0.73 and 0.72, 0.77 and 0.68 of copy; by packed 0.58 and 0.33, by march 0.53 "
                           "and 0.49"},
     .of_passes = {.device = "H200",
                   .driver = "580.159",
                   .what = "8192 x 8192 float, Gaussian 41 x 41 and 63 x 63",
                   .share = "0.19 and 0.15 of copy, by tiles 0.04 and 0.01"},
     .passes_taps = 32,
     .march = {.group = 256,
               .most_shape_registers = 255,
               .most_of_small = 264,
               .registers_a_unit = 65536,
               .groups_a_unit = 4},
     .packed = {.most_taps = 21, .registers_a_unit = 65536},
     .units = {.chosen = true}},
    {.when = {.family = "intel"},
     .evidence = {.what = "no measurement: its compiler runs 32 work-items in the registers of one thread, "
                          "and keeps a march's columns in memory"},
     .pass_run = 5,
     .march = {.used = false, .group = 128, .groups_a_unit = 8},
     .packed = {.runs = false}},
    {.evidence = {.what = "no measurement: a Hopper's sizes, by smaller groups"},
     .march = {.group = 128, .groups_a_unit = 8}},
};

inline const SeparablePolicy& separable_policy(const Device& device) {
  return row_for(kSeparablePolicies, device);
}

}  // namespace smem::plan
