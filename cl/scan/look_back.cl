// Scan in a single pass, with decoupled look-back: D. Merrill and M. Garland, "Single-pass parallel prefix scan with
// decoupled look-back", NVIDIA technical report NVR-2016-002, 2016; and decoupled fallback (scan/states.clh).
//
// A group scans its tile, publishes the aggregate, looks back for the exclusive prefix of the tile, and writes the results.
// Elements are read once and written once. All predecessors of a tile have started before it: groups start in their order
// (ORDERED_START), or take a dynamic tile index. If a predecessor does not publish in time, the group computes its aggregate
// itself and looks back again. If a TILE has more than GROUP * ITEMS elements, it is read twice.
//
// The results have the same bits in every run, whichever predecessor's PREFIX was found and whichever group computed an
// aggregate: the order of all operations depends on the tile's number only. Here the inclusive prefix of tile k is that of
// tile k - 1 combined with k's aggregate; NVIDIA's warps look back in two levels (nvidia/look_back.clh).
//
// Launch: one dimension, GROUP work-items a group, a group for each tile of each row (`parts` tiles of `piece` = TILE
// elements a row). Local memory: see scan/tile.clh; and a few words. Scratch: entries of all tiles, then of all blocks.
#include "scan/tile.clh"
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

// Scans the tile that begins with element `first` in STEPS steps and returns its aggregate. `s`, `begins` and `mine` are those of
// scan_tile() for the last step.
GROUP_FUNCTION state scan_steps(ACC s[HELD], uint* begins, state* mine, local ACC* tile, local state* local_states,
                                global const ELEMENT* row, ulong first, ulong cols, uint item,
                                local uchar* heads, global const MARK* marks, ulong marks_count) {
  state aggregate = no_state();
#if STEPS > 1
  for (uint step = 0; step < STEPS; ++step) {
    state total;
    scan_tile(s, begins, mine, &total, tile, local_states, row, first + step * STEP, cols, item, 0, heads, marks, marks_count);
    aggregate = join(aggregate, total);
    barrier(CLK_LOCAL_MEM_FENCE);  // before the next step's elements are stored
  }
#else
  scan_tile(s, begins, mine, &aggregate, tile, local_states, row, first, cols, item, 0, heads, marks, marks_count);
#endif
  return aggregate;
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void scan_look_back(SCAN_ARGUMENTS) {
  USE_SCAN_ARGUMENTS;
  local ACC tile[TILE_ITEMS];
  local state local_states[LOCAL_STATES], found[1];
  local uint taken[1], subject[1];  // the tile whose aggregate the group computes
  DECLARE_HEADS;
  (void)piece;
  uint item = get_local_id(0);
  const uint job = take_tile(scratch, taken, item);
  const statuses states = statuses_of(scratch, epoch);
  // The plan limits the number of tiles to 32 bits.
  const uint number = SEGMENTED || rows * batch == 1 ? 0 : job / (uint)parts;
  const uint matrix = SEGMENTED || batch == 1 ? 0 : number / (uint)rows;
  const uint tiles = number * (uint)parts, place = job - tiles;
  const ulong blocks = rows * batch * parts + number * ((parts + 31) / 32);  // entries, one for 32 tiles
  const ulong begin = (ulong)place * TILE;
  global const ELEMENT* row = in + in_offset + matrix * in_stride + (number - matrix * (uint)rows) * in_pitch;
  global RESULT* results = out + out_offset + matrix * out_stride + (number - matrix * (uint)rows) * out_pitch;
  const int in_place = (global const void*)(in + in_offset) == (global const void*)(out + out_offset);
  const ACC start = start_value(initial_bits, has_initial);

  // The aggregate of the tile.
  ACC s[HELD];
  uint begins;
  state mine;
  const state own = scan_steps(s, &begins, &mine, tile, local_states, row, begin, cols, item, heads, marks + marks_offset,
                               marks_count);

  // The exclusive prefix. No barrier in a branch: PoCL 3.1 miscompiles those of small groups.
  state before = start_state(start);
  if (item < POLLERS) {
    int complete = 1;
    if (parts > 1) complete = look_back(states, tiles, blocks, place, own, &before, item);
    if (in_place) device_fence();  // release: the published status, before the first result
    if (item == 0) {
      found[0] = before;
      subject[0] = complete ? place : place + 1;
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);

#if FALLS_BACK
  // Fallback: computes the missing aggregates, and at last its own tile again, so that its elements need no registers meanwhile.
  while (subject[0] != place) {  // uniform in the group
    DISCARD_ADDRESSES(item);
    barrier(CLK_LOCAL_MEM_FENCE);  // all have read subject
    if (item < POLLERS) {
      state earlier = start_state(start);
      const uint missing = fall_back(states, tiles, blocks, place, own, &earlier, item);
      if (in_place) device_fence();
      if (item == 0) {
        found[0] = earlier;
        subject[0] = missing;
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const ulong first = (ulong)subject[0] * TILE;
    const state aggregate = scan_steps(s, &begins, &mine, tile, local_states, row, first, cols, item, heads,
                                       marks + marks_offset, marks_count);
    if (item == 0 && first != begin) {
      const uint other = subject[0];
      publish_fallback(states, tiles + other, guard_of(tiles, blocks, other), aggregate, in_place);
    }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  }
#endif
  before = found[0];

  // The results.
#if STEPS > 1
  for (uint step = 0; step < STEPS; ++step) {
    state total;
    scan_tile(s, &begins, &mine, &total, tile, local_states, row, begin + step * STEP, cols, item, 0, heads,
              marks + marks_offset, marks_count);
    write_results(s, begins, join(before, mine), tile, results, begin + step * STEP, cols, item, lead_of(row), start, has_initial);
    before = join(before, total);
    barrier(CLK_LOCAL_MEM_FENCE);  // before the next step's elements are stored
  }
#else
  write_results(s, begins, join(before, mine), tile, results, begin, cols, item, lead_of(row), start, has_initial);
#endif
}
