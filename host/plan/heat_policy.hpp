/// The numbers of heat diffusion's plans, by family, with what chose them.
#pragma once

#include <smem/device.hpp>
#include <smem/scalar.hpp>

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

/// Of a kernel that makes columns along z: the cells of x and y that a work-group makes, and the planes.
struct HeatColumns {
  std::size_t cols;  ///< cells; float32's, half as many of float64
  std::size_t rows;  ///< cells
  std::size_t deep;  ///< planes of a work-item: of one grid of float32
  std::size_t most;  ///< work-items, for whose registers there is room
};

struct HeatPolicy {
  std::string_view family;
  std::string_view evidence;
  std::size_t vector_bytes;          ///< of an access
  HeatColumns vector_2d, vector_3d;  ///< one step
  HeatMarch march_2d, march_3d;      ///< several
  std::size_t march_steps_2d, march_steps_3d;
  std::size_t tile_x_1d, steps_1d;  ///< of tiles in local memory, with their halo
  std::size_t tile_x_2d, tile_z_2d, steps_2d;
  std::size_t group;  ///< work-items of such a tile
};

// vector_3d on the H200, 512^3 float, share of copy: tiles of 128 x 4 cells, 4 planes deep 0.895, 128 x 8
// 0.887, 256 x 4 0.881, 64 x 8 0.878; 2 planes 0.81 (128 x 8), 6 0.88, 8 0.83, 16 0.85; 8 planes and groups
// of 512 0.66. A march that kept its planes and had the next one on its way made 0.70 to 0.77: its loop waits
// for each.
//
// march_3d there, 12 steps, of copy for each: 18 x 53 work-items of 4 cells in 64 registers make 64 x 47 of a
// tile of 72 x 53, 3 steps a pass: 1.645; 48 rows, of which 512 take as many tiles, 1.638; 36 rows 1.29. 2
// steps 1.30, 4 1.19 (they spill). Work-items of 4 x 2 cells, half as many, 1.46; groups of 540 1.18. With
// the tiles at walls first 1.72; if none were at a wall 1.815.
//
// Intel's compiler keeps arrays in memory with 16 bytes a work-item, not with 8 (pvc).
inline constexpr HeatPolicy kHeatPolicies[] = {
    {"nvidia-hopper",
     "H200, of copy for each step: float 512^3 one step 0.91, 12 steps 1.72",
     16,
     {1024, 1, 8, 256},
     {128, 4, 4, 128},
     {504, 1, 1, 6, 256},
     {64, 47, 1, 1, 1024},
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
     {1024, 1, 8, 256},
     {128, 4, 4, 128},
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
     {1024, 1, 8, 256},
     {128, 4, 4, 128},
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
     {1024, 1, 8, 256},
     {128, 4, 4, 128},
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
     {512, 1, 4, 256},
     {64, 8, 4, 256},
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
     {256, 1, 4, 256},
     {64, 8, 4, 256},
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

/// Bytes that a cell has in the columns of "vector". They keep half as its bits, twice as many cells in as
/// many registers: on a Hopper 27 instructions a cell instead of 42. Not where 16 bytes are too many for an
/// array, since what is computed is float all the same, nor beside conductivities, which take the registers.
inline std::size_t heat_column_bytes(const HeatPolicy& policy, Scalar type, bool variable) {
  if (type != Scalar::half) return size_of(type);
  return variable || policy.vector_bytes < 16 ? 4 : 2;
}

}  // namespace smem::plan
