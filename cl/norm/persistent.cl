// layer_norm and rms_norm of long rows by persistent groups, one or a few a multiprocessor, which go from row to row. A work-item has the same
// columns of all rows, and keeps their weights and biases in registers; rows are in local memory (common/row_sections.clh), where results take their
// places.
//
// Launch: one dimension, GROUP work-items a group, at most one for each row. Local memory: two rows, and weights that registers do not hold.
#include "norm/persistent.clh"
#include "common/fetched_rows.clh"

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void norm_persistent(NORM_ARGUMENTS, global uint* counter) {
  USE_NORM_ARGUMENTS;
  local uint kept[STAGES * ROW_WORDS] __attribute__((aligned(128)));
  local VALUE scratch[SCRATCH];
  local ulong arrivals[BULK_COPIES ? 2 * STAGES * SECTIONS : 1];
  local uint memory[VECTORS * MEMORY_WORDS * GROUP + 1];  // one more: an array has an element
  local uint *const memory_biases = memory, *const memory_weights = memory + HAS_BIAS * MEMORY_WORDS * GROUP;
  local uint fetched[2];
  const int item = get_local_id(0), lane = item % LANES, section = item / LANES;
  const int first = section * SECTION, n = min(SECTION, cols - first), is_inner = section < SECTIONS - 1;
  const ulong all = rows * batch;
  local uint* const words = kept + section * SECTION_WORDS;
  const uint arrived = start_section(arrivals, section, lane);
  ulong r = get_group_id(0), later = r + get_num_groups(0);
  uint weights[WORDS], biases[WORDS];
#if HAS_BIAS
  const kept_section of_bias = {section_at(bias_offset + first), words, arrived, is_inner};
  load_section(&of_bias, bias, n, lane);
#endif
#if HAS_WEIGHT
  const kept_section of_weight = {section_at(weight_offset + first), words + ROW_WORDS, arrived + 16, is_inner};
  load_section(&of_weight, weight, n, lane);
#endif
#if HAS_BIAS
  for (int h = 0; h < 2; ++h) wait_half_section(&of_bias, 0, bias, n, h, lane);
  KEEP_WORDS(biases, memory_biases, &of_bias);
#endif
  const kept_section begin = SECTION_OF(r, 0);
  load_section(&begin, in, n, lane);
#if HAS_WEIGHT
  for (int h = 0; h < 2; ++h) wait_half_section(&of_weight, 0, weight, n, h, lane);
  KEEP_WORDS(weights, memory_weights, &of_weight);
#endif
  const int count = count_of_section(n, lane);

  for (uint turn = 0; r < all; ++turn) {
    fetch_row(fetched, counter, later, all, turn, item);
    const kept_section s = SECTION_OF(r, turn), next = SECTION_OF(min(later, all - 1), turn + 1);
    const section_words w = words_of_section(&s, lane);
    const uint parity = (turn / 2 + (turn % 2 ? HAS_WEIGHT : HAS_BIAS)) % 2;
    const int loader = later < all ? lane : LANES;
    LOAD_NEXT_HALF(&next, in, n, 0, PENDING, loader);
    wait_half_section(&s, parity, in, n, 0, lane);
    VALUE sum = 0, squares = 0;
    const VALUE origin = OPERATION == OP_LAYER ? first_of_section(&w) : 0;
    count_words(0, HALF_WORDS, w, origin, &sum, &squares);
    LOAD_NEXT_HALF(&next, in, n, 1, 0, loader);
    wait_half_section(&s, parity, in, n, 1, lane);
    count_words(HALF_WORDS, FULL, w, origin, &sum, &squares);
    count_last_words(&w, n, lane, origin, &sum, &squares);
    statistics found = statistics_of_sums(count, origin, sum, squares);
    merge_group(&found, scratch, item, turn);
    const ulong after = fetched_row(fetched, later, all, turn);
    const row_scale by = scale_of(found, cols, epsilon);
    if (item == 0 && flags & STORES_MEAN) means[means_offset + r] = by.mean + by.left;
    if (item == 0 && flags & STORES_FACTOR) factors[factors_offset + r] = by.factor;
    const ulong place = row_place(r, rows, batch, out_offset, out_pitch, out_stride) + first;
    write_section(&s, by, weights, memory_weights, biases, memory_biases, out, place, n, lane, item);
    r = later;
    later = after;
  }
#if BULK_COPIES
  if (lane == 0) WAIT_BULK_READS(0);
#endif
}
