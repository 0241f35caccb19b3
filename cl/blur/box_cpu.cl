// Mean of a box of any size, for a CPU: a thread computes bands of rows, in strips that fit its cache.
//
// A work-group is one work-item, which is one thread. Running sums of a strip's columns are in local memory, which is the
// thread's cache: the row that enters the box is added and the row that leaves it subtracted, in vectors. Along a row of these
// sums RUNS running sums are computed at once, because each is a chain of dependent additions. If an infinity or a NaN is in the
// sums, the row of results and its column sums are computed again from the elements.
//
// Launch: one dimension, local size 1; group g computes bands g, g + groups, ...; a band has `band` rows of a plane.
// Local memory: 3 lines of MEMORY / 3 sums: STRIP and the width of a box.
#define EXACT_DIVISION 1  // as on all CPUs
#include "blur/box.clh"
#include "common/convert.clh"
#include "common/loose.clh"
#include "common/loose_halves.clh"

#ifndef MEMORY
#define MEMORY 24576  // sums
#endif
#ifndef WIDEST
#define WIDEST 4096  // results of a strip, at most
#endif
#define RUNS 8
#if USE_DOUBLE
#define LANES 8
#else
#define LANES 16
#endif
#define LINE (MEMORY / 3 / 16 * 16)

typedef JOIN(SUM, LANES) lanes;
#define LOAD_LANES(p) LOAD_LOOSE_IN(local, SUM, LANES, p)
#define PLAIN_LOOP _Pragma("clang loop vectorize(disable) unroll(disable)")

#if ELEMENT_HALF
#define LOAD_ELEMENTS(p) CONVERT(lanes, JOIN(load_loose_halves, LANES)(p))
#else
#define LOAD_ELEMENTS(p) CONVERT(lanes, LOAD_LOOSE(ELEMENT, LANES, p))
#endif

// A function, so that LLVM uses vectors of 512 bits where it is tuned for a CPU that it takes to prefer 256.
static inline void store_lanes(local SUM* to, lanes v) { STORE_LOOSE_IN(local, SUM, LANES, v, to); }

// line[i] = the element at index from + i of the row, for i < count.
__attribute__((noinline)) void fill_line(local SUM* line, global const ELEMENT* row, long from, long count, long width, SUM beyond,
                                         uint is_there) {
  if (!is_there) {
    PLAIN_LOOP for (long i = 0; i < count; ++i) line[i] = beyond;
    return;
  }
  const long inside = clamp(0 - from, 0L, count), end = clamp(width - from, inside, count);
  long i = 0;
  PLAIN_LOOP for (; i < inside; ++i) {
    const long place = element_within(from + i, width);
    line[i] = place < 0 ? beyond : load_sum(row, place);
  }
  PLAIN_LOOP for (; i + LANES <= end; i += LANES) store_lanes(line + i, LOAD_ELEMENTS(row + from + i));
  PLAIN_LOOP for (; i < end; ++i) line[i] = load_sum(row, from + i);
  PLAIN_LOOP for (; i < count; ++i) {
    const long place = element_within(from + i, width);
    line[i] = place < 0 ? beyond : load_sum(row, place);
  }
}

DEFINE_ADD_SUM(add_lanes, lanes)

// Adds a line to the sums of the columns, or subtracts it. Lines are filled up to a multiple of LANES.
__attribute__((noinline)) void add_line(local SUM* high, local SUM* low, local const SUM* line, uint count, uint away) {
  PLAIN_LOOP for (uint i = 0; i < count; i += LANES) {
    lanes h = *(local lanes*)(high + i), l = *(local lanes*)(low + i);
    const lanes v = *(local const lanes*)(line + i);
    if (away) {
      add_lanes(&h, &l, -v);
    } else {
      add_lanes(&h, &l, v);
    }
    store_lanes(high + i, h);
    store_lanes(low + i, l);
  }
}

#if SUM_INTEGER
typedef JOIN(SUM, 16) many_sums;
#ifdef POCL_DEVICE_ADDRESS_BITS  // PoCL splits vload and vstore
typedef struct __attribute__((packed)) { many_sums v; } loose_sums;
#define LOAD_SUMS(p) (((local const loose_sums*)(p))->v)
#define STORE_SUMS(x, p) (((local loose_sums*)(p))->v = (x))
#else
#define LOAD_SUMS(p) vload16(0, p)
#define STORE_SUMS(x, p) vstore16(x, 0, p)
#endif
#define MANY_ELEMENTS(p) CONVERT(many_sums, LOAD_LOOSE(ELEMENT, 16, p))

// Moves the sums of columns from + i, i < count, on: adds the elements of one row, and subtracts those of another. What lies beyond is in both.
__attribute__((noinline)) void move_on(local SUM* sums, global const ELEMENT* enters, global const ELEMENT* leaves, long from, long count,
                                       long width) {
  const long inside = clamp(0 - from, 0L, count), end = clamp(width - from, inside, count);
  long i = 0;
  PLAIN_LOOP for (; i < inside; ++i) {
    const long place = element_within(from + i, width);
    if (place >= 0) sums[i] += load_sum(enters, place) - load_sum(leaves, place);
  }
  PLAIN_LOOP for (; i + 16 <= end; i += 16)
    STORE_SUMS(LOAD_SUMS(sums + i) + MANY_ELEMENTS(enters + from + i) - MANY_ELEMENTS(leaves + from + i), sums + i);
  PLAIN_LOOP for (; i < count; ++i) {
    const long place = element_within(from + i, width);
    if (place >= 0) sums[i] += load_sum(enters, place) - load_sum(leaves, place);
  }
}
#endif

// to[x] = the mean of the box at x, for x < count: sums of `taps` cells from x on. Returns whether a sum is infinite or NaN.
__attribute__((noinline)) uint slide(global RESULT* to, local const SUM* sums, uint count, uint taps, uint area, VALUE inverse) {
  const uint cells = count / CHANNELS, run = (cells + RUNS - 1) / RUNS;
  uint spoiled = 0;
  PLAIN_LOOP for (uint c = 0; c < CHANNELS; ++c) {
    SUM sum[RUNS];
    PLAIN_LOOP for (uint k = 0; k < RUNS; ++k) {
      sum[k] = 0;
      if (k * run < cells)
        PLAIN_LOOP for (uint i = 0; i < taps - 1; ++i) sum[k] += sums[(k * run + i) * CHANNELS + c];
    }
    const uint whole = cells >= (RUNS - 1) * run ? cells - (RUNS - 1) * run : 0;  // steps that all runs have
    PLAIN_LOOP for (uint x = 0; x < whole; ++x) {
#pragma unroll
      for (uint k = 0; k < RUNS; ++k) {
        const uint at = (k * run + x) * CHANNELS + c;
        sum[k] += sums[at + (taps - 1) * CHANNELS];
        store_mean(to, at, sum[k], area, inverse);
        sum[k] -= sums[at];
      }
    }
    PLAIN_LOOP for (uint k = 0; k < RUNS; ++k) {
      PLAIN_LOOP for (uint x = whole; x < run && k * run + x < cells; ++x) {
        const uint at = (k * run + x) * CHANNELS + c;
        sum[k] += sums[at + (taps - 1) * CHANNELS];
        store_mean(to, at, sum[k], area, inverse);
        sum[k] -= sums[at];
      }
      spoiled |= is_spoiled(sum[k]);
    }
  }
  return spoiled;
}

#if SUM_INTEGER && RESULT_INTEGER
typedef JOIN(VALUE, 16) many_values;
// The same of integers: differences of running sums over the whole line, which may wrap around. A chain of additions is short beside the
// means of vectors.
__attribute__((noinline)) void subtract_running(global RESULT* to, local SUM* running, local const SUM* sums, uint count, uint taps,
                                                uint area, VALUE inverse) {
  SUM all[CHANNELS];
#pragma unroll
  for (uint c = 0; c < CHANNELS; ++c) all[c] = 0;
  PLAIN_LOOP for (uint i = 0; i < count + taps * CHANNELS; i += CHANNELS) {
#pragma unroll
    for (uint c = 0; c < CHANNELS; ++c) {
      running[i + c] = all[c];
      all[c] += sums[i + c];
    }
  }
  uint x = 0;
  PLAIN_LOOP for (; x + 16 <= count; x += 16) {
    const many_sums wanted = LOAD_SUMS(running + x + taps * CHANNELS) - LOAD_SUMS(running + x) + (SUM)(area / 2);
    many_sums mean = CONVERT(many_sums, CONVERT(many_values, wanted) * inverse);  // as store_mean() does
    mean = mean * (SUM)area > wanted ? mean - (SUM)1 : mean;
    mean = wanted - mean * (SUM)area >= (SUM)area ? mean + (SUM)1 : mean;
    STORE_LOOSE(RESULT, 16, CONVERT(JOIN(RESULT, 16), mean), to + x);
  }
  PLAIN_LOOP for (; x < count; ++x) store_mean(to, x, running[x + taps * CHANNELS] - running[x], area, inverse);
}
#endif

#if !SUM_INTEGER && CHANNELS != 3
// In each place the sum of it and all before it of its channel. `none` is 0, which the compiler should not know: of shifts in of zeros LLVM
// makes vexpandps, in which Zen 5 spends 5 cycles each time.
static inline lanes prefix_sums(lanes v, lanes none) {
#if LANES == 16
#if CHANNELS == 1
  v += (lanes)(none.s0, v.s012, v.s3456, v.s789a, v.sbc, v.sd, v.se);
#endif
#if CHANNELS <= 2
  v += (lanes)(none.s01, v.s01, v.s2345, v.s6789, v.sabcd);
#endif
  v += (lanes)(none.s0123, v.s0123, v.s4567, v.s89ab);
  return v + (lanes)(none.s01234567, v.s01234567);
#else
#if CHANNELS == 1
  v += (lanes)(none.s0, v.s012, v.s3456);
#endif
#if CHANNELS <= 2
  v += (lanes)(none.s01, v.s01, v.s2345);
#endif
  return v + (lanes)(none.s0123, v.s0123);
#endif
}

// The last of each channel, in all places of the channel.
static inline lanes last_of(lanes v) {
#if LANES == 16 && CHANNELS == 1
  return v.sffffffffffffffff;
#elif LANES == 16 && CHANNELS == 2
  return v.sefefefefefefefef;
#elif LANES == 16
  return v.scdefcdefcdefcdef;
#elif CHANNELS == 1
  return v.s77777777;
#elif CHANNELS == 2
  return v.s67676767;
#else
  return v.s45674567;
#endif
}

static inline void store_means(global RESULT* to, lanes v) {
#if RESULT_HALF
  JOIN(store_loose_halves, LANES)(v, to);
#else
  STORE_LOOSE(RESULT, LANES, CONVERT(JOIN(RESULT, LANES), v), to);
#endif
}

// The same by prefix sums of what enters and leaves, so that one addition a vector waits for the vector before.
__attribute__((noinline)) uint slide_lanes(global RESULT* to, local const SUM* sums, uint count, uint taps, VALUE inverse) {
  const lanes none = (lanes)(SUM)(count >> 31);
  const uint halo = (taps - 1) * CHANNELS;
  lanes before = 0;  // of each channel, the sum of the box without its last cell
  uint i = 0;
  PLAIN_LOOP for (; i + LANES <= halo; i += LANES) before += LOAD_LANES(sums + i);
  SUM each[LANES];
  *(lanes*)each = 0;
  PLAIN_LOOP for (uint k = 0; i < halo; ++i, ++k) each[k] = sums[i];
  before = last_of(prefix_sums(before + *(const lanes*)each, none));
  uint x = 0, spoiled = 0;
  PLAIN_LOOP for (; x + LANES <= count; x += LANES) {
    const lanes leaves = LOAD_LANES(sums + x), moved = prefix_sums(LOAD_LANES(sums + x + halo) - leaves, none);
    store_means(to + x, (before + (moved + leaves)) * (lanes)inverse);
    before = last_of(before + moved);
  }
  if (x < count) {
    const lanes leaves = LOAD_LANES(sums + x), moved = prefix_sums(LOAD_LANES(sums + x + halo) - leaves, none);
    *(lanes*)each = before + (moved + leaves);
    PLAIN_LOOP for (uint k = 0; k < count - x; ++k) {
      store_mean(to, x + k, each[k], 0, inverse);
      spoiled |= is_spoiled(each[k]);
    }
  }
  *(lanes*)each = before;
  PLAIN_LOOP for (uint c = 0; c < CHANNELS; ++c) spoiled |= is_spoiled(each[c]);
  return spoiled;
}
#endif

#if !SUM_INTEGER
// The same, with a new sum for each box.
__attribute__((noinline)) void sum_boxes(global RESULT* to, local const SUM* sums, uint count, uint taps, uint area,
                                         VALUE inverse) {
  PLAIN_LOOP for (uint x = 0; x < count; x += LANES) {
    lanes sum = 0;
    PLAIN_LOOP for (uint i = 0; i < taps; ++i) sum += LOAD_LANES(sums + x + i * CHANNELS);
    SUM each[LANES];
    *(lanes*)each = sum;
    PLAIN_LOOP for (uint k = 0; k < min(count - x, (uint)LANES); ++k) store_mean(to, x + k, each[k], area, inverse);
  }
}
#endif

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void box_cpu(SEPARABLE_ARGUMENTS) {
  (void)streaming, (void)scratch;
  local SUM memory[3 * LINE] __attribute__((aligned(64)));
  local SUM* line = memory;
  local SUM* high = memory + LINE;
  local SUM* low = memory + 2 * LINE;
  const uint area = row_taps * column_taps;
  const VALUE inverse = (VALUE)1 / (VALUE)area;
  const SUM beyond = (SUM)value_beyond(weights);
  const uint halo = (row_taps - 1) * CHANNELS;
  const uint strip = min((uint)WIDEST, LINE - halo - LANES - CHANNELS) / CHANNELS * CHANNELS;
  const ulong bands = (end_row - first_row + band - 1) / band;
  for (ulong job = get_group_id(0); job < bands * planes; job += get_num_groups(0)) {
    const ulong p = job / bands, top = first_row + job % bands * band;
    const uint height = (uint)min((ulong)band, end_row - top);
    global const ELEMENT* from = in + plane_offset(p, depth, in_offset, in_stride, in_plane);
    PLAIN_LOOP for (ulong col = first_col; col < end_col; col += strip) {
      const uint count = (uint)min((ulong)strip, end_col - col);
      const uint filled = (count + halo + LANES - 1) / LANES * LANES;
      const long first = (long)col - (long)row_origin * CHANNELS;
      PLAIN_LOOP for (uint i = 0; i < filled; ++i) high[i] = low[i] = 0;
      PLAIN_LOOP for (uint r = 0; r < height + column_taps - 1; ++r) {
        const long read = (long)(top + r) - (long)column_origin;
        uint away = 0;
#if SUM_INTEGER  // on two cores of an Emerald Rapids Xeon 4096 x 4096 bytes by 101 x 101 take 8.5 ms instead of 11.6
        const long enters = place_within(read, (long)rows), leaves = place_within(read - (long)column_taps, (long)rows);
        if (r >= column_taps && enters >= 0 && leaves >= 0) {
          move_on(high, from + (ulong)enters * in_pitch, from + (ulong)leaves * in_pitch, first, filled, (long)width);
          away = 2;
        }
#endif
        PLAIN_LOOP for (; away < 2; ++away) {
          if (away && r < column_taps) break;
          const long source = place_within(read - (away ? (long)column_taps : 0), (long)rows);
          fill_line(line, from + (source < 0 ? 0 : (ulong)source * in_pitch), first, filled, (long)width, beyond, source >= 0);
          add_line(high, low, line, filled, away);
        }
        if (r + 1 >= column_taps) {
#if SUM_INTEGER
          local const SUM* sums = high;
#else
          PLAIN_LOOP for (uint i = 0; i < filled; i += LANES)
            *(local lanes*)(line + i) = *(local lanes*)(high + i) + *(local lanes*)(low + i);
          local const SUM* sums = line;
#endif
          global RESULT* to = out + plane_offset(p, depth, out_offset, out_stride, out_plane) + (top + r + 1 - column_taps) * out_pitch + col;
#if SUM_INTEGER && RESULT_INTEGER
          subtract_running(to, line, sums, count, row_taps, area, inverse);
#elif SUM_INTEGER
          slide(to, sums, count, row_taps, area, inverse);
#else
#if CHANNELS == 3
          if (!slide(to, sums, count, row_taps, area, inverse)) continue;
#else
          if (!slide_lanes(to, sums, count, row_taps, inverse)) continue;
#endif
          PLAIN_LOOP for (uint i = 0; i < filled; ++i) high[i] = low[i] = 0;
          PLAIN_LOOP for (uint j = 0; j < column_taps; ++j) {
            const long source = place_within(read - (long)j, (long)rows);
            fill_line(line, from + (source < 0 ? 0 : (ulong)source * in_pitch), first, filled, (long)width, beyond, source >= 0);
            add_line(high, low, line, filled, 0);
          }
          PLAIN_LOOP for (uint i = 0; i < filled; ++i) line[i] = total_of(high[i], low[i]);
          sum_boxes(to, line, count, row_taps, area, inverse);
#endif
        }
      }
    }
  }
}
