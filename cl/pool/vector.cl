// Pooling of one channel, for windows that are known when this is compiled: a work-item makes RESULTS neighbours, and reads
// the rows of their windows in vectors, of which all are under way together.
//
// Launch: three dimensions of work-items: RESULTS elements of a row of results, bands of `band` rows, planes; what exceeds the
// launch is a loop. Results whose windows are not all there, or do not fill a vector, are made one by one.
#include "pool/arguments.clh"

#ifndef WINDOW_W
#define WINDOW_W 2
#endif
#ifndef WINDOW_H
#define WINDOW_H 2
#endif
#ifndef STRIDE_W
#define STRIDE_W 2
#endif
#ifndef RESULTS
#define RESULTS 4  // 2, 4, 8 or 16
#endif
#ifndef READ
#define READ 4  // elements that are read at once, from a place that is a multiple of as many; 1: from anywhere
#endif
#ifndef VECTOR_OUT
#define VECTOR_OUT 1  // 1: rows of results begin at multiples of RESULTS elements
#endif
#include "common/group_by_dimension.clh"
#define SPAN ((RESULTS - 1) * STRIDE_W + WINDOW_W)  // elements of a row that RESULTS windows have
#if INTEGER
typedef int number;
static inline number greater_of(number a, number b) { return max(a, b); }
#else
typedef VALUE number;
static inline number greater_of(number a, number b) { return is_greater(b, a) ? b : a; }
#endif

static inline void read_span(global const ELEMENT* p, number v[SPAN]) {
#if READ > 1 && SPAN % READ == 0
#pragma unroll
  for (uint n = 0; n < SPAN / READ; ++n) {
    union {
#if ELEMENT_HALF
      JOIN(float, READ) all;
      float each[READ];
#else
      JOIN(ELEMENT, READ) all;
      ELEMENT each[READ];
#endif
    } u;
#if ELEMENT_HALF
    u.all = JOIN(vloada_half, READ)(n, p);
#else
    u.all = ((global const JOIN(ELEMENT, READ)*)p)[n];
#endif
#pragma unroll
    for (uint k = 0; k < READ; ++k) v[n * READ + k] = (number)u.each[k];
  }
#else
#pragma unroll
  for (uint k = 0; k < SPAN; ++k) v[k] = (number)load_value(p, k);
#endif
}

static inline void store_numbers(global RESULT* to, const number made[RESULTS]) {
#if VECTOR_OUT && RESULT_HALF && RESULTS >= 4
#pragma unroll
  for (uint n = 0; n < RESULTS / 4; ++n) {
    const float4 four = (float4)(made[4 * n], made[4 * n + 1], made[4 * n + 2], made[4 * n + 3]);
    store_halves4(four, to + 4 * n);
  }
#elif VECTOR_OUT && !RESULT_HALF
  union {
    JOIN(RESULT, RESULTS) all;
    RESULT each[RESULTS];
  } u;
#pragma unroll
  for (uint k = 0; k < RESULTS; ++k) u.each[k] = (RESULT)made[k];
  *(global JOIN(RESULT, RESULTS)*)to = u.all;
#else
#pragma unroll
  for (uint k = 0; k < RESULTS; ++k) store_pixel(to, k, (VALUE)made[k]);
#endif
}

// One result, of the cells of its window that lie in the plane.
static inline void make_one(global RESULT* to, global const ELEMENT* from, ulong in_pitch, ulong x, long top, ulong in_w, ulong in_h,
                            uint pad_left) {
  const long left = (long)(x * STRIDE_W) - (long)pad_left;
  number made = 0;
  uint found = 0;  // cells of the window that lie in the plane
#pragma unroll
  for (uint j = 0; j < WINDOW_H; ++j)
#pragma unroll
    for (uint i = 0; i < WINDOW_W; ++i) {
      const long row = top + j, column = left + i;
      if (row >= 0 && row < (long)in_h && column >= 0 && column < (long)in_w) {
        const number v = (number)load_value(from + (ulong)row * in_pitch, (ulong)column);
        made = AVERAGE ? made + v : found == 0 ? v : greater_of(made, v);
        ++found;
      }
    }
#if AVERAGE
  const ulong count = COUNT_PADDING ? WINDOW_W * WINDOW_H : found;
  store_pool_mean(to, x, (pool_sum)made, count);
#else
  store_pixel(to, x, (VALUE)made);
#endif
}

kernel __attribute__((reqd_work_group_size(GROUP_0, GROUP_1, GROUP_2)))
void pool_vector(POOL_ARGUMENTS) {
  (void)indices, (void)index_offset, (void)index_pitch, (void)index_plane, (void)index_stride, (void)scratch, (void)window_w,
      (void)window_h, (void)stride_w;
  // No barrier follows.
  for (ulong p = get_global_id(2); p < planes; p += get_global_size(2)) {
    global const ELEMENT* from = in + plane_place(p, depth, in_offset, in_stride, in_plane);
    for (ulong first = get_global_id(1) * band; first < out_h; first += get_global_size(1) * band) {
      for (ulong y = first; y < min(first + band, out_h); ++y) {
        const long top = (long)(y * stride_h) - (long)pad_top;
        const int rows_there = top >= 0 && top + WINDOW_H <= (long)in_h;
        global RESULT* to = out + plane_place(p, depth, out_offset, out_stride, out_plane) + y * out_pitch;
        for (ulong x = get_global_id(0) * RESULTS; x < out_w; x += get_global_size(0) * RESULTS) {
          const long left = (long)(x * STRIDE_W) - (long)pad_left;
          if (rows_there && left >= 0 && left + SPAN <= (long)in_w && x + RESULTS <= out_w) {
            number v[WINDOW_H][SPAN], made[RESULTS];
#pragma unroll
            for (uint j = 0; j < WINDOW_H; ++j) read_span(from + ((ulong)top + j) * in_pitch + (ulong)left, v[j]);
#pragma unroll
            for (uint k = 0; k < RESULTS; ++k) {
              made[k] = AVERAGE ? 0 : v[0][k * STRIDE_W];
#pragma unroll
              for (uint j = 0; j < WINDOW_H; ++j)
#pragma unroll
                for (uint i = 0; i < WINDOW_W; ++i) {
#if AVERAGE
                  made[k] += v[j][k * STRIDE_W + i];
#else
                  made[k] = greater_of(made[k], v[j][k * STRIDE_W + i]);
#endif
                }
            }
#if AVERAGE
#pragma unroll
            for (uint k = 0; k < RESULTS; ++k) store_pool_mean(to, x + k, (pool_sum)made[k], WINDOW_W * WINDOW_H);
#else
            store_numbers(to + x, made);
#endif
          } else {
            for (ulong k = x; k < min(x + RESULTS, out_w); ++k) make_one(to, from, in_pitch, k, top, in_w, in_h, pad_left);
          }
        }
      }
    }
  }
}
