// The input's matrices of a convolution by Winograd's minimal filtering: B^T d B of the EDGE x EDGE elements d of each tile and channel,
// with 0 outside of the plane, for CPUs.
//
// Launch: local size 1; a work-item, which is a thread, has BLOCK elements of a matrix's row at a time. Local memory: EDGE * EDGE * BLOCK
// values.
#include "conv2d/winograd.clh"

// A row of tiles from one on, and the rows of the plane that they read.
typedef struct {
  global const ELEMENT* plane;
  ulong pitch;
  uint in_w, in_h;
  int top;
  uint pad_left;
} tiles_of_plane;

// Brings the elements of `count` tiles of one row of tiles, from `tile` on, to columns from `columns` on.
INLINED void fill_tiles(local VALUE* columns, const tiles_of_plane* from, const uint tile, const uint count) {
  const uint in_w = from->in_w, pad_left = from->pad_left;
  // Tiles in [begin, end) lie in the plane from left to right.
  const uint whole = in_w + pad_left < EDGE ? 0 : (in_w + pad_left - EDGE) / TILE + 1;
  const uint begin = clamp((pad_left + TILE - 1) / TILE, tile, tile + count) - tile;
  const uint end = max(clamp(whole, tile, tile + count) - tile, begin);
  for (uint i = 0; i < EDGE; ++i, columns += EDGE * BLOCK) {
    const int y = from->top + (int)i;
    if ((uint)y >= from->in_h) {  // negative numbers are very large as unsigned ones
      for (uint j = 0; j < EDGE; ++j)
        for (uint t = 0; t < count; ++t) columns[j * BLOCK + t] = 0;
      continue;
    }
    global const ELEMENT* row = from->plane + (ulong)y * from->pitch;
    for (uint t = begin > 0 ? 0 : end; t < count; t = t + 1 == begin ? end : t + 1) {
      const uint left = (tile + t) * TILE - pad_left;
      for (uint j = 0; j < EDGE; ++j) columns[j * BLOCK + t] = left + j < in_w ? load_value(row, left + j) : 0;
    }
    global const ELEMENT* inner = row + ((long)(tile + begin) * TILE - pad_left);
    local VALUE* to = columns + begin;
    for (uint t = 0; t < end - begin; ++t) {
#pragma unroll
      for (uint j = 0; j < EDGE; ++j) to[j * BLOCK + t] = load_value(inner, t * TILE + j);
    }
  }
}

// Transforms `count` columns, in whole vectors, and writes them to all matrices.
INLINED void transform_columns(local VALUE* columns, uint count, global VALUE* to, ulong matrix) {
  for (uint v = 0; v < count; v += LANES) {
    number d[EDGE * EDGE];
#pragma unroll
    for (uint e = 0; e < EDGE * EDGE; ++e) d[e] = *(local const number*)(columns + e * BLOCK + v);
#pragma unroll
    for (uint j = 0; j < EDGE; ++j) transform_input(d + j, EDGE);
#pragma unroll
    for (uint i = 0; i < EDGE; ++i) transform_input(d + i * EDGE, 1);
#pragma unroll
    for (uint e = 0; e < EDGE * EDGE; ++e) *(global number*)(to + e * matrix + v) = d[e];
  }
}

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void conv2d_winograd_input_cpu(global const ELEMENT* in, ulong in_offset, ulong in_pitch, ulong in_plane, ulong in_stride,
                               global VALUE* factors, ulong first, ulong matrix, ulong pitch, uint channels, uint group_channels,
                               uint in_w, uint in_h, uint tiles_x, uint tiles_y, ulong first_line, uint lines, uint pad_left,
                               uint pad_top) {
  local VALUE columns[EDGE * EDGE * BLOCK] __attribute__((aligned(64)));
  const uint tiles = lines * tiles_x;
  in += in_offset, factors += first;
#if IN_INTERLEAVED
  const uint blocks = (group_channels + BLOCK - 1) / BLOCK, groups = channels / group_channels;
  const ulong jobs = (ulong)tiles * groups * blocks;
  for (ulong job = get_group_id(0); job < jobs; job += get_num_groups(0)) {
    const uint t = job / (groups * blocks), of_tile = job - (ulong)t * (groups * blocks);
    const uint g = of_tile / blocks, c = (of_tile - g * blocks) * BLOCK, count = min(group_channels - c, (uint)BLOCK);
    const ulong line = first_line + t / tiles_x, n = line / tiles_y;
    const int top = (int)((uint)(line - n * tiles_y) * TILE) - (int)pad_top, left = (int)(t % tiles_x * TILE) - (int)pad_left;
    global const ELEMENT* cells = in + n * in_stride + g * group_channels + c;
    for (uint e = 0; e < EDGE * EDGE; ++e) {
      const int y = top + (int)(e / EDGE), x = left + (int)(e % EDGE);
      local VALUE* to = columns + e * BLOCK;
      uint i = 0;
      if ((uint)y < in_h && (uint)x < in_w) {
        global const ELEMENT* cell = cells + (ulong)y * in_pitch + (ulong)x * channels;
        for (; i < count; ++i) to[i] = load_value(cell, i);
      }
      for (; i < BLOCK; ++i) to[i] = 0;
    }
    transform_columns(columns, count, factors + ((ulong)g * tiles + t) * pitch + c, matrix);
  }
  (void)in_plane;
#else
  const uint blocks = (tiles + BLOCK - 1) / BLOCK;
  const ulong jobs = (ulong)channels * blocks;
  for (ulong job = get_group_id(0); job < jobs; job += get_num_groups(0)) {
    const uint c = job / blocks, t = (uint)(job - (ulong)c * blocks) * BLOCK, count = min(tiles - t, (uint)BLOCK);
    ulong line = first_line + t / tiles_x;
    uint tile = t % tiles_x;
    for (uint i = 0; i < count; ++line) {
      const ulong n = line / tiles_y;
      const uint here = min(tiles_x - tile, count - i);
      const tiles_of_plane from = {in + n * in_stride + c * in_plane, in_pitch, in_w, in_h,
                                   (int)((uint)(line - n * tiles_y) * TILE) - (int)pad_top, pad_left};
      fill_tiles(columns + i, &from, tile, here);
      i += here, tile = 0;
    }
    for (uint i = count; i % LANES != 0; ++i)
      for (uint e = 0; e < EDGE * EDGE; ++e) columns[e * BLOCK + i] = 0;
    transform_columns(columns, count, factors + c * pitch + t, matrix);
  }
  (void)group_channels;
#endif
}
