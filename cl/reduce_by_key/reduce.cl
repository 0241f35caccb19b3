// Reductions of runs of equal keys in two launches, the first one: what each part makes.
//
// Launch: one dimension, GROUP work-items a group, a group for each part; what part p makes is stored at place p of the scratch. Local
// memory: see scan/tile.clh.
#include "reduce_by_key/runs.clh"

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void reduce_by_key_reduce(BY_KEY_ARGUMENTS) {
  local ACC tile[TILE_ITEMS];
  local state local_states[LOCAL_STATES];
  local uchar heads[STEP] HEADS_ALIGNED;
  (void)parts, (void)unique_keys, (void)unique_keys_offset, (void)out, (void)out_offset, (void)count, (void)count_offset,
      (void)wide_count;
  const uint item = get_local_id(0);
  const ulong part = get_group_id(0), begin = part * piece, end = min(begin + piece, size);
  state own = no_state();
  for (ulong first = begin; first < end; first += STEP) {
    ACC s[ITEMS];
    uint begins;
    state mine, total;
    scan_tile(s, &begins, &mine, &total, tile, local_states, in + in_offset, first, size, item, 0, heads, keys + keys_offset, 0);
    own = join(own, total);
    barrier(CLK_LOCAL_MEM_FENCE);  // before the next elements are stored
  }
  if (item == 0) ((global state*)scratch)[part] = own;
}
