// Radix sort in three launches a pass, the first: how many keys of each tile have each digit.
//
// M. Harris, S. Sengupta and J. D. Owens, "Parallel prefix sum (scan) with CUDA", GPU Gems 3, 2007, chapter 39.3; N. Satish,
// M. Harris and M. Garland, "Designing efficient sorting algorithms for manycore GPUs", IPDPS 2009.
//
// Launch: one dimension, GROUP work-items a group, a group for each of `parts` tiles of `piece` keys.
#include "sort/keys.clh"
#include "sort/table.clh"

#ifndef GROUP
#define GROUP 256
#endif

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void sort_count(SORT_ARGUMENTS) {
  USE_SORT_ARGUMENTS;
  local uint counts[RADIX];
  const uint item = get_local_id(0);
  const ulong tile = get_group_id(0), begin = tile * piece, end = min(begin + piece, size);
  const uint shift = shift_of(begin_bit, digit_bits, pass), mask = mask_of(shift, end_bit, digit_bits);
  global const KEY* keys = SOURCE_KEYS(route);
  for (uint d = item; d < RADIX; d += GROUP) counts[d] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (ulong i = begin + item; i < end; i += GROUP) atomic_inc(&counts[digit_of(keys[i], shift, mask)]);
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint d = item; d < RADIX; d += GROUP) TABLE[d * parts + tile] = counts[d];
}
