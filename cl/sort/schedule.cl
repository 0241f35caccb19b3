// Onesweep, the second launch: where the keys of each digit begin, and which passes there are.
//
// A pass in which all keys have the same digit is left out.
//
// Launch: one group of GROUP work-items.
#include "sort/keys.clh"
#include "sort/status.clh"

#ifndef GROUP
#define GROUP 256
#endif
#include "sort/routes.clh"
#include "sort/scan_digits.clh"

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void sort_schedule(SORT_ARGUMENTS) {
  local number sums[2 * RADIX];
  local uint active[PASSES];
  const uint item = get_local_id(0);
  for (uint p = item; p < PASSES; p += GROUP) active[p] = 1;
  for (uint p = 0; p < PASSES; ++p) {
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint d = item; d < RADIX; d += GROUP) {
      sums[d] = BINS[p * RADIX + d];
      if (sums[d] == size) active[p] = 0;
    }
    scan_digits(sums, item);
    for (uint d = item; d < RADIX; d += GROUP) BASES[p * RADIX + d] = sums[SCANNED + d];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (item == 0) {
    uint routes[PASSES];
    for (uint p = 0; p < PASSES; ++p) routes[p] = active[p];
    make_routes(routes, PASSES, (route & IN_PLACE) != 0);
    for (uint p = 0; p < PASSES; ++p) ROUTES[p] = routes[p];
  }
}
