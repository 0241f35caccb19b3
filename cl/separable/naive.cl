// Separable filter, first step of the ladder: a work-item reads the row_taps * column_taps elements of its result's window from
// global memory. No local memory; only the caches reuse the elements that windows share.
//
// Launch: three dimensions of work-items: element of a row, row, plane; grid-stride loops over the last two.
#include "separable/arguments.clh"
#include "common/group_by_dimension.clh"

kernel __attribute__((reqd_work_group_size(GROUP_0, GROUP_1, GROUP_2)))
void separable_naive(SEPARABLE_ARGUMENTS, few_weights few) {
  (void)band, (void)streaming, (void)scratch, (void)few;
  const ulong col = first_col + get_global_id(0);
  if (col >= end_col) return;  // no barrier follows
  const long first = (long)col - (long)row_origin * CHANNELS;
  const uint inside = first >= 0 && first + (long)(row_taps - 1) * CHANNELS < (long)width;
  for (ulong p = get_global_id(2); p < planes; p += get_global_size(2)) {
    global const ELEMENT* from = in + plane_offset(p, depth, in_offset, in_stride, in_plane);
    global RESULT* to = out + plane_offset(p, depth, out_offset, out_stride, out_plane);
    for (ulong row = first_row + get_global_id(1); row < end_row; row += get_global_size(1)) {
      VALUE sum = 0;
      for (uint j = 0; j < column_taps; ++j) {
        const long source = place_within((long)row + (long)j - (long)column_origin, (long)rows);
        global const ELEMENT* line = from + (ulong)(source < 0 ? 0 : source) * in_pitch;
        VALUE row_sum = 0;
        for (uint i = 0; i < row_taps; ++i) {
          const long at = first + (long)i * CHANNELS;
          const long place = inside ? at : element_within(at, (long)width);
          row_sum += row_weights(weights)[i] * (source < 0 || place < 0 ? value_beyond(weights) : load_value(line, place));
        }
        sum += column_weights(weights, row_taps)[j] * row_sum;
      }
      store_pixel(to + row * out_pitch, col, finish_sum(sum, from + row * in_pitch, col, weights, row_taps * column_taps));
    }
  }
}
