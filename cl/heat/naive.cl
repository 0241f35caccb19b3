// One step of heat diffusion, one cell a work-item, all from global memory: the baseline.
//
// Launch: GROUP_0 x GROUP_1 x GROUP_2 work-items a group, over width, height, and depth times batch; grid-stride
// loops over the second and third dimension. `steps`: 1, or 0 to copy.
#include "heat/step.clh"
#include "common/group_by_dimension.clh"

// The neighbour of cell u at a distance.
static inline REAL neighbour(global const ELEMENT* cell, long distance, int is_at_wall, REAL u, REAL wall) {
  return is_at_wall ? beyond_wall(u, wall) : load_cell(cell + distance);
}

// Adds the flow along one axis to `sum` of cell u, which is *c; *k: its conductivity. Distances: to the next cell.
static inline REAL add_axis(REAL sum, REAL rate, REAL u, global const ELEMENT* c, ulong distance, global const ELEMENT* k,
                            ulong k_distance, int at_first, int at_last, REAL wall) {
  const REAL before = neighbour(c, -(long)distance, at_first, u, wall), after = neighbour(c, distance, at_last, u, wall);
  if (!VARIABLE) return add_second_difference(sum, rate, u, before, after);
  const REAL k_here = load_cell(k), k_before = at_first ? k_here : load_cell(k - k_distance),
             k_after = at_last ? k_here : load_cell(k + k_distance);
  return add_flows(sum, rate, u, before, after, k_here, k_before, k_after);
}

kernel __attribute__((reqd_work_group_size(GROUP_0, GROUP_1, GROUP_2)))
void heat_naive(HEAT_ARGUMENTS, uint steps) {
  const ulong x = get_global_id(0);
  if (x >= width) return;
  for (ulong layer = get_global_id(2); layer < depth * batch; layer += get_global_size(2)) {
    const ulong b = batch == 1 ? 0 : layer / depth, z = layer - b * depth;
    for (ulong y = get_global_id(1); y < height; y += get_global_size(1)) {
      global const ELEMENT* c = in + in_offset + b * in_stride + z * in_plane + y * in_pitch + x;
      global const ELEMENT* k = conductivity + conductivity_offset + b * conductivity_stride + z * conductivity_plane +
                                y * conductivity_pitch + x;
      const cell_walls at = {x == 0, x + 1 == width, y == 0, y + 1 == height, z == 0, z + 1 == depth};
      const REAL u = load_cell(c);
      REAL sum = u;
      if (steps > 0 && !is_held(at)) {
        sum = add_axis(sum, rate_x, u, c, 1, k, 1, at.left, at.right, wall);
        if (DIMS > 2) sum = add_axis(sum, rate_y, u, c, in_pitch, k, conductivity_pitch, at.before, at.after, wall);
        if (DIMS > 1) sum = add_axis(sum, rate_z, u, c, in_plane, k, conductivity_plane, at.below, at.above, wall);
        if (SOURCE)
          sum = fma(dt, load_cell(source + source_offset + b * source_stride + z * source_plane + y * source_pitch + x), sum);
      }
      store_cell(out + out_offset + b * out_stride + z * out_plane + y * out_pitch + x, sum);
    }
  }
}
