// Attention by Hopper's matrix units, of half and bfloat16, with sums in float, warp-specialised: one warpgroup copies, CONSUMERS multiply.
//
// A consumer has 64 rows. Its queries lie in local memory for all of the kernel; tiles of TILE_N keys, and of their values, come through a
// pipeline (nvidia/pipeline.clh) in the order in which they are multiplied. The units multiply the keys of a tile while they multiply the
// weights of the tile before with its values; the softmax of the new logits runs beside the latter. Weights go from the softmax to
// the units in registers: the accumulators' layout is that of a left factor (nvidia/attention/tile.clh).
// J. Shah et al., "FlashAttention-3: Fast and accurate attention with asynchrony and low-precision", 2024.
//
// With TENSOR, one work-item copies keys and values as boxes of tensor maps (nvidia/attention/tensors.clh).
//
// Launch: 128 * (1 + CONSUMERS) work-items a group, a group for each tile of 64 * CONSUMERS rows, or several for each with PARTS, or any number
// of groups with TURNS, where each tile has keys. Local memory: Q_TILES * Q_BYTES + STAGES * STAGE_BYTES, the barriers, and with TENSOR
// MAPS_BYTES; `maps` has as many for each group. All vectors of q, k and v begin at multiples of 16 bytes. For sm_90a: see nvidia/wgmma.clh.
#ifndef CONSUMERS
#define CONSUMERS 2  // warpgroups that multiply
#endif
#ifndef TILE_N
#define TILE_N 128  // keys of a tile: 64, 80, 96, 112, 128
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
#ifndef PARTS
#define PARTS 0  // 1: groups share the keys of each tile, by_parts of them; not with TURNS or a LEFT_LIMIT
#endif
#define TILE_M (64 * CONSUMERS)
#define GROUP (128 * (1 + CONSUMERS))
#define COPIERS 128

// Where a piece of 16 bytes of a vector lies in a tile of blocks of `rows` rows.
static inline uint piece_place(uint row, uint piece, const uint rows) { return (piece / 8 * rows + row) * 128 + (piece ^ row) % 8 * 16; }
#include "nvidia/attention/tile.clh"
#include "nvidia/mbarrier.clh"

// Tiles have the layouts of nvidia/wgmma.clh: blocks of 64 elements, 128 bytes a row. Rows of queries and keys are K-major, those of values
// MN-major. Zeros fill up the last 16 elements of queries and keys, and the columns of values.
#define Q_PIECES ((HEAD_SIZE + 15) / 16 * 2)
#define Q_BLOCKS ((HEAD_SIZE + 63) / 64)
#define V_BLOCKS ((VALUE_SIZE + 63) / 64)
#define Q_BYTES (Q_BLOCKS * TILE_M * 128)
#define Q_TILES (1 + TURNS)  // the next one's queries come while this one's are multiplied
#define STAGE_BYTES ((Q_BLOCKS > V_BLOCKS ? Q_BLOCKS : V_BLOCKS) * TILE_N * 128)
// The columns of an instruction for values: wgmma.clh knows 64, 80, 96, 112, 128, 160, 192 and 256.
#if VALUE_SIZE <= 64
#define V_COLUMNS 64
#elif VALUE_SIZE <= 80
#define V_COLUMNS 80
#elif VALUE_SIZE <= 96
#define V_COLUMNS 96
#elif VALUE_SIZE <= 112
#define V_COLUMNS 112
#elif VALUE_SIZE <= 128
#define V_COLUMNS 128
#elif VALUE_SIZE <= 160
#define V_COLUMNS 160
#elif VALUE_SIZE <= 192
#define V_COLUMNS 192
#else
#define V_COLUMNS 256
#endif
#define V_PIECES (V_COLUMNS / 8)
#include "nvidia/attention/parts.clh"
#include "nvidia/pipeline.clh"
#include "nvidia/attention/tensors.clh"
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

// The number of the tile that the group has in a step; NO_TILE: it has had all, EMPTY_STEP: it has none in this one.
#define NO_TILE 0xffffffffu
#define EMPTY_STEP 0xfffffffeu
#if TURNS
// Tiles of causal sequences are sorted, the longest first, in windows of a few heads, by_turn_heads. Groups go through a window from left to right
// and from right to left in turn, in by_turn_steps steps, an even number: so they have as many keys as each other, and keys that are read at the
// same time are of few heads.
static inline uint tile_of_step(uint step, const attention_arguments* a, uint all) {
  const uint groups = hidden(get_num_groups(0)), group = get_group_id(0);
#if RIGHT_LIMIT
  const uint all_heads = a->kv_heads * (RAGGED ? 1 : a->sequences), window = divided(step, a->by_turn_steps), head = window * a->by_turn_heads.value;
  if (head >= all_heads) return NO_TILE;
  const uint heads = min(a->by_turn_heads.value, all_heads - head), turn = step - window * a->by_turn_steps.value;
  const uint place = turn * groups + (turn % 2 ? groups - 1 - group : group);
  if (place >= heads * a->tiles) return EMPTY_STEP;
  const uint tile = heads == a->by_turn_heads.value ? divided(place, a->by_turn_heads) : place / heads;
  return (head + place - tile * heads) * a->tiles + tile;
#else
  const uint place = step * groups + group;
  return place < all ? place : NO_TILE;
#endif
}
#else
static inline uint tile_of_step(uint step, UNUSED const attention_arguments* a, UNUSED uint all) {
  if (step > 0) return NO_TILE;
  return PARTS ? divided((uint)get_group_id(0), a->by_parts) : (uint)get_group_id(0);
}
#endif

// The tile of rows of that number, and the keys that they see.
typedef struct {
  place at;
  key_window seen;
} seen_tile;
INLINED void find_tile(seen_tile* tile, const attention_arguments* a, uint number) {
  place_of_tile(&tile->at, a, number, TILE_M);
  window_of_tile(&tile->seen, a, &tile->at);
#if PARTS
  take_part(&tile->seen, get_group_id(0) - number * a->by_parts.value, a->by_parts.value);
#endif
}
INLINED int key_behind(const seen_tile* tile, int t, const attention_arguments* a) { return next_tile(t, TILE_N, tile->seen.first, a->sinks); }
INLINED int first_key(const seen_tile* tile, const attention_arguments* a) { return PARTS ? tile->seen.first : key_behind(tile, -TILE_N, a); }

// The producer: copies the keys and values of all tiles of the group, in the order in which they are multiplied: the values of a tile of keys
// come behind the keys of the next one.
INLINED void produce(const attention_arguments* a, pipeline p, uint all_tiles, UNUSED global const uchar* maps) {
  const uint item = get_local_id(0);
  int last = -1;  // the stage that is not committed
  uint number;
#pragma unroll 1
  for (uint step = 0; (number = tile_of_step(step, a, all_tiles)) != NO_TILE; ++step) {
    if (number == EMPTY_STEP) continue;
    seen_tile tile;
    find_tile(&tile, a, number);
    int before = -1;  // the keys whose values come next
#if TENSOR
    const uint k_head = a->of_k.head ? tile.at.head : 0, v_head = a->of_v.head ? tile.at.head : 0;
    const uint k_sequence = a->of_k.batch ? tile.at.sequence : 0, v_sequence = a->of_v.batch ? tile.at.sequence : 0;
#endif
#pragma unroll 1
    for (int t = first_key(&tile, a); t < tile.seen.end || before >= 0; t = key_behind(&tile, t, a)) {
#if TENSOR
      if (t < tile.seen.end) copy_boxes(&p, maps, Q_BLOCKS, t, k_head, k_sequence);
      if (before >= 0) copy_boxes(&p, maps + TENSOR_MAP_BYTES, V_BLOCKS, before, v_head, v_sequence);
#else
      if (t < tile.seen.end) {
        producer_acquire(&p);
        copy_tile(stage_address(&p), a, &tile.at, a->k, &a->of_k, t, Q_PIECES, HEAD_SIZE, TILE_N, item);
        commit_last(&p, &last);
        advance(&p);
      }
      if (before >= 0) {
        producer_acquire(&p);
        copy_tile(stage_address(&p), a, &tile.at, a->v, &a->of_v, before, V_PIECES, VALUE_SIZE, TILE_N, item);
        commit_last(&p, &last);
        advance(&p);
      }
#endif
      before = t < tile.seen.end ? t : -1;
    }
  }
  if (!TENSOR && last >= 0) {
    WAIT_COPIES(0);
    fence_async();
    producer_commit(&p, last);
  }
}

// Starts the copies of a warpgroup's queries to where it alone reads them. `item`: of the consumers.
INLINED void start_queries(uint to, const seen_tile* tile, const attention_arguments* a, uint item) {
  const place* const at = &tile->at;
  if (first_key(tile, a) < tile->seen.end) {
#pragma unroll 1
    for (uint n = item % 128; n < 64 * Q_PIECES; n += 128) {
      const uint r = item / 128 * 64 + n / Q_PIECES, piece = n % Q_PIECES, row = row_or_last(at, r);
      copy_piece(to + piece_place(r, piece, TILE_M), (ulong)(a->q + row_place(a, at, row, &a->of_q)), piece, HEAD_SIZE, r < at->rows);
    }
  }
  end_copies();
}
// Waits for them. All products of those before are made, so others may take their places. By all work-items of a warpgroup together.
INLINED void wait_queries(uint consumer) {
  WAIT_COPIES(0);
  fence_async();
  __asm__ volatile("bar.sync %0, 128;" ::"r"(consumer + 1) : "memory");
}
// Starts the copies of the queries of the group's next tile behind `step`. Returns its step.
INLINED uint start_next(uint to, uint step, const attention_arguments* a, uint all_tiles, uint item) {
  uint next;
  do next = tile_of_step(++step, a, all_tiles);
  while (next == EMPTY_STEP);
  if (next != NO_TILE) {
    seen_tile tile;
    find_tile(&tile, a, next);
    start_queries(to, &tile, a, item);
  }
  return step;
}

// Rounds weights to factors of the units.
INLINED void round_weights(uint words[TILE_N / 4], const float weights[TILE_N / 2]) {
  UNROLLED
  for (uint i = 0; i < TILE_N / 4; ++i) words[i] = word_of(weights[i * 2], weights[i * 2 + 1]);
}

// Releases the stage of keys whose products were waited for; these are read from here on.
INLINED void finish_keys(float products[TILE_N / 2], const pipeline* p, uint stage, uint lane) {
  HOLD_SUMS(products, TILE_N);
  if (lane == 0) consumer_release(p, stage);
}
// Waits for the products with the values of a stage, and releases it.
INLINED void finish_values(float sums[V_COLUMNS / 2], const pipeline* p, uint stage, uint lane) {
  WAIT_WGMMA(0);
  HOLD_SUMS(sums, V_COLUMNS);
  if (lane == 0) consumer_release(p, stage);
}

// The next two stages: of keys, and of the values of the keys before. The first keys of a tile come behind the last values of the tile before.
INLINED void next_stages(pipeline* p, pipeline* of_keys, pipeline* of_values, bool is_first) {
  const pipeline first = *p;
  advance(p);
  *of_keys = *of_values = *p;
  of_keys->stage = is_first ? p->stage : first.stage, of_keys->parity = is_first ? p->parity : first.parity;
  of_values->stage = is_first ? first.stage : p->stage, of_values->parity = is_first ? first.parity : p->parity;
  advance(p);
}

// A consumer: a warpgroup that multiplies. Its queries are in local memory at q_tile, or with TURNS there and behind it in turn.
INLINED void consume(const attention_arguments* a, pipeline p, uint q_tile, uint all_tiles,
                     UNUSED const part_arguments* shared) {
  const uint item = get_local_id(0) - COPIERS, consumer = item / 128, lane = item % 32, first_row = item / 32 * 16 + lane / 4;
  uint number = tile_of_step(0, a, all_tiles);
  if (number == NO_TILE) return;
  seen_tile tile;
  find_tile(&tile, a, number);
  start_queries(q_tile, &tile, a, item);
  wait_queries(consumer);
  float sums[V_COLUMNS / 2], products[TILE_N / 2], factors[2], shares[2];
  uint weights[TILE_N / 4];
  softmax_rows rows;
  begin_rows(&rows, first_row, a, &tile.at);
  UNROLLED
  for (uint n = 0; n < V_COLUMNS / 2; ++n) sums[n] = 0;
  int t = first_key(&tile, a);
  const bool has_keys = t < tile.seen.end;
  if (has_keys) {
    start_keys(products, q_tile + consumer * 8192, &p);
    WAIT_WGMMA(0);
    finish_keys(products, &p, p.stage, lane);
    advance(&p);
    update_softmax(&rows, products, factors, first_row, t, &tile.seen, a, &tile.at, lane);
    round_weights(weights, products);
  }

  // The units multiply the weights of the keys before with their values while the next weights are made.
  uint queries_at = q_tile, step = 0;
  if (TURNS) step = start_next(q_tile + Q_BYTES, step, a, all_tiles, item);
#pragma unroll 1
  for (t = key_behind(&tile, t, a);; t = key_behind(&tile, t, a)) {
    const bool is_first = t >= tile.seen.end;  // of the next tile
    uint next_number = number;
    if (is_first) {
      next_number = TURNS ? tile_of_step(step, a, all_tiles) : NO_TILE;
      if (next_number == NO_TILE) break;
      place done;
      place_of_tile(&done, a, hidden(number), TILE_M);
      finish_rows(&rows, shares, first_row, a, &done, lane);
      find_tile(&tile, a, next_number);
      t = first_key(&tile, a);
      begin_rows(&rows, first_row, a, &tile.at);
      wait_queries(consumer);
      queries_at = 2 * q_tile + Q_BYTES - queries_at;
    }
    pipeline of_keys, of_values;
    next_stages(&p, &of_keys, &of_values, TURNS && is_first);
    start_keys(products, hidden(queries_at + consumer * 8192), &of_keys);
    start_values(sums, weights, &of_values);
    if (TURNS && is_first) step = start_next(2 * q_tile + Q_BYTES - queries_at, step, a, all_tiles, item);
    WAIT_WGMMA(1);
    finish_keys(products, &p, of_keys.stage, lane);
    update_softmax(&rows, products, factors, first_row, t, &tile.seen, a, &tile.at, lane);
    finish_values(sums, &p, of_values.stage, lane);
    if (TURNS && is_first) {
      place done;
      place_of_tile(&done, a, hidden(number), TILE_M);
      store_rows(sums, shares, first_row, a, &done, lane);
      UNROLLED
      for (uint n = 0; n < V_COLUMNS / 2; ++n) sums[n] = 0;
      number = next_number;
    }
    if (warp_ballot(factors[0] != 1 || factors[1] != 1) != 0) {
      UNROLLED
      for (uint n = 0; n < V_COLUMNS / 2; ++n) sums[n] *= factors[n / 2 % 2];
    }
    round_weights(weights, products);
  }

  if (has_keys) {
    start_values(sums, weights, &p);
    finish_values(sums, &p, p.stage, lane);
  }
#if PARTS
  if (!leave_part(sums, &rows, shared, number, a->by_parts.value, item)) return;
  add_parts(sums, &rows, shared, number, a->by_parts.value, item);
#endif
  place done;
  place_of_tile(&done, a, hidden(number), TILE_M);
  finish_rows(&rows, shares, first_row, a, &done, lane);
  store_rows(sums, shares, first_row, a, &done, lane);
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void attention_wgmma(ATTENTION_ARGUMENTS PART_ARGUMENTS MAP_ARGUMENTS) {
  local uchar vectors[Q_TILES * Q_BYTES + STAGES * STAGE_BYTES] __attribute__((aligned(1024)));
  local ulong barriers[2 * STAGES + PARTS];
#if TENSOR
  local ulong new_maps[MAPS_BYTES / 8] __attribute__((aligned(TENSOR_MAP_BYTES)));
#endif
  const attention_arguments a = ATTENTION_ALL_ARGUMENTS;
  const part_arguments shared = PART_ALL_ARGUMENTS(barriers + 2 * STAGES);
  pipeline p = begin_pipeline(vectors + Q_TILES * Q_BYTES, barriers);
  if (get_local_id(0) == 0) init_pipeline(&p, TENSOR ? 1 : COPIERS, 4 * CONSUMERS);
  barrier(CLK_LOCAL_MEM_FENCE);

  const uint all_tiles = a.tiles * a.kv_heads * (RAGGED ? 1 : a.sequences);
  if (get_local_id(0) < COPIERS) {
#if CONSUMERS > 1
    FEWER_REGISTERS(PRODUCER_REGISTERS);
#endif
#if TENSOR
    if (get_local_id(0) < 32) {
      global uchar* const mine = maps + get_group_id(0) * MAPS_BYTES;
      make_maps(&a, mine, new_maps, get_local_id(0));
      if (get_local_id(0) == 0) produce(&a, p, all_tiles, mine);
    }
#else
    produce(&a, p, all_tiles, 0);
#endif
  } else {
#if CONSUMERS > 1  // else a multiprocessor has as many for all
    MORE_REGISTERS(CONSUMER_REGISTERS);
#endif
    consume(&a, p, local_address(vectors), all_tiles, &shared);
  }
}
