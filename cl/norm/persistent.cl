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
#include "norm/word_statistics.clh"
#if SHUFFLES
#include "nvidia/clock.clh"
#endif

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
