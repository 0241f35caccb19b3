// GEMM of float, on NVIDIA from sm_80 on: C = alpha A B + beta C. cp.async fills stages in local memory STAGES - 1 steps
// ahead; a work-item reads its next fragments while it multiplies the current ones.
//
// Three levels of tiles. A group computes TILE_M x TILE_N results. A warp computes WARP_M x WARP_N of them, by LANES_M x
// LANES_N lanes. A work-item computes ITEM_M x ITEM_N, in strips of 4 x 4 that lie LANES_M * 4 rows and LANES_N * 4 columns
// apart: the lanes of a warp read neighbouring float4 of a tile's row, without bank conflicts. For each k a work-item reads
// ITEM_M + ITEM_N numbers and does ITEM_M * ITEM_N multiply-adds. An SM issues as many instructions as it has lanes for
// multiply-adds, so every other instruction delays one: with 8 x 16 results there are six reads for 128 multiply-adds.
//
// SLICES: that many warps compute the same results, each of its part of a stage's k, and add their sums in local memory: few results make
// enough warps, and still 8 x 8 or more for a work-item.
//
// Both tiles are stored with k outermost. An operand whose k is contiguous in memory is transposed while it is copied: B through
// registers where its rows are aligned (STAGED_B), else by copies of 4 bytes, which allow any alignment. Its rows in local memory
// are padded by 4, so that 8 k times 4 rows of a warp's copy access 32 banks (LINE_K). Elements outside of the matrices are filled with
// zeros and never read from memory.
//
// Launch: GROUP work-items a group, one group for each tile of C of each product, or of each split. Local memory: STAGES *
// TILE_K * (A_ROW + B_ROW) floats, and a word with PARTS. Tiling after: Thakkar et al., CUTLASS, "Efficient GEMM in CUDA"; the order of tiles:
// Triton's tutorial on matrix multiplication, "L2 cache optimizations".
#ifndef WARPS_M
#define WARPS_M 2  // warps of a group, down: 1 to 8
#endif
#ifndef WARPS_N
#define WARPS_N 4  // and across: 1 to 8
#endif
#ifndef SLICES
#define SLICES 1  // warps that share a warp's results: each multiplies a part of the k of a stage; 1, 2, 4, 8
#endif
#ifndef LANES_M
#define LANES_M 4  // lanes of a warp, down: 1, 2, 4, 8, 16, 32; 32 / LANES_M across
#endif
#ifndef ITEM_M
#define ITEM_M 16  // rows of a work-item: 4, 8, 12, 16
#endif
#ifndef ITEM_N
#define ITEM_N 8  // columns: 4, 8, 12, 16, 20, ...; ITEM_M * ITEM_N at most 128
#endif
#ifndef TILE_K
#define TILE_K 32  // k of a stage: 8, 16, 32
#endif
#ifndef STAGES
#define STAGES 2  // tiles in local memory: 2 to 8
#endif
#ifndef A_VECTOR
// Floats that are read at once: 4 if all rows of A in memory begin at a multiple of 16 bytes, 2 if at a multiple of 8, else 1; 1 where A
// lies along k.
#define A_VECTOR 1
#endif
#ifndef B_VECTOR
#define B_VECTOR 1  // the same of B, which where it lies along k may have 4
#endif
#ifndef C_VECTOR
#define C_VECTOR 1  // floats of a store: 4 if all rows of C begin at multiples of 16 bytes, else 1
#endif
#ifndef EMULATED
#define EMULATED 0  // 1: copies in plain OpenCL C, so that any device runs the kernel
#endif
#ifndef BAND
#define BAND 8  // tile rasterisation: nvidia/gemm_band.clh
#endif

#define LANES_N (32 / LANES_M)
#define WARP_M (LANES_M * ITEM_M)
#define WARP_N (LANES_N * ITEM_N)
#define TILE_M (WARPS_M * WARP_M)
#define TILE_N (WARPS_N * WARP_N)
#define GROUP (32 * WARPS_M * WARPS_N * SLICES)
#define SLICE_K (TILE_K / SLICES)
#define OUT_M (ITEM_M / SLICES)  // rows that a work-item stores
#define A_ROW (TILE_M + (A_ALONG_K ? 4 : 0))
#define B_ROW (TILE_N + (B_ALONG_K ? 4 : 0))

// B, transposed through registers: a work-item reads 4 k of a row, half a step before it writes them to 4 rows of the tile. In every
// second 8 rows of a tile, places are exchanged by 8, so that 4 x 4 k times 8 rows of a warp's writes access 32 banks.
#define STAGED_B (B_ALONG_K && B_VECTOR == 4 && LANES_N >= 4 && TILE_N * TILE_K / 4 % GROUP == 0)

#define STORES_PARTS 0
#include "common/attributes.clh"
#include "common/work_group.clh"
#include "gemm/operation.clh"
#ifndef READS_AHEAD
#define READS_AHEAD 0  // 1: the cache reads 256 bytes of memory for a copy, as lines of a tile along k are shorter
#endif
#if READS_AHEAD
#define COPY_AHEAD ".L2::256B"
#endif
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

#define STAGE_FLOATS (STAGES * TILE_K * (A_ROW + B_ROW))
#define TILE_FLOATS (SLICES > 1 && STAGE_FLOATS < ITEM_M * ITEM_N * GROUP ? ITEM_M * ITEM_N * GROUP : STAGE_FLOATS)

// The exchange of places at k: 0 or 8.
static inline uint swap_of(uint k) { return k / 8 % 2 * 8; }

#define STAGED_ROUNDS(size) ((size) * TILE_K / 4 / GROUP)
#define STAGED_STEP (GROUP / (TILE_K / 4))

// The operands of the step that the group copies next.
typedef struct {
  global const float *a, *b;  // where the step's tiles begin
  ulong a_pitch, b_pitch;
  uint height, width;  // rows of A and columns of B that lie in the matrices
  int whole;           // all rows and columns of the tiles lie in the matrices
  uint steps, k;       // that are left
} source;

// Of 0 bytes, asynchronous copies read nothing, wherever the address is.
// The following functions copy TILE_K k by `size` rows (of A) or columns (of B) to a tile of pitch `row`. Of these, `depth` k and
// `inside` rows or columns lie in the matrix. `whole`: all do.

// Neighbouring lanes that copy neighbouring k. With 16 a warp reads 64 bytes of a row, not 32, and writes with two-way bank conflicts: on an
// H200, A along k, 128 x 32 takes 0.92 to 0.96 of the time, 32 x 32 0.98, 64 x 64, of 16 k, 0.99 to 1.05; both factors along k 1.03 to 1.13.
#define LINE_K (TILE_K % 32 == 0 && A_ALONG_K != B_ALONG_K ? 16 : 8)
// k contiguous, by copies of 4 bytes: lane l of a warp copies k l % LINE_K of row l / LINE_K, so that a warp reads whole sectors.
GROUP_FUNCTION void copy_transposed(local float* tile, const uint row, const uint size, global const float* from, ulong pitch, uint inside,
                                    uint depth, const int whole, uint item) {
  const uint k = item % LINE_K, first = item / LINE_K;
  const tile_address to = local_address(tile) + (k * row + first) * 4;
  global const float* at = from + (long)first * pitch + k;
#pragma unroll
  for (uint i = 0; i < (size + GROUP / LINE_K - 1) / (GROUP / LINE_K); ++i) {
    if (size % (GROUP / LINE_K) == 0 || first + i * (GROUP / LINE_K) < size)
#pragma unroll
      for (uint j = 0; j < TILE_K; j += LINE_K) {
        if (whole) {
          copy_whole_4(to + (j * row + i * (GROUP / LINE_K)) * 4, at + j);
        } else {
          const int is_inside = first + i * (GROUP / LINE_K) < inside && k + j < depth;
          copy_4(to + (j * row + i * (GROUP / LINE_K)) * 4, at + j, is_inside ? 4 : 0);
        }
      }
    at = running_pointer(at + GROUP / LINE_K * pitch);
  }
}

#if SLICES > 1
// m or n contiguous: vectors of `vector` floats, along the rows, in columns whose width is a power of two, so that a work-item's copies are at
// constant distances in the tile and one running pointer away in memory. By pieces, as below, they would take a hundred registers more.
#define COPY_WIDTH(size) ((size) & (~(size) + 1))
GROUP_FUNCTION void copy_straight(local float* tile, const uint row, const uint size, const uint vector, global const float* from,
                                  ulong pitch, uint inside, uint depth, const int whole, uint item) {
  const uint width = COPY_WIDTH(size), across = width / vector, down = GROUP / across;  // of work-items
  const uint k = item / across, x = item % across * vector;
  const tile_address to = local_address(tile) + (k * row + x) * 4;
  global const float* at = running_pointer(from + (long)k * pitch + x);
#pragma unroll
  for (uint y = 0; y < TILE_K; y += down) {
#pragma unroll
    for (uint column = 0; column < size; column += width) {
      const tile_address place = to + (y * row + column) * 4;
      if (TILE_K % down != 0 && k + y >= TILE_K) continue;
      if (whole) {
        if (vector == 4) copy_whole_16(place, at + column);
        if (vector == 2) copy_whole_8(place, at + column);
        if (vector == 1) copy_whole_4(place, at + column);
      } else {
        const uint bytes = k + y < depth && x + column < inside ? min(inside - x - column, vector) * 4 : 0;
        if (vector == 4) copy_16(place, at + column, bytes);
        if (vector == 2) copy_8(place, at + column, bytes);
        if (vector == 1) copy_4(place, at + column, bytes);
      }
    }
    at = running_pointer(at + down * pitch);
  }
}
#else
// m or n contiguous: vectors of `vector` floats, along the rows.
GROUP_FUNCTION void copy_straight(local float* tile, const uint row, const uint size, const uint vector, global const float* from,
                                  ulong pitch, uint inside, uint depth, const int whole, uint item) {
  global const float* start = running_pointer(from);
  const uint pieces = size / vector * TILE_K;
#pragma unroll
  for (uint i = 0; i < (pieces + GROUP - 1) / GROUP; ++i) {
    const uint piece = item + i * GROUP, k = piece / (size / vector), x = piece % (size / vector) * vector;
    if (pieces % GROUP == 0 || piece < pieces) {
      const tile_address to = local_address(tile) + (k * row + x) * 4;
      global const float* at = start + (long)k * pitch + x;
      if (whole) {
        if (vector == 4) copy_whole_16(to, at);
        if (vector == 2) copy_whole_8(to, at);
        if (vector == 1) copy_whole_4(to, at);
      } else {
        const uint bytes = k < depth && x < inside ? min(inside - x, vector) * 4 : 0;
        if (vector == 4) copy_16(to, at, bytes);
        if (vector == 2) copy_8(to, at, bytes);
        if (vector == 1) copy_4(to, at, bytes);
      }
    }
  }
}

#endif

#if STAGED_B
// Reads the first `count` of 4 floats; the others are zeros.
static inline float4 read_first(global const float* at, uint count) {
  if (count >= 4) return *(global const float4*)at;
  return (float4)(count > 0 ? at[0] : 0, count > 1 ? at[1] : 0, count > 2 ? at[2] : 0, 0);
}

// k contiguous, through registers: fetch reads global memory, put writes the tile half a step later.
GROUP_FUNCTION void fetch(float4* staged, const uint size, global const float* from, ulong pitch, uint inside, uint depth, const int whole,
                          uint item) {
  const uint k = item % (TILE_K / 4) * 4, first = item / (TILE_K / 4);
  global const float* at = from + (long)first * pitch + k;
#pragma unroll
  for (uint i = 0; i < STAGED_ROUNDS(size); ++i) {
    if (whole)
      staged[i] = *(global const float4*)at;
    else
      staged[i] = read_first(at, first + i * STAGED_STEP < inside && k < depth ? depth - k : 0);
    at = running_pointer(at + STAGED_STEP * pitch);
  }
}
GROUP_FUNCTION void put(const float4* staged, const uint size, const uint row, local float* tile, uint item) {
  const uint k = item % (TILE_K / 4) * 4, first = item / (TILE_K / 4);
#pragma unroll
  for (uint i = 0; i < STAGED_ROUNDS(size); ++i) {
    local float* to = tile + k * row + ((first + i * STAGED_STEP) ^ swap_of(k));
    to[0] = staged[i].x, to[row] = staged[i].y, to[2 * row] = staged[i].z, to[3 * row] = staged[i].w;
  }
}
#endif

// Start the copies of a step's tile, or read that of B into registers.
GROUP_FUNCTION void bring_a(local float* to, const source* x, const int whole, uint item) {
  if (A_ALONG_K)
    copy_transposed(to, A_ROW, TILE_M, x->a, x->a_pitch, x->height, x->k, whole, item);
  else
    copy_straight(to, A_ROW, TILE_M, A_VECTOR, x->a, x->a_pitch, x->height, x->k, whole, item);
}
GROUP_FUNCTION void bring_b(local float* to, float4* staged, const source* x, const int whole, uint item) {
#if STAGED_B
  (void)to;
  fetch(staged, TILE_N, x->b, x->b_pitch, x->width, x->k, whole, item);
#else
  (void)staged;
  if (B_ALONG_K)
    copy_transposed(to, B_ROW, TILE_N, x->b, x->b_pitch, x->width, x->k, whole, item);
  else
    copy_straight(to, B_ROW, TILE_N, B_VECTOR, x->b, x->b_pitch, x->width, x->k, whole, item);
#endif
}

// Starts the copies of the next step. Returns 0 if none is left.
GROUP_FUNCTION int copy_step(local float* to_a, local float* to_b, float4* staged_b, source* x, uint item) {
  const int is_left = x->steps > 0;
  if (is_left) {
    if (x->whole && x->k >= TILE_K) {
      bring_a(to_a, x, 1, item);
      bring_b(to_b, staged_b, x, 1, item);
    } else {
      const uint at_edges = TILE_K > 16 ? hidden(item) : item;
      bring_a(to_a, x, 0, at_edges);
      bring_b(to_b, staged_b, x, 0, at_edges);
    }
    x->a += A_ALONG_K ? TILE_K : TILE_K * x->a_pitch, x->b += B_ALONG_K ? TILE_K : TILE_K * x->b_pitch;
    x->k -= TILE_K, --x->steps;
  }
  end_copies();
  return is_left;
}

#if !EPILOGUE && C_VECTOR == 4
// Writes four neighbours of a row.
static inline void write_sums_4(const destination* d, global float4* to, float4 sum) {
  float4 x = d->alpha * sum;
  if (d->beta != 0) x += d->beta * *to;
  *to = x;
}
#endif

typedef union {
  float4 v[ITEM_M / 4];
  float x[ITEM_M];
} a_fragment;
typedef union {
  float4 v[ITEM_N / 4];
  float x[ITEM_N];
} b_fragment;

GROUP_FUNCTION void read_fragments(a_fragment* a, b_fragment* b, local const float* a_row, local const float* b_row) {
#pragma unroll
  for (uint s = 0; s < ITEM_M / 4; ++s)
    a->v[s] = *(local const float4*)(a_row + s * (LANES_M * 4));
#pragma unroll
  for (uint s = 0; s < ITEM_N / 4; ++s)
    b->v[s] = *(local const float4*)(b_row + s * (LANES_N * 4));
}

// Writes the staged registers of a step to its stage.
GROUP_FUNCTION void put_b(local float* to, const float4* staged, uint item) {
#if STAGED_B
  put(staged, TILE_N, B_ROW, to, item);
#else
  (void)to, (void)staged, (void)item;
#endif
}

GROUP_FUNCTION void multiply_fragments(float sum[ITEM_M][ITEM_N], const a_fragment* a, const b_fragment* b) {
#pragma unroll
  for (uint i = 0; i < ITEM_M; ++i)
#pragma unroll
    for (uint j = 0; j < ITEM_N; ++j)
      sum[i][j] = fma(a->x[i], b->x[j], sum[i][j]);
}

// A work-item's place in the tile: its lane's in the warp, and its first row and column.
typedef struct {
  uint lane_m, lane_n, row, col, slice;
} item_place;
// Pairs of neighbouring lanes lie down the rows: 8 lanes, whose 16 bytes are read in one transaction, access few rows and few columns.
static inline item_place place_of_item(uint item) {
  const uint lane = item % 32, warp = item / 32 % (WARPS_M * WARPS_N), pair = (LANES_M > 1) & (LANES_N > 1);
  item_place at;
  at.lane_m = pair ? lane / (2 * LANES_N) * 2 + lane % 2 : LANES_N == 1 ? lane : 0;
  at.lane_n = pair ? lane / 2 % LANES_N : LANES_M == 1 ? lane : 0;
  at.slice = SLICES == 1 ? 0 : item / (GROUP / SLICES);
  at.row = warp % WARPS_M * WARP_M + at.lane_m * 4, at.col = warp / WARPS_M * WARP_N + at.lane_n * 4;
  return at;
}

#if SLICES > 1
// Adds the sums of all slices, in the order of k: a work-item has the first OUT_M rows of `sum` then, those of its slice. A collective
// function.
GROUP_FUNCTION void add_slices(float sum[ITEM_M][ITEM_N], uint slice, local float* tiles, uint item) {
  const uint items = GROUP / SLICES;
  barrier(CLK_LOCAL_MEM_FENCE);  // the stages are no longer read
#pragma unroll
  for (uint i = 0; i < ITEM_M; ++i)
#pragma unroll
    for (uint j = 0; j < ITEM_N; j += 4)
      *(local float4*)(tiles + (i * ITEM_N + j) * GROUP + item * 4) = (float4)(sum[i][j], sum[i][j + 1], sum[i][j + 2], sum[i][j + 3]);
  barrier(CLK_LOCAL_MEM_FENCE);
  local const float* const from = tiles + slice * (OUT_M * ITEM_N * GROUP) + item % items * 4;
#pragma unroll
  for (uint i = 0; i < OUT_M; ++i)
#pragma unroll
    for (uint j = 0; j < ITEM_N; j += 4) {
      float4 x = *(local const float4*)(from + (i * ITEM_N + j) * GROUP);
#pragma unroll
      for (uint s = 1; s < SLICES; ++s)
        x += *(local const float4*)(from + (i * ITEM_N + j) * GROUP + s * (items * 4));
      sum[i][j] = x.s0, sum[i][j + 1] = x.s1, sum[i][j + 2] = x.s2, sum[i][j + 3] = x.s3;
    }
}
#endif

// Writes the sums of a tile that begins at (row, col) of C and has `height` x `width` results there. A collective function: it has a barrier.
GROUP_FUNCTION void store_sums(const destination* d, float sum[ITEM_M][ITEM_N], const item_place* at, ulong row, ulong col, uint height,
                               uint width, UNUSED local float* tiles, UNUSED uint item) {
#if EPILOGUE || C_VECTOR != 4
  // A strip of a warp's rows at a time goes through local memory, so that neighbouring lanes write neighbouring results.
  barrier(CLK_LOCAL_MEM_FENCE);  // the stages are no longer read
  local float* const mine = tiles + item / 32 * (LANES_M * WARP_N);
#pragma unroll
  for (uint i = 0; i < OUT_M; ++i) {
    const uint r = at->slice * OUT_M + i;
#pragma unroll
    for (uint s = 0; s < ITEM_N / 4; ++s)
      *(local float4*)(mine + at->lane_m * WARP_N + at->lane_n * 4 + s * (LANES_N * 4)) =
          (float4)(sum[i][s * 4], sum[i][s * 4 + 1], sum[i][s * 4 + 2], sum[i][s * 4 + 3]);
    const ulong first = row + at->row - at->lane_m * 4 + r / 4 * (LANES_M * 4) + r % 4, first_col = col + at->col - at->lane_n * 4;
#if EPILOGUE
    write_rows(d, mine, WARP_N, LANES_M, WARP_N, first, 4, row + height, first_col, col + width, item % 32);
#else
    store_rows(d, mine, WARP_N, LANES_M, WARP_N, first, 4, row + height, first_col, col + width, item % 32);
#endif
  }
#else
#pragma unroll
  for (uint i = 0; i < OUT_M; ++i) {
    const uint of_item = at->slice * OUT_M + i, r = at->row + of_item / 4 * (LANES_M * 4) + of_item % 4;
    global float* const line = d->c + (row + r) * d->pitch + col;
    if (r < height)
#pragma unroll
      for (uint s = 0; s < ITEM_N / 4; ++s) {
        const uint x = at->col + s * (LANES_N * 4);
        if (x + 4 <= width) {
          write_sums_4(d, (global float4*)(line + x), (float4)(sum[i][s * 4], sum[i][s * 4 + 1], sum[i][s * 4 + 2], sum[i][s * 4 + 3]));
        } else {
#pragma unroll
          for (uint j = 0; j < 4; ++j)
            if (x + j < width) write_sum(d, row + r, col + x + j, sum[i][s * 4 + j]);
        }
      }
  }
#endif
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void gemm_multistage(GEMM_ARGUMENTS) {
  const gemm_arguments g = GEMM_ALL_ARGUMENTS;
  local float tiles[TILE_FLOATS] __attribute__((aligned(128)));
  local float *const a_tiles = tiles, *const b_tiles = tiles + STAGES * TILE_K * A_ROW;
#if PARTS
  local uint is_last;
#endif
  const uint item = get_local_id(0);
  const item_place mine = place_of_item(item);
  const tile_place place =
      place_in_bands((uint)get_group_id(0), (uint)((g.m + TILE_M - 1) / TILE_M), (uint)((g.n + TILE_N - 1) / TILE_N));
  const ulong row = (ulong)place.down * TILE_M, col = (ulong)place.across * TILE_N;
  const product q = product_of(&g, place.number);
  const uint steps = (uint)((q.k + TILE_K - 1) / TILE_K);
  source from;
  from.a = q.a + (A_ALONG_K ? row * g.a_pitch : row), from.a_pitch = g.a_pitch;
  from.b = q.b + (B_ALONG_K ? col * g.b_pitch : col), from.b_pitch = g.b_pitch;
  from.height = row < q.m ? (uint)min(q.m - row, (ulong)TILE_M) : 0, from.width = col < q.n ? (uint)min(q.n - col, (ulong)TILE_N) : 0;
  from.whole = from.height == TILE_M && from.width == TILE_N;
  from.steps = steps, from.k = (uint)q.k;

  float sum[ITEM_M][ITEM_N];
#pragma unroll
  for (uint i = 0; i < ITEM_M; ++i)
#pragma unroll
    for (uint j = 0; j < ITEM_N; ++j)
      sum[i][j] = 0;

  float4 staged_b[STAGED_B ? STAGED_ROUNDS(TILE_N) : 1];
  int is_fetched;
#pragma unroll
  for (uint s = 0; s < STAGES - 1; ++s) {
    is_fetched = copy_step(a_tiles + s * (TILE_K * A_ROW), b_tiles + s * (TILE_K * B_ROW), staged_b, &from, item);
    if (is_fetched) put_b(b_tiles + s * (TILE_K * B_ROW), staged_b, item);
  }
  WAIT_COPIES(STAGES - 2);
  barrier(CLK_LOCAL_MEM_FENCE);

  a_fragment a_now[2];
  b_fragment b_now[2];
  const int swap_b = (int)(mine.col ^ 8) - (int)mine.col;
  uint stage = 0, next = STAGES - 1;  // the stage that is read, and the stage that is filled
  // Where a slice's fragments begin in a stage.
  const uint slice_k = mine.slice * SLICE_K;
  const uint first_a = slice_k * A_ROW + mine.row;
  const uint first_b = slice_k * B_ROW + (STAGED_B ? mine.col ^ swap_of(slice_k) : mine.col);
  local const float *a_row = a_tiles + first_a, *b_row = b_tiles + first_b;
  read_fragments(&a_now[0], &b_now[0], a_row, b_row);
  for (uint step = 0; step < steps; ++step) {
#pragma unroll
    for (uint x = 0; x < SLICE_K; ++x) {
      if (x == SLICE_K - 1) {  // all fragments of this stage are in registers: go to the next stage
        WAIT_COPIES(STAGES - 2);
        barrier(CLK_LOCAL_MEM_FENCE);
        stage = stage + 1 == STAGES ? 0 : stage + 1;
        a_row = a_tiles + stage * (TILE_K * A_ROW) + first_a;
        b_row = b_tiles + stage * (TILE_K * B_ROW) + first_b;
      }
      const uint after = (x + 1) % SLICE_K;
      read_fragments(&a_now[after % 2], &b_now[after % 2], a_row + after * A_ROW,
                     b_row + after * B_ROW + (STAGED_B && swap_of(after) ? swap_b : 0));
      if (x == 0)
        is_fetched = copy_step(a_tiles + next * (TILE_K * A_ROW), b_tiles + next * (TILE_K * B_ROW), staged_b, &from, item);
      if (x == SLICE_K / 2) {
        if (is_fetched) put_b(b_tiles + next * (TILE_K * B_ROW), staged_b, item);
        next = next + 1 == STAGES ? 0 : next + 1;
      }
      multiply_fragments(sum, &a_now[x % 2], &b_now[x % 2]);
    }
  }
  WAIT_COPIES(0);
#if SLICES > 1
  add_slices(sum, mine.slice, tiles, item);
#endif
#if PARTS
  const uint each = (uint)((g.m + TILE_M - 1) / TILE_M) * (uint)((g.n + TILE_N - 1) / TILE_N), number = (uint)place.number;
  const tile_parts all = parts_of_group(&g, number, each, OUT_M * ITEM_N * GROUP);
  global uint* const counter = counters + number / g.parts * each + get_group_id(0) % each;
  if (!join_parts(sum[0], OUT_M * ITEM_N, partials, all, counter, GROUP, item, 0, &is_last)) return;
#endif
  const destination d = destination_of(&g, place.number);
  store_sums(&d, sum, &mine, row, col, from.height, from.width, tiles, item);
}
