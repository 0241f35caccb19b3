// layer_norm and rms_norm of rows of which local memory does not hold two, by teams of persistent groups: as norm/persistent.cl, but each group has a
// part of the rows of its team (common/row_teams.clh). Results of a row are written a turn after its statistics were published.
//
// Launch: one dimension, GROUP work-items a group; teams of PARTS groups, as many as run at once, at most one for each row. Local memory: STAGES
// parts of rows, and weights that registers do not hold. Global memory: `statuses`, ROW_STATUSES(PARTS) words a row; `counter`, 0 before and after.
#ifndef STAGES
#define STAGES 3  // parts of rows in local memory or on their way
#endif
#include "norm/persistent.clh"
#include "norm/part_statistics.clh"
#include "common/late_parts.clh"
#define FETCHER (GROUP - LANES)  // the work-item that fetches rows: of another warp than the one that publishes statistics
#define FOR_NEXT_ROWS(t) _Pragma("unroll") for (int t = 0; t < STAGES - 1; ++t)

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void norm_persistent_parts(NORM_ARGUMENTS, uint epoch, volatile global ulong* statuses, global uint* counter) {
  USE_NORM_ARGUMENTS;
  local uint kept[STAGES * ROW_WORDS] __attribute__((aligned(128)));
  local VALUE scratch[SCRATCH];
  local ulong arrivals[BULK_COPIES ? 2 * STAGES * SECTIONS : 1];
  local uint memory[VECTORS * MEMORY_WORDS * GROUP + 1];  // one more: an array has an element
  local uint *const memory_biases = memory, *const memory_weights = memory + HAS_BIAS * MEMORY_WORDS * GROUP;
  local part_statistics of_parts[PARTS];
  local uint late_turns[2], is_late[1], fetched[2];
  const int item = get_local_id(0), lane = item % LANES, section = item / LANES;
  const uint part = get_group_id(0) % PARTS, polled = POLLED_PART(item), polled_part = min(polled, (uint)PARTS - 1);
  const int first = (part * SECTIONS + section) * SECTION, n = min(SECTION, cols - first);
  const int is_inner = section < SECTIONS - 1 || part < PARTS - 1;
  const uint all = rows * batch, team = get_group_id(0) / PARTS, teams = get_num_groups(0) / PARTS;
  const bool in_place = (global const void*)(in + in_offset) == (global const void*)(out + out_offset);
  local uint* const words = kept + section * SECTION_WORDS;
  const int leads = item == FETCHER && leads_team(statuses + team * ROW_STATUSES(PARTS), epoch);
  const uint arrived = start_section(arrivals, section, lane);
  uint weights[WORDS], biases[WORDS];
  if (item == 0) late_turns[0] = late_turns[1] = 0;
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
#if HAS_WEIGHT
  for (int h = 0; h < 2; ++h) wait_half_section(&of_weight, 0, weight, n, h, lane);
  KEEP_WORDS(weights, memory_weights, &of_weight);
#endif
  const int count = count_of_section(n, lane);
  uint r[STAGES - 1], last = team;  // rows of this turn and of the next ones, and of the turn before
  FOR_NEXT_ROWS(t) r[t] = team + t * teams;
  for (int t = 0; t < STAGES - 2; ++t) {
    const kept_section begin = SECTION_OF(min(r[t], all - 1), t);
    load_section(&begin, in, n, r[t] < all ? lane : LANES);
  }
  kept_section before = {section_at(0), words + (STAGES - 1) * ROW_WORDS, arrived, is_inner};  // of which no element is written

  for (uint turn = 0; last < all; ++turn) {
    // Behind the last row that one is counted once more, so that all turns have the same barriers.
    const int is_row = r[0] < all, loads = r[STAGES - 2] < all, has_ticket = turn > 0 && r[STAGES - 3] < all;
    const uint now = is_row ? turn : turn - 1, stage = now % STAGES;
    const kept_section s = SECTION_OF(is_row ? r[0] : last, now), next = SECTION_OF(min(r[STAGES - 2], all - 1), turn + STAGES - 2);
    const section_words w = words_of_section(&s, lane);
    const uint parity = (now / STAGES + (stage == 0 ? HAS_BIAS : stage == 1 ? HAS_WEIGHT : 0)) % 2;
    const int loader = loads ? lane : LANES;
    volatile global ulong* const status = statuses + last * ROW_STATUSES(PARTS);
    const ulong seen = item == FETCHER && has_ticket ? status[TICKET_WORD] : 0;
    const uint ticket = leads && loads ? atomic_inc(counter) : 0;
    part_statistics theirs;
    const int is_published = look_at_part(status + polled_part * STATUS_WORDS, &theirs, epoch) | (turn == 0);
    wait_half_section(&s, parity, in, n, 0, lane);
    VALUE sum = 0, squares = 0;
    const VALUE origin = OPERATION == OP_LAYER ? first_of_section(&w) : 0;
    count_words(0, HALF_WORDS, w, origin, &sum, &squares);
    LOAD_NEXT_HALF(&next, in, n, 0, PENDING, loader);
    wait_half_section(&s, parity, in, n, 1, lane);
    count_words(HALF_WORDS, FULL, w, origin, &sum, &squares);
    count_last_words(&w, n, lane, origin, &sum, &squares);
    await_part(is_published, status + polled_part * STATUS_WORDS, &theirs, epoch, late_turns, turn);
    LOAD_NEXT_HALF(&next, in, n, 1, 0, loader);
    if (item == FETCHER)
      fetched[turn % 2] = has_ticket ? await_row(status, seen, STAGES * teams, all, epoch) : turn == 0 ? (STAGES - 1) * teams + team : all;
    statistics found = statistics_of_sums(count, origin, sum, squares);
    merge_group(&found, scratch, item, turn);
    if (GROUP == LANES) SYNC_SECTION();
    if (leads && loads) publish_ticket(statuses + r[0] * ROW_STATUSES(PARTS), ticket, all - (STAGES - 2) * teams - 1, counter, epoch);
    if (item == 0) {
      if (is_row) publish_part(statuses + r[0] * ROW_STATUSES(PARTS) + part * STATUS_WORDS, published_of(found), epoch);
      if (in_place) device_fence();  // before the first result of the row
    }
    if (turn > 0 && late_turns[turn % 2] == turn) {  // uniform in the group
      const ulong row = row_place(last, rows, batch, in_offset, in_pitch, in_stride);
      find_late_parts(of_parts, is_late, scratch, status, part, epoch, in, row, cols, section, lane, item, turn + 1);
      theirs = of_parts[polled_part];
    }
    statistics row = statistics_of_part(theirs, elements_of_part(polled, cols));
    merge_team(&row, scratch, item, PART_TEAM);
    const row_scale by = scale_of(row, cols, epsilon);
    const uint stores = item == 0 && part == 0 && turn > 0 ? flags : 0;
    if (stores & STORES_MEAN) means[means_offset + last] = by.mean + by.left;
    if (stores & STORES_FACTOR) factors[factors_offset + last] = by.factor;
    const ulong place = row_place(last, rows, batch, out_offset, out_pitch, out_stride) + first;
    write_section(&before, by, weights, memory_weights, biases, memory_biases, out, place, turn == 0 ? 0 : n, lane, item);
    before = s;
    last = r[0];
    FOR_NEXT_ROWS(t) if (t < STAGES - 2) r[t] = r[t + 1];
    r[STAGES - 2] = fetched[turn % 2];
  }
#if BULK_COPIES
  if (lane == 0) WAIT_BULK_READS(0);
#endif
}
