// Median of 5 x 5 elements by tiles of 2 x 2 windows, which have 4 x 4 elements in common: their core. After:
// A. Adams, "Fast median filters using separable sorting networks", ACM Transactions on Graphics 40, 2021.
//
// A work-item computes COLS neighbours of a row, of one channel, in two rows, from left to right. The four
// elements of each column that both rows have are sorted once, neighbouring columns are merged by pairs, two
// pairs make a core. Of its 16 elements only numbers 4 to 13 can be the median of the 25, since 9 are
// missing. With the column beside it, which the windows above one another have in common, 20 are known, of
// which numbers 8 to 13 are left. Of these 6, the four elements of the window's own row, sorted once for both
// neighbours, and the one in its corner, the median is the sixth.
//
// Elements are loaded from global memory: the cache serves all but the first load of one. There is no
// barrier.
//
// With PAIRS a word has the elements of two rows of 16 bits each, two rows apart: a work-item then computes
// four rows.
//
// An exchange by sums, of bytes in PAIRS: with d = max(a - b, 0), the greater one is b + d, the lesser one a
// - d. On NVIDIA's GPUs other units compute them than compare; SUMS says which exchanges are made so.
//
// Launch: three dimensions of work-items: COLS cells of a channel of a row, ROWS rows, planes; grid-stride
// loops over all three. Local memory: the elements of each work-item's windows, at the edges.
#include "separable/arguments.clh"

#ifndef COLS
#define COLS 8  // items per work-item: 4 or 8
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
#ifndef BYTES
#define BYTES 0  // 1: elements of 8 bits
#endif
#ifndef SUMS
#define SUMS 0  // exchanges by sums, of BYTES in PAIRS: 1 of columns, 2 of rows, 4 of pairs of columns, 8 of cores, 16 of windows
#endif
#define SIZE 5
#define RADIUS 2
#define TILE 2                       // windows across and down
#define ROWS (TILE * (1 + PAIRS))    // of results of a work-item
#define LINES (SIZE + TILE - 1)      // elements of a column, in words
#define READ (LINES + TILE * PAIRS)  // rows of elements
#define WIDE (COLS + SIZE - 1)       // columns of a work-item
#define CORE (SIZE - 1)              // columns of a core, and rows
#define GROUP (GROUP_0 * GROUP_1 * GROUP_2)
#include "blur/median.clh"

#define SUMS_OF(place) (PAIRS && BYTES && SUMS / place % 2)
#if PAIRS && PAIR_INSTRUCTIONS && !ELEMENT_HALF
#include "nvidia/bytes.clh"
#elif PAIRS
static inline uint sum_of_pairs(uint a, uint b) { return as_uint(as_ushort2(a) + as_ushort2(b)); }
static inline uint difference_of_pairs(uint a, uint b) { return as_uint(as_ushort2(a) - as_ushort2(b)); }
static inline uint excess_of_pairs(uint a, uint b) { return as_uint(sub_sat(as_ushort2(a), as_ushort2(b))); }
#endif

// Sorts two numbers; `sums`: by sums.
INLINED void exchange(number* a, number* b, const bool sums) {
#if PAIRS && !ELEMENT_HALF
  if (sums) {
    const uint d = excess_of_pairs(*a, *b);
    *a = difference_of_pairs(*a, d), *b = sum_of_pairs(*b, d);
    return;
  }
#endif
  (void)sums;
  sort_pair(a, b);
}

// 5 exchanges.
INLINED void sort_numbers(number v[CORE], const bool sums) {
  exchange(v, v + 1, sums);
  exchange(v + 2, v + 3, sums);
  exchange(v, v + 2, sums);
  exchange(v + 1, v + 3, sums);
  exchange(v + 1, v + 2, sums);
}

// The merges are K. E. Batcher's odd-even merges, without the exchanges of which no result is used.

// Merges two sorted columns: 9 exchanges.
INLINED void merge_columns(number v[2 * CORE], const number a[CORE], const number b[CORE], const bool s) {
#pragma unroll
  for (uint i = 0; i < CORE; ++i)
    v[i] = a[i], v[i + CORE] = b[i];
  exchange(v, v + 4, s);
  exchange(v + 2, v + 6, s);
  exchange(v + 2, v + 4, s);
  exchange(v + 1, v + 5, s);
  exchange(v + 3, v + 7, s);
  exchange(v + 3, v + 5, s);
  exchange(v + 1, v + 2, s);
  exchange(v + 3, v + 4, s);
  exchange(v + 5, v + 6, s);
}

#define KEPT 10  // numbers of a core
// Numbers 4 to 13 of the 16 of two sorted pairs of columns: 17 exchanges and one half of 6.
INLINED void merge_core(number core[KEPT], const number a[2 * CORE], const number b[2 * CORE], const bool s) {
  number v[4 * CORE];
#pragma unroll
  for (uint i = 0; i < 2 * CORE; ++i)
    v[i] = a[i], v[i + 2 * CORE] = b[i];
  sort_pair(v, v + 8);
  exchange(v + 4, v + 12, s);
  exchange(v + 4, v + 8, s);
  exchange(v + 2, v + 10, s);
  exchange(v + 6, v + 14, s);
  exchange(v + 6, v + 10, s);
  sort_pair(v + 2, v + 4);
  exchange(v + 6, v + 8, s);
  sort_pair(v + 10, v + 12);
  exchange(v + 1, v + 9, s);
  exchange(v + 5, v + 13, s);
  exchange(v + 5, v + 9, s);
  exchange(v + 3, v + 11, s);
  sort_pair(v + 7, v + 15);
  exchange(v + 7, v + 11, s);
  sort_pair(v + 3, v + 5);
  exchange(v + 7, v + 9, s);
  sort_pair(v + 11, v + 13);
  exchange(v + 3, v + 4, s);
  exchange(v + 5, v + 6, s);
  exchange(v + 7, v + 8, s);
  exchange(v + 9, v + 10, s);
  exchange(v + 11, v + 12, s);
#pragma unroll
  for (uint i = 0; i < KEPT; ++i)
    core[i] = v[i + 3];
}

#define LEFT_OVER 6  // numbers of a core and a column
// Numbers 5 to 10 of the 14 of a core and a sorted column: 11 exchanges and one half of 8.
INLINED void add_column(number m[LEFT_OVER], const number core[KEPT], const number column[CORE]) {
  number v[KEPT + CORE];
#pragma unroll
  for (uint i = 0; i < KEPT; ++i)
    v[i] = core[i];
#pragma unroll
  for (uint i = 0; i < CORE; ++i)
    v[KEPT + i] = column[i];
  sort_pair(v, v + 10);
  sort_pair(v + 8, v + 10);
  sort_pair(v + 4, v + 8);
  sort_pair(v + 2, v + 12);
  sort_pair(v + 6, v + 12);
  sort_pair(v + 2, v + 4);
  sort_pair(v + 6, v + 8);
  sort_pair(v + 12, v + 10);
  sort_pair(v + 1, v + 11);
  sort_pair(v + 9, v + 11);
  sort_pair(v + 5, v + 9);
  sort_pair(v + 3, v + 13);
  sort_pair(v + 7, v + 13);
  sort_pair(v + 3, v + 5);
  sort_pair(v + 7, v + 9);
  sort_pair(v + 3, v + 4);
  sort_pair(v + 5, v + 6);
  sort_pair(v + 7, v + 8);
  sort_pair(v + 9, v + 12);
#pragma unroll
  for (uint i = 0; i < LEFT_OVER; ++i)
    m[i] = v[i + 4];
}

// Number 6 of 6 sorted numbers, 4 sorted numbers and another one, which lies between the greatest one of the
// least 5 of the ten and the least one of the others, or is replaced by the nearer of them.
INLINED number find_median(const number m[LEFT_OVER], const number row[CORE], number corner,
                           const bool sums) {
  number low = m[0], high = m[LEFT_OVER - 1];
#pragma unroll
  for (uint i = 0; i < CORE; ++i) {
    number a = m[i + 1], b = row[CORE - 1 - i];
    exchange(&a, &b, sums);
    low = MOST(low, a);
    high = LEAST(high, b);
  }
  return MOST(low, LEAST(high, corner));
}

// The medians of two rows of COLS windows.
INLINED void find_medians(number made[TILE][COLS], number v[WIDE][LINES]) {
  number before[2 * CORE], pair[2 * CORE], core[KEPT], left[LEFT_OVER], right[LEFT_OVER], row[CORE];
#pragma unroll
  for (uint c = 0; c < WIDE; ++c)
    sort_numbers(v[c] + 1, SUMS_OF(1));
  merge_columns(before, v[1] + 1, v[2] + 1, SUMS_OF(4));
#pragma unroll
  for (uint c = 0; c < COLS; c += TILE) {
    merge_columns(pair, v[c + 3] + 1, v[c + 4] + 1, SUMS_OF(4));
    merge_core(core, before, pair, SUMS_OF(8));
    add_column(left, core, v[c] + 1);
    add_column(right, core, v[c + SIZE] + 1);
#pragma unroll
    for (uint t = 0; t < TILE; ++t) {
      const uint j = t * (LINES - 1);
#pragma unroll
      for (uint i = 0; i < CORE; ++i)
        row[i] = v[c + 1 + i][j];
      sort_numbers(row, SUMS_OF(2));
      made[t][c] = find_median(left, row, v[c][j], SUMS_OF(16));
      made[t][c + 1] = find_median(right, row, v[c + SIZE][j], SUMS_OF(16));
    }
#pragma unroll
    for (uint i = 0; i < 2 * CORE; ++i)
      before[i] = pair[i];
  }
}

#if PAIRS && BYTES
// Of a word of four bytes, or of words of two.
#define EVEN_BYTES 0x00ff00ffu
#if PAIR_INSTRUCTIONS
static inline uint odd_bytes(uint word) { return permuted_bytes(word, 0, 0x4341); }
static inline uint low_halves(uint a, uint b) { return permuted_bytes(a, b, 0x5410); }
static inline uint high_halves(uint a, uint b) { return permuted_bytes(a, b, 0x7632); }
#else
static inline uint odd_bytes(uint word) { return word >> 8 & EVEN_BYTES; }
static inline uint low_halves(uint a, uint b) { return (a & 0xffff) | b << 16; }
static inline uint high_halves(uint a, uint b) { return a >> 16 | (b & 0xffff0000u); }
#endif
#endif

#define IN_WORDS (PAIRS && BYTES && CHANNELS == 1 && ALIGNED)
#if IN_WORDS
#define HALVES (COLS / 2 + 4)  // words of two bytes: of four bytes before the results, of the results, of four bytes after them
// Loads a row of a work-item's elements, which all exist: pairs of bytes two apart, those of even places
// first. `from`: as for load_row().
INLINED void load_halves(uint h[HALVES], global const uchar* from) {
  const uint before = ((global const uint*)from)[-1], after = *(global const ushort*)(from + COLS);
  h[0] = before & EVEN_BYTES, h[1] = odd_bytes(before);
#if COLS == 8
  const uint2 own = *(global const uint2*)from;
  h[2] = own.s0 & EVEN_BYTES, h[3] = odd_bytes(own.s0), h[4] = own.s1 & EVEN_BYTES, h[5] = odd_bytes(own.s1);
#else
  const uint own = *(global const uint*)from;
  h[2] = own & EVEN_BYTES, h[3] = odd_bytes(own);
#endif
  h[HALVES - 2] = after & 255, h[HALVES - 1] = after >> 8;
}
#endif

// The words of columns, of the elements of READ rows.
INLINED void fill_columns(number v[WIDE][LINES], loaded line[READ][WIDE]) {
#pragma unroll
  for (uint c = 0; c < WIDE; ++c)
#pragma unroll
    for (uint j = 0; j < LINES; ++j) {
#if PAIRS
      v[c][j] = line[j][c] | line[j + TILE][c] << 16;
#else
      v[c][j] = line[j][c];
#endif
    }
}

// Loads the elements of a work-item's windows, which all exist, column by column. `first`: the place of the
// first result in the first row.
INLINED void load_inside(number v[WIDE][LINES], global const ELEMENT* first, ulong in_pitch) {
#if IN_WORDS
  uint h[READ][HALVES];
#pragma unroll
  for (uint j = 0; j < READ; ++j)
    load_halves(h[j], first + j * in_pitch);
#pragma unroll
  for (uint c = 0; c < WIDE; ++c) {
    const uint place = c + 2, n = place / 4 * 2 + place % 2;  // of bytes, from the four before the results on
#pragma unroll
    for (uint j = 0; j < LINES; ++j) {
      const uint a = h[j][n], b = h[j + TILE][n];
      v[c][j] = place % 4 < 2 ? low_halves(a, b) : high_halves(a, b);
    }
  }
#else
  loaded line[READ][WIDE];
#pragma unroll
  for (uint j = 0; j < READ; ++j)
    load_row(line[j], first + j * in_pitch);
  fill_columns(v, line);
#endif
}

#if PAIRS
typedef STORED kept;  // in local memory
#else
typedef number kept;
#endif

// Loads the elements of a work-item's windows, which may lie beyond the edges, column by column: READ rows
// from `row` on. They go through local memory of the work-item's own, since loops over registers would be
// written out.
static inline void load_edge(number v[WIDE][LINES], local kept* own, global const ELEMENT* from,
                             ulong in_pitch, long row, long rows, long cell, long cells, uint channel,
                             loaded beyond) {
#pragma unroll 1
  for (uint j = 0; j < READ; ++j) {
    const long wanted_row = row + (long)j, at = wanted_row < rows + RADIUS ? place_within(wanted_row, rows) : -1;
    global const ELEMENT* elements = from + (ulong)max(at, 0L) * in_pitch + channel;
    loaded got[WIDE];
    // What lies farther away is for no result. No branch stands between the loads of a row.
#pragma unroll
    for (uint c = 0; c < WIDE; ++c) {
      const long wanted = cell + (long)c - RADIUS,
                 place = wanted < cells + RADIUS ? place_within(wanted, cells) : -1;
      got[c] = number_of(elements, (ulong)max(place, 0L) * CHANNELS);
      if (at < 0 || place < 0)
        got[c] = beyond;
    }
#pragma unroll
    for (uint c = 0; c < WIDE; ++c)
      own[(j * WIDE + c) * GROUP] = (kept)got[c];
  }
  loaded line[READ][WIDE];
#pragma unroll
  for (uint j = 0; j < READ; ++j)
#pragma unroll
    for (uint c = 0; c < WIDE; ++c)
      line[j][c] = own[(j * WIDE + c) * GROUP];
  fill_columns(v, line);
}

#define OUT_WORDS (PAIRS && BYTES && CHANNELS == 1 && VECTOR_OUT && RESULT_INTEGER && !RESULT_HALF)
#if OUT_WORDS
// Writes COLS results of each of ROWS rows, all of which exist, as words. `to`: the first one.
INLINED void store_words(global RESULT* to, ulong out_pitch, number made[TILE][COLS]) {
#pragma unroll
  for (uint t = 0; t < TILE; ++t) {
    uint upper[COLS / 4], lower[COLS / 4];  // rows
#pragma unroll
    for (uint n = 0; n < COLS / 4; ++n) {
      const uint a = made[t][4 * n] + (made[t][4 * n + 1] << 8),
                 b = made[t][4 * n + 2] + (made[t][4 * n + 3] << 8);
      upper[n] = low_halves(a, b);
      lower[n] = high_halves(a, b);
    }
    global RESULT* line = to + t * out_pitch;
#if COLS == 8
    *(global uint2*)line = (uint2)(upper[0], upper[1]);
    *(global uint2*)(line + TILE * out_pitch) = (uint2)(lower[0], lower[1]);
#else
    *(global uint*)line = upper[0];
    *(global uint*)(line + TILE * out_pitch) = lower[0];
#endif
  }
}
#endif

kernel __attribute__((reqd_work_group_size(GROUP_0, GROUP_1, GROUP_2)))
void median_tiles(SEPARABLE_ARGUMENTS) {
  (void)row_taps, (void)column_taps, (void)row_origin, (void)column_origin, (void)streaming, (void)scratch,
      (void)band;
  local kept edge[READ * WIDE * GROUP];
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
        if (cell >= RADIUS && cell + COLS + RADIUS <= (long)cells && row >= RADIUS &&
            row + (ROWS - 1) + RADIUS < rows) {
          load_inside(v, from + (row - RADIUS) * in_pitch + (ulong)cell * CHANNELS + channel, in_pitch);
        } else {
          load_edge(v, edge + item, from, in_pitch, (long)row - RADIUS, (long)rows, cell, (long)cells,
                    (uint)channel, beyond);
        }
        const ulong col = (ulong)cell * CHANNELS + channel;
        number made[TILE][COLS];
        find_medians(made, v);
#if OUT_WORDS
        if (row + ROWS <= end_row && col >= first_col && col + COLS <= end_col) {
          store_words(to + col, out_pitch, made);
          continue;
        }
#endif
#pragma unroll
        for (uint r = 0; r < ROWS; ++r)
          if (row + r < end_row)
            store_medians(to + r * out_pitch, made[r % TILE], r / TILE * 16, col, first_col, end_col);
      }
    }
  }
}
