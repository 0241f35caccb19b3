// Mean of a box of any size, by a march down the rows whose cost does not depend on the size.
//
// A work-item owns COLS neighbouring columns of a strip. For each row it adds the row that comes into its columns' sums and
// takes away the one that leaves them; rows are read STEP at a time, the next STEP ahead of time. The row that leaves is still
// in a ring in local memory, or, where that would be too large, is read again, mostly from the cache. The group then turns
// STEP rows of column sums into prefix sums along the rows, and the sum of a box is the difference of two of them:
// F. C. Crow, "Summed-area tables for texture mapping", SIGGRAPH 1984, kept for STEP rows of a strip at a time. What is not
// finite therefore spoils sums to the right of it in its strip, and below it in its band.
//
// Launch: one dimension, GROUP work-items a group; group g takes strips of `band` rows: g, g + groups, ...
// Local memory: STEP rows of GROUP * COLS sums, STEP rows of GROUP sums and of GROUP / SEGMENT, and with RING
// column_taps rows of GROUP * COLS elements.
#include "blur/box.clh"

#ifndef GROUP
#define GROUP 128
#endif
#ifndef STEP
#define STEP 4  // rows
#endif
#ifndef HALO
#define HALO 104  // columns of a strip without results: a multiple of COLS, at least that of both sides
#endif
#ifndef RING
#define RING 0  // rows of the ring: column_taps, or 0: none
#endif
#ifndef VECTOR_IN
#define VECTOR_IN 1  // 1: rows begin at multiples of COLS elements
#endif
#if CHANNELS == 3
#define COLS 3
#else
#define COLS 4
#endif
#define WIDTH (GROUP * COLS)     // columns of a strip
#define RESULTS (WIDTH - HALO)   // of them with results
#if GROUP < 16
#define SEGMENT GROUP
#else
#define SEGMENT 16  // work-items whose sums one of them adds up
#endif
#define SEGMENTS (GROUP / SEGMENT)

typedef JOIN(SUM, 4) columns;  // of three, the fourth is 0
// The sums of a work-item's cells, by channel.
#if CHANNELS == 1
typedef SUM cells;
#define CELLS(c) ((c).s3)
#define OF_ALL_CELLS(c) ((columns)(c))
#elif CHANNELS == 2
typedef JOIN(SUM, 2) cells;
#define CELLS(c) ((c).hi)
#define OF_ALL_CELLS(c) ((columns)((c).s0, (c).s1, (c).s0, (c).s1))
#else
typedef columns cells;
#define CELLS(c) (c)
#define OF_ALL_CELLS(c) (c)
#endif
#if ELEMENT_HALF
typedef JOIN(float, 4) kept;
#else
typedef JOIN(ELEMENT, 4) kept;  // of the ring
#endif

typedef struct {
  long first;
  long place[COLS];  // -1: the value beyond the edges
  uint inside;       // 0: none is needed, 1: some are outside, 2: all are inside
} own_columns;

static inline columns read_row(global const ELEMENT* from, ulong in_pitch, long row, long rows, own_columns own, SUM beyond) {
  const long source = place_within(row, rows);
  if (source < 0 || own.inside == 0) return (columns)beyond;
  global const ELEMENT* line = from + (ulong)source * in_pitch;
  if (own.inside == 2) {
#if VECTOR_IN && ELEMENT_HALF
    return vloada_half4(0, line + own.first);
#elif VECTOR_IN
    return JOIN(convert_, JOIN(SUM, 4))(*(global const JOIN(ELEMENT, 4)*)(line + own.first));
#else
    line += own.first;
    return (columns)(load_sum(line, 0), load_sum(line, 1), load_sum(line, 2), COLS == 3 ? 0 : load_sum(line, COLS - 1));
#endif
  }
  SUM v[4] = {0, 0, 0, 0};
#pragma unroll
  for (uint k = 0; k < COLS; ++k) v[k] = own.place[k] < 0 ? beyond : load_sum(line, (ulong)own.place[k]);
  return (columns)(v[0], v[1], v[2], v[3]);
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void box_march(SEPARABLE_ARGUMENTS) {
  (void)streaming, (void)scratch;
  local SUM prefix[STEP][WIDTH] __attribute__((aligned(64)));
  local cells totals[STEP][GROUP], segments[STEP][SEGMENTS];
#if RING
  local kept ring[RING][GROUP];
#endif
  const uint item = get_local_id(0);
  const uint area = row_taps * column_taps;
  const VALUE inverse = (VALUE)1 / (VALUE)area;
  const uint before = row_origin * CHANNELS;                 // a box begins so many elements before its result
  const uint left = (before + COLS - 1) / COLS * COLS + COLS;  // columns before the first result: one more than a box has
  const uint box = row_taps * CHANNELS;
  const ulong across = (end_col + RESULTS - 1) / RESULTS, down = (end_row - first_row + band - 1) / band;
  for (ulong t = get_group_id(0); t < across * down * planes; t += get_num_groups(0)) {
    const ulong p = t / (across * down), strip = (t - p * (across * down)) % across;
    const ulong top = first_row + (t - p * (across * down)) / across * band;
    const uint height = (uint)min((ulong)band, end_row - top);
    global const ELEMENT* from = in + PLANE_OFFSET(p, in);
    global RESULT* to = out + PLANE_OFFSET(p, out);

    own_columns own;
    own.first = (long)(strip * RESULTS) - (long)left + item * COLS;
    own.inside = own.first >= 0 && own.first + COLS <= (long)width ? 2 : own.first < (long)(width + box) ? 1 : 0;
#pragma unroll
    for (uint k = 0; k < COLS; ++k) own.place[k] = element_within(own.first + k, (long)width);

    columns high = 0, low = 0;
    const uint reads = height + column_taps - 1, steps = (reads + STEP - 1) / STEP;
    const long first_read = (long)top - (long)column_origin;
    columns enter[STEP];
#if RING
    uint slot = 0;  // of the ring, for the next row
#else
    columns leave[STEP];
#endif
#pragma unroll
    for (uint k = 0; k < STEP; ++k) {
      enter[k] = read_row(from, in_pitch, first_read + k, (long)rows, own, BOX_BEYOND);
#if !RING
      leave[k] = 0;
      if (k >= column_taps)
        leave[k] = read_row(from, in_pitch, first_read + k - (long)column_taps, (long)rows, own, BOX_BEYOND);
#endif
    }

    for (uint s = 0; s < steps; ++s) {
      // Down the columns: the ended rows' sums, which wait in registers for their prefix.
      columns ended[STEP];
#pragma unroll
      for (uint k = 0; k < STEP; ++k) {
        ADD_SUM(high, low, enter[k]);
#if RING
        if (s * STEP + k >= column_taps) {
#if ELEMENT_HALF
          const columns gone = ring[slot][item];
#else
          const columns gone = JOIN(convert_, JOIN(SUM, 4))(ring[slot][item]);
#endif
          TAKE_SUM(high, low, gone);
        }
#if ELEMENT_HALF
        ring[slot][item] = enter[k];
#else
        ring[slot][item] = JOIN(convert_, JOIN(ELEMENT, 4))(enter[k]);
#endif
        slot = slot + 1 == column_taps ? 0 : slot + 1;
#else
        TAKE_SUM(high, low, leave[k]);
#endif
        ended[k] = high + low;
#if CHANNELS == 1
        ended[k].s1 += ended[k].s0, ended[k].s2 += ended[k].s1, ended[k].s3 += ended[k].s2;
#elif CHANNELS == 2
        ended[k].hi += ended[k].lo;
#endif
        totals[k][item] = CELLS(ended[k]);
      }
      if (s + 1 < steps) {
#pragma unroll
        for (uint k = 0; k < STEP; ++k) {
          const uint read = min((s + 1) * STEP + k, reads - 1);
          enter[k] = read_row(from, in_pitch, first_read + read, (long)rows, own, BOX_BEYOND);
#if !RING
          leave[k] = 0;
          if (read >= column_taps)
            leave[k] = read_row(from, in_pitch, first_read + read - (long)column_taps, (long)rows, own, BOX_BEYOND);
#endif
        }
      }
      barrier(CLK_LOCAL_MEM_FENCE);

      // What stands before each work-item in its segment, and in each segment.
      for (uint i = item; i < STEP * SEGMENTS; i += GROUP) {
        const uint k = i / SEGMENTS, first = i % SEGMENTS * SEGMENT;
        cells sum = 0;
#pragma unroll
        for (uint n = 0; n < SEGMENT; ++n) {
          const cells own_total = totals[k][first + n];
          totals[k][first + n] = sum;
          sum += own_total;
        }
        segments[k][i % SEGMENTS] = sum;
      }
      barrier(CLK_LOCAL_MEM_FENCE);

      // The prefix sums.
#pragma unroll
      for (uint k = 0; k < STEP; ++k) {
        cells sum = totals[k][item];
        for (uint n = 0; n < item / SEGMENT; ++n) sum += segments[k][n];
        ended[k] += OF_ALL_CELLS(sum);
#if COLS == 3
        prefix[k][item * COLS] = ended[k].s0, prefix[k][item * COLS + 1] = ended[k].s1, prefix[k][item * COLS + 2] = ended[k].s2;
#else
        *(local columns*)(prefix[k] + item * COLS) = ended[k];
#endif
      }
      barrier(CLK_LOCAL_MEM_FENCE);

      // Neighbouring work-items write neighbouring results.
#pragma unroll
      for (uint k = 0; k < STEP; ++k) {
        const uint read = s * STEP + k;
        if (read >= column_taps - 1 && read < reads) {
          local const SUM* sums = prefix[k];
          global RESULT* line = to + (top + (read - (column_taps - 1))) * out_pitch;
          for (uint x = item; x < RESULTS; x += GROUP) {
            const ulong col = strip * RESULTS + x;
            if (col >= first_col && col < end_col) {
              const uint first = x + left - before;  // of the box
              store_mean(line, col, sums[first + box - CHANNELS] - sums[first - CHANNELS], area, inverse);
            }
          }
        }
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);  // the next strip's first step uses memory that may still be read
  }
}
