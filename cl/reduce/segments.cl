// Reduce segments, first launch: balanced by elements, whatever their lengths.
//
// A work-group has `piece` neighbouring segments. If their elements are as many as a tile has, it loads all of them to local memory
// (common/row_tile.clh): neighbours, whatever the length and the alignment of a segment. Else each team of TEAM work-items reads a segment
// by itself, but lists those of more than LONGEST elements in parts, which the next launch reduces. Segments that fill most of a tile have none
// (TILED).
//
// counters[0]: listed parts, zero before, which the next launch leaves so. Segments that ascend never list more than `room` parts; of others one
// work-item then reduces what is too much.
//
// Launch: one dimension, GROUP work-items a group, a group for each `piece` segments. Local memory: GROUP * UNROLL packs of 16 bytes, GROUP
// accumulators, and EDGES + 1 words.
#include "common/work_group.clh"
#include "reduce/segment_parts.clh"
#include "reduce/segment_tile.clh"
#include "reduce/team_reduction.clh"
#ifndef EDGES
#define EDGES 1024  // segments of a group, at most
#endif
#define OUTSIDE UINT_MAX

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void reduce_segments(global const ELEMENT* restrict in, ulong in_offset, global const BOUND* restrict bounds, ulong bounds_offset,
                     ulong rows, ulong cols, uint piece, global RESULT* restrict out, ulong out_offset, global segment_part* list,
                     global uint* finished, global uint* counters, uint room) {
#if TILED
  local uint4 tile[TILE_PACKS];
  local uint edges[EDGES + 1];
#endif
#if TEAM > 1
  local accumulator scratch[GROUP];
#endif
  const uint item = get_local_id(0), lane = item % TEAM;
  const ulong first = get_group_id(0) * (ulong)piece;
  const uint count = (uint)min(rows - first, (ulong)piece);
  bounds += bounds_offset + first;
#if TILED
  const ulong begin = min((ulong)bounds[0], cols), end = min((ulong)bounds[count], cols);
  const uint shift = (uint)((in_offset + begin) % PACK);
  const int fits = begin <= end && end - begin <= TILE_PACKS * PACK - shift;  // uniform in the group
  if (fits) {
    read_rows(tile, (global const tile_element*)in + (in_offset + begin - shift), shift + (uint)(end - begin), item);
    for (uint i = item; i <= count; i += GROUP) {
      const ulong edge = min((ulong)bounds[i], cols);
      edges[i] = edge >= begin && edge <= end ? shift + (uint)(edge - begin) : OUTSIDE;
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
#endif
  for (uint turn = 0; turn < count; turn += GROUP / TEAM) {
    // A team without a segment reaches the barriers too.
    const uint number = turn + item / TEAM;
    accumulator mine = identity();
    ulong length = 0;
    int is_long = 0;
    if (number < count) {
      uint from = OUTSIDE, to = OUTSIDE;
#if TILED
      if (fits) from = edges[number], to = edges[number + 1];
      if (from != OUTSIDE && to != OUTSIDE) {
        length = to > from ? to - from : 0;
#if SUMS_BYTES
        mine = sum_bytes((local const uint*)tile, from, max(from, to), lane);
#else
        mine = reduce_here((local const tile_element*)tile + from, (uint)length, lane);
#endif
      }
#endif
      if (from == OUTSIDE || to == OUTSIDE) {
        const row_source row = find_segment(in, in_offset, bounds, 0, cols, number);
        length = row.count;
        is_long = length > LONGEST;
        if (!is_long) mine = reduce_there(row, lane);
      }
    }
#if TEAM > 1
    team_reduce(&mine, scratch, item, TEAM);
#endif
    if (lane == 0 && number < count) {
      int is_listed = 0;
      if (is_long) {
        is_listed = list_parts(list, finished, counters, room, first + number, length);
        const row_source row = find_segment(in, in_offset, bounds, 0, cols, number);
        for (ulong i = 0; !is_listed && i < length; ++i) mine = accumulate(mine, load_term(row, i, i), i);
      }
      if (!is_listed) write_result(out + out_offset, first + number, mine, length);
    }
  }
}
