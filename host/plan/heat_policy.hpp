/// The numbers of heat diffusion's plans, by family, with what chose them.
#pragma once

#include <smem/device.hpp>

#include <cstddef>
#include <iterator>
#include <string_view>

namespace smem::plan {

/// Of a kernel that marches along z: the cells of x and y that a work-group makes, and how.
struct MarchPolicy {
  std::size_t cols;       ///< cells; float32's, half as many of float64
  std::size_t rows;       ///< cells
  std::size_t rows_each;  ///< of a work-item
  std::size_t resident;   ///< groups that a compute unit holds, for the number of chunks
};

struct HeatPolicy {
  std::string_view family;
  std::string_view evidence;
  MarchPolicy vector_2d, vector_3d;  ///< one step
  MarchPolicy march_2d, march_3d;    ///< several
  std::size_t march_steps_2d, march_steps_3d;
  std::size_t tile_x_1d, steps_1d;  ///< of tiles in local memory, with their halo
  std::size_t tile_x_2d, tile_z_2d, steps_2d;
  std::size_t group;  ///< work-items of such a tile
};

// march_3d on a Hopper: 18 x 27 work-items of 4 x 2 cells make 64 x 48 of a tile of 72 x 54. A work-item
// keeps 2 planes of 8 cells for each of 3 steps, the plane that is made and the one on its way: about 100
// registers, of which 512 work-items have 128 each. 512^3 has 88 such tiles, in 3 chunks two rounds of 132
// groups.
inline constexpr HeatPolicy kHeatPolicies[] = {
    {"nvidia-hopper",
     "no measurement yet: sizes from registers, local memory and halo",
     {1024, 1, 1, 8},
     {256, 16, 2, 2},
     {504, 1, 1, 6},
     {64, 48, 2, 1},
     4,
     3,
     2048,
     16,
     64,
     64,
     4,
     512},
    {"nvidia",
     "no measurement: the sizes of a Hopper with less local memory",
     {1024, 1, 1, 8},
     {256, 16, 2, 2},
     {504, 1, 1, 4},
     {64, 16, 2, 2},
     4,
     2,
     2048,
     16,
     64,
     64,
     4,
     256},
    {"amd-cdna",
     "no measurement: sizes from registers and local memory",
     {1024, 1, 1, 4},
     {256, 8, 2, 2},
     {504, 1, 1, 4},
     {64, 16, 2, 1},
     4,
     2,
     2048,
     16,
     64,
     32,
     4,
     256},
    {"amd-rdna",
     "no measurement: sizes from registers and local memory",
     {1024, 1, 1, 4},
     {256, 8, 2, 2},
     {504, 1, 1, 4},
     {64, 16, 2, 1},
     4,
     2,
     2048,
     16,
     64,
     32,
     4,
     256},
    {"intel",
     "no measurement: sizes from registers and local memory",
     {512, 1, 1, 4},
     {128, 8, 1, 4},
     {248, 1, 1, 4},
     {32, 16, 1, 2},
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
     {256, 1, 1, 4},
     {64, 8, 1, 4},
     {120, 1, 1, 4},
     {32, 16, 1, 2},
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
