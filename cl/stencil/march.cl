// Stencil of volumes by plane streaming (2.5D blocking): a work-group keeps the last WINDOW_Z planes of its tile in local
// memory, as a queue, so that each cell is loaded from global memory once, and once more for each neighbouring tile whose halo
// contains it. While a plane is summed, the next one is loaded into registers. P. Micikevicius, "3D finite difference computation on GPUs
// using CUDA", GPGPU-2, 2009.
//
// Launch: GROUP_X x GROUP_Y work-items a group, a cell for each; groups along x, y, and the chunks of `march` planes of all
// grids; grid-stride loops over the last two dimensions. Stride and dilation are 1.
// Local memory: WINDOW_Z planes of LINES rows of LINE values.
#define FIXED  // shape and boundary
#include "stencil/cells.clh"

#ifndef GROUP_X
#define GROUP_X 32  // cells
#endif
#ifndef GROUP_Y
#define GROUP_Y 8
#endif
#ifndef WINDOW_X
#define WINDOW_X 3  // size_x, and so on
#endif
#ifndef WINDOW_Y
#define WINDOW_Y 3
#endif
#ifndef WINDOW_Z
#define WINDOW_Z 3
#endif
#ifndef ROLLED
#define ROLLED 0  // 1: loops are not unrolled, for compilers for CPUs, which take seconds over unrolled ones
#endif

#define LINE ((GROUP_X + WINDOW_X - 1) * CHANNELS)
#define LINES (GROUP_Y + WINDOW_Y - 1)
#define PLANE (LINE * LINES)
#define GROUP (GROUP_X * GROUP_Y)
#define EACH ((PLANE + GROUP - 1) / GROUP)  // values of a plane that a work-item loads
#if ROLLED
#define UNROLLED
#else
#define UNROLLED _Pragma("unroll")
#endif
// Two values a work-item are always unrolled: LLVM 21 makes two variables of an array that a loop of two turns fills, and a pointer to
// one of them; PoCL 7.1 does not see stores by this pointer, takes the first variable to be the same in all work-items, and keeps one.
#if ROLLED && EACH > 2
#define EACH_UNROLLED
#else
#define EACH_UNROLLED _Pragma("unroll")
#endif

// The place in the queue of the plane that is `k` after the oldest one. A macro: a function takes 7 registers more on NVIDIA's devices.
#define SLOT(oldest, k) ((oldest) + (k) < WINDOW_Z ? (oldest) + (k) : (oldest) + (k) - WINDOW_Z)

// Loads a work-item's values of plane z. places: their offsets in a plane; -1: beyond an edge.
INLINED void load_plane(VALUE next[EACH], global const ELEMENT* from, ulong plane, const long places[EACH], long z, long depth,
                        WEIGHT_SPACE const VALUE* weights) {
  const long at_z = place_by(BOUNDARY, z, depth);
EACH_UNROLLED
  for (uint n = 0; n < EACH; ++n)
    next[n] = (at_z | places[n]) < 0 ? weights[0] : load_value(from, (ulong)(at_z * (long)plane + places[n]));
}

INLINED void put_plane(local VALUE* to, const VALUE next[EACH], uint item) {
EACH_UNROLLED
  for (uint n = 0; n < EACH; ++n)
    if (n * GROUP + item < PLANE) to[n * GROUP + item] = next[n];
}

kernel __attribute__((reqd_work_group_size(GROUP_X, GROUP_Y, 1)))
void stencil_march(STENCIL_ARGUMENTS) {
  local VALUE queue[WINDOW_Z * PLANE];
  const uint lx = get_local_id(0), ly = get_local_id(1), item = ly * GROUP_X + lx;
  const ulong x = get_global_id(0);
  const ulong pieces = (depth + march - 1) / march;
  for (ulong p = get_group_id(2); p < pieces * batch; p += get_num_groups(2)) {
    const ulong grid = batch == 1 ? 0 : p / pieces;
    const ulong begin = (p - grid * pieces) * march, end = min(begin + march, depth);
    global const ELEMENT* from = in + in_offset + grid * in_stride;
    for (ulong band = get_group_id(1) * GROUP_Y; band < height; band += get_num_groups(1) * GROUP_Y) {
      // The offsets of this work-item's values in each plane; -1: beyond an edge.
      long places[EACH];
EACH_UNROLLED
      for (uint n = 0; n < EACH; ++n) {
        const uint number = min(n * GROUP + item, (uint)PLANE - 1), row = number / LINE;
        const long at_x =
            element_by(EDGE, ((long)(get_group_id(0) * GROUP_X) + first_x) * CHANNELS + (number - row * LINE), (long)width);
        const long at_y = place_by(EDGE, (long)(band + row) + first_y, (long)height);
        places[n] = (at_x | at_y) < 0 ? -1 : at_y * (long)in_pitch + at_x;
      }
      VALUE next[EACH];

      // Fills the queue without its last plane.
      for (uint k = 0; k < WINDOW_Z - 1; ++k) {
        load_plane(next, from, in_plane, places, (long)(begin + k) + first_z, (long)depth, weights);
        put_plane(queue + k * PLANE, next, item);
      }
      load_plane(next, from, in_plane, places, (long)(begin + WINDOW_Z - 1) + first_z, (long)depth, weights);
      uint oldest = 0;
      for (ulong z = begin; z < end; ++z) {
        // The last plane of the window of plane z.
        put_plane(queue + SLOT(oldest, WINDOW_Z - 1) * PLANE, next, item);
        barrier(CLK_LOCAL_MEM_FENCE);
        if (z + 1 < end) load_plane(next, from, in_plane, places, (long)(z + WINDOW_Z) + first_z, (long)depth, weights);

        const ulong y = band + ly;
        if (x < width && y < height && is_written(EDGE, x, first_x, size_x, width) &&
            is_written(EDGE, y, first_y, size_y, height) && is_written(EDGE, z, first_z, size_z, depth)) {
          global RESULT* to = out + out_offset + grid * out_stride + z * out_plane + y * out_pitch + x * CHANNELS;
          local const VALUE* mine = queue + ly * LINE + lx * CHANNELS;
UNROLLED
          for (uint channel = 0; channel < CHANNELS; ++channel) {
#if SHAPE == CUSTOM
#define NEIGHBOUR(dx, dy, dz) \
  mine[SLOT(oldest, (dz) + RADIUS_Z) * PLANE + ((dy) + RADIUS_Y) * LINE + ((dx) + RADIUS_X) * CHANNELS + channel]
            const VALUE sum = EXPRESSION;
#else
            VALUE sum = 0;
            uint n = 1;
UNROLLED
            for (uint k = 0; k < WINDOW_Z; ++k) {
              local const VALUE* plane = mine + SLOT(oldest, k) * PLANE + channel;
#if SHAPE == STAR
              if (k != WINDOW_Z / 2) {
                sum = fma(weights[n++], plane[WINDOW_Y / 2 * LINE + WINDOW_X / 2 * CHANNELS], sum);
                continue;
              }
#endif
UNROLLED
              for (uint j = 0; j < WINDOW_Y; ++j) {
#if SHAPE == STAR
                if (j != WINDOW_Y / 2) {
                  sum = fma(weights[n++], plane[j * LINE + WINDOW_X / 2 * CHANNELS], sum);
                  continue;
                }
#endif
UNROLLED
                for (uint i = 0; i < WINDOW_X; ++i) sum = fma(weights[n++], plane[j * LINE + i * CHANNELS], sum);
              }
            }
#endif
            store_cell(to, channel, sum);
          }
        }
        oldest = SLOT(oldest, 1);
        barrier(CLK_LOCAL_MEM_FENCE);  // before the oldest plane is overwritten
      }
    }
  }
}
