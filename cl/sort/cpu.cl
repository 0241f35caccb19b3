// Radix sort for a CPU: one thread a block of neighbouring keys.
//
// PHASE 0 counts the digits of each block. PHASE 1 moves the keys: those of digit d of a block go after those of lower digits,
// and after those of digit d of the blocks before, so that the order is stable. Where the caches hold all keys, each goes to its
// place at once: the lines that all digits write next stay in the first-level cache. Else they are gathered in local memory, a
// cache line for each digit, and full lines are written as a whole (software write-combining): stores to 256 places at once would
// miss the TLB, and a CPU reads each line before it writes a part of it. J. Wassenberg and P. Sanders, "Faster Radix Sort via Virtual
// Memory and Write-Combining", arXiv 1008.2849, 2010. PHASE 2 is for few keys: one thread does all passes in one launch, but
// those in which all keys have the same digit.
//
// Launch: one dimension, local size 1, a group for each of `parts` blocks of `piece` keys. work: uint counts[parts][RADIX].
#include "sort/keys.clh"

#ifndef PHASE
#define PHASE 1  // 0: counts of a pass, 1: the pass after that, 2: everything
#endif
#ifndef PASSES
#define PASSES 4  // at most
#endif
#ifndef LINE
#define LINE 0  // keys that are gathered for a digit, a power of two; 0: none are
#endif
#include "sort/digits.clh"
#include "sort/routes.clh"

#if LINE != 0
#include "sort/lines.clh"
#else
#include "sort/one_by_one.clh"
#endif

#if PHASE == 0
// Keys with equal digits follow each other often: four tables, or each addition would wait for the one before.
INLINED void count_digits(local uint* counts, global const KEY* keys, ulong begin, ulong end, uint shift, uint mask) {
  for (uint i = 0; i < 4 * RADIX; ++i) counts[i] = 0;
  uint digits[DIGITS_AT_ONCE];
  for (ulong block = begin; block < end; block += DIGITS_AT_ONCE) {
    const uint here = (uint)min(end - block, (ulong)DIGITS_AT_ONCE);
    find_digits(digits, keys + block, here, shift, mask);
    uint i = 0;
    for (; i + 4 <= here; i += 4)
      _Pragma("unroll") for (uint t = 0; t < 4; ++t) ++counts[t * RADIX + digits[i + t]];
    for (; i < here; ++i) ++counts[digits[i]];
  }
  for (uint d = 0; d < RADIX; ++d) counts[d] += counts[RADIX + d] + counts[2 * RADIX + d] + counts[3 * RADIX + d];
}
#endif

#if PHASE == 0
kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void sort_cpu(SORT_ARGUMENTS) {
  USE_SORT_ARGUMENTS;
  local uint counts[4 * RADIX];
  const ulong block = get_group_id(0), begin = block * piece;
  const uint shift = shift_of(begin_bit, digit_bits, pass);
  count_digits(counts, SOURCE_KEYS(route), begin, min(begin + piece, size), shift, mask_of(shift, end_bit, digit_bits));
  for (uint d = 0; d < RADIX; ++d) work[block * RADIX + d] = counts[d];
}
#elif PHASE == 1
kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void sort_cpu(SORT_ARGUMENTS) {
  USE_SORT_ARGUMENTS;
#if LINE != 0
  local KEY lines[RADIX * LINE] __attribute__((aligned(64)));
  local VALUE value_lines[VALUES ? RADIX * LINE * VALUE_PARTS : 1] __attribute__((aligned(64)));
#endif
  local ulong next[RADIX], first[RADIX];
  const ulong block = get_group_id(0), begin = block * piece;
  const uint shift = shift_of(begin_bit, digit_bits, pass);
  // Keys of lower digits, and those of the same digit in the blocks before.
  for (uint d = 0; d < RADIX; ++d) next[d] = first[d] = 0;
  for (ulong b = 0; b < parts; ++b) {
    for (uint d = 0; d < RADIX; ++d) {
      const uint count = work[b * RADIX + d];
      first[d] += count;
      if (b < block) next[d] += count;
    }
  }
  ulong lower = 0;
  for (uint d = 0; d < RADIX; ++d) {
    next[d] += lower;
    lower += first[d];
  }
  const uint mask = mask_of(shift, end_bit, digit_bits);
  const ulong end = min(begin + piece, size);
#if LINE != 0
  gather_keys(SOURCE_KEYS(route), TARGET_KEYS(route), SOURCE_VALUES(route), TARGET_VALUES(route), begin, end, next, first, lines,
              value_lines, shift, mask, route);
#else
  move_keys(SOURCE_KEYS(route), TARGET_KEYS(route), SOURCE_VALUES(route), TARGET_VALUES(route), begin, end, next, shift, mask, route);
#endif
}
#else
kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void sort_cpu(SORT_ARGUMENTS) {
  USE_SORT_ARGUMENTS;
  local uint counts[PASSES * RADIX];
  local ulong next[RADIX];
  uint routes[PASSES];
  count_all_digits(counts, in + in_offset, size, begin_bit, end_bit, digit_bits);
  for (uint p = 0; p < passes; ++p) {
    routes[p] = 1;
    for (uint d = 0; d < RADIX; ++d)
      if (counts[p * RADIX + d] == size) routes[p] = 0;
  }
  make_routes(routes, passes, (route & IN_PLACE) != 0);
  for (uint p = 0; p < passes; ++p) {
    const uint way = routes[p], shift = shift_of(begin_bit, digit_bits, p);
    if (!(way & IS_ACTIVE)) continue;
    ulong lower = 0;
    for (uint d = 0; d < RADIX; ++d) {
      next[d] = lower;
      lower += counts[p * RADIX + d];
    }
    move_keys(SOURCE_KEYS(way), TARGET_KEYS(way), SOURCE_VALUES(way), TARGET_VALUES(way), 0, size, next, shift,
              mask_of(shift, end_bit, digit_bits), way);
  }
}
#endif
