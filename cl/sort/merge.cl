// Merge sort by the order of keys, as cl/sort_by has it by a comparison: tiles are sorted in local memory (PHASE 0), then runs are
// merged in pairs, each tile of the result by one group (PHASE 1). Values and places follow at the end of each pass, from where
// their keys stood.
//
// Launch: one dimension, GROUP work-items a group, a group for each tile. Pass 0 is PHASE 0; pass p merges runs of TILE << (p - 1)
// keys.
#ifndef VALUES
#define VALUES 0
#endif
#ifndef PHASE
#define PHASE 0
#endif
#define PLACES (VALUES != 0)
#include "sort/keys.clh"

#define ELEMENT KEY
#define ORDER_PARAMETERS , uint shift, sortable range
#define ORDER_VALUES , shift, range
static inline int precedes(KEY x, KEY y, uint shift, sortable range) {
  return (order_of(x) >> shift & range) < (order_of(y) >> shift & range);
}
#include "merge/path.clh"
#include "merge/tile.clh"

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void sort_merge(SORT_ARGUMENTS) {
  USE_SORT_ARGUMENTS;
  local KEY tile[TILE];
#if PLACES
  local ushort places[TILE];
#else
  local ushort* const places = 0;
#endif
  const uint item = get_local_id(0), shift = begin_bit & (KEY_BITS - 1), bits = end_bit - begin_bit;
  const sortable range = bits == 0 ? 0 : ALL_BITS >> (KEY_BITS - bits);
  const ulong begin = get_group_id(0) * (ulong)TILE;
  const uint count = (uint)min(size - begin, (ulong)TILE);
  global const KEY* from = SOURCE_KEYS(route);
#if PHASE == 0
  for (uint i = item; i < count; i += GROUP) tile[i] = from[begin + i];
  barrier(CLK_LOCAL_MEM_FENCE);
  sort_tile(tile, places, count, item ORDER_VALUES);
#else
  local ulong ends[END_WORDS];
  const ulong width = (ulong)TILE << (pass - 1), pair = begin / (2 * width) * (2 * width);
  const ulong a_count = min(width, size - pair), b_count = min(width, size - pair - a_count);
  merge_part part;
  load_parts(&part, tile, ends, from + pair, a_count, from + pair + a_count, b_count, begin - pair, item ORDER_VALUES);
  KEY merged[ITEMS];
  uint sources[ITEMS];
  merge_items(merged, sources, tile, part.a_count, part.count - part.a_count, item * ITEMS ORDER_VALUES);
  store_merged(tile, places, merged, sources, item);
#endif
  if (WRITES_KEYS(route))
    for (uint i = item; i < count; i += GROUP) TARGET_KEYS(route)[begin + i] = tile[i];
#if PLACES
  ulong stood[ITEMS];  // of values
#pragma unroll
  for (uint u = 0; u < ITEMS; ++u) {
    const uint i = item + u * GROUP, place = i < count ? places[i] : 0;
#if PHASE == 0
    stood[u] = begin + place;
#else
    stood[u] = pair + (place < part.a_count ? part.a_begin + place : a_count + part.b_begin + place - part.a_count);
#endif
  }
  global const VALUE* from_values = SOURCE_VALUES(route);
  global VALUE* to_values = TARGET_VALUES(route) + begin * VALUE_PARTS;
  // All of a part is read before it is written, where results may take the values' place.
  for (uint k = 0; k < VALUE_PARTS; ++k) {
    VALUE moved[ITEMS];
#pragma unroll
    for (uint u = 0; u < ITEMS; ++u) {
      if (item + u * GROUP < count)
        moved[u] = MAKES_PLACES(route) ? (VALUE)stood[u] : from_values[stood[u] * VALUE_PARTS + k];
    }
    barrier(CLK_GLOBAL_MEM_FENCE);
#pragma unroll
    for (uint u = 0; u < ITEMS; ++u)
      if (item + u * GROUP < count) to_values[(ulong)(item + u * GROUP) * VALUE_PARTS + k] = moved[u];
  }
#endif
}
