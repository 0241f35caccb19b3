// Attention for a CPU: tiles of keys with an online softmax, multiplied as cl/gemm/cpu.cl does.
//
// A work-group is one work-item, which is one thread, and has TILE_M rows. "Local memory" is its share of the second-level cache: the rows'
// queries, TILE_N keys and values, packed in strips of BLOCK_N, the rows' logits for these keys, which become weights, and the sums.
// Products are made in blocks of BLOCK_M rows by BLOCK_N keys or columns of values, in vector registers. Blocks of keys that all rows
// of a block do not see are left out.
// T. Dao, "FlashAttention-2: Faster attention with better parallelism and work partitioning", 2023.
//
// Launch: one dimension, local size 1, a group for each tile of rows. Local memory: TILE_M * (HEAD_SIZE + SUMS + TILE_N + 2) + TILE_N *
// (HEAD_SIZE + SUMS) numbers, where SUMS is VALUE_SIZE, rounded up to whole strips.
#ifndef LANES
#define LANES 8  // numbers of a vector register: 4, 8, 16
#endif
#ifndef VECTORS
#define VECTORS 4  // vectors of a block's row: 2 where there are 16 registers, 4 where there are 32
#endif
#ifndef TILE_M
#define TILE_M 96  // rows, a multiple of BLOCK_M
#endif
#ifndef TILE_N
#define TILE_N 128  // keys, a multiple of BLOCK_N
#endif
#undef PACK
#define PACK LANES
#define BLOCK_M 6
#define BLOCK_N (LANES * VECTORS)
#include "common/attributes.clh"
#include "attention/operation.clh"

#define SUMS ((VALUE_SIZE + BLOCK_N - 1) / BLOCK_N * BLOCK_N)
#define UNROLLED _Pragma("unroll")
typedef JOIN(float, LANES) vector;
typedef JOIN(int, LANES) int_vector;
DEFINE_STORE_RUN(store_run, local)

// Queries, as factors of logits.
GROUP_FUNCTION void load_query(local float* to, global const ELEMENT* from, float scale) {
  uint d = 0;
  for (; d + LANES <= HEAD_SIZE; d += LANES) JOIN(vstore, LANES)(load_loose_pack(from, d) * scale, 0, to + d);
  for (; d < HEAD_SIZE; ++d) to[d] = load_value(from, d) * scale;
}

#include "common/transpose_square.clh"

// Packs whole squares of a strip of keys; returns the first element that is left. Keys that a strip lacks are 0.
GROUP_FUNCTION uint pack_squares(local float* strip, global const ELEMENT* k, const ulong* places, uint wide) {
  uint p = 0;
  for (; p + LANES <= HEAD_SIZE; p += LANES) {
    for (uint s = 0; s < BLOCK_N; s += LANES) {
      vector square[LANES];
      UNROLLED
      for (uint j = 0; j < LANES; ++j) square[j] = s + j < wide ? load_loose_pack(k + places[s + j], p) : (vector)0;
      transpose(square);
      UNROLLED
      for (uint d = 0; d < LANES; ++d) *(local vector*)(strip + (p + d) * BLOCK_N + s) = square[d];
    }
  }
  return p;
}

// Packs element p of a strip of keys as row p. `places`: of the keys in memory; `wide`: keys of the strip.
GROUP_FUNCTION void pack_keys(local float* strip, global const ELEMENT* k, const ulong* places, uint wide) {
  uint p = wide == BLOCK_N ? pack_squares(strip, k, places, BLOCK_N) : pack_squares(strip, k, places, wide);
  for (; p < HEAD_SIZE; ++p)
    for (uint j = 0; j < BLOCK_N; ++j) strip[p * BLOCK_N + j] = j < wide ? load_value(k, places[j] + p) : 0;
}

// Packs a value as a row of each strip.
GROUP_FUNCTION void pack_value(local float* to, global const ELEMENT* from) {
  for (uint c = 0; c < SUMS; c += LANES) {
    local float* part = to + c / BLOCK_N * (TILE_N * BLOCK_N) + c % BLOCK_N;
    if (c + LANES <= VALUE_SIZE) {
      JOIN(vstore, LANES)(load_loose_pack(from, c), 0, part);
    } else {
      for (uint j = 0; j < LANES; ++j) part[j] = c + j < VALUE_SIZE ? load_value(from, c + j) : 0;
    }
  }
}

// The micro-kernel: the product of BLOCK_M rows and a strip. `add`: to what is there.
GROUP_FUNCTION void multiply_block(local float* to, const uint pitch, local const float* rows, const uint row_pitch,
                                   local const float* strip, uint depth, const int add) {
  vector sums[BLOCK_M][VECTORS];
  UNROLLED
  for (uint r = 0; r < BLOCK_M; ++r)
    UNROLLED
    for (uint s = 0; s < VECTORS; ++s) sums[r][s] = 0;
  for (uint p = 0; p < depth; ++p) {
    vector right[VECTORS];
    UNROLLED
    for (uint s = 0; s < VECTORS; ++s) right[s] = ((local const vector*)(strip + p * BLOCK_N))[s];
    UNROLLED
    for (uint r = 0; r < BLOCK_M; ++r) {
      const vector left = rows[r * row_pitch + p];
      UNROLLED
      for (uint s = 0; s < VECTORS; ++s) sums[r][s] = fma(left, right[s], sums[r][s]);
    }
  }
  UNROLLED
  for (uint r = 0; r < BLOCK_M; ++r)
    UNROLLED
    for (uint s = 0; s < VECTORS; ++s) {
      local vector* x = (local vector*)(to + r * pitch) + s;
      *x = add ? *x + sums[r][s] : sums[r][s];
    }
}

// 2^x, to 2 units in the last place; 0 below 2^-126, and where that is no number, x itself. Coefficients: S. Moshier, Cephes, exp2f.
static inline vector power_of_2(vector x) {
  const vector moved = x + 12582912.0f;  // 1.5 * 2^23: the whole number next to x is in the last bits
  const vector f = x - (moved - 12582912.0f);
  vector y = 1.535336188319500e-4f;
  y = fma(y, f, 1.339887440266574e-3f);
  y = fma(y, f, 9.618437357674640e-3f);
  y = fma(y, f, 5.550332471162809e-2f);
  y = fma(y, f, 2.402264791363012e-1f);
  y = fma(y, f, 6.931472028550421e-1f);
  y = fma(y, f, 1.0f);
  y = JOIN(as_float, LANES)(JOIN(as_int, LANES)(y) + (JOIN(as_int, LANES)(moved) << 23));
  y = x < -126.0f ? (vector)0.0f : y;
  return x <= 127.0f ? y : x;
}

static inline float largest_of(vector v) {
  float each[LANES], x;
  JOIN(vstore, LANES)(v, 0, each);
  x = each[0];
  for (uint i = 1; i < LANES; ++i) x = each[i] > x ? each[i] : x;
  return x;
}
static inline float sum_of(vector v) {
  float each[LANES];
  JOIN(vstore, LANES)(v, 0, each);
  for (uint apart = LANES / 2; apart > 0; apart /= 2)
    for (uint i = 0; i < apart; ++i) each[i] += each[i + apart];
  return each[0];
}

static inline vector numbers_from(int first) {
  int each[LANES];
  for (int i = 0; i < LANES; ++i) each[i] = first + i;
  return JOIN(as_float, LANES)(JOIN(vload, LANES)(0, each));
}

// What a row needs to know of its logits.
typedef struct {
  int own, first, end, sinks;  // keys that it sees, counted from the tile's first one
  float cap, slope;
} row_limits;

#if BIAS
// A vector's biases.
static inline vector load_biases(global const bias_element* p) {
#if BIAS == 2
  return JOIN(vload, LANES)(0, p);
#else
  return load_loose_pack(p, 0);
#endif
}
#endif

// Makes logits of the products of a row with `count` keys, in whole vectors. \returns the largest one.
GROUP_FUNCTION float finish_logits(local float* row, int count, const row_limits* seen,
                                   UNUSED global const bias_element* bias) {
  local vector* x = (local vector*)row;
  const int vectors = (count + LANES - 1) / LANES;
#if BIAS
  for (int j = count; j < vectors * LANES; ++j) row[j] = 0;
#endif
#if SOFT_CAP
  for (int i = 0; i < vectors; ++i) x[i] = seen->cap * tanh(x[i]);
#endif
#if SLOPES
  for (int i = 0; i < vectors; ++i) {
    const int_vector apart = seen->own - JOIN(as_int, LANES)(numbers_from(i * LANES));
    x[i] -= seen->slope * JOIN(convert_float, LANES)(abs(apart));
  }
#endif
#if BIAS
  int biased = 0;
  for (; biased + LANES <= count; biased += LANES) x[biased / LANES] += LOG2_E * load_biases(bias + biased);
  for (; biased < count; ++biased) row[biased] += LOG2_E * load_bias(bias, biased);
#endif
  if ((seen->end < vectors * LANES) | (LEFT_LIMIT & (seen->first > 0))) {
    for (int i = 0; i < vectors; ++i) {
      const int_vector j = JOIN(as_int, LANES)(numbers_from(i * LANES));
      int_vector hidden = j >= seen->end;
#if LEFT_LIMIT
      hidden |= (j < seen->first) & (j >= seen->sinks);
#endif
      x[i] = hidden ? (vector)-INFINITY : x[i];
    }
  }
  vector most = -INFINITY;
  for (int i = 0; i < vectors; ++i) most = x[i] > most ? x[i] : most;
  return largest_of(most);
}

// Makes weights of logits. \returns their sum.
GROUP_FUNCTION float make_weights(local float* row, int count, float shift) {
  local vector* x = (local vector*)row;
  vector sum = 0;
  for (int i = 0; i * LANES < count; ++i) {
    const vector e = power_of_2(x[i] - shift);
    sum += e;
    x[i] = e;
  }
  return sum_of(sum);
}

GROUP_FUNCTION void multiply_row(local float* row, float factor) {
  local vector* x = (local vector*)row;
  for (uint i = 0; i < SUMS / LANES; ++i) x[i] *= factor;
}

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void attention_cpu(ATTENTION_ARGUMENTS) {
  local float q_tile[TILE_M * HEAD_SIZE] __attribute__((aligned(64)));
  local float k_tile[TILE_N * HEAD_SIZE] __attribute__((aligned(64)));
  local float v_tile[TILE_N * SUMS] __attribute__((aligned(64)));
  local float weights[TILE_M * TILE_N] __attribute__((aligned(64)));
  local float sums[TILE_M * SUMS] __attribute__((aligned(64)));
  local float largest[TILE_M], total[TILE_M];
  const attention_arguments a = ATTENTION_ALL_ARGUMENTS;
  place at;
  place_of_tile(&at, &a, (uint)get_group_id(0), TILE_M);
  if (at.rows == 0) return;  // no barrier follows
  const uint blocks = (at.rows + BLOCK_M - 1) / BLOCK_M;

  for (uint r = 0; r < blocks * BLOCK_M; ++r) {
    const uint row = row_or_last(&at, r);
    load_query(q_tile + r * HEAD_SIZE, q + row_place(&a, &at, row, &a.of_q), a.scale);
    largest[r] = first_largest(&a, &at, row);
    total[r] = first_sum(largest[r], largest[r]);
    for (uint c = 0; c < SUMS; ++c) sums[r * SUMS + c] = 0;
  }

  key_window window;
  window_of_tile(&window, &a, &at);
  for (int t = next_tile(-TILE_N, TILE_N, window.first, a.sinks); t < window.end; t = next_tile(t, TILE_N, window.first, a.sinks)) {
    const int keys_here = min(TILE_N, window.end - t);
    for (int first = 0; first < keys_here; first += BLOCK_N) {
      ulong places[BLOCK_N];
      const uint wide = min(BLOCK_N, keys_here - first);
      for (uint j = 0; j < wide; ++j) places[j] = key_place(&a, &at, t + first + j, &a.of_k);
      pack_keys(k_tile + first * HEAD_SIZE, k, places, wide);
    }
    for (int j = 0; j < keys_here; ++j) pack_value(v_tile + j * BLOCK_N, v + key_place(&a, &at, (uint)(t + j), &a.of_v));

    for (uint block = 0; block < blocks; ++block) {
      const uint first_row = block * BLOCK_M, last_row = at.row + min(first_row + BLOCK_M, at.rows) - 1;
      const int count = min(end_seen(own_key(&at, last_row / a.group), at.keys, a.right) - t, keys_here);
      if (count <= 0) continue;
      local float* products = weights + first_row * TILE_N;
      for (int first = 0; first < count; first += BLOCK_N)
        multiply_block(products + first, TILE_N, q_tile + first_row * HEAD_SIZE, HEAD_SIZE, k_tile + first * HEAD_SIZE, HEAD_SIZE, 0);
      for (uint r = first_row; r < first_row + BLOCK_M; ++r) {
        const uint row = row_or_last(&at, r);
        const int own = own_key(&at, row / a.group);
        row_limits seen;
        seen.own = own - t, seen.first = first_seen(own, a.left) - t, seen.end = end_seen(own, at.keys, a.right) - t, seen.sinks = a.sinks - t;
        seen.cap = a.cap, seen.slope = LOG2_E * slope_of(&a, &at, row);
        local float* logits = weights + r * TILE_N;
        const float before = largest[r];
        const float most = fmax(before, finish_logits(logits, count, &seen, biases_of(&a, &at, row) + t));
        const float shift = shift_of(most);
        const float more = make_weights(logits, count, shift);
        if (most != before) {
          const float factor = exp2(before - shift);
          multiply_row(sums + r * SUMS, factor);
          total[r] *= factor;
          largest[r] = most;
        }
        total[r] += more;
      }
      for (uint strip = 0; strip < SUMS; strip += BLOCK_N)
        multiply_block(sums + first_row * SUMS + strip, SUMS, products, TILE_N, v_tile + strip * TILE_N, count, 1);
    }
  }

  for (uint r = 0; r < at.rows; ++r) {
    multiply_row(sums + r * SUMS, share_of(total[r]));
    store_run(out, row_place(&a, &at, at.row + r, &a.of_out), sums + r * SUMS, VALUE_SIZE);
    if (LSE) lse[lse_place(&a, &at, at.row + r)] = lse_of(largest[r], total[r]);
  }
}
