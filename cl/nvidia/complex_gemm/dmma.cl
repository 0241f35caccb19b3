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
#define TILE_K 8  // k of a step: 8
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

// Loads a number of each slot of k to places that are `apart`.
GROUP_FUNCTION void load_slots(double* re, double* im, const uint apart, local const number* tile, uint first, const uint row, const int along_k) {
  const number x = tile[first], y = tile[along_k ? first ^ 4 : first + 4 * row];
  re[0] = x.x, im[0] = x.y, re[apart] = y.x, im[apart] = y.y;
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void complex_gemm_dmma(COMPLEX_TILES_ARGUMENTS) {
  local number tiles[STAGES * (A_STAGE + B_STAGE) + SPLITS] __attribute__((aligned(128)));
  local number *const a_tiles = tiles, *const b_tiles = a_tiles + STAGES * A_STAGE;
  DMMA_SCRATCH
  (void)batch, (void)a_sign;  // the launch has a group for each tile of each product
#if !SPLITS
  (void)partials, (void)counters;
#endif
  const uint item = get_local_id(0), lane = item % 32, warp = item / 32;
  const group_tile tile = find_tile(m, n, k, parts, part_depth);
  factor left = factor_from(a + a_offset + tile.product * a_stride, a_pitch, tile.row, tile.height, A_ALONG_K, &tile);
  factor right = factor_from(b + b_offset + tile.product * b_stride, b_pitch, tile.col, tile.width, B_ALONG_K, &tile);
  const uint y = warp % WARPS_M * WARP_M, x = warp / WARPS_M * WARP_N;
  const uint slot = lane % 4 ^ lane / 4 % 2 * 4, each_a = A_ALONG_K ? TILE_K * 8 : 8, each_b = B_ALONG_K ? TILE_K * 8 : 8;  // 8 lines
  const uint of_a = A_ALONG_K ? (y + lane / 4) * TILE_K + slot : lane % 4 * A_ROW + y + lane / 4;
  const uint of_b = B_ALONG_K ? (x + lane / 4) * TILE_K + slot : lane % 4 * B_ROW + x + lane / 4;

  double sums[2][LEFTS][RIGHTS][4];  // real and imaginary parts
#pragma unroll
  for (uint i = 0; i < 8 * LEFTS * RIGHTS; ++i) sums[i / 4 / RIGHTS / LEFTS][i / 4 / RIGHTS % LEFTS][i / 4 % RIGHTS][i % 4] = 0;
  for (uint s = 0; s < STAGES - 1; ++s) copy_step(a_tiles + s * A_STAGE, b_tiles + s * B_STAGE, &left, &right, item);
  uint stage = 0, next = STAGES - 1;
#pragma unroll 1
  for (uint step = 0; step < tile.steps; ++step) {
    WAIT_COPIES(STAGES - 2);
    barrier(CLK_LOCAL_MEM_FENCE);  // which ends the reads of the stage that is filled next, too
    copy_step(a_tiles + next * A_STAGE, b_tiles + next * B_STAGE, &left, &right, item);
    local const number *a_tile = a_tiles + stage * A_STAGE, *b_tile = b_tiles + stage * B_STAGE;
    next = stage;
    stage = stage + 1 == STAGES ? 0 : stage + 1;
    double a_re[LEFTS][4], a_im[LEFTS][4];
#pragma unroll
    for (uint i = 0; i < LEFTS * 2; ++i)
      load_slots(a_re[i / 2] + i % 2, a_im[i / 2] + i % 2, 2, a_tile, of_a + i * each_a, A_ROW, A_ALONG_K);
    UNROLL_UNITS
    for (uint j = 0; j < RIGHTS; ++j) {
      double b_re[2], b_im[2], negated[2];
      load_slots(b_re, b_im, 1, b_tile, of_b + j * each_b, B_ROW, B_ALONG_K);
#pragma unroll
      for (uint e = 0; e < 2; ++e) negated[e] = CONJUGATES ? -b_re[e] : -b_im[e];
      // Instructions that add to the same sums are far apart.
      UNROLL_UNITS
      for (uint i = 0; i < LEFTS; ++i) MULTIPLY_ADD(sums[0][i][j], a_re[i], b_re);
      UNROLL_UNITS
      for (uint i = 0; i < LEFTS; ++i) MULTIPLY_ADD(sums[1][i][j], a_re[i], b_im);
      UNROLL_UNITS
      for (uint i = 0; i < LEFTS; ++i) MULTIPLY_ADD(sums[0][i][j], a_im[i], CONJUGATES ? b_im : negated);
      UNROLL_UNITS
      for (uint i = 0; i < LEFTS; ++i) MULTIPLY_ADD(sums[1][i][j], a_im[i], CONJUGATES ? negated : b_re);
    }
  }
  WAIT_COPIES(0);
#if SPLITS
  if (!join_splits(sums[0][0][0], 8 * LEFTS * RIGHTS, partials, counters, parts, tile.tiles, tile.number, item,
                   (local uint*)(tiles + STAGES * (A_STAGE + B_STAGE))))
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
