// Attention by the matrix units of AMD and Intel, through the fragment layer (common/matrix_unit.clh): half and bfloat16 with sums in
// float.
//
// As attention/tiled.cl, with the products by sub-groups. Sub-group (y, x) has SUB_M rows of the group: their products with SUB_N keys of
// a tile, and SUB_V columns of their results, which stay in fragments. Products go to the work-items of their rows, TEAM of a row, through
// local memory, and come back from the same place as weights of the inputs' type. Queries and keys lie along k as they are in memory;
// values, which lie across k, are transposed in registers, in blocks of 4 x 4. A tile's values are on their way while its keys are
// multiplied, the next keys during the softmax.
//
// Launch: GROUP work-items a group, a group for each tile of rows. Local memory: rows of Q_STRIDE elements, TILE_M of queries and TILE_N
// of keys; VALUE_COLS rows of V_STRIDE elements, in the place of the keys unless AHEAD; TILE_M * (LOGITS_STRIDE + TEAM + 1) floats, and a
// zero. The emulated unit has UNIT_SHARED elements for each sub-group more. TEAM is at least one.
#ifndef SUBS_M
#define SUBS_M 2  // sub-groups of a group, down
#endif
#ifndef SUBS_N
#define SUBS_N 2  // across
#endif
#ifndef SUB_M
#define SUB_M 32  // rows of a sub-group: a multiple of the unit's
#endif
#ifndef SUB_N
#define SUB_N 32  // keys of a sub-group: a multiple of the unit's columns
#endif
#ifndef SUB_V
#define SUB_V 32  // columns of its results: the same
#endif
#ifndef HEAD_K
#define HEAD_K 64  // HEAD_SIZE, filled up to a multiple of the unit's k
#endif
#ifndef Q_STRIDE
#define Q_STRIDE (HEAD_K + 8)  // elements from one query or key in local memory to the next: a multiple of 16 bytes
#endif
#ifndef V_STRIDE
#define V_STRIDE (SUBS_N * SUB_N + 8)  // from one column of values to the next
#endif
#ifndef ALIGNED
#define ALIGNED 0  // 1: each vector of q, k and v begins at a multiple of 16 bytes
#endif
#ifndef AHEAD
#define AHEAD 1  // 1: values and the next keys are on their way while products and softmax are made; 0: both take turns in one place
#endif
#include "attention/operation.clh"
#include "common/sub_group.clh"
#define UNIT_TYPE ELEMENT_BFLOAT16  // UNIT_HALF, UNIT_BFLOAT16
#include "common/unit_products.clh"

#define TILE_M (SUBS_M * SUB_M)  // rows of a group
#define TILE_N (SUBS_N * SUB_N)  // keys of a tile: a multiple of the unit's k
#define VALUE_COLS (SUBS_N * SUB_V)
#define GROUP (SUBS_M * SUBS_N * LANES)
#define NS (SUB_N / UNIT_N)  // fragments of a sub-group, across
#define VS (SUB_V / UNIT_N)
#define TEAM (GROUP / TILE_M)
#define EACH_N (TILE_N / TEAM)  // logits of a work-item, in fours
#define LOGITS_STRIDE (TILE_N + 4)
// Of weights in local memory: most of them would be subnormal halves, which gfx90a takes for 0.
#if ELEMENT_HALF
#define WEIGHT_SCALE 0x1p15f
#else
#define WEIGHT_SCALE 1.0f
#endif
#define COL_OF(x, s) ((s) / 4 * (4 * TEAM) + (x) * 4 + (s) % 4)
#define LINE 8  // elements of 16 bytes
#define LINES (HEAD_K / LINE)
#define K_PLACE (TILE_N * Q_STRIDE)  // elements of local memory
#define V_PLACE (VALUE_COLS * V_STRIDE)
// Lines and blocks of a work-item.
#define K_STEPS ((TILE_N * LINES + GROUP - 1) / GROUP)
#define V_BLOCKS (VALUE_COLS * TILE_N / 16)
#define V_STEPS ((V_BLOCKS + GROUP - 1) / GROUP)

// Loads 8 elements of a vector of `size` elements, from d on; zeros behind its end.
#define ELEMENT_OR_0(e) (d + (e) < size ? vector[d + (e)] : (unit_number)0)
GROUP_FUNCTION uint4 load_line(global const unit_number* vector, uint d, const uint size) {
  if (d + LINE <= size) return ALIGNED ? *(global const uint4*)(vector + d) : as_uint4(vload8(0, vector + d));
  return as_uint4((ushort8)(ELEMENT_OR_0(0), ELEMENT_OR_0(1), ELEMENT_OR_0(2), ELEMENT_OR_0(3), ELEMENT_OR_0(4), ELEMENT_OR_0(5),
                            ELEMENT_OR_0(6), ELEMENT_OR_0(7)));
}
// The same of 4.
GROUP_FUNCTION ushort4 load_four(global const unit_number* vector, uint d, const uint size) {
  if (d + 4 <= size) return ALIGNED ? *(global const ushort4*)(vector + d) : vload4(0, vector + d);
  return (ushort4)(ELEMENT_OR_0(0), ELEMENT_OR_0(1), ELEMENT_OR_0(2), ELEMENT_OR_0(3));
}

// Copies the queries of the tile to local memory; zeros where it has no row.
GROUP_FUNCTION void copy_queries(local unit_number* q_rows, const attention_arguments* a, const place* at, uint item) {
#pragma unroll 1
  for (uint n = item; n < TILE_M * LINES; n += GROUP) {
    const uint r = n / LINES, d = n % LINES * LINE;
    uint4 line = 0;
    if (r < at->rows) line = load_line((global const unit_number*)a->q + row_place(a, at, at->row + r, &a->of_q), d, HEAD_SIZE);
    *(local uint4*)(q_rows + r * Q_STRIDE + d) = line;
  }
}

// Loads a work-item's lines of the tile of keys that begins with key t; zeros from key `end` on.
GROUP_FUNCTION void fetch_keys(uint4 lines[K_STEPS], const attention_arguments* a, const place* at, int t, int end, uint item) {
  UNROLLED
  for (uint s = 0; s < K_STEPS; ++s) {
    const uint n = item + s * GROUP, j = t + n / LINES;
    lines[s] = 0;
    if ((TILE_N * LINES % GROUP == 0 || n < TILE_N * LINES) && j < (uint)end)
      lines[s] = load_line((global const unit_number*)a->k + key_place(a, at, j, &a->of_k), n % LINES * LINE, HEAD_SIZE);
  }
}
// Stores them to local memory.
GROUP_FUNCTION void put_keys(local unit_number* k_rows, const uint4 lines[K_STEPS], uint item) {
  UNROLLED
  for (uint s = 0; s < K_STEPS; ++s) {
    const uint n = item + s * GROUP;
    if (TILE_N * LINES % GROUP == 0 || n < TILE_N * LINES) *(local uint4*)(k_rows + n / LINES * Q_STRIDE + n % LINES * LINE) = lines[s];
  }
}

// A work-item's block of a tile of values: four keys from `key` on, four columns from `col` on. Neighbouring work-items have neighbouring
// keys.
typedef struct {
  uint key, col;
} block_place;
static inline block_place place_of_block(uint step, uint item) {
  const uint n = item + step * GROUP;
  block_place of;
  of.key = n % (TILE_N / 4) * 4;
  of.col = n / (TILE_N / 4) * 4;
  return of;
}
// Loads them, of the tile that begins with key t; zeros from key `end` on.
GROUP_FUNCTION void fetch_values(ushort4 lines[V_STEPS * 4], const attention_arguments* a, const place* at, int t, int end, uint item) {
  UNROLLED
  for (uint s = 0; s < V_STEPS; ++s) {
    const block_place of = place_of_block(s, item);
    UNROLLED
    for (uint i = 0; i < 4; ++i) {
      const uint j = t + of.key + i;
      lines[s * 4 + i] = 0;
      if (j < (uint)end && of.col < VALUE_SIZE)
        lines[s * 4 + i] = load_four((global const unit_number*)a->v + key_place(a, at, j, &a->of_v), of.col, VALUE_SIZE);
    }
  }
}
// Stores them to local memory, in rows along k.
GROUP_FUNCTION void put_values(local unit_number* v_cols, const ushort4 lines[V_STEPS * 4], uint item) {
  UNROLLED
  for (uint s = 0; s < V_STEPS; ++s) {
    const block_place of = place_of_block(s, item);
    if (V_BLOCKS % GROUP == 0 || of.col < VALUE_COLS) {
      const ushort4 a = lines[s * 4], b = lines[s * 4 + 1], c = lines[s * 4 + 2], d = lines[s * 4 + 3];
      local unit_number* const to = v_cols + of.col * V_STRIDE + of.key;
      *(local ushort4*)to = (ushort4)(a.s0, b.s0, c.s0, d.s0);
      *(local ushort4*)(to + V_STRIDE) = (ushort4)(a.s1, b.s1, c.s1, d.s1);
      *(local ushort4*)(to + 2 * V_STRIDE) = (ushort4)(a.s2, b.s2, c.s2, d.s2);
      *(local ushort4*)(to + 3 * V_STRIDE) = (ushort4)(a.s3, b.s3, c.s3, d.s3);
    }
  }
}

// Products of queries and keys, to rows of local memory. `logits`: the sub-group's first row and column.
GROUP_FUNCTION void multiply_keys(local float* logits, local const unit_number* q_rows, local const unit_number* k_rows,
                                  const matrix_unit* unit) {
  fragment_c products[MS * NS];
  UNROLLED
  for (uint i = 0; i < MS * NS; ++i) products[i] = 0;
  multiply_fragments(unit, products, NS, HEAD_K, q_rows, Q_STRIDE, k_rows, Q_STRIDE);
  UNROLLED
  for (uint i = 0; i < MS; ++i)
    UNROLLED
    for (uint j = 0; j < NS; ++j)
      store_c(logits + i * UNIT_M * LOGITS_STRIDE + j * UNIT_N, LOGITS_STRIDE, products[i * NS + j], unit);
}

// A work-item's row of the online softmax.
typedef struct {
  logit_row of;
  float largest, total;  // of all logits, of the work-item's weights
} softmax_row;

// `r`: the row, of the tile.
GROUP_FUNCTION void begin_row(softmax_row* row, const attention_arguments* a, const place* at, uint r) {
  const uint here = row_or_last(at, r);
  logit_row_of(&row->of, a, at, here, own_key(at, here / a->group));
  row->largest = first_largest(a, at, here);
  row->total = 0;
}

// Products become logits, of the tile that begins with key t. Returns the largest one.
GROUP_FUNCTION float make_logits(float logits[EACH_N], local const float* products, const softmax_row* row, const attention_arguments* a,
                                 int t, uint x) {
  float most = -INFINITY;
#pragma unroll
  for (uint s = 0; s < EACH_N; s += 4) vstore4(*(local const float4*)(products + COL_OF(x, s)), 0, logits + s);
#pragma unroll
  for (uint s = 0; s < EACH_N; ++s) {
    const int j = t + COL_OF(x, s);
    // Computed in either case, of key 0 where it is hidden, as in attention/tiled.cl.
    const bool hidden = is_hidden(&row->of, j, a);
    const float logit = logit_of(logits[s], hidden ? 0 : j, &row->of, a);
    logits[s] = hidden ? -INFINITY : logit;
    most = fmax(most, logits[s]);
  }
  return most;
}

// Rounds four weights to the inputs' type.
GROUP_FUNCTION void store_weights(local unit_number* to, float4 weights) {
#if ELEMENT_BFLOAT16
  *(local ushort4*)to =
      (ushort4)(bfloat16_bits(weights.s0), bfloat16_bits(weights.s1), bfloat16_bits(weights.s2), bfloat16_bits(weights.s3));
#else
  vstorea_half4_rte(weights, 0, (local half*)to);
#endif
}

// Logits become weights, in local memory. Returns the factor of the row's sums, as `most` of the team's largest logits may be a new one.
GROUP_FUNCTION float make_weights(local unit_number* weights, const float logits[EACH_N], local const float* most, softmax_row* row,
                                  uint x) {
  const float before = row->largest;
#pragma unroll
  for (uint i = 0; i < TEAM; ++i) row->largest = fmax(row->largest, most[i]);
  const float shift = shift_of(row->largest), factor = exp2(before - shift);
  row->total *= factor;
#pragma unroll
  for (uint s = 0; s < EACH_N; s += 4) {
    const float4 four = exp2(vload4(0, logits + s) - shift);
    row->total += four.s0, row->total += four.s1, row->total += four.s2, row->total += four.s3;
    store_weights(weights + COL_OF(x, s), four * WEIGHT_SCALE);
  }
  return factor;
}

// The factor of a row's results, where they lie, and its log-sum-exp. `totals`: of the team.
GROUP_FUNCTION void finish_row(local float* shares, local ulong* places, const softmax_row* row, local const float* totals,
                               const attention_arguments* a, const place* at, uint r) {
  const uint here = row_or_last(at, r);
  float sum = first_sum(first_largest(a, at, here), row->largest);
#pragma unroll
  for (uint i = 0; i < TEAM; ++i) sum += totals[i];
  shares[r] = share_of(sum) / WEIGHT_SCALE;
  places[r] = row_place(a, at, here, &a->of_out);
  if (LSE && r < at->rows) a->lse[lse_place(a, at, here)] = lse_of(row->largest, sum);
}

// Sums of the sub-group are scaled by their rows' factors, and weights x values added. `weights`, `v_cols`: its first row and column.
GROUP_FUNCTION void multiply_values(fragment_c sums[MS * VS], local const float* factors, local const unit_number* weights,
                                    local const unit_number* v_cols, const matrix_unit* unit) {
  UNROLLED
  for (uint i = 0; i < MS; ++i) {
    const fragment_c factor = load_factors(factors + i * UNIT_M, unit);
    UNROLLED
    for (uint j = 0; j < VS; ++j) sums[i * VS + j] *= factor;
  }
  multiply_fragments(unit, sums, VS, TILE_N, weights, LOGITS_STRIDE * 2, v_cols, V_STRIDE);
}

// Writes the results of a sub-group, whose first row and column these are. `shares`, `places`: factors of the group's rows, and where they
// lie.
GROUP_FUNCTION void store_results(const attention_arguments* a, const fragment_c sums[MS * VS], local const float* shares,
                                  local const ulong* places, uint row, uint col, uint rows, const matrix_unit* unit) {
  UNROLLED
  for (uint i = 0; i < MS; ++i) {
    const fragment_c share = load_factors(shares + row + i * UNIT_M, unit);
    UNROLLED
    for (uint j = 0; j < VS; ++j) {
      const uint c = col + j * UNIT_N + c_col(unit->lane);
      float each[C_ITEMS];
      STORE_SUMS(sums[i * VS + j] * share, 0, each);
      UNROLLED
      for (uint e = 0; e < C_ITEMS; ++e) {
        const uint r = row + i * UNIT_M + c_row(unit->lane, e);
        if (r < rows && c < VALUE_SIZE) store_result(a->out, places[r] + c, each[e]);
      }
    }
  }
}

// What a work-item of the group has: its sub-group's first row and number across, and its own row and number in the team of the softmax.
typedef struct {
  uint item, y, sub_x, r, x;
  matrix_unit unit;
} item_place;
GROUP_FUNCTION void place_item(item_place* me, uint item) {
  const uint sub = item / LANES;
  me->item = item;
  me->y = sub / SUBS_N * SUB_M, me->sub_x = sub % SUBS_N;
  me->r = item / TEAM, me->x = item % TEAM;
  me->unit.lane = item % LANES;
}

kernel SUB_GROUP_SIZE __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void attention_matrix_units(ATTENTION_ARGUMENTS) {
  local uint4 vectors[(TILE_M * Q_STRIDE + (AHEAD ? K_PLACE + V_PLACE : K_PLACE > V_PLACE ? K_PLACE : V_PLACE)) / LINE];
  local float logits_here[TILE_M * LOGITS_STRIDE] __attribute__((aligned(16)));
  local float exchanged[GROUP], factors[TILE_M];
  local uint zero[1];
  const attention_arguments a = ATTENTION_ALL_ARGUMENTS;
  local unit_number *const q_rows = (local unit_number*)vectors, *const k_rows = q_rows + TILE_M * Q_STRIDE;
  local unit_number *const v_cols = k_rows + (AHEAD ? K_PLACE : 0), *const weights = (local unit_number*)logits_here;
  item_place me;
  place_item(&me, get_local_id(0));
#if EMULATED_UNIT
  local uint shared[SUBS_M * SUBS_N * UNIT_SHARED * UNIT_BYTES / 4];
  me.unit.shared = (local unit_number*)shared + me.item / LANES * UNIT_SHARED;
#endif
  place at;
  place_of_tile(&at, &a, (uint)get_group_id(0), TILE_M);
  key_window seen;
  window_of_tile(&seen, &a, &at);
  softmax_row row;
  begin_row(&row, &a, &at, me.r);
  fragment_c sums[MS * VS];
  uint4 key_lines[K_STEPS];
  ushort4 value_lines[V_STEPS * 4];
  UNROLLED
  for (uint i = 0; i < MS * VS; ++i) sums[i] = 0;

  int t = next_tile(-TILE_N, TILE_N, seen.first, a.sinks);
  if (t < seen.end) {
    fetch_keys(key_lines, &a, &at, t, seen.end, me.item);
    copy_queries(q_rows, &a, &at, me.item);
    put_keys(k_rows, key_lines, me.item);
    if (me.item == 0) zero[0] = 0;
  }
#pragma unroll 1
  while (t < seen.end) {
    const int tile = t;
    t = next_tile(t, TILE_N, seen.first, a.sinks);
    barrier(CLK_LOCAL_MEM_FENCE);  // the tile's keys are there, and the weights and values before were read
    // Unknown to the compiler, which would otherwise keep places in local memory in registers from one tile to the next.
    place_item(&me, get_local_id(0) + zero[0]);
    if (AHEAD) fetch_values(value_lines, &a, &at, tile, seen.end, me.item);
    multiply_keys(logits_here + me.y * LOGITS_STRIDE + me.sub_x * SUB_N, q_rows + me.y * Q_STRIDE, k_rows + me.sub_x * SUB_N * Q_STRIDE,
                  &me.unit);
    if (AHEAD) put_values(v_cols, value_lines, me.item);
    barrier(CLK_LOCAL_MEM_FENCE);  // all products are there, and keys were read
    if (!AHEAD) {
      fetch_values(value_lines, &a, &at, tile, seen.end, me.item);
      put_values(v_cols, value_lines, me.item);
    } else if (t < seen.end) {
      fetch_keys(key_lines, &a, &at, t, seen.end, me.item);
    }
    float logits[EACH_N];
    exchanged[me.item] = make_logits(logits, logits_here + me.r * LOGITS_STRIDE, &row, &a, tile, me.x);
    barrier(CLK_LOCAL_MEM_FENCE);  // the rows' largest logits are there, and products were read
    const float factor = make_weights(weights + me.r * LOGITS_STRIDE * 2, logits, exchanged + me.r * TEAM, &row, me.x);
    if (me.x == 0) factors[me.r] = factor;
    if (AHEAD && t < seen.end) put_keys(k_rows, key_lines, me.item);
    barrier(CLK_LOCAL_MEM_FENCE);
    multiply_values(sums, factors + me.y, weights + me.y * LOGITS_STRIDE * 2, v_cols + me.sub_x * SUB_V * V_STRIDE, &me.unit);
    if (!AHEAD && t < seen.end) {
      barrier(CLK_LOCAL_MEM_FENCE);  // values were read
      fetch_keys(key_lines, &a, &at, t, seen.end, me.item);
      put_keys(k_rows, key_lines, me.item);
    }
  }

  exchanged[me.item] = row.total;
  barrier(CLK_LOCAL_MEM_FENCE);  // and queries and factors were read
  if (me.x == 0) finish_row(factors, (local ulong*)vectors, &row, exchanged + me.item, &a, &at, me.r);
  barrier(CLK_LOCAL_MEM_FENCE);
  store_results(&a, sums, factors, (local ulong*)vectors, me.y, me.sub_x * SUB_V, at.rows, &me.unit);
}
