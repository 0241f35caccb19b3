// Rotary position embedding in packs: a work-item has PACK pairs of a token, whose cosines and sines it computes once for several heads.
//
// Launch: two dimensions: work-items of tokens, and parts of their heads, `jobs_per_item` each; loops over both. Work-items of pairs come first, so
// that those which only copy do not wait for cosines beside them. No local memory.
#include "rotary/operation.clh"

#ifndef GROUP
#define GROUP 256  // work-items
#endif
#define PAIR_PACKS (ROTATED / 2 / PACK)
#define REST_PACKS ((HEAD_SIZE - ROTATED) / PACK)  // what is not rotated

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void rotary_shared(ROTARY_ARGUMENTS, ulong jobs_per_item) {
  (void)batch, (void)cols;
  const ulong pairs = tokens * PAIR_PACKS, items = pairs + (flags & COPIES_REST ? tokens * REST_PACKS : 0);
  for (ulong id = get_global_id(0); id < items; id += get_global_size(0)) {
#if PAIR_PACKS > 0 && REST_PACKS > 0
    const ulong rest = id - pairs;
    const ulong token = id < pairs ? id / PAIR_PACKS : rest / REST_PACKS;
    const int item = (int)(id < pairs ? id - token * PAIR_PACKS : PAIR_PACKS + rest - token * REST_PACKS);
#elif PAIR_PACKS > 0
    const ulong token = id / PAIR_PACKS;
    const int item = (int)(id - token * PAIR_PACKS);
#else
    const ulong token = id / REST_PACKS;
    const int item = (int)(id - token * REST_PACKS);
#endif
    packed_vector c = 0, s = 0;
    if (item < PAIR_PACKS) {
      const long position = position_of(token, rows, positions + positions_offset, first_position, flags);
      pack angles;
#pragma unroll
      for (int k = 0; k < PACK; ++k) angles.each[k] = angle_at(turns[item * PACK + k], position);
      c = cospi(angles.all);
      s = sinpi(angles.all);
    }
    const int one = item >= PAIR_PACKS ? ROTATED + (item - PAIR_PACKS) * PACK : NEIGHBOURS ? 2 * item * PACK : item * PACK;
    const int two = NEIGHBOURS ? one + PACK : one + ROTATED / 2;
    for (ulong begin = get_group_id(1) * jobs_per_item; begin < jobs; begin += get_num_groups(1) * jobs_per_item) {
      const ulong end = min(begin + jobs_per_item, jobs);
      for (ulong job = begin; job < end; ++job) {
        global const ELEMENT* from = in + head_place(token, job, rows, heads, in_offset, in_pitch, in_stride);
        global RESULT* to = out + head_place(token, job, rows, heads, out_offset, out_pitch, out_stride);
        packed_vector x = load_pack(from, one);
        if (item < PAIR_PACKS) {
          packed_vector y = load_pack(from, two);
          rotate_packs(&x, &y, c, s);
          store_row_pack(to, two, HEAD_SIZE, 1, y);
        }
        store_row_pack(to, one, HEAD_SIZE, 1, x);
      }
    }
  }
}
