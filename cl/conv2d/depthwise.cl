// Convolution of planes, each by a filter of its own (depthwise): as many groups as channels and filters. Each element is read from
// global memory about once, and again from the cache by the neighbours of the work-item.
//
// A work-item has EACH_X columns of EACH_Y rows of results in registers. It loads rows of the input one after the other, as far as its
// windows reach, and adds each to all results that see it. With VECTORS it loads all rows first. Of each row, the elements under its results come
// as vectors of PACK elements, which begin at multiples of PACK, and those beside them one by one; EACH_X is PACK.
//
// Launch: a work-item for each block of results, blocks of a plane innermost. No local memory.
#include "conv2d/arguments.clh"
#include "conv2d/depthwise.clh"

#ifndef GROUP
#define GROUP 256
#endif
#ifndef EACH_X
#define EACH_X 4  // columns of a work-item's results
#endif
#ifndef EACH_Y
#define EACH_Y 4  // rows
#endif
#ifndef VECTORS
#define VECTORS 0
#endif
#ifndef PAD_LEFT
#define PAD_LEFT 1  // pad_left, with VECTORS
#endif
#ifndef PACK_OUT
#define PACK_OUT 1  // results that are written at once: 4 where all rows of the output begin at multiples of 4, as EACH_X is, else 1
#endif
#define LINE ((EACH_X - 1) * STRIDE_X + WINDOW_W)   // elements of a row that a work-item needs
#define LINES ((EACH_Y - 1) * STRIDE_Y + WINDOW_H)  // rows

typedef JOIN(VALUE, 4) value4;

#if VECTORS
// Whether element j of a line lies under the results of a work-item.
static inline bool is_in_middle(uint j) { return j - PAD_LEFT < PACK * STRIDE_X; }
#endif

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void conv2d_depthwise(CONV2D_ARGUMENTS) {
  CONV2D_NUMBERS
  (void)in_channels, (void)out_channels, (void)window_w, (void)window_h;  // known to the compiler
  (void)stride_x, (void)stride_y, (void)dilation_x, (void)dilation_y;
  (void)block_k, (void)tile_w, (void)tile_h, (void)depth;
  const uint across = (out_w + EACH_X - 1) / EACH_X, blocks = across * ((out_h + EACH_Y - 1) / EACH_Y);
  const uint item = get_global_id(0), plane = item / blocks, block = item - plane * blocks, n = plane / groups, k = plane - n * groups;
  if (n >= images) return;  // no barrier follows
  const uint x = block % across * EACH_X, y = block / across * EACH_Y;
  const int left = (int)(x * STRIDE_X) - (int)pad_left, top = (int)(y * STRIDE_Y) - (int)pad_top;
  global const ELEMENT* from = in + in_offset + n * in_stride + k * in_plane;
  global const ELEMENT* filter = weights + weight_offset + k * weight_stride;
  global RESULT* to = out + out_offset + n * out_stride + k * out_plane + ((ulong)y * out_pitch + x);
  VALUE w[WINDOW_H * WINDOW_W], sums[EACH_Y][EACH_X];
  int is_finite = 1;
#pragma unroll
  for (uint i = 0; i < WINDOW_H * WINDOW_W; ++i) w[i] = load_value(filter, i), is_finite &= IS_FINITE(w[i]);
  const VALUE first = with_bias ? load_bias(bias, bias_offset + k) : 0;
  if (!is_finite) {
    const lone_plane p = {from, filter, in_pitch, 1, in_w, in_h, WINDOW_W, WINDOW_H, 1, 1};
    const lone_results results = {to, out_pitch, 1, left, top, STRIDE_X, STRIDE_Y};
    write_alone(&p, &results, min(out_w - x, (uint)EACH_X), min(out_h - y, (uint)EACH_Y), first);
    return;
  }
#pragma unroll
  for (uint i = 0; i < EACH_Y; ++i)
#pragma unroll
    for (uint j = 0; j < EACH_X; ++j) sums[i][j] = first;
#if VECTORS
  pack middle[LINES][STRIDE_X];
  VALUE beside[LINES][LINE];  // only those outside of the middle are used
#pragma unroll
  for (uint i = 0; i < LINES; ++i) {
    const ulong row = (ulong)clamp(top + (int)i, 0, (int)in_h - 1) * in_pitch + x * STRIDE_X;
#pragma unroll
    for (uint j = 0; j < STRIDE_X; ++j) middle[i][j].all = load_pack(from, row + j * PACK);
#pragma unroll
    for (uint j = 0; j < LINE; ++j) {
      beside[i][j] = 0;
      if (!is_in_middle(j) && (uint)(left + (int)j) < in_w) beside[i][j] = load_value(from, row + j - PAD_LEFT);
    }
  }
#endif
#pragma unroll
  for (uint i = 0; i < LINES; ++i) {
    VALUE line[LINE];
    const bool is_there = (uint)(top + (int)i) < in_h;  // negative numbers are very large as unsigned ones
#if VECTORS
    if (!is_there) continue;
#pragma unroll
    for (uint j = 0; j < LINE; ++j)
      line[j] = is_in_middle(j) ? middle[i][(j - PAD_LEFT) / PACK % STRIDE_X].each[(j - PAD_LEFT) % PACK] : beside[i][j];
#else
    const long row = (long)(top + (int)i) * (long)in_pitch + left;  // its element 0 of the work-item, perhaps outside
#pragma unroll
    for (uint j = 0; j < LINE; ++j) {
      line[j] = 0;
      if (is_there && (uint)(left + (int)j) < in_w) line[j] = load_value(from, row + (int)j);
    }
#endif
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
#pragma unroll
  for (uint r = 0; r < EACH_Y; ++r) {
    if (y + r >= out_h) continue;
    const ulong at = (ulong)r * out_pitch;
#if PACK_OUT == 4
#pragma unroll
    for (uint j = 0; j < EACH_X; j += 4)
      store_four((value4)(activate(sums[r][j]), activate(sums[r][j + 1]), activate(sums[r][j + 2]), activate(sums[r][j + 3])), to + at + j);
#else
#pragma unroll
    for (uint j = 0; j < EACH_X; ++j)
      if (x + j < out_w) store_result(to, at + j, activate(sums[r][j]));
#endif
  }
}
