// Radix sort of long rows, the launches before sort_rows/scatter.cl.
//
// PHASE 0: how many keys of each tile have each digit. PHASE 1: each digit's counts are scanned over the row's tiles. PHASE 2, of
// segments, once: in which tile each long one begins.
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
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void sort_rows_count(SORT_ROWS_ARGUMENTS) {
  local uint counts[RADIX];
  const uint item = get_local_id(0);
  const uint shift = shift_of(begin_bit, digit_bits, pass), mask = mask_of(shift, end_bit, digit_bits);
  tile_place at;
  find_tile(&at, work, bounds, bounds_offset, listed, size, parts, piece);
  global const KEY* keys = ROW_SOURCE(at.here, route) + at.begin;
  for (uint d = item; d < RADIX; d += GROUP) counts[d] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint i = item; i < at.count; i += GROUP) atomic_inc(&counts[digit_of(keys[i], shift, mask)]);
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint d = item; d < (at.count > 0 ? RADIX : 0); d += GROUP) TABLE_OF(at.row)[d * TILES_OF(at.row) + at.tile] = counts[d];
}
#elif PHASE == 1
#define RUN 4  // neighbouring counts of a work-item

static inline number add(number a, number b) { return a + b; }
static inline number zero(void) { return 0; }
DEFINE_TEAM_SCAN(scan_group, number, add, zero)

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void sort_rows_count(SORT_ROWS_ARGUMENTS) {
  local number meeting[GROUP];
  const uint item = get_local_id(0);
  const ulong all = SORTED_ROWS * RADIX;
  for (ulong group = get_group_id(0); group < all; group += get_num_groups(0)) {
    const ulong row = group / RADIX, digit = group % RADIX, tiles = TILES_OF(row);
    global number* row_counts = TABLE_OF(row) + digit * tiles;
    number before = 0;  // this step's counts
    for (ulong first = 0; first < tiles; first += GROUP * RUN) {
      number counts[RUN], sum = 0, step;
#pragma unroll
      for (uint k = 0; k < RUN; ++k) {
        const ulong i = first + item * RUN + k;
        counts[k] = i < tiles ? row_counts[i] : 0;
        sum += counts[k];
      }
      scan_group(&sum, &step, meeting, item, GROUP);
      sum += before;
#pragma unroll
      for (uint k = 0; k < RUN; ++k) {
        const ulong i = first + item * RUN + k;
        if (i < tiles) row_counts[i] = sum;
        sum += counts[k];
      }
      before += step;
    }
    if (item == 0) TOTALS_OF(row)[digit] = before;
  }
}
#elif SEGMENTS
// In which tile each long segment begins: a scan of their tiles.
static inline uint add(uint a, uint b) { return a + b; }
static inline uint zero(void) { return 0; }
DEFINE_TEAM_SCAN(scan_group, uint, add, zero)

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void sort_rows_count(SORT_ROWS_ARGUMENTS) {
  local uint meeting[GROUP];
  const uint item = get_local_id(0), count = LONG_COUNT;
  uint before = 0;
  for (uint first = 0; first < count; first += GROUP) {
    const uint i = first + item;
    uint tiles = i < count ? (uint)((LENGTH_OF(LONG_SEGMENT(i)) + piece - 1) / piece) : 0, all;
    scan_group(&tiles, &all, meeting, item, GROUP);
    if (i < count) FIRST_TILES[i] = before + tiles;
    before += all;
  }
  if (item == 0) {
    FIRST_TILES[count] = before;
    TILE_COUNT = before;
  }
}
#endif
