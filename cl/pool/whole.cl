// Pooling of whole planes: PHASE 0: a work-group takes part of a plane's rows, or all, which makes the result; PHASE 1 joins the
// parts of each result.
//
// The order in which numbers are added is fixed by the launch, so the same plan gives the same bits.
//
// Launch: one dimension. PHASE 0: GROUP work-items a group; team t of TEAM of them does jobs t, t + teams, ...: job p * parts + n is part n
// of plane p, of `band` rows. One work-item is a thread of a CPU, which joins RUN numbers at once, in vectors. PHASE 1: a
// work-item for each result, of groups of GROUP.
// Local memory: PHASE 0: GROUP numbers; of one work-item none.
#include "pool/arguments.clh"

#ifndef PHASE
#define PHASE 0
#endif
#ifndef GROUP
#define GROUP 256
#endif
#ifndef TEAM
#define TEAM GROUP  // work-items of a job: a group has one, or several teams
#endif
#ifndef ONE_PART
#define ONE_PART 0  // 1: a part is a plane
#endif

#if TEAM < GROUP
typedef uint cell_count;  // of small planes
#else
typedef ulong cell_count;
#endif
#define RUN 48  // elements: whole vectors, and whole cells of any number of channels

static inline pool_sum join(pool_sum a, pool_sum b) {
#if AVERAGE
  return a + b;
#else
  return is_greater(b, a) ? b : a;
#endif
}

// plane_place(), without divisions, which take longer than a small plane, where each grid is one.
static inline ulong plane_of(ulong p, ulong depth, ulong offset, ulong stride, ulong plane) {
  return depth == 1 ? offset + p * stride : plane_place(p, depth, offset, stride, plane);
}

#if PHASE == 1 || ONE_PART
static inline void store_whole(global RESULT* out, ulong i, pool_sum all, ulong cells) {
#if AVERAGE
  store_pool_mean(out, i, all, cells);
#else
  (void)cells;
  store_pixel(out, i, all);
#endif
}
#endif

#if PHASE == 0 && GROUP == 1
#if INTEGER
#define NUMBER int
#else
#define NUMBER VALUE
#endif
DEFINE_LOAD_RUN(load_numbers, private, NUMBER)

// Joins `height` rows of `width` cells; own[c] is channel c's result. Not inlined: PoCL copies a kernel's body three times, and
// vectorises each.
__attribute__((noinline)) void join_rows(pool_sum own[CHANNELS], global const ELEMENT* rows, ulong pitch, ulong width, ulong height) {
  pool_sum lanes[RUN];
  for (uint k = 0; k < RUN; ++k) lanes[k] = AVERAGE ? 0 : (pool_sum)load_value(rows, k % CHANNELS);
  const ulong elements = width * CHANNELS;
  for (ulong row = 0; row < height; ++row) {
    global const ELEMENT* from = rows + row * pitch;
    NUMBER x[RUN];
    ulong i = 0;
    for (; i + RUN <= elements; i += RUN) {
      load_numbers(x, from, i, RUN);
      for (uint k = 0; k < RUN; ++k) lanes[k] = join(lanes[k], (pool_sum)x[k]);
    }
    load_numbers(x, from, i, (uint)(elements - i));
    for (uint k = 0; k < (uint)(elements - i); ++k) lanes[k] = join(lanes[k], (pool_sum)x[k]);
  }
  for (uint c = 0; c < CHANNELS; ++c) {
    own[c] = lanes[c];
    for (uint k = c + CHANNELS; k < RUN; k += CHANNELS) own[c] = join(own[c], lanes[k]);
  }
}
#endif

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void pool_whole(POOL_ARGUMENTS) {
  (void)indices, (void)index_offset, (void)index_pitch, (void)index_plane, (void)index_stride, (void)out_w, (void)out_h;
  (void)window_w, (void)window_h, (void)stride_w, (void)stride_h, (void)pad_left, (void)pad_top;
  const ulong parts = (in_h + band - 1) / band;
#if PHASE == 0
  (void)out, (void)out_offset, (void)out_pitch, (void)out_plane, (void)out_stride, (void)scratch;
#if GROUP == 1
  for (ulong job = get_group_id(0); job < planes * parts; job += get_num_groups(0)) {
    const ulong p = job / parts, first = job % parts * band;
    pool_sum own[CHANNELS];
    join_rows(own, in + plane_place(p, depth, in_offset, in_stride, in_plane) + first * in_pitch, in_pitch, in_w, min((ulong)band, in_h - first));
    for (uint c = 0; c < CHANNELS; ++c) {
#if ONE_PART
      store_whole(out + plane_place(p, depth, out_offset, out_stride, out_plane), c, own[c], in_w * in_h);
#else
      scratch[job * CHANNELS + c] = own[c];
#endif
    }
  }
#else
  local pool_sum shared[GROUP];
  const uint item = get_local_id(0), lane = item % TEAM;
  local pool_sum* team = shared + (item - lane);
  // Each work-item stays with one channel: some have nothing to do.
  const uint step = TEAM >= CHANNELS ? TEAM / CHANNELS * CHANNELS : TEAM;
  const uint teams = GROUP / TEAM;
  const ulong jobs = planes * parts;
  for (ulong begin = get_group_id(0) * teams; begin < jobs; begin += get_num_groups(0) * teams) {
    const ulong mine = begin + item / TEAM, job = min(mine, jobs - 1);  // a team without one does the last one again
    const ulong p = ONE_PART ? job : job / parts, first = ONE_PART ? 0 : job % parts * band;
    global const ELEMENT* from = in + plane_of(p, depth, in_offset, in_stride, in_plane);
    for (uint c = 0; c < (TEAM >= CHANNELS ? 1 : CHANNELS); ++c) {  // fewer work-items than channels: one after the other
      const ulong width = in_w * CHANNELS;
      const uint stride = TEAM >= CHANNELS ? step : CHANNELS * TEAM, start = TEAM >= CHANNELS ? lane : c + lane * CHANNELS;
      pool_sum own = AVERAGE ? 0 : (pool_sum)load_value(from + first * in_pitch, TEAM >= CHANNELS ? lane % CHANNELS : c);
      if (lane < step) {
        for (ulong row = first; row < min(first + band, in_h); ++row) {
          for (cell_count i = start; i < (cell_count)width; i += stride) own = join(own, (pool_sum)load_value(from + row * in_pitch, i));
        }
      }
      team[lane] = own;
      barrier(CLK_LOCAL_MEM_FENCE);
      // The second half of what is left joins the first, until each result is one.
      const uint results = TEAM >= CHANNELS ? CHANNELS : 1;
      for (uint left = (TEAM >= CHANNELS ? step : TEAM) / results; left > 1;) {
        const uint kept = (left + 1) / 2;
        if (lane < (left - kept) * results) team[lane] = join(team[lane], team[lane + kept * results]);
        barrier(CLK_LOCAL_MEM_FENCE);
        left = kept;
      }
      if (lane < results && mine == job) {
#if ONE_PART
        store_whole(out + plane_of(p, depth, out_offset, out_stride, out_plane), c + lane, team[lane], in_w * in_h);
#else
        scratch[job * CHANNELS + c + lane] = team[lane];
#endif
      }
      barrier(CLK_LOCAL_MEM_FENCE);  // the next part takes its place
    }
  }
#endif
#else
  (void)in, (void)in_offset, (void)in_pitch, (void)in_plane, (void)in_stride;
  const ulong result = get_global_id(0);
  if (result >= planes * CHANNELS) return;  // no barrier follows
  const ulong p = result / CHANNELS, c = result % CHANNELS;
  pool_sum all = scratch[p * parts * CHANNELS + c];
  for (ulong n = 1; n < parts; ++n) all = join(all, scratch[(p * parts + n) * CHANNELS + c]);
  store_whole(out + plane_place(p, depth, out_offset, out_stride, out_plane), c, all, in_w * in_h);
#endif
}
