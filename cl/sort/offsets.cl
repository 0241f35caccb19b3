// Radix sort in three launches a pass, the second: each digit's counts are scanned over the tiles, exclusively.
//
// Launch: one dimension, GROUP work-items a group, a power of two; a group for each digit.
#include "sort/keys.clh"
#include "sort/table.clh"

#ifndef GROUP
#define GROUP 256
#endif
#define RUN 4  // neighbouring counts of a work-item

static inline number add(number a, number b) { return a + b; }
static inline number zero(void) { return 0; }
DEFINE_TEAM_SCAN(scan_group, number, add, zero)

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void sort_offsets(SORT_ARGUMENTS) {
  local number meeting[GROUP];
  const uint item = get_local_id(0), digit = get_group_id(0);
  global number* row = TABLE + digit * parts;
  number before = 0;  // this step's counts
  for (ulong first = 0; first < parts; first += GROUP * RUN) {
    number counts[RUN], sum = 0, all;
#pragma unroll
    for (uint k = 0; k < RUN; ++k) {
      const ulong i = first + item * RUN + k;
      counts[k] = i < parts ? row[i] : 0;
      sum += counts[k];
    }
    scan_group(&sum, &all, meeting, item, GROUP);
    sum += before;
#pragma unroll
    for (uint k = 0; k < RUN; ++k) {
      const ulong i = first + item * RUN + k;
      if (i < parts) row[i] = sum;
      sum += counts[k];
    }
    before += all;
  }
  if (item == 0) TOTALS[digit] = before;
}
