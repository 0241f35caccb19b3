// Matrix product, first step of the ladder: one result a work-item, operands read from global memory. No local memory. Each
// element of A is read n times and each of B m times; only the caches reuse them.
//
// Launch: three dimensions of work-items: column, row, product of the batch; grid-stride loops over rows and products.
#include "gemm/operation.clh"
#include "common/group_by_dimension.clh"

kernel __attribute__((reqd_work_group_size(GROUP_0, GROUP_1, GROUP_2)))
void gemm_naive(GEMM_ARGUMENTS) {
  const gemm_arguments g = GEMM_ALL_ARGUMENTS;
  const ulong col = get_global_id(0);
  if (col >= g.n) return;  // no barrier follows

  // Grid-stride loops, because some drivers limit the second and third dimension of a launch.
  for (ulong number = get_global_id(2); number < g.batch; number += get_global_size(2)) {
    const product q = product_of(&g, number);
    const destination d = destination_of(&g, number);
    for (ulong row = get_global_id(1); row < q.m; row += get_global_size(1)) {
      global const element* left = q.a + (A_ALONG_K ? row * g.a_pitch : row);
      global const element* right = q.b + (B_ALONG_K ? col * g.b_pitch : col);
      value sum = 0;
      for (ulong p = 0; p < q.k; ++p) {
        sum += load_element(left) * load_b_element(right);
        left += A_ALONG_K ? 1 : g.a_pitch;
        right += B_ALONG_K ? 1 : g.b_pitch;
      }
      write_sum(&d, row, col, sum);
    }
  }
}
