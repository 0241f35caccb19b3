// Stencil through a tile in local memory, with a block of results in each work-item's registers: for windows whose rows do not fit there
// (stencil/rows.cl). A group loads the cells that its results' windows cover, once each and with the halo, and the weights, each row of
// them from a multiple of 4 on. A work-item goes through its rows of the tile; of a row it reads 4 * CHANNELS elements at a time, keeps those
// that the next weights need too, and multiplies them by 4 weights of each of the rows of the window that they are in, for COLS x ROWS
// results. So a read serves COLS * ROWS / CHANNELS products, where stencil/tiled.cl reads for each. The window is an argument: one program serves all
// of them. Flat boxes; stride and dilation are 1.
//
// A row of the tile lies in quads of 4 cells, those of even numbers first: work-items side by side, two quads apart, read neighbouring ones.
//
// Launch: GROUP_X x GROUP_Y work-items a group; COLS elements of a row and ROWS rows each; groups along the elements of rows, along rows
// and the planes of all grids, with grid-stride loops over the last two. Local memory: TILE values, at least 8 * `half_line` * rows for the
// quads of half a line below and rows = GROUP_Y * ROWS + size_y - 1; WEIGHTS values, at least size_y times size_x rounded up to 4.
#include "stencil/cells.clh"
#include "common/sub_group.clh"
#include "common/work_group.clh"

#ifndef GROUP_X
#define GROUP_X 16
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
#include "stencil/block_rows.clh"

kernel SUB_GROUP_SIZE __attribute__((reqd_work_group_size(GROUP_X, GROUP_Y, 1)))
void stencil_blocks(STENCIL_ARGUMENTS) {
  local values tile[TILE / 4], packed[WEIGHTS / 4];
  local VALUE* cells = (local VALUE*)tile;
  const uint lx = get_local_id(0), ly = get_local_id(1), item = ly * GROUP_X + lx;
  const uint chunks = (size_x + TAPS - 1) / TAPS;  // of a row of weights
  // The tile, in elements of a row, and rows. What lies behind its elements is read for no result. Half a line is 16 words past a multiple of
  // 32, so that quads of both halves are stored to different banks.
  const uint needed = GROUP_X * COLS + (size_x - 1) * CHANNELS, rows = GROUP_Y * ROWS + size_y - 1;
  const uint half_line = ((2 * GROUP_X + chunks * CHANNELS + 1) / 2 + 3) / 8 * 8 + 4;
  for (uint i = item; i < size_y * chunks * TAPS; i += GROUP_X * GROUP_Y) {
    const uint j = i / (chunks * TAPS), k = i - j * (chunks * TAPS);
    ((local VALUE*)packed)[i] = k < size_x ? weights[1 + j * size_x + k] : 0;
  }
  const ulong elements = out_width * CHANNELS, first = (ulong)get_group_id(0) * (GROUP_X * COLS);
  const long from_element = (long)first + first_x * CHANNELS;
  // With "leave" only results whose whole windows lie in their row.
  const long col = (long)(first + lx * COLS), all = (long)elements;
  const long first_col = EDGE == LEAVE ? max(-first_x, 0L) * CHANNELS : 0;
  const long end_col = EDGE == LEAVE ? min(all, ((long)width - first_x - size_x + 1) * CHANNELS) : all;
  const int begin = (int)clamp(first_col - col, 0L, (long)COLS), end = (int)clamp(end_col - col, 0L, (long)COLS);
  for (ulong p = get_group_id(2); p < out_depth * batch; p += get_num_groups(2)) {
    const ulong grid = grid_of(p, out_depth, batch), z = p - grid * out_depth;
    const long at_z = place_by(EDGE, (long)z + first_z, (long)depth);
    global const ELEMENT* from = in + in_offset + grid * in_stride + (ulong)max(at_z, 0L) * in_plane;
    for (ulong band = get_group_id(1) * (GROUP_Y * ROWS); band < out_height; band += get_num_groups(1) * (GROUP_Y * ROWS)) {
      const bool inside = from_element >= 0 && from_element + needed <= (long)(width * CHANNELS) && (long)band + first_y >= 0 &&
                          (long)(band + rows) + first_y <= (long)height && at_z >= 0;
      for (uint j = ly; j < rows; j += GROUP_Y) {
        const long at_y = inside ? (long)(band + j) + first_y : place_by(EDGE, (long)(band + j) + first_y, (long)height);
        global const ELEMENT* line = from + (ulong)max(at_y, 0L) * in_pitch;
        local VALUE* to = cells + j * (8 * half_line);
        if (inside) {
          copy_cells(to, line + from_element, lx, needed, half_line);
          continue;
        }
        for (uint i = lx; i < needed; i += GROUP_X) {
          const long at_x = element_by(EDGE, from_element + i, (long)width);
          to[place_of_cell(i, half_line)] = (at_x | at_y | at_z) < 0 ? BEYOND : load_value(line, (ulong)at_x);
        }
      }
      end_copies();
      WAIT_COPIES(0);
      barrier(CLK_LOCAL_MEM_FENCE);

      VALUE sums[ROWS][COLS];
#pragma unroll
      for (uint r = 0; r < ROWS; ++r)
#pragma unroll
        for (uint c = 0; c < COLS; ++c) sums[r][c] = 0;
#pragma unroll 1
      for (uint y = 0; y < ROWS - 1 + size_y; ++y)
        add_row(sums, packed, y, size_x, size_y, tile + (ly * ROWS + y) * (2 * half_line) + lx, half_line);

      const ulong top = band + ly * ROWS;
      global RESULT* to = out + out_offset + grid * out_stride + z * out_plane + top * out_pitch + (ulong)col;
#pragma unroll
      for (uint r = 0; r < ROWS; ++r, to += out_pitch)
        if (top + r < out_height && is_written(EDGE, top + r, first_y, size_y, height) && is_written(EDGE, z, first_z, 1, depth))
          store_row(to, sums[r], begin, end);
      barrier(CLK_LOCAL_MEM_FENCE);  // before the next tile is stored
    }
  }
}
