// Separable filter through two tiles in local memory: the input with its halo, and the sums along its rows.
//
// Each element of a tile with its halo is loaded once and summed along rows once; the results are sums down the columns of the
// second tile. The windows' sizes are arguments, so one program serves all of them.
//
// Launch: one dimension, GROUP work-items a group, in lines of LANES; group g computes tiles g, g + groups, ...
// Local memory: (TILE_H + column_taps - 1) rows of TILE_W + (row_taps - 1) * CHANNELS values, and as many of TILE_W; MEMORY
// is at least that.
#include "separable/arguments.clh"

#ifndef TILE_W
#define TILE_W 64  // results along a row
#endif
#ifndef TILE_H
#define TILE_H 32  // rows of results
#endif
#ifndef GROUP
#define GROUP 256
#endif
#ifndef LANES
#define LANES 32  // work-items along a row: divides GROUP
#endif
#ifndef MEMORY
#define MEMORY 8192  // values
#endif
#define LINES (GROUP / LANES)

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void separable_tiled(SEPARABLE_ARGUMENTS, few_weights few) {
  (void)band, (void)streaming, (void)scratch, (void)few;
  local VALUE memory[MEMORY];
  const uint lane = get_local_id(0) % LANES, line = get_local_id(0) / LANES;
  const uint tile_rows = TILE_H + column_taps - 1, tile_cols = TILE_W + (row_taps - 1) * CHANNELS;
  local VALUE* tile = memory;
  local VALUE* sums = memory + tile_rows * tile_cols;
  const ulong across = (end_col - first_col + TILE_W - 1) / TILE_W, down = (end_row - first_row + TILE_H - 1) / TILE_H;
  for (ulong t = get_group_id(0); t < across * down * planes; t += get_num_groups(0)) {
    const ulong p = t / (across * down), in_plane_tile = t - p * (across * down);
    const ulong row = first_row + in_plane_tile / across * TILE_H, col = first_col + in_plane_tile % across * TILE_W;
    global const ELEMENT* from = in + plane_offset(p, depth, in_offset, in_stride, in_plane);

    // The tile with its halo.
    for (uint r = line; r < tile_rows; r += LINES) {
      const long source = place_within((long)row + (long)r - (long)column_origin, (long)rows);
      global const ELEMENT* source_row = from + (ulong)(source < 0 ? 0 : source) * in_pitch;
      for (uint c = lane; c < tile_cols; c += LANES) {
        const long place = element_within((long)col + (long)c - (long)row_origin * CHANNELS, (long)width);
        tile[r * tile_cols + c] = source < 0 || place < 0 ? value_beyond(weights) : load_value(source_row, place);
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    // Sums along rows.
    for (uint r = line; r < tile_rows; r += LINES) {
      for (uint c = lane; c < TILE_W; c += LANES) {
        VALUE sum = 0;
        for (uint i = 0; i < row_taps; ++i) sum += row_weights(weights)[i] * tile[r * tile_cols + c + i * CHANNELS];
        sums[r * TILE_W + c] = sum;
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    // Sums down the columns.
    for (uint r = line; r < TILE_H; r += LINES) {
      for (uint c = lane; c < TILE_W; c += LANES) {
        VALUE sum = 0;
        for (uint j = 0; j < column_taps; ++j) sum += column_weights(weights, row_taps)[j] * sums[(r + j) * TILE_W + c];
        if (row + r < end_row && col + c < end_col) {
          store_pixel(out + plane_offset(p, depth, out_offset, out_stride, out_plane) + (row + r) * out_pitch, col + c,
                      finish_sum(sum, from + (row + r) * in_pitch, col + c, weights, row_taps * column_taps));
        }
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);  // before the next tile is stored
  }
}
