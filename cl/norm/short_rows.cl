// layer_norm and rms_norm of short rows that follow each other without gaps, in local memory: common/row_tile.clh. A team of TEAM work-items
// has a row; results take the places of elements.
//
// Launch: one dimension, GROUP work-items a group, a group for each `piece` rows. Local memory: GROUP * UNROLL packs of 16 bytes, and GROUP
// moments where teams combine there.
#include "norm/operation.clh"

#ifndef SHUFFLES
#define SHUFFLES 0  // 1: a team, of at most a warp, combines by NVIDIA's shuffles; 0: in local memory
#endif
#define TILE_RESULTS
#include "common/row_tile.clh"

static inline VALUE sum_of(VALUE a, VALUE b) { return a + b; }
#if SHUFFLES
#include "nvidia/shuffle.clh"
DEFINE_TEAM_SHUFFLE_ALL(team_sum, VALUE, sum_of)
// One after the other: compilers keep pairs of doubles that are shuffled in memory.
GROUP_FUNCTION void team_add(moments* value, local moments* scratch, uint item, uint team) {
  VALUE x = value->x, y = value->y;
  team_sum(&x, (local VALUE*)scratch, item, team);
  team_sum(&y, (local VALUE*)scratch, item, team);
  *value = (moments)(x, y);
}
#else
DEFINE_TEAM_REDUCE(team_sum, VALUE, sum_of)
DEFINE_TEAM_REDUCE(team_add, moments, add_moments)
#endif

#if HAS_WEIGHT || HAS_BIAS
// Of STEP elements, which are aligned as those of rows are.
static inline void load_weights_of_step(value_step* v, global const WEIGHT* from) {
#if WEIGHT_IS_ELEMENT
  raw_step raw;
  raw.all = *(global const tile_step*)from;
#pragma unroll
  for (uint k = 0; k < STEP; ++k) v->each[k] = number_of(&raw, k);
#else
  v->all = *(global const value_vector*)from;
#endif
}
#endif

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void norm_short_rows(NORM_ARGUMENTS, uint piece) {
  USE_NORM_ARGUMENTS;
  (void)in_stride;  // rows have no gaps
  local uint4 tile[TILE_PACKS];
#if SHUFFLES || TEAM == 1
  local moments scratch[1];
#else
  local moments scratch[GROUP];
#endif
  const uint item = get_local_id(0), lane = item % TEAM;
  const ulong first = get_group_id(0) * (ulong)piece, begin = in_offset + first * cols;
  const uint here = (uint)min(rows * batch - first, (ulong)piece), shift = (uint)(begin % PACK);
  // Of all rows, as a work-item has the same places of each.
#if HAS_WEIGHT
  value_step weights[EACH];
  FOR_STEPS(e) if (HAS_STEP(e, lane, cols)) load_weights_of_step(&weights[e], weight + weight_offset + (e * TEAM + lane) * STEP);
#endif
#if HAS_BIAS
  value_step biases[EACH];
  FOR_STEPS(e) if (HAS_STEP(e, lane, cols)) load_weights_of_step(&biases[e], bias + bias_offset + (e * TEAM + lane) * STEP);
#endif
  read_rows(tile, (global const tile_element*)in + (begin - shift), shift + here * cols, item);
  barrier(CLK_LOCAL_MEM_FENCE);
  const VALUE share = 1 / (VALUE)cols;
  for (uint turn = 0; turn < here; turn += GROUP / TEAM) {
    // A team without a row loads and stores nothing, and reaches the barriers too.
    const uint number = turn + item / TEAM;
    const bool is_row = number < here;
    local tile_element* row = (local tile_element*)tile + shift + (is_row ? number : 0) * cols;
    value_step v[EACH];
    load_steps(v, row, is_row, lane, cols, 0);
    moments mine = 0;
    VALUE mean = 0;
#if OPERATION == OP_LAYER
    FOR_STEPS(e) FOR_STEP(k) mean += v[e].each[k];
    if (TEAM > 1) team_sum(&mean, (local VALUE*)scratch, item, TEAM);
    mean *= share;  // the last place, by which it may be off, is made good with its rounding
#endif
    FOR_STEPS(e) FOR_STEP(k) {
      const VALUE apart = HAS_STEP(e, lane, cols) ? v[e].each[k] - mean : 0;
      mine += (moments)(OPERATION == OP_LAYER ? apart : 0, apart * apart);
      v[e].each[k] = apart;
    }
    if (TEAM > 1) team_add(&mine, scratch, item, TEAM);
    const VALUE left = mine.x * share;  // of the mean's rounding
    const VALUE factor = factor_of_variance((mine.y - left * mine.x) * share, epsilon);
    if (!is_row) continue;
    if (lane == 0 && flags & STORES_MEAN) means[means_offset + first + number] = mean + left;
    if (lane == 0 && flags & STORES_FACTOR) factors[factors_offset + first + number] = factor;
    FOR_STEPS(e) {
      FOR_STEP(k) {
        v[e].each[k] = v[e].each[k] * factor - left * factor;
#if HAS_WEIGHT
        v[e].each[k] *= weights[e].each[k];
#endif
#if HAS_BIAS
        v[e].each[k] += biases[e].each[k];
#endif
      }
      if (HAS_STEP(e, lane, cols)) store_step(row + (e * TEAM + lane) * STEP, &v[e]);
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  write_rows(tile, (global tile_element*)out, out_offset + first * cols, shift, here * cols, item);
}
