/// The numbers of transpose plans, by family, with what chose them.
#pragma once

#include <smem/device.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <string_view>

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
  std::string_view family;
  std::string_view evidence;
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
inline constexpr std::array<SkewedPolicy, 5> kSkewedOnH200{{{32, 256, 256, 512, 1, 16},
                                                            {32, 192, 128, 416, 2, 16},
                                                            {32, 64, 128, 384, 6, 1},
                                                            {32, 64, 64, 352, 7, 1},
                                                            {32, 64, 64, 416, 5, 1}}};

// register_bytes: Intel's compiler spills beyond 128 (1-byte elements on pvc), AMD's and NVIDIA's do not at
// 256. tile_loop: with it AMD's and Intel's compilers spill.
inline constexpr TransposePolicy kTransposePolicies[] = {
    {"nvidia-hopper",
     "H200: 0.96 of copy (16384 x 16384 float), 0.90 unaligned (16001 x 15999)",
     {16, 16, 8, 8, 16},
     256,
     256,
     256,
     true,
     kSkewedOnH200},
    {"nvidia",
     "the H200's numbers; compiled for sm_75 without spills, not run there",
     {16, 16, 8, 8, 16},
     256,
     256,
     256,
     true,
     kSkewedOnH200},
    {"amd-cdna",
     "the H200's tiles; compiled for gfx90a and gfx942 without spills, not run there",
     {16, 16, 8, 8, 16},
     256,
     256,
     256,
     false,
     kSkewedOnH200},
    {"amd-rdna",
     "the H200's tiles; compiled for gfx1030 and gfx1100 without spills, not run there",
     {16, 16, 8, 8, 16},
     256,
     256,
     256,
     false,
     kSkewedOnH200},
    {"intel",
     "the H200's tiles, with half the registers; compiled for tgllp, dg2 and pvc without spills, not run "
     "there",
     {16, 16, 8, 8, 16},
     256,
     256,
     128,
     false,
     kSkewedOnH200},
    // The last one is for every device that smem does not know.
    {"generic",
     "no measurement: tiles of 256 bytes a row, with few registers, shrunk to the device's facts",
     {16, 16, 8, 8, 16},
     256,
     256,
     128,
     false,
     kSkewedOnH200},
};

inline const TransposePolicy& transpose_policy(const Device& device) {
  for (const TransposePolicy& policy : kTransposePolicies)
    if (policy.family == family_of(device)) return policy;
  return *(std::end(kTransposePolicies) - 1);
}

}  // namespace smem::plan
