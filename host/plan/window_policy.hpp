/// The numbers of plans for medians and gradients, with their evidence.
#pragma once

#include "plan/policy.hpp"

#include <smem/device.hpp>

#include <cstddef>

namespace smem::plan {

struct WindowPolicy {
  When when;
  Evidence evidence;
  std::size_t group = 256;  ///< work-items
  std::size_t lanes = 4;    ///< results of a work-item: 100 registers of a window of 25
  std::size_t columns = 4;  ///< results of a work-item of "columns", an even number; 0: it does not run
  std::size_t columns_group = 128;  ///< its work-items
  std::size_t tile_columns = 4;     ///< results of a row of a work-item of "tiles": 4 or 8
  std::size_t tiles_group = 128;    ///< its work-items
  std::size_t sums = 0;             ///< exchanges of bytes that it makes by sums (cl/blur/median_tiles.cl)
  std::size_t thread_lanes = 16;    ///< results that a CPU's thread makes at once
  bool shares_columns = false;      ///< medians of 5 x 5 by "columns"
  bool pairs = true;  ///< "columns" compares two rows of integers of 8 and 16 bits by one instruction
  bool pairs_of_halves = false;  ///< the same of halves
  bool shares_rows = false;      ///< "columns" sorts once what two rows of elements of 4 bytes share
  bool tiles = false;            ///< plans choose "tiles" for bytes and floats
};

// tiles: H200, 8192 x 8192, ms, beside columns: bytes 0.227 (groups of 64 and 256: 0.240, 0.243; 8 columns
// 0.268) and 0.408; floats 0.417 and 0.538. Halves and uint16 were not measured. Bytes by work-items that go
// down 4, 8 and 16 tiles, with the four lines before in local memory: 0.204, 0.209 and 0.242, beside 0.180.
//
// sums: the same bytes without sums 0.249, with all 0.222 (not compared with a plain loop). Half-precision
// sums go to units that compare nothing. CPUs have them for the tests.
//
// columns: H100, 8192 x 8192, ms: float with four sorted elements of two rows 0.529, of a row 0.628; 8
// windows 0.528 and 0.644, 2 0.659, groups of 256 0.617. Bytes by pairs 0.405, else 0.654; 8 windows 0.446.
// Halves by pairs 0.383, else 0.390.
//
// thread_lanes: two Zen 5 cores, PoCL 3.1, 4096 x 4096, ms, beside OpenCV 5 with two threads: 5 x 5 of bytes
// by vectors of 64 bytes 4.0 (16: 16.4; OpenCV 5.2), 3 x 3 0.94 (1.88; 1.60); uint16 7.6 and 2.1; floats, 64
// bytes too, 19.2 and 4.5 (OpenCV 26.9, 8.2). Sobel of bytes in 16 bits, by vectors of 64 bytes: 4096 x 4096
// on two cores of an Emerald Rapids Xeon 6.1, and in floats 7.9 (OpenCV's slope in one direction 16).
inline constexpr WindowPolicy kWindowPolicies[] = {
    {.when = {.family = "nvidia-hopper"},
     .evidence = {.device = "H200",
                  .driver = "580.159",
                  .what = "8192 x 8192, medians of 5 x 5 of float and uint8 by tiles",
                  .share = "0.32 and 0.18 of copy, by columns 0.25 and 0.10"},
     .sums = 1 + 2 + 4 + 16,
     .shares_columns = true,
     .pairs_of_halves = true,
     .shares_rows = true,
     .tiles = true},
    {.when = {.family = "nvidia"},
     .evidence = {.what = "no measurement: the sizes follow from the registers of a window"},
     .pairs = false},
    {.when = {.family = "cpu"},
     .evidence = {.what = "no measurement: the sizes follow from the registers of a window"},
     .sums = 1 + 2 + 4 + 8 + 16,
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
