/// The numbers of heat diffusion's plans, with their evidence.
#pragma once

#include "plan/policy.hpp"

#include <smem/device.hpp>
#include <smem/scalar.hpp>

#include <cstddef>

namespace smem::plan {

/// Of a kernel that marches along z: the cells of x and y that a work-group makes, and how.
struct HeatMarch {
  std::size_t cols;              ///< cells; float32's, half as many of float64
  std::size_t rows = 1;          ///< cells
  std::size_t rows_each = 1;     ///< of a work-item
  std::size_t resident = 4;      ///< groups that a compute unit holds, for the number of chunks
  std::size_t most = 256;        ///< work-items, for whose registers there is room
  std::size_t most_heavy = 192;  ///< the same where sources, walls that are held or float64 take some of them
  std::size_t steps = 2;         ///< of a pass; one less with sources, which take the registers of a step
};

/// Of a kernel that makes columns along z: the cells of x and y that a work-group makes, and the planes.
struct HeatColumns {
  std::size_t cols;        ///< cells; float32's, half as many of float64
  std::size_t rows = 1;    ///< cells
  std::size_t deep = 4;    ///< planes of a work-item: of one grid of float32
  std::size_t most = 256;  ///< work-items, for whose registers there is room
};

/// Of tiles in local memory, with their halo.
struct HeatTiles {
  std::size_t x_1d = 2048, steps_1d = 16;
  std::size_t x_2d = 64, z_2d = 32, steps_2d = 4;
  std::size_t group = 256;  ///< work-items
};

/// Of the threads of a CPU.
struct HeatThreads {
  /// Steps a pass: more cost more in the blocks' overlap than they save in memory.
  std::size_t steps_1d = 16, steps_2d = 8, steps_3d = 5;
  /// Of the planes between the steps of a pass: half of a core's second-level cache, which is 1 MiB and more
  /// on today's servers. The rest is for the planes of the input and the output.
  std::size_t most_queue_bytes = std::size_t{512} * 1024;
  std::size_t least_queue_bytes = std::size_t{32} * 1024;  ///< with less, passes have one step
  // Blocks of passes of one step, of which three planes stay in the second-level cache.
  std::size_t line_cells = 65536;   ///< of a grid of one dimension
  std::size_t row_cells = 16384;    ///< of a block's row, of other grids
  std::size_t plane_cells = 65536;  ///< of a block's plane
  std::size_t jobs_a_unit = 4;      ///< blocks for each thread at least, else blocks are cut along z
  std::size_t chunk_planes = 16;    ///< of a block that is cut, at least
  std::size_t items_a_unit = 32;    ///< work-items that take blocks in turns, for each thread
};

struct HeatPolicy {
  When when;
  Evidence evidence;  ///< of "vector" and "march"
  Evidence others = {.what = "no measurement: the sizes follow from the device's facts"};
  Evidence of_threads = others;   ///< of "cpu"
  std::size_t vector_bytes = 16;  ///< of an access
  std::size_t items = 256;        ///< of the groups of "naive"
  /// One step.
  HeatColumns vector_2d = {.cols = 1024, .deep = 8}, vector_3d = {.cols = 128, .rows = 4, .most = 128};
  HeatMarch march_2d = {.cols = 504, .steps = 3};  ///< several
  HeatMarch march_3d = {.cols = 64, .rows = 16, .rows_each = 2, .resident = 1};
  HeatTiles tiles = {};
  HeatThreads threads = {};
};

// vector_3d on the H200, 512^3 float, share of copy: tiles of 128 x 4 cells, 4 planes deep 0.895, 128 x 8
// 0.887, 256 x 4 0.881, 64 x 8 0.878; 2 planes 0.81 (128 x 8), 6 0.88, 8 0.83, 16 0.85; 8 planes and groups
// of 512 0.66. A march that kept its planes and had the next one on its way made 0.70 to 0.77: its loop waits
// for each. Of half, columns keep two cells in a register, which a march does not: four steps of 512^3 0.625
// ms in four passes, 0.816 in two marches.
//
// march_3d there, 12 steps, of copy for each: 18 x 53 work-items of 4 cells in 64 registers make 64 x 47 of a
// tile of 72 x 53, 3 steps a pass: 1.645; 48 rows, of which 512 take as many tiles, 1.638; 36 rows 1.29. 2
// steps 1.30, 4 1.19 (they spill). Work-items of 4 x 2 cells, half as many, 1.46; groups of 540 1.18. With
// the tiles at walls first 1.72; if none were at a wall 1.815.
//
// Intel's compiler keeps arrays in memory with 16 bytes a work-item, not with 8 (pvc).
//
// What a row leaves out is as for AMD's GPUs: sizes that gfx90a compiles without spills.
inline constexpr HeatTiles kSmallHeatTiles{.x_1d = 1024, .steps_1d = 8, .x_2d = 32, .group = 128};
inline constexpr HeatPolicy kHeatPolicies[] = {
    {.when = {.family = "nvidia-hopper"},
     .evidence = {.device = "H200",
                  .driver = "580.159",
                  .what = "float 512^3, one step and 12",
                  .share = "0.91 and 1.72 of copy for each step"},
     .march_2d = {.cols = 504, .resident = 6, .steps = 3},
     .march_3d = {.cols = 64, .rows = 47, .resident = 1, .most = 1024, .most_heavy = 768, .steps = 3},
     .tiles = {.z_2d = 64, .group = 512}},
    {.when = {.family = "nvidia"},
     .evidence = {.what = "no measurement: a Hopper's sizes with less local memory"},
     .march_3d = {.cols = 64, .rows = 16, .rows_each = 2, .resident = 2},
     .tiles = {.z_2d = 64}},
    {.when = {.family = "amd-cdna"},
     .evidence = {.what = "no measurement: sizes that gfx90a compiles without spills"}},
    {.when = {.family = "amd-rdna"}, .evidence = {.what = "no measurement: sizes as for CDNA"}},
    {.when = {.family = "intel"},
     .evidence = {.what = "no measurement: sizes with which pvc's compiler keeps all arrays in registers"},
     .vector_bytes = 8,
     .vector_2d = {.cols = 512},
     .vector_3d = {.cols = 64, .rows = 8},
     .march_2d = {.cols = 248},
     .march_3d = {.cols = 32, .rows = 8, .resident = 2},
     .tiles = {.x_1d = 1024}},
    {.when = {.family = "cpu"},
     .evidence = {.what = "no measurement: small tiles, shrunk to the device's facts"},
     .of_threads = {.device = "Zen 4",
                    .driver = "PoCL",
                    .what = "two cores, 256^3 float, one step and ten",
                    .share = "1.1 and 1.7 times C++ with two threads"},
     .vector_2d = {.cols = 256},
     .vector_3d = {.cols = 64, .rows = 8},
     .march_2d = {.cols = 120},
     .march_3d = {.cols = 32, .rows = 16, .resident = 2},
     .tiles = kSmallHeatTiles},
    {.evidence = {.what = "no measurement: small tiles, shrunk to the device's facts"},
     .vector_2d = {.cols = 256},
     .vector_3d = {.cols = 64, .rows = 8},
     .march_2d = {.cols = 120},
     .march_3d = {.cols = 32, .rows = 16, .resident = 2},
     .tiles = kSmallHeatTiles},
};

inline const HeatPolicy& heat_policy(const Device& device) { return row_for(kHeatPolicies, device); }

/// Bytes that a cell has in the columns of "vector". They keep half as its bits, twice as many cells in as
/// many registers: on a Hopper 27 instructions a cell instead of 42. Not where 16 bytes are too many for an
/// array, since what is computed is float all the same, nor beside conductivities, which take the registers.
inline std::size_t heat_column_bytes(const HeatPolicy& policy, Scalar type, bool variable) {
  if (type != Scalar::half) return size_of(type);
  return variable || policy.vector_bytes < 16 ? 4 : 2;
}

}  // namespace smem::plan
