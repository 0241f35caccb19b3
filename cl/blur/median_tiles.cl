// Medians of 3 x 3 and 5 x 5 elements by tiles of 2 x 2 windows, which share what they have in common (median_three.clh,
// median_five.clh).
//
// A work-item computes COLS neighbours of a row, of one channel, in a band of rows, from the top down. What the
// rows of a tile have in common with the tile below stays in registers.
//
// Elements are loaded from global memory: the cache serves all but the first load of one. There is no
// barrier.
//
// With PAIRS a word has two elements of a row of 16 bits each, two columns apart: a work-item then computes
// four columns. Bytes of a word at even places and at odd ones are such pairs.
//
// An exchange by sums, of bytes in PAIRS: with d = max(a - b, 0), the greater one is b + d, the lesser one a
// - d. On NVIDIA's GPUs other units compute them than compare; SUMS says which exchanges are made so.
//
// Launch: three dimensions of work-items: COLS cells of a channel of a row, `band` rows, planes; grid-stride
// loops over all three.
#include "separable/arguments.clh"

#ifndef COLS
#define COLS 2  // items per work-item of a row of results: 2, with PAIRS 4
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
#define SUMS 0  // exchanges by sums, of BYTES in PAIRS, as bits: SUMS_OF() has their places
#endif
#ifndef LIMITS_REGISTERS
#define LIMITS_REGISTERS 0  // 1: a compiler option does, which ptxas ignores beside the size of a group
#endif
#ifndef SIZE
#define SIZE 5  // of windows: 3 or 5
#endif
#define RADIUS (SIZE / 2)
#define TILE 2                    // windows across and down
#define WORDS (SIZE + TILE - 1)   // of a row of a work-item's windows
#define WIDE (COLS + SIZE - 1)    // elements of it
#define BEFORE (SIZE - 1)         // rows before those that complete results
#include "blur/median.clh"

#define SUMS_OF(place) (PAIRS && BYTES && SUMS / place % 2)
#if PAIRS && PAIR_INSTRUCTIONS
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

#if SIZE == 5
#include "blur/median_five.clh"
#else
#include "blur/median_three.clh"
#endif

#if PAIRS
#if PAIR_INSTRUCTIONS
static inline uint low_halves(uint a, uint b) { return permuted_bytes(a, b, 0x5410); }
static inline uint high_halves(uint a, uint b) { return permuted_bytes(a, b, 0x7632); }
static inline uint odd_bytes(uint word) { return permuted_bytes(word, 0, 0x4341); }
static inline uint picked_bytes(uint2 words, uint picks) { return permuted_bytes(words.s0, words.s1, picks); }
#else
static inline uint low_halves(uint a, uint b) { return (a & 0xffff) | b << 16; }
static inline uint high_halves(uint a, uint b) { return a >> 16 | (b & 0xffff0000u); }
static inline uint odd_bytes(uint word) { return word >> 8 & 0x00ff00ffu; }
static inline uint picked_bytes(uint2 words, uint picks) {
  uint got = 0;
  for (uint b = 0; b < 4; ++b) {
    const uint at = picks >> 4 * b & 7;
    got |= ((at < 4 ? words.s0 : words.s1) >> at % 4 * 8 & 255) << 8 * b;
  }
  return got;
}
#endif
#endif

#define IN_WORDS (PAIRS && CHANNELS == 1 && ALIGNED)
#if SIZE == 3
#define SIDE STORED  // elements beside a vector
#elif BYTES
#define SIDE ushort
#else
#define SIDE uint
#endif
// A row of a work-item's windows as it is loaded.
typedef struct {
#if IN_WORDS
#if BYTES
  uint own;
#else
  uint2 own;
#endif
  uint left, right;
#else
  loaded elements[WIDE];
#endif
} loaded_row;

// Beyond the ends of rows of whole vectors are elements of the first vector, or the last one.
#define FOLDED_ENDS (IN_WORDS && BOUNDARY >= 2 && BOUNDARY <= 4)
// The piece of a row that a work-item has.
typedef struct {
  int first, last;  // whether no elements are before it, or after it, in FOLDED_ENDS
#if BYTES
  uint picks[2 * RADIUS];  // which bytes make the words that have elements beside the piece: of what is beside it and of the piece
#else
  uint pick_left, pick_right;  // in FOLDED_ENDS: which bytes of the piece stand for the elements before it, and after it
#endif
} row_piece;

// All elements exist, or are folded. `from`: the first result's place.
INLINED void load_whole(loaded_row* row, global const ELEMENT* from, const row_piece* piece) {
#if IN_WORDS
#if BYTES
  row->own = *(global const uint*)from;
#else
  row->own = *(global const uint2*)from;
#endif
  row->left = row->right = 0;
  if (!piece->first)
    row->left = ((global const SIDE*)from)[-1];
  if (!piece->last)
    row->right = ((global const SIDE*)from)[COLS * sizeof(STORED) / sizeof(SIDE)];
#else
  (void)piece;
  load_row(row->elements, from);
#endif
}

INLINED void load_rows(loaded_row row[TILE], global const ELEMENT* from, ulong in_pitch, const row_piece* piece) {
  load_whole(row, from, piece);
  load_whole(row + 1, from + in_pitch, piece);
}

INLINED void words_of_elements(number v[WORDS], const loaded elements[WIDE]) {
#pragma unroll
  for (uint i = 0; i < WORDS; ++i)
#if PAIRS
    v[i] = elements[i] | elements[i + TILE] << 16;
#else
    v[i] = elements[i];
#endif
}

INLINED void words_of(number v[WORDS], const loaded_row* row, const row_piece* piece) {
#if IN_WORDS && BYTES
  // `left` and `right` have zeros above their elements.
  const uint2 left = (uint2)(row->left, row->own), right = (uint2)(row->right, row->own);
#pragma unroll
  for (uint i = 0; i < RADIUS; ++i) {
    v[i] = picked_bytes(left, piece->picks[i]);
    v[RADIUS + TILE + i] = picked_bytes(right, piece->picks[RADIUS + i]);
  }
  v[RADIUS] = row->own & 0x00ff00ffu, v[RADIUS + 1] = odd_bytes(row->own);
#elif IN_WORDS
  const uint2 own = row->own;
  const uint even = low_halves(own.s0, own.s1), odd = high_halves(own.s0, own.s1);
  uint left = row->left, right = row->right;
#if FOLDED_ENDS
  if (piece->first)
    left = picked_bytes(own, piece->pick_left);
  if (piece->last)
    right = picked_bytes(own, piece->pick_right);
#endif
#if SIZE == 5
  v[0] = low_halves(left, own.s0), v[1] = high_halves(left, own.s0);
  v[2] = even, v[3] = odd;
  v[4] = low_halves(own.s1, right), v[5] = high_halves(own.s1, right);
#else
  v[0] = (left & 0xffff) | (own.s0 & 0xffff0000u), v[1] = even, v[2] = odd, v[3] = low_halves(own.s1, right);
#endif
#else
  (void)piece;
  words_of_elements(v, row->elements);
#endif
}

#if FOLDED_ENDS
// Which element of the piece that begins at `own` stands for the one at `cell`.
INLINED uint folded(long cell, long own, long cells) { return (uint)(place_within(cell, cells) - own) & (COLS - 1); }
#endif

// The piece whose first element is `cell`.
INLINED row_piece piece_at(long cell, long cells) {
  row_piece piece = {0};
#if FOLDED_ENDS
  piece.first = cell == 0, piece.last = cell + COLS == cells;
#endif
#if IN_WORDS && BYTES
#pragma unroll
  for (uint i = 0; i < RADIUS; ++i) {
    uint left = i, right = i;
#if FOLDED_ENDS
    if (piece.first)
      left = 4 + folded((long)i - RADIUS, 0, cells);
    if (piece.last)
      right = 4 + folded(cells + i, cells - COLS, cells);
#endif
    piece.picks[i] = RADIUS * 0x1010 + (6 + i - RADIUS << 8) + left;
    piece.picks[RADIUS + i] = RADIUS * 0x1010 + (right << 8) + 6 + i;
  }
#elif FOLDED_ENDS
#pragma unroll
  for (int i = 0; i < RADIUS; ++i) {
    piece.pick_left |= (folded(i - RADIUS, 0, cells) * 0x22 + 0x10) << 8 * i;
    piece.pick_right |= (folded(cells + i, cells - COLS, cells) * 0x22 + 0x10) << 8 * i;
  }
#else
  (void)cell, (void)cells;
#endif
  return piece;
}

// Loads TILE rows from `row` on, whose elements may lie beyond the edges. What lies farther away is for no result. There is no branch
// between the loads of a row.
INLINED void load_edge(number v[TILE][WORDS], global const ELEMENT* from, ulong in_pitch, long row, long rows, long cell,
                       long cells, uint channel, loaded beyond) {
#pragma unroll
  for (uint i = 0; i < WORDS; ++i)
    v[1][i] = 0;
#pragma unroll 1
  for (long last = row + TILE; row < last; ++row) {
    const long at = row < rows + RADIUS ? place_within(row, rows) : -1;
    global const ELEMENT* elements = from + (ulong)max(at, 0L) * in_pitch + channel;
#if PAIR_INSTRUCTIONS
    const long first = not_hoisted(cell) - RADIUS;
#else
    const long first = cell - RADIUS;
#endif
    loaded got[WIDE];
#pragma unroll
    for (uint c = 0; c < WIDE; ++c) {
      const long wanted = first + (long)c, place = wanted < cells + RADIUS ? place_within(wanted, cells) : -1;
      got[c] = number_of(elements, (ulong)max(place, 0L) * CHANNELS);
      if (at < 0 || place < 0)
        got[c] = beyond;
    }
#pragma unroll
    for (uint i = 0; i < WORDS; ++i)
      v[0][i] = v[1][i];
    words_of_elements(v[1], got);
  }
}

#define OUT_WORDS (PAIRS && CHANNELS == 1 && VECTOR_OUT && (BYTES ? RESULT_INTEGER : ELEMENT_HALF == RESULT_HALF && (RESULT_INTEGER || RESULT_HALF)))

// Writes the results of a row. `to`: the first one. `whole`: all are wanted, else those in [first_col, end_col), of which `col` is the first.
INLINED void store_row(global RESULT* to, const number made[TILE], int whole, ulong col, ulong first_col, ulong end_col) {
#if OUT_WORDS
  if (whole) {
#if BYTES
    *(global uint*)to = made[0] + (made[1] << 8);
#else
    *(global uint2*)to = (uint2)(low_halves(made[0], made[1]), high_halves(made[0], made[1]));
#endif
    return;
  }
#endif
  (void)whole;
  number lined[COLS];
#pragma unroll
  for (uint c = 0; c < COLS; ++c)
#if PAIRS
    lined[c] = made[c % TILE] >> 16 * (c / TILE);
#else
    lined[c] = made[c];
#endif
  store_medians(to - col, lined, 0, col, first_col, end_col);
}

// Writes the results of the rows of a tile, `count` of them at most.
INLINED void store_tile(global RESULT* to, ulong out_pitch, number made[TILE][TILE], int count, int whole, ulong col, ulong first_col,
                        ulong end_col) {
  if (count >= TILE && whole) {
    store_row(to, made[0], 1, col, first_col, end_col);
    store_row(to + out_pitch, made[1], 1, col, first_col, end_col);
    return;
  }
#pragma unroll
  for (int r = 0; r < TILE; ++r)
    if (r < count)
      store_row(to + (ulong)r * out_pitch, made[r], 0, col, first_col, end_col);
}

// The same place in the next row. The loop adds to one address: it keeps no multiples of a pitch in registers.
#if PAIR_INSTRUCTIONS
#define NEXT_ROW(type, at, pitch) ((type)not_hoisted((long)((at) + (pitch))))
#else
#define NEXT_ROW(type, at, pitch) ((at) + (pitch))
#endif

#if LIMITS_REGISTERS
kernel
#else
kernel __attribute__((reqd_work_group_size(GROUP_0, GROUP_1, GROUP_2)))
#endif
void median_tiles(SEPARABLE_ARGUMENTS) {
  (void)row_taps, (void)column_taps, (void)row_origin, (void)column_origin, (void)streaming, (void)scratch;
  const loaded beyond = loaded_beyond(weights);
  const ulong cells = width / CHANNELS;
  const uint pieces = (uint)((cells + COLS - 1) / COLS * CHANNELS);  // of a row
  for (uint p = (uint)get_global_id(2); p < planes; p += (uint)get_global_size(2)) {
    global const ELEMENT* from = in + plane_offset(p, depth, in_offset, in_stride, in_plane);
    global RESULT* to = out + plane_offset(p, depth, out_offset, out_stride, out_plane);
    const uint bands = (uint)((end_row - first_row + band - 1) / band);
    for (uint b = (uint)get_global_id(1); b < bands; b += (uint)get_global_size(1)) {
      const ulong first = first_row + (ulong)band * b;
      const int count = (int)min(end_row - first, (ulong)band);
      const long start = (long)first + RADIUS;  // the row that is loaded at 0
      for (uint piece = (uint)get_global_id(0); piece < pieces; piece += (uint)get_global_size(0)) {
        const uint channel = piece % CHANNELS;
        const long cell = (long)(piece / CHANNELS) * COLS;  // of the first result
        const ulong col = (ulong)cell * CHANNELS + channel;
        const row_piece ends = piece_at(cell, (long)cells);
        // All elements exist of rows that are loaded from `least` to `most`.
        const int inside = (ends.first || cell >= RADIUS) && cell + COLS <= (long)cells && (ends.last || cell + COLS + RADIUS <= (long)cells);
        const int least = inside ? (int)max(-start, (long)-BEFORE) : count;
        const int most = (int)min((long)rows - TILE - start, (long)count + (IN_WORDS ? TILE : -1));
        const int whole = col >= first_col && col + COLS <= end_col;
        // Where the rows begin that are loaded next, and that have the next results.
        global const ELEMENT* load_from = from + ((ulong)(start - BEFORE) * in_pitch + col);
        global RESULT* line = to + ((first - BEFORE) * out_pitch + col);
        rows_before before = {0};
        loaded_row next[TILE];
        int is_loaded = -BEFORE >= least && -BEFORE <= most;
        if (is_loaded)
          load_rows(next, load_from, in_pitch, &ends);
#pragma unroll 1
        for (int n = -BEFORE; n < count;) {
#pragma unroll
          for (int t = 0; t < 2 * TILE; t += TILE) {
            number v[TILE][WORDS];
            if (is_loaded) {
              words_of(v[0], next, &ends);
              words_of(v[1], next + 1, &ends);
            } else {
              load_edge(v, load_from - ((ulong)(start + n + t) * in_pitch + col), in_pitch, start + n + t,
                        (long)rows, cell, (long)cells, channel, beyond);
            }
            load_from += TILE * in_pitch;
            is_loaded = n + t + TILE >= least && n + t + TILE <= most;
            if (is_loaded)
              load_rows(next, load_from, in_pitch, &ends);
            rows_after after;
            take_rows(&after, &before, v[0], v[1]);
            if (n + t >= 0) {
              number made[TILE][TILE];
              find_tile(made, &before, &after);
              store_tile(line, out_pitch, made, count - n - t, whole, col, first_col, end_col);
            }
            go_down(&before, &after);
            line += TILE * out_pitch;
          }
          n += 2 * TILE;
#if IN_WORDS
          // The same without conditions, while two whole tiles are left and the one after them can be loaded.
          const int plain = inside && whole ? min(count, most) - 2 * TILE : -1;
          global const ELEMENT* load_row_from = load_from + TILE * in_pitch;
#pragma unroll 1
          for (; n <= plain; n += 2 * TILE) {
#pragma unroll
            for (int t = 0; t < 2; ++t) {
              number v[TILE][WORDS], made[TILE][TILE];
              words_of(v[0], next, &ends);
              words_of(v[1], next + 1, &ends);
              load_whole(next, load_row_from, &ends);
              load_row_from = NEXT_ROW(global const ELEMENT*, load_row_from, in_pitch);
              load_whole(next + 1, load_row_from, &ends);
              load_row_from = NEXT_ROW(global const ELEMENT*, load_row_from, in_pitch);
              rows_after after;
              take_rows(&after, &before, v[0], v[1]);
              find_tile(made, &before, &after);
              store_row(line, made[0], 1, col, first_col, end_col);
              line = NEXT_ROW(global RESULT*, line, out_pitch);
              store_row(line, made[1], 1, col, first_col, end_col);
              line = NEXT_ROW(global RESULT*, line, out_pitch);
              go_down(&before, &after);
            }
          }
          load_from = load_row_from - TILE * in_pitch;
#endif
        }
      }
    }
  }
}
