// softmax and log_softmax of long rows by persistent groups, one or a few a multiprocessor, which go from row to row: rows are in local memory
// (common/row_sections.clh), where results take their places.
//
// Launch: one dimension, GROUP work-items a group, at most one for each row. Local memory: two rows.
#ifndef PACK
#define PACK 1  // elements of a word
#endif
#include "softmax/operation.clh"

#ifndef GROUP
#define GROUP 256  // work-items: a multiple of 32, and a power of two
#endif
#ifndef SHUFFLES
#define SHUFFLES 0  // 1: a group combines by NVIDIA's shuffles; 0: in local memory
#endif
#include "common/row_words.clh"
#include "softmax/team.clh"
#if SHUFFLES
#include "nvidia/copy_async.clh"
#endif
#include "common/row_sections.clh"
#include "common/section_copies.clh"
#include "common/fetched_rows.clh"
#define AT_ONCE 8                      // words of which the largest element is found before exponentials

// Merges elements with the largest element so far and the sum of exponentials less it.
INLINED void count_values(const packed_vector* v, const int number, VALUE* largest, VALUE* sum) {
  VALUE most = *largest, part = 0;
#pragma unroll
  for (int k = 0; k < number; ++k) most = fmax(most, pack_max(v[k]));
  const VALUE moved = shift_of(most);
#pragma unroll
  for (int k = 0; k < number; ++k) part += pack_sum(pack_exp(v[k] - moved));
  *sum = *sum * value_exp(*largest - moved) + part;
  *largest = most;
}
// The same of words [from, to), which are whole.
INLINED void count_words(const int from, const int to, section_words w, VALUE* largest, VALUE* sum) {
  packed_vector v[AT_ONCE];
  w.low += from * LANES, w.high += from * LANES;
#pragma unroll 1
  for (int k = from; k + AT_ONCE <= to; k += AT_ONCE) {
#pragma unroll
    for (int u = 0; u < AT_ONCE; ++u) v[u] = word_values(whole_section_word(&w, u));
    count_values(v, AT_ONCE, largest, sum);
    w.low += AT_ONCE * LANES, w.high += AT_ONCE * LANES;
  }
#pragma unroll
  for (int u = 0; u < (to - from) % AT_ONCE; ++u) {
    const packed_vector one = word_values(whole_section_word(&w, u));
    count_values(&one, 1, largest, sum);
  }
}

#define AHEAD (WORDS < 12 ? WORDS : 12)  // words of a work-item that are read before a result is written

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void softmax_persistent(SOFTMAX_ARGUMENTS, global uint* counter) {
  local uint kept[2 * ROW_WORDS] __attribute__((aligned(128)));
  local VALUE scratch[SHUFFLES ? 32 : GROUP];
  local ulong arrivals[BULK_COPIES ? 4 * SECTIONS : 1];
  local uint fetched[2];
  const int item = get_local_id(0), lane = item % LANES, section = item / LANES;
  const int first = section * SECTION, n = min(SECTION, cols - first), is_inner = section < SECTIONS - 1;
  const ulong all = rows * batch;
  local uint* const words = kept + section * SECTION_WORDS;
  const uint arrived = start_section(arrivals, section, lane);
  ulong r = get_group_id(0), later = r + get_num_groups(0);
  const kept_section begin = SECTION_OF(r, 0);
  load_section(&begin, in, n, lane);
  for (uint turn = 0; r < all; ++turn) {
    fetch_row(fetched, counter, later, all, turn, item);
    const kept_section s = SECTION_OF(r, turn), next = SECTION_OF(min(later, all - 1), turn + 1);
    const section_words w = words_of_section(&s, lane);
    const uint parity = turn / 2 % 2;
    const int loader = later < all ? lane : LANES;
    LOAD_NEXT_HALF(&next, in, n, 0, PENDING, loader);
    wait_half_section(&s, parity, in, n, 0, lane);
    VALUE largest = LEAST, sum = 0;
    count_words(0, HALF_WORDS, w, &largest, &sum);
    LOAD_NEXT_HALF(&next, in, n, 1, 0, loader);
    wait_half_section(&s, parity, in, n, 1, lane);
    count_words(HALF_WORDS, FULL, w, &largest, &sum);
#pragma unroll
    for (int k = FULL; k < WORDS; ++k) {
      const int i = (k * LANES + lane) * PACK;
      const packed_vector v = values_in_row(word_values(section_word(&w, k, i, n)), i, n, LEAST);
      count_values(&v, 1, &largest, &sum);
    }
    VALUE most = largest;
    team_max(&most, scratch, item, GROUP);
    const VALUE moved = shift_of(most);
    sum *= exp(largest - moved);
    team_sum(&sum, scratch, item, GROUP);
    const ulong after = fetched_row(fetched, later, all, turn);
    const VALUE finish = finish_of(moved, sum, masked);
    const row_section to = section_at(row_place(r, rows, batch, out_offset, out_pitch, out_stride) + first);
    const int is_bulk = BULK_COPIES && to.shift % CHUNK == s.at.shift % CHUNK;
    uint x[WORDS];
#pragma unroll
    for (int k = 0; k < AHEAD; ++k) x[k] = section_word(&w, k, (k * LANES + lane) * PACK, n);
    FOR_PIECES(piece) {
      FOR_WORDS_OF(piece, k) {
        if (k + AHEAD < WORDS) x[k + AHEAD] = section_word(&w, k + AHEAD, ((k + AHEAD) * LANES + lane) * PACK, n);
        const packed_vector less = word_values(x[k]) - moved;
        const packed_vector v = OPERATION == OP_SOFTMAX ? pack_exp(less) * finish : less - finish;
        set_section_word(&w, k, (k * LANES + lane) * PACK, n, word_of(v));
      }
      store_piece(&s, out, to, is_bulk, piece, n, lane);
    }
    store_rest(&s, out, to, is_bulk, n, lane);
    r = later;
    later = after;
  }
#if BULK_COPIES
  if (lane == 0) WAIT_BULK_READS(0);
#endif
}
