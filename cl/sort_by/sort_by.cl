// Merge sort by a caller's comparison. A group sorts a tile in local memory (PHASE 0: merge/tile.clh); then runs are merged in pairs,
// each part of the result by one group (PHASE 1: merge/path.clh). N. Satish, M. Harris and M. Garland, "Designing efficient sorting
// algorithms for manycore GPUs", IPDPS 2009.
//
// All loops are bounded by numbers of elements, whatever the comparison says.
//
// Launch: one dimension, GROUP work-items a group, a group for each tile. With CPU: one work-item a group, which has BLOCK elements.
//   PHASE 1: runs of `width` elements of `in` become runs of twice as many in `out`; `width` is a multiple of the tile or the block.
//   PHASE 2, before it: a team of work-items for each tile of the result finds where the tile begins in the first of its runs, so
//   that no group waits for such a search (SPLIT).
#ifndef ELEMENT
#define ELEMENT uint
#endif
#ifndef COMPARISON  // the caller's; this one is for compilers that have none at hand
#define COMPARISON(a, b) (*(const uchar*)&(a) < *(const uchar*)&(b))
#endif
#ifndef PHASE
#define PHASE 0
#endif
#ifndef SPLIT
#define SPLIT 0  // 1: `splits` says where tiles begin
#endif
#ifndef CPU
#define CPU 0
#endif
#ifndef LOG_RUNS
#define LOG_RUNS 10  // of a block on CPUs: how often runs of RUN elements are merged in pairs; an even number
#endif
#define RUN 16
#define BLOCK (RUN << LOG_RUNS)
#include "common/attributes.clh"
#include "common/work_group.clh"

#define ORDER_PARAMETERS
#define ORDER_VALUES
static inline int precedes(ELEMENT x, ELEMENT y) { return COMPARISON(x, y); }
#include "merge/path.clh"
#include "merge/tile.clh"

#define SORT_BY_ARGUMENTS \
  global const ELEMENT *in, ulong in_offset, global ELEMENT *out, ulong out_offset, global ELEMENT *spare UNUSED, ulong spare_offset UNUSED, \
      ulong size, ulong width UNUSED, global ulong* splits UNUSED

#if CPU
// Merges `count` elements of two runs from `first` of their result on.
INLINED void merge_runs(global const ELEMENT* a, ulong a_count, ulong b_count, global ELEMENT* to, ulong first, ulong count) {
  global const ELEMENT* b = a + a_count;
  ulong x = split_of(a, a_count, b, b_count, first), y = first - x;
  for (ulong i = first; i < first + count; ++i) {
    const int takes_a = y >= b_count || (x < a_count && !precedes(b[y], a[x]));
    to[i] = takes_a ? a[x] : b[y];
    x += takes_a ? 1 : 0;
    y += takes_a ? 0 : 1;
  }
}
#endif

#if CPU && PHASE == 0
kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void sort_by(SORT_BY_ARGUMENTS) {
  const ulong begin = get_group_id(0) * BLOCK, count = min((ulong)BLOCK, size - begin);
  global const ELEMENT* from = in + in_offset + begin;
  global ELEMENT *to = out + out_offset + begin, *other = spare + spare_offset + begin;
  for (ulong run = 0; run < count; run += RUN) {
    for (ulong i = run; i < min(run + RUN, count); ++i) {
      const ELEMENT x = from[i];
      ulong j = i;
      for (; j > run && precedes(x, to[j - 1]); --j) to[j] = to[j - 1];
      to[j] = x;
    }
  }
  for (uint k = 0; k < LOG_RUNS; ++k) {
    const ulong length = (ulong)RUN << k;
    for (ulong pair = 0; pair < count; pair += 2 * length) {
      const ulong a_count = min(length, count - pair), b_count = min(length, count - pair - a_count);
      merge_runs(to + pair, a_count, b_count, other + pair, 0, a_count + b_count);
    }
    global ELEMENT* const sorted = other;
    other = to;
    to = sorted;
  }
}
#elif CPU
kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void sort_by(SORT_BY_ARGUMENTS) {
  const ulong begin = get_group_id(0) * BLOCK, pair = begin / (2 * width) * (2 * width);
  const ulong a_count = min(width, size - pair), b_count = min(width, size - pair - a_count);
  merge_runs(in + in_offset + pair, a_count, b_count, out + out_offset + pair, begin - pair, min((ulong)BLOCK, size - begin));
}
#elif PHASE == 0
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void sort_by(SORT_BY_ARGUMENTS) {
  local ELEMENT tile[TILE];
  const uint item = get_local_id(0);
  const ulong begin = get_group_id(0) * (ulong)TILE;
  const uint count = (uint)min(size - begin, (ulong)TILE);
  for (uint i = item; i < count; i += GROUP) tile[i] = in[in_offset + begin + i];
  barrier(CLK_LOCAL_MEM_FENCE);
  sort_tile(tile, 0, count, item);
  for (uint i = item; i < count; i += GROUP) out[out_offset + begin + i] = tile[i];
}
#elif PHASE == 2
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void sort_by(SORT_BY_ARGUMENTS) {
  const ulong tile = get_global_id(0) / SEARCHERS, first = min(tile * TILE, size), pair = first / (2 * width) * (2 * width);
  const ulong a_count = min(width, size - pair), b_count = min(width, size - pair - a_count);
  global const ELEMENT* a = in + in_offset + pair;
#if HAS_TEAMS
  local ulong flags[FLAGS(GROUP / 16)];
  const ulong split = team_split_of(flags, a, a_count, a + a_count, b_count, first - pair, width, GROUP / 16, get_local_id(0));
#else
  const ulong split = split_of(a, a_count, a + a_count, b_count, first - pair);
#endif
  if (get_local_id(0) % SEARCHERS == 0 && first < size) splits[tile] = split;
}
#else
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void sort_by(SORT_BY_ARGUMENTS) {
  local ELEMENT tile[TILE];
  const uint item = get_local_id(0);
  const ulong first = get_group_id(0) * (ulong)TILE, pair = first / (2 * width) * (2 * width);
  const ulong a_count = min(width, size - pair), b_count = min(width, size - pair - a_count);
  global const ELEMENT* a = in + in_offset + pair;
  merge_part part;
#if SPLIT
  const ulong end = min(first - pair + TILE, a_count + b_count);
  find_part(&part, splits[get_group_id(0)], end < a_count + b_count ? splits[get_group_id(0) + 1] : a_count, first - pair,
            (uint)(end - (first - pair)));
  load_part(&part, tile, a, a + a_count, item);
#else
  local ulong ends[END_WORDS];
  load_parts(&part, tile, ends, a, a_count, a + a_count, b_count, first - pair, item);
#endif
  ELEMENT merged[ITEMS];
  uint sources[ITEMS];
  merge_items(merged, sources, tile, part.a_count, part.count - part.a_count, item * ITEMS);
  store_merged(tile, 0, merged, sources, item);
  global ELEMENT* to = out + out_offset + first;
  if (part.count == TILE) {
#pragma unroll
    for (uint u = 0; u < ITEMS; ++u) to[item + u * GROUP] = tile[item + u * GROUP];
  } else {
    for (uint i = item; i < part.count; i += GROUP) to[i] = tile[i];
  }
}
#endif
