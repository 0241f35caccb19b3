// Steps of heat diffusion in one and two dimensions through overlapped tiles in local memory.
//
// A work-group reads a tile with a halo of as many cells as there are steps, makes the steps in local memory, from one copy
// of the tile to the other, and writes what is left: each step takes one cell off every side that is no wall. So memory is
// read and written once for all steps, and the halo is computed by neighbouring groups too: J. Holewinski, L.-N. Pouchet
// and P. Sadayappan, "High-performance code generation for stencil computations on GPU architectures", ICS 2012. With one
// step it is the tile of the tutorials.
//
// Launch: GROUP work-items a group; a group for each tile: along x first, then z, then the batch. 1 <= steps < TILE_X / 2,
// and TILE_Z / 2 with two dimensions.
// Local memory: 2 * TILE_X * TILE_Z cells, 3 with a grid of conductivities.
#include "heat/step.clh"

#ifndef TILE_X
#define TILE_X 64  // cells along x, with the halo
#endif
#ifndef TILE_Z
#define TILE_Z 32  // along z; 1 with one dimension
#endif
#ifndef GROUP
#define GROUP 256  // work-items
#endif
#define CELLS (TILE_X * TILE_Z)

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void heat_tiled(HEAT_ARGUMENTS, uint steps) {
  local REAL tile[2 * CELLS];
#if VARIABLE
  local REAL k[CELLS];
#endif
  const uint item = get_local_id(0);
  const uint halo_z = DIMS > 1 ? steps : 0;
  const uint out_x = TILE_X - 2 * steps, out_z = TILE_Z - 2 * halo_z;
  const uint across = (width + out_x - 1) / out_x, down = (depth + out_z - 1) / out_z;
  const uint t = get_group_id(0), b = t / (across * down);
  const long x0 = (long)(t % across) * out_x - steps, z0 = (long)(t / across % down) * out_z - halo_z;
  NOT_ALL_ARGUMENTS_ARE_USED;

  // The tile and its halo; beyond the walls there is some cell of the grid, which nothing depends on.
  for (uint i = item; i < CELLS; i += GROUP) {
    const long x = clamp(x0 + i % TILE_X, 0L, (long)width - 1), z = clamp(z0 + i / TILE_X, 0L, (long)depth - 1);
    tile[i] = load_cell(in + in_offset + b * in_stride + z * in_plane + x);
#if VARIABLE
    k[i] = load_cell(conductivity + conductivity_offset + b * conductivity_stride + z * conductivity_plane + x);
#endif
  }
  barrier(CLK_LOCAL_MEM_FENCE);

  for (uint step = 1; step <= steps; ++step) {
    local const REAL* from = tile + (step + 1) % 2 * CELLS;
    local REAL* to = tile + step % 2 * CELLS;
    for (uint i = item; i < CELLS; i += GROUP) {
      const uint tx = i % TILE_X, tz = i / TILE_X;
      const long x = x0 + tx, z = z0 + tz;
      const REAL u = from[i];
      REAL sum = u;
      // The tile's own edge has no neighbours; nothing that is written depends on it.
      const int inner = tx > 0 && tx + 1 < TILE_X && (DIMS == 1 || (tz > 0 && tz + 1 < TILE_Z));
      const int first_x = x == 0, last_x = x + 1 == (long)width, first_z = z == 0, last_z = z + 1 == (long)depth;
#if WALLS == 2
      const int moves = inner && !(first_x || last_x || (DIMS > 1 && (first_z || last_z)));
#else
      const int moves = inner;
#endif
      if (moves) {
#define BEFORE(first, step) (first ? BEYOND(u) : from[i - (step)])
#define AFTER(last, step) (last ? BEYOND(u) : from[i + (step)])
#if VARIABLE
#define ADD(rate, axis, step)                                                                                          \
  ADD_FLOWS(REAL, sum, rate, u, BEFORE(first_##axis, step), AFTER(last_##axis, step), k[i], k[first_##axis ? i : i - (step)], \
            k[last_##axis ? i : i + (step)])
#else
#define ADD(rate, axis, step) ADD_SECOND_DIFFERENCE(REAL, sum, rate, u, BEFORE(first_##axis, step), AFTER(last_##axis, step))
#endif
        sum = ADD(rate_x, x, 1);
#if DIMS > 1
        sum = ADD(rate_z, z, TILE_X);
#endif
#if SOURCE
        if (x >= 0 && x < (long)width && z >= 0 && z < (long)depth)
          sum = fma(dt, load_cell(source + source_offset + b * source_stride + z * source_plane + x), sum);
#endif
      }
      if (step < steps) {
        to[i] = sum;
      } else if (tx >= steps && tx < steps + out_x && tz >= halo_z && tz < halo_z + out_z && x < (long)width && z < (long)depth) {
        store_cell(out + out_offset + b * out_stride + z * out_plane + x, sum);
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}
