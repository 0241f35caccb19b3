// GEMM of a thin and a wide factor, of half or bfloat16, by the matrix units of sm_80 and later: A has at most 16 rows, or B at most 16
// columns. C = alpha A B + beta C. The wide factor is as many bytes as there are two operations for each result's row: the kernel reads
// it once, at the speed of memory.
//
// It goes from memory to registers, in pieces of 16 bytes, and is multiplied there: no tile in local memory. A group computes 16 rows by
// 64 columns of each of ACROSS warps, so that lines across k are long; the warps of the same columns take every DEEP-th step of 64 k, and add
// their sums in local memory. Which k, and which columns, the slots of an instruction stand for is free, as long as both operands agree:
//   wide factor across k: a lane has 8 columns of 4 k. Column g of instruction j is column 8 g + j, and slots 2 t, 2 t + 1, 2 t + 8,
//   2 t + 9 are k 4 t to 4 t + 3. Two words of two k are exchanged by halves.
//   along k: a lane has 8 k of a column, 4 for each of two instructions. Column g of instruction j is column 8 j + g.
//
// Launch: GROUP work-items a group, one group for each COLUMNS columns of each product, or of each split. Local memory: WARPS * 16 *
// OUT_ROW * 4 bytes, and a word with PARTS.
#ifndef WARPS
#define WARPS 8  // of a group: 2, 4, 8
#endif
#ifndef ACROSS
#define ACROSS 2  // of these, side by side: 1, 2, 4
#endif
#ifndef WIDE_IS_B
#define WIDE_IS_B 1  // 0: B is thin, and C is computed transposed
#endif
#ifndef THIN_VECTOR
#define THIN_VECTOR 1  // elements of a load along k: 4 if the thin factor's rows begin at multiples of 8 bytes, else 1
#endif
#define GROUP (32 * WARPS)
#define WARP_COLUMNS 64
#define COLUMNS (ACROSS * WARP_COLUMNS)
#define DEEP (WARPS / ACROSS)  // warps that take every DEEP-th step
#define STEP 64
#define TURN (DEEP * STEP)
#define OUT_ROW (WARP_COLUMNS + 4)
#define EACH (16 * COLUMNS / GROUP)  // results of a work-item

#define STORES_PARTS 0
#include "common/work_group.clh"
#include "gemm/operation.clh"
#if PARTS
#include "nvidia/gemm_join.clh"
#endif
#include "nvidia/mma.clh"

#define WIDE_ALONG_K (WIDE_IS_B ? B_ALONG_K : A_ALONG_K)
#define THIN_ALONG_K (WIDE_IS_B ? A_ALONG_K : B_ALONG_K)

#include "nvidia/skinny_products.clh"

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void gemm_skinny(GEMM_ARGUMENTS) {
  const gemm_arguments g = GEMM_ALL_ARGUMENTS;
  local value sums[WARPS * 16 * OUT_ROW] __attribute__((aligned(16)));
  MMA_SCRATCH
#if PARTS
  local uint is_last;
#endif
  const uint item = get_local_id(0), lane = item % 32, warp = item / 32;
  const uint each = (uint)(((WIDE_IS_B ? g.n : g.m) + COLUMNS - 1) / COLUMNS);
  const uint number = (uint)get_group_id(0) / each, tile = (uint)get_group_id(0) % each;
  const product q = product_of(&g, number);
  const ulong rows = WIDE_IS_B ? q.m : q.n, columns = WIDE_IS_B ? q.n : q.m, col = (ulong)tile * COLUMNS;
  // Each warp has as many columns, the last one some of another's, which it does not store; so does the last piece of a line.
  const ulong whole_columns = WIDE_ALONG_K ? columns : (columns + 7) / 8 * 8;
  const ulong last_col = whole_columns < WARP_COLUMNS ? 0 : whole_columns - WARP_COLUMNS;
  const ulong warp_col = min(col + warp % ACROSS * WARP_COLUMNS, last_col);
  source from;
  from.wide_pitch = WIDE_IS_B ? g.b_pitch : g.a_pitch, from.thin_pitch = WIDE_IS_B ? g.a_pitch : g.b_pitch;
  // The lane's first k. Rows that are not there read the last one, too: what is made of them is not stored.
  const ulong first = warp / ACROSS * STEP + lane % 4 * (WIDE_ALONG_K ? 8 : 4);
  const ulong row = min((ulong)(lane / 4), rows - 1), below = min(row + 8, rows - 1);
  from.upper = (WIDE_IS_B ? q.a : q.b) + (THIN_ALONG_K ? row * from.thin_pitch + first : first * from.thin_pitch + row);
  from.lower = from.upper + (below - row) * (THIN_ALONG_K ? from.thin_pitch : 1);
  from.wide = (WIDE_IS_B ? q.b : q.a) + (WIDE_ALONG_K ? (warp_col + lane / 4) * from.wide_pitch + first
                                                      : first * from.wide_pitch + warp_col + lane / 4 * 8);

  value sum[8][4];
#pragma unroll
  for (uint j = 0; j < 32; ++j) sum[j / 4][j % 4] = 0;
  add_turns(sum, &from, q.k, columns, warp_col, warp / ACROSS * STEP, lane MMA_SCRATCH_ARGUMENT);

#pragma unroll
  for (uint j = 0; j < 8; ++j)
#pragma unroll
    for (uint i = 0; i < 4; ++i)
      sums[(warp * 16 + lane / 4 + i / 2 * 8) * OUT_ROW + column_of(lane, j, i % 2)] = sum[j][i];
  barrier(CLK_LOCAL_MEM_FENCE);
  // A work-item adds the sums of all warps for some results: four neighbours at a time.
  value mine[EACH];
#pragma unroll
  for (uint i = 0; i < EACH; ++i) {
    const uint place = i / 4 * (4 * GROUP) + item * 4 + i % 4, beside = place % COLUMNS / WARP_COLUMNS;
    const ulong from = min(col + beside * WARP_COLUMNS, last_col), column = min(col + place % COLUMNS, columns - 1);
    mine[i] = 0;
    for (uint w = beside; w < WARPS; w += ACROSS) mine[i] += sums[(w * 16 + place / COLUMNS) * OUT_ROW + (uint)(column - from)];
  }
#if PARTS
  const tile_parts all = parts_of_group(&g, number, each, 16 * COLUMNS);
  if (!join_parts(mine, EACH, partials, all, counters + number / g.parts * each + tile, GROUP, item, 0, &is_last)) return;
#endif
  const destination d = destination_of(&g, number);
#pragma unroll
  for (uint i = 0; i < EACH; ++i) {
    const uint place = i / 4 * (4 * GROUP) + item * 4 + i % 4;
    const ulong y = place / COLUMNS, x = col + place % COLUMNS;
    if (y < rows && x < columns) write_sum(&d, WIDE_IS_B ? y : x, WIDE_IS_B ? x : y, mine[i]);
  }
}
