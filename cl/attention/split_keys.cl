// Attention of few queries to many keys, as in decoding: all time goes into reading keys and values, which are read once.
//
// The heads that share keys are rows of one tile. The keys that a sequence's queries see are divided into chunks, and the chunks of all sequences
// and heads, one behind the other, into as many equal ranges as there are work-groups: so groups have the same work, whatever the lengths of
// sequences. A group walks over its range. A team of TEAM work-items has KEYS_EACH keys in a turn: each work-item multiplies its packs of these
// with those of the rows, and later sums its columns of their values. Teams have online softmaxes of their own, which are combined at the end of a
// tile. Keys of the next turn, and values of this one, are on their way meanwhile. Where several groups share a tile, each leaves its sums
// in memory, and the last one that ends combines all, in the order of the keys.
// T. Dao et al., "Flash-Decoding for long-context inference", 2023.
//
// Launch: GROUP work-items a group, any number of groups. Local memory: see the arrays. Memory of partial sums: 2 * SLOT floats a group.
// Where groups cannot hand data to each other in a launch, a second one, of attention_combine, with the same arguments and groups.
#ifndef GROUP
#define GROUP 128  // work-items
#endif
#ifndef TEAM
#define TEAM 16  // work-items that have keys together: 8, 16, 32
#endif
#ifndef ROWS
#define ROWS 4  // of a tile: 1, 2, 4, 8
#endif
#ifndef KEYS_EACH
#define KEYS_EACH 4  // keys of a team in a turn
#endif
#ifndef WARP_TEAMS
#define WARP_TEAMS 0  // 1: teams are parts of NVIDIA's warps
#endif
#ifndef STAGES
#define STAGES 0  // turns whose packs are in local memory or on their way to it, by NVIDIA's cp.async; 0: registers, a turn ahead
#endif
#ifndef ONE_LAUNCH
#define ONE_LAUNCH 0  // 1: the last group of a tile combines
#endif
#include "attention/operation.clh"
#include "common/hand_over.clh"
#include "common/sub_group.clh"
#if WARP_TEAMS
#include "nvidia/copy_async.clh"
#include "nvidia/half.clh"
#define TEAM_BARRIER() sync_warp()
#else
#define TEAM_BARRIER() barrier(CLK_LOCAL_MEM_FENCE)
static inline uint hidden(uint number) { return number; }
#endif

#define TEAMS (GROUP / TEAM)
#define TURN (TEAMS * KEYS_EACH)    // keys of a turn
#define LOGITS (KEYS_EACH * ROWS)  // of a team in a turn
// Packs of a work-item.
#define K_STEPS ((HEAD_SIZE + PACK * TEAM - 1) / (PACK * TEAM))
#define V_STEPS ((VALUE_SIZE + PACK * TEAM - 1) / (PACK * TEAM))
#define V_WIDTH (V_STEPS * TEAM * PACK)
#define PART_STRIDE (TEAM + 4)  // of the parts of a product in local memory; with it, four at a time are read without bank conflicts
#define TEAM_STRIDE (LOGITS * PART_STRIDE + 16)
#define PARTS (TEAMS * TEAM_STRIDE)
#define SUMS_AT_ONCE (TEAMS * V_WIDTH)
#define ROOM (PARTS > SUMS_AT_ONCE ? PARTS : SUMS_AT_ONCE)
// Queries in local memory, in pieces of which a team reads neighbouring ones.
#define Q_PIECE (PACK < 4 ? PACK : 4)
#define Q_PLACE(r, s, lane, e) ((((r) * K_STEPS + (s)) * (PACK / Q_PIECE) + (e) / Q_PIECE) * (TEAM * Q_PIECE) + (lane) * Q_PIECE + (e) % Q_PIECE)
#define Q_ROOM (ROWS * K_STEPS * TEAM * PACK)
#define UNROLLED _Pragma("unroll")

// Packs as they are in memory, so that they are not waited for before they are needed; elements of 2 bytes by words.
#if !(ELEMENT_HALF || ELEMENT_BFLOAT16)
typedef packed_vector raw_pack;
#elif PACK == 1
typedef ushort raw_pack;
#elif PACK == 2
typedef uint raw_pack;
#elif PACK == 4
typedef uint2 raw_pack;
#else
typedef uint4 raw_pack;
#endif
static inline packed_vector widen(raw_pack raw) {
#if ELEMENT_HALF && WARP_TEAMS && PACK == 8
  return (float8)(half_of(raw.s0, 0), half_of(raw.s0, 1), half_of(raw.s1, 0), half_of(raw.s1, 1), half_of(raw.s2, 0), half_of(raw.s2, 1),
                  half_of(raw.s3, 0), half_of(raw.s3, 1));
#elif ELEMENT_HALF && PACK == 1
  return vload_half(0, (const half*)&raw);
#elif ELEMENT_HALF
  return JOIN(vload_half, PACK)(0, (const half*)&raw);
#elif ELEMENT_BFLOAT16 && PACK == 1
  return as_float((uint)raw << 16);
#elif ELEMENT_BFLOAT16
  return JOIN(as_float, PACK)(JOIN(convert_uint, PACK)(JOIN(as_ushort, PACK)(raw)) << 16);
#else
  return raw;
#endif
}
#include "attention/split.clh"
#include "attention/combine.clh"
#if ONE_LAUNCH
#include "attention/last_group.clh"
#endif

// Where the keys of a team are, of a turn.
typedef struct {
  uint tokens[KEYS_EACH];
#if PAGED
  uint pages[KEYS_EACH];
#endif
} key_places;
// Of the turn that begins with number t of the keys that are seen.
GROUP_FUNCTION void locate_keys(key_places* places, uint t, const split_piece* piece, UNUSED const attention_arguments* a, uint team) {
  UNROLLED
  for (uint e = 0; e < KEYS_EACH; ++e) {
    const uint j = key_at(&piece->tile.seen, min(t + e * TEAMS + team, piece->to - 1));
#if PAGED
    page_of_key(&places->pages[e], &places->tokens[e], a, &piece->tile.at, j);
#else
    places->tokens[e] = piece->tile.at.first_key + j;
#endif
  }
}
GROUP_FUNCTION ulong vector_place(const key_places* places, uint e, const place* at, const vector_layout* of) {
#if PAGED
  const uint batch = places->pages[e];
#else
  const uint batch = at->sequence;
#endif
  return of->offset + batch * of->batch + at->head * of->head + places->tokens[e] * of->token;
}

#if STAGES
#define PACKS_OF_STAGE (KEYS_EACH * (K_STEPS + V_STEPS))  // of a work-item; those of the group's work-items alternate
#define PACK_BYTES (GROUP * 16)                           // from one pack of a work-item to its next
// Starts the copies of the work-item's packs of keys or values to local memory from `to` on, where it alone reads them.
GROUP_FUNCTION void start_vectors(uint to, const uint steps, const uint size, global const ELEMENT* vectors, const vector_layout* of,
                                  const key_places* places, uint t, const split_piece* piece, uint team, uint lane) {
  UNROLLED
  for (uint e = 0; e < KEYS_EACH; ++e) {
    const ulong vector = vector_place(places, e, &piece->tile.at, of);
    UNROLLED
    for (uint x = 0; x < steps; ++x) {
      const uint d = (x * TEAM + lane) * PACK;
      copy_16(to + (e * steps + x) * PACK_BYTES, vectors + vector + d, t + e * TEAMS + team < piece->to && d < size ? 16 : 0);
    }
  }
}
// Those of the turn that begins with t, to a stage; zeros behind the last key. `mine`: where the work-item's packs begin.
GROUP_FUNCTION void start_turn(uint mine, uint stage, const key_places* places, uint t, const split_piece* piece, const attention_arguments* a,
                               uint team, uint lane) {
  const uint to = mine + stage * (PACKS_OF_STAGE * PACK_BYTES);
  start_vectors(to, K_STEPS, HEAD_SIZE, a->k, &a->of_k, places, t, piece, team, lane);
  start_vectors(to + KEYS_EACH * K_STEPS * PACK_BYTES, V_STEPS, VALUE_SIZE, a->v, &a->of_v, places, t, piece, team, lane);
  end_copies();
}
// Reads the work-item's packs from pack `first` of a stage on. `packs`: of all stages, the work-item's first one.
GROUP_FUNCTION void read_vectors(raw_pack* to, local const raw_pack* packs, uint stage, const uint first, const uint steps) {
  UNROLLED
  for (uint n = 0; n < KEYS_EACH * steps; ++n) to[n] = packs[stage * (PACKS_OF_STAGE * GROUP) + (first + n) * GROUP];
}
#else
// Loads the work-item's packs of keys or values; behind the last key that one again, without branches. Packs behind the last element are others.
GROUP_FUNCTION void load_vectors(raw_pack* to, const uint steps, const uint size, global const ELEMENT* vectors, const vector_layout* of,
                                 const key_places* places, const place* at, uint lane) {
  UNROLLED
  for (uint e = 0; e < KEYS_EACH; ++e) {
    const ulong vector = vector_place(places, e, at, of);
    UNROLLED
    for (uint x = 0; x < steps; ++x) to[e * steps + x] = *(global const raw_pack*)(vectors + vector + min((x * TEAM + lane) * PACK, size - PACK + 0u));
  }
}
#endif

// Loads the queries of a tile; behind its last row that one again.
GROUP_FUNCTION void load_queries(local float* rows, const place* at, const attention_arguments* a, uint item) {
  for (uint n = item; n < ROWS * K_STEPS * TEAM * PACK; n += GROUP) {
    const uint d = n % (K_STEPS * TEAM * PACK), r = n / (K_STEPS * TEAM * PACK);
    const ulong row = row_place(a, at, row_or_last(at, r), &a->of_q);
    rows[Q_PLACE(r, d / (TEAM * PACK), d / PACK % TEAM, d % PACK)] = d < HEAD_SIZE ? load_value(a->q, row + d) : 0;
  }
}

// Multiplies the work-item's packs of keys and rows.
GROUP_FUNCTION void multiply_keys(float products[KEYS_EACH][ROWS], const raw_pack keys_here[KEYS_EACH * K_STEPS], local const float* rows, uint lane) {
  UNROLLED
  for (uint i = 0; i < LOGITS; ++i) products[i / ROWS][i % ROWS] = 0;
  UNROLLED
  for (uint x = 0; x < K_STEPS; ++x) {
    pack key[KEYS_EACH];
    UNROLLED
    for (uint e = 0; e < KEYS_EACH; ++e) {
      const bool inside = (STAGES > 0) | (HEAD_SIZE % (TEAM * PACK) == 0) | ((x * TEAM + lane) * PACK < HEAD_SIZE);
      key[e].all = widen(inside ? keys_here[e * K_STEPS + x] : (raw_pack)0);
    }
    UNROLLED
    for (uint d = 0; d < PACK; d += Q_PIECE)
      UNROLLED
      for (uint r = 0; r < ROWS; ++r) {
        float left[Q_PIECE];
#if PACK >= 4
        const float4 four = *(local const float4*)(rows + Q_PLACE(r, x, lane, d));
        left[0] = four.s0, left[1] = four.s1, left[2] = four.s2, left[3] = four.s3;
#else
        UNROLLED
        for (uint i = 0; i < Q_PIECE; ++i) left[i] = rows[Q_PLACE(r, x, lane, d + i)];
#endif
        UNROLLED
        for (uint e = 0; e < KEYS_EACH; ++e)
          UNROLLED
          for (uint i = 0; i < Q_PIECE; ++i) products[e][r] += left[i] * key[e].each[d + i];
      }
  }
}

// The sum of the team's parts of product i.
GROUP_FUNCTION void sum_parts(float* product, local const float* parts, uint i) {
  float4 sum = 0;
  UNROLLED
  for (uint p = 0; p < TEAM; p += 4) sum += *(local const float4*)(parts + i * PART_STRIDE + p);
  *product = (sum.s0 + sum.s1) + (sum.s2 + sum.s3);
}

// Logits of the team's keys of the turn that begins with t, of all rows. `row`: the one whose logits the work-item makes. A collective function.
GROUP_FUNCTION void make_logits(local float* logits, local float* parts, float products[KEYS_EACH][ROWS], uint t, const logit_row* row,
                                const split_piece* piece, const attention_arguments* a, uint team, uint lane) {
  UNROLLED
  for (uint i = 0; i < LOGITS; ++i) parts[i * PART_STRIDE + lane] = products[i / ROWS][i % ROWS];
  TEAM_BARRIER();
  for (uint i = lane; i < LOGITS; i += TEAM) {
    const uint number = t + i / ROWS * TEAMS + team;
    const int j = (int)key_at(&piece->tile.seen, number);
    float x;
    sum_parts(&x, parts, i);
    if (number >= piece->to || is_hidden(row, j, a))
      x = -INFINITY;
    else
      x = logit_of(x, j, row, a);
    logits[i] = x;
  }
  TEAM_BARRIER();
}

// Takes the values of KEYS_EACH keys, whose logits are `logits`, into the sums of all rows: of those before `to`.
GROUP_FUNCTION void add_values(packed_vector sums[ROWS][V_STEPS], float* largest, float* total, local const float* logits,
                               const raw_pack values[KEYS_EACH * V_STEPS], uint t, uint team, uint to) {
  float weights[ROWS][KEYS_EACH];
  UNROLLED
  for (uint r = 0; r < ROWS; ++r) {
    float most = largest[r];
    UNROLLED
    for (uint e = 0; e < KEYS_EACH; ++e) {
      weights[r][e] = logits[e * ROWS + r];
      most = fmax(most, weights[r][e]);
    }
    const float shift = shift_of(most);
    if (most != largest[r]) {
      const float factor = exp2(largest[r] - shift);
      total[r] *= factor;
      UNROLLED
      for (uint x = 0; x < V_STEPS; ++x) sums[r][x] *= factor;
      largest[r] = most;
    }
    UNROLLED
    for (uint e = 0; e < KEYS_EACH; ++e) {
      weights[r][e] = exp2(weights[r][e] - shift);
      total[r] += weights[r][e];
    }
  }
  UNROLLED
  for (uint e = 0; e < KEYS_EACH; ++e)
    UNROLLED
    for (uint x = 0; x < V_STEPS; ++x) {
      const packed_vector value = widen(STAGES || t + e * TEAMS + team < to ? values[e * V_STEPS + x] : (raw_pack)0);
      UNROLLED
      for (uint r = 0; r < ROWS; ++r) sums[r][x] += weights[r][e] * value;
    }
}

// What teams combine their sums in, in local memory: of each team the largest logits of rows and their sums of weights, and its sums.
typedef struct {
  local float *largest, *total, *parts;
} team_sums;
// Of row r, of all teams: the largest logit, and the sum of weights.
GROUP_FUNCTION void combine_statistics(float* most, float* total, const team_sums* from, uint r) {
  *most = -INFINITY, *total = 0;
  for (uint i = 0; i < TEAMS; ++i) *most = fmax(*most, from->largest[i * ROWS + r]);
  for (uint i = 0; i < TEAMS; ++i) *total += exp2(from->largest[i * ROWS + r] - shift_of(*most)) * from->total[i * ROWS + r];
}
// Combines the sums of all teams and writes results, or where other groups have keys of the tile partial sums to the group's slot. A collective
// function: it has barriers.
GROUP_FUNCTION void combine_teams(const team_sums* from, packed_vector sums[ROWS][V_STEPS], const float* largest, const float* total_here,
                                  const tile_groups* groups, const place* at, const split_arguments* a, uint item) {
  if (item % TEAM == 0) {
    UNROLLED
    for (uint r = 0; r < ROWS; ++r)
      from->largest[item / TEAM * ROWS + r] = largest[r], from->total[item / TEAM * ROWS + r] = total_here[r];
  }
  local float* const mine = from->parts + item / TEAM * V_WIDTH + item % TEAM * PACK;
  global float* const slot = slot_of_group(groups, a);
  UNROLLED
  for (uint r = 0; r < ROWS; ++r) {
    barrier(CLK_LOCAL_MEM_FENCE);
    float most, total;
    combine_statistics(&most, &total, from, r);
    const float factor = exp2(largest[r] - shift_of(most));
    UNROLLED
    for (uint x = 0; x < V_STEPS; ++x) {
      pack part;
      part.all = sums[r][x] * factor;
      UNROLLED
      for (uint e = 0; e < PACK; ++e) mine[x * TEAM * PACK + e] = part.each[e];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint c = item; c < VALUE_SIZE; c += GROUP) {
      float sum = 0;
      for (uint i = 0; i < TEAMS; ++i) sum += from->parts[i * V_WIDTH + c];
      if (groups->count > 1)
        slot[r * V_SLOT + c] = sum;
      else if (r < at->rows)
        write_row(&a->of_all, at, r, c, 1, sum, most, total);
    }
  }
  if (item < at->rows && (LSE || groups->count > 1)) {
    float most, total;
    combine_statistics(&most, &total, from, item);
    if (groups->count > 1)
      slot[ROWS * V_SLOT + 2 * item] = most, slot[ROWS * V_SLOT + 2 * item + 1] = total;
    else
      write_lse(&a->of_all, at, item, most, total);
  }
}

kernel SUB_GROUP_SIZE __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void attention_split_keys(SPLIT_ARGUMENTS) {
  local float rows_here[Q_ROOM] __attribute__((aligned(16)));
  local float parts[ROOM] __attribute__((aligned(16)));
  local float logits[TEAMS * LOGITS] __attribute__((aligned(16)));
#if STAGES
  local raw_pack packs[STAGES * PACKS_OF_STAGE * GROUP] __attribute__((aligned(16)));
#endif
  local float largest_of_teams[TEAMS * ROWS], total_of_teams[TEAMS * ROWS];
  COUNTS_OF_SEQUENCES
#if ONE_LAUNCH
  local uint is_last;
#endif
  const split_arguments all = SPLIT_ALL_ARGUMENTS;
  const attention_arguments* const a = &all.of_all;
  const uint item = get_local_id(0), team = item / TEAM, lane = item % TEAM;
  local float *const my_parts = parts + team * TEAM_STRIDE, *const my_logits = logits + team * LOGITS;
#if STAGES
  local raw_pack* const my_packs = packs + item;
#endif
  work_range work;
  sequence_place in;
  find_work(&work, &in, &all, counts, false, item);

  uint next = work.begin;
  while (next < work.end) {  // uniform in the group
    split_piece piece;
    find_piece(&piece, &in, next, &work, &all);
    const place* const at = &piece.tile.at;
    // The row whose logits the work-item makes of the team's products.
    const uint my_row = row_or_last(at, lane % ROWS);
    logit_row row;
    logit_row_of(&row, a, at, my_row, own_key(at, my_row / a->group));

    float largest[ROWS], total[ROWS];
    packed_vector sums[ROWS][V_STEPS];
    UNROLLED
    for (uint r = 0; r < ROWS; ++r) {
      largest[r] = -INFINITY;
      total[r] = 0;
      UNROLLED
      for (uint x = 0; x < V_STEPS; ++x) sums[r][x] = 0;
    }
    raw_pack k_packs[KEYS_EACH * K_STEPS], v_packs[KEYS_EACH * V_STEPS];
    key_places places;
    if (piece.from < piece.to) {
      locate_keys(&places, piece.from, &piece, a, team);
#if STAGES
      for (uint i = 0; i + 1 < STAGES; ++i) {
        start_turn(local_address(my_packs), i, &places, piece.from + i * TURN, &piece, a, team, lane);
        locate_keys(&places, piece.from + (i + 1) * TURN, &piece, a, team);
      }
#else
      load_vectors(k_packs, K_STEPS, HEAD_SIZE, k, &a->of_k, &places, at, lane);
#endif
    }
    load_queries(rows_here, at, a, item);
    barrier(CLK_LOCAL_MEM_FENCE);

    UNUSED uint stage = 0;
    for (uint t = piece.from; t < piece.to; t += TURN) {
#if STAGES
      WAIT_COPIES(STAGES - 2);
      const uint free_stage = stage == 0 ? STAGES - 1 : stage - 1;
      start_turn(local_address(my_packs), free_stage, &places, t + (STAGES - 1) * TURN, &piece, a, team, lane);
      locate_keys(&places, t + STAGES * TURN, &piece, a, team);
      read_vectors(k_packs, my_packs, stage, 0, K_STEPS);
#else
      load_vectors(v_packs, V_STEPS, VALUE_SIZE, v, &a->of_v, &places, at, lane);
      locate_keys(&places, t + TURN, &piece, a, team);
#endif
      float products[KEYS_EACH][ROWS];
      multiply_keys(products, k_packs, rows_here, lane);
#if !STAGES
      load_vectors(k_packs, K_STEPS, HEAD_SIZE, k, &a->of_k, &places, at, lane);
#endif
      make_logits(my_logits, my_parts, products, t, &row, &piece, a, team, lane);
#if STAGES
      read_vectors(v_packs, my_packs, stage, KEYS_EACH * K_STEPS, V_STEPS);
      stage = stage + 1 == STAGES ? 0 : stage + 1;
#endif
      add_values(sums, largest, total, my_logits, v_packs, t, team, piece.to);
    }
#if STAGES
    WAIT_COPIES(0);  // before others go to the same places
#endif

    const team_sums of_teams = {largest_of_teams, total_of_teams, parts};
    tile_groups groups;
    groups_of_tile(&groups, &piece.tile, &work);
    combine_teams(&of_teams, sums, largest, total, &groups, at, &all, hidden(item));
#if ONE_LAUNCH
    combine_if_last(&groups, &piece.tile, &all, &is_last, parts, hidden(item));
#endif
    barrier(CLK_LOCAL_MEM_FENCE);  // before local memory is overwritten
    next = piece.stop;
  }
}

#if !ONE_LAUNCH
// Combines the tile that began in the group of this number, and was continued in others.
kernel SUB_GROUP_SIZE __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void attention_combine(SPLIT_ARGUMENTS) {
  COUNTS_OF_SEQUENCES
  const split_arguments a = SPLIT_ALL_ARGUMENTS;
  const uint item = get_local_id(0);
  work_range work;
  sequence_place in;
  find_work(&work, &in, &a, counts, true, item);
  if (work.begin == work.end) return;  // no barrier follows
  split_tile tile;
  find_split_tile(&tile, &in, work.end - 1, &a);
  if (tile.first_chunk < work.begin || tile.end_chunk <= work.end) return;
  tile_groups groups;
  groups_of_tile(&groups, &tile, &work);
  combine(&groups, &tile, &a, 0, item);
}
#endif
