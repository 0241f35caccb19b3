// Selection in a single pass, with decoupled look-back: D. Merrill and M. Garland, "Single-pass parallel prefix scan with
// decoupled look-back", NVIDIA technical report NVR-2016-002, 2016; and decoupled fallback (scan/states.clh).
//
// A group counts what its tile selects, publishes the count, and looks back for what is selected before the tile, while its
// other work-items put the selected elements next to each other in local memory. Then it writes them. Elements are read once.
// All predecessors of a tile have started before it: groups start in their order (ORDERED_START), or tiles are taken by a
// counter (dynamic tile index). Where a predecessor does not publish in time (FALLS_BACK), the group counts that tile in the owner's place and
// looks back again. Where GROUP work-items have less than TILE elements at once, a tile is read twice.
//
// A partition in order has a launch before (select/count.cl), which counts what is selected in all: the others go behind it.
// In reverse order the others go from the end of the output to its middle, and nothing needs be counted before.
//
// Launch: one dimension, GROUP work-items a group, a group for each of `parts` tiles of `piece` = TILE elements. Local memory:
// see select/tile.clh; and a few words. Scratch: entries of all tiles, then of all blocks (scan/states.clh).
#include "select/tile.clh"
#include "scan/states.clh"

#ifndef TILE
#define TILE (GROUP * ITEMS)  // elements of a tile: a multiple of GROUP * ITEMS
#endif
#define STEPS (TILE / STEP)
#include "common/group_size.clh"

#if REGISTERS
#include "nvidia/look_back.clh"
#else
#include "scan/walk_back.clh"
#endif

#if FALLS_BACK
// Counts a tile whose aggregate is missing, or with REGISTERS all of them; or none is, and found[0] is what lies
// before tile `job`, and it is the subject. found[1]: its aggregate.
COLD_FUNCTION void count_missing(global ulong* words, uint epoch, uint parts, uint job, local state* found, local uint* subject,
                                 local state* local_states, global const ELEMENT* row, global const FLAG* flags, ulong size,
                                 uint item) {
  // A struct by value would be passed in private memory.
  const statuses states = statuses_of(words, epoch);
  do {
    barrier(CLK_LOCAL_MEM_FENCE);  // all have read the subject
    if (item < POLLERS) {
      state before = no_state();
      const uint missing = fall_back(states, 0, parts, job, found[1], &before, item);
      if (item == 0) {
        found[0] = before;
        subject[0] = missing;
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint other = subject[0];
    const state aggregate = count_tile(local_states, row, flags, (ulong)other * TILE, TILE, size, item);
    if (item == 0 && other != job) publish_fallback(states, other, other, aggregate, 0);
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  } while (REGISTERS && subject[0] != job);
}
#endif

kernel GROUP_SIZE
void select_look_back(SELECT_ARGUMENTS) {
  USE_SELECT_ARGUMENTS;
  DECLARE_TILE
  local state found[2];  // what lies before the tile, and its aggregate
  local uint taken[1], subject[1];  // the tile that the group counts
  (void)piece;
  const uint item = get_local_id(0);
  const uint job = take_tile(scratch, taken, item);  // the plan sees to it that tiles can be counted in 32 bits
  const statuses states = statuses_of(scratch, epoch);
  const ulong begin = (ulong)job * TILE;
#if OUTPUT == 1 && !REVERSED
  const number total = ((global const uint*)scratch)[TOTAL_WORD];
#else
  const number total = 0;
#endif
  global const ELEMENT* row = in + in_offset;
  global const FLAG* row_flags = flags + flags_offset;

  // What the tile selects.
  held x[HELD];
  uint chosen[CHOICES], ranks[RANKS];
  state own = no_state();
#if STEPS > 1
  for (ulong first = begin; first < begin + TILE; first += STEP) {
    state all;
    rank_tile(x, chosen, ranks, &all, tile, selectors, local_states, marks, row, row_flags, first, size, item);
    own = join(own, all);
    barrier(CLK_LOCAL_MEM_FENCE);  // the next step's elements take their place
  }
#else
  rank_tile(x, chosen, ranks, &own, tile, selectors, local_states, marks, row, row_flags, begin, size, item);
#endif

  // What is selected before it. No barrier in a branch: PoCL 3.1 miscompiles those of small groups.
  state before = no_state();
#if STEPS == 1 && PACKED
  // Bytes are compacted before: meanwhile what the tile waits for is published, and the look-back has their registers.
  if (item == 0 && parts > 1 && job % BLOCK != BLOCK - 1) publish(states, job, AGGREGATE, own);
  compact_tile(x, chosen, ranks, (uint)count_of(own), tile, selectors, places, begin, size, item);
#endif
  if (item < POLLERS) {
    int complete = 1;
    if (parts > 1) complete = look_back(states, 0, parts, job, own, &before, item);
    if (item == 0) {
      found[0] = before;
      found[1] = own;
      subject[0] = complete ? job : job + 1;
    }
  }
#if STEPS == 1 && !PACKED
  compact_tile(x, chosen, ranks, (uint)count_of(own), tile, selectors, places, begin, size, item);
#endif
  barrier(CLK_LOCAL_MEM_FENCE);

#if FALLS_BACK
#if REGISTERS  // or the compiler would spill
  if (subject[0] != job)  // the same for all
#else
  while (subject[0] != job)
#endif
    count_missing(scratch, epoch, (uint)parts, job, found, subject, local_states, row, row_flags, size, item);
#endif
  before = found[0];

  // Its elements.
#if STEPS > 1
  for (ulong first = begin; first < begin + TILE; first += STEP) {
    state all;
    rank_tile(x, chosen, ranks, &all, tile, selectors, local_states, marks, row, row_flags, first, size, item);
    compact_tile(x, chosen, ranks, (uint)count_of(all), tile, selectors, places, first, size, item);
    barrier(CLK_LOCAL_MEM_FENCE);
    write_tile(tile, chosen, ranks, places, out + out_offset, lengths, lengths_offset, wide_lengths, first, size, before,
               (uint)count_of(all), total, item);
    before = join(before, all);
    barrier(CLK_LOCAL_MEM_FENCE);  // the next step's elements take their place
  }
#else
  write_tile(tile, chosen, ranks, places, out + out_offset, lengths, lengths_offset, wide_lengths, begin, size, before,
             (uint)count_of(own), total, item);
#endif
  if (job == parts - 1 && item == 0)
    store_end(join(found[0], own), size, count, count_offset, wide_count, lengths, lengths_offset, wide_lengths);
}
