// Softmax of short rows for a CPU: a work-group is one work-item, which is one thread, and computes blocks of LANES rows at once. The rows of
// a block are transposed in its cache, so that element k of all rows is a vector; each row is read once.
//
// Launch: one dimension, local size 1; group g computes a range of neighbouring blocks. Local memory: 2 * MOST_COLS * LANES values.
#include "common/attributes.clh"
#include "softmax/operation.clh"

#ifndef LANES
#define LANES 16
#endif
#ifndef MOST_COLS
#define MOST_COLS 64
#endif
#define ONE_A_ROW (OPERATION == OP_LOGSUMEXP)
#include "common/short_rows.clh"
#include "common/vector_exp.clh"

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void softmax_cpu_short(SOFTMAX_ARGUMENTS) {
  local VALUE flat[LANES * MOST_COLS] __attribute__((aligned(64)));
  local VALUE block[LANES * MOST_COLS] __attribute__((aligned(64)));
  local lanes* v = (local lanes*)block;
  const ulong all = rows * batch, blocks = (all + LANES - 1) / LANES, share = (blocks + get_num_groups(0) - 1) / get_num_groups(0);
  const ulong begin = min(get_group_id(0) * share * LANES, all), end = min(begin + share * LANES, all);
  const uint count = cols;
  for (uint i = 0; i < LANES * count; ++i) flat[i] = 0;
  for (ulong first = begin; first < end; first += LANES) {
    const uint high = (uint)min((ulong)LANES, end - first);
    load_block(flat, in, first, high, rows, count, batch, in_offset, in_pitch, in_stride);
    to_vectors(block, flat, count);
    lanes most = LEAST;
    for (uint k = 0; k < count; ++k) most = v[k] > most ? v[k] : most;
    const lanes shift = isinf(most) ? (lanes)0 : most;
    lanes sum = 0;
    for (uint k = 0; k < count; ++k) {
      const lanes less = v[k] - shift, e = vector_exp(less);
      sum += e;
      v[k] = OPERATION == OP_SOFTMAX ? e : less;
    }
    VALUE shifts[LANES], sums[LANES], finish[LANES];
    JOIN(vstore, LANES)(shift, 0, shifts);
    JOIN(vstore, LANES)(sum, 0, sums);
    for (uint l = 0; l < LANES; ++l) finish[l] = finish_of(shifts[l], sums[l], masked);
#if ONE_A_ROW
    for (uint l = 0; l < high; ++l)
      store_result(out, row_place(first + l, rows, batch, out_offset, out_pitch, out_stride), finish[l]);
#else
    const lanes last = JOIN(vload, LANES)(0, finish);
    for (uint k = 0; k < count; ++k) v[k] = OPERATION == OP_SOFTMAX ? v[k] * last : v[k] - last;
    to_rows(flat, block, count);
    store_block(out, flat, first, high, rows, count, batch, out_offset, out_pitch, out_stride);
#endif
  }
}
