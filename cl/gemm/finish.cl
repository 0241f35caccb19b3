// The second launch where sums are made in parts: adds those of each sum, always in the same order, and writes the result.
//
// Launch: three dimensions of work-items: column, row, product of the batch.
#include "gemm/operation.clh"

#ifndef GROUP_0
#define GROUP_0 16  // work-group, by dimension
#endif
#ifndef GROUP_1
#define GROUP_1 16
#endif
#ifndef GROUP_2
#define GROUP_2 1
#endif

kernel __attribute__((reqd_work_group_size(GROUP_0, GROUP_1, GROUP_2)))
void gemm_finish(GEMM_ARGUMENTS) {
  const ulong col = get_global_id(0);
  if (col >= n) return;  // no barrier follows

  // Some drivers limit the second and third dimension of a launch: what exceeds it is a loop.
  for (ulong number = get_global_id(2); number < batch; number += get_global_size(2)) {
    const product q = GEMM_PRODUCT(number);
    const destination d = GEMM_DESTINATION(number);
    for (ulong row = get_global_id(1); row < q.m; row += get_global_size(1)) {
      global const value* part = partials + (number * parts * m + row) * n + col;
      value sum = 0;
      for (uint p = 0; p < parts; ++p) sum += part[p * m * n];
      write_sum(&d, row, col, sum);
    }
  }
}
