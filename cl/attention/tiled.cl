// Attention with tiles in local memory and an online softmax: the matrix of weights is never in global memory.
//
// A work-group has TILE_M rows and walks over tiles of TILE_N keys. Products are made as cl/gemm/double_buffered.cl makes them: work-item (y,
// x) has EACH_M rows and EACH_N keys of a tile of logits, and COLS columns of the results of its rows, all in registers; DEPTH elements of
// queries and keys, then V_DEPTH values, are in local memory at once, twice, so that the next ones are on their way meanwhile. Weights go from
// the work-items that made them to those that need them through local memory, and so do the largest logits of rows.
// T. Dao, "FlashAttention-2: Faster attention with better parallelism and work partitioning", 2023.
//
// Launch: GROUP work-items a group, a group for each tile of rows. Local memory: 2 * CHUNK + TILE_N * ROW_STRIDE + TILE_M * (ACROSS + 4) numbers.
#ifndef TILE_M
#define TILE_M 64  // rows of a group
#endif
#ifndef TILE_N
#define TILE_N 64  // keys of a tile
#endif
#ifndef EACH_M
#define EACH_M 4  // rows of a work-item: 4, 8
#endif
#ifndef DEPTH
#define DEPTH 16  // elements of queries and keys in local memory
#endif
#ifndef V_DEPTH
#define V_DEPTH 16  // values in local memory; divides TILE_N
#endif
#ifndef UNROLL
#define UNROLL 4  // of the innermost loops
#endif
#include "attention/operation.clh"
#include "common/sub_group.clh"

#define EACH_N 4  // keys of a work-item
#define DOWN (TILE_M / EACH_M)
#define ACROSS (TILE_N / EACH_N)
#define GROUP (DOWN * ACROSS)
// Columns of a work-item, in vectors of V_PACK.
#define LEAST_COLS ((VALUE_SIZE + 2 * ACROSS - 1) / (2 * ACROSS) * 2)
#if LEAST_COLS % 4 == 0
#define V_PACK 4
#else
#define V_PACK 2
#endif
#define COLS LEAST_COLS
#define V_WIDTH (ACROSS * COLS)
#define ROW_STRIDE (TILE_M + 4)  // of a line of rows in local memory; its vectors of four are aligned
#define KEY_STRIDE (TILE_N + 4)
#define QK_CHUNK (DEPTH * (ROW_STRIDE + KEY_STRIDE))
#define V_CHUNK (V_DEPTH * V_WIDTH)
#define CHUNK (QK_CHUNK > V_CHUNK ? QK_CHUNK : V_CHUNK)
#define LARGEST_STRIDE (ACROSS + 4)
// Packs of a work-item.
#define Q_STEPS ((TILE_M * DEPTH / PACK + GROUP - 1) / GROUP)
#define K_STEPS ((TILE_N * DEPTH / PACK + GROUP - 1) / GROUP)
#define V_STEPS ((V_CHUNK / PACK + GROUP - 1) / GROUP)
// The row of a work-item's row r, the column of its column c.
#define ROW_OF(y, r) ((r) / 4 * (4 * DOWN) + (y) * 4 + (r) % 4)
#define COL_OF(x, c) ((c) / V_PACK * (V_PACK * ACROSS) + (x) * V_PACK + (c) % V_PACK)
#define UNROLLED _Pragma("unroll")

// Loads PACK elements from `from` on, or zeros.
static inline packed_vector load_or_zero(global const ELEMENT* p, ulong from, bool inside) {
  packed_vector v = 0;
  if (inside) v = load_pack(p, from);
  return v;
}

// Loads elements [depth, depth + DEPTH) of `lines` vectors, of which `inside` exist. `places`: where those of the work-item's packs begin.
GROUP_FUNCTION void fetch_lines(packed_vector* packs, const uint steps, const uint lines, global const ELEMENT* p, const ulong* places,
                                uint depth, uint inside, uint item) {
  UNROLLED
  for (uint s = 0; s < steps; ++s) {
    const uint n = item + s * GROUP, line = n / (DEPTH / PACK), d = depth + n % (DEPTH / PACK) * PACK;
    packs[s] = load_or_zero(p, places[s] + d, line < min(inside, lines) && d < HEAD_SIZE);
  }
}
// Stores them to local memory, element by element.
GROUP_FUNCTION void put_lines(local float* to, const packed_vector* packs, const uint steps, const uint lines, const uint stride, uint item) {
  UNROLLED
  for (uint s = 0; s < steps; ++s) {
    const uint n = item + s * GROUP, line = n / (DEPTH / PACK), d = n % (DEPTH / PACK) * PACK;
    if (lines * DEPTH / PACK % GROUP == 0 || line < lines) {
      pack v;
      v.all = packs[s];
      UNROLLED
      for (uint e = 0; e < PACK; ++e) to[(d + e) * stride + line] = v.each[e];
    }
  }
}

// Reads numbers of the work-item's rows from a line of all rows.
GROUP_FUNCTION void read_rows(float numbers[EACH_M], local const float* line, uint y) {
  UNROLLED
  for (uint r = 0; r < EACH_M; r += 4) {
    const float4 four = *(local const float4*)(line + ROW_OF(y, r));
    numbers[r] = four.s0, numbers[r + 1] = four.s1, numbers[r + 2] = four.s2, numbers[r + 3] = four.s3;
  }
}

// Adds the products of DEPTH elements.
GROUP_FUNCTION void multiply_lines(float logits[EACH_M][EACH_N], local const float* rows, local const float* keys_here, uint y, uint x) {
#pragma unroll UNROLL
  for (uint p = 0; p < DEPTH; ++p) {
    float left[EACH_M];
    read_rows(left, rows + p * ROW_STRIDE, y);
    const float4 four = *(local const float4*)(keys_here + p * KEY_STRIDE + x * EACH_N);
    UNROLLED
    for (uint r = 0; r < EACH_M; ++r) {
      logits[r][0] += left[r] * four.s0, logits[r][1] += left[r] * four.s1;
      logits[r][2] += left[r] * four.s2, logits[r][3] += left[r] * four.s3;
    }
  }
}

// Adds the products of weights and V_DEPTH values.
GROUP_FUNCTION void multiply_values(float sums[EACH_M][COLS], local const float* weights, local const float* values, uint y, uint x) {
#pragma unroll UNROLL
  for (uint j = 0; j < V_DEPTH; ++j) {
    float left[EACH_M];
    read_rows(left, weights + j * ROW_STRIDE, y);
    UNROLLED
    for (uint c = 0; c < COLS; c += V_PACK) {
#if V_PACK == 4
      const float4 v = *(local const float4*)(values + j * V_WIDTH + COL_OF(x, c));
#else
      const float2 v = *(local const float2*)(values + j * V_WIDTH + COL_OF(x, c));
#endif
      UNROLLED
      for (uint r = 0; r < EACH_M; ++r) {
        sums[r][c] += left[r] * v.s0, sums[r][c + 1] += left[r] * v.s1;
#if V_PACK == 4
        sums[r][c + 2] += left[r] * v.s2, sums[r][c + 3] += left[r] * v.s3;
#endif
      }
    }
  }
}

// Loads V_DEPTH values, of keys from `first` on; zeros where the tile, of `keys_here` keys from t on, has none.
GROUP_FUNCTION void fetch_values(packed_vector* packs, const attention_arguments* a, const place* at, int t, uint first, uint keys_here,
                                 uint item) {
  UNROLLED
  for (uint s = 0; s < V_STEPS; ++s) {
    const uint n = item + s * GROUP, j = first + n / (V_WIDTH / PACK), c = n % (V_WIDTH / PACK) * PACK;
    const bool inside = n < V_CHUNK / PACK && j < keys_here && c < VALUE_SIZE;
    packs[s] = load_or_zero(a->v, key_place(a, at, t + min(j, keys_here - 1), &a->of_v) + c, inside);
  }
}
// Stores them to local memory.
GROUP_FUNCTION void put_values(local float* to, const packed_vector* packs, uint item) {
  UNROLLED
  for (uint s = 0; s < V_STEPS; ++s) {
    const uint n = item + s * GROUP;
    if (V_CHUNK / PACK % GROUP == 0 || n < V_CHUNK / PACK) *(local packed_vector*)(to + n * PACK) = packs[s];
  }
}

// logits = queries x keys, of the tile that begins with key t. DEPTH elements are in local memory while the next ones are on their way.
// A collective function: it has barriers. `q_places`: where the rows of the work-item's packs begin.
GROUP_FUNCTION void make_products(float logits[EACH_M][EACH_N], local float* chunks, const attention_arguments* a, const place* at,
                                  const ulong* q_places, int t, uint keys_here, uint item) {
  const uint y = item / ACROSS, x = item % ACROSS;
  packed_vector q_packs[Q_STEPS], k_packs[K_STEPS];
  ulong k_places[K_STEPS];
  UNROLLED
  for (uint s = 0; s < K_STEPS; ++s) {
    const uint j = t + min((item + s * GROUP) / (DEPTH / PACK), keys_here - 1);
    k_places[s] = key_place(a, at, j, &a->of_k);
  }
  UNROLLED
  for (uint r = 0; r < EACH_M; ++r)
    UNROLLED
    for (uint s = 0; s < EACH_N; ++s) logits[r][s] = 0;
  fetch_lines(q_packs, Q_STEPS, TILE_M, a->q, q_places, 0, at->rows, item);
  fetch_lines(k_packs, K_STEPS, TILE_N, a->k, k_places, 0, keys_here, item);
  barrier(CLK_LOCAL_MEM_FENCE);  // the values of the tile before were read
  put_lines(chunks, q_packs, Q_STEPS, TILE_M, ROW_STRIDE, item);
  put_lines(chunks + DEPTH * ROW_STRIDE, k_packs, K_STEPS, TILE_N, KEY_STRIDE, item);
  for (uint depth = 0, turn = 0; depth < HEAD_SIZE; depth += DEPTH, turn ^= 1) {
    barrier(CLK_LOCAL_MEM_FENCE);
    fetch_lines(q_packs, Q_STEPS, TILE_M, a->q, q_places, depth + DEPTH, at->rows, item);
    fetch_lines(k_packs, K_STEPS, TILE_N, a->k, k_places, depth + DEPTH, keys_here, item);
    local const float* const chunk = chunks + turn * CHUNK;
    multiply_lines(logits, chunk, chunk + DEPTH * ROW_STRIDE, y, x);
    local float* const next = chunks + (turn ^ 1) * CHUNK;
    put_lines(next, q_packs, Q_STEPS, TILE_M, ROW_STRIDE, item);
    put_lines(next + DEPTH * ROW_STRIDE, k_packs, K_STEPS, TILE_N, KEY_STRIDE, item);
  }
}

// Products become logits. The largest ones of the work-item's rows go to `exchanged`, the numbers of these rows in local memory.
GROUP_FUNCTION void make_logits(float logits[EACH_M][EACH_N], local float* exchanged, const attention_arguments* a, const place* at,
                                const int* own, int t, uint y, uint x) {
  UNROLLED
  for (uint r = 0; r < EACH_M; ++r) {
    logit_row row;
    logit_row_of(&row, a, at, row_or_last(at, ROW_OF(y, r)), own[r]);
    float most = -INFINITY;
    UNROLLED
    for (uint s = 0; s < EACH_N; ++s) {
      const int j = t + x * EACH_N + s;
      // Computed in either case, of key 0 where it is hidden: PoCL 6 compiles a branch here into wrong results.
      const bool hidden = is_hidden(&row, j, a);
      const float logit = logit_of(logits[r][s], hidden ? 0 : j, &row, a);
      logits[r][s] = hidden ? -INFINITY : logit;
      most = fmax(most, logits[r][s]);
    }
    exchanged[ROW_OF(0, r) * LARGEST_STRIDE + x] = most;
  }
}

// The online softmax: logits become weights, also in local memory, and sums are scaled where a row's largest logit, of all in `exchanged`,
// is a new one.
GROUP_FUNCTION void update_softmax(float logits[EACH_M][EACH_N], float sums[EACH_M][COLS], float* largest, float* total,
                                   local float* weights, local const float* exchanged, uint y, uint x) {
  UNROLLED
  for (uint r = 0; r < EACH_M; ++r) {
    const float before = largest[r];
    UNROLLED
    for (uint i = 0; i < ACROSS; i += 4) {
      const float4 four = *(local const float4*)(exchanged + ROW_OF(0, r) * LARGEST_STRIDE + i);
      largest[r] = fmax(largest[r], fmax(fmax(four.s0, four.s1), fmax(four.s2, four.s3)));
    }
    const float shift = shift_of(largest[r]), factor = exp2(before - shift);
    total[r] *= factor;
    UNROLLED
    for (uint c = 0; c < COLS; ++c) sums[r][c] *= factor;
    UNROLLED
    for (uint s = 0; s < EACH_N; ++s) {
      logits[r][s] = exp2(logits[r][s] - shift);
      total[r] += logits[r][s];
    }
  }
  UNROLLED
  for (uint s = 0; s < EACH_N; ++s)
    UNROLLED
    for (uint r = 0; r < EACH_M; r += 4)
      *(local float4*)(weights + (x * EACH_N + s) * ROW_STRIDE + ROW_OF(y, r)) =
          (float4)(logits[r][s], logits[r + 1][s], logits[r + 2][s], logits[r + 3][s]);
}

// sums += weights x values, of the tile that begins with key t. A collective function: it has barriers.
GROUP_FUNCTION void accumulate_values(float sums[EACH_M][COLS], local float* chunks, local const float* weights,
                                      const attention_arguments* a, const place* at, int t, uint keys_here, uint item) {
  packed_vector packs[V_STEPS];
  fetch_values(packs, a, at, t, 0, keys_here, item);
  for (uint first = 0, turn = 0; first < TILE_N; first += V_DEPTH, turn ^= 1) {
    local float* const chunk = chunks + turn * CHUNK;
    put_values(chunk, packs, item);
    barrier(CLK_LOCAL_MEM_FENCE);
    fetch_values(packs, a, at, t, first + V_DEPTH, keys_here, item);
    multiply_values(sums, weights + first * ROW_STRIDE, chunk, item / ACROSS, item % ACROSS);
  }
}

// Writes the results of the work-item's rows. `totals`: in local memory, the parts of their sums of weights.
GROUP_FUNCTION void store_rows(const attention_arguments* a, const place* at, float sums[EACH_M][COLS], const float* largest,
                               local const float* totals, uint y, uint x) {
  UNROLLED
  for (uint r = 0; r < EACH_M; ++r) {
    const uint row = at->row + ROW_OF(y, r);
    if (row >= at->row + at->rows) continue;
    float sum = first_sum(first_largest(a, at, row), largest[r]);
    UNROLLED
    for (uint i = 0; i < ACROSS; i += 4) {
      const float4 four = *(local const float4*)(totals + ROW_OF(0, r) * LARGEST_STRIDE + i);
      sum += four.s0, sum += four.s1, sum += four.s2, sum += four.s3;
    }
    const float share = share_of(sum);
    global RESULT* const to = a->out + row_place(a, at, row, &a->of_out);
    UNROLLED
    for (uint c = 0; c < COLS; ++c)
      if (COL_OF(x, c) < VALUE_SIZE) store_result(to, COL_OF(x, c), sums[r][c] * share);
    if (LSE && x == 0) a->lse[lse_place(a, at, row)] = lse_of(largest[r], sum);
  }
}

kernel SUB_GROUP_SIZE __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void attention_tiled(ATTENTION_ARGUMENTS) {
  local float chunks[2 * CHUNK] __attribute__((aligned(16)));
  local float weights[TILE_N * ROW_STRIDE] __attribute__((aligned(16)));
  local float exchanged[TILE_M * LARGEST_STRIDE] __attribute__((aligned(16)));
  const attention_arguments a = ATTENTION_ALL_ARGUMENTS;
  place at;
  place_of_tile(&at, &a, (uint)get_group_id(0), TILE_M);
  const uint item = get_local_id(0), y = item / ACROSS, x = item % ACROSS;
  local float* const mine = exchanged + ROW_OF(y, 0) * LARGEST_STRIDE;  // numbers of the work-item's rows

  ulong q_places[Q_STEPS];
  UNROLLED
  for (uint s = 0; s < Q_STEPS; ++s) q_places[s] = row_place(&a, &at, row_or_last(&at, (item + s * GROUP) / (DEPTH / PACK)), &a.of_q);
  float logits[EACH_M][EACH_N], sums[EACH_M][COLS], largest[EACH_M], total[EACH_M];
  int own[EACH_M];
  UNROLLED
  for (uint r = 0; r < EACH_M; ++r) {
    const uint row = row_or_last(&at, ROW_OF(y, r));
    own[r] = own_key(&at, row / a.group);
    largest[r] = first_largest(&a, &at, row);
    total[r] = 0;
    UNROLLED
    for (uint c = 0; c < COLS; ++c) sums[r][c] = 0;
  }

  key_window seen;
  window_of_tile(&seen, &a, &at);
  for (int t = next_tile(-TILE_N, TILE_N, seen.first, a.sinks); t < seen.end; t = next_tile(t, TILE_N, seen.first, a.sinks)) {
    const uint keys_here = min(TILE_N, seen.end - t);
    make_products(logits, chunks, &a, &at, q_places, t, keys_here, item);
    make_logits(logits, mine, &a, &at, own, t, y, x);
    barrier(CLK_LOCAL_MEM_FENCE);
    update_softmax(logits, sums, largest, total, weights, mine, y, x);
    accumulate_values(sums, chunks, weights, &a, &at, t, keys_here, item);
  }

  barrier(CLK_LOCAL_MEM_FENCE);  // the largest logits were read
  UNROLLED
  for (uint r = 0; r < EACH_M; ++r) mine[ROW_OF(0, r) * LARGEST_STRIDE + x] = total[r];
  barrier(CLK_LOCAL_MEM_FENCE);
  store_rows(&a, &at, sums, largest, mine, y, x);
}
