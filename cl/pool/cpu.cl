// Pooling for a CPU, any window: a thread has whole rows of results.
//
// A work-group is one work-item, which is one thread. What CELLS neighbouring windows have of a row of the input is converted
// into a line of numbers, in which cells outside the plane change no result. The i-th cells of all these windows join their
// results at once, in vectors. Windows are read from left to right and from top to bottom, so that the first of equal ones is
// found, as by pool/windows.cl.
//
// Launch: three dimensions of groups of one work-item: 1, bands of `band` rows of results, planes.
#include "pool/arguments.clh"

#ifndef STRIDE_W
#define STRIDE_W 2
#endif
#ifndef CELLS
#define CELLS 128  // cells of results at once
#endif
#ifndef LINE_CELLS
#define LINE_CELLS 1024  // of the input
#endif
#define LEAST_WIDTH (LINE_CELLS / 2)  // of a window, that a line holds of each
#define ENDS_OF_LINE ((LINE_CELLS - LEAST_WIDTH) / STRIDE_W + 1)
#define MOST_CELLS (ENDS_OF_LINE < CELLS ? ENDS_OF_LINE : CELLS)

#if INTEGER
#define NUMBER int
#define LEAST_NUMBER INT_MIN
#define IS_GREATER(v, greatest) ((v) > (greatest))
#else
#define NUMBER VALUE
#define LEAST_NUMBER (-INFINITY)
#define IS_GREATER(v, greatest) is_greater(v, greatest)
#endif
#if AVERAGE
typedef pool_sum joined;
#define NEUTRAL 0
#else
typedef NUMBER joined;
#define NEUTRAL LEAST_NUMBER
#endif

DEFINE_LOAD_RUN(load_numbers, private, NUMBER)
DEFINE_STORE_RUN(store_values, private)

// line[i] = element `from` + i of a row of `width`, for i < count.
static inline void fill_line(NUMBER* line, global const ELEMENT* row, long from, long count, long width) {
  const long inside = clamp(0 - from, 0L, count), end = clamp(width - from, inside, count);
  for (long i = 0; i < inside; ++i) line[i] = NEUTRAL;
  if (end > inside) load_numbers(line + inside, row, (ulong)(from + inside), (uint)(end - inside));
  for (long i = end; i < count; ++i) line[i] = NEUTRAL;
}

// Not inlined: PoCL copies a kernel's body three times, and vectorises each.
__attribute__((noinline)) void join_line(joined* own, uint* places, const NUMBER* line, uint cells, uint width, uint first_place) {
  for (uint i = 0; i < width; ++i) {
    for (uint k = 0; k < cells; ++k) {
      for (uint c = 0; c < CHANNELS; ++c) {
        const uint e = k * CHANNELS + c;
        const NUMBER v = line[(k * STRIDE_W + i) * CHANNELS + c];
#if AVERAGE
        own[e] += (joined)v;
#else
        const int greater = IS_GREATER(v, own[e]);
        own[e] = greater ? v : own[e];
#if INDICES
        places[e] = greater ? first_place + k * STRIDE_W + i : places[e];
#endif
#endif
      }
    }
  }
  (void)places, (void)first_place;
}

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void pool_cpu(POOL_ARGUMENTS) {
  (void)scratch, (void)stride_w;
#if !INDICES
  (void)indices, (void)index_offset, (void)index_pitch, (void)index_plane, (void)index_stride;
#endif
  NUMBER line[LINE_CELLS * CHANNELS];
  joined own[CELLS * CHANNELS];
#if INDICES
  uint places[CELLS * CHANNELS];
#else
  uint* places = 0;
#endif
  for (ulong p = get_group_id(2); p < planes; p += get_num_groups(2)) {
    global const ELEMENT* from = in + plane_place(p, depth, in_offset, in_stride, in_plane);
    for (ulong first = get_group_id(1) * band; first < out_h; first += get_num_groups(1) * band) {
      for (ulong y = first; y < min(first + band, out_h); ++y) {
        const long top = (long)(y * stride_h) - (long)pad_top;
        const long y0 = max(top, 0L), y1 = min(top + (long)window_h, (long)in_h);
        global RESULT* to = out + plane_place(p, depth, out_offset, out_stride, out_plane) + y * out_pitch;
        for (ulong x = 0; x < out_w; x += MOST_CELLS) {
          const uint cells = (uint)min((ulong)MOST_CELLS, out_w - x), numbers = cells * CHANNELS;
          const long left = (long)(x * STRIDE_W) - (long)pad_left;
          for (uint e = 0; e < numbers; ++e) {
            own[e] = NEUTRAL;
#if INDICES
            places[e] = (uint)((ulong)y0 * in_w + (ulong)max(left + (long)(e / CHANNELS * STRIDE_W), 0L));
#endif
          }
          for (long row = y0; row < y1; ++row) {
            for (uint at = 0; at < window_w; at += LEAST_WIDTH) {
              const uint width = min(window_w - at, (uint)LEAST_WIDTH), read = (cells - 1) * STRIDE_W + width;
              fill_line(line, from + (ulong)row * in_pitch, (left + at) * CHANNELS, (long)read * CHANNELS, (long)in_w * CHANNELS);
              join_line(own, places, line, cells, width, (uint)((ulong)row * in_w) + (uint)(left + at));
            }
          }
          result_value made[CELLS * CHANNELS];
          for (uint k = 0; k < cells; ++k) {
            const long begin = left + (long)(k * STRIDE_W), x0 = max(begin, 0L), x1 = min(begin + (long)window_w, (long)in_w);
            const ulong count = COUNT_PADDING ? (ulong)window_w * window_h : (ulong)((y1 - y0) * (x1 - x0));
            for (uint c = 0; c < CHANNELS; ++c) {
              const uint e = k * CHANNELS + c;
#if !AVERAGE
              made[e] = (result_value)own[e];
              (void)count;
#elif !INTEGER
              made[e] = (result_value)(own[e] / (VALUE)count);
#else
              store_pool_mean(to, x * CHANNELS + e, own[e], count);
#endif
            }
          }
#if !(AVERAGE && INTEGER)
          store_values(to, x * CHANNELS, made, numbers);
#endif
#if INDICES
          global uint* index = indices + plane_place(p, depth, index_offset, index_stride, index_plane) + y * index_pitch + x * CHANNELS;
          for (uint e = 0; e < numbers; ++e) index[e] = places[e];
#endif
        }
      }
    }
  }
}
