// The input's matrices of a convolution by Winograd's minimal filtering: B^T d B of the EDGE x EDGE elements d of each tile and channel,
// with 0 outside of the plane.
//
// Launch: two dimensions of work-items: along the rows of a matrix, and its rows; a grid-stride loop over these. No local memory.
#include "common/sub_group.clh"
#include "conv2d/winograd.clh"
#include "common/group_by_dimension.clh"

kernel SUB_GROUP_SIZE __attribute__((reqd_work_group_size(GROUP_0, GROUP_1, GROUP_2)))
void conv2d_winograd_input(global const ELEMENT* in, ulong in_offset, ulong in_pitch, ulong in_plane, ulong in_stride,
                           global VALUE* factors, ulong first, ulong matrix, ulong pitch, uint channels, uint group_channels,
                           uint in_w, uint in_h, uint tiles_x, uint tiles_y, ulong first_line, uint lines, uint pad_left, uint pad_top) {
  const uint tiles = lines * tiles_x, cell = IN_INTERLEAVED ? channels : 1;
  const uint along = IN_INTERLEAVED ? channels : tiles, down = IN_INTERLEAVED ? tiles : channels;
  const uint a = get_global_id(0);
  if (a >= along) return;  // no barrier follows
  for (uint b = get_group_id(1) * GROUP_1 + get_local_id(1); b < down; b += get_num_groups(1) * GROUP_1) {
    const uint c = IN_INTERLEAVED ? a : b, t = IN_INTERLEAVED ? b : a;
    const uint line_here = t / tiles_x, tile = t - line_here * tiles_x;
    const ulong line = first_line + line_here, n = line / tiles_y;
    const int top = (int)((uint)(line - n * tiles_y) * TILE) - (int)pad_top, left = (int)(tile * TILE) - (int)pad_left;
    // It may begin before its plane, where nothing is read.
    global const ELEMENT* from = in + in_offset + n * in_stride + c * in_plane + ((long)top * (long)in_pitch + (long)left * cell);
    VALUE d[EDGE * EDGE];
#pragma unroll
    for (uint i = 0; i < EDGE; ++i) {
      const bool there = (uint)(top + (int)i) < in_h;  // negative numbers are very large as unsigned ones
#pragma unroll
      for (uint j = 0; j < EDGE; ++j)
        d[i * EDGE + j] = there && (uint)(left + (int)j) < in_w ? load_value(from, i * in_pitch + j * (ulong)cell) : 0;
    }
#pragma unroll
    for (uint j = 0; j < EDGE; ++j) transform_input(d + j, EDGE);
#if IN_INTERLEAVED
    const uint g = c / group_channels;
    global VALUE* to = factors + first + ((ulong)g * tiles + t) * pitch + (c - g * group_channels);
#else
    global VALUE* to = factors + first + c * pitch + t;
#endif
#pragma unroll
    for (uint i = 0; i < EDGE; ++i) {
      transform_input(d + i * EDGE, 1);
#pragma unroll
      for (uint j = 0; j < EDGE; ++j) to[(i * EDGE + j) * matrix] = d[i * EDGE + j];
    }
  }
  (void)group_channels;
}
