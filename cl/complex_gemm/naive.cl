// Complex matrix product, first step of the ladder: one result a work-item, factors read from global memory.
//
// Launch: three dimensions of work-items: column, row, product of the batch; grid-stride loops over rows and products.
#include "complex_gemm/numbers.clh"
#include "common/group_by_dimension.clh"

kernel __attribute__((reqd_work_group_size(GROUP_0, GROUP_1, GROUP_2)))
void complex_gemm_naive(COMPLEX_GEMM_ARGUMENTS) {
  const ulong col = get_global_id(0);
  if (col >= n) return;  // no barrier follows

  const number alpha = (number)(alpha_re, alpha_im), beta = (number)(beta_re, beta_im);
  // Grid-stride loops, because some drivers limit the second and third dimension of a launch.
  for (ulong q = get_global_id(2); q < batch; q += get_global_size(2)) {
    for (ulong row = get_global_id(1); row < m; row += get_global_size(1)) {
      ulong left = a_offset + q * a_stride + (A_ALONG_K ? row * a_pitch : row);
      ulong right = b_offset + q * b_stride + (B_ALONG_K ? col * b_pitch : col);
      number sum = 0;
      for (ulong p = 0; p < k; ++p) {
        sum = multiplied_and_added(conjugated(a[left], a_sign), conjugated(b[right], b_sign), sum);
        left += A_ALONG_K ? 1 : a_pitch;
        right += B_ALONG_K ? 1 : b_pitch;
      }
      write_result(c, c_offset + q * c_stride + row * c_pitch + col, sum, alpha, beta);
    }
  }
}
