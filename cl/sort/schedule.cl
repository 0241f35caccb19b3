// Onesweep, the second launch where groups cannot publish to each other in one: see sort/schedule.clh.
//
// Launch: one group of GROUP work-items.
#include "sort/keys.clh"
#include "sort/status.clh"

#ifndef GROUP
#define GROUP 256
#endif
#include "sort/schedule.clh"

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void sort_schedule(SORT_ARGUMENTS) {
  USE_SORT_ARGUMENTS;
  local number sums[2 * RADIX];
  local uint active[PASSES];
  schedule_passes(BINS, work, sums, active, size, route, get_local_id(0));
}
