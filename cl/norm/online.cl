// layer_norm and rms_norm of rows of any length: one pass for the mean and the squares at once, and a second one for the results. What is
// merged is an associative operation on moments, so that groups can share a row.
//
// PHASE 2, "online": a group has a row. PHASE 0 and 1, "split": `parts` groups share a row; the first launch leaves the statistics of each
// part in `partials`, the second one merges those of the row in each group, always in the same order.
//
// Launch: one dimension, GROUP work-items a group, a group a part of a row; a grid-stride loop over them. Local memory: GROUP statistics.
#include "norm/operation.clh"
#include "norm/statistics.clh"

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
void norm_online(NORM_ARGUMENTS, ulong parts, global statistics* partials) {
  USE_NORM_ARGUMENTS;
  local statistics scratch[GROUP];
  const int item = get_local_id(0);
  for (ulong job = get_group_id(0); job < rows * batch * parts; job += get_num_groups(0)) {
    const ulong r = job / parts, part = job - r * parts;
    const ulong from = row_place(r, rows, batch, in_offset, in_pitch, in_stride);
    const ulong other = row_place(r, rows, batch, residual_offset, residual_pitch, residual_stride);
    const int shift = from % PACK, packs = (cols + shift + PACK - 1) / PACK, other_aligned = ARE_ALIGNED(other, shift);
    const int piece = (int)((packs + parts - 1) / parts);
    const int begin = min((int)part * piece, packs), end = min(begin + piece, packs);
    (void)begin, (void)end, (void)other_aligned;
    statistics mine = 0;
#if PHASE == 1
    mine.w = partials[r * parts].w;
    for (ulong p = item; p < parts; p += GROUP) mine = merge(mine, partials[r * parts + p]);
#else
#if OPERATION == OP_LAYER
    mine.w = middle_of_row(in + from, cols);
#if HAS_RESIDUAL
    mine.w += middle_of_row(residual + other, cols);
#endif
#endif
    for (int first = begin + item; first < end; first += UNROLL * GROUP) {
      packed_vector v[UNROLL];
#pragma unroll
      for (int u = 0; u < UNROLL; ++u) {
        const int p = first + u * GROUP;
        v[u] = p < end ? load_x(in + from, residual + other, p * PACK - shift, cols, other_aligned) : (packed_vector)(0);
      }
      statistics more = (statistics)(0, 0, 0, mine.w);
      count_packs(&more, v, UNROLL, first * PACK - shift, GROUP * PACK, end * PACK - shift, cols);
      mine = merge(mine, more);
    }
#endif
    team_merge(&mine, scratch, item, GROUP);
#if PHASE == 0
    (void)out, (void)out_offset, (void)out_pitch, (void)out_stride, (void)epsilon, (void)flags;
    (void)means, (void)means_offset, (void)factors, (void)factors_offset;
    if (item == 0) partials[job] = mine;
#else
    const VALUE mean = mean_of(mine), left = rest_of_mean(mine, mean);
    const VALUE factor = factor_of(mine.z, cols, epsilon);
    if (item == 0 && part == 0 && flags & STORES_MEAN) means[means_offset + r] = cols > 0 ? mean : (VALUE)NAN;
    if (item == 0 && part == 0 && flags & STORES_FACTOR) factors[factors_offset + r] = factor;
    const ulong to = row_place(r, rows, batch, out_offset, out_pitch, out_stride);
    const int aligned = ARE_ALIGNED(to, shift);
#if HAS_SUM
    const ulong sum_to = row_place(r, rows, batch, sums_offset, sums_pitch, sums_stride);
#endif
    for (int p = begin + item; p < end; p += GROUP) {
      const int i = p * PACK - shift;
      const packed_vector x = load_x(in + from, residual + other, i, cols, other_aligned);
#if HAS_SUM
      store_row_pack(sums + sum_to, i, cols, ARE_ALIGNED(sum_to, shift), x);
#endif
      store_row_pack(out + to, i, cols, aligned, weighted((x - mean - left) * factor, weight, weight_offset, bias, bias_offset, i, cols, shift, flags));
    }
#endif
  }
#if PHASE == 2
  (void)partials;
#endif
}
