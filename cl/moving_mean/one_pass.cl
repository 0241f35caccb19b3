// Moving means of windows that are longer than a tile, in a single pass: a row is divided into chunks of TILE elements, and a group has the
// windows that end in one chunk.
//
// Window i of a group ends before element i of the chunk. Its sum has three parts: a suffix sum of the TILE elements where the group's
// windows begin, what all windows of the group share, and a prefix sum of i elements of the chunk. The shared part is of some elements up
// to a chunk's end, which are read, and then of whole chunks, whose sums their own groups publish. Nothing is subtracted, so rounding
// errors do not accumulate. Where windows begin, elements are read a second time, mostly from the cache.
//
// A group publishes the sum of its chunk as soon as it has it, and then waits for those before it: no sum needs another one, so there is
// no chain. All chunks before it have been taken: groups start in their order (ORDERED_START), or take chunks by a counter. After
// POLL_LIMIT polls a group waits no longer: it computes the sum of a missing chunk itself, by the same operations in the same order, and
// publishes it. So the results have the same bits whichever groups fell back.
//
// Launch: one dimension, a group for each chunk of each row, and for those behind the row in which windows end. The window is at least
// TILE elements. Local memory: see moving_mean/chunk.clh, and two words. Scratch, zero before the launch: 8 bytes for the counter, and 8
// for each chunk of the rows: a sum of 4 bytes, and above it whether it is published.
#include "moving_mean/chunk.clh"
#include "common/hand_over.clh"

#ifndef ORDERED_START
#define ORDERED_START 0  // 1: work-groups start in the order of their numbers
#endif
#ifndef POLL_LIMIT
#define POLL_LIMIT 1024  // polls before a group computes a missing sum
#endif
#define NONE 0xffffffffu
#define PUBLISHED 0x100000000ul

#if INTEGER
static inline uint bits_of(SUM sum) { return sum; }
static inline SUM sum_of(uint bits) { return bits; }
#else
static inline uint bits_of(SUM sum) { return as_uint(sum); }
static inline SUM sum_of(uint bits) { return as_float(bits); }
#endif

// Computes the sum of the chunk that begins at `first` as its own group does, and publishes it.
COLD_FUNCTION void publish_other(volatile global ulong* word, global const ELEMENT* from, long first, ulong width, local SUM* tile,
                                 local SUM* sums, local pair* pairs, uint item) {
  SUM values[ITEMS], more[ITEMS];
  load_tile(more, from, first, width, item);
  to_neighbours(more, tile, item);
#pragma unroll
  for (uint k = 0; k < ITEMS; ++k) values[k] = 0;
  const SUM all = scan_chunks(values, more, sums, pairs, item);
  if (item == 0) *word = PUBLISHED | bits_of(all);
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void moving_mean_one_pass(MOVING_MEAN_ARGUMENTS) {
  local SUM tile[PLACES], sums[GROUP];
  local pair pairs[GROUP];
  local uint taken[1], missing[1];
  (void)rows;
  const uint item = get_local_id(0);
  volatile global ulong* words = (volatile global ulong*)scratch;
#if ORDERED_START
  (void)taken;
  const uint job = get_group_id(0);
#else
  if (item == 0) taken[0] = atomic_inc((global uint*)scratch);
  barrier(CLK_LOCAL_MEM_FENCE);
  const uint job = taken[0];
#endif
  const ulong after = window - window / 2;  // from a result to the end of its window
  const uint chunks = (uint)((width + TILE - 1) / TILE), jobs = (uint)((width - 1 + after) / TILE + 1);  // of a row; width >= 1
  const uint r = job / jobs, chunk = job - r * jobs;
  volatile global ulong* own = words + 1 + (ulong)r * chunks;
  global const ELEMENT* from = in + row_offset(first_row + r, height, depth, in_offset, in_pitch, in_plane, in_stride);
  global RESULT* to = out + row_offset(first_row + r, height, depth, out_offset, out_pitch, out_plane, out_stride);
  const long end = (long)chunk * TILE, begin = end - (long)window;  // of the first window, in the row

  SUM values[ITEMS], more[ITEMS];
  load_tile(more, from, end, width, item);
  load_tile(values, from, begin, width, item);
  // The elements that all windows share, up to the first chunk that they share.
  const long shared_begin = max(begin + TILE, 0L);
  const uint first_chunk = (uint)((shared_begin + TILE - 1) / TILE), end_chunk = min(chunk, chunks);
  SUM shared = 0;
  for (long at = shared_begin + (long)item; at < min((long)min(first_chunk, chunk) * TILE, (long)width); at += GROUP)
    shared += (SUM)load_value(from, at);
  to_neighbours(more, tile, item);
  to_neighbours(values, tile, item);
  const SUM all = scan_chunks(values, more, sums, pairs, item);
  if (item == 0 && chunk < chunks) own[chunk] = PUBLISHED | bits_of(all);

  uint c = first_chunk + item;
  for (;;) {
    uint lost = NONE;
    for (; c < end_chunk && lost == NONE; c += lost == NONE ? GROUP : 0) {
      ulong word = own[c];
      for (uint polls = 0; word < PUBLISHED && polls < POLL_LIMIT; ++polls) word = own[c];
      if (word < PUBLISHED)
        lost = c;
      else
        shared += sum_of((uint)word);
    }
    if (item == 0) missing[0] = NONE;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lost != NONE) atomic_min(missing, lost);
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint other = missing[0];  // uniform in the group
    barrier(CLK_LOCAL_MEM_FENCE);
    if (other == NONE) break;
    publish_other(own + other, from, (long)other * TILE, width, tile, sums, pairs, item);
  }
  team_sum(&shared, sums, item, GROUP);
  const bool is_full = whole || (begin >= 0 && end + TILE - 1 <= (long)width);
  store_chunk(to, end - (long)after, width, window, whole, is_full, values, more, shared, tile, item);
}
