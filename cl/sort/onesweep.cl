// Onesweep: a pass by one digit reads each key once and writes it once. A. Adinets and D. Merrill, "Onesweep: A Faster Least
// Significant Digit Radix Sort for GPUs", arXiv 2206.01784, 2022; with decoupled fallback: T. Smith, R. Levien and J. D. Owens,
// "Decoupled Fallback: A Portable Single-Pass GPU Scan", SPAA 2025.
//
// A group publishes how many keys of its tile have each digit before it ranks them (early counts), so that its successors wait
// less. A work-item for each digit looks back over the tiles before; what they have lies before the tile's own. All
// predecessors of a tile have started before it: groups start in their order (ORDERED_START), or tiles are taken by a counter.
// Where a predecessor does not publish within POLL_LIMIT polls, the group counts that tile's keys itself, which are still there:
// a pass does not write what it reads. So a launch ends whichever groups make progress.
//
// Launch: one dimension, GROUP work-items a group, a group for each of `parts` tiles; once for each pass.
#include "sort/tile.clh"
#include "sort/status.clh"
#if AHEAD
#include "nvidia/values_ahead.clh"
#endif

#ifndef ORDERED_START
#define ORDERED_START 0  // 1: work-groups start in the order of their numbers
#endif
#ifndef POLL_LIMIT
#define POLL_LIMIT 1024  // polls before a group falls back; 0: it polls none before it has counted, and publishes no count itself
#endif
#ifndef LOOK_BACK
#define LOOK_BACK 4  // statuses that are polled at once
#endif
#define TURNS ((RADIX + GROUP - 1) / GROUP)  // digits of a work-item: item + turn * GROUP
#if TURNS <= 4
#define UNROLL_TURNS _Pragma("unroll")
#else
#define UNROLL_TURNS _Pragma("unroll 1")
#endif

// Where a digit's look-back is.
typedef struct {
  uint at;       // the tile whose status comes next, and 1
  number count;  // of the keys found so far
} look_back_state;

// Adds the status of the next tile. Returns whether it was there; after the nearest PREFIX, at is 0.
static inline int take_status(look_back_state* s, status word, uint odd) {
  const uint flag = flag_of(word);
  if (flag == EMPTY(odd)) return 0;
  s->count += COUNT_OF(word);
  s->at = flag == PREFIX(odd) ? 0 : s->at - 1;
  return 1;
}

// Polls at most `polls` times for nothing. `column`: the statuses of the digit.
static inline void look_back(look_back_state* s, volatile global status* column, uint odd, uint polls) {
  while (s->at > 0) {
    status words[LOOK_BACK];
#pragma unroll
    for (uint k = 0; k < LOOK_BACK; ++k)
      words[k] = load_status(column + (ulong)(s->at > k ? s->at - 1 - k : 0) * RADIX);
    int taken = take_status(s, words[0], odd);
    if (!taken && --polls == 0) return;
#pragma unroll
    for (uint k = 1; k < LOOK_BACK; ++k) taken = taken && s->at > 0 && take_status(s, words[k], odd);
  }
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) SUB_GROUP_SIZE
void sort_onesweep(SORT_ARGUMENTS) {
  USE_SORT_ARGUMENTS;
  local ulong area[AREA_WORDS];
  local number bases[RADIX], sums[2 * RADIX];
  local uint counts[RADIX];
  local uint subject[1];  // the tile that is counted in its owner's place, and 1
  const uint item = get_local_id(0);
  const uint shift = shift_of(begin_bit, digit_bits, pass), mask = mask_of(shift, end_bit, digit_bits);
  const uint way = ROUTES[pass], odd = way & IS_ODD;
  const int is_active = (way & IS_ACTIVE) != 0;
  global const KEY* source = SOURCE_KEYS(way);
#if WARPS || BALLOTS
  if (!is_active) return;  // all groups; other teams go through an empty tile, as PoCL 3.1 wants no barriers in branches
#endif
#if ORDERED_START
  const uint tile = get_group_id(0);
#else
  if (item == 0) subject[0] = atomic_inc(&TICKETS[pass]);
  barrier(CLK_LOCAL_MEM_FENCE);
  const uint tile = subject[0];
#endif
  const ulong begin = (ulong)tile * TILE;
  const uint count = is_active ? (uint)min(size - begin, (ulong)TILE) : 0;
  volatile global status* own = STATUSES + (ulong)tile * RADIX;

  KEY keys[ITEMS];
  uint ranks[ITEMS];
  load_tile(keys, ranks, source + begin, count, shift, mask, item);
#if AHEAD
  if (!MAKES_PLACES(way)) fetch_values(area, SOURCE_VALUES(way) + begin, count, item);
#endif
  count_tile(ranks, (local uint*)area, counts, item);
#if POLL_LIMIT > 0
  const bool publishes = is_active;
#else
  const bool publishes = is_active && tile == 0;  // nobody reads others' own counts
#endif
  for (uint d = item; d < RADIX; d += GROUP)
    if (publishes)
      store_status(own + d, make_status(tile == 0 ? PREFIX(odd) : PARTIAL(odd), counts[d]));
  if (item == 0) subject[0] = 0;
  rank_tile(ranks, (local uint*)area, counts, sums, item);
#if AHEAD
  exchange_places(keys, ranks, area, item);
#else
  exchange_tile(keys, ranks, (local KEY*)area);
#endif

  look_back_state before[TURNS];
  UNROLL_TURNS
  for (uint t = 0; t < TURNS; ++t) {
    const uint d = item + t * GROUP;
    before[t].at = is_active && d < RADIX ? tile : 0;
    before[t].count = 0;
    if (d < RADIX) {
#if POLL_LIMIT > 0
      look_back(&before[t], STATUSES + d, odd, POLL_LIMIT);
#endif
      if (before[t].at == 0) {
        if (is_active && tile > 0) store_status(own + d, make_status(PREFIX(odd), before[t].count + counts[d]));
        bases[d] = BASES[pass * RADIX + d] + before[t].count - sums[SCANNED + d];
      } else {
        atomic_max(&subject[0], before[t].at);
      }
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);

  // Fallback: counts the keys of a tile that has not published, then resumes the look-back there. subject is cleared after the
  // counting, because PoCL 3.1 drops the branch if it directly follows the barrier.
  local uint* others = (local uint*)(sums + (RADIX - SCANNED));
  while (subject[0] != 0) {  // the same for all
    const uint missing = subject[0] - 1;
    for (uint d = item; d < RADIX; d += GROUP) others[d] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = item; i < TILE; i += GROUP)
      atomic_inc(&others[digit_of(source[(ulong)missing * TILE + i], shift, mask)]);
    if (item == 0) subject[0] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    UNROLL_TURNS
    for (uint t = 0; t < TURNS; ++t) {
      const uint d = item + t * GROUP;
      if (before[t].at > 0) {
        if (before[t].at == missing + 1) {
          volatile global status* entry = STATUSES + (ulong)missing * RADIX + d;
          const status mine = make_status(PARTIAL(odd), others[d]);
          status seen = load_status(entry);
          if (flag_of(seen) == EMPTY(odd)) {  // who comes first, publishes
            const status found = compare_exchange(entry, seen, mine);
            seen = found == seen ? mine : found;
          }
          take_status(&before[t], seen, odd);
        }
#if POLL_LIMIT > 0
        look_back(&before[t], STATUSES + d, odd, 1);
#endif
        if (before[t].at == 0) {
          store_status(own + d, make_status(PREFIX(odd), before[t].count + counts[d]));
          bases[d] = BASES[pass * RADIX + d] + before[t].count - sums[SCANNED + d];
        } else {
          atomic_max(&subject[0], before[t].at);
        }
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }

#if AHEAD
  store_fetched(area, bases, TARGET_KEYS(way), TARGET_VALUES(way), begin, count, shift, mask, way, item);
#else
  store_tile(ranks, area, bases, TARGET_KEYS(way), SOURCE_VALUES(way), TARGET_VALUES(way), begin, count, shift, mask, way, item);
#endif
}
