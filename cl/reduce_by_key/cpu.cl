// Reductions of runs of equal keys for a CPU.
//
// A work-group is one work-item, which is one thread. The vectors are cut into pieces that a core's own cache holds. PHASE 2:
// threads take the pieces in their order, by a counter; each reduces its piece, looks back for what lies before it
// (scan/walk_back.clh), and then writes the piece's runs from the cache: memory is read once. If the piece before
// is not published in time, a thread reduces that piece itself (decoupled fallback, scan/states.clh). PHASES 0 and 1 do the same in two
// launches, for devices on which that would happen often.
//
// Runs begin without a branch: each element writes its key and result behind the last run, in a small array, and the count advances only
// where a run begins. Complete runs are copied from the array to the output.
//
// Launch: one dimension, local size 1. PHASE 2: a group for each thread. Else group g does a run of neighbouring pieces.
#define MARKS 3    // runs of equal numbers
#define COUNTED 1  // and how many there are
#include "scan/operation.clh"
#include "reduce_by_key/operation.clh"

#ifndef PHASE
#define PHASE 1  // 0: what each piece makes, 1: its runs after that, 2: both
#endif
#if PHASE == 2
#include "scan/states.clh"
#include "scan/walk_back.clh"
#endif
#define CHUNK 256  // elements that are read, and results that are written, at once

DEFINE_LOAD_RUN(load_values, private, VALUE)
DEFINE_STORE_RUN(store_values, private)

// What elements [begin, end) make. Not inlined: PoCL copies a kernel's body three times, and vectorises each.
__attribute__((noinline)) state reduce_piece(global const MARK* keys, global const ELEMENT* in, ulong begin, ulong end) {
  head_count heads = begin == 0;
  for (ulong i = max(begin, (ulong)1); i < end; ++i) heads += differ(keys[i], keys[i - 1]);
  ulong last = end - 1;  // where the last run begins, or the piece
  while (last > begin && !differ(keys[last], keys[last - 1])) --last;
  VALUE x[CHUNK];
  load_values(x, in, last, 1);
  ACC value = lift(x[0]);
  for (ulong i = last + 1; i < end; i += CHUNK) {
    const uint here = (uint)min((ulong)CHUNK, end - i);
    load_values(x, in, i, here);
    for (uint k = 0; k < here; ++k) value = combine(value, lift(x[k]));
  }
  return make_state(value, heads);
}

// Writes the runs of elements [begin, end), after `before`; returns the state at the end.
__attribute__((noinline)) state write_piece(global const MARK* keys, global const ELEMENT* in, ulong begin, ulong end, state before,
                                            global MARK* unique_keys, global RESULT* out) {
  VALUE x[CHUNK];
  MARK begun[CHUNK];
  result_value ended[CHUNK];
  ACC value = value_of(before);
  ulong runs = head_of(before);  // that have begun
  MARK left = begin > 0 ? keys[begin - 1] : 0;
  for (ulong first = begin; first < end; first += CHUNK) {
    const uint here = (uint)min((ulong)CHUNK, end - first);
    load_values(x, in, first, here);
    uint rank = 0;
    for (uint k = 0; k < here; ++k) {
      const MARK key = keys[first + k];
      const ACC own = lift(x[k]);
      const uint head = differ(key, left) | (first + k == 0);
      begun[rank] = key;
      ended[rank] = (result_value)value;
      rank += head;
      value = head ? own : combine(value, own);
      left = key;
    }
    for (uint r = 0; r < rank; ++r) unique_keys[runs + r] = begun[r];
    const uint none = runs == 0;  // before the first run
    if (rank > none) store_values(out, runs + none - 1, ended + none, rank - none);
    runs += rank;
  }
  return make_state(value, runs);
}

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void reduce_by_key_cpu(BY_KEY_ARGUMENTS) {
  global const MARK* marks = keys + keys_offset;
  global const ELEMENT* row = in + in_offset;
#if PHASE == 2
  for (;;) {
    const ulong part = atomic_inc((global uint*)scratch);
    if (part >= parts) break;
#else
  const ulong share = (parts + get_num_groups(0) - 1) / get_num_groups(0), first_part = get_group_id(0) * share;
  for (ulong part = first_part; part < min(first_part + share, parts); ++part) {
#endif
    const ulong begin = part * piece, end = min(begin + piece, size);
#if PHASE == 0
    ((global state*)scratch)[part] = reduce_piece(marks, row, begin, end);
    (void)unique_keys, (void)unique_keys_offset, (void)out, (void)out_offset, (void)count, (void)count_offset, (void)wide_count;
#else
    state before = no_state();
#if PHASE == 1
    for (ulong p = 0; p < part; ++p) before = join(before, ((global const state*)scratch)[p]);
#else
    if (parts > 1) {
      const statuses states = statuses_of(scratch, 0);
      const state own = reduce_piece(marks, row, begin, end);
      if (!look_back(states, 0, 0, (uint)part, own, &before, 0)) {
        for (;;) {
          const uint missing = fall_back(states, 0, 0, (uint)part, own, &before, 0);
          if (missing == part) break;
          const state aggregate = reduce_piece(marks, row, missing * piece, min((missing + 1) * piece, size));
          publish_fallback(states, missing, missing, aggregate, 0);
        }
      }
    }
#endif
    before = write_piece(marks, row, begin, end, before, unique_keys + unique_keys_offset, out + out_offset);
    if (part == parts - 1) store_end(before, out + out_offset, count, count_offset, wide_count);
#endif
  }
}
