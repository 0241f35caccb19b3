// Convolution of many channels, first step of the ladder: a work-item computes one result from elements and weights in global
// memory.
//
// Launch: three dimensions of work-items: column of a plane of results, row, and plane; grid-stride loops over rows and planes.
// No local memory.
#include "conv2d/arguments.clh"
#include "common/group_by_dimension.clh"

kernel __attribute__((reqd_work_group_size(GROUP_0, GROUP_1, GROUP_2)))
void conv2d_naive(CONV2D_ARGUMENTS) {
  CONV2D_NUMBERS
  (void)block_k, (void)tile_w, (void)tile_h, (void)depth;
  const ulong planes = images * groups * out_channels;
  // From one cell to the next.
  const ulong in_cell = IN_INTERLEAVED ? (ulong)groups * in_channels : 1, out_cell = OUT_INTERLEAVED ? (ulong)groups * out_channels : 1;
  const uint x = get_global_id(0);
  if (x >= out_w) return;  // no barrier follows
  const int left = (int)(x * stride_x) - (int)pad_left;
  for (ulong plane = get_global_id(2); plane < planes; plane += get_global_size(2)) {
    const ulong n = plane / ((ulong)groups * out_channels);
    const uint k = plane - n * ((ulong)groups * out_channels), group = k / out_channels;
    global const ELEMENT* from = in + in_offset + n * in_stride + (ulong)group * in_channels * in_plane;
    for (uint y = get_global_id(1); y < out_h; y += get_global_size(1)) {
      const int top = (int)(y * stride_y) - (int)pad_top;
      global const ELEMENT* w = weights + weight_offset + k * weight_stride;
      VALUE sum = 0;
      for (uint c = 0; c < in_channels; ++c) {
        for (uint r = 0; r < window_h; ++r) {
          const int row = top + (int)(r * dilation_y);
          global const ELEMENT* line = from + c * in_plane + (ulong)max(row, 0) * in_pitch;
          for (uint s = 0; s < window_w; ++s) {
            const ulong at = WEIGHTS_INTERLEAVED ? (ulong)(r * window_w + s) * in_channels + c
                                                 : ((ulong)c * window_h + r) * window_w + s;
            // Negative numbers are very large as unsigned ones.
            const uint col = (uint)left + s * dilation_x;
            if ((uint)row < in_h && col < in_w) sum += load_value(line, col * in_cell) * load_value(w, at);
          }
        }
      }
      if (with_bias) sum += load_bias(bias, bias_offset + k);
      store_result(out + out_offset + n * out_stride + k * out_plane + (ulong)y * out_pitch, x * out_cell, activate(sum));
    }
  }
}
