// Moving means of integers for a CPU: sums slide along a row, exactly: the element that enters a window is added, and the one that leaves
// it subtracted.
//
// A work-group is one work-item, which is one thread, and computes one strip of a row, of any window. Sums of 16 neighbours are the
// prefix sums of 16 such differences, in one vector. Elements come from the caches: each is read twice.
//
// Launch: local size 1; two dimensions: strips of a row, rows.
#include "moving_mean/arguments.clh"
#include "common/integer_means.clh"

#ifndef WIDE_SUM
#define WIDE_SUM 0  // 1: SUM is ulong
#endif
#define MOST_COUNT (1u << 24)  // of vectors

#if !WIDE_SUM
#define LOAD_SUMS(p) CONVERT(uint16, LOAD_LOOSE(ELEMENT, 16, p))

// Inclusive prefix sums. `none` is 0, which the compiler should not know: of shifts by constants LLVM makes vpexpand, in which Zen 5 spends
// 5 cycles each.
static inline uint16 prefix_sums(uint16 v, uint16 none) {
  v += (uint16)(none.s0, v.s0123, v.s4567, v.s89ab, v.scd, v.se);
  v += (uint16)(none.s01, v.s0123, v.s4567, v.s89ab, v.scd);
  v += (uint16)(none.s0123, v.s01234567, v.s89ab);
  v += (uint16)(none.s01234567, v.s01234567);
  return v;
}

// The same means as store_mean_of() makes.
static inline void store_means(global RESULT* out, uint16 sums, mean_divisor divisor) {
#if RESULT_INTEGER
  STORE_LOOSE(RESULT, 16, CONVERT(JOIN(RESULT, 16), rounded_means(sums, (int)divisor.count, divisor.inverse)), out);
#elif SMALL_SUMS
  STORE_LOOSE(RESULT, 16, small_means(sums, (int)divisor.count, divisor.inverse), out);
#else
  uint each[16];
  vstore16(sums, 0, each);
  for (uint k = 0; k < 16; ++k) store_mean_of(out, k, each[k], divisor);
#endif
}

// Means of whole windows of `window` elements, the first of which begins at `leaves`, as many vectors as there are in `count`; `sum` is that
// of the first window. Returns the sum after them. Not inlined: PoCL copies a kernel's body three times.
__attribute__((noinline)) uint slide(global RESULT* out, global const ELEMENT* leaves, uint window, ulong count, uint sum) {
  const mean_divisor divisor = divisor_of(window);
  global const ELEMENT* enters = leaves + window;
  const uint16 none = (uint)(count >> 63);
  uint16 before = sum;  // of each; in a vector, because the next one waits for it
  for (ulong i = 0; i < count / 16; ++i, leaves += 16, enters += 16, out += 16) {
    const uint16 change = LOAD_SUMS(enters) - LOAD_SUMS(leaves), after = prefix_sums(change, none) + before;
    store_means(out, after - change, divisor);
    before = after.sffffffffffffffff;
  }
  return before.s0;
}
#endif

static inline SUM sum_of(global const ELEMENT* from, ulong begin, ulong end) {
  SUM sum = 0;
  for (ulong i = begin; i < end; ++i) sum += (SUM)load_value(from, i);
  return sum;
}

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void moving_mean_cpu_integers(MOVING_MEAN_ARGUMENTS) {
  (void)scratch;
  const ulong strips = get_num_groups(0), strip = ((width + strips - 1) / strips + 63) / 64 * 64;
  const ulong first = get_group_id(0) * strip, end = min(first + strip, width);
  if (first >= end) return;  // no barrier follows
  const ulong before = window / 2, after = window - before;  // of the elements, the window of x has those of [x - before, x + after)
  const ulong last_whole = width >= after ? width - after : 0;  // and no window after it is whole
  for (ulong r = get_group_id(1); r < rows; r += get_num_groups(1)) {
    global const ELEMENT* from = in + row_offset(first_row + r, height, depth, in_offset, in_pitch, in_plane, in_stride);
    global RESULT* to = out + row_offset(first_row + r, height, depth, out_offset, out_pitch, out_plane, out_stride);
    SUM sum = sum_of(from, first > before ? first - before : 0, min(first + after, width));
    ulong x = first;
    while (x < end) {
#if !WIDE_SUM
      // The element after the last window of these is in the row, too.
      const ulong limit = min(end, last_whole);
      if (x >= before && x + 16 <= limit && window < MOST_COUNT) {
        sum = slide(to + x, from + (x - before), (uint)window, limit - x, sum);
        x += (limit - x) / 16 * 16;
        continue;
      }
#endif
      store_mean(to, x, sum, mean_count(x, width, window, whole));
      if (after < width && x < width - after) sum += (SUM)load_value(from, x + after);
      if (x >= before) sum -= (SUM)load_value(from, x - before);
      ++x;
    }
  }
}
