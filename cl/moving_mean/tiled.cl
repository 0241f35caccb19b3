// Moving means at a cost that does not depend on the window: a work-group has a tile of a row in local memory, cuts it into
// blocks of `window` elements, and finds for each element the sum from its block's begin to it, and from it to its block's
// end. A window is the end of one block and the begin of the next: two reads and one addition. M. van Herk, "A fast algorithm
// for local minimum and maximum filters on rectangular and octagonal kernels", Pattern Recognition Letters 13, 1992, for sums.
// Nothing is subtracted, so nothing drifts.
//
// Launch: two dimensions: tiles of GROUP * ITEMS - window + 1 results, rows; what exceeds the launch is a loop.
// Local memory: 2 * GROUP * ITEMS sums, and GROUP sums and marks.
#include "common/work_group.clh"
#include "moving_mean/arguments.clh"

#ifndef GROUP
#define GROUP 256  // work-items
#endif
#ifndef ITEMS
#define ITEMS 9  // neighbouring elements of a work-item; odd, so that work-items read different banks
#endif
#define TILE (GROUP * ITEMS)

// A sum, and whether a block begins in what it is of.
typedef struct {
  SUM sum;
  SUM cut;
} part;

static inline part join(part a, part b) {
  part both;
  both.sum = b.cut != 0 ? b.sum : a.sum + b.sum;
  both.cut = b.cut != 0 ? b.cut : a.cut;
  return both;
}
static inline part nothing(void) {
  part none;
  none.sum = none.cut = 0;
  return none;
}
DEFINE_TEAM_SCAN(team_scan, part, join, nothing)

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void moving_mean_tiled(MOVING_MEAN_ARGUMENTS) {
  (void)scratch;
  local SUM begins[TILE], ends[TILE];
  local part meeting[GROUP];
  const uint item = get_local_id(0), length = (uint)window, results = TILE - length + 1;
  const ulong tiles = (width + results - 1) / results;
  for (ulong r = get_group_id(1); r < rows; r += get_num_groups(1)) {
    global const ELEMENT* from = in + ROW_OFFSET(first_row + r, in);
    global RESULT* to = out + ROW_OFFSET(first_row + r, out);
    for (ulong t = get_group_id(0); t < tiles; t += get_num_groups(0)) {
      const ulong first = t * results;  // of the results; the tile's first element is window / 2 before it
      const long start = (long)first - (long)(window / 2);
      for (uint i = item; i < TILE; i += GROUP) {
        const long x = start + i;
        ends[i] = x >= 0 && x < (long)width ? (SUM)load_value(from, x) : 0;
      }
      barrier(CLK_LOCAL_MEM_FENCE);

      // From each block's begin.
      const uint own = item * ITEMS;
      SUM values[ITEMS];
      uint place = own % length;  // in its block
      part run = nothing(), all;
#pragma unroll
      for (uint k = 0; k < ITEMS; ++k) {
        values[k] = ends[own + k];
        if (place == 0) run.sum = 0, run.cut = 1;
        run.sum += values[k];
        place = place + 1 == length ? 0 : place + 1;
      }
      team_scan(&run, &all, meeting, item, GROUP);
      place = own % length;
      SUM sum = run.sum;
#pragma unroll
      for (uint k = 0; k < ITEMS; ++k) {
        sum = place == 0 ? values[k] : sum + values[k];
        begins[own + k] = sum;
        place = place + 1 == length ? 0 : place + 1;
      }

      // To each block's end, from right to left.
      const uint last = (own + ITEMS - 1) % length;
      place = last;
      run = nothing();
#pragma unroll
      for (uint k = 0; k < ITEMS; ++k) {
        if (place == length - 1) run.sum = 0, run.cut = 1;
        run.sum += values[ITEMS - 1 - k];
        place = place == 0 ? length - 1 : place - 1;
      }
      team_scan(&run, &all, meeting, GROUP - 1 - item, GROUP);
      place = last;
      sum = run.sum;
#pragma unroll
      for (uint k = 0; k < ITEMS; ++k) {
        sum = place == length - 1 ? values[ITEMS - 1 - k] : sum + values[ITEMS - 1 - k];
        ends[own + ITEMS - 1 - k] = sum;
        place = place == 0 ? length - 1 : place - 1;
      }
      barrier(CLK_LOCAL_MEM_FENCE);

      for (uint i = item; i < results; i += GROUP) {
        const ulong x = first + i;
        if (x < width) {
          // A window that is a block is there once.
          const SUM rest = i % length == 0 ? 0 : begins[i + length - 1];
          store_mean(to, x, ends[i] + rest, mean_count(x, width, window, whole));
        }
      }
      barrier(CLK_LOCAL_MEM_FENCE);  // the next tile takes their place
    }
  }
}
