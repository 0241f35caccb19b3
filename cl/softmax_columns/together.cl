// Softmax of long columns, which are read once: `parts` groups have a block of WIDTH columns in their local memories together. Each publishes the
// statistics of its part, merges those of all parts in their order, and writes its results.
//
// A group waits for others of the launch, but not for ever: a part that is not published after POLL_LIMIT polls it reads itself. In place that
// part's group may write meanwhile; then it has published before, which a last poll shows.
//
// Launch: one dimension, GROUP work-items a group, a group a part of a block; a grid-stride loop over them. Local memory: TILE_ROWS * WIDTH
// ELEMENTs, GROUP statistics, and MOST_PARTS words. Global memory: `statuses`, a word that is 0 for each part of each block; `partials`, WIDTH
// statistics for each.
#include "softmax/operation.clh"
#include "common/columns.clh"
#include "common/hand_over.clh"

#ifndef TILE_ROWS
#define TILE_ROWS 512  // of a part, at most
#endif
#ifndef UNROLL
#define UNROLL 8  // elements of a work-item whose largest one is found first; of twice as many loads are under way at once
#endif
#ifndef MOST_PARTS
#define MOST_PARTS 64
#endif
#ifndef POLL_LIMIT
#define POLL_LIMIT 1024  // polls of a part; 0: none before the group has read that part
#endif

#ifndef COPY_ASYNC
#define COPY_ASYNC 0  // 1: elements of 4 bytes, by NVIDIA's cp.async
#endif
#if DEVICE_FENCE == 2
#include "nvidia/copy_async.clh"
#define NEXT_LINE(at, pitch) ((global const raw_element*)running_pointer((at) + LINES * (pitch)))
#else
#define NEXT_LINE(at, pitch) ((at) + LINES * (pitch))
#endif

// Elements as they are in memory.
#if ELEMENT_HALF || ELEMENT_BFLOAT16
typedef ushort raw_element;
#else
typedef ELEMENT raw_element;
#endif
static inline VALUE value_of(raw_element raw) {
#if ELEMENT_HALF
  return vload_half(0, (const half*)&raw);
#elif ELEMENT_BFLOAT16
  return as_float((uint)raw << 16);
#else
  return raw;
#endif
}

DEFINE_COLUMN_REDUCE(column_merge, statistics, merge)
DEFINE_READ_HANDED(read_statistics, statistics)

// Keeps rows [begin, end) of the group's columns, of which the work-item has every LINES-th from row begin + y on.
static inline void keep_part(local raw_element* kept, global const ELEMENT* in, ulong from, ulong pitch, int begin, int end, int y) {
  global const raw_element* at = (global const raw_element*)in + from + (begin + y) * pitch;
#if COPY_ASYNC
  for (int r = begin + y; r < end; r += LINES) {
    copy_whole_4(local_address(kept + (r - begin) * WIDTH), at);
    at += LINES * pitch;
  }
  end_copies();
  WAIT_COPIES(0);
#else
  for (int first = begin + y; first < end; first += 2 * UNROLL * LINES) {
    raw_element raw[2 * UNROLL];
#pragma unroll
    for (int u = 0; u < 2 * UNROLL; ++u) {
      raw[u] = first + u * LINES < end ? *at : (raw_element)0;
      at = NEXT_LINE(at, pitch);
    }
#pragma unroll
    for (int u = 0; u < 2 * UNROLL; ++u)
      if (first + u * LINES < end) kept[(first + u * LINES - begin) * WIDTH] = raw[u];
  }
#endif
}

// Their statistics: of rows that are kept, or else are read.
GROUP_FUNCTION void count_part(statistics* all, local const raw_element* kept, bool is_kept, local statistics* scratch, global const ELEMENT* in, ulong from,
                               ulong pitch, int begin, int end, int y, uint item) {
  statistics mine = NO_STATISTICS;
  for (int first = begin + y; first < end; first += UNROLL * LINES) {
    VALUE largest = mine.x, sum = 0, v[UNROLL];
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) {
      const int r = first + u * LINES;
      v[u] = LEAST;
      if (r < end) v[u] = value_of(is_kept ? kept[(r - begin) * WIDTH] : ((global const raw_element*)in)[from + r * pitch]);
      largest = fmax(largest, v[u]);
    }
    const VALUE moved = shift_of(largest);
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) sum += exp(v[u] - moved);
    mine = (statistics)(largest, mine.y * exp(mine.x - moved) + sum);
  }
  column_merge(&mine, scratch, item);
  *all = mine;
}

// Whether the part has been published, after at most `polls` looks.
static inline uint is_published(volatile global uint* status, uint polls) {
  while (polls > 0 && *status == 0) --polls;
  return polls > 0;
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void softmax_columns_together(COLUMN_ARGUMENTS, uint masked, ulong parts, volatile global uint* statuses, global statistics* partials) {
  local raw_element kept[TILE_ROWS * WIDTH];
  local statistics scratch[GROUP];
  local uint is_late[MOST_PARTS];
  const uint item = get_local_id(0);
  local raw_element* const my_kept = kept + item % WIDTH;
  const int y = item / WIDTH, share = (int)((rows + parts - 1) / parts);
  for (ulong job = get_group_id(0); job < BLOCKS * batch * parts; job += get_num_groups(0)) {
    const ulong block = job / parts, first_job = block * parts, matrix = block / BLOCKS;
    const int part = (int)(job - first_job);
    const ulong col = (block - matrix * BLOCKS) * WIDTH + item % WIDTH;
    const ulong from = in_offset + matrix * in_stride + col;
    const int count = col < cols ? rows : 0;  // work-items without a column reach the barriers too
    const int begin = min(part * share, count), end = min(begin + share, count);
    keep_part(my_kept, in, from, in_pitch, begin, end, y);
    // Its own part, and then those that are late: one loop for both, so that the compiler makes the same bits of them.
    for (int n = -1; n < (int)parts; ++n) {
      if (n >= 0 && !is_late[n]) continue;  // uniform in the group
      const int p = n < 0 ? part : n, begin_p = min(p * share, count), end_p = min(begin_p + share, count);
      statistics found;
      count_part(&found, my_kept, n < 0, scratch, in, from, in_pitch, begin_p, end_p, y, item);
      take_over();
      if (n >= 0 && item == 0) is_late[n] = !is_published(statuses + first_job + n, 1);
      barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
      // What its own group has not published yet has the same bits.
      if (y == 0 && (n < 0 || is_late[n])) partials[(first_job + p) * WIDTH + item % WIDTH] = found;
      device_fence();
      barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
      if (n < 0) {
        if (item == 0) statuses[job] = 1;
        for (uint i = item; i < parts; i += GROUP) is_late[i] = i != (uint)part && !is_published(statuses + first_job + i, POLL_LIMIT);
      }
      take_over();
      barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    }

    statistics all = NO_STATISTICS;
    for (ulong p = y; p < parts; p += LINES) all = merge(all, read_statistics(partials + (first_job + p) * WIDTH + item % WIDTH));
    column_merge(&all, scratch, item);
    const VALUE moved = shift_of(all.x), finish = finish_of(moved, all.y, masked);
    const ulong to = out_offset + matrix * out_stride + col;
#if OPERATION == OP_LOGSUMEXP
    (void)out_pitch;
    if (y == 0 && part == 0 && col < cols) store_result(out, to, finish);
#else
    for (int r = begin + y; r < end; r += LINES) {
      const VALUE v = value_of(my_kept[(r - begin) * WIDTH]);
      store_result(out, to + r * out_pitch, RESULTS_OF(VALUE, v - moved, finish));
    }
#endif
  }
}
