// Scan of short rows that follow each other without gaps, in one launch.
//
// A work-group loads as many whole rows as its tile holds: neighbouring elements, so that loads are coalesced and wide whatever
// the length and the alignment of a row. It scans them as segments, with a head flag at the first element of each row. Small elements, whose run
// is a pack or two, go from memory to the registers of the work-item that scans them, and back (OWN_RUNS). Where tiles begin anywhere, the
// first work-item's run begins with the pack that holds the tile's first element (LEAD), so that all others are aligned.
//
// Launch: one dimension, GROUP work-items a group, a group for each `piece` elements, which are whole rows. Local memory: see
// scan/tile.clh.
#define MARKS 4
#include "scan/tile.clh"
#include "common/sub_group.clh"

#ifndef OWN_RUNS
#define OWN_RUNS 0  // 1: a work-item reads its own run; no tile
#endif

// Bit k: whether element `first` + k is the first one of a row of `width` elements; those before the tile's first one are of none.
static inline uint heads_of_run(int first, uint width) {
  uint begins = 0;
  for (uint k = first < 0 ? (uint)-first : (width - (uint)first % width) % width; k < ITEMS; k += width) begins |= 1u << k;
  return begins;
}

#if OWN_RUNS
#include "scan/own_runs.clh"
#else
// Loads `count` elements to local memory, as many packs under way at once as a work-item has.
GROUP_FUNCTION void read_rows(local ACC* tile, global const ELEMENT* from, uint count, uint item) {
  pack p[ITEMS / PACK];
#pragma unroll
  for (uint u = 0; u < ITEMS / PACK; ++u) {
    const uint at = (u * GROUP + item) * PACK;
    if (at + PACK <= count) {
      p[u].all = load_pack(from, at);
    } else {
#pragma unroll
      for (uint k = 0; k < PACK; ++k) p[u].each[k] = (packed_value)(at + k < count ? load_value(from, at + k) : (VALUE)0);
    }
  }
#pragma unroll
  for (uint u = 0; u < ITEMS / PACK; ++u)
#pragma unroll
    for (uint k = 0; k < PACK; ++k) tile[place_of(0, (u * GROUP + item) * PACK + k)] = lift((VALUE)p[u].each[k]);
}

GROUP_FUNCTION void write_rows(local const ACC* tile, global RESULT* to, uint count, uint item) {
#pragma unroll
  for (uint u = 0; u < ITEMS / OUT_PACK; ++u) {
    const uint at = (u * GROUP + item) * OUT_PACK;
    if (at + OUT_PACK <= count) {
      result_pack p;
#pragma unroll
      for (uint k = 0; k < OUT_PACK; ++k) p.each[k] = (result_value)tile[place_of(0, at + k)];
      store_pack(to, at, p);
    } else {
#pragma unroll
      for (uint k = 0; k < OUT_PACK; ++k)
        if (at + k < count) store_result(to, at + k, (result_value)tile[place_of(0, at + k)]);
    }
  }
}

#endif

kernel SUB_GROUP_SIZE __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void scan_rows(SCAN_ARGUMENTS) {
  USE_SCAN_ARGUMENTS;
  (void)marks, (void)scratch;
#if !OWN_RUNS
  local ACC tile[TILE_ITEMS];
#endif
  local state local_states[LOCAL_STATES];
  const uint item = get_local_id(0);
  const ulong first = get_group_id(0) * piece;
  const uint count = (uint)min(rows * batch * cols - first, piece);
  const ACC start = start_value(initial_bits, has_initial);
  ACC s[ITEMS];
#if OWN_RUNS
  const int run = (int)(item * ITEMS) - own_lead(in + in_offset + first);
#else
  const int run = (int)(item * ITEMS);
#endif
  uint begins = heads_of_run(run, (uint)cols);
  state mine, all;
#if OWN_RUNS
  read_own(s, in + in_offset + first, run, count);
  scan_items(&mine, s, begins);
  team_scan(&mine, &all, local_states, item, GROUP);
  write_own(s, begins, mine, start, has_initial, out + out_offset + first, run, count);
#else
  read_rows(tile, in + in_offset + first, count, item);
  barrier(CLK_LOCAL_MEM_FENCE);
  scan_run(&mine, tile, item, s, &begins, 0);
  team_scan(&mine, &all, local_states, item, GROUP);
  place_results(tile, item, s, begins, mine, start, has_initial);
  barrier(CLK_LOCAL_MEM_FENCE);
  write_rows(tile, out + out_offset + first, count, item);
#endif
}
