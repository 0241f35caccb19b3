// Stream-K matrix product: every work-group does the same number of steps, across the borders of tiles.
//
// The steps of all tiles, TILE_K of k each, are one sequence, and group g has an equal share of it: the end of a tile, whole
// tiles, the begin of another. Results of whole tiles are written at once; partial sums of a cut tile go to `partials`, and
// gemm_stream_k_finish adds them, always in the same order. So no group waits for another, and none is idle if the number of
// tiles is not a multiple of the resident groups. After: M. Osama, D. Merrill, C. Cecka, M. Garland and J.
// Owens, "Stream-K: work-centric parallel decomposition for dense matrix-matrix multiplication on the GPU", PPoPP 2023.
//
// `parts`: groups of the product. Group g has two blocks of TILE_M * TILE_N values in `partials`: 2 g for the tile that its
// share begins in, 2 g + 1 for the tile that it ends in, if that is another.
//
// Launch: (TILE_M / EACH_M) * (TILE_N / EACH_N) work-items a group; `parts` groups; gemm_stream_k_finish one less.
// Local memory: TILE_K rows of both tiles, as their layouts have them; gemm_stream_k_finish none.
#include "gemm/fragments.clh"

// The first step of the share of group g, of `steps` in all.
static inline ulong begin_of(ulong g, ulong groups, ulong steps) {
  return g * (steps / groups) + min(g, steps % groups);
}
static inline ulong steps_of_tile(ulong k) { return k == 0 ? 1 : (k + TILE_K - 1) / TILE_K; }
static inline ulong count_tiles(ulong m, ulong n, ulong batch) {
  return (m + TILE_M - 1) / TILE_M * ((n + TILE_N - 1) / TILE_N) * batch;
}

kernel SUB_GROUP_SIZE __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void gemm_stream_k(GEMM_ARGUMENTS) {
  const gemm_arguments g = GEMM_ALL_ARGUMENTS;
  local value4 a_vectors[A_ITEMS / 4], b_vectors[B_ITEMS / 4];
  local value *const a_tile = (local value*)a_vectors, *const b_tile = (local value*)b_vectors;
  const uint y = get_local_id(0) / ACROSS, x = get_local_id(0) % ACROSS;
  const ulong group = get_group_id(0), of_tile = steps_of_tile(g.k), all = count_tiles(g.m, g.n, g.batch) * of_tile;
  const ulong begin = begin_of(group, g.parts, all), end = begin_of(group + 1, g.parts, all);

  for (ulong at = begin; at < end;) {
    const uint tile = (uint)(at / of_tile), first = (uint)(at - tile * of_tile);
    const uint last = (uint)min(of_tile, first + (end - at));
    const place_in_c place = place_of_group(tile, g.m, g.n);
    const product q = product_of(&g, place.number);
    const tile_source source = source_of(q, place.row, place.col, g.a_pitch, g.b_pitch);
    value sums[EACH_M][EACH_N];
    clear_sums(sums);
    for (uint t = first; t < last; ++t) {
      // A listed product that is not computed has no elements.
      value a_packs[A_STEPS * PACK_A], b_packs[B_STEPS * PACK_B];
      fetch_tiles(&source, (ulong)t * TILE_K < q.k ? t : 0, a_packs, b_packs, g.a_pitch, g.b_pitch);
      put_a(a_tile, a_packs);
      put_b(b_tile, b_packs);
      barrier(CLK_LOCAL_MEM_FENCE);

      multiply_tiles(sums, a_tile, b_tile, y, x);
      barrier(CLK_LOCAL_MEM_FENCE);  // before the next tiles are stored
    }
    if (first == 0 && last == of_tile) {
      const destination d = destination_of(&g, place.number);
      write_sums(&d, &q, place.row, place.col, y, x, sums);
    } else {
      global value* to = partials + (2 * group + (at != begin)) * (TILE_M * TILE_N);
#pragma unroll
      for (uint r = 0; r < EACH_M; ++r)
#pragma unroll
        for (uint s = 0; s < EACH_N; ++s) to[ROW_OF(y, r) * TILE_N + COL_OF(x, s)] = sums[r][s];
    }
    at += last - first;
  }
}

// Group b adds the partial sums of the tile that is cut where the share of group b + 1 begins, unless an earlier group cuts it too.
kernel SUB_GROUP_SIZE __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void gemm_stream_k_finish(GEMM_ARGUMENTS) {
  const gemm_arguments g = GEMM_ALL_ARGUMENTS;
  const ulong of_tile = steps_of_tile(g.k), all = count_tiles(g.m, g.n, g.batch) * of_tile;
  const ulong group = get_group_id(0), cut = begin_of(group + 1, g.parts, all), tile = cut / of_tile;
  const ulong tile_begin = tile * of_tile, tile_end = tile_begin + of_tile;
  if (cut == tile_begin || begin_of(group, g.parts, all) > tile_begin) return;  // no barrier follows

  const place_in_c place = place_of_group((uint)tile, g.m, g.n);
  const product q = product_of(&g, place.number);
  const destination d = destination_of(&g, place.number);
  for (uint i = get_local_id(0); i < TILE_M * TILE_N; i += GROUP) {
    const ulong row = place.row + i / TILE_N, col = place.col + i % TILE_N;
    if (row < q.m && col < q.n) {
      value sum = 0;
      ulong begin = begin_of(group, g.parts, all);
      for (ulong part = group; begin < tile_end && part < g.parts; ++part) {
        sum += partials[(2 * part + (begin < tile_begin)) * (TILE_M * TILE_N) + i];
        begin = begin_of(part + 1, g.parts, all);
      }
      write_sum(&d, row, col, sum);
    }
  }
}
