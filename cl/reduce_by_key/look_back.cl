// Reductions of runs of equal keys in a single pass, with decoupled look-back and fallback (scan/states.clh).
//
// A group scans its tile, publishes what it makes and how many runs begin in it, looks back for both of all tiles before it, and
// writes what it knows then: the keys of the runs that begin in the tile, and the results of those that end there. Keys
// and elements are read once; where GROUP work-items have less than TILE elements at once, twice. The results have the same bits in
// every run, as those of scan/look_back.cl.
//
// Launch: one dimension, GROUP work-items a group, a group for each of `parts` tiles of `piece` = TILE elements. Local memory:
// see reduce_by_key/runs.clh; and a few words. Scratch: entries of all tiles, then of all blocks.
#include "reduce_by_key/runs.clh"
#include "scan/states.clh"

#ifndef TILE
#define TILE (GROUP * ITEMS)  // elements of a tile: a multiple of GROUP * ITEMS
#endif
#define STEPS (TILE / STEP)

#if SHUFFLES
#include "nvidia/look_back.clh"
#else
#include "scan/walk_back.clh"
#endif

// Scans the tile that begins with element `first` in STEPS steps and returns what it makes. `s`, `begins` and `mine` are those of
// scan_tile() for the last step.
GROUP_FUNCTION state scan_steps(ACC s[ITEMS], uint* begins, state* mine, local ACC* tile, local state* local_states,
                                local uchar* heads, global const ELEMENT* row, global const MARK* marks, ulong first, ulong size,
                                uint item) {
  state aggregate = no_state();
#if STEPS > 1
  for (uint step = 0; step < STEPS; ++step) {
    state total;
    scan_tile(s, begins, mine, &total, tile, local_states, row, first + step * STEP, size, item, 0, heads, marks, 0);
    aggregate = join(aggregate, total);
    barrier(CLK_LOCAL_MEM_FENCE);  // before the next step's elements are stored
  }
#else
  scan_tile(s, begins, mine, &aggregate, tile, local_states, row, first, size, item, 0, heads, marks, 0);
#endif
  return aggregate;
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void reduce_by_key_look_back(BY_KEY_ARGUMENTS) {
  DECLARE_TILE
  local state found[1];
  local uint taken[1], subject[1];  // the tile that the group scans
  (void)piece;
  uint item = get_local_id(0);
  const statuses states = statuses_of(scratch, 0);
  const uint job = take_tile(scratch, taken, item);  // the plan limits the number of tiles to 32 bits
  const ulong begin = (ulong)job * TILE;
  global const ELEMENT* row = in + in_offset;
  global const MARK* marks = keys + keys_offset;
  global MARK* to_keys = unique_keys + unique_keys_offset;
  global RESULT* results = out + out_offset;

  // What the tile makes.
  ACC s[ITEMS];
  uint begins;
  state mine;
  const state own = scan_steps(s, &begins, &mine, tile, local_states, heads, row, marks, begin, size, item);

  // What lies before it. No barrier in a branch: PoCL 3.1 miscompiles those of small groups.
  state before = no_state();
  if (item < POLLERS) {
    int complete = 1;
    if (parts > 1) complete = look_back(states, 0, parts, job, own, &before, item);
    if (item == 0) {
      found[0] = before;
      subject[0] = complete ? job : job + 1;
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);

  // Fallback: computes what other tiles make, and at last its own again, so that its elements need no registers meanwhile.
  while (subject[0] != job) {  // uniform in the group
    DISCARD_ADDRESSES(item);
    barrier(CLK_LOCAL_MEM_FENCE);  // all have read subject
    if (item < POLLERS) {
      state earlier = no_state();
      const uint missing = fall_back(states, 0, parts, job, own, &earlier, item);
      if (item == 0) {
        found[0] = earlier;
        subject[0] = missing;
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint other = subject[0];
    const state aggregate = scan_steps(s, &begins, &mine, tile, local_states, heads, row, marks, (ulong)other * TILE, size, item);
    if (item == 0 && other != job) publish_fallback(states, other, other, aggregate, 0);
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  }
  before = found[0];

  // Its runs.
#if STEPS > 1
  for (uint step = 0; step < STEPS; ++step) {
    const ulong first = begin + step * STEP;
    state total;
    scan_tile(s, &begins, &mine, &total, tile, local_states, row, first, size, item, 0, heads, marks, 0);
    barrier(CLK_LOCAL_MEM_FENCE);  // all have read their elements
    compact_runs(s, begins, mine, before, tile, places, item);
    barrier(CLK_LOCAL_MEM_FENCE);
    write_runs(tile, places, (uint)head_of(total), before, marks, first, to_keys, results, item);
    before = join(before, total);
    barrier(CLK_LOCAL_MEM_FENCE);  // before the next step's elements are stored
  }
#else
  compact_runs(s, begins, mine, before, tile, places, item);
  barrier(CLK_LOCAL_MEM_FENCE);
  write_runs(tile, places, (uint)head_of(own), before, marks, begin, to_keys, results, item);
#endif
  if (job == parts - 1 && item == 0) store_end(join(found[0], own), results, count, count_offset, wide_count);
}
