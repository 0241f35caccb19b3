// The results of a convolution by Winograd's minimal filtering: A^T m A of the products m of each tile and filter, with bias and
// activation.
//
// Launch: two dimensions of work-items: along the rows of a matrix, and its rows; a grid-stride loop over these. No local memory.
#include "common/sub_group.clh"
#include "conv2d/winograd.clh"
#include "common/group_by_dimension.clh"
#ifndef PACK_OUT
#define PACK_OUT 1  // results that are written at once: TILE where planes have no gaps and all rows begin at a multiple of it, else 1
#endif

// Writes a row of a tile, `wide` results of it, call by call: Intel's compiler obeys no "#pragma unroll" of a loop that calls functions as
// long as GELU.
INLINED void write_row(const VALUE results[TILE], global RESULT* to, uint cell, uint wide, VALUE add) {
#if PACK_OUT == 4
  *(global float4*)to = (float4)(activate(results[0] + add), activate(results[1] + add), activate(results[2] + add),
                                 activate(results[3] + add));
#elif PACK_OUT == 2
  *(global float2*)to = (float2)(activate(results[0] + add), activate(results[1] + add));
#else
  if (wide > 0) store_result(to, 0, activate(results[0] + add));
  if (wide > 1) store_result(to, cell, activate(results[1] + add));
#if TILE == 4
  if (wide > 2) store_result(to, 2 * (ulong)cell, activate(results[2] + add));
  if (wide > 3) store_result(to, 3 * (ulong)cell, activate(results[3] + add));
#endif
#endif
}

kernel SUB_GROUP_SIZE __attribute__((reqd_work_group_size(GROUP_0, GROUP_1, GROUP_2)))
void conv2d_winograd_output(global const VALUE* products, ulong first, ulong matrix, ulong pitch, global RESULT* out, ulong out_offset,
                            ulong out_pitch, ulong out_plane, ulong out_stride, global const ELEMENT* bias, ulong bias_offset,
                            uint with_bias, uint filters, uint group_filters, uint out_w, uint out_h, uint tiles_x, uint tiles_y,
                            ulong first_line, uint lines) {
  const uint tiles = lines * tiles_x, cell = OUT_INTERLEAVED ? filters : 1;
  const uint along = OUT_INTERLEAVED ? filters : tiles, down = OUT_INTERLEAVED ? tiles : filters;
  const uint a = get_global_id(0);
  if (a >= along) return;  // no barrier follows
  for (uint b = get_group_id(1) * GROUP_1 + get_local_id(1); b < down; b += get_num_groups(1) * GROUP_1) {
    const uint k = OUT_INTERLEAVED ? a : b, t = OUT_INTERLEAVED ? b : a;
#if OUT_INTERLEAVED
    const uint g = k / group_filters;
    global const VALUE* from = products + first + ((ulong)g * tiles + t) * pitch + (k - g * group_filters);
#else
    global const VALUE* from = products + first + k * pitch + t;
#endif
    VALUE results[TILE * TILE];
    results_of(results, from, matrix);
    const uint line_here = t / tiles_x, x = (t - line_here * tiles_x) * TILE;
    const ulong line = first_line + line_here, n = line / tiles_y;
    const uint y = (uint)(line - n * tiles_y) * TILE, wide = out_w - x, high = out_h - y;
    const VALUE add = with_bias ? load_value(bias, bias_offset + k) : 0;
    global RESULT* to = out + out_offset + n * out_stride + k * out_plane + (ulong)y * out_pitch + (ulong)x * cell;
    write_row(results, to, cell, wide, add);
    if (high > 1) write_row(results + TILE, to + out_pitch, cell, wide, add);
#if TILE == 4
    if (high > 2) write_row(results + 2 * TILE, to + 2 * out_pitch, cell, wide, add);
    if (high > 3) write_row(results + 3 * TILE, to + 3 * out_pitch, cell, wide, add);
#endif
  }
  (void)group_filters;
}
