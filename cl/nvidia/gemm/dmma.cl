// GEMM of double by the matrix units of NVIDIA's sm_80 and later: C = alpha A B + beta C.
//
// cp.async fills stages in local memory STAGES - 1 steps ahead, by copies that lie between a step's instructions. A warp computes WARP_M
// x WARP_N results; it reads its fragments 8 k ahead. nvidia/dmma_tiles.clh has the tiles and fragments, nvidia/dmma.clh the slots of an
// instruction: t and t + 4 stand for k 2 t and 2 t + 1 where a fragment's doubles come by one load, and its rows r and r + 8 for lines 2 r and 2 r
// + 1 of the tile.
//
// Launch: GROUP work-items a group, one group for each tile of C of each product, or of each split. Local memory: STAGES *
// STAGE_DOUBLES * 8 bytes, and a word with PARTS. After: Thakkar et al., CUTLASS, "Efficient GEMM in CUDA".
#ifndef WARPS_M
#define WARPS_M 2  // warps of a group, down: 1 to 8
#endif
#ifndef WARPS_N
#define WARPS_N 4  // warps of a group, across
#endif
#ifndef WARP_M
#define WARP_M 64  // rows of a warp: 16, 32, 48, 64
#endif
#ifndef WARP_N
#define WARP_N 32  // columns: 16, 32, 48, 64; WARP_M * WARP_N at most 2048
#endif
#ifndef TILE_K
#define TILE_K 16  // k of a step: 16, 32
#endif
#ifndef STAGES
#define STAGES 4  // 2 to 8
#endif
#ifndef A_VECTOR
#define A_VECTOR 1  // doubles of a copy: 2 if all rows of A in memory begin at multiples of 16 bytes, else 1
#endif
#ifndef B_VECTOR
#define B_VECTOR 1  // the same of B
#endif
#ifndef C_VECTOR
#define C_VECTOR 1  // doubles of a store: 2 if all rows of C begin at multiples of 16 bytes, else 1
#endif
#ifndef BAND
#define BAND 8  // tile rasterisation: nvidia/gemm_band.clh
#endif
#define ELEMENT_TYPE 1
#define RESULT_TYPE 1

#define TILE_M (WARPS_M * WARP_M)
#define TILE_N (WARPS_N * WARP_N)
#define GROUP (32 * WARPS_M * WARPS_N)

#define STORES_PARTS 0
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#include "common/work_group.clh"
#include "gemm/operation.clh"
#include "nvidia/dmma.clh"
#if EMULATED
#include "nvidia/emulated_copies.clh"
#else
#include "nvidia/copy_async.clh"
#endif
#include "nvidia/dmma_tiles.clh"
#include "nvidia/gemm_band.clh"
#include "nvidia/gemm_rows.clh"
#if PARTS
#include "nvidia/gemm_join.clh"
#endif

#define SUMS (LEFTS * RIGHTS * 4)
#define OUT_ROW (WARP_N + 4)  // pitch of the rows of results in local memory, through which stores are coalesced

// The fragments of 8 k, and of the next 8; of the right operand in one set where a warp has many sums, each loaded after its last use.
#define RIGHT_SETS (WARP_M * WARP_N <= 1024 ? 2 : 1)
typedef struct {
  double left[2][LEFTS][4], right[RIGHT_SETS][RIGHTS][2];
} fragments;

GROUP_FUNCTION void load_fragments(fragments* f, const uint to, const int loads_right, local const double* stage, const fragment_places* at,
                                   const uint k) {
  if (loads_right)
#pragma unroll
    for (uint j = 0; j < RIGHTS; ++j)
      load_right(f->right[to % RIGHT_SETS][j], stage, at, j * 8, k);
#pragma unroll
  for (uint i = 0; i < LEFTS; ++i)
    load_left(f->left[to][i], stage, at, i * 16, k);
}

// What lies in local memory: the stage that is read and the stage that is filled, and this work-item's doubles of a stage.
typedef struct {
  local double* tiles;
  uint stage, next;
  fragment_places of;
} place_in_tiles;

#define UNITS (LEFTS * RIGHTS)  // instructions for 8 k
#define PHASES (TILE_K / 8)

// Multiplies a step. Between its instructions the copies of a later one start.
GROUP_FUNCTION void multiply_step(double sum[LEFTS][RIGHTS][4], fragments* f, place_in_tiles* at, source* from, uint item DMMA_SCRATCH_PARAMETER) {
  const uint copies = is_whole(from);
  const copy_places to = places_of_copies(at->tiles + at->next * STAGE_DOUBLES, item);
  copy_edges(from, &to, item);
  UNROLL_UNITS
  for (uint x = 0; x < PHASES; ++x) {
    const uint after = (x + 1) % PHASES, set = x % 2;
    local const double* stage = at->tiles + at->stage * STAGE_DOUBLES;
    if (after > 0) load_fragments(f, 1 - set, RIGHT_SETS == 2, stage, &at->of, after * 8);
    UNROLL_UNITS
    for (uint u = 0; u < UNITS; ++u) {
      if (after == 0 && u == (RIGHT_SETS == 2 ? UNITS / 2 : 0)) {  // what is left of this stage is in registers: go to the next stage
        end_step(from);
        at->next = at->next + 1 == STAGES ? 0 : at->next + 1;
        at->stage = at->stage + 1 == STAGES ? 0 : at->stage + 1;
        stage = at->tiles + at->stage * STAGE_DOUBLES;
        WAIT_COPIES(STAGES - 2);
        barrier(CLK_LOCAL_MEM_FENCE);
        load_fragments(f, 1 - set, RIGHT_SETS == 2, stage, &at->of, 0);
      }
      MULTIPLY_ADD(sum[u % LEFTS][u / LEFTS], f->left[set][u % LEFTS], f->right[set % RIGHT_SETS][u / LEFTS]);
      if (RIGHT_SETS == 1 && u % LEFTS == LEFTS - 1) load_right(f->right[0][u / LEFTS], stage, &at->of, u / LEFTS * 8, after * 8);
      if (after > 0) {
        const uint now = x * UNITS + u, all = (PHASES - 1) * UNITS;
        copy_some(from, &to, now * COPIES / all, (now + 1) * COPIES / all, copies, item);
      }
    }
  }
}

#if !EPILOGUE && C_VECTOR == 2
// Writes the sums of a warp, in pairs of neighbours of a row, to C from `to` on. Of its rows and columns, `height` and `width` lie in the matrix.
GROUP_FUNCTION void store_pairs(const destination* d, double sum[LEFTS][RIGHTS][4], global double* to, uint height, uint width, const int reads_c,
                                uint lane) {
  const uint down = SWAPPED ? lane % 4 * 2 : LEFT_ALONG ? lane / 4 : lane / 4 * 2, across = SWAPPED ? lane / 4 * 2 : lane % 4 * 2;
  // A row of this work-item's is slot e of all fragments of left with one of right, or slot 2 e of one with all.
  const uint rows = SWAPPED ? RIGHTS : LEFTS, cols = SWAPPED ? LEFTS : RIGHTS, each = SWAPPED ? 8 : 16, apart = LEFT_ALONG ? 8 : 1;
  to += down * d->pitch + across;
#pragma unroll
  for (uint y = 0; y < rows; ++y)
#pragma unroll
    for (uint e = 0; e < 2; ++e) {
      const uint inside = down + y * each + e * apart < height && across < width ? width - across : 0;
#pragma unroll
      for (uint x = 0; x < cols; ++x) {
        const uint offset = x * (24 - each);
        global double* const place = to + offset;
        const double* const of = SWAPPED ? sum[x][y] + e : sum[y][x] + e * 2;
        double2 pair = d->alpha * (double2)(of[0], of[SWAPPED ? 2 : 1]);
        if (offset + 1 < inside) {
          if (reads_c) pair += d->beta * *(global const double2*)place;
          *(global double2*)place = pair;
        } else if (offset < inside) {
          *place = reads_c ? pair.s0 + d->beta * *place : pair.s0;
        }
      }
      to = (global double*)running_pointer(to + (e == 0 ? apart : each - apart) * d->pitch);
    }
}
#endif

// Writes the sums of a warp, whose results begin at (row, col) of C. A collective function: it may have a barrier.
GROUP_FUNCTION void store_sums(const destination* d, const product* q, double sum[LEFTS][RIGHTS][4], ulong row, ulong col, local double* tiles,
                               uint item) {
  const uint lane = item % 32;
#if !EPILOGUE && C_VECTOR == 2
  (void)tiles;
  const uint height = row < q->m ? (uint)min(q->m - row, (ulong)WARP_M) : 0, width = col < q->n ? (uint)min(q->n - col, (ulong)WARP_N) : 0;
  global double* const to = d->c + row * d->pitch + col;
  if (d->beta != 0)
    store_pairs(d, sum, to, height, width, 1, lane);
  else
    store_pairs(d, sum, to, height, width, 0, lane);
#else
  barrier(CLK_LOCAL_MEM_FENCE);  // the stages are no longer read
  local double* const mine = tiles + item / 32 * (8 * OUT_ROW);
#pragma unroll
  for (uint y = 0; y < WARP_M / 8; ++y) {  // 8 rows each
#pragma unroll
    for (uint x = 0; x < SUMS / (WARP_M / 8); ++x) {
      const uint i = SWAPPED ? x / 4 : y / 2, j = SWAPPED ? y : x / 2, e = SWAPPED ? x % 4 : y % 2 * 2 + x % 2;
      const uint r = SWAPPED ? lane % 4 * 2 + e % 2 : lane / 4;
      mine[r * OUT_ROW + (SWAPPED ? left_line(i, e, lane) : right_line(j, e, lane))] = sum[i][j][e];
    }
    const uint apart = SWAPPED || LEFT_ALONG ? 1 : 2;
    const ulong first = row + (SWAPPED ? y * 8 : y / 2 * 16 + y % 2 * (LEFT_ALONG ? 8 : 1));
#if EPILOGUE
    write_rows(d, mine, OUT_ROW, 8, WARP_N, first, apart, q->m, col, q->n, lane);
#else
    store_rows(d, mine, OUT_ROW, 8, WARP_N, first, apart, q->m, col, q->n, lane);
#endif
  }
#endif
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void gemm_dmma(GEMM_ARGUMENTS) {
  const gemm_arguments g = GEMM_ALL_ARGUMENTS;
  local double tiles[STAGES * STAGE_DOUBLES] __attribute__((aligned(128)));
  DMMA_SCRATCH
#if PARTS
  local uint is_last;
#endif
  const uint item = get_local_id(0), lane = item % 32, warp = item / 32;
  const tile_place place =
      place_in_bands((uint)get_group_id(0), (uint)((g.m + TILE_M - 1) / TILE_M), (uint)((g.n + TILE_N - 1) / TILE_N));
  const ulong row = (ulong)place.down * TILE_M, col = (ulong)place.across * TILE_N;
  const product q = product_of(&g, place.number);
  const uint warp_row = warp % WARPS_M * WARP_M, warp_col = warp / WARPS_M * WARP_N;
  source from = source_of(&g, &q, row, col, item);
  place_in_tiles at;
  at.tiles = tiles, at.stage = 0, at.next = STAGES - 1;
  at.of = places_of_fragments(SWAPPED ? warp_col : warp_row, SWAPPED ? warp_row : warp_col, lane);

  double sum[LEFTS][RIGHTS][4];
#pragma unroll
  for (uint i = 0; i < SUMS; ++i)
    sum[i / (RIGHTS * 4)][i / 4 % RIGHTS][i % 4] = 0;
#pragma unroll 1
  for (uint s = 0; s < STAGES - 1; ++s) {
    const copy_places to = places_of_copies(tiles + s * STAGE_DOUBLES, item);
    copy_edges(&from, &to, item);
    copy_some(&from, &to, 0, COPIES, is_whole(&from), item);
    end_step(&from);
  }
  WAIT_COPIES(STAGES - 2);
  barrier(CLK_LOCAL_MEM_FENCE);
  fragments f;
  load_fragments(&f, 0, 1, tiles, &at.of, 0);
#pragma unroll 1
  for (uint step = 0; step < from.steps; ++step)
    multiply_step(sum, &f, &at, &from, item DMMA_SCRATCH_ARGUMENT);
  WAIT_COPIES(0);
#if PARTS
  const uint each = (uint)((g.m + TILE_M - 1) / TILE_M) * (uint)((g.n + TILE_N - 1) / TILE_N), number = (uint)place.number;
  const tile_parts all = parts_of_group(&g, number, each, SUMS * GROUP);
  global uint* const counter = counters + number / g.parts * each + get_group_id(0) % each;
  if (!join_parts(sum[0][0], SUMS, partials, all, counter, GROUP, item, 0, &is_last)) return;
#endif
  const destination d = destination_of(&g, place.number);
  store_sums(&d, &q, sum, row + warp_row, col + warp_col, tiles, item);
}
