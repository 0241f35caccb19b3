// Moving means of floating point for a CPU: the method of moving_mean/blocks.cl. Those of integers are in moving_mean/cpu_integers.cl.
//
// A work-group is one work-item, which is one thread, and computes `strip` results of a row: TILE elements, which fit its cache,
// without the window. Short windows are summed element by element, in vectors, which is faster than a chain of additions.
//
// Launch: local size 1; jobs: strips, then rows. Local memory: 2 * TILE sums.
#include "moving_mean/arguments.clh"
#include "moving_mean/strips.clh"

#ifndef TILE
#define TILE 16384
#endif
#define SHORT 12  // additions of a vector in the time of the two chains

// Sums of K neighbouring blocks, from their begins to `sums`, and then to their ends in place. An addition waits for the one before in its
// block, so those of several blocks are done in turns. Not inlined: PoCL copies a kernel's body three times.
#define DEFINE_SUM_BLOCKS(K)                                                                               \
  __attribute__((noinline)) void sum_blocks##K(local SUM* values, local SUM* sums, uint length) {          \
    SUM begin[K], end[K];                                                                                  \
    _Pragma("unroll") for (uint k = 0; k < K; ++k) begin[k] = end[k] = 0;                                  \
    for (uint i = 0; i < length; ++i)                                                                      \
      _Pragma("unroll") for (uint k = 0; k < K; ++k) sums[k * length + i] = begin[k] += values[k * length + i]; \
    for (uint i = length; i-- > 0;)                                                                        \
      _Pragma("unroll") for (uint k = 0; k < K; ++k) values[k * length + i] = end[k] += values[k * length + i]; \
  }
DEFINE_SUM_BLOCKS(8)
DEFINE_SUM_BLOCKS(2)
DEFINE_SUM_BLOCKS(1)

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void moving_mean_cpu(MOVING_MEAN_ARGUMENTS) {
  (void)scratch;
  local SUM values[TILE] __attribute__((aligned(64)));
  local SUM sums[TILE] __attribute__((aligned(64)));
  const uint length = (uint)window, strip = TILE - length + 1;
  const ulong strips = (width + strip - 1) / strip;
  for (ulong job = get_group_id(0); job < rows * strips; job += get_num_groups(0)) {
    const ulong r = job / strips, first = (job - r * strips) * strip;
    const uint results = (uint)min((ulong)strip, width - first), all = results + length - 1;
    global const ELEMENT* from = in + row_offset(first_row + r, height, depth, in_offset, in_pitch, in_plane, in_stride);
    global RESULT* to = out + row_offset(first_row + r, height, depth, out_offset, out_pitch, out_plane, out_stride) + first;
    load_strip(values, from, (long)first - (long)(window / 2), all, width);
    if (length <= SHORT) {
      for (uint i = 0; i < results; ++i) sums[i] = values[i];
      for (uint k = 1; k < length; ++k)
        for (uint i = 0; i < results; ++i) sums[i] += values[i + k];
    } else {
      // Only the last block is partial; no window begins in it.
      uint block = 0;
      for (; all - block >= 8 * length; block += 8 * length) sum_blocks8(values + block, sums + block, length);
      for (; all - block >= 2 * length; block += 2 * length) sum_blocks2(values + block, sums + block, length);
      for (; block < all; block += length) sum_blocks1(values + block, sums + block, min(length, all - block));
      // A window that is a block has its sum in one chain.
      uint i = 0;
      for (uint block = 0; block < results; block += length) {
        const uint end = min(block + length, results);
        for (i = block + 1; i < end; ++i) values[i] += sums[i + length - 1];
      }
      for (i = 0; i < results; ++i) sums[i] = values[i];
    }
    store_strip(to, sums, first, results, width, window, whole);
  }
}
