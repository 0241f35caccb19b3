// Scan in a single pass, with decoupled look-back: D. Merrill and M. Garland, "Single-pass parallel prefix scan with
// decoupled look-back", NVIDIA technical report NVR-2016-002, 2016.
//
// A tile tells those after it what its own elements make as soon as it knows, then looks back over its predecessors to the
// nearest one that knows its whole prefix, and then tells its own prefix. Elements are read once and written once. Tiles are
// taken by a counter, so that all predecessors of a tile have started before it: needs a device on which work-groups that
// have started go on. Where GROUP work-items have less than TILE elements at once, a tile is read twice.
//
// The same bits in every run, whichever predecessor's prefix was found: the prefix of tile k is by definition that of tile
// k - 1 joined with k's own elements, P(k) = P(k - 1) + A(k). From the prefix found on, aggregates are joined strictly from
// left to right, ((P(k) + A(k + 1)) + A(k + 2)) ..., which are the very operations that tiles k + 1, k + 2, ... made for
// themselves. Where an operation is exact (FOLD_FREE), a tree joins them.
//
// Launch: one dimension, GROUP work-items a group, a group for each tile of each row (`parts` tiles of `piece` = TILE
// elements a row). Local memory: see scan/tile.clh; and a few words.
#include "scan/tile.clh"
#include "scan/states.clh"

#ifndef TILE
#define TILE (GROUP * ITEMS)  // elements of a tile: a multiple of GROUP * ITEMS
#endif
#ifndef WINDOW
#define WINDOW 1  // predecessors that are looked at at once: a power of two, at most GROUP
#endif
#ifndef FOLD_FREE
#define FOLD_FREE 0  // 1: any grouping gives the same bits
#endif
#define STEPS (TILE / STEP)

#if WINDOW == 1
static inline state walk_back(global ulong* scratch, ulong tiles, ulong first, ulong tile) {
  ulong at = tile;
  state prefix = no_state();
  uint status;
  do {
    --at;
    do { status = look_at(scratch, tiles, at, &prefix); } while (status == 0);
  } while (status != PREFIX && at > first);  // the first tile tells its prefix at once
  while (++at < tile) {
    state next;
    prefix = look_at(scratch, tiles, at, &next) == PREFIX ? next : join(prefix, next);
  }
  return prefix;
}
#endif

// The prefix of all elements of the row before tile `tile`, for all work-items; before `first`, the row's first tile, lies
// `start`.
GROUP_FUNCTION state look_back(global ulong* scratch, ulong tiles, ulong first, ulong tile, state start, local state* seen,
                               local uint* found, uint item) {
#if WINDOW == 1
  // No barrier in a branch: PoCL 3.1 miscompiles those of small groups.
  if (item == 0) seen[0] = tile == first ? start : walk_back(scratch, tiles, first, tile);
  (void)found;
#else
  if (tile == first) return start;  // the same for the whole group
  // Work-item l looks at tile - WINDOW + l, until a prefix is there and all after it have told something.
  const ulong at = tile - WINDOW + item;  // wraps around where there is no such tile
  const int is_there = item < WINDOW && at >= first && at < tile;
  state mine = no_state();
  uint status = 0, prefix, gap;
  do {
    if (item == 0) found[0] = found[1] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (is_there && status != PREFIX) status = look_at(scratch, tiles, at, &mine);
    if (status == PREFIX) atomic_max(found, item + 1);
    if (status == 0 && item < WINDOW) atomic_max(found + 1, item + 1);
    barrier(CLK_LOCAL_MEM_FENCE);
    prefix = found[0];
    gap = found[1];
    barrier(CLK_LOCAL_MEM_FENCE);
  } while (prefix <= gap);  // the same for the whole group
#if FOLD_FREE
  state all;
  if (item + 1 < prefix || item >= WINDOW) mine = no_state();
  team_scan(&mine, &all, seen, item, GROUP);
  return all;
#else
  if (item < WINDOW) seen[item] = mine;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (item == 0) {
    state all = seen[prefix - 1];
    for (uint l = prefix; l < WINDOW; ++l) all = join(all, seen[l]);
    seen[0] = all;
  }
#endif
#endif
  barrier(CLK_LOCAL_MEM_FENCE);
  const state before = seen[0];
  barrier(CLK_LOCAL_MEM_FENCE);
  return before;
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void scan_look_back(SCAN_ARGUMENTS) {
  local ACC tile[TILE_ITEMS];
  local state meeting[GROUP];
  local uint words[2];
  DECLARE_HEADS
  (void)marks, (void)marks_offset, (void)marks_count, (void)piece;
  const uint item = get_local_id(0);
  if (item == 0) words[0] = atomic_inc((global uint*)scratch);
  barrier(CLK_LOCAL_MEM_FENCE);
  const ulong job = words[0];
  barrier(CLK_LOCAL_MEM_FENCE);  // words are used again
  const ulong number = rows * batch == 1 ? 0 : job / parts;
  const ulong matrix = batch == 1 ? 0 : number / rows;
  const ulong tiles = rows * batch * parts;
  const ulong first_tile = number * parts, begin = (job - first_tile) * TILE;
  global const ELEMENT* row = in + in_offset + matrix * in_stride + (number - matrix * rows) * in_pitch;
  global RESULT* results = out + out_offset + matrix * out_stride + (number - matrix * rows) * out_pitch;
  const ACC start = start_value(initial_bits, has_initial);

  // The tile's own elements.
  ACC s[ITEMS];
  uint begins;
  state mine, own = no_state();
#if STEPS > 1
  for (uint step = 0; step < STEPS; ++step) {
    state total;
    read_tile(tile, row, begin + step * STEP, cols, item, 0 HEADS_ARGUMENT);
    scan_run(&mine, tile, item, s, &begins HEADS_ARGUMENT);
    team_scan(&mine, &total, meeting, item, GROUP);
    own = join(own, total);
    barrier(CLK_LOCAL_MEM_FENCE);  // the next step's elements take their place
  }
#else
  read_tile(tile, row, begin, cols, item, 0 HEADS_ARGUMENT);
  scan_run(&mine, tile, item, s, &begins HEADS_ARGUMENT);
  team_scan(&mine, &own, meeting, item, GROUP);
#endif

  // What lies before it. A tile in which a segment begins need not know that to tell its prefix.
  if (item == 0 && job != first_tile) publish(scratch, tiles, job, head_of(own) ? PREFIX : AGGREGATE, own);
  state before = look_back(scratch, tiles, first_tile, job, start_state(start), meeting, words, item);
  if (item == 0 && (job == first_tile || !head_of(own))) publish(scratch, tiles, job, PREFIX, join(before, own));

  // Its results.
#if STEPS > 1
  for (uint step = 0; step < STEPS; ++step) {
    state total;
    read_tile(tile, row, begin + step * STEP, cols, item, 0 HEADS_ARGUMENT);
    scan_run(&mine, tile, item, s, &begins HEADS_ARGUMENT);
    team_scan(&mine, &total, meeting, item, GROUP);
    place_results(tile, item, s, begins, join(before, mine), start, has_initial);
    barrier(CLK_LOCAL_MEM_FENCE);
    write_tile(tile, results, begin + step * STEP, cols, item, 0);
    before = join(before, total);
    barrier(CLK_LOCAL_MEM_FENCE);  // the next step's elements take their place
  }
#else
  place_results(tile, item, s, begins, join(before, mine), start, has_initial);
  barrier(CLK_LOCAL_MEM_FENCE);
  write_tile(tile, results, begin, cols, item, 0);
#endif
}
