// Scan in two launches (reduce, then scan), the second one; or in one launch, if a row is one chunk.
//
// A team has a chunk of a row. It first combines the aggregates of all chunks before it, which the first launch stored in the
// scratch (scan/reduce.cl), and then scans the chunk's tiles in their order. Rows of one chunk need no first launch, and
// short rows share a work-group.
//
// Launch: one dimension, GROUP work-items a group, a team for each chunk of each row; several teams only if rows have one
// chunk. Local memory: see scan/tile.clh.
#include "scan/tile.clh"
#include "common/sub_group.clh"

#ifndef ALWAYS_SCAN
#define ALWAYS_SCAN 0  // 1: no barrier in a branch, which PoCL 3.1 miscompiles in small groups
#endif

kernel SUB_GROUP_SIZE __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void scan_parts(SCAN_ARGUMENTS) {
  USE_SCAN_ARGUMENTS;
  local ACC tile[TILE_ITEMS];
  local state local_states[LOCAL_STATES];
  DECLARE_HEADS;
  const uint item = get_local_id(0), lane = item % TEAM, base = item - lane;
  const ulong job = (ulong)get_group_id(0) * (GROUP / TEAM) + item / TEAM;
  const int works = job < rows * batch * parts;  // a team without a chunk reaches the barriers too
  const ulong number = !works ? 0 : parts == 1 ? job : rows * batch == 1 ? 0 : job / parts;
  const ulong matrix = batch == 1 ? 0 : number / rows;
  const ulong part = works ? job - number * parts : 0;
  global const ELEMENT* row = in + in_offset + matrix * in_stride + (number - matrix * rows) * in_pitch;
  global RESULT* results = out + out_offset + matrix * out_stride + (number - matrix * rows) * out_pitch;
  const uint lead = lead_of(row);  // 0, but for rows of one part
  const ulong begin = part * piece, end = parts == 1 ? cols + lead : min(begin + piece, cols);
  const ACC start = start_value(initial_bits, has_initial);
  state before = start_state(start), mine, total;

  // The aggregates of all chunks before this one: each work-item combines neighbouring ones, then a scan of the team.
  if (ALWAYS_SCAN || parts > 1) {  // uniform in the launch
    global const state* earlier = (global const state*)scratch + number * parts;
    const ulong share = (part + TEAM - 1) / TEAM;
    mine = no_state();
    for (ulong p = lane * share; p < min((lane + 1) * share, part); ++p) mine = join(mine, earlier[p]);
    team_scan(&mine, &total, local_states, item, TEAM);
    before = join(before, total);
  }

  const ulong count = works ? cols : 0;
  for (ulong first = begin; first < end; first += STEP) {  // the same trip count for all teams: they have whole rows
    ACC s[HELD];
    uint begins;
    scan_tile(s, &begins, &mine, &total, tile, local_states, row, first, count, item, base, heads, marks + marks_offset,
              marks_count);
    write_results(s, begins, join(before, mine), tile, results, first, count, item, base + lead, start, has_initial);
    before = join(before, total);
    barrier(CLK_LOCAL_MEM_FENCE);  // before the next elements are stored
  }
}
