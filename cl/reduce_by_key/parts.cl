// Reductions of runs of equal keys in two launches, the second one; or in one, where there is one part.
//
// A group has a part. It first joins what all parts before it make, which the first launch stored in the scratch
// (reduce_by_key/reduce.cl), then takes the part's tiles in their order.
//
// Launch: one dimension, GROUP work-items a group, a group for each part. Local memory: see reduce_by_key/runs.clh.
#include "reduce_by_key/runs.clh"
#include "common/sub_group.clh"

kernel SUB_GROUP_SIZE __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void reduce_by_key_parts(BY_KEY_ARGUMENTS) {
  DECLARE_TILE
  const uint item = get_local_id(0);
  const ulong part = get_group_id(0), begin = part * piece, end = min(begin + piece, size);
  global const ELEMENT* row = in + in_offset;
  global const MARK* marks = keys + keys_offset;

  // Each work-item joins neighbouring parts; then a scan of the group. The first part has none before it.
  global const state* earlier = (global const state*)scratch;
  const ulong share = (part + GROUP - 1) / GROUP;
  state mine = no_state(), before;
  for (ulong p = item * share; p < min((item + 1) * share, part); ++p) mine = join(mine, earlier[p]);
  team_scan(&mine, &before, local_states, item, GROUP);

  for (ulong first = begin; first < end; first += STEP) {
    ACC s[ITEMS];
    uint begins;
    state total;
    scan_tile(s, &begins, &mine, &total, tile, local_states, row, first, size, item, 0, heads, marks, 0);
    barrier(CLK_LOCAL_MEM_FENCE);  // all have read their elements
    compact_runs(s, begins, mine, before, tile, places, item);
    barrier(CLK_LOCAL_MEM_FENCE);
    write_runs(tile, places, (uint)head_of(total), before, marks, first, unique_keys + unique_keys_offset, out + out_offset, item);
    before = join(before, total);
    barrier(CLK_LOCAL_MEM_FENCE);  // before the next elements are stored
  }
  if (part == parts - 1 && item == 0) store_end(before, out + out_offset, count, count_offset, wide_count);
}
