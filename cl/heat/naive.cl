// One step of heat diffusion, a cell a work-item, all from global memory: the first rung of the ladder.
//
// Launch: GROUP_0 x GROUP_1 x GROUP_2 work-items a group, over width, height, and depth times batch; the second and third
// dimension go on where the launch is smaller. `steps`: 1, or 0 to copy.
#include "heat/step.clh"

#ifndef GROUP_0
#define GROUP_0 64  // work-items of a group along x
#endif
#ifndef GROUP_1
#define GROUP_1 4  // along y
#endif
#ifndef GROUP_2
#define GROUP_2 1  // along z
#endif

// The cell at (x, y, z), whose value and conductivity are *c and *k, after a step.
static inline REAL next_value(global const ELEMENT* c, ulong in_pitch, ulong in_plane, global const ELEMENT* k, ulong k_pitch,
                              ulong k_plane, global const ELEMENT* q, ulong x, ulong y, ulong z, ulong width, ulong height,
                              ulong depth, REAL rate_x, REAL rate_y, REAL rate_z, REAL dt, REAL wall) {
  const REAL u = load_cell(c);
  (void)k, (void)k_pitch, (void)k_plane, (void)q, (void)dt, (void)wall;
  const int first_x = x == 0, last_x = x + 1 == width, first_y = y == 0, last_y = y + 1 == height, first_z = z == 0,
            last_z = z + 1 == depth;
#if WALLS == 2
  if (first_x || last_x || (DIMS > 1 && (first_z || last_z)) || (DIMS > 2 && (first_y || last_y))) return u;
#endif
#define BEFORE(first, step) (first ? BEYOND(u) : load_cell(c - (long)(step)))
#define AFTER(last, step) (last ? BEYOND(u) : load_cell(c + (step)))
#if VARIABLE
#define K_BEFORE(first, step) (first ? k_here : load_cell(k - (long)(step)))
#define K_AFTER(last, step) (last ? k_here : load_cell(k + (step)))
#define ADD(rate, axis, step, k_step)                                                                             \
  ADD_FLOWS(REAL, sum, rate, u, BEFORE(first_##axis, step), AFTER(last_##axis, step), k_here, K_BEFORE(first_##axis, k_step), \
            K_AFTER(last_##axis, k_step))
#else
#define ADD(rate, axis, step, k_step) \
  ADD_SECOND_DIFFERENCE(REAL, sum, rate, u, BEFORE(first_##axis, step), AFTER(last_##axis, step))
#endif
#if VARIABLE
  const REAL k_here = load_cell(k);
#endif
  REAL sum = u;
  sum = ADD(rate_x, x, 1, 1);
#if DIMS > 2
  sum = ADD(rate_y, y, in_pitch, k_pitch);
#endif
#if DIMS > 1
  sum = ADD(rate_z, z, in_plane, k_plane);
#endif
#if SOURCE
  sum = fma(dt, load_cell(q), sum);
#endif
  return sum;
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
      global const ELEMENT* q = source + source_offset + b * source_stride + z * source_plane + y * source_pitch + x;
      store_cell(out + out_offset + b * out_stride + z * out_plane + y * out_pitch + x,
                 steps == 0 ? load_cell(c)
                            : next_value(c, in_pitch, in_plane, k, conductivity_pitch, conductivity_plane, q, x, y, z, width,
                                         height, depth, rate_x, rate_y, rate_z, dt, wall));
    }
  }
}
