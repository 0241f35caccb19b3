// top_k of rows that a group keeps in its registers: for few results.
//
// The best images of all work-items bound the k-th of the row: at least k elements are not behind the k-th of the bests, and seldom
// many more. Those are collected in local memory, in any order, and each finds its rank among them by counting. Where they are too
// many, radix select narrows the bound to the k-th image, and then the places of its equals, until they are k.
//
// Launch: one dimension, a group of GROUP work-items for each row of at most GROUP * ITEMS elements; k is at most GROUP and CANDIDATES.
#include "top_k/rows.clh"

#ifndef GROUP
#define GROUP 256
#endif
#ifndef ITEMS
#define ITEMS 16  // of a work-item
#endif
#ifndef CANDIDATES
#define CANDIDATES 64
#endif
#ifndef BOUND_PASSES
#define BOUND_PASSES 2  // digits of 8 bits by which the bests are narrowed
#endif
#include "top_k/collectives.clh"
#include "top_k/digits.clh"

#if SHUFFLE
DEFINE_TEAM_SHUFFLE_ALL(warp_least, sortable, min)
DEFINE_TEAM_SHUFFLE_ALL(warp_most, sortable, max)

// Of the group: each warp's, then a butterfly over those of all warps, which lanes repeat.
#define DEFINE_OF_GROUP(name, in_warp)                                              \
  GROUP_FUNCTION void name(sortable* value, local sortable* scratch, uint item) {   \
    in_warp(value, scratch, item, WARP);                                            \
    if (item % WARP == 0) scratch[item / WARP] = *value;                            \
    barrier(CLK_LOCAL_MEM_FENCE);                                                   \
    *value = scratch[item % (GROUP / WARP)];                                        \
    in_warp(value, scratch, item, WARP);                                            \
    barrier(CLK_LOCAL_MEM_FENCE); /* before scratch is overwritten */               \
  }
DEFINE_OF_GROUP(group_least, warp_least)
DEFINE_OF_GROUP(group_most, warp_most)
#else
DEFINE_TEAM_REDUCE(team_least, sortable, min)
DEFINE_TEAM_REDUCE(team_most, sortable, max)
#define group_least(value, scratch, item) team_least(value, scratch, item, GROUP)
#define group_most(value, scratch, item) team_most(value, scratch, item, GROUP)
#endif

GROUP_FUNCTION void clear_bins(local uint* bins, uint item) {
  for (uint d = item; d < DIGITS; d += GROUP) bins[d] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
}

static inline void collect(sortable image, uint place, local uint* found, local sortable* candidates, local uint* candidate_places) {
  const uint slot = atomic_inc(found);
  if (slot < CANDIDATES) {
    candidates[slot] = image;
    candidate_places[slot] = place;
  }
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void top_k_registers(TOP_K_ARGUMENTS) {
  USE_TOP_K_ARGUMENTS;
  local sortable candidates[CANDIDATES], local_keys[GROUP], ends[2];
  local uint candidate_places[CANDIDATES], bins[DIGITS], sums[GROUP], left[1], found[1];
#if !SORTED
  local ushort ranks[CANDIDATES];
#endif
  const uint item = get_local_id(0);
  const ulong row = get_group_id(0);
  global const KEY* keys = in + row_start(row, rows, in_offset, in_pitch, in_stride);

  global const KEY* mine = keys + item;
  const uint reach = size - min(item, size);
  sortable x[ITEMS], best = ALL_BITS;
#pragma unroll
  for (uint u = 0; u < ITEMS; ++u) {
    x[u] = u * GROUP < reach ? order_of(mine[u * GROUP]) : ALL_BITS;
    best = min(best, x[u]);
  }
  sortable first = best, low, high = item < size ? best : 0;
  group_least(&first, local_keys, item);
  group_most(&high, local_keys, item);
  low = first;
  uint wanted = k;
#pragma unroll 1
  for (uint pass = 0; pass < BOUND_PASSES; ++pass) {
    clear_bins(bins, item);
    if (item < size && best >= low && best <= high) atomic_inc(&bins[(uint)((best - low) >> digit_shift(low, high))]);
    barrier(CLK_LOCAL_MEM_FENCE);
    narrow(&low, &high, &wanted, bins, sums, ends, left, item);
  }

  if (item == 0) found[0] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
  for (uint u = 0; u < ITEMS; ++u)
    if (x[u] <= high && u * GROUP < reach) collect(x[u], u * GROUP + item, found, candidates, candidate_places);
  barrier(CLK_LOCAL_MEM_FENCE);
  uint count = found[0];
  barrier(CLK_LOCAL_MEM_FENCE);

  // What is too many is narrowed, by images, then by the places of the k-th's equals. The row is read again, so that nothing is kept
  // in registers for this rare case.
  const uint narrows = count > CANDIDATES;
  const uint image_passes = narrows ? KEY_BYTES : 0, place_passes = narrows ? 4 : 0, last = narrows ? size : 0;
  sortable first_place = 0, last_place = size;
  low = narrows ? first : low;
  wanted = narrows ? k : wanted;
#pragma unroll 1
  for (uint pass = 0; pass < image_passes; ++pass) {
    clear_bins(bins, item);
    const uint shift = digit_shift(low, high);
    uint digit = 0, run = 0;
#pragma unroll 1
    for (uint i = item; i < size; i += GROUP) count_image(bins, order_of(keys[i]), low, high, shift, &digit, &run);
    count_rest(bins, digit, run);
    barrier(CLK_LOCAL_MEM_FENCE);
    narrow(&low, &high, &wanted, bins, sums, ends, left, item);
  }
#pragma unroll 1
  for (uint pass = 0; pass < place_passes; ++pass) {
    clear_bins(bins, item);
    const uint shift = digit_shift(first_place, last_place);
    uint digit = 0, run = 0;
#pragma unroll 1
    for (uint i = item; i < size; i += GROUP)
      if (order_of(keys[i]) == high) count_image(bins, i, first_place, last_place, shift, &digit, &run);
    count_rest(bins, digit, run);
    barrier(CLK_LOCAL_MEM_FENCE);
    narrow(&first_place, &last_place, &wanted, bins, sums, ends, left, item);
  }
  if (narrows && item == 0) found[0] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll 1
  for (uint i = item; i < last; i += GROUP) {
    const sortable image = order_of(keys[i]);
    if (image < high || (image == high && i <= last_place)) collect(image, i, found, candidates, candidate_places);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  count = found[0];

  global KEY* row_values = values + row_start(row, rows, values_offset, values_pitch, values_stride);
#if !NTH
  global PLACE* row_places = places + row_start(row, rows, places_offset, places_pitch, places_stride);
#endif
  for (uint i = item; i < count; i += GROUP) {
    const sortable image = candidates[i];
    const uint place = candidate_places[i];
    uint rank = 0;
    for (uint j = 0; j < count; ++j)
      rank += candidates[j] < image || (candidates[j] == image && candidate_places[j] < place);
#if NTH
    if (rank == k - 1) row_values[0] = keys[place];
#elif SORTED
    if (rank < k) {
      row_values[rank] = keys[place];
      row_places[rank] = place;
    }
#else
    ranks[i] = (ushort)rank;
#endif
  }
#if !SORTED
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint i = item; i < count; i += GROUP) {
    const uint place = candidate_places[i];
    uint at = 0;
    for (uint j = 0; j < count; ++j) at += ranks[j] < k && candidate_places[j] < place;
    if (ranks[i] < k) {
      row_values[at] = keys[place];
      row_places[at] = place;
    }
  }
#endif
}
