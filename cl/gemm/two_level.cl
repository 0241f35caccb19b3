// Matrix product with tiles of work-groups, sub-groups and work-items.
//
// As gemm/double_buffered.cl, but the work-items of a sub-group compute a block of LANES_DOWN x LANES_ACROSS register tiles,
// nearly a square, instead of a row: so they read fewer different vectors of the tiles. A work-item reads the next fragments
// while it multiplies the current ones.
//
// Launch: (TILE_M / EACH_M) * (TILE_N / EACH_N) work-items a group, a group for each tile of C of each product.
// Local memory: twice TILE_K rows of both tiles, as their layouts have them.
#include "gemm/fragments.clh"

#ifndef LANES_DOWN
#define LANES_DOWN 4  // work-items of a sub-group's block: powers of two
#endif
#ifndef LANES_ACROSS
#define LANES_ACROSS 8
#endif
#define LANES (LANES_DOWN * LANES_ACROSS)
#define BLOCKS_ACROSS (ACROSS / LANES_ACROSS)

kernel SUB_GROUP_SIZE __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void gemm_two_level(GEMM_ARGUMENTS) {
  const gemm_arguments g = GEMM_ALL_ARGUMENTS;
  local value4 a_vectors[2 * A_ITEMS / 4], b_vectors[2 * B_ITEMS / 4];
  local value *const a_tiles = (local value*)a_vectors, *const b_tiles = (local value*)b_vectors;
  const place_in_c place = place_of_group(get_group_id(0), g.m, g.n);
  const product q = product_of(&g, place.number);
  const uint block = get_local_id(0) / LANES, lane = get_local_id(0) % LANES;
  const uint y = block / BLOCKS_ACROSS * LANES_DOWN + lane / LANES_ACROSS;
  const uint x = block % BLOCKS_ACROSS * LANES_ACROSS + lane % LANES_ACROSS;
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
    local const value *const a_tile = a_tiles + t % 2 * A_ITEMS, *const b_tile = b_tiles + t % 2 * B_ITEMS;
    value left[2][EACH_M], right[2][EACH_N];
    read_fragments(left[0], right[0], a_tile, b_tile, 0, y, x);
#pragma unroll UNROLL
    for (uint p = 0; p < TILE_K; ++p) {
      if (p + 1 < TILE_K) read_fragments(left[(p + 1) % 2], right[(p + 1) % 2], a_tile, b_tile, p + 1, y, x);
      multiply_fragments(sums, left[p % 2], right[p % 2]);
    }
    if (t + 1 < tiles) {
      put_a(a_tiles + (t + 1) % 2 * A_ITEMS, a_packs);
      put_b(b_tiles + (t + 1) % 2 * B_ITEMS, b_packs);
    }
  }
  const destination d = destination_of(&g, place.number);
  write_sums(&d, &q, place.row, place.col, y, x, sums);
}
