// Softmax of columns, first step of the ladder: a work-item reads its column three times: for the largest element, for the sum, for the
// results. Neighbouring work-items read neighbouring elements.
//
// Launch: one dimension, a work-item a column; a grid-stride loop over the columns. No local memory.
#include "softmax/operation.clh"
#include "common/columns.clh"

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void softmax_columns_naive(COLUMN_ARGUMENTS, uint masked) {
  for (ulong c = get_global_id(0); c < cols * batch; c += get_global_size(0)) {
    const ulong matrix = c / cols, col = c - matrix * cols;
    global const ELEMENT* from = in + in_offset + matrix * in_stride + col;
    global RESULT* to = out + out_offset + matrix * out_stride + col;
    VALUE largest = LEAST, sum = 0;
    for (int r = 0; r < rows; ++r) largest = fmax(largest, load_value(from, r * in_pitch));
    const VALUE shift = shift_of(largest);
    for (int r = 0; r < rows; ++r) sum += exp(load_value(from, r * in_pitch) - shift);
    const VALUE finish = finish_of(shift, sum, masked);
#if OPERATION == OP_LOGSUMEXP
    (void)out_pitch;
    store_result(to, 0, finish);
#else
    for (int r = 0; r < rows; ++r)
      store_result(to, r * out_pitch, RESULTS_OF(VALUE, load_value(from, r * in_pitch) - shift, finish));
#endif
  }
}
