/// The numbers of box blurs' plans, with their evidence.
#pragma once

#include "plan/policy.hpp"

#include <smem/device.hpp>

#include <cstddef>

namespace smem::plan {

/// Of "march": strips of columns that slide down.
struct BoxMarch {
  bool used = true;
  std::size_t width = 512;  ///< columns of the narrowest strip
  std::size_t columns;      ///< of a work-item, at least; 4 of integers, whose bytes come as words
  std::size_t step;         ///< rows between barriers, at most
  std::size_t step_of_four =
      4;              ///< the same of groups of more than 256 with 4 columns each: in 128 registers
  std::size_t ahead;  ///< rows that are read ahead of time, at most
  std::size_t ahead_of_large = 2;  ///< the same of groups of more than 512: in 64 registers
  std::size_t ahead_words;         ///< registers for them, of the rows that come
  std::size_t ring_items;          ///< rows stay in local memory where so many work-items find room on a unit
  std::size_t items_a_unit =
      512;  ///< resident work-items that a launch is made for: registers leave room for them
  std::size_t band_boxes = 1;    ///< a band has at least so many times the rows of a box, if it can
  std::size_t wide = 64;         ///< cells of a box along a row, more than which take
  std::size_t wide_group = 512;  ///< ... groups of so many at least, of which fewer read the same halo
  std::size_t most_group = 512;  ///< work-items, where boxes are not so large that only twice as many do
};

/// Of "shuffle": strips of 512 bytes that a warp slides down.
struct BoxShuffle {
  std::size_t most_taps = 0;  ///< cells of a side of a box up to which plans choose it; 0: they do not
  std::size_t small_elements = std::size_t{1}
                               << 26;     ///< from which on they do for boxes that are summed anew
  std::size_t units_taps = 3;             ///< cells from which on they do before "units"
  std::size_t units_elements = 12000000;  ///< ... of grids of so many
  std::size_t group = 32;                 ///< work-items, where shuffles are not emulated
  std::size_t step = 4;                   ///< rows that are loaded ahead of time
  std::size_t warps_a_unit = 12;          ///< that a launch is made for
  std::size_t band_boxes = 1;             ///< a band has at least so many times the rows of a box, if it can
  std::size_t least_work_items = 8;       ///< of a warp, that have results, or it would do little but halos
};

/// Of "two_pass": how groups go down columns.
struct BoxColumns {
  std::size_t group = 256;          ///< work-items, at most
  std::size_t lanes = 32;           ///< of them side by side
  std::size_t rows = 8;             ///< of one of them at a time
  std::size_t items_a_unit = 1024;  ///< resident work-items that bands are made for
};

/// Of "two_pass": sums along rows, then means down their columns.
struct BoxPasses {
  bool chosen = false;  ///< where it takes less time than "march" and "shuffle", by the numbers below
  std::size_t rows_group = 256;   ///< work-items
  std::size_t parts = 3;          ///< of neighbouring columns that a work-item loads at a time, at most
  std::size_t integer_parts = 3;  ///< the same of integers
  std::size_t most_parts = 12;    ///< of a tile
  BoxColumns columns = {};        ///< where rows are read again as they leave boxes
  BoxColumns kept = {};           ///< where rows stay in local memory until then
  std::size_t large_rows = 8;     ///< of `columns`, of sums of 8 bytes
  bool keeps = true;              ///< rows stay in local memory where it has room
  std::size_t registers_a_unit = 65536;  ///< of 4 bytes
  std::size_t run = 64;  ///< sums along which one slides where boxes are too large for local memory
  // Nanoseconds, for the choice between variants.
  double least_ns = 16000;       ///< both launches of small grids
  double launch_ns = 7000;       ///< what is added to the times of a unit's elements
  double element_ns = 0.424;     ///< of an element whose sums have 4 bytes
  double byte_ns = 0.0354;       ///< of a byte of an element that is loaded
  double march_ns = 0.25;        ///< of a column sum of a unit, by "march"
  double march_wide_ns = 0.2;    ///< the same of work-items with more than two columns
  double march_half_ns = 0.27;   ///< the same of halves
  double march_words_ns = 0.33;  ///< the same of integers of 16 bits
  double march_ring = 1.4;       ///< times as much where rows stay in local memory
  double shuffle_ns = 200;       ///< of a row, by "shuffle"
  double shuffle_warp_ns = 35;   ///< the same of each warp of a unit, where that is more
};

struct BoxPolicy {
  When when;
  Evidence evidence;  ///< of "march"
  Evidence of_shuffle = {.what = "no measurement: a Hopper's sizes"};
  Evidence of_two_pass = {.what = "no measurement: a Hopper's sizes"};
  Evidence others = {.what = "no measurement: the sizes follow from the device's facts"};
  std::size_t small = 15;        ///< cells of a side of a box that is cheaper summed anew for each result
  std::size_t small_bytes = 15;  ///< the same of bytes
  std::size_t small_words = 0;   ///< the same of 16-bit integers, whose sums must fit 24 bits
  std::size_t small_halves = 0;  ///< the same of halves; 0: small
  /// Cells of a side of a box of bytes up to which plans choose "units"; 0: they do not.
  std::size_t units_most_taps = 0;
  BoxMarch march;
  BoxShuffle shuffle = {};
  BoxPasses passes = {};
  /// Of a CPU's thread: a part of its second-level cache. Its three lines are no multiple of 4096 bytes
  /// apart, else each load waits for a store of another line: 101 x 101 of 4096 x 4096 bytes on two Zen 5
  /// cores takes 7.5 ms, and by lines of 8192 sums between 7.3 and 35.
  std::size_t thread_sums = 3 * (8192 - 80);
  std::size_t threads_items = 64;  ///< work-items of a CPU that take bands in turns, for each thread
};

// small, small_bytes and small_words of Intel's CPUs: two cores of an Emerald Rapids Xeon, 4096 x 4096, ms by
// "separable" and by "cpu": bytes 5 x 5 7.5 and 11.7, 9 x 9 10.5 and 9.8, 13 x 13 11.0 and 10.3, 15 x 15 15.0
// and 12.1; uint16 3 x 3 7.0 and 12.4, 5 x 5 9.1 and 13.4, 7 x 7 15 and 13; floats 19 x 19 22.7 and 24.3,
// 23 x 23 26.5 and 30.7, 27 x 27 31.6 and 31.1. Of two Zen 5 cores, whose rings stay in the first-level cache
// since: bytes 9 x 9 4.5 and 5.0, 13 x 13 4.8 and 5.0, 17 x 17 6.9 and 5.0; uint16 5 x 5 4.2 and 5.7, 9 x 9
// 5.2 and 5.6, 13 x 13 6.7 and 5.6; halves 13 x 13 7.4 and 8.3, 17 x 17 8.4 and 8.6, 21 x 21 10.2 and 8.6;
// floats 13 x 13 8.5 and 8.5, 17 x 17 9.8 and 8.7.
//
// On the H200, 8192 x 8192 float, share of copy, 101 x 101 and 31 x 31: two columns a work-item, 8 rows a
// step 0.53 and 0.74, 4 rows 0.52 and 0.71, 2 rows 0.29 and 0.60; 16 rows ahead 0.49 and 0.75; one column
// 0.38 and 0.61, four 0.44 and 0.33. The ring: 31 x 31 0.74 with it, 0.41 without; 101 x 101, where it leaves
// room for 256 work-items, 0.38 with it, 0.52 without. A kernel that scanned each step with three barriers, 4
// columns a work-item, made 0.22 and 0.29.
//
// wide_group: there, 101 x 101 bytes, groups of 512 0.256 ms, of 1024 0.306, of 256 0.371; of floats 512
// 0.249, 256 0.300. wide was not measured.
// 401 x 401 float, 0.426 ms: sums between a box's ends by a shuffle instead of six loads for each result
// 0.483, the first box's rows read ahead 0.425, scans by the shuffles' own predicates 0.441. A kernel without
// a row that is read again, 128 groups that go down together, each adding whole rows for all and columns of
// 64 for itself, takes 0.387, of which waits for other groups are 0.003 and loads of rows 0.1.
//
// shuffle: there, 8192 x 8192 bytes, 101 x 101, march 0.281 ms: 2 rows a step, groups of 128, 8, 11 and 16
// warps a unit 0.158, 0.147 and 0.158; 4 rows, groups of 64, 8 and 11 warps 0.145 and 0.158; one row, 11
// warps 0.188. With 8 warps 5 x 5, 15 x 15, 31 x 31 and 51 x 51: 0.100, 0.103, 0.112 and 0.127, of separable
// and march 0.125, 0.221, 0.234 and 0.213; 201 x 201 0.268, march 0.262; 512 x 512, 101 x 101 0.069 and
// 0.076. Those loaded each byte beyond the edges again. Since its sum comes from the strip's own columns, 101
// x 101: 2 rows, groups of 32 0.122; 4 rows, groups of 32 and 64 0.1135 and 0.117, groups of 32 for 8 warps a
// unit 0.118. Those scanned the sums of a row; sums that slide along rows: for 8, 11, 12 and 16 warps a unit
// 0.1009, 0.0983, 0.0945 and 0.0996, 2 rows 0.113. With twice as many of the first box's rows loaded at a
// time, before and now in one run: 101 x 101 0.0971 and 0.0916, 25 x 25 0.0675 and 0.0667, 49 x 49 0.0775 and
// 0.0750, 151 x 151 0.1295 and 0.1243. most_taps lies between 101, where it took 0.145 and march
// 0.281, and 201, where both took the same; it was not measured itself.
//
// units_most_taps, units_taps and units_elements: there, bytes, "units" and "shuffle": 8192 x 8192, 11 x 11
// 0.0725 and 0.0599, 15 x 15 0.0715 and 0.0608, 25 x 25 0.0989 and 0.0650, 31 x 31 0.0984 and 0.0676, 41 x 41
// 0.0982 and 0.0727, 49 x 49 0.0985 and 0.0748, 3 x 3 0.0743 and 0.0598; 4000 x 3000, 3 x 3 0.0246 and
// 0.0210, 11 x 11 0.0250 and 0.0215, 21 x 21 0.0315 and 0.0258, 49 x 49 0.0313 and 0.0305; 2048 x 2048, 49 x
// 49 0.0159 and 0.0285, 7 x 7 0.0096 and 0.0110.
//
// small_halves and small_words: there, 8192 x 8192, ms by "separable", which takes its matrix units for large
// boxes of halves, and by "march": halves 5 x 5 0.082 and 0.204, 15 x 15 0.098 and 0.216, 31 x 31 0.135 and
// (25 x 25) 0.182; uint16 5 x 5 0.096 and 0.211, 15 x 15 0.163 and 0.256. Sums of larger boxes of uint16 do
// not fit.
//
// passes: there, 8192 x 8192 float, 401 x 401, march 0.426 ms: rows are read again, groups of 512 0.336, of
// 256 0.352. Rows in local memory as they are, with sums of all parts of a chunk and of where boxes begin,
// groups of 512, 0.309; as sums to their chunk's end, 8 rows of groups of 512 0.3009, 16 of 256 0.2948, 16 of
// 512 in strips of 64 0.2937. 9 parts of rows 0.323, of bytes 0.256, where 3 take 0.265; uint16 and halves
// with 9 0.257 and 0.291, radius 100, halves with 3 0.256. Sums along rows take 0.154 of these, a copy of as
// many bytes 0.133. No faster: sums of whole segments made once a tile, elements beyond the ends of rows by
// places of 32 bits, rows from the last to the first, loads of rows a step ahead that are read again. These
// two launches move four times the image, 0.51 of copy at most. One launch reads each row as it enters and as
// it leaves, and 401 more for each band: 8 bands, whose rows between (13 MB each) are more than the cache
// holds, move 3.4 times the image, 0.59 of copy at most, and one front of all columns needs sums of its
// neighbours in every row. Such a front, whose groups make tiles of rows by a counter between chunks of
// columns, by asynchronous copies, takes 0.386 with 8 rows a work-item and, with half of the instructions of
// before, 0.347 with 16, beside 0.295 in one run; of bytes 0.354 beside 0.232, radius 100 0.336 beside 0.297.
// Sums that never reach memory (lines discarded) change nothing, so bytes do not bound it; tiles of three
// parts instead of five 0.401, one chunk ahead instead of two 0.459, four 0.364: it waits. Of two launches,
// with the sums along rows in 8 MB that stay in the cache (wrong results, but the bound of bands of rows that
// take turns) 0.223 beside 0.297, 0.59 of copy; without stores of results 0.242.
//
// launch_ns to march_ring: ms by march and by two_pass, 8192 x 8192 float, radius 50 0.237 and 0.292, 100
// 0.280 and 0.300, 150 0.340 and 0.304, 200 0.426 and 0.306, 500 0.911 and 0.371; half 50 0.260 and 0.237,
// 100 0.300 and 0.256, uint16 10 0.275 and 0.238, 50 0.391 and 0.242, 200 0.598 and 0.515 to 0.542, bytes 100
// 0.258 and 0.243, 500 0.920 and 0.304; 4096 x 4096 float 20 0.054 and 0.078, 50 0.085 and 0.078, three
// channels 100 0.295 and 0.302, 200 0.679 and 0.355, four 200 0.961 and 0.369; 2048 x 2048 float 20 0.038 and
// 0.026, 100 0.105 and 0.029; 1024 x 1024 float 20 0.0149 and 0.0179, 50 0.054 and 0.018, 200 0.215 and
// 0.019. shuffle_ns: bytes by shuffle and by two_pass, radius 50 of 512 x 512 0.039 and 0.018, 2048 x 2048
// 0.040 and 0.027, 4096 x 4096 0.0415 and 0.071, radius 75 0.063 and 0.076. The model takes the slower one
// where both are within 10 %: half 50, uint8 76. Doubles were not measured.
inline constexpr BoxPolicy kBoxPolicies[] = {
    {.when = {.family = "nvidia-hopper"},
     .evidence = {.device = "H200",
                  .driver = "580.159",
                  .what = "8192 x 8192 float, boxes of 31 x 31, 101 x 101 and 401 x 401",
                  .share = "0.74, 0.53 and 0.28 of copy"},
     .of_shuffle = {.device = "H200",
                    .driver = "580.159",
                    .what = "8192 x 8192 uint8, boxes of 101 x 101",
                    .share = "0.43 of copy"},
     .of_two_pass = {.device = "H200",
                     .driver = "580.159",
                     .what = "8192 x 8192 float, boxes of 401 x 401",
                     .share = "0.44 of copy; by march 0.31"},
     .small_words = 15,
     .small_halves = 31,
     .units_most_taps = 49,
     .march = {.columns = 2, .step = 8, .ahead = 8, .ahead_words = 16, .ring_items = 512},
     .shuffle = {.most_taps = 151},
     .passes = {.chosen = true,
                .integer_parts = 9,
                .columns = {.group = 512},
                .kept = {.group = 256, .rows = 16, .items_a_unit = 512}}},
    {.when = {.family = "nvidia", .compute_capability = 80},
     .evidence = {.what = "no measurement: a Hopper's sizes, with less read ahead"},
     .march = {.columns = 4, .step = 2, .ahead = 2, .ahead_words = 8, .ring_items = 256}},
    {.when = {.family = "nvidia"},
     .evidence = kWithoutSpills,
     .march = {.columns = 4,
               .step = 2,
               .ahead = 2,
               .ahead_words = 8,
               .ring_items = 256,
               .wide_group = 256,
               .most_group = 256}},
    {.when = {.family = "intel"},
     .evidence = {.what = "no measurement: its compiler runs 32 work-items in the registers of one thread, "
                          "and keeps a march's columns in memory"},
     .march = {.used = false, .columns = 4, .step = 2, .ahead = 2, .ahead_words = 8, .ring_items = 256},
     .passes = {.columns = {.rows = 4}, .kept = {.rows = 4}, .large_rows = 2}},
    {.when = {.family = "cpu", .vendor = "Intel"},
     .evidence = {.what = "no measurement: a march is for GPUs"},
     .others = {.device = "Xeon",
                .driver = "PoCL 3.1",
                .what = "4096 x 4096, boxes of 5 x 5 to 27 x 27, beside variant cpu",
                .share = "see above"},
     .small = 25,
     .small_bytes = 9,
     .small_words = 5,
     .march = {.columns = 4, .step = 2, .ahead = 2, .ahead_words = 8, .ring_items = 256}},
    {.when = {.family = "cpu", .vendor = "AMD"},
     .evidence = {.what = "no measurement: a march is for GPUs"},
     .others = {.device = "EPYC",
                .driver = "PoCL 3.1",
                .what = "4096 x 4096, boxes of 5 x 5 to 29 x 29 on two Zen 5 cores, beside variant cpu",
                .share = "see above"},
     .small_words = 9,
     .march = {.columns = 4, .step = 2, .ahead = 2, .ahead_words = 8, .ring_items = 256}},
    {.evidence = {.what = "no measurement: a Hopper's sizes, with less read ahead"},
     .march = {.columns = 4, .step = 2, .ahead = 2, .ahead_words = 8, .ring_items = 256}},
};

inline const BoxPolicy& box_policy(const Device& device) { return row_for(kBoxPolicies, device); }

}  // namespace smem::plan
