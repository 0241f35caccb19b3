// Matrix product through tiles in local memory: one result a work-item.
//
// A work-group computes a tile of C, TILE_M x TILE_N. It loads TILE_K columns of A and rows of B to local memory, which all its
// work-items share: an element of A is read from global memory n / TILE_N times instead of n. Steps of the ladder: "tiled" with
// square tiles; "padded" and "swizzled" with layouts without bank conflicts, because an A along k is stored to its tile down a
// column, which is in one bank; "rectangular" with tiles that are wider than high.
//
// Launch: TILE_M * TILE_N work-items a group, a group for each tile of C of each product.
// Local memory: TILE_K rows of both tiles, as their layouts have them.
#ifndef TILE_M
#define TILE_M 16  // rows of C of a work-group
#endif
#ifndef TILE_N
#define TILE_N 16  // columns of C
#endif
#define GROUP (TILE_M * TILE_N)
#include "gemm/tile.clh"

kernel SUB_GROUP_SIZE __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void gemm_tiled(GEMM_ARGUMENTS) {
  const gemm_arguments g = GEMM_ALL_ARGUMENTS;
  local value a_tile[A_ITEMS], b_tile[B_ITEMS];
  const place_in_c place = place_of_group(get_group_id(0), g.m, g.n);
  const product q = product_of(&g, place.number);
  const uint row = get_local_id(0) / TILE_N, col = get_local_id(0) % TILE_N;
  tile_source source = source_of(q, place.row, place.col, g.a_pitch, g.b_pitch);
  value sum = 0;

  const uint tiles = (q.k + TILE_K - 1) / TILE_K;
  for (uint t = 0; t < tiles; ++t) {
    value a_packs[A_STEPS * PACK_A], b_packs[B_STEPS * PACK_B];
    fetch_tiles(&source, t, a_packs, b_packs, g.a_pitch, g.b_pitch);
    put_a(a_tile, a_packs);
    put_b(b_tile, b_packs);
    barrier(CLK_LOCAL_MEM_FENCE);

    // A row of work-items reads one item of A, a broadcast, and neighbouring items of B.
#pragma unroll
    for (uint p = 0; p < TILE_K; ++p) sum += a_tile[a_at(p, row)] * b_tile[b_at(p, col)];
    barrier(CLK_LOCAL_MEM_FENCE);  // before the next tiles are stored
  }
  const destination d = destination_of(&g, place.number);
  if (place.row + row < q.m && place.col + col < q.n) write_sum(&d, place.row + row, place.col + col, sum);
}
