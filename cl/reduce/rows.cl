// Reduce short rows that follow each other without gaps.
//
// A work-group loads whole rows to local memory: neighbouring packs, so that loads are coalesced and wide whatever the length and the
// alignment of a row. Then a team of TEAM work-items has a row, of which each accumulates every TEAM-th element, and combines by a tree in
// local memory or by NVIDIA's shuffles.
//
// Launch: one dimension, GROUP work-items a group, a group for each `piece` rows. Local memory: GROUP * UNROLL packs of 16 bytes, and
// GROUP accumulators.
#include "reduce/input.clh"
#include "common/work_group.clh"

#ifndef GROUP
#define GROUP 256  // work-items: a power of two
#endif
#ifndef TEAM
#define TEAM 4  // work-items of a row: a power of two
#endif
#ifndef UNROLL
#define UNROLL 4  // packs in flight of a work-item
#endif
#ifndef TEAM_REDUCTION
#define TEAM_REDUCTION 0  // 0: in local memory, 2: by NVIDIA's shuffles
#endif
#if TEAM_REDUCTION == 2
#include "nvidia/shuffle.clh"
DEFINE_TEAM_SHUFFLE(team_reduce, accumulator, combine)
#else
DEFINE_TEAM_REDUCE(team_reduce, accumulator, combine)
#endif

// Elements as they are in memory, PACK of which have 16 bytes.
#if ELEMENT_HALF
typedef ushort raw_element;
static inline VALUE load_local(local const raw_element* p, uint i) { return vload_half(i, (local const half*)p); }
#else
typedef ELEMENT raw_element;
static inline VALUE load_local(local const raw_element* p, uint i) { return (VALUE)p[i]; }
#endif

static inline term local_term(local const raw_element* row, global const ELEMENT* other, uint i) {
#if OPERATION == OP_DOT
  const term t = {(ACC)load_local(row, i), (ACC)load_value(other, i)};
  return t;
#else
  (void)other;
  return load_local(row, i);
#endif
}

// Loads `count` elements from an aligned address on.
GROUP_FUNCTION void read_rows(local uint4* tile, global const raw_element* from, uint count, uint item) {
  uint4 packs[UNROLL];
#pragma unroll
  for (uint u = 0; u < UNROLL; ++u)
    if ((u * GROUP + item + 1) * PACK <= count) packs[u] = ((global const uint4*)from)[u * GROUP + item];
#pragma unroll
  for (uint u = 0; u < UNROLL; ++u)
    if ((u * GROUP + item + 1) * PACK <= count) tile[u * GROUP + item] = packs[u];
  // The last pack may end behind the buffer.
  if (item < count % PACK) ((local raw_element*)tile)[count - count % PACK + item] = from[count - count % PACK + item];
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void reduce_rows(global const ELEMENT* restrict in, ulong in_offset, global const ELEMENT* restrict other, ulong other_offset, ulong rows,
                 uint cols, uint piece, global RESULT* restrict out, ulong out_offset) {
  local uint4 tile[GROUP * UNROLL];
#if TEAM > 1
  local accumulator scratch[GROUP];
#endif
  const uint item = get_local_id(0);
  const ulong first = get_group_id(0) * (ulong)piece, begin = in_offset + first * cols;
  const uint count = (uint)min(rows - first, (ulong)piece), shift = (uint)(begin % PACK);
  read_rows(tile, (global const raw_element*)in + (begin - shift), shift + count * cols, item);
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint turn = 0; turn < count; turn += GROUP / TEAM) {
    // A team without a row reaches the barriers too.
    const uint number = turn + item / TEAM;
    accumulator mine = identity();
    if (number < count) {
      local const raw_element* row = (local const raw_element*)tile + shift + number * cols;
#pragma unroll 4
      for (uint i = item % TEAM; i < cols; i += TEAM) mine = accumulate(mine, local_term(row, other + other_offset, i), i);
    }
#if TEAM > 1
    team_reduce(&mine, scratch, item, TEAM);
#endif
    if (item % TEAM == 0 && number < count) write_result(out + out_offset, first + number, mine, cols);
  }
}
