// Selection for a CPU.
//
// A work-group is one work-item, which is one thread: there is nobody to share local memory with. A vector is cut into pieces
// that a core's own cache holds. PHASE 2: threads take the pieces in their order, by a counter; each counts what its piece
// selects, looks back for what is selected before it (scan/walk_back.clh), and then places the piece, which is still in its
// cache: memory is read once. A thread whose predecessor is kept from going on counts that piece itself (decoupled fallback,
// scan/states.clh). PHASES 0 and 1 do the same in two launches, for devices on which that would happen often, and for
// partitions in order, whose others go behind all that is selected.
//
// Nothing depends on a branch: what is selected is found out for a block of elements at once, and then 8 elements at a time go behind those
// taken so far, as vectors (common/compact.clh). That is done in small arrays, so that nothing is written that is not a result.
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
#define CHUNK (ELEMENT_BYTES == 8 ? 1024 : 2048)  // elements that are placed at once: at most 65536
#endif
#define OF_HALVES (TYPE_HALF && RULE != 1)  // numbers are compared, which a load of several makes of halves
#if OF_HALVES
DEFINE_LOAD_HALVES(load_numbers, private, NUMBER)
#endif
#include "common/compact.clh"
#include "common/read_ahead.clh"
#include "common/vector_loop.clh"
JOIN(DEFINE_TAKE_, ELEMENT_BYTES)(take, global)

// Marks those of elements [first, first + here) that are selected with 1, in bytes, others up to CHUNK with 0.
INLINED void mark(global const ELEMENT* in, global const FLAG* flags, ulong first, const uint here, ulong words[CHUNK / 8]) {
  uchar* is_selected = (uchar*)words;
  const uint begins = begins_all(first);  // there is none before it
  is_selected[0] = 1;
  if (RULE == 1) {
    READ_ON(flags + first, CHUNK);
  } else {
    READ_ON(in + first, CHUNK);
  }
#if OF_HALVES
  NUMBER x[1 + CHUNK];  // after the one before them
  x[0] = RULE == 2 && first > 0 ? number_of(in[first - 1]) : 0;
  load_numbers(x + 1, (global const half*)in + first, here);
  VECTOR_LOOP
  for (uint k = begins; k < here; ++k) is_selected[k] = (uchar)selects_number(x[1 + k], x[k]);
  (void)flags;
#else
  VECTOR_LOOP
  for (uint k = begins; k < here; ++k)
    is_selected[k] = (uchar)selects(in[first + k], in[first + k - (RULE == 2)], flags, first + k);
#endif
  for (uint k = here; k < CHUNK; ++k) is_selected[k] = 0;
}

// What elements [begin, end) select. Not inlined: PoCL copies a kernel's body three times, and vectorises each.
__attribute__((noinline)) state count_piece(global const ELEMENT* in, global const FLAG* flags, ulong begin, ulong end) {
  number selected = 0, last = 0;
  ulong words[CHUNK / 8];
  for (ulong first = begin; first < end; first += CHUNK) {
    mark(in, flags, first, (uint)min((ulong)CHUNK, end - first), words);
    uint here = 0;
    VECTOR_LOOP
    for (uint k = 0; k < CHUNK / 8; ++k) here += (uint)popcount(words[k]);
    selected += here;
    if (OUTPUT == 2 && here > 0) {
      uint k = CHUNK / 8;
      while (words[k - 1] == 0) --k;
      last = (number)(first + k * 8 - clz(words[k - 1]) / 8);
    }
  }
  return state_with(selected, last);
}

// Writes elements [begin, end) of `size`, `before` having been selected before them, and `total` in all; returns the state at the end.
__attribute__((noinline)) state place_piece(global const ELEMENT* in, global const FLAG* flags, const uchar16* orders, ulong begin, ulong end,
                                            ulong size, state before, number total, global ELEMENT* out, global uint* lengths,
                                            ulong lengths_offset, uint wide_lengths) {
  ELEMENT taken[CHUNK + TAKE_ROOM];
  ulong words[CHUNK / 8];
  uchar marks[CHUNK / 8];
#if OUTPUT == 1
  ELEMENT others[CHUNK + TAKE_ROOM];
#elif OUTPUT == 2
  ushort places[CHUNK + TAKE_ROOM];
#endif
  for (ulong first = begin; first < end; first += CHUNK) {
    const uint here = (uint)min((ulong)CHUNK, end - first);
    if (RULE == 1) READ_ON(in + first, CHUNK);  // nobody has read them yet
    mark(in, flags, first, here, words);
    pack_marks(words, marks, CHUNK / 8);
    uint rank = 0, e = 0;
    for (; e + TAKE_READS <= here; e += 8) {
      const uint bits = marks[e / 8];
      take(in + first + e, bits, orders, taken + rank);
#if OUTPUT == 1
      take(in + first + e, bits ^ 255, orders, others + e - rank);
#elif OUTPUT == 2
      take_places(e, bits, orders, places + rank);
#endif
      rank += popcount(bits);
    }
    for (; e < here; ++e) {
      const ELEMENT x = in[first + e];
      taken[rank] = x;
#if OUTPUT == 1
      others[e - rank] = x;
#elif OUTPUT == 2
      places[rank] = (ushort)e;
#endif
      rank += marks[e / 8] >> e % 8 & 1;
    }
    global ELEMENT* to = out + count_of(before);
    for (uint r = 0; r < rank; ++r) to[r] = taken[r];
    number last = 0;
#if OUTPUT == 1
    const ulong earlier = first - count_of(before);
    const uint others_here = here - rank;
    to = out + (REVERSED ? size - earlier - others_here : total + earlier);
    for (uint r = 0; r < others_here; ++r) to[REVERSED ? others_here - 1 - r : r] = others[r];
#elif OUTPUT == 2
    // A run ends where the next one begins.
    last = last_of(before);
    if (rank > 0) {
      const ulong run = count_of(before);
      if (run > 0) store_count(lengths, lengths_offset + run - 1, wide_lengths, first + places[0] - (last - 1));
      const ulong at = lengths_offset + run;
      if (wide_lengths) {
        for (uint r = 1; r < rank; ++r) ((global ulong*)lengths)[at + r - 1] = (ulong)(places[r] - places[r - 1]);
      } else {
        for (uint r = 1; r < rank; ++r) lengths[at + r - 1] = (uint)(places[r] - places[r - 1]);
      }
      last = (number)(first + places[rank - 1]) + 1;
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
#if PHASE != 0
  uchar16 orders[256];
  make_orders(orders);
#endif
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
    before = place_piece(row, row_flags, orders, begin, end, size, before, total, out + out_offset, lengths, lengths_offset, wide_lengths);
    if (part == parts - 1) store_end(before, size, count, count_offset, wide_count, lengths, lengths_offset, wide_lengths);
#endif
  }
}
