// Convolution of interleaved channels, each by a filter of its own (depthwise), as conv2d/depthwise_cells.cl computes it, by asynchronous copies
// of NVIDIA's sm_80 and later: rows of cells come to a ring in local memory AHEAD steps before they are read, without registers.
//
// A work-item has PACK channels of EACH_X columns, and slides down a strip of rows. Each step reads STRIDE_Y rows of cells and adds them to the
// sums of all results that see them, of AGES rows; those of the oldest row are complete. The loop is unrolled AGES times, so that no sum moves.
//
// Launch: GROUP work-items; a group for each CHANNELS channels, BLOCKS * EACH_X columns and tile_h rows of results of an image, channels
// innermost. Cells begin at multiples of PIECE bytes and have a multiple of them. Local memory: (AHEAD + 1) * STEP_BYTES, and
// (TAPS + 1) * (LANES + 1) packs of values.
#ifndef PACK
#define PACK 2  // channels of a work-item: 1, 2, 4
#endif
#if EMULATED
#include "nvidia/emulated_copies.clh"
#else
#include "nvidia/copy_async.clh"
#endif
#include "conv2d/arguments.clh"
#include "conv2d/depthwise.clh"
#include "conv2d/cells.clh"
#ifndef WEIGHTS_AT_ONCE
#define WEIGHTS_AT_ONCE 4
#endif
#include "conv2d/depthwise_cells.clh"
#include "nvidia/conv2d_ring.clh"

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void conv2d_depthwise_ring(CONV2D_ARGUMENTS) {
  CONV2D_NUMBERS
  (void)in_channels, (void)out_channels, (void)window_w, (void)window_h, (void)stride_x, (void)stride_y;  // known to the compiler
  (void)dilation_x, (void)dilation_y, (void)in_plane, (void)out_plane, (void)block_k, (void)tile_w, (void)depth, (void)images;
  local uchar ring[RING_BYTES] __attribute__((aligned(16)));
  local vector filters[(TAPS + 1) * (LANES + 1)];
  const uint item = get_local_id(0), lane = item % LANES, block = item / LANES;
  begin_filters(filters, item);
  const uint sets = (groups + CHANNELS - 1) / CHANNELS, across = (out_w + BLOCKS * EACH_X - 1) / (BLOCKS * EACH_X);
  const uint down = (out_h + tile_h - 1) / tile_h;
  const uint job = get_group_id(0), tile = job / sets, strip = tile / across, n = strip / down;
  const uint first = (job - tile * sets) * CHANNELS, left = (tile - strip * across) * (BLOCKS * EACH_X), y = (strip - n * down) * tile_h;
  const uint rows = min(tile_h, out_h - y), steps = rows + AGES - 1;
  const uint copied = item / CELL_PIECES, piece = item - copied * CELL_PIECES, channel = first + piece * (PIECE / ELEMENT_BYTES);
  const int column = (int)(left * STRIDE_X + copied) - (int)pad_left, top = (int)(y * STRIDE_Y) - (int)pad_top;
  row_copies c = {in + in_offset + n * in_stride + ((long)top * (long)in_pitch + (long)column * (long)groups + channel), top,
                  copied + (COPIES - 1) * AT_ONCE < ROW_CELLS, 0, {0}};
#pragma unroll
  for (uint i = 0; i < COPIES; ++i) {
    c.inside |= ((uint)(column + (int)(i * AT_ONCE)) < in_w && channel < groups) << i;
    c.to[i] = cell_place(copied + i * AT_ONCE) + piece * PIECE;
  }
  const tile_address ring_at = local_address(ring);
  uint filled = 0, read = 0;
  for (uint s = 0; s < AHEAD; ++s, filled = next_step(filled)) copy_step(ring_at + filled, &c, in_pitch, AT_ONCE * groups, in_h);

  const int is_finite = lay_filters(filters, weights + weight_offset, weight_stride, bias + (with_bias ? bias_offset : 0), with_bias,
                                    first, groups, item, GROUP);
  const uint x = left + block * EACH_X, k = first + lane * PACK, results = k < groups && x < out_w ? min(out_w - x, (uint)EACH_X) : 0;
  global RESULT* to = out + out_offset + n * out_stride + ((ulong)y * out_pitch + (ulong)x * groups + k);
  if (!is_finite) {
    wait_steps(0, &c, in_pitch, AT_ONCE * groups, in_h);
    lone_plane p = {in + in_offset + n * in_stride + k, weights + weight_offset + k * weight_stride, in_pitch, groups, in_w, in_h,
                    WINDOW_W, WINDOW_H, 1, 1};
    lone_results alone = {to, out_pitch, groups, (int)(x * STRIDE_X) - (int)pad_left, top, STRIDE_X, STRIDE_Y};
    if (results > 0) write_cells_alone(&p, &alone, results, rows, weight_stride, bias + (with_bias ? bias_offset + k : 0), with_bias);
    return;
  }
  vector w[TAPS];
#pragma unroll
  for (uint i = 0; i < TAPS; ++i) w[i] = filters[i * (LANES + 1) + lane];
  const vector start = filters[TAPS * (LANES + 1) + lane];

  local const uchar* const mine = ring + block * (SPAN * CELL_BYTES + PAD) + lane * (PACK * ELEMENT_BYTES);
  vector sums[AGES][EACH_X];
#pragma unroll
  for (uint a = 0; a < AGES; ++a)
#pragma unroll
    for (uint e = 0; e < EACH_X; ++e) sums[a][e] = start;
  int row = top;  // of the input, that is read next
#pragma unroll 1
  for (uint step = 0;; step += AGES) {
#pragma unroll
    for (uint u = 0; u < AGES; ++u) {
      if (step + u == steps) {  // of all work-items; no sum is needed after it, so that none moves
        wait_steps(0, &c, in_pitch, AT_ONCE * groups, in_h);
        return;
      }
      wait_steps(AHEAD - 1, &c, in_pitch, AT_ONCE * groups, in_h);
      barrier(CLK_LOCAL_MEM_FENCE);  // the copies of all are there, and the step that the next ones overwrite has been read
      copy_step(ring_at + filled, &c, in_pitch, AT_ONCE * groups, in_h);
      filled = next_step(filled);
#pragma unroll
      for (uint q = 0; q < STRIDE_Y; ++q, ++row)
        if ((uint)row < in_h) {  // of all work-items; rows outside have not been copied
#pragma unroll
          for (uint j = 0; j < LINE; ++j) {
            const vector seen = widened(*(local const cell*)(mine + read + q * ROW_BYTES + cell_place(j)));
#pragma unroll
            for (uint a = 0; a < AGES; ++a)
#pragma unroll
              for (uint e = 0; e < EACH_X; ++e) {
                const uint r = a * STRIDE_Y + q, s = j - e * STRIDE_X, of = (u + AGES - a) % AGES;  // a column left of the window is very large
                if (r < WINDOW_H && s < WINDOW_W) sums[of][e] = MULTIPLY_ADD(w[r * WINDOW_W + s], seen, sums[of][e]);
              }
          }
        }
      read = next_step(read);
      if (step + u + 1 >= AGES) {
#pragma unroll
        for (uint e = 0; e < EACH_X; ++e)
          if (e < results) store_cell(sums[(u + 1) % AGES][e], to + (ulong)e * groups);
        to += out_pitch;
      }
#pragma unroll
      for (uint e = 0; e < EACH_X; ++e) sums[(u + 1) % AGES][e] = start;
    }
  }
}
