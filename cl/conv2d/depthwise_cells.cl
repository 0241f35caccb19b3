// Convolution of interleaved channels, each by a filter of its own (depthwise): as many groups as channels and filters. Each element is
// read from global memory about once, and again from the cache by the neighbours of the work-item.
//
// A work-item has PACK channels of EACH_X columns of EACH_Y rows of results in registers, and their weights. It loads rows of cells one
// after the other, as far as its windows reach, and adds each to all results that see it. Neighbouring work-items have neighbouring
// channels, then the next columns.
//
// Launch: three dimensions of work-items: blocks of results of an image, channels innermost; 1; images, with a grid-stride loop. No local
// memory.
#ifndef PACK
#define PACK 4  // channels of a work-item: 4 where all cells begin at multiples of 4 elements and have such numbers of channels, else 1
#endif
#include "conv2d/arguments.clh"

#ifndef GROUP_0
#define GROUP_0 256  // work-group, by dimension
#endif
#ifndef GROUP_1
#define GROUP_1 1
#endif
#ifndef GROUP_2
#define GROUP_2 1
#endif
#ifndef WINDOW_W
#define WINDOW_W 3
#endif
#ifndef WINDOW_H
#define WINDOW_H 3
#endif
#ifndef STRIDE_X
#define STRIDE_X 1
#endif
#ifndef STRIDE_Y
#define STRIDE_Y 1
#endif
#ifndef EACH_X
#define EACH_X 2  // columns of a work-item's results
#endif
#ifndef EACH_Y
#define EACH_Y 4  // rows
#endif
#define LINE ((EACH_X - 1) * STRIDE_X + WINDOW_W)   // cells of a row that a work-item needs
#define LINES ((EACH_Y - 1) * STRIDE_Y + WINDOW_H)  // rows

#if PACK == 1
typedef VALUE vector;
#else
typedef JOIN(VALUE, 4) vector;
#endif

static inline vector load_cell(global const ELEMENT* p) {
#if PACK == 1
  return load_value(p, 0);
#elif WHOLE_SUMS
  return convert_int4(*(global const char4*)p);
#else
  return load_pack(p, 0);
#endif
}

static inline void store_cell(vector v, global RESULT* p) {
#if PACK == 1
  store_result(p, 0, activate(v));
#else
  store_four((vector)(activate(v.s0), activate(v.s1), activate(v.s2), activate(v.s3)), p);
#endif
}

// Number i of each channel's filter, or of its bias.
static inline vector load_filters(global const ELEMENT* filter, ulong apart, uint i) {
#if PACK == 1
  return load_value(filter, i);
#else
  return (vector)(load_value(filter, i), load_value(filter, apart + i), load_value(filter, 2 * apart + i),
                  load_value(filter, 3 * apart + i));
#endif
}
static inline vector load_biases(global const RESULT* bias, ulong i) {
#if PACK == 1
  return load_bias(bias, i);
#else
  return (vector)(load_bias(bias, i), load_bias(bias, i + 1), load_bias(bias, i + 2), load_bias(bias, i + 3));
#endif
}

kernel __attribute__((reqd_work_group_size(GROUP_0, GROUP_1, GROUP_2)))
void conv2d_depthwise_cells(CONV2D_ARGUMENTS) {
  (void)in_channels, (void)out_channels, (void)window_w, (void)window_h;  // known to the compiler
  (void)stride_x, (void)stride_y, (void)dilation_x, (void)dilation_y, (void)in_plane, (void)out_plane;
  (void)block_k, (void)tile_w, (void)tile_h, (void)depth;
  const uint across = (out_w + EACH_X - 1) / EACH_X, down = (out_h + EACH_Y - 1) / EACH_Y, packs = groups / PACK;
  const uint number = get_global_id(0), block = number / packs, k = (number - block * packs) * PACK;
  if (block >= across * down) return;  // no barrier follows
  const uint x = block % across * EACH_X, y = block / across * EACH_Y;
  const int left = (int)(x * STRIDE_X) - (int)pad_left, top = (int)(y * STRIDE_Y) - (int)pad_top;
  global const ELEMENT* filter = weights + weight_offset + k * weight_stride;
  vector w[WINDOW_H * WINDOW_W], first = 0;
#pragma unroll
  for (uint i = 0; i < WINDOW_H * WINDOW_W; ++i) w[i] = load_filters(filter, weight_stride, i);
  if (with_bias) first = load_biases(bias, bias_offset + k);
  for (ulong n = get_global_id(2); n < images; n += get_global_size(2)) {
    global const ELEMENT* from = in + in_offset + n * in_stride + k;
    vector sums[EACH_Y][EACH_X];
#pragma unroll
    for (uint i = 0; i < EACH_Y; ++i)
#pragma unroll
      for (uint j = 0; j < EACH_X; ++j) sums[i][j] = first;
#pragma unroll
    for (uint i = 0; i < LINES; ++i) {
      vector line[LINE];
      const bool is_there = (uint)(top + (int)i) < in_h;  // negative numbers are very large as unsigned ones
      const long row = (long)(top + (int)i) * (long)in_pitch;
#pragma unroll
      for (uint j = 0; j < LINE; ++j) {
        line[j] = 0;
        if (is_there && (uint)(left + (int)j) < in_w) line[j] = load_cell(from + (row + (long)(left + (int)j) * (long)groups));
      }
#pragma unroll
      for (uint r = 0; r < EACH_Y; ++r) {
        if (i < r * STRIDE_Y || i >= r * STRIDE_Y + WINDOW_H) continue;
#pragma unroll
        for (uint s = 0; s < WINDOW_W; ++s)
#pragma unroll
          for (uint j = 0; j < EACH_X; ++j)
            sums[r][j] = MULTIPLY_ADD(w[(i - r * STRIDE_Y) * WINDOW_W + s], line[j * STRIDE_X + s], sums[r][j]);
      }
    }
    global RESULT* to = out + out_offset + n * out_stride + k;
#pragma unroll
    for (uint r = 0; r < EACH_Y; ++r)
#pragma unroll
      for (uint j = 0; j < EACH_X; ++j)
        if (y + r < out_h && x + j < out_w) store_cell(sums[r][j], to + ((ulong)(y + r) * out_pitch + (ulong)(x + j) * groups));
  }
}
