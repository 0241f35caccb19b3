// Separable filter in two passes, for windows that neither registers nor local memory hold: PASS 0 sums along rows into a scratch of the planes'
// size, PASS 1 sums the scratch along columns.
//
// A work-item computes RUN neighbours, of a channel of a row or down a column: a value that it has read is multiplied for all of them. Values of
// rows come through local memory, with TAPS weights at a time; RUN is odd, so that neighbouring work-items read different banks.
//
// Launch: three dimensions of work-items: PASS 0: groups of GROUP_0 x 1 x 1 for GROUP_0 / CHANNELS * RUN cells, row, plane; PASS 1: element of a
// row, RUN rows, plane; grid-stride loops over the last two.
#include "common/attributes.clh"
#include "separable/arguments.clh"

#ifndef PASS
#define PASS 0  // 0: rows into the scratch, 1: its columns into the output
#endif
#ifndef RUN
#define RUN 13  // results of a work-item
#endif
#ifndef TAPS
#define TAPS 65  // of PASS 0, at a time: a multiple of RUN
#endif
#include "common/group_by_dimension.clh"

#define LANES (GROUP_0 / CHANNELS)
#define CELLS (LANES * RUN)  // of a row, with results of a group
#define MEMORY ((CELLS + TAPS - 1) * CHANNELS)
#if PASS == 0
#define SPACE local
#else
#define SPACE global
#endif
#include "separable/pass_sums.clh"

kernel __attribute__((reqd_work_group_size(GROUP_0, GROUP_1, GROUP_2)))
void separable_pass(SEPARABLE_ARGUMENTS, few_weights few) {
  (void)band, (void)streaming, (void)few;
#if PASS == 0
  (void)out, (void)out_offset, (void)out_pitch, (void)out_plane, (void)out_stride, (void)column_taps, (void)column_origin;
  (void)first_row, (void)end_row;
  local VALUE memory[MEMORY];
  const uint item = (uint)get_local_id(0), own = item / CHANNELS * RUN * CHANNELS + item % CHANNELS;
  const bool has_results = item < LANES * CHANNELS;
  const ulong col = first_col + get_group_id(0) * (CELLS * CHANNELS);
  // The end of the elements that results need: those farther away may have no place.
  const long end = (long)end_col + ((long)row_taps - 1 - (long)row_origin) * CHANNELS;
#else
  const ulong col = first_col + get_global_id(0);
  if (col >= end_col) return;  // no barrier follows
  VALUE beyond = 0;  // the sum along a row beyond the edges
  for (uint i = 0; i < row_taps; ++i) beyond += row_weights(weights)[i] * value_beyond(weights);
#endif
  for (ulong p = get_global_id(2); p < planes; p += get_global_size(2)) {
    global const ELEMENT* from = in + plane_offset(p, depth, in_offset, in_stride, in_plane);
    global VALUE* sums = scratch + p * rows * width;
#if PASS == 0
    for (ulong row = get_global_id(1); row < rows; row += get_global_size(1)) {
      VALUE made[RUN] = {0};
      for (uint tap = 0; tap < row_taps; tap += TAPS) {
        const uint count = min(row_taps - tap, (uint)TAPS);
        const long first = (long)col + ((long)tap - (long)row_origin) * CHANNELS;
        const uint values = (CELLS + count - 1) * CHANNELS;
        if (first >= 0 && first + (long)values <= (long)width) {
          for (uint i = item; i < values; i += GROUP_0) memory[i] = load_value(from + row * in_pitch + first, i);
        } else {
#pragma unroll 1
          for (uint i = item; i < values; i += GROUP_0) {
            const long place = element_within(min(first + (long)i, end - 1), (long)width);
            memory[i] = place < 0 ? value_beyond(weights) : load_value(from + row * in_pitch, place);
          }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        const line_of_values line = {memory + own, CHANNELS, 0, 0, 0, 0};
        if (has_results) add_taps(made, &line, row_weights(weights) + tap, count, false);
        barrier(CLK_LOCAL_MEM_FENCE);  // before local memory is used again
      }
      if (has_results)
#pragma unroll
        for (uint r = 0; r < RUN; ++r) memory[own + r * CHANNELS] = made[r];
      barrier(CLK_LOCAL_MEM_FENCE);
      for (uint i = item; i < CELLS * CHANNELS; i += GROUP_0)
        if (col + i < end_col) sums[row * width + col + i] = memory[i];
      barrier(CLK_LOCAL_MEM_FENCE);
    }
#else
    global RESULT* to = out + plane_offset(p, depth, out_offset, out_stride, out_plane);
    for (ulong top = first_row + get_global_id(1) * RUN; top < end_row; top += get_global_size(1) * RUN) {
      const long first = (long)top - (long)column_origin, most = first + (long)column_taps + RUN - 1;
      const line_of_values line = {sums + col, width, first, (long)end_row - (long)column_origin + (long)column_taps - 1, (long)rows, beyond};
      const line_of_values inside = {sums + ((ulong)max(first, 0L) * width + col), width, 0, 0, 0, 0};
      VALUE made[RUN] = {0};
      if (first >= 0 && most <= (long)rows)
        add_taps(made, &inside, column_weights(weights, row_taps), column_taps, false);
      else
        add_taps(made, &line, column_weights(weights, row_taps), column_taps, true);
#pragma unroll
      for (uint r = 0; r < RUN; ++r)
        if (top + r < end_row)
          store_pixel(to + (top + r) * out_pitch, col, finish_sum(made[r], from + (top + r) * in_pitch, col, weights, row_taps * column_taps));
    }
#endif
  }
}
