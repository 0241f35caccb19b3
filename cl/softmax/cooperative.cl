// Softmax of long rows, which groups share: see common/row_parts.clh. The largest element and the sum of a part are found at once, as its packs
// arrive; those of the parts are merged by a tree.
//
// Launch: one dimension, GROUP work-items a group; teams of `parts` groups, as many as run at once, in a loop over the rows. Local memory: STAGES
// times PACKS packs of ELEMENTs, GROUP values, or with COPY_ASYNC 32, and MOST_PARTS + 1 words. Global memory: `statuses`.
#include "softmax/operation.clh"

#ifndef GROUP
#define GROUP 256  // work-items: a power of two
#endif
#define STATISTICS 2
#include "common/hand_over.clh"
#include "common/row_ahead.clh"
#include "common/row_parts.clh"
#define SHUFFLES COPY_ASYNC
#include "softmax/team.clh"

// Merges packs of the row with its statistics so far.
INLINED void count_packs(const packed_vector* v, VALUE* largest, VALUE* sum) {
  VALUE most = *largest, part = 0;
  UNROLLED
  for (int k = 0; k < AT_ONCE; ++k) most = fmax(most, pack_max(v[k]));
  const VALUE moved = shift_of(most);
  UNROLLED
  for (int k = 0; k < AT_ONCE; ++k) part += pack_sum(pack_exp(v[k] - moved));
  *sum = *sum * exp(*largest - moved) + part;
  *largest = most;
}

// The statistics of the work-item's packs of a part: of a part that is kept, or else is read. One function for both, so that the compiler makes the
// same bits of them; on NVIDIA not inlined where that takes registers.
#if ELEMENT_HALF || ELEMENT_BFLOAT16
GROUP_FUNCTION
#else
COLD_FUNCTION
#endif
statistics count_part(local const raw_pack* kept, int is_kept, global const ELEMENT* row, int shift, int cols, int item) {
  VALUE largest = LEAST, sum = 0;
  ROLLED
  for (int first = item; first < CHUNKS * CHUNK; first += CHUNK) {
    packed_vector v[AT_ONCE];
    if (is_kept) {
      WAIT_PART_CHUNK();
      UNROLLED
      for (int k = 0; k < AT_ONCE; ++k) v[k] = kept_pack(kept, first + k * GROUP, shift, cols, LEAST);
      END_CHUNK();
    } else {
      UNROLLED
      for (int k = 0; k < AT_ONCE; ++k) v[k] = load_row_pack(row, (first + k * GROUP) * PACK - shift, cols, LEAST);
    }
    count_packs(v, &largest, &sum);
  }
  return (statistics)(largest, sum);
}

// Merges the statistics of a team's work-items; all of them receive the result.
GROUP_FUNCTION void merge_team(statistics* all, local VALUE* scratch, uint item, uint team) {
  VALUE most = all->x, sum;
  team_max(&most, scratch, item, team);
  sum = all->y * exp(all->x - shift_of(most));
  team_sum(&sum, scratch, item, team);
  *all = (statistics)(most, sum);
}

// Merges the statistics of the group's work-items; the first POLLERS receive the result.
GROUP_FUNCTION void merge_items(statistics* all, local VALUE* scratch, uint item) {
#if COPY_ASYNC
  merge_team(all, scratch, item, WARP);
  if (item % WARP == 0) vstore2(*all, item / WARP, scratch);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (item >= WARP) return;
  *all = item < GROUP / WARP ? vload2(item, scratch) : NO_STATISTICS;
#endif
  merge_team(all, scratch, item, POLLERS);
}

// Merges the statistics of all parts, for what finishes the row. By the first POLLERS work-items.
GROUP_FUNCTION void finish_row(local VALUE* finished, local const part_statistics* of_parts, uint parts, local VALUE* scratch, uint item, uint masked) {
  statistics all = NO_STATISTICS;
  for (uint p = item; p < parts; p += POLLERS) all = merge(all, (statistics)(of_parts[p].values[0], of_parts[p].values[1]));
  merge_team(&all, scratch, item, POLLERS);
  if (item != 0) return;
  finished[0] = shift_of(all.x);
  finished[1] = finish_of(finished[0], all.y, masked);
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void softmax_cooperative(SOFTMAX_ARGUMENTS, uint parts, uint epoch, volatile global ulong* statuses) {
  local raw_pack kept[STAGES * PACKS] __attribute__((aligned(16)));
  local VALUE scratch[COPY_ASYNC ? 64 : GROUP], finished[2];
  local part_statistics of_parts[MOST_PARTS];
  local uint is_late[MOST_PARTS], late_turn[1];  // late_turn: the last one in which a part was late
  const uint item = get_local_id(0), part = get_group_id(0) % parts;
  const ulong all = rows * batch, teams = get_num_groups(0) / parts, team = get_group_id(0) / parts;
  const bool in_place = (global const void*)(in + in_offset) == (global const void*)(out + out_offset);
  if (item == 0) late_turn[0] = 0;
  copy_first_rows(kept, in, team, teams, all, part, item, rows, cols, batch, in_offset, in_pitch, in_stride);
  row_part before = {0, 0, 0};  // the part that is written, of the row before
  VALUE moved = 0, finish = 0;
  uint turn = 1, stage = 0;
  for (ulong r = team; r < all + teams; r += teams) {
    const bool is_row = r < all;
    const ulong row = is_row ? row_place(r, rows, batch, in_offset, in_pitch, in_stride) : 0;
    const row_part mine = part_of_row(row, part, is_row ? cols : 0);
    local raw_pack* const counted = kept + stage * PACKS;
    local raw_pack* const written = kept + (stage == 0 ? STAGES - 1 : stage - 1) * PACKS;
    volatile global ulong* const status = statuses + r * ROW_STATUSES(parts);
    // Its own part, and then those that are late: one loop for both, so that the compiler makes the same bits of them.
    int end = 0;
    for (int n = -1; n < end; ++n) {
      if (n >= 0 && !is_late[n]) continue;  // uniform in the group
      const row_part p = n < 0 ? mine : part_of_row(row, n, cols);
      statistics found = count_part(counted, n < 0, in + p.at, p.at % LINE, p.cols, item);
      merge_items(&found, scratch, item);
      const part_statistics own = {{found.x, found.y}};
      if (n < 0) {
        if (item == 0) of_parts[part] = own;
        if (is_row && parts > 1 && item == 0) publish_part(status + part * STATUS_WORDS, own, epoch);
        if (in_place && item == 0) device_fence();  // before the first result
        // The results of the row before, and copies of a later one.
        const row_part next = part_of(r + (STAGES - 1) * teams, all, part, rows, cols, batch, in_offset, in_pitch, in_stride);
#if OPERATION == OP_LOGSUMEXP
        if (turn > 1 && part == 0 && item == 0) store_result(out + row_place(r - teams, rows, batch, out_offset, out_pitch, out_stride), 0, finish);
#else
        const ulong to = before.first + row_place(turn > 1 ? r - teams : r, rows, batch, out_offset, out_pitch, out_stride);
        const int shift = before.at % LINE, aligned = to % PACK == (ulong)shift % PACK;
#endif
        ROLLED
        for (int first = item; first < CHUNKS * CHUNK; first += CHUNK) {
#if OPERATION != OP_LOGSUMEXP
          UNROLLED
          for (int k = 0; k < AT_ONCE; ++k) {
            const int place = first + k * GROUP;
            const packed_vector less = kept_pack(written, place, shift, before.cols, LEAST) - moved;
            store_row_pack(out + to, place * PACK - shift, before.cols, aligned, OPERATION == OP_SOFTMAX ? pack_exp(less) * finish : less - finish);
          }
#endif
          UNROLLED
          for (int k = 0; k < AT_ONCE; ++k) copy_pack(written, first + k * GROUP, in + next.at, next.at % LINE, next.cols);
          END_CHUNK();
        }
        if (item < POLLERS) {
          const int late = poll_parts(of_parts, is_late, late_turn, turn, status, part, is_row ? parts : 0, epoch, item);
          FINISH_EARLY(late, finish_row(finished, of_parts, parts, scratch, item, masked));
        }
      } else if (item == 0) {
        take_over();  // the elements were read before
        part_statistics theirs = own;
        poll_part(status + n * STATUS_WORDS, &theirs, epoch, 1);
        of_parts[n] = theirs;
      }
      barrier(CLK_LOCAL_MEM_FENCE);
      if (n < 0 && late_turn[0] == turn) end = (int)parts;
    }
    if (!COPY_ASYNC || end > 0) {  // uniform in the group
      if (!COPY_ASYNC || item < POLLERS) finish_row(finished, of_parts, parts, scratch, item, masked);
      barrier(CLK_LOCAL_MEM_FENCE);
    }
    moved = finished[0];
    finish = finished[1];
    before = mine;
    stage = stage == STAGES - 1 ? 0 : stage + 1;
    ++turn;
  }
}
