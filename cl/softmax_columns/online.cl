// Softmax of columns of any length: one pass for the largest element and the sum at once, and a second one for the results, as
// cl/softmax/online.cl does with rows.
//
// PHASE 2, "online": a group has a block of WIDTH columns. PHASE 0 and 1, "split": `parts` groups share a block; the first launch leaves the
// statistics of each part of a column in `partials`, the second one merges those of the column in each group, always in the same order.
//
// Launch: one dimension, GROUP work-items a group, a group a part of a block; a grid-stride loop over them. Local memory: GROUP statistics.
#include "softmax_columns/columns.clh"

#ifndef PHASE
#define PHASE 2  // 0: statistics, 1: results, 2: both
#endif

DEFINE_COLUMN_REDUCE(column_merge, statistics, merge)

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void softmax_columns_online(COLUMN_ARGUMENTS, uint masked, ulong parts, global statistics* partials) {
  local statistics scratch[GROUP];
  const uint item = get_local_id(0);
  const int y = item / WIDTH, share = (int)((rows + parts - 1) / parts);
  for (ulong job = get_group_id(0); job < BLOCKS * batch * parts; job += get_num_groups(0)) {
    const ulong block = job / parts, part = job - block * parts, matrix = block / BLOCKS;
    const ulong col = (block - matrix * BLOCKS) * WIDTH + item % WIDTH;
    const ulong from = in_offset + matrix * in_stride + col;
    const int begin = (int)min(part * share, (ulong)rows), end = col < cols ? min(begin + share, rows) : begin;
#if PHASE == 1
    statistics mine = NO_STATISTICS;
    if (col < cols) MERGE_PARTS(mine, partials + matrix * parts * cols + col, y);
#else
    statistics mine = count_rows(in, from, in_pitch, begin + y, end);
#endif
    column_merge(&mine, scratch, item);
#if PHASE == 0
    (void)out, (void)out_offset, (void)out_pitch, (void)out_stride, (void)masked;
    if (y == 0 && col < cols) partials[(matrix * parts + part) * cols + col] = mine;
#else
    const ulong to = out_offset + matrix * out_stride + col;
    const VALUE moved = shift_of(mine.x), finish = finish_of(moved, mine.y, masked);
#if OPERATION == OP_LOGSUMEXP
    (void)out_pitch;
    if (y == 0 && part == 0 && col < cols) store_result(out, to, finish);
#else
    write_rows(in, from, in_pitch, out, to, out_pitch, begin + y, end, moved, finish);
#endif
#endif
  }
#if PHASE == 2
  (void)partials;
#endif
}
