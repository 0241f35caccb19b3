// Attention by Hopper's matrix units, of half and bfloat16, with sums in float, warp-specialised: one warpgroup copies, CONSUMERS multiply.
//
// A consumer has 64 rows. Its queries lie in local memory for all of the kernel; tiles of TILE_N keys, and of their values, come through a
// pipeline (nvidia/pipeline.clh) in the order in which they are multiplied. The units multiply the keys of a tile while they multiply the
// weights of the tile before with its values; the softmax of the new logits runs beside the latter. Weights go from the softmax to
// the units in registers: the accumulators' layout is that of a left factor (nvidia/attention/tile.clh).
// J. Shah et al., "FlashAttention-3: Fast and accurate attention with asynchrony and low-precision", 2024.
//
// Launch: 128 * (1 + CONSUMERS) work-items a group, a group for each tile of 64 * CONSUMERS rows, or any number of groups with TURNS. Local memory: Q_BYTES + STAGES *
// STAGE_BYTES, and the barriers. All vectors of q, k and v begin at multiples of 16 bytes. For sm_90a: see nvidia/wgmma.clh.
#ifndef CONSUMERS
#define CONSUMERS 2  // warpgroups that multiply
#endif
#ifndef TILE_N
#define TILE_N 128  // keys of a tile: 64, 128
#endif
#ifndef STAGES
#define STAGES 4  // of the pipeline: tiles of keys or values
#endif
#ifndef PRODUCER_REGISTERS
#define PRODUCER_REGISTERS 40  // a multiple of 8
#endif
#ifndef CONSUMER_REGISTERS
#define CONSUMER_REGISTERS 232
#endif
#ifndef OUT_VECTOR
#define OUT_VECTOR 1  // results of a store: 2 if all rows of the results begin at multiples of two, else 1
#endif
#ifndef TURNS
#define TURNS 0  // 1: groups take turns at tiles, so that the copies of the next one begin early; 0: a group has a tile
#endif
#define TILE_M (64 * CONSUMERS)
#define GROUP (128 * (1 + CONSUMERS))
#define COPIERS 128

// Of a tile of `rows` rows.
static inline uint tile_place(uint row, uint piece, const uint rows) { return (piece / 8 * rows + row) * 128 + (piece ^ row) % 8 * 16; }

#include "nvidia/attention/tile.clh"
#include "nvidia/mbarrier.clh"

// Tiles have the layouts of nvidia/wgmma.clh: blocks of 64 elements, 128 bytes a row. Rows of queries and keys are K-major, those of values
// MN-major. Zeros fill up the last 16 elements of queries and keys, and the last block of values.
#define Q_PIECES ((HEAD_SIZE + 15) / 16 * 2)
#define Q_BLOCKS ((HEAD_SIZE + 63) / 64)
#define V_BLOCKS ((VALUE_SIZE + 63) / 64)
#define V_PIECES (V_BLOCKS * 8)
#define Q_BYTES (Q_BLOCKS * TILE_M * 128)
#define STAGE_BYTES ((Q_BLOCKS > V_BLOCKS ? Q_BLOCKS : V_BLOCKS) * TILE_N * 128)
#if V_BLOCKS == 1
#define V_COLUMNS 64
#elif V_BLOCKS == 2
#define V_COLUMNS 128
#elif V_BLOCKS == 3
#define V_COLUMNS 192
#else
#define V_COLUMNS 256
#endif
#include "nvidia/pipeline.clh"
#include "nvidia/wgmma.clh"

// products = queries x keys: a step of 16 elements. `more`: added to what they are.
INLINED void multiply_keys(float products[TILE_N / 2], ulong queries, ulong keys, int more) {
  __asm__ volatile("//@{ .reg .pred p; setp.ne.s32 p, " WGMMA_OF(WGMMA_THIRD_, TILE_N) ", 0; wgmma.mma_async.sync.aligned.m64n" WGMMA_OF(
                       WGMMA_NAME_, TILE_N) WGMMA_TYPES " " WGMMA_OF(WGMMA_LIST_, TILE_N) WGMMA_OF(WGMMA_TWO_, TILE_N) ", p, 1, 1, 0, 0; }"
                   : WGMMA_OF(WGMMA_SUMS_, TILE_N)(products)
                   : "l"(queries), "l"(keys), "r"(more)
                   : "memory");
}

// sums += weights x values: a step of 16 keys.
INLINED void multiply_values(float sums[V_COLUMNS / 2], const uint weights[4], ulong values) {
  __asm__ volatile("//@{ .reg .pred p; setp.eq.b32 p, 0, 0; wgmma.mma_async.sync.aligned.m64n" WGMMA_OF(
                       WGMMA_NAME_, V_COLUMNS) WGMMA_TYPES " " WGMMA_OF(WGMMA_LIST_, V_COLUMNS) WGMMA_OF(WGMMA_FIVE_, V_COLUMNS) ", p, 1, 1, 1; }"
                   : WGMMA_OF(WGMMA_SUMS_, V_COLUMNS)(sums)
                   : "r"(weights[0]), "r"(weights[1]), "r"(weights[2]), "r"(weights[3]), "l"(values)
                   : "memory");
}

// Starts the products of a warpgroup's queries with the keys of the current stage.
INLINED void start_keys(float products[TILE_N / 2], uint queries, const pipeline* p) {
  const ulong of_q = tile_descriptor(queries, 0, 1024), of_k = tile_descriptor(stage_address(p), 0, 1024);
  consumer_wait(p);
  begin_wgmma();
  UNROLLED
  for (uint x = 0; x < Q_PIECES / 2; ++x)
    multiply_keys(products, of_q + (x / 4 * TILE_M * 128 + x % 4 * 32) / 16, of_k + (x / 4 * TILE_N * 128 + x % 4 * 32) / 16, x > 0);
  end_wgmma();
}

// Starts the products of weights with the values of the current stage.
INLINED void start_values(float sums[V_COLUMNS / 2], const uint weights[TILE_N / 4], const pipeline* p) {
  const ulong of_v = tile_descriptor(stage_address(p), TILE_N * 128, 1024);
  consumer_wait(p);
  begin_wgmma();
  UNROLLED
  for (uint x = 0; x < TILE_N / 16; ++x) multiply_values(sums, weights + x * 4, of_v + x * 2048 / 16);
  end_wgmma();
}

// Commits a stage when the copies of the one behind it are under way.
INLINED void commit_last(const pipeline* p, int* last) {
  end_copies();
  if (*last >= 0) {
    WAIT_COPIES(1);
    fence_async();
    producer_commit(p, *last);
  }
  *last = p->stage;
}

// The tile that the group has in a step, of `all`, and whether it has one.
static inline uint tile_of_step(uint step) { return (uint)get_group_id(0) + (TURNS ? step * (uint)get_num_groups(0) : 0); }
static inline bool has_tile(uint step, UNUSED uint all) { return TURNS ? tile_of_step(step) < all : step == 0; }

// A tile of rows, and the keys that they see.
typedef struct {
  place at;
  int all_first, all_end, open_end;
} seen_tile;
INLINED seen_tile find_tile(const attention_arguments* restrict a, uint step) {
  seen_tile tile;
  tile.at = place_of_tile(a, tile_of_step(step), TILE_M);
  const place* const at = &tile.at;
  const int least_own = own_key(at, at->row / a->group);
  tile.all_end = at->rows == 0 ? 0 : end_seen(own_key(at, (at->row + at->rows - 1) / a->group), at->keys, a->right);
  tile.all_first = first_seen(least_own, a->left), tile.open_end = end_seen(least_own, at->keys, a->right);
  return tile;
}
static inline int first_key(const seen_tile* restrict tile, int sinks) { return next_tile(-TILE_N, TILE_N, tile->all_first, sinks); }

// Starts the copies of a consumer's queries to where it alone reads them.
INLINED void start_queries(uint q_tile, const attention_arguments* restrict a, const seen_tile* restrict tile, uint consumer, uint item) {
  const place* const at = &tile->at;
  if (first_key(tile, a->sinks) < tile->all_end) {
#pragma unroll 1
    for (uint n = item % 128; n < 64 * Q_PIECES; n += 128) {
      const uint r = consumer * 64 + n / Q_PIECES, piece = n % Q_PIECES, row = at->row + min(r, at->rows - 1);
      copy_piece(q_tile + tile_place(r, piece, TILE_M), (ulong)(a->q + row_place(a, &a->of_q, at, row)), piece, HEAD_SIZE, r < at->rows);
    }
  }
  end_copies();
}
INLINED void warpgroup_barrier(uint consumer) { __asm__ volatile("bar.sync %0, 128;" ::"r"(consumer + 1) : "memory"); }

// The producer: copies the keys and values of all tiles of the group to the stages of the pipeline.
INLINED void produce(pipeline* p, const attention_arguments* restrict a, uint all_tiles, uint item) {
  int last = -1;  // the stage that is not committed
#pragma unroll 1
  for (uint step = 0; has_tile(step, all_tiles); ++step) {
    const seen_tile tile = find_tile(a, step);
    int before = -1;  // the tile whose values come next
#pragma unroll 1
    for (int t = first_key(&tile, a->sinks); t < tile.all_end || before >= 0; t = next_tile(t, TILE_N, tile.all_first, a->sinks)) {
      if (t < tile.all_end) {
        producer_acquire(p);
        copy_tile(stage_address(p), TILE_N, a, &tile.at, a->k, &a->of_k, t, Q_PIECES, HEAD_SIZE, item);
        commit_last(p, &last);
        advance(p);
      }
      if (before >= 0) {
        producer_acquire(p);
        copy_tile(stage_address(p), TILE_N, a, &tile.at, a->v, &a->of_v, before, V_PIECES, VALUE_SIZE, item);
        commit_last(p, &last);
        advance(p);
      }
      before = t < tile.all_end ? t : -1;
    }
  }
  if (last >= 0) {
    WAIT_COPIES(0);
    fence_async();
    producer_commit(p, last);
  }
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void attention_wgmma(ATTENTION_ARGUMENTS) {
  const attention_arguments a = ATTENTION_ALL_ARGUMENTS;
  local uchar vectors[Q_BYTES + STAGES * STAGE_BYTES] __attribute__((aligned(1024)));
  local ulong barriers[2 * STAGES];
  pipeline p = begin_pipeline(vectors + Q_BYTES, barriers);
  if (get_local_id(0) == 0) init_pipeline(&p, COPIERS, 4 * CONSUMERS);
  barrier(CLK_LOCAL_MEM_FENCE);

  UNUSED const uint all_tiles = tiles * kv_heads * (RAGGED ? 1 : sequences);
  if (get_local_id(0) < COPIERS) {
    FEWER_REGISTERS(PRODUCER_REGISTERS);
    produce(&p, &a, all_tiles, get_local_id(0));
    return;
  }

  MORE_REGISTERS(CONSUMER_REGISTERS);
  const uint item = get_local_id(0) - COPIERS, consumer = item / 128, lane = item % 32, first_row = item / 32 * 16 + lane / 4;
  const uint q_tile = local_address(vectors), own_queries = q_tile + consumer * 8192;
  if (has_tile(0, all_tiles)) {
    const seen_tile first = find_tile(&a, 0);
    start_queries(q_tile, &a, &first, consumer, item);
  }
#pragma unroll 1
  for (uint step = 0; has_tile(step, all_tiles); ++step) {
    const seen_tile tile = find_tile(&a, step);
    const place at = tile.at;
    const int all_end = tile.all_end, all_first = tile.all_first, open_end = tile.open_end;
    int t = first_key(&tile, sinks);
    const bool has_keys = t < all_end;
    WAIT_COPIES(0);
    fence_async();
    warpgroup_barrier(consumer);

    float sums[V_COLUMNS / 2], products[TILE_N / 2], largest[2], total[2] = {0, 0}, factors[2];
    uint weights[TILE_N / 4];
    int own[2];
    UNROLLED
    for (uint h = 0; h < 2; ++h) {
      const uint row = at.row + min(first_row + h * 8, at.rows - 1);
      own[h] = own_key(&at, row / group);
      largest[h] = first_largest(&a, &at, row);
    }
    UNROLLED
    for (uint n = 0; n < V_COLUMNS / 2; ++n) sums[n] = 0;

#pragma unroll 1
    for (int before = -1; t < all_end; before = t, t = next_tile(t, TILE_N, all_first, sinks)) {
      start_keys(products, own_queries, &p);
      const uint of_keys = p.stage;
      advance(&p);
      uint of_values = 0;
      if (before >= 0) {
        start_values(sums, weights, &p);
        of_values = p.stage;
        advance(&p);
        WAIT_WGMMA(1);
      } else {
        WAIT_WGMMA(0);
      }
      HOLD_SUMS(products, TILE_N);
      if (lane == 0) consumer_release(&p, of_keys);

      const bool has_hidden = LEFT_LIMIT || t + TILE_N > open_end;
      UNROLLED
      for (uint h = 0; h < 2; ++h) {
        const uint row = at.row + min(first_row + h * 8, at.rows - 1);
        make_logits(products, h, t, lane, has_hidden, own[h], row, &a, &at);
        factors[h] = make_weights(products, h, lane, scale, &largest[h], &total[h]);
      }
      WAIT_WGMMA(0);
      HOLD_SUMS(sums, V_COLUMNS);
      if (before >= 0 && lane == 0) consumer_release(&p, of_values);
      UNROLLED
      for (uint n = 0; n < V_COLUMNS / 2; ++n) sums[n] *= factors[n / 2 % 2];
      UNROLLED
      for (uint i = 0; i < TILE_N / 4; ++i) weights[i] = word_of(products[i * 2], products[i * 2 + 1]);
    }
    // All products of the queries are made: those of the next tile may take their places.
    if (TURNS && has_tile(step + 1, all_tiles)) {
      const seen_tile next = find_tile(&a, step + 1);
      warpgroup_barrier(consumer);
      start_queries(q_tile, &a, &next, consumer, item);
    }
    if (has_keys) {
      start_values(sums, weights, &p);
      const uint of_values = p.stage;
      advance(&p);
      WAIT_WGMMA(0);
      HOLD_SUMS(sums, V_COLUMNS);
      if (lane == 0) consumer_release(&p, of_values);
    }

    UNROLLED
    for (uint h = 0; h < 2; ++h) {
      total[h] = sum_of_quad(total[h], lane);
      const uint r = first_row + h * 8, row = at.row + r;
      if (r >= at.rows) continue;
      const float sum = total[h] + first_sum(first_largest(&a, &at, row), largest[h]);
      store_row(out + row_place(&a, &a.of_out, &at, row), sums, h, lane, share_of(sum));
      if (LSE && lane % 4 == 0) lse[lse_place(&a, &at, row)] = lse_of(largest[h], sum);
    }
  }
}
