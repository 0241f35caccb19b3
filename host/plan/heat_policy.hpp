/// The numbers of heat diffusion's plans, by family, with what chose them.
#pragma once

#include <smem/device.hpp>

#include <cstddef>
#include <iterator>
#include <string_view>

namespace smem::plan {

/// Of a kernel that marches along z: the cells of x and y that a work-group makes, and how.
struct HeatMarch {
  std::size_t cols;       ///< cells; float32's, half as many of float64
  std::size_t rows;       ///< cells
  std::size_t rows_each;  ///< of a work-item
  std::size_t resident;   ///< groups that a compute unit holds, for the number of chunks
  std::size_t most;       ///< work-items, for whose registers there is room
};

struct HeatPolicy {
  std::string_view family;
  std::string_view evidence;
  std::size_t vector_bytes;        ///< of an access
  HeatMarch vector_2d, vector_3d;  ///< one step
  HeatMarch march_2d, march_3d;    ///< several
  std::size_t march_steps_2d, march_steps_3d;
  std::size_t tile_x_1d, steps_1d;  ///< of tiles in local memory, with their halo
  std::size_t tile_x_2d, tile_z_2d, steps_2d;
  std::size_t group;  ///< work-items of such a tile
};

// march_3d on a Hopper: 18 x 27 work-items of 4 x 2 cells make 64 x 48 of a tile of 72 x 54. A work-item
// keeps 2 planes of 8 cells for each of 3 steps, the plane that is made and the one on its way, in 128
// registers, of which a multiprocessor has as many for 512 work-items. 34 x 15 work-items, which were
// measured, spill 16 bytes by ptxas; these do not, and share less of their tile. vector_3d on the H200: 512 x
// 8 cells a group 0.79 of copy too, 512 x 4 0.62 to 0.71, groups of 1024 work-items 0.27 (they spill), 4 rows
// a work-item 0.72; all measured while a work-item took 115 registers, of which it takes 62 now (ptxas).
//
// Intel's compiler keeps arrays in memory with 16 bytes a work-item, not with 8 (pvc).
inline constexpr HeatPolicy kHeatPolicies[] = {
    {"nvidia-hopper",
     "H200, of copy for each step: float 512^3 one step 0.79, 12 steps 0.95 with tiles of 128 x 24; 16384^2 "
     "0.85 and 2.06",
     16,
     {1024, 1, 1, 8, 256},
     {256, 16, 2, 2, 512},
     {504, 1, 1, 6, 256},
     {64, 48, 2, 1, 512},
     3,
     3,
     2048,
     16,
     64,
     64,
     4,
     512},
    {"nvidia",
     "no measurement; a Hopper's sizes with less local memory",
     16,
     {1024, 1, 1, 8, 256},
     {256, 16, 2, 2, 512},
     {504, 1, 1, 4, 256},
     {64, 16, 2, 2, 256},
     3,
     2,
     2048,
     16,
     64,
     64,
     4,
     256},
    {"amd-cdna",
     "no measurement; compiled for gfx90a without spills",
     16,
     {1024, 1, 1, 4, 256},
     {256, 8, 2, 2, 256},
     {504, 1, 1, 4, 256},
     {64, 16, 2, 1, 256},
     3,
     2,
     2048,
     16,
     64,
     32,
     4,
     256},
    {"amd-rdna",
     "no measurement; sizes as for CDNA",
     16,
     {1024, 1, 1, 4, 256},
     {256, 8, 2, 2, 256},
     {504, 1, 1, 4, 256},
     {64, 16, 2, 1, 256},
     3,
     2,
     2048,
     16,
     64,
     32,
     4,
     256},
    {"intel",
     "no measurement; compiled for pvc with all arrays in registers",
     8,
     {512, 1, 1, 4, 256},
     {64, 8, 1, 4, 256},
     {248, 1, 1, 4, 256},
     {32, 8, 1, 2, 256},
     2,
     2,
     1024,
     16,
     64,
     32,
     4,
     256},
    // The last one is for every device that smem does not know.
    {"generic",
     "no measurement: small tiles, shrunk to the device's facts",
     16,
     {256, 1, 1, 4, 256},
     {64, 8, 1, 4, 256},
     {120, 1, 1, 4, 256},
     {32, 16, 1, 2, 256},
     2,
     2,
     1024,
     8,
     32,
     32,
     4,
     128},
};

inline const HeatPolicy& heat_policy(const Device& device) {
  for (const HeatPolicy& policy : kHeatPolicies)
    if (policy.family == family_of(device)) return policy;
  return *(std::end(kHeatPolicies) - 1);
}

}  // namespace smem::plan
