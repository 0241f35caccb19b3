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
#define KEYS_EACH 1  // sixteens of keys of a warp in a turn: with pages 1 or 2
#endif
#ifndef STAGES
#define STAGES 3  // turns in local memory or on their way to it
#endif
#include "nvidia/attention/pieces.clh"
#include "nvidia/attention/rows.clh"
#include "nvidia/mma.clh"
#include "nvidia/shuffle.clh"
#include "common/hand_over.clh"
#include "attention/split.clh"

#define WARPS (GROUP / 32)
#define PART_PITCH (V_PIECES * 8 + 4)  // of the sums of a row in local memory; with it, those of a warp are in different banks
#include "nvidia/attention/combine.clh"
#include "attention/last_group.clh"

#define KEYS_HERE (16 * KEYS_EACH)  // of a warp in a turn
#define TURN (WARPS * KEYS_HERE)
#define STAGE_BYTES (KEYS_HERE * (Q_PITCH + V_PITCH))  // of a warp
#define KS (Q_PIECES / 2)                              // steps of 16 elements of queries and keys
#define VS (V_PIECES / 2)                              // sixteens of elements of values

#if HEAD_SIZE > 128 || VALUE_SIZE > 128
#define COPIES_UNROLLED _Pragma("unroll 2")  // registers hold not all addresses at once
#else
#define COPIES_UNROLLED UNROLLED
#endif
// Where a key of a turn lies, in pages: a lane has that of key lane % KEYS_HERE, since a place takes more instructions than a copy.
typedef struct {
  uint page, token;
} paged_place;
INLINED void locate_key(UNUSED paged_place* mine, UNUSED uint t, UNUSED const split_piece* piece, UNUSED const attention_arguments* a,
                        UNUSED uint warp, UNUSED uint lane) {
#if PAGED
  const uint number = t + warp * KEYS_HERE + lane % KEYS_HERE;
  page_of_key(&mine->page, &mine->token, a, &piece->tile.at, key_at(&piece->tile.seen, min(number, piece->to - 1)));
#endif
}

// Starts the copies of a warp's keys or values of the turn that begins with key number t; zeros behind the last one.
INLINED void copy_vectors(uint tile, global const ELEMENT* vectors, const vector_layout* layout, const uint pieces, const uint pitch, const uint size,
                          uint t, UNUSED const paged_place* mine, const split_piece* piece, UNUSED const attention_arguments* a, uint warp,
                          uint lane) {
  const uint lines = 32 / pieces, row = lane / pieces, column = lane % pieces, first = t + warp * KEYS_HERE;
  COPIES_UNROLLED
  for (uint r = 0; r < KEYS_HERE; r += lines) {
    const uint number = first + (r + row);
#if PAGED
    const uint page = shuffle_from(mine->page, (r + row) % KEYS_HERE), token = shuffle_from(mine->token, (r + row) % KEYS_HERE);
    const ulong key = layout->offset + page * layout->batch + piece->tile.at.head * layout->head + token * layout->token;
#else
    const ulong key = key_place(a, &piece->tile.at, key_at(&piece->tile.seen, min(number, piece->to - 1)), layout);
#endif
    if (32 % pieces + KEYS_HERE % lines == 0 || (row < lines && r + row < KEYS_HERE))
      copy_piece(tile + piece_place(r + row, column, pitch), (ulong)(vectors + key), column, size, number < piece->to);
  }
}

// The turns that a warp copies ahead of those that it multiplies: the next one begins with key number t of the piece, and there is none where
// that is not before the piece's end.
typedef struct {
  uint t;
  split_piece piece;
  sequence_place in;
} turns_ahead;
// Advances to a turn that has keys.
INLINED void find_turn(turns_ahead* ahead, const work_range* work, const split_arguments* a) {
  while (ahead->t >= ahead->piece.to && ahead->piece.stop < work->end) {
    find_piece(&ahead->piece, &ahead->in, ahead->piece.stop, work, a);
    ahead->t = ahead->piece.from;
  }
}
// Starts the copies of the next turn to a stage of the warp's ring.
INLINED void start_turn(turns_ahead* ahead, uint ring, uint stage, const work_range* work, const split_arguments* all, uint warp, uint lane) {
  if (ahead->t < ahead->piece.to) {
    const attention_arguments* const a = &all->of_all;
    const uint k_tile = ring + stage * STAGE_BYTES, v_tile = k_tile + KEYS_HERE * Q_PITCH;
    paged_place mine;
    locate_key(&mine, ahead->t, &ahead->piece, a, warp, lane);
    copy_vectors(k_tile, a->k, &a->of_k, Q_PIECES, Q_PITCH, HEAD_SIZE, ahead->t, &mine, &ahead->piece, a, warp, lane);
    copy_vectors(v_tile, a->v, &a->of_v, V_PIECES, V_PITCH, VALUE_SIZE, ahead->t, &mine, &ahead->piece, a, warp, lane);
    ahead->t += TURN;
    find_turn(ahead, work, all);
  }
  end_copies();
}

// Two elements of a query as a word, the ones from d on, which are at `at`; 0 for those behind its last one.
static inline uint two_elements(global const ushort* at, uint d) {
  if (d + 1 < HEAD_SIZE) return *(global const uint*)at;
  return d < HEAD_SIZE ? *at : 0;
}
// Loads the queries of a tile as the right factor, of which row lane / 4 is a column.
INLINED void load_queries(uint queries[KS][2], const attention_arguments* a, const place* at, uint lane) {
  const ulong row = row_place(a, at, row_or_last(at, lane / 4), &a->of_q);
  global const ushort* const first = running_pointer(a->q + row + lane % 4 * 2);
  UNROLLED
  for (uint i = 0; i < KS * 2; ++i) queries[i / 2][i % 2] = lane / 4 < at->rows ? two_elements(first + i * 8, i * 8 + lane % 4 * 2) : 0;
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

// The logits of the warp's keys in a turn; number `first` of those that are seen is the first of them. Elements i of e are of key e * 16 + i / 2 * 8
// + lane / 4 and row lane % 4 * 2 + i % 2.
INLINED void make_logits(float logits[KEYS_EACH][4], uint queries[KS][2], uint k_tile, uint first, const logit_row rows[2],
                         const split_piece* piece, const attention_arguments* a, uint lane) {
  UNROLLED
  for (uint e = 0; e < KEYS_EACH; ++e) {
    float odd[4];  // of odd steps, so that two products are under way
    UNROLLED
    for (uint i = 0; i < 4; ++i) logits[e][i] = odd[i] = 0;
    UNROLLED
    for (uint x = 0; x < KS; ++x) {
      uint four[4];
      load_matrices(four, k_tile + piece_place(e * 16 + lane % 16, x * 2 + lane / 16, Q_PITCH));
      multiply_add(x % 2 == 0 ? logits[e] : odd, four, queries[x]);
    }
    UNROLLED
    for (uint i = 0; i < 4; ++i) {
      const uint number = first + e * 16 + i / 2 * 8 + lane / 4;
      const int j = (int)key_at(&piece->tile.seen, number);
      const float x = logit_of(logits[e][i] + odd[i], min(j, (int)piece->tile.at.keys - 1), &rows[i % 2], a);
      logits[e][i] = number >= piece->to || is_hidden(&rows[i % 2], j, a) ? -INFINITY : x;
    }
  }
}

// The online softmax: logits become weights. Rows beyond the tile have weights too; their sums are not read.
INLINED void update_softmax(float logits[KEYS_EACH][4], float sums[VS][4], float largest[2], float total[2], uint lane) {
  UNROLLED
  for (uint h = 0; h < 2; ++h) {
    float most = largest[h];
    UNROLLED
    for (uint i = 0; i < KEYS_EACH * 2; ++i) most = fmax(most, logits[i / 2][i % 2 * 2 + h]);
    most = largest_of_keys(most, lane);
    const float shift = shift_of(most), factor = fast_exp2(largest[h] - shift);
    largest[h] = most;
    total[h] *= factor;
    UNROLLED
    for (uint i = 0; i < KEYS_EACH * 2; ++i) {
      const float weight = fast_exp2(logits[i / 2][i % 2 * 2 + h] - shift);
      logits[i / 2][i % 2 * 2 + h] = weight;
      total[h] += weight;
    }
    UNROLLED
    for (uint n = 0; n < VS * 2; ++n) sums[n / 2][n % 2 * 2 + h] *= factor;
  }
}

// Weights of 8 keys, of key lane / 4 for rows lane % 4 * 2 and the next, become those of keys lane % 4 * 2 and the next for row lane / 4.
static inline uint transposed_weights(uint word, uint lane) {
  const uint from = lane % 4 * 8 + lane / 8, even = shuffle_from(word, from), odd = shuffle_from(word, from + 4);
  return lane / 4 % 2 == 0 ? (even & 0xffff) | odd << 16 : even >> 16 | (odd & 0xffff0000);
}
// sums += values, transposed, x weights.
INLINED void accumulate_values(float sums[VS][4], float weights[KEYS_EACH][4], uint v_tile, uint lane) {
  UNROLLED
  for (uint e = 0; e < KEYS_EACH; ++e) {
    uint words[2];
    UNROLLED
    for (uint i = 0; i < 2; ++i) words[i] = transposed_weights(word_of(weights[e][i * 2], weights[e][i * 2 + 1]), lane);
    UNROLLED
    for (uint n = 0; n < VS; ++n) {
      uint four[4];
      load_matrices_transposed(four, v_tile + piece_place(e * 16 + lane / 16 * 8 + lane % 8, n * 2 + lane / 8 % 2, V_PITCH));
      multiply_add(sums[n], four, words);
    }
  }
}

// What warps combine their sums in, in local memory: of each warp the largest logit and the sum of weights of 8 rows, and its sums.
typedef struct {
  local float *largest, *total, *parts;
} warp_sums;

// Stores a warp's sums, scaled for the largest logit of all warps. A collective function: it has a barrier, behind which all warps' statistics are
// there, and the sums of the previous tile are no longer read.
GROUP_FUNCTION void share_sums(const warp_sums* to, float sums[VS][4], const float largest[2], const float total[2], uint warp, uint lane) {
  UNROLLED
  for (uint h = 0; h < 2; ++h) {
    const float all_keys = sum_of_keys(total[h], lane);
    if (lane < 4) to->largest[warp * 8 + lane * 2 + h] = largest[h], to->total[warp * 8 + lane * 2 + h] = all_keys;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  UNROLLED
  for (uint h = 0; h < 2; ++h) {
    const uint r = lane % 4 * 2 + h;
    float most = -INFINITY;
    UNROLLED
    for (uint w = 0; w < WARPS; ++w) most = fmax(most, to->largest[w * 8 + r]);
    const float factor = fast_exp2(largest[h] - shift_of(most));
    if (r < ROWS) {
      UNROLLED
      for (uint n = 0; n < VS * 2; ++n) to->parts[(warp * ROWS + r) * PART_PITCH + n * 8 + lane / 4] = sums[n / 2][n % 2 * 2 + h] * factor;
    }
  }
}
// Combines the sums of all warps and writes results, or where other groups have keys of the tile partial sums to the group's slot.
INLINED void combine_warps(const warp_sums* from, const tile_groups* groups, const place* at, const split_arguments* a, uint item) {
  global float* const slot = slot_of_group(groups, a);
  for (uint n = item; n < ROWS * (V_SLOT / 4); n += GROUP) {
    const uint r = n / (V_SLOT / 4), c = n % (V_SLOT / 4) * 4;
    float most = -INFINITY, total = 0;
    float4 sum = 0;
    UNROLLED
    for (uint w = 0; w < WARPS; ++w) most = fmax(most, from->largest[w * 8 + r]);
    UNROLLED
    for (uint w = 0; w < WARPS; ++w) {
      total += fast_exp2(from->largest[w * 8 + r] - shift_of(most)) * from->total[w * 8 + r];
      sum += *(local const float4*)(from->parts + (w * ROWS + r) * PART_PITCH + c);
    }
    if (groups->count > 1) {
      *(global float4*)(slot + r * V_SLOT + c) = sum;
      if (c == 0) *(global float2*)(slot + ROWS * V_SLOT + 2 * r) = (float2)(most, total);
    } else if (r < at->rows) {
      write_row(&a->of_all, at, r, c, 4, sum, most, total);
      if (c == 0) write_lse(&a->of_all, at, r, most, total);
    }
  }
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void attention_split_mma(SPLIT_ARGUMENTS) {
  local uchar vectors[WARPS * STAGES * STAGE_BYTES] __attribute__((aligned(1024)));
  local float parts[WARPS * ROWS * PART_PITCH] __attribute__((aligned(16)));
  local float largest_of_warps[2 * WARPS * 8], total_of_warps[2 * WARPS * 8];
  COUNTS_OF_SEQUENCES
  local uint is_last;
  const split_arguments all = SPLIT_ALL_ARGUMENTS;
  const attention_arguments* const a = &all.of_all;
  // Each stage of the work is given a hidden lane or item: else the compiler would keep all their addresses in registers.
  const uint item = get_local_id(0), warp = item / 32, lane = item % 32;
  const uint ring = local_address(vectors) + warp * (STAGES * STAGE_BYTES);
  work_range work;
  sequence_place in;
  find_work(&work, &in, &all, counts, false, item);
  turns_ahead ahead;
  ahead.in = in;
  ahead.t = ahead.piece.to = 0, ahead.piece.stop = work.begin;
  find_turn(&ahead, &work, &all);
#pragma unroll 1
  for (uint i = 0; i + 1 < STAGES; ++i) start_turn(&ahead, ring, i, &work, &all, warp, lane);

  uint stage = 0, parity = 0, next = work.begin;
#pragma unroll 1
  for (; next < work.end; parity ^= 1) {  // uniform in the group
    split_piece piece;
    find_piece(&piece, &in, next, &work, &all);
    const place* const at = &piece.tile.at;
    uint queries[KS][2];
    load_queries(queries, a, at, lane);
    // Row lane / 4 of the tile is a column of the right factor; the lane's results are of rows lane % 4 * 2 and the next.
    logit_row rows[2];
    float largest[2], total[2], sums[VS][4];
    UNROLLED
    for (uint h = 0; h < 2; ++h) {
      const uint row = row_or_last(at, lane % 4 * 2 + h);
      logit_row_of(&rows[h], a, at, row, own_key(at, row / a->group));
      largest[h] = -INFINITY;
      total[h] = 0;
    }
    UNROLLED
    for (uint n = 0; n < VS * 4; ++n) sums[n / 4][n % 4] = 0;

#pragma unroll 1
    for (uint t = piece.from; t < piece.to; t += TURN) {
      WAIT_COPIES(STAGES - 2);
      sync_warp();  // all lanes' copies are there, and the stage before was read
      start_turn(&ahead, ring, stage == 0 ? STAGES - 1 : stage - 1, &work, &all, warp, hidden(lane));
      const uint k_tile = ring + stage * STAGE_BYTES, v_tile = k_tile + KEYS_HERE * Q_PITCH;
      stage = stage + 1 == STAGES ? 0 : stage + 1;
      const uint lane_here = hidden(lane);
      float logits[KEYS_EACH][4];
      make_logits(logits, queries, k_tile, t + warp * KEYS_HERE, rows, &piece, a, lane_here);
      update_softmax(logits, sums, largest, total, lane_here);
      accumulate_values(sums, logits, v_tile, lane_here);
    }

    const warp_sums of_warps = {largest_of_warps + parity * (WARPS * 8), total_of_warps + parity * (WARPS * 8), parts};
    tile_groups groups;
    groups_of_tile(&groups, &piece.tile, &work);
    share_sums(&of_warps, sums, largest, total, warp, hidden(lane));
    barrier(CLK_LOCAL_MEM_FENCE);
    combine_warps(&of_warps, &groups, at, &all, hidden(item));
    combine_if_last(&groups, &piece.tile, &all, &is_last, parts, hidden(item));
    next = piece.stop;
  }
}
