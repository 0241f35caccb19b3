// Moving means of floating point for a CPU, of windows that its cache does not hold: windows that begin in a strip share what lies between
// the strip and the elements that the last of them ends with.
//
// A work-group is one work-item, which is one thread, and computes TILE results of a row at most: a window is the end of the strip, the
// sum between, and the begin of what follows. Nothing is subtracted, so rounding errors do not accumulate.
//
// Launch: local size 1; jobs: strips, then rows. Local memory: 2 * TILE sums.
#include "moving_mean/arguments.clh"
#include "moving_mean/strips.clh"
#include "common/convert.clh"

#ifndef TILE
#define TILE 16384
#endif
typedef JOIN(SUM, 16) run;

// The sum of elements [begin, end). Not inlined: PoCL copies a kernel's body three times.
__attribute__((noinline)) SUM sum_between(global const ELEMENT* row, ulong begin, ulong end) {
  run sums[4];
#pragma unroll
  for (uint v = 0; v < 4; ++v) sums[v] = 0;
  ulong i = begin;
  for (; i + 64 <= end; i += 64) {
#pragma unroll
    for (uint v = 0; v < 4; ++v)
#if ELEMENT_HALF
      sums[v] += CONVERT(run, load_loose_halves16(row + i + 16 * v));
#else
      sums[v] += CONVERT(run, LOAD_LOOSE(ELEMENT, 16, row + i + 16 * v));
#endif
  }
  SUM each[16], sum = 0;
  *(run*)each = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  for (uint k = 0; k < 16; ++k) sum += each[k];
  for (; i < end; ++i) sum += (SUM)load_value(row, i);
  return sum;
}

// sums[i] = the elements of left from i on, `between`, and those of right before i: two chains of additions at once, and their sums.
__attribute__((noinline)) void join_parts(local SUM* left, local SUM* right, uint count, SUM between) {
  SUM end = between, begin = 0;
  for (uint i = 0; i < count; ++i) {
    const SUM next = right[i];
    right[i] = begin;
    begin += next;
    left[count - 1 - i] = end += left[count - 1 - i];
  }
  for (uint i = 0; i < count; ++i) left[i] += right[i];
}

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void moving_mean_cpu_long(MOVING_MEAN_ARGUMENTS) {
  (void)scratch;
  local SUM left[TILE] __attribute__((aligned(64)));
  local SUM right[TILE] __attribute__((aligned(64)));
  const ulong strips = (width + TILE - 1) / TILE;
  for (ulong job = get_group_id(0); job < rows * strips; job += get_num_groups(0)) {
    const ulong r = job / strips, first = (job - r * strips) * TILE;
    const uint results = (uint)min((ulong)TILE, width - first);  // no more than a window has
    global const ELEMENT* from = in + row_offset(first_row + r, height, depth, in_offset, in_pitch, in_plane, in_stride);
    global RESULT* to = out + row_offset(first_row + r, height, depth, out_offset, out_pitch, out_plane, out_stride) + first;
    const long start = (long)first - (long)(window / 2);
    load_strip(left, from, start, results, width);
    load_strip(right, from, start + (long)window, results, width);
    const long begin = clamp(start + (long)results, 0L, (long)width), end = clamp(start + (long)window, 0L, (long)width);
    join_parts(left, right, results, sum_between(from, (ulong)begin, (ulong)end));
    store_strip(to, left, first, results, width, window, whole);
  }
}
