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

// Where the keys of the work-item's team are, of the turn that begins with number t of those that are seen.
#if PAGED
#define LOCATE_KEYS(t)                                                                                            \
  UNROLLED                                                                                                        \
  for (uint e = 0; e < KEYS_EACH; ++e) {                                                                          \
    const uint j = key_at(&seen, min((t) + e * TEAMS + team, to - 1));                                            \
    pages_here[e] = min(table[table_offset + at.sequence * table_pitch + j / page_size], pages - 1);              \
    tokens[e] = j % page_size;                                                                                    \
  }
#define VECTOR_PLACE(e, view) (view##_offset + pages_here[e] * view##_batch + at.head * view##_head + tokens[e] * view##_token)
#else
#define LOCATE_KEYS(t)                     \
  UNROLLED                                 \
  for (uint e = 0; e < KEYS_EACH; ++e) tokens[e] = at.first_key + key_at(&seen, min((t) + e * TEAMS + team, to - 1));
#define VECTOR_PLACE(e, view) (view##_offset + at.sequence * view##_batch + at.head * view##_head + tokens[e] * view##_token)
#endif
#if STAGES
// Starts the copies of the work-item's packs of them, of the turn that begins with t, to where it alone reads them; zeros behind the last key.
#define PACK_PLACE(stage, n) ((((stage) * KEYS_EACH * (K_STEPS + V_STEPS)) + (n)) * GROUP + item)
#define START_VECTORS(stage, first, steps, size, view, t)                                              \
  UNROLLED                                                                                             \
  for (uint e = 0; e < KEYS_EACH; ++e) {                                                               \
    const ulong vector = VECTOR_PLACE(e, view);                                                        \
    UNROLLED                                                                                           \
    for (uint x = 0; x < (steps); ++x) {                                                               \
      const uint d = (x * TEAM + lane) * PACK;                                                         \
      copy_16(local_address(packs + PACK_PLACE(stage, first + e * (steps) + x)), view + vector + d,    \
              (t) + e * TEAMS + team < to && d < (size) ? 16 : 0);                                     \
    }                                                                                                  \
  }
#define START_TURN(stage, t)                                                            \
  {                                                                                     \
    START_VECTORS(stage, 0, K_STEPS, HEAD_SIZE, k, t)                                   \
    START_VECTORS(stage, KEYS_EACH * K_STEPS, V_STEPS, VALUE_SIZE, v, t)                \
    end_copies();                                                                       \
  }
#define READ_VECTORS(to_packs, stage, first, steps)                                     \
  UNROLLED                                                                              \
  for (uint n = 0; n < KEYS_EACH * (steps); ++n) to_packs[n / (steps)][n % (steps)] = packs[PACK_PLACE(stage, first + n)];
#else
// Loads the work-item's packs of them; behind the last key that one again, without branches. Packs behind the last element are others.
#define LOAD_VECTORS(to_packs, steps, size, view)                                             \
  UNROLLED                                                                                    \
  for (uint e = 0; e < KEYS_EACH; ++e) {                                                      \
    const ulong vector = VECTOR_PLACE(e, view);                                               \
    UNROLLED                                                                                  \
    for (uint x = 0; x < (steps); ++x)                                                        \
      to_packs[e][x] = *(global const raw_pack*)(view + vector + min((x * TEAM + lane) * PACK, (size) - PACK + 0u)); \
  }
#endif

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

kernel SUB_GROUP_SIZE __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void attention_split_keys(SPLIT_ARGUMENTS) {
  local float rows_here[Q_ROOM] __attribute__((aligned(16)));
  local float parts[ROOM] __attribute__((aligned(16)));
  local float logits[TEAMS * LOGITS] __attribute__((aligned(16)));
#if STAGES
  local raw_pack packs[STAGES * KEYS_EACH * (K_STEPS + V_STEPS) * GROUP] __attribute__((aligned(16)));
#endif
  local float largest_of_teams[TEAMS * ROWS], total_of_teams[TEAMS * ROWS];
#if RAGGED || KEY_LENGTHS
  local uint counts[GROUP];
#endif
#if ONE_LAUNCH
  local uint is_last;
#endif
  const uint item = get_local_id(0), team = item / TEAM, lane = item % TEAM;
  local float* const my_parts = parts + team * TEAM_STRIDE;
  local float* const my_logits = logits + team * LOGITS;
  uint all = 0, groups = 0, begin = 0, end = 0, s = 0, before = 0;
  FIND_WORK(false)

  uint next = begin;
  while (next < end) {  // uniform in the group
    SKIP_SEQUENCES(next)
    FIND_TILE(next)
    const uint stop = min(end, end_chunk);
    const uint from = (next - first_chunk) * chunk, to = min((stop - first_chunk) * chunk, seen.count);
    // The row whose logits the work-item makes of the team's products.
    const uint my_row = at.row + min(lane % ROWS, at.rows - 1);
    const int own = own_key(&at, my_row / group), own_first = first_seen(own, left), own_end = end_seen(own, at.keys, right);
    const float slope = SLOPES ? OF_HEAD(at, my_row, slopes) : 0;
    global const bias_element* const biases = bias + BIAS_PLACE(at, my_row);

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
    uint tokens[KEYS_EACH];
#if PAGED
    uint pages_here[KEYS_EACH];
#endif
    if (from < to) {
      LOCATE_KEYS(from)
#if STAGES
      for (uint i = 0; i + 1 < STAGES; ++i) {
        START_TURN(i, from + i * TURN)
        LOCATE_KEYS(from + (i + 1) * TURN)
      }
#else
      LOAD_VECTORS(k_packs, K_STEPS, HEAD_SIZE, k)
#endif
    }
    for (uint n = item; n < ROWS * K_STEPS * TEAM * PACK; n += GROUP) {
      const uint d = n % (K_STEPS * TEAM * PACK), r = n / (K_STEPS * TEAM * PACK);
      const ulong row = ROW_PLACE(at, at.row + min(r, at.rows - 1), q);
      rows_here[Q_PLACE(r, d / (TEAM * PACK), d / PACK % TEAM, d % PACK)] = d < HEAD_SIZE ? load_value(q, row + d) : 0;
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    UNUSED uint stage = 0;
    for (uint t = from; t < to; t += TURN) {
#if STAGES
      WAIT_COPIES(STAGES - 2);
      const uint free_stage = stage == 0 ? STAGES - 1 : stage - 1;
      START_TURN(free_stage, t + (STAGES - 1) * TURN)
      LOCATE_KEYS(t + STAGES * TURN)
      READ_VECTORS(k_packs, stage, 0, K_STEPS)
#else
      LOAD_VECTORS(v_packs, V_STEPS, VALUE_SIZE, v)
      LOCATE_KEYS(t + TURN)
#endif
      float products[KEYS_EACH][ROWS];
      multiply_keys(products, k_packs, rows_here, lane);
#if !STAGES
      LOAD_VECTORS(k_packs, K_STEPS, HEAD_SIZE, k)
#endif
      UNROLLED
      for (uint i = 0; i < LOGITS; ++i) my_parts[i * PART_STRIDE + lane] = products[i / ROWS][i % ROWS];
      TEAM_BARRIER();
      for (uint i = lane; i < LOGITS; i += TEAM) {
        const uint number = t + i / ROWS * TEAMS + team;
        const int j = (int)key_at(&seen, number);
        float x;
        sum_parts(&x, my_parts, i);
        if (number >= to || is_hidden(j, own_first, own_end, sinks))
          x = -INFINITY;
        else
          x = logit_of(x, j, own, scale, cap, slope, biases);
        my_logits[i] = x;
      }
      TEAM_BARRIER();
#if STAGES
      READ_VECTORS(v_packs, stage, KEYS_EACH * K_STEPS, V_STEPS)
      stage = stage + 1 == STAGES ? 0 : stage + 1;
#endif
      add_values(sums, largest, total, my_logits, v_packs, t, team, to);
    }
#if STAGES
    WAIT_COPIES(0);  // before others go to the same places
#endif

    // All teams together.
    if (lane == 0) {
      UNROLLED
      for (uint r = 0; r < ROWS; ++r) {
        largest_of_teams[team * ROWS + r] = largest[r];
        total_of_teams[team * ROWS + r] = total[r];
      }
    }
    const uint first_group = group_of_chunk(first_chunk, all, groups);
    const uint groups_here = group_of_chunk(end_chunk - 1, all, groups) - first_group + 1;
    global float* const slot = slots + (2 * get_group_id(0) + (get_group_id(0) == first_group)) * SLOT;
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
        float sum[1] = {0};
        for (uint i = 0; i < TEAMS; ++i) sum[0] += parts[i * V_WIDTH + c];
        if (groups_here > 1)
          slot[r * V_SLOT + c] = sum[0];
        else if (r < at.rows)
          WRITE_ROW(r, c, 1, sum, most, all_total)
      }
      if (groups_here > 1 && item == 0) slot[ROWS * V_SLOT + 2 * r] = most, slot[ROWS * V_SLOT + 2 * r + 1] = all_total;
    }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);  // before local memory is overwritten; the slot is complete
#if ONE_LAUNCH
    if (groups_here > 1) {  // uniform in the group
      if (item == 0) is_last = hand_over(counters + first_group) == groups_here - 1;
      barrier(CLK_LOCAL_MEM_FENCE);
      if (is_last) {  // uniform in the group
        take_over();
        COMBINE(first_group, groups_here)
        if (item == 0) counters[first_group] = 0;  // ready for the next launch
      }
      barrier(CLK_LOCAL_MEM_FENCE);  // before is_last is overwritten
    }
#endif
    next = stop;
  }
}

#if !ONE_LAUNCH
// Combines the tile that began in the group of this number, and was continued in others.
kernel SUB_GROUP_SIZE __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void attention_combine(SPLIT_ARGUMENTS) {
#if RAGGED || KEY_LENGTHS
  local uint counts[GROUP];
#endif
  const uint item = get_local_id(0);
  uint all = 0, groups = 0, begin = 0, end = 0, s = 0, before = 0;
  FIND_WORK(true)
  if (begin == end) return;  // no barrier follows
  FIND_TILE(end - 1)
  if (first_chunk < begin || end_chunk <= end) return;
  const uint first_group = get_group_id(0), groups_here = group_of_chunk(end_chunk - 1, all, groups) - first_group + 1;
  COMBINE(first_group, groups_here)
}
#endif
