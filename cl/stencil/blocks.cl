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
#ifndef ASYNC
#define ASYNC 0  // bytes of an element that NVIDIA's asynchronous copies move to local memory, 4 or 8; 0: it is loaded
#endif
#if ASYNC
#include "nvidia/copy_async.clh"
#define COPY_CELL(to, from, i) JOIN(copy_whole_, ASYNC)(local_address(to), (from) + (i))
#else
#define COPY_CELL(to, from, i) (*(to) = load_value(from, i))
#define WAIT_COPIES(groups)
static inline void end_copies(void) {}
#endif
#define COLS 8
#define TAPS 4                // weights of a row that are multiplied at a time
#define RING (2 + CHANNELS)   // quads of a row that a work-item has
#define TURNS (CHANNELS == 2 ? 2 : CHANNELS == 3 ? 5 : 3)  // after which the ring begins again

typedef JOIN(VALUE, 4) values;

// The products of `count` weights with the cells of a row, from quad `first` of the ring on.
INLINED void add_taps(VALUE sums[COLS], values w, const VALUE ring[4 * RING], const uint first, uint count) {
  const VALUE weight[TAPS] = {w.s0, w.s1, w.s2, w.s3};
#pragma unroll
  for (uint t = 0; t < TAPS; ++t) {
    if (t >= count) continue;
#pragma unroll
    for (uint c = 0; c < COLS; ++c) sums[c] = fma(weight[t], ring[(4 * first + t * CHANNELS + c) % (4 * RING)], sums[c]);
  }
}

INLINED void put_quad(VALUE ring[4 * RING], const uint place, values v) {
  const uint first = place % RING * 4;
  ring[first] = v.s0, ring[first + 1] = v.s1, ring[first + 2] = v.s2, ring[first + 3] = v.s3;
}

// Adds the products of a row of the tile with the weights of those rows of the window that it is of ROWS results. `cells`: the work-item's first
// quad of row y of those of its windows. All weights of a turn are read before any is used; of a row without any, others.
INLINED void add_row(VALUE sums[ROWS][COLS], local const values* weights, uint y, uint size_x, uint size_y, local const values* cells, uint half_line) {
  const uint chunks = (size_x + TAPS - 1) / TAPS;
  VALUE ring[4 * RING];
  put_quad(ring, 0, cells[0]);
  put_quad(ring, 1, cells[half_line]);
#pragma unroll 1
  for (uint n = 0; n < chunks; n += TURNS) {
#pragma unroll
    for (uint turn = 0; turn < TURNS; ++turn) {
      if (n + turn >= chunks) continue;
#pragma unroll
      for (uint k = 0; k < CHANNELS; ++k) {
        const uint quad = (n + turn) * CHANNELS + k + 2;
        put_quad(ring, turn * CHANNELS + k + 2, cells[quad % 2 * half_line + quad / 2]);
      }
      values w[ROWS];
#pragma unroll
      for (uint r = 0; r < ROWS; ++r) w[r] = weights[min(y - r, size_y - 1) * chunks + n + turn];
      const uint count = size_x - (n + turn) * TAPS;
      if (count >= TAPS) {
#pragma unroll
        for (uint r = 0; r < ROWS; ++r)
          if (y - r < size_y) add_taps(sums[r], w[r], ring, turn * CHANNELS, TAPS);
      } else {
#pragma unroll
        for (uint r = 0; r < ROWS; ++r)
          if (y - r < size_y) add_taps(sums[r], w[r], ring, turn * CHANNELS, count);
      }
    }
  }
}

// Where cell i of a row of the tile lies.
INLINED uint place_of_cell(uint i, uint half_line) { return i / 4 % 2 * (4 * half_line) + i / 8 * 4 + i % 4; }

// Copies every GROUP_X-th cell of a row, from cell `first` on.
INLINED void copy_cells(local VALUE* to, global const ELEMENT* from, uint first, uint end, uint half_line) {
#if GROUP_X % 8 == 0
  to += place_of_cell(first, half_line), from += first;
#pragma unroll 4
  for (uint i = first; i < end; i += GROUP_X, to += GROUP_X / 2, from += GROUP_X) COPY_CELL(to, from, 0);
#else
  for (uint i = first; i < end; i += GROUP_X) COPY_CELL(to + place_of_cell(i, half_line), from, i);
#endif
}

// Stores the results of a row that lie in columns [first_col, end_col), four at once where they can be.
INLINED void store_row(global RESULT* line, const VALUE sums[COLS], long col, long first_col, long end_col) {
#if !RESULT_HALF
  if (col >= first_col && col + COLS <= end_col && (ulong)(line + col) % (4 * sizeof(RESULT)) == 0) {
#pragma unroll
    for (uint q = 0; q < COLS; q += 4)
      *(global JOIN(RESULT, 4)*)(line + col + q) =
          (JOIN(RESULT, 4))(result_of(sums[q]), result_of(sums[q + 1]), result_of(sums[q + 2]), result_of(sums[q + 3]));
    return;
  }
#endif
#pragma unroll
  for (int c = 0; c < COLS; ++c)
    if (col + c >= first_col && col + c < end_col) store_cell(line, (ulong)(col + c), sums[c]);
}

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

      // With "leave" only results whose whole windows lie in their row.
      const bool leaves = EDGE == LEAVE;
      const long first_col = leaves ? max(-first_x, 0L) * CHANNELS : 0;
      const long end_col = leaves ? min((long)elements, ((long)width - first_x - size_x + 1) * CHANNELS) : (long)elements;
#pragma unroll
      for (uint r = 0; r < ROWS; ++r) {
        const ulong y = band + ly * ROWS + r;
        if (y >= out_height || !is_written(EDGE, y, first_y, size_y, height) || !is_written(EDGE, z, first_z, 1, depth)) continue;
        store_row(out + out_offset + grid * out_stride + z * out_plane + y * out_pitch, sums[r], (long)(first + lx * COLS), first_col, end_col);
      }
      barrier(CLK_LOCAL_MEM_FENCE);  // before the next tile is stored
    }
  }
}
