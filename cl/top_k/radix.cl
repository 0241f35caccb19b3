// top_k of rows that several groups share, by radix select: passes over the row, each a digit, that narrow the interval of images
// in which the last result is; then two more that count and place the results. T. Alabi, J. D. Blanchard, B. Gordon and
// R. Steinbach, "Fast k-selection algorithms for graphics processing units", ACM JEA 17, 2012.
//
// With LEVEL 1 the row's elements are delegates (top_k/delegates.cl), and the results are a list of spans; with LISTED the row is what
// such a list names.
//
// All groups of a launch narrow the interval by the counts that the launch before it left, so that nobody waits. Once the interval
// has one image, passes have nothing to do.
//
// Launch: one dimension, GROUP work-items a group, `parts` groups for each row with `piece` neighbouring elements each. PHASE 0 is
// launched `turn` = 0, 1, ... times, then 1 and 2 with the number of passes as their turn.
//   lists: at `bins_at` uint bins[passes][rows][DIGITS], zero at first; at `list_at` uint list[rows][k]; at `from` uint counts[rows][parts][2]; at `to` ulong states[passes +
//   1][rows][3], the interval and how many of it are wanted
#include "top_k/rows.clh"

#ifndef PHASE
#define PHASE 0  // 0: counts digits, 1: counts results of each part, 2: places them
#endif
#ifndef GROUP
#define GROUP 256
#endif
#ifndef ITEMS
#define ITEMS 16  // neighbours of a work-item that are placed at once; at most 65535 of a group
#endif
#ifndef DIGIT_BITS
#define DIGIT_BITS 11
#endif
#define READ 8  // images of a work-item that are read at once
#include "top_k/collectives.clh"
#include "top_k/digits.clh"

#if PHASE != 0
DEFINE_TEAM_REDUCE(team_sum, uint, sum_of)
#endif

#if LEVEL == 0
#define ELEMENT KEY
static inline sortable image_of(KEY key) { return order_of(key); }
#else
#define ELEMENT sortable
static inline sortable image_of(sortable image) { return image; }
#endif

// Image i of the row. What a list names beyond the row comes last.
static inline sortable image_at(global const ELEMENT* elements, global const uint* list, uint i, uint size, uint span_bits) {
  const uint place = place_of(list, i, span_bits);
  return !LISTED || place < size ? image_of(elements[place]) : ALL_BITS;
}

#if PHASE == 0
// Counts the digits of the part's images in [low, high].
GROUP_FUNCTION void count_digits(global const ELEMENT* elements, global const uint* list, uint begin, uint end, uint size, uint span_bits,
                                 sortable low, sortable high, local uint* bins, global uint* all_bins, uint item) {
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint d = item; d < DIGITS; d += GROUP) bins[d] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (low != high) {
    const uint shift = digit_shift(low, high);
    uint last = 0, run = 0;
    for (uint i = begin + item; i < end; i += READ * GROUP) {
      sortable x[READ];
#pragma unroll
      for (uint u = 0; u < READ; ++u) x[u] = i + u * GROUP < end ? image_at(elements, list, i + u * GROUP, size, span_bits) : 0;
#pragma unroll
      for (uint u = 0; u < READ; ++u)
        if (i + u * GROUP < end) count_image(bins, x[u], low, high, shift, &last, &run);
    }
    count_rest(bins, last, run);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint d = item; d < DIGITS; d += GROUP)
    if (bins[d] > 0) atomic_add(&all_bins[d], bins[d]);
}
#elif PHASE == 1
// Counts the part's images below `low` and those that are equal to it, into counts[0] and counts[1].
GROUP_FUNCTION void count_results(global const ELEMENT* elements, global const uint* list, uint begin, uint end, uint size,
                                  uint span_bits, sortable low, global uint* counts, local uint* sums, uint item) {
  uint below = 0, equal = 0;
  for (uint i = begin + item; i < end; i += READ * GROUP) {
#pragma unroll
    for (uint u = 0; u < READ; ++u) {
      const int is_there = i + u * GROUP < end;
      const sortable x = is_there ? image_at(elements, list, i + u * GROUP, size, span_bits) : 0;
      below += is_there && x < low;
      equal += is_there && x == low;
    }
  }
  team_sum(&below, sums, item, GROUP);
  team_sum(&equal, sums, item, GROUP);
  if (item == 0) {
    counts[0] = below;
    counts[1] = equal;
  }
}
#else
// Places the part's results: the images below `low`, and as many of its equals as are wanted and the parts before do not have.
GROUP_FUNCTION void place_results(global const ELEMENT* elements, global const uint* all_counts, uint part, uint begin, uint end,
                                  uint size, uint span_bits, sortable low, uint wanted, global uint* list, global KEY* row_values,
                                  global PLACE* row_places, local uint* sums, uint item) {
  (void)row_values, (void)row_places;
  // What the parts before have.
  uint below = 0, equal = 0;
  for (uint p = item; p < part; p += GROUP) {
    below += all_counts[p * 2];
    equal += all_counts[p * 2 + 1];
  }
  team_sum(&below, sums, item, GROUP);
  team_sum(&equal, sums, item, GROUP);
  for (uint tile = begin; tile < end; tile += GROUP * ITEMS) {
    const uint first = tile + item * ITEMS;
    // Of each element: 1 below the image that has the last result, 0x10000 where it is that image.
    uint counts = 0, is[(ITEMS + 15) / 16];
#pragma unroll
    for (uint w = 0; w < (ITEMS + 15) / 16; ++w) is[w] = 0;
#pragma unroll
    for (uint u = 0; u < ITEMS; ++u) {
      if (first + u < end) {
        const sortable x = image_at(elements, list, first + u, size, span_bits);
        const uint what = x < low ? 1 : x == low ? 2 : 0;
        is[u / 16] |= what << u % 16 * 2;
        counts += what == 2 ? 0x10000 : what;
      }
    }
    uint before = counts, total;
    team_scan(&before, &total, sums, item, GROUP);
    uint at_below = below + (before & 0xffff), at_equal = min(equal + (before >> 16), wanted);
    if (counts > 0) {
      for (uint u = 0; u < ITEMS; ++u) {
        const uint what = is[u / 16] >> u % 16 * 2 & 3;
        const int takes = what == 1 || (what == 2 && at_equal < wanted);
#if NTH && !LEVEL
        if (what == 2 && takes && at_equal == wanted - 1) row_values[0] = elements[place_of(list, first + u, span_bits)];
#elif LEVEL
        if (takes) list[at_below + at_equal] = first + u;
#else
        if (takes) {
          const uint place = place_of(list, first + u, span_bits);
          row_values[at_below + at_equal] = elements[place];
          row_places[at_below + at_equal] = (PLACE)place;
        }
#endif
        at_below += takes && what == 1;
        at_equal += takes && what == 2;
      }
    }
    below += total & 0xffff;
    equal += total >> 16;
  }
}
#endif

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void top_k_radix(TOP_K_ARGUMENTS) {
  USE_TOP_K_ARGUMENTS;
  local uint bins[DIGITS], sums[GROUP], left[1];
  local sortable ends[2];
  const uint item = get_local_id(0), group = (uint)get_group_id(0), part = group % parts;
  const ulong row = group / parts;
  // Less than 2^32 by as much as a group reads at once, and more.
  const uint all = LISTED ? k << span_bits : size, begin = part * piece, end = begin + min(piece, all - begin);
#if LEVEL == 0
  global const KEY* elements = in + row_start(row, rows, in_offset, in_pitch, in_stride);
#else
  global const sortable* elements = images + row * padded(size);
#endif
  global uint* list = lists + list_at + row * k;
  global ulong* states = (global ulong*)(lists + to) + ((ulong)turn * all_rows + row) * 3;

  sortable low = 0, high = ALL_BITS;
  uint wanted = k;
#if PHASE == 2
  low = (sortable)states[0];
  wanted = (uint)states[2];
#else
  if (turn > 0) {
    global const ulong* last_state = states - all_rows * 3;
    global const uint* counted = lists + bins_at + ((ulong)(turn - 1) * all_rows + row) * DIGITS;
    low = (sortable)last_state[0];
    high = (sortable)last_state[1];
    wanted = (uint)last_state[2];
    for (uint d = item; d < DIGITS; d += GROUP) bins[d] = counted[d];
    barrier(CLK_LOCAL_MEM_FENCE);
    // One image has no digits: its counts stay those of digit 0, or none, where the pass was left out.
    if (low == high && item == 0) bins[0] = wanted;
    barrier(CLK_LOCAL_MEM_FENCE);
    narrow(&low, &high, &wanted, bins, sums, ends, left, item);
  }
  if (part == 0 && item == 0) {
    states[0] = low;
    states[1] = high;
    states[2] = wanted;
  }
#endif

#if PHASE == 0
  count_digits(elements, list, begin, end, size, span_bits, low, high, bins, lists + bins_at + ((ulong)turn * all_rows + row) * DIGITS,
               item);
#elif PHASE == 1
  count_results(elements, list, begin, end, size, span_bits, low, lists + from + (row * parts + part) * 2, sums, item);
#else
#if LEVEL
  global KEY* row_values = 0;
  global PLACE* row_places = 0;
#elif SORTED && !NTH
  global KEY* row_values = (global KEY*)images + row * k;
  global PLACE* row_places = spare + row * k;
#else
  global KEY* row_values = values + row_start(row, rows, values_offset, values_pitch, values_stride);
  global PLACE* row_places = places + row_start(row, rows, places_offset, places_pitch, places_stride);
#endif
  place_results(elements, lists + from + row * parts * 2, part, begin, end, size, span_bits, low, wanted, list, row_values, row_places, sums,
                item);
#endif
}
