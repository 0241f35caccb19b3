// Selection for a CPU.
//
// A work-group is one work-item, which is one thread: there is nobody to share local memory with. A vector is cut into pieces
// that a core's own cache holds. PHASE 2: threads take the pieces in their order, by a counter; each counts what its piece
// selects, looks back for what is selected before it (scan/walk_back.clh), and then places the piece, which is still in its
// cache: memory is read once. A thread whose predecessor is kept from going on counts that piece itself (decoupled fallback,
// scan/states.clh). PHASES 0 and 1 do the same in two launches, for devices on which that would happen often, and for
// partitions in order, whose others go behind all that is selected.
//
// Placing has no branch: each element is written behind those taken so far, and stays there if it is selected. That is done in
// a small array, so that nothing is written that is not a result.
//
// Launch: one dimension, local size 1. PHASE 2: a group for each thread. Else group g does a run of neighbouring pieces.
#include "select/operation.clh"

#ifndef PHASE
#define PHASE 1  // 0: what each piece selects, 1: its elements after that, 2: both
#endif
#if PHASE == 2
#include "scan/states.clh"
#include "scan/walk_back.clh"
#endif
#ifndef CHUNK
#define CHUNK 512  // elements that are placed at once: at most 65536
#endif
#define OF_HALVES (TYPE_HALF && RULE != 1)  // numbers are compared, which a load of several makes of halves
#if OF_HALVES
#define BLOCK 64  // elements that are counted at once
DEFINE_LOAD_HALVES(load_numbers, private, NUMBER)
#endif

// What elements [begin, end) select. Not inlined: PoCL copies a kernel's body three times, and vectorises each.
__attribute__((noinline)) state count_piece(global const ELEMENT* in, global const FLAG* flags, ulong begin, ulong end) {
  number selected = 0, last = 0;
  ulong i = begin;
  if (begins_all(begin)) {
    selected = last = 1;
    i = 1;
  }
#if OF_HALVES
  NUMBER x[1 + BLOCK];  // after the one before them
  x[0] = RULE == 2 && i > 0 ? number_of(in[i - 1]) : 0;
  while (i < end) {
    const uint count = (uint)min((ulong)BLOCK, end - i);
    load_numbers(x + 1, (global const half*)in + i, count);
    for (uint k = 0; k < count; ++k) {
      const uint is_selected = selects_number(x[1 + k], x[k]);
      selected += is_selected;
      if (OUTPUT == 2) last = max(last, is_selected ? (number)(i + k + 1) : 0);
    }
    x[0] = x[count];
    i += count;
  }
  (void)flags;
#else
  for (; i < end; ++i) selected += selects(in[i], in[RULE == 2 ? i - 1 : i], flags, i);
#if OUTPUT == 2
  for (i = end; i > begin && last < i; --i)
    if (selects(in[i - 1], in[i > 1 ? i - 2 : 0], flags, i - 1)) last = (number)i;
#endif
#endif
  return state_with(selected, last);
}

// Writes elements [begin, end) of `size`, `before` having been selected before them, and `total` in all; returns the state at the end.
__attribute__((noinline)) state place_piece(global const ELEMENT* in, global const FLAG* flags, ulong begin, ulong end,
                                            ulong size, state before, number total, global ELEMENT* out, global uint* lengths,
                                            ulong lengths_offset, uint wide_lengths) {
  ELEMENT taken[CHUNK];
#if OUTPUT == 1
  ELEMENT others[CHUNK];
#elif OUTPUT == 2
  ushort places[CHUNK];
#endif
#if OF_HALVES
  NUMBER numbers[1 + CHUNK];  // after the one before them
  numbers[0] = RULE == 2 && begin > 0 ? number_of(in[begin - 1]) : 0;
#endif
  for (ulong first = begin; first < end; first += CHUNK) {
    const uint here = (uint)min((ulong)CHUNK, end - first);
#if OF_HALVES
    load_numbers(numbers + 1, (global const half*)in + first, here);
#else
    ELEMENT left = RULE == 2 && first > 0 ? in[first - 1] : 0;
#endif
    uint rank = 0;
    for (uint e = 0; e < here; ++e) {
      const ELEMENT x = in[first + e];
      taken[rank] = x;
#if OUTPUT == 1
      others[REVERSED ? CHUNK - 1 - (e - rank) : e - rank] = x;
#elif OUTPUT == 2
      places[rank] = (ushort)e;
#endif
#if OF_HALVES
      rank += selects_number(numbers[1 + e], numbers[e]) | begins_all(first + e);
    }
    numbers[0] = numbers[here];
    (void)flags;
#else
      rank += selects(x, left, flags, first + e) | begins_all(first + e);
      left = x;
    }
#endif
    global ELEMENT* to = out + count_of(before);
    for (uint r = 0; r < rank; ++r) to[r] = taken[r];
    number last = 0;
#if OUTPUT == 1
    const ulong earlier = first - count_of(before);
    const uint others_here = here - rank;
    to = out + (REVERSED ? size - earlier - others_here : total + earlier);
    for (uint r = 0; r < others_here; ++r) to[r] = others[(REVERSED ? CHUNK - others_here : 0) + r];
#elif OUTPUT == 2
    // A run ends where the next one begins.
    last = last_of(before);
    for (uint r = 0; r < rank; ++r) {
      const ulong place = first + places[r], run = (ulong)count_of(before) + r;
      if (run > 0) store_count(lengths, lengths_offset + run - 1, wide_lengths, place - (last - 1));
      last = (number)place + 1;
    }
#endif
    before = join(before, state_with(rank, last));
  }
  (void)size, (void)total, (void)lengths, (void)lengths_offset, (void)wide_lengths;
  return before;
}

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void select_cpu(SELECT_ARGUMENTS) {
  USE_SELECT_ARGUMENTS;
  global const ELEMENT* row = in + in_offset;
  global const FLAG* row_flags = flags + flags_offset;
  number total = 0;
#if PHASE == 1 && OUTPUT == 1 && !REVERSED
  for (ulong p = 0; p < parts; ++p) total += count_of(((global const state*)scratch)[p]);
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
    state before = no_state();
#if PHASE == 0
    ((global state*)scratch)[part] = count_piece(row, row_flags, begin, end);
    (void)before, (void)total, (void)out, (void)out_offset, (void)lengths, (void)lengths_offset, (void)wide_lengths, (void)count,
        (void)count_offset, (void)wide_count;
#else
#if PHASE == 1
    for (ulong p = 0; p < part; ++p) before = join(before, ((global const state*)scratch)[p]);
#else
    if (parts > 1) {
      const statuses states = statuses_of(scratch, 0);
      const state own = count_piece(row, row_flags, begin, end);
      if (!look_back(states, 0, 0, (uint)part, own, &before, 0)) {
        for (;;) {
          const uint missing = fall_back(states, 0, 0, (uint)part, own, &before, 0);
          if (missing == part) break;
          const state aggregate = count_piece(row, row_flags, missing * piece, min((missing + 1) * piece, size));
          publish_fallback(states, missing, missing, aggregate, 0);
        }
      }
    }
#endif
    before = place_piece(row, row_flags, begin, end, size, before, total, out + out_offset, lengths, lengths_offset, wide_lengths);
    if (part == parts - 1) store_end(before, size, count, count_offset, wide_count, lengths, lengths_offset, wide_lengths);
#endif
  }
}
