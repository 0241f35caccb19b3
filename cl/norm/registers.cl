// layer_norm and rms_norm with a row in registers, which is read from global memory once. A team of TEAM work-items has a row, UNROLL packs
// each, all of which are under way before the first is used; a group has GROUP / TEAM rows.
//
// The variants differ in how a team combines: "registers" by trees in local memory (common/work_group.clh), "shuffle" by NVIDIA's
// shuffles.
//
// Launch: one dimension, GROUP work-items a group; a grid-stride loop over the rows. Local memory: GROUP moments.
#include "norm/operation.clh"

#ifndef GROUP
#define GROUP 256  // work-items: a power of two
#endif
#ifndef TEAM
#define TEAM GROUP  // work-items of a row: a power of two
#endif
#if WORDS_OF_PACKS && PACK == 8 && (HAS_WEIGHT || HAS_BIAS || HAS_RESIDUAL)
#define ROOM_BEHIND PACK  // load_inner_pack()
#endif
#include "common/row_ends.clh"
#ifndef UNROLL
#define UNROLL 4  // packs of a work-item
#endif
#ifndef SHUFFLES
#define SHUFFLES 0  // 1: a team combines by NVIDIA's shuffles; 0: in local memory
#endif
#ifndef EARLY_WEIGHTS
#define EARLY_WEIGHTS 0  // 1: weight and bias are loaded with the row; needs WHOLE_PACKS
#endif
#ifndef PARTIAL_GROUPS
#define PARTIAL_GROUPS 0  // 1: teams of the last group may have no row: they load and store none, and reach the barriers too
#endif
#ifndef LOADS_AHEAD
#define LOADS_AHEAD 0  // 1: a group's next row is loaded while this one is normalised, and weights once; needs EARLY_WEIGHTS
#endif

#include "common/group_size.clh"
#if LIMITS_REGISTERS  // a team is a group
#include "nvidia/copy_async.clh"
#else
static inline uint hidden(uint number) { return number; }
#endif

static inline VALUE sum_of(VALUE a, VALUE b) { return a + b; }
#if SHUFFLES
#include "nvidia/shuffle.clh"
DEFINE_TEAM_SHUFFLE_ALL(team_sum, VALUE, sum_of)
#if USE_DOUBLE || HAS_SUM
// One after the other: compilers keep pairs that are shuffled in memory where many registers are taken.
GROUP_FUNCTION void team_add(moments* value, local moments* scratch, uint item, uint team) {
  VALUE x = value->x, y = value->y;
  team_sum(&x, (local VALUE*)scratch, item, team);
  team_sum(&y, (local VALUE*)scratch, item, team);
  *value = (moments)(x, y);
}
#else
DEFINE_TEAM_SHUFFLE_ALL(team_add, moments, add_moments)
#endif
#else
DEFINE_TEAM_REDUCE(team_sum, VALUE, sum_of)
DEFINE_TEAM_REDUCE(team_add, moments, add_moments)
#endif

#if EARLY_WEIGHTS
#if WEIGHT_IS_ELEMENT
typedef raw_pack weight_pack;
#define WIDENED_WEIGHTS(raw) widened(raw)
#else
typedef packed_vector weight_pack;
#define WIDENED_WEIGHTS(raw) (raw)
#endif
// The work-item's packs of weights or biases.
INLINED void load_early_weights(weight_pack to[UNROLL], global const WEIGHT* from, const row_cut* cut, int lane) {
  FOR_PACKS(u) {
    if (HAS_PACK(*cut, u, lane)) to[u] = *(global const weight_pack*)(from + (u * TEAM + lane) * PACK);
  }
}
#endif
// The work-item's packs of row x; 0 for those that are not in it.
INLINED void load_packs(held_pack x[UNROLL], global const ELEMENT* row, global const ELEMENT* residual, const row_cut* cut, int lane, int aligned) {
  FOR_PACKS(u) {
    x[u] = held_copies(0);
    if (HAS_PACK(*cut, u, lane)) x[u] = load_held_x(row, residual, place_of_pack(cut, u * TEAM + lane), aligned);
  }
}

#if (HAS_WEIGHT || HAS_BIAS) && !EARLY_WEIGHTS
// Weights or biases of a pack that begins with element i of the row. `shift`: of the row's packs.
static inline packed_vector weights_of_pack(global const WEIGHT* w, ulong offset, int i, int shift, uint flags) {
  return load_whole_weights(w + offset, i, ALIGNED_ROWS || (flags & ALIGNED_WEIGHTS && ARE_ALIGNED(offset, shift)));
}
#endif

kernel GROUP_SIZE
void norm_registers(NORM_ARGUMENTS) {
  USE_NORM_ARGUMENTS;
  local moments scratch[SHUFFLES ? (GROUP + 31) / 32 : GROUP];
  const ulong all = rows * batch;
  // The last place of a mean, by which the reciprocal may be off, is made good with the rounding of the mean.
  const VALUE share = LIMITS_REGISTERS ? native_recip((VALUE)cols) : 1 / (VALUE)cols;
  const ulong step = (ulong)get_num_groups(0) * (GROUP / TEAM);
#if LOADS_AHEAD
  const int lane_ahead = get_local_id(0) % TEAM;
  const ulong row_ahead = (ulong)get_group_id(0) * (GROUP / TEAM) + get_local_id(0) / TEAM;
  const row_cut cut_ahead = cut_row(0, cols);
  held_pack next[UNROLL];
  load_packs(next, in + row_place(min(row_ahead, all - 1), rows, batch, in_offset, in_pitch, in_stride), 0, &cut_ahead, lane_ahead, 1);
  weight_pack weights[UNROLL], biases[UNROLL];
  if (HAS_WEIGHT) load_early_weights(weights, weight + weight_offset, &cut_ahead, lane_ahead);
  if (HAS_BIAS) load_early_weights(biases, bias + bias_offset, &cut_ahead, lane_ahead);
#pragma unroll 1
#endif
  for (ulong base = (ulong)get_group_id(0) * (GROUP / TEAM); base < all; base += step) {
    const uint item = hidden(get_local_id(0));  // so what is made of it takes no registers from row to row
    const int lane = LIMITS_REGISTERS ? item : item % TEAM;
    const ulong own = base + item / TEAM;
#if PARTIAL_GROUPS
    const ulong r = own;
    const bool is_row = r < all, loads = is_row;
#else
    // All teams have a row. Unless this is hidden from NVIDIA's compiler, it loads the weights before the loop over the rows, and keeps them in
    // registers: H200, share of copy, layer_norm of 8192 x 1000 halves 0.90, without min() 0.79; rms_norm 0.90, 0.87; layer_norm of 12288 x 1000 0.86, 0.84.
    const ulong r = min(own, all - 1);
    const bool is_row = LIMITS_REGISTERS || own < all, loads = true;
#endif
    const ulong from = row_place(r, rows, batch, in_offset, in_pitch, in_stride);
    const ulong other = row_place(r, rows, batch, residual_offset, residual_pitch, residual_stride);
    const int shift = WHOLE_PACKS ? 0 : from % PACK;
    const row_cut cut = cut_row(from, cols);
    held_pack x[UNROLL];
#if LOADS_AHEAD
    FOR_PACKS(u) x[u] = next[u];
    if (base + step < all)  // uniform in the group. A team without a row has its own once more, which no other one stores.
      load_packs(next, in + row_place(PARTIAL_GROUPS && own + step >= all ? own : min(own + step, all - 1), rows, batch, in_offset, in_pitch, in_stride), 0, &cut, lane, 1);
#else
    FOR_PACKS(u) x[u] = held_copies(0);
    if (loads) load_packs(x, in + from, residual + other, &cut, lane, ARE_ALIGNED(other, shift));
#endif
    VALUE ends[ENDS + 1];  // one more: an array has an element
    FOR_ENDS(e) ends[e] = load_end_of_row(in + from, residual + other, loads ? place_of_end(&cut, e * TEAM + lane) : cols, cols);
#if HAS_SUM
    const ulong sum_to = row_place(r, rows, batch, sums_offset, sums_pitch, sums_stride);
    FOR_PACKS(u) {
      const int i = place_of_pack(&cut, u * TEAM + lane);
      if (is_row && HAS_PACK(cut, u, lane)) store_whole_pack(sums + sum_to + i, ARE_ALIGNED(sum_to, shift), values_of(x[u]));
    }
    FOR_ENDS(e) {
      const int i = place_of_end(&cut, e * TEAM + lane);
      if (is_row && i < cols) store_result(sums + sum_to, i, ends[e]);
    }
#endif
#if EARLY_WEIGHTS && !LOADS_AHEAD
    weight_pack weights[UNROLL], biases[UNROLL];
    if (HAS_WEIGHT) load_early_weights(weights, weight + weight_offset, &cut, lane);
    if (HAS_BIAS) load_early_weights(biases, bias + bias_offset, &cut, lane);
#endif
    const uint none = flags >> 8;
    (void)none;
    moments mine = 0;
    VALUE mean = 0, left = 0;
#if OPERATION == OP_LAYER
    FOR_PACKS(u) {
      mean += pack_sum(values_of(x[u]));
#if FORGETS_VALUES
      x[u] += none;
#endif
    }
    FOR_ENDS(e) mean += ends[e];
    team_sum(&mean, (local VALUE*)scratch, item, TEAM);
    mean *= share;
    FOR_PACKS(u) {
      const packed_vector apart = values_of(x[u]) - mean;
      if (HAS_PACK(cut, u, lane)) mine += (moments)(pack_sum(apart), pack_sum(apart * apart));
#if !HOLDS_RAW
      x[u] = apart;
#elif FORGETS_VALUES
      x[u] += none;
#endif
    }
    FOR_ENDS(e) {
      ends[e] = place_of_end(&cut, e * TEAM + lane) < cols ? ends[e] - mean : 0;
      mine += (moments)(ends[e], ends[e] * ends[e]);
    }
    team_add(&mine, scratch, item, TEAM);
    left = mine.x * share;  // of the mean's rounding
#else
    FOR_PACKS(u) mine.y += pack_sum(values_of(x[u]) * values_of(x[u]));
    FOR_ENDS(e) mine.y += ends[e] * ends[e];
    VALUE squares = mine.y;
    team_sum(&squares, (local VALUE*)scratch, item, TEAM);
    mine.y = squares;
#endif
    const VALUE factor = factor_of_variance((mine.y - left * mine.x) * share, epsilon);
    if (lane == 0 && is_row && flags & STORES_MEAN) means[means_offset + r] = mean + left;
    if (lane == 0 && is_row && flags & STORES_FACTOR) factors[factors_offset + r] = factor;
    const ulong to = row_place(r, rows, batch, out_offset, out_pitch, out_stride);
    FOR_PACKS(u) {
      if (!is_row || !HAS_PACK(cut, u, lane)) continue;
      const int i = place_of_pack(&cut, u * TEAM + lane);
      packed_vector results = (values_of(x[u]) - (HOLDS_RAW ? mean : 0)) * factor - left * factor;
#if HAS_WEIGHT && EARLY_WEIGHTS
      results *= WIDENED_WEIGHTS(weights[u]);
#elif HAS_WEIGHT
      results *= weights_of_pack(weight, weight_offset, i, shift, flags);
#endif
#if HAS_BIAS && EARLY_WEIGHTS
      results += WIDENED_WEIGHTS(biases[u]);
#elif HAS_BIAS
      results += weights_of_pack(bias, bias_offset, i, shift, flags);
#endif
      store_whole_pack(out + to + i, ARE_ALIGNED(to, shift), results);
    }
    FOR_ENDS(e) {
      const int i = place_of_end(&cut, e * TEAM + lane);
      if (is_row && i < cols) store_result(out + to, i, weighted_value((ends[e] - left) * factor, weight, weight_offset, bias, bias_offset, i));
    }
  }
}
