// Radix sort in three launches a pass, the second: each digit's counts are scanned over the tiles, exclusively.
//
// Launch: one dimension, GROUP work-items a group, a power of two; a group for each digit.
#include "sort/keys.clh"
#include "sort/table.clh"

#ifndef GROUP
#define GROUP 256
#endif
#include "sort/scan_counts.clh"

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void sort_offsets(SORT_ARGUMENTS) {
  USE_SORT_ARGUMENTS;
  local number scratch[GROUP];
  const uint item = get_local_id(0), digit = get_group_id(0);
  const number all = scan_counts(TABLE + digit * parts, parts, scratch, item);
  if (item == 0) TOTALS[digit] = all;
}
