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

#ifndef ELEMENT_BYTES
#define ELEMENT_BYTES 2
#endif
#ifndef LANES
#define LANES 32  // packs of channels of a group
#endif
#ifndef BLOCKS
#define BLOCKS 7  // of EACH_X columns of a group
#endif
#ifndef EACH_X
#define EACH_X 4
#endif
#ifndef WINDOW_W
#define WINDOW_W 5
#endif
#ifndef WINDOW_H
#define WINDOW_H 5
#endif
#ifndef STRIDE_X
#define STRIDE_X 1
#endif
#ifndef STRIDE_Y
#define STRIDE_Y 1
#endif
#ifndef AHEAD
#define AHEAD 4  // steps whose copies are in flight
#endif
#ifndef PIECE
#define PIECE 16  // bytes of a copy: 8, 16
#endif
#ifndef PAD
#define PAD 0  // bytes after the cells of a block, with which a warp of several blocks reads without bank conflicts: a multiple of PIECE
#endif
#define GROUP (LANES * BLOCKS)
#define TAPS (WINDOW_W * WINDOW_H)
#define AGES ((WINDOW_H + STRIDE_Y - 1) / STRIDE_Y)
#define LINE ((EACH_X - 1) * STRIDE_X + WINDOW_W)  // cells of a row that a work-item reads
#define SPAN (EACH_X * STRIDE_X)                   // from the cells of a block to those of the next one
#define CHANNELS (LANES * PACK)
#define CELL_BYTES (CHANNELS * ELEMENT_BYTES)
#define CELL_PIECES (CELL_BYTES / PIECE)
#define ROW_CELLS ((BLOCKS - 1) * SPAN + LINE)
#define ROW_PIECES (ROW_CELLS * CELL_PIECES)
#define ROW_BYTES (ROW_CELLS * CELL_BYTES + (ROW_CELLS - 1) / SPAN * PAD)
#define STEP_BYTES (STRIDE_Y * ROW_BYTES)
#define RING_BYTES ((AHEAD + 1) * STEP_BYTES)
#define STEP_PIECES (STRIDE_Y * ROW_PIECES)
#define COPIES ((STEP_PIECES + GROUP - 1) / GROUP)  // of a work-item in a step
#define FILTERS_PITCH (CHANNELS + PACK)

#include "conv2d/cells.clh"

// Where cell i of a row of the ring is.
static inline uint cell_place(uint i) { return i * CELL_BYTES + i / SPAN * PAD; }

// The copies of a work-item.
typedef struct {
  global const ELEMENT* from[COPIES];
  int row[COPIES];   // of the input: with a last row outside, or always outside
  uint to[COPIES];   // in a step of the ring
} row_copies;

static inline uint next_step(uint at) { return at + STEP_BYTES == RING_BYTES ? 0 : at + STEP_BYTES; }

// Starts the copies of the next step to `to`, zeros for rows outside, and ends a group of copies.
static inline __attribute__((always_inline)) void copy_step(tile_address to, row_copies* c, ulong pitch, uint in_h, uint item) {
#pragma unroll
  for (uint n = 0; n < COPIES; ++n) {
    if (item + n * GROUP < STEP_PIECES) {
      const uint bytes = (uint)c->row[n] < in_h ? PIECE : 0;  // negative numbers are very large
#if PIECE == 16
      copy_16(to + c->to[n], c->from[n], bytes);
#else
      copy_8(to + c->to[n], c->from[n], bytes);
#endif
    }
    c->row[n] += STRIDE_Y;
    c->from[n] += STRIDE_Y * pitch;
  }
  end_copies();
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void conv2d_depthwise_ring(CONV2D_ARGUMENTS) {
  (void)in_channels, (void)out_channels, (void)window_w, (void)window_h, (void)stride_x, (void)stride_y;  // known to the compiler
  (void)dilation_x, (void)dilation_y, (void)in_plane, (void)out_plane, (void)block_k, (void)tile_w, (void)depth;
  local uchar ring[RING_BYTES] __attribute__((aligned(16)));
  local vector filters[(TAPS + 1) * (LANES + 1)];  // by weight, then by channel; the last row is of biases
  const uint item = get_local_id(0), lane = item % LANES, block = item / LANES;
  const uint sets = (groups + CHANNELS - 1) / CHANNELS, across = (out_w + BLOCKS * EACH_X - 1) / (BLOCKS * EACH_X);
  const uint down = (out_h + tile_h - 1) / tile_h;
  const uint job = get_group_id(0), tile = job / sets, strip = tile / across, n = strip / down;
  const uint first = (job - tile * sets) * CHANNELS, left = (tile - strip * across) * (BLOCKS * EACH_X), y = (strip - n * down) * tile_h;
  const uint rows = min(tile_h, out_h - y), steps = rows + AGES - 1;
  row_copies c;
#pragma unroll
  for (uint i = 0; i < COPIES; ++i) {
    const uint piece = item + i * GROUP, q = piece / ROW_PIECES, of_row = piece - q * ROW_PIECES, cell = of_row / CELL_PIECES;
    const uint channel = first + (of_row - cell * CELL_PIECES) * (PIECE / ELEMENT_BYTES);
    const int column = (int)(left * STRIDE_X + cell) - (int)pad_left, row = (int)(y * STRIDE_Y + q) - (int)pad_top;
    const bool is_there = (uint)column < in_w && channel < groups;
    c.row[i] = is_there ? row : INT_MIN;
    c.from[i] = in + in_offset + n * in_stride + (is_there ? (long)row * (long)in_pitch + (long)column * (long)groups + channel : 0);
    c.to[i] = q * ROW_BYTES + cell_place(cell) + (of_row - cell * CELL_PIECES) * PIECE;
  }
  const tile_address ring_at = local_address(ring);
  uint filled = 0, read = 0;
  for (uint s = 0; s < AHEAD; ++s, filled = next_step(filled)) copy_step(ring_at + filled, &c, in_pitch, in_h, item);

  for (uint i = item; i < CHANNELS * TAPS; i += GROUP) {
    const uint channel = i / TAPS, tap = i - channel * TAPS;
    VALUE weight = 0;
    if (first + channel < groups) weight = load_value(weights, weight_offset + (first + channel) * weight_stride + tap);
    ((local VALUE*)filters)[tap * FILTERS_PITCH + channel] = weight;
  }
  for (uint channel = item; channel < CHANNELS; channel += GROUP) {
    VALUE number = 0;
    if (with_bias && first + channel < groups) number = load_bias(bias, bias_offset + first + channel);
    ((local VALUE*)filters)[TAPS * FILTERS_PITCH + channel] = number;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  vector w[TAPS];
#pragma unroll
  for (uint i = 0; i < TAPS; ++i) w[i] = filters[i * (LANES + 1) + lane];
  const vector start = filters[TAPS * (LANES + 1) + lane];

  const uint x = left + block * EACH_X, k = first + lane * PACK, results = k < groups && x < out_w ? min(out_w - x, (uint)EACH_X) : 0;
  global RESULT* to = out + out_offset + n * out_stride + ((ulong)y * out_pitch + (ulong)x * groups + k);
  local const uchar* const mine = ring + block * (SPAN * CELL_BYTES + PAD) + lane * (PACK * ELEMENT_BYTES);
  vector sums[AGES][EACH_X];
#pragma unroll
  for (uint a = 0; a < AGES; ++a)
#pragma unroll
    for (uint e = 0; e < EACH_X; ++e) sums[a][e] = start;
#pragma unroll 1
  for (uint step = 0; step < steps; step += AGES) {
#pragma unroll
    for (uint u = 0; u < AGES; ++u) {
      if (step + u < steps) {  // of all work-items
        WAIT_COPIES(AHEAD - 1);
        barrier(CLK_LOCAL_MEM_FENCE);  // the copies of all are there, and the step that the next ones overwrite has been read
        copy_step(ring_at + filled, &c, in_pitch, in_h, item);
        filled = next_step(filled);
#pragma unroll
        for (uint q = 0; q < STRIDE_Y; ++q)
#pragma unroll
          for (uint j = 0; j < LINE; ++j) {
            const vector cells = widened(*(local const cell*)(mine + read + q * ROW_BYTES + cell_place(j)));
#pragma unroll
            for (uint a = 0; a < AGES; ++a)
#pragma unroll
              for (uint e = 0; e < EACH_X; ++e) {
                const uint r = a * STRIDE_Y + q, s = j - e * STRIDE_X, row = (u + AGES - a) % AGES;  // a column left of the window is very large
                if (r < WINDOW_H && s < WINDOW_W) sums[row][e] = MULTIPLY_ADD(w[r * WINDOW_W + s], cells, sums[row][e]);
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
  WAIT_COPIES(0);
}
