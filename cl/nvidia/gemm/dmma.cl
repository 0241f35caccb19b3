// GEMM of double by the matrix units of NVIDIA's sm_80 and later: C = alpha A B + beta C.
//
// cp.async fills stages in local memory STAGES - 1 steps of 16 k ahead. A warp computes WARP_M x WARP_N results; it reads its
// fragments 8 k ahead, in pieces of 16 bytes. An operand whose k is contiguous in memory lies so in the tile: 128 bytes of
// a row, whose pieces are swizzled. The rows of the other one are k, padded by 16 bytes. Both without bank conflicts. A piece has
// two k of a row, or two rows of a k: so slots t and t + 4 of an instruction stand for k 2 t and 2 t + 1, and its rows r and r + 8
// for rows 2 r and 2 r + 1 of the tile; the same of columns, with two instructions side by side (nvidia/dmma.clh has the slots).
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
#ifndef STAGES
#define STAGES 4  // 2 to 8
#endif
#ifndef A_VECTOR
#define A_VECTOR 1  // doubles of a copy: 2 if all rows of A in memory begin at multiples of 16 bytes, else 1
#endif
#ifndef B_VECTOR
#define B_VECTOR 1  // the same of B
#endif
#ifndef BAND
#define BAND 8  // tile rasterisation: nvidia/gemm_band.clh
#endif
#define ELEMENT_TYPE 1
#define RESULT_TYPE 1

#define TILE_M (WARPS_M * WARP_M)
#define TILE_N (WARPS_N * WARP_N)
#define TILE_K 16
#define GROUP (32 * WARPS_M * WARPS_N)
#define MS (WARP_M / 16)
#define NS (WARP_N / 8)
#define A_TWICE (WARP_M < WARP_N)  // which operand's fragments have registers for two steps

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
#include "nvidia/gemm_band.clh"
#include "nvidia/gemm_rows.clh"
#if PARTS
#include "nvidia/gemm_join.clh"
#endif

#define A_DOUBLES (A_ALONG_K ? TILE_M * TILE_K : TILE_K * (TILE_M + 2))
#define B_DOUBLES (B_ALONG_K ? TILE_N * TILE_K : TILE_K * (TILE_N + 2))
#define STAGE_DOUBLES (A_DOUBLES + B_DOUBLES)
#define OUT_ROW (WARP_N + 4)  // pitch of the rows of results in local memory, through which stores are coalesced

// The place of (line, k) in a tile of `extent` lines. `along_k`: lines' k are contiguous.
static inline uint place_of(uint line, uint k, const uint extent, const int along_k) {
  return along_k ? line * TILE_K + (k / 2 ^ line / 2 % 2 * 4) * 2 + k % 2 : k * (extent + 2) + line;
}

// The operands of a tile of C, from the step on whose copies start next.
typedef struct {
  global const double *a, *b;
  ulong a_pitch, b_pitch;
  uint height, width;  // rows of A and columns of B that lie in the matrices
  uint copied, steps;  // steps whose copies were started, and all
  ulong k;             // that is left
} source;

static inline source source_of(const gemm_arguments* g, const product* q, ulong row, ulong col) {
  source x;
  x.a = q->a + (A_ALONG_K ? row * g->a_pitch : row);
  x.b = q->b + (B_ALONG_K ? col * g->b_pitch : col);
  x.a_pitch = g->a_pitch, x.b_pitch = g->b_pitch;
  x.height = row < q->m ? (uint)min(q->m - row, (ulong)TILE_M) : 0;
  x.width = col < q->n ? (uint)min(q->n - col, (ulong)TILE_N) : 0;
  x.copied = 0, x.steps = (uint)((q->k + TILE_K - 1) / TILE_K);
  x.k = q->k;
  return x;
}

// Copies TILE_K k of `extent` lines, of which `depth` and `inside` lie in the matrix, to a tile; zeros to its other places. Across k, an
// extent that is no power of two goes in columns whose width is one.
GROUP_FUNCTION void fill_tile(local double* tile, const uint extent, const int along_k, const uint vector, global const double* from,
                              ulong pitch, uint inside, uint depth, uint item) {
  const uint width = along_k ? TILE_K : extent & (~extent + 1), columns = along_k ? 1 : extent / width;
  const uint across = width / vector, down = along_k ? extent : TILE_K;  // of copies
  const uint first = item / across, along = along_k ? depth : inside, rows = along_k ? inside : depth;
#pragma unroll
  for (uint c = 0; c < columns; ++c) {
    const uint x = c * width + item % across * vector, elements = x < along ? min(along - x, vector) : 0;
    global const double* place = from + first * pitch + x;
#pragma unroll
    for (uint i = 0; i < (down * across + GROUP - 1) / GROUP; ++i) {
      const uint y = first + i * (GROUP / across);
      if (down * across % GROUP == 0 || y < down) {
        const uint bytes = y < rows ? elements * 8 : 0;  // of 0 bytes, nothing is read, wherever `place` is
        local double* const to = tile + (along_k ? place_of(y, x, extent, 1) : place_of(x, y, extent, 0));
        if (vector == 2) copy_16(local_address(to), place, bytes);
        if (vector == 1) copy_8(local_address(to), place, bytes);
      }
      place = (global const double*)running_pointer(place + GROUP / across * pitch);
    }
  }
}

// Starts the copies of the next step to a stage, if a step is left, and ends a group of copies.
GROUP_FUNCTION void copy_step(source* x, local double* stage, uint item) {
  if (x->copied < x->steps) {
    const uint depth = (uint)min(x->k, (ulong)TILE_K);
    fill_tile(stage, TILE_M, A_ALONG_K, A_VECTOR, x->a, x->a_pitch, x->height, depth, item);
    fill_tile(stage + A_DOUBLES, TILE_N, B_ALONG_K, B_VECTOR, x->b, x->b_pitch, x->width, depth, item);
    x->a += A_ALONG_K ? TILE_K : TILE_K * x->a_pitch;
    x->b += B_ALONG_K ? TILE_K : TILE_K * x->b_pitch;
    x->k -= depth, ++x->copied;
  }
  end_copies();
}

// Two neighbouring lines' numbers of two neighbouring k.
typedef struct {
  double first[2], second[2];  // of k, and of k + 1
} four;
GROUP_FUNCTION four load_four(local const double* tile, const uint extent, const int along_k, uint line, uint k) {
  four x;
  if (along_k) {
    const double2 one = *(local const double2*)(tile + place_of(line, k, extent, 1)),
                  other = *(local const double2*)(tile + place_of(line + 1, k, extent, 1));
    x.first[0] = one.s0, x.second[0] = one.s1, x.first[1] = other.s0, x.second[1] = other.s1;
  } else {
    const double2 one = *(local const double2*)(tile + place_of(line, k, extent, 0)),
                  other = *(local const double2*)(tile + place_of(line, k + 1, extent, 0));
    x.first[0] = one.s0, x.first[1] = one.s1, x.second[0] = other.s0, x.second[1] = other.s1;
  }
  return x;
}

// Loads a warp's fragment of 16 rows of A from `row` on, of 8 k from k on.
GROUP_FUNCTION void load_a(double a[4], local const double* stage, uint row, uint k, uint lane) {
  const four x = load_four(stage, TILE_M, A_ALONG_K, row + lane / 4 * 2, k + lane % 4 * 2);
  a[0] = x.first[0], a[1] = x.first[1], a[2] = x.second[0], a[3] = x.second[1];
}
// The same of 16 columns of B, for two instructions.
GROUP_FUNCTION void load_b(double b[2][2], local const double* stage, uint col, uint k, uint lane) {
  const four x = load_four(stage + A_DOUBLES, TILE_N, B_ALONG_K, col + lane / 4 * 2, k + lane % 4 * 2);
  b[0][0] = x.first[0], b[0][1] = x.second[0], b[1][0] = x.first[1], b[1][1] = x.second[1];
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
  source from = source_of(&g, &q, row, col);

  double sum[MS][NS][4];
#pragma unroll
  for (uint i = 0; i < MS * NS * 4; ++i)
    sum[i / (NS * 4)][i / 4 % NS][i % 4] = 0;
#pragma unroll 1
  for (uint s = 0; s < STAGES - 1; ++s)
    copy_step(&from, tiles + s * STAGE_DOUBLES, item);
  WAIT_COPIES(STAGES - 2);
  barrier(CLK_LOCAL_MEM_FENCE);

  // Fragments of the next 8 k are loaded while those of 8 k are multiplied: of the operand with more of them each after its last use, of
  // the other one to registers of their own.
  double left[A_TWICE ? 2 : 1][MS][4], right[A_TWICE ? 1 : 2][NS][2];
  uint stage = 0, next = STAGES - 1;  // the stage that is read, and the stage that is filled
#pragma unroll
  for (uint i = 0; i < MS; ++i)
    load_a(left[0][i], tiles, warp_row + i * 16, 0, lane);
#pragma unroll
  for (uint j = 0; j < NS; j += 2)
    load_b(right[0] + j, tiles, warp_col + j * 8, 0, lane);
#pragma unroll 1
  for (uint step = 0; step < from.steps; ++step) {
    UNROLL_UNITS
    for (uint x = 0; x < TILE_K / 8; ++x) {
      const uint after = (x + 1) % (TILE_K / 8);
      if (after == 0) {  // all fragments of this stage are in registers: go to the next stage
        WAIT_COPIES(STAGES - 2);
        barrier(CLK_LOCAL_MEM_FENCE);
        stage = stage + 1 == STAGES ? 0 : stage + 1;
      }
      local const double* const at = tiles + stage * STAGE_DOUBLES;
#if A_TWICE
#pragma unroll
      for (uint i = 0; i < MS; ++i)
        load_a(left[(x + 1) % 2][i], at, warp_row + i * 16, after * 8, lane);
#else
#pragma unroll
      for (uint j = 0; j < NS; j += 2)
        load_b(right[(x + 1) % 2] + j, at, warp_col + j * 8, after * 8, lane);
#endif
      if (x == 0) {
        copy_step(&from, tiles + next * STAGE_DOUBLES, item);
        next = next + 1 == STAGES ? 0 : next + 1;
      }
#if A_TWICE
      UNROLL_UNITS
      for (uint j = 0; j < NS; j += 2) {
        UNROLL_UNITS
        for (uint i = 0; i < MS * 2; ++i)
          MULTIPLY_ADD(sum[i / 2][j + i % 2], left[x % 2][i / 2], right[0][j + i % 2]);
        load_b(right[0] + j, at, warp_col + j * 8, after * 8, lane);
      }
#else
      UNROLL_UNITS
      for (uint i = 0; i < MS; ++i) {
        UNROLL_UNITS
        for (uint j = 0; j < NS; ++j)
          MULTIPLY_ADD(sum[i][j], left[0][i], right[x % 2][j]);
        load_a(left[0][i], at, warp_row + i * 16, after * 8, lane);
      }
#endif
    }
  }
  WAIT_COPIES(0);
#if PARTS
  const uint each = (uint)((g.m + TILE_M - 1) / TILE_M) * (uint)((g.n + TILE_N - 1) / TILE_N), number = (uint)place.number;
  const tile_parts all = parts_of_group(&g, number, each, MS * NS * 4 * GROUP);
  global uint* const counter = counters + number / g.parts * each + get_group_id(0) % each;
  if (!join_parts(sum[0][0], MS * NS * 4, partials, all, counter, GROUP, item, 0, &is_last)) return;
#endif

  const destination d = destination_of(&g, place.number);
  barrier(CLK_LOCAL_MEM_FENCE);  // the stages are no longer read
  local double* const mine = tiles + warp * (8 * OUT_ROW);
#pragma unroll
  for (uint i = 0; i < MS; ++i)
#pragma unroll
    for (uint h = 0; h < 2; ++h) {
#pragma unroll
      for (uint j = 0; j < NS; j += 2)
#pragma unroll
        for (uint c = 0; c < 2; ++c) {
          local double* const to = mine + lane / 4 * OUT_ROW + j * 8 + lane % 4 * 4 + c * 2;
          to[0] = sum[i][j][h * 2 + c];
          to[1] = sum[i][j + 1][h * 2 + c];
        }
#if EPILOGUE
      write_rows(&d, mine, OUT_ROW, 8, WARP_N, row + warp_row + i * 16 + h, 2, q.m, col + warp_col, q.n, lane);
#else
      store_rows(&d, mine, OUT_ROW, 8, WARP_N, row + warp_row + i * 16 + h, 2, q.m, col + warp_col, q.n, lane);
#endif
    }
}
