// Softmax of long rows by groups that stay, one or a few a multiprocessor, and go from row to row. A row is in registers (common/row_words.clh). Where
// a word of results is stored, the word of the group's next row is loaded into its register, so that a row is on its way while the one before is
// written.
//
// Launch: one dimension, GROUP work-items a group, at most one for each row. Local memory: 4 * GROUP / 32 values with SHUFFLES, else GROUP.
#include "softmax/operation.clh"

#ifndef GROUP
#define GROUP 256  // work-items: a power of two, at least 32
#endif
#ifndef SHUFFLES
#define SHUFFLES 0  // 1: a group combines by NVIDIA's shuffles; 0: in local memory
#endif
#include "common/row_words.clh"
#include "softmax/team.clh"

// The largest element and the sum of a group, which all of it receive. Each turn has a scratch of its own beside that of the one before, so that one
// barrier a row is enough.
GROUP_FUNCTION void merge_group(VALUE* largest, VALUE* sum, local VALUE* scratch, uint item, uint turn) {
  VALUE most = *largest;
#if SHUFFLES
  team_max(&most, scratch, item, WARP);
  *sum *= value_exp(*largest - shift_of(most));
  team_sum(sum, scratch, item, WARP);
  if (GROUP == WARP) {
    *largest = most;
    return;
  }
  local VALUE* const of_warps = scratch + turn % 2 * (2 * GROUP / WARP);
  if (item % WARP == 0) vstore2((statistics)(most, *sum), item / WARP, of_warps);
  barrier(CLK_LOCAL_MEM_FENCE);
  const statistics mine = vload2(item % (GROUP / WARP), of_warps);
  *largest = most = mine.x;
  *sum = mine.y;
  team_max(&most, scratch, item, GROUP / WARP);
  *sum *= value_exp(*largest - shift_of(most));
  team_sum(sum, scratch, item, GROUP / WARP);
#else
  team_max(&most, scratch, item, GROUP);
  *sum *= value_exp(*largest - shift_of(most));
  team_sum(sum, scratch, item, GROUP);
#endif
  *largest = most;
}

#ifndef MAX_OF_PAIRS
#define MAX_OF_PAIRS 0  // 1: by NVIDIA's instruction for words of two elements
#endif
#if MAX_OF_PAIRS
#include "nvidia/pair_max.clh"
#define LEAST_PAIR (ELEMENT_HALF ? 0xfc00fc00u : 0xff80ff80u)
#endif

// Values of word k, LEAST in place of others than the row's.
INLINED packed_vector values_of_word(uint word, const int k, int item, int shift, int cols) {
  const packed_vector v = word_values(word);
  return IS_INNER(k) ? v : values_in_row(v, WORD_PLACE(k, item, shift), cols, LEAST);
}

// The largest element of a work-item's words.
INLINED VALUE largest_of_words(uint* x, int item, int shift, int cols) {
#if MAX_OF_PAIRS
  uint most = LEAST_PAIR;
  FOR_WORDS(k) {
    const int i = WORD_PLACE(k, item, shift);
    uint word = x[k];
    if (!IS_INNER(k) && !has_element(i, cols)) word = (word & 0xffff0000u) | (LEAST_PAIR & 0xffffu);
    if (!IS_INNER(k) && !has_element(i + 1, cols)) word = (word & 0xffffu) | (LEAST_PAIR & 0xffff0000u);
    most = larger_pair(most, word);
  }
  return pack_max(word_values(most));
#else
  VALUE most = LEAST;
  FOR_WORDS(k) most = fmax(most, pack_max(values_of_word(x[k], k, item, shift, cols)));
  return most;
#endif
}

// The sum of their exponentials, less `moved`. `none`: 0, which compilers do not know, so that they keep no numbers of words for later.
INLINED VALUE sum_of_words(uint* x, int item, int shift, int cols, VALUE moved, uint none) {
  VALUE sum = 0, other = 0;
  FOR_WORDS(k) {
    in_order(&x[k], &sum, &other);
    sum += pack_sum(pack_exp(values_of_word(x[k], k, item, shift, cols) - moved));
    if (PACK == 2) x[k] += none;
  }
  return sum;
}

// Writes the results of a row, and loads the words of the next one, if any, in their places.
INLINED void write_row(uint* x, const int aligned, global RESULT* results, int shift, int cols, VALUE moved, VALUE finish, const bool more,
                       global const ELEMENT* words, int next, int item) {
  FOR_WORDS(k) {
    const packed_vector less = word_values(x[k]) - moved;
    const packed_vector v = OPERATION == OP_SOFTMAX ? pack_exp(less) * finish : less - finish;
    store_word(results + k * GROUP * PACK, WORD_PLACE(k, item, shift), cols, IS_INNER(k), aligned, word_of(v));
    if (more) x[k] = load_row_word(words, k, item, next, cols);
    keep_order();
  }
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void softmax_persistent(SOFTMAX_ARGUMENTS) {
  local VALUE scratch[SHUFFLES ? 4 * (GROUP / 32) : GROUP];
  const int item = get_local_id(0);
  const ulong all = rows * batch;
  ulong r = get_group_id(0);
  ulong from = row_place(min(r, all - 1), rows, batch, in_offset, in_pitch, in_stride);
  int shift = from % LINE;
  global const ELEMENT* words = in + from + WORD_PLACE(0, item, shift);
  uint x[WORDS];
  FOR_WORDS(k) x[k] = load_row_word(words, k, item, shift, cols);
  for (uint turn = 0; r < all; ++turn) {
    VALUE largest = largest_of_words(x, item, shift, cols);
    VALUE sum = sum_of_words(x, item, shift, cols, shift_of(largest), masked >> 8);
    merge_group(&largest, &sum, scratch, item, turn);
    const VALUE moved = shift_of(largest), finish = finish_of(moved, sum, masked);
    const ulong to = row_place(r, rows, batch, out_offset, out_pitch, out_stride);
    r += get_num_groups(0);
    const bool more = r < all;
    from = row_place(more ? r : all - 1, rows, batch, in_offset, in_pitch, in_stride);
    const int next = from % LINE;
    words = in + from + WORD_PLACE(0, item, next);
#if OPERATION == OP_LOGSUMEXP
    if (item == 0) store_result(out + to, 0, finish);
    if (more) FOR_WORDS(k) x[k] = load_row_word(words, k, item, next, cols);
#else
    global RESULT* const results = out + to + WORD_PLACE(0, item, shift);
    if (to % PACK == (ulong)shift % PACK)
      write_row(x, 1, results, shift, cols, moved, finish, more, words, next, item);
    else
      write_row(x, 0, results, shift, cols, moved, finish, more, words, next, item);
#endif
    shift = next;
  }
}
