/// The numbers of pools' plans, with their evidence.
#pragma once

#include "plan/policy.hpp"

#include <smem/device.hpp>

#include <cstddef>

namespace smem::plan {

/// Of poolings of windows.
struct PoolPolicy {
  When when;
  Evidence evidence = kFromFacts;
  std::size_t group = 256;         ///< work-items
  std::size_t vector_group = 256;  ///< of the variant "vector"
  std::size_t read_bytes = 16;     ///< of a vector
  /// Of a row that a work-item reads where windows lie side by side, and where they overlap.
  std::size_t span_bytes = 32;
  std::size_t overlapping_bytes = 16;
  std::size_t most_span = 48;   ///< elements of a row that a work-item keeps in registers
  std::size_t most_kept = 160;  ///< and of all rows of a window
  /// Results of a row up to which padded maxima of larger strides go one by one where no vectors are read.
  std::size_t narrow_results = 0;
  /// With strides, of windows that overlap: results of a row up to which padded maxima are for "windows",
  /// half as many where their windows are loops; and of others work-items of "vector" that make a row.
  std::size_t short_results = 0, narrow_items = 0;
  bool single_halves = false;  ///< halves that are not read in vectors by "vector"
  /// Measured: "windows" with several results before "vector" of single elements, or where windows overlap.
  bool down_first = false;
  std::size_t single_span = 16;       ///< bytes of a row that a work-item reads one by one
  std::size_t most_written_out = 25;  ///< cells of a window of "windows" that is known when it is compiled
  /// Of "windows" that are known: elements of the input that a work-item reads for its results, and these.
  std::size_t down_elements = 36, most_down = 1;
  std::size_t items_a_unit = 2048;  ///< work-items that are left for a unit, at least
};

// vector_group: H200, 16384 x 16384, groups of 64, 128 and 256, ms: max 3 x 3 / 2 of floats 0.418, 0.427,
// 0.470; means of 2 x 2 bytes 0.125, 0.124, 0.146; max 2 x 2 of floats 0.310 with each.
//
// overlapping_bytes: windows that overlap are unpacked.
//
// most_written_out: H200, ms, as loops and written out: max 3 x 3 / 2, padded, of 33668 planes of 28 x 28
// halves 0.161 and 0.094, of 1419 of 112 x 112 0.091 and 0.059; means of 2 x 2 of 4001 x 3001 bytes of 3
// channels 0.163 and 0.098 (0.076 where no window leaves the plane); max 2 x 2 of 5000 x 56 x 56 floats with
// places 0.105 and 0.071.
//
// narrow_results: there, max 3 x 3 / 2, padded, of floats, 20000 planes of 28 x 28 0.058 (by "vector" 0.142),
// 1000 of 112 x 112 0.043 (0.096); means of 3 x 3 / 1 of 5000 of 56 x 56 0.201 (0.143).
//
// short_results, narrow_items: there, us by "windows" and by "vector", max, padded, / 2, of 500 planes of
// 256^2, 128 of 512^2, 32 of 1024^2 and 8 of 2048^2 halves, 3 x 3 55, 180; 55, 96; 55, 71; 54, 56; 5 x 5 99,
// 419; 102, 214; 102, 157; 101, 118; 7 x 7 277, 794; 286, 396; 284, 287; 284, 210; floats 3 x 3 62, 108; 63,
// 84; 63, 71; 63, 64; 5 x 5 100, 223; 102, 173; 102, 135; 102, 116; 7 x 7 271, 387; 277, 288; 278, 219; 277,
// 187; bytes 3 x 3 44, 139; 45, 74; 45, 51; 44, 40; 5 x 5 86, 306; 88, 159; 87, 110; 87, 77. Of 2000 planes
// of 112^2 max 5 x 5 without padding floats 67, 142, bytes 58, 85; means floats 52, 88, padded 80, 251, 3 x 3
// 42, 143; 4 of 4000 x 3000 padded means 5 x 5 133, 126, halves 133, 111.
//
// single_span: there, unaligned rows, ms with 32, 8 and 4 bytes: max 2 x 2 of 8191 x 4191 bytes 0.057, 0.041,
// 0.068, with 16, 8 and 4 max 3 x 3 / 1 of 4001 x 3001 0.063, 0.046, 0.050; uint16 and floats are slower with
// less than 32.
//
// single_halves: there, by "windows" and by "vector": max 2 x 2 of 8191 x 4191 0.073 and 0.056, padded max 3
// x 3 / 1 of 4000 x 3000 0.135 and 0.064; means of 3 x 3 / 1 of 100000 of 14 x 14 0.257 and 0.336.
//
// down_elements, down_first: there, us by "windows" with one result a work-item (by "vector") and with
// several, one below the other: means of 3 x 3 / 1, padded, of 100000 of 14 x 14 halves 255 (336) and 98, of
// 5000 of 56 x 56 floats 201 (146) and 83; max 3 x 3 / 1 of 4000 x 3000 floats (64) and 58, 5 x 5 (93) and
// 69; means of 2 x 2 of 4001 x 3001 bytes of 3 channels 73 and 51; max 2 x 2 of 8191 x 4191 halves (55) and
// 39, bytes (41) and 34; but 3 x 3 / 2 of 8192 x 8192 halves (89) and 103, means of 3 x 3 / 1 of 4096 x 4096
// uint16 (64) and 76, max 5 x 1 of floats (60) and 75. With 45 elements ptxas for sm_90 spills 56 bytes of
// sums of uint16.
//
// span_bytes: Intel's compiler runs 32 work-items in the registers of one thread.
inline constexpr PoolPolicy kPoolPolicies[] = {
    {.when = {.family = "nvidia-hopper"},
     .evidence = {.device = "H200",
                  .driver = "580.159",
                  .what = "8192 x 8192",
                  .share = "max 2 x 2 float 0.99 of copy, uint8 0.74, half 0.51; 3 x 3 float 0.62"},
     .vector_group = 64,
     .narrow_results = 64,
     .short_results = 512,
     .narrow_items = 32,
     .single_halves = true,
     .down_first = true,
     .single_span = 8,
     .most_down = 8},
    {.when = {.family = "nvidia"},
     .evidence = {.what = "no measurement: a Hopper's sizes"},
     .vector_group = 64},
    {.when = {.family = "intel"}, .evidence = kFromRegisters, .span_bytes = 16},
    {.when = {.family = "cpu"},
     .evidence = {.device = "EPYC",
                  .driver = "PoCL 3.1",
                  .what = "4096 x 4096 on two Zen 5 cores, ms",
                  .share = "max 2 x 2 float 2.2, half 1.8, uint8 0.7, of 3 channels 2.3; mean uint8 0.8"},
     .most_down = 8,
     .items_a_unit = 1},  // "windows", which runs there by name alone, as on GPUs
    {},
};

inline const PoolPolicy& pool_policy(const Device& device) { return row_for(kPoolPolicies, device); }

/// Of poolings of whole planes.
struct GlobalPoolPolicy {
  When when;
  Evidence evidence = kFromFacts;
  std::size_t least_group = 32;  ///< work-items
  std::size_t most_group = 256;
  std::size_t finish_group = 256;  ///< of the launch that joins parts
  std::size_t item_elements = 64;  ///< that a work-item reads, where it may
  /// Small planes share a group of so many work-items: each has a team.
  std::size_t teams_group = 256;
  std::size_t least_team = 8;
  std::size_t most_team = 32;
  std::size_t team_elements = 24;      ///< that a work-item of a team reads, where it may
  std::size_t part_elements = 16384;   ///< of a part, at least: about as many as its start takes
  std::size_t joined_elements = 2048;  ///< of a row made of several: shorter ones leave work-items idle
  std::size_t groups_a_unit = 8;
};

// team_elements, H200, us, a group for each plane, a team of 32 for each, and so: max of 100000 of 14 x 14
// floats 70, 56, 35; means of 500000 of 7 x 7 halves (teams of 8) 57, 44; of 200000 of 7 x 7 bytes of 3
// channels 98, 34; of 50000 of 28 x 28 halves 47, 39.
//
// item_elements: H200, 16384 planes of 56 x 56 floats: 64 work-items 0.055 ms, 128 0.065.
inline constexpr GlobalPoolPolicy kGlobalPoolPolicies[] = {
    {.when = {.family = "nvidia-hopper"},
     .evidence = {.device = "H200",
                  .driver = "580.159",
                  .what = "means of 16384 planes of 56 x 56 floats",
                  .share = "0.055 ms, 3.8 TB/s"}},
    {.when = {.family = "cpu"}, .least_group = 1, .most_group = 1, .teams_group = 1},
    {},
};

/// Of a CPU whose loops end early (Device::long_loops): planes are for many work-items, as on GPUs.
inline constexpr GlobalPoolPolicy kShortLoopsPool{
    .evidence = {.what = "no measurement: loops of one work-item end before a plane does"}};

inline const GlobalPoolPolicy& global_pool_policy(const Device& device) {
  return device.long_loops ? row_for(kGlobalPoolPolicies, device) : kShortLoopsPool;
}

}  // namespace smem::plan
