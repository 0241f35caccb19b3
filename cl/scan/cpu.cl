// Scan for a CPU: vectors, rows and segments.
//
// A work-group is one work-item, which is one thread: there is nobody to share local memory with. A row is cut into pieces
// that a core's own cache holds. PHASE 2: threads take the pieces in their order, by a counter; each computes the aggregate of
// its piece, looks back for what lies before it (scan/walk_back.clh), and then scans the piece, which is still in its cache:
// memory is read once. A thread whose predecessor is kept from going on computes that piece's aggregate itself (decoupled
// fallback, scan/states.clh). PHASES 0 and 1 do the same in two launches, for devices on which that would happen often. Either
// way, what lies before a piece is joined from left to right, so the same plan gives the same bits.
//
// Launch: one dimension, local size 1. PHASE 2: a group for each thread. Else group g does a run of neighbouring pieces.
#include "common/read_ahead.clh"
#include "scan/operation.clh"

#ifndef PHASE
#define PHASE 1  // 0: the aggregate of each piece, 1: the scan after that, 2: both
#endif
#if PHASE == 2
#include "scan/states.clh"
#include "scan/walk_back.clh"
#endif
#ifndef ORDERED
#define ORDERED 1  // 0: the elements may be combined in any order
#endif
#ifndef STREAMING
#define STREAMING 0  // 1: results are stored past the cache, which holds less than all of them
#endif
#ifndef SHORT_ROWS
#define SHORT_ROWS 0  // 1: rows have few elements and one part each, and the operation is one of vectors
#endif
#define RUN 16    // elements that are scanned at once
#define BLOCK 64  // elements that are read, and results that are written, at once
// Whether the language has the operation for vectors.
#define IN_VECTORS (OPERATION != OP_ANY && OPERATION != OP_ALL && OPERATION != OP_CUSTOM)

// Whether a segmented scan goes in vectors.
#define SEGMENT_RUNS (IN_VECTORS && !COUNTED && (MARKS == 1 || MARKS == 2))

#if IN_VECTORS && (!SEGMENTED || SEGMENT_RUNS)
#include "scan/runs.clh"
#endif
#if IN_VECTORS && !SEGMENTED
// Each place joined with all before it, in steps that double: W. D. Hillis and G. L. Steele, "Data parallel algorithms",
// 1986. Written in vectors, because compilers make none of the same steps in integers, whose order they change.
//
// `e`: identities, as a compiler should not know: of a shift in of zeros LLVM makes vpexpand, in which Zen 5 spends 5 cycles each time.
static inline run scan_run(run v, run e) {
  v = COMBINE(BEHIND(e, v, 1), v);
  v = COMBINE(BEHIND(e, v, 2), v);
  v = COMBINE(BEHIND(e, v, 4), v);
  return COMBINE(BEHIND(e, v, 8), v);
}
#endif

typedef struct {
  global const ELEMENT* first;
  global RESULT* results;
  global const MARK* marks;
  ulong marks_count;
} scan_row;

// Whether a segment begins at i. `mark`: of offsets, the next one to come.
static inline uint begins_at(scan_row row, ulong i, ulong* mark) {
#if MARKS == 1
  (void)mark;
  return begins_segment(row.marks, i);
#elif MARKS == 2
  uint begins = 0;
  for (; *mark < row.marks_count && row.marks[*mark] <= i; ++*mark) begins |= row.marks[*mark] == i;
  return begins;
#else
  (void)row, (void)i, (void)mark;
  return 0;
#endif
}

static inline ulong first_mark(scan_row row, ulong i) {
#if MARKS == 2
  return find_mark(row.marks, row.marks_count, i);
#else
  (void)row, (void)i;
  return 0;
#endif
}

#if SEGMENT_RUNS
#include "scan/segment_runs.clh"
#endif

DEFINE_LOAD_RUN(load_values, private, VALUE)
#if SEGMENTED || ELEMENT_HALF || RESULT_HALF || SHORT_ROWS
DEFINE_STORE_RUN(store_values, private)
#endif
#if SHORT_ROWS
#include "scan/short_rows.clh"
#endif

#if SEGMENTED
// Scans elements [begin, end) after `before`, and writes the results if `writes`; returns the state at the end.
static inline state scan_segments_singly(scan_row row, ulong begin, ulong end, ulong* mark, state before, ACC start, uint has_initial,
                                         const bool writes) {
  for (ulong i = begin; i < end; i += BLOCK) {
    const uint count = (uint)min((ulong)BLOCK, end - i);
    VALUE x[BLOCK];
    result_value made[BLOCK];
    if (!writes) READ_ON(row.first + i, BLOCK);
    load_values(x, row.first, i, count);
    for (uint k = 0; k < count; ++k) {
      const uint head = begins_at(row, i + k, mark);
      ACC result = head ? identity() : value_of(before);
      before = join(before, make_state(lift(x[k]), head));
      if (!EXCLUSIVE) result = value_of(before);
      if (has_initial) result = combine(start, result);
      made[k] = (result_value)result;
    }
    if (writes) store_values(row.results, i, made, count);
  }
  return before;
}

// The same of any elements, with runs in vectors.
static inline state scan_segments(scan_row row, ulong begin, ulong end, state before, ACC start, uint has_initial, const bool writes) {
  ulong mark = first_mark(row, begin), i = begin;
#if SEGMENT_RUNS
  i += i == 0 ? 1 : 0;  // which has no key before it
#if STREAM_RUNS
  if (writes) i += (0 - (ulong)(row.results + i)) % sizeof(result_run) / sizeof(RESULT);
#endif
  i = min(i, end);
  before = scan_segments_singly(row, begin, i, &mark, before, start, has_initial, writes);
  before = scan_segment_runs(row, &i, end, &mark, before, start, has_initial, writes);
#endif
  return scan_segments_singly(row, i, end, &mark, before, start, has_initial, writes);
}
#endif

// The aggregate of elements [begin, end). Not inlined: PoCL copies a kernel's body three times, and vectorises each. Sums are written in vectors,
// because PoCL 5.0 neither unrolls loops nor makes vectors of them.
__attribute__((noinline)) state reduce_piece(scan_row row, ulong begin, ulong end) {
#if SEGMENTED
  return scan_segments(row, begin, end, no_state(), identity(), 0, false);
#elif ORDERED
  state s = no_state();
  ulong mark = first_mark(row, begin);
  for (ulong i = begin; i < end; i += BLOCK) {
    const uint count = (uint)min((ulong)BLOCK, end - i);
    VALUE x[BLOCK];
    READ_ON(row.first + i, BLOCK);
    load_values(x, row.first, i, count);
    for (uint k = 0; k < count; ++k) s = join(s, make_state(lift(x[k]), begins_at(row, i + k, &mark)));
  }
  return s;
#else
  ACC lanes[LANES] __attribute__((aligned(128)));
  ulong i = begin;
#if IN_VECTORS && LANES % RUN == 0
  run sums[LANES / RUN];
#pragma unroll
  for (uint v = 0; v < LANES / RUN; ++v) sums[v] = identity();
  for (; i + LANES <= end; i += LANES) {
    READ_ON(row.first + i, LANES);
#pragma unroll
    for (uint v = 0; v < LANES / RUN; ++v) sums[v] = COMBINE(sums[v], load_run(row.first + i + v * RUN));
  }
#pragma unroll
  for (uint v = 0; v < LANES / RUN; ++v) *(run*)(lanes + v * RUN) = sums[v];
#else
  for (uint k = 0; k < LANES; ++k) lanes[k] = identity();
  for (; i + LANES <= end; i += LANES) {
    READ_ON(row.first + i, LANES);
#if ELEMENT_HALF
    VALUE x[LANES];
    load_values(x, row.first, i, LANES);
    for (uint k = 0; k < LANES; ++k) lanes[k] = combine(lanes[k], lift(x[k]));
#else
    for (uint k = 0; k < LANES; ++k) lanes[k] = combine(lanes[k], lift(load_value(row.first, i + k)));
#endif
  }
#endif
  for (uint k = 0; i < end; ++i, ++k) lanes[k] = combine(lanes[k], lift(load_value(row.first, i)));
  for (uint apart = LANES / 2; apart > 0; apart /= 2)
    for (uint k = 0; k < apart; ++k) lanes[k] = combine(lanes[k], lanes[k + apart]);
  return make_state(lanes[0], 0);
#endif
}

#if !SEGMENTED
static inline ACC scan_singly(scan_row row, ulong begin, ulong end, ACC carry) {
#if ELEMENT_HALF || RESULT_HALF
  for (ulong i = begin; i < end; i += RUN) {
    const uint count = (uint)min((ulong)RUN, end - i);
    VALUE x[RUN];
    result_value made[RUN];
    load_values(x, row.first, i, count);
    for (uint k = 0; k < count; ++k) {
      if (EXCLUSIVE) made[k] = (result_value)carry;
      carry = combine(carry, lift(x[k]));
      if (!EXCLUSIVE) made[k] = (result_value)carry;
    }
    store_values(row.results, i, made, count);
  }
#else
  for (ulong i = begin; i < end; ++i) {
    const ACC x = lift(load_value(row.first, i));
    if (EXCLUSIVE) store_result(row.results, i, (result_value)carry);
    carry = combine(carry, x);
    if (!EXCLUSIVE) store_result(row.results, i, (result_value)carry);
  }
#endif
  return carry;
}
#endif

// Writes elements [begin, end), scanned after `before`; returns the state at the end.
__attribute__((noinline)) state scan_piece(scan_row row, ulong begin, ulong end, state before, ACC start, uint has_initial) {
#if SEGMENTED
  return scan_segments(row, begin, end, before, start, has_initial, true);
#else
  (void)start, (void)has_initial;
  ACC carry = value_of(before);
  ulong i = begin;
#if IN_VECTORS && STREAM_RUNS
  const ulong aligned = min(end, i + (0 - (ulong)(row.results + i)) % sizeof(result_run) / sizeof(RESULT));
  carry = scan_singly(row, i, aligned, carry);
  i = aligned;
#endif
  // A run is scanned by itself, so that only one operation a run waits for the run before.
#if IN_VECTORS
  run carries = carry;  // in all places of a vector: a number would go through another register file and back
  const run identities = has_initial > 1 ? carry : identity();  // has_initial is 0 or 1
  for (; i + RUN <= end; i += RUN) {
    const run own = scan_run(load_run(row.first + i), identities);
#if EXCLUSIVE
    store_run(row.results + i, BEHIND(carries, COMBINE(carries, own), 1));
#else
    store_run(row.results + i, COMBINE(carries, own));
#endif
    carries = COMBINE(carries, own.sffffffffffffffff);  // not from what is stored, which would have the next run wait for a shuffle as well
  }
  carry = carries.s0;
#else
  for (; i + RUN <= end; i += RUN) {
    ACC x[RUN];
#if ELEMENT_HALF
    VALUE read[RUN];
    load_values(read, row.first, i, RUN);
#pragma unroll
    for (uint k = 0; k < RUN; ++k) x[k] = lift(read[k]);
#else
#pragma unroll
    for (uint k = 0; k < RUN; ++k) x[k] = lift(load_value(row.first, i + k));
#endif
#pragma unroll
    for (uint apart = 1; apart < RUN; apart *= 2)
#pragma unroll
      for (uint k = RUN - 1; k >= apart; --k) x[k] = combine(x[k - apart], x[k]);
    result_value made[RUN];
    made[0] = (result_value)(EXCLUSIVE ? carry : combine(carry, x[0]));
#pragma unroll
    for (uint k = 1; k < RUN; ++k) made[k] = (result_value)combine(carry, x[EXCLUSIVE ? k - 1 : k]);
#if RESULT_HALF
    store_values(row.results, i, made, RUN);
#else
#pragma unroll
    for (uint k = 0; k < RUN; ++k) store_result(row.results, i + k, made[k]);
#endif
    carry = combine(carry, x[RUN - 1]);
  }
#endif
  return make_state(scan_singly(row, i, end, carry), 0);
#endif
}

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void scan_cpu(SCAN_ARGUMENTS) {
  USE_SCAN_ARGUMENTS;
  const ulong jobs = rows * batch * parts;
  const ACC start = start_value(initial_bits, has_initial);
#if SHORT_ROWS
  if (cols > 0 && in_pitch == cols && out_pitch == cols && (batch == 1 || (in_stride == rows * cols && out_stride == rows * cols))) {
    const ulong share = (jobs + get_num_groups(0) - 1) / get_num_groups(0), first = get_group_id(0) * share;
    if (first >= jobs) return;
    scan_row row;
    row.first = in + in_offset + first * cols;
    row.results = out + out_offset + first * cols;
    row.marks = marks;
    row.marks_count = 0;
    scan_short_rows(row, min(share, jobs - first) * cols, (uint)cols, start);
    return;
  }
#endif
#if PHASE == 2
  for (;;) {
    const ulong job = atomic_inc((global uint*)scratch);
    if (job >= jobs) break;
#else
  const ulong share = (jobs + get_num_groups(0) - 1) / get_num_groups(0), first_job = get_group_id(0) * share;
  for (ulong job = first_job; job < min(first_job + share, jobs); ++job) {
#endif
    const ulong number = job / parts, part = job % parts, matrix = number / rows;
    scan_row row;
    row.first = in + in_offset + matrix * in_stride + number % rows * in_pitch;
    row.results = out + out_offset + matrix * out_stride + number % rows * out_pitch;
    row.marks = marks + marks_offset;
    row.marks_count = marks_count;
    const ulong begin = part * piece, end = min(begin + piece, cols);
#if PHASE == 0
    ((global state*)scratch)[job] = reduce_piece(row, begin, end);
    (void)start;
#elif PHASE == 1
    state before = start_state(start);
    for (ulong p = 0; p < part; ++p) before = join(before, ((global const state*)scratch)[number * parts + p]);
    scan_piece(row, begin, end, before, start, has_initial);
#else
    state before = start_state(start);
    if (parts > 1) {
      const int in_place = (global const void*)row.first == (global const void*)row.results;
      const statuses states = statuses_of(scratch, 0);
      const state own = reduce_piece(row, begin, end);
      if (!look_back(states, number * parts, 0, (uint)part, own, &before, 0)) {
        for (;;) {
          const uint missing = fall_back(states, number * parts, 0, (uint)part, own, &before, 0);
          if (missing == part) break;
          const state aggregate = reduce_piece(row, missing * piece, min((missing + 1) * piece, cols));
          publish_fallback(states, number * parts + missing, number * parts + missing, aggregate, in_place);
        }
      }
      device_fence();  // what was published, before the first result
    }
    scan_piece(row, begin, end, before, start, has_initial);
#endif
  }
}
