// Separable filter of bytes by matrix units, where all weights are whole 256ths of at most 255 that add up to 1, or with MEAN all are 1: the sums
// are exact. Windows reach at most 8 bytes to each side, and have at most 17 rows.
//
// A warp goes down a band of rows of COLS columns, 16 rows a step. Along rows it multiplies matrices of weights, 16 results by 64 bytes that
// they may need, by 64 bytes of 8 rows; each row of weights is the one before, moved on by a byte. The sums have 16 bits. Their lower and their
// upper bytes are operands of the products down columns as they lie in registers: of 32 rows, those of two steps, 16 rows of results. The
// order of k is free where both operands have the same: words of two rows 8 apart join into one, and a work-item loads 8 bytes at once. So
// is the order of the results in a matrix: a work-item has four neighbours of a row.
//
// Warp i computes strip i % across of band i / across % bands of plane i / across / bands; strips are numbered from the row's first element.
// Rows begin at multiples of 8 bytes, bands have whole steps. Launch: one dimension, GROUP work-items a group, a warp for each band of a strip.
//
// EMULATED: matrix units in plain OpenCL C, with barriers; all warps of a group make the same steps.
#ifndef ELEMENT
#define ELEMENT uchar
#endif
#ifndef RESULT
#define RESULT uchar
#endif
#include "separable/arguments.clh"

#ifndef GROUP
#define GROUP 128  // whole warps
#endif
#ifndef BLOCKS
#define BLOCKS 2  // of 32 columns, of a warp
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
#define VECTOR_OUT 1  // 1: rows of results begin at multiples of 4 elements
#endif
#include "common/work_group.clh"
#include "nvidia/byte_mma.clh"
#if EMULATED
static inline uint permuted_bytes(uint a, uint b, uint selector) {
  const ulong both = (ulong)b << 32 | a;
  return (uint)(both >> 8 * (selector & 7) & 255) | (uint)(both >> 8 * (selector >> 4 & 7) & 255) << 8 |
         (uint)(both >> 8 * (selector >> 8 & 7) & 255) << 16 | (uint)(both >> 8 * (selector >> 12 & 7) & 255) << 24;
}
#else
#include "nvidia/bytes.clh"
#endif
#define COLS (32 * BLOCKS)
#define LEFT 8             // bytes that are loaded before a strip
#define CHUNKS (BLOCKS + 1)  // of 32 bytes, that are loaded of a row
#define STEP 16
#define HALF_A_UNIT (MEAN ? 0u : 32768u)  // a result is a sum of 65536ths
#define UNITS (MEAN ? 1 : 256)            // of a weight
#define FIRST_OF_WINDOW (ROW_ORIGIN * CHANNELS)  // bytes of a window before its result

// Weights as whole numbers, one a byte, in local memory: those along rows CHANNELS bytes apart, from byte ALONG_FIRST on, those down columns
// from byte DOWN_FIRST on. All bytes around them that the matrices have are 0.
#define ALONG_FIRST 40
#define ALONG_BYTES 112
#define DOWN_FIRST (ALONG_BYTES + STEP)
#define WEIGHT_WORDS ((ALONG_BYTES + 3 * STEP) / 4)  // 40
static inline uint weight_of_byte(constant VALUE* weights, int byte) {
  const int along = byte - ALONG_FIRST, down = byte - DOWN_FIRST;
  if (byte < ALONG_BYTES)
    return along >= 0 && along % CHANNELS == 0 && along / CHANNELS < ROW_TAPS ? (uint)(row_weights(weights)[along / CHANNELS] * UNITS) : 0;
  return down >= 0 && down < COLUMN_TAPS ? (uint)(column_weights(weights, ROW_TAPS)[down] * UNITS) : 0;
}

// All work-items of the group call it.
GROUP_FUNCTION void fill_weights(local uint* bytes, constant VALUE* weights) {
  for (uint n = get_local_id(0); n < WEIGHT_WORDS; n += GROUP) {
    uint word = 0;
    for (uint b = 0; b < 4; ++b) word |= weight_of_byte(weights, (int)(4 * n + b)) << 8 * b;
    bytes[n] = word;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
}

// Rows of weights of the results 4 g + 2 tile and the next, for 64 bytes from LEFT before the first result of 32 on. Bytes 4 q to 4 q + 3 of k and
// those 16 further on are bytes 8 q to 8 q + 7 of 32.
INLINED void make_along(uint along[2][2][4], local const uint* bytes, uint lane) {
#pragma unroll
  for (uint n = 0; n < 16; ++n) {
    const uint tile = n / 8, chunk = n / 4 % 2, word = n % 4;
    const uint byte = 32 * chunk + 8 * (lane % 4) + 4 * (word / 2) - LEFT;
    const uint at = ALONG_FIRST + byte - (4 * (lane / 4) + 2 * tile + word % 2) + FIRST_OF_WINDOW;
    along[tile][chunk][word] = (uint)(((ulong)bytes[at / 4 + 1] << 32 | bytes[at / 4]) >> 8 * (at % 4));
  }
}

// Columns of weights of the results of 16 rows, 8 in a matrix, for 32 rows. Bytes of a word are rows 2 q and 2 q + 1 of both halves of a step.
INLINED void make_down(uint down[2][2], local const uint* bytes, uint lane) {
#pragma unroll
  for (uint n = 0; n < 4; ++n) {
    uint four = 0;
#pragma unroll
    for (uint b = 0; b < 4; ++b) {
      const uint row = STEP * (n % 2) + 2 * (lane % 4) + b % 2 + 8 * (b / 2);
      four |= (uint)((local const uchar*)bytes)[DOWN_FIRST + row - (8 * (n / 2) + lane / 4)] << 8 * b;
    }
    down[n / 2][n % 2] = four;
  }
}

// Where a warp reads.
typedef struct {
  global const uchar* plane;
  ulong pitch;
  int rows, width;
  int first;    // byte of a row that its first lane loads, which may lie before the row
  bool inside;  // all bytes of a row that it loads exist
  uint beyond;  // four of the values beyond the edges
} source;

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

#define STEP_WORDS (4 * CHUNKS)  // of a work-item: word n is word n % 2 of chunk n / 2 % CHUNKS of the upper or the lower 8 rows

// Whether the 8 bytes of which a word is loaded lie beyond the edges of a row, or some of them.
static inline bool is_beyond(const source* s, int at) { return (at & ~7) < 0 || (at & ~7) + 8 > s->width; }

// Makes the words of a step that lie beyond the edges of a row byte by byte, and replaces them. Words of which no result is made stay 0.
INLINED void replace_words(uint w[2][CHUNKS][2], const source* s, global const uchar* upper, global const uchar* lower, int at,
                           local uint (*edge)[GROUP]) {
  const uint item = get_local_id(0), words = s->rows > 0 ? STEP_WORDS : 0;  // a number that no compiler knows: it would unroll the loop
#pragma unroll 1
  for (uint n = 0; n < words; ++n) {
    const int from = at + (int)(32 * (n / 2 % CHUNKS) + 4 * (n % 2));
    global const uchar* line = n < 2 * CHUNKS ? upper : lower;
    uint word = 0;
    if (is_beyond(s, from) && from < s->width + LEFT) {
#pragma unroll
      for (uint b = 0; b < 4; ++b) {
        const int place = element_in_few(from + (int)b, s->width);
        const uint byte = line[max(place, 0)];
        word |= (BOUNDARY < 2 && place < 0 ? s->beyond & 255 : byte) << 8 * b;
      }
    }
    edge[n][item] = word;
  }
#pragma unroll
  for (uint n = 0; n < STEP_WORDS; ++n)
    if (is_beyond(s, at + (int)(32 * (n / 2 % CHUNKS) + 4 * (n % 2)))) w[n / (2 * CHUNKS)][n / 2 % CHUNKS][n % 2] = edge[n][item];
}

// Loads a step's rows from `first_row` on: 8 bytes of each chunk of two rows that lie 8 apart.
INLINED void load_step(uint w[2][CHUNKS][2], const source* s, int first_row, uint lane, local uint (*edge)[GROUP]) {
  int place[2];
  global const uchar* row[2];
#pragma unroll
  for (uint t = 0; t < 2; ++t) {
    place[t] = place_in_few(first_row + (int)(8 * t + lane / 4), s->rows);
    row[t] = s->plane + (ulong)(uint)max(place[t], 0) * s->pitch;
  }
  const int at = s->first + (int)(8 * (lane % 4));
  // Words beyond the edges are replaced: which ones are loaded for them does not matter.
  const int least = s->inside ? INT_MIN : 0, most = s->inside ? INT_MAX : s->width / 8 * 8 - 8;
#pragma unroll
  for (uint t = 0; t < 2; ++t)
#pragma unroll
    for (uint c = 0; c < CHUNKS; ++c) {
      const uint2 two = *(global const uint2*)(row[t] + clamp(at + 32 * (int)c, least, most));
      w[t][c][0] = two.s0, w[t][c][1] = two.s1;
    }
  if (!s->inside) replace_words(w, s, row[0], row[1], at, edge);
#pragma unroll
  for (uint t = 0; t < 2; ++t)
    if (BOUNDARY < 2 && place[t] < 0) {
#pragma unroll
      for (uint c = 0; c < CHUNKS; ++c) w[t][c][0] = w[t][c][1] = s->beyond;
    }
}

// The bytes of a step's sums along rows, as operands of the products down columns: [0] the lower ones, [1] the upper ones.
typedef uint step_sums[2][BLOCKS][2][2];

INLINED void sum_along(step_sums sums, uint w[2][CHUNKS][2], uint along[2][2][4] MMA_SCRATCH_PARAMETER) {
  UNROLL_UNITS
  for (uint n = 0; n < 2 * BLOCKS; ++n) {
    const uint block = n / 2, tile = n % 2;
    uint d[2][4];
    UNROLL_UNITS
    for (uint t = 0; t < 2; ++t) {
      d[t][0] = d[t][1] = d[t][2] = d[t][3] = 0;
      multiply_bytes(d[t], along[tile][0], w[t][block] MMA_SCRATCH_ARGUMENT);
      multiply_bytes(d[t], along[tile][1], w[t][block + 1] MMA_SCRATCH_ARGUMENT);
    }
#pragma unroll
    for (uint r = 0; r < 2; ++r) {
      const uint a = permuted_bytes(d[0][2 * r], d[0][2 * r + 1], 0x5140), b = permuted_bytes(d[1][2 * r], d[1][2 * r + 1], 0x5140);
      sums[0][block][tile][r] = permuted_bytes(a, b, 0x5410);
      sums[1][block][tile][r] = permuted_bytes(a, b, 0x7632);
    }
  }
}

// The result of a sum, in byte RESULT_BYTE of a word. Means are rounded to the nearest; the product's error is at most 255 * 2^-24, and no mean
// is nearer than 1 / (2 * area) to the middle of two whole numbers, which is more: area <= 17 * 17.
#define RESULT_BYTE (MEAN ? 0 : 2)
#define TWO_RESULTS (RESULT_BYTE + (4 + RESULT_BYTE) * 16)  // a selector of two words' results
INLINED uint result_word(uint sum) {
#if MEAN
  const float area = ROW_TAPS * COLUMN_TAPS;
  return as_uint(fma(as_float(sum | 0x4b000000u) - 0x1p23f, 1 / area, 0x1p23f));
#else
  return sum;
#endif
}

// The results of two rows, 2 q and 2 q + 1 of 8, of four columns.
INLINED void sum_down(uint results[2], step_sums before, step_sums sums, const uint down[2], uint block MMA_SCRATCH_PARAMETER) {
  uint d[2][4];
  UNROLL_UNITS
  for (uint tile = 0; tile < 2; ++tile) {
    uint part[2][4] = {{HALF_A_UNIT, HALF_A_UNIT, HALF_A_UNIT, HALF_A_UNIT}, {0, 0, 0, 0}};
    UNROLL_UNITS
    for (uint byte = 0; byte < 2; ++byte) {
      const uint a[4] = {before[byte][block][tile][0], before[byte][block][tile][1], sums[byte][block][tile][0], sums[byte][block][tile][1]};
      multiply_bytes(part[byte], a, down MMA_SCRATCH_ARGUMENT);
    }
#pragma unroll
    for (uint i = 0; i < 4; ++i) d[tile][i] = result_word(part[0][i] + (part[1][i] << 8));
  }
#pragma unroll
  for (uint r = 0; r < 2; ++r) {
    const uint a = permuted_bytes(d[0][r], d[0][2 + r], TWO_RESULTS), b = permuted_bytes(d[1][r], d[1][2 + r], TWO_RESULTS);
    results[r] = permuted_bytes(a, b, 0x5410);
  }
}

// Writes four results of a row: those of columns [first_col, end_col).
static inline void store_four(global uchar* row, uint word, ulong col, ulong first_col, ulong end_col) {
  if (VECTOR_OUT && col >= first_col && col + 4 <= end_col) {
    *(global uint*)(row + col) = word;
    return;
  }
#pragma unroll
  for (uint b = 0; b < 4; ++b)
    if (col + b >= first_col && col + b < end_col) row[col + b] = (uchar)(word >> 8 * b);
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void separable_mma(SEPARABLE_ARGUMENTS, few_weights few) {
  (void)column_taps, (void)row_origin, (void)streaming, (void)scratch, (void)few;
  MMA_SCRATCH
  const uint warp = get_local_id(0) / 32, lane = get_local_id(0) % 32;
  local uint weight_bytes[WEIGHT_WORDS], edge[STEP_WORDS][GROUP];  // of `edge`, each work-item has its own column
  fill_weights(weight_bytes, weights);
  uint along[2][2][4], down[2][2];
  make_along(along, weight_bytes, lane);
  make_down(down, weight_bytes, lane);
  source s;
  s.pitch = in_pitch, s.rows = (int)rows, s.width = (int)width;
  s.beyond = (uint)value_beyond(weights) * 0x01010101u;
  const ulong across = (end_col + COLS - 1) / COLS, bands = (end_row - first_row + band - 1) / band, strips = across * bands * planes;
  for (ulong base = get_group_id(0) * (GROUP / 32); base < strips; base += get_num_groups(0) * (GROUP / 32)) {
    const ulong i = min(base + warp, strips - 1), line = i / across, p = line / bands;
    const ulong col = (i - line * across) * COLS, top = first_row + (line - p * bands) * band;
    const ulong end = base + warp < strips ? min(top + band, end_row) : 0;  // of the rows that it writes
    s.plane = in + plane_offset(p, depth, in_offset, in_stride, in_plane);
    s.first = (int)col - LEFT;
    s.inside = s.first >= 0 && s.first + 32 * CHUNKS <= s.width;
    global uchar* to = (global uchar*)out + plane_offset(p, depth, out_offset, out_stride, out_plane);

    uint w[2][CHUNKS][2];
    step_sums before, sums;
    // Two steps before the first results a step is loaded, one step before them it is summed up along rows.
    for (int y = -2 * STEP; y < (int)band; y += STEP) {
      if (y >= -STEP) sum_along(sums, w, along MMA_SCRATCH_ARGUMENT);
      if (y + STEP < (int)band) load_step(w, &s, (int)top - (int)column_origin + y + 2 * STEP, lane, edge);
      if (y >= 0) {
        UNROLL_UNITS
        for (uint n = 0; n < 2 * BLOCKS; ++n) {
          const uint half_step = n / BLOCKS, block = n % BLOCKS;
          uint results[2];
          sum_down(results, before, sums, down[half_step], block MMA_SCRATCH_ARGUMENT);
          const ulong at = top + (uint)y + 8 * half_step + 2 * (lane % 4), place = col + 32 * block + 4 * (lane / 4);
#pragma unroll
          for (uint r = 0; r < 2; ++r)
            if (at + r < end) store_four(to + (at + r) * out_pitch, results[r], place, first_col, end_col);
        }
      }
#pragma unroll
      for (uint n = 0; n < 8 * BLOCKS; ++n) before[n / (4 * BLOCKS)][n / 4 % BLOCKS][n / 2 % 2][n % 2] = sums[n / (4 * BLOCKS)][n / 4 % BLOCKS][n / 2 % 2][n % 2];
    }
  }
}
