// Stencil through a tile in local memory: a work-group loads the cells that its results' windows cover, once each and with the
// halo, and sums from the tile. The window, the stride and the dilation are arguments, so one program serves all of them, or
// constants of the program (WINDOW_X and so on), where they are written out; the radius of an expression is one always.
//
// Launch: GROUP_X x GROUP_Y x GROUP_Z work-items a group, EACH cells along y each; groups along x, y, and the planes of all grids;
// grid-stride loops over the last two dimensions.
// Local memory: TILE values, at least CHANNELS * X * Y * Z: the cells that a group's windows cover along x, y and z.
#ifdef WINDOW_X
#define FIXED  // compiled for one window and boundary
#define SIZE_X WINDOW_X
#define SIZE_Y WINDOW_Y
#define SIZE_Z WINDOW_Z
#define STEP_X STRIDE_X
#define STEP_Y STRIDE_Y
#define APART_X DILATION_X
#define APART_Y DILATION_Y
#else
#define SIZE_X size_x
#define SIZE_Y size_y
#define SIZE_Z size_z
#define STEP_X stride_x
#define STEP_Y stride_y
#define APART_X dilation_x
#define APART_Y dilation_y
#endif
#include "stencil/cells.clh"

#ifndef GROUP_X
#define GROUP_X 32  // cells
#endif
#ifndef GROUP_Y
#define GROUP_Y 8
#endif
#ifndef GROUP_Z
#define GROUP_Z 1
#endif
#ifndef EACH
#define EACH 1  // cells of a work-item
#endif
#define BAND (GROUP_Y * EACH)  // rows of results of a tile
#ifndef TILE
#define TILE 4096  // values
#endif

kernel __attribute__((reqd_work_group_size(GROUP_X, GROUP_Y, GROUP_Z)))
void stencil_tiled(STENCIL_ARGUMENTS) {
  local VALUE tile[TILE];
  const uint lx = get_local_id(0), ly = get_local_id(1), lz = get_local_id(2);
  // The tile, in elements of a row, rows and planes.
  const uint line = ((GROUP_X - 1) * STEP_X + (SIZE_X - 1) * APART_X + 1) * CHANNELS;
  const uint rows = (BAND - 1) * STEP_Y + (SIZE_Y - 1) * APART_Y + 1;
  const uint planes = GROUP_Z - 1 + SIZE_Z;
  const ulong x = get_global_id(0);
  const long tile_x = ((long)(get_group_id(0) * GROUP_X * STEP_X) + first_x) * CHANNELS;
  const ulong layers = (out_depth + GROUP_Z - 1) / GROUP_Z;  // of groups, in a grid
  for (ulong p = get_group_id(2); p < layers * batch; p += get_num_groups(2)) {
#ifdef FIXED  // divisions of 64 bits are calls, around which registers are spilled
    const ulong grid = batch == 1 ? 0 : (uint)p / (uint)layers;
#else
    const ulong grid = batch == 1 ? 0 : p / layers;
#endif
    const ulong first_plane = (p - grid * layers) * GROUP_Z;
    global const ELEMENT* from = in + in_offset + grid * in_stride;
    for (ulong band = get_group_id(1) * BAND; band < out_height; band += get_num_groups(1) * BAND) {
#ifdef FIXED
      // Tiles inside of the grid.
      const long tile_y = (long)(band * STEP_Y) + first_y;
      const bool is_inside = SIZE_Z == 1 && GROUP_Z == 1 && tile_x >= 0 && tile_x + line <= (long)width * CHANNELS && tile_y >= 0 &&
                             tile_y + rows <= (long)height && first_z == 0;
      if (is_inside) {
        global const ELEMENT* first = from + first_plane * in_plane + (ulong)tile_y * in_pitch + tile_x;
#pragma unroll 32  // more at once spill registers: strides of 4 of three channels, in groups of 128
        for (uint e = 0; e < rows * line; e += GROUP_X * GROUP_Y) {
          const uint at = e + ly * GROUP_X + lx, j = at / line;
          if (at < rows * line) tile[at] = load_value(first, j * in_pitch + (at - j * line));
        }
      }
      for (uint k = is_inside ? planes : lz; k < planes; k += GROUP_Z) {
#else
      for (uint k = lz; k < planes; k += GROUP_Z) {
#endif
        const long at_z = place_by(EDGE, (long)(first_plane + k) + first_z, (long)depth);
        for (uint j = ly; j < rows; j += GROUP_Y) {
          const long at_y = place_by(EDGE, (long)(band * STEP_Y + j) + first_y, (long)height);
          global const ELEMENT* row = from + max(at_z, 0L) * (long)in_plane + max(at_y, 0L) * (long)in_pitch;
          local VALUE* to = tile + (k * rows + j) * line;
          for (uint i = lx; i < line; i += GROUP_X) {
            const long at_x = element_by(EDGE, tile_x + i, (long)width);
            to[i] = (at_x | at_y | at_z) < 0 ? BEYOND : load_value(row, (ulong)at_x);
          }
        }
      }
      barrier(CLK_LOCAL_MEM_FENCE);

      const ulong z = first_plane + lz;
#if EACH > 1
#pragma unroll
      for (uint each = 0; each < EACH; ++each) {
        const uint at = ly + each * GROUP_Y;
#else
      {
        const uint at = ly;
#endif
        const ulong y = band + at;
        if (x < out_width && y < out_height && z < out_depth && is_written(EDGE, x, first_x, SIZE_X, width) &&
            is_written(EDGE, y, first_y, SIZE_Y, height) && is_written(EDGE, z, first_z, SIZE_Z, depth)) {
          global RESULT* to = out + out_offset + grid * out_stride + z * out_plane + y * out_pitch;
          local const VALUE* mine = tile + (lz * rows + at * STEP_Y) * line + lx * STEP_X * CHANNELS;
          for (uint channel = 0; channel < CHANNELS; ++channel) {
#if SHAPE == CUSTOM
#define NEIGHBOUR(dx, dy, dz) mine[(((dz) + RADIUS_Z) * rows + (dy) + RADIUS_Y) * line + ((dx) + RADIUS_X) * CHANNELS + channel]
            const VALUE sum = EXPRESSION;
#else
            const window_shape shape = shape_of(IS_STAR, first_x, first_y, first_z, SIZE_X, SIZE_Y);
            VALUE sum = 0;
            uint n = 1;
#ifdef FIXED
#pragma unroll
#endif
            for (uint k = 0; k < SIZE_Z; ++k)
#ifdef FIXED
#pragma unroll
#endif
              for (uint j = begin_y(shape, k); j < end_y(shape, k); ++j) {
                local const VALUE* cells = mine + (k * rows + j * APART_Y) * line + channel;
#ifdef FIXED
#pragma unroll
#endif
                for (uint i = begin_x(shape, k, j); i < end_x(shape, k, j); ++i)
                  sum = fma(weights[n++], cells[i * APART_X * CHANNELS], sum);
              }
#endif
            store_cell(to, x * CHANNELS + channel, sum);
          }
        }
      }
      barrier(CLK_LOCAL_MEM_FENCE);  // before the next tile is stored
    }
  }
}
