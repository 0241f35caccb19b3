// Scan in two launches (reduce, then scan), the first one: the aggregate of each chunk.
//
// If the operation is commutative and there are no segments, work-items accumulate coalesced packs of the whole chunk and are
// combined once in local memory. Else the chunk's tiles are scanned through local memory in their order.
//
// Launch: one dimension, GROUP work-items a group, a group for each chunk of each row; the aggregate of chunk p of row r is
// stored at r * parts + p of the scratch. Local memory: see scan/tile.clh; without tiles, GROUP states.
#include "scan/tile.clh"

#ifndef ORDERED
#define ORDERED 1  // 0: the elements may be combined in any order
#endif

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void scan_reduce(SCAN_ARGUMENTS) {
  USE_SCAN_ARGUMENTS;
  local state local_states[GROUP];
  (void)marks, (void)marks_offset, (void)marks_count, (void)out, (void)out_offset, (void)out_pitch, (void)out_stride,
      (void)initial_bits, (void)has_initial;
  const uint item = get_local_id(0);
  const ulong job = get_group_id(0);
  const ulong number = rows * batch == 1 ? 0 : job / parts;
  const ulong matrix = batch == 1 ? 0 : number / rows;
  const ulong part = job - number * parts;
  const ulong begin = part * piece, end = min(begin + piece, cols);
  global const ELEMENT* row = in + in_offset + matrix * in_stride + (number - matrix * rows) * in_pitch;
  state mine = no_state(), total;
#if ORDERED
  local ACC tile[TILE_ITEMS];
#if SEGMENTED
  local uchar heads[GROUP * ITEMS] HEADS_ALIGNED;
#else
  local uchar* const heads = 0;
#endif
  state own = no_state();
  for (ulong first = begin; first < end; first += STEP) {
    ACC s[ITEMS];
    uint begins;
    // Up to the chunk's end: chunks are whole tiles of the second launch, whose tiles may be smaller.
    scan_tile(s, &begins, &mine, &total, tile, local_states, row, first, end, item, 0, heads, marks + marks_offset, marks_count);
    own = join(own, total);
    barrier(CLK_LOCAL_MEM_FENCE);  // before the next elements are stored
  }
#else
  ACC lanes[LANES];
#pragma unroll
  for (uint k = 0; k < LANES; ++k) lanes[k] = identity();
  ulong first = begin;
  for (; first + STEP <= end; first += STEP) {
    pack p[ITEMS / PACK];
#pragma unroll
    for (uint u = 0; u < ITEMS / PACK; ++u) p[u].all = load_pack(row, first + (u * TEAM + item) * PACK);
#pragma unroll
    for (uint u = 0; u < ITEMS / PACK; ++u)
#pragma unroll
      for (uint k = 0; k < PACK; ++k) lanes[k % LANES] = combine(lanes[k % LANES], lift((VALUE)p[u].each[k]));
  }
  for (ulong i = first + item; i < end; i += GROUP) lanes[0] = combine(lanes[0], lift(load_value(row, i)));
#pragma unroll
  for (uint k = 1; k < LANES; ++k) lanes[0] = combine(lanes[0], lanes[k]);
  mine = make_state(lanes[0], 0);
  team_scan(&mine, &total, local_states, item, GROUP);
  const state own = total;
#endif
  if (item == 0) ((global state*)scratch)[job] = own;
}
