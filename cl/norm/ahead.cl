// layer_norm and rms_norm with a row in local memory, which is read from global memory once: see common/row_ahead.clh. Mean and squares are found
// at once, as the packs of a row arrive.
//
// A group has ROWS rows at once, which are APART apart, so that their packs begin alike: weights are read once for all of them.
//
// Launch: one dimension, GROUP work-items a group, in a loop over the rows. Local memory: ROWS times PACKS packs of ELEMENTs, and GROUP values, or with
// COPY_ASYNC 32.
#include "norm/operation.clh"
#include "norm/statistics.clh"

#ifndef GROUP
#define GROUP 256  // work-items: a power of two
#endif
#include "common/row_ahead.clh"
#ifndef ROWS
#define ROWS 1  // of a group at once: 1 or 2
#endif
#ifndef APART
#define APART 1  // rows after which packs begin alike
#endif
#define FOR_ROWS(k) UNROLLED for (int k = 0; k < ROWS; ++k)
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
#define HAS_INNER ((HAS_WEIGHT || HAS_BIAS) && ((WORDS_OF_PACKS && PACK == 8 && !WHOLE_PACKS) || ROWS > 1))
#define LOAD_INNER(w, i) (WHOLE_PACKS ? load_whole_weights(w, i, 1) : load_inner_weights(w, i))
// Mean in two numbers, and the reciprocal deviation: what finishes a row.
typedef struct {
  VALUE mean, left, factor;
  ulong to;  // where its results begin
  int cols;  // 0: there is no row
} row_finish;
INLINED packed_vector normalised(packed_vector v, const row_finish* row) { return (v - row->mean) * row->factor - row->left * row->factor; }

// Writes the results of a chunk of inner packs, of which `first` is the first. Weights of WEIGHED packs are under way at once, and none is tested.
INLINED void store_inner_packs(global RESULT* out, local const raw_pack* kept, int first, int shift, int aligned, const row_finish* row,
                               global const WEIGHT* weight, global const WEIGHT* bias) {
#if HAS_INNER
  UNROLLED
  for (int n = 0; n < AT_ONCE; n += WEIGHED) {
    packed_vector weights[WEIGHED], biases[WEIGHED];
    UNROLLED
    for (int k = 0; k < WEIGHED; ++k) {
      const int i = (first + (n + k) * GROUP) * PACK - shift;
      weights[k] = biases[k] = 0;
#if HAS_WEIGHT
      weights[k] = LOAD_INNER(weight, i);
#endif
#if HAS_BIAS
      biases[k] = LOAD_INNER(bias, i);
#endif
    }
    UNROLLED
    for (int k = 0; k < WEIGHED; ++k) {
      const int place = first + (n + k) * GROUP;
      FOR_ROWS(j) {
        if (ROWS > 1 && row[j].cols == 0) continue;
        packed_vector v = normalised(widened(kept[j * PACKS + place]), &row[j]);
        if (HAS_WEIGHT) v *= weights[k];
        if (HAS_BIAS) v += biases[k];
        store_row_pack(out + row[j].to, place * PACK - shift, INT_MAX, aligned, v);
      }
    }
  }
#else
  (void)out, (void)kept, (void)first, (void)shift, (void)aligned, (void)row, (void)weight, (void)bias;
#endif
}

// The statistics of a row that is on its way to local memory.
INLINED statistics count_row(local const raw_pack* kept, global const ELEMENT* row, int shift, int cols, int item) {
  statistics mine = 0;
#if OPERATION == OP_LAYER
  mine.w = middle_of_row(row, cols);
#endif
  ROLLED
  for (int first = item; first < CHUNKS * CHUNK; first += CHUNK) {
    packed_vector v[AT_ONCE];
    WAIT_CHUNK(ROWS - 1);
    UNROLLED
    for (int k = 0; k < AT_ONCE; ++k) v[k] = kept_pack(kept, first + k * GROUP, shift, cols, 0);
    END_CHUNK();
    mine = merge_packs(mine, v, first * PACK - shift, cols);
  }
  return mine;
}

// Merges the statistics of all work-items, for what finishes the row. All at once, where merging one after the other would divide for each.
GROUP_FUNCTION void finish_row(row_finish* row, statistics mine, int cols, VALUE epsilon, local VALUE* scratch, int item) {
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
  row->mean = mean_of(mine);
  row->left = rest_of_mean(mine, row->mean);
  row->factor = factor_of(squares, cols, epsilon);
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void norm_ahead(NORM_ARGUMENTS) {
  USE_NORM_ARGUMENTS;
  local raw_pack kept[ROWS * PACKS] __attribute__((aligned(16)));
  local VALUE scratch[COPY_ASYNC ? 32 : GROUP];
  const int item = get_local_id(0);
  const ulong all = rows * batch, groups = (all + APART * ROWS - 1) / (APART * ROWS) * APART;
  for (ulong g = get_group_id(0); g < groups; g += get_num_groups(0)) {
    const ulong first_row = ROWS == 1 ? g : g / APART * (APART * ROWS) + g % APART;
    row_finish row[ROWS];
    ulong from[ROWS];
    FOR_ROWS(j) {
      const ulong r = first_row + j * APART, place = ROWS == 1 || r < all ? r : min(first_row, all - 1);
      row[j].cols = ROWS == 1 || r < all ? cols : 0;
      from[j] = row_place(place, rows, batch, in_offset, in_pitch, in_stride);
      row[j].to = row_place(place, rows, batch, out_offset, out_pitch, out_stride);
    }
    const int shift = from[0] % LINE;
    FOR_ROWS(j) copy_row(kept + j * PACKS, in + from[j], shift, row[j].cols, item);
    FOR_ROWS(j) {
      const statistics mine = count_row(kept + j * PACKS, in + from[j], shift, row[j].cols, item);
      finish_row(&row[j], mine, cols, epsilon, scratch, item);
      const ulong r = first_row + j * APART;
      if (item == 0 && (ROWS == 1 || r < all) && flags & STORES_MEAN) means[means_offset + r] = row[j].mean;
      if (item == 0 && (ROWS == 1 || r < all) && flags & STORES_FACTOR) factors[factors_offset + r] = row[j].factor;
    }
    const int aligned = ARE_ALIGNED(row[0].to, shift % PACK);
    ROLLED
    for (int first = item; first < CHUNKS * CHUNK; first += CHUNK) {
      if (HAS_INNER && is_inner(first * PACK - shift, cols) && is_inner((first + (AT_ONCE - 1) * GROUP) * PACK - shift, cols)) {
        store_inner_packs(out, kept, first, shift, aligned, row, weight + weight_offset, bias + bias_offset);
        continue;
      }
      FOR_ROWS(j) {
        UNROLLED
        for (int k = 0; k < AT_ONCE; ++k) {
          const int place = first + k * GROUP, i = place * PACK - shift;
          if (i >= row[j].cols) continue;
          const packed_vector v = normalised(kept_pack(kept + j * PACKS, place, shift, row[j].cols, 0), &row[j]);
          store_row_pack(out + row[j].to, i, row[j].cols, aligned, weighted(v, weight, weight_offset, bias, bias_offset, i, cols, shift % PACK, flags));
        }
      }
    }
  }
}
