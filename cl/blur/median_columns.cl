// Median of 5 x 5 elements: of neighbouring windows, what they share is sorted once. After: G. Perrot et al., "Fine-tuned high-speed
// implementation of a GPU-based median filter", Journal of Signal Processing Systems 75, 2014, and A. Adams, "Fast median filters using
// separable sorting networks", ACM Transactions on Graphics 40, 2021.
//
// A work-item computes COLS neighbours of a row, of one channel. It sorts their COLS + 4 columns of 5 elements, and merges columns by
// pairs. Two neighbouring windows have four columns in common, two such pairs; of their 20 elements only numbers 8 to 13 can be the median
// of the 25, since one column is missing. Of these 6 and the 5 of the window's own column, both sorted, the median is the sixth.
//
// Elements are loaded from global memory: the cache serves all but the first load of one. There is no barrier.
//
// With PAIRS a word has the elements of two rows, of 16 bits each: one instruction compares two pairs. A work-item then computes two rows.
// With SHARES it computes two rows as well, one after the other: of each column it sorts the four elements that both have once, and inserts
// the fifth.
//
// Launch: three dimensions of work-items: COLS cells of a channel of a row, ROWS rows, planes; grid-stride loops over all three. Local memory:
// the elements of each work-item's windows, at the edges.
#include "separable/arguments.clh"

#ifndef COLS
#define COLS 4  // items per work-item: 2, 4 or 8
#endif
#include "common/group_by_dimension.clh"
#ifndef ALIGNED
#define ALIGNED 0  // 1: rows begin at multiples of COLS elements
#endif
#ifndef VECTOR_OUT
#define VECTOR_OUT 0  // 1: rows of results begin at multiples of COLS of them
#endif
#ifndef PAIRS
#define PAIRS 0  // 1: elements of 8 or 16 bits, two of them in a word
#endif
#ifndef SHARES
#define SHARES 0  // 1: two rows that share four sorted elements of each column; not with PAIRS
#endif
#define SIZE 5
#define RADIUS 2
#define ROWS (1 + (PAIRS || SHARES))  // of results of a work-item
#define WORD_ROWS (1 + PAIRS)         // in a word
#define LINES (SIZE + SHARES)         // elements of a column
#define WIDE (COLS + SIZE - 1)  // columns of a work-item
#define GROUP (GROUP_0 * GROUP_1 * GROUP_2)
#include "blur/median.clh"

#if SHARES
// Four sorted elements and one more, sorted.
static inline void insert_number(number to[SIZE], const number v[SIZE - 1], number one) {
#pragma unroll
  for (uint i = 0; i < SIZE - 1; ++i) {
    to[i] = LEAST(v[i], one);
    one = MOST(v[i], one);
  }
  to[SIZE - 1] = one;
}
#else
// 9 exchanges.
static inline void sort_column(number v[SIZE]) {
  sort_pair(v, v + 1); sort_pair(v + 3, v + 4); sort_pair(v + 2, v + 4); sort_pair(v + 2, v + 3); sort_pair(v + 1, v + 4);
  sort_pair(v, v + 3); sort_pair(v, v + 2); sort_pair(v + 1, v + 3); sort_pair(v + 1, v + 2);
}
#endif

// Merges two sorted columns by K. E. Batcher's odd-even merge: 13 exchanges.
static inline void merge_columns(number to[2 * SIZE], const number a[SIZE], const number b[SIZE]) {
  number v[2 * SIZE] = {a[0], a[1], a[2], a[3], a[4], b[0], b[1], b[2], b[3], b[4]};
  sort_pair(v, v + 5); sort_pair(v + 4, v + 9); sort_pair(v + 4, v + 5); sort_pair(v + 2, v + 7); sort_pair(v + 2, v + 4);
  sort_pair(v + 7, v + 5); sort_pair(v + 1, v + 6); sort_pair(v + 3, v + 8); sort_pair(v + 3, v + 6); sort_pair(v + 1, v + 2);
  sort_pair(v + 3, v + 4); sort_pair(v + 6, v + 7); sort_pair(v + 8, v + 5);
  to[0] = v[0], to[1] = v[1], to[2] = v[2], to[3] = v[3], to[4] = v[4];
  to[5] = v[6], to[6] = v[7], to[7] = v[8], to[8] = v[5], to[9] = v[9];
}

// Numbers 8 to 13 of the 20 of two sorted lists. The least 10 and the greatest 10 are one exchange for each place of lists in opposite
// order; both are bitonic, as what half of them leaves is, of which 7 exchanges sort three.
static inline void find_middle(number middle[6], const number a[2 * SIZE], const number b[2 * SIZE]) {
  number low[2 * SIZE], high[2 * SIZE], t[SIZE], u[SIZE];
#pragma unroll
  for (uint i = 0; i < 2 * SIZE; ++i) {
    low[i] = LEAST(a[i], b[2 * SIZE - 1 - i]);
    high[i] = MOST(a[i], b[2 * SIZE - 1 - i]);
  }
#pragma unroll
  for (uint i = 0; i < SIZE; ++i) {
    t[i] = MOST(low[i], low[i + SIZE]);
    u[i] = LEAST(high[i], high[i + SIZE]);
  }
  sort_pair(t, t + 1); sort_pair(t, t + 2); sort_pair(t, t + 3); sort_pair(t + 1, t + 3); sort_pair(t + 2, t + 4);
  sort_pair(t + 1, t + 2); sort_pair(t + 3, t + 4);
  sort_pair(u + 3, u + 4); sort_pair(u + 2, u + 4); sort_pair(u + 1, u + 4); sort_pair(u + 1, u + 3); sort_pair(u, u + 2);
  sort_pair(u + 2, u + 3); sort_pair(u, u + 1);
  middle[0] = t[2], middle[1] = t[3], middle[2] = t[4], middle[3] = u[0], middle[4] = u[1], middle[5] = u[2];
}

// Number 6 of a sorted list of 6 and a sorted column: for some i, the first i of the one and 6 - i of the other are the least six.
static inline number find_median(const number m[6], const number v[SIZE]) {
  number least = m[5];
#pragma unroll
  for (uint i = 0; i < SIZE; ++i) least = LEAST(least, MOST(m[i], v[SIZE - 1 - i]));
  return least;
}

// The medians of COLS neighbouring windows, of sorted columns.
static inline void find_medians(number made[COLS], number v[WIDE][SIZE]) {
  number before[2 * SIZE], pair[2 * SIZE], middle[6];
  merge_columns(before, v[1], v[2]);
#pragma unroll
  for (uint c = 0; c < COLS; c += 2) {
    merge_columns(pair, v[c + 3], v[c + 4]);
    find_middle(middle, before, pair);
    made[c] = find_median(middle, v[c]);
    made[c + 1] = find_median(middle, v[c + 5]);
#pragma unroll
    for (uint i = 0; i < 2 * SIZE; ++i) before[i] = pair[i];
  }
}

// Loads the elements of a work-item's windows, which all exist, column by column. `first`: the place of the first result in the first row.
static inline void load_inside(number v[WIDE][LINES], global const ELEMENT* first, ulong in_pitch) {
#if PAIRS
  loaded above[WIDE], line[WIDE];
  load_row(above, first);
#endif
#pragma unroll
  for (uint j = 0; j < LINES; ++j) {
#if PAIRS
    load_row(line, first + (j + 1) * in_pitch);
#pragma unroll
    for (uint c = 0; c < WIDE; ++c) {
      v[c][j] = above[c] | line[c] << 16;
      above[c] = line[c];
    }
#else
    loaded line[WIDE];
    load_row(line, first + j * in_pitch);
#pragma unroll
    for (uint c = 0; c < WIDE; ++c) v[c][j] = line[c];
#endif
  }
}

// Loads the elements of a work-item's windows, which may lie beyond the edges, column by column: LINES rows from `row` on. They go through
// local memory of the work-item's own, since loops over registers would be written out.
static inline void load_edge(number v[WIDE][LINES], local number* own, global const ELEMENT* from, ulong in_pitch, long row, long rows, long cell,
                             long cells, uint channel, loaded beyond) {
#pragma unroll 1
  for (uint n = 0; n < WIDE * LINES; ++n) {
    const uint c = n / LINES;
    // What lies farther away is for no result.
    const long place = cell + (long)c < cells + SIZE - 1 ? place_within(cell + (long)c - RADIUS, cells) : -1;
    number got = 0;
#pragma unroll 1
    for (uint r = 0; r < WORD_ROWS; ++r) {
      const long line = row + (long)(n - c * LINES + r), at = line < rows + RADIUS ? place_within(line, rows) : -1;
      loaded one = beyond;
      if (at >= 0 && place >= 0) one = number_of(from + (ulong)at * in_pitch, (ulong)place * CHANNELS + channel);
#if PAIRS
      got |= one << 16 * r;
#else
      got = one;
#endif
    }
    own[n * GROUP] = got;
  }
#pragma unroll
  for (uint c = 0; c < WIDE; ++c)
#pragma unroll
    for (uint j = 0; j < LINES; ++j) v[c][j] = own[(c * LINES + j) * GROUP];
}

kernel __attribute__((reqd_work_group_size(GROUP_0, GROUP_1, GROUP_2)))
void median_columns(SEPARABLE_ARGUMENTS) {
  (void)row_taps, (void)column_taps, (void)row_origin, (void)column_origin, (void)streaming, (void)scratch, (void)band;
  local number edge[LINES * WIDE * GROUP];
  const uint item = (get_local_id(2) * GROUP_1 + get_local_id(1)) * GROUP_0 + get_local_id(0);
  const loaded beyond = loaded_beyond(weights);
  const ulong cells = width / CHANNELS, pieces = (cells + COLS - 1) / COLS * CHANNELS;  // of a row
  for (ulong p = get_global_id(2); p < planes; p += get_global_size(2)) {
    global const ELEMENT* from = in + plane_offset(p, depth, in_offset, in_stride, in_plane);
    for (ulong row = first_row + ROWS * get_global_id(1); row < end_row; row += ROWS * get_global_size(1)) {
      global RESULT* to = out + plane_offset(p, depth, out_offset, out_stride, out_plane) + row * out_pitch;
      for (ulong piece = get_global_id(0); piece < pieces; piece += get_global_size(0)) {
        const ulong channel = piece % CHANNELS;
        const long cell = (long)(piece / CHANNELS * COLS);  // of the first result
        number v[WIDE][LINES];
        if (cell >= RADIUS && cell + COLS + RADIUS <= (long)cells && row >= RADIUS && row + (ROWS - 1) + RADIUS < rows) {
          load_inside(v, from + (row - RADIUS) * in_pitch + (ulong)cell * CHANNELS + channel, in_pitch);
        } else {
          load_edge(v, edge + item, from, in_pitch, (long)row - RADIUS, (long)rows, cell, (long)cells, (uint)channel, beyond);
        }
        const ulong col = (ulong)cell * CHANNELS + channel;
        number made[COLS];
#if SHARES
#pragma unroll
        for (uint c = 0; c < WIDE; ++c) sort_four(v[c] + 1);
#pragma unroll 1
        for (uint r = 0; r < ROWS && row + r < end_row; ++r) {
          number sorted[WIDE][SIZE];
#pragma unroll
          for (uint c = 0; c < WIDE; ++c) insert_number(sorted[c], v[c] + 1, r == 0 ? v[c][0] : v[c][SIZE]);
          find_medians(made, sorted);
          store_medians(to + r * out_pitch, made, 0, col, first_col, end_col);
        }
#else
#pragma unroll
        for (uint c = 0; c < WIDE; ++c) sort_column(v[c]);
        find_medians(made, v);
#pragma unroll
        for (uint r = 0; r < ROWS; ++r)
          if (row + r < end_row) store_medians(to + r * out_pitch, made, 16 * r, col, first_col, end_col);
#endif
      }
    }
  }
}
