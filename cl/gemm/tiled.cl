// Matrix product through tiles in local memory: one result a work-item.
//
// A work-group makes a tile of C, TILE_M x TILE_N. It brings TILE_K numbers of each of its sums to local memory, where all
// its work-items share them: an element of A is read from global memory n / TILE_N times instead of n. The rungs are this
// file: "tiled" with plain squares; "padded" and "swizzled" with other layouts of them, because an A that lies along k is
// written to its tile down the columns, which lie in one bank; "rectangular" with tiles that are wider than high.
//
// Launch: TILE_M * TILE_N work-items a group, a group for each tile of C of each product.
// Local memory: TILE_K rows of both tiles, as their layouts have them.
#ifndef TILE_M
#define TILE_M 16  // rows of C that a work-group makes
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
  const place_in_c place = place_of_group(get_group_id(0), m, n);
  const product q = product_of(&g, place.number);
  const uint row = get_local_id(0) / TILE_N, col = get_local_id(0) % TILE_N;
  tile_source source = source_of(q, place.row, place.col, a_pitch, b_pitch);
  value sum = 0;

  const uint tiles = (q.k + TILE_K - 1) / TILE_K;
  for (uint t = 0; t < tiles; ++t) {
    // Global memory to local memory.
    value a_packs[A_STEPS * PACK_A], b_packs[B_STEPS * PACK_B];
    fetch_tiles(&source, t, a_packs, b_packs, a_pitch, b_pitch);
    put_a(a_tile, a_packs);
    put_b(b_tile, b_packs);
    barrier(CLK_LOCAL_MEM_FENCE);

    // A row of A's tile is one number for a whole row of work-items; B's are neighbours.
#pragma unroll
    for (uint p = 0; p < TILE_K; ++p) sum += a_tile[a_at(p, row)] * b_tile[b_at(p, col)];
    barrier(CLK_LOCAL_MEM_FENCE);  // the next tiles take their place
  }
  const destination d = destination_of(&g, place.number);
  if (place.row + row < q.m && place.col + col < q.n) write_sum(&d, place.row + row, place.col + col, sum);
}
