// Scan in a single pass, with decoupled look-back: D. Merrill and M. Garland, "Single-pass parallel prefix scan with
// decoupled look-back", NVIDIA technical report NVR-2016-002, 2016; and decoupled fallback (scan/states.clh).
//
// A group scans its tile, publishes the aggregate, looks back for what lies before the tile, and writes the results. Elements
// are read once and written once. All predecessors of a tile have started before it: groups start in their order
// (ORDERED_START), or tiles are taken by a counter (dynamic tile index). Where a predecessor does not publish in time, the
// group computes its aggregate in the owner's place and looks back again. Where GROUP work-items have less than TILE elements
// at once, a tile is read twice.
//
// The same bits in every run, whichever predecessor's PREFIX was found and whichever group computed an aggregate: each is made
// by operations whose order only the tile's number decides. Here the prefix of tile k is that of tile k - 1 joined with k's
// aggregate; NVIDIA's warps look back in two levels (nvidia/look_back.clh).
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

// Scans the tile that begins with element `first`, step by step, and gives its aggregate. `s`, `begins` and `mine` are left as by scan_tile
// for the last step.
GROUP_FUNCTION state scan_steps(ACC s[ITEMS], uint* begins, state* mine, local ACC* tile, local state* meeting,
                                global const ELEMENT* row, ulong first, ulong cols, uint item,
                                local uchar* heads, global const MARK* marks, ulong marks_count) {
  state aggregate = no_state();
#if STEPS > 1
  for (uint step = 0; step < STEPS; ++step) {
    state total;
    scan_tile(s, begins, mine, &total, tile, meeting, row, first + step * STEP, cols, item, 0, heads, marks, marks_count);
    aggregate = join(aggregate, total);
    barrier(CLK_LOCAL_MEM_FENCE);  // the next step's elements take their place
  }
#else
  scan_tile(s, begins, mine, &aggregate, tile, meeting, row, first, cols, item, 0, heads, marks, marks_count);
#endif
  return aggregate;
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void scan_look_back(SCAN_ARGUMENTS) {
  local ACC tile[TILE_ITEMS];
  local state meeting[MEETING], found[1];
  local uint taken[1], subject[1];  // the tile whose elements the group computes with
#if SEGMENTED
  local uchar heads[GROUP * ITEMS];
#else
  local uchar* const heads = 0;
#endif
  (void)piece;
  uint item = get_local_id(0);
  const uint job = take_tile(scratch, taken, item);
  // The plan sees to it that tiles can be counted in 32 bits.
  const uint number = rows * batch == 1 ? 0 : job / (uint)parts;
  const uint matrix = batch == 1 ? 0 : number / (uint)rows;
  const uint tiles = number * (uint)parts, place = job - tiles;
  const ulong blocks = rows * batch * parts + number * ((parts + 31) / 32);  // entries, one for 32 tiles
  const ulong begin = (ulong)place * TILE;
  global const ELEMENT* row = in + in_offset + matrix * in_stride + (number - matrix * (uint)rows) * in_pitch;
  global RESULT* results = out + out_offset + matrix * out_stride + (number - matrix * (uint)rows) * out_pitch;
  const int in_place = (global const void*)(in + in_offset) == (global const void*)(out + out_offset);
  const ACC start = start_value(initial_bits, has_initial);

  // The tile's own elements.
  ACC s[ITEMS];
  uint begins;
  state mine;
  const state own = scan_steps(s, &begins, &mine, tile, meeting, row, begin, cols, item, heads, marks + marks_offset, marks_count);

  // What lies before it. No barrier in a branch: PoCL 3.1 miscompiles those of small groups.
  state before = start_state(start);
  if (item < POLLERS) {
    int complete = 1;
    if (parts > 1) complete = look_back(scratch, tiles, blocks, place, own, &before, item);
    if (in_place) device_fence();  // what was published, before the first result
    if (item == 0) {
      found[0] = before;
      subject[0] = complete ? place : place + 1;
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);

#if FALLS_BACK
  // Falls back: computes the aggregates that are missing, and in the end its own elements again, so that nothing of them is
  // kept in registers meanwhile.
  while (subject[0] != place) {  // the same for all
    DISCARD_ADDRESSES(item);
    barrier(CLK_LOCAL_MEM_FENCE);  // all know so
    if (item < POLLERS) {
      state earlier = start_state(start);
      const uint missing = fall_back(scratch, tiles, blocks, place, own, &earlier, item);
      if (in_place) device_fence();
      if (item == 0) {
        found[0] = earlier;
        subject[0] = missing;
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const ulong first = (ulong)subject[0] * TILE;
    const state aggregate = scan_steps(s, &begins, &mine, tile, meeting, row, first, cols, item, heads, marks + marks_offset, marks_count);
    if (item == 0 && first != begin) {
      const uint other = subject[0];
      publish_fallback(scratch, tiles + other, guard_of(tiles, blocks, other), aggregate, in_place);
    }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  }
#endif
  before = found[0];

  // Its results.
#if STEPS > 1
  for (uint step = 0; step < STEPS; ++step) {
    state total;
    scan_tile(s, &begins, &mine, &total, tile, meeting, row, begin + step * STEP, cols, item, 0, heads, marks + marks_offset, marks_count);
    write_results(s, begins, join(before, mine), tile, results, begin + step * STEP, cols, item, 0, start, has_initial);
    before = join(before, total);
    barrier(CLK_LOCAL_MEM_FENCE);  // the next step's elements take their place
  }
#else
  write_results(s, begins, join(before, mine), tile, results, begin, cols, item, 0, start, has_initial);
#endif
}
