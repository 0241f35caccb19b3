// im2col: the windows of all results of a convolution as the columns of a matrix, for a matrix product. Row (c * window_h + r) *
// window_w + s of the matrix of an image has in(c, y * stride_y + r * dilation_y - pad_top, x * stride_x + s * dilation_x -
// pad_left) for every result (y, x) of the rows first_y to first_y + rows - 1, or 0 outside of the plane. Elements are not
// converted. K. Chellapilla, S. Puri and P. Simard, "High performance convolutional neural networks for document processing",
// IWFHR 2006.
//
// `in`: channel 0 of the first image; `columns`: images follow each other, without gaps.
//
// Launch: three dimensions of work-items: EACH results of the matrix's rows, channel, image; a work-item writes them to all
// rows of its channel. CPU: the third dimension only, of rows of the matrix. Grid-stride loops. No local memory.
#include "common/element.clh"
#include "common/group_by_dimension.clh"
#ifndef EACH
#define EACH 1  // vector width, in results: 4 if all rows of the matrix begin at a multiple of 4, else 1
#endif
#ifndef CPU
#define CPU 0  // 1: a work-item has whole rows of the matrix
#endif

#if ELEMENT_BYTES == 1
typedef uchar4 element4;
#elif ELEMENT_BYTES == 2
typedef ushort4 element4;
#elif ELEMENT_BYTES == 4
typedef uint4 element4;
#else
typedef ulong4 element4;
#endif

kernel __attribute__((reqd_work_group_size(GROUP_0, GROUP_1, GROUP_2)))
void conv2d_columns(global const element* in, ulong in_offset, ulong in_pitch, ulong in_plane, ulong in_stride,
                    global element* columns, ulong images, uint channels, uint in_w, uint in_h, uint out_w, uint first_y,
                    uint rows, uint window_w, uint window_h, uint stride_x, uint stride_y, uint dilation_x, uint dilation_y,
                    uint pad_left, uint pad_top) {
  const uint taps = window_w * window_h;
  const ulong results = (ulong)rows * out_w;  // of an image's slice: they fit an int
  // No barrier follows.
#if CPU
  const ulong depth = (ulong)channels * taps;
  for (ulong line = get_global_id(2); line < images * depth; line += get_global_size(2)) {
    const ulong n = line / depth;
    const ulong place = line - n * depth;
    const uint c = place / taps, tap = place - (ulong)c * taps, r = tap / window_w, s = tap - r * window_w;
    global const element* from = in + in_offset + n * in_stride + c * in_plane;
    global element* to = columns + line * results;
    const long left = (long)s * dilation_x - pad_left;
    // Results in [first, end) read a column that lies in the plane.
    const long first = clamp(left >= 0 ? 0L : (-left + stride_x - 1) / stride_x, 0L, (long)out_w);
    const long end = clamp(left >= (long)in_w ? 0L : ((long)in_w - left + stride_x - 1) / stride_x, first, (long)out_w);
    for (uint y = 0; y < rows; ++y, to += out_w) {
      const long row = (long)(first_y + (ulong)y) * stride_y + (long)r * dilation_y - pad_top;
      if (row < 0 || row >= (long)in_h) {
        for (uint x = 0; x < out_w; ++x) to[x] = 0;
        continue;
      }
      global const element* source = from + row * in_pitch + left;
      for (long x = 0; x < first; ++x) to[x] = 0;
      if (stride_x == 1) {
        for (long x = first; x < end; ++x) to[x] = source[x];
      } else {
        for (long x = first; x < end; ++x) to[x] = source[x * stride_x];
      }
      for (long x = end; x < (long)out_w; ++x) to[x] = 0;
    }
  }
#else
  const uint first = get_global_id(0) * EACH;
  if (first >= results) return;
  // Where the windows of the work-item's results begin; negative numbers are very large as unsigned ones.
  uint tops[EACH], lefts[EACH];
  uint y = first / out_w, x = first - y * out_w;
#pragma unroll
  for (uint i = 0; i < EACH; ++i) {
    tops[i] = (first_y + y) * stride_y - pad_top;
    lefts[i] = x * stride_x - pad_left;
    if (++x == out_w) x = 0, ++y;
  }
  for (ulong n = get_global_id(2); n < images; n += get_global_size(2)) {
    for (uint c = get_global_id(1); c < channels; c += get_global_size(1)) {
      global const element* from = in + in_offset + n * in_stride + c * in_plane;
      global element* to = columns + (n * channels + c) * taps * results + first;
      for (uint r = 0; r < window_h; ++r) {
        for (uint s = 0; s < window_w; ++s, to += results) {
          element values[EACH];
#pragma unroll
          for (uint i = 0; i < EACH; ++i) {
            const uint row = tops[i] + r * dilation_y, col = lefts[i] + s * dilation_x;
            values[i] = 0;
            if (row < in_h && col < in_w) values[i] = from[row * in_pitch + col];
          }
#if EACH == 4
          *(global element4*)to = (element4)(values[0], values[1], values[2], values[3]);
#else
          to[0] = values[0];
#endif
        }
      }
    }
  }
#endif
}
