// GEMM of many small products by the matrix units of NVIDIA's sm_80 and later: C = alpha A B + beta C of double, half and bfloat16.
//
// A warp computes tiles of 16 x 16 results. Its fragments come from global memory to registers by whole sectors, without local memory
// and barriers: each lane has 2 lines by 4 successive k of both factors. k 4 t + i stands in the slots of lane t (nvidia/mma.clh,
// nvidia/dmma.clh), the same of A and B. Lines are neighbours where they are contiguous in memory, so that a lane's results are 4
// successive columns of 2 rows.
//
// Launch: GROUP work-items a group, each warp takes a tile after the other.
#ifndef ELEMENT_TYPE
#define ELEMENT_TYPE 2  // half; gemm/numbers.clh has the others
#endif
#ifndef WARPS
#define WARPS 4  // of a group, 1 to 16
#endif
#ifndef WHOLE
// 1: of double all rows of A and B begin at multiples of 16 bytes; of 16 bits those along k of 8, those across k of 4.
#define WHOLE 0
#endif
#ifndef C_VECTOR
#define C_VECTOR 1  // results of a store: 4 if all rows of C begin at multiples of four, of double of two; else 1
#endif

#define GROUP (32 * WARPS)
#define STORES_PARTS 0
#include "common/work_group.clh"
#include "gemm/operation.clh"
#if ELEMENT_TYPE == TYPE_DOUBLE
#include "nvidia/dmma.clh"
#else
#include "nvidia/mma.clh"
#define DMMA_SCRATCH MMA_SCRATCH
#endif
#include "nvidia/small_tiles.clh"

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void gemm_small(GEMM_ARGUMENTS) {
  const gemm_arguments g = GEMM_ALL_ARGUMENTS;
  DMMA_SCRATCH
  const uint item = get_local_id(0), r = item % 32 / 4, t = item % 4;
  const uint across = (uint)((g.n + 15) / 16), each = across * (uint)((g.m + 15) / 16), all = each * (uint)g.batch;
  const uint next_row = A_ALONG_K ? 8 : 1, first_row = A_ALONG_K ? r : r * 2;
#pragma unroll 1
  for (uint base = (uint)get_group_id(0) * WARPS; base < all; base += (uint)get_num_groups(0) * WARPS) {
    const uint own = base + item / 32, tile = min(own, all - 1), number = tile / each, place = tile % each;
    const product q = product_of(&g, number);
    const ulong row = (ulong)(place / across * 16 + first_row), col = (ulong)(place % across * 16 + r * 2);
    const uint rows = left_of(q.m, row), cols = left_of(q.n, col);
    const int whole = WHOLE && (place / across + 1) * 16 <= q.m && (place % across + 1) * 16 <= q.n;
    global const element* a = q.a + (A_ALONG_K ? row * g.a_pitch + t * 4 : t * 4 * g.a_pitch + row);
    global const element* b = q.b + (B_ALONG_K ? col * g.b_pitch + t * 4 : t * 4 * g.b_pitch + col);
    value sum[2][4] = {{0, 0, 0, 0}, {0, 0, 0, 0}};
#pragma unroll 1
    for (ulong k = 0; k < g.k; k += 16) {
      element left[2][4], right[2][4];
      if (whole && k + 16 <= g.k) {
        load_lines(left, a, g.a_pitch, next_row, 16, 4, A_ALONG_K, 1);
        load_lines(right, b, g.b_pitch, 1, 16, 4, B_ALONG_K, 1);
      } else {
        const uint depth = left_of(q.k, k + t * 4);
        load_lines(left, a, g.a_pitch, next_row, rows, depth, A_ALONG_K, 0);
        load_lines(right, b, g.b_pitch, 1, cols, depth, B_ALONG_K, 0);
      }
      a += A_ALONG_K ? 16 : 16 * g.a_pitch, b += B_ALONG_K ? 16 : 16 * g.b_pitch;
      UNROLL_UNITS
      for (uint j = 0; j < 2; ++j) {
#if ELEMENT_TYPE == TYPE_DOUBLE
        const double a_0[4] = {left[0][0], left[1][0], left[0][1], left[1][1]}, b_0[2] = {right[j][0], right[j][1]};
        const double a_1[4] = {left[0][2], left[1][2], left[0][3], left[1][3]}, b_1[2] = {right[j][2], right[j][3]};
        MULTIPLY_ADD(sum[j], a_0, b_0);
        MULTIPLY_ADD(sum[j], a_1, b_1);
#else
#define WORD(x, i) (x[i] | (uint)x[(i) + 1] << 16)
        const uint of_a[4] = {WORD(left[0], 0), WORD(left[1], 0), WORD(left[0], 2), WORD(left[1], 2)};
        const uint of_b[2] = {WORD(right[j], 0), WORD(right[j], 2)};
        MULTIPLY_ADD(sum[j], of_a, of_b);
#endif
      }
    }

    // Of the slots of B's columns, 2 t + i has column 4 t + 2 i of the tile, and in the other instruction the next one.
    const destination d = destination_of(&g, number);
    const ulong to = (ulong)(place % across * 16 + t * 4);
#pragma unroll
    for (uint h = 0; h < 2; ++h) {
      const ulong y = row + h * next_row;
      if (own >= all || y >= q.m) continue;
      if (C_VECTOR == 4 && to + 4 <= q.n) {
        const value4 x = {finish_value(&d, y, to, sum[0][h * 2]), finish_value(&d, y, to + 1, sum[1][h * 2]),
                          finish_value(&d, y, to + 2, sum[0][h * 2 + 1]), finish_value(&d, y, to + 3, sum[1][h * 2 + 1])};
        store_four(d.c + y * d.pitch + to, x);
      } else {
#pragma unroll
        for (uint e = 0; e < 4; ++e)
          if (to + e < q.n) write_sum(&d, y, to + e, sum[e % 2][h * 2 + e / 2]);
      }
    }
  }
}
