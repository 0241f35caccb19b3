// Reduces a short vector by one work-group, whose code is short too: on GPUs the instructions of a launch are fetched anew, which takes
// longer than a few thousand elements.
//
// A work-item loads up to UNROLL packs of PACK elements, all of them in flight, and accumulates them in LANES accumulators. The elements
// before the first aligned pack, and after the last, are loaded one at a time. Then the work-items are combined: in a tree in local memory,
// or in two levels of NVIDIA's shuffles (TEAM_REDUCTION 2).
//
// Launch: one dimension, one group of GROUP work-items; at most GROUP * UNROLL whole packs. Local memory: GROUP accumulators, or one for each
// warp.
#include "reduce/input.clh"
#include "common/work_group.clh"

#ifndef GROUP
#define GROUP 1024  // work-items: a power of two
#endif
#ifndef UNROLL
#define UNROLL 4  // packs of a work-item
#endif
#ifndef TEAM_REDUCTION
#define TEAM_REDUCTION 0  // 0: in local memory, 2: by NVIDIA's shuffles
#endif
#if TEAM_REDUCTION == 2
#include "nvidia/shuffle.clh"
DEFINE_TEAM_SHUFFLE(reduce_warp, accumulator, combine)
#define STATES (GROUP / WARP)
#else
DEFINE_TEAM_REDUCE(team_reduce, accumulator, combine)
#define STATES GROUP
#endif

// The host's time of a launch depends on the number of buffers: there is no other than are needed.
typedef struct {
  ulong in_offset, other_offset, out_offset, count;
} short_numbers;
#if OPERATION == OP_DOT
#define OTHER_ARGUMENT global const ELEMENT *restrict other,
#else
#define OTHER_ARGUMENT
#endif

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void reduce_short(global const ELEMENT* restrict in, OTHER_ARGUMENT global RESULT* restrict out, short_numbers numbers) {
  local accumulator scratch[STATES];
  const uint item = get_local_id(0);
  row_source row;
  const ulong in_offset = numbers.in_offset;
  const uint count = (uint)numbers.count;
  row.position = in_offset;
  row.first = in + in_offset;
  row.count = count;
#if OPERATION == OP_DOT
  row.other = other + numbers.other_offset;
#endif
  const uint head = min((PACK - (uint)(in_offset % PACK)) % PACK, count), packs = (count - head) / PACK, end = head + packs * PACK;
  lane_set lanes;
#pragma unroll
  for (uint k = 0; k < LANES; ++k) put_lane(&lanes, k, identity());
  term_pack p[UNROLL];
#pragma unroll
  for (uint u = 0; u < UNROLL; ++u)
    if (item + u * GROUP < packs) load_terms(&p[u], row, head + (item + u * GROUP) * PACK, head + (item + u * GROUP) * PACK);
  // Of their own: accumulate() takes elements in ascending order, and those behind the packs come before these.
  accumulator ends = identity();
  for (uint k = item; k < count - packs * PACK; k += GROUP) {
    const uint i = k < head ? k : end + (k - head);
    ends = accumulate(ends, load_term(row, i, i), i);
  }
#pragma unroll
  for (uint u = 0; u < UNROLL; ++u)
    if (item + u * GROUP < packs) accumulate_pack(&lanes, &p[u], head + (item + u * GROUP) * PACK);
  accumulator mine = combine(combine_lanes(&lanes), ends);
#if TEAM_REDUCTION == 2
  reduce_warp(&mine, scratch, item, WARP);
  if (item % WARP == 0) scratch[item / WARP] = mine;
  barrier(CLK_LOCAL_MEM_FENCE);
  mine = item % WARP < STATES ? scratch[item % WARP] : identity();
  reduce_warp(&mine, scratch, item, WARP);
#else
  team_reduce(&mine, scratch, item, GROUP);
#endif
  if (item == 0) write_result(out + numbers.out_offset, 0, mine, count);
}
