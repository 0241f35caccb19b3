// Complex matrix product of doubles by the matrix units of NVIDIA's sm_80 and later. cp.async fills stages in local memory STAGES - 1
// steps ahead.
//
// A product of numbers is four real ones: their fragments are the real and imaginary parts of what is loaded once. nvidia/dmma.clh has
// the slots of an instruction, nvidia/complex_gemm/tiles.clh the tiles and copies. Rows of a tile across k are padded by two numbers, so that
// the four k and two lines that a transaction of 8 lanes loads access 32 banks.
//
// Launch: GROUP work-items a group, a group for each tile of each product. Local memory: STAGES * (A_STAGE + B_STAGE) numbers, and one with SPLITS.
#ifndef WARPS_M
#define WARPS_M 2  // warps of a group, down
#endif
#ifndef WARPS_N
#define WARPS_N 2  // and across
#endif
#ifndef WARP_M
#define WARP_M 32  // rows of a warp: multiples of 16
#endif
#ifndef WARP_N
#define WARP_N 32  // columns: multiples of 8; WARP_M * WARP_N at most 1024
#endif
#ifndef TILE_K
#define TILE_K 16  // k of a step: 8, or a multiple of 16, whose fragments are read ahead: of rows by 8 k, of columns by 8 columns
#endif
#ifndef STAGES
#define STAGES 4  // 2 to 8
#endif
#define PART_DOUBLE 1
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#include "complex_gemm/numbers.clh"

#define TILE_M (WARPS_M * WARP_M)
#define TILE_N (WARPS_N * WARP_N)
#define GROUP (32 * WARPS_M * WARPS_N)
#define KEEPS_LINES 1
#define A_ROW (TILE_M + 2)  // across k
#define B_ROW (TILE_N + 2)
#define LEFTS (WARP_M / 16)
#define RIGHTS (WARP_N / 8)
#include "common/work_group.clh"
#include "nvidia/dmma.clh"
#include "nvidia/complex_gemm/tiles.clh"
#define STAGE (A_STAGE + B_STAGE)
#define BLOCKS (TILE_K / 8)
#define A_BLOCK (A_STAGE / BLOCKS)
#define B_BLOCK (B_STAGE / BLOCKS)
#include "nvidia/complex_gemm/units.clh"

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void complex_gemm_dmma(COMPLEX_TILES_ARGUMENTS) {
  local number tiles[STAGES * STAGE + SPLITS] __attribute__((aligned(128)));
  DMMA_SCRATCH
  (void)batch, (void)a_sign;  // the launch has a group for each tile of each product
#if !SPLITS
  (void)partials, (void)counters;
#endif
  const uint item = get_local_id(0), lane = item % 32, warp = item / 32;
  const group_tile tile = find_tile(m, n, k, parts, part_depth);
  factor left = factor_from(a + a_offset + tile.product * a_stride, a_pitch, tile.row, tile.height, A_ALONG_K, &tile);
  factor right = factor_from(b + b_offset + tile.product * b_stride, b_pitch, tile.col, tile.width, B_ALONG_K, &tile);
  const uint y = warp % WARPS_M * WARP_M, x = warp / WARPS_M * WARP_N, slot = lane % 4 ^ lane / 4 % 2 * 4;
  const uint of_a = A_ALONG_K ? (y + lane / 4) * 8 + slot : lane % 4 * A_ROW + y + lane / 4;
  const uint of_b = B_ALONG_K ? (x + lane / 4) * 8 + slot : lane % 4 * B_ROW + x + lane / 4;

  double sums[2][LEFTS][RIGHTS][4];  // real and imaginary parts
#pragma unroll
  for (uint i = 0; i < 8 * LEFTS * RIGHTS; ++i) sums[i / 4 / RIGHTS / LEFTS][i / 4 / RIGHTS % LEFTS][i / 4 % RIGHTS][i % 4] = 0;
  for (uint s = 0; s < STAGES - 1; ++s) copy_step(tiles + s * STAGE, tiles + s * STAGE + A_STAGE, &left, &right, item);
  uint stage = 0, next = STAGES - 1;
  fragments f;
#if BLOCKS == 1
#pragma unroll 1
  for (uint step = 0; step < tile.steps; ++step) {
    WAIT_COPIES(STAGES - 2);
    barrier(CLK_LOCAL_MEM_FENCE);  // which ends the reads of the stage that is filled next, too
    copy_step(tiles + next * STAGE, tiles + next * STAGE + A_STAGE, &left, &right, item);
    load_rows(&f, 0, tiles + stage * STAGE, 0, of_a);
    UNROLL_UNITS
    for (uint j = 0; j < RIGHTS; ++j) {
      load_columns(&f, 0, tiles + stage * STAGE, 0, j, of_b);
      multiply_columns(sums, &f, 0, j, 0, item DMMA_SCRATCH_ARGUMENT);
    }
    next = stage;
    stage = stage + 1 == STAGES ? 0 : stage + 1;
  }
#else
  WAIT_COPIES(STAGES - 2);
  barrier(CLK_LOCAL_MEM_FENCE);
  load_rows(&f, 0, tiles, 0, of_a);
  load_columns(&f, 0, tiles, 0, 0, of_b);
#pragma unroll 1
  for (uint step = 0; step < tile.steps; ++step)
    UNROLL_UNITS
    for (uint block = 0; block < BLOCKS; ++block) {
      const uint after = (block + 1) % BLOCKS;
      UNROLL_UNITS
      for (uint j = 0; j < RIGHTS; ++j) {
        const uint columns = (block * RIGHTS + j) % 2;
        if (after == 0 && j + 1 == RIGHTS) {  // what is left of this stage is in registers: go to the next one
          next = stage;
          stage = stage + 1 == STAGES ? 0 : stage + 1;
          WAIT_COPIES(STAGES - 2);
          barrier(CLK_LOCAL_MEM_FENCE);
        }
        if (j + 1 == RIGHTS) load_rows(&f, 1 - block % 2, tiles + stage * STAGE, after, of_a);
        load_columns(&f, 1 - columns, tiles + stage * STAGE, j + 1 == RIGHTS ? after : block, (j + 1) % RIGHTS, of_b);
        multiply_columns(sums, &f, block % 2, j, columns, item DMMA_SCRATCH_ARGUMENT);
        if (block == 0 && j == 0) copy_factor(tiles + next * STAGE, A_ROW, TILE_M, A_ALONG_K, &left, item);
        if (block == 0 && j + 1 == RIGHTS) {
          copy_factor(tiles + next * STAGE + A_STAGE, B_ROW, TILE_N, B_ALONG_K, &right, item);
          end_copies();
        }
      }
    }
#endif
  WAIT_COPIES(0);
#if SPLITS
  if (!join_splits(sums[0][0][0], 8 * LEFTS * RIGHTS, partials, counters, parts, tile.tiles, tile.number, item,
                   (local uint*)(tiles + STAGES * STAGE)))
    return;
#endif
  const number alpha = (number)(alpha_re, alpha_im), beta = (number)(beta_re, beta_im);
#pragma unroll
  for (uint i = 0; i < LEFTS * 2; ++i) {
    const uint r = y + i * 8 + lane / 4;
    const ulong line = c_offset + tile.product * c_stride + (tile.row + r) * c_pitch + tile.col;
    if (r < tile.height)
#pragma unroll
      for (uint j = 0; j < RIGHTS * 2; ++j) {
        const uint s = x + j / 2 * 8 + lane % 4 * 2 + j % 2, e = i % 2 * 2 + j % 2;
        if (s < tile.width) write_result(c, line + s, (number)(sums[0][i / 2][j / 2][e], sums[1][i / 2][j / 2][e] * b_sign), alpha, beta);
      }
  }
}
