// Selection in two launches, the first one: what the elements of each part select; or TOTAL: what all of them do.
//
// Work-items read packs of neighbours all over a part and combine their counts once in local memory. Flags are counted as elements
// (OF_FLAGS), by the predicate x != 0. A group goes from the end of its part to the beginning, where the next launch begins: what that
// reads first is in the cache.
//
// Launch: one dimension, GROUP work-items a group, a group for each part; the state of part p goes to place p of the scratch.
// TOTAL: any number of groups, which go over the elements together.
// Local memory: GROUP states.
#include "select/operation.clh"
#include "common/work_group.clh"

#ifndef GROUP
#define GROUP 256  // work-items: a power of two
#endif
#ifndef ITEMS
#define ITEMS 16  // elements of a work-item that are read at once: a multiple of PACK
#endif
#ifndef OF_FLAGS
#define OF_FLAGS 0  // 1: the elements are those of `flags`, whose type is ELEMENT
#endif
#ifndef TOTAL
#define TOTAL 0  // 1: all that is selected is added to a word of the scratch, which is zero before; sizes of 32 bits
#endif
#define STEP (GROUP * ITEMS)

DEFINE_TEAM_REDUCE(team_join, state, join)

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void select_count(SELECT_ARGUMENTS) {
  USE_SELECT_ARGUMENTS;
  local state local_states[GROUP];
  (void)in, (void)in_offset, (void)flags_offset, (void)parts, (void)out, (void)out_offset, (void)lengths,
      (void)lengths_offset, (void)wide_lengths, (void)count, (void)count_offset, (void)wide_count;
  const uint item = get_local_id(0);
#if TOTAL
  const ulong part = get_group_id(0), apart = get_num_groups(0), begin = 0, steps = size / STEP, end = part == 0 ? size : 0;
  const ulong first_step = part;
  (void)piece;
#else
  const ulong part = get_group_id(0), apart = 1, begin = part * piece, end = min(begin + piece, size), steps = (end - begin) / STEP;
  const ulong first_step = 0;
#endif
#if OF_FLAGS
  global const ELEMENT* row = (global const ELEMENT*)flags + flags_offset;
#else
  global const ELEMENT* row = in + in_offset;
#endif
  number selected = 0, last = 0;
  const ulong rest = begin + steps * STEP;
  for (ulong i = rest + item; i < end; i += GROUP) {
    const uint takes = selects(row[i], RULE == 2 && i > 0 ? row[i - 1] : 0, flags, i) | begins_all(i);
    selected += takes;
    if (OUTPUT == 2 && takes) last = (number)i + 1;
  }
  for (ulong s = first_step; s < steps; s += apart) {
    const ulong first = begin + (steps - 1 - s) * STEP;
    pack p[ITEMS / PACK];
#pragma unroll
    for (uint u = 0; u < ITEMS / PACK; ++u) p[u].all = load_pack(row, first + (u * GROUP + item) * PACK);
#pragma unroll
    for (uint u = 0; u < ITEMS / PACK; ++u) {
      const ulong i = first + (u * GROUP + item) * PACK;
      ELEMENT before = RULE == 2 && i > 0 ? row[i - 1] : 0;
#pragma unroll
      for (uint k = 0; k < PACK; ++k) {
        const uint takes = selects(p[u].each[k], before, flags, i + k) | (k == 0 && begins_all(i));
        before = p[u].each[k];
        selected += takes;
        if (OUTPUT == 2 && takes) last = max(last, (number)(i + k) + 1);
      }
    }
  }
  state all = state_with(selected, last);
  team_join(&all, local_states, item, GROUP);
#if TOTAL
  if (item == 0) atomic_add((volatile global uint*)scratch + TOTAL_WORD, (uint)count_of(all));
#else
  if (item == 0) ((global state*)scratch)[part] = all;
#endif
}
