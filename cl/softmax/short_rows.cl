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
    // A team without a row loads and stores nothing, and reaches the barriers too.
    const uint number = turn + item / TEAM;
    const bool is_row = number < here;
    local tile_element* row = (local tile_element*)tile + shift + (is_row ? number : 0) * cols;
    value_step v[EACH];
    load_steps(v, row, is_row, lane, cols, LEAST);
    VALUE largest = LEAST, sum = 0;
    FOR_STEPS(e) FOR_STEP(k) largest = fmax(largest, v[e].each[k]);
    if (TEAM > 1) team_max(&largest, scratch, item, TEAM);
    const VALUE moved = shift_of(largest);
    FOR_STEPS(e) FOR_STEP(k) {
      const VALUE less = v[e].each[k] - moved, power = value_exp(less);
      sum += power;
      v[e].each[k] = OPERATION == OP_SOFTMAX ? power : less;
    }
    if (TEAM > 1) team_sum(&sum, scratch, item, TEAM);
    const VALUE finish = finish_of(moved, sum, masked);
#if OPERATION == OP_LOGSUMEXP
    if (lane == 0 && is_row) store_result(out + row_place(first + number, rows, batch, out_offset, out_pitch, out_stride), 0, finish);
#else
    FOR_STEPS(e) {
      FOR_STEP(k) v[e].each[k] = OPERATION == OP_SOFTMAX ? v[e].each[k] * finish : v[e].each[k] - finish;
      if (is_row && HAS_STEP(e, lane, cols)) store_step(row + (e * TEAM + lane) * STEP, &v[e]);
    }
#endif
  }
#if OPERATION != OP_LOGSUMEXP
  barrier(CLK_LOCAL_MEM_FENCE);
  write_rows(tile, (global tile_element*)out, out_offset + first * cols, shift, here * cols, item);
#endif
}
