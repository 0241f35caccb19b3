// layer_norm and rms_norm, first step of the ladder: a work-item reads its row for the mean, for the squares of the differences, and for
// the results.
//
// Launch: one dimension, a work-item a row; a grid-stride loop over the rows. No local memory.
#ifndef PACK
#define PACK 1
#endif
#include "norm/operation.clh"

#ifndef GROUP
#define GROUP 64  // work-items
#endif

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void norm_naive(NORM_ARGUMENTS) {
  USE_NORM_ARGUMENTS;
  const int shift = 0;
  for (ulong r = get_global_id(0); r < rows * batch; r += get_global_size(0)) {
    global const ELEMENT* from = in + row_place(r, rows, batch, in_offset, in_pitch, in_stride);
    global const ELEMENT* other = residual + row_place(r, rows, batch, residual_offset, residual_pitch, residual_stride);
    global RESULT* to = out + row_place(r, rows, batch, out_offset, out_pitch, out_stride);
    VALUE mean = 0, sum = 0, squares = 0;
#if OPERATION == OP_LAYER
    for (int i = 0; i < cols; ++i) mean += load_x(from, other, i, cols, 1);
    mean /= (VALUE)cols;
#endif
    for (int i = 0; i < cols; ++i) {
      const VALUE d = load_x(from, other, i, cols, 1) - mean;
      sum += d;
      squares += d * d;
    }
    const VALUE left = OPERATION == OP_LAYER ? sum / (VALUE)cols : 0;  // of the mean's rounding
    const VALUE factor = factor_of(squares - left * sum, cols, epsilon);
    if (flags & STORES_MEAN) means[means_offset + r] = mean + left;
    if (flags & STORES_FACTOR) factors[factors_offset + r] = factor;
    for (int i = 0; i < cols; ++i) {
      const VALUE x = load_x(from, other, i, cols, 1);
#if HAS_SUM
      store_result(sums + row_place(r, rows, batch, sums_offset, sums_pitch, sums_stride), i, x);
#endif
      store_result(to, i, weighted((x - mean - left) * factor, weight, weight_offset, bias, bias_offset, i, cols, shift, flags));
    }
  }
}
