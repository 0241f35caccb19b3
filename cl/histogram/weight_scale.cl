// The greatest exponent of the finite weights, for their sums in fixed point (histogram/weighted.clh).
//
// Launch: one dimension, GROUP work-items a group; a grid-stride loop, or, of groups of one work-item, a chunk for each. `greatest` is zero
// before the launch. Local memory: a word.
#include "common/scalar.clh"
#include "histogram/weighted.clh"

#ifndef GROUP
#define GROUP 256  // work-items
#endif

#define LOADS 4  // of a work-item that are under way at once

#if GROUP == 1
#define BLOCK 64  // elements that are read at once
#if WEIGHT_HALF
DEFINE_LOAD_HALVES(load_weights, private, float)
#endif
// The greatest exponent of `count` finite weights. Not inlined: PoCL copies a kernel's body three times.
__attribute__((noinline)) uint greatest_of_run(global const WEIGHT* restrict weights, ulong count) {
  uint most[BLOCK];
  for (uint k = 0; k < BLOCK; ++k) most[k] = 0;
  ulong i = 0;
  for (; i + BLOCK <= count; i += BLOCK) {
#if WEIGHT_HALF
    float w[BLOCK];
    load_weights(w, weights + i, BLOCK);
#else
    global const WEIGHT* w = weights + i;
#endif
    for (uint k = 0; k < BLOCK; ++k) {
      const uint exponent = exponent_of(w[k]);
      most[k] = max(most[k], exponent < NOT_FINITE ? exponent : 0);
    }
  }
  for (; i < count; ++i) {
    const uint exponent = exponent_of(load_weight(weights, i));
    most[0] = max(most[0], exponent < NOT_FINITE ? exponent : 0);
  }
  for (uint k = 1; k < BLOCK; ++k) most[0] = max(most[0], most[k]);
  return most[0];
}
#endif

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void histogram_weight_scale(global const WEIGHT* restrict weights, ulong offset, ulong pitch, ulong stride, ulong rows,
                            ulong cols, ulong batch, global uint* greatest) {
  local uint of_group;
  if (get_local_id(0) == 0) of_group = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  uint mine = 0;
#if GROUP == 1
  const ulong count = rows * cols * batch, piece = (count + get_num_groups(0) - 1) / get_num_groups(0);
  const ulong end = min((get_group_id(0) + 1) * piece, count);
  for (ulong i = get_group_id(0) * piece; i < end;) {
    const ulong row = i / cols, col = i - row * cols, matrix = row / rows, many = min(end - i, cols - col);
    mine = max(mine, greatest_of_run(weights + offset + matrix * stride + (row - matrix * rows) * pitch + col, many));
    i += many;
  }
#else
  const ulong step = get_global_size(0), step_rows = step / cols, step_cols = step - step_rows * cols, all = rows * batch;
  ulong row = get_global_id(0) / cols, col = get_global_id(0) - row * cols;
  while (row < all) {
    uint exponents[LOADS];
#pragma unroll
    for (uint u = 0; u < LOADS; ++u) {
      const ulong matrix = batch == 1 ? 0 : row / rows, place = offset + matrix * stride + (row - matrix * rows) * pitch + col;
      exponents[u] = row < all ? exponent_of(load_weight(weights, place)) : NOT_FINITE;
      row += step_rows;
      col += step_cols;
      if (col >= cols) col -= cols, ++row;
    }
#pragma unroll
    for (uint u = 0; u < LOADS; ++u) mine = max(mine, exponents[u] < NOT_FINITE ? exponents[u] : 0);
  }
#endif
  atomic_max(&of_group, mine);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (get_local_id(0) == 0) atomic_max(greatest, of_group);
}
