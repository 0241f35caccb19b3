// Stencil of bytes by matrix units, where all weights are whole multiples of one power of two that int8 holds: exact sums.
//
// A warp has a strip of 256 neighbouring bytes, interleaved channels too, and goes down a band of rows. A row's 16 blocks of 16 bytes, each with
// 8 bytes before it and 8 after it, are the 16 rows of a matrix; times a band of the weights of row j of the window they make the block's
// sums of that row. A row that is read is multiplied by the weights of all rows of the window, and added to the sums of as many rows of
// results: it is loaded once, and all sums stay in registers.
//
// The order of k and of the columns of a product is free. It is chosen so that a work-item reads 8 neighbouring bytes of a block, and has 4
// neighbouring results. The bytes come through local memory of the warp's own, by asynchronous copies of 16 bytes, STAGES - 1 times ROWS rows ahead
// of time: the registers are for sums. At the ends of rows they are made one by one when they have come.
//
// Rows begin at multiples of 16 bytes, those of results of 4. Launch: one dimension, GROUP work-items a group, whole warps of 32; warp w
// computes strips of `band` rows: w, w + warps, ... EMULATED: one warp a group.
#ifndef ELEMENT
#define ELEMENT uchar
#define RESULT uchar
#define RESULT_HIGH 255
#endif
#define FIXED  // compiled for one window and boundary
#include "common/work_group.clh"
#include "stencil/cells.clh"
#include "stencil/byte_products.clh"
#ifndef GROUP
#define GROUP 32
#endif
#ifndef STAGES
#define STAGES 4
#endif
#ifndef WINDOW_X
#define WINDOW_X 3
#endif
#ifndef WINDOW_Y
#define WINDOW_Y 3
#endif
#ifndef BEFORE_X
#define BEFORE_X (WINDOW_X / 2)  // cells of the window before the result's own: -first_x
#endif
#ifndef BEFORE_Y
#define BEFORE_Y (WINDOW_Y / 2)
#endif
#define SIDE 8     // bytes that are used before a block, and after it
#define BLOCK 16
#define STRIP 256  // bytes of a warp
#define HALVES 2   // of a strip: a work-item has a part of a block in each
// Rows in local memory: whole vectors.
#define ROWS 8     // of a stage
#define CHUNKS ((STRIP + 32) / 16)
#define PITCH (16 * CHUNKS)
#define STAGE_BYTES (ROWS * PITCH)
#include "stencil/unit_bytes.clh"

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void stencil_units(STENCIL_ARGUMENTS) {
#if EMULATED
  local uint scratch[GROUP * 6];
#endif
  const uint lane = get_local_id(0) % 32;
  local char placed[WEIGHTS];
  local uchar stages[GROUP / 32 * STAGES * STAGE_BYTES] __attribute__((aligned(16)));
  local uchar* own = stages + get_local_id(0) / 32 * (STAGES * STAGE_BYTES);
  const float unit = weights[1 + WEIGHTS], inverse = 1 / unit;
  for (uint i = get_local_id(0); i < WEIGHTS; i += GROUP) placed[i] = (char)(weights[1 + i] * inverse);
  barrier(CLK_LOCAL_MEM_FENCE);
  uint factors[WINDOW_Y][2][2];
  find_factors(factors, placed, lane);
  row_sums none;
#pragma unroll
  for (uint i = 0; i < 8; ++i) none.sums[i / 4][i % 4] = START;

  const ulong elements = out_width * CHANNELS, strips = (elements + STRIP - 1) / STRIP, bands = (out_height + band - 1) / band;
  const ulong warp = GROUP == 32 ? get_group_id(0) : get_global_id(0) / 32;  // of a group of one warp compilers know that it is uniform
  for (ulong t = warp; t < strips * bands * out_depth * batch; t += get_global_size(0) / 32) {
    const ulong line = t / strips, p = line / bands, grid = grid_of(p, out_depth, batch), z = p - grid * out_depth;
    const int left = (int)((t - line * strips) * STRIP), top = (int)((line - p * bands) * band);
    const int rows = min((int)band, (int)out_height - top), first_read = top - BEFORE_Y;
    const read_bytes read = {in + in_offset + grid * in_stride + z * in_plane, in_pitch, (int)width, (int)height, (uint)weights[0]};
    const write_bytes write = find_written(out + out_offset + grid * out_stride + z * out_plane, out_pitch, left, lane, (int)width, (int)elements);
    const int first = left - 16, steps = (rows + WINDOW_Y - 1 + ROWS - 1) / ROWS;
    const bool edges = has_edges(&read, first);
    row_sums sums[WINDOW_Y];  // sums[j]: of rows 0 to j - 1 of the window
#pragma unroll
    for (uint j = 0; j < WINDOW_Y; ++j) sums[j] = none;
#pragma unroll 1
    for (int s = 0; s < STAGES - 1; ++s) {
      copy_rows(own + s * STAGE_BYTES, &read, first, first_read + s * ROWS, lane);
      end_copies();
    }
#pragma unroll 1
    for (int s = 0; s < steps; ++s) {
      WAIT_COPIES(STAGES - 2);
      sync_warp();
      if (s + STAGES - 1 < steps) copy_rows(own + (s + STAGES - 1) % STAGES * STAGE_BYTES, &read, first, first_read + (s + STAGES - 1) * ROWS, lane);
      end_copies();
      local uchar* stage = own + s % STAGES * STAGE_BYTES;
      if (edges) make_edges(stage, &read, first, first_read + s * ROWS, lane);
UNROLL_ROWS
      for (int k = 0; k < ROWS; ++k) {
        local const uchar* from = stage + k * PITCH + 16 - SIDE + BLOCK * (lane / 4) + 8 * (lane % 4);
        const uint2 low = *(local const uint2*)from, high = *(local const uint2*)(from + STRIP / HALVES);
        const uint bytes[4] = {low.s0, high.s0, low.s1, high.s1};
        row_sums made;
        add_row(&made, &sums[WINDOW_Y - 1], bytes, factors[WINDOW_Y - 1] SCRATCH_ARGUMENT);
UNROLL_UNITS
        for (int j = WINDOW_Y - 2; j >= 0; --j) add_row(&sums[j + 1], &sums[j], bytes, factors[j] SCRATCH_ARGUMENT);
        const int row = s * ROWS + k - (WINDOW_Y - 1);
        if (row < 0 || row >= rows || !is_written(BOUNDARY, (ulong)(top + row), -BEFORE_Y, WINDOW_Y, height)) continue;
#pragma unroll
        for (uint h = 0; h < HALVES; ++h) store_word(&write, top + row, h, results_of(&made, h, unit));
      }
    }
    sync_warp();  // the next strip's copies take the place of bytes that may still be read
  }
}
