// Convolution of interleaved channels, each by a filter of its own (depthwise): what conv2d/depthwise_cells.cl computes, for windows that share
// few cells, or layers of few results. Nothing is kept from one row to the next.
//
// A work-item has PACK channels of EACH_X columns of a row. It loads all cells of their windows at once, so that a compute unit has most bytes
// in flight, while the group brings its weights to local memory. Other work-items find the cells that they share in the cache: those of a group,
// which has ROWS rows of results, in that of their compute unit.
//
// Launch: LANES * ROWS * BLOCKS work-items; a group for each LANES packs of channels, ROWS rows and BLOCKS blocks of EACH_X columns of an image,
// channels innermost. Local memory: (TAPS + 1) * (LANES + 1) packs of values.
#ifndef PACK
#define PACK 8  // channels of a work-item: 1, 2, 4, 8; all cells begin at multiples of so many elements, and have such numbers of channels
#endif
#include "conv2d/arguments.clh"

#ifndef BLOCKS
#define BLOCKS 8
#endif
#ifndef ROWS
#define ROWS 4
#endif
#ifndef EACH_X
#define EACH_X 1
#endif
#define GROUP (LANES * ROWS * BLOCKS)
#define LINE ((EACH_X - 1) * STRIDE_X + WINDOW_W)  // cells of a row that a work-item reads

#include "conv2d/depthwise.clh"
#include "conv2d/cells.clh"
// Since each is looked at, NVIDIA's compiler has one weight under way at a time. H200, 3 x 3 / 2 of 64 x 144 x 56^2 halves: 33 us, 4 at once 25.5; floats
// have fewer for a work-item, and no registers for them.
#define WEIGHTS_AT_ONCE (PACK > 2 ? 4 : 1)
#include "conv2d/depthwise_cells.clh"

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void conv2d_depthwise_windows(CONV2D_ARGUMENTS) {
  CONV2D_NUMBERS
  (void)in_channels, (void)out_channels, (void)window_w, (void)window_h, (void)stride_x;  // known to the compiler
  (void)dilation_x, (void)dilation_y, (void)in_plane, (void)out_plane, (void)block_k, (void)tile_w, (void)tile_h, (void)depth, (void)images;
  local vector filters[(TAPS + 1) * (LANES + 1)];
  const uint item = get_local_id(0), lane = item % LANES;
  begin_filters(filters, item);
  const uint sets = (groups + CHANNELS - 1) / CHANNELS, across = (out_w + BLOCKS * EACH_X - 1) / (BLOCKS * EACH_X);
  const uint down = (out_h + ROWS - 1) / ROWS, job = get_group_id(0), tile = job / sets, strip = tile / across, n = strip / down;
  const uint first = (job - tile * sets) * CHANNELS, k = first + lane * PACK, block = item / LANES;
  const uint y = (strip - n * down) * ROWS + block / BLOCKS, x = ((tile - strip * across) * BLOCKS + block % BLOCKS) * EACH_X;
  const bool is_there = k < groups && y < out_h && x < out_w;
  const int left = (int)(x * STRIDE_X) - (int)pad_left, top = (int)(y * stride_y) - (int)pad_top;
  global const ELEMENT* const from =
      in + in_offset + n * in_stride + ((long)top * (long)in_pitch + (long)left * (long)groups + (long)k);
  cell seen[WINDOW_H][LINE];
#pragma unroll
  for (uint r = 0; r < WINDOW_H; ++r)
#pragma unroll
    for (uint j = 0; j < LINE; ++j) {
      seen[r][j] = 0;
      if (is_there && (uint)(top + (int)r) < in_h && (uint)(left + (int)j) < in_w)  // negative numbers are very large
        seen[r][j] = *(global const cell*)(from + (r * in_pitch + j * groups));
    }

  const int is_finite = lay_filters(filters, weights + weight_offset, weight_stride, bias + (with_bias ? bias_offset : 0), with_bias,
                                    first, groups, item, GROUP);
  if (!is_there) return;  // no barrier follows
  global RESULT* const to = out + out_offset + n * out_stride + ((ulong)y * out_pitch + (ulong)x * groups + k);
  if (!is_finite) {
    lone_plane p = {in + in_offset + n * in_stride + k, weights + weight_offset + k * weight_stride, in_pitch, groups, in_w, in_h,
                    WINDOW_W, WINDOW_H, 1, 1};
    lone_results results = {to, 0, groups, left, top, STRIDE_X, 0};
    write_cells_alone(&p, &results, min(out_w - x, (uint)EACH_X), 1, weight_stride, bias + (with_bias ? bias_offset + k : 0), with_bias);
    return;
  }

  vector sums[EACH_X];
#pragma unroll
  for (uint e = 0; e < EACH_X; ++e) sums[e] = filters[TAPS * (LANES + 1) + lane];
#pragma unroll
  for (uint r = 0; r < WINDOW_H; ++r)
#pragma unroll
    for (uint j = 0; j < LINE; ++j) {
      const vector number = widened(seen[r][j]);
#pragma unroll
      for (uint e = 0; e < EACH_X; ++e) {
        const uint s = j - e * STRIDE_X;  // a column left of the window is very large
        if (s < WINDOW_W) sums[e] = MULTIPLY_ADD(filters[(r * WINDOW_W + s) * (LANES + 1) + lane], number, sums[e]);
      }
    }
#pragma unroll
  for (uint e = 0; e < EACH_X; ++e)
    if (x + e < out_w) store_cell(sums[e], to + (ulong)e * groups);
}
