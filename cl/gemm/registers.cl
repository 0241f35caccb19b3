// Matrix product with register tiles.
//
// As gemm/tiled.cl, but a work-item computes EACH_M x EACH_N results: for each k it reads EACH_M + EACH_N numbers from local
// memory instead of two for each result. Its rows and columns are a stride apart, so that neighbouring work-items read
// neighbouring items of B and write neighbouring elements of C. Steps of the ladder: "registers_1d" (EACH_N is 1) and
// "registers_2d".
//
// Launch: (TILE_M / EACH_M) * (TILE_N / EACH_N) work-items a group, a group for each tile of C of each product.
// Local memory: TILE_K rows of both tiles, as their layouts have them.
#ifndef EACH_M
#define EACH_M 4  // rows of a work-item's results: a power of two
#endif
#ifndef EACH_N
#define EACH_N 4  // columns of its results
#endif
#include "gemm/tile.clh"

#define DOWN (TILE_M / EACH_M)  // work-items
#define ACROSS (TILE_N / EACH_N)

kernel SUB_GROUP_SIZE __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void gemm_registers(GEMM_ARGUMENTS) {
  const gemm_arguments g = GEMM_ALL_ARGUMENTS;
  local value a_tile[A_ITEMS], b_tile[B_ITEMS];
  const place_in_c place = place_of_group(get_group_id(0), g.m, g.n);
  const product q = product_of(&g, place.number);
  const uint y = get_local_id(0) / ACROSS, x = get_local_id(0) % ACROSS;
  const tile_source source = source_of(q, place.row, place.col, g.a_pitch, g.b_pitch);
  value sums[EACH_M][EACH_N];
#pragma unroll
  for (uint r = 0; r < EACH_M; ++r)
#pragma unroll
    for (uint s = 0; s < EACH_N; ++s) sums[r][s] = 0;

  const uint tiles = (q.k + TILE_K - 1) / TILE_K;
  for (uint t = 0; t < tiles; ++t) {
    value a_packs[A_STEPS * PACK_A], b_packs[B_STEPS * PACK_B];
    fetch_tiles(&source, t, a_packs, b_packs, g.a_pitch, g.b_pitch);
    put_a(a_tile, a_packs);
    put_b(b_tile, b_packs);
    barrier(CLK_LOCAL_MEM_FENCE);

    // Each number from local memory is used for a whole row or column of the register tile.
#pragma unroll UNROLL
    for (uint p = 0; p < TILE_K; ++p) {
      value left[EACH_M], right[EACH_N];
#pragma unroll
      for (uint r = 0; r < EACH_M; ++r) left[r] = a_tile[a_at(p, y + r * DOWN)];
#pragma unroll
      for (uint s = 0; s < EACH_N; ++s) right[s] = b_tile[b_at(p, x + s * ACROSS)];
#pragma unroll
      for (uint r = 0; r < EACH_M; ++r)
#pragma unroll
        for (uint s = 0; s < EACH_N; ++s) sums[r][s] += left[r] * right[s];
    }
    barrier(CLK_LOCAL_MEM_FENCE);  // before the next tiles are stored
  }

  const destination d = destination_of(&g, place.number);
#pragma unroll
  for (uint r = 0; r < EACH_M; ++r) {
    const ulong row = place.row + y + r * DOWN;
#pragma unroll
    for (uint s = 0; s < EACH_N; ++s) {
      const ulong col = place.col + x + s * ACROSS;
      if (row < q.m && col < q.n) write_sum(&d, row, col, sums[r][s]);
    }
  }
}
