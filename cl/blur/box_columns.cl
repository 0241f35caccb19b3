// The second launch of a box blur in two passes: means down the columns of the sums along rows that the first one left in the scratch.
//
// A group goes down a strip of LANES columns, in steps of CHUNK rows, and a work-item has ROWS neighbouring rows of a column at a time. A step has
// the boxes that end before the rows of one chunk of CHUNK rows. Their sums have three parts: a suffix sum of the CHUNK rows where the boxes begin,
// what all boxes of the step share, and a prefix sum of the chunk. The shared part is the end of one chunk, as long for all steps, and then whole
// chunks, whose sums are kept in local memory. Nothing is subtracted: rounding errors do not accumulate, and a number that is not finite is in
// no box but its own. Rows where boxes begin are read a second time, from the cache if all groups that run go down together.
//
// Launch: one dimension, GROUP work-items a group; group g computes bands of `band` rows of a strip: g, g + groups, ... Local memory: 3 sums
// for each work-item, and 2 * RING for each column.
#include "blur/box_columns.clh"

#define CUT (CHUNK - COLUMN_TAPS % CHUNK)
#define RING (BETWEEN + 1)

// The sum of a work-item's rows of a chunk, row `first` and those after it, from row CUT of the chunk on. `sum`: that of all.
static inline SUM end_of(const SUM v[ROWS], SUM sum, uint first) {
  if (first >= CUT) return sum;
  SUM end = 0;
  if (first + ROWS > CUT) {
#pragma unroll
    for (uint k = 0; k < ROWS; ++k) end += first + k >= CUT ? v[k] : 0;
  }
  return end;
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void box_columns(SEPARABLE_ARGUMENTS) {
  (void)in, (void)in_offset, (void)in_pitch, (void)in_plane, (void)in_stride, (void)row_origin, (void)column_taps, (void)streaming;
  local SUM coming[PARTS][LANES], ending[PARTS][LANES], going[PARTS][LANES];  // of work-items: of a chunk, of its end, of where boxes begin
  local SUM wholes[RING][LANES], ends[RING][LANES];
  const uint lane = get_local_id(0) % LANES, part = get_local_id(0) / LANES;
  const uint area = row_taps * COLUMN_TAPS;
  const VALUE inverse = (VALUE)1 / (VALUE)area;
  const word_divisor divisor = divisor_of_area(area);
  const ulong across = (end_col + LANES - 1) / LANES, down = (end_row - first_row + band - 1) / band;
  column_sums x = {0, (uint)sums_pitch(width), (int)rows, (SUM)value_beyond(weights) * (SUM)row_taps};
  for (ulong t = get_group_id(0); t < across * down * planes; t += get_num_groups(0)) {
    const ulong p = t / (across * down), strip = (t - p * (across * down)) % across;
    const ulong top = first_row + (t - p * (across * down)) / across * band, col = strip * LANES + lane;
    const int height = (int)min((ulong)band, end_row - top);
    x.from = (global const SUM*)scratch + p * rows * x.pitch + min(col, end_col - 1);
    global RESULT* to = out + plane_offset(p, depth, out_offset, out_stride, out_plane) + (top + part * ROWS) * out_pitch + col;
    const bool is_column = col >= first_col && col < end_col;

    // The chunks of the first step's boxes come first.
    const int warm = -(int)(BETWEEN * CHUNK);
    const int first = (int)top - (int)column_origin + (int)(part * ROWS), behind = first + COLUMN_TAPS;
    SUM enter[ROWS], leave[ROWS];
    load_sums(enter, x, behind + warm);
    uint slot = 0;
#pragma unroll 1
    for (int y = warm; y < height; y += CHUNK) {
      SUM sum = enter[0], rest = 0;
#pragma unroll
      for (uint k = 1; k < ROWS; ++k) sum += enter[k];
      coming[part][lane] = sum;
      ending[part][lane] = end_of(enter, sum, part * ROWS);
      if (y >= 0) {
        // Suffix sums.
#pragma unroll
        for (int k = ROWS - 1; k > 0; --k) leave[k - 1] += leave[k];
        going[part][lane] = leave[0];
      }
      barrier(CLK_LOCAL_MEM_FENCE);
      SUM before = 0, all = 0, after = 0, end = 0;
#pragma unroll
      for (uint n = 0; n < PARTS; ++n) {
        if (n == part) before = all;
        all += coming[n][lane];
      }
      if (part == PARTS - 1) {
#pragma unroll
        for (uint n = 0; n < PARTS; ++n) end += ending[n][lane];
        wholes[slot][lane] = all;
        ends[slot][lane] = end;
      }
      if (y >= 0) {
#pragma unroll
        for (uint n = 1; n < PARTS; ++n) after += n > part ? going[n][lane] : 0;
        uint c = slot + 1 < RING ? slot + 1 : 0;  // the oldest
        rest = ends[c][lane];
#pragma unroll 8
        for (uint n = 1; n < BETWEEN; ++n) {
          c = c + 1 < RING ? c + 1 : 0;
          rest += wholes[c][lane];
        }
        before += rest + after;
#pragma unroll
        for (uint k = 0; k < ROWS; ++k) {
          leave[k] += before;
          before += enter[k];
        }
        store_boxes(to, out_pitch, leave, is_column ? height - y - (int)(part * ROWS) : 0, divisor, inverse);
        to += CHUNK * out_pitch;
      }
      if (y + CHUNK < height) {
        load_sums(enter, x, behind + (y + CHUNK));
        if (y + CHUNK >= 0) load_sums(leave, x, first + (y + CHUNK));
      }
      slot = slot + 1 < RING ? slot + 1 : 0;
      barrier(CLK_LOCAL_MEM_FENCE);  // the next step's sums take their place
    }
  }
}
