// Expands a factor for a real product. With A and C as they lie, m x 2k and m x 2n real numbers, op(B) is 2k x 2n of them: for
// x + iy the block [[x, y], [-y, x]]. `factor` times the factor is expanded, and alpha can be in it. A conjugated A is that of
// the other sign: its imaginary parts meet the second row of each block.
//
// The factor lies along n, or along k: then blocks are transposed, and so is what they make. `to` is without gaps.
//
// Launch: three dimensions of work-items: column of the factor as it lies, row, matrix; grid-stride loops over rows and matrices.
#include "complex_gemm/numbers.clh"
#include "common/group_by_dimension.clh"

kernel __attribute__((reqd_work_group_size(GROUP_0, GROUP_1, GROUP_2)))
void complex_gemm_expand(global const number *restrict b, ulong b_offset, ulong b_pitch, ulong b_stride, part a_sign, part b_sign,
                         ulong rows, ulong cols, ulong matrices, part factor_re, part factor_im,
                         global number *restrict to) {
  const ulong col = get_global_id(0);
  if (col >= cols) return;  // no barrier follows
  const number factor = (number)(factor_re, factor_im);
  for (ulong q = get_global_id(2); q < matrices; q += get_global_size(2)) {
    for (ulong row = get_global_id(1); row < rows; row += get_global_size(1)) {
      const number x = scaled(conjugated(b[b_offset + q * b_stride + row * b_pitch + col], b_sign), factor);
      const number turned = a_sign * (number)(-x.y, x.x);
      const ulong at = (q * rows + row) * 2 * cols + col;
#if B_ALONG_K
      to[at] = (number)(x.x, turned.x);
      to[at + cols] = (number)(x.y, turned.y);
#else
      to[at] = x;
      to[at + cols] = turned;
#endif
    }
  }
}
