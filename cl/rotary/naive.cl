// Rotary position embedding, first step of the ladder: a work-item rotates one pair of one head, or copies one element that is not rotated.
//
// Launch: one dimension; a grid-stride loop over the pairs. No local memory.
#include "rotary/operation.clh"

#ifndef GROUP
#define GROUP 64  // work-items
#endif
#define ITEMS (HEAD_SIZE - ROTATED / 2)  // pairs and single elements of a head

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void rotary_naive(ROTARY_ARGUMENTS) {
  (void)batch, (void)cols;
  for (ulong id = get_global_id(0); id < tokens * jobs * ITEMS; id += get_global_size(0)) {
    const ulong head = id / ITEMS, token = head / jobs, job = head - token * jobs;
    const int item = (int)(id - head * ITEMS);
    global const ELEMENT* from = in + head_place(token, job, rows, heads, in_offset, in_pitch, in_stride);
    global RESULT* to = out + head_place(token, job, rows, heads, out_offset, out_pitch, out_stride);
    if (item < ROTATED / 2) {
      const int one = NEIGHBOURS ? 2 * item : item, two = NEIGHBOURS ? 2 * item + 1 : item + ROTATED / 2;
      const float angle = angle_at(turns[item], position_of(token, rows, positions + positions_offset, first_position, flags)), c = cospi(angle), s = sinpi(angle);
      const float x = load_value(from, one), y = load_value(from, two);
      store_result(to, one, x * c - y * s);
      store_result(to, two, y * c + x * s);
    } else if (flags & COPIES_REST) {
      store_result(to, item + ROTATED / 2, load_value(from, item + ROTATED / 2));
    }
  }
}
