// Radix sort of long rows, the launches before sort_rows/scatter.cl.
//
// PHASE 0: how many keys of each tile have each digit. PHASE 1: each digit's counts are scanned over the row's tiles, by a work-item
// where tiles are few beside rows, else by a group. PHASE 2, of segments, once: in which tile each long one begins.
//
// Launch: one dimension, GROUP work-items a group. PHASE 0: a group for each tile (sort_rows/tables.clh). PHASE 1: any number of
// groups, which share the digits of all rows. PHASE 2: one group.
#include "sort/keys.clh"
#include "sort_rows/tables.clh"

#ifndef PHASE
#define PHASE 0
#endif
#ifndef GROUP
#define GROUP 256
#endif

#if PHASE == 0
#define LOADS 4  // of a work-item that are under way at once

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void sort_rows_count(SORT_ROWS_ARGUMENTS) {
  USE_SORT_ROWS_ARGUMENTS;
  local uint counts[RADIX];
  const uint item = get_local_id(0);
  const uint shift = shift_of(begin_bit, digit_bits, pass), mask = mask_of(shift, end_bit, digit_bits);
  FOR_TILES {
    tile_place at;
    find_tile(&at, tile_number, work, bounds, bounds_offset, listed, size, parts, piece);
    global const KEY* keys = ROW_SOURCE(at.here, route) + at.begin;
    for (uint d = item; d < RADIX; d += GROUP) counts[d] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = item; i < at.count; i += LOADS * GROUP) {
      KEY some[LOADS];
#pragma unroll
      for (uint u = 0; u < LOADS; ++u) some[u] = i + u * GROUP < at.count ? keys[i + u * GROUP] : 0;
#pragma unroll
      for (uint u = 0; u < LOADS; ++u)
        if (i + u * GROUP < at.count) atomic_inc(&counts[digit_of(some[u], shift, mask)]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint d = item; d < RADIX; d += GROUP) TABLE_OF(at.row)[d * TILES_OF(at.row) + at.tile] = counts[d];
    barrier(CLK_LOCAL_MEM_FENCE);  // before counts are cleared
  }
}
#elif PHASE == 1
#include "sort/scan_counts.clh"

#define FEW 8  // counts of a work-item that are read at once

// A scan by a group takes about as long as 11 counts one after the other, and each group has all / groups of them.
#define ARE_FEW(tiles, all) ((tiles)*get_num_groups(0) <= 11 * (all))

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void sort_rows_count(SORT_ROWS_ARGUMENTS) {
  USE_SORT_ROWS_ARGUMENTS;
  local number scratch[GROUP];
  const uint item = get_local_id(0);
  const ulong all = SORTED_ROWS * RADIX;
  for (ulong i = get_global_id(0); i < all; i += get_global_size(0)) {
    const ulong row = i / RADIX, digit = i % RADIX, tiles = TILES_OF(row);
    if (!ARE_FEW(tiles, all)) continue;
    global number* counts = TABLE_OF(row) + digit * tiles;
    number sum = 0;
    for (ulong t = 0; t < tiles; t += FEW) {
      number some[FEW];
#pragma unroll
      for (uint u = 0; u < FEW; ++u) some[u] = t + u < tiles ? counts[t + u] : 0;
#pragma unroll
      for (uint u = 0; u < FEW; ++u) {
        if (t + u < tiles) counts[t + u] = sum;
        sum += some[u];
      }
    }
    TOTALS_OF(row)[digit] = sum;
  }
  const ulong scans = !SEGMENTS && ARE_FEW(parts, all) ? 0 : all;  // of groups
  for (ulong group = get_group_id(0); group < scans; group += get_num_groups(0)) {
    const ulong row = group / RADIX, digit = group % RADIX, tiles = TILES_OF(row);
    if (ARE_FEW(tiles, all)) continue;
    const number sum = scan_counts(TABLE_OF(row) + digit * tiles, tiles, scratch, item);
    if (item == 0) TOTALS_OF(row)[digit] = sum;
  }
}
#elif SEGMENTS
// In which tile each long segment begins: a scan of their tiles.
static inline uint add(uint a, uint b) { return a + b; }
static inline uint zero(void) { return 0; }
DEFINE_TEAM_SCAN(scan_group, uint, add, zero)

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void sort_rows_count(SORT_ROWS_ARGUMENTS) {
  USE_SORT_ROWS_ARGUMENTS;
  local uint scratch[GROUP];
  const uint item = get_local_id(0), count = LONG_COUNT;
  uint before = 0;
  for (uint first = 0; first < count; first += GROUP) {
    const uint i = first + item;
    uint tiles = i < count ? (uint)((LENGTH_OF(LONG_SEGMENT(i)) + piece - 1) / piece) : 0, all;
    scan_group(&tiles, &all, scratch, item, GROUP);
    if (i < count) FIRST_TILES[i] = before + tiles;
    before += all;
  }
  if (item == 0) {
    FIRST_TILES[count] = before;
    TILE_COUNT = before;
  }
}
#endif
