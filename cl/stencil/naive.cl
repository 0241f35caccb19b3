// Stencil from global memory, without local memory: the baseline. Only the caches reuse the cells that windows share. Any window,
// stride and dilation.
//
// Launch: a work-item for each element of a row (cells times channels), row, and plane of all grids; grid-stride loops over
// the last two dimensions.
#include "stencil/cells.clh"

static inline VALUE read_cell(uint edge, global const ELEMENT* in, ulong pitch, ulong plane, long x, long y, long z, long width,
                              long height, long depth, uint channel, VALUE beyond) {
  const long at_x = place_by(edge, x, width), at_y = place_by(edge, y, height), at_z = place_by(edge, z, depth);
  if ((at_x | at_y | at_z) < 0) return beyond;
  return load_value(in, (ulong)at_z * plane + (ulong)at_y * pitch + (ulong)at_x * CHANNELS + channel);
}

kernel void stencil_naive(STENCIL_ARGUMENTS) {
  const ulong element = get_global_id(0), x = element / CHANNELS;
  const uint channel = (uint)(element - x * CHANNELS);
  if (x >= out_width || !is_written(EDGE, x, first_x, size_x, width)) return;
  for (ulong p = get_global_id(2); p < out_depth * batch; p += get_global_size(2)) {
    const ulong grid = grid_of(p, out_depth, batch), z = p - grid * out_depth;
    global const ELEMENT* from = in + in_offset + grid * in_stride;
    for (ulong y = get_global_id(1); y < out_height; y += get_global_size(1)) {
      if (!is_written(EDGE, y, first_y, size_y, height) || !is_written(EDGE, z, first_z, size_z, depth)) continue;
#if SHAPE == CUSTOM
#define NEIGHBOUR(dx, dy, dz)                                                                                  \
  read_cell(EDGE, from, in_pitch, in_plane, (long)x + (dx), (long)y + (dy), (long)z + (dz), (long)width, (long)height, \
            (long)depth, channel, BEYOND)
      const VALUE sum = EXPRESSION;
      (void)first_x, (void)first_y, (void)first_z, (void)size_x, (void)size_y, (void)size_z;
      (void)stride_x, (void)stride_y, (void)dilation_x, (void)dilation_y, (void)star;
#else
      const long x0 = (long)(x * stride_x) + first_x, y0 = (long)(y * stride_y) + first_y, z0 = (long)z + first_z;
      const window_shape shape = shape_of(IS_STAR, first_x, first_y, first_z, size_x, size_y);
      VALUE sum = 0;
      uint n = 1;
      for (uint k = 0; k < size_z; ++k)
        for (uint j = begin_y(shape, k); j < end_y(shape, k); ++j)
          for (uint i = begin_x(shape, k, j); i < end_x(shape, k, j); ++i) {
            const VALUE cell = read_cell(EDGE, from, in_pitch, in_plane, x0 + (long)(i * dilation_x), y0 + (long)(j * dilation_y),
                                         z0 + k, (long)width, (long)height, (long)depth, channel, BEYOND);
            sum = fma(weights[n++], cell, sum);
          }
#endif
      store_cell(out + out_offset + grid * out_stride + z * out_plane + y * out_pitch, element, sum);
    }
  }
}
