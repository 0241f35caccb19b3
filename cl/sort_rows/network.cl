// Sorts of short rows in registers, several rows a group: a bitonic network.
//
// A row is sorted by TEAM work-items with ITEMS entries each: see sort/network.clh. What lies beyond the row comes last. Then keys and
// values are gathered by their places.
//
// Of segments (1) it sorts those that it has room for, and lists the others: small ones of at most `parts` keys, middling ones of at
// most `piece`, and long ones. SEGMENTS 2: it sorts the small ones.
//
// Launch: one dimension, a group of GROUP work-items for each GROUP / TEAM rows; SEGMENTS 2: any number of groups.
#include "sort/keys.clh"

#ifndef GROUP
#define GROUP 256
#endif
#ifndef TEAM
#define TEAM 8  // a power of two
#endif
#define MANY_ROWS (GROUP / TEAM > 2)
#include "sort_rows/rows.clh"
#include "sort/network.clh"
// Segments are much shorter than the longest ones: a warp sorts such of them as fit so many of its items. 0: there are none.
#if SEGMENTS == 2 && SHUFFLE && TEAM == 32 && LOG_ITEMS > 2
#define SHORT_LOG_ITEMS 2
#else
#define SHORT_LOG_ITEMS 0
#endif

DEFINE_SORT_ENTRIES(sort_entries, LOG_ITEMS)
#if SHORT_LOG_ITEMS > 0
DEFINE_SORT_ENTRIES(sort_few, SHORT_LOG_ITEMS)
#endif

// Sorts the `count` keys of a team's row. `area`: where the group's work-items exchange entries. `places`: the team's.
GROUP_FUNCTION void sort_row(global const KEY* keys, global KEY* to, global const VALUE* from_values, global VALUE* to_values,
                             uint count, local entry* area, local ushort* places, uint begin_bit, uint end_bit, uint item) {
  const uint lane = item & (TEAM - 1);
  entry e[ITEMS];
#pragma unroll
  for (uint u = 0; u < ITEMS; ++u) {
    const uint place = lane + u * TEAM;
    e[u] = make_entry(place < count ? image_of(keys[place], begin_bit, end_bit) : ALL_BITS, place);
  }
#if SHORT_LOG_ITEMS > 0
  // Of a warp: what the first items have is the whole row.
  if (count <= (uint)TEAM << SHORT_LOG_ITEMS) {
    sort_few(e, area, item);
#pragma unroll
    for (uint u = 0; u < 1 << SHORT_LOG_ITEMS; ++u) places[(lane << SHORT_LOG_ITEMS) + u] = (ushort)place_in(e[u]);
  } else
#endif
  {
    sort_entries(e, area, item);
#pragma unroll
    for (uint u = 0; u < ITEMS; ++u) places[lane * ITEMS + u] = (ushort)place_in(e[u]);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  // All is read before anything is written, which may take its place.
#if VALUES != 2
  KEY moved[ITEMS];
#pragma unroll
  for (uint u = 0; u < ITEMS; ++u)
    if (lane + u * TEAM < count) moved[u] = keys[places[lane + u * TEAM]];
#endif
#if VALUES == 1
#if IN_PLACE_ROWS
  VALUE moved_values[ITEMS * VALUE_PARTS];
#pragma unroll
  for (uint u = 0; u < ITEMS; ++u) {
    if (lane + u * TEAM < count) {
#pragma unroll
      for (uint k = 0; k < VALUE_PARTS; ++k)
        moved_values[u * VALUE_PARTS + k] = from_values[(uint)places[lane + u * TEAM] * VALUE_PARTS + k];
    }
  }
#endif
#endif
#if IN_PLACE_ROWS
  barrier(CLK_GLOBAL_MEM_FENCE);
#endif
#pragma unroll
  for (uint u = 0; u < ITEMS; ++u) {
    const uint i = lane + u * TEAM;
    if (i < count) {
#if VALUES != 2
      to[i] = moved[u];
#endif
#if VALUES == 2
      to_values[i] = places[i];
#elif VALUES
#pragma unroll
      for (uint k = 0; k < VALUE_PARTS; ++k)
#if IN_PLACE_ROWS
        to_values[i * VALUE_PARTS + k] = moved_values[u * VALUE_PARTS + k];
#else
        to_values[i * VALUE_PARTS + k] = from_values[(uint)places[i] * VALUE_PARTS + k];
#endif
#endif
    }
  }
#if !VALUES
  (void)from_values, (void)to_values;
#elif VALUES == 2
  (void)to, (void)from_values;
#endif
  (void)area;
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) SUB_GROUP_SIZE
void sort_rows_network(SORT_ROWS_ARGUMENTS) {
  USE_SORT_ROWS_ARGUMENTS;
  local entry area[SHUFFLE ? 1 : GROUP * ITEMS];
  local ushort all_places[GROUP * ITEMS];
  const uint item = get_local_id(0);
  local ushort* places = all_places + item / TEAM * WIDTH;
#if SEGMENTS == 2
  const uint all = SMALL_COUNT;
  for (uint begin = get_group_id(0) * (GROUP / TEAM); begin < all; begin += get_num_groups(0) * (GROUP / TEAM)) {
    const uint i = begin + item / TEAM;
    const ulong here = i < all ? BEGIN_OF(SMALL_SEGMENT(i)) : 0;
    const uint count = i < all ? (uint)LENGTH_OF(SMALL_SEGMENT(i)) : 0;
#else
  {
    const ulong row = get_group_id(0) * (ulong)(GROUP / TEAM) + item / TEAM;
#if SEGMENTS
    const int is_there = row < all_rows && !ARE_BAD;
    const ulong here = is_there ? BEGIN_OF(row) : 0, length = is_there ? LENGTH_OF(row) : 0;
    const uint count = length <= WIDTH ? (uint)length : 0;
    if (length > WIDTH && (item & (TEAM - 1)) == 0) {
      if (length > piece) {
        LONG_SEGMENT(atomic_inc(&LONG_COUNT)) = (uint)row;
      } else if (length > parts) {
        MIDDLE_SEGMENT(atomic_inc(&MIDDLE_COUNT)) = (uint)row;
      } else {
        SMALL_SEGMENT(atomic_inc(&SMALL_COUNT)) = (uint)row;
      }
    }
#else
    const ulong here = row < all_rows ? row : 0;
    const uint count = row < all_rows ? (uint)size : 0;
#endif
#endif
#if VALUES
    sort_row(KEYS_OF(here), OUT_OF(here), VALUES_OF(here), OUT_VALUES_OF(here), count, area, places, begin_bit, end_bit, item);
#else
    sort_row(KEYS_OF(here), OUT_OF(here), values, out_values, count, area, places, begin_bit, end_bit, item);
#endif
#if SEGMENTS == 2
    barrier(CLK_LOCAL_MEM_FENCE);
#endif
  }
}
