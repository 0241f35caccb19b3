// Selection in two launches, the second one; or in one, where there is one part and the selected elements go nowhere else.
//
// A group has a part. It first joins the aggregates of all parts before it, which the first launch left in the scratch
// (select/count.cl), and for a partition in order those of all parts: the others go behind all selected elements. Then it takes the part's
// tiles in their order, and adds their aggregates to the prefix.
//
// Launch: one dimension, GROUP work-items a group, a group for each part. Local memory: see select/tile.clh,
// with GROUP states.
#define LOCAL_STATES GROUP  // a state of each work-item
#define IN_PARTS 1
#include "select/tile.clh"
#define COUNTS_ALL (OUTPUT == 1 && !REVERSED)  // where the others go is known when all are counted
#include "common/sub_group.clh"

DEFINE_TEAM_REDUCE(team_join, state, join)

kernel SUB_GROUP_SIZE __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void select_parts(SELECT_ARGUMENTS) {
  USE_SELECT_ARGUMENTS;
  DECLARE_TILE
  const uint item = get_local_id(0);
  const ulong part = get_group_id(0), begin = part * piece, end = min(begin + piece, size);
  global const ELEMENT* row = in + in_offset;
  global const FLAG* row_flags = flags + flags_offset;

  global const state* aggregates = (global const state*)scratch;
  const ulong first_part = COUNTS_ALL || parts > 1 ? 0 : parts;  // one part alone was not counted
  state before = no_state(), every = no_state();
  for (ulong p = first_part + item; p < (COUNTS_ALL ? parts : part); p += GROUP) {
    if (p < part) before = join(before, aggregates[p]);
    every = join(every, aggregates[p]);
  }
  team_join(&before, local_states, item, GROUP);
#if COUNTS_ALL
  team_join(&every, local_states, item, GROUP);
#endif

  held x[HELD];
#if LOADS_AHEAD
  load_tile(x, row, begin, size, item);
#endif
  for (ulong first = begin; first < end; first += STEP) {
    uint chosen[CHOICES], ranks[RANKS];
    state all;
    rank_tile(x, chosen, ranks, &all, tile, selectors, local_states, marks, row, row_flags, first, size, item);
    const uint selected = (uint)count_of(all);
    compact_tile(x, chosen, ranks, selected, tile, selectors, places, first, size, item);
#if LOADS_AHEAD
    if (first + STEP < end) load_tile(x, row, first + STEP, size, item);  // while these are written
#endif
    barrier(CLK_LOCAL_MEM_FENCE);
    write_tile(tile, chosen, ranks, places, out + out_offset, lengths, lengths_offset, wide_lengths, first, size, before, selected,
               count_of(every), item);
    before = join(before, all);
    barrier(CLK_LOCAL_MEM_FENCE);  // the next elements take their place
  }
  if (part == parts - 1 && item == 0)
    store_end(before, size, count, count_offset, wide_count, lengths, lengths_offset, wide_lengths);
}
