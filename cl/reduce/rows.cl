// Reduce short rows that follow each other without gaps.
//
// A work-group has whole rows in local memory (common/row_tile.clh). A team of TEAM work-items has a row, of which each accumulates every
// TEAM-th run of STEP elements, and combines by a tree in local memory or by NVIDIA's shuffles. Of a product with a vector, the group has
// the vector in local memory too.
//
// Launch: one dimension, GROUP work-items a group, a group for each `piece` rows. Local memory: GROUP * UNROLL packs of 16 bytes, GROUP
// accumulators, and OTHERS numbers.
#include "reduce/input.clh"
#include "common/work_group.clh"
#include "common/row_tile.clh"
#include "reduce/team_reduction.clh"

#ifndef NARROW_SUMS
#define NARROW_SUMS 0  // 1: sums of a row fit VALUE
#endif
#ifndef OTHERS
#define OTHERS 1024  // room for the elements of the vector, of a product
#endif

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void reduce_rows(global const ELEMENT* restrict in, ulong in_offset, global const ELEMENT* restrict other, ulong other_offset, ulong rows,
                 uint cols, uint piece, global RESULT* restrict out, ulong out_offset) {
  local uint4 tile[TILE_PACKS];
#if TEAM > 1
  local accumulator scratch[GROUP];
#endif
  const uint item = get_local_id(0);
  const ulong first = get_group_id(0) * (ulong)piece, begin = in_offset + first * cols;
  const uint count = (uint)min(rows - first, (ulong)piece), shift = (uint)(begin % PACK);
  read_rows(tile, (global const tile_element*)in + (begin - shift), shift + count * cols, item);
#if OPERATION == OP_DOT
  local VALUE factors[OTHERS] __attribute__((aligned(16)));
  for (uint i = item; i < cols; i += GROUP) factors[i] = load_value(other, other_offset + i);
#else
  (void)other, (void)other_offset;
#endif
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint turn = 0; turn < count; turn += GROUP / TEAM) {
    // A team without a row reaches the barriers too.
    const uint number = turn + item / TEAM;
    accumulator mine = identity();
#if NARROW_SUMS
    VALUE sum = 0;
#endif
    if (number < count) {
      local const tile_element* row = (local const tile_element*)tile + shift + number * cols;
      for (uint i = item % TEAM * STEP; i < cols; i += TEAM * STEP) {
        value_step v;
        load_step(&v, row + i);
#if OPERATION == OP_DOT
        value_step x;
        x.all = *(local const value_vector*)(factors + i);
#endif
#pragma unroll
        for (uint k = 0; k < STEP; ++k) {
#if OPERATION == OP_DOT
          const term t = {(ACC)v.each[k], (ACC)x.each[k]};
          mine = accumulate(mine, t, i + k);
#elif NARROW_SUMS
          sum += v.each[k];
#else
          mine = accumulate(mine, v.each[k], i + k);
#endif
        }
      }
#if NARROW_SUMS
      mine = (accumulator)sum;
#endif
    }
#if TEAM > 1
    team_reduce(&mine, scratch, item, TEAM);
#endif
    if (item % TEAM == 0 && number < count) write_result(out + out_offset, first + number, mine, cols);
  }
}
