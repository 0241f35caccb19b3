// Reduce segments, second launch: the parts of long segments that the first one has listed (reduce/segments.cl).
//
// Groups take the parts in turn. The group that finishes a segment's last part combines the partial results in their order. The last group of
// all leaves the counters at zero.
//
// Launch: one dimension, GROUP work-items a group, any number of groups. Local memory: GROUP accumulators, and a flag.
#define TEAM GROUP
#include "common/work_group.clh"
#include "reduce/segment_parts.clh"
#include "common/hand_over.clh"
DEFINE_READ_HANDED(read_handed, accumulator)
DEFINE_TEAM_REDUCE(team_reduce, accumulator, combine)

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void reduce_segment_parts(global const ELEMENT* restrict in, ulong in_offset, global const BOUND* restrict bounds, ulong bounds_offset,
                          ulong cols, global RESULT* restrict out, ulong out_offset, global const segment_part* list,
                          global accumulator* partials, global uint* finished, global uint* counters, uint room) {
  local accumulator scratch[GROUP];
  local uint is_last;
  const uint item = get_local_id(0), listed = min(counters[0], room);
  for (uint place = get_group_id(0); place < listed; place += get_num_groups(0)) {
    const segment_part one = list[place];
    if (one.part == NO_PART) continue;  // uniform in the group
    const row_source row = find_segment(in, in_offset, bounds, bounds_offset, cols, one.segment);
    const uint parts = count_parts(row.count);
    accumulator mine = reduce_part(row, item, one.part, parts);
    team_reduce(&mine, scratch, item, GROUP);
    if (item == 0) {
      partials[one.base + one.part] = mine;  // its place: this takes fewer registers
      is_last = hand_over(finished + one.base) == parts - 1;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (is_last) {  // uniform in the group
      take_over();
      mine = identity();
      for (uint p = item; p < parts; p += GROUP) mine = combine(mine, read_handed(partials + one.base + p));
      team_reduce(&mine, scratch, item, GROUP);
      if (item == 0) write_result(out + out_offset, one.segment, mine, row.count);
    }
    barrier(CLK_LOCAL_MEM_FENCE);  // before is_last is overwritten
  }
  if (item == 0 && hand_over(counters + 1) == get_num_groups(0) - 1) counters[0] = 0, counters[1] = 0;
}
