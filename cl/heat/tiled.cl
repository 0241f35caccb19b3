// Steps of heat diffusion in one and two dimensions through overlapped tiles in local memory.
//
// A work-group loads a tile with a halo of as many cells as there are steps, advances it in local memory, from one copy of the
// tile to the other, and writes the interior: each step invalidates one more cell of the halo. So a pass of all steps reads
// and writes memory once, and neighbouring groups compute the halo again. J. Holewinski, L.-N. Pouchet and P. Sadayappan,
// "High-performance code generation for stencil computations on GPU architectures", ICS 2012. With one step it is the tile of
// the tutorials.
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

// The neighbour of cell u of the tile at a distance.
static inline REAL neighbour(local const REAL* cell, int distance, int is_at_wall, REAL u, REAL wall) {
  return is_at_wall ? beyond_wall(u, wall) : cell[distance];
}

// Adds the flow along one axis to `sum` of a cell, which is *cell; k: its conductivity.
INLINED REAL add_axis(REAL sum, REAL rate, local const REAL* cell, local const REAL* k, int distance, int at_first, int at_last,
                      REAL wall) {
  const REAL u = *cell;
  const REAL before = neighbour(cell, -distance, at_first, u, wall), after = neighbour(cell, distance, at_last, u, wall);
  if (!VARIABLE) return add_second_difference(sum, rate, u, before, after);
  return add_flows(sum, rate, u, before, after, *k, at_first ? *k : k[-distance], at_last ? *k : k[distance]);
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void heat_tiled(HEAT_ARGUMENTS, uint steps) {
  local REAL tile[2 * CELLS];
#if VARIABLE
  local REAL k[CELLS];
#else
  local REAL* k = 0;
#endif
  const uint item = get_local_id(0);
  const uint halo_z = DIMS > 1 ? steps : 0;
  const uint out_x = TILE_X - 2 * steps, out_z = TILE_Z - 2 * halo_z;
  const uint across = (width + out_x - 1) / out_x, down = (depth + out_z - 1) / out_z;
  const uint t = get_group_id(0), b = t / (across * down);
  const long x0 = (long)(t % across) * out_x - steps, z0 = (long)(t / across % down) * out_z - halo_z;

  // Loads the tile and its halo. Cells beyond the walls get the value of some cell of the grid; nothing depends on them.
  for (uint i = item; i < CELLS; i += GROUP) {
    const long x = clamp(x0 + i % TILE_X, 0L, (long)width - 1), z = clamp(z0 + i / TILE_X, 0L, (long)depth - 1);
    tile[i] = load_cell(in + in_offset + b * in_stride + z * in_plane + x);
    if (VARIABLE) k[i] = load_cell(conductivity + conductivity_offset + b * conductivity_stride + z * conductivity_plane + x);
  }
  barrier(CLK_LOCAL_MEM_FENCE);

  for (uint step = 1; step <= steps; ++step) {
    local const REAL* from = tile + (step + 1) % 2 * CELLS;
    local REAL* to = tile + step % 2 * CELLS;
    for (uint i = item; i < CELLS; i += GROUP) {
      const uint tx = i % TILE_X, tz = i / TILE_X;
      const long x = x0 + tx, z = z0 + tz;
      const cell_walls at = {x == 0, x + 1 == (long)width, 1, 1, z == 0, z + 1 == (long)depth};
      // Cells at the tile's own edge lack neighbours and stay; nothing that is written depends on them.
      const int is_inner = tx > 0 && tx + 1 < TILE_X && (DIMS == 1 || (tz > 0 && tz + 1 < TILE_Z));
      REAL sum = from[i];
      if (is_inner && !is_held(at)) {
        sum = add_axis(sum, rate_x, from + i, k + i, 1, at.left, at.right, wall);
        if (DIMS > 1) sum = add_axis(sum, rate_z, from + i, k + i, TILE_X, at.below, at.above, wall);
        if (SOURCE && x >= 0 && x < (long)width && z >= 0 && z < (long)depth)
          sum = fma(dt, load_cell(source + source_offset + b * source_stride + z * source_plane + x), sum);
      }
      if (step < steps) {
        to[i] = sum;
      } else if (tx >= steps && tx < steps + out_x && tz >= halo_z && tz < halo_z + out_z && x < (long)width &&
                 z < (long)depth) {
        store_cell(out + out_offset + b * out_stride + z * out_plane + x, sum);
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}
