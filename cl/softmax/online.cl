// Softmax of rows of any length: one pass for the largest element and the sum at once, and a second one for the results. What is merged is
// an associative operation on pairs, so that groups can share a row.
//
// PHASE 2, "online": a group has a row. PHASE 0 and 1, "split": `parts` groups share a row; the first launch leaves the statistics of each
// part in `partials`, the second one merges those of the row in each group, always in the same order.
//
// Launch: one dimension, GROUP work-items a group, a group a part of a row; a grid-stride loop over them. Local memory: GROUP statistics.
#include "softmax/operation.clh"

#ifndef GROUP
#define GROUP 256  // work-items: a power of two
#endif
#ifndef UNROLL
#define UNROLL 4  // packs of a work-item that are under way at once
#endif
#ifndef PHASE
#define PHASE 2  // 0: statistics, 1: results, 2: both
#endif

DEFINE_TEAM_REDUCE(team_merge, statistics, merge)

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void softmax_online(SOFTMAX_ARGUMENTS, ulong parts, global statistics* partials) {
  local statistics scratch[GROUP];
  const int item = get_local_id(0);
  for (ulong job = get_group_id(0); job < rows * batch * parts; job += get_num_groups(0)) {
    const ulong r = job / parts, part = job - r * parts;
    const ulong from = row_place(r, rows, batch, in_offset, in_pitch, in_stride);
    const int shift = from % PACK, packs = (cols + shift + PACK - 1) / PACK;
    const int piece = (int)((packs + parts - 1) / parts);
    const int begin = min((int)part * piece, packs), end = min(begin + piece, packs);
    (void)begin, (void)end;
    statistics mine = NO_STATISTICS;
#if PHASE == 1
    for (ulong p = item; p < parts; p += GROUP) mine = merge(mine, partials[r * parts + p]);
#else
    for (int first = begin + item; first < end; first += UNROLL * GROUP) {
      packed_vector v[UNROLL];
#pragma unroll
      for (int u = 0; u < UNROLL; ++u) {
        const int p = first + u * GROUP;
        v[u] = p < end ? load_row_pack(in + from, p * PACK - shift, cols, LEAST) : (packed_vector)(LEAST);
      }
      VALUE largest = mine.x, sum = 0;
#pragma unroll
      for (int u = 0; u < UNROLL; ++u) largest = fmax(largest, pack_max(v[u]));
      const VALUE moved = shift_of(largest);
#pragma unroll
      for (int u = 0; u < UNROLL; ++u) sum += pack_sum(exp(v[u] - moved));
      mine = (statistics)(largest, mine.y * exp(mine.x - moved) + sum);
    }
#endif
    team_merge(&mine, scratch, item, GROUP);
#if PHASE == 0
    (void)out, (void)out_offset, (void)out_pitch, (void)out_stride, (void)masked;
    if (item == 0) partials[job] = mine;
#else
    const ulong to = row_place(r, rows, batch, out_offset, out_pitch, out_stride);
    const VALUE moved = shift_of(mine.x), finish = finish_of(moved, mine.y, masked);
#if OPERATION == OP_LOGSUMEXP
    if (item == 0 && part == 0) store_result(out + to, 0, finish);
#else
    const int aligned = ARE_ALIGNED(to, shift);
    for (int p = begin + item; p < end; p += GROUP) {
      const packed_vector less = load_row_pack(in + from, p * PACK - shift, cols, LEAST) - moved;
      store_row_pack(out + to, p * PACK - shift, cols, aligned, RESULTS_OF(packed_vector, less, finish));
    }
#endif
#endif
  }
#if PHASE == 2
  (void)partials;
#endif
}
