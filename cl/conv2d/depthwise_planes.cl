// Convolution of planes, each by a filter of its own (depthwise), through local memory, for rows that follow each other without gaps: a group
// copies a band of rows of a plane, or several whole planes, as they lie in memory, by vectors, whatever the width of a row. Results leave the
// same way. So global memory is read and written by whole lines, where rows of 7 or 14 cells are parts of them.
//
// A work-item has EACH_X columns of EACH_Y rows of results in registers, and adds each row of cells to all of them that see it.
//
// Launch: a group of GROUP work-items for each band of `tile_h` rows of results of `block_k` planes; `block_k` divides the channels, and planes of
// which a group has several have one band. Local memory: CELLS and RESULTS vectors of 16 bytes: the rows of a group, and one vector more.
#include "conv2d/arguments.clh"
#include "conv2d/depthwise.clh"

#ifndef GROUP
#define GROUP 256
#endif
#ifndef EACH_X
#define EACH_X 2  // columns of a work-item's results
#endif
#ifndef EACH_Y
#define EACH_Y 7  // rows
#endif
#ifndef CELLS
#define CELLS 512  // vectors in local memory
#endif
#ifndef RESULTS
#define RESULTS 512
#endif
#define LINE ((EACH_X - 1) * STRIDE_X + WINDOW_W)   // cells of a row that a work-item needs
#define LINES ((EACH_Y - 1) * STRIDE_Y + WINDOW_H)  // rows
#include "conv2d/plane_copies.clh"

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void conv2d_depthwise_planes(CONV2D_ARGUMENTS) {
  CONV2D_NUMBERS
  local uint4 cells_of[CELLS], results_of[RESULTS];
  (void)in_channels, (void)out_channels, (void)window_w, (void)window_h, (void)images;
  (void)stride_x, (void)stride_y, (void)dilation_x, (void)dilation_y, (void)in_pitch, (void)out_pitch, (void)tile_w, (void)depth;
  const uint bands = (out_h + tile_h - 1) / tile_h, set = get_group_id(0) / bands, top = (get_group_id(0) - set * bands) * tile_h;
  const uint rows = min(tile_h, out_h - top), n = set * block_k / groups, k = set * block_k - n * groups;
  // The rows of the input that are copied: those which the band's windows see, or all of several planes.
  const int above = (int)(top * STRIDE_Y) - (int)pad_top, below = above + (int)((rows - 1) * STRIDE_Y) + WINDOW_H;
  const int first = block_k > 1 ? 0 : clamp(above, 0, (int)in_h), end = block_k > 1 ? (int)in_h : clamp(below, 0, (int)in_h);
  const uint size = (uint)(end - first) * in_w, out_size = rows * out_w;
  global const RAW_ELEMENT* from = (global const RAW_ELEMENT*)in + in_offset + n * in_stride + k * in_plane + (ulong)first * in_w;
  const uint shift = copy_cells(cells_of, from, block_k, size, in_plane);
  global RAW_RESULT* to = (global RAW_RESULT*)out + out_offset + n * out_stride + k * out_plane + (ulong)top * out_w;
  const uint out_shift = PAST_VECTOR(to, RAW_RESULT);
  // Whether a weight is not finite: in the last element, which no result has.
  local RAW_RESULT* const strange = (local RAW_RESULT*)(results_of + RESULTS) - 1;
  if (get_local_id(0) == 0) *strange = 0;
  barrier(CLK_LOCAL_MEM_FENCE);

  const uint across = (out_w + EACH_X - 1) / EACH_X, each = across * ((rows + EACH_Y - 1) / EACH_Y);  // blocks of a row and a plane
  for (uint b = get_local_id(0); b < each * block_k; b += GROUP) {
    const uint plane = b / each, block = b - plane * each, down = block / across, x = (block - down * across) * EACH_X, y = down * EACH_Y;
    global const ELEMENT* filter = weights + weight_offset + (k + plane) * weight_stride;
    VALUE w[WINDOW_H * WINDOW_W], sums[EACH_Y][EACH_X];
    int is_finite = 1;
#pragma unroll
    for (uint i = 0; i < WINDOW_H * WINDOW_W; ++i) w[i] = load_value(filter, i), is_finite &= IS_FINITE(w[i]);
    if (!is_finite) *strange = 1;
    const VALUE start = with_bias ? load_bias(bias, bias_offset + k + plane) : 0;
#pragma unroll
    for (uint i = 0; i < EACH_Y; ++i)
#pragma unroll
      for (uint j = 0; j < EACH_X; ++j) sums[i][j] = start;
    const int left = (int)(x * STRIDE_X) - (int)pad_left, highest = above + (int)(y * STRIDE_Y);
    // Of the element at `left` of the highest row, which may lie outside.
    const uint place = shift + plane * size + (uint)(highest - first) * in_w + (uint)left;  // before the first cell, it wraps
#pragma unroll
    for (uint i = 0; i < LINES; ++i) {
      VALUE line[LINE];
      const bool is_there = highest + (int)i >= first && highest + (int)i < end;
#pragma unroll
      for (uint j = 0; j < LINE; ++j) {
        line[j] = 0;
        if (is_there && (uint)(left + (int)j) < in_w) line[j] = load_cell((local const ELEMENT*)cells_of, place + i * in_w + j);
      }
#pragma unroll
      for (uint r = 0; r < EACH_Y; ++r) {
        if (i < r * STRIDE_Y || i >= r * STRIDE_Y + WINDOW_H) continue;
#pragma unroll
        for (uint s = 0; s < WINDOW_W; ++s)
#pragma unroll
          for (uint j = 0; j < EACH_X; ++j)
            sums[r][j] = MULTIPLY_ADD(w[(i - r * STRIDE_Y) * WINDOW_W + s], line[j * STRIDE_X + s], sums[r][j]);
      }
    }
    const uint at = out_shift + plane * out_size + y * out_w + x;
#pragma unroll
    for (uint r = 0; r < EACH_Y; ++r) {
      if (y + r >= rows) continue;
#pragma unroll
      for (uint j = 0; j < EACH_X; ++j)
        if (x + j < out_w) store_local((local RESULT*)results_of, at + r * out_w + j, activate(sums[r][j]));
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (*strange != 0)
#pragma unroll 1
    for (uint i = get_local_id(0); i < block_k * out_size; i += GROUP) {
      const uint plane = i / out_size, y = (i - plane * out_size) / out_w, x = i - plane * out_size - y * out_w;
      const lone_plane p = {in + in_offset + n * in_stride + (k + plane) * in_plane, weights + weight_offset + (k + plane) * weight_stride, in_w, 1,
                            in_w, in_h, WINDOW_W, WINDOW_H, 1, 1};
      const VALUE start = with_bias ? load_bias(bias, bias_offset + k + plane) : 0;
      const VALUE sum = lone_sum(&p, (int)(x * STRIDE_X) - (int)pad_left, above + (int)(y * STRIDE_Y), start);
      store_local((local RESULT*)results_of, out_shift + i, activate(sum));
    }
  barrier(CLK_LOCAL_MEM_FENCE);
  copy_results(to, results_of, block_k, out_size, out_plane);
}
