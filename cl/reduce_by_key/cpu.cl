// Reductions of runs of equal keys for a CPU.
//
// A work-group is one work-item, which is one thread. The vectors are cut into pieces that a core's own cache holds. PHASE 2:
// threads take the pieces in their order, by a counter; each reduces its piece, looks back for what lies before it
// (scan/walk_back.clh), and then writes the piece's runs from the cache: memory is read once. If the piece before
// is not published in time, a thread reduces that piece itself (decoupled fallback, scan/states.clh). PHASES 0 and 1 do the same in two
// launches, for devices on which that would happen often.
//
// Nothing depends on a branch. Where runs begin is found out for many elements at once. What the open run makes is written for each element, and
// compacted with the keys (common/compact.clh). An addition waits for the one before: so neighbouring runs are added in turns.
//
// Launch: one dimension, local size 1. PHASE 2: a group for each thread. Else group g does a run of neighbouring pieces.
#define MARKS 3    // runs of equal numbers
#define COUNTED 1  // and how many there are
#include "scan/operation.clh"
#include "common/vector_loop.clh"
#include "common/compact.clh"
#include "common/read_ahead.clh"
#include "reduce_by_key/operation.clh"

#ifndef PHASE
#define PHASE 1  // 0: what each piece makes, 1: its runs after that, 2: both
#endif
#if PHASE == 2
#include "scan/states.clh"
#include "scan/walk_back.clh"
#endif
#define CHUNK 512  // elements that are read, and results that are written, at once
#define CHAINS 2    // of runs that are combined in turns

DEFINE_LOAD_RUN(load_values, private, VALUE)
DEFINE_STORE_RUN(store_values, private)
DEFINE_TAKE_1(take_keys_1, global)
DEFINE_TAKE_2(take_keys_2, global)
DEFINE_TAKE_4(take_keys_4, global)
DEFINE_TAKE_8(take_keys_8, global)
#if WIDE_ACC
DEFINE_TAKE_8(take_numbers, private)
typedef ulong number_bits;
#else
DEFINE_TAKE_4(take_numbers, private)
typedef uint number_bits;
#endif

INLINED void take_keys(global const MARK* from, uint bits, const uchar16* orders, MARK* to) {
  if (sizeof(MARK) == 1) {
    take_keys_1((global const uchar*)from, bits, orders, (uchar*)to);
  } else if (sizeof(MARK) == 2) {
    take_keys_2((global const ushort*)from, bits, orders, (ushort*)to);
  } else if (sizeof(MARK) == 4) {
    take_keys_4((global const uint*)from, bits, orders, (uint*)to);
  } else {
    take_keys_8((global const ulong*)from, bits, orders, (ulong*)to);
  }
}

// Marks those of elements [first, first + here) that begin a run with 1, in bytes, others up to CHUNK with 0.
INLINED void mark_heads(global const MARK* keys, ulong first, const uint here, ulong words[CHUNK / 8]) {
  uchar* heads = (uchar*)words;
  const uint begins = first == 0;
  heads[0] = 1;
  READ_ON(keys + first, CHUNK);
  VECTOR_LOOP
  for (uint k = begins; k < here; ++k) heads[k] = (uchar)differ(keys[first + k], keys[first + k - 1]);
  for (uint k = here; k < CHUNK; ++k) heads[k] = 0;
}

// What elements [begin, end) make. Not inlined: PoCL copies a kernel's body three times, and vectorises each.
__attribute__((noinline)) state reduce_piece(global const MARK* keys, global const ELEMENT* in, ulong begin, ulong end) {
  head_count heads = 0;
  ulong last = begin;  // where the last run begins, or the piece
  ulong words[CHUNK / 8];
  for (ulong first = begin; first < end; first += CHUNK) {
    mark_heads(keys, first, (uint)min((ulong)CHUNK, end - first), words);
    uint here = 0;
    VECTOR_LOOP
    for (uint k = 0; k < CHUNK / 8; ++k) here += (uint)popcount(words[k]);
    if (here == 0) continue;
    heads += here;
    uint k = CHUNK / 8;
    while (words[k - 1] == 0) --k;
    last = first + k * 8 - 1 - clz(words[k - 1]) / 8;
  }
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

// Element k combined with those before it that belong to its run; running[k] for element k - 1.
INLINED void combine_one(const VALUE* x, const uchar* heads, uint k, ACC* value, ACC* running) {
  const ACC own = lift(x[k]);
  *value = combine_unless(heads[k], *value, own);
  running[1 + k] = *value;
}
// The first that begins a run from element `from` on, or CHUNK.
INLINED uint next_head(const ulong* words, uint from) {
  if (from >= CHUNK) return CHUNK;
  uint w = from / 8;
  ulong word = words[w] >> from % 8 * 8 << from % 8 * 8;
  while (word == 0) {
    if (++w == CHUNK / 8) return CHUNK;
    word = words[w];
  }
  return w * 8 + 7 - (uint)clz(word & -word) / 8;
}
// All `here` elements, after running[0]. Chains have about as many elements, and all but the first begin with a run.
INLINED void combine_runs(const VALUE* x, const ulong* words, const uint here, ACC* running) {
  const uchar* heads = (const uchar*)words;
  uint at[CHAINS + 1] = {0};
  ACC value[CHAINS];
  uint turns = here;
  for (uint c = 1; c <= CHAINS; ++c) {
    at[c] = min(here, next_head(words, max(at[c - 1], c * here / CHAINS)));
    value[c - 1] = running[0];
    turns = min(turns, at[c] - at[c - 1]);
  }
  for (uint k = 0; k < turns; ++k) {
#pragma unroll
    for (uint c = 0; c < CHAINS; ++c) combine_one(x, heads, at[c] + k, value + c, running);
  }
#pragma unroll
  for (uint c = 0; c < CHAINS; ++c) {
    for (uint k = at[c] + turns; k < at[c + 1]; ++k) combine_one(x, heads, k, value + c, running);
  }
}

// Writes the runs of elements [begin, end), after `before`; returns the state at the end.
__attribute__((noinline)) state write_piece(global const MARK* keys, global const ELEMENT* in, const uchar16* orders, ulong begin, ulong end,
                                            state before, global MARK* unique_keys, global RESULT* out) {
  VALUE x[CHUNK];
  ulong words[CHUNK / 8];
  uchar marks[CHUNK / 8];
  ACC running[1 + CHUNK + TAKE_READS], ended[CHUNK + TAKE_ROOM];
  MARK begun[CHUNK + TAKE_ROOM];
  result_value results[CHUNK];
  running[0] = value_of(before);
  ulong runs = head_of(before);  // that have begun
  for (ulong first = begin; first < end; first += CHUNK) {
    const uint here = (uint)min((ulong)CHUNK, end - first);
    READ_ON(in + first, CHUNK);
    load_values(x, in, first, here);
    mark_heads(keys, first, here, words);
    if (next_head(words, 0) == CHUNK) {  // nothing but the run before
      ACC value = running[0];
      for (uint k = 0; k < here; ++k) value = combine(value, lift(x[k]));
      running[0] = value;
      continue;
    }
    pack_marks(words, marks, CHUNK / 8);
    combine_runs(x, words, here, running);
    uint rank = 0, k = 0;
    for (; k + TAKE_READS <= here; k += 8) {
      const uint bits = marks[k / 8];
      take_keys(keys + first + k, bits, orders, begun + rank);
      take_numbers((const number_bits*)running + k, bits, orders, (number_bits*)ended + rank);
      rank += popcount(bits);
    }
    for (; k < here; ++k) {
      begun[rank] = keys[first + k];
      ended[rank] = running[k];
      rank += marks[k / 8] >> k % 8 & 1;
    }
    running[0] = running[here];
    for (uint r = 0; r < rank; ++r) unique_keys[runs + r] = begun[r];
    for (uint r = 0; r < rank; ++r) results[r] = (result_value)ended[r];
    const uint none = runs == 0;  // before the first run
    if (rank > none) store_values(out, runs + none - 1, results + none, rank - none);
    runs += rank;
  }
  return make_state(running[0], runs);
}

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void reduce_by_key_cpu(BY_KEY_ARGUMENTS) {
  global const MARK* marks = keys + keys_offset;
  global const ELEMENT* row = in + in_offset;
#if PHASE != 0
  uchar16 orders[256];
  make_orders(orders);
#endif
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
    before = write_piece(marks, row, orders, begin, end, before, unique_keys + unique_keys_offset, out + out_offset);
    if (part == parts - 1) store_end(before, out + out_offset, count, count_offset, wide_count);
#endif
  }
}
