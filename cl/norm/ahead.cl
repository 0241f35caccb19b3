// layer_norm and rms_norm with a row in local memory, which is read from global memory once, while the row before is written: see
// common/row_ahead.clh. Mean and squares are found at once, as the packs of a row arrive.
//
// Launch: one dimension, GROUP work-items a group; as many groups as run at once, in a loop over the rows. Local memory: PACKS packs
// of ELEMENTs, where weights are kept as many of WEIGHTs for each vector, and GROUP values, or with COPY_ASYNC 32.
#include "norm/operation.clh"
#include "norm/statistics.clh"

#ifndef GROUP
#define GROUP 256  // work-items: a power of two
#endif
#ifndef KEEP_WEIGHTS
#define KEEP_WEIGHTS 0  // 1: weight and bias are in local memory; rows are aligned
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

#if KEEP_WEIGHTS
#if WEIGHT_IS_ELEMENT
typedef raw_pack weight_pack;
typedef raw_element raw_weight;
#define KEPT_WEIGHTS(from) widened(*(from))
#else
typedef packed_vector weight_pack;
typedef VALUE raw_weight;
#define KEPT_WEIGHTS(from) (*(from))
#endif
// Copies the work-item's weights or biases; 0 for those that are not in the row.
static inline void keep_weights(local weight_pack* to, global const WEIGHT* from, int item, int cols) {
  for (int place = item; place < PACKS; place += GROUP)
    for (int k = 0; k < PACK; ++k) {
      const int i = place * PACK + k;
      ((local raw_weight*)(to + place))[k] = i < cols ? ((global const raw_weight*)from)[i] : 0;
    }
}
#endif

// Merges packs that begin with element i of the row with its statistics so far.
INLINED statistics merge_packs(statistics before, packed_vector* v, int i, int cols) {
  statistics more = (statistics)(0, 0, 0, before.w);
  count_packs(&more, v, AT_ONCE, i, GROUP * PACK, cols, cols);
  return merge(before, more);
}

// Results of elements less the mean, times the factor.
#if KEEP_WEIGHTS && HAS_WEIGHT
#define TIMES_WEIGHTS(place) *KEPT_WEIGHTS(kept_weight + (place))
#else
#define TIMES_WEIGHTS(place)
#endif
#if KEEP_WEIGHTS && HAS_BIAS
#define PLUS_BIAS(place) +KEPT_WEIGHTS(kept_bias + (place))
#else
#define PLUS_BIAS(place)
#endif
#if KEEP_WEIGHTS
#define RESULT_OF(place, x) ((x)TIMES_WEIGHTS(place) PLUS_BIAS(place))
#else
#define RESULT_OF(place, x) weighted(x, weight, weight_offset, bias, bias_offset, (place) * PACK - shift, cols, shift % PACK, flags)
#endif
// Writes the results of pack `place`, whose elements are `elements`.
#define STORE_RESULTS(place, elements)                                                                                                    \
  if ((place) * PACK - shift < cols)                                                                                                      \
    store_row_pack(out + to, (place) * PACK - shift, cols, aligned, RESULT_OF(place, ((elements) - mean - left) * factor))

// Of 4096 x 50257 halves with weight and bias, an H100 made 0.71 of copy instead of 0.64; floats, which leave no registers, 0.58 instead of 0.60.
#define HAS_INNER (WORDS_OF_PACKS && PACK == 8 && !WHOLE_PACKS && !KEEP_WEIGHTS && (HAS_WEIGHT || HAS_BIAS))
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
#if KEEP_WEIGHTS && HAS_WEIGHT
  local weight_pack kept_weight[PACKS] __attribute__((aligned(16)));
#endif
#if KEEP_WEIGHTS && HAS_BIAS
  local weight_pack kept_bias[PACKS] __attribute__((aligned(16)));
#endif
  const int item = get_local_id(0);
  const ulong all = rows * batch;
  ulong r = get_group_id(0);
  ulong from = row_place(r < all ? r : 0, rows, batch, in_offset, in_pitch, in_stride);
  ROLLED
  for (int first = item; first < CHUNKS * CHUNK; first += CHUNK) {
    UNROLLED
    for (int k = 0; k < AT_ONCE; ++k) copy_pack(kept, first + k * GROUP, in + from, from % LINE, r < all ? cols : 0);
    END_CHUNK();
  }
#if HELD > 0
  for (int c = HELD; c < CHUNKS; ++c) END_CHUNK();  // as many ends behind each chunk as for later rows
#endif
#if KEEP_WEIGHTS && HAS_WEIGHT
  keep_weights(kept_weight, weight + weight_offset, item, cols);
#endif
#if KEEP_WEIGHTS && HAS_BIAS
  keep_weights(kept_bias, bias + bias_offset, item, cols);
#endif
  for (; r < all; r += get_num_groups(0)) {
    const int shift = from % LINE;
    const bool goes_on = r + get_num_groups(0) < all;
    const ulong next = row_place(goes_on ? r + get_num_groups(0) : r, rows, batch, in_offset, in_pitch, in_stride);
    statistics mine = 0;
    packed_vector v[AT_ONCE];
    raw_pack held[HELD_PACKS];
    (void)held;
#if OPERATION == OP_LAYER
    if (cols > 0) mine.w = load_value(in + from, 0);
#endif
    UNROLLED
    for (int c = 0; c < HELD; ++c) {
      WAIT_HELD_CHUNK();
      UNROLLED
      for (int k = 0; k < AT_ONCE; ++k) {
        const int place = item + c * CHUNK + k * GROUP;
        held[c * AT_ONCE + k] = raw_of_pack(kept, place, shift, cols);
        v[k] = pack_in_row(held[c * AT_ONCE + k], place, shift, cols, 0);
      }
      UNROLLED
      for (int k = 0; k < AT_ONCE; ++k) copy_pack(kept, item + c * CHUNK + k * GROUP, in + next, next % LINE, goes_on ? cols : 0);
      END_CHUNK();
      mine = merge_packs(mine, v, (item + c * CHUNK) * PACK - shift, cols);
    }
    ROLLED
    for (int first = item + HELD * CHUNK; first < CHUNKS * CHUNK; first += CHUNK) {
      WAIT_CHUNK();
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
    for (int first = item + HELD * CHUNK; first < CHUNKS * CHUNK; first += CHUNK) {
      if (HAS_INNER && is_inner(first * PACK - shift, cols) && is_inner((first + (AT_ONCE - 1) * GROUP) * PACK - shift, cols)) {
        store_inner_packs(out + to, kept, first, shift, aligned, mean, left, factor, weight + weight_offset, bias + bias_offset);
      } else {
        UNROLLED
        for (int k = 0; k < AT_ONCE; ++k) {
          const int place = first + k * GROUP;
          STORE_RESULTS(place, kept_pack(kept, place, shift, cols, 0));
        }
      }
      UNROLLED
      for (int k = 0; k < AT_ONCE; ++k) copy_pack(kept, first + k * GROUP, in + next, next % LINE, goes_on ? cols : 0);
      END_CHUNK();
    }
    UNROLLED
    for (int n = 0; n < HELD * AT_ONCE; ++n) {
      const int place = item + n * GROUP;
      STORE_RESULTS(place, pack_in_row(held[n], place, shift, cols, 0));
    }
    from = next;
  }
}
