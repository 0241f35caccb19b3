/// The numbers of plans for medians and gradients, with their evidence.
#pragma once

#include "plan/policy.hpp"

#include <smem/device.hpp>

#include <cstddef>

namespace smem::plan {

struct WindowPolicy {
  When when;
  Evidence evidence;
  Evidence of_gradients = kFromRegisters;
  std::size_t group = 256;  ///< work-items
  std::size_t lanes = 4;    ///< results of a work-item: 100 registers of a window of 25
  std::size_t columns = 4;  ///< results of a work-item of "columns", an even number; 0: it does not run
  std::size_t columns_group = 128;   ///< its work-items
  std::size_t tiles_band = 64;       ///< rows of results of a work-item of "tiles", a multiple of 4
  std::size_t tiles_resident = 512;  ///< work-items of a multiprocessor below which it has fewer
  std::size_t tiles_group = 128;     ///< its work-items
  std::size_t tiles_registers = 0;   ///< of them, of 5 x 5 of bytes, at most; 0: the compiler's choice
  std::size_t sums = 0;  ///< exchanges of bytes that it makes by sums, of 5 x 5 (cl/blur/median_five.clh)
  std::size_t small_sums = 0;     ///< the same of 3 x 3 (cl/blur/median_three.clh)
  std::size_t thread_lanes = 16;  ///< results that a CPU's thread makes at once
  bool shares_columns = false;    ///< medians of 5 x 5 by "columns"
  bool pairs = true;  ///< "columns" compares two rows of integers of 8 and 16 bits by one instruction
  bool pairs_of_halves = false;  ///< the same of halves
  bool shares_rows = false;      ///< "columns" sorts once what two rows of elements of 4 bytes share
  bool tiles = false;            ///< plans choose "tiles" for medians, but of 5 x 5 doubles
  bool marches = false;          ///< plans choose "march" for gradients
};

// tiles: H200, 8192 x 8192, ms, beside columns or registers: 5 x 5 of bytes 0.143 (0.408), uint16 0.162
// (0.383), halves 0.159 (0.386), floats 0.306 (0.538); 3 x 3 of bytes 0.094 (0.426), uint16 0.116 (0.393),
// halves 0.116 (0.475), all in bands of 32 rows; of 64, as chosen, 0.142, 0.161, 0.158 and 0.305, and 0.089
// and (halves) 0.112. Bytes 5 x 5 in bands of 16, 32 and 64 rows 0.153, 0.143, 0.140; 3 x 3 of 32 and 64
// 0.094, 0.086. Groups of 64 0.143. Tiles that go across in two rows took 0.180 (5 x 5 of bytes) and 0.357
// (floats). Loops of two rows, not of four, 0.167: the registers that a turn leaves to the next one are
// moved. Later, beside the faster of the others: 3 x 3 of floats, 8192 x 4096 0.128 (0.240), 5000 x 2400 of 3
// channels 0.132 (0.298), doubles, 4000 x 4000, 3 x 3 0.157 (0.176) and 5 x 5 0.410 (0.651), though ptxas
// spills 80 bytes; 5000 x 2400 of 3 channels, 5 x 5 bytes 0.132 (0.220), halves 0.135 (0.224), floats 0.191
// (0.287).
//
// Pairs of aligned rows go down in a loop without conditions, and bytes beside a piece are picked by
// selectors that a work-item keeps: 8192 x 8192, 5 x 5 of bytes 0.142 -> 0.130, halves 0.158 -> 0.149, uint16
// 0.161 -> 0.157; 3 x 3 of bytes 0.090 -> 0.070, halves 0.112 -> 0.101, uint16 0.116 -> 0.101. Slower so:
// floats 5 x 5 0.306 -> 0.342, bytes of 8191 x 8192 5 x 5 0.204 -> 0.214; three channels the same. Of a
// tile's 300 instructions a warp 140 compare or permute. No faster, 5 x 5 of bytes: four tiles a turn 0.132;
// at most 96 and 80 registers, with which five and six groups run, 0.137 and 0.139; bands of 128 rows 0.129;
// 11 other choices of exchanges by sums 0.129 to 0.140; their sums and differences as integers 0.136 to
// 0.142.
//
// tiles_registers: there, 5 x 5 of bytes, with at most 112, 128 and 168 registers and the compiler's choice
// 0.1245, 0.1238, 0.130, 0.1287, with 96 and 80, which spill, 0.134, 0.137. Without loads and stores it takes
// 0.115, so the rest is arithmetic: per clock and scheduler, half an instruction that compares, one that adds
// halves, 0.85 of both in turn, and 0.77 of exchanges, half of them by sums. Rows prefetched to the cache 4
// and 16 rows ahead 0.129, 0.152, loads two tiles ahead 0.132, places in 32 bits 0.139; least and greatest
// ones of three numbers by two instructions 0.140.
// In the code of ptxas 13.0 for sm_90, 141 of a tile's 298 instructions are for the units of 64 lanes (100
// that compare two numbers, 20 that compare three, 10 that permute, 11 of integers): 282 clocks beside 298 of
// issue. At 0.77 instructions a clock 298 take 0.110 ms, where 0.35 of copy is 0.106, loads and stores
// included. 12 exchanges more by sums of each two tiles 0.124, others 0.126, 0.127.
//
// marches: H200, ms, beside registers: 8192 x 8192 floats 3 x 3 0.197 (0.356), 5 x 5 0.250 (1.053), bytes 3 x
// 3 0.133 (0.340); 8192 x 4096 halves 3 x 3 0.117 (0.181); 4000 x 3000 floats of 3 channels 3 x 3 0.149
// (0.237), 5 x 5 0.173 (0.852); 8000 x 4001 bytes of 3 channels 5 x 5 0.249 (1.646).
//
// sums: half-precision sums go to units that compare nothing: per clock and multiprocessor 64 lanes compare
// or permute bytes (of u16x2, f16x2, three operands, all in the same units), 110 add halves, and 103 do both
// in turn. 5 x 5 of bytes with 1 + 2 + 4, 1 + 2 + 4 + 16 and all: 0.148, 0.143, 0.142; before the tiles went
// down 0.171 with some, 0.183 without. 3 x 3 with 2 + 4 and without: 0.094, 0.096. CPUs have them for the
// tests.
//
// columns: H100, 8192 x 8192, ms: float with four sorted elements of two rows 0.529, of a row 0.628; 8
// windows 0.528 and 0.644, 2 0.659, groups of 256 0.617. Bytes by pairs 0.405, else 0.654; 8 windows 0.446.
// Halves by pairs 0.383, else 0.390.
//
// thread_lanes: two Zen 5 cores, PoCL 3.1, 4096 x 4096, ms, beside OpenCV 5 with two threads: 5 x 5 of bytes
// by vectors of 64 bytes 4.0 (16: 16.4; OpenCV 5.2), 3 x 3 0.94 (1.88; 1.60); uint16 7.6 and 2.1; floats, 64
// bytes too, 19.2 and 4.5 (OpenCV 26.9, 8.2). Sobel of bytes in 16 bits, by vectors of 64 bytes: 4096 x 4096
// on two cores of an Emerald Rapids Xeon 6.1, and in floats 7.9 (OpenCV's slope in one direction 16).
// Of 3 x 3 doubles of one channel registers stay: 4000 x 3000 0.123 (0.146), 4001 x 3001 0.127 (0.142), 8000
// x 6000 0.453 (0.479); of three channels 0.130 (0.096), 5 x 5 0.306 (0.140).
inline constexpr WindowPolicy kWindowPolicies[] = {
    {.when = {.family = "nvidia-hopper"},
     .evidence =
         {.device = "H200",
          .driver = "580.159",
          .what = "8192 x 8192, medians of 5 x 5 of float and uint8 by tiles, of 3 x 3 of uint8 and uint16",
          .share = "0.43 and 0.30, 0.57 and 0.70 of copy"},
     .of_gradients = {.device = "H200",
                      .driver = "580",
                      .what = "8192 x 8192, floats 3 x 3 and 5 x 5, bytes 3 x 3",
                      .share = "0.65, 0.51 and 0.28 of copy"},
     .tiles_registers = 128,
     .sums = 1 + 2 + 4 + 16,
     .small_sums = 2 + 4,
     .shares_columns = true,
     .pairs_of_halves = true,
     .shares_rows = true,
     .tiles = true,
     .marches = true},
    {.when = {.family = "nvidia"},
     .evidence = {.what = "no measurement: the sizes follow from the registers of a window"},
     .tiles_group = 64,  // 128 spill for sm_75
     .pairs = false},
    {.when = {.family = "cpu"},
     .evidence = {.what = "no measurement: the sizes follow from the registers of a window"},
     .sums = 1 + 2 + 4 + 8 + 16,
     .small_sums = 1 + 2 + 4 + 8 + 16,
     .pairs_of_halves = true,
     .shares_rows = true},
    {.when = {.family = "intel"},
     .evidence = {.what = "no measurement: half as many results a work-item, since the compiler runs 32 of "
                          "them in the registers of one thread"},
     .lanes = 2,
     .columns = 0},
    {.evidence = {.what = "no measurement: the sizes follow from the registers of a window"}},
};

inline const WindowPolicy& window_policy(const Device& device) { return row_for(kWindowPolicies, device); }

}  // namespace smem::plan
