// Reduce, second launch: combines the partial results of each result, in their order.
//
// Partial result p of result r is partials[r * result_step + p * part_step]. A team of TEAM work-items has a result; each
// work-item combines every TEAM-th part, or neighbouring parts (KEEP_ORDER); then a tree combines the work-items' values. Neighbouring
// work-items read neighbours: parts of a result, or the same part of several (COLUMNS).
//
// Launch: one dimension, GROUP work-items a group, GROUP / TEAM results a group; a grid-stride loop over the results.
// Local memory: GROUP accumulators.
#include "reduce/operation.clh"
#include "common/work_group.clh"

#ifndef GROUP
#define GROUP 256  // work-items: a power of two
#endif
#ifndef TEAM
#define TEAM GROUP  // work-items of a result: a power of two
#endif
#ifndef COLUMNS
#define COLUMNS 0  // 1: the same part of several results lies together
#endif

#if KEEP_ORDER
DEFINE_TEAM_REDUCE_ORDERED(team_reduce, accumulator, combine)
#else
DEFINE_TEAM_REDUCE(team_reduce, accumulator, combine)
#endif

// `count`: elements of a result, for the mean.
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void reduce_finish(global const accumulator* restrict partials, ulong results, ulong parts, ulong result_step,
                   ulong part_step, ulong count, global RESULT* restrict out, ulong out_offset) {
  local accumulator scratch[GROUP];
  // Of a team the numbers follow each other.
  const uint item = COLUMNS ? get_local_id(0) % (GROUP / TEAM) * TEAM + get_local_id(0) / (GROUP / TEAM) : get_local_id(0);
  for (ulong base = (ulong)get_group_id(0) * (GROUP / TEAM); base < results; base += (ulong)get_num_groups(0) * (GROUP / TEAM)) {
    const ulong result = base + item / TEAM;
    accumulator mine = identity();
    if (result < results) {
      const ulong lane = item % TEAM, share = KEEP_ORDER ? (parts + TEAM - 1) / TEAM : parts;
      const ulong end = KEEP_ORDER ? min((lane + 1) * share, parts) : parts;
      for (ulong p = KEEP_ORDER ? lane * share : lane; p < end; p += KEEP_ORDER ? 1 : TEAM)
        mine = combine(mine, partials[result * result_step + p * part_step]);
    }
    team_reduce(&mine, scratch, item, TEAM);
    if (item % TEAM == 0 && result < results) write_result(out + out_offset, result, mine, count);
  }
}
