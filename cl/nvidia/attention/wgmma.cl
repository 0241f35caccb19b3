// Attention by Hopper's matrix units, of half and bfloat16, with sums in float, warp-specialised: one warpgroup copies, CONSUMERS multiply.
//
// A consumer has 64 rows. Its queries lie in local memory for all of the kernel; tiles of TILE_N keys, and of their values, come through a
// pipeline (nvidia/pipeline.clh) in the order in which they are multiplied. The units multiply the keys of a tile while they multiply the
// weights of the tile before with its values; the softmax of the new logits runs beside the latter. Weights go from the softmax to
// the units in registers: the accumulators' layout is that of a left factor (nvidia/attention/tile.clh).
// J. Shah et al., "FlashAttention-3: Fast and accurate attention with asynchrony and low-precision", 2024.
//
// Launch: 128 * (1 + CONSUMERS) work-items a group, a group for each tile of 64 * CONSUMERS rows, or any number of groups with TURNS, where
// each tile has keys. Local memory: Q_TILES * Q_BYTES + STAGES * STAGE_BYTES, and the barriers. All vectors of q, k and v begin at multiples
// of 16 bytes. For sm_90a: see nvidia/wgmma.clh.
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
#define OUT_VECTOR 1  // results of a store: 8 of two bytes, or 2, if all rows of the results begin at multiples of as many, else 1
#endif
#ifndef TURNS
#define TURNS 0  // 1: groups take turns at tiles, and begin the next one's products beside this one's last ones; 0: a group has a tile
#endif
#define TILE_M (64 * CONSUMERS)
#define GROUP (128 * (1 + CONSUMERS))
#define COPIERS 128

#include "nvidia/attention/tile.clh"
#include "nvidia/mbarrier.clh"

// Tiles have the layouts of nvidia/wgmma.clh: blocks of 64 elements, 128 bytes a row. Rows of queries and keys are K-major, those of values
// MN-major. Zeros fill up the last 16 elements of queries and keys, and the last block of values.
#define Q_PIECES ((HEAD_SIZE + 15) / 16 * 2)
#define Q_BLOCKS ((HEAD_SIZE + 63) / 64)
#define V_BLOCKS ((VALUE_SIZE + 63) / 64)
#define V_PIECES (V_BLOCKS * 8)
#define Q_BYTES (Q_BLOCKS * TILE_M * 128)
#define Q_TILES (1 + TURNS)  // the next one's queries come while this one's are multiplied
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

static inline uint block_place(uint row, uint piece, const uint rows) { return (piece / 8 * rows + row) * 128 + (piece ^ row) % 8 * 16; }
#define KEY_PIECE(row, piece) block_place(row, piece, TILE_N)

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

// Hides from the compiler what a number is, so that what is made of it is made again instead of kept in registers.
static inline uint hidden(uint number) {
  __asm__ volatile("" : "+r"(number));
  return number;
}

// The number of the tile that the group has in a step; NO_TILE: it has had all, EMPTY_STEP: it has none in this one.
#define NO_TILE 0xffffffffu
#define EMPTY_STEP 0xfffffffeu
#if TURNS
// Tiles of causal sequences are sorted, the longest first, in windows of a few heads. Groups go through a window from left to right and from right to
// left in turn, in an even number of steps: so they have as many keys as each other, and keys that are read at the same time are of few heads.
static inline uint tile_of_step(uint step, uint all, uint tiles) {
  const uint groups = hidden(get_num_groups(0)), group = get_group_id(0);
#if RIGHT_LIMIT
  const uint most = max(2 * groups / tiles, 1u), steps = (most * tiles + 2 * groups - 1) / (2 * groups) * 2;
  const uint window = step / steps, head = window * most;
  if (head >= all / tiles) return NO_TILE;
  const uint heads = min(most, all / tiles - head), place = step % steps * groups + (step % 2 ? groups - 1 - group : group);
  return place < heads * tiles ? (head + place % heads) * tiles + place / heads : EMPTY_STEP;
#else
  const uint place = step * groups + group;
  return place < all ? place : NO_TILE;
#endif
}
#else
static inline uint tile_of_step(uint step, UNUSED uint all, UNUSED uint tiles) { return step == 0 ? (uint)get_group_id(0) : NO_TILE; }
#endif

#if TURNS
#define EACH_TILE _Pragma("unroll 1") for (uint step = 0; tile_of_step(step, all_tiles, tiles) != NO_TILE; ++step)
#else
#define EACH_TILE for (uint step = 0; step < 1; ++step)
#endif

// A tile of rows, and the keys that they see.
typedef struct {
  place at;
  int all_first, all_end, open_end;
} seen_tile;
#define FIND_TILE(tile, number)                                                                                                 \
  {                                                                                                                             \
    (tile).at = PLACE_OF_TILE(number, TILE_M);                                                                                  \
    const place* const at = &(tile).at;                                                                                         \
    const int least_own = own_key(at, at->row / group);                                                                         \
    (tile).all_end = at->rows == 0 ? 0 : end_seen(own_key(at, (at->row + at->rows - 1) / group), at->keys, right);              \
    (tile).all_first = first_seen(least_own, left), (tile).open_end = end_seen(least_own, at->keys, right);                     \
  }
// Starts the copies of a warpgroup's queries to where it alone reads them.
#define START_QUERIES(tile, to)                                                                                                 \
  {                                                                                                                             \
    const place at = (tile).at;                                                                                                 \
    if (FIRST_KEY(tile) < (tile).all_end) {                                                                                     \
      _Pragma("unroll 1") for (uint n = item % 128; n < 64 * Q_PIECES; n += 128) {                                              \
        const uint r = consumer * 64 + n / Q_PIECES, piece = n % Q_PIECES, row = at.row + min(r, at.rows - 1);                  \
        copy_piece((to) + block_place(r, piece, TILE_M), (ulong)(q + ROW_PLACE(at, row, q)), piece, HEAD_SIZE, r < at.rows);    \
      }                                                                                                                         \
    }                                                                                                                           \
    end_copies();                                                                                                               \
  }
// The factors of a tile's sums, which are the last ones, and its log-sum-exp.
#define FINISH_TILE(tile)                                                                                                       \
  UNROLLED                                                                                                                      \
  for (uint h = 0; h < 2; ++h) {                                                                                                \
    const bool is_row = first_row + h * 8 < (tile).rows;                                                                        \
    const uint row = (tile).row + (is_row ? first_row + h * 8 : 0);                                                             \
    const float sum = sum_of_quad(total[h], lane) + first_sum(FIRST_LARGEST(tile, row), largest[h]);                            \
    if (LSE && is_row && lane % 4 == 0) lse[LSE_PLACE(tile, row)] = lse_of(largest[h], sum);                                    \
    shares[h] = share_of(sum);                                                                                                  \
  }
// Writes the results of a tile.
#define STORE_TILE(tile)                                                                                                        \
  UNROLLED                                                                                                                      \
  for (uint h = 0; h < 2; ++h) {                                                                                                \
    const bool is_row = first_row + h * 8 < (tile).rows;                                                                        \
    const uint row = (tile).row + (is_row ? first_row + h * 8 : 0);                                                             \
    store_row(out + ROW_PLACE(tile, row, out), sums, h, lane, shares[h], is_row);                                               \
  }
// Begins the statistics of a tile's rows.
#define BEGIN_TILE()                                                                                                            \
  UNROLLED                                                                                                                      \
  for (uint h = 0; h < 2; ++h) {                                                                                                \
    const uint row = tile.at.row + min(first_row + h * 8, tile.at.rows - 1);                                                    \
    own[h] = own_key(&tile.at, row / group);                                                                                    \
    largest[h] = FIRST_LARGEST(tile.at, row), total[h] = 0;                                                                     \
  }
// Products of the keys from t on become weights.
#define MAKE_WEIGHTS()                                                                                                          \
  {                                                                                                                             \
    const bool has_hidden = LEFT_LIMIT || t + TILE_N > tile.open_end;                                                           \
    UNROLLED                                                                                                                    \
    for (uint h = 0; h < 2; ++h) {                                                                                              \
      UNUSED const uint row = tile.at.row + min(first_row + h * 8, tile.at.rows - 1);                                           \
      make_logits(products, h, t, lane, has_hidden, own[h], &tile.at, left, right, sinks, scale, cap,                           \
                  SLOPES ? OF_HEAD(tile.at, row, slopes) : 0, BIAS ? bias + BIAS_PLACE(tile.at, row) : 0);                      \
      factors[h] = make_weights(products, h, lane, scale, &largest[h], &total[h]);                                              \
    }                                                                                                                           \
  }
#define KEEP_WEIGHTS()                                                                                                          \
  UNROLLED                                                                                                                      \
  for (uint i = 0; i < TILE_N / 4; ++i) weights[i] = word_of(products[i * 2], products[i * 2 + 1]);
// Waits for a warpgroup's queries. All products of those before are made, so others may take their places.
#define WAIT_QUERIES()                                                                                                          \
  WAIT_COPIES(0);                                                                                                               \
  fence_async();                                                                                                                \
  WARPGROUP_BARRIER();
// Starts the copies of the next tile's queries, to where those of the current one are not.
#define START_NEXT()                                                                                                            \
  {                                                                                                                             \
    uint next;                                                                                                                  \
    do next = tile_of_step(++step, all_tiles, tiles);                                                                           \
    while (next == EMPTY_STEP);                                                                                                 \
    if (next != NO_TILE) {                                                                                                      \
      seen_tile its_tile;                                                                                                       \
      FIND_TILE(its_tile, next)                                                                                                 \
      START_QUERIES(its_tile, 2 * q_tile + Q_BYTES - queries_at)                                                                \
    }                                                                                                                           \
  }
#define WARPGROUP_BARRIER() __asm__ volatile("bar.sync %0, 128;" ::"r"(consumer + 1) : "memory")
#define FIRST_KEY(tile) next_tile(-TILE_N, TILE_N, (tile).all_first, sinks)

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void attention_wgmma(ATTENTION_ARGUMENTS) {
  local uchar vectors[Q_TILES * Q_BYTES + STAGES * STAGE_BYTES] __attribute__((aligned(1024)));
  local ulong barriers[2 * STAGES];
  pipeline p = begin_pipeline(vectors + Q_TILES * Q_BYTES, barriers);
  if (get_local_id(0) == 0) init_pipeline(&p, COPIERS, 4 * CONSUMERS);
  barrier(CLK_LOCAL_MEM_FENCE);

  UNUSED const uint all_tiles = tiles * kv_heads * (RAGGED ? 1 : sequences);
  if (get_local_id(0) < COPIERS) {
    FEWER_REGISTERS(PRODUCER_REGISTERS);
    const uint item = get_local_id(0);
    int last = -1;  // the stage that is not committed
    EACH_TILE {
      const uint number = tile_of_step(step, all_tiles, tiles);
      if (number == EMPTY_STEP) continue;
      seen_tile tile;
      FIND_TILE(tile, number)
      const place at = tile.at;
      int before = -1;  // the tile whose values come next
#pragma unroll 1
      for (int t = FIRST_KEY(tile); t < tile.all_end || before >= 0; t = next_tile(t, TILE_N, tile.all_first, sinks)) {
        if (t < tile.all_end) {
          producer_acquire(&p);
          COPY_TILE(stage_address(&p), k, t, Q_PIECES, KEY_PIECE, HEAD_SIZE)
          commit_last(&p, &last);
          advance(&p);
        }
        if (before >= 0) {
          producer_acquire(&p);
          COPY_TILE(stage_address(&p), v, before, V_PIECES, KEY_PIECE, VALUE_SIZE)
          commit_last(&p, &last);
          advance(&p);
        }
        before = t < tile.all_end ? t : -1;
      }
    }
    if (last >= 0) {
      WAIT_COPIES(0);
      fence_async();
      producer_commit(&p, last);
    }
    return;
  }

  MORE_REGISTERS(CONSUMER_REGISTERS);
  const uint item = get_local_id(0) - COPIERS, consumer = item / 128, lane = item % 32, first_row = item / 32 * 16 + lane / 4;
  const uint q_tile = local_address(vectors);
  uint number = tile_of_step(0, all_tiles, tiles);
  if (number == NO_TILE) return;
  seen_tile tile;
  FIND_TILE(tile, number)
  START_QUERIES(tile, q_tile)
  WAIT_QUERIES()
  float sums[V_COLUMNS / 2], products[TILE_N / 2], largest[2], total[2], factors[2], shares[2];
  uint weights[TILE_N / 4];
  int own[2];
  BEGIN_TILE()
  UNROLLED
  for (uint n = 0; n < V_COLUMNS / 2; ++n) sums[n] = 0;
  int t = FIRST_KEY(tile);
  const bool has_keys = t < tile.all_end;
  if (has_keys) {
    start_keys(products, q_tile + consumer * 8192, &p);
    WAIT_WGMMA(0);
    HOLD_SUMS(products, TILE_N);
    if (lane == 0) consumer_release(&p, p.stage);
    advance(&p);
    MAKE_WEIGHTS()
    KEEP_WEIGHTS()
  }
  // The units multiply the weights of the keys before with their values while the next weights are made.
  uint queries_at = q_tile;
#if TURNS
  uint step = 0;
  START_NEXT()
#endif
#pragma unroll 1
  for (t = next_tile(t, TILE_N, tile.all_first, sinks);; t = next_tile(t, TILE_N, tile.all_first, sinks)) {
#if TURNS
    // The first keys of a tile come behind the last values of the tile before.
    const bool is_first = t >= tile.all_end;
    uint next_number = number;
    if (is_first) {
      next_number = tile_of_step(step, all_tiles, tiles);
      if (next_number == NO_TILE) break;
      {
        const place at = PLACE_OF_TILE(hidden(number), TILE_M);
        FINISH_TILE(at)
      }
      FIND_TILE(tile, next_number)
      t = FIRST_KEY(tile);
      BEGIN_TILE()
      WAIT_QUERIES()
      queries_at = 2 * q_tile + Q_BYTES - queries_at;
    }
    pipeline of_keys = p, of_values = p;
    advance(&p);
    if (is_first)
      of_keys.stage = p.stage, of_keys.parity = p.parity;
    else
      of_values.stage = p.stage, of_values.parity = p.parity;
#else
    if (t >= tile.all_end) break;
    const pipeline of_keys = p;
    advance(&p);
    const pipeline of_values = p;
#endif
    advance(&p);
    start_keys(products, queries_at + consumer * 8192, &of_keys);
    start_values(sums, weights, &of_values);
#if TURNS
    if (is_first) START_NEXT()
#endif
    WAIT_WGMMA(1);
    HOLD_SUMS(products, TILE_N);
    if (lane == 0) consumer_release(&p, of_keys.stage);
    MAKE_WEIGHTS()
    WAIT_WGMMA(0);
    HOLD_SUMS(sums, V_COLUMNS);
    if (lane == 0) consumer_release(&p, of_values.stage);
#if TURNS
    if (is_first) {
      const place done = PLACE_OF_TILE(hidden(number), TILE_M);
      STORE_TILE(done)
      UNROLLED
      for (uint n = 0; n < V_COLUMNS / 2; ++n) sums[n] = 0;
      number = next_number;
    }
#endif
    UNROLLED
    for (uint n = 0; n < V_COLUMNS / 2; ++n) sums[n] *= factors[n / 2 % 2];
    KEEP_WEIGHTS()
  }
  if (has_keys) {
    start_values(sums, weights, &p);
    WAIT_WGMMA(0);
    HOLD_SUMS(sums, V_COLUMNS);
    if (lane == 0) consumer_release(&p, p.stage);
  }
  const place done = PLACE_OF_TILE(hidden(number), TILE_M);
  FINISH_TILE(done)
  STORE_TILE(done)
}
