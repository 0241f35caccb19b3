// Copy of a matrix whose rows, columns or both run backwards: mirror images, and rotation by 180 degrees.
//
// The order of rows needs no code here: the caller passes the offset of the last row and a negative pitch. Columns are
// reversed by writing each row from its end: a work-item loads a vector of WIDTH neighbours and stores it in reverse order, so
// loads and stores are coalesced without local memory.
//
// Launch: a group has GROUP_1 rows of GROUP_0 * WIDTH columns of GROUP_2 matrices; groups are numbered in one dimension.
#include "common/element.clh"
#include "common/grid.clh"

#ifndef WIDTH
#define WIDTH 1  // vector width: 1, 2, 4, 8, 16 elements
#endif
#ifndef REVERSE
#define REVERSE 1  // 1: each row is written backwards
#endif
#include "common/group_by_dimension.clh"

kernel __attribute__((reqd_work_group_size(GROUP_0, GROUP_1, GROUP_2)))
void flip(global const element* restrict in, ulong in_offset, long in_pitch, ulong in_stride,
          global element* restrict out, ulong out_offset, long out_pitch, ulong out_stride,
          ulong rows, ulong cols, ulong batch) {
  // Groups along the rows first: the output is written in order of addresses.
  const tile_place place = place_of_tile(get_group_id(0), (cols + GROUP_0 * WIDTH - 1) / (GROUP_0 * WIDTH),
                                         (rows + GROUP_1 - 1) / GROUP_1);
  const ulong first = ((ulong)place.row * GROUP_0 + get_local_id(0)) * WIDTH;
  const ulong i = (ulong)place.col * GROUP_1 + get_local_id(1);
  const ulong b = (ulong)place.matrix * GROUP_2 + get_local_id(2);
  if (first >= cols || i >= rows || b >= batch) return;  // no barrier follows
  const uint count = (uint)min((ulong)WIDTH, cols - first);

  in += in_offset + b * in_stride + first;
  out += out_offset + b * out_stride + (REVERSE ? cols - first - count : first);
  in += (long)i * in_pitch;
  out += (long)i * out_pitch;
  if (count == WIDTH) {
#pragma unroll
    for (uint k = 0; k < WIDTH; ++k) out[k] = in[REVERSE ? WIDTH - 1 - k : k];
  } else {
    for (uint k = 0; k < count; ++k) out[k] = in[REVERSE ? count - 1 - k : k];
  }
}
