// Radix sort for a CPU: one thread a block of neighbouring keys.
//
// PHASE 0 counts the digits of each block. PHASE 1 moves the keys: those of digit d of a block go after those of lower digits,
// and after those of digit d of the blocks before, so that the order is stable. They are gathered in local memory, a cache line
// for each digit, and full lines are written as a whole (software write-combining): stores to 256 places at once would miss the
// TLB, and a CPU reads each line before it writes a part of it. J. Wassenberg and P. Sanders, "Faster Radix Sort via Virtual
// Memory and Write-Combining", arXiv 1008.2849, 2010. PHASE 2 is for few keys: one thread does all passes in one launch, but
// those in which all keys have the same digit.
//
// Launch: one dimension, local size 1, a group for each of `parts` blocks of `piece` keys. work: uint counts[parts][RADIX].
#include "common/stream.clh"
#include "sort/keys.clh"

#ifndef PHASE
#define PHASE 1  // 0: counts of a pass, 1: the pass after that, 2: everything
#endif
#ifndef LINE
#define LINE 16  // keys of a line: a power of two
#endif
#ifndef STREAMING
#define STREAMING 0  // 1: lines are stored past the caches
#endif
#ifndef PASSES
#define PASSES 4  // at most
#endif
#include "sort/routes.clh"

#if PHASE == 0
// Keys with equal digits follow each other often: four tables, or each addition would wait for the one before.
INLINED void count_digits(local uint* counts, global const KEY* keys, ulong begin, ulong end, uint shift, uint mask) {
  for (uint i = 0; i < 4 * RADIX; ++i) counts[i] = 0;
  ulong i = begin;
  for (; i + 4 <= end; i += 4) {
    ++counts[digit_of(keys[i], shift, mask)];
    ++counts[RADIX + digit_of(keys[i + 1], shift, mask)];
    ++counts[2 * RADIX + digit_of(keys[i + 2], shift, mask)];
    ++counts[3 * RADIX + digit_of(keys[i + 3], shift, mask)];
  }
  for (; i < end; ++i) ++counts[digit_of(keys[i], shift, mask)];
  for (uint d = 0; d < RADIX; ++d) counts[d] += counts[RADIX + d] + counts[2 * RADIX + d] + counts[3 * RADIX + d];
}
#endif

#if PHASE != 0
// Elements before the last address at or before p that is a multiple of the line's bytes.
#define MISALIGNED(p, bytes) ((ulong)(p) % (LINE * (bytes)) / (bytes))

// Writes elements [from, last] of a line.
INLINED void store_keys(global KEY* to, local const KEY* line, uint from, uint last) {
#if STREAMING && LINE * KEY_BYTES == 64
  if (from == 0 && last == LINE - 1) {
    STREAM(*(local const uint16*)line, (global uint16*)to);
    return;
  }
#endif
  if (from == 0 && last == LINE - 1) {
    for (uint k = 0; k < LINE; ++k) to[k] = line[k];
  } else {
    for (uint k = from; k <= last; ++k) to[k] = line[k];
  }
}

#if VALUES
#define VALUE_LINE (LINE * VALUE_PARTS)
INLINED void store_values(global VALUE* to, local const VALUE* line, uint from, uint last, int aligned) {
#if STREAMING && LINE * VALUE_BYTES == 64
  if (aligned && from == 0 && last == LINE - 1) {
    STREAM(*(local const uint16*)line, (global uint16*)to);
    return;
  }
#endif
  (void)aligned;
  if (from == 0 && last == LINE - 1) {
    for (uint k = 0; k < VALUE_LINE; ++k) to[k] = line[k];
  } else {
    for (uint k = from * VALUE_PARTS; k < (last + 1) * VALUE_PARTS; ++k) to[k] = line[k];
  }
}
#endif

// Moves keys [begin, end). next[d]: where the next key of digit d goes.
INLINED void move_keys(global const KEY* from, global KEY* to, global const VALUE* from_values, global VALUE* to_values,
                       ulong begin, ulong end, local ulong* next, local ulong* first, local KEY* lines, local VALUE* value_lines,
                       uint shift, uint mask, uint route) {
  // Places count from the line in which `to` begins.
  const ulong misaligned = MISALIGNED(to, KEY_BYTES);
  to -= misaligned;
#if VALUES
  const int aligned = (ulong)to_values % (LINE * VALUE_BYTES) == misaligned * VALUE_BYTES;
  to_values -= misaligned * VALUE_PARTS;
#endif
  for (uint d = 0; d < RADIX; ++d) first[d] = next[d] += misaligned;
  for (ulong i = begin; i < end; ++i) {
    const KEY key = from[i];
    const uint d = digit_of(key, shift, mask);
    const ulong place = next[d]++;
    const uint at = (uint)place & (LINE - 1);
    lines[d * LINE + at] = key;
#if VALUES == 2
    if (MAKES_PLACES(route)) {
      value_lines[d * LINE + at] = (VALUE)i;
    } else {
      value_lines[d * LINE + at] = from_values[i];
    }
#elif VALUES
    for (uint k = 0; k < VALUE_PARTS; ++k)
      value_lines[(d * LINE + at) * VALUE_PARTS + k] = from_values[i * VALUE_PARTS + k];
#endif
    if (at == LINE - 1) {
      const ulong start = place - at;
      const uint left_out = first[d] > start ? (uint)(first[d] - start) : 0;
      if (WRITES_KEYS(route)) store_keys(to + start, lines + d * LINE, left_out, at);
#if VALUES
      store_values(to_values + start * VALUE_PARTS, value_lines + d * VALUE_LINE, left_out, at, aligned);
#endif
    }
  }
  for (uint d = 0; d < RADIX; ++d) {
    const uint count = (uint)next[d] & (LINE - 1);  // of a line that was begun
    const ulong start = next[d] - count;
    const uint left_out = first[d] > start ? (uint)(first[d] - start) : 0;
    if (count <= left_out) continue;
    if (WRITES_KEYS(route)) store_keys(to + start, lines + d * LINE, left_out, count - 1);
#if VALUES
    store_values(to_values + start * VALUE_PARTS, value_lines + d * VALUE_LINE, left_out, count - 1, aligned);
#endif
  }
  (void)from_values, (void)to_values, (void)value_lines, (void)route;
}
#endif

#if PHASE == 0
kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void sort_cpu(SORT_ARGUMENTS) {
  local uint counts[4 * RADIX];
  const ulong block = get_group_id(0), begin = block * piece;
  const uint shift = shift_of(begin_bit, digit_bits, pass);
  count_digits(counts, SOURCE_KEYS(route), begin, min(begin + piece, size), shift, mask_of(shift, end_bit, digit_bits));
  for (uint d = 0; d < RADIX; ++d) work[block * RADIX + d] = counts[d];
}
#elif PHASE == 1
kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void sort_cpu(SORT_ARGUMENTS) {
  local KEY lines[RADIX * LINE] __attribute__((aligned(64)));
  local VALUE value_lines[VALUES ? RADIX * LINE * VALUE_PARTS : 1] __attribute__((aligned(64)));
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
  move_keys(SOURCE_KEYS(route), TARGET_KEYS(route), SOURCE_VALUES(route), TARGET_VALUES(route), begin, min(begin + piece, size),
            next, first, lines, value_lines, shift, mask_of(shift, end_bit, digit_bits), route);
}
#else
kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void sort_cpu(SORT_ARGUMENTS) {
  local uint counts[PASSES * RADIX];
  local KEY lines[RADIX * LINE] __attribute__((aligned(64)));
  local VALUE value_lines[VALUES ? RADIX * LINE * VALUE_PARTS : 1] __attribute__((aligned(64)));
  local ulong next[RADIX], first[RADIX];
  uint routes[PASSES];
  for (uint i = 0; i < passes * RADIX; ++i) counts[i] = 0;
  for (ulong i = 0; i < size; ++i) {
    const KEY key = in[in_offset + i];
    for (uint p = 0; p < passes; ++p) {
      const uint shift = shift_of(begin_bit, digit_bits, p);
      ++counts[p * RADIX + digit_of(key, shift, mask_of(shift, end_bit, digit_bits))];
    }
  }
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
    move_keys(SOURCE_KEYS(way), TARGET_KEYS(way), SOURCE_VALUES(way), TARGET_VALUES(way), 0, size, next, first, lines,
              value_lines, shift, mask_of(shift, end_bit, digit_bits), way);
  }
}
#endif
