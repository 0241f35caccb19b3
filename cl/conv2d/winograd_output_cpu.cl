// The results of a convolution by Winograd's minimal filtering: A^T m A of the products m of each tile and filter, with bias and
// activation, for CPUs.
//
// Launch: local size 1; a work-item, which is a thread, has BLOCK elements of a matrix's row at a time. Local memory: TILE * TILE * BLOCK
// values.
#include "conv2d/winograd.clh"

// Writes rows of `count` tiles, of which local memory has the results, to the `wide` columns of a plane from `to` on.
INLINED void write_tiles(local const VALUE* results, uint count, global RESULT* to, ulong pitch, uint wide, uint high, VALUE add) {
  const uint whole = min(count, wide / TILE);
  for (uint i = 0; i < min(high, (uint)TILE); ++i, to += pitch, results += TILE * BLOCK) {
    for (uint t = 0; t < whole; ++t) {
#pragma unroll
      for (uint j = 0; j < TILE; ++j) store_result(to, t * TILE + j, activate(results[j * BLOCK + t] + add));
    }
    if (whole < count)
      for (uint j = 0; j < wide - whole * TILE; ++j) store_result(to, whole * TILE + j, activate(results[j * BLOCK + whole] + add));
  }
}

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void conv2d_winograd_output_cpu(global const VALUE* products, ulong first, ulong matrix, ulong pitch, global RESULT* out,
                                ulong out_offset, ulong out_pitch, ulong out_plane, ulong out_stride, global const ELEMENT* bias,
                                ulong bias_offset, uint with_bias, uint filters, uint group_filters, uint out_w, uint out_h,
                                uint tiles_x, uint tiles_y, ulong first_line, uint lines) {
  local VALUE tile_results[TILE * TILE * BLOCK] __attribute__((aligned(64)));
  const uint tiles = lines * tiles_x;
  out += out_offset, products += first;
  bias += with_bias ? bias_offset : 0;
#if OUT_INTERLEAVED
  const uint blocks = (group_filters + BLOCK - 1) / BLOCK, groups = filters / group_filters;
  const ulong jobs = (ulong)tiles * groups * blocks;
#else
  const uint blocks = (tiles + BLOCK - 1) / BLOCK;
  const ulong jobs = (ulong)filters * blocks;
#endif
  for (ulong job = get_group_id(0); job < jobs; job += get_num_groups(0)) {
#if OUT_INTERLEAVED
    const uint t = job / (groups * blocks), of_tile = job - (ulong)t * (groups * blocks);
    const uint g = of_tile / blocks, k = (of_tile - g * blocks) * BLOCK, count = min(group_filters - k, (uint)BLOCK);
    global const VALUE* from = products + ((ulong)g * tiles + t) * pitch + k;
#else
    const uint k = job / blocks, t = (uint)(job - (ulong)k * blocks) * BLOCK, count = min(tiles - t, (uint)BLOCK);
    global const VALUE* from = products + k * pitch + t;
#endif
    for (uint v = 0; v < count; v += LANES) {
      number results[TILE * TILE];
      results_of(results, from + v, matrix);
#pragma unroll
      for (uint e = 0; e < TILE * TILE; ++e) *(local number*)(tile_results + e * BLOCK + v) = results[e];
    }
    ulong line = first_line + t / tiles_x;
    uint tile = t % tiles_x;
#if OUT_INTERLEAVED
    const ulong n = line / tiles_y;
    const uint y = (uint)(line - n * tiles_y) * TILE, x = tile * TILE, filter = g * group_filters + k;
    for (uint i = 0; i < min((uint)TILE, out_h - y); ++i) {
      for (uint j = 0; j < min((uint)TILE, out_w - x); ++j) {
        global RESULT* to = out + n * out_stride + (ulong)(y + i) * out_pitch + (ulong)(x + j) * filters + filter;
        local const VALUE* of_cell = tile_results + (i * TILE + j) * BLOCK;
        for (uint c = 0; c < count; ++c) store_result(to, c, activate(of_cell[c] + (with_bias ? load_value(bias, filter + c) : 0)));
      }
    }
#else
    const VALUE add = with_bias ? load_value(bias, k) : 0;
    for (uint i = 0; i < count; ++line) {
      const ulong n = line / tiles_y;
      const uint here = min(tiles_x - tile, count - i), y = (uint)(line - n * tiles_y) * TILE, x = tile * TILE;
      write_tiles(tile_results + i, here, out + n * out_stride + k * out_plane + (ulong)y * out_pitch + x, out_pitch,
                  min(here * TILE, out_w - x), out_h - y, add);
      i += here, tile = 0;
    }
#endif
  }
  (void)out_plane, (void)group_filters;
}
