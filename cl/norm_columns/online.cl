// layer_norm and rms_norm of columns of any length: one pass for the mean and the squares at once, and a second one for the results, as
// cl/norm/online.cl does with rows.
//
// PHASE 2, "online": a group has a block of WIDTH columns. PHASE 0 and 1, "split": `parts` groups share a block; the first launch leaves the
// statistics of each part of a column in `partials`, the second one merges those of the column in each group, always in the same order.
//
// Launch: one dimension, GROUP work-items a group, a group a part of a block; a grid-stride loop over them. Local memory: GROUP statistics.
#include "norm_columns/columns.clh"

#ifndef PHASE
#define PHASE 2  // 0: statistics, 1: results, 2: both
#endif

DEFINE_COLUMN_REDUCE(column_merge, statistics, merge)

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void norm_columns_online(NORM_ARGUMENTS, ulong parts, global statistics* partials) {
  USE_NORM_ARGUMENTS;
  local statistics scratch[GROUP];
  const uint item = get_local_id(0);
  const int y = item / WIDTH, share = (int)((rows + parts - 1) / parts);
  for (ulong job = get_group_id(0); job < BLOCKS * batch * parts; job += get_num_groups(0)) {
    const ulong block = job / parts, part = job - block * parts, matrix = block / BLOCKS;
    const ulong col = (block - matrix * BLOCKS) * WIDTH + item % WIDTH;
    const column_place at = PLACE_OF_COLUMN(matrix, col);
    const int begin = (int)min(part * share, (ulong)rows), end = col < cols ? min(begin + share, rows) : begin;
    statistics mine;
#if PHASE == 1
    mine = 0;
    if (col < cols) {
      global const statistics* const all_parts = partials + matrix * parts * cols + col;
      mine.w = all_parts[0].w;
      MERGE_PARTS(mine, all_parts, y);
    }
#else
    mine = count_rows(in, in_pitch, residual, residual_pitch, &at, begin + y, end, col < cols ? rows : 0);
#endif
    column_merge(&mine, scratch, item);
#if PHASE == 0
    (void)out, (void)out_offset, (void)out_pitch, (void)out_stride, (void)epsilon, (void)flags, (void)at.to, (void)at.sum_to;
    (void)means, (void)means_offset, (void)factors, (void)factors_offset;
    if (y == 0 && col < cols) partials[(matrix * parts + part) * cols + col] = mine;
#else
    const VALUE mean = mean_of(mine), left = rest_of_mean(mine, mean), factor = factor_of(mine.z, rows, epsilon);
    if (y == 0 && part == 0 && col < cols) {
      if (flags & STORES_MEAN) means[means_offset + matrix * cols + col] = rows > 0 ? mean : (VALUE)NAN;
      if (flags & STORES_FACTOR) factors[factors_offset + matrix * cols + col] = factor;
    }
    WRITE_ROWS(at, begin + y, end);
#endif
  }
#if PHASE == 2
  (void)partials;
#endif
}
