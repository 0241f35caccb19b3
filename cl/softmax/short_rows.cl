// Softmax of short rows that follow each other without gaps, in local memory: common/row_tile.clh. A team of TEAM work-items has a row; results
// take the places of elements.
//
// Launch: one dimension, GROUP work-items a group, a group for each `piece` rows. Local memory: GROUP * UNROLL packs of 16 bytes, and GROUP
// values where teams combine there.
#include "softmax/operation.clh"

#ifndef SHUFFLES
#define SHUFFLES 0  // 1: a team, of at most a warp, combines by NVIDIA's shuffles; 0: in local memory
#endif
#if OPERATION != OP_LOGSUMEXP
#define TILE_RESULTS
#endif
#include "common/row_tile.clh"
#include "softmax/team.clh"

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void softmax_short_rows(SOFTMAX_ARGUMENTS, uint piece) {
  (void)in_pitch, (void)in_stride, (void)out_pitch, (void)out_stride;  // rows have no gaps
  local uint4 tile[TILE_PACKS];
#if SHUFFLES || TEAM == 1
  local VALUE scratch[1];
#else
  local VALUE scratch[GROUP];
#endif
  const uint item = get_local_id(0), lane = item % TEAM;
  const ulong first = get_group_id(0) * (ulong)piece, begin = in_offset + first * cols;
  const uint here = (uint)min(rows * batch - first, (ulong)piece), shift = (uint)(begin % PACK);
  read_rows(tile, (global const tile_element*)in + (begin - shift), shift + here * cols, item);
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint turn = 0; turn < here; turn += GROUP / TEAM) {
    // A team without a row reaches the barriers too.
    const uint number = turn + item / TEAM, count = number < here ? cols : 0;
    local tile_element* row = (local tile_element*)tile + shift + (number < here ? number : 0) * cols;
    VALUE largest = LEAST, sum = 0;
    for (uint i = lane * STEP; i < count; i += TEAM * STEP) {
      value_step v;
      load_step(&v, row + i);
#pragma unroll
      for (uint k = 0; k < STEP; ++k) largest = fmax(largest, v.each[k]);
    }
    if (TEAM > 1) team_max(&largest, scratch, item, TEAM);
    const VALUE moved = shift_of(largest);
    for (uint i = lane * STEP; i < count; i += TEAM * STEP) {
      value_step v;
      load_step(&v, row + i);
#pragma unroll
      for (uint k = 0; k < STEP; ++k) sum += value_exp(v.each[k] - moved);
    }
    if (TEAM > 1) team_sum(&sum, scratch, item, TEAM);
    const VALUE finish = finish_of(moved, sum, masked);
#if OPERATION == OP_LOGSUMEXP
    if (lane == 0 && count != 0) store_result(out + row_place(first + number, rows, batch, out_offset, out_pitch, out_stride), 0, finish);
#else
    for (uint i = lane * STEP; i < count; i += TEAM * STEP) {
      value_step v;
      load_step(&v, row + i);
#pragma unroll
      for (uint k = 0; k < STEP; ++k)
        v.each[k] = OPERATION == OP_SOFTMAX ? value_exp(v.each[k] - moved) * finish : v.each[k] - moved - finish;
      store_step(row + i, &v);
    }
#endif
  }
#if OPERATION != OP_LOGSUMEXP
  barrier(CLK_LOCAL_MEM_FENCE);
  write_rows(tile, (global tile_element*)out, out_offset + first * cols, shift, here * cols, item);
#endif
}
