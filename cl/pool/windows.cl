// Pooling, any window: a work-item makes one result after the other, from global memory.
//
// Launch: three dimensions of work-items: element of a row of results, bands of `band` rows, planes; what exceeds the launch
// is a loop. On a CPU a work-item has whole rows.
#include "pool/arguments.clh"
#include "common/group_by_dimension.clh"

kernel __attribute__((reqd_work_group_size(GROUP_0, GROUP_1, GROUP_2)))
void pool_windows(POOL_ARGUMENTS) {
  (void)scratch;
#if !INDICES
  (void)indices, (void)index_offset, (void)index_pitch, (void)index_plane, (void)index_stride;
#endif
  // No barrier follows.
  for (ulong p = get_global_id(2); p < planes; p += get_global_size(2)) {
    global const ELEMENT* from = in + plane_place(p, depth, in_offset, in_stride, in_plane);
    for (ulong first = get_global_id(1) * band; first < out_h; first += get_global_size(1) * band) {
      for (ulong y = first; y < min(first + band, out_h); ++y) {
        const long top = (long)(y * stride_h) - (long)pad_top;
        const long y0 = max(top, 0L), y1 = min(top + (long)window_h, (long)in_h);
        for (ulong col = get_global_id(0); col < out_w * CHANNELS; col += get_global_size(0)) {
          const ulong x = col / CHANNELS, c = col - x * CHANNELS;
          const long left = (long)(x * stride_w) - (long)pad_left;
          const long x0 = max(left, 0L), x1 = min(left + (long)window_w, (long)in_w);
#if AVERAGE
          pool_sum sum = 0;
          for (long row = y0; row < y1; ++row)
            for (long i = x0; i < x1; ++i) sum += (pool_sum)load_value(from + (ulong)row * in_pitch, (ulong)i * CHANNELS + c);
          const ulong count = COUNT_PADDING ? (ulong)window_w * window_h : (ulong)((y1 - y0) * (x1 - x0));
          store_pool_mean(out + plane_place(p, depth, out_offset, out_stride, out_plane) + y * out_pitch, col, sum, count);
#else
          VALUE greatest = load_value(from + (ulong)y0 * in_pitch, (ulong)x0 * CHANNELS + c);
          ulong place = (ulong)y0 * in_w + (ulong)x0;
          for (long row = y0; row < y1; ++row) {
            for (long i = x0; i < x1; ++i) {
              const VALUE v = load_value(from + (ulong)row * in_pitch, (ulong)i * CHANNELS + c);
              if (is_greater(v, greatest)) greatest = v, place = (ulong)row * in_w + (ulong)i;
            }
          }
          store_pixel(out + plane_place(p, depth, out_offset, out_stride, out_plane) + y * out_pitch, col, greatest);
#if INDICES
          indices[plane_place(p, depth, index_offset, index_stride, index_plane) + y * index_pitch + col] = (uint)place;
#else
          (void)place;
#endif
#endif
        }
      }
    }
  }
}
