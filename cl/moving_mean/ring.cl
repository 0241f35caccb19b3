// Moving means of windows that are longer than a chunk and fit local memory: a group goes along a strip of a row, and keeps the elements of
// a window in a ring, so that each element is read once.
//
// A row is divided into chunks. In a step, each team of a group has the windows that end in one chunk. A sum has three parts: a suffix sum
// of CHUNK elements where the windows begin, what all windows of the team share, and a prefix sum of the chunk. The shared part is the end
// of one chunk, and then whole chunks, whose sums are kept beside the elements. Nothing is subtracted, so rounding errors do not
// accumulate. The results take the place of the chunk where the windows began, which no later window needs, and are stored from there in
// whole lines. Before the first step with results, a group reads the chunks of its first windows, in WARM steps.
//
// Launch: two dimensions, strips and rows; rows in a grid-stride loop. The window is at least CHUNK elements; WARM steps have at least
// window / CHUNK + 1 chunks. Local memory: WARM + 1 + AHEAD steps of GROUP / TEAM chunks of PLACES sums, two sums for each chunk; without
// SHUFFLES 2 * GROUP sums.
#include "moving_mean/ring.clh"

#ifndef AHEAD
#define AHEAD 1  // steps whose chunks are read ahead of time
#endif
#ifndef WARM
#define WARM 1
#endif
#define CHUNKS (GROUP / TEAM)  // of a step
#define STEPS (WARM + 1 + AHEAD)
#define RING (STEPS * CHUNKS)

// The sum of this work-item's elements from element `cut` of the chunk on. Only one work-item's elements lie on both sides.
static inline SUM end_of(const SUM more[ITEMS], SUM sum, uint cut, uint lane) {
  const uint first = lane * ITEMS;
  if (first >= cut) return sum;
  SUM end = 0;
  if (first + ITEMS > cut) {
#pragma unroll
    for (uint k = 0; k < ITEMS; ++k) end += first + k >= cut ? more[k] : 0;
  }
  return end;
}

kernel GROUP_SIZE
void moving_mean_ring(MOVING_MEAN_ARGUMENTS) {
  local SUM ring[RING * PLACES] __attribute__((aligned(16))), ends[RING], wholes[RING], shares[SHUFFLES ? 1 : 2 * GROUP];
  (void)scratch;
  const uint item = get_local_id(0), lane = item % TEAM, team = item / TEAM, cut = CHUNK - (uint)(window % CHUNK);
  const uint between = (uint)(window / CHUNK);  // chunks, from the one behind the windows' begin on
  const ulong after = window - window / 2;      // from a result to the end of its window
  const ulong steps = (width + ALIGN - 2 + after) / (CHUNK * CHUNKS) + 1;  // of a row; width >= 1
  const int begin = (int)(steps * get_group_id(0) / get_num_groups(0)), end = (int)(steps * (get_group_id(0) + 1) / get_num_groups(0));
  for (ulong r = get_group_id(1); begin < end && r < rows; r += get_num_groups(1)) {
    global const ELEMENT* from = in + row_offset(first_row + r, height, depth, in_offset, in_pitch, in_plane, in_stride);
    global RESULT* to = out + row_offset(first_row + r, height, depth, out_offset, out_pitch, out_plane, out_stride);
    const uint shift = shift_of(to, after), skip = skip_of(from, -(long)shift);  // of every chunk
#pragma unroll 1
    for (int n = 0; n < STEPS; ++n) {
      const int step = begin - WARM + n;
      if (step < end)
        read_chunk(ring + (n * CHUNKS + team) * PLACES, from, ((long)step * CHUNKS + team) * CHUNK - shift, width, lane);
#if COPY_ASYNC
      end_copies();
#endif
    }
    uint slot = team;  // of the team's chunk
#pragma unroll 1
    for (int step = begin - WARM; step < end; ++step) {
#if COPY_ASYNC
      WAIT_COPIES(AHEAD - 1);
#endif
      barrier(CLK_LOCAL_MEM_FENCE);
      if (step > begin && step + AHEAD < end) {  // in place of chunks that are done with
        const uint free = slot + AHEAD * CHUNKS < RING ? slot + AHEAD * CHUNKS : slot + AHEAD * CHUNKS - RING;
        read_chunk(ring + free * PLACES, from, ((long)(step + AHEAD) * CHUNKS + team) * CHUNK - shift, width, lane);
      }
#if COPY_ASYNC
      end_copies();
#endif
      const uint second = slot >= between ? slot - between : slot + RING - between, oldest = second == 0 ? RING - 1 : second - 1;
      SUM values[ITEMS], more[ITEMS];
      own_elements(more, ring + slot * PLACES, ring, skip, lane);
      SUM before = more[0];
#pragma unroll
      for (int k = 1; k < ITEMS; ++k) before += more[k];
      SUM tail = end_of(more, before, cut, lane);
      team_sum(&tail, shares, item);
      const SUM all = scan_up(&before, shares, item);
      if (lane == 0) ends[slot] = tail, wholes[slot] = all;
      if (step >= begin) own_elements(values, ring + oldest * PLACES, ring + second * PLACES, cut + skip, lane);
      barrier(CLK_LOCAL_MEM_FENCE);
      if (step >= begin) {
        SUM shared = 0;
        for (uint n = lane; n < between; n += TEAM) {
          const uint c = second + n < RING ? second + n : second + n - RING;
          shared += n == 0 ? ends[c] : wholes[c];
        }
        team_sum(&shared, shares, item);
#pragma unroll
        for (int k = ITEMS - 1; k > 0; --k) values[k - 1] += values[k];
        SUM rest = values[0];
        scan_down(&rest, shares, item);
#pragma unroll
        for (int k = 0; k < ITEMS; ++k) {
          values[k] += rest + before;
          before += more[k];
        }
        local SUM* const sums = ring + oldest * PLACES;
#pragma unroll
        for (uint k = 0; k < OWN_WORDS; ++k)
          ((local word*)sums)[word_place(lane * OWN_WORDS + k)] =
              (word)(values[4 * k], values[4 * k + 1], values[4 * k + 2], values[4 * k + 3]);
        TEAM_BARRIER;
        const long last = (long)step * (CHUNKS * CHUNK) - shift, first = last - (long)after;  // of the step's first window, and its result
        const bool is_whole = first >= 0 && first + CHUNKS * CHUNK <= (long)width &&
                              (whole || (last >= (long)window && last + (CHUNKS * CHUNK - 1) <= (long)width));
        store_means(to, first + (long)(team * CHUNK), width, window, whole, is_whole, shared, sums, lane);
      }
      slot = slot + CHUNKS < RING ? slot + CHUNKS : slot + CHUNKS - RING;
    }
    barrier(CLK_LOCAL_MEM_FENCE);  // before the next row's chunks
  }
}
