// layer_norm and rms_norm with a row in local memory, which is read from global memory once: see common/row_ahead.clh. Mean and squares are found
// at once, as the packs of a row arrive.
//
// Launch: one dimension, GROUP work-items a group, in a loop over the rows. Local memory: PACKS packs of ELEMENTs, and GROUP values, or with
// COPY_ASYNC 32.
#include "norm/operation.clh"
#include "norm/statistics.clh"

#ifndef GROUP
#define GROUP 256  // work-items: a power of two
#endif
#include "common/row_ahead.clh"
#ifndef WEIGHED
#define WEIGHED (WEIGHT_IS_ELEMENT && AT_ONCE % 2 == 0 ? 2 : 1)  // packs of a work-item whose weights are under way at once: divides AT_ONCE
#endif

static inline VALUE sum_of(VALUE a, VALUE b) { return a + b; }
#if COPY_ASYNC
#include "nvidia/shuffle.clh"
DEFINE_TEAM_SHUFFLE_ALL(team_sum, VALUE, sum_of)
#else
DEFINE_TEAM_REDUCE(team_sum, VALUE, sum_of)
#endif

// Merges packs that begin with element i of the row with its statistics so far.
INLINED statistics merge_packs(statistics before, packed_vector* v, int i, int cols) {
  statistics more = (statistics)(0, 0, 0, before.w);
  count_packs(&more, v, AT_ONCE, i, GROUP * PACK, cols, cols);
  return merge(before, more);
}

// Of 4096 x 50257 halves with weight and bias, an H100 made 0.71 of copy instead of 0.64; floats, which leave no registers, 0.58 instead of 0.60.
#define HAS_INNER (WORDS_OF_PACKS && PACK == 8 && !WHOLE_PACKS && (HAS_WEIGHT || HAS_BIAS))
// Writes the results of a chunk of inner packs, of which `first` is the first. Weights of WEIGHED packs are under way at once, and none is tested.
INLINED void store_inner_packs(global RESULT* row, local const raw_pack* kept, int first, int shift, int aligned, VALUE mean, VALUE left,
                               VALUE factor, global const WEIGHT* weight, global const WEIGHT* bias) {
#if HAS_INNER
  UNROLLED
  for (int n = 0; n < AT_ONCE; n += WEIGHED) {
    packed_vector weights[WEIGHED], biases[WEIGHED];
    UNROLLED
    for (int k = 0; k < WEIGHED; ++k) {
      const int i = (first + (n + k) * GROUP) * PACK - shift;
      weights[k] = biases[k] = 0;
#if HAS_WEIGHT
      weights[k] = load_inner_weights(weight, i);
#endif
#if HAS_BIAS
      biases[k] = load_inner_weights(bias, i);
#endif
    }
    UNROLLED
    for (int k = 0; k < WEIGHED; ++k) {
      const int place = first + (n + k) * GROUP;
      packed_vector v = (widened(kept[place]) - mean - left) * factor;
      if (HAS_WEIGHT) v *= weights[k];
      if (HAS_BIAS) v += biases[k];
      store_row_pack(row, place * PACK - shift, INT_MAX, aligned, v);
    }
  }
#else
  (void)row, (void)kept, (void)first, (void)shift, (void)aligned, (void)mean, (void)left, (void)factor, (void)weight, (void)bias;
#endif
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void norm_ahead(NORM_ARGUMENTS) {
  USE_NORM_ARGUMENTS;
  local raw_pack kept[PACKS] __attribute__((aligned(16)));
  local VALUE scratch[COPY_ASYNC ? 32 : GROUP];
  const int item = get_local_id(0);
  for (ulong r = get_group_id(0); r < rows * batch; r += get_num_groups(0)) {
    const ulong from = row_place(r, rows, batch, in_offset, in_pitch, in_stride);
    const int shift = from % LINE;
    copy_row(kept, in + from, shift, cols, item);
    statistics mine = 0;
#if OPERATION == OP_LAYER
    mine.w = middle_of_row(in + from, cols);
#endif
    ROLLED
    for (int first = item; first < CHUNKS * CHUNK; first += CHUNK) {
      packed_vector v[AT_ONCE];
      WAIT_CHUNK(0);
      UNROLLED
      for (int k = 0; k < AT_ONCE; ++k) v[k] = kept_pack(kept, first + k * GROUP, shift, cols, 0);
      END_CHUNK();
      mine = merge_packs(mine, v, first * PACK - shift, cols);
    }
    // All work-items' at once, where merging one after the other would divide for each.
    VALUE squares = mine.z;
#if OPERATION == OP_LAYER
    VALUE sum = mine.x * mine.y;
    team_sum(&sum, scratch, item, GROUP);
    sum /= (VALUE)cols;
    const VALUE apart = mine.y - sum;
    squares += mine.x * (apart * apart);
    mine.y = sum;
#endif
    team_sum(&squares, scratch, item, GROUP);
    mine.z = squares;
    const VALUE mean = mean_of(mine), left = rest_of_mean(mine, mean), factor = factor_of(mine.z, cols, epsilon);
    if (item == 0 && flags & STORES_MEAN) means[means_offset + r] = mean;
    if (item == 0 && flags & STORES_FACTOR) factors[factors_offset + r] = factor;
    const ulong to = row_place(r, rows, batch, out_offset, out_pitch, out_stride);
    const int aligned = ARE_ALIGNED(to, shift % PACK);
    ROLLED
    for (int first = item; first < CHUNKS * CHUNK; first += CHUNK) {
      if (HAS_INNER && is_inner(first * PACK - shift, cols) && is_inner((first + (AT_ONCE - 1) * GROUP) * PACK - shift, cols)) {
        store_inner_packs(out + to, kept, first, shift, aligned, mean, left, factor, weight + weight_offset, bias + bias_offset);
        continue;
      }
      UNROLLED
      for (int k = 0; k < AT_ONCE; ++k) {
        const int i = (first + k * GROUP) * PACK - shift;
        if (i >= cols) continue;
        const packed_vector v = (kept_pack(kept, first + k * GROUP, shift, cols, 0) - mean - left) * factor;
        store_row_pack(out + to, i, cols, aligned, weighted(v, weight, weight_offset, bias, bias_offset, i, cols, shift % PACK, flags));
      }
    }
  }
}
