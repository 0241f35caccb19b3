// Separable filter of bytes by dot products of packed numbers, where all weights are whole 256ths of at most 255 that add up to 1: the
// sums are exact.
//
// A work-item owns COLS neighbouring columns and goes down a band of rows. Along a row it multiplies words of four bytes by words of four
// weights, which it has for each of the four places that a window can begin at in a word; so no byte is moved. The sums of two rows, each
// of 16 bits, fill a word, which is multiplied by pairs of weights: the COLUMN_TAPS - 1 results that have begun are in registers, in 32
// bits. STEP rows are read ahead of time. A work-item reads its neighbours' bytes too, which the first-level cache has: there is no
// exchange through local memory, and no barrier.
//
// All work-items load whole words that lie in their rows, so that no branch stands between a load and its use. At the edges the words are
// replaced when they are used. Where each is made of bytes of two of the words that were loaded, or of the value beyond the edges, they go
// through local memory of the work-item's own: the launch ends when the work-items at the edges do. Else, where a boundary wraps around or
// reaches far, they are made byte by byte, from places in local memory: the loads hit the cache.
//
// Work-item i computes strip i % across of band i / across % bands of plane i / across / bands; strips are numbered from the row's first
// element. Rows begin at multiples of COLS bytes and have LOADED words or more. Launch: one dimension, GROUP work-items a group.
#ifndef ELEMENT
#define ELEMENT uchar
#endif
#include "separable/arguments.clh"

#ifndef GROUP
#define GROUP 128
#endif
#ifndef COLS
#define COLS 4  // items per work-item: columns, 4 or 8
#endif
#ifndef STEP
#define STEP 4  // rows: 2, 4, ...
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
#define VECTOR_OUT 1  // 1: rows of results begin at multiples of COLS elements, or of 4 of floats
#endif
#ifndef DOT_PRODUCTS
#define DOT_PRODUCTS 0  // 0: by multiplications, 1: NVIDIA's instructions of sm_61, 2: AMD's of gfx906
#endif
#define LEFT (ROW_ORIGIN * CHANNELS)  // elements of a window before its result
#define EXTENT ((ROW_TAPS - 1) * CHANNELS + 1)
#define WORDS_LEFT ((LEFT + 3) / 4)
#define SHIFT (WORDS_LEFT * 4 - LEFT)             // from the first word of windows to the first window
#define ALONG ((SHIFT + 3 + EXTENT - 1) / 4 + 1)  // words that the windows of four neighbours cover
#define VECTOR (COLS / 4)                         // words of a load
#define VECTORS_LEFT ((LEFT + COLS - 1) / COLS)   // loads before the work-item's own columns
#define SKIPPED (VECTORS_LEFT * VECTOR - WORDS_LEFT)                    // words before those of the windows
#define VECTORS ((SKIPPED + VECTOR + ALONG - 1 + VECTOR - 1) / VECTOR)  // that a work-item loads of a row
#define LOADED (VECTORS * VECTOR)                                       // words
#define BEGUN (COLUMN_TAPS > 1 ? COLUMN_TAPS - 1 : 1)
#define HALF_A_UNIT 32768u  // a result is a sum of 65536ths

// The packed weights, by value: the number beyond the edges; ALONG words for each place in a word that a window may have; COLUMN_TAPS + 1
// pairs of bytes, (0, w0), (w0, w1), ... (w_last, 0).
typedef struct {
  uint each[FEW_WEIGHTS_BYTES / 4];
} packed_weights;
static inline uint along(const packed_weights* weights, uint place, uint word) { return weights->each[1 + place * ALONG + word]; }
static inline uint pair_down(const packed_weights* weights, int first) { return weights->each[1 + 4 * ALONG + 1 + first]; }

#if DOT_PRODUCTS == 1
#include "nvidia/dot_products.clh"
#elif DOT_PRODUCTS == 2
#include "amd/dot_products.clh"
#else
// The sum of `sum` and the products of four bytes.
static inline uint add_products(uint bytes, uint weights, uint sum) {
  return sum + (bytes & 255) * (weights & 255) + (bytes >> 8 & 255) * (weights >> 8 & 255) +
         (bytes >> 16 & 255) * (weights >> 16 & 255) + (bytes >> 24) * (weights >> 24);
}
// The same of two numbers of 16 bits and two bytes.
static inline uint add_pair(uint numbers, uint weights, uint sum) {
  return sum + (numbers & 65535) * (weights & 255) + (numbers >> 16) * (weights >> 8 & 255);
}
#endif
#if DOT_PRODUCTS == 1
#include "nvidia/bytes.clh"
#else
// Bytes of two words, those of `a` first: bits [4 b, 4 b + 4) of the selector are the number of byte b.
static inline uint permuted_bytes(uint a, uint b, uint selector) {
  const ulong both = (ulong)b << 32 | a;
  return (uint)(both >> 8 * (selector & 7) & 255) | (uint)(both >> 8 * (selector >> 4 & 7) & 255) << 8 |
         (uint)(both >> 8 * (selector >> 8 & 7) & 255) << 16 | (uint)(both >> 8 * (selector >> 12 & 7) & 255) << 24;
}
#endif
#if DOT_PRODUCTS != 1 && RESULT_INTEGER
// The third bytes of four words, the first one lowest.
static inline uint third_bytes(uint a, uint b, uint c, uint d) {
  return (a >> 16 & 255) | (b >> 8 & 0xff00) | (c & 0xff0000) | (d << 8 & 0xff000000);
}
#endif

// Loads the words of a row. `from`: the first one.
INLINED void load_words(uint w[LOADED], global const uchar* from) {
#pragma unroll
  for (uint v = 0; v < VECTORS; ++v) {
#if VECTOR == 1
    w[v] = ((global const uint*)from)[v];
#else
    const uint2 two = ((global const uint2*)from)[v];
    w[2 * v] = two.s0, w[2 * v + 1] = two.s1;
#endif
  }
}

// Loads the words of STEP rows from row `first_row` on; a row beyond the edges is another one of the plane. `from`: the first word of row 0.
INLINED void load_rows(uint ahead[STEP][LOADED], global const uchar* from, ulong pitch, int first_row, int rows) {
  int row[STEP];
#pragma unroll
  for (uint k = 0; k < STEP; ++k) row[k] = first_row + (int)k;
  if (first_row < 0 || first_row + STEP > rows) {
#pragma unroll
    for (uint k = 0; k < STEP; ++k) row[k] = max(place_in_few(row[k], rows), 0);
  }
#pragma unroll
  for (uint k = 0; k < STEP; ++k) load_words(ahead[k], from + (ulong)(uint)row[k] * pitch);
}

// element_within() of rows of less than 2^30 elements.
static inline int element_in_few(int i, int width) {
#if CHANNELS == 1
  return place_in_few(i, width);
#else
  const int cell = i >= 0 ? i / CHANNELS : -((CHANNELS - 1 - i) / CHANNELS);
  const int place = place_in_few(cell, width / CHANNELS);
  return place < 0 ? -1 : place * CHANNELS + (i - cell * CHANNELS);
#endif
}

// How a work-item at an edge has its words: by bytes, of which rows 0 to 4 LOADED - 1 of its column of `places` have the places; or by
// permutations of bytes of two words, of which row n has word n's selector of bytes, and the rows where the two words are in bits 16 to 23
// and 24 to 31. WORD_ROWS and those that follow are for words, BEYOND_ROW has the value beyond the edges.
#define BY_BYTES 1
#define BY_WORDS 2
#define BEYOND_ROW LOADED
#define WORD_ROWS (4 * LOADED)
#define PLACE_ROWS (5 * LOADED)

// Says how the words of a work-item at an edge are made, and of what. `wanted`: the column of the first byte that its windows cover;
// `loaded`: the column of the first one that is loaded.
static inline int place_words(local int (*places)[GROUP], uint item, int wanted, int loaded, int width, uint beyond) {
  int by = BY_WORDS;
#pragma unroll 1
  for (uint n = 0; n < LOADED && by == BY_WORDS; ++n) {
    uint a = 0, b = 0, selector = 0;  // rows of the two words; 0: none
#pragma unroll 1
    for (uint k = 0; k < 4; ++k) {
      const int place = element_in_few(wanted + (int)(4 * n + k), width), from = place - loaded;
      if (place >= 0 && (from < 0 || from >= 4 * LOADED)) by = BY_BYTES;
      const uint row = place < 0 ? BEYOND_ROW : WORD_ROWS + (uint)from / 4, byte = place < 0 ? 0 : (uint)from % 4;
      if (a == 0) a = row;
      if (row != a && b == 0) b = row;
      if (row != a && row != b) by = BY_BYTES;
      selector |= (row == a ? byte : 4 + byte) << 4 * k;
    }
    places[n][item] = (int)(selector | a << 16 | (b == 0 ? a : b) << 24);
  }
  if (by == BY_WORDS) {
    places[BEYOND_ROW][item] = (int)(beyond * 0x01010101u);
  } else {
#pragma unroll 1
    for (uint b = 0; b < 4 * LOADED; ++b) places[b][item] = element_in_few(wanted + (int)b, width);
  }
  return by;
}

// Replaces the words of STEP rows by bytes of those that were loaded.
INLINED void permute_words(uint w[STEP][LOADED], local int (*places)[GROUP], uint item) {
  uint parts[LOADED];
#pragma unroll
  for (uint n = 0; n < LOADED; ++n) parts[n] = (uint)places[n][item];
#pragma unroll
  for (uint k = 0; k < STEP; ++k) {
#pragma unroll
    for (uint n = 0; n < LOADED; ++n) places[WORD_ROWS + n][item] = (int)w[k][n];
#pragma unroll
    for (uint n = 0; n < LOADED; ++n)
      w[k][n] = permuted_bytes((uint)places[parts[n] >> 16 & 255][item], (uint)places[parts[n] >> 24][item], parts[n] & 0xffff);
  }
}

// Replaces the words of STEP rows by the bytes that the boundary condition puts there.
INLINED void replace_words(uint w[STEP][LOADED], local int (*places)[GROUP], uint item, global const uchar* plane, ulong pitch,
                           int first_row, int rows, uint beyond) {
#pragma unroll
  for (uint k = 0; k < STEP; ++k) {
    global const uchar* from = plane + (ulong)max(place_in_few(first_row + (int)k, rows), 0) * pitch;
#pragma unroll 1
    for (uint n = 0; n < LOADED; ++n) {
      uint word = 0;
#pragma unroll
      for (uint b = 0; b < 4; ++b) {
        const int place = places[4 * n + b][item];
        const uint byte = from[max(place, 0)];
        word |= (BOUNDARY > 1 || place >= 0 ? byte : beyond) << 8 * b;
      }
      places[WORD_ROWS + n][item] = (int)word;
    }
#pragma unroll
    for (uint n = 0; n < LOADED; ++n) w[k][n] = (uint)places[WORD_ROWS + n][item];
  }
}

// Replaces the words of rows without a place in the plane.
INLINED void replace_rows(uint w[STEP][LOADED], int first_row, int rows, uint beyond) {
#pragma unroll
  for (uint k = 0; k < STEP; ++k)
#pragma unroll
    for (uint n = 0; n < LOADED; ++n)
      if (place_in_few(first_row + (int)k, rows) < 0) w[k][n] = beyond * 0x01010101u;
}

// Whether some window of four neighbours that begins at place `place` of a word has bytes of word `word`: known to the compiler.
static inline bool has_bytes(uint place, uint word) { return 4 * word + 3 >= SHIFT + place && 4 * word <= SHIFT + place + EXTENT - 1; }

// Adds to `sum` the sums along a row.
INLINED void sum_along(uint sum[COLS], const uint w[LOADED], const packed_weights* weights) {
#pragma unroll
  for (uint c = 0; c < COLS; ++c) {
#pragma unroll
    for (uint n = 0; n < ALONG; ++n)
      if (has_bytes(c % 4, n)) sum[c] = add_products(w[SKIPPED + c / 4 + n], along(weights, c % 4, n), sum[c]);
  }
}

// Adds the sums of two rows, in the halves of a word, to the results that have begun. Two of them are complete; the others move on by two.
INLINED void sum_down(uint done[2][COLS], uint begun[BEGUN][COLS], const uint sums[COLS], const packed_weights* weights) {
  const uint start = RESULT_INTEGER ? HALF_A_UNIT : 0;
#pragma unroll
  for (uint c = 0; c < COLS; ++c) {
    done[0][c] = add_pair(sums[c], pair_down(weights, COLUMN_TAPS - 1), COLUMN_TAPS > 1 ? begun[0][c] : start);
    done[1][c] = add_pair(sums[c], pair_down(weights, COLUMN_TAPS - 2), COLUMN_TAPS > 2 ? begun[BEGUN > 1 ? 1 : 0][c] : start);
#pragma unroll
    for (int j = 0; j < COLUMN_TAPS - 1; ++j)
      begun[j][c] = add_pair(sums[c], pair_down(weights, COLUMN_TAPS - 3 - j), j + 2 < COLUMN_TAPS - 1 ? begun[j + 2 < BEGUN ? j + 2 : 0][c] : start);
  }
}

#if RESULT_INTEGER
static inline uint result_of(uint sum) { return sum >> 16; }
#endif

// Writes the results of a row: all, or those whose bits are set.
INLINED void store_row(global RESULT* to, const uint sum[COLS], uint written) {
#if RESULT_INTEGER
  if (VECTOR_OUT && written == (1u << COLS) - 1) {
    uint word[VECTOR];
#pragma unroll
    for (uint n = 0; n < VECTOR; ++n) word[n] = third_bytes(sum[4 * n], sum[4 * n + 1], sum[4 * n + 2], sum[4 * n + 3]);
#if VECTOR == 1
    *(global uint*)to = word[0];
#else
    *(global uint2*)to = (uint2)(word[0], word[1]);
#endif
  } else {
#pragma unroll
    for (uint c = 0; c < COLS; ++c)
      if (written >> c & 1) to[c] = (RESULT)result_of(sum[c]);
  }
#else
  if (VECTOR_OUT && written == (1u << COLS) - 1) {
#pragma unroll
    for (uint c = 0; c < COLS; c += 4)
      ((global float4*)to)[c / 4] = convert_float4((uint4)(sum[c], sum[c + 1], sum[c + 2], sum[c + 3])) * 0x1p-16f;
  } else {
#pragma unroll
    for (uint c = 0; c < COLS; ++c)
      if (written >> c & 1) to[c] = (float)sum[c] * 0x1p-16f;
  }
#endif
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void separable_packed(SEPARABLE_ARGUMENTS, packed_weights packed) {
  (void)row_taps, (void)column_taps, (void)row_origin, (void)weights, (void)streaming, (void)scratch;
  local int places[PLACE_ROWS][GROUP];  // for work-items at an edge; each has its own column
  const uint item = get_local_id(0), beyond = packed.each[0];
  const ulong across = (end_col + COLS - 1) / COLS, bands = (end_row - first_row + band - 1) / band;
  for (ulong i = get_global_id(0); i < across * bands * planes; i += get_global_size(0)) {
    const ulong line = i / across, p = line / bands;
    const int first = (int)((i - line * across) * COLS);  // column
    const ulong top = first_row + (line - p * bands) * band;
    const int height = (int)min((ulong)band, end_row - top);
    const int first_read = (int)top - (int)column_origin;  // row
    global const uchar* plane = in + plane_offset(p, depth, in_offset, in_stride, in_plane);
    global RESULT* to = out + plane_offset(p, depth, out_offset, out_stride, out_plane) +
                        ((top - (COLUMN_TAPS - 1)) * out_pitch + (ulong)first);  // of the first row that is read

    uint written = 0;
#pragma unroll
    for (uint c = 0; c < COLS; ++c)
      if ((ulong)first + c >= first_col && (ulong)first + c < end_col) written |= 1u << c;
    const int wanted = first - VECTORS_LEFT * COLS, loaded = clamp(wanted, 0, (int)width / COLS * COLS - 4 * LOADED);
    const int at_edge = wanted != loaded ? place_words(places, item, wanted, loaded, (int)width, beyond) : 0;

    uint begun[BEGUN][COLS];
#pragma unroll
    for (uint j = 0; j < BEGUN; ++j)
#pragma unroll
      for (uint c = 0; c < COLS; ++c) begun[j][c] = 0;
    uint ahead[STEP][LOADED];
    load_rows(ahead, plane + loaded, in_pitch, first_read, (int)rows);
    for (int y = 1 - COLUMN_TAPS; y < height; y += STEP) {  // the result that the step's first row completes
      const int row = first_read + y + (COLUMN_TAPS - 1);  // its first one
      if (at_edge == BY_WORDS) permute_words(ahead, places, item);
      if (at_edge == BY_BYTES) replace_words(ahead, places, item, plane, in_pitch, row, (int)rows, beyond);
      if (BOUNDARY < 2 && (row < 0 || row + STEP > (int)rows)) replace_rows(ahead, row, (int)rows, beyond);
      // Along the rows of this step.
      uint sums[STEP / 2][COLS];
#pragma unroll
      for (uint k = 0; k < STEP; k += 2) {
        uint second[COLS];
#pragma unroll
        for (uint c = 0; c < COLS; ++c) second[c] = 0;
        sum_along(second, ahead[k + 1], &packed);
#pragma unroll
        for (uint c = 0; c < COLS; ++c) sums[k / 2][c] = second[c] << 16;
        sum_along(sums[k / 2], ahead[k], &packed);
      }
      if (y + STEP < height) load_rows(ahead, plane + loaded, in_pitch, row + STEP, (int)rows);
      // Down the columns.
#pragma unroll
      for (uint k = 0; k < STEP; k += 2) {
        uint done[2][COLS];
        sum_down(done, begun, sums[k / 2], &packed);
#pragma unroll
        for (uint r = 0; r < 2; ++r) {
          const int result = y + (int)(k + r);
          if (result >= 0 && result < height) store_row(to, done[r], written);
          to += out_pitch;
        }
      }
    }
  }
}
