// Matrix product with register tiles and vector accesses: from global to local memory where rows are aligned, from local memory
// to registers always (gemm/fragments.clh). Steps of the ladder: "vector"; and "split_k", which divides k among several
// work-groups if C has too few tiles to fill the device.
//
// Launch: (TILE_M / EACH_M) * (TILE_N / EACH_N) work-items a group, a group for each tile of C of each product, or split.
// Local memory: TILE_K rows of both tiles, as their layouts have them.
#include "gemm/fragments.clh"

kernel SUB_GROUP_SIZE __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void gemm_vector(GEMM_ARGUMENTS) {
  const gemm_arguments g = GEMM_ALL_ARGUMENTS;
  local value4 a_vectors[A_ITEMS / 4], b_vectors[B_ITEMS / 4];
  local value *const a_tile = (local value*)a_vectors, *const b_tile = (local value*)b_vectors;
  const place_in_c place = place_of_group(get_group_id(0), g.m, g.n);
  const product q = product_of(&g, place.number);
  const uint y = get_local_id(0) / ACROSS, x = get_local_id(0) % ACROSS;
  const tile_source source = source_of(q, place.row, place.col, g.a_pitch, g.b_pitch);
  value sums[EACH_M][EACH_N];
  clear_sums(sums);

  const uint tiles = (q.k + TILE_K - 1) / TILE_K;
  for (uint t = 0; t < tiles; ++t) {
    value a_packs[A_STEPS * PACK_A], b_packs[B_STEPS * PACK_B];
    fetch_tiles(&source, t, a_packs, b_packs, g.a_pitch, g.b_pitch);
    put_a(a_tile, a_packs);
    put_b(b_tile, b_packs);
    barrier(CLK_LOCAL_MEM_FENCE);

    multiply_tiles(sums, a_tile, b_tile, y, x);
    barrier(CLK_LOCAL_MEM_FENCE);  // before the next tiles are stored
  }
  const destination d = destination_of(&g, place.number);
  write_sums(&d, &q, place.row, place.col, y, x, sums);
}
