// The n-th element of a vector for a CPU, by radix select: passes that each count a digit of the images, from the highest one on, and so find the
// digit of the n-th image. Each thread has parts of the vector.
//
// From the second pass on only images count that have the digits found so far. A part lists them as it meets them, if they are few, and later
// passes read its list. Comparisons of blocks of neighbours are what compilers turn into vectors.
//
// Launch: one dimension, local size 1. PHASE 0, `parts` groups of `piece` elements each: `turn` = 0, 1, ... for each digit. PHASE 1, one group.
//   images: a list of `span_bits` images at most for each part. lists: uint bins[turns][DIGITS], zero at first; at `list_at` uint counts[parts]; at
//   `to` ulong states[turns + 1][2], the interval's lowest image and how many of it are wanted
#define MANY_ROWS 1
#define NTH 1
#include "top_k/rows.clh"

#ifndef PHASE
#define PHASE 0
#endif
#define DIGIT_BITS 11
#define DIGITS (1u << DIGIT_BITS)
#define TABLES 4    // of bins, for neighbours of the same digit
#define BLOCK 64    // images that are compared at once
#define KEPT 2048   // images that are listed at once
#define NO_LIST 0xffffffff
#define SHIFT_OF(turn) (KEY_BITS > DIGIT_BITS * ((turn) + 1) ? KEY_BITS - DIGIT_BITS * ((turn) + 1) : 0)

// After the digits before `turn`: the lowest image that may be the n-th, and how many of those from it on are wanted.
static inline sortable find_interval(global const uint* lists, global ulong* states, uint turn, uint k, uint* wanted) {
  *wanted = k;
  if (turn == 0) return 0;
  global const uint* bins = lists + (turn - 1) * DIGITS;
  sortable low = turn == 1 ? 0 : (sortable)states[2 * (turn - 1)];
  if (turn > 1) *wanted = (uint)states[2 * turn - 1];
  uint digit = 0;
  while (bins[digit] < *wanted) *wanted -= bins[digit++];
  return low + ((sortable)digit << SHIFT_OF(turn - 1));
}

#if PHASE == 0
INLINED void count_images(const sortable* x, uint count, sortable low, uint shift, local uint* bins) {
  for (uint i = 0; i < count; ++i) ++bins[i % TABLES * DIGITS + (uint)((x[i] - low) >> shift)];
}

// Counts the images of a block from `low` to low + reach, all of them in turn 0, and lists them.
typedef struct {
  sortable low, reach;
  uint turn, shift, count, listed, room;
  global sortable* list;
} part_state;

INLINED void flush_kept(part_state* s, const sortable* kept, local uint* bins) {
  count_images(kept, s->count, s->low, s->shift, bins);
  if (s->listed != NO_LIST && s->listed + s->count > s->room) s->listed = NO_LIST;
  if (s->listed != NO_LIST) {
    for (uint i = 0; i < s->count; ++i) s->list[s->listed + i] = kept[i];
    s->listed += s->count;
  }
  s->count = 0;
}

INLINED void take_block(part_state* s, const sortable* x, uint count, sortable* kept, local uint* bins) {
  if (s->turn == 0) {
    count_images(x, count, 0, s->shift, bins);
    return;
  }
  uint inside = 0;
  for (uint i = 0; i < count; ++i) inside += x[i] - s->low <= s->reach;
  if (inside == 0) return;
  uint at = s->count;
  _Pragma("clang loop vectorize(disable)") for (uint i = 0; i < count; ++i) {
    kept[at] = x[i];
    at += x[i] - s->low <= s->reach;
  }
  s->count = at;
  if (at > KEPT - BLOCK) flush_kept(s, kept, bins);
}

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void top_k_cpu_nth(TOP_K_ARGUMENTS) {
  USE_TOP_K_ARGUMENTS;
  local uint bins[TABLES * DIGITS];
  const uint part = (uint)get_group_id(0), room = span_bits;
  const ulong begin = min((ulong)part * piece, (ulong)size), end = min(begin + piece, (ulong)size);
  global ulong* states = (global ulong*)(lists + to);
  global uint* counts = lists + list_at;
  uint wanted;
  part_state s;
  s.low = find_interval(lists, states, turn, k, &wanted);
  if (part == 0) states[2 * turn] = s.low, states[2 * turn + 1] = wanted;
  s.turn = turn, s.shift = SHIFT_OF(turn), s.reach = turn == 0 ? ALL_BITS : ((sortable)1 << SHIFT_OF(turn - 1)) - 1;
  s.count = 0, s.listed = 0, s.room = room, s.list = images + (ulong)part * room;
  for (uint d = 0; d < TABLES * DIGITS; ++d) bins[d] = 0;
  sortable x[BLOCK], kept[KEPT];
  if (turn > 1 && counts[part] != NO_LIST) {
    s.listed = NO_LIST;
    for (uint i = 0; i < counts[part]; i += BLOCK) {
      const uint here = min(counts[part] - i, (uint)BLOCK);
      for (uint j = 0; j < here; ++j) x[j] = s.list[i + j];
      take_block(&s, x, here, kept, bins);
    }
    flush_kept(&s, kept, bins);
  } else {
    global const KEY* keys = in + in_offset;
    ulong i = begin;
    for (; i + BLOCK <= end; i += BLOCK) {
      for (uint j = 0; j < BLOCK; ++j) x[j] = order_of(keys[i + j]);
      take_block(&s, x, BLOCK, kept, bins);
    }
    for (uint j = 0; j < end - i; ++j) x[j] = order_of(keys[i + j]);
    take_block(&s, x, (uint)(end - i), kept, bins);
    flush_kept(&s, kept, bins);
    counts[part] = turn == 0 ? NO_LIST : s.listed;
  }
  for (uint d = 0; d < DIGITS; ++d) {
    uint count = 0;
    for (uint t = 0; t < TABLES; ++t) count += bins[t * DIGITS + d];
    if (count > 0) atomic_add(&lists[turn * DIGITS + d], count);
  }
}
#else
static inline KEY key_of(sortable image) {
  sortable x = DESCENDING ? image ^ ALL_BITS : image;
#if ORDER == 1
  x ^= SIGN;
#elif ORDER == 2
  x = x >= SIGN ? x - SIGN : (sortable)0 - x;
#elif ORDER == 3
  x ^= (x & SIGN) != 0 ? SIGN : ALL_BITS;
#endif
  return (KEY)x;
}

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void top_k_cpu_nth(TOP_K_ARGUMENTS) {
  USE_TOP_K_ARGUMENTS;
  uint wanted;
  const sortable image = find_interval(lists, (global ulong*)(lists + to), turn, k, &wanted);
  KEY key = key_of(image);
#if ORDER == 2
  // Zeros of both signs have one image, and so have all NaNs: the wanted one is found where it stands.
  if ((key & (KEY)(SIGN - 1)) == 0 || (key & (KEY)(SIGN - 1)) > INFINITE || order_of(key) != image) {
    global const KEY* keys = in + in_offset;
    ulong i = 0;
    for (; i + BLOCK <= size; i += BLOCK) {
      uint equal = 0;
      for (uint j = 0; j < BLOCK; ++j) equal += order_of(keys[i + j]) == image;
      if (equal >= wanted) break;
      wanted -= equal;
    }
    for (; wanted > 0; ++i) wanted -= order_of(key = keys[i]) == image;
  }
#endif
  values[values_offset] = key;
}
#endif
