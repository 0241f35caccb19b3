// Moving means for a CPU: the method of moving_mean/blocks.cl.
//
// A work-group is one work-item, which is one thread, and computes `strip` results of a row: TILE elements, which fit its cache,
// without the window. Short windows are summed element by element, in vectors, which is faster than a chain of additions.
//
// Launch: local size 1; jobs: strips, then rows. Local memory: 2 * TILE sums.
#include "moving_mean/arguments.clh"

#ifndef TILE
#define TILE 16384
#endif
#define SHORT 12  // additions of a vector in the time of the two chains

DEFINE_LOAD_RUN(load_values, local, SUM)
#if RESULT_HALF
DEFINE_STORE_RUN(store_values, local)
#endif

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void moving_mean_cpu(MOVING_MEAN_ARGUMENTS) {
  (void)scratch;
  local SUM values[TILE] __attribute__((aligned(64)));
  local SUM sums[TILE] __attribute__((aligned(64)));
  const uint length = (uint)window, strip = TILE - length + 1;
  const ulong strips = (width + strip - 1) / strip;
  for (ulong job = get_group_id(0); job < rows * strips; job += get_num_groups(0)) {
    const ulong r = job / strips, first = (job - r * strips) * strip;
    const uint results = (uint)min((ulong)strip, width - first), all = results + length - 1;
    global const ELEMENT* from = in + row_offset(first_row + r, height, depth, in_offset, in_pitch, in_plane, in_stride);
    global RESULT* to = out + row_offset(first_row + r, height, depth, out_offset, out_pitch, out_plane, out_stride) + first;
    // The elements, and 0 outside of the row.
    const long start = (long)first - (long)(window / 2);
    const uint missing = start < 0 ? (uint)min((ulong)-start, (ulong)all) : 0;
    const uint there = (uint)clamp((long)width - start, (long)missing, (long)all);
    for (uint i = 0; i < missing; ++i) values[i] = 0;
    global const ELEMENT* source = from + start;
    load_values(values + missing, source, missing, there - missing);
    for (uint i = there; i < all; ++i) values[i] = 0;

    if (length <= SHORT) {
      for (uint i = 0; i < results; ++i) sums[i] = values[i];
      for (uint k = 1; k < length; ++k)
        for (uint i = 0; i < results; ++i) sums[i] += values[i + k];
    } else {
      // Both chains of a block at once: from its begin to `sums`, and to its end in place. Only the last block is partial; no window
      // begins in it.
      for (uint block = 0; block < all; block += length) {
        const uint size = min(length, all - block);
        SUM begin = 0, end = 0;
        for (uint i = 0; i < size; ++i) {
          begin += values[block + i];
          sums[block + i] = begin;
        }
        for (uint i = size; i > 0; --i) {
          end += values[block + i - 1];
          values[block + i - 1] = end;
        }
      }
      // A window that is a block has its sum in one chain.
      uint i = 0;
      for (uint block = 0; block < results; block += length) {
        const uint end = min(block + length, results);
        for (i = block + 1; i < end; ++i) values[i] += sums[i + length - 1];
      }
      for (i = 0; i < results; ++i) sums[i] = values[i];
    }

    // Windows inside of the row, and windows at its ends.
    const ulong before = window / 2, after = window - before;
    const ulong low = before > first ? min(before - first, (ulong)results) : 0;
    const ulong end = width >= after ? width - after + 1 : 0;  // the first result whose window reaches beyond the row's end
    const ulong high = clamp(end > first ? end - first : 0, low, (ulong)results);
    for (ulong i = 0; i < low; ++i) store_mean(to, i, sums[i], mean_count(first + i, width, window, whole));
#if INTEGER
    for (ulong i = low; i < high; ++i) store_mean(to, i, sums[i], window);
#else
    const SUM count = (SUM)window;
#if RESULT_HALF
    for (ulong i = low; i < high; ++i) sums[i] /= count;
    store_values(to, low, sums + low, (uint)(high - low));
#else
    for (ulong i = low; i < high; ++i) store_result(to, i, sums[i] / count);
#endif
#endif
    for (ulong i = high; i < results; ++i) store_mean(to, i, sums[i], mean_count(first + i, width, window, whole));
  }
}
