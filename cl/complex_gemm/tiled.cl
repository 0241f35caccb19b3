// Complex matrix product through tiles in local memory, with a block of results in the registers of each work-item.
//
// A work-group computes a tile of C, TILE_M x TILE_N, from TILE_K columns of A and rows of B at a time. A number is one item of
// a tile, both parts together, conjugated when it is stored; numbers outside of the matrices are 0. A work-item's rows and
// columns are a stride apart, so that neighbouring work-items read neighbouring items of B and write neighbouring numbers of C.
// Steps of the ladder: "tiled", one result a work-item, and "registers", EACH_M x EACH_N of them.
//
// Launch: (TILE_M / EACH_M) * (TILE_N / EACH_N) work-items a group, a group for each tile of C of each product.
// Local memory: TILE_K rows of both tiles. The plan computes each tile's layout (common/tile.clh), with A_ or B_ before the names.
#include "complex_gemm/numbers.clh"

#ifndef TILE_M
#define TILE_M 16  // rows of C of a work-group
#endif
#ifndef TILE_N
#define TILE_N 16  // columns of C
#endif
#ifndef TILE_K
#define TILE_K 16  // k of the tiles in local memory
#endif
#ifndef EACH_M
#define EACH_M 1  // rows of a work-item's results
#endif
#ifndef EACH_N
#define EACH_N 1  // columns of its results
#endif
#ifndef UNROLL
#define UNROLL TILE_K  // of the innermost loop
#endif
#ifndef A_TILE_STRIDE
#define A_TILE_STRIDE TILE_M  // items from one row of the tile to the next
#endif
#ifndef A_SWIZZLE_MASK
#define A_SWIZZLE_MASK 0
#endif
#ifndef A_SWIZZLE_SHIFT
#define A_SWIZZLE_SHIFT 0
#endif
#ifndef A_SWIZZLE_UNIT
#define A_SWIZZLE_UNIT 0
#endif
#ifndef B_TILE_STRIDE
#define B_TILE_STRIDE TILE_N
#endif
#ifndef B_SWIZZLE_MASK
#define B_SWIZZLE_MASK 0
#endif
#ifndef B_SWIZZLE_SHIFT
#define B_SWIZZLE_SHIFT 0
#endif
#ifndef B_SWIZZLE_UNIT
#define B_SWIZZLE_UNIT 0
#endif
#define DOWN (TILE_M / EACH_M)  // work-items
#define ACROSS (TILE_N / EACH_N)
#define GROUP (DOWN * ACROSS)
#define A_STEPS ((TILE_K * TILE_M + GROUP - 1) / GROUP)  // items that a work-item loads
#define B_STEPS ((TILE_K * TILE_N + GROUP - 1) / GROUP)
#include "common/sub_group.clh"
#include "common/work_group.clh"

// The item of a tile at row p, column i or j.
static inline uint a_at(uint p, uint i) {
  return p * A_TILE_STRIDE + (i ^ (((p >> A_SWIZZLE_SHIFT) & A_SWIZZLE_MASK) << A_SWIZZLE_UNIT));
}
static inline uint b_at(uint p, uint j) {
  return p * B_TILE_STRIDE + (j ^ (((p >> B_SWIZZLE_SHIFT) & B_SWIZZLE_MASK) << B_SWIZZLE_UNIT));
}

// Where an item of a tile of `width` columns stands: neighbouring work-items have neighbours in memory.
typedef struct {
  uint p, i;
} item_place;

static inline item_place place_of_item(uint item, const uint width, const bool along_k) {
  item_place at;
  at.p = along_k ? item % TILE_K : item / width;
  at.i = along_k ? item / TILE_K : item % width;
  return at;
}

// The number of a factor there; `at`: of the tile's first one.
static inline number load_inside(global const number* from, ulong at, ulong pitch, item_place place, uint depth, uint extent,
                                 const bool along_k, part sign) {
  if (place.p >= depth || place.i >= extent) return 0;
  return conjugated(from[at + (along_k ? place.i * pitch + place.p : place.p * pitch + place.i)], sign);
}

kernel SUB_GROUP_SIZE __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void complex_gemm_tiled(COMPLEX_GEMM_ARGUMENTS) {
  local number a_tile[TILE_K * A_TILE_STRIDE], b_tile[TILE_K * B_TILE_STRIDE];
  (void)batch;  // the launch has a group for each tile of each product
  const uint down = (m + TILE_M - 1) / TILE_M, across = (n + TILE_N - 1) / TILE_N;
  const uint q = get_group_id(0) / (down * across), tile = get_group_id(0) - q * (down * across);
  const ulong first_row = (ulong)(tile % down) * TILE_M, first_col = (ulong)(tile / down) * TILE_N;
  const uint height = min(m - first_row, (ulong)TILE_M), width = min(n - first_col, (ulong)TILE_N);
  const uint y = get_local_id(0) / ACROSS, x = get_local_id(0) % ACROSS;
  ulong left = a_offset + q * a_stride + (A_ALONG_K ? first_row * a_pitch : first_row);
  ulong right = b_offset + q * b_stride + (B_ALONG_K ? first_col * b_pitch : first_col);
  number sums[EACH_M][EACH_N];
#pragma unroll
  for (uint r = 0; r < EACH_M; ++r)
#pragma unroll
    for (uint s = 0; s < EACH_N; ++s) sums[r][s] = 0;

  for (ulong first = 0; first < k; first += TILE_K) {
    const uint depth = min(k - first, (ulong)TILE_K);
#pragma unroll
    for (uint step = 0; step < A_STEPS; ++step) {
      const uint item = get_local_id(0) + step * GROUP;
      if (TILE_K * TILE_M % GROUP != 0 && item >= TILE_K * TILE_M) break;
      const item_place at = place_of_item(item, TILE_M, A_ALONG_K);
      a_tile[a_at(at.p, at.i)] = load_inside(a, left, a_pitch, at, depth, height, A_ALONG_K, a_sign);
    }
#pragma unroll
    for (uint step = 0; step < B_STEPS; ++step) {
      const uint item = get_local_id(0) + step * GROUP;
      if (TILE_K * TILE_N % GROUP != 0 && item >= TILE_K * TILE_N) break;
      const item_place at = place_of_item(item, TILE_N, B_ALONG_K);
      b_tile[b_at(at.p, at.i)] = load_inside(b, right, b_pitch, at, depth, width, B_ALONG_K, b_sign);
    }
    left += A_ALONG_K ? TILE_K : TILE_K * a_pitch;
    right += B_ALONG_K ? TILE_K : TILE_K * b_pitch;
    barrier(CLK_LOCAL_MEM_FENCE);

    // A row of work-items reads the same items of A, and neighbouring ones of B.
#pragma unroll UNROLL
    for (uint p = 0; p < TILE_K; ++p) {
      number rows[EACH_M], cols[EACH_N];
#pragma unroll
      for (uint r = 0; r < EACH_M; ++r) rows[r] = a_tile[a_at(p, y + r * DOWN)];
#pragma unroll
      for (uint s = 0; s < EACH_N; ++s) cols[s] = b_tile[b_at(p, x + s * ACROSS)];
#pragma unroll
      for (uint r = 0; r < EACH_M; ++r)
#pragma unroll
        for (uint s = 0; s < EACH_N; ++s) sums[r][s] = multiplied_and_added(rows[r], cols[s], sums[r][s]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);  // before the next tiles are stored
  }

  const number alpha = (number)(alpha_re, alpha_im), beta = (number)(beta_re, beta_im);
  const ulong corner = c_offset + q * c_stride + first_row * c_pitch + first_col;
#pragma unroll
  for (uint r = 0; r < EACH_M; ++r)
#pragma unroll
    for (uint s = 0; s < EACH_N; ++s) {
      const uint row = y + r * DOWN, col = x + s * ACROSS;
      if (row < height && col < width) write_result(c, corner + row * c_pitch + col, sums[r][s], alpha, beta);
    }
}
