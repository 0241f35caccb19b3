// Sorts the results of each row, which stand in the order of their places: tiles in local memory (PHASE 0), then pairs of sorted
// runs are merged (PHASE 1). An element's rank in the other run is found by bisection; elements of the first run stand before their
// equals in the second one, so that the order of places stays.
//
// What is read and written takes turns between the temporary arrays and the outputs, so that the last launch writes the outputs.
//
// Launch: one dimension, GROUP work-items a group, `parts` groups for each row. PHASE 0: turn 1 writes the outputs. PHASE 1: a
// work-item for each result; the first launch merges runs of `piece` results, each next one runs of twice as many. turn: twice
// the number of launches before, and 1 more where the outputs are read.
#include "top_k/rows.clh"

#ifndef PHASE
#define PHASE 0
#endif
#ifndef GROUP
#define GROUP 256
#endif
#ifndef TILE
#define TILE 2048  // at most 65536
#endif
#define ITEMS ((TILE + GROUP - 1) / GROUP)
#define AT(i) (i)
#include "top_k/network.clh"

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void top_k_order(TOP_K_ARGUMENTS) {
  USE_TOP_K_ARGUMENTS;
  const uint item = get_local_id(0), group = (uint)get_group_id(0), part = group % parts;
  const ulong row = group / parts;
  global KEY* spare_values = (global KEY*)images + row * k;
  global PLACE* spare_places = spare + row * k;
  // The tiles of PHASE 0 are written where the first merge reads.
  global KEY* from_values = (turn & 1) ? values + row_start(row, rows, values_offset, values_pitch, values_stride) : spare_values;
  global PLACE* from_places = (turn & 1) ? places + row_start(row, rows, places_offset, places_pitch, places_stride) : spare_places;
#if PHASE == 0
  local sortable tile[TILE];
  local ushort chosen[TILE];
  const uint begin = part * TILE, count = min((uint)TILE, k - begin);
  for (uint i = item; i < count; i += GROUP) {
    tile[i] = order_of(spare_values[begin + i]);
    chosen[i] = (ushort)i;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  sort_chosen(chosen, tile, count, item);
  KEY keys[ITEMS];
  PLACE moved[ITEMS];
  for (uint u = 0; u < ITEMS; ++u) {
    const uint i = item + u * GROUP;
    if (i < count) {
      keys[u] = spare_values[begin + chosen[i]];
      moved[u] = spare_places[begin + chosen[i]];
    }
  }
  barrier(CLK_GLOBAL_MEM_FENCE);
  for (uint u = 0; u < ITEMS; ++u) {
    const uint i = item + u * GROUP;
    if (i < count) {
      from_values[begin + i] = keys[u];
      from_places[begin + i] = moved[u];
    }
  }
#else
  global KEY* to_values = (turn & 1) ? spare_values : values + row_start(row, rows, values_offset, values_pitch, values_stride);
  global PLACE* to_places = (turn & 1) ? spare_places : places + row_start(row, rows, places_offset, places_pitch, places_stride);
  const ulong width = (ulong)piece << (turn >> 1), i = (ulong)part * GROUP + item;
  if (i < k) {
    const ulong mine = i / width * width, pair = i / (2 * width) * (2 * width);
    const int is_first = mine == pair;
    const ulong other = is_first ? min(mine + width, (ulong)k) : pair, other_end = min(other + width, (ulong)k);
    const KEY key = from_values[i];
    const sortable x = order_of(key);
    ulong begin = other, end = other_end;  // of those that are not known to stand before
    while (begin < end) {
      const ulong middle = begin + (end - begin) / 2;
      const sortable y = order_of(from_values[middle]);
      if (y < x || (!is_first && y == x)) {
        begin = middle + 1;
      } else {
        end = middle;
      }
    }
    const ulong place = pair + (i - mine) + (begin - other);
    to_values[place] = key;
    to_places[place] = from_places[i];
  }
#endif
}
