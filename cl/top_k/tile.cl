// top_k of rows that fit local memory: a row's images are read once, and selected, placed and sorted there.
//
// Radix select: each pass counts a digit of the images in the interval, and narrows the interval to one digit. Then the work-items,
// each of which has a stretch of neighbours, count what they have and place it in the order of places.
//
// With LISTED the row is what `lists` names: spans of 1 << span_bits elements, in their order. Where the elements are delegates
// (LEVEL 1), the results are such a list, of the next level.
//
// Launch: one dimension, a group of GROUP work-items for each row.
#include "top_k/rows.clh"

#ifndef GROUP
#define GROUP 256
#endif
#ifndef ITEMS
#define ITEMS 16  // of a work-item's stretch
#endif
#ifndef CHOSEN
#define CHOSEN 1024  // results, at most
#endif
#define ONLY_LAST (NTH && LEVEL == 0)
#define STRIDE (ITEMS | 1)  // odd: stretches begin in different banks
#define AT(i) ((uint)(i) / ITEMS * STRIDE + (uint)(i) % ITEMS)
#include "top_k/collectives.clh"
#include "top_k/digits.clh"
#include "top_k/network.clh"

DEFINE_TEAM_REDUCE(team_least, sortable, min)
DEFINE_TEAM_REDUCE(team_most, sortable, max)

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void top_k_tile(TOP_K_ARGUMENTS) {
  USE_TOP_K_ARGUMENTS;
  local sortable tile[GROUP * STRIDE];
  local sortable local_keys[GROUP], ends[2];
  local ushort chosen[CHOSEN];
  local uint bins[DIGITS], sums[GROUP], left[1];
  // A power of two: without the mask ptxas spills registers of small groups, with it those of the largest.
  const uint item = GROUP < 1024 ? get_local_id(0) & (GROUP - 1) : get_local_id(0);
  const ulong row = get_group_id(0);
#if LEVEL == 0
  global const KEY* keys = in + row_start(row, rows, in_offset, in_pitch, in_stride);
#else
  global const sortable* delegates = images + from + row * padded(size);
#endif
  global const uint* list = lists + (turn & 1) * all_rows * k + row * k;
  const uint count = LISTED ? k << span_bits : size;

  // Beyond the row: images that come last, and follow their equals.
  sortable low = ALL_BITS, high = 0;
  for (uint i = item; i < count; i += GROUP) {
    const uint place = place_of(list, i, span_bits);
    sortable x = ALL_BITS;
    if (place < size) {
#if LEVEL == 0
      x = order_of(keys[place]);
#else
      x = delegates[place];
#endif
      low = min(low, x);
      high = max(high, x);
    }
    tile[AT(i)] = x;
  }
  team_least(&low, local_keys, item, GROUP);
  team_most(&high, local_keys, item, GROUP);

  uint wanted = k;
  const uint first = min(item * ITEMS, count), stretch = min((uint)ITEMS, count - first);
  local const sortable* mine = tile + item * STRIDE;
#pragma unroll 1
  for (uint pass = 0; pass < KEY_BYTES; ++pass) {
    for (uint d = item; d < DIGITS; d += GROUP) bins[d] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint shift = digit_shift(low, high);
    uint last = 0, run = 0;
#pragma unroll 1
    for (uint u = 0; u < stretch; ++u) count_image(bins, mine[u], low, high, shift, &last, &run);
    count_rest(bins, last, run);
    barrier(CLK_LOCAL_MEM_FENCE);
    narrow(&low, &high, &wanted, bins, sums, ends, left, item);
  }

  // Images below, and those in the interval, in two halves of a word.
  uint counts = 0;
  for (uint u = 0; u < stretch; ++u) counts += mine[u] < low ? 1 : mine[u] == low ? 0x10000 : 0;
  uint before = counts, total;
  team_scan(&before, &total, sums, item, GROUP);
  uint below = before & 0xffff, equal = min(before >> 16, wanted);  // what is equal and not wanted does not count
#pragma unroll 1
  for (uint u = 0; u < stretch; ++u) {
    const sortable x = mine[u];
    if (x < low || (x == low && equal < wanted)) {
#if ONLY_LAST
      if (x == low && equal == wanted - 1) values[row_start(row, rows, values_offset, values_pitch, values_stride)] = keys[place_of(list, first + u, span_bits)];
#else
      chosen[below + equal] = (ushort)(first + u);
#endif
    }
    if (x < low) ++below;
    if (x == low && equal < wanted) ++equal;
  }
#if !ONLY_LAST
  barrier(CLK_LOCAL_MEM_FENCE);
#if SORTED && LEVEL == 0
  sort_chosen(chosen, tile, k, item);
#endif
#if LEVEL == 0
  global KEY* row_values = values + row_start(row, rows, values_offset, values_pitch, values_stride);
  global PLACE* row_places = places + row_start(row, rows, places_offset, places_pitch, places_stride);
#endif
  for (uint q = item; q < k; q += GROUP) {
    const uint place = place_of(list, chosen[q], span_bits);
#if LEVEL == 0
    row_values[q] = keys[place];
    row_places[q] = place;
#else
    lists[(~turn & 1) * all_rows * k + row * k + q] = place;
#endif
  }
#endif
}
