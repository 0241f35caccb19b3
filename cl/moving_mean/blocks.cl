// Moving means of windows that are longer than local memory: a row is divided into blocks of `window` elements; the scratch
// has for each element the sum from its block's begin to it, and from it to its block's end. A window is the end of one block
// and the begin of the next: two loads and one addition. M. van Herk, "A fast algorithm for local minimum
// and maximum filters on rectangular and octagonal kernels", Pattern Recognition Letters 13, 1992, for sums. Nothing is
// subtracted, so rounding errors do not accumulate.
//
// Launch: PHASE 0: one dimension, GROUP work-items a group; a grid-stride loop over the blocks of all rows. PHASE 1: two
// dimensions of work-items: element of a row, row.
// Local memory: PHASE 0: GROUP sums. Scratch: 2 * rows * width sums: to the ends, then from the begins.
#include "common/work_group.clh"
#include "moving_mean/arguments.clh"

#ifndef PHASE
#define PHASE 0
#endif
#ifndef GROUP
#define GROUP 256  // work-items: a power of two
#endif

#if PHASE == 0
static inline SUM add(SUM a, SUM b) { return a + b; }
static inline SUM none(void) { return 0; }
DEFINE_TEAM_SCAN(team_scan, SUM, add, none)
#endif

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void moving_mean_blocks(MOVING_MEAN_ARGUMENTS) {
  global SUM *ends = scratch, *begins = scratch + rows * width;
#if PHASE == 0
  (void)out, (void)out_offset, (void)out_pitch, (void)out_plane, (void)out_stride, (void)whole;
  local SUM local_sums[GROUP];
  const uint item = get_local_id(0);
  const ulong blocks = (width + window - 1) / window;
  for (ulong job = get_group_id(0); job < rows * blocks; job += get_num_groups(0)) {
    const ulong r = job / blocks, first = (job - r * blocks) * window, length = min(window, width - first);
    global const ELEMENT* from = in + row_offset(first_row + r, height, depth, in_offset, in_pitch, in_plane, in_stride) + first;
    // The sum of all chunks before this one, uniform in the group.
    SUM before = 0, after = 0;
    for (ulong done = 0; done < length; done += GROUP) {
      const ulong place = done + item;
      const bool there = place < length;
      const SUM own = there ? (SUM)load_value(from, place) : 0;
      const SUM mirrored = there ? (SUM)load_value(from, length - 1 - place) : 0;
      SUM sum = own, all;
      team_scan(&sum, &all, local_sums, item, GROUP);
      if (there) begins[r * width + first + place] = before + sum + own;
      before += all;
      sum = mirrored;
      team_scan(&sum, &all, local_sums, item, GROUP);
      if (there) ends[r * width + first + length - 1 - place] = after + sum + mirrored;
      after += all;
    }
  }
#else
  (void)in, (void)in_offset, (void)in_pitch, (void)in_plane, (void)in_stride;
  for (ulong r = get_group_id(1); r < rows; r += get_num_groups(1)) {
    for (ulong x = get_global_id(0); x < width; x += get_global_size(0)) {
      const ulong before = window / 2;
      const ulong low = x > before ? x - before : 0, high = min(x + (window - before), width) - 1;
      // A window inside of one block, as at the ends of the row, begins or ends with it.
      const ulong block = low / window;
      SUM sum;
      if (block == high / window) {
        sum = low == block * window ? begins[r * width + high] : ends[r * width + low];
      } else {
        sum = ends[r * width + low] + begins[r * width + high];
      }
      global RESULT* to = out + row_offset(first_row + r, height, depth, out_offset, out_pitch, out_plane, out_stride);
      store_mean(to, x, sum, whole ? window : high - low + 1);
    }
  }
#endif
}
