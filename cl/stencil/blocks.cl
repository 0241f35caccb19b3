// Stencil through a tile in local memory, with a block of results in each work-item's registers: for windows whose rows do not fit there
// (stencil/rows.cl). A group loads the cells that its results' windows cover, once each and with the halo, and the weights, each row of
// them from a multiple of 4 on. A work-item goes through its rows of the tile; of a row it reads 4 elements at a time and multiplies them by
// 4 weights of each of the rows of the window that they are in, for COLS x ROWS results. So a read serves COLS * ROWS products, where
// stencil/tiled.cl reads for each. The window is an argument: one program serves all of them. Flat boxes; stride and dilation are 1.
//
// Launch: GROUP_X x GROUP_Y work-items a group; COLS elements of a row and ROWS rows each; groups along the elements of rows, along rows
// and the planes of all grids, with grid-stride loops over the last two. Local memory: TILE values, at least `line` * rows for
// line = GROUP_X * COLS + (size_x - 1) * CHANNELS rounded up to 4, and 4 * CHANNELS more, and rows = GROUP_Y * ROWS + size_y - 1; WEIGHTS values, at
// least size_y times size_x rounded up to 4.
#include "stencil/cells.clh"
#include "common/sub_group.clh"
#include "common/work_group.clh"

#ifndef GROUP_X
#define GROUP_X 32
#endif
#ifndef GROUP_Y
#define GROUP_Y 8
#endif
#ifndef ROWS
#define ROWS 4  // of results of a work-item
#endif
#ifndef TILE
#define TILE 8192  // values
#endif
#ifndef WEIGHTS
#define WEIGHTS 512  // values
#endif
#define COLS 4
#define TAPS 4  // weights of a row that are multiplied at a time

typedef JOIN(VALUE, 4) values;

// Adds the products of TAPS neighbours' weights, or of the first `count`, with the cells from `cells` on.
static inline void add_taps(VALUE sum[COLS], values w, const VALUE* cells, uint count) {
  const VALUE weight[TAPS] = {w.s0, w.s1, w.s2, w.s3};
#pragma unroll
  for (uint t = 0; t < TAPS; ++t) {
    if (t >= count) continue;
#pragma unroll
    for (uint c = 0; c < COLS; ++c) sum[c] = fma(weight[t], cells[t * CHANNELS + c], sum[c]);
  }
}

kernel SUB_GROUP_SIZE __attribute__((reqd_work_group_size(GROUP_X, GROUP_Y, 1)))
void stencil_blocks(STENCIL_ARGUMENTS) {
  local values tile[TILE / 4], packed[WEIGHTS / 4];
  local VALUE* cells = (local VALUE*)tile;
  const uint lx = get_local_id(0), ly = get_local_id(1), item = ly * GROUP_X + lx;
  const uint chunks = (size_x + TAPS - 1) / TAPS;  // of a row of weights
  // The tile, in elements of a row, and rows. What lies behind its elements is read for no result.
  const uint needed = GROUP_X * COLS + (size_x - 1) * CHANNELS, line = (needed + 3) / 4 * 4 + 4 * CHANNELS, rows = GROUP_Y * ROWS + size_y - 1;
  for (uint i = item; i < size_y * chunks * TAPS; i += GROUP_X * GROUP_Y) {
    const uint j = i / (chunks * TAPS), k = i - j * (chunks * TAPS);
    ((local VALUE*)packed)[i] = k < size_x ? weights[1 + j * size_x + k] : 0;
  }
  const ulong elements = out_width * CHANNELS, first = (ulong)get_group_id(0) * (GROUP_X * COLS);
  const long from_element = (long)first + first_x * CHANNELS;
  for (ulong p = get_group_id(2); p < out_depth * batch; p += get_num_groups(2)) {
    const ulong grid = grid_of(p, out_depth, batch), z = p - grid * out_depth;
    const long at_z = place_by(EDGE, (long)z + first_z, (long)depth);
    global const ELEMENT* from = in + in_offset + grid * in_stride + (ulong)max(at_z, 0L) * in_plane;
    for (ulong band = get_group_id(1) * (GROUP_Y * ROWS); band < out_height; band += get_num_groups(1) * (GROUP_Y * ROWS)) {
      for (uint i = lx; i < line; i += GROUP_X) {
        const long at_x = i < needed ? element_by(EDGE, from_element + i, (long)width) : 0;
        for (uint j = ly; j < rows; j += GROUP_Y) {
          const long at_y = place_by(EDGE, (long)(band + j) + first_y, (long)height);
          cells[j * line + i] = (at_x | at_y | at_z) < 0 ? BEYOND : load_value(from + (ulong)max(at_y, 0L) * in_pitch, (ulong)at_x);
        }
      }
      barrier(CLK_LOCAL_MEM_FENCE);

      VALUE sums[ROWS][COLS];
#pragma unroll
      for (uint r = 0; r < ROWS; ++r)
#pragma unroll
        for (uint c = 0; c < COLS; ++c) sums[r][c] = 0;
#pragma unroll 1
      for (uint y = 0; y < ROWS - 1 + size_y; ++y) {
        local const values* row = tile + ((ly * ROWS + y) * line + lx * COLS) / 4;
        // The cells that are read; their first COLS are those behind the last TAPS * CHANNELS.
        VALUE now[COLS + TAPS * CHANNELS];
        const values v = row[0];
        now[0] = v.s0, now[1] = v.s1, now[2] = v.s2, now[3] = v.s3;
#pragma unroll 1
        for (uint n = 0; n < chunks; ++n) {
#pragma unroll
          for (uint k = 0; k < CHANNELS; ++k) {
            const values next = row[n * CHANNELS + k + 1];
            now[4 * k + 4] = next.s0, now[4 * k + 5] = next.s1, now[4 * k + 6] = next.s2, now[4 * k + 7] = next.s3;
          }
          const uint count = size_x - n * TAPS;
#pragma unroll
          for (uint r = 0; r < ROWS; ++r) {
            // Row y is row y - r of the windows of results r.
            if (y - r >= size_y) continue;
            const values w = packed[(y - r) * chunks + n];
            if (count >= TAPS)
              add_taps(sums[r], w, now, TAPS);
            else
              add_taps(sums[r], w, now, count);
          }
#pragma unroll
          for (uint c = 0; c < COLS; ++c) now[c] = now[TAPS * CHANNELS + c];
        }
      }

      const ulong e = first + lx * COLS;
#pragma unroll
      for (uint r = 0; r < ROWS; ++r) {
        const ulong y = band + ly * ROWS + r;
        if (y >= out_height || !is_written(EDGE, y, first_y, size_y, height) || !is_written(EDGE, z, first_z, 1, depth)) continue;
        global RESULT* to = out + out_offset + grid * out_stride + z * out_plane + y * out_pitch;
#pragma unroll
        for (uint c = 0; c < COLS; ++c)
          if (e + c < elements && is_written(EDGE, (e + c) / CHANNELS, first_x, size_x, width)) store_cell(to, e + c, sums[r][c]);
      }
      barrier(CLK_LOCAL_MEM_FENCE);  // before the next tile is stored
    }
  }
}
