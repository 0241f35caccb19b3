// Attention of few queries to many keys, of half and bfloat16, by the matrix units of NVIDIA's sm_80 and later. Work is divided as in
// attention/split_keys.cl: groups walk over equal ranges of the chunks of all tiles, and the last group of a tile combines its sums.
//
// A warp has KEYS_EACH sixteens of keys of a turn, which it alone copies, by cp.async, to a ring of STAGES turns. Keys are the left factor of the
// units and values, transposed, too; queries and weights are the right one, so that a tile has 8 rows at no cost. The copies of the next tile
// begin while the last turns of a tile are multiplied. A warp has online softmaxes of its own.
// T. Dao et al., "Flash-Decoding for long-context inference", 2023.
//
// Launch: GROUP work-items a group, any number of groups. Local memory: see the arrays. Memory of partial sums: 2 * SLOT floats a group. All
// vectors of q, k and v begin at multiples of 16 bytes.
#ifndef GROUP
#define GROUP 128  // work-items: whole warps
#endif
#ifndef ROWS
#define ROWS 4  // of a tile: 1, 2, 4, 8
#endif
#ifndef KEYS_EACH
#define KEYS_EACH 1  // sixteens of keys of a warp in a turn
#endif
#ifndef STAGES
#define STAGES 3  // turns in local memory or on their way to it
#endif
#define ONE_LAUNCH 1
#include "nvidia/attention/pieces.clh"
#include "nvidia/attention/swizzled.clh"
#include "nvidia/mma.clh"
#include "nvidia/shuffle.clh"
#include "common/hand_over.clh"
#include "attention/split.clh"

#define WARPS (GROUP / 32)
#define KEYS_HERE (16 * KEYS_EACH)  // of a warp in a turn
#define TURN (WARPS * KEYS_HERE)
#define STAGE_BYTES (KEYS_HERE * (Q_PITCH + V_PITCH))  // of a warp
#define VS (V_PIECES / 2)                              // sixteens of elements of values
#define PART_PITCH (V_PIECES * 8 + 4)                  // of the sums of a row in local memory; with it, those of a warp are in different banks

#if HEAD_SIZE > 128 || VALUE_SIZE > 128
#define COPIES_UNROLLED _Pragma("unroll 2")  // registers hold not all addresses at once
#else
#define COPIES_UNROLLED UNROLLED
#endif
// The turn whose copies begin next: that of key t of a piece, if it has that one.
typedef struct {
  key_piece piece;
  work_place sequence;
  uint t;
} turn_ahead;
// Moves on to a turn that has keys, in a piece before chunk `end`.
INLINED void find_turn(turn_ahead* ahead, const attention_arguments* restrict a, uint chunk, uint end) {
  while (ahead->t >= ahead->piece.to && ahead->piece.stop < end) {
    ahead->piece = piece_of_chunk(&ahead->sequence, a, chunk, ahead->piece.stop, end);
    ahead->t = ahead->piece.from;
  }
}
// Starts the copies of the warp's keys or values of a turn to `tile`; zeros behind the last one. A vector has `pieces` pieces.
INLINED void start_vectors(uint tile, const attention_arguments* restrict a, global const ELEMENT* from, const row_layout* restrict view,
                           const turn_ahead* restrict ahead, const uint pieces, const uint pitch, const uint size, uint first_key, uint lane) {
  const uint lines = 32 / pieces, row = lane / pieces, piece = lane % pieces, to = ahead->piece.to;
  COPIES_UNROLLED
  for (uint r = 0; r < KEYS_HERE; r += lines) {
    const uint number = ahead->t + first_key + r + row, j = key_at(&ahead->piece.tile.seen, min(number, to - 1));
    if (32 % pieces + KEYS_HERE % lines == 0 || (row < lines && r + row < KEYS_HERE))
      copy_piece(tile + tile_place(r + row, piece, pitch), (ulong)(from + key_place(a, view, &ahead->piece.tile.at, j)), piece, size, number < to);
  }
}
// Starts the copies of the next turn, to the stage at `stage`, if there is one.
INLINED void start_turn(turn_ahead* ahead, uint stage, const attention_arguments* restrict a, uint chunk, uint end, uint first_key, uint lane) {
  if (ahead->t < ahead->piece.to) {
    start_vectors(stage, a, a->k, &a->of_k, ahead, Q_PIECES, Q_PITCH, HEAD_SIZE, first_key, lane);
    start_vectors(stage + KEYS_HERE * Q_PITCH, a, a->v, &a->of_v, ahead, V_PIECES, V_PITCH, VALUE_SIZE, first_key, lane);
    ahead->t += TURN;
    find_turn(ahead, a, chunk, end);
  }
  end_copies();
}

// Two elements of a query as a word; 0 for those behind its last one.
static inline uint two_elements(global const ELEMENT* row, uint d) {
  if (d + 1 < HEAD_SIZE) return *(global const uint*)((global const ushort*)row + d);
  return d < HEAD_SIZE ? ((global const ushort*)row)[d] : 0;
}

static inline float largest_of_keys(float x, uint lane) {
  UNROLLED
  for (uint apart = 4; apart < 32; apart *= 2) x = fmax(x, as_float(shuffle_from(as_uint(x), lane ^ apart)));
  return x;
}
static inline float sum_of_keys(float x, uint lane) {
  UNROLLED
  for (uint apart = 4; apart < 32; apart *= 2) x += as_float(shuffle_from(as_uint(x), lane ^ apart));
  return x;
}

// Weights of 8 keys, of key lane / 4 for rows lane % 4 * 2 and the next, become those of keys lane % 4 * 2 and the next for row lane / 4.
static inline uint transposed_weights(uint word, uint lane) {
  const uint from = lane % 4 * 8 + lane / 8, even = shuffle_from(word, from), odd = shuffle_from(word, from + 4);
  return lane / 4 % 2 == 0 ? (even & 0xffff) | odd << 16 : even >> 16 | (odd & 0xffff0000);
}

// Rows lane % 4 * 2 and the next of a tile, "h" 0 and 1, whose results a lane has: what they see, and their online softmaxes.
typedef struct {
  int own, first, end;
  float slope, largest, total;
  global const bias_element* biases;
} row_state;
INLINED row_state begin_row(const attention_arguments* restrict a, const place* restrict at, uint r) {
  row_state x;
  const uint row = at->row + min(r, at->rows - 1);
  x.own = own_key(at, row / a->group), x.first = first_seen(x.own, a->left), x.end = end_seen(x.own, at->keys, a->right);
  x.slope = slope_of(a, at, row);
  x.biases = bias_of(a, at, row);
  x.largest = -INFINITY;
  x.total = 0;
  return x;
}

// Reads the queries of a tile: row lane / 4 of it is a column of the right factor.
INLINED void read_queries(uint queries[KS][2], const attention_arguments* restrict a, const place* restrict at, uint lane) {
  const ulong row = row_place(a, &a->of_q, at, at->row + min(lane / 4, at->rows - 1));
  UNROLLED
  for (uint i = 0; i < KS * 2; ++i) queries[i / 2][i % 2] = lane / 4 < at->rows ? two_elements(a->q + row, i * 8 + lane % 4 * 2) : 0;
}

// Makes logits of the warp's keys, of which the first one has number `first` of those that are seen.
INLINED void make_logits(float logits[KEYS_EACH][4], uint k_tile, const uint queries[KS][2], const attention_arguments* restrict a,
                         const key_piece* restrict piece, const row_state rows[2], uint first, uint lane) {
  UNROLLED
  for (uint e = 0; e < KEYS_EACH; ++e) {
    float odd[4];  // of odd steps, so that two products are under way
    UNROLLED
    for (uint i = 0; i < 4; ++i) logits[e][i] = odd[i] = 0;
    UNROLLED
    for (uint x = 0; x < KS; ++x) {
      uint four[4];
      load_matrices(four, k_tile + tile_place(e * 16 + lane % 16, x * 2 + lane / 16, Q_PITCH));
      multiply_add(x % 2 == 0 ? logits[e] : odd, four, queries[x]);
    }
    UNROLLED
    for (uint i = 0; i < 4; ++i) {
      const uint number = first + e * 16 + i / 2 * 8 + lane / 4, h = i % 2;
      const int j = (int)key_at(&piece->tile.seen, number);
      const float x = logit_of(logits[e][i] + odd[i], min(j, (int)piece->tile.at.keys - 1), rows[h].own, a->scale, a->cap, rows[h].slope,
                               rows[h].biases);
      logits[e][i] = number >= piece->to || is_hidden(j, rows[h].first, rows[h].end, a->sinks) ? -INFINITY : x;
    }
  }
}

// Makes weights of logits. Rows beyond the tile have weights too; their sums are not read.
INLINED void make_weights(float logits[KEYS_EACH][4], float sums[VS][4], row_state rows[2], uint lane) {
  UNROLLED
  for (uint h = 0; h < 2; ++h) {
    float most = rows[h].largest;
    UNROLLED
    for (uint i = 0; i < KEYS_EACH * 2; ++i) most = fmax(most, logits[i / 2][i % 2 * 2 + h]);
    most = largest_of_keys(most, lane);
    const float shift = shift_of(most), factor = fast_exp2(rows[h].largest - shift);
    rows[h].largest = most;
    rows[h].total *= factor;
    UNROLLED
    for (uint i = 0; i < KEYS_EACH * 2; ++i) {
      const float weight = fast_exp2(logits[i / 2][i % 2 * 2 + h] - shift);
      logits[i / 2][i % 2 * 2 + h] = weight;
      rows[h].total += weight;
    }
    UNROLLED
    for (uint n = 0; n < VS * 2; ++n) sums[n / 2][n % 2 * 2 + h] *= factor;
  }
}

// Adds the products of weights and the warp's values.
INLINED void add_values(float sums[VS][4], const float all_weights[KEYS_EACH][4], uint v_tile, uint lane) {
  UNROLLED
  for (uint e = 0; e < KEYS_EACH; ++e) {
    uint weights[2];
    UNROLLED
    for (uint i = 0; i < 2; ++i) weights[i] = transposed_weights(word_of(all_weights[e][i * 2], all_weights[e][i * 2 + 1]), lane);
    UNROLLED
    for (uint n = 0; n < VS; ++n) {
      uint four[4];
      load_matrices_transposed(four, v_tile + tile_place(e * 16 + lane / 16 * 8 + lane % 8, n * 2 + lane / 8 % 2, V_PITCH));
      multiply_add(sums[n], four, weights);
    }
  }
}

// Leaves the sums of all warps in local memory, relative to the largest logits of all.
INLINED void put_sums(local float* parts, local float* all_largest, local float* all_total, const float sums[VS][4], const row_state rows[2],
                      uint warp, uint lane) {
  UNROLLED
  for (uint h = 0; h < 2; ++h) {
    const float total = sum_of_keys(rows[h].total, lane);
    if (lane < 4) all_largest[warp * 8 + lane * 2 + h] = rows[h].largest, all_total[warp * 8 + lane * 2 + h] = total;
  }
  barrier(CLK_LOCAL_MEM_FENCE);  // also before `parts` is overwritten
  UNROLLED
  for (uint h = 0; h < 2; ++h) {
    const uint r = lane % 4 * 2 + h;
    float most = -INFINITY;
    UNROLLED
    for (uint w = 0; w < WARPS; ++w) most = fmax(most, all_largest[w * 8 + r]);
    const float factor = fast_exp2(rows[h].largest - shift_of(most));
    local float* const mine = parts + (warp * ROWS + r) * PART_PITCH + lane / 4;
    if (r < ROWS) {
      UNROLLED
      for (uint n = 0; n < VS * 2; ++n) mine[n * 8] = sums[n / 2][n % 2 * 2 + h] * factor;
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
}

// Adds up the sums of all warps, and writes them: the results where the group has the whole tile, else to its slot.
INLINED void join_warps(local const float* parts, local const float* all_largest, local const float* all_total, const attention_arguments* restrict a,
                        const place* restrict at, const tile_groups* restrict sharing, uint item) {
  for (uint n = item; n < ROWS * (V_SLOT / 4); n += GROUP) {
    const uint r = n / (V_SLOT / 4), c = n % (V_SLOT / 4) * 4;
    float most = -INFINITY, total = 0;
    float4 sum = 0;
    UNROLLED
    for (uint w = 0; w < WARPS; ++w) most = fmax(most, all_largest[w * 8 + r]);
    UNROLLED
    for (uint w = 0; w < WARPS; ++w) {
      total += fast_exp2(all_largest[w * 8 + r] - shift_of(most)) * all_total[w * 8 + r];
      sum += *(local const float4*)(parts + (w * ROWS + r) * PART_PITCH + c);
    }
    if (sharing->groups > 1) {
      *(global float4*)(sharing->slot + r * V_SLOT + c) = sum;
      if (c == 0) *(global float2*)(sharing->slot + ROWS * V_SLOT + 2 * r) = (float2)(most, total);
    } else if (r < at->rows) {
      write_results(a, at, r, c, sum, most, total);
    }
  }
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void attention_split_mma(SPLIT_ARGUMENTS) {
  const attention_arguments a = ATTENTION_ALL_ARGUMENTS;
  local uchar vectors[WARPS * STAGES * STAGE_BYTES] __attribute__((aligned(1024)));
  local float parts[WARPS * ROWS * PART_PITCH] __attribute__((aligned(16)));
  local float largest_of_warps[2 * WARPS * 8], total_of_warps[2 * WARPS * 8];
#if RAGGED || KEY_LENGTHS
  local uint counts[GROUP];
#else
  local uint* const counts = 0;
#endif
  local uint is_last;
  const uint item = get_local_id(0), warp = item / 32, lane = item % 32, first_key = warp * KEYS_HERE;
  const uint ring = local_address(vectors) + warp * (STAGES * STAGE_BYTES);
  work_place sequence;
  const work_range work = find_work(&sequence, &a, chunk, counts, item, false);

  turn_ahead ahead;
  ahead.sequence.s = sequence.s, ahead.sequence.before = sequence.before;  // a copy of the whole would be 64 bits to the compiler
  ahead.t = ahead.piece.to = 0, ahead.piece.stop = work.begin;
  find_turn(&ahead, &a, chunk, work.end);
#pragma unroll 1
  for (uint i = 0; i + 1 < STAGES; ++i) start_turn(&ahead, ring + i * STAGE_BYTES, &a, chunk, work.end, first_key, lane);

  uint stage = 0, parity = 0, next = work.begin;
#pragma unroll 1
  for (; next < work.end; parity ^= 1) {  // uniform in the group
    const key_piece here = piece_of_chunk(&sequence, &a, chunk, next, work.end);
    const place* const at = &here.tile.at;
    next = here.stop;
    uint queries[KS][2];
    read_queries(queries, &a, at, lane);
    row_state rows[2];
    float sums[VS][4];
    UNROLLED
    for (uint h = 0; h < 2; ++h) rows[h] = begin_row(&a, at, lane % 4 * 2 + h);
    UNROLLED
    for (uint n = 0; n < VS * 4; ++n) sums[n / 4][n % 4] = 0;

#pragma unroll 1
    for (uint t = here.from; t < here.to; t += TURN) {
      WAIT_COPIES(STAGES - 2);
      sync_warp();  // all lanes' copies are there, and the stage before was read
      const uint free_stage = stage == 0 ? STAGES - 1 : stage - 1;
      start_turn(&ahead, ring + free_stage * STAGE_BYTES, &a, chunk, work.end, first_key, lane);
      const uint k_tile = ring + stage * STAGE_BYTES;
      stage = stage + 1 == STAGES ? 0 : stage + 1;
      float logits[KEYS_EACH][4];
      make_logits(logits, k_tile, queries, &a, &here, rows, t + first_key, lane);
      make_weights(logits, sums, rows, lane);
      add_values(sums, logits, k_tile + KEYS_HERE * Q_PITCH, lane);
    }

    local float *const all_largest = largest_of_warps + parity * (WARPS * 8), *const all_total = total_of_warps + parity * (WARPS * 8);
    put_sums(parts, all_largest, all_total, sums, rows, warp, lane);
    const tile_groups sharing = groups_of_tile(&here.tile, &work, slots);
    join_warps(parts, all_largest, all_total, &a, at, &sharing, item);
    if (sharing.groups > 1) {  // uniform in the group
      barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);  // the slot is complete
      combine_if_last(&a, at, slots, &sharing, counters, &is_last, item);
    }
  }
}
