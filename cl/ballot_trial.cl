// Ranks of one group's items by ballots of sub-groups. A device shows by it that its compiler takes the functions, that sub-groups have
// LANES work-items, and that these are neighbours (host/runtime/ballots.cpp). Needs sub-groups: -cl-std=CL3.0, or an older
// OpenCL C with the extensions.
//
// Launch: one group of GROUP work-items. Each has ITEMS digits in `digits`, side by side; they become their ranks.
#ifndef GROUP
#define GROUP 64
#endif
#ifndef LANES
#define LANES 16  // of a sub-group
#endif
#ifndef ITEMS
#define ITEMS 3
#endif
#ifndef RADIX_BITS
#define RADIX_BITS 2
#endif
#define RADIX (1 << RADIX_BITS)
#define TEAMS (GROUP / LANES)
#include "common/work_group.clh"
#include "common/sub_group.clh"
#include "sort/match_ballots.clh"

// `wrong`: of each work-item, whether its place in its sub-group is another one than kernels expect.
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) SUB_GROUP_SIZE
void ballot_trial(global uint* digits, global uint* wrong) {
  local uint counters[TEAMS * RADIX];
  const uint item = (uint)get_local_id(0);
  for (uint i = item; i < TEAMS * RADIX; i += GROUP) counters[i] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  uint ranks[ITEMS];
#pragma unroll
  for (uint u = 0; u < ITEMS; ++u) ranks[u] = digits[item * ITEMS + u];
  rank_items(ranks, counters, item);
#pragma unroll
  for (uint u = 0; u < ITEMS; ++u) digits[item * ITEMS + u] = ranks[u];
  wrong[item] = get_sub_group_size() != LANES || get_sub_group_local_id() != item % LANES || get_sub_group_id() != item / LANES;
}
