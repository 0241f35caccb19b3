// Merges two sorted vectors of keys, with values: see merge/path.clh.
//
// Launch: one dimension, GROUP work-items a group, a group for each tile of the result. With CPU: one work-item a group, which
// merges `piece` elements of the result. With SPLIT another launch, PHASE 2, has found where tiles begin in `a`: so no group waits for that.
#include "sort/keys.clh"
#include "sort/image.clh"

#ifndef CPU
#define CPU 0
#endif
#ifndef SPLIT
#define SPLIT 0  // 1: `splits` says where tiles begin
#endif
#ifndef PHASE
#define PHASE 1
#endif
#define PLACES (VALUES != 0)
#define ELEMENT KEY
#define ORDER_PARAMETERS , uint begin_bit, uint end_bit
#define ORDER_VALUES , begin_bit, end_bit
static inline int precedes(KEY x, KEY y, uint begin_bit, uint end_bit) {
  return image_of(x, begin_bit, end_bit) < image_of(y, begin_bit, end_bit);
}
#include "merge/path.clh"

// Offsets of values are counted in parts.
#define MERGE_ARGUMENTS                                                                                                 \
  global const KEY *a, ulong a_offset, ulong a_count, global const KEY *b, ulong b_offset, ulong b_count,               \
      global KEY *out, ulong out_offset, global const VALUE *a_values UNUSED, ulong a_values_offset UNUSED,             \
      global const VALUE *b_values UNUSED, ulong b_values_offset UNUSED, global VALUE *out_values UNUSED,               \
      ulong out_values_offset UNUSED, uint begin_bit, uint end_bit, ulong piece UNUSED, global ulong* splits UNUSED

#if CPU
kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void merge(MERGE_ARGUMENTS) {
  a += a_offset;
  b += b_offset;
  const ulong all = a_count + b_count, begin = min(get_group_id(0) * piece, all), end = min(begin + piece, all);
  ulong x = split_of(a, a_count, b, b_count, begin ORDER_VALUES), y = begin - x;
  for (ulong i = begin; i < end; ++i) {
    const int takes_a = y >= b_count || (x < a_count && !precedes(b[y], a[x] ORDER_VALUES));
    out[out_offset + i] = takes_a ? a[x] : b[y];
#if VALUES
    global const VALUE* from = takes_a ? a_values + a_values_offset + x * VALUE_PARTS : b_values + b_values_offset + y * VALUE_PARTS;
    for (uint k = 0; k < VALUE_PARTS; ++k) out_values[out_values_offset + i * VALUE_PARTS + k] = from[k];
#endif
    x += takes_a ? 1 : 0;
    y += takes_a ? 0 : 1;
  }
}
#elif PHASE == 2
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void merge(MERGE_ARGUMENTS) {
  const ulong all = a_count + b_count, tile = get_global_id(0) / SEARCHERS, first = min(tile * TILE, all);
#if HAS_TEAMS
  local ulong flags[FLAGS(GROUP / 16)];
  const ulong split = team_split_of(flags, a + a_offset, a_count, b + b_offset, b_count, first, min(a_count, b_count), GROUP / 16,
                                    get_local_id(0) ORDER_VALUES);
#else
  const ulong split = split_of(a + a_offset, a_count, b + b_offset, b_count, first ORDER_VALUES);
#endif
  if (get_local_id(0) % SEARCHERS == 0 && first < all) splits[tile] = split;
}
#else
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void merge(MERGE_ARGUMENTS) {
  local KEY tile[TILE];
#if PLACES
  local ushort places[TILE];
#else
  local ushort* const places = 0;
#endif
  const uint item = get_local_id(0);
  const ulong first = get_group_id(0) * (ulong)TILE;
  merge_part part;
#if SPLIT
  const ulong end = min(first + TILE, a_count + b_count);
  find_part(&part, splits[get_group_id(0)], end < a_count + b_count ? splits[get_group_id(0) + 1] : a_count, first, (uint)(end - first));
  load_part(&part, tile, a + a_offset, b + b_offset, item);
#else
  local ulong ends[END_WORDS];
  load_parts(&part, tile, ends, a + a_offset, a_count, b + b_offset, b_count, first, item ORDER_VALUES);
#endif
  KEY merged[ITEMS];
  uint sources[ITEMS];
  merge_items(merged, sources, tile, part.a_count, part.count - part.a_count, item * ITEMS ORDER_VALUES);
  store_merged(tile, places, merged, sources, item);
#if !VALUES
  if (part.count == TILE) {
    global KEY* to = out + out_offset + first;
#pragma unroll
    for (uint u = 0; u < ITEMS; ++u) to[item + u * GROUP] = tile[item + u * GROUP];
    return;
  }
#endif
  for (uint i = item; i < part.count; i += GROUP) {
    out[out_offset + first + i] = tile[i];
#if VALUES
    const uint place = places[i];
    global const VALUE* from = place < part.a_count
                                   ? a_values + a_values_offset + (part.a_begin + place) * VALUE_PARTS
                                   : b_values + b_values_offset + (part.b_begin + place - part.a_count) * VALUE_PARTS;
    for (uint k = 0; k < VALUE_PARTS; ++k) out_values[out_values_offset + (first + i) * VALUE_PARTS + k] = from[k];
#endif
  }
}
#endif
