// The second launch of a box blur in two passes: means down the columns of the sums along rows that the first one left in the scratch.
//
// A group goes down a strip of STRIP columns, CHUNKS * ROWS rows at a time. A work-item has ROWS neighbouring rows of COLS columns: it loads the
// rows that enter their boxes and those that leave them, adds what they change, and then what work-items above it in the strip have changed to
// the box that the step began with. Sums of floats are compensated. The rows that leave are read a second time, from the cache if all groups
// that run go down together.
//
// Where results are not finite, which numbers that are no longer in the box may have caused, they are computed again.
//
// Launch: one dimension, GROUP work-items a group; group g computes bands of `band` rows of a strip: g, g + groups, ... Local memory: two sums,
// of integers one, for each work-item's columns.
#include "common/work_group.clh"
#include "blur/box.clh"
#include "blur/sums.clh"

#ifndef GROUP
#define GROUP 256
#endif
#ifndef COLS
#define COLS 1  // columns of a work-item
#endif
#ifndef ROWS
#define ROWS 8  // of a work-item at a time
#endif
#ifndef LANES
#define LANES 32  // work-items side by side; GROUP is a multiple
#endif
#define STRIP (LANES * COLS)
#define CHUNKS (GROUP / LANES)
#define STEP (CHUNKS * ROWS)

typedef struct {
  SUM each[COLS];
} own_sums;

// The sums along rows that a strip reads: of this work-item's columns.
typedef struct {
  global const SUM* from;  // row 0 of the plane
  ulong pitch;
  long rows;
  SUM beyond;  // the sum of a row beyond the edges
} column_sums;

// Row r of the plane, or what the boundary condition puts there.
static inline own_sums sums_of_row(column_sums x, long r) {
  const long place = place_within(r, x.rows);
  global const SUM* from = x.from + (ulong)max(place, 0L) * x.pitch;
  own_sums v;
#pragma unroll
  for (uint c = 0; c < COLS; ++c) v.each[c] = BOUNDARY < 2 && place < 0 ? x.beyond : from[c];
  return v;
}

// ROWS rows from row r on.
static inline void load_sums(own_sums v[ROWS], column_sums x, long r) {
  if (r >= 0 && r + ROWS <= x.rows) {
    global const SUM* from = x.from + (ulong)r * x.pitch;
#pragma unroll
    for (uint k = 0; k < ROWS; ++k)
#pragma unroll
      for (uint c = 0; c < COLS; ++c) v[k].each[c] = from[k * x.pitch + c];
  } else {
#pragma unroll
    for (uint k = 0; k < ROWS; ++k) v[k] = sums_of_row(x, r + (long)k);
  }
}

#if !SUM_INTEGER
// A running sum of numbers of which some are not finite: these are counted.
typedef struct {
  SUM high, low;
  uint positive, negative;  // infinities; a NaN is both
} counted_sum;

static inline void count(counted_sum* sum, SUM v, int leaves) {
  if (is_spoiled(v)) {
    const uint by = leaves ? 0u - 1 : 1;
    if (!(v < 0)) sum->positive += by;
    if (!(v > 0)) sum->negative += by;
  } else {
    add_sum(&sum->high, &sum->low, leaves ? -v : v);
  }
}

static inline SUM counted_total(counted_sum sum) {
  if (sum.positive || sum.negative) return !sum.negative ? INFINITY : !sum.positive ? -INFINITY : NAN;
  return total_of(sum.high, sum.low);
}

// The sum of `taps` rows from row r on, of column c.
static inline counted_sum count_box(column_sums x, long r, uint taps, uint c) {
  counted_sum sum = {0, 0, 0, 0};
#pragma unroll 1
  for (uint n = 0; n < taps; ++n) count(&sum, sums_of_row(x, r + (long)n).each[c], 0);
  return sum;
}

// Writes `written` results of column c, of boxes that begin with row r and those after it.
static inline void make_results(global RESULT* to, ulong out_pitch, column_sums x, long r, uint written, uint taps, uint c, VALUE inverse) {
  counted_sum sum = count_box(x, r, taps - 1, c);
#pragma unroll 1
  for (uint k = 0; k < written; ++k) {
    count(&sum, sums_of_row(x, r + (long)(k + taps - 1)).each[c], 0);
    if (is_spoiled(sum.high)) sum = count_box(x, r + (long)k, taps, c);  // the sum of finite numbers overflows, or has done so
    store_pixel(to, k * out_pitch + c, (VALUE)counted_total(sum) * inverse);
    count(&sum, sums_of_row(x, r + (long)k).each[c], 1);
  }
}
#endif

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void box_columns(SEPARABLE_ARGUMENTS) {
  (void)in, (void)in_offset, (void)in_pitch, (void)in_plane, (void)in_stride, (void)row_origin, (void)streaming;
  local SUM highs[CHUNKS][STRIP];
#if SUM_INTEGER
  local SUM(*const lows)[STRIP] = highs;
#else
  local SUM lows[CHUNKS][STRIP];
#endif
  const uint item = get_local_id(0), own = item % LANES * COLS, chunk = item / LANES;
  const uint area = row_taps * column_taps;
  const VALUE inverse = (VALUE)1 / (VALUE)area;
  const word_divisor divisor = divisor_of_area(area);
  const ulong across = (end_col + STRIP - 1) / STRIP, down = (end_row - first_row + band - 1) / band;
  column_sums x = {0, sums_pitch(width), (long)rows, (SUM)value_beyond(weights) * (SUM)row_taps};
  for (ulong t = get_group_id(0); t < across * down * planes; t += get_num_groups(0)) {
    const ulong p = t / (across * down), strip = (t - p * (across * down)) % across;
    const ulong top = first_row + (t - p * (across * down)) / across * band, col = strip * STRIP + own;
    const uint height = (uint)min((ulong)band, end_row - top);
    const long first = (long)top - (long)column_origin;  // the first box's first row
    x.from = (global const SUM*)scratch + p * rows * x.pitch + min(col, (end_col - 1) / COLS * COLS);
    global RESULT* to = out + plane_offset(p, depth, out_offset, out_stride, out_plane) + (top + chunk * ROWS) * out_pitch + col;
    uint columns = 0;  // one bit for each column that is written
#pragma unroll
    for (uint c = 0; c < COLS; ++c) columns |= col + c >= first_col && col + c < end_col ? 1u << c : 0;

    // The first box without its last row, then boxes that a step begins with.
    SUM high[COLS], low[COLS];
#pragma unroll
    for (uint c = 0; c < COLS; ++c) high[c] = low[c] = 0;
#pragma unroll 8
    for (uint r = chunk; r + 1 < column_taps; r += CHUNKS) {
      const own_sums v = sums_of_row(x, first + (long)r);
#pragma unroll
      for (uint c = 0; c < COLS; ++c) add_sum(&high[c], &low[c], v.each[c]);
    }
    own_sums enter[ROWS], leave[ROWS];
    const long entering = first + (long)column_taps - 1;
    load_sums(enter, x, entering + (long)(chunk * ROWS));
    load_sums(leave, x, first + (long)(chunk * ROWS));
#pragma unroll
    for (uint c = 0; c < COLS; ++c) {
      highs[chunk][own + c] = high[c];
      if (!SUM_INTEGER) lows[chunk][own + c] = low[c];
      high[c] = low[c] = 0;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
    for (uint c = 0; c < COLS; ++c)
#pragma unroll
      for (uint n = 0; n < CHUNKS; ++n) {
        add_sum(&high[c], &low[c], highs[n][own + c]);
        if (!SUM_INTEGER) low[c] += lows[n][own + c];
      }
    barrier(CLK_LOCAL_MEM_FENCE);

    for (uint y = 0; y < height; y += STEP) {
#pragma unroll
      for (uint c = 0; c < COLS; ++c) {
        SUM change = 0, rest = 0;
#pragma unroll
        for (uint k = 0; k < ROWS; ++k) {
          add_sum(&change, &rest, enter[k].each[c]);
          add_sum(&change, &rest, -leave[k].each[c]);
        }
        highs[chunk][own + c] = change;
        if (!SUM_INTEGER) lows[chunk][own + c] = rest;
      }
      barrier(CLK_LOCAL_MEM_FENCE);
      SUM check = 0;  // NaN if a result is not finite
      const uint row = y + chunk * ROWS, written = row < height ? min(height - row, (uint)ROWS) : 0;
#pragma unroll
      for (uint c = 0; c < COLS; ++c) {
        SUM box = 0, box_low = 0;
#pragma unroll
        for (uint n = 0; n < CHUNKS; ++n) {
          if (n == chunk) box = high[c], box_low = low[c];
          add_sum(&high[c], &low[c], highs[n][own + c]);
          if (!SUM_INTEGER) low[c] += lows[n][own + c];
        }
#pragma unroll
        for (uint k = 0; k < ROWS; ++k) {
          add_sum(&box, &box_low, enter[k].each[c]);
          const SUM sum = box + box_low;
#if !SUM_INTEGER
          check += sum - sum;
#endif
          if (k < written && columns >> c & 1) store_mean_by(to + k * out_pitch, c, sum, divisor, inverse);
          add_sum(&box, &box_low, -leave[k].each[c]);
        }
      }
      if (y + STEP < height) {
        load_sums(enter, x, entering + (long)(row + STEP));
        load_sums(leave, x, first + (long)(row + STEP));
      }
#if !SUM_INTEGER
      if (is_spoiled(check) && written != 0) {
#pragma unroll 1
        for (uint c = 0; c < COLS; ++c)
          if (columns >> c & 1) make_results(to, out_pitch, x, first + (long)row, written, column_taps, c, inverse);
      }
      // The box that the next step begins with.
#pragma unroll
      for (uint c = 0; c < COLS; ++c) {
        if (columns >> c & 1 && y + STEP < height && (is_spoiled(high[c]) || is_spoiled(low[c]))) {
          const counted_sum sum = count_box(x, first + (long)(y + STEP), column_taps - 1, c);
          high[c] = counted_total(sum), low[c] = 0;
        }
      }
#endif
      to += STEP * out_pitch;
      barrier(CLK_LOCAL_MEM_FENCE);  // the next step's sums take their place
    }
  }
}
