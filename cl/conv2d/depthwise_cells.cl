// Convolution of interleaved channels, each by a filter of its own (depthwise): as many groups as channels and filters. Elements are read
// from global memory about once, and again from the cache by neighbouring columns and strips.
//
// A work-item has PACK channels of EACH_X columns of a strip of rows, and their weights in registers. It slides down the strip: each step
// loads the next STRIDE_Y rows of cells, adds those of the step before to the sums of all results that see them, and stores the results
// that are complete. Neighbouring work-items have neighbouring channels, so loads are coalesced, then the next columns.
//
// With a dilation, columns and rows of results are that far apart, so that their windows share cells.
//
// Launch: work-items of dimension 0 are packs of channels, of dimension 1 blocks: columns, then strips, then images, with a grid-stride
// loop. tile_h: rows of a strip. Local memory: the weights and biases of the group's channels, (TAPS + 1) * (GROUP_0 + 1) packs.
#ifndef PACK
#define PACK 8  // channels of a work-item: 1, 2, 4, 8; all cells begin at multiples of so many elements, and have such numbers of channels
#endif
#include "conv2d/arguments.clh"

#ifndef GROUP_0
#define GROUP_0 32  // work-group, by dimension
#endif
#ifndef GROUP_1
#define GROUP_1 4
#endif
#ifndef EACH_X
#define EACH_X 2  // columns of a work-item's results
#endif
#define LINE ((EACH_X - 1) * STRIDE_X + WINDOW_W)      // cells of a row that a work-item needs
#define AGES ((WINDOW_H + STRIDE_Y - 1) / STRIDE_Y)    // rows of results that see the same rows of cells: steps until one is complete
#define LANES GROUP_0

#include "conv2d/depthwise.clh"
#include "conv2d/cells.clh"
#include "conv2d/depthwise_cells.clh"

// What a work-item reads of an image.
typedef struct {
  global const ELEMENT* in;  // its channels of the image
  ulong pitch, apart;        // from one row to the next, and from one column: a dilation apart
  int left;                  // its first column, perhaps outside
  uint dilation_x, dilation_y, in_w, in_h;
} cell_grid;

// Loads the rows of cells from `top` on, `place` elements from the image's first cell; zeros outside.
INLINED void load_rows(cell rows[STRIDE_Y][LINE], const cell_grid* g, int top, long place, bool is_wanted) {
#pragma unroll
  for (uint q = 0; q < STRIDE_Y; ++q) {
    const bool is_there = is_wanted && (uint)(top + (int)(q * g->dilation_y)) < g->in_h;  // negative numbers are very large
#pragma unroll
    for (uint j = 0; j < LINE; ++j) {
      rows[q][j] = 0;
      if (is_there && (uint)(g->left + (int)(j * g->dilation_x)) < g->in_w)
        rows[q][j] = *(global const cell*)(g->in + (place + (long)(q * g->pitch + j * g->apart)));
    }
  }
}

// Adds the products of rows and weights. Results of age a saw the first of STRIDE_Y rows a steps ago.
INLINED void add_rows(vector sums[AGES][EACH_X], const cell rows[STRIDE_Y][LINE], const vector weights[TAPS]) {
#pragma unroll
  for (uint q = 0; q < STRIDE_Y; ++q)
#pragma unroll
    for (uint j = 0; j < LINE; ++j) {
      const vector x = widened(rows[q][j]);
#pragma unroll
      for (uint a = 0; a < AGES; ++a)
#pragma unroll
        for (uint e = 0; e < EACH_X; ++e) {
          const uint r = a * STRIDE_Y + q, s = j - e * STRIDE_X;  // a column left of the window is very large
          if (r < WINDOW_H && s < WINDOW_W) sums[a][e] = MULTIPLY_ADD(weights[r * WINDOW_W + s], x, sums[a][e]);
        }
    }
}

kernel __attribute__((reqd_work_group_size(GROUP_0, GROUP_1, 1)))
void conv2d_depthwise_cells(CONV2D_ARGUMENTS) {
  CONV2D_NUMBERS
  (void)in_channels, (void)out_channels, (void)window_w, (void)window_h, (void)stride_x, (void)stride_y;  // known to the compiler
  (void)in_plane, (void)out_plane, (void)block_k, (void)tile_w, (void)depth;
  local vector filters[(TAPS + 1) * (LANES + 1)];
  const uint first = get_group_id(0) * CHANNELS, item = get_local_id(1) * GROUP_0 + get_local_id(0);
  begin_filters(filters, item);
  const int is_finite = lay_filters(filters, weights + weight_offset, weight_stride, bias + (with_bias ? bias_offset : 0), with_bias,
                                    first, groups, item, GROUP_0 * GROUP_1);
  const uint lane = get_local_id(0), k = first + lane * PACK;
  if (k >= groups) return;  // no barrier follows
  vector w[TAPS];
#pragma unroll
  for (uint i = 0; i < TAPS; ++i) w[i] = filters[i * (GROUP_0 + 1) + lane];
  const vector start = filters[TAPS * (GROUP_0 + 1) + lane];

  const uint across = ((out_w + dilation_x - 1) / dilation_x + EACH_X - 1) / EACH_X * dilation_x;
  const uint down = ((out_h + dilation_y - 1) / dilation_y + tile_h - 1) / tile_h * dilation_y;
  const uint blocks = (uint)images * across * down;
  for (uint block = get_global_id(1); block < blocks; block += get_global_size(1)) {
    const uint strip = block / across, column = block - strip * across, n = strip / down, row = strip - n * down;
    const uint column_class = column % dilation_x, row_class = row % dilation_y;
    const uint x = (column - column_class) * EACH_X + column_class, y = (row - row_class) * tile_h + row_class;
    if (x >= out_w || y >= out_h) continue;
    cell_grid g;
    g.in = in + in_offset + n * in_stride + k;
    g.pitch = in_pitch * dilation_y, g.apart = (ulong)groups * dilation_x;
    g.left = (int)(x * STRIDE_X) - (int)pad_left;
    g.dilation_x = dilation_x, g.dilation_y = dilation_y, g.in_w = in_w, g.in_h = in_h;
    global RESULT* to = out + out_offset + n * out_stride + ((ulong)y * out_pitch + (ulong)x * groups + k);
    const uint strip_rows = min(tile_h, (out_h - y + dilation_y - 1) / dilation_y);
    int top = (int)(y * STRIDE_Y) - (int)pad_top;
    if (!is_finite) {
      lone_plane p = {in + in_offset + n * in_stride + k, weights + weight_offset + k * weight_stride, in_pitch, groups, in_w, in_h,
                      WINDOW_W, WINDOW_H, dilation_x, dilation_y};
      lone_results results = {to, (ulong)out_pitch * dilation_y, (ulong)groups * dilation_x, g.left, top, STRIDE_X * dilation_x, STRIDE_Y * dilation_y};
      write_cells_alone(&p, &results, min((out_w - x + dilation_x - 1) / dilation_x, (uint)EACH_X), strip_rows, weight_stride,
                        bias + (with_bias ? bias_offset + k : 0), with_bias);
      continue;
    }
    long place = (long)top * (long)in_pitch + (long)g.left * (long)groups;
    cell rows[STRIDE_Y][LINE];
    load_rows(rows, &g, top, place, true);
    vector sums[AGES][EACH_X];
#pragma unroll
    for (uint a = 0; a < AGES; ++a)
#pragma unroll
      for (uint e = 0; e < EACH_X; ++e) sums[a][e] = start;
    const uint steps = strip_rows + (AGES - 1);
#pragma unroll 1
    for (uint step = 0; step < steps; ++step) {
      cell next[STRIDE_Y][LINE];
      top += (int)(STRIDE_Y * dilation_y);
      place += (long)(STRIDE_Y * g.pitch);
      load_rows(next, &g, top, place, step + 1 < steps);
      add_rows(sums, rows, w);
      if (step + 1 >= AGES) {
#pragma unroll
        for (uint e = 0; e < EACH_X; ++e)
          if (x + e * dilation_x < out_w) store_cell(sums[AGES - 1][e], to + (ulong)e * dilation_x * groups);
        to += out_pitch * dilation_y;
      }
#pragma unroll
      for (uint e = 0; e < EACH_X; ++e) {
#pragma unroll
        for (uint a = AGES - 1; a > 0; --a) sums[a][e] = sums[a - 1][e];
        sums[0][e] = start;
      }
#pragma unroll
      for (uint q = 0; q < STRIDE_Y; ++q)
#pragma unroll
        for (uint j = 0; j < LINE; ++j) rows[q][j] = next[q][j];
    }
  }
}
