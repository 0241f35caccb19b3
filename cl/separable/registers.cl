// Separable filter in registers: sums along rows first, then down the columns, without local memory and barriers.
//
// A work-item owns COLS neighbouring columns and goes down a band of rows. Of each row it loads its own elements and those that its windows
// reach to both sides, by vectors of 4: the first-level cache serves all but the first load of one. The sums along the row are added to
// the COLUMN_TAPS - 1 partial results, of which one is complete. STEP rows are prefetched in the format of memory.
//
// Rows and columns at the edges go through local memory of the work-item's own, since loops over registers would be written out.
//
// Work-item i computes strip i % across of band i / across % bands of plane i / across / bands. Rows begin at multiples of 4 elements. Launch:
// one dimension, GROUP work-items a group. Local memory: the elements of a row of each work-item.
#include "separable/arguments.clh"

#ifndef GROUP
#define GROUP 128
#endif
#ifndef COLS
#define COLS 4  // items per work-item: columns, 4 or 8
#endif
#ifndef STEP
#define STEP 2  // rows
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
#ifndef VECTOR_OUT
#define VECTOR_OUT 1
#endif
#ifndef WORD_ELEMENTS
#define WORD_ELEMENTS 1  // elements in a word of 32 bits: 4 of 8 bits, 2 of 16, 1 of 32
#endif
#ifndef BITS_TO_FLOAT
#define BITS_TO_FLOAT 0  // 1: integers become floats by their bits, where a conversion takes longer
#endif
#include "separable/results.clh"
#define LEFT (ROW_ORIGIN * CHANNELS)  // elements of a window before its result
#define VECTORS_LEFT ((LEFT + 3) / 4)
#define SHIFT (VECTORS_LEFT * 4 - LEFT)  // from the first element that is loaded to the first window
#define VECTORS ((SHIFT + COLS + (ROW_TAPS - 1) * CHANNELS + 3) / 4)
#define WIDE (VECTORS * 4)         // elements that are loaded of a row
#define WORDS (4 / WORD_ELEMENTS)  // of a vector
#define BEGUN (COLUMN_TAPS > 1 ? COLUMN_TAPS - 1 : 1)

typedef struct {
  uint each[VECTORS * WORDS];
} loaded;

// Loads the elements of a row, which all lie in it. `from`: the first one.
static inline void load_words(loaded* w, global const ELEMENT* from) {
#pragma unroll
  for (uint n = 0; n < VECTORS; ++n) {
#if WORDS == 1
    w->each[n] = ((global const uint*)from)[n];
#elif WORDS == 2
    const uint2 v = ((global const uint2*)from)[n];
    w->each[2 * n] = v.s0, w->each[2 * n + 1] = v.s1;
#else
    const uint4 v = ((global const uint4*)from)[n];
    w->each[4 * n] = v.s0, w->each[4 * n + 1] = v.s1, w->each[4 * n + 2] = v.s2, w->each[4 * n + 3] = v.s3;
#endif
  }
}

// Element e of those that are loaded.
static inline VALUE number_in(const loaded* w, uint e) {
#if WORD_ELEMENTS == 1
  return as_float(w->each[e]);
#else
  const uint whole = w->each[e / WORD_ELEMENTS] >> 32 / WORD_ELEMENTS * (e % WORD_ELEMENTS) & (0xffffffffu >> (32 - 32 / WORD_ELEMENTS));
#if ELEMENT_HALF
  const ushort stored = (ushort)whole;
  return vload_half(0, (const half*)&stored);
#elif BITS_TO_FLOAT  // the number in the last places of 2^23
  return as_float(0x4b000000u | whole) - 0x1p23f;
#else
  return (VALUE)whole;
#endif
#endif
}

// Loads the elements of a row from column `first` on by the boundary condition. `row`: where the row lies in the plane, which begins at
// `plane`.
static inline void load_edge(VALUE x[WIDE], local VALUE* own, global const ELEMENT* plane, ulong pitch, int row, int rows, long first,
                             long width, VALUE beyond) {
  const int place = place_in_few(row, rows);
  global const ELEMENT* from = plane + (ulong)max(place, 0) * pitch;
#pragma unroll 1
  for (uint e = 0; e < WIDE; ++e) {
    // What lies farther away than windows reach is for no result.
    const long column = first + (long)e;
    const long at = place < 0 || column >= width + (ROW_TAPS - 1) * CHANNELS ? -1 : element_within(column, width);
    own[e * GROUP] = at < 0 ? beyond : (VALUE)load_value(from, (ulong)at);
  }
#pragma unroll
  for (uint e = 0; e < WIDE; ++e) x[e] = own[e * GROUP];
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void separable_registers(SEPARABLE_ARGUMENTS, few_weights few) {
  (void)row_taps, (void)column_taps, (void)row_origin, (void)weights, (void)streaming, (void)scratch;
  local VALUE edge[WIDE * GROUP];
  local VALUE* const own = edge + get_local_id(0);
  const ulong across = (end_col + COLS - 1) / COLS, bands = (end_row - first_row + band - 1) / band;
  for (ulong i = get_global_id(0); i < across * bands * planes; i += get_global_size(0)) {
    const ulong line = i / across, p = line / bands;
    const long result = (long)((i - line * across) * COLS), first = result - 4 * VECTORS_LEFT;  // columns
    const ulong top = first_row + (line - p * bands) * band;
    const int height = (int)min((ulong)band, end_row - top);
    const int steps = (height + COLUMN_TAPS - 1 + STEP - 1) / STEP;
    const int first_read = (int)top - (int)column_origin;  // row
    global const ELEMENT* plane = in + plane_offset(p, depth, in_offset, in_stride, in_plane);
    global const ELEMENT* coming = plane + ((long)first_read * (long)in_pitch + first);
    global RESULT* to = out + plane_offset(p, depth, out_offset, out_stride, out_plane) +
                        ((top - (COLUMN_TAPS - 1)) * out_pitch + (ulong)result);  // of the first row that is read

    uint written = 0;
#pragma unroll
    for (uint c = 0; c < COLS; ++c)
      if ((ulong)result + c >= first_col && (ulong)result + c < end_col) written |= 1u << c;
    // Steps whose rows all lie in the plane, and whose elements lie in the rows.
    const int plain_begin = max(STEP - 1 - first_read, 0) / STEP;
    const int plain_end = first < 0 || first + WIDE > (long)width ? 0 : min(((int)rows - first_read) / STEP, steps);

    VALUE begun[BEGUN][COLS];
#pragma unroll
    for (uint j = 0; j < BEGUN; ++j)
#pragma unroll
      for (uint c = 0; c < COLS; ++c) begun[j][c] = 0;
    loaded ahead[STEP];
#pragma unroll
    for (uint k = 0; k < STEP; ++k)
#pragma unroll
      for (uint n = 0; n < VECTORS * WORDS; ++n) ahead[k].each[n] = 0;
    if (0 >= plain_begin && 0 < plain_end) {
#pragma unroll
      for (uint k = 0; k < STEP; ++k) load_words(&ahead[k], coming + k * in_pitch);
    }
    for (int s = 0; s < steps; ++s) {
      const int is_plain = s >= plain_begin && s < plain_end;
      loaded now[STEP];
#pragma unroll
      for (uint k = 0; k < STEP; ++k) now[k] = ahead[k];
      coming += STEP * in_pitch;
      if (s + 1 >= plain_begin && s + 1 < plain_end) {
#pragma unroll
        for (uint k = 0; k < STEP; ++k) load_words(&ahead[k], coming + k * in_pitch);
      }
#pragma unroll
      for (uint k = 0; k < STEP; ++k) {
        VALUE x[WIDE], sum[COLS], done[COLS];
        if (is_plain) {
#pragma unroll
          for (uint e = 0; e < WIDE; ++e) x[e] = number_in(&now[k], e);
        } else {
load_edge(x, own, plane, in_pitch, first_read + s * STEP + (int)k, (int)rows, first, (long)width, few.each[0]);
        }
#pragma unroll
        for (uint c = 0; c < COLS; ++c) sum[c] = row_weight(&few, 0) * x[SHIFT + c];
#pragma unroll
        for (uint t = 1; t < ROW_TAPS; ++t)
#pragma unroll
          for (uint c = 0; c < COLS; ++c) sum[c] = fma(row_weight(&few, t), x[SHIFT + t * CHANNELS + c], sum[c]);
        // The oldest result is complete; the others move on by one.
#pragma unroll
        for (uint c = 0; c < COLS; ++c) {
          done[c] = fma(column_weight(&few, COLUMN_TAPS - 1), sum[c], COLUMN_TAPS > 1 ? begun[0][c] : 0);
#pragma unroll
          for (uint j = 0; j + 2 < COLUMN_TAPS; ++j) begun[j][c] = fma(column_weight(&few, COLUMN_TAPS - 2 - j), sum[c], begun[j + 1][c]);
          if (COLUMN_TAPS > 1) begun[BEGUN - 1][c] = column_weight(&few, 0) * sum[c];
#if MEAN
          done[c] = mean_of_window(done[c], ROW_TAPS * COLUMN_TAPS);
#endif
        }
        const int y = s * STEP + (int)k - (COLUMN_TAPS - 1);
        if (y >= 0 && y < height) {
          if (written == (1u << COLS) - 1) {
            store_results(to, done);
          } else {
#pragma unroll
            for (uint c = 0; c < COLS; ++c)
              if (written >> c & 1) store_one(to + c, done[c]);
          }
        }
        to += out_pitch;
      }
    }
  }
}
