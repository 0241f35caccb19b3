// Complex matrix product of floats on NVIDIA from sm_80 on. cp.async fills stages in local memory STAGES - 1 steps ahead; a work-item reads its
// next fragments while it multiplies the current ones.
//
// A group computes TILE_M x TILE_N numbers, a warp WARP_M x WARP_N of them by LANES_M x LANES_N lanes, a work-item ITEM_M x ITEM_N,
// in strips of 16 bytes that lie LANES_M and LANES_N strips apart: loads of local memory have no bank conflicts. For each k a
// work-item reads ITEM_M + ITEM_N numbers and does 4 * ITEM_M * ITEM_N multiply-adds.
//
// nvidia/complex_gemm/tiles.clh has the tiles and copies. A tile whose numbers are transposed has rows that are padded by 16 bytes, so that 8 k
// of a warp's copies access 32 banks.
//
// Launch: GROUP work-items a group, a group for each tile of each product. Local memory: STAGES * (A_STAGE + B_STAGE) numbers, and one with SPLITS.
#ifndef WARPS_M
#define WARPS_M 2  // warps of a group, down
#endif
#ifndef WARPS_N
#define WARPS_N 2  // and across
#endif
#ifndef LANES_M
#define LANES_M 4  // lanes of a warp, down: 1, 2, 4, 8, 16, 32; 32 / LANES_M across
#endif
#ifndef ITEM_M
#define ITEM_M 8  // rows of a work-item: even
#endif
#ifndef ITEM_N
#define ITEM_N 4  // columns: even
#endif
#ifndef TILE_K
#define TILE_K 8  // k of a stage: multiples of 8
#endif
#ifndef STAGES
#define STAGES 4  // 2 to 8
#endif
#ifndef EMULATED
#define EMULATED 0  // 1: copies in plain OpenCL C
#endif
#include "complex_gemm/numbers.clh"

#define LANES_N (32 / LANES_M)
#define WARP_M (LANES_M * ITEM_M)
#define WARP_N (LANES_N * ITEM_N)
#define TILE_M (WARPS_M * WARP_M)
#define TILE_N (WARPS_N * WARP_N)
#define GROUP (32 * WARPS_M * WARPS_N)
#define KEEPS_LINES 0
#define STRIP 2  // numbers of 16 bytes
#define A_ROW (TILE_M + (A_ALONG_K ? STRIP : 0))
#define B_ROW (TILE_N + (B_ALONG_K ? STRIP : 0))
#include "nvidia/complex_gemm/tiles.clh"
#include "nvidia/complex_gemm/fragments.clh"

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void complex_gemm_multistage(COMPLEX_TILES_ARGUMENTS) {
  local number tiles[STAGES * (A_STAGE + B_STAGE) + SPLITS] __attribute__((aligned(128)));
  local number *const a_tiles = tiles, *const b_tiles = a_tiles + STAGES * A_STAGE;
  (void)batch, (void)a_sign;  // the launch has a group for each tile of each product
#if !SPLITS
  (void)partials, (void)counters;
#endif
  const uint item = get_local_id(0), lane = item % 32, warp = item / 32;
  const group_tile tile = find_tile(m, n, k, parts, part_depth);
  factor left = factor_from(a + a_offset + tile.product * a_stride, a_pitch, tile.row, tile.height, A_ALONG_K, &tile);
  factor right = factor_from(b + b_offset + tile.product * b_stride, b_pitch, tile.col, tile.width, B_ALONG_K, &tile);
  // Pairs of neighbouring lanes lie down the rows: 8 lanes, whose 16 bytes are read in one transaction, access few rows and few columns.
  const uint pair = (LANES_M > 1) & (LANES_N > 1);
  const uint lane_m = pair ? lane / (2 * LANES_N) * 2 + lane % 2 : LANES_N == 1 ? lane : 0;
  const uint lane_n = pair ? lane / 2 % LANES_N : LANES_M == 1 ? lane : 0;
  const uint y = warp % WARPS_M * WARP_M + lane_m * STRIP, x = warp / WARPS_M * WARP_N + lane_n * STRIP;

  float sums[2][ITEM_M][ITEM_N];  // real and imaginary parts
#pragma unroll
  for (uint i = 0; i < 2 * ITEM_M * ITEM_N; ++i) sums[i / ITEM_N / ITEM_M][i / ITEM_N % ITEM_M][i % ITEM_N] = 0;
  for (uint s = 0; s < STAGES - 1; ++s) copy_step(a_tiles + s * A_STAGE, b_tiles + s * B_STAGE, &left, &right, item);
  WAIT_COPIES(STAGES - 2);
  barrier(CLK_LOCAL_MEM_FENCE);
  a_fragment of_a[2];
  b_fragment of_b[2];
  uint stage = 0, next = STAGES - 1;
  read_fragments(&of_a[0], &of_b[0], a_tiles + y, b_tiles + x);
#pragma unroll 1
  for (uint step = 0; step < tile.steps; ++step) {
    copy_step(a_tiles + next * A_STAGE, b_tiles + next * B_STAGE, &left, &right, item);
    next = stage;  // which is read before the next step's copies start
    local const number *a_row = a_tiles + stage * A_STAGE + y, *b_row = b_tiles + stage * B_STAGE + x;
    stage = stage + 1 == STAGES ? 0 : stage + 1;
#pragma unroll
    for (uint p = 0; p < TILE_K; ++p) {
      if (p + 1 == TILE_K) {  // what is left of this stage is in registers
        WAIT_COPIES(STAGES - 2);
        barrier(CLK_LOCAL_MEM_FENCE);
        a_row = a_tiles + stage * A_STAGE + y, b_row = b_tiles + stage * B_STAGE + x;
      } else {
        a_row += A_ROW, b_row += B_ROW;
      }
      read_fragments(&of_a[(p + 1) % 2], &of_b[(p + 1) % 2], a_row, b_row);
      multiply_fragments(sums[0], sums[1], &of_a[p % 2], &of_b[p % 2]);
    }
  }
  WAIT_COPIES(0);
#if SPLITS
  if (!join_splits(sums[0][0], 2 * ITEM_M * ITEM_N, partials, counters, parts, tile.tiles, tile.number, item,
                   (local uint*)(tiles + STAGES * (A_STAGE + B_STAGE))))
    return;
#endif
  const number alpha = (number)(alpha_re, alpha_im), beta = (number)(beta_re, beta_im);
#pragma unroll
  for (uint i = 0; i < ITEM_M; ++i) {
    const uint r = y + i / STRIP * LANES_M * STRIP + i % STRIP;
    const ulong line = c_offset + tile.product * c_stride + (tile.row + r) * c_pitch + tile.col;
    if (r < tile.height)
#pragma unroll
      for (uint j = 0; j < ITEM_N; ++j) {
        const uint s = x + j / STRIP * LANES_N * STRIP + j % STRIP;
        if (s < tile.width) write_result(c, line + s, (number)(sums[0][i][j], sums[1][i][j] * b_sign), alpha, beta);
      }
  }
}
