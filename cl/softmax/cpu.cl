// Softmax for a CPU: a work-group is one work-item, which is one thread, and computes whole rows. It has TILE elements in its cache, in
// vectors of LANES: a row that fits is read once; of a longer one, tiles are merged, and read again for the results.
//
// Launch: one dimension, local size 1; group g computes a range of neighbouring rows. Local memory: TILE values.
#include "common/attributes.clh"
#include "softmax/operation.clh"

#ifndef TILE
#define TILE 16384  // elements: a multiple of LANES
#endif
#ifndef LANES
#define LANES 16
#endif

typedef JOIN(VALUE, LANES) lanes;
DEFINE_LOAD_RUN(load_run, local, VALUE)
#if OPERATION != OP_LOGSUMEXP
DEFINE_STORE_RUN(store_run, local)
#endif

// Loads elements [first, first + count) of a row, and fills up the last vector. \returns the vectors.
INLINED uint load_tile(local VALUE* kept, global const ELEMENT* row, uint first, uint count) {
  const uint vectors = (count + LANES - 1) / LANES;
  load_run(kept, row, first, count);
  for (uint i = count; i < vectors * LANES; ++i) kept[i] = LEAST;
  return vectors;
}

// The statistics of a tile, in which the exponentials (softmax) or the elements less the shift remain.
INLINED void count_tile(statistics* tile, local VALUE* kept, uint vectors) {
  local lanes* v = (local lanes*)kept;
  lanes most = v[0];
  for (uint i = 1; i < vectors; ++i) most = fmax(most, v[i]);
  VALUE each[LANES];
  JOIN(vstore, LANES)(most, 0, each);
  VALUE largest = each[0];
  for (uint k = 1; k < LANES; ++k) largest = fmax(largest, each[k]);
  const VALUE shift = shift_of(largest);
  lanes sums = 0;
  for (uint i = 0; i < vectors; ++i) {
    const lanes less = v[i] - shift, e = exp(less);
    sums += e;
    v[i] = OPERATION == OP_SOFTMAX ? e : less;
  }
  JOIN(vstore, LANES)(sums, 0, each);
  for (uint apart = LANES / 2; apart > 0; apart /= 2)
    for (uint k = 0; k < apart; ++k) each[k] += each[k + apart];
  *tile = (statistics)(largest, each[0]);
}

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void softmax_cpu(SOFTMAX_ARGUMENTS) {
  local VALUE kept[TILE] __attribute__((aligned(64)));
  const ulong all = rows * batch, share = (all + get_num_groups(0) - 1) / get_num_groups(0);
  const ulong begin = min(get_group_id(0) * share, all), end = min(begin + share, all);
  for (ulong r = begin; r < end; ++r) {
    global const ELEMENT* from = in + row_place(r, rows, batch, in_offset, in_pitch, in_stride);
    global RESULT* to = out + row_place(r, rows, batch, out_offset, out_pitch, out_stride);
    const uint count = cols;
    statistics mine = NO_STATISTICS;
    uint vectors = 0;
    for (uint first = 0; first < count; first += TILE) {
      vectors = load_tile(kept, from, first, min((uint)TILE, count - first));
      statistics tile;
      count_tile(&tile, kept, vectors);
      mine = merge(mine, tile);
    }
    const VALUE shift = shift_of(mine.x), finish = finish_of(shift, mine.y, masked);
#if OPERATION == OP_LOGSUMEXP
    store_result(to, 0, finish);
#else
    local lanes* v = (local lanes*)kept;
    if (count <= TILE) {
      for (uint i = 0; i < vectors; ++i) v[i] = OPERATION == OP_SOFTMAX ? v[i] * finish : v[i] - finish;
      store_run(to, 0, kept, count);
      continue;
    }
    for (uint first = 0; first < count; first += TILE) {
      const uint size = min((uint)TILE, count - first);
      vectors = load_tile(kept, from, first, size);
      for (uint i = 0; i < vectors; ++i) v[i] = RESULTS_OF(lanes, v[i] - shift, finish);
      store_run(to, first, kept, size);
    }
#endif
  }
}
