// Pooling, any window: a work-item makes one result after the other, from global memory. Windows of few cells are known when this is
// compiled: a cell beyond the plane's edges is the nearest one of the window again, so that all loads are under way together. INSIDE: no
// window has such cells.
//
// Launch: three dimensions of work-items: element of a row of results, bands of `band` rows (DOWN, if it is more than 1), planes; what exceeds the
// launch is a loop. On a CPU a work-item has whole rows.
#ifndef WINDOW_W
#define WINDOW_W 0  // cells of a window across, and down; 0: arguments
#endif
#ifndef WINDOW_H
#define WINDOW_H 0
#endif
#define SMALL_SUMS (WINDOW_W * WINDOW_H > 0 && WINDOW_W * WINDOW_H <= 0x10000)
#include "pool/arguments.clh"
#include "common/group_by_dimension.clh"

#ifndef INSIDE
#define INSIDE 0
#endif
#ifndef FEW
#define FEW 0  // 1: planes, and what rows and columns have, are counted in 31 bits
#endif
#ifndef DOWN
#define DOWN 1  // results of a work-item at a time, one below the other, of windows that are known
#endif
#define IS_FIXED (WINDOW_W > 0)
#if FEW
typedef int count_of;
#else
typedef long count_of;
#endif

// Where a plane begins, by divisions of as many bits as are needed.
static inline ulong plane_begin(ulong p, ulong depth, ulong offset, ulong stride, ulong plane) {
#if FEW
  const uint grid = (uint)p / (uint)depth;
  return offset + grid * stride + ((uint)p - grid * (uint)depth) * plane;
#else
  return plane_place(p, depth, offset, stride, plane);
#endif
}

// The cells [x0, x1) x [y0, y1) of a window that begins at (left, top).
typedef struct {
  count_of left, top, x0, x1, y0, y1;
} cells;

#if IS_FIXED && !INSIDE
static inline ulong row_of(const cells* w, count_of j) { return (ulong)clamp(w->top + j, w->y0, w->y1 - 1); }
static inline ulong col_of(const cells* w, count_of i) { return (ulong)clamp(w->left + i, w->x0, w->x1 - 1); }
#else
static inline ulong row_of(const cells* w, count_of j) { return (ulong)(w->y0 + j); }
static inline ulong col_of(const cells* w, count_of i) { return (ulong)(w->x0 + i); }
#endif
#if AVERAGE && DOWN == 1
static inline int is_within(const cells* w, count_of i, count_of j) {
  return !IS_FIXED || INSIDE || (w->left + i >= w->x0 && w->left + i < w->x1 && w->top + j >= w->y0 && w->top + j < w->y1);
}
#endif

#if DOWN > 1
#include "pool/windows_down.clh"
#endif

kernel __attribute__((reqd_work_group_size(GROUP_0, GROUP_1, GROUP_2)))
void pool_windows(POOL_ARGUMENTS) {
  (void)scratch;
#if !INDICES
  (void)indices, (void)index_offset, (void)index_pitch, (void)index_plane, (void)index_stride;
#endif
  const count_of full_w = IS_FIXED ? WINDOW_W : (count_of)window_w, full_h = IS_FIXED ? WINDOW_H : (count_of)window_h;
  // No barrier follows.
  for (ulong p = get_global_id(2); p < planes; p += get_global_size(2)) {
    global const ELEMENT* from = in + plane_begin(p, depth, in_offset, in_stride, in_plane);
    global RESULT* to = out + plane_begin(p, depth, out_offset, out_stride, out_plane);
    for (ulong first = get_global_id(1) * band; first < out_h; first += get_global_size(1) * band) {
#if DOWN > 1
      const count_of top = (count_of)(first * stride_h) - (count_of)pad_top, rows = (count_of)min(out_h - first, (ulong)DOWN);
      for (ulong col = get_global_id(0); col < out_w * CHANNELS; col += get_global_size(0)) {
        const count_of x = (count_of)col / CHANNELS, left = x * (count_of)stride_w - (count_of)pad_left;
        make_down(from + (col - (ulong)x * CHANNELS), in_pitch, (count_of)in_w, (count_of)in_h, left, top, to + first * out_pitch + col,
                  out_pitch, rows);
      }
#else
      for (ulong y = first; y < min(first + band, out_h); ++y) {
        cells w;
        w.top = (count_of)(y * stride_h) - (count_of)pad_top;
        w.y0 = INSIDE ? w.top : max(w.top, (count_of)0), w.y1 = INSIDE ? w.top + full_h : min(w.top + full_h, (count_of)in_h);
        for (ulong col = get_global_id(0); col < out_w * CHANNELS; col += get_global_size(0)) {
          const count_of x = (count_of)col / CHANNELS;
          const ulong c = col - (ulong)x * CHANNELS;
          w.left = x * (count_of)stride_w - (count_of)pad_left;
          w.x0 = INSIDE ? w.left : max(w.left, (count_of)0), w.x1 = INSIDE ? w.left + full_w : min(w.left + full_w, (count_of)in_w);
          const count_of rows = IS_FIXED ? full_h : w.y1 - w.y0, cols = IS_FIXED ? full_w : w.x1 - w.x0;
#if AVERAGE
          pool_sum sum = 0;
#else
          VALUE greatest = load_value(from + row_of(&w, 0) * in_pitch, col_of(&w, 0) * CHANNELS + c);
          uint place = (uint)row_of(&w, 0) * (uint)in_w + (uint)col_of(&w, 0);
#endif
#if IS_FIXED
#pragma unroll
#endif
          for (count_of j = 0; j < rows; ++j) {
            global const ELEMENT* row = from + row_of(&w, j) * in_pitch + c;
#if IS_FIXED
#pragma unroll
#endif
            for (count_of i = 0; i < cols; ++i) {
              const VALUE v = load_value(row, col_of(&w, i) * CHANNELS);
#if AVERAGE
              sum += is_within(&w, i, j) ? (pool_sum)v : 0;
#else
              const int wins = is_greater(v, greatest);
              greatest = wins ? v : greatest;
              place = wins ? (uint)row_of(&w, j) * (uint)in_w + (uint)col_of(&w, i) : place;
#endif
            }
          }
#if AVERAGE
          const ulong count = COUNT_PADDING ? (ulong)window_w * window_h : (ulong)((w.y1 - w.y0) * (w.x1 - w.x0));
          store_pool_mean(to + y * out_pitch, col, sum, count);
#else
          store_pixel(to + y * out_pitch, col, greatest);
#if INDICES
          indices[plane_begin(p, depth, index_offset, index_stride, index_plane) + y * index_pitch + col] = place;
#else
          (void)place;
#endif
#endif
        }
      }
#endif
    }
  }
}
