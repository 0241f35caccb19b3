// Filters of small square windows: the median of SIZE x SIZE, or the magnitude of the gradient by Sobel's weights.
//
// A work-item computes LANES neighbours of a row at a time, and loads their windows as SIZE * SIZE vectors from global memory;
// the cache serves all but the first load of an element. Medians are computed in registers: of 9 by a sorting network of 19
// exchanges (J. L. Smith, "Implementing median filters in XC4000E FPGAs", Xcell 23, 1996; A. W. Paeth, "Median finding on a
// 3 x 3 grid", Graphics Gems, 1990), of 25 by forgetful selection: of the first 14 neither the minimum nor the maximum can
// be the median, so both are dropped and the next element is added (M. McGuire, "A fast, small-radius GPU median filter",
// ShaderX6, 2008; G. Perrot et al., "Fine-tuned high-speed implementation of a GPU-based median filter", Journal of Signal
// Processing Systems 75, 2014).
//
// Launch: three dimensions of work-items: vectors of a row, bands of `band` rows, planes; grid-stride loops over all three.
#include "separable/arguments.clh"
#include "common/sub_group.clh"

#ifndef OPERATION
#define OPERATION 0  // 0: median, 1: magnitude of the gradient
#endif
#ifndef SIZE
#define SIZE 3  // 3 or 5
#endif
#ifndef WHOLE
#define WHOLE 0  // 1: the gradient of bytes on a CPU, to bytes, in 16 bits
#endif
#ifndef LANES
#define LANES 4  // 4; on CPUs 16, or 32 or 64 of integers where the compiler has such vectors
#endif
#define ON_CPU (LANES >= 16)
#if LANES > 16
typedef ELEMENT JOIN(ELEMENT, LANES) __attribute__((ext_vector_type(LANES)));
#if WHOLE
typedef short JOIN(short, LANES) __attribute__((ext_vector_type(LANES)));
typedef ushort JOIN(ushort, LANES) __attribute__((ext_vector_type(LANES)));
typedef int JOIN(int, LANES) __attribute__((ext_vector_type(LANES)));
typedef float JOIN(float, LANES) __attribute__((ext_vector_type(LANES)));
#endif
#endif
#define ROLLED _Pragma("nounroll")
#if ON_CPU
#define EACH_LANE ROLLED
#else
#define EACH_LANE _Pragma("unroll")
#endif
#include "common/group_by_dimension.clh"
#define RADIUS (SIZE / 2)
// Rows of results at a time, which have all but one of their windows' rows in common.
#define TALL (OPERATION == 0 && SIZE == 5 && ON_CPU ? 2 : 1)
#define WINDOW_ROWS (SIZE + TALL - 1)
#define COUNT (WINDOW_ROWS * SIZE)

// Bytes are compared as bytes, of which a vector has more.
#if OPERATION == 0 && !ELEMENT_HALF
typedef ELEMENT number;
typedef JOIN(ELEMENT, LANES) numbers;
#elif WHOLE
typedef short number;
typedef JOIN(short, LANES) numbers;
#else
typedef VALUE number;
typedef JOIN(VALUE, LANES) numbers;
#endif

#include "common/convert.clh"
#include "common/loose.clh"
#include "common/loose_halves.clh"

#if ELEMENT_HALF
#define INTEGER_ELEMENT 0
#else
#define INTEGER_ELEMENT ((ELEMENT)0.5f == (ELEMENT)0)
#endif

// Access to the elements of a vector: compilers for GPUs keep it in registers.
typedef union {
  numbers all;
  number each[LANES];
} lanes;

#if LANES > 16  // of PoCL alone
static inline numbers load_staged(const number* p) { return ((const struct __attribute__((packed)) { numbers v; }*)p)->v; }
#elif ON_CPU
static inline numbers load_staged(const number* p) { return vload16(0, p); }
#endif
static inline numbers load_numbers(global const ELEMENT* p) {
#if ELEMENT_HALF
  return JOIN(load_loose_halves, LANES)(p);
#elif OPERATION == 0
  return LOAD_LOOSE(ELEMENT, LANES, p);
#else
  return CONVERT(numbers, LOAD_LOOSE(ELEMENT, LANES, p));
#endif
}

#if OPERATION == 0
// Whether the compiler has the least and the greatest of vectors of any length as single instructions.
#if ON_CPU && defined(__has_builtin)
#if __has_builtin(__builtin_elementwise_min)
#define ELEMENTWISE 1
#endif
#endif

// Sorts two elements of the window. Numbers that are no integers are compared, since PoCL 3.1 calls fmin for each element of a vector; a
// comparison of vectors of integers would become seven instructions. 4096 x 4096 bytes on two cores of a Xeon, PoCL 5.0, ms by comparisons
// and so: 3 x 3 5.5 and 2.8, 5 x 5, with two windows together, 51 and 9.3 (OpenCV 7.5 and 57).
static inline void sort_pair(numbers w[COUNT], const uint a, const uint b) {
#ifdef ELEMENTWISE
  if (INTEGER_ELEMENT) {
    const numbers low = __builtin_elementwise_min(w[a], w[b]);
    w[b] = __builtin_elementwise_max(w[a], w[b]), w[a] = low;
    return;
  }
#endif
  const numbers least = w[a] < w[b] ? w[a] : w[b], most = w[a] < w[b] ? w[b] : w[a];
  w[a] = least, w[b] = most;
}

#if SIZE == 5 && ON_CPU
// The median of six numbers and a row.
static inline numbers median_with(const numbers six[6], const numbers row[SIZE]) {
  numbers v[7] = {six[0], six[1], six[2], six[3], six[4], six[5], row[0]};
  sort_pair(v, 0, 6); sort_pair(v, 1, 5); sort_pair(v, 2, 4); sort_pair(v, 0, 1); sort_pair(v, 0, 2); sort_pair(v, 0, 3);
  sort_pair(v, 3, 6); sort_pair(v, 4, 6); sort_pair(v, 5, 6); v[6] = row[1]; sort_pair(v, 1, 6); sort_pair(v, 2, 5);
  sort_pair(v, 3, 4); sort_pair(v, 1, 2); sort_pair(v, 1, 3); sort_pair(v, 4, 6); sort_pair(v, 5, 6); v[6] = row[2];
  sort_pair(v, 2, 6); sort_pair(v, 3, 5); sort_pair(v, 2, 3); sort_pair(v, 2, 4); sort_pair(v, 4, 6); sort_pair(v, 5, 6);
  v[6] = row[3]; sort_pair(v, 3, 6); sort_pair(v, 4, 5); sort_pair(v, 3, 4); sort_pair(v, 5, 6); v[6] = row[4];
  sort_pair(v, 4, 6); sort_pair(v, 4, 5); sort_pair(v, 5, 6);
  return v[5];
}
#endif

static inline void results_of(numbers made[TALL], numbers w[COUNT]) {
#if SIZE == 3
  sort_pair(w, 1, 2); sort_pair(w, 4, 5); sort_pair(w, 7, 8); sort_pair(w, 0, 1); sort_pair(w, 3, 4);
  sort_pair(w, 6, 7); sort_pair(w, 1, 2); sort_pair(w, 4, 5); sort_pair(w, 7, 8); sort_pair(w, 0, 3);
  sort_pair(w, 5, 8); sort_pair(w, 4, 7); sort_pair(w, 3, 6); sort_pair(w, 1, 4); sort_pair(w, 2, 5);
  sort_pair(w, 4, 7); sort_pair(w, 4, 2); sort_pair(w, 6, 4); sort_pair(w, 4, 2);
  made[0] = w[4];
#elif ON_CPU
  // Two windows, one below the other, have 20 numbers in common, of which the seven least and the seven greatest can be the median of
  // neither: of the first 14 both ends are dropped, and the next number is added. 103 exchanges, and 29 for each window.
  sort_pair(w, 5, 18); sort_pair(w, 6, 17); sort_pair(w, 7, 16); sort_pair(w, 8, 15); sort_pair(w, 9, 14);
  sort_pair(w, 10, 13); sort_pair(w, 11, 12); sort_pair(w, 5, 6); sort_pair(w, 5, 7); sort_pair(w, 5, 8);
  sort_pair(w, 5, 9); sort_pair(w, 5, 10); sort_pair(w, 5, 11); sort_pair(w, 12, 18); sort_pair(w, 13, 18);
  sort_pair(w, 14, 18); sort_pair(w, 15, 18); sort_pair(w, 16, 18); sort_pair(w, 17, 18); w[18] = w[19];
  sort_pair(w, 6, 18); sort_pair(w, 7, 17); sort_pair(w, 8, 16); sort_pair(w, 9, 15); sort_pair(w, 10, 14);
  sort_pair(w, 11, 13); sort_pair(w, 6, 7); sort_pair(w, 6, 8); sort_pair(w, 6, 9); sort_pair(w, 6, 10);
  sort_pair(w, 6, 11); sort_pair(w, 6, 12); sort_pair(w, 12, 18); sort_pair(w, 13, 18); sort_pair(w, 14, 18);
  sort_pair(w, 15, 18); sort_pair(w, 16, 18); sort_pair(w, 17, 18); w[18] = w[20]; sort_pair(w, 7, 18);
  sort_pair(w, 8, 17); sort_pair(w, 9, 16); sort_pair(w, 10, 15); sort_pair(w, 11, 14); sort_pair(w, 12, 13);
  sort_pair(w, 7, 8); sort_pair(w, 7, 9); sort_pair(w, 7, 10); sort_pair(w, 7, 11); sort_pair(w, 7, 12);
  sort_pair(w, 13, 18); sort_pair(w, 14, 18); sort_pair(w, 15, 18); sort_pair(w, 16, 18); sort_pair(w, 17, 18);
  w[18] = w[21]; sort_pair(w, 8, 18); sort_pair(w, 9, 17); sort_pair(w, 10, 16); sort_pair(w, 11, 15);
  sort_pair(w, 12, 14); sort_pair(w, 8, 9); sort_pair(w, 8, 10); sort_pair(w, 8, 11); sort_pair(w, 8, 12);
  sort_pair(w, 8, 13); sort_pair(w, 13, 18); sort_pair(w, 14, 18); sort_pair(w, 15, 18); sort_pair(w, 16, 18);
  sort_pair(w, 17, 18); w[18] = w[22]; sort_pair(w, 9, 18); sort_pair(w, 10, 17); sort_pair(w, 11, 16);
  sort_pair(w, 12, 15); sort_pair(w, 13, 14); sort_pair(w, 9, 10); sort_pair(w, 9, 11); sort_pair(w, 9, 12);
  sort_pair(w, 9, 13); sort_pair(w, 14, 18); sort_pair(w, 15, 18); sort_pair(w, 16, 18); sort_pair(w, 17, 18);
  w[18] = w[23]; sort_pair(w, 10, 18); sort_pair(w, 11, 17); sort_pair(w, 12, 16); sort_pair(w, 13, 15);
  sort_pair(w, 10, 11); sort_pair(w, 10, 12); sort_pair(w, 10, 13); sort_pair(w, 10, 14); sort_pair(w, 14, 18);
  sort_pair(w, 15, 18); sort_pair(w, 16, 18); sort_pair(w, 17, 18); w[18] = w[24]; sort_pair(w, 11, 18);
  sort_pair(w, 12, 17); sort_pair(w, 13, 16); sort_pair(w, 14, 15); sort_pair(w, 11, 12); sort_pair(w, 11, 13);
  sort_pair(w, 11, 14); sort_pair(w, 15, 18); sort_pair(w, 16, 18); sort_pair(w, 17, 18);
  made[0] = median_with(w + 12, w);
  made[1] = median_with(w + 12, w + 25);
#else
  // Round n has elements n to 13: pairs from both ends are sorted, then the minimum moves to n and the maximum to 13, where the
  // next element replaces it. 132 exchanges.
  sort_pair(w, 0, 13); sort_pair(w, 1, 12); sort_pair(w, 2, 11); sort_pair(w, 3, 10); sort_pair(w, 4, 9);
  sort_pair(w, 5, 8); sort_pair(w, 6, 7); sort_pair(w, 0, 1); sort_pair(w, 0, 2); sort_pair(w, 0, 3);
  sort_pair(w, 0, 4); sort_pair(w, 0, 5); sort_pair(w, 0, 6); sort_pair(w, 7, 13); sort_pair(w, 8, 13);
  sort_pair(w, 9, 13); sort_pair(w, 10, 13); sort_pair(w, 11, 13); sort_pair(w, 12, 13); w[13] = w[14];
  sort_pair(w, 1, 13); sort_pair(w, 2, 12); sort_pair(w, 3, 11); sort_pair(w, 4, 10); sort_pair(w, 5, 9);
  sort_pair(w, 6, 8); sort_pair(w, 1, 2); sort_pair(w, 1, 3); sort_pair(w, 1, 4); sort_pair(w, 1, 5);
  sort_pair(w, 1, 6); sort_pair(w, 1, 7); sort_pair(w, 7, 13); sort_pair(w, 8, 13); sort_pair(w, 9, 13);
  sort_pair(w, 10, 13); sort_pair(w, 11, 13); sort_pair(w, 12, 13); w[13] = w[15];
  sort_pair(w, 2, 13); sort_pair(w, 3, 12); sort_pair(w, 4, 11); sort_pair(w, 5, 10); sort_pair(w, 6, 9);
  sort_pair(w, 7, 8); sort_pair(w, 2, 3); sort_pair(w, 2, 4); sort_pair(w, 2, 5); sort_pair(w, 2, 6);
  sort_pair(w, 2, 7); sort_pair(w, 8, 13); sort_pair(w, 9, 13); sort_pair(w, 10, 13); sort_pair(w, 11, 13);
  sort_pair(w, 12, 13); w[13] = w[16];
  sort_pair(w, 3, 13); sort_pair(w, 4, 12); sort_pair(w, 5, 11); sort_pair(w, 6, 10); sort_pair(w, 7, 9);
  sort_pair(w, 3, 4); sort_pair(w, 3, 5); sort_pair(w, 3, 6); sort_pair(w, 3, 7); sort_pair(w, 3, 8);
  sort_pair(w, 8, 13); sort_pair(w, 9, 13); sort_pair(w, 10, 13); sort_pair(w, 11, 13); sort_pair(w, 12, 13);
  w[13] = w[17];
  sort_pair(w, 4, 13); sort_pair(w, 5, 12); sort_pair(w, 6, 11); sort_pair(w, 7, 10); sort_pair(w, 8, 9);
  sort_pair(w, 4, 5); sort_pair(w, 4, 6); sort_pair(w, 4, 7); sort_pair(w, 4, 8); sort_pair(w, 9, 13);
  sort_pair(w, 10, 13); sort_pair(w, 11, 13); sort_pair(w, 12, 13); w[13] = w[18];
  sort_pair(w, 5, 13); sort_pair(w, 6, 12); sort_pair(w, 7, 11); sort_pair(w, 8, 10); sort_pair(w, 5, 6);
  sort_pair(w, 5, 7); sort_pair(w, 5, 8); sort_pair(w, 5, 9); sort_pair(w, 9, 13); sort_pair(w, 10, 13);
  sort_pair(w, 11, 13); sort_pair(w, 12, 13); w[13] = w[19];
  sort_pair(w, 6, 13); sort_pair(w, 7, 12); sort_pair(w, 8, 11); sort_pair(w, 9, 10); sort_pair(w, 6, 7);
  sort_pair(w, 6, 8); sort_pair(w, 6, 9); sort_pair(w, 10, 13); sort_pair(w, 11, 13); sort_pair(w, 12, 13);
  w[13] = w[20];
  sort_pair(w, 7, 13); sort_pair(w, 8, 12); sort_pair(w, 9, 11); sort_pair(w, 7, 8); sort_pair(w, 7, 9);
  sort_pair(w, 7, 10); sort_pair(w, 10, 13); sort_pair(w, 11, 13); sort_pair(w, 12, 13); w[13] = w[21];
  sort_pair(w, 8, 13); sort_pair(w, 9, 12); sort_pair(w, 10, 11); sort_pair(w, 8, 9); sort_pair(w, 8, 10);
  sort_pair(w, 11, 13); sort_pair(w, 12, 13); w[13] = w[22];
  sort_pair(w, 9, 13); sort_pair(w, 10, 12); sort_pair(w, 9, 10); sort_pair(w, 9, 11); sort_pair(w, 11, 13);
  sort_pair(w, 12, 13); w[13] = w[23];
  sort_pair(w, 10, 13); sort_pair(w, 11, 12); sort_pair(w, 10, 11); sort_pair(w, 12, 13); w[13] = w[24];
  sort_pair(w, 11, 13); sort_pair(w, 11, 12); sort_pair(w, 12, 13);
  made[0] = w[12];
#endif
}
#else
#if !WHOLE
#define SLOPES numbers
#endif
#include "blur/slopes.clh"

#if WHOLE
// The magnitude of two slopes, rounded to the nearest byte. One step of Newton's from a guess at the reciprocal root (C. Lomont, "Fast
// inverse square root", 2003) is at most 0.18 % low, which is less than 1/2 of a byte: the root is the nearest integer or 1 below it.
static inline numbers magnitude(numbers across, numbers down) {
  typedef JOIN(ushort, LANES) squares;
  typedef JOIN(float, LANES) floats;
  typedef JOIN(int, LANES) integers;
  typedef union {
    floats real;
    integers bits;
  } number_bits;
  // Slopes of 255 and more make the result 255, as does a sum of squares that exceeds 16 bits.
  across = across < (short)255 ? across : (numbers)(short)255, down = down < (short)255 ? down : (numbers)(short)255;
  across = across > (short)-255 ? across : (numbers)(short)-255, down = down > (short)-255 ? down : (numbers)(short)-255;
  // The squares of 16 bits do not depend on the sign.
  const squares a = CONVERT(squares, across), b = CONVERT(squares, down), first = a * a;
  squares sum = first + b * b;
  sum = sum < first ? (squares)(ushort)65535 : sum;
  sum = sum < (ushort)65025 ? sum : (squares)(ushort)65025;
  const floats n = CONVERT(floats, CONVERT(integers, sum));
  number_bits guess, result;
  guess.real = n;
  guess.bits = 0x5f3759df - (guess.bits >> 1);
  const floats root = n * guess.real, less = root * guess.real - 3.0f;
  // The last bits of a sum with 1.5 * 2^23 are those of the nearest integer.
  result.real = root * less * -0.5f + 12582912.0f;
  const floats whole = result.real - 12582912.0f;
  result.bits -= n - whole * whole > whole;
  return CONVERT(numbers, result.bits);
}
#endif

static inline void results_of(numbers made[TALL], numbers w[COUNT]) {
  numbers across = 0, down = 0;
#pragma unroll
  for (int j = 0; j < SIZE; ++j)
#pragma unroll
    for (int i = 0; i < SIZE; ++i) {
      // A product by 0 is not always 0, unless the elements are integers.
      if (slope(i) != 0 || !INTEGER_ELEMENT) across += (number)(slope(i) * smooth(j)) * w[j * SIZE + i];
      if (slope(j) != 0 || !INTEGER_ELEMENT) down += (number)(smooth(i) * slope(j)) * w[j * SIZE + i];
    }
#if WHOLE
  made[0] = magnitude(across, down);
#else
  made[0] = magnitude_of(across, down);
#endif
}
#endif

#define ROUND_VECTORS (OPERATION == 1 && RESULT_INTEGER && ON_CPU && !WHOLE)
#if ROUND_VECTORS
// round_pixel() of vectors, by operations that CPUs have for vectors. A NaN becomes the lowest value there too.
static inline JOIN(int, LANES) round_numbers(numbers v) {
  v = v > (number)RESULT_LOW ? v : (numbers)(number)RESULT_LOW;
  v = v < (number)RESULT_HIGH ? v : (numbers)(number)RESULT_HIGH;
#if HALF_UP
  v += (number)0.5f;
  const JOIN(int, LANES) whole = CONVERT(JOIN(int, LANES), v);  // towards 0
  return whole + CONVERT(JOIN(int, LANES), CONVERT(numbers, whole) > v);
#else
#if USE_DOUBLE
  const number shift = sizeof(number) == 8 ? (number)0x1.8p52 : (number)0x1.8p23f;  // its neighbours are 1 apart
#else
  const number shift = 0x1.8p23f;
#endif
  return CONVERT(JOIN(int, LANES), (v + shift) - shift);
#endif
}
#endif

static inline void store_numbers(global RESULT* to, numbers v) {
#if OPERATION == 0 && RESULT_HALF
  JOIN(store_loose_halves, LANES)(v, to);
#elif OPERATION == 0 || WHOLE
  STORE_LOOSE(RESULT, LANES, CONVERT(JOIN(RESULT, LANES), v), to);
#elif ROUND_VECTORS
  STORE_LOOSE(RESULT, LANES, CONVERT(JOIN(RESULT, LANES), round_numbers(v)), to);
#else
  lanes made;
  made.all = v;
  EACH_LANE
  for (uint k = 0; k < LANES; ++k) store_pixel(to, k, made.each[k]);
#endif
}

#if ON_CPU
// Loads the windows of a vector at `col` by way of rows with the elements beyond the edges, too.
#define STAGED (LANES + 2 * RADIUS * CHANNELS)
static inline void load_beyond(numbers w[COUNT], global const ELEMENT* from, ulong in_pitch, const long places[WINDOW_ROWS], long col,
                               long width, VALUE beyond) {
  number staged[WINDOW_ROWS][STAGED];
  const long first = col - RADIUS * CHANNELS, inside = clamp(0 - first, 0L, (long)STAGED);
  const long outside = clamp(width - first, inside, (long)STAGED);
  ROLLED
  for (int j = 0; j < WINDOW_ROWS; ++j) {
    global const ELEMENT* line = from + (ulong)max(places[j], 0L) * in_pitch;
    if (places[j] >= 0)
      for (long i = inside; i < outside; ++i) staged[j][i] = (number)load_value(line, (ulong)(first + i));
    ROLLED
    for (long i = 0; i < STAGED; ++i) {
      if (places[j] >= 0 && i == inside) i = outside;
      if (i >= STAGED) break;
      const long place = element_within(first + i, width);
      staged[j][i] = (number)(places[j] < 0 || place < 0 ? beyond : load_value(line, (ulong)place));
    }
  }
#pragma unroll
  for (int j = 0; j < WINDOW_ROWS; ++j)
#pragma unroll
    for (int i = 0; i < SIZE; ++i) w[j * SIZE + i] = load_staged(staged[j] + i * CHANNELS);
}
#else
// Loads the elements at `col` and its neighbours, which may lie beyond the edges. `source`: their row; -1: the value beyond the edges.
static inline numbers gather_numbers(global const ELEMENT* from, ulong in_pitch, long source, long col, long width, VALUE beyond) {
  lanes gathered;
#pragma unroll
  for (int k = 0; k < LANES; ++k) {
    const long place = element_within(col + k, width);
    gathered.each[k] = (number)(source < 0 || place < 0 ? beyond : load_value(from + (ulong)source * in_pitch, (ulong)place));
  }
  return gathered.all;
}

// Loads a row of the window around `col`.
static inline void gather_row(numbers w[SIZE], global const ELEMENT* from, ulong in_pitch, long source, long col, long width,
                              VALUE beyond) {
  w[0] = gather_numbers(from, in_pitch, source, col - RADIUS * CHANNELS, width, beyond);
  w[1] = gather_numbers(from, in_pitch, source, col - (RADIUS - 1) * CHANNELS, width, beyond);
  w[2] = gather_numbers(from, in_pitch, source, col - (RADIUS - 2) * CHANNELS, width, beyond);
#if SIZE == 5
  w[3] = gather_numbers(from, in_pitch, source, col + CHANNELS, width, beyond);
  w[4] = gather_numbers(from, in_pitch, source, col + 2 * CHANNELS, width, beyond);
#endif
}

static inline void load_beyond(numbers w[COUNT], global const ELEMENT* from, ulong in_pitch, const long places[SIZE], long col,
                               long width, VALUE beyond) {
  // Without a loop: compilers do not unroll so much, and would keep the window in memory.
  gather_row(w, from, in_pitch, places[0], col, width, beyond);
  gather_row(w + SIZE, from, in_pitch, places[1], col, width, beyond);
  gather_row(w + 2 * SIZE, from, in_pitch, places[2], col, width, beyond);
#if SIZE == 5
  gather_row(w + 3 * SIZE, from, in_pitch, places[3], col, width, beyond);
  gather_row(w + 4 * SIZE, from, in_pitch, places[4], col, width, beyond);
#endif
}
#endif

// Computes the results of `count` rows, at most TALL, from `begin` on, a vector of each every `step`.
static inline void compute_rows(global RESULT* to, ulong out_pitch, global const ELEMENT* from, ulong in_pitch, long row, uint count,
                                ulong begin, ulong step, ulong first_col, ulong end_col, long rows, long width, VALUE beyond) {
  long places[WINDOW_ROWS];
  int there = 1;
#pragma unroll
  for (int j = 0; j < WINDOW_ROWS; ++j) {
    // The window of a row that is not computed has rows of the others.
    places[j] = place_within(row + (TALL == 1 ? j : min(j, SIZE + (int)count - 2)) - RADIUS, rows);
    there &= places[j] >= 0;
  }
  for (ulong col = begin; col < end_col; col += step) {
#if ON_CPU
    if (col + LANES > end_col && first_col + LANES <= end_col) col = end_col - LANES;  // again some of the vector before
#endif
    const int all = there && col >= RADIUS * CHANNELS && col + LANES + RADIUS * CHANNELS <= (ulong)width;
    numbers w[COUNT], results[TALL];
    if (all) {
#pragma unroll
      for (int j = 0; j < WINDOW_ROWS; ++j) {
        global const ELEMENT* line = from + (ulong)places[j] * in_pitch + col - RADIUS * CHANNELS;
#pragma unroll
        for (int i = 0; i < SIZE; ++i) w[j * SIZE + i] = load_numbers(line + i * CHANNELS);
      }
    } else {
      load_beyond(w, from, in_pitch, places, (long)col, width, beyond);
    }
    results_of(results, w);
#pragma unroll
    for (uint r = 0; r < TALL; ++r) {
      if (TALL > 1 && r >= count) break;
      global RESULT* line = to + r * out_pitch;
      if (col >= first_col && col + LANES <= end_col) {
        store_numbers(line + col, results[r]);
      } else {
        lanes made;
        made.all = results[r];
        EACH_LANE
        for (uint k = 0; k < LANES; ++k)
          if (col + k >= first_col && col + k < end_col) store_pixel(line, col + k, (VALUE)made.each[k]);
      }
    }
  }
}

kernel SUB_GROUP_SIZE __attribute__((reqd_work_group_size(GROUP_0, GROUP_1, GROUP_2)))
void window(SEPARABLE_ARGUMENTS) {
  (void)row_taps, (void)column_taps, (void)row_origin, (void)column_origin, (void)streaming, (void)scratch;
  // No barrier follows.
  for (ulong p = get_global_id(2); p < planes; p += get_global_size(2)) {
    for (ulong top = first_row + get_global_id(1) * band; top < end_row; top += get_global_size(1) * band) {
      const ulong end = min(top + band, end_row);
      for (ulong row = top; row < end; row += TALL) {
        compute_rows(out + plane_offset(p, depth, out_offset, out_stride, out_plane) + row * out_pitch, out_pitch,
                     in + plane_offset(p, depth, in_offset, in_stride, in_plane), in_pitch, (long)row,
                     (uint)min(end - row, (ulong)TALL), first_col + get_global_id(0) * LANES, get_global_size(0) * LANES, first_col,
                     end_col, (long)rows, (long)width, value_beyond(weights));
      }
    }
  }
}
