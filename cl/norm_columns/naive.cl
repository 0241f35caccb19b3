// layer_norm and rms_norm of columns, first step of the ladder: a work-item reads its column for the mean, for the squares of the differences,
// and for the results. Neighbouring work-items read neighbouring elements.
//
// Launch: one dimension, a work-item a column; a grid-stride loop over the columns. No local memory.
#include "norm_columns/columns.clh"

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void norm_columns_naive(NORM_ARGUMENTS) {
  USE_NORM_ARGUMENTS;
  for (ulong c = get_global_id(0); c < cols * batch; c += get_global_size(0)) {
    const ulong matrix = c / cols;
    const column_place at = PLACE_OF_COLUMN(matrix, c - matrix * cols);
    VALUE mean = 0, sum = 0, squares = 0;
#if OPERATION == OP_LAYER
    for (int r = 0; r < rows; ++r) mean += LOAD_OF_COLUMN(at, r);
    mean /= (VALUE)rows;
#endif
    for (int r = 0; r < rows; ++r) {
      const VALUE d = LOAD_OF_COLUMN(at, r) - mean;
      sum += d;
      squares += d * d;
    }
    const VALUE left = OPERATION == OP_LAYER ? sum / (VALUE)rows : 0;  // of the mean's rounding
    const VALUE factor = factor_of(squares - left * sum, rows, epsilon);
    if (flags & STORES_MEAN) means[means_offset + c] = mean + left;
    if (flags & STORES_FACTOR) factors[factors_offset + c] = factor;
    for (int r = 0; r < rows; ++r) {
      const VALUE x = LOAD_OF_COLUMN(at, r);
      STORE_SUM(at, r, x);
      STORE_OF_COLUMN(at, r, (x - mean - left) * factor);
    }
  }
}
