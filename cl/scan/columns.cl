// Scan along the columns of matrices.
//
// A work-item scans STRIP neighbouring columns; neighbouring work-items have neighbouring columns, so loads are coalesced
// without local memory. If that is too few work-items, `parts` of them share a column: a first launch (PHASE 0) stores the
// aggregate of each chunk of `piece` rows in the scratch, at (b * parts + p) * cols + c for chunk p of column c of matrix b.
//
// Launch: one dimension, GROUP work-items a group; group g has tile g % (tiles across) of chunk g / (tiles across).
#include "common/vector_loop.clh"
#include "scan/operation.clh"

#ifndef GROUP
#define GROUP 256  // work-items
#endif
#ifndef STRIP
#define STRIP 1  // columns of a work-item: many on CPUs, whose compilers vectorise them
#endif
#ifndef UNROLL
#define UNROLL 4  // loads of rows in flight
#endif
#ifndef PHASE
#define PHASE 1  // 0: aggregates of the chunks, 1: the scan
#endif
#ifndef NARROW
#define NARROW 0  // columns of all matrices, where they are few and the operation is one of vectors
#endif
#define ROWS_OF_RUNS 4  // that are scanned at once
// Whether columns are scanned in vectors of 16: on CPUs, by operations that the language has for vectors.
#define IN_RUNS (STRIP % 16 == 0 && OPERATION != OP_ANY && OPERATION != OP_ALL && OPERATION != OP_CUSTOM)
#if IN_RUNS || NARROW
#include "common/read_ahead.clh"
#include "scan/runs.clh"
#endif
#if NARROW
#include "scan/narrow_columns.clh"
#endif

#if ELEMENT_HALF && STRIP % 16 == 0
DEFINE_LOAD_RUN(load_strip, private, VALUE)
#endif
#if PHASE == 1
#if RESULT_HALF && STRIP % 16 == 0
DEFINE_STORE_RUN(store_strip, private)
#endif

// Writes a row of sums.
static inline void store_row(global RESULT* results, ulong i, const ACC a[STRIP], uint width) {
#if RESULT_HALF && STRIP % 16 == 0
  result_value made[STRIP];
  for (uint k = 0; k < width; ++k) made[k] = (result_value)a[k];
  store_strip(results, i, made, width);
#else
  VECTOR_LOOP
  for (uint k = 0; k < width; ++k) store_result(results, i + k, (result_value)a[k]);
#endif
}
#endif

// Scans rows [r, r + count) of `width` columns.
static inline void walk(global const ELEMENT* column, ulong in_pitch, global RESULT* results, ulong out_pitch, ulong r,
                        uint count, uint width, ACC a[STRIP]) {
  ACC x[UNROLL][STRIP];
#pragma unroll
  for (uint u = 0; u < UNROLL; ++u) {
#if ELEMENT_HALF && STRIP % 16 == 0
    VALUE read[STRIP];
    if (u < count) load_strip(read, column, (r + u) * in_pitch, width);
    for (uint k = 0; k < width; ++k) x[u][k] = u < count ? lift(read[k]) : identity();
#else
    VECTOR_LOOP
    for (uint k = 0; k < width; ++k) x[u][k] = u < count ? lift(load_value(column, (r + u) * in_pitch + k)) : identity();
#endif
  }
#pragma unroll
  for (uint u = 0; u < UNROLL; ++u) {
    if (u >= count) break;
#if PHASE == 1 && EXCLUSIVE
    store_row(results, (r + u) * out_pitch, a, width);
#endif
    VECTOR_LOOP
    for (uint k = 0; k < width; ++k) a[k] = combine(a[k], x[u][k]);
#if PHASE == 1 && !EXCLUSIVE
    store_row(results, (r + u) * out_pitch, a, width);
#endif
  }
  (void)results, (void)out_pitch;
}

#if IN_RUNS
// Prefetches `count` rows of a vector's columns from p on, once for each line. The rows of a strip are in pages of their own, where hardware
// prefetching begins anew.
static inline void prefetch_rows(global const void* p, ulong pitch_bytes, const uint count, uint k, const uint run_bytes) {
#if READ_AHEAD
  if (k * (run_bytes / 16) % 64 != 0) return;
#pragma unroll
  for (uint u = 0; u < count; ++u) prefetch_lines((global const char*)p + u * pitch_bytes, run_bytes);
#endif
  (void)p, (void)pitch_bytes, (void)count, (void)k, (void)run_bytes;
}

// The same of 16 neighbouring columns, whose elements are x; a: what precedes them, and then with them.
static inline run scan_columns_of_run(run a, const run* x, global RESULT* results, ulong out_pitch, const uint count) {
#pragma unroll
  for (uint u = 0; u < count; ++u) {
#if PHASE == 1 && EXCLUSIVE
    store_run(results + u * out_pitch, a);
#endif
    a = COMBINE(a, x[u]);
#if PHASE == 1 && !EXCLUSIVE
    store_run(results + u * out_pitch, a);
#endif
  }
  (void)results, (void)out_pitch;
  return a;
}

// Scans `count` rows of `width` columns. `rest`: of the last vector, which ends with the last column where vectors do not fill the rows; it is
// loaded first, as results in place overwrite some of it.
static inline void walk_rows(global const ELEMENT* column, ulong in_pitch, global RESULT* results, ulong out_pitch, const uint count, uint width,
                             ACC* a, run* rest) {
  const uint whole = width / 16 * 16, last = width - 16;
  run end[ROWS_OF_RUNS];
  if (whole < width)
#pragma unroll
    for (uint u = 0; u < count; ++u) end[u] = load_run(column + u * in_pitch + last);
  for (uint k = 0; k < whole; k += 16) {
    run x[ROWS_OF_RUNS];
    prefetch_rows(column + count * in_pitch + k, in_pitch * sizeof(ELEMENT), count, k, 16 * sizeof(ELEMENT));
#if PHASE == 1
    prefetch_rows(results + count * out_pitch + k, out_pitch * sizeof(RESULT), count, k, 16 * sizeof(RESULT));
#endif
#pragma unroll
    for (uint u = 0; u < count; ++u) x[u] = load_run(column + u * in_pitch + k);
    vstore16(scan_columns_of_run(vload16(0, a + k), x, results + k, out_pitch, count), 0, a + k);
  }
  if (whole < width) *rest = scan_columns_of_run(*rest, end, results + last, out_pitch, count);
}

// Scans `count` rows of `width` columns, at least 16. Not inlined: PoCL copies a kernel's body three times.
__attribute__((noinline)) void scan_strip(global const ELEMENT* column, ulong in_pitch, global RESULT* results, ulong out_pitch, ulong count,
                                          uint width, ACC a[STRIP]) {
  run rest = vload16(0, a + width - 16);
  ulong r = 0;
  for (; r + ROWS_OF_RUNS <= count; r += ROWS_OF_RUNS)
    walk_rows(column + r * in_pitch, in_pitch, results + r * out_pitch, out_pitch, ROWS_OF_RUNS, width, a, &rest);
  for (; r < count; ++r) walk_rows(column + r * in_pitch, in_pitch, results + r * out_pitch, out_pitch, 1, width, a, &rest);
  if (width % 16 != 0) vstore16(rest, 0, a + width - 16);
}
#endif

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void scan_columns(SCAN_ARGUMENTS) {
  USE_SCAN_ARGUMENTS;
  (void)marks, (void)marks_offset, (void)marks_count, (void)batch;
  const ulong across = (cols + GROUP * STRIP - 1) / (GROUP * STRIP);
  const ulong place = get_group_id(0) / across;
  const ulong matrix = place / parts, part = place - matrix * parts;
  const ulong begin = ((get_group_id(0) - place * across) * GROUP + get_local_id(0)) * STRIP;
  if (begin >= cols) return;
#if IN_RUNS
  // A last strip that is narrower than a vector takes columns of the strip before.
  const ulong next = begin + STRIP, rest = cols % STRIP;
  const uint more = rest > 0 && rest < 16 && cols > STRIP ? 16 : 0;
  const ulong first = next > cols ? begin - more : begin;
  const uint width = (uint)(min(next + rest == cols ? next - more : next, cols) - first);
#else
  const ulong first = begin;
  const uint width = (uint)min((ulong)STRIP, cols - first);
#endif
  global const ELEMENT* column = in + in_offset + matrix * in_stride + first;
  global RESULT* results = out + out_offset + matrix * out_stride + first;
  global ACC* sums = (global ACC*)scratch + matrix * parts * cols + first;
  const ulong end = min((part + 1) * piece, rows);
  ACC a[STRIP];
  for (uint k = 0; k < STRIP; ++k) a[k] = PHASE == 1 ? start_value(initial_bits, has_initial) : identity();
#if PHASE == 1
  for (ulong p = 0; p < part; ++p)
    for (uint k = 0; k < width; ++k) a[k] = combine(a[k], sums[p * cols + k]);
#endif
  ulong r = part * piece;
#if NARROW
  if (in_pitch == NARROW && out_pitch == NARROW && r < end) {
    scan_narrow(column + r * NARROW, results + r * NARROW, (end - r) * NARROW, a);
    r = end;
  }
#endif
#if IN_RUNS
  // Whole rows of large elements that lie one after the other are as fast by compilers' own vectors: 30000 x 133 floats on two Zen 5 cores take
  // 0.8 ms so, and 1.4 by four rows at a time.
  if (width >= 16 && r < end && (in_pitch != width || sizeof(ELEMENT) < 4 || sizeof(RESULT) < 4)) {
    scan_strip(column + r * in_pitch, in_pitch, results + r * out_pitch, out_pitch, end - r, width, a);
    r = end;
  }
#endif
  if (width == STRIP)
    for (; r + UNROLL <= end; r += UNROLL) walk(column, in_pitch, results, out_pitch, r, UNROLL, STRIP, a);
  for (; r < end; ++r) walk(column, in_pitch, results, out_pitch, r, 1, width, a);
#if PHASE == 0
  for (uint k = 0; k < width; ++k) sums[part * cols + k] = a[k];
  (void)initial_bits, (void)has_initial;
#endif
}
