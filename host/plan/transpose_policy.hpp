/// The numbers of transpose plans, with what chose them.
#pragma once

#include "plan/policy.hpp"

#include <smem/device.hpp>

#include <array>
#include <bit>
#include <cstddef>

namespace smem::plan {

/// Of the variant "skewed", for one element size.
struct SkewedPolicy {
  std::size_t lanes;   ///< work-items that store side by side
  std::size_t rows;    ///< of the tile, elements
  std::size_t cols;    ///< of the tile, elements
  std::size_t group;   ///< work-items
  std::size_t ahead;   ///< reads that are under way before they are stored
  std::size_t unroll;  ///< of the loop of reads
};

struct TransposePolicy {
  When when;
  Evidence evidence;
  std::array<std::size_t, 5> vector_bytes;  ///< wanted, for elements of 1, 2, 4, 8 and 16 bytes
  std::size_t tile_bytes;                   ///< of a tile's row, and of its column
  std::size_t group;                        ///< work-items of the variant "vector"
  std::size_t register_bytes;               ///< that a work-item holds of the tile at once
  bool tile_loop;                           ///< whether the kernel loops over tiles
  std::array<SkewedPolicy, 5> skewed;       ///< for elements of 1, 2, 4, 8 and 16 bytes
};

inline std::size_t size_index(std::size_t element_bytes) {
  return static_cast<std::size_t>(std::countr_zero(element_bytes));
}

// NVIDIA H200, driver 580.159, shares of the device's own copy bandwidth at 1 GiB.
//
// vector_bytes: of 4, 8 and 16 bytes, elements of 4 bytes reach 0.963, 0.968 and 0.966; elements of 2 bytes
// want 8 or 16 (0.966), of 1 byte 16 (0.965).
//
// tile_bytes: 256 was the best for every element size (8 bytes 0.968, 16 bytes 0.920); 128 cost 2 to 6 %.
//
// tile_loop: a loop, even of one trip, lets NVIDIA's compiler arrange the reads better: 16384 x 16384 float
// 0.967 with it, 0.962 without, in one run.
//
// skewed: odd shapes reach 0.70, 0.78, 0.90, 0.91 and 0.86 for elements of 1, 2, 4, 8 and 16 bytes (those of
// smem bench transpose --goals).
inline constexpr std::array<SkewedPolicy, 5> kSkewed{
    {{.lanes = 32, .rows = 256, .cols = 256, .group = 512, .ahead = 1, .unroll = 16},
     {.lanes = 32, .rows = 192, .cols = 128, .group = 416, .ahead = 2, .unroll = 16},
     {.lanes = 32, .rows = 64, .cols = 128, .group = 384, .ahead = 6, .unroll = 1},
     {.lanes = 32, .rows = 64, .cols = 64, .group = 352, .ahead = 7, .unroll = 1},
     {.lanes = 32, .rows = 64, .cols = 64, .group = 416, .ahead = 5, .unroll = 1}}};

// register_bytes: Intel's compiler spills beyond 128 (1-byte elements on pvc), AMD's and NVIDIA's do not at
// 256. tile_loop: with it AMD's and Intel's compilers spill.
inline constexpr TransposePolicy kTransposePolicies[] = {
    {.when = {.family = "nvidia-hopper"},
     .evidence = {.device = "H200",
                  .driver = "580.159",
                  .what = "float, 16384 x 16384, and 16001 x 15999, whose rows are unaligned",
                  .share = "0.96 and 0.90 of copy"},
     .vector_bytes = {16, 16, 8, 8, 16},
     .tile_bytes = 256,
     .group = 256,
     .register_bytes = 256,
     .tile_loop = true,
     .skewed = kSkewed},
    {.when = {.family = "nvidia"},
     .evidence = {.what = "no measurement: a Hopper's sizes; sm_75 compiles them without spills"},
     .vector_bytes = {16, 16, 8, 8, 16},
     .tile_bytes = 256,
     .group = 256,
     .register_bytes = 256,
     .tile_loop = true,
     .skewed = kSkewed},
    {.when = {.family = "amd-cdna"},
     .evidence =
         {.what = "no measurement: tiles of 256 bytes a row; gfx90a and gfx942 compile them without spills"},
     .vector_bytes = {16, 16, 8, 8, 16},
     .tile_bytes = 256,
     .group = 256,
     .register_bytes = 256,
     .tile_loop = false,
     .skewed = kSkewed},
    {.when = {.family = "amd-rdna"},
     .evidence =
         {.what =
              "no measurement: tiles of 256 bytes a row; gfx1030 and gfx1100 compile them without spills"},
     .vector_bytes = {16, 16, 8, 8, 16},
     .tile_bytes = 256,
     .group = 256,
     .register_bytes = 256,
     .tile_loop = false,
     .skewed = kSkewed},
    {.when = {.family = "intel"},
     .evidence = {.what =
                      "no measurement: tiles of 256 bytes a row, in half the registers; tgllp, dg2 and pvc "
                      "compile them without spills"},
     .vector_bytes = {16, 16, 8, 8, 16},
     .tile_bytes = 256,
     .group = 256,
     .register_bytes = 128,
     .tile_loop = false,
     .skewed = kSkewed},
    {.evidence =
         {.what =
              "no measurement: tiles of 256 bytes a row, with few registers, shrunk to the device's facts"},
     .vector_bytes = {16, 16, 8, 8, 16},
     .tile_bytes = 256,
     .group = 256,
     .register_bytes = 128,
     .tile_loop = false,
     .skewed = kSkewed},
};

inline const TransposePolicy& transpose_policy(const Device& device) {
  return row_for(kTransposePolicies, device);
}

}  // namespace smem::plan
