// Softmax with a row in registers, which is read from global memory once. A team of TEAM work-items has a row, UNROLL packs each, all of
// which are under way before the first is used; a group has GROUP / TEAM rows.
//
// The variants differ in how a team combines: "registers" by trees in local memory (common/work_group.clh), "shuffle" by NVIDIA's
// shuffles.
//
// Launch: one dimension, GROUP work-items a group; a grid-stride loop over the rows. Local memory: GROUP values.
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
#include "common/row_ends.clh"
#include "softmax/team.clh"

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void softmax_registers(SOFTMAX_ARGUMENTS) {
  local VALUE scratch[SHUFFLES ? (GROUP + 31) / 32 : GROUP];
  const uint item = get_local_id(0);
  const int lane = item % TEAM;
  const ulong all = rows * batch;
  for (ulong base = (ulong)get_group_id(0) * (GROUP / TEAM); base < all; base += (ulong)get_num_groups(0) * (GROUP / TEAM)) {
    // A team without a row loads and stores nothing, and reaches the barriers too.
    const ulong r = base + item / TEAM;
    const bool is_row = TEAM == GROUP || r < all;
    const ulong from = row_place(r, rows, batch, in_offset, in_pitch, in_stride);
    const int shift = WHOLE_PACKS ? 0 : from % PACK;
    const row_cut cut = cut_row(from, cols);
    held_pack x[UNROLL];
    FOR_PACKS(u) {
      x[u] = held_copies(LEAST);
      if (is_row && HAS_PACK(cut, u, lane)) x[u] = load_held_pack(in + from, place_of_pack(&cut, u * TEAM + lane));
    }
    VALUE ends[ENDS + 1];  // one more: an array has an element
    FOR_ENDS(e) {
      const int i = place_of_end(&cut, e * TEAM + lane);
      ends[e] = is_row && i < cols ? load_value(in + from, i) : LEAST;
    }
    const uint none = masked >> 8;
    (void)none;
    VALUE largest = LEAST;
    FOR_PACKS(u) {
      largest = fmax(largest, pack_max(values_of(x[u])));
#if FORGETS_VALUES
      x[u] += none;
#endif
    }
    FOR_ENDS(e) largest = fmax(largest, ends[e]);
    team_max(&largest, scratch, item, TEAM);
    const VALUE moved = shift_of(largest);
    VALUE sum = 0;
    FOR_PACKS(u) {
      const packed_vector less = values_of(x[u]) - moved, e = pack_exp(less);
      sum += pack_sum(e);
#if !HOLDS_RAW
      x[u] = OPERATION == OP_SOFTMAX ? e : less;
#elif FORGETS_VALUES
      x[u] += none;
#endif
    }
    FOR_ENDS(e) sum += value_exp(ends[e] - moved);
    team_sum(&sum, scratch, item, TEAM);
    const VALUE finish = finish_of(moved, sum, masked);
    const ulong to = row_place(r, rows, batch, out_offset, out_pitch, out_stride);
#if OPERATION == OP_LOGSUMEXP
    if (lane == 0 && is_row) store_result(out + to, 0, finish);
#else
    const int aligned = ARE_ALIGNED(to, shift);
    FOR_PACKS(u) {
      packed_vector v = values_of(x[u]);
#if HOLDS_RAW
      v -= moved;
      if (OPERATION == OP_SOFTMAX) v = pack_exp(v);
#endif
      if (is_row && HAS_PACK(cut, u, lane))
        store_whole_pack(out + to + place_of_pack(&cut, u * TEAM + lane), aligned, OPERATION == OP_SOFTMAX ? v * finish : v - finish);
    }
    FOR_ENDS(e) {
      const int i = place_of_end(&cut, e * TEAM + lane);
      const VALUE less = ends[e] - moved;
      if (is_row && i < cols) store_result(out + to, i, OPERATION == OP_SOFTMAX ? value_exp(less) * finish : less - finish);
    }
#endif
  }
}
