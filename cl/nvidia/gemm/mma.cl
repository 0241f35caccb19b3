// GEMM by the matrix units of NVIDIA's sm_80 and later: C = alpha A B + beta C of half and bfloat16 with sums in float, of
// int8 with sums in int, and of float rounded to TF32.
//
// cp.async fills stages in local memory STAGES - 1 steps ahead. A warp computes WARP_M x WARP_N results; ldmatrix reads its
// fragments one sub-step of 32 bytes of k ahead. Any alignment is allowed. With A_ALIGNMENT or B_ALIGNMENT below LOOSE_BELOW, lines of
// 2-byte elements are copied from the aligned 16 bytes on in which they begin, and shifted when they are read (nvidia/loose_tile.clh).
// Other lines are copied in pieces of 16, 8 or 4 bytes. Bytes, and lines where a warp has more than 2048 results, go through registers
// where their alignment is below 4 (nvidia/fill_tile.clh).
//
// Launch: GROUP work-items a group, one group for each tile of C of each product, or of each split. Local memory: STAGES *
// STAGE_BYTES bytes, and a word with PARTS. After: Thakkar et al., CUTLASS, "Efficient GEMM in CUDA".
#ifndef WARPS_M
#define WARPS_M 2  // warps of a group, down: 1 to 8
#endif
#ifndef WARPS_N
#define WARPS_N 4  // warps of a group, across
#endif
#ifndef WARP_M
#define WARP_M 64  // rows of a warp: 16, 32, 64, 128
#endif
#ifndef WARP_N
#define WARP_N 64  // columns: 16, 32, 64 (nvidia/gemm_finished_rows.clh); WARP_M * WARP_N at most 4096
#endif
#ifndef ROW_BYTES
#define ROW_BYTES 128  // bytes of k in a stage: 64, 128
#endif
#ifndef STAGES
#define STAGES 3  // 2 to 8, or 1 where SUBSTEPS are fewer than a stage has
#endif
#ifndef SUBSTEPS
// Of 32 bytes of k: what a stage has. 1, 2, of products of bytes that have no more k: one step, whose stage is not filled beyond them.
#define SUBSTEPS (ROW_BYTES / 32)
#endif
#ifndef A_ALIGNMENT
#define A_ALIGNMENT 1  // bytes, of each line of A in memory: 16, 8, 4, 1
#endif
#ifndef B_ALIGNMENT
#define B_ALIGNMENT 1
#endif
#ifndef LOOSE_BELOW
#define LOOSE_BELOW 4  // the alignment from which lines of 2-byte elements are copied in pieces: 4, 16
#endif
#ifndef C_VECTOR
#define C_VECTOR 1  // results of a store: 2 if all rows of C begin at multiples of two, else 1
#endif
#ifndef BAND
#define BAND 8  // tile rasterisation: nvidia/gemm_band.clh
#endif

#define TILE_M (WARPS_M * WARP_M)
#define TILE_N (WARPS_N * WARP_N)
#define GROUP (32 * WARPS_M * WARPS_N)

#if WARP_N > 64
#error "tiles of warps have at most 64 columns"
#endif

#define STORES_PARTS 0
#include "common/work_group.clh"
#include "gemm/operation.clh"
#ifndef EMULATED
#define EMULATED 0  // 1: instructions in plain OpenCL C (nvidia/mma.clh), so that any device runs the kernel
#endif
#if EMULATED && (PARTS || ELEMENT_TYPE == TYPE_FLOAT)
#error parts and TF32 are not emulated
#endif
#if EMULATED
#include "nvidia/emulated_copies.clh"
#else
#include "nvidia/copy_async.clh"
#endif
#include "nvidia/gemm_band.clh"
#include "nvidia/gemm_pair.clh"
#include "nvidia/gemm_rows.clh"
#include "nvidia/gemm_finished_rows.clh"
#if PARTS
#include "nvidia/gemm_join.clh"
#endif
#include "nvidia/mma.clh"

#if ELEMENT_TYPE == TYPE_INT8
#define ELEMENT_BYTES 1
#elif ELEMENT_TYPE == TYPE_FLOAT
#define ELEMENT_BYTES 4
#else
#define ELEMENT_BYTES 2
#endif
#define TILE_K (ROW_BYTES / ELEMENT_BYTES)
#define IS_SHALLOW (SUBSTEPS < ROW_BYTES / 32)
#define FILLED_BYTES (SUBSTEPS * 32)
#define UNDER_WAY (IS_SHALLOW ? 0 : STAGES - 2)  // steps whose copies are not waited for
#if IS_SHALLOW && (ELEMENT_BYTES != 1 || SUBSTEPS > 2)
#error fewer sub-steps are of bytes, 1 or 2
#endif
#if WARP_M * WARP_N > 2048 || A_ALIGNMENT < 4 || B_ALIGNMENT < 4
#define TURNED_AHEAD 2  // more results, and words of two parts, leave too few registers
#endif
#if WARP_M * WARP_N > 2048
#define PIECES_AHEAD 1
#else
#define WORDS_ALONG 1
#endif
#include "nvidia/fill_tile.clh"
#include "nvidia/mma_fragments.clh"
#include "nvidia/loose_tile.clh"

#define HAS_LOOSE (ELEMENT_BYTES == 2 && WARP_M * WARP_N <= 2048)  // more results leave too few registers
#define A_LOOSE (HAS_LOOSE && A_ALIGNMENT < LOOSE_BELOW)
#define B_LOOSE (HAS_LOOSE && B_ALIGNMENT < LOOSE_BELOW)
#define A_PAIRED (A_LOOSE && !A_ALONG_K && A_ALIGNMENT >= 4)  // lanes read words, of two rows, and results are put in order after
#define B_PAIRED (B_LOOSE && !B_ALONG_K && B_ALIGNMENT >= 4)
#define HAS_TAIL ((A_LOOSE && A_ALONG_K) || (B_LOOSE && B_ALONG_K))  // a partial last step holds other elements beyond k
#define A_BYTES (A_LOOSE ? LOOSE_BYTES(TILE_M, A_ALONG_K) : (TILE_M + (A_WORDS ? WORDS_PADDING : 0)) * ROW_BYTES)
#define B_BYTES (B_LOOSE ? LOOSE_BYTES(TILE_N, B_ALONG_K) : (TILE_N + (B_WORDS ? WORDS_PADDING : 0)) * ROW_BYTES)
#define STAGE_BYTES (A_BYTES + B_BYTES)
#define OUT_ROW (WARP_N + 8)  // pitch of the rows of results in local memory, through which not all of them go

// The operands of a tile of C, from the step on whose copies start next.
typedef struct {
  global const element *a, *b;          // where the step begins
  global const element *end_a, *end_b;  // of the matrices
  ulong a_pitch, b_pitch;
  uint height, width;  // rows of A and columns of B that lie in the matrices
  uint steps;  // all
  ulong k;             // that is left
} source;

static inline source source_of(const gemm_arguments* g, const product* q, ulong row, ulong col) {
  source x;
  x.a = q->a + (A_ALONG_K ? row * g->a_pitch : row);
  x.b = q->b + (B_ALONG_K ? col * g->b_pitch : col);
  x.end_a = q->a + (A_ALONG_K ? (q->m - 1) * g->a_pitch + q->k : (q->k - 1) * g->a_pitch + q->m);
  x.end_b = q->b + (B_ALONG_K ? (q->n - 1) * g->b_pitch + q->k : (q->k - 1) * g->b_pitch + q->n);
  x.a_pitch = g->a_pitch, x.b_pitch = g->b_pitch;
  x.height = row < q->m ? (uint)min(q->m - row, (ulong)TILE_M) : 0;
  x.width = col < q->n ? (uint)min(q->n - col, (ulong)TILE_N) : 0;
  x.steps = (uint)((q->k + TILE_K - 1) / TILE_K);
  x.k = q->k;
  return x;
}

// Starts the copies of the next step to a stage, if a step is left, and ends a group of copies.
GROUP_FUNCTION void copy_step(source* x, tile_address stages, uint stage, uint item) {
  if (x->k) {
    const uint depth = (uint)min(x->k, (ulong)TILE_K);
    const tile_address to = stages + stage * STAGE_BYTES;
    if (A_LOOSE)
      fill_loose(to, x->a, x->a_pitch, x->height, depth, x->end_a, TILE_M, A_ALONG_K, item);
    else
      fill_tile(to, x->a, x->a_pitch, x->height, depth, x->end_a, TILE_M, A_ALONG_K, A_ALIGNMENT, item);
    if (B_LOOSE)
      fill_loose(to + A_BYTES, x->b, x->b_pitch, x->width, depth, x->end_b, TILE_N, B_ALONG_K, item);
    else
      fill_tile(to + A_BYTES, x->b, x->b_pitch, x->width, depth, x->end_b, TILE_N, B_ALONG_K, B_ALIGNMENT, item);
    x->a += A_ALONG_K ? TILE_K : TILE_K * x->a_pitch;
    x->b += B_ALONG_K ? TILE_K : TILE_K * x->b_pitch;
    x->k -= depth;
  }
  end_copies();
}

// A lane's constants for reading both operands, where A_LOOSE or B_LOOSE is 1.
typedef struct {
  loose_lane a, b;
} loose_lanes;

// Reads the fragments of sub-step x of a warp's part of a stage.
GROUP_FUNCTION void read_both(uint a[MS][4], uint b[NS][2], tile_address stage, const loose_lanes* of, uint row, uint col, uint x,
                              uint lane MMA_SCRATCH_PARAMETER) {
  if (A_PAIRED)
#pragma unroll
    for (uint i = 0; i < MS * 2; ++i)
      load_pairs(&a[i / 2][i % 2 * 2], &a[i / 2][i % 2 * 2 + 1], stage, &of->a, i / 2 * 16, x * 16 + i % 2 * 8, TILE_M);
  else if (A_LOOSE)
#pragma unroll
    for (uint i = 0; i < MS * 4; ++i)
      a[i / 4][i % 4] = load_loose(stage, &of->a, i / 4 * 16 + i % 2 * 8, x * 16 + i % 4 / 2 * 8, TILE_M, A_ALONG_K, A_ALIGNMENT);
  else
    read_a(a, stage, row, x, lane MMA_SCRATCH_ARGUMENT);
  if (B_PAIRED)
#pragma unroll
    for (uint j = 0; j < NS; ++j)
      load_pairs(&b[j / 2 * 2][j % 2], &b[j / 2 * 2 + 1][j % 2], stage + A_BYTES, &of->b, j / 2 * 16, x * 16 + j % 2 * 8, TILE_N);
  else if (B_LOOSE)
#pragma unroll
    for (uint j = 0; j < NS * 2; ++j)
      b[j / 2][j % 2] = load_loose(stage + A_BYTES, &of->b, j / 2 * 8, x * 16 + j % 2 * 8, TILE_N, B_ALONG_K, B_ALIGNMENT);
  else
    read_b(b, stage + A_BYTES, col, x, lane MMA_SCRATCH_ARGUMENT);
}

// Clears what the last step, of `depth` k, has beyond them.
GROUP_FUNCTION void clear_tail(const source* x, tile_address stage, uint depth, uint item) {
  if (A_LOOSE && A_ALONG_K) clear_loose_tail(stage, x->a, x->a_pitch, depth, TILE_M, item);
  if (B_LOOSE && B_ALONG_K) clear_loose_tail(stage + A_BYTES, x->b, x->b_pitch, depth, TILE_N, item);
  barrier(CLK_LOCAL_MEM_FENCE);
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void gemm_mma(GEMM_ARGUMENTS) {
  const gemm_arguments g = GEMM_ALL_ARGUMENTS;
  local uchar tiles[STAGES * STAGE_BYTES] __attribute__((aligned(1024)));
#if PARTS
  local uint is_last;
#endif
  const uint item = get_local_id(0), lane = item % 32, warp = item / 32;
  const tile_place place =
      place_in_bands((uint)get_group_id(0), (uint)((g.m + TILE_M - 1) / TILE_M), (uint)((g.n + TILE_N - 1) / TILE_N));
  const ulong row = (ulong)place.down * TILE_M, col = (ulong)place.across * TILE_N;
  const product q = product_of(&g, place.number);
  MMA_SCRATCH
  const tile_address stages = local_address(tiles);
  const uint warp_row = warp % WARPS_M * WARP_M, warp_col = warp / WARPS_M * WARP_N;
  source from = source_of(&g, &q, row, col);
  const uint tail = HAS_TAIL ? (uint)(q.k % TILE_K) : 0;
  const loose_lanes lanes = {loose_lane_of(from.a, g.a_pitch, warp_row, TILE_M, A_ALONG_K, A_PAIRED, lane),
                             loose_lane_of(from.b, g.b_pitch, warp_col, TILE_N, B_ALONG_K, B_PAIRED, lane)};

  value sum[MS][NS][4];
  // Of warps of 16 x 32 with GELU ptxas spills one of these zeros, if it sees that they are.
#if EPILOGUE && WARP_M * WARP_N <= 512
  const value zero = (value)hidden(0);
#else
  const value zero = 0;
#endif
#pragma unroll
  for (uint i = 0; i < MS * NS * 4; ++i)
    sum[i / (NS * 4)][i / 4 % NS][i % 4] = zero;
#pragma unroll 1
  for (uint s = 0; s < (IS_SHALLOW ? 1 : STAGES - 1); ++s)
    copy_step(&from, stages, s, item);
  WAIT_COPIES(UNDER_WAY);
  barrier(CLK_LOCAL_MEM_FENCE);

  if (tail && from.steps == 1) clear_tail(&from, stages, tail, item);

  uint left[2][MS][4], right[2][NS][2];
  uint stage = 0;  // that is read
#if !IS_SHALLOW
  uint next = STAGES - 1;  // that is filled
#endif
  read_both(left[0], right[0], stages, &lanes, warp_row, warp_col, 0, lane MMA_SCRATCH_ARGUMENT);
#pragma unroll 1
  for (uint step = 0; step < from.steps; ++step) {
    UNROLL_UNITS
    for (uint x = 0; x < SUBSTEPS; ++x) {
      const uint after = IS_SHALLOW ? x + 1 : (x + 1) % SUBSTEPS;
      if (after == 0) {  // all fragments of this stage are in registers: go to the next stage
        WAIT_COPIES(UNDER_WAY);
        barrier(CLK_LOCAL_MEM_FENCE);
        stage = stage + 1 == STAGES ? 0 : stage + 1;
        if (tail && step + 2 == from.steps) clear_tail(&from, stages + stage * STAGE_BYTES, tail, item);
      }
      if (after < SUBSTEPS)
        read_both(left[(x + 1) % 2], right[(x + 1) % 2], stages + stage * STAGE_BYTES, &lanes, warp_row, warp_col, after, lane MMA_SCRATCH_ARGUMENT);
#if !IS_SHALLOW
      if (x == 0) {
        copy_step(&from, stages, next, item);
        next = next + 1 == STAGES ? 0 : next + 1;
      }
#endif
      UNROLL_UNITS
      for (uint i = 0; i < MS; ++i)
        UNROLL_UNITS
        for (uint j = 0; j < NS; ++j)
          MULTIPLY_ADD(sum[i][j], left[x % 2][i], right[x % 2][j]);
    }
  }
  WAIT_COPIES(0);
#if PARTS
  const uint each = (uint)((g.m + TILE_M - 1) / TILE_M) * (uint)((g.n + TILE_N - 1) / TILE_N), number = (uint)place.number;
  const tile_parts all = parts_of_group(&g, number, each, MS * NS * 4 * GROUP);
  global uint* const counter = counters + number / g.parts * each + get_group_id(0) % each;
  if (!join_parts(sum[0][0], MS * NS * 4, partials, all, counter, GROUP, item, 0, &is_last)) return;
#endif

#if A_PAIRED
  UNROLL_UNITS
  for (uint i = 0; i < MS * NS * 2; ++i) {
    value* const x = sum[i / 2 / NS][i / 2 % NS];
    in_order(x + i % 2, x + i % 2 + 2, lane / 4, lane / 8 * 4 + lane % 4, 16 MMA_SCRATCH_ARGUMENT);
  }
#endif
#if B_PAIRED
  UNROLL_UNITS
  for (uint i = 0; i < MS * NS; ++i) {
    value* const x = sum[i / NS][i / 2 % (NS / 2) * 2] + i % 2 * 2;
    value* const y = sum[i / NS][i / 2 % (NS / 2) * 2 + 1] + i % 2 * 2;
    in_order(x, x + 1, lane % 4, lane / 4 * 4 + lane % 4 / 2, 2 MMA_SCRATCH_ARGUMENT);
    in_order(y, y + 1, lane % 4, lane / 4 * 4 + lane % 4 / 2, 2 MMA_SCRATCH_ARGUMENT);
    const value even = x[1];
    x[1] = y[0], y[0] = even;
  }
#endif

  const destination d = destination_of(&g, place.number);
#if !EPILOGUE && C_VECTOR == 2
  if (d.beta == 0) {
#pragma unroll
    for (uint i = 0; i < MS; ++i)
#pragma unroll
      for (uint h = 0; h < 2; ++h)
        store_row_pairs(&d, sum[i][0] + h * 2, NS, row + warp_row + i * 16 + lane / 4 + h * 8, q.m, col + warp_col, q.n, lane);
  } else
#endif
  {
    barrier(CLK_LOCAL_MEM_FENCE);  // the stages are no longer read
    local value* const mine = (local value*)tiles + warp * (8 * OUT_ROW);
#pragma unroll
    for (uint i = 0; i < MS; ++i)
#pragma unroll
      for (uint h = 0; h < 2; ++h) {
#pragma unroll
        for (uint j = 0; j < NS; ++j) {
          mine[lane / 4 * OUT_ROW + j * 8 + lane % 4 * 2] = sum[i][j][h * 2];
          mine[lane / 4 * OUT_ROW + j * 8 + lane % 4 * 2 + 1] = sum[i][j][h * 2 + 1];
        }
        const ulong first = row + warp_row + i * 16 + h * 8;
#if EPILOGUE || C_VECTOR == 2
        finish_rows(&d, mine, OUT_ROW, 8, WARP_N, first, q.m, col + warp_col, q.n, lane);
#else
        store_rows(&d, mine, OUT_ROW, 8, WARP_N, first, 1, q.m, col + warp_col, q.n, lane);
#endif
      }
  }
}
