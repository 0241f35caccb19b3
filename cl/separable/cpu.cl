// Separable filter for a CPU: a thread computes bands of rows, in strips that fit its cache.
//
// A work-group is one work-item, which is one thread. Each row of the input is converted once, with its halo, into a line; its
// sums along the row go to a ring buffer of the last column_taps rows; a row of results is a sum down the ring. So main memory is
// read and written once, and both passes work on the first level of the cache, in vectors. The windows' sizes are
// arguments, so one program serves all of them.
//
// Launch: one dimension, local size 1; group g computes bands g, g + groups, ...; a band has `band` rows of a plane.
// Local memory: MEMORY values: a line of STRIP + (row_taps - 1) * CHANNELS and column_taps rows of STRIP + PADDING.
#include "separable/arguments.clh"

#ifndef MEMORY
#define MEMORY 65536  // values
#endif
#ifndef RING
#define RING 8192  // values of the ring that stay in the first level of the cache
#endif
#define NARROWEST 128  // results of a strip, at least where MEMORY has room, and at most:
#define WIDEST 2048

#define PADDING 16  // values between rows of the ring, which begin in different sets of the cache

#if USE_DOUBLE
#define LANES 8
#else
#define LANES 16
#endif
#include "common/lanes.clh"
typedef JOIN(int, LANES) int_lanes;

static inline results results_of(lanes v) {
#if RESULT_INTEGER
  // Comparisons, because PoCL 3.1 calls fmin and fmax for each element.
  v = v > (lanes)RESULT_LOW ? v : (lanes)RESULT_LOW;
  v = v < (lanes)RESULT_HIGH ? v : (lanes)RESULT_HIGH;
#if HALF_UP
  const int_lanes whole = CONVERT(int_lanes, v + (lanes)(0.5f - RESULT_LOW)) + RESULT_LOW;
#elif USE_DOUBLE
  const int_lanes whole = CONVERT(int_lanes, v + (lanes)0x1.8p52 - (lanes)0x1.8p52);
#else  // the unit in the last place of the addend is 1, so the addition rounds to even
  const int_lanes whole = JOIN(as_int, LANES)(v + (lanes)0x1.8p23f) - 0x4b400000;
#endif
  return CONVERT(results, whole);
#elif RESULT_HALF
  return bits_of_halves(v);
#else
  return CONVERT(results, v);
#endif
}

// line[i] = the element at index from + i of the row, for i < count. Not inlined: PoCL copies a kernel's body three times.
__attribute__((noinline)) void fill_line(local VALUE* line, global const ELEMENT* row, long from, long count, long width,
                                         VALUE beyond, uint is_inside) {
  if (!is_inside) {
    PLAIN_LOOP for (long i = 0; i < count; ++i) line[i] = beyond;
    return;
  }
  const long inside = clamp(0 - from, 0L, count), end = clamp(width - from, inside, count);
  PLAIN_LOOP for (long i = 0; i < inside; ++i) {
    const long place = element_within(from + i, width);
    line[i] = place < 0 ? beyond : load_value(row, place);
  }
  long i = inside;
  PLAIN_LOOP for (; i + LANES <= end; i += LANES) store_loose(line + i, LOAD_ELEMENTS(row + from + i));
  PLAIN_LOOP for (; i < end; ++i) line[i] = load_value(row, from + i);
  PLAIN_LOOP for (; i < count; ++i) {
    const long place = element_within(from + i, width);
    line[i] = place < 0 ? beyond : load_value(row, place);
  }
}

// sums[x] = the sum along the row at x, for x < count, a multiple of BLOCK.
__attribute__((noinline)) void sum_line(local VALUE* sums, local const VALUE* line, uint count, constant VALUE* weights,
                                        uint taps) {
  PLAIN_LOOP for (uint x = 0; x < count; x += BLOCK) {
    local const VALUE* from = line + x;
    lanes a = 0, b = 0, c = 0, d = 0;
    PLAIN_LOOP for (uint i = 0; i < taps; ++i, from += CHANNELS) {
      const lanes w = (lanes)weights[i];
      a = add_product(a, w, LOOSE(from)), b = add_product(b, w, LOOSE(from + LANES));
      c = add_product(c, w, LOOSE(from + 2 * LANES)), d = add_product(d, w, LOOSE(from + 3 * LANES));
    }
    local lanes* to = (local lanes*)(sums + x);
    to[0] = a, to[1] = b, to[2] = c, to[3] = d;
  }
}

// Adds `count` rows of the ring from `row` on, each times its weight, to four vectors at x.
static inline void add_rows(lanes* a, lanes* b, lanes* c, lanes* d, local const VALUE* ring, uint row, uint pitch, uint x,
                            uint count, constant VALUE* weight) {
  PLAIN_LOOP for (uint j = 0; j < count; ++j, ++weight) {
    local const VALUE* from = ring + (row + j) * pitch + x;
    const lanes w = (lanes)*weight;
    *a += w * LOOSE(from), *b += w * LOOSE(from + LANES), *c += w * LOOSE(from + 2 * LANES), *d += w * LOOSE(from + 3 * LANES);
  }
}

// The results of a vector of sums: finish_sum() of each.
static inline lanes finish_lanes(lanes v, global const ELEMENT* own, constant VALUE* settings, VALUE area, VALUE inverse) {
  (void)own, (void)settings, (void)area, (void)inverse;
#if UNSHARP
  const lanes element = LOAD_ELEMENTS(own), difference = element - v;
  return element + (fabs(difference) >= (lanes)settings[2] ? (lanes)settings[1] * difference : (lanes)0);
#elif MEAN && RESULT_INTEGER
  // Rounded by the remainder of the sum. All numbers are integers below 2^24, so all operations are exact.
  const lanes mean = v * (lanes)inverse + (lanes)0x1.8p23f - (lanes)0x1.8p23f;
  const lanes left = v - mean * (lanes)area;
  return mean + (left > (lanes)(area / 2) ? (lanes)1 : (lanes)0) - (left < (lanes)(area / -2) ? (lanes)1 : (lanes)0);
#elif MEAN
  return v / (lanes)area;  // CPUs round divisions correctly
#else
  return v;
#endif
}

// Four vectors of results: of the ring's columns from x on.
static inline block_results sum_block(local const VALUE* ring, uint pitch, uint x, uint oldest, constant VALUE* settings,
                                      constant VALUE* weights, uint taps, global const ELEMENT* own, VALUE area, VALUE inverse) {
  lanes a = 0, b = 0, c = 0, d = 0;
  add_rows(&a, &b, &c, &d, ring, oldest, pitch, x, taps - oldest, weights);
  add_rows(&a, &b, &c, &d, ring, 0, pitch, x, oldest, weights + (taps - oldest));
  block_results r;
  r.a = results_of(finish_lanes(a, own + x, settings, area, inverse));
  r.b = results_of(finish_lanes(b, own + x + LANES, settings, area, inverse));
  r.c = results_of(finish_lanes(c, own + x + 2 * LANES, settings, area, inverse));
  r.d = results_of(finish_lanes(d, own + x + 3 * LANES, settings, area, inverse));
  return r;
}

// to[x] = the result of the sum down the ring at x, for x < count. `oldest`: the oldest of the ring's `taps` rows. The first and the
// last block may overlap their neighbours.
__attribute__((noinline)) void sum_ring(global RESULT* to, local const VALUE* ring, uint pitch, uint count, uint oldest,
                                        constant VALUE* settings, constant VALUE* weights, uint taps,
                                        global const ELEMENT* own_row, uint window_area, uint streaming) {
  const VALUE area = (VALUE)window_area, inverse = 1 / area;
  if (count < BLOCK) {
    PLAIN_LOOP for (uint x = 0; x < count; ++x) {
      VALUE sum = 0;
      uint row = oldest;
      PLAIN_LOOP for (uint j = 0; j < taps; ++j) {
        sum += weights[j] * ring[row * pitch + x];
        row = row + 1 == taps ? 0 : row + 1;
      }
      store_pixel(to, x, finish_sum(sum, own_row, x, settings, window_area));
    }
    return;
  }
  uint x = 0;
  PLAIN_LOOP while (x < count) {
    const uint at = min(x, count - BLOCK);
    const block_results r = sum_block(ring, pitch, at, oldest, settings, weights, taps, own_row, area, inverse);
    const uint unaligned = (uint)((ulong)(to + at) % LINE_BYTES);
    if (streaming && unaligned == 0) {
      stream_block(to + at, r);
    } else {
      store_block(to + at, r);
    }
    x = at + BLOCK;
    if (streaming && unaligned != 0 && at == 0) x -= unaligned / (uint)sizeof(RESULT);  // the next block begins a cache line
  }
}

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void separable_cpu(SEPARABLE_ARGUMENTS, few_weights few) {
  (void)scratch, (void)few;
  local VALUE memory[MEMORY] __attribute__((aligned(64)));
  const uint halo = (row_taps - 1) * CHANNELS;
  // Multiplied last: where a strip is the least of WIDEST and a multiple of BLOCK, LLVM 21 (PoCL 7.1) takes the least of these and
  // any number, as the columns that are left, for a multiple of BLOCK, and a loop over fewer columns than BLOCK ends after one.
  const uint room = (MEMORY - halo - BLOCK - column_taps * PADDING) / (column_taps + 1) / BLOCK;
  const uint strip = min(room, clamp(RING / column_taps / BLOCK, (uint)NARROWEST / BLOCK, (uint)WIDEST / BLOCK)) * BLOCK;
  const uint row_pitch = strip + PADDING;
  local VALUE* ring = memory;
  local VALUE* line = memory + column_taps * row_pitch;
  const ulong bands = (end_row - first_row + band - 1) / band;
  for (ulong job = get_group_id(0); job < bands * planes; job += get_num_groups(0)) {
    const ulong p = job / bands, top = first_row + job % bands * band;
    const uint height = (uint)min((ulong)band, end_row - top);
    global const ELEMENT* from = in + plane_offset(p, depth, in_offset, in_stride, in_plane);
    global RESULT* to = out + plane_offset(p, depth, out_offset, out_stride, out_plane);
    PLAIN_LOOP for (ulong col = first_col; col < end_col; col += strip) {
      const uint count = (uint)min((ulong)strip, end_col - col);
      const uint blocks = (count + BLOCK - 1) / BLOCK * BLOCK;
      uint slot = 0;  // of the ring, for the next row
      PLAIN_LOOP for (uint r = 0; r < height + column_taps - 1; ++r) {
        const long source = place_within((long)(top + r) - (long)column_origin, (long)rows);
        const uint is_inside = source >= 0;
        fill_line(line, from + (is_inside ? (ulong)source * in_pitch : 0), (long)col - (long)row_origin * CHANNELS, blocks + halo,
                  (long)width, value_beyond(weights), is_inside);
        sum_line(ring + slot * row_pitch, line, blocks, row_weights(weights), row_taps);
        slot = slot + 1 == column_taps ? 0 : slot + 1;
        if (r + 1 >= column_taps) {
          const ulong row = top + r + 1 - column_taps;
          sum_ring(to + row * out_pitch + col, ring, row_pitch, count, slot, weights, column_weights(weights, row_taps), column_taps,
                   from + row * in_pitch + col, row_taps * column_taps, streaming);
        }
      }
    }
  }
}
