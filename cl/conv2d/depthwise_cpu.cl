// Depthwise convolution for a CPU: a channel and a filter in each group.
//
// A work-group is one work-item, which is one thread, and computes rows of one plane. A window has few weights, which stay in
// registers, and its rows stay in the first-level cache: so rows are loaded from global memory, in vectors of LANES results,
// without a copy. Results whose windows reach beyond their row are computed one at a time.
//
// Launch: local size 1; jobs: tile_h rows of a plane, then planes. Local memory: none.
#include "conv2d/arguments.clh"
#include "conv2d/depthwise.clh"

#ifndef LANES
#define LANES 8  // results of a vector: 2, 4, 8
#endif
typedef JOIN(VALUE, LANES) vector;
#define STORE JOIN(vstore, LANES)

// Loads LANES elements that are STRIDE_X apart; with a stride of 2 it reads one element after the last of them.
static inline vector load_row(global const ELEMENT* from) {
#if STRIDE_X == 1
  return JOIN(vload, LANES)(0, from);
#elif LANES == 8
  return vload16(0, from).even;
#elif LANES == 4
  return vload8(0, from).even;
#else
  return vload4(0, from).even;
#endif
}

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void conv2d_depthwise_cpu(CONV2D_ARGUMENTS) {
  CONV2D_NUMBERS
  (void)in_channels, (void)out_channels, (void)window_w, (void)window_h;  // constants of this program
  (void)stride_x, (void)block_k, (void)tile_w, (void)depth;
  const uint bands = (out_h + tile_h - 1) / tile_h;
  const ulong jobs = images * groups * bands;
  // Windows of the columns [first_x, end_x) lie in their row, with the elements that vectors load after them.
  const uint reach = (WINDOW_W - 1) * dilation_x + STRIDE_X;
  const uint first_x = min((pad_left + STRIDE_X - 1) / STRIDE_X, out_w);
  uint end_x = in_w + pad_left < reach ? 0 : min((in_w + pad_left - reach) / STRIDE_X + 1, out_w);
  if (end_x < first_x + LANES) end_x = first_x;  // too few for a vector
  for (ulong job = get_group_id(0); job < jobs; job += get_num_groups(0)) {
    const ulong plane = job / bands, n = plane / groups;
    const uint group = plane - n * groups, first_y = (uint)(job - plane * bands) * tile_h;
    const uint end_y = min(first_y + tile_h, out_h);
    global const ELEMENT* from = in + in_offset + n * in_stride + group * in_plane;
    global const ELEMENT* filter = weights + weight_offset + group * weight_stride;
    VALUE w[WINDOW_W * WINDOW_H];
    for (uint i = 0; i < WINDOW_W * WINDOW_H; ++i) w[i] = load_value(filter, i);
    const VALUE add = with_bias ? load_bias(bias, bias_offset + group) : 0;
    for (uint y = first_y; y < end_y; ++y) {
      global RESULT* to = out + out_offset + n * out_stride + group * out_plane + y * out_pitch;
      const int top = (int)(y * stride_y) - (int)pad_top;
      // LANES columns at a time; the last vector overlaps the one before.
      for (uint next = first_x; next < end_x; next += LANES) {
        const uint x = min(next, end_x - LANES);
        vector sum = 0;
#pragma unroll
        for (uint r = 0; r < WINDOW_H; ++r) {
          const int row = top + (int)(r * dilation_y);
          if (row < 0 || row >= (int)in_h) continue;
          global const ELEMENT* at = from + row * in_pitch + (x * STRIDE_X - pad_left);
#pragma unroll
          for (uint s = 0; s < WINDOW_W; ++s) sum = fma((vector)w[r * WINDOW_W + s], load_row(at + s * dilation_x), sum);
        }
        sum += add;
#if ACTIVATION == 0
        STORE(sum, 0, to + x);
#else
        VALUE lanes[LANES];
        STORE(sum, 0, lanes);
        for (uint i = 0; i < LANES; ++i) to[x + i] = activate(lanes[i]);
#endif
      }
      for (uint i = 0; i < out_w - (end_x - first_x); ++i) {
        const uint x = i < first_x ? i : i + (end_x - first_x);
        const int left = (int)(x * STRIDE_X) - (int)pad_left;
        VALUE sum = 0;
        for (uint r = 0; r < WINDOW_H; ++r) {
          const int row = top + (int)(r * dilation_y);
          if (row < 0 || row >= (int)in_h) continue;
          for (uint s = 0; s < WINDOW_W; ++s) {
            const int col = left + (int)(s * dilation_x);
            if (col >= 0 && col < (int)in_w) sum = fma(w[r * WINDOW_W + s], from[row * in_pitch + col], sum);
          }
        }
        to[x] = activate(sum + add);
      }
    }
  }
}
