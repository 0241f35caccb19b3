// Matrix product for a CPU, C = alpha op(A) op(B) + beta C.
//
// A work-group is one work-item, which is one thread, and computes a tile of C. "Local memory" is that thread's share of the
// second-level cache: it holds DEPTH columns of A's tile and rows of B's, packed in the order in which they are multiplied, and
// the tile's sums. The micro-kernel keeps BLOCK_M rows of BLOCK_N = LANES * VECTORS sums in vector registers; it reads VECTORS
// vectors of a strip of B, which the first-level cache holds, and broadcasts single elements of A.
// K. Goto and R. van de Geijn, "Anatomy of high-performance matrix multiplication", ACM TOMS 34, 2008; the micro-kernel as in F.
// Van Zee and R. van de Geijn, "BLIS", ACM TOMS 41, 2015.
//
// Elements outside of the matrices are 0 in the tiles, so that blocks are always whole.
//
// Launch: local size 1; groups (x, y, z): tile x of a row of tiles, row y, product z. A tile has as many rows and columns as
// an equal share of C needs, TILE_M x TILE_N at most. Local memory: DEPTH * (TILE_M + TILE_N) + TILE_M * TILE_N values.
#include "common/loose_halves.clh"
#include "common/work_group.clh"
#include "gemm/operation.clh"

#ifndef LANES
#define LANES 8  // values of a vector register: 2, 4, 8, 16
#endif
#ifndef VECTORS
#define VECTORS 4  // vectors of a block's row: 2 where there are 16 registers, 4 where there are 32
#endif
#define BLOCK_M 6  // rows: BLOCK_M * VECTORS sums, VECTORS vectors of B and an element of A fill the registers
#define BLOCK_N (LANES * VECTORS)
#ifndef TILE_M
#define TILE_M 384  // rows of C, a multiple of BLOCK_M
#endif
#ifndef TILE_N
#define TILE_N 256  // columns of C, a multiple of BLOCK_N
#endif
#ifndef DEPTH
#define DEPTH 192  // k of the tiles: a strip of B, DEPTH * BLOCK_N values, fits the first-level cache
#endif
#define UNROLLED _Pragma("unroll")

// Names of types and built-in functions by their vector width: NAME(vload, LANES) is vload8.
#define NAME_JOINED(a, b) a##b
#define NAME(a, b) NAME_JOINED(a, b)
#if ELEMENT_TYPE == TYPE_DOUBLE
typedef NAME(double, LANES) vector;
#elif ELEMENT_TYPE == TYPE_INT8
typedef NAME(int, LANES) vector;
#else
typedef NAME(float, LANES) vector;
#endif

static inline vector multiply_add(vector a, vector b, vector sum) {
#if ELEMENT_TYPE == TYPE_INT8
  return a * b + sum;
#else
  return fma(a, b, sum);
#endif
}

// Where element (row, p) of a block of A lies in its tile. Neighbours in memory stay neighbours: by rows, or by blocks of
// BLOCK_M rows.
static inline uint a_at(uint block, uint row, uint p) {
  return A_ALONG_K ? (block * BLOCK_M + row) * DEPTH + p : (block * DEPTH + p) * BLOCK_M + row;
}
// Where row p of a strip of B begins in its tile.
static inline uint b_at(uint strip, uint p) { return (strip * DEPTH + p) * BLOCK_N; }

// Loads LANES elements, unaligned.
static inline vector load_vector(global const element* p) {
#if ELEMENT_TYPE == TYPE_HALF
  return NAME(load_loose_halves, LANES)((global const half*)p);
#elif ELEMENT_TYPE == TYPE_BFLOAT16
  return NAME(as_float, LANES)(NAME(convert_uint, LANES)(NAME(vload, LANES)(0, p)) << 16);
#elif ELEMENT_TYPE == TYPE_INT8
  return NAME(convert_int, LANES)(NAME(vload, LANES)(0, p));
#else
  return NAME(vload, LANES)(0, p);
#endif
}

// Packs DEPTH columns of A's tile. `a`: their first element of the tile's first row.
GROUP_FUNCTION void pack_a(local value* tile, global const element* a, ulong pitch, uint rows, uint depth) {
  const uint blocks = (rows + BLOCK_M - 1) / BLOCK_M;
#if A_ALONG_K
  for (uint i = 0; i < blocks * BLOCK_M; ++i) {
    local value* to = tile + i * DEPTH;
    uint p = 0;
    if (i < rows)
      for (; p + LANES <= depth; p += LANES) NAME(vstore, LANES)(load_vector(a + i * pitch + p), 0, to + p);
    for (; p < depth; ++p) to[p] = i < rows ? load_element(a + i * pitch + p) : 0;
  }
#else
  for (uint p = 0; p < depth; ++p) {
    global const element* from = a + p * pitch;
    for (uint block = 0; block < blocks; ++block) {
      local value* to = tile + a_at(block, 0, p);
      if ((block + 1) * BLOCK_M <= rows) {
        UNROLLED
        for (uint r = 0; r < BLOCK_M; ++r) to[r] = load_element(from + block * BLOCK_M + r);
      } else {
        for (uint r = 0; r < BLOCK_M; ++r)
          to[r] = block * BLOCK_M + r < rows ? load_element(from + block * BLOCK_M + r) : 0;
      }
    }
  }
#endif
}

// Packs DEPTH rows of B's tile. `b`: their first element of the tile's first column.
GROUP_FUNCTION void pack_b(local value* tile, global const element* b, ulong pitch, uint cols, uint depth) {
  const uint strips = (cols + BLOCK_N - 1) / BLOCK_N;
  for (uint strip = 0; strip < strips; ++strip) {
    const uint first = strip * BLOCK_N, wide = min(cols - first, (uint)BLOCK_N);
    uint p = 0;
#if B_ALONG_K
    // Squares of LANES x LANES are transposed in registers.
    if (wide == BLOCK_N) {
      for (; p + LANES <= depth; p += LANES) {
        for (uint v = 0; v < VECTORS; ++v) {
          value square[LANES][LANES];
          UNROLLED
          for (uint j = 0; j < LANES; ++j)
            NAME(vstore, LANES)(load_vector(b + (ulong)(first + v * LANES + j) * pitch + p), 0, square[j]);
          UNROLLED
          for (uint q = 0; q < LANES; ++q)
            UNROLLED
            for (uint j = 0; j < LANES; ++j) tile[b_at(strip, p + q) + v * LANES + j] = square[j][q];
        }
      }
    }
    for (; p < depth; ++p)
      for (uint j = 0; j < BLOCK_N; ++j)
        tile[b_at(strip, p) + j] = j < wide ? load_element(b + (ulong)(first + j) * pitch + p) : 0;
#else
    if (wide == BLOCK_N) {
      for (; p < depth; ++p)
        UNROLLED
        for (uint v = 0; v < VECTORS; ++v)
          NAME(vstore, LANES)(load_vector(b + p * pitch + first + v * LANES), v, tile + b_at(strip, p));
    }
    for (; p < depth; ++p)
      for (uint j = 0; j < BLOCK_N; ++j)
        tile[b_at(strip, p) + j] = j < wide ? load_element(b + p * pitch + first + j) : 0;
#endif
  }
}

// The micro-kernel: adds the product of a block of A and a strip of B to the sums, whose rows have TILE_N values.
GROUP_FUNCTION void multiply_block(local value* sums, local const value* a, local const value* b, uint depth) {
  vector acc[BLOCK_M][VECTORS];
  UNROLLED
  for (uint r = 0; r < BLOCK_M; ++r)
    UNROLLED
    for (uint v = 0; v < VECTORS; ++v) acc[r][v] = 0;
  for (uint p = 0; p < depth; ++p) {
    vector right[VECTORS];
    UNROLLED
    for (uint v = 0; v < VECTORS; ++v) right[v] = ((local const vector*)(b + p * BLOCK_N))[v];
    UNROLLED
    for (uint r = 0; r < BLOCK_M; ++r) {
      const vector left = a[a_at(0, r, p)];
      UNROLLED
      for (uint v = 0; v < VECTORS; ++v) acc[r][v] = multiply_add(left, right[v], acc[r][v]);
    }
  }
  UNROLLED
  for (uint r = 0; r < BLOCK_M; ++r)
    UNROLLED
    for (uint v = 0; v < VECTORS; ++v) ((local vector*)(sums + r * TILE_N))[v] += acc[r][v];
}

GROUP_FUNCTION void write_row(const destination* d, ulong row, ulong col, local const value* sums, uint cols) {
#if !EPILOGUE && RESULT_TYPE != TYPE_HALF && RESULT_TYPE != TYPE_BFLOAT16
  global result* c = d->c + row * d->pitch + col;  // finish_value() as loops that compilers vectorise
  const value alpha = d->alpha, beta = d->beta;
  if (beta == 0) {
    for (uint j = 0; j < cols; ++j) c[j] = alpha * sums[j];
  } else {
    for (uint j = 0; j < cols; ++j) c[j] = alpha * sums[j] + beta * c[j];
  }
#else
  for (uint j = 0; j < cols; ++j) write_sum(d, row, col + j, sums[j]);
#endif
}

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void gemm_cpu(GEMM_ARGUMENTS) {
  const gemm_arguments g = GEMM_ALL_ARGUMENTS;
  local value a_tile[TILE_M * DEPTH] __attribute__((aligned(64)));
  local value b_tile[TILE_N * DEPTH] __attribute__((aligned(64)));
  local value sums[TILE_M * TILE_N] __attribute__((aligned(64)));
  const ulong number = get_group_id(2);  // less than `batch`
  const product q = product_of(&g, number);
  const destination d = destination_of(&g, number);
  // Equal shares of C, in whole blocks.
  const ulong across = get_num_groups(0), down = get_num_groups(1);
  const ulong share_n = ((q.n + across - 1) / across + BLOCK_N - 1) / BLOCK_N * BLOCK_N;
  const ulong share_m = ((q.m + down - 1) / down + BLOCK_M - 1) / BLOCK_M * BLOCK_M;
  const ulong row = get_group_id(1) * share_m, col = get_group_id(0) * share_n;
  if (row >= q.m || col >= q.n) return;  // no barrier follows
  const uint rows = (uint)min(share_m, q.m - row), cols = (uint)min(share_n, q.n - col);
  const uint blocks = (rows + BLOCK_M - 1) / BLOCK_M, strips = (cols + BLOCK_N - 1) / BLOCK_N;

  for (uint i = 0; i < blocks * BLOCK_M; ++i)
    for (uint j = 0; j < strips * BLOCK_N; ++j) sums[i * TILE_N + j] = 0;

  for (ulong first = 0; first < q.k; first += DEPTH) {
    const uint depth = (uint)min((ulong)DEPTH, q.k - first);
    pack_a(a_tile, q.a + row * (A_ALONG_K ? a_pitch : 1) + first * (A_ALONG_K ? 1 : a_pitch), a_pitch, rows, depth);
    pack_b(b_tile, q.b + col * (B_ALONG_K ? b_pitch : 1) + first * (B_ALONG_K ? 1 : b_pitch), b_pitch, cols, depth);
    // A strip of B stays in the first-level cache for all blocks of A.
    for (uint strip = 0; strip < strips; ++strip)
      for (uint block = 0; block < blocks; ++block)
        multiply_block(sums + block * BLOCK_M * TILE_N + strip * BLOCK_N, a_tile + a_at(block, 0, 0),
                       b_tile + b_at(strip, 0), depth);
  }

  for (uint i = 0; i < rows; ++i) write_row(&d, row + i, col, sums + i * TILE_N, cols);
}
