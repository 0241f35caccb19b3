// Onesweep, the first launch: how many keys have each digit, in all passes at once. Keys are read once.
//
// A work-item counts in one of PARTS tables, so that neighbours with equal digits seldom wait for each other; with as many as
// banks of local memory, no two lanes of a sub-group meet.
//
// With SCHEDULES the groups add their counts to `counters`, and the last group that arrives schedules the passes and leaves the
// counters zero for the next call. The launch also clears the tiles' statuses.
//   counters: uint arrived, uint bins[PASSES][RADIX]
//
// Launch: one dimension, GROUP work-items a group, any number of groups.
#include "common/join.clh"
#include "sort/keys.clh"
#include "sort/status.clh"

#ifndef GROUP
#define GROUP 256
#endif
#ifndef SCHEDULES
#define SCHEDULES 0  // 1: counts have 32 bits, and work-groups of a launch publish to each other
#endif
#if SCHEDULES
#include "common/hand_over.clh"
#include "sort/schedule.clh"
#define COUNTED (counters + 1)
#else
#define COUNTED BINS
#endif
#ifndef PARTS
#define PARTS 1  // a power of two
#endif
#define BINS_IN_ALL (PASSES * RADIX)
#ifndef PACK
#define PACK 4  // keys that are read at once: 16 bytes
#endif
#define UNROLL 4               // packs under way of a work-item

typedef JOIN(KEY, PACK) pack_vector;
typedef union {
  pack_vector all;
  KEY each[PACK];
} key_pack;

GROUP_FUNCTION void count_key(local uint* tables, KEY key, uint begin_bit, uint end_bit, uint digit_bits, uint part) {
  const sortable order = order_of(key);
#pragma unroll
  for (uint p = 0; p < PASSES; ++p) {
    const uint shift = shift_of(begin_bit, digit_bits, p);
    const uint digit = (uint)(order >> (shift & (KEY_BITS - 1))) & mask_of(shift, end_bit, digit_bits);
    atomic_inc(&tables[(p * RADIX + digit) * PARTS + part]);
  }
}

static inline void add_bin(global number* bin, uint count) {
#if WIDE  // 32 bits at a time
  global uint* words = (global uint*)bin;
  if (atomic_add(words, count) > 0xffffffffu - count) atomic_inc(words + 1);
#else
  atomic_add(bin, count);
#endif
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void sort_histogram(SORT_ARGUMENTS) {
  USE_SORT_ARGUMENTS;
  local uint tables[BINS_IN_ALL * PARTS];
#if SCHEDULES
  local number sums[2 * RADIX];
  local uint active[PASSES], is_last;
#endif
  const uint item = get_local_id(0), part = item & (PARTS - 1);
  for (uint i = item; i < BINS_IN_ALL * PARTS; i += GROUP) tables[i] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  global const KEY* keys = in + in_offset;
  const ulong id = get_global_id(0), items = get_global_size(0);
#if SCHEDULES
  for (ulong i = id; i < parts * RADIX; i += items) STATUSES[i] = 0;
  for (ulong i = id; i < PASSES; i += items) TICKETS[i] = 0;
#endif
  // Whole packs at aligned addresses; and the few keys before and after them.
  const ulong before = min(size, (ulong)((0 - (ulong)keys) & 15) / KEY_BYTES), packs = (size - before) / PACK;
  global const pack_vector* body = (global const pack_vector*)(keys + before);
  const ulong after = before + packs * PACK;
  if (id < before) count_key(tables, keys[id], begin_bit, end_bit, digit_bits, part);
  if (id < size - after) count_key(tables, keys[after + id], begin_bit, end_bit, digit_bits, part);
  ulong i = id;
  for (; i + (UNROLL - 1) * items < packs; i += UNROLL * items) {
    key_pack p[UNROLL];
#pragma unroll
    for (uint u = 0; u < UNROLL; ++u) p[u].all = body[i + u * items];
#pragma unroll
    for (uint u = 0; u < UNROLL; ++u)
#pragma unroll
      for (uint k = 0; k < PACK; ++k) count_key(tables, p[u].each[k], begin_bit, end_bit, digit_bits, part);
  }
  for (; i < packs; i += items) {
    key_pack p;
    p.all = body[i];
#pragma unroll
    for (uint k = 0; k < PACK; ++k) count_key(tables, p.each[k], begin_bit, end_bit, digit_bits, part);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint bin = item; bin < BINS_IN_ALL; bin += GROUP) {
    uint count = 0;
#pragma unroll
    for (uint k = 0; k < PARTS; ++k) count += tables[bin * PARTS + ((k + bin) & (PARTS - 1))];  // another bank for each lane
    if (count > 0) add_bin(&COUNTED[bin], count);
  }
#if SCHEDULES
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  if (item == 0) is_last = hand_over(counters) == get_num_groups(0) - 1;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (is_last) {  // uniform in the group
    take_over();
    schedule_passes(COUNTED, work, sums, active, size, route, item);
    barrier(CLK_GLOBAL_MEM_FENCE);
    for (uint i = item; i <= BINS_IN_ALL; i += GROUP) counters[i] = 0;  // ready for the next call
  }
#endif
}
