// Moving means of windows that are longer than a tile, in a single pass: a row is divided into chunks of TILE elements, and a group has the
// windows that end in one chunk.
//
// Window i of a group ends before element i of the chunk. Its sum has three parts: a suffix sum of the TILE elements where the group's
// windows begin, what all windows of the group share, and a prefix sum of i elements of the chunk. The shared part is the end of one
// chunk, as long for all groups, and then whole chunks; the sums of both are published by the chunks' own groups. Nothing is subtracted,
// so rounding errors do not accumulate. Where windows begin, elements are read a second time, mostly from the cache.
//
// A group publishes the sums of its chunk as soon as it has them, and then waits for those before it: no sum needs another one, so there is
// no chain. All chunks before it have been taken: groups start in their order (ORDERED_START), or take chunks by a counter. After
// POLL_LIMIT polls a group waits no longer: it computes the sums of a missing chunk itself, by the same operations in the same order, and
// publishes it. So the results have the same bits whichever groups fell back.
//
// Launch: one dimension, a group for each chunk of each row, and for those behind the row in which windows end. The window is at least
// TILE elements. Local memory: see moving_mean/one_pass.clh, and two words. Scratch, zero before the launch: 8 bytes for the counter, and 16
// for each chunk of the rows, of its end and of the whole: a sum of 4 bytes, and above it whether it is published.
#include "moving_mean/one_pass.clh"
#include "common/hand_over.clh"

#ifndef ORDERED_START
#define ORDERED_START 0  // 1: work-groups start in the order of their numbers
#endif
#ifndef POLL_LIMIT
#define POLL_LIMIT 1024  // polls before a group computes a missing sum
#endif
#include "common/group_size.clh"
#define NONE 0xffffffffu
#define PUBLISHED 0x100000000ul

#if INTEGER
static inline uint bits_of(SUM sum) { return sum; }
static inline SUM sum_with(ulong word) { return (uint)word; }
#else
static inline uint bits_of(SUM sum) { return as_uint(sum); }
static inline SUM sum_with(ulong word) { return as_float((uint)word); }
#endif

// Computes the sums of the chunk that begins at `first` as its own group does, and publishes them. The tile has the group's own sums:
// each work-item reads its elements from global memory, which is slow, and rare.
COLD_FUNCTION void publish_other(volatile global ulong* words, global const ELEMENT* from, long first, ulong width, uint cut,
                                 local SUM* sums, uint item) {
  SUM more[ITEMS], before;
#pragma unroll
  for (uint k = 0; k < ITEMS; ++k) {
    const long at = first + (long)(item * ITEMS + k);
    more[k] = at >= 0 && at < (long)width ? (SUM)load_value(from, at) : 0;
  }
  SUM end = end_of(more, cut, item);
  const SUM all = scan_prefixes(more, &before, &end, sums, item);
  if (item == 0) {
    words[0] = PUBLISHED | bits_of(end);
    words[1] = PUBLISHED | bits_of(all);
  }
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
}

kernel GROUP_SIZE
void moving_mean_one_pass(MOVING_MEAN_ARGUMENTS) {
  local SUM tile[TILES * PLACES], sums[COMBINED * GROUP], shares[GROUP];
  local uint taken[1], missing[1];
  (void)rows;
  const uint item = get_local_id(0);
  volatile global ulong* words = (volatile global ulong*)scratch;
  if (item == 0) missing[0] = NONE;
#if ORDERED_START
  (void)taken;
  const uint job = get_group_id(0);
#else
  if (item == 0) taken[0] = atomic_inc((global uint*)scratch);
  barrier(CLK_LOCAL_MEM_FENCE);
  const uint job = taken[0];
#endif
  const ulong after = window - window / 2;  // from a result to the end of its window
  const uint chunks = (uint)((width + ALIGN + TILE - 2) / TILE), jobs = (uint)((width + ALIGN - 2 + after) / TILE + 1);  // of a row; width >= 1
  const uint r = job / jobs, chunk = job - r * jobs;
  volatile global ulong* own = words + 1 + (ulong)r * chunks * 2;
  global const ELEMENT* from = in + row_offset(first_row + r, height, depth, in_offset, in_pitch, in_plane, in_stride);
  global RESULT* to = out + row_offset(first_row + r, height, depth, out_offset, out_pitch, out_plane, out_stride);
  const uint shift = shift_of(to, after);
  const long end = (long)chunk * TILE - shift, begin = end - (long)window;  // of the first window, in the row
  const uint cut = TILE - (uint)(window % TILE);

  SUM values[ITEMS], more[ITEMS], before;
#if COPY_ASYNC
  copy_tile(tile, from, end, width, item);
  end_copies();
  copy_tile(tile + PLACES, from, begin, width, item);
  end_copies();
  WAIT_COPIES(1);
  barrier(CLK_LOCAL_MEM_FENCE);
  own_elements(more, tile, item);
#else
  load_tile(more, from, end, width, item);
  load_tile(values, from, begin, width, item);
  exchange(more, tile, item);
#endif
  SUM tail = end_of(more, cut, item);
  const SUM all = scan_prefixes(more, &before, &tail, sums, item);
  if (item == 0 && chunk < chunks) {
    own[2 * chunk] = PUBLISHED | bits_of(tail);
    own[2 * chunk + 1] = PUBLISHED | bits_of(all);
  }
#if COPY_ASYNC
  WAIT_COPIES(0);
  barrier(CLK_LOCAL_MEM_FENCE);
  own_elements(values, tile + PLACES, item);
#else
  exchange(values, tile, item);
#endif
  scan_suffixes(values, sums, item);
#if COPY_ASYNC
  own_elements(more, tile, item);  // so that they need no registers meanwhile
#endif
  add_prefixes(values, more, before);
  local SUM* const own_sums = tile + (TILES - 1) * PLACES;
  put_sums(values, own_sums, item);  // so that none is in a register while the group waits

  // The end of the chunk in which the first window begins, or of the next one; then whole chunks.
  const int cut_chunk = (int)chunk - (int)(window / TILE), end_chunk = (int)min(chunk, chunks);
  int c = cut_chunk + (int)item;
  SUM shared = 0;
  for (;;) {
    uint lost = NONE;
    for (; c < end_chunk && lost == NONE; c += lost == NONE ? GROUP : 0) {
      if (c < 0 || (c == cut_chunk && cut == TILE)) continue;
      const uint at = 2 * (uint)c + (c != cut_chunk);
      ulong word = own[at];
      for (uint polls = 0; word < PUBLISHED && polls < POLL_LIMIT; ++polls) word = own[at];
      if (word < PUBLISHED)
        lost = (uint)c;
      else
        shared += sum_with(word);
    }
    if (lost != NONE) atomic_min(missing, lost);
    SUM sum = shared;
    team_sum(&sum, shares, item, GROUP);
#if GROUP <= 32
    barrier(CLK_LOCAL_MEM_FENCE);  // which a warp's sum does without
#endif
    const uint other = missing[0];  // uniform in the group
    if (other == NONE) {
      shared = sum;
      break;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item == 0) missing[0] = NONE;
    publish_other(own + 2 * other, from, (long)other * TILE - shift, width, cut, sums, item);
  }
  const bool is_full = whole || (begin >= 0 && end + TILE - 1 <= (long)width);
  store_means(to, end - (long)after, width, window, whole, is_full, shared, own_sums, item);
}
