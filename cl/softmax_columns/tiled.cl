// Softmax of columns with a block of WIDTH columns in local memory, which is read from global memory once. Trees in local memory find the
// largest element and the sum of each column. A work-item reads only what it has stored itself, so the block needs no barrier.
//
// Launch: one dimension, GROUP work-items a group, a group a block; a grid-stride loop over the blocks. Local memory: TILE_ROWS * WIDTH and
// GROUP values.
#include "softmax/operation.clh"
#include "common/columns.clh"

#ifndef TILE_ROWS
#define TILE_ROWS 256  // of a column, at most
#endif
#ifndef UNROLL
#define UNROLL 4  // loads of a work-item that are under way at once
#endif

static inline VALUE larger_of(VALUE a, VALUE b) { return fmax(a, b); }
static inline VALUE sum_of(VALUE a, VALUE b) { return a + b; }
DEFINE_COLUMN_REDUCE(column_max, VALUE, larger_of)
DEFINE_COLUMN_REDUCE(column_sum, VALUE, sum_of)

#define FINISHED(v) (OPERATION == OP_SOFTMAX ? (v) * finish : (v) - finish)
#define STORE_KEPT(r) store_result(out, to + (r) * out_pitch, FINISHED(kept[(r)*WIDTH + x]))

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void softmax_columns_tiled(COLUMN_ARGUMENTS, uint masked) {
  local VALUE kept[TILE_ROWS * WIDTH];
  local VALUE scratch[GROUP];
  const uint item = get_local_id(0), x = item % WIDTH;
  const int y = item / WIDTH;
  for (ulong job = get_group_id(0); job < BLOCKS * batch; job += get_num_groups(0)) {
    const ulong matrix = job / BLOCKS, col = (job - matrix * BLOCKS) * WIDTH + x;
    const ulong from = in_offset + matrix * in_stride + col;
    const int count = col < cols ? rows : 0;  // work-items without a column reach the barriers too
    VALUE largest = LEAST, sum = 0;
    int first = y;
    for (; first + (UNROLL - 1) * LINES < count; first += UNROLL * LINES) {
      VALUE v[UNROLL];
#pragma unroll
      for (int u = 0; u < UNROLL; ++u) v[u] = load_value(in, from + (first + u * LINES) * in_pitch);
#pragma unroll
      for (int u = 0; u < UNROLL; ++u) {
        kept[(first + u * LINES) * WIDTH + x] = v[u];
        largest = fmax(largest, v[u]);
      }
    }
    for (; first < count; first += LINES) {
      const VALUE v = load_value(in, from + first * in_pitch);
      kept[first * WIDTH + x] = v;
      largest = fmax(largest, v);
    }
    column_max(&largest, scratch, item);
    const VALUE shift = shift_of(largest);
    for (int r = y; r < count; r += LINES) {
      const VALUE less = kept[r * WIDTH + x] - shift, e = exp(less);
      kept[r * WIDTH + x] = OPERATION == OP_SOFTMAX ? e : less;
      sum += e;
    }
    column_sum(&sum, scratch, item);
    const VALUE finish = finish_of(shift, sum, masked);
    const ulong to = out_offset + matrix * out_stride + col;
#if OPERATION == OP_LOGSUMEXP
    (void)out_pitch;
    if (y == 0 && col < cols) store_result(out, to, finish);
#else
    for (first = y; first + (UNROLL - 1) * LINES < count; first += UNROLL * LINES) {
#pragma unroll
      for (int u = 0; u < UNROLL; ++u) STORE_KEPT(first + u * LINES);
    }
    for (; first < count; first += LINES) STORE_KEPT(first);
#endif
  }
}
