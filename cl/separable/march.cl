// Separable filter that marches down: each element is read once a strip, and local memory is touched little.
//
// A work-item owns COLS neighbouring columns. It reads their rows from top to bottom, STEP at a time and the next STEP ahead
// of time, and keeps the COLUMN_TAPS - 1 sums down its columns that have begun but not ended in registers: a row adds to each
// of them and ends one. The ended sums of STEP rows go to a tile in local memory, from which each work-item sums along rows
// for COLS neighbouring results at once; two tiles take turns, so that a step has one barrier. At its ends a strip has
// columns that only its neighbours' windows need: LEFT of them before its first result.
//
// Launch: one dimension, GROUP work-items a group; group g takes strips of `band` rows: g, g + groups, ...
// Local memory: two tiles of STEP rows of GROUP * COLS values.
#include "separable/arguments.clh"

#ifndef GROUP
#define GROUP 128
#endif
#ifndef STEP
#define STEP 4  // rows
#endif
#ifndef COLUMN_TAPS
#define COLUMN_TAPS 5
#endif
#ifndef ROW_TAPS
#define ROW_TAPS 5
#endif
#ifndef ROW_ORIGIN
#define ROW_ORIGIN 2
#endif
#ifndef VECTOR_IN
#define VECTOR_IN 1  // 1: rows begin at multiples of COLS elements
#endif
#ifndef VECTOR_OUT
#define VECTOR_OUT 1
#endif
#define COLS 4
#define LEFT ((ROW_ORIGIN * CHANNELS + COLS - 1) / COLS * COLS)
#define RIGHT (((ROW_TAPS - 1 - ROW_ORIGIN) * CHANNELS + COLS - 1) / COLS * COLS)
#define RESULTS (GROUP * COLS - LEFT - RIGHT)                         // of a row of a strip
#define SHIFT (LEFT - ROW_ORIGIN * CHANNELS)                          // from a vector of the tile to a window's first element
#define VECTORS ((SHIFT + COLS + (ROW_TAPS - 1) * CHANNELS + COLS - 1) / COLS)  // that the windows of a work-item touch

typedef JOIN(VALUE, 4) columns;

// COLS neighbours of a row, all of which are there.
static inline columns load_columns(global const ELEMENT* p) {
#if VECTOR_IN && ELEMENT_HALF
  return vloada_half4(0, p);
#elif VECTOR_IN
  return JOIN(convert_, JOIN(VALUE, 4))(*(global const JOIN(ELEMENT, 4)*)p);
#else
  return (columns)(load_value(p, 0), load_value(p, 1), load_value(p, 2), load_value(p, 3));
#endif
}

static inline void store_columns(global RESULT* p, columns v) {
#if VECTOR_OUT && RESULT_INTEGER
  *(global JOIN(RESULT, 4)*)p =
      (JOIN(RESULT, 4))((RESULT)round_pixel(v.s0), (RESULT)round_pixel(v.s1), (RESULT)round_pixel(v.s2), (RESULT)round_pixel(v.s3));
#elif VECTOR_OUT && RESULT_HALF
  vstorea_half4_rte(v, 0, p);
#elif VECTOR_OUT
  *(global JOIN(RESULT, 4)*)p = JOIN(convert_, JOIN(RESULT, 4))(v);
#else
  store_pixel(p, 0, v.s0), store_pixel(p, 1, v.s1), store_pixel(p, 2, v.s2), store_pixel(p, 3, v.s3);
#endif
}

// The columns of a work-item: all inside the rows, or their places one by one.
typedef struct {
  long first;
  long place[COLS];  // -1: the value beyond the edges
  uint inside;       // 0: none is needed, 1: some are outside, 2: all are inside
} own_columns;

static inline columns read_row(global const ELEMENT* from, ulong in_pitch, long row, long rows, own_columns own, VALUE beyond) {
  const long source = place_within(row, rows);
  if (source < 0 || own.inside == 0) return (columns)beyond;
  global const ELEMENT* line = from + (ulong)source * in_pitch;
  if (own.inside == 2) return load_columns(line + own.first);
  VALUE v[COLS];
#pragma unroll
  for (uint k = 0; k < COLS; ++k) v[k] = own.place[k] < 0 ? beyond : load_value(line, (ulong)own.place[k]);
  return (columns)(v[0], v[1], v[2], v[3]);
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void separable_march(SEPARABLE_ARGUMENTS) {
  (void)column_taps, (void)row_origin, (void)streaming, (void)scratch;
  local columns tile[2][STEP][GROUP];
  const uint item = get_local_id(0);
  const ulong across = (end_col + RESULTS - 1) / RESULTS, down = (end_row - first_row + band - 1) / band;
  for (ulong t = get_group_id(0); t < across * down * planes; t += get_num_groups(0)) {
    const ulong p = t / (across * down), strip = (t - p * (across * down)) % across;
    const ulong top = first_row + (t - p * (across * down)) / across * band;
    const uint height = (uint)min((ulong)band, end_row - top);
    global const ELEMENT* from = in + PLANE_OFFSET(p, in);
    global RESULT* to = out + PLANE_OFFSET(p, out);

    own_columns own;
    own.first = (long)(strip * RESULTS) - LEFT + item * COLS;
    own.inside = own.first >= 0 && own.first + COLS <= (long)width ? 2 : own.first < (long)width + RIGHT ? 1 : 0;
#pragma unroll
    for (uint k = 0; k < COLS; ++k) own.place[k] = element_within(own.first + k, (long)width);
    const long result = (long)(strip * RESULTS) + item * COLS;  // the first of this work-item's
    const uint has_results = item * COLS < RESULTS && result < (long)end_col && result + COLS > (long)first_col;
    const uint all_results = result >= (long)first_col && result + COLS <= (long)end_col;

#if COLUMN_TAPS > 1
    columns begun[COLUMN_TAPS - 1];
#pragma unroll
    for (uint j = 0; j < COLUMN_TAPS - 1; ++j) begun[j] = 0;
#endif
    const uint reads = height + COLUMN_TAPS - 1, steps = (reads + STEP - 1) / STEP;
    const long first_read = (long)top - (long)column_origin;
    // Whether all that the group reads is there: then each address follows from the one before.
    const bool all_inside = strip * RESULTS >= LEFT && strip * RESULTS - LEFT + GROUP * COLS <= width && first_read >= 0 &&
                            (ulong)first_read + steps * STEP <= rows;
    global const ELEMENT* coming = from + (all_inside ? (ulong)(first_read + STEP) * in_pitch + (ulong)own.first : 0);
    columns next[STEP];
#pragma unroll
    for (uint k = 0; k < STEP; ++k) next[k] = read_row(from, in_pitch, first_read + k, (long)rows, own, BEYOND);

    for (uint s = 0; s < steps; ++s) {
      const uint turn = s & 1;
      columns now[STEP];
#pragma unroll
      for (uint k = 0; k < STEP; ++k) now[k] = next[k];
      if (s + 1 < steps && all_inside) {
#pragma unroll
        for (uint k = 0; k < STEP; ++k) {
          next[k] = load_columns(coming);
          coming += in_pitch;
        }
      } else if (s + 1 < steps) {
#pragma unroll
        for (uint k = 0; k < STEP; ++k)
          next[k] = read_row(from, in_pitch, first_read + min((s + 1) * STEP + k, reads - 1), (long)rows, own, BEYOND);
      }

      // Down the columns.
#pragma unroll
      for (uint k = 0; k < STEP; ++k) {
#if COLUMN_TAPS > 1
        tile[turn][k][item] = begun[0] + COLUMN_WEIGHTS[COLUMN_TAPS - 1] * now[k];
#pragma unroll
        for (uint j = 0; j < COLUMN_TAPS - 2; ++j) begun[j] = begun[j + 1] + COLUMN_WEIGHTS[COLUMN_TAPS - 2 - j] * now[k];
        begun[COLUMN_TAPS - 2] = COLUMN_WEIGHTS[0] * now[k];
#else
        tile[turn][k][item] = COLUMN_WEIGHTS[0] * now[k];
#endif
      }
      barrier(CLK_LOCAL_MEM_FENCE);

      // Along the rows.
      if (has_results) {
#pragma unroll
        for (uint k = 0; k < STEP; ++k) {
          const uint read = s * STEP + k;
          if (read >= COLUMN_TAPS - 1 && read < reads) {
            VALUE window[VECTORS * COLS];
#pragma unroll
            for (uint n = 0; n < VECTORS; ++n) {
              const columns v = tile[turn][k][min(item + n, (uint)GROUP - 1)];
              window[n * COLS] = v.s0, window[n * COLS + 1] = v.s1, window[n * COLS + 2] = v.s2, window[n * COLS + 3] = v.s3;
            }
            VALUE sum[COLS] = {0, 0, 0, 0};
#pragma unroll
            for (uint i = 0; i < ROW_TAPS; ++i)
#pragma unroll
              for (uint c = 0; c < COLS; ++c) sum[c] += ROW_WEIGHTS[i] * window[SHIFT + i * CHANNELS + c];

            const ulong row = top + (read - (COLUMN_TAPS - 1));
            global RESULT* line = to + row * out_pitch;
            global const ELEMENT* own_line = from + row * in_pitch;
            if (all_results) {
#if UNSHARP
#pragma unroll
              for (uint c = 0; c < COLS; ++c) sum[c] = finish_sum(sum[c], own_line, (ulong)result + c, weights);
#endif
              store_columns(line + result, (columns)(sum[0], sum[1], sum[2], sum[3]));
            } else {
#pragma unroll
              for (uint c = 0; c < COLS; ++c) {
                const long col = result + c;
                if (col >= (long)first_col && col < (long)end_col)
                  store_pixel(line, (ulong)col, finish_sum(sum[c], own_line, (ulong)col, weights));
              }
            }
          }
        }
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);  // the next strip's first step uses a tile that may still be read
  }
}
