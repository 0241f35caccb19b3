// top_k of short rows, several rows a group: a bitonic network sorts each row in registers (sort/network.clh), and the first k are its
// results.
//
// Launch: one dimension, a group of GROUP work-items for each GROUP / TEAM rows of at most TEAM * ITEMS elements.
#ifndef GROUP
#define GROUP 256
#endif
#ifndef TEAM
#define TEAM 8  // a power of two
#endif
#define MANY_ROWS (GROUP / TEAM > 2)
#include "top_k/rows.clh"
#include "common/sub_group.clh"
#include "sort/network.clh"

DEFINE_SORT_ENTRIES(sort_entries, LOG_ITEMS)

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) SUB_GROUP_SIZE
void top_k_network(TOP_K_ARGUMENTS) {
  USE_TOP_K_ARGUMENTS;
  local entry area[SHUFFLE ? 1 : GROUP * ITEMS];
  local ushort all_places[GROUP * ITEMS];
  const uint item = get_local_id(0), lane = item & (TEAM - 1);
  local ushort* chosen = all_places + item / TEAM * WIDTH;
  const ulong row = get_group_id(0) * (ulong)(GROUP / TEAM) + item / TEAM, here = row < all_rows ? row : 0;
  global const KEY* keys = in + row_start(here, rows, in_offset, in_pitch, in_stride);
  entry e[ITEMS];
#pragma unroll
  for (uint u = 0; u < ITEMS; ++u) {
    const uint place = lane + u * TEAM;
    e[u] = make_entry(place < size ? order_of(keys[place]) : ALL_BITS, place);
  }
  sort_entries(e, area, item);
#pragma unroll
  for (uint u = 0; u < ITEMS; ++u) chosen[lane * ITEMS + u] = (ushort)place_in(e[u]);
  barrier(CLK_LOCAL_MEM_FENCE);
  const uint results = row < all_rows ? k : 0;
  global KEY* row_values = values + row_start(here, rows, values_offset, values_pitch, values_stride);
#if NTH
  if (lane == 0 && results > 0) row_values[0] = keys[chosen[k - 1]];
#else
  global PLACE* row_places = places + row_start(here, rows, places_offset, places_pitch, places_stride);
  for (uint i = lane; i < results; i += TEAM) {
    const uint place = chosen[i];
#if SORTED
    const uint at = i;
#else
    uint at = 0;
    for (uint j = 0; j < k; ++j) at += chosen[j] < place;
#endif
    row_values[at] = keys[place];
    row_places[at] = place;
  }
#endif
}
