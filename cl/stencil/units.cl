// Stencil by matrix units. Of bytes, where all weights are whole multiples of one power of two that int8 holds: exact sums. Of halves: any
// weights, as two halves each, and sums of floats.
//
// A warp has a strip of 256 neighbouring bytes, interleaved channels too, and goes down a band of rows. A row's 16 blocks of 16 bytes, each with
// 8 bytes before it and 8 after it, are the 16 rows of a matrix; times a band of the weights of row j of the window they make the block's
// sums of that row. A row that is read is multiplied by the weights of all rows of the window, and added to the sums of as many rows of
// results: it is loaded once, and all sums stay in registers.
//
// The order of k and of the columns of a product is free. It is chosen so that a warp's words of a row are neighbours, and a work-item has 4
// neighbouring bytes of results. The elements come through local memory of the warp's own, by asynchronous copies of 16 bytes, STAGES - 1 times
// ROWS rows ahead of time: the registers are for sums. Those beyond the ends of rows are put there when the others have come.
//
// Rows begin at multiples of 16 bytes, those of results of 4. Launch: one dimension, GROUP work-items a group, whole warps of 32, a warp for each
// strip of `band` rows. EMULATED: one warp a group.
#ifndef ELEMENT
#define ELEMENT uchar
#define RESULT uchar
#define RESULT_HIGH 255
#endif
#define FIXED  // compiled for one window and boundary
#include "common/work_group.clh"
#include "stencil/cells.clh"
#ifndef ELEMENT_BYTES
#define ELEMENT_BYTES 1  // 2: of half
#endif
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
#ifndef EMULATED
#define EMULATED 1  // 0: mma.sync
#endif
#if !EMULATED
#include "nvidia/copy_async.clh"
#endif
#if ELEMENT_HALF
typedef ushort stored;
#include "stencil/half_products.clh"
#else
typedef uchar stored;
#include "stencil/byte_products.clh"
#endif
#include "common/group_size.clh"
#define STRIP (256 / ELEMENT_BYTES)  // elements of a warp
#define REACH (8 / ELEMENT_BYTES)    // that are used before a block, and after it
#define BLOCK (16 / ELEMENT_BYTES)
#define VECTOR (16 / ELEMENT_BYTES)
#define SIDE VECTOR
#define COPIERS 32
#define ROWS 8  // of a stage
#define PITCH (STRIP + 2 * SIDE)
#define STAGE_WORDS (ROWS * PITCH * ELEMENT_BYTES / 4)
#include "common/unit_rows.clh"
#include "stencil/unit_window.clh"

// Adds the rows of a stage to all sums whose windows contain them, and writes the results that they complete: of the band's row `row` and those
// after it, with `all` all of them, without a test. `from`: the work-item's first word.
GROUP_FUNCTION void add_rows(unit_sums sums[WINDOW_Y], local const uint* from, uint factors[WINDOW_Y][2][2], const write_rows* write, int row,
                             float unit, uint* check, const bool all SCRATCH_PARAMETER) {
  global stored* to = write->to + (long)row * (long)write->pitch;
UNROLL_ROWS
  for (int k = 0; k < ROWS; ++k, ++row, to += write->pitch, from += STAGE_WORDS / ROWS) {
    // Blocks lane / 4 and 8 later: the first 16 bytes of what each uses, and the last ones.
    const uint words[4] = {from[0], from[32], from[4], from[36]};
    unit_sums made;
    add_row(&made, &sums[WINDOW_Y - 1], words, factors[WINDOW_Y - 1] SCRATCH_ARGUMENT);
UNROLL_UNITS
    for (int j = WINDOW_Y - 2; j >= 0; --j) add_row(&sums[j + 1], &sums[j], words, factors[j] SCRATCH_ARGUMENT);
    begin_sums(&sums[0]);
    const uint low = results_of(&made, 0, unit), high = results_of(&made, 1, unit);
    if (all) {
      *(global uint*)to = low;
      *(global uint*)(to + STRIP / 2) = high;
      *check |= suspect_bits(low) | suspect_bits(high);
    } else if (is_row_written(write, row)) {
      store_columns(write, to, low, high, check);
    }
  }
}

kernel GROUP_SIZE
void stencil_units(STENCIL_ARGUMENTS) {
#if EMULATED
  local uint scratch[GROUP * 6];
#endif
  const uint lane = get_local_id(0) % 32;
  local placed_weight placed[WINDOW_Y * PLACES];
  local uint stages[GROUP / 32 * STAGES * STAGE_WORDS] __attribute__((aligned(16)));
  local uint* own = stages + get_local_id(0) / 32 * (STAGES * STAGE_WORDS);
  const float unit = weights[1 + WEIGHTS];
  const ulong elements = out_width * CHANNELS, strips = (elements + STRIP - 1) / STRIP, bands = (out_height + band - 1) / band;
  const ulong t = GROUP == 32 ? get_group_id(0) : get_global_id(0) / 32;  // of a group of one warp compilers know that it is uniform
  place_weights(placed, weights, 1 / unit);
  if (t < strips * bands * out_depth * batch) {
    const ulong line = t / strips, p = line / bands, grid = grid_of(p, out_depth, batch), z = p - grid * out_depth;
    const int left = (int)((t - line * strips) * STRIP), top = (int)((line - p * bands) * band), first_read = top - BEFORE_Y;
    const read_rows read = {(global const stored*)in + in_offset + grid * in_stride + z * in_plane, in_pitch, (int)(width * CHANNELS), (int)height,
                            left - SIDE, stored_bits(weights[0])};
    write_rows write;
    find_written(&write, (global stored*)out + out_offset + grid * out_stride + z * out_plane, out_pitch, left, top,
                 min((int)band, (int)out_height - top), (int)elements, (int)width, (int)height, lane);
    copied_vectors copied;
    find_vectors(&copied, &read, lane);
    const bool edges = has_edges(&read);
    edge_moves moves;
    find_moves(&moves, &read, lane);
    const int steps = (write.end_row + WINDOW_Y - 1 + ROWS - 1) / ROWS;
#pragma unroll 1
    for (int s = 0; s < STAGES - 1; ++s) {
      if (s < steps) copy_rows((local stored*)(own + s * STAGE_WORDS), &read, &copied, first_read + s * ROWS, lane);
      end_copies();
    }
    // While the first rows come.
    uint factors[WINDOW_Y][2][2];
    find_factors(factors, placed, lane);
    unit_sums sums[WINDOW_Y];  // sums[j]: of rows 0 to j - 1 of the window
#pragma unroll
    for (uint j = 0; j < WINDOW_Y; ++j) begin_sums(&sums[j]);
    uint stage = 0;
#pragma unroll 1
    for (int s = 0; s < steps; ++s) {
      const uint item = HIDDEN(lane);  // so that what only copies need is computed again, instead of kept in registers
      WAIT_COPIES(STAGES - 2);
      sync_warp();
      if (s + STAGES - 1 < steps) {
        find_vectors(&copied, &read, item);
        copy_rows((local stored*)(own + (stage == 0 ? STAGES - 1 : stage - 1) * STAGE_WORDS), &read, &copied,
                  first_read + (s + STAGES - 1) * ROWS, item);
      }
      end_copies();
      local uint* from = own + stage * STAGE_WORDS;
      if (edges) {
        make_edges((local stored*)from, &read, &moves, first_read + s * ROWS, item);
        sync_warp();
      }
      stage = stage == STAGES - 1 ? 0 : stage + 1;
      from += (SIDE - REACH) * ELEMENT_BYTES / 4 + lane;
      const int row = s * ROWS - (WINDOW_Y - 1);
      uint check = 0;
      if (write.whole && row >= write.first_row && row + ROWS <= write.end_row)
        add_rows(sums, from, factors, &write, row, unit, &check, true SCRATCH_ARGUMENT);
      else
        add_rows(sums, from, factors, &write, row, unit, &check, false SCRATCH_ARGUMENT);
      if (is_suspect(check)) store_again(&write, &read, weights, first_read + s * ROWS, row, left, lane);
    }
  }
}
