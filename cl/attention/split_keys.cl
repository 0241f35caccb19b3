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

// Where the keys of a work-item's team are, of a turn: their tokens, and with PAGED the pages of these.
typedef struct {
  uint tokens[KEYS_EACH];
#if PAGED
  uint pages[KEYS_EACH];
#endif
} key_places;
// Of the turn that begins with number t of the keys that are seen.
GROUP_FUNCTION void locate_keys(key_places* keys, const attention_arguments* restrict a, const key_piece* restrict piece, uint t, uint team) {
  const place* const at = &piece->tile.at;
  UNROLLED
  for (uint e = 0; e < KEYS_EACH; ++e) {
    const uint j = key_at(&piece->tile.seen, min(t + e * TEAMS + team, piece->to - 1));
#if PAGED
    keys->pages[e] = page_of_key(a, at, j);
    keys->tokens[e] = j % a->page_size;
#else
    (void)a;
    keys->tokens[e] = at->first_key + j;
#endif
  }
}
static inline ulong vector_place(const row_layout* restrict view, const place* restrict at, const key_places* restrict keys, uint e) {
#if PAGED
  return token_place(view, at, keys->pages[e], keys->tokens[e]);
#else
  return token_place(view, at, at->sequence, keys->tokens[e]);
#endif
}
#if STAGES
// The work-item's packs of a stage: pack n is number n * GROUP from here on.
static inline local raw_pack* packs_of(local raw_pack* packs, uint stage, uint item) {
  return packs + (stage * (KEYS_EACH * (K_STEPS + V_STEPS) * GROUP) + item);
}
// Starts the copies of the work-item's packs of the keys or values to where it alone reads them; zeros behind the last key. `steps`: packs of a
// vector of `size` elements.
GROUP_FUNCTION void start_vectors(local raw_pack* to, const uint steps, const uint size, global const ELEMENT* from, const row_layout* restrict view,
                                  const key_piece* restrict piece, const key_places* restrict keys, uint t, uint team, uint lane) {
  UNROLLED
  for (uint e = 0; e < KEYS_EACH; ++e) {
    const ulong vector = vector_place(view, &piece->tile.at, keys, e);
    UNROLLED
    for (uint x = 0; x < steps; ++x) {
      const uint d = (x * TEAM + lane) * PACK;
      copy_16(local_address(to + (e * steps + x) * GROUP), from + vector + d,
              t + e * TEAMS + team < piece->to && d < size ? 16 : 0);
    }
  }
}
// Of the turn that begins with t, whose keys are `keys`.
GROUP_FUNCTION void start_turn(local raw_pack* to, const attention_arguments* restrict a, const key_piece* restrict piece,
                               const key_places* restrict keys, uint t, uint team, uint lane) {
  start_vectors(to, K_STEPS, HEAD_SIZE, a->k, &a->of_k, piece, keys, t, team, lane);
  start_vectors(to + KEYS_EACH * K_STEPS * GROUP, V_STEPS, VALUE_SIZE, a->v, &a->of_v, piece, keys, t, team, lane);
  end_copies();
}
GROUP_FUNCTION void read_vectors(raw_pack* to, local const raw_pack* from, const uint steps) {
  UNROLLED
  for (uint n = 0; n < KEYS_EACH * steps; ++n) to[n] = from[n * GROUP];
}
#else
// Loads the work-item's packs of them; behind the last key that one again, without branches. Packs behind the last element are others.
GROUP_FUNCTION void load_vectors(raw_pack* to, const uint steps, const uint size, global const ELEMENT* from, const row_layout* restrict view,
                                 const key_piece* restrict piece, const key_places* restrict keys, uint lane) {
  UNROLLED
  for (uint e = 0; e < KEYS_EACH; ++e) {
    const ulong vector = vector_place(view, &piece->tile.at, keys, e);
    UNROLLED
    for (uint x = 0; x < steps; ++x) to[e * steps + x] = *(global const raw_pack*)(from + vector + min((x * TEAM + lane) * PACK, size - PACK));
  }
}
#endif

// Copies the queries of a tile to local memory.
GROUP_FUNCTION void load_rows(local float* rows, const attention_arguments* restrict a, const place* restrict at, uint item) {
  for (uint n = item; n < Q_ROOM; n += GROUP) {
    const uint d = n % (K_STEPS * TEAM * PACK), r = n / (K_STEPS * TEAM * PACK);
    const ulong row = row_place(a, &a->of_q, at, at->row + min(r, at->rows - 1));
    rows[Q_PLACE(r, d / (TEAM * PACK), d / PACK % TEAM, d % PACK)] = d < HEAD_SIZE ? load_value(a->q, row + d) : 0;
  }
}

// Multiplies the work-item's packs of keys and rows.
GROUP_FUNCTION void multiply_keys(float products[KEYS_EACH][ROWS], const raw_pack keys_here[KEYS_EACH][K_STEPS], local const float* rows, uint lane) {
  UNROLLED
  for (uint i = 0; i < LOGITS; ++i) products[i / ROWS][i % ROWS] = 0;
  UNROLLED
  for (uint x = 0; x < K_STEPS; ++x) {
    pack key[KEYS_EACH];
    UNROLLED
    for (uint e = 0; e < KEYS_EACH; ++e) {
      const bool inside = (STAGES > 0) | (HEAD_SIZE % (TEAM * PACK) == 0) | ((x * TEAM + lane) * PACK < HEAD_SIZE);
      key[e].all = widen(inside ? keys_here[e][x] : (raw_pack)0);
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

// A row of a tile, and what it sees.
typedef struct {
  int own, first, end;
  float slope;
  global const bias_element* biases;
} row_keys;
static inline row_keys keys_of_row(const attention_arguments* restrict a, const place* restrict at, uint row) {
  row_keys x;
  x.own = own_key(at, row / a->group), x.first = first_seen(x.own, a->left), x.end = end_seen(x.own, at->keys, a->right);
  x.slope = slope_of(a, at, row);
  x.biases = bias_of(a, at, row);
  return x;
}
// Makes logits of the parts of the team's products. All that the work-item makes are of row `row`.
GROUP_FUNCTION void make_logits(local float* logits, local const float* parts, const attention_arguments* restrict a, const key_piece* restrict piece,
                                const row_keys* restrict row, uint t, uint team, uint lane) {
  for (uint i = lane; i < LOGITS; i += TEAM) {
    const uint number = t + i / ROWS * TEAMS + team;
    const int j = (int)key_at(&piece->tile.seen, number);
    float x;
    sum_parts(&x, parts, i);
    if (number >= piece->to || is_hidden(j, row->first, row->end, a->sinks))
      x = -INFINITY;
    else
      x = logit_of(x, j, row->own, a->scale, a->cap, row->slope, row->biases);
    logits[i] = x;
  }
}

// Takes the values of KEYS_EACH keys, whose logits are `logits`, into the sums of all rows: of those before `to`.
GROUP_FUNCTION void add_values(packed_vector sums[ROWS][V_STEPS], float* largest, float* total, local const float* logits,
                               const raw_pack values[KEYS_EACH][V_STEPS], uint t, uint team, uint to) {
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
      const packed_vector value = widen(STAGES || t + e * TEAMS + team < to ? values[e][x] : (raw_pack)0);
      UNROLLED
      for (uint r = 0; r < ROWS; ++r) sums[r][x] += weights[r][e] * value;
    }
}

// Adds up the sums of all teams, and writes them: the results where the group has the whole tile, else to its slot.
GROUP_FUNCTION void join_teams(local float* parts, local const float* largest_of_teams, local const float* total_of_teams,
                               const packed_vector sums[ROWS][V_STEPS], const float* largest, const attention_arguments* restrict a, const place* restrict at,
                               const tile_groups* restrict sharing, uint item) {
  const uint team = item / TEAM, lane = item % TEAM;
  UNROLLED
  for (uint r = 0; r < ROWS; ++r) {
    barrier(CLK_LOCAL_MEM_FENCE);
    float most = -INFINITY, all_total = 0;
    for (uint i = 0; i < TEAMS; ++i) most = fmax(most, largest_of_teams[i * ROWS + r]);
    const float shift = shift_of(most), my_factor = exp2(largest[r] - shift);
    for (uint i = 0; i < TEAMS; ++i) all_total += exp2(largest_of_teams[i * ROWS + r] - shift) * total_of_teams[i * ROWS + r];
    UNROLLED
    for (uint x = 0; x < V_STEPS; ++x) {
      pack part;
      part.all = sums[r][x] * my_factor;
      UNROLLED
      for (uint e = 0; e < PACK; ++e) parts[team * V_WIDTH + (x * TEAM + lane) * PACK + e] = part.each[e];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint c = item; c < VALUE_SIZE; c += GROUP) {
      float sum = 0;
      for (uint i = 0; i < TEAMS; ++i) sum += parts[i * V_WIDTH + c];
      if (sharing->groups > 1)
        sharing->slot[r * V_SLOT + c] = sum;
      else if (r < at->rows)
        write_result(a, at, r, c, sum, most, all_total);
    }
    if (sharing->groups > 1 && item == 0) {
      sharing->slot[ROWS * V_SLOT + 2 * r] = most;
      sharing->slot[ROWS * V_SLOT + 2 * r + 1] = all_total;
    }
  }
}

kernel SUB_GROUP_SIZE __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void attention_split_keys(SPLIT_ARGUMENTS) {
  const attention_arguments a = ATTENTION_ALL_ARGUMENTS;
  local float rows_here[Q_ROOM] __attribute__((aligned(16)));
  local float parts[ROOM] __attribute__((aligned(16)));
  local float logits[TEAMS * LOGITS] __attribute__((aligned(16)));
#if STAGES
  local raw_pack packs[STAGES * KEYS_EACH * (K_STEPS + V_STEPS) * GROUP] __attribute__((aligned(16)));
#endif
  local float largest_of_teams[TEAMS * ROWS], total_of_teams[TEAMS * ROWS];
#if RAGGED || KEY_LENGTHS
  local uint counts[GROUP];
#else
  local uint* const counts = 0;
#endif
#if ONE_LAUNCH
  local uint is_last;
#endif
  const uint item = get_local_id(0), team = item / TEAM, lane = item % TEAM;
  local float* const my_parts = parts + team * TEAM_STRIDE;
  local float* const my_logits = logits + team * LOGITS;
  work_place sequence;
  const work_range work = find_work(&sequence, &a, chunk, counts, item, false);

  uint next = work.begin;
  while (next < work.end) {  // uniform in the group
    const key_piece piece = piece_of_chunk(&sequence, &a, chunk, next, work.end);
    const place* const at = &piece.tile.at;
    // Of the team's products, the work-item makes logits of this row.
    const row_keys my_row = keys_of_row(&a, at, at->row + min(lane % ROWS, at->rows - 1));

    float largest[ROWS], total[ROWS];
    packed_vector sums[ROWS][V_STEPS];
    UNROLLED
    for (uint r = 0; r < ROWS; ++r) {
      largest[r] = -INFINITY;
      total[r] = 0;
      UNROLLED
      for (uint x = 0; x < V_STEPS; ++x) sums[r][x] = 0;
    }
    raw_pack k_packs[KEYS_EACH][K_STEPS], v_packs[KEYS_EACH][V_STEPS];
    key_places keys_here;
    if (piece.from < piece.to) {
      locate_keys(&keys_here, &a, &piece, piece.from, team);
#if STAGES
      for (uint i = 0; i + 1 < STAGES; ++i) {
        start_turn(packs_of(packs, i, item), &a, &piece, &keys_here, piece.from + i * TURN, team, lane);
        locate_keys(&keys_here, &a, &piece, piece.from + (i + 1) * TURN, team);
      }
#else
      load_vectors(k_packs[0], K_STEPS, HEAD_SIZE, a.k, &a.of_k, &piece, &keys_here, lane);
#endif
    }
    load_rows(rows_here, &a, at, item);
    barrier(CLK_LOCAL_MEM_FENCE);

    UNUSED uint stage = 0;
    for (uint t = piece.from; t < piece.to; t += TURN) {
#if STAGES
      WAIT_COPIES(STAGES - 2);
      local raw_pack *const read = packs_of(packs, stage, item), *const free = packs_of(packs, stage == 0 ? STAGES - 1 : stage - 1, item);
      start_turn(free, &a, &piece, &keys_here, t + (STAGES - 1) * TURN, team, lane);
      locate_keys(&keys_here, &a, &piece, t + STAGES * TURN, team);
      read_vectors(k_packs[0], read, K_STEPS);
#else
      load_vectors(v_packs[0], V_STEPS, VALUE_SIZE, a.v, &a.of_v, &piece, &keys_here, lane);
      locate_keys(&keys_here, &a, &piece, t + TURN, team);
#endif
      float products[KEYS_EACH][ROWS];
      multiply_keys(products, k_packs, rows_here, lane);
#if !STAGES
      load_vectors(k_packs[0], K_STEPS, HEAD_SIZE, a.k, &a.of_k, &piece, &keys_here, lane);
#endif
      UNROLLED
      for (uint i = 0; i < LOGITS; ++i) my_parts[i * PART_STRIDE + lane] = products[i / ROWS][i % ROWS];
      TEAM_BARRIER();
      make_logits(my_logits, my_parts, &a, &piece, &my_row, t, team, lane);
      TEAM_BARRIER();
#if STAGES
      read_vectors(v_packs[0], read + KEYS_EACH * K_STEPS * GROUP, V_STEPS);
      stage = stage + 1 == STAGES ? 0 : stage + 1;
#endif
      add_values(sums, largest, total, my_logits, v_packs, t, team, piece.to);
    }
#if STAGES
    WAIT_COPIES(0);  // before others go to the same places
#endif

    if (lane == 0) {
      UNROLLED
      for (uint r = 0; r < ROWS; ++r) {
        largest_of_teams[team * ROWS + r] = largest[r];
        total_of_teams[team * ROWS + r] = total[r];
      }
    }
    const tile_groups sharing = groups_of_tile(&piece.tile, &work, slots);
    join_teams(parts, largest_of_teams, total_of_teams, sums, largest, &a, at, &sharing, item);
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);  // before local memory is overwritten; the slot is complete
#if ONE_LAUNCH
    if (sharing.groups > 1) combine_if_last(&a, at, slots, &sharing, counters, &is_last, item);  // uniform in the group
#endif
    next = piece.stop;
  }
}

#if !ONE_LAUNCH
// Combines the tile that began in the group of this number, and was continued in others.
kernel SUB_GROUP_SIZE __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void attention_combine(SPLIT_ARGUMENTS) {
  const attention_arguments a = ATTENTION_ALL_ARGUMENTS;
#if RAGGED || KEY_LENGTHS
  local uint counts[GROUP];
#else
  local uint* const counts = 0;
#endif
  const uint item = get_local_id(0);
  work_place sequence;
  const work_range work = find_work(&sequence, &a, chunk, counts, item, true);
  if (work.begin == work.end) return;  // no barrier follows
  const split_tile tile = tile_of_chunk(&a, chunk, &sequence, work.end - 1);
  if (tile.first_chunk < work.begin || tile.end_chunk <= work.end) return;
  const tile_groups sharing = groups_of_tile(&tile, &work, slots);
  combine(&a, &tile.at, slots, get_group_id(0), sharing.groups, item);
}
#endif
