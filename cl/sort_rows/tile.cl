// Sorts of rows that fit local memory: a radix sort of one row by one group. A row is read once and written once; its passes by digits
// are in local memory (sort/tile.clh).
//
// Launch: one dimension, a group of GROUP work-items for each row; of segments any number of groups, which share the
// middling ones.
#define GATHER 1  // places move with the keys, and values at the end
#include "sort/tile.clh"
#include "sort_rows/rows.clh"

// Sorts the `count` keys of a row.
GROUP_FUNCTION void sort_row(global const KEY* from, global KEY* to, global const VALUE* from_values, global VALUE* to_values,
                             uint count, local ulong* area, local number* sums, local uint* counts, uint begin_bit, uint end_bit,
                             uint digit_bits, uint passes, uint item) {
  local KEY* tile = (local KEY*)area;
#if VALUES
  local ushort* tile_places = (local ushort*)area;
  ushort places[ITEMS];
#endif
  KEY keys[ITEMS];
  uint ranks[ITEMS];
#pragma unroll
  for (uint u = 0; u < ITEMS; ++u) {
    const uint place = place_of(item, u);
    keys[u] = place < count ? from[place] : 0;
#if VALUES
    places[u] = (ushort)place;
#endif
  }
#pragma unroll 1
  for (uint p = 0; p < passes; ++p) {
    const uint shift = shift_of(begin_bit, digit_bits, p), mask = mask_of(shift, end_bit, digit_bits);
    // What lies beyond the row stays there: it has the greatest digit, and comes last.
#pragma unroll
    for (uint u = 0; u < ITEMS; ++u) ranks[u] = place_of(item, u) < count ? digit_of(keys[u], shift, mask) : RADIX - 1;
    count_tile(ranks, (local uint*)area, counts, item);
    rank_tile(ranks, (local uint*)area, counts, sums, item);
    exchange_tile(keys, ranks, tile);
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
    for (uint u = 0; u < ITEMS; ++u) keys[u] = tile[place_of(item, u)];
    barrier(CLK_LOCAL_MEM_FENCE);
#if VALUES
#pragma unroll
    for (uint u = 0; u < ITEMS; ++u) tile_places[ranks[u]] = places[u];
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
    for (uint u = 0; u < ITEMS; ++u) places[u] = tile_places[place_of(item, u)];
    barrier(CLK_LOCAL_MEM_FENCE);
#endif
  }

#if VALUES != 2
#pragma unroll
  for (uint u = 0; u < ITEMS; ++u)
    if (place_of(item, u) < count) to[place_of(item, u)] = keys[u];
#endif
#if VALUES == 2
#pragma unroll
  for (uint u = 0; u < ITEMS; ++u)
    if (place_of(item, u) < count) to_values[place_of(item, u)] = places[u];
#elif VALUES
#if IN_PLACE_ROWS  // all is read before anything is written
  VALUE moved[ITEMS * VALUE_PARTS];
#pragma unroll
  for (uint u = 0; u < ITEMS; ++u) {
    // Beyond the row, its first one: PoCL 6 with LLVM 18 may end the process where private numbers stay undefined.
    const uint place = place_of(item, u) < count ? places[u] : 0;
#pragma unroll
    for (uint k = 0; k < VALUE_PARTS; ++k) moved[u * VALUE_PARTS + k] = from_values[place * VALUE_PARTS + k];
  }
  barrier(CLK_GLOBAL_MEM_FENCE);
#endif
#pragma unroll
  for (uint u = 0; u < ITEMS; ++u) {
    const uint i = place_of(item, u);
    if (i < count) {
#pragma unroll
      for (uint k = 0; k < VALUE_PARTS; ++k)
#if IN_PLACE_ROWS
        to_values[i * VALUE_PARTS + k] = moved[u * VALUE_PARTS + k];
#else
        to_values[i * VALUE_PARTS + k] = from_values[(uint)places[u] * VALUE_PARTS + k];
#endif
    }
  }
#endif
#if !VALUES
  (void)from_values, (void)to_values;
#elif VALUES == 2
  (void)to, (void)from_values;
#endif
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) SUB_GROUP_SIZE
void sort_rows_tile(SORT_ROWS_ARGUMENTS) {
  USE_SORT_ROWS_ARGUMENTS;
  local ulong area[AREA_WORDS];
  local number sums[2 * RADIX];
  local uint counts[RADIX];
  const uint item = get_local_id(0);
#if SEGMENTS
  const uint all = MIDDLE_COUNT;
  for (uint i = get_group_id(0); i < all; i += get_num_groups(0)) {
    const ulong here = BEGIN_OF(MIDDLE_SEGMENT(i));
    const uint count = (uint)LENGTH_OF(MIDDLE_SEGMENT(i));
#else
  {
    const ulong here = get_group_id(0);
    const uint count = (uint)size;
#endif
#if VALUES
    sort_row(KEYS_OF(here), OUT_OF(here), VALUES_OF(here), OUT_VALUES_OF(here), count, area, sums, counts, begin_bit, end_bit,
             digit_bits, passes, item);
#else
    sort_row(KEYS_OF(here), OUT_OF(here), values, out_values, count, area, sums, counts, begin_bit, end_bit, digit_bits, passes,
             item);
#endif
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}
