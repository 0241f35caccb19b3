// Radix sort of long rows, the third launch of a pass: keys go to their places in their row. See sort/scatter.cl.
//
// Launch: one dimension, GROUP work-items a group, a group for each tile (sort_rows/tables.clh).
#include "sort/tile.clh"
#include "sort_rows/tables.clh"

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) SUB_GROUP_SIZE
void sort_rows_scatter(SORT_ROWS_ARGUMENTS) {
  USE_SORT_ROWS_ARGUMENTS;
  local ulong area[AREA_WORDS];
  local number bases[RADIX], sums[2 * RADIX];
  local uint counts[RADIX];
  const uint item = get_local_id(0);
  const uint shift = shift_of(begin_bit, digit_bits, pass), mask = mask_of(shift, end_bit, digit_bits);
  FOR_TILES {
    tile_place at;
    find_tile(&at, tile_number, work, bounds, bounds_offset, listed, size, parts, piece);
    const ulong row = at.row, here = at.here, tile = at.tile;

    for (uint d = item; d < RADIX; d += GROUP) sums[d] = TOTALS_OF(row)[d];
    scan_digits(sums, item);
    for (uint d = item; d < RADIX; d += GROUP)
      bases[d] = sums[SCANNED + d] + TABLE_OF(row)[d * TILES_OF(row) + tile];

    KEY keys[ITEMS];
    uint ranks[ITEMS];
    load_tile(keys, ranks, ROW_SOURCE(here, route) + at.begin, at.count, shift, mask, item);
    count_tile(ranks, (local uint*)area, counts, item);
    rank_tile(ranks, (local uint*)area, counts, sums, item);
    for (uint d = item; d < RADIX; d += GROUP) bases[d] -= sums[SCANNED + d];
    exchange_tile(keys, ranks, (local KEY*)area);
    barrier(CLK_LOCAL_MEM_FENCE);
#if VALUES
    const ulong spare_start = SPARE_START(here) * VALUE_PARTS;
    global const VALUE* from_values = (route & 3) == FROM_IN    ? VALUES_OF(here)
                                      : (route & 3) == FROM_OUT ? (global const VALUE*)OUT_VALUES_OF(here)
                                                                : spare_values + spare_start;
    global VALUE* to_values = (route & TO_SPARE) ? spare_values + spare_start : OUT_VALUES_OF(here);
#else
    global const VALUE* from_values = values;
    global VALUE* to_values = spare_values;
#endif
    store_tile(ranks, area, bases, ROW_TARGET(here, route), from_values, to_values, at.begin, at.count, shift, mask, route, item);
#if SEGMENTS
    barrier(CLK_LOCAL_MEM_FENCE);  // before the next tile's keys take their place
#endif
  }
}
