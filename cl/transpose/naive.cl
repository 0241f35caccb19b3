// Transpose, first step of the ladder: out[j][i] = in[i][j], one element a work-item, no local memory. Stores are coalesced; loads
// are a whole row apart, so each fetches a cache line for one element. In place, the work-item with i < j exchanges the pair.
//
// Launch: three dimensions of work-items: i (a row of the input), j (a column), matrix of the batch; grid-stride loops over the
// last two.
#include "common/element.clh"

#ifndef IN_PLACE
#define IN_PLACE 0  // 1: in and out are the same square matrix
#endif
#include "common/group_by_dimension.clh"

kernel __attribute__((reqd_work_group_size(GROUP_0, GROUP_1, GROUP_2)))
void transpose_naive(global const element* in, ulong in_offset, long in_pitch, ulong in_stride,
                     global element* out, ulong out_offset, long out_pitch, ulong out_stride,
                     ulong rows, ulong cols, ulong batch) {
  const long i = get_global_id(0);
  if (i >= (long)rows) return;  // no barrier follows

  // Grid-stride loops, because some drivers limit the second and third dimension of a launch.
  for (ulong b = get_global_id(2); b < batch; b += get_global_size(2)) {
    global const element* from = in + in_offset + b * in_stride;
    global element* to = out + out_offset + b * out_stride;
    for (long j = get_global_id(1); j < (long)cols; j += get_global_size(1)) {
#if IN_PLACE
      if (i < j) {
        const element upper = from[i * in_pitch + j];
        to[i * out_pitch + j] = from[j * in_pitch + i];
        to[j * out_pitch + i] = upper;
      }
#else
      to[j * out_pitch + i] = from[i * in_pitch + j];
#endif
    }
  }
}
