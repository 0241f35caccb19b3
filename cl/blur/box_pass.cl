// The first launch of a box blur in two passes where boxes are too long for a tile of local memory: sums along rows, into the scratch. A
// work-item computes RUN sums by a running sum: it adds the element that enters the box and subtracts the one that leaves it. A run with a
// number that is not finite is summed again for each result.
//
// Launch: three dimensions of work-items: run of a row, row, plane; grid-stride loops over the last two.
#include "blur/box.clh"
#include "blur/sums.clh"

#ifndef RUN
#define RUN 64
#endif
#include "common/group_by_dimension.clh"

static inline SUM sum_at(global const ELEMENT* row, long i, long width, SUM beyond) {
  const long place = element_within(i, width);
  return place < 0 ? beyond : load_sum(row, (ulong)place);
}

// The sum of `taps` cells from element i on.
static inline SUM sum_anew(global const ELEMENT* row, long i, uint taps, long width, SUM beyond) {
  SUM high = 0, low = 0;
  for (long n = 0; n < (long)taps; ++n) add_sum(&high, &low, sum_at(row, i + n * CHANNELS, width, beyond));
  return total_of(high, low);
}

kernel __attribute__((reqd_work_group_size(GROUP_0, GROUP_1, GROUP_2)))
void box_pass(SEPARABLE_ARGUMENTS) {
  (void)band, (void)streaming;
  global SUM* sums = (global SUM*)scratch;
  (void)out, (void)out_offset, (void)out_pitch, (void)out_plane, (void)out_stride, (void)first_row, (void)end_row;
  (void)first_col, (void)end_col, (void)column_taps, (void)column_origin;
  // A run has whole cells.
  const ulong pitch = sums_pitch(width), begin = get_global_id(0) * (RUN * CHANNELS), end = min(begin + RUN * CHANNELS, width);
  if (begin >= width) return;  // no barrier follows
  for (ulong p = get_global_id(2); p < planes; p += get_global_size(2)) {
    for (ulong row = get_global_id(1); row < rows; row += get_global_size(1)) {
      global const ELEMENT* from = in + plane_offset(p, depth, in_offset, in_stride, in_plane) + row * in_pitch;
      for (uint c = 0; c < CHANNELS; ++c) {
        SUM high = 0, low = 0;
        long in_place = (long)(begin + c) - (long)row_origin * CHANNELS, out_place = in_place;
        for (uint i = 0; i < row_taps - 1; ++i, in_place += CHANNELS)
          add_sum(&high, &low, sum_at(from, in_place, (long)width, (SUM)value_beyond(weights)));
        for (ulong col = begin + c; col < end; col += CHANNELS, in_place += CHANNELS, out_place += CHANNELS) {
          add_sum(&high, &low, sum_at(from, in_place, (long)width, (SUM)value_beyond(weights)));
          sums[(p * rows + row) * pitch + col] = high + low;
          add_sum(&high, &low, -sum_at(from, out_place, (long)width, (SUM)value_beyond(weights)));
        }
        if (!is_spoiled(high + low)) continue;
        for (ulong col = begin + c; col < end; col += CHANNELS) {
          sums[(p * rows + row) * pitch + col] =
              sum_anew(from, (long)col - (long)row_origin * CHANNELS, row_taps, (long)width, (SUM)value_beyond(weights));
        }
      }
    }
  }
}
