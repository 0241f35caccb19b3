// layer_norm and rms_norm of short rows for a CPU: a work-group is one work-item, which is one thread, and computes blocks of LANES rows at
// once. The rows of a block are transposed in registers or in its cache, so that element k of all rows is a vector; each row is read once.
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
#include "norm/operation.clh"
#define ONE_A_ROW 0
#include "common/row_vectors.clh"
#include "common/short_rows.clh"

#if HAS_WEIGHT || HAS_BIAS
INLINED void load_vector(VALUE* w, global const WEIGHT* from, uint count) {
#if WEIGHT_IS_ELEMENT
  for (uint k = 0; k < count; ++k) w[k] = load_value(from, k);
#else
  for (uint k = 0; k < count; ++k) w[k] = from[k];
#endif
}
#endif

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void norm_cpu_short(NORM_ARGUMENTS) {
  USE_NORM_ARGUMENTS;
  local VALUE staged[LANES * MOST_COLS] __attribute__((aligned(64)));
  DEFINE_BLOCK(v);
  DEFINE_BLOCK(w);
  const ulong all = rows * batch, blocks = (all + LANES - 1) / LANES, share = (blocks + get_num_groups(0) - 1) / get_num_groups(0);
  const ulong begin = min(get_group_id(0) * share * LANES, all), end = min(begin + share * LANES, all);
  const uint count = COLS ? COLS : cols;
#if HAS_WEIGHT
  VALUE factors_of_cols[MOST_COLS];
  load_vector(factors_of_cols, weight + weight_offset, count);
#endif
#if HAS_BIAS
  VALUE summands_of_cols[MOST_COLS];
  load_vector(summands_of_cols, bias + bias_offset, count);
#endif
  for (uint i = 0; i < LANES * count; ++i) staged[i] = 0;
  for (ulong first = begin; first < end; first += LANES) {
    const uint high = (uint)min((ulong)LANES, end - first);
    load_block(FLAT(v, w), staged, in, first, high, rows, count, batch, in_offset, in_pitch, in_stride);
#if HAS_RESIDUAL
    load_block(FLAT(w, v), staged, residual, first, high, rows, count, batch, residual_offset, residual_pitch, residual_stride);
    EACH_VECTOR(k, count) FLAT(v, w)[k] += FLAT(w, v)[k];
#endif
#if HAS_SUM
    store_block(sums, FLAT(v, w), staged, first, high, rows, count, batch, sums_offset, sums_pitch, sums_stride);
#endif
    to_vectors(v, w, count);
    lanes mean = 0, left = 0, sum = 0, squares = 0;
#if OPERATION == OP_LAYER
    EACH_VECTOR(k, count) mean += v[k];
    mean /= (VALUE)count;
#endif
    EACH_VECTOR(k, count) {
      const lanes d = v[k] - mean;
      sum += d;
      squares += d * d;
      v[k] = d;
    }
#if OPERATION == OP_LAYER
    left = sum / (VALUE)count;  // of the mean's rounding
#endif
    const lanes variance = (squares - left * sum) / (VALUE)count;
    const lanes factor = isfinite(variance) ? rsqrt(variance + epsilon) : (lanes)NAN;
    if (flags & (STORES_MEAN | STORES_FACTOR)) {
      VALUE each_mean[LANES], each_factor[LANES];
      JOIN(vstore, LANES)(mean + left, 0, each_mean);
      JOIN(vstore, LANES)(factor, 0, each_factor);
      for (uint l = 0; l < high; ++l) {
        if (flags & STORES_MEAN) means[means_offset + first + l] = each_mean[l];
        if (flags & STORES_FACTOR) factors[factors_offset + first + l] = each_factor[l];
      }
    }
    EACH_VECTOR(k, count) {
      lanes x = (v[k] - left) * factor;
#if HAS_WEIGHT
      x *= factors_of_cols[k];
#endif
#if HAS_BIAS
      x += summands_of_cols[k];
#endif
      v[k] = x;
    }
    to_rows(v, w, count);
    store_block(out, FLAT(v, w), staged, first, high, rows, count, batch, out_offset, out_pitch, out_stride);
  }
}
