// Matrix product with async_work_group_copy: double buffering by the device's own copies.
//
// The tiles have the layout of global memory: elements without conversion, in lines along k (A_ALONG_K) or along m. One copy
// moves one line. On devices with asynchronous copies those of the next tiles run during the multiplication of the current
// ones; on others a copy is a loop of all work-items.
//
// Launch: (TILE_M / EACH_M) * (TILE_N / EACH_N) work-items a group, a group for each tile of C of each product.
// Local memory: two tiles of each factor, in lines of A_LINE and B_LINE elements.
#ifndef EACH_M
#define EACH_M 4  // rows of a work-item's results: a power of two
#endif
#ifndef EACH_N
#define EACH_N 4  // columns of its results
#endif
#include "gemm/tile.clh"

#define DOWN (TILE_M / EACH_M)  // work-items
#define ACROSS (TILE_N / EACH_N)
#ifndef A_LINE
#define A_LINE (A_ALONG_K ? TILE_K : TILE_M)  // elements from one line of the tile to the next
#endif
#ifndef B_LINE
#define B_LINE (B_ALONG_K ? TILE_K : TILE_N)
#endif
#define A_TILE_ELEMENTS ((A_ALONG_K ? TILE_M : TILE_K) * A_LINE)
#define B_TILE_ELEMENTS ((B_ALONG_K ? TILE_N : TILE_K) * B_LINE)

// Starts the copies of a tile. `first`: the event that they are added to, or 0. All arguments are uniform in the group.
GROUP_FUNCTION event_t copy_tile(local element* tile, const uint line, global const element* from, ulong pitch, uint depth,
                                 uint extent, const bool along_k, event_t first) {
  const uint lines = along_k ? extent : depth, length = along_k ? depth : extent;
  for (uint i = 0; i < lines; ++i) first = async_work_group_copy(tile + i * line, from + i * pitch, length, first);
  return first;
}

// The last tile along k may be partial: the rest is filled with 0, in both factors, because 0 times anything may be a NaN.
GROUP_FUNCTION void clear_rest(local element* tile, const uint line, uint depth, const uint width, const bool along_k) {
  for (uint i = get_local_id(0) + depth * width; i < TILE_K * width; i += GROUP) {
    const uint p = i / width, other = i % width;
    tile[along_k ? other * line + p : p * line + other] = 0;
  }
}

kernel SUB_GROUP_SIZE __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void gemm_async(GEMM_ARGUMENTS) {
  const gemm_arguments g = GEMM_ALL_ARGUMENTS;
  local element a_tiles[2 * A_TILE_ELEMENTS], b_tiles[2 * B_TILE_ELEMENTS];
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
  const uint turns = tiles > 0 ? tiles + 1 : 0;
  for (uint t = 0; t < turns; ++t) {
    // Starts the copies of tile t and multiplies tile t - 1 meanwhile. The last iteration copies the last tile again, to the other
    // buffer, because some compilers do not accept a wait in a branch.
    const ulong first = (ulong)min(t, tiles - 1) * TILE_K;
    const uint depth = min(q.k - first, (ulong)TILE_K);
    local element *const a_next = a_tiles + t % 2 * A_TILE_ELEMENTS, *const b_next = b_tiles + t % 2 * B_TILE_ELEMENTS;
    event_t copies = copy_tile(a_next, A_LINE, source.a + first * (A_ALONG_K ? 1 : g.a_pitch), g.a_pitch, depth,
                               source.height, A_ALONG_K, 0);
    copies = copy_tile(b_next, B_LINE, source.b + first * (B_ALONG_K ? 1 : g.b_pitch), g.b_pitch, depth, source.width,
                       B_ALONG_K, copies);
    clear_rest(a_next, A_LINE, depth, TILE_M, A_ALONG_K);
    clear_rest(b_next, B_LINE, depth, TILE_N, B_ALONG_K);
    if (t > 0) {
      local const element* a_tile = a_tiles + (t + 1) % 2 * A_TILE_ELEMENTS;
      local const element* b_tile = b_tiles + (t + 1) % 2 * B_TILE_ELEMENTS;
#pragma unroll UNROLL
      for (uint p = 0; p < TILE_K; ++p) {
        value left[EACH_M], right[EACH_N];
#pragma unroll
        for (uint r = 0; r < EACH_M; ++r) {
          const uint i = y + r * DOWN;
          left[r] = load_local_element(a_tile + (A_ALONG_K ? i * A_LINE + p : p * A_LINE + i));
        }
#pragma unroll
        for (uint s = 0; s < EACH_N; ++s) {
          const uint j = x + s * ACROSS;
          right[s] = load_local_b_element(b_tile + (B_ALONG_K ? j * B_LINE + p : p * B_LINE + j));
        }
#pragma unroll
        for (uint r = 0; r < EACH_M; ++r)
#pragma unroll
          for (uint s = 0; s < EACH_N; ++s) sums[r][s] += left[r] * right[s];
      }
    }
    wait_group_events(1, &copies);
    barrier(CLK_LOCAL_MEM_FENCE);  // the copied and cleared elements are visible; the other tiles may be overwritten
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
