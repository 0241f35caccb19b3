// Softmax of short rows for a CPU: a work-group is one work-item, which is one thread, and computes blocks of LANES rows at once. The rows of
// a block are transposed in registers or in its cache, so that element k of all rows is a vector; each row is read once.
//
// Launch: one dimension, local size 1; group g computes a range of neighbouring blocks. Local memory: 3 * MOST_COLS * LANES values; with COLS a
// third.
#ifndef LANES
#define LANES 16
#endif
#ifndef PACK
#define PACK LANES
#endif
#ifndef MOST_COLS
#define MOST_COLS 64
#endif
#include "common/attributes.clh"
#include "softmax/operation.clh"
#define ONE_A_ROW (OPERATION == OP_LOGSUMEXP)
#include "common/row_vectors.clh"
#include "common/short_rows.clh"
#include "common/vector_exp.clh"

// As finish_of().
INLINED lanes finish_of_rows(lanes shift, lanes sum, uint masked) {
#if OPERATION == OP_LOGSUMEXP
  (void)masked;
  return shift + log(sum);
#else
  (void)shift;
  lanes finish = OPERATION == OP_SOFTMAX ? 1 / sum : log(sum);
  if (masked) finish = sum == 0 ? (lanes)0 : finish;
  return sum == (lanes)INFINITY ? (lanes)NAN : finish;
#endif
}

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void softmax_cpu_short(SOFTMAX_ARGUMENTS) {
  local VALUE staged[LANES * MOST_COLS] __attribute__((aligned(64)));
  DEFINE_BLOCK(v);
  DEFINE_BLOCK(w);
  const ulong all = rows * batch, blocks = (all + LANES - 1) / LANES, share = (blocks + get_num_groups(0) - 1) / get_num_groups(0);
  const ulong begin = min(get_group_id(0) * share * LANES, all), end = min(begin + share * LANES, all);
  const uint count = COLS ? COLS : cols;
  for (uint i = 0; i < LANES * count; ++i) staged[i] = 0;
  for (ulong first = begin; first < end; first += LANES) {
    const uint high = (uint)min((ulong)LANES, end - first);
    load_block(FLAT(v, w), staged, in, first, high, rows, count, batch, in_offset, in_pitch, in_stride);
    to_vectors(v, w, count);
    lanes most = LEAST;
    EACH_VECTOR(k, count) most = v[k] > most ? v[k] : most;
    const lanes shift = isinf(most) ? (lanes)0 : most;
    lanes sum = 0;
    EACH_VECTOR(k, count) {
      const lanes less = v[k] - shift, e = vector_exp(less);
      sum += e;
      v[k] = OPERATION == OP_SOFTMAX ? e : less;
    }
    const lanes finish = finish_of_rows(shift, sum, masked);
#if ONE_A_ROW
    VALUE each[LANES];
    JOIN(vstore, LANES)(finish, 0, each);
    for (uint l = 0; l < high; ++l) store_result(out, row_place(first + l, rows, batch, out_offset, out_pitch, out_stride), each[l]);
#else
    EACH_VECTOR(k, count) v[k] = OPERATION == OP_SOFTMAX ? v[k] * finish : v[k] - finish;
    to_rows(v, w, count);
    store_block(out, FLAT(v, w), staged, first, high, rows, count, batch, out_offset, out_pitch, out_stride);
#endif
  }
}
