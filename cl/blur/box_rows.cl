// The first launch of a box blur in two passes: sums along rows, into the scratch.
//
// A group has RESULTS neighbouring sums of a row. Its work-items load parts of COLS neighbouring columns, and the group turns them into prefix
// sums along segments in local memory; a sum is the difference of two of them, and the totals of the segments that end between. Sums
// that are not finite, which other elements of the segment may have caused, are computed again.
//
// Launch: one dimension, GROUP work-items a group; group g computes tiles of rows g, g + groups, ... Local memory: TURNS * STEP * GROUP * COLS
// sums; without shuffles STEP * GROUP * CHANNELS totals.
#include "blur/box_rows.clh"

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void box_rows(SEPARABLE_ARGUMENTS) {
  (void)out, (void)out_offset, (void)out_pitch, (void)out_plane, (void)out_stride, (void)row_taps, (void)column_taps, (void)row_origin;
  (void)column_origin, (void)first_col, (void)first_row, (void)end_row, (void)band, (void)streaming;
  local SUM tile[TURNS * STEP][WIDTH] __attribute__((aligned(64)));
#if !SHUFFLES
  local item_totals totals[STEP];
#endif
  const uint item = get_local_id(0), lane = item % SEGMENT;
  const ulong tiles = (end_col + RESULTS - 1) / RESULTS, pitch = sums_pitch(width);
  const VALUE beyond = value_beyond(weights);
  for (ulong t = get_group_id(0); t < tiles * rows * planes; t += get_num_groups(0)) {
    const ulong line = t / tiles, p = line / rows, col = (t - line * tiles) * RESULTS;  // of the first result
    global const ELEMENT* row = in + plane_offset(p, depth, in_offset, in_stride, in_plane) + (line - p * rows) * in_pitch;
    const long first = (long)col - LEFT + item * COLS;

    const long last = (long)width - COLS, whole = last - last % COLS;  // where whole parts begin
#pragma unroll 1
    for (uint turn = 0; turn < TURNS; ++turn) {
      // All loads are made, wherever they are from, since branches would let each wait for the one before.
      part parts[STEP];
      if (last >= 0) {
#pragma unroll
        for (uint k = 0; k < STEP; ++k) parts[k] = load_part(row + clamp(first + (long)(turn * STEP + k) * WIDTH, 0L, whole));
      }
#pragma unroll
      for (uint k = 0; k < STEP; ++k) {
        const long at = first + (long)(turn * STEP + k) * WIDTH;
        if ((at < 0 || at > last) && at < (long)width + SIDE) parts[k] = load_edge(row, find_columns(at, (long)width), beyond);
      }
      SUM ended[STEP][COLS];
#pragma unroll
      for (uint k = 0; k < STEP; ++k)
#pragma unroll
        for (uint c = 0; c < COLS; ++c) {
          ended[k][c] = number_of(&parts[k], c);
          if (c >= CHANNELS) ended[k][c] += ended[k][c < CHANNELS ? c : c - CHANNELS];
        }
#if SHUFFLES
      scan_segments(ended, lane);
#else
      scan_segments(ended, lane, totals, item);
#endif
#pragma unroll
      for (uint k = 0; k < STEP; ++k) put_columns(tile[turn * STEP + k], item, ended[k]);
#if !SHUFFLES
      barrier(CLK_LOCAL_MEM_FENCE);  // the next totals take their place
#endif
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    global SUM* to = (global SUM*)scratch + line * pitch + col;
    const uint end = (uint)min((ulong)RESULTS, end_col - col);
    const result_place own = find_result(item);
    uint x = item;
    for (; x - item + AT_ONCE * GROUP <= end; x += AT_ONCE * GROUP) {
      SUM sum[AT_ONCE], check = 0;  // NaN if one is not finite
#pragma unroll
      for (uint k = 0; k < AT_ONCE; ++k) {
        sum[k] = sum_box(&tile[0][0], own, x - item + k * GROUP, item);
#if !SUM_INTEGER
        check += sum[k] - sum[k];
#endif
      }
#pragma unroll
      for (uint k = 0; k < AT_ONCE; ++k) to[x + k * GROUP] = sum[k];
      if (is_spoiled(check)) {
#pragma unroll 1
        for (uint k = 0; k < AT_ONCE; ++k)
          if (is_spoiled(to[x + k * GROUP])) to[x + k * GROUP] = sum_anew(row, (long)(col + x + k * GROUP) - SIDE, (long)width, (SUM)beyond);
      }
    }
#pragma unroll 1
    for (; x < end; x += GROUP) {
      const SUM sum = sum_box(&tile[0][0], own, x - item, item);
      to[x] = is_spoiled(sum) ? sum_anew(row, (long)(col + x) - SIDE, (long)width, (SUM)beyond) : sum;
    }
    barrier(CLK_LOCAL_MEM_FENCE);  // the next row takes its place
  }
}
