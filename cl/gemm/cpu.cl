// Matrix product for a CPU, C = alpha op(A) op(B) + beta C.
//
// A work-group is one work-item, which is one thread, and computes a tile of C. "Local memory" is that thread's share of the
// second-level cache: it holds DEPTH columns of A's tile and rows of B's, packed in the order in which they are multiplied, and, where
// k is larger than DEPTH, the tile's sums. The micro-kernel keeps BLOCK_M rows of BLOCK_N = LANES * VECTORS sums in vector registers;
// it reads VECTORS vectors of a strip of B, which the first-level cache holds, and broadcasts single elements of A.
// K. Goto and R. van de Geijn, "Anatomy of high-performance matrix multiplication", ACM TOMS 34, 2008; the micro-kernel as in F.
// Van Zee and R. van de Geijn, "BLIS", ACM TOMS 41, 2015.
//
// Blocks are always whole: rows and columns outside of C have any numbers in the tiles, and their sums are not written.
//
// Launch: local size 1; groups (x, y, z): tile x of a row of tiles, row y, share z of the batch. A tile has as many rows and columns as
// an equal share of C needs, TILE_M x TILE_N at most.
#include "common/loose.clh"
#include "common/work_group.clh"
#include "gemm/operation.clh"

#ifndef LANES
#define LANES 8  // values of a vector register: 2, 4, 8, 16
#endif
#ifndef VECTORS
#define VECTORS 2  // vectors of a block's row: 1, 2, 4
#endif
#ifndef BLOCK_M
#define BLOCK_M 6  // rows, 16 at most: BLOCK_M * VECTORS sums, VECTORS vectors of B and an element of A fill the registers
#endif
#define BLOCK_N (LANES * VECTORS)
#ifndef TILE_M
#define TILE_M 384  // rows of C, a multiple of BLOCK_M
#endif
#ifndef TILE_N
#define TILE_N 256  // columns of C, a multiple of BLOCK_N
#endif
#ifndef DEPTH
#define DEPTH 192  // values along k of the tiles, a multiple of LANES: a strip of B, DEPTH * BLOCK_N values, fits the first-level cache
#endif
#ifndef B_DIRECT
#define B_DIRECT 0  // 1: B is not packed but for the last columns, of C that has no more rows than a block
#endif
#ifndef FEW_STRIPS
#define FEW_STRIPS 4  // strips of a tile up to which A is packed just before it is multiplied
#endif
#ifndef A_BLOCKS
#define A_BLOCKS (A_ALONG_K ? 1 : 8)  // blocks of A that are then packed at once
#endif
#ifndef FEW_VALUES
#define FEW_VALUES 8192  // of B's tile, which the first-level cache holds: then C is written row by row of blocks
#endif
#define PLAIN (!EPILOGUE && RESULT_TYPE != TYPE_HALF && RESULT_TYPE != TYPE_BFLOAT16)  // results are alpha sums + beta C
#define UNROLLED _Pragma("unroll")
#define ROLLED _Pragma("nounroll")
#if PLAIN
#define ONE_BY_ONE _Pragma("clang loop vectorize(disable) unroll(disable)")
#else
#define ONE_BY_ONE
#endif

#if BLOCK_M <= 2
#define WIDE_M 2  // elements that are copied at once where a block's rows are neighbours in memory
#elif BLOCK_M <= 4
#define WIDE_M 4
#elif BLOCK_M <= 8
#define WIDE_M 8
#else
#define WIDE_M 16
#endif

#if ELEMENT_TYPE == TYPE_DOUBLE
#define VALUE double
#define ELEMENT double
#elif ELEMENT_TYPE == TYPE_INT8
#define VALUE int
#else
#define VALUE float
#define ELEMENT float
#endif
typedef JOIN(VALUE, LANES) vector;
typedef struct __attribute__((packed)) { vector v; } loose_vector;
typedef struct __attribute__((packed)) { JOIN(VALUE, WIDE_M) v; } loose_rows;
#include "gemm/quads.clh"

// LANES values that are neighbours along k; A's as they are stored.
static inline vector load_along(global const element* p) {
#if EACH == 1
  return LOADED(LANES, p);
#elif EACH == 2
  typedef char __attribute__((ext_vector_type(2 * LANES))) chars;
  const chars bytes = ((global const struct __attribute__((packed)) { chars v; }*)p)->v;
  return __builtin_astype(__builtin_convertvector(bytes, pairs), vector);
#else
  return ((global const loose_vector*)p)->v;
#endif
}
#if OFFSET_A
#define STORED_A(x) ((x) ^ (int)0x80808080)
#else
#define STORED_A(x) (x)
#endif

// Where element (row, p) of a block of A lies in its tile. Neighbours in memory stay neighbours: by rows, or by blocks of
// BLOCK_M rows, behind which there is room for WIDE_M.
#define A_BLOCK_VALUES (BLOCK_M * DEPTH + 16)
#define A_ROW (A_ALONG_K ? DEPTH : 1)   // values from a row of a block to the next
#define A_P (A_ALONG_K ? 1 : BLOCK_M)  // and from a p
// Where row p of a strip of B begins in its tile. A row's strips lie in different sets of the first-level cache.
#define B_STRIP_VALUES (BLOCK_N * DEPTH + 16)

#ifdef POCL_DEVICE_ADDRESS_BITS  // PoCL defines it
// Of the next block of rows, whose pieces are too short for the hardware's prefetching. Two Zen 5 cores, ms without and with it: 6000 x 32 x 1000
// floats 2.03 and 1.46, 20000 x 100 x 100 1.50 and 1.25, 3000 x 48 x 700 0.87 and 0.76.
#define ASK_FOR(p) __builtin_prefetch(p, 0, 3)
#else
#define ASK_FOR(p)
#endif

// Packs `k` columns of so many blocks of A, `rows` of whose rows there are. `a`: their first element, from which on A has `reach`
// elements.
GROUP_FUNCTION void pack_a(local value* tile, global const element* a, ulong pitch, ulong reach, uint rows, uint blocks, uint k) {
#if A_ALONG_K
  (void)reach;
  const uint whole = k / EACH, rest = k % EACH;
  for (uint block = 0; block < blocks; ++block) {
    for (uint r = 0; r < BLOCK_M; ++r) {
      local value* to = tile + block * (size_t)A_BLOCK_VALUES + r * DEPTH;
      global const element* from = a + min(block * BLOCK_M + r, rows - 1) * pitch;
      if (whole < LANES) {
        ROLLED
        for (uint p = 0; p < whole; ++p) to[p] = STORED_A(value_of(from + p * EACH, 1, EACH));
      } else {
        ROLLED
        for (size_t p = 0; p < whole - LANES; p += LANES) {
          ASK_FOR(from + BLOCK_M * pitch + p * EACH);
          *(local vector*)(to + p) = STORED_A(load_along(from + p * EACH));
        }
        ((local loose_vector*)(to + (whole - LANES)))->v = STORED_A(load_along(from + (whole - LANES) * EACH));
      }
      if (rest != 0) to[whole] = STORED_A(value_of(from + whole * EACH, 1, rest));
    }
  }
#else
  const uint depth = (k + EACH - 1) / EACH;
  for (uint first = 0; first < blocks; first += 8) {
    const uint count = min(blocks - first, 8u);
    for (uint p = 0; p < depth; ++p) {
      const uint each = min(k - p * EACH, (uint)EACH);
      global const element* from = a + p * EACH * pitch + first * BLOCK_M;
      local value* to = tile + first * (size_t)A_BLOCK_VALUES + p * BLOCK_M;
      uint block = 0;
      // What is more than a block is replaced by that of the next p.
      ROLLED
      for (; block < count && (p * EACH + each - 1) * pitch + (first + block) * BLOCK_M + WIDE_M <= reach; ++block) {
        ((local loose_rows*)to)->v = STORED_A(VALUES_ACROSS(WIDE_M, from, pitch, each));
        from += BLOCK_M;
        to += A_BLOCK_VALUES;
      }
      for (; block < count; ++block) {
        ROLLED
        for (uint r = 0; r < BLOCK_M; ++r)
          to[r] = (first + block) * BLOCK_M + r < rows ? STORED_A(value_of(from + r, pitch, each)) : 0;
        from += BLOCK_M;
        to += A_BLOCK_VALUES;
      }
    }
  }
#endif
}

#if B_ALONG_K
#include "common/transpose_square.clh"
#endif

// Packs `k` rows of B's tile. `b`: their first element, from which on B has `reach` elements.
GROUP_FUNCTION void pack_b(local value* tile, global const element* b, ulong pitch, ulong reach, uint cols, uint k) {
#if B_ALONG_K
  (void)reach;
  const uint whole = k / EACH, rest = k % EACH;
  for (uint col = 0; col < cols; col += LANES) {
    local value* to = tile + col / BLOCK_N * (size_t)B_STRIP_VALUES + col % BLOCK_N;
    if (whole < LANES) {
      for (uint p = 0; p < whole; ++p)
        ROLLED
        for (uint j = 0; j < LANES; ++j) to[p * BLOCK_N + j] = value_of(b + min(col + j, cols - 1) * pitch + p * EACH, 1, EACH);
    } else {
      for (uint p = 0; p < whole; p += LANES) {
        const size_t q = min(p, whole - LANES);
        vector square[LANES];
        UNROLLED
        for (uint j = 0; j < LANES; ++j) square[j] = load_along(b + min(col + j, cols - 1) * pitch + q * EACH);
        transpose(square);
        UNROLLED
        for (uint j = 0; j < LANES; ++j) *(local vector*)(to + (q + j) * BLOCK_N) = square[j];
      }
    }
    if (rest != 0)
      ROLLED
      for (uint j = 0; j < LANES; ++j)
        to[whole * BLOCK_N + j] = value_of(b + min(col + j, cols - 1) * pitch + whole * EACH, 1, rest);
  }
#else
  const uint depth = (k + EACH - 1) / EACH;
  for (uint p = 0; p < depth; ++p) {
    const uint each = min(k - p * EACH, (uint)EACH);
    global const element* from = b + p * EACH * pitch;
    local value* to = tile + p * BLOCK_N;
    uint left = cols;
    ROLLED
    for (; left >= BLOCK_N; left -= BLOCK_N) {
      UNROLLED
      for (uint v = 0; v < VECTORS; ++v) ((local vector*)to)[v] = VALUES_ACROSS(LANES, from + v * LANES, pitch, each);
      from += BLOCK_N;
      to += B_STRIP_VALUES;
    }
    ROLLED
    for (uint col = 0; col < left; col += LANES) {
      if ((p * EACH + each - 1) * pitch + (cols - left) + col + LANES <= reach) {
        *(local vector*)(to + col) = VALUES_ACROSS(LANES, from + col, pitch, each);
      } else {
        ROLLED
        for (uint j = col; j < col + LANES; ++j) to[j] = j < left ? value_of(from + j, pitch, each) : 0;
      }
    }
  }
#endif
}

#if OFFSET_A
// What the sums of columns of packed strips begin with: -128 times the sums of B.
DOT_FUNCTION void find_begins(local value* begins, local const value* tile, uint strips, uint depth) {
  for (uint strip = 0; strip < strips; ++strip, tile += B_STRIP_VALUES, begins += BLOCK_N) {
    vector sums[VECTORS];
    UNROLLED
    for (uint v = 0; v < VECTORS; ++v) sums[v] = 0;
    for (uint p = 0; p < depth; ++p)
      UNROLLED
      for (uint v = 0; v < VECTORS; ++v)
        sums[v] = multiply_add((vector)(int)0x80808080, ((local const vector*)(tile + p * BLOCK_N))[v], sums[v]);
    UNROLLED
    for (uint v = 0; v < VECTORS; ++v) ((local vector*)begins)[v] = -sums[v];
  }
}
#endif

// Where a block's results go.
typedef struct {
  const destination* d;
  ulong row, col;   // of C
  uint rows, cols;  // that C has there
  bool first, last; // of the steps along k
  local const value* begins;
} block_results;

// Writes a block of so many columns.
GROUP_FUNCTION void write_block(const block_results* to, local const value* block, uint cols) {
  const uint rows = min(to->rows, (uint)BLOCK_M);
  ROLLED
  for (uint r = 0; r < rows; ++r, block += BLOCK_N) {
    size_t j = 0;
#if PLAIN
    global result* c = to->d->c + (to->row + r) * to->d->pitch + to->col;
    ROLLED
    for (; j + LANES <= cols; j += LANES) {
      vector x = (vector)to->d->alpha * *(local const vector*)(block + j);
      if (to->d->beta != 0) x += (vector)to->d->beta * ((global const loose_vector*)(c + j))->v;
      ((global loose_vector*)(c + j))->v = x;
    }
#endif
    ONE_BY_ONE
    for (; j < cols; ++j) write_sum(to->d, to->row + r, to->col + j, block[j]);
  }
}

#include "gemm/cpu_products.clh"

// Adds the sums of the steps before, and writes the results or keeps the sums.
GROUP_FUNCTION void finish_block(vector acc[BLOCK_M][VECTORS], local value* sums, const block_results* to, const uint vectors,
                                 local value* staged) {
  if (!to->first) {
    UNROLLED
    for (uint r = 0; r < BLOCK_M; ++r)
      UNROLLED
      for (uint v = 0; v < VECTORS; ++v)
        if (v < vectors) acc[r][v] += ((local const vector*)(sums + r * BLOCK_N))[v];
  }
#if PLAIN
  if (to->last && to->rows >= BLOCK_M && to->cols >= vectors * LANES && to->d->beta == 0) {
    const vector alpha = to->d->alpha;
    UNROLLED
    for (uint r = 0; r < BLOCK_M; ++r) {
      global loose_vector* c = (global loose_vector*)(to->d->c + (to->row + r) * to->d->pitch + to->col);
      UNROLLED
      for (uint v = 0; v < VECTORS; ++v)
        if (v < vectors) c[v].v = alpha * acc[r][v];
    }
    return;
  }
#endif
  local value* kept = to->last ? staged : sums;
  UNROLLED
  for (uint r = 0; r < BLOCK_M; ++r)
    UNROLLED
    for (uint v = 0; v < VECTORS; ++v)
      if (v < vectors) ((local vector*)(kept + r * BLOCK_N))[v] = acc[r][v];
  if (to->last) write_block(to, staged, min(to->cols, vectors * LANES));
}

GROUP_FUNCTION void multiply_vectors(local value* sums, local const value* a, local const value* b, uint depth,
                                     const block_results* to, const uint vectors, local value* staged) {
  vector acc[BLOCK_M][VECTORS];
  packed_product(acc, to->begins, a, b, depth, vectors);
  finish_block(acc, sums, to, vectors, staged);
}

// The product of a block of A and of those vectors of a strip of B that have columns.
GROUP_FUNCTION void multiply_block(local value* sums, local const value* a, local const value* b, uint depth,
                                   const block_results* to, local value* staged) {
#if VECTORS > 1
  if (to->cols <= LANES) {
    multiply_vectors(sums, a, b, depth, to, 1, staged);
    return;
  }
#endif
#if VECTORS > 2
  if (to->cols <= 2 * LANES) {
    multiply_vectors(sums, a, b, depth, to, 2, staged);
    return;
  }
#endif
  multiply_vectors(sums, a, b, depth, to, VECTORS, staged);
}

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void gemm_cpu(GEMM_ARGUMENTS) {
  const gemm_arguments g = GEMM_ALL_ARGUMENTS;
  local value a_values[TILE_M / BLOCK_M * A_BLOCK_VALUES] __attribute__((aligned(64)));
  local value b_values[TILE_N / BLOCK_N * B_STRIP_VALUES] __attribute__((aligned(64)));
  local value sums[TILE_M * TILE_N] __attribute__((aligned(64)));
  local value staged[BLOCK_M * BLOCK_N] __attribute__((aligned(64)));
#if OFFSET_A
  local value begin_values[TILE_N] __attribute__((aligned(64)));
  // Through memory, so that LLVM does not put the arrays into DOT_FUNCTIONs in the place of arguments: see GROUP_FUNCTION.
  local value* volatile arrays[] = {a_values, b_values, begin_values};
  local value *a_tile = arrays[0], *b_tile = arrays[1], *begins = arrays[2];
#define BEGINS(strip) (begins + (strip) * BLOCK_N)
#else
  local value *a_tile = a_values, *b_tile = b_values;
#define BEGINS(strip) 0
#endif
  // Equal shares of the batch and, in whole blocks, of C.
  const ulong across = get_num_groups(0), down = get_num_groups(1), products = get_num_groups(2);
  const ulong share_n = ((g.n + across - 1) / across + BLOCK_N - 1) / BLOCK_N * BLOCK_N;
  const ulong share_m = ((g.m + down - 1) / down + BLOCK_M - 1) / BLOCK_M * BLOCK_M;
  const ulong share = (g.batch + products - 1) / products;
  const ulong row = get_group_id(1) * share_m, col = get_group_id(0) * share_n;
  if (row >= g.m || col >= g.n) return;  // no barrier follows
  const uint rows = (uint)min(share_m, g.m - row), cols = (uint)min(share_n, g.n - col);
  const uint blocks = (rows + BLOCK_M - 1) / BLOCK_M, strips = (cols + BLOCK_N - 1) / BLOCK_N;
  const uint at_once = strips <= FEW_STRIPS ? min(blocks, (uint)A_BLOCKS) : blocks;
  // Steps of equal depth, in whole vectors.
  const ulong values = (g.k + EACH - 1) / EACH, steps = max((values + DEPTH - 1) / DEPTH, (ulong)1);
  const uint step_k = (uint)(((values + steps - 1) / steps + LANES - 1) / LANES * LANES * EACH);

  for (ulong number = get_group_id(2) * share; number < min((get_group_id(2) + 1) * share, g.batch); ++number) {
    const product q = product_of(&g, number);
    if (q.m == 0) continue;
    const destination d = destination_of(&g, number);
    ulong first = 0;
    do {
      const uint k = (uint)min((ulong)step_k, q.k - first), depth = (k + EACH - 1) / EACH;
      const ulong b_begin = col * (B_ALONG_K ? g.b_pitch : 1) + first * (B_ALONG_K ? 1 : g.b_pitch);
      const uint direct = B_DIRECT ? cols / BLOCK_N : 0;  // strips of B that are not packed
      pack_b(b_tile, q.b + b_begin + direct * BLOCK_N, g.b_pitch,
             (B_ALONG_K ? (q.n - 1) * g.b_pitch + q.k : (q.k - 1) * g.b_pitch + q.n) - b_begin - direct * BLOCK_N,
             cols - direct * BLOCK_N, k);
#if OFFSET_A
      find_begins(begins, b_tile, strips - direct, depth);
#endif
      for (uint block_row = 0; block_row < blocks; block_row += at_once) {
        const uint count = min(at_once, blocks - block_row);
        const ulong a_row = row + block_row * BLOCK_M;
        const ulong a_begin = a_row * (A_ALONG_K ? g.a_pitch : 1) + first * (A_ALONG_K ? 1 : g.a_pitch);
        pack_a(a_tile, q.a + a_begin, g.a_pitch, (A_ALONG_K ? (q.m - 1) * g.a_pitch + q.k : (q.k - 1) * g.a_pitch + q.m) - a_begin,
               rows - block_row * BLOCK_M, count, k);
        // A strip of B stays in the first-level cache for all these blocks of A, or all strips do.
        const bool by_rows = strips * BLOCK_N * depth <= FEW_VALUES;
        for (uint outer = 0; outer < (by_rows ? count : strips); ++outer) {
          for (uint inner = 0; inner < (by_rows ? strips : count); ++inner) {
            const uint strip = by_rows ? inner : outer, block = by_rows ? outer : inner;
            const uint in_tile = (block_row + block) * BLOCK_M;
            const block_results to = {&d, row + in_tile, col + strip * BLOCK_N, rows - in_tile, cols - strip * BLOCK_N,
                                      first == 0, first + k >= q.k, BEGINS(strip - direct)};
            local value* block_sums = sums + (strip * blocks + block_row + block) * (size_t)(BLOCK_M * BLOCK_N);
            local const value* a_block = a_tile + block * (size_t)A_BLOCK_VALUES;
#if B_DIRECT
            if (strip < direct) {
              vector acc[BLOCK_M][VECTORS];
              direct_product(acc, a_block, q.b + b_begin + strip * BLOCK_N, g.b_pitch, k);
              finish_block(acc, block_sums, &to, VECTORS, staged);
              continue;
            }
#endif
            multiply_block(block_sums, a_block, b_tile + (strip - direct) * (size_t)B_STRIP_VALUES, depth, &to, staged);
          }
        }
      }
      first += k;
    } while (first < q.k);
  }
}
