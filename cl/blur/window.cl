// What a small square window holds: the median of SIZE x SIZE, or the magnitude of the gradient by Sobel's weights.
//
// A work-item takes LANES neighbours of a row at a time, and reads their windows as SIZE * SIZE vectors: from memory, where
// the cache serves all but the first of the reads of an element. Results whose window reaches beyond the edges are made one
// by one. Medians are found in registers: of 9 by a network of 19 exchanges (J. L. Smith, "Implementing median filters in
// XC4000E FPGAs", Xcell 23, 1996; A. W. Paeth, "Median finding on a 3 x 3 grid", Graphics Gems, 1990), of 25 by forgetful
// selection: of the first 14 neither the least nor the greatest can be the median, they are forgotten, and the next one
// takes their place (M. McGuire, "A fast, small-radius GPU median filter", ShaderX6, 2008; G. Perrot et al., "Fine-tuned
// high-speed implementation of a GPU-based median filter", Journal of Signal Processing Systems 75, 2014).
//
// Launch: three dimensions of work-items: vectors of a row, bands of `band` rows, planes; what exceeds the launch is a loop.
#include "separable/arguments.clh"

#ifndef OPERATION
#define OPERATION 0  // 0: median, 1: magnitude of the gradient
#endif
#ifndef SIZE
#define SIZE 3  // 3 or 5
#endif
#ifndef LANES
#define LANES 4  // 4 or 16
#endif
#ifndef SWEEP
#define SWEEP 0  // 1: a work-item's loops are long, and its vectors those of a CPU
#endif
#ifndef GROUP_0
#define GROUP_0 32  // work-group, by dimension
#endif
#ifndef GROUP_1
#define GROUP_1 8
#endif
#ifndef GROUP_2
#define GROUP_2 1
#endif
#define RADIUS (SIZE / 2)
#define COUNT (SIZE * SIZE)

// Bytes are compared as bytes, which a vector holds more of.
#if OPERATION == 0 && !ELEMENT_HALF
typedef ELEMENT number;
typedef JOIN(ELEMENT, LANES) numbers;
#else
typedef VALUE number;
typedef JOIN(VALUE, LANES) numbers;
#endif

#ifdef __has_builtin
#if __has_builtin(__builtin_convertvector)
#define CONVERT(type, v) __builtin_convertvector(v, type)
#endif
#endif
#ifndef CONVERT
#define CONVERT(type, v) JOIN(convert_, type)(v)
#endif

static inline numbers load_numbers(global const ELEMENT* p) {
#if ELEMENT_HALF
  return JOIN(vload_half, LANES)(0, p);
#elif OPERATION == 0
  return JOIN(vload, LANES)(0, p);
#else
  return CONVERT(numbers, JOIN(vload, LANES)(0, p));
#endif
}

#if OPERATION == 0
// As a comparison, since PoCL 3.1 calls fmin for each element of a vector.
#define EXCHANGE(type, a, b) \
  {                          \
    const type least = a < b ? a : b, most = a < b ? b : a; \
    a = least, b = most;     \
  }
#if SIZE == 3
#define DEFINE_RESULT(name, type)                                                                      \
  static inline type name(type w[COUNT]) {                                                             \
    EXCHANGE(type, w[1], w[2]) EXCHANGE(type, w[4], w[5]) EXCHANGE(type, w[7], w[8])                   \
    EXCHANGE(type, w[0], w[1]) EXCHANGE(type, w[3], w[4]) EXCHANGE(type, w[6], w[7])                   \
    EXCHANGE(type, w[1], w[2]) EXCHANGE(type, w[4], w[5]) EXCHANGE(type, w[7], w[8])                   \
    EXCHANGE(type, w[0], w[3]) EXCHANGE(type, w[5], w[8]) EXCHANGE(type, w[4], w[7])                   \
    EXCHANGE(type, w[3], w[6]) EXCHANGE(type, w[1], w[4]) EXCHANGE(type, w[2], w[5])                   \
    EXCHANGE(type, w[4], w[7]) EXCHANGE(type, w[4], w[2]) EXCHANGE(type, w[6], w[4])                   \
    EXCHANGE(type, w[4], w[2])                                                                         \
    return w[4];                                                                                       \
  }
#else
// Round n has the places n to 13: the least goes to place n, the greatest to place 13, which element 14 + n then takes.
#define DEFINE_RESULT(name, type)                                                                      \
  static inline type name(type w[COUNT]) {                                                             \
    _Pragma("unroll") for (int n = 0; n < 12; ++n) {                                                   \
      _Pragma("unroll") for (int i = n + 1; i < 14; ++i) EXCHANGE(type, w[n], w[i])                    \
      _Pragma("unroll") for (int i = n + 1; i < 13; ++i) EXCHANGE(type, w[i], w[13])                   \
      if (n < 11) w[13] = w[14 + n];                                                                   \
    }                                                                                                  \
    return w[12];                                                                                      \
  }
#endif
#else
// Across, (-1 0 1) times (1 2 1) down; of 5, (-1 -2 0 2 1) times (1 4 6 4 1). Down, turned.
#define SLOPE(i) (SIZE == 3 ? (i) - 1 : (i) == 0 ? -1 : (i) == 1 ? -2 : (i) == 2 ? 0 : (i) == 3 ? 2 : 1)
#define SMOOTH(i) (SIZE == 3 ? ((i) == 1 ? 2 : 1) : (i) == 2 ? 6 : (i) % 4 == 0 ? 1 : 4)
#define DEFINE_RESULT(name, type)                                                                      \
  static inline type name(type w[COUNT]) {                                                             \
    type across = 0, down = 0;                                                                         \
    _Pragma("unroll") for (int j = 0; j < SIZE; ++j)                                                   \
      _Pragma("unroll") for (int i = 0; i < SIZE; ++i) {                                               \
        across += (number)(SLOPE(i) * SMOOTH(j)) * w[j * SIZE + i];                                    \
        down += (number)(SMOOTH(i) * SLOPE(j)) * w[j * SIZE + i];                                      \
      }                                                                                                \
    return sqrt(across * across + down * down);                                                        \
  }
#endif
DEFINE_RESULT(one_result, number)
DEFINE_RESULT(results_of, numbers)

static inline void store_one(global RESULT* to, ulong i, number v) { store_pixel(to, i, (VALUE)v); }

static inline void store_numbers(global RESULT* to, numbers v) {
#if OPERATION == 0 && RESULT_HALF
  JOIN(JOIN(vstore_half, LANES), _rte)(v, 0, to);
#elif OPERATION == 0
  JOIN(vstore, LANES)(CONVERT(JOIN(RESULT, LANES), v), 0, to);
#else
  VALUE each[LANES];
  JOIN(vstore, LANES)(v, 0, each);
#pragma unroll
  for (uint k = 0; k < LANES; ++k) store_one(to, k, each[k]);
#endif
}

// One result, whose window may reach beyond the edges.
static inline void make_one(global RESULT* to, global const ELEMENT* from, ulong in_pitch, long row, long col, long rows,
                            long width, VALUE beyond) {
  number w[COUNT];
  for (int j = 0; j < SIZE; ++j) {
    const long source = place_within(row + j - RADIUS, rows);
    for (int i = 0; i < SIZE; ++i) {
      const long place = element_within(col + (i - RADIUS) * CHANNELS, width);
      w[j * SIZE + i] = (number)(source < 0 || place < 0 ? beyond : load_value(from + (ulong)source * in_pitch, (ulong)place));
    }
  }
  store_one(to, (ulong)col, one_result(w));
}

// The results of a row from `begin` on, a vector every `step`.
static inline void make_row(global RESULT* to, global const ELEMENT* from, ulong in_pitch, long row, ulong begin, ulong step,
                            ulong first_col, ulong end_col, long rows, long width, VALUE beyond) {
  const long places[5] = {place_within(row - RADIUS, rows), place_within(row + 1 - RADIUS, rows), place_within(row + 2 - RADIUS, rows),
                          place_within(row + 3 - RADIUS, rows), place_within(row + SIZE - 1 - RADIUS, rows)};
  int there = 1;
  for (int j = 0; j < SIZE; ++j) there &= places[j] >= 0;
  for (ulong col = begin; col < end_col; col += step) {
    if (there && col >= RADIUS * CHANNELS && col + LANES + RADIUS * CHANNELS <= (ulong)width && col + LANES <= end_col) {
      numbers w[COUNT];
#pragma unroll
      for (int j = 0; j < SIZE; ++j) {
        global const ELEMENT* line = from + (ulong)places[j] * in_pitch + col - RADIUS * CHANNELS;
#pragma unroll
        for (int i = 0; i < SIZE; ++i) w[j * SIZE + i] = load_numbers(line + i * CHANNELS);
      }
      store_numbers(to + col, results_of(w));
    } else {
      for (ulong c = max(col, first_col); c < min(col + LANES, end_col); ++c)
        make_one(to, from, in_pitch, row, (long)c, rows, width, beyond);
    }
  }
}

kernel __attribute__((reqd_work_group_size(GROUP_0, GROUP_1, GROUP_2)))
void window(SEPARABLE_ARGUMENTS) {
  (void)row_taps, (void)column_taps, (void)row_origin, (void)column_origin, (void)streaming, (void)scratch;
  // No barrier follows.
  for (ulong p = get_global_id(2); p < planes; p += get_global_size(2)) {
    for (ulong top = first_row + get_global_id(1) * band; top < end_row; top += get_global_size(1) * band) {
      for (ulong row = top; row < min(top + band, end_row); ++row) {
        make_row(out + PLANE_OFFSET(p, out) + row * out_pitch, in + PLANE_OFFSET(p, in), in_pitch, (long)row,
                 first_col + get_global_id(0) * LANES, get_global_size(0) * LANES, first_col, end_col, (long)rows, (long)width,
                 BEYOND);
      }
    }
  }
}
