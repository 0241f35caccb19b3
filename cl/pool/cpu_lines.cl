// Pooling for a CPU, without places: the rows of a window are joined first, and then the cells of the line that they make.
//
// A work-group is one work-item, which is one thread. What CELLS neighbouring windows have of the input's rows is joined into one line of
// numbers, in vectors, in which cells outside the plane change no result. Then the i-th cells of the windows are joined: of strides of 1
// and 2 in vectors, too.
//
// Launch: three dimensions of groups of one work-item: 1, bands of `band` rows of results, planes.
#include "pool/arguments.clh"
#include "common/integer_means.clh"

#ifndef STRIDE_W
#define STRIDE_W 2
#endif
#ifndef LINE
#define LINE 4096  // numbers; a window has at most a quarter in a row
#endif
#if USE_DOUBLE
#define LANES 8
#else
#define LANES 16
#endif
#if INTEGER
#define NUMBER int  // of a mean, the sum of a window fits it
#define LEAST_NUMBER INT_MIN
#else
#define NUMBER VALUE
#define LEAST_NUMBER (-INFINITY)
#endif
#define NEUTRAL (AVERAGE ? 0 : LEAST_NUMBER)
#define MOST_CELLS ((LINE / CHANNELS - LINE / CHANNELS / 4) / STRIDE_W)

typedef JOIN(NUMBER, LANES) numbers;
typedef struct __attribute__((packed)) { numbers v; } unaligned_numbers;
#define UNALIGNED(p) (((const unaligned_numbers*)(p))->v)
#if ELEMENT_HALF
#define LOAD_NUMBERS(p) CONVERT(numbers, JOIN(load_loose_halves, LANES)(p))
#else
#define LOAD_NUMBERS(p) CONVERT(numbers, LOAD_LOOSE(ELEMENT, LANES, p))
#endif

static inline NUMBER join_number(NUMBER a, NUMBER v) {
#if AVERAGE
  return a + v;
#elif INTEGER
  return v > a ? v : a;
#else
  return is_greater(v, a) ? v : a;
#endif
}

static inline numbers join_numbers(numbers a, numbers v) {
#if AVERAGE
  return a + v;
#elif INTEGER
  return v > a ? v : a;
#else
  return (~(v <= a) & (a == a)) ? v : a;  // as is_greater(): a comparison of halves with themselves LLVM makes one by one
#endif
}

// Joins elements from + i of a row of `width`, i < count, into line[i]. Not inlined: PoCL copies a kernel's body three times.
__attribute__((noinline)) void join_row(NUMBER* line, global const ELEMENT* row, long from, long count, long width) {
  const long inside = clamp(0 - from, 0L, count), end = clamp(width - from, inside, count);
  long i = inside;
  for (; i + LANES <= end; i += LANES) {
    unaligned_numbers* to = (unaligned_numbers*)(line + i);
    to->v = join_numbers(to->v, LOAD_NUMBERS(row + from + i));
  }
  for (; i < end; ++i) line[i] = join_number(line[i], (NUMBER)load_value(row, (ulong)(from + i)));
}

// The joined i-th numbers, i < width, of the windows of LANES results from `result` on.
static inline numbers join_windows(const NUMBER* line, uint result, uint width) {
  numbers a = NEUTRAL;
#if STRIDE_W == 1
  for (uint i = 0; i < width; ++i) a = join_numbers(a, UNALIGNED(line + result + i * CHANNELS));
#elif STRIDE_W == 2 && CHANNELS == 1
  for (uint i = 0; i < width; i += 2) {
    const numbers low = UNALIGNED(line + 2 * result + i), high = UNALIGNED(line + 2 * result + i + LANES);
    a = join_numbers(a, (numbers)(low.even, high.even));
    if (i + 1 < width) a = join_numbers(a, (numbers)(low.odd, high.odd));
  }
#else
  NUMBER each[LANES];
  for (uint k = 0; k < LANES; ++k) each[k] = NEUTRAL;
  for (uint i = 0; i < width; ++i)
    for (uint k = 0; k < LANES; ++k)
      each[k] = join_number(each[k], line[((result + k) / CHANNELS * STRIDE_W + i) * CHANNELS + (result + k) % CHANNELS]);
  a = UNALIGNED(each);
#endif
  return a;
}

static inline void store_one(global RESULT* to, NUMBER v, ulong count) {
#if AVERAGE
  store_pool_mean(to, 0, (pool_sum)v, count);
#else
  (void)count;
  store_result(to, 0, (result_value)v);
#endif
}

// Stores LANES results, whose windows all have `count` cells.
static inline void store_numbers(global RESULT* to, numbers v, uint count) {
  (void)count;
#if AVERAGE && !INTEGER
  v /= (numbers)(VALUE)count;
#endif
#if AVERAGE && INTEGER && RESULT_INTEGER
  STORE_LOOSE(RESULT, LANES, CONVERT(JOIN(RESULT, LANES), rounded_means(as_uint16(v), (int)count, 1 / (float)count)), to);
#elif AVERAGE && INTEGER
  if (count <= 256) {
    STORE_LOOSE(RESULT, LANES, small_means(as_uint16(v), (int)count, 1 / (float)count), to);
  } else {
    NUMBER each[LANES];
    ((unaligned_numbers*)each)->v = v;
    for (uint k = 0; k < LANES; ++k) store_one(to + k, each[k], count);
  }
#elif RESULT_HALF
  JOIN(store_loose_halves, LANES)(v, to);
#else
  STORE_LOOSE(RESULT, LANES, CONVERT(JOIN(RESULT, LANES), v), to);
#endif
}

// Results [0, results) of a row, of which those from `first` to `end` - 1 have all cells of their windows across. `height`: rows of a window.
__attribute__((noinline)) void store_row(global RESULT* to, const NUMBER* line, long results, long first, long end, long left, long in_w,
                                         uint width, uint height, uint whole_height) {
  for (long e = 0; e < results; e += LANES) {
    const numbers v = join_windows(line, (uint)e, width);
    const bool whole = !AVERAGE || COUNT_PADDING ? true : e >= first && e + LANES <= end;
    if (whole && e + LANES <= results) {
      store_numbers(to + e, v, width * (COUNT_PADDING ? whole_height : height));
      continue;
    }
    NUMBER each[LANES];
    ((unaligned_numbers*)each)->v = v;
    for (long k = e; k < min(e + LANES, results); ++k) {
      const long begin = left + k / CHANNELS * STRIDE_W, across = min(begin + (long)width, in_w) - max(begin, 0L);
      store_one(to + k, each[k - e], COUNT_PADDING ? (ulong)width * whole_height : (ulong)(across * height));
    }
  }
}

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void pool_cpu_lines(POOL_ARGUMENTS) {
  (void)scratch, (void)stride_w, (void)indices, (void)index_offset, (void)index_pitch, (void)index_plane, (void)index_stride;
  // Vectors may reach beyond the last window.
  NUMBER line[LINE + (LANES + 1) * STRIDE_W * CHANNELS + 2 * LANES];
  for (ulong p = get_group_id(2); p < planes; p += get_num_groups(2)) {
    global const ELEMENT* from = in + plane_place(p, depth, in_offset, in_stride, in_plane);
    for (ulong top = get_group_id(1) * band; top < out_h; top += get_num_groups(1) * band) {
      for (ulong y = top; y < min(top + band, out_h); ++y) {
        const long above = (long)(y * stride_h) - (long)pad_top;
        const long y0 = max(above, 0L), y1 = min(above + (long)window_h, (long)in_h);
        global RESULT* to = out + plane_place(p, depth, out_offset, out_stride, out_plane) + y * out_pitch;
        for (ulong x = 0; x < out_w; x += MOST_CELLS) {
          const long cells = (long)min((ulong)MOST_CELLS, out_w - x), left = (long)(x * STRIDE_W) - (long)pad_left;
          const long read = ((cells - 1) * STRIDE_W + window_w) * CHANNELS;
          for (long i = 0; i < read; ++i) line[i] = NEUTRAL;
          for (long row = y0; row < y1; ++row)
            join_row(line, from + (ulong)row * in_pitch, left * CHANNELS, read, (long)in_w * CHANNELS);
          const long first = left >= 0 ? 0 : (-left + STRIDE_W - 1) / STRIDE_W;
          const long room = (long)in_w - (long)window_w - left, end = room < 0 ? 0 : room / STRIDE_W + 1;
          store_row(to + x * CHANNELS, line, cells * CHANNELS, first * CHANNELS, end * CHANNELS, left, (long)in_w, window_w,
                    (uint)(y1 - y0), window_h);
        }
      }
    }
  }
}
