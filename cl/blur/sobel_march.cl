// The magnitude of the gradient by Sobel's weights (blur/slopes.clh), down bands of rows: each row of a window is multiplied by its weights
// once, for all windows that have it.
//
// A work-item computes COLS neighbours of a row, of one channel, in a band of rows, from the top down. The weighted sums of the last SIZE
// rows, across and along, stay in registers. Elements are loaded from global memory, those of a row while the row before is computed: the
// cache serves all but the first load of one. There is no barrier.
//
// Launch: three dimensions of work-items: COLS cells of a channel of a row, bands of `band` rows, planes; grid-stride loops over all three.
#include "separable/arguments.clh"

#ifndef SIZE
#define SIZE 3  // 3 or 5
#endif
#ifndef COLS
#define COLS 4  // 4
#endif
#ifndef VECTOR_OUT
#define VECTOR_OUT 0  // 1: rows of results begin at multiples of COLS of them
#endif
#include "common/group_by_dimension.clh"
#define SLOPES VALUE
#include "blur/slopes.clh"
#define RADIUS (SIZE / 2)
#define WIDE (COLS + 2 * RADIUS)  // elements of a row of a work-item's windows

#include "blur/strip.clh"

// Adds up the elements of a row by the weights of both directions.
INLINED void weigh_row(VALUE slopes[COLS], VALUE smooths[COLS], const VALUE e[WIDE]) {
#pragma unroll
  for (uint l = 0; l < COLS; ++l) {
    slopes[l] = smooths[l] = 0;
#pragma unroll
    for (int i = 0; i < SIZE; ++i) {
      // A product by 0 is not always 0, unless the elements are integers.
      if ((slope(i) != 0) | !INTEGER_ELEMENT) slopes[l] += (VALUE)slope(i) * e[l + i];
      smooths[l] += (VALUE)smooth(i) * e[l + i];
    }
  }
}

INLINED void store_results(global RESULT* to, const VALUE made[COLS], ulong col, ulong first_col, ulong end_col) {
#if VECTOR_OUT && CHANNELS == 1
  if (col >= first_col && col + COLS <= end_col) {
#if RESULT_HALF
    store_halves4((float4)(made[0], made[1], made[2], made[3]), to + col);
#elif RESULT_INTEGER
    *(global JOIN(RESULT, COLS)*)(to + col) = (JOIN(RESULT, COLS))((RESULT)round_pixel(made[0]), (RESULT)round_pixel(made[1]),
                                                                     (RESULT)round_pixel(made[2]), (RESULT)round_pixel(made[3]));
#else
    *(global JOIN(RESULT, COLS)*)(to + col) =
        (JOIN(RESULT, COLS))((RESULT)made[0], (RESULT)made[1], (RESULT)made[2], (RESULT)made[3]);
#endif
    return;
  }
#endif
#pragma unroll
  for (uint l = 0; l < COLS; ++l)
    if (col + l * CHANNELS >= first_col && col + l * CHANNELS < end_col) store_pixel(to, col + l * CHANNELS, made[l]);
}

kernel __attribute__((reqd_work_group_size(GROUP_0, GROUP_1, GROUP_2)))
void sobel_march(SEPARABLE_ARGUMENTS) {
  (void)row_taps, (void)column_taps, (void)row_origin, (void)column_origin, (void)streaming, (void)scratch;
  const VALUE beyond = value_beyond(weights);
  strip s;
  s.pitch = in_pitch, s.rows = (int)rows, s.cells = (int)(width / CHANNELS);
  const uint pieces = (uint)(s.cells + COLS - 1) / COLS * CHANNELS;  // of a row
  for (ulong p = get_global_id(2); p < planes; p += get_global_size(2)) {
    for (ulong top = first_row + get_global_id(1) * band; top < end_row; top += get_global_size(1) * band) {
      const int count = (int)min(end_row - top, (ulong)band) + 2 * RADIUS, first = (int)top - RADIUS;
      for (uint piece = (uint)get_global_id(0); piece < pieces; piece += (uint)get_global_size(0)) {
        s.from = in + plane_offset(p, depth, in_offset, in_stride, in_plane) + piece % CHANNELS;
        s.cell = (int)(piece / CHANNELS * COLS);
        s.inside = s.cell >= RADIUS && s.cell + COLS + RADIUS <= s.cells;
        const ulong col = (ulong)s.cell * CHANNELS + piece % CHANNELS;
        global RESULT* to = out + plane_offset(p, depth, out_offset, out_stride, out_plane) + top * out_pitch;
        VALUE slopes[SIZE][COLS], smooths[SIZE][COLS];
        loaded next[WIDE];
        int is_loaded = load_row(next, &s, first);
#pragma unroll 1
        for (int n = 0; n < count; n += SIZE) {
#pragma unroll
          for (int t = 0; t < SIZE; ++t) {
            VALUE e[WIDE];
            if (is_loaded) {
#pragma unroll
              for (uint k = 0; k < WIDE; ++k) e[k] = (VALUE)next[k];
            } else {
              gather_row(e, &s, first + n + t, beyond);
            }
            is_loaded = load_row(next, &s, first + n + t + 1);
            weigh_row(slopes[t], smooths[t], e);
            if (n + t >= 2 * RADIUS && n + t < count) {
              VALUE made[COLS];
#pragma unroll
              for (uint l = 0; l < COLS; ++l) {
                VALUE across = 0, down = 0;
#pragma unroll
                for (int j = 0; j < SIZE; ++j) {
                  across += (VALUE)smooth(j) * slopes[(t + 1 + j) % SIZE][l];
                  if ((slope(j) != 0) | !INTEGER_ELEMENT) down += (VALUE)slope(j) * smooths[(t + 1 + j) % SIZE][l];
                }
                made[l] = magnitude_of(across, down);
              }
              store_results(to, made, col, first_col, end_col);
              to += out_pitch;
            }
          }
        }
      }
    }
  }
}
