// Sorts of rows for a CPU: a thread sorts LANES rows at once, each in a lane of vectors, by a network of their images.
//
// Of segments it takes those of at most MOST_KEYS keys, and sorts such together whose lengths have as many bits.
//
// Launch: one dimension, local size 1, any number of groups. spare: with IN_SCRATCH, images at a multiple of 64 bytes.
#define MANY_ROWS 1  // a thread has more than one
#include "sort/keys.clh"
#include "sort_rows/rows.clh"

#ifndef LANES
#define LANES 8
#endif
#ifndef MOST_KEYS
#define MOST_KEYS 64  // of a row: a multiple of 16
#endif
#ifndef IN_SCRATCH
#define IN_SCRATCH 0  // 1: images are in temporary memory, MOST_KEYS vectors for each group; 0: in local memory
#endif
#if IN_SCRATCH
#define KEPT global
#else
#define KEPT local
#endif
#include "sort_rows/lane_rows.clh"
#include "sort_rows/lane_results.clh"
#define CLASSES 33  // of segments, by the bits of their lengths

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void sort_rows_cpu_lanes(SORT_ROWS_ARGUMENTS) {
  USE_SORT_ROWS_ARGUMENTS;
  const ulong group = get_group_id(0), groups = get_num_groups(0);
#if IN_SCRATCH
  global images* v = (global images*)spare + group * MOST_KEYS;
#else
  local images v[MOST_KEYS];
#endif
  lane_rows r;
  // Neighbouring rows, which caches fetch ahead.
  const ulong share = ((all_rows + LANES - 1) / LANES + groups - 1) / groups * LANES;
#if SEGMENTS
  // Those that wait for others of their class, by their numbers.
  const ulong last = ARE_BAD ? 0 : min((group + 1) * share, all_rows);
  uint waiting[CLASSES][LANES], counts[CLASSES];
  for (uint c = 0; c < CLASSES; ++c) counts[c] = 0;
  global const KEY* end = in + in_offset + size;
  for (ulong next = group * share, c = 0; next < last || c < CLASSES;) {
    uint class = (uint)c;
    if (next < last) {
      const ulong length = LENGTH_OF(next);
      class = length > MOST_KEYS ? 0 : 32 - clz((uint)length);
      if (class != 0) waiting[class][counts[class]++] = (uint)next;
      ++next;
      if (counts[class] < LANES) continue;
    } else {
      ++c;
    }
    r.there = counts[class];
    counts[class] = 0;
#else
  global const KEY* end = KEYS_OF(all_rows - 1) + size;
  const ulong last = min((group + 1) * share, all_rows);
  for (ulong first = group * share; first < last; first += LANES) {
    r.there = (uint)min(last - first, (ulong)LANES);
#endif
    if (r.there == 0) continue;
    r.longest = 0, r.shortest = MOST_KEYS, r.readable = (ulong)-1;
    for (uint l = 0; l < LANES; ++l) {
#if SEGMENTS
      const ulong segment = waiting[class][min(l, r.there - 1)], row = BEGIN_OF(segment);
      const uint length = (uint)LENGTH_OF(segment);
#else
      const ulong row = first + min(l, r.there - 1);
      const uint length = (uint)size;
#endif
      r.length[l] = length;
      r.longest = max(r.longest, length), r.shortest = min(r.shortest, length);
      r.from[l] = KEYS_OF(row);
      // What follows a row may be written by another thread in place.
      r.readable = min(r.readable, IN_PLACE_ROWS ? (ulong)length : (ulong)(end - r.from[l]));
#if VALUES != 2
      r.to[l] = OUT_OF(row);
#endif
#if VALUES == 1
      r.from_values[l] = VALUES_OF(row);
#endif
#if VALUES
      r.to_values[l] = OUT_VALUES_OF(row);
#endif
    }
    r.ahead = (r.from[1] - r.from[0]) * LANES;
    const uint special = load_rows(v, &r);
    sort_lanes(v, (r.longest + 7) / 8 * 8);
    store_rows(v, &r, special);
  }
}
