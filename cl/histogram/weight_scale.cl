// The greatest exponent of the finite weights, for their sums in fixed point (histogram/weighted.clh).
//
// Launch: one dimension, GROUP work-items a group; a grid-stride loop. `greatest` is zero before the launch. Local memory: a word.
#include "histogram/weighted.clh"

#ifndef GROUP
#define GROUP 256  // work-items
#endif

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void histogram_weight_scale(global const WEIGHT* restrict weights, ulong offset, ulong pitch, ulong stride, ulong rows,
                            ulong cols, ulong batch, global uint* greatest) {
  local uint of_group;
  if (get_local_id(0) == 0) of_group = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  uint mine = 0;
  const ulong step = get_global_size(0), step_rows = step / cols, step_cols = step - step_rows * cols;
  ulong row = get_global_id(0) / cols, col = get_global_id(0) - row * cols;
  for (; row < rows * batch; row += step_rows, col += step_cols) {
    const int wraps = col >= cols;
    col -= wraps ? cols : 0;
    row += wraps;
    if (row >= rows * batch) break;
    const ulong matrix = batch == 1 ? 0 : row / rows;
    const uint exponent = exponent_of(load_weight(weights, offset + matrix * stride + (row - matrix * rows) * pitch + col));
    if (exponent < NOT_FINITE) mine = max(mine, exponent);
  }
  atomic_max(&of_group, mine);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (get_local_id(0) == 0) atomic_max(greatest, of_group);
}
