// Softmax of columns for a CPU: a work-group is one work-item, which is one thread, and computes blocks of WIDTH columns, in vectors of LANES
// columns. It has TILE_ROWS rows of a block in its cache: columns that fit are read once; of longer ones, the statistics of tiles are
// merged, and tiles read again for the results.
//
// Launch: one dimension, local size 1; group g computes a range of neighbouring blocks. Local memory: (TILE_ROWS + 3) * WIDTH values.
#include "softmax/operation.clh"

#ifndef WIDTH
#define WIDTH 64  // columns: a multiple of LANES
#endif
#ifndef TILE_ROWS
#define TILE_ROWS 1024
#endif
#ifndef LANES
#define LANES 16
#endif
#define GROUP 1
#include "common/columns.clh"

typedef JOIN(VALUE, LANES) lanes;
#include "common/vector_exp.clh"
DEFINE_LOAD_RUN(load_run, local, VALUE)
#if OPERATION != OP_LOGSUMEXP
DEFINE_STORE_RUN(store_run, local)
#endif

// Loads `high` rows of `wide` columns, and fills up their last vectors with zeros.
INLINED void load_tile(local VALUE* kept, global const ELEMENT* from, ulong pitch, uint high, uint wide) {
  const uint end = (wide + LANES - 1) / LANES * LANES;
  for (uint r = 0; r < high; ++r) {
    load_run(kept + r * WIDTH, from, r * pitch, wide);
    for (uint k = wide; k < end; ++k) kept[r * WIDTH + k] = 0;
  }
}

// Merges a tile of LANES columns with their statistics so far. Exponentials (softmax) or elements less the shift remain in the tile.
INLINED void count_tile(local VALUE* tile, local VALUE* most, local VALUE* sums, uint high) {
  const lanes before = *(local lanes*)most;
  lanes largest = before;
  for (uint r = 0; r < high; ++r) {
    const lanes v = *(local lanes*)(tile + r * WIDTH);
    largest = v > largest ? v : largest;
  }
  const lanes shift = isinf(largest) ? (lanes)0 : largest;
  lanes sum = *(local lanes*)sums * vector_exp(before - shift);
  for (uint r = 0; r < high; ++r) {
    local lanes* v = (local lanes*)(tile + r * WIDTH);
    const lanes less = *v - shift, e = vector_exp(less);
    sum += e;
    *v = OPERATION == OP_SOFTMAX ? e : less;
  }
  *(local lanes*)most = largest;
  *(local lanes*)sums = sum;
}

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void softmax_columns_cpu(COLUMN_ARGUMENTS, uint masked) {
  local VALUE kept[TILE_ROWS * WIDTH] __attribute__((aligned(64)));
  local VALUE most[WIDTH] __attribute__((aligned(64)));
  local VALUE sums[WIDTH] __attribute__((aligned(64)));
  local VALUE finish[WIDTH] __attribute__((aligned(64)));
  const ulong all = BLOCKS * batch, share = (all + get_num_groups(0) - 1) / get_num_groups(0);
  const ulong begin = min(get_group_id(0) * share, all), end = min(begin + share, all);
  const uint count = rows;
  for (ulong job = begin; job < end; ++job) {
    const ulong matrix = job / BLOCKS, col = (job - matrix * BLOCKS) * WIDTH;
    const uint wide = (uint)min((ulong)WIDTH, cols - col);
    global const ELEMENT* from = in + in_offset + matrix * in_stride + col;
    global RESULT* to = out + out_offset + matrix * out_stride + col;
    for (uint k = 0; k < WIDTH; ++k) most[k] = LEAST, sums[k] = 0;
    for (uint first = 0; first < count; first += TILE_ROWS) {
      const uint high = min((uint)TILE_ROWS, count - first);
      load_tile(kept, from + first * in_pitch, in_pitch, high, wide);
      for (uint k = 0; k < wide; k += LANES) count_tile(kept + k, most + k, sums + k, high);
    }
    for (uint k = 0; k < wide; ++k) {
      most[k] = shift_of(most[k]);
      finish[k] = finish_of(most[k], sums[k], masked);
    }
#if OPERATION == OP_LOGSUMEXP
    (void)out_pitch;
    for (uint k = 0; k < wide; ++k) store_result(to, k, finish[k]);
#else
    for (uint first = 0; first < count; first += TILE_ROWS) {
      const uint high = min((uint)TILE_ROWS, count - first);
      const int again = count > TILE_ROWS;
      if (again) load_tile(kept, from + first * in_pitch, in_pitch, high, wide);
      for (uint r = 0; r < high; ++r) {
        local VALUE* row = kept + r * WIDTH;
        for (uint k = 0; k < wide; k += LANES) {
          local lanes* v = (local lanes*)(row + k);
          const lanes last = *(local lanes*)(finish + k);
          if (again) {
            const lanes less = *v - *(local lanes*)(most + k);
            *v = OPERATION == OP_SOFTMAX ? vector_exp(less) : less;
          }
          *v = OPERATION == OP_SOFTMAX ? *v * last : *v - last;
        }
        store_run(to, (first + r) * out_pitch, row, wide);
      }
    }
#endif
  }
}
