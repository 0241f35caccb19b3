// Radix sort in three launches a pass, the third: each tile is sorted by the digit in local memory, and its runs of keys with
// equal digits go to their places, where they follow those of the tiles before. So neighbours are written together.
//
// Launch: one dimension, GROUP work-items a group, a group for each of `parts` tiles.
#include "sort/tile.clh"
#include "sort/table.clh"

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) SUB_GROUP_SIZE
void sort_scatter(SORT_ARGUMENTS) {
  USE_SORT_ARGUMENTS;
  local ulong area[AREA_WORDS];
  local number bases[RADIX], sums[2 * RADIX];
  local uint counts[RADIX];
  const uint item = get_local_id(0);
  const ulong tile = get_group_id(0), begin = tile * TILE;
  const uint count = (uint)min(size - begin, (ulong)TILE);
  const uint shift = shift_of(begin_bit, digit_bits, pass), mask = mask_of(shift, end_bit, digit_bits);

  for (uint d = item; d < RADIX; d += GROUP) sums[d] = TOTALS[d];
  scan_digits(sums, item);
  for (uint d = item; d < RADIX; d += GROUP) bases[d] = sums[SCANNED + d] + TABLE[d * parts + tile];

  KEY keys[ITEMS];
  uint ranks[ITEMS];
  load_tile(keys, ranks, SOURCE_KEYS(route) + begin, count, shift, mask, item);
  count_tile(ranks, (local uint*)area, counts, item);
  rank_tile(ranks, (local uint*)area, counts, sums, item);
  for (uint d = item; d < RADIX; d += GROUP) bases[d] -= sums[SCANNED + d];
  exchange_tile(keys, ranks, (local KEY*)area);
  barrier(CLK_LOCAL_MEM_FENCE);
  store_tile(ranks, area, bases, TARGET_KEYS(route), SOURCE_VALUES(route), TARGET_VALUES(route), begin, count, shift, mask, route,
             item);
}
