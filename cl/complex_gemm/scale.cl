// Multiplies C by a complex beta, before a real product is added to it.
//
// Launch: three dimensions of work-items: column, row, product of the batch; grid-stride loops over rows and products.
#include "complex_gemm/numbers.clh"
#include "common/group_by_dimension.clh"

kernel __attribute__((reqd_work_group_size(GROUP_0, GROUP_1, GROUP_2)))
void complex_gemm_scale(global number *restrict c, ulong c_offset, ulong c_pitch, ulong c_stride, ulong m, ulong n, ulong batch,
                        part beta_re, part beta_im) {
  const ulong col = get_global_id(0);
  if (col >= n) return;  // no barrier follows
  const number beta = (number)(beta_re, beta_im);
  for (ulong q = get_global_id(2); q < batch; q += get_global_size(2)) {
    for (ulong row = get_global_id(1); row < m; row += get_global_size(1)) {
      const ulong at = c_offset + q * c_stride + row * c_pitch + col;
      c[at] = scaled(c[at], beta);
    }
  }
}
