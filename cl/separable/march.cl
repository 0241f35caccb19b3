// Separable filter by plane streaming down the rows: each element is loaded once a strip, with few accesses to local memory.
//
// A work-item owns COLS neighbouring columns. It loads their rows from top to bottom, STEP at a time, and prefetches the next STEP. The
// COLUMN_TAPS - 1 partial column sums are in registers: a row is added to each of them and completes one. The complete sums of STEP rows
// go to a tile in local memory, from which each work-item sums along rows for COLS neighbouring results at once. Two tiles alternate, so
// that a step has one barrier.
//
// A strip has a halo: LEFT columns before its first result and RIGHT ones after its last, and LEAD rows before its first row of results.
// So a step completes STEP rows of results, except the last step of a strip.
//
// Prefetched rows stay in the format of memory until they are used: a conversion would wait for the loads.
//
// Launch: one dimension, GROUP work-items a group; group g computes strips of `band` rows: g, g + groups, ...
// Local memory: two tiles of STEP rows of GROUP * COLS values and a window more; COLS + 1 words for each work-item. After: P. Micikevicius,
// "3D finite difference computation on GPUs using CUDA", GPGPU-2, 2009.
#include "common/work_group.clh"
#include "separable/arguments.clh"

#ifndef GROUP
#define GROUP 128
#endif
#ifndef COLS
#define COLS 4  // items per work-item: columns, 4 or 8
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
#define VECTOR_IN 1  // 1: rows begin at multiples of COLS elements, or of 4 if those have 4 bytes or more
#endif
#ifndef VECTOR_OUT
#define VECTOR_OUT 1  // the same of results
#endif
#ifndef WORD_ELEMENTS
#define WORD_ELEMENTS 1  // elements in a loaded word of 32 bits: 4 of 8 bits, 2 of 16; 1: elements are loaded without words
#endif
#ifndef BITS_TO_FLOAT
#define BITS_TO_FLOAT 0  // 1: integers become floats by their bits, where a conversion takes longer
#endif
#define PARTS (COLS / 4)
#define WORDS (COLS / WORD_ELEMENTS)
#define LEFT ((ROW_ORIGIN * CHANNELS + COLS - 1) / COLS * COLS)
#define RIGHT (((ROW_TAPS - 1 - ROW_ORIGIN) * CHANNELS + COLS - 1) / COLS * COLS)
#define RESULTS (GROUP * COLS - LEFT - RIGHT)  // of a row of a strip
#define SHIFT (LEFT - ROW_ORIGIN * CHANNELS)   // from a work-item's place in the tile to its windows' first element
#define FIRST_PART (SHIFT / 4)
#define END_PART ((SHIFT + COLS + (ROW_TAPS - 1) * CHANNELS + 3) / 4)  // of the vectors that its windows cover
#define LEAD ((COLUMN_TAPS - 1 + STEP - 1) / STEP * STEP)
#define BEGUN (COLUMN_TAPS > 1 ? COLUMN_TAPS - 1 : 1)
#define NOWHERE INT_MIN

// The weights as constant operands, which need no registers.
static inline VALUE row_weight(const few_weights* few, const uint i) { return few->each[4 + i]; }
static inline VALUE column_weight(const few_weights* few, const uint j) { return few->each[4 + ROW_TAPS + j]; }

typedef JOIN(VALUE, 4) columns;
typedef columns tile_row[PARTS][GROUP + END_PART / PARTS];  // elements after the group's are read for no result

// Elements in the format of memory, and the words in which they are loaded.
#if ELEMENT_HALF
#define STORED ushort
#else
#define STORED ELEMENT
#endif
#if WORD_ELEMENTS > 1
#define WORD uint
#else
#define WORD STORED
#endif

// Loads COLS neighbours that all lie in the row.
static inline void load_words(WORD w[WORDS], global const ELEMENT* p) {
#if !VECTOR_IN
#pragma unroll
  for (uint k = 0; k < WORDS; ++k) w[k] = ((global const WORD*)p)[k];
#elif WORDS == 1
  w[0] = *(global const WORD*)p;
#elif WORDS == 2
  const JOIN(WORD, 2) v = *(global const JOIN(WORD, 2)*)p;
  w[0] = v.s0, w[1] = v.s1;
#else
#pragma unroll
  for (uint k = 0; k < WORDS; k += 4) {
    const JOIN(WORD, 4) v = *(global const JOIN(WORD, 4)*)((global const WORD*)p + k);
    w[k] = v.s0, w[k + 1] = v.s1, w[k + 2] = v.s2, w[k + 3] = v.s3;
  }
#endif
}

// Loads COLS elements by their offsets from `p`. Elements beyond the edges are zero.
static inline void load_places(WORD w[WORDS], global const ELEMENT* p, bool has_row, const int place[COLS]) {
#pragma unroll
  for (uint c = 0; c < COLS; ++c) {
    const STORED stored = has_row && place[c] != NOWHERE ? ((global const STORED*)p)[place[c]] : 0;
#if WORD_ELEMENTS > 1
    const uint shifted = (uint)stored << 32 / WORD_ELEMENTS * (c % WORD_ELEMENTS);
    w[c / WORD_ELEMENTS] = c % WORD_ELEMENTS == 0 ? shifted : w[c / WORD_ELEMENTS] | shifted;
#else
    w[c] = stored;
#endif
  }
}

// Element c of the loaded elements.
static inline VALUE number_at(const WORD w[WORDS], uint c) {
#if WORD_ELEMENTS > 1
  const uint whole = w[c / WORD_ELEMENTS] >> 32 / WORD_ELEMENTS * (c % WORD_ELEMENTS) & (0xffffffffu >> (32 - 32 / WORD_ELEMENTS));
#else
  const STORED whole = w[c];
#endif
#if ELEMENT_HALF
  const ushort stored = (ushort)whole;
  return vload_half(0, (const half*)&stored);
#elif WORD_ELEMENTS > 1 && BITS_TO_FLOAT  // the number in the last places of 2^23
  return as_float(0x4b000000u | whole) - 0x1p23f;
#else
  return (VALUE)whole;
#endif
}

static inline columns numbers_at(const WORD w[WORDS], uint first) {
  return (columns)(number_at(w, first), number_at(w, first + 1), number_at(w, first + 2), number_at(w, first + 3));
}

// An integer RESULT in the low bits of a word, with undefined bits above it: an addend that moves the integer to the last places of a float.
#if RESULT_INTEGER
#if RESULT_HIGH == 255
#define RESULT_ELEMENTS 4  // in a word
#else
#define RESULT_ELEMENTS 2
#endif
static inline uint rounded_bits(VALUE v) {
#if HALF_UP && RESULT_LOW == 0
  return (uint)(fmin(fmax(v, (VALUE)0), (VALUE)RESULT_HIGH) + (VALUE)0.5f);
#elif HALF_UP
  return (uint)round_pixel(v);
#else
  return as_uint((float)fmin(fmax(v, (VALUE)RESULT_LOW), (VALUE)RESULT_HIGH) + 0x1.8p23f);
#endif
}
#endif

static inline void store_one(global RESULT* p, VALUE v) {
#if RESULT_INTEGER
  *p = (RESULT)rounded_bits(v);
#else
  store_result(p, 0, (result_value)v);
#endif
}

// Writes COLS results.
static inline void store_results(global RESULT* p, const VALUE v[COLS]) {
#if !VECTOR_OUT
#pragma unroll
  for (uint c = 0; c < COLS; ++c) store_one(p + c, v[c]);
#elif RESULT_INTEGER
  uint w[COLS / RESULT_ELEMENTS];
#pragma unroll
  for (uint c = 0; c < COLS; c += RESULT_ELEMENTS) {
#if RESULT_ELEMENTS == 4
    w[c / 4] = (rounded_bits(v[c]) & 255) | (rounded_bits(v[c + 1]) & 255) << 8 | (rounded_bits(v[c + 2]) & 255) << 16 |
               rounded_bits(v[c + 3]) << 24;
#else
    w[c / 2] = (rounded_bits(v[c]) & 65535) | rounded_bits(v[c + 1]) << 16;
#endif
  }
#if COLS / RESULT_ELEMENTS == 1
  *(global uint*)p = w[0];
#elif COLS / RESULT_ELEMENTS == 2
  *(global uint2*)p = (uint2)(w[0], w[1]);
#else
  *(global uint4*)p = (uint4)(w[0], w[1], w[2], w[3]);
#endif
#elif RESULT_HALF
#pragma unroll
  for (uint c = 0; c < COLS; c += 4) store_halves4((float4)(v[c], v[c + 1], v[c + 2], v[c + 3]), p + c);
#else
#pragma unroll
  for (uint c = 0; c < COLS; c += 4)
    ((global JOIN(RESULT, 4)*)p)[c / 4] = (JOIN(RESULT, 4))((RESULT)v[c], (RESULT)v[c + 1], (RESULT)v[c + 2], (RESULT)v[c + 3]);
#endif
}

// Computes where the work-item's columns are loaded and which of its results are written: `places`, elements from column `first` on, or
// NOWHERE; `written`, one bit for each column, which it returns too. They are kept in local memory, because only the edges need them and
// registers are scarce.
GROUP_FUNCTION uint find_edges(local int (*places)[GROUP], local uint* written, uint item, long first, ulong width, ulong result,
                              ulong first_col, ulong end_col) {
  uint bits = 0;
#pragma unroll
  for (uint c = 0; c < COLS; ++c) {
    const long place = element_within(first + c, (long)width);
    places[c][item] = place < 0 || first >= (long)width + RIGHT ? NOWHERE : (int)(place - first);
    if (item * COLS < RESULTS && result + c >= first_col && result + c < end_col) bits |= 1u << c;
  }
  written[item] = bits;
  return bits;
}

// Loads the rows of a step that all lie in the plane, from `from` on.
GROUP_FUNCTION void read_plain(WORD ahead[STEP][WORDS], global const ELEMENT* from, ulong in_pitch) {
#pragma unroll
  for (uint k = 0; k < STEP; ++k) load_words(ahead[k], from + k * in_pitch);
}

// The same where some of the rows do not lie in the plane.
GROUP_FUNCTION void read_outer(WORD ahead[STEP][WORDS], int first, int rows, global const ELEMENT* from, ulong in_pitch) {
#pragma unroll
  for (uint k = 0; k < STEP; ++k) {
    const int row = first + (int)k, there = place_in_few(row, rows);
    load_words(ahead[k], from + ((long)k + max(there, 0) - row) * (long)in_pitch);
#pragma unroll
    for (uint w = 0; w < WORDS; ++w)
      if (BOUNDARY < 2 && there < 0) ahead[k][w] = 0;
  }
}

// The same at the edges, element by element, by the boundary condition. `first`: the step's first row, which would begin at `from`.
GROUP_FUNCTION void read_edge(WORD ahead[STEP][WORDS], local int (*places)[GROUP], uint item, int first, int rows,
                             global const ELEMENT* from, ulong in_pitch) {
  int place[COLS];
#pragma unroll
  for (uint c = 0; c < COLS; ++c) place[c] = places[c][item];
#pragma unroll
  for (uint k = 0; k < STEP; ++k) {
    const int row = first + (int)k, there = place_in_few(row, rows);
    load_places(ahead[k], from + ((long)k + there - row) * (long)in_pitch, there >= 0, place);
  }
}

// Beyond an edge a sum down a column is that of another column. Whether the tile has those of all columns of a work-item.
#define COPIES_SUMS (BOUNDARY >= 2 && BOUNDARY != 6)
static inline bool has_sums(local int (*places)[GROUP], uint item) {
  bool has = true;
#pragma unroll
  for (uint c = 0; c < COLS; ++c) {
    const long place = (long)places[c][item] + item * COLS;
    has = has && place >= 0 && place < GROUP * COLS;
  }
  return has;
}

// Copies them.
GROUP_FUNCTION void copy_sums(local tile_row* row, local int (*places)[GROUP], uint item) {
  local VALUE* all = (local VALUE*)*row;
#pragma unroll
  for (uint c = 0; c < COLS; ++c) {
    const uint from = item * COLS + (uint)places[c][item];
    const uint part = GROUP + END_PART / PARTS;
    all[(c / 4 * part + item) * 4 + c % 4] = all[(from % COLS / 4 * part + from / COLS) * 4 + from % 4];
  }
}

#if BOUNDARY == 1
// Replaces columns beyond the edges by the value there: all four with `no_row`, else those without a place.
GROUP_FUNCTION columns replace_beyond(columns now, bool no_row, local int (*places)[GROUP], uint item, VALUE beyond) {
  if (no_row || places[0][item] == NOWHERE) now.s0 = beyond;
  if (no_row || places[1][item] == NOWHERE) now.s1 = beyond;
  if (no_row || places[2][item] == NOWHERE) now.s2 = beyond;
  if (no_row || places[3][item] == NOWHERE) now.s3 = beyond;
  return now;
}
#endif

// The sums of the work-item's windows along a row of the tile.
GROUP_FUNCTION void sum_windows(VALUE sum[COLS], local const tile_row* row, uint item, const few_weights* few) {
  VALUE window[(END_PART - FIRST_PART) * 4];
#pragma unroll
  for (uint n = FIRST_PART; n < END_PART; ++n) {
    const columns v = (*row)[n % PARTS][item + n / PARTS];
    const uint at = (n - FIRST_PART) * 4;
    window[at] = v.s0, window[at + 1] = v.s1, window[at + 2] = v.s2, window[at + 3] = v.s3;
  }
#pragma unroll
  for (uint c = 0; c < COLS; ++c) sum[c] = row_weight(few, 0) * window[SHIFT - FIRST_PART * 4 + c];
#pragma unroll
  for (uint i = 1; i < ROW_TAPS; ++i)
#pragma unroll
    for (uint c = 0; c < COLS; ++c) sum[c] += row_weight(few, i) * window[SHIFT - FIRST_PART * 4 + i * CHANNELS + c];
#if MEAN
#pragma unroll
  for (uint c = 0; c < COLS; ++c) sum[c] = mean_of_window(sum[c], ROW_TAPS * COLUMN_TAPS);
#endif
}

// Writes the results of a row whose bits are set in `written`.
static inline void store_some(global RESULT* to, VALUE sum[COLS], uint written, global const ELEMENT* own, const few_weights* few) {
#pragma unroll
  for (uint c = 0; c < COLS; ++c) {
    if (written >> c & 1) {
#if UNSHARP
      sum[c] = sharpened(load_value(own, c), sum[c], few->each[1], few->each[2]);
#else
      (void)own, (void)few;
#endif
      store_one(to + c, sum[c]);
    }
  }
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void separable_march(SEPARABLE_ARGUMENTS, few_weights few) {
  (void)row_taps, (void)column_taps, (void)row_origin, (void)weights, (void)streaming, (void)scratch;
  local tile_row tile[2][STEP];
  local int places[COLS][GROUP];
  local uint written[GROUP];
  const uint item = get_local_id(0);
  const ulong across = (end_col + RESULTS - 1) / RESULTS, bands = (end_row - first_row + band - 1) / band;
  for (ulong t = get_group_id(0); t < across * bands * planes; t += get_num_groups(0)) {
    const ulong p = t / (across * bands), strip = (t - p * (across * bands)) % across;
    const ulong top = first_row + (t - p * (across * bands)) / across * band;
    const uint height = (uint)min((ulong)band, end_row - top), steps = LEAD / STEP + (height + STEP - 1) / STEP;
    const long first = (long)(strip * RESULTS) - LEFT + item * COLS;  // column
    const ulong result = strip * RESULTS + item * COLS;               // of the first result
    const uint bits = find_edges(places, written, item, first, width, result, first_col, end_col);
    const uint whole_steps = bits + 1 == 1u << COLS ? LEAD / STEP + height / STEP : 0;  // steps whose results are all written
    const uint bit_steps = bits == 0 ? 0 : steps;                                       // steps of which some are

    // Steps whose rows all lie in the plane, and steps with results.
    const int first_read = (int)top - (int)column_origin - (LEAD - (COLUMN_TAPS - 1));
    const uint plain_begin = (uint)max(STEP - 1 - first_read, 0) / STEP;
    const uint plain_end = first < 0 || first + COLS > (long)width ? 0 : min(((uint)rows - first_read) / STEP, steps);
    const uint plain_count = max(plain_end, plain_begin) - plain_begin;
    const bool inside = first >= 0 && first + COLS <= (long)width, beyond = first + COLS <= 0 || first >= (long)width;
    const bool copies = COPIES_SUMS && beyond && first < (long)width + RIGHT && has_sums(places, item);
    const uint needed = first >= (long)width + RIGHT || copies || (beyond && !COPIES_SUMS) ? 0 : steps;
    const long left = (long)(strip * RESULTS) - LEFT;
    const bool at_edge = COPIES_SUMS && (left < 0 || left + GROUP * COLS > (long)width);

    columns begun[BEGUN][PARTS];
#pragma unroll
    for (uint j = 0; j < BEGUN; ++j)
#pragma unroll
      for (uint h = 0; h < PARTS; ++h) begun[j][h] = 0;
    WORD ahead[STEP][WORDS];
#pragma unroll
    for (uint k = 0; k < STEP; ++k)
#pragma unroll
      for (uint w = 0; w < WORDS; ++w) ahead[k][w] = 0;
    global const ELEMENT* from = in + plane_offset(p, depth, in_offset, in_stride, in_plane);
    global const ELEMENT* coming = from + ((ulong)(long)first_read * in_pitch + (ulong)first);
    if (0 - plain_begin < plain_count)
      read_plain(ahead, coming, in_pitch);
    else if (0 < needed && inside)
      read_outer(ahead, first_read, (int)rows, coming, in_pitch);
    else if (0 < needed)
      read_edge(ahead, places, item, first_read, (int)rows, coming, in_pitch);
    global RESULT* to = out + plane_offset(p, depth, out_offset, out_stride, out_plane) + (top * out_pitch + result);
    global const ELEMENT* own = from + (top * in_pitch + result);  // the input at the results' elements

    for (uint s = 0; s < steps; ++s) {
      const uint turn = s & 1;
      // Down the columns: a row is added to all partial sums and completes the oldest.
#pragma unroll
      for (uint k = 0; k < STEP; ++k) {
#pragma unroll
        for (uint h = 0; h < PARTS; ++h) {
          columns now = numbers_at(ahead[k], 4 * h);
#if BOUNDARY == 1
          if (s - plain_begin >= plain_count)
            now = replace_beyond(now, (uint)(first_read + (int)(s * STEP + k)) >= (uint)rows, places + 4 * h, item, few.each[0]);
#endif
#if COLUMN_TAPS > 1
          tile[turn][k][h][item] = begun[0][h] + column_weight(&few, COLUMN_TAPS - 1) * now;
#pragma unroll
          for (uint j = 0; j < COLUMN_TAPS - 2; ++j) begun[j][h] = begun[j + 1][h] + column_weight(&few, COLUMN_TAPS - 2 - j) * now;
          begun[COLUMN_TAPS - 2][h] = column_weight(&few, 0) * now;
#else
          tile[turn][k][h][item] = column_weight(&few, 0) * now;
#endif
        }
      }
      coming += STEP * in_pitch;
      if (s + 1 - plain_begin < plain_count)
        read_plain(ahead, coming, in_pitch);
      else if (s + 1 < needed && inside)
        read_outer(ahead, first_read + (int)((s + 1) * STEP), (int)rows, coming, in_pitch);
      else if (s + 1 < needed)
        read_edge(ahead, places, item, first_read + (int)((s + 1) * STEP), (int)rows, coming, in_pitch);
      barrier(CLK_LOCAL_MEM_FENCE);
      if (at_edge) {
#pragma unroll
        for (uint k = 0; k < STEP; ++k)
          if (copies) copy_sums(tile[turn] + k, places, item);
        barrier(CLK_LOCAL_MEM_FENCE);
      }

      // Along the rows.
      if (s >= LEAD / STEP) {
#if UNSHARP
        WORD middle[STEP][WORDS];
        if (s < whole_steps) read_plain(middle, own, in_pitch);
#endif
#pragma unroll
        for (uint k = 0; k < STEP; ++k) {
          VALUE sum[COLS];
          sum_windows(sum, tile[turn] + k, item, &few);
          if (s < whole_steps) {
#if UNSHARP
#pragma unroll
            for (uint c = 0; c < COLS; ++c) sum[c] = sharpened(number_at(middle[k], c), sum[c], few.each[1], few.each[2]);
#endif
            store_results(to + k * out_pitch, sum);
          } else if (s < bit_steps && s * STEP + k - LEAD < height) {
            store_some(to + k * out_pitch, sum, written[item], own + k * in_pitch, &few);
          }
        }
        to += STEP * out_pitch;
        own += STEP * in_pitch;
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);  // the next strip's first step uses a tile that may still be read
  }
}
