// GEMM of float, on NVIDIA from sm_80 on: C = alpha A B + beta C by tiles in local memory that cp.async fills STAGES - 1
// steps ahead, and register tiles whose next fragments are read while the present ones are multiplied.
//
// Three levels. A group has a tile of TILE_M x TILE_N results. A warp has WARP_M x WARP_N of them, by LANES_M x LANES_N
// lanes. A work-item has ITEM_M x ITEM_N, in strips of 4 x 4 that lie LANES_M * 4 rows and LANES_N * 4 columns apart: so the
// lanes of a warp read neighbouring float4 of a tile's row, without bank conflicts. In a step of one k a work-item reads
// ITEM_M + ITEM_N numbers for ITEM_M * ITEM_N multiplications. An SM issues as many instructions as it has lanes for
// multiplications, so every other instruction takes the place of one: with 8 x 16 results six reads stand beside 128.
//
// Both tiles lie with k outermost. An operand that lies the other way in memory (k contiguous) is turned on its way: through
// registers where its rows are aligned (STAGED), else by copies of 4 bytes, which serve rows at any alignment. Its rows in
// local memory are padded by 4, so that 8 k times 4 rows of a warp's copy meet 32 banks. What lies outside of the matrices is
// filled with zeros and never read.
//
// Launch: GROUP work-items; groups: one for each tile of C of each product, or of each part of one. Local memory: STAGES *
// TILE_K * (A_ROW + B_ROW) floats. Tiling after: Thakkar et al., CUTLASS, "Efficient GEMM in CUDA"; the order of tiles:
// Triton's tutorial on matrix multiplication, "L2 cache optimizations".
#ifndef WARPS_M
#define WARPS_M 2  // warps of a group, down: 1 to 8
#endif
#ifndef WARPS_N
#define WARPS_N 4  // and across: 1 to 8
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
#define A_VECTOR 1  // floats that are read at once: 4 if all rows of A in memory begin at a multiple of 16 bytes, else 1
#endif
#ifndef B_VECTOR
#define B_VECTOR 1  // the same of B
#endif
#ifndef C_VECTOR
#define C_VECTOR 1  // floats of a store: 4 if all rows of C, with PARTS of the sums, begin at multiples of 16 bytes, else 1
#endif
#ifndef BAND
#define BAND 8  // tiles down that groups take before they go on to the right: for the sake of the L2 cache
#endif

#define LANES_N (32 / LANES_M)
#define WARP_M (LANES_M * ITEM_M)
#define WARP_N (LANES_N * ITEM_N)
#define TILE_M (WARPS_M * WARP_M)
#define TILE_N (WARPS_N * WARP_N)
#define GROUP (32 * WARPS_M * WARPS_N)
#define A_ROW (TILE_M + (A_ALONG_K ? 4 : 0))
#define B_ROW (TILE_N + (B_ALONG_K ? 4 : 0))

// Turned through registers: a work-item reads 4 k of a row, half a step before it writes them to 4 rows of the tile. In every
// second 8 rows of a tile, places are exchanged by 8, so that 4 x 4 k times 8 rows of a warp's writes meet 32 banks.
#define STAGED_A (A_ALONG_K && A_VECTOR == 4 && LANES_M >= 4 && TILE_M * TILE_K / 4 % GROUP == 0)
#define STAGED_B (B_ALONG_K && B_VECTOR == 4 && LANES_N >= 4 && TILE_N * TILE_K / 4 % GROUP == 0)
#define SWAP(k) ((k) / 8 % 2 * 8)

#include "common/work_group.clh"
#include "gemm/operation.clh"
#include "nvidia/copy_async.clh"
#include "nvidia/gemm_band.clh"
#include "nvidia/gemm_rows.clh"

// COPY_TILE starts the copies of the next TILE_K k of an operand: `width` rows (of A) or columns (of B) by `depth` k lie in
// the matrix from `from` on. WHOLE: all of them do.

// Keeps a sum of addresses a sum: else the compiler would hold every address of a step in registers of its own.
#define KEEP_SUM(at) __asm__ volatile("" : "+l"(at))

// k contiguous: lane l of a warp has k l % 8 of row l / 8, so that a warp reads whole sectors of 32 bytes.
#define COPY_TURNING(tile, ROW, TILE, from, pitch, width, depth, WHOLE)                           \
  {                                                                                               \
    const uint k = item % 8, first = item / 8;                                                    \
    const uint to = local_address(tile) + (k * ROW + first) * 4;                                  \
    global const float* at = from + (long)first * pitch + k;                                      \
    _Pragma("unroll") for (uint i = 0; i < (TILE + GROUP / 8 - 1) / (GROUP / 8); ++i) {           \
      if (TILE % (GROUP / 8) == 0 || first + i * (GROUP / 8) < TILE)                              \
        _Pragma("unroll") for (uint j = 0; j < TILE_K; j += 8) {                                  \
          if (WHOLE) {                                                                            \
            copy_whole_4(to + (j * ROW + i * (GROUP / 8)) * 4, at + j);                           \
          } else {                                                                                \
            const int inside = first + i * (GROUP / 8) < width && k + j < depth;                  \
            copy_4(to + (j * ROW + i * (GROUP / 8)) * 4, inside ? at + j : from, inside ? 4 : 0); \
          }                                                                                       \
        }                                                                                         \
      at += GROUP / 8 * pitch;                                                                    \
      KEEP_SUM(at);                                                                               \
    }                                                                                             \
  }

#define STAGED_ROUNDS(TILE) (TILE * TILE_K / 4 / GROUP)
#define STAGED_STEP (GROUP / (TILE_K / 4))
#define FETCH(values, TILE, from, pitch, width, depth, WHOLE)                                     \
  {                                                                                               \
    const uint k = item % (TILE_K / 4) * 4, first = item / (TILE_K / 4);                          \
    global const float* at = from + (long)first * pitch + k;                                      \
    _Pragma("unroll") for (uint i = 0; i < STAGED_ROUNDS(TILE); ++i) {                            \
      if (WHOLE)                                                                                  \
        values[i] = *(global const float4*)at;                                                    \
      else                                                                                        \
        values[i] = read_first(at, first + i * STAGED_STEP < width && k < depth ? depth - k : 0); \
      at += STAGED_STEP * pitch;                                                                  \
      KEEP_SUM(at);                                                                               \
    }                                                                                             \
  }
#define PUT(values, TILE, ROW, tile)                                                                    \
  {                                                                                                     \
    const uint k = item % (TILE_K / 4) * 4, first = item / (TILE_K / 4);                                \
    _Pragma("unroll") for (uint i = 0; i < STAGED_ROUNDS(TILE); ++i) {                                  \
      local float* to = (tile) + k * ROW + ((first + i * STAGED_STEP) ^ SWAP(k));                       \
      to[0] = values[i].x, to[ROW] = values[i].y, to[2 * ROW] = values[i].z, to[3 * ROW] = values[i].w; \
    }                                                                                                   \
  }
#if STAGED_A || STAGED_B
// The first `count` of 4 floats, and zeros.
static inline float4 read_first(global const float* at, uint count) {
  if (count >= 4) return *(global const float4*)at;
  return (float4)(count > 0 ? at[0] : 0, count > 1 ? at[1] : 0, count > 2 ? at[2] : 0, 0);
}
#endif

// m or n contiguous: pieces of VECTOR floats, along the rows.
#define COPY_STRAIGHT(tile, ROW, TILE, VECTOR, from, pitch, width, depth, WHOLE)                              \
  {                                                                                                           \
    global const float* start = from;                                                                         \
    KEEP_SUM(start);                                                                                          \
    _Pragma("unroll") for (uint i = 0; i < (TILE / VECTOR * TILE_K + GROUP - 1) / GROUP; ++i) {               \
      const uint piece = item + i * GROUP, k = piece / (TILE / VECTOR), x = piece % (TILE / VECTOR) * VECTOR; \
      if (TILE / VECTOR * TILE_K % GROUP == 0 || piece < TILE / VECTOR * TILE_K) {                            \
        const uint to = local_address(tile) + (k * ROW + x) * 4;                                              \
        global const float* at = start + (long)k * pitch + x;                                                 \
        if (WHOLE) {                                                                                          \
          if (VECTOR == 4) copy_whole_16(to, at);                                                             \
          if (VECTOR == 1) copy_whole_4(to, at);                                                              \
        } else {                                                                                              \
          const uint inside = k < depth && x < width ? min(width - x, (uint)VECTOR) * 4 : 0;                  \
          if (VECTOR == 4) copy_16(to, inside ? at : from, inside);                                           \
          if (VECTOR == 1) copy_4(to, inside ? at : from, inside);                                            \
        }                                                                                                     \
      }                                                                                                       \
    }                                                                                                         \
  }

#if STAGED_A
#define COPY_A(tile, from, pitch, width, depth, WHOLE) FETCH(staged_a, TILE_M, from, pitch, width, depth, WHOLE)
#define A_STEP(pitch) TILE_K
#elif !A_ALONG_K
#define COPY_A(tile, from, pitch, width, depth, WHOLE) \
  COPY_STRAIGHT(tile, A_ROW, TILE_M, A_VECTOR, from, pitch, width, depth, WHOLE)
#define A_STEP(pitch) (TILE_K * (pitch))
#else
#define COPY_A(tile, from, pitch, width, depth, WHOLE) COPY_TURNING(tile, A_ROW, TILE_M, from, pitch, width, depth, WHOLE)
#define A_STEP(pitch) TILE_K
#endif
#if STAGED_B
#define COPY_B(tile, from, pitch, width, depth, WHOLE) FETCH(staged_b, TILE_N, from, pitch, width, depth, WHOLE)
#define B_STEP(pitch) TILE_K
#elif B_ALONG_K
#define COPY_B(tile, from, pitch, width, depth, WHOLE) COPY_TURNING(tile, B_ROW, TILE_N, from, pitch, width, depth, WHOLE)
#define B_STEP(pitch) TILE_K
#else
#define COPY_B(tile, from, pitch, width, depth, WHOLE) \
  COPY_STRAIGHT(tile, B_ROW, TILE_N, B_VECTOR, from, pitch, width, depth, WHOLE)
#define B_STEP(pitch) (TILE_K * (pitch))
#endif

// Four neighbours of a row, at a multiple of 16 bytes.
static inline void write_sums_4(const destination* d, ulong row, ulong col, float4 sum) {
#if PARTS
  *(global float4*)(d->partials + row * d->n + col) = sum;
#else
  store_result4(d->c + row * d->pitch + col,
                (float4)(finish_value(d, row, col, sum.x), finish_value(d, row, col + 1, sum.y),
                         finish_value(d, row, col + 2, sum.z), finish_value(d, row, col + 3, sum.w)));
#endif
}

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

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void gemm_multistage(GEMM_ARGUMENTS) {
  (void)batch;  // the launch has as many groups as there are tiles
  local float tiles[STAGES * TILE_K * (A_ROW + B_ROW)] __attribute__((aligned(128)));
  local float *const a_tiles = tiles, *const b_tiles = tiles + STAGES * TILE_K * A_ROW;
  const uint item = get_local_id(0);
  const tile_place place =
      place_in_bands((uint)get_group_id(0), (uint)((m + TILE_M - 1) / TILE_M), (uint)((n + TILE_N - 1) / TILE_N));
  const ulong row = (ulong)place.down * TILE_M, col = (ulong)place.across * TILE_N;
  const product q = GEMM_PRODUCT(place.number);
  const uint height = row < q.m ? (uint)min(q.m - row, (ulong)TILE_M) : 0;
  const uint width = col < q.n ? (uint)min(q.n - col, (ulong)TILE_N) : 0;
  const int whole = height == TILE_M && width == TILE_N;
  global const float* from_a = q.a + (A_ALONG_K ? row * a_pitch : row);
  global const float* from_b = q.b + (B_ALONG_K ? col * b_pitch : col);

  // The work-item's place. Neighbouring lanes in pairs down, so that 8 lanes, whose 16 bytes are read at once, touch few rows
  // and few columns.
  const uint lane = item % 32, warp = item / 32;
  const uint pair = (LANES_M > 1) & (LANES_N > 1);
  const uint lane_m = pair ? lane / (2 * LANES_N) * 2 + lane % 2 : LANES_N == 1 ? lane : 0;
  const uint lane_n = pair ? lane / 2 % LANES_N : LANES_M == 1 ? lane : 0;
  const uint item_row = warp % WARPS_M * WARP_M + lane_m * 4, item_col = warp / WARPS_M * WARP_N + lane_n * 4;

  const uint steps = (uint)((q.k + TILE_K - 1) / TILE_K);
  uint copied = 0, k_left = (uint)q.k;
#define COPY_STEP(stage)                                        \
  {                                                             \
    is_fetched = copied < steps;                                \
    if (is_fetched) {                                           \
      local float* to_a = a_tiles + (stage) * (TILE_K * A_ROW); \
      local float* to_b = b_tiles + (stage) * (TILE_K * B_ROW); \
      if (whole && k_left >= TILE_K) {                          \
        COPY_A(to_a, from_a, a_pitch, height, k_left, 1)        \
        COPY_B(to_b, from_b, b_pitch, width, k_left, 1)         \
      } else {                                                  \
        COPY_A(to_a, from_a, a_pitch, height, k_left, 0)        \
        COPY_B(to_b, from_b, b_pitch, width, k_left, 0)         \
      }                                                         \
      from_a += A_STEP(a_pitch), from_b += B_STEP(b_pitch);     \
      k_left -= TILE_K, ++copied;                               \
    }                                                           \
    end_copies();                                               \
  }

  // What a step's fetches brought goes to its stage.
#define PUT_STEP(stage)                                                                            \
  {                                                                                                \
    if (STAGED_A && is_fetched) PUT(staged_a, TILE_M, A_ROW, a_tiles + (stage) * (TILE_K * A_ROW)) \
    if (STAGED_B && is_fetched) PUT(staged_b, TILE_N, B_ROW, b_tiles + (stage) * (TILE_K * B_ROW)) \
  }
  float4 staged_a[STAGED_A ? STAGED_ROUNDS(TILE_M) : 1], staged_b[STAGED_B ? STAGED_ROUNDS(TILE_N) : 1];
  int is_fetched;

  float sum[ITEM_M][ITEM_N];
#pragma unroll
  for (uint i = 0; i < ITEM_M; ++i)
#pragma unroll
    for (uint j = 0; j < ITEM_N; ++j)
      sum[i][j] = 0;

#pragma unroll
  for (uint s = 0; s < STAGES - 1; ++s) {
    COPY_STEP(s)
    PUT_STEP(s)
  }
  WAIT_COPIES(STAGES - 2);
  barrier(CLK_LOCAL_MEM_FENCE);

  a_fragment a_now[2];
  b_fragment b_now[2];
  const int swap_a = (int)(item_row ^ 8) - (int)item_row, swap_b = (int)(item_col ^ 8) - (int)item_col;
  uint stage = 0, next = STAGES - 1;  // that which is read, and that which is filled
  local const float* a_row = a_tiles + item_row;
  local const float* b_row = b_tiles + item_col;
  read_fragments(&a_now[0], &b_now[0], a_row, b_row);
  for (uint step = 0; step < steps; ++step) {
#pragma unroll
    for (uint x = 0; x < TILE_K; ++x) {
      if (x == TILE_K - 1) {  // all fragments of this stage are in registers: on to the next
        WAIT_COPIES(STAGES - 2);
        barrier(CLK_LOCAL_MEM_FENCE);
        stage = stage + 1 == STAGES ? 0 : stage + 1;
        a_row = a_tiles + stage * (TILE_K * A_ROW) + item_row;
        b_row = b_tiles + stage * (TILE_K * B_ROW) + item_col;
      }
      const uint after = (x + 1) % TILE_K;
      read_fragments(&a_now[after % 2], &b_now[after % 2], a_row + after * A_ROW + (STAGED_A && SWAP(after) ? swap_a : 0),
                     b_row + after * B_ROW + (STAGED_B && SWAP(after) ? swap_b : 0));
      if (x == 0) COPY_STEP(next)
      if (x == TILE_K / 2) {
        PUT_STEP(next)
        next = next + 1 == STAGES ? 0 : next + 1;
      }
#pragma unroll
      for (uint i = 0; i < ITEM_M; ++i)
#pragma unroll
        for (uint j = 0; j < ITEM_N; ++j)
          sum[i][j] = fma(a_now[x % 2].x[i], b_now[x % 2].x[j], sum[i][j]);
    }
  }
  WAIT_COPIES(0);

  const destination d = GEMM_DESTINATION(place.number);
#if EPILOGUE
  barrier(CLK_LOCAL_MEM_FENCE);  // the tiles are no longer needed
  local float* const mine = tiles + warp * (LANES_M * WARP_N);
#pragma unroll
  for (uint i = 0; i < ITEM_M; ++i) {
#pragma unroll
    for (uint s = 0; s < ITEM_N / 4; ++s)
      *(local float4*)(mine + lane_m * WARP_N + lane_n * 4 + s * (LANES_N * 4)) =
          (float4)(sum[i][s * 4], sum[i][s * 4 + 1], sum[i][s * 4 + 2], sum[i][s * 4 + 3]);
    write_rows(&d, mine, WARP_N, LANES_M, WARP_N, row + item_row - lane_m * 4 + i / 4 * (LANES_M * 4) + i % 4, 4, row + height,
               col + item_col - lane_n * 4, col + width, lane);
  }
#else
#pragma unroll
  for (uint i = 0; i < ITEM_M; ++i) {
    const uint r = item_row + i / 4 * (LANES_M * 4) + i % 4;
    if (r < height)
#pragma unroll
      for (uint s = 0; s < ITEM_N / 4; ++s) {
        const uint x = item_col + s * (LANES_N * 4);
        if (C_VECTOR == 4 && x + 4 <= width) {
          write_sums_4(&d, row + r, col + x,
                       (float4)(sum[i][s * 4], sum[i][s * 4 + 1], sum[i][s * 4 + 2], sum[i][s * 4 + 3]));
        } else {
#pragma unroll
          for (uint j = 0; j < 4; ++j)
            if (x + j < width) write_sum(&d, row + r, col + x + j, sum[i][s * 4 + j]);
        }
      }
  }
#endif
}
