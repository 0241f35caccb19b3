// Mean of a box in two passes, for boxes that are too large for local memory: sums along rows into a scratch, then down its columns. A work-item
// computes RUN results by a running sum: it adds the element that enters the box and subtracts the one that leaves it, so the cost does not
// depend on the size of the box. A run with a number that is not finite is summed again for each result.
//
// Launch: three dimensions of work-items: PASS 0: run of a row, row, plane; PASS 1: column, run of rows, plane.
#include "blur/box.clh"
#include "blur/sums.clh"

#ifndef PASS
#define PASS 0
#endif
#ifndef RUN
#define RUN 64
#endif
#include "common/group_by_dimension.clh"

#if PASS == 0
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
#else
static inline SUM sum_at(global const SUM* column, long i, long rows, ulong pitch, SUM beyond) {
  const long place = place_within(i, rows);
  return place < 0 ? beyond : column[(ulong)place * pitch];
}

static inline SUM sum_anew(global const SUM* column, long i, uint taps, long rows, ulong pitch, SUM beyond) {
  SUM high = 0, low = 0;
  for (long n = 0; n < (long)taps; ++n) add_sum(&high, &low, sum_at(column, i + n, rows, pitch, beyond));
  return total_of(high, low);
}
#endif

kernel __attribute__((reqd_work_group_size(GROUP_0, GROUP_1, GROUP_2)))
void box_pass(SEPARABLE_ARGUMENTS) {
  (void)band, (void)streaming;
  global SUM* sums = (global SUM*)scratch;
#if PASS == 0
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
#else
  (void)in, (void)in_offset, (void)in_pitch, (void)in_plane, (void)in_stride, (void)row_origin;
  const ulong pitch = sums_pitch(width), col = first_col + get_global_id(0);
  if (col >= end_col) return;  // no barrier follows
  const SUM beyond = (SUM)value_beyond(weights) * (SUM)row_taps;
  const uint area = row_taps * column_taps;
  const VALUE inverse = (VALUE)1 / (VALUE)area;
  for (ulong p = get_global_id(2); p < planes; p += get_global_size(2)) {
    global const SUM* column = sums + p * rows * pitch + col;
    for (ulong begin = first_row + get_global_id(1) * RUN; begin < end_row; begin += get_global_size(1) * RUN) {
      SUM high = 0, low = 0;
      long in_place = (long)begin - (long)column_origin, out_place = in_place;
      for (uint i = 0; i < column_taps - 1; ++i, ++in_place)
        add_sum(&high, &low, sum_at(column, in_place, (long)rows, pitch, beyond));
      for (ulong row = begin; row < min(begin + RUN, end_row); ++row, ++in_place, ++out_place) {
        add_sum(&high, &low, sum_at(column, in_place, (long)rows, pitch, beyond));
        store_mean(out + plane_offset(p, depth, out_offset, out_stride, out_plane) + row * out_pitch, col, high + low, area, inverse);
        add_sum(&high, &low, -sum_at(column, out_place, (long)rows, pitch, beyond));
      }
      if (!is_spoiled(high + low)) continue;
      for (ulong row = begin; row < min(begin + RUN, end_row); ++row) {
        const SUM sum = sum_anew(column, (long)row - (long)column_origin, column_taps, (long)rows, pitch, beyond);
        store_mean(out + plane_offset(p, depth, out_offset, out_stride, out_plane) + row * out_pitch, col, sum, area, inverse);
      }
    }
  }
#endif
}
