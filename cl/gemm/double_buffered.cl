// Matrix product with double buffering: the next tiles are loaded during the multiplication of the current ones.
//
// As gemm/vector.cl, with two tiles of each factor: a work-item loads its packs of the next tiles into registers, multiplies the
// current tiles, and stores the packs to the other buffers. So the multiplication hides the latency of global memory, and there
// is one barrier for each TILE_K instead of two.
//
// Launch: (TILE_M / EACH_M) * (TILE_N / EACH_N) work-items a group, a group for each tile of C of each product.
// Local memory: twice TILE_K rows of both tiles, as their layouts have them.
#include "gemm/fragments.clh"

kernel SUB_GROUP_SIZE __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void gemm_double_buffered(GEMM_ARGUMENTS) {
  const gemm_arguments g = GEMM_ALL_ARGUMENTS;
  local value4 a_vectors[2 * A_ITEMS / 4], b_vectors[2 * B_ITEMS / 4];
  local value *const a_tiles = (local value*)a_vectors, *const b_tiles = (local value*)b_vectors;
  const place_in_c place = place_of_group(get_group_id(0), g.m, g.n);
  const product q = product_of(&g, place.number);
  const uint y = get_local_id(0) / ACROSS, x = get_local_id(0) % ACROSS;
  const tile_source source = source_of(q, place.row, place.col, g.a_pitch, g.b_pitch);
  value sums[EACH_M][EACH_N], a_packs[A_STEPS * PACK_A], b_packs[B_STEPS * PACK_B];
  clear_sums(sums);

  const uint tiles = (q.k + TILE_K - 1) / TILE_K;
  if (tiles > 0) {
    fetch_tiles(&source, 0, a_packs, b_packs, g.a_pitch, g.b_pitch);
    put_a(a_tiles, a_packs);
    put_b(b_tiles, b_packs);
  }
  for (uint t = 0; t < tiles; ++t) {
    barrier(CLK_LOCAL_MEM_FENCE);  // the current tiles are complete, and all reads of the other ones are done
    if (t + 1 < tiles) fetch_tiles(&source, t + 1, a_packs, b_packs, g.a_pitch, g.b_pitch);
    multiply_tiles(sums, a_tiles + t % 2 * A_ITEMS, b_tiles + t % 2 * B_ITEMS, y, x);
    if (t + 1 < tiles) {
      put_a(a_tiles + (t + 1) % 2 * A_ITEMS, a_packs);
      put_b(b_tiles + (t + 1) % 2 * B_ITEMS, b_packs);
    }
  }
  const destination d = destination_of(&g, place.number);
  write_sums(&d, &q, place.row, place.col, y, x, sums);
}
