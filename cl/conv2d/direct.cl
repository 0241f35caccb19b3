// Convolution of many channels through tiles in local memory: a work-group computes LANES_K * EACH_K planes of a tile of
// LANES_X * EACH_X columns and LANES_Y rows; a work-item has EACH_K planes of EACH_X columns in registers, LANES_X apart.
//
// DEPTH channels of the input with their halo, and their weights, are in local memory at once. The columns of a row of the tile
// are ordered by their remainder modulo stride_x: neighbouring work-items read neighbouring items at any stride. Weights have the
// planes innermost, so that a work-item loads those of its EACH_K planes as vectors, a broadcast to all work-items of a plane.
//
// Launch: one dimension, groups of LANES_X * LANES_Y * LANES_K work-items; a grid-stride loop over the jobs.
// Local memory: TILE_ITEMS + WEIGHT_ITEMS values.
#include "conv2d/arguments.clh"
#include "conv2d/alone.clh"

#ifndef LANES_X
#define LANES_X 16  // work-items along a row
#endif
#ifndef LANES_Y
#define LANES_Y 2  // rows
#endif
#ifndef LANES_K
#define LANES_K 8  // across planes
#endif
#ifndef EACH_X
#define EACH_X 4  // columns of a work-item
#endif
#ifndef EACH_K
#define EACH_K 8  // planes of a work-item: 1, 2, 4 or 8
#endif
#ifndef DEPTH
#define DEPTH 8  // channels of the input at once
#endif
#ifndef TILE_ITEMS
#define TILE_ITEMS 4096  // of DEPTH channels of the input
#endif
#ifndef WEIGHT_ITEMS
#define WEIGHT_ITEMS 5184  // DEPTH * window_w * window_h * WEIGHT_PITCH
#endif
#define GROUP (LANES_X * LANES_Y * LANES_K)
#define BLOCK_W (LANES_X * EACH_X)
#define BLOCK_K (LANES_K * EACH_K)
#define WEIGHT_PITCH (BLOCK_K + (BLOCK_K > 8 ? 4 : 0))  // padded against bank conflicts of the stores; a multiple of a vector
#define READERS (GROUP < 32 ? GROUP : 32)               // work-items that read a row together

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void conv2d_direct(CONV2D_ARGUMENTS) {
  CONV2D_NUMBERS
  (void)block_k, (void)tile_w, (void)tile_h, (void)depth;
  local VALUE tile[TILE_ITEMS];
  local VALUE weight_tile[WEIGHT_ITEMS] __attribute__((aligned(32)));
  const uint item = get_local_id(0);
  const uint lane_x = item % LANES_X, lane_y = item / LANES_X % LANES_Y, lane_k = item / (LANES_X * LANES_Y);
  const uint rows = (LANES_Y - 1) * stride_y + (window_h - 1) * dilation_y + 1;  // of the input's tile
  const uint cols = (BLOCK_W - 1) * stride_x + (window_w - 1) * dilation_x + 1;
  const uint phase = (cols + stride_x - 1) / stride_x, pitch = phase * stride_x;  // columns of one remainder; of a row
  const uint taps = window_w * window_h;
  const uint pieces_x = (out_w + BLOCK_W - 1) / BLOCK_W, pieces_y = (out_h + LANES_Y - 1) / LANES_Y;
  const uint blocks = (out_channels + BLOCK_K - 1) / BLOCK_K;
  const ulong jobs = images * groups * blocks * pieces_y * pieces_x;
  for (ulong job = get_group_id(0); job < jobs; job += get_num_groups(0)) {
    // Blocks of planes are innermost: they share their input in the cache.
    const ulong piece = job / blocks, row_of_pieces = piece / pieces_x, image_group = row_of_pieces / pieces_y;
    const uint first_k = (uint)(job - piece * blocks) * BLOCK_K, first_x = (uint)(piece - row_of_pieces * pieces_x) * BLOCK_W;
    const uint first_y = (uint)(row_of_pieces - image_group * pieces_y) * LANES_Y;
    const ulong n = image_group / groups;
    const uint group = image_group - n * groups;
    const int left = (int)(first_x * stride_x) - (int)pad_left, top = (int)(first_y * stride_y) - (int)pad_top;
    global const ELEMENT* from = in + in_offset + n * in_stride + (ulong)group * in_channels * in_plane;
    global const ELEMENT* filters = weights + weight_offset + ((ulong)group * out_channels + first_k) * weight_stride;
    const uint filters_there = min(out_channels - first_k, (uint)BLOCK_K);
    VALUE sums[EACH_K][EACH_X];
#pragma unroll
    for (uint i = 0; i < EACH_K; ++i)
#pragma unroll
      for (uint j = 0; j < EACH_X; ++j) sums[i][j] = 0;

    for (uint first_c = 0; first_c < in_channels; first_c += DEPTH) {
      const uint channels = min(in_channels - first_c, (uint)DEPTH);
      // Loads the input, a row by READERS work-items, with 0 outside of the plane.
      for (uint line = item / READERS; line < channels * rows; line += GROUP / READERS) {
        const uint c = line / rows;
        const int y = top + (int)(line - c * rows);
        const bool there = (uint)y < in_h;  // negative numbers are very large as unsigned ones
        global const ELEMENT* source = from + (ulong)(first_c + c) * in_plane + (there ? (ulong)y : 0) * in_pitch;
        for (uint i = item % READERS; i < cols; i += READERS) {
          const uint x = (uint)left + i;
          const uint at = stride_x == 1 ? i : i % stride_x * phase + i / stride_x;
          tile[line * pitch + at] = there && x < in_w ? load_value(source, x) : 0;
        }
      }
      // Loads the weights, along a filter.
      for (uint line = item / READERS; line < BLOCK_K; line += GROUP / READERS) {
        for (uint i = item % READERS; i < channels * taps; i += READERS)
          weight_tile[i * WEIGHT_PITCH + line] =
              line < filters_there ? load_value(filters + line * weight_stride + (ulong)first_c * taps, i) : 0;
      }
      barrier(CLK_LOCAL_MEM_FENCE);

      local const VALUE* w = weight_tile + lane_k * EACH_K;
      for (uint c = 0; c < channels; ++c) {
        for (uint r = 0; r < window_h; ++r) {
          local const VALUE* row = tile + (c * rows + lane_y * stride_y + r * dilation_y) * pitch + lane_x;
          uint remainder = 0, quotient = 0;  // of s * dilation_x by stride_x
          for (uint s = 0; s < window_w; ++s) {
            VALUE right[EACH_X], left_side[EACH_K];
#pragma unroll
            for (uint j = 0; j < EACH_X; ++j) right[j] = row[remainder * phase + quotient + j * LANES_X];
#if EACH_K == 8
            const JOIN(VALUE, 4) low = ((local const JOIN(VALUE, 4)*)w)[0], high = ((local const JOIN(VALUE, 4)*)w)[1];
            left_side[0] = low.s0, left_side[1] = low.s1, left_side[2] = low.s2, left_side[3] = low.s3;
            left_side[4] = high.s0, left_side[5] = high.s1, left_side[6] = high.s2, left_side[7] = high.s3;
#else
#pragma unroll
            for (uint i = 0; i < EACH_K; ++i) left_side[i] = w[i];
#endif
#pragma unroll
            for (uint i = 0; i < EACH_K; ++i)
#pragma unroll
              for (uint j = 0; j < EACH_X; ++j) sums[i][j] = MULTIPLY_ADD(left_side[i], right[j], sums[i][j]);
            w += WEIGHT_PITCH;
            remainder += dilation_x;
            if (remainder >= stride_x) {
              const uint steps = stride_x == 1 ? remainder : remainder / stride_x;
              quotient += steps;
              remainder -= steps * stride_x;
            }
          }
        }
      }
      barrier(CLK_LOCAL_MEM_FENCE);  // before the next channels are stored
    }

    const uint y = first_y + lane_y;
    const uint planes_here = lane_k * EACH_K < filters_there && y < out_h ? filters_there - lane_k * EACH_K : 0;
    const ulong filter = (ulong)group * out_channels + first_k + lane_k * EACH_K;
    global RESULT* to = out + out_offset + n * out_stride + filter * out_plane + (ulong)y * out_pitch + first_x + lane_x;
    const uint wide = first_x + lane_x < out_w ? out_w - first_x - lane_x : 0;
#pragma unroll
    for (uint i = 0; i < EACH_K; ++i) {
      const VALUE add = i < planes_here && with_bias ? load_bias(bias, bias_offset + filter + i) : 0;
#pragma unroll
      for (uint j = 0; j < EACH_X; ++j)
        if (i < planes_here && j * LANES_X < wide) store_result(to, j * LANES_X, activate(sums[i][j] + add));
      to += out_plane;
    }
#if EACH_K == 1
    int is_number = 1;
#pragma unroll
    for (uint j = 0; j < EACH_X; ++j) is_number &= sums[0][j] == sums[0][j];
    if (!is_number && in_channels * out_channels == 1 && planes_here > 0 && wide > 0) {
      const lone_plane p = {from, filters, in_pitch, 1, in_w, in_h, window_w, window_h, dilation_x, dilation_y};
      const lone_results results = {to - out_plane, 0, LANES_X, left + (int)(lane_x * stride_x), (int)(y * stride_y) - (int)pad_top,
                                    LANES_X * stride_x, 0};
      write_alone(&p, &results, min((wide + LANES_X - 1) / LANES_X, (uint)EACH_X), 1, with_bias ? load_bias(bias, bias_offset + filter) : 0);
    }
#endif
    barrier(CLK_LOCAL_MEM_FENCE);  // for PoCL 3.1, which miscompiles the end of the loop over jobs without it
  }
}
