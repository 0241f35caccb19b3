// Softmax with a row in registers, which is read from global memory once. A team of TEAM work-items has a row, UNROLL packs each, all of
// which are under way before the first is used; a group has GROUP / TEAM rows.
//
// The variants differ in how a team combines: "registers" by trees in local memory (common/work_group.clh), "shuffle" by NVIDIA's
// shuffles.
//
// Launch: one dimension, GROUP work-items a group; a grid-stride loop over the rows. Local memory: GROUP values.
#define CUTS_ROWS 1
#include "softmax/operation.clh"

#ifndef GROUP
#define GROUP 256  // work-items: a power of two
#endif
#ifndef TEAM
#define TEAM GROUP  // work-items of a row: a power of two
#endif
#ifndef UNROLL
#define UNROLL 4  // packs of a work-item
#endif
#ifndef SHUFFLES
#define SHUFFLES 0  // 1: a team combines by NVIDIA's shuffles; 0: in local memory
#endif
#include "softmax/team.clh"
#include "common/row_ends.clh"

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void softmax_registers(SOFTMAX_ARGUMENTS) {
  local VALUE scratch[GROUP];
  const uint item = get_local_id(0);
  const int lane = item % TEAM;
  const ulong all = rows * batch;
  for (ulong base = (ulong)get_group_id(0) * (GROUP / TEAM); base < all; base += (ulong)get_num_groups(0) * (GROUP / TEAM)) {
    // A team without a row reaches the barriers too.
    const ulong r = base + item / TEAM;
    const bool is_row = TEAM == GROUP || r < all;
    const ulong from = is_row ? row_place(r, rows, batch, in_offset, in_pitch, in_stride) : 0;
    const int shift = WHOLE_PACKS ? 0 : from % PACK, count = is_row ? cols : 0;
    const row_cut cut = cut_row(from, count);
    held_pack x[UNROLL];
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) x[u] = load_held_pack(in + from, place_of_pack(&cut, u * TEAM + lane), count, LEAST);
    VALUE ends[ENDS + 1];  // one more: an array has an element
    FOR_ENDS(e) {
      const int i = place_of_end(&cut, e * TEAM + lane);
      ends[e] = i < count ? load_value(in + from, i) : LEAST;
    }
    VALUE largest = pack_max(values_of(x[0]));
#pragma unroll
    for (int u = 1; u < UNROLL; ++u) largest = fmax(largest, pack_max(values_of(x[u])));
    FOR_ENDS(e) largest = fmax(largest, ends[e]);
    team_max(&largest, scratch, item, TEAM);
    const VALUE moved = shift_of(largest);
    VALUE sum = 0;
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) {
      const packed_vector less = values_of(x[u]) - moved, e = pack_exp(less);
      sum += pack_sum(e);
#if !HOLDS_RAW
      x[u] = OPERATION == OP_SOFTMAX ? e : less;
#endif
    }
    FOR_ENDS(e) sum += value_exp(ends[e] - moved);
    team_sum(&sum, scratch, item, TEAM);
    const VALUE finish = finish_of(moved, sum, masked);
    const ulong to = is_row ? row_place(r, rows, batch, out_offset, out_pitch, out_stride) : 0;
#if OPERATION == OP_LOGSUMEXP
    if (lane == 0 && is_row) store_result(out + to, 0, finish);
#else
    const int aligned = ARE_ALIGNED(to, shift);
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) {
      packed_vector v = values_of(x[u]);
#if HOLDS_RAW
      v -= moved;
      if (OPERATION == OP_SOFTMAX) v = pack_exp(v);
#endif
      store_row_pack(out + to, place_of_pack(&cut, u * TEAM + lane), count, aligned, OPERATION == OP_SOFTMAX ? v * finish : v - finish);
    }
    FOR_ENDS(e) {
      const int i = place_of_end(&cut, e * TEAM + lane);
      const VALUE less = ends[e] - moved;
      if (i < count) store_result(out + to, i, OPERATION == OP_SOFTMAX ? value_exp(less) * finish : less - finish);
    }
#endif
  }
}
