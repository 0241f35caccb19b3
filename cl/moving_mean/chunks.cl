// Moving means of windows that are longer than a tile, in two reads of the input: a row is divided into chunks of TILE elements, and
// these into units of GROUP elements. The first launch sums units and chunks.
//
// In the second launch a group has the windows that begin in one chunk. Window i is the end of the chunk from its element i on, then
// what all windows of the group share, whole chunks, units and elements up to the end of the first window, and then i more elements. So
// each sum has three parts: a suffix sum of the chunk, the shared sum, and a prefix sum of as many elements after the first window.
// Nothing is subtracted, so rounding errors do not accumulate. M. van Herk, "A fast algorithm for local minimum and maximum filters on
// rectangular and octagonal kernels", Pattern Recognition Letters 13, 1992, has blocks as long as the window instead.
//
// Launch: two dimensions: chunks, rows; grid-stride loops over both. The window is at least TILE elements. Local memory: TILE sums, one
// more for every BANKS of them, and 3 * GROUP. Scratch: for each row the sums of its units, then of its chunks.
#include "common/work_group.clh"
#include "moving_mean/arguments.clh"

#ifndef PHASE
#define PHASE 1  // 0: sums, 1: means
#endif
#ifndef GROUP
#define GROUP 256  // work-items: a power of two
#endif
#ifndef ITEMS
#define ITEMS 16  // elements of a work-item: a power of two
#endif
#ifndef BANKS
#define BANKS 32  // of local memory: a multiple of ITEMS
#endif
#ifndef SHUFFLES
#define SHUFFLES 0  // 1: NVIDIA's shuffles; GROUP is a multiple of 32
#endif
#define TILE (GROUP * ITEMS)
#define PLACES (TILE + TILE / BANKS)

static inline SUM add(SUM a, SUM b) { return a + b; }
#if PHASE == 1
typedef JOIN(SUM, 2) pair;
static inline pair add_pairs(pair a, pair b) { return a + b; }
static inline pair no_pair(void) { return (pair)(0, 0); }
#endif
#if SHUFFLES
#include "nvidia/shuffle.clh"
DEFINE_TEAM_SHUFFLE_ALL(team_sum, SUM, add)
#if PHASE == 1
DEFINE_TEAM_SCAN_SHUFFLE(scan_pairs, pair, add_pairs, no_pair)
#endif
#else
DEFINE_TEAM_REDUCE(team_sum, SUM, add)
#if PHASE == 1
DEFINE_TEAM_SCAN(scan_pairs, pair, add_pairs, no_pair)
#endif
#endif

static inline uint place_of(uint i) { return i + i / BANKS; }

// Loads element `item` of each GROUP elements from `first` on; 0 where they are not in the row.
static inline void load_tile(SUM values[ITEMS], global const ELEMENT* from, long first, ulong width, uint item) {
  const bool is_inside = first >= 0 && (ulong)first + TILE <= width;  // uniform in the group
  global const ELEMENT* source = from + (first + (long)item);
  if (is_inside) {
#pragma unroll
    for (int k = 0; k < ITEMS; ++k) values[k] = (SUM)load_value(source, k * GROUP);
  } else {
#pragma unroll
    for (int k = 0; k < ITEMS; ++k) {
      const long at = first + (long)item + k * GROUP;
      values[k] = at >= 0 && at < (long)width ? (SUM)load_value(source, k * GROUP) : 0;
    }
  }
}

// Exchanges elements GROUP apart for ITEMS neighbouring ones, through the tile.
GROUP_FUNCTION void to_neighbours(SUM values[ITEMS], local SUM* tile, uint item) {
#pragma unroll
  for (uint k = 0; k < ITEMS; ++k) tile[place_of(item + k * GROUP)] = values[k];
  barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
  for (uint k = 0; k < ITEMS; ++k) values[k] = tile[place_of(item * ITEMS) + k];
  barrier(CLK_LOCAL_MEM_FENCE);
}

#if PHASE == 1
// The sum of elements [begin, end) of a row, of which units before `begin` and after `end` do not count. This work-item's share.
static inline SUM share_of(global const ELEMENT* from, global const SUM* units, global const SUM* chunks, ulong begin, ulong end,
                           uint item) {
  const ulong last_chunk = end / TILE, last_unit = end / GROUP;
  SUM sum = 0;
  for (ulong c = begin / TILE + item; c < last_chunk; c += GROUP) sum += chunks[c];
  for (ulong u = max(last_chunk * ITEMS, begin / GROUP) + item; u < last_unit; u += GROUP) sum += units[u];
  const ulong at = max(last_unit * GROUP, begin) + item;
  if (at < end) sum += (SUM)load_value(from, at);
  return sum;
}
#endif

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void moving_mean_chunks(MOVING_MEAN_ARGUMENTS) {
  local SUM tile[PLACES], sums[GROUP];
#if PHASE == 1
  local pair pairs[GROUP];
#endif
  const uint item = get_local_id(0);
  const ulong tiles = (width + TILE - 1) / TILE, row_sums = tiles * (ITEMS + 1);
  for (ulong r = get_group_id(1); r < rows; r += get_num_groups(1)) {
    global const ELEMENT* from = in + row_offset(first_row + r, height, depth, in_offset, in_pitch, in_plane, in_stride);
    global SUM *units = scratch + r * row_sums, *chunks = units + tiles * ITEMS;
#if PHASE == 0
    (void)out, (void)out_offset, (void)out_pitch, (void)out_plane, (void)out_stride, (void)whole, (void)window;
    for (ulong chunk = get_group_id(0); chunk < tiles; chunk += get_num_groups(0)) {
      SUM values[ITEMS];
      load_tile(values, from, (long)(chunk * TILE), width, item);
      to_neighbours(values, tile, item);
      SUM sum = values[0];
#pragma unroll
      for (uint k = 1; k < ITEMS; ++k) sum += values[k];
      // GROUP / ITEMS neighbouring work-items have a unit.
      team_sum(&sum, sums, item, GROUP / ITEMS);
      if (item % (GROUP / ITEMS) == 0) units[chunk * ITEMS + item / (GROUP / ITEMS)] = sum;
      SUM all = item % (GROUP / ITEMS) == 0 ? sum : 0;
      team_sum(&all, sums, item, GROUP);
      if (item == 0) chunks[chunk] = all;
    }
#else
    global RESULT* to = out + row_offset(first_row + r, height, depth, out_offset, out_pitch, out_plane, out_stride);
    const long before = (long)(window / 2);
    // The chunk of the first window begins before the row.
    const long first_chunk = -((before + TILE - 1) / TILE);
    const ulong jobs = (ulong)(((long)width - 1 - before + TILE) / TILE - first_chunk);  // width >= 1
    for (ulong job = get_group_id(0); job < jobs; job += get_num_groups(0)) {
      const long begin = (first_chunk + (long)job) * TILE;  // of the chunk, in the row
      const long end = begin + (long)window;                // of the first window
      SUM values[ITEMS], more[ITEMS];
      load_tile(values, from, begin, width, item);
      load_tile(more, from, end, width, item);
      SUM shared = share_of(from, units, chunks, (ulong)clamp(begin + TILE, 0L, (long)width), (ulong)clamp(end, 0L, (long)width), item);
      to_neighbours(values, tile, item);
      to_neighbours(more, tile, item);
      team_sum(&shared, sums, item, GROUP);
      // Suffix sums of the chunk: scans run from the last work-item to the first.
#pragma unroll
      for (int k = ITEMS - 1; k > 0; --k) values[k - 1] += values[k];
      SUM sum = 0;
#pragma unroll
      for (int k = 0; k < ITEMS; ++k) {  // exclusive prefix sums
        const SUM one = more[k];
        more[k] = sum;
        sum += one;
      }
      // What work-items before this one have more, and what those after it have of the chunk: the other scan runs backwards, beside it.
      sums[GROUP - 1 - item] = values[0];
      barrier(CLK_LOCAL_MEM_FENCE);
      pair beside = (pair)(sum, sums[item]), total;
      scan_pairs(&beside, &total, pairs, item, GROUP);
      sums[GROUP - 1 - item] = beside.y;
      barrier(CLK_LOCAL_MEM_FENCE);
      const SUM after = sums[item];
      sum = beside.x;
#pragma unroll
      for (int k = 0; k < ITEMS; ++k) tile[place_of(item * ITEMS) + k] = (values[k] + after) + (shared + (sum + more[k]));
      barrier(CLK_LOCAL_MEM_FENCE);

      const long first = begin + before;  // result
      const bool is_full = whole || (begin >= 0 && end + TILE - 1 <= (long)width);  // uniform in the group
      const int divides = is_full && window < (1 << 24);
      if (sizeof(SUM) == sizeof(quotient) ? divides : 0) {
        const mean_divisor divisor = divisor_of(window);
#pragma unroll
        for (int k = 0; k < ITEMS; ++k) {
          const long x = first + (long)item + k * GROUP;
          if (x >= 0 && x < (long)width) store_mean_of(to, x, tile[place_of(item + k * GROUP)], divisor);
        }
      } else {
#pragma unroll 1
        for (int k = 0; k < ITEMS; ++k) {
          const long x = first + (long)item + k * GROUP;
          if (x >= 0 && x < (long)width)
            store_mean(to, x, tile[place_of(item + k * GROUP)], mean_count(x, width, window, whole));
        }
      }
      barrier(CLK_LOCAL_MEM_FENCE);  // before the next tile is stored
    }
#endif
  }
}
