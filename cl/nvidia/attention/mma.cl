// Attention by the matrix units of NVIDIA's sm_80 and later, of half and bfloat16, with sums in float.
//
// A warp has MS * 16 rows. It multiplies their queries with a tile of TILE_N keys; the sums, a row's in four lanes, become logits, and with an
// online softmax weights, in registers. Their layout is the one in which the units want the left factor, so that weights, rounded to the type of
// the values, are multiplied with these at once. cp.async copies the tile's values while its logits are made, and the keys of the next tile while
// values are multiplied. Tiles that no row of the group sees are left out.
// T. Dao, "FlashAttention-2: Faster attention with better parallelism and work partitioning", 2023.
//
// Launch: 32 * WARPS work-items a group, a group for each tile of rows. Local memory: TILE_M * Q_PITCH + TILE_N * (Q_PITCH + V_PITCH) bytes. All
// vectors of q, k and v begin at multiples of 16 bytes.
#ifndef WARPS
#define WARPS 4  // of a group: 4, 8
#endif
#ifndef MS
#define MS 2  // sixteens of rows of a warp: 1, 2
#endif
#ifndef TILE_N
#define TILE_N 64  // keys of a tile: 32, 64, 128
#endif
#ifndef Q_REGISTERS
#define Q_REGISTERS 0  // 1: a warp keeps its queries in registers
#endif
#ifndef OUT_VECTOR
#define OUT_VECTOR 1  // results of a store: 8 of two bytes, or 2, if all rows of the results begin at multiples of as many, else 1
#endif
#define TILE_M (WARPS * MS * 16)
#define GROUP (32 * WARPS)
#define COPIERS GROUP

#include "nvidia/attention/rows.clh"
#include "nvidia/attention/tile.clh"
#include "nvidia/mma.clh"

#define KS (Q_PIECES / 2)  // steps of 16 elements of queries and keys
#define NS (TILE_N / 8)    // eights of keys
#define VS V_PIECES        // eights of columns of values

// Starts the copies of the queries of the group's tile.
INLINED void copy_queries(uint q_tile, const attention_arguments* a, const place* at, uint item) {
#pragma unroll 1
  for (uint i = 0; i < (TILE_M * Q_PIECES + GROUP - 1) / GROUP; ++i) {
    const uint n = item + i * GROUP, r = n / Q_PIECES, piece = n % Q_PIECES, row = row_or_last(at, r);
    if (TILE_M * Q_PIECES % GROUP == 0 || n < TILE_M * Q_PIECES)
      copy_piece(q_tile + piece_place(r, piece, Q_PITCH), (ulong)(a->q + row_place(a, at, row, &a->of_q)), piece, HEAD_SIZE, r < at->rows);
  }
}
INLINED void copy_keys(uint k_tile, const attention_arguments* a, const place* at, int t, uint item) {
  copy_tile(k_tile, a, at, a->k, &a->of_k, t, Q_PIECES, HEAD_SIZE, Q_PITCH, item);
}
INLINED void copy_values(uint v_tile, const attention_arguments* a, const place* at, int t, uint item) {
  copy_tile(v_tile, a, at, a->v, &a->of_v, t, V_PIECES, VALUE_SIZE, V_PITCH, item);
}

// Reads step x of the queries of a warp's rows from `row` on.
static inline void read_queries(uint words[4], uint q_tile, uint row, uint x, uint lane) {
  load_matrices(words, q_tile + piece_place(row + lane % 16, x * 2 + lane / 16, Q_PITCH));
}

// logits = queries x keys. `kept`: the queries, with Q_REGISTERS.
INLINED void multiply_keys(float logits[MS][NS][4], UNUSED uint kept[MS][KS][4], UNUSED uint q_tile, uint k_tile, UNUSED uint warp_row,
                           uint lane) {
  UNROLLED
  for (uint m = 0; m < MS; ++m)
    UNROLLED
    for (uint n = 0; n < NS * 4; ++n) logits[m][n / 4][n % 4] = 0;
  UNROLLED
  for (uint x = 0; x < KS; ++x) {
    uint left_words[MS][4];
    UNROLLED
    for (uint m = 0; m < MS; ++m) {
#if Q_REGISTERS
      UNROLLED
      for (uint i = 0; i < 4; ++i) left_words[m][i] = kept[m][x][i];
#else
      read_queries(left_words[m], q_tile, warp_row + m * 16, x, lane);
#endif
    }
    UNROLLED
    for (uint n = 0; n < NS; n += 2) {
      uint two[4];
      load_matrices(two, k_tile + piece_place(n * 8 + lane / 16 * 8 + lane % 8, x * 2 + lane / 8 % 2, Q_PITCH));
      UNROLLED
      for (uint m = 0; m < MS; ++m) {
        multiply_add(logits[m][n], left_words[m], two);
        multiply_add(logits[m][n + 1], left_words[m], two + 2);
      }
    }
  }
}

// sums += weights x values.
INLINED void accumulate_values(float sums[MS][VS][4], float weights[MS][NS][4], uint v_tile, uint lane) {
  UNROLLED
  for (uint x = 0; x < NS / 2; ++x) {
    uint left_words[MS][4];
    UNROLLED
    for (uint m = 0; m < MS; ++m)
      UNROLLED
      for (uint i = 0; i < 4; ++i)
        left_words[m][i] = word_of(weights[m][x * 2 + i / 2][i % 2 * 2], weights[m][x * 2 + i / 2][i % 2 * 2 + 1]);
    UNROLLED
    for (uint n = 0; n < VS; n += 2) {
      uint two[4];
      load_matrices_transposed(two, v_tile + piece_place(x * 16 + lane % 16, n + lane / 16, V_PITCH));
      UNROLLED
      for (uint m = 0; m < MS; ++m) {
        multiply_add(sums[m][n], left_words[m], two);
        multiply_add(sums[m][n + 1], left_words[m], two + 2);
      }
    }
  }
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void attention_mma(ATTENTION_ARGUMENTS) {
  local uchar vectors[TILE_M * Q_PITCH + TILE_N * (Q_PITCH + V_PITCH)] __attribute__((aligned(1024)));
  const attention_arguments a = ATTENTION_ALL_ARGUMENTS;
  const uint item = get_local_id(0), lane = item % 32, warp_row = item / 32 * (MS * 16);
  const uint q_tile = local_address(vectors), k_tile = q_tile + TILE_M * Q_PITCH, v_tile = k_tile + TILE_N * Q_PITCH;
  place at;
  place_of_tile(&at, &a, (uint)get_group_id(0), TILE_M);
  key_window seen;
  window_of_tile(&seen, &a, &at);
  int t = next_tile(-TILE_N, TILE_N, seen.first, a.sinks);
  if (t < seen.end) {
    copy_queries(q_tile, &a, &at, item);
    copy_keys(k_tile, &a, &at, t, item);
  }
  end_copies();

  // Row h of sixteen m is row m * 16 + h * 8 + lane / 4 of the warp.
  float sums[MS][VS][4];
  softmax_rows rows[MS];
  UNROLLED
  for (uint m = 0; m < MS; ++m) {
    begin_rows(&rows[m], warp_row + m * 16 + lane / 4, &a, &at);
    UNROLLED
    for (uint n = 0; n < VS * 4; ++n) sums[m][n / 4][n % 4] = 0;
  }
  uint queries_kept[MS][KS][4];
#if Q_REGISTERS
  WAIT_COPIES(0);
  barrier(CLK_LOCAL_MEM_FENCE);
  UNROLLED
  for (uint m = 0; m < MS; ++m)
    UNROLLED
    for (uint x = 0; x < KS; ++x) read_queries(queries_kept[m][x], q_tile, warp_row + m * 16, x, lane);
#endif

#pragma unroll 1
  while (t < seen.end) {
    WAIT_COPIES(0);
    barrier(CLK_LOCAL_MEM_FENCE);  // the tile's keys are there, and the values of the tile before were read
    copy_values(v_tile, &a, &at, t, item);
    end_copies();
    float logits[MS][NS][4];
    multiply_keys(logits, queries_kept, q_tile, k_tile, warp_row, lane);

    const int tile = t;
    t = next_tile(t, TILE_N, seen.first, a.sinks);
    WAIT_COPIES(0);
    barrier(CLK_LOCAL_MEM_FENCE);  // the tile's values are there, and its keys were read
    if (t < seen.end) copy_keys(k_tile, &a, &at, t, item);
    end_copies();
    UNROLLED
    for (uint m = 0; m < MS; ++m) {
      float factors[2];
      update_softmax(&rows[m], &logits[m][0][0], factors, warp_row + m * 16 + lane / 4, tile, &seen, &a, &at, lane);
      UNROLLED
      for (uint n = 0; n < VS * 4; ++n) sums[m][n / 4][n % 4] *= factors[n / 2 % 2];
    }
    accumulate_values(sums, logits, v_tile, lane);
  }
  WAIT_COPIES(0);

  UNROLLED
  for (uint m = 0; m < MS; ++m) {
    float shares[2];
    finish_rows(&rows[m], shares, warp_row + m * 16 + lane / 4, &a, &at, lane);
    store_rows(&sums[m][0][0], shares, warp_row + m * 16 + lane / 4, &a, &at, lane);
  }
}
