// Sorts of rows of keys alone in registers, one or several rows a group: a bitonic network of their images, without places. K. E.
// Batcher, "Sorting networks and their applications", AFIPS 1968.
//
// A key's image is its code, which tells all keys apart; but zeros of both signs have one image, and so have all NaNs. Where a group has
// negative zeros or NaNs, it reads its rows once more and writes the codes of zeros and NaNs over their images, in the order of their
// places.
//
// Entry i of the network is entry i % ITEMS of work-item i / ITEMS of the row's TEAM; where these are more than NEAR, for steps between
// entries that are far apart, entry i / TEAM of work-item i % TEAM instead. All comparisons put the lesser first: the first step of each
// stage compares with the second half backwards.
//
// Launch: one dimension, a group of GROUP work-items for each GROUP / TEAM rows.
#include "sort/keys.clh"

#ifndef GROUP
#define GROUP 128
#endif
#ifndef LOG_TEAM
#define LOG_TEAM 3
#endif
#ifndef LOG_ITEMS
#define LOG_ITEMS 2
#endif
#ifndef SHUFFLE
#define SHUFFLE 0  // 1: by NVIDIA's shuffles; groups are whole warps
#endif
#define TEAM (1 << LOG_TEAM)
#define MANY_ROWS (GROUP / TEAM > 2)
#include "sort_rows/rows.clh"
#define ITEMS (1 << LOG_ITEMS)
#define LOG_WIDTH (LOG_TEAM + LOG_ITEMS)
#define WIDTH (1 << LOG_WIDTH)  // at most 32768
#define NEAR 32                 // work-items that exchange entries directly
#define LOG_NEAR 5
#define IS_FAR (LOG_TEAM > LOG_NEAR)  // LOG_TEAM is at most LOG_NEAR + LOG_ITEMS
// Entries that are ITEMS apart are in different banks. The same from the place of a work-item's entry 0 on: places are sums of it and
// constants, which take no registers.
#define PADDED(i) ((i) + (i) / 32)
#define ACROSS(base, lane, u) (TEAM % 32 == 0 ? PADDED((base) + (lane)) + PADDED((u) * TEAM) : PADDED((base) + (lane) + (u) * TEAM))
#if SHUFFLE
#include "nvidia/shuffle.clh"
DEFINE_WARP_MOVES(lanes, sortable)
#endif
#if ORDER == 2
static inline uint sum_of(uint a, uint b) { return a + b; }
static inline uint no_sum(void) { return 0; }
DEFINE_TEAM_SCAN(team_scan, uint, sum_of, no_sum)
#endif

// An integer for each key that sorts as the key, except that negative zeros and NaNs have their own.
static inline sortable code_of(KEY key) {
  sortable x = key;
#if ORDER == 1
  x ^= SIGN;
#elif ORDER >= 2
  x ^= (x & SIGN) != 0 ? ALL_BITS : SIGN;
#endif
  return DESCENDING ? x ^ ALL_BITS : x;
}
#if ORDER == 2
static inline int is_zero(KEY key) { return (key & (SIGN - 1)) == 0; }
static inline int is_nan(KEY key) { return (key & (SIGN - 1)) > INFINITE; }
static inline int is_special(KEY key) { return is_nan(key) || key == SIGN; }
#endif
#define IMAGE_OF_ZERO (DESCENDING ? SIGN - 1 : SIGN)
#define IMAGE_OF_NAN (DESCENDING != NAN_LEAST ? (sortable)0 : ALL_BITS)

static inline KEY key_of(sortable code) {
  sortable x = DESCENDING ? code ^ ALL_BITS : code;
#if ORDER == 1
  x ^= SIGN;
#elif ORDER >= 2
  x ^= (x & SIGN) != 0 ? SIGN : ALL_BITS;
#endif
  return (KEY)x;
}

INLINED void compare_exchange(sortable* a, sortable* b) {
  const sortable x = *a, y = *b;
  *a = min(x, y);
  *b = max(x, y);
}

// Compares entries of a work-item that are 1 << (steps - 1) ... 1 apart.
INLINED void merge_items(sortable e[ITEMS], uint steps) {
#pragma unroll
  for (uint s = LOG_ITEMS; s > 0; --s) {
    const uint apart = 1u << (s - 1);
    if (s <= steps) {
#pragma unroll
      for (uint u = 0; u < ITEMS; ++u)
        if ((u & apart) == 0) compare_exchange(&e[u], &e[u | apart]);
    }
  }
}

static inline sortable choose(sortable own, sortable other, int takes_less) { return (other < own) == takes_less ? other : own; }

// Compares with the entries of the work-item whose number differs in the bits of `apart`; backwards: with its entries from the last on.
GROUP_FUNCTION void merge_lanes(sortable e[ITEMS], uint apart, int backwards, local sortable* tile, uint item) {
  const int takes_less = (item ^ apart) > item;
#if SHUFFLE
  const uint from = item % WARP ^ apart;
  if (backwards) {
#pragma unroll
    for (uint u = 0; u < (ITEMS + 1) / 2; ++u) {
      const sortable other = lanes_of(e[u], from), last = lanes_of(e[ITEMS - 1 - u], from);
      e[u] = choose(e[u], last, takes_less);
      if (u != ITEMS - 1 - u) e[ITEMS - 1 - u] = choose(e[ITEMS - 1 - u], other, takes_less);
    }
  } else {
#pragma unroll
    for (uint u = 0; u < ITEMS; ++u) e[u] = choose(e[u], lanes_of(e[u], from), takes_less);
  }
  (void)tile;
#else
#pragma unroll
  for (uint u = 0; u < ITEMS; ++u) tile[u * GROUP + item] = e[u];
  barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
  for (uint u = 0; u < ITEMS; ++u)
    e[u] = choose(e[u], tile[(backwards ? ITEMS - 1 - u : u) * GROUP + (item ^ apart)], takes_less);
  barrier(CLK_LOCAL_MEM_FENCE);
#endif
}

#if IS_FAR
// The steps of a stage, of runs of 1 << stage entries, between work-items that are not near. `base`: the row's first entry.
GROUP_FUNCTION void merge_far(sortable e[ITEMS], uint stage, local sortable* tile, uint base, uint lane) {
  const uint bit = stage - 1 - LOG_TEAM;  // of a work-item's entries, where they are TEAM apart
  const uint first = PADDED(base + lane * ITEMS), across = PADDED(base + lane), back = PADDED(base + TEAM - 1 - lane);
#pragma unroll
  for (uint u = 0; u < ITEMS; ++u) tile[first + u] = e[u];
  barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
  for (uint u = 0; u < ITEMS; ++u)
    e[u] = (u >> bit & 1) != 0 ? tile[back + PADDED((u ^ ((1u << bit) - 1)) * TEAM)] : tile[across + PADDED(u * TEAM)];
  barrier(CLK_LOCAL_MEM_FENCE);
  merge_items(e, bit + 1);
#pragma unroll
  for (uint u = 0; u < ITEMS; ++u) tile[across + PADDED(u * TEAM)] = e[u];
  barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
  for (uint u = 0; u < ITEMS; ++u) e[u] = tile[first + u];
#if !SHUFFLE
  barrier(CLK_LOCAL_MEM_FENCE);  // before merge_lanes() writes there
#endif
}
#endif

INLINED void sort_images(sortable e[ITEMS], local sortable* tile, uint base, uint lane, uint item) {
#pragma unroll
  for (uint stage = 1; stage <= LOG_ITEMS; ++stage) {
    const uint half_run = 1u << (stage - 1);
#pragma unroll
    for (uint u = 0; u < ITEMS; ++u)
      if ((u & half_run) == 0) compare_exchange(&e[u], &e[u ^ (2 * half_run - 1)]);
    merge_items(e, stage - 1);
  }
#pragma unroll 1
  for (uint team = 2; team <= (TEAM < NEAR ? TEAM : NEAR); team *= 2) {
    merge_lanes(e, team - 1, 1, tile, item);
#pragma unroll 1
    for (uint apart = team / 4; apart > 0; apart /= 2) merge_lanes(e, apart, 0, tile, item);
    merge_items(e, LOG_ITEMS);
  }
#if IS_FAR
#pragma unroll
  for (uint stage = LOG_NEAR + LOG_ITEMS + 1; stage <= LOG_WIDTH; ++stage) {
    merge_far(e, stage, tile, base, lane);
#pragma unroll 1
    for (uint apart = (1u << LOG_TEAM >> LOG_ITEMS) / 2; apart > 0; apart /= 2) merge_lanes(e, apart, 0, tile, item);
    merge_items(e, LOG_ITEMS);
  }
#else
  (void)base, (void)lane;
#endif
}

#if ORDER == 2
// The first entry of a sorted row that does not come before an image.
static inline uint find_image(local const sortable* tile, uint base, uint count, sortable image) {
  uint begin = 0, end = count;
  while (begin < end) {
    const uint middle = (begin + end) / 2;
    if (tile[PADDED(base + middle)] < image) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return begin;
}
#endif

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) SUB_GROUP_SIZE
void sort_rows_keys_only(SORT_ROWS_ARGUMENTS) {
  USE_SORT_ROWS_ARGUMENTS;
  local sortable tile[PADDED(GROUP * ITEMS)];
  const uint item = get_local_id(0), lane = item & (TEAM - 1), base = item / TEAM * WIDTH;
  const ulong row = get_group_id(0) * (ulong)(GROUP / TEAM) + item / TEAM, here = row < all_rows ? row : 0;
  const uint count = row < all_rows ? (uint)size : 0, reach = count - min(lane, count);
  global const KEY* keys = KEYS_OF(here) + lane;
  sortable e[ITEMS];
#if ORDER == 2
  local uint special[1], sums[GROUP];
  if (item == 0) special[0] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  int has_special = 0;
#endif
#pragma unroll
  for (uint u = 0; u < ITEMS; ++u) {
    const KEY key = u * TEAM < reach ? keys[u * TEAM] : 0;
    e[u] = u * TEAM < reach ? code_of(key) : ALL_BITS;
#if ORDER == 2
    has_special |= is_special(key);
#endif
  }
#if ORDER == 2
  if (has_special) {
    atomic_or(&special[0], 1);
#pragma unroll
    for (uint u = 0; u < ITEMS; ++u) {
      const KEY key = key_of(e[u]);
      if (u * TEAM < reach && is_special(key)) e[u] = is_nan(key) ? IMAGE_OF_NAN : IMAGE_OF_ZERO;
    }
  }
#endif

  sort_images(e, tile, base, lane, item);
  const uint first = PADDED(base + lane * ITEMS);
#pragma unroll
  for (uint u = 0; u < ITEMS; ++u) tile[first + u] = e[u];
  barrier(CLK_LOCAL_MEM_FENCE);

#if ORDER == 2
  const uint turns = special[0] != 0 ? ITEMS : 0;  // uniform in the group
  uint zero = 0, nan = 0;
  if (turns > 0) {
    zero = find_image(tile, base, count, IMAGE_OF_ZERO);
    nan = find_image(tile, base, count, IMAGE_OF_NAN);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll 1
  for (uint u = 0; u < turns; ++u) {
    const int is_there = u * TEAM < reach;
    const KEY key = is_there ? keys[u * TEAM] : 0;
    const int zeros = is_there && is_zero(key), nans = is_there && is_nan(key);
    uint before = zeros + (nans << 16), total;
    team_scan(&before, &total, sums, item, TEAM);
    if (zeros) tile[PADDED(base + zero + (before & 0xffff))] = code_of(key);
    if (nans) tile[PADDED(base + nan + (before >> 16))] = code_of(key);
    zero += total & 0xffff;
    nan += total >> 16;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
#endif
  global KEY* to = OUT_OF(here) + lane;
#pragma unroll
  for (uint u = 0; u < ITEMS; ++u)
    if (u * TEAM < reach) to[u * TEAM] = key_of(tile[ACROSS(base, lane, u)]);
}
