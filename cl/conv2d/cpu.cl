// Convolution of many channels for a CPU.
//
// A work-group is one work-item, which is one thread, and computes up to block_k planes of a tile of tile_h rows and tile_w
// columns. "Local memory" is its share of the caches: `depth` channels of the input with their halo and their zeros, ordered by
// the remainder of the column modulo stride_x, so that vectors of results load vectors at any stride; the weights; and the tile's
// sums, which are loaded once for each `depth` channels. The innermost loop keeps EACH_K planes of VECTORS * LANES columns in
// vector registers.
//
// Launch: local size 1; jobs: planes innermost, then tiles along rows and down, then images and groups.
// Local memory: TILE_ITEMS + WEIGHT_ITEMS + SUM_ITEMS values.
#include "conv2d/arguments.clh"
#include "conv2d/alone.clh"

#ifndef LANES
#define LANES 8  // values of a vector register: 2, 4, 8, 16
#endif
#ifndef VECTORS
#define VECTORS 2  // vectors of columns in registers
#endif
#ifndef EACH_K
#define EACH_K 8  // planes in registers
#endif
#ifndef TILE_ITEMS
#define TILE_ITEMS 32768  // of the input: depth channels of the tile's rows, and VECTORS * LANES more
#endif
#ifndef WEIGHT_ITEMS
#define WEIGHT_ITEMS 18432  // block_k * depth * window_w * window_h
#endif
#ifndef SUM_ITEMS
#define SUM_ITEMS 32768  // block_k * tile_h * tile_w
#endif
#define BLOCK_W (VECTORS * LANES)
typedef JOIN(VALUE, LANES) vector;
#define LOAD JOIN(vload, LANES)
#define STORE JOIN(vstore, LANES)

DEFINE_LOAD_RUN(load_values, local, VALUE)
#if ELEMENT_HALF
#define CHUNK 256  // elements that are converted before they are dealt out by their remainders
DEFINE_LOAD_RUN(load_chunk, private, VALUE)
#endif
#if RESULT_HALF
DEFINE_STORE_RUN(store_values, local)
#endif

// Loads a row of the tile: `cols` columns from `left` on, with 0 outside of the plane's in_w columns.
static inline void fill_row(local VALUE* to, global const ELEMENT* from, long left, uint cols, uint in_w, bool there,
                            uint stride, uint phase) {
#if ELEMENT_HALF
  if (stride != 1) {
    const long end = there ? min((long)in_w - left, (long)(stride * phase)) : 0;  // of what is there, from `left` on
    const long begin = min(max(-left, 0L), max(end, 0L));
    if (begin > 0 || end < (long)(stride * phase))
      for (uint i = 0; i < stride * phase; ++i) to[i] = 0;
    for (long first = begin; first < end; first += CHUNK) {
      const uint count = (uint)min((long)CHUNK, end - first);
      VALUE x[CHUNK];
      load_chunk(x, from, (ulong)(left + first), count);
      for (uint remainder = 0; remainder < stride; ++remainder) {
        uint i = ((uint)first + stride - 1 - remainder) / stride;
        for (uint k = remainder + i * stride - (uint)first; k < count; k += stride, ++i) to[remainder * phase + i] = x[k];
      }
    }
    return;
  }
#endif
  for (uint remainder = 0; remainder < stride; ++remainder) {
    local VALUE* piece = to + remainder * phase;
    // Item i is column left + remainder + i * stride.
    const long start = left + remainder;
    long first = start >= 0 ? 0 : (-start + stride - 1) / stride;
    long end = start >= (long)in_w ? 0 : ((long)in_w - start + stride - 1) / stride;
    if (!there) end = 0;
    end = min(end, (long)phase), first = min(first, end);
    for (long i = 0; i < first; ++i) piece[i] = 0;
    if (stride == 1) {
      load_values(piece + first, from, start + first, (uint)(end - first));
    } else {
      for (long i = first; i < end; ++i) piece[i] = load_value(from, start + i * stride);
    }
    for (long i = end; i < (long)phase; ++i) piece[i] = 0;
  }
  (void)cols;
}

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void conv2d_cpu(CONV2D_ARGUMENTS) {
  CONV2D_NUMBERS
  local VALUE tile[TILE_ITEMS] __attribute__((aligned(64)));
  local VALUE weight_tile[WEIGHT_ITEMS] __attribute__((aligned(64)));
  local VALUE sums[SUM_ITEMS] __attribute__((aligned(64)));
  const uint taps = window_w * window_h;
  const uint pieces_x = (out_w + tile_w - 1) / tile_w, pieces_y = (out_h + tile_h - 1) / tile_h;
  const uint blocks = (out_channels + block_k - 1) / block_k;
  const ulong jobs = images * groups * blocks * pieces_y * pieces_x;
  for (ulong job = get_group_id(0); job < jobs; job += get_num_groups(0)) {
    const ulong piece = job / blocks, row_of_pieces = piece / pieces_x, image_group = row_of_pieces / pieces_y;
    const uint first_k = (uint)(job - piece * blocks) * block_k, first_x = (uint)(piece - row_of_pieces * pieces_x) * tile_w;
    const uint first_y = (uint)(row_of_pieces - image_group * pieces_y) * tile_h;
    const ulong n = image_group / groups;
    const uint group = image_group - n * groups;
    const uint high = min(tile_h, out_h - first_y), wide = min(tile_w, out_w - first_x);
    const uint planes = min(block_k, out_channels - first_k);
    const uint vectors_wide = (wide + BLOCK_W - 1) / BLOCK_W * BLOCK_W;
    const uint rows = (high - 1) * stride_y + (window_h - 1) * dilation_y + 1;
    const uint cols = (vectors_wide - 1) * stride_x + (window_w - 1) * dilation_x + 1;
    const uint phase = (cols + stride_x - 1) / stride_x, pitch = phase * stride_x;
    global const ELEMENT* from = in + in_offset + n * in_stride + (ulong)group * in_channels * in_plane;
    global const ELEMENT* filters = weights + weight_offset + ((ulong)group * out_channels + first_k) * weight_stride;
    const uint sum_plane = high * vectors_wide, blocked = (planes + EACH_K - 1) / EACH_K * EACH_K;
    for (uint i = 0; i < blocked * sum_plane; ++i) sums[i] = 0;

    for (uint first_c = 0; first_c < in_channels; first_c += depth) {
      const uint channels = min(in_channels - first_c, depth), length = channels * taps;
      for (uint c = 0; c < channels; ++c) {
        for (uint r = 0; r < rows; ++r) {
          const long y = (long)first_y * stride_y - pad_top + r;
          const bool there = y >= 0 && y < in_h;
          fill_row(tile + (c * rows + r) * pitch, from + (ulong)(first_c + c) * in_plane + (there ? y : 0) * in_pitch,
                   (long)first_x * stride_x - pad_left, cols, in_w, there, stride_x, phase);
        }
      }
      for (uint k = 0; k < blocked; ++k) {
        global const ELEMENT* filter = filters + min(k, planes - 1) * weight_stride + (ulong)first_c * taps;
        load_values(weight_tile + k * length, filter, 0, length);
      }
      // A block of weights stays in the first-level cache for all columns and rows.
      for (uint k = 0; k < blocked; k += EACH_K) {
        for (uint y = 0; y < high; ++y) {
          for (uint x = 0; x < vectors_wide; x += BLOCK_W) {
            vector acc[EACH_K][VECTORS];
#pragma unroll
            for (uint i = 0; i < EACH_K; ++i)
#pragma unroll
              for (uint v = 0; v < VECTORS; ++v) acc[i][v] = 0;
            local const VALUE* w = weight_tile + k * length;
            for (uint c = 0; c < channels; ++c) {
              for (uint r = 0; r < window_h; ++r) {
                local const VALUE* row = tile + (c * rows + y * stride_y + r * dilation_y) * pitch + x;
                uint remainder = 0, quotient = 0;  // of s * dilation_x by stride_x
                for (uint s = 0; s < window_w; ++s) {
                  vector right[VECTORS];
#pragma unroll
                  for (uint v = 0; v < VECTORS; ++v) right[v] = LOAD(v, row + remainder * phase + quotient);
#pragma unroll
                  for (uint i = 0; i < EACH_K; ++i)
#pragma unroll
                    for (uint v = 0; v < VECTORS; ++v) acc[i][v] = MULTIPLY_ADD((vector)w[i * length], right[v], acc[i][v]);
                  ++w;
                  remainder += dilation_x;
                  if (remainder >= stride_x) {
                    const uint steps = stride_x == 1 ? remainder : remainder / stride_x;
                    quotient += steps;
                    remainder -= steps * stride_x;
                  }
                }
              }
            }
            local VALUE* to = sums + k * sum_plane + y * vectors_wide + x;
#pragma unroll
            for (uint i = 0; i < EACH_K; ++i)
#pragma unroll
              for (uint v = 0; v < VECTORS; ++v)
                STORE(LOAD(v, to + i * sum_plane) + acc[i][v], v, to + i * sum_plane);
          }
        }
      }
    }

    for (uint k = 0; k < planes; ++k) {
      const ulong filter = (ulong)group * out_channels + first_k + k;
      const VALUE add = with_bias ? load_bias(bias, bias_offset + filter) : 0;
      for (uint y = 0; y < high; ++y) {
        global RESULT* to = out + out_offset + n * out_stride + filter * out_plane + (ulong)(first_y + y) * out_pitch + first_x;
        local VALUE* row = sums + k * sum_plane + y * vectors_wide;
#if EACH_K == 1 && !WHOLE_SUMS
        if (in_channels * out_channels == 1) {
          const lone_plane p = {from, filters, in_pitch, 1, in_w, in_h, window_w, window_h, dilation_x, dilation_y};
          for (uint x = 0; x < wide; ++x) {
            if (row[x] == row[x]) continue;
            const int left = (int)((first_x + x) * stride_x) - (int)pad_left, top = (int)((first_y + y) * stride_y) - (int)pad_top;
            row[x] = lone_sum(&p, left, top, 0);
          }
        }
#endif
#if RESULT_HALF
        for (uint x = 0; x < wide; ++x) row[x] = activate(row[x] + add);
        store_values(to, 0, row, wide);
#else
        for (uint x = 0; x < wide; ++x) store_result(to, x, activate(row[x] + add));
#endif
      }
    }
  }
}
