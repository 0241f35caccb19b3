// layer_norm and rms_norm of long rows by persistent groups, one or a few a multiprocessor, which go from row to row. Weights and biases are in
// local memory, read from global memory once a group (kept_pairs.clh); a row is in registers (norm/row_words.clh). Where a word of results is
// stored, the word of the group's next row is loaded into its register, so that a row is on its way while the one before is written.
//
// Launch: one dimension, GROUP work-items a group, at most one for each row. Local memory: PACK * KEPT_PLACES numbers of a weight and a bias, and
// 8 * GROUP / 32 values with SHUFFLES, else GROUP + 1.
#ifndef PACK
#define PACK 1  // elements of a word
#endif
#include "norm/operation.clh"

#ifndef GROUP
#define GROUP 256  // work-items: a power of two, at least 32
#endif
#ifndef SHUFFLES
#define SHUFFLES 0  // 1: a group combines by NVIDIA's shuffles; 0: in local memory
#endif
#define FEW_ROWS 8  // of a group, below which no time is left to begin later
#include "norm/row_words.clh"
#include "norm/kept_pairs.clh"
#if SHUFFLES
#include "nvidia/clock.clh"
#endif

// The statistics of a part of a row: the number of its elements, the mean of their differences from w, and the sum of the squares of their
// differences from that mean. T. F. Chan, G. H. Golub and R. J. LeVeque, 1983: see norm/operation.clh.
typedef JOIN(VALUE, 4) statistics;

static inline VALUE sum_of(VALUE a, VALUE b) { return a + b; }
#if SHUFFLES
#include "nvidia/shuffle.clh"
#define TEAM WARP
#define SCRATCH (8 * (GROUP / WARP))
DEFINE_TEAM_SHUFFLE_ALL(team_sum, VALUE, sum_of)
#else
#define TEAM GROUP
#define SCRATCH (GROUP + 1)
DEFINE_TEAM_REDUCE(team_sum, VALUE, sum_of)
#endif

// Merges the statistics of a team of work-items, all of which receive the result.
GROUP_FUNCTION void merge_team(statistics* all, local VALUE* scratch, uint item, uint team) {
  VALUE squares = all->z;
#if OPERATION == OP_LAYER
#if SHUFFLES
  const VALUE origin = team_sum_value_of(all->w, 0);
#else
  if (item == 0) scratch[GROUP] = all->w;
  barrier(CLK_LOCAL_MEM_FENCE);
  const VALUE origin = scratch[GROUP];
#endif
  VALUE number = all->x, sum = all->x * (all->y + (all->w - origin));
  const VALUE mean = all->y + (all->w - origin);
  team_sum(&number, scratch, item, team);
  team_sum(&sum, scratch, item, team);
  sum /= number;
  const VALUE apart = mean - sum;
  squares += all->x * (apart * apart);
  all->x = number;
  all->y = sum;
  all->w = origin;
#endif
  team_sum(&squares, scratch, item, team);
  all->z = squares;
}

// The same of the group. Each turn has a scratch of its own beside that of the one before, so that one barrier a row is enough.
GROUP_FUNCTION void merge_group(statistics* all, local VALUE* scratch, uint item, uint turn) {
  (void)turn;
  merge_team(all, scratch, item, TEAM);
#if SHUFFLES
  if (GROUP == WARP) return;
  local VALUE* const of_warps = scratch + turn % 2 * (4 * GROUP / WARP);
  if (item % WARP == 0) vstore4(*all, item / WARP, of_warps);
  barrier(CLK_LOCAL_MEM_FENCE);
  *all = vload4(item % (GROUP / WARP), of_warps);
  merge_team(all, scratch, item, GROUP / WARP);
#endif
}

// The statistics of a work-item's words. `none`: 0, which compilers do not know, so that they keep no numbers of words for later, in twice the
// registers: without it NVIDIA's driver spills 332 bytes, and halves of 4096 x 50257 on an H200 take 0.50 ms instead of 0.29.
INLINED statistics count_words(uint* x, int item, int shift, int cols, uint none) {
  statistics mine = 0;
#if OPERATION == OP_LAYER
  mine.x = (VALUE)count_elements(item, shift, cols);
  pack first;
  first.all = word_values(x[1]);
  mine.w = first.each[0];  // one of the elements, so that at most as many digits are lost as they have in their number
#endif
  VALUE sum = 0, squares = 0;
  FOR_WORDS(k) {
    in_order(&x[k], &sum, &squares);
    pack v;
    v.all = word_values(x[k]);
#if OPERATION == OP_LAYER
    v.all -= mine.w;
    if (!IS_INNER(k)) v.all = values_in_row(v.all, WORD_PLACE(k, item, shift), cols, 0);
    sum += pack_sum(v.all);
#endif
    for (int e = 0; e < PACK; ++e) squares = fma(v.each[e], v.each[e], squares);
    if (PACK == 2) x[k] += none;
  }
  mine.z = squares;
#if OPERATION == OP_LAYER
  mine.y = sum / mine.x;
  mine.z -= sum * mine.y;
#endif
  return mine;
}

// Writes the results of a row, and loads the words of the next one, if any, in their places.
INLINED void write_row(uint* x, const int aligned, global RESULT* results, int shift, int cols, VALUE mean, VALUE less, VALUE factor,
                       local const kept_number* first, local const kept_number* second, global const WEIGHT* weight,
                       global const WEIGHT* bias, const bool more, global const ELEMENT* words, int next, int item) {
  FOR_WORDS(k) {
    const int i = WORD_PLACE(k, item, shift);
    pack v;
    v.all = fma(word_values(x[k]) - mean, (packed_vector)(factor), (packed_vector)(-less));
#if HAS_KEPT
    if (IS_INNER(k) || has_element(i, cols)) v.each[0] = kept_result(v.each[0], k < KEPT_WORDS ? first[k * GROUP] : kept_of(weight, bias, i));
    if (PACK == 2 && (IS_INNER(k) || has_element(i + 1, cols)))
      v.each[PACK - 1] = kept_result(v.each[PACK - 1], k < KEPT_WORDS ? second[k * GROUP] : kept_of(weight, bias, i + 1));
#endif
    store_word(results + k * GROUP * PACK, i, cols, IS_INNER(k), aligned, word_of(v.all));
    if (more) x[k] = load_row_word(words, k, item, next, cols);
    keep_order();
  }
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void norm_persistent(NORM_ARGUMENTS) {
  USE_NORM_ARGUMENTS;
  local VALUE scratch[SCRATCH];
#if HAS_KEPT
  local kept_number kept[PACK * KEPT_PLACES];
#endif
  const int item = get_local_id(0);
  const ulong all = rows * batch;
#if SHUFFLES
  // Groups that begin together would load and store together, and count while memory is idle: they begin within the time of a row, of which an H200
  // passes about 8 bytes a cycle and unit. 4096 x 50257 halves: 0.714 of copy instead of 0.683.
  if (all >= FEW_ROWS * get_num_groups(0)) wait_cycles((ulong)cols * sizeof(ELEMENT) / 8 * get_group_id(0) / get_num_groups(0));
#endif
  ulong r = get_group_id(0);
  ulong from = row_place(min(r, all - 1), rows, batch, in_offset, in_pitch, in_stride);
  int shift = from % LINE;
  global const ELEMENT* words = in + from + WORD_PLACE(0, item, shift);
  uint x[WORDS];
  FOR_WORDS(k) x[k] = load_row_word(words, k, item, shift, cols);
#if HAS_KEPT
  keep_row(kept, weight + weight_offset, bias + bias_offset, item, cols);  // merge_group() has a barrier
#endif
  for (uint turn = 0; r < all; ++turn) {
    statistics found = count_words(x, item, shift, cols, flags >> 8);
    merge_group(&found, scratch, item, turn);
    const VALUE mean = OPERATION == OP_LAYER ? found.w + found.y : 0, apart = mean - found.w;
    const VALUE left = OPERATION == OP_LAYER ? (found.w - (mean - apart)) + (found.y - apart) : 0;  // of the mean's rounding
    const VALUE factor = factor_of(found.z, cols, epsilon);
    if (item == 0 && flags & STORES_MEAN) means[means_offset + r] = mean + left;
    if (item == 0 && flags & STORES_FACTOR) factors[factors_offset + r] = factor;
    const ulong to = row_place(r, rows, batch, out_offset, out_pitch, out_stride);
    const int aligned = to % PACK == (ulong)shift % PACK;
    r += get_num_groups(0);
    const bool more = r < all;
    from = row_place(more ? r : all - 1, rows, batch, in_offset, in_pitch, in_stride);
    const int next = from % LINE;
    words = in + from + WORD_PLACE(0, item, next);
    global RESULT* const results = out + to + WORD_PLACE(0, item, shift);
#if HAS_KEPT
    local const kept_number* const first = kept + kept_place(WORD_PLACE(0, item, shift));
    local const kept_number* const second = kept + kept_place(WORD_PLACE(0, item, shift) + 1);
#else
    local const VALUE *first = scratch, *second = scratch;
#endif
    global const WEIGHT *const w = weight + weight_offset, *const b = bias + bias_offset;
    if (aligned)
      write_row(x, 1, results, shift, cols, mean, left * factor, factor, first, second, w, b, more, words, next, item);
    else
      write_row(x, 0, results, shift, cols, mean, left * factor, factor, first, second, w, b, more, words, next, item);
    shift = next;
  }
}
