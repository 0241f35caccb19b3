// Matrix product by the matrix units of AMD and Intel, through the fragment layer (common/matrix_unit.clh): half and bfloat16 with sums in
// float, int8 with sums in int.
//
// As gemm/double_buffered.cl, with tiles of elements as they are in memory: rows of TILE_K along k, of one m or n, padded against bank
// conflicts. A sub-group has SUB_M x SUB_N results of the tile. A factor that lies across k is transposed in registers, in blocks of 4 x 4.
//
// Launch: GROUP = LANES * SUBS_M * SUBS_N work-items a group, a group for each tile of C of each product, or split. Local memory: twice the
// rows of both tiles, A_TILE_STRIDE and B_TILE_STRIDE elements each. In it sub-groups lay their sums at the end, a row of fragments at a
// time. The emulated unit has UNIT_SHARED elements for each sub-group more.
#ifndef SUBS_M
#define SUBS_M 2  // sub-groups of a group, down
#endif
#ifndef SUBS_N
#define SUBS_N 2  // across
#endif
#ifndef SUB_M
#define SUB_M 32  // rows of a sub-group: a multiple of the unit's
#endif
#ifndef SUB_N
#define SUB_N 32  // columns
#endif
#ifndef TILE_K
#define TILE_K 32  // a multiple of the unit's; with 16 bytes in a row at least
#endif
#ifndef ELEMENT_TYPE
#define ELEMENT_TYPE 2  // half, bfloat16, int8: gemm/numbers.clh
#endif
#ifndef A_ALIGNED
#define A_ALIGNED 0  // 1: each line of A begins at a multiple of 16 bytes
#endif
#ifndef B_ALIGNED
#define B_ALIGNED 0
#endif
#ifndef A_TILE_STRIDE
#define A_TILE_STRIDE (TILE_K + 8)  // elements from one row of the tile to the next: a multiple of 16 bytes
#endif
#ifndef B_TILE_STRIDE
#define B_TILE_STRIDE (TILE_K + 8)
#endif
#define TILE_M (SUBS_M * SUB_M)
#define TILE_N (SUBS_N * SUB_N)
#include "gemm/tile.clh"
#include "common/unit_tiles.clh"

#define LINE (16 / UNIT_BYTES)  // elements along k that a work-item moves at once
#define A_TILE (TILE_M * A_TILE_STRIDE)
#define B_TILE (TILE_N * B_TILE_STRIDE)

// Loads 16 bytes along k, or 4 elements across k.
GROUP_FUNCTION uint4 load_line(global const element* from, const bool aligned) {
  if (aligned) return *(global const uint4*)from;
#if UNIT_BYTES == 1
  return as_uint4(vload16(0, from));
#else
  return as_uint4(vload8(0, from));
#endif
}
GROUP_FUNCTION element4 load_across(global const element* from, const bool aligned) {
  return aligned ? *(global const element4*)from : vload4(0, from);
}

// A work-item's parts of a tile of `width` rows along k: lines of 16 bytes where the factor lies along k, else blocks of 4 x 4 elements,
// which are 4 lines across k of the factor. Neighbouring work-items have neighbouring k.
#define PARTS_OF(width, along_k) (((width) * TILE_K / ((along_k) ? LINE : 16) + GROUP - 1) / GROUP)
#define WORDS_OF(width, along_k) (PARTS_OF(width, along_k) * ((along_k) ? 4 : 4 * UNIT_BYTES))
#define A_WORDS WORDS_OF(TILE_M, A_ALONG_K)
#define B_WORDS WORDS_OF(TILE_N, B_ALONG_K)
typedef struct {
  uint row, k;
  bool is_in_tile;
} part_place;

static inline part_place place_of_part(uint step, const uint width, const bool along_k) {
  const uint across = TILE_K / (along_k ? LINE : 4), number = get_local_id(0) + step * GROUP;
  part_place at;
  at.row = number / across * (along_k ? 1 : 4);
  at.k = number % across * (along_k ? LINE : 4);
  at.is_in_tile = width * TILE_K % (GROUP * (along_k ? LINE : 16)) == 0 || at.row < width;
  return at;
}

// A factor's part of a tile.
typedef struct {
  global const element* from;  // its first element
  ulong pitch;
  uint depth, extent;  // k and rows that lie in the matrix
} tile_part;

// Whether the tile can be moved in lines and blocks. Rows outside of the matrix are copies of others, which no result that is stored needs.
static inline bool is_whole(const tile_part* x, const uint width, const bool along_k) {
  return x->depth == TILE_K && (along_k || x->extent == width || x->extent % 4 == 0);
}

// Loads a work-item's parts of a whole tile.
GROUP_FUNCTION void fetch_rows(uint* words, const tile_part* x, const uint width, const bool along_k, const bool aligned) {
  UNROLLED
  for (uint step = 0; step < PARTS_OF(width, along_k); ++step) {
    const part_place at = place_of_part(step, width, along_k);
    if (along_k) {
      vstore4(load_line(x->from + min(at.row, x->extent - 1) * x->pitch + at.k, aligned), 0, words + step * 4);
    } else {
      global const element* from = x->from + at.k * x->pitch + min(at.row, x->extent - 4);
      UNROLLED
      for (uint i = 0; i < 4; ++i) {
        const element4 line = load_across(from + i * x->pitch, aligned);
#if UNIT_BYTES == 1
        words[step * 4 + i] = as_uint(line);
#else
        vstore2(as_uint2(line), 0, words + step * 8 + i * 2);
#endif
      }
    }
  }
}

// Stores them to local memory.
GROUP_FUNCTION void put_rows(local element* tile, const uint* words, const uint stride, const uint width, const bool along_k) {
  UNROLLED
  for (uint step = 0; step < PARTS_OF(width, along_k); ++step) {
    const part_place at = place_of_part(step, width, along_k);
    if (at.is_in_tile) {
      local element* to = tile + at.row * stride + at.k;
      if (along_k) {
        *(local uint4*)to = vload4(0, words + step * 4);
      } else {
#if UNIT_BYTES == 1
        const char4 a = as_char4(words[step * 4]), b = as_char4(words[step * 4 + 1]), c = as_char4(words[step * 4 + 2]),
                    d = as_char4(words[step * 4 + 3]);
#else
        const ushort4 a = as_ushort4(vload2(0, words + step * 8)), b = as_ushort4(vload2(1, words + step * 8)),
                      c = as_ushort4(vload2(2, words + step * 8)), d = as_ushort4(vload2(3, words + step * 8));
#endif
        *(local element4*)to = (element4)(a.s0, b.s0, c.s0, d.s0);
        *(local element4*)(to + stride) = (element4)(a.s1, b.s1, c.s1, d.s1);
        *(local element4*)(to + 2 * stride) = (element4)(a.s2, b.s2, c.s2, d.s2);
        *(local element4*)(to + 3 * stride) = (element4)(a.s3, b.s3, c.s3, d.s3);
      }
    }
  }
}

// Fills a tile at the border of the matrix, element by element; those outside are 0.
GROUP_FUNCTION void fill_rows(local element* tile, const tile_part* x, const uint stride, const uint width, const bool along_k) {
#pragma unroll 1
  for (uint i = get_local_id(0); i < width * TILE_K; i += GROUP) {
    const uint row = along_k ? i / TILE_K : i % width, k = along_k ? i % TILE_K : i / width;
    element number = 0;
    if (row < x->extent && k < x->depth) number = x->from[along_k ? row * x->pitch + k : k * x->pitch + row];
    tile[row * stride + k] = number;
  }
}

// The parts of tile `t` along k of both factors.
static inline tile_part part_of_a(const tile_source* s, ulong t, ulong pitch) {
  const ulong first = t * TILE_K;
  tile_part x;
  x.from = s->a + first * (A_ALONG_K ? 1 : pitch), x.pitch = pitch;
  x.depth = min(s->depth - first, (ulong)TILE_K), x.extent = s->height;
  return x;
}
static inline tile_part part_of_b(const tile_source* s, ulong t, ulong pitch) {
  const ulong first = t * TILE_K;
  tile_part x;
  x.from = s->b + first * (B_ALONG_K ? 1 : pitch), x.pitch = pitch;
  x.depth = min(s->depth - first, (ulong)TILE_K), x.extent = s->width;
  return x;
}
GROUP_FUNCTION void fetch_both(const tile_part* a, const tile_part* b, uint* a_words, uint* b_words) {
  if (is_whole(a, TILE_M, A_ALONG_K)) fetch_rows(a_words, a, TILE_M, A_ALONG_K, A_ALIGNED);
  if (is_whole(b, TILE_N, B_ALONG_K)) fetch_rows(b_words, b, TILE_N, B_ALONG_K, B_ALIGNED);
}
GROUP_FUNCTION void put_both(local element* a_tile, local element* b_tile, const tile_part* a, const tile_part* b, const uint* a_words,
                             const uint* b_words) {
  if (is_whole(a, TILE_M, A_ALONG_K))
    put_rows(a_tile, a_words, A_TILE_STRIDE, TILE_M, A_ALONG_K);
  else
    fill_rows(a_tile, a, A_TILE_STRIDE, TILE_M, A_ALONG_K);
  if (is_whole(b, TILE_N, B_ALONG_K))
    put_rows(b_tile, b_words, B_TILE_STRIDE, TILE_N, B_ALONG_K);
  else
    fill_rows(b_tile, b, B_TILE_STRIDE, TILE_N, B_ALONG_K);
}

// Writes rows of sums in local memory, of one fragment's height: neighbouring work-items neighbouring columns. The epilogue is there once.
GROUP_FUNCTION void write_rows(const destination* d, local const value* rows, ulong row, ulong col, ulong m, ulong n, uint lane) {
#pragma unroll 1
  for (uint e = lane; e < UNIT_M * SUB_N; e += LANES)
    if (row + e / SUB_N < m && col + e % SUB_N < n) write_sum(d, row + e / SUB_N, col + e % SUB_N, rows[e]);
}

kernel SUB_GROUP_SIZE __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void gemm_matrix_units(GEMM_ARGUMENTS) {
  const gemm_arguments g = GEMM_ALL_ARGUMENTS;
  local uint4 vectors[2 * (A_TILE + B_TILE) / LINE];
  local element *const a_tiles = (local element*)vectors, *const b_tiles = a_tiles + 2 * A_TILE;
  const uint sub = get_local_id(0) / LANES, sub_row = sub / SUBS_N * SUB_M, sub_col = sub % SUBS_N * SUB_N;
  matrix_unit unit;
  unit.lane = get_local_id(0) % LANES;
#if EMULATED_UNIT
  local uint shared[SUBS_M * SUBS_N * UNIT_SHARED * UNIT_BYTES / 4];
  unit.shared = (local element*)shared + sub * UNIT_SHARED;
#endif
  const place_in_c place = place_of_group(get_group_id(0), g.m, g.n);
  const product q = product_of(&g, place.number);
  const tile_source source = source_of(q, place.row, place.col, g.a_pitch, g.b_pitch);
  fragment_c sums[MS][NS];
  uint a_words[A_WORDS], b_words[B_WORDS];
  UNROLLED
  for (uint i = 0; i < MS; ++i)
    UNROLLED
    for (uint j = 0; j < NS; ++j) sums[i][j] = 0;

  const ulong tiles = (q.k + TILE_K - 1) / TILE_K;
  if (tiles > 0) {
    const tile_part a_part = part_of_a(&source, 0, g.a_pitch), b_part = part_of_b(&source, 0, g.b_pitch);
    fetch_both(&a_part, &b_part, a_words, b_words);
    put_both(a_tiles, b_tiles, &a_part, &b_part, a_words, b_words);
  }
#pragma unroll 1
  for (ulong t = 0; t < tiles; ++t) {
    const uint now = t % 2, next = 1 - now;
    const bool has_next = t + 1 < tiles;
    const tile_part a_part = part_of_a(&source, has_next ? t + 1 : t, g.a_pitch), b_part = part_of_b(&source, has_next ? t + 1 : t, g.b_pitch);
    barrier(CLK_LOCAL_MEM_FENCE);  // the current tiles are complete, and all reads of the other ones are done
    if (has_next) fetch_both(&a_part, &b_part, a_words, b_words);
    multiply_rows(&unit, sums, a_tiles + now * A_TILE + sub_row * A_TILE_STRIDE, b_tiles + now * B_TILE + sub_col * B_TILE_STRIDE);
    if (has_next) put_both(a_tiles + next * A_TILE, b_tiles + next * B_TILE, &a_part, &b_part, a_words, b_words);
  }
  const destination d = destination_of(&g, place.number);
  local value* const rows = (local value*)vectors + sub * (UNIT_M * SUB_N);
  UNROLLED
  for (uint i = 0; i < MS; ++i) {
    barrier(CLK_LOCAL_MEM_FENCE);  // the tiles, or the rows before, were read
    UNROLLED
    for (uint j = 0; j < NS; ++j) store_c(rows + j * UNIT_N, SUB_N, sums[i][j], &unit);
    barrier(CLK_LOCAL_MEM_FENCE);
    write_rows(&d, rows, place.row + sub_row + i * UNIT_M, place.col + sub_col, q.m, q.n, unit.lane);
  }
}
