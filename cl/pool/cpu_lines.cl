// Pooling for a CPU, without places: the rows of a window are joined first, and then the cells of the line that they make.
//
// A work-group is one work-item, which is one thread. What CELLS neighbouring windows have of the input's rows is joined into one line of
// numbers, in vectors, in which cells outside the plane change no result. Then the i-th cells of the windows are joined: of strides of 1
// and 2 in vectors, too. Bytes and 16-bit integers stay as narrow as their results allow.
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
#ifdef __has_builtin
#if __has_builtin(__builtin_shufflevector) && STRIDE_W == 2
#define PICKS 1
#endif
#endif
#ifndef PICKS
#define PICKS 0  // 1: the compiler picks any elements of two vectors
#endif
#ifndef NARROW_LANES
#define NARROW_LANES 0  // not 0: so many lanes of the narrowest integer that a window's sum or greatest element fits, RESULT being ELEMENT
#endif
#ifndef PAIRS
#define PAIRS 0  // not 0: so many windows of two bytes across at once
#endif
#if NARROW_LANES
#define LANES NARROW_LANES
#elif USE_DOUBLE
#define LANES 8
#else
#define LANES 16
#endif
#if NARROW_LANES && AVERAGE
#define NUMBER ushort
#elif NARROW_LANES
#define NUMBER ELEMENT
#define LEAST_NUMBER 0
#elif INTEGER
#define NUMBER int  // of a mean, the sum of a window fits it
#define LEAST_NUMBER INT_MIN
#else
#define NUMBER VALUE
#define LEAST_NUMBER (-INFINITY)
#endif
#if AVERAGE
#define NEUTRAL 0
#else
#define NEUTRAL LEAST_NUMBER
#endif
#define MOST_CELLS ((LINE / CHANNELS - LINE / CHANNELS / 4) / STRIDE_W)

#if NARROW_LANES > 16
typedef uchar JOIN(uchar, LANES) __attribute__((ext_vector_type(LANES)));
typedef ushort JOIN(ushort, LANES) __attribute__((ext_vector_type(LANES)));
typedef uint JOIN(uint, LANES) __attribute__((ext_vector_type(LANES)));
#endif
// Which of 2 * LANES neighbours are the first cells of LANES windows, two cells apart.
#define PICKED(k) (k) / CHANNELS * 2 * CHANNELS + (k) % CHANNELS
#define PICKED_8(k) \
  PICKED(k), PICKED(k + 1), PICKED(k + 2), PICKED(k + 3), PICKED(k + 4), PICKED(k + 5), PICKED(k + 6), PICKED(k + 7)
#define PICKED_16(k) PICKED_8(k), PICKED_8(k + 8)
#define PICKED_32(k) PICKED_16(k), PICKED_16(k + 16)
#define PICKED_64(k) PICKED_32(k), PICKED_32(k + 32)

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

// Joins elements from + i of a row of `width`, i < count, into line[i], which `is_first` sets. Not inlined: PoCL copies a kernel's body
// three times.
__attribute__((noinline)) void join_row(NUMBER* line, global const ELEMENT* row, long from, long count, long width, bool is_first) {
  const long inside = clamp(0 - from, 0L, count), end = clamp(width - from, inside, count);
  if (is_first) {
    for (long i = 0; i < inside; ++i) line[i] = NEUTRAL;
    for (long i = end; i < count; ++i) line[i] = NEUTRAL;
  }
  long i = inside;
  for (; i + LANES <= end; i += LANES) {
    unaligned_numbers* to = (unaligned_numbers*)(line + i);
    const numbers v = LOAD_NUMBERS(row + from + i);
    to->v = is_first ? v : join_numbers(to->v, v);
  }
  for (; i < end; ++i) {
    const NUMBER v = (NUMBER)load_value(row, (ulong)(from + i));
    line[i] = is_first ? v : join_number(line[i], v);
  }
}

// The joined numbers of `width` cells of the windows of LANES results from `result` on, which is the first channel of a cell.
static inline numbers join_windows(const NUMBER* line, uint result, uint width) {
  numbers a = NEUTRAL;
#if STRIDE_W == 1
  for (uint i = 0; i < width; ++i) a = join_numbers(a, UNALIGNED(line + result + i * CHANNELS));
#elif PICKS
  for (uint i = 0; i < width; ++i) {
    const NUMBER* from = line + 2 * result + i * CHANNELS;
    a = join_numbers(a, __builtin_shufflevector(UNALIGNED(from), UNALIGNED(from + LANES), JOIN(PICKED_, LANES)(0)));
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

#if NARROW_LANES && AVERAGE
// v / n rounded to the nearest, ties to even, of sums of at most 256 bytes. The product by the inverse is at most one too small.
static inline numbers narrow_means(numbers v, uint n, ushort inverse_of_n) {
  if ((n & (n - 1)) == 0) return n == 1 ? v : (v + (ushort)(n / 2 - 1) + (v >> (ushort)(31 - clz(n)) & (ushort)1)) >> (ushort)(31 - clz(n));
  typedef JOIN(uint, LANES) wide_numbers;
  const numbers count = (ushort)n, sum = v + (ushort)(n / 2), inverse = inverse_of_n;
  const numbers even = (ushort)(n % 2 == 0);
  numbers mean = CONVERT(numbers, CONVERT(wide_numbers, sum) * CONVERT(wide_numbers, inverse) >> 16), left = sum - mean * count;
  const numbers more = left >= count ? (numbers)1 : (numbers)0;
  mean += more;
  left -= more * count;
  return mean - (left == (numbers)0 ? mean & even : (numbers)0);
}
#endif

// Stores LANES results, whose windows all have `count` cells.
static inline void store_numbers(global RESULT* to, numbers v, uint count, ushort inverse) {
  (void)count, (void)inverse;
#if NARROW_LANES && AVERAGE
  v = narrow_means(v, count, inverse);
#endif
#if AVERAGE && !INTEGER
  v /= (numbers)(VALUE)count;
#endif
#if AVERAGE && INTEGER && RESULT_INTEGER && !NARROW_LANES
  STORE_LOOSE(RESULT, LANES, CONVERT(JOIN(RESULT, LANES), rounded_means(as_uint16(v), (int)count, 1 / (float)count)), to);
#elif AVERAGE && INTEGER && !NARROW_LANES
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
  const uint count = width * (COUNT_PADDING ? whole_height : height);
  const ushort inverse = (ushort)min(0x10000 / count, 0xffffu);  // of narrow_means()
  for (long e = 0; e < results; e += LANES - LANES % CHANNELS) {
    const numbers v = join_windows(line, (uint)e, width);
    const bool whole = !AVERAGE || COUNT_PADDING ? true : e >= first && e + LANES <= end;
    if (whole && e + LANES <= results) {
      store_numbers(to + e, v, count, inverse);
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

#if PAIRS
#include "pool/pairs.clh"
#endif

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
        ulong whole = 0;
#if PAIRS
        whole = min(out_w, in_w / 2) >= PAIRS ? min(out_w, in_w / 2) : 0;
        const uint height = (uint)(y1 - y0);
        if (whole > 0) store_pairs(to, from + (ulong)y0 * in_pitch, in_pitch, whole, height, 2 * (COUNT_PADDING ? window_h : height));
#endif
        for (ulong x = whole; x < out_w; x += MOST_CELLS) {
          const long cells = (long)min((ulong)MOST_CELLS, out_w - x), left = (long)(x * STRIDE_W) - (long)pad_left;
          const long read = ((cells - 1) * STRIDE_W + window_w) * CHANNELS;
          for (long row = y0; row < y1; ++row)
            join_row(line, from + (ulong)row * in_pitch, left * CHANNELS, read, (long)in_w * CHANNELS, row == y0);
          const long first = left >= 0 ? 0 : (-left + STRIDE_W - 1) / STRIDE_W;
          const long room = (long)in_w - (long)window_w - left, end = room < 0 ? 0 : room / STRIDE_W + 1;
          store_row(to + x * CHANNELS, line, cells * CHANNELS, first * CHANNELS, end * CHANNELS, left, (long)in_w, window_w,
                    (uint)(y1 - y0), window_h);
        }
      }
    }
  }
}
