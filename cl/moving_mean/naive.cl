// Moving means, first step of the ladder: a work-item sums the window of one result from global memory.
//
// Launch: two dimensions of work-items: element of a row, row; a grid-stride loop over the rows. No local memory.
#include "moving_mean/arguments.clh"
#include "common/group_by_dimension.clh"

kernel __attribute__((reqd_work_group_size(GROUP_0, GROUP_1, 1)))
void moving_mean_naive(MOVING_MEAN_ARGUMENTS) {
  (void)scratch;
  const ulong x = get_global_id(0);
  if (x >= width) return;  // no barrier follows
  const ulong before = window / 2;
  for (ulong r = get_global_id(1); r < rows; r += get_global_size(1)) {
    global const ELEMENT* from = in + row_offset(first_row + r, height, depth, in_offset, in_pitch, in_plane, in_stride);
    const ulong begin = x > before ? x - before : 0, end = min(x + (window - before), width);
    SUM sum = 0;
    for (ulong i = begin; i < end; ++i) sum += (SUM)load_value(from, i);
    store_mean(out + row_offset(first_row + r, height, depth, out_offset, out_pitch, out_plane, out_stride), x, sum, whole ? window : end - begin);
  }
}
