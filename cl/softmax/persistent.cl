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
#include "softmax/section_statistics.clh"
#include "softmax/write_section.clh"

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void softmax_persistent(SOFTMAX_ARGUMENTS, global uint* counter) {
  local uint kept[STAGES * ROW_WORDS] __attribute__((aligned(128)));
  local VALUE scratch[SHUFFLES ? 32 : GROUP];
  local ulong arrivals[BULK_COPIES ? 2 * STAGES * SECTIONS : 1];
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
    count_last_words(&w, n, lane, &largest, &sum);
    VALUE most = largest;
    team_max(&most, scratch, item, GROUP);
    const VALUE moved = shift_of(most);
    sum *= exp(largest - moved);
    team_sum(&sum, scratch, item, GROUP);
    const ulong after = fetched_row(fetched, later, all, turn);
    const VALUE finish = finish_of(moved, sum, masked);
    write_section(&s, moved, finish, out, row_place(r, rows, batch, out_offset, out_pitch, out_stride) + first, n, lane);
    r = later;
    later = after;
  }
#if BULK_COPIES
  if (lane == 0) WAIT_BULK_READS(0);
#endif
}
