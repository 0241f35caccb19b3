// Moving means of windows that are longer than a tile, in two reads of the input: a row is divided into chunks of TILE elements, and
// these into units of GROUP elements. The first launch sums units and chunks.
//
// In the second launch a group has the windows that begin in one chunk. Window i is the end of the chunk from its element i on, then
// what all windows of the group share, whole chunks, units and elements up to the end of the first window, and then i more elements. So
// each sum has three parts: a suffix sum of the chunk, the shared sum, and a prefix sum of as many elements after the first window.
// Nothing is subtracted, so rounding errors do not accumulate. M. van Herk, "A fast algorithm for local minimum and maximum filters on
// rectangular and octagonal kernels", Pattern Recognition Letters 13, 1992, has blocks as long as the window instead.
//
// Launch: two dimensions: chunks, rows; grid-stride loops over both. The window is at least TILE elements. Local memory: TILE sums, one
// more for every BANKS of them, and 3 * GROUP. Scratch: for each row the sums of its units, then of its chunks.
#ifndef PHASE
#define PHASE 1  // 0: sums, 1: means
#endif
#include "moving_mean/chunk.clh"

#if PHASE == 1
// The sum of elements [begin, end) of a row, of which units before `begin` and after `end` do not count. This work-item's share.
static inline SUM share_of(global const ELEMENT* from, global const SUM* units, global const SUM* chunks, ulong begin, ulong end,
                           uint item) {
  const ulong last_chunk = end / TILE, last_unit = end / GROUP;
  SUM sum = 0;
  for (ulong c = begin / TILE + item; c < last_chunk; c += GROUP) sum += chunks[c];
  for (ulong u = max(last_chunk * ITEMS, begin / GROUP) + item; u < last_unit; u += GROUP) sum += units[u];
  const ulong at = max(last_unit * GROUP, begin) + item;
  if (at < end) sum += (SUM)load_value(from, at);
  return sum;
}
#endif

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void moving_mean_chunks(MOVING_MEAN_ARGUMENTS) {
  local SUM tile[PLACES], sums[GROUP];
#if PHASE == 1
  local pair pairs[GROUP];
#endif
  const uint item = get_local_id(0);
  const ulong tiles = (width + TILE - 1) / TILE, row_sums = tiles * (ITEMS + 1);
  for (ulong r = get_group_id(1); r < rows; r += get_num_groups(1)) {
    global const ELEMENT* from = in + row_offset(first_row + r, height, depth, in_offset, in_pitch, in_plane, in_stride);
    global SUM *units = scratch + r * row_sums, *chunks = units + tiles * ITEMS;
#if PHASE == 0
    (void)out, (void)out_offset, (void)out_pitch, (void)out_plane, (void)out_stride, (void)whole, (void)window;
    for (ulong chunk = get_group_id(0); chunk < tiles; chunk += get_num_groups(0)) {
      SUM values[ITEMS];
      load_tile(values, from, (long)(chunk * TILE), width, item);
      to_neighbours(values, tile, item);
      SUM sum = values[0];
#pragma unroll
      for (uint k = 1; k < ITEMS; ++k) sum += values[k];
      // GROUP / ITEMS neighbouring work-items have a unit.
      team_sum(&sum, sums, item, GROUP / ITEMS);
      if (item % (GROUP / ITEMS) == 0) units[chunk * ITEMS + item / (GROUP / ITEMS)] = sum;
      SUM all = item % (GROUP / ITEMS) == 0 ? sum : 0;
      team_sum(&all, sums, item, GROUP);
      if (item == 0) chunks[chunk] = all;
    }
#else
    global RESULT* to = out + row_offset(first_row + r, height, depth, out_offset, out_pitch, out_plane, out_stride);
    const long before = (long)(window / 2);
    // The chunk of the first window begins before the row.
    const long first_chunk = -((before + TILE - 1) / TILE);
    const ulong jobs = (ulong)(((long)width - 1 - before + TILE) / TILE - first_chunk);  // width >= 1
    for (ulong job = get_group_id(0); job < jobs; job += get_num_groups(0)) {
      const long begin = (first_chunk + (long)job) * TILE;  // of the chunk, in the row
      const long end = begin + (long)window;                // of the first window
      SUM values[ITEMS], more[ITEMS];
      load_tile(values, from, begin, width, item);
      load_tile(more, from, end, width, item);
      SUM shared = share_of(from, units, chunks, (ulong)clamp(begin + TILE, 0L, (long)width), (ulong)clamp(end, 0L, (long)width), item);
      to_neighbours(values, tile, item);
      to_neighbours(more, tile, item);
      team_sum(&shared, sums, item, GROUP);
      scan_chunks(values, more, sums, pairs, item);
      const bool is_full = whole || (begin >= 0 && end + TILE - 1 <= (long)width);
      store_chunk(to, begin + before, width, window, whole, is_full, values, more, shared, tile, item);
    }
#endif
  }
}
