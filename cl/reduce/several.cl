// Reduce with several items per work-item: the portable fast variant, for rows, vectors and segments.
//
// A work-item loads UNROLL packs of PACK elements before it uses the first, so that many loads are in flight, and accumulates
// them in LANES accumulators in registers. A team of TEAM work-items has a row, or one of its parts; part p has tiles p,
// p + parts, ... of it, in this order. At the end, once, the team's accumulators are combined in a tree. The elements before
// the first aligned pack of a row, and after the last, are loaded one at a time.
//
// Operations that do not commute (KEEP_ORDER): work-item l of part p has chunk p * TEAM + l of the row and reads it in order;
// the chunks are combined in their order.
//
// The variants differ in the team's reduction: "several" in local memory (common/work_group.clh), "sub_group" by sub-group
// functions, "shuffle" by NVIDIA's shuffle instructions.
//
// Launch: one dimension, GROUP work-items a group, GROUP / TEAM rows or parts a group; a grid-stride loop over them. Local
// memory: GROUP accumulators, and a flag.
#include "common/work_group.clh"
#include "reduce/row_part.clh"

#ifndef ONE_LAUNCH
#define ONE_LAUNCH 0  // 1: the last part of a result to finish combines all; 0: a second launch does (reduce/finish.cl)
#endif

#if ONE_LAUNCH
#include "common/hand_over.clh"
DEFINE_READ_HANDED(read_handed, accumulator)
#endif

#if KEEP_ORDER
DEFINE_TEAM_REDUCE_ORDERED(team_reduce, accumulator, combine)
#else
#include "reduce/team_reduction.clh"
#endif

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void reduce_several(REDUCE_ARGUMENTS) {
  USE_REDUCE_ARGUMENTS;
  local accumulator scratch[GROUP];
#if ONE_LAUNCH
  local uint is_last;
#endif
  const uint item = get_local_id(0);
  const uint lane = item % TEAM;
  const ulong results = rows * batch;
  const ulong jobs = results * parts;
  for (ulong base = (ulong)get_group_id(0) * (GROUP / TEAM); base < jobs; base += (ulong)get_num_groups(0) * (GROUP / TEAM)) {
    // A team without a job reaches the barriers too.
    const ulong job = base + item / TEAM;
    // 64-bit divisions are calls on GPUs. With parts or batches the plan limits their number to 32 bits.
    const ulong result = parts == 1 ? job : (uint)job / (uint)parts, part = job - result * parts;
    const ulong matrix = batch == 1 ? 0 : (uint)result / (uint)rows;
    accumulator mine = identity();
    row_source row;
    row.count = 0;
    if (job < jobs) {
      row = find_row(in, in_offset, pitch, stride, other, other_offset, bounds, bounds_offset, cols, matrix, result - matrix * rows);
      mine = reduce_part(row, lane, part, parts);
    }
    team_reduce(&mine, scratch, item, TEAM);
    if (lane == 0 && job < jobs) {
      if (parts == 1) {
        write_result(out + out_offset, result, mine, row.count);
      } else {
        partials[job] = mine;
      }
    }
#if ONE_LAUNCH
    // A counter of the finished parts of each result; the last part combines all partial results. Here TEAM is GROUP.
    if (parts > 1) {  // uniform in the launch
      if (item == 0) is_last = hand_over(counters + result) == parts - 1;
      barrier(CLK_LOCAL_MEM_FENCE);
      if (is_last) {  // uniform in the group
        take_over();
        accumulator all = identity();
#if KEEP_ORDER
        const ulong share = (parts + GROUP - 1) / GROUP;
        for (ulong p = item * share; p < min((item + 1) * share, parts); ++p)
          all = combine(all, read_handed(partials + result * parts + p));
#else
        for (ulong p = item; p < parts; p += GROUP) all = combine(all, read_handed(partials + result * parts + p));
#endif
        team_reduce(&all, scratch, item, GROUP);
        if (item == 0) {
          write_result(out + out_offset, result, all, row.count);
          counters[result] = 0;  // ready for the next launch
        }
      }
      barrier(CLK_LOCAL_MEM_FENCE);  // before is_last is overwritten
    }
#else
    (void)counters;
#endif
  }
}
