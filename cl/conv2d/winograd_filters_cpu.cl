// The filters' matrices of a convolution by Winograd's minimal filtering, for CPUs: G g G^T of the weights g of each filter and channel.
//
// Launch: local size 1; a work-item, which is a thread, has BLOCK channels of a filter at a time. Local memory: 9 * BLOCK values.
#include "conv2d/winograd.clh"

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void conv2d_winograd_filters_cpu(global const ELEMENT* weights, ulong weight_offset, ulong weight_stride, global VALUE* factors,
                                 ulong matrix, ulong pitch, uint filters, uint channels) {
  local VALUE taps[9 * BLOCK] __attribute__((aligned(64)));
  const uint blocks = (channels + BLOCK - 1) / BLOCK;
  const ulong jobs = (ulong)filters * blocks;
  for (ulong job = get_group_id(0); job < jobs; job += get_num_groups(0)) {
    const uint k = job / blocks, c = (uint)(job - (ulong)k * blocks) * BLOCK, count = min(channels - c, (uint)BLOCK);
    global const ELEMENT* from = weights + weight_offset + k * weight_stride + (WEIGHTS_INTERLEAVED ? (ulong)c : (ulong)c * 9);
    for (uint tap = 0; tap < 9; ++tap) {
      uint i = 0;
      for (; i < count; ++i)
        taps[tap * BLOCK + i] = load_value(from, WEIGHTS_INTERLEAVED ? (ulong)tap * channels + i : (ulong)i * 9 + tap);
      for (; i % LANES != 0; ++i) taps[tap * BLOCK + i] = 0;
    }
    for (uint v = 0; v < count; v += LANES) {
      number g[9];
#pragma unroll
      for (uint tap = 0; tap < 9; ++tap) g[tap] = *(local const number*)(taps + tap * BLOCK + v);
      write_filter(g, factors + k * pitch + c + v, matrix);
    }
  }
}
