// Separable filter of bytes by dot products of packed numbers, where all weights are whole 256ths of at most 255 that add up to 1: the
// sums are exact.
//
// A work-item owns COLS neighbouring columns and goes down a band of rows. Along a row it multiplies words of four bytes by words of four
// weights, which it has for each of the four places that a window can begin at in a word; so no byte is moved. The sums of two rows, each
// of 16 bits, fill a word, which is multiplied by pairs of weights: the COLUMN_TAPS - 1 results that have begun are in registers, in 32
// bits. STEP rows are read ahead of time. A work-item reads its neighbours' bytes too, which the first-level cache has: there is no local
// memory, and no barrier.
//
// Work-item i computes strip i % across of band i / across % bands of plane i / across / bands; strips are numbered from the row's first
// element. Launch: one dimension, GROUP work-items a group.
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
#define DOT_PRODUCTS 0  // 0: by multiplications, 1: NVIDIA's instructions of sm_61
#endif
#define LEFT (ROW_ORIGIN * CHANNELS)  // elements of a window before its result
#define EXTENT ((ROW_TAPS - 1) * CHANNELS + 1)
#define WORDS_LEFT ((LEFT + 3) / 4)
#define SHIFT (WORDS_LEFT * 4 - LEFT)               // from the first word that is read to the first window
#define ALONG ((SHIFT + 3 + EXTENT - 1) / 4 + 1)    // words that the windows of four neighbours cover
#define WORDS (COLS / 4 + ALONG - 1)                // that a work-item reads of a row
#define BEGUN (COLUMN_TAPS > 1 ? COLUMN_TAPS - 1 : 1)
#define HALF_A_UNIT 32768u  // a result is a sum of 65536ths
#define NOWHERE INT_MIN

// The packed weights, by value: the number beyond the edges; ALONG words for each place in a word that a window may have; COLUMN_TAPS + 1
// pairs of bytes, (0, w0), (w0, w1), ... (w_last, 0).
typedef struct {
  uint each[FEW_WEIGHTS_BYTES / 4];
} packed_weights;
static inline uint along(const packed_weights* weights, uint place, uint word) { return weights->each[1 + place * ALONG + word]; }
static inline uint pair_down(const packed_weights* weights, int first) { return weights->each[1 + 4 * ALONG + 1 + first]; }

#if DOT_PRODUCTS == 1
#include "nvidia/dot_products.clh"
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

// Loads the words of a row that all lie in it. `from`: the work-item's first column.
static inline void load_words(uint w[WORDS], global const uchar* from) {
  global const uint* words = (global const uint*)from - WORDS_LEFT;
#pragma unroll
  for (uint n = 0; n < WORDS; ++n) w[n] = words[n];
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

// Loads the words of STEP rows from row `first_row` on byte by byte, where they may lie beyond the edges. They go through local memory of
// the work-item's own, since loops over registers would be written out. `plane`: its first element.
static inline void load_bytes(uint ahead[STEP][WORDS], local uint* own, global const uchar* plane, ulong pitch, int first_row, int rows,
                              int first, int width, uint beyond) {
#pragma unroll 1
  for (uint k = 0; k < STEP; ++k) {
    const int row = place_in_few(first_row + (int)k, rows);
    global const uchar* from = plane + (ulong)max(row, 0) * pitch;
#pragma unroll 1
    for (uint n = 0; n < WORDS; ++n) {
      uint word = 0;
#pragma unroll 1
      for (uint b = 0; b < 4; ++b) {
        const int place = element_in_few(first + (int)(4 * n + b) - 4 * WORDS_LEFT, width);
        word |= (row >= 0 && place >= 0 ? (uint)from[place] : beyond) << 8 * b;
      }
      own[(k * WORDS + n) * GROUP] = word;
    }
  }
#pragma unroll
  for (uint k = 0; k < STEP; ++k)
#pragma unroll
    for (uint n = 0; n < WORDS; ++n) ahead[k][n] = own[(k * WORDS + n) * GROUP];
}

// Whether some window of four neighbours that begins at place `place` of a word has bytes of word `word`: known to the compiler.
static inline bool has_bytes(uint place, uint word) { return 4 * word + 3 >= SHIFT + place && 4 * word <= SHIFT + place + EXTENT - 1; }

// The sums along a row.
static inline void sum_along(uint sum[COLS], const uint w[WORDS], const packed_weights* weights) {
#pragma unroll
  for (uint c = 0; c < COLS; ++c) {
    sum[c] = 0;
#pragma unroll
    for (uint n = 0; n < ALONG; ++n)
      if (has_bytes(c % 4, n)) sum[c] = add_products(w[c / 4 + n], along(weights, c % 4, n), sum[c]);
  }
}

#if RESULT_INTEGER
static inline uint result_of(uint sum) { return sum >> 16; }
#endif

// Writes the results of a row: all, or those whose bits are set.
static inline void store_row(global RESULT* to, const uint sum[COLS], uint written) {
#if RESULT_INTEGER
  if (VECTOR_OUT && written == (1u << COLS) - 1) {
#pragma unroll
    for (uint c = 0; c < COLS; c += 4) {
#if DOT_PRODUCTS == 1
      const uint word = third_bytes(sum[c], sum[c + 1], sum[c + 2], sum[c + 3]);
#else
      const uint word = result_of(sum[c]) | result_of(sum[c + 1]) << 8 | result_of(sum[c + 2]) << 16 | result_of(sum[c + 3]) << 24;
#endif
      ((global uint*)to)[c / 4] = word;
    }
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
  local uint edge[STEP * WORDS * GROUP];
  const uint start = RESULT_INTEGER ? HALF_A_UNIT : 0;
  const ulong across = (end_col + COLS - 1) / COLS, bands = (end_row - first_row + band - 1) / band;
  for (ulong i = get_global_id(0); i < across * bands * planes; i += get_global_size(0)) {
    const ulong line = i / across, p = line / bands;
    const long first = (long)((i - line * across) * COLS);  // column
    const ulong top = first_row + (line - p * bands) * band;
    const int height = (int)min((ulong)band, end_row - top);
    const int steps = (height + COLUMN_TAPS - 1 + STEP - 1) / STEP;
    const int first_read = (int)top - (int)column_origin;  // row
    global const uchar* plane = in + plane_offset(p, depth, in_offset, in_stride, in_plane);
    global const uchar* coming = plane + ((ulong)(long)first_read * in_pitch + (ulong)first);
    global RESULT* to = out + plane_offset(p, depth, out_offset, out_stride, out_plane) +
                        ((top - (COLUMN_TAPS - 1)) * out_pitch + (ulong)first);  // of the first row that is read

    uint written = 0;
#pragma unroll
    for (uint c = 0; c < COLS; ++c)
      if ((ulong)first + c >= first_col && (ulong)first + c < end_col) written |= 1u << c;
    // Steps whose rows all lie in the plane, and whose words do.
    const int plain_begin = max(STEP - 1 - first_read, 0) / STEP;
    const int plain_end =
        first < 4 * WORDS_LEFT || first + 4 * (WORDS - WORDS_LEFT) > (long)width ? 0 : min(((int)rows - first_read) / STEP, steps);

    uint begun[BEGUN][COLS];
#pragma unroll
    for (uint j = 0; j < BEGUN; ++j)
#pragma unroll
      for (uint c = 0; c < COLS; ++c) begun[j][c] = 0;
    uint ahead[STEP][WORDS];
#pragma unroll
    for (uint k = 0; k < STEP; ++k)
#pragma unroll
      for (uint n = 0; n < WORDS; ++n) ahead[k][n] = 0;
    for (int s = -1; s < steps; ++s) {
      // Along the rows of this step, of which step -1 has none.
      uint sums[STEP / 2][COLS];
#pragma unroll
      for (uint k = 0; k < STEP; k += 2) {
        uint second[COLS];
        sum_along(sums[k / 2], ahead[k], &packed);
        sum_along(second, ahead[k + 1], &packed);
#pragma unroll
        for (uint c = 0; c < COLS; ++c) sums[k / 2][c] |= second[c] << 16;
      }
      // Reads the rows of the next step.
      if (s + 1 >= plain_begin && s + 1 < plain_end) {
#pragma unroll
        for (uint k = 0; k < STEP; ++k) load_words(ahead[k], coming + k * in_pitch);
      } else if (s + 1 < steps) {
load_bytes(ahead, edge + get_local_id(0), plane, in_pitch, first_read + (s + 1) * STEP, (int)rows, (int)first, (int)width, packed.each[0]);
      }
      coming += STEP * in_pitch;
      if (s < 0) continue;
      // Down the columns.
#pragma unroll
      for (uint k = 0; k < STEP; k += 2) {
        uint done[2][COLS];
        // Two results are complete; the others move on by two.
#pragma unroll
        for (uint c = 0; c < COLS; ++c) {
          done[0][c] = add_pair(sums[k / 2][c], pair_down(&packed, COLUMN_TAPS - 1), COLUMN_TAPS > 1 ? begun[0][c] : start);
          done[1][c] = add_pair(sums[k / 2][c], pair_down(&packed, COLUMN_TAPS - 2), COLUMN_TAPS > 2 ? begun[COLUMN_TAPS > 2 ? 1 : 0][c] : start);
#pragma unroll
          for (int j = 0; j < COLUMN_TAPS - 1; ++j)
            begun[j][c] = add_pair(sums[k / 2][c], pair_down(&packed, COLUMN_TAPS - 3 - j), j + 2 < COLUMN_TAPS - 1 ? begun[j + 2 < BEGUN ? j + 2 : 0][c] : start);
        }
#pragma unroll
        for (uint r = 0; r < 2; ++r) {
          const int y = s * STEP + (int)(k + r) - (COLUMN_TAPS - 1);
          if (y >= 0 && y < height) store_row(to, done[r], written);
          to += out_pitch;
        }
      }
    }
  }
}
