// Separable filter in two passes, for windows that are too large for local memory: PASS 0 sums along rows into a scratch of the
// planes' size, PASS 1 sums the scratch along columns. No local memory; row_taps + column_taps loads a result.
//
// Launch: three dimensions of work-items: element of a row, row, plane; grid-stride loops over the last two.
#include "separable/arguments.clh"

#ifndef PASS
#define PASS 0  // 0: rows into the scratch, 1: its columns into the output
#endif
#include "common/group_by_dimension.clh"

kernel __attribute__((reqd_work_group_size(GROUP_0, GROUP_1, GROUP_2)))
void separable_pass(SEPARABLE_ARGUMENTS, few_weights few) {
  (void)band, (void)streaming, (void)few;
#if PASS == 0
  (void)out, (void)out_offset, (void)out_pitch, (void)out_plane, (void)out_stride, (void)column_taps, (void)column_origin;
  (void)first_row, (void)end_row;
#endif
  const ulong col = first_col + get_global_id(0);
  if (col >= end_col) return;  // no barrier follows
#if PASS == 0
  const long first = (long)col - (long)row_origin * CHANNELS;
  const uint inside = first >= 0 && first + (long)(row_taps - 1) * CHANNELS < (long)width;
#else
  VALUE beyond = 0;  // the sum along a row beyond the edges
  for (uint i = 0; i < row_taps; ++i) beyond += row_weights(weights)[i] * value_beyond(weights);
#endif
  for (ulong p = get_global_id(2); p < planes; p += get_global_size(2)) {
    global const ELEMENT* from = in + plane_offset(p, depth, in_offset, in_stride, in_plane);
    global VALUE* sums = scratch + p * rows * width;
#if PASS == 0
    for (ulong row = get_global_id(1); row < rows; row += get_global_size(1)) {
      global const ELEMENT* line = from + row * in_pitch;
      VALUE sum = 0;
      for (uint i = 0; i < row_taps; ++i) {
        const long at = first + (long)i * CHANNELS;
        const long place = inside ? at : element_within(at, (long)width);
        sum += row_weights(weights)[i] * (place < 0 ? value_beyond(weights) : load_value(line, place));
      }
      sums[row * width + col] = sum;
    }
#else
    global RESULT* to = out + plane_offset(p, depth, out_offset, out_stride, out_plane);
    for (ulong row = first_row + get_global_id(1); row < end_row; row += get_global_size(1)) {
      VALUE sum = 0;
      for (uint j = 0; j < column_taps; ++j) {
        const long source = place_within((long)row + (long)j - (long)column_origin, (long)rows);
        sum += column_weights(weights, row_taps)[j] * (source < 0 ? beyond : sums[(ulong)source * width + col]);
      }
      store_pixel(to + row * out_pitch, col, finish_sum(sum, from + row * in_pitch, col, weights, row_taps * column_taps));
    }
#endif
  }
}
