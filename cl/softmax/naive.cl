// Softmax, first step of the ladder: a work-item reads its row three times: for the largest element, for the sum, for the results.
//
// Launch: one dimension, a work-item a row; a grid-stride loop over the rows. No local memory.
#include "softmax/operation.clh"

#ifndef GROUP
#define GROUP 64  // work-items
#endif

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void softmax_naive(SOFTMAX_ARGUMENTS) {
  for (ulong r = get_global_id(0); r < rows * batch; r += get_global_size(0)) {
    global const ELEMENT* from = in + row_place(r, rows, batch, in_offset, in_pitch, in_stride);
    global RESULT* to = out + row_place(r, rows, batch, out_offset, out_pitch, out_stride);
    VALUE largest = LEAST, sum = 0;
    for (int i = 0; i < cols; ++i) largest = fmax(largest, load_value(from, i));
    const VALUE shift = shift_of(largest);
    for (int i = 0; i < cols; ++i) sum += exp(load_value(from, i) - shift);
    const VALUE finish = finish_of(shift, sum, masked);
#if OPERATION == OP_LOGSUMEXP
    store_result(to, 0, finish);
#else
    for (int i = 0; i < cols; ++i) store_result(to, i, RESULTS_OF(VALUE, load_value(from, i) - shift, finish));
#endif
  }
}
