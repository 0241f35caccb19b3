// top_k of rows that a group reads once, for few results: of each span of neighbouring elements a work-item keeps the image that comes
// first in a register (top_k/delegates.cl); a bisection over the images bounds the k-th of those; then only the spans that are not
// behind the bound are read again, and their elements that are not behind it find their ranks by counting.
//
// Where equal images leave too many spans or elements, a second bisection, over their places, selects the lowest.
//
// Launch: one dimension, a group of GROUP work-items for each row of at most GROUP * ITEMS * SPAN elements, which has at least k spans;
// k is at most LISTED_SPANS and CANDIDATES.
#include "common/join.clh"
#include "top_k/rows.clh"

#ifndef GROUP
#define GROUP 64
#endif
#ifndef ITEMS
#define ITEMS 16  // delegates of a work-item
#endif
#ifndef PACK
#define PACK 4  // elements that are read at once
#endif
#ifndef TEAM
#define TEAM 2  // work-items that read a span: a power of two, at most 32
#endif
#ifndef CANDIDATES
#define CANDIDATES 128
#endif
#ifndef ALIGNED
#define ALIGNED 1  // 1: packs of a row are at multiples of their size
#endif
#ifndef FLOAT_BEST
#define FLOAT_BEST (SHUFFLE && ORDER == 2 && KEY_BYTES == 4)  // where comparisons keep the smallest numbers, as NVIDIA's do
#endif
#ifndef PARTS
#define PARTS 1  // of the delegates of a work-item: GROUP * PARTS is at least k
#endif
#define SPAN (TEAM * PACK)
#define LISTED_SPANS CANDIDATES
// The condition of a bisection's next pass, which is the same for all work-items. Where barriers must be in loops of a fixed number of
// passes, without shuffles, all passes are made, and those after the end change nothing.
#define GOES_ON(condition) (!SHUFFLE || (condition))
#include "top_k/collectives.clh"

typedef JOIN(KEY, PACK) pack_vector;
typedef union {
  pack_vector all;
  KEY each[PACK];
} pack;

#if SHUFFLE
#define WARPS (GROUP / WARP)
#define SCRATCH (2 * WARPS)
DEFINE_TEAM_SHUFFLE_ALL(warp_least, sortable, min)
DEFINE_TEAM_SHUFFLE_ALL(warp_most, sortable, max)
DEFINE_TEAM_SHUFFLE_ALL(warp_sum, uint, sum_of)
DEFINE_WARP_MOVES(images, sortable)

// Of the group: of what each of its warps has. Calls with `turn` 0 and 1 in turns need no second barrier.
#define DEFINE_OF_WARPS(name, type, combine)                                                    \
  GROUP_FUNCTION void name(type* value, local sortable* scratch, uint turn, uint item) {        \
    local type* of_warps = (local type*)(scratch + turn * WARPS);                               \
    if (WARPS == 1) return;                                                                     \
    if (item % WARP == 0) of_warps[item / WARP] = *value;                                       \
    barrier(CLK_LOCAL_MEM_FENCE);                                                               \
    *value = of_warps[0];                                                                       \
    _Pragma("unroll 8") for (uint w = 1; w < WARPS; ++w) *value = combine(*value, of_warps[w]); \
  }
DEFINE_OF_WARPS(least_of_warps, sortable, min)
DEFINE_OF_WARPS(most_of_warps, sortable, max)
DEFINE_OF_WARPS(sum_of_warps, uint, sum_of)
GROUP_FUNCTION void group_least(sortable* value, local sortable* scratch, uint turn, uint item) {
  warp_least(value, scratch, item, WARP);
  least_of_warps(value, scratch, turn, item);
}
GROUP_FUNCTION void group_most(sortable* value, local sortable* scratch, uint turn, uint item) {
  warp_most(value, scratch, item, WARP);
  most_of_warps(value, scratch, turn, item);
}
GROUP_FUNCTION void group_sum(uint* value, local sortable* scratch, uint turn, uint item) {
  warp_sum(value, (local uint*)scratch, item, WARP);
  sum_of_warps(value, scratch, turn, item);
}
#else
#define SCRATCH GROUP
DEFINE_TEAM_REDUCE(team_least, sortable, min)
DEFINE_TEAM_REDUCE(team_most, sortable, max)
DEFINE_TEAM_REDUCE(team_sum, uint, sum_of)
#define group_least(value, scratch, turn, item) team_least(value, scratch, item, GROUP)
#define group_most(value, scratch, turn, item) team_most(value, scratch, item, GROUP)
#define group_sum(value, scratch, turn, item) team_sum(value, (local uint*)(scratch), item, GROUP)
#endif

// How many delegates of the group are not behind an image.
GROUP_FUNCTION uint count_delegates(const sortable delegates[ITEMS], sortable image, local sortable* scratch, uint turn, uint item) {
  (void)turn;
  uint count = 0;
#if SHUFFLE && ITEMS <= 4  // a ballot for each takes less than the sum over a warp
#pragma unroll
  for (uint j = 0; j < ITEMS; ++j) count += popcount(warp_ballot(delegates[j] <= image));
  sum_of_warps(&count, scratch, turn, item);
#else
#pragma unroll
  for (uint j = 0; j < ITEMS; ++j) count += delegates[j] <= image;
  group_sum(&count, scratch, turn, item);
#endif
  return count;
}

#if FLOAT_BEST
// Comparisons of floats, without the images of all. They meet NaNs and zeros of both signs as images do.
static inline sortable best_of(pack p) {
  float best = as_float(p.each[0]);
  int has_nan = isnan(best);
#pragma unroll
  for (uint i = 1; i < PACK; ++i) {
    const float x = as_float(p.each[i]);
    has_nan |= isnan(x);
    best = DESCENDING ? fmax(best, x) : fmin(best, x);
  }
  return DESCENDING != NAN_LEAST && has_nan ? 0 : order_of(as_uint(best));
}
#else
static inline sortable best_of(pack p) {
  sortable best = order_of(p.each[0]);
#pragma unroll
  for (uint i = 1; i < PACK; ++i) best = min(best, order_of(p.each[i]));
  return best;
}
#endif

// Work-items of a team have the best images of their packs of TEAM spans: each receives the delegate of one of them.
INLINED sortable team_delegate(sortable bests[TEAM], local sortable* exchange, uint item) {
#if TEAM == 1
  (void)exchange, (void)item;
#elif SHUFFLE
  (void)exchange;
#pragma unroll
  for (uint step = 5; step > 0; --step) {
    const uint apart = 1u << (step - 1);
    if (apart < TEAM) {
      const int upper = (item & apart) != 0;
#pragma unroll
      for (uint t = 0; t < TEAM; ++t) {
        if (t < apart) {
          const sortable first = bests[t], second = bests[t + apart < TEAM ? t + apart : 0];
          bests[t] = min(upper ? second : first, images_of(upper ? first : second, item % WARP ^ apart));
        }
      }
    }
  }
#else
#pragma unroll
  for (uint t = 0; t < TEAM; ++t) exchange[t * GROUP + item] = bests[t];
  barrier(CLK_LOCAL_MEM_FENCE);
  local const sortable* of_span = exchange + item % TEAM * GROUP + item / TEAM * TEAM;
  bests[0] = of_span[0];
  for (uint t = 1; t < TEAM; ++t) bests[0] = min(bests[0], of_span[t]);
  barrier(CLK_LOCAL_MEM_FENCE);
#endif
  return bests[0];
}

// Elements of the listed spans that come before `image`, or have it and are not behind `place`.
INLINED uint count_listed(global const KEY* keys, local const uint* spans, uint listed, uint size, sortable image, uint place,
                          uint item) {
  uint count = 0;
#pragma unroll 1
  for (uint q = item; q < listed * SPAN; q += GROUP) {
    const uint at = spans[q / SPAN] * SPAN + q % SPAN;
    const sortable x = at < size ? order_of(keys[at]) : ALL_BITS;
    count += at < size && (x < image || (x == image && at <= place));
  }
  return count;
}

// Reads the row. Delegate j of a work-item is that of span own + j * GROUP. Packs beyond the row are its last whole one, in a span of
// its own packs or in none.
GROUP_FUNCTION void read_delegates(sortable delegates[ITEMS], global const KEY* keys, uint size, uint own, local sortable* exchange,
                                   uint item) {
  const uint whole = size / PACK, whole_spans = (whole + TEAM - 1) / TEAM;
#pragma unroll
  for (uint j = 0; j < ITEMS; ++j) {
    pack packs[TEAM];
    sortable bests[TEAM];
#pragma unroll
    for (uint t = 0; t < TEAM; ++t) {
      const uint at = min((j * TEAM + t) * GROUP + item, whole - 1);
#if ALIGNED
      packs[t].all = ((global const pack_vector*)keys)[at];
#else
      packs[t].all = JOIN(vload, PACK)(at, keys);
#endif
    }
#pragma unroll
    for (uint t = 0; t < TEAM; ++t) bests[t] = best_of(packs[t]);
    delegates[j] = team_delegate(bests, exchange, item);
    if (own + j * GROUP >= whole_spans) delegates[j] = ALL_BITS;
  }
  if (size % PACK != 0) {
    sortable rest = ALL_BITS;
    for (uint i = whole * PACK; i < size; ++i) rest = min(rest, order_of(keys[i]));
#pragma unroll
    for (uint j = 0; j < ITEMS; ++j)
      if (own + j * GROUP == whole / TEAM) delegates[j] = min(delegates[j], rest);
  }
}

// Reads the listed spans again. Keeps their elements that are not behind `high`, as far as there is space, and returns their number.
GROUP_FUNCTION uint collect_listed(global const KEY* keys, local const uint* spans, uint listed, uint size, sortable high,
                                   local sortable* candidates, local KEY* candidate_keys, local uint* candidate_places,
                                   local uint* found, uint item) {
#pragma unroll 1
  for (uint q = item; q < listed * TEAM; q += GROUP) {
    const uint at = (spans[q / TEAM] * TEAM + q % TEAM) * PACK;
    KEY found_keys[PACK];
    if (at + PACK <= size) {
      pack p;
#if ALIGNED
      p.all = *(global const pack_vector*)(keys + at);
#else
      p.all = JOIN(vload, PACK)(0, keys + at);
#endif
#pragma unroll
      for (uint i = 0; i < PACK; ++i) found_keys[i] = p.each[i];
    } else {
#pragma unroll
      for (uint i = 0; i < PACK; ++i) found_keys[i] = at + i < size ? keys[at + i] : 0;
    }
#pragma unroll
    for (uint i = 0; i < PACK; ++i) {
      const sortable image = order_of(found_keys[i]);
      if (image <= high && at + i < size) {
        const uint slot = atomic_inc(found);
        if (slot < CANDIDATES) {
          candidates[slot] = image;
          candidate_keys[slot] = found_keys[i];
          candidate_places[slot] = at + i;
        }
      }
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  const uint count = found[0];
  barrier(CLK_LOCAL_MEM_FENCE);
  return count;
}

// Where there are too many elements (`narrows`): a bisection over those of the listed spans, by images from `low` to `high` until there is
// space for those that are left, else by the places of the k-th's equals. Returns how many are kept in either case.
GROUP_FUNCTION uint narrow_listed(global const KEY* keys, local const uint* spans, uint listed, uint size, uint k, sortable low,
                                  sortable high, int narrows, local sortable* candidates, local KEY* candidate_keys,
                                  local uint* candidate_places, local uint* found, local sortable* scratch, uint side, uint item) {
  (void)side;
  uint left = CANDIDATES + 1;
#pragma unroll 1
  for (uint pass = 0; pass < (narrows ? 8 * sizeof(sortable) : 0) && GOES_ON(low < high && left > CANDIDATES); ++pass) {
    const sortable middle = low + (high - low) / 2;
    uint before = count_listed(keys, spans, listed, size, middle, size, item);
    group_sum(&before, scratch, side, item);
    side ^= 1;
    if (low < high && left > CANDIDATES) {
      if (before >= k) {
        high = middle;
        left = before;
      } else {
        low = middle + 1;
      }
    }
  }
  uint low_place = 0, last_place = size;
#pragma unroll 1
  for (uint pass = 0; pass < (narrows ? 32 : 0) && GOES_ON(low_place < last_place && left > CANDIDATES); ++pass) {
    const uint middle = low_place + (last_place - low_place) / 2;
    uint before = count_listed(keys, spans, listed, size, high, middle, item);
    group_sum(&before, scratch, side, item);
    side ^= 1;
    if (low_place < last_place && left > CANDIDATES) {
      if (before >= k) {
        last_place = middle;
      } else {
        low_place = middle + 1;
      }
    }
  }
  if (narrows && item == 0) found[0] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll 1
  for (uint q = item; q < (narrows ? listed * SPAN : 0); q += GROUP) {
    const uint at = spans[q / SPAN] * SPAN + q % SPAN;
    const KEY key = at < size ? keys[at] : 0;
    const sortable image = order_of(key);
    if (at < size && (image < high || (image == high && at <= last_place))) {
      const uint slot = atomic_inc(found);
      candidates[slot] = image;
      candidate_keys[slot] = key;
      candidate_places[slot] = at;
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  return found[0];
}

// Writes the first k of `count` candidates: each finds its rank by counting.
GROUP_FUNCTION void write_ranked(global KEY* values, global PLACE* places, local const sortable* candidates, local const KEY* candidate_keys,
                          local const uint* candidate_places, uint count, uint k, local ushort* ranks, uint item) {
  (void)places, (void)ranks;
#pragma unroll 1
  for (uint i = item; i < count; i += GROUP) {
    const sortable image = candidates[i];
    const uint place = candidate_places[i];
    uint rank = 0;
#pragma unroll 4
    for (uint j = 0; j < count; ++j)
      rank += candidates[j] < image || (candidates[j] == image && candidate_places[j] < place);
#if NTH
    if (rank == k - 1) values[0] = candidate_keys[i];
#elif SORTED
    if (rank < k) {
      values[rank] = candidate_keys[i];
      places[rank] = place;
    }
#else
    ranks[i] = (ushort)rank;
#endif
  }
#if !SORTED
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint i = item; i < count; i += GROUP) {
    const uint place = candidate_places[i];
    uint at = 0;
    for (uint j = 0; j < count; ++j) at += ranks[j] < k && candidate_places[j] < place;
    if (ranks[i] < k) {
      values[at] = candidate_keys[i];
      places[at] = place;
    }
  }
#endif
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void top_k_row_delegates(TOP_K_ARGUMENTS) {
  USE_TOP_K_ARGUMENTS;
  local sortable scratch[SCRATCH], candidates[CANDIDATES];
  local KEY candidate_keys[CANDIDATES];
  local uint candidate_places[CANDIDATES], spans[LISTED_SPANS], sums[GROUP], found[1];
#if TEAM > 1 && !SHUFFLE
  local sortable exchange[TEAM * GROUP];
#else
  local sortable* exchange = scratch;
#endif
#if !SORTED
  local ushort ranks[CANDIDATES];
#else
  local ushort* ranks = 0;
#endif
  const uint item = get_local_id(0);
  const ulong row = get_group_id(0);
  global const KEY* keys = in + row_start(row, rows, in_offset, in_pitch, in_stride);
  const uint own = item % TEAM * (GROUP / TEAM) + item / TEAM, all_spans = (size + SPAN - 1) / SPAN;
  sortable delegates[ITEMS];
  read_delegates(delegates, keys, size, own, exchange, item);

  // An image `high` that at least k delegates are not behind, and few more where images differ enough. That holds of the last of the
  // bests of PARTS parts of each work-item, where the bisection begins. What is missing comes last.
  sortable low = ALL_BITS, high = 0;
#pragma unroll
  for (uint part = 0; part < PARTS; ++part) {
    sortable best = ALL_BITS;
#pragma unroll
    for (uint j = part * (ITEMS / PARTS); j < (part + 1) * (ITEMS / PARTS); ++j) best = min(best, delegates[j]);
    low = min(low, best);
    high = max(high, best);
  }
  group_least(&low, scratch, 0, item);
  group_most(&high, scratch, 1, item);
  const sortable first = low;
  const uint enough = min(k + k / 4 + 2, (uint)LISTED_SPANS);
  uint listed = enough + 1, side = 0;
#pragma unroll 1
  for (uint pass = 0; pass < 8 * sizeof(sortable) && GOES_ON(low < high && listed > enough); ++pass) {
    const sortable middle = low + (high - low) / 2;
    const uint count = count_delegates(delegates, middle, scratch, side, item);
    side ^= 1;
    if (low < high && listed > enough) {
      if (count >= k) {
        high = middle;
        listed = count;
      } else {
        low = middle + 1;
      }
    }
  }

  // Lists the spans whose delegates are not behind `high`. Of too many, the lowest ones whose delegate it is; what is missing has that
  // image too, where it is the last of all.
  if (item == 0) found[0] = 0;
  sortable last = high;  // of the delegates whose spans are listed
  uint mine = 0;
#pragma unroll
  for (uint j = 0; j < ITEMS; ++j) mine += delegates[j] <= last;
  uint at_span = mine;
  team_scan(&at_span, &listed, sums, item, GROUP);
  const int ties = listed > LISTED_SPANS || high == ALL_BITS;
  uint low_span = 0, last_span = all_spans - 1;
#pragma unroll 1
  for (uint pass = 0; pass < (ties ? 32 : 0) && GOES_ON(low_span < last_span); ++pass) {
    const uint middle = low_span + (last_span - low_span) / 2;
    uint count = 0;
#pragma unroll
    for (uint j = 0; j < ITEMS; ++j) count += delegates[j] < high || (delegates[j] == high && own + j * GROUP <= middle);
    group_sum(&count, scratch, side, item);
    side ^= 1;
    if (low_span < last_span) {
      if (count >= k) {
        last_span = middle;
      } else {
        low_span = middle + 1;
      }
    }
  }
#pragma unroll 1
  for (uint again = 0; again < (ties ? 1 : 0); ++again) {
    last = 0;
    mine = 0;
#pragma unroll
    for (uint j = 0; j < ITEMS; ++j) {
      const int is_listed = delegates[j] < high || (delegates[j] == high && own + j * GROUP <= last_span);
      delegates[j] = is_listed ? 0 : ALL_BITS;
      mine += is_listed;
    }
    at_span = mine;
    team_scan(&at_span, &listed, sums, item, GROUP);
  }
  if (mine > 0) {
#pragma unroll
    for (uint j = 0; j < ITEMS; ++j)
      if (delegates[j] <= last) spans[at_span++] = own + j * GROUP;
  }
  barrier(CLK_LOCAL_MEM_FENCE);

  uint count = collect_listed(keys, spans, listed, size, high, candidates, candidate_keys, candidate_places, found, item);
  const int narrows = count > CANDIDATES;
  count = narrow_listed(keys, spans, listed, size, k, narrows ? first : high, high, narrows, candidates, candidate_keys,
                        candidate_places, found, scratch, side, item);

  global KEY* row_values = values + row_start(row, rows, values_offset, values_pitch, values_stride);
#if !NTH
  global PLACE* row_places = places + row_start(row, rows, places_offset, places_pitch, places_stride);
#else
  global PLACE* row_places = places;
#endif
  write_ranked(row_values, row_places, candidates, candidate_keys, candidate_places, count, k, ranks, item);
}
