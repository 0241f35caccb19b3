// Rows by their places: out[i] = in[places[i]], or with SCATTER out[places[i]] = in[i]. A vector's elements are rows of one element.
//
// A row is moved in parts, the widest that all rows' addresses allow, by a team of TEAM work-items, so that long rows are read and
// written by neighbours. A team has ROWS rows under way at once: what it waits for is memory. Places outside are left out.
//
// Launch: one dimension, GROUP work-items a group, a group for each GROUP / TEAM * ROWS rows. With CPU: one work-item a group, which
// has `piece` neighbouring rows, and asks for those that it gathers before it reads them.
#include "common/attributes.clh"

#ifndef PART
#define PART uint
#endif
#ifndef PLACE
#define PLACE uint  // uint or ulong
#endif
#ifndef SCATTER
#define SCATTER 0
#endif
#ifndef GROUP
#define GROUP 256
#endif
#ifndef TEAM
#define TEAM 1  // a power of two
#endif
#ifndef ROWS
#define ROWS 4
#endif
#ifndef CPU
#define CPU 0
#endif

#ifndef PREFETCH_AHEAD
#define PREFETCH_AHEAD 1  // 0: no prefetch, for a compiler whose builtin does not run
#endif

#if CPU
#define AHEAD 64  // rows that are asked for before they are read
#define STEP 16   // that are asked for at once
// Asks for the first lines of the rows that `count` places name, but not where they are neighbours, which the hardware prefetches itself.
static inline void ask_for(global const PART* rows, ulong pitch, ulong width, global const PLACE* places, uint count, ulong limit) {
#ifdef __has_builtin
#if __has_builtin(__builtin_prefetch) && PREFETCH_AHEAD
  const ulong first = places[0], last = places[count - 1];
  if (max(first, last) - min(first, last) < 4 * AHEAD) return;
  for (uint k = 0; k < count; ++k) {
    global const PART* row = rows + (places[k] < limit ? places[k] : 0) * pitch;
    __builtin_prefetch(row, 0, 3);
    if (width > 1) __builtin_prefetch((global const char*)row + min(width * sizeof(PART) - 1, (ulong)64), 0, 3);
  }
#endif
#endif
  (void)rows, (void)pitch, (void)width, (void)places, (void)count, (void)limit;
}
#endif

// Offsets, pitches and `width` are counted in parts. `limit`: rows that places can name.
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void gather(global const PART* in, ulong in_offset, ulong in_pitch, global const PLACE* places, ulong places_offset, global PART* out,
            ulong out_offset, ulong out_pitch, ulong count, ulong limit, ulong width, ulong piece UNUSED) {
  in += in_offset;
  out += out_offset;
  places += places_offset;
#if CPU
  const ulong begin = get_group_id(0) * piece, end = min(begin + piece, count);
  for (ulong row = begin; row < end;) {
    if (!SCATTER && row + AHEAD + STEP <= end && limit != 0) ask_for(in, in_pitch, width, places + row + AHEAD, STEP, limit);
    for (const ulong last = min(row + STEP, end); row < last; ++row) {
      const ulong place = places[row];
      if (place >= limit) continue;
      global const PART* from = in + (SCATTER ? row : place) * in_pitch;
      global PART* to = out + (SCATTER ? place : row) * out_pitch;
      for (ulong k = 0; k < width; ++k) to[k] = from[k];
    }
  }
#else
  const uint item = get_local_id(0), lane = item & (TEAM - 1);
  const ulong first = get_group_id(0) * (ulong)(GROUP / TEAM * ROWS) + item / TEAM;
  ulong from[ROWS], to[ROWS];
  int is_there[ROWS];
#pragma unroll
  for (uint u = 0; u < ROWS; ++u) {
    const ulong row = first + u * (GROUP / TEAM), place = row < count ? places[row] : limit;
    is_there[u] = place < limit;
    from[u] = (SCATTER ? row : place) * in_pitch;
    to[u] = (SCATTER ? place : row) * out_pitch;
  }
  for (ulong k = lane; k < width; k += TEAM) {
    PART parts[ROWS];
#pragma unroll
    for (uint u = 0; u < ROWS; ++u)
      if (is_there[u]) parts[u] = in[from[u] + k];
#pragma unroll
    for (uint u = 0; u < ROWS; ++u)
      if (is_there[u]) out[to[u] + k] = parts[u];
  }
#endif
}
