// Rotary position embedding for a CPU: a work-group is one work-item, which is one thread. It computes the cosines and sines of a token
// once, and rotates the token's heads one after the other in its cache.
//
// Launch: one dimension, local size 1; group g has a range of neighbouring tokens. Local memory: HEAD_SIZE + ROTATED floats.
#include "common/attributes.clh"
#include "common/vector_loop.clh"
#include "rotary/operation.clh"

#define PAIRS (ROTATED / 2)
#define ROOM (PAIRS > 0 ? PAIRS : 1)

DEFINE_LOAD_RUN(load_run, local, float)
DEFINE_STORE_RUN(store_run, local)

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void rotary_cpu(ROTARY_ARGUMENTS) {
  local float kept[HEAD_SIZE] __attribute__((aligned(64)));
  local float cosines[ROOM] __attribute__((aligned(64))), sines[ROOM] __attribute__((aligned(64)));
  (void)batch, (void)cols;
  const ulong share = (tokens + get_num_groups(0) - 1) / get_num_groups(0);
  const ulong begin = min(get_group_id(0) * share, tokens), end = min(begin + share, tokens);
  const uint count = flags & COPIES_REST ? HEAD_SIZE : ROTATED;
  for (ulong token = begin; token < end; ++token) {
    const long position = position_of(token, rows, positions + positions_offset, first_position, flags);
    VECTOR_LOOP
    for (int k = 0; k < PAIRS; ++k) {
      const float angle = angle_at(turns[k], position);
      cosines[k] = cospi(angle);
      sines[k] = sinpi(angle);
    }
    for (ulong job = 0; job < jobs; ++job) {
      load_run(kept, in + head_place(token, job, rows, heads, in_offset, in_pitch, in_stride), 0, count);
      VECTOR_LOOP
      for (int k = 0; k < PAIRS; ++k) {
        const int one = NEIGHBOURS ? 2 * k : k, two = NEIGHBOURS ? 2 * k + 1 : k + PAIRS;
        const float x = kept[one], y = kept[two];
        kept[one] = x * cosines[k] - y * sines[k];
        kept[two] = y * cosines[k] + x * sines[k];
      }
      store_run(out + head_place(token, job, rows, heads, out_offset, out_pitch, out_stride), 0, kept, count);
    }
  }
}
