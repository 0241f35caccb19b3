// layer_norm and rms_norm of columns with a block of WIDTH columns in local memory, which is read from global memory once. Trees in local memory
// combine the sums of each column. A work-item reads only what it has stored itself, so the block needs no barrier.
//
// Launch: one dimension, GROUP work-items a group, a group a block; a grid-stride loop over the blocks. Local memory: TILE_ROWS * WIDTH
// values, and GROUP moments.
#include "norm_columns/columns.clh"

#ifndef TILE_ROWS
#define TILE_ROWS 256  // of a column, at most
#endif

DEFINE_COLUMN_REDUCE(column_add, moments, add_moments)

#if OPERATION == OP_LAYER
#define COUNT_ELEMENT(element) (mine.x += (element))
#else
#define COUNT_ELEMENT(element) (mine.y += (element) * (element))
#endif
#define KEEP_ELEMENT(r, element)     \
  do {                               \
    kept[(r)*WIDTH + x] = (element); \
    STORE_SUM(at, r, element);       \
    COUNT_ELEMENT(element);          \
  } while (0)
#define STORE_KEPT(r) STORE_OF_COLUMN(at, r, (kept[(r)*WIDTH + x] - left) * factor)

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void norm_columns_tiled(NORM_ARGUMENTS) {
  USE_NORM_ARGUMENTS;
  local VALUE kept[TILE_ROWS * WIDTH];
  local moments scratch[GROUP];
  const uint item = get_local_id(0), x = item % WIDTH;
  const int y = item / WIDTH;
  for (ulong job = get_group_id(0); job < BLOCKS * batch; job += get_num_groups(0)) {
    const ulong matrix = job / BLOCKS, col = (job - matrix * BLOCKS) * WIDTH + x;
    const column_place at = PLACE_OF_COLUMN(matrix, col);
    const int count = col < cols ? rows : 0;  // work-items without a column reach the barriers too
    moments mine = 0;
    int first = y;
    for (; first + (UNROLL - 1) * LINES < count; first += UNROLL * LINES) {
      VALUE v[UNROLL];
#pragma unroll
      for (int u = 0; u < UNROLL; ++u) v[u] = LOAD_OF_COLUMN(at, first + u * LINES);
#pragma unroll
      for (int u = 0; u < UNROLL; ++u) KEEP_ELEMENT(first + u * LINES, v[u]);
    }
    for (; first < count; first += LINES) {
      const VALUE element = LOAD_OF_COLUMN(at, first);
      KEEP_ELEMENT(first, element);
    }
    column_add(&mine, scratch, item);
    VALUE mean = 0, left = 0;
#if OPERATION == OP_LAYER
    mean = mine.x / (VALUE)rows;
    mine = 0;
    for (int r = y; r < count; r += LINES) {
      const VALUE d = kept[r * WIDTH + x] - mean;
      kept[r * WIDTH + x] = d;
      mine += (moments)(d, d * d);
    }
    column_add(&mine, scratch, item);
    left = mine.x / (VALUE)rows;  // of the mean's rounding
#endif
    const VALUE factor = factor_of(mine.y - left * mine.x, rows, epsilon);
    if (y == 0 && col < cols) {
      if (flags & STORES_MEAN) means[means_offset + matrix * cols + col] = mean + left;
      if (flags & STORES_FACTOR) factors[factors_offset + matrix * cols + col] = factor;
    }
    for (first = y; first + (UNROLL - 1) * LINES < count; first += UNROLL * LINES) {
#pragma unroll
      for (int u = 0; u < UNROLL; ++u) STORE_KEPT(first + u * LINES);
    }
    for (; first < count; first += LINES) STORE_KEPT(first);
  }
}
